#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a training run with SIGKILL at N random moments and continues it with the same line each time. Demands that no file
# of the run folder is ever damaged and that the weights at the end equal those of an undisturbed run, bit for bit.
#
#   tools/kill-test.sh [N [SEED]]        (default 10 kills; GNNTRAIN names the command, else the release or dev build)
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${1:-10}
seed=${2:-$(date +%s)}
RANDOM=$seed
echo "seed $seed"
gnntrain=${GNNTRAIN:-build/release/bin/gnntrain}
[ -x "$gnntrain" ] || gnntrain=build/dev/bin/gnntrain
python=${GNT_PYTHON:-$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)}
# in memory where possible: what a killed process leaves behind does not depend on the disk
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT

"$gnntrain" generate csbm --nodes 400 --seed 3 -o "$work/graph.h5" >/dev/null
train=("$gnntrain" train "$work/graph.h5" --model 'gcn:16:norm=batch, gcn' --dropout 0.5 --lr 0.01 --weight-decay 5e-4
    --epochs 120 --seed 7 --seeds 2 --checkpoint-every 1 --eval-every 5 --patience 1000 --threads 1)

start=$(date +%s%N)
"${train[@]}" --run "$work/whole" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
whole_ms=$((($(date +%s%N) - start) / 1000000))
echo "undisturbed: $whole_ms ms"

# Every file of a run folder must open, whatever moment the process died at.
damaged() { # RUN
    "$python" - "$1" <<'PYTHON'
import glob, json, sys
import h5py

bad = 0
for path in glob.glob(sys.argv[1] + "/**/*.h5", recursive=True):
    try:
        with h5py.File(path) as f:
            f.visititems(lambda name, item: item[()] if isinstance(item, h5py.Dataset) else None)
    except Exception as error:  # any failure to read is what is looked for
        print("damaged:", path, error)
        bad = 1
for path in glob.glob(sys.argv[1] + "/**/summary.json", recursive=True):
    try:
        json.load(open(path))
    except ValueError as error:
        print("damaged:", path, error)
        bad = 1
sys.exit(bad)
PYTHON
}

same_weights() { # RUN RUN
    "$python" - "$1" "$2" <<'PYTHON'
import glob, os, sys
import h5py
import numpy as np

def arrays(path):
    found = {}
    with h5py.File(path) as f:
        f.visititems(lambda name, item: found.__setitem__(name, item[()]) if isinstance(item, h5py.Dataset) else None)
    return {k: v for k, v in found.items() if getattr(v, "dtype", None) is not None and v.dtype.kind == "f"}

a, b = sys.argv[1:]
names = sorted(os.path.relpath(p, a) for p in glob.glob(a + "/**/*.h5", recursive=True) if "prev" not in p)
count = 0
for name in names:
    x, y = arrays(f"{a}/{name}"), arrays(f"{b}/{name}")
    if x.keys() != y.keys():
        sys.exit(f"{name}: members differ: {sorted(x.keys() ^ y.keys())}")
    for key in x:
        if "seconds" in key:
            continue
        if x[key].tobytes() != y[key].tobytes():
            sys.exit(f"{name}: '{key}' differs, largest difference {np.nanmax(np.abs(x[key] - y[key]))}")
        count += x[key].size
print(f"{count} values in {len(names)} files are equal to the bit")
sys.exit(0 if count > 0 else "no values to compare")
PYTHON
}

done_kills=0 runs=0
while [ "$done_kills" -lt "$kills" ]; do
    runs=$((runs + 1))
    run=$work/run
    rm -rf "$run"
    while :; do
        "${train[@]}" --run "$run" >"$work/log" 2>&1 &
        process=$!
        # somewhere in the first part of what is left, so that one run is killed several times
        delay_ms=$((RANDOM % (whole_ms / 3 + 20)))
        sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
        if [ "$done_kills" -lt "$kills" ] && kill -9 $process 2>/dev/null; then
            wait $process 2>/dev/null || true
            [ ! -d "$run" ] || damaged "$run"
            done_kills=$((done_kills + 1))
        else
            wait $process || { code=$?; cat "$work/log"; echo "continuing failed with exit code $code"; exit 1; }
            break
        fi
    done
    damaged "$run"
    same_weights "$work/whole" "$run"
done
echo "$done_kills kills in $runs runs: no damaged file, equal weights"
