#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The specs in examples/ensembles/, each in a short version (few epochs, fewer draws) on a generated graph: planned, trained, and the same
# line again, which finds everything done.
examples=$(cd "$(dirname "$0")/../../examples/ensembles" && pwd)
source "$(dirname "$0")/support.sh"

run 0 generate csbm --nodes 300 --seed 1 -o g.h5
count=0
for spec in "$examples"/*.yaml; do
    name=$(basename "$spec" .yaml)
    case $name in inventory-* | trace-*) continue ;; esac
    sed -E 's/^( *)epochs: .*/\1epochs: 20/; s/^samples: .*/samples: 6/; s/^( *)patience: .*/\1patience: 10/' "$spec" >"$name.yaml"
    grep -q 'epochs: 20' "$name.yaml" || fail "$name.yaml has no epochs"
    run 0 ensemble plan "$name.yaml" g.h5 --devices 2 --json
    json 'all(any(row[m] > 0 for row in x["matrix"]) for m in range(len(x["members"])))'
    count=$((count + 1))
    run 0 ensemble train "$name.yaml" g.h5 --run "$name-run" --devices 2 --json --quiet
    json 'x["outcome"] == "complete" and x["ensemble"]["test_metric"] > 0.3 and len(x["members"]) >= 1'
    cp out first
    run 0 ensemble train "$name.yaml" g.h5 --run "$name-run" --devices 2 --json --quiet
    python3 -c 'import json; a, b = json.load(open("first")), json.load(open("out")); exit(a["ensemble"] != b["ensemble"])' ||
        fail "$name: the second time gives another ensemble"
done
[ $count -ge 8 ] || fail "only $count specs"
echo "$count specs of examples/ensembles: all as expected"
