/* SPDX-License-Identifier: Apache-2.0 */
/* Types and names of devices. "auto" is called what it stands for. */
#include "ensemble/pool_device.h"

#include "train/estimate.h"

#include <stdio.h>
#include <string.h>

bool gnti_pool_is_alike(const gnti_device_spec *a, const gnti_device_spec *b)
{
    return strcmp(a->backend, b->backend) == 0 && a->speed == b->speed && a->spmm == b->spmm &&
           a->gemm == b->gemm && a->flops == b->flops && a->bytes == b->bytes && a->threads == b->threads &&
           a->virtual_clock == b->virtual_clock;
}

gnt_status gnti_pool_name(const gnti_device_spec *spec, int32_t number, char out[GNTI_POOL_NAME_BYTES])
{
    gnt_status st = GNT_OK;
    const gnt_backend *backend = NULL;
    int used;

    GNT_TRY(gnti_backend_find(spec->backend, &backend));
    used = spec->index >= 0 ? snprintf(out, GNTI_POOL_NAME_BYTES, "%s:%d", backend->name, (int)spec->index)
                            : snprintf(out, GNTI_POOL_NAME_BYTES, "%s %d", backend->name, (int)number);
    if (spec->speed != 1.0 && used > 0 && used < GNTI_POOL_NAME_BYTES)
        snprintf(out + used, (size_t)(GNTI_POOL_NAME_BYTES - used), " (x%.3g)", spec->speed);
done:
    return st;
}

gnt_status gnti_pool_bytes(const gnti_device_spec *spec, int32_t number, int64_t *out)
{
    gnt_status st = GNT_OK;
    const gnt_backend *backend = NULL;
    const int32_t index = spec->index >= 0 ? spec->index : number;
    gnt_device_info info;
    int32_t count = 0;

    *out = (int64_t)spec->memory;
    GNT_TRY(gnti_backend_find(spec->backend, &backend));
    if (backend->in_host_memory)
        return GNT_OK;
    GNT_TRY(backend->list(&info, 1, &count));
    GNT_CHECK(index < count, GNT_ERR_USAGE, "devices: there is no %s device %d, there %s %d", backend->name,
              (int)index, count == 1 ? "is" : "are", (int)count);
    if (*out == 0)
        (void)gnti_estimate_own_memory(spec, number, out);
done:
    return st;
}

void gnti_pool_power(const gnti_device_spec *spec, double *idle, double *busy)
{
    const gnt_backend *backend = NULL;
    const double threads = spec->threads > 0 ? spec->threads : 1;
    gnt_device_info info;
    int32_t count = 0;
    const bool is_cpu = gnti_backend_find(spec->backend, &backend) == GNT_OK &&
                        backend->list(&info, 1, &count) == GNT_OK && count > 0 &&
                        strcmp(info.kind, "cpu") == 0;

    *idle = spec->idle_watts > 0.0 ? spec->idle_watts : is_cpu ? 3.0 * threads : 60.0;
    *busy = spec->busy_watts > 0.0 ? spec->busy_watts : is_cpu ? 12.0 * threads : 300.0;
    *busy = *busy > *idle ? *busy : *idle;
}
