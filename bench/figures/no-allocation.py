#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: requests for memory (malloc, mmap and relatives, whoever makes them) that an epoch after the first costs
"""The whole command runs under tests/spy/alloc_spy.c, for 20 and for 40 epochs, without a run folder (checkpoints and the report
at the end, which reads a line an epoch, are apart); the difference divided by 20. A row says what the figure is when it is not 0."""
import figure

CLUSTERS = ("--source", "clusters", "--clusters", 20, "--clusters-per-batch", 3)
CASES = {"gcn:16, gcn": (), "linear:16, linear": (), "gcn:16:norm=batch, gcn:16:norm=layer, gcn": (),
         "gcn:16, sage:16, gcn": CLUSTERS}


def requests(f, spy, data, model, epochs, options):
    out = f.fresh("count")
    f.gnntrain("train", data, "--model", model, "--dropout", 0.5, "--epochs", epochs, "--seed", 1, "--seeds", 3, "--eval-every", 1,
               "--threads", f.threads, *options, environment={"LD_PRELOAD": str(spy), "GNT_SPY_OUT": str(out)})
    return int(out.read_text())


def measure(f):
    spy = f.command.parent.parent / "lib/libgnt_alloc_spy.so"
    if not spy.exists():
        raise figure.Missing(f"no '{spy}': build with -DGNT_TESTS=ON")
    data = f.folder / "graph.h5"
    f.gnntrain("generate", "csbm", "--nodes", 2000, "--seed", 1, "-o", data)
    for model, options in CASES.items():
        case = model + (", clusters" if options else "")
        if f.wants(case):
            counts = [requests(f, spy, data, model, epochs, options) for epochs in (20, 40)]
            each = (counts[1] - counts[0]) / 20
            f.row(case, 0, each, each, "<= 0", "request", f"{counts[0]} in 20 epochs, {counts[1]} in 40", "count")


figure.run(measure)
