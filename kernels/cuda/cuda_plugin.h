/* SPDX-License-Identifier: Apache-2.0 */
/* The table that the plug-in hands over; a test that links the backend registers it by gnti_device_plugin_set. */
#ifndef GNTI_KERNELS_CUDA_PLUGIN_H
#define GNTI_KERNELS_CUDA_PLUGIN_H

#include "kernels/device_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif
extern const gnti_device_plugin gnti_cuda_plugin;
/* dist/comm_nccl.c, the other half of the plug-in. */
extern const struct gnti_group_table gnti_nccl_table;
void gnti_nccl_version(char *out, size_t bytes); /* of the library; "" when it does not tell */
#ifdef __cplusplus
}
#endif

#endif
