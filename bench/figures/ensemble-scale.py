#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: seconds that the simulation of 1,000 devices and 5,000 members takes, a million events
"""The whole command in one thread: files read, every policy's own code, facts. The makespan policy is measured `rounds` times, the
others once. Seconds are those of the one core that it uses, the ratio is their median; the memory is that of the process."""
import statistics

import figure
from ensemble_worlds import simulate

POLICIES = ("makespan", "first-come", "shortest", "max-min", "energy", "least-service")


def measure(f):
    for policy in POLICIES:
        case = f"1,000 devices, 5,000 members, {policy}"
        if not f.wants(case):
            continue
        runs = [simulate(f, "1000", "5000", "--policy", policy) for _ in range(f.rounds if policy == "makespan" else 1)]
        seconds = statistics.median(run["cpu_seconds"] for run in runs)
        run = runs[0]
        f.row(case, None, seconds, seconds, "<= 10", "s", f"{run['events']:,} events, {run['plans']:,} plans, "
              f"{run['peak_bytes'] >> 20} MiB, makespan {run['makespan_over_bound']:.3f} of the bound, "
              f"{run['utilisation']:.2f} used", "processor")


figure.run(measure)
