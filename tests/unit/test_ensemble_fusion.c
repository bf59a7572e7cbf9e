/* SPDX-License-Identifier: Apache-2.0 */
/* Groups: who fuses with whom; no member is lost or doubled; pieces fit their devices and balance; what fits nowhere is told.
 */
#include "tests/support/train_case.h"

#include "ensemble/fusion.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static train_case c;

static int make_case(void **state)
{
    (void)state;
    train_case_make(&c, 7);
    return 0;
}

static int free_case(void **state)
{
    (void)state;
    train_case_free(&c);
    return 0;
}

static gnti_spec *spec_of(const char *text)
{
    gnti_spec *s = NULL;

    gnt_assert_ok(gnti_spec_parse(c.ctx, text, strlen(text), "e.yaml", c.data, &s));
    return s;
}

static int64_t bytes_of(const gnti_fused_group *g)
{
    return g->shared_bytes + g->lasting_bytes + g->scratch_bytes;
}

/* Each pending member is in exactly one group; groups are in order, members ascending and of one key and epoch. */
static void check_groups(const gnti_grouping *g, const gnti_fused_group *groups, int32_t num)
{
    int32_t *seen = NULL;

    gnt_assert_ok(gnti_calloc_array(&seen, g->spec->num_members));
    for (int32_t i = 0; i < num; i++) {
        char *first = NULL;

        assert_true(groups[i].num_members > 0 && (i == 0 || groups[i - 1].members[0] < groups[i].members[0]));
        assert_true(g->max_members == 0 || groups[i].num_members <= g->max_members);
        gnt_assert_ok(gnti_fusion_key(&g->spec->members[groups[i].members[0]], &first));
        for (int32_t k = 0; k < groups[i].num_members; k++) {
            const int32_t m = groups[i].members[k];
            char *key = NULL;

            seen[m]++;
            assert_true(k == 0 || groups[i].members[k - 1] < m);
            assert_int_equal(groups[i].epoch, g->epochs == NULL ? 0 : g->epochs[m]);
            gnt_assert_ok(gnti_fusion_key(&g->spec->members[m], &key));
            assert_string_equal(key, first);
            gnti_free(key);
        }
        gnti_free(first);
    }
    for (int32_t m = 0; m < g->spec->num_members; m++)
        assert_int_equal(seen[m], g->pending == NULL ? 1 : g->pending[m]);
    gnti_free(seen);
}

static bool fuse(const char *a, const char *b)
{
    char text[1000];
    gnti_spec *s[2];
    char *key[2] = { NULL, NULL };
    bool same;

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "seed: %d\n%s\n", i, i == 0 ? a : b);
        s[i] = spec_of(text);
        gnt_assert_ok(gnti_fusion_key(&s[i]->members[0], &key[i]));
    }
    same = strcmp(key[0], key[1]) == 0;
    for (int i = 0; i < 2; i++) {
        gnti_free(key[i]);
        gnti_spec_free(&s[i]);
    }
    return same;
}

static void who_fuses(void **state)
{
    const char *plain = "model: gcn:4, gcn\ntrain: {dropout: 0.5, weight-decay: '1:5e-4,2:bias:0.1'}";

    (void)state;
    assert_true(fuse(plain, plain));
    assert_true(fuse(plain, "model: gcn:4,gcn\ntrain: {dropout: 0.1, weight-decay: '1:0, 2:bias:3', lr: 3, "
                            "epochs: 7, patience: 2}"));
    assert_false(fuse(plain, "model: gcn:5, gcn\ntrain: {dropout: 0.5, weight-decay: '1:5e-4,2:bias:0.1'}"));
    assert_false(fuse(plain, "model: gcn:4, gcn\ntrain: {dropout: 0, weight-decay: '1:5e-4,2:bias:0.1'}"));
    assert_false(fuse(plain, "model: gcn:4, gcn\ntrain: {dropout: 0.5, weight-decay: '1:5e-4,2:0.1'}"));
    assert_false(fuse(plain, "model: gcn:4, gcn\ntrain: {dropout: 0.5}"));
    assert_false(fuse("model: gcn:4, gcn", "model: gcn:4, gcn\ntrain: {optimizer: sgd}"));
    assert_false(fuse("model: gcn:4, gcn", "model: gcn:4, gcn\ntrain: {act: elu}"));
    assert_false(fuse("model: gcn:4, gcn", "model: gcn:4, gcn\ntrain: {eval-every: 2}"));
    assert_false(fuse("model: gcn:4, gcn", "model: gcn:4, gcn\ndrop-edges: 0.1"));
    assert_false(fuse("model: gcn:4, gcn\ndrop-edges: 0.1",
                      "model: gcn:4, gcn\ndrop-edges: 0.1")); /* each has its own */
    assert_true(fuse("model: gcn:4, gcn\nbagging: 0.5", "model: gcn:4, gcn\nfolds: 3"));
    assert_true(fuse("model: gcn:4, gcn\ntrain: {optimizer: adamw}",
                     "model: gcn:4, gcn\ntrain: {optimizer: adamw, weight-decay: 0.3}"));
    assert_false(fuse("model: gcn:4, gcn\nforeground: m00", "model: gcn:4, gcn"));
}

/* 24 equal members on 4:2:1: pieces as 4:2:1, to the nearest member. */
static void pieces_follow_speeds(void **state)
{
    gnti_spec *s = spec_of("model: gcn:4, gcn\ncount: 24\n");
    const double speeds[] = { 1.0, 4.0, 2.0 };
    gnti_grouping g = { .spec = s, .speeds = speeds, .num_devices = 3 };
    gnti_fused_group *groups = NULL;
    int32_t num = 0;

    (void)state;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_int_equal(num, 3);
    assert_int_equal(groups[0].num_members, 14);
    assert_int_equal(groups[1].num_members, 7);
    assert_int_equal(groups[2].num_members, 3);
    gnti_fused_groups_free(&groups, num);
    assert_null(groups);
    g.max_members = 5;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_int_equal(num, 3 + 2 + 1);
    gnti_fused_groups_free(&groups, num);
    g.max_members = 0;
    g.num_devices = 1;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_int_equal(num, 1);
    gnti_fused_groups_free(&groups, num);
    gnti_spec_free(&s);
    s = spec_of(
        "model: gcn:4, gcn\ncount: 9\n"); /* 5.14, 2.57, 1.29: the nearest cuts from the start are 5 and 8 */
    g = (gnti_grouping){ .spec = s, .speeds = speeds, .num_devices = 3 };
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_true(num == 3 && groups[0].num_members == 5 && groups[1].num_members == 3);
    gnti_fused_groups_free(&groups, num);
    gnti_spec_free(&s);
}

/* Unequal members, some gone, some ahead: the work of the pieces that were cut for each device is within one member of its share. */
static void random_groups(void **state)
{
    gnti_spec *s = spec_of("search: random\nsamples: 40\ncount: 2\nseed: 4\nvary:\n"
                           "- {key: model, values: ['gcn:4, gcn', 'sage:4, sage', 'gcn:16, gcn:8, gcn']}\n"
                           "- {key: epochs, low: 20, high: 200}\n");
    int64_t epochs[80];
    uint8_t pending[80];
    const double speeds[] = { 4.0, 2.0, 1.0, 1.0 };

    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        gnti_grouping g = { .spec = s,
                            .epochs = epochs,
                            .pending = pending,
                            .speeds = speeds,
                            .num_devices = 1 + (int32_t)(round % 4) };
        gnti_fused_group *groups = NULL;
        int32_t num = 0, left = 0;

        for (uint32_t m = 0; m < 80; m++) {
            epochs[m] = 5 * (int64_t)((m * 7 + round) % 3);
            pending[m] = (m * 13 + round * 5) % 7 != 0;
            left += pending[m];
        }
        gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
        check_groups(&g, groups, num);
        assert_true(num <= 9 + g.num_devices - 1 &&
                    left > 0); /* 3 shapes at 3 epochs, and a cut for each device */
        gnti_fused_groups_free(&groups, num);
    }
    gnti_spec_free(&s);
}

/* Longest processing time first over the groups, as a placement at its simplest, ends near the bound. */
static void groups_balance(void **state)
{
    gnti_spec *s = spec_of("model: gcn:4, gcn\nsearch: random\nsamples: 24\nseed: 9\nvary:\n- {key: epochs, "
                           "low: 50, high: 150}\n");
    const double speeds[] = { 4.0, 2.0, 1.0 };
    gnti_grouping g = { .spec = s, .speeds = speeds, .num_devices = 3 };
    gnti_fused_group *groups = NULL;
    double load[3] = { 0.0 }, work = 0.0, last = 0.0;
    int32_t num = 0;

    (void)state;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_int_equal(num, 3);
    for (int32_t i = 0; i < num; i++) {
        int best = 0;
        double mine = 0.0;

        for (int32_t k = 0; k < groups[i].num_members; k++)
            mine += (double)s->members[groups[i].members[k]].train.epochs;
        work += mine;
        for (int d = 1; d < 3; d++)
            best = (load[d] + mine) / speeds[d] < (load[best] + mine) / speeds[best] ? d : best;
        load[best] += mine;
    }
    for (int d = 0; d < 3; d++)
        last = fmax(last, load[d] / speeds[d]);
    assert_true(last <= 1.1 * work / 7.0);
    gnti_fused_groups_free(&groups, num);
    gnti_spec_free(&s);
}

/* The fewest members there are: each alone. */
static void fewer_members_than_devices(void **state)
{
    gnti_spec *s = spec_of("model: gcn:4, gcn\ncount: 2\n");
    const double speeds[] = { 1.0, 1.0, 1.0, 1.0 };
    const gnti_grouping g = { .spec = s, .speeds = speeds, .num_devices = 4 };
    gnti_fused_group *groups = NULL;
    int32_t num = 0;

    (void)state;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_int_equal(num, 2);
    gnti_fused_groups_free(&groups, num);
    gnti_spec_free(&s);
}

static void groups_fit(void **state)
{
    gnti_spec *s = spec_of("model: gcn:32, gcn\ncount: 12\n");
    const double speeds[] = { 2.0, 1.0 };
    int64_t capacity[] = { 0, 0 }, one, two, three;
    gnti_grouping g = {
        .spec = s, .speeds = speeds, .capacity = capacity, .num_devices = 1, .max_members = 1
    };
    gnti_fused_group *groups = NULL;
    int32_t num = 0;

    (void)state;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    one = bytes_of(&groups[0]);
    gnti_fused_groups_free(&groups, num);
    g.max_members = 2;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    two = bytes_of(&groups[0]);
    gnti_fused_groups_free(&groups, num);
    g.max_members = 3;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    three = bytes_of(&groups[0]);
    gnti_fused_groups_free(&groups, num);
    g.max_members = 0;
    assert_true(one < two && two < three);
    capacity[0] = three - 1; /* two fit, three do not */
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    assert_int_equal(num, 6);
    for (int32_t i = 0; i < num; i++)
        assert_true(groups[i].num_members == 2 && bytes_of(&groups[i]) <= capacity[0]);
    gnti_fused_groups_free(&groups, num);
    g.num_devices = 2; /* the second holds one at a time */
    capacity[0] = three;
    capacity[1] = one;
    gnt_assert_ok(gnti_fused_groups_form(&g, c.data, &groups, &num));
    check_groups(&g, groups, num);
    for (int32_t i = 0; i < num; i++)
        assert_true(bytes_of(&groups[i]) <= capacity[0]);
    assert_true(num == 3 + 4); /* 8 members by up to 3, 4 by one */
    gnti_fused_groups_free(&groups, num);
    capacity[0] = capacity[1] = one / 8;
    gnt_assert_status(gnti_fused_groups_form(&g, c.data, &groups, &num), GNT_ERR_NOMEM);
    gnt_assert_error_has("member m00 needs", "of graph and features", "the largest device has");
    assert_null(groups);
    gnti_spec_free(&s);
}

static void brutal(void **state)
{
    gnti_spec *s = spec_of("model: gcn:4, gcn\ncount: 3\n");
    const double speeds[] = { 1.0, 1.0 };
    const gnti_grouping g = { .spec = s, .speeds = speeds, .num_devices = 2 };
    gnti_fused_group *groups = NULL;
    int32_t num = 0;

    (void)state;
    GNT_BRUTAL_OUT(gnti_fused_groups_form(&g, c.data, &groups, &num), groups);
    gnti_fused_groups_free(&groups, num);
    gnti_spec_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_fuses),     cmocka_unit_test(pieces_follow_speeds),
        cmocka_unit_test(random_groups), cmocka_unit_test(groups_balance),
        cmocka_unit_test(groups_fit),    cmocka_unit_test(fewer_members_than_devices),
        cmocka_unit_test(brutal),
    };

    return cmocka_run_group_tests(tests, make_case, free_case);
}
