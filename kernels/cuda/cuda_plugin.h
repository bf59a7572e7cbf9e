/* SPDX-License-Identifier: Apache-2.0 */
/* The table that the plug-in hands over; a test that links the backend registers it by gnti_device_plugin_set. */
#ifndef GNTI_KERNELS_CUDA_PLUGIN_H
#define GNTI_KERNELS_CUDA_PLUGIN_H

#include "kernels/device_plugin.h"

#ifdef __cplusplus
extern "C" {
#endif
extern const gnti_device_plugin gnti_cuda_plugin;
#ifdef __cplusplus
}
#endif

#endif
