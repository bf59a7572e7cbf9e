#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A layer of one's own: the example as a plug-in of the command, through train, eval and predict; and what is said when the
# plug-in is missing, damaged or forgotten.
source "$(dirname "$0")/support.sh"

gin=$(dirname "$GNNTRAIN")/../lib/libgin.so
[ -e "$gin" ] || { echo "SKIPPED: the examples are not built"; exit 77; }
run 0 generate karate -o karate.h5
model='gin:8:eps=0.1, gin:8, linear'

run 0 train karate.h5 --plugin "$gin" --model "$model" --epochs 20 --seed 1 --run run --json
json 'x["best_epoch"] >= 1 and 0 <= x["test_metric"] <= 1'
run 0 eval run --plugin "$gin"
run 0 predict run --plugin "$gin" -o p.csv
[ "$(wc -l <p.csv)" -eq 35 ] || fail "p.csv has $(wc -l <p.csv) lines"

run 2 train karate.h5 --model "$model"
err_has "gin"
run 2 predict run -o p.csv
err_has "gin"
run 2 train karate.h5 --plugin "$gin" --model 'gin:8:epz=0.1, linear'
err_has "epz" "eps"
run 2 train karate.h5 --plugin "$gin" --model 'gin:8:eps=7, linear'
err_has "7" "from -1 to 1"
run 3 train karate.h5 --plugin ./absent.so --model "$model"
err_has "absent.so" "No such file"
echo "no object" >text.so
run 3 train karate.h5 --plugin ./text.so --model "$model"
err_has "text.so"
run 3 train karate.h5 --plugin "$(dirname "$GNNTRAIN")/../lib/libgnntrain.so" --model "$model"
err_has "gnt_plugin_init"
echo "plug-in: all as expected"
