/* SPDX-License-Identifier: Apache-2.0 */
/* Which way serves a sparse product: our kernels, or one of cuSPARSE's algorithms.
 *
 *   1. what the library refuses is our kernels'
 *   2. without gnt_spmm_plan_args.choices a rule: cuSPARSE (CSR_ALG3, which repeats its bits; CSR_ALG2 at deterministic=off), our
 *      kernels where it would go in blocks of rows
 *   3. else the choice that the run or the user's file has for the key, else a measurement
 * The key is what times depend on: device, version of the library, rows, arcs, longest row over the mean and columns (each to a
 * power of two), whether an epilogue follows, level of determinism. Measured is the whole product, epilogue included, into memory
 * that is given back, with real x, once the stream has nothing else to do: one product to warm up, then the quickest of five
 * between events. Ways that may differ from run to run take part at deterministic=off alone. A plan remembers what was decided;
 * a step that captures finds it there.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "kernels/cuda/cuda.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { REPEATS = 5 };
#define BUSY_SECONDS 10.0 /* so long a stream may have other work before nothing is measured */

typedef struct decision {
    int64_t columns;
    const char *refusal; /* a constant, NULL: all ways are open */
    bool finishes;
    cuda_way way;
} decision;

struct cuda_decisions {
    decision *list;
    int64_t count, capacity;
};

static const char *const way_words[CUDA_NUM_WAYS] = { "own", "csr_alg1", "csr_alg2", "csr_alg3" };

gnt_status cuda_decisions_create(struct cuda_decisions **out)
{
    return gnti_calloc_bytes((void **)out, sizeof **out);
}

void cuda_decisions_free(struct cuda_decisions *d)
{
    if (d != NULL)
        gnti_free(d->list);
    gnti_free(d);
}

static bool is_allowed(const gnt_stream *s, cuda_way way)
{
    return way == CUDA_WAY_OWN || way == CUDA_WAY_ALG3 || s->head.device->determinism == GNTI_DET_OFF;
}

static cuda_way by_rule(const gnt_stream *s, const gnt_spmm_plan *p, const char *refusal)
{
    if (refusal != NULL || cuda_sparse_in_blocks(p))
        return CUDA_WAY_OWN;
    return s->head.device->determinism == GNTI_DET_OFF ? CUDA_WAY_ALG2 : CUDA_WAY_ALG3;
}

static cuda_way way_of(const char *word)
{
    for (int w = 0; w < CUDA_NUM_WAYS; w++)
        if (strcmp(word, way_words[w]) == 0)
            return (cuda_way)w;
    return CUDA_NUM_WAYS;
}

/* ---- the key ---------------------------------------------------------------------------------------------------------- */

static int log2_up(int64_t n)
{
    int bits = 0;

    while (bits < 62 && (int64_t)1 << bits < n)
        bits++;
    return bits;
}

static int64_t longest_row(const gnt_spmm_plan_args *a)
{
    int64_t most = 0;

    for (int64_t r = 0; r < a->num_rows; r++)
        most = gnti_max_i64(most, a->offsets[r + 1] - a->offsets[r]);
    return most;
}

static void make_key(const gnt_stream *s, const gnt_spmm_plan *p, const decision *d,
                     char out[GNTI_CHOICE_KEY_BYTES])
{
    static const char *const levels[] = { "off", "run", "bitwise" };
    const gnt_spmm_plan_args *a = &p->head.args;
    const gnt_device *dev = s->head.device;
    const int64_t rows = gnti_max_i64(a->num_rows, 1),
                  skew = longest_row(a) * rows / gnti_max_i64(a->num_arcs, 1);
    int major = 0, minor = 0, patch = 0;

    (void)cusparseGetProperty(MAJOR_VERSION, &major);
    (void)cusparseGetProperty(MINOR_VERSION, &minor);
    (void)cusparseGetProperty(PATCH_LEVEL, &patch);
    snprintf(out, GNTI_CHOICE_KEY_BYTES,
             "%s:%.60s:cusparse %d.%d.%d:rows 2^%d:arcs 2^%d:skew 2^%d:columns 2^%d:%s%sf32:%s",
             d->refusal != NULL ? "spmm, own alone" : "spmm", dev->name, major, minor, patch, log2_up(rows),
             log2_up(a->num_arcs), log2_up(skew), log2_up(d->columns), d->finishes ? "epilogue:" : "",
             cuda_sparse_in_blocks(p) ? "blocks:" : "", levels[dev->determinism]);
    for (char *c = out; *c != '\0'; c++)
        if (*c == ';' || *c == '=')
            *c = '_';
}

/* ---- measuring -------------------------------------------------------------------------------------------------------- */

typedef struct stage {
    gnt_stream *s;
    const gnt_spmm_plan *p;
    gnt_spmm_args args; /* with y in scratch memory */
    gnt_buffer *y;
    cudaEvent_t from, to;
} stage;

static void stage_close(stage *g)
{
    if (g->from != NULL)
        (void)cudaEventDestroy(g->from);
    if (g->to != NULL)
        (void)cudaEventDestroy(g->to);
    if (g->y != NULL)
        cuda_free(g->y);
}

static gnt_status stage_open(stage *g, const gnt_spmm_args *a)
{
    gnt_status st = GNT_OK;
    const int64_t blocks = gnti_ceil_div(a->y.members, a->y.block_members),
                  row = gnti_max_i64(a->y.row_stride, cuda_sparse_columns(a));
    const size_t floats = (size_t)((blocks - 1) * a->y.block_stride + a->y.rows * row);

    g->args = *a;
    GNT_TRY(cuda_alloc(g->s->head.device, floats * sizeof(float), &g->y));
    g->args.y.buf = g->y;
    g->args.y.offset = 0;
    GNT_TRY_CUDA(cudaEventCreate(&g->from));
    GNT_TRY_CUDA(cudaEventCreate(&g->to));
done:
    return st;
}

/* Whether the stream has nothing to do. */
static gnt_status settle(gnt_stream *s, bool *out)
{
    return cuda_stream_wait(s, BUSY_SECONDS, out);
}

/* The quickest of some products; infinite for a way that the library or the memory does not have. */
static gnt_status time_way(stage *g, cuda_way way, double *out)
{
    gnt_status st = GNT_OK;
    float milliseconds = 0.0f;
    bool is_done = true;

    *out = INFINITY;
    for (int i = -1; i < REPEATS && is_done; i++) {
        GNT_TRY_CUDA(cudaEventRecord(g->from, g->s->stream));
        GNT_TRY(cuda_spmm_by(g->s, g->p, &g->args, way));
        GNT_TRY_CUDA(cudaEventRecord(g->to, g->s->stream));
        GNT_TRY(settle(g->s, &is_done));
        if (i < 0 || !is_done)
            continue;
        GNT_TRY_CUDA(cudaEventElapsedTime(&milliseconds, g->from, g->to));
        *out = fmin(*out, 1e-3 * (double)milliseconds);
    }
done:
    if (st == GNT_ERR_UNSUPPORTED || st == GNT_ERR_DEVICE_NOMEM) {
        gnt_clear_error();
        *out = INFINITY;
        st = GNT_OK;
    }
    return st;
}

/* "own 12.1 us, csr_alg3 8.0 us" */
static void tell_times(const double *seconds, char out[GNTI_CHOICE_WHY_BYTES])
{
    size_t used = 0;

    for (int w = 0; w < CUDA_NUM_WAYS; w++)
        if (seconds[w] < INFINITY && used < GNTI_CHOICE_WHY_BYTES)
            used += (size_t)snprintf(out + used, GNTI_CHOICE_WHY_BYTES - used, "%s%s %.4g us",
                                     used > 0 ? ", " : "", way_words[w], 1e6 * seconds[w]);
}

/* The quickest way as a choice; its value stays "" with why where nothing could be measured. */
static gnt_status measure(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, gnti_choice *out)
{
    gnt_status st = GNT_OK;
    stage g = { .s = s, .p = p };
    double seconds[CUDA_NUM_WAYS];
    int best = CUDA_WAY_OWN;
    bool is_free = false;

    memset(out, 0, sizeof *out);
    GNT_TRY(settle(s, &is_free));
    snprintf(out->why, sizeof out->why, "not measured: the device has other work");
    if (!is_free)
        goto done;
    snprintf(out->why, sizeof out->why, "not measured: no memory is left for it");
    GNT_TRY(stage_open(&g, a));
    for (int w = 0; w < CUDA_NUM_WAYS; w++) {
        seconds[w] = INFINITY;
        if (is_allowed(s, (cuda_way)w))
            GNT_TRY(time_way(&g, (cuda_way)w, &seconds[w]));
        if (seconds[w] < seconds[best])
            best = w;
    }
    for (int w = CUDA_WAY_ALG1; w < CUDA_NUM_WAYS; w++)
        if (w != best)
            cuda_sparse_drop(p, (cuda_way)w);
    if (seconds[best] == INFINITY)
        goto done;
    tell_times(seconds, out->why);
    snprintf(out->value, sizeof out->value, "%s", way_words[best]);
    out->origin = GNTI_CHOICE_MEASURED;
done:
    stage_close(&g);
    if (st == GNT_ERR_DEVICE_NOMEM) {
        gnt_clear_error();
        st = GNT_OK;
    }
    return st;
}

/* ---- deciding --------------------------------------------------------------------------------------------------------- */

static gnt_status take_rule(gnt_stream *s, const gnt_spmm_plan *p, const decision *d, const char *key,
                            gnti_choice *c)
{
    c->origin = GNTI_CHOICE_BY_RULE;
    snprintf(c->value, sizeof c->value, "%s", way_words[by_rule(s, p, d->refusal)]);
    return gnti_choices_set(p->head.args.choices, key, false, c);
}

static gnt_status ask(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, const decision *d,
                      gnti_choice *c)
{
    gnt_status st = GNT_OK;
    gnti_choices *choices = p->head.args.choices;
    char key[GNTI_CHOICE_KEY_BYTES];
    cuda_way way;
    bool anew;

    make_key(s, p, d, key);
    if (d->refusal != NULL) {
        snprintf(c->why, sizeof c->why, "cuSPARSE does not take it: %s", d->refusal);
        return take_rule(s, p, d, key, c);
    }
    GNT_TRY(gnti_choices_find(choices, key, c));
    way = way_of(c->value);
    anew = c->value[0] != '\0' && (way == CUDA_NUM_WAYS || !is_allowed(s, way));
    if (anew)
        gnti_log(GNT_LOG_WARN, "kernels", "the stored choice '%s' for '%s' cannot be: it is measured anew",
                 c->value, key);
    else if (c->value[0] != '\0')
        return GNT_OK;
    snprintf(c->why, sizeof c->why, "this run measures nothing");
    c->value[0] = '\0';
    if (gnti_choices_measures(choices))
        GNT_TRY(measure(s, p, a, c));
    if (c->value[0] != '\0')
        GNT_TRY(gnti_choices_set(choices, key, anew, c));
    if (c->value[0] == '\0') {
        if (c->origin == GNTI_CHOICE_MEASURED)
            snprintf(c->why, sizeof c->why, "a measured choice could not be kept from run to run");
        GNT_TRY(take_rule(s, p, d, key, c));
    }
done:
    return st;
}

static gnt_status decide(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, decision *d)
{
    gnt_status st = GNT_OK;
    struct cuda_decisions *known = p->decisions;
    gnti_choice c = { .value = "" };

    GNT_CHECK(!s->capturing, GNT_ERR_STATE,
              "which way a sparse product goes was not chosen before its step was captured");
    GNT_TRY(gnti_grow_array(&known->list, &known->capacity, known->count + 1));
    GNT_TRY(ask(s, p, a, d, &c));
    d->way = way_of(c.value);
    if (d->way == CUDA_NUM_WAYS || (d->refusal != NULL && d->way != CUDA_WAY_OWN)) /* another process' word */
        d->way = by_rule(s, p, d->refusal);
    known->list[known->count++] = *d;
done:
    return st;
}

gnt_status cuda_choose_way(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way *out)
{
    gnt_status st = GNT_OK;
    decision d = { .columns = cuda_sparse_columns(a),
                   .refusal = cuda_sparse_refuses(p, a),
                   .finishes = !cuda_epilogue_is_none(&a->epilogue) };

    if (p->head.args.choices == NULL) {
        *out = by_rule(s, p, d.refusal);
        return GNT_OK;
    }
    for (int64_t i = 0; i < p->decisions->count; i++) {
        const decision *known = &p->decisions->list[i];

        if (known->columns == d.columns && known->refusal == d.refusal && known->finishes == d.finishes) {
            *out = known->way;
            return GNT_OK;
        }
    }
    GNT_TRY(decide(s, p, a, &d));
    *out = d.way;
done:
    return st;
}
