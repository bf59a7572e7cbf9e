#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# An ensemble after kill -9 at ten random moments. `tools/ensemble-kill-test.sh 50` is the long form.
set -euo pipefail
cd "$GNT_SOURCE_DIR"
tools/ensemble-kill-test.sh 10
