/* SPDX-License-Identifier: Apache-2.0 */
/* From records to a dataset: the one place where the rules of import live.
 *
 *   ids         raw_ids.c gives every id its node; the ids themselves are kept where they differ from the
 * numbers direction   a format that states it is believed, one that does not is undirected; --directed,
 * --undirected decide duplicates  arcs listed again are one arc (weights by the rule asked for), loops stay
 * unless asked otherwise rows        features, labels and node arrays follow the ids of the listed nodes;
 * nodes without a row have zero features and no label splits      ids become sorted nodes
 */
#include "datasets/raw.h"

#include "datasets/h5_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_PER_NODE = 32 }; /* offsets of the graph and of its transpose, and what building them takes */

typedef struct finisher {
    gnti_raw *raw;
    const gntx_import_options *options;
    gnti_import_report *report;
    gnti_id_map map;
    int64_t *row_of; /* (num_nodes) row of x and y for a node, -1: none; NULL: row n is node n */
    int64_t *origin; /* (num_arcs) record of each arc, when arc arrays follow */
    gnt_dataset *data;
} finisher;

static const char *rule_text(gnti_id_rule rule)
{
    switch (rule) {
    case GNTI_IDS_ONE_BASED:
        return "numbers from 1, kept as ids";
    case GNTI_IDS_SPARSE:
        return "integers renumbered in ascending order, kept as ids";
    case GNTI_IDS_TEXT:
        return "names numbered in order of appearance, kept as ids";
    default:
        return "numbers from 0 are the nodes";
    }
}

/* A number of nodes that no memory of this machine holds is refused before the system kills the process. */
static gnt_status check_memory(int64_t num_nodes)
{
    gnt_status st = GNT_OK;
    const double needed = (double)num_nodes * BYTES_PER_NODE;
    const double memory = gnti_physical_memory();

    GNT_CHECK(
        memory <= 0.0 || needed < memory, GNT_ERR_NOMEM,
        "%lld nodes need %.1f GiB for their rows alone, this machine has %.1f: in an edge list --ids sparse "
        "keeps only nodes with edges",
        (long long)num_nodes, needed / 0x1p30, memory / 0x1p30);
done:
    return st;
}

static gnt_status number_nodes(finisher *f)
{
    gnt_status st = GNT_OK;
    const gntx_import_ids wanted = (gntx_import_ids)f->options->ids;
    const int64_t asked = f->options->num_nodes, stated = f->raw->num_nodes;

    GNT_CHECK(wanted == GNTX_IDS_AUTO || f->raw->id_rule == GNTI_IDS_AUTO ||
                  (int)f->raw->id_rule == (int)wanted,
              GNT_ERR_USAGE, "--ids does not fit format '%s', which states how nodes are numbered",
              f->report->format);
    GNT_CHECK(wanted != GNTX_IDS_TEXT || f->raw->id_rule == GNTI_IDS_TEXT, GNT_ERR_USAGE,
              "--ids text does not fit format '%s'", f->report->format);
    GNT_CHECK(asked < 0 || stated < 0 || asked == stated, GNT_ERR_USAGE,
              "--num-nodes %lld contradicts the %lld nodes that the input states", (long long)asked,
              (long long)stated);
    GNT_TRY(gnti_id_map_build(f->raw, wanted, asked >= 0 ? asked : stated, &f->map));
    GNT_CHECK(asked < 0 || asked == f->map.num_nodes, GNT_ERR_FORMAT,
              "--num-nodes %lld, but the input has %lld different ids and no numbers for further nodes",
              (long long)asked, (long long)f->map.num_nodes);
    GNT_CHECK(f->map.num_nodes > 0, GNT_ERR_FORMAT, "there are no nodes in the input");
    GNT_TRY(check_memory(f->map.num_nodes));
    f->report->num_nodes = f->map.num_nodes;
    f->report->num_gap_nodes = f->map.num_gaps;
    snprintf(f->report->id_rule, sizeof f->report->id_rule, "%s", rule_text(f->map.rule));
    if (f->map.num_gaps > 0 && f->raw->id_rule == GNTI_IDS_AUTO)
        gnti_text_printf(
            &f->raw->notes,
            "%lld numbers between %lld and %lld name no edge: kept as isolated nodes (--ids sparse leaves "
            "them out)\n",
            (long long)f->map.num_gaps, 0LL, (long long)(f->map.num_nodes - 1));
done:
    return st;
}

/* Renames ids to nodes in place. */
static gnt_status rename_ids(const finisher *f, int64_t *ids, int64_t count)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < count; i++) {
        const int64_t node = gnti_id_map_node(&f->map, ids[i]);

        GNT_CHECK(node >= 0, GNT_ERR_FORMAT, "id %lld is no node of the graph, which has %lld",
                  (long long)ids[i], (long long)f->map.num_nodes);
        ids[i] = node;
    }
done:
    return st;
}

/* Where a format lists each edge from both ends, it must do so. */
static gnt_status check_undirected(const finisher *f)
{
    gnt_status st = GNT_OK;
    bool symmetric = false;

    GNT_TRY(gnti_graph_is_symmetric(f->data->graph, &symmetric));
    GNT_CHECK(symmetric, GNT_ERR_FORMAT,
              "an edge is listed from one of its ends only, or with two weights, which format '%s' excludes",
              f->report->format);
done:
    return st;
}

static bool has_arc_arrays(const gnti_raw *raw)
{
    for (int64_t i = 0; i < raw->num_arrays; i++)
        if (raw->arrays[i].axis == GNTI_AXIS_ARC)
            return true;
    return false;
}

/* Records are done with once the graph is built: their memory is half of what an import takes. */
static void clear_arcs(gnti_arc_list *arcs)
{
    gnti_free(arcs->source);
    gnti_free(arcs->target);
    gnti_free(arcs->weight);
    memset(arcs, 0, sizeof *arcs);
}

static gnt_status build_graph(finisher *f)
{
    gnt_status st = GNT_OK;
    gnti_raw *raw = f->raw;
    gnti_import_report *report = f->report;
    gnti_build_report built = { 0 };
    const bool directed = f->options->directed     ? true
                          : f->options->undirected ? false
                                                   : raw->direction_stated && raw->directed;
    const gnti_build_options how = {
        .symmetrise = !directed && !raw->both_directions_stored,
        .drop_loops = f->options->drop_loops,
        .duplicates = (gnti_duplicates)f->options->duplicates,
    };

    report->num_records = raw->arcs.num_arcs;
    GNT_TRY(rename_ids(f, raw->arcs.source, raw->arcs.num_arcs));
    GNT_TRY(rename_ids(f, raw->arcs.target, raw->arcs.num_arcs));
    GNT_TRY(gnti_graph_build(f->map.num_nodes, &raw->arcs, &how, &built,
                             has_arc_arrays(raw) ? &f->origin : NULL, &f->data->graph));
    f->data->directed = directed;
    GNT_CHECK(!raw->both_directions_stored || built.num_repeated == 0, GNT_ERR_FORMAT,
              "%lld neighbours are listed more than once, which format '%s' excludes",
              (long long)built.num_repeated, report->format);
    if (raw->both_directions_stored)
        GNT_TRY(check_undirected(f));
    report->directed = directed;
    report->direction_stated = raw->direction_stated;
    report->num_dropped = raw->num_dropped;
    report->num_loops = built.num_loops;
    report->num_repeated = built.num_repeated;
    report->num_reversed_added = built.num_reversed_added;
    report->num_arcs = f->data->graph->num_arcs;
    clear_arcs(&raw->arcs);
    if (!raw->direction_stated)
        gnti_text_printf(&raw->notes, "format '%s' does not state a direction: %s\n", report->format,
                         directed ? "--directed keeps the one of the records"
                                  : "edges go both ways (--directed keeps the one of the records)");
done:
    return st;
}

/* Which row describes which node. */
static gnt_status find_rows(finisher *f)
{
    gnt_status st = GNT_OK;
    const gnti_raw *raw = f->raw;

    if (raw->node_id == NULL) {
        const int64_t rows = gnti_max_i64(raw->x.num_rows, raw->y.count);

        GNT_CHECK(rows == 0 || rows == f->map.num_nodes, GNT_ERR_FORMAT,
                  "there are %lld rows of features or labels but the graph has %lld nodes%s", (long long)rows,
                  (long long)f->map.num_nodes, rows > f->map.num_nodes ? ": --num-nodes states more" : "");
        GNT_CHECK(rows == 0 || f->map.rule != GNTI_IDS_SPARSE, GNT_ERR_FORMAT,
                  "rows without ids cannot follow nodes that are renumbered: give a table whose first column "
                  "is the id");
        goto done;
    }
    GNT_TRY(gnti_alloc_array(&f->row_of, f->map.num_nodes));
    for (int64_t n = 0; n < f->map.num_nodes; n++)
        f->row_of[n] = -1;
    for (int64_t r = 0; r < raw->num_listed; r++) {
        const int64_t node =
            f->map.rule == GNTI_IDS_TEXT ? raw->node_id[r] : gnti_id_map_node(&f->map, raw->node_id[r]);

        GNT_CHECK(node >= 0 && node < f->map.num_nodes, GNT_ERR_FORMAT,
                  "node id %lld is outside the graph of %lld nodes", (long long)raw->node_id[r],
                  (long long)f->map.num_nodes);
        GNT_CHECK(f->row_of[node] < 0, GNT_ERR_FORMAT,
                  "node id '%lld' is listed twice, in rows %lld and %lld", (long long)raw->node_id[r],
                  (long long)f->row_of[node] + 1, (long long)r + 1);
        f->row_of[node] = r;
    }
done:
    return st;
}

/* One column a node: a network without features of its own learns a vector for each node (Kipf, Welling 2017). */
static gnt_status identity_features(finisher *f)
{
    gnt_status st = GNT_OK;
    const int64_t n = f->map.num_nodes;
    gnti_features *x = &f->data->x;

    GNT_CHECK(x->width == 0, GNT_ERR_USAGE,
              "--features identity does not fit format '%s', which brings %lld features", f->report->format,
              (long long)x->width);
    GNT_TRY(gnti_graph_alloc(n, n, n, false, &x->sparse));
    for (int64_t i = 0; i < n; i++) {
        x->sparse->offsets[i + 1] = i + 1;
        x->sparse->columns[i] = (int32_t)i;
    }
    x->sparse->offsets[0] = 0;
    x->rows = x->width = n;
done:
    return st;
}

/* Appends the id of a node as the user knows it. */
static void print_id(const finisher *f, int64_t node, gnti_text *out)
{
    if (f->map.rule == GNTI_IDS_TEXT)
        gnti_text_printf(out, "'%s'", gnti_string_table_get(&f->raw->names, node));
    else
        gnti_text_printf(out, "%lld",
                         (long long)(f->map.rule == GNTI_IDS_SPARSE
                                         ? f->map.ids[node]
                                         : node + (f->map.rule == GNTI_IDS_ONE_BASED)));
}

static bool has_features(const finisher *f, int64_t node)
{
    return f->row_of == NULL || (f->row_of[node] >= 0 && f->row_of[node] < f->raw->x.num_rows);
}

static bool has_label(const finisher *f, int64_t node)
{
    return f->data->y.class_of[node] >= 0;
}

/* Counts the nodes that lack something, and names the first. */
static int64_t count_lacking(finisher *f, bool (*has)(const finisher *f, int64_t node), const char *text)
{
    int64_t first = -1, count = 0;

    for (int64_t n = f->map.num_nodes - 1; n >= 0; n--) {
        if (has(f, n))
            continue;
        first = n;
        count++;
    }
    if (count > 0) {
        gnti_text_printf(&f->raw->notes, "%lld of %lld nodes %s, the first is ", (long long)count,
                         (long long)f->map.num_nodes, text);
        print_id(f, first, &f->raw->notes);
        gnti_text_printf(&f->raw->notes, "\n");
    }
    return count;
}

static gnt_status place_rows(finisher *f)
{
    gnt_status st = GNT_OK;
    gnti_raw *raw = f->raw;
    int64_t repeated = 0;

    GNT_TRY(find_rows(f));
    if (raw->x.num_rows > 0 && raw->x.width > 0)
        GNT_TRY(gnti_feature_rows_finish(&raw->x, f->row_of, f->map.num_nodes, &repeated, &f->data->x));
    if (gnti_import_features_are(f->options, GNTI_FEATURES_IDENTITY))
        GNT_TRY(identity_features(f));
    if (raw->x.num_rows > 0)
        f->report->num_without_features =
            count_lacking(f, has_features, "have no row of features: theirs are zero");
    if (repeated > 0)
        gnti_text_printf(&raw->notes, "%lld repeated feature values were added up\n", (long long)repeated);
    if (raw->y.count > 0)
        GNT_TRY(gnti_label_column_finish(&raw->y, f->row_of, f->map.num_nodes, &f->data->y));
    else if (raw->y_rows.kind != GNT_LABELS_NONE && f->row_of == NULL) {
        f->data->y = raw->y_rows;
        memset(&raw->y_rows, 0, sizeof raw->y_rows); /* handed over */
    }
    if (f->data->y.class_of != NULL)
        f->report->num_unlabelled = count_lacking(f, has_label, "are unlabelled");
    f->report->num_features = f->data->x.width;
    f->report->num_classes = f->data->y.num_classes;
done:
    return st;
}

/* Names that are all plain integers are stored as integers: shorter, and what a user compares with. */
static bool names_are_integers(const gnti_string_table *names, int64_t *out)
{
    for (int64_t i = 0; i < names->num_strings; i++) {
        const char *name = gnti_string_table_get(names, i);
        const char *digits = name + (name[0] == '-');

        if (gnti_parse_int64(name, strlen(name), &out[i]) != GNTI_PARSE_OK || name[0] == '+' ||
            (digits[0] == '0' && name[1] != '\0'))
            return false;
    }
    return true;
}

static gnt_status keep_ids(finisher *f)
{
    gnt_status st = GNT_OK;
    gnt_dataset *data = f->data;
    const int64_t n = f->map.num_nodes;
    int64_t *id = NULL;

    if (f->map.rule == GNTI_IDS_DENSE)
        goto done;
    GNT_TRY(gnti_alloc_array(&id, n));
    for (int64_t i = 0; f->map.rule == GNTI_IDS_ONE_BASED && i < n; i++)
        id[i] = i + 1;
    if (f->map.rule == GNTI_IDS_SPARSE)
        memcpy(id, f->map.ids, (size_t)n * sizeof *id);
    if (f->map.rule == GNTI_IDS_TEXT && !names_are_integers(&f->raw->names, id)) {
        GNT_TRY(gnti_calloc_array(&data->id_text, n));
        for (int64_t i = 0; i < n; i++)
            GNT_TRY(gnti_strdup(&data->id_text[i], gnti_string_table_get(&f->raw->names, i)));
    } else {
        data->id = id;
        id = NULL; /* handed over */
    }
done:
    gnti_free(id);
    return st;
}

static int compare_nodes(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static gnt_status place_splits(finisher *f)
{
    gnt_status st = GNT_OK;
    gnti_raw *raw = f->raw;

    for (int64_t i = 0; i < raw->num_splits; i++) {
        for (int part = 0; part < 3; part++) {
            GNT_TRY(rename_ids(f, raw->splits[i].nodes[part], raw->splits[i].num_nodes[part]));
            if (raw->splits[i].num_nodes[part] > 1)
                qsort(raw->splits[i].nodes[part], (size_t)raw->splits[i].num_nodes[part], sizeof(int64_t),
                      compare_nodes);
        }
    }
    f->data->splits = raw->splits;
    f->data->num_splits = raw->num_splits;
    raw->splits = NULL; /* handed over */
    raw->num_splits = 0;
done:
    return st;
}

/* Rows of an array in the order of arcs or nodes; what has no row is zero. */
static gnt_status place_array(const finisher *f, gnti_array *a)
{
    gnt_status st = GNT_OK;
    const bool arcs = a->axis == GNTI_AXIS_ARC;
    const int64_t *from = arcs ? f->origin : f->row_of;
    const int64_t rows = arcs ? f->data->graph->num_arcs : f->map.num_nodes;
    const size_t row_bytes = gnti_file_dtype_bytes(a->dtype) * (size_t)a->width;
    char *out = NULL;

    if (from == NULL || a->axis == GNTI_AXIS_OTHER || a->axis == GNTI_AXIS_GRAPH)
        goto done;
    GNT_CHECK(a->dtype != GNTI_FILE_TEXT, GNT_ERR_UNSUPPORTED, "text in array '%s' cannot follow arcs",
              a->path);
    GNT_TRY(gnti_calloc_array(&out, rows * (int64_t)row_bytes));
    for (int64_t r = 0; r < rows; r++)
        if (from[r] >= 0)
            memcpy(out + (size_t)r * row_bytes, (const char *)a->data + (size_t)from[r] * row_bytes,
                   row_bytes);
    gnti_free(a->data);
    a->data = out;
    a->rows = rows;
done:
    return st;
}

static gnt_status place_arrays(finisher *f)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < f->raw->num_arrays; i++)
        GNT_TRY(place_array(f, &f->raw->arrays[i]));
    f->data->arrays = f->raw->arrays;
    f->data->num_arrays = f->raw->num_arrays;
    f->raw->arrays = NULL; /* handed over */
    f->raw->num_arrays = 0;
done:
    return st;
}

gnt_status gnti_raw_finish(gnt_context *ctx, gnti_raw *raw, const gntx_import_options *options,
                           gnti_import_report *report, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    finisher f = { .raw = raw, .options = options, .report = report };

    GNT_CHECK(!(options->directed && options->undirected), GNT_ERR_USAGE,
              "--directed and --undirected contradict each other");
    GNT_TRY(number_nodes(&f));
    GNT_TRY(gnti_dataset_create(ctx, f.map.num_nodes, &f.data));
    GNT_TRY(build_graph(&f));
    GNT_TRY(place_rows(&f));
    GNT_TRY(keep_ids(&f));
    GNT_TRY(place_splits(&f));
    GNT_TRY(place_arrays(&f));
    GNT_TRY(raw->notes.status);
    GNT_TRY(raw->inputs.status);
    GNT_TRY(gnti_import_provenance(report, raw, &f.data->provenance));
    GNT_TRY(gnti_dataset_validate(f.data));
    GNT_TRY(gnti_dataset_hash(f.data));
    GNT_TRY(gnti_text_take(&raw->notes, &report->notes));
    *out = f.data;
    f.data = NULL; /* handed over */
done:
    gnt_dataset_free(&f.data);
    gnti_id_map_clear(&f.map);
    gnti_free(f.row_of);
    gnti_free(f.origin);
    return st;
}
