/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over ranks in the order of the tree over chunks (halo.h).
 *
 * The roots of all ranks, by their first chunk, are the leaves of what is left of the tree; the sum is a walk over them with
 * a stack, merges[i] additions after leaf i. Which ranks own the leaves moves no bit. Few values: every rank sends its roots
 * to all and walks itself. Many: rank s receives slice s of all roots, walks over that, and sends the sums of its slice to
 * all, so each value is sent about twice however many ranks there are.
 */
#include "base/alloc.h"
#include "dist/halo.h"

#include <string.h>

enum { BLOCK_VALUES = 512, SMALL_BYTES = 16 * 1024 };

typedef struct leaf {
    int32_t first, end, rank, index; /* index: among the roots of its rank */
} leaf;

struct gnti_tree_sum {
    gnti_comm *comm;
    int32_t num_leaves, num_own, depth; /* depth: of the stack */
    leaf *leaves;
    int32_t *merges;      /* (num_leaves) additions after the leaf */
    int32_t *roots_of;    /* (ranks) */
    const char **sources; /* (num_leaves) */
    gnti_comm_peer *peers;
    char *stack, *send, *receive;
    size_t send_bytes, receive_bytes;
};

/* ---- the walk ---- */
/* Counts the merges below node [a, b); *at is the next leaf. False: the leaves are not nodes of the tree over [0, K). */
static bool walk(gnti_tree_sum *t, int32_t a, int32_t b, int32_t *at, int32_t height)
{
    const leaf *l = *at < t->num_leaves ? &t->leaves[*at] : NULL;

    if (l == NULL || l->first != a || l->end > b)
        return false;
    if (height + 1 > t->depth)
        t->depth = height + 1;
    if (l->end == b) {
        ++*at;
        return true;
    }
    if (b - a < 2 || !walk(t, a, gnti_tree_split(a, b), at, height) ||
        !walk(t, gnti_tree_split(a, b), b, at, height + 1))
        return false;
    t->merges[*at - 1]++;
    return true;
}

static void sort_leaves(leaf *l, int32_t count) /* few lists that are sorted already: by insertion */
{
    for (int32_t i = 1; i < count; i++) {
        const leaf x = l[i];
        int32_t j = i;

        for (; j > 0 && l[j - 1].first > x.first; j--)
            l[j] = l[j - 1];
        l[j] = x;
    }
}

static gnt_status gather(gnti_comm *c, int32_t *values, int64_t count)
{
    return gnti_comm_all_reduce(c, &(gnti_all_reduce_args){ values, count, GNT_I32, GNTI_COMM_SUM });
}

/* Each rank adds its roots to a list of zeros, at a place of its own. */
static gnt_status gather_leaves(gnti_tree_sum *t, const gnti_tree_roots *roots, int32_t *num_chunks)
{
    gnt_status st = GNT_OK;
    const int32_t size = t->comm->size, rank = t->comm->rank;
    int32_t *facts = NULL, *list = NULL;
    int32_t before = 0, at = 0;

    GNT_TRY(gnti_calloc_array(&facts, 2 * (int64_t)size));
    facts[rank] = roots->num_roots;
    facts[size + rank] = roots->num_chunks;
    GNT_TRY(gather(t->comm, facts, 2 * (int64_t)size));
    for (int32_t r = 0; r < size; r++) {
        GNT_CHECK(facts[size + r] == roots->num_chunks, GNT_ERR_ARG, "rank %d has %d chunks, rank %d has %d",
                  (int)rank, (int)roots->num_chunks, (int)r, (int)facts[size + r]);
        before += r < rank ? facts[r] : 0;
        t->num_leaves += facts[r];
        t->roots_of[r] = facts[r];
    }
    GNT_TRY(gnti_calloc_array(&list, 2 * (int64_t)t->num_leaves));
    GNT_TRY(gnti_calloc_array(&t->leaves, t->num_leaves));
    for (int32_t i = 0; i < roots->num_roots; i++) {
        list[2 * (before + i)] = roots->first[i];
        list[2 * (before + i) + 1] = roots->end[i];
    }
    GNT_TRY(gather(t->comm, list, 2 * (int64_t)t->num_leaves));
    for (int32_t r = 0; r < size; r++)
        for (int32_t i = 0; i < facts[r]; i++, at++)
            t->leaves[at] = (leaf){ list[2 * at], list[2 * at + 1], r, i };
    *num_chunks = roots->num_chunks;
done:
    gnti_free(facts);
    gnti_free(list);
    return st;
}

static gnt_status plan_by_chunks(gnti_tree_sum *t, const gnti_tree_roots *roots)
{
    gnt_status st = GNT_OK;
    int32_t num_chunks = 0, at = 0;

    GNT_TRY(gather_leaves(t, roots, &num_chunks));
    GNT_TRY(gnti_calloc_array(&t->merges, t->num_leaves));
    sort_leaves(t->leaves, t->num_leaves);
    if (num_chunks == 0)
        goto done;
    GNT_CHECK(
        walk(t, 0, num_chunks, &at, 0) && at == t->num_leaves, GNT_ERR_ARG,
        "the ranks' subtrees do not make up the tree over %d chunks: chunk %d is missing or owned twice",
        (int)num_chunks, (int)(at < t->num_leaves ? t->leaves[at].first : num_chunks - 1));
done:
    return st;
}

static gnt_status plan_by_rank(gnti_tree_sum *t)
{
    gnt_status st = GNT_OK;

    t->num_leaves = t->comm->size;
    t->depth = 2;
    GNT_TRY(gnti_calloc_array(&t->leaves, t->num_leaves));
    GNT_TRY(gnti_calloc_array(&t->merges, t->num_leaves));
    for (int32_t r = 0; r < t->num_leaves; r++) {
        t->leaves[r] = (leaf){ r, r + 1, r, 0 };
        t->merges[r] = r > 0;
        t->roots_of[r] = 1;
    }
done:
    return st;
}

gnt_status gnti_tree_sum_create(gnti_comm *comm, const gnti_tree_roots *roots, bool by_rank,
                                gnti_tree_sum **out)
{
    gnt_status st = GNT_OK;
    gnti_tree_sum *t = NULL;

    GNT_CHECK(comm != NULL && out != NULL && (by_rank || roots != NULL), GNT_ERR_ARG,
              "a sum over the tree needs a communicator and this rank's roots");
    GNT_TRY(gnti_calloc_array(&t, 1));
    t->comm = comm;
    GNT_TRY(gnti_calloc_array(&t->roots_of, comm->size));
    GNT_TRY(gnti_calloc_array(&t->peers, comm->size));
    GNT_TRY(by_rank ? plan_by_rank(t) : plan_by_chunks(t, roots));
    t->num_own = t->roots_of[comm->rank];
    GNT_TRY(gnti_calloc_array(&t->sources, t->num_leaves));
    GNT_TRY(gnti_alloc_array(&t->stack, (int64_t)t->depth * BLOCK_VALUES * (int64_t)sizeof(double)));
    *out = t;
    t = NULL;
done:
    gnti_tree_sum_free(&t);
    return st;
}

void gnti_tree_sum_free(gnti_tree_sum **sum)
{
    gnti_tree_sum *t = *sum;

    if (t == NULL)
        return;
    gnti_free(t->leaves);
    gnti_free(t->merges);
    gnti_free(t->roots_of);
    gnti_free((void *)t->sources);
    gnti_free(t->peers);
    gnti_free(t->stack);
    gnti_free(t->send);
    gnti_free(t->receive);
    gnti_free(t);
    *sum = NULL;
}

static void add(void *to, const void *from, int64_t count, gnt_dtype dtype)
{
    if (dtype == GNT_F64) {
        for (int64_t i = 0; i < count; i++)
            ((double *)to)[i] += ((const double *)from)[i];
        return;
    }
    for (int64_t i = 0; i < count; i++)
        ((float *)to)[i] += ((const float *)from)[i];
}

/* Sums `count` values of all sources, a block of values at a time, so that the stack stays in the cache. */
static void walk_values(const gnti_tree_sum *t, int64_t count, gnt_dtype dtype, char *out)
{
    const size_t value = dtype == GNT_F64 ? sizeof(double) : sizeof(float);
    const size_t entry = BLOCK_VALUES * sizeof(double);

    for (int64_t i = 0; i < count; i += BLOCK_VALUES) {
        const int64_t n = gnti_min_i64(BLOCK_VALUES, count - i);
        const size_t at = (size_t)i * value, bytes = (size_t)n * value;
        char *top = t->stack; /* behind the last entry */

        for (int32_t l = 0; l < t->num_leaves; l++) {
            memcpy(top, t->sources[l] + at, bytes);
            top += entry;
            for (int32_t m = 0; m < t->merges[l]; m++, top -= entry)
                add(top - 2 * entry, top - entry, n, dtype);
        }
        if (t->num_leaves > 0)
            memcpy(out + at, t->stack, bytes);
        else
            memset(out + at, 0, bytes);
    }
}

/* ---- one sum ---- */
typedef struct sum_run {
    const char *roots;
    int64_t count;
    gnt_dtype dtype;
    size_t value;
    bool sliced;
} sum_run;

/* Values [first, end) that a rank adds up. */
static int64_t slice_first(const gnti_tree_sum *t, const sum_run *s, int32_t rank)
{
    return s->sliced ? s->count / t->comm->size * rank + gnti_min_i64(rank, s->count % t->comm->size) : 0;
}

static int64_t slice_length(const gnti_tree_sum *t, const sum_run *s, int32_t rank)
{
    return s->sliced ? slice_first(t, s, rank + 1) - slice_first(t, s, rank) : s->count;
}

/* Slices of my roots lie apart: rank s gets (num_own, slice). */
static const char *pack_slice(gnti_tree_sum *t, const sum_run *s, int32_t rank, char *to)
{
    const size_t bytes = (size_t)slice_length(t, s, rank) * s->value;

    if (!s->sliced || t->num_own == 1)
        return s->roots + (size_t)slice_first(t, s, rank) * s->value;
    for (int32_t i = 0; i < t->num_own; i++)
        memcpy(to + (size_t)i * bytes,
               s->roots + ((size_t)i * (size_t)s->count + (size_t)slice_first(t, s, rank)) * s->value, bytes);
    return to;
}

/* Every rank sends each other one that one's slice of its roots. */
static gnt_status send_roots(gnti_tree_sum *t, const sum_run *s)
{
    gnt_status st = GNT_OK;
    const int32_t size = t->comm->size, rank = t->comm->rank;
    const size_t mine = (size_t)slice_length(t, s, rank) * s->value;
    size_t out = 0, in = 0;
    int32_t num_peers = 0;
    gnti_exchange *x = NULL;

    GNT_TRY(gnti_reserve_bytes(&t->send, &t->send_bytes,
                               s->sliced ? (size_t)t->num_own * (size_t)s->count * s->value : 0));
    GNT_TRY(gnti_reserve_bytes(&t->receive, &t->receive_bytes, (size_t)(t->num_leaves - t->num_own) * mine));
    for (int32_t r = 0; r < size; r++) {
        const size_t bytes = (size_t)t->num_own * (size_t)slice_length(t, s, r) * s->value;

        if (r == rank)
            continue;
        t->peers[num_peers++] =
            (gnti_comm_peer){ .rank = r,
                              .send = bytes > 0 ? pack_slice(t, s, r, t->send + out) : NULL,
                              .send_bytes = bytes,
                              .receive = t->receive + in,
                              .receive_bytes = (size_t)t->roots_of[r] * mine };
        out += bytes;
        in += (size_t)t->roots_of[r] * mine;
    }
    GNT_TRY(gnti_comm_exchange_start(t->comm, t->peers, num_peers, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    return st;
}

/* Where each leaf's values of my slice lie: in my roots, or in what came from its rank. */
static void find_sources(gnti_tree_sum *t, const sum_run *s)
{
    const int32_t rank = t->comm->rank;
    const size_t bytes = (size_t)slice_length(t, s, rank) * s->value;
    const size_t first = (size_t)slice_first(t, s, rank) * s->value;

    for (int32_t l = 0; l < t->num_leaves; l++) {
        const leaf *f = &t->leaves[l];
        int32_t before = 0;

        for (int32_t r = 0; r < f->rank; r++)
            before += r == rank ? 0 : t->roots_of[r];
        t->sources[l] = f->rank == rank ? s->roots + (size_t)f->index * (size_t)s->count * s->value + first
                                        : t->receive + (size_t)(before + f->index) * bytes;
    }
}

static gnt_status send_sums(gnti_tree_sum *t, const sum_run *s, char *out)
{
    gnt_status st = GNT_OK;
    const int32_t rank = t->comm->rank;
    const size_t mine = (size_t)slice_length(t, s, rank) * s->value;
    int32_t num_peers = 0;
    gnti_exchange *x = NULL;

    for (int32_t r = 0; r < t->comm->size; r++)
        if (r != rank)
            t->peers[num_peers++] =
                (gnti_comm_peer){ .rank = r,
                                  .send = out + (size_t)slice_first(t, s, rank) * s->value,
                                  .send_bytes = mine,
                                  .receive = out + (size_t)slice_first(t, s, r) * s->value,
                                  .receive_bytes = (size_t)slice_length(t, s, r) * s->value };
    GNT_TRY(gnti_comm_exchange_start(t->comm, t->peers, num_peers, &x));
    GNT_TRY(gnti_comm_exchange_finish(&x));
done:
    return st;
}

gnt_status gnti_tree_sum_run(gnti_tree_sum *t, const void *roots, int64_t count, gnt_dtype dtype, void *out)
{
    gnt_status st = GNT_OK;
    sum_run s = { .roots = roots, .count = count, .dtype = dtype };

    GNT_CHECK(dtype == GNT_F32 || dtype == GNT_F64, GNT_ERR_ARG, "a sum over the tree has no dtype %d",
              (int)dtype);
    GNT_CHECK(count >= 0 && (count == 0 || out != NULL) && (count == 0 || t->num_own == 0 || roots != NULL),
              GNT_ERR_ARG, "a sum of %lld values needs roots and out", (long long)count);
    if (count == 0)
        return GNT_OK;
    s.value = dtype == GNT_F64 ? sizeof(double) : sizeof(float);
    s.sliced = (double)count * (double)s.value * (double)t->num_leaves > SMALL_BYTES;
    if (t->comm->size > 1)
        GNT_TRY(send_roots(t, &s));
    find_sources(t, &s);
    walk_values(t, slice_length(t, &s, t->comm->rank), dtype,
                (char *)out + (size_t)slice_first(t, &s, t->comm->rank) * s.value);
    if (s.sliced && t->comm->size > 1)
        GNT_TRY(send_sums(t, &s, out));
done:
    return st;
}
