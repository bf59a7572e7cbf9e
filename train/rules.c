/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that users write: weight-decay rules and class weights.
 *
 * A decay rule is [layer[:kind]:]value: "5e-4" decays all weights, "1:5e-4" the weights of layer 1,
 * "1:bias:1e-3" the biases of layer 1. The last rule that matches a parameter counts. Without a text AdamW
 * decays all weights by 0.01 and the others nothing (docs/models.md).
 */
#include "train/config.h"

#include "base/text.h"

#include <string.h>

#define ADAMW_DECAY 0.01

static const char *const kind_names[] = { "weight", "bias", "norm" };

/* One number between begin and end, at least 0. */
static gnt_status parse_value(const char *begin, const char *end, const char *what, double *out)
{
    gnt_status st = GNT_OK;
    const int length = (int)(end - begin);

    GNT_CHECK(length > 0 && gnti_parse_double(begin, (size_t)length, out) == GNTI_PARSE_OK && *out >= 0.0 &&
                  *out <= 1e30,
              GNT_ERR_USAGE, "%s: '%.*s' is no number of at least 0", what, length, begin);
done:
    return st;
}

static gnt_status parse_kind(const char *begin, const char *end, int32_t *out)
{
    gnt_status st = GNT_OK;
    const size_t length = (size_t)(end - begin);

    for (int32_t k = 0; k < 3; k++)
        if (strlen(kind_names[k]) == length && strncmp(begin, kind_names[k], length) == 0) {
            *out = k;
            goto done;
        }
    GNT_FAIL(GNT_ERR_USAGE, "weight-decay: no kind '%.*s', there are weight, bias, norm", (int)length, begin);
done:
    return st;
}

static gnt_status parse_rule(const char *begin, const char *end, int32_t num_layers, gnti_decay_rule *out)
{
    gnt_status st = GNT_OK;
    const char *colon[2] = { NULL, NULL };
    int num_colons = 0;
    int64_t layer = 0;

    *out = (gnti_decay_rule){ .layer = 0, .kind = -1 };
    for (const char *p = begin; p < end; p++)
        if (*p == ':') {
            GNT_CHECK(num_colons < 2, GNT_ERR_USAGE, "weight-decay: '%.*s' is not [layer[:kind]:]value",
                      (int)(end - begin), begin);
            colon[num_colons++] = p;
        }
    if (num_colons > 0) {
        GNT_CHECK(gnti_parse_int64(begin, (size_t)(colon[0] - begin), &layer) == GNTI_PARSE_OK &&
                      layer >= 1 && layer <= num_layers,
                  GNT_ERR_USAGE, "weight-decay: layer '%.*s' of a model with layers 1 to %d",
                  (int)(colon[0] - begin), begin, (int)num_layers);
        out->layer = (int32_t)layer;
    }
    if (num_colons > 1)
        GNT_TRY(parse_kind(colon[0] + 1, colon[1], &out->kind));
    GNT_TRY(
        parse_value(num_colons > 0 ? colon[num_colons - 1] + 1 : begin, end, "weight-decay", &out->value));
done:
    return st;
}

static int32_t count_items(const char *text)
{
    int32_t n = 1;

    for (; *text != 0; text++)
        n += *text == ',';
    return n;
}

/* The next item of a comma-separated list, trimmed; *p moves behind it. */
static void next_item(const char **p, const char **begin, const char **end)
{
    *begin = *p;
    *end = *p + strcspn(*p, ",");
    *p = **end == ',' ? *end + 1 : *end;
    gnti_trim(begin, end);
}

gnt_status gnti_decay_parse(const char *text, bool adamw, int32_t num_layers, gnti_decay_rule **out,
                            int32_t *out_count)
{
    gnt_status st = GNT_OK;
    gnti_decay_rule *rules = NULL;
    int32_t count = 0;

    if (text == NULL || text[0] == 0) {
        GNT_TRY(gnti_alloc_array(&rules, 1));
        rules[0] = (gnti_decay_rule){ .layer = 0, .kind = -1, .value = ADAMW_DECAY };
        count = adamw ? 1 : 0;
    } else {
        const char *p = text;

        count = count_items(text);
        GNT_TRY(gnti_alloc_array(&rules, count));
        for (int32_t i = 0; i < count; i++) {
            const char *begin = NULL, *end = NULL;

            next_item(&p, &begin, &end);
            GNT_TRY(parse_rule(begin, end, num_layers, &rules[i]));
            for (int32_t j = 0; j < i; j++)
                GNT_CHECK(rules[j].layer != rules[i].layer || rules[j].kind != rules[i].kind, GNT_ERR_USAGE,
                          "weight-decay: '%.*s' contradicts an earlier rule for the same weights",
                          (int)(end - begin), begin);
        }
    }
    *out = rules;
    *out_count = count;
    rules = NULL;
done:
    gnti_free(rules);
    return st;
}

static void balance(const int64_t *counts, int64_t num_classes, float *out)
{
    int64_t total = 0;

    for (int64_t c = 0; c < num_classes; c++)
        total += counts[c];
    for (int64_t c = 0; c < num_classes; c++)
        out[c] = counts[c] > 0 ? (float)((double)total / ((double)num_classes * (double)counts[c])) : 0.0f;
}

gnt_status gnti_class_weights(const char *text, const int64_t *counts, int64_t num_classes, float *out)
{
    gnt_status st = GNT_OK;
    double sum = 0.0;

    for (int64_t c = 0; c < num_classes; c++)
        out[c] = 1.0f;
    if (text == NULL || text[0] == 0 || strcmp(text, "none") == 0)
        goto done;
    if (strcmp(text, "balanced") == 0) {
        balance(counts, num_classes, out);
        goto done;
    }
    GNT_CHECK(count_items(text) == num_classes, GNT_ERR_USAGE,
              "class-weights has %d numbers but the dataset has %lld classes", (int)count_items(text),
              (long long)num_classes);
    for (int64_t c = 0; c < num_classes; c++) {
        const char *begin = NULL, *end = NULL;
        double value = 0.0;

        next_item(&text, &begin, &end);
        GNT_TRY(parse_value(begin, end, "class-weights", &value));
        out[c] = (float)value;
        sum += value * (double)counts[c];
    }
    GNT_CHECK(sum > 0.0, GNT_ERR_USAGE, "class-weights leaves no training row with a weight above 0");
done:
    return st;
}
