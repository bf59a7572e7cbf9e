#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# Resume after kill -9 at ten random moments. `tools/kill-test.sh 50` is the long form.
set -euo pipefail
cd "$GNT_SOURCE_DIR"
tools/kill-test.sh 10
