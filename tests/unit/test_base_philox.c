/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10: the published known answers, the layout of counters, uniformity, and that no two draws
 * share a counter.
 */
#include "tests/support/gnt_test.h"

#include "base/philox.h"

#include <stdlib.h>
#include <string.h>

/* Salmon, Moraes, Dror, Shaw, SC 2011, known answers of the authors' library. */
static void known_answers(void **state)
{
    static const struct {
        uint32_t counter[4];
        gnti_philox_key key;
        uint32_t want[4];
    } cases[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          { 0xffffffff, 0xffffffff },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t got[4];

        gnti_philox(cases[i].counter, cases[i].key, got);
        for (int w = 0; w < 4; w++)
            assert_int_equal(got[w], cases[i].want[w]);
    }
}

static void member_keys_are_philox_of_the_seed(void **state)
{
    const uint32_t counter[4] = { 3, 0, 0, 'M' << 24 | 'E' << 16 | 'M' << 8 | 'B' };
    uint32_t want[4];

    (void)state;
    gnti_philox(counter, (gnti_philox_key){ 0x89abcdef, 0x01234567 }, want);
    const gnti_philox_key got = gnti_member_key(0x0123456789abcdefu, 3);

    assert_int_equal(got.k0, want[0]);
    assert_int_equal(got.k1, want[1]);
}

/* The counters as the design writes them, spelled out once more. */
static void counters_follow_the_layout(void **state)
{
    const gnti_philox_key key = { 11, 22 };
    const int64_t id = ((int64_t)0x1234 << 32) | 0x89abcdef;
    uint32_t counter[4] = { 5, 0x89abcdef, 1u << 28 | 7u << 16 | 0x1234u, 99 }, want[4];
    const uint64_t hash = 0xfedcba9876543210u;

    (void)state;
    gnti_philox(counter, key, want);
    for (uint32_t c = 0; c < 4; c++)
        assert_int_equal(gnti_draw_word(key, GNTI_DRAW_DROPOUT, 7, 99, id, 20 + c), want[c]);
    counter[0] = 2;
    counter[1] = 17;
    counter[2] = 0x0edcba98;
    counter[3] = 0x76543210;
    gnti_philox(counter, key, want);
    assert_int_equal(gnti_draw_init(key, hash, 17, 9), want[1]);
}

static void fnv1a_has_its_published_values(void **state)
{
    (void)state;
    assert_true(gnti_fnv1a("") == 0xcbf29ce484222325u);
    assert_true(gnti_fnv1a("a") == 0xaf63dc4c8601ec8cu);
    assert_true(gnti_fnv1a("foobar") == 0x85944171f73967e8u);
}

/* 2 * 10^6 words in 256 cells by their high and by their low byte: chi-square with 255 degrees of freedom has
 * mean 255 and deviation 22.6; the draw is fixed, so the bound is no matter of luck. */
static void words_are_uniform(void **state)
{
    const gnti_philox_key key = gnti_member_key(1, 0);
    static int64_t high[256], low[256];
    const int64_t rows = 5000;
    double chi[2] = { 0.0, 0.0 };
    const double expected = (double)rows * 400.0 / 256.0;

    (void)state;
    for (int64_t row = 0; row < rows; row++) {
        for (uint32_t quad = 0; quad < 100; quad++) {
            uint32_t words[4];

            gnti_draw_quad(key, GNTI_DRAW_DROPOUT, 0, 1, row, quad, words);
            for (int w = 0; w < 4; w++) {
                high[words[w] >> 24]++;
                low[words[w] & 255]++;
            }
        }
    }
    for (int i = 0; i < 256; i++) {
        chi[0] += ((double)high[i] - expected) * ((double)high[i] - expected) / expected;
        chi[1] += ((double)low[i] - expected) * ((double)low[i] - expected) / expected;
    }
    for (int i = 0; i < 2; i++)
        assert_true(chi[i] > 255.0 - 4 * 22.6 && chi[i] < 255.0 + 4 * 22.6);
}

static void helpers_keep_their_ranges(void **state)
{
    (void)state;
    assert_true(gnti_uniform(0) == 0.0f);
    assert_true(gnti_uniform(0xffffffff) < 1.0f);
    assert_int_equal(gnti_below(0xffffffff, 7), 6);
    assert_int_equal(gnti_below(0, 7), 0);
    assert_true(gnti_drop_threshold(0.0f) == 0);
    assert_true(gnti_drop_threshold(0.5f) == 0x80000000u);
    assert_true(gnti_drop_threshold(1.0f) == 0x100000000u); /* even the largest word is below: all dropped */
}

typedef struct counter4 {
    uint32_t c[4];
} counter4;

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(counter4));
}

/* Over every boundary of the packed fields. Philox is a bijection of counters, so equal outputs are equal
 * counters. */
static void no_two_draws_share_a_counter(void **state)
{
    static const int64_t ids[] = {
        0, 1, 2, 0xffffffff, 0x100000000, 0x1000100000000, 0xffff00000000, 0xffffffffffff
    };
    static const uint32_t ordinals[] = { 0, 1, 15, 16, 4095 }, steps[] = { 0, 1, 65536, 0xffffffff };
    counter4 *all = NULL;
    size_t n = 0;

    (void)state;
    gnt_assert_ok(gnti_alloc_array(&all, 9 * 5 * 4 * 7 * 3));
    for (uint32_t kind = 0; kind < 9; kind++)
        for (size_t o = 0; o < 5; o++)
            for (size_t s = 0; s < 4; s++)
                for (size_t i = 0; i < 8; i++)
                    for (uint32_t quad = 0; quad < 3; quad++) {
                        if (ids[i] >> 48 != 0)
                            continue; /* above the documented 48 bits */
                        gnti_draw_quad((gnti_philox_key){ 0, 0 }, (gnti_draw_kind)kind, ordinals[o], steps[s],
                                       ids[i], quad, all[n++].c);
                    }
    qsort(all, n, sizeof *all, compare);
    for (size_t i = 1; i < n; i++)
        assert_true(compare(&all[i - 1], &all[i]) != 0);
    gnti_free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(member_keys_are_philox_of_the_seed),
        cmocka_unit_test(counters_follow_the_layout),
        cmocka_unit_test(fnv1a_has_its_published_values),
        cmocka_unit_test(words_are_uniform),
        cmocka_unit_test(helpers_keep_their_ranges),
        cmocka_unit_test(no_two_draws_share_a_counter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
