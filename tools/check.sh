#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The gate: layout, sources, shell scripts, public headers, exported names and struct sizes, commands in the README.
# Seconds; needs a dev build (build/dev, or GNT_BUILD) for the last three.
#
#   tools/check.sh [--targets] [--update-symbols] [--tidy]
#
# --targets lists what exceeds a target yet keeps within the limits; --update-symbols writes docs/api-symbols.txt anew;
# --tidy also runs clang-tidy (minutes).
# shellcheck disable=SC2317 # the steps are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=${GNT_BUILD:-build/dev}
targets=() update=no tidy=no failed=0
for argument in "$@"; do
    case $argument in
    --targets) targets=(--targets) ;;
    --update-symbols) update=yes ;;
    --tidy) tidy=yes ;;
    *)
        echo "usage: tools/check.sh [--targets] [--update-symbols] [--tidy]" >&2
        exit 2
        ;;
    esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=${GNT_PYTHON:-$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)}

step() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        printf 'ok    %s%s\n' "$name" "$(tail -1 "$work/out" | sed -n 's/^sources: /: /p')"
        [ ${#targets[@]} -eq 0 ] || grep 'the target is' "$work/out"
    else
        printf 'FAIL  %s\n' "$name"
        sed 's/^/      /' "$work/out" | head -60
        failed=1
    fi
}

c_files() { git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' | while read -r f; do [ -f "$f" ] && echo "$f"; done; }

check_layout() {
    c_files | xargs clang-format --dry-run --Werror 2>&1 | grep -E 'error:' | sed 's/error: code should be.*/run clang-format -i/' |
        sort -u -t: -k1,1 >"$work/layout"
    cat "$work/layout"
    [ ! -s "$work/layout" ]
}

check_scripts() {
    { git ls-files -co --exclude-standard -- '*.sh'; echo quickstart; echo check; echo .ci/run; } | xargs shellcheck -x -P SCRIPTDIR -e SC2015
}

# Every public header alone, as C17 and as C++17, with pedantic warnings as errors.
check_headers() {
    local header status=0
    for header in include/gnntrain/*.h; do
        for language in c c++; do
            echo "#include <gnntrain/$(basename "$header")>" |
                cc -std="${language}17" -x "$language" -Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude - || status=1
        done
    done
    return "$status"
}

# "function NAME" and "private NAME" as exported, "struct NAME BYTES" of public structs with struct_size in front.
list_symbols() {
    local library=$build/lib/libgnntrain.so
    nm -D --defined-only --with-symbol-versions "$library" | awk '
        $2 == "A" { next }
        { split($3, part, "@+"); print (part[2] == "GNNTRAIN_0" ? "function" : "private"), part[1] }'
    {
        echo '#include <stdio.h>'
        for header in include/gnntrain/*.h; do echo "#include <gnntrain/$(basename "$header")>"; done
        echo 'int main(void) {'
        awk '/^typedef struct [a-z0-9_]+ \{|^struct [a-z0-9_]+ \{/ { name = $(NF - 1); getline
                 if ($0 ~ /size_t struct_size;/) printf "printf(\"struct %s %%zu\\n\", sizeof(struct %s));\n", name, name }' \
            include/gnntrain/*.h
        echo 'return 0; }'
    } >"$work/sizes.c"
    cc -std=c17 -Iinclude -o "$work/sizes" "$work/sizes.c" && "$work/sizes"
}

check_symbols() {
    if [ ! -f "$build/lib/libgnntrain.so" ]; then
        echo "no $build/lib/libgnntrain.so: build the dev preset first"
        return 1
    fi
    list_symbols | LC_ALL=C sort >"$work/symbols" || return 1
    [ "$update" = yes ] && cp "$work/symbols" docs/api-symbols.txt
    declared | LC_ALL=C sort -u >"$work/declared"
    awk '$1 != "struct" { print $2 }' "$work/symbols" | LC_ALL=C sort -u >"$work/exported"
    LC_ALL=C comm -3 "$work/declared" "$work/exported" |
        awk -F'\t' '{ print ($1 != "" ? $1 ": declared with GNT_API but not exported" : $2 ": exported but not declared with GNT_API") }' >"$work/differs"
    cat "$work/differs"
    diff docs/api-symbols.txt "$work/symbols" ||
        { echo "the interface changed: if so meant, tools/check.sh --update-symbols, and a line in CHANGELOG.md"; return 1; }
    [ ! -s "$work/differs" ]
}

declared() {
    cat include/gnntrain/*.h | sed 's,/\*.*\*/,,' | tr '\n' ' ' | grep -oE 'GNT_API[^;({]*[ *]gntx?_[a-z0-9_]+' |
        grep -oE 'gntx?_[a-z0-9_]+$'
}

# Each command shown in README.md and docs/ names a verb that exists and options that its --help lists.
check_commands() {
    local command=$build/bin/gnntrain status=0 verb option
    [ -x "$command" ] || { echo "no $command: build the dev preset first"; return 1; }
    while read -r line; do
        verb=$(awk '{ print $2 }' <<<"$line")
        case $verb in --version | --help) continue ;; esac
        [ "$verb" != ensemble ] || verb="ensemble $(awk '{ print $3 }' <<<"$line")"
        # shellcheck disable=SC2086 # a verb may be two words
        if ! "$command" $verb --help >"$work/help" 2>&1; then
            echo "no such command: $line"
            status=1
            continue
        fi
        while read -r option; do
            grep -qE -- "$option([^a-z-]|$)" "$work/help" || { echo "'$verb' has no option $option: $line"; status=1; }
        done < <(grep -oE -- ' --[a-z][a-z-]*' <<<"$line")
    done < <(cat README.md docs/*.md | awk '/^```/ { fence = !fence; next } fence' | sed -n 's/^\$\{0,1\} *\(gnntrain [a-z-].*\)/\1/p')
    return "$status"
}

check_tidy() {
    git ls-files -- '*.c' | grep -vE '^(tests|examples|bench)/' | xargs clang-tidy-14 --quiet -p "$build" --warnings-as-errors='*'
}

step "layout (clang-format)" check_layout
step "sources" "$python" tools/check_source.py "${targets[@]}"
step "shell scripts (shellcheck)" check_scripts
step "public headers as C17 and C++17" check_headers
step "exported names and struct sizes" check_symbols
step "commands in README and docs" check_commands
[ "$tidy" = no ] || step "clang-tidy" check_tidy
exit $failed
