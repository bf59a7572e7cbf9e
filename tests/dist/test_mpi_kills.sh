#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank is killed, or stopped, at any moment of its start or of a loop of exchanges and sums: all processes are gone within the time limit.
# GNT_MPI_KILLS says how often (10; the long test 50). mpirun ends a job with a killed rank itself, with 137 or, when another
# rank found it out first, 5. A stopped rank is found by the others alone: 5, and the text names it.
#   label: medium, cost: 45
#   timeout: 900
source "$(dirname "$0")/mpi_job.sh"

kills=${GNT_MPI_KILLS:-10}
RANDOM=${GNT_MPI_SEED:-7}
for ((k = 0; k < kills; k++)); do
    n=$((2 + k % 3)) victim=$((RANDOM % n)) pause=0.$((RANDOM % 4))$((RANDOM % 10))
    if ((k % 3 == 2)); then spawn "$n" loop 300 20; else start "$n" loop 300 20; fi # while they start, and later
    mapfile -t ranks < <(ranks_of "$job")
    [ "${#ranks[@]}" = "$n" ] || fail "found ${#ranks[@]} of $n ranks"
    sleep "$pause"
    kill -9 "${ranks[$victim]}"
    finish 30 "${ranks[@]}"
    [ "$status" = 137 ] || [ "$status" = 5 ] || fail "kill $k of rank $victim of $n: exit $status"
    echo "kill $k: rank $victim of $n after $pause s: exit $status"
done

for n in 2 4; do
    victim=$((RANDOM % n))
    start "$n" loop 300 5
    mapfile -t ranks < <(ranks_of "$job")
    sleep 0.3
    kill -STOP "${ranks[$victim]}"
    finish 40 "${ranks[@]}"
    [ "$status" = 5 ] || fail "stopped rank $victim of $n: exit $status"
    grep -q "ERR_TIMEOUT: .*: rank $victim of $n on host" "$work/err" || fail "stopped rank $victim of $n is not named"
    echo "stop: rank $victim of $n: $(grep -m1 ERR_TIMEOUT "$work/err")"
done
