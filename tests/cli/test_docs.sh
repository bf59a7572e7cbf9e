#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every command in a block of docs/*.md runs as printed, page by page and in order, over small graphs under the names that the pages
# use; epochs and sizes are cut. What cannot run here is skipped by name, with the reason: a line is never skipped for its failure.
source "$(dirname "$0")/support.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # MPI's own
PATH=$(dirname "$GNNTRAIN"):$PATH
export GNNTRAIN_TRAIN_EPOCHS=3
standin=$(dirname "$(dirname "$GNNTRAIN")")/lib/hostcuda

for name in mine cora new sbm big; do gnntrain generate csbm --nodes 300 --seed 1 -o $name.h5 -q >/dev/null; done
gnntrain partition sbm.h5 --chunks 64 -o sbm.k64.part.h5 -q >/dev/null
mkdir -p examples
cp -r "$GNT_SOURCE_DIR/examples/ensembles" examples/
sed -i -E 's/^( *)epochs: .*/\1epochs: 4/' examples/ensembles/{cora,mixed}.yaml
cp examples/ensembles/mixed.yaml .
printf 'model: "gcn:4, gcn"\ntrain: { epochs: 4 }\ncount: 2\n' | tee eight.yaml >ensemble.yaml
gnntrain ensemble train ensemble.yaml mine.h5 --run mine-ensemble -q >/dev/null
gnntrain train cora.h5 --run sage-run -q >/dev/null
for name in gcn.csv gat.npy; do gnntrain predict sage-run --what probabilities -o $name -q >/dev/null; done

# PAGE:LINE and the command, of lines that start a program of ours; a line that ends in \ goes on.
commands() {
    awk '/^```/ { fence = !fence; shell = $0 ~ /^```(sh)?$/; next }
         fence && shell { line = held $0; held = ""
             if (sub(/\\$/, "", line)) { held = line; next }
             if (line ~ /^(gnntrain|mpirun|srun) /) { name = FILENAME; sub(/.*\//, "", name); print name ":" FNR "\t" line } }' \
        "$GNT_SOURCE_DIR"/docs/*.md
}

why_not() { # COMMAND: the reason, if it cannot run here
    case $1 in
    srun*) echo "no Slurm" ;;
    *--plugin*) echo "tools/check-install.sh and test_plugin.sh build plug-ins" ;;
    mpirun*) command -v mpirun >/dev/null || echo "no mpirun" ;;&
    *cuda*) [ -d "$standin" ] || echo "no stand-in for GPUs was built" ;;
    esac
}

ran=0 page=''
while IFS=$'\t' read -r place line; do
    [ "$page" = "${place%:*}" ] || rm -rf run run-[a-z]* # a page's runs are its own
    page=${place%:*}
    why=$(why_not "$line")
    if [ -n "$why" ]; then
        echo "skipped: $place: $line ($why)"
        continue
    fi
    short=$(sed -E 's/--epochs [0-9]+/--epochs 3/; s/--seeds [0-9]+/--seeds 2/; s/--nodes 20000/--nodes 300/; s/--scale 22/--scale 8/
        s/^gnntrain submit /&--dry-run /; s/(partition sbm.h5)$/\1 --chunks 64/; s/ +#.*//' <<<"$line")
    case $line in *cuda*) export GNNTRAIN_PLUGIN_DIR=$standin HOSTCUDA_DEVICES=64M,64M,64M,64M ;; *) unset GNNTRAIN_PLUGIN_DIR ;; esac
    bash -euc "$short" >out 2>err </dev/null || fail "$place: $line"
    ran=$((ran + 1))
done < <(commands)
[ $ran -ge 25 ] || fail "only $ran commands were found"
echo "$ran commands of docs/: all as expected"
