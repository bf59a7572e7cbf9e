/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a dataset file (docs/file-format.md) so that h5py, scipy and anndata read it as it is.
 *
 * Unweighted arcs cost nothing: `data` is a chunked array of the fill value 1 that is never written. All else
 * is contiguous, which can be mapped and is cheapest for random rows. The file appears under its name when it
 * is complete.
 */
#include "datasets/chunk_order.h"
#include "datasets/h5_value.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { PATH_BYTES = 512 };

/* A version-4 UUID in its usual spelling. */
static gnt_status make_uuid(char out[40])
{
    gnt_status st = GNT_OK;
    unsigned char b[16];

    GNT_CHECK(getrandom(b, sizeof b, 0) == (ssize_t)sizeof b, GNT_ERR_IO,
              "cannot read the system's random numbers");
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(out, 40, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
done:
    return st;
}

static bool has_loops(const gnti_graph *g)
{
    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            if (g->columns[a] == r)
                return true;
    return false;
}

static gnt_status write_heading(gnti_h5 *file, const gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    char uuid[40] = "", graph[65], content[65], created[32];
    const time_t now = time(NULL);
    struct tm utc;

    memcpy(uuid, d->uuid, sizeof uuid);
    if (uuid[0] == '\0')
        GNT_TRY(make_uuid(uuid));
    gmtime_r(&now, &utc);
    strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", &utc);
    GNT_TRY(gnti_dataset_sums(d, graph, content));
    GNT_TRY(gnti_h5_set_text(file, "/", "format", "gnntrain-graph"));
    GNT_TRY(gnti_h5_set_text(file, "/", "format_version", "1.0"));
    GNT_TRY(gnti_h5_set_text(file, "/", "generator", "gnntrain " GNT_VERSION));
    GNT_TRY(gnti_h5_set_text(file, "/", "uuid", uuid));
    GNT_TRY(gnti_h5_set_text(file, "/", "created", created));
    GNT_TRY(gnti_h5_set_int(file, "/", "num_nodes", d->num_nodes));
    GNT_TRY(gnti_h5_set_int(file, "/", "num_arcs", d->graph->num_arcs));
    GNT_TRY(gnti_h5_set_int(file, "/", "directed", d->directed));
    GNT_TRY(gnti_h5_set_int(file, "/", "sorted", 1));
    GNT_TRY(gnti_h5_set_int(file, "/", "has_self_loops", has_loops(d->graph)));
    GNT_TRY(gnti_h5_set_int(file, "/", "has_duplicates", 0));
    GNT_TRY(gnti_h5_set_text(file, "/", "graph_sha256", graph));
    GNT_TRY(gnti_h5_set_text(file, "/", "content_sha256", content));
done:
    return st;
}

static gnt_status write_csr(gnti_h5 *file, const char *group, const gnti_graph *g)
{
    gnt_status st = GNT_OK;
    const int64_t pointers = g->num_rows + 1, shape[] = { g->num_rows, g->num_cols };
    char path[128];

    GNT_TRY(gnti_h5_make_group(file, group));
    GNT_TRY(gnti_h5_set_encoding(file, group, "csr_matrix", "0.1.0"));
    GNT_TRY(gnti_h5_write_attribute(file, group, "shape", GNTI_FILE_I64, shape, 2));
    snprintf(path, sizeof path, "%s/indptr", group);
    GNT_TRY(gnti_h5_write_values(file, path, GNTI_FILE_I64, 1, &pointers, g->offsets));
    snprintf(path, sizeof path, "%s/indices", group);
    GNT_TRY(gnti_h5_write_values(file, path, GNTI_FILE_I32, 1, &g->num_arcs, g->columns));
    snprintf(path, sizeof path, "%s/data", group);
    if (g->weights != NULL)
        GNT_TRY(gnti_h5_write_values(file, path, GNTI_FILE_F32, 1, &g->num_arcs, g->weights));
    else
        GNT_TRY(gnti_h5_make_dataset(file, path, GNTI_FILE_U8, 1, &g->num_arcs, true));
done:
    return st;
}

/* An array that anndata.io.read_elem takes. */
static gnt_status write_array(gnti_h5 *file, const char *path, gnti_dtype_file type, int32_t rank,
                              const int64_t *dims, const void *data)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_h5_write_values(file, path, type, rank, dims, data));
    GNT_TRY(gnti_h5_set_encoding(file, path, type == GNTI_FILE_TEXT ? "string-array" : "array", "0.2.0"));
done:
    return st;
}

static gnt_status write_features(gnti_h5 *file, const gnti_features *x)
{
    gnt_status st = GNT_OK;
    const int64_t dims[] = { x->rows, x->width };

    if (x->sparse != NULL)
        GNT_TRY(write_csr(file, "/nodes/x", x->sparse));
    else if (x->dense != NULL)
        GNT_TRY(write_array(file, "/nodes/x", GNTI_FILE_F32, 2, dims, x->dense));
done:
    return st;
}

static gnt_status write_classes(gnti_h5 *file, const gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    int64_t *wide = NULL;

    GNT_TRY(gnti_alloc_array(&wide, d->num_nodes));
    for (int64_t i = 0; i < d->num_nodes; i++)
        wide[i] = d->y.class_of[i];
    GNT_TRY(write_array(file, "/nodes/y", GNTI_FILE_I64, 1, &d->num_nodes, wide));
done:
    gnti_free(wide);
    return st;
}

static gnt_status write_multi(gnti_h5 *file, const gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    const int64_t dims[] = { d->num_nodes, d->y.num_classes }, num = d->num_nodes * d->y.num_classes;
    uint8_t *bits = NULL;

    GNT_TRY(gnti_alloc_array(&bits, num));
    for (int64_t i = 0; i < num; i++)
        bits[i] = d->y.rows[i] != 0.0f;
    GNT_TRY(write_array(file, "/nodes/y", GNTI_FILE_U8, 2, dims, bits));
done:
    gnti_free(bits);
    return st;
}

static gnt_status write_labels(gnti_h5 *file, const gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    const int64_t dims[] = { d->num_nodes, d->y.num_classes };

    switch (d->y.kind) {
    case GNT_LABELS_NONE:
        return GNT_OK;
    case GNT_LABELS_CLASS:
        GNT_TRY(write_classes(file, d));
        break;
    case GNT_LABELS_MULTI:
        GNT_TRY(write_multi(file, d));
        break;
    case GNT_LABELS_REGRESSION:
        GNT_TRY(write_array(file, "/nodes/y", GNTI_FILE_F32, 2, dims, d->y.rows));
        break;
    }
    GNT_TRY(gnti_h5_set_int(file, "/nodes/y", "num_classes", d->y.num_classes));
    if (d->y.names != NULL)
        GNT_TRY(write_array(file, "/nodes/classes", GNTI_FILE_TEXT, 1, &d->y.num_classes, d->y.names));
done:
    return st;
}

static gnt_status write_split(gnti_h5 *file, const int64_t *origin, const gnti_split *s)
{
    static const char *const parts[] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;
    char group[PATH_BYTES - 16], path[PATH_BYTES], sum[65];

    GNT_CHECK(s->name[0] != '\0' && strchr(s->name, '/') == NULL && strcmp(s->name, ".") != 0 &&
                  strlen(s->name) < sizeof group - 16,
              GNT_ERR_ARG, "'%s' is no name for a split: use letters, digits and dashes", s->name);
    snprintf(group, sizeof group, "/splits/%s", s->name);
    GNT_TRY(gnti_h5_make_group(file, group));
    GNT_TRY(gnti_h5_set_text(file, group, "kind", s->kind != NULL ? s->kind : "given"));
    GNT_TRY(gnti_h5_set_int(file, group, "seed", (int64_t)s->seed));
    GNT_TRY(gnti_h5_set_text(file, group, "source", s->source != NULL ? s->source : ""));
    GNT_TRY(gnti_h5_set_int(file, group, "inductive", s->inductive));
    GNT_TRY(gnti_split_sum_imported(s, origin, sum));
    GNT_TRY(gnti_h5_set_text(file, group, "sha256", sum));
    for (int part = 0; part < 3; part++) {
        snprintf(path, sizeof path, "%s/%s", group, parts[part]);
        GNT_TRY(write_array(file, path, GNTI_FILE_I64, 1, &s->num_nodes[part], s->nodes[part]));
    }
done:
    return st;
}

static gnt_status write_carried(gnti_h5 *file, const gnti_array *a)
{
    gnt_status st = GNT_OK;
    const int64_t dims[] = { a->rows, a->width };

    GNT_CHECK(a->dtype != GNTI_FILE_TEXT || a->width == 1, GNT_ERR_UNSUPPORTED,
              "'%s' holds texts in %lld columns, one can be written", a->path, (long long)a->width);
    GNT_TRY(write_array(file, a->path, a->dtype, a->width == 1 ? 1 : 2, dims, a->data));
    GNT_TRY(gnti_h5_set_attributes(file, a->path, a->attributes));
done:
    return st;
}

static gnt_status write_ids(gnti_h5 *file, const gnt_dataset *d)
{
    gnt_status st = GNT_OK;

    if (d->id_text != NULL)
        GNT_TRY(write_array(file, "/nodes/id", GNTI_FILE_TEXT, 1, &d->num_nodes, d->id_text));
    else if (d->id != NULL)
        GNT_TRY(write_array(file, "/nodes/id", GNTI_FILE_I64, 1, &d->num_nodes, d->id));
done:
    return st;
}

gnt_status gnti_dataset_write(const gnt_dataset *data, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    const int64_t *origin = NULL;
    const char *provenance = data->provenance != NULL ? data->provenance : "{}";

    GNT_TRY(gnti_dataset_validate(data));
    if (!gnti_dataset_splits_graphs(data))
        GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_TRY(gnti_h5_create(path, &file));
    GNT_TRY(write_heading(file, data));
    GNT_TRY(write_csr(file, "/graph/adj", data->graph));
    GNT_TRY(write_features(file, &data->x));
    GNT_TRY(write_labels(file, data));
    GNT_TRY(write_ids(file, data));
    for (int64_t i = 0; i < data->num_arrays; i++)
        GNT_TRY(write_carried(file, &data->arrays[i]));
    for (int64_t i = 0; i < data->num_splits; i++)
        GNT_TRY(write_split(file, origin, &data->splits[i]));
    GNT_TRY(gnti_chunk_order_write(file, &data->chunks));
    GNT_TRY(gnti_h5_write_texts(file, "/provenance", (char *const *)&provenance, -1));
    GNT_TRY(gnti_h5_commit(&file, NULL));
done:
    gnti_h5_close(&file);
    return st;
}
