/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets of chosen or renamed nodes: every member follows its axis.
 *
 *   nodes   row i of the new one is row nodes[i] of the old one
 *   arcs    the arcs whose two ends are chosen, in canonical order; `arc` names the old one
 *   graphs  stay, /graphs/ptr is counted anew; so the nodes of a graph must stay together and in order of graphs
 *   pairs   those whose two nodes are chosen, renamed
 *   splits  renamed and sorted anew (lists of graphs stay)
 *
 * /nodes/origin names the row in the dataset where it all began; it is dropped when nothing has moved.
 */
#include "datasets/chunk_order.h"
#include "datasets/dataset.h"
#include "datasets/h5_value.h"

#include <stdlib.h>
#include <string.h>

/* A selection under way: nodes NULL means all, in order. */
typedef struct selection {
    const gnt_dataset *from;
    gnt_dataset *to;
    const int64_t *nodes;
    int64_t *arc;     /* old arc of each new one; NULL: the same */
    int64_t *renamed; /* (old nodes) new number or -1; NULL: the same */
    int64_t *pair;    /* old pair of each new one */
    int64_t num_pairs;
} selection;

static gnt_status copy_text(const char *from, char **to)
{
    return from != NULL ? gnti_strdup(to, from) : GNT_OK;
}

/* Row i of the copy is row row[i] (NULL: i) of `from`; rows of `width` values. */
static gnt_status pick_rows(gnti_dtype_file type, const void *from, int64_t width, const int64_t *row,
                            int64_t num, void **out)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)width * gnti_file_dtype_bytes(type);
    char *to = NULL;

    GNT_TRY(gnti_array_bytes((void **)(void *)&to, num * width, gnti_file_dtype_bytes(type),
                             type == GNTI_FILE_TEXT));
    for (int64_t i = 0; i < num; i++) {
        const int64_t r = row != NULL ? row[i] : i;

        if (type != GNTI_FILE_TEXT)
            memcpy(to + (size_t)i * bytes, (const char *)from + (size_t)r * bytes, bytes);
        for (int64_t c = 0; type == GNTI_FILE_TEXT && c < width; c++)
            GNT_TRY(gnti_strdup((char **)(void *)to + i * width + c, ((char *const *)from)[r * width + c]));
    }
    *out = to;
    to = NULL;
done:
    if (to != NULL)
        gnti_h5_free_values(type, num * width, (void **)(void *)&to);
    return st;
}

/* The rows of a rectangular CSR. */
static gnt_status pick_sparse(const gnti_graph *g, const int64_t *row, int64_t num, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *s = NULL;
    int64_t arcs = 0;

    for (int64_t i = 0; i < num; i++) {
        const int64_t r = row != NULL ? row[i] : i;

        arcs += g->offsets[r + 1] - g->offsets[r];
    }
    GNT_TRY(gnti_graph_alloc(num, g->num_cols, arcs, g->weights != NULL, &s));
    for (int64_t i = 0; i < num; i++) {
        const int64_t r = row != NULL ? row[i] : i, at = s->offsets[i],
                      count = g->offsets[r + 1] - g->offsets[r];

        memcpy(s->columns + at, g->columns + g->offsets[r], (size_t)count * sizeof *s->columns);
        if (g->weights != NULL)
            memcpy(s->weights + at, g->weights + g->offsets[r], (size_t)count * sizeof *s->weights);
        s->offsets[i + 1] = at + count;
    }
    *out = s;
    s = NULL;
done:
    gnti_graph_free(&s);
    return st;
}

static gnt_status select_graph(selection *s)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = s->from->graph;

    if (s->nodes == NULL) {
        GNT_TRY(pick_sparse(g, NULL, g->num_rows, &s->to->graph));
        return GNT_OK;
    }
    GNT_TRY(gnti_graph_subgraph(g, s->nodes, s->to->num_nodes, &s->arc, &s->to->graph));
    GNT_TRY(gnti_alloc_array(&s->renamed, s->from->num_nodes));
    for (int64_t v = 0; v < s->from->num_nodes; v++)
        s->renamed[v] = -1;
    for (int64_t i = 0; i < s->to->num_nodes; i++)
        s->renamed[s->nodes[i]] = i;
done:
    return st;
}

static gnt_status select_nodes(selection *s)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *from = s->from;
    gnt_dataset *to = s->to;
    const int64_t num = to->num_nodes;
    void *picked = NULL;

    to->x.rows = num;
    to->x.width = from->x.width;
    if (from->x.dense != NULL)
        GNT_TRY(pick_rows(GNTI_FILE_F32, from->x.dense, from->x.width, s->nodes, num,
                          (void **)(void *)&to->x.dense));
    if (from->x.sparse != NULL)
        GNT_TRY(pick_sparse(from->x.sparse, s->nodes, num, &to->x.sparse));
    to->y.kind = from->y.kind;
    if (from->y.class_of != NULL)
        GNT_TRY(
            pick_rows(GNTI_FILE_I32, from->y.class_of, 1, s->nodes, num, (void **)(void *)&to->y.class_of));
    if (from->y.rows != NULL)
        GNT_TRY(pick_rows(GNTI_FILE_F32, from->y.rows, from->y.num_classes, s->nodes, num,
                          (void **)(void *)&to->y.rows));
    if (from->y.names != NULL) {
        GNT_TRY(pick_rows(GNTI_FILE_TEXT, from->y.names, 1, NULL, from->y.num_classes, &picked));
        to->y.names = picked;
    }
    to->y.num_classes = from->y.num_classes;
    if (from->id != NULL)
        GNT_TRY(pick_rows(GNTI_FILE_I64, from->id, 1, s->nodes, num, (void **)(void *)&to->id));
    if (from->id_text != NULL)
        GNT_TRY(pick_rows(GNTI_FILE_TEXT, from->id_text, 1, s->nodes, num, (void **)(void *)&to->id_text));
done:
    return st;
}

/* Which pairs stay. */
static gnt_status select_pairs(selection *s)
{
    gnt_status st = GNT_OK;
    const gnti_array *pairs = gnti_dataset_find_array(s->from, "/pairs/nodes");
    const int64_t *ends = pairs != NULL ? pairs->data : NULL;

    if (pairs == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&s->pair, pairs->rows));
    for (int64_t i = 0; i < pairs->rows; i++)
        if (s->renamed == NULL || (s->renamed[ends[2 * i]] >= 0 && s->renamed[ends[2 * i + 1]] >= 0))
            s->pair[s->num_pairs++] = i;
done:
    return st;
}

/* Where each graph begins now: graph g holds the new nodes that lay in [ptr[g], ptr[g + 1]). */
static gnt_status count_graphs(const selection *s, const gnti_array *from, int64_t *ptr)
{
    gnt_status st = GNT_OK;
    const int64_t *old = from->data;
    int64_t g = 0;

    ptr[0] = 0;
    for (int64_t i = 0; i < s->to->num_nodes; i++) {
        GNT_CHECK(s->nodes[i] >= old[g], GNT_ERR_ARG,
                  "node %lld belongs to a graph before graph %lld: keep the nodes of each graph together and "
                  "in order",
                  (long long)s->nodes[i], (long long)g);
        while (s->nodes[i] >= old[g + 1])
            ptr[++g] = i;
    }
    while (g + 1 < from->rows)
        ptr[++g] = s->to->num_nodes;
done:
    return st;
}

static gnt_status fill_array(const selection *s, const gnti_array *from, gnti_array *a)
{
    gnt_status st = GNT_OK;
    const int64_t *row = NULL;

    if (from->axis == GNTI_AXIS_NODE) {
        a->rows = s->to->num_nodes;
        row = s->nodes;
    } else if (from->axis == GNTI_AXIS_ARC) {
        a->rows = s->to->graph->num_arcs;
        row = s->arc;
    } else if (from->axis == GNTI_AXIS_PAIR) {
        a->rows = s->num_pairs;
        row = s->pair;
    }
    GNT_TRY(pick_rows(from->dtype, from->data, from->width, row, a->rows, &a->data));
    if (s->nodes == NULL)
        return GNT_OK;
    if (strcmp(from->path, "/graphs/ptr") == 0)
        GNT_TRY(count_graphs(s, from, a->data));
    for (int64_t i = 0; strcmp(from->path, "/pairs/nodes") == 0 && i < 2 * a->rows; i++)
        ((int64_t *)a->data)[i] = s->renamed[((int64_t *)a->data)[i]];
done:
    return st;
}

static gnt_status select_array(const selection *s, const gnti_array *from)
{
    gnt_status st = GNT_OK;
    gnti_array a = { .axis = from->axis, .rows = from->rows, .width = from->width };

    GNT_TRY(copy_text(from->path, &a.path));
    GNT_TRY(copy_text(from->attributes, &a.attributes));
    GNT_TRY(fill_array(s, from, &a));
    a.dtype = from->dtype;
    GNT_TRY(gnti_dataset_take_array(s->to, &a));
done:
    gnti_array_free(&a);
    return st;
}

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static gnt_status select_split(const selection *s, const gnti_split *from)
{
    gnt_status st = GNT_OK;
    gnti_split t = { .seed = from->seed, .inductive = from->inductive };
    const bool rename = s->renamed != NULL && !gnti_dataset_splits_graphs(s->from);

    GNT_TRY(copy_text(from->name, &t.name));
    GNT_TRY(copy_text(from->kind, &t.kind));
    GNT_TRY(copy_text(from->source, &t.source));
    for (int part = 0; part < 3; part++) {
        GNT_TRY(gnti_alloc_array(&t.nodes[part], from->num_nodes[part]));
        for (int64_t i = 0; i < from->num_nodes[part]; i++) {
            const int64_t v = rename ? s->renamed[from->nodes[part][i]] : from->nodes[part][i];

            if (v >= 0)
                t.nodes[part][t.num_nodes[part]++] = v;
        }
        qsort(t.nodes[part], (size_t)t.num_nodes[part], sizeof(int64_t), compare_i64);
    }
    GNT_TRY(gnti_dataset_take_split(s->to, &t));
done:
    gnti_split_free(&t);
    return st;
}

/* /nodes/origin has been picked like any node array if it was there; else it is the old row. */
static gnt_status set_origin(const selection *s)
{
    gnt_status st = GNT_OK;
    gnti_array a = { .axis = GNTI_AXIS_NODE, .dtype = GNTI_FILE_I64, .rows = s->to->num_nodes, .width = 1 };
    bool moved = false;

    if (gnti_dataset_find_array(s->from, "/nodes/origin") == NULL) {
        GNT_TRY(gnti_strdup(&a.path, "/nodes/origin"));
        GNT_TRY(pick_rows(GNTI_FILE_I64, s->nodes, 1, NULL, a.rows, &a.data));
        GNT_TRY(gnti_dataset_take_array(s->to, &a));
    }
    for (int64_t at = 0; at < s->to->num_arrays; at++) {
        gnti_array *origin = &s->to->arrays[at];

        if (strcmp(origin->path, "/nodes/origin") != 0 || origin->dtype != GNTI_FILE_I64)
            continue;
        for (int64_t i = 0; i < origin->rows && !moved; i++)
            moved = ((int64_t *)origin->data)[i] != i;
        if (!moved) {
            gnti_array_free(origin);
            *origin = s->to->arrays[--s->to->num_arrays];
        }
        break;
    }
done:
    gnti_array_free(&a);
    return st;
}

static gnt_status run(selection *s)
{
    gnt_status st = GNT_OK;

    GNT_TRY(select_graph(s));
    GNT_TRY(select_nodes(s));
    GNT_TRY(select_pairs(s));
    for (int64_t i = 0; i < s->from->num_arrays; i++)
        GNT_TRY(select_array(s, &s->from->arrays[i]));
    for (int64_t i = 0; i < s->from->num_splits; i++)
        GNT_TRY(select_split(s, &s->from->splits[i]));
    GNT_TRY(copy_text(s->from->provenance, &s->to->provenance));
    if (s->nodes != NULL)
        GNT_TRY(set_origin(s));
    GNT_TRY(gnti_dataset_hash(s->to));
done:
    return st;
}

static gnt_status make(const gnt_dataset *data, const int64_t *nodes, int64_t num_nodes, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    selection s = { .from = data, .nodes = nodes };

    GNT_TRY(gnti_dataset_create(data->ctx, num_nodes, &s.to));
    s.to->directed = data->directed;
    GNT_TRY(run(&s));
    *out = s.to;
    s.to = NULL;
done:
    gnt_dataset_free(&s.to);
    gnti_free(s.arc);
    gnti_free(s.renamed);
    gnti_free(s.pair);
    return st;
}

gnt_status gnti_dataset_copy(const gnt_dataset *data, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;

    GNT_TRY(make(data, NULL, data->num_nodes, &d));
    GNT_TRY(copy_text(data->path, &d->path));
    memcpy(d->uuid, data->uuid, sizeof d->uuid);
    GNT_TRY(gnti_chunk_order_copy(&data->chunks, &d->chunks));
    *out = d;
    d = NULL;
done:
    gnt_dataset_free(&d);
    return st;
}

gnt_status gnti_dataset_subgraph(const gnt_dataset *data, const int64_t *nodes, int64_t num_nodes,
                                 gnt_dataset **out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(num_nodes >= 0 && nodes != NULL, GNT_ERR_ARG, "a choice of %lld nodes at %s",
              (long long)num_nodes, nodes == NULL ? "NULL" : "an address");
    GNT_TRY(make(data, nodes, num_nodes, out));
done:
    return st;
}

gnt_status gnti_dataset_permute(const gnt_dataset *data, const int64_t *rank, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    int64_t *nodes = NULL;

    GNT_TRY(gnti_graph_invert(rank, data->num_nodes, &nodes));
    GNT_TRY(make(data, nodes, data->num_nodes, out));
done:
    gnti_free(nodes);
    return st;
}
