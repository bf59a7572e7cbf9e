#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain partition: every method, what it prints and writes, and what it refuses.
source "$(dirname "$0")/support.sh"
python=${GNT_PYTHON:-python3}

run 0 generate csbm --nodes 2000 --seed 1 -o a.h5

# the default: METIS, the largest power of two up to 64 and to nodes / 60
run 0 partition a.h5
out_has "chunk" "halo in" "halo out" "volume" "refinement" "empty: 0" "a.k32.part.h5" "2,000 nodes"
err_has "next: gnntrain train a.h5 --partition a.k32.part.h5"
[ "$(grep -c '^ *[0-9][0-9]* ' out)" -eq 32 ] || fail "not one line a chunk"
run 0 partition a.h5 --json
json 'x["num_chunks"] == 32 and len(x["chunks"]) == 32 and x["empty"] == 0 and len(x["sha256"]) == 64'
json 'sum(c["nodes"] for c in x["chunks"]) == 2000 == x["num_nodes"]'
json 'sum(c["arcs"] for c in x["chunks"]) == x["num_arcs"]'
json 'sum(c["halo_in"] for c in x["chunks"]) == sum(c["halo_out"] for c in x["chunks"]) == x["volume"]'
json 'sum(c["train_nodes"] for c in x["chunks"]) == 1200'
json 'x["made"]["volume_after_refinement"] <= x["made"]["volume_before_refinement"]'
cp a.k32.part.h5 first.part.h5
run 0 partition a.h5 --json
cmp -s a.k32.part.h5 first.part.h5 || "$python" - <<'P' || fail "the same command cuts otherwise"
import h5py
a, b = (h5py.File(f) for f in ("a.k32.part.h5", "first.part.h5"))
assert a.attrs["sha256"] == b.attrs["sha256"]
P

# every method; a cut that looks at the arcs beats chance
for method in metis ldg fennel range random; do
    run 0 partition a.h5 --chunks 6 --method $method --seed 3 -o $method.part.h5 --json
    json 'x["num_chunks"] == 6 and x["empty"] == 0 and x["file"].endswith(".part.h5")'
    python3 -c "import json; print(json.load(open('out'))['volume'])" >$method.volume
done
for method in metis ldg fennel; do
    [ "$(cat $method.volume)" -lt "$(cat random.volume)" ] || fail "$method is no better than random"
done

# shares: chunks in their proportion
run 0 partition a.h5 --chunks 14 --shares 4:2:1 -o shares.part.h5 --json
json 'abs(x["shares"][0] - 4 / 7) < 1e-9'
json '1.05 * 8 / 14 > sum(c["nodes"] + c["arcs"] for c in x["chunks"][:8]) / (x["num_nodes"] + x["num_arcs"]) > 0.52'
run 0 partition a.h5 --chunks 14 --shares 4,2,1 --method ldg -o shares.part.h5

# the vector goes out as text and comes back, the numbers perhaps in another order
"$python" - <<'P'
import h5py
f = h5py.File("metis.part.h5")
assert f.attrs["format"] == "gnntrain-partition" and f["chunk"].shape == (2000,) and f["quality/nodes"].shape == (6,)
open("vector.txt", "w").writelines("%d\n" % c for c in f["chunk"][:])
P
run 0 partition a.h5 --method file --from vector.txt -o back.part.h5 --json
json "x['volume'] == $(cat metis.volume) and x['num_chunks'] == 6 and x['method'] == 'file'"
sed -i 5s/.*/seven/ vector.txt
run 3 partition a.h5 --method file --from vector.txt -o bad.part.h5
err_has "vector.txt" "line 5" "seven"
seq 0 99 >short.txt
run 3 partition a.h5 --method file --from short.txt -o bad.part.h5
err_has "short.txt" "100 lines" "2000 nodes"
[ ! -e bad.part.h5 ] || fail "a bad vector made a partition"

# picture and the dataset in chunk order
run 0 partition a.h5 --chunks 4 --picture a.svg --rewrite b.h5 -o b.part.h5 --json
json 'x["picture"] == "a.svg" and x["rewritten"] == "b.h5"'
grep -q 'Training nodes' a.svg || fail "no picture"
run 0 info a.h5 --json
cp out a.json
run 0 info b.h5 --json
cp out b.json
"$python" - <<'P' || fail "the rewritten dataset is not the same in another order"
import h5py, json, numpy as np
a, b = json.load(open("a.json")), json.load(open("b.json"))
assert all(a[k] == b[k] for k in ("num_nodes", "num_arcs", "num_features", "num_classes"))
f, g, p = h5py.File("a.h5"), h5py.File("b.h5"), h5py.File("b.part.h5")
origin, chunk = g["nodes/origin"][:], p["chunk"][:]
assert (np.diff(chunk[origin]) >= 0).all() and (np.sort(origin) == np.arange(2000)).all()
first = g["chunks/first"][:]
assert (np.diff(first) == np.bincount(chunk)).all()
assert g["chunks/first"].attrs["partition_sha256"] == p.attrs["sha256"]
assert (f["nodes/x"][:][origin] == g["nodes/x"][:]).all()
P
for file in a.h5 b.h5; do
    run 0 train $file --model 'gcn:4, gcn' --partition b.part.h5 --devices 2 --deterministic bitwise --epochs 2 --seed 1 --run run-$file
    python3 -c "
import json
for line in open('run-$file/metrics.jsonl'):
    x = json.loads(line)
    print(x['train_loss'], x['valid_loss'], x['valid_metric'])" >$file.losses
done
cmp a.h5.losses b.h5.losses || fail "the dataset in chunk order trains to other losses"

# what is refused, with the option that mends it
run 2 partition a.h5 --chunks 2001
err_has "2001 chunks" "2000 nodes" "--chunks"
run 2 partition a.h5 --chunks 2 --shares 1:1:1
err_has "3 shares" "2 chunks" "--chunks"
run 2 partition a.h5 --shares 4:x
err_has "--shares" "'x'"
run 2 partition a.h5 --shares 1:0
run 2 partition a.h5 --method file
err_has "--from"
run 2 partition a.h5 --from vector.txt
err_has "--method file"
run 2 partition a.h5 --method ldg --balance-train
err_has "--balance-train" "--method metis"
run 2 partition a.h5 --method fennel --metis-volume
err_has "--metis-volume"
run 2 partition a.h5 --split absent
err_has "absent" "public"
run 2 partition a.h5 --chunks 4 --picture a.png
err_has ".svg"
run 2 partition a.h5 -o a.h5
err_has "a.h5"
run 2 partition a.h5 --chunks 4 -o same.h5 --rewrite same.h5
err_has "same.h5"
run 2 partition a.h5 --methud ldg
err_has "--method"
run 3 partition absent.h5
err_has "absent.h5"
run 3 partition b.part.h5
err_has "gnntrain-partition" "gnntrain-graph"
head -c 5000 a.h5 >cut.h5
run 3 partition cut.h5
err_has "cut.h5"

# tiny graphs, one chunk, chunks as many as nodes
run 0 generate karate -o karate.h5
for k in 1 2 34; do
    for method in metis ldg range random; do
        run 0 partition karate.h5 --chunks $k --method $method -o k.part.h5 --json
        json "x['num_chunks'] == $k and x['empty'] == 0"
    done
done
run 0 partition karate.h5
out_has "1 chunk"  "karate.k1.part.h5"

# the small twin of the large graph in docs/distributed.md
run 0 generate rmat --scale 12 --features 32 --classes 16 -o rmat.h5
run 0 partition rmat.h5 --method ldg --json
json 'x["num_chunks"] == 64 and x["empty"] == 0 and x["made"]["passes"] >= 2 and x["balance_arcs"] < 1.5'
