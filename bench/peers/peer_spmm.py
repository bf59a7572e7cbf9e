#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer's sparse product with a dense matrix of WIDTH columns.

  peer_spmm.py dgl-sum arxiv-like.h5                then lines "WIDTH REPEATS" on standard input

dgl-sum   DGL's sum of neighbour rows (copy_u_sum) over A + I, unweighted: the quickest that DGL has
mkl       torch's CSR product (MKL) with the normalised matrix
"""
import argparse
import statistics
import time
import warnings

import peer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("which", choices=["dgl-sum", "mkl"])
parser.add_argument("data")
parser.add_argument("--threads", type=int, default=2)
args = parser.parse_args()
peer.settle_threads(args.threads)
warnings.filterwarnings("ignore")

import torch  # noqa: E402

torch.set_num_threads(args.threads)


def product(data):
    if args.which == "mkl":
        matrix = peer.torch_csr(peer.normalised(data))
        return lambda x: matrix @ x
    import dgl
    a = peer.with_loops(data)
    graph = dgl.graph(("csr", (torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.empty(0, dtype=torch.int64))),
                      num_nodes=a.shape[0], idtype=torch.int32)
    graph.create_formats_()
    return lambda x: dgl.ops.copy_u_sum(graph, x)


def main():
    data = peer.read(args.data, features=False)
    multiply = product(data)
    operands = {}

    def answer(words):
        width, repeats = int(words[0]), int(words[1])
        if width not in operands:
            operands.clear()
            operands[width] = torch.rand(len(data["y"]), width) - 0.5
            multiply(operands[width])
        seconds = []
        for _ in range(repeats):
            begin = time.perf_counter()
            multiply(operands[width])
            seconds.append(time.perf_counter() - begin)
        return {"seconds": statistics.median(seconds), "smallest": min(seconds)}

    peer.serve(answer, {"which": args.which, "torch": torch.__version__})


main()
