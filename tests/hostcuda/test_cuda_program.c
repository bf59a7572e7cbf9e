/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Whole programs on the CUDA back end, on the stand-in: losses and weights are the processor's, a captured step has the bits of
 * one that is not, costs one launch, sends what changed of the step block and brings nothing back until statistics are asked for.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/support/nn_case.h"
#include "tests/support/nn_random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 60, ARCS = 260, WIDTH = 12, CLASSES = 4, STEPS = 6, MAX_WEIGHTS = 40000, MAX_MEMBERS = 8 };

static const char *const texts[] = { "gcn:16:dropout=0.5:norm=batch, linear",
                                     "sage:16:norm=layer, sage:8, linear",
                                     "gat:4:heads=2:dropout=0.3, linear",
                                     "sage:8:aggregate=max, gcn:6, linear",
                                     "random:7:seed=3, random:5:seed=11, linear" };
enum { NUM_TEXTS = sizeof texts / sizeof *texts };

typedef struct trace {
    double loss[STEPS][MAX_MEMBERS];
    int64_t num_weights;
    float weights[MAX_WEIGHTS];
} trace;

static gnt_context *open_context(const char *text)
{
    gnt_context *ctx = NULL;

    gnt_assert_ok(gnt_context_create(text, &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_random_layer));
    return ctx;
}

static void set_step(nn_case *c, int64_t step)
{
    for (int32_t m = 0; m < c->members; m++) {
        gnt_assert_ok(gnti_program_set_hyper(c->program, c->lr, m, 0.01f + 0.001f * (float)m));
        gnt_assert_ok(gnti_program_set_hyper(c->program, c->corr1, m, 1.0f - powf(0.9f, (float)step + 1.0f)));
        gnt_assert_ok(
            gnti_program_set_hyper(c->program, c->corr2, m, 1.0f - powf(0.999f, (float)step + 1.0f)));
        gnt_assert_ok(gnti_program_set_hyper(c->program, gnti_program_loss_norm(c->program), m, c->norm));
    }
}

static void run(nn_case *c, int64_t step)
{
    set_step(c, step);
    gnt_assert_ok(gnti_program_run(c->program, &(gnti_step){ .step = step }));
}

static void record(nn_case *c, trace *t)
{
    double stats[MAX_MEMBERS][4];

    for (int64_t step = 0; step < STEPS; step++) {
        run(c, step);
        gnt_assert_ok(gnti_program_stats(c->program, stats[0], NULL));
        for (int32_t m = 0; m < c->members; m++)
            t->loss[step][m] = stats[m][0] / stats[m][1];
    }
    t->num_weights = 0;
    for (int32_t m = 0; m < c->members; m++) {
        assert_true(t->num_weights + 4000 < MAX_WEIGHTS);
        t->num_weights += nn_case_weights(c, m, t->weights + t->num_weights);
    }
}

/* A whole run of a model on a device. */
static void run_model(const char *context, const nn_data *d, const char *text, int32_t members,
                      uint32_t disabled, trace *t)
{
    gnt_context *ctx = open_context(context);
    const nn_setup s = { .ctx = ctx,
                         .data = d,
                         .text = text,
                         .members = members,
                         .disabled = disabled,
                         .optimizer = GNT_OPTIMIZER_ADAM };
    nn_case c;

    nn_case_make(&s, &c);
    nn_case_fill(&c, false, 1.0f);
    record(&c, t);
    nn_case_free(&c);
    gnt_context_free(&ctx);
}

static void compare(const trace *a, const trace *b, int32_t members, const char *text)
{
    for (int step = 0; step < STEPS; step++)
        for (int32_t m = 0; m < members; m++)
            if (!(fabs(a->loss[step][m] - b->loss[step][m]) <= 1e-5 * fabs(b->loss[step][m])))
                fail_msg("%s: loss of step %d, member %d is %.9g, the processor's %.9g", text, step, (int)m,
                         a->loss[step][m], b->loss[step][m]);
    assert_int_equal(a->num_weights, b->num_weights);
}

static void test_as_on_the_processor(void **state)
{
    nn_data d;
    trace *gpu = NULL, *cpu = NULL;

    (void)state;
    gnt_assert_ok(gnti_calloc_array(&gpu, 1));
    gnt_assert_ok(gnti_calloc_array(&cpu, 1));
    nn_data_make(&d, 5, NODES, ARCS, WIDTH, CLASSES, true, false);
    for (int i = 0; i < NUM_TEXTS; i++)
        for (int32_t members = 1; members <= 3; members += 2) {
            cuda_case_reset("256M", i + 1, NULL);
            run_model("device=cuda", &d, texts[i], members, 0, gpu);
            run_model("device=cpu;threads=1", &d, texts[i], members, 0, cpu);
            compare(gpu, cpu, members, texts[i]);
        }
    nn_data_free(&d);
    gnti_free(gpu);
    gnti_free(cpu);
}

static void test_capture_keeps_bits(void **state)
{
    nn_data d;
    trace *on = NULL, *off = NULL;

    (void)state;
    gnt_assert_ok(gnti_calloc_array(&on, 1));
    gnt_assert_ok(gnti_calloc_array(&off, 1));
    nn_data_make(&d, 6, NODES, ARCS, WIDTH, CLASSES, false, false);
    for (int i = 0; i < NUM_TEXTS; i++) {
        cuda_case_reset("256M", 20 + i, NULL);
        run_model("device=cuda", &d, texts[i], 2, 0, on);
        run_model("device=cuda", &d, texts[i], 2, GNTI_PASS_CAPTURE, off);
        assert_memory_equal(on->loss, off->loss, sizeof on->loss);
        gnt_assert_same_bits(on->weights, off->weights, on->num_weights);
    }
    nn_data_free(&d);
    gnti_free(on);
    gnti_free(off);
}

#ifndef GNT_CASE_ON_DEVICE /* the stand-in counts */
/* From the third step on: one launch, few bytes up, none down. */
static void count_steps(const nn_data *d, int32_t members)
{
    gnt_context *ctx = open_context("device=cuda");
    const nn_setup s = {
        .ctx = ctx, .data = d, .text = texts[0], .members = members, .optimizer = GNT_OPTIMIZER_ADAM
    };
    hostcuda_counts before, after;
    double stats[MAX_MEMBERS * 4];
    int32_t bad[MAX_MEMBERS];
    nn_case c;

    nn_case_make(&s, &c);
    nn_case_fill(&c, false, 1.0f);
    run(&c, 0);
    run(&c, 1);
    for (int64_t step = 2; step < STEPS; step++) {
        hostcuda_get_counts(&before);
        run(&c, step);
        hostcuda_get_counts(&after);
        assert_int_equal(after.launches, before.launches);
        assert_int_equal(after.graph_launches, before.graph_launches + 1);
        assert_true(after.upload_bytes - before.upload_bytes <= 64 + 32 * members);
        assert_int_equal(after.downloads, before.downloads);
        assert_int_equal(after.allocations, before.allocations);
    }
    gnt_assert_ok(gnti_program_stats(c.program, stats, bad));
    hostcuda_get_counts(&before);
    assert_true(before.downloads - after.downloads <=
                3); /* statistics, bad gradients, the record of faults */
    nn_case_free(&c);
    gnt_context_free(&ctx);
}

static void test_counts(void **state)
{
    nn_data d;

    (void)state;
    nn_data_make(&d, 7, NODES, ARCS, WIDTH, CLASSES, true, false);
    for (int32_t members = 1; members <= MAX_MEMBERS; members *= 2) {
        cuda_case_reset("256M", 40, NULL);
        count_steps(&d, members);
    }
    nn_data_free(&d);
}
#endif

/* Other data of the same and of another size: the old capture is dropped, a new one has the right bits. */
static void rebind_way(const nn_data d[2], uint32_t disabled, trace *t)
{
    gnt_context *ctx = open_context("device=cuda");
    const nn_setup s = {
        .ctx = ctx, .data = &d[0], .text = texts[0], .disabled = disabled, .optimizer = GNT_OPTIMIZER_ADAM
    };
    nn_case c;

    nn_case_make(&s, &c);
    nn_case_fill(&c, false, 1.0f);
    record(&c, t);
    for (int i = 1; i >= 0; i--) {
        const gnti_operator *ops[2] = { d[i].op, d[i].op };
        const gnti_batch batch = { .adj = ops, .x = &d[i].x, .labels = d[i].labels, .weight = d[i].weight };

        gnt_assert_ok(gnti_program_bind(c.program, &batch));
        record(&c, t);
    }
    nn_case_free(&c);
    gnt_context_free(&ctx);
}

static void test_rebinding(void **state)
{
    nn_data d[2];
    trace *on = NULL, *off = NULL;

    (void)state;
    gnt_assert_ok(gnti_calloc_array(&on, 1));
    gnt_assert_ok(gnti_calloc_array(&off, 1));
    nn_data_make(&d[0], 8, NODES, ARCS, WIDTH, CLASSES, true, false);
    nn_data_make(&d[1], 9, 2 * NODES, 2 * ARCS, WIDTH, CLASSES, true, false);
    cuda_case_reset("256M", 50, NULL);
    rebind_way(d, 0, on);
    rebind_way(d, GNTI_PASS_CAPTURE, off);
    assert_memory_equal(on->loss, off->loss, sizeof on->loss);
    gnt_assert_same_bits(on->weights, off->weights, on->num_weights);
    nn_data_free(&d[0]);
    nn_data_free(&d[1]);
    gnti_free(on);
    gnti_free(off);
}

static void test_explained(void **state)
{
    nn_data d;
    char *text = NULL;
    nn_case c;
    gnt_context *ctx;

    (void)state;
    cuda_case_reset("256M", 60, NULL);
    ctx = open_context("device=cuda");
    nn_data_make(&d, 10, NODES, ARCS, WIDTH, CLASSES, true, false);
    nn_case_make(&(nn_setup){ .ctx = ctx, .data = &d, .text = texts[1], .optimizer = GNT_OPTIMIZER_ADAM },
                 &c);
    run(&c, 0);
    run(&c, 1);
    gnt_assert_ok(gnti_program_explain(c.program, false, &text));
    assert_non_null(strstr(text, "capture"));
    assert_non_null(strstr(text, "ops are one launch"));
    gnti_free(text);
    nn_case_free(&c);
    nn_data_free(&d);
    gnt_context_free(&ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_on_the_processor),
        cmocka_unit_test(test_capture_keeps_bits),
#ifndef GNT_CASE_ON_DEVICE
        cmocka_unit_test(test_counts),
#endif
        cmocka_unit_test(test_rebinding),
        cmocka_unit_test(test_explained),
    };

    return cuda_case_run(tests);
}
