#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: the allocation matrix (members on devices, batches) beside one member a device, under a stated cost model and on virtual devices
"""bench_allocate states the model: a stream of rows. One member a device: each device has one member at a time, in waves in the order
given. The goal is against batches of 8 rows, what a server starts with; beside it, without a goal, against the largest batch for every
member, which leaves what placing and replicas alone bring.
Then gnntrain predict of ensembles on virtual devices, where each row is asked for once: seconds of the last device, on the virtual clock,
without noise. One member a device: the sum over waves of the slowest member's seconds alone."""
import json
import subprocess

import figure

HIDDEN = (16, 32, 64, 128, 256, 512)
DEVICE = "cpu:clock=virtual,noise=0,speed={}"


def modelled(f):
    out = subprocess.run([f.program("bench_allocate")], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        told = json.loads(line)
        for name, key, goal in (("batches of 8", "one_default", ">= 2.7"), ("batches of 128", "one_best", "")):
            case = f"{told['case']}, {name}"
            if f.wants(case):
                f.row(case, told[key], told["matrix"], told["matrix"] / told[key], goal, "rows/s",
                      f"{told['entries']} entries", "cost model")


def ensemble(f, data, name, models, count):
    run = f.folder / name
    spec = f.folder / f"{name}.yaml"
    values = ", ".join(f"'{text}'" for text in models)
    spec.write_text(f"seed: 1\ncount: {count}\ntrain: {{ epochs: 20, lr: 0.05 }}\nvary: [{{ key: model, values: [{values}] }}]\n")
    f.gnntrain("ensemble", "train", spec, data, "--run", run, "-q")
    return run


def seconds(f, run, devices, *options):
    """Of each device."""
    told = f.gnntrain("predict", run, "--devices", devices, "-o", f.folder / "p.npy", "--json", *options).stdout
    return [d["seconds"] for d in json.loads(told)["devices"]]


def measured(f, data, name, models, count, speeds):
    case = f"{count * len(models)} members on {len(speeds)} devices {':'.join(str(s) for s in speeds)}, each row once"
    if count * len(models) == 1:
        case = f"1 member on {len(speeds)} devices, each row once"
    if not f.wants(case):
        return
    run = ensemble(f, data, name, models, count)
    used = json.loads(f.gnntrain("predict", run, "-o", f.folder / "p.npy", "--json").stdout)["used"]
    if len(used) != count * len(models):
        raise figure.Failed(f"{len(used)} of {count * len(models)} members have a weight: the combination fell back")
    alone = []
    for member in sorted((run / "members").iterdir()):
        seed = json.loads((member / "summary.json").read_text())["seed"]
        alone += seconds(f, run, DEVICE.format(1), "--seed", seed)
    waves = sum(max(alone[first + i] / speed for i, speed in enumerate(speeds) if first + i < len(alone))
                for first in range(0, len(alone), len(speeds)))
    ours = max(seconds(f, run, ";".join(DEVICE.format(s) for s in speeds)))
    f.row(case, waves, ours, waves / ours, "", "s", f"the work over all speeds would take {sum(alone) / sum(speeds):.3g} s",
          "virtual clock")


def measure(f):
    modelled(f)
    blocks, grid = f.folder / "blocks.h5", f.folder / "grid.h5"
    f.gnntrain("generate", "csbm", "--nodes", 10000, "--features", 64, "--classes", 8, "--feature-signal", 4, "-q", "-o", blocks)
    f.gnntrain("generate", "grid", "--rows", 100, "--columns", 100, "--features", 64, "--classes", 8, "-q", "-o", grid)
    models = [f"gcn:{h}, gcn" for h in HIDDEN]
    measured(f, blocks, "unlike", models, 2, (1, 1, 1, 1))
    measured(f, blocks, "unequal", models, 2, (4, 2, 1, 1))
    measured(f, grid, "one", ["gcn:256, gcn"], 1, (1,) * 16)


if __name__ == "__main__":
    figure.run(measure)
