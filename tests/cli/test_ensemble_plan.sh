#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain ensemble plan: each member in one group, each group on devices that hold it, seconds that add up; mistakes of a spec with
# file, line and key; nothing is written.
source "$(dirname "$0")/support.sh"

unset XDG_CACHE_HOME
run 0 generate csbm --nodes 300 --seed 1 -o g.h5
cat >spec.yaml <<'END'
train: { epochs: 40 }
seed: 5
count: 3
vary:
  - { key: model, values: ["gcn:16, gcn", "sage:8, sage"] }
  - { key: lr, values: [0.01, 0.02] }
END
files() { find . -type f ! -name out ! -name err | sort; }
before=$(files)
run 0 ensemble plan spec.yaml g.h5 --devices 'cpu:speed=4;cpu:speed=2;cpu:speed=1' --json
[ "$(files)" = "$before" ] || fail "plan has written something"
json 'len(x["members"]) == 12 and len({m["seed"] for m in x["members"]}) == 12 and max(m["seed"] for m in x["members"]) < 2**53'
json 'sorted(n for g in x["groups"] for n in g["members"]) == [m["name"] for m in x["members"]]'
json 'all(m["name"] in x["groups"][m["group"]]["members"] for m in x["members"])'
json 'all(len({x["members"][int(n[1:])]["model"] for n in g["members"]}) == 1 for g in x["groups"])'
json 'len(x["matrix"]) == 3 and all(len(r) == 12 for r in x["matrix"])'
json 'all((x["matrix"][d][m] > 0) == (d in x["groups"][x["members"][m]["group"]]["devices"]) for d in range(3) for m in range(12))'
json '0 < x["lower_bound_seconds"] <= x["makespan_seconds"] * (1 + 1e-9) and x["makespan_seconds"] < 2 * x["lower_bound_seconds"]'
json 'max(g["end_seconds"] for g in x["groups"]) <= x["makespan_seconds"] * (1 + 1e-9)'
json 'x["devices"][0]["speed"] > 2.5 and x["devices"][1]["speed"] > 1.3 and x["devices"][2]["speed"] == 1'
json 'x["method"] == "independent" and x["combine"] == "mean" and x["policy"] == "makespan" and len(x["spec_sha256"]) == 64'
json 'all(g["bytes"] == g["shared_bytes"] + g["lasting_bytes"] + g["scratch_bytes"] for g in x["groups"])'

# one device: one group a model, one behind the other
run 0 ensemble plan spec.yaml g.h5 --json
json 'len(x["groups"]) == 2 and len(x["devices"]) == 1'
bytes=$(python3 -c 'import json; print(max(g["bytes"] for g in json.load(open("out"))["groups"]))')
run 0 ensemble plan spec.yaml g.h5
out_has "12 members in 2 groups on 1 device" "predicted" "model=gcn:16, gcn lr=0.01" "m00 ... m05 (6)"

# a device that holds less: more groups, none above its limit; one that holds no member
run 0 ensemble plan spec.yaml g.h5 --devices "cpu:mem=$((bytes * 2 / 3))" --json
json 'len(x["groups"]) > 2 and all(g["bytes"] <= x["devices"][0]["limit_bytes"] for g in x["groups"])'
json 'x["devices"][0]["peak_bytes"] <= x["devices"][0]["limit_bytes"]'
run 4 ensemble plan spec.yaml g.h5 --devices "cpu:mem=4K"
err_has "member m" "bytes" "the largest device has 4096"

# what is foreseen on a virtual clock, whose speeds the plan measures, is what a run then takes
clock='cpu:clock=virtual,speed=4;cpu:clock=virtual,speed=2;cpu:clock=virtual,speed=1'
run 0 ensemble plan spec.yaml g.h5 --devices "$clock" --json
cp out foreseen
run 0 ensemble train spec.yaml g.h5 --devices "$clock" --run spec-run --json --quiet
python3 - <<'END' || fail "the plan foresees another makespan"
import json
foreseen = json.load(open("foreseen"))["makespan_seconds"]
taken = json.load(open("spec-run/report.json"))["run"]["manager"]["makespan_seconds"]
print(f"foreseen {foreseen:.6f} s, taken {taken:.6f} s")
exit(abs(foreseen / taken - 1) > 0.1)
END

# short runs: on the virtual clock the forecast's seconds are nearly those measured, bytes are those of the device's allocator; the next
# plan finds them
run 0 ensemble plan spec.yaml g.h5 --devices "$clock" --measure --json
json 'all(g["measured"] and len(g["epoch_seconds"]) == 3 for g in x["groups"])'
json 'all(abs(m / p - 1) < 0.1 for g in x["groups"] for m, p in zip(g["epoch_seconds"], g["predicted_epoch_seconds"]))'
json 'all(0.8 * (g["lasting_bytes"] + g["scratch_bytes"]) < g["measured_bytes"] <= g["lasting_bytes"] + g["scratch_bytes"] for g in x["groups"])'
cp out measured
[ -s .cache/gnntrain/groups.json ] || fail "nothing is kept"
run 0 ensemble plan spec.yaml g.h5 --devices "$clock" --json
python3 -c 'import json; a, b = json.load(open("measured")), json.load(open("out")); exit([g["epoch_seconds"] for g in a["groups"]] != [g["epoch_seconds"] for g in b["groups"]])' ||
    fail "the second plan has other seconds"
echo '{"format": "gnntrain-groups", "version": "9", "classes": []' >.cache/gnntrain/groups.json # damaged: as if there were none
run 0 ensemble plan spec.yaml g.h5 --devices "$clock" --json
json 'not any(g["measured"] for g in x["groups"])'
rm -r .cache

# a graph that is cut: one member on two devices; the partition of another graph is refused
printf 'model: "gcn:16, gcn"\ntrain: { epochs: 40 }\n' >one.yaml
run 0 partition g.h5 --chunks 4 -o g.part.h5
run 0 ensemble plan one.yaml g.h5 --devices 2 --partition g.part.h5 --json
json 'len(x["groups"]) == 1 and x["groups"][0]["devices"] == [0, 1]'
run 0 ensemble plan one.yaml g.h5 --devices 2 --json
json 'len(x["groups"][0]["devices"]) == 1'
run 0 generate csbm --nodes 200 --seed 2 -o other.h5
run 3 ensemble plan one.yaml other.h5 --devices 2 --partition g.part.h5
run 3 ensemble plan one.yaml g.h5 --devices 2 --partition nowhere.part.h5

# environment and user file of a verb of two words
GNNTRAIN_ENSEMBLE_PLAN_DEVICES=3 run 0 ensemble plan one.yaml g.h5 --json
json 'len(x["devices"]) == 3'
mkdir -p config/gnntrain
echo 'devices: "2"' >config/gnntrain/ensemble-plan.yaml
run 0 ensemble plan one.yaml g.h5 --json
json 'len(x["devices"]) == 2'
rm -r config

# mistakes: exit 3 with file, line and key
mistake() { # TEXT WORD...
    printf '%b' "$1" >bad.yaml
    shift
    run 3 ensemble plan bad.yaml g.h5
    err_has "$@"
}
mistake 'model: "gcn:4, gcn"\ncuont: 2\n' "'bad.yaml' line 2, cuont: unknown key 'cuont', did you mean 'count'?"
mistake 'model: "gcn:4, gcn"\ncount: 1000000000\n' "'bad.yaml' line 2, count: " "from 1 to 4096"
mistake 'model: "gcn:4, gcn"\ntrain: { lr: fast }\n' "'bad.yaml' line 2, train.lr: " "'fast' is not a number"
mistake 'model: "gcn:4, gcn"\nmodel: "gcn:8, gcn"\n' "line 2, model: is set already in line 1"
mistake 'model: "gcn:4, gcn\n' "'bad.yaml' line"
run 3 ensemble plan nowhere.yaml g.h5
err_has "nowhere.yaml"
run 2 ensemble plan spec.yaml
run 2 ensemble plan spec.yaml g.h5 --devices 'cpu:sped=3'
echo "ensemble plan: all as expected"
