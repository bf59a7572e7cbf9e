# SPDX-License-Identifier: Apache-2.0
"""What the figures share: running gnntrain and the peers, taking turns, and printing rows.

A figure is a script NAME.py in this folder with a comment line "# Figure: what it shows" and a function measure(f), given to
run() below. It prints a line a case, or with --json an object {figure, case, baseline, ours, ratio, goal, met, unit,
measured, note}: baseline and ours are in `unit`; ratio is what `goal` speaks of (mostly, ">=": baseline over ours, "<=":
ours over baseline, else the note says); measured is where the numbers come from (wall clock: this machine's; process: what
the system counted; count: no clock). met is null without a goal.

Environment: GNNTRAIN the command (else build/release/bin beside this folder, else the PATH); GNNTRAIN_BENCH_PEERS the Python of the
peers' environment (bench/peers/README.md); GNNTRAIN_BENCH_DATA where graphs are kept (else the user's cache folder);
GNT_SHARED_DATA the folder of public sets. Only the standard library is needed here. Exit 0: measured, whether a goal is met or
not; 1: something failed; 2: something is missing, which is said.
"""
import argparse
import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TUNED_MALLOC = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1", "MALLOC_TOP_PAD_": "268435456"}


class Missing(Exception):
    """Something that is not there, and how to get it."""


class Failed(Exception):
    """A program that ended with an error."""


class Worker:
    """A program that answers lines with JSON lines (bench/peers/peer.py, bench_spmm)."""

    def __init__(self, command, environment=None):
        self.command = [str(word) for word in command]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, **(environment or {})})
        self.hello = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{shlex.join(self.command)}: {self.process.stderr.read().strip()[-800:]}")
        return json.loads(line)

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait()


class Figure:
    def __init__(self, name, args):
        self.name, self.filter, self.rounds, self.threads, self.json = name, args.case, args.rounds, args.threads, args.json
        self.command = find_command()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gnntrain-bench-"))
        self.count = 0

    # ---- rows

    def wants(self, case):
        return self.filter is None or self.filter in case

    def row(self, case, baseline, ours, ratio, goal, unit, note="", measured="wall clock"):
        """goal: "" or ">= 2" or "<= 0.6", compared with the ratio; a baseline may be None."""
        met = None
        if goal:
            sign, bound = goal.split()
            met = bool(ratio >= float(bound)) if sign == ">=" else bool(ratio <= float(bound))
        row = {"figure": self.name, "case": case, "baseline": rounded(baseline), "ours": rounded(ours),
               "ratio": rounded(ratio), "goal": goal, "met": met, "unit": unit, "measured": measured, "note": note}
        print(json.dumps(row) if self.json else table_line(row, self.count == 0), flush=True)
        self.count += 1

    # ---- our side

    def gnntrain(self, *words, environment=None, check=True, prefix=()):
        """Runs the command; the answer has returncode, stdout, stderr, peak_bytes, the process's largest memory, and cpu_seconds."""
        command = [*prefix, str(self.command), *(str(word) for word in words)]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err, env={**os.environ, **(environment or {})})
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0), err.seek(0)
            done = subprocess.CompletedProcess(command, process.returncode, out.read(), err.read())
        done.peak_bytes = used.ru_maxrss * 1024
        done.cpu_seconds = used.ru_utime + used.ru_stime
        if check and done.returncode != 0:
            raise Failed(f"{shlex.join(command)}: exit {done.returncode}: {done.stderr.strip()[-800:]}")
        return done

    def fresh(self, name="run"):
        """A new folder name inside this figure's own."""
        return pathlib.Path(tempfile.mkdtemp(prefix=name + "-", dir=self.folder)) / name

    def train(self, data, *options, environment=None, prefix=()):
        """Trains into a fresh run folder; summary.json, with the lines of metrics.jsonl as "lines", the folder as "run" and
        the largest memory of the process as "process_bytes"."""
        run = self.fresh()
        done = self.gnntrain("train", data, *options, "--run", run, environment=environment, prefix=prefix)
        summary = json.loads((run / "summary.json").read_text())
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return {**summary, "lines": lines, "run": run, "process_bytes": done.peak_bytes}

    def epoch_seconds(self, data, *options, environment=None, prefix=()):
        """Median seconds of a training step without the first two, and the largest memory of the process."""
        told = self.train(data, *options, environment=environment, prefix=prefix)
        shutil.rmtree(told["run"])
        return statistics.median(line["seconds"] for line in told["lines"][2:]), told["process_bytes"]

    def program(self, name):
        """A benchmark program: beside the command in a build, under libexec when installed."""
        for folder in (self.command.parent, self.command.parent.parent / "libexec/gnntrain"):
            if (folder / name).is_file():
                return folder / name
        raise Missing(f"'{name}' is not beside '{self.command}': build with -DGNT_BENCH=ON")

    # ---- the peers' side

    def peers_python(self):
        python = os.environ.get("GNNTRAIN_BENCH_PEERS")
        if not python:
            raise Missing("GNNTRAIN_BENCH_PEERS does not name the Python of the peers' environment; "
                          "bench/peers/README.md says how to make one")
        if not shutil.which(python):
            raise Missing(f"GNNTRAIN_BENCH_PEERS names '{python}', which cannot be run")
        return python

    def peer(self, script, *words, environment=None):
        return Worker([self.peers_python(), HERE.parent / "peers" / script, *words, "--threads", self.threads], environment)

    # ---- data

    def graph(self, kind):
        """The path of a synthetic graph, made when it is not there yet (needs the peers' Python)."""
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        folder = pathlib.Path(os.environ.get("GNNTRAIN_BENCH_DATA") or os.path.join(cache, "gnntrain-bench"))
        path = folder / f"{kind}.h5"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            check_run([self.peers_python(), HERE.parent / "peers/make_graph.py", kind, "-o", path])
        return path

    def planetoid(self, name):
        """A public set with its public split, converted from the files of the folder of public sets."""
        folder = shared_data() / "planetoid" / name
        if not folder.is_dir():
            raise Missing(f"no folder '{folder}': GNT_SHARED_DATA names the folder of public sets")
        path = self.folder / f"{name}.h5"
        if not path.exists():
            tools = [HERE.parents[1] / "tools/python", HERE.parent / "python"]
            found = os.pathsep.join([*(str(t) for t in tools), os.environ.get("PYTHONPATH", "")])
            check_run([python_with("numpy", "h5py"), "-m", "gnntrain_io", "planetoid", folder, name, "-o", path],
                      {"PYTHONPATH": found})
        return path

    # ---- taking turns

    def turns(self, sides):
        """sides: name -> function that measures once. Asks them in turn, `rounds` times: name -> list of answers."""
        answers = {name: [] for name in sides}
        for _ in range(self.rounds):
            for name, measure in sides.items():
                answers[name].append(measure())
        return answers

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def table_line(row, first):
    """A row for a person, with the names of the columns above the first one."""
    def cell(value):
        return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
    words = [row["case"], cell(row["baseline"]), cell(row["ours"]), row["unit"], cell(row["ratio"]), row["goal"] or "-",
             {True: "met", False: "NOT MET", None: ""}[row["met"]], row["measured"], row["note"]]
    form = "{:<44} {:>10} {:>10} {:<7} {:>8} {:>8} {:<8} {:<11} {}"
    head = form.format("case", "baseline", "ours", "unit", "ratio", "goal", "", "measured", "note").rstrip() + "\n"
    return (head if first else "") + form.format(*words).rstrip()


def rounded(value):
    """Five digits are more than a clock gives."""
    return float(f"{value:.5g}") if isinstance(value, float) else value


def ratio(over, under):
    """Median, smallest and largest of the quotients of two lists, pair by pair."""
    quotients = [a / b for a, b in zip(over, under)]
    return statistics.median(quotients), min(quotients), max(quotients)


def spread(low, high, rounds):
    return f"{rounds} rounds, {low:.2f} to {high:.2f}"


def check_run(command, environment=None):
    command = [str(word) for word in command]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    if done.returncode != 0:
        raise Failed(f"{shlex.join(command)}: exit {done.returncode}: {done.stderr.strip()[-800:]}")
    return done.stdout


def weights_digest(run):
    """One hash of all float arrays of a run's best weights and last checkpoint, in the order of their names."""
    program = """
import glob, hashlib, sys, h5py
digest, count = hashlib.sha256(), 0
for path in sorted(glob.glob(sys.argv[1] + "/**/*.h5", recursive=True)):
    if path.endswith(("best.h5", "checkpoint.h5")):
        with h5py.File(path) as f:
            names = []
            f.visit(names.append)
            for name in sorted(names):
                if isinstance(f[name], h5py.Dataset) and f[name].dtype.kind == "f" and "seconds" not in name:
                    digest.update(name.encode() + f[name][()].tobytes())
                    count += 1
print(digest.hexdigest() if count else "")
"""
    found = check_run([python_with("h5py"), "-c", program, run]).strip()
    if not found:
        raise Failed(f"no weights in '{run}'")
    return found


def python_with(*modules):
    """A Python that has these modules: the peers', Debian's, or the one running this."""
    for python in (os.environ.get("GNNTRAIN_BENCH_PEERS"), "/usr/bin/python3", sys.executable):
        if python and shutil.which(python) and subprocess.run(
                [python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0:
            return python
    raise Missing(f"no Python with {', '.join(modules)}: install Debian's python3-{', python3-'.join(modules)}")


def shared_data():
    return pathlib.Path(os.environ.get("GNT_SHARED_DATA") or HERE.parents[1].parent / "shared/data")


def find_command():
    named = os.environ.get("GNNTRAIN")
    beside = [HERE.parents[1] / "build/release/bin/gnntrain", HERE.parents[2] / "bin/gnntrain"]
    for candidate in [named] if named else [*beside, shutil.which("gnntrain")]:
        if candidate and os.access(candidate, os.X_OK):
            return pathlib.Path(candidate).resolve()
    raise Missing(f"no command {named or 'gnntrain'}: build the release preset, or set GNNTRAIN to its path")


def run(measure):
    """Runs a figure's function with the arguments of the command line."""
    name = pathlib.Path(sys.argv[0]).stem
    parser = argparse.ArgumentParser(prog=name, description=f"Measures the figure '{name}'.")
    parser.add_argument("--case", help="only cases with this text in their name")
    parser.add_argument("--rounds", type=int, default=5, help="how often ours and the peers take turns")
    parser.add_argument("--threads", type=int, default=2, help="of each side")
    parser.add_argument("--json", action="store_true", help="a JSON line a case")
    figure = None
    try:
        figure = Figure(name, parser.parse_args())
        measure(figure)
        if figure.count == 0:
            raise Missing(f"no case has '{figure.filter}' in its name")
    except Missing as error:
        sys.exit(say(name, error, 2))
    except (Failed, OSError, KeyError, ValueError) as error:
        sys.exit(say(name, error if isinstance(error, Failed) else repr(error), 1))
    finally:
        if figure:
            figure.close()


def say(name, error, code):
    print(f"{name}: {error}", file=sys.stderr)
    return code
