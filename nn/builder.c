/* SPDX-License-Identifier: Apache-2.0 */
/* What a layer's build declares: parameters, state and hypers, under the full names "layer.name". The first failure sticks
 * in the builder; a failed declaration answers id 0, which recording refuses.
 */
#include "nn/model.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PARAM_SIDE = 1 << 30 };

int64_t gnt_builder_in(const gnt_builder *b)
{
    return b->model->layers[b->layer].in;
}

int64_t gnt_builder_out(const gnt_builder *b)
{
    return b->model->layers[b->layer].out;
}

int64_t gnt_builder_heads(const gnt_builder *b)
{
    return b->model->layers[b->layer].heads;
}

bool gnt_builder_is_last(const gnt_builder *b)
{
    return b->is_last;
}

/* "layer.name" in the model's arena; NULL after a failure. */
static const char *full_name(gnt_builder *b, const char *name)
{
    char text[128];

    if (name == NULL || name[0] == 0 || strlen(name) > 64) {
        b->status = gnti_error_set(GNT_ERR_ARG, __FILE__, __LINE__, __func__,
                                   "layer %d '%s' declares a name of 0 or more than 64 letters", b->layer + 1,
                                   b->model->layers[b->layer].class->name);
        return NULL;
    }
    snprintf(text, sizeof text, "%d.%s", b->layer + 1, name);
    for (int32_t i = 0; i < b->model->num_params; i++)
        if (strcmp(b->model->params[i].name, text) == 0) {
            b->status = gnti_error_set(GNT_ERR_ARG, __FILE__, __LINE__, __func__,
                                       "layer %d '%s' declares parameter '%s' twice", b->layer + 1,
                                       b->model->layers[b->layer].class->name, name);
            return NULL;
        }
    return gnti_arena_strdup(b->model->arena, text);
}

static gnt_param declare(gnt_builder *b, const char *name, int64_t in, int64_t out, gnt_init init,
                         gnti_param_kind kind)
{
    gnt_model *model = b->model;
    const char *full;

    if (b->status != GNT_OK)
        return (gnt_param){ 0 };
    if (in < 1 || out < 1 || in > MAX_PARAM_SIDE || out > MAX_PARAM_SIDE || in > MAX_PARAM_SIDE / out) {
        b->status =
            gnti_error_set(GNT_ERR_LIMIT, __FILE__, __LINE__, __func__,
                           "layer %d '%s': parameter '%s' of shape (%lld, %lld) is outside of 1 to %d values",
                           b->layer + 1, model->layers[b->layer].class->name, name != NULL ? name : "",
                           (long long)in, (long long)out, (int)MAX_PARAM_SIDE);
        return (gnt_param){ 0 };
    }
    full = full_name(b, name);
    if (b->status == GNT_OK)
        b->status = gnti_grow_array(&model->params, &model->params_capacity, model->num_params + 1);
    if (b->status != GNT_OK || full == NULL)
        return (gnt_param){ 0 };
    model->params[model->num_params] = (gnti_param_decl){ full, b->layer + 1, kind, in, out, init };
    return (gnt_param){ ++model->num_params };
}

gnt_param gnt_builder_param(gnt_builder *b, const char *name, int64_t in, int64_t out, gnt_init init)
{
    gnti_param_kind kind = GNTI_PARAM_WEIGHT;

    if (name != NULL && name[0] == 'b')
        kind = GNTI_PARAM_BIAS;
    if (name != NULL && strncmp(name, "norm", 4) == 0)
        kind = GNTI_PARAM_NORM;
    return declare(b, name, in, out, init, kind);
}

gnt_param gnt_builder_state(gnt_builder *b, const char *name, int64_t in, int64_t out, gnt_init init)
{
    return declare(b, name, in, out, init, GNTI_PARAM_STATE);
}

gnt_hyper gnt_builder_hyper(gnt_builder *b, const char *name, double value)
{
    gnt_model *model = b->model;
    char text[128];

    if (b->status == GNT_OK)
        b->status = gnti_grow_array(&model->hypers, &model->hypers_capacity, model->num_hypers + 1);
    if (b->status != GNT_OK)
        return (gnt_hyper){ 0 };
    snprintf(text, sizeof text, "%d.%.64s", b->layer + 1, name);
    model->hypers[model->num_hypers] = (gnti_model_hyper){ gnti_arena_strdup(model->arena, text), value };
    return (gnt_hyper){ ++model->num_hypers };
}
