# SPDX-License-Identifier: Apache-2.0
"""graph_sha256 and content_sha256 as the command computes them (docs/file-format.md)."""
import hashlib

import numpy

from .graph import Features

FEATURE = numpy.dtype([("row", "<i8"), ("column", "<i8"), ("value", "<f4")])


def _graph_into(sums, g):
    for sum_ in sums:
        sum_.update(g.indptr.astype("<i8").tobytes())
        sum_.update(g.indices.astype("<i8").tobytes())
        if g.weights is not None:
            sum_.update(g.weights.astype("<f4").tobytes())


def _features_into(sum_, x):
    if isinstance(x, Features):
        rows = numpy.repeat(numpy.arange(len(x.indptr) - 1), numpy.diff(x.indptr))
        columns, values = x.indices, x.data
    else:
        rows, columns = numpy.nonzero(x)
        values = x[rows, columns]
    records = numpy.empty(len(rows), FEATURE)
    records["row"], records["column"], records["value"] = rows, columns, values
    sum_.update(records.tobytes())


def width_of(x):
    return 0 if x is None else x.width if isinstance(x, Features) else x.shape[1]


def sums(g):
    graph, content = hashlib.sha256(), hashlib.sha256()
    graph.update(numpy.array([g.num_nodes, g.directed], "<i8").tobytes())
    content.update(numpy.array([g.num_nodes, width_of(g.x), g.num_classes, g.directed], "<i8").tobytes())
    _graph_into((graph, content), g)
    if g.x is not None:
        _features_into(content, g.x)
    if g.y is not None:
        content.update(numpy.ascontiguousarray(g.y, "<f4" if g.y.dtype.kind == "f" else "<i8").tobytes())
    for path in sorted(g.arrays):
        if path in ("/nodes/origin", "/edges/id"):
            continue
        value = g.arrays[path]
        kind = "<i8" if value.dtype.kind in "biu" else "<f8" if value.dtype.itemsize == 8 else "<f4"
        content.update(path.encode())
        content.update(numpy.ascontiguousarray(value, kind).tobytes())
    return graph.hexdigest(), content.hexdigest()
