/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers that share a device of a pool have the memory of their steps in common: each one's losses and logits are those of a run
 * alone, bit for bit, and the device gives what all of them keep and the largest step, not the sum of steps.
 */
#include "tests/support/train_case.h"

#include "kernels/quota.h"
#include "kernels/scratch.h"
#include "nn/program.h"
#include "train/member.h"

#include <pthread.h>
#include <string.h>

enum { EPOCHS = 400, NUM_TRAINERS = 3, MOST_MEMBERS = 3 };

typedef struct result {
    double loss[EPOCHS];
    float logits[MOST_MEMBERS][TRAIN_CASE_NODES * TRAIN_CASE_CLASSES];
} result;

typedef struct job {
    train_case *c;
    const char *model;
    const char *source;
    int64_t members;
    gnt_status st;
    size_t step_bytes;
    result out;
    pthread_barrier_t *start; /* NULL: alone */
} job;

static const job jobs[NUM_TRAINERS] = { { .model = "gcn:48, gcn", .source = "full", .members = 3 },
                                        { .model = "sage:16, sage", .source = "clusters", .members = 1 },
                                        { .model = "gcn:8, gcn", .source = "full", .members = 2 } };

/* The one device of the context's pool, with or without memory in common. */
static void share_device(train_case *c, bool share, gnti_quota *quota, gnti_device_spec **specs)
{
    int32_t num = 0;

    gnt_assert_ok(gnti_device_specs_parse("cpu:threads=1", specs, &num));
    (*specs)[0].quota = quota;
    if (share)
        gnt_assert_ok(gnti_scratch_create_shared(&(*specs)[0], 0, gnti_context_device_config(c->ctx),
                                                 &(*specs)[0].scratch));
    gnti_context_set_pool(c->ctx, *specs, num);
}

/* All has been given back. */
static void part_device(train_case *c, gnti_quota *quota, gnti_device_spec **specs)
{
    gnti_scratch_free(&(*specs)[0].scratch);
    assert_int_equal(atomic_load(&quota->used), 0);
    gnti_context_set_pool(c->ctx, NULL, 0);
    gnti_free(*specs);
    *specs = NULL;
}

static gnt_trainer *make(train_case *c, const char *model_text, gnt_model **model)
{
    gnt_trainer *tr = NULL;

    c->config.devices = "pool:0";
    c->config.epochs = EPOCHS;
    gnt_assert_ok(gnt_model_create(c->data, model_text, model));
    gnt_assert_ok(gnt_trainer_create(*model, c->data, &c->config, &tr));
    return tr;
}

static gnt_status train(job *j)
{
    gnt_status st = GNT_OK;
    gnt_model *model = NULL;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    gnt_trainer_config config = j->c->config;

    config.devices = "pool:0";
    config.epochs = EPOCHS;
    config.seeds = j->members;
    if (strcmp(j->source, "clusters") == 0) {
        config.source = 1;
        config.clusters = 6;
        config.clusters_per_batch = 2;
    }
    GNT_TRY(gnt_model_create(j->c->data, j->model, &model));
    GNT_TRY(gnt_trainer_create(model, j->c->data, &config, &tr));
    if (j->start != NULL)
        pthread_barrier_wait(j->start);
    for (int64_t e = 0; gnt_trainer_next(tr, &s); e++)
        j->out.loss[e] = s.train_loss;
    GNT_TRY(gnt_trainer_status(tr));
    for (int32_t m = 0; m < j->members; m++)
        GNT_TRY(gnti_trainer_member_logits(tr, m, true, j->out.logits[m]));
done:
    gnt_trainer_free(&tr);
    gnt_model_free(&model);
    return st;
}

static void *work(void *user)
{
    job *j = user;

    j->st = train(j);
    return NULL;
}

static void train_all(train_case *c, job list[NUM_TRAINERS], bool share, bool at_once)
{
    gnti_device_spec *specs = NULL;
    gnti_quota quota = { .limit = 0 };
    pthread_t threads[NUM_TRAINERS];
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, NUM_TRAINERS);
    share_device(c, share, &quota, &specs);
    for (int i = 0; i < NUM_TRAINERS; i++) {
        list[i] = jobs[i];
        list[i].c = c;
        list[i].start = at_once ? &start : NULL;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &list[i]), 0);
        if (!at_once)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < NUM_TRAINERS; i++) {
        if (at_once)
            pthread_join(threads[i], NULL);
        gnt_assert_ok(list[i].st);
    }
    pthread_barrier_destroy(&start);
    part_device(c, &quota, &specs);
}

static void shared_memory_changes_nothing(void **state)
{
    train_case c;
    job alone[NUM_TRAINERS], beside[NUM_TRAINERS];

    (void)state;
    train_case_make(&c, 1);
    train_all(&c, alone, false, false);
    for (int again = 0; again < 3; again++) {
        train_all(&c, beside, true, true);
        for (int i = 0; i < NUM_TRAINERS; i++)
            assert_memory_equal(&alone[i].out, &beside[i].out, sizeof alone[i].out);
    }
    train_case_free(&c);
}

/* Logits that are asked for after somebody else has had the memory are computed again. */
static void logits_are_ones_own(void **state)
{
    train_case c;
    float now[2][TRAIN_CASE_NODES * TRAIN_CASE_CLASSES], later[TRAIN_CASE_NODES * TRAIN_CASE_CLASSES];
    gnti_device_spec *specs = NULL;
    gnti_quota quota = { .limit = 0 };
    gnt_model *models[2] = { NULL, NULL };
    gnt_trainer *tr[2];
    gnt_epoch_stats s = { .struct_size = sizeof s };

    (void)state;
    train_case_make(&c, 1);
    share_device(&c, true, &quota, &specs);
    tr[0] = make(&c, "gcn:16, gcn", &models[0]);
    tr[1] = make(&c, "gcn:16, gcn", &models[1]);
    for (int i = 0; i < 2; i++) {
        assert_true(gnt_trainer_next(tr[i], &s));
        gnt_assert_ok(gnti_trainer_member_logits(tr[i], 0, false, now[i]));
        assert_true(gnt_trainer_next(tr[1], &s));
        assert_true(gnt_trainer_next(tr[1], &s));
        gnt_assert_ok(gnti_trainer_member_logits(tr[i], 0, false, later));
        if (i == 0)
            assert_memory_equal(now[i], later, sizeof later);
        else
            assert_memory_not_equal(now[i], later, sizeof later); /* it has trained on */
    }
    for (int i = 0; i < 2; i++) {
        gnt_trainer_free(&tr[i]);
        gnt_model_free(&models[i]);
    }
    part_device(&c, &quota, &specs);
    train_case_free(&c);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------- */

/* What both take of the device while both are there; and after the larger one, or the smaller one, has left. */
static void measure(bool share, size_t both[1], size_t left[2], int64_t told[2])
{
    for (int leaves = 0; leaves < 2; leaves++) {
        train_case c;
        gnti_device_spec *specs = NULL;
        gnti_quota quota = { .limit = 0 };
        gnt_model *models[2] = { NULL, NULL };
        gnt_trainer *tr[2];
        gnt_epoch_stats s = { .struct_size = sizeof s };

        train_case_make(&c, 1);
        share_device(&c, share, &quota, &specs);
        tr[0] = make(&c, "gcn:64, gcn", &models[0]);
        tr[1] = make(&c, "gcn:16, gcn", &models[1]);
        for (int i = 0; i < 2; i++) {
            assert_true(gnt_trainer_next(tr[i], &s));
            told[i] = gnti_trainer_device_bytes(tr[i]);
        }
        both[0] = atomic_load(&quota.used);
        gnt_trainer_free(&tr[leaves]);
        assert_true(gnt_trainer_next(tr[1 - leaves], &s)); /* it takes again what it needs */
        left[leaves] = atomic_load(&quota.used);
        gnt_trainer_free(&tr[1 - leaves]);
        gnt_model_free(&models[0]);
        gnt_model_free(&models[1]);
        part_device(&c, &quota, &specs);
        train_case_free(&c);
    }
}

static void largest_step_counts_once(void **state)
{
    size_t own, common, own_left[2], left[2];
    int64_t own_told[2], told[2];

    (void)state;
    measure(false, &own, own_left, own_told);
    measure(true, &common, left, told);
    print_message("two trainers: %zu bytes of their own, %zu with the steps' memory in common\n", own,
                  common);
    /* what is left alone has as much as it would have with memory of its own */
    assert_int_equal(left[0], own_left[0]);
    assert_int_equal(left[1], own_left[1]);
    /* both: the smaller one's step costs nothing beside the larger one's */
    assert_true(common < own);
    assert_true(common > left[1]); /* of the larger one alone */
    for (int i = 0; i < 2; i++)
        assert_int_equal(told[i], own_told[i]); /* what profiles keep does not depend on sharing */
}

/* A limit that holds what both keep and the larger step, not both steps. */
static void more_fits(void **state)
{
    train_case c;
    size_t own, common, left[2];
    int64_t told[2];

    (void)state;
    measure(false, &own, left, told);
    measure(true, &common, left, told);
    for (int share = 0; share < 2; share++) {
        gnti_device_spec *specs = NULL;
        gnti_quota quota = { .limit = common };
        gnt_model *models[2] = { NULL, NULL };
        gnt_trainer *first, *second = NULL;
        gnt_epoch_stats s = { .struct_size = sizeof s };
        gnt_status st;

        train_case_make(&c, 1);
        share_device(&c, share, &quota, &specs);
        first = make(&c, "gcn:64, gcn", &models[0]);
        gnt_assert_ok(gnt_model_create(c.data, "gcn:16, gcn", &models[1]));
        st = gnt_trainer_create(models[1], c.data, &c.config, &second);
        assert_int_equal(st, share ? GNT_OK : GNT_ERR_DEVICE_NOMEM);
        assert_true(gnt_trainer_next(first, &s)); /* whatever came of the other */
        gnt_trainer_free(&first);
        gnt_trainer_free(&second);
        gnt_model_free(&models[0]);
        gnt_model_free(&models[1]);
        part_device(&c, &quota, &specs);
        train_case_free(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_changes_nothing),
        cmocka_unit_test(logits_are_ones_own),
        cmocka_unit_test(largest_step_counts_once),
        cmocka_unit_test(more_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
