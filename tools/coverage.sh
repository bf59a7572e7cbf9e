#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Line coverage of the library and the command by the short and medium tests: a table, and pages in build/coverage/html.
#
#   tools/coverage.sh [LABEL-REGEX]      (default ^(short|medium)$)
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install-deps.sh --no-install build check dev
cmake --preset coverage >/dev/null
cmake --build --preset coverage | tail -1
find build/coverage -name '*.gcda' -delete
ctest --test-dir build/coverage -L "${1:-^(short|medium)$}" -j "$(nproc)" | tail -3 || echo "some tests failed: their lines count all the same"
mkdir -p build/coverage/html
gcovr -j "$(nproc)" --root . --object-directory build/coverage --exclude 'tests/' --exclude 'examples/' --exclude 'bench/' \
    --exclude 'build/' --html-details build/coverage/html/index.html --print-summary \
    --txt build/coverage/table.txt
echo "lines never run, by file (all of them: $PWD/build/coverage/table.txt):"
awk 'NF >= 4 && $4 ~ /%$/ && $1 != "TOTAL" { print $2 - $3, "of", $2, $1 }' build/coverage/table.txt | sort -rn | sed -n 1,25p
echo "pages: $PWD/build/coverage/html/index.html"
