#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: long
# timeout: 900
# Ten seeds of the recipe of Kipf and Welling on the public splits: Cora 81.5 +- 1.0, CiteSeer 70.5 +- 1.2 percent.
source "$(dirname "$0")/support.sh"

data=${GNT_SHARED_DATA:-$GNT_SOURCE_DIR/../shared/data}/planetoid
[ -d "$data" ] || { echo "skipped: no $data"; exit 77; }

# mean_of SET LOW HIGH
mean_of() {
    PYTHONPATH=$GNT_SOURCE_DIR/tools/python "${GNT_PYTHON:-python3}" -m gnntrain_io planetoid "$data/$1" "$1" \
        -o "$1.h5" >/dev/null 2>&1 || { echo "skipped: python3 with numpy and h5py could not convert $1"; exit 77; }
    run 0 train "$1.h5" --model 'gcn:16, gcn' --dropout 0.5 --input-dropout 0.5 --lr 0.01 --weight-decay 1:5e-4 \
        --normalize-features row --epochs 200 --seeds 10 --run "run-$1" --json
    json "x['n'] == 10 and $2 <= x['mean'] <= $3"
    python3 -c 'import json, sys; x = json.load(open(sys.argv[1])); print(sys.argv[2], x["mean"], x["std"])' "$work/out" "$1"
}
mean_of cora 0.805 0.825
mean_of citeseer 0.693 0.717
echo "1 passed, 0 failed"
