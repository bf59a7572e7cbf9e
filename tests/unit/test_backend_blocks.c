/* SPDX-License-Identifier: Apache-2.0 */
/* The layout by blocks of sources (lasting plans of dense graphs) gives the bits of the row kernels: at every vector level and
 * thread count, with short and empty rows, rows of more than 4096 entries (one of them split over threads), scales, own
 * terms, members side by side, narrow and wide x. Rows that do not ascend keep the row kernels.
 */
#include "cases.h"
#include "kernels/cost.h"

#include <stdlib.h>

enum { ROWS = 333, SOURCES = 2 * GNTI_BLOCK_SOURCES + 100 };

static int ascending(const void *a, const void *b)
{
    return *(const int32_t *)a - *(const int32_t *)b;
}

static void make_graph(case_graph *g, bool sorted)
{
    int64_t degrees[ROWS];

    for (int i = 0; i < ROWS; i++)
        degrees[i] = i % 9 == 0 ? 0 : 20 + i % 200;
    degrees[1] = 4096;
    degrees[66] = 4097;
    degrees[200] = 50000;
    degrees[ROWS - 1] = 9000;
    case_graph_degrees(g, degrees, ROWS, SOURCES, 11);
    for (int64_t r = 0; r < ROWS && sorted; r++)
        qsort(g->columns + g->offsets[r], (size_t)(g->offsets[r + 1] - g->offsets[r]), sizeof *g->columns,
              ascending);
}

typedef struct call {
    int64_t width, members, g;
    bool source_scale, row_scale, relu;
    gnt_self_kind self;
    float alpha, beta;
} call;

static const call calls[] = {
    { .width = 1, .members = 1, .g = 1, .alpha = 1.0f },
    { .width = 16, .members = 1, .g = 1, .alpha = 1.0f, .self = GNT_SELF_ONE },
    { .width = 41, .members = 1, .g = 1, .alpha = 0.75f, .self = GNT_SELF_VECTOR, .row_scale = true },
    { .width = 70,
      .members = 1,
      .g = 1,
      .alpha = 1.0f,
      .self = GNT_SELF_ONE,
      .source_scale = true,
      .relu = true },
    { .width = 33,
      .members = 1,
      .g = 1,
      .alpha = 1.0f,
      .source_scale = true,
      .row_scale = true,
      .beta = 0.5f },
    { .width = 24, .members = 3, .g = 2, .alpha = -1.0f, .self = GNT_SELF_ONE, .row_scale = true },
    { .width = 7, .members = 3, .g = 3, .alpha = 1.0f, .self = GNT_SELF_VECTOR, .source_scale = true },
};

/* y of one call with the plan's layout by blocks or without. */
static float *multiply(const gnti_device_config *config, const case_graph *g, const call *k, bool lasting)
{
    case_env env;
    gnt_spmm_plan *plan = NULL;
    float *values;

    case_open(&env, "cpu", config);
    case_tensor x = case_make(&env, SOURCES, k->members, k->g, k->width, 5);
    case_tensor y = case_make(&env, ROWS, k->members, k->g, k->width, 5);
    case_tensor self = case_make(&env, ROWS, 1, 1, 1, 0), row = case_make(&env, ROWS, 1, 1, 1, 0),
                scale = case_make(&env, SOURCES, 1, 1, 1, 0);
    const gnt_spmm_plan_args p = { .num_rows = ROWS,
                                   .num_cols = SOURCES,
                                   .num_arcs = g->num_arcs,
                                   .offsets = g->offsets,
                                   .columns = g->columns,
                                   .end_row = ROWS,
                                   .max_width = k->g * k->width,
                                   .lasting = lasting };
    gnt_spmm_args a = { .x = x.view[0],
                        .y = y.view[0],
                        .self_kind = k->self,
                        .self = k->self == GNT_SELF_VECTOR ? &self.view[0] : NULL,
                        .src_scale = k->source_scale ? &scale.view[0] : NULL,
                        .alpha = k->alpha,
                        .beta = k->beta,
                        .epilogue = GNT_EPILOGUE_NONE };

    if (k->row_scale)
        a.epilogue.row_scale = &row.view[0];
    if (k->relu)
        a.epilogue.act = GNT_ACT_RELU;
    gnt_assert_ok(gnti_spmm_plan_create(env.stream[0], &p, &plan));
    gnt_assert_ok(gnti_spmm(env.stream[0], plan, &a));
    values = case_values(&y, 0, NULL);
    gnti_spmm_plan_free(&plan);
    case_close(&env);
    return values;
}

static bool level_is_there(const gnti_device_config *c)
{
    gnt_device *probe = NULL;
    const bool there = gnti_device_open("cpu", 0, c, &probe) == GNT_OK;

    gnti_device_close(&probe);
    return there;
}

static void compare(const case_graph *g, const call *k)
{
    const gnti_device_config base = { .num_threads = 1,
                                      .isa = GNTI_ISA_PORTABLE,
                                      .determinism = GNTI_DET_RUN };
    float *want = multiply(&base, g, k, false);

    for (int isa = GNTI_ISA_PORTABLE; isa <= GNTI_ISA_AVX512; isa++)
        for (int32_t threads = 1; threads <= 3; threads += 2) {
            const gnti_device_config c = { .num_threads = threads,
                                           .isa = (gnti_isa)isa,
                                           .determinism = GNTI_DET_RUN };
            float *got;

            if (!level_is_there(&c))
                continue;
            got = multiply(&c, g, k, true);
            gnt_assert_same_bits(got, want, ROWS * k->members * k->width);
            gnti_free(got);
        }
    gnti_free(want);
}

static void test_same_bits(void **state)
{
    case_graph g;

    (void)state;
    make_graph(&g, true);
    assert_true(gnti_cost_blocks_bytes(ROWS, SOURCES, g.num_arcs) > 0);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        compare(&g, &calls[i]);
    case_graph_free(&g);
}

static void test_rows_in_another_order(void **state)
{
    case_graph g;

    (void)state;
    make_graph(&g, false);
    compare(&g, &calls[1]);
    case_graph_free(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_rows_in_another_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
