#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: long
# timeout: 900
# Resume after kill -9 at fifty random moments.
set -euo pipefail
cd "$GNT_SOURCE_DIR"
tools/kill-test.sh 50
