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
for at in 3 60 100 200 400; do
    HOSTCUDA_FAIL=lost:0:$at run 5 train a.h5 --model 'gcn:8, gcn' --epochs 200 --eval-every 20 -q --devices cuda:0 --run "lost-$at"
    err_has "rank 0 of 1 on host '$(uname -n)': cuda device 0 stopped working" "the last op queued was"
    [ ! -e "lost-$at/summary.json" ] || "$GNT_PYTHON" - "lost-$at/summary.json" err <<'P' || fail "another text in the folder"
import json, sys
assert "error: " + json.load(open(sys.argv[1]))["message"] == open(sys.argv[2]).read().strip()
P
    HOSTCUDA_FAIL=lost:1:$at run 5 train a.h5 --model 'gcn:8, gcn' --epochs 200 --eval-every 20 -q --devices cuda:0-1 --run "two-$at"
    err_has "rank 1 of 2 on host '$(uname -n)'" "cuda device 1 stopped working" "the last op queued was"
done
[ -e lost-400/summary.json ] || fail "no run got as far as its folder"
mkdir junk
echo junk >junk/libgnntrain-cuda.so
GNNTRAIN_PLUGIN_DIR=junk run 0 devices --json
json 'not x["plugins"][0]["usable"] and "cannot open" in x["plugins"][0]["problem"]'

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
run 2 estimate a.h5 --model 'gcn:8, linear' --devices cuda:7
err_has "device 7 does not exist"

# what is refused
run 2 "${gcn[@]}" --devices cuda:3-1 --run no
err_has "neither a device's number nor a range"
run 2 "${gcn[@]}" --devices cuda:0,speed=0.5 --run no
err_has "mem alone goes with its number"
run 2 "${gcn[@]}" --devices cuda:7 --run no
err_has "device 7 does not exist" "there are 2"
run 4 "${gcn[@]}" --devices cuda:0,mem=20K --run no
echo "device plug-in: all as expected"
