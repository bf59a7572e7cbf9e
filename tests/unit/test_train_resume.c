/* SPDX-License-Identifier: Apache-2.0 */
/* Run folders and checkpoints: a resumed run equals an uninterrupted one bit for bit wherever it stopped, damaged files,
 * other data, models and settings, full disks, folders without permission, failing allocations.
 * timeout: 600
 */
#include "tests/support/train_case.h"

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

typedef struct folder {
    char path[GNT_TEST_PATH_BYTES];
} folder;

static folder new_folder(const char *name)
{
    folder f;

    gnt_test_path(f.path, name);
    return f;
}

static char *in_folder(const folder *f, const char *name, char out[GNT_TEST_PATH_BYTES])
{
    snprintf(out, GNT_TEST_PATH_BYTES, "%.3800s/%s", f->path, name);
    return out;
}

/* The lines of a metrics file without their seconds, one text to be freed. */
static char *metrics_text(const folder *f, const char *name)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t bytes = 0;
    char *text = gnt_test_read(in_folder(f, name, path), &bytes), *out = text, *line = text;

    for (char *end = strchr(line, '\n'); end != NULL; line = end + 1, end = strchr(line, '\n')) {
        int commas = 0;

        for (char *p = line; p < end; p++) {
            commas += *p == ',';
            if (commas == 6) /* "seconds" is the seventh */
                break;
            *out++ = *p;
        }
        *out++ = '\n';
    }
    *out = 0;
    return text;
}

static void assert_same_metrics(const folder *a, const folder *b, const char *name)
{
    char *x = metrics_text(a, name), *y = metrics_text(b, name);

    assert_string_equal(x, y);
    gnti_free(x);
    gnti_free(y);
}

/* Everything that decides the future, bit for bit. */
static void assert_same_state(const folder *a, const folder *b)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_checkpoint *x = NULL, *y = NULL;
    int64_t ex = 0, ey = 0;

    gnt_assert_ok(gnti_checkpoint_open(in_folder(a, "checkpoint.h5", path), &x));
    gnt_assert_ok(gnti_checkpoint_open(in_folder(b, "checkpoint.h5", path), &y));
    assert_int_equal(x->num_floats, y->num_floats);
    for (int block = 0; block < GNTI_CP_BLOCKS; block++) {
        assert_int_equal(x->block[block] == NULL, y->block[block] == NULL);
        if (x->block[block] != NULL) /* SGD has one moment */
            gnt_assert_same_bits(x->block[block], y->block[block], x->num_floats);
    }
    assert_memory_equal(x->members, y->members, (size_t)x->num_members * GNTI_MEMBER_FIELDS * sizeof(double));
    gnt_assert_ok(gnti_json_get_int(x->meta, "epoch", &ex));
    gnt_assert_ok(gnti_json_get_int(y->meta, "epoch", &ey));
    assert_int_equal(ex, ey);
    gnti_checkpoint_free(&x);
    gnti_checkpoint_free(&y);
}

static char *outcome_of(const folder *f, char out[32])
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_json *o = NULL;
    const char *text = NULL;

    gnt_assert_ok(gnti_json_read(in_folder(f, "summary.json", path), &o));
    gnt_assert_ok(gnti_json_get_text(o, "outcome", &text));
    snprintf(out, 32, "%s", text);
    gnti_json_free(&o);
    return out;
}

/* One call of the command: to the end, or a stop requested after `epochs`. */
static gnt_status run_once(train_case *c, const folder *f, int64_t epochs)
{
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    gnt_status st = GNT_OK;

    c->config.run = f->path;
    tr = train_case_trainer(c);
    train_case_run(tr, epochs, 0, NULL);
    if (gnt_trainer_status(tr) == GNT_OK && gntx_trainer_epochs_done(tr) < c->config.epochs) {
        gnt_trainer_request_stop(tr);
        (void)gnt_trainer_next(tr, &s);
    }
    st = gnt_trainer_status(tr);
    if (st == GNT_OK)
        gnt_assert_ok(gnt_trainer_finish(tr));
    gnt_trainer_free(&tr);
    return st;
}

static void test_resumed_equals_uninterrupted(void **state)
{
    const int64_t cuts[] = { 1, 7, 10, 19 };
    train_case c;
    const folder whole = new_folder("whole");
    char text[32];

    (void)state;
    train_case_make(&c, 1);
    c.config.epochs = 25;
    c.config.seeds = 2;
    c.config.patience = 20;
    c.config.weight_decay = "5e-4";
    gnt_assert_ok(run_once(&c, &whole, 1000));
    assert_string_equal(outcome_of(&whole, text), "complete");
    for (int i = 0; i < 4; i++) {
        char name[32];
        folder f;

        snprintf(name, sizeof name, "cut-%d", i);
        f = new_folder(name);
        gnt_assert_status(run_once(&c, &f, cuts[i]), GNT_STOPPED);
        gnt_assert_error_has("checkpoint", "the same command");
        assert_string_equal(outcome_of(&f, text), "stopped");
        gnt_assert_ok(run_once(&c, &f, 1000));
        assert_same_state(&whole, &f);
        assert_same_metrics(&whole, &f, "metrics.jsonl");
        assert_same_metrics(&whole, &f, "metrics.csv");
        assert_same_metrics(&whole, &f, "seed-1/metrics.jsonl");
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
        folder f[2];

        train_case_arrays(&c, GNT_LABELS_CLASS, 2);
        c.text = "gcn:6:norm=batch, gcn";
        c.config.optimizer = kind;
        c.config.epochs = 9;
        c.config.schedule = GNTI_SCHEDULE_PLATEAU;
        c.config.schedule_epochs = 2;
        train_case_dataset(&c, NULL);
        for (int i = 0; i < 2; i++) {
            snprintf(name[i], sizeof name[i], "opt-%d-%d", (int)kind, i);
            f[i] = new_folder(name[i]);
        }
        gnt_assert_ok(run_once(&c, &f[0], 1000));
        gnt_assert_status(run_once(&c, &f[1], 4), GNT_STOPPED);
        gnt_assert_ok(run_once(&c, &f[1], 1000));
        assert_same_state(&f[0], &f[1]);
        train_case_free(&c);
    }
}

/* A stop in the middle of an epoch of several batches: the epoch goes on at its next batch. */
static void test_a_cut_epoch_goes_on(void **state)
{
    train_case c;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    const folder whole = new_folder("clusters-whole"), cut = new_folder("clusters-cut");

    (void)state;
    train_case_make(&c, 3);
    c.config.epochs = 6;
    c.config.source = GNTI_SOURCE_WORD_CLUSTERS;
    c.config.clusters = 5;
    gnt_assert_ok(run_once(&c, &whole, 1000));
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
    gnt_assert_ok(run_once(&c, &cut, 1000));
    assert_same_state(&whole, &cut);
    assert_same_metrics(&whole, &cut, "metrics.jsonl");
    train_case_free(&c);
}

static void test_a_complete_run_only_reports(void **state)
{
    train_case c;
    const folder f = new_folder("complete");
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
    assert_int_equal(stat(in_folder(&f, "checkpoint.h5", path), &before), 0);
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
    c.config.resume = GNTI_RESUME_NEVER;
    tr = train_case_trainer(&c);
    assert_false(gnti_file_exists(path));
    assert_int_equal(train_case_run(tr, 100, 0, NULL), 8);
    gnt_trainer_free(&tr);
    train_case_free(&c);
}

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
    const folder whole = new_folder("sound"), f = new_folder("damaged");
    char path[GNT_TEST_PATH_BYTES], previous[GNT_TEST_PATH_BYTES], log[GNT_TEST_PATH_BYTES], *text = NULL;
    gnt_trainer *tr = NULL;

    (void)state;
    train_case_make(&c, 5);
    c.config.epochs = 30;
    gnt_assert_ok(run_once(&c, &whole, 1000));
    gnt_assert_status(run_once(&c, &f, 25), GNT_STOPPED);
    in_folder(&f, "checkpoint.h5", path);
    in_folder(&f, "checkpoint.prev.h5", previous);
    damage(path);
    gnt_log_set_levels("error");
    tr = train_case_trainer(&c);
    assert_int_equal(gntx_trainer_epochs_done(tr), 20); /* the checkpoint before */
    gnt_trainer_free(&tr);
    text = gnt_test_read(in_folder(&f, "log.txt", log), NULL);
    assert_non_null(strstr(text, "is damaged"));
    gnti_free(text);
    gnt_assert_ok(run_once(&c, &f, 1000));
    assert_same_state(&whole, &f);
    assert_same_metrics(&whole, &f, "metrics.csv");
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
    const folder f = new_folder("flips");
    char path[GNT_TEST_PATH_BYTES], copy[GNT_TEST_PATH_BYTES], *content = NULL;
    int64_t bytes = 0;

    (void)state;
    train_case_make(&c, 6);
    c.config.epochs = 2;
    gnt_assert_ok(run_once(&c, &f, 10));
    content = gnt_test_read(in_folder(&f, "checkpoint.h5", path), &bytes);
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
    const folder f = new_folder("others");
    gnt_trainer *tr = NULL;
    gnt_model *model = NULL;

    (void)state;
    train_case_make(&c, 7);
    train_case_make(&other, 8);
    c.config.epochs = other.config.epochs = 4;
    gnt_assert_ok(run_once(&c, &f, 10));
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
    const folder whole = new_folder("lines-whole"), f = new_folder("lines");
    char path[GNT_TEST_PATH_BYTES], *text = NULL, *longer = NULL;
    int64_t bytes = 0;

    (void)state;
    train_case_make(&c, 9);
    c.config.epochs = 12;
    gnt_assert_ok(run_once(&c, &whole, 100));
    gnt_assert_status(run_once(&c, &f, 7), GNT_STOPPED);
    text = gnt_test_read(in_folder(&f, "metrics.jsonl", path), &bytes);
    gnt_assert_ok(gnti_alloc_array(&longer, bytes + 200));
    snprintf(longer, (size_t)bytes + 200, "%s{\"epoch\":8,\"train_loss\":9}\n{\"epoch\":9,\"tra", text);
    gnt_assert_ok(gnti_file_write_all(path, longer, strlen(longer)));
    gnti_free(text);
    gnti_free(longer);
    gnt_assert_ok(run_once(&c, &f, 100));
    assert_same_metrics(&whole, &f, "metrics.jsonl");
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
        folder f;
        gnt_trainer *tr = NULL;
        gnt_status st = GNT_OK;

        snprintf(name, sizeof name, "full-%d", (int)k);
        f = new_folder(name);
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
        gnt_assert_ok(run_once(&c, &f, 100));
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
    const folder f = new_folder("brutal");
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
    in_folder(&f, "checkpoint.h5", path);
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
    const folder f = new_folder("card");
    gntx_json *card = NULL;
    const gntx_json *o = NULL;
    int64_t seed = 0;

    (void)state;
    train_case_make(&c, 13);
    c.config.epochs = 3;
    c.config.seed = 17;
    gnt_assert_ok(run_once(&c, &f, 10));
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
        cmocka_unit_test(test_resumed_equals_uninterrupted),
        cmocka_unit_test(test_every_optimiser_resumes),
        cmocka_unit_test(test_a_cut_epoch_goes_on),
        cmocka_unit_test(test_a_complete_run_only_reports),
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
