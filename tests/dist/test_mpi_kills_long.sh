#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same with 50 kills.
#   label: long
#   timeout: 1500
GNT_MPI_KILLS=50 GNT_MPI_SEED=11 exec bash "$(dirname "$0")/test_mpi_kills.sh"
