#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: long
# timeout: 900
# An ensemble after kill -9 at fifty random moments.
set -euo pipefail
cd "$GNT_SOURCE_DIR"
tools/ensemble-kill-test.sh 50
