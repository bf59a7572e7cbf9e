/* SPDX-License-Identifier: Apache-2.0 */
/* What a chunk costs and which rows it needs of others: the numbers that the chunk map is made of.
 *
 * The quotient graph counts rows, not arcs: q_pr = |{u in r : some arc u -> v with v in p}|, the rows of r that p reads in a
 * forward pass. The owners' rows are walked chunk by chunk with one counter per reader, so nothing of size K x K is kept.
 * Work of a chunk is the mean of the arcs that start and that end in it: forward reads the ones, backward the others.
 */
#include "partition/chunk_map.h"

/* The nodes sorted by chunk: chunk r has nodes[start[r]] .. nodes[start[r + 1] - 1], ascending. */
static gnt_status sort_by_chunk(const gnti_partition *p, int64_t **start_out, int32_t **nodes_out)
{
    gnt_status st = GNT_OK;
    int64_t *start = NULL;
    int32_t *nodes = NULL;

    GNT_TRY(gnti_calloc_array(&start, (int64_t)p->num_chunks + 2));
    GNT_TRY(gnti_alloc_array(&nodes, p->num_nodes));
    for (int64_t v = 0; v < p->num_nodes; v++)
        start[p->chunk_of[v] + 2]++;
    for (int32_t r = 0; r < p->num_chunks; r++)
        start[r + 2] += start[r + 1];
    for (int64_t v = 0; v < p->num_nodes; v++)
        nodes[start[p->chunk_of[v] + 1]++] = (int32_t)v;
    *start_out = start;
    *nodes_out = nodes;
    start = NULL;
    nodes = NULL;
done:
    gnti_free(start);
    gnti_free(nodes);
    return st;
}

/* Readers of the rows of every owner, as growing lists: entry e says that reader[e] needs count[e] rows. */
typedef struct readers {
    int64_t *offsets; /* (K + 1) by owner */
    int32_t *reader;
    double *count;
    int64_t num, reader_capacity, count_capacity;
} readers;

static void readers_clear(readers *q)
{
    gnti_free(q->offsets);
    gnti_free(q->reader);
    gnti_free(q->count);
}

/* Counters of one owner at a time: count[p] of its rows are read by chunk p, last[p] - 1 is the newest of them. */
typedef struct counters {
    int64_t *count, *last;
    int32_t *touched; /* the p with a count */
} counters;

static gnt_status add_owner(const gnti_graph *g, const gnti_partition *p, int32_t owner, const int32_t *nodes,
                            int64_t num_nodes, const counters *c, readers *q)
{
    gnt_status st = GNT_OK;
    int32_t num_touched = 0;

    for (int64_t i = 0; i < num_nodes; i++) {
        const int64_t u = nodes[i];

        for (int64_t a = g->offsets[u]; a < g->offsets[u + 1]; a++) {
            const int32_t reader = p->chunk_of[g->columns[a]];

            if (reader == owner || c->last[reader] == u + 1)
                continue;
            c->last[reader] = u + 1;
            if (c->count[reader]++ == 0)
                c->touched[num_touched++] = reader;
        }
    }
    GNT_TRY(gnti_grow_array(&q->reader, &q->reader_capacity, q->num + num_touched));
    GNT_TRY(gnti_grow_array(&q->count, &q->count_capacity, q->num + num_touched));
    for (int32_t i = 0; i < num_touched; i++) {
        q->reader[q->num] = c->touched[i];
        q->count[q->num++] = (double)c->count[c->touched[i]];
        c->count[c->touched[i]] = 0;
    }
done:
    return st;
}

static gnt_status find_readers(const gnti_graph *g, const gnti_partition *p, readers *q)
{
    gnt_status st = GNT_OK;
    counters c = { .count = NULL };
    int64_t *start = NULL;
    int32_t *nodes = NULL;

    GNT_TRY(sort_by_chunk(p, &start, &nodes));
    GNT_TRY(gnti_calloc_array(&c.count, p->num_chunks));
    GNT_TRY(gnti_calloc_array(&c.last, p->num_chunks));
    GNT_TRY(gnti_alloc_array(&c.touched, p->num_chunks));
    GNT_TRY(gnti_calloc_array(&q->offsets, (int64_t)p->num_chunks + 1));
    for (int32_t r = 0; r < p->num_chunks; r++) {
        GNT_TRY(add_owner(g, p, r, nodes + start[r], start[r + 1] - start[r], &c, q));
        q->offsets[r + 1] = q->num;
    }
done:
    gnti_free(start);
    gnti_free(nodes);
    gnti_free(c.count);
    gnti_free(c.last);
    gnti_free(c.touched);
    return st;
}

/* By reader in place of by owner: CSR of f. */
static gnt_status transpose(const readers *q, gnti_chunk_facts *f)
{
    gnt_status st = GNT_OK;
    const int32_t num_chunks = f->num_chunks;
    int64_t *next = NULL;

    GNT_TRY(gnti_calloc_array(&f->offsets, (int64_t)num_chunks + 1));
    GNT_TRY(gnti_alloc_array(&f->neighbour, q->num));
    GNT_TRY(gnti_alloc_array(&f->halo_rows, q->num));
    GNT_TRY(gnti_alloc_array(&next, num_chunks));
    for (int64_t e = 0; e < q->num; e++)
        f->offsets[q->reader[e] + 1]++;
    for (int32_t p = 0; p < num_chunks; p++) {
        next[p] = f->offsets[p];
        f->offsets[p + 1] += f->offsets[p];
    }
    for (int32_t r = 0; r < num_chunks; r++) {
        for (int64_t e = q->offsets[r]; e < q->offsets[r + 1]; e++) {
            const int64_t at = next[q->reader[e]]++;

            f->neighbour[at] = r;
            f->halo_rows[at] = q->count[e];
        }
    }
done:
    gnti_free(next);
    return st;
}

void gnti_chunk_facts_weigh(gnti_chunk_facts *f, const gnti_chunk_rates *rates)
{
    for (int32_t c = 0; c < f->num_chunks; c++) {
        const double arcs = 0.5 * ((double)f->arcs[c] + (double)f->arcs_out[c]);

        f->cost[c] = rates->arc_seconds * arcs + rates->row_seconds * (double)f->rows[c];
        f->bytes[c] = rates->bytes_per_arc * arcs + rates->bytes_per_row * (double)f->rows[c];
    }
}

/* Rows and arcs of the chunks. */
static gnt_status count_work(const gnti_graph *g, const gnti_partition *p, gnti_chunk_facts *f)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(&f->rows, f->num_chunks));
    GNT_TRY(gnti_calloc_array(&f->arcs, f->num_chunks));
    GNT_TRY(gnti_calloc_array(&f->arcs_out, f->num_chunks));
    GNT_TRY(gnti_alloc_array(&f->cost, f->num_chunks));
    GNT_TRY(gnti_alloc_array(&f->bytes, f->num_chunks));
    for (int64_t u = 0; u < p->num_nodes; u++) {
        const int32_t chunk = p->chunk_of[u];

        f->rows[chunk]++;
        f->arcs_out[chunk] += g->offsets[u + 1] - g->offsets[u];
        for (int64_t a = g->offsets[u]; a < g->offsets[u + 1]; a++)
            f->arcs[p->chunk_of[g->columns[a]]]++;
    }
done:
    return st;
}

gnt_status gnti_chunk_facts_make(const gnti_graph *graph, const gnti_partition *p,
                                 const gnti_chunk_rates *rates, gnti_chunk_facts **out)
{
    gnt_status st = GNT_OK;
    gnti_chunk_facts *f = NULL;
    readers q = { .num = 0 };

    GNT_CHECK(graph != NULL && p != NULL && rates != NULL && out != NULL, GNT_ERR_ARG,
              "graph, p, rates and out must not be NULL");
    GNT_CHECK(graph->num_rows == p->num_nodes && graph->num_cols == p->num_nodes, GNT_ERR_ARG,
              "the graph is %lld x %lld but the partition has %lld nodes", (long long)graph->num_rows,
              (long long)graph->num_cols, (long long)p->num_nodes);
    GNT_TRY(gnti_calloc_array(&f, 1));
    f->num_chunks = p->num_chunks;
    GNT_TRY(count_work(graph, p, f));
    gnti_chunk_facts_weigh(f, rates);
    GNT_TRY(find_readers(graph, p, &q));
    GNT_TRY(transpose(&q, f));
    *out = f;
    f = NULL;
done:
    readers_clear(&q);
    gnti_chunk_facts_free(&f);
    return st;
}

void gnti_chunk_facts_free(gnti_chunk_facts **facts)
{
    gnti_chunk_facts *f = facts != NULL ? *facts : NULL;

    if (f == NULL)
        return;
    gnti_free(f->cost);
    gnti_free(f->bytes);
    gnti_free(f->rows);
    gnti_free(f->arcs);
    gnti_free(f->arcs_out);
    gnti_free(f->offsets);
    gnti_free(f->neighbour);
    gnti_free(f->halo_rows);
    gnti_free(f);
    *facts = NULL;
}
