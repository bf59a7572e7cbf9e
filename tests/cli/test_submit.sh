#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gnntrain submit: scripts as they stand in slurm/golden, what is refused with its remedy, and what is handed to sbatch.
# The script runs here too, under a srun and a scontrol of our own, through each of its ends. Real Slurm: test_slurm.sh.
# shellcheck disable=SC2016 # texts of other scripts
source "$(dirname "$0")/support.sh"
golden=$GNT_SOURCE_DIR/slurm/golden

same_as() { # NAME, of the script in out
    sed -i "2s/gnntrain [^:]*:/gnntrain VERSION:/" out
    bash -n out || fail "the script is no bash"
    if [ "${GNT_WRITE_GOLDEN:-}" = yes ]; then cp out "$golden/$1.sbatch"; fi
    diff "$golden/$1.sbatch" out || fail "not as in slurm/golden/$1.sbatch"
}
run 0 submit --dry-run --command gnntrain -- train cora.h5 --run cora-run
same_as small
run 0 submit --dry-run --nodes 2-4 --tasks-per-node 2 --cpus-per-task 8 --gpus h100:2 --mem 64G --time 1-00:00:00 --grace 300 \
    --partition long --account physics --setup 'module load openmpi' --command "apptainer exec gnn.sif gnntrain" \
    -- train big.h5 --model "sage:64:max, gcn" --run 'runs/it'"'"'s $HOME run'
same_as large

refused() { # TEXT ARGUMENT...
    local text=$1
    shift
    run 2 submit --dry-run "$@"
    err_has "$text"
    [ ! -s out ] || fail "a script was printed all the same"
}
refused "add --run DIR behind train" -- train g.h5
refused "options of train stand behind --" train g.h5 --run r
refused "did you mean --nodes" --noeds 2 -- train g.h5 --run r
refused "did you mean --epochs" -- train g.h5 --run r --epohcs 3
refused "'train' or 'ensemble train' is expected" -- eval r
refused "'train' or 'ensemble train' is expected" -- ensemble plan s.yaml g.h5
refused "not 2" -- train g.h5 h.h5 --run r
refused "leave them out" -- train g.h5 --run r --help
refused "2-4" --nodes 4-2 -- train g.h5 --run r
refused "give one of them" --tasks 4 --tasks-per-node 2 -- train g.h5 --run r
refused "only with --tasks-per-node" --nodes 2-4 --tasks 4 -- train g.h5 --run r
refused "use --nodes 2" --nodes 4 --tasks 2 -- train g.h5 --run r
refused "leave --devices out" --nodes 2 -- train g.h5 --run r --devices 4
refused "leave --devices out" --nodes 2 -- train g.h5 --run r --devices 'cpu:speed=1;cpu:speed=2;cpu:speed=3'
refused "names 5 devices" --nodes 2 -- train g.h5 --run r --devices 'cuda:0-3;cpu:threads=2'
refused "raise --cpus-per-task" --cpus-per-task 4 -- train g.h5 --run r --threads 8
refused "raise --time or lower --grace" --time 3 -- train g.h5 --run r
for time in 0 1:2:3:4 4h 1-2-3 5: -1 ''; do refused "no time limit" "--time=$time" -- train g.h5 --run r; done
for mem in 0 64GB -3 lots ''; do refused "no amount of memory" "--mem=$mem" -- train g.h5 --run r; done
for gpus in 0 h100 h100:2,a100:1 :2 ''; do run 2 submit --dry-run "--gpus=$gpus" -- train g.h5 --run r; done
refused "letters, digits" --partition 'a b' -- train g.h5 --run r
refused "letters, digits" --account $'x\n#SBATCH --uid=0' -- train g.h5 --run r
run 0 submit --dry-run --nodes 2 --tasks 4 -- train g.h5 --run r --devices 4
# an ensemble: its own options and arguments
refused "add --run DIR behind ensemble train" -- ensemble train s.yaml g.h5
refused "takes SPEC DATA, not 1" -- ensemble train g.h5 --run r
refused "unknown option '--epochs'" -- ensemble train s.yaml g.h5 --run r --epochs 3
refused "leave --devices out" --nodes 2 -- ensemble train s.yaml g.h5 --run r --devices 3
run 0 submit --dry-run --nodes 2 -- ensemble train s.yaml g.h5 --run r --devices cpu
run 0 submit --dry-run --cpus-per-task 4 -- ensemble train s.yaml g.h5 --run r --devices 4
out_has "words=(ensemble train s.yaml g.h5 --run r --devices 4)"
run 0 submit --dry-run --nodes 2 --tasks 4 -- train g.h5 --run r --devices cuda:0-3
run 0 submit --dry-run --cpus-per-task 4 -- train g.h5 --run r --devices 4 --threads 4

# sent: the script is kept in the run folder, and sbatch gets its path
mkdir bin
PATH=$work/bin:$PATH
program() { # NAME, its text on stdin
    { echo '#!/bin/bash'; cat; } >"bin/$1"
    chmod +x "bin/$1"
}
: >g.h5
program sbatch <<<'printf "%s|" "$@" >sent; echo "4711;cluster"'
run 0 submit --json -- train g.h5 --run 'a run'
json 'x == {"job": "4711", "script": "a run/submit.sbatch", "run": "a run"}'
[ "$(cat sent)" = "--parsable|a run/submit.sbatch|" ] || fail "sbatch got: $(cat sent)"
err_has "squeue -j 4711"
grep -qx '#SBATCH --job-name=a_run' 'a run/submit.sbatch' || fail "no name for the job"
program sbatch <<<'echo "sbatch: error: no such partition" >&2; exit 1'
run 2 submit -- train g.h5 --run r
err_has "no such partition" "sbatch refused the job (exit code 1"
program sbatch <<<'exit 0'
run 2 submit -- train g.h5 --run r
err_has "named no job"
run 3 submit -- train missing.h5 --run r
err_has missing.h5
program sbatch <<<'exit 127' # what the shell answers where there is none
run 2 submit -- train g.h5 --run r
err_has "no sbatch here"

# the script itself: srun ends with a code, scontrol notes who asked
run 0 submit --dry-run --nodes 2 --cpus-per-task 3 --command gnntrain -- train g.h5 --run r
cp out job.sh
program scontrol <<<'echo "$*" >>requeued'
job() { # CODE CALLS-OF-SCONTROL [VARIABLE=VALUE...]: runs the script
    local expected=$1 calls=$2 code=0
    shift 2
    : >requeued
    env SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=3 "$@" bash job.sh >out 2>err || code=$?
    [ $code -eq "$expected" ] || fail "the script ended with $code, expected $expected"
    [ "$(grep -c '^requeue ' requeued || true)" = "$calls" ] || fail "not $calls requests to requeue"
}
mkdir -p r
program srun <<<'echo "$OMP_NUM_THREADS $GNNTRAIN_THREADS $*" >called; echo "{ \"outcome\": \"complete\" }" >r/summary.json; exit 0'
job 0 0
[ "$(cat called)" = "3 3 --mpi=pmix --cpus-per-task=3 --kill-on-bad-exit=0 --wait=0 gnntrain train g.h5 --run r" ] || fail "srun got: $(cat called)"
program srun <<<'exit 75'
job 0 1
[ "$(cat requeued)" = "requeue 7" ] || fail "scontrol got: $(cat requeued)"
job 0 1 SLURM_ARRAY_JOB_ID=5 SLURM_ARRAY_TASK_ID=3
[ "$(cat requeued)" = "requeue 5_3" ] || fail "scontrol got: $(cat requeued)"
for code in 1 2 3 4 6; do
    program srun <<<"exit $code"
    job $code 0
done
# a lost rank: again while checkpoints come, not for ever; srun's 0 without a complete summary counts as one
for code in 5 137; do
    program srun <<<"exit $code"
    job 0 1
    job $code 0 SLURM_RESTART_COUNT=1
    echo more >>r/checkpoint.h5
    job 0 1 SLURM_RESTART_COUNT=2
done
program srun <<<'echo "{ \"outcome\": \"stopped\" }" >r/summary.json; exit 0'
job 0 1
# on the same nodes first: twice while checkpoints come, once without; a run that ends well then is complete
: >calls
program srun <<<'echo x >>calls; echo more >>r/checkpoint.h5; exit 5'
job 0 1
[ "$(wc -l <calls)" -eq 3 ] || fail "$(wc -l <calls) starts of the ranks, 3 expected"
err_has "again on these nodes, 1 of 2" "again on these nodes, 2 of 2" "requeued"
: >calls
program srun <<<'echo x >>calls; exit 137'
job 0 1
[ "$(wc -l <calls)" -eq 2 ] || fail "$(wc -l <calls) starts of the ranks, 2 expected"
: >calls
program srun <<<'echo x >>calls; [ "$(wc -l <calls)" -gt 1 ] || exit 5; echo "{ \"outcome\": \"complete\" }" >r/summary.json'
job 0 0
[ "$(wc -l <calls)" -eq 2 ] || fail "$(wc -l <calls) starts of the ranks, 2 expected"
run 0 submit --dry-run --nodes 2 --retries 0 --command gnntrain -- train g.h5 --run r
cp job.sh usual.sh; cp out job.sh
: >calls
program srun <<<'echo x >>calls; echo more >>r/checkpoint.h5; exit 5'
job 0 1
[ "$(wc -l <calls)" -eq 1 ] || fail "--retries 0 started the ranks $(wc -l <calls) times"
cp usual.sh job.sh
# where requeueing is not possible the code says it
program scontrol <<<'exit 1'
program srun <<<'exit 75'
job 75 0
err_has "submit this script again"

# a signal reaches the ranks once, as USR1, however often it comes; the shell waits for them, then asks to be requeued
program scontrol <<<'echo "$*" >>requeued; kill -s TERM "$(cat shell)"; sleep 0.2'
program srun <<'S'
trap 'echo got >>signals; [ "$(wc -l <signals)" -gt 1 ] && exit 130; saving=yes' USR1
saving=no; : >started
while [ $saving = no ]; do sleep 0.05; done
sleep 0.5
exit 75
S
rm -f requeued started signals
SLURM_JOB_ID=7 bash job.sh >out 2>err &
pid=$!
echo $pid >shell
until [ -e started ]; do sleep 0.02; done
kill -s TERM $pid; sleep 0.1; kill -s TERM $pid; kill -s USR2 $pid
code=0; wait $pid || code=$?
[ $code -eq 0 ] || fail "a stopped job ended with $code"
[ "$(cat requeued)" = "requeue 7" ] && [ "$(wc -l <signals)" -eq 1 ] || fail "signals: $(cat signals), requests: $(cat requeued)"
err_has "asked to stop" "stopped with a checkpoint: requeued"
echo "submit: all as expected"
