#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a synthetic graph as a gnntrain dataset (HDF5), with the size of a public set but nothing else of it.

  make_graph.py arxiv-like -o arxiv-like.h5

Model: classes are blocks of nodes; each node has a weight from a truncated Pareto law; an edge takes its first end by weight
among all nodes, its second one by weight inside the same block with probability `inside`, else among all (a degree-corrected
block model: Karrer, Newman 2011). Repeats and loops are dropped until the wanted number of edges is there. Node numbers are
shuffled, so that neighbours lie nowhere near each other. Features: the mean of the class plus noise. Needs numpy and h5py.
"""
import argparse
import datetime
import hashlib
import json
import os
import uuid

import h5py
import numpy as np

# nodes, arcs (an undirected edge is two), features, classes, inside, exponent of the weights, share of training nodes
SIZES = {
    "arxiv-like": (169_343, 2_315_598, 128, 40, 0.65, 2.3, 0.54),
    "reddit8-like": (29_120, 14_330_000, 602, 41, 0.75, 2.2, 0.66),
    "products10-like": (244_903, 12_371_000, 100, 47, 0.80, 2.5, 0.08),
    "small-like": (5_000, 40_000, 64, 8, 0.70, 2.5, 0.30),
}


def draw_edges(rng, cumulative, start, block_of, inside, count):
    """`count` ends of edges, as two arrays of node numbers; the blocks are ranges of nodes."""
    last = len(block_of) - 1
    first = np.searchsorted(cumulative[1:], rng.random(count) * cumulative[-1], side="right").clip(max=last)
    low, high = np.zeros(count), np.full(count, cumulative[-1])
    home = rng.random(count) < inside
    block = block_of[first[home]]
    low[home], high[home] = cumulative[start[block]], cumulative[start[block + 1]]
    second = np.searchsorted(cumulative[1:], low + rng.random(count) * (high - low), side="right").clip(max=last)
    return first, second


def make_graph(rng, nodes, arcs, classes, inside, exponent):
    """CSR with both directions of each edge, sorted rows, and the class of each node."""
    size = rng.multinomial(nodes, rng.dirichlet(np.full(classes, 3.0)))
    start = np.concatenate(([0], np.cumsum(size)))
    block_of = np.repeat(np.arange(classes), size)
    weight = np.minimum(rng.pareto(exponent - 1.0, nodes) + 1.0, nodes ** 0.6)
    cumulative = np.concatenate(([0.0], np.cumsum(weight)))
    edges = np.empty(0, np.int64)
    while len(edges) < arcs // 2:
        wanted = arcs // 2 - len(edges)
        a, b = draw_edges(rng, cumulative, start, block_of, inside, wanted + wanted // 5 + 256)
        fresh = np.minimum(a, b) * nodes + np.maximum(a, b)
        edges = np.union1d(edges, fresh[a != b])
    edges = rng.permutation(edges)[:arcs // 2]
    name = rng.permutation(nodes)
    a, b = name[edges // nodes], name[edges % nodes]
    keys = np.sort(np.concatenate((a * nodes + b, b * nodes + a)))
    indptr = np.concatenate(([0], np.cumsum(np.bincount(keys // nodes, minlength=nodes))))
    label = np.empty(nodes, np.int64)
    label[name] = block_of
    return indptr.astype(np.int64), (keys % nodes).astype(np.int32), label


def hashes(indptr, indices, x, label, classes):
    """graph_sha256 and content_sha256 of docs/file-format.md (undirected, unweighted, dense features)."""
    def raw(values):
        return np.asarray(values, "<i8").tobytes()
    nodes = len(label)
    csr = raw(indptr) + raw(indices)
    content = hashlib.sha256(raw([nodes, x.shape[1], classes, 0]) + csr)
    entry = np.dtype([("row", "<i8"), ("column", "<i8"), ("value", "<f4")])
    for first in range(0, nodes, 8192):
        rows, columns = np.nonzero(x[first:first + 8192])
        entries = np.empty(len(rows), entry)
        entries["row"], entries["column"], entries["value"] = rows + first, columns, x[rows + first, columns]
        content.update(entries.tobytes())
    content.update(raw(label))
    return hashlib.sha256(raw([nodes, 0]) + csr).hexdigest(), content.hexdigest()


def write(path, indptr, indices, x, label, classes, parts, about):
    nodes = len(label)
    graph_hash, content_hash = hashes(indptr, indices, x, label, classes)
    unfinished = f"{path}.{os.getpid()}.tmp"
    with h5py.File(unfinished, "w", libver=("earliest", "v110")) as f:
        f.attrs.update({"format": "gnntrain-graph", "format_version": "1.0", "generator": "make_graph.py",
                        "uuid": str(uuid.UUID(content_hash[:32])), "graph_sha256": graph_hash,
                        "created": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "content_sha256": content_hash})
        for key, value in (("num_nodes", nodes), ("num_arcs", len(indices)), ("directed", 0), ("sorted", 1),
                           ("has_self_loops", 0), ("has_duplicates", 0)):
            f.attrs[key] = np.int64(value)
        adj = f.create_group("graph/adj")
        adj.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0",
                          "shape": np.array([nodes, nodes], np.int64)})
        adj["indptr"], adj["indices"] = indptr, indices
        adj.create_dataset("data", (len(indices),), np.uint8, chunks=(1 << 18,) if len(indices) > 1 << 18 else True,
                           fillvalue=1)
        f["nodes/x"], f["nodes/y"] = x, label
        for member in ("nodes/x", "nodes/y"):
            f[member].attrs.update({"encoding-type": "array", "encoding-version": "0.2.0"})
        f["nodes/y"].attrs["num_classes"] = np.int64(classes)
        split = f.create_group("splits/public")
        split.attrs.update({"kind": "random", "seed": np.int64(about["seed"]), "source": "make_graph.py"})
        for part, member in parts.items():
            split[part] = member
        f["provenance"] = json.dumps(about)
    os.replace(unfinished, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(SIZES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    nodes, arcs, features, classes, inside, exponent, train = SIZES[args.kind]
    rng = np.random.default_rng(args.seed)
    indptr, indices, label = make_graph(rng, nodes, arcs, classes, inside, exponent)
    centre = rng.standard_normal((classes, features), dtype=np.float32) * np.float32(3 / features ** 0.5)
    x = rng.standard_normal((nodes, features), dtype=np.float32) + centre[label]
    order = rng.permutation(nodes)
    cut = [round(nodes * train), round(nodes * (1 + train) / 2)]
    parts = {part: np.sort(some) for part, some in zip(("train", "valid", "test"), np.split(order, cut))}
    about = {"kind": args.kind, "seed": args.seed, "note": "synthetic", "nodes": nodes, "arcs": len(indices),
             "largest_degree": int(np.diff(indptr).max())}
    write(args.output, indptr, indices, x, label, classes, parts, about)
    print(json.dumps(about))


if __name__ == "__main__":
    main()
