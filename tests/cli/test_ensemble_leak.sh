#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 200
# Labels of test nodes decide nothing: with all of them turned to another class, an ensemble trains the same members, finds the same
# weights and temperature and predicts the same bits. Labels of validation nodes, turned the same way, do decide. Skips without h5py.
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

python=${GNT_PYTHON:-python3}
"$python" -c 'import numpy, h5py' 2>/dev/null || { echo "SKIPPED: no numpy or h5py"; exit 77; }
cat >turn.py <<'P'
import sys
import h5py
source, target, part = sys.argv[1:]
import shutil
shutil.copy(source, target)
with h5py.File(target, "r+") as f:
    nodes, y = f[f"splits/public/{part}"][:], f["nodes/y"][:]
    y[nodes] = (y[nodes] + 1) % 4
    f["nodes/y"][:] = y
P
run 0 generate csbm --nodes 600 --classes 4 --feature-signal 0.7 -o whole.h5
"$python" turn.py whole.h5 test.h5 test
"$python" turn.py whole.h5 valid.h5 valid
printf '%s\n' 'model: "gcn:8, gcn"' 'seed: 1' 'count: 2' 'vary: [{ key: dropout, values: [0.2, 0.5] }]' 'combine: greedy' \
    'train: { epochs: 30, patience: 8 }' >independent.yaml
printf '%s\n' 'model: "gcn:8, gcn"' 'seed: 1' 'count: 3' 'method: edde' 'train: { epochs: 20 }' >edde.yaml

differ() { # A B: how many of the members' predictions differ
    local count=0 file
    for file in "$1"/members/*/logits.npy; do
        cmp -s "$file" "$2/${file#*/}" || count=$((count + 1))
    done
    echo $count
}

for spec in independent edde; do
    for data in whole test valid; do
        run 0 ensemble train $spec.yaml $data.h5 --run $spec-$data --devices 1 --deterministic bitwise --quiet
        run 0 predict $spec-$data --data $data.h5 --what probabilities -o $spec-$data.csv
    done
    [ "$(differ $spec-whole $spec-test)" -eq 0 ] || fail "$spec: labels of test nodes change members"
    cmp $spec-whole.csv $spec-test.csv || fail "$spec: labels of test nodes change predictions"
    python3 - $spec <<'P' || fail "$spec: labels of test nodes change weights or the temperature, or nothing changes scores"
import json, sys
a, b, v = (json.load(open(f"{sys.argv[1]}-{d}/report.json")) for d in ("whole", "test", "valid"))
chosen = lambda x: ([m["weight"] for m in x["members"]], x["ensemble"]["temperature"], x["best_member"]["name"])
assert chosen(a) == chosen(b)
assert a["ensemble"]["valid_metric"] == b["ensemble"]["valid_metric"] and a["ensemble"]["test_metric"] != b["ensemble"]["test_metric"]
assert chosen(a) != chosen(v)
P
    ! cmp -s $spec-whole.csv $spec-valid.csv || fail "$spec: labels of validation nodes change nothing: the test sees nothing"
done
