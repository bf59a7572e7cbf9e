#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A peer's epoch of full-batch GCN: forward, cross-entropy on the training nodes, backward, Adam, the loss read back.

  peer_gcn.py dgl arxiv-like.h5 --hidden 128        then lines "EPOCHS" on standard input

dgl          DGL's GraphConv, both-sided normalisation, self loops added, 32-bit ids
torch-csr    the same network by hand on torch's CSR product (MKL), matrix normalised beforehand; as it is symmetric, backward
             is the same product
pyg-sparse   PyTorch Geometric's GCNConv on a torch_sparse SparseTensor, normalisation cached
"""
import argparse
import statistics
import time
import warnings

import peer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("which", choices=["dgl", "torch-csr", "pyg-sparse"])
parser.add_argument("data")
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--layers", type=int, default=2)
parser.add_argument("--dropout", type=float, default=0.5)
parser.add_argument("--input-dropout", type=float, default=0.0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--warmup", type=int, default=2)
parser.add_argument("--threads", type=int, default=2)
args = parser.parse_args()
peer.settle_threads(args.threads)
warnings.filterwarnings("ignore")

import torch  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.set_num_threads(args.threads)
torch.manual_seed(0)


class SymmetricProduct(torch.autograd.Function):
    """y = A x for a symmetric A."""

    @staticmethod
    def forward(ctx, matrix, x):
        ctx.matrix = matrix
        return matrix @ x

    @staticmethod
    def backward(ctx, gradient):
        return None, ctx.matrix @ gradient.contiguous()


class CsrLayer(torch.nn.Module):
    def __init__(self, matrix, inputs, outputs):
        super().__init__()
        self.matrix = matrix
        self.weight = torch.nn.Parameter(torch.empty(inputs, outputs))
        self.bias = torch.nn.Parameter(torch.zeros(outputs))
        torch.nn.init.xavier_uniform_(self.weight)

    def forward(self, x):
        return SymmetricProduct.apply(self.matrix, x @ self.weight) + self.bias


class Network(torch.nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x):
        if args.input_dropout > 0:
            x = functional.dropout(x, args.input_dropout, self.training)
        for number, layer in enumerate(self.layers):
            if number > 0:
                x = functional.dropout(functional.relu_(x), args.dropout, self.training)
            x = layer(x)
        return x


class WithGraph(torch.nn.Module):
    """A library's layer with the graph bound to it, on whichever side it wants it."""

    def __init__(self, layer, graph, graph_first):
        super().__init__()
        self.layer, self.graph, self.graph_first = layer, graph, graph_first

    def forward(self, x):
        return self.layer(self.graph, x) if self.graph_first else self.layer(x, self.graph)


def dgl_layers(data, widths):
    import dgl
    from dgl.nn import GraphConv
    a = peer.with_loops(data)
    graph = dgl.graph(("csr", (torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.empty(0, dtype=torch.int64))),
                      num_nodes=a.shape[0], idtype=torch.int32)
    graph.create_formats_()
    return [WithGraph(GraphConv(i, o, norm="both"), graph, True) for i, o in widths]


def pyg_layers(data, widths):
    from torch_geometric.nn import GCNConv
    from torch_sparse import SparseTensor
    nodes = len(data["indptr"]) - 1
    graph = SparseTensor(rowptr=torch.from_numpy(data["indptr"]), col=torch.from_numpy(data["indices"]),
                         sparse_sizes=(nodes, nodes), is_sorted=True)
    return [WithGraph(GCNConv(i, o, cached=True), graph, False) for i, o in widths]


def torch_layers(data, widths):
    matrix = peer.torch_csr(peer.normalised(data))
    return [CsrLayer(matrix, i, o) for i, o in widths]


def main():
    data = peer.read(args.data)
    x, y, train = torch.from_numpy(data["x"]), torch.from_numpy(data["y"]), torch.from_numpy(data["train"])
    mask = torch.zeros(len(y), dtype=torch.bool)
    mask[train] = True
    sizes = [x.shape[1]] + [args.hidden] * (args.layers - 1) + [data["classes"]]
    make = {"dgl": dgl_layers, "torch-csr": torch_layers, "pyg-sparse": pyg_layers}[args.which]
    network = Network(make(data, list(zip(sizes, sizes[1:])))).train()
    optimiser = torch.optim.Adam(network.parameters(), lr=args.lr)

    def epoch():
        begin = time.perf_counter()
        optimiser.zero_grad()
        loss = functional.cross_entropy(network(x)[mask], y[mask])
        loss.backward()
        optimiser.step()
        value = loss.item()
        return time.perf_counter() - begin, value

    def answer(words):
        before = peer.usage()
        runs = [epoch() for _ in range(int(words[0]))]
        after = peer.usage()
        return {"seconds": statistics.median(s for s, _ in runs), "smallest": min(s for s, _ in runs), "loss": runs[-1][1],
                "faults": (after["faults"] - before["faults"]) / len(runs), "peak_bytes": after["peak_bytes"]}

    for _ in range(args.warmup):
        epoch()
    peer.serve(answer, {"which": args.which, "torch": torch.__version__})


main()
