/* SPDX-License-Identifier: Apache-2.0 */
/* GraphSAGE: NAME-G.json (networkx node-link: nodes with id, test, val; links with source and target), NAME-class_map.json
 * (id -> class, or a 0/1 list), if there is one NAME-feats.npy, and NAME-id_map.json (id -> row of the features).
 *
 * Links name nodes by position in `nodes`, as old networkx wrote them. Nodes that are neither test nor val are for
 * training. Ids that are the positions themselves are not kept.
 */
#include "datasets/import_npz.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

enum { ID_BYTES = 32 };

typedef struct graphsage {
    gnti_raw *raw;
    char *graph_path, *class_path, *feature_path, *map_path;
    gnti_json *graph, *classes, *rows;
} graphsage;

/* An id as the text that keys of other files use. */
static const char *id_text(const gnti_json *id, char buffer[ID_BYTES])
{
    const char *text = gnti_json_to_text(id);
    int64_t number;

    if (text != NULL)
        return text;
    if (!gnti_json_to_int(id, &number))
        return NULL;
    snprintf(buffer, ID_BYTES, "%lld", (long long)number);
    return buffer;
}

/* A flag that may be missing. */
static bool flag(const gnti_json *node, const char *key)
{
    bool value = false;

    return gnti_json_find(node, key) != NULL && gnti_json_get_bool(node, key, &value) == GNT_OK && value;
}

/* The class of a 0/1 list with a single 1; false otherwise. */
static bool one_hot(const gnti_json *list, int64_t *out)
{
    int64_t hot = -1;

    for (int64_t i = 0; i < gnti_json_length(list); i++) {
        int64_t value;

        if (!gnti_json_to_int(gnti_json_at(list, i), &value) || value < 0 || value > 1 ||
            (value == 1 && hot >= 0))
            return false;
        hot = value == 1 ? i : hot;
    }
    *out = hot;
    return hot >= 0;
}

static gnt_status read_class(graphsage *g, const char *id)
{
    gnt_status st = GNT_OK;
    const gnti_json *value = gnti_json_find(g->classes, id);
    int64_t class_of = -1;
    const char *text = value != NULL ? gnti_json_to_text(value) : NULL;

    if (text != NULL) {
        GNT_TRY(gnti_raw_add_label(g->raw, text, strlen(text)));
        goto done;
    }
    GNT_CHECK(value == NULL || gnti_json_to_int(value, &class_of) || one_hot(value, &class_of),
              GNT_ERR_FORMAT, "'%s': the class of node '%s' is neither a class nor a list with one 1",
              g->class_path, id);
    GNT_TRY(gnti_raw_add_class(g->raw, class_of));
done:
    return st;
}

static gnt_status read_node(graphsage *g, const gnti_json *node, int64_t position, gnti_split *split)
{
    gnt_status st = GNT_OK;
    char buffer[ID_BYTES];
    const gnti_json *member = gnti_json_find(node, "id");
    const char *id = member != NULL ? id_text(member, buffer) : NULL;
    int64_t number;

    GNT_CHECK(id != NULL, GNT_ERR_FORMAT, "'%s': node %lld has no id", g->graph_path, (long long)position);
    GNT_TRY(gnti_string_table_add(&g->raw->names, id, strlen(id), &number));
    GNT_CHECK(number == position, GNT_ERR_FORMAT, "'%s': nodes %lld and %lld have the id '%s'", g->graph_path,
              (long long)number, (long long)position, id);
    GNT_TRY(gnti_split_add(split,
                           flag(node, "test")  ? GNTI_TEST
                           : flag(node, "val") ? GNTI_VALID
                                               : GNTI_TRAIN,
                           position));
    if (g->classes != NULL)
        GNT_TRY(read_class(g, id));
done:
    return st;
}

static gnt_status read_links(graphsage *g, const gnti_json *links)
{
    gnt_status st = GNT_OK;
    int64_t ends[2] = { 0, 0 };

    for (int64_t i = 0; i < gnti_json_length(links); i++) {
        const gnti_json *link = gnti_json_at(links, i);

        GNT_CHECK(gnti_json_is_object(link), GNT_ERR_FORMAT, "'%s': link %lld is no object", g->graph_path,
                  (long long)i);
        GNT_TRY(gnti_json_get_int(link, "source", &ends[0]));
        GNT_TRY(gnti_json_get_int(link, "target", &ends[1]));
        for (int e = 0; e < 2; e++)
            GNT_CHECK(ends[e] >= 0 && ends[e] < g->raw->names.num_strings, GNT_ERR_FORMAT,
                      "'%s': link %lld names node %lld, there are %lld", g->graph_path, (long long)i,
                      (long long)ends[e], (long long)g->raw->names.num_strings);
        GNT_TRY(gnti_raw_add_arc(g->raw, ends[0], ends[1]));
    }
done:
    return st;
}

static gnt_status read_graph(graphsage *g)
{
    gnt_status st = GNT_OK;
    const gnti_json *nodes = gnti_json_find(g->graph, "nodes"), *links = gnti_json_find(g->graph, "links");
    gnti_split *split = NULL;

    GNT_CHECK(nodes != NULL && links != NULL && gnti_json_is_array(nodes) && gnti_json_is_array(links),
              GNT_ERR_FORMAT, "'%s' has no lists 'nodes' and 'links'", g->graph_path);
    GNT_TRY(gnti_raw_add_split(g->raw, "public", g->graph_path, &split));
    for (int64_t n = 0; n < gnti_json_length(nodes); n++)
        GNT_TRY(read_node(g, gnti_json_at(nodes, n), n, split));
    GNT_TRY(read_links(g, links));
    g->raw->direction_stated = gnti_json_find(g->graph, "directed") != NULL;
    g->raw->directed = flag(g->graph, "directed");
done:
    return st;
}

/* Row of the features for a node: by the map, else its position. */
static gnt_status feature_row(const graphsage *g, int64_t node, int64_t num_rows, int64_t *out)
{
    gnt_status st = GNT_OK;

    *out = node;
    if (g->rows != NULL)
        GNT_TRY(gnti_json_get_int(g->rows, gnti_string_table_get(&g->raw->names, node), out));
    GNT_CHECK(*out >= 0 && *out < num_rows, GNT_ERR_FORMAT,
              "'%s': node %lld has the feature row %lld, there are %lld", g->feature_path, (long long)node,
              (long long)*out, (long long)num_rows);
done:
    return st;
}

static gnt_status read_features(graphsage *g)
{
    gnt_status st = GNT_OK;
    gnti_byte_source *source = NULL;
    gnti_npz npz = { .members = NULL };
    const gnti_npy *x;
    int64_t row = 0;
    float value = 0.0f;

    GNT_TRY(gnti_byte_source_open(g->feature_path, &source));
    GNT_TRY(gnti_npy_read(source, &npz));
    GNT_TRY(gnti_npz_find_readable(&npz, "array", &x));
    GNT_CHECK(x->num_dimensions == 2, GNT_ERR_FORMAT, "'%s': features need two dimensions", g->feature_path);
    for (int64_t n = 0; n < g->raw->names.num_strings; n++) {
        GNT_TRY(feature_row(g, n, x->shape[0], &row));
        for (int64_t c = 0; c < x->shape[1]; c++) {
            GNT_TRY(gnti_npy_float(&npz, x, row * x->shape[1] + c, &value));
            GNT_TRY(gnti_feature_rows_add(&g->raw->x, c, value));
        }
        GNT_TRY(gnti_feature_rows_end(&g->raw->x));
    }
done:
    gnti_npz_clear(&npz);
    gnti_byte_source_free(&source);
    return st;
}

/* Ids that say no more than the position are dense numbers. */
static void drop_plain_ids(gnti_raw *raw)
{
    char text[ID_BYTES];

    for (int64_t n = 0; n < raw->names.num_strings; n++) {
        snprintf(text, sizeof text, "%lld", (long long)n);
        if (strcmp(text, gnti_string_table_get(&raw->names, n)) != 0)
            return;
    }
    raw->id_rule = GNTI_IDS_DENSE;
    raw->num_nodes = raw->names.num_strings;
}

static void note_inputs(const graphsage *g)
{
    const char *const paths[] = { g->graph_path, g->class_path, g->feature_path, g->map_path };

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i] != NULL)
            gnti_import_note_input(g->raw, paths[i]);
}

static gnt_status graphsage_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    graphsage g = { .raw = raw };

    GNT_CHECK(in->folder != NULL, GNT_ERR_USAGE, "format graphsage reads a folder");
    GNT_TRY(gnti_import_find(in->folder, in->options->name, "-G.json", &g.graph_path));
    GNT_TRY(gnti_import_find(in->folder, in->options->name, "-class_map.json", &g.class_path));
    GNT_TRY(gnti_import_find(in->folder, in->options->name, "-feats.npy", &g.feature_path));
    GNT_TRY(gnti_import_find(in->folder, in->options->name, "-id_map.json", &g.map_path));
    GNT_CHECK(g.graph_path != NULL, GNT_ERR_USAGE, "'%s' has no NAME-G.json", in->folder);
    note_inputs(&g);
    GNT_TRY(gnti_json_read(g.graph_path, &g.graph));
    if (g.class_path != NULL)
        GNT_TRY(gnti_json_read(g.class_path, &g.classes));
    if (g.map_path != NULL)
        GNT_TRY(gnti_json_read(g.map_path, &g.rows));
    raw->id_rule = GNTI_IDS_TEXT;
    GNT_TRY(read_graph(&g));
    if (g.feature_path != NULL)
        GNT_TRY(read_features(&g));
    drop_plain_ids(raw);
done:
    gnti_json_free(&g.graph);
    gnti_json_free(&g.classes);
    gnti_json_free(&g.rows);
    gnti_free(g.graph_path);
    gnti_free(g.class_path);
    gnti_free(g.feature_path);
    gnti_free(g.map_path);
    return st;
}

static gnt_status graphsage_matches(const gnti_import_input *in, bool *out)
{
    gnt_status st = GNT_OK;
    char *found = NULL;

    *out = false;
    if (in->folder != NULL) {
        st = gnti_import_find(in->folder, in->options->name, "-G.json", &found);
        *out = st == GNT_ERR_USAGE || found != NULL;
        st = st == GNT_ERR_USAGE ? GNT_OK : st;
        gnti_free(found);
    }
    return st;
}

const gnti_importer gnti_import_graphsage = {
    .name = "graphsage",
    .matches = graphsage_matches,
    .read = graphsage_read,
};
