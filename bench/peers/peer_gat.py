#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DGL's epoch of full-batch GAT: forward, cross-entropy on the training nodes, backward, Adam, the loss read back.

  peer_gat.py arxiv-like.h5 --shape 8x8,1        then lines "EPOCHS" on standard input

--shape lists the layers: HEADSxWIDTH of a hidden one (side by side, ELU behind it), HEADS of the last one (averaged, one
column a class). GATConv as it is, self loops added, 32-bit ids, no dropout.
"""
import argparse
import statistics
import time
import warnings

import peer

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("data")
parser.add_argument("--shape", default="8x8,1")
parser.add_argument("--attn-dropout", type=float, default=0.0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--warmup", type=int, default=2)
parser.add_argument("--threads", type=int, default=2)
args = parser.parse_args()
peer.settle_threads(args.threads)
warnings.filterwarnings("ignore")

import dgl  # noqa: E402
import torch  # noqa: E402
from dgl.nn import GATConv  # noqa: E402
from torch.nn import functional  # noqa: E402

torch.set_num_threads(args.threads)
torch.manual_seed(0)


class Network(torch.nn.Module):
    def __init__(self, graph, inputs, classes):
        super().__init__()
        self.graph, layers = graph, []
        for text in args.shape.split(","):
            heads, _, width = text.partition("x")
            layers.append(GATConv(inputs, int(width or classes), int(heads), attn_drop=args.attn_dropout))
            inputs = int(heads) * int(width or classes)
        self.layers = torch.nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = functional.elu(layer(self.graph, x).flatten(1))
        return self.layers[-1](self.graph, x).mean(1)


def main():
    data = peer.read(args.data)
    x, y, train = torch.from_numpy(data["x"]), torch.from_numpy(data["y"]), torch.from_numpy(data["train"])
    a = peer.with_loops(data)
    arcs = a.tocoo()  # with numbers of arcs, which GATConv reads
    graph = dgl.graph((torch.from_numpy(arcs.col.astype("int32")), torch.from_numpy(arcs.row.astype("int32"))),
                      num_nodes=a.shape[0])
    graph.create_formats_()
    network = Network(graph, x.shape[1], data["classes"]).train()
    optimiser = torch.optim.Adam(network.parameters(), lr=args.lr)

    def epoch():
        begin = time.perf_counter()
        optimiser.zero_grad()
        loss = functional.cross_entropy(network(x)[train], y[train])
        loss.backward()
        optimiser.step()
        value = loss.item()
        return time.perf_counter() - begin, value

    def answer(words):
        runs = [epoch() for _ in range(int(words[0]))]
        return {"seconds": statistics.median(s for s, _ in runs), "smallest": min(s for s, _ in runs), "loss": runs[-1][1],
                "peak_bytes": peer.usage()["peak_bytes"]}

    for _ in range(args.warmup):
        epoch()
    peer.serve(answer, {"which": "dgl", "dgl": dgl.__version__, "torch": torch.__version__})


main()
