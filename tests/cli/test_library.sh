#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# docs/library.md tells the truth: each block of C stands line by line in a file of examples/, and those programs run.
source "$(dirname "$0")/support.sh"

"$GNT_PYTHON" - "$GNT_SOURCE_DIR" <<'P' || fail "a block of docs/library.md stands in no file of examples/"
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
files = ["\n" + f.read_text() for f in sorted(root.glob("examples/*.c"))]
blocks = re.findall(r"^```c\n(.*?)^```", (root / "docs/library.md").read_text(), re.M | re.S)
missing = [b for b in blocks if not any("\n" + b in f for f in files)]
print(*missing, sep="---\n")
sys.exit(bool(missing) or len(blocks) < 6)
P
bin=$(dirname "$GNNTRAIN")
[ -e "$bin/ensemble" ] || { echo "SKIPPED: the examples are not built"; exit 77; }
run 0 generate karate -o karate.h5
"$bin/train_gin" karate.h5 'gin:8, linear' >out 2>err || fail "train_gin"
out_has "epoch   1" "test "

for go in first again; do # the second call finds all of it done
    "$bin/ensemble" karate.h5 spec.yaml run >"$go" 2>err || fail "ensemble, $go"
done
cp first out
out_has "4 of 4 members" "4 members combined" "row 2:"
[ "$(grep '^row' first)" = "$(grep '^row' again)" ] || fail "the second call predicts otherwise"

# the values in memory are those of the file
run 0 predict run --what probabilities -o p.csv
"$GNT_PYTHON" - first p.csv <<'P' || fail "the program's values are not those of predict"
import csv, sys
rows = [line.split()[2:] for line in open(sys.argv[1]) if line.startswith("row")]
table = list(csv.DictReader(open(sys.argv[2])))
for i, values in enumerate(rows):
    file = [float(v) for k, v in table[i].items() if k.startswith("probability")]
    assert len(file) == len(values) and all(abs(float(a) - b) < 6e-5 for a, b in zip(values, file)), (i, values, file)
assert len(rows) == 3
P
cp karate.h5 bad.yaml # no spec
code=0
"$bin/ensemble" karate.h5 bad.yaml bad-run >out 2>err || code=$?
[ $code -eq 1 ] || fail "exit code $code of a program whose spec is none"
err_has "ensemble: " "bad.yaml"
echo "docs/library.md and its programs: all as expected"
