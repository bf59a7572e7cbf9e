#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The part of the gate that reads sources: include order, homes of foreign headers, sizes, forbidden calls, heads, words.

Each finding is a line "file:line: text". Exit 1 when there is one. What exceeds a target but not the hard limit is counted,
and listed with --targets. tools/gate-allow.txt holds the exceptions, each with its reason.
"""
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ["base", "report", "graph", "kernels", "datasets", "partition", "dist", "nn", "sampler", "train", "ensemble", "cli"]
LIBRARY = FOLDERS[:-1]

# A foreign header may be included by these files only; one that is not listed here has one home, whichever it is.
HOMES = {
    "hdf5.h": "datasets/h5_library.h", "archive.h": "datasets/byte_source.c", "archive_entry.h": "datasets/byte_source.c", "zlib.h": "datasets/gzip_stream.c",
    "metis.h": "partition/part_metis_main.c", "dlfcn.h": "base/plugin.c", "mpi.h": "dist/comm_mpi.c",
    "nccl.h": "dist/comm_nccl.h", "yaml.h": "base/yaml.c", "jansson.h": "base/json.c",
}
# A header that holds a fence together, and who is inside.
INSIDE = {"datasets/h5_library.h": ("datasets/h5_file.c", "datasets/h5_fork.c", "datasets/h5_data.c"),
          "dist/comm_nccl.h": ("dist/comm_nccl.c", "dist/comm_nccl_make.c")}
STANDARD = set("""assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype""".split())
SYSTEM = set("""unistd fcntl pthread sched strings dirent ftw glob libgen poll regex spawn termios getopt fnmatch pwd
malloc execinfo omp immintrin""".split())

CALLS = {
    "library": """malloc calloc realloc free aligned_alloc posix_memalign memalign strdup strndup asprintf vasprintf alloca
        printf vprintf puts putchar exit _exit quick_exit abort strcpy strcat stpcpy sprintf vsprintf gets rand srand random
        assert setjmp longjmp signal sigaction system popen atoi atol atof strtok""".split(),
    "cli": "strcpy strcat stpcpy sprintf vsprintf gets rand srand random assert abort setjmp longjmp atoi atol atof strtok".split(),
    "examples": "strcpy strcat sprintf vsprintf gets rand assert abort".split(),
}
# (target, hard) lines; a kernel header is code that several vector levels include
LINES = {".c": (400, 800), ".cpp": (400, 800), ".cu": (300, 300), ".cuh": (400, 800), "test kernel": (400, 800), "public": (150, 250), ".h": (250, 400), "kernel": (400, 800)}
FUNCTION_LINES, NESTING, PARAMETERS, README_LINES = (60, 100), (3, 4), (5, 7), 60
WORDS = [(re.compile(r"(?<![\w.$}/-])/(home|root|work|Users|tmp/w)/"), "path of one machine"),
         (re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))"), "a note without an issue number"),
         (re.compile(r"[ \t]+$"), "white space at the end of the line")]

findings, targets = [], collections.Counter()
target_lines = []


def fail(path, line, text):
    findings.append(f"{path}:{line}: {text}")


def limit(path, line, what, value, bounds):
    if value > bounds[1]:
        fail(path, line, f"{what} is {value}, the limit is {bounds[1]}")
    elif value > bounds[0]:
        targets[what.split(" of ")[0]] += 1
        target_lines.append(f"{path}:{line}: {what} is {value}, the target is {bounds[0]}")


def read_allowed():
    """Lines 'GLOB WORD  reason' -> list of (glob, word)."""
    rows = []
    for line in (ROOT / "tools/gate-allow.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            glob, word, reason = line.split(None, 2)
            rows.append([glob, word, reason, False])
    return rows


ALLOWED = read_allowed()


def allowed(path, word):
    for row in ALLOWED:
        if row[1] == word and fnmatch.fnmatch(path, row[0]):
            row[3] = True
            return True
    return False


def blank(text):
    """Comments and the inside of strings become spaces; line ends stay."""
    def spaces(match):
        keep = '"' if match.group(0)[0] == '"' else ("'" if match.group(0)[0] == "'" else " ")
        inner = re.sub(r"[^\n]", " ", match.group(0))
        return keep + inner[1:-1] + keep if len(inner) > 1 else inner
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', spaces, text, flags=re.S)


def check_includes(path, lines):
    folder = path.split("/")[0]
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)', line)
        if not match:
            continue
        bracket, name = match.groups()
        if bracket == '"':
            check_own_include(path, folder, number, name)
        elif name.startswith("gnntrain/"):
            if name == "gnntrain/experimental.h" and folder == "examples":
                fail(path, number, "examples see the public headers only")
        else:
            check_foreign_include(path, folder, number, name)


def check_own_include(path, folder, number, name):
    target = name.split("/")[0]
    if path not in INSIDE.get(name, (path,)):
        fail(path, number, f'"{name}" is for {" and ".join(INSIDE[name])} only')
    if folder in ("include", "examples"):
        fail(path, number, f'"{name}": {folder}/ sees public headers in angle brackets only')
    elif folder in FOLDERS and target not in FOLDERS:
        fail(path, number, f'"{name}": write the include from the root, as in "graph/csr.h"')
    elif folder == "cli" and target != "cli":
        fail(path, number, f'"{name}": cli/ sees public headers and its own only')
    elif folder in FOLDERS and FOLDERS.index(target) > FOLDERS.index(folder):
        fail(path, number, f'"{name}": {folder}/ comes before {target}/ in the table of folders')


foreign = collections.defaultdict(set)


def check_foreign_include(path, folder, number, name):
    stem = name[:-2] if name.endswith(".h") else name
    if stem in STANDARD or stem in SYSTEM or name.startswith(("sys/", "linux/", "arpa/")) or folder in ("tests", "bench"):
        return
    home = HOMES.get(name)
    if home and path != home and not allowed(path, name):
        fail(path, number, f"<{name}> has its home in {home}")
    elif not home:
        foreign[name].add(path)


def check_functions(path, lines):
    start, chain = None, 0
    for number, line in enumerate(lines, 1):
        if line.startswith("{"):
            start, chain = number, 0
            check_parameters(path, lines, number)
        elif line.startswith("}") and start:
            limit(path, start, "length of a function", number - start - 1, FUNCTION_LINES)
            start = None
        elif start and not path.endswith(".cpp"): # bodies of lambdas lie far right
            match = re.match(r"( +)(if|for|while|do|switch)\b", line)
            if match:
                # loops right inside loops, as over a matrix, count once
                above = lines[number - 2]
                inner = re.match(r" +for\b.*\)$", above) and match.group(2) == "for" and len(match.group(1)) > len(above) - len(above.lstrip())
                chain = chain + 1 if inner else 0 if len(match.group(1)) <= 4 else chain
                limit(path, number, "depth of nesting", len(match.group(1)) // 4 - chain, NESTING)


def check_parameters(path, lines, number):
    if path.startswith("tests/") or number < 2:
        return
    first = number - 2
    while first > 0 and lines[first].startswith((" ", "\t")):
        first -= 1
    head = " ".join(lines[first:number - 1])
    inner = head[head.find("(") + 1:head.rfind(")")]
    depth, count = 0, 1 if inner.strip() not in ("", "void") else 0
    for c in inner:
        depth += (c == "(") - (c == ")")
        count += c == "," and depth == 0
    if not allowed(path, "parameters"):
        limit(path, number, "number of parameters", count, PARAMETERS)


def check_calls(path, lines):
    folder = path.split("/")[0]
    kind = "library" if folder in LIBRARY else folder
    if kind not in CALLS:
        return
    pattern = re.compile(r"(?<![\w.>])(" + "|".join(CALLS[kind]) + r")\s*\(")
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#include"):
            continue
        for match in pattern.finditer(line):
            if not allowed(path, match.group(1)):
                fail(path, number, f"{match.group(1)}() is not used here; see tools/gate-allow.txt")
        if kind == "library" and re.search(r"\bstdout\b", line) and not allowed(path, "stdout"):
            fail(path, number, "the library never prints to stdout")


def check_head(path, lines):
    if not lines or lines[0] != "/* SPDX-License-Identifier: Apache-2.0 */":
        fail(path, 1, "the first line is not the SPDX line")
    elif len(lines) < 2 or not lines[1].startswith("/* "):
        fail(path, 2, "a comment that says what the file is for belongs right behind the SPDX line")


def check_c_file(path, text):
    lines, code = text.splitlines(), blank(text).splitlines()
    suffix = "public" if path.startswith("include/") else "kernel" if path.endswith("_kernel.h") else "test kernel" if re.match(r"tests/.*\.cu$", path) else pathlib.Path(path).suffix
    check_head(path, lines)
    limit(path, len(lines), "length of a file", len(lines), LINES[suffix])
    check_includes(path, lines)
    check_functions(path, code)
    check_calls(path, code)
    check_log_modules(path, text)


def check_log_modules(path, text):
    """A module that base/log.c does not list could not be switched on."""
    folder = path.split("/")[0]
    for match in re.finditer(r'\bgnti_log(?:_is_on)?\(\s*GNT_LOG_\w+,\s*"([^"]*)"', text):
        if folder in FOLDERS and path.endswith(".c") and match.group(1) != folder:
            fail(path, text.count("\n", 0, match.start()) + 1, f"logs as module '{match.group(1)}', its folder is {folder}")


def check_names(paths):
    seen = {}
    for path in paths:
        name = pathlib.Path(path).name
        if path.endswith((".c", ".h", ".cpp", ".cu", ".cuh")) and not path.startswith("include/"):
            if not re.fullmatch(r"[a-z0-9_]+\.(c|h|cpp|cu|cuh)", name):
                fail(path, 1, "file names are lower snake case")
            if name in seen:
                fail(path, 1, f"the name is already taken by {seen[name]}")
            seen[name] = path
    folders = {p.split("/")[0] for p in paths if p.split("/")[0] in FOLDERS + ["tests", "bench", "examples", "docs", "tools"]}
    for folder in sorted(folders):
        if folder != "docs" and f"{folder}/README.md" not in paths:
            fail(folder, 1, "the folder has no README.md")


def main():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = sorted(p for p in listed.stdout.split("\n") if p and (ROOT / p).is_file())
    for path in paths:
        try:
            text = (ROOT / path).read_text()
        except UnicodeDecodeError:
            continue
        if path.startswith("tests/fuzz/corpus/"):
            continue
        if path.endswith((".c", ".h", ".cpp", ".cu", ".cuh")):
            check_c_file(path, text)
        if path.endswith("README.md") and path != "README.md":
            limit(path, 1, "length of a folder's README", text.count("\n"), (README_LINES, README_LINES))
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, why in WORDS:
                if path != "LICENSE" and path != "tools/check_source.py" and pattern.search(line) and not allowed(path, why.split()[0]):
                    fail(path, number, why)
    for name, users in sorted(foreign.items()):
        if len(users) > 1 and not all(allowed(path, name) for path in users):
            fail(sorted(users)[1], 1, f"<{name}> is included by {', '.join(sorted(users))}: a foreign header has one home")
    check_names(paths)
    for glob, word, _, used in ALLOWED:
        if not used:
            fail("tools/gate-allow.txt", 1, f"'{glob} {word}' is not needed any more")
    if "--targets" in sys.argv:
        print("\n".join(target_lines))
    print("\n".join(findings), file=sys.stderr) if findings else None
    above = ", ".join(f"{what} {count}" for what, count in sorted(targets.items())) or "none"
    print(f"sources: {len(paths)} files, {len(findings)} findings; above target but within limits: {above}")
    return 1 if findings else 0


sys.exit(main())
