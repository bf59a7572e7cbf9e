#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium, cost: 38
# A run under real Slurm, on a private cluster of the loopback interface: stopped by the signal, requeued, gone on, complete,
# with the metrics of an undisturbed run, to the bit; then on fewer ranks, and a rank that is lost.
source "$(dirname "$0")/support.sh"

PATH=$PATH:/usr/sbin:/sbin
for name in slurmctld slurmd sbatch srun munged; do
    command -v $name >/dev/null || { echo "SKIPPED: no $name (tools/install-deps.sh check)"; exit 77; }
done
cluster=$GNT_SOURCE_DIR/tools/slurm-loopback.sh
SLURM_LOOPBACK_DIR=$(mktemp -d "${TMPDIR:-/tmp}/slurm.XXXX")
SLURM_LOOPBACK_PORT=$((20000 + $$ % 10000))
export SLURM_LOOPBACK_DIR SLURM_LOOPBACK_PORT SLURM_LOOPBACK_NODES=2 SLURM_LOOPBACK_CPUS=4
trap '"$cluster" stop; chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
"$cluster" start || fail "the cluster did not start"
eval "$("$cluster" env)"

log() { tail -n 60 ./*-[0-9]*.log 2>/dev/null; scontrol show job; }
until_true() { # SECONDS WHAT COMMAND...
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $end ] || { log; fail "not within the time limit: $what"; }
        sleep 0.1
    done
}
submit() { # OPTIONS... -- WORDS...: the job's number in job
    run 0 submit --json "$@"
    job=$(python3 -c "import json; print(json.load(open('out'))['job'])")
}
is_over() { [ -z "$(squeue -h -j "$job" -o %i 2>/dev/null)" ]; }
waits() { [ "$(squeue -h -j "$job" -o '%T %r')" = "PENDING BeginTime" ]; }
has_started_again() { grep -q "start 1 on" ./*-"$job".log; }

run 0 generate csbm --nodes 600 --seed 4 -o g.h5 -q
run 0 partition g.h5 --chunks 8 -o g.part.h5 -q
line=(train g.h5 --model 'gcn:16, gcn' --dropout 0.5 --seed 2 --partition g.part.h5 --deterministic bitwise --eval-every 10)
epochs=600
run 0 "${line[@]}" --epochs $epochs --run whole

# two nodes, two ranks each; the signal is what --signal=B:TERM sends
submit --nodes 2 --tasks-per-node 2 --cpus-per-task 2 -- "${line[@]}" --epochs $epochs --run again
until_true 60 "a first epoch" test -s again/metrics.csv
scancel --signal=TERM --batch "$job"
until_true 30 "requeued" waits
grep -q '"stopped"' again/summary.json || { log; fail "the run was over before the signal came"; }
grep -q "stopped with a checkpoint: requeued" again-"$job".log || { log; fail "not requeued for the checkpoint"; }
sleep 1 # Slurm holds the job for two minutes; at once it would take the end of the first start for that of the second
scontrol update JobId="$job" StartTime=now
until_true 30 "started again" has_started_again
until_true 120 "complete" is_over
grep -q "going on after epoch" again-"$job".log || { log; fail "the second start did not go on"; }
grep -q "start 1 on" again-"$job".log && grep -q ": complete" again-"$job".log || { log; fail "not complete at the second start"; }
python3 - <<'P' || { log; fail "the run under Slurm differs from an undisturbed one"; }
import csv, json
a, b = (json.load(open(f"{d}/summary.json")) for d in ("again", "whole"))
assert a["outcome"] == "complete", a["outcome"]
for key in ("test_metric", "test_loss", "valid_metric", "best_epoch"):
    assert a[key] == b[key], (key, a[key], b[key])
rows = [[{k: v for k, v in r.items() if "seconds" not in k} for r in csv.DictReader(open(f"{d}/metrics.csv"))] for d in ("again", "whole")]
assert rows[0] == rows[1] and len(rows[0]) > 0
P

# a rank is killed: the ranks go on in the same allocation with the curve of an undisturbed run; killed once more, the job asks to
# be requeued, and a job of another size goes on from the last checkpoint
lost=lost-$$ # no other process has this in its line
submit --nodes 2 --retries 1 -- "${line[@]}" --epochs 100000 --checkpoint-every 5 --wait-limit 10 --run "$lost"
until_true 60 "a checkpoint" test -s "$lost"/checkpoint.h5
pkill -KILL -n -f -- "--run $lost" || true
goes_on() { grep -q "going on after epoch" "$lost"-"$job".log; }
until_true 60 "going on after a lost rank" goes_on
grep -q "again on these nodes, 1 of 1" "$lost"-"$job".log || { log; fail "the ranks did not start again on the same nodes"; }
[ "$(squeue -h -j "$job" -o %T)" = RUNNING ] || { log; fail "the job did not keep its nodes"; }
first=$(wc -l <"$lost"/metrics.csv)
further() { [ "$(wc -l <"$lost"/metrics.csv)" -gt $((first + 20)) ]; }
until_true 60 "20 epochs more" further
python3 - "$lost" <<'P' || { log; fail "the curve after a lost rank differs from an undisturbed one"; }
import csv, itertools, sys
rows = [[{k: v for k, v in r.items() if "seconds" not in k} for r in itertools.islice(csv.DictReader(open(f"{d}/metrics.csv")), 599)]
        for d in (sys.argv[1], "whole")]
num = min(len(rows[0]) - 1, len(rows[1]))  # the last line may be half written
assert num > 20 and rows[0][:num] == rows[1][:num]
P
pkill -KILL -n -f -- "--run $lost" || true
until_true 60 "requeued" waits
grep -q "a rank was lost.*requeued" "$lost"-"$job".log || { log; fail "not requeued for the lost rank"; }
scancel "$job"
done=$(($(wc -l <"$lost"/metrics.csv) + 20))
submit -- "${line[@]}" --epochs $done --checkpoint-every 5 --wait-limit 10 --run "$lost"
until_true 60 "over" is_over
grep -q "going on after epoch" "$lost"-"$job".log && grep -q ": complete" "$lost"-"$job".log || { log; fail "the smaller job did not go on"; }

# an ensemble over the ranks of a job: stopped with all members saved, requeued, complete
printf 'model: "gcn:16, gcn"\ncount: 4\ntrain: { epochs: 3000, dropout: 0.5 }\n' >spec.yaml
submit --nodes 2 -- ensemble train spec.yaml g.h5 --run many --checkpoint-every 20
members_are_saved() { ls many/members/*/checkpoint.h5 >/dev/null 2>&1; }
until_true 60 "a checkpoint of a member" members_are_saved
scancel --signal=TERM --batch "$job"
until_true 30 "the ensemble requeued" waits
run 0 info many --json
json 'x["outcome"] == "stopped"'
sleep 1
scontrol update JobId="$job" StartTime=now
until_true 30 "the ensemble started again" has_started_again
until_true 120 "the ensemble complete" is_over
grep -q ": complete" many-"$job".log || { log; fail "the ensemble is not complete at the second start"; }
run 0 info many --json
json 'x["outcome"] == "complete" and len(x["members"]) == 4'
echo "slurm: all as expected"
