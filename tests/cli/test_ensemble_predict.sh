#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain predict and eval of an ensemble's folder: columns of every format, any devices, one member by its seed, what is refused.
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

cat >spec.yaml <<'Y'
seed: 1
train: { epochs: 5 }
vary:
  - { key: model, values: ["gcn:8, gcn", "gcn:16, gcn", "sage:8, sage"] }
Y
run 0 generate csbm --nodes 300 --seed 2 --feature-signal 3 -q -o g.h5
run 0 ensemble train spec.yaml g.h5 --run e -q

run 0 predict e -o p.csv --what probabilities --json
json 'x["rows"] == 300 and x["members"] == len(x["used"]) and x["combine"] in ("mean", "logits")'
head -1 p.csv | grep -qx 'id,probability_0,probability_1,probability_2,probability_3,entropy,disagreement' || fail "columns: $(head -1 p.csv)"
[ "$(wc -l <p.csv)" -eq 301 ] || fail "lines: $(wc -l <p.csv)"
run 0 predict e -o c.csv
head -1 c.csv | grep -qx 'id,prediction,entropy,disagreement' || fail "columns: $(head -1 c.csv)"
run 0 predict e -o p.npy --what probabilities
[ -s p.npy ] && [ -s p.npy.entropy.npy ] && [ -s p.npy.disagreement.npy ] || fail "files beside p.npy: $(ls)"
run 0 predict e -o p.h5 --what probabilities
run 0 info e # still a run folder

# a combination is told by its own file: what eval says is what the report says
run 0 eval e --json
json 'abs(x["splits"]["test"]["nll"] - json.load(open("e/summary.json"))["ensemble"]["nll"]) < 1e-4'
json 'x["splits"]["test"]["accuracy"] == json.load(open("e/summary.json"))["ensemble"]["test_metric"]'

# devices: lists, limits; the answer is the same to rounding
for devices in 2 'cpu:speed=1;cpu:speed=0.5' 'cpu:mem=400K' 'cpu:clock=virtual;cpu:clock=virtual'; do
    run 0 predict e -o q.csv --what probabilities --devices "$devices"
    paste -d, p.csv q.csv | awk -F, 'NR > 1 { for (i = 2; i < 6; i++) if (($i - $(i + 7)) ^ 2 > 1e-10) exit 1 }' ||
        fail "other probabilities on $devices"
done
run 4 predict e -o none.csv --devices cpu:mem=1K
err_has "member '" "1024"
[ ! -e none.csv ] || fail "a file was left"

# one member, as its own folder has it
seed=$(python3 -c 'import json; print(json.load(open("e/members/m01/summary.json"))["seed"])')
run 0 predict e -o one.csv --what probabilities --seed "$seed"
run 0 predict e/members/m01 -o own.csv --what probabilities --devices cpu:threads=1
cut -d, -f1-5 one.csv | cmp - own.csv || fail "a member's own answer is another one"
run 2 predict e -o none.csv --seed 5
err_has "has no member with seed 5" "members/m0"
run 2 predict e -o none.csv --what embeddings
err_has "members/NAME"
run 2 predict e/members/m00 -o none.csv --devices 2
err_has "one model" "name one of them"

# members over MPI processes: the same answer to the bit, written once; a single run is none that processes share
if command -v mpirun >/dev/null && [ -e "$GNT_BINARY_DIR/lib/libgnntrain-mpi.so" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
    timeout 120 mpirun -n 3 "$GNNTRAIN" predict e -o m.csv --what probabilities --json >out 2>err || fail "mpirun of predict answers $?"
    json 'len(x["devices"]) == 3 and sum(d["rows"] for d in x["devices"]) == 300 * x["members"]'
    cmp p.csv m.csv || fail "other probabilities over MPI"
    run 0 eval e --json
    cp out alone.json
    timeout 120 mpirun -n 2 "$GNNTRAIN" eval e --json >out 2>err || fail "mpirun of eval answers $?"
    json 'x["splits"] == json.load(open("alone.json"))["splits"]'
    ! timeout 120 mpirun -n 2 "$GNNTRAIN" predict e/members/m00 -o m.csv >out 2>err || fail "a single run over MPI"
    err_has "is a single run" "without mpirun"
fi
rm e/members/m00/*.h5 e/members/m01/*.h5 e/members/m02/*.h5
run 3 predict e -o none.csv
err_has "members/m0"
