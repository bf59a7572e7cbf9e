/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the CUDA back end. On the stand-in the table is registered instead of a plug-in, and devices are made anew. Built a
 * second time with GNT_CASE_ON_DEVICE (label gpu) a test opens the plug-in as a program does, and uses the devices that are there. */
#ifndef GNT_CUDA_CASE_H
#define GNT_CUDA_CASE_H

#include "tests/support/gnt_test.h"
#include "kernels/backend.h"

#include <stdio.h>
#include <stdlib.h>

static inline int cuda_case_num_devices(void)
{
    const gnt_backend *backend = NULL;
    gnt_device_info info;
    int32_t count = 0;

    if (gnti_backend_find("cuda", &backend) != GNT_OK || backend->list(&info, 1, &count) != GNT_OK)
        count = 0;
    gnt_clear_error();
    return (int)count;
}

#ifdef GNT_CASE_ON_DEVICE
static inline void cuda_case_reset(const char *devices, int seed, const char *failure)
{
    (void)devices;
    (void)seed;
    (void)failure;
}

/* The answer of main; 77: there is no device. */
#define cuda_case_run(tests) (cuda_case_num_devices() > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 77)
#else
#include "kernels/cuda/cuda_plugin.h"
#include "tests/hostcuda/hostcuda.h"

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

#define cuda_case_run(tests) cmocka_run_group_tests(tests, NULL, NULL)
#endif

#endif
