#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: the memory that `gnntrain estimate` foretells beside the measured peak of the training process
"""Allowed: 15 % of the measured peak and 16 MiB; the ratio is the difference over what is allowed."""
import json

import epoch
import figure

MIB = 2**20


def measure(f):
    for kind in epoch.GRAPHS:
        for hidden in (16, 128):
            case = f"{kind}, hidden {hidden}"
            if not f.wants(case):
                continue
            data = f.graph(kind)
            network = ("--model", f"gcn:{hidden}, gcn", "--dropout", 0.5)
            told = json.loads(f.gnntrain("estimate", data, *network, "--threads", f.threads, "--json").stdout)["total_bytes"]
            peak = f.train(data, *network, "--epochs", 4, "--threads", f.threads)["process_bytes"]
            f.row(case, peak / MIB, told / MIB, abs(told - peak) / (0.15 * peak + 16 * MIB), "<= 1", "MiB",
                  "baseline: measured; ratio: difference over what is allowed", "process")


figure.run(measure)
