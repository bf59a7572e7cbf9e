/* SPDX-License-Identifier: Apache-2.0 */
/* The importers' hand-over: growing and releasing. Splits grow by doubling at powers of two, so they need no
 * capacity. */
#include "datasets/raw.h"

#include <stdio.h>
#include <string.h>

enum { LABEL_TEXT_BYTES = 24 };

void gnti_raw_init(gnti_raw *raw)
{
    memset(raw, 0, sizeof *raw);
    raw->num_nodes = -1;
    raw->num_distinct = -1;
}

static void clear_texts(char **texts, int64_t count)
{
    for (int64_t i = 0; texts != NULL && i < count; i++)
        gnti_free(texts[i]);
    gnti_free(texts);
}

static void clear_split(gnti_split *s)
{
    gnti_free(s->name);
    gnti_free(s->kind);
    gnti_free(s->source);
    for (int part = 0; part < 3; part++)
        gnti_free(s->nodes[part]);
}

static void clear_array(gnti_array *a)
{
    if (a->dtype == GNTI_FILE_TEXT)
        clear_texts(a->data, a->rows * a->width);
    else
        gnti_free(a->data);
    gnti_free(a->path);
    gnti_free(a->attributes);
}

void gnti_raw_clear(gnti_raw *raw)
{
    gnti_free(raw->arcs.source);
    gnti_free(raw->arcs.target);
    gnti_free(raw->arcs.weight);
    gnti_free(raw->node_id);
    gnti_string_table_clear(&raw->names);
    gnti_feature_rows_clear(&raw->x);
    gnti_free(raw->y.value);
    gnti_string_table_clear(&raw->y.names);
    clear_texts(raw->y.class_names, raw->y.num_class_names);
    gnti_free(raw->y_rows.rows);
    for (int64_t i = 0; i < raw->num_splits; i++)
        clear_split(&raw->splits[i]);
    gnti_free(raw->splits);
    for (int64_t i = 0; i < raw->num_arrays; i++)
        clear_array(&raw->arrays[i]);
    gnti_free(raw->arrays);
    gnti_text_free(&raw->notes);
    gnti_text_free(&raw->inputs);
    gnti_raw_init(raw);
}

/* Both arrays share one capacity: the first may be longer when growing the second failed. */
static gnt_status grow_arcs(gnti_arc_list *arcs, bool weighted)
{
    gnt_status st = GNT_OK;
    int64_t capacity = arcs->capacity;

    if (arcs->num_arcs < arcs->capacity)
        goto done;
    GNT_TRY(gnti_grow_array(&arcs->source, &capacity, arcs->num_arcs + 1));
    capacity = arcs->capacity;
    GNT_TRY(gnti_grow_array(&arcs->target, &capacity, arcs->num_arcs + 1));
    if (weighted) {
        capacity = arcs->capacity;
        GNT_TRY(gnti_grow_array(&arcs->weight, &capacity, arcs->num_arcs + 1));
    }
    arcs->capacity = capacity;
done:
    return st;
}

gnt_status gnti_raw_add_arc(gnti_raw *raw, int64_t source, int64_t target)
{
    gnt_status st = GNT_OK;
    gnti_arc_list *arcs = &raw->arcs;

    GNT_TRY(grow_arcs(arcs, false));
    arcs->source[arcs->num_arcs] = source;
    arcs->target[arcs->num_arcs++] = target;
done:
    return st;
}

gnt_status gnti_raw_add_weighted(gnti_raw *raw, int64_t source, int64_t target, float weight)
{
    gnt_status st = GNT_OK;
    gnti_arc_list *arcs = &raw->arcs;

    GNT_TRY(grow_arcs(arcs, true));
    arcs->source[arcs->num_arcs] = source;
    arcs->target[arcs->num_arcs] = target;
    arcs->weight[arcs->num_arcs++] = weight;
done:
    return st;
}

gnt_status gnti_raw_add_node(gnti_raw *raw, int64_t id)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&raw->node_id, &raw->node_id_capacity, raw->num_listed + 1));
    raw->node_id[raw->num_listed++] = id;
done:
    return st;
}

gnt_status gnti_raw_add_class(gnti_raw *raw, int64_t value)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&raw->y.value, &raw->y.capacity, raw->y.count + 1));
    raw->y.value[raw->y.count++] = value;
done:
    return st;
}

/* Numbers read so far become names: the column turned out to hold text. */
static gnt_status turn_into_names(gnti_label_column *y)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < y->count; i++) {
        char text[LABEL_TEXT_BYTES];
        const int n = snprintf(text, sizeof text, "%lld", (long long)y->value[i]);

        if (y->value[i] >= 0)
            GNT_TRY(gnti_string_table_add(&y->names, text, (size_t)n, &y->value[i]));
    }
    y->is_text = true;
done:
    return st;
}

gnt_status gnti_raw_add_label(gnti_raw *raw, const char *text, size_t length)
{
    gnt_status st = GNT_OK;
    gnti_label_column *y = &raw->y;
    int64_t value = -1;
    const bool is_number = gnti_parse_int64(text, length, &value) == GNTI_PARSE_OK;

    if (!y->is_text && !is_number && length > 0)
        GNT_TRY(turn_into_names(y));
    if (length == 0)
        value = -1; /* an empty cell is an unlabelled node */
    else if (y->is_text)
        GNT_TRY(gnti_string_table_add(&y->names, text, length, &value));
    GNT_TRY(gnti_raw_add_class(raw, value));
done:
    return st;
}

gnt_status gnti_raw_add_split(gnti_raw *raw, const char *name, const char *source, gnti_split **out)
{
    gnt_status st = GNT_OK;
    gnti_split *split;

    GNT_TRY(gnti_realloc_array(&raw->splits, raw->num_splits + 1));
    split = &raw->splits[raw->num_splits];
    memset(split, 0, sizeof *split);
    raw->num_splits++;
    GNT_TRY(gnti_strdup(&split->name, name));
    GNT_TRY(gnti_strdup(&split->kind, "given"));
    GNT_TRY(gnti_strdup(&split->source, source));
    *out = split;
done:
    return st;
}

gnt_status gnti_split_add(gnti_split *split, int part, int64_t node)
{
    gnt_status st = GNT_OK;
    const int64_t n = split->num_nodes[part];

    if ((n & (n - 1)) == 0) /* 0, 1, 2, 4, 8, ...: full */
        GNT_TRY(gnti_realloc_array(&split->nodes[part], gnti_max_i64(2 * n, 1)));
    split->nodes[part][n] = node;
    split->num_nodes[part] = n + 1;
done:
    return st;
}
