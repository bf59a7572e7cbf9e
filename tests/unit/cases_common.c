/* SPDX-License-Identifier: Apache-2.0 */
/* What all op cases share: tensors on two devices with guarded padding, step blocks, CSR patterns. */
#include "cases.h"

#include "base/size.h"
#include "kernels/bf16.h"

#include <math.h>
#include <string.h>

static const uint32_t GUARD = 0x7fc0beefu; /* a NaN that no op makes; as two bf16: a NaN and a number */
static const uint16_t GUARD16 = 0x7fc5u;

const case_members case_member_list[CASE_NUM_MEMBERS] = { { 1, 1 }, { 3, 1 }, { 3, 2 }, { 3, 3 },
                                                          { 5, 1 }, { 5, 2 }, { 5, 5 } };

static case_env *opened; /* whose streams serve the buffers' devices */

static void open_pair(case_env *env, const char *backend, const gnti_device_config *config, const char *other,
                      const gnti_device_config *other_config)
{
    memset(env, 0, sizeof *env);
    env->seed = 1;
    opened = env;
    gnt_assert_ok(gnti_device_open(backend, 0, config, &env->device[0]));
    gnt_assert_ok(gnti_device_open(other, 0, other_config, &env->device[1]));
    for (int side = 0; side < 2; side++)
        gnt_assert_ok(gnti_stream_open(env->device[side], 4, &env->stream[side]));
}

void case_open(case_env *env, const char *backend, const gnti_device_config *config)
{
    open_pair(env, backend, config, "ref", NULL);
}

void case_open_beside(case_env *env, const char *backend, const char *other, const gnti_device_config *config)
{
    open_pair(env, backend, config, other, config);
    env->exact = true;
}

void case_reset(case_env *env)
{
    while (env->num_owned > 0)
        gnti_buffer_free(&env->owned[--env->num_owned]);
}

void case_close(case_env *env)
{
    case_reset(env);
    for (int side = 0; side < 2; side++) {
        gnti_stream_close(&env->stream[side]);
        gnti_device_close(&env->device[side]);
    }
}

static gnt_buffer *own_buffer(case_env *env, int side, size_t bytes)
{
    gnt_buffer *buf = NULL;

    assert_true(env->num_owned < CASE_MAX_BUFFERS);
    gnt_assert_ok(gnti_buffer_alloc(env->device[side], bytes, &buf));
    env->owned[env->num_owned++] = buf;
    return buf;
}

static size_t element_index(const gnt_mat_view *v, int64_t r, int64_t m, int64_t c)
{
    return (size_t)(m / v->block_members * v->block_stride + r * v->row_stride +
                    m % v->block_members * v->member_stride + c);
}

static gnt_stream *stream_of(const gnt_buffer *buf)
{
    const gnt_device *dev = ((const gnti_buffer_head *)(const void *)buf)->device;

    return opened->stream[dev == opened->device[1]];
}

void *case_lock(const gnt_buffer *buf)
{
    const size_t bytes = ((const gnti_buffer_head *)(const void *)buf)->bytes;
    void *host = gnt_buffer_host(buf);

    if (host != NULL)
        return host;
    gnt_assert_ok(gnti_alloc_bytes(&host, bytes));
    gnt_assert_ok(gnti_download(stream_of(buf), host, buf, 0, bytes));
    gnt_assert_ok(gnti_stream_finish(stream_of(buf)));
    return host;
}

void case_unlock(gnt_buffer *buf, void *host, bool written)
{
    if (host == gnt_buffer_host(buf))
        return;
    if (written)
        gnt_assert_ok(
            gnti_upload(stream_of(buf), buf, 0, host, ((const gnti_buffer_head *)(void *)buf)->bytes));
    gnti_free(host);
}

gnt_status case_outcome(const case_env *env, int side, gnt_status st)
{
    return st == GNT_OK ? gnti_stream_finish(env->stream[side]) : st;
}

static float load(const gnt_mat_view *v, const void *host, size_t i)
{
    const char *base = (const char *)host + v->offset;

    if (v->dtype == GNT_BF16)
        return gnti_bf16_to_float(((const uint16_t *)(const void *)base)[i]);
    return ((const float *)(const void *)base)[i];
}

static void store(const gnt_mat_view *v, void *host, size_t i, float value)
{
    char *base = (char *)host + v->offset;

    if (v->dtype == GNT_BF16)
        ((uint16_t *)(void *)base)[i] = gnti_bf16_from_float(value);
    else
        ((float *)(void *)base)[i] = value;
}

static void fill_guard(char *base, size_t bytes, gnt_dtype dtype)
{
    for (size_t i = 0; i + 4 <= bytes && dtype != GNT_BF16; i += 4)
        memcpy(base + i, &GUARD, 4);
    for (size_t i = 0; i + 2 <= bytes && dtype == GNT_BF16; i += 2)
        memcpy(base + i, &GUARD16, 2);
}

case_tensor case_make_as(case_env *env, gnt_dtype dtype, int64_t rows, int64_t members, int64_t g,
                         int64_t width, int64_t pad)
{
    case_tensor t;
    const int64_t blocks = (members + g - 1) / g, row_stride = g * width + pad;
    const int64_t block_stride = rows * row_stride + 3 * pad, elements = blocks * block_stride + 64;
    const size_t item = dtype == GNT_BF16 ? 2 : 4, bytes = (size_t)elements * item;
    const uint64_t seed = env->seed++;

    float *values = NULL; /* the same on both sides, in (member, row, column) order */

    gnt_assert_ok(gnti_alloc_array(&values, members * rows * width + 1));
    gnt_test_fill(values, members * rows * width, seed * 1000003u);
    for (int side = 0; side < 2; side++) {
        int64_t k = 0;

        t.view[side] = (gnt_mat_view){ .buf = own_buffer(env, side, bytes),
                                       .offset = pad > 0 ? 16 * item : 0,
                                       .rows = rows,
                                       .members = members,
                                       .block_members = g,
                                       .width = width,
                                       .row_stride = row_stride,
                                       .member_stride = width,
                                       .block_stride = block_stride,
                                       .dtype = dtype };
        void *host = case_lock(t.view[side].buf);

        fill_guard(host, bytes, dtype);
        for (int64_t m = 0; m < members; m++)
            for (int64_t r = 0; r < rows; r++)
                for (int64_t c = 0; c < width; c++)
                    store(&t.view[side], host, element_index(&t.view[side], r, m, c), values[k++]);
        case_unlock(t.view[side].buf, host, true);
    }
    gnti_free(values);
    return t;
}

case_tensor case_make(case_env *env, int64_t rows, int64_t members, int64_t g, int64_t width, int64_t pad)
{
    return case_make_as(env, GNT_F32, rows, members, g, width, pad);
}

void case_apply(case_tensor *t, case_function f)
{
    for (int side = 0; side < 2; side++) {
        const gnt_mat_view *v = &t->view[side];
        void *host = case_lock(v->buf);

        for (int64_t m = 0; m < v->members; m++)
            for (int64_t r = 0; r < v->rows; r++)
                for (int64_t c = 0; c < v->width; c++) {
                    const size_t i = element_index(v, r, m, c);

                    store(v, host, i, f(load(v, host, i), r, c));
                }
        case_unlock(v->buf, host, true);
    }
}

case_bytes case_upload(case_env *env, const void *data, size_t bytes)
{
    case_bytes b;

    for (int side = 0; side < 2; side++) {
        b.buf[side] = own_buffer(env, side, bytes);
        gnt_assert_ok(gnti_upload(env->stream[side], b.buf[side], 0, data, bytes));
    }
    return b;
}

case_bytes case_step(case_env *env, int64_t members, const float *base, int64_t num_hypers)
{
    const size_t bytes = gnti_step_bytes(num_hypers, members);
    gnti_step_head *head = NULL;
    case_bytes b;

    gnt_assert_ok(gnti_calloc_bytes((void **)&head, bytes));
    *head = (gnti_step_head){ .step = 7, .num_hypers = num_hypers, .num_members = members };
    for (int64_t m = 0; m < members; m++) {
        ((gnti_philox_key *)(head + 1))[m] = gnti_member_key(99, (int32_t)m);
        for (int64_t h = 0; h < num_hypers; h++)
            ((float *)(void *)(uintptr_t)gnti_step_hyper(head, (int32_t)h))[m] =
                base[h] + 0.03125f * (float)m;
        ((uint8_t *)(uintptr_t)gnti_step_live(head))[m] = 1;
    }
    b = case_upload(env, head, bytes);
    gnti_free(head);
    return b;
}

int64_t case_count(const case_tensor *t)
{
    return t->view[0].rows * t->view[0].members * t->view[0].width;
}

float *case_values(const case_tensor *t, int side, int64_t *out_count)
{
    const gnt_mat_view *v = &t->view[side];
    void *host = case_lock(v->buf);
    float *out = NULL;
    int64_t k = 0;

    gnt_assert_ok(gnti_alloc_array(&out, case_count(t)));
    for (int64_t m = 0; m < v->members; m++)
        for (int64_t r = 0; r < v->rows; r++)
            for (int64_t c = 0; c < v->width; c++)
                out[k++] = load(v, host, element_index(v, r, m, c));
    case_unlock(v->buf, host, false);
    if (out_count != NULL)
        *out_count = k;
    return out;
}

/* Number of guard elements left in the buffer: all that are no elements of the view. */
static int64_t count_guards(const gnt_mat_view *v, size_t bytes)
{
    char *base = case_lock(v->buf);
    const size_t item = v->dtype == GNT_BF16 ? 2 : 4;
    int64_t count = 0;

    for (size_t i = 0; i + item <= bytes; i += item)
        count += memcmp(base + i, item == 2 ? (const void *)&GUARD16 : (const void *)&GUARD, item) == 0;
    case_unlock(v->buf, base, false);
    return count;
}

void case_compare_padding(const case_tensor *t, const char *what)
{
    const gnt_mat_view *v = &t->view[0];
    const size_t item = v->dtype == GNT_BF16 ? 2 : 4,
                 bytes = ((const gnti_buffer_head *)(void *)v->buf)->bytes;

    if (count_guards(v, bytes) < (int64_t)(bytes / item) - case_count(t))
        fail_msg("%s: padding was written", what);
}

void case_compare(const case_tensor *t, double bound, const char *what)
{
    int64_t count = 0;
    float *got = case_values(t, 0, &count), *want = case_values(t, 1, NULL);

    if (opened->exact)
        gnt_test_same_bits(got, want, count, what, __FILE__, __LINE__);
    else
        gnt_test_nmse(got, want, count, bound, what, __FILE__, __LINE__);
    case_compare_padding(t, what);
    gnti_free(got);
    gnti_free(want);
}

void case_graph_degrees(case_graph *g, const int64_t *degrees, int64_t num_rows, int64_t num_cols,
                        uint64_t seed)
{
    float value[2];

    memset(g, 0, sizeof *g);
    g->num_rows = num_rows;
    g->num_cols = num_cols;
    gnt_assert_ok(gnti_calloc_array(&g->offsets, num_rows + 1));
    for (int64_t r = 0; r < num_rows; r++)
        g->offsets[r + 1] = g->offsets[r] + (num_cols > 0 ? degrees[r] : 0);
    g->num_arcs = g->offsets[num_rows];
    gnt_assert_ok(gnti_alloc_array(&g->columns, g->num_arcs));
    gnt_assert_ok(gnti_alloc_array(&g->weights, g->num_arcs));
    for (int64_t e = 0; e < g->num_arcs; e++) {
        gnt_test_fill(value, 2, seed + 7919u * (uint64_t)e);
        g->columns[e] =
            (int32_t)gnti_min_i64((int64_t)((value[0] + 1.0f) * 0.5f * (float)num_cols), num_cols - 1);
        g->weights[e] = value[1];
    }
}

void case_graph_make(case_graph *g, int64_t num_rows, int64_t num_cols, int64_t max_degree, uint64_t seed)
{
    int64_t *degrees = NULL;
    float value[1];

    gnt_assert_ok(gnti_alloc_array(&degrees, num_rows));
    for (int64_t r = 0; r < num_rows; r++) {
        gnt_test_fill(value, 1, seed * 31u + (uint64_t)r);
        degrees[r] = (int64_t)((value[0] + 1.0f) * 0.5f * (float)max_degree);
        if (r % 5 == 3)
            degrees[r] = 0;
        if (r % 3 == 1)
            degrees[r] = gnti_min_i64(degrees[r], 2);
    }
    case_graph_degrees(g, degrees, num_rows, num_cols, seed);
    gnti_free(degrees);
}

void case_graph_free(case_graph *g)
{
    gnti_free(g->offsets);
    gnti_free(g->columns);
    gnti_free(g->weights);
    memset(g, 0, sizeof *g);
}

gnt_spmm_plan *case_plan(gnt_stream *s, const case_graph *g, bool weighted, int64_t max_width)
{
    gnt_spmm_plan *plan = NULL;
    const gnt_spmm_plan_args args = { .num_rows = g->num_rows,
                                      .num_cols = g->num_cols,
                                      .num_arcs = g->num_arcs,
                                      .offsets = g->offsets,
                                      .columns = g->columns,
                                      .weights = weighted ? g->weights : NULL,
                                      .end_row = g->num_rows,
                                      .max_width = max_width };

    gnt_assert_ok(gnti_spmm_plan_create(s, &args, &plan));
    return plan;
}

void case_run_variants(void (*cases)(case_env *))
{
    static const struct {
        const char *name;
        gnti_device_config config;
    } variants[] = {
        { "portable", { .num_threads = 1, .isa = GNTI_ISA_PORTABLE, .determinism = GNTI_DET_RUN } },
        { "avx2", { .num_threads = 2, .isa = GNTI_ISA_AVX2, .determinism = GNTI_DET_RUN } },
        { "avx512", { .num_threads = 3, .isa = GNTI_ISA_AVX512, .determinism = GNTI_DET_RUN } },
        { "bitwise", { .num_threads = 2, .isa = GNTI_ISA_AUTO, .determinism = GNTI_DET_BITWISE } },
    };

    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        gnt_device *probe = NULL;
        case_env env;

        if (gnti_device_open("cpu", 0, &variants[i].config, &probe) != GNT_OK) {
            print_message("[  note    ] this processor lacks %s\n", variants[i].name);
            continue;
        }
        gnti_device_close(&probe);
        case_open(&env, "cpu", &variants[i].config);
        cases(&env);
        case_close(&env);
    }
}

gnt_row_tree case_chunks(int64_t rows, int64_t num_blocks, int64_t *start)
{
    int64_t weight = 0, sum = 0;

    for (int64_t b = 0; b < num_blocks; b++)
        weight += b % 7 == 3 ? 0 : 1 + b % 5;
    for (int64_t b = 0; b < num_blocks; b++) {
        start[b] = rows * sum / weight;
        sum += b % 7 == 3 ? 0 : 1 + b % 5;
    }
    start[num_blocks] = rows;
    return (gnt_row_tree){ rows, num_blocks, start };
}
