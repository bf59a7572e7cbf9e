/* SPDX-License-Identifier: Apache-2.0 */
/* Resizes of a chunk map: every chunk has one owner, a settled map is left alone, moved load stays within its bound and one
 * chunk a device, and no map of equal balance moves fewer bytes (all maps tried, K <= 10, D <= 3).
 */
#include "tests/support/map_case.h"

#include <math.h>
#include <string.h>

enum { MAX_K = 1024, MAX_D = 16 };

/* A random change of the set of devices: some leave, some join, speeds differ. */
typedef struct scene {
    gnti_chunk_facts *f;
    gnti_map_device devices[MAX_D], old_devices[MAX_D];
    int32_t num_old, new_of_old[MAX_D], old_owner[MAX_K];
    gnti_map_config c;
} scene;

static void scene_make(scene *s, int32_t num_chunks, int32_t num_old, int32_t num_new, uint64_t seed)
{
    uint64_t r = seed * 77 + 5;
    gnti_map_config old = { s->old_devices, num_old, 0.0, 0.05, false };

    s->f = gnt_map_case(num_chunks, seed, 1.0);
    for (int32_t d = 0; d < MAX_D; d++) {
        s->old_devices[d] = (gnti_map_device){ 1.0 + floor(3.0 * gnt_map_draw(&r)), 0.0 };
        s->devices[d] = seed % 3 == 0 ? s->old_devices[d] : (gnti_map_device){ 1.0 + gnt_map_draw(&r), 0.0 };
    }
    s->num_old = num_old;
    for (int32_t d = 0; d < num_old; d++)
        s->new_of_old[d] = d < num_new ? d : -1;
    if (seed % 2 == 1 && num_new >= num_old) /* the first one leaves, another one joins */
        s->new_of_old[0] = -1;
    s->c = (gnti_map_config){ s->devices, num_new, 0.0, 0.05, false };
    gnt_assert_ok(gnti_chunk_map_first(s->f, &old, s->old_owner));
}

/* Relative load of the fullest device, and what has moved. */
static double fullest(const scene *s, const int32_t *owner, double *bytes, double *load)
{
    double held[MAX_D] = { 0.0 }, most = 0.0;

    *bytes = *load = 0.0;
    for (int32_t p = 0; p < s->f->num_chunks; p++) {
        held[owner[p]] += s->f->cost[p];
        if (s->new_of_old[s->old_owner[p]] != owner[p]) {
            *bytes += s->f->bytes[p];
            *load += s->f->cost[p];
        }
    }
    for (int32_t d = 0; d < s->c.num_devices; d++)
        most = fmax(most, held[d] / s->devices[d].speed);
    return most;
}

static double ideal(const scene *s)
{
    double total = 0.0, speeds = 0.0;

    for (int32_t p = 0; p < s->f->num_chunks; p++)
        total += s->f->cost[p];
    for (int32_t d = 0; d < s->c.num_devices; d++)
        speeds += s->devices[d].speed;
    return total / speeds;
}

static void check_resize(const scene *s, const int32_t *owner, const gnti_moves *moves)
{
    double bytes, load, most_cost = 0.0;

    for (int32_t p = 0; p < s->f->num_chunks; p++) {
        assert_in_range(owner[p], 0, s->c.num_devices - 1);
        most_cost = fmax(most_cost, s->f->cost[p]);
    }
    fullest(s, owner, &bytes, &load);
    assert_true(fabs(bytes - moves->bytes) <= 1e-6 * (1.0 + bytes));
    assert_true(fabs(load - moves->load) <= 1e-6 * (1.0 + load));
    assert_true(load <= moves->bound + most_cost * s->c.num_devices + moves->bought + 1e-9);
    assert_true(moves->bought == 0.0 || s->c.halo_seconds > 0.0); /* halo is what more is moved for */
}

/* The fewest bytes of all maps whose fullest device is not fuller. */
static double search_all(const scene *s, double most)
{
    int32_t owner[10] = { 0 };
    double least = INFINITY, bytes, load;
    int32_t at = 0;

    most = fmax(most, ideal(s) * (1.0 + s->c.tolerance)) * (1.0 + 1e-9);
    while (at < s->f->num_chunks) {
        bool all = true;

        for (int32_t d = 0; d < s->c.num_devices; d++) {
            bool any = false;

            for (int32_t p = 0; p < s->f->num_chunks; p++)
                any = any || owner[p] == d;
            all = all && any;
        }
        if (all && fullest(s, owner, &bytes, &load) <= most)
            least = fmin(least, bytes);
        for (at = 0; at < s->f->num_chunks && ++owner[at] == s->c.num_devices; at++)
            owner[at] = 0;
    }
    return least;
}

static void test_brute_force(void **state)
{
    int num_worse = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 240; seed++) {
        static scene s;
        const int32_t k = 4 + (int32_t)(seed % 7), num_old = 1 + (int32_t)(seed / 3 % 3);
        const int32_t num_new = 1 + (int32_t)(seed / 9 % 3);
        int32_t owner[10];
        gnti_moves moves;
        double most, bytes, load, least;

        scene_make(&s, k, num_old, num_new, seed);
        gnt_assert_ok(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, s.new_of_old, num_old, owner, &moves));
        check_resize(&s, owner, &moves);
        most = fullest(&s, owner, &bytes, &load);
        least = search_all(&s, most);
        assert_true(least <= bytes * (1.0 + 1e-9));
        if (bytes > least * (1.0 + 1e-9)) {
            num_worse++;
            print_message("seed %d: k %d, %d -> %d: %g bytes, %g are enough\n", (int)seed, k, num_old,
                          num_new, bytes, least);
        }
        gnti_chunk_facts_free(&s.f);
    }
    assert_int_equal(num_worse, 0);
}

static void test_large(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        static scene s;
        static int32_t owner[MAX_K], again[MAX_K], same[MAX_D];
        const int32_t k = seed % 3 == 0 ? 64 : seed % 3 == 1 ? 128 : 512, num_old = 1 + (int32_t)(seed % 8);
        const int32_t num_new = 1 + (int32_t)(seed * 5 % 8);
        gnti_moves moves;
        double most, bytes, load;

        scene_make(&s, k, num_old, num_new, seed);
        s.c.halo_seconds = 1e-4;
        gnt_assert_ok(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, s.new_of_old, num_old, owner, &moves));
        check_resize(&s, owner, &moves);
        most = fullest(&s, owner, &bytes, &load);
        if (most > ideal(&s) * (k >= 128 ? 1.05 : 1.15))
            fail_msg("seed %d: fullest %g, ideal %g", (int)seed, most, ideal(&s));
        /* once more: nothing is left to do */
        for (int32_t d = 0; d < MAX_D; d++)
            same[d] = d;
        if (most <= 1.05 * ideal(&s)) {
            gnt_assert_ok(gnti_chunk_map_resize(s.f, &s.c, owner, same, num_new, again, &moves));
            gnt_assert_same_i32(again, owner, k);
            assert_true(moves.num_chunks == 0 && moves.bytes == 0.0 && moves.bound == 0.0);
        }
        gnti_chunk_facts_free(&s.f);
    }
}

/* One of two equal devices becomes four times slower, and recovers. */
static void test_drift(void **state)
{
    static scene s;
    int32_t owner[64], back[64], same[] = { 0, 1 };
    gnti_moves moves;
    double bytes, load;

    (void)state;
    scene_make(&s, 64, 2, 2, 2);
    s.new_of_old[0] = 0;
    s.devices[0] = s.devices[1] = (gnti_map_device){ 1.0, 0.0 };
    gnt_assert_ok(gnti_chunk_map_first(s.f, &s.c, s.old_owner));
    s.devices[1].speed = 0.25;
    gnt_assert_ok(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, same, 2, owner, &moves));
    assert_true(fullest(&s, owner, &bytes, &load) <= 1.05 * ideal(&s) + 1e-9);
    assert_true(moves.load >= moves.bound - 1e-9 && moves.load <= moves.bound + 1.5);
    assert_true(moves.bound > 15.0 && moves.bound < 23.0); /* 32 less 1.05 fifths of 64 is 18.6 */
    for (int32_t p = 0; p < 64; p++)
        assert_true(owner[p] == s.old_owner[p] || owner[p] == 0);
    s.devices[1].speed = 1.0;
    gnt_assert_ok(gnti_chunk_map_resize(s.f, &s.c, owner, same, 2, back, &moves));
    memcpy(s.old_owner, owner, sizeof owner);
    assert_true(fullest(&s, back, &bytes, &load) <= 1.05 * ideal(&s) + 1e-9);
    gnti_chunk_facts_free(&s.f);
}

static void test_memory_caps(void **state)
{
    static scene s;
    int32_t owner[16];
    gnti_moves moves;
    double held = 0.0;

    (void)state;
    scene_make(&s, 16, 3, 2, 4);
    s.devices[0].memory = 5000.0;
    gnt_assert_ok(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, s.new_of_old, 3, owner, &moves));
    check_resize(&s, owner, &moves);
    for (int32_t p = 0; p < 16; p++)
        held += owner[p] == 0 ? s.f->bytes[p] : 0.0;
    assert_true(held > 2500.0 && held <= 5000.0);
    s.devices[1].memory = 5000.0;
    gnt_assert_status(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, s.new_of_old, 3, owner, &moves),
                      GNT_ERR_LIMIT);
    gnt_assert_error_has("10000");
    s.devices[1].memory = 0.0;
    s.new_of_old[1] = 7;
    gnt_assert_status(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, s.new_of_old, 3, owner, &moves),
                      GNT_ERR_ARG);
    s.new_of_old[1] = 1;
    GNT_BRUTAL(gnti_chunk_map_resize(s.f, &s.c, s.old_owner, s.new_of_old, 3, owner, &moves));
    gnti_chunk_facts_free(&s.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_brute_force),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_memory_caps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
