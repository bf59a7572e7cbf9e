#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# Devices in a plug-in, here its build on a stand-in of driver and libraries: listed, examined, trained on, mixed with the
# processor; nothing of it is opened where nobody asks for it.
. "$(dirname "$0")/support.sh"

plugin=$GNT_BINARY_DIR/lib/hostcuda/libgnntrain-cuda.so
[ -e "$plugin" ] || { echo "SKIPPED: no CUDA plug-in on the stand-in: the CUDA headers or a C++ compiler were missing when this was built"; exit 77; }

run 0 generate csbm --nodes 300 --seed 3 -q -o a.h5
gcn=(train a.h5 --model 'gcn:8:dropout=0.5, linear' --epochs 8 --seed 2 -q)

# without the folder there is no such device on a machine without a driver
if [ ! -e /dev/nvidia0 ]; then
    run 2 "${gcn[@]}" --devices cuda:0 --run none
    err_has "backend 'cuda' cannot be used" "no driver"
fi
export GNNTRAIN_PLUGIN_DIR=${plugin%/*} HOSTCUDA_DEVICES=64M,32M
run 0 devices --json
json '[d["backend"] for d in x["devices"]] == ["cpu", "cuda", "cuda"] and x["devices"][2]["total_bytes"] == 32 << 20'
json 'x["plugins"][0]["usable"] and x["plugins"][0]["driver"] and x["plugins"][0]["collectives"]'
run 0 doctor --json
json 'any(c["name"] == "cuda" and c["state"] == "ok" and "runtime" in c["text"] for c in x["checks"])'

# a device that fails is no bug of ours; a file that is no plug-in is told, and the processor is there
HOSTCUDA_FAIL=lost:0:1 run 5 doctor
out_has "gone or held by another program"

# whenever it is lost, the text says which rank, host, device and op; the folder and stderr have the first text, not that of what fails
# while things are freed
for at in 3 21 80 200 400; do
    HOSTCUDA_FAIL=lost:0:$at run 5 train a.h5 --model 'gcn:8, gcn' --epochs 200 --eval-every 20 -q --devices cuda:0 --run "lost-$at"
    err_has "rank 0 of 1 on host '$(uname -n)': cuda device 0 stopped working" "the last op queued was"
    err_lacks " from e;" # the call, not the variable that kept its result
    [ ! -e "lost-$at/summary.json" ] || "$GNT_PYTHON" - "lost-$at/summary.json" err <<'P' || fail "another text in the folder"
import json, sys
assert "error: " + json.load(open(sys.argv[1]))["message"] == open(sys.argv[2]).read().strip()
P
    HOSTCUDA_FAIL=lost:1:$at run 5 train a.h5 --model 'gcn:8, gcn' --epochs 200 --eval-every 20 -q --devices cuda:0-1 --run "two-$at"
    err_has "rank 1 of 2 on host '$(uname -n)'" "cuda device 1 stopped working" "the last op queued was"
    err_lacks " from e;" # the call, not the variable that kept its result
done
[ -e lost-400/summary.json ] || fail "no run got as far as its folder"
mkdir junk
echo junk >junk/libgnntrain-cuda.so
GNNTRAIN_PLUGIN_DIR=junk run 0 devices --json
json 'not x["plugins"][0]["usable"] and "cannot open" in x["plugins"][0]["problem"]'
GNNTRAIN_PLUGIN_DIR=junk run 0 "${gcn[@]}" --run processor
err_has "devices of 'cuda' are not used" "junk/libgnntrain-cuda.so"
[ "$(grep -c "are not used" err)" -eq 1 ] || fail "told more than once"

# one of an older build of this release is refused, and nothing of it is looked at but its version
GNNTRAIN_PLUGIN_DIR=$GNT_BINARY_DIR/lib/stale run 0 devices --json
json 'not x["plugins"][0]["usable"] and "(interfaces 0000000000000000)" in x["plugins"][0]["problem"]'
GNNTRAIN_PLUGIN_DIR=$GNT_BINARY_DIR/lib/stale run 2 "${gcn[@]}" --devices cuda:0 --run stale
err_has "lib/stale/libgnntrain-cuda.so" "was built for version" "(interfaces 0000000000000000)" "build it again"

# which way sparse products go is measured once and kept: with the user, with the run, and told; sparse features have weights
awk 'BEGIN { for (i = 0; i < 300; i++) { line = i % 3
    for (j = 1 + i % 4; j <= 40; j += 1 + (i * 7 + j) % 9) line = line " " j ":" (1 + (i * j) % 13) / 8
    print line } }' >wide.svm
awk 'BEGIN { for (i = 0; i < 300; i++) print i, (i * 17 + 5) % 300; }' >wide.txt
run 0 import wide.txt --num-nodes 300 --features wide.svm -q -o wide.h5
run 0 split wide.h5 --kind stratified --seed 1 -q -o wide.h5
export XDG_CACHE_HOME=$PWD/cache
HOSTCUDA_SECONDS=rows_kernel=1e-5,cusparseSpMM_csr_alg3=1e-7 run 0 train wide.h5 --model 'linear:32, linear' --epochs 4 --checkpoint-every 2 -q --devices cuda:0 --run kept
grep -q csr_alg3 cache/gnntrain/choices.json || fail "no choice is kept"
HOSTCUDA_SECONDS=rows_kernel=1e-9 run 0 explain wide.h5 --model 'linear:32, linear' --devices cuda:0
out_has "choice spmm:" "csr_alg3 (stored: own 10 us, csr_alg3 0.1 us)"
run 0 explain a.h5 --model 'gcn:8, linear' --devices cuda:0
out_has "own (rule: cuSPARSE does not take it: no weights)"
run 0 devices --json
json 'x["choices"] and all(c["key"].startswith("spmm:") and c["choice"] == "csr_alg3" for c in x["choices"])'
n=0
for text in '' '{"format": "gnntrain-choices"' '[]'; do
    echo "$text" >cache/gnntrain/choices.json
    HOSTCUDA_SECONDS=rows_kernel=1e-9 run 0 train wide.h5 --model 'linear:32, linear' --epochs 4 --checkpoint-every 2 -q --devices cuda:0 --run "damaged$((n += 1))"
    err_has "choices.json' are not read and are measured anew"
    grep -q '"own"' cache/gnntrain/choices.json || fail "a damaged file was not written anew"
done
# a run that goes on takes what it had, whatever the file says since
HOSTCUDA_SECONDS=rows_kernel=1e-9 run 0 train wide.h5 --model 'linear:32, linear' --epochs 8 --checkpoint-every 2 -q --devices cuda:0 --run kept
HOSTCUDA_SECONDS=rows_kernel=1e-5,cusparseSpMM_csr_alg3=1e-7 XDG_CACHE_HOME=$PWD/other run 0 train wide.h5 --model 'linear:32, linear' --epochs 8 --checkpoint-every 2 -q --devices cuda:0 --run whole
cmp <(grep -o '"train_loss": [^,]*' kept/metrics.jsonl) <(grep -o '"train_loss": [^,]*' whole/metrics.jsonl) || fail "a resumed run chose otherwise"

# a version asks for nothing, neither do verbs that compute nothing
if command -v strace >/dev/null; then
    for verb in --version 'info a.h5'; do
        # shellcheck disable=SC2086 # words
        strace -f -e trace=openat,open -o trace.txt "$GNNTRAIN" $verb >/dev/null
        ! grep -q gnntrain-cuda trace.txt || fail "'$verb' opens the plug-in"
    done
fi

# one device: the curve of the processor; several, by numbers and mixed
run 0 "${gcn[@]}" --devices cpu --run cpu
run 0 "${gcn[@]}" --devices cuda:0 --run one
run 0 "${gcn[@]}" --devices cuda:0 --no-pass capture --run plain
run 0 "${gcn[@]}" --devices cuda:1,mem=16M --run limited
same_curve() { # RUN OTHER BOUND
    "$GNT_PYTHON" - "$1" "$2" "$3" <<'EOF' || fail "the curves of $1 and $2 differ"
import json, sys
a, b = ([json.loads(l)["train_loss"] for l in open(f"{r}/metrics.jsonl")] for r in sys.argv[1:3])
assert len(a) == len(b) == 8, (a, b)
assert all(abs(x - y) <= float(sys.argv[3]) * abs(y) for x, y in zip(a, b)), (a, b)
EOF
}
same_curve one cpu 1e-5
same_curve one plain 0
same_curve limited one 0

# a layer of one's own
gin=$GNT_BINARY_DIR/lib/libgin.so
if [ -e "$gin" ]; then
    own=(train a.h5 --plugin "$gin" --model 'gin:8:eps=0.1, gin:8, linear' --epochs 8 --seed 2 -q)
    run 0 "${own[@]}" --devices cpu --run gin-cpu
    run 0 "${own[@]}" --devices cuda:0 --run gin-one
    run 0 "${own[@]}" --devices 'cuda:0-1' --run gin-two
    same_curve gin-one gin-cpu 1e-5
    same_curve gin-two gin-cpu 1e-5
fi

# a mix over MPI processes, each with the device of its rank
if command -v mpirun >/dev/null && [ -e "$GNT_BINARY_DIR/lib/libgnntrain-mpi.so" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    timeout 120 mpirun -n 2 "$GNNTRAIN" "${gcn[@]}" --devices 'cuda:0;cpu' --chunks 4 --run over-mpi >out 2>err ||
        fail "mpirun of a mix answers $?: $(cat err)"
    same_curve over-mpi cpu 1e-5
fi

# one device that is named is estimated as such
run 0 estimate a.h5 --model 'gcn:8, linear' --devices cuda:0,mem=4K --json
json 'x["devices"][0]["limit_bytes"] == 4096 and not x["fits"] and "assumed" not in x'
# its own memory is not the process', and is its limit
run 0 estimate a.h5 --model 'gcn:8, linear' --devices cuda:1 --json
json 'x["total_bytes"] == x["process_bytes"] + x["devices"][0]["host_bytes"] and x["devices"][0]["device_bytes"] > 0'
json 'x["devices"][0]["limit_bytes"] == 32 << 20 and x["devices"][0]["fits"] and x["fits"]'
run 0 estimate a.h5 --model 'gcn:8, linear' --json # without a name the first one is meant, as train has it
json 'x["devices"][0]["limit_bytes"] == 64 << 20'
run 0 estimate a.h5 --model 'gcn:8, linear' --devices cpu --json
json 'x["total_bytes"] > x["parts"]["process_bytes"] + x["parts"]["workspace_bytes"]'

# explain tells capture as training has it
for words in '--devices cuda:0|fired * ops are one launch' '--devices cuda:0-1|fired * ops are one launch' \
    '--devices cuda:0;cpu|nothing to do rows or sums go through the host' '--devices cpu|nothing to do the device runs op by op' \
    '--devices cuda:0 --source clusters --clusters 4|nothing to do each step is bound to another batch' \
    '--devices cuda:0 --no-pass capture|off*'; do
    # shellcheck disable=SC2086 # words
    run 0 explain a.h5 --model 'gcn:8, linear' ${words%|*}
    # shellcheck disable=SC2053 # a pattern
    [[ $(sed -n 's/^pass capture *//p' out | tr -s ' ') == ${words#*|} ]] || fail "explain ${words%|*}: $(grep 'pass capture' out)"
done

# predictions on a device that is named, of an ensemble's folder on several
run 0 predict one -o p.csv --what probabilities
for devices in cuda:1 cpu 'cuda:0,mem=16M'; do
    run 0 predict one -o q.csv --what probabilities --devices "$devices"
    paste -d, p.csv q.csv | awk -F, 'NR > 1 { for (i = 2; i <= NF / 2; i++) if (($i - $(i + NF / 2)) ^ 2 > 1e-10) exit 1 }' ||
        fail "other predictions on $devices"
done
run 0 eval one --devices cuda:1
run 2 predict one -o none.csv --devices cuda:0-1
err_has "one model"
run 2 predict one -o none.csv --devices cuda:7
err_has "device 7 does not exist"
cat >spec.yaml <<'Y'
seed: 1
count: 2
train: { epochs: 3 }
vary: [{ key: model, values: ["gcn:8, gcn", "sage:8, sage"] }]
Y
run 0 ensemble train spec.yaml a.h5 --run e --devices cpu -q
run 0 predict e -o p.csv --what probabilities --devices cpu
run 0 predict e -o q.csv --what probabilities --devices 'cuda:0-1' --json
json 'sum(d["rows"] for d in x["devices"]) == 300 * len(x["used"])'
paste -d, p.csv q.csv | awk -F, 'NR > 1 { for (i = 2; i < NF / 2 - 1; i++) if (($i - $(i + NF / 2)) ^ 2 > 1e-10) exit 1 }' ||
    fail "other predictions of an ensemble on the stand-in"

run 2 estimate a.h5 --model 'gcn:8, linear' --devices cuda:7
err_has "device 7 does not exist"

# what is refused
run 2 "${gcn[@]}" --devices cuda:3-1 --run no
err_has "neither a device's number nor a range"
run 2 "${gcn[@]}" --devices cuda:0,speed=0.5 --run no
err_has "mem alone goes with its number"
run 2 "${gcn[@]}" --devices cuda:0,threads=2 --run no
err_has "threads are of the processor alone"
run 2 "${gcn[@]}" --devices cuda:7 --run no
err_has "device 7 does not exist" "there are 2"
run 4 "${gcn[@]}" --devices cuda:0,mem=20K --run no
echo "device plug-in: all as expected"
