#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Help, manual page and completion come from the tables: examples first, every example's options exist, names are unique,
# the page has no error of troff, the completion completes.
source "$(dirname "$0")/support.sh"

run 0 --help
out_has "gnntrain VERB --help" "Exit codes"
sed -n '/^Verbs$/,/^$/p' out | awk -F'  +' 'NF > 2 && $2 != "" { print $2 }' >verbs # of one word or two
[ "$(wc -l <verbs)" -ge 4 ] || fail "few verbs"
run 2
out_has "Verbs"
run 0 --version
out_has "gnntrain " "compiler" "HDF5"

while read -r verb; do
    read -ra words <<<"$verb"
    run 0 "${words[@]}" --help
    [ "$(sed -n 3p out)" = Examples ] || fail "help of $verb does not begin with examples"
    out_has "Usage" "General" "--json" "-h, --help"
    [ "$(sed -n '/^Examples$/,/^$/p' out | grep -c '^  gnntrain ')" -eq 2 ] || fail "$verb has not two examples"
    [ -z "$(grep -oE '^ +(-., )? *--[a-z0-9-]+' out | grep -oE -- '--[a-z0-9-]+' | sort | uniq -d)" ] || fail "$verb has an option twice"
    awk 'length > 110' out | grep -q . && fail "a line of the help of $verb is too long"
    cp out help
    sed -n '/^Examples$/,/^$/s/^  gnntrain //p' help >examples
    while read -r example; do
        eval "run 0 $verb --print-config ${example#"$verb"}"
    done <examples
    run 0 "${words[@]}" -h
    cmp -s out help || fail "-h differs from --help"
done <verbs

# the first word of names of two lists them; a wrong second word is answered with the nearest
while read -r group; do
    run 0 "$group" --help
    sed -n '/^Verbs$/,/^$/p' out | awk -F'  +' 'NF > 2 && $2 != "" { print $2 }' >listed
    grep "^$group " verbs | cmp -s - listed || fail "gnntrain $group --help does not list its verbs"
    run 2 "$group"
    out_has "Verbs"
    run 2 "$group" --nothing
    err_has "names no verb"
    first=$(head -1 listed)
    run 2 "$group" "${first#* }x"
    err_has "unknown verb '${first}x', did you mean '$first'?"
done < <(awk 'NF > 1 { print $1 }' verbs | sort -u)
run 2 trian
err_has "unknown verb 'trian', did you mean 'train'?"
run 2 trian x.h5
err_has "unknown verb 'trian', did you mean 'train'?"

# a verb that needs arguments answers none with its help
run 2 import
out_has "Examples" "--format"

run 0 --man
out_has ".TH GNNTRAIN 1" ".SH EXIT STATUS" ".SS gnntrain import"
if command -v groff >/dev/null; then
    groff -man -Tutf8 -ww out >page 2>complaints || true
    [ ! -s complaints ] || { cat complaints; fail "troff complains"; }
    grep -q 'format of the input' page || fail "the page lacks an option's help"
fi

run 0 --completion
cp out completion.bash
complete_words() { # WORD...: what the last word may become
    bash -c 'source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gnntrain; printf "%s\n" "${COMPREPLY[@]}"' \
        bash "$@"
}
[ "$(complete_words gnntrain impo)" = import ] || fail "verbs are not completed"
[ "$(complete_words gnntrain bench --roun)" = --rounds ] || fail "options are not completed"
grep -qx confusion <<<"$(complete_words gnntrain plot x --kind '')" || fail "words are not completed"
[ "$(complete_words gnntrain plot complet)" = completion.bash ] || fail "file names are not completed"
while read -r group word; do
    [ "$(complete_words gnntrain "${group%?}")" = "$group" ] || fail "group $group is not completed"
    grep -qx -- "$word" <<<"$(complete_words gnntrain "$group" '')" || fail "$group $word is not completed"
    grep -qx -- --json <<<"$(complete_words gnntrain "$group" "$word" --js)" || fail "options of $group $word are not completed"
done < <(awk 'NF > 1' verbs)
echo "help: all as expected"
