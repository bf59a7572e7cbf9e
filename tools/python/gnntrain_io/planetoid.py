# SPDX-License-Identifier: Apache-2.0
"""Planetoid files ind.NAME.{x,y,tx,ty,allx,ally,graph,test.index} (Yang, Cohen, Salakhutdinov, ICML 2016).

Nodes 0 .. len(allx)-1 come from allx and ally; row i of tx and ty is the node in line i of test.index. Ids between the
smallest and the largest test id that the index leaves out (CiteSeer has 15) are nodes without features or label.
Public split: the rows of y, the next 500, the test index.
"""
import os

import numpy

from .errors import FormatError
from .graph import features_from_rows, graph_from_pairs
from .numpy_pickle import NUMPY_NAMES, SCIPY_NAMES, Array, CsrMatrix
from .safe_pickle import SafePickle

NUM_VALID = 500


class Neighbours(dict):
    """collections.defaultdict of lists, without its factory."""

    def __init__(self, *_):
        super().__init__()


def _list(*_):
    return []


GRAPH_NAMES = {("collections", "defaultdict"): Neighbours, ("__builtin__", "list"): _list, ("builtins", "list"): _list}


def _load(folder, name, part, names, kind):
    path = os.path.join(folder, f"ind.{name}.{part}")
    try:
        with open(path, "rb") as f:
            value = SafePickle(f.read(), path, names).load()
    except OSError as error:
        raise FormatError(f"cannot read '{path}': {error.strerror}") from None
    if not isinstance(value, kind):
        raise FormatError(f"'{path}' holds no {kind.__name__}")
    return value.checked(path) if kind is CsrMatrix else value


def _matrix(folder, name, part):
    return _load(folder, name, part, {**NUMPY_NAMES, **SCIPY_NAMES}, CsrMatrix)


def _one_hot(folder, name, part, rows):
    value = _load(folder, name, part, NUMPY_NAMES, Array).value
    if value is None or value.ndim != 2 or len(value) != rows:
        raise FormatError(f"ind.{name}.{part} has {0 if value is None else len(value)} rows, {rows} were expected")
    return numpy.where(value.any(axis=1), value.argmax(axis=1), -1).astype(numpy.int64), value.shape[1]


def _test_index(folder, name):
    path = os.path.join(folder, f"ind.{name}.test.index")
    ids = []
    try:
        with open(path, encoding="ascii") as f:
            for number, line in enumerate(f, 1):
                if not line.strip().isdigit():
                    raise FormatError(f"file '{path}', line {number}: '{line.strip()[:40]}' is no node number")
                ids.append(int(line))
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"cannot read '{path}': {error}") from None
    if len(set(ids)) != len(ids) or not ids:
        raise FormatError(f"'{path}' has no ids or one twice")
    return numpy.array(ids, numpy.int64)


def _edges(folder, name, num_nodes):
    neighbours = _load(folder, name, "graph", GRAPH_NAMES, dict)
    try:
        counts = [len(v) for v in neighbours.values()]
        source = numpy.repeat(numpy.fromiter(neighbours.keys(), numpy.int64, len(counts)), counts)
        target = numpy.fromiter((t for v in neighbours.values() for t in v), numpy.int64, len(source))
    except (TypeError, ValueError):
        raise FormatError(f"ind.{name}.graph is no table of neighbours") from None
    return graph_from_pairs(num_nodes, source, target), len(source)


def _rows(matrix):
    for r in range(matrix.shape[0]):
        part = slice(matrix.indptr[r], matrix.indptr[r + 1])
        yield matrix.indices[part], matrix.data[part]


def read_planetoid(folder, name):
    allx, tx, test = _matrix(folder, name, "allx"), _matrix(folder, name, "tx"), _test_index(folder, name)
    num_train = _matrix(folder, name, "x").shape[0]
    known = allx.shape[0]
    if len(test) != tx.shape[0] or test.min() < known or allx.shape[1] != tx.shape[1]:
        raise FormatError(f"ind.{name}.allx, tx and test.index do not fit together")
    ally, num_classes = _one_hot(folder, name, "ally", known)
    ty, test_classes = _one_hot(folder, name, "ty", tx.shape[0])
    num_nodes = int(test.max()) + 1
    if num_nodes > known + 16 * len(test) or test_classes != num_classes:
        raise FormatError(f"ind.{name}.test.index reaches node {num_nodes - 1}, far behind the rows that there are")
    g, records = _edges(folder, name, num_nodes)
    rows = list(_rows(allx)) + [None] * (num_nodes - known)
    g.y = numpy.full(num_nodes, -1, numpy.int64)
    g.y[:known], g.y[test] = ally, ty
    for node, row in zip(test, _rows(tx)):
        rows[node] = row
    g.x, g.num_classes = features_from_rows(allx.shape[1], rows), num_classes
    g.splits["public"] = (numpy.arange(num_train), numpy.arange(num_train, min(num_train + NUM_VALID, known)), test)
    g.provenance = {"command": "gnntrain_io planetoid", "inputs": f"ind.{name}.*", "records": records,
                    "holes": num_nodes - known - len(test)}
    return g
