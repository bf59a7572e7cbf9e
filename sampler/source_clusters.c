/* SPDX-License-Identifier: Apache-2.0 */
/* Random chunk clusters (Cluster-GCN, Chiang et al., KDD 2019, with random instead of METIS clusters).
 *
 * Nodes sorted by (64-bit draw of the node, id) are cut into K runs whose sizes differ by at most one: the
 * chunks, fixed for all epochs. An epoch sorts the chunks by (64-bit draw of epoch and chunk, chunk) and
 * takes q of them a batch; the last batch may have fewer. Draws are keyed by zero, not by the run's seed
 * (sampler/source.h says why), unless an order of one's own is asked for.
 *
 * All that a batch needs comes from a pool: epochs after the first ask for no memory.
 */
#include "sampler/source_base.h"

#include "base/alloc.h"
#include "base/philox.h"
#include "base/pool.h"

#include <math.h>
#include <string.h>

enum { ORDINAL_NODES = 0, ORDINAL_CHUNKS = 1 };

typedef struct drawn {
    uint64_t draw;
    int64_t id;
} drawn;

typedef struct cluster_source {
    gnti_source head;
    int64_t num_nodes, clusters, per_batch;
    int32_t *chunk_of; /* (graph rows) -1: not in training */
    drawn *order;      /* (clusters) of this epoch */
    uint8_t *chosen;   /* (clusters) 1: in the batch */
    int64_t *members;  /* nodes of one batch */
    gnti_source_rows rows;
    gnti_pool *pool;      /* rows' memory */
    int64_t bound_chunks; /* of the batch in rows: all chunks make the same batch each epoch */
} cluster_source;

static int compare_drawn(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static drawn draw(const cluster_source *c, uint32_t ordinal, uint32_t step, int64_t id)
{
    uint32_t w[4];

    gnti_draw_quad(gnti_seed_key(c->head.data.order_seed), GNTI_DRAW_PERMUTE, ordinal, step, id, 0, w);
    return (drawn){ (uint64_t)w[0] << 32 | w[1], id };
}

static int64_t chunk_start(const cluster_source *c, int64_t chunk)
{
    const int64_t small = c->num_nodes / c->clusters, more = c->num_nodes % c->clusters;

    return chunk * small + gnti_min_i64(chunk, more);
}

/* Lets d[at] sink among the `num` items of a heap. */
static void sink(drawn *d, int64_t at, int64_t num)
{
    for (int64_t child = 2 * at + 1; child < num; child = 2 * at + 1) {
        const drawn above = d[at];

        child += child + 1 < num && compare_drawn(&d[child], &d[child + 1]) < 0;
        if (compare_drawn(&above, &d[child]) >= 0)
            return;
        d[at] = d[child];
        d[child] = above;
        at = child;
    }
}

/* In place: qsort of the C library asks for memory. */
static void heap_sort(drawn *d, int64_t num)
{
    for (int64_t i = num / 2 - 1; i >= 0; i--)
        sink(d, i, num);
    for (int64_t end = num - 1; end > 0; end--) {
        const drawn largest = d[0];

        d[0] = d[end];
        d[end] = largest;
        sink(d, 0, end);
    }
}

static void clusters_begin(gnti_source *s)
{
    cluster_source *c = (cluster_source *)s;

    for (int64_t k = 0; k < c->clusters; k++)
        c->order[k] = draw(c, ORDINAL_CHUNKS, (uint32_t)s->epoch, k);
    heap_sort(c->order, c->clusters);
}

/* The nodes of batch `position`, ascending; answers their number. */
static int64_t collect(cluster_source *c, int64_t position)
{
    const int64_t first = position * c->per_batch, end = gnti_min_i64(first + c->per_batch, c->clusters);
    const int64_t *nodes = c->head.data.nodes;
    int64_t num = 0;

    memset(c->chosen, 0, (size_t)c->clusters);
    for (int64_t k = first; k < end; k++)
        c->chosen[c->order[k].id] = 1;
    for (int64_t i = 0; i < c->num_nodes; i++) {
        const int64_t v = nodes != NULL ? nodes[i] : i;

        if (c->chosen[c->chunk_of[v]])
            c->members[num++] = v;
    }
    return num;
}

static double weight_of(const cluster_source *c, int64_t num)
{
    double sum = 0.0;

    for (int64_t i = 0; i < num; i++)
        sum += (double)c->head.data.weight[c->members[i]];
    return sum;
}

/* How many times as much memory the largest batch needs. */
static double growth_of(const cluster_source *c, int64_t num)
{
    const gnti_source_data *d = &c->head.data;
    const gnti_graph *g = d->graph, *x = d->x->sparse;
    int64_t arcs = 0, entries = 0;
    double growth = (double)c->head.max_rows / (double)num;

    for (int64_t i = 0; i < num; i++) {
        const int64_t v = c->members[i];

        for (int64_t e = g->offsets[v]; e < g->offsets[v + 1]; e++)
            arcs += c->chunk_of[g->columns[e]] >= 0 && c->chosen[c->chunk_of[g->columns[e]]];
        entries += x != NULL ? x->offsets[v + 1] - x->offsets[v] : 0;
    }
    growth = fmax(growth, (double)c->head.max_arcs / (double)gnti_max_i64(arcs, 1));
    return fmax(growth, (double)c->head.max_entries / (double)gnti_max_i64(entries, 1));
}

static gnt_status make_rows(cluster_source *c, int64_t num)
{
    gnti_pool *before = gnti_pool_enter(c->pool);
    gnt_status st;

    if (c->rows.num_rows == 0) /* the first batch: later ones find their memory there */
        gnti_pool_set_growth(c->pool, growth_of(c, num));
    gnti_source_rows_free(&c->rows);
    st = gnti_source_rows_make(&c->head.data, c->members, num, &c->rows);
    gnti_pool_enter(before);
    return st;
}

static bool clusters_next(gnti_source *s, gnti_source_batch *out)
{
    cluster_source *c = (cluster_source *)s;

    while (s->position < s->num_batches) {
        const int64_t num = collect(c, s->position);
        const bool all = num == c->num_nodes, same = all && c->bound_chunks == c->clusters;

        if (weight_of(c, num) <= 0.0) {
            s->position++;
            continue;
        }
        if (!same) {
            c->bound_chunks = 0;
            s->status = make_rows(c, num);
            if (s->status != GNT_OK)
                return false;
            c->bound_chunks = all ? c->clusters : 0;
        }
        s->position++;
        *out = gnti_source_rows_batch(&c->rows);
        out->same = same;
        return true;
    }
    return false;
}

static void clusters_free(gnti_source *s)
{
    cluster_source *c = (cluster_source *)s;

    gnti_free(c->chunk_of);
    gnti_free(c->chosen);
    gnti_free(c->order);
    gnti_free(c->members);
    gnti_source_rows_free(&c->rows);
    gnti_pool_free(&c->pool);
    gnti_free(c);
}

static const gnti_source_class clusters_class = { clusters_begin, clusters_next, clusters_free };

static gnt_status cut_chunks(cluster_source *c, const gnti_source_data *data)
{
    gnt_status st = GNT_OK;
    drawn *shuffled = NULL;

    GNT_TRY(gnti_alloc_array(&shuffled, c->num_nodes));
    for (int64_t i = 0; i < c->num_nodes; i++)
        shuffled[i] = draw(c, ORDINAL_NODES, 0, data->nodes != NULL ? data->nodes[i] : i);
    heap_sort(shuffled, c->num_nodes);
    for (int64_t v = 0; v < data->graph->num_rows; v++)
        c->chunk_of[v] = -1;
    for (int64_t k = 0; k < c->clusters; k++)
        for (int64_t i = chunk_start(c, k); i < chunk_start(c, k + 1); i++)
            c->chunk_of[shuffled[i].id] = (int32_t)k;
done:
    gnti_free(shuffled);
    return st;
}

static gnt_status set_bounds(cluster_source *c)
{
    gnt_status st = GNT_OK;
    gnti_source *s = &c->head;
    const gnti_source_chunks chunks = { c->chunk_of, c->clusters, c->per_batch };

    s->num_batches = gnti_ceil_div(c->clusters, c->per_batch);
    s->max_rows = gnti_min_i64(c->num_nodes, c->per_batch * gnti_ceil_div(c->num_nodes, c->clusters));
    s->expected_arcs = (int64_t)((double)s->data.graph->num_arcs * (double)s->max_rows * (double)s->max_rows /
                                 ((double)s->data.graph->num_rows * (double)s->data.graph->num_rows));
    GNT_TRY(gnti_source_bound_arcs(s->data.graph, &chunks, &s->max_arcs));
    if (s->data.x->sparse != NULL)
        GNT_TRY(gnti_source_bound_entries(s->data.x->sparse, &chunks, &s->max_entries));
done:
    return st;
}

gnt_status gnti_source_create_clusters(const gnti_source_data *data, int64_t clusters, int64_t per_batch,
                                       gnti_source **out)
{
    gnt_status st = GNT_OK;
    cluster_source *c = NULL;
    gnti_source *made = NULL;
    const int64_t num_nodes = data->nodes != NULL ? data->num_nodes : data->graph->num_rows;

    GNT_CHECK(clusters >= 1 && per_batch >= 1 && per_batch <= clusters, GNT_ERR_USAGE,
              "%lld clusters with %lld a batch: both must be at least 1, a batch has at most all clusters",
              (long long)clusters, (long long)per_batch);
    GNT_CHECK(clusters <= num_nodes, GNT_ERR_USAGE,
              "%lld clusters of %lld nodes: use at most that many clusters", (long long)clusters,
              (long long)num_nodes);
    GNT_TRY(gnti_calloc_array(&c, 1));
    made = &c->head;
    made->class = &clusters_class;
    made->data = *data;
    made->square = true;
    c->num_nodes = num_nodes;
    c->clusters = clusters;
    c->per_batch = per_batch;
    GNT_TRY(gnti_alloc_array(&c->chunk_of, data->graph->num_rows));
    GNT_TRY(gnti_alloc_array(&c->chosen, clusters));
    GNT_TRY(gnti_alloc_array(&c->order, clusters));
    GNT_TRY(cut_chunks(c, data));
    GNT_TRY(set_bounds(c));
    GNT_TRY(gnti_alloc_array(&c->members, made->max_rows));
    GNT_TRY(gnti_pool_create(&c->pool));
    *out = made;
    made = NULL;
done:
    gnti_source_free(&made);
    return st;
}
