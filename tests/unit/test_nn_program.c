/* SPDX-License-Identifier: Apache-2.0 */
/* Programs from the outside: no allocation in a run or a repeated binding, evaluation shares workspace and hoisted values,
 * explain tells what fired and why not, wrong bindings are refused with both numbers, every allocation fails once.
 */
#include "tests/support/nn_case.h"
#include "tests/support/nn_nets.h"

#include "nn/program_state.h"

#include <math.h>
#include <string.h>

static gnt_context *make_context(void)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create("device=cpu;threads=2", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    return ctx;
}

static int64_t calls(void)
{
    gnti_alloc_stats stats;

    gnti_alloc_get_stats(&stats);
    return stats.num_calls;
}

static void test_no_allocation(void **state)
{
    static const char *const texts[] = { "gcn:16:dropout=0.5, gcn",
                                         "gcn:16:norm=batch, gcn:8:norm=layer:dropout=0.2, linear",
                                         "net:kind=gcnii:drop=0.4",
                                         "net:kind=maxpool",
                                         "net:kind=sage:drop=0.3",
                                         "sage:16:dropout=0.3, sage:aggregate=max",
                                         "gat:8x4:act=elu:attn-dropout=0.5, gat:heads=3" };
    gnt_context *ctx = make_context();
    nn_data d;

    (void)state;
    nn_data_make(&d, 3, 3000, 9000, 20, 5, true, false);
    nn_data_set_sparse(&d);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int sparse = 0; sparse < 2; sparse++) {
            const nn_setup s = {
                .ctx = ctx, .data = &d, .text = texts[i], .members = 2, .sparse = sparse != 0
            };
            const gnti_batch again = { .labels = d.labels, .weight = d.weight };
            const gnti_step step = { .step = 4 };
            nn_case c;
            int64_t before;

            nn_case_make(&s, &c);
            nn_case_fill(&c, true, 0.5f);
            nn_case_run(&c, 0, 0.01f, NULL, NULL); /* kernels may size their scratch in the first run */
            before = calls();
            for (int k = 0; k < 3; k++) {
                gnt_assert_ok(gnti_program_bind(c.program, &again));
                gnt_assert_ok(gnti_program_run(c.program, &step));
                gnt_assert_ok(gnti_program_stats(c.program, NULL, NULL));
            }
            if (calls() != before)
                print_error("'%s' allocated %lld times\n", texts[i], (long long)(calls() - before));
            assert_int_equal(calls(), before);
            nn_case_free(&c);
        }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

/* Fewer rows after many keep the memory; more rows grow it, in bind alone. */
static void test_capacity(void **state)
{
    gnt_context *ctx = make_context();
    nn_data big, small;
    nn_case c;
    gnti_program_bytes first, second, third;

    (void)state;
    nn_data_make(&big, 5, 400, 1200, 9, 4, true, false);
    nn_data_make(&small, 6, 50, 100, 9, 4, true, false);
    const gnti_operator *ops[2] = { small.op, small.op };
    const gnti_operator *big_ops[2] = { big.op, big.op };
    const gnti_batch to_small = { .adj = ops, .x = &small.x, .labels = small.labels, .weight = small.weight };
    const gnti_batch to_big = { .adj = big_ops, .x = &big.x, .labels = big.labels, .weight = big.weight };
    const nn_setup s = { .ctx = ctx, .data = &small, .text = "gcn:8, gcn" };

    nn_case_make(&s, &c);
    gnti_program_get_bytes(c.program, &first);
    gnt_assert_ok(gnti_program_bind(c.program, &to_big));
    gnti_program_get_bytes(c.program, &second);
    gnt_assert_ok(gnti_program_bind(c.program, &to_small));
    gnti_program_get_bytes(c.program, &third);
    assert_true(second.workspace > 4 * first.workspace && third.workspace == second.workspace);
    nn_case_run(&c, 0, 0.0f, NULL, NULL);
    nn_case_free(&c);
    nn_data_free(&big);
    nn_data_free(&small);
    gnt_context_free(&ctx);
}

static void test_share(void **state)
{
    gnt_context *ctx = make_context();
    nn_data d;
    nn_case train, eval, alone;
    const gnti_operator *ops[2];
    float got[400], want[400], grads[600], again[600];
    double loss;

    (void)state;
    nn_data_make(&d, 8, 100, 300, 9, 4, true, false);
    ops[0] = ops[1] = d.op;
    const gnti_batch batch = { .adj = ops, .x = &d.x, .labels = d.labels, .weight = d.weight };
    nn_setup s = { .ctx = ctx, .data = &d, .text = "gcn:16:dropout=0.5, gcn" };

    nn_case_make(&s, &train);
    nn_case_fill(&train, true, 1.0f);
    s.evaluation = true;
    nn_case_make(&s, &alone);
    nn_case_make(&s, &eval);
    nn_case_fill(&alone, true, 1.0f);
    nn_case_fill(&eval, true, 1.0f);
    gnt_assert_ok(gnti_program_share(eval.program, train.program));
    gnt_assert_ok(gnti_program_bind(eval.program, &batch));
    assert_true(eval.program->hoisted_shared && eval.program->hoisted == NULL);
    assert_ptr_equal(eval.program->workspace, train.program->workspace);
    nn_case_run(&train, 1, 0.0f, NULL, &loss);
    nn_case_grads(&train, 0, grads);
    nn_case_run(&alone, 1, 0.0f, NULL, NULL);
    gnt_assert_ok(gnti_program_read_logits(alone.program, 0, want));
    nn_case_run(&eval, 1, 0.0f, NULL, NULL);
    gnt_assert_ok(gnti_program_read_logits(eval.program, 0, got));
    gnt_assert_same_bits(got, want, 400);
    nn_case_run(&train, 1, 0.0f, NULL, &loss); /* the evaluation between two steps changes nothing */
    gnt_assert_same_bits(grads, grads, nn_case_grads(&train, 0, again));
    gnt_assert_same_bits(again, grads, nn_case_grads(&train, 0, NULL));
    /* bound again, the owner leaves the other one stale until it is bound too */
    gnt_assert_ok(gnti_program_bind(train.program, &batch));
    gnt_assert_status(gnti_program_run(eval.program, &(gnti_step){ .step = 1 }), GNT_ERR_STATE);
    gnt_assert_ok(gnti_program_bind(eval.program, &batch));
    nn_case_run(&eval, 1, 0.0f, NULL, NULL);
    gnt_assert_ok(gnti_program_read_logits(eval.program, 0, got));
    gnt_assert_same_bits(got, want, 400);
    nn_case_free(&eval);
    nn_case_free(&train);
    nn_case_free(&alone);
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

/* explain of a program shows these words. */
static void explains(gnt_context *ctx, const nn_data *d, const char *text, uint32_t disabled, bool sparse,
                     const char *const *words, bool absent)
{
    const nn_setup s = { .ctx = ctx, .data = d, .text = text, .disabled = disabled, .sparse = sparse };
    nn_case c;
    char *out = NULL;

    nn_case_make(&s, &c);
    gnt_assert_ok(gnti_program_explain(c.program, false, &out));
    for (; *words != NULL; words++)
        if ((strstr(out, *words) != NULL) == absent) {
            print_error("'%s': %s '%s' in\n%s\n", text, absent ? "unexpected" : "no", *words, out);
            fail();
        }
    gnti_free(out);
    gnt_assert_ok(gnti_program_explain(c.program, true, &out));
    assert_non_null(strstr(out, "predicted_seconds"));
    gnti_free(out);
    nn_case_free(&c);
}

static void test_explain(void **state)
{
    gnt_context *ctx = make_context();
    nn_data d;

    (void)state;
    nn_data_make(&d, 9, 60, 200, 30, 4, true, false);
    nn_data_set_sparse(&d);
    explains(ctx, &d, "gcn:16:dropout=0.5, gcn", 0, false,
             (const char *[]){ "hoist        fired", "computed once", "(once)", "bias relu dropout",
                               "gate relu gate-dropout", "symmetric    fired", "memory       fired",
                               "reassociate  fired", "loss-rows    fired", "row-scale", "workspace", NULL },
             false);
    explains(ctx, &d, "gcn:16:dropout=0.5, gcn", 255, false,
             (const char *[]){ "fired", "(once)", "gate relu", NULL }, true);
    explains(ctx, &d, "gcn:16, gcn", 0, true, (const char *[]){ "sparse-input fired", "sparse-matmul", NULL },
             false);
    explains(ctx, &d, "net:kind=gcn:drop=0.5", 0, false,
             (const char *[]){ "stays in the step, dropout on the features comes before it", NULL }, false);
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

static void test_wrong_bindings(void **state)
{
    gnt_context *ctx = make_context();
    nn_data d, other;
    nn_case c;
    float z[200];

    (void)state;
    nn_data_make(&d, 9, 30, 80, 6, 4, true, false);
    nn_data_make(&other, 10, 31, 80, 6, 4, true, false);
    const nn_setup s = { .ctx = ctx, .data = &d, .text = "gcn:16, gcn" };
    const gnti_operator *mixed[2] = { d.op, other.op }, *same[2] = { d.op, d.op },
                        *missing[2] = { d.op, NULL };
    const gnti_batch bad_ops = { .adj = mixed, .x = &d.x, .labels = d.labels, .weight = d.weight };
    const gnti_batch bad_rows = { .adj = same, .x = &other.x, .labels = d.labels, .weight = d.weight };
    const gnti_batch bad_null = { .adj = missing, .x = &d.x, .labels = d.labels, .weight = d.weight };

    nn_case_make(&s, &c);
    gnt_assert_status(gnti_program_read_logits(c.program, 0, z), GNT_ERR_STATE);
    gnt_assert_error_has("gnti_tape_keep");
    gnt_assert_status(gnti_program_bind(c.program, &bad_ops), GNT_ERR_ARG);
    gnt_assert_error_has("31", "30");
    gnt_assert_status(gnti_program_run(c.program, &(gnti_step){ .step = 0 }), GNT_ERR_STATE);
    gnt_assert_status(gnti_program_bind(c.program, &bad_rows), GNT_ERR_ARG);
    gnt_assert_error_has("31 rows", "30 nodes");
    gnt_assert_status(gnti_program_bind(c.program, &bad_null), GNT_ERR_ARG);
    gnt_assert_error_has("operator 2 of 2");
    gnt_assert_status(gnti_program_set_hyper(c.program, (gnt_hyper){ 99 }, 0, 1.0f), GNT_ERR_ARG);
    nn_case_free(&c);
    nn_data_free(&d);
    nn_data_free(&other);
    gnt_context_free(&ctx);
}

static gnt_status whole_way(const nn_data *d, bool sparse)
{
    gnt_status st = GNT_OK;
    gnt_context *ctx = NULL;
    gnt_model *model = NULL;
    gnti_params *params = NULL;
    gnt_tape *t = NULL;
    gnti_program *p = NULL;
    gnti_inputs in = { 0 };
    char *text = NULL;
    const gnti_loss_config loss = { .kind = GNT_LOSS_SOFTMAX };
    const gnti_update_config update = {
        .kind = GNT_OPTIMIZER_ADAM, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = true
    };
    const gnti_operator *ops[2] = { d->op, d->op };
    const gnti_features x = {
        .rows = d->num_nodes, .width = d->width, .sparse = d->sparse, .borrowed = true
    };
    const gnti_batch batch = {
        .adj = ops, .x = sparse ? &x : &d->x, .labels = d->labels, .weight = d->weight
    };

    GNT_TRY(gnt_context_create("threads=1", &ctx));
    GNT_TRY(gnti_model_create_for(ctx, d->width, d->classes, GNT_LABELS_CLASS,
                                  "gcn:8:dropout=0.5:norm=batch, linear", NULL, &model));
    GNT_TRY(gnti_params_create(model, gnti_context_device(ctx), 2, 2, &params));
    GNT_TRY(gnti_params_init_member(params, 1, 5));
    GNT_TRY(gnti_tape_create(ctx, 2, true, &t));
    gnti_record_inputs(t, model, true, sparse, &in);
    gnti_record_update(t, gnti_record_loss(t, gnt_model_record(model, t, in.adj, in.x), &loss), &update);
    GNT_TRY(gnti_plan_program(t, model, NULL, gnti_context_device(ctx), params, &p));
    GNT_TRY(gnti_program_bind(p, &batch));
    GNT_TRY(gnti_program_run(p, &(gnti_step){ .step = 0 }));
    GNT_TRY(gnti_program_stats(p, NULL, NULL));
    GNT_TRY(gnti_params_keep_best(params, 0));
    GNT_TRY(gnti_params_use_best(params, true));
    GNT_TRY(gnti_program_explain(p, true, &text));
done:
    gnti_free(text);
    gnti_program_free(&p);
    gnti_tape_free(&t);
    gnti_params_free(&params);
    gnt_model_free(&model);
    gnt_context_free(&ctx);
    return st;
}

static void test_every_allocation_fails(void **state)
{
    nn_data d;

    (void)state;
    nn_data_make(&d, 12, 20, 40, 6, 3, false, false);
    nn_data_set_sparse(&d);
    GNT_BRUTAL(whole_way(&d, false));
    GNT_BRUTAL(whole_way(&d, true));
    nn_data_free(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_allocation),  cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_share),          cmocka_unit_test(test_explain),
        cmocka_unit_test(test_wrong_bindings), cmocka_unit_test(test_every_allocation_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
