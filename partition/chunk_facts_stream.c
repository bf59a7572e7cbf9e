/* SPDX-License-Identifier: Apache-2.0 */
/* Chunk facts of a file whose arcs are not in memory: the rows pass by once. What is kept is the quotient graph as a square of
 * counts; with more chunks than a square is worth, a map is made without it, by work alone.
 */
#include "partition/chunk_map.h"

#include "base/alloc.h"

#include <string.h>

enum { LARGEST_SQUARE = 1024 };

typedef struct stream_counts {
    const gnti_partition *p;
    const int64_t *origin; /* or NULL */
    int64_t *rows, *out, *in;
    double *square; /* (K, K): rows of the second that the first reads; NULL: too many chunks */
    int64_t *last;  /* (K) 1 + the newest row that a chunk reads */
} stream_counts;

static int32_t chunk_of(const stream_counts *c, int64_t row)
{
    return c->p->chunk_of[c->origin != NULL ? c->origin[row] : row];
}

static void add_block(stream_counts *c, const gnti_arc_block *b)
{
    for (int64_t i = 0; i < b->num_rows; i++) {
        const int64_t u = b->first_row + i;
        const int32_t owner = chunk_of(c, u);

        c->rows[owner]++;
        c->out[owner] += b->offsets[i + 1] - b->offsets[i];
        for (int64_t a = b->offsets[i]; a < b->offsets[i + 1]; a++) {
            const int32_t reader = chunk_of(c, b->columns[a]);

            c->in[reader]++;
            if (reader == owner || c->square == NULL || c->last[reader] == u + 1)
                continue;
            c->last[reader] = u + 1;
            c->square[(int64_t)reader * c->p->num_chunks + owner] += 1.0;
        }
    }
}

static gnt_status take_square(const stream_counts *c, gnti_chunk_facts *f)
{
    gnt_status st = GNT_OK;
    const int64_t k = f->num_chunks;
    int64_t num = 0;

    GNT_TRY(gnti_calloc_array(&f->offsets, k + 1));
    for (int64_t i = 0; c->square != NULL && i < k * k; i++)
        num += c->square[i] > 0.0;
    GNT_TRY(gnti_alloc_array(&f->neighbour, num + 1));
    GNT_TRY(gnti_alloc_array(&f->halo_rows, num + 1));
    num = 0;
    for (int64_t r = 0; r < k; r++) {
        for (int64_t o = 0; o < k && c->square != NULL; o++)
            if (c->square[r * k + o] > 0.0) {
                f->neighbour[num] = (int32_t)o;
                f->halo_rows[num++] = c->square[r * k + o];
            }
        f->offsets[r + 1] = num;
    }
done:
    return st;
}

static gnt_status take_work(stream_counts *c, const gnti_chunk_rates *rates, gnti_chunk_facts *f)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_alloc_array(&f->cost, f->num_chunks));
    GNT_TRY(gnti_alloc_array(&f->bytes, f->num_chunks));
    f->rows = c->rows;
    f->arcs = c->in;
    f->arcs_out = c->out;
    c->rows = c->in = c->out = NULL;
    gnti_chunk_facts_weigh(f, rates);
done:
    return st;
}

gnt_status gnti_chunk_facts_stream(gnti_arc_stream *stream, const int64_t *origin, const gnti_partition *p,
                                   const gnti_chunk_rates *rates, gnti_chunk_facts **out)
{
    gnt_status st = GNT_OK;
    stream_counts c = { .p = p, .origin = origin };
    gnti_chunk_facts *f = NULL;
    gnti_arc_block block;
    const int64_t k = p->num_chunks;

    GNT_CHECK(gnti_arc_stream_get_facts(stream)->num_nodes == p->num_nodes, GNT_ERR_FORMAT,
              "the dataset has %lld nodes but the partition has %lld",
              (long long)gnti_arc_stream_get_facts(stream)->num_nodes, (long long)p->num_nodes);
    GNT_TRY(gnti_calloc_array(&c.rows, k));
    GNT_TRY(gnti_calloc_array(&c.out, k));
    GNT_TRY(gnti_calloc_array(&c.in, k));
    GNT_TRY(gnti_calloc_array(&c.last, k));
    if (k <= LARGEST_SQUARE)
        GNT_TRY(gnti_calloc_array(&c.square, k * k));
    GNT_TRY(gnti_calloc_array(&f, 1));
    f->num_chunks = p->num_chunks;
    gnti_arc_stream_rewind(stream);
    while (gnti_arc_stream_next(stream, &block))
        add_block(&c, &block);
    GNT_TRY(gnti_arc_stream_status(stream));
    GNT_TRY(take_work(&c, rates, f));
    GNT_TRY(take_square(&c, f));
    *out = f;
    f = NULL;
done:
    gnti_free(c.rows);
    gnti_free(c.out);
    gnti_free(c.in);
    gnti_free(c.last);
    gnti_free(c.square);
    gnti_chunk_facts_free(&f);
    return st;
}
