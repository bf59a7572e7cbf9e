/* SPDX-License-Identifier: Apache-2.0 */
/* The public gradient check. A model of the text is recorded for two members on a small random directed graph with loops and
 * an isolated node, once on the square space and once on a chain of bipartite blocks (a forgotten gnt_self shows there).
 * Each analytic gradient is compared with central differences of two steps; where the two differ from each other a kink of
 * a ReLU or maximum lies between, and the value is left out (at most a third of a parameter's).
 */
#include "nn/model.h"
#include "nn/params.h"

#include <math.h>
#include <string.h>

enum { NODES = 24, ARCS = 70, WIDTH = 5, CLASSES = 3, ROOTS = 7, MEMBERS = 2, MAX_PROBES = 10 };
static const double step_size = 0x1p-9;

typedef struct check {
    gnt_context *ctx;
    gnt_model *model;
    gnti_graph *sources;
    gnti_operator *whole;
    gnti_operator **blocks;      /* (num_layers) of the bipartite form */
    const gnti_operator **bound; /* (num_layers) what is bound */
    gnti_features x;             /* rows of the first space */
    int64_t roots[ROOTS];
    int32_t labels[NODES];
    float weight[NODES];
    int64_t num_rows; /* of the last space */
    gnti_params *params;
    gnti_program *program;
    gnt_hyper norm;
    float *weights, *grads; /* whole blocks */
    double tolerance;
    double loss[MEMBERS]; /* with the weights as filled */
} check;

static uint32_t draw(uint32_t what, uint32_t i)
{
    return gnti_draw_word(gnti_seed_key(20240607), GNTI_DRAW_GENERATE, what, 0, i, 0);
}

static float feature(int64_t node, int64_t column)
{
    return 2.0f * gnti_uniform(draw(3, (uint32_t)(node * WIDTH + column))) - 1.0f;
}

static gnt_status make_graph(check *c)
{
    gnt_status st = GNT_OK;
    int64_t source[ARCS], target[ARCS];
    const gnti_arc_list arcs = { .num_arcs = ARCS, .source = source, .target = target };
    const gnti_build_options options = { .duplicates = GNTI_DUPLICATES_FIRST };
    gnti_build_report report;

    for (uint32_t i = 0; i < ARCS; i++) {
        source[i] = gnti_below(draw(1, i), NODES - 1); /* the last node stays alone */
        target[i] = gnti_below(draw(2, i), NODES - 1);
    }
    GNT_TRY(gnti_graph_build(NODES, &arcs, &options, &report, NULL, &c->sources));
    GNT_TRY(gnti_operator_create(c->sources, &c->whole));
done:
    return st;
}

static gnt_status make_features(check *c, const int64_t *ids, int64_t rows)
{
    gnt_status st = GNT_OK;

    gnti_free(c->x.dense);
    c->x = (gnti_features){ .rows = rows, .width = WIDTH };
    GNT_TRY(gnti_alloc_array(&c->x.dense, rows * WIDTH));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t k = 0; k < WIDTH; k++)
            c->x.dense[r * WIDTH + k] = feature(ids != NULL ? ids[r] : r, k);
done:
    return st;
}

/* Blocks from the last layer to the first: the sources of one are the roots of the one before. */
static gnt_status make_blocks(check *c)
{
    gnt_status st = GNT_OK;
    const int64_t *roots = c->roots;
    int64_t num_roots = ROOTS;

    for (int32_t l = c->model->num_layers - 1; l >= 0; l--) {
        GNT_TRY(gnti_operator_block(c->whole, roots, num_roots, &c->blocks[l]));
        roots = c->blocks[l]->src_ids;
        num_roots = c->blocks[l]->num_src;
        c->bound[l] = c->blocks[l];
    }
    GNT_TRY(make_features(c, roots, num_roots));
done:
    return st;
}

static gnt_status record(check *c, bool square)
{
    gnt_status st = GNT_OK;
    gnt_tape *t = NULL;
    gnti_inputs in = { 0 };
    const gnti_loss_config loss = { .kind = GNT_LOSS_SOFTMAX };
    const gnti_update_config update = { .kind = GNT_OPTIMIZER_SGD };
    gnt_var z, l;

    GNT_TRY(gnti_tape_create(c->ctx, MEMBERS, true, &t));
    gnti_record_inputs(t, c->model, square, false, &in);
    z = gnt_model_record(c->model, t, in.adj, in.x);
    l = gnti_record_loss(t, z, &loss);
    gnti_record_update(t, l, &update);
    GNT_TRY(gnti_plan_program(t, c->model, NULL, c->ctx->device, c->params, &c->program));
    c->norm = gnti_program_loss_norm(c->program);
done:
    gnti_tape_free(&t);
    return st;
}

static gnt_status bind(check *c)
{
    gnt_status st = GNT_OK;
    const gnti_batch batch = { .adj = c->bound, .x = &c->x, .labels = c->labels, .weight = c->weight };
    float sum = 0.0f;

    for (int64_t r = 0; r < c->num_rows; r++) {
        c->labels[r] = (int32_t)gnti_below(draw(4, (uint32_t)r), (uint32_t)c->model->out_width);
        c->weight[r] = r % 4 != 3 ? 1.0f : 0.0f;
        sum += c->weight[r];
    }
    GNT_TRY(gnti_program_bind(c->program, &batch));
    for (int32_t m = 0; m < MEMBERS; m++)
        GNT_TRY(gnti_program_set_hyper(c->program, c->norm, m, 1.0f / sum));
done:
    return st;
}

/* Losses of all members with the weights as they are. */
static gnt_status run(check *c, double *loss)
{
    gnt_status st = GNT_OK;
    static const uint64_t seeds[MEMBERS] = { 11, 12 };
    const gnti_step step = { .step = 3, .seeds = seeds };
    double stats[4 * MEMBERS];

    GNT_TRY(gnti_params_write(c->params, GNTI_BLOCK_WEIGHTS, c->weights));
    GNT_TRY(gnti_program_run(c->program, &step));
    GNT_TRY(gnti_program_stats(c->program, stats, NULL));
    for (int32_t m = 0; m < MEMBERS; m++)
        loss[m] = stats[4 * m] / stats[4 * m + 1];
done:
    return st;
}

/* Slope by central differences, and the jump between the one-sided ones. */
typedef struct slope {
    double central, jump;
} slope;

static gnt_status difference(check *c, int64_t at, int32_t member, double h, slope *out)
{
    gnt_status st = GNT_OK;
    const float w = c->weights[at];
    double up[MEMBERS], down[MEMBERS];

    c->weights[at] = w + (float)h;
    GNT_TRY(run(c, up));
    c->weights[at] = w - (float)h;
    GNT_TRY(run(c, down));
    h = ((double)(w + (float)h) - (double)(w - (float)h)) / 2;
    out->central = (up[member] - down[member]) / (2 * h);
    out->jump = (up[member] - 2 * c->loss[member] + down[member]) / h;
done:
    c->weights[at] = w;
    return st;
}

/* Probes values of one parameter of a member, evenly spread. */
static gnt_status check_param(check *c, const gnti_param_info *info, int32_t member, bool square)
{
    gnt_status st = GNT_OK;
    const int64_t count = info->in * info->out, first = info->offset + member * count;
    const int64_t stride = gnti_ceil_div(count, MAX_PROBES);
    int64_t probed = 0, kinks = 0;
    double largest = 0.0;

    for (int64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs((double)c->grads[first + k]));
    for (int64_t k = 0; k < count; k += stride) {
        const double got = (double)c->grads[first + k], bound = c->tolerance * (largest + 0.01);
        slope wide = { 0.0, 0.0 }, narrow = { 0.0, 0.0 };

        GNT_TRY(difference(c, first + k, member, step_size, &wide));
        GNT_TRY(difference(c, first + k, member, step_size / 2, &narrow));
        probed++;
        /* smooth: slopes agree and the jump halves with the step */
        if (!(fabs(wide.central - narrow.central) <= bound / 2 &&
              fabs(wide.jump - 2 * narrow.jump) <= bound)) {
            kinks++;
            continue;
        }
        GNT_CHECK(fabs(got - narrow.central) <= bound, GNT_ERR_NUMERIC,
                  "gradient of parameter '%s' at %lld (member %d, %s) is %.7g, differences give %.7g",
                  info->name, (long long)k, member, square ? "whole graph" : "blocks", got, narrow.central);
    }
    GNT_CHECK(kinks * 3 <= probed + 2, GNT_ERR_NUMERIC,
              "differences of parameter '%s' do not settle at %lld of %lld values (%s)", info->name,
              (long long)kinks, (long long)probed, square ? "whole graph" : "blocks");
done:
    return st;
}

/* Random weights everywhere: with zero biases isolated nodes sit on the kink of a ReLU. */
static void fill_weights(check *c)
{
    for (int32_t i = 0; i < c->params->num_params; i++) {
        const gnti_param_info *info = gnti_params_info(c->params, i);
        const int64_t count = MEMBERS * info->in * info->out;

        for (int64_t k = 0; k < count; k++)
            c->weights[info->offset + k] = gnti_uniform(draw(5, (uint32_t)(info->offset + k))) +
                                           (info->kind == GNTI_PARAM_STATE ? 0.5f : -0.5f);
    }
}

static gnt_status check_form(check *c, bool square)
{
    gnt_status st = GNT_OK;
    c->num_rows = square ? NODES : ROOTS;
    if (square) {
        GNT_TRY(make_features(c, NULL, NODES));
        for (int32_t l = 0; l < c->model->num_layers; l++)
            c->bound[l] = c->whole;
    } else {
        GNT_TRY(make_blocks(c));
    }
    GNT_TRY(record(c, square));
    GNT_TRY(bind(c));
    fill_weights(c);
    GNT_TRY(run(c, c->loss));
    GNT_TRY(gnti_params_read(c->params, GNTI_BLOCK_GRADS, c->grads));
    for (int32_t i = 0; i < c->params->num_params; i++)
        for (int32_t m = 0; m < MEMBERS && gnti_params_info(c->params, i)->kind != GNTI_PARAM_STATE; m++)
            GNT_TRY(check_param(c, gnti_params_info(c->params, i), m, square));
done:
    gnti_program_free(&c->program);
    return st;
}

static void free_check(check *c)
{
    gnti_program_free(&c->program);
    gnti_params_free(&c->params);
    for (int32_t l = 0; c->blocks != NULL && l < c->model->num_layers; l++)
        gnti_operator_free(&c->blocks[l]);
    gnti_free(c->blocks);
    gnti_free(c->bound);
    gnti_free(c->x.dense);
    gnti_free(c->weights);
    gnti_free(c->grads);
    gnti_operator_free(&c->whole);
    gnti_graph_free(&c->sources);
    gnt_model_free(&c->model);
}

gnt_status gnt_check_gradient(gnt_context *ctx, const char *model_text, double tolerance)
{
    gnt_status st = GNT_OK;
    check c = { .ctx = ctx, .tolerance = tolerance };
    bool square_only = false;

    GNT_CHECK(ctx != NULL && model_text != NULL, GNT_ERR_ARG, "context and text must not be NULL");
    GNT_CHECK(tolerance > 0.0 && tolerance < 1.0, GNT_ERR_ARG, "tolerance %g is outside of (0, 1), try 0.01",
              tolerance);
    GNT_TRY(gnti_model_create_for(ctx, WIDTH, -CLASSES, GNT_LABELS_CLASS, model_text, NULL, &c.model));
    for (int64_t i = 0; i < ROOTS; i++)
        c.roots[i] = (i * 5 + 1) % NODES;
    GNT_TRY(gnti_calloc_array(&c.blocks, c.model->num_layers));
    GNT_TRY(gnti_calloc_array(&c.bound, c.model->num_layers));
    GNT_TRY(make_graph(&c));
    GNT_TRY(gnti_params_create(c.model, ctx->device, MEMBERS, 0, &c.params));
    GNT_TRY(gnti_calloc_array(&c.weights, c.params->num_floats + 1));
    GNT_TRY(gnti_calloc_array(&c.grads, c.params->num_floats + 1));
    for (int32_t l = 0; l < c.model->num_layers; l++)
        square_only = square_only || c.model->layers[l].class->square_only;
    GNT_TRY(check_form(&c, true));
    if (!square_only)
        GNT_TRY(check_form(&c, false));
done:
    free_check(&c);
    return st;
}
