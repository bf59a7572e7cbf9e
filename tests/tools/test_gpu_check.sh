#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium, cost: 13
# tools/gpu-check.sh: without a GPU every part says that it is skipped; on the stand-in its parts run, and find what is wrong.
set -euo pipefail
cd "$GNT_SOURCE_DIR"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GPU_CHECK_BUILD=$GNT_BINARY_DIR GPU_CHECK_SMALL=yes
fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}
check() { # CODE PART...
    local code=$1 got=0
    shift
    tools/gpu-check.sh "$@" >"$work/out" 2>&1 || got=$?
    [ "$got" -eq "$code" ] || fail "gpu-check.sh $* ends with code $got, $code was expected"
}
says() { grep -qE "$1" "$work/out" || fail "no line like '$1'"; }

check 2 no-such-part
says 'PART'
if [ ! -e /dev/nvidia0 ]; then
    check 0
    for part in facts tests sanitizer train spmm graphs large-arxiv large-reddit large-products large-rmat22 multi; do
        says "^== $part\$"
    done
    [ "$(grep -c '^skipped: no GPU' "$work/out")" -eq 11 ] || fail "11 parts are skipped without a GPU"
fi

# a pack looks for CUDA's libraries, in Python's packages too, and names what is nowhere
mkdir -p "$work/pack/bin" "$work/lib/python3/site-packages/nvidia/some/lib"
cp tools/gpu-check.sh "$work/pack/"
printf '#!/bin/sh\necho "{}"\n' >"$work/pack/bin/gnntrain"
chmod +x "$work/pack/bin/gnntrain"
touch "$work/lib/python3/site-packages/nvidia/some/lib/libthere.so.1"
printf 'libthere.so.1\nlibnowhere.so.9\n' >"$work/pack/cuda-libraries"
HOME=$work "$work/pack/gpu-check.sh" facts >"$work/out" 2>&1 || fail "a pack without a GPU fails"
says 'nowhere: libnowhere\.so\.9$'
says '^skipped: no GPU'

export GNNTRAIN_PLUGIN_DIR=$GNT_BINARY_DIR/lib/hostcuda HOSTCUDA_DEVICES=96M,96M
[ -e "$GNNTRAIN_PLUGIN_DIR/libgnntrain-cuda.so" ] || { echo "SKIPPED: no CUDA plug-in on the stand-in was built"; exit 77; }
check 0 facts train large-arxiv multi
says 'hostcuda 0'
says 'cora-gat-gpu, cora-gat-cpu: 5 losses'
says 'gcn: captured epoch'
says 'M = 2:'
says 'arxiv: epoch'
says 'multi-2, multi-1: 4 losses'
says 'multi-mix, multi-1: 4 losses'
mkdir "$work/many" # cores: graphs are made side by side, or each with its part
for cores in 16 2; do
    printf '#!/bin/sh\necho %s\n' "$cores" >"$work/many/nproc"
    chmod +x "$work/many/nproc"
    PATH=$work/many:$PATH check 0 graphs
    says "$([ "$cores" = 16 ] && echo '^products: 0 MB' || echo '^skipped: 2 cores')"
done
if [ -x "$GNT_BINARY_DIR/bin/bench_spmm" ]; then
    check 0 spmm
    says '"algorithm": "csr_alg3"'
    says '^width 32: .* of the copy .*cuSPARSE best / ours'
fi
mkdir "$work/tool" # memcheck finds nothing, then something
cat >"$work/tool/compute-sanitizer" <<'EOF'
#!/bin/sh
echo "checked $*"
exit "${FOUND:-0}"
EOF
chmod +x "$work/tool/compute-sanitizer"
PATH=$work/tool:$PATH check 0 sanitizer
says 'checked --tool memcheck .*gpu_ops'
says 'checked --tool racecheck .*gpu_attend'
PATH=$work/tool:$PATH FOUND=9 check 1 sanitizer
says '^FAILED: memcheck'
check 0 tests
says '^gpu_program'
says 'PASSED'

# one device, and a device that is lost
HOSTCUDA_DEVICES=96M check 0 multi
says '^skipped: one GPU only'
HOSTCUDA_FAIL=lost:0:40 check 1 train
says '^FAILED'
echo "gpu-check: as expected"
