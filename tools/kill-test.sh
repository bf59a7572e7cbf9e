#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kills a training run with SIGKILL at N random moments and continues it with the same line each time. Demands that no file
# of the run folder is ever damaged and that the weights at the end equal those of an undisturbed run, bit for bit.
#
#   tools/kill-test.sh [N [SEED [RANKS]]]   (default 10 kills; GNNTRAIN names the command, else the release or dev build)
#
# With RANKS from 2 on the run is RANKS MPI processes and one of them, any, is killed: the others must be gone within a time
# limit too. Each start takes another number of ranks, from 2 to RANKS.
set -euo pipefail
# shellcheck source=tools/kill-setup.sh
. "$(dirname "$0")/kill-setup.sh" "$@"
ranks=${3:-1}
limit=20 # seconds until every process of a broken job must be gone

"$gnntrain" generate csbm --nodes 400 --seed 3 -o "$work/graph.h5" -q >/dev/null
train=("$gnntrain" train "$work/graph.h5" --model 'gcn:16:norm=batch, gcn' --dropout 0.5 --lr 0.01 --weight-decay 5e-4
    --epochs 120 --seed 7 --seeds 2 --checkpoint-every 1 --eval-every 5 --patience 1000 --threads 1)

launch=()
if [ "$ranks" -gt 1 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    "$gnntrain" partition "$work/graph.h5" --chunks 8 -o "$work/graph.part.h5" -q >/dev/null
    train+=(--partition "$work/graph.part.h5" --deterministic bitwise --wait-limit 10)
fi
next_launch() { [ "$ranks" -lt 2 ] || launch=(mpirun -n $((2 + RANDOM % (ranks - 1)))); }
# The process to kill: the run itself, or any one of its ranks. What mpirun has forked but not yet turned into a rank is none:
# mpirun waits for it forever.
victim() { # PROCESS
    local child
    if [ "$ranks" -lt 2 ]; then
        echo "$1"
        return
    fi
    for child in $(pgrep -P "$1" || true); do
        [ ! "/proc/$child/exe" -ef "$gnntrain" ] || echo "$child"
    done | shuf -n 1
}
# Every rank of a broken job ends by itself. Open MPI 4.1's mpirun can stay behind, deadlocked in its PMIx server, when a rank dies in
# the handshake of its start (1 in 80 kills within the first 100 ms): it has no rank left then, is ended and counted.
left_behind=0
ranks_alive() { # PROCESS: those of the run, without zombies and without the launcher itself
    local p
    for p in $(pgrep -f -- "--run $work/run" || true); do
        [ "$p" -eq "$1" ] && [ "$ranks" -gt 1 ] || [ ! -e "/proc/$p/exe" ] || echo "$p"
    done
}
gone() { # PROCESS
    local until=$(($(date +%s) + limit))
    while kill -0 "$1" 2>/dev/null || [ -n "$(ranks_alive "$1")" ]; do
        if [ "$(date +%s)" -ge $until ]; then
            [ "$ranks" -gt 1 ] && [ -z "$(ranks_alive "$1")" ] || { echo "still there $limit s after a kill:"; pgrep -af -- "--run $work/run"; exit 1; }
            left_behind=$((left_behind + 1))
            kill -9 "$1"
        fi
        sleep 0.1
    done
}

start=$(date +%s%N)
next_launch
"${launch[@]}" "${train[@]}" --run "$work/whole" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
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
        next_launch
        "${launch[@]}" "${train[@]}" --run "$run" >"$work/log" 2>&1 &
        process=$!
        # somewhere in the first part of what is left, so that one run is killed several times
        delay_ms=$((RANDOM % (whole_ms / 3 + 20)))
        sleep "$(printf '%d.%03d' $((delay_ms / 1000)) $((delay_ms % 1000)))"
        target=$(victim $process)
        if [ "$done_kills" -lt "$kills" ] && [ -n "$target" ] && kill -9 "$target" 2>/dev/null; then
            gone $process
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
[ $left_behind -eq 0 ] || echo "mpirun stayed behind its dead ranks $left_behind times and was ended"
[ $((10 * left_behind)) -le "$((kills > 10 ? kills : 10))" ] || { echo "that is more than its start explains"; exit 1; }
echo "$done_kills kills in $runs runs: no damaged file, equal weights"
