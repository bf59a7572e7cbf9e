#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# On a terminal: a bar that is written over, colours unless NO_COLOR; in a file or pipe: plain lines without any control
# character. A reader that leaves early is no failure, a full device is.
source "$(dirname "$0")/support.sh"
command -v python3 >/dev/null || { echo "SKIPPED: no python3 to make a terminal with"; exit 77; }

run 0 generate karate -o karate.h5
line=(train karate.h5 --epochs 300 --seed 1)

# terminal OUT WORD...: runs gnntrain with its stderr on a pseudo terminal, what came there goes to OUT
terminal() {
    python3 - "$@" <<'P'
import os, pty, subprocess, sys
master, slave = pty.openpty()
p = subprocess.Popen([os.environ["GNNTRAIN"], *sys.argv[2:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
text = b""
while True:
    try:
        piece = os.read(master, 65536)
    except OSError:
        break
    if not piece:
        break
    text += piece
p.wait()
open(sys.argv[1], "wb").write(text)
P
}

export TERM=xterm
unset NO_COLOR
terminal seen "${line[@]}"
grep -q $'\r\033\\[K#' seen || fail "no bar on a terminal"
grep -q 'ETA' seen || fail "no ETA on a terminal"
terminal seen train absent.h5
grep -q $'\033\\[1;31merror:' seen || fail "no colour on a terminal"
NO_COLOR=1 terminal seen train absent.h5
! grep -q $'\033' seen || fail "colour in spite of NO_COLOR"
TERM=dumb terminal seen "${line[@]}"
! grep -q $'\033' seen || fail "control characters on a dumb terminal"
terminal seen "${line[@]}" --quiet
! grep -q ETA seen || fail "--quiet still shows progress"

run 0 "${line[@]}"
! LC_ALL=C grep -q $'[\033\r]' err || fail "control characters in a log"
err_has "epoch 1/300" "epoch 300/300"

"$GNNTRAIN" --man 2>err | head -1 >out || true
err_is ""
if [ -e /dev/full ]; then
    code=0
    "$GNNTRAIN" info karate.h5 >/dev/full 2>err || code=$?
    [ $code -eq 4 ] || fail "a full device gives exit code $code, expected 4"
    err_has "standard output" "space"
fi
echo "terminal: all as expected"
