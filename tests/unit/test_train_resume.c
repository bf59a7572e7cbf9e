/* SPDX-License-Identifier: Apache-2.0 */
/* A resumed run equals an uninterrupted one bit for bit wherever it stopped, and starts from any checkpoint on request.
 * timeout: 600
 */
#include "tests/support/run_case.h"

#include <gnntrain/experimental.h>

#include "base/file.h"
#include "base/json.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void test_resumed_equals_uninterrupted(void **state)
{
    const int64_t cuts[] = { 1, 7, 10, 19 };
    train_case c;
    const run_case_folder whole = run_case_new_folder("whole");
    char text[32];

    (void)state;
    train_case_make(&c, 1);
    c.config.epochs = 25;
    c.config.seeds = 2;
    c.config.patience = 20;
    c.config.weight_decay = "5e-4";
    gnt_assert_ok(run_case_once(&c, &whole, 1000));
    assert_string_equal(run_case_outcome_of(&whole, text), "complete");
    for (int i = 0; i < 4; i++) {
        char name[32];
        run_case_folder f;

        snprintf(name, sizeof name, "cut-%d", i);
        f = run_case_new_folder(name);
        gnt_assert_status(run_case_once(&c, &f, cuts[i]), GNT_STOPPED);
        gnt_assert_error_has("checkpoint", "the same command");
        assert_string_equal(run_case_outcome_of(&f, text), "stopped");
        gnt_assert_ok(run_case_once(&c, &f, 1000));
        run_case_same_state(&whole, &f);
        run_case_same_metrics(&whole, &f, "metrics.jsonl");
        run_case_same_metrics(&whole, &f, "metrics.csv");
        run_case_same_metrics(&whole, &f, "seed-1/metrics.jsonl");
    }
    train_case_free(&c);
}

/* Each optimiser has other moments; batch norm has state. */
static void test_every_optimiser_resumes(void **state)
{
    (void)state;
    for (int32_t kind = GNTI_TRAIN_ADAM; kind <= GNTI_TRAIN_SGD; kind++) {
        train_case c;
        char name[2][32];
        run_case_folder f[2];

        train_case_arrays(&c, GNT_LABELS_CLASS, 2);
        c.text = "gcn:6:norm=batch, gcn";
        c.config.optimizer = kind;
        c.config.epochs = 9;
        c.config.schedule = GNTI_SCHEDULE_PLATEAU;
        c.config.schedule_epochs = 2;
        train_case_dataset(&c, NULL);
        for (int i = 0; i < 2; i++) {
            snprintf(name[i], sizeof name[i], "opt-%d-%d", (int)kind, i);
            f[i] = run_case_new_folder(name[i]);
        }
        gnt_assert_ok(run_case_once(&c, &f[0], 1000));
        gnt_assert_status(run_case_once(&c, &f[1], 4), GNT_STOPPED);
        gnt_assert_ok(run_case_once(&c, &f[1], 1000));
        run_case_same_state(&f[0], &f[1]);
        train_case_free(&c);
    }
}

/* A stop in the middle of an epoch of several batches: the epoch goes on at its next batch. */
static void test_a_cut_epoch_goes_on(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    const run_case_folder whole = run_case_new_folder("clusters-whole"),
                          cut = run_case_new_folder("clusters-cut");

    (void)state;
    train_case_make(&c, 3);
    c.config.epochs = 6;
    c.config.source = GNTI_SOURCE_WORD_CLUSTERS;
    c.config.clusters = 5;
    gnt_assert_ok(run_case_once(&c, &whole, 1000));
    c.config.run = cut.path;
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 2, 0, NULL), 2);
    tr->config.time_limit = 1e-9; /* seen after the next step */
    atomic_store(&tr->stop, 0);
    tr->started = 0.0;
    {
        gnti_source_batch batch;

        gnti_source_begin(tr->lead->source, tr->epoch, 0);
        assert_true(gnti_source_next(tr->lead->source, &batch));
        gnt_assert_ok(gnti_rank_step(tr, tr->lead, &batch, tr->step));
        tr->position = gnti_source_position(tr->lead->source);
        tr->step++;
    }
    assert_false(gnt_trainer_next(tr, &s));
    assert_int_equal(gnt_trainer_status(tr), GNT_STOPPED);
    assert_int_equal(tr->position, 1);
    gnt_trainer_free(&tr);
    gnt_assert_ok(run_case_once(&c, &cut, 1000));
    run_case_same_state(&whole, &cut);
    run_case_same_metrics(&whole, &cut, "metrics.jsonl");
    train_case_free(&c);
}

static void test_a_complete_run_only_reports(void **state)
{
    train_case c;
    const run_case_folder f = run_case_new_folder("complete");
    char path[GNT_TEST_PATH_BYTES];
    struct stat before, after;
    gnt_trainer *tr = NULL;
    double test = 0.0;

    (void)state;
    train_case_make(&c, 4);
    c.config.epochs = 5;
    c.config.run = f.path;
    tr = train_case_trainer(&c);
    train_case_run(tr, 100, 0, NULL);
    gnt_assert_ok(gnt_trainer_finish(tr));
    test = gnt_trainer_test_metric(tr, 0);
    gnt_trainer_free(&tr);
    assert_int_equal(stat(run_case_in_folder(&f, "checkpoint.h5", path), &before), 0);
    tr = train_case_trainer(&c);
    assert_int_equal(gntx_trainer_epochs_done(tr), 5);
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 0);
    gnt_assert_ok(gnt_trainer_status(tr));
    gnt_assert_ok(gnt_trainer_finish(tr));
    assert_true(gnt_trainer_test_metric(tr, 0) == test);
    gnt_trainer_free(&tr);
    assert_int_equal(stat(path, &after), 0);
    assert_true(before.st_ino == after.st_ino);
    c.config.epochs = 8; /* the same command with more epochs goes on */
    tr = train_case_trainer(&c);
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 3);
    gnt_trainer_free(&tr);
    c.config.resume = "never";
    tr = train_case_trainer(&c);
    assert_false(gnti_file_exists(path));
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 8);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

/* --resume PATH starts a new run folder from another one's checkpoint; the folder's own checkpoint comes first. */
static void test_a_run_starts_from_another_ones_checkpoint(void **state)
{
    train_case c;
    const run_case_folder whole = run_case_new_folder("whole-run"), old = run_case_new_folder("old-run"),
                          young = run_case_new_folder("young-run"), file = run_case_new_folder("from-file");
    char checkpoint[GNT_TEST_PATH_BYTES];
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 9);
    c.config.epochs = 20;
    gnt_assert_ok(run_case_once(&c, &whole, 1000));
    gnt_assert_status(run_case_once(&c, &old, 12), GNT_STOPPED);
    c.config.resume = old.path;
    gnt_assert_status(run_case_once(&c, &young, 4), GNT_STOPPED); /* 16 */
    c.config.run = young.path;
    tr = train_case_trainer(&c);
    assert_int_equal(gntx_trainer_epochs_done(tr), 16); /* and not 12 again */
    gnt_trainer_free(&tr);
    gnt_assert_ok(run_case_once(&c, &young, 1000));
    run_case_same_state(&whole, &young);
    c.config.resume = run_case_in_folder(&old, "checkpoint.h5", checkpoint);
    gnt_assert_ok(run_case_once(&c, &file, 1000));
    run_case_same_state(&whole, &file);
    c.config.run = NULL; /* no folder: it goes on in memory */
    tr = train_case_trainer(&c);
    assert_int_equal(gntx_trainer_epochs_done(tr), 12);
    assert_int_equal(train_case_run(tr, 1000, 0, NULL), 8);
    gnt_trainer_free(&tr);
    c.config.resume = "autp";
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_IO);
    gnt_assert_error_has("'autp'", "auto, never");
    c.config.resume = old.path;
    c.config.lr = 0.5;
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_USAGE);
    gnt_assert_error_has("--lr", old.path);
    train_case_free(&c);
}

static const char *outcome(const gntx_json *facts)
{
    return gnti_json_to_text(gnti_json_find((const gnti_json *)(const void *)facts, "outcome"));
}

static void append_to(const char *path, const char *text)
{
    FILE *f = fopen(path, "a");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* A process that ends without a word leaves "running" behind: whoever asks is told. */
static void test_an_interrupted_run_is_told_from_a_running_one(void **state)
{
    train_case c;
    const run_case_folder f = run_case_new_folder("interrupted");
    gntx_json *facts = NULL;
    int64_t epochs = 0;
    gnt_trainer *tr = NULL;
    char seed[GNT_TEST_PATH_BYTES], text[32];

    (void)state;
    train_case_make(&c, 10);
    c.config.epochs = 8;
    c.config.seeds = 2;
    c.config.run = f.path;
    tr = train_case_trainer(&c);
    train_case_run(tr, 3, 0, NULL);
    gnt_assert_ok(gntx_run_facts(f.path, &facts));
    assert_string_equal(outcome(facts), "running");
    gntx_json_free(&facts);
    gnt_trainer_free(&tr); /* as kill -9 does: the lock goes, the summary stays */
    assert_string_equal(run_case_outcome_of(&f, text), "running");
    gnt_assert_ok(gntx_run_facts(f.path, &facts));
    assert_string_equal(outcome(facts), "interrupted");
    assert_true(gntx_json_to_int(gntx_json_find(facts, "epochs"), &epochs) &&
                epochs == 3); /* not the 0 of its start */
    gntx_json_free(&facts);
    append_to(run_case_in_folder(&f, "metrics.jsonl", seed), "{\"epoch\":4,"); /* torn: it does not count */
    gnt_assert_ok(gntx_run_facts(f.path, &facts));
    assert_true(gntx_json_to_int(gntx_json_find(facts, "epochs"), &epochs) && epochs == 3);
    gntx_json_free(&facts);
    append_to(seed, "\n"); /* damaged: the rest is told all the same */
    gnt_assert_ok(gntx_run_facts(f.path, &facts));
    assert_string_equal(outcome(facts), "interrupted");
    gntx_json_free(&facts);
    gnt_assert_ok(gntx_run_facts(run_case_in_folder(&f, "seed-0", seed), &facts));
    assert_string_equal(outcome(facts), "interrupted");
    gntx_json_free(&facts);
    gnt_assert_ok(run_case_once(&c, &f, 1000));
    gnt_assert_ok(gntx_run_facts(f.path, &facts));
    assert_string_equal(outcome(facts), "complete");
    gntx_json_free(&facts);
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resumed_equals_uninterrupted),
        cmocka_unit_test(test_every_optimiser_resumes),
        cmocka_unit_test(test_a_cut_epoch_goes_on),
        cmocka_unit_test(test_a_complete_run_only_reports),
        cmocka_unit_test(test_a_run_starts_from_another_ones_checkpoint),
        cmocka_unit_test(test_an_interrupted_run_is_told_from_a_running_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
