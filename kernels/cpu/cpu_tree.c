/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over rows by the fixed tree: see cpu_tree.h. The subtrees' roots are added by the same rule, for a tree over
 * subtrees of equal size is the upper part of the tree over blocks. */
#include "kernels/cpu/cpu_tree.h"

#include "base/size.h"

#include <omp.h>
#include <string.h>

enum { ITEMS_PER_THREAD = 4, MAX_LEVELS = 64 };

typedef struct tree {
    const cpu_tree_sum_args *args;
    const cpu_kernels *kernels;
    int64_t num_blocks, num_items, item_blocks;
    int32_t levels; /* item_blocks = 2^levels */
    size_t sum_bytes;
    char *roots;  /* (num_items) sums */
    char *stacks; /* (threads, levels + 1) sums */
} tree;

static void add(const tree *t, void *to, const void *from)
{
    if (!t->args->in_double) {
        t->kernels->add_to(to, from, t->args->count);
        return;
    }
    for (int64_t i = 0; i < t->args->count; i++)
        ((double *)to)[i] += ((const double *)from)[i];
}

static void run_leaf(const tree *t, int64_t block, void *out)
{
    const gnt_row_tree *r = t->args->tree;
    const bool given = r != NULL && r->block_start != NULL;
    const int64_t first = given ? r->block_start[block] : block * GNTI_TREE_ROWS;
    const int64_t end =
        given ? r->block_start[block + 1] : gnti_min_i64(t->args->num_rows, first + GNTI_TREE_ROWS);

    t->args->leaf(t->args->user, first, end - first, out);
}

/* The sum of one subtree; its first entry of the stack is the root itself. */
static void run_item(void *user, int64_t item, int32_t thread)
{
    const tree *t = user;
    char *stack = t->stacks + (size_t)thread * (size_t)(t->levels + 1) * t->sum_bytes;
    const int64_t first = item * t->item_blocks, n = gnti_min_i64(t->item_blocks, t->num_blocks - first);
    char *entry[MAX_LEVELS + 1];
    int32_t top = 0;

    entry[0] = t->roots + (size_t)item * t->sum_bytes;
    for (int32_t i = 1; i <= t->levels; i++)
        entry[i] = stack + (size_t)(i - 1) * t->sum_bytes;
    for (int64_t i = 0; i < n; i++) {
        run_leaf(t, first + i, entry[top++]);
        for (int64_t bits = i + 1; bits % 2 == 0; bits /= 2, top--)
            add(t, entry[top - 2], entry[top - 1]);
    }
    for (; top > 1; top--)
        add(t, entry[top - 2], entry[top - 1]);
}

/* Adds the roots in place; the sum of all ends in the first. */
static void add_roots(const tree *t)
{
    char *entry[MAX_LEVELS + 1];
    int32_t top = 0;

    for (int64_t i = 0; i < t->num_items; i++) {
        entry[top++] = t->roots + (size_t)i * t->sum_bytes;
        for (int64_t bits = i + 1; bits % 2 == 0; bits /= 2, top--)
            add(t, entry[top - 2], entry[top - 1]);
    }
    for (; top > 1; top--)
        add(t, entry[top - 2], entry[top - 1]);
}

gnt_status cpu_tree_sum(gnt_stream *s, const cpu_tree_sum_args *a, void **out)
{
    gnt_status st = GNT_OK;
    const int32_t num_threads = s->head.device->num_threads;
    tree t = { .args = a, .kernels = cpu_kernels_of(s->head.device->isa), .item_blocks = 1 };
    void *scratch = NULL;
    size_t sums, bytes;

    t.num_blocks = a->tree != NULL ? a->tree->num_blocks : gnti_ceil_div(a->num_rows, GNTI_TREE_ROWS);
    while (gnti_ceil_div(t.num_blocks, t.item_blocks) > (int64_t)ITEMS_PER_THREAD * num_threads) {
        t.item_blocks *= 2;
        t.levels++;
    }
    t.num_items = gnti_max_i64(1, gnti_ceil_div(t.num_blocks, t.item_blocks));
    GNT_TRY(gnti_mul_size((size_t)a->count, a->in_double ? sizeof(double) : sizeof(float), &t.sum_bytes));
    t.sum_bytes = gnti_round_up(t.sum_bytes, 64);
    sums = (size_t)t.num_items + (size_t)num_threads * (size_t)(t.levels + 1);
    GNT_TRY(gnti_mul_size(t.sum_bytes, sums, &bytes));
    GNT_TRY(cpu_scratch(s, bytes, &scratch));
    t.roots = scratch;
    t.stacks = t.roots + (size_t)t.num_items * t.sum_bytes;
    if (t.num_blocks == 0)
        memset(t.roots, 0, t.sum_bytes);
    cpu_each(cpu_team(s->head.device, a->work), t.num_blocks > 0 ? t.num_items : 0, &t, run_item);
    if (t.num_blocks > 0)
        add_roots(&t);
    *out = t.roots;
done:
    return st;
}
