/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over ranks against the tree over all chunks on one rank: see comm_cases.h. */
#include "comm_cases.h"

#include <math.h>
#include <string.h>

typedef gnt_tree_placement placement;

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Value i of a chunk: sizes from 1e-4 to 1e5, so that the order of additions shows in the last bits. */
static double chunk_value(int32_t chunk, int64_t i)
{
    uint64_t state = (uint64_t)chunk * 1000003u + (uint64_t)i * 77u + 5u;
    const double x = (double)next_random(&state) / 2147483648.0 - 0.5;

    return x * pow(10.0, (double)(next_random(&state) % 10u) - 4.0);
}

static double tree_value(const placement *p, int32_t a, int32_t b, int64_t i)
{
    double left, right;

    if (b - a == 1)
        return p->dtype == GNT_F32 ? (double)(float)chunk_value(a, i) : chunk_value(a, i);
    left = tree_value(p, a, gnti_tree_split(a, b), i);
    right = tree_value(p, gnti_tree_split(a, b), b, i);
    return p->dtype == GNT_F32 ? (double)((float)left + (float)right) : left + right;
}

static void store(const placement *p, void *array, int64_t i, double v)
{
    if (p->dtype == GNT_F32)
        ((float *)array)[i] = (float)v;
    else
        ((double *)array)[i] = v;
}

static double wanted(const placement *p, int32_t size, int64_t i)
{
    double sum = chunk_value(0, i);

    if (!p->by_rank)
        return tree_value(p, 0, p->num_chunks, i);
    for (int32_t r = 1; r < size; r++)
        sum = p->dtype == GNT_F32 ? (double)((float)sum + (float)chunk_value(r, i)) : sum + chunk_value(r, i);
    return sum;
}

gnt_status gnt_tree_roots_of(const placement *p, int32_t rank, gnti_tree_roots **out)
{
    int32_t owned[80], num_owned = 0;

    for (int32_t k = 0; k < p->num_chunks; k++)
        if (p->owner[k] == rank)
            owned[num_owned++] = k;
    return gnti_tree_roots_make(p->num_chunks, owned, num_owned, out);
}

gnt_status gnt_case_tree_sum(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const placement *p = user;
    const size_t value = p->dtype == GNT_F32 ? 4 : 8;
    gnti_tree_roots *roots = NULL;
    gnti_tree_sum *sum = NULL;
    char *mine = NULL, *got = NULL, *want = NULL;
    int32_t num_roots = 1;

    if (!p->by_rank) {
        GNT_TRY(gnt_tree_roots_of(p, comm->rank, &roots));
        num_roots = roots->num_roots;
    }
    GNT_TRY(gnti_tree_sum_create(comm, roots, p->by_rank, &sum));
    GNT_TRY(gnti_alloc_array(&mine, num_roots * p->count * (int64_t)value));
    GNT_TRY(gnti_alloc_array(&got, p->count * (int64_t)value));
    GNT_TRY(gnti_alloc_array(&want, p->count * (int64_t)value));
    for (int32_t r = 0; r < num_roots; r++)
        for (int64_t i = 0; i < p->count; i++)
            store(p, mine, r * p->count + i,
                  p->by_rank ? chunk_value(comm->rank, i) : tree_value(p, roots->first[r], roots->end[r], i));
    for (int64_t i = 0; i < p->count; i++)
        store(p, want, i, wanted(p, comm->size, i));
    for (int round = 0; round < 2; round++) {
        memset(got, 0xff, (size_t)p->count * value);
        GNT_TRY(gnti_tree_sum_run(sum, mine, p->count, p->dtype, got));
        GNT_RANK_CHECK(memcmp(got, want, (size_t)p->count * value) == 0);
    }
done:
    gnti_free(mine);
    gnti_free(got);
    gnti_free(want);
    gnti_tree_sum_free(&sum);
    gnti_tree_roots_free(&roots);
    return st;
}

/* kind 0: equal ranges, 1: random ranges (some empty), 2: scattered, 3: all on the last rank */
void gnt_tree_place(placement *p, int32_t size, int kind)
{
    int32_t rank = 0;

    for (int32_t k = 0; k < p->num_chunks; k++) {
        if (kind == 0)
            p->owner[k] = (int32_t)((int64_t)k * size / p->num_chunks);
        if (kind == 1 && next_random(&p->seed) % 4 == 0 && rank < size - 1)
            rank++;
        if (kind == 1)
            p->owner[k] = rank;
        if (kind == 2)
            p->owner[k] = (int32_t)(next_random(&p->seed) % (uint64_t)size);
        if (kind == 3)
            p->owner[k] = size - 1;
    }
}
