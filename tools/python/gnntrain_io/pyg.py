# SPDX-License-Identifier: Apache-2.0
"""PyG Data. from_pyg takes an object (or a dict of arrays); read_pyg a file of torch.save, without torch.

A file of torch.save is a zip with data.pkl and the raw storages data/KEY. The pickle is read by SafePickle: tensors are
rebuilt from storages by name, Data and its stores become plain dicts, everything else is refused.
"""
import zipfile

import numpy

from .errors import FormatError
from .graph import graph_from_pairs
from .safe_pickle import SafePickle

STORAGE_TYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8",
                 "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "i1", "ByteStorage": "u1", "BoolStorage": "?"}
PARTS = (("train_mask",), ("val_mask", "valid_mask"), ("test_mask",))


class Record(dict):
    """An object of a class that only holds data: its state becomes the dict's items."""

    def __init__(self, *_):
        super().__init__()

    def set_state(self, state):
        if isinstance(state, tuple):  # (state of __dict__, state of __slots__)
            state = {k: v for part in state if isinstance(part, dict) for k, v in part.items()}
        self.update(state)


def _tensor(storage, offset, size, stride, *_):
    if any(s < 0 for s in (*size, *stride, offset)):
        raise ValueError("a tensor with negative sizes")
    last = offset + sum((n - 1) * s for n, s in zip(size, stride)) if all(size) else 0
    if last >= max(len(storage), 1):
        raise ValueError("a tensor reaches behind its storage")
    steps = [s * storage.itemsize for s in stride]
    return numpy.lib.stride_tricks.as_strided(storage[offset:], size, steps).copy()


def torch_names():
    names = {("torch", kind): (lambda dtype: lambda *_: dtype)(dtype) for kind, dtype in STORAGE_TYPES.items()}
    names[("torch._utils", "_rebuild_tensor_v2")] = _tensor
    names[("collections", "OrderedDict")] = Record
    for module in ("torch_geometric.data.data", "torch_geometric.data.storage", "torch_geometric.data.graph_store",
                   "torch_geometric.data.feature_store"):
        for name in ("Data", "GlobalStorage", "DataEdgeAttr", "DataTensorAttr", "TensorAttr", "EdgeAttr", "CastMixin",
                     "EdgeLayout"):
            names[(module, name)] = Record
    return names


def _find(record, key, depth=0):
    if key in record:
        return record[key]
    for name in ("_store", "_mapping", "__dict__"):
        if depth < 4 and isinstance(record.get(name), dict):
            found = _find(record[name], key, depth + 1)
            if found is not None:
                return found
    return None


def load_archive(path, names):
    """The value of a file of torch.save; `names` as for SafePickle."""
    try:
        with zipfile.ZipFile(path) as archive:
            pickles = [n for n in archive.namelist() if n.endswith("/data.pkl") or n == "data.pkl"]
            if len(pickles) != 1:
                raise FormatError(f"'{path}' is no file of torch.save: it has {len(pickles)} data.pkl")
            root = pickles[0][:-len("data.pkl")]

            def storage(key):
                if not isinstance(key, tuple) or len(key) < 5 or key[0] != "storage":
                    raise FormatError(f"'{path}': a reference that is no storage")
                dtype = key[1]() if any(key[1] is known for known in names.values()) else None
                return numpy.frombuffer(archive.read(f"{root}data/{key[2]}"), dtype)

            return SafePickle(archive.read(pickles[0]), path, names, storage).load()
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise FormatError(f"cannot read '{path}': {error}") from None


def read_pyg(path):
    value = load_archive(path, torch_names())
    if isinstance(value, tuple) and value:  # (data, slices) of InMemoryDataset
        if len(value) > 1 and value[1] is not None:
            raise FormatError(f"'{path}' holds several graphs, which are not converted yet")
        value = value[0]
    if not isinstance(value, dict):
        raise FormatError(f"'{path}' holds no Data object")
    return from_pyg(value, path)


def array_of(value):
    if value is None:
        return None
    for step in ("detach", "cpu", "numpy"):  # a torch tensor, when called from a program that has torch
        value = getattr(value, step)() if hasattr(value, step) else value
    return numpy.asarray(value)


def _getter(data):
    if isinstance(data, dict):
        return lambda key: array_of(_find(data, key))
    return lambda key: array_of(getattr(data, key, None))


def _labels(g, y):
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim == 2:
        if y.dtype.kind == "f" and not numpy.isin(y, (0, 1)).all():
            g.y, g.num_classes = y.astype(numpy.float32), y.shape[1]
        else:
            g.y, g.num_classes = y.astype(numpy.uint8), y.shape[1]
    elif y.dtype.kind == "f":
        g.y, g.num_classes = y.astype(numpy.float32).reshape(-1, 1), 1
    else:
        g.y = y.astype(numpy.int64)
        g.num_classes = int(max(g.y.max(initial=-1) + 1, 0))


def _splits(g, get):
    masks = []
    for names in PARTS:
        found = [m for m in (get(n) for n in names) if m is not None]
        masks.append(found[0] != 0 if found else numpy.zeros(g.num_nodes, bool))
        if len(masks[-1]) != g.num_nodes:
            raise FormatError(f"{names[0]} has {len(masks[-1])} rows, the graph has {g.num_nodes} nodes")
    if not masks[0].any():
        return
    count = max(m.shape[1] if m.ndim == 2 else 1 for m in masks)
    for s in range(count):
        parts = [numpy.flatnonzero(m[:, min(s, m.shape[1] - 1)] if m.ndim == 2 else m) for m in masks]
        g.splits["public" if count == 1 else str(s)] = tuple(parts)


def from_pyg(data, source="PyG Data", directed=None):
    """A Graph from a Data object or a dict with its keys. Direction: undirected when the stored edges are symmetric."""
    get = _getter(data)
    edges, x, y, weight = get("edge_index"), get("x"), get("y"), get("edge_weight")
    if edges is None or edges.ndim != 2 or edges.shape[0] != 2:
        raise FormatError(f"'{source}' has no edge_index of two rows")
    stated = get("num_nodes")
    num_nodes = len(x) if x is not None else int(stated) if stated is not None else len(y) if y is not None else \
        int(edges.max(initial=-1)) + 1
    if weight is not None:
        weight = weight.reshape(-1)
    guessed = directed is None
    if guessed:
        pairs = edges[0].astype(numpy.int64) * num_nodes + edges[1]
        directed = not numpy.array_equal(numpy.unique(pairs), numpy.unique(edges[1].astype(numpy.int64) * num_nodes + edges[0]))
    try:
        g = graph_from_pairs(num_nodes, edges[0], edges[1], weight, directed)
    except FormatError:  # two weights, one for each direction: then they are two arcs
        if not guessed or directed:
            raise
        g = graph_from_pairs(num_nodes, edges[0], edges[1], weight, True)
    if x is not None:
        if x.dtype.kind not in "biuf":
            raise FormatError(f"x of '{source}' holds {x.dtype}: features are real numbers")
        g.x = x.astype(numpy.float32).reshape(num_nodes, -1)
    if y is not None and len(y) == num_nodes:
        _labels(g, y)
    _splits(g, get)
    g.provenance = {"command": "gnntrain_io pyg", "inputs": str(source), "records": int(edges.shape[1])}
    return g
