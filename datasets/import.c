/* SPDX-License-Identifier: Apache-2.0 */
/* Import: which reader, then the reader, then the rules. Formats are told by content; a name's suffix decides
 * only where content cannot (METIS against edge lists, a Matrix Market file without its banner). The table is
 * asked from the top.
 */
#include "datasets/import.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const gnti_importer *const IMPORTERS[] = {
    &gnti_import_debian,        &gnti_import_npz,   &gnti_import_linqs,
    &gnti_import_geom_gcn,      &gnti_import_ogb,   &gnti_import_graphsage,
    &gnti_import_matrix_market, &gnti_import_metis, &gnti_import_edge_list,
};
enum { NUM_IMPORTERS = sizeof IMPORTERS / sizeof *IMPORTERS };

static const gnt_option OPTIONS[] = {
    GNT_OPTION_TEXT("format", gntx_import_options, format, "",
                    "format of the input, told by content when not given"),
    GNT_OPTION_TEXT("name", gntx_import_options, name, "", "start of the file names of one set of a folder"),
    GNT_OPTION_BOOL("directed", gntx_import_options, directed, 0,
                    "keep the direction of edges where the format does not state one"),
    GNT_OPTION_BOOL("undirected", gntx_import_options, undirected, 0,
                    "add the reverse of every edge even where the format states direction"),
    GNT_OPTION_BOOL("drop-loops", gntx_import_options, drop_loops, 0,
                    "leave out edges from a node to itself"),
    GNT_OPTION_WORD("ids", gntx_import_options, ids, GNTX_IDS_AUTO, "auto|dense|one-based|sparse|text",
                    "how ids number nodes"),
    GNT_OPTION_INT("num-nodes", gntx_import_options, num_nodes, -1, -1, 2147483646,
                   "number of nodes, -1: from the data"),
    GNT_OPTION_WORD("duplicates", gntx_import_options, duplicates, 0, "sum|first|error",
                    "weights of an edge that is listed again"),
    GNT_OPTION_TEXT("features", gntx_import_options, features, "",
                    "file of node features: svmlight or a table by id; or identity: one column a node"),
    GNT_OPTION_TEXT("labels", gntx_import_options, labels, "", "file of node labels: id and label a line"),
    GNT_OPTION_END,
};

const gnt_option *gntx_import_option_table(void)
{
    return OPTIONS;
}

const char *gntx_import_formats(void)
{
    return "debian: the package index of this machine\n"
           "edgelist: text, one edge a line: source target [weight]\n"
           "geom-gcn: folder with out1_graph_edges.txt, out1_node_feature_label.txt and splits\n"
           "graphsage: folder with NAME-G.json, NAME-class_map.json, NAME-feats.npy\n"
           "linqs: NAME.content and NAME.cites\n"
           "metis: METIS .graph\n"
           "mtx: Matrix Market\n"
           "npz: CSR arrays of gnn-benchmark or scipy, or the heterophilous sets\n"
           "ogb: raw folder of OGB: edge.csv.gz, num-node-list.csv.gz and so on\n";
}

bool gnti_import_head_is_text(const gnti_import_input *in)
{
    for (size_t i = 0; i < in->head_bytes; i++) {
        const unsigned char c = (unsigned char)in->head[i];

        if (c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f')
            return false;
    }
    return true;
}

void gnti_import_note_input(gnti_raw *raw, const char *path)
{
    gnti_text_printf(&raw->inputs, "%s%s", raw->inputs.length > 0 ? "\n" : "", path);
}

static gnt_status find_importer(const gnti_import_input *in, const gnti_importer **out)
{
    gnt_status st = GNT_OK;
    const char *format = in->options->format;

    if (format != NULL && format[0] != '\0') {
        for (int i = 0; i < NUM_IMPORTERS && *out == NULL; i++)
            if (strcmp(IMPORTERS[i]->name, format) == 0)
                *out = IMPORTERS[i];
        GNT_CHECK(*out != NULL, GNT_ERR_USAGE, "--format '%s' is unknown; the formats are\n%s", format,
                  gntx_import_formats());
        goto done;
    }
    for (int i = 0; i < NUM_IMPORTERS && *out == NULL; i++) {
        bool matches = false;

        GNT_TRY(IMPORTERS[i]->matches(in, &matches));
        if (matches)
            *out = IMPORTERS[i];
    }
    GNT_CHECK(*out != NULL, GNT_ERR_FORMAT,
              in->source != NULL
                  ? "'%s' is of no format that import reads: --format states one of\n%s"
                  : "'%s' is no folder or set of files that import reads: --format states one of\n%s",
              in->paths[0], gntx_import_formats());
done:
    return st;
}

/* What people try and what to do instead, before a reader is looked for. */
static gnt_status refuse_known(const gnti_import_input *in)
{
    gnt_status st = GNT_OK;
    const char *head = in->head, *path = in->paths[0];

    GNT_CHECK(in->head_bytes < 8 || memcmp(head, "\x89HDF\r\n\x1a\n", 8) != 0, GNT_ERR_FORMAT,
              "'%s' is an HDF5 file: train, info and check read gnntrain's own as they are", path);
    GNT_CHECK(in->head_bytes < 2 || (unsigned char)head[0] != 0x80 || head[1] < 2 || head[1] > 5,
              GNT_ERR_FORMAT,
              "'%s' is a Python pickle, which import does not read: 'python3 -m gnntrain_io planetoid DIR "
              "NAME -o FILE' "
              "converts Planetoid files",
              path);
done:
    return st;
}

static gnt_status open_input(gnti_import_input *in)
{
    gnt_status st = GNT_OK;
    struct stat info;
    bool machine = false;

    GNT_TRY(gnti_import_debian.matches(in, &machine));
    if (in->num_paths != 1 || machine)
        goto done;
    if (stat(in->paths[0], &info) == 0 && S_ISDIR(info.st_mode)) {
        in->folder = in->paths[0];
        goto done;
    }
    GNT_TRY(gnti_byte_source_open(in->paths[0], &in->source));
    if (!gnti_byte_source_is_zip(in->source))
        GNT_TRY(gnti_byte_source_peek(in->source, &in->head, &in->head_bytes));
    GNT_TRY(refuse_known(in));
done:
    return st;
}

gnt_status gnti_import_read(const char *const *paths, int num_paths, const gntx_import_options *options,
                            const gnti_importer **used, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    gnti_import_input in = { .paths = paths, .num_paths = num_paths, .options = options, .head = "" };
    const gnti_importer *importer = NULL;
    const bool node_files = gnti_import_features_are(options, GNTI_FEATURES_FILE) ||
                            (options->labels != NULL && options->labels[0] != '\0');

    GNT_TRY(open_input(&in));
    GNT_TRY(find_importer(&in, &importer));
    GNT_CHECK(!node_files || importer->takes_node_files, GNT_ERR_USAGE,
              "--features and --labels do not fit format '%s', which brings its own", importer->name);
    if (in.source != NULL)
        gnti_import_note_input(raw, paths[0]);
    GNT_TRY(importer->read(&in, raw));
    if (node_files)
        GNT_TRY(gnti_import_node_files(options, raw));
    *used = importer;
done:
    gnti_byte_source_free(&in.source);
    return st;
}

gnt_status gnti_import_read_memory(const gnti_importer *importer, const char *name, const void *bytes,
                                   size_t num_bytes, const gntx_import_options *options, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    gnti_import_input in = { .paths = &name, .num_paths = 1, .options = options, .head = "" };

    GNT_TRY(gnti_byte_source_open_memory(name, bytes, num_bytes, &in.source));
    if (!gnti_byte_source_is_zip(in.source))
        GNT_TRY(gnti_byte_source_peek(in.source, &in.head, &in.head_bytes));
    GNT_TRY(importer->read(&in, raw));
done:
    gnti_byte_source_free(&in.source);
    return st;
}

gnt_status gntx_import(gnt_context *ctx, const char *const *paths, int num_paths,
                       const gntx_import_options *options, gnt_dataset **out, gntx_json **report)
{
    gnt_status st = GNT_OK;
    const gntx_import_options defaults = { .num_nodes = -1 };
    const gnti_importer *used = NULL;
    gnti_import_report facts = { .format = "" };
    gnti_alloc_stats stats;
    gnt_dataset *data = NULL;
    gnti_raw raw;
    double start;

    gnti_raw_init(&raw);
    GNT_CHECK(paths != NULL && out != NULL && num_paths > 0, GNT_ERR_ARG, "import needs at least one path");
    start = gnti_clock_seconds();
    options = options != NULL ? options : &defaults;
    GNT_TRY(gnti_import_read(paths, num_paths, options, &used, &raw));
    snprintf(facts.format, sizeof facts.format, "%s", used->name);
    GNT_TRY(gnti_raw_finish(ctx, &raw, options, &facts, &data));
    facts.seconds = gnti_clock_seconds() - start;
    gnti_alloc_get_stats(&stats);
    facts.peak_bytes = (int64_t)stats.peak_bytes;
    if (report != NULL)
        GNT_TRY(gnti_import_report_json(&facts, report));
    *out = data;
    data = NULL; /* handed over */
done:
    gnt_dataset_free(&data);
    gnti_free(facts.notes);
    gnti_raw_clear(&raw);
    return st;
}
