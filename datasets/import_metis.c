/* SPDX-License-Identifier: Apache-2.0 */
/* METIS graphs: a line "n m [fmt [ncon]]", then a line for each node, comments start with %.
 *
 *   [size] [weight_1 .. weight_ncon] neighbour [edge weight] neighbour [edge weight] ...
 *
 * fmt has three digits for size, node weights, edge weights. Numbers from 1, each edge stands in the lines of
 * both ends: counts, ranges, loops and both directions are checked. Node weights are carried as
 * /nodes/weight. An empty line is a node without neighbours. METIS 5.1.0 manual, section 4.1.1.
 */
#include "datasets/import.h"

#include <string.h>

enum { MAX_CONSTRAINTS = 64, SNIFF_LINES = 64 };

typedef struct metis {
    gnti_reader reader;
    gnti_raw *raw;
    int64_t num_nodes, num_edges, num_constraints;
    bool sizes, node_weights, edge_weights;
    int64_t *weights; /* (num_nodes, num_constraints) */
} metis;

static bool next_node_line(metis *m)
{
    while (gnti_reader_next(&m->reader)) {
        const char *p = m->reader.line;

        while (*p == ' ' || *p == '\t')
            p++;
        if (*p != '%')
            return true;
    }
    return false;
}

static gnt_status read_format(metis *m, const gnti_token *t)
{
    gnt_status st = GNT_OK;
    char digits[3] = { '0', '0', '0' };

    GNT_CHECK(t->length >= 1 && t->length <= 3, GNT_ERR_FORMAT,
              "%s: fmt '%s' is not up to three digits 0 or 1", gnti_reader_where(&m->reader),
              gnti_reader_show(&m->reader, t));
    memcpy(digits + 3 - t->length, t->text, t->length);
    for (int i = 0; i < 3; i++)
        GNT_CHECK(digits[i] == '0' || digits[i] == '1', GNT_ERR_FORMAT,
                  "%s: fmt '%s' is not up to three digits 0 or 1", gnti_reader_where(&m->reader),
                  gnti_reader_show(&m->reader, t));
    m->sizes = digits[0] == '1';
    m->node_weights = digits[1] == '1';
    m->edge_weights = digits[2] == '1';
done:
    return st;
}

static gnt_status read_header(metis *m)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;
    gnti_token t = { "", 0 };

    if (!gnti_reader_next_data(r, "%")) {
        GNT_TRY(gnti_reader_status(r));
        GNT_FAIL(GNT_ERR_FORMAT, "'%s' has no header line", gnti_byte_source_name(r->source));
    }
    GNT_TRY(gnti_reader_i64(r, "number of nodes", &m->num_nodes));
    GNT_TRY(gnti_reader_i64(r, "number of edges", &m->num_edges));
    if (gnti_reader_token(r, &t)) {
        GNT_TRY(read_format(m, &t));
        m->num_constraints = m->node_weights;
        if (gnti_reader_token(r, &t)) {
            GNT_CHECK(gnti_parse_int64(t.text, t.length, &m->num_constraints) == GNTI_PARSE_OK &&
                          m->num_constraints >= 0 && m->num_constraints <= MAX_CONSTRAINTS,
                      GNT_ERR_FORMAT, "%s: '%s' is no number of constraints within 0..%d",
                      gnti_reader_where(r), gnti_reader_show(r, &t), MAX_CONSTRAINTS);
            GNT_CHECK((m->num_constraints > 0) == m->node_weights, GNT_ERR_FORMAT,
                      "%s: %lld constraints, but fmt says that nodes have %s weights", gnti_reader_where(r),
                      (long long)m->num_constraints, m->node_weights ? "some" : "no");
        }
    }
    GNT_TRY(gnti_reader_line_done(r));
    GNT_CHECK(m->num_nodes >= 1 && m->num_nodes < INT32_MAX && m->num_edges >= 0 &&
                  m->num_edges < INT64_MAX / 2,
              GNT_ERR_FORMAT, "%s: %lld nodes and %lld edges are no sizes of a graph", gnti_reader_where(r),
              (long long)m->num_nodes, (long long)m->num_edges);
done:
    return st;
}

static gnt_status read_node_weights(metis *m, int64_t node)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;
    int64_t size = 0;
    const int64_t need = (node + 1) * m->num_constraints;

    if (m->sizes)
        GNT_TRY(gnti_reader_i64(r, "size of the node", &size));
    GNT_CHECK(size >= 0, GNT_ERR_FORMAT, "%s: the node's size %lld is negative", gnti_reader_where(r),
              (long long)size);
    if (m->num_constraints == 0)
        goto done;
    if (node == 0 || (node & (node - 1)) == 0)
        GNT_TRY(gnti_realloc_array(&m->weights, 2 * need));
    for (int64_t c = need - m->num_constraints; c < need; c++) {
        GNT_TRY(gnti_reader_i64(r, "node weight", &m->weights[c]));
        GNT_CHECK(m->weights[c] >= 0, GNT_ERR_FORMAT, "%s: node weight %lld is negative",
                  gnti_reader_where(r), (long long)m->weights[c]);
    }
done:
    return st;
}

static gnt_status read_neighbours(metis *m, int64_t node)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &m->reader;
    gnti_token t = { "", 0 };
    int64_t neighbour = 0, weight = 1;

    while (gnti_reader_token(r, &t)) {
        GNT_CHECK(gnti_parse_int64(t.text, t.length, &neighbour) == GNTI_PARSE_OK && neighbour >= 1 &&
                      neighbour <= m->num_nodes,
                  GNT_ERR_FORMAT, "%s: neighbour '%s' of node %lld is not within 1..%lld",
                  gnti_reader_where(r), gnti_reader_show(r, &t), (long long)node + 1,
                  (long long)m->num_nodes);
        GNT_CHECK(neighbour != node + 1, GNT_ERR_FORMAT,
                  "%s: node %lld is its own neighbour, which METIS excludes", gnti_reader_where(r),
                  (long long)neighbour);
        GNT_CHECK(m->raw->arcs.num_arcs < 2 * m->num_edges, GNT_ERR_FORMAT,
                  "%s: more than twice the %lld edges that the header states", gnti_reader_where(r),
                  (long long)m->num_edges);
        if (m->edge_weights) {
            GNT_TRY(gnti_reader_i64(r, "whole edge weight", &weight));
            GNT_CHECK(weight > 0, GNT_ERR_FORMAT, "%s: edge weight %lld is not above 0", gnti_reader_where(r),
                      (long long)weight);
            GNT_TRY(gnti_raw_add_weighted(m->raw, node + 1, neighbour, (float)weight));
        } else {
            GNT_TRY(gnti_raw_add_arc(m->raw, node + 1, neighbour));
        }
    }
done:
    return st;
}

static gnt_status keep_weights(metis *m)
{
    gnt_status st = GNT_OK;
    gnti_array *a;

    if (m->weights == NULL)
        goto done;
    GNT_TRY(gnti_calloc_array(&m->raw->arrays, 1));
    m->raw->num_arrays = 1;
    a = m->raw->arrays;
    *a = (gnti_array){
        .axis = GNTI_AXIS_NODE, .dtype = GNTI_FILE_I64, .rows = m->num_nodes, .width = m->num_constraints
    };
    GNT_TRY(gnti_strdup(&a->path, "/nodes/weight"));
    a->data = m->weights;
    m->weights = NULL; /* handed over */
done:
    return st;
}

static gnt_status metis_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    metis m = { .raw = raw };

    GNT_CHECK(in->source != NULL, GNT_ERR_USAGE, "format metis reads one file");
    GNT_TRY(gnti_reader_from_source(in->source, &m.reader));
    GNT_TRY(read_header(&m));
    raw->id_rule = GNTI_IDS_ONE_BASED;
    raw->num_nodes = m.num_nodes;
    raw->direction_stated = true;
    raw->both_directions_stored = true;
    for (int64_t node = 0; node < m.num_nodes; node++) {
        if (!next_node_line(&m)) {
            GNT_TRY(gnti_reader_status(&m.reader));
            GNT_FAIL(GNT_ERR_FORMAT,
                     "'%s' ends behind the lines of %lld of the %lld nodes that its header states",
                     gnti_byte_source_name(m.reader.source), (long long)node, (long long)m.num_nodes);
        }
        GNT_TRY(read_node_weights(&m, node));
        GNT_TRY(read_neighbours(&m, node));
    }
    if (gnti_reader_next_data(&m.reader, "%"))
        GNT_FAIL(GNT_ERR_FORMAT, "%s: a line behind those of the %lld nodes that the header states",
                 gnti_reader_where(&m.reader), (long long)m.num_nodes);
    GNT_TRY(gnti_reader_status(&m.reader));
    GNT_CHECK(raw->arcs.num_arcs == 2 * m.num_edges, GNT_ERR_FORMAT,
              "'%s' lists %lld neighbours, but the %lld edges of its header make %lld",
              gnti_byte_source_name(in->source), (long long)raw->arcs.num_arcs, (long long)m.num_edges,
              (long long)(2 * m.num_edges));
    GNT_TRY(keep_weights(&m));
done:
    gnti_free(m.weights);
    gnti_reader_close(&m.reader);
    return st;
}

/* By content: integers only, a first line of 2 to 4 of them, and then lines of different lengths; an edge
 * list has as many columns in each line. */
static bool lengths_differ(const gnti_import_input *in)
{
    const char *p = in->head, *const end = p + in->head_bytes;
    int first = -1, lines = 0;

    while (p < end && lines < SNIFF_LINES) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        int tokens = 0;

        if (stop == NULL)
            return false;
        for (const char *q = p; q < stop && *p != '%'; q++) {
            if (*q != ' ' && *q != '\t' && *q != '\r' && (*q < '0' || *q > '9'))
                return false;
            tokens += *q >= '0' && (q == p || q[-1] < '0');
        }
        if (*p != '%') {
            if (lines == 0 && (tokens < 2 || tokens > 4))
                return false;
            if (lines > 1 && tokens != first)
                return true;
            first = lines == 1 ? tokens : first;
            lines++;
        }
        p = stop + 1;
    }
    return false;
}

static gnt_status metis_matches(const gnti_import_input *in, bool *out)
{
    const char *path = in->paths[0];

    *out = false;
    if (in->source == NULL || gnti_byte_source_is_zip(in->source) || !gnti_import_head_is_text(in))
        return GNT_OK;
    *out = gnti_import_has_suffix(path, ".graph") || gnti_import_has_suffix(path, ".mgraph") ||
           gnti_import_has_suffix(path, ".metis") || lengths_differ(in);
    return GNT_OK;
}

const gnti_importer gnti_import_metis = {
    .name = "metis",
    .takes_node_files = true,
    .matches = metis_matches,
    .read = metis_read,
};
