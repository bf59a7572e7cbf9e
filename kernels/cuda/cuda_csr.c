/* SPDX-License-Identifier: Apache-2.0 */
/* The CSR of plans on the device.
 *
 *   graph   offsets (32 bits wide where the arcs fit, else 64), columns, weights: one block, shared by the plans that were made
 *           over the same host arrays (all rows, interior rows, boundary rows, another program's)
 *   lists   of one plan: its output rows, and its hubs: rows of more than CUDA_HUB_ENTRIES entries with their pieces
 * A plan borrows its host arrays for its life, so their addresses tell graphs apart while a plan lives.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

#include <string.h>

struct cuda_graph {
    struct cuda_graph *next;
    gnt_spmm_plan_args key; /* its host arrays and counts alone */
    int32_t num_users;
    gnt_buffer *buf;
    size_t columns_at, weights_at; /* bytes in buf; offsets are first */
    bool narrow;
};

static bool same_graph(const gnt_spmm_plan_args *a, const gnt_spmm_plan_args *b)
{
    return a->offsets == b->offsets && a->columns == b->columns && a->weights == b->weights &&
           a->num_rows == b->num_rows && a->num_arcs == b->num_arcs;
}

static struct cuda_graph *find_graph(gnt_device *dev, const gnt_spmm_plan_args *a)
{
    struct cuda_graph *g;

    pthread_mutex_lock(&dev->lock);
    for (g = dev->graphs; g != NULL && !same_graph(&g->key, a); g = g->next)
        ;
    if (g != NULL)
        g->num_users++;
    pthread_mutex_unlock(&dev->lock);
    return g;
}

static void leave_graph(struct cuda_graph *g, gnt_device *dev)
{
    struct cuda_graph **at;

    pthread_mutex_lock(&dev->lock);
    if (--g->num_users > 0) {
        pthread_mutex_unlock(&dev->lock);
        return;
    }
    for (at = &dev->graphs; *at != NULL && *at != g; at = &(*at)->next)
        ;
    if (*at == g)
        *at = g->next;
    pthread_mutex_unlock(&dev->lock);
    if (g->buf != NULL)
        cuda_free(g->buf);
    gnti_free(g);
}

static gnt_status finish(gnt_stream *s)
{
    gnt_status st = GNT_OK;
    bool is_done = false;

    while (!is_done)
        GNT_TRY(cuda_stream_wait(s, 1.0, &is_done));
done:
    return st;
}

static size_t padded(size_t bytes)
{
    return gnti_round_up(bytes, 256);
}

static gnt_status upload_offsets(gnt_stream *s, const gnt_spmm_plan_args *a, struct cuda_graph *g)
{
    gnt_status st = GNT_OK;
    const int64_t count = a->num_rows + 1;
    int32_t *narrow = NULL;

    if (!g->narrow)
        return cuda_upload(s, g->buf, 0, a->offsets, (size_t)count * sizeof *a->offsets);
    GNT_TRY(gnti_alloc_array(&narrow, count));
    for (int64_t i = 0; i < count; i++)
        narrow[i] = (int32_t)a->offsets[i];
    GNT_TRY(cuda_upload(s, g->buf, 0, narrow, (size_t)count * sizeof *narrow));
done:
    gnti_free(narrow);
    return st;
}

static gnt_status make_graph(gnt_stream *s, const gnt_spmm_plan_args *a, struct cuda_graph **out)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = s->head.device;
    struct cuda_graph *g = NULL;
    size_t arcs = padded((size_t)a->num_arcs * sizeof(int32_t)), offsets;

    GNT_TRY(gnti_calloc_bytes((void **)&g, sizeof *g));
    g->key = *a;
    g->num_users = 1;
    g->narrow = a->num_arcs <= dev->most_narrow_arcs;
    offsets = padded((size_t)(a->num_rows + 1) * (g->narrow ? sizeof(int32_t) : sizeof(int64_t)));
    g->columns_at = offsets;
    g->weights_at = offsets + arcs;
    GNT_TRY(cuda_alloc(dev, offsets + arcs + (a->weights != NULL ? arcs : 0), &g->buf));
    GNT_TRY(upload_offsets(s, a, g));
    GNT_TRY(cuda_upload(s, g->buf, g->columns_at, a->columns, (size_t)a->num_arcs * sizeof *a->columns));
    if (a->weights != NULL)
        GNT_TRY(cuda_upload(s, g->buf, g->weights_at, a->weights, (size_t)a->num_arcs * sizeof *a->weights));
    GNT_TRY(finish(s)); /* other streams may use it from now on */
    pthread_mutex_lock(&dev->lock);
    g->next = dev->graphs;
    dev->graphs = g;
    pthread_mutex_unlock(&dev->lock);
    *out = g;
    g = NULL; /* handed over */
done:
    if (g != NULL)
        leave_graph(g, dev);
    return st;
}

/* ---- lists ------------------------------------------------------------------------------------------------------------ */

typedef struct hub_lists {
    int32_t *rows, *first, *piece_hub;
    int64_t num_hubs, num_pieces, rows_capacity, first_capacity, pieces_capacity;
} hub_lists;

static gnt_status add_hub(hub_lists *h, int64_t row, int64_t entries)
{
    gnt_status st = GNT_OK;
    const int64_t pieces = gnti_ceil_div(entries, GNTI_ROW_ENTRIES);

    GNT_TRY(gnti_grow_array(&h->rows, &h->rows_capacity, h->num_hubs + 1));
    GNT_TRY(gnti_grow_array(&h->first, &h->first_capacity, h->num_hubs + 2));
    GNT_TRY(gnti_grow_array(&h->piece_hub, &h->pieces_capacity, h->num_pieces + pieces));
    GNT_TRY(gnti_to_i32(row, "rows of a plan", &h->rows[h->num_hubs]));
    GNT_TRY(gnti_to_i32(h->num_pieces, "pieces of hubs", &h->first[h->num_hubs]));
    for (int64_t i = 0; i < pieces; i++)
        h->piece_hub[h->num_pieces++] = (int32_t)h->num_hubs;
    GNT_TRY(gnti_to_i32(h->num_pieces, "pieces of hubs", &h->first[++h->num_hubs]));
done:
    return st;
}

static gnt_status find_hubs(const gnt_spmm_plan_args *a, const cuda_csr *csr, hub_lists *h)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < csr->num_work; i++) {
        const int64_t r = a->rows != NULL ? a->rows[i] : a->first_row + i;
        const int64_t entries = a->offsets[r + 1] - a->offsets[r];

        if (entries > CUDA_HUB_ENTRIES)
            GNT_TRY(add_hub(h, r, entries));
    }
done:
    return st;
}

/* Copies an array to the next place of the block; NULL where it has nothing. */
static gnt_status put(gnt_stream *s, gnt_buffer *buf, size_t *at, const int32_t *array, int64_t count,
                      const int32_t **out)
{
    gnt_status st = GNT_OK;

    if (count > 0) {
        GNT_TRY(cuda_upload(s, buf, *at, array, (size_t)count * sizeof *array));
        *out = cuda_address(buf, *at);
        *at += padded((size_t)count * sizeof *array);
    }
done:
    return st;
}

static gnt_status make_lists(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan *p)
{
    gnt_status st = GNT_OK;
    cuda_csr *csr = &p->csr;
    hub_lists h = { 0 };
    const int64_t listed = a->rows != NULL ? a->num_listed : 0;
    int64_t firsts;
    size_t at = 0;

    GNT_TRY(find_hubs(a, csr, &h));
    firsts = h.num_hubs > 0 ? h.num_hubs + 1 : 0;
    if (listed + h.num_hubs == 0)
        goto done;
    GNT_TRY(cuda_alloc(s->head.device,
                       4 * 256 + (size_t)(listed + h.num_hubs + firsts + h.num_pieces) * sizeof(int32_t),
                       &p->lists));
    GNT_TRY(put(s, p->lists, &at, a->rows, listed, &csr->rows));
    GNT_TRY(put(s, p->lists, &at, h.rows, h.num_hubs, &csr->hub_rows));
    GNT_TRY(put(s, p->lists, &at, h.first, firsts, &csr->hub_first));
    GNT_TRY(put(s, p->lists, &at, h.piece_hub, h.num_pieces, &csr->piece_hub));
    csr->num_hubs = h.num_hubs;
    csr->num_pieces = h.num_pieces;
    GNT_TRY(finish(s));
done:
    gnti_free(h.rows);
    gnti_free(h.first);
    gnti_free(h.piece_hub);
    return st;
}

gnt_status cuda_csr_create(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan *p)
{
    gnt_status st = GNT_OK;
    cuda_csr *csr = &p->csr;
    struct cuda_graph *g;

    p->graph = find_graph(s->head.device, a);
    if (p->graph == NULL)
        GNT_TRY(make_graph(s, a, &p->graph));
    g = p->graph;
    *csr = (cuda_csr){ .num_rows = a->num_rows,
                       .num_cols = a->num_cols,
                       .num_arcs = a->num_arcs,
                       .columns = cuda_address(g->buf, g->columns_at),
                       .weights = a->weights != NULL ? cuda_address(g->buf, g->weights_at) : NULL,
                       .offsets32 = g->narrow ? cuda_address(g->buf, 0) : NULL,
                       .offsets64 = g->narrow ? NULL : cuda_address(g->buf, 0),
                       .first_row = a->rows != NULL ? 0 : a->first_row,
                       .num_work = a->rows != NULL ? a->num_listed : a->end_row - a->first_row };
    GNT_TRY(make_lists(s, a, p));
done:
    return st;
}

void cuda_csr_free(gnt_spmm_plan *p)
{
    gnt_device *dev = p->graph != NULL ? (gnt_device *)p->graph->buf->head.device : NULL;

    if (p->lists != NULL)
        cuda_free(p->lists);
    if (p->graph != NULL)
        leave_graph(p->graph, dev);
}
