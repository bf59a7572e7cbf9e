#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: accuracy of EDDE with at most 60 percent of the epochs beside independent members, three sets, five repeats
"""Five members: the first trains 200 epochs, the others 80 (52 % in all). Independent members train 200 each; those with 104 each (the
same epochs as EDDE) show what the method itself adds."""
import ensemble_runs as runs
import figure

MEMBERS = 5


def measure(f):
    for name in ("Cora", "CiteSeer", "Cora ML"):
        if not f.wants(name):
            continue
        data, seeds = runs.dataset(f, name), range(1, runs.REPEATS + 1)
        full = [runs.run(f, data, s, members=MEMBERS) for s in seeds]
        short = [runs.run(f, data, s, members=MEMBERS, epochs=104) for s in seeds]
        edde = [runs.run(f, data, s, "method: edde", members=MEMBERS) for s in seeds]
        accuracy = {key: [100 * r["ensemble"]["test_metric"] for r in told]
                    for key, told in (("full", full), ("short", short), ("edde", edde))}
        differences = [a - b for a, b in zip(accuracy["edde"], accuracy["full"])]
        share = edde[0]["epochs"] / full[0]["epochs"]
        f.row(f"{name}, accuracy", runs.mean(accuracy["full"]), runs.mean(accuracy["edde"]), runs.mean(differences), ">= 0", "%",
              f"ratio: mean difference in points, {runs.spread(differences)}; {100 * share:.0f} % of the epochs", "count")
        f.row(f"{name}, independent with as few epochs", runs.mean(accuracy["full"]), runs.mean(accuracy["short"]),
              runs.mean(accuracy["short"]) - runs.mean(accuracy["full"]), "", "%", "for comparison", "count")
        f.row(f"{name}, mean member", 100 * runs.mean(r["member_mean"]["test_metric"] for r in full),
              100 * runs.mean(r["member_mean"]["test_metric"] for r in edde), None, "", "%", "independent, EDDE", "count")


figure.run(measure)
