#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: what --deterministic=bitwise costs in an epoch, and whether it keeps its word over threads and vector levels
"""Second part: weights after 20 epochs, with 1 and 2 threads, at each vector level that this machine has, and with OpenBLAS
made to take another processor's kernels; the figure is the number of different results, and one is right."""
import epoch
import figure

CASES = [("arxiv-like", 16), ("arxiv-like", 128), ("reddit8-like", 16)]


def cost(f, kind, hidden):
    data, recipe = f.graph(kind), epoch.recipe(hidden, 8, f.threads)
    answers = f.turns({level: lambda level=level: f.epoch_seconds(data, *recipe, "--deterministic", level)[0]
                       for level in ("run", "bitwise")})
    median, low, high = figure.ratio(answers["bitwise"], answers["run"])
    f.row(f"cost, {kind}, hidden {hidden}", figure.statistics.median(answers["run"]),
          figure.statistics.median(answers["bitwise"]), median, "<= 3", "s", figure.spread(low, high, f.rounds))


def results(f, level, ways):
    data = f.folder / "graph.h5"
    if not data.exists():
        f.gnntrain("generate", "csbm", "--nodes", 3000, "--seed", 4, "-o", data)
    found = {}
    for name, options, environment in ways:
        run = f.train(data, "--model", "gcn:32:norm=batch, gcn", "--dropout", 0.5, "--epochs", 20, "--seed", 9,
                      "--deterministic", level, *options, environment=environment)["run"]
        found.setdefault(figure.weights_digest(run), []).append(name)
    return found


def measure(f):
    for kind, hidden in CASES:
        if f.wants(f"cost, {kind}, hidden {hidden}"):
            cost(f, kind, hidden)
    again = [(f"run {i}", ("--threads", f.threads), {}) for i in range(3)]
    flags = open("/proc/cpuinfo").read()
    levels = ["portable"] + [isa for isa, flag in (("avx2", " avx2 "), ("avx512", " avx512dq ")) if flag in flags]
    ways = [(f"{isa}, {threads} threads", ("--isa", isa, "--threads", threads), {}) for isa in levels for threads in (1, 2)]
    ways.append(("BLAS as HASWELL", ("--threads", 2), {"OPENBLAS_CORETYPE": "HASWELL"}))
    for case, level, some in (("equal run to run, default", "run", again), ("equal at bitwise, any way", "bitwise", ways)):
        if f.wants(case):
            found = results(f, level, some)
            f.row(case, 1, len(found), len(found), "<= 1", "results", f"{len(some)} runs: "
                  + "; ".join(" = ".join(names) for names in found.values()), "count")


figure.run(measure)
