#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: seconds of an epoch of a 2-layer GCN beside DGL, torch and PyTorch Geometric, three graphs, hidden 16 and 128
"""The training step alone. The peers stay running, so that their heaps have settled; ours is a fresh run every round."""
import figure

GRAPHS = ("arxiv-like", "reddit8-like", "products10-like")
# name, program, environment, goal
PEERS = (("DGL", "dgl", {}, ">= 3"), ("DGL, tuned malloc", "dgl", figure.TUNED_MALLOC, ">= 2"),
         ("torch CSR", "torch-csr", {}, ">= 3"), ("PyG SparseTensor", "pyg-sparse", {}, ">= 8"))


def recipe(hidden, epochs, threads, seed=1):
    """The peers' defaults: Adam at 0.01, dropout 0.5 between the layers, nothing evaluated."""
    return ("--model", f"gcn:{hidden}, gcn", "--dropout", 0.5, "--lr", 0.01, "--epochs", epochs, "--eval-every", epochs,
            "--threads", threads, "--seed", seed)


def compare(f, case, data, hidden, peers, epochs=(10, 5), ours_options=(), peer_options=()):
    """Rows of one network; epochs: of ours (two are warm-up), of a peer's turn."""
    wanted = [p for p in peers if f.wants(f"{case}, {p[0]}")]
    if not wanted:
        return
    workers = {name: f.peer("peer_gcn.py", which, data, "--hidden", hidden, *peer_options, environment=environment)
               for name, which, environment, _ in wanted}
    sides = {"ours": lambda: f.epoch_seconds(data, *recipe(hidden, epochs[0], f.threads), *ours_options)[0]}
    for name, worker in workers.items():
        sides[name] = lambda worker=worker: worker.ask(epochs[1])["seconds"]
    answers = f.turns(sides)
    for worker in workers.values():
        worker.close()
    for name, _, _, goal in wanted:
        median, low, high = figure.ratio(answers[name], answers["ours"])
        f.row(f"{case}, {name}", figure.statistics.median(answers[name]), figure.statistics.median(answers["ours"]), median,
              goal, "s", figure.spread(low, high, f.rounds))


def measure(f):
    for kind in GRAPHS:
        for hidden in (16, 128):
            compare(f, f"{kind}, hidden {hidden}", f.graph(kind), hidden, PEERS)


if __name__ == "__main__":
    figure.run(measure)
