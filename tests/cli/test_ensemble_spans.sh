#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# The report of a run that was stopped by SIGTERM, then killed, shows what all three processes trained: no bar twice, none over another one
# on its device, every epoch that counts once, no time between processes. On wall time and on a virtual clock.
set -euo pipefail
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$GNNTRAIN" generate csbm --nodes 300 --seed 3 -o graph.h5 -q >/dev/null
cat >spec.yaml <<'SPEC'
train: { epochs: 120, dropout: 0.5, lr: 0.01 }
seed: 7
count: 2
vary:
  - { key: model, values: ["gcn:8, gcn", "sage:8, sage", "gcn:16, gcn:8, gcn"] }
SPEC

saved() { grep -c '"event":"saved"' "$1/journal.jsonl" 2>/dev/null || true; }

# Ends by a signal behind the next checkpoint but one.
interrupt() { # RUN DEVICES SIGNAL CODE
    local process before code=0
    before=$(saved "$1")
    "$GNNTRAIN" ensemble train spec.yaml graph.h5 --checkpoint-every 10 --devices "$2" --run "$1" -q >log 2>&1 &
    process=$!
    until [ "$(saved "$1")" -ge $((${before:-0} + 2)) ] 2>/dev/null; do
        kill -0 $process 2>/dev/null || { cat log; echo "it ended before it was interrupted"; exit 1; }
        sleep 0.01
    done
    kill "-$3" $process
    wait $process || code=$?
    [ $code = "$4" ] || { cat log; echo "exit code $code after SIG$3, not $4"; exit 1; }
}

check() { # RUN PROCESSES
    python3 - "$@" <<'PYTHON'
import json, sys

run = json.load(open(sys.argv[1] + "/report.json"))["run"]
lines = [json.loads(x) for x in open(sys.argv[1] + "/journal.jsonl")]
processes, spans, facts = run["processes"], run["spans"], run["manager"]
assert len(processes) == int(sys.argv[2]), processes
assert sum(x["event"] == "process" for x in lines) == len(processes)

# one after the other, and all that is counted lies in them
assert processes[0]["begin"] == 0
for a, b in zip(processes, processes[1:]):
    assert a["begin"] < a["end"] == b["begin"] < b["end"], processes
    assert run["clock"] == "virtual clock" or 0.4 < b["pause_seconds"] < 60, processes
length = processes[-1]["end"]
assert abs(facts["makespan_seconds"] - length) < 0.1 * length, (facts, length)

# bars lie in one process each, every process has some, and none lies over another one of its device
eps = 1e-9
for p in processes:
    inside = [s for s in spans if p["begin"] - eps <= s[2] and s[3] <= p["end"] + eps]
    assert inside, (p, spans)
    p["num"] = len(inside)
assert sum(p["num"] for p in processes) == len(spans), (processes, spans)
for d in range(len(run["devices"])):
    mine = sorted(s[2:4] for s in spans if s[1] == d)
    assert all(a[1] <= b[0] + eps for a, b in zip(mine, mine[1:])), (d, mine)
assert len({(s[0], s[1], s[2]) for s in spans}) == len(spans)
assert {d["name"] for d in run["devices"]} == {"cpu 0", "cpu 1", "cpu 2"}, run["devices"]

# what is kept of all groups is what the members have
tasks = run["tasks"]
trained = {t["id"] for t in tasks if t["epochs"] > 0} # others were placed, but their process ended before their first epoch
assert trained <= {s[0] for s in spans} <= {t["id"] for t in tasks}, (tasks, spans)
assert sum(t["epochs"] for t in tasks) == sum(m["epochs"] for m in run["members"]) == 6 * 120, tasks
first = processes[0]["end"]
assert any(t["epochs"] > 0 for t in tasks for s in spans if s[0] == t["id"] and s[3] <= first + eps), tasks

# busy time over the time of devices that were there
busy = sum((s[3] - s[2]) * s[4] for s in spans)
there = sum((p["end"] - p["begin"]) * n for p, n in zip(processes, (2, 3, 2)))
assert abs(facts["utilisation"] - busy / there) < 0.05, (facts, busy / there)
PYTHON
    [ "$(grep -c 'processes trained, one after the other' "$1/report.html")" = 1 ]
    [ "$(grep -o 'between two processes, not counted' "$1/report.html" | wc -l)" = $(($2 - 1)) ]
}

clocked='cpu:clock=virtual'
for kind in wall virtual; do
    two=2 three=3
    [ $kind = wall ] || two="$clocked;$clocked" three="$clocked;$clocked;$clocked"
    interrupt $kind "$two" TERM 75
    sleep 0.5
    interrupt $kind "$three" KILL 137
    # the line that was being written
    printf '{"line":' >>$kind/journal.jsonl
    sleep 0.5
    "$GNNTRAIN" ensemble train spec.yaml graph.h5 --devices "$two" --run $kind -q >/dev/null 2>log || { cat log; exit 1; }
    "$GNNTRAIN" ensemble report $kind >out
    [ "$(grep -c 'by 3 processes' out)" = 1 ]
    check $kind 3
done
