# SPDX-License-Identifier: Apache-2.0
"""tools/python/gnntrain_io: Planetoid files against their facts, pickles that would run code, PyG files, the written file.

Skips (77) without numpy and h5py; Planetoid needs the shared data. With $GNNTRAIN the command must agree on the sums.
"""
import collections
import hashlib
import io
import json
import os
import pickle
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

    from gnntrain_io import FormatError, from_pyg, save
    from gnntrain_io.__main__ import main
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
                    {"edge_index": np.array([0, 1])}, {}):
            with self.assertRaises(FormatError):
                save(from_pyg(bad), self.path("bad.h5"))
        self.assertEqual(os.listdir(self.folder.name), [])


if __name__ == "__main__":
    unittest.main()
