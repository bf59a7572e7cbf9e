/* SPDX-License-Identifier: Apache-2.0 */
/* The facts of `gnntrain info`: what a dataset is, without judging it. Names that scripts rely on: num_nodes, num_arcs,
 * num_features, num_classes, num_self_loops, graph_sha256, content_sha256.
 */
#include "datasets/dataset.h"

#include <gnntrain/experimental.h>

#include "base/json.h"

#include <string.h>

static int64_t count_loops(const gnti_graph *g)
{
    int64_t num = 0;

    for (int64_t r = 0; r < g->num_rows; r++)
        for (int64_t a = g->offsets[r]; a < g->offsets[r + 1]; a++)
            num += g->columns[a] == r;
    return num;
}

static gnt_status add_counts(const gnt_dataset *d, gnti_json *to)
{
    static const char *const kinds[] = { "none", "class", "multi-label", "regression" };
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_text(to, "path", d->path));
    GNT_TRY(gnti_json_set_int(to, "num_nodes", d->num_nodes));
    GNT_TRY(gnti_json_set_int(to, "num_arcs", d->graph->num_arcs));
    GNT_TRY(gnti_json_set_int(to, "num_features", d->x.width));
    GNT_TRY(gnti_json_set_int(to, "num_classes", d->y.num_classes));
    GNT_TRY(gnti_json_set_int(to, "num_self_loops", count_loops(d->graph)));
    GNT_TRY(gnti_json_set_int(to, "num_graphs", gnti_dataset_num_graphs(d)));
    GNT_TRY(gnti_json_set_bool(to, "directed", d->directed));
    GNT_TRY(gnti_json_set_bool(to, "weighted", d->graph->weights != NULL));
    GNT_TRY(gnti_json_set_text(to, "labels", kinds[d->y.kind]));
    GNT_TRY(gnti_json_set_text(to, "features",
                               d->x.sparse != NULL  ? "sparse"
                               : d->x.dense != NULL ? "dense"
                                                    : "none"));
    if (d->x.sparse != NULL)
        GNT_TRY(gnti_json_set_int(to, "num_stored_features", d->x.sparse->num_arcs));
    GNT_TRY(gnti_json_set_text(to, "ids", d->id_text != NULL ? "text" : d->id != NULL ? "integer" : "row"));
done:
    return st;
}

static gnt_status add_splits(const gnt_dataset *d, gnti_json *to)
{
    gnt_status st = GNT_OK;
    gnti_json *all, *one;
    char sum[65];

    GNT_TRY(gnti_json_set_object(to, "splits", &all));
    for (int64_t i = 0; i < d->num_splits; i++) {
        const gnti_split *s = &d->splits[i];

        GNT_TRY(gnti_split_sum(s, sum));
        GNT_TRY(gnti_json_set_object(all, s->name, &one));
        GNT_TRY(gnti_json_set_int(one, "train", s->num_nodes[GNTI_TRAIN]));
        GNT_TRY(gnti_json_set_int(one, "valid", s->num_nodes[GNTI_VALID]));
        GNT_TRY(gnti_json_set_int(one, "test", s->num_nodes[GNTI_TEST]));
        GNT_TRY(gnti_json_set_text(one, "kind", s->kind));
        GNT_TRY(gnti_json_set_int(one, "seed", (int64_t)s->seed));
        GNT_TRY(gnti_json_set_bool(one, "inductive", s->inductive));
        GNT_TRY(gnti_json_set_text(one, "sha256", sum));
    }
done:
    return st;
}

static gnt_status add_members(const gnt_dataset *d, gnti_json *to)
{
    gnt_status st = GNT_OK;
    gnti_json *list;

    if (d->y.names != NULL) {
        GNT_TRY(gnti_json_set_array(to, "class_names", &list));
        for (int64_t k = 0; k < d->y.num_classes; k++)
            GNT_TRY(gnti_json_append_text(list, d->y.names[k]));
    }
    GNT_TRY(gnti_json_set_array(to, "carried", &list));
    for (int64_t i = 0; i < d->num_arrays; i++)
        GNT_TRY(gnti_json_append_text(list, d->arrays[i].path));
done:
    return st;
}

/* As an object where it is one; what another writer put there stays text. */
static gnt_status add_provenance(const gnt_dataset *d, gnti_json *to)
{
    gnt_status st = GNT_OK;
    gnti_json *parsed = NULL;

    if (d->provenance == NULL)
        return GNT_OK;
    st = gnti_json_parse(d->provenance, strlen(d->provenance), "/provenance", &parsed);
    if (st == GNT_ERR_FORMAT) {
        GNT_TRY(gnti_json_set_text(to, "provenance", d->provenance));
        return st;
    }
    GNT_TRY(st);
    GNT_TRY(gnti_json_set_copy(to, "provenance", parsed));
done:
    gnti_json_free(&parsed);
    return st;
}

gnt_status gntx_dataset_info(const gnt_dataset *data, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL;
    char graph[65], content[65];

    GNT_CHECK(data != NULL && out != NULL, GNT_ERR_ARG, "data and out must not be NULL");
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(add_counts(data, facts));
    memcpy(graph, data->graph_sha256, sizeof graph);
    memcpy(content, data->content_sha256, sizeof content);
    if (graph[0] == '\0' || content[0] == '\0')
        GNT_TRY(gnti_dataset_sums(data, graph, content));
    GNT_TRY(gnti_json_set_text(facts, "graph_sha256", graph));
    GNT_TRY(gnti_json_set_text(facts, "content_sha256", content));
    GNT_TRY(gnti_json_set_text(facts, "uuid", data->uuid[0] != '\0' ? data->uuid : NULL));
    GNT_TRY(add_splits(data, facts));
    GNT_TRY(add_members(data, facts));
    GNT_TRY(add_provenance(data, facts));
    *out = (gntx_json *)facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    return st;
}
