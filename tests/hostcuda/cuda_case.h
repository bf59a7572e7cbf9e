/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the CUDA back end on the stand-in: the table is registered instead of a plug-in, and devices are made anew. */
#ifndef GNT_CUDA_CASE_H
#define GNT_CUDA_CASE_H

#include "kernels/cuda/cuda_plugin.h"
#include "tests/hostcuda/hostcuda.h"

#include <stdio.h>
#include <stdlib.h>

/* Starts anew with these devices ("64M,16M"), a seed of the order of things, and a failure (hostcuda.h) or NULL. */
static inline void cuda_case_reset(const char *devices, int seed, const char *failure)
{
    char text[16];

    snprintf(text, sizeof text, "%d", seed);
    setenv("HOSTCUDA_DEVICES", devices, 1);
    setenv("HOSTCUDA_SEED", text, 1);
    setenv("HOSTCUDA_FAIL", failure != NULL ? failure : "", 1);
    hostcuda_reset();
    gnti_device_plugin_set(&gnti_cuda_plugin);
}

#endif
