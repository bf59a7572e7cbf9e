# SPDX-License-Identifier: Apache-2.0
"""tools/python/gnntrain_io: Planetoid files against their facts, pickles that would run code, PyG files, the written file.

Skips (77) without numpy and h5py; Planetoid needs the shared data. With $GNNTRAIN the command must agree on the sums.
"""
import collections
import gzip
import hashlib
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "python"))
try:
    import h5py
    import numpy as np

    from gnntrain_io import FormatError, from_dgl, from_ogb, from_pyg, save
    from gnntrain_io.__main__ import main
    from gnntrain_io.dgl import read_dgl
    from gnntrain_io.numpy_pickle import NUMPY_NAMES
    from gnntrain_io.planetoid import read_planetoid
    from gnntrain_io.pyg import read_pyg
    from gnntrain_io.safe_pickle import SafePickle
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

DATA = os.environ.get("GNT_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))


def digest(lines):
    return hashlib.sha256("".join(line + "\n" for line in lines).encode()).hexdigest()


def call(*arguments):
    """Exit code and what was written to stderr."""
    stderr, sys.stderr = sys.stderr, io.StringIO()
    stdout, sys.stdout = sys.stdout, io.StringIO()
    try:
        return main(list(arguments)), sys.stderr.getvalue()
    finally:
        sys.stderr, sys.stdout = stderr, stdout


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)


@unittest.skipUnless(os.path.isdir(os.path.join(DATA, "planetoid")), "no shared data")
class Planetoid(Folder):
    def check(self, name):
        with open(os.path.join(DATA, "planetoid", name, "expected.json"), encoding="utf-8") as f:
            facts = json.load(f)
        self.assertEqual(call("planetoid", os.path.join(DATA, "planetoid", name), name, "-o", self.path("g.h5"))[0], 0)
        with h5py.File(self.path("g.h5")) as f:
            adj, x, y = f["graph/adj"], f["nodes/x"], f["nodes/y"]
            n = facts["graph"]["num_nodes"]
            rows = np.repeat(np.arange(n), np.diff(adj["indptr"][:]))
            pairs = [f"{u} {v}" for u, v in zip(rows, adj["indices"][:]) if u < v]
            self.assertEqual(digest(pairs), facts["graph"]["undirected_edge_list"]["sha256"])
            self.assertEqual(len(rows) - 2 * len(pairs), facts["graph"]["unique_self_loops"])
            self.assertTrue((adj["data"][:] == 1).all())
            self.assertEqual(digest(map(str, y[:])), facts["labels"]["label_list"]["sha256"])
            self.assertEqual(y.attrs["num_classes"], facts["labels"]["num_classes"])
            self.assertEqual(list(x.attrs["shape"]), [n, facts["features"]["cols"]])
            rows = np.repeat(np.arange(n), np.diff(x["indptr"][:]))
            cells = [f"{r} {c}" for r, c in zip(rows, x["indices"][:])]
            self.assertEqual(digest(cells), facts["features"]["nonzero_pattern"]["sha256"])
            for ours, theirs in (("train", "train"), ("valid", "val"), ("test", "test")):
                self.assertEqual(digest(map(str, f[f"splits/public/{ours}"][:])),
                                 facts["splits"][theirs]["list"]["sha256"])
            sums = f.attrs["graph_sha256"], f.attrs["content_sha256"]
        if os.access(os.environ.get("GNNTRAIN", ""), os.X_OK):
            info = json.loads(subprocess.run([os.environ["GNNTRAIN"], "info", self.path("g.h5"), "--json"], check=True,
                                             stdout=subprocess.PIPE).stdout)
            self.assertEqual((info["graph_sha256"], info["content_sha256"]), sums)

    def test_cora(self):
        self.check("cora")

    def test_citeseer_with_its_holes(self):
        self.check("citeseer")

    def test_cut_and_changed_files_are_refused_or_read(self):
        source = os.path.join(DATA, "planetoid", "cora")
        for part in ("x", "y", "graph"):
            with open(os.path.join(source, f"ind.cora.{part}"), "rb") as f:
                content = f.read()
            for other in os.listdir(source):
                if other.startswith("ind.") and not os.path.exists(self.path(other)):
                    os.symlink(os.path.join(source, other), self.path(other))
            os.unlink(self.path(f"ind.cora.{part}"))
            for at in range(0, len(content), len(content) // 8):
                changed = content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1:]
                for damaged in (content[:at], changed):
                    with open(self.path(f"ind.cora.{part}"), "wb") as f:
                        f.write(damaged)
                    try:
                        read_planetoid(self.folder.name, "cora")
                    except FormatError:
                        pass


class Evil:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


class Pickles(Folder):
    def test_nothing_is_executed(self):
        marker = self.path("ran")
        for protocol in range(5):
            evil = pickle.dumps({"x": Evil(f"touch {marker}")}, protocol)
            with self.assertRaises(FormatError):
                SafePickle(evil, "evil", NUMPY_NAMES).load()
        for part in ("allx", "tx", "x", "ally", "ty", "y", "graph", "test.index"):
            with open(self.path(f"ind.evil.{part}"), "wb") as f:
                f.write(pickle.dumps(Evil(f"touch {marker}"), 2))
        code, text = call("planetoid", self.folder.name, "evil", "-o", self.path("out.h5"))
        self.assertEqual(code, 3)
        self.assertIn("nothing was executed", text)
        self.assertFalse(os.path.exists(marker))
        self.assertFalse(os.path.exists(self.path("out.h5")))

    def test_the_table_of_names_is_no_way_to_call_others(self):
        # REDUCE on a value that is no constructor of the table: a text
        with self.assertRaises(FormatError):
            SafePickle(b"\x80\x02U\x05printU\x01x\x85R.", "text", NUMPY_NAMES).load()

    def test_plain_values(self):
        value = {"a": [1, -2, 3.5, None, True], b"b": (b"bytes", 1 << 70)}
        for protocol in (2, 3, 4):
            read = SafePickle(pickle.dumps(value, protocol), "plain", NUMPY_NAMES).load()
            self.assertEqual(read["a"], value["a"])

    def test_missing_files_exit_3(self):
        code, text = call("planetoid", self.folder.name, "none", "-o", self.path("out.h5"))
        self.assertEqual(code, 3)
        self.assertIn("ind.none.allx", text)


def fake_torch():
    """Modules with the names that torch.save writes; only pickling needs them."""
    torch, utils, pyg = types.ModuleType("torch"), types.ModuleType("torch._utils"), None
    modules = {"torch": torch, "torch._utils": utils}
    for name in ("LongStorage", "FloatStorage", "BoolStorage"):
        setattr(torch, name, type(name, (), {"__module__": "torch"}))

    def rebuild(*_):
        return None
    rebuild.__module__, rebuild.__qualname__, rebuild.__name__ = "torch._utils", "_rebuild_tensor_v2", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = rebuild
    for path in ("torch_geometric", "torch_geometric.data", "torch_geometric.data.data", "torch_geometric.data.storage"):
        modules[path] = pyg = types.ModuleType(path)
    for module, name in (("torch_geometric.data.data", "Data"), ("torch_geometric.data.storage", "GlobalStorage")):
        setattr(modules[module], name, type(name, (), {"__module__": module}))
    return modules


class FakeTensor:
    def __init__(self, value, kind, modules):
        self.value, self.kind, self.modules = np.asarray(value), kind, modules

    def __reduce__(self):
        stride = tuple(s // self.value.itemsize for s in self.value.strides)
        return (self.modules["torch._utils"]._rebuild_tensor_v2,
                (Storage(self), 0, self.value.shape, stride, False, collections.OrderedDict()))


class Storage:
    def __init__(self, tensor):
        self.tensor = tensor


class Pyg(Folder):
    EDGES = [[0, 1, 1, 2], [1, 0, 2, 1]]

    def write(self, arrays):
        modules = fake_torch()
        sys.modules.update(modules)
        self.addCleanup(lambda: [sys.modules.pop(name, None) for name in modules])
        data = modules["torch_geometric.data.data"].Data()
        store = modules["torch_geometric.data.storage"].GlobalStorage()
        store.__dict__["_mapping"] = {k: FakeTensor(v, kind, modules) for k, (v, kind) in arrays.items()}
        data.__dict__["_store"] = store
        buffer, storages = io.BytesIO(), []

        class Pickler(pickle.Pickler):
            def persistent_id(self, value):
                if not isinstance(value, Storage):
                    return None
                storages.append(value.tensor.value)
                kind = getattr(modules["torch"], value.tensor.kind)
                return "storage", kind, str(len(storages) - 1), "cpu", value.tensor.value.size

        Pickler(buffer, 2).dump(data)
        with zipfile.ZipFile(self.path("data.pt"), "w") as archive:
            archive.writestr("data/data.pkl", buffer.getvalue())
            for i, value in enumerate(storages):
                archive.writestr(f"data/data/{i}", value.tobytes())
        return self.path("data.pt")

    def test_saved_data_is_read_without_torch(self):
        x = np.array([[1, 0], [0, 2], [3, 3]], np.float32)
        path = self.write({"edge_index": (np.array(self.EDGES), "LongStorage"), "x": (x, "FloatStorage"),
                           "y": (np.array([0, 1, 1]), "LongStorage"),
                           "train_mask": (np.array([True, False, False]), "BoolStorage"),
                           "test_mask": (np.array([False, False, True]), "BoolStorage")})
        self.assertEqual(call("pyg", path, "-o", self.path("out.h5"))[0], 0)
        with h5py.File(self.path("out.h5")) as f:
            self.assertEqual(f["graph/adj/indices"][:].tolist(), [1, 0, 2, 1])
            self.assertEqual(f.attrs["directed"], 0)
            np.testing.assert_array_equal(f["nodes/x"][:], x)
            self.assertEqual(f["nodes/y"][:].tolist(), [0, 1, 1])
            self.assertEqual(f["splits/public/test"][:].tolist(), [2])

    def test_other_classes_are_refused(self):
        path = self.path("data.pt")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("data/data.pkl", pickle.dumps(Evil("touch " + self.path("ran")), 2))
        with self.assertRaises(FormatError):
            read_pyg(path)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_a_dict_of_arrays_is_enough(self):
        g = from_pyg({"edge_index": np.array([[0, 1], [1, 2]]), "edge_weight": np.array([2.0, 3.0]),
                      "y": np.array([0, 2, 1]), "num_nodes": 3})
        self.assertTrue(g.directed)
        self.assertEqual(g.weights.tolist(), [2.0, 3.0])
        self.assertEqual(g.num_classes, 3)

    def test_bad_graphs_are_refused_and_nothing_is_written(self):
        for bad in ({"edge_index": np.array([[0, 5], [1, 2]]), "x": np.zeros((3, 1))},
                    {"edge_index": np.array([[0], [1]]), "x": np.array([[np.nan], [1.0]])},
                    {"edge_index": np.array([[0], [1]]), "x": np.zeros((2, 1), complex)},
                    {"edge_index": np.array([[0], [1]]), "y": np.array([0, -5])},
                    {"edge_index": np.array([[0], [1]]), "y": np.array([0, 1]), "edge_weight": np.array([np.nan])},
                    {"edge_index": np.array([0, 1])}, {}):
            with self.assertRaises(FormatError):
                save(from_pyg(bad), self.path("bad.h5"))
        self.assertEqual(os.listdir(self.folder.name), [])


def dgl_tensor(value):
    value = np.asarray(value)
    code = {"i": 0, "u": 1, "f": 2, "b": 1}[value.dtype.kind]
    return struct.pack(f"<QQiiiBBH{value.ndim}qQ", 0xDD5E40F096B4A13F, 0, 1, 0, value.ndim, code, 8 * value.itemsize, 1,
                       *value.shape, value.nbytes) + value.tobytes()


def dgl_dict(tensors):
    return struct.pack("<Q", len(tensors)) + b"".join(
        struct.pack("<Q", len(name)) + name.encode() + dgl_tensor(value) for name, value in tensors.items())


def dgl_csr(rows, columns, indptr, indices, ids=()):
    return struct.pack("<Qqq", 0xDD6CD31205DFF127, rows, columns) + b"".join(
        dgl_tensor(np.array(v, np.int64)) for v in (indptr, indices, ids)) + b"\0"


def dgl_file(num_nodes, edges, nodes, arcs, form=1, num_graphs=1, num_units=1):
    """What DGL 2.1 writes; edges: (row, column, ids) of COO (form 1), or (indptr, indices, ids) of CSR (2) or CSC (4)."""
    types = struct.pack("<Q", 0xDD3C5FFE20046ABF) + dgl_csr(1, 1, [0, 1], [0], [0])
    if form == 1:
        body = struct.pack("<Qqq", 0xDD61FFD305DFF127, num_nodes, num_nodes) + b"".join(
            dgl_tensor(np.array(v, np.int64)) for v in edges) + b"\0\0"
    else:
        body = dgl_csr(num_nodes, num_nodes, *edges)
    unit = struct.pack("<Q4i", 0xDD2E60F0F6B4A127, form, 1, 7, 1) + types + body
    graph = struct.pack("<Q", 0xDD589FBE35224ABF) + types + struct.pack("<Q", num_units) + unit * num_units
    graph += struct.pack("<Qq", 1, num_nodes) + struct.pack("<Q", 1) + dgl_dict(nodes) + struct.pack("<Q", 1) + dgl_dict(arcs)
    graph += struct.pack("<QQ2sQQ2s", 1, 2, b"_N", 1, 2, b"_E")
    head = struct.pack("<QQQQ", 0xDD2E4FF046B4A13F, 2, 2, num_graphs).ljust(4096, b"\x55")
    labels = dgl_dict({"glabel": np.array([7])})
    return head + struct.pack("<Q", 4096 + 8 + len(labels)) + labels + graph


class Dgl(Folder):
    NODES = {"feat": np.array([[1, 0], [0, 2], [3, 3]], np.float32), "label": np.array([0, 1, 1]),
             "train_mask": np.array([True, False, False]), "test_mask": np.array([False, False, True])}

    def write(self, content):
        with open(self.path("g.bin"), "wb") as f:
            f.write(content)
        return self.path("g.bin")

    def test_a_saved_graph_is_read_without_dgl(self):
        path = self.write(dgl_file(3, ([0, 1, 1, 2], [1, 0, 2, 1], []), self.NODES, {}))
        self.assertEqual(call("dgl", path, "-o", self.path("out.h5"))[0], 0)
        with h5py.File(self.path("out.h5")) as f:
            self.assertEqual(f["graph/adj/indices"][:].tolist(), [1, 0, 2, 1])
            self.assertEqual(f.attrs["directed"], 0)
            np.testing.assert_array_equal(f["nodes/x"][:], self.NODES["feat"])
            self.assertEqual(f["nodes/y"][:].tolist(), [0, 1, 1])
            self.assertEqual(f["splits/public/train"][:].tolist(), [0])
            self.assertEqual(f["splits/public/test"][:].tolist(), [2])

    def test_forms_of_edges_are_one_graph(self):
        weights = {"w": np.array([5, 6, 7], np.float32)}  # of 0 -> 2, 0 -> 1, 2 -> 1
        forms = ((1, ([0, 0, 2], [2, 1, 1], [])), (1, ([2, 0, 0], [1, 1, 2], [2, 1, 0])),
                 (2, ([0, 2, 2, 3], [2, 1, 1], [])), (2, ([0, 2, 2, 3], [1, 2, 1], [1, 0, 2])),
                 (4, ([0, 0, 2, 3], [0, 2, 0], [1, 2, 0])))
        for form, edges in forms:
            g = read_dgl(self.write(dgl_file(3, edges, {}, weights, form)))
            self.assertTrue(g.directed)
            self.assertEqual((g.indptr.tolist(), g.indices.tolist()), ([0, 2, 2, 3], [1, 2, 1]))
            self.assertEqual(g.weights.tolist(), [6, 5, 7])

    def test_two_weights_of_an_edge_are_two_arcs(self):
        g = read_dgl(self.write(dgl_file(2, ([0, 1], [1, 0], []), {}, {"w": np.array([1, 2], np.float32)})))
        self.assertTrue(g.directed)
        self.assertEqual(g.weights.tolist(), [1, 2])

    def test_other_files_are_refused_with_their_reason(self):
        good = (3, ([0, 1], [1, 2], []), self.NODES, {})
        for content, word in ((b"no graph" * 1000, "dgl.save_graphs"), (dgl_file(*good, num_graphs=2), "2 graphs"),
                              (dgl_file(*good, num_units=2), "2 of edges"), (dgl_file(*good)[:4300], "cut"),
                              (dgl_file(3, ([0, 1], [1, 9], []), {}, {}), "outside 0..2"),
                              (dgl_file(3, ([0, 1], [1, 2], []), {"feat": np.zeros((2, 2), np.float32)}, {}), "2 rows"),
                              (dgl_file(3, ([0, 1], [1, 2], [4, 4]), {}, {}), "ids of the edges")):
            with self.assertRaises(FormatError) as caught:
                read_dgl(self.write(content))
            self.assertIn(word, str(caught.exception))
        self.assertEqual(call("dgl", self.path("absent"), "-o", self.path("out.h5"))[0], 3)

    def test_damaged_files_are_refused_or_read(self):
        content = dgl_file(3, ([0, 1, 1, 2], [1, 0, 2, 1], []), self.NODES, {"w": np.ones(4, np.float32)})
        for at in [*range(32), *range(4096, len(content), 3)]:
            for damaged in (content[:at], content[:at] + bytes([content[at] ^ 0x81]) + content[at + 1:]):
                try:
                    read_dgl(self.write(damaged))
                except FormatError:
                    pass

    def test_a_graph_in_memory(self):
        graph = types.SimpleNamespace(ndata=self.NODES, edata={}, ntypes=["_N"], etypes=["_E"], num_nodes=lambda: 3,
                                      edges=lambda form, order: (np.array([0, 1]), np.array([1, 2]), np.array([1, 0])))
        g = from_dgl(graph)
        self.assertEqual((g.indptr.tolist(), g.num_classes), ([0, 1, 2, 2], 2))
        with self.assertRaises(FormatError):
            from_dgl(types.SimpleNamespace(ntypes=["a", "b"], etypes=["e"]))

    def test_the_package_itself_writes_such_files(self):
        try:
            import dgl
            import torch
        except ImportError:
            self.skipTest("no dgl")
        graph = dgl.graph((torch.tensor([0, 1, 1, 2]), torch.tensor([1, 0, 2, 1])))
        graph.ndata.update({k: torch.tensor(v) for k, v in self.NODES.items()})
        for formats in ("coo", "csr", "csc"):
            dgl.save_graphs(self.path("real.bin"), [graph.formats(formats)])
            ours, theirs = read_dgl(self.path("real.bin")), from_dgl(graph)
            self.assertEqual(ours.indices.tolist(), theirs.indices.tolist())
            np.testing.assert_array_equal(ours.x, theirs.x)


class Ogb(Folder):
    def write(self, value):
        os.makedirs(self.path("set/processed"), exist_ok=True)
        with zipfile.ZipFile(self.path("set/processed/data_processed"), "w") as archive:
            archive.writestr("data_processed/data.pkl", pickle.dumps(value, 4))
        os.makedirs(self.path("set/split/time"), exist_ok=True)
        for name, nodes in (("train", "2\n0\n"), ("valid", "1\n"), ("test", "3\n")):
            with gzip.open(self.path(f"set/split/time/{name}.csv.gz"), "wt") as f:
                f.write(nodes)
        return self.path("set")

    def value(self):
        return {"graph": {"edge_index": np.array([[0, 1, 2], [1, 2, 3]]), "edge_feat": None, "num_nodes": 4,
                          "node_feat": np.arange(8, dtype=np.float32).reshape(4, 2)},
                "labels": np.array([[0], [2], [1], [0]])}

    def test_a_loaded_set_is_read_without_ogb(self):
        folder = self.write(self.value())
        self.assertEqual(call("ogb", folder, "-o", self.path("out.h5"))[0], 0)
        with h5py.File(self.path("out.h5")) as f:
            self.assertEqual(f["graph/adj/indices"][:].tolist(), [1, 0, 2, 1, 3, 2])
            self.assertEqual(f["nodes/y"][:].tolist(), [0, 2, 1, 0])
            self.assertEqual(f["nodes/x"].shape, (4, 2))
            self.assertEqual(f["splits/time/train"][:].tolist(), [0, 2])
        self.assertEqual(call("ogb", folder, "--directed", "-o", self.path("out.h5"))[0], 0)
        with h5py.File(self.path("out.h5")) as f:
            self.assertEqual(f["graph/adj/indices"][:].tolist(), [1, 2, 3])

    def test_numbers_that_are_missing_are_no_class(self):
        value = self.value()
        g = from_ogb(value["graph"], np.array([[0.0], [np.nan], [1.0], [np.nan]]),
                     {"train": np.array([2, 0]), "valid": np.array([1]), "test": np.array([3])})
        self.assertEqual((g.y.tolist(), g.num_classes), ([0, -1, 1, -1], 2))
        self.assertEqual(g.splits["public"][0].tolist(), [0, 2])

    def test_what_does_not_fit_is_refused(self):
        value, folder = self.value(), self.write(self.value())
        with self.assertRaises(FormatError) as caught:
            from_ogb(value["graph"], value["labels"], {"s": (np.array([9]), np.array([1]), np.array([2]))})
        self.assertIn("outside 0..3", str(caught.exception))
        with gzip.open(self.path("set/split/time/valid.csv.gz"), "wt") as f:
            f.write("1\nx\n")
        code, text = call("ogb", folder, "-o", self.path("out.h5"))
        self.assertEqual(code, 3)
        self.assertIn("line 2", text)
        self.write({"graph": Evil("touch " + self.path("ran")), "labels": None})
        code, text = call("ogb", folder, "-o", self.path("out.h5"))
        self.assertEqual((code, os.path.exists(self.path("ran"))), (3, False))
        code, text = call("ogb", self.path("absent"), "-o", self.path("out.h5"))
        self.assertEqual(code, 3)
        self.assertIn("gnntrain import", text)
        self.assertFalse(os.path.exists(self.path("out.h5")))


if __name__ == "__main__":
    unittest.main()
