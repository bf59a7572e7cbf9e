#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What command tests share; sourced. A test runs in a folder of its own that goes away with it, with no file or variable of
# the user's in its way.
set -euo pipefail

work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
cd "$work"
export HOME=$work XDG_CONFIG_HOME=$work/config NO_COLOR=1 TERM=dumb
for name in $(compgen -e | grep '^GNNTRAIN_' || true); do unset "$name"; done

fail() {
    echo "FAILED: $*"
    echo "--- stdout"; head -50 "$work/out" 2>/dev/null || true
    echo "--- stderr"; head -50 "$work/err" 2>/dev/null || true
    exit 1
}

# run CODE ARGUMENT...: runs gnntrain, keeps its stdout and stderr in out and err, compares the exit code.
run() {
    local expected=$1 code=0
    shift
    "$GNNTRAIN" "$@" >"$work/out" 2>"$work/err" || code=$?
    [ $code -eq "$expected" ] || fail "exit code $code, expected $expected: gnntrain $*"
}

# The whole of stdout or stderr, a glob pattern.
# shellcheck disable=SC2053
out_is() { [[ $(cat "$work/out") == $1 ]] || fail "stdout is not: $1"; }
# shellcheck disable=SC2053
err_is() { [[ $(cat "$work/err") == $1 ]] || fail "stderr is not: $1"; }

# Each text is somewhere in it.
out_has() { local text; for text; do grep -qF -- "$text" "$work/out" || fail "stdout lacks: $text"; done; }
err_has() { local text; for text; do grep -qF -- "$text" "$work/err" || fail "stderr lacks: $text"; done; }
err_lacks() { local text; for text; do ! grep -qF -- "$text" "$work/err" || fail "stderr has: $text"; done; }

# json EXPRESSION: of the JSON on stdout, by Python: json 'x["num_nodes"] == 34'
json() { python3 -c "import json, sys; x = json.load(open('$work/out')); sys.exit(not ($1))" || fail "not so: $1"; }
