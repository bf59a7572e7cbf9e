/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation and prediction of trained runs: the trainer's own figures come out again, every node is listed under the
 * user's id and in the user's order, other graphs are taken when they fit, nothing half-written stays.
 * timeout: 600
 */
#include "tests/support/train_case.h"

#include <gnntrain/experimental_predict.h>

#include "base/file.h"
#include "datasets/h5_value.h"
#include "train/trained.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fixture {
    train_case c;
    char run[GNT_TEST_PATH_BYTES], data[GNT_TEST_PATH_BYTES];
    double test_metric;
    gnt_trainer *tr;
} fixture;

/* A trained run in a folder of its own on a dataset file; ids as text when asked for. */
static void train_and_keep(fixture *f, const char *name, int64_t seeds, gnt_label_kind kind, bool text_ids)
{
    char file[64];

    train_case_arrays(&f->c, kind, 1);
    train_case_dataset(&f->c, NULL);
    gnt_assert_ok(gnti_alloc_array(&f->c.data->id, TRAIN_CASE_NODES));
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++)
        f->c.data->id[i] = 1000 + 7 * i;
    if (text_ids) {
        gnti_free(f->c.data->id);
        f->c.data->id = NULL;
        gnt_assert_ok(gnti_calloc_array(&f->c.data->id_text, TRAIN_CASE_NODES));
        for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
            char id[32];

            snprintf(id, sizeof id, i % 2 == 0 ? "n%d" : "a,\"%d\"", (int)i);
            gnt_assert_ok(gnti_strdup(&f->c.data->id_text[i], id));
        }
    }
    snprintf(file, sizeof file, "%s.h5", name);
    train_case_save(&f->c, file, f->data);
    gnt_test_path(f->run, name);
    f->c.config.run = f->run;
    f->c.config.seeds = seeds;
    f->c.config.epochs = 20;
    f->tr = train_case_trainer(&f->c);
    train_case_run(f->tr, 100, 0, NULL);
    gnt_assert_ok(gnt_trainer_finish(f->tr));
    f->test_metric = 0.0;
    for (int32_t m = 0; m < seeds; m++)
        f->test_metric += gnt_trainer_test_metric(f->tr, m) / (double)seeds;
}

static void train_run(fixture *f, const char *name, int64_t seeds, gnt_label_kind kind, bool text_ids)
{
    train_and_keep(f, name, seeds, kind, text_ids);
    gnt_trainer_free(&f->tr);
}

static double number_at(const gntx_json *o, const char *a, const char *b, const char *c)
{
    double value = NAN;

    o = gntx_json_find(o, a);
    o = b != NULL ? gntx_json_find(o, b) : o;
    o = c != NULL ? gntx_json_find(o, c) : o;
    assert_true(gntx_json_to_number(o, &value));
    return value;
}

static void test_eval_gives_the_figures_of_the_run(void **state)
{
    (void)state;
    for (int64_t seeds = 1; seeds <= 3; seeds += 2) {
        fixture f;
        gntx_json *o = NULL;
        int64_t total = 0;
        char name[32];

        snprintf(name, sizeof name, "eval-%d", (int)seeds);
        train_run(&f, name, seeds, GNT_LABELS_CLASS, false);
        gnt_assert_ok(gntx_eval(f.c.ctx, f.run, NULL, NULL, &o));
        assert_true(fabs(number_at(o, "splits", "test", "accuracy") - f.test_metric) < 1e-12);
        assert_true(number_at(o, "splits", "train", "nll") > 0.0);
        assert_true(number_at(o, "splits", "valid", "ece") >= 0.0);
        assert_int_equal(
            gntx_json_find(gntx_json_find(gntx_json_find(o, "splits"), "test"), "accuracy_std") != NULL,
            seeds > 1);
        for (int64_t r = 0; r < TRAIN_CASE_CLASSES; r++)
            for (int64_t k = 0; k < TRAIN_CASE_CLASSES; k++) {
                int64_t count = 0;

                assert_true(gntx_json_to_int(gntx_json_at(gntx_json_at(gntx_json_find(o, "confusion"), r), k),
                                             &count));
                total += count;
            }
        assert_int_equal(total, seeds * 45);
        gntx_json_free(&o);
        train_case_free(&f.c);
    }
}

/* Values of a CSV column by row, NaN for text. */
static void read_column(const char *path, int column, double *out, char first_id[64])
{
    char *text = gnt_test_read(path, NULL), *line = strchr(text, '\n');

    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        char *p = line + 1;

        if (i == 0)
            snprintf(first_id, 64, "%.*s", (int)strcspn(p, ","), p);
        for (int c = 0; c < column; c++)
            p = strchr(p, ',') + 1;
        out[i] = strtod(p, NULL);
        line = strchr(line + 1, '\n');
        assert_non_null(line);
    }
    assert_int_equal(line[1], 0);
    gnti_free(text);
}

static gnt_status predict_to(fixture *f, const char *name, int32_t what, int64_t seed,
                             char path[GNT_TEST_PATH_BYTES])
{
    const gntx_predict_options options = { .what = what, .seed = seed };
    gntx_json *report = NULL;
    gnt_status st = gntx_predict(f->c.ctx, f->run, &options, gnt_test_path(path, name), &report);

    if (st == GNT_OK)
        assert_true(number_at(report, "rows", NULL, NULL) == TRAIN_CASE_NODES);
    gntx_json_free(&report);
    return st;
}

static void test_files_hold_every_node_under_its_id(void **state)
{
    fixture f;
    char path[GNT_TEST_PATH_BYTES], id[64];
    double classes[TRAIN_CASE_NODES], sum = 0.0, right = 0.0, p[3][TRAIN_CASE_NODES];
    int64_t ids[TRAIN_CASE_NODES], bytes = 0;
    int32_t stored[TRAIN_CASE_NODES];
    float dense[TRAIN_CASE_NODES * TRAIN_CASE_CLASSES];
    gnti_h5 *file = NULL;
    char *npy = NULL;

    (void)state;
    train_run(&f, "files", 1, GNT_LABELS_CLASS, false);
    gnt_assert_ok(predict_to(&f, "p.csv", 0, -1, path));
    read_column(path, 1, classes, id);
    assert_string_equal(id, "1000");
    for (int64_t i = 45; i < TRAIN_CASE_NODES; i++)
        right += classes[i] == (double)(i % 3) ? 1.0 / 45.0 : 0.0;
    assert_true(fabs(right - f.test_metric) < 1e-9);
    gnt_assert_ok(predict_to(&f, "p.h5", 0, -1, path));
    gnt_assert_ok(gnti_h5_open(path, &file));
    gnt_assert_ok(gnti_h5_read_i64(file, "/id", TRAIN_CASE_NODES, ids));
    gnt_assert_ok(gnti_h5_read_i32(file, "/prediction", TRAIN_CASE_NODES, stored));
    gnti_h5_close(&file);
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        assert_int_equal(ids[i], 1000 + 7 * i);
        assert_int_equal(stored[i], (int)classes[i]);
    }
    gnt_assert_ok(predict_to(&f, "q.csv", 1, -1, path));
    for (int c = 0; c < 3; c++)
        read_column(path, c + 1, p[c], id);
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        const int best = p[1][i] > p[0][i] ? (p[2][i] > p[1][i] ? 2 : 1) : (p[2][i] > p[0][i] ? 2 : 0);

        sum = p[0][i] + p[1][i] + p[2][i];
        assert_true(fabs(sum - 1.0) < 1e-6);
        assert_int_equal(best, stored[i]);
    }
    gnt_assert_ok(predict_to(&f, "q.npy", 1, -1, path));
    npy = gnt_test_read(path, &bytes);
    assert_int_equal(bytes, 128 + (int64_t)sizeof dense);
    assert_non_null(strstr(npy + 10, "'shape': (90, 3)"));
    memcpy(dense, npy + 128, sizeof dense);
    assert_true(dense[3 * 5 + 1] == (float)p[1][5]);
    gnti_free(npy);
    strncat(path, ".ids.txt", sizeof path - strlen(path) - 1);
    npy = gnt_test_read(path, NULL);
    assert_memory_equal(npy, "1000\n1007\n", 10);
    gnti_free(npy);
    train_case_free(&f.c);
}

static void test_text_ids_are_quoted(void **state)
{
    fixture f;
    char path[GNT_TEST_PATH_BYTES], *text = NULL;

    (void)state;
    train_run(&f, "text-ids", 1, GNT_LABELS_MULTI, true);
    gnt_assert_ok(predict_to(&f, "t.csv", 0, -1, path));
    text = gnt_test_read(path, NULL);
    assert_memory_equal(text, "id,prediction_0,prediction_1,prediction_2\nn0,", 45);
    assert_non_null(strstr(text, "\n\"a,\"\"1\"\"\","));
    gnti_free(text);
    gnt_assert_ok(predict_to(&f, "t.h5", 1, -1, path));
    train_case_free(&f.c);
}

static void test_embeddings(void **state)
{
    fixture f;
    char path[GNT_TEST_PATH_BYTES], *text = NULL;

    (void)state;
    train_run(&f, "embed", 2, GNT_LABELS_CLASS, false);
    gnt_assert_status(predict_to(&f, "e.csv", 2, -1, path), GNT_ERR_USAGE);
    gnt_assert_error_has("2 seeds", "seed");
    gnt_assert_ok(predict_to(&f, "e.csv", 2, 1, path));
    text = gnt_test_read(path, NULL);
    assert_non_null(strstr(text, "embedding_7\n")); /* width 8 */
    gnti_free(text);
    gnt_assert_status(predict_to(&f, "e.csv", 2, 5, path), GNT_ERR_USAGE);
    gnt_assert_error_has("no seed 5", "0 to 1");
    train_case_free(&f.c);
}

/* Probabilities of several seeds are the mean of the seeds' own; a seed's folder speaks for that seed. */
static void test_several_seeds_are_averaged(void **state)
{
    fixture f;
    char path[GNT_TEST_PATH_BYTES], id[64], run[GNT_TEST_PATH_BYTES];
    double all[TRAIN_CASE_NODES], one[TRAIN_CASE_NODES], two[TRAIN_CASE_NODES], folder[TRAIN_CASE_NODES];

    (void)state;
    train_run(&f, "mean", 2, GNT_LABELS_CLASS, false);
    gnt_assert_ok(predict_to(&f, "m.csv", 1, -1, path));
    read_column(path, 2, all, id);
    gnt_assert_ok(predict_to(&f, "m.csv", 1, 0, path));
    read_column(path, 2, one, id);
    gnt_assert_ok(predict_to(&f, "m.csv", 1, 1, path));
    read_column(path, 2, two, id);
    snprintf(run, sizeof run, "%.3900s/seed-1", f.run);
    memcpy(f.run, run, sizeof run);
    gnt_assert_ok(predict_to(&f, "m.csv", 1, -1, path));
    read_column(path, 2, folder, id);
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        assert_true(fabs(all[i] - 0.5 * (one[i] + two[i])) < 1e-6);
        assert_true(fabs(folder[i] - two[i]) < 1e-6);
    }
    train_case_free(&f.c);
}

static void test_another_graph(void **state)
{
    fixture f;
    train_case other;
    gntx_predict_options options = { .seed = -1 };
    gntx_json *report = NULL;
    char path[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES];

    (void)state;
    train_run(&f, "another", 1, GNT_LABELS_CLASS, false);
    train_case_arrays(&other, GNT_LABELS_CLASS, 2);
    other.arrays.label_kind = GNT_LABELS_NONE;
    other.arrays.y_class = NULL;
    other.arrays.num_classes = 0;
    other.arrays.num_train = other.arrays.num_valid = other.arrays.num_test = 0;
    gnt_assert_ok(gnt_context_create(NULL, &other.ctx));
    gnt_assert_ok(gnt_dataset_from_arrays(other.ctx, &other.arrays, &other.data));
    gnt_assert_ok(gnt_dataset_save(other.data, gnt_test_path(path, "unlabelled.h5")));
    options.data = path;
    gnt_assert_ok(gntx_predict(f.c.ctx, f.run, &options, gnt_test_path(out, "new.csv"), &report));
    assert_true(gnti_file_exists(out));
    gntx_json_free(&report);
    gnt_assert_status(gntx_eval(f.c.ctx, f.run, path, NULL, &report), GNT_ERR_FORMAT);
    gnt_assert_error_has("no labels");
    gnt_dataset_free(&other.data);
    other.arrays.num_features = TRAIN_CASE_FEATURES - 1;
    gnt_assert_ok(gnt_dataset_from_arrays(other.ctx, &other.arrays, &other.data));
    gnt_assert_ok(gnt_dataset_save(other.data, path));
    gnt_assert_status(gntx_predict(f.c.ctx, f.run, &options, out, &report), GNT_ERR_FORMAT);
    gnt_assert_error_has("6 features", "has 5");
    train_case_free(&other);
    /* the run's own dataset has changed since */
    train_case_arrays(&other, GNT_LABELS_CLASS, 3);
    train_case_dataset(&other, NULL);
    gnt_assert_ok(gnt_dataset_save(other.data, f.data));
    options.data = NULL;
    gnt_assert_status(gntx_predict(f.c.ctx, f.run, &options, out, &report), GNT_ERR_FORMAT);
    gnt_assert_error_has("has changed", "sha256");
    train_case_free(&other);
    train_case_free(&f.c);
}

static void test_refusals_leave_no_file(void **state)
{
    fixture f;
    char path[GNT_TEST_PATH_BYTES];
    gntx_json *report = NULL;

    (void)state;
    train_run(&f, "refuse", 1, GNT_LABELS_REGRESSION, false);
    gnt_assert_status(predict_to(&f, "r.txt", 0, -1, path), GNT_ERR_USAGE);
    gnt_assert_error_has("r.txt", ".csv");
    gnt_assert_status(predict_to(&f, "r.csv", 1, -1, path), GNT_ERR_USAGE);
    gnt_assert_error_has("no probabilities");
    gnti_file_fail_at(1, ENOSPC);
    gnt_assert_status(predict_to(&f, "r.csv", 0, -1, path), GNT_ERR_DISK_FULL);
    gnti_file_fail_at(-1, 0);
    assert_false(gnti_file_exists(path));
    gnt_assert_ok(predict_to(&f, "r.csv", 0, -1, path));
    gnt_assert_status(gntx_eval(f.c.ctx, "/no/such/run", NULL, NULL, &report), GNT_ERR_IO);
    gnt_assert_status(gntx_eval(f.c.ctx, gnt_test_folder(), NULL, NULL, &report), GNT_ERR_IO);
    gnt_assert_error_has("neither best.h5");
    gnt_assert_status(gntx_eval(f.c.ctx, f.data, NULL, NULL, &report),
                      GNT_ERR_FORMAT); /* a dataset is no run */
    train_case_free(&f.c);
}

/* Rows in memory are those of the file; the trainer's are those of its run; what does not fit is named and writes nothing. */
static void test_rows_in_memory(void **state)
{
    enum { ROWS = 4, CELLS = TRAIN_CASE_NODES * TRAIN_CASE_CLASSES };
    const int64_t rows[ROWS] = { 89, 0, 7, 7 }, beyond = TRAIN_CASE_NODES;
    fixture f;
    char path[GNT_TEST_PATH_BYTES], id[64];
    double file[TRAIN_CASE_CLASSES][TRAIN_CASE_NODES];
    float got[ROWS * TRAIN_CASE_CLASSES], all[CELLS], of_trainer[CELLS], logits[CELLS],
        best[TRAIN_CASE_NODES];
    gntx_predict_options options = { .what = 1, .seed = 1 };
    gntx_rows out = { rows, ROWS, TRAIN_CASE_CLASSES, got };
    gntx_json *report = NULL;

    (void)state;
    train_and_keep(&f, "memory", 2, GNT_LABELS_CLASS, false);
    gnt_assert_ok(predict_to(&f, "memory.csv", 1, 1, path));
    for (int c = 0; c < TRAIN_CASE_CLASSES; c++)
        read_column(path, c + 1, file[c], id);
    gnt_assert_ok(gntx_predict_rows(f.c.ctx, f.run, &options, &out, &report));
    assert_true(number_at(report, "rows", NULL, NULL) == ROWS);
    gntx_json_free(&report);
    for (int i = 0; i < ROWS; i++)
        for (int c = 0; c < TRAIN_CASE_CLASSES; c++)
            assert_true(got[i * TRAIN_CASE_CLASSES + c] == (float)file[c][rows[i]]);
    out = (gntx_rows){ NULL, TRAIN_CASE_NODES, TRAIN_CASE_CLASSES, all };
    gnt_assert_ok(gntx_predict_rows(f.c.ctx, f.run, &options, &out, NULL));
    out.values = of_trainer;
    gnt_assert_ok(gntx_trainer_predict(f.tr, 1, true, &out));
    gnt_assert_close(of_trainer, all, CELLS, 0.0, 1e-6);
    out.values = logits;
    gnt_assert_ok(gntx_trainer_predict(f.tr, 1, false, &out));
    options.what = 0;
    gnt_assert_ok(
        gntx_predict_rows(f.c.ctx, f.run, &options, &(gntx_rows){ NULL, TRAIN_CASE_NODES, 1, best }, NULL));
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++)
        for (int c = 0; c < TRAIN_CASE_CLASSES; c++)
            assert_true(logits[i * TRAIN_CASE_CLASSES + (int)best[i]] >= logits[i * TRAIN_CASE_CLASSES + c]);
    memcpy(all, logits, sizeof all);
    out.num_columns = 4;
    gnt_assert_status(gntx_trainer_predict(f.tr, 1, false, &out), GNT_ERR_ARG);
    gnt_assert_error_has("4 columns", "has 3");
    out = (gntx_rows){ &beyond, 1, TRAIN_CASE_CLASSES, logits };
    gnt_assert_status(gntx_trainer_predict(f.tr, 0, false, &out), GNT_ERR_ARG);
    gnt_assert_error_has("row 90 is outside of 0 to 89");
    out.row = NULL;
    out.num_rows = 91;
    gnt_assert_status(gntx_trainer_predict(f.tr, 0, false, &out), GNT_ERR_ARG);
    gnt_assert_error_has("91 rows asked for, there are 90");
    gnt_assert_status(gntx_trainer_predict(f.tr, 2, false, &out), GNT_ERR_ARG);
    assert_memory_equal(all, logits, sizeof all);
    gnt_trainer_free(&f.tr);
    train_case_free(&f.c);
}

static void test_failing_allocations(void **state)
{
    fixture f;
    gntx_json *report = NULL;
    char path[GNT_TEST_PATH_BYTES];
    const gntx_predict_options options = { .what = 0, .seed = -1 };

    (void)state;
    train_run(&f, "brutal-predict", 1, GNT_LABELS_CLASS, false);
    gnt_test_path(path, "b.csv");
    gnt_assert_ok(gntx_predict(f.c.ctx, f.run, &options, path, &report));
    gntx_json_free(&report);
    GNT_BRUTAL_OUT(gntx_predict(f.c.ctx, f.run, &options, path, &report), report);
    gntx_json_free(&report);
    GNT_BRUTAL_OUT(gntx_eval(f.c.ctx, f.run, NULL, NULL, &report), report);
    gntx_json_free(&report);
    train_case_free(&f.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval_gives_the_figures_of_the_run),
        cmocka_unit_test(test_files_hold_every_node_under_its_id),
        cmocka_unit_test(test_text_ids_are_quoted),
        cmocka_unit_test(test_embeddings),
        cmocka_unit_test(test_several_seeds_are_averaged),
        cmocka_unit_test(test_another_graph),
        cmocka_unit_test(test_refusals_leave_no_file),
        cmocka_unit_test(test_rows_in_memory),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
