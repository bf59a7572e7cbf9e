#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain simulate as a user runs it: facts, the same bytes twice, options that overrule the inventory, files that are wrong.
examples=$(cd "$(dirname "$0")/../../examples/ensembles" && pwd)
source "$(dirname "$0")/support.sh"
world=("$examples/inventory-421.yaml" "$examples/trace-24.yaml")

run 0 simulate "${world[@]}" --json --check --events a.jsonl --chart a.svg
json 'x["ended"] == 24 and x["policy"] == "makespan" and 1 <= x["makespan_over_bound"] <= 1.1 and x["utilisation"] >= 0.9'
cp out first_out
run 0 simulate "${world[@]}" --json --events b.jsonl --chart b.svg
for pair in 'first_out out' 'a.jsonl b.jsonl' 'a.svg b.svg'; do
    # shellcheck disable=SC2086 # two names
    cmp $pair || fail "$pair differ"
done
python3 -c '
import json
lines = [json.loads(line) for line in open("a.jsonl")]
assert sum(line.get("event") == "task-ended" for line in lines) == 24
timed = [line for line in lines if line.get("event") in ("task-placed", "epoch-done")]
assert all("seconds" in line for line in timed) and {line["event"] for line in timed} == {"task-placed", "epoch-done"}
assert all(a["time"] <= b["time"] for a, b in zip(lines, lines[1:]))' || fail "the file of events"

run 0 simulate "${world[@]}" --json --seed 2
cmp -s first_out out && fail "another seed gives the same"
run 0 simulate "${world[@]}" --json --policy shortest --moves restart
json 'x["policy"] == "shortest" and x["moves"] == "restart" and x["ended"] == 24'

printf 'types:\n  - { name: d, sped: 2 }\n' >bad.yaml
run 3 simulate bad.yaml "${world[1]}"
err_has "'bad.yaml' line 2" "speed"
run 3 simulate "${world[0]}" nowhere.yaml
err_has nowhere.yaml
run 2 simulate "${world[0]}"
echo "simulate: all as expected"
