#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: seconds of an epoch on Cora (2-layer GCN, hidden 16), where calls cost more than arithmetic
import epoch
import figure

PEERS = tuple((name, which, environment, ">= 3") for name, which, environment, _ in epoch.PEERS)


def measure(f):
    epoch.compare(f, "Cora, hidden 16", f.planetoid("cora"), 16, PEERS, epochs=(200, 100),
                  ours_options=("--normalize-features", "row"))


figure.run(measure)
