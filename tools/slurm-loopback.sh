#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# slurm-loopback.sh: a small, private Slurm cluster on the loopback interface.
#
# One controller and several slurmd "nodes" run on this one host, with their own
# munge key, state folder and ports: no systemd, no cgroups, no accounting
# database, nothing outside the private folder is written. For tests of batch
# scripts: requeue, signals, node loss, job arrays, GPU counts, MPI over srun.
#
# usage: slurm-loopback.sh COMMAND [ARG]
#   install            apt-get install the Debian packages it needs (root)
#   start              bring the cluster up, wait until every node is idle
#   stop               cancel all jobs, end every daemon it started
#   status             sinfo and squeue
#   env                print the exports a client needs: eval "$(... env)"
#   run CMD ARG...     start, run CMD with those exports, stop; CMD's exit code
#   kill-node NAME     SIGKILL that node's slurmd and its job steps (node loss)
#   stop-node NAME     SIGSTOP that node's slurmd (hung node); cont-node undoes it
#   cont-node NAME
#   start-node NAME    bring a killed node back
#   wait-idle [SECS]   wait until all nodes are idle
#
# Environment (all optional):
#   SLURM_LOOPBACK_DIR       private folder      (default: ${TMPDIR:-/tmp}/slurm-loopback.$UID)
#   SLURM_LOOPBACK_NODES     number of nodes n1..nN                     (default 4)
#   SLURM_LOOPBACK_CPUS      CPUs each node claims; need not exist      (default 4)
#   SLURM_LOOPBACK_MEM       MiB each node claims                       (default 2048)
#   SLURM_LOOPBACK_GPUS      fake GPUs per node: "2", or one count per node,
#                            comma separated, each with an optional type:
#                            "h100:4,h100:4,a100:2,0"                   (default 0)
#   SLURM_LOOPBACK_PORT      first of the 1+NODES TCP ports             (default 26817)
#   SLURM_LOOPBACK_DOWN_S    seconds of silence after which a node is DOWN (default 6)
#   SLURM_LOOPBACK_KILLWAIT  seconds from SIGTERM to SIGKILL at a time limit (default 5)
#   SLURM_LOOPBACK_EXTRA     further slurm.conf lines (may hold newlines)
#   SLURM_LOOPBACK_KEEP=1    keep logs and state at stop
#
# Daemons are ended by the process ids written in the private folder, and only
# after the command line of that process has been checked to be ours.
# shellcheck disable=SC2013,SC2086 # lists of process ids, split on purpose
set -u
umask 022

DIR=${SLURM_LOOPBACK_DIR:-${TMPDIR:-/tmp}/slurm-loopback.$(id -u)}
NODES=${SLURM_LOOPBACK_NODES:-4}
CPUS=${SLURM_LOOPBACK_CPUS:-4}
MEM=${SLURM_LOOPBACK_MEM:-2048}
GPUS=${SLURM_LOOPBACK_GPUS:-0}
PORT=${SLURM_LOOPBACK_PORT:-26817}
DOWN_S=${SLURM_LOOPBACK_DOWN_S:-6}
KILLWAIT=${SLURM_LOOPBACK_KILLWAIT:-5}
EXTRA=${SLURM_LOOPBACK_EXTRA:-}
CONF=$DIR/etc/slurm.conf
MARK=$DIR/.slurm-loopback # only a folder that holds this file is ever cleared
PATH=$PATH:/usr/sbin:/sbin

die() { echo "slurm-loopback: $*" >&2; exit 1; }
now_ms() { date +%s%3N; }

need() {
    local c miss=
    for c in munged slurmctld slurmd srun sbatch scontrol sinfo; do
        command -v "$c" >/dev/null || miss="$miss $c"
    done
    [ -z "$miss" ] || die "missing:$miss (run '$0 install' as root)"
}

# pid_of FILE PATTERN: the pid in FILE if that process lives and its command line holds PATTERN
pid_of() {
    local p
    p=$(cat "$1" 2>/dev/null) || return 1
    [ -n "$p" ] && [ -r "/proc/$p/cmdline" ] || return 1
    tr '\0' ' ' <"/proc/$p/cmdline" | grep -qF -- "$2" || return 1
    echo "$p"
}

# end_pids SECONDS PID...: TERM all, KILL what is left after SECONDS
end_pids() {
    local t p left
    t=$(($(now_ms) + $1 * 1000)); shift
    for p in "$@"; do kill -CONT "$p" 2>/dev/null; kill "$p" 2>/dev/null; done
    while [ "$(now_ms)" -lt "$t" ]; do
        left=
        for p in "$@"; do kill -0 "$p" 2>/dev/null && left="$left $p"; done
        [ -n "$left" ] || return 0
        sleep 0.05
    done
    for p in "$@"; do kill -9 "$p" 2>/dev/null; done
    return 0
}

gpu_spec() { # gpu_spec I: "type:count" or "count" for node I (1-based)
    local IFS=, a
    read -r -a a <<<"$GPUS"
    if [ ${#a[@]} -eq 1 ]; then echo "${a[0]}"; else echo "${a[$(($1 - 1))]:-0}"; fi
}

write_conf() {
    local i g type count gres lines='' types='' mpi=none
    if compgen -G '/usr/lib/*/pmix*/lib/libpmix.so' >/dev/null; then
        mpi=pmix
    else
        echo "slurm-loopback: no libpmix.so (package libpmix-dev): srun cannot start MPI programs" >&2
    fi
    : >"$DIR/etc/gres.conf"
    for i in $(seq "$NODES"); do
        g=$(gpu_spec "$i"); type=; count=$g; gres=
        case $g in *:*) type=${g%%:*}; count=${g##*:} ;; esac
        if [ "$count" -gt 0 ]; then
            types=gpu
            gres=" Gres=gpu${type:+:$type}:$count"
            # Slurm hands out GPU indices (CUDA_VISIBLE_DEVICES) only for gres with a device
            # file; links to /dev/null pass its check, and nothing opens them
            for c in $(seq 0 $((count - 1))); do ln -sf /dev/null "$DIR/dev/n$i.gpu$c"; done
            if [ "$count" -eq 1 ]; then c="gpu0"; else c="gpu[0-$((count - 1))]"; fi
            echo "NodeName=n$i Name=gpu${type:+ Type=$type} File=$DIR/dev/n$i.$c" >>"$DIR/etc/gres.conf"
        fi
        lines="$lines
NodeName=n$i NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((PORT + i)) CPUs=$CPUS RealMemory=$MEM$gres State=UNKNOWN"
    done
    cat >"$CONF" <<CONF
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$DIR/munge.sock
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$DIR/state
SlurmdSpoolDir=$DIR/spool/%n
# per node: the PMIx plugin names its folder under TmpFS by job and step only, so
# nodes that share one host would collide there
TmpFS=$DIR/tmp/%n
SlurmctldPidFile=$DIR/slurmctld.pid
SlurmdPidFile=$DIR/slurmd.%n.pid
SlurmctldLogFile=$DIR/log/slurmctld.log
SlurmdLogFile=$DIR/log/slurmd.%n.log
SlurmctldDebug=info
SlurmdDebug=info
SwitchType=switch/none
MpiDefault=$mpi
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$DIR/log/jobcomp.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_yield_sleep=1,default_queue_depth=1000,requeue_setup_env_fail
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=$DOWN_S
MessageTimeout=3
BatchStartTimeout=10
UnkillableStepTimeout=20
KillWait=$KILLWAIT
InactiveLimit=0
Waittime=0
MinJobAge=300
JobRequeue=1
OverTimeLimit=0
MaxArraySize=1001
RebootProgram=/bin/true
TreeWidth=64
${types:+GresTypes=$types}
$lines
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
$EXTRA
CONF
}

start_node() {
    local n=$1
    pid_of "$DIR/slurmd.$n.pid" "slurmd -N $n" >/dev/null && return 0
    rm -f "$DIR/slurmd.$n.pid"
    mkdir -p "$DIR/spool/$n" "$DIR/tmp/$n"
    SLURM_CONF=$CONF slurmd -N "$n" -f "$CONF" || die "slurmd $n did not start (see $DIR/log)"
}

wait_idle() {
    local t=$(($(now_ms) + ${1:-30} * 1000)) k
    while :; do
        k=$(sinfo -h -N -o '%N %t' 2>/dev/null | sort -u | grep -c ' idle$')
        [ "$k" = "$NODES" ] && return 0
        [ "$(now_ms)" -lt $t ] || { sinfo -N >&2; return 1; }
        sleep 0.1
    done
}

clear_dir() {
    [ -n "$DIR" ] && [ -f "$MARK" ] && [ -O "$MARK" ] || return 0
    rm -rf "${DIR:?}"/{etc,state,spool,tmp,log,dev,nodes} "${DIR:?}"/*.pid "${DIR:?}"/munge.*
}

cmd_start() {
    need
    local t0 i
    t0=$(now_ms)
    [ ${#DIR} -le 90 ] || die "SLURM_LOOPBACK_DIR is too long for a Unix socket"
    case $DIR in
    *[[:space:]]*) die "no blanks allowed in SLURM_LOOPBACK_DIR" ;;
    /?*) ;;
    *) die "SLURM_LOOPBACK_DIR must be an absolute path" ;;
    esac
    if [ -e "$DIR" ] && [ ! -e "$MARK" ]; then
        rmdir "$DIR" 2>/dev/null || die "$DIR exists and is not ours"
    fi
    pid_of "$DIR/slurmctld.pid" "$CONF" >/dev/null && die "already running in $DIR"
    clear_dir
    mkdir -p "$DIR" && : >"$MARK" && mkdir -p "$DIR"/{etc,state,spool,tmp,log,dev} || die "cannot make $DIR"
    [ -O "$DIR" ] || die "$DIR belongs to someone else"
    chmod 755 "$DIR"
    echo "$NODES" >"$DIR/nodes"
    write_conf

    (umask 077; head -c 1024 /dev/urandom >"$DIR/etc/munge.key")
    munged --force --key-file="$DIR/etc/munge.key" --socket="$DIR/munge.sock" \
        --pid-file="$DIR/munged.pid" --log-file="$DIR/log/munged.log" \
        --seed-file="$DIR/munge.seed" --num-threads=2 2>>"$DIR/log/munged.err" ||
        die "munged did not start: $(cat "$DIR/log/munged.err")"

    export SLURM_CONF=$CONF
    slurmctld -c -f "$CONF" 2>>"$DIR/log/slurmctld.err" ||
        { cat "$DIR/log/slurmctld.err" >&2; cmd_stop; die "slurmctld did not start"; }
    for i in $(seq "$NODES"); do start_node "n$i"; done
    wait_idle 30 || { tail -n 20 "$DIR"/log/slurm*.log >&2; cmd_stop; die "nodes did not come up"; }
    echo "slurm-loopback: $NODES nodes up in $(($(now_ms) - t0)) ms; eval \"\$($0 env)\"" >&2
}

# processes whose parent chain starts at one of our slurmstepd's, plus those daemons
step_pids() { # step_pids [NODE]: pids of slurmstepd (of NODE) started from our spool
    local p c
    for p in /proc/[0-9]*; do
        c=$({ tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null) || continue
        case $c in
        "slurmstepd: ["*) ;;
        *slurmstepd*) ;;
        *) continue ;;
        esac
        { tr '\0' '\n' <"$p/environ" | grep -qxF "SLURM_CONF=$CONF"; } 2>/dev/null || continue
        if [ -n "${1:-}" ]; then
            find "$p/fd" -lname "$DIR/log/slurmd.$1.log" 2>/dev/null | grep -q . || continue
        fi
        echo "${p#/proc/}"
    done
}

descendants() { # descendants PID...: those pids' children, recursively
    local p c
    for p in "$@"; do
        for c in $(cat /proc/"$p"/task/*/children 2>/dev/null); do
            echo "$c"; descendants "$c"
        done
    done
}

cmd_stop() {
    export SLURM_CONF=$CONF
    local i p n
    [ -f "$MARK" ] || return 0
    n=$(cat "$DIR/nodes" 2>/dev/null || echo "$NODES")
    for i in $(seq "$n"); do p=$(pid_of "$DIR/slurmd.n$i.pid" slurmd) && kill -CONT "$p" 2>/dev/null; done
    if pid_of "$DIR/slurmctld.pid" "$CONF" >/dev/null; then
        if [ -n "$(timeout 5 squeue -h -o %i 2>/dev/null)" ]; then
            timeout 5 scancel -f -s KILL --state=RUNNING -u "$(id -un)" >/dev/null 2>&1
            timeout 5 scancel -u "$(id -un)" >/dev/null 2>&1
            for i in $(seq 30); do
                [ -z "$(timeout 2 squeue -h -o %i 2>/dev/null)" ] && break
                sleep 0.1
            done
        fi
    fi
    local left
    left=$(step_pids)
    left="$(descendants $left) $left"
    local d=
    for i in $(seq "$n"); do p=$(pid_of "$DIR/slurmd.n$i.pid" "slurmd -N n$i") && d="$d $p"; done
    p=$(pid_of "$DIR/slurmctld.pid" "$CONF") && d="$d $p"
    end_pids 1 $d
    for p in $left; do kill -9 "$p" 2>/dev/null; done
    p=$(pid_of "$DIR/munged.pid" "$DIR/munge.sock") && end_pids 1 "$p"
    if [ "${SLURM_LOOPBACK_KEEP:-0}" != 1 ]; then
        clear_dir
        rm -f "$MARK"
        rmdir "$DIR" 2>/dev/null
    fi
    return 0
}

cmd_env() {
    [ -f "$CONF" ] || die "not running in $DIR"
    echo "export SLURM_CONF=$CONF"
    # Open MPI as root and on fewer cores than ranks
    echo "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1"
    # "nodes" of one host would take the same names in its shared memory, and ranks on them each other's segments
    echo "export OMPI_MCA_btl=self,tcp"
}

cmd_kill_node() {
    local n=${1:?node name} p s
    s=$(step_pids "$n")
    s="$(descendants $s) $s"
    p=$(pid_of "$DIR/slurmd.$n.pid" "slurmd -N $n") || die "$n is not running"
    kill -9 "$p"
    for p in $s; do kill -9 "$p" 2>/dev/null; done
    rm -f "$DIR/slurmd.$n.pid"
}

case ${1:-} in
install)
    apt-get install -y --no-install-recommends slurmctld slurmd slurm-client \
        slurm-wlm-basic-plugins munge libpmix-dev ;; # -dev: the plugin opens the unversioned libpmix.so
start) cmd_start ;;
stop) cmd_stop ;;
restart) cmd_stop; cmd_start ;;
status) [ -f "$CONF" ] || die "not running in $DIR"; export SLURM_CONF=$CONF; sinfo -N -o "%N %t %c %m %G %E"; squeue ;;
env) cmd_env ;;
run)
    shift
    cmd_start && eval "$(cmd_env)"
    trap cmd_stop EXIT
    "$@" ;;
kill-node) cmd_kill_node "${2:-}" ;;
stop-node) p=$(pid_of "$DIR/slurmd.${2:?node}.pid" "slurmd -N $2") && kill -STOP "$p" ;;
cont-node) p=$(pid_of "$DIR/slurmd.${2:?node}.pid" "slurmd -N $2") && kill -CONT "$p" ;;
start-node) [ -f "$CONF" ] || die "not running in $DIR"; start_node "${2:?node}" ;;
wait-idle) [ -f "$CONF" ] || die "not running in $DIR"; export SLURM_CONF=$CONF; NODES=$(cat "$DIR/nodes"); wait_idle "${2:-30}" ;;
*) sed -n '2,/^set -u/p' "$0" | sed '$d; s/^# \{0,1\}//'; exit 2 ;;
esac
