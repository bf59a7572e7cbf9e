#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dataset file in three lines of h5py and scipy, and through anndata, with the real packages."""
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import anndata
    import h5py
    import numpy as np
    import scipy.sparse as sp
except ImportError as error:
    print("SKIPPED:", error)
    sys.exit(77)

GNNTRAIN = os.environ["GNNTRAIN"]
# Zachary's karate club: degrees of the 34 members, 78 edges
DEGREES = [16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2, 2, 2, 2, 3, 2, 2, 2, 5, 3, 3, 2, 4, 3, 4, 4, 6, 12, 17]


def read_elem(element):
    try:
        return anndata.io.read_elem(element)
    except AttributeError:
        return anndata.experimental.read_elem(element)


class DatasetOpens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "karate.h5")
        subprocess.run([GNNTRAIN, "generate", "karate", "-o", cls.path], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_h5py_and_scipy(self):
        g = h5py.File(self.path)["graph/adj"]
        a = sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=g.attrs["shape"])
        self.assertEqual(a.shape, (34, 34))
        self.assertEqual(a.nnz, 156)
        self.assertEqual(list(np.asarray(a.sum(axis=1)).ravel()), DEGREES)
        self.assertEqual((a != a.T).nnz, 0)
        self.assertEqual(g["indptr"].dtype, np.int64)

    def test_anndata(self):
        with h5py.File(self.path) as f:
            a = read_elem(f["graph/adj"])
            self.assertEqual(a.nnz, 156)
            self.assertEqual(a.sum(), 156)

    def test_anndata_backed_slices(self):
        from anndata._core.sparse_dataset import SparseDataset

        with h5py.File(self.path) as f:
            part = SparseDataset(f["graph/adj"])[3:7]
            self.assertEqual(list(np.asarray(part.sum(axis=1)).ravel()), DEGREES[3:7])

    def test_attributes_and_splits(self):
        with h5py.File(self.path) as f:
            self.assertEqual(f.attrs["format"], "gnntrain-graph")
            self.assertEqual(f.attrs["format_version"], "1.0")
            self.assertEqual(f.attrs["num_nodes"], 34)
            self.assertEqual(f.attrs["num_arcs"], 156)
            self.assertEqual(f["nodes/y"].shape, (34,))
            for split in f["splits"].values():
                parts = [set(split[name][:]) for name in ("train", "valid", "test")]
                self.assertEqual(sum(map(len, parts)), len(set.union(*parts)))


if __name__ == "__main__":
    unittest.main()
