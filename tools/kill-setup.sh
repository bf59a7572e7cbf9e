# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034
# What tools/kill-test.sh and tools/ensemble-kill-test.sh begin with: arguments N and SEED, the command, a Python with h5py, a work folder
# that goes at the end. In memory where possible: what a killed process leaves behind does not depend on the disk.
cd "$(dirname "$0")/.." || exit

kills=${1:-10}
seed=${2:-$(date +%s)}
RANDOM=$seed
echo "seed $seed"
gnntrain=${GNNTRAIN:-build/release/bin/gnntrain}
[ -x "$gnntrain" ] || gnntrain=build/dev/bin/gnntrain
python=${GNT_PYTHON:-$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)}
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT
