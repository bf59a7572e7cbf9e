#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium, cost: 30
# timeout: 900
# Real sets in every format: imported, their facts as `info` and `check` tell them compared with those counted by others,
# split where they bring no split, trained for a few epochs, predicted; one line of predictions for every node with the
# ids of the input. Then the files that hold only a graph, by their counts, and the ones that are broken on purpose.
# Skips without the shared data.
source "$(dirname "$0")/support.sh"
data=${GNT_SHARED_DATA:-$GNT_SOURCE_DIR/../shared/data}
[ -d "$data" ] || { echo "SKIPPED: no shared data '$data'"; exit 77; }

python=${GNT_PYTHON:-python3}
count=0
try() { # NAME FACTS IMPORT-ARGUMENT...
    local name=$1 facts=$2 nodes split=()
    shift 2
    case $1 in
    planetoid) PYTHONPATH=$GNT_SOURCE_DIR/tools/python "$python" -m gnntrain_io "$@" -o "$name.h5" >/dev/null 2>err ||
        fail "gnntrain_io $*" ;;
    *) run 0 import "$@" -o "$name.h5" ;;
    esac
    run 0 check "$name.h5" --json
    cp out check.json
    run 0 info "$name.h5" --json
    "$python" "$GNT_SOURCE_DIR/tests/cli/shared_facts.py" facts "$data/$facts" out check.json || fail "$name: facts"
    nodes=$("$python" -c 'import json; print(json.load(open("out"))["num_nodes"])')
    if json_is 'x["splits"] == {}'; then
        run 0 split "$name.h5" --kind random --train 0.5 --valid 0.2 -o "$name.h5"
    elif ! json_is 'list(x["splits"]) == ["public"]'; then
        split=(--split 0)
    fi
    run 0 train "$name.h5" --model 'gcn:8, gcn' --epochs 5 --seed 1 "${split[@]}" --run "$name"
    run 0 predict "$name" -o "$name.csv"
    "$python" "$GNT_SOURCE_DIR/tests/cli/shared_facts.py" ids "$name.h5" "$name.csv" "$nodes" || fail "$name: predictions"
    count=$((count + 1))
}
json_is() { python3 -c "import json, sys; x = json.load(open('$work/out')); sys.exit(not ($1))"; }

try citeseer-npz npz-csr/citeseer.expected.json "$data/npz-csr/citeseer.npz"
try cora-ml npz-csr/cora_ml.expected.json "$data/npz-csr/cora_ml.npz"
try cornell geom-gcn/cornell/expected.json "$data/geom-gcn/cornell"
try chameleon heterophilous/chameleon_filtered_directed.expected.json "$data/heterophilous/chameleon_filtered_directed.npz"
try texas geom-gcn/texas/expected.json "$data/geom-gcn/texas"
try amazon npz-csr/amazon_computers.expected.json "$data/npz-csr/amazon_computers.npz"
try minesweeper heterophilous/minesweeper.expected.json "$data/heterophilous/minesweeper.npz"
try linqs rosetta/texas/expected.json "$data/rosetta/texas/linqs"
try ogb rosetta/cora-ogb/expected.json "$data/rosetta/cora-ogb"
try graphsage rosetta/texas/expected.json "$data/rosetta/texas/graphsage"
try edges rosetta/texas/expected.json "$data/rosetta/texas/edgelist/texas.edges.txt" --features \
    "$data/rosetta/texas/edgelist/texas.features.svmlight.txt"
try matrix rosetta/texas/expected.json "$data/rosetta/texas/mtx/texas.mtx" --features "$data/rosetta/texas/edgelist/texas.features.svmlight.txt"
try metis rosetta/texas/expected.json "$data/rosetta/texas/metis/texas.graph" --features \
    "$data/rosetta/texas/edgelist/texas.features.svmlight.txt"
try twitch karateclub/twitch/expected.json "$data/karateclub/twitch/edges.csv" --features "$data/karateclub/twitch/features.csv" --labels \
    "$data/karateclub/twitch/target.csv"
if "${GNT_PYTHON:-python3}" -c 'import h5py' 2>/dev/null; then
    try cora planetoid/cora/expected.json planetoid "$data/planetoid/cora" cora
    try citeseer planetoid/citeseer/expected.json planetoid "$data/planetoid/citeseer" citeseer
fi

# graphs alone: every file of the facts, "FILE NODES ARCS ARGUMENT..." a line, or "FILE refused"
"$python" "$GNT_SOURCE_DIR/tests/cli/shared_facts.py" graphs "$data" >graphs.txt || fail "facts of graphs"
while read -r file nodes arcs options; do
    if [ "$nodes" = refused ]; then
        run 3 import "$data/$file" -o graph.h5
        err_has "$(basename "$file")"
        [ ! -e graph.h5 ] || fail "$file was refused but left a file"
    else
        # shellcheck disable=SC2086
        run 0 import "$data/$file" $options -o graph.h5
        run 0 info graph.h5 --json
        json "(x['num_nodes'], x['num_arcs']) == ($nodes, $arcs)"
        rm graph.h5
    fi
    count=$((count + 1))
done <graphs.txt
run 3 import "$data/npz-object/karate_club.npz" -o graph.h5
err_has 'pickled objects'
echo "$count passed, 0 failed"
