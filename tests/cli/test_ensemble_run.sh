#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An ensemble as a user runs it: train, stop, go on, resize from another process, and what is refused.
. "$(dirname "$0")/support.sh"

run 0 generate csbm --nodes 200 --seed 3 -o graph.h5 -q
cat >spec.yaml <<'YAML'
model: "gcn:8, gcn"
train: { epochs: 30, dropout: 0.5 }
seed: 1
count: 3
YAML

# whole; the folder's name comes from the spec; once more nothing is trained
run 0 ensemble train spec.yaml graph.h5
out_has m00 m01 m02 "mean of members" ensemble
[ -d spec-ensemble ] || fail "no folder spec-ensemble"
for file in ensemble.yaml journal.jsonl ensemble.h5 summary.json report.json report.html log.txt profile.json; do
    [ -s "spec-ensemble/$file" ] || fail "no $file"
done
for file in checkpoint.h5 best.h5 metrics.jsonl summary.json logits.npy; do
    [ -s "spec-ensemble/members/m01/$file" ] || fail "no $file of a member"
done
cp spec-ensemble/journal.jsonl before.jsonl
run 0 ensemble train spec.yaml graph.h5 --json
json 'len(x["members"]) == 3 and all(k in x["ensemble"] for k in ("test_metric", "nll", "ece")) and x["failed"] == []'
json 'all(k in x["member_mean"] for k in ("test_metric", "nll", "ece")) and "name" in x["best_member"]'
cmp before.jsonl spec-ensemble/journal.jsonl || fail "a complete run was touched"

# results that are gone or cut are made anew, from members that stay
cp spec-ensemble/members/m01/logits.npy before.npy
for file in summary.json ensemble.h5 report.html; do
    rm "spec-ensemble/$file"
    run 0 ensemble train spec.yaml graph.h5
    [ -s "spec-ensemble/$file" ] || fail "no $file again"
done
echo '{' >spec-ensemble/summary.json
run 0 ensemble train spec.yaml graph.h5
out_has m00 m01 m02 "mean of members" ensemble
cmp before.npy spec-ensemble/members/m01/logits.npy || fail "a complete member was touched"

# all members diverge: as one that does; the folder says what it is
sed 's/dropout: 0.5/optimizer: sgd, lr: 1000000/' spec.yaml >diverge.yaml
for _ in first again; do
    run 6 ensemble train diverge.yaml graph.h5 --run diverge
    err_has "no member of 'diverge' is left" m00 "is not finite"
done
run 0 info diverge --json
json 'x["outcome"] == "failed" and x["num_failed"] == 3 and x["members"]["m02"] == "given-up"'
run 3 predict diverge -o no.csv
err_has "an ensemble that has not ended"

# out of memory, then a device with more
run 4 ensemble train spec.yaml graph.h5 --run small --devices cpu:threads=1,room=1
err_has "no member of 'small' is left" "bytes do not fit"
run 0 ensemble train spec.yaml graph.h5 --run small --devices cpu:threads=1

# the last epochs count on a virtual clock
run 0 ensemble train spec.yaml graph.h5 --run virtual --devices 'cpu:clock=virtual,speed=2;cpu:clock=virtual'
err_has "3 of 3 members ended, 0 train, 90/90 epochs"

# a member's folder is a run
run 0 eval spec-ensemble/members/m00 --json
json '"test" in x["splits"]'

# other spec, other data, other folder
sed 's/epochs: 30/epochs: 31/' spec.yaml >other.yaml
run 3 ensemble train other.yaml graph.h5 --run spec-ensemble
err_has "begun with another spec" sha256
run 0 generate csbm --nodes 200 --seed 4 -o other.h5 -q
run 3 ensemble train spec.yaml other.h5 --run spec-ensemble
err_has "begun with another dataset" sha256
run 0 train graph.h5 --model 'gcn:8, gcn' --epochs 1 --run lone -q
run 2 ensemble train spec.yaml graph.h5 --run lone
err_has "'lone' is the folder of a run of gnntrain train"
run 2 train graph.h5 --model 'gcn:8, gcn' --epochs 1 --run spec-ensemble
err_has "'spec-ensemble' is the folder of an ensemble"
run 2 ensemble resize lone --devices 2
err_has "not the folder of an ensemble"
run 2 ensemble resize spec-ensemble --devices 2
err_has "nobody trains in 'spec-ensemble'"
run 2 ensemble resize spec-ensemble
err_has "no devices"

# damage before the last line is named
mkdir damaged
sed '3s/event/evemt/' spec-ensemble/journal.jsonl >damaged/journal.jsonl
run 3 ensemble train spec.yaml graph.h5 --run damaged
err_has "line 3 of 'damaged/journal.jsonl' is damaged"

# a long one: in use, resized twice, stopped, gone on with
sed 's/epochs: 30/epochs: 20000/' spec.yaml >long.yaml
"$GNNTRAIN" ensemble train long.yaml graph.h5 --run long --devices 'cpu:threads=1' -q >out.long 2>err.long &
process=$!
for _ in $(seq 200); do ! grep -q '"placed"' long/journal.jsonl 2>/dev/null || break; sleep 0.1; done
run 2 ensemble train long.yaml graph.h5 --run long
err_has "in use by another process"
run 0 info long --json
json 'x["kind"] == "ensemble" and x["outcome"] == "running" and x["num_members"] == 3 and x["num_ended"] == 0'
run 0 ensemble resize long --devices 'cpu:threads=1;cpu:threads=1' --json
json 'x["accepted"] and x["added"] == 1 and x["removed"] == 0'
run 2 ensemble resize long --devices 'cpu:clock=virtual'
err_has "refuses" "on the wall clock"
run 2 ensemble resize long --devices 'cpu:sped=1'
err_has "did you mean speed"
run 2 ensemble resize long --devices 1500 # nothing has changed by what is refused
err_has "1500 devices are new and the run has had 2"
run 0 ensemble resize long --devices 'cpu:threads=1' --json
json 'x["removed"] == 1'
mkdir long/requests/folder.json # what cannot be read is answered, the run goes on
for _ in $(seq 100); do [ ! -e long/requests/folder.answer.json ] || break; sleep 0.1; done
grep -F '"accepted": false' long/requests/folder.answer.json >/dev/null || fail "a request that cannot be read has no answer"
kill -TERM $process
code=0
wait $process || code=$?
[ $code -eq 75 ] || fail "exit code $code after SIGTERM, expected 75: $(cat err.long)"
tail -1 long/journal.jsonl | grep -F '"event":"stopped"' >/dev/null || fail "the journal does not end with a stop"
run 0 info long --json
json 'x["outcome"] == "stopped" and all(m.startswith("saved after epoch ") for m in x["members"].values())'
"$GNNTRAIN" ensemble train long.yaml graph.h5 --run long -q >out.long 2>err.long &
process=$!
sleep 0.5
kill -KILL $process
wait $process 2>/dev/null || true
run 0 info long --json
json 'x["outcome"] in ("interrupted", "stopped")' # stopped: killed before it had written a line
run 75 ensemble train long.yaml graph.h5 --run long --time-limit 0.5 -q
run 2 ensemble resize long --devices 2
err_has "nobody trains"
