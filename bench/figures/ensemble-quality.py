#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: accuracy, NLL and ECE of eight independent GCNs combined beside their mean member, Cora and CiteSeer, five repeats
"""Test rows of the public splits. ECE and NLL after temperature on both sides: each member has its own, fitted on validation rows, and so
has the ensemble. Independent measurement on the same files: Cora 81.1 to 81.9, CiteSeer 70.7 to 71.3 (last epoch, five members)."""
import ensemble_runs as runs
import figure

SETS = ("Cora", "CiteSeer")


def measure(f):
    gains = []
    for name in SETS:
        if not f.wants(name):
            continue
        data = runs.dataset(f, name)
        told = [runs.run(f, data, seed) for seed in runs.seeds(f)]
        member = [100 * r["member_mean"]["test_metric"] for r in told]
        ours = [100 * r["ensemble"]["test_metric"] for r in told]
        gain = [a - b for a, b in zip(ours, member)]
        gains += gain
        f.row(f"{name}, accuracy", runs.mean(member), runs.mean(ours), min(gain), ">= 0", "%",
              f"ratio: smallest gain of {len(gain)}, gains {runs.spread(gain)}, mean {runs.mean(gain):+.2f}; the mean of all is "
              f"worse than the best member on validation and moves in {sum(r['ensemble']['fell_back'] for r in told)}", "count")
        for key, title, goal in (("nll", "NLL", "<= 1"), ("brier", "Brier", "")):
            row = [(r["member_mean"][key + "_after"], r["ensemble"][key]) for r in told]
            f.row(f"{name}, {title}", runs.mean(a for a, _ in row), runs.mean(b for _, b in row),
                  max(b / a for a, b in row), goal, "", "after temperature on both sides; ratio: the largest of all", "count")
        raw = [(r["member_mean"]["nll"], r["ensemble"]["before_temperature"]["nll"]) for r in told]
        f.row(f"{name}, NLL without temperature", runs.mean(a for a, _ in raw), runs.mean(b for _, b in raw),
              max(b / a for a, b in raw), "", "", "for comparison", "count")
        ece = [(r["member_mean"]["ece_after"], r["ensemble"]["ece"]) for r in told]
        f.row(f"{name}, ECE", runs.mean(a for a, _ in ece), runs.mean(b for _, b in ece),
              runs.mean(b - a for a, b in ece), "<= 0.01", "",
              f"after temperature on both sides; ratio: mean difference, {runs.spread([b - a for a, b in ece])}", "count")
        raw = [(r["member_mean"]["ece"], r["ensemble"]["before_temperature"]["ece"]) for r in told]
        f.row(f"{name}, ECE without temperature", runs.mean(a for a, _ in raw), runs.mean(b for _, b in raw),
              runs.mean(b - a for a, b in raw), "", "", "for comparison", "count")
    if len(gains) == len(SETS) * f.rounds:
        f.row("both sets, gain in accuracy", None, runs.mean(gains), runs.mean(gains), ">= 0.3", "points",
              f"mean over sets and repeats, {runs.spread(gains)}", "count")


figure.run(measure)
