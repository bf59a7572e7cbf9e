#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: eight members as one program beside eight runs of ours, of PyTorch Geometric and of DGL, and their memory
"""Seconds of an epoch of all eight, the median over a run's epochs. Own runs are eight, with the seeds of the fused members, and epoch e
of theirs is the sum of their epochs e: as long as one of the fused run, so that what else happens on the machine falls into both as
often (eight times the median of one run's epochs would leave it out on that side). A peer's run counts eight times. Memory: the fused
process beside graph and features once plus eight times what a lone run adds to them."""
import json
import shutil
import statistics

import epoch
import figure

MEMBERS = 8
# graph, hidden, goal beside own runs, peers: name, program, goal
CASES = (("cora", 16, "<= 0.95", (("PyG SparseTensor", "pyg-sparse", ">= 10"),)),
         ("arxiv-like", 16, "<= 1.02", ()), ("arxiv-like", 64, "<= 1.02", (("DGL", "dgl", ">= 3"),)),
         ("arxiv-like", 128, "<= 1.02", ()), ("reddit8-like", 16, "<= 1.02", ()), ("reddit8-like", 128, "<= 1.02", ()),
         ("products10-like", 64, "<= 1.02", ()))


def options(f, kind, hidden, members, seed=1):
    epochs = 100 if kind == "cora" else 8
    return (*epoch.recipe(hidden, epochs, f.threads, seed), "--seeds", members,
            *(("--normalize-features", "row") if kind == "cora" else ()))


def shared_bytes(f, data, kind, hidden):
    """Of graph and features, which members share."""
    told = json.loads(f.gnntrain("estimate", data, *options(f, kind, hidden, 1), "--json").stdout)
    return told["parts"]["graph_bytes"] + told["parts"]["features_bytes"]


def own_runs(f, data, kind, hidden):
    """All members, each as a run of its own: median seconds of an epoch of all, and the smallest memory of a process."""
    epochs, sizes = [], []
    for member in range(MEMBERS):
        told = f.train(data, *options(f, kind, hidden, 1, 1 + member))
        shutil.rmtree(told["run"])
        epochs.append([line["seconds"] for line in told["lines"][2:]])
        sizes.append(told["process_bytes"])
    return statistics.median(map(sum, zip(*epochs))), min(sizes)


def compare(f, kind, hidden, goal, peers):
    data = f.planetoid(kind) if kind == "cora" else f.graph(kind)
    case = f"{kind}, hidden {hidden}"
    workers = {name: f.peer("peer_gcn.py", which, data, "--hidden", hidden)
               for name, which, _ in peers if f.wants(f"{case}, {name}")}
    sides = {"fused": lambda: f.epoch_seconds(data, *options(f, kind, hidden, MEMBERS)),
             "alone": lambda: own_runs(f, data, kind, hidden)}
    for name, worker in workers.items():
        sides[name] = lambda worker=worker: (worker.ask(100 if kind == "cora" else 4)["seconds"], 0)
    answers = f.turns(sides)
    for worker in workers.values():
        worker.close()
    fused = [a[0] for a in answers["fused"]]
    alone = [a[0] for a in answers["alone"]]
    median, low, high = figure.ratio(fused, alone)
    f.row(f"{case}, own runs", figure.statistics.median(alone), figure.statistics.median(fused), median, goal, "s",
          figure.spread(low, high, f.rounds))
    for name, _, peer_goal in peers:
        if name in workers:
            theirs = [MEMBERS * a[0] for a in answers[name]]
            median, low, high = figure.ratio(theirs, fused)
            f.row(f"{case}, {name}", figure.statistics.median(theirs), figure.statistics.median(fused), median, peer_goal, "s",
                  figure.spread(low, high, f.rounds))
    shared = shared_bytes(f, data, kind, hidden)
    one, all_of_them = (min(a[1] for a in answers[side]) for side in ("alone", "fused"))
    bound = shared + MEMBERS * (one - shared)
    f.row(f"{case}, memory", bound / 2**20, all_of_them / 2**20, all_of_them / bound, "<= 1", "MiB", "whole process",
          measured="process")


def measure(f):
    for kind, hidden, goal, peers in CASES:
        if f.wants(f"{kind}, hidden {hidden}"):
            compare(f, kind, hidden, goal, peers)


figure.run(measure)
