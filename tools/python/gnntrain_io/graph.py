# SPDX-License-Identifier: Apache-2.0
"""A graph with features, labels and splits in plain numpy arrays, brought into the form that dataset files hold."""
from dataclasses import dataclass, field

import numpy

from .errors import FormatError


@dataclass
class Features:
    """Sparse rows: CSR arrays of (N, width), columns ascending, no zeros."""
    width: int
    indptr: numpy.ndarray
    indices: numpy.ndarray
    data: numpy.ndarray


@dataclass
class Graph:
    num_nodes: int
    indptr: numpy.ndarray           # int64 (N + 1), rows are sources
    indices: numpy.ndarray          # int32 (E), ascending in a row
    weights: numpy.ndarray = None   # float32 (E), None: all 1
    directed: bool = False
    x: object = None                # Features, or float32 (N, F)
    y: numpy.ndarray = None         # int64 (N), -1 unlabelled; uint8 (N, C) several labels; float32 targets
    num_classes: int = 0
    class_names: list = None
    ids: object = None              # int64 (N) or a list of str
    splits: dict = field(default_factory=dict)   # name -> (train, valid, test)
    arrays: dict = field(default_factory=dict)   # HDF5 path -> array
    provenance: dict = field(default_factory=dict)


def graph_from_pairs(num_nodes, source, target, weights=None, directed=False):
    """Sorts, merges repeated arcs (their weights are added) and adds what is missing for an undirected graph."""
    source, target = numpy.asarray(source, numpy.int64), numpy.asarray(target, numpy.int64)
    if len(source) and (min(source.min(), target.min()) < 0 or max(source.max(), target.max()) >= num_nodes):
        raise FormatError(f"an edge is outside 0..{num_nodes - 1}")
    key = source * num_nodes + target
    order = numpy.argsort(key, kind="stable")
    unique, first = numpy.unique(key[order], return_index=True)
    value = None
    if weights is not None:
        value = numpy.add.reduceat(numpy.asarray(weights, numpy.float32)[order], first) if len(first) else \
            numpy.zeros(0, numpy.float32)
    if not directed:
        mirrored = unique % num_nodes * num_nodes + unique // num_nodes
        missing = ~numpy.isin(mirrored, unique)
        if value is not None:
            both = ~missing
            if not numpy.array_equal(value[both], value[numpy.searchsorted(unique, mirrored[both])]):
                raise FormatError("an edge has two weights, one for each direction")
            value = numpy.concatenate([value, value[missing]])
        unique = numpy.concatenate([unique, mirrored[missing]])
        order = numpy.argsort(unique, kind="stable")
        unique, value = unique[order], value[order] if value is not None else None
    if value is not None and (value == 1).all():
        value = None
    counts = numpy.bincount(unique // num_nodes, minlength=num_nodes) if num_nodes else numpy.zeros(0, numpy.int64)
    indptr = numpy.concatenate([[0], numpy.cumsum(counts)]).astype(numpy.int64)
    return Graph(num_nodes, indptr, (unique % num_nodes).astype(numpy.int32), value, directed)


def features_from_rows(width, rows):
    """`rows`: for each node its columns and values, None for none. Repeated columns are added, zeros dropped."""
    indptr, indices, data = [0], [], []
    for row in rows:
        if row is not None:
            columns, inverse = numpy.unique(row[0], return_inverse=True)
            values = numpy.bincount(inverse.ravel(), weights=row[1], minlength=len(columns)).astype(numpy.float32)
            keep = values != 0
            indices.append(columns[keep].astype(numpy.int32))
            data.append(values[keep])
        indptr.append(indptr[-1] + (len(data[-1]) if row is not None else 0))
    empty = [numpy.zeros(0, numpy.int32)]
    return Features(width, numpy.array(indptr, numpy.int64), numpy.concatenate(indices or empty),
                    numpy.concatenate(data or [numpy.zeros(0, numpy.float32)]))
