#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: mean completion of members of unlike types, max-min over types beside least service that is blind to them
"""gnntrain simulate on examples/ensembles/inventory-types.yaml and trace-types.yaml, five seeds of arrivals, lengths and noise. Both policies
plan in rounds of six minutes. Beside them, without a goal, first come, which knows the types too."""
import json
import statistics

import figure

FILES = figure.HERE.parents[1] / "examples/ensembles"


def facts(f, policy, seed):
    return json.loads(f.gnntrain("simulate", FILES / "inventory-types.yaml", FILES / "trace-types.yaml", "--policy", policy, "--seed", seed,
                                 "--json").stdout)


def measure(f):
    if not FILES.is_dir():
        raise figure.Missing(f"no folder '{FILES}': the members and devices of this figure lie in the source tree")
    for policy, goal in (("max-min", ">= 2"), ("first-come", "")):
        if not f.wants(policy):
            continue
        pairs = [(facts(f, "least-service", seed), facts(f, policy, seed)) for seed in range(1, 6)]
        blind, ours = (statistics.mean(side["mean_completion_seconds"] for side in sides) for sides in zip(*pairs))
        ratios = sorted(a["mean_completion_seconds"] / b["mean_completion_seconds"] for a, b in pairs)
        f.row(f"{policy} beside least-service", blind, ours, blind / ours, goal, "s",
              f"mean completion; single seeds {ratios[0]:.2f} to {ratios[-1]:.2f}", "simulated")


if __name__ == "__main__":
    figure.run(measure)
