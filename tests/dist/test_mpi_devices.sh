#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Processes with a device of the stand-in each: their groups do what the communicator does, meet by files too, are made and split and
# made anew; mistakes of one rank are caught across processes; a device that reports an error, one that is lost, a communicator that
# is never made and a process that is gone end all ranks with 5 and a text that says who.
#   label: medium
export GNT_RANK_PROGRAM=mpi_group
source "$(dirname "$0")/mpi_job.sh"
source "$(dirname "$0")/../support/addresses.sh"
[ -x "$rank_program" ] || { echo "SKIPPED: no stand-in in this build"; exit 77; }
unset HOSTCUDA_FAIL HOSTCUDA_QUIET HOSTCUDA_HANG CUDA_VISIBLE_DEVICES
export HOSTCUDA_DEVICES=4M,4M,4M,4M
host=$(uname -n)

says() { local text; for text; do grep -qF -- "$text" "$work/err" || fail "no word of: $text"; done; }

for n in 2 3 4; do
    run 60 $n cases 3
    [ "$status" = 0 ] || fail "cases of $n ranks: exit $status"
done
run 60 3 file "$work/meet"
[ "$status" = 0 ] || fail "ranks that meet by files: exit $status"
[ -z "$(ls "$work"/meet* 2>/dev/null)" ] || fail "files of the meeting are left"

# mistakes of the last rank
for mistake in 'count|ncclSend(252' 'operation|operation 2) on rank 2' 'order|ranks wait for each other'; do
    run 60 3 mistake "${mistake%|*}"
    [ "$status" = 99 ] || fail "mistake '${mistake%|*}': exit $status, not caught"
    says "hostcuda: NCCL group mismatch" "${mistake#*|}"
done
# as they should be, also on devices in another order
run 60 2 steps 5 30
[ "$status" = 0 ] || fail "steps: exit $status"
CUDA_VISIBLE_DEVICES=1,0 run 60 2 steps 5 30
[ "$status" = 0 ] || fail "steps on devices in another order: exit $status"

# injected failures
HOSTCUDA_FAIL=nccl:1:6 run 60 3 steps 100 10
[ "$status" = 5 ] || fail "an error of NCCL: exit $status"
says "rank 1 of 3 on host '$host' in exchange" "NCCL reports 'remote process exited" "rank 1 on host '$host' ended the job"
HOSTCUDA_FAIL=init:1 run 60 3 steps 100 1
[ "$status" = 5 ] || fail "a communicator that is never made: exit $status"
says "connecting devices" "not done within 1." "their devices do not find each other"
HOSTCUDA_FAIL=lost:1:9 run 60 3 steps 100 10
says "ERR_DEVICE_LOST" "cuda device 1 stopped working" "rank 1 on host '$host' ended the job"
[ "$status" = 1 ] || [ "$status" = 5 ] || fail "a lost device: exit $status"

# A process is gone: the launcher leaves the others alone, so that what they say is seen. NCCL tells them, or (quiet) nobody does.
# A stopped process says nothing to anybody.
export OMPI_MCA_orte_enable_recovery=1
end_of() { # SIGNAL VICTIM TEXT...: what the others say
    local signal=$1 victim=$2 i
    shift 2
    start 3 steps 100000000 3
    mapfile -t ranks < <(ranks_of "$job")
    [ "${#ranks[@]}" = 3 ] || fail "found ${#ranks[@]} of 3 ranks"
    kill "-$signal" "${ranks[$victim]}"
    for ((i = 0; i < 400; i++)); do
        [ "$(grep -c "mpi_group: rank" "$work/err")" -lt 2 ] || break
        sleep 0.05
    done
    kill -9 "${ranks[$victim]}" 2>/dev/null || true
    finish 20 "${ranks[@]}"
    [ "$(grep -c "mpi_group: rank . ERR_\(PEER_LOST\|TIMEOUT\)\|mpi_group: rank .: ERR_\(PEER_LOST\|TIMEOUT\)" "$work/err")" = 2 ] ||
        fail "$signal of rank $victim: not both of the others end so"
    says "rank $victim of 3 on host '$host' $1"
    no_addresses_left
}
end_of KILL 1 "does not answer"
end_of KILL 0 "does not answer"
HOSTCUDA_QUIET=1 end_of KILL 2 "did not answer"
HOSTCUDA_QUIET=1 end_of STOP 0 "did not answer"
echo "devices of processes: all as expected"
