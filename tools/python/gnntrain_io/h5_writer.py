# SPDX-License-Identifier: Apache-2.0
"""Writes "gnntrain-graph" 1.0 (docs/file-format.md): under a temporary name first, renamed when all is on the disk."""
import datetime
import json
import os
import tempfile
import uuid

import h5py
import numpy

from .content_hash import sums
from .errors import FormatError
from .graph import Features

ARC_CHUNK, POINTER_CHUNK = 262144, 131072


def _encode(node, kind, version):
    node.attrs["encoding-type"], node.attrs["encoding-version"] = kind, version


def _array(parent, name, value):
    dataset = parent.create_dataset(name, data=value)
    _encode(dataset, "array", "0.2.0")
    return dataset


def _texts(parent, name, values):
    dataset = parent.create_dataset(name, data=numpy.array(list(values), object), dtype=h5py.string_dtype("utf-8"))
    _encode(dataset, "string-array", "0.2.0")
    return dataset


def _csr(parent, name, shape, indptr, indices, data):
    group = parent.create_group(name)
    _encode(group, "csr_matrix", "0.1.0")
    group.attrs["shape"] = numpy.array(shape, numpy.int64)
    group.create_dataset("indptr", data=indptr.astype(numpy.int64))
    group.create_dataset("indices", data=indices)
    if data is not None:
        group.create_dataset("data", data=data.astype(numpy.float32))
    elif len(indices) == 0:
        group.create_dataset("data", data=numpy.zeros(0, numpy.uint8))
    else:  # ones that take no room: chunks that are never written
        group.create_dataset("data", (len(indices),), numpy.uint8, chunks=(min(ARC_CHUNK, len(indices)),), fillvalue=1)


def _has_loops(g):
    rows = numpy.repeat(numpy.arange(g.num_nodes), numpy.diff(g.indptr))
    return bool((rows == g.indices).any())


def _root(f, g):
    graph_sum, content_sum = sums(g)
    f.attrs["format"], f.attrs["format_version"] = "gnntrain-graph", "1.0"
    f.attrs["generator"], f.attrs["uuid"] = "gnntrain_io 0.1.0", str(uuid.uuid4())
    f.attrs["created"] = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name, value in (("num_nodes", g.num_nodes), ("num_arcs", len(g.indices)), ("directed", int(g.directed)),
                        ("sorted", 1), ("has_self_loops", int(_has_loops(g))), ("has_duplicates", 0)):
        f.attrs[name] = numpy.int64(value)
    f.attrs["graph_sha256"], f.attrs["content_sha256"] = graph_sum, content_sum


def _nodes(f, g):
    nodes = f.require_group("nodes")
    if isinstance(g.x, Features):
        _csr(nodes, "x", (g.num_nodes, g.x.width), g.x.indptr, g.x.indices, g.x.data)
    elif g.x is not None:
        _array(nodes, "x", g.x.astype(numpy.float32))
    if g.y is not None:
        _array(nodes, "y", g.y).attrs["num_classes"] = numpy.int64(g.num_classes)
    if g.class_names is not None:
        _texts(nodes, "classes", g.class_names)
    if g.ids is not None:
        (_array if isinstance(g.ids, numpy.ndarray) else _texts)(nodes, "id", g.ids)


def _write(f, g):
    _root(f, g)
    _csr(f.require_group("graph"), "adj", (g.num_nodes, g.num_nodes), g.indptr, g.indices, g.weights)
    _nodes(f, g)
    for path, value in g.arrays.items():
        _array(f, path, value)
    for name, parts in g.splits.items():
        group = f.create_group(f"splits/{name}")
        group.attrs["kind"], group.attrs["seed"] = "given", numpy.int64(0)
        group.attrs["source"] = g.provenance.get("inputs", "")
        for part, nodes in zip(("train", "valid", "test"), parts):
            _array(group, part, numpy.sort(numpy.asarray(nodes, numpy.int64)))
    f.create_dataset("provenance", data=json.dumps(g.provenance), dtype=h5py.string_dtype("utf-8"))


def check(g):
    """What a reader would refuse, found before anything is written."""
    if isinstance(g.x, numpy.ndarray) and not numpy.isfinite(g.x).all():
        raise FormatError(f"features of node {int(numpy.argwhere(~numpy.isfinite(g.x))[0][0])} are not finite")
    if g.weights is not None and not numpy.isfinite(g.weights).all():
        raise FormatError(f"an edge has the weight {g.weights[~numpy.isfinite(g.weights)][0]}, weights must be finite")
    if g.y is not None and g.y.ndim == 1 and g.y.dtype.kind in "iu":
        wrong = numpy.flatnonzero((g.y < -1) | (g.y >= g.num_classes))
        if len(wrong):
            raise FormatError(f"node {wrong[0]} has the label {g.y[wrong[0]]}, labels are 0 .. {g.num_classes - 1}, or -1 for unlabelled")
    for name, parts in g.splits.items():
        taken = numpy.zeros(g.num_nodes, numpy.int64)
        for nodes in parts:
            nodes = numpy.asarray(nodes, numpy.int64)
            if len(nodes) and (nodes.min() < 0 or nodes.max() >= g.num_nodes):
                raise FormatError(f"split '{name}' names a node outside 0..{g.num_nodes - 1}")
            numpy.add.at(taken, nodes, 1)
        if (taken > 1).any():
            raise FormatError(f"split '{name}' names node {int(numpy.argmax(taken > 1))} twice")


def save(g, path):
    check(g)
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix="." + os.path.basename(path), dir=folder)
    os.close(handle)
    try:
        with h5py.File(temporary, "w", libver=("earliest", "v110")) as f:
            _write(f, g)
        with open(temporary, "rb+") as f:
            os.fsync(f.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
