# SPDX-License-Identifier: Apache-2.0
"""Reads datasets that we wrote with h5py, scipy and anndata, as a user would.

  python read_datasets.py FILE.h5 ...

Each file has a text file beside it, FILE.txt: what it holds, as "name value" lines. Exit 77 when a package is missing.
test_datasets_python writes both and runs this.
"""
import hashlib
import sys

try:
    import anndata
    import h5py
    import numpy as np
    import scipy.sparse as sp
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)


try:  # since 0.11
    read_elem, sparse_dataset = anndata.io.read_elem, anndata.io.sparse_dataset
except AttributeError:  # 0.8 of Debian 12
    from anndata._core.sparse_dataset import SparseDataset as sparse_dataset
    from anndata.experimental import read_elem


def i64(*v):
    return np.asarray(v, "<i8").tobytes()


def graph_sum(n, directed, a):
    """The sum of docs/file-format.md, written from its text."""
    h = hashlib.sha256(i64(n, directed) + a.indptr.astype("<i8").tobytes() + a.indices.astype("<i8").tobytes())
    if np.any(a.data != 1):
        h.update(a.data.astype("<f4").tobytes())
    return h.hexdigest()


def check(path):
    want = dict(line.split(maxsplit=1) for line in open(path[:-3] + ".txt"))
    # the three lines that the documentation promises
    g = h5py.File(path)["graph/adj"]
    A = sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=g.attrs["shape"])
    f = g.file

    assert A.shape[0] == int(want["nodes"]) == f.attrs["num_nodes"]
    assert A.nnz == int(want["arcs"]) == f.attrs["num_arcs"]
    assert A.has_sorted_indices and A.has_canonical_format
    assert abs(float(A.sum(dtype=np.float64)) - float(want["weight_sum"])) < 1e-4
    assert graph_sum(A.shape[0], int(f.attrs["directed"]), A) == f.attrs["graph_sha256"]
    B = read_elem(g)
    assert A.shape == B.shape and (A != B).nnz == 0
    S = sparse_dataset(g)
    assert (S[: A.shape[0] // 2] != A[: A.shape[0] // 2]).nnz == 0

    x = read_elem(f["nodes/x"])
    assert x.shape == (A.shape[0], int(want["features"]))
    assert abs(float(x.sum(dtype=np.float64)) - float(want["feature_sum"])) < 1e-4
    if "nodes/y" in f:
        y = read_elem(f["nodes/y"])
        assert y.shape[0] == A.shape[0] and f["nodes/y"].attrs["num_classes"] == 3
        assert y.dtype == {"1": np.int64, "2": np.uint8, "3": np.float32}[want["labels"].strip()]
        assert list(read_elem(f["nodes/classes"])) == ["class 0", "class 1", "class 2"]
    ids = f["nodes/id"][:]
    assert (ids[1].decode() if isinstance(ids[1], bytes) else int(ids[1])) in ("paper-1", 1007)
    for name in ("public", "inductive"):
        s = f["splits"][name]
        assert s.attrs["seed"] == 42 and s.attrs["kind"] == "random" and s.attrs["inductive"] == (name == "inductive")
        parts = [set(s[p][:].tolist()) for p in ("train", "valid", "test")]
        assert not parts[0] & parts[1] and not parts[1] & parts[2]
    assert list(f["edges/type"].attrs["names"]) == ["a", "b"]
    assert f["edges/x"].dtype == np.float16 and f["edges/x"].shape == (A.nnz, 2)
    assert f["provenance"][()].decode() == '{"made":"by a test"}'
    if np.all(A.data == 1):
        assert g["data"].id.get_storage_size() == 0, "unweighted arcs must take no space"
    print(path, "ok:", A.shape, A.nnz, x.dtype, type(x).__name__)


if __name__ == "__main__":
    print("h5py", h5py.__version__, "scipy and anndata are there")
    for name in sys.argv[1:]:
        check(name)
