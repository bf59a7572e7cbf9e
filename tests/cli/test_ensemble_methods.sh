#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# timeout: 300
# Methods from a spec to a predictor: what each leaves, that kill -9 at any moment changes no bit of it, that report and predict take the
# same members as the run, that contradictions are refused.
set -euo pipefail
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
RANDOM=${GNT_SEED:-$(date +%s)}
echo "seed $RANDOM"

fail() {
    echo "FAILED: $*"
    exit 1
}

PATH=$(dirname "$GNNTRAIN"):$PATH
gnntrain generate csbm --nodes 240 --seed 3 -o graph.h5 -q >/dev/null
spec() { # METHOD [MORE LINES]
    printf '%s\n' 'model: "gcn:8, gcn"' 'seed: 3' 'count: 3' "method: $1" \
        'train: { epochs: 24, lr: 0.02, dropout: 0.3, norm: batch }' "${@:2}" >"$1.yaml"
}
spec snapshot "snapshots: 4"
spec swa "swa-from: 12" "swa-cycle: 3"
spec swap "swap-target: 0.9"
spec soup "soup: greedy"
spec edde "edde-folds: 3"

train() { # METHOD RUN: takes the place of the shell
    exec gnntrain ensemble train "$1.yaml" graph.h5 --run "$2" --checkpoint-every 2 --deterministic bitwise --devices 1 -q
}

outputs() { # RUN
    "${GNT_PYTHON:-python3}" -c 'import json, sys
print(" ".join(m["name"] for m in json.load(open(sys.argv[1] + "/summary.json"))["members"]))' "$1"
}

expect() { # METHOD NAMES
    local have
    have=$(outputs "$1-whole")
    [ "$have" = "$2" ] || fail "$1 combines '$have', wanted '$2'"
}

kill_and_go_on() { # METHOD
    local tries=0
    while [ "$tries" -lt 3 ]; do
        (train "$1" "$1-killed") >/dev/null 2>&1 &
        sleep "0.$(printf '%03d' $((RANDOM % 250)))"
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        tries=$((tries + 1))
    done
    (train "$1" "$1-killed") >log 2>&1 || { cat log; fail "$1 does not go on after a kill"; }
    [ "$(outputs "$1-whole")" = "$(outputs "$1-killed")" ] || fail "$1: a killed run combines other members"
    for name in $(outputs "$1-whole"); do
        cmp "$1-whole/members/$name/logits.npy" "$1-killed/members/$name/logits.npy" || fail "$1: $name after kills"
    done
}

for method in snapshot swa swap soup edde; do
    (train "$method" "$method-whole") >log 2>&1 || { cat log; fail "$method"; }
    kill_and_go_on "$method"
    gnntrain predict "$method-whole" --data graph.h5 -o "$method.csv" -q >/dev/null || fail "$method: predict"
    [ "$(wc -l <"$method.csv")" = 241 ] || fail "$method: $(wc -l <"$method.csv") lines of predictions"
    cp "$method-whole/report.json" before.json
    gnntrain ensemble report "$method-whole" -q >/dev/null || fail "$method: report"
    "${GNT_PYTHON:-python3}" - before.json "$method-whole/report.json" <<'PYTHON' || fail "$method: report differs from the run's"
import json, sys
a, b = (json.load(open(path)) for path in sys.argv[1:])
for key in ("members", "ensemble", "combine"):
    assert a[key] == b[key], (key, a[key], b[key])
PYTHON
done
expect snapshot "m00-s1 m00-s2 m00-s3 m00-s4 m01-s1 m01-s2 m01-s3 m01-s4 m02-s1 m02-s2 m02-s3 m02-s4"
expect swa "m00-swa m01-swa m02-swa"
expect swap "m00 m01 m02 swap"
expect soup "m00 m01 m02 soup"
expect edde "m00 m01 m02"

# a mean and a snapshot are runs like any other: their folder is what eval reads
gnntrain eval swap-whole/members/swap --json >eval.json || fail "eval of a mean"

# EDDE: later members train half the epochs
[ "$(wc -l <edde-whole/members/m00/metrics.jsonl)" = 24 ] || fail "first member of edde"
[ "$(wc -l <edde-whole/members/m01/metrics.jsonl)" = 12 ] || fail "second member of edde"

refused() { # SPEC TEXT
    if gnntrain ensemble plan "$1.yaml" graph.h5 >out 2>err; then fail "$1 was taken"; fi
    grep -q "$2" err || { cat err; fail "$1: no '$2'"; }
}
spec soup 'vary:' '  - { key: model, values: ["gcn:8, gcn", "gcn:9, gcn"] }'
sed -i 1d soup.yaml
refused soup "one model"
sed -i 's/lr: 0.02/lr: 0.02, schedule: cosine/' snapshot.yaml
refused snapshot "schedule of its own"
sed -i 's/lr: 0.02/lr: 0.02, patience: 5/' swa.yaml
refused swa "no patience"
sed -i 's/count: 3/count: 1/' swap.yaml
refused swap "2 or more workers"
echo "ok"
