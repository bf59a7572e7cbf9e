/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over ranks: whatever rank owns which chunk, the bits are those of the tree over all chunks on one rank. */
#include "tests/support/thread_ranks.h"

#include "dist/halo.h"

#include <math.h>
#include <string.h>

typedef struct placement {
    int32_t num_chunks;
    int32_t owner[80];
    int64_t count;
    gnt_dtype dtype;
    bool by_rank;
    uint64_t seed;
} placement;

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

static gnt_status make_roots(const placement *p, int32_t rank, gnti_tree_roots **out)
{
    int32_t owned[80], num_owned = 0;

    for (int32_t k = 0; k < p->num_chunks; k++)
        if (p->owner[k] == rank)
            owned[num_owned++] = k;
    return gnti_tree_roots_make(p->num_chunks, owned, num_owned, out);
}

static gnt_status sum_once(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    const placement *p = user;
    const size_t value = p->dtype == GNT_F32 ? 4 : 8;
    gnti_tree_roots *roots = NULL;
    gnti_tree_sum *sum = NULL;
    char *mine = NULL, *got = NULL, *want = NULL;
    int32_t num_roots = 1;

    if (!p->by_rank) {
        GNT_TRY(make_roots(p, comm->rank, &roots));
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
static void place(placement *p, int32_t size, int kind)
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

static void test_bits_do_not_depend_on_placement(void **state)
{
    static const int32_t chunks[] = { 1, 2, 3, 7, 8, 13, 64, 77 };
    static const int64_t counts[] = { 1, 17, 600, 3001 };
    placement p = { .seed = 1 };

    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        for (size_t k = 0; k < sizeof chunks / sizeof chunks[0]; k++)
            for (int kind = 0; kind < 4; kind++) {
                p.num_chunks = chunks[k];
                p.count = counts[next_random(&p.seed) % 4];
                p.dtype = next_random(&p.seed) % 2 == 0 ? GNT_F32 : GNT_F64;
                place(&p, size, kind);
                gnt_ranks_run(size, 0.0, sum_once, &p, NULL);
            }
}

static void test_sums_by_rank(void **state)
{
    placement p = { .by_rank = true };

    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        for (p.count = 1; p.count < 20000; p.count = p.count * 9 + 1) {
            p.dtype = p.count % 2 == 0 ? GNT_F32 : GNT_F64;
            gnt_ranks_run(size, 0.0, sum_once, &p, NULL);
        }
}

static void test_a_range_has_few_roots(void **state)
{
    int32_t owned[64];
    gnti_tree_roots *r = NULL;

    (void)state;
    for (int32_t a = 0; a < 64; a++)
        for (int32_t b = a; b <= 64; b++) {
            int32_t at = a;

            for (int32_t k = a; k < b; k++)
                owned[k - a] = k;
            gnt_assert_ok(gnti_tree_roots_make(64, owned, b - a, &r));
            assert_true(r->num_roots <= 12); /* 2 log2 64 */
            for (int32_t i = 0; i < r->num_roots; i++) {
                assert_int_equal(r->first[i], at);
                at = r->end[i];
            }
            assert_int_equal(at, b);
            gnti_tree_roots_free(&r);
        }
}

static gnt_status create_wrong(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    gnti_tree_roots *roots = NULL;
    gnti_tree_sum *sum = NULL;
    const int how = *(int *)user;
    const int32_t twice[3] = { 0, 1, 2 }, missing[1] = { comm->rank };

    GNT_TRY(how == 0   ? gnti_tree_roots_make(3, twice, 3, &roots)
            : how == 1 ? gnti_tree_roots_make(3, missing, 1, &roots)
                       : gnti_tree_roots_make(2 + comm->rank, missing, 1, &roots));
    st = gnti_tree_sum_create(comm, roots, false, &sum);
    GNT_RANK_CHECK(st == GNT_ERR_ARG && sum == NULL);
    st = GNT_OK;
done:
    gnti_tree_roots_free(&roots);
    return st;
}

static void test_chunks_owned_twice_or_never_are_refused(void **state)
{
    const int32_t unsorted[2] = { 1, 0 };
    gnti_tree_roots *r = NULL;

    (void)state;
    for (int how = 0; how < 3; how++)
        gnt_ranks_run(2, 0.0, create_wrong, &how, NULL);
    gnt_assert_status(gnti_tree_roots_make(2, unsorted, 2, &r), GNT_ERR_ARG);
    gnt_assert_status(gnti_tree_roots_make(1, unsorted, 1, &r), GNT_ERR_ARG);
    assert_null(r);
}

static gnt_status repeat_sums(gnti_comm *comm, void *user)
{
    gnt_status st = GNT_OK;
    placement *p = user;
    gnti_tree_roots *roots = NULL;
    gnti_tree_sum *sum = NULL;
    gnti_alloc_stats before, after;
    static float in[3][64 * 3000], out[3][3000];

    GNT_TRY(make_roots(p, comm->rank, &roots));
    GNT_TRY(gnti_tree_sum_create(comm, roots, false, &sum));
    for (int i = 0; i < 6; i++) {
        if (i == 2) {
            GNT_TRY(gnti_comm_barrier(comm));
            gnti_alloc_get_stats(&before);
            GNT_TRY(gnti_comm_barrier(comm));
        }
        GNT_TRY(gnti_tree_sum_run(sum, in[comm->rank], i % 2 == 0 ? 3000 : 10, GNT_F32, out[comm->rank]));
    }
    GNT_TRY(gnti_comm_barrier(comm));
    gnti_alloc_get_stats(&after);
    GNT_RANK_CHECK(before.num_calls == after.num_calls);
    GNT_TRY(gnti_comm_barrier(comm));
done:
    gnti_tree_sum_free(&sum);
    gnti_tree_roots_free(&roots);
    return st;
}

static void test_nothing_is_allocated_once_warm(void **state)
{
    placement p = { .num_chunks = 64, .seed = 3 };

    (void)state;
    place(&p, 3, 2);
    gnt_ranks_run(3, 0.0, repeat_sums, &p, NULL);
}

static void test_failing_allocations(void **state)
{
    gnti_comm *c = NULL;
    gnti_tree_roots *roots = NULL;
    gnti_tree_sum *sum = NULL;
    const int32_t owned[3] = { 0, 1, 2 };

    (void)state;
    gnt_assert_ok(gnti_comm_self_create(&c));
    GNT_BRUTAL_OUT(gnti_tree_roots_make(3, owned, 3, &roots), roots);
    GNT_BRUTAL_OUT(gnti_tree_sum_create(c, roots, false, &sum), sum);
    gnti_tree_sum_free(&sum);
    gnti_tree_sum_free(&sum);
    gnti_tree_roots_free(&roots);
    gnti_comm_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_do_not_depend_on_placement),
        cmocka_unit_test(test_sums_by_rank),
        cmocka_unit_test(test_a_range_has_few_roots),
        cmocka_unit_test(test_chunks_owned_twice_or_never_are_refused),
        cmocka_unit_test(test_nothing_is_allocated_once_warm),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
