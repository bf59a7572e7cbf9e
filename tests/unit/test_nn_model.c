/* SPDX-License-Identifier: Apache-2.0 */
/* Model texts and what is built from them: widths, keys, names of parameters, initial values by seed; every mistake points at
 * its place and offers the nearest name. Contexts, layer registration, checkpoints of parameters.
 */
#include "tests/support/nn_case.h"
#include "tests/support/nn_nets.h"

#include <math.h>
#include <string.h>

static gnt_context *make_context(void)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(NULL, &ctx));
    return ctx;
}

static void test_texts(void **state)
{
    gnt_context *ctx = make_context();
    gnt_model *m = NULL;
    gnt_model_config config;

    (void)state;
    gnt_model_config_init(&config);
    config.norm = 1;
    config.dropout = 0.25;
    gnt_assert_ok(gnti_model_create_for(
        ctx, 10, 3, GNT_LABELS_CLASS, " gcn : 16 :act=elu,\tlinear:8:dropout=0:norm=none , gcn:bias=false\n",
        &config, &m));
    assert_int_equal(gnt_model_num_layers(m), 3);
    assert_int_equal(gnt_model_num_parameters(m), 160 + 16 + 32 + 128 + 8 + 24);
    assert_string_equal(m->params[0].name, "1.w");
    assert_string_equal(m->params[2].name, "1.norm_gamma");
    assert_int_equal(m->params[2].kind, GNTI_PARAM_NORM);
    assert_int_equal(m->params[1].kind, GNTI_PARAM_BIAS);
    assert_int_equal(m->params[4].kind, GNTI_PARAM_STATE);
    assert_int_equal(m->layers[0].act, GNT_ACT_ELU);
    assert_int_equal(m->layers[1].act, GNT_ACT_RELU);
    assert_int_equal(m->layers[1].out, 8);
    assert_int_equal(m->layers[1].dropout_hyper.id, 0);
    assert_string_equal(m->hypers[0].name, "1.dropout");
    assert_true(fabs(m->hypers[0].value - 0.25) < 1e-12);
    gnt_model_free(&m);
    assert_null(m);
    gnt_context_free(&ctx);
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *first, *second;
    } cases[] = {
        { "", "empty", "gcn" },
        { "gcn:16, gnc", "unknown layer 'gnc'", "did you mean 'gcn'" },
        { "gcn:16,, gcn", "name is missing", "^" },
        { "gcn, gcn", "has no width", "^" },
        { "gcn:0, gcn", "width '0'", "1 to" },
        { "gcn:99999999999999999999, gcn", "width", "no number" },
        { "gcn:16:width, gcn", "neither a width", "key=value" },
        { "gcn:16:dropuot=0.5, gcn", "no key 'dropuot'", "did you mean 'dropout'" },
        { "gcn:16:dropout=1.5, gcn", "dropout", "1.5" },
        { "gcn:16:act=reul, gcn", "act", "reul" },
        { "gcn:16:bais=false, gcn", "no key 'bais'", "did you mean 'bias'" },
        { "gcn:8x8, gcn", "no heads", "^" },
        { "gcn:8x99, gcn", "heads", "99" },
        { "gcn:16 gcn", "width '16 gcn'", "^" },
        { "gcn:16, gcn:5", "5 wide", "need 3" },
        { "gcn:16, gcn,", "no width", "^" },
    };
    gnt_context *ctx = make_context();
    gnt_model *m = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const gnt_status st = gnti_model_create_for(ctx, 10, 3, GNT_LABELS_CLASS, cases[i].text, NULL, &m);

        if (st != GNT_ERR_USAGE)
            print_error("'%s' answered %s: %s\n", cases[i].text, gnt_status_name(st), gnt_last_error());
        assert_int_equal(st, GNT_ERR_USAGE);
        assert_null(m);
        gnt_assert_error_has(cases[i].first, cases[i].second);
    }
    gnt_assert_status(gnti_model_create_for(ctx, 0, 3, GNT_LABELS_CLASS, "gcn", NULL, &m), GNT_ERR_FORMAT);
    gnt_context_free(&ctx);
}

static void test_contexts(void **state)
{
    gnt_context *ctx = NULL;

    (void)state;
    gnt_assert_ok(gnt_context_create("threads=3;deterministic=bitwise;;isa=portable", &ctx));
    assert_int_equal(gnti_context_determinism(ctx), GNTI_DET_BITWISE);
    gnt_assert_status(gnt_layer_register(ctx, &gnti_layer_gcn), GNT_ERR_ARG);
    gnt_assert_error_has("already");
    gnt_assert_status(gnt_context_load_plugin(ctx, "/nonexistent/libx.so"), GNT_ERR_IO);
    gnt_context_free(&ctx);
    gnt_context_free(&ctx);
    gnt_assert_status(gnt_context_create("thread=3", &ctx), GNT_ERR_USAGE);
    gnt_assert_error_has("thread", "did you mean 'threads'");
    gnt_assert_status(gnt_context_create("threads", &ctx), GNT_ERR_USAGE);
    gnt_assert_status(gnt_context_create("device=quantum", &ctx), GNT_ERR_UNSUPPORTED);
    assert_null(ctx);
}

/* Values depend on seed, full name and place alone: a member among others starts as it would alone. */
static void test_initial_values(void **state)
{
    gnt_context *ctx = make_context();
    gnt_model *m = NULL;
    gnti_params *one = NULL, *three = NULL;
    float a[400], b[1200];
    const float limit = (float)sqrt(6.0 / 26.0);
    float largest = 0.0f;

    (void)state;
    gnt_assert_ok(gnti_model_create_for(ctx, 10, 3, GNT_LABELS_CLASS, "gcn:16, gcn", NULL, &m));
    gnt_assert_ok(gnti_params_create(m, gnti_context_device(ctx), 1, -1, &one));
    gnt_assert_ok(gnti_params_create(m, gnti_context_device(ctx), 3, 1, &three));
    gnt_assert_ok(gnti_params_init_member(one, 0, 77));
    gnt_assert_ok(gnti_params_init_member(three, 2, 77));
    gnt_assert_status(gnti_params_init_member(three, 3, 77), GNT_ERR_ARG);
    gnt_assert_ok(gnti_params_read(one, GNTI_BLOCK_WEIGHTS, a));
    gnt_assert_ok(gnti_params_read(three, GNTI_BLOCK_WEIGHTS, b));
    for (int32_t i = 0; i < gnti_params_count(one); i++) {
        const gnti_param_info *x = gnti_params_info(one, i), *y = gnti_params_info(three, i);

        gnt_assert_same_bits(a + x->offset, b + y->offset + 2 * x->in * x->out, x->in * x->out);
    }
    for (int i = 0; i < 160; i++) {
        assert_true(fabsf(a[i]) <= limit);
        largest = fmaxf(largest, fabsf(a[i]));
    }
    assert_true(largest > 0.9f * limit);
    gnt_assert_status(gnti_params_read(one, GNTI_BLOCK_GRADS, a), GNT_ERR_STATE);
    gnt_assert_status(gnti_params_use_best(three, true), GNT_ERR_STATE);
    /* best weights change places and come back */
    gnt_assert_ok(gnti_params_keep_best(three, 2));
    gnt_assert_ok(gnti_params_init_member(three, 2, 78));
    gnt_assert_ok(gnti_params_use_best(three, true));
    gnt_assert_ok(gnti_params_use_best(three, true));
    gnt_assert_ok(gnti_params_read(three, GNTI_BLOCK_WEIGHTS, b));
    gnt_assert_same_bits(a, b + 2 * 160, 160);
    gnt_assert_ok(gnti_params_use_best(three, false));
    gnt_assert_ok(gnti_params_read(three, GNTI_BLOCK_WEIGHTS, b));
    assert_true(a[0] != b[2 * 160]);
    gnti_params_free(&one);
    gnti_params_free(&three);
    gnt_model_free(&m);
    gnt_context_free(&ctx);
}

/* Decay rules reach the parameters they name. */
static void test_decay(void **state)
{
    gnt_context *ctx = make_context();
    nn_data d;
    float before[600], after[600];

    (void)state;
    nn_data_make(&d, 4, 30, 60, 6, 3, true, false);
    for (int with = 0; with < 2; with++) {
        const nn_setup s = { .ctx = ctx,
                             .data = &d,
                             .text = "gcn:8, gcn",
                             .optimizer = GNT_OPTIMIZER_ADAMW,
                             .decay_first = with ? 0.5f : 0.0f };
        nn_case c;
        int64_t count;

        nn_case_make(&s, &c);
        nn_case_fill(&c, true, 1.0f);
        nn_case_run(&c, 0, 0.1f, NULL, NULL);
        count = nn_case_weights(&c, 0, with ? after : before);
        nn_case_free(&c);
        if (with == 0)
            continue;
        for (int64_t i = 0; i < count; i++) {
            const float shrunk = before[i] - 0.05f * nn_golden_value(i < 48 ? 0 : 9, (uint32_t)i);

            if (i < 48) /* weights of layer 1: w (1 - lr decay) first */
                assert_true(fabsf(after[i] - shrunk) < 1e-6f);
            else
                assert_true(after[i] == before[i]);
        }
    }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),    cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_contexts), cmocka_unit_test(test_initial_values),
        cmocka_unit_test(test_decay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
