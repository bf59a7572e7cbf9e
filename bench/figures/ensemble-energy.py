#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: mean completion of members under a power budget, at no more joules than first come takes
"""gnntrain simulate on examples/ensembles/inventory-power.yaml and trace-power.yaml, five seeds. Joules are those of the stated model: idle watts of
every device for as long as there are members, and the difference to busy watts for as long as one is busy. For each seed the budget is the
largest of a row of budgets at which policy energy takes no more joules than first come without a budget (the leanest where none does).
Beside it, without a goal, shortest remaining first at its own joules."""
import json
import re
import statistics

import figure

FILES = figure.HERE.parents[1] / "examples/ensembles"
BUDGETS = range(5600, 3000, -200)


def facts(f, policy, seed, watts=0):
    text = (FILES / "inventory-power.yaml").read_text()
    inventory = f.folder / "inventory.yaml"
    inventory.write_text(re.sub(r"(?m)^watts:.*$", f"watts: {watts}", text))
    return json.loads(f.gnntrain("simulate", inventory, FILES / "trace-power.yaml", "--policy", policy, "--seed", seed, "--json").stdout)


def lean(f, seed, joules):
    """Policy energy at the largest budget with no more joules."""
    tried = []
    for watts in BUDGETS:
        told = facts(f, "energy", seed, watts)
        if told["joules"] <= joules:
            return told
        tried.append(told)
    return min(tried, key=lambda told: told["joules"])


def measure(f):
    if not FILES.is_dir():
        raise figure.Missing(f"no folder '{FILES}': the members and devices of this figure lie in the source tree")
    plain = {seed: facts(f, "first-come", seed) for seed in range(1, 6)}
    sides = (("energy", ">= 1.57", lambda seed: lean(f, seed, plain[seed]["joules"])), ("shortest", "", lambda seed: facts(f, "shortest", seed)))
    for policy, goal, ask in sides:
        if not f.wants(policy):
            continue
        ours = {seed: ask(seed) for seed in plain}
        mean = {name: statistics.mean(told["mean_completion_seconds"] for told in side.values())
                for name, side in (("plain", plain), ("ours", ours))}
        joules = [ours[seed]["joules"] / plain[seed]["joules"] for seed in plain]
        ratios = [plain[seed]["mean_completion_seconds"] / ours[seed]["mean_completion_seconds"] for seed in plain]
        f.row(f"{policy} beside first-come", mean["plain"], mean["ours"], mean["plain"] / mean["ours"], goal, "s",
              f"mean completion; single seeds {min(ratios):.2f} to {max(ratios):.2f}, joules {min(joules):.3f} to {max(joules):.3f} of first come's",
              "simulated")


if __name__ == "__main__":
    figure.run(measure)
