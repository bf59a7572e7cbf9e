/* SPDX-License-Identifier: Apache-2.0 */
/* Dataset files: all members there and back, foreign layouts, sums, refusals. */
#include "tests/support/full_dataset.h"
#include "tests/support/gnt_test.h"

#include "datasets/h5_value.h"

#include "base/file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static void everything_comes_back(void **state)
{
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (int bits = 0; bits < 64; bits++) {
        const gnt_full_options o = { .seed = (uint64_t)bits,
                                     .num_nodes = 6 + bits % 9,
                                     .directed = bits & 1,
                                     .weighted = bits & 2,
                                     .sparse = bits & 4,
                                     .text_ids = bits & 8,
                                     .labels = (gnt_label_kind)(bits >> 4) };
        gnt_dataset *d = gnt_full_dataset(&o), *back = NULL;
        const char *difference;

        gnt_assert_ok(gnt_dataset_save(d, gnt_test_path(path, "full.h5")));
        gnt_assert_ok(gnt_dataset_open(NULL, path, &back));
        difference = gnt_dataset_difference(d, back);
        if (difference != NULL)
            fail_msg("%s differ for bits %d", difference, bits);
        assert_string_equal(back->graph_sha256, d->graph_sha256);
        assert_string_equal(back->content_sha256, d->content_sha256);
        assert_string_equal(back->provenance, d->provenance);
        assert_int_equal(strlen(back->uuid), 36);
        gnt_assert_ok(gnti_dataset_hash(back));
        assert_string_equal(back->content_sha256, d->content_sha256);
        gnt_dataset_free(&d);
        gnt_dataset_free(&back);
    }
}

/* The sums of two nodes with one edge, one feature 2.0 at (1, 0) and the labels 0, 1; from Python's hashlib over the
 * bytes that docs/file-format.md lists. Storage must not matter. */
static void sums_are_those_of_the_document(void **state)
{
    static const char *const graph = "6b931fe783a2b6619e0203afdda35bc09c39839c33c8b9c2fa9f31792029e61f";
    static const char *const content = "a0a17e3789990065df9f8be2b26bf98975fe279db94ac499bce41b26a3c2d047";
    const int64_t indptr[] = { 0, 1, 2 }, y[] = { 0, 1 };
    const int32_t indices[] = { 1, 0 };
    const float x[] = { 0.0f, 0.0f, 2.0f, -0.0f }, ones[] = { 1.0f, 1.0f };
    gnt_dataset_arrays a;
    gnt_dataset *d = NULL;

    (void)state;
    gnt_dataset_arrays_init(&a);
    a.num_nodes = 2;
    a.num_features = 2;
    a.num_classes = 2;
    a.indptr = indptr;
    a.indices = indices;
    a.weights = ones;
    a.x = x;
    a.label_kind = GNT_LABELS_CLASS;
    a.y_class = y;
    gnt_assert_ok(gnt_dataset_from_arrays(NULL, &a, &d));
    assert_string_equal(d->graph_sha256, graph);
    assert_string_equal(d->content_sha256, content);
    gnt_dataset_free(&d);
}

/* Every value that the sum covers moves it; ids, names, splits and provenance do not. */
static void sums_cover_content_only(void **state)
{
    const gnt_full_options o = { .seed = 1, .num_nodes = 9, .weighted = true, .labels = GNT_LABELS_CLASS };
    gnt_dataset *d = gnt_full_dataset(&o);
    char before[65];

    (void)state;
    memcpy(before, d->content_sha256, sizeof before);
    d->id[0]++;
    d->y.names[0][0] = 'K';
    d->splits[0].num_nodes[0]--;
    d->provenance[0] = ' ';
    ((int64_t *)gnti_dataset_find_array(d, "/edges/id")->data)[0]++;
    gnt_assert_ok(gnti_dataset_hash(d));
    assert_string_equal(d->content_sha256, before);
    ((double *)gnti_dataset_find_array(d, "/edges/time")->data)[0] += 1.0;
    gnt_assert_ok(gnti_dataset_hash(d));
    assert_string_not_equal(d->content_sha256, before);
    memcpy(before, d->content_sha256, sizeof before);
    d->x.dense[7] += 0.5f;
    gnt_assert_ok(gnti_dataset_hash(d));
    assert_string_not_equal(d->content_sha256, before);
    memcpy(before, d->content_sha256, sizeof before);
    d->y.class_of[3] = (d->y.class_of[3] + 1) % 3;
    gnt_assert_ok(gnti_dataset_hash(d));
    assert_string_not_equal(d->content_sha256, before);
    gnt_dataset_free(&d);
}

/* Writes a file member by member, so that one can be left out or broken. */
typedef struct plan {
    const char *format, *version, *encoding;
    int64_t num_nodes, stated_nodes, stated_arcs;
    int64_t indptr[5];
    int32_t indices[6];
    int64_t num_arcs;
    int directed; /* -1: not stated */
} plan;

static plan good_plan(void)
{
    return (plan){ .format = "gnntrain-graph",
                   .version = "1.0",
                   .encoding = "csr_matrix",
                   .num_nodes = 4,
                   .stated_nodes = 4,
                   .stated_arcs = 6,
                   .indptr = { 0, 1, 3, 5, 6 },
                   .indices = { 1, 0, 2, 1, 3, 2 },
                   .num_arcs = 6,
                   .directed = 0 };
}

static gnti_h5 *begin(const plan *p, char path[GNT_TEST_PATH_BYTES])
{
    const int64_t pointers = p->num_nodes + 1, shape[] = { p->num_nodes, p->num_nodes };
    gnti_h5 *f = NULL;

    gnt_assert_ok(gnti_h5_create(gnt_test_path(path, "plan.h5"), &f));
    if (p->format != NULL)
        gnt_assert_ok(gnti_h5_set_text(f, "/", "format", p->format));
    gnt_assert_ok(gnti_h5_set_text(f, "/", "format_version", p->version));
    gnt_assert_ok(gnti_h5_set_int(f, "/", "num_nodes", p->stated_nodes));
    gnt_assert_ok(gnti_h5_set_int(f, "/", "num_arcs", p->stated_arcs));
    if (p->directed >= 0)
        gnt_assert_ok(gnti_h5_set_int(f, "/", "directed", p->directed));
    gnt_assert_ok(gnti_h5_make_group(f, "/graph/adj"));
    gnt_assert_ok(gnti_h5_set_encoding(f, "/graph/adj", p->encoding, "0.1.0"));
    gnt_assert_ok(gnti_h5_write_attribute(f, "/graph/adj", "shape", GNTI_FILE_I64, shape, 2));
    gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/indptr", GNTI_FILE_I64, 1, &pointers, p->indptr));
    gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/indices", GNTI_FILE_I32, 1, &p->num_arcs, p->indices));
    return f;
}

static gnt_status finish(gnti_h5 **f, const char *path, gnt_dataset **out)
{
    gnt_assert_ok(gnti_h5_commit(f, NULL));
    return gnt_dataset_open(NULL, path, out);
}

static void refuse(const plan *p, const char *word1, const char *word2)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = begin(p, path);
    gnt_dataset *d = NULL;

    gnt_assert_status(finish(&f, path, &d), GNT_ERR_FORMAT);
    gnt_assert_error_has(word1, word2, "plan.h5");
    assert_null(d);
}

static void rows_with_a_third_dimension_are_refused(void **state)
{
    static const struct {
        const char *path;
        int32_t rank;
        int64_t dims[4];
        const char *shape;
    } cases[] = { { "/nodes/x", 3, { 4, 2, 3 }, "(4, 2, 3)" },
                  { "/nodes/x", 4, { 4, 1, 1, 2 }, "(4, 1, 1, 2)" },
                  { "/nodes/y", 3, { 4, 1, 2 }, "(4, 1, 2)" } };
    const float values[24] = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[GNT_TEST_PATH_BYTES];
        const plan p = good_plan();
        gnti_h5 *f = begin(&p, path);
        gnt_dataset *d = NULL;

        gnt_assert_ok(
            gnti_h5_write_values(f, cases[i].path, GNTI_FILE_F32, cases[i].rank, cases[i].dims, values));
        gnt_assert_status(finish(&f, path, &d), GNT_ERR_FORMAT);
        gnt_assert_error_has(cases[i].path, cases[i].shape, "(4, columns)");
        gnt_assert_status(gnti_dataset_read_header(NULL, path, &d), GNT_ERR_FORMAT);
        gnt_assert_error_has(cases[i].path, cases[i].shape, "(4, columns)");
        assert_null(d);
    }
}

static void wrong_headings_and_graphs_are_refused(void **state)
{
    plan p = good_plan();

    (void)state;
    p.format = "other";
    refuse(&p, "'other'", "gnntrain import");
    p.format = NULL;
    refuse(&p, "gnntrain-graph", "gnntrain import");
    p = good_plan();
    p.version = "2.1";
    refuse(&p, "version 2.1", "1.x");
    p.version = "0.9";
    refuse(&p, "version 0.9", "1.x");
    p.version = "one";
    refuse(&p, "'one'", "no version");
    p = good_plan();
    p.stated_nodes = 5;
    refuse(&p, "num_nodes=5", "4");
    p = good_plan();
    p.stated_arcs = 7;
    refuse(&p, "num_arcs=7", "6");
    p = good_plan();
    p.encoding = "csc_matrix";
    refuse(&p, "csc_matrix", "csr_matrix");
    p = good_plan();
    p.indptr[2] = -2147483640; /* scenario 18: a 32-bit pointer that wrapped */
    refuse(&p, "indptr not monotone at row 1", "-2147483640");
    p = good_plan();
    p.indptr[4] = 7;
    refuse(&p, "indptr", "0 to 7");
    p = good_plan();
    p.indices[2] = 4;
    refuse(&p, "row 1", "column 4");
    p = good_plan();
    p.indices[5] = 0;
    refuse(&p, "undirected", "reverse");
}

/* A later minor version with members nobody knows is read; 1.7 is not 2.0. */
static void later_minor_versions_are_read(void **state)
{
    plan p = good_plan();
    char path[GNT_TEST_PATH_BYTES];
    gnt_dataset *d = NULL;
    const int64_t dims[] = { 4 }, values[] = { 9, 8, 7, 6 };
    gnti_h5 *f;

    (void)state;
    p.version = "1.7";
    p.directed = -1;
    f = begin(&p, path);
    gnt_assert_ok(gnti_h5_write_values(f, "/future/member", GNTI_FILE_I64, 1, dims, values));
    gnt_assert_ok(gnti_h5_write_values(f, "/nodes/future", GNTI_FILE_I64, 1, dims, values));
    gnt_assert_ok(gnti_h5_set_text(f, "/", "future", "attribute"));
    gnt_assert_ok(finish(&f, path, &d));
    assert_false(d->directed); /* found by looking */
    assert_int_equal(gnti_dataset_find_array(d, "/nodes/future")->axis, GNTI_AXIS_NODE);
    assert_int_equal(strlen(d->content_sha256), 64);
    gnt_dataset_free(&d);
}

/* Rows out of order and an arc listed twice: sorted and merged, and what belongs to arcs follows. */
static void files_that_are_not_canonical_are_put_right(void **state)
{
    plan p = { .format = "gnntrain-graph",
               .version = "1.0",
               .encoding = "csr_matrix",
               .num_nodes = 3,
               .stated_nodes = 3,
               .stated_arcs = 5,
               .indptr = { 0, 3, 4, 5 },
               .indices = { 2, 1, 2, 0, 0 },
               .num_arcs = 5,
               .directed = 1 };
    const float weights[] = { 1.0f, 2.0f, 3.0f, 4.0f, 5.0f };
    const int64_t times[] = { 10, 20, 30, 40, 50 };
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = begin(&p, path);
    gnt_dataset *d = NULL;
    const int64_t *time;

    (void)state;
    gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/data", GNTI_FILE_F32, 1, &p.num_arcs, weights));
    gnt_assert_ok(gnti_h5_write_values(f, "/edges/time", GNTI_FILE_I64, 1, &p.num_arcs, times));
    gnt_assert_ok(finish(&f, path, &d));
    assert_int_equal(d->graph->num_arcs, 4);
    assert_true(d->graph->columns[0] == 1 && d->graph->columns[1] == 2);
    assert_true(d->graph->weights[0] == 2.0f && d->graph->weights[1] == 4.0f);
    time = gnti_dataset_find_array(d, "/edges/time")->data;
    assert_true(time[0] == 20 && time[1] == 10 && time[2] == 40 && time[3] == 50);
    gnt_dataset_free(&d);
}

/* Scenario 9: float64 features, a vector as features, masks as bytes (N, 1) and float (N, 10). */
static void habits_of_others_are_taken(void **state)
{
    const plan p = good_plan();
    const double x[] = { 0.5, 1.5, 2.5, 3.5 };
    const uint8_t mask[] = { 1, 0, 0, 1 };
    const int64_t n = 4, column[] = { 4, 1 }, wide[] = { 4, 2 }, list[] = { 2, 1 }, two = 2;
    const float masks[] = { 0, 1, 0, 0, 1, 1, 0, 1 };
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = begin(&p, path);
    gnt_dataset *d = NULL;
    const gnti_split *s = NULL;

    (void)state;
    gnt_assert_ok(gnti_h5_write_values(f, "/nodes/x", GNTI_FILE_F64, 1, &n, x));
    gnt_assert_ok(gnti_h5_write_values(f, "/splits/a/train", GNTI_FILE_U8, 2, column, mask));
    gnt_assert_ok(gnti_h5_write_values(f, "/splits/a/valid", GNTI_FILE_F32, 2, wide, masks));
    gnt_assert_ok(gnti_h5_write_values(f, "/splits/b/test", GNTI_FILE_I64, 1, &two, list));
    gnt_assert_ok(finish(&f, path, &d));
    assert_true(d->x.width == 1 && d->x.dense[3] == 3.5f);
    gnt_assert_ok(gnti_dataset_find_split(d, "a", &s));
    assert_true(s->num_nodes[0] == 2 && s->nodes[0][1] == 3 && s->num_nodes[1] == 1 && s->nodes[1][0] == 2);
    gnt_assert_ok(gnti_dataset_find_split(d, "b", &s));
    assert_true(s->num_nodes[2] == 2 && s->nodes[2][0] == 1 && s->num_nodes[0] == 0);
    gnt_assert_status(gnti_dataset_find_split(d, NULL, &s), GNT_ERR_USAGE);
    gnt_assert_error_has("a, b", "--split");
    gnt_dataset_free(&d);
}

/* One array too many or too few, each with the text that names it. */
static void wrong_members_are_refused(void **state)
{
    static const struct {
        const char *path;
        gnti_dtype_file type;
        int32_t rank;
        int64_t dims[2], first;
        const char *word1, *word2;
    } bad[] = {
        { "/nodes/x", GNTI_FILE_F32, 2, { 3, 2 }, 0, "features have 3 rows", "4 nodes" },
        { "/nodes/y", GNTI_FILE_I64, 1, { 5, 0 }, 0, "/nodes/y", "expected 4" },
        { "/nodes/y", GNTI_FILE_I64, 1, { 4, 0 }, -2, "node 0", "-2" },
        { "/nodes/y", GNTI_FILE_I64, 1, { 4, 0 }, 1LL << 40, "1099511627776", "32-bit" },
        { "/nodes/id", GNTI_FILE_I64, 1, { 3, 0 }, 0, "/nodes/id", "expected 4" },
        { "/nodes/type", GNTI_FILE_I32, 1, { 3, 0 }, 0, "/nodes/type", "expected 4" },
        { "/edges/time", GNTI_FILE_I64, 1, { 4, 0 }, 0, "/edges/time", "expected 6" },
        { "/graphs/ptr", GNTI_FILE_I64, 1, { 3, 0 }, 0, "/graphs/ptr", "0 to 4" },
        { "/splits/s/train", GNTI_FILE_I64, 1, { 1, 0 }, 4, "/splits/s/train", "node 4" },
        { "/splits/s/train", GNTI_FILE_I64, 1, { 5, 0 }, 0, "/splits/s/train", "5 of 4" },
        { "/pairs/nodes", GNTI_FILE_I64, 2, { 1, 2 }, 9, "/pairs/nodes", "node 9" },
        { "/graph/adj/data", GNTI_FILE_F32, 1, { 5, 0 }, 0, "/graph/adj/data", "expected 6" },
    };
    const plan p = good_plan();
    int64_t values[16] = { 0 };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gnti_h5 *f = begin(&p, path);
        gnt_dataset *d = NULL;

        values[0] = bad[i].first;
        gnt_assert_ok(gnti_h5_write_values(f, bad[i].path, bad[i].type, bad[i].rank, bad[i].dims, values));
        gnt_assert_status(finish(&f, path, &d), GNT_ERR_FORMAT);
        gnt_assert_error_has(bad[i].word1, bad[i].word2, "plan.h5");
    }
}

/* Members that only the file can show: classes that do not fit, weights that are no numbers, a list given twice. */
static void contradictions_are_refused(void **state)
{
    const plan p = good_plan();
    const char *names[] = { "a", "b", "c" };
    const int64_t n = 4, three = 3, y[] = { 0, 1, 0, 1 }, twice[] = { 1, 1 }, two = 2;
    const float weights[] = { 1, 1, 1, NAN, 1, 1 };
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *f = begin(&p, path);
    gnt_dataset *d = NULL;

    (void)state;
    gnt_assert_ok(gnti_h5_write_values(f, "/nodes/y", GNTI_FILE_I64, 1, &n, y));
    gnt_assert_ok(gnti_h5_write_values(f, "/nodes/classes", GNTI_FILE_TEXT, 1, &three, names));
    gnt_assert_status(finish(&f, path, &d), GNT_ERR_FORMAT);
    gnt_assert_error_has("names 3 classes", "has 2");
    f = begin(&p, path);
    gnt_assert_ok(gnti_h5_write_values(f, "/graph/adj/data", GNTI_FILE_F32, 1, &p.num_arcs, weights));
    gnt_assert_status(finish(&f, path, &d), GNT_ERR_FORMAT);
    gnt_assert_error_has("from 2 to 1", "nan");
    f = begin(&p, path);
    gnt_assert_ok(gnti_h5_write_values(f, "/splits/s/train", GNTI_FILE_I64, 1, &two, twice));
    gnt_assert_status(finish(&f, path, &d), GNT_ERR_FORMAT);
    gnt_assert_error_has("not ascending");
}

/* Scenario 16, whole: a read-only file in a read-only folder. */
static void read_only_datasets_open(void **state)
{
    const gnt_full_options o = { .seed = 1, .num_nodes = 6 };
    gnt_dataset *d = gnt_full_dataset(&o), *back = NULL;
    char folder[GNT_TEST_PATH_BYTES], path[GNT_TEST_PATH_BYTES + 8];

    (void)state;
    gnt_assert_ok(gnti_folder_create(gnt_test_path(folder, "readonly")));
    snprintf(path, sizeof path, "%s/d.h5", folder);
    gnt_assert_ok(gnt_dataset_save(d, path));
    assert_true(chmod(path, 0444) == 0 && chmod(folder, 0555) == 0);
    gnt_assert_ok(gnt_dataset_open(NULL, path, &back));
    assert_int_equal(chmod(folder, 0755), 0);
    gnt_dataset_free(&d);
    gnt_dataset_free(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(sums_are_those_of_the_document),
        cmocka_unit_test(sums_cover_content_only),
        cmocka_unit_test(rows_with_a_third_dimension_are_refused),
        cmocka_unit_test(wrong_headings_and_graphs_are_refused),
        cmocka_unit_test(later_minor_versions_are_read),
        cmocka_unit_test(files_that_are_not_canonical_are_put_right),
        cmocka_unit_test(habits_of_others_are_taken),
        cmocka_unit_test(wrong_members_are_refused),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(read_only_datasets_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
