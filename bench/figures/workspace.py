#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: the workspace that the planner lays out over the largest sum of bytes that are live at once
import json

import epoch
import figure

MODELS = (("gcn:16, gcn", ()), ("gcn:128, gcn", ("--dropout", 0.5)),
          ("gcn:64:norm=batch, gcn:64, gcn:64, gcn", ("--residual",)),
          ("linear:64, linear", ("--dropout", 0.5, "--input-dropout", 0.5)))


def measure(f):
    for kind in epoch.GRAPHS:
        for model, options in MODELS:
            case = f"{kind}, {model}"
            if f.wants(case):
                told = json.loads(f.gnntrain("explain", f.graph(kind), "--model", model, *options, "--json").stdout)
                live, planned = told["bytes"]["live_peak"], told["bytes"]["workspace"]
                f.row(case, live / 2**20, planned / 2**20, planned / live, "<= 1.05", "MiB", "ours over baseline", "count")


figure.run(measure)
