#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a temporary folder, moves that folder, and builds and runs the example against it from outside
# the tree: by CMake, by pkg-config, as a program and as a plug-in. Nothing may depend on where it was built or installed.
#
#   tools/check-install.sh [BUILD]        (default build/dev)
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/dev}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rm -f "$build/gnntrain.1" "$build/gnntrain.bash" "$build"/lib/libgnntrain-*.so # as after a build of the command alone: installing makes them
cmake --install "$build" --prefix "$work/first" >/dev/null
mkdir "$work/moved"
mv "$work/first" "$work/moved/gnntrain"
prefix=$work/moved/gnntrain
gnntrain=$prefix/bin/gnntrain
for file in bin/gnntrain libexec/gnntrain/part-metis lib/libgnntrain.so.0 include/gnntrain/gnntrain.h lib/pkgconfig/gnntrain.pc \
    lib/cmake/gnntrain/gnntrainConfig.cmake share/man/man1/gnntrain.1 share/bash-completion/completions/gnntrain; do
    [ -e "$prefix/$file" ] || { echo "not installed: $file" >&2; exit 1; }
done
grep -rIl "$PWD" "$prefix" >"$work/leaks" || true
if [ -s "$work/leaks" ]; then
    echo "installed files name the build tree:" >&2
    cat "$work/leaks" >&2
    exit 1
fi

# the library finds METIS' program from where it lies now
"$gnntrain" generate csbm --nodes 3000 --seed 1 --quiet -o "$work/sbm.h5" >/dev/null
"$gnntrain" partition "$work/sbm.h5" --chunks 4 --json >"$work/cut.json"
grep -q '"method": *"metis"' "$work/cut.json" || { echo "the installed command does not reach METIS:" >&2; head -c 600 "$work/cut.json" >&2; exit 1; }

cp -r examples "$work/examples"
cmake -S "$work/examples" -B "$work/by-cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/by-cmake" | tail -1

export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
libdir=$(pkg-config --variable=libdir gnntrain)
# shellcheck disable=SC2046 # flags are words
cc -std=c17 -o "$work/train_gin" "$work/examples/train_gin.c" $(pkg-config --cflags --libs gnntrain) -Wl,-rpath,"$libdir"
# shellcheck disable=SC2046
cc -std=c17 -shared -fPIC -o "$work/libgin.so" "$work/examples/train_gin.c" $(pkg-config --cflags --libs gnntrain)

"$gnntrain" generate karate --quiet -o "$work/karate.h5" >/dev/null
for program in "$work/by-cmake/train_gin" "$work/train_gin"; do
    "$program" "$work/karate.h5" >"$work/out"
    grep -q '^epoch' "$work/out" || { echo "no epoch printed by $program" >&2; exit 1; }
done
"$work/by-cmake/ensemble" "$work/karate.h5" "$work/spec.yaml" "$work/ensemble-run" >"$work/out"
grep -q '^row 2:' "$work/out" || { echo "no prediction printed by the example of an ensemble" >&2; exit 1; }
for plugin in "$work/libgin.so" "$work/by-cmake/libgin.so"; do
    "$gnntrain" train "$work/karate.h5" --plugin "$plugin" --model 'gin:8:eps=0.1, gin:8, linear' --epochs 5 --seed 1 \
        --quiet \
        --run "$work/run-$(basename "$(dirname "$plugin")")" >/dev/null
done
if [ -e "$build/lib/libgnntrain-mpi.so" ]; then # found beside the library, wherever that is
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 timeout 120 mpirun -n 2 \
        "$gnntrain" train "$work/karate.h5" --chunks 4 --model 'gcn:8, linear' --epochs 5 --seed 1 --quiet --run "$work/run-mpi" >/dev/null
    [ -e "$work/run-mpi/summary.json" ] || { echo "no run by two MPI processes" >&2; exit 1; }
fi
echo "example built and run by CMake and by pkg-config, as a program and as a plug-in"
