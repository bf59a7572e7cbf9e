#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes readers with libFuzzer: each target for so many seconds on one core, starting from its corpus. What it finds is
# left in build/fuzz/findings/TARGET; new inputs that reach new code are merged into tests/fuzz/corpus with --merge.
#
#   tools/fuzz.sh [--merge] [SECONDS [TARGET...]]     (default 600 seconds, all targets)
set -euo pipefail
cd "$(dirname "$0")/.."

merge=no
[ "${1:-}" != --merge ] || { merge=yes; shift; }
seconds=${1:-600}
shift || true
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz | tail -1
if [ $# -gt 0 ]; then
    targets=("$@")
else
    mapfile -t targets < <(for source in tests/fuzz/fuzz_*.c; do basename "$source" .c; done)
fi

# Sets spent to the processor seconds, user and system, that the commands run so far have used. No subshell may ask: it
# would count its own commands alone.
count_spent() {
    times >build/fuzz/times
    spent=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } printf "%d", sum }' build/fuzz/times)
}

failed=0
for target in "${targets[@]}"; do
    name=${target#fuzz_}
    found=build/fuzz/findings/$name new=build/fuzz/corpus/$name seeds=tests/fuzz/corpus/$name
    mkdir -p "$found" "$new"
    echo "== fuzz_$name, $seconds seconds"
    # Leaks are looked for by the brutal tests: here the allocation hooks of HDF5 would be reported again and again.
    # libFuzzer counts seconds on the wall; a busy machine gives less, so it goes on until the processor gave them all.
    : >"build/fuzz/$name.log"
    used=0 units=0
    while [ "$used" -lt "$seconds" ]; do
        status=0
        count_spent
        before=$spent
        UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
            "build/fuzz/bin/fuzz_$name" -max_total_time="$((seconds - used))" -rss_limit_mb=4096 -malloc_limit_mb=2048 \
            -timeout=20 -max_len=65536 -artifact_prefix="$found/" -print_final_stats=1 "$new" "$seeds" \
            >"build/fuzz/$name.run" 2>&1 || status=$?
        count_spent
        used=$((used + spent - before + 1))
        cat "build/fuzz/$name.run" >>"build/fuzz/$name.log"
        units=$((units + $(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$name.run")))
        [ "$status" -eq 0 ] || { tail -25 "build/fuzz/$name.run"; failed=1; break; }
    done
    echo "fuzz_$name: $units inputs in $used seconds of one processor, $([ "$status" -eq 0 ] && echo "no finding" || echo "a finding in $found")"
    if [ $merge = yes ]; then
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "build/fuzz/bin/fuzz_$name" -merge=1 "$seeds" "$new" >/dev/null 2>&1
    fi
done
exit $failed
