#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium, cost: 20
# timeout: 400
# Any one of two to four MPI processes is killed at ten random moments: the others end, no file is damaged, and the same line
# goes on at another size to the same bits. `tools/kill-test.sh 50 "" 4` is the long form.
set -euo pipefail
cd "$GNT_SOURCE_DIR"
command -v mpirun >/dev/null || { echo "SKIP: no mpirun"; exit 77; }
tools/kill-test.sh 10 "$(date +%s)" 4
