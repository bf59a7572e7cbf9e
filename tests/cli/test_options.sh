#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Options: spellings, precedence, contradictions, and that nothing is ignored. The verb bench is used since it has every
# kind of option that --print-config can show without doing anything.
source "$(dirname "$0")/support.sh"

value() { sed -n "s/^$1: //p" "$work/out"; }

# spellings
run 0 bench --rounds 7 --print-config
[ "$(value rounds)" = '7  # flag' ] || fail "--rounds 7"
run 0 bench --rounds=8 --print-config
[ "$(value rounds)" = '8  # flag' ] || fail "--rounds=8"
run 0 bench --list --print-config
[ "$(value list)" = 'true  # flag' ] || fail "--list"
run 0 bench --list=off --print-config
[ "$(value list)" = 'false  # flag' ] || fail "--list=off"

# what is wrong, word for word
run 2 trian
err_is "error: unknown verb 'trian'*see: gnntrain --help"
run 2 bench --round 5
err_is "error: unknown option '--round', did you mean --rounds?
see: gnntrain bench --help"
run 2 bench --roudns=5
err_has "unknown option '--roudns', did you mean --rounds?"
run 2 bench --qqqq
err_is "error: unknown option '--qqqq'
see: gnntrain bench --help"
run 2 bench -x
err_has "unknown option '-x'"
run 2 bench --rounds
err_has "option '--rounds' needs a value"
run 2 bench --rounds many
err_has "option 'rounds': 'many' is not a whole number from 1 to 1000"
run 2 bench --rounds 0
err_has "'0' is not a whole number from 1 to 1000"
run 2 bench --list=perhaps
err_has "option 'list': 'perhaps' is neither true nor false"
run 2 bench --rounds 5 --rounds 6
err_has "option '--rounds' is given twice: '5' and '6'"
run 0 bench --rounds 5 --rounds 5 --print-config
run 2 bench stray
err_has "does not take 'stray'"
run 2 bench -- --list
err_has "does not take '--list'"
run 2 plot a-run
err_has "-o FILE"
run 2 plot a-run -o x.svg --kind curve
err_has "'curve' is not one of all|curves|confusion|compare: did you mean 'curves'?"
run 2 plot a-run -o x.svg --kind elephants
err_has "'elephants' is not one of all|curves|confusion|compare"
err_lacks "did you mean"
run 2 --versoin
err_has "'--versoin' is none, did you mean --version?"

# precedence: default < user file < --config < environment < flag
run 0 bench --print-config
[ "$(value rounds)" = '5  # default' ] || fail "default"
mkdir -p "$XDG_CONFIG_HOME/gnntrain"
echo 'rounds: 11' >"$XDG_CONFIG_HOME/gnntrain/bench.yaml"
run 0 bench --print-config
[ "$(value rounds)" = '11  # user file' ] || fail "user file"
printf '# mine\nrounds: 12\nthreads: 3\n' >mine.yaml
run 0 bench --config mine.yaml --print-config
[ "$(value rounds)" = '12  # --config' ] || fail "--config"
GNNTRAIN_BENCH_ROUNDS=13 run 0 bench --config mine.yaml --print-config
[ "$(value rounds)" = '13  # environment' ] || fail "environment"
[ "$(value threads)" = '3  # --config' ] || fail "threads of --config"
GNNTRAIN_BENCH_ROUNDS=13 run 0 bench --rounds 14 --config mine.yaml --print-config
[ "$(value rounds)" = '14  # flag' ] || fail "flag"

# what --print-config prints is a file that --config reads to the same values
run 0 bench --case 'a "b" #c' --rounds 9 --print-config
grep -v '^# ' out >again.yaml
run 0 bench --config again.yaml --print-config
[ "$(value case)" = '"a \"b\" #c"  # --config' ] || fail "text with quotes"
[ "$(value rounds)" = '9  # --config' ] || fail "round trip"

# files and variables are as strict as flags
echo 'roudns: 5' >bad.yaml
run 2 bench --config bad.yaml
err_has "'bad.yaml' line 1, roudns: unknown key 'roudns', did you mean 'rounds'?"
printf 'threads: 2\nrounds: x\n' >bad.yaml
run 2 bench --config bad.yaml
err_has "'bad.yaml' line 2, rounds: option 'rounds': 'x' is not a whole number"
printf 'rounds: [1, 2]\n' >bad.yaml
run 2 bench --config bad.yaml
err_has "'bad.yaml' line 1"
run 3 bench --config absent.yaml
err_has "cannot open 'absent.yaml': No such file"
GNNTRAIN_BENCH_ROUDNS=3 run 2 bench --list
err_has "unknown environment variable GNNTRAIN_BENCH_ROUDNS, did you mean --rounds?"
GNNTRAIN_BENCH_ROUNDS=x run 2 bench --list
err_has "environment variable GNNTRAIN_BENCH_ROUNDS: option 'rounds': 'x'"
GNNTRAIN_BENHC_ROUNDS=3 run 0 bench --print-config
err_has "warning: environment variable GNNTRAIN_BENHC_ROUNDS is not used"
GNNTRAIN_THREADS=2 GNNTRAIN_LOG=info run 0 bench --print-config
err_is ""
run 2 devices --log loud
err_has "'loud' is no log level"

# --json and --quiet
run 0 devices --json
json 'x["devices"][0]["threads"] >= 1 and x["devices"][0]["total_bytes"] > 0'
run 0 devices --profile --devices 'cpu:clock=virtual,speed=4;cpu:clock=virtual,mem=1G' --json
json '3.7 < x["devices"][0]["speed"] < 4.3 and x["devices"][1]["speed"] == 1 and x["devices"][1]["memory_bytes"] == 1 << 30'
json 'x["shares"].endswith(":1")'
run 2 devices --devices 2
err_has "add --profile"
GNNTRAIN_BENHC_ROUNDS=3 run 0 devices -q
err_is ""
echo "options: all as expected"
