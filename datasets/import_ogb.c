/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of an OGB node-property set: raw/edge.csv, num-node-list.csv, and if they are there num-edge-list.csv,
 * node-feat.csv, node-label.csv; split/NAME/train.csv, valid.csv, test.csv. All plain or compressed. A folder that holds
 * the raw files themselves is fine too. A label "nan" is an unlabelled node; several labels a row are 0/1.
 */
#include "datasets/import.h"

#include "base/file.h"

#include <dirent.h>
#include <string.h>

typedef struct ogb {
    gnti_reader reader;
    gnti_raw *raw;
    const char *folder;
} ogb;

/* folder/stem.csv, also below raw/ and compressed; NULL: there is none. */
static gnt_status find_table(const char *folder, const char *stem, char **out)
{
    static const char *const places[] = { "raw/", "" };
    static const char *const ends[] = { ".csv.gz", ".csv", ".csv.zst", ".csv.xz", ".csv.bz2" };
    gnt_status st = GNT_OK;
    gnti_text name = { 0 };

    *out = NULL;
    for (size_t p = 0; p < sizeof places / sizeof *places && *out == NULL; p++) {
        for (size_t e = 0; e < sizeof ends / sizeof *ends && *out == NULL; e++) {
            gnti_text_free(&name);
            gnti_text_printf(&name, "%s%s%s", places[p], stem, ends[e]);
            GNT_TRY(name.status);
            GNT_TRY(gnti_import_find_exact(folder, name.data, out));
        }
    }
done:
    gnti_text_free(&name);
    return st;
}

/* Opens a table for reading lines; *found false: there is no such file. */
static gnt_status open_table(ogb *o, const char *stem, bool *found)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(find_table(o->folder, stem, &path));
    *found = path != NULL;
    if (path == NULL)
        goto done;
    gnti_import_note_input(o->raw, path);
    GNT_TRY(gnti_reader_open(path, &o->reader));
done:
    gnti_free(path);
    return st;
}

/* The one number of a table, -1: there is no table. */
static gnt_status read_count(ogb *o, const char *stem, int64_t *out)
{
    gnt_status st = GNT_OK;
    bool found = false;

    *out = -1;
    GNT_TRY(open_table(o, stem, &found));
    if (!found)
        goto done;
    if (!gnti_reader_next_data(&o->reader, "")) {
        GNT_TRY(gnti_reader_status(&o->reader));
        GNT_FAIL(GNT_ERR_FORMAT, "'%s' is empty", gnti_byte_source_name(o->reader.source));
    }
    GNT_TRY(gnti_reader_i64(&o->reader, "count", out));
    GNT_CHECK(*out >= 0 && *out < INT32_MAX * (int64_t)1024, GNT_ERR_FORMAT, "%s: %lld is no count",
              gnti_reader_where(&o->reader), (long long)*out);
    GNT_CHECK(!gnti_reader_next_data(&o->reader, ""), GNT_ERR_UNSUPPORTED,
              "%s: several graphs in one set are not imported yet", gnti_reader_where(&o->reader));
    GNT_TRY(gnti_reader_status(&o->reader));
done:
    gnti_reader_close(&o->reader);
    return st;
}

static gnt_status read_edges(ogb *o)
{
    gnt_status st = GNT_OK;
    gnti_reader *r = &o->reader;
    int64_t source = 0, target = 0, stated = -1;
    bool found = false;

    GNT_TRY(read_count(o, "num-edge-list", &stated));
    GNT_TRY(open_table(o, "edge", &found));
    while (gnti_reader_next_data(r, "")) {
        GNT_TRY(gnti_reader_i64(r, "source", &source));
        GNT_TRY(gnti_reader_i64(r, "target", &target));
        GNT_TRY(gnti_reader_line_done(r));
        GNT_CHECK(source >= 0 && target >= 0 && source < o->raw->num_nodes && target < o->raw->num_nodes,
                  GNT_ERR_FORMAT, "%s: edge %lld,%lld is outside 0..%lld", gnti_reader_where(r),
                  (long long)source, (long long)target, (long long)o->raw->num_nodes - 1);
        GNT_TRY(gnti_raw_add_arc(o->raw, source, target));
    }
    GNT_TRY(gnti_reader_status(r));
    GNT_CHECK(stated < 0 || stated == o->raw->arcs.num_arcs, GNT_ERR_FORMAT,
              "'%s' has %lld edges, but num-edge-list states %lld", o->folder,
              (long long)o->raw->arcs.num_arcs, (long long)stated);
done:
    gnti_reader_close(r);
    return st;
}

static gnt_status read_features(ogb *o)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };
    int64_t width = -1;
    bool found = false;

    GNT_TRY(open_table(o, "node-feat", &found));
    while (found && gnti_reader_next_data(&o->reader, "")) {
        int64_t column = 0;

        while (gnti_reader_token(&o->reader, &token))
            GNT_TRY(gnti_import_feature_token(&o->reader, &token, column++, o->raw));
        GNT_CHECK(width < 0 || width == column, GNT_ERR_FORMAT,
                  "%s: %lld features, the lines before have %lld", gnti_reader_where(&o->reader),
                  (long long)column, (long long)width);
        width = column;
        GNT_TRY(gnti_feature_rows_end(&o->raw->x));
    }
    if (found)
        GNT_TRY(gnti_reader_status(&o->reader));
done:
    gnti_reader_close(&o->reader);
    return st;
}

static bool is_nan(const gnti_token *t)
{
    return gnti_token_equals(t, "nan") || gnti_token_equals(t, "NaN");
}

/* One label a node; "3.0" is 3, as pandas writes columns with holes. */
static gnt_status read_label(ogb *o)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };
    size_t length;

    GNT_CHECK(gnti_reader_token(&o->reader, &token), GNT_ERR_FORMAT, "%s: a label was expected",
              gnti_reader_where(&o->reader));
    length = token.length;
    if (length > 2 && memcmp(token.text + length - 2, ".0", 2) == 0)
        length -= 2;
    GNT_TRY(is_nan(&token) ? gnti_raw_add_class(o->raw, -1) : gnti_raw_add_label(o->raw, token.text, length));
    GNT_CHECK(!gnti_reader_token(&o->reader, &token), GNT_ERR_UNSUPPORTED,
              "%s: several labels a node are not imported from OGB folders yet",
              gnti_reader_where(&o->reader));
done:
    return st;
}

static gnt_status read_labels(ogb *o)
{
    gnt_status st = GNT_OK;
    bool found = false;

    GNT_TRY(open_table(o, "node-label", &found));
    while (found && gnti_reader_next_data(&o->reader, ""))
        GNT_TRY(read_label(o));
    if (found)
        GNT_TRY(gnti_reader_status(&o->reader));
done:
    gnti_reader_close(&o->reader);
    return st;
}

static gnt_status read_part(ogb *o, const char *stem, gnti_split *split, int part)
{
    gnt_status st = GNT_OK;
    int64_t node = 0;
    bool found = false;

    GNT_TRY(open_table(o, stem, &found));
    while (found && gnti_reader_next_data(&o->reader, "")) {
        GNT_TRY(gnti_reader_i64(&o->reader, "node number", &node));
        GNT_TRY(gnti_reader_line_done(&o->reader));
        GNT_CHECK(node >= 0 && node < o->raw->num_nodes, GNT_ERR_FORMAT, "%s: node %lld is outside 0..%lld",
                  gnti_reader_where(&o->reader), (long long)node, (long long)o->raw->num_nodes - 1);
        GNT_TRY(gnti_split_add(split, part, node));
    }
    if (found)
        GNT_TRY(gnti_reader_status(&o->reader));
done:
    gnti_reader_close(&o->reader);
    return st;
}

static gnt_status read_split(ogb *o, const char *name)
{
    static const char *const parts[3] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;
    gnti_split *split = NULL;

    GNT_TRY(gnti_raw_add_split(o->raw, name, o->folder, &split));
    for (int part = 0; part < 3; part++) {
        gnti_text stem = { 0 };

        gnti_text_printf(&stem, "split/%s/%s", name, parts[part]);
        st = stem.status != GNT_OK ? stem.status : read_part(o, stem.data, split, part);
        gnti_text_free(&stem);
        GNT_TRY(st);
    }
done:
    return st;
}

/* Each folder below split/ is one. */
static gnt_status read_splits(ogb *o)
{
    gnt_status st = GNT_OK;
    char *path = NULL;
    DIR *dir = NULL;

    GNT_TRY(gnti_path_join(o->folder, "split", &path));
    dir = opendir(path);
    for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir))
        if (e->d_name[0] != '.')
            GNT_TRY(read_split(o, e->d_name));
done:
    if (dir != NULL)
        closedir(dir);
    gnti_free(path);
    return st;
}

static gnt_status ogb_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    ogb o = { .raw = raw, .folder = in->folder };

    GNT_CHECK(in->folder != NULL, GNT_ERR_USAGE, "format ogb reads a folder");
    raw->id_rule = GNTI_IDS_DENSE;
    GNT_TRY(read_count(&o, "num-node-list", &raw->num_nodes));
    GNT_CHECK(raw->num_nodes >= 0, GNT_ERR_FORMAT, "'%s' has no num-node-list.csv", in->folder);
    GNT_TRY(read_edges(&o));
    GNT_TRY(read_features(&o));
    GNT_TRY(read_labels(&o));
    GNT_TRY(read_splits(&o));
done:
    return st;
}

static gnt_status ogb_matches(const gnti_import_input *in, bool *out)
{
    gnt_status st = GNT_OK;
    char *edges = NULL;

    if (in->folder != NULL)
        GNT_TRY(find_table(in->folder, "edge", &edges));
    *out = edges != NULL;
done:
    gnti_free(edges);
    return st;
}

const gnti_importer gnti_import_ogb = {
    .name = "ogb",
    .matches = ogb_matches,
    .read = ogb_read,
};
