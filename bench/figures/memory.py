#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: largest memory in use while training a 2-layer GCN, beside DGL as installed
import epoch
import figure


def measure(f):
    for kind in epoch.GRAPHS:
        for hidden in (16, 128):
            case = f"{kind}, hidden {hidden}"
            if not f.wants(case):
                continue
            data = f.graph(kind)
            ours = f.epoch_seconds(data, *epoch.recipe(hidden, 6, f.threads))[1]
            worker = f.peer("peer_gcn.py", "dgl", data, "--hidden", hidden)
            theirs = worker.ask(3)["peak_bytes"]
            worker.close()
            f.row(case, theirs / 2**20, ours / 2**20, ours / theirs, "<= 0.6", "MiB", "whole process, one run each")


figure.run(measure)
