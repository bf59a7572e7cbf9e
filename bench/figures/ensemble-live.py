#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: a live ensemble of 24 unequal members on devices 4:2:1: utilisation, makespan, loss of the fastest, and the pause of a resize
"""Real training. The schedule is on the virtual clock, whose speeds the planner never sees. The bound comes from a run of the same spec on
one device of speed 1 without noise, which gives the work of each member: max(all work / all speeds, the longest member / the
fastest device). After a loss at time t: t + what is left of the work, had nothing been idle before, / the speeds that are left.

The pause of a resize is wall time: from the epoch's end at which a group leaves its device to its first epoch on others, the largest of
all groups. Beside it stop, checkpoint, restart: SIGTERM, the same line again, until the last group is back on a device."""
import json
import os
import signal
import subprocess
import time

import figure

WIDTHS = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256)
SPEEDS = (4, 2, 1)


def write_spec(f, name, values, epochs):
    spec = f.folder / f"{name}.yaml"
    listed = ", ".join(f'"{v}"' for v in values)
    spec.write_text(f"train: {{ dropout: 0.5, epochs: {epochs} }}\nseed: 1\nvary:\n  - {{ key: model, values: [{listed}] }}\n")
    return spec


def ensemble(f, spec, data, run, devices, *options):
    f.gnntrain("ensemble", "train", spec, data, "--run", run, "--devices", devices, "-q", *options)
    return json.loads((run / "summary.json").read_text())


def journal(run):
    """Whole lines; the last one may be torn while the run goes on."""
    lines = []
    for line in (run / "journal.jsonl").read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines


def schedule(f, data):
    spec = write_spec(f, "unequal", [f"gcn:{w}, gcn" for w in WIDTHS], 40)
    alone = f.fresh("alone")
    work = ensemble(f, spec, data, alone, "cpu:clock=virtual,noise=0")["schedule"]["makespan_seconds"]
    longest = max(line["seconds"] for line in journal(alone) if line["event"] == "ended")
    bound = max(work / sum(SPEEDS), longest / max(SPEEDS))
    devices = ";".join(f"cpu:clock=virtual,speed={s}" for s in SPEEDS)
    told = ensemble(f, spec, data, f.fresh("all"), devices)["schedule"]
    groups = f"{told['groups']} groups"
    if f.wants("utilisation"):
        f.row("utilisation, 24 members on 4:2:1", None, told["utilisation"], told["utilisation"], ">= 0.9", "", groups,
              "virtual clock")
    if f.wants("makespan"):
        f.row("makespan beside the bound", bound, told["makespan_seconds"], told["makespan_seconds"] / bound, "<= 1.1", "s",
              groups, "virtual clock")
    if f.wants("loss"):
        at = 0.5 * bound
        run = f.fresh("lost")
        (run / "requests").mkdir(parents=True)
        (run / "requests/lose.json").write_text(json.dumps({"lose": 0, "at": at}))
        told = ensemble(f, spec, data, run, devices, "--checkpoint-every", 5)["schedule"]
        left = at + (work - at * sum(SPEEDS)) / (sum(SPEEDS) - SPEEDS[0])
        f.row("makespan after the loss of the fastest", left, told["makespan_seconds"], told["makespan_seconds"] / left,
              "<= 1.2", "s", f"lost at {at:.3g} s, {told['lost']} group went back to its checkpoint", "virtual clock")


def start(f, spec, data, run, devices):
    command = [str(f.command), "ensemble", "train", str(spec), str(data), "--run", str(run), "--devices", devices, "-q"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def wait_for(process, run, ready):
    """Until ready(lines of the journal) answers something."""
    for _ in range(6000):
        if process.poll() is not None:
            raise figure.Failed(f"the run ended early: {process.stderr.read().decode()[-400:]}")
        lines = journal(run) if (run / "journal.jsonl").exists() else []
        found = ready(lines)
        if found:
            return found
        time.sleep(0.005)
    raise figure.Failed("the run does not come to where it should")


def placed(lines, count, after=0):
    """The newest placement of each task, when so many tasks have one behind line `after`."""
    tasks = {line["task"]: line for line in lines[after:] if line["event"] == "placed"}
    return tasks if len(tasks) >= count else None


def stop(process, sign):
    process.send_signal(sign)
    process.wait()
    process.stderr.close()


def pause(f, data):
    devices = ";".join(["cpu:threads=1"] * 2)
    more = ";".join(["cpu:threads=1"] * 2 + ["cpu:threads=2"])
    spec = write_spec(f, "pause", ["gcn:64, gcn", "gcn:96, gcn"], 100000)
    run = f.fresh("pause")
    process = start(f, spec, data, run, devices)
    try:
        wait_for(process, run, lambda lines: placed(lines, 2))
        time.sleep(1.0)
        before = len(journal(run))
        # both groups change places: two devices go, two others come
        f.gnntrain("ensemble", "resize", run, "--devices", more.replace("threads=1", "threads=3"))
        moved = wait_for(process, run, lambda lines: placed(lines, 2, before))
        ours = max(line["pause_seconds"] for line in moved.values())
        time.sleep(1.0)
        before, begin = len(journal(run)), time.monotonic()
        stop(process, signal.SIGTERM)
        process = start(f, spec, data, run, devices)
        wait_for(process, run, lambda lines: placed(lines, 2, before))
        restart = time.monotonic() - begin
    finally:
        if process.poll() is None:
            stop(process, signal.SIGKILL)
    f.row("pause of a resize beside stop and restart", restart, ours, restart / ours, ">= 20", "s",
          "the largest pause of two groups that move", "wall clock")


def measure(f):
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if any(f.wants(word) for word in ("utilisation", "makespan", "loss")):
        data = f.folder / "graph.h5"
        f.gnntrain("generate", "csbm", "--nodes", 3000, "--features", 64, "--classes", 8, "--seed", 3, "-q", "-o", data)
        schedule(f, data)
    if f.wants("pause"):
        large = f.folder / "large.h5"
        f.gnntrain("generate", "csbm", "--nodes", 50000, "--features", 128, "--classes", 8, "--seed", 3, "-q", "-o", large)
        pause(f, large)


if __name__ == "__main__":
    figure.run(measure)
