# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Addresses at which processes of the NCCL stand-in meet: those that are there when a job has ended must all be gone soon. Another
# test's job may run at the same time, so none is blamed before it had time to end.
no_addresses_left() {
    local seen i
    seen=$(grep -oE 'hostcuda-nccl-[0-9]+' /proc/net/unix | sort -u) || return 0
    for ((i = 0; i < 600; i++)); do
        seen=$(comm -12 <(echo "$seen") <(grep -oE 'hostcuda-nccl-[0-9]+' /proc/net/unix | sort -u))
        [ -n "$seen" ] || return 0
        sleep 0.1
    done
    fail "addresses of a job are still there after 60 s: $seen"
}
