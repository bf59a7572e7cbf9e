/* SPDX-License-Identifier: Apache-2.0 */
/* labels: medium
 * The forecast of a step against the virtual clock, on graphs, models and devices that nothing was tuned for: hidden speeds, separate
 * for sparse and dense products, 5 % noise; seconds of each rank and of the step within 10 %. And its bytes against what the
 * devices' allocators have handed out.
 */
#include "tests/support/train_case.h"

#include <gnntrain/experimental.h>

#include "base/option.h"
#include "train/trainer_state.h"

#include <math.h>
#include <stdio.h>

enum { EPOCHS = 30 };
#define ALLOWED 0.10

typedef struct scene {
    const char *kind; /* of the graph */
    int64_t nodes, features, degree;
    const char *model, *devices;
    double dropout;
    int32_t seeds, strategy;
} scene;

static const scene scenes[] = {
    { "csbm", 6000, 48, 8, "gcn:64, gcn", "cpu:clock=virtual,speed=2;cpu:clock=virtual", 0.0, 1, 0 },
    { "csbm", 6000, 20, 30, "gcn:16, gcn:16, gcn",
      "cpu:clock=virtual,spmm=0.3;cpu:clock=virtual,gemm=0.2;cpu:clock=virtual,speed=3", 0.5, 1, 0 },
    { "csbm", 5000, 64, 6, "sage:96, sage",
      "cpu:clock=virtual,flops=4e9,bandwidth=1e9,latency=1e-5;cpu:clock=virtual,bytes=2e9,bandwidth=1e9,"
      "latency=1e-5",
      0.2, 1, 0 },
    { "csbm", 4000, 32, 12, "gat:8:heads=4, gat", "cpu:clock=virtual,speed=0.5;cpu:clock=virtual,spmm=0.7",
      0.0, 1, 0 },
    { "csbm", 4000, 40, 10, "gcn:32:norm=batch, gcn:32:norm=layer, gcn",
      "cpu:clock=virtual;cpu:clock=virtual,speed=4,gemm=0.5;cpu:clock=virtual,speed=2", 0.3, 3, 0 },
    { "grid", 6400, 24, 4, "linear:48, gcn",
      "cpu:clock=virtual,bandwidth=2e7,latency=1e-4;cpu:clock=virtual,speed=0.25,bandwidth=2e7,latency=1e-4",
      0.0, 1, 0 },
    { "csbm", 4000, 40, 10, "gcn:32, gcn", "cpu:clock=virtual,flops=2e8,bytes=1e12;cpu:clock=virtual,speed=2",
      0.0, 1, 0 },
};

typedef struct stage {
    gnt_context *ctx;
    gnt_dataset *data;
    gnt_model *model;
    gnt_trainer *tr;
} stage;

static void stage_open(const scene *s, stage *out)
{
    const bool grid = s->kind[0] == 'g';
    gntx_generate_options g;
    gnt_model_config mc;
    gnt_trainer_config tc;

    gnt_assert_ok(gntx_options_defaults(gntx_generate_option_table(), &g));
    g.features = s->features;
    g.classes = 5;
    if (!grid) {
        g.nodes = s->nodes;
        g.degree = (double)s->degree;
    } else {
        g.rows = g.columns = (int64_t)sqrt((double)s->nodes);
    }
    gnt_assert_ok(gnt_context_create("threads=1", &out->ctx));
    gnt_assert_ok(gntx_generate(out->ctx, s->kind, &g, &out->data, NULL));
    gnt_model_config_init(&mc);
    mc.dropout = s->dropout;
    gnt_assert_ok(gnt_model_create_with(out->data, s->model, &mc, &out->model));
    gnt_trainer_config_init(&tc);
    tc.epochs = EPOCHS;
    tc.eval_every = EPOCHS;
    tc.devices = s->devices;
    tc.chunks = 32;
    tc.seeds = s->seeds;
    tc.strategy = s->strategy;
    gnt_assert_ok(gnt_trainer_create(out->model, out->data, &tc, &out->tr));
}

static void stage_close(stage *s)
{
    gnt_trainer_free(&s->tr);
    gnt_model_free(&s->model);
    gnt_dataset_free(&s->data);
    gnt_context_free(&s->ctx);
}

static gnti_load load_of(const gnt_trainer *tr, int32_t rank)
{
    const gnti_local_data *rows = gnti_ranks_at(tr->ranks, rank)->rows;
    const gnti_graph *g = rows->part->op->forward;

    return (gnti_load){ .rows = (double)rows->num_own,
                        .halo_rows = (double)rows->part->forward->num_halo,
                        .arcs_in = (double)g->num_arcs,
                        .arcs_out = (double)g->num_arcs,
                        .num_peers = rows->part->forward->num_peers,
                        .num_ranks = tr->job.place.size };
}

/* What a rank's allocator has handed out, told within 2 % and 4 KiB, for each rank. */
static void check_bytes(gnt_trainer *tr, const gnti_load *loads)
{
    for (int32_t r = 0; r < tr->job.place.size; r++) {
        const double took = (double)tr->rank_counts[4 * r + 3];
        gnti_forecast_bytes bytes;

        gnt_assert_ok(gnti_forecast_memory(tr->job.forecast, &loads[r], &bytes));
        print_message("  rank %d: told %.1f KiB on the device, took %.1f\n", (int)r,
                      (double)bytes.device / 1024.0, took / 1024.0);
        assert_true(fabs((double)bytes.device - took) <= 0.02 * took + 4096.0);
    }
}

/* Largest error of a rank's compute and of the step. */
static double error_of(const scene *sc)
{
    stage s = { 0 };
    gnt_epoch_stats e = { .struct_size = sizeof e };
    double compute[8] = { 0 }, step = 0.0, worst = 0.0, told = 0.0, most_halo = 0.0, most_rows = 0.0;
    gnti_load loads[8];
    bool apart;
    gnti_link link;

    stage_open(sc, &s);
    for (int i = 0; i < EPOCHS; i++) {
        assert_true(gnt_trainer_next(s.tr, &e));
        step += e.virtual_seconds / EPOCHS;
        for (int32_t r = 0; r < s.tr->job.place.size; r++)
            compute[r] += s.tr->rank_seconds[r] / EPOCHS;
    }
    link = gnti_job_link(&s.tr->job, &apart);
    for (int32_t r = 0; r < s.tr->job.place.size; r++) {
        loads[r] = load_of(s.tr, r);
        most_halo = fmax(most_halo, loads[r].halo_rows);
        most_rows = fmax(most_rows, loads[r].rows);
    }
    for (int32_t r = 0; r < s.tr->job.place.size; r++) {
        double seconds;

        loads[r].most_halo = most_halo;
        loads[r].most_rows = most_rows;
        seconds = gnti_forecast_compute(s.tr->job.forecast, &loads[r], &s.tr->job.rates[r]);
        print_message("  rank %d: %.0f rows, %.0f halo, told %.3f ms, took %.3f\n", (int)r, loads[r].rows,
                      loads[r].halo_rows, 1e3 * seconds, 1e3 * compute[r]);
        if (loads[r].rows > 0.0) /* a rank without rows has microseconds */
            worst = fmax(worst, fabs(seconds / compute[r] - 1.0));
    }
    told = gnti_forecast_step(s.tr->job.forecast, loads, s.tr->job.rates, s.tr->job.place.size, &link, apart);
    print_message("%s on %s: step told %.3f ms, took %.3f\n", sc->model, sc->kind, 1e3 * told, 1e3 * step);
    worst = fmax(worst, fabs(told / step - 1.0));
    check_bytes(s.tr, loads);
    stage_close(&s);
    return worst;
}

static void test_seconds(void **state)
{
    double worst = 0.0;

    (void)state;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        const double error = error_of(&scenes[i]);

        print_message("  error %.3f\n", error);
        worst = fmax(worst, error);
    }
    print_message("largest error of a forecast: %.1f %%\n", 100.0 * worst);
    assert_true(worst <= ALLOWED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
