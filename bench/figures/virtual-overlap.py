#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: how much of the halo exchange is hidden under interior rows, on the virtual clock with a bandwidth cap
"""Milliseconds of a step that a rank waits in its exchanges, the mean of four ranks, from the trace. Baseline: without the pass
`overlap`; ours: with it. ratio: the hidden part, 1 - ours / baseline. No noise, so that all that is waited for is messages.
The goal is for exchanges that take less than what is computed meanwhile, each of them: the note has the ops that lie under all."""
import json

import figure

# Bytes a second
BANDWIDTHS = ("1e9", "3e8", "1e8", "3e7", "2e7", "1e7")
MODELS = {"gcn": "gcn:64, gcn:64, gcn", "sage": "sage:64, sage:64, sage", "sage max": "sage:64:aggregate=max, sage:64:aggregate=max, sage",
          "gat": "gat:8x8, gat:8x8, gat"}
RANKS = 4


def lies_under(event, spans):
    return any(span["pid"] == event["pid"] and span["ts"] <= event["ts"] + 1e-3 and
               event["ts"] + event["dur"] <= span["ts"] + span["dur"] + 1e-3 for span in spans)


def exchanges(events, rank):
    """Milliseconds of waiting in each exchange of a rank, in order, and of the ops under it; what travels together is one."""
    events = [event for event in events if event["pid"] == rank]
    waits = sorted((event for event in events if event["cat"] == "wait" and event["name"] == "exchange"), key=lambda e: e["ts"])
    spans = sorted((event for event in events if event["cat"] == "transfer" and event["name"] == "exchange"),
                   key=lambda e: e["ts"])
    ops = [event for event in events if event["cat"] == "op"]
    groups = []
    for wait, span in zip(waits, spans):
        if groups and span["ts"] + 1e-3 < groups[-1]["end"]:
            groups[-1]["count"] += 1
            groups[-1]["waited"] += wait["dur"] / 1e3
            groups[-1]["end"] = max(groups[-1]["end"], span["ts"] + span["dur"])
        else:
            groups.append({"count": 1, "waited": wait["dur"] / 1e3, "end": span["ts"] + span["dur"],
                           "under": sum(op["dur"] for op in ops if lies_under(op, [span])) / 1e3})
    return groups


def step(f, data, part, model, bandwidth, *options):
    """The exchanges of each rank in the newest traced step, and milliseconds of the step."""
    trace = f.fresh("trace").with_suffix(".json")
    device = f"cpu:clock=virtual,noise=0,latency=5e-6,bandwidth={bandwidth}"
    f.gnntrain("train", data, "--model", model, "--partition", part, "--epochs", 3, "--eval-every", 3, "--seed", 1,
               "--devices", ";".join([device] * RANKS), "--trace", trace, "-q", *options)
    events = [event for event in json.loads(trace.read_text()) if event["ph"] == "X"]
    newest = max(event["args"]["step"] for event in events)
    events = [event for event in events if event["args"]["step"] == newest]
    span = max(event["ts"] + event["dur"] for event in events) - min(event["ts"] for event in events)
    return [exchanges(events, rank) for rank in range(RANKS)], span / 1e3


def fits(plain, ours):
    """Whether each exchange that some rank waited for is shorter than the ops under it there."""
    for alone, hidden in zip(plain, ours):
        waits = [group["waited"] for group in alone]
        for group in hidden:
            if group["waited"] > 0 and sum(waits[:group["count"]]) > group["under"]:
                return False
            del waits[:group["count"]]
    return True


def total(ranks, key):
    return sum(group[key] for groups in ranks for group in groups) / RANKS


def measure(f):
    data, part = f.folder / "grid.h5", f.folder / "grid.part.h5"
    f.gnntrain("generate", "grid", "--rows", 400, "--columns", 400, "--features", 64, "--classes", 8, "-q", "-o", data)
    f.gnntrain("partition", data, "--chunks", 64, "-q", "-o", part)
    for name, model in MODELS.items():
        for bandwidth in BANDWIDTHS:
            case = f"{name}, 4 ranks, {float(bandwidth) / 1e6:.0f} MB/s"
            if not f.wants(case):
                continue
            plain, plain_step = step(f, data, part, model, bandwidth, "--no-pass", "overlap")
            ours, our_step = step(f, data, part, model, bandwidth)
            exposed, waited = total(plain, "waited"), total(ours, "waited")
            f.row(case, exposed, waited, 1 - waited / exposed, ">= 0.9" if fits(plain, ours) else "", "ms",
                  f"computed meanwhile {total(ours, 'under'):.1f} ms, a step {plain_step:.1f} -> {our_step:.1f} ms",
                  "virtual clock")


figure.run(measure)
