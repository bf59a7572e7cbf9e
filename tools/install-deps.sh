#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, or with --no-install says what that is (exit 1).
#
#   tools/install-deps.sh [--no-install] [build] [check] [dev]
#
# build: to build and run; check: the gate and the tests besides; dev: sanitizers with clang, fuzzing, coverage.
# Each row of the list is a Debian package and a probe: a program, a pkg-config module, a Python module, a C header, a
# file or a pattern of files. Only what fails its probe counts as missing, so a machine that has it from elsewhere is left alone.
set -euo pipefail

packages='
build  gcc                     program:cc
build  libc6-dev               header:stdio.h
build  cmake                   program:cmake
build  ninja-build             program:ninja
build  pkg-config              program:pkg-config
build  libhdf5-dev             module:hdf5-serial
build  libmetis-dev            header:metis.h
build  libopenblas-openmp-dev  module:openblas
build  libarchive-dev          module:libarchive
build  zlib1g-dev              module:zlib
build  libyaml-dev             module:yaml-0.1
build  libjansson-dev          module:jansson
build  libssl-dev              module:libcrypto
check  libcmocka-dev           module:cmocka
check  libopenmpi-dev          module:ompi-c
check  openmpi-bin             program:mpirun
check  slurmctld               program:slurmctld
check  slurmd                  program:slurmd
check  slurm-client            program:sbatch
check  slurm-wlm-basic-plugins glob:/usr/lib/*/slurm-wlm/select_cons_tres.so
check  munge                   program:munged
check  libpmix-dev             glob:/usr/lib/*/pmix*/lib/libpmix.so
check  git                     program:git
check  g++                     program:g++
check  lld                     program:ld.lld
check  clang-format            program:clang-format
check  shellcheck              program:shellcheck
check  python3                 program:python3
check  python3-numpy           python:numpy
check  python3-h5py            python:h5py
check  python3-scipy           python:scipy
check  python3-anndata         python:anndata
dev    clang                   program:clang
dev    clang-tidy              program:clang-tidy
dev    libomp-dev              file:/usr/lib/llvm-14/lib/libomp.so
dev    gcovr                   program:gcovr
'

install=yes
groups=''
for argument in "$@"; do
    case $argument in
    --no-install) install=no ;;
    build | check | dev) groups="$groups $argument" ;;
    *)
        echo "usage: tools/install-deps.sh [--no-install] [build] [check] [dev]" >&2
        exit 2
        ;;
    esac
done
groups=${groups:-build}

# Debian's Python comes first: it is the one that its python3-* packages serve.
python=${GNT_PYTHON:-$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)}

has() { # PROBE
    local what=${1#*:}
    case $1 in
    program:*) PATH=$PATH:/usr/sbin:/sbin command -v "$what" >/dev/null ;;
    module:*) pkg-config --exists "$what" 2>/dev/null ;;
    python:*) "$python" -c "import $what" 2>/dev/null ;;
    header:*) echo "#include <$what>" | cc -E -x c - >/dev/null 2>&1 ;;
    file:*) [ -e "$what" ] ;;
    glob:*) compgen -G "$what" >/dev/null ;;
    esac
}

missing=()
while read -r group package probe; do
    case " $groups " in *" $group "*) has "$probe" || missing+=("$package") ;; esac
done < <(grep -v '^$' <<<"$packages")

if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi
if [ $install = no ]; then
    echo "missing (Debian's names): ${missing[*]}" >&2
    echo "run without --no-install, or: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
fi
if ! command -v apt-get >/dev/null; then
    echo "this machine has no apt-get; install what matches these Debian packages: ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "to install ${missing[*]} run this as root, or install sudo" >&2; exit 1; }
    as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
