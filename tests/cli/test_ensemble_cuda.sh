#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# An ensemble on the stand-in's CUDA devices, alone and mixed with the processor, and after the loss of one: the same bits
# on one kind of device.
. "$(dirname "$0")/support.sh"

plugin=$GNT_BINARY_DIR/lib/hostcuda/libgnntrain-cuda.so
[ -e "$plugin" ] || { echo "no stand-in in this build"; exit 77; }
export GNNTRAIN_PLUGIN_DIR=${plugin%/*} HOSTCUDA_DEVICES=64M,64M

run 0 generate csbm --nodes 80 --seed 3 -o graph.h5 -q
cat >spec.yaml <<'YAML'
train: { epochs: 8, dropout: 0.5 }
seed: 1
count: 2
vary:
  - { key: model, values: ["gcn:8, gcn", "sage:4, sage"] }
YAML
train() { run 0 ensemble train spec.yaml graph.h5 --deterministic bitwise --checkpoint-every 2 -q "$@"; }
ended() { [ "$(grep -c '"event":"ended"' "$1/journal.jsonl")" -eq 4 ] || fail "$1: not every member ended once"; }
same() {
    local member
    for member in m00 m01 m02 m03; do
        cmp "one/members/$member/logits.npy" "$1/members/$member/logits.npy" || fail "$1: $member differs"
    done
    ended "$1"
}

train --devices cuda:0 --run one
train --devices cuda:0-1 --run cuda
same cuda
# groups that share a device take turns at step ends and have the memory of their steps in common
{ cat spec.yaml && echo 'foreground: [m00]'; } >shared.yaml
run 0 ensemble train shared.yaml graph.h5 --deterministic bitwise --checkpoint-every 2 -q --devices cuda:0 --run shared
same shared
train --devices 'cuda:1;cpu:threads=1' --run mixed
ended mixed

# the plan sees the device's own memory; one that is not there, or too small for all, is told before anything runs
run 0 ensemble plan spec.yaml graph.h5 --devices 'cuda:0;cpu:threads=1' --json
json 'x["devices"][0]["limit_bytes"] == 64 << 20 and "limit_bytes" not in x["devices"][1]'
run 2 ensemble plan spec.yaml graph.h5 --devices cuda:0-2
err_has "there is no cuda device 2, there are 2"
run 2 ensemble train spec.yaml graph.h5 --devices cuda:0-2 --run none
err_has "there is no cuda device 2, there are 2"
HOSTCUDA_DEVICES=16K,64M train --devices cuda:0-1 --run small
ended small
! grep -F '"event":"failed"' small/journal.jsonl || fail "the first device has no room, but was given a group"
HOSTCUDA_DEVICES=16K run 4 ensemble train spec.yaml graph.h5 --devices cuda:0 --run none
err_has "member m0" "the largest device has"
HOSTCUDA_DEVICES=16K run 4 ensemble plan spec.yaml graph.h5 --devices cuda:0
err_has "member m0" "the largest device has 16384"
HOSTCUDA_DEVICES=16K run 0 ensemble plan spec.yaml graph.h5 --devices 'cuda:0;cpu:threads=1' --json
json 'x["devices"][0]["busy_seconds"] == 0 and x["devices"][1]["busy_seconds"] > 0'

for at in 40 90; do
    HOSTCUDA_FAIL=lost:1:$at train --devices cuda:0-1 --run "lost-$at"
    same "lost-$at"
    grep -F '"event":"device-lost","device":1' "lost-$at/journal.jsonl" >/dev/null || fail "device 1 was not lost ($at)"
done

# a device that is lost while the ensemble predicts: the other one has the whole answer
run 0 predict one -o whole.csv --what probabilities --devices cuda:0 -q
for at in 1 20 60; do
    HOSTCUDA_FAIL=lost:1:$at run 0 predict one -o lost.csv --what probabilities --devices cuda:0-1 --json
    err_has "device 1 (cuda:1) was lost"
    json 'x["lost"][0]["device"] == 1'
    cmp whole.csv lost.csv || fail "another answer after a loss ($at)"
done
HOSTCUDA_DEVICES=64M HOSTCUDA_FAIL=lost:0:20 run 5 predict one -o none.csv --devices cuda:0
err_has "no device is left to predict on"
