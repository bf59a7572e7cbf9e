/* SPDX-License-Identifier: Apache-2.0 */
/* Joining by id. Numbers are compared as numbers ("007" is 7), names byte by byte. The usual file has the dataset's own order, so
 * the id that is expected next is tried first; the table of all ids is made when that fails for the first time.
 */
#include "ensemble/id_join.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_BYTES = 64 };

gnt_status gnti_output_order(const gnt_dataset *data, int64_t **order)
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;
    int64_t *node = NULL;

    *order = NULL;
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    if (origin == NULL)
        goto done;
    GNT_TRY(gnti_alloc_array(&node, data->num_nodes));
    for (int64_t i = 0; i < data->num_nodes; i++)
        node[origin[i]] = i;
    *order = node;
done:
    return st;
}

const char *gnti_node_id(const gnt_dataset *data, const int64_t *origin, int64_t node,
                         char buffer[GNTI_ID_BYTES])
{
    if (data->id_text != NULL)
        return data->id_text[node];
    snprintf(buffer, GNTI_ID_BYTES, "%lld",
             (long long)(data->id != NULL ? data->id[node]
                         : origin != NULL ? origin[node]
                                          : node));
    return buffer;
}

gnt_status gnti_id_join_begin(const gnt_dataset *data, const char *source, gnti_id_join *join)
{
    gnt_status st = GNT_OK;

    *join = (gnti_id_join){ .data = data, .source = source };
    GNT_TRY(gnti_output_order(data, &join->order));
    GNT_TRY(gnti_calloc_array(&join->seen, data->num_nodes));
done:
    if (st != GNT_OK)
        gnti_id_join_free(join);
    return st;
}

/* The id of the row-th row that gnntrain predict writes. */
static const char *expected_id(const gnti_id_join *join, int64_t row, char buffer[GNTI_ID_BYTES])
{
    const int64_t node = join->order != NULL ? join->order[row] : row;

    if (join->data->id_text != NULL || join->data->id != NULL)
        return gnti_node_id(join->data, NULL, node, buffer);
    snprintf(buffer, GNTI_ID_BYTES, "%lld", (long long)row);
    return buffer;
}

static gnt_status make_table(gnti_id_join *join)
{
    gnt_status st = GNT_OK;
    char buffer[GNTI_ID_BYTES];
    int64_t number = 0;

    for (int64_t r = 0; r < join->data->num_nodes; r++) {
        const char *id = expected_id(join, r, buffer);

        GNT_TRY(gnti_string_table_add(&join->ids, id, strlen(id), &number));
        GNT_CHECK(number == r, GNT_ERR_FORMAT,
                  "the dataset has the id '%.*s' twice: predictions cannot be joined by id", SHOWN_BYTES, id);
    }
    join->has_table = true;
done:
    return st;
}

gnt_status gnti_id_join_next(gnti_id_join *join, const char *text, size_t length, int64_t *node)
{
    gnt_status st = GNT_OK;
    const int shown = (int)(length < SHOWN_BYTES ? length : SHOWN_BYTES);
    const int64_t row = join->num_rows;
    char number[GNTI_ID_BYTES], buffer[GNTI_ID_BYTES];
    int64_t value = 0, at = row;
    const char *id = NULL;

    if (join->data->id_text == NULL) {
        GNT_CHECK(gnti_parse_int64(text, length, &value) == GNTI_PARSE_OK, GNT_ERR_FORMAT,
                  "'%s', row %lld: id '%.*s' is no whole number, the dataset's ids are", join->source,
                  (long long)row + 1, shown, text);
        snprintf(number, sizeof number, "%lld", (long long)value);
        text = number;
        length = strlen(number);
    }
    id = row < join->data->num_nodes ? expected_id(join, row, buffer) : NULL;
    if (id == NULL || strlen(id) != length || memcmp(id, text, length) != 0) {
        if (!join->has_table)
            GNT_TRY(make_table(join));
        at = gnti_string_table_find(&join->ids, text, length);
    }
    GNT_CHECK(at >= 0, GNT_ERR_FORMAT, "'%s', row %lld: the dataset has no node '%.*s'", join->source,
              (long long)row + 1, shown, text);
    GNT_CHECK(!join->seen[at], GNT_ERR_FORMAT, "'%s', row %lld: id '%.*s' stands twice", join->source,
              (long long)row + 1, shown, text);
    join->seen[at] = 1;
    join->num_rows++;
    *node = join->order != NULL ? join->order[at] : at;
done:
    return st;
}

gnt_status gnti_id_join_finish(const gnti_id_join *join)
{
    gnt_status st = GNT_OK;
    char buffer[GNTI_ID_BYTES];

    for (int64_t r = 0; r < join->data->num_nodes; r++)
        GNT_CHECK(join->seen[r], GNT_ERR_FORMAT,
                  "'%s' has no prediction of node '%.*s': %lld rows for the dataset's %lld nodes",
                  join->source, SHOWN_BYTES, expected_id(join, r, buffer), (long long)join->num_rows,
                  (long long)join->data->num_nodes);
done:
    return st;
}

void gnti_id_join_free(gnti_id_join *join)
{
    gnti_string_table_clear(&join->ids);
    gnti_free(join->order);
    gnti_free(join->seen);
    *join = (gnti_id_join){ 0 };
}
