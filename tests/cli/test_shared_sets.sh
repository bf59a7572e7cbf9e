#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# timeout: 900
# Real sets in every format: imported, split where they bring no split, trained for a few epochs, predicted; a line of
# predictions for every node. Their facts are compared by test_import_facts_*. Skips without the shared data.
source "$(dirname "$0")/support.sh"
data=${GNT_SHARED_DATA:-$GNT_SOURCE_DIR/../shared/data}
[ -d "$data" ] || { echo "SKIPPED: no shared data '$data'"; exit 77; }

count=0
try() { # NAME NODES IMPORT-ARGUMENT...
    local name=$1 nodes=$2 split=()
    shift 2
    case $1 in
    planetoid) PYTHONPATH=$GNT_SOURCE_DIR/tools/python "${GNT_PYTHON:-python3}" -m gnntrain_io "$@" -o "$name.h5" >/dev/null 2>err ||
        fail "gnntrain_io $*" ;;
    *) run 0 import "$@" -o "$name.h5" ;;
    esac
    run 0 info "$name.h5" --json
    json "x['num_nodes'] == $nodes"
    if json_is 'x["splits"] == {}'; then
        run 0 split "$name.h5" --kind random --train 0.5 --valid 0.2 -o "$name.h5"
    elif ! json_is 'list(x["splits"]) == ["public"]'; then
        split=(--split 0)
    fi
    run 0 check "$name.h5"
    run 0 train "$name.h5" --model 'gcn:8, gcn' --epochs 3 --seed 1 "${split[@]}" --run "$name"
    run 0 predict "$name" -o "$name.csv"
    [ "$(wc -l <"$name.csv")" -eq $((nodes + 1)) ] || fail "$name: $(wc -l <"$name.csv") lines of predictions"
    count=$((count + 1))
}
json_is() { python3 -c "import json, sys; x = json.load(open('$work/out')); sys.exit(not ($1))"; }

try citeseer-npz 3312 "$data/npz-csr/citeseer.npz"
try cora-ml 2995 "$data/npz-csr/cora_ml.npz"
try cornell 183 "$data/geom-gcn/cornell"
try chameleon 890 "$data/heterophilous/chameleon_filtered_directed.npz"
try linqs 183 "$data/rosetta/texas/linqs"
try ogb 2708 "$data/rosetta/cora-ogb"
try graphsage 183 "$data/rosetta/texas/graphsage"
try edges 183 "$data/rosetta/texas/edgelist/texas.edges.txt" --features \
    "$data/rosetta/texas/edgelist/texas.features.svmlight.txt"
try matrix 183 "$data/rosetta/texas/mtx/texas.mtx" --features "$data/rosetta/texas/edgelist/texas.features.svmlight.txt"
try metis 183 "$data/rosetta/texas/metis/texas.graph" --features \
    "$data/rosetta/texas/edgelist/texas.features.svmlight.txt"
try twitch 7126 "$data/karateclub/twitch/edges.csv" --features "$data/karateclub/twitch/features.csv" --labels \
    "$data/karateclub/twitch/target.csv"
if "${GNT_PYTHON:-python3}" -c 'import h5py' 2>/dev/null; then
    try cora 2708 planetoid "$data/planetoid/cora" cora
    try citeseer 3327 planetoid "$data/planetoid/citeseer" citeseer
fi
echo "$count passed, 0 failed"
