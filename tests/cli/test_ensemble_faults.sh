#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong around ensembles, as a user meets it: datasets and files that were moved, changed, named twice or are gone.
. "$(dirname "$0")/support.sh"

run 0 generate csbm --nodes 200 --seed 3 -o graph.h5 -q
run 0 generate csbm --nodes 200 --seed 4 -o other.h5 -q
cat >spec.yaml <<'YAML'
model: "gcn:8, gcn"
train: { epochs: 10, dropout: 0.5 }
seed: 1
vary:
  - { key: drop-features, values: [0, 0.2] }
YAML
run 0 ensemble train spec.yaml graph.h5 --run e -q

# a run may be asked from any folder; a file of the same name that is there is another one
mkdir away
cp other.h5 away/graph.h5
for what in 'predict ../e -o p.csv' 'predict ../e/members/m00 -o p.csv' 'eval ../e' 'ensemble report ../e' \
    'ensemble train ../spec.yaml ../graph.h5 --run ../e'; do
    # shellcheck disable=SC2086
    (cd away && run 0 $what) || exit 1
done

# moved, or changed: what it was, and what to do
mv graph.h5 moved.h5
for what in 'predict e -o p.csv' 'predict e/members/m00 -o p.csv' 'eval e' 'ensemble report e'; do
    # shellcheck disable=SC2086
    run 3 $what
    err_has "$work/graph.h5" "--data says where it is now"
    # shellcheck disable=SC2086
    run 0 $what --data moved.h5
done
cp other.h5 graph.h5
for what in 'predict e -o p.csv' 'predict e/members/m00 -o p.csv' 'eval e' 'ensemble report e'; do
    # shellcheck disable=SC2086
    run 3 $what
    err_has "has changed since the training" "sha256 was" "--data"
done
mv moved.h5 graph.h5

# one file counts once, whatever it is called; copies are told of
run 0 predict e/members/m00 --what probabilities -o a.csv
run 0 predict e/members/m01 --what probabilities -o c.csv
cp a.csv copy.csv
ln -s a.csv soft.csv
ln a.csv hard.csv
for twice in 'a.csv a.csv' 'a.csv c.csv ./a.csv' 'soft.csv a.csv' 'a.csv hard.csv' 'e e/'; do
    # shellcheck disable=SC2086
    run 2 ensemble combine graph.h5 $twice
    err_has "are the same" "counts once"
done
run 0 ensemble combine graph.h5 a.csv copy.csv c.csv
err_has "Members 'a' and 'copy' predict the same to the bit"
run 0 ensemble combine graph.h5 a.csv c.csv
err_lacks "to the bit"
run 0 ensemble combine graph.h5 e e/members/m01/logits.npy
err_has "predict the same to the bit"

# predictions that are gone come from the weights, by any verb, also of a member that sees less
cp e/members/m01/logits.npy kept.npy
makespan=$(python3 -c 'import json; print(json.load(open("e/report.json"))["run"]["manager"]["makespan_seconds"])')
for what in 'ensemble combine graph.h5 e' 'ensemble report e' 'ensemble train spec.yaml graph.h5 --run e'; do
    rm -f e/members/m01/logits.npy e/report.html
    # shellcheck disable=SC2086
    run 0 $what
    out_has m00 m01
    err_lacks "left no predictions"
done
cmp kept.npy e/members/m01/logits.npy || fail "other predictions than those of the training"
[ "$(python3 -c 'import json; print(json.load(open("e/report.json"))["run"]["manager"]["makespan_seconds"])')" = "$makespan" ] ||
    fail "the report forgot the training"
rm e/members/m01/*
run 3 ensemble report e
err_has "members/m01" "cannot be made anew" "another run folder"

# nobody is the best where no validation row has a label
run 0 split graph.h5 -o novalid.h5 --kind random --train 0.5 --valid 0 --test 0.5 --name none -q
sed 's/epochs: 10/epochs: 4, split: none/' spec.yaml >novalid.yaml
run 0 ensemble train novalid.yaml novalid.h5 --run n
! grep -F "best on validation" out >/dev/null || fail "the best on no row is shown"
python3 -c 'import json; assert "best_member" not in json.load(open("n/report.json"))' || fail "the best on no row is in the report"

# a member is called by its name
sed -e 's/dropout: 0.5/optimizer: sgd, lr: 1000000/' -e '/vary/,$d' spec.yaml >diverge.yaml
echo 'count: 3' >>diverge.yaml
run 6 ensemble train diverge.yaml graph.h5 --run d
err_has "member m02 (seed"
err_lacks "member 2 (seed"

# members that fail beside others: told at the end, once on the page, with what happened below
cat >partly.yaml <<'YAML'
model: "gcn:8, gcn"
train: { epochs: 5, optimizer: adamw }
retries: 0
count: 6
vary:
  - { key: weight-decay, values: ["0.01", "1e30"] }
YAML
run 0 ensemble train partly.yaml graph.h5 --run partly
err_has "member 'm06' failed and is not in the ensemble: epoch" "2 more members failed" "next: gnntrain predict partly" \
    "6 of 12 members ended, 6 failed, 0 train, 30/30 epochs"
[ "$(grep -c 'failed and are not in the ensemble' partly/report.html)" -eq 1 ] || fail "the page does not say once who failed"
grep -F "<h2>Events" partly/report.html >/dev/null || fail "the page does not say what happened"
[ "$(grep -c ', 0 train,' err)" -eq 1 ] || fail "the last line of progress stands there twice"

# what would fail every member is told before any is tried
run 0 partition other.h5 --chunks 3 -o other.part.h5 -q
run 3 ensemble train spec.yaml graph.h5 --run none --partition other.part.h5
err_has "was cut from another graph"
[ ! -e none ] || fail "a run began with the partition of another graph"
for keys in 'chunks: 201' 'source: clusters, clusters: 201' 'split: none'; do
    printf 'model: "gcn:8, gcn"\ntrain: { epochs: 2, %s }\n' "$keys" >bad.yaml
    for verb in plan train; do
        run 3 ensemble $verb bad.yaml graph.h5
        err_has "'bad.yaml' line 2, train: member m00:"
    done
done
python3 -c 'print("model: \"" + "gcn:8, " * 1500 + "gcn\"")' >bad.yaml
run 4 ensemble plan bad.yaml graph.h5
err_has "'bad.yaml' line 1" "1501 layers, the limit is 1000"
