# SPDX-License-Identifier: Apache-2.0
"""OGB's node sets. from_ogb takes what NodePropPredDataset answers; read_ogb a folder of it, without ogb or torch.

The folder (dataset/ogbn_arxiv) has processed/data_processed, a file of torch.save with the graph's arrays, and split/NAME/
with train, valid and test as compressed lists of nodes. The raw folder alone is what `gnntrain import` reads.
"""
import gzip
import os

import numpy

from .errors import FormatError
from .numpy_pickle import NUMPY_NAMES, Array
from .pyg import array_of, from_pyg, load_archive, torch_names

PARTS = ("train", "valid", "test")


def _plain(value):
    return value.value if isinstance(value, Array) else array_of(value)


def _list(path):
    try:
        with gzip.open(path, "rt", encoding="ascii") as f:
            lines = f.read().split()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise FormatError(f"cannot read '{path}': {error}") from None
    for number, line in enumerate(lines, 1):
        if not line.isdigit() or len(line) > 18:
            raise FormatError(f"file '{path}', line {number}: '{line[:40]}' is no node number")
    return numpy.array(lines, numpy.int64)


def _splits(folder):
    root = os.path.join(folder, "split")
    names = sorted(os.listdir(root)) if os.path.isdir(root) else []
    return {name: tuple(_list(os.path.join(root, name, part + ".csv.gz")) for part in PARTS)
            for name in names if os.path.isdir(os.path.join(root, name))}


def read_ogb(folder, directed=False):
    path = os.path.join(folder, "processed", "data_processed")
    if not os.path.exists(path):
        raise FormatError(f"'{path}' is missing: is '{folder}' a set that ogb has loaded? "
                          "gnntrain import reads a raw folder")
    value = load_archive(path, {**torch_names(), **NUMPY_NAMES})
    if not isinstance(value, dict) or not isinstance(value.get("graph"), dict):
        raise FormatError(f"'{path}' holds no graph of one type")
    return from_ogb(value["graph"], value.get("labels"), _splits(folder), directed, folder)


def _labels(labels):
    y = _plain(labels)
    if y is not None and y.dtype.kind == "f" and y.size and (numpy.isnan(y) | (y == numpy.floor(y))).all():
        y = numpy.where(numpy.isnan(y), -1, y).astype(numpy.int64)  # classes, not a number where there is none
    return y


def from_ogb(graph, labels=None, splits=None, directed=False, source="OGB graph"):
    """A Graph from graph and labels of NodePropPredDataset. splits: get_idx_split(), or {name: (train, valid, test)}.

    OGB does not state a direction: edges go both ways unless directed.
    """
    g = from_pyg({"edge_index": _plain(graph.get("edge_index")), "x": _plain(graph.get("node_feat")), "y": _labels(labels),
                  "num_nodes": graph.get("num_nodes")}, source, directed)
    if splits and set(splits) >= set(PARTS):
        splits = {"public": tuple(_plain(splits[part]) for part in PARTS)}
    for name, parts in (splits or {}).items():
        for part, nodes in zip(PARTS, parts):
            if len(nodes) and (nodes.min() < 0 or nodes.max() >= g.num_nodes):
                raise FormatError(f"'{source}': split '{name}', {part}, has a node outside 0..{g.num_nodes - 1}")
        g.splits[name] = tuple(numpy.sort(nodes) for nodes in parts)
    g.provenance = {"command": "gnntrain_io ogb", "inputs": str(source), "directed": bool(directed)}
    return g
