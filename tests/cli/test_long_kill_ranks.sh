#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: long
# timeout: 900
# Fifty kills of any one rank of two to four MPI processes; test_kill_ranks.sh is the short form.
set -euo pipefail
cd "$GNT_SOURCE_DIR"
command -v mpirun >/dev/null || { echo "SKIP: no mpirun"; exit 77; }
tools/kill-test.sh 50 "$(date +%s)" 4
