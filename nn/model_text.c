/* SPDX-License-Identifier: Apache-2.0 */
/* The model text, TEXT = layer {"," layer}, layer = name[:width[xheads]]{:key=value}, made into layers with widths, states
 * and keys. Errors show the text with a mark below the place.
 */
#include "base/name.h"
#include "base/option.h"
#include "base/text.h"
#include "nn/model.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LAYERS = 1000, MAX_WIDTH = 1 << 20, TOKEN_BYTES = 128 };

typedef struct layer_keys {
    int32_t act, norm;
    double dropout;
    bool residual, own_dropout;
} layer_keys;

static const gnt_option key_table[] = {
    GNT_OPTION_WORD("act", layer_keys, act, 1, "none|relu|elu|leaky-relu|sigmoid|tanh",
                    "activation behind the layer"),
    GNT_OPTION_WORD("norm", layer_keys, norm, 0, "none|batch|layer", "normalisation behind the layer"),
    GNT_OPTION_DOUBLE("dropout", layer_keys, dropout, 0.0, 0.0, 0.999, "dropout behind the activation"),
    GNT_OPTION_BOOL("residual", layer_keys, residual, 0, "add the layer's input where widths agree"),
    GNT_OPTION_END,
};

/* Marks the place in the text behind the message that is the newest error, or starts one. */
#define FAIL_AT(model, at, ...)                                                                              \
    do {                                                                                                     \
        char message_[512];                                                                                  \
        snprintf(message_, sizeof message_, __VA_ARGS__);                                                    \
        GNT_FAIL(GNT_ERR_USAGE, "%s\n  %s\n  %*s", message_, (model)->text, (int)((at) - (model)->text) + 1, \
                 "^");                                                                                       \
    } while (0)

static const char *skip_spaces(const char *at)
{
    while (*at == ' ' || *at == '\t' || *at == '\n')
        at++;
    return at;
}

static size_t token_length(const char *at)
{
    size_t length = strcspn(at, ":,");

    while (length > 0 && (at[length - 1] == ' ' || at[length - 1] == '\t' || at[length - 1] == '\n'))
        length--;
    return length;
}

static gnt_status find_class(const gnt_model *model, const char *at, size_t length,
                             const gnt_layer_class **out)
{
    gnt_status st = GNT_OK;
    const char **names = NULL;
    const gnt_context *ctx = model->ctx;
    char name[TOKEN_BYTES];
    const char *nearest;

    *out = gnti_context_find_layer(ctx, at, length);
    if (*out != NULL)
        return GNT_OK;
    if (length == 0)
        FAIL_AT(model, at, "a layer name is missing in the model text");
    snprintf(name, sizeof name, "%.*s", (int)(length < TOKEN_BYTES ? length : TOKEN_BYTES - 1), at);
    GNT_TRY(gnti_alloc_array(&names, ctx->num_layers + 1));
    for (int64_t i = 0; i < ctx->num_layers; i++)
        names[i] = ctx->layers[i]->name;
    nearest = gnti_name_nearest(names, (size_t)ctx->num_layers, name);
    if (nearest != NULL)
        FAIL_AT(model, at, "unknown layer '%s', did you mean '%s'?", name, nearest);
    FAIL_AT(model, at, "unknown layer '%s'; a plug-in may bring it (--plugin)", name);
done:
    gnti_free(names);
    return st;
}

/* "16" or "8x8". */
static gnt_status read_width(const gnt_model *model, gnti_layer *layer, const char *at, size_t length)
{
    gnt_status st = GNT_OK;
    const char *cross = memchr(at, 'x', length);
    const size_t digits = cross != NULL ? (size_t)(cross - at) : length;
    int64_t width = 0, heads = 1;

    if (gnti_parse_int64(at, digits, &width) != GNTI_PARSE_OK || width < 1 || width > MAX_WIDTH)
        FAIL_AT(model, at, "width '%.*s' is no number from 1 to %d", (int)digits, at, (int)MAX_WIDTH);
    if (cross != NULL && (gnti_parse_int64(cross + 1, length - digits - 1, &heads) != GNTI_PARSE_OK ||
                          heads < 1 || heads > 64))
        FAIL_AT(model, cross + 1, "'%.*s' is no number of heads from 1 to 64", (int)(length - digits - 1),
                cross + 1);
    if (heads > 1 && !layer->class->has_heads)
        FAIL_AT(model, cross, "layer '%s' has no heads", layer->class->name);
    layer->out = width * heads;
    layer->heads = heads;
done:
    return st;
}

/* Whether the layer's text between begin and at has a key of that name. */
static bool is_given(const char *begin, const char *at, const char *key)
{
    const size_t length = strlen(key);

    for (const char *p = begin; p < at; p++)
        if (*p == ':') {
            const char *word = skip_spaces(p + 1);

            if (word < at && strncmp(word, key, length) == 0 && *(word + length) == '=')
                return true;
        }
    return false;
}

static gnt_status read_key(const gnt_model *model, const gnti_layer *layer, layer_keys *keys,
                           const char *begin, const char *at, size_t length)
{
    gnt_status st = GNT_OK;
    char token[TOKEN_BYTES], *equals;
    const gnt_option *option;
    const char *nearest = NULL;

    if (length >= sizeof token)
        FAIL_AT(model, at, "a key of %zu letters is too long", length);
    memcpy(token, at, length);
    token[length] = 0;
    equals = strchr(token, '=');
    if (equals == NULL)
        FAIL_AT(model, at, "'%s' is neither a width (first, once) nor key=value", token);
    *equals = 0;
    if (is_given(begin, at, token))
        FAIL_AT(model, at, "key '%s' is given twice", token);
    option = layer->class->options != NULL ? gnti_options_find(layer->class->options, token) : NULL;
    if (option != NULL) {
        st = gnti_option_set(option, layer->state, equals + 1);
    } else {
        option = gnti_options_find(key_table, token);
        if (option == NULL) {
            nearest =
                layer->class->options != NULL ? gnti_options_nearest(layer->class->options, token) : NULL;
            nearest = nearest != NULL ? nearest : gnti_options_nearest(key_table, token);
            FAIL_AT(model, at, "layer '%s' has no key '%s'%s%s%s", layer->class->name, token,
                    nearest != NULL ? ", did you mean '" : "; all have act, dropout, norm, residual",
                    nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
        }
        st = gnti_option_set(option, keys, equals + 1);
        keys->own_dropout = keys->own_dropout || strcmp(token, "dropout") == 0;
    }
    if (st != GNT_OK) {
        char message[512];

        snprintf(message, sizeof message, "%s", gnt_last_error());
        FAIL_AT(model, at, "%s", message);
    }
done:
    return st;
}

/* One layer from *at on; *at moves behind it. */
static gnt_status read_layer(gnt_model *model, gnti_layer *layer, const char **at)
{
    gnt_status st = GNT_OK;
    layer_keys keys = { .act = model->config.act,
                        .norm = model->config.norm,
                        .dropout = model->config.dropout,
                        .residual = model->config.residual };
    bool first = true;
    const char *begin;
    size_t length;

    begin = *at = skip_spaces(*at);
    length = token_length(*at);
    GNT_TRY(find_class(model, *at, length, &layer->class));
    layer->heads = 1;
    layer->state = gnti_arena_alloc(model->arena, layer->class->state_size);
    GNT_TRY(gnti_arena_status(model->arena));
    if (layer->class->options != NULL)
        GNT_TRY(gnti_options_defaults(layer->class->options, layer->state));
    *at = skip_spaces(*at + length);
    while (**at == ':') {
        *at = skip_spaces(*at + 1);
        length = token_length(*at);
        if (first && length > 0 && (*at)[0] >= '0' && (*at)[0] <= '9')
            GNT_TRY(read_width(model, layer, *at, length));
        else
            GNT_TRY(read_key(model, layer, &keys, begin, *at, length));
        first = false;
        *at = skip_spaces(*at + length);
    }
    layer->act = keys.act;
    layer->norm = keys.norm;
    layer->dropout = keys.dropout;
    layer->own_dropout = keys.own_dropout;
    layer->residual = keys.residual;
done:
    return st;
}

gnt_status gnti_model_parse(gnt_model *model)
{
    gnt_status st = GNT_OK;
    const char *at = model->text, *start;
    int64_t count = 1, width = model->in_width;

    for (const char *c = at; *c != 0; c++)
        count += *c == ',';
    if (*skip_spaces(at) == 0)
        GNT_FAIL(GNT_ERR_USAGE, "the model text is empty, try 'gcn:16, gcn'");
    GNT_CHECK(count <= MAX_LAYERS, GNT_ERR_LIMIT, "a model of %lld layers, the limit is %d", (long long)count,
              (int)MAX_LAYERS);
    model->layers = gnti_arena_array(model->arena, count, sizeof *model->layers);
    GNT_TRY(gnti_arena_status(model->arena));
    while (model->num_layers < count) {
        gnti_layer *layer = &model->layers[model->num_layers++];
        const bool last = model->num_layers == count;

        start = skip_spaces(at);
        GNT_TRY(read_layer(model, layer, &at));
        if (*at != 0 && *at != ',')
            FAIL_AT(model, at, "',' or ':' is missing");
        if (layer->out == 0 && !last)
            FAIL_AT(model, start, "layer '%s' has no width; only the last one may do without",
                    layer->class->name);
        if (last && model->out_width < 0) /* no labels to fit: the text decides, else so many */
            model->out_width = layer->out != 0 ? layer->out / layer->heads : -model->out_width;
        if (layer->out == 0)
            layer->out = model->out_width;
        if (last && layer->out != model->out_width && layer->heads == 1)
            FAIL_AT(model, start, "the last layer is %lld wide, the labels need %lld: leave its width out",
                    (long long)layer->out, (long long)model->out_width);
        layer->in = width;
        width = layer->out;
        at += *at == ',';
    }
done:
    return st;
}
