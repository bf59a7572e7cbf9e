/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over ranks: whatever rank owns which chunk, the bits are those of the tree over all chunks on one rank. */
#include "tests/support/comm_cases.h"

static void test_bits_do_not_depend_on_placement(void **state)
{
    static const int32_t chunks[] = { 1, 2, 3, 7, 8, 13, 64, 77 };
    static const int64_t counts[] = { 1, 17, 600, 3001 };
    gnt_tree_placement p = { .seed = 1 };

    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        for (size_t k = 0; k < sizeof chunks / sizeof chunks[0]; k++)
            for (int kind = 0; kind < 4; kind++) {
                p.num_chunks = chunks[k];
                p.count = counts[(k + (size_t)size + (size_t)kind) % 4];
                p.dtype = (k + (size_t)kind) % 2 == 0 ? GNT_F32 : GNT_F64;
                gnt_tree_place(&p, size, kind);
                gnt_ranks_run(size, 0.0, gnt_case_tree_sum, &p, NULL);
            }
}

static void test_sums_by_rank(void **state)
{
    gnt_tree_placement p = { .by_rank = true };

    (void)state;
    for (int32_t size = 1; size <= 8; size++)
        for (p.count = 1; p.count < 20000; p.count = p.count * 9 + 1) {
            p.dtype = p.count % 2 == 0 ? GNT_F32 : GNT_F64;
            gnt_ranks_run(size, 0.0, gnt_case_tree_sum, &p, NULL);
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
    gnt_tree_placement *p = user;
    gnti_tree_roots *roots = NULL;
    gnti_tree_sum *sum = NULL;
    gnti_alloc_stats before, after;
    static float in[3][64 * 3000], out[3][3000];

    GNT_TRY(gnt_tree_roots_of(p, comm->rank, &roots));
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
    gnt_tree_placement p = { .num_chunks = 64, .seed = 3 };

    (void)state;
    gnt_tree_place(&p, 3, 2);
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
