#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What only a machine with a GPU can tell: one prepared script for a machine that has a driver and CUDA's runtime libraries, and
# neither compiler nor packages.
#
#   tools/gpu-check.sh pack [FOLDER]     where the toolkit is: release build; command, libraries, tests, benchmarks into FOLDER
#                                        (default gpu-check) and FOLDER.tar.gz
#   gpu-check.sh [PART...]               there, or in the tree: all parts, or those named, each in under four minutes:
#                                        facts tests sanitizer train spmm large multi; large is graphs, large-arxiv, large-reddit,
#                                        large-products, large-rmat22 one after the other
#
# A part that lacks something says "skipped: WHY". Code 1 when a part failed, else 0. Where there is a GPU a record is written to
# docs/records in the tree, records/ in a pack.
#   GPU_CHECK_BUILD  the build to pack or to use in the tree (build/release; pack builds that one alone)
#   GPU_CHECK_SMALL  yes: graphs of some hundred nodes, to try the script itself (with GNNTRAIN_PLUGIN_DIR and the stand-in)
#   GPU_CHECK_WORK   folder for graphs and runs, kept; default: a temporary one
# shellcheck disable=SC2317 # the parts are called by name
set -uo pipefail

self=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
here=${self%/*}
small=${GPU_CHECK_SMALL:-no}
LIMIT=235 # seconds a part
GLIBC='^(ld-linux|libc|libm|libmvec|libdl|librt|libpthread|libresolv|libutil|libanl|libnss)[-._]'
CUDA='^lib(cuda|cudart|cublas|cublasLt|cusparse|nvJitLink|nccl)[.]'

if [ -d "$here/bin" ]; then
    bin=$here/bin records=$here/records
    export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
    build=${GPU_CHECK_BUILD:-$here/../build/release}
    bin=$build/bin records=$here/../docs/records
fi
gnntrain=$bin/gnntrain

# ---- packing ------------------------------------------------------------------------------------------------------------

libraries_of() { # FILE...: "name path" of what they load and is neither glibc's nor CUDA's
    ldd "$@" 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u | grep -vE "$GLIBC" | grep -vE "$CUDA"
}

pack() {
    local out=${1:-gpu-check} from name path
    cd "$here/.." || exit 1
    if [ -z "${GPU_CHECK_BUILD:-}" ]; then
        cmake --preset release >/dev/null && cmake --build --preset release --target gnntrain-cli gnntrain-cuda part-metis \
            gpu_ops gpu_attend gpu_program gpu_ranks bench_spmm bench_cusparse || exit 1
    fi
    from=${GPU_CHECK_BUILD:-build/release}
    [ -e "$from/lib/libgnntrain-cuda.so" ] ||
        { echo "there is no CUDA plug-in in '$from': nvcc or CUDA's libraries are missing here" >&2; exit 1; }
    [ ! -e "$out" ] || { echo "'$out' exists: remove it, or name another folder" >&2; exit 1; }
    mkdir -p "$out/bin" "$out/lib" "$out/libexec/gnntrain"
    cp "$self" "$out/gpu-check.sh"
    cp "$from/bin/gnntrain" "$from"/bin/gpu_* "$from"/bin/bench_spmm "$from"/bin/bench_cusparse "$out/bin/" || exit 1
    cp "$from/libexec/gnntrain/part-metis" "$out/libexec/gnntrain/"
    cp "$from"/lib/libgnntrain.so.0 "$from"/lib/libgnntrain-cuda.so "$out/lib/"
    while read -r name path; do
        [ -e "$out/lib/$name" ] || cp -L "$path" "$out/lib/$name"
    done < <(libraries_of "$out"/bin/* "$out"/lib/*.so* "$out"/libexec/gnntrain/*)
    if LD_LIBRARY_PATH=$(realpath "$out/lib") libraries_of "$out"/bin/* "$out"/lib/*.so* "$out"/libexec/gnntrain/* | grep -vF " $(realpath "$out/lib")/"; then
        echo "these libraries are not in the pack" >&2
        exit 1
    fi
    ldd "$out/lib/libgnntrain-cuda.so" | awk '{ print $1 }' | grep -E "$CUDA" | sort -u >"$out/cuda-libraries"
    strip --strip-debug "$out"/bin/* "$out"/lib/* "$out"/libexec/gnntrain/* 2>/dev/null
    { git describe --always --dirty 2>/dev/null || echo unknown; ldd --version | head -1; } >"$out/built-from"
    tar -czf "$out.tar.gz" -C "$(dirname "$out")" "$(basename "$out")" || exit 1
    echo "$out.tar.gz: $(($(stat -c %s "$out.tar.gz") / 1000000)) MB; there: tar -xzf, ./gpu-check.sh"
}

# ---- what is there ------------------------------------------------------------------------------------------------------

# Puts the folders of CUDA's libraries that the plug-in wants into the loader's path; names what is nowhere.
find_cuda() {
    local name folder found missing='' folders
    [ -z "${GNNTRAIN_PLUGIN_DIR:-}" ] || return 0
    folders=$({ ls -d /usr/local/cuda*/lib64 /usr/local/cuda*/targets/*/lib
        find /usr/lib /usr/local /opt "${HOME:-/nowhere}" -maxdepth 8 -type d -path '*-packages/nvidia/*/lib'; } 2>/dev/null)
    while read -r name; do
        ldconfig -p 2>/dev/null | grep -F " $name " >/dev/null && continue
        found=''
        for folder in ${LD_LIBRARY_PATH//:/ } $folders; do
            [ -e "$folder/$name" ] && found=$folder && break
        done
        if [ -n "$found" ]; then
            case ":${LD_LIBRARY_PATH:-}:" in *":$found:"*) ;; *) export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$found ;; esac
        else
            missing+=" $name"
        fi
    done < <(cat "$here/cuda-libraries" 2>/dev/null)
    missing_libraries=${missing# }
}

count_gpus() { "$gnntrain" devices --json 2>/dev/null | grep -c '"kind": "gpu"'; }
skip() { echo "skipped: $*"; exit 77; }
need_gpu() { [ "$(count_gpus)" -ge 1 ] || skip "no GPU${missing_libraries:+, and these libraries are nowhere: $missing_libraries}"; }
say() { echo "$*"; }
fail() { echo "FAILED: $*"; exit 1; }

number_of() { grep -oE "\"$2\": *[-+0-9.eE]+" "$1" | head -1 | sed 's/.*: *//'; } # FILE KEY

generate() { # NAME KIND OPTIONS: once
    [ -e "$work/$1.h5" ] || "$gnntrain" generate "$2" "${@:3}" -q -o "$work/$1.h5" >/dev/null || fail "generate $*"
}

train() { # RUN GRAPH MODEL DEVICES EPOCHS OPTIONS
    rm -rf "${work:?}/$1"
    "$gnntrain" train "$work/$2.h5" --model "$3" --devices "$4" --epochs "$5" --seed 7 --run "$work/$1" -q "${@:6}" >"$work/$1.out" 2>&1 ||
        { cat "$work/$1.out"; fail "training $1"; }
}

same_losses() { # RUN OTHER BOUND
    paste <(grep -oE '"train_loss": *[^,}]*' "$work/$1/metrics.jsonl") <(grep -oE '"train_loss": *[^,}]*' "$work/$2/metrics.jsonl") |
        awk -F '[:\t]' -v bound="$3" -v a="$1" -v b="$2" '
            { d = $2 - $4; d = (d < 0 ? -d : d) / ($4 == 0 ? 1 : $4); if (!(d <= worst)) worst = d; if ($2 != $2 + 0 && $2 !~ /[0-9]/) bad = 1 }
            END { printf "%s, %s: %d losses, farthest %.2g apart (bound %s)\n", a, b, NR, worst, bound
                  exit bad || NR == 0 || !(worst <= bound) }' || fail "the losses of $1 and $2 differ"
}

ops_alone() { # GRAPH MODEL: seconds of a step's ops, each with a wait behind it
    "$gnntrain" explain "$work/$1.h5" --model "$2" --devices cuda:0 --json 2>/dev/null | awk '/"measured_seconds"/ { s += $2 } END { print s; exit !s }'
}
epoch_seconds() { number_of "$work/$1/summary.json" epoch_seconds_median; }

# ---- the parts ----------------------------------------------------------------------------------------------------------

part_facts() {
    say "built from: $(cat "$here/built-from" 2>/dev/null || git -C "$here" describe --always --dirty 2>/dev/null)"
    say "machine: $(uname -srm), $(nproc) cores, $(ldd --version 2>&1 | head -1)"
    [ -z "${missing_libraries:-}" ] || say "libraries that are nowhere: $missing_libraries"
    need_gpu
    command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=index,name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,ecc.mode.current --format=csv
    command -v nvidia-smi >/dev/null && [ "$(count_gpus)" -gt 1 ] && nvidia-smi topo -m
    "$gnntrain" devices
    "$gnntrain" doctor | grep -E 'cuda|cores|memory'
}

part_tests() {
    local program failed='' programs='gpu_*'
    need_gpu
    [ "$small" = no ] || programs=gpu_program # others take minutes on the stand-in
    for program in "$bin"/$programs; do
        [ -x "$program" ] || fail "there is no ${program##*/} beside the command: it was built without tests"
        say "${program##*/}"
        "$program" >"$work/test.out" 2>&1
        case $? in
        0) grep -E 'PASSED|SKIPPED' "$work/test.out" ;;
        77) say "  skipped: it found no device" ;;
        *) grep -vE '^\[ +(RUN|OK) ' "$work/test.out" | tail -40; failed+=" ${program##*/}" ;;
        esac
    done
    [ -z "$failed" ] || fail "programs:$failed"
}

sanitize() { # COMPUTE-SANITIZER TOOL PROGRAM
    timeout 75 "$1" --tool "$2" --error-exitcode 9 "$bin/$3" 2>&1 | tail -12
    local code=${PIPESTATUS[0]}
    [ "$code" -ne 124 ] || { say "$2 of $3: stopped after 75 s, nothing found until then"; return 0; }
    [ "$code" -eq 0 ] || fail "$2 of $3"
}

part_sanitizer() {
    local tool=''
    need_gpu
    for tool in "$(command -v compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer; do [ -x "$tool" ] && break; done
    [ -x "$tool" ] || skip "no compute-sanitizer"
    sanitize "$tool" memcheck gpu_program
    sanitize "$tool" memcheck gpu_ops
    sanitize "$tool" racecheck gpu_attend
}

part_train() {
    local nodes=2708 features=1433 epochs=200 members='1 8 32' bound=1e-3 name model alone m
    need_gpu
    [ "$small" = no ] || nodes=150 features=16 epochs=5 members='1 2' bound=1e-5
    generate cora csbm --nodes "$nodes" --degree 3.9 --features "$features" --classes 7 --seed 1
    for name in gcn sage gat; do
        case $name in gcn) model='gcn:16:dropout=0.5, gcn' ;; sage) model='sage:16, linear' ;; *) model='gat:8:heads=2, linear' ;; esac
        train "cora-$name-cpu" cora "$model" cpu "$epochs"
        train "cora-$name-gpu" cora "$model" cuda:0 "$epochs"
        same_losses "cora-$name-gpu" "cora-$name-cpu" "$bound"
        train "cora-$name-plain" cora "$model" cuda:0 "$epochs" --no-pass capture
        same_losses "cora-$name-plain" "cora-$name-gpu" 0
        alone=$(ops_alone cora "$model") || fail "explain $name"
        awk -v n="$name" -v e="$(epoch_seconds "cora-$name-gpu")" -v p="$(epoch_seconds "cora-$name-plain")" -v a="$alone" 'BEGIN {
            printf "%s: captured epoch %.1f us, op by op %.1f us; ops alone, with a wait each, %.1f us: %.2f (goal 2.0)\n", n, 1e6 * e, 1e6 * p, 1e6 * a, e / a }'
    done
    for m in $members; do
        train "cora-m$m" cora 'gcn:16, gcn' cuda:0 "$epochs" --seeds "$m"
        awk -v m="$m" -v e="$(epoch_seconds "cora-m$m")" -v o="$(epoch_seconds cora-m1)" 'BEGIN {
            printf "M = %d: %.1f us an epoch, %.2f of M runs of one\n", m, 1e6 * e, e / (o * m) }'
    done
}

part_spmm() {
    local scale=20 widths='16 32 64 128 256' repeats=20 cusparse=$bin/bench_cusparse width
    need_gpu
    [ "$small" = no ] || scale=7 widths='16 32' repeats=2
    [ -z "${GNNTRAIN_PLUGIN_DIR:-}" ] || cusparse=$bin/bench_cusparse_standin
    generate rmat rmat --scale "$scale" --seed 1
    for width in $widths; do printf '%s %s plain\n%s %s sym\n%s %s copy\n' "$width" "$repeats" "$width" "$repeats" "$width" "$repeats"; done |
        "$bin/bench_spmm" "$work/rmat.h5" --device cuda >"$work/ours.jsonl" || fail "our product"
    say "ours; model_gbs: bytes of m (4 + 4 width) + 8 n width, each neighbour row read once an arc, over seconds" && cat "$work/ours.jsonl"
    : >"$work/theirs.jsonl"
    if [ -x "$cusparse" ]; then
        for width in $widths; do echo "$width $repeats"; done | "$cusparse" "$work/rmat.h5" >"$work/theirs.jsonl" || fail "cuSPARSE's product"
        say "cuSPARSE, values of 1, by algorithm" && cat "$work/theirs.jsonl"
    else
        say "skipped: cuSPARSE's algorithms: ${cusparse##*/} was not built"
    fi
    for width in $widths; do
        awk -v w="$width" '
            function value(key) { match($0, "\"" key "\": [0-9.eE+-]+"); return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) + 0 }
            value("width") != w { next }
            /"plain"/ { ours = value("seconds"); gbs = value("model_gbs") }
            /"copy"/ { copy = value("gbs") }
            /"algorithm"/ { s = value("seconds"); if (best == 0 || s < best) best = s }
            END { printf "width %d: %.0f GB/s by the model, %.2f of the copy (goal at 128: 0.60)", w, gbs, gbs / copy
                  if (best) printf "; cuSPARSE best / ours %.2f (goal 1.00)", best / ours
                  print "" }' "$work/ours.jsonl" "$work/theirs.jsonl"
    done
}

make_large() { # NAME
    local options='--nodes 200 --features 8 --classes 4'
    if [ "$small" = no ]; then
        case $1 in
        arxiv) options='--nodes 169343 --degree 13.8 --features 128 --classes 40' ;;
        reddit) options='--nodes 232965 --degree 506 --features 602 --classes 41' ;;
        products) options='--nodes 2449029 --degree 50.6 --features 100 --classes 47' ;;
        rmat22) generate rmat22 rmat --scale 22 --features 32 --classes 16 --seed 1 && return ;;
        esac
    fi
    # shellcheck disable=SC2086 # words
    generate "$1" csbm $options --seed 1
}

# Each takes one core a minute and more, so that they are made side by side, in a part of their own.
part_graphs() {
    local name pid made=()
    need_gpu
    [ "$(nproc)" -ge 4 ] || skip "$(nproc) cores: each of the large parts makes its own graph"
    for name in arxiv reddit products rmat22; do
        make_large "$name" &
        made+=("$!")
    done
    for pid in "${made[@]}"; do wait "$pid" || fail "a graph"; done
    for name in arxiv reddit products rmat22; do say "$name: $(($(stat -c %s "$work/$name.h5") / 1000000)) MB"; done
}

large() { # NAME
    local name=$1 alone
    need_gpu
    make_large "$name"
    train "$name" "$name" 'gcn:128, gcn' cuda:0 "$([ "$small" = no ] && echo 10 || echo 3)" --eval-every 100
    alone=$(ops_alone "$name" 'gcn:128, gcn') || fail "explain $name"
    awk -v n="$name" -v e="$(epoch_seconds "$name")" -v a="$alone" -v b="$(number_of "$work/$name/summary.json" peak_bytes)" 'BEGIN {
        printf "%s: epoch %.3f ms, ops alone %.3f ms: %.2f (goal 1.15); host peak %.2f GiB\n", n, 1e3 * e, 1e3 * a, e / a, b / 2^30 }'
    [ -n "${GPU_CHECK_WORK:-}" ] || rm -f "$work/$name.h5"
}
part_large-arxiv() { large arxiv; }
part_large-reddit() { large reddit; }
part_large-products() { large products; }
part_large-rmat22() { large rmat22; }

part_multi() {
    local count nodes=20000 epochs=20 bound=1e-3 p
    count=$(count_gpus)
    [ "$count" -ge 2 ] || skip "$([ "$count" = 1 ] && echo 'one GPU only' || echo 'no GPU')"
    [ "$small" = no ] || nodes=300 epochs=4 bound=1e-5
    generate multi csbm --nodes "$nodes" --features 32 --classes 8 --seed 1
    train multi-1 multi 'gcn:32:dropout=0.5, sage:16, linear' cuda:0 "$epochs"
    for ((p = 2; p <= count && p <= 8; p *= 2)); do
        train "multi-$p" multi 'gcn:32:dropout=0.5, sage:16, linear' "cuda:0-$((p - 1))" "$epochs"
        same_losses "multi-$p" multi-1 "$bound"
        say "$p GPUs: $(epoch_seconds "multi-$p") s an epoch, one: $(epoch_seconds multi-1) s"
    done
    train multi-mix multi 'gcn:32:dropout=0.5, sage:16, linear' 'cuda:0;cpu' "$epochs"
    same_losses multi-mix multi-1 "$bound"
}

# ---- running ------------------------------------------------------------------------------------------------------------

main() {
    local parts=() part log status failed=0 name record=''
    for part in "${@:-all}"; do
        case $part in
        all) parts+=(facts tests sanitizer train spmm graphs large-arxiv large-reddit large-products large-rmat22 multi) ;;
        large) parts+=(graphs large-arxiv large-reddit large-products large-rmat22) ;;
        *) declare -F "part_$part" >/dev/null || { sed -n '6,10s/^# \{0,1\}//p' "$self" >&2; exit 2; }; parts+=("$part") ;;
        esac
    done
    [ -x "$gnntrain" ] || { echo "there is no '$gnntrain': build it, or unpack a pack" >&2; exit 2; }
    work=${GPU_CHECK_WORK:-$(mktemp -d)}
    mkdir -p "$work"
    [ -n "${GPU_CHECK_WORK:-}" ] || trap 'rm -rf "$work"' EXIT
    log=$work/log.md
    : >"$log"
    for part in "${parts[@]}"; do
        printf '\n## %s\n\n```\n' "$part" >>"$log"
        echo "== $part"
        GPU_CHECK_INSIDE=$part work=$work timeout -k 5 "$LIMIT" bash "$self" 2>&1 | tee -a "$log"
        status=${PIPESTATUS[0]}
        [ "$status" -ne 124 ] || echo "FAILED: over $LIMIT s" | tee -a "$log"
        [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || failed=1
        printf '```\n' >>"$log"
    done
    if [ "$(count_gpus)" -gt 0 ] && [ -z "${GNNTRAIN_PLUGIN_DIR:-}" ]; then # a stand-in is no record
        name=$("$gnntrain" devices --json | tr '{' '\n' | grep '"kind": "gpu"' | head -1 | sed 's/.*"name": "\([^"]*\)".*/\1/' | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9-')
        mkdir -p "$records" && record=$records/$(date +%F)-${name:-gpu}.md
        { echo "# GPU check, $(date +%F), ${name:-gpu}"; cat "$log"; } >"$record"
        echo "record: $record"
    fi
    exit "$failed"
}

[ "${1:-}" != pack ] || { pack "${@:2}"; exit; }
find_cuda
if [ -n "${GPU_CHECK_INSIDE:-}" ]; then
    "part_$GPU_CHECK_INSIDE"
    exit
fi
main "$@"
