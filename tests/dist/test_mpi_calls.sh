#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The contract of communicators over MPI processes; a rank that aborts, leaves early, or has another program; launches that
# contradict themselves.
#   label: medium
source "$(dirname "$0")/mpi_job.sh"

for n in 1 2 3 4; do
    run 120 "$n" cases
    [ "$status" = 0 ] || fail "cases on $n ranks: exit $status"
done

run 60 3 abort 1
[ "$status" = 1 ] || fail "abort: exit $status instead of the cause's 1"
grep -q 'epoch 3' "$work/err" || fail "abort: no reason"

run 60 3 differ
[ "$status" = 5 ] || fail "differ: exit $status instead of 5"
words="launch check: --model is 'gcn with 2 layers' on rank 0 and 'gat with 3 layers' on rank 2"
grep -q -- "$words" "$work/err" || fail "differ: the text does not have \"$words\""

# Ranks that stop on request wait at their exit for the one that writes.
run 60 3 stop "$work/file"
[ "$status" = 75 ] || fail "stop: exit $status instead of 75"
[ -e "$work/file" ] || fail "stop: rank 0 was ended before it had written"

# A rank that leaves the program early waits at its exit; the others name it.
run 60 3 leave 2
[ "$status" = 5 ] || fail "leave: exit $status instead of 5"
grep -q 'ERR_TIMEOUT: barrier: rank 2 of 3 on host' "$work/err" || fail "leave: rank 2 is not named"

# Started by srun without PMIx, and by another MPI's launcher: refused before MPI starts.
status=0
SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=1 "$rank_program" none 2>"$work/err" || status=$?
[ "$status" = 2 ] || fail "srun without PMIx: exit $status"
grep -q -- '--mpi=pmix' "$work/err" || fail "srun without PMIx: no remedy"
status=0
PMI_SIZE=2 PMI_RANK=0 "$rank_program" none 2>"$work/err" || status=$?
[ "$status" = 2 ] || fail "another MPI: exit $status"
