/* SPDX-License-Identifier: Apache-2.0 */
/* Whole training runs on chosen devices: see whole_run.h. */
#include "whole_run.h"

#include "train/trainer_state.h"

#include <math.h>
#include <string.h>

void whole_run_take_weights(gnt_trainer *tr, whole_run_outcome *out)
{
    out->num_weights = gnti_params_num_floats(tr->lead->params);
    gnt_assert_ok(gnti_alloc_array(&out->weights, out->num_weights));
    gnt_assert_ok(gnti_params_read(tr->lead->params, GNTI_BLOCK_WEIGHTS, out->weights));
}

void whole_run(train_case *c, const char *devices, int64_t chunks, const char *const *sizes,
               whole_run_outcome *out)
{
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    int e = 0;

    memset(out, 0, sizeof *out);
    c->config.devices = devices;
    c->config.chunks = chunks;
    c->config.epochs = WHOLE_RUN_EPOCHS;
    tr = train_case_trainer(c);
    for (; e < WHOLE_RUN_EPOCHS; e++) {
        if (sizes != NULL && sizes[e] != NULL)
            gnt_assert_ok(gnt_trainer_resize(tr, sizes[e]));
        if (!gnt_trainer_next(tr, &s))
            break;
        out->losses[e] = s.train_loss;
        out->valid[e] = s.valid_loss;
    }
    gnt_assert_ok(gnt_trainer_status(tr));
    whole_run_take_weights(tr, out);
    gnt_assert_ok(gnt_trainer_finish(tr));
    out->test = gnt_trainer_test_metric(tr, 0);
    gnt_trainer_free(&tr);
}

void whole_run_assert_near(const whole_run_outcome *a, const whole_run_outcome *b)
{
    double most = 0.0;

    for (int e = 0; e < WHOLE_RUN_EPOCHS; e++) {
        assert_true(fabs(a->losses[e] - b->losses[e]) <= 1e-5 * fabs(a->losses[e]));
        assert_true(fabs(a->valid[e] - b->valid[e]) <= 1e-5 * fabs(a->valid[e]));
    }
    assert_int_equal(a->num_weights, b->num_weights);
    for (int64_t i = 0; i < a->num_weights; i++)
        most = fmax(most, fabs((double)a->weights[i]));
    for (int64_t i = 0; i < a->num_weights; i++)
        assert_true(fabs((double)a->weights[i] - (double)b->weights[i]) <= 1e-5 * most);
}

void whole_run_assert_same(const whole_run_outcome *a, const whole_run_outcome *b)
{
    assert_memory_equal(a->losses, b->losses, sizeof a->losses);
    assert_memory_equal(a->valid, b->valid, sizeof a->valid);
    gnt_assert_same_bits(a->weights, b->weights, a->num_weights);
    assert_true(a->test == b->test);
}
