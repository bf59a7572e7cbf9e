#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: the sparse product alone beside DGL's copy-sum and MKL, widths 16 to 256, in GFLOP/s
"""GFLOP/s counts 2 width (arcs + nodes). The goal is against the faster of the two in the same round; ours is the plain sum,
as DGL's; what MKL does (normalised) stands beside it without a goal."""
import figure

GRAPHS = ("arxiv-like", "reddit8-like", "products10-like")
WIDTHS = (16, 64, 128, 256)


def open_sides(f, data):
    ours = figure.Worker([f.program("bench_spmm"), data, "--threads", f.threads])
    return ours, {"DGL copy-sum": f.peer("peer_spmm.py", "dgl-sum", data), "MKL": f.peer("peer_spmm.py", "mkl", data)}


def one_width(f, case, width, ours, peers):
    sides = {"sum": lambda: ours.ask(width, 7, "sum")["seconds"], "sym": lambda: ours.ask(width, 7, "sym")["seconds"]}
    for name, worker in peers.items():
        sides[name] = lambda worker=worker: worker.ask(width, 7)["seconds"]
    answers = f.turns(sides)
    work = 2e-9 * width * (ours.hello["arcs"] + ours.hello["nodes"])
    fastest = [min(pair) for pair in zip(*(answers[name] for name in peers))]
    for kind, against, goal in (("sum", fastest, ">= 1.3"), ("sym", answers["MKL"], "")):
        median, low, high = figure.ratio(against, answers[kind])
        name = "faster of DGL and MKL" if kind == "sum" else "normalised, MKL"
        f.row(f"{case}, {name}", work / figure.statistics.median(against), work / figure.statistics.median(answers[kind]),
              median, goal, "GFLOP/s", figure.spread(low, high, f.rounds))


def measure(f):
    for kind in GRAPHS:
        widths = [w for w in WIDTHS if f.wants(f"{kind}, width {w}")]
        if not widths:
            continue
        ours, peers = open_sides(f, f.graph(kind))
        for width in widths:
            one_width(f, f"{kind}, width {width}", width, ours, peers)
        for worker in (ours, *peers.values()):
            worker.close()


figure.run(measure)
