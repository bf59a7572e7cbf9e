#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the assembler says of the CUDA kernels of a build: registers, spilled bytes, shared memory and stack, a line a kernel and
# architecture, the most registers first. Exit 1 when a hot kernel spills; all are hot but those that COLD lists, each with its
# reason.
#
#   tools/kernel-resources.sh [BUILD] [-o FILE]        (default build/dev; FILE gets the table, else stdout)
set -euo pipefail
cd "$(dirname "$0")/.."

COLD='' # words of names, separated by |, of kernels that run once a binding and may spill
build=build/dev out=/dev/stdout
while [ $# -gt 0 ]; do
    case $1 in
    -o)
        out=${2:?usage: tools/kernel-resources.sh [BUILD] [-o FILE]}
        shift
        ;;
    *) build=$1 ;;
    esac
    shift
done
shopt -s nullglob
logs=("$build"/cuda/*.ptxas)
if [ ${#logs[@]} -eq 0 ]; then
    echo "no kernels were compiled in '$build': nvcc was missing, or the build has sanitizers" >&2
    exit 2
fi

table=$(awk -v cold="$COLD" '
    FNR == 1 { file = FILENAME; sub(/.*\//, "", file); sub(/\.o\.ptxas$/, "", file) }
    /Compiling entry function/ { split($0, part, "\047"); name = part[2]; arch = part[4] }
    /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
    /Used [0-9]+ registers/ {
        registers = shared = 0
        for (i = 1; i < NF; i++) {
            if ($(i + 1) ~ /^registers/) registers = $i
            if ($i == "bytes" && $(i + 1) ~ /^smem/) shared = $(i - 1)
        }
        spill = stores + loads
        state = spill == 0 ? "ok" : cold != "" && name ~ cold ? "cold" : "SPILLS"
        printf "%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\n", registers, spill, shared, stack, arch, state, file, name
    }' "${logs[@]}" | { command -v c++filt >/dev/null && c++filt || cat; } | LC_ALL=C sort -t $'\t' -k1,1nr -k8,8)
{
    printf 'registers\tspilled\tshared\tstack\tarchitecture\tstate\tfile\tkernel\n'
    printf '%s\n' "$table"
} >"$out"
spills=$(grep -c $'\tSPILLS\t' <<<"$table" || true)
echo "kernels: $(wc -l <<<"$table"), at most $(cut -f1 <<<"$table" | head -1) registers, $spills spill" >&2
[ "$spills" -eq 0 ]
