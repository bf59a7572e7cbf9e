/* SPDX-License-Identifier: Apache-2.0 */
/* Further files that describe nodes.
 *
 *   --labels FILE     "id label" a line (a header line is fine)
 *   --features FILE   svmlight: "label column:value ...", row r describes node r, columns from 1 (from 0 when
 * a 0 occurs); table: "id value value ..." a line; with a header of the three names node, feature, value: one
 * value a line
 */
#include "datasets/import.h"

#include <string.h>
#include <strings.h>

typedef struct node_files {
    gnti_raw *raw;
    gnti_reader reader;
    gnti_string_table rows; /* id as text -> row */
} node_files;

static bool is_number(const gnti_token *t)
{
    double value;

    return gnti_parse_double(t->text, t->length, &value) == GNTI_PARSE_OK;
}

/* The row that describes a node; a new one for an id that no row has. */
static gnt_status row_of_id(node_files *f, const gnti_token *token, int64_t *row)
{
    gnt_status st = GNT_OK;
    gnti_raw *raw = f->raw;
    int64_t id;

    GNT_TRY(gnti_reader_check_name(&f->reader, "node id", token));
    GNT_TRY(gnti_string_table_add(&f->rows, token->text, token->length, row));
    if (*row < raw->num_listed)
        goto done;
    if (raw->id_rule == GNTI_IDS_TEXT)
        GNT_TRY(gnti_string_table_add(&raw->names, token->text, token->length, &id));
    else
        GNT_CHECK(gnti_parse_int64(token->text, token->length, &id) == GNTI_PARSE_OK, GNT_ERR_FORMAT,
                  "%s: id '%s' is no integer as the ids of the edges", gnti_reader_where(&f->reader),
                  gnti_reader_show(&f->reader, token));
    GNT_TRY(gnti_raw_add_node(raw, id));
done:
    return st;
}

/* ---- svmlight ---- */

/* "12:0.5" */
static gnt_status read_pair(node_files *f, const gnti_token *token, int64_t *lowest)
{
    gnt_status st = GNT_OK;
    const char *colon = memchr(token->text, ':', token->length);
    gnti_token value;
    int64_t column = -1;
    float number = 0.0f;

    GNT_CHECK(colon != NULL, GNT_ERR_FORMAT, "%s: '%s' is not column:value", gnti_reader_where(&f->reader),
              gnti_reader_show(&f->reader, token));
    value = (gnti_token){ colon + 1, token->length - (size_t)(colon + 1 - token->text) };
    GNT_CHECK(gnti_parse_int64(token->text, (size_t)(colon - token->text), &column) == GNTI_PARSE_OK &&
                  column >= 0 && column < INT32_MAX && gnti_token_to_float(&value, &number),
              GNT_ERR_FORMAT, "%s: '%s' is not column:value with a column from 0 and a finite value",
              gnti_reader_where(&f->reader), gnti_reader_show(&f->reader, token));
    *lowest = gnti_min_i64(*lowest, column);
    GNT_TRY(gnti_feature_rows_add(&f->raw->x, column, number));
done:
    return st;
}

static gnt_status read_svmlight(node_files *f, bool labels_too)
{
    gnt_status st = GNT_OK;
    gnti_feature_rows *x = &f->raw->x;
    gnti_token token;
    int64_t lowest = INT64_MAX;

    GNT_CHECK(
        f->raw->id_rule != GNTI_IDS_TEXT, GNT_ERR_FORMAT,
        "svmlight rows carry no ids, but the nodes have names: give a table whose first column is the id");
    do {
        GNT_CHECK(gnti_reader_token(&f->reader, &token), GNT_ERR_FORMAT, "%s: an empty row",
                  gnti_reader_where(&f->reader));
        if (labels_too)
            GNT_TRY(gnti_raw_add_label(f->raw, token.text, token.length));
        while (gnti_reader_token(&f->reader, &token) && token.text[0] != '#')
            GNT_TRY(read_pair(f, &token, &lowest));
        GNT_TRY(gnti_feature_rows_end(x));
    } while (gnti_reader_next_data(&f->reader, "#"));
    for (int64_t i = 0; lowest > 0 && i < x->num_values; i++)
        x->columns[i]--;
    x->width -= lowest > 0 && x->width > 0;
    if (f->raw->num_nodes < 0 && f->raw->id_rule == GNTI_IDS_AUTO)
        f->raw->num_nodes = x->num_rows;
done:
    return st;
}

/* ---- tables ---- */

static gnt_status read_table_row(node_files *f, int64_t *num_columns)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };
    int64_t row, column = 0;

    (void)gnti_reader_token(&f->reader, &token);
    GNT_TRY(row_of_id(f, &token, &row));
    GNT_CHECK(row == f->raw->x.num_rows, GNT_ERR_FORMAT, "%s: id '%s' has a row already",
              gnti_reader_where(&f->reader), gnti_reader_show(&f->reader, &token));
    for (; gnti_reader_token(&f->reader, &token); column++)
        GNT_TRY(gnti_import_feature_token(&f->reader, &token, column, f->raw));
    GNT_CHECK(*num_columns < 0 || *num_columns == column, GNT_ERR_FORMAT,
              "%s: %lld values, the rows before have %lld", gnti_reader_where(&f->reader), (long long)column,
              (long long)*num_columns);
    *num_columns = column;
    GNT_TRY(gnti_feature_rows_end(&f->raw->x));
done:
    return st;
}

gnt_status gnti_import_feature_token(gnti_reader *reader, const gnti_token *token, int64_t column,
                                     gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    float value = 0.0f;

    if (token->length == 1 && (token->text[0] == '0' || token->text[0] == '1'))
        value = (float)(token->text[0] - '0'); /* most cells of most files */
    else
        GNT_CHECK(gnti_token_to_float(token, &value), GNT_ERR_FORMAT,
                  "%s: feature '%s' in column %lld is no finite number", gnti_reader_where(reader),
                  gnti_reader_show(reader, token), (long long)column + 1);
    GNT_TRY(gnti_feature_rows_add(&raw->x, column, value));
done:
    return st;
}

/* One value a line: node, feature, value. Rows are appended, so the lines of a node must follow each other.
 */
static gnt_status read_triples(node_files *f)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };
    int64_t open = -1, row, column;
    float value;

    while (gnti_reader_next_data(&f->reader, "#%")) {
        (void)gnti_reader_token(&f->reader, &token);
        GNT_TRY(row_of_id(f, &token, &row));
        GNT_CHECK(row == open || row == open + 1, GNT_ERR_FORMAT,
                  "%s: node '%s' has values further up: sort the file by node", gnti_reader_where(&f->reader),
                  gnti_reader_show(&f->reader, &token));
        if (row > open && open >= 0)
            GNT_TRY(gnti_feature_rows_end(&f->raw->x));
        open = row;
        GNT_TRY(gnti_reader_i64(&f->reader, "feature number", &column));
        GNT_TRY(gnti_reader_float(&f->reader, "feature value", &value));
        GNT_CHECK(column >= 0, GNT_ERR_FORMAT, "%s: feature number %lld is below 0",
                  gnti_reader_where(&f->reader), (long long)column);
        GNT_TRY(gnti_reader_line_done(&f->reader));
        GNT_TRY(gnti_feature_rows_add(&f->raw->x, column, value));
    }
    GNT_TRY(gnti_reader_status(&f->reader));
    if (open >= 0)
        GNT_TRY(gnti_feature_rows_end(&f->raw->x));
done:
    return st;
}

static gnt_status read_features(node_files *f, const char *path, bool labels_too)
{
    gnt_status st = GNT_OK;
    gnti_token token;
    int64_t num_columns = -1, tokens = 0, numbers = 0;
    bool has_colon = false, ends_in_value = false;

    GNT_TRY(gnti_reader_open(path, &f->reader));
    if (!gnti_reader_next_data(&f->reader, "#%")) {
        GNT_TRY(gnti_reader_status(&f->reader));
        GNT_FAIL(GNT_ERR_FORMAT, "'%s' has no features", path);
    }
    while (gnti_reader_token(&f->reader, &token)) {
        tokens++;
        numbers += is_number(&token);
        ends_in_value = token.length == 5 && strncasecmp(token.text, "value", 5) == 0;
        has_colon = has_colon || (tokens == 2 && memchr(token.text, ':', token.length) != NULL);
    }
    gnti_reader_rewind_line(&f->reader);
    if (has_colon) {
        GNT_TRY(read_svmlight(f, labels_too));
    } else if (numbers == 0 && tokens == 3 && ends_in_value) {
        GNT_TRY(read_triples(f));
    } else {
        if (numbers > 0)
            GNT_TRY(read_table_row(f, &num_columns));
        while (gnti_reader_next_data(&f->reader, "#%"))
            GNT_TRY(read_table_row(f, &num_columns));
    }
    GNT_TRY(gnti_reader_status(&f->reader));
done:
    gnti_reader_close(&f->reader);
    return st;
}

static gnt_status set_label(node_files *f, int64_t row, const gnti_token *token, const gnti_token *id)
{
    gnt_status st = GNT_OK;
    gnti_label_column *y = &f->raw->y;

    if (token->length > 0)
        GNT_TRY(gnti_reader_check_name(&f->reader, "label", token));
    while (y->count < row)
        GNT_TRY(gnti_raw_add_class(f->raw, -1));
    if (row == y->count) {
        GNT_TRY(gnti_raw_add_label(f->raw, token->text, token->length));
        goto done;
    }
    GNT_CHECK(y->value[row] == -1, GNT_ERR_FORMAT, "%s: id '%s' has a label already",
              gnti_reader_where(&f->reader), gnti_reader_show(&f->reader, id));
    GNT_TRY(gnti_raw_add_label(f->raw, token->text, token->length));
    y->value[row] = y->value[--y->count];
done:
    return st;
}

static bool is_header(gnti_reader *reader)
{
    gnti_token id = { "", 0 }, label = { "", 0 };

    (void)gnti_reader_token(reader, &id);
    (void)gnti_reader_token(reader, &label);
    gnti_reader_rewind_line(reader);
    return gnti_token_equals(&label, "label") || gnti_token_equals(&label, "class") ||
           gnti_token_equals(&label, "target") || gnti_token_equals(&label, "y");
}

static gnt_status read_labels(node_files *f, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_token id = { "", 0 }, label = { "", 0 };
    int64_t row;
    bool first = true;

    GNT_TRY(gnti_reader_open(path, &f->reader));
    for (; gnti_reader_next_data(&f->reader, "#%"); first = false) {
        if (first && is_header(&f->reader))
            continue;
        (void)gnti_reader_token(&f->reader, &id);
        GNT_CHECK(gnti_reader_token(&f->reader, &label), GNT_ERR_FORMAT,
                  "%s: a label was expected behind the id", gnti_reader_where(&f->reader));
        GNT_TRY(gnti_reader_line_done(&f->reader));
        GNT_TRY(row_of_id(f, &id, &row));
        GNT_TRY(set_label(f, row, &label, &id));
    }
    GNT_TRY(gnti_reader_status(&f->reader));
    GNT_CHECK(f->raw->y.count > 0, GNT_ERR_FORMAT, "'%s' has no labels", path);
done:
    gnti_reader_close(&f->reader);
    return st;
}

/* Rows by number, from svmlight, become listed nodes, so that labels by id can join them. */
static gnt_status list_rows(node_files *f)
{
    gnt_status st = GNT_OK;
    const bool one_based = f->raw->id_rule == GNTI_IDS_ONE_BASED;

    for (int64_t r = 0; r < f->raw->x.num_rows; r++) {
        gnti_text text = { 0 };
        int64_t row;

        gnti_text_printf(&text, "%lld", (long long)(r + one_based));
        st = text.status != GNT_OK ? text.status
                                   : gnti_string_table_add(&f->rows, text.data, (size_t)text.length, &row);
        gnti_text_free(&text);
        GNT_TRY(st);
        GNT_TRY(gnti_raw_add_node(f->raw, r + one_based));
    }
done:
    return st;
}

gnt_status gnti_import_node_files(const gntx_import_options *options, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    node_files f = { .raw = raw };
    const bool labels = options->labels != NULL && options->labels[0] != '\0';

    if (gnti_import_features_are(options, GNTI_FEATURES_FILE)) {
        gnti_import_note_input(raw, options->features);
        GNT_TRY(read_features(&f, options->features, !labels));
    }
    if (labels) {
        gnti_import_note_input(raw, options->labels);
        if (raw->num_listed == 0 && raw->x.num_rows > 0)
            GNT_TRY(list_rows(&f));
        GNT_TRY(read_labels(
            &f, options->labels)); /* nodes that it alone lists come behind the rows of features */
    }
done:
    gnti_string_table_clear(&f.rows);
    return st;
}
