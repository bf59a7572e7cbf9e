/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of profile.h. Both products are repeated; the mean of the middle half of the times keeps out what other programs
 * did meanwhile, and averages the noise of a virtual clock.
 */
#include "kernels/profile.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 1024, DEGREE = 16, WIDTH = 64, WARM_UP = 2, REPEATS = 96 };

typedef struct probe {
    gnt_device *device;
    gnt_stream *stream;
    gnti_virtual *clock;
    gnt_buffer *x, *y, *w;
    gnt_spmm_plan *plan;
    int64_t offsets[ROWS + 1];
    int32_t columns[ROWS * DEGREE];
} probe;

static gnt_mat_view view_of(gnt_buffer *buf, int64_t rows)
{
    return (gnt_mat_view){ .buf = buf,
                           .rows = rows,
                           .members = 1,
                           .block_members = 1,
                           .width = WIDTH,
                           .row_stride = WIDTH,
                           .member_stride = WIDTH,
                           .block_stride = rows * WIDTH,
                           .dtype = GNT_F32 };
}

static void probe_close(probe *p)
{
    gnti_spmm_plan_free(&p->plan);
    gnti_buffer_free(&p->x);
    gnti_buffer_free(&p->y);
    gnti_buffer_free(&p->w);
    gnti_stream_close(&p->stream);
    gnti_virtual_free(&p->clock);
    gnti_device_close(&p->device);
    gnti_free(p);
}

/* A ring whose row reads what lies 1, 8, 27, ... rows on: neither all in the cache line nor far. */
static gnt_status probe_open(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                             probe *p)
{
    gnt_status st = GNT_OK;
    gnti_device_config own = *config;
    const gnt_spmm_plan_args plan = { .num_rows = ROWS,
                                      .num_cols = ROWS,
                                      .num_arcs = ROWS * DEGREE,
                                      .offsets = p->offsets,
                                      .columns = p->columns,
                                      .end_row = ROWS,
                                      .max_width = WIDTH };

    for (int32_t i = 0; i <= ROWS; i++)
        p->offsets[i] = (int64_t)i * DEGREE;
    for (int32_t i = 0; i < ROWS; i++)
        for (int32_t k = 0; k < DEGREE; k++)
            p->columns[i * DEGREE + k] = (i + 61 * (k + 1)) % ROWS;
    if (spec->threads > 0)
        own.num_threads = spec->threads;
    own.memory_limit = 0; /* the probe is small; what a run needs is checked when chunks are placed */
    GNT_TRY(gnti_device_open_spec(spec, 0, &own, &p->device));
    GNT_TRY(gnti_stream_open(p->device, 0, &p->stream));
    GNT_TRY(gnti_virtual_create(spec, seed, &p->clock));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * ROWS * WIDTH, &p->x));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * ROWS * WIDTH, &p->y));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * WIDTH * WIDTH, &p->w));
    GNT_TRY(gnti_spmm_plan_create(p->stream, &plan, &p->plan));
done:
    return st;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Seconds of a product, sparse or dense. */
static gnt_status measure(probe *p, bool dense, double *out)
{
    gnt_status st = GNT_OK;
    const gnt_spmm_args spmm = {
        .x = view_of(p->x, ROWS), .y = view_of(p->y, ROWS), .alpha = 1.0f, .epilogue = GNT_EPILOGUE_NONE
    };
    const gnt_gemm_args gemm = { .a = view_of(p->x, ROWS),
                                 .b = view_of(p->w, WIDTH),
                                 .c = view_of(p->y, ROWS),
                                 .alpha = 1.0f,
                                 .epilogue = GNT_EPILOGUE_NONE };
    double seconds[REPEATS], sum = 0.0;

    for (int i = -WARM_UP; i < REPEATS; i++) {
        gnti_virtual_begin(p->clock, p->stream, 0);
        GNT_TRY(dense ? gnti_gemm(p->stream, &gemm) : gnti_spmm(p->stream, p->plan, &spmm));
        GNT_TRY(gnti_stream_finish(p->stream));
        gnti_virtual_end(p->clock, p->stream);
        seconds[i < 0 ? 0 : i] = gnti_virtual_take_seconds(p->clock);
    }
    qsort(seconds, REPEATS, sizeof *seconds, compare_doubles);
    for (int i = REPEATS / 4; i < REPEATS - REPEATS / 4; i++)
        sum += seconds[i];
    *out = sum / (REPEATS - 2 * (REPEATS / 4));
done:
    return st;
}

gnt_status gnti_device_profile(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                               gnti_profile *out)
{
    gnt_status st = GNT_OK;
    probe *p = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    GNT_TRY(probe_open(spec, config, seed, p));
    GNT_TRY(measure(p, false, &out->spmm_seconds));
    GNT_TRY(measure(p, true, &out->gemm_seconds));
    out->speed = 1.0 / (out->spmm_seconds + out->gemm_seconds);
done:
    if (p != NULL)
        probe_close(p);
    return st;
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
