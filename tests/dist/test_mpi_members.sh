#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Members of a trainer over MPI processes: taken, put, left behind, saved, loaded, as the lone run of each has them.
#   label: medium
source "$(dirname "$0")/mpi_job.sh"
rank_program=$GNT_BINARY_DIR/bin/mpi_members

for n in 1 2 3; do
    run 120 "$n" "$work/members-$n"
    [ "$status" = 0 ] || fail "members on $n ranks: exit $status"
    [ "$(grep -c "^$n processes" "$work/out")" = "$n" ] || fail "members on $n ranks: not one job"
    [ -e "$work/members-$n/m2/best.h5" ] || fail "members on $n ranks: no best.h5"
done

run 60 2 "$work/differ" differ
[ "$status" = 5 ] || fail "differ: exit $status instead of 5"
grep -q "member 1 is 'seed 107, lr 0.5" "$work/err" || fail "differ: the member is not named"
