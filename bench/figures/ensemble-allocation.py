#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: the allocation matrix (members on devices, batches) beside one member a device, rows a second under a stated cost model
"""bench_allocate states the model. One member a device: each device has one member at a time, in waves in the order given. The goal is
against batches of 8 rows, what a server starts with; beside it, without a goal, against the largest batch for every member, which leaves
what placing and replicas alone bring."""
import json
import subprocess

import figure


def measure(f):
    out = subprocess.run([f.program("bench_allocate")], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines():
        told = json.loads(line)
        for name, key, goal in (("batches of 8", "one_default", ">= 2.7"), ("batches of 128", "one_best", "")):
            case = f"{told['case']}, {name}"
            if f.wants(case):
                f.row(case, told[key], told["matrix"], told["matrix"] / told[key], goal, "rows/s",
                      f"{told['entries']} entries", "cost model")


if __name__ == "__main__":
    figure.run(measure)
