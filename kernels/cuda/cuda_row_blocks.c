/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of rows for a library that counts arcs with 32 bits.
 *
 *   rows 0 .. n-1 are cut where the next row would bring a block to more than `most_narrow_arcs` arcs
 *   block b: columns and weights from its first arc on, offsets of its own: offset(r) - offset(first row), from 0
 * A graph whose arcs fit is one block over its own offsets. A row that alone has more arcs leaves the graph without blocks, and
 * our kernels do it. The whole graph has num_rows + num_blocks offsets more on the device: 4 bytes a row.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

#include <string.h>

void cuda_row_blocks_free(cuda_row_blocks *b)
{
    if (b->offsets != NULL)
        cuda_free(b->offsets);
    gnti_free(b->list);
    memset(b, 0, sizeof *b);
}

static gnt_status add_block(cuda_row_blocks *b, const int64_t *offsets, int64_t first, int64_t end)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&b->list, &b->capacity, b->count + 1));
    b->list[b->count++] = (cuda_row_block){ .first_row = first,
                                            .num_rows = end - first,
                                            .first_arc = offsets[first],
                                            .num_arcs = offsets[end] - offsets[first] };
done:
    return st;
}

/* Blocks without arcs are joined to the next: a library may refuse a matrix of none. */
static gnt_status cut(const gnt_spmm_plan_args *a, int64_t most, cuda_row_blocks *b)
{
    gnt_status st = GNT_OK;
    int64_t first = 0;

    for (int64_t r = 0; r < a->num_rows; r++) {
        if (a->offsets[r + 1] - a->offsets[r] > most) {
            b->count = 0;
            return GNT_OK;
        }
        if (a->offsets[r + 1] - a->offsets[first] > most) {
            GNT_TRY(add_block(b, a->offsets, first, r));
            first = r;
        }
    }
    GNT_TRY(add_block(b, a->offsets, first, a->num_rows));
done:
    return st;
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

static gnt_status upload_offsets(gnt_stream *s, const gnt_spmm_plan_args *a, cuda_row_blocks *b)
{
    gnt_status st = GNT_OK;
    const int64_t count = a->num_rows + b->count;
    int32_t *narrow = NULL;
    int64_t at = 0;

    GNT_TRY(gnti_alloc_array(&narrow, count));
    GNT_TRY(cuda_alloc(s->head.device, (size_t)count * sizeof *narrow, &b->offsets));
    for (int64_t i = 0; i < b->count; i++) {
        cuda_row_block *k = &b->list[i];

        k->offsets = (const int32_t *)cuda_address(b->offsets, 0) + at;
        for (int64_t r = k->first_row; r <= k->first_row + k->num_rows; r++)
            narrow[at++] = (int32_t)(a->offsets[r] - k->first_arc);
    }
    GNT_TRY(cuda_upload(s, b->offsets, 0, narrow, (size_t)count * sizeof *narrow));
    GNT_TRY(finish(s)); /* other streams may use them from now on */
done:
    gnti_free(narrow);
    return st;
}

gnt_status cuda_row_blocks_create(gnt_stream *s, const gnt_spmm_plan *p, cuda_row_blocks *out)
{
    gnt_status st = GNT_OK;
    const gnt_spmm_plan_args *a = &p->head.args;
    cuda_row_blocks b = { 0 };

    if (a->num_arcs == 0 || a->num_rows == 0)
        goto done;
    if (p->csr.offsets32 != NULL) {
        GNT_TRY(add_block(&b, a->offsets, 0, a->num_rows));
        b.list[0].offsets = p->csr.offsets32;
    } else {
        GNT_TRY(cut(a, s->head.device->most_narrow_arcs, &b));
        if (b.count > 0)
            GNT_TRY(upload_offsets(s, a, &b));
    }
    *out = b;
    memset(&b, 0, sizeof b); /* handed over */
done:
    cuda_row_blocks_free(&b);
    return st;
}
