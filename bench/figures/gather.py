#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: how close the sparse product comes to the rate at which this machine reads rows in random order
"""Yardstick: bench_gather with as many rows as the graph has nodes, the same width, 2 MiB pages as ours has. Ours can beat it,
as the graph's hubs stay in caches and the yardstick's rows are all equally likely."""
import json
import subprocess

import figure

GRAPHS = ("arxiv-like", "reddit8-like", "products10-like")
WIDTHS = (16, 64, 128, 256)


def yardstick(f, rows, width):
    out = subprocess.run([f.program("bench_gather"), "--rows", str(rows), "--width", str(width), "--threads", str(f.threads),
                          "--count", str(max(200000, 2**28 // (4 * width))), "--repeats", "5"],
                         capture_output=True, text=True, check=True).stdout
    return json.loads(out)["gbs"]


def measure(f):
    for kind in GRAPHS:
        widths = [w for w in WIDTHS if f.wants(f"{kind}, width {w}")]
        if not widths:
            continue
        ours = figure.Worker([f.program("bench_spmm"), f.graph(kind), "--threads", f.threads])
        for width in widths:
            answers = f.turns({"ours": lambda: ours.ask(width, 5, "sum")["gbs"],
                               "yardstick": lambda: yardstick(f, ours.hello["nodes"], width)})
            median, low, high = figure.ratio(answers["ours"], answers["yardstick"])
            f.row(f"{kind}, width {width}", figure.statistics.median(answers["yardstick"]),
                  figure.statistics.median(answers["ours"]), median, ">= 0.9", "GB/s",
                  "ours over yardstick, " + figure.spread(low, high, f.rounds))
        ours.close()


figure.run(measure)
