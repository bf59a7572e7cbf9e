#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: how much of the halo exchange is hidden under interior rows, on the virtual clock with a bandwidth cap
"""Milliseconds of a step that a rank waits in its exchanges, the mean of four ranks, from the trace. Baseline: without the pass
`overlap`; ours: with it. ratio: the hidden part, 1 - ours / baseline. No noise, so that all that is waited for is messages.
Where an exchange is shorter than what the planner thinks a chain is worth, it keeps the chain; `no chains` is without."""
import json

import figure

# Bytes a second. The goal is for exchanges that take less than what is computed meanwhile, here 1.5e7 and more
BANDWIDTHS, LEAST = ("1e9", "3e8", "1e8", "3e7", "2e7", "1e7"), 1.5e7
RANKS = 4


def step(f, data, part, bandwidth, *options):
    """Mean milliseconds of waiting in exchanges in the newest traced step, and those of the step."""
    trace = f.fresh("trace").with_suffix(".json")
    device = f"cpu:clock=virtual,noise=0,latency=5e-6,bandwidth={bandwidth}"
    f.gnntrain("train", data, "--model", "gcn:64, gcn:64, gcn", "--partition", part, "--epochs", 3,
               "--eval-every", 3, "--seed", 1, "--devices", ";".join([device] * RANKS), "--trace", trace, "-q", *options)
    events = [event for event in json.loads(trace.read_text()) if event["ph"] == "X"]
    newest = max(event["args"]["step"] for event in events)
    events = [event for event in events if event["args"]["step"] == newest]
    waits = sum(event["dur"] for event in events if event["tid"] == 0 and event["name"] == "exchange") / RANKS
    span = max(event["ts"] + event["dur"] for event in events) - min(event["ts"] for event in events)
    return waits / 1e3, span / 1e3


def measure(f):
    data, part = f.folder / "grid.h5", f.folder / "grid.part.h5"
    f.gnntrain("generate", "grid", "--rows", 400, "--columns", 400, "--features", 64, "--classes", 8, "-q", "-o", data)
    f.gnntrain("partition", data, "--chunks", 64, "-q", "-o", part)
    for name, without in (("", ""), (", no chains", "chain")):
        for bandwidth in BANDWIDTHS:
            case = f"4 ranks, {float(bandwidth) / 1e6:.0f} MB/s{name}"
            if not f.wants(case):
                continue
            exposed, plain_step = step(f, data, part, bandwidth, "--no-pass", f"{without},overlap".strip(","))
            waited, our_step = step(f, data, part, bandwidth, *(("--no-pass", without) if without else ()))
            f.row(case, exposed, waited, 1 - waited / exposed, ">= 0.9" if float(bandwidth) > LEAST else "", "ms",
                  f"a step: {plain_step:.1f} -> {our_step:.1f} ms", "virtual clock")


figure.run(measure)
