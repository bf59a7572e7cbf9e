# SPDX-License-Identifier: Apache-2.0
"""Facts of the shared sets against what gnntrain tells of them; used by test_shared_data.sh.

facts EXPECTED INFO CHECK   counts of nodes, arcs, loops, features, classes and splits
ids DATASET CSV NODES       the ids in a file of predictions are those of the dataset, in its order
graphs FOLDER               the files that hold only a graph, with what import must make of each
"""
import csv
import json
import os
import sys


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def arcs_of(graph, directed):
    key = "directed_edges_unique_no_loops" if directed else "symmetric_nnz"
    return graph[key] + graph["unique_self_loops"]


def compare(what, got, expected, wrong):
    if got != expected:
        wrong.append(f"{what}: {got}, expected {expected}")


def facts(expected_path, info_path, check_path):
    """What both sides know; a set whose file brings no labels or splits is not asked for them."""
    expected, info, check = load(expected_path), load(info_path), load(check_path)["facts"]
    graph, wrong = expected["graph"], []
    compare("nodes", info["num_nodes"], graph["num_nodes"], wrong)
    compare("arcs", info["num_arcs"], arcs_of(graph, info["directed"]), wrong)
    compare("loops", info["num_self_loops"], graph["unique_self_loops"], wrong)
    if graph["unique_self_loops"] == 0:  # a loop is an arc to us
        compare("isolated", check["num_isolated"], graph["isolated_nodes"], wrong)
    compare("components", check["num_components"], graph["connected_components"], wrong)
    if "features" in expected:
        svmlight = any("svmlight" in str(i) for i in info["provenance"]["inputs"])
        width = expected["features"]["cols"]
        if not svmlight or info["num_features"] > width:  # svmlight cannot tell of empty columns at the end
            compare("features", info["num_features"], width, wrong)
        compare("non-zeros", check["num_nonzero_features"], expected["features"]["nnz"], wrong)
    if info["labels"] == "class":
        labels = expected["labels"]
        compare("classes", info["num_classes"], labels["num_classes"], wrong)
        counts = [labels["histogram"].get(str(c), 0) for c in range(labels["num_classes"])]
        if "order" not in labels:
            compare("class counts", check["class_counts"], counts, wrong)
        compare("unlabelled", check["num_unlabelled"], labels["unlabelled"], wrong)
    if info["splits"] and "splits" in expected:
        given = expected["splits"] if "train" not in expected["splits"] else {None: expected["splits"]}
        compare("number of splits", len(info["splits"]), len(given), wrong)
        for name, sizes in given.items():
            split = info["splits"][name] if name is not None else next(iter(info["splits"].values()))
            for ours, theirs in (("train", "train"), ("valid", "val"), ("test", "test")):
                compare(f"{ours} of split {name}", split[ours], sizes[theirs]["count"], wrong)
    for line in wrong:
        print(line)
    return not wrong


def ids(dataset, predictions, nodes):
    with open(predictions, newline="", encoding="utf-8") as file:
        got = [row["id"] for row in csv.DictReader(file)]
    expected = [str(n) for n in range(int(nodes))]
    try:
        import h5py
    except ImportError:
        return len(set(got)) == int(nodes)
    with h5py.File(dataset, "r") as file:
        if "nodes/id" in file:
            expected = [i.decode() if isinstance(i, bytes) else str(i) for i in file["nodes/id"][:]]
    return got == expected


def graphs(folder):
    where = {}
    for base, _, files in os.walk(os.path.join(folder, "edgelist")):
        where.update({f: os.path.relpath(os.path.join(base, f), folder) for f in files})
    for entry in load(os.path.join(folder, "edgelist", "expected.json"))["files"]:
        graph = entry["graph_compact_ids"]
        rule = "sparse" if entry["ids"] == "integer" else "text"
        print(where[os.path.basename(entry["file"])], graph["num_nodes"], arcs_of(graph, False), "--ids", rule)
    for entry in load(os.path.join(folder, "metis", "expected.json"))["files"]:
        if not entry["valid"]:
            print("metis/" + entry["file"], "refused")
        else:
            print("metis/" + entry["file"], entry["graph"]["num_nodes"], arcs_of(entry["graph"], False))
    for entry in load(os.path.join(folder, "mtx", "expected.json"))["files"]:
        if not entry["parses_with_scipy"] or entry.get("rows") != entry.get("cols"):
            print(entry["file"], "refused")
    return True


if __name__ == "__main__":
    sys.exit(not {"facts": facts, "ids": ids, "graphs": graphs}[sys.argv[1]](*sys.argv[2:]))
