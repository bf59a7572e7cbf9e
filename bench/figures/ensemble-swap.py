#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: accuracy of SWAP's one averaged model beside the mean of eight independent members, and its training time, five repeats
"""Eight workers, all else as it comes. Time in two ways: all seconds in which members trained on the same device (independent members
as one group, workers as another one), and the first phase with the slowest worker, each worker having a device, beside one member alone.
The two sides in turn."""
import ensemble_runs as runs
import figure



def longest(report):
    members = {m["name"]: m["seconds"] for m in report["run"]["members"]}
    return members.pop("first", 0) + max(members.values())


def measure(f):
    for name in ("Cora", "CiteSeer"):
        if not f.wants(name):
            continue
        data, full, swap, alone = runs.dataset(f, name), [], [], []
        for seed in runs.seeds(f):
            full.append(runs.run(f, data, seed))
            swap.append(runs.run(f, data, seed, "method: swap"))
            alone.append(runs.run(f, data, seed, members=1))
        member = [100 * r["member_mean"]["test_metric"] for r in full]
        one = [100 * next(m["test_metric"] for m in r["members"] if m["name"] == "swap") for r in swap]
        f.row(f"{name}, accuracy of the mean of weights", runs.mean(member), runs.mean(one), runs.mean(one) - runs.mean(member),
              ">= 0", "%", f"ratio: difference in points; one model each, {runs.spread(one)}", "count")
        ratios = [longest(a) / longest(b) for a, b in zip(swap, alone)]
        f.row(f"{name}, seconds, a device each", runs.mean(longest(r) for r in alone), runs.mean(longest(r) for r in swap),
              runs.median(ratios), "", "s", f"for comparison; ratio: median, {runs.spread(ratios)}")
        ratios = [a["seconds"] / b["seconds"] for a, b in zip(swap, full)]
        f.row(f"{name}, seconds, one device", runs.mean(r["seconds"] for r in full), runs.mean(r["seconds"] for r in swap),
              runs.median(ratios), "<= 0.5", "s", f"beside eight in one group; ratio: median, {runs.spread(ratios)}")
        epochs = [a["epochs"] / b["epochs"] for a, b in zip(swap, full)]
        f.row(f"{name}, epochs of training", runs.mean(r["epochs"] for r in full), runs.mean(r["epochs"] for r in swap),
              runs.mean(epochs), "", "epochs", "for comparison", "count")


figure.run(measure)
