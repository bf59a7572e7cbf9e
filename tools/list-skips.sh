#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints what the last ctest run of a build folder skipped, so that a missing folder of data does not pass unseen.
#
#   tools/list-skips.sh BUILD
set -euo pipefail

log=${1:?usage: tools/list-skips.sh BUILD}/Testing/Temporary/LastTest.log
skips=$(grep -ahE '^SKIPPED: |^\[  SKIPPED \] [a-z]' "$log" | sort | uniq -c | sort -rn || true)
if [ -n "$skips" ]; then
    printf 'skipped:\n%s\n' "$skips"
fi
