#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the README's tour, its "own data", its ensemble and its devices block as printed, with small files under the names that they use.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$(dirname "$GNNTRAIN"):$PATH

# The text of the N-th fenced block of kind sh, without the line that sets PATH; epochs cut to keep the test short.
block() {
    awk -v wanted="$1" '/^```sh/ { n++; inside = n == wanted; next } /^```/ { inside = 0 } inside' \
        "$GNT_SOURCE_DIR/README.md" | grep -v '^export PATH' | sed -E 's/--epochs [0-9]+/--epochs 20/; s/--seeds 10/--seeds 2/'
}

cd "$work"
block 1 >tour.sh
[ "$(wc -l <tour.sh)" -ge 4 ]
bash -e tour.sh
[ "$(wc -l <predictions.csv)" -ge 34 ]

# a ring of 60 people in two groups
for i in $(seq 0 59); do echo "p$i p$(((i + 1) % 60))"; done >graph.txt
{ echo "id,a,b"; for i in $(seq 0 59); do echo "p$i,$((i % 2)).5,$((i < 30))"; done; } >x.csv
{ echo "id,label"; for i in $(seq 0 59); do echo "p$i,$([ "$i" -lt 30 ] && echo left || echo right)"; done; } >y.csv
block 2 >own.sh
[ "$(wc -l <own.sh)" -ge 4 ]
bash -e own.sh
grep -q '"test_metric"\|"mean"' mine-run/summary.json
block 3 | sed 's/epochs: 200/epochs: 20/' >ensemble.sh
[ "$(wc -l <ensemble.sh)" -ge 8 ]
bash -e ensemble.sh
grep -q '"ensemble"' mine-ensemble/summary.json
[ -s mine-ensemble/report.html ]
block 4 | sed 's/$/ --epochs 5/' >devices.sh
[ "$(wc -l <devices.sh)" -ge 1 ]
bash -e devices.sh
grep -q '"ranks"' two/summary.json
