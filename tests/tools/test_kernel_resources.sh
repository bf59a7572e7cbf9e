#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/kernel-resources.sh: this build's kernels do not spill, and one that does is found.
set -euo pipefail
cd "$GNT_SOURCE_DIR"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cuda"
log() { # SPILLED
    cat <<EOF
ptxas info    : Compiling entry function '_Z4sumsi' for 'sm_90'
ptxas info    : Function properties for _Z4sumsi
    16 bytes stack frame, $1 bytes spill stores, $1 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem, 400 bytes cmem[0]
EOF
}
log 0 >"$work/cuda/sums.o.ptxas"
tools/kernel-resources.sh "$work" -o "$work/table" 2>/dev/null || { echo "FAILED: a kernel without spills is refused"; exit 1; }
grep -qP '^40\t0\t1024\t16\tsm_90\tok\tsums\t' "$work/table" || { echo "FAILED: wrong table:"; cat "$work/table"; exit 1; }
log 8 >"$work/cuda/sums.o.ptxas"
if tools/kernel-resources.sh "$work" -o "$work/table" 2>/dev/null; then
    echo "FAILED: a kernel that spills is not found"
    exit 1
fi
grep -qP '^40\t16\t.*SPILLS' "$work/table" || { echo "FAILED: wrong table:"; cat "$work/table"; exit 1; }
if ! ls "$GNT_BINARY_DIR"/cuda/*.ptxas >/dev/null 2>&1; then
    echo "SKIPPED: no kernels were compiled by nvcc here"
    exit 77
fi
tools/kernel-resources.sh "$GNT_BINARY_DIR" -o "$work/table" || { grep SPILLS "$work/table"; echo "FAILED: kernels spill"; exit 1; }
echo "kernel resources: as expected"
