# SPDX-License-Identifier: Apache-2.0
"""What the peers' programs share: reading a gnntrain dataset, and answering requests one by one.

A peer is started once and then asked: a line on its standard input is a request, a JSON line on its standard output the
answer. So ours and the peers can take turns every few seconds, and the peer has its caches, its heap and its threads warm.
"""
import json
import os
import resource
import sys

import h5py
import numpy as np


def settle_threads(count):
    """Before any numeric library is loaded."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(count)
    os.environ["DGLBACKEND"] = "pytorch"
    os.environ.setdefault("DGLDEFAULTDIR", os.path.join(os.environ.get("TMPDIR", "/tmp"), "dgl-settings"))


def _matrix(member):
    """A dense array, or a csr_matrix group made dense (the peers' GCN takes dense features)."""
    if isinstance(member, h5py.Dataset):
        return member[:].astype(np.float32)
    import scipy.sparse as sp
    csr = sp.csr_matrix((member["data"][:], member["indices"][:], member["indptr"][:]), shape=member.attrs["shape"])
    return csr.toarray().astype(np.float32)


def read(path, features=True, split="public"):
    with h5py.File(path) as f:
        adj, y = f["graph/adj"], f["nodes/y"]
        return {"indptr": adj["indptr"][:].astype(np.int64), "indices": adj["indices"][:].astype(np.int64),
                "x": _matrix(f["nodes/x"]) if features else None, "y": y[:].astype(np.int64),
                "classes": int(y.attrs["num_classes"]), "train": f[f"splits/{split}/train"][:]}


def with_loops(data):
    """A + I as a scipy matrix with sorted rows, all values 1 (the graphs have no loops)."""
    import scipy.sparse as sp
    nodes, arcs = len(data["indptr"]) - 1, len(data["indices"])
    a = sp.csr_matrix((np.ones(arcs, np.float32), data["indices"], data["indptr"]), shape=(nodes, nodes))
    a = (a + sp.identity(nodes, np.float32, "csr")).tocsr()
    a.sort_indices()
    a.data[:] = 1
    return a


def normalised(data):
    """D^-1/2 (A + I) D^-1/2 as a scipy matrix."""
    a = with_loops(data)
    scale = (1 / np.sqrt(np.diff(a.indptr))).astype(np.float32)
    a.data = np.repeat(scale, np.diff(a.indptr)) * scale[a.indices]
    return a


def torch_csr(matrix):
    import torch
    return torch.sparse_csr_tensor(torch.from_numpy(matrix.indptr.astype(np.int64)),
                                   torch.from_numpy(matrix.indices.astype(np.int64)),
                                   torch.from_numpy(matrix.data), matrix.shape)


def usage():
    """Faults and system seconds so far, and the largest memory in use, of this process."""
    now = resource.getrusage(resource.RUSAGE_SELF)
    return {"faults": now.ru_minflt, "system_seconds": now.ru_stime, "peak_bytes": now.ru_maxrss * 1024}


def serve(answer, hello):
    """Says hello, then answers each line of words with what answer(words) gives, until the input ends."""
    print(json.dumps(hello), flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(line.split())), flush=True)
