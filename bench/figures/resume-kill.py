#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Figure: runs killed by kill -9 at 50 random moments and continued by the same line: equal weights, no damaged file
"""Runs tools/kill-test.sh, which demands it at every kill and stops at the first failure."""
import re
import subprocess

import figure

KILLS = 50


def measure(f):
    script = figure.HERE.parents[1] / "tools/kill-test.sh"
    if not script.exists():
        raise figure.Missing("tools/kill-test.sh is in the source tree only: run the figure from there")
    done = subprocess.run(["bash", str(script), str(KILLS)], capture_output=True, text=True,
                          env={**figure.os.environ, "GNNTRAIN": str(f.command), "GNT_PYTHON": figure.python_with("h5py")})
    last = (done.stdout.strip().splitlines() or [""])[-1]
    survived = re.match(r"(\d+) kills", last) if done.returncode == 0 else None
    count = int(survived.group(1)) if survived else 0
    f.row(f"{KILLS} kills", KILLS, count, count / KILLS, ">= 1", "kills", last or done.stderr.strip()[-200:], "count")


figure.run(measure)
