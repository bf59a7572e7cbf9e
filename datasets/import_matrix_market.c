/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market: "%%MatrixMarket matrix coordinate|array pattern|integer|real
 * general|symmetric|skew-symmetric".
 *
 * Row i, column j is an arc i -> j; a symmetric matrix is an undirected graph, the others state direction.
 * The strict reading of the format: sizes, counts and types are held to, of symmetric matrices one triangle
 * is stored. Complex and hermitian matrices, and those that are not square, are no graph and are
 * refused. Boisvert, Pozo, Remington: The Matrix Market exchange formats, NISTIR 5935, 1996.
 */
#include "datasets/import.h"

#include <string.h>
#include <strings.h>

typedef struct market {
    gnti_reader reader;
    gnti_raw *raw;
    bool array, pattern, integer, symmetric, skew, lower, upper;
    int64_t size, num_entries;
} market;

static const char BANNER[] = "%%MatrixMarket";

static bool word_is(const gnti_token *t, const char *word)
{
    return t->length == strlen(word) && strncasecmp(t->text, word, t->length) == 0;
}

static gnt_status read_banner(market *m)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;
    gnti_token t[5] = { { "", 0 } };
    const bool any = gnti_reader_next(r);

    GNT_TRY(gnti_reader_status(r));
    for (int i = 0; any && i < 5; i++)
        if (!gnti_reader_token(r, &t[i]))
            t[i] = (gnti_token){ "", 0 };
    GNT_CHECK(any && word_is(&t[0], BANNER), GNT_ERR_FORMAT,
              "'%s' does not start with %s: --format edgelist reads it as a list of edges",
              gnti_byte_source_name(r->source), BANNER);
    GNT_CHECK(word_is(&t[1], "matrix"), GNT_ERR_FORMAT, "%s: object '%s', a matrix was expected",
              gnti_reader_where(r), gnti_reader_show(r, &t[1]));
    m->array = word_is(&t[2], "array");
    GNT_CHECK(m->array || word_is(&t[2], "coordinate"), GNT_ERR_FORMAT,
              "%s: layout '%s' is not coordinate or array", gnti_reader_where(r), gnti_reader_show(r, &t[2]));
    m->pattern = word_is(&t[3], "pattern");
    m->integer = word_is(&t[3], "integer");
    GNT_CHECK(m->pattern || m->integer || word_is(&t[3], "real") || word_is(&t[3], "double"), GNT_ERR_FORMAT,
              "%s: values '%s' cannot be weights of edges, only pattern, integer and real can",
              gnti_reader_where(r), gnti_reader_show(r, &t[3]));
    GNT_CHECK(!(m->array && m->pattern), GNT_ERR_FORMAT, "%s: 'array pattern' does not exist",
              gnti_reader_where(r));
    m->symmetric = word_is(&t[4], "symmetric");
    m->skew = word_is(&t[4], "skew-symmetric");
    GNT_CHECK(m->symmetric || m->skew || word_is(&t[4], "general"), GNT_ERR_FORMAT,
              "%s: symmetry '%s' is not general, symmetric or skew-symmetric", gnti_reader_where(r),
              gnti_reader_show(r, &t[4]));
    GNT_CHECK(!(m->skew && m->pattern), GNT_ERR_FORMAT, "%s: 'pattern skew-symmetric' does not exist",
              gnti_reader_where(r));
    GNT_TRY(gnti_reader_line_done(r));
done:
    return st;
}

static gnt_status read_size(market *m)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;
    int64_t rows = 0, columns = 0;

    if (!gnti_reader_next_data(r, "%")) {
        GNT_TRY(gnti_reader_status(r));
        GNT_FAIL(GNT_ERR_FORMAT, "'%s' has no line of sizes", gnti_byte_source_name(r->source));
    }
    GNT_TRY(gnti_reader_i64(r, "number of rows", &rows));
    GNT_TRY(gnti_reader_i64(r, "number of columns", &columns));
    if (!m->array)
        GNT_TRY(gnti_reader_i64(r, "number of entries", &m->num_entries));
    GNT_TRY(gnti_reader_line_done(r));
    GNT_CHECK(rows >= 0 && columns >= 0 && m->num_entries >= 0, GNT_ERR_FORMAT, "%s: a size is negative",
              gnti_reader_where(r));
    GNT_CHECK(rows == columns, GNT_ERR_FORMAT, "%s: the matrix is %lld x %lld, a graph needs a square one",
              gnti_reader_where(r), (long long)rows, (long long)columns);
    GNT_CHECK(rows < INT32_MAX, GNT_ERR_LIMIT, "%s: %lld nodes, the limit is %d", gnti_reader_where(r),
              (long long)rows, INT32_MAX - 1);
    m->size = rows;
    if (m->array) /* column by column; symmetric: from the diagonal down, skew: from below it */
        m->num_entries = m->symmetric ? rows * (rows + 1) / 2 : m->skew ? rows * (rows - 1) / 2 : rows * rows;
done:
    return st;
}

static gnt_status add_entry(market *m, int64_t row, int64_t column, float value)
{
    gnt_status st = GNT_OK;
    const bool mirror = m->skew && row != column;

    if (m->pattern) {
        GNT_TRY(gnti_raw_add_arc(m->raw, row, column));
        goto done;
    }
    GNT_TRY(gnti_raw_add_weighted(m->raw, row, column, value));
    if (mirror)
        GNT_TRY(gnti_raw_add_weighted(m->raw, column, row, -value));
done:
    return st;
}

static gnt_status read_value(market *m, float *out)
{
    gnt_status st = GNT_OK;
    int64_t integer = 0;

    if (m->integer) {
        GNT_TRY(gnti_reader_i64(&m->reader, "whole value", &integer));
        *out = (float)integer;
    } else {
        GNT_TRY(gnti_reader_float(&m->reader, "value", out));
    }
done:
    return st;
}

/* Empty lines are passed over; comments belong before the sizes. */
static gnt_status next_entry_line(market *m, int64_t entry)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;

    if (!gnti_reader_next_data(r, "")) {
        GNT_TRY(gnti_reader_status(r));
        GNT_FAIL(GNT_ERR_FORMAT, "'%s' ends behind %lld of the %lld entries that its sizes state",
                 gnti_byte_source_name(r->source), (long long)entry, (long long)m->num_entries);
    }
done:
    return st;
}

static gnt_status read_coordinates(market *m)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;
    int64_t row = 0, column = 0;
    float value = 1.0f;

    for (int64_t i = 0; i < m->num_entries; i++) {
        GNT_TRY(next_entry_line(m, i));
        GNT_TRY(gnti_reader_i64(r, "row", &row));
        GNT_TRY(gnti_reader_i64(r, "column", &column));
        if (!m->pattern)
            GNT_TRY(read_value(m, &value));
        GNT_TRY(gnti_reader_line_done(r));
        GNT_CHECK(row >= 1 && row <= m->size && column >= 1 && column <= m->size, GNT_ERR_FORMAT,
                  "%s: entry (%lld, %lld) is outside the %lld x %lld matrix", gnti_reader_where(r),
                  (long long)row, (long long)column, (long long)m->size, (long long)m->size);
        m->lower = m->lower || row > column;
        m->upper = m->upper || row < column;
        GNT_CHECK(
            !(m->symmetric || m->skew) || !(m->lower && m->upper), GNT_ERR_FORMAT,
            "%s: entry (%lld, %lld), but others are on the other side of the diagonal: a symmetric matrix "
            "stores one side",
            gnti_reader_where(r), (long long)row, (long long)column);
        GNT_CHECK(!m->skew || row != column, GNT_ERR_FORMAT,
                  "%s: entry (%lld, %lld) on the diagonal of a skew matrix", gnti_reader_where(r),
                  (long long)row, (long long)column);
        GNT_TRY(add_entry(m, row, column, value));
    }
done:
    return st;
}

/* Zeros of a dense matrix are no arcs. */
static gnt_status read_array(market *m)
{
    gnt_status st = GNT_OK;
    int64_t entry = 0;
    float value = 0.0f;

    for (int64_t column = 1; column <= m->size; column++) {
        for (int64_t row = m->symmetric ? column : m->skew ? column + 1 : 1; row <= m->size; row++) {
            GNT_TRY(next_entry_line(m, entry++));
            GNT_TRY(read_value(m, &value));
            GNT_TRY(gnti_reader_line_done(&m->reader));
            if (value < 0.0f || value > 0.0f)
                GNT_TRY(add_entry(m, row, column, value));
        }
    }
done:
    return st;
}

static gnt_status market_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    market m = { .raw = raw };

    GNT_CHECK(in->source != NULL, GNT_ERR_USAGE, "format mtx reads one file");
    GNT_TRY(gnti_reader_from_source(in->source, &m.reader));
    GNT_TRY(read_banner(&m));
    GNT_TRY(read_size(&m));
    raw->id_rule = GNTI_IDS_ONE_BASED;
    raw->num_nodes = m.size;
    raw->direction_stated = true;
    raw->directed = !m.symmetric;
    GNT_TRY(m.array ? read_array(&m) : read_coordinates(&m));
    if (gnti_reader_next_data(&m.reader, ""))
        GNT_FAIL(GNT_ERR_FORMAT, "%s: more than the %lld entries that the sizes state",
                 gnti_reader_where(&m.reader), (long long)m.num_entries);
    GNT_TRY(gnti_reader_status(&m.reader));
done:
    gnti_reader_close(&m.reader);
    return st;
}

static gnt_status market_matches(const gnti_import_input *in, bool *out)
{
    const size_t n = sizeof BANNER - 1;
    const char *path = in->paths[0];

    *out = false;
    if (in->source == NULL || gnti_byte_source_is_zip(in->source))
        return GNT_OK;
    *out = gnti_import_has_suffix(path, ".mtx") ||
           (in->head_bytes > n && strncasecmp(in->head, BANNER, n) == 0 &&
            !gnti_import_has_suffix(path, ".edgelist") && !gnti_import_has_suffix(path, ".edges"));
    return GNT_OK;
}

const gnti_importer gnti_import_matrix_market = {
    .name = "mtx",
    .takes_node_files = true,
    .matches = market_matches,
    .read = market_read,
};
