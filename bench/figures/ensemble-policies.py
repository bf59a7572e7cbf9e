#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: mean completion of max-min over device types beside type-blind least service, of the energy policy at equal joules, simulated
"""Baseline and ours: mean seconds from arrival to end on the written traces, the ratio is the baseline over ours, the worst of three seeds.
trace-types: members come as fast as the devices can just serve them when each goes where it runs well, which is more than a
type-blind policy can serve: its queue grows. trace-power: all members are there at the beginning; the energy policy has a budget that
makes its joules (stated model: idle watts, and busy watts while busy) no more than the baseline's, and both sides' joules are noted."""
import figure
from ensemble_worlds import simulate

SEEDS = (1, 2, 3)


def compare(f, case, inventory, trace, baseline, ours, goal):
    if not f.wants(case):
        return
    pairs = [[simulate(f, inventory, trace, "--policy", policy, seed=seed) for policy in (baseline, ours)] for seed in SEEDS]
    ratios = [a["mean_completion_seconds"] / b["mean_completion_seconds"] for a, b in pairs]
    a, b = pairs[ratios.index(min(ratios))]
    joules = " ".join(f"{y['joules'] / x['joules']:.3f}" for x, y in pairs)
    f.row(case, a["mean_completion_seconds"], b["mean_completion_seconds"], min(ratios), goal, "s",
          f"seeds {' '.join(f'{r:.2f}' for r in ratios)}, joules {joules} of the baseline's", "simulated")


def measure(f):
    compare(f, "max-min beside least-service", "types", "types", "least-service", "max-min", ">= 2")
    compare(f, "max-min beside first-come", "types", "types", "first-come", "max-min", "")
    compare(f, "energy beside first-come", "power", "power", "first-come", "energy", ">= 1.57")
    compare(f, "energy beside least-service", "power", "power", "least-service", "energy", "")


figure.run(measure)
