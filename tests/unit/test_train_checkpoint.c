/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints and run folders that cannot be used: damaged files, other data, models and settings, full disks, folders
 * without permission, failing allocations; and the model card.
 * timeout: 600
 */
#include "tests/support/run_case.h"

#include <gnntrain/experimental.h>
#include <gnntrain/log.h>

#include "base/file.h"
#include "base/json.h"
#include "train/checkpoint.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A changed bit in every 50 bytes of the file's middle, where the arrays are. */
static void damage(const char *path)
{
    int64_t bytes = 0;
    char *content = gnt_test_read(path, &bytes);

    for (int64_t at = bytes / 3; at < 2 * bytes / 3; at += 50)
        content[at] ^= 0x10;
    gnt_assert_ok(gnti_file_write_all(path, content, (size_t)bytes));
    gnti_free(content);
}

static void test_a_damaged_checkpoint_falls_back(void **state)
{
    train_case c;
    const run_case_folder whole = run_case_new_folder("sound"), f = run_case_new_folder("damaged");
    char path[GNT_TEST_PATH_BYTES], previous[GNT_TEST_PATH_BYTES], log[GNT_TEST_PATH_BYTES], *text = NULL;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 5);
    c.config.epochs = 30;
    gnt_assert_ok(run_case_once(&c, &whole, 1000));
    gnt_assert_status(run_case_once(&c, &f, 25), GNT_STOPPED);
    run_case_in_folder(&f, "checkpoint.h5", path);
    run_case_in_folder(&f, "checkpoint.prev.h5", previous);
    damage(path);
    gnt_log_set_levels("error");
    tr = train_case_trainer(&c);
    assert_int_equal(gntx_trainer_epochs_done(tr), 20); /* the checkpoint before */
    gnt_trainer_free(&tr);
    text = gnt_test_read(run_case_in_folder(&f, "log.txt", log), NULL);
    assert_non_null(strstr(text, "is damaged"));
    gnti_free(text);
    gnt_assert_ok(run_case_once(&c, &f, 1000));
    run_case_same_state(&whole, &f);
    run_case_same_metrics(&whole, &f, "metrics.csv");
    /* cut short, emptied, not HDF5 at all; then both */
    gnt_assert_ok(gnti_file_write_all(path, "no checkpoint", 13));
    tr = train_case_trainer(&c);
    assert_int_equal(gntx_trainer_epochs_done(tr), 20);
    gnt_trainer_free(&tr);
    gnt_assert_ok(gnti_file_write_all(previous, "", 0));
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_FORMAT);
    assert_int_equal(unlink(previous), 0);
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_FORMAT);
    gnt_assert_error_has("--resume never");
    gnt_log_set_levels("warn");
    train_case_free(&c);
}

/* Any byte of a checkpoint may be wrong, any tail may be missing: it is refused. */
static void test_flipped_bytes_and_cut_files_are_refused(void **state)
{
    train_case c;
    const run_case_folder f = run_case_new_folder("flips");
    char path[GNT_TEST_PATH_BYTES], copy[GNT_TEST_PATH_BYTES], *content = NULL;
    int64_t bytes = 0;

    (void)state;
    train_case_make(&c, 6);
    c.config.epochs = 2;
    gnt_assert_ok(run_case_once(&c, &f, 10));
    content = gnt_test_read(run_case_in_folder(&f, "checkpoint.h5", path), &bytes);
    gnt_test_path(copy, "flipped.h5");
    for (int64_t at = 3; at < bytes; at += bytes / 150) {
        gnti_checkpoint *cp = NULL;

        content[at] ^= 0x41;
        gnt_assert_ok(gnti_file_write_all(copy, content, (size_t)bytes));
        content[at] ^= 0x41;
        gnt_assert_status(gnti_checkpoint_open(copy, &cp), GNT_ERR_FORMAT);
        assert_null(cp);
    }
    for (int64_t size = 0; size < bytes; size += bytes / 40) { /* cut short */
        gnti_checkpoint *cp = NULL;

        gnt_assert_ok(gnti_file_write_all(copy, content, (size_t)size));
        gnt_assert_status(gnti_checkpoint_open(copy, &cp), GNT_ERR_FORMAT);
        assert_null(cp);
    }
    gnti_free(content);
    train_case_free(&c);
}

static void test_other_data_model_or_setting_is_refused(void **state)
{
    train_case c, other;
    const run_case_folder f = run_case_new_folder("others");
    gnt_trainer *tr = NULL;
    gnt_model *model = NULL;

    (void)state;
    train_case_make(&c, 7);
    train_case_make(&other, 8);
    c.config.epochs = other.config.epochs = 4;
    gnt_assert_ok(run_case_once(&c, &f, 10));
    c.config.run = f.path;
    gnt_assert_status(gnt_trainer_create(other.model, other.data, &c.config, &tr), GNT_ERR_FORMAT);
    gnt_assert_error_has("with data", "sha256", "but now", "--resume never");
    gnt_assert_ok(gnt_model_create(c.data, "gcn:9, gcn", &model));
    gnt_assert_status(gnt_trainer_create(model, c.data, &c.config, &tr), GNT_ERR_FORMAT);
    gnt_assert_error_has("with model", "gcn:8, gcn", "gcn:9, gcn", "sha256");
    gnt_model_free(&model);
    c.model_config.dropout = 0.25;
    gnt_assert_ok(gnt_model_create_with(c.data, c.text, &c.model_config, &model));
    gnt_assert_status(gnt_trainer_create(model, c.data, &c.config, &tr), GNT_ERR_FORMAT);
    gnt_assert_error_has("dropout was 0.4 and is 0.25");
    c.config.lr = 0.06;
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_USAGE);
    gnt_assert_error_has("--lr", "'0.05'", "'0.06'");
    c.config.lr = 0.05;
    c.config.seeds = 2;
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_USAGE);
    gnt_assert_error_has("--seeds");
    c.config.seeds = 1;
    c.config.checkpoint_every = 3; /* where it writes may change */
    gnt_assert_ok(gnt_trainer_create(c.model, c.data, &c.config, &tr));
    gnt_trainer_free(&tr);
    c.data->splits[0].nodes[GNTI_TEST][0] = c.data->splits[0].nodes[GNTI_TEST][1];
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_FORMAT);
    gnt_assert_error_has("with split");
    gnt_model_free(&model);
    train_case_free(&c);
    train_case_free(&other);
}

/* Lines behind the checkpoint's epoch and a torn last one are cut. */
static void test_metrics_are_cut_at_the_checkpoint(void **state)
{
    train_case c;
    const run_case_folder whole = run_case_new_folder("lines-whole"), f = run_case_new_folder("lines");
    char path[GNT_TEST_PATH_BYTES], *text = NULL, *longer = NULL;
    int64_t bytes = 0;

    (void)state;
    train_case_make(&c, 9);
    c.config.epochs = 12;
    gnt_assert_ok(run_case_once(&c, &whole, 100));
    gnt_assert_status(run_case_once(&c, &f, 7), GNT_STOPPED);
    text = gnt_test_read(run_case_in_folder(&f, "metrics.jsonl", path), &bytes);
    gnt_assert_ok(gnti_alloc_array(&longer, bytes + 200));
    snprintf(longer, (size_t)bytes + 200, "%s{\"epoch\":8,\"train_loss\":9}\n{\"epoch\":9,\"tra", text);
    gnt_assert_ok(gnti_file_write_all(path, longer, strlen(longer)));
    gnti_free(text);
    gnti_free(longer);
    gnt_assert_ok(run_case_once(&c, &f, 100));
    run_case_same_metrics(&whole, &f, "metrics.jsonl");
    train_case_free(&c);
}

/* Every write of a run fails once as on a full disk: the status says so, and what was there before still resumes. */
static void test_full_disk(void **state)
{
    train_case c;
    int64_t fired = 0;

    (void)state;
    train_case_make(&c, 10);
    c.config.epochs = 6;
    c.config.checkpoint_every = 2;
    for (int64_t k = 0; k < 60; k += 4) {
        char name[32];
        run_case_folder f;
        gnt_trainer *tr = NULL;
        gnt_status st = GNT_OK;

        snprintf(name, sizeof name, "full-%d", (int)k);
        f = run_case_new_folder(name);
        c.config.run = f.path;
        gnti_file_fail_at(k, ENOSPC);
        st = gnt_trainer_create(c.model, c.data, &c.config, &tr);
        if (st == GNT_OK) {
            train_case_run(tr, 100, 0, NULL);
            st = gnt_trainer_status(tr);
            st = st == GNT_OK ? gnt_trainer_finish(tr) : st;
        }
        gnti_file_fail_at(-1, 0);
        gnt_trainer_free(&tr);
        if (st != GNT_OK) {
            assert_int_equal(st, GNT_ERR_DISK_FULL);
            fired++;
        }
        gnt_assert_ok(run_case_once(&c, &f, 100));
    }
    assert_true(fired > 5);
    train_case_free(&c);
}

static void test_folder_without_permission(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    train_case_make(&c, 11);
    gnt_test_write(path, "a-file", "x", 1);
    c.config.run = path; /* a file where the folder should be */
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_OUTPUT);
    gnt_assert_error_has("a-file");
    c.config.run = "/proc/no-such-run";
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_OUTPUT);
    gnt_test_path(path, "read-only");
    assert_int_equal(mkdir(path, 0555), 0);
    c.config.run = path;
    if (geteuid() != 0) {
        gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_OUTPUT);
        gnt_assert_error_has("read-only");
    }
    assert_null(tr);
    train_case_free(&c);
}

static void test_failing_allocations_of_checkpoints(void **state)
{
    train_case c;
    const run_case_folder f = run_case_new_folder("brutal");
    char path[GNT_TEST_PATH_BYTES];
    gnt_trainer *tr = NULL;
    gnti_checkpoint *cp = NULL;

    (void)state;
    train_case_make(&c, 12);
    c.config.epochs = 3;
    c.config.run = f.path;
    tr = train_case_trainer(&c);
    train_case_run(tr, 2, 0, NULL);
    gnt_assert_ok(gnti_checkpoint_save(tr)); /* HDF5 keeps some memory after its first use */
    GNT_BRUTAL(gnti_checkpoint_save(tr));
    gnt_trainer_free(&tr);
    run_case_in_folder(&f, "checkpoint.h5", path);
    GNT_BRUTAL_OUT(gnti_checkpoint_open(path, &cp), cp);
    gnti_checkpoint_free(&cp);
    GNT_BRUTAL_OUT(gnt_trainer_create(c.model, c.data, &c.config, &tr), tr);
    assert_int_equal(gntx_trainer_epochs_done(tr), 2);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

static void test_model_card(void **state)
{
    train_case c;
    const run_case_folder f = run_case_new_folder("card");
    gntx_json *card = NULL;
    const gntx_json *o = NULL;
    int64_t seed = 0;

    (void)state;
    train_case_make(&c, 13);
    c.config.epochs = 3;
    c.config.seed = 17;
    gnt_assert_ok(run_case_once(&c, &f, 10));
    gnt_assert_ok(gntx_model_card(f.path, &card));
    assert_non_null(gntx_json_to_text(gntx_json_find(card, "task")));
    assert_string_equal(gntx_json_to_text(gntx_json_find(gntx_json_find(card, "model"), "text")),
                        "gcn:8, gcn");
    o = gntx_json_at(gntx_json_find(card, "seeds"), 0);
    assert_true(gntx_json_to_int(o, &seed) && seed == 17);
    o = gntx_json_at(gntx_json_find(card, "metrics"), 0);
    assert_non_null(gntx_json_find(o, "test_metric"));
    gntx_json_free(&card);
    train_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_damaged_checkpoint_falls_back),
        cmocka_unit_test(test_flipped_bytes_and_cut_files_are_refused),
        cmocka_unit_test(test_other_data_model_or_setting_is_refused),
        cmocka_unit_test(test_metrics_are_cut_at_the_checkpoint),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_folder_without_permission),
        cmocka_unit_test(test_failing_allocations_of_checkpoints),
        cmocka_unit_test(test_model_card),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
