/* SPDX-License-Identifier: Apache-2.0 */
/* Members slice by slice through a step: weights, gradients, logits and statistics have the bits that they have when all
 * members go together, for every layer, in blocks of any g, with loss weights, hypers and pauses of their own, for random
 * tapes and over parts. Which slices are chosen, what they save, what is told and stored. GNT_PROP_SEED=N runs one random tape.
 * label: medium
 */
#include "tests/support/nn_nets.h"
#include "tests/support/nn_random.h"
#include "tests/support/parts_case.h"

#include "nn/program_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 7, STEPS = 3, NUM_TAPES = 300, CHUNKS = 8 };
static const uint64_t seeds[MOST_MEMBERS] = { 3, 14, 15, 92, 65, 35, 89 };

typedef struct result {
    double stats[STEPS][4 * MOST_MEMBERS];
    float *floats; /* weights and gradients of all parameters, then the logits of all members */
    int64_t count;
    int64_t ops, sliced, instructions;
    size_t workspace;
} result;

static gnt_context *make_context(bool bitwise)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(
        bitwise ? "device=cpu;threads=2;deterministic=bitwise" : "device=cpu;threads=2", &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    return ctx;
}

/* Every member has hypers of its own; the second one stands still in step 1. */
static void run_step(nn_case *c, int64_t step, double *stats)
{
    const uint8_t live[MOST_MEMBERS] = { 1, step != 1, 1, 1, 1, 1, 1 };
    const gnti_step block = { .step = step, .seeds = seeds, .live = live };
    gnti_program *p = c->program;

    for (int32_t m = 0; m < c->members; m++) {
        const float own = 1.0f + 0.25f * (float)m;

        for (int32_t h = 1; h <= p->model->num_hypers; h++)
            gnt_assert_ok(gnti_program_set_hyper(p, (gnt_hyper){ h }, m, 0.1f + 0.08f * (float)m));
        gnt_assert_ok(gnti_program_set_hyper(p, c->lr, m, 0.02f * own));
        gnt_assert_ok(gnti_program_set_hyper(p, c->corr1, m, 0.5f * own));
        gnt_assert_ok(gnti_program_set_hyper(p, c->corr2, m, 0.25f * own));
        gnt_assert_ok(gnti_program_set_hyper(p, gnti_program_loss_norm(p), m, c->norm * own));
    }
    gnt_assert_ok(gnti_program_run(p, &block));
    gnt_assert_ok(gnti_program_stats(p, stats, NULL));
}

static void look(const nn_case *c, result *out)
{
    const gnti_program *p = c->program;

    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        out->ops += !p->ir.nodes[i].hoisted;
        out->sliced += p->ir.nodes[i].run != 0 && p->slices.members > 0;
    }
    out->instructions = p->lowering.count - p->num_hoist_instrs;
    out->workspace = p->workspace_bytes;
}

static void run(const nn_setup *s, result *out)
{
    nn_case c;
    int64_t floats, logits;

    memset(out, 0, sizeof *out);
    nn_case_make(s, &c);
    nn_case_fill(&c, false, 1.0f);
    floats = gnti_params_num_floats(c.params);
    logits = c.rows * c.classes;
    out->count = 2 * floats + c.members * logits;
    gnt_assert_ok(gnti_calloc_array(&out->floats, out->count + 1));
    for (int64_t step = 0; step < STEPS; step++)
        run_step(&c, step, out->stats[step]);
    gnt_assert_ok(gnti_params_read(c.params, GNTI_BLOCK_WEIGHTS, out->floats));
    if (!s->evaluation)
        gnt_assert_ok(gnti_params_read(c.params, GNTI_BLOCK_GRADS, out->floats + floats));
    for (int32_t m = 0; m < c.members; m++)
        gnt_assert_ok(gnti_program_read_logits(c.program, m, out->floats + 2 * floats + m * logits));
    look(&c, out);
    nn_case_free(&c);
}

static const char *differs(const result *a, const result *b)
{
    if (memcmp(a->stats, b->stats, sizeof a->stats) != 0)
        return "statistics differ";
    return memcmp(a->floats, b->floats, (size_t)a->count * sizeof *a->floats) != 0
               ? "weights, gradients or logits differ"
               : NULL;
}

/* Slices of one, two and three members, against all at once; answers the ops that went in slices of one. */
static int64_t expect_same(nn_setup s)
{
    result all = { 0 }, r = { 0 };
    int64_t sliced = 0;

    s.disabled |= GNTI_PASS_SLICES;
    run(&s, &all);
    assert_int_equal(all.sliced, 0);
    s.disabled &= ~(uint32_t)GNTI_PASS_SLICES;
    for (s.slice_members = 1; s.slice_members <= 3; s.slice_members++) {
        const char *text;

        run(&s, &r);
        text = differs(&r, &all);
        if (text != NULL)
            fail_msg("'%s', %d members, g %d, slices of %d, %s, passes %u off: %s", s.text, s.members,
                     s.block_members, s.slice_members, s.sparse ? "sparse" : "dense", s.disabled, text);
        sliced = s.slice_members == 1 ? r.sliced : sliced;
        gnti_free(r.floats);
    }
    gnti_free(all.floats);
    return sliced;
}

static void test_models(void **state)
{
    static const char *const texts[] = {
        "net:kind=mlp:hidden=8:drop=0.4",
        "net:kind=gin:hidden=8:drop=0.4",
        "net:kind=appnp:hidden=8:drop=0.4",
        "net:kind=gcnii:hidden=8:drop=0.4",
        "net:kind=maxpool:hidden=8:drop=0.4",
        "gcn:12:dropout=0.5, gcn:4:dropout=0.5:act=elu, gcn",
        "gcn:70:dropout=0.5, gcn:66:norm=batch, gcn",
        "gcn:12:norm=batch, gcn:12:norm=layer:residual=true:dropout=0.2, linear",
        "sage:12:dropout=0.5, sage:5:aggregate=max:act=elu, sage",
        "gat:3x4:act=elu:dropout=0.5:attn-dropout=0.4, gat:6:heads=2:norm=layer, gat:attn-dropout=0.3",
    };
    (void)state;
    for (int k = 0; k < 4; k++) {
        gnt_context *ctx = make_context(k / 2 == 0);
        float *weight = NULL;
        nn_data d;

        nn_data_make(&d, 11 + (uint64_t)k, 60, 200, 9, 4, k % 2 == 0, k % 2 == 1);
        nn_data_set_sparse(&d);
        gnt_assert_ok(gnti_calloc_array(&weight, MOST_MEMBERS * d.num_nodes));
        for (int64_t i = 0; i < MOST_MEMBERS * d.num_nodes; i++)
            weight[i] = i * 7 % 3 == 0 ? 0.0f : 0.5f + (float)(i % 5);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            const nn_setup s = { .ctx = ctx,
                                 .data = &d,
                                 .text = texts[i],
                                 .members = 5 + k % 2 * 2,
                                 .block_members = 1 + ((int)i + k) % 2,
                                 .member_weight = ((int)i + k) % 2 == 0 ? weight : NULL,
                                 .sparse = k % 2 == 1,
                                 .keep_logits = true,
                                 .optimizer = GNT_OPTIMIZER_ADAM };
            nn_setup other = s;

            assert_true(expect_same(s) >= 3);
            other.evaluation = true;
            expect_same(other);
            other = s;
            other.disabled = (uint32_t)(i * 37 + (size_t)k * 11) & 255; /* some other passes */
            expect_same(other);
        }
        gnti_free(weight);
        nn_data_free(&d);
        gnt_context_free(&ctx);
    }
}

static void try_tape(gnt_context *ctx, const nn_data *d, int64_t seed)
{
    char text[96];
    nn_setup s = { .ctx = ctx, .data = d, .text = text, .keep_logits = true };

    snprintf(text, sizeof text, "random:8:seed=%lld:length=%d, random:seed=%lld:length=%d", (long long)seed,
             (int)(seed % 7), (long long)(seed + 500000), (int)(seed % 5) + 2);
    s.members = 2 + (int32_t)(seed % (MOST_MEMBERS - 1));
    s.block_members = (int32_t)(seed / 3 % 5 % 3); /* 0: as wide as they are, mostly all side by side */
    s.sparse = seed % 2 == 1;
    s.evaluation = seed % 5 == 4;
    s.disabled = seed % 4 == 3 ? (uint32_t)(seed * 2654435761u >> 7) & 255 : 0;
    expect_same(s);
}

static void test_random_tapes(void **state)
{
    const char *only = getenv("GNT_PROP_SEED");
    gnt_context *ctx = make_context(false);
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

/* Chains of many blocks of rows, by two threads, in slices of one and of two members in blocks of two. */
static void test_chains(void **state)
{
    gnt_context *ctx = make_context(false);
    nn_data d;

    (void)state;
    nn_data_make(&d, 41, 9000, 20000, 12, 4, true, false);
    for (int32_t g = 1; g <= 2; g++) {
        const nn_setup s = { .ctx = ctx,
                             .data = &d,
                             .text = "gcn:20:dropout=0.4, gcn",
                             .members = 5,
                             .block_members = g,
                             .keep_logits = true };

        assert_true(expect_same(s) >= 6);
    }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

/* Exchanges and sums between ranks end runs; what lies between goes in slices. */
static void test_parts(void **state)
{
    static const char *const texts[] = { "gcn:16:norm=batch:dropout=0.3, gcn:9:residual=true, gcn",
                                         "net:kind=gin:hidden=8:drop=0.3",
                                         "sage:8:dropout=0.3, linear:6:norm=layer, linear",
                                         "gat:4x3:act=elu:attn-dropout=0.4, gat:attn-dropout=0.3" };
    gnti_partition *partition = parts_random(5, 100, CHUNKS);
    nn_data d;
    int num_sliced = 0;

    (void)state;
    nn_data_make(&d, 21, 100, 300, 12, 4, true, false);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int k = 0; k < 6; k++) {
            parts_problem p = { .data = &d,
                                .text = texts[i],
                                .members = 3 + k % 2,
                                .block_members = 1,
                                .slice_members = 1 + k % 2,
                                .bitwise = k < 3,
                                .steps = 2,
                                .lr = 0.05f,
                                .strategy = k % 3 == 2 ? GNTI_STRATEGY_BROADCAST : GNTI_STRATEGY_HALO,
                                .always_overlap = k % 3 == 1,
                                .context = make_context };
            parts_result on = { 0 }, off = { 0 };
            int32_t owner[CHUNKS];
            const char *text;

            parts_owner(3, CHUNKS, 1 + k % 3, false, owner);
            parts_run(&p, partition, owner, 1 + k % 3, &on);
            p.disabled = GNTI_PASS_SLICES;
            parts_run(&p, partition, owner, 1 + k % 3, &off);
            text = parts_differ(&p, &on, &off, true);
            if (text != NULL)
                fail_msg("'%s', %d ranks, case %d: %s\n%s", p.text, 1 + k % 3, k, text, on.explain);
            num_sliced += strstr(on.explain, "slices       fired") != NULL;
            parts_result_free(&on);
            parts_result_free(&off);
        }
    assert_true(num_sliced >= 6);
    nn_data_free(&d);
    gnti_partition_free(&partition);
}

/* ---- what is chosen ------------------------------------------------------------------------------------------------ */

/* A dry run of the training step for so many rows. */
static gnti_program *plan_dry(gnt_context *ctx, const char *model_text, int32_t members, int64_t rows,
                              const char *choices, const gnti_dist_config *dist, gnt_model **model)
{
    const gnti_plan_config plan = {
        .dist = dist, .row_capacity = rows, .expected_arcs = 10 * rows, .choices = choices
    };
    const gnti_loss_config loss = { .kind = GNT_LOSS_SOFTMAX };
    const gnti_update_config update = { .kind = GNT_OPTIMIZER_ADAM };
    gnti_program *p = NULL;
    gnt_tape *t = NULL;
    gnti_inputs in;

    gnt_assert_ok(gnti_model_create_for(ctx, 128, 40, GNT_LABELS_CLASS, model_text, NULL, model));
    gnt_assert_ok(gnti_tape_create(ctx, members, true, &t));
    gnti_record_inputs(t, *model, true, false, &in);
    gnti_record_update(t, gnti_record_loss(t, gnt_model_record(*model, t, in.adj, in.x), &loss), &update);
    gnt_assert_ok(gnti_plan_program(t, *model, &plan, NULL, NULL, &p));
    gnti_tape_free(&t);
    return p;
}

static void expect_slices(gnt_context *ctx, const char *text, int32_t members, int64_t rows,
                          const char *choices, int32_t want, const char *want_choices)
{
    gnt_model *model = NULL;
    gnti_program *p = plan_dry(ctx, text, members, rows, choices, NULL, &model);
    char *stored = NULL;

    gnt_assert_ok(gnti_program_get_choices(p, &stored));
    if (p->slices.members != want || strcmp(stored, want_choices) != 0)
        fail_msg("'%s', %d members, %lld rows, choices '%s': slices of %d, expected %d; stored '%s'", text,
                 members, (long long)rows, choices != NULL ? choices : "", p->slices.members, want, stored);
    gnti_free(stored);
    gnti_program_free(&p);
    gnt_model_free(&model);
}

static void test_choice(void **state)
{
    gnt_context *ctx = make_context(false);

    (void)state;
    /* wide members on many rows go one by one, narrow ones as they lie side by side; what fits goes at once */
    expect_slices(ctx, "gcn:64, gcn", 8, 169343, NULL, 1, "g=0;slice=1");
    expect_slices(ctx, "gcn:128, gcn", 8, 169343, NULL, 1, "g=0;slice=1");
    expect_slices(ctx, "gcn:16, gcn", 8, 169343, NULL, 4, "g=0;slice=4");
    expect_slices(ctx, "gcn:16, gcn", 8, 2708, NULL, 0, "g=0;slice=8");
    expect_slices(ctx, "gcn:64, gcn", 1, 169343, NULL, 0, "g=0;slice=1");
    /* scores and statistics, narrower than a cache line, are cut within a block */
    expect_slices(ctx, "gat:4x16, gat", 8, 169343, NULL, 4, "g=0;slice=4");
    expect_slices(ctx, "gcn:64:norm=layer, gcn", 8, 169343, NULL, 1, "g=0;slice=1");
    /* a stored choice is taken, as far as members lie side by side; folders of before have none */
    expect_slices(ctx, "gcn:64, gcn", 8, 169343, "g=0;slice=4", 4, "g=0;slice=4");
    expect_slices(ctx, "gcn:64, gcn", 8, 169343, "g=0;slice=8", 0, "g=0;slice=8");
    expect_slices(ctx, "gcn:64, gcn", 3, 169343, "g=0;slice=8", 0, "g=0;slice=3");
    expect_slices(ctx, "gcn:64, gcn", 8, 169343, "g=2;slice=3", 2, "g=2;slice=2");
    expect_slices(ctx, "gcn:64, gcn", 8, 2708, "g=2;slice=1", 2, "g=2;slice=2");
    expect_slices(ctx, "gcn:64, gcn", 8, 169343, "g=0", 1, "g=0;slice=1");
    gnt_context_free(&ctx);
}

/* A step whose members go one by one has the workspace of one member, and is told. */
static void test_memory(void **state)
{
    gnt_context *ctx = make_context(false);
    gnt_model *models[2] = { NULL, NULL };
    gnti_program *one = plan_dry(ctx, "gcn:64:dropout=0.5, gcn", 1, 50000, NULL, NULL, &models[0]);
    gnti_program *many = plan_dry(ctx, "gcn:64:dropout=0.5, gcn", 8, 50000, NULL, NULL, &models[1]);
    char *text = NULL;

    (void)state;
    assert_int_equal(many->slices.members, 1);
    assert_int_equal(many->workspace_bytes, one->workspace_bytes);
    gnt_assert_ok(gnti_program_explain(many, false, &text));
    assert_non_null(strstr(text, "slices       fired"));
    assert_non_null(strstr(text, "10 of 11 ops, 1 of 8 members at a time"));
    gnti_free(text);
    gnti_program_free(&one);
    gnti_program_free(&many);
    gnt_model_free(&models[0]);
    gnt_model_free(&models[1]);
    gnt_context_free(&ctx);
}

/* Ranks may choose other slices than their neighbours: what meets them is done for all members at once. */
static void test_talks(void **state)
{
    gnt_context *ctx = make_context(false);
    const gnti_dist_config dist = { .strategy = GNTI_STRATEGY_HALO };
    gnt_model *model = NULL;
    gnti_program *p =
        plan_dry(ctx, "gcn:64:norm=batch:dropout=0.5, gcn:64, gcn", 4, 50000, "g=0;slice=1", &dist, &model);
    int norms = 0, products = 0, sliced = 0;

    (void)state;
    assert_int_equal(p->slices.members, 1);
    for (int64_t i = 0; i < p->ir.num_nodes; i++) {
        const gnti_node *n = &p->ir.nodes[i];
        const bool is_norm = n->op == GNTI_IR_NORM || n->op == GNTI_IR_NORM_GRAD;

        if (n->hoisted)
            continue;
        norms += is_norm && n->norm == GNT_NORM_BATCH;
        products += gnti_is_product(n);
        sliced += n->run != 0;
        if (is_norm && n->norm == GNT_NORM_BATCH)
            assert_int_equal(n->run, 0);
        if (gnti_is_product(n) || n->op == GNTI_IR_EXCHANGE || n->op == GNTI_IR_SUM_RANKS)
            assert_int_equal(n->run, 0);
    }
    assert_true(norms == 2 && products >= 2 && sliced >= 2);
    gnti_program_free(&p);
    gnt_model_free(&model);
    gnt_context_free(&ctx);
}

/* The work of ops is what a stream counts: values that members share once a slice. */
static void test_work(void **state)
{
    gnt_context *ctx = make_context(false);
    const gnti_cost_device dev = gnti_cost_device_default(2);
    nn_data d;

    (void)state;
    nn_data_make(&d, 51, 300, 900, 12, 4, true, false);
    for (int32_t slice = 1; slice <= 3; slice++) {
        const nn_setup s = { .ctx = ctx,
                             .data = &d,
                             .text = "gcn:20:dropout=0.4, gcn",
                             .members = 5,
                             .block_members = 1,
                             .slice_members = slice,
                             .disabled = GNTI_PASS_LOSS_ROWS };
        gnti_op_counter counters[GNTI_OP_NUM_KINDS];
        double flops = 0.0, bytes = 0.0, want_flops = 0.0, want_bytes = 0.0;
        nn_case c;

        nn_case_make(&s, &c);
        nn_case_fill(&c, false, 1.0f);
        gnti_stream_counters_reset(c.program->stream);
        nn_case_run(&c, 0, 0.0f, seeds, NULL);
        gnti_stream_counters(c.program->stream, counters);
        for (int k = 0; k < GNTI_OP_NUM_KINDS; k++) {
            flops += counters[k].flops;
            bytes += counters[k].bytes;
        }
        for (int64_t i = 0; i < c.program->ir.num_nodes; i++) {
            gnti_op_kind kind;
            const gnti_node *n = &c.program->ir.nodes[i];

            if (n->hoisted)
                continue;
            want_flops += gnti_node_cost(c.program, n, NULL, &dev, &kind).flops;
            want_bytes += gnti_node_cost(c.program, n, NULL, &dev, &kind).bytes;
        }
        assert_true(c.program->slices.members == slice);
        assert_true(fabs(flops / want_flops - 1.0) <= 1e-6);
        assert_true(fabs(bytes / want_bytes - 1.0) <= 1e-6);
        nn_case_free(&c);
    }
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models), cmocka_unit_test(test_random_tapes), cmocka_unit_test(test_chains),
        cmocka_unit_test(test_parts),  cmocka_unit_test(test_choice),       cmocka_unit_test(test_memory),
        cmocka_unit_test(test_talks),  cmocka_unit_test(test_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
