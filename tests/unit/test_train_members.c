/* SPDX-License-Identifier: Apache-2.0 */
/* Members of one trainer: each computes what it would alone, whatever the others are set to, on one rank and three, over the
 * whole graph and in clusters, with loss weights of its own and without; and goes on from its state in any company. */
#include "tests/support/member_case.h"

#include "nn/program_state.h"
#include "train/trainer_state.h"

#include <math.h>
#include <string.h>

/* A shape of run; members of it must equal lone ones. */
typedef struct shape {
    const char *text;
    const char *settings; /* of the context */
    const char *devices;
    int32_t optimizer;
    int32_t norm;
    bool weighted, clusters, inductive;
    float tolerance;
} shape;

static const shape shapes[] = {
    { .text = "gcn:8, gcn", .settings = "threads=1;deterministic=bitwise", .weighted = true },
    { .text = "gcn:8:dropout=0.25, gcn", .settings = "threads=1;deterministic=bitwise", .norm = 1 },
    { .text = "gat:4x2, gat", .settings = "threads=1;deterministic=bitwise", .weighted = true },
    { .text = "sage:8, sage:5:act=elu, linear",
      .settings = "threads=1;deterministic=bitwise",
      .optimizer = 2,
      .weighted = true },
    { .text = "gcn:8, gcn", .settings = "threads=1;deterministic=bitwise", .devices = "3", .weighted = true },
    { .text = "gat:8:norm=batch, sage", .settings = "threads=1;deterministic=bitwise", .devices = "3" },
    { .text = "gcn:8, gcn",
      .settings = "threads=1;deterministic=bitwise",
      .weighted = true,
      .clusters = true },
    { .text = "gcn:8, gcn",
      .settings = "threads=1;deterministic=bitwise",
      .weighted = true,
      .inductive = true },
    { .text = "gcn:8, gcn",
      .settings = "threads=1;deterministic=bitwise",
      .devices = "3",
      .weighted = true,
      .inductive = true },
    { .text = "gcn:8, gcn", .devices = "3", .weighted = true, .tolerance = 1e-5f },
    { .text = "gcn:8:norm=batch, gat:3", .weighted = true, .tolerance = 1e-5f },
};

static void make(member_case *mc, const shape *s)
{
    train_case_arrays(&mc->c, GNT_LABELS_CLASS, 2);
    mc->c.text = s->text;
    mc->c.model_config.norm = s->norm;
    mc->c.model_config.input_dropout = 0.2;
    mc->c.config.epochs = 8;
    mc->c.config.clip = 0.5;
    mc->c.config.optimizer = s->optimizer;
    mc->c.config.momentum = s->optimizer == 2 ? 0.9 : mc->c.config.momentum;
    mc->c.config.devices = s->devices;
    mc->c.config.chunks = s->devices != NULL ? 8 : 0;
    if (s->clusters) {
        mc->c.config.source = GNTI_SOURCE_WORD_CLUSTERS;
        mc->c.config.clusters = 4;
    }
    train_case_dataset(&mc->c, s->settings);
    mc->c.data->splits[0].inductive = s->inductive;
    member_case_options(mc, s->weighted);
}

static void test_members_equal_lone_runs(void **state)
{
    static const int32_t counts[] = { 3, 5 };

    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        member_case mc;
        gnt_trainer *lone[5] = { NULL };

        make(&mc, &shapes[k]);
        for (int32_t m = 0; m < 5; m++) {
            lone[m] = member_case_trainer(&mc, m, 1);
            assert_int_equal(train_case_run(lone[m], 100, 0, NULL), 8);
        }
        for (int i = 0; i < 2; i++) {
            gnt_trainer *all = member_case_trainer(&mc, 0, counts[i]);

            assert_int_equal(train_case_run(all, 100, 0, NULL), 8);
            for (int32_t m = 0; m < counts[i]; m++)
                member_case_assert_same(all, m, lone[m], 0, shapes[k].tolerance);
            gnt_trainer_free(&all);
        }
        for (int32_t m = 0; m < 5; m++)
            gnt_trainer_free(&lone[m]);
        train_case_free(&mc.c);
    }
}

/* What a member is set to is what a run of these settings has: rates of the model's, decay, learning rate; nodes that do not count
 * are as if they were not in the training set; a key of the model's text stays. */
static void test_members_are_runs_of_their_settings(void **state)
{
    static const char *const texts[] = { "gcn:8, gcn", "gcn:8:dropout=0.25, gcn:6, gcn" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        member_case mc;
        gnt_trainer *all = NULL;
        const shape s = { .text = texts[k], .settings = "threads=1;deterministic=bitwise" };

        make(&mc, &s);
        for (int32_t m = 0; m < 4; m++) {
            for (int64_t i = 0; i < TRAIN_CASE_NODES; i++)
                mc.weight[m][i] = (i + m) % 4 == 0 ? 0.0f : 1.0f;
            mc.members[m].weight = m % 2 == 1 ? mc.weight[m] : NULL;
        }
        all = member_case_trainer(&mc, 0, 4);
        assert_int_equal(train_case_run(all, 100, 0, NULL), 8);
        for (int32_t m = 0; m < 4; m++) {
            train_case lone;
            gnt_trainer *tr = NULL;
            int64_t num = 0;

            train_case_arrays(&lone, GNT_LABELS_CLASS, 2);
            lone.text = s.text;
            lone.config = mc.c.config;
            lone.config.seed = (int64_t)mc.members[m].seed;
            lone.config.lr = mc.members[m].lr;
            lone.config.weight_decay = mc.members[m].weight_decay;
            lone.model_config = mc.c.model_config;
            lone.model_config.dropout = mc.members[m].dropout;
            lone.model_config.input_dropout = mc.members[m].input_dropout;
            for (int64_t i = 0; m % 2 == 1 && i < lone.arrays.num_train; i++)
                if (mc.weight[m][lone.train[i]] != 0.0f)
                    lone.train[num++] = lone.train[i];
            lone.arrays.num_train = m % 2 == 1 ? num : lone.arrays.num_train;
            train_case_dataset(&lone, s.settings);
            tr = train_case_trainer(&lone);
            assert_int_equal(train_case_run(tr, 100, 0, NULL), 8);
            all->members[m].train_metric = tr->members[0].train_metric; /* of other nodes */
            member_case_assert_same(all, m, tr, 0, 0.0f);
            gnt_trainer_free(&tr);
            train_case_free(&lone);
        }
        gnt_trainer_free(&all);
        train_case_free(&mc.c);
    }
}

static float hyper_of(const gnt_trainer *tr, const char *name, int32_t m)
{
    const gnti_program *p = tr->lead->program;

    for (int64_t h = 1; h < p->num_hypers; h++)
        if (strcmp(p->hypers[h].name, name) == 0)
            return p->hyper_values[h * p->ir.num_members + m];
    return NAN;
}

/* The step block has each member's values, where a lone run would have them too. */
static void test_hypers_of_each_member(void **state)
{
    member_case mc;
    gnt_trainer *tr = NULL;
    const shape s = { .text = "gcn:8:dropout=0.25, gcn:6, gat", .settings = "threads=1" };

    (void)state;
    make(&mc, &s);
    tr = member_case_trainer(&mc, 0, 4);
    assert_int_equal(train_case_run(tr, 1, 0, NULL), 1);
    for (int32_t m = 0; m < 4; m++) {
        assert_true(hyper_of(tr, "0.input-dropout", m) == (float)mc.members[m].input_dropout);
        assert_true(hyper_of(tr, "1.dropout", m) == 0.25f);
        assert_true(hyper_of(tr, "2.dropout", m) == (float)mc.members[m].dropout);
        assert_true(hyper_of(tr, "lr", m) == (float)mc.members[m].lr);
        assert_true(hyper_of(tr, "decay.0", m) == 1e-3f * (float)m);
    }
    gnt_trainer_free(&tr);
    train_case_free(&mc.c);
}

/* Ends of their own: a member that has reached its last epoch stays as it is, and is evaluated there. */
static void test_members_have_their_own_length(void **state)
{
    member_case mc;
    gnt_trainer *all = NULL;
    const shape plain = { .text = "gcn:8:norm=batch, gcn", .settings = "threads=1;deterministic=bitwise" };
    static const int64_t epochs[] = { 9, 4, 6 };

    (void)state;
    make(&mc, &plain);
    mc.c.config.eval_every = 5;
    mc.c.config.schedule = GNTI_SCHEDULE_COSINE;
    for (int32_t m = 0; m < 3; m++) {
        mc.members[m].epochs = epochs[m];
        mc.members[m].patience = m == 0 ? 5 : 0;
    }
    all = member_case_trainer(&mc, 0, 3);
    for (int64_t e = 1; e <= 9; e++) {
        gnt_epoch_stats s = { .struct_size = sizeof s };

        assert_true(gnt_trainer_next(all, &s));
        for (int32_t m = 0; m < 3; m++) {
            assert_int_equal(isnan(s.member_train_loss[m]), e > epochs[m]);
            assert_int_equal(isnan(s.member_valid_loss[m]), e > epochs[m] || (e != 5 && e != epochs[m]));
            assert_int_equal(gnti_trainer_member_phase(all, m) == GNTI_MEMBER_TRAINS, e < epochs[m]);
        }
    }
    assert_int_equal(train_case_run(all, 1, 0, NULL), 0);
    gnt_assert_ok(gnt_trainer_status(all));
    for (int32_t m = 0; m < 3; m++) {
        gnt_trainer *lone = member_case_trainer(&mc, m, 1);
        gnti_member_state a = { 0 }, b = { 0 };

        assert_int_equal(train_case_run(lone, 100, 0, NULL), epochs[m]);
        gnt_assert_ok(gnti_trainer_take_member(all, m, &a));
        gnt_assert_ok(gnti_trainer_take_member(lone, 0, &b));
        gnt_assert_same_bits(a.weights, b.weights, a.num_floats);
        gnt_assert_same_bits(a.best, b.best, a.num_floats);
        assert_memory_equal(&a.progress, &b.progress, sizeof a.progress);
        assert_int_equal(gnti_trainer_member_phase(lone, 0), GNTI_MEMBER_ENDED);
        gnti_member_state_free(&a);
        gnti_member_state_free(&b);
        gnt_trainer_free(&lone);
    }
    gnt_trainer_free(&all);
    train_case_free(&mc.c);
}

/* Numbers that are none in one member: it fails with a text, no bit of the others changes. */
static void test_a_diverging_member_fails_alone(void **state)
{
    static const shape hard[] = {
        { .optimizer = 2,
          .text = "gcn:8:norm=batch, gcn",
          .settings = "threads=1;deterministic=bitwise",
          .weighted = true },
        { .optimizer = 2, .text = "gat:4x2:norm=layer, gat", .settings = "threads=1;deterministic=bitwise" },
        { .optimizer = 2,
          .text = "sage:8:aggregate=max, sage",
          .settings = "threads=1",
          .devices = "3",
          .weighted = true },
        { .optimizer = 2, .text = "gcn:8, gcn", .settings = "threads=1", .clusters = true },
    };

    (void)state;
    for (size_t k = 0; k < sizeof hard / sizeof hard[0]; k++) {
        for (int by_weights = 0; by_weights < 2; by_weights++) {
            member_case mc;
            gnt_trainer *sound = NULL, *sick = NULL;
            gnti_member_state s = { 0 };

            make(&mc, &hard[k]);
            mc.c.config.clip = 0.0;
            sound = member_case_trainer(&mc, 0, 4);
            assert_int_equal(train_case_run(sound, 100, 0, NULL), 8);
            if (!by_weights)
                mc.members[2].lr = 1e6;
            gnt_assert_ok(
                gnti_trainer_create_members(mc.c.model, mc.c.data, &mc.c.config, mc.members, 4, &sick));
            if (by_weights) {
                gnt_assert_ok(gnti_trainer_take_member(sick, 2, &s));
                for (int64_t i = 0; i < s.num_floats; i += 3)
                    s.weights[i] = NAN;
                gnt_assert_ok(gnti_trainer_put_member(sick, 2, &s));
                gnti_member_state_free(&s);
            }
            assert_int_equal(train_case_run(sick, 100, 0, NULL), 8);
            gnt_assert_ok(gnt_trainer_status(sick));
            for (int32_t m = 0; m < 4; m++) {
                assert_int_equal(gnti_trainer_member_phase(sick, m),
                                 m == 2 ? GNTI_MEMBER_FAILED : GNTI_MEMBER_ENDED);
                if (m != 2)
                    member_case_assert_same(sick, m, sound, m, 0.0f);
            }
            assert_non_null(strstr(gnti_trainer_member_failure(sick, 2), "member 2 (seed 114)"));
            assert_null(gnti_trainer_member_failure(sick, 1));
            assert_int_equal(gnti_trainer_take_member(sick, 2, &s), GNT_ERR_STATE);
            gnt_assert_error_has("member 2 has failed");
            gnt_assert_ok(gnt_trainer_finish(sick));
            gnt_trainer_free(&sick);
            gnt_trainer_free(&sound);
            train_case_free(&mc.c);
        }
    }
}

/* With nobody else, and for the seeds of one run, a failure is the run's. */
static void test_a_lone_member_ends_the_run(void **state)
{
    for (int seeds = 0; seeds < 2; seeds++) {
        member_case mc;
        gnt_trainer *tr = NULL;
        const shape plain = { .text = "gcn:8:act=none, gcn", .optimizer = 2 };

        (void)state;
        make(&mc, &plain);
        mc.c.config.clip = 0.0;
        mc.c.config.lr = mc.members[0].lr = 1e6;
        mc.c.config.epochs = mc.members[0].epochs = 50;
        mc.c.config.seeds = 1 + seeds;
        mc.c.config.run = NULL;
        tr = seeds ? train_case_trainer(&mc.c) : member_case_trainer(&mc, 0, 1);
        assert_true(train_case_run(tr, 100, 0, NULL) < 50);
        assert_int_equal(gnt_trainer_status(tr), GNT_ERR_NUMERIC);
        assert_int_equal(gnti_trainer_member_phase(tr, 0), GNTI_MEMBER_FAILED);
        assert_non_null(gnti_trainer_member_failure(tr, 0));
        gnt_trainer_free(&tr);
        train_case_free(&mc.c);
    }
}

/* All members failed: the run is complete, with nothing to show. */
static void test_all_members_may_fail(void **state)
{
    member_case mc;
    gnt_trainer *tr = NULL;
    const shape plain = { .text = "gcn:8:act=none, gcn", .optimizer = 2 };

    (void)state;
    make(&mc, &plain);
    mc.c.config.clip = 0.0;
    mc.members[0].lr = mc.members[1].lr = 1e6;
    mc.members[0].epochs = mc.members[1].epochs = 50;
    tr = member_case_trainer(&mc, 0, 2);
    assert_true(train_case_run(tr, 100, 0, NULL) < 50);
    gnt_assert_ok(gnt_trainer_status(tr));
    for (int32_t m = 0; m < 2; m++)
        assert_int_equal(gnti_trainer_member_phase(tr, m), GNTI_MEMBER_FAILED);
    gnt_trainer_free(&tr);
    train_case_free(&mc.c);
}

static void assert_refused(member_case *mc, int32_t num, gnt_status status, const char *text)
{
    gnt_trainer *tr = NULL;

    assert_int_equal(
        gnti_trainer_create_members(mc->c.model, mc->c.data, &mc->c.config, mc->members, num, &tr), status);
    gnt_assert_error_has(text);
    assert_null(tr);
    member_case_options(mc, true);
}

static void test_refusals(void **state)
{
    member_case mc;
    const shape plain = { .text = "gcn:8, gcn", .weighted = true };

    (void)state;
    make(&mc, &plain);
    assert_refused(&mc, 0, GNT_ERR_ARG, "0 members");
    mc.members[1].weight_decay = "2:0.1";
    assert_refused(&mc, 2, GNT_ERR_USAGE, "member 1 of 2: weight decay '2:0.1' has other rules than '1:0'");
    mc.members[1].weight_decay = NULL;
    assert_refused(&mc, 2, GNT_ERR_USAGE, "has other rules");
    mc.members[1].lr = -1.0;
    assert_refused(&mc, 2, GNT_ERR_USAGE, "member 1 of 2: lr is -1");
    mc.members[1].dropout = 1.0;
    assert_refused(&mc, 2, GNT_ERR_USAGE, "member 1 of 2: dropout 1 is outside");
    mc.weight[1][3] = -1.0f;
    assert_refused(&mc, 2, GNT_ERR_ARG, "the loss weight of node 3 is -1");
    mc.weight[1][4] = NAN;
    assert_refused(&mc, 2, GNT_ERR_ARG, "the loss weight of node 4");
    memset(mc.weight[1], 0, sizeof mc.weight[1]);
    assert_refused(&mc, 2, GNT_ERR_USAGE, "member 1 of 2 has a loss weight above 0 for no labelled");
    mc.c.config.run = "somewhere";
    assert_refused(&mc, 2, GNT_ERR_USAGE, "members have folders of their own");
    train_case_free(&mc.c);
    train_case_arrays(&mc.c, GNT_LABELS_CLASS, 2);
    mc.c.model_config.dropout = 0.0;
    train_case_dataset(&mc.c, NULL);
    member_case_options(&mc, false);
    mc.members[1].dropout = 0.5;
    assert_refused(&mc, 2, GNT_ERR_USAGE, "dropout is 0.5 but the model has none");
    train_case_free(&mc.c);
}

static void test_epochs_allocate_nothing(void **state)
{
    static const shape all[] = { { .text = "gcn:8, gcn", .weighted = true },
                                 { .text = "gcn:8, gcn", .weighted = true, .devices = "3" } };

    (void)state;
    for (int k = 0; k < 2; k++) {
        member_case mc;
        gnt_trainer *tr = NULL;
        gnti_alloc_stats before, after;

        make(&mc, &all[k]);
        for (int32_t m = 0; m < 4; m++)
            mc.members[m].epochs = 20 + m;
        tr = member_case_trainer(&mc, 0, 4);
        assert_int_equal(train_case_run(tr, 2, 0, NULL), 2);
        gnti_alloc_get_stats(&before);
        assert_int_equal(train_case_run(tr, 100, 0, NULL), 21);
        gnti_alloc_get_stats(&after);
        assert_int_equal(after.num_calls, before.num_calls);
        gnt_trainer_free(&tr);
        train_case_free(&mc.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_equal_lone_runs),
        cmocka_unit_test(test_members_are_runs_of_their_settings),
        cmocka_unit_test(test_hypers_of_each_member),
        cmocka_unit_test(test_members_have_their_own_length),
        cmocka_unit_test(test_a_diverging_member_fails_alone),
        cmocka_unit_test(test_a_lone_member_ends_the_run),
        cmocka_unit_test(test_all_members_may_fail),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_epochs_allocate_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
