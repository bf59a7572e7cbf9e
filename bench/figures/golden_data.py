# SPDX-License-Identifier: Apache-2.0
"""Writes the small graphs of the golden files as datasets: golden_data.py tiny|karate GOLDEN_FOLDER OUT.h5 (numpy, h5py)."""
import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
import make_graph  # noqa: E402


def edges_of(kind, golden, folder):
    if kind == "tiny":
        return golden["edges"]
    lines = (folder.parent / "metis/karate.graph").read_text().splitlines()[1:]
    return [(u, int(v) - 1) for u, line in enumerate(lines) for v in line.split() if u < int(v) - 1]


def main():
    kind, folder, out = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
    golden = json.loads((folder / f"{kind}_golden.json").read_text())
    nodes = golden["nodes"]
    edges = np.array(edges_of(kind, golden, folder), np.int64)
    keys = np.sort(np.concatenate((edges[:, 0] * nodes + edges[:, 1], edges[:, 1] * nodes + edges[:, 0])))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(keys // nodes, minlength=nodes)))).astype(np.int64)
    x = np.array(golden["X"], np.float32) if kind == "tiny" else np.eye(nodes, dtype=np.float32)
    train, valid = ([0, 1, 4], [2]) if kind == "tiny" else ([0, 33], [1, 32])
    parts = {"train": np.array(train), "valid": np.array(valid),
             "test": np.setdiff1d(np.arange(nodes), np.array(train + valid))}
    make_graph.write(out, indptr, (keys % nodes).astype(np.int32), x, np.array(golden["labels"], np.int64),
                     golden["classes"], parts, {"seed": 0, "kind": kind})


main()
