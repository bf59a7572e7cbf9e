/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation matrix against brute force over all matrices on small cases, its rules on random larger ones, and what it is worth
 * beside one member a device.
 */
#include "tests/support/gnt_test.h"

#include "ensemble/allocate.h"

#include <math.h>
#include <string.h>

enum { MAX_DEVICES = 16, MAX_MEMBERS = 16, NUM_BATCHES = 6, CELLS = MAX_DEVICES * MAX_MEMBERS };
static const int32_t batches[NUM_BATCHES] = { 0, 8, 16, 32, 64, 128 };

typedef struct problem {
    gnti_allocation_input in;
    int64_t capacity[MAX_DEVICES], fixed_bytes[MAX_MEMBERS], row_bytes[MAX_MEMBERS];
    double fixed_seconds[CELLS], row_seconds[CELLS];
} problem;

/* Splitmix64: numbers of this test's own. */
typedef struct draws {
    uint64_t state;
} draws;

static uint64_t below(draws *r, uint64_t n)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15u;

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (z ^ (z >> 31)) % n;
}

static void problem_point(problem *p)
{
    p->in.capacity = p->capacity;
    p->in.fixed_bytes = p->fixed_bytes;
    p->in.row_bytes = p->row_bytes;
    p->in.fixed_seconds = p->fixed_seconds;
    p->in.row_seconds = p->row_seconds;
}

/* Members of unlike size on devices of unlike speed; capacities for about `room` members of the mean size. */
static void problem_draw(problem *p, draws *r, int32_t devices, int32_t members, double room)
{
    double bytes = 0.0;

    memset(p, 0, sizeof *p);
    p->in.num_devices = devices;
    p->in.num_members = members;
    p->in.seed = below(r, 1000);
    for (int32_t m = 0; m < members; m++) {
        p->fixed_bytes[m] = 100 + (int64_t)below(r, 2000);
        p->row_bytes[m] = 1 + (int64_t)below(r, 20);
        bytes += (double)(p->fixed_bytes[m] + 32 * p->row_bytes[m]);
    }
    for (int32_t d = 0; d < devices; d++) {
        const double speed = 1.0 + (double)below(r, 4);

        p->capacity[d] = (int64_t)(room * bytes / (double)members);
        for (int32_t m = 0; m < members; m++) {
            p->fixed_seconds[d * members + m] = 1e-3 / speed;
            p->row_seconds[d * members + m] = 1e-7 * (double)p->fixed_bytes[m] / speed;
        }
    }
    problem_point(p);
}

static bool fits(const problem *p, const int32_t *batch)
{
    for (int32_t d = 0; d < p->in.num_devices; d++) {
        int64_t bytes = 0;

        for (int32_t m = 0; m < p->in.num_members; m++)
            if (batch[d * p->in.num_members + m] > 0)
                bytes += p->fixed_bytes[m] + batch[d * p->in.num_members + m] * p->row_bytes[m];
        if (bytes > p->capacity[d])
            return false;
    }
    for (int32_t m = 0; m < p->in.num_members; m++) {
        int32_t entries = 0;

        for (int32_t d = 0; d < p->in.num_devices; d++)
            entries += batch[d * p->in.num_members + m] > 0;
        if (entries == 0)
            return false;
    }
    return true;
}

/* The best rate of all matrices; 0: none fits. */
static double brute_force(const problem *p)
{
    const int32_t cells = p->in.num_devices * p->in.num_members;
    int32_t batch[8] = { 0 };
    int64_t all = 1;
    double best = 0.0;

    for (int32_t i = 0; i < cells; i++)
        all *= NUM_BATCHES;
    for (int64_t code = 0; code < all; code++) {
        int64_t rest = code;

        for (int32_t i = 0; i < cells; i++, rest /= NUM_BATCHES)
            batch[i] = batches[rest % NUM_BATCHES];
        if (fits(p, batch))
            best = fmax(best, gnti_allocation_rate(&p->in, batch));
    }
    return best;
}

static void test_close_to_the_best_of_all_matrices(void **state)
{
    static const int32_t shapes[][2] = { { 1, 3 }, { 2, 2 }, { 3, 1 }, { 2, 3 }, { 3, 2 } };
    draws r = { .state = 7 };
    double sum = 0.0, worst = 1.0;
    int32_t num = 0, none = 0, missed = 0;

    (void)state;
    for (int32_t i = 0; i < 100; i++) {
        problem p;
        int32_t batch[8];
        double best;
        gnt_status st;

        problem_draw(&p, &r, shapes[i % 5][0], shapes[i % 5][1], i % 2 == 0 ? 1.6 : 8.0);
        best = brute_force(&p);
        st = gnti_allocate(&p.in, batch);
        if (best == 0.0) {
            assert_int_equal(st, GNT_ERR_DEVICE_NOMEM);
            none++;
            continue;
        }
        if (st == GNT_ERR_DEVICE_NOMEM) { /* neither worst nor best fit is an exact packing */
            missed++;
            continue;
        }
        gnt_assert_ok(st);
        assert_true(fits(&p, batch));
        sum += gnti_allocation_rate(&p.in, batch) / best;
        worst = fmin(worst, gnti_allocation_rate(&p.in, batch) / best);
        num++;
    }
    print_message("%d cases, mean %.4f of the best, least %.4f; %d without a matrix, %d missed\n", num,
                  sum / num, worst, none, missed);
    assert_true(missed <= 2);
    assert_true(num >= 70);
    assert_true(sum / num >= 0.95);
    assert_true(worst >= 0.65);
}

static void test_rules_hold_and_the_same_input_gives_the_same_matrix(void **state)
{
    draws r = { .state = 3 };

    (void)state;
    for (int32_t i = 0; i < 200; i++) {
        problem p;
        int32_t batch[CELLS], again[CELLS];
        const int32_t devices = 1 + (int32_t)below(&r, MAX_DEVICES);
        const int32_t members = 1 + (int32_t)below(&r, MAX_MEMBERS);
        gnt_status st;

        problem_draw(&p, &r, devices, members, 0.5 + (double)below(&r, 6));
        memset(batch, -1, sizeof batch);
        memset(again, -1, sizeof again);
        st = gnti_allocate(&p.in, batch);
        if (st == GNT_ERR_DEVICE_NOMEM) {
            assert_int_equal(batch[0], -1); /* nothing is written */
            assert_non_null(strstr(gnt_last_error(), "most room left"));
            continue;
        }
        gnt_assert_ok(st);
        assert_true(fits(&p, batch));
        gnt_assert_ok(gnti_allocate(&p.in, again));
        assert_memory_equal(batch, again, (size_t)(devices * members) * sizeof *batch);
        p.in.rounds = 1;
        gnt_assert_ok(gnti_allocate(&p.in, again));
        assert_true(gnti_allocation_rate(&p.in, again) <= gnti_allocation_rate(&p.in, batch) * (1 + 1e-9));
    }
}

/* Equal devices, one member: replicas on all of them. 12 members on 4: every device works all the time. */
static void test_replicas_and_shared_devices_pay(void **state)
{
    problem p = { .in = { .num_devices = 16, .num_members = 1 } };
    int32_t batch[CELLS];
    double alone, slowest = 0.0, work = 0.0;

    (void)state;
    problem_point(&p);
    p.fixed_bytes[0] = 1000;
    p.row_bytes[0] = 1;
    for (int32_t d = 0; d < 16; d++) {
        p.capacity[d] = 4000;
        p.fixed_seconds[d] = 1e-3;
        p.row_seconds[d] = 1e-4;
    }
    gnt_assert_ok(gnti_allocate(&p.in, batch));
    alone = 128 / (1e-3 + 128e-4);
    assert_true(gnti_allocation_rate(&p.in, batch) >= 2.7 * alone);
    p.in.num_devices = 4;
    p.in.num_members = 12;
    for (int32_t m = 0; m < 12; m++) {
        const double size = (double)(1 << (m % 6));

        p.fixed_bytes[m] = 100 * (int64_t)size;
        p.row_bytes[m] = 1;
        for (int32_t d = 0; d < 4; d++) {
            p.capacity[d] = 1000000;
            p.fixed_seconds[d * 12 + m] = 1e-4;
            p.row_seconds[d * 12 + m] = 1e-5 * size;
        }
        work += 1e-4 / 128 + 1e-5 * size;
        slowest = fmax(slowest, 1e-4 / 128 + 1e-5 * size);
    }
    gnt_assert_ok(gnti_allocate(&p.in, batch));
    assert_true(gnti_allocation_rate(&p.in, batch) >= 0.85 * 4.0 / work);
}

static void test_wrong_input_is_told(void **state)
{
    draws r = { .state = 1 };
    problem p;
    int32_t batch[CELLS];

    (void)state;
    problem_draw(&p, &r, 2, 3, 8.0);
    p.row_seconds[4] = NAN;
    gnt_assert_status(gnti_allocate(&p.in, batch), GNT_ERR_ARG);
    problem_draw(&p, &r, 2, 3, 8.0);
    p.fixed_bytes[1] = INT64_MAX;
    gnt_assert_status(gnti_allocate(&p.in, batch), GNT_ERR_ARG);
    problem_draw(&p, &r, 2, 3, 8.0);
    p.in.num_members = 0;
    gnt_assert_status(gnti_allocate(&p.in, batch), GNT_ERR_ARG);
    problem_draw(&p, &r, 2, 3, 8.0);
    GNT_BRUTAL(gnti_allocate(&p.in, batch));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_to_the_best_of_all_matrices),
        cmocka_unit_test(test_rules_hold_and_the_same_input_gives_the_same_matrix),
        cmocka_unit_test(test_replicas_and_shared_devices_pay),
        cmocka_unit_test(test_wrong_input_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
