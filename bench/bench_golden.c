/* SPDX-License-Identifier: Apache-2.0 */
/* Our values beside the golden numbers of other tools: one JSON object with loss, logits and gradients.
 *
 *   bench_golden FILE.h5 MODEL [--hidden N] [--threads T] [--normalize 0|1]
 *                [--steps N --optimizer adam|sgd --lr X --decay X]
 *
 * Parameter p (from 0), index k starts at (h + 0.5) / 2^32 - 0.5 with h the hash of k and p that the golden files state. Without
 * --steps the learning rate is 0 and one step gives logits, loss and every gradient; with it the loss before each of N steps of
 * Adam, or of SGD with momentum 0.9, weight decay on the weights of layer 1. gcn_weighted puts the weight 1 + (u + v) mod 3 / 2
 * on the arc from u to v.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "bench/golden_models.h"
#include "bench/harness.h"
#include "datasets/dataset.h"
#include "nn/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct golden {
    gnt_context *ctx;
    gnt_dataset *data;
    gnt_model *model;
    gnti_params *params;
    gnti_operator *op;
    gnti_program *program;
    gnt_hyper lr, corr1, corr2;
    float *loss_weight, *floats;
    int64_t steps;
    bool adam;
    float rate, decay;
} golden;

static float start_value(int32_t parameter, int64_t index)
{
    uint32_t h = (uint32_t)index + UINT32_C(0x9E3779B9) * ((uint32_t)parameter + 1);

    h ^= h >> 16;
    h *= UINT32_C(0x7feb352d);
    h ^= h >> 15;
    h *= UINT32_C(0x846ca68b);
    h ^= h >> 16;
    return (float)((h + 0.5) / 4294967296.0 - 0.5);
}

static gnt_status weigh_arcs(gnti_graph *g)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_alloc_array(&g->weights, g->num_arcs));
    for (int64_t u = 0; u < g->num_rows; u++)
        for (int64_t e = g->offsets[u]; e < g->offsets[u + 1]; e++)
            g->weights[e] = 1.0f + 0.5f * (float)((u + g->columns[e]) % 3);
done:
    return st;
}

/* Each row divided by its sum. */
static gnt_status normalise_rows(gnti_features *x)
{
    gnt_status st = GNT_OK;
    gnti_graph *s = x->sparse;

    if (s != NULL && s->weights == NULL) {
        GNT_TRY(gnti_alloc_array(&s->weights, s->num_arcs));
        for (int64_t e = 0; e < s->num_arcs; e++)
            s->weights[e] = 1.0f;
    }
    for (int64_t r = 0; r < x->rows; r++) {
        float *row = s != NULL ? s->weights + s->offsets[r] : x->dense + r * x->width;
        const int64_t count = s != NULL ? s->offsets[r + 1] - s->offsets[r] : x->width;
        double sum = 0;

        for (int64_t c = 0; c < count; c++)
            sum += row[c];
        for (int64_t c = 0; c < count && sum != 0; c++)
            row[c] = (float)(row[c] / sum);
    }
done:
    return st;
}

static gnt_status open_inputs(golden *g, const char *path, const char *name, int hidden, bool normalise)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    char text[64];

    GNT_CHECK(golden_text(name, hidden, text, sizeof text), GNT_ERR_USAGE, "no golden model '%s'", name);
    GNT_TRY(golden_register(g->ctx));
    GNT_TRY(gnt_dataset_open(g->ctx, path, &g->data));
    if (strcmp(name, "gcn_weighted") == 0)
        GNT_TRY(weigh_arcs(g->data->graph));
    if (normalise)
        GNT_TRY(normalise_rows(&g->data->x));
    GNT_TRY(gnti_operator_create(g->data->graph, &g->op));
    GNT_TRY(gnt_model_create(g->data, text, &g->model));
    GNT_TRY(gnti_dataset_find_split(g->data, NULL, &split));
    GNT_TRY(gnti_calloc_array(&g->loss_weight, g->data->num_nodes));
    for (int64_t i = 0; i < split->num_nodes[GNTI_TRAIN]; i++)
        g->loss_weight[split->nodes[GNTI_TRAIN][i]] = 1.0f;
done:
    return st;
}

static gnt_status make_params(golden *g)
{
    gnt_status st = GNT_OK;
    gnti_params *p = NULL;

    GNT_TRY(gnti_params_create(g->model, gnti_context_device(g->ctx), 1, 2, &g->params));
    p = g->params;
    GNT_TRY(gnti_calloc_array(&g->floats, gnti_params_num_floats(p)));
    for (int32_t i = 0; i < gnti_params_count(p); i++) {
        const gnti_param_info *info = gnti_params_info(p, i);

        for (int64_t k = 0; k < info->in * info->out; k++)
            g->floats[info->offset + k] = start_value(i, k);
    }
    GNT_TRY(gnti_params_write(p, GNTI_BLOCK_WEIGHTS, g->floats));
done:
    return st;
}

static gnt_status make_program(golden *g)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;
    gnti_inputs in = { 0 };
    const gnti_loss_config loss_config = { .kind = GNT_LOSS_SOFTMAX };
    const gnti_decay_rule rule = { .layer = 1, .kind = GNTI_PARAM_WEIGHT, .value = g->decay };
    const gnti_update_config update = {
        .kind = g->adam ? GNT_OPTIMIZER_ADAM : GNT_OPTIMIZER_SGD,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8,
        .rules = &rule,
        .num_rules = g->decay > 0 ? 1 : 0,
    };
    const gnti_plan_config plan = { .row_capacity = g->data->num_nodes,
                                    .expected_arcs = g->data->graph->num_arcs };

    GNT_TRY(gnti_tape_create(g->ctx, 1, true, &t));
    gnti_record_inputs(t, g->model, true, g->data->x.sparse != NULL, &in);
    const gnt_var logits = gnt_model_record(g->model, t, in.adj, in.x);
    const gnt_var loss = gnti_record_loss(t, logits, &loss_config);

    gnti_tape_keep(t, logits);
    gnti_record_update(t, loss, &update);
    g->lr = gnti_tape_hyper(t, "lr", 0.0);
    g->corr1 = gnti_tape_hyper(t, "corr1", 1.0);
    g->corr2 = gnti_tape_hyper(t, "corr2", 1.0);
    const gnt_hyper norm = gnti_tape_hyper(t, "loss-norm", 1.0);

    GNT_TRY(gnti_plan_program(t, g->model, &plan, gnti_context_device(g->ctx), g->params, &g->program));
    double sum = 0;
    for (int64_t i = 0; i < g->data->num_nodes; i++)
        sum += g->loss_weight[i];
    GNT_TRY(gnti_program_set_hyper(g->program, norm, 0, (float)(1.0 / sum)));
done:
    gnti_tape_free(&t);
    return st;
}

static gnt_status bind_inputs(golden *g)
{
    gnt_status st = GNT_OK;
    const gnti_operator **adj = NULL;
    const int32_t layers = gnt_model_num_layers(g->model);

    GNT_TRY(gnti_calloc_array(&adj, layers));
    for (int32_t i = 0; i < layers; i++)
        adj[i] = g->op;
    const gnti_batch batch = {
        .adj = adj, .x = &g->data->x, .labels = g->data->y.class_of, .weight = g->loss_weight
    };
    GNT_TRY(gnti_program_bind(g->program, &batch));
done:
    gnti_free(adj);
    return st;
}

/* One step; answers the loss before it. */
static gnt_status step(golden *g, int64_t number, double *out_loss)
{
    gnt_status st = GNT_OK;
    const uint64_t seed = 1;
    const uint8_t live = 1;
    const gnti_step s = { .step = number, .seeds = &seed, .live = &live };
    double stats[4];
    int32_t bad;

    GNT_TRY(gnti_program_set_hyper(g->program, g->lr, 0, g->steps > 0 ? g->rate : 0.0f));
    GNT_TRY(gnti_program_set_hyper(g->program, g->corr1, 0, (float)(1.0 - pow(0.9, (double)number + 1))));
    GNT_TRY(gnti_program_set_hyper(g->program, g->corr2, 0, (float)(1.0 - pow(0.999, (double)number + 1))));
    GNT_TRY(gnti_program_run(g->program, &s));
    GNT_TRY(gnti_program_stats(g->program, stats, &bad));
    *out_loss = stats[0] / stats[1];
done:
    return st;
}

static void print_floats(const char *name, const float *values, int64_t count)
{
    printf("\"%s\": [", name);
    for (int64_t i = 0; i < count; i++)
        printf("%s%.9g", i > 0 ? ", " : "", (double)values[i]);
    printf("]");
}

static gnt_status print_values(golden *g)
{
    gnt_status st = GNT_OK;
    const int64_t count = g->data->num_nodes * gnti_model_out_width(g->model);
    float *logits = NULL;
    double loss = NAN;

    GNT_TRY(step(g, 0, &loss));
    GNT_TRY(gnti_alloc_array(&logits, count));
    GNT_TRY(gnti_program_read_logits(g->program, 0, logits));
    GNT_TRY(gnti_params_read(g->params, GNTI_BLOCK_GRADS, g->floats));
    printf("{\"loss\": %.17g, ", loss);
    print_floats("logits", logits, count);
    printf(", \"gradients\": {");
    for (int32_t i = 0; i < gnti_params_count(g->params); i++) {
        const gnti_param_info *info = gnti_params_info(g->params, i);

        printf("%s", i > 0 ? ", " : "");
        print_floats(info->name, g->floats + info->offset, info->in * info->out);
    }
    printf("}}\n");
done:
    gnti_free(logits);
    return st;
}

static gnt_status print_losses(golden *g)
{
    gnt_status st = GNT_OK;
    double loss = NAN;

    printf("{\"losses\": [");
    for (int64_t i = 0; i < g->steps; i++) {
        GNT_TRY(step(g, i, &loss));
        printf("%s%.17g", i > 0 ? ", " : "", loss);
    }
    printf("]}\n");
done:
    return st;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    golden g = { 0 };
    char settings[32];

    if (argc < 3) {
        fprintf(stderr, "usage: bench_golden FILE.h5 MODEL [--hidden N] [--steps N ...]\n");
        return 2;
    }
    g.steps = bench_option(argc, argv, "steps", 0, 0, 100000);
    g.adam = strcmp(bench_text(argc, argv, "optimizer", "adam"), "adam") == 0;
    g.rate = strtof(bench_text(argc, argv, "lr", "0.01"), NULL);
    g.decay = strtof(bench_text(argc, argv, "decay", "0"), NULL);
    snprintf(settings, sizeof settings, "threads=%d", (int)bench_option(argc, argv, "threads", 2, 1, 1024));
    GNT_TRY(gnt_context_create(settings, &g.ctx));
    GNT_TRY(open_inputs(&g, argv[1], argv[2], (int)bench_option(argc, argv, "hidden", 16, 1, 4096),
                        bench_option(argc, argv, "normalize", 0, 0, 1) != 0));
    GNT_TRY(make_params(&g));
    GNT_TRY(make_program(&g));
    GNT_TRY(bind_inputs(&g));
    GNT_TRY(g.steps > 0 ? print_losses(&g) : print_values(&g));
done:
    if (st != GNT_OK)
        fprintf(stderr, "bench_golden: %s\n", gnt_last_error());
    gnti_program_free(&g.program);
    gnti_params_free(&g.params);
    gnt_model_free(&g.model);
    gnti_operator_free(&g.op);
    gnti_free(g.loss_weight);
    gnti_free(g.floats);
    gnt_dataset_free(&g.data);
    gnt_context_free(&g.ctx);
    return st == GNT_OK ? 0 : 1;
}
