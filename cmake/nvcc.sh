#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles one file of kernels and keeps what the assembler says of registers, spills and shared memory beside the object.
#
#   nvcc.sh OBJECT COMMAND...      COMMAND without "-o OBJECT"; OBJECT.ptxas gets its messages, which are shown when it fails
object=$1
shift
if "$@" -o "$object" 2>"$object.ptxas"; then
    exit 0
fi
cat "$object.ptxas" >&2
exit 1
