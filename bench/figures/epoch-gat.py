#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: seconds of an epoch of GAT beside DGL's GATConv, arxiv-like: one layer, and the usual two
"""The training step alone, without dropout, which DGL keeps as arrays of arcs. Peaks are of the whole process."""
import figure

# case, our text, the peer's shape
CASES = (("one layer, 1 head of 40", "gat", "1"), ("one layer, 8 heads of 40", "gat:heads=8", "8"),
         ("8 heads of 8, then 1", "gat:8x8:act=elu, gat", "8x8,1"))


def measure(f):
    data = f.graph("arxiv-like")
    for case, text, shape in CASES:
        if not f.wants(case):
            continue
        worker = f.peer("peer_gat.py", data, "--shape", shape)
        recipe = ("--model", text, "--lr", 0.01, "--epochs", 8, "--eval-every", 8, "--threads", f.threads, "--seed", 1)
        peaks = {}

        def ours():
            seconds, peaks["ours"] = f.epoch_seconds(data, *recipe)
            return seconds

        def theirs():
            reply = worker.ask(3)
            peaks["dgl"] = reply["peak_bytes"]
            return reply["seconds"]

        answers = f.turns({"ours": ours, "dgl": theirs})
        worker.close()
        median, low, high = figure.ratio(answers["dgl"], answers["ours"])
        f.row(f"arxiv-like, {case}, DGL", figure.statistics.median(answers["dgl"]), figure.statistics.median(answers["ours"]),
              median, ">= 1", "s", figure.spread(low, high, f.rounds))


if __name__ == "__main__":
    figure.run(measure)
