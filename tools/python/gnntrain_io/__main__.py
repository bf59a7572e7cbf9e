# SPDX-License-Identifier: Apache-2.0
"""python3 -m gnntrain_io COMMAND ... -o FILE. Exit codes as the gnntrain command: 0 done, 2 usage, 3 bad data, 4 output."""
import argparse
import sys

from .dgl import read_dgl
from .errors import FormatError
from .h5_writer import save
from .ogb import read_ogb
from .planetoid import read_planetoid
from .pyg import read_pyg

EXIT_USAGE, EXIT_DATA, EXIT_OUTPUT = 2, 3, 4


def parse(arguments):
    parser = argparse.ArgumentParser(prog="gnntrain_io", description="convert Python's graph formats to dataset files")
    commands = parser.add_subparsers(dest="command", required=True)
    planetoid = commands.add_parser("planetoid", help="ind.NAME.x, ind.NAME.graph, ... of a folder")
    planetoid.add_argument("folder")
    planetoid.add_argument("name", help="cora, citeseer, pubmed")
    pyg = commands.add_parser("pyg", help="a Data object of PyTorch Geometric, saved by torch.save")
    pyg.add_argument("file")
    dgl = commands.add_parser("dgl", help="a graph of DGL, saved by dgl.save_graphs")
    dgl.add_argument("file")
    ogb = commands.add_parser("ogb", help="a node set that ogb has loaded: its folder, as dataset/ogbn_arxiv")
    ogb.add_argument("folder")
    ogb.add_argument("--directed", action="store_true", help="keep the direction of the edges")
    for command in (planetoid, pyg, dgl, ogb):
        command.add_argument("-o", "--output", required=True, help="dataset file to write")
    return parser.parse_args(arguments)


def read(options):
    if options.command == "planetoid":
        return read_planetoid(options.folder, options.name)
    if options.command == "ogb":
        return read_ogb(options.folder, options.directed)
    return {"pyg": read_pyg, "dgl": read_dgl}[options.command](options.file)


def main(arguments=None):
    options = parse(arguments)
    try:
        g = read(options)
        save(g, options.output)
    except FormatError as error:
        print(f"gnntrain_io: {error}", file=sys.stderr)
        return EXIT_DATA
    except OSError as error:
        print(f"gnntrain_io: cannot write '{options.output}': {error.strerror}", file=sys.stderr)
        return EXIT_OUTPUT
    print(f"{options.output}: {g.num_nodes} nodes, {len(g.indices)} arcs, {g.num_classes} classes, "
          f"splits {', '.join(g.splits) or 'none'}; next: gnntrain train {options.output} --model 'gcn:16, gcn'")
    return 0


if __name__ == "__main__":
    sys.exit(main())
