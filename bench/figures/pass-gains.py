#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: which pass of the planner and which memory measure brings how much: an epoch without it over one with all
"""Ratio above 1: the pass makes the epoch so much faster. The note has the peak of memory without and with it. Pages of 2 MiB
are denied to the process by prctl(PR_SET_THP_DISABLE), which a program inherits."""
import sys

import epoch
import figure

PASSES = ("hoist", "reassociate", "symmetric", "sparse-input", "fuse", "loss-rows", "chain", "memory")
SMALL_PAGES = (sys.executable, "-c",
               "import ctypes, os, sys; ctypes.CDLL(None).prctl(41, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])")


def compare(f, case, data, hidden, epochs, extra=()):
    recipe = (*epoch.recipe(hidden, epochs, f.threads), *extra)
    ways = {"all on": lambda: f.epoch_seconds(data, *recipe)}
    for name in PASSES:
        if f.wants(f"{case}, {name}"):
            ways[name] = lambda name=name: f.epoch_seconds(data, *recipe, "--no-pass", name)
    if f.wants(f"{case}, 2 MiB pages"):
        ways["2 MiB pages"] = lambda: f.epoch_seconds(data, *recipe, prefix=SMALL_PAGES)
    if len(ways) == 1:
        return
    answers = f.turns(ways)
    seconds = {name: [a[0] for a in answer] for name, answer in answers.items()}
    peak = {name: max(a[1] for a in answer) / 2**20 for name, answer in answers.items()}
    for name in list(ways)[1:]:
        median, low, high = figure.ratio(seconds[name], seconds["all on"])
        f.row(f"{case}, {name}", figure.statistics.median(seconds[name]), figure.statistics.median(seconds["all on"]), median,
              "", "s", f"peak {peak[name]:.0f} -> {peak['all on']:.0f} MiB; {figure.spread(low, high, f.rounds)}")


def measure(f):
    for kind in epoch.GRAPHS:
        for hidden in (16, 128):
            compare(f, f"{kind}, hidden {hidden}", f.graph(kind), hidden, 8)
    compare(f, "Cora, hidden 16", f.planetoid("cora"), 16, 100, ("--normalize-features", "row", "--input-dropout", 0.5))


figure.run(measure)
