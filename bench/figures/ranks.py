#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: two ranks as threads over a partition beside one device with as many threads
"""Same cores, same curve: what is left are the halo rows, the sums over ranks, and products that no longer go block by block."""
import epoch
import figure

CASES = [("arxiv-like", 16), ("arxiv-like", 128)]


def measure(f):
    for kind, hidden in CASES:
        case = f"{kind}, hidden {hidden}"
        if not f.wants(case):
            continue
        data, recipe = f.graph(kind), epoch.recipe(hidden, 12, f.threads)
        part = f.folder / f"{kind}.part.h5"
        if not part.exists():
            f.gnntrain("partition", data, "--chunks", 64, "-o", part)
        ranks = ("--devices", f.threads, "--partition", part)
        answers = f.turns({"one device": lambda: f.epoch_seconds(data, *recipe)[0],
                           "ranks": lambda: f.epoch_seconds(data, *recipe, *ranks)[0]})
        median, low, high = figure.ratio(answers["ranks"], answers["one device"])
        f.row(case, figure.statistics.median(answers["one device"]), figure.statistics.median(answers["ranks"]), median,
              "<= 1.15", "s", figure.spread(low, high, f.rounds))


figure.run(measure)
