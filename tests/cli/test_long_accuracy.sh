#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: long
# timeout: 900
# Ten seeds of the recipe of Kipf and Welling on the public splits: Cora 81.5 +- 1.0, CiteSeer 70.5 +- 1.2 percent. Five of
# SAGE and GAT on Cora: an own PyTorch program has 80.9 +- 0.5 and 83.1 +- 0.5 (which drops messages too), DGL's GAT 82.1.
source "$(dirname "$0")/support.sh"

data=${GNT_SHARED_DATA:-$GNT_SOURCE_DIR/../shared/data}/planetoid
[ -d "$data" ] || { echo "skipped: no $data"; exit 77; }

# mean_of SET LOW HIGH [MODEL SEEDS OPTION...]
mean_of() {
    local set=$1 low=$2 high=$3 model=${4:-gcn:16, gcn} seeds=${5:-10}
    local options=(--dropout 0.5 --input-dropout 0.5 --lr 0.01 --weight-decay 1:5e-4)
    [ $# -le 5 ] || options=("${@:6}")
    PYTHONPATH=$GNT_SOURCE_DIR/tools/python "${GNT_PYTHON:-python3}" -m gnntrain_io planetoid "$data/$set" "$set" \
        -o "$set.h5" >/dev/null 2>&1 || { echo "skipped: python3 with numpy and h5py could not convert $set"; exit 77; }
    run 0 train "$set.h5" --model "$model" "${options[@]}" --normalize-features row --epochs 200 --seeds "$seeds" \
        --run "run-$set-${model%%:*}" --json
    json "x['n'] == $seeds and $low <= x['mean'] <= $high"
    python3 -c 'import json, sys; x = json.load(open(sys.argv[1])); print(*sys.argv[2:], x["mean"], x["std"])' \
        "$work/out" "$set" "$model"
}
mean_of cora 0.805 0.825
mean_of citeseer 0.693 0.717
mean_of cora 0.799 0.822 'sage:16, sage' 5 --dropout 0.5 --input-dropout 0.5 --lr 0.01 --weight-decay 5e-4
mean_of cora 0.808 0.842 'gat:8x8:act=elu:attn-dropout=0.6, gat:attn-dropout=0.6' 5 --dropout 0.6 --input-dropout 0.6 \
    --lr 0.005 --weight-decay 5e-4
echo "1 passed, 0 failed"
