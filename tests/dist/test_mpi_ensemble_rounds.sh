#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Rounds of an ensemble over MPI processes: who ends early waits for no time limit, policies say what is trained first, a resize leaves
# so many processes at work and changes no bit, SIGTERM saves all.
#   label: medium
#   timeout: 400
source "$(dirname "$0")/mpi_job.sh"
export OMP_WAIT_POLICY=passive
cd "$work"
"$GNNTRAIN" generate sbm --nodes 600 --classes 3 -o g.h5 --quiet >/dev/null

# over N SPEC RUN OPTION...
over() {
    local n=$1 spec=$2 folder=$3
    shift 3
    status=0
    timeout -k 5 120 mpirun -n "$n" "$GNNTRAIN" ensemble train "$spec" g.h5 --run "$folder" --quiet "$@" >out 2>err || status=$?
}

alone() {
    "$GNNTRAIN" ensemble train "$1" g.h5 --run "$2" --quiet --devices cpu:threads=1 >out 2>err || fail "$2: $(cat err)"
}

same() {
    local member
    for member in "$1"/members/*; do
        cmp "$member/logits.npy" "$2/members/$(basename "$member")/logits.npy" || fail "$3: $(basename "$member") differs"
    done
}

# one process is done long before the other, by more than the time limit of a wait
cat >unequal.yaml <<'YAML'
model: "gcn:16, gcn"
seed: 3
vary:
  - { key: epochs, values: [10, 3000] }
train: { eval-every: 1000 }
YAML
begin=$(date +%s)
over 2 unequal.yaml unequal --wait-limit 1
[ "$status" = 0 ] || fail "unequal members: exit $status: $(cat err)"
[ $(($(date +%s) - begin)) -ge 3 ] || echo "note: the long member took less than the time limit, nothing was seen"

# policies: the first task is the first that is trained
cat >sizes.yaml <<'YAML'
seed: 5
vary:
  - { key: model, values: ["gcn:16, gcn", "gcn:128, gcn:128, gcn", "gcn:4, gcn"] }
train: { epochs: 15 }
YAML
first_of() {
    grep '"event":"placed"' "$1/journal.jsonl" | grep '"task":0,' | sed 's/.*"members":\["\([^"]*\)".*/\1/'
}
for case in makespan:m01 first-come:m00 shortest:m02; do
    { cat sizes.yaml && echo "policy: ${case%:*}"; } >policy.yaml
    over 2 policy.yaml "by-${case%:*}"
    [ "$status" = 0 ] || fail "policy ${case%:*}: exit $status: $(cat err)"
    [ "$(first_of "by-${case%:*}")" = "${case#*:}" ] || fail "policy ${case%:*}: $(first_of "by-${case%:*}") is first, not ${case#*:}"
    [ "$(grep -c '"event":"ended"' "by-${case%:*}/journal.jsonl")" = 3 ] || fail "policy ${case%:*}: not three ends"
done
same by-makespan by-shortest "another policy"
{ cat sizes.yaml && printf 'policy: energy\nenergy-budget: 55\n'; } >policy.yaml
over 3 policy.yaml by-energy --devices cpu:watts=30,idle-watts=10
[ "$status" = 0 ] || fail "policy energy: exit $status: $(cat err)"
if grep '"event":"placed"' by-energy/journal.jsonl | grep -v '"devices":\[0\]'; then
    fail "policy energy: 55 W are one of three processes at 10 to 30 W"
fi

# a resize of a run that goes on; and SIGTERM
cat >long.yaml <<'YAML'
seed: 9
vary:
  - { key: model, values: ["gcn:8, gcn", "sage:8, sage", "gcn:12, gcn"] }
train: { epochs: 1500, eval-every: 100 }
YAML
alone long.yaml fixed
mpirun -n 3 "$GNNTRAIN" ensemble train long.yaml g.h5 --run resized --quiet --checkpoint-every 100 >out 2>err &
job=$!
for ((i = 0; i < 600; i++)); do
    [ ! -e resized/members/m00/checkpoint.h5 ] || break
    sleep 0.05
done
timeout 60 "$GNNTRAIN" ensemble resize resized --devices 'cpu' >answer 2>&1 || fail "resize to one: $(cat answer)"
grep -q '2' answer || fail "resize to one: not two leave: $(cat answer)"
status=0
timeout 60 "$GNNTRAIN" ensemble resize resized --devices '4' >answer 2>&1 || status=$?
[ "$status" = 2 ] || fail "resize beyond what mpirun started: exit $status: $(cat answer)"
timeout 60 "$GNNTRAIN" ensemble resize resized --devices '2' >answer 2>&1 || fail "resize to two: $(cat answer)"
kill -TERM "$job"
status=0
wait "$job" || status=$?
job=''
[ "$(grep -c '"event":"resized"' resized/journal.jsonl)" = 2 ] || fail "not two lines of resizes in the journal"
if [ "$(grep -c '"event":"combined"' resized/journal.jsonl)" = 0 ]; then
    [ "$status" != 0 ] || fail "SIGTERM to mpirun: exit 0"
    grep -q '"event":"stopped"' resized/journal.jsonl || fail "SIGTERM to mpirun: members were not saved"
    over 2 long.yaml resized --checkpoint-every 100
    [ "$status" = 0 ] || fail "the same line after SIGTERM: exit $status: $(cat err)"
fi
same fixed resized "a resized run"
if ls -A resized/requests/.round-* >/dev/null 2>&1; then fail "marks of rounds are left"; fi
