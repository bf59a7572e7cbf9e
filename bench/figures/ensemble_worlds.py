# SPDX-License-Identifier: Apache-2.0
"""What the figures of the simulator share: where the written inventories and traces are, and one simulation."""
import json

import figure

PLACES = (figure.HERE.parents[1] / "examples/ensembles", figure.HERE.parent / "ensembles")


def world(name):
    for place in PLACES:
        if (place / f"{name}.yaml").is_file():
            return place / f"{name}.yaml"
    raise figure.Missing(f"no '{name}.yaml' in '{PLACES[0]}' or '{PLACES[1]}'")


def simulate(f, inventory, trace, *options, seed=1):
    """The facts, with what the command needed as "cpu_seconds" and "peak_bytes"."""
    done = f.gnntrain("simulate", world("inventory-" + inventory), world("trace-" + trace), "--seed", seed, "--json", *options)
    return {**json.loads(done.stdout), "cpu_seconds": done.cpu_seconds, "peak_bytes": done.peak_bytes}
