/* SPDX-License-Identifier: Apache-2.0 */
/* Random chunk clusters (Cluster-GCN, Chiang et al., KDD 2019, with random instead of METIS clusters).
 *
 * Nodes sorted by (64-bit draw of the node, id) are cut into K runs whose sizes differ by at most one: the
 * chunks, fixed for all epochs. An epoch sorts the chunks by (64-bit draw of epoch and chunk, chunk) and
 * takes q of them a batch; the last batch may have fewer. Draws are keyed by zero, not by the run's seed
 * (sampler/source.h says why).
 */
#include "sampler/source_base.h"

#include "base/alloc.h"
#include "base/philox.h"

#include <stdlib.h>

enum { ORDINAL_NODES = 0, ORDINAL_CHUNKS = 1 };

typedef struct drawn {
    uint64_t draw;
    int64_t id;
} drawn;

typedef struct cluster_source {
    gnti_source head;
    int64_t num_nodes, clusters, per_batch;
    int64_t *shuffled; /* (num_nodes) chunk k is positions k n / K .. (k + 1) n / K - 1 */
    drawn *order;      /* (clusters) of this epoch */
    int64_t *members;  /* nodes of one batch */
    gnti_source_rows rows;
    int64_t bound_chunks; /* of the batch in rows: all chunks make the same batch each epoch */
} cluster_source;

static int compare_drawn(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static drawn draw(uint32_t ordinal, uint32_t step, int64_t id)
{
    uint32_t w[4];

    gnti_draw_quad(gnti_seed_key(0), GNTI_DRAW_PERMUTE, ordinal, step, id, 0, w);
    return (drawn){ (uint64_t)w[0] << 32 | w[1], id };
}

static int64_t chunk_start(const cluster_source *c, int64_t chunk)
{
    const int64_t small = c->num_nodes / c->clusters, more = c->num_nodes % c->clusters;

    return chunk * small + gnti_min_i64(chunk, more);
}

static void clusters_begin(gnti_source *s)
{
    cluster_source *c = (cluster_source *)s;

    for (int64_t k = 0; k < c->clusters; k++)
        c->order[k] = draw(ORDINAL_CHUNKS, (uint32_t)s->epoch, k);
    qsort(c->order, (size_t)c->clusters, sizeof *c->order, compare_drawn);
}

/* The nodes of batch `position`, ascending; answers their number. */
static int64_t collect(cluster_source *c, int64_t position)
{
    const int64_t first = position * c->per_batch, end = gnti_min_i64(first + c->per_batch, c->clusters);
    int64_t num = 0;

    for (int64_t k = first; k < end; k++) {
        const int64_t chunk = c->order[k].id;

        for (int64_t i = chunk_start(c, chunk); i < chunk_start(c, chunk + 1); i++)
            c->members[num++] = c->shuffled[i];
    }
    qsort(c->members, (size_t)num, sizeof *c->members, compare_ids);
    return num;
}

static double weight_of(const cluster_source *c, int64_t num)
{
    double sum = 0.0;

    for (int64_t i = 0; i < num; i++)
        sum += (double)c->head.data.weight[c->members[i]];
    return sum;
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
            gnti_source_rows_free(&c->rows);
            c->bound_chunks = 0;
            s->status = gnti_source_rows_make(&s->data, c->members, num, &c->rows);
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

    gnti_free(c->shuffled);
    gnti_free(c->order);
    gnti_free(c->members);
    gnti_source_rows_free(&c->rows);
    gnti_free(c);
}

static const gnti_source_class clusters_class = { clusters_begin, clusters_next, clusters_free };

static gnt_status shuffle(cluster_source *c, const gnti_source_data *data)
{
    gnt_status st = GNT_OK;
    drawn *nodes = NULL;

    GNT_TRY(gnti_alloc_array(&nodes, c->num_nodes));
    for (int64_t i = 0; i < c->num_nodes; i++)
        nodes[i] = draw(ORDINAL_NODES, 0, data->nodes != NULL ? data->nodes[i] : i);
    qsort(nodes, (size_t)c->num_nodes, sizeof *nodes, compare_drawn);
    for (int64_t i = 0; i < c->num_nodes; i++)
        c->shuffled[i] = nodes[i].id;
done:
    gnti_free(nodes);
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
    made->num_batches = gnti_ceil_div(clusters, per_batch);
    made->max_rows = gnti_min_i64(num_nodes, per_batch * gnti_ceil_div(num_nodes, clusters));
    made->expected_arcs =
        (int64_t)((double)data->graph->num_arcs * (double)made->max_rows * (double)made->max_rows /
                  ((double)data->graph->num_rows * (double)data->graph->num_rows));
    c->num_nodes = num_nodes;
    c->clusters = clusters;
    c->per_batch = per_batch;
    GNT_TRY(gnti_alloc_array(&c->shuffled, num_nodes));
    GNT_TRY(gnti_alloc_array(&c->order, clusters));
    GNT_TRY(gnti_alloc_array(&c->members, made->max_rows));
    GNT_TRY(shuffle(c, data));
    *out = made;
    made = NULL;
done:
    gnti_source_free(&made);
    return st;
}
