#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain import as a user types it: streams, folders, the report, refusals with their exit codes, and that nothing is left
# under the output's name when it fails.
source "$(dirname "$0")/support.sh"
fixtures=$GNT_SOURCE_DIR/tests/data/import

# one graph, five ways in
printf '0 1\n1 2\n2 0\n3 3\n0 1\n' >edges.txt
run 0 import edges.txt -o plain.h5 --json
json 'x["format"] == "edgelist" and x["records"] == 5 and x["repeated"] == 1 and x["loops"] == 1'
json 'x["num_nodes"] == 4 and x["num_arcs"] == 7 and not x["directed"] and not x["direction_stated"]'
json 'any("does not state a direction" in note for note in x["notes"]) and x["peak_bytes"] > 0 and x["seconds"] >= 0'
run 0 info plain.h5 --json
json 'x["num_arcs"] == 7 and x["provenance"]["inputs"][0]["path"] == "edges.txt"'
sum=$(sha256sum edges.txt | cut -d' ' -f1)
json "x['provenance']['inputs'][0]['sha256'] == '$sum'"
content=$(python3 -c "import json; print(json.load(open('$work/out'))['content_sha256'])")
for suffix in gz bz2 xz zst lz4; do
    cp "$fixtures/edges.txt.$suffix" data # the name says nothing
    run 0 import data -o packed.h5
    run 0 info packed.h5 --json
    json "x['content_sha256'] == '$content'"
done
code=0
"$GNNTRAIN" import - -o stdin.h5 <edges.txt >out 2>err || code=$?
[ $code -eq 0 ] || fail "standard input: exit code $code"
run 0 info stdin.h5 --json
json "x['content_sha256'] == '$content'"

# direction
run 0 import edges.txt --directed -o directed.h5 --json
json 'x["directed"] and x["num_arcs"] == 4'
run 2 import edges.txt --directed --undirected -o never.h5
err_has "contradict"

# refusals: exit code, place, nothing written
refused() { # CODE FILE TEXT...
    local code=$1 file=$2
    shift 2
    run "$code" import "$file" -o never.h5
    err_has "$@"
    [ ! -e never.h5 ] || fail "something was written for $file"
    [ -z "$(find . -name '*never*')" ] || fail "a temporary file is left for $file"
}
printf '0 1\n1 x\n' >bad.txt
refused 3 bad.txt "'bad.txt', line 2" "'x'" "--ids text"
printf '0 1\n2\n' >short.txt
refused 3 short.txt "line 2"
printf '%%%%MatrixMarket matrix coordinate pattern general\n3 3 5\n1 2\n' >short.mtx
refused 3 short.mtx "1 of the 5"
printf '3 5\n2\n1 3\n2\n' >short.graph
refused 3 short.graph "5 edges"
printf '# no edge\n\n' >none.txt
refused 3 none.txt "'none.txt' has no edges" "SOURCE TARGET" "Matrix Market file without entries"
printf 'source,target\n' >header.csv
refused 3 header.csv "header line and no edges" "SOURCE TARGET"
printf '%%%%MatrixMarket matrix coordinate pattern general\n3 3 0\n' >lone.mtx # what these texts advise
run 0 import lone.mtx -o lone.h5 --json
json 'x["num_nodes"] == 3 and x["num_arcs"] == 0'
head -c 40 "$fixtures/edges.txt.gz" >cut.gz
refused 3 cut.gz "cut.gz"
refused 3 "$fixtures/pickled.npz" "pickled objects" "never executed"
refused 3 missing.txt "missing.txt"
mkdir empty
refused 3 empty "empty" "--format"
run 2 import edges.txt --format nothing -o never.h5
err_has "'nothing' is unknown" "edgelist:"
run 2 import edges.txt
err_has "-o"
cp plain.h5 kept.h5
run 3 import bad.txt -o kept.h5
cmp plain.h5 kept.h5 || fail "a failed import changed the file that was there"

# node files, folders
printf 'a,b\nb,c\n' >names.csv
printf 'a 1 0\nb 0 1\nc 1 1\n' >x.csv
printf 'a red\nb blue\nc red\n' >y.csv
run 0 import names.csv --features x.csv --labels y.csv -o named.h5 --json
json 'x["num_features"] == 2 and x["num_classes"] == 2'
run 0 import names.csv --features identity --labels y.csv -o identity.h5 --json
json 'x["num_features"] == 3'
run 0 info identity.h5 --json
json 'x["num_stored_features"] == 3'
run 2 import "$fixtures/linqs" --features identity -o never.h5
err_has "brings" "features"
for folder in linqs geom ogb sage; do
    run 0 import "$fixtures/$folder" -o "$folder.h5" --json
    json 'x["num_nodes"] == 3 and x["num_classes"] == 2'
done
run 0 import "$fixtures/Packages" --format debian -o packages.h5 --json
json 'x["num_nodes"] == 5 and x["format"] == "debian"'
echo "1 passed, 0 failed"
