# SPDX-License-Identifier: Apache-2.0
"""DGL graphs. from_dgl takes a DGLGraph of one node and one edge type; read_dgl a file of dgl.save_graphs, without DGL.

A file of dgl.save_graphs (version 2) is a header of 4096 bytes (magic, version, kind, number of graphs), the labels, then
each graph: the graph of its types, the edges of each type as COO, CSR or CSC, the tensors of its nodes and edges by name.
Every tensor states its type and shape (DGL, src/graph/serialize/; the tests' file was written by DGL 2.1).
"""
import math
import struct

import numpy

from .errors import FormatError
from .pyg import array_of, from_pyg

HEADER_BYTES = 4096
FILE, TENSOR, DATA = 0xDD2E4FF046B4A13F, 0xDD5E40F096B4A13F, 0xDD589FBE35224ABF
TYPES, CSR, COO, UNIT = 0xDD3C5FFE20046ABF, 0xDD6CD31205DFF127, 0xDD61FFD305DFF127, 0xDD2E60F0F6B4A127
AS_COO, AS_CSR, AS_CSC = 1, 2, 4
CODES = {0: "i", 1: "u", 2: "f", 6: "u"}  # of a tensor's type: signed, unsigned, float, bool
NAMES = {"x": ("feat", "x", "features", "feature"), "y": ("label", "y", "labels"), "train_mask": ("train_mask",),
         "val_mask": ("val_mask", "valid_mask"), "test_mask": ("test_mask",)}
WEIGHTS = ("weight", "w", "edge_weight", "edge_weights")


class Stream:
    def __init__(self, path):
        self.path, self.at = path, 0
        try:
            with open(path, "rb") as f:
                self.data = f.read()
        except OSError as error:
            raise FormatError(f"cannot read '{path}': {error.strerror}") from None

    def fail(self, text):
        raise FormatError(f"'{self.path}', byte {self.at}: {text}")

    def take(self, count):
        if count < 0 or count > len(self.data) - self.at:
            self.fail("the file is cut")
        self.at += count
        return self.data[self.at - count:self.at]

    def numbers(self, codes):
        return struct.unpack("<" + codes, self.take(struct.calcsize("<" + codes)))

    def number(self, code="Q"):
        return self.numbers(code)[0]

    def magic(self, value, what):
        if self.number() != value:
            self.at -= 8
            self.fail(f"{what} was expected")

    def count(self, least_bytes):
        count = self.number()
        if count * least_bytes > len(self.data) - self.at:
            self.fail(f"{count} items are claimed, the file is shorter")
        return count

    def text(self):
        return self.take(self.number()).decode("utf-8", "replace")

    def tensor(self):
        self.magic(TENSOR, "a tensor")
        _, _, _, rank, code, bits, lanes = self.numbers("QiiiBBH")
        if code not in CODES or lanes != 1 or bits not in (8, 16, 32, 64) or (CODES[code] == "f" and bits == 8):
            self.fail(f"a tensor of type {code} with {bits} bits")
        if not 0 <= rank <= 8:
            self.fail(f"a tensor of {rank} dimensions")
        shape = self.numbers(f"{rank}q")
        num_bytes = self.number()
        if any(n < 0 for n in shape) or math.prod(shape) * (bits // 8) != num_bytes:
            self.fail(f"a tensor of shape {shape} has {num_bytes} bytes")
        return numpy.frombuffer(self.take(num_bytes), f"<{CODES[code]}{bits // 8}").reshape(shape)

    def tensors(self):
        return {self.text(): self.tensor() for _ in range(self.count(8))}

    def csr(self):
        self.magic(CSR, "a CSR matrix")
        rows, _ = self.numbers("qq")
        indptr, indices, ids = self.tensor(), self.tensor(), self.tensor()
        self.take(1)
        if len(indptr) != rows + 1 or (numpy.diff(indptr.astype(numpy.int64)) < 0).any() or indptr[0] != 0 or \
                indptr[-1] != len(indices):
            self.fail("pointers and indices of the edges do not fit")
        return numpy.repeat(numpy.arange(rows), numpy.diff(indptr)), indices, ids

    def coo(self):
        self.magic(COO, "a list of edges")
        self.numbers("qq")
        rows, columns, ids = self.tensor(), self.tensor(), self.tensor()
        self.take(2)
        return rows, columns, ids

    def types(self):
        self.magic(TYPES, "the graph of types")
        return self.csr()

    def unit(self):
        """Sources and targets of one type of edges, in the order of their ids."""
        self.magic(UNIT, "the edges of a type")
        form, _, _, _ = self.numbers("4i")
        self.types()
        if form not in (AS_COO, AS_CSR, AS_CSC):
            self.fail(f"edges in a form {form}")
        rows, columns, ids = self.coo() if form == AS_COO else self.csr()
        if len(rows) != len(columns) or rows.ndim != 1 or columns.ndim != 1 or (len(ids) and len(ids) != len(rows)):
            self.fail("sources and targets of the edges differ in number")
        source, target = (columns, rows) if form == AS_CSC else (rows, columns)
        if len(ids):
            if not numpy.array_equal(numpy.sort(ids), numpy.arange(len(ids))):
                self.fail("ids of the edges are no order of them")
            order = numpy.argsort(ids)
            source, target = source[order], target[order]
        return source.astype(numpy.int64), target.astype(numpy.int64)

    def graph(self):
        self.magic(DATA, "a graph")
        self.types()
        units = [self.unit() for _ in range(self.count(8))]
        num_nodes = self.numbers(f"{self.count(8)}q")
        node_data = [self.tensors() for _ in range(self.count(8))]
        edge_data = [self.tensors() for _ in range(self.count(8))]
        if len(units) != 1 or len(num_nodes) != 1 or len(node_data) != 1 or len(edge_data) != 1:
            self.fail(f"a graph of {len(num_nodes)} types of nodes and {len(units)} of edges; one of each is converted")
        return units[0], num_nodes[0], node_data[0], edge_data[0]


def read_dgl(path):
    s = Stream(path)
    s.magic(FILE, "a file of dgl.save_graphs")
    version, kind, num_graphs = s.numbers("QQQ")
    if (version, kind) != (2, 2):
        s.fail(f"version {version} of kind {kind}, known is version 2 of kind 2: save it again with DGL 0.5 or later")
    if num_graphs != 1:
        raise FormatError(f"'{path}' holds {num_graphs} graphs, one is converted")
    s.at = 0
    s.take(HEADER_BYTES)
    s.number()   # where the graphs begin
    s.tensors()  # labels of graphs
    (source, target), num_nodes, node_data, edge_data = s.graph()
    return _convert(source, target, num_nodes, node_data, edge_data, path)


def _convert(source, target, num_nodes, node_data, edge_data, path):
    data = {"edge_index": numpy.stack([source, target]), "num_nodes": num_nodes}
    for key, names in NAMES.items():
        data[key] = next((array_of(node_data[n]) for n in names if n in node_data), None)
    data["edge_weight"] = next((array_of(edge_data[n]) for n in WEIGHTS if n in edge_data), None)
    for what, value, rows in (("nodes", data["x"], num_nodes), ("nodes", data["y"], num_nodes),
                              ("edges", data["edge_weight"], len(source))):
        if value is not None and len(value) != rows:
            raise FormatError(f"'{path}': data of the {what} have {len(value)} rows, the graph has {rows}")
    g = from_pyg(data, path)
    g.provenance = {"command": "gnntrain_io dgl", "inputs": str(path), "records": len(source)}
    return g


def from_dgl(graph, source="DGLGraph"):
    """A Graph from a DGLGraph: feat or x, label or y and the masks of its nodes, weight or w of its edges."""
    if len(getattr(graph, "ntypes", ["_N"])) != 1 or len(getattr(graph, "etypes", ["_E"])) != 1:
        raise FormatError(f"'{source}' has several types of nodes or edges; one of each is converted")
    u, v, ids = (array_of(ends) for ends in graph.edges(form="all", order="srcdst"))
    order = numpy.argsort(ids)  # that of the edges' data; a graph kept as CSR alone cannot be asked for it
    return _convert(u[order], v[order], int(graph.num_nodes()), dict(graph.ndata), dict(graph.edata), source)
