# SPDX-License-Identifier: Apache-2.0
"""Converters from Python's graph formats to gnntrain's dataset files. Needs numpy and h5py, nothing else.

    python3 -m gnntrain_io planetoid DIR cora -o cora.h5      Planetoid pickles; nothing in them is executed
    python3 -m gnntrain_io pyg data.pt -o data.h5             a PyG Data object saved by torch.save
    python3 -m gnntrain_io dgl graph.bin -o data.h5           a graph of dgl.save_graphs
    python3 -m gnntrain_io ogb dataset/ogbn_arxiv -o a.h5     a node set that ogb has loaded

    from gnntrain_io import Graph, save, from_pyg             from a program that has the object already
"""
from .dgl import from_dgl
from .errors import FormatError
from .graph import Graph
from .h5_writer import save
from .ogb import from_ogb
from .pyg import from_pyg

__all__ = ["FormatError", "Graph", "save", "from_dgl", "from_ogb", "from_pyg"]
