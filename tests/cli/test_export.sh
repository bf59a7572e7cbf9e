#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain export: numpy alone reads the weights, computes the model with them, and gets the command's probabilities. Skips
# without numpy and h5py.
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

python=${GNT_PYTHON:-python3}
"$python" -c 'import numpy, h5py' 2>/dev/null || { echo "SKIPPED: no numpy or h5py"; exit 77; }
cat >check.py <<'P'
import json, sys
import h5py, numpy

def load(path):
    raw = open(path, "rb").read()
    start = 8 + int.from_bytes(raw[:8], "little")
    assert start % 8 == 0, "the data are not aligned"
    header = json.loads(raw[8:start])
    meta, end = header.pop("__metadata__"), 0
    assert all(isinstance(v, str) for v in meta.values()), "metadata that is no text"
    for t in header.values():
        assert t["dtype"] == "F32" and t["data_offsets"][0] == end, "a gap between tensors"
        end = t["data_offsets"][1]
    assert start + end == len(raw), "bytes behind the last tensor"
    return {n: numpy.frombuffer(raw[start + t["data_offsets"][0]:start + t["data_offsets"][1]], "<f4").reshape(t["shape"])
            for n, t in header.items()}

def probabilities(graph, weights):
    with h5py.File(graph) as f:
        adj, n = f["graph/adj"], int(f.attrs["num_nodes"])
        a = numpy.zeros((n, n))
        rows = numpy.repeat(numpy.arange(n), numpy.diff(adj["indptr"][:]))
        a[rows, adj["indices"][:]] = 1
        if isinstance(f["nodes/x"], h5py.Dataset):
            x = f["nodes/x"][:].astype(float)
        else:
            g = f["nodes/x"]
            x = numpy.zeros(g.attrs["shape"])
            x[numpy.repeat(numpy.arange(n), numpy.diff(g["indptr"][:])), g["indices"][:]] = g["data"][:]
    numpy.fill_diagonal(a, 1)
    scale = 1 / numpy.sqrt(a.sum(1))
    a = a * scale[:, None] * scale
    w1, b1, w2, b2 = (weights[k].astype(float) for k in weights)
    z = a @ (numpy.maximum(a @ (x @ w1) + b1, 0) @ w2) + b2
    e = numpy.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)

def members(path):
    all_of_them, out = load(path), {}
    for name, value in all_of_them.items():
        seed, _, rest = name.partition(".")
        out.setdefault(seed, {})[rest] = value
    return out

if sys.argv[1] == "one":
    weights = load("one.safetensors")
    with h5py.File("run/best.h5") as f:
        stored = {}
        f["weights"].visititems(lambda n, o: stored.update({n: o[:]}) if isinstance(o, h5py.Dataset) else None)
    assert len(stored) == len(weights) == 4, (list(stored), list(weights))
    for name, value in weights.items():
        match = [v for n, v in stored.items() if n.replace("/", ".") == name.replace("/", ".")]
        assert len(match) == 1 and numpy.array_equal(match[0].reshape(value.shape), value), name
    ours, theirs = probabilities("karate.h5", weights), numpy.load("p.npy")
    assert abs(ours - theirs).max() < 1e-5, abs(ours - theirs).max()
else:
    both = members("both.safetensors")
    assert sorted(both) == ["seed-5", "seed-6"], sorted(both)
    alone = load("six.safetensors")
    assert list(alone) == list(both["seed-6"])
    assert all(numpy.array_equal(alone[k], both["seed-6"][k]) for k in alone)
    assert not all(numpy.array_equal(both["seed-5"][k], both["seed-6"][k]) for k in alone)
    mean = (probabilities("karate.h5", both["seed-5"]) + probabilities("karate.h5", both["seed-6"])) / 2
    assert abs(mean - numpy.load("p2.npy")).max() < 1e-5
P

run 0 generate karate -o karate.h5
run 0 train karate.h5 --model 'gcn:4, gcn' --epochs 30 --seed 3 --run run --quiet
run 0 export run --format safetensors -o one.safetensors
out_has one.safetensors
run 0 predict run --what probabilities -o p.npy
"$python" check.py one || fail "the exported weights are not the run's"

run 0 train karate.h5 --model 'gcn:4, gcn' --epochs 30 --seed 5 --seeds 2 --run two --quiet
run 0 export two -o both.safetensors --json
json 'x["tensors"] == 8 and x["members"] == 2'
run 0 export two --seed 6 -o six.safetensors
run 0 predict two --what probabilities -o p2.npy
"$python" check.py two || fail "the exported members are not the run's"

run 2 export two --seed 9 -o x.safetensors
err_has "no seed 9" "5 to 6"
run 3 export absent -o x.safetensors
err_has absent
run 2 export run
err_has "-o FILE"
run 2 export run --format onnx -o x.safetensors
err_has onnx safetensors
run 2 export run/best.h5 -o run/best.h5
[ ! -e x.safetensors ] || fail "a failed export left a file"
run 0 info run/best.h5
echo "export: all as expected"
