#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A full disk: exit code 4, a message that says so, nothing half-written under the final name, old files intact.
# Needs a small file system of its own: a tmpfs in a user and mount namespace; skipped where that is not allowed.
set -euo pipefail

if [ "${1:-}" != inside ]; then
    unshare --user --map-root-user --mount true 2>/dev/null || { echo "SKIPPED: no mount namespace here"; exit 77; }
    exec unshare --user --map-root-user --mount bash "$0" inside
fi
work=$(mktemp -d)
disk=$work/disk
mkdir "$disk"
mount -t tmpfs -o size=512k tmpfs "$disk" || { echo "SKIPPED: no tmpfs here"; exit 77; }
trap 'umount "$disk"; rm -rf "$work"' EXIT

fail() { echo "FAILED: $*"; cat "$work/err"; exit 1; }
run() { # EXPECTED-CODE COMMAND...
    local expected=$1 code=0
    shift
    "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code -eq "$expected" ] || fail "exit code $code, expected $expected: $*"
}
fill() { dd if=/dev/zero of="$disk/ballast" bs=4k count=1000 2>/dev/null || true; }

run 0 "$GNNTRAIN" generate csbm --nodes 4000 --seed 1 -o "$work/big.h5"
run 0 "$GNNTRAIN" generate karate -o "$disk/keep.h5"
cp "$disk/keep.h5" "$work/keep.h5"

# a dataset that does not fit
run 4 "$GNNTRAIN" generate csbm --nodes 20000 --seed 1 -o "$disk/big.h5"
grep -qi 'space' "$work/err" || fail "the message does not speak of space"
[ ! -e "$disk/big.h5" ] || fail "a half-written file lies under the final name"
[ "$(find "$disk" -type f | wc -l)" -eq 1 ] || fail "temporary files are left: $(ls -A "$disk")"

# replacing an old file fails: the old one stays
fill
run 4 "$GNNTRAIN" generate csbm --nodes 20000 --seed 1 -o "$disk/keep.h5"
cmp "$disk/keep.h5" "$work/keep.h5" || fail "the old file is damaged"
rm -f "$disk/ballast"

# a partition, its picture, the dataset in chunk order
run 0 "$GNNTRAIN" partition "$work/big.h5" --chunks 8 -o "$disk/old.part.h5"
cp "$disk/old.part.h5" "$work/old.part.h5"
fill
run 4 "$GNNTRAIN" partition "$work/big.h5" --chunks 4 -o "$disk/old.part.h5"
cmp "$disk/old.part.h5" "$work/old.part.h5" || fail "the old partition is damaged"
run 4 "$GNNTRAIN" partition "$work/big.h5" --chunks 4 -o "$work/new.part.h5" --picture "$disk/new.svg"
[ ! -e "$disk/new.svg" ] || fail "half a picture lies under the final name"
rm -f "$disk/ballast"
run 4 "$GNNTRAIN" partition "$work/big.h5" --chunks 4 -o "$work/new.part.h5" --rewrite "$disk/new.h5"
[ ! -e "$disk/new.h5" ] || fail "half a dataset lies under the final name"
[ -z "$(find "$disk" -name '.*' -type f)" ] || fail "temporary files are left: $(ls -A "$disk")"
rm -f "$disk/old.part.h5"

# a run folder that fills up: exit 4, and the last checkpoint still resumes once there is room
run 0 "$GNNTRAIN" train "$work/big.h5" --model 'gcn:8, gcn' --epochs 2 --seed 1 --checkpoint-every 1 --run "$disk/run"
fill
run 4 "$GNNTRAIN" train "$work/big.h5" --model 'gcn:8, gcn' --epochs 4 --seed 1 --checkpoint-every 1 --run "$disk/run"
rm -f "$disk/ballast"
run 0 "$GNNTRAIN" train "$work/big.h5" --model 'gcn:8, gcn' --epochs 4 --seed 1 --checkpoint-every 1 --run "$disk/run"

# predictions that do not fit
fill
run 4 "$GNNTRAIN" predict "$disk/run" -o "$disk/predictions.csv"
[ ! -s "$disk/predictions.csv" ] || fail "half of the predictions lie under the final name"

# disks that fill up at every place of a run's files: never a crash, nothing temporary left
for kib in 8 24 40 48 56 64 72 80 88 96; do
    umount "$disk"
    mount -t tmpfs -o size=${kib}k tmpfs "$disk"
    run 4 "$GNNTRAIN" train "$work/big.h5" --model 'gcn:64, gcn' --epochs 200 --seed 1 --run "$disk/run"
    [ "$(grep -c 'No space left on device' "$work/err")" -eq 1 ] || fail "the message is not one line"
    [ -z "$(find "$disk" -name '.*' -type f)" ] || fail "temporary files are left: $(ls -A "$disk/run")"
done
echo "disk full: all as expected"
