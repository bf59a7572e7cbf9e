#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Folders that may not be written, files that may not be read: the exit code of users' manual, a message with the path and
# the reason, nothing left behind. Root may write everywhere, so as root the test goes on as nobody.
set -euo pipefail

if [ "$(id -u)" -eq 0 ]; then
    command -v setpriv >/dev/null || { echo "SKIPPED: root, and no setpriv to become somebody else"; exit 77; }
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$GNNTRAIN" ||
        { echo "SKIPPED: the build folder is closed to others"; exit 77; }
    exec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/tmp bash "$0"
fi
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT

fail() { echo "FAILED: $*"; cat "$work/err"; exit 1; }
run() { # EXPECTED-CODE TEXT COMMAND...
    local expected=$1 text=$2 code=0
    shift 2
    "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code -eq "$expected" ] || fail "exit code $code, expected $expected: $*"
    grep -qi -- "$text" "$work/err" || [ -z "$text" ] || fail "the message lacks '$text'"
}

run 0 '' "$GNNTRAIN" generate karate -o "$work/karate.h5"
mkdir "$work/closed" "$work/readonly"
cp "$work/karate.h5" "$work/readonly/karate.h5"
chmod 555 "$work/readonly"
chmod 000 "$work/closed"
cp "$work/karate.h5" "$work/secret.h5"
chmod 000 "$work/secret.h5"

run 4 'permission denied' "$GNNTRAIN" generate karate -o "$work/readonly/new.h5"
run 3 'permission denied' "$GNNTRAIN" info "$work/secret.h5"
run 3 'permission denied' "$GNNTRAIN" train "$work/closed/karate.h5" --model gcn --epochs 1 --run "$work/run"
run 3 'no such file' "$GNNTRAIN" info "$work/absent.h5"

# data in a folder that may only be read is fine, and nothing is written beside it
run 0 '' "$GNNTRAIN" info "$work/readonly/karate.h5"
run 0 '' "$GNNTRAIN" train "$work/readonly/karate.h5" --model 'gcn:4, gcn' --epochs 2 --seed 1 --run "$work/run"
[ "$(ls -A "$work/readonly")" = karate.h5 ] || fail "something was written beside the data"

# a partition goes beside the data unless told otherwise, and says at once that it cannot
run 4 'permission denied' "$GNNTRAIN" partition "$work/readonly/karate.h5" --chunks 2
run 4 'permission denied' "$GNNTRAIN" partition "$work/karate.h5" --chunks 2 --rewrite "$work/readonly/new.h5"
[ ! -e "$work/karate.k2.part.h5" ] || fail "the partition was made all the same"
run 0 '' "$GNNTRAIN" partition "$work/readonly/karate.h5" --chunks 2 -o "$work/p.h5"
run 3 'permission denied' "$GNNTRAIN" partition "$work/secret.h5" --chunks 2 -o "$work/p.h5"

# a run folder that may not be written is a matter of usage, told before anything is computed
run 2 'permission denied' "$GNNTRAIN" train "$work/karate.h5" --model gcn --epochs 1 --run "$work/readonly/run"
printf 'model: "gcn:4, gcn"\ntrain: { epochs: 1 }\n' >"$work/spec.yaml"
for folder in "$work/readonly/run" "$work/readonly" "$work/karate.h5"; do
    run 2 'name another run folder' "$GNNTRAIN" ensemble train "$work/spec.yaml" "$work/karate.h5" --run "$folder"
done
# an ensemble that may only be read answers all the same
run 0 '' "$GNNTRAIN" ensemble train "$work/spec.yaml" "$work/karate.h5" --run "$work/ensemble"
chmod -R a-w "$work/ensemble"
run 0 '' "$GNNTRAIN" predict "$work/ensemble" -o "$work/p.csv"
run 0 '' "$GNNTRAIN" ensemble combine "$work/karate.h5" "$work/ensemble"
run 0 'not written anew: .*permission denied' "$GNNTRAIN" ensemble report "$work/ensemble"
grep -q '^combination ' "$work/out" || fail "a report that cannot be written is not printed"
chmod -R u+w "$work/ensemble"
echo "no permission: all as expected"
