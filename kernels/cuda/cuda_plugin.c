/* SPDX-License-Identifier: Apache-2.0 */
/* The plug-in's table: the backend, the communicator of its devices, and what it sees of driver and libraries.
 *
 * Facts come from calls that need no device: a library's handle without a driver prints or crashes.
 */
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_plugin.h"

#include <stdio.h>
#include <string.h>

/* 13000 as "13.0". */
static void version_text(char *out, size_t bytes, int version)
{
    if (version > 0)
        snprintf(out, bytes, "%d.%d", version / 1000, version % 1000 / 10);
}

static void library_versions(gnti_plugin_facts *out)
{
    int major = 0, minor = 0, patch = 0;
    const size_t blas = cublasLtGetVersion();

    if (cusparseGetProperty(MAJOR_VERSION, &major) == CUSPARSE_STATUS_SUCCESS &&
        cusparseGetProperty(MINOR_VERSION, &minor) == CUSPARSE_STATUS_SUCCESS &&
        cusparseGetProperty(PATCH_LEVEL, &patch) == CUSPARSE_STATUS_SUCCESS)
        snprintf(out->sparse, sizeof out->sparse, "%d.%d.%d", major, minor, patch);
    snprintf(out->blas, sizeof out->blas, "%d.%d.%d", (int)(blas / 10000), (int)(blas % 10000 / 100),
             (int)(blas % 100));
    gnti_nccl_version(out->collectives, sizeof out->collectives);
}

static void find_problem(gnti_plugin_facts *out)
{
    int count = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);

    (void)cudaGetLastError();
    if (e == cudaErrorInsufficientDriver)
        snprintf(out->problem, sizeof out->problem,
                 "the driver (%s) is older than the runtime (%s) or missing",
                 out->driver[0] != '\0' ? out->driver : "none", out->runtime);
    else if (e != cudaSuccess || count == 0)
        snprintf(out->problem, sizeof out->problem, "no device: %s", cudaGetErrorString(e));
}

static void get_facts(gnti_plugin_facts *out)
{
    int version = 0;

    memset(out, 0, sizeof *out);
    if (cudaDriverGetVersion(&version) == cudaSuccess)
        version_text(out->driver, sizeof out->driver, version);
    version = 0;
    if (cudaRuntimeGetVersion(&version) == cudaSuccess)
        version_text(out->runtime, sizeof out->runtime, version);
    library_versions(out);
    find_problem(out);
}

const gnti_device_plugin gnti_cuda_plugin = { .version = gnti_device_plugin_version,
                                              .backend = &gnti_cuda_backend,
                                              .group = &gnti_nccl_table,
                                              .facts = get_facts };
