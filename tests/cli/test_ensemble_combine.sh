#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain ensemble combine and report: runs and files of three formats become one predictor; ids in any order; test labels decide
# nothing; what cannot be combined is told with its remedy.
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

run 0 generate csbm --nodes 400 --classes 3 -o g.h5
for seed in 1 2 3; do
    run 0 train g.h5 --model 'gcn:8, gcn' --epochs 12 --seed $seed --run r$seed --quiet
done
run 0 predict r1 --what probabilities -o p1.csv
run 0 predict r2 --what probabilities -o p2.npy
run 0 predict r3 --what probabilities -o p3.h5

# a table for people: a line a member, then mean, best, ensemble
run 0 ensemble combine g.h5 p1.csv p2.npy p3.h5 -o files.csv --report page.html
out_has "p1 " "p2 " "p3 " "mean of members" "best on validation" "before temperature" "ensemble " "temperature" "disagree"
[ "$(wc -l <files.csv)" -eq 401 ] || fail "files.csv has $(wc -l <files.csv) lines"
grep -q "Disagreement of two members" page.html || fail "the page has no matrix"
! grep -qi "<script\|src=\|href=" page.html || fail "the page needs something from elsewhere"

# runs themselves predict the same
run 0 ensemble combine g.h5 r1 r2 r3 -o runs.csv --json
json 'len(x["members"]) == 3 and x["members"][0]["name"] == "r1" and x["ensemble"]["ece"] >= 0'
json 'x["ensemble"]["valid_metric"] >= x["best_member"]["valid_metric"] and abs(sum(m["weight"] for m in x["members"]) - 1) < 1e-9'
python3 - <<'P' || fail "files and runs differ"
import csv
a, b = (list(csv.reader(open(f))) for f in ("files.csv", "runs.csv"))
assert a[0] == b[0] and all(x[0] == y[0] for x, y in zip(a, b)) and len(a) == len(b)
assert max(abs(float(p) - float(q)) for x, y in zip(a[1:], b[1:]) for p, q in zip(x[1:], y[1:])) < 1e-5
P

# lines in another order are the same predictions
{ head -1 p1.csv; tail -n +2 p1.csv | sort -t, -k2; } >shuffled.csv
mv p1.csv original.csv
cp shuffled.csv p1.csv
run 0 ensemble combine g.h5 p1.csv p2.npy p3.h5 -o again.csv
cmp -s files.csv again.csv || fail "the order of lines changes predictions"

# every rule; the result can be combined again
for how in mean logits vote weighted greedy; do
    run 0 ensemble combine g.h5 p1.csv p2.npy p3.h5 --how $how -o $how.npy --json
    json 'x["combine"]["how"] == "'$how'" and x["ensemble"]["valid_metric"] >= x["best_member"]["valid_metric"]'
done
run 0 ensemble combine g.h5 mean.npy greedy.npy --temperature=off --json
json 'x["ensemble"]["temperature"] == 1 and [m["name"] for m in x["members"]] == ["mean", "greedy"]'

# equal names are told apart
mkdir -p a b
cp p2.npy a/p.npy
cp p2.npy b/p.npy
run 0 ensemble combine g.h5 a/p.npy b/p.npy --json
json 'len(set(m["name"] for m in x["members"])) == 2 and x["diversity"]["mean_disagreement"] == 0'

# what is refused
run 3 ensemble combine g.h5 p1.csv nowhere.csv
err_has "nowhere.csv"
head -300 original.csv >short.csv
run 3 ensemble combine g.h5 short.csv
err_has "short.csv" "no prediction of node" "400 nodes"
sed '7s/^\([0-9]*\),[^,]*/\1,nan/' original.csv >nan.csv
run 3 ensemble combine g.h5 p2.npy nan.csv
err_has "'nan'" "class 0" "never averaged"
run 0 predict r1 -o classes.csv
run 3 ensemble combine g.h5 classes.csv
err_has "--what probabilities"
run 2 ensemble combine g.h5 p1.csv p2.npy --rounds 10
run 2 ensemble combine g.h5 p1.csv p2.npy --start 2
err_has "--how greedy"
run 2 ensemble combine g.h5 p1.csv p2.npy --how vote --seed 3
err_has "weighted or greedy"
run 0 ensemble combine g.h5 p1.csv p2.npy --how greedy --rounds 3 --start 2 --seed 3 --json
json 'x["combine"]["rounds"] == 3 and x["combine"]["start"] == 2 and x["combine"]["seed"] == 3'
run 2 ensemble combine g.h5 p1.csv --how best
err_has "greedy"
run 2 ensemble combine g.h5
run 2 ensemble combine g.h5 p1.csv p2.npy -o p1.csv
err_has "would be overwritten"
run 2 ensemble combine g.h5 p1.csv -o out.txt
err_has ".csv, .npy, .h5"
run 3 ensemble report r1
err_has "report.json" "ensemble train"
run 0 generate csbm --nodes 400 --classes 4 -o four.h5
run 3 ensemble combine four.h5 p2.npy
err_has "4 classes"
