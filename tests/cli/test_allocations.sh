#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# label: medium
# An epoch after the first asks for no memory: the whole command is run with every malloc and mmap counted, once for 5 and
# once for 25 epochs, and the counts must differ by less than one request for every second epoch. They are not always
# equal: HDF5 draws the heights of its skip lists at random and asks for more when a new height comes, so about one run in
# 500 starts with two requests fewer. Without a run folder, since checkpoints and the report at the end are apart. The
# graph is large enough for two threads everywhere: GCC's OpenMP runtime itself asks for memory at each parallel region of
# one thread. Mini-batches of chunk clusters too: the graph with power-law degrees has batches of very unequal size, and an
# epoch has other batches than those before.
set -euo pipefail

spy=${GNT_ALLOC_SPY:-}
[ -e "${spy:-missing}" ] || { echo "SKIPPED: no alloc_spy in a build with sanitizers"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$GNNTRAIN" generate csbm --nodes 20000 --seed 1 -o "$work/graph.h5" >/dev/null
"$GNNTRAIN" generate rmat --scale 14 --edge-factor 8 --features 16 --classes 5 --seed 1 -o "$work/rmat.h5" >/dev/null
count() { # EPOCHS FILE MODEL OPTION...
    GNT_SPY_OUT=$work/count LD_PRELOAD=$spy "$GNNTRAIN" train "$2" --model "$3" --threads 2 --epochs "$1" --seed 1 \
        --eval-every 1 "${@:4}" >/dev/null 2>"$work/err" || { cat "$work/err"; exit 1; }
    cat "$work/count"
}
failed=0
compare() { # FILE MODEL OPTION...
    local short long difference
    short=$(count 5 "$@")
    long=$(count 25 "$@")
    echo "${*:2}: $short requests for memory in 5 epochs, $long in 25"
    difference=$((long - short))
    [ "${difference#-}" -lt 10 ] || failed=1
}
for model in 'gcn:16, gcn' 'linear:16, linear' 'gcn:16:norm=batch, gcn:16:norm=layer, gcn'; do
    compare "$work/graph.h5" "$model" --dropout 0.5 --seeds 3
done
clusters=(--source clusters --clusters)
compare "$work/graph.h5" 'gcn:16:norm=batch, gcn' --dropout 0.5 --seeds 3 "${clusters[@]}" 100 --clusters-per-batch 20
compare "$work/rmat.h5" 'sage:16, gat' --dropout 0.5 "${clusters[@]}" 20 --clusters-per-batch 3
compare "$work/rmat.h5" 'gcn:16, gcn' --no-pass symmetric,hoist "${clusters[@]}" 20
gin=$(dirname "$GNNTRAIN")/../lib/libgin.so
compare "$work/graph.h5" 'gin:16, linear' --plugin "$gin" "${clusters[@]}" 20 --clusters-per-batch 2
exit $failed
