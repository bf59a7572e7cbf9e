/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Members on the stand-in's devices: each computes what it would alone, to the bit at `bitwise`; one that diverges changes no bit of
 * the others; those that stay when others leave go on as before. On one device and on a group of two.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/support/member_case.h"

#include <math.h>

enum { EPOCHS = 5, MEMBERS = 3 };

static const char *const texts[] = { "gcn:8:norm=batch, gcn", "gat:4x2, sage" };
static const char *const places[] = { NULL, "cuda:0-1" };

static void make(member_case *mc, int k)
{
    train_case_arrays(&mc->c, GNT_LABELS_CLASS, 4);
    mc->c.text = texts[k % 2];
    mc->c.config.epochs = EPOCHS;
    mc->c.config.devices = places[k / 2];
    mc->c.config.chunks = places[k / 2] != NULL ? 4 : 0;
    train_case_dataset(&mc->c, "device=cuda;threads=1;deterministic=bitwise");
    member_case_options(mc, true);
}

/* Trained to the end and taken apart: a group of devices serves one trainer at a time. */
static void train_all(gnt_trainer *tr, int64_t epochs, gnti_member_state *out)
{
    assert_int_equal(train_case_run(tr, 100, 0, NULL), epochs);
    for (int32_t m = 0; m < gnt_trainer_num_members(tr); m++)
        gnt_assert_ok(gnti_trainer_take_member(tr, m, &out[m]));
    gnt_trainer_free(&tr);
}

static void poison(gnt_trainer *tr, int32_t m)
{
    gnti_member_state s = { 0 };

    gnt_assert_ok(gnti_trainer_take_member(tr, m, &s));
    s.weights[1] = NAN;
    gnt_assert_ok(gnti_trainer_put_member(tr, m, &s));
    gnti_member_state_free(&s);
}

static void test_members_on_devices(void **state)
{
    static const uint8_t keep[] = { 1, 0, 1 };

    (void)state;
    for (int k = 0; k < 4; k++) {
        member_case mc;
        gnti_member_state all[MEMBERS] = { { 0 } }, s[2] = { { 0 } };
        gnt_trainer *sick = NULL;

        cuda_case_reset("16M,16M", k + 1, NULL);
        if (places[k / 2] != NULL && cuda_case_num_devices() < 2)
            continue;
        make(&mc, k);
        train_all(member_case_trainer(&mc, 0, MEMBERS), EPOCHS, all);
        for (int32_t m = 0; m < MEMBERS; m++) {
            train_all(member_case_trainer(&mc, m, 1), EPOCHS, s);
            member_case_assert_states(&all[m], &s[0], 0.0f);
            gnti_member_state_free(&s[0]);
        }
        sick = member_case_trainer(&mc, 0, MEMBERS);
        poison(sick, 1);
        assert_int_equal(train_case_run(sick, 2, 0, NULL), 2);
        assert_int_equal(gnti_trainer_member_phase(sick, 1), GNTI_MEMBER_FAILED);
        gnt_assert_ok(gnti_trainer_keep_members(sick, keep));
        train_all(sick, EPOCHS - 2, s);
        member_case_assert_states(&s[0], &all[0], 0.0f);
        member_case_assert_states(&s[1], &all[2], 0.0f);
        for (int32_t m = 0; m < MEMBERS; m++)
            gnti_member_state_free(&all[m]);
        gnti_member_state_free(&s[0]);
        gnti_member_state_free(&s[1]);
        train_case_free(&mc.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_on_devices),
    };

    return cuda_case_run(tests);
}
