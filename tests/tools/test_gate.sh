#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plants mistakes in a copy of the tree, one by one, and demands that tools/check_source.py names each.
set -euo pipefail

source_dir=${GNT_SOURCE_DIR:-$(cd "$(dirname "$0")/../.." && pwd)}
python=${GNT_PYTHON:-$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cd "$work"
git init -q
mkdir -p tools base graph cli include/gnntrain tests/unit
cp "$source_dir/tools/check_source.py" tools/
: >tools/gate-allow.txt
for folder in tools base graph cli tests; do echo "# $folder" >$folder/README.md; done

head='/* SPDX-License-Identifier: Apache-2.0 */
/* A file to be looked at. */'
failed=0

# FILE, the text that must be found, then the content of the file
expect() {
    local file=$1 text=$2
    printf '%s\n%s\n' "$head" "$3" >"$file"
    if "$python" tools/check_source.py >out 2>&1 && [ -n "$text" ]; then
        echo "not found in $file: $text"
        failed=1
    elif [ -n "$text" ] && ! grep -q "^$file:[0-9]*: .*$text" out; then
        echo "found something else in $file than: $text"
        cat out
        failed=1
    elif [ -z "$text" ] && grep -q "^$file" out; then
        echo "a false finding:"
        cat out
        failed=1
    fi
    rm "$file"
}

expect base/good.c '' '#include "base/good.h"
#include <stdio.h>
/* malloc() and "printf(" in comments and strings are fine */
static const char *text = "malloc(1) exit(2)";
void x_malloc(void);'
expect base/up.c 'comes before graph/' '#include "graph/csr.h"'
expect base/near.c 'from the root' '#include "near.h"'
expect cli/peek.c 'public headers and its own only' '#include "graph/csr.h"'
expect graph/home.c 'has its home in datasets/h5_library.h' '#include <hdf5.h>'
expect graph/inside.c 'is for datasets/h5_file.c and datasets/h5_fork.c and datasets/h5_data.c only' '#include "datasets/h5_library.h"'
expect include/gnntrain/own.h 'public headers in angle brackets only' '#include "base/alloc.h"'
expect base/heap.c 'malloc() is not used here' 'void f(void)
{
    char *p = malloc(3);
}'
expect base/heap.cpp 'malloc() is not used here' 'void *f() { return malloc(3); }'
expect base/heap.cuh 'malloc() is not used here' 'static inline void *f() { return malloc(3); }'
expect base/print.c 'printf() is not used here' 'void f(void) { printf("x"); }'
expect base/leave.c 'exit() is not used here' 'void f(void) { exit(1); }'
expect base/copy.c 'strcpy() is not used here' 'void f(char *a) { strcpy(a, "x"); }'
expect cli/random.c 'rand() is not used here' 'int f(void) { return rand(); }'
expect base/out.c 'never prints to stdout' 'void f(void) { fputs("x", stdout); }'
expect base/long.c 'length of a file is 8' "$(yes '/* x */' | head -805)"
expect base/function.c 'length of a function is 1' "void f(void)
{
$(yes '    g();' | head -105)
}"
expect base/deep.c 'depth of nesting is 5' 'void f(int a)
{
    if (a) {
        if (a) {
            if (a) {
                if (a) {
                    if (a)
                        g();
                }
            }
        }
    }
}'
expect base/many.c 'number of parameters is 8' 'void f(int a, int b, int c, int d, int e, int f, int g, int h)
{
}'
expect base/Upper.c 'lower snake case' 'int a;'
expect base/path.c 'path of one machine' "static const char *p = \"/hom""e/someone/x\";"
expect base/note.c 'without an issue number' '/* TO''DO: later */'
expect base/space.c 'white space at the end' 'int a; '
head='int no_head;'
expect base/head.c 'first line is not the SPDX line' 'int a;'
head='/* SPDX-License-Identifier: Apache-2.0 */'
expect base/purpose.c 'a comment that says what the file is for' 'int a;'
head="$head
/* A file. */"
printf '%s\n' "$head" >graph/twice.c
expect tests/unit/twice.c 'already taken' 'int a;'
rm graph/twice.c
rm base/README.md
expect base/readme.c '' 'int a;'
"$python" tools/check_source.py >out 2>&1 || true
grep -q '^graph:1\|^base:1' out || { printf '%s\n' "$head" >base/a.c; "$python" tools/check_source.py >out 2>&1 || true; grep -q '^base:1: the folder has no README' out || { echo "a missing README is not found"; failed=1; }; }
exit $failed
