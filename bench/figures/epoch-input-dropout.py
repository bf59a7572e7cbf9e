#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: the same epoch with dropout on the features, so that no product of the first layer can be kept, beside DGL
import epoch
import figure

PEERS = (("DGL", "dgl", {}, ">= 1.5"), ("DGL, tuned malloc", "dgl", figure.TUNED_MALLOC, ""))


def measure(f):
    for kind in epoch.GRAPHS:
        for hidden in (16, 128):
            epoch.compare(f, f"{kind}, hidden {hidden}", f.graph(kind), hidden, PEERS, ours_options=("--input-dropout", 0.5),
                          peer_options=("--input-dropout", 0.5))


figure.run(measure)
