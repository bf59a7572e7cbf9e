#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a generated graph to a picture, verb by verb, with the facts that scripts rely on.
source "$(dirname "$0")/support.sh"

run 0 generate karate -o karate.h5
out_has "nodes" "34" "karate.h5"
err_has "next: gnntrain train karate.h5"
run 0 info karate.h5 --json
json 'x["num_nodes"] == 34 and x["num_arcs"] == 156 and x["num_self_loops"] == 0'
json 'len(x["graph_sha256"]) == 64 and len(x["content_sha256"]) == 64 and x["num_classes"] >= 2'
run 0 info karate.h5
out_has "nodes" "156"
run 0 check karate.h5
run 0 check karate.h5 --json
json 'x["num_errors"] == 0 and isinstance(x["findings"], list)'

# training: facts on stdout, words on stderr
train=(train karate.h5 --model 'gcn:16, gcn' --epochs 30 --seed 1 --run run)
run 0 "${train[@]}" --json
json 'x["metric"] == "accuracy" and 0 <= x["test_metric"] <= 1 and x["best_epoch"] >= 1'
json 'x["epoch_seconds_median"] > 0 and x["peak_bytes"] > 0'
err_has "34 nodes" "epoch 1/30" "epoch 30/30" "next: gnntrain predict run"
[ "$(wc -l <run/metrics.jsonl)" -eq 30 ] || fail "metrics.jsonl has $(wc -l <run/metrics.jsonl) lines"
for name in epoch train_loss valid_loss metric train_metric valid_metric seconds eval_seconds; do
    head -1 run/metrics.jsonl | grep -q "\"$name\"" || fail "metrics.jsonl lacks $name"
done
for file in config.yaml metrics.csv log.txt checkpoint.h5 best.h5 summary.json report.html; do
    [ -s "run/$file" ] || fail "run/$file is missing or empty"
done
grep -q '^epochs: 30  # flag' run/config.yaml || fail "config.yaml lacks the origin of --epochs"
grep -q '^lr: 0.01  # default' run/config.yaml || fail "config.yaml lacks the origin of --lr"
cp run/summary.json before.json

# the same line again has nothing to do and says the same; with more epochs it goes on
run 0 "${train[@]}" --json
err_has "going on after epoch 30"
cmp -s run/summary.json before.json || fail "an ended run changed its summary"
run 0 train karate.h5 --model 'gcn:16, gcn' --epochs 40 --seed 1 --run run
[ "$(wc -l <run/metrics.jsonl)" -eq 40 ] || fail "the longer run has not gone on"
run 3 train karate.h5 --model 'gcn:8, gcn' --epochs 40 --seed 1 --run run
err_has "gcn:8"

# quiet, and the run's own config as a file of options
run 0 train karate.h5 --config run/config.yaml --run again -q
err_is ""
python3 - <<'P' || fail "the run from config.yaml differs"
import json
a, b = (json.load(open(f"{d}/summary.json")) for d in ("run", "again"))
assert a["test_metric"] == b["test_metric"] and a["best_epoch"] == b["best_epoch"], (a, b)
P

# several seeds
run 0 train karate.h5 --epochs 10 --seed 1 --seeds 3 --run seeds --json
json '"mean" in x and "std" in x and len(x["runs"]) == 3'
[ -s seeds/seed-1/metrics.jsonl ] && [ -s seeds/seed-3/summary.json ] || fail "folders of the seeds"

run 0 eval run --json
json '"test" in x["splits"] and "accuracy" in x["splits"]["test"]'
run 0 predict run -o predictions.csv
[ "$(wc -l <predictions.csv)" -eq 35 ] || fail "predictions.csv has $(wc -l <predictions.csv) lines"
run 0 plot run -o run.svg
head -c 4 run.svg | grep -q '<svg' || fail "no picture"
run 0 plot run seeds -o both.html
grep -q '</html>' both.html || fail "no page"
run 0 info run
out_has "accuracy"

run 0 explain karate.h5 --model 'gcn:16, gcn'
[ "$(wc -l <out)" -gt 5 ] || fail "explain prints next to nothing"
run 0 explain karate.h5 --json
json 'True'
run 0 estimate karate.h5 --json
json 'x["total_bytes"] > 0 and x["fits"] is True'

# wrong turns: the code and the cause
run 2 train karate.h5 --model 'gnc:16, gcn'
err_has "gnc" "gcn"
run 2 train karate.h5 --epochs 5 --schedule step
run 3 train absent.h5
err_has "absent.h5" "No such file"
printf 'no dataset' >bad.h5
run 3 train bad.h5
err_has "bad.h5"
run 2 predict run
err_has "-o FILE"
run 3 predict absent-run -o x.csv
run 3 plot absent-run -o x.svg
err_has "absent-run"
run 2 plot run -o x.png
[ ! -e x.png ] && [ ! -e x.svg ] && [ ! -e x.csv ] || fail "a failed verb left a file"

# a loss that is no number: exit code 6, the epoch named, and the run says that it failed
for i in 0 1 2 3 4 5; do echo "$i $(((i + 1) % 6))"; done >edges.txt
{ echo id,a,b; for i in 0 1 2 3 4 5; do echo "$i,3e38,-3e38"; done; } >x.csv
{ echo id,label; for i in 0 1 2 3 4 5; do echo "$i,$((i % 2))"; done; } >y.csv
run 0 import edges.txt --features x.csv --labels y.csv -o huge.h5
run 0 split huge.h5 --kind random --train 0.5 --valid 0.2 -o huge.h5
run 6 train huge.h5 --model 'linear:64, linear:64, linear' --optimizer sgd --lr 1000 --epochs 50 --run diverged
err_has "epoch"
grep -q '"failed"' diverged/summary.json || fail "summary.json does not say that the run failed"
echo "workflow: all as expected"
