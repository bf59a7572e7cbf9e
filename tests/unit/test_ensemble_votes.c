/* SPDX-License-Identifier: Apache-2.0 */
/* Files of predictions: what gnntrain writes and what others write comes back by id, in any order; what does not fit is named.
 */
#include "tests/support/votes_case.h"

#include "base/file.h"
#include "base/text.h"
#include "datasets/h5_value.h"
#include "ensemble/id_join.h"
#include "train/predict_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODES = 12, CLASSES = 3 };
static const double one[] = { 1.0 };

/* Twelve nodes with ids 1000 + 7 i, or names with a blank, a comma and quotes; probabilities of one member. */
static void make_case(votes_case *c, bool named)
{
    votes_case_make(c, GNT_LABELS_CLASS, NODES, CLASSES, 4, one, 1, 7);
    votes_case_to_probabilities(c, 0);
    if (named)
        gnt_assert_ok(gnti_calloc_array(&c->data->id_text, NODES));
    else
        gnt_assert_ok(gnti_alloc_array(&c->data->id, NODES));
    for (int64_t i = 0; i < NODES; i++) {
        char name[32];

        if (!named) {
            c->data->id[i] = 1000 + 7 * i;
            continue;
        }
        snprintf(name, sizeof name,
                 i % 3 == 0   ? "node \"%lld\""
                 : i % 3 == 1 ? "a, %lld"
                              : "n%lld",
                 (long long)i);
        gnt_assert_ok(gnti_strdup(&c->data->id_text[i], name));
    }
}

static gnti_predict_table table_of(const votes_case *c, const int64_t *order)
{
    return (gnti_predict_table){ .data = c->data,
                                 .order = order,
                                 .num_rows = NODES,
                                 .width = CLASSES,
                                 .values = c->votes[0].values,
                                 .column = "probability" };
}

static void assert_comes_back(const votes_case *c, const char *path)
{
    gnti_votes v = { 0 };

    gnt_assert_ok(gnti_votes_open(path, c->data, &v));
    assert_int_equal(v.num_rows, NODES);
    assert_int_equal(v.num_classes, CLASSES);
    assert_false(v.are_logits);
    gnt_assert_same_bits(v.values, c->votes[0].values, NODES * CLASSES);
    gnti_votes_close(&v);
}

static void assert_refused(const votes_case *c, const char *path, const char *a, const char *b)
{
    gnti_votes v = { 0 };

    gnt_assert_status(gnti_votes_open(path, c->data, &v), GNT_ERR_FORMAT);
    gnt_assert_error_has(a, b);
    assert_null(v.values);
}

static void rows_in_any_order_come_back_by_id(void **state)
{
    (void)state;
    int64_t order[NODES];
    char csv[GNT_TEST_PATH_BYTES], npy[GNT_TEST_PATH_BYTES], h5[GNT_TEST_PATH_BYTES];

    for (int named = 0; named < 2; named++) {
        for (int shift = 0; shift < NODES; shift += 5) {
            votes_case c;

            make_case(&c, named == 1);
            for (int64_t i = 0; i < NODES; i++)
                order[i] = (i * (shift == 0 ? 1 : 7) + shift) % NODES;
            const gnti_predict_table t = table_of(&c, order);

            gnt_assert_ok(gnti_predict_write_csv(&t, gnt_test_path(csv, "p.csv")));
            gnt_assert_ok(gnti_predict_write_npy(&t, gnt_test_path(npy, "p.npy")));
            gnt_assert_ok(gnti_predict_write_h5(&t, gnt_test_path(h5, "p.h5")));
            assert_comes_back(&c, csv);
            assert_comes_back(&c, npy);
            assert_comes_back(&c, h5);
            votes_case_free(&c);
        }
    }
}

static void names_of_members_come_from_their_paths(void **state)
{
    (void)state;
    votes_case c;
    gnti_votes v = { 0 };
    char path[GNT_TEST_PATH_BYTES], folder[GNT_TEST_PATH_BYTES];

    votes_case_make(&c, GNT_LABELS_CLASS, NODES, CLASSES, 4, one, 1, 7);
    gnt_assert_ok(gnti_folder_create(gnt_test_path(folder, "run/members/m07")));
    gnt_test_path(path, "run/members/m07/logits.npy");
    gnt_assert_ok(gnti_votes_write(path, c.data, c.votes[0].values, CLASSES));
    gnt_assert_ok(gnti_votes_open(path, c.data, &v));
    assert_string_equal(v.name, "m07");
    assert_true(v.are_logits);
    gnt_assert_same_bits(v.values, c.votes[0].values, NODES * CLASSES);
    gnti_votes_close(&v);
    gnt_assert_ok(
        gnti_votes_write(gnt_test_path(path, "best-logits.npy"), c.data, c.votes[0].values, CLASSES));
    gnt_assert_ok(gnti_votes_open(path, c.data, &v));
    assert_string_equal(v.name, "best-logits");
    assert_true(v.are_logits);
    gnti_votes_close(&v);
    votes_case_free(&c);
}

/* What was written for a dataset is read for the same dataset in another order, with or without ids. */
static void another_order_of_the_dataset_is_followed(void **state)
{
    (void)state;
    for (int with_ids = 0; with_ids < 2; with_ids++) {
        votes_case c;
        gnt_dataset *moved = NULL;
        gnti_votes v = { 0 };
        int64_t rank[NODES];
        char path[GNT_TEST_PATH_BYTES], csv[GNT_TEST_PATH_BYTES];

        if (with_ids)
            make_case(&c, false);
        else
            votes_case_make(&c, GNT_LABELS_CLASS, NODES, CLASSES, 4, one, 1, 7);
        for (int64_t i = 0; i < NODES; i++)
            rank[i] = (i * 5 + 2) % NODES;
        gnt_assert_ok(
            gnti_votes_write(gnt_test_path(path, "moved-logits.npy"), c.data, c.votes[0].values, CLASSES));
        const gnti_predict_table t = table_of(&c, NULL);

        gnt_assert_ok(gnti_predict_write_csv(&t, gnt_test_path(csv, "moved.csv")));
        gnt_assert_ok(gnti_dataset_permute(c.data, rank, &moved));
        for (int k = 0; k < 2; k++) {
            gnt_assert_ok(gnti_votes_open(k == 0 ? path : csv, moved, &v));
            for (int64_t i = 0; i < NODES; i++)
                gnt_assert_same_bits(v.values + rank[i] * CLASSES, c.votes[0].values + i * CLASSES, CLASSES);
            gnti_votes_close(&v);
        }
        /* and written from there, it is read by the first */
        float there[NODES * CLASSES];

        for (int64_t i = 0; i < NODES; i++)
            memcpy(there + rank[i] * CLASSES, c.votes[0].values + i * CLASSES, CLASSES * sizeof(float));
        gnt_assert_ok(gnti_votes_write(path, moved, there, CLASSES));
        gnt_assert_ok(gnti_votes_open(path, c.data, &v));
        gnt_assert_same_bits(v.values, c.votes[0].values, NODES * CLASSES);
        gnti_votes_close(&v);
        gnt_dataset_free(&moved);
        votes_case_free(&c);
    }
}

/* ---- CSV of others ---- */

/* Lines of the case's ids; head may be NULL. skip: a node that is left out; extra: a line behind. */
static void write_csv(const votes_case *c, const char *head, const int *column, int64_t skip,
                      const char *extra, char path[GNT_TEST_PATH_BYTES])
{
    gnti_text t = { 0 };

    if (head != NULL)
        gnti_text_printf(&t, "%s\r\n", head);
    for (int64_t i = 0; i < NODES; i++) {
        if (i == skip)
            continue;
        gnti_text_printf(&t, "%lld", (long long)c->data->id[i]);
        for (int k = 0; k < CLASSES; k++)
            gnti_text_printf(&t, ",%.9g", (double)c->votes[0].values[i * CLASSES + column[k]]);
        gnti_text_append(&t, "\r\n");
    }
    gnti_text_append(&t, extra);
    assert_int_equal(t.status, GNT_OK);
    gnt_test_write(path, "other.csv", t.data, t.length);
    gnti_text_free(&t);
}

static void columns_are_found_by_name_or_number(void **state)
{
    (void)state;
    static const int straight[] = { 0, 1, 2 }, turned[] = { 2, 0, 1 };
    votes_case c;
    char path[GNT_TEST_PATH_BYTES];

    make_case(&c, false);
    write_csv(&c, NULL, straight, -1, "", path);
    assert_comes_back(&c, path);
    write_csv(&c, "id,x,y,z", straight, -1, "", path);
    assert_comes_back(&c, path);
    write_csv(&c, "id,p_2,p_0,p_1", turned, -1, "", path);
    assert_comes_back(&c, path);
    gnt_assert_ok(gnti_calloc_array(&c.data->y.names, CLASSES));
    for (int k = 0; k < CLASSES; k++)
        gnt_assert_ok(gnti_strdup(&c.data->y.names[k], ((const char *const[]){ "red", "green", "blue" })[k]));
    write_csv(&c, "id,blue,red,green", turned, -1, "", path);
    assert_comes_back(&c, path);
    write_csv(&c, "id,blue,red,black", turned, -1, "", path);
    assert_refused(&c, path, "'black'", "no class");
    write_csv(&c, "id,blue,red,red", turned, -1, "", path);
    assert_refused(&c, path, "'red'", "two columns");
    votes_case_free(&c);
}

static void ids_that_do_not_fit_are_named(void **state)
{
    (void)state;
    static const int straight[] = { 0, 1, 2 };
    votes_case c;
    char path[GNT_TEST_PATH_BYTES];

    make_case(&c, false);
    write_csv(&c, "id,a,b,c", straight, 5, "", path);
    assert_refused(&c, path, "no prediction of node '1035'", "11 rows for the dataset's 12 nodes");
    write_csv(&c, "id,a,b,c", straight, -1, "5,0.1,0.1,0.8\n", path);
    assert_refused(&c, path, "row 13", "no node '5'");
    write_csv(&c, "id,a,b,c", straight, -1, "1007,0.1,0.1,0.8\n", path);
    assert_refused(&c, path, "'1007'", "twice");
    write_csv(&c, "id,a,b,c", straight, 0, "x1,0.1,0.1,0.8\n", path);
    assert_refused(&c, path, "'x1'", "whole number");
    write_csv(&c, "id,a,b,c", straight, 0, "1000,0.1,0.8\n", path);
    assert_refused(&c, path, "line 13", "3 columns, 4 are needed");
    write_csv(&c, "id,a,b,c", straight, 0, "1000,0.1,zero,0.8\n", path);
    assert_refused(&c, path, "line 13", "'zero'");
    write_csv(&c, "id,a,b,c", straight, 0, "\"1000,0.1,0.1,0.8\n", path);
    assert_refused(&c, path, "line 13", "quotes");
    write_csv(&c, "id,prediction", straight, -1, "", path);
    assert_refused(&c, path, "2 columns", "--what probabilities");
    gnt_test_write(path, "empty.csv", "", 0);
    assert_refused(&c, path, "no prediction of node '1000'", "0 rows");
    votes_case_free(&c);
}

/* A number that is none is let through, so that the member can be named by who combines. */
static void nan_reaches_the_combination(void **state)
{
    (void)state;
    static const int straight[] = { 0, 1, 2 };
    votes_case c;
    gnti_votes v = { 0 };
    gnti_combined made = { 0 };
    char path[GNT_TEST_PATH_BYTES];

    make_case(&c, false);
    write_csv(&c, NULL, straight, 3, "1021,nan,0.5,0.5\n", path);
    gnt_assert_ok(gnti_votes_open(path, c.data, &v));
    gnt_assert_status(gnti_combine_members(&v, 1, c.data, &c.config, &made), GNT_ERR_FORMAT);
    gnt_assert_error_has("'other'", "'1021'", "class 0");
    gnti_votes_close(&v);
    votes_case_free(&c);
}

/* ---- .npy of others ---- */

static void write_npy(const char *type, bool fortran, int64_t rows, const void *data, int64_t bytes,
                      char path[GNT_TEST_PATH_BYTES])
{
    char file[4096], head[160];
    const int used =
        snprintf(head, sizeof head, "{'descr': '%s', 'fortran_order': %s, 'shape': (%lld, %d), }", type,
                 fortran ? "True" : "False", (long long)rows, CLASSES);

    memset(file, ' ', 128);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(file + 10, head, (size_t)used);
    file[127] = '\n';
    memcpy(file + 128, data, (size_t)bytes);
    gnt_test_write(path, "other.npy", file, 128 + bytes);
}

static void arrays_of_other_types_are_read(void **state)
{
    (void)state;
    votes_case c;
    double wide[NODES * CLASSES], turned[NODES * CLASSES];
    char path[GNT_TEST_PATH_BYTES];
    float half[NODES * CLASSES];

    votes_case_make(&c, GNT_LABELS_CLASS, NODES, CLASSES, 4, one, 1, 7);
    votes_case_to_probabilities(&c, 0);
    for (int64_t i = 0; i < NODES * CLASSES; i++) {
        wide[i] = (double)c.votes[0].values[i];
        turned[i % CLASSES * NODES + i / CLASSES] = wide[i];
    }
    write_npy("<f8", false, NODES, wide, sizeof wide, path);
    assert_comes_back(&c, path);
    write_npy("<f8", true, NODES, turned, sizeof turned, path);
    assert_comes_back(&c, path);
    write_npy("<f4", false, NODES, c.votes[0].values, NODES * CLASSES * 4, path);
    assert_comes_back(&c, path);
    write_npy("<f4", false, NODES - 1, c.votes[0].values, (NODES - 1) * CLASSES * 4, path);
    assert_refused(&c, path, "11 rows of 3 values", "12 nodes");
    write_npy("<f4", false, NODES, c.votes[0].values, NODES * CLASSES * 4 - 4, path);
    assert_refused(&c, path, "140 bytes", "144");
    write_npy("<f4", false, NODES, c.votes[0].values, NODES * CLASSES * 4 + 4, path);
    assert_refused(&c, path, "148 bytes", "144");
    memset(half, 0, sizeof half);
    write_npy("|O", false, NODES, half, 8, path);
    assert_refused(&c, path, "other.npy", "");
    gnt_test_write(path, "other.npy", "", 0);
    assert_refused(&c, path, "other.npy", "empty");
    gnt_test_write(path, "other.npy", "\x93NUMPY", 6);
    assert_refused(&c, path, "other.npy", "numpy");
    votes_case_free(&c);
}

static void ids_beside_an_array_must_fit_it(void **state)
{
    (void)state;
    votes_case c;
    char path[GNT_TEST_PATH_BYTES], ids[GNT_TEST_PATH_BYTES];

    make_case(&c, false);
    const gnti_predict_table t = table_of(&c, NULL);

    gnt_assert_ok(gnti_predict_write_npy(&t, gnt_test_path(path, "beside.npy")));
    gnt_test_write(ids, "beside.npy.ids.txt", "1000\n1007\n1014\n", -1);
    assert_refused(&c, path, "'1021'", "3 rows");
    gnt_test_write(ids, "beside.npy.ids.txt", "1000\n1007\n1014\n9\n", -1);
    assert_refused(&c, path, "row 4", "no node '9'");
    votes_case_free(&c);
}

/* ---- HDF5 of others ---- */

static void tables_of_others_are_read(void **state)
{
    (void)state;
    votes_case c;
    gnti_h5 *file = NULL;
    gnti_votes v = { 0 };
    char path[GNT_TEST_PATH_BYTES];
    const int64_t dims[] = { NODES, CLASSES };
    int64_t ids[NODES];

    make_case(&c, false);
    for (int64_t i = 0; i < NODES; i++)
        ids[i] = c.data->id[i];
    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "other.h5"), &file));
    gnt_assert_ok(gnti_h5_write_values(file, "/id", GNTI_FILE_I64, 1, dims, ids));
    gnt_assert_ok(gnti_h5_write_values(file, "/logits", GNTI_FILE_F32, 2, dims, c.votes[0].values));
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
    gnt_assert_ok(gnti_votes_open(path, c.data, &v));
    assert_true(v.are_logits);
    gnt_assert_same_bits(v.values, c.votes[0].values, NODES * CLASSES);
    gnti_votes_close(&v);
    ids[4] = 17;
    gnt_assert_ok(gnti_h5_create(path, &file));
    gnt_assert_ok(gnti_h5_write_values(file, "/id", GNTI_FILE_I64, 1, dims, ids));
    gnt_assert_ok(gnti_h5_write_values(file, "/probability", GNTI_FILE_F32, 2, dims, c.votes[0].values));
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
    assert_refused(&c, path, "row 5", "no node '17'");
    gnt_assert_ok(gnti_h5_create(path, &file));
    gnt_assert_ok(gnti_h5_write_values(file, "/prediction", GNTI_FILE_F32, 2, dims, c.votes[0].values));
    gnt_assert_ok(gnti_h5_commit(&file, NULL));
    assert_refused(&c, path, "neither /probability nor /logits", "--what probabilities");
    gnt_test_write(path, "p.txt", "x", 1);
    gnt_assert_status(gnti_votes_open(path, c.data, &v), GNT_ERR_USAGE);
    gnt_assert_error_has(".csv, .npy, .h5");
    gnt_assert_status(gnti_votes_open("/nowhere/p.npy", c.data, &v), GNT_ERR_IO);
    gnt_assert_status(gnti_votes_open("/nowhere/p.csv", c.data, &v), GNT_ERR_IO);
    gnt_assert_status(gnti_votes_open("/nowhere/p.h5", c.data, &v), GNT_ERR_IO);
    votes_case_free(&c);
}

static void failing_allocations_leave_nothing(void **state)
{
    (void)state;
    votes_case c;
    gnti_votes v = { 0 };
    int64_t order[NODES];
    char csv[GNT_TEST_PATH_BYTES], npy[GNT_TEST_PATH_BYTES];

    make_case(&c, true);
    for (int64_t i = 0; i < NODES; i++)
        order[i] = NODES - 1 - i;
    const gnti_predict_table t = table_of(&c, order);

    gnt_assert_ok(gnti_predict_write_csv(&t, gnt_test_path(csv, "b.csv")));
    gnt_assert_ok(gnti_predict_write_npy(&t, gnt_test_path(npy, "b.npy")));
    GNT_BRUTAL_OUT(gnti_votes_open(csv, c.data, &v), v);
    gnti_votes_close(&v);
    GNT_BRUTAL_OUT(gnti_votes_open(npy, c.data, &v), v);
    gnti_votes_close(&v);
    votes_case_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_any_order_come_back_by_id),
        cmocka_unit_test(names_of_members_come_from_their_paths),
        cmocka_unit_test(another_order_of_the_dataset_is_followed),
        cmocka_unit_test(columns_are_found_by_name_or_number),
        cmocka_unit_test(ids_that_do_not_fit_are_named),
        cmocka_unit_test(nan_reaches_the_combination),
        cmocka_unit_test(arrays_of_other_types_are_read),
        cmocka_unit_test(ids_beside_an_array_must_fit_it),
        cmocka_unit_test(tables_of_others_are_read),
        cmocka_unit_test(failing_allocations_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
