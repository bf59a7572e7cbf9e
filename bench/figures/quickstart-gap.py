#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: what edges bring on the graph of this machine's package index: GCN beside the same network without edges
"""The recipe of ./quickstart. The goal is for a loaded index (about 63,000 packages); with installed packages only, none is
set."""
import json

import figure

RECIPE = ("--dropout", 0.5, "--lr", 0.03, "--epochs", 60, "--seed", 1)


def measure(f):
    data = f.folder / "debian.h5"
    f.gnntrain("import", "debian", "-o", data)
    nodes = json.loads(f.gnntrain("info", data, "--json").stdout)["num_nodes"]
    test = {}
    for name, model in (("GCN", "gcn:64, gcn"), ("MLP", "linear:64, linear")):
        test[name] = 100 * f.train(data, "--model", model, *RECIPE, "--threads", f.threads)["test_metric"]
    f.row(f"Debian packages, {nodes} nodes", test["MLP"], test["GCN"], test["GCN"] - test["MLP"],
          ">= 8" if nodes > 30000 else "", "%", "baseline: MLP without edges; ratio: points between them", "count")


figure.run(measure)
