#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills an ensemble with SIGKILL at N random moments and continues it with the same line each time, on another number of devices.
# Demands that no member is lost and none is trained to its end twice, that no file of the run is ever damaged, and that what members
# predict and how they are combined equals an undisturbed run, bit for bit.
#
#   tools/ensemble-kill-test.sh [N [SEED]]   (default 10 kills; GNNTRAIN names the command, else the release or dev build)
set -euo pipefail
# shellcheck source=tools/kill-setup.sh
. "$(dirname "$0")/kill-setup.sh" "$@"

"$gnntrain" generate csbm --nodes 300 --seed 3 -o "$work/graph.h5" -q >/dev/null
cat >"$work/spec.yaml" <<'SPEC'
train: { epochs: 120, dropout: 0.5, lr: 0.01, patience: 60 }
seed: 7
count: 3
combine: greedy
vary:
  - { key: model, values: ["gcn:8, gcn", "sage:8, sage", "gcn:16, gcn:8, gcn"] }
SPEC
members=9
train() { # DEVICES RUN
    "$gnntrain" ensemble train "$work/spec.yaml" "$work/graph.h5" --checkpoint-every 5 --deterministic bitwise \
        --devices "$1" --run "$2" -q
}

start=$(date +%s%N)
train 2 "$work/whole" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
whole_ms=$((($(date +%s%N) - start) / 1000000))
echo "undisturbed: $whole_ms ms"

# Every file that is there must be readable, whatever moment the process died at.
damaged() { # RUN
    "$python" - "$1" <<'PYTHON'
import glob, json, sys
import h5py

for path in glob.glob(sys.argv[1] + "/**/*.h5", recursive=True):
    with h5py.File(path) as f:
        f.visititems(lambda name, item: item[()] if isinstance(item, h5py.Dataset) else None)
for path in glob.glob(sys.argv[1] + "/**/*.json", recursive=True):
    json.load(open(path))
PYTHON
}

# The journal: lines in order, each member's end once.
ends_once() { # RUN
    "$python" - "$1" "$members" <<'PYTHON'
import collections, json, sys

run, members = sys.argv[1], int(sys.argv[2])
lines = [json.loads(line) for line in open(run + "/journal.jsonl")]
assert [x["line"] for x in lines] == list(range(1, len(lines) + 1)), "lines are missing"
ended = collections.Counter(x["member"] for x in lines if x["event"] == "ended")
assert len(ended) == members and set(ended.values()) == {1}, f"ends of members: {dict(ended)}"
assert sum(x["event"] == "combined" for x in lines) == 1
after = {}
for x in lines:
    if x["event"] == "ended":
        after[x["member"]] = x["line"]
    for m in x["members"] if x["event"] in ("placed", "saved") else []:
        assert m not in after, f"line {x['line']}: {m} is trained after its end in line {after[m]}"
PYTHON
}

same() { # RUN RUN
    local file
    for file in "$1"/members/*/logits.npy "$1"/members/*/metrics.jsonl; do
        case $file in
        *.jsonl) # seconds apart
            cmp -s <(sed 's/,"seconds".*//' "$file") <(sed 's/,"seconds".*//' "$2${file#"$1"}") ;;
        *) cmp -s "$file" "$2${file#"$1"}" ;;
        esac || { echo "$2${file#"$1"} differs from an undisturbed run's"; exit 1; }
    done
    "$python" - "$1" "$2" <<'PYTHON'
import sys
import h5py

a, b = (h5py.File(run + "/ensemble.h5") for run in sys.argv[1:])
for name in ("temperature", "members/weight"):
    if a[name][()].tobytes() != b[name][()].tobytes():
        sys.exit(f"ensemble.h5: '{name}' differs: {a[name][()]} {b[name][()]}")
PYTHON
}

done_kills=0 runs=0
while [ "$done_kills" -lt "$kills" ]; do
    runs=$((runs + 1))
    run=$work/run
    rm -rf "$run"
    while :; do
        train $((1 + RANDOM % 3)) "$run" >"$work/log" 2>&1 &
        process=$!
        # somewhere in the first part of what is left, so that one run is killed several times
        delay_ms=$((RANDOM % (whole_ms / 2 + 20)))
        sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
        child=$(pgrep -P $process || true) # the function is a shell of its own
        if [ "$done_kills" -lt "$kills" ] && kill -9 "${child:-$process}" 2>/dev/null; then
            wait $process 2>/dev/null || true
            [ ! -d "$run" ] || damaged "$run"
            done_kills=$((done_kills + 1))
        else
            wait $process || { code=$?; cat "$work/log"; echo "continuing failed with exit code $code"; exit 1; }
            break
        fi
    done
    damaged "$run"
    ends_once "$run"
    same "$work/whole" "$run"
done
echo "$done_kills kills in $runs runs: no member lost, none trained twice, equal predictions"
