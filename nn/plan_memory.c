/* SPDX-License-Identifier: Apache-2.0 */
/* The memory pass: lifetimes become offsets in one block.
 *
 * An op's output takes over an input's memory where that is legal (element-wise ops, the loss gradient, products that add to
 * a value; over parts, backward products through a gate) and the input dies there. What is left is placed by descending size, by descending lifetime and by first use, each
 * at the lowest offset free in its lifetime; the smallest of the three layouts stays. O(items^2).
 */
#include "nn/program_state.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN_BYTES = 64 };

typedef enum order { BY_SIZE, BY_LIFE, BY_START, NUM_ORDERS } order;

typedef struct ranked {
    size_t key1, key2;
    int64_t item;
} ranked;

static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->key1 != y->key1)
        return x->key1 > y->key1 ? -1 : 1;
    if (x->key2 != y->key2)
        return x->key2 > y->key2 ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void rank(const gnti_memory_item *items, int64_t count, order by, ranked *out)
{
    for (int64_t i = 0; i < count; i++) {
        const size_t life = (size_t)(items[i].last - items[i].first + 1);

        out[i].item = i;
        out[i].key1 = by == BY_SIZE   ? items[i].bytes
                      : by == BY_LIFE ? life
                                      : (size_t)(INT64_MAX - items[i].first);
        out[i].key2 = by == BY_SIZE ? life : items[i].bytes;
    }
    qsort(out, (size_t)count, sizeof *out, compare);
}

/* Lowest offset at which item i meets none of the placed ones (sorted by offset) that live at the same time. */
static size_t find_place(const gnti_memory_item *items, const int64_t *placed, int64_t num_placed, int64_t i)
{
    size_t at = 0;

    for (int64_t k = 0; k < num_placed; k++) {
        const gnti_memory_item *other = &items[placed[k]];

        if (other->last < items[i].first || other->first > items[i].last)
            continue;
        if (other->offset >= at + items[i].bytes)
            break;
        if (other->offset + other->bytes > at)
            at = other->offset + other->bytes;
    }
    return at;
}

static size_t place_in_order(gnti_memory_item *items, const ranked *ranks, int64_t count, int64_t *placed)
{
    size_t total = 0;

    for (int64_t k = 0; k < count; k++) {
        const int64_t i = ranks[k].item;
        int64_t at = k;

        items[i].offset = find_place(items, placed, k, i);
        while (at > 0 && items[placed[at - 1]].offset > items[i].offset) {
            placed[at] = placed[at - 1];
            at--;
        }
        placed[at] = i;
        if (items[i].offset + items[i].bytes > total)
            total = items[i].offset + items[i].bytes;
    }
    return total;
}

static size_t peak_of(const gnti_memory_item *items, int64_t count)
{
    size_t peak = 0;

    for (int64_t i = 0; i < count; i++) {
        size_t live = 0; /* at the start of item i: the sum only grows at starts */

        for (int64_t k = 0; k < count; k++)
            if (items[k].first <= items[i].first && items[k].last >= items[i].first)
                live += items[k].bytes;
        peak = live > peak ? live : peak;
    }
    return peak;
}

gnt_status gnti_memory_place(gnti_memory_item *items, int64_t count, bool reuse, size_t *total,
                             size_t *live_peak)
{
    gnt_status st = GNT_OK;
    ranked *ranks = NULL;
    int64_t *placed = NULL;
    size_t best = SIZE_MAX, offset = 0;
    order best_order = BY_SIZE;

    for (int64_t i = 0; i < count; i++)
        items[i].bytes = gnti_round_up(items[i].bytes, ALIGN_BYTES);
    *live_peak = peak_of(items, count);
    if (!reuse) {
        for (int64_t i = 0; i < count; i++) {
            items[i].offset = offset;
            offset += items[i].bytes;
        }
        *total = offset;
        return GNT_OK;
    }
    GNT_TRY(gnti_alloc_array(&ranks, count + 1));
    GNT_TRY(gnti_alloc_array(&placed, count + 1));
    for (int by = BY_SIZE; by < NUM_ORDERS; by++) {
        size_t size;

        rank(items, count, (order)by, ranks);
        size = place_in_order(items, ranks, count, placed);
        if (size < best) {
            best = size;
            best_order = (order)by;
        }
    }
    rank(items, count, best_order, ranks);
    *total = place_in_order(items, ranks, count, placed);
done:
    gnti_free(placed);
    gnti_free(ranks);
    return st;
}

/* ---- the pass: values of a program into items --------------------------------------------------------------------- */

typedef struct layout {
    gnti_program *p;
    gnti_uses *uses;
    int32_t *item_of; /* per value, -1: none */
    gnti_memory_item *items;
    int64_t count;
} layout;

size_t gnti_value_bytes(const gnti_program *p, int32_t value)
{
    const gnti_value *v = &p->ir.values[value];
    const int64_t members = v->shared ? 1 : v->sliced ? p->slices.members : p->ir.num_members;
    const int64_t blocks = gnti_ceil_div(members, v->block_members);

    return (size_t)(blocks * gnti_value_rows_kept(p, v) * gnti_value_stride(v)) * sizeof(float);
}

/* Whether node n, the last reader of value c, may write its output over it. */
static bool may_take(const layout *lo, const gnti_node *n, int64_t at, int32_t c, int32_t out)
{
    const gnti_ir *ir = &lo->p->ir;
    int32_t reads[GNTI_NODE_READS];

    if (c == 0 || lo->item_of[c] < 0 || !gnti_value_is_temporary(&ir->values[c]) || lo->uses[c].last != at ||
        !gnti_ir_same_shape(ir, c, out) || ir->values[c].dtype != ir->values[out].dtype ||
        ir->values[c].block_members != ir->values[out].block_members ||
        ir->values[c].sliced != ir->values[out].sliced ||
        (ir->values[c].halo_space != 0) != (ir->values[out].halo_space != 0))
        return false;
    for (int k = gnti_node_reads(n, reads) - 1; k >= 0; k--) {
        /* another operand in the same memory: only an equal one, and only element by element */
        if (reads[k] != c && gnti_ir_root(ir, reads[k]) == c)
            return false;
        if (reads[k] == c && n->added == c && k != n->num_in)
            return false;
    }
    return true;
}

/* The value whose memory the node's output takes over, 0: none. */
static int32_t taken_over(const layout *lo, const gnti_node *n, int64_t at, int32_t out)
{
    const gnti_op_info *info = gnti_op_get_info(n->op);

    if (!gnti_pass_is_on(lo->p, GNTI_MEMORY) || !gnti_value_is_temporary(&lo->p->ir.values[out]))
        return 0;
    if (n->op == GNTI_IR_LOSS)
        return may_take(lo, n, at, n->in[0], out) ? n->in[0] : 0;
    if (out != n->out[0])
        return 0;
    if (n->added != 0)
        return may_take(lo, n, at, n->added, out) ? n->added : 0;
    /* one device keeps products that go straight to their place; ranks count their buffers */
    if (lo->p->parts.on && n->epilogue.gate != 0 && may_take(lo, n, at, n->epilogue.gate, out))
        return n->epilogue.gate;
    if (!info->in_place)
        return 0;
    if (may_take(lo, n, at, n->in[0], out))
        return n->in[0];
    return may_take(lo, n, at, n->in[1], out) ? n->in[1] : 0;
}

/* The nodes that are one moment. What a chain's ops read and write must not share memory but row by row; what outlives a run that
 * goes slice by slice of members must not lie where the next slice writes. */
static void moment_of(const gnti_program *p, int64_t at, bool sliced, int64_t *first, int64_t *last)
{
    gnti_chain_span(&p->ir, at, first, last);
    if (!sliced && p->ir.nodes[at].run != 0)
        gnti_slices_span(p, at, first, last);
}

static void add_value(layout *lo, const gnti_node *n, int64_t at, int32_t v)
{
    const gnti_value *value = &lo->p->ir.values[v];
    const int32_t from = taken_over(lo, n, at, v);
    int64_t first, last, moment_first;

    moment_of(lo->p, at, value->sliced, &first, &last);
    if (lo->uses[v].last > at)
        moment_of(lo->p, lo->uses[v].last, value->sliced, &moment_first, &last);
    if (value->keep)
        last = lo->p->ir.num_nodes;

    if (from != 0) {
        lo->item_of[v] = lo->item_of[from];
        lo->items[lo->item_of[v]].last = gnti_max_i64(last, lo->items[lo->item_of[v]].last);
        return;
    }
    lo->item_of[v] = (int32_t)lo->count;
    lo->items[lo->count++] = (gnti_memory_item){ gnti_value_bytes(lo->p, v), first, last, 0 };
}

/* Values of one kind of storage, written by nodes in their order. */
static gnt_status lay_out(gnti_program *p, gnti_storage storage, bool reuse, size_t *total, size_t *peak)
{
    gnt_status st = GNT_OK;
    layout lo = { .p = p };
    gnti_ir *ir = &p->ir;

    GNT_TRY(gnti_ir_uses(ir, &lo.uses));
    GNT_TRY(gnti_alloc_array(&lo.item_of, ir->num_values + 1));
    GNT_TRY(gnti_alloc_array(&lo.items, ir->num_values + 1));
    memset(lo.item_of, 0xff, (size_t)ir->num_values * sizeof *lo.item_of);
    for (int64_t i = 0; i < ir->num_nodes; i++)
        for (int32_t k = 0; k < ir->nodes[i].num_out; k++)
            if (ir->nodes[i].out[k] != 0 && ir->values[ir->nodes[i].out[k]].storage == storage)
                add_value(&lo, &ir->nodes[i], i, ir->nodes[i].out[k]);
    GNT_TRY(gnti_memory_place(lo.items, lo.count, reuse, total, peak));
    for (int32_t v = 1; v < ir->num_values; v++)
        if (lo.item_of[v] >= 0)
            ir->values[v].offset = (int64_t)lo.items[lo.item_of[v]].offset;
done:
    gnti_free(lo.items);
    gnti_free(lo.item_of);
    gnti_free(lo.uses);
    return st;
}

gnt_status gnti_plan_memory(gnti_program *p)
{
    gnt_status st = GNT_OK;
    const bool reuse = gnti_pass_is_on(p, GNTI_MEMORY);
    size_t peak = 0;

    GNT_TRY(gnti_slices_choose(p));
    GNT_TRY(lay_out(p, GNTI_IN_WORKSPACE, reuse, &p->workspace_bytes, &p->live_peak));
    GNT_TRY(lay_out(p, GNTI_IN_HOISTED, false, &p->hoisted_bytes, &peak));
    GNT_TRY(lay_out(p, GNTI_IN_HOIST_TEMP, reuse, &p->temp_bytes, &peak));
    p->fired[GNTI_MEMORY] = reuse;
done:
    return st;
}
