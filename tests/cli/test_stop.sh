#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Signals: the first of SIGINT, SIGTERM, SIGUSR1, SIGUSR2 saves a checkpoint and ends with 75, a second one later leaves at
# once with 130, the same line goes on, and what comes out is what an undisturbed run gives.
source "$(dirname "$0")/support.sh"

run 0 generate csbm --nodes 3000 --seed 1 -o sbm.h5
run 0 generate csbm --nodes 20000 --seed 1 -o large.h5
line=(train sbm.h5 --model 'gcn:16, gcn' --dropout 0.5 --epochs 400 --seed 1 --threads 1 --eval-every 50)

# start FOLDER: in the background; waits until epochs run.
start() {
    rm -rf "$1"
    "$GNNTRAIN" "${line[@]}" --run "$1" >"$work/out" 2>"$work/err" &
    pid=$!
    for _ in $(seq 1000); do
        [ -s "$1/metrics.jsonl" ] || grep -q 'epoch 1/' "$work/err" && return
        sleep 0.02
    done
    fail "no epoch within twenty seconds"
}
# ends CODE
ends() {
    local code=0
    wait "$pid" || code=$?
    [ $code -eq "$1" ] || fail "exit code $code, expected $1"
}

for signal in INT TERM USR1 USR2; do
    start "run-$signal"
    kill -s "$signal" "$pid"
    ends 75
    err_has "stopped by SIG$signal" "run the same line again"
    [ -s "run-$signal/checkpoint.h5" ] || fail "no checkpoint after SIG$signal"
    grep -q '"stopped"' "run-$signal/summary.json" || fail "summary.json does not say that the run was stopped"
done

# batch systems repeat a signal at once: it is still the first
start repeated
kill -s TERM "$pid"; kill -s CONT "$pid"; kill -s TERM "$pid"
ends 75

# a second signal that comes later leaves at once: the process sleeps between the two, so that it cannot end in time
line=(train large.h5 --model 'gcn:256, gcn:256, gcn' --epochs 100000 --seed 1 --threads 1 --eval-every 50)
start twice
kill -s INT "$pid"; sleep 0.02; kill -s STOP "$pid"
sleep 0.5
kill -s INT "$pid"; kill -s CONT "$pid"
ends 130
line=(train sbm.h5 --model 'gcn:16, gcn' --dropout 0.5 --epochs 400 --seed 1 --threads 1 --eval-every 50)

# a process that is gone without a word: info tells it from one that still runs, and another run starts from its checkpoint
start killed
run 0 info killed
out_has running
kill -s KILL "$pid"
ends 137
run 0 info killed
out_has interrupted "the same command goes on"
run 0 train sbm.h5 --model 'gcn:16, gcn' --dropout 0.5 --epochs 1 --seed 1 --threads 1 --run first --quiet
run 0 train sbm.h5 --model 'gcn:16, gcn' --dropout 0.5 --epochs 3 --seed 1 --threads 1 --eval-every 1 --resume first --run second
err_has "going on after epoch 1"
run 3 train sbm.h5 --model 'gcn:16, gcn' --epochs 3 --resume frist --run third
err_has "frist" "auto, never"

# the stopped run goes on by the same line to what an undisturbed one gives
run 0 "${line[@]}" --run run-INT
err_has "going on after epoch"
run 0 "${line[@]}" --run whole
python3 - <<'P' || fail "the resumed run differs"
import json
a, b = (json.load(open(f"{d}/summary.json")) for d in ("run-INT", "whole"))
for key in ("test_metric", "valid_metric", "best_epoch"):
    assert a[key] == b[key], (key, a[key], b[key])
lines = [[{k: v for k, v in json.loads(l).items() if "seconds" not in k} for l in open(f"{d}/metrics.jsonl")] for d in ("run-INT", "whole")]
assert lines[0] == lines[1]
P

# a time limit stops like a signal
run 75 train sbm.h5 --epochs 1000000 --time-limit 0.2 --eval-every 1000 --run limited
err_has "time limit"
echo "stop: all as expected"
