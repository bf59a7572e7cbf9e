#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Energy of an ensemble: joules by the stated model on a virtual clock, and a power budget that lets one of two devices be busy.
source "$(dirname "$0")/support.sh"

cat >spec.yaml <<'YAML'
seed: 2
vary:
  - { key: model, values: ["gcn:8, gcn", "sage:8, sage"] }
train: { epochs: 8, lr: 0.01 }
YAML
sed 's/^seed: 2/seed: 2\npolicy: energy\nenergy-budget: 100/' spec.yaml >budget.yaml
run 0 generate sbm --nodes 300 --classes 3 -o g.h5 --quiet
two='cpu:clock=virtual,watts=65,idle-watts=15;cpu:clock=virtual,watts=65,idle-watts=15'

run 0 ensemble train spec.yaml g.h5 --run free --quiet --devices "$two"
run 0 ensemble train budget.yaml g.h5 --run kept --quiet --devices "$two"
python3 - <<'PY' || fail "joules or placements are wrong"
import json

def read(run):
    summary = json.load(open(f"{run}/summary.json"))
    lines = [json.loads(line) for line in open(f"{run}/journal.jsonl")]
    return summary, [l for l in lines if l["event"] == "placed"]

for run in ("free", "kept"):
    summary, placed = read(run)
    schedule, energy = summary["schedule"], summary["energy"]
    assert energy["source"] == "model" and energy["joules"] == energy["model_joules"], energy
    # utilisation is busy over present seconds of two equal devices: 15 W all the time, 50 W more while busy
    seconds = 2 * schedule["makespan_seconds"]
    wanted = seconds * (15 + 50 * schedule["utilisation"])
    assert abs(energy["joules"] - wanted) < 0.02 * wanted, (run, energy, wanted)

free, kept = read("free"), read("kept")
assert {d for p in free[1] for d in p["devices"]} == {0, 1}, free[1]
assert abs(kept[0]["schedule"]["makespan_seconds"] / free[0]["schedule"]["makespan_seconds"]) > 1.2
begins = sorted((p["at"], p["task"]) for p in kept[1])
assert len({p["task"] for p in kept[1]}) == 2 and begins[1][0] > 0.3 * kept[0]["schedule"]["makespan_seconds"], kept[1]
PY
