/* SPDX-License-Identifier: Apache-2.0 */
/* Members that change their company: taken out, put into other trainers, left behind by others; and their logits. Whatever
 * happens, each goes on as the lone run does. */
#include "tests/support/member_case.h"

#include "train/trainer_state.h"

#include <math.h>
#include <string.h>

enum { EPOCHS = 12 };

static const char *const texts[] = { "gcn:8, gcn", "gcn:8:norm=batch, gat:3" };

typedef struct place {
    const char *settings, *devices;
    bool weighted;
} place;

static const place places[] = { { "threads=1;deterministic=bitwise", NULL, true },
                                { "threads=1;deterministic=bitwise", "3", true },
                                { "threads=1;deterministic=bitwise", "3", false } };

static void make(member_case *mc, const place *p, const char *text, int32_t optimizer)
{
    train_case_arrays(&mc->c, GNT_LABELS_CLASS, 5);
    mc->c.text = text;
    mc->c.config.epochs = EPOCHS;
    mc->c.config.optimizer = optimizer;
    mc->c.config.devices = p->devices;
    mc->c.config.chunks = p->devices != NULL ? 8 : 0;
    train_case_dataset(&mc->c, p->settings);
    member_case_options(mc, p->weighted);
}

/* Members 0 .. 4 train apart (0 1 2 and 3 4), then 4 1 3 together, then all alone. */
static void test_members_change_company(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        static const int32_t mixed[] = { 4, 1, 3 };
        member_case mc;
        gnti_member_options options[3];
        gnti_member_state s[5] = { { 0 } };
        gnt_trainer *a = NULL, *b = NULL, *c = NULL;

        make(&mc, &places[k], texts[k % 2], k == 1 ? GNTI_TRAIN_SGD : GNTI_TRAIN_ADAM);
        a = member_case_trainer(&mc, 0, 3);
        b = member_case_trainer(&mc, 3, 2);
        assert_int_equal(train_case_run(a, 4, 0, NULL), 4);
        assert_int_equal(train_case_run(b, 4, 0, NULL), 4);
        gnt_assert_ok(gnti_trainer_take_member(a, 1, &s[1]));
        gnt_assert_ok(gnti_trainer_take_member(b, 0, &s[3]));
        gnt_assert_ok(gnti_trainer_take_member(b, 1, &s[4]));
        gnt_trainer_free(&b);
        for (int i = 0; i < 3; i++)
            options[i] = mc.members[mixed[i]];
        gnt_assert_ok(gnti_trainer_create_members(mc.c.model, mc.c.data, &mc.c.config, options, 3, &c));
        for (int i = 0; i < 3; i++) {
            gnt_assert_ok(gnti_trainer_put_member(c, i, &s[mixed[i]]));
            gnti_member_state_free(&s[mixed[i]]);
        }
        assert_int_equal(train_case_run(c, 5, 0, NULL), 5);
        for (int i = 0; i < 3; i++) {
            gnt_trainer *lone = member_case_trainer(&mc, mixed[i], 1), *rest = NULL;

            assert_int_equal(train_case_run(lone, 9, 0, NULL), 9);
            member_case_assert_same(c, i, lone, 0, 0.0f);
            rest = member_case_trainer(&mc, mixed[i], 1);
            gnt_assert_ok(gnti_trainer_take_member(c, i, &s[0]));
            gnt_assert_ok(gnti_trainer_put_member(rest, 0, &s[0]));
            gnti_member_state_free(&s[0]);
            assert_int_equal(train_case_run(rest, 100, 0, NULL), 3);
            assert_int_equal(train_case_run(lone, 100, 0, NULL), 3);
            member_case_assert_same(rest, 0, lone, 0, 0.0f);
            gnt_trainer_free(&rest);
            gnt_trainer_free(&lone);
        }
        gnt_trainer_free(&a);
        gnt_trainer_free(&c);
        train_case_free(&mc.c);
    }
}

static void test_states_that_do_not_fit_are_refused(void **state)
{
    member_case mc;
    gnti_member_state s = { 0 }, later = { 0 };
    gnt_trainer *a = NULL, *b = NULL;
    gnt_epoch_stats stats = { .struct_size = sizeof stats };

    (void)state;
    make(&mc, &places[0], texts[0], GNTI_TRAIN_ADAM);
    a = member_case_trainer(&mc, 0, 2);
    assert_int_equal(train_case_run(a, 2, 0, NULL), 2);
    gnt_assert_ok(gnti_trainer_take_member(a, 0, &s));
    assert_int_equal(gnti_trainer_put_member(a, 0, &s), GNT_ERR_STATE);
    gnt_assert_error_has("has trained already", "epoch 2");
    assert_int_equal(train_case_run(a, 2, 0, NULL), 2);
    gnt_assert_ok(gnti_trainer_take_member(a, 1, &later));
    b = member_case_trainer(&mc, 0, 2);
    assert_int_equal(gnti_trainer_put_member(b, 1, &s), GNT_ERR_ARG);
    gnt_assert_error_has("seed 100", "seed 107");
    assert_int_equal(gnti_trainer_put_member(b, 2, &s), GNT_ERR_ARG);
    gnt_assert_ok(gnti_trainer_put_member(b, 0, &s));
    assert_int_equal(gnti_trainer_put_member(b, 1, &later), GNT_ERR_STATE);
    gnt_assert_error_has("epoch 4, step 4", "epoch 2, step 2");
    assert_false(gnt_trainer_next(b, &stats)); /* member 1 was never put */
    assert_int_equal(gnt_trainer_status(b), GNT_ERR_STATE);
    gnt_assert_error_has("member 1 stands at epoch 0", "epoch 2");
    gnt_trainer_free(&b);
    mc.c.config.optimizer = GNTI_TRAIN_SGD;
    b = member_case_trainer(&mc, 0, 1);
    assert_int_equal(gnti_trainer_put_member(b, 0, &s), GNT_ERR_ARG);
    gnt_assert_error_has("another optimiser");
    gnt_trainer_free(&a);
    gnt_trainer_free(&b);
    gnti_member_state_free(&s);
    gnti_member_state_free(&later);
    train_case_free(&mc.c);
}

/* Some leave, twice; the others' curves and weights stay as they would have been. */
static void test_members_that_stay_do_not_change(void **state)
{
    (void)state;
    for (size_t k = 0; k < 3; k++) {
        static const uint8_t first[] = { 1, 0, 1, 1, 0 }, second[] = { 0, 1, 1 };
        member_case mc;
        gnt_trainer *all = NULL, *fewer = NULL;

        make(&mc, &places[k], texts[k % 2], GNTI_TRAIN_ADAM);
        mc.members[1].epochs = 30; /* the longest leaves */
        all = member_case_trainer(&mc, 0, 5);
        fewer = member_case_trainer(&mc, 0, 5);
        assert_int_equal(train_case_run(fewer, 4, 0, NULL), 4);
        gnt_assert_ok(gnti_trainer_keep_members(fewer, first));
        assert_int_equal(gnt_trainer_num_members(fewer), 3);
        assert_int_equal(train_case_run(fewer, 3, 0, NULL), 3);
        gnt_assert_ok(gnti_trainer_keep_members(fewer, second));
        assert_int_equal(train_case_run(fewer, 100, 0, NULL), EPOCHS - 7);
        assert_int_equal(train_case_run(all, EPOCHS, 0, NULL), EPOCHS);
        member_case_assert_same(fewer, 0, all, 2, 0.0f);
        member_case_assert_same(fewer, 1, all, 3, 0.0f);
        gnt_assert_ok(gnt_trainer_finish(fewer));
        gnt_trainer_free(&all);
        gnt_trainer_free(&fewer);
        train_case_free(&mc.c);
    }
}

/* Ranks that cannot be made anew leave everything as it was. */
static void test_failed_keep_changes_nothing(void **state)
{
    static const uint8_t keep[] = { 0, 1, 1 }, none[] = { 0, 0, 0 }, everybody[] = { 1, 1, 1 };

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        member_case mc;
        gnt_trainer *all = NULL, *tried = NULL;
        int64_t failures = 0;

        make(&mc, &places[k], texts[0], GNTI_TRAIN_ADAM);
        all = member_case_trainer(&mc, 0, 3);
        tried = member_case_trainer(&mc, 0, 3);
        assert_int_equal(train_case_run(tried, 3, 0, NULL), 3);
        gnt_assert_ok(gnti_trainer_keep_members(tried, everybody));
        assert_int_equal(gnti_trainer_keep_members(tried, none), GNT_ERR_ARG);
        for (int64_t at = 0; at < 2000; at += at < 20 ? 1 : 37) {
            gnt_status st;

            gnti_alloc_fail_at(at);
            st = gnti_trainer_keep_members(tried, keep);
            gnti_alloc_fail_at(-1);
            if (st == GNT_OK)
                break;
            failures++;
            assert_int_equal(gnt_trainer_num_members(tried), 3);
            gnt_clear_error();
        }
        assert_true(failures > 20);
        assert_int_equal(gnt_trainer_num_members(tried), 2);
        assert_int_equal(train_case_run(tried, 100, 0, NULL), EPOCHS - 3);
        assert_int_equal(train_case_run(all, 100, 0, NULL), EPOCHS);
        member_case_assert_same(tried, 0, all, 1, 0.0f);
        member_case_assert_same(tried, 1, all, 2, 0.0f);
        gnt_trainer_free(&all);
        gnt_trainer_free(&tried);
        train_case_free(&mc.c);
    }
}

static void assert_same_weights(gnt_trainer *a, int32_t member_a, gnt_trainer *b, int32_t member_b)
{
    gnti_member_state x = { 0 }, y = { 0 };

    gnt_assert_ok(gnti_trainer_take_member(a, member_a, &x));
    gnt_assert_ok(gnti_trainer_take_member(b, member_b, &y));
    gnt_assert_same_bits(x.weights, y.weights, x.num_floats);
    gnti_member_state_free(&x);
    gnti_member_state_free(&y);
}

/* Validation accuracy counted from the logits is what the trainer saw. */
static double accuracy_of(const member_case *mc, const float *logits)
{
    const gnti_split *split = &mc->c.data->splits[0];
    int64_t right = 0;

    for (int64_t i = 0; i < split->num_nodes[GNTI_VALID]; i++) {
        const int64_t v = split->nodes[GNTI_VALID][i];
        int64_t best = 0;

        for (int64_t c = 1; c < TRAIN_CASE_CLASSES; c++)
            if (logits[v * TRAIN_CASE_CLASSES + c] > logits[v * TRAIN_CASE_CLASSES + best])
                best = c;
        right += best == mc->c.y_class[v];
    }
    return (double)right / (double)split->num_nodes[GNTI_VALID];
}

static void test_logits_by_node(void **state)
{
    enum { CELLS = TRAIN_CASE_NODES * TRAIN_CASE_CLASSES };
    float logits[CELLS], again[CELLS], whole[CELLS];

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        member_case mc;
        gnt_trainer *tr = NULL, *quiet = NULL;
        int64_t worse = 0;

        make(&mc, &places[k], texts[0], GNTI_TRAIN_ADAM);
        for (int32_t m = 0; m < 3; m++)
            mc.members[m].lr = 0.5; /* up and down */
        tr = member_case_trainer(&mc, 0, 3);
        mc.c.config.eval_every = 3;
        quiet = member_case_trainer(&mc, 0, 3);
        gnt_assert_ok(gnti_trainer_member_logits(tr, 1, true, logits)); /* nothing was evaluated */
        gnt_assert_ok(gnti_trainer_member_logits(tr, 1, false, again));
        gnt_assert_same_bits(logits, again, CELLS);
        for (int64_t e = 0; e < EPOCHS; e++) {
            assert_int_equal(train_case_run(tr, 1, 0, NULL), 1);
            assert_int_equal(train_case_run(quiet, 1, 0, NULL), 1);
            for (int32_t m = 0; m < 3; m++) {
                gnt_assert_ok(gnti_trainer_member_logits(tr, m, true, logits));
                assert_true(fabs(accuracy_of(&mc, logits) - tr->members[m].best_valid_metric) < 1e-12);
                worse += tr->members[m].valid_metric < tr->members[m].best_valid_metric;
                gnt_assert_ok(gnti_trainer_member_logits(tr, m, false, logits));
                assert_true(fabs(accuracy_of(&mc, logits) - tr->members[m].valid_metric) < 1e-12);
            }
            gnt_assert_ok(gnti_trainer_member_logits(quiet, 2, false, again)); /* of this epoch's weights */
            gnt_assert_same_bits(logits, again, CELLS);
        }
        assert_true(worse > 0);
        for (int32_t m = 0; m < 3; m++)
            assert_same_weights(tr, m, quiet, m); /* looking changes nothing */
        gnt_assert_ok(gnti_trainer_member_logits(tr, 2, true, k == 0 ? whole : logits));
        for (int64_t i = 0; k > 0 && i < CELLS; i++)
            assert_true(fabsf(logits[i] - whole[i]) < 1e-3f);
        gnt_trainer_free(&tr);
        gnt_trainer_free(&quiet);
        train_case_free(&mc.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_change_company),
        cmocka_unit_test(test_states_that_do_not_fit_are_refused),
        cmocka_unit_test(test_members_that_stay_do_not_change),
        cmocka_unit_test(test_failed_keep_changes_nothing),
        cmocka_unit_test(test_logits_by_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
