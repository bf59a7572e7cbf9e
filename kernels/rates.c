/* SPDX-License-Identifier: Apache-2.0 */
/* Rates as numbers: defaults, seconds of an op, devices that differ. How they are measured: profile.c. */
#include "kernels/cost.h"
#include "kernels/profile.h"

#include <math.h>
#include <string.h>

gnti_rates gnti_rates_default(int32_t num_threads)
{
    const gnti_cost_device dev = gnti_cost_device_default(num_threads);
    gnti_rates r;

    for (int k = 0; k < GNTI_OP_NUM_KINDS; k++) {
        r.flops[k] = k == GNTI_OP_GEMM ? dev.gemm_flops : dev.vector_flops;
        r.bytes[k] = k == GNTI_OP_SPMM || k == GNTI_OP_ATTEND ? dev.cache_bytes_rate : dev.memory_bytes;
    }
    return r;
}

double gnti_rates_seconds(const gnti_rates *rates, gnti_op_kind kind, double flops, double bytes)
{
    return fmax(flops / rates->flops[kind], bytes / rates->bytes[kind]);
}

bool gnti_device_specs_differ(const gnti_device_spec *specs, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        const gnti_device_spec *a = &specs[0], *b = &specs[i];

        if (strcmp(a->backend, b->backend) != 0 || a->speed != b->speed || a->spmm != b->spmm ||
            a->gemm != b->gemm || a->flops != b->flops || a->bytes != b->bytes || a->threads != b->threads)
            return true;
    }
    return false;
}
