#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: halo of a launch on our chunks beside METIS' own cut into the same shares; our share of the time
"""Baseline: the smaller of METIS' medians over five seeds, recursive bisection and k-way, of the cuts in balance (work of every
part within 5 % of its share, or as near as ours). Ours: the chunks of the default K (or one a part), launched as ranges of ids.
Then seconds of our verifying, repairing and refining over those of METIS' program in the same cut."""
import json
import statistics
import subprocess

import figure

TOLERANCE = 1.052
LAUNCHES = (("2", ["--parts", 2]), ("4", ["--parts", 4]), ("8", ["--parts", 8]), ("4:2:1", ["--shares", "4:2:1"]))
TIMED = ("4elt", "grid 1000x1000", "arxiv-like", "products10-like", "reddit8-like")


def graphs(f):
    for path in sorted((figure.shared_data() / "metis").glob("*.graph")):
        yield path.stem, path
    yield "grid 1000x1000", "grid:1000x1000"


def ask(f, graph, *options):
    command = [str(word) for word in (f.program("bench_partition"), graph, *options)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        if "chunks asked for" in done.stderr or "edge weight was expected" in done.stderr:
            return None  # fewer nodes than parts, or no METIS graph at all
        raise figure.Failed(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def one_launch(f, case, lines):
    *direct, ours = lines
    fair = [cut for cut in direct if cut["load"] <= max(TOLERANCE, ours["load"])]
    medians = [statistics.median(halos) for kind in ("recursive", "kway")
               if (halos := [cut["halo"] for cut in fair if cut["what"] == kind])]
    note = f"K = {ours['chunks']}, largest part {ours['load']:.3f}"
    if not medians:
        f.row(case, None, ours["halo"], 0.0, "", "rows", note + "; no cut of METIS is in balance", "count")
    else:
        f.row(case, min(medians), ours["halo"], ours["halo"] / max(min(medians), 1), "<= 1.1", "rows", note, "count")


def one_time(f, name, graph):
    seconds = [ask(f, graph, "--parts", 4, "--seeds", 0)[-1] for _ in range(f.rounds)]
    median, low, high = figure.ratio([s["refine_seconds"] for s in seconds], [s["metis_seconds"] for s in seconds])
    f.row(f"{name}, our steps", statistics.median(s["metis_seconds"] for s in seconds),
          statistics.median(s["refine_seconds"] for s in seconds), median, "<= 0.2", "s", figure.spread(low, high, f.rounds))


def measure(f):
    for name, graph in graphs(f):
        for launch, options in LAUNCHES:
            case = f"{name}, {launch} parts"
            lines = f.wants(case) and ask(f, graph, *options)
            if lines:
                one_launch(f, case, lines)
    for name in TIMED:
        if f.wants(f"{name}, our steps"):
            one_time(f, name, dict(graphs(f)).get(name) or f.graph(name))


figure.run(measure)
