#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: how many arcs a second the streaming partitioners place, and their halo beside a random cut's
"""A pass reads the arcs from the file, checks them and places their rows; arcs a second are passes times arcs over the seconds of
all passes (pass_seconds of the report). Halo: volume over that of --method random. Memory: the process's largest."""
import json
import statistics

import figure

SPEED = (("rmat, 30M arcs", ("rmat", "--scale", 20)), ("grid, 4M arcs", ("grid", "--rows", 1000, "--columns", 1000)))
SHAPES = (("grid 1000 x 1000", ("grid", "--rows", 1000, "--columns", 1000), (8, 64)),
          ("csbm, 16 classes", ("csbm", "--nodes", 100000, "--classes", 16, "--degree", 20, "--homophily", 0.95), (16,)))


def generate(f, words):
    path = f.fresh("graph").with_suffix(".h5")
    f.gnntrain("generate", *words, "--seed", 1, "-o", path)
    return path


def cut(f, path, method, chunks):
    done = f.gnntrain("partition", path, "--method", method, "--chunks", chunks, "-o", f.fresh("cut").with_suffix(".part.h5"),
                      "--json")
    told = json.loads(done.stdout)
    told["peak_bytes"] = done.peak_bytes
    return told


def measure(f):
    for name, words in SPEED:
        cases = [(m, k) for m in ("ldg", "fennel") for k in (8, 64) if f.wants(f"{name}, {m}, {k} chunks")]
        path = generate(f, words) if cases else None
        for method, chunks in cases:
            rates, peak = [], 0
            for _ in range(f.rounds):
                told = cut(f, path, method, chunks)
                rates.append(told["made"]["passes"] * told["num_arcs"] / told["made"]["pass_seconds"] / 1e6)
                peak = max(peak, told["peak_bytes"])
            rate = statistics.median(rates)
            f.row(f"{name}, {method}, {chunks} chunks", 20.0, rate, rate / 20.0, ">= 1", "M arcs/s",
                  f"{min(rates):.0f} to {max(rates):.0f}, {told['made']['passes']} passes, {peak / 2**20:.0f} MiB")
    for name, words, sizes in SHAPES:
        cases = [(m, k) for m in ("ldg", "fennel") for k in sizes if f.wants(f"halo, {name}, {m}, {k} chunks")]
        path = generate(f, words) if cases else None
        for method, chunks in cases:
            random, ours = (cut(f, path, m, chunks)["volume"] for m in ("random", method))
            f.row(f"halo, {name}, {method}, {chunks} chunks", random, ours, ours / random, "<= 0.5", "rows", "", "count")


figure.run(measure)
