/* SPDX-License-Identifier: Apache-2.0 */
/* Members of one trainer: each computes what it would alone, whatever the others are set to, on one rank and three, over the
 * whole graph and in clusters, with loss weights of its own and without; and goes on from its state in any company. */
#include "tests/support/member_case.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_equal_lone_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
