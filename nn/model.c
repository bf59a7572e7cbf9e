/* SPDX-License-Identifier: Apache-2.0 */
/* Models: layers of a text with what lies between them, and their recording. Behind each layer but the last come residual
 * (h' += own h where widths agree), norm, activation and dropout, in this order; input dropout comes before the first.
 */
#include "nn/model.h"

#include "base/option.h"
#include "nn/tape.h"

#include <string.h>

enum { NORM_NONE, NORM_BATCH, NORM_LAYER };
static const float leaky_slope = 0.01f; /* PyTorch's default */

void gnt_model_config_init(gnt_model_config *config)
{
    *config = (gnt_model_config){ .struct_size = sizeof *config, .act = GNT_ACT_RELU };
}

static gnt_status check_config(const gnt_model_config *config)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(config->struct_size == sizeof *config, GNT_ERR_ARG,
              "the model config has %zu bytes, this library's has %zu: use gnt_model_config_init",
              config->struct_size, sizeof *config);
    GNT_CHECK(config->act >= GNT_ACT_NONE && config->act <= GNT_ACT_TANH, GNT_ERR_ARG,
              "activation %d is unknown", config->act);
    GNT_CHECK(config->norm >= NORM_NONE && config->norm <= NORM_LAYER, GNT_ERR_ARG, "norm %d is unknown",
              config->norm);
    GNT_CHECK(config->dropout >= 0.0 && config->dropout < 1.0, GNT_ERR_ARG, "dropout %g is outside of [0, 1)",
              config->dropout);
    GNT_CHECK(config->input_dropout >= 0.0 && config->input_dropout < 1.0, GNT_ERR_ARG,
              "input dropout %g is outside of [0, 1)", config->input_dropout);
done:
    return st;
}

/* Parameters and hypers of what follows a layer. */
static void build_between(gnt_builder *b, gnti_layer *layer)
{
    const gnt_init zero = { GNT_INIT_CONST, 0.0f }, one = { GNT_INIT_CONST, 1.0f };

    if (b->is_last)
        return;
    if (layer->norm != NORM_NONE) {
        layer->norm_params[0] = gnt_builder_param(b, "norm_gamma", 1, layer->out, one);
        layer->norm_params[1] = gnt_builder_param(b, "norm_beta", 1, layer->out, zero);
    }
    if (layer->norm == NORM_BATCH) {
        layer->norm_params[2] = gnt_builder_state(b, "norm_mean", 1, layer->out, zero);
        layer->norm_params[3] = gnt_builder_state(b, "norm_var", 1, layer->out, one);
    }
    if (layer->dropout > 0.0)
        layer->dropout_hyper = gnt_builder_hyper(b, "dropout", layer->dropout);
}

static gnt_status build(gnt_model *model)
{
    gnt_status st = GNT_OK;
    gnt_builder b = { .model = model, .layer = -1 };

    if (model->config.input_dropout > 0.0)
        model->input_dropout = gnt_builder_hyper(&b, "input-dropout", model->config.input_dropout);
    for (int32_t l = 0; l < model->num_layers && b.status == GNT_OK; l++) {
        gnti_layer *layer = &model->layers[l];

        b.layer = l;
        b.is_last = l == model->num_layers - 1;
        layer->class->build(layer->state, &b);
        build_between(&b, layer);
    }
    GNT_TRY(b.status);
    GNT_TRY(gnti_arena_status(model->arena));
done:
    return st;
}

gnt_status gnti_model_create_for(gnt_context *ctx, int64_t in_width, int64_t out_width,
                                 gnt_label_kind label_kind, const char *text, const gnt_model_config *config,
                                 gnt_model **out)
{
    gnt_status st = GNT_OK;
    gnt_model *model = NULL;
    gnt_model_config defaults;

    GNT_CHECK(ctx != NULL && text != NULL && out != NULL, GNT_ERR_ARG,
              "context, text and out must not be NULL");
    gnt_model_config_init(&defaults);
    config = config != NULL ? config : &defaults;
    GNT_TRY(check_config(config));
    GNT_CHECK(in_width >= 1, GNT_ERR_FORMAT,
              "the dataset has no features: import it with --features identity (one column a node) or "
              "--features FILE");
    GNT_CHECK(out_width != 0, GNT_ERR_FORMAT, "the dataset has no labels: a model needs classes or targets");
    GNT_TRY(gnti_calloc_array(&model, 1));
    GNT_TRY(gnti_arena_create(&model->arena));
    model->ctx = ctx;
    model->objects = gnti_objects_add(ctx, GNTI_OBJECT_MODEL);
    model->text = gnti_arena_strdup(model->arena, text);
    model->config = *config;
    model->in_width = in_width;
    model->out_width = out_width;
    model->label_kind = label_kind;
    GNT_TRY(gnti_arena_status(model->arena));
    GNT_TRY(gnti_model_parse(model));
    GNT_TRY(build(model));
    *out = model;
    model = NULL;
done:
    gnt_model_free(&model);
    return st;
}

gnt_status gnt_model_create_with(const gnt_dataset *data, const char *text, const gnt_model_config *config,
                                 gnt_model **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(data != NULL, GNT_ERR_ARG, "the dataset must not be NULL");
    GNT_TRY(gnti_model_create_for(data->ctx, gnt_dataset_num_features(data), gnt_dataset_num_classes(data),
                                  gnt_dataset_label_kind(data), text, config, out));
done:
    return st;
}

gnt_status gnt_model_create(const gnt_dataset *data, const char *text, gnt_model **out)
{
    return gnt_model_create_with(data, text, NULL, out);
}

void gnt_model_free(gnt_model **pointer)
{
    gnt_model *model = pointer != NULL ? *pointer : NULL;
    gnti_objects *objects;

    if (model == NULL)
        return;
    *pointer = NULL;
    if (atomic_fetch_sub(&model->holders, 1) > 0)
        return; /* a trainer still uses it */
    objects = model->objects;
    for (int32_t l = 0; l < model->num_layers; l++) {
        const gnti_layer *layer = &model->layers[l];

        if (layer->state != NULL && layer->class->options != NULL)
            gnti_options_free_texts(layer->class->options, layer->state);
    }
    gnti_free(model->params);
    gnti_free(model->hypers);
    gnti_arena_free(&model->arena);
    gnti_free(model);
    gnti_objects_drop(&objects, GNTI_OBJECT_MODEL);
}

gnt_model *gnti_model_hold(gnt_model *model)
{
    atomic_fetch_add(&model->holders, 1);
    return model;
}

int32_t gnt_model_num_layers(const gnt_model *model)
{
    return model != NULL ? model->num_layers : 0;
}

int64_t gnt_model_num_parameters(const gnt_model *model)
{
    int64_t count = 0;

    for (int32_t i = 0; model != NULL && i < model->num_params; i++)
        if (model->params[i].kind != GNTI_PARAM_STATE)
            count += model->params[i].in * model->params[i].out;
    return count;
}

static gnt_var activate(gnt_tape *t, int32_t act, gnt_var h)
{
    switch ((gnt_activation)act) {
    case GNT_ACT_RELU:
        return gnt_relu(t, h);
    case GNT_ACT_ELU:
        return gnt_elu(t, h, 1.0f);
    case GNT_ACT_LEAKY_RELU:
        return gnt_leaky_relu(t, h, leaky_slope);
    case GNT_ACT_SIGMOID:
        return gnt_sigmoid(t, h);
    case GNT_ACT_TANH:
        return gnt_tanh(t, h);
    default:
        return h;
    }
}

/* What lies between a layer and the next: own are the destination's rows of the layer's input. */
static gnt_var record_between(const gnti_layer *layer, gnt_tape *t, gnt_adj adj, gnt_var input, gnt_var h)
{
    const gnt_param *p = layer->norm_params;

    if (layer->residual && layer->in == layer->out)
        h = gnt_add(t, h, gnt_self(t, adj, input));
    if (layer->norm == NORM_BATCH)
        h = gnt_batch_norm(t, h, p[0], p[1], p[2], p[3]);
    if (layer->norm == NORM_LAYER)
        h = gnt_layer_norm(t, h, p[0], p[1]);
    h = activate(t, layer->act, h);
    if (layer->dropout_hyper.id != 0)
        h = gnt_dropout_by(t, h, layer->dropout_hyper);
    return h;
}

static void check_layer(gnt_tape *t, const gnti_layer *layer, gnt_adj adj, gnt_var h, bool last,
                        int64_t out_width)
{
    const int64_t want = last ? out_width : layer->out;

    if (!gnti_tape_takes(t, "output", &h, 1))
        return;
    if (gnt_width(t, h) != want)
        gnti_tape_fail(t, GNT_ERR_ARG, "output", "width %lld, declared was %lld", (long long)gnt_width(t, h),
                       (long long)want);
    else if (gnti_tape_value(t, h)->space != t->ir.adjs[adj.id].destination)
        gnti_tape_fail(t, GNT_ERR_ARG, "output",
                       "the output is not in the destination space: gnt_self is missing");
}

gnt_var gnt_model_record(const gnt_model *model, gnt_tape *t, const gnt_adj *adj, gnt_var x)
{
    gnt_var h = x, first = { 0 };

    if (model == NULL || t == NULL || adj == NULL)
        return (gnt_var){ 0 };
    if (model->input_dropout.id != 0)
        h = gnt_dropout_by(t, h, model->input_dropout);
    for (int32_t l = 0; l < model->num_layers; l++) {
        const gnti_layer *layer = &model->layers[l];
        const bool last = l == model->num_layers - 1;
        gnt_layer_input in = { .struct_size = sizeof in,
                               .adj = adj[l],
                               .relations = &adj[l],
                               .num_relations = 1,
                               .h = h,
                               .first = first };
        gnt_var next;

        t->ir.layer = l + 1;
        t->layer_name = layer->class->name;
        if (last)
            t->hidden = h.id;
        if (!gnti_tape_takes(t, "input", &h, 1))
            return (gnt_var){ 0 };
        if (layer->class->square_only && t->ir.adjs[adj[l].id].source != t->ir.adjs[adj[l].id].destination)
            return gnti_tape_fail(
                t, GNT_ERR_ARG, "input",
                "the layer has several hops inside: it runs on whole graphs and clusters only");
        next = layer->class->forward(layer->state, t, &in);
        check_layer(t, layer, adj[l], next, last, model->out_width);
        if (!last)
            next = record_between(layer, t, adj[l], h, next);
        first = first.id != 0 ? gnt_self(t, adj[l], first) : next;
        h = next;
        t->ir.layer = 0;
    }
    t->ir.logits = h.id;
    return h;
}

gnt_hyper gnti_model_dropout(const gnt_model *model, int32_t layer)
{
    if (layer == 0)
        return model->input_dropout;
    return model->layers[layer - 1].own_dropout ? (gnt_hyper){ 0 } : model->layers[layer - 1].dropout_hyper;
}

gnt_context *gnti_model_context(const gnt_model *model)
{
    return model->ctx;
}

const char *gnti_model_text(const gnt_model *model)
{
    return model->text;
}

void gnti_model_get_config(const gnt_model *model, gnt_model_config *out)
{
    *out = model->config;
}

int64_t gnti_model_in_width(const gnt_model *model)
{
    return model->in_width;
}

int64_t gnti_model_out_width(const gnt_model *model)
{
    return model->out_width;
}

gnt_label_kind gnti_model_label_kind(const gnt_model *model)
{
    return model->label_kind;
}
