#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# What estimate foretells of several devices: rows, halo and allocator's bytes of each as the run has them, the process within 15 %
# and 16 MiB, a device that is too small, what is said where no partition tells the halo; and devices left out by speed.
source "$(dirname "$0")/support.sh"

run 0 generate grid --rows 200 --columns 200 --features 64 --classes 4 -o grid.h5
run 0 generate csbm --nodes 20000 --features 48 --degree 10 --seed 1 -o sbm.h5
run 0 generate csbm --nodes 60000 --features 8 --degree 20 --seed 1 -o large.h5
run 0 partition grid.h5 --chunks 32 -o grid.part.h5

compare() { # FILE OPTION...
    python3 - "$@" <<'P' || fail "estimate of $*"
import json, os, subprocess, sys
command, words, mib = os.environ["GNNTRAIN"], sys.argv[1:], 2**20
told = json.loads(subprocess.run([command, "estimate", *words, "--json"], capture_output=True, check=True).stdout)
p = subprocess.Popen([command, "train", *words, "--epochs", "2", "--run", "run", "--resume", "never"],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, used = os.wait4(p.pid, 0)
assert os.waitstatus_to_exitcode(status) == 0
ranks, bad = json.load(open("run/summary.json"))["ranks"], 0
assert "assumed" not in told and told["fits"] and len(ranks) == len(told["devices"])
for device, rank in zip(told["devices"], ranks):
    bad += device["rows"] != rank["rows"] or device["halo_rows"] != rank["halo_rows"] or device["arcs"] != rank["arcs"]
    bad += abs(device["device_bytes"] - rank["device_bytes"]) > 0.02 * rank["device_bytes"] + 8192
    bad += not device["seconds"] > 0
    print(f"  device {device['device']}: {device['rows']} rows, told {device['device_bytes']}, took {rank['device_bytes']}")
peak, sanitized = used.ru_maxrss * 1024, bool(os.environ.get("ASAN_OPTIONS", "") + os.environ.get("TSAN_OPTIONS", ""))
print(f"{' '.join(words)}: told {told['total_bytes'] / mib:.1f} MiB, measured {peak / mib:.1f} MiB")
bad += not sanitized and abs(told["total_bytes"] - peak) > 0.15 * peak + 16 * mib
sys.exit(bad != 0)
P
}
compare grid.h5 --model 'gcn:64, gcn' --partition grid.part.h5 --devices 3
compare grid.h5 --model 'sage:32, sage' --dropout 0.5 --partition grid.part.h5 \
    --devices 'cpu:clock=virtual,speed=3;cpu:clock=virtual,mem=6M'
compare sbm.h5 --model 'gcn:32:norm=batch, gcn' --seeds 3 --devices 2
compare sbm.h5 --model 'gat:8:heads=4, gat' --devices 2 --chunks 16

# a limit that no share keeps: the estimate tells by how much, the run is refused with the device
few='cpu:mem=2M;cpu:mem=2M'
run 0 estimate grid.h5 --model 'gcn:64, gcn' --partition grid.part.h5 --devices "$few" --json
json 'x["fits"] is False and not x["devices"][0]["fits"] and x["devices"][0]["limit_bytes"] == 2**21 and "device 0 needs" in x["knobs"][0]'
run 4 train grid.h5 --model 'gcn:64, gcn' --partition grid.part.h5 --devices "$few" --epochs 1
err_has 'bytes for its share of the graph but has a limit of 2097152 bytes: raise its mem, add more devices'
# a device with little memory gets little
run 0 estimate grid.h5 --model 'gcn:64, gcn' --partition grid.part.h5 --devices 'cpu;cpu:mem=3M' --json
json 'x["fits"] and x["devices"][1]["device_bytes"] <= 3 * 2**20 and x["devices"][0]["rows"] > 5 * x["devices"][1]["rows"]'

# links so slow that one device alone is faster, and a device so slow that it is in the way
slow='cpu:clock=virtual,noise=0,latency=0.1;cpu:clock=virtual,noise=0,latency=0.1'
run 0 estimate grid.h5 --model 'gcn:64, gcn' --partition grid.part.h5 --devices "$slow" --json
json 'sorted(d["rows"] for d in x["devices"]) == [0, 40000]'
run 0 estimate grid.h5 --model 'gcn:64, gcn' --partition grid.part.h5 \
    --devices 'cpu:clock=virtual;cpu:clock=virtual;cpu:clock=virtual,speed=0.01' --json
json '[d["rows"] > 0 for d in x["devices"]] == [True, True, False]'

# no partition and many arcs: an assumption, which is said
run 0 estimate large.h5 --model 'gcn:16, gcn' --devices 4 --json
json '"halo" in x["assumed"] and all(d["halo_rows"] == d["rows"] for d in x["devices"])'
run 0 estimate sbm.h5 --model 'gcn:16, gcn' --devices 2 --run run-none
[ ! -e run-none ] || fail "an estimate has written a folder"
# one device with a limit has the whole graph: what is told fits, a hundredth less does not
run 0 generate csbm --nodes 2000 -o limit.h5
for model in 'gcn:16, gcn' 'sage:16, sage'; do
    run 0 estimate limit.h5 --model "$model" --seeds 7 --dropout 0.5 --devices 'cpu:mem=1G' --json
    told=$(python3 -c 'import json; print(json.load(open("out"))["devices"][0]["device_bytes"])')
    run 0 train limit.h5 --model "$model" --seeds 7 --dropout 0.5 --epochs 3 --devices "cpu:mem=$told" --quiet
    run 4 train limit.h5 --model "$model" --seeds 7 --dropout 0.5 --epochs 3 --devices "cpu:mem=$((told * 99 / 100))" --quiet
done
echo "estimate of ranks: all as expected"
