/* SPDX-License-Identifier: Apache-2.0 */
/* Edge lists: one edge a line, "source target [weight]", separated by blanks, tabs or commas; comments start
 * with # or %. A header line may name the columns (source, target, weight, time and their usual spellings) in
 * any order.
 *
 * The first line decides whether ids are integers or text and how many columns there are; all others must
 * agree. Most lines of big files are two plain integers: these take a path that looks at each character once.
 * "# Nodes: N" in a comment (SNAP) tells how many different ids there are.
 */
#include "datasets/import.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* What to do about a file without edges. */
static const char REMEDY[] =
    "give an edge a line, 'SOURCE TARGET' (lines that start with # or % are comments); a graph of lone nodes "
    "can come as a Matrix Market file without entries";

enum { MAX_COLUMNS = 32, FAST_DIGITS = 18, NAME_BYTES = 64 };

typedef enum column_role { ROLE_OTHER, ROLE_SOURCE, ROLE_TARGET, ROLE_WEIGHT, ROLE_TIME } column_role;

typedef struct edge_list {
    gnti_reader reader;
    gnti_raw *raw;
    const gntx_import_options *options;
    int num_columns;
    column_role role[MAX_COLUMNS];
    bool has_header, weighted, timed, text_ids;
    int64_t highest; /* ids above it are refused with their line; INT64_MAX: none */
    int64_t *time, time_capacity;
} edge_list;

static const struct {
    const char *name;
    column_role role;
} COLUMN_NAMES[] = {
    { "source", ROLE_SOURCE },   { "src", ROLE_SOURCE },    { "from", ROLE_SOURCE },
    { "u", ROLE_SOURCE },        { "src_id", ROLE_SOURCE }, { "fromnodeid", ROLE_SOURCE },
    { "id_1", ROLE_SOURCE },     { "id1", ROLE_SOURCE },    { "node1", ROLE_SOURCE },
    { "node_1", ROLE_SOURCE },   { "target", ROLE_TARGET }, { "dst", ROLE_TARGET },
    { "to", ROLE_TARGET },       { "v", ROLE_TARGET },      { "dst_id", ROLE_TARGET },
    { "tonodeid", ROLE_TARGET }, { "id_2", ROLE_TARGET },   { "id2", ROLE_TARGET },
    { "node2", ROLE_TARGET },    { "node_2", ROLE_TARGET }, { "weight", ROLE_WEIGHT },
    { "w", ROLE_WEIGHT },        { "value", ROLE_WEIGHT },  { "time", ROLE_TIME },
    { "timestamp", ROLE_TIME },  { "ts", ROLE_TIME },       { "destination", ROLE_TARGET },
};

static column_role role_of(const gnti_token *token)
{
    for (size_t i = 0; i < sizeof COLUMN_NAMES / sizeof *COLUMN_NAMES; i++)
        if (strlen(COLUMN_NAMES[i].name) == token->length &&
            strncasecmp(COLUMN_NAMES[i].name, token->text, token->length) == 0)
            return COLUMN_NAMES[i].role;
    return ROLE_OTHER;
}

/* "# Nodes: 6474    Edges: 26467", as SNAP writes it; prose about direction is not believed. */
static void read_comment(edge_list *e)
{
    const char *found = strstr(e->reader.line, "Nodes:");
    const char *end;

    if (found == NULL)
        return;
    found += strlen("Nodes:");
    while (*found == ' ')
        found++;
    for (end = found; *end >= '0' && *end <= '9';)
        end++;
    if (gnti_parse_int64(found, (size_t)(end - found), &e->raw->num_distinct) != GNTI_PARSE_OK)
        e->raw->num_distinct = -1;
}

/* The next line that holds data; reads what comments tell. */
static bool next_edge_line(edge_list *e)
{
    while (gnti_reader_next(&e->reader)) {
        const char *p = e->reader.line;

        while (*p == ' ' || *p == '\t')
            p++;
        if (*p == '#' || *p == '%')
            read_comment(e);
        else if (p != e->reader.line + e->reader.length)
            return true;
    }
    return false;
}

static bool is_number(const gnti_token *t)
{
    double value;

    return gnti_parse_double(t->text, t->length, &value) != GNTI_PARSE_BAD;
}

/* Tokens of the line; false when there are more than fit. */
static bool split_line(edge_list *e, gnti_token *tokens, int *count)
{
    gnti_token t;

    *count = 0;
    gnti_reader_rewind_line(&e->reader);
    while (gnti_reader_token(&e->reader, &t)) {
        if (*count == MAX_COLUMNS)
            return false;
        tokens[(*count)++] = t;
    }
    gnti_reader_rewind_line(&e->reader);
    return true;
}

/* Whether the next line starts with two integers. */
static bool numbers_follow(const edge_list *e)
{
    size_t length = 0;
    const char *p = gnti_reader_rest(&e->reader, &length), *const end = p + length;
    int found = 0;

    while (p < end && found < 2) {
        const char *start = p += *p == '-';

        while (p < end && *p >= '0' && *p <= '9')
            p++;
        if (p == start || p == end || (*p != ' ' && *p != '\t' && *p != ',' && *p != '\r' && *p != '\n'))
            return false;
        found++;
        while (p < end && (*p == ' ' || *p == '\t' || *p == ','))
            p++;
    }
    return found == 2;
}

/* Names of columns: no number among them, and one that we know or numbers in the next line. */
static bool looks_like_header(const edge_list *e, const gnti_token *tokens, int count)
{
    int known = 0;

    for (int c = 0; c < count; c++) {
        if (tokens[c].length > 0 && is_number(&tokens[c]))
            return false;
        known += role_of(&tokens[c]) != ROLE_OTHER;
    }
    return known > 0 || (e->options->ids != GNTX_IDS_TEXT && numbers_follow(e));
}

static void read_header(edge_list *e, const gnti_token *tokens, int count)
{
    bool source = false, target = false;

    for (int c = 0; c < count; c++) {
        e->role[c] = role_of(&tokens[c]);
        if ((e->role[c] == ROLE_SOURCE && source) || (e->role[c] == ROLE_TARGET && target))
            e->role[c] = ROLE_OTHER;
        source = source || e->role[c] == ROLE_SOURCE;
        target = target || e->role[c] == ROLE_TARGET;
    }
    if (!source || !target) { /* names that we do not know: the usual order */
        e->role[0] = ROLE_SOURCE;
        e->role[1] = ROLE_TARGET;
    }
    for (int c = 0; c < count; c++)
        if (e->role[c] == ROLE_OTHER)
            gnti_text_printf(&e->raw->notes, "column '%s' is not read\n",
                             gnti_reader_show(&e->reader, &tokens[c]));
    e->has_header = true;
}

static gnt_status decide_columns(edge_list *e, int count)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(count >= 2, GNT_ERR_FORMAT, "%s: one value, an edge needs a source and a target",
              gnti_reader_where(&e->reader));
    if (!e->has_header) {
        GNT_CHECK(count <= 3, GNT_ERR_FORMAT,
                  "%s: %d columns, expected source, target and perhaps a weight: name further columns in a "
                  "header line",
                  gnti_reader_where(&e->reader), count);
        e->role[0] = ROLE_SOURCE;
        e->role[1] = ROLE_TARGET;
        e->role[2] = count == 3 ? ROLE_WEIGHT : ROLE_OTHER;
        e->num_columns = count;
    }
    for (int c = 0; c < e->num_columns; c++) {
        e->weighted = e->weighted || e->role[c] == ROLE_WEIGHT;
        e->timed = e->timed || e->role[c] == ROLE_TIME;
    }
done:
    return st;
}

/* Whether ids are text, from the first line of data. A number that is no integer is refused: it cannot be
 * held exactly. */
static gnt_status decide_ids(edge_list *e, const gnti_token *tokens, int count)
{
    gnt_status st = GNT_OK;
    int64_t value;

    e->text_ids = e->options->ids == GNTX_IDS_TEXT;
    for (int c = 0; c < count && c < e->num_columns && !e->text_ids; c++) {
        if (e->role[c] != ROLE_SOURCE && e->role[c] != ROLE_TARGET)
            continue;
        if (gnti_parse_int64(tokens[c].text, tokens[c].length, &value) == GNTI_PARSE_OK)
            continue;
        GNT_CHECK(!is_number(&tokens[c]), GNT_ERR_FORMAT,
                  "%s: id '%s' cannot be held as a 64-bit integer: --ids text takes ids as text",
                  gnti_reader_where(&e->reader), gnti_reader_show(&e->reader, &tokens[c]));
        GNT_CHECK(e->options->ids == GNTX_IDS_AUTO, GNT_ERR_FORMAT, "%s: id '%s' is no integer",
                  gnti_reader_where(&e->reader), gnti_reader_show(&e->reader, &tokens[c]));
        e->text_ids = true;
    }
    e->raw->id_rule = e->text_ids ? GNTI_IDS_TEXT : GNTI_IDS_AUTO;
done:
    return st;
}

/* Reads up to the first line of data, which stays the reader's line. */
static gnt_status read_start(edge_list *e)
{
    gnt_status st = GNT_OK;
    gnti_token tokens[MAX_COLUMNS];
    int count = 0;

    if (!next_edge_line(e)) {
        GNT_TRY(gnti_reader_status(&e->reader));
        GNT_FAIL(GNT_ERR_FORMAT, "'%s' has no edges: %s", gnti_byte_source_name(e->reader.source), REMEDY);
    }
    GNT_CHECK(split_line(e, tokens, &count), GNT_ERR_FORMAT, "%s: more than %d columns, this is no edge list",
              gnti_reader_where(&e->reader), MAX_COLUMNS);
    if (count >= 2 && looks_like_header(e, tokens, count)) {
        e->num_columns = count;
        read_header(e, tokens, count);
        if (!next_edge_line(e)) {
            GNT_TRY(gnti_reader_status(&e->reader));
            GNT_FAIL(GNT_ERR_FORMAT, "'%s' has a header line and no edges: %s",
                     gnti_byte_source_name(e->reader.source), REMEDY);
        }
        GNT_CHECK(split_line(e, tokens, &count), GNT_ERR_FORMAT, "%s: more than %d columns",
                  gnti_reader_where(&e->reader), MAX_COLUMNS);
    }
    GNT_TRY(decide_columns(e, count));
    GNT_TRY(decide_ids(e, tokens, count));
done:
    return st;
}

static gnt_status read_id(edge_list *e, const gnti_token *t, int64_t *out)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &e->reader;

    GNT_CHECK(t->length > 0, GNT_ERR_FORMAT, "%s: an id is empty", gnti_reader_where(r));
    if (e->text_ids) {
        GNT_TRY(gnti_reader_check_name(r, "node id", t));
        GNT_TRY(gnti_string_table_add(&e->raw->names, t->text, t->length, out));
        goto done;
    }
    GNT_CHECK(gnti_parse_int64(t->text, t->length, out) == GNTI_PARSE_OK, GNT_ERR_FORMAT,
              "%s: id '%s' is no integer within 64 bits as the ids before it: --ids text takes ids as text",
              gnti_reader_where(r), gnti_reader_show(r, t));
    GNT_CHECK(*out <= e->highest, GNT_ERR_FORMAT, "%s: node number %lld is outside the graph of %lld nodes",
              gnti_reader_where(r), (long long)*out, (long long)e->options->num_nodes);
done:
    return st;
}

static gnt_status add_time(edge_list *e, int64_t time)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&e->time, &e->time_capacity, e->raw->arcs.num_arcs + 1));
    e->time[e->raw->arcs.num_arcs] = time;
done:
    return st;
}

/* Any line. */
static gnt_status read_line(edge_list *e)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &e->reader;
    gnti_token t = { "", 0 };
    int64_t source = 0, target = 0, time = 0;
    float weight = 1.0f;

    for (int c = 0; c < e->num_columns; c++) {
        GNT_CHECK(gnti_reader_token(r, &t), GNT_ERR_FORMAT, "%s: %d columns, the lines before have %d",
                  gnti_reader_where(r), c, e->num_columns);
        if (e->role[c] == ROLE_SOURCE)
            GNT_TRY(read_id(e, &t, &source));
        else if (e->role[c] == ROLE_TARGET)
            GNT_TRY(read_id(e, &t, &target));
        else if (e->role[c] == ROLE_WEIGHT)
            GNT_CHECK(gnti_token_to_float(&t, &weight), GNT_ERR_FORMAT, "%s: weight '%s' is no finite number",
                      gnti_reader_where(r), gnti_reader_show(r, &t));
        else if (e->role[c] == ROLE_TIME)
            GNT_CHECK(gnti_parse_int64(t.text, t.length, &time) == GNTI_PARSE_OK, GNT_ERR_FORMAT,
                      "%s: time '%s' is no integer", gnti_reader_where(r), gnti_reader_show(r, &t));
    }
    GNT_TRY(gnti_reader_line_done(r));
    if (e->timed)
        GNT_TRY(add_time(e, time));
    GNT_TRY(e->weighted ? gnti_raw_add_weighted(e->raw, source, target, weight)
                        : gnti_raw_add_arc(e->raw, source, target));
done:
    return st;
}

/* Digits at *at as a number; false: none or too many to be sure that they fit. */
static bool fast_digits(const char **at, int64_t *out)
{
    const char *p = *at;
    int64_t value = 0;

    for (; (unsigned char)(*p - '0') < 10; p++)
        value = (int64_t)((uint64_t)value * 10 + (uint64_t)(*p - '0'));
    if (p == *at || p - *at > FAST_DIGITS)
        return false;
    *at = p;
    *out = value;
    return true;
}

/* A line of two plain numbers with one separator; false: read_line decides. */
static bool fast_line(const gnti_reader *r, int64_t *source, int64_t *target)
{
    const char *p = r->line;

    if (!fast_digits(&p, source) || (*p != ' ' && *p != '\t' && *p != ','))
        return false;
    p++;
    return fast_digits(&p, target) && p == r->line + r->length;
}

static gnt_status keep_times(edge_list *e)
{
    gnt_status st = GNT_OK;
    gnti_array *a;

    GNT_TRY(gnti_calloc_array(&e->raw->arrays, 1));
    a = &e->raw->arrays[0];
    e->raw->num_arrays = 1;
    *a = (gnti_array){
        .axis = GNTI_AXIS_ARC, .dtype = GNTI_FILE_I64, .rows = e->raw->arcs.num_arcs, .width = 1
    };
    GNT_TRY(gnti_strdup(&a->path, "/edges/time"));
    a->data = e->time;
    e->time = NULL; /* handed over */
done:
    return st;
}

static gnt_status read_edges(edge_list *e)
{
    gnt_status st = GNT_OK;
    const bool plain =
        e->num_columns == 2 && !e->text_ids && e->role[0] == ROLE_SOURCE && e->role[1] == ROLE_TARGET;
    int64_t source, target;

    do {
        if (plain && fast_line(&e->reader, &source, &target) && source <= e->highest && target <= e->highest)
            GNT_TRY(gnti_raw_add_arc(e->raw, source, target));
        else
            GNT_TRY(read_line(e));
    } while (next_edge_line(e));
    GNT_TRY(gnti_reader_status(&e->reader));
    if (e->timed)
        GNT_TRY(keep_times(e));
done:
    return st;
}

static gnt_status edge_list_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    edge_list e = { .raw = raw, .options = in->options, .highest = INT64_MAX };

    if (in->options->num_nodes >= 0 && in->options->ids != GNTX_IDS_SPARSE)
        e.highest = in->options->num_nodes - (in->options->ids == GNTX_IDS_DENSE);
    GNT_TRY(gnti_reader_from_source(in->source, &e.reader));
    GNT_TRY(read_start(&e));
    GNT_TRY(read_edges(&e));
done:
    gnti_free(e.time);
    gnti_reader_close(&e.reader);
    return st;
}

static gnt_status edge_list_matches(const gnti_import_input *in, bool *out)
{
    *out = in->source != NULL && gnti_import_head_is_text(in);
    return GNT_OK;
}

const gnti_importer gnti_import_edge_list = {
    .name = "edgelist",
    .takes_node_files = true,
    .matches = edge_list_matches,
    .read = edge_list_read,
};
