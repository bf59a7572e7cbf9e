/* SPDX-License-Identifier: Apache-2.0 */
/* geom-gcn text: out1_graph_edges.txt ("source target" behind a header), out1_node_feature_label.txt ("id,
 * features joined by commas, label" separated by tabs, behind a header) and NAME_split_0.6_0.2_K.npz with
 * masks, K = 0 .. 9.
 */
#include "datasets/import_npz.h"

#include <stdio.h>
#include <string.h>

enum { NUM_SPLITS = 10, SUFFIX_BYTES = 40 };

typedef struct geom_gcn {
    gnti_reader reader;
    gnti_raw *raw;
    char *edges, *nodes;
} geom_gcn;

/* The next field of the line up to a tab. */
static bool next_field(const char **at, const char *end, gnti_token *out)
{
    const char *tab;

    if (*at > end)
        return false;
    tab = memchr(*at, '\t', (size_t)(end - *at));
    out->text = *at;
    out->length = (size_t)((tab != NULL ? tab : end) - *at);
    *at = out->text + out->length + 1;
    return true;
}

static gnt_status read_features(geom_gcn *g, const gnti_token *field, int64_t *num_features)
{
    gnt_status st = GNT_OK;
    const char *p = field->text, *const end = p + field->length;
    int64_t column = 0;

    while (p <= end && field->length > 0) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const gnti_token token = { p, (size_t)((comma != NULL ? comma : end) - p) };

        GNT_TRY(gnti_import_feature_token(&g->reader, &token, column++, g->raw));
        p = token.text + token.length + 1;
    }
    GNT_CHECK(*num_features < 0 || *num_features == column, GNT_ERR_FORMAT,
              "%s: %lld features, the lines before have %lld", gnti_reader_where(&g->reader),
              (long long)column, (long long)*num_features);
    *num_features = column;
    GNT_TRY(gnti_feature_rows_end(&g->raw->x));
done:
    return st;
}

static gnt_status read_node(geom_gcn *g, int64_t *num_features)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &g->reader;
    const char *at = r->line, *const end = r->line + r->length;
    gnti_token id = { "", 0 }, features = { "", 0 }, label = { "", 0 }, more;
    int64_t number = 0;

    GNT_CHECK(next_field(&at, end, &id) && next_field(&at, end, &features) && next_field(&at, end, &label) &&
                  !next_field(&at, end, &more),
              GNT_ERR_FORMAT, "%s: three fields separated by tabs were expected: id, features, label",
              gnti_reader_where(r));
    GNT_CHECK(gnti_parse_int64(id.text, id.length, &number) == GNTI_PARSE_OK && number >= 0, GNT_ERR_FORMAT,
              "%s: id '%s' is no number from 0", gnti_reader_where(r), gnti_reader_show(r, &id));
    GNT_TRY(gnti_raw_add_node(g->raw, number));
    GNT_TRY(read_features(g, &features, num_features));
    if (label.length > 0)
        GNT_TRY(gnti_reader_check_name(r, "label", &label));
    GNT_TRY(gnti_raw_add_label(g->raw, label.text, label.length));
done:
    return st;
}

static gnt_status read_nodes(geom_gcn *g)
{
    gnt_status st = GNT_OK;
    int64_t num_features = -1;

    GNT_TRY(gnti_reader_open(g->nodes, &g->reader));
    gnti_import_note_input(g->raw, g->nodes);
    (void)gnti_reader_next(&g->reader); /* the header */
    while (gnti_reader_next_data(&g->reader, "#"))
        GNT_TRY(read_node(g, &num_features));
    GNT_TRY(gnti_reader_status(&g->reader));
    GNT_CHECK(g->raw->num_listed > 0, GNT_ERR_FORMAT, "'%s' lists no nodes", g->nodes);
    g->raw->num_nodes = g->raw->num_listed;
done:
    gnti_reader_close(&g->reader);
    return st;
}

static gnt_status read_edges(geom_gcn *g)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &g->reader;
    int64_t source = 0, target = 0;

    GNT_TRY(gnti_reader_open(g->edges, r));
    gnti_import_note_input(g->raw, g->edges);
    (void)gnti_reader_next(r); /* the header */
    while (gnti_reader_next_data(r, "#")) {
        GNT_TRY(gnti_reader_i64(r, "source", &source));
        GNT_TRY(gnti_reader_i64(r, "target", &target));
        GNT_TRY(gnti_reader_line_done(r));
        GNT_CHECK(source >= 0 && target >= 0 && source < g->raw->num_nodes && target < g->raw->num_nodes,
                  GNT_ERR_FORMAT, "%s: edge %lld %lld is outside 0..%lld", gnti_reader_where(r),
                  (long long)source, (long long)target, (long long)g->raw->num_nodes - 1);
        GNT_TRY(gnti_raw_add_arc(g->raw, source, target));
    }
    GNT_TRY(gnti_reader_status(r));
done:
    gnti_reader_close(r);
    return st;
}

static gnt_status read_split(const gnti_import_input *in, int k, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    char suffix[SUFFIX_BYTES], name[SUFFIX_BYTES];
    char *path = NULL;
    gnti_byte_source *source = NULL;
    gnti_npz npz = { .members = NULL };

    snprintf(suffix, sizeof suffix, "_split_0.6_0.2_%d.npz", k);
    snprintf(name, sizeof name, "%d", k);
    GNT_TRY(gnti_import_find(in->folder, in->options->name, suffix, &path));
    if (path == NULL)
        goto done;
    GNT_TRY(gnti_byte_source_open(path, &source));
    gnti_import_note_input(raw, path);
    GNT_TRY(gnti_npz_read(source, &npz));
    GNT_TRY(gnti_npz_add_splits(&npz, name, raw));
done:
    gnti_npz_clear(&npz);
    gnti_byte_source_free(&source);
    gnti_free(path);
    return st;
}

static gnt_status geom_gcn_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    geom_gcn g = { .raw = raw };

    GNT_CHECK(in->folder != NULL, GNT_ERR_USAGE, "format geom-gcn reads a folder");
    raw->id_rule = GNTI_IDS_DENSE;
    GNT_TRY(gnti_import_find_exact(in->folder, "out1_graph_edges.txt", &g.edges));
    GNT_TRY(gnti_import_find_exact(in->folder, "out1_node_feature_label.txt", &g.nodes));
    GNT_CHECK(g.edges != NULL && g.nodes != NULL, GNT_ERR_USAGE,
              "'%s' lacks out1_graph_edges.txt or out1_node_feature_label.txt", in->folder);
    GNT_TRY(read_nodes(&g));
    GNT_TRY(read_edges(&g));
    for (int k = 0; k < NUM_SPLITS; k++)
        GNT_TRY(read_split(in, k, raw));
done:
    gnti_free(g.edges);
    gnti_free(g.nodes);
    return st;
}

static gnt_status geom_gcn_matches(const gnti_import_input *in, bool *out)
{
    gnt_status st = GNT_OK;
    char *found = NULL;

    if (in->folder != NULL)
        GNT_TRY(gnti_import_find_exact(in->folder, "out1_graph_edges.txt", &found));
    *out = found != NULL;
done:
    gnti_free(found);
    return st;
}

const gnti_importer gnti_import_geom_gcn = {
    .name = "geom-gcn",
    .matches = geom_gcn_matches,
    .read = geom_gcn_read,
};
