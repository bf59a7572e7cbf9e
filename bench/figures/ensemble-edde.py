#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: accuracy of EDDE with at most 60 percent of the epochs beside independent members, three sets, five repeats
"""Five members: the first trains 200 epochs, the others 100 (60 % in all), all else as it comes. For comparison: as many epochs for five
independent members (120 each), at their rate and at the one that EDDE's later members have; EDDE with the paper's choices, of which the share
of layers is what `edde-folds: 5` finds in the first repeat (its trainings are counted apart)."""
import ensemble_runs as runs
import figure

MEMBERS = 5
FASTER = runs.RECIPE.replace("lr: 0.01", "lr: 0.03")
PAPER = ("method: edde", "edde-share: 0.5", "edde-boost: 1", "edde-rate: 1")


def measure(f):
    for name in ("Cora", "CiteSeer", "Cora ML"):
        if not f.wants(name):
            continue
        data = runs.dataset(f, name)
        told = {key: [runs.run(f, data, seed, *lines, members=MEMBERS, epochs=epochs, recipe=recipe) for seed in runs.seeds(f)]
                for key, lines, epochs, recipe in (
                    ("full", (), 200, runs.RECIPE), ("edde", ("method: edde",), 200, runs.RECIPE),
                    ("short", (), 120, runs.RECIPE), ("faster", (), 120, FASTER), ("paper", PAPER, 200, runs.RECIPE))}
        accuracy = {key: [100 * r["ensemble"]["test_metric"] for r in reports] for key, reports in told.items()}
        apart = {key: [a - b for a, b in zip(accuracy[key], accuracy["full"])] for key in accuracy}
        f.row(f"{name}, accuracy", runs.mean(accuracy["full"]), runs.mean(accuracy["edde"]), runs.mean(apart["edde"]), ">= 0", "%",
              f"ratio: mean difference in points, {runs.spread(apart['edde'])}; {share(told, 'edde')} of the epochs", "count")
        for key, title in (("short", "independent with as few epochs"), ("faster", "the same at 3 times the rate"),
                           ("paper", "EDDE with the paper's choices")):
            f.row(f"{name}, {title}", runs.mean(accuracy["full"]), runs.mean(accuracy[key]), runs.mean(apart[key]), "", "%",
                  f"for comparison, {runs.spread(apart[key])}; {share(told, key)} of the epochs", "count")
        f.row(f"{name}, mean member", 100 * runs.mean(r["member_mean"]["test_metric"] for r in told["full"]),
              100 * runs.mean(r["member_mean"]["test_metric"] for r in told["edde"]), None, "", "%", "independent, EDDE", "count")
        folds = runs.run(f, data, 1, "method: edde", "edde-folds: 5", members=MEMBERS)
        f.row(f"{name}, layers that edde-folds finds", None, layers(folds), None, "", "of 2",
              f"for comparison; {share({**told, 'folds': [folds]}, 'folds')} of the epochs, its trainings included", "count")


def share(told, key):
    return f"{100 * told[key][0]['epochs'] / told['full'][0]['epochs']:.0f} %"


def layers(report):
    note = next(n for n in report["run"]["notes"] if " took " in n)
    return int(note.split(" took ")[1].split()[0])


figure.run(measure)
