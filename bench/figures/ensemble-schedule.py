#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: utilisation and makespan of 24 unequal members on devices 4:2:1, and after the fastest is lost, simulated
"""The manager is told one second an epoch everywhere and learns from elapsed times; epochs have 5 % of noise, starts and moves cost
time. The bound is that of the true seconds: no schedule of these members on what was present ends earlier. Each row is the worst of
ten seeds, which draw the members anew. Its twin with real training on the virtual clock is ensemble-live."""
import statistics

import figure
from ensemble_worlds import simulate

SEEDS = range(1, 11)


def measure(f):
    for case, trace, goal in (("4:2:1, 24 members", "24", "<= 1.1"), ("4:2:1, fastest lost", "24-loss", "<= 1.2")):
        if not f.wants(case):
            continue
        runs = [simulate(f, "421", trace, seed=seed) for seed in SEEDS]
        over = [run["makespan_over_bound"] for run in runs]
        worst = runs[over.index(max(over))]
        f.row(case + ", makespan over bound", worst["lower_bound_seconds"], worst["makespan_seconds"], max(over), goal, "s",
              f"mean {statistics.mean(over):.3f} of {len(over)} seeds", "simulated")
        used = [run["utilisation"] for run in runs]
        f.row(case + ", utilisation", 1.0, min(used), min(used), ">= 0.9" if trace == "24" else "", "share",
              f"mean {statistics.mean(used):.3f}, weighted by speed", "simulated")


figure.run(measure)
