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
if [ $# -gt 0 ]; then
    targets=("$@")
else
    mapfile -t targets < <(for source in tests/fuzz/fuzz_*.c; do basename "$source" .c; done)
fi
targets=("${targets[@]/#fuzz_/}")
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}" | tail -1

# Sets spent to the processor seconds, user and system, that the commands run so far have used. No subshell may ask: it
# would count its own commands alone.
count_spent() {
    times >build/fuzz/times
    spent=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } printf "%d", sum }' build/fuzz/times)
}

# Reports of children whose crash was HDF5's own go: the fence is there for them (datasets/h5_probe.c). Symbols would cost
# more than the fuzzing, so the innermost two frames are told by their file; the second for memcpy and its like.
keep_our_reports() {
    local report
    for report in "$1"/report.*; do
        [ -e "$report" ] || continue
        if ! grep -q '^ *#0 ' "$report" || grep '^ *#[01] ' "$report" | head -2 | grep -q libhdf5; then
            rm -f "$report"
        fi
    done
}

failed=0
for name in "${targets[@]}"; do
    found=build/fuzz/findings/$name new=build/fuzz/corpus/$name seeds=tests/fuzz/corpus/$name
    mkdir -p "$found" "$new"
    echo "== fuzz_$name, $seconds seconds"
    # Leaks are looked for by the brutal tests: here the allocation hooks of HDF5 would be reported again and again. A small
    # quarantine makes the fork cheap by which HDF5 files are tried; what that child says goes to files of its own.
    # libFuzzer counts seconds on the wall; a busy machine gives less, so it goes on until the processor gave them all.
    : >"build/fuzz/$name.log"
    rm -f "$found"/report.*
    used=0 units=0 status=0
    while [ "$used" -lt "$seconds" ] && [ "$status" -eq 0 ]; do
        count_spent
        before=$spent
        UBSAN_OPTIONS=print_stacktrace=1:symbolize=0:log_path=$found/report \
            ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=1:symbolize=0:log_path=$found/report \
            "build/fuzz/bin/fuzz_$name" -max_total_time="$((seconds - used))" -rss_limit_mb=4096 -malloc_limit_mb=100000000 \
            -timeout=60 -max_len=65536 -artifact_prefix="$found/" -print_final_stats=1 "$new" "$seeds" \
            >"build/fuzz/$name.run" 2>&1 || status=$?
        count_spent
        used=$((used + spent - before + 1))
        cat "build/fuzz/$name.run" >>"build/fuzz/$name.log"
        units=$((units + $(sed -n 's/^stat::number_of_executed_units: *//p' "build/fuzz/$name.run" | tail -1)))
        [ "$status" -ne 0 ] || keep_our_reports "$found"
        [ -z "$(ls "$found"/report.* 2>/dev/null)" ] || status=1 # run the newest crash-* of found for its symbols
    done
    if [ "$status" -eq 0 ]; then
        find "$found" -name 'crash-*' -delete -o -name 'oom-*' -delete # of children, whose reports went
        echo "fuzz_$name: $units inputs in $used seconds of one processor, no finding"
    else
        tail -25 "build/fuzz/$name.run"
        head -40 "$found"/report.* 2>/dev/null || true
        echo "fuzz_$name: $units inputs in $used seconds of one processor, a finding in $found"
        failed=1
    fi
    if [ $merge = yes ]; then
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "build/fuzz/bin/fuzz_$name" -merge=1 "$seeds" "$new" >/dev/null 2>&1
    fi
done
exit $failed
