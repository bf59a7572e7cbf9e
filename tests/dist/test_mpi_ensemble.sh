#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ensembles over MPI processes: crews of one and of several, stops, lost processes, a member that fails; always what one process gives.
#   label: medium
#   timeout: 400
source "$(dirname "$0")/mpi_job.sh"
export OMP_WAIT_POLICY=passive
cd "$work"

cat >six.yaml <<'YAML'
seed: 3
vary:
  - { key: model, values: ["gcn:8, gcn", "sage:8, sage"] }
  - { key: dropout, values: [0.2, 0.5, 0.6] }
train: { epochs: 40, lr: 0.01 }
YAML
sed 's/epochs: 40/epochs: 4000, eval-every: 10/' six.yaml >long.yaml
sed 's/lr: 0.01/optimizer: sgd, momentum: 0.999/; s/key: dropout, values: .*/key: lr, values: [0.1, 1e6] }/' six.yaml >poison.yaml
"$GNNTRAIN" generate sbm --nodes 600 --classes 3 -o g.h5 --quiet >/dev/null
"$GNNTRAIN" partition g.h5 --chunks 8 --quiet >/dev/null
part=$(echo g.k8*.part.h5)

# ensemble N SPEC RUN OPTION...: N 0: without MPI
ensemble() {
    local n=$1 spec=$2 folder=$3
    shift 3
    status=0
    if [ "$n" = 0 ]; then
        timeout -k 5 120 "$GNNTRAIN" ensemble train "$spec" g.h5 --run "$folder" --quiet "$@" >out 2>err || status=$?
    else
        timeout -k 5 120 mpirun -n "$n" "$GNNTRAIN" ensemble train "$spec" g.h5 --run "$folder" --quiet "$@" >out 2>err ||
            status=$?
    fi
}

same() {
    local member
    for member in "$1"/members/*; do
        cmp "$member/logits.npy" "$2/members/$(basename "$member")/logits.npy" || fail "$3: $(basename "$member") differs"
    done
    cmp "$1/ensemble.h5" "$2/ensemble.h5" >/dev/null || [ -s "$2/ensemble.h5" ] || fail "$3: no ensemble.h5"
}

bits="--deterministic bitwise --partition $part"
# shellcheck disable=SC2086 # words
ensemble 0 six.yaml one $bits
[ "$status" = 0 ] || fail "one process: exit $status"
for n in 2 3 7; do # 7: more processes than members, crews of two
    # shellcheck disable=SC2086
    ensemble "$n" six.yaml "over-$n" $bits
    [ "$status" = 0 ] || fail "$n processes: exit $status"
    same one "over-$n" "$n processes"
    [ "$(grep -c '"event":"ended"' "over-$n/journal.jsonl")" = 6 ] || fail "$n processes: not six ends in the journal"
done
joules=$(sed -n 's/.*"model_joules": \([0-9.]*\).*/\1/p' over-2/summary.json)
[ -n "$joules" ] && [ "$joules" != 0.0 ] || fail "no joules over processes: '$joules'"
grep '"event":"placed"' over-7/journal.jsonl | grep -q '"devices":\[[0-9]*,[0-9]' || fail "7 processes: no crew of several"
ensemble 3 six.yaml over-3
[ "$status" = 0 ] || fail "a complete run: exit $status"

# a process is lost: all end, the same line resumes with another number of them
mpirun -n 3 "$GNNTRAIN" ensemble train long.yaml g.h5 --run lost --quiet --checkpoint-every 20 >out 2>err &
job=$!
for ((i = 0; i < 600; i++)); do
    [ ! -e lost/members/m00/checkpoint.h5 ] || break
    sleep 0.05
done
kill -9 "$(ranks_of "$job" | tail -n 1)"
status=0
wait "$job" || status=$?
[ "$status" != 0 ] || fail "a lost process went unnoticed"
job=''
ensemble 2 long.yaml lost --time-limit 2 --checkpoint-every 20
[ "$status" = 75 ] || fail "a time limit: exit $status instead of 75"
[ "$(grep -c '"event":"stopped"' lost/journal.jsonl)" = 1 ] || fail "a time limit: no line in the journal"

# a member that diverges is told, the others are as if it were not there
ensemble 0 poison.yaml poison-one
ensemble 2 poison.yaml poison-two
[ "$status" = 0 ] || fail "a member that fails: exit $status: $(cat err)"
for m in m00 m02; do
    cmp "poison-one/members/$m/logits.npy" "poison-two/members/$m/logits.npy" || fail "a member that fails changes $m"
done
[ "$(grep -c '"event":"given-up"' poison-two/journal.jsonl)" = 2 ] || fail "failed members are not told"

ensemble 2 six.yaml devices --devices 'cpu;cpu'
[ "$status" = 2 ] || fail "several devices a process: exit $status instead of 2"
