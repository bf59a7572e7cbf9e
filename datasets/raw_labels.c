/* SPDX-License-Identifier: Apache-2.0 */
/* Labels to classes. Numbers from 0 with few gaps are the classes themselves, as papers count them; any other
 * numbers, and names, become classes in ascending order and keep their text as the class name. -1 and an
 * empty cell: unlabelled.
 */
#include "datasets/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP_RATIO = 10, GAP_SLACK = 64, NUMBER_BYTES = 24 };

/* One distinct label: its sort key and the value in the column. */
typedef struct label_key {
    const char *name; /* NULL: by value */
    int64_t value;
} label_key;

static int compare_keys(const void *a, const void *b)
{
    const label_key *x = a, *y = b;

    if (x->name != NULL)
        return strcmp(x->name, y->name);
    return (x->value > y->value) - (x->value < y->value);
}

/* The distinct labels of a column in ascending order; *num_keys of them. */
static gnt_status distinct_labels(const gnti_label_column *column, label_key **out, int64_t *num_keys)
{
    gnt_status st = GNT_OK;
    label_key *keys = NULL;
    int64_t n = 0;

    if (column->is_text) {
        n = column->names.num_strings;
        GNT_TRY(gnti_alloc_array(&keys, n));
        for (int64_t i = 0; i < n; i++)
            keys[i] = (label_key){ gnti_string_table_get(&column->names, i), i };
    } else {
        GNT_TRY(gnti_alloc_array(&keys, column->count));
        for (int64_t i = 0; i < column->count; i++)
            if (column->value[i] != -1)
                keys[n++] = (label_key){ NULL, column->value[i] };
    }
    if (n > 0)
        qsort(keys, (size_t)n, sizeof *keys, compare_keys);
    *num_keys = 0;
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || compare_keys(&keys[*num_keys - 1], &keys[i]) != 0)
            keys[(*num_keys)++] = keys[i];
    *out = keys;
done:
    return st;
}

static bool numbers_are_classes(const label_key *keys, int64_t n)
{
    return n > 0 && keys[0].name == NULL && keys[0].value == 0 &&
           keys[n - 1].value < GAP_RATIO * n + GAP_SLACK;
}

static gnt_status name_classes(const gnti_label_column *column, const label_key *keys, bool as_is,
                               gnti_labels *y)
{
    gnt_status st = GNT_OK;
    char number[NUMBER_BYTES];

    if (as_is && column->num_class_names != y->num_classes)
        goto done;
    GNT_TRY(gnti_calloc_array(&y->names, y->num_classes));
    for (int64_t c = 0; c < y->num_classes; c++) {
        const char *name = keys != NULL && !as_is ? keys[c].name : column->class_names[c];

        if (name == NULL) {
            snprintf(number, sizeof number, "%lld", (long long)keys[c].value);
            name = number;
        }
        GNT_TRY(gnti_strdup(&y->names[c], name));
    }
done:
    return st;
}

/* The class of a column's value. */
static int32_t class_of(const label_key *keys, int64_t n, int64_t value, bool as_is,
                        const gnti_label_column *column)
{
    label_key want = { NULL, value };
    const label_key *found;

    if (value == -1)
        return -1;
    if (as_is)
        return (int32_t)value;
    if (column->is_text)
        want.name = gnti_string_table_get(&column->names, value);
    found = bsearch(&want, keys, (size_t)n, sizeof *keys, compare_keys);
    return found != NULL ? (int32_t)(found - keys) : -1;
}

gnt_status gnti_label_column_finish(const gnti_label_column *column, const int64_t *row_of, int64_t num_nodes,
                                    gnti_labels *out)
{
    gnt_status st = GNT_OK;
    gnti_labels y = { .kind = GNT_LABELS_CLASS };
    label_key *keys = NULL;
    int64_t num_keys = 0;
    int32_t num_classes;
    bool as_is;

    GNT_TRY(distinct_labels(column, &keys, &num_keys));
    as_is = !column->is_text && numbers_are_classes(keys, num_keys);
    y.num_classes = as_is ? gnti_max_i64(keys[num_keys - 1].value + 1, column->num_class_names) : num_keys;
    GNT_TRY(gnti_to_i32(y.num_classes, "classes", &num_classes));
    GNT_TRY(gnti_alloc_array(&y.class_of, num_nodes));
    for (int64_t n = 0; n < num_nodes; n++) {
        const int64_t row = row_of != NULL ? row_of[n] : n;

        y.class_of[n] = row >= 0 && row < column->count
                            ? class_of(keys, num_keys, column->value[row], as_is, column)
                            : -1;
    }
    GNT_TRY(name_classes(column, keys, as_is, &y));
    *out = y;
    memset(&y, 0, sizeof y); /* handed over */
done:
    for (int64_t c = 0; y.names != NULL && c < y.num_classes; c++)
        gnti_free(y.names[c]);
    gnti_free(y.names);
    gnti_free(y.class_of);
    gnti_free(keys);
    return st;
}
