/* SPDX-License-Identifier: Apache-2.0 */
/* Passes change nothing: loss, logits and gradients with a pass equal those without it, for every model, each pass alone and
 * with the others, dense and sparse features, several members and block sizes, with equal dropout masks; and for 1000
 * random tapes. GNT_PROP_SEED=N runs one random tape.
 * label: medium
 */
#include "tests/support/nn_case.h"
#include "tests/support/nn_nets.h"
#include "tests/support/nn_random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 255, NUM_TAPES = 1000 };
static const uint64_t seeds[5] = { 3, 14, 15, 92, 65 };

typedef struct result {
    double loss[5];
    float *logits, *grads;
    int64_t num_logits, num_grads;
} result;

static void run(const nn_setup *s, result *out)
{
    nn_case c;

    nn_case_make(s, &c);
    nn_case_fill(&c, false, 1.0f);
    nn_case_run(&c, 5, 0.0f, seeds, out->loss);
    out->num_logits = c.rows * c.classes;
    out->num_grads = s->evaluation ? 0 : nn_case_grads(&c, 0, NULL);
    gnt_assert_ok(gnti_calloc_array(&out->logits, c.members * out->num_logits + 1));
    gnt_assert_ok(gnti_calloc_array(&out->grads, c.members * out->num_grads + 1));
    for (int32_t m = 0; m < c.members; m++) {
        gnt_assert_ok(gnti_program_read_logits(c.program, m, out->logits + m * out->num_logits));
        if (!s->evaluation)
            nn_case_grads(&c, m, out->grads + m * out->num_grads);
    }
    nn_case_free(&c);
}

static void free_result(result *r)
{
    gnti_free(r->logits);
    gnti_free(r->grads);
}

/* A text when the two differ by more than rounding of float32. */
static const char *differs(const result *a, const result *b, int32_t members)
{
    double largest = 0.0, worst = 0.0;

    for (int32_t m = 0; m < members; m++)
        if (!(fabs(a->loss[m] - b->loss[m]) <= 2e-5 * (fabs(b->loss[m]) + 0.1)))
            return "losses differ";
    for (int64_t i = 0; i < members * a->num_logits; i++) {
        largest = fmax(largest, fabs((double)b->logits[i]));
        worst = fmax(worst, fabs((double)a->logits[i] - (double)b->logits[i]));
    }
    if (!(worst <= 5e-5 * (largest + 0.1)))
        return "logits differ";
    largest = worst = 0.0;
    for (int64_t i = 0; i < members * a->num_grads; i++) {
        largest = fmax(largest, fabs((double)b->grads[i]));
        worst = fmax(worst, fabs((double)a->grads[i] - (double)b->grads[i]));
    }
    return worst <= 3e-4 * (largest + 0.01) ? NULL : "gradients differ";
}

static void compare(nn_setup *s, uint32_t disabled, const result *plain)
{
    result r = { 0 };
    const char *text;

    s->disabled = disabled;
    run(s, &r);
    text = differs(&r, plain, s->members);
    if (text != NULL) {
        print_error("'%s' with passes %u off, %d members, g %d, %s: %s\n", s->text, disabled, s->members,
                    s->block_members, s->sparse ? "sparse" : "dense", text);
        fail();
    }
    free_result(&r);
}

static gnt_context *make_context(void)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create("device=cpu;threads=1", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    return ctx;
}

/* Every pass alone, every pass off alone, all on; against all off. */
static void compare_all(nn_setup *s)
{
    result plain = { 0 };

    s->disabled = ALL;
    run(s, &plain);
    compare(s, 0, &plain);
    for (uint32_t bit = 1; bit < ALL; bit <<= 1) {
        compare(s, bit, &plain);
        compare(s, ALL & ~bit, &plain);
    }
    free_result(&plain);
}

static void test_models(void **state)
{
    static const char *const texts[] = {
        "net:kind=mlp:hidden=8:drop=0.4",
        "net:kind=gcn:hidden=8:drop=0.4",
        "net:kind=sage:hidden=8:drop=0.4",
        "net:kind=gin:hidden=8:drop=0.4",
        "net:kind=sgc",
        "net:kind=appnp:hidden=8:drop=0.4",
        "net:kind=gcnii:hidden=8:drop=0.4",
        "net:kind=maxpool:hidden=8:drop=0.4",
        "gcn:12:dropout=0.5, gcn:4:dropout=0.5:act=elu, gcn",
        "gcn:12:norm=batch, gcn:12:norm=layer:residual=true:dropout=0.2, linear",
        "net:kind=gat:hidden=8:heads=2:drop=0.4",
        "sage:12:dropout=0.5, sage:5:aggregate=max:act=elu, sage",
        "gat:3x4:act=elu:dropout=0.5:attn-dropout=0.4, gat:6:heads=2:norm=layer, gat:attn-dropout=0.3",
        "gat:4x5:residual=true, gcn:20:residual=true:norm=batch, gat:heads=3",
    };
    gnt_context *ctx = make_context();

    (void)state;
    for (int graph = 0; graph < 2; graph++) {
        nn_data d;

        nn_data_make(&d, 11 + (uint64_t)graph, 60, 200, 9, 4, graph == 0, graph == 1);
        nn_data_set_sparse(&d);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            for (int sparse = 0; sparse < 2; sparse++) {
                nn_setup s = { .ctx = ctx,
                               .data = &d,
                               .text = texts[i],
                               .members = 1 + 2 * sparse,
                               .sparse = sparse != 0,
                               .keep_logits = true };

                compare_all(&s);
            }
        nn_data_free(&d);
    }
    gnt_context_free(&ctx);
}

/* Members in any blocks are the lone runs with their seeds. */
static void test_members(void **state)
{
    static const char *const texts[] = { "net:kind=gcn:hidden=8:drop=0.4",
                                         "net:kind=sage:hidden=8:drop=0.4",
                                         "gcn:12:norm=batch:dropout=0.3, gcn:6:norm=layer, linear",
                                         "net:kind=maxpool:hidden=8",
                                         "sage:8:dropout=0.3, sage:aggregate=max",
                                         "gat:3x4:dropout=0.3:attn-dropout=0.4, gat:heads=2" };
    static const int32_t counts[] = { 1, 3, 5 }, blocks[] = { 1, 2, 5 };
    gnt_context *ctx = make_context();
    nn_data d;

    (void)state;
    nn_data_make(&d, 21, 50, 160, 9, 4, false, false);
    nn_data_set_sparse(&d);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < 9; k++) {
            nn_setup s = { .ctx = ctx,
                           .data = &d,
                           .text = texts[i],
                           .members = counts[k / 3],
                           .block_members = blocks[k % 3],
                           .sparse = k % 2 == 1,
                           .keep_logits = true };
            result many = { 0 }, one = { 0 };
            nn_setup lone = s;
            nn_case c;

            run(&s, &many);
            gnt_assert_ok(gnti_calloc_array(&one.grads, many.num_grads + 1));
            lone.members = 1;
            for (int32_t m = 0; m < s.members; m++) {
                nn_case whole;

                /* the lone run takes member m's weights and seed */
                nn_case_make(&s, &whole);
                nn_case_fill(&whole, false, 1.0f);
                nn_case_weights(&whole, m, one.grads);
                nn_case_make(&lone, &c);
                nn_case_fill(&c, true, 1.0f);
                nn_case_set_weights(&c, 0, one.grads);
                nn_case_run(&c, 5, 0.0f, &seeds[m], one.loss);
                nn_case_grads(&c, 0, one.grads);
                if (fabs(one.loss[0] - many.loss[m]) > 1e-6)
                    print_error("'%s' M %d g %d member %d: %.9g alone, %.9g with others\n", s.text, s.members,
                                s.block_members, m, one.loss[0], many.loss[m]);
                assert_true(fabs(one.loss[0] - many.loss[m]) <= 1e-6);
                gnt_assert_close(many.grads + m * many.num_grads, one.grads, many.num_grads, 1e-5, 1e-7);
                nn_case_free(&whole);
                nn_case_free(&c);
            }
            gnti_free(one.grads);
            free_result(&many);
        }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

static void try_tape(gnt_context *ctx, const nn_data *d, int64_t seed)
{
    char text[96];
    nn_setup s = { .ctx = ctx, .data = d, .text = text, .keep_logits = true };
    result plain = { 0 };

    snprintf(text, sizeof text, "random:8:seed=%lld:length=%d, random:seed=%lld:length=%d", (long long)seed,
             (int)(seed % 7), (long long)(seed + 500000), (int)(seed % 5) + 2);
    s.members = seed % 3 == 0 ? 3 : 1;
    s.block_members = (int32_t)(seed % 4);
    s.sparse = seed % 2 == 1;
    s.disabled = ALL;
    run(&s, &plain);
    compare(&s, 0, &plain);
    compare(&s, (uint32_t)(seed * 2654435761u >> 7) & ALL, &plain);
    free_result(&plain);
    s.evaluation = true; /* nothing is kept for gradients: values die earlier */
    s.disabled = ALL;
    run(&s, &plain);
    compare(&s, 0, &plain);
    free_result(&plain);
}

static void test_random_tapes(void **state)
{
    const char *only = getenv("GNT_PROP_SEED");
    gnt_context *ctx = make_context();
    nn_data d[2];

    (void)state;
    nn_data_make(&d[0], 31, 20, 60, 6, 3, true, false);
    nn_data_make(&d[1], 32, 23, 50, 6, 3, false, true);
    nn_data_set_sparse(&d[0]);
    nn_data_set_sparse(&d[1]);
    for (int64_t seed = only != NULL ? atoll(only) : 0; seed < (only != NULL ? atoll(only) + 1 : NUM_TAPES);
         seed++)
        try_tape(ctx, &d[seed / 2 % 2], seed);
    nn_data_free(&d[0]);
    nn_data_free(&d[1]);
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_random_tapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
