#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: short
# What a command reads it never overwrites, names that could not be read again are not written, and what is said twice in
# two ways is refused; so is what no memory
# holds.
source "$(dirname "$0")/support.sh"

printf '0 1\n1 2\n' >edges.txt
printf '0 a\n1 b\n2 b\n' >labels.txt
cp edges.txt kept.txt
ln -s edges.txt link.txt
run 2 import edges.txt -o edges.txt
err_has "'edges.txt' is read and would be overwritten"
run 2 import edges.txt -o link.txt
run 2 import edges.txt --labels labels.txt -o labels.txt
cmp edges.txt kept.txt || fail "the input of import was overwritten"

run 0 generate karate -o karate.h5
run 0 train karate.h5 --epochs 2 --run run
cp karate.h5 kept.h5
run 2 predict run -o karate.h5
run 2 predict run --data karate.h5 -o karate.h5
run 2 predict run -o run/best.h5
cmp karate.h5 kept.h5 || fail "the dataset was overwritten"
run 0 eval run

# a folder with other things in it is no run folder
mkdir mine
echo "epochs: 3" >mine/config.yaml
run 2 train karate.h5 --config mine/config.yaml --run mine
err_has "mine/config.yaml' is not the settings of a run"
[ "$(ls mine)" = config.yaml ] && grep -q 'epochs: 3' mine/config.yaml || fail "the folder was written to"

# text that is not UTF-8
printf 'a b\nb \xff\n' >names.txt
run 3 import names.txt -o names.h5
err_has "'names.txt', line 2: a node id is not UTF-8"
printf '0 a\n1 \xff\n2 b\n' >classes.txt
run 3 import edges.txt --labels classes.txt -o names.h5
err_has "'classes.txt', line 2: a label is not UTF-8"
[ ! -e names.h5 ] || fail "a file that cannot be read was written"
cp edges.txt $'edges\xff.txt'
run 0 import $'edges\xff.txt' -o named.h5
run 0 info named.h5 --json
json 'x["provenance"]["inputs"][0]["path"] == "edges?.txt"'

# said twice in two ways
run 2 train karate.h5 --model 'gcn:16:norm=batch:norm=layer, gcn'
err_has "key 'norm' is given twice"
run 0 train karate.h5 --model 'gcn:16:norm=batch, gcn:norm=layer' --epochs 1
run 2 train karate.h5 --weight-decay '1:5e-4,1:3'
err_has "'1:3' contradicts an earlier rule"
run 0 train karate.h5 --weight-decay '5e-4,1:3,1:bias:0' --epochs 1

# the commands that messages print can be run as they are
printf '0 a\n1 b\n2 b\n3 a\n' >labels.txt
run 0 import edges.txt --num-nodes 4 --labels labels.txt -o small.h5
run 0 check small.h5
out_has 'gnntrain split small.h5 -o small.h5'
run 0 split small.h5 -o small.h5

# more than any memory is refused at once, not tried
run 4 generate star --nodes 2000000000 --features 1000000 -o huge.h5
err_has "make a smaller graph"
[ ! -e huge.h5 ] || fail "a file is left of a graph that does not fit"
run 0 generate path --nodes 5 -o path.h5
err_has 'next: gnntrain info path.h5'
echo "overwriting: all as expected"
