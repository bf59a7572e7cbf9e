#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# timeout: 600
# MPI processes with devices of the stand-in: the processor's curve, the same bits from run to run, captured or not, as threads or as
# processes; mixed with the processor; each process with a view of one device alone. A rank that is killed or an error of the devices
# ends all with 5 and a text that says who, and the same line goes on.
. "$(dirname "$0")/support.sh"
. "$(dirname "$0")/../support/addresses.sh"

plugin=$GNT_BINARY_DIR/lib/hostcuda/libgnntrain-cuda.so
[ -e "$plugin" ] || { echo "SKIPPED: no CUDA plug-in on the stand-in"; exit 77; }
command -v mpirun >/dev/null && [ -e "$GNT_BINARY_DIR/lib/libgnntrain-mpi.so" ] || { echo "SKIPPED: no MPI"; exit 77; }
export GNNTRAIN_PLUGIN_DIR=${plugin%/*} HOSTCUDA_DEVICES=64M,64M,64M
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
export GNNTRAIN
host=$(uname -n)

run 0 generate csbm --nodes 300 --seed 3 -q -o a.h5
run 0 partition a.h5 --chunks 8 -o a.part.h5 -q
gcn=(train a.h5 --model 'gcn:8:dropout=0.5, gcn' --partition a.part.h5 --epochs 6 --seed 2 -q)
ranks() { # NUMBER CODE ARGUMENT...
    local n=$1 expected=$2 code=0
    shift 2
    timeout 120 mpirun -n "$n" "$GNNTRAIN" "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code -eq "$expected" ] || fail "exit code $code, expected $expected: mpirun -n $n gnntrain $*"
}
same_curve() { # RUN OTHER BOUND
    "$GNT_PYTHON" - "$1" "$2" "$3" <<'EOF' || fail "the curves of $1 and $2 differ"
import json, sys
a, b = ([json.loads(l) for l in open(f"{r}/metrics.jsonl")] for r in sys.argv[1:3])
bound = float(sys.argv[3])
assert len(a) == len(b) == 6, (a, b)
for x, y in zip(a, b):
    for key in ("train_loss", "valid_loss"):
        assert abs(x[key] - y[key]) <= bound * abs(y[key]), (key, x, y)
EOF
}

# processes, each with its device
run 0 "${gcn[@]}" --devices cpu --run cpu
ranks 3 0 "${gcn[@]}" --devices cuda --run three
same_curve three cpu 1e-5
HOSTCUDA_SEED=9 ranks 3 0 "${gcn[@]}" --devices cuda --run again # another order of streams
same_curve again three 0
ranks 3 0 "${gcn[@]}" --devices cuda --no-pass capture --run plain
same_curve plain three 0
run 0 "${gcn[@]}" --devices cuda:0-2 --run threads
same_curve threads three 0
ranks 2 0 "${gcn[@]}" --devices 'cuda:2;cuda:0' --run two
same_curve two cpu 1e-5

# groups and the processor; a rank between them reaches both
ranks 2 0 "${gcn[@]}" --devices 'cpu:threads=1;cuda' --run mix2
same_curve mix2 cpu 1e-5
ranks 3 0 "${gcn[@]}" --devices 'cuda;cpu:threads=1;cuda' --run mix3
same_curve mix3 cpu 1e-5
ranks 3 0 "${gcn[@]}" --devices 'cuda;cpu:threads=1;cuda' --run mix3again
same_curve mix3again mix3 0
ranks 4 0 "${gcn[@]}" --devices 'cuda:0;cpu:threads=1;cuda:1;cpu:threads=1' --run mix4
same_curve mix4 cpu 1e-5

# a launcher that shows each process a device of its own, and one that shows all the same
code=0
# shellcheck disable=SC2016 # of each process
timeout 120 mpirun -n 2 bash -c 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_LOCAL_RANK exec "$GNNTRAIN" "$@"' - "${gcn[@]}" \
    --devices cuda --run seen >out 2>err || code=$?
[ $code -eq 0 ] || fail "processes that see one device each: exit code $code"
same_curve seen cpu 1e-5
CUDA_VISIBLE_DEVICES=1 ranks 2 2 "${gcn[@]}" --devices cuda --run none
err_has "ranks 0 and 1 both use device 0 (0000:01:00.0) of host '$host'"

# an error of the devices in the middle, over again without it
long=(train a.h5 --model 'gcn:8:dropout=0.5, gcn' --partition a.part.h5 --seed 2 -q --checkpoint-every 3)
HOSTCUDA_FAIL=nccl:1:40 ranks 2 5 "${long[@]}" --epochs 20 --devices cuda --run broken
err_has "rank 1 of 2 on host '$host'" "NCCL reports"
ranks 2 0 "${long[@]}" --epochs 20 --devices cuda --run broken
[ "$(wc -l <broken/metrics.jsonl)" -eq 20 ] || fail "not 20 epochs after an error"

# a killed process, of a group or the processor beside it; the launcher leaves the others alone, so that their words are seen
export OMPI_MCA_orte_enable_recovery=1
epochs_done() { [ ! -s killed/metrics.csv ] && echo 0 || wc -l <killed/metrics.csv; }
lose() { # VICTIM DEVICES: when it is four epochs further than any run before it
    local i job before
    before=$(epochs_done)
    rm -f code.* pid.*
    # shellcheck disable=SC2016 # of each process
    mpirun -n 3 bash -c '"$GNNTRAIN" "$@" & echo $! >pid.$OMPI_COMM_WORLD_RANK; wait $!; echo $? >code.$OMPI_COMM_WORLD_RANK' - \
        "${long[@]}" --epochs 100000 --wait-limit 4 --devices "$2" --run killed >out 2>err &
    job=$!
    for ((i = 0; i < 600; i++)); do
        [ "$(epochs_done)" -lt $((before + 4)) ] || break
        sleep 0.05
    done
    [ $i -lt 600 ] || { kill -9 $job; fail "no epochs of '$2' after 30 s"; }
    kill -9 "$(cat "pid.$1")"
    for ((i = 0; i < 600; i++)); do
        kill -0 $job 2>/dev/null || break
        sleep 0.05
    done
    ! kill -0 $job 2>/dev/null || { kill -9 $job; fail "rank $1 of '$2' was killed, the others wait"; }
    wait $job || true
    for ((i = 0; i < 3; i++)); do
        [ $i -eq "$1" ] || [ "$(cat code.$i)" = 5 ] || fail "rank $i of '$2' ends with $(cat code.$i) when rank $1 is killed"
    done
    err_has "rank $1 of 3 on host '$host'"
}
lose 2 cuda
lose 0 'cuda;cpu:threads=1;cuda' # what a group and the processor need
lose 1 'cuda;cpu:threads=1;cuda'
unset OMPI_MCA_orte_enable_recovery
done=$(($(wc -l <killed/metrics.csv) - 1))
ranks 2 0 "${long[@]}" --epochs $((done + 2)) --devices 'cpu:threads=1;cuda' --run killed
no_addresses_left
echo "devices of processes: all as expected"
