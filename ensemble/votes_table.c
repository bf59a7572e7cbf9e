/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions as CSV (RFC 4180, one line a row: "id,P0,P1,..." with or without a head) and as HDF5 (/id and /probability, as
 * gnntrain predict writes them; /logits, and /prediction of a regression, are taken too). Values that are no numbers are let
 * through: whoever combines names node and class.
 */
#include "ensemble/votes_read.h"

#include "base/text.h"
#include "datasets/h5_value.h"
#include "datasets/reader.h"

#include <stdio.h>
#include <string.h>

enum { SLAB_ROWS = 4096, SHOWN_BYTES = 64 };

/* ---- columns ---- */

static int64_t class_named(const gnt_dataset *data, const char *name)
{
    for (int64_t c = 0; data->y.names != NULL && c < data->y.num_classes; c++)
        if (strcmp(data->y.names[c], name) == 0)
            return c;
    return -1;
}

/* K of "probability_K"; -1: no such name. */
static int64_t class_numbered(const gnt_dataset *data, const char *name)
{
    const char *digits = strrchr(name, '_');
    int64_t c = -1;

    if (digits == NULL || gnti_parse_int64(digits + 1, strlen(digits + 1), &c) != GNTI_PARSE_OK || c < 0 ||
        c >= data->y.num_classes)
        return -1;
    return c;
}

gnt_status gnti_votes_columns(const gnt_dataset *data, const char *source, char *const *names, bool strict,
                              int64_t *column)
{
    gnt_status st = GNT_OK;
    const int64_t width = data->y.num_classes;
    int64_t named = 0, numbered = 0;

    for (int64_t c = 0; c < width; c++) {
        named += class_named(data, names[c]) >= 0;
        numbered += class_numbered(data, names[c]) >= 0;
    }
    for (int64_t c = 0; c < width; c++) {
        column[c] = named > 0 || (strict && data->y.names != NULL) ? class_named(data, names[c])
                    : numbered == width                            ? class_numbered(data, names[c])
                                                                   : c;
        GNT_CHECK(column[c] >= 0, GNT_ERR_FORMAT, "'%s': column '%.*s' is no class of the dataset", source,
                  SHOWN_BYTES, names[c]);
        for (int64_t k = 0; k < c; k++)
            GNT_CHECK(column[k] != column[c], GNT_ERR_FORMAT, "'%s': class '%.*s' has two columns", source,
                      SHOWN_BYTES, names[c]);
    }
done:
    return st;
}

/* ---- CSV ---- */

/* The next field of a line, which is cut up in place; false: quotes that do not close. *cursor NULL behind the last. */
static bool next_field(char **cursor, char **field)
{
    char *from = *cursor, *to = *cursor;

    *field = to;
    if (*from == '"') {
        for (from++; *from != '\0' && (*from != '"' || from[1] == '"'); from++) {
            *to++ = *from;
            from += *from == '"';
        }
        if (*from != '"' || (from[1] != ',' && from[1] != '\0'))
            return false;
        from++;
    } else {
        from += strcspn(from, ",");
        to = from;
    }
    *cursor = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    return true;
}

/* What gnntrain predict of an ensemble writes behind the probabilities. */
enum { MOST_MORE = 2 };

static bool are_doubts(char *const *names, int64_t num)
{
    bool are = num >= 0 && num <= MOST_MORE;

    for (int64_t i = 0; i < num && are; i++)
        are = strcmp(names[i], "entropy") == 0 || strcmp(names[i], "disagreement") == 0;
    return are;
}

/* Exactly `count` fields of the reader's line, and `expected` that count for nothing (below 0: of a head, those that it names). */
static gnt_status split_line(gnti_reader *reader, int64_t count, int64_t expected, char **fields,
                             int64_t *more)
{
    gnt_status st = GNT_OK;
    char *cursor = reader->line;
    int64_t found = 0;

    while (cursor != NULL) {
        char *field = NULL;

        GNT_CHECK(next_field(&cursor, &field), GNT_ERR_FORMAT, "%s: quotes that do not close",
                  gnti_reader_where(reader));
        if (found < count + MOST_MORE)
            fields[found] = field;
        found++;
    }
    *more = found - count;
    GNT_CHECK(expected < 0 ? found == count || are_doubts(fields + count, *more) : *more == expected,
              GNT_ERR_FORMAT, "%s: %lld columns, %lld are needed: an id and a probability of each class%s",
              gnti_reader_where(reader), (long long)found, (long long)count,
              found == 2 ? " (gnntrain predict --what probabilities writes them)" : "");
done:
    return st;
}

static bool is_head(char *const *fields)
{
    double value = 0.0;

    return strcmp(fields[0], "id") == 0 ||
           gnti_parse_double(fields[1], strlen(fields[1]), &value) == GNTI_PARSE_BAD;
}

static gnt_status read_line(gnti_reader *reader, gnti_id_join *join, char *const *fields,
                            const int64_t *column, float *values)
{
    gnt_status st = GNT_OK;
    const int64_t width = join->data->y.num_classes;
    int64_t node = 0;

    GNT_TRY(gnti_id_join_next(join, fields[0], strlen(fields[0]), &node));
    for (int64_t c = 0; c < width; c++) {
        const char *text = fields[c + 1];
        double value = 0.0;

        GNT_CHECK(gnti_parse_double(text, strlen(text), &value) == GNTI_PARSE_OK, GNT_ERR_FORMAT,
                  "%s: '%.*s' is no number", gnti_reader_where(reader), SHOWN_BYTES, text);
        values[node * width + column[c]] = (float)value;
    }
done:
    return st;
}

gnt_status gnti_votes_read_csv(const char *path, const gnt_dataset *data, gnti_votes *v)
{
    gnt_status st = GNT_OK;
    const int64_t width = data->y.num_classes;
    gnti_reader reader = { 0 };
    gnti_id_join join = { 0 };
    char **fields = NULL;
    int64_t *column = NULL;
    float *values = NULL;
    int64_t more = 0, found = 0;
    bool first = true;

    GNT_TRY(gnti_id_join_begin(data, path, &join));
    GNT_TRY(gnti_alloc_array(&fields, width + 1 + MOST_MORE));
    GNT_TRY(gnti_alloc_array(&column, width));
    for (int64_t c = 0; c < width; c++)
        column[c] = c;
    GNT_TRY(gnti_reader_open(path, &reader));
    GNT_TRY(gnti_votes_make_room(data, v, &values));
    for (; gnti_reader_next_data(&reader, ""); first = false) {
        GNT_TRY(split_line(&reader, width + 1, first ? -1 : more, fields, &found));
        more = first ? found : more;
        if (first && is_head(fields))
            GNT_TRY(gnti_votes_columns(data, path, fields + 1, false, column));
        else
            GNT_TRY(read_line(&reader, &join, fields, column, values));
    }
    GNT_TRY(gnti_reader_status(&reader));
    GNT_TRY(gnti_id_join_finish(&join));
done:
    gnti_reader_close(&reader);
    gnti_id_join_free(&join);
    gnti_free(fields);
    gnti_free(column);
    return st;
}

/* ---- HDF5 ---- */

/* Which dataset of the file holds the values. */
static gnt_status find_values(const gnti_h5 *file, const gnt_dataset *data, gnti_votes *v, const char **out)
{
    gnt_status st = GNT_OK;
    const bool regression = data->y.kind == GNT_LABELS_REGRESSION;

    if (gnti_h5_kind_of(file, "/logits") == GNTI_H5_DATASET) {
        v->are_logits = true;
        *out = "/logits";
    } else if (gnti_h5_kind_of(file, "/probability") == GNTI_H5_DATASET) {
        *out = "/probability";
    } else {
        GNT_CHECK(regression && gnti_h5_kind_of(file, "/prediction") == GNTI_H5_DATASET, GNT_ERR_FORMAT,
                  "'%s' has neither /probability nor /logits%s", gnti_h5_path(file),
                  regression ? " nor /prediction"
                             : " (gnntrain predict --what probabilities writes the former)");
        *out = "/prediction";
    }
done:
    return st;
}

/* node (N) of each row. */
static gnt_status read_h5_ids(const gnti_h5 *file, const gnt_dataset *data, int64_t *node)
{
    gnt_status st = GNT_OK;
    gnti_id_join join = { 0 };
    gnti_h5_info info;
    char **texts = NULL, buffer[GNTI_ID_BYTES];
    int64_t *ids = NULL, num = 0;

    GNT_TRY(gnti_id_join_begin(data, gnti_h5_path(file), &join));
    GNT_TRY(gnti_h5_expect(file, "/id", data->num_nodes, 1, &info));
    if (info.type == GNTI_H5_TEXT) {
        GNT_TRY(gnti_h5_read_texts(file, "/id", &texts, &num));
    } else {
        GNT_TRY(gnti_alloc_array(&ids, data->num_nodes));
        GNT_TRY(gnti_h5_read_i64(file, "/id", data->num_nodes, ids));
    }
    for (int64_t r = 0; r < data->num_nodes; r++) {
        const char *id = buffer;

        if (texts != NULL)
            id = texts[r];
        else
            snprintf(buffer, sizeof buffer, "%lld", (long long)ids[r]);
        GNT_TRY(gnti_id_join_next(&join, id, strlen(id), &node[r]));
    }
    GNT_TRY(gnti_id_join_finish(&join));
done:
    gnti_id_join_free(&join);
    gnti_h5_free_texts(&texts, num);
    gnti_free(ids);
    return st;
}

static gnt_status read_h5_columns(const gnti_h5 *file, const gnt_dataset *data, int64_t *column)
{
    gnt_status st = GNT_OK;
    const int64_t width = data->y.num_classes;
    char **names = NULL;
    int64_t num = 0;

    for (int64_t c = 0; c < width; c++)
        column[c] = c;
    if (gnti_h5_kind_of(file, "/classes") != GNTI_H5_DATASET || data->y.names == NULL)
        goto done;
    GNT_TRY(gnti_h5_expect(file, "/classes", width, 1, NULL));
    GNT_TRY(gnti_h5_read_texts(file, "/classes", &names, &num));
    GNT_TRY(gnti_votes_columns(data, gnti_h5_path(file), names, true, column));
done:
    gnti_h5_free_texts(&names, num);
    return st;
}

static gnt_status read_h5_rows(const gnti_h5 *file, const char *path, const gnt_dataset *data,
                               const int64_t *node, const int64_t *column, float *values)
{
    gnt_status st = GNT_OK;
    const int64_t n = data->num_nodes, width = data->y.num_classes;
    float *slab = NULL;

    GNT_TRY(gnti_alloc_array(&slab, SLAB_ROWS * width));
    for (int64_t first = 0; first < n; first += SLAB_ROWS) {
        const int64_t count = n - first < SLAB_ROWS ? n - first : SLAB_ROWS;

        GNT_TRY(gnti_h5_read_rows(file, path, GNTI_FILE_F32, first, count, slab));
        for (int64_t i = 0; i < count * width; i++)
            values[node[first + i / width] * width + column[i % width]] = slab[i];
    }
done:
    gnti_free(slab);
    return st;
}

gnt_status gnti_votes_read_h5(const char *path, const gnt_dataset *data, gnti_votes *v)
{
    gnt_status st = GNT_OK;
    const int64_t n = data->num_nodes, width = data->y.num_classes;
    gnti_h5 *file = NULL;
    gnti_h5_info info;
    int64_t *node = NULL, *column = NULL, *order = NULL;
    const char *from = NULL;
    float *values = NULL;

    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(find_values(file, data, v, &from));
    GNT_TRY(gnti_h5_expect(file, from, n, width, &info));
    GNT_CHECK(info.type != GNTI_H5_TEXT && info.type != GNTI_H5_OTHER, GNT_ERR_FORMAT,
              "'%s' of file '%s' holds no numbers", from, path);
    GNT_TRY(gnti_alloc_array(&node, n));
    GNT_TRY(gnti_alloc_array(&column, width));
    if (gnti_h5_kind_of(file, "/id") == GNTI_H5_DATASET) {
        GNT_TRY(read_h5_ids(file, data, node));
    } else {
        GNT_TRY(gnti_output_order(data, &order));
        for (int64_t r = 0; r < n; r++)
            node[r] = order != NULL ? order[r] : r;
    }
    GNT_TRY(read_h5_columns(file, data, column));
    GNT_TRY(gnti_votes_make_room(data, v, &values));
    GNT_TRY(read_h5_rows(file, from, data, node, column, values));
done:
    gnti_h5_close(&file);
    gnti_free(node);
    gnti_free(column);
    gnti_free(order);
    return st;
}
