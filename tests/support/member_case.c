/* SPDX-License-Identifier: Apache-2.0 */
/* See member_case.h. Values are spread over what is usual; no two members have one in common, the length apart. */
#include "tests/support/member_case.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void member_case_options(member_case *mc, bool weighted)
{
    for (int32_t m = 0; m < MEMBER_CASE_MOST; m++) {
        gnti_member_options *o = &mc->members[m];

        gnti_member_options_init(mc->c.model, &mc->c.config, m, o);
        o->seed = 100 + 7 * (uint64_t)m;
        o->lr = 0.01 + 0.007 * m;
        if (o->dropout > 0.0)
            o->dropout = m == 3 ? 0.0 : 0.3 + 0.05 * m;
        if (o->input_dropout > 0.0)
            o->input_dropout = 0.1 + 0.03 * m;
        snprintf(mc->decay[m], sizeof mc->decay[m], "1:%g", 1e-3 * m);
        o->weight_decay = mc->decay[m];
        for (int64_t i = 0; weighted && i < TRAIN_CASE_NODES; i++)
            mc->weight[m][i] = m > 0 && (i + m) % 4 == 0 ? 0.0f : i % 5 == 0 ? 2.0f : 1.0f;
        o->weight = weighted && m > 0 ? mc->weight[m] : NULL;
    }
}

gnt_trainer *member_case_trainer(member_case *mc, int32_t first, int32_t num)
{
    gnt_trainer *tr = NULL;

    gnt_assert_ok(
        gnti_trainer_create_members(mc->c.model, mc->c.data, &mc->c.config, mc->members + first, num, &tr));
    return tr;
}

static void assert_block(const float *a, const float *b, int64_t num, float tolerance)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a == NULL)
        return;
    if (tolerance == 0.0f) {
        gnt_assert_same_bits(a, b, num);
        return;
    }
    for (int64_t i = 0; i < num; i++)
        assert_true(fabsf(a[i] - b[i]) <= tolerance * fmaxf(1.0f, fabsf(a[i])));
}

void member_case_assert_states(const gnti_member_state *a, const gnti_member_state *b, float tolerance)
{
    assert_int_equal(a->epoch, b->epoch);
    assert_int_equal(a->step, b->step);
    assert_true(a->seed == b->seed);
    assert_int_equal(a->num_floats, b->num_floats);
    assert_block(a->weights, b->weights, a->num_floats, tolerance);
    assert_block(a->best, b->best, a->num_floats, tolerance);
    assert_block(a->moment1, b->moment1, a->num_floats, tolerance);
    assert_block(a->moment2, b->moment2, a->num_floats, tolerance);
    if (tolerance == 0.0f)
        assert_memory_equal(&a->progress, &b->progress, sizeof a->progress);
}

void member_case_assert_same(gnt_trainer *a, int32_t member_a, gnt_trainer *b, int32_t member_b,
                             float tolerance)
{
    gnti_member_state x = { 0 }, y = { 0 };

    gnt_assert_ok(gnti_trainer_take_member(a, member_a, &x));
    gnt_assert_ok(gnti_trainer_take_member(b, member_b, &y));
    member_case_assert_states(&x, &y, tolerance);
    gnti_member_state_free(&x);
    gnti_member_state_free(&y);
}
