#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of MPI jobs: skips without MPI, starts jobs of mpi_rank under a hard time limit, ends what is left.
# shellcheck disable=SC2034 # status is for the tests
set -euo pipefail

rank_program=${GNT_BINARY_DIR:?run by ctest}/bin/${GNT_RANK_PROGRAM:-mpi_rank}
command -v mpirun >/dev/null || { echo "skipped: no mpirun (Debian: openmpi-bin)"; exit 77; }
[ -e "$GNT_BINARY_DIR/lib/libgnntrain-mpi.so" ] || { echo "skipped: built without the MPI plug-in (Debian: libopenmpi-dev)"; exit 77; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
work=$(mktemp -d)
job=''
end_job() {
    # shellcheck disable=SC2046 # several ids
    if [ -n "$job" ] && kill -0 "$job" 2>/dev/null; then kill -9 "$job" $(ranks_of "$job") 2>/dev/null || true; fi
    rm -rf "$work"
}
trap end_job EXIT

fail() {
    echo "FAILED: $*" >&2
    tail -n 40 "$work/out" "$work/err" >&2
    exit 1
}

# run SECONDS N MODE...: a job that ends by itself; its exit status in $status. 124: it hung.
run() {
    local limit=$1 n=$2
    shift 2
    status=0
    timeout -k 5 "$limit" mpirun -n "$n" "$rank_program" "$@" >"$work/out" 2>"$work/err" || status=$?
}

# start N MODE...: a job in the background, $job; returns when it says that it is ready.
start() {
    local n=$1 i
    shift
    : >"$work/out" # the job before this one was ready too
    mpirun -n "$n" "$rank_program" "$@" >"$work/out" 2>"$work/err" &
    job=$!
    for ((i = 0; i < 600; i++)); do
        ! grep -qs ready "$work/out" || return 0
        kill -0 "$job" 2>/dev/null || fail "the job ended before it was ready"
        sleep 0.05
    done
    fail "the job is not ready after 30 s"
}

# spawn N MODE...: the same, but returns as soon as the processes are there.
spawn() {
    local n=$1 i
    shift
    mpirun -n "$n" "$rank_program" "$@" >"$work/out" 2>"$work/err" &
    job=$!
    for ((i = 0; i < 600; i++)); do
        [ "$(ranks_of "$job" | wc -l)" != "$n" ] || return 0
        sleep 0.02
    done
    fail "the job has not $n processes after 12 s"
}

# ranks_of MPIRUN: the process ids of its ranks, in order of rank.
ranks_of() {
    local pid
    for pid in $(pgrep -P "$1" || true); do
        [ -r "/proc/$pid/environ" ] || continue
        echo "$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') $pid"
    done | sort -n | awk 'NF == 2 { print $2 }'
}

# finish SECONDS PID...: waits for the job to end within SECONDS, its status in $status; none of the processes may be left.
finish() {
    local seconds=$1 i pid
    shift
    for ((i = 0; i < seconds * 20; i++)); do
        kill -0 "$job" 2>/dev/null || break
        sleep 0.05
    done
    ! kill -0 "$job" 2>/dev/null || fail "the job still runs after $seconds s"
    status=0
    wait "$job" || status=$?
    job=''
    for ((i = 0; i < 40; i++)); do
        for pid in "$@"; do
            [ ! -e "/proc/$pid" ] || { sleep 0.05; continue 2; }
        done
        return 0
    done
    fail "a rank outlived the job"
}
