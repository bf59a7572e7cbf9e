#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: devices of unequal speeds on the virtual clock beside the sum of their solo rates; a rank that becomes slow
"""Epochs a virtual second, messages on the clock (20 us, 1 GB/s). Baseline: the sum of what each device does alone with the
whole graph, without noise, which is the mean that any noise has. Ours: all together, the mean of 40 epochs of each of three
seeds of the noise; the noise of an op is 5 % but for the rows that say "no noise".
Then a rank of four that becomes 4 times slower in epoch 11: epochs until the rest takes at most 1.1 times the ideal seconds."""
import re

import figure

LINK = "latency=2e-5,bandwidth=1e9"
SPEEDS, CHUNKS, EPOCHS, SEEDS, SLOW_AT = (4, 2, 1), (64, 128, 256), 40, 3, 10
GOALS = {64: ">= 0.95", 128: ">= 0.975", 256: ">= 0.975"}


def devices(speeds, more=""):
    return ";".join(f"cpu:clock=virtual,speed={speed},{LINK}{more}" for speed in speeds)


def train(f, data, part, text, epochs=EPOCHS, seed=1):
    told = f.train(data, "--model", "gcn:128, gcn", "--partition", part, "--devices", text, "--epochs", epochs,
                   "--eval-every", epochs, "--seed", seed)
    log = (told["run"] / "log.txt").read_text()
    moved = sum(int(n) for n in re.findall(r"(\d+) chunks moved", log))
    return [line["virtual_seconds"] for line in told["lines"]], moved, told["ranks"]


def rate(seconds):
    return len(seconds) / sum(seconds)


def cut(f, data, chunks, *options):
    part = f.folder / f"{chunks}{''.join(options).replace(':', '-')}.part.h5"
    if not part.exists():
        f.gnntrain("partition", data, "--chunks", chunks, *options, "-q", "-o", part)
    return part


def together(f, data, name, noise, solo):
    for chunks in CHUNKS:
        for how, options in (("", ("--shares", "4:2:1")), (", equal shares", ())):
            case = f"4:2:1{name}, K = {chunks}{how}"
            if not f.wants(case):
                continue
            part = cut(f, data, chunks, *options)
            if not solo:
                solo.extend(rate(train(f, data, part, devices([speed], ",noise=0"), 3)[0]) for speed in SPEEDS)
            runs = [train(f, data, part, devices(SPEEDS, noise), EPOCHS if not noise else 4, seed)
                    for seed in range(1, SEEDS + 1 if not noise else 2)]
            seconds, moved = [s for run in runs for s in run[0]], sum(run[1] for run in runs)
            rows = ":".join(str(rank["rows"]) for rank in runs[0][2])
            f.row(case, sum(solo), rate(seconds), rate(seconds) / sum(solo), GOALS[chunks], "1/s",
                  f"seeds {' '.join(f'{rate(run[0]) / sum(solo):.3f}' for run in runs)}, {moved} chunks moved, rows {rows}",
                  "virtual clock")


def slowed(f, data):
    case = "1:1:1:1, the last 4x slower, epochs"
    if not f.wants(case):
        return
    seconds, moved, _ = train(f, data, cut(f, data, 128), devices((1, 1, 1)) + ";" + devices((1,), f",slow=4@{SLOW_AT}"))
    before = sum(seconds[:SLOW_AT]) / SLOW_AT
    ideal = before * 4 / 3.25
    late = next((i for i, s in enumerate(seconds[SLOW_AT:]) if s <= 1.1 * ideal), len(seconds))
    after = seconds[SLOW_AT + 3:]
    f.row(case, None, late, late, "<= 3", "epochs", f"{moved} chunks moved; then {rate(after) * ideal:.3f} of the ideal rate",
          "virtual clock")


def measure(f):
    data = f.folder / "grid.h5"
    f.gnntrain("generate", "grid", "--rows", 400, "--columns", 400, "--features", 64, "--classes", 8, "-q", "-o", data)
    solo = []
    together(f, data, "", "", solo)
    together(f, data, ", no noise", ",noise=0", solo)
    slowed(f, data)


figure.run(measure)
