/* SPDX-License-Identifier: Apache-2.0 */
/* SAGE and GAT as layers: graphs without arcs, a hub of 10^5 neighbours at any number of threads, arc weights, what evaluation
 * fuses and leaves out, dropout that follows ids, and recordings that do not fit.
 */
#include "tests/support/nn_case.h"

#include "nn/program_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static gnt_context *make_context(const char *settings)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(settings, &ctx));
    return ctx;
}

static void fill(nn_data *d)
{
    for (int64_t i = 0; i < d->num_nodes * d->width; i++)
        d->dense[i] = nn_golden_value(3, (uint32_t)i);
    for (int64_t i = 0; i < d->num_nodes; i++) {
        d->labels[i] = (int32_t)(i % d->classes);
        d->weight[i] = 1.0f;
    }
}

/* ---- graphs without arcs ---- */

/* Each node alone: all layers are h W + b with the weights that reach the node itself. */
static void test_no_arcs(void **state)
{
    static const char *const texts[] = { "sage", "sage:aggregate=max", "gat",
                                         "gat:heads=2:attn-dropout=0.5" };
    gnt_context *ctx = make_context("threads=2");
    const gnti_arc_list none = { 0 };
    nn_data d;

    (void)state;
    nn_data_from_arcs(&d, 5, &none, true, 3, 2);
    fill(&d);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const nn_setup s = { .ctx = ctx, .data = &d, .text = texts[i], .keep_logits = true };
        float w[64], z[10], g[64];
        const bool gat = texts[i][0] == 'g';
        const int64_t heads = i == 3 ? 2 : 1, bias = gat ? 3 * 2 * heads + 4 * heads : 12;
        double loss;
        nn_case c;

        nn_case_make(&s, &c);
        nn_case_fill(&c, true, 1.0f);
        nn_case_weights(&c, 0, w);
        nn_case_run(&c, 0, 0.0f, NULL, &loss);
        assert_true(isfinite(loss));
        gnt_assert_ok(gnti_program_read_logits(c.program, 0, z));
        for (int64_t k = nn_case_grads(&c, 0, g) - 1; k >= 0; k--)
            assert_true(isfinite(g[k]));
        for (int r = 0; r < 5 && i < 3; r++)
            for (int k = 0; k < 2; k++) {
                double want = (double)w[bias + k];

                for (int j = 0; j < 3; j++)
                    want += (double)d.dense[3 * r + j] * (double)w[2 * j + k];
                assert_true(fabs((double)z[2 * r + k] - want) < 1e-6);
            }
        nn_case_free(&c);
    }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

/* ---- a star ---- */

enum { LEAVES = 100000, STAR_CLASSES = 3 };

static void make_star(nn_data *d)
{
    gnti_arc_list arcs = { .num_arcs = LEAVES };

    gnt_assert_ok(gnti_calloc_array(&arcs.source, LEAVES));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, LEAVES));
    for (int64_t i = 0; i < LEAVES; i++)
        arcs.target[i] = i + 1;
    nn_data_from_arcs(d, LEAVES + 1, &arcs, true, 4, STAR_CLASSES);
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    fill(d);
}

/* The hub's logits in double, for one GAT layer of one head with the weights w. */
static void hub_of_gat(const nn_data *d, const float *w, double z[STAR_CLASSES])
{
    double own[STAR_CLASSES] = { 0.0 }, sum = 0.0, s_dst = 0.0;

    for (int k = 0; k < STAR_CLASSES; k++)
        z[k] = (double)w[6 * STAR_CLASSES + k];
    for (int pass = 0; pass < 2; pass++) /* the hub's own score first, then all */
        for (int64_t j = 0; j <= (pass == 0 ? 0 : LEAVES); j++) {
            double h[STAR_CLASSES] = { 0.0 }, e = 0.0;

            for (int k = 0; k < STAR_CLASSES; k++) {
                for (int c = 0; c < 4; c++)
                    h[k] += (double)d->dense[4 * j + c] * (double)w[c * STAR_CLASSES + k];
                e += h[k] * (double)w[4 * STAR_CLASSES + k];
                if (pass == 0)
                    s_dst += h[k] * (double)w[5 * STAR_CLASSES + k];
            }
            if (pass == 0)
                continue;
            e += s_dst;
            e = exp(e > 0.0 ? e : 0.2 * e);
            sum += e;
            for (int k = 0; k < STAR_CLASSES; k++)
                own[k] += e * h[k];
        }
    for (int k = 0; k < STAR_CLASSES; k++)
        z[k] += own[k] / sum;
}

static void test_star(void **state)
{
    static const char *const settings[] = { "threads=1;deterministic=bitwise",
                                            "threads=4;deterministic=bitwise",
                                            "threads=3;deterministic=bitwise;isa=portable" };
    static const char *const texts[] = { "gat", "gat:2x3:act=elu:attn-dropout=0.4, gat", "sage:4, sage",
                                         "sage:4:aggregate=max, sage:aggregate=max" };
    nn_data d;

    (void)state;
    make_star(&d);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        float *want = NULL, grads[256], first[256];
        double losses[3], z[STAR_CLASSES];
        int64_t count = 0;

        for (int k = 0; k < 3; k++) {
            gnt_context *ctx = make_context(settings[k]);
            const nn_setup s = { .ctx = ctx, .data = &d, .text = texts[i], .keep_logits = true };
            float *got = NULL;
            nn_case c;

            nn_case_make(&s, &c);
            nn_case_fill(&c, true, 1.0f);
            nn_case_run(&c, 2, 0.0f, NULL, &losses[k]);
            gnt_assert_ok(gnti_alloc_array(&got, (LEAVES + 1) * STAR_CLASSES));
            gnt_assert_ok(gnti_program_read_logits(c.program, 0, got));
            count = nn_case_grads(&c, 0, grads);
            if (k == 0) {
                memcpy(first, grads, sizeof first);
                want = got;
            } else {
                assert_memory_equal(&losses[k], &losses[0], sizeof losses[0]);
                gnt_assert_same_bits(got, want, (LEAVES + 1) * STAR_CLASSES);
                gnt_assert_same_bits(grads, first, count);
                gnti_free(got);
            }
            if (i == 0 && k == 0) {
                nn_case_weights(&c, 0, grads);
                hub_of_gat(&d, grads, z);
                for (int q = 0; q < STAR_CLASSES; q++)
                    assert_true(fabs((double)want[q] - z[q]) < 1e-6);
            }
            nn_case_free(&c);
            gnt_context_free(&ctx);
        }
        for (int64_t k = 0; k < count; k++)
            assert_true(isfinite(first[k]));
        gnti_free(want);
    }
    nn_data_free(&d);
}

/* ---- arc weights ---- */

/* One SAGE layer's logits by definition: the mean by weights. GAT does not look at weights. */
static void test_weights(void **state)
{
    gnt_context *ctx = make_context("threads=1");
    float w[64], z[300], plain[300];
    nn_data d, bare;
    nn_case c;

    (void)state;
    nn_data_make(&d, 17, 40, 150, 5, 3, false, true);
    nn_data_make(&bare, 17, 40, 150, 5, 3, false, false);
    nn_setup s = { .ctx = ctx, .data = &d, .text = "sage", .keep_logits = true };

    nn_case_make(&s, &c);
    nn_case_fill(&c, true, 1.0f);
    nn_case_weights(&c, 0, w);
    nn_case_run(&c, 0, 0.0f, NULL, NULL);
    gnt_assert_ok(gnti_program_read_logits(c.program, 0, z));
    for (int64_t r = 0; r < 40; r++) {
        double mean[5] = { 0.0 }, sum = 0.0;

        for (int64_t j = 0; j < 40; j++)
            for (int64_t e = d.sources->offsets[j]; e < d.sources->offsets[j + 1]; e++)
                if (d.sources->columns[e] == r) {
                    sum += (double)d.sources->weights[e];
                    for (int q = 0; q < 5; q++)
                        mean[q] += (double)d.sources->weights[e] * (double)d.dense[5 * j + q];
                }
        for (int k = 0; k < 3; k++) {
            double want = (double)w[30 + k];

            for (int q = 0; q < 5; q++)
                want += (double)d.dense[5 * r + q] * (double)w[3 * q + k] +
                        (sum > 0.0 ? mean[q] / sum : 0.0) * (double)w[15 + 3 * q + k];
            assert_true(fabs((double)z[3 * r + k] - want) < 1e-5);
        }
    }
    nn_case_free(&c);
    s.text = "gat:2x2, gat";
    for (int k = 0; k < 2; k++) {
        s.data = k == 0 ? &d : &bare;
        nn_case_make(&s, &c);
        nn_case_fill(&c, true, 1.0f);
        nn_case_run(&c, 0, 0.0f, NULL, NULL);
        gnt_assert_ok(gnti_program_read_logits(c.program, 0, k == 0 ? z : plain));
        nn_case_free(&c);
    }
    gnt_assert_same_bits(z, plain, 120);
    nn_data_free(&d);
    nn_data_free(&bare);
    gnt_context_free(&ctx);
}

/* ---- programs ---- */

static const gnti_node *find_node(const gnti_program *p, gnti_op op, int32_t layer)
{
    for (int64_t i = 0; i < p->ir.num_nodes; i++)
        if (p->ir.nodes[i].op == op && p->ir.nodes[i].layer == layer)
            return &p->ir.nodes[i];
    return NULL;
}

/* Evaluation keeps no maxima and sums, and adds bias and activation as a row is stored; training does neither. The last layer's
 * gradient along arcs reads rows of the loss alone. */
static void test_programs(void **state)
{
    gnt_context *ctx = make_context("threads=1");
    const gnti_node *n;
    char *text = NULL;
    nn_data d;
    nn_case c;

    (void)state;
    nn_data_make(&d, 9, 60, 200, 30, 4, true, false);
    nn_setup s = {
        .ctx = ctx, .data = &d, .text = "gat:4x2:act=elu:attn-dropout=0.5, gat", .evaluation = true
    };

    nn_case_make(&s, &c);
    n = find_node(c.program, GNTI_IR_ATTEND, 1);
    assert_non_null(n);
    assert_true(n->num_out == 1 && n->epilogue.bias != 0 && n->epilogue.act == GNT_ACT_ELU && n->hyper == 0);
    nn_case_free(&c);
    s.evaluation = false;
    nn_case_make(&s, &c);
    n = find_node(c.program, GNTI_IR_ATTEND, 1);
    assert_true(n->num_out == 2 && n->epilogue.bias == 0 && n->epilogue.act == GNT_ACT_NONE && n->hyper != 0);
    assert_true(find_node(c.program, GNTI_IR_ATTEND_COLUMNS, 2)->masked);
    assert_false(find_node(c.program, GNTI_IR_ATTEND_COLUMNS, 1)->masked);
    assert_true(find_node(c.program, GNTI_IR_HEAD_MASK, 1)->hoisted);
    gnt_assert_ok(gnti_program_explain(c.program, false, &text));
    assert_non_null(strstr(text, "attend-gradient rows"));
    assert_non_null(strstr(text, "attend-gradient columns"));
    gnti_free(text);
    nn_case_free(&c);
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

/* ---- recordings that do not fit ---- */

typedef struct bad {
    int32_t mistake;
    gnt_param w, a, b;
} bad;

static const gnt_option bad_options[] = {
    GNT_OPTION_WORD("mistake", bad, mistake, 0, "self|heads|vector|slope|hyper", "what is wrong"),
    GNT_OPTION_END,
};

static void bad_build(void *state, gnt_builder *b)
{
    bad *l = state;
    const gnt_init one = { GNT_INIT_CONST, 1.0f };

    l->w = gnt_builder_param(b, "w", gnt_builder_in(b), gnt_builder_out(b), one);
    l->a = gnt_builder_param(b, "a", gnt_builder_out(b), 1, one);
    l->b = gnt_builder_param(b, "b", 1, gnt_builder_out(b), one);
}

static gnt_var bad_forward(const void *state, gnt_tape *t, const gnt_layer_input *in)
{
    const bad *l = state;
    const gnt_var h = gnt_matmul(t, in->h, gnt_use(t, l->w));
    const gnt_var s = gnt_head_dots(t, h, gnt_use(t, l->mistake == 2 ? l->b : l->a), l->mistake == 1 ? 5 : 2);
    const gnt_var d = l->mistake == 0 ? s : gnt_self(t, in->adj, s);

    return gnt_attend(t, in->adj, h, s, d, l->mistake == 3 ? 2.0f : 0.2f,
                      (gnt_hyper){ l->mistake == 4 ? 999 : 0 });
}

static const gnt_layer_class bad_layer = { .struct_size = sizeof bad_layer,
                                           .name = "bad",
                                           .state_size = sizeof(bad),
                                           .options = bad_options,
                                           .build = bad_build,
                                           .forward = bad_forward };

static void test_mistakes(void **state)
{
    static const char *const words[][3] = { { "self", "attend", "gnt_self" },
                                            { "heads", "head_dots", "5 heads" },
                                            { "vector", "head_dots", "one value a column" },
                                            { "slope", "attend", "slope 2" },
                                            { "hyper", "attend", "no hyper" } };
    gnt_context *ctx = make_context("threads=1");

    (void)state;
    gnt_assert_ok(gnt_layer_register(ctx, &bad_layer));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char text[64];
        gnt_model *model = NULL;
        gnt_tape *t = NULL;
        gnti_program *p = NULL;
        gnti_inputs in = { 0 };

        snprintf(text, sizeof text, "bad:4:mistake=%s, linear", words[i][0]);
        gnt_assert_ok(gnti_model_create_for(ctx, 3, 2, GNT_LABELS_CLASS, text, NULL, &model));
        gnt_assert_ok(gnti_tape_create(ctx, 1, true, &t));
        gnti_record_inputs(t, model, false, false, &in);
        gnt_model_record(model, t, in.adj, in.x);
        gnt_assert_status(gnti_plan_program(t, model, NULL, NULL, NULL, &p), GNT_ERR_ARG);
        gnt_assert_error_has("layer 1 'bad'", words[i][1], words[i][2]);
        gnti_tape_free(&t);
        gnt_model_free(&model);
    }
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_arcs),  cmocka_unit_test(test_star),     cmocka_unit_test(test_weights),
        cmocka_unit_test(test_programs), cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
