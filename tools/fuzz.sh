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

failed=0
for target in "${targets[@]}"; do
    name=${target#fuzz_}
    found=build/fuzz/findings/$name new=build/fuzz/corpus/$name seeds=tests/fuzz/corpus/$name
    mkdir -p "$found" "$new"
    echo "== fuzz_$name, $seconds seconds"
    # Leaks are looked for by the brutal tests: here the allocation hooks of HDF5 would be reported again and again.
    if UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "build/fuzz/bin/fuzz_$name" -max_total_time="$seconds" \
        -rss_limit_mb=4096 -malloc_limit_mb=2048 -timeout=20 -max_len=65536 -artifact_prefix="$found/" -print_final_stats=1 \
        "$new" "$seeds" >"build/fuzz/$name.log" 2>&1; then
        grep -E 'stat::number_of_executed_units|stat::new_units_added' "build/fuzz/$name.log"
    else
        tail -25 "build/fuzz/$name.log"
        failed=1
    fi
    if [ $merge = yes ]; then
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 "build/fuzz/bin/fuzz_$name" -merge=1 "$seeds" "$new" >/dev/null 2>&1
    fi
done
exit $failed
