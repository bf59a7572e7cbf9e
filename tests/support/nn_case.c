/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded model with data of its own, bound and run: what tests of nn/ start from. */
#include "nn_case.h"

#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t draw(uint64_t seed, uint32_t i, uint32_t what)
{
    return gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, what, 0, i, 0);
}

void nn_data_from_arcs(nn_data *d, int64_t num_nodes, const gnti_arc_list *arcs, bool symmetrise,
                       int64_t width, int64_t classes)
{
    const gnti_build_options options = { .symmetrise = symmetrise, .duplicates = GNTI_DUPLICATES_FIRST };
    gnti_build_report report;

    memset(d, 0, sizeof *d);
    d->num_nodes = num_nodes;
    d->width = width;
    d->classes = classes;
    gnt_assert_ok(gnti_graph_build(num_nodes, arcs, &options, &report, NULL, &d->sources));
    gnt_assert_ok(gnti_operator_create(d->sources, &d->op));
    gnt_assert_ok(gnti_calloc_array(&d->dense, num_nodes * width + 1));
    gnt_assert_ok(gnti_calloc_array(&d->labels, num_nodes + 1));
    gnt_assert_ok(gnti_calloc_array(&d->weight, num_nodes + 1));
    d->x = (gnti_features){ .rows = num_nodes, .width = width, .dense = d->dense, .borrowed = true };
}

void nn_data_make(nn_data *d, uint64_t seed, int64_t num_nodes, int64_t num_arcs, int64_t width,
                  int64_t classes, bool symmetric, bool weighted)
{
    gnti_arc_list arcs = { .num_arcs = num_arcs };

    gnt_assert_ok(gnti_alloc_array(&arcs.source, num_arcs + 1));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, num_arcs + 1));
    if (weighted)
        gnt_assert_ok(gnti_alloc_array(&arcs.weight, num_arcs + 1));
    for (int64_t i = 0; i < num_arcs; i++) {
        /* the last node stays isolated */
        arcs.source[i] =
            gnti_below(draw(seed, (uint32_t)i, 0), (uint32_t)(num_nodes > 1 ? num_nodes - 1 : 1));
        arcs.target[i] =
            gnti_below(draw(seed, (uint32_t)i, 1), (uint32_t)(num_nodes > 1 ? num_nodes - 1 : 1));
        if (weighted) /* symmetric in its ends */
            arcs.weight[i] = 0.5f + (float)((arcs.source[i] + arcs.target[i]) % 3) * 0.25f;
    }
    nn_data_from_arcs(d, num_nodes, &arcs, symmetric, width, classes);
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    gnti_free(arcs.weight);
    for (int64_t i = 0; i < num_nodes * width; i++) {
        const uint32_t w = draw(seed, (uint32_t)i, 2);

        d->dense[i] = w % 3 == 0 ? 2.0f * gnti_uniform(w) - 1.0f : 0.0f;
    }
    for (int64_t i = 0; i < num_nodes; i++) {
        d->labels[i] = (int32_t)gnti_below(draw(seed, (uint32_t)i, 3), (uint32_t)classes);
        d->weight[i] = draw(seed, (uint32_t)i, 4) % 3 != 0 ? 1.0f : 0.0f;
    }
    d->weight[0] = 1.0f;
}

void nn_data_set_sparse(nn_data *d)
{
    int64_t count = 0;
    gnti_graph *g = NULL;

    for (int64_t i = 0; i < d->num_nodes * d->width; i++)
        count += d->dense[i] != 0.0f;
    gnt_assert_ok(gnti_graph_alloc(d->num_nodes, d->width, count, true, &g));
    count = 0;
    for (int64_t r = 0; r < d->num_nodes; r++) {
        g->offsets[r] = count;
        for (int64_t c = 0; c < d->width; c++)
            if (d->dense[r * d->width + c] != 0.0f) {
                g->columns[count] = (int32_t)c;
                g->weights[count++] = d->dense[r * d->width + c];
            }
    }
    g->offsets[d->num_nodes] = count;
    gnti_graph_free(&d->sparse);
    d->sparse = g;
}

void nn_data_free(nn_data *d)
{
    gnti_operator_free(&d->op);
    gnti_graph_free(&d->sources);
    gnti_graph_free(&d->sparse);
    gnti_free(d->dense);
    gnti_free(d->labels);
    gnti_free(d->weight);
    memset(d, 0, sizeof *d);
}

static void record(const nn_setup *s, nn_case *c, gnt_tape *t)
{
    gnti_inputs in = { 0 };
    gnti_loss_config loss = { .kind = GNT_LOSS_SOFTMAX, .weight_per_member = s->member_weight != NULL };
    const gnti_decay_rule rule = { 1, -1, (double)s->decay_first };
    gnti_update_config update = { .kind = s->optimizer,
                                  .beta1 = 0.9,
                                  .beta2 = 0.999,
                                  .eps = 1e-8,
                                  .rules = &rule,
                                  .num_rules = s->decay_first > 0.0f };
    gnt_var z, l;

    gnti_record_inputs(t, c->model, !s->blocks, s->sparse, &in);
    z = gnt_model_record(c->model, t, in.adj, in.x);
    if (s->keep_logits)
        gnti_tape_keep(t, z);
    l = gnti_record_loss(t, z, &loss);
    if (!s->evaluation)
        gnti_record_update(t, l, &update);
    c->lr = gnti_tape_hyper(t, "lr", 0.0);
    c->corr1 = gnti_tape_hyper(t, "corr1", 1.0);
    c->corr2 = gnti_tape_hyper(t, "corr2", 1.0);
}

static void bind(const nn_setup *s, nn_case *c)
{
    const int32_t layers = gnt_model_num_layers(c->model);
    const gnti_operator *ops[64];
    gnti_features sparse = { 0 };
    gnti_batch batch = { .part = s->part,
                         .adj = s->ops != NULL ? s->ops : ops,
                         .x = s->x != NULL ? s->x : &s->data->x,
                         .labels = s->labels != NULL ? s->labels : s->data->labels,
                         .weight = s->member_weight != NULL ? s->member_weight
                                   : s->weight != NULL      ? s->weight
                                                            : s->data->weight };
    double sum = 0.0;

    for (int32_t l = 0; l < layers && l < 64; l++)
        ops[l] = s->part != NULL ? s->part->op : s->data->op;
    c->rows = s->ops != NULL ? s->ops[layers - 1]->num_dst : s->data->num_nodes;
    if (s->sparse) {
        sparse = (gnti_features){
            .rows = s->data->num_nodes, .width = s->data->width, .sparse = s->data->sparse, .borrowed = true
        };
        batch.x = &sparse;
    }
    for (int64_t r = 0; r < c->rows; r++)
        sum += (double)batch.weight[r];
    c->norm = (float)(1.0 / (s->weight_sum > 0.0 ? s->weight_sum : sum));
    gnt_assert_ok(gnti_program_bind(c->program, &batch));
}

void nn_case_make(const nn_setup *s, nn_case *c)
{
    gnt_tape *t = NULL;
    const gnti_plan_config plan = { .dist = s->dist,
                                    .disabled_passes = s->disabled,
                                    .block_members = s->block_members,
                                    .slice_members = s->slice_members,
                                    .batches = s->batches };

    memset(c, 0, sizeof *c);
    c->members = s->members > 0 ? s->members : 1;
    c->classes = s->data->classes;
    gnt_assert_ok(gnti_model_create_for(s->ctx, s->data->width, s->data->classes, GNT_LABELS_CLASS, s->text,
                                        s->config, &c->model));
    gnt_assert_ok(gnti_params_create(c->model, gnti_context_device(s->ctx), c->members, 2, &c->params));
    gnt_assert_ok(gnti_tape_create(s->ctx, c->members, !s->evaluation, &t));
    record(s, c, t);
    gnt_assert_ok(gnti_plan_program(t, c->model, &plan, gnti_context_device(s->ctx), c->params, &c->program));
    gnti_tape_free(&t);
    bind(s, c);
}

void nn_case_free(nn_case *c)
{
    gnti_program_free(&c->program);
    gnti_params_free(&c->params);
    gnt_model_free(&c->model);
}

float nn_golden_value(uint32_t p, uint32_t k)
{
    uint32_t h = k + 0x9E3779B9u * (p + 1);

    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    h ^= h >> 16;
    return (float)(((double)h + 0.5) / 4294967296.0 - 0.5);
}

static float *read_block(nn_case *c, int block)
{
    float *all = NULL;

    gnt_assert_ok(gnti_calloc_array(&all, gnti_params_num_floats(c->params) + 1));
    gnt_assert_ok(gnti_params_read(c->params, block, all));
    return all;
}

void nn_case_fill(nn_case *c, bool same, float scale)
{
    float *all = read_block(c, GNTI_BLOCK_WEIGHTS);
    uint32_t trained = 0;

    for (int32_t i = 0; i < gnti_params_count(c->params); i++) {
        const gnti_param_info *info = gnti_params_info(c->params, i);
        const int64_t count = info->in * info->out;

        for (int32_t m = 0; m < c->members; m++)
            for (int64_t k = 0; k < count; k++)
                all[info->offset + m * count + k] =
                    info->kind == GNTI_PARAM_STATE
                        ? (strstr(info->name, "var") != NULL ? 1.0f : 0.0f)
                        : scale * nn_golden_value(trained + (same ? 0u : 100u * (uint32_t)m), (uint32_t)k);
        trained += info->kind != GNTI_PARAM_STATE;
    }
    gnt_assert_ok(gnti_params_write(c->params, GNTI_BLOCK_WEIGHTS, all));
    gnti_free(all);
}

void nn_case_run(nn_case *c, int64_t step, float lr, const uint64_t *seeds, double *loss)
{
    double stats[4 * 64];
    const gnti_step block = { .step = step, .seeds = seeds };

    for (int32_t m = 0; m < c->members; m++) {
        gnt_assert_ok(gnti_program_set_hyper(c->program, c->lr, m, lr));
        gnt_assert_ok(
            gnti_program_set_hyper(c->program, c->corr1, m, (float)(1.0 - pow(0.9, (double)step + 1.0))));
        gnt_assert_ok(
            gnti_program_set_hyper(c->program, c->corr2, m, (float)(1.0 - pow(0.999, (double)step + 1.0))));
        gnt_assert_ok(gnti_program_set_hyper(c->program, gnti_program_loss_norm(c->program), m, c->norm));
    }
    gnt_assert_ok(gnti_program_run(c->program, &block));
    gnt_assert_ok(gnti_program_stats(c->program, stats, NULL));
    for (int32_t m = 0; m < c->members && loss != NULL; m++)
        loss[m] = stats[4 * m] / stats[4 * m + 1];
}

static int64_t member_of(nn_case *c, int block, int32_t member, float *out)
{
    float *all = read_block(c, block);
    int64_t at = 0;

    for (int32_t i = 0; i < gnti_params_count(c->params); i++) {
        const gnti_param_info *info = gnti_params_info(c->params, i);
        const int64_t count = info->in * info->out;

        if (info->kind == GNTI_PARAM_STATE)
            continue;
        if (out != NULL)
            memcpy(out + at, all + info->offset + member * count, (size_t)count * sizeof *out);
        at += count;
    }
    gnti_free(all);
    return at;
}

int64_t nn_case_grads(nn_case *c, int32_t member, float *out)
{
    return member_of(c, GNTI_BLOCK_GRADS, member, out);
}

int64_t nn_case_weights(nn_case *c, int32_t member, float *out)
{
    return member_of(c, GNTI_BLOCK_WEIGHTS, member, out);
}

void nn_case_set_weights(nn_case *c, int32_t member, const float *in)
{
    float *all = read_block(c, GNTI_BLOCK_WEIGHTS);
    int64_t at = 0;

    for (int32_t i = 0; i < gnti_params_count(c->params); i++) {
        const gnti_param_info *info = gnti_params_info(c->params, i);
        const int64_t count = info->in * info->out;

        if (info->kind == GNTI_PARAM_STATE)
            continue;
        memcpy(all + info->offset + member * count, in + at, (size_t)count * sizeof *in);
        at += count;
    }
    gnt_assert_ok(gnti_params_write(c->params, GNTI_BLOCK_WEIGHTS, all));
    gnti_free(all);
}
