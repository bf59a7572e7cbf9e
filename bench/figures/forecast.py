#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: seconds that `gnntrain estimate` foretells of devices that were never seen beside those of the virtual clock
"""Estimate measures short products on each device and charges the planned step of each; the clock charges what is counted at run
time, with hidden speeds, separate for sparse and dense products, and 5 % noise of each op. Baseline: milliseconds of a step in
the run, the mean of 40 epochs; ours: foretold. ratio: the largest relative error of the step and of each device's compute (of
which the run keeps the last epoch alone)."""
import json

import figure

EPOCHS = 40
LINK = "latency=2e-5,bandwidth=1e9"
CASES = (
    ("grid", "gcn:128, gcn", "speed=4;speed=2;"),
    ("grid", "gcn:16, gcn:16, gcn", "spmm=0.3;gemm=0.3"),
    ("grid", "sage:64, sage", "flops=4e9;bytes=2e9;speed=3,gemm=0.2"),
    ("grid", "gat:8:heads=4, gat", "speed=2,spmm=0.5;gemm=0.5"),
    ("sbm", "gcn:64, gcn", "speed=2;spmm=0.25"),
    ("sbm", "gcn:32:norm=batch, gcn:32:norm=layer, gcn", "speed=3;gemm=0.4;"),
    ("sbm", "sage:96, sage:48, sage", "spmm=2;gemm=2"),
    ("sbm", "linear:48, gcn", "speed=5,gemm=0.2;flops=3e9;bytes=3e9;"),
)


def devices(text):
    return ";".join(f"cpu:clock=virtual,{LINK}{',' if keys else ''}{keys}" for keys in text.split(";"))


def measure(f):
    graphs = {"grid": ("grid", "--rows", 200, "--columns", 200, "--features", 64, "--classes", 8),
              "sbm": ("csbm", "--nodes", 20000, "--features", 40, "--classes", 5, "--degree", 12)}
    for graph, model, text in CASES:
        case = f"{graph}, {model}, {text.strip(';') or 'equal'}"
        if not f.wants(case):
            continue
        data, part = f.folder / f"{graph}.h5", f.folder / f"{graph}.part.h5"
        if not data.exists():
            f.gnntrain("generate", *graphs[graph], "-q", "-o", data)
            f.gnntrain("partition", data, "--chunks", 64, "-q", "-o", part)
        words = ("--model", model, "--partition", part, "--devices", devices(text))
        told = json.loads(f.gnntrain("estimate", data, *words, "--json").stdout)
        run = f.train(data, *words, "--epochs", EPOCHS, "--eval-every", EPOCHS, "--balance", "off")
        took = sum(line["virtual_seconds"] for line in run["lines"]) / EPOCHS
        errors = [abs(told["step_seconds"] / took - 1)]
        errors += [abs(a["seconds"] / b["seconds"] - 1) for a, b in zip(told["devices"], run["ranks"]) if a["rows"]]
        f.row(case, 1e3 * took, 1e3 * told["step_seconds"], max(errors), "<= 0.1", "ms",
              "step {:+.1%}; devices {}".format(told["step_seconds"] / took - 1, " ".join(
                  f"{a['seconds'] / b['seconds'] - 1:+.1%}" for a, b in zip(told["devices"], run["ranks"]) if a["rows"])),
              "virtual clock")


figure.run(measure)
