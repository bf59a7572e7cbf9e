#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium, cost: 12
# One command, any number of ranks: threads and MPI processes give the bits of one device over the same partition, a stopped
# run goes on at another size, predictions list the same nodes in the same order, launches that do not fit are refused.
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

run 0 generate csbm --nodes 600 --seed 4 -o g.h5 -q
run 0 partition g.h5 --chunks 8 -o g.part.h5 -q
train=(train g.h5 --model 'gcn:16, gcn' --dropout 0.5 --seed 2 --partition g.part.h5 --deterministic bitwise)

same() { cmp <(cut -d, -f1-6 "$1/metrics.csv" | sed 's/,[^,]*seconds.*//') <(cut -d, -f1-6 "$2/metrics.csv" | sed 's/,[^,]*seconds.*//') ||
    fail "$1 and $2 differ"; }

run 0 "${train[@]}" --epochs 12 --run one
for p in 2 3 8; do
    run 0 "${train[@]}" --epochs 12 --devices $p --run "threads-$p"
    same one "threads-$p"
done
run 0 "${train[@]}" --epochs 12 --devices 3 --strategy broadcast --run broadcast
same one broadcast

# predictions of a run on many devices: the user's ids and order
run 0 predict one -o one.csv -q
run 0 predict threads-8 -o eight.csv -q
cmp one.csv eight.csv || fail "predictions differ"

# a trace of the first epochs, one row a rank
run 0 train g.h5 --epochs 3 --devices 2 --trace t.json -q
python3 -c "import json; t = json.load(open('t.json')); assert {e['pid'] for e in t} == {0, 1}" || fail "no trace of two ranks"

# nothing is overwritten by a trace but a trace, no device node by a file
cp g.h5 kept.h5
run 2 train g.h5 --devices 2 --epochs 1 --trace kept.h5
err_has "is no trace"
cmp g.h5 kept.h5 || fail "the trace has overwritten a dataset"
run 0 train g.h5 --devices 2 --epochs 1 --trace t.json -q
run 4 generate karate -o /dev/null
err_has "is a device"
[ -c /dev/null ] || fail "/dev/null was replaced"
run 2 train g.h5 --devices abc --epochs 1
run 2 train g.h5 --devices 1.5 --epochs 1
run 2 train g.h5 --devices 'cpu;cpu:speed=1e-300' --epochs 1

# a small graph is cut for the devices that there are; a cut of one chunk is not offered to two
run 0 generate karate -o karate.h5 -q
run 0 train karate.h5 --devices 3 --epochs 2 --run small -q --json
json 'len(x["ranks"]) == 3'
run 0 estimate karate.h5 --devices 3 --json
json 'len(x["devices"]) == 3'
run 0 partition karate.h5
err_has "--chunks 2 cuts the graph for two"
err_lacks "--devices 2"

# what does not fit is told with both numbers
run 2 train g.h5 --devices 9 --partition g.part.h5
err_has "9 devices but only 8 chunks"
run 2 train g.h5 --trace t.json
err_has "this run has none"
run 2 train g.h5 --devices 'cpu:spede=1'
err_has "did you mean speed"
run 0 explain g.h5 --devices 2 --chunks 8
out_has "rank 0 of 2" "on the wire"
run 0 generate csbm --nodes 600 --seed 5 -o other.h5 -q
run 3 train other.h5 --partition g.part.h5 --devices 2
err_has "was cut from another graph"

command -v mpirun >/dev/null || { echo "SKIP: no mpirun, threads alone were tested"; exit 0; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
ranks() { # NUMBER CODE ARGUMENT...
    local n=$1 expected=$2 code=0
    shift 2
    timeout 120 mpirun -n "$n" "$GNNTRAIN" "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code -eq "$expected" ] || fail "exit code $code, expected $expected: mpirun -n $n gnntrain $*"
}
ranks 3 0 "${train[@]}" --epochs 12 --run mpi-3
same one mpi-3
[ "$(grep -c '^test metric' out)" -eq 1 ] || fail "not one rank alone speaks"
ranks 2 2 predict one -o two.csv
err_has "one process answers"
ranks 2 2 generate karate -o two.h5
err_has "this runs as one"
[ ! -e two.h5 ] || fail "two processes wrote one file"
ranks 2 2 train g.h5 --devices 3
err_has "3 devices" "2 ranks"

# stored in another order, dropout draws the same numbers on one device too
run 0 partition g.h5 --chunks 8 --rewrite sorted.h5 -q
run 0 train g.h5 --dropout 0.5 --epochs 5 --seed 2 --run plain -q
run 0 train sorted.h5 --dropout 0.5 --epochs 5 --seed 2 --run sorted -q
python3 - <<'PYTHON' || fail "another order gives another curve"
import json, sys
a, b = ([json.loads(line)["train_loss"] for line in open(f"{run}/metrics.jsonl")] for run in ("plain", "sorted"))
sys.exit(max(abs(x - y) for x, y in zip(a, b)) > 1e-5 * max(a))
PYTHON

run 0 predict sorted -o sorted.csv -q
run 0 predict plain -o plain.csv -q
cmp sorted.csv plain.csv || fail "predictions of a dataset stored in another order have other ids"

# a graph that streams through: cut, stored in chunk order, each process reads its own rows
run 0 generate rmat --scale 12 --features 32 --classes 8 -o rmat.h5 -q
run 0 partition rmat.h5 --method ldg --rewrite rmat.k.h5 -o rmat.part.h5 -q
ranks 4 0 train rmat.k.h5 --model 'gcn:16, gcn' --epochs 3 --seed 3 --partition rmat.part.h5 --deterministic bitwise --run rmat-4
run 0 train rmat.h5 --model 'gcn:16, gcn' --epochs 3 --seed 3 --partition rmat.part.h5 --deterministic bitwise --run rmat-1
same rmat-4 rmat-1

# rows of links of their own travel under interior rows, of chains and of attention: the trace says so, and no bit changes
run 0 generate grid --rows 120 --columns 120 --features 8 --classes 4 -o grid.h5 -q
run 0 partition grid.h5 --chunks 8 -o grid.part.h5 -q
link='cpu:clock=virtual,latency=1e-5,bandwidth=1e8'
for model in 'gcn:8, gcn:8, gcn' 'gat:2x4:attn-dropout=0.3, gat'; do
    under=(train grid.h5 --model "$model" --epochs 2 --seed 3 --partition grid.part.h5 --deterministic bitwise --threads 1)
    rm -rf under-mpi under-one
    ranks 2 0 "${under[@]}" --devices "$link;$link" --trace under.json --run under-mpi
    run 0 "${under[@]}" --run under-one
    same under-mpi under-one
    python3 - <<'PYTHON' || fail "$model: exchanges between processes are not under products"
import json, sys
events = [e for e in json.load(open("under.json")) if e["ph"] == "X" and e["args"]["step"] == 1]
spans = [e for e in events if e["cat"] == "transfer" and e["name"] == "exchange"]
under = [s for s in spans if any(e["cat"] == "op" and e["pid"] == s["pid"] and e["dur"] > 0 and s["ts"] <= e["ts"] + 1e-3 and
                                 e["ts"] + e["dur"] <= s["ts"] + s["dur"] + 1e-3 for e in events)]
sys.exit(not spans or len(under) < len(spans))
PYTHON
done

# stopped at four processes, gone on at three threads
timeout 120 mpirun -n 4 "$GNNTRAIN" "${train[@]}" --epochs 100000 --run stopped >out 2>err &
job=$!
until [ -s stopped/metrics.csv ]; do
    kill -0 $job 2>/dev/null || fail "the job ended before its first epoch"
    sleep 0.1
done
pkill -TERM -n -f -- '--run stopped' || true # one rank alone hears of it
code=0
wait $job || code=$?
[ $code -eq 75 ] || fail "exit code $code of a stopped job, expected 75"
done=$(($(wc -l <stopped/metrics.csv) - 1))
run 0 "${train[@]}" --epochs $((done + 5)) --devices 3 --run stopped
[ $(($(wc -l <stopped/metrics.csv) - 1)) -eq $((done + 5)) ] || fail "the run did not go on after epoch $done"
