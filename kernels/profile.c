/* SPDX-License-Identifier: Apache-2.0 */
/* The probes of profile.h. Each op is repeated; the mean of the middle half of the times keeps out what other programs did
 * meanwhile, and averages the noise of a virtual clock, which costs no time to wait for, so it gets more repeats.
 */
#include "kernels/profile.h"

#include "base/alloc.h"
#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 512, DEGREE = 16, WIDTH = 64, HEADS = 8 };
enum { WARM_UP = 2, MIN_REPEATS = 5, REPEATS = 96, VIRTUAL_REPEATS = 400 };

/* A device that has not done its repeats by then is slow enough to be told from fewer. */
#define ENOUGH_SECONDS 0.1

/* The heavy probe explained by bytes to so much says nothing of operations. */
#define EXPLAINED 1.15

typedef struct probe {
    gnt_device *device;
    gnt_stream *stream;
    gnti_virtual *clock;
    gnt_buffer *x, *y, *w, *s, *t;
    gnt_spmm_plan *plan, *weighted;
    int32_t repeats;
    int64_t offsets[ROWS + 1];
    int32_t columns[ROWS * DEGREE];
    float weights[ROWS * DEGREE];
} probe;

/* What is timed, in pairs: many operations a byte, then few. */
typedef enum shot {
    GEMM_WIDE,
    GEMM_THIN,
    SPMM_WIDE,
    SPMM_THIN,
    ATTEND_HEADS,
    ATTEND_ROWS,
    NORM,
    COPY,
    NUM_SHOTS
} shot;

static gnt_mat_view view_of(gnt_buffer *buf, int64_t rows, int64_t width)
{
    return (gnt_mat_view){ .buf = buf,
                           .rows = rows,
                           .members = 1,
                           .block_members = 1,
                           .width = width,
                           .row_stride = width,
                           .member_stride = width,
                           .block_stride = rows * width,
                           .dtype = GNT_F32 };
}

static void probe_close(probe *p)
{
    gnti_spmm_plan_free(&p->plan);
    gnti_spmm_plan_free(&p->weighted);
    gnti_buffer_free(&p->x);
    gnti_buffer_free(&p->y);
    gnti_buffer_free(&p->w);
    gnti_buffer_free(&p->s);
    gnti_buffer_free(&p->t);
    gnti_stream_close(&p->stream);
    gnti_virtual_free(&p->clock);
    gnti_device_close(&p->device);
    gnti_free(p);
}

/* A ring whose row reads what lies 61, 122, ... rows on: neither all in the cache line nor far. */
static void fill_ring(probe *p)
{
    for (int32_t i = 0; i <= ROWS; i++)
        p->offsets[i] = (int64_t)i * DEGREE;
    for (int32_t i = 0; i < ROWS; i++)
        for (int32_t k = 0; k < DEGREE; k++) {
            p->columns[i * DEGREE + k] = (i + 61 * (k + 1)) % ROWS;
            p->weights[i * DEGREE + k] = 1.0f;
        }
}

/* Ones: dense products of zeros are quicker than any others. */
static gnt_status fill_operands(probe *p)
{
    gnt_status st = GNT_OK;
    const size_t piece = sizeof p->weights, whole = sizeof(float) * ROWS * WIDTH;

    for (size_t at = 0; at < whole; at += piece)
        GNT_TRY(gnti_upload(p->stream, p->x, at, p->weights, piece));
    GNT_TRY(gnti_upload(p->stream, p->w, 0, p->weights, sizeof(float) * WIDTH * WIDTH));
done:
    return st;
}

static gnt_status probe_open(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                             probe *p)
{
    gnt_status st = GNT_OK;
    gnti_device_config own = *config;
    gnt_spmm_plan_args plan = { .num_rows = ROWS,
                                .num_cols = ROWS,
                                .num_arcs = ROWS * DEGREE,
                                .offsets = p->offsets,
                                .columns = p->columns,
                                .end_row = ROWS,
                                .max_width = WIDTH };

    fill_ring(p);
    p->repeats = spec->virtual_clock ? VIRTUAL_REPEATS : REPEATS;
    if (spec->threads > 0)
        own.num_threads = spec->threads;
    own.memory_limit = 0; /* the probe is small; what a run needs is checked when chunks are placed */
    GNT_TRY(gnti_device_open_spec(spec, 0, &own, &p->device));
    GNT_TRY(gnti_stream_open(p->device, 0, &p->stream));
    GNT_TRY(gnti_virtual_create(spec, seed, &p->clock));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * ROWS * WIDTH, &p->x));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * ROWS * WIDTH, &p->y));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * WIDTH * WIDTH, &p->w));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * ROWS * HEADS, &p->s));
    GNT_TRY(gnti_buffer_alloc(p->device, sizeof(float) * ROWS * HEADS, &p->t));
    GNT_TRY(fill_operands(p));
    GNT_TRY(gnti_spmm_plan_create(p->stream, &plan, &p->plan));
    plan.weights = p->weights;
    GNT_TRY(gnti_spmm_plan_create(p->stream, &plan, &p->weighted));
done:
    return st;
}

/* ---- the ops ------------------------------------------------------------------------------------------------------- */

static gnt_status run_gemm(probe *p, int64_t width)
{
    const gnt_gemm_args a = { .a = view_of(p->x, ROWS, WIDTH),
                              .b = view_of(p->w, WIDTH, width),
                              .c = view_of(p->y, ROWS, width),
                              .alpha = 1.0f,
                              .epilogue = GNT_EPILOGUE_NONE };

    return gnti_gemm(p->stream, &a);
}

static gnt_status run_spmm(probe *p, const gnt_spmm_plan *plan, int64_t width)
{
    const gnt_spmm_args a = { .x = view_of(p->x, ROWS, width),
                              .y = view_of(p->y, ROWS, width),
                              .alpha = 1.0f,
                              .epilogue = GNT_EPILOGUE_NONE };

    return gnti_spmm(p->stream, plan, &a);
}

static gnt_status run_attend(probe *p, int32_t heads, int64_t width)
{
    const gnt_attend_args a = { .heads = heads,
                                .slope = 0.2f,
                                .h = view_of(p->x, ROWS, width),
                                .s_src = view_of(p->s, ROWS, heads),
                                .s_dst = view_of(p->t, ROWS, heads),
                                .out = view_of(p->y, ROWS, width),
                                .alpha = 1.0f,
                                .epilogue = GNT_EPILOGUE_NONE,
                                .dropout = { .hyper = -1 } };

    return gnti_attend(p->stream, p->plan, &a);
}

static gnt_status run_norm(probe *p)
{
    const gnt_norm_args a = { .kind = GNT_NORM_LAYER,
                              .training = true,
                              .x = view_of(p->x, ROWS, WIDTH),
                              .y = view_of(p->y, ROWS, WIDTH),
                              .mean = view_of(p->s, ROWS, 1),
                              .rstd = view_of(p->t, ROWS, 1),
                              .eps = 1e-5f };

    return gnti_norm(p->stream, &a);
}

static gnt_status run_copy(probe *p)
{
    const gnt_map_args a = { .kind = GNT_MAP_COPY,
                             .a = view_of(p->x, ROWS, WIDTH),
                             .y = view_of(p->y, ROWS, WIDTH),
                             .alpha = 1.0f,
                             .dropout = { .hyper = -1 } };

    return gnti_map(p->stream, &a);
}

static gnt_status run_shot(probe *p, shot which)
{
    switch (which) {
    case GEMM_WIDE:
        return run_gemm(p, WIDTH);
    case GEMM_THIN:
        return run_gemm(p, 1);
    case SPMM_WIDE:
        return run_spmm(p, p->weighted, WIDTH);
    case SPMM_THIN:
        return run_spmm(p, p->plan, WIDTH / 4);
    case ATTEND_HEADS:
        return run_attend(p, HEADS, HEADS);
    case ATTEND_ROWS:
        return run_attend(p, 1, WIDTH);
    case NORM:
        return run_norm(p);
    default:
        return run_copy(p);
    }
}

/* ---- their times --------------------------------------------------------------------------------------------------- */

typedef struct timing {
    double seconds, flops, bytes; /* of one op */
} timing;

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static gnt_status measure(probe *p, shot which, gnti_op_kind kind, timing *out)
{
    gnt_status st = GNT_OK;
    gnti_op_counter counted[GNTI_OP_NUM_KINDS];
    double seconds[VIRTUAL_REPEATS], sum = 0.0;
    const double begin = gnti_clock_seconds();
    int32_t num = 0, skipped;

    gnti_stream_counters_reset(p->stream);
    for (int i = -WARM_UP; i < p->repeats; i++) {
        if (i >= MIN_REPEATS && p->repeats == REPEATS && gnti_clock_seconds() - begin > ENOUGH_SECONDS)
            break;
        num = i + 1;
        gnti_virtual_begin(p->clock, p->stream, 0);
        GNT_TRY(run_shot(p, which));
        GNT_TRY(gnti_stream_finish(p->stream));
        gnti_virtual_end(p->clock, p->stream);
        seconds[i < 0 ? 0 : i] = gnti_virtual_take_seconds(p->clock);
    }
    gnti_stream_counters(p->stream, counted);
    qsort(seconds, (size_t)num, sizeof *seconds, compare_doubles);
    skipped = num / 4;
    for (int i = skipped; i < num - skipped; i++)
        sum += seconds[i];
    *out = (timing){ .seconds = fmax(sum / (num - 2 * skipped), 1e-12),
                     .flops = counted[kind].flops / (num + WARM_UP),
                     .bytes = counted[kind].bytes / (num + WARM_UP) };
done:
    return st;
}

/* Both ops of a kind; seconds of the first. */
static gnt_status measure_pair(probe *p, shot heavy, gnti_op_kind heavy_kind, gnti_op_kind light_kind,
                               double *flops, double *bytes, double *seconds)
{
    gnt_status st = GNT_OK;
    timing many, few;

    GNT_TRY(measure(p, heavy, heavy_kind, &many));
    GNT_TRY(measure(p, (shot)(heavy + 1), light_kind, &few));
    *bytes = fmax(few.bytes / few.seconds, many.bytes / many.seconds);
    *flops =
        many.seconds <= EXPLAINED * many.bytes / *bytes ? GNTI_RATE_UNLIMITED : many.flops / many.seconds;
    *seconds = many.seconds;
done:
    return st;
}

static gnt_status measure_all(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                              uint32_t kinds, gnti_profile *out)
{
    gnt_status st = GNT_OK;
    static const uint32_t own = 1u << GNTI_OP_GEMM | 1u << GNTI_OP_SPMM | 1u << GNTI_OP_ATTEND;
    gnti_rates r = gnti_rates_default(spec->threads);
    double flops, bytes, seconds;
    probe *p = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    GNT_TRY(probe_open(spec, config, seed, p));
    GNT_TRY(measure_pair(p, GEMM_WIDE, GNTI_OP_GEMM, GNTI_OP_GEMM, &r.flops[GNTI_OP_GEMM],
                         &r.bytes[GNTI_OP_GEMM], &out->gemm_seconds));
    GNT_TRY(measure_pair(p, SPMM_WIDE, GNTI_OP_SPMM, GNTI_OP_SPMM, &r.flops[GNTI_OP_SPMM],
                         &r.bytes[GNTI_OP_SPMM], &out->spmm_seconds));
    if ((kinds & 1u << GNTI_OP_ATTEND) != 0)
        GNT_TRY(measure_pair(p, ATTEND_HEADS, GNTI_OP_ATTEND, GNTI_OP_ATTEND, &r.flops[GNTI_OP_ATTEND],
                             &r.bytes[GNTI_OP_ATTEND], &seconds));
    if ((kinds & ~own) != 0) {
        GNT_TRY(measure_pair(p, NORM, GNTI_OP_NORM, GNTI_OP_MAP, &flops, &bytes, &seconds));
        for (int k = 0; k < GNTI_OP_NUM_KINDS; k++)
            if ((own & 1u << k) == 0) {
                r.flops[k] = flops;
                r.bytes[k] = bytes;
            }
    }
    out->rates = r;
    out->speed = 1.0 / (out->spmm_seconds + out->gemm_seconds);
done:
    if (p != NULL)
        probe_close(p);
    return st;
}

/* What an ordinary device would take. */
static void fill_default(const gnti_device_spec *spec, gnti_profile *out)
{
    out->rates = gnti_rates_default(spec->threads);
    out->gemm_seconds = gnti_rates_seconds(&out->rates, GNTI_OP_GEMM, 2.0 * ROWS * WIDTH * WIDTH,
                                           sizeof(float) * (2.0 * ROWS * WIDTH + WIDTH * WIDTH));
    out->spmm_seconds = gnti_rates_seconds(&out->rates, GNTI_OP_SPMM, 2.0 * ROWS * DEGREE * WIDTH,
                                           sizeof(float) * ROWS * WIDTH * (DEGREE + 1.0));
    out->speed = 1.0 / (out->spmm_seconds + out->gemm_seconds);
}

/* A device that has no room for the probe will hardly have any for a model, which planners see by its bytes. */
gnt_status gnti_device_profile(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                               uint32_t kinds, gnti_profile *out)
{
    const gnt_status st = measure_all(spec, config, seed, kinds, out);

    if (st != GNT_ERR_DEVICE_NOMEM)
        return st;
    gnt_clear_error();
    fill_default(spec, out);
    return GNT_OK;
}
