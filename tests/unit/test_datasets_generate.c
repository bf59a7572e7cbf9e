/* SPDX-License-Identifier: Apache-2.0 */
/* Generators: known shapes, the karate club's published facts, degree laws, the bound of the block model. */
#include "tests/support/gnt_test.h"

#include "datasets/generate.h"

#include "base/option.h"
#include "base/sha256.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

static gntx_generate_options defaults(void)
{
    gntx_generate_options o;

    gnt_assert_ok(gnti_options_defaults(gntx_generate_option_table(), &o));
    return o;
}

static gnt_dataset *make(const char *kind, const gntx_generate_options *o)
{
    gnt_dataset *d = NULL;

    gnt_assert_ok(gntx_generate(NULL, kind, o, &d, NULL));
    gnt_assert_ok(gnti_dataset_validate(d));
    assert_false(d->directed);
    return d;
}

static void assert_sum_of(gnti_text *text, const char *want)
{
    char hex[65], *all = NULL;

    gnt_assert_ok(gnti_text_take(text, &all));
    gnt_assert_ok(gnti_sha256_of(all, strlen(all), hex));
    assert_string_equal(hex, want);
    gnti_free(all);
}

/* Digests of the edge list "u v" and of the labels, made from another copy of the same graph. */
static void karate_is_the_published_one(void **state)
{
    const gntx_generate_options o = defaults();
    gnt_dataset *d = make("karate", &o);
    gnti_text edges = { .status = GNT_OK }, labels = { .status = GNT_OK };
    const int64_t *train;

    (void)state;
    assert_int_equal(d->graph->num_arcs, 156);
    for (int64_t u = 0; u < 34; u++) {
        for (int64_t a = d->graph->offsets[u]; a < d->graph->offsets[u + 1]; a++)
            if (u < d->graph->columns[a])
                gnti_text_printf(&edges, "%d %d\n", (int)u, d->graph->columns[a]);
        gnti_text_printf(&labels, "%d\n", d->y.class_of[u]);
        assert_int_equal(d->x.sparse->columns[u], u);
    }
    assert_sum_of(&edges, "2095f3a8d35c292020188d1a0fd641effd209a09bc854973d8d6425604f91f6c");
    assert_sum_of(&labels, "376f2cf8b39cacd19a7116ef501d106d961ce922b0970c030716f4d984215b28");
    assert_int_equal(d->splits[0].num_nodes[GNTI_TRAIN], 4);
    train = d->splits[0].nodes[GNTI_TRAIN];
    assert_true(train[0] == 0 && train[1] == 4 && train[2] == 8 && train[3] == 23);
    gnt_dataset_free(&d);
}

static void small_shapes_are_right(void **state)
{
    gntx_generate_options o = defaults();
    gnt_dataset *d;

    (void)state;
    o.rows = 3;
    o.columns = 4;
    d = make("grid", &o);
    assert_int_equal(d->num_nodes, 12);
    assert_int_equal(d->graph->num_arcs, 2 * (3 * 3 + 2 * 4));
    assert_int_equal(d->graph->offsets[6] - d->graph->offsets[5], 4); /* an inner node */
    assert_int_equal(d->graph->columns[d->graph->offsets[5]], 1);
    gnt_dataset_free(&d);
    o = defaults();
    o.nodes = 5;
    d = make("star", &o);
    assert_int_equal(d->graph->num_arcs, 8);
    assert_int_equal(d->graph->offsets[1], 4);
    gnt_dataset_free(&d);
    d = make("path", &o);
    assert_int_equal(d->graph->num_arcs, 8);
    assert_int_equal(d->graph->offsets[1], 1);
    gnt_dataset_free(&d);
    o.nodes = 1;
    d = make("path", &o);
    assert_int_equal(d->graph->num_arcs, 0);
    gnt_dataset_free(&d);
}

/* A quarter of the arcs merge, a fifth of the nodes have no edge, one hub sees a quarter of all: far from uniform. */
static void rmat_follows_graph500(void **state)
{
    gntx_generate_options o = defaults();
    gnt_dataset *d, *same;
    int64_t isolated = 0, most = 0;

    (void)state;
    o.scale = 12;
    d = make("rmat", &o);
    same = make("rmat", &o);
    assert_string_equal(d->content_sha256, same->content_sha256);
    assert_int_equal(d->num_nodes, 4096);
    for (int64_t v = 0; v < d->num_nodes; v++) {
        const int64_t degree = d->graph->offsets[v + 1] - d->graph->offsets[v];

        isolated += degree == 0;
        most = gnti_max_i64(most, degree);
    }
    assert_in_range(d->graph->num_arcs, 85000, 110000); /* 131072 arcs less repeats and loops */
    assert_in_range(isolated, 500, 1200);
    assert_in_range(most, 700, 1600);
    gnt_dataset_free(&same);
    o.seed = 1;
    same = make("rmat", &o);
    assert_string_not_equal(d->content_sha256, same->content_sha256);
    gnt_dataset_free(&d);
    gnt_dataset_free(&same);
}

static double number(const gntx_json *report, const char *key)
{
    double value = -1.0;

    assert_true(gntx_json_to_number(gntx_json_find(report, key), &value));
    return value;
}

static void block_model_keeps_its_promises(void **state)
{
    gntx_generate_options o = defaults();
    gntx_json *report = NULL;
    gnt_dataset *d = NULL;
    int64_t inside = 0, count[4] = { 0 };
    double with, without;

    (void)state;
    o.nodes = 4000;
    gnt_assert_ok(gntx_generate(NULL, "csbm", &o, &d, &report));
    for (int64_t v = 0; v < d->num_nodes; v++) {
        count[d->y.class_of[v]]++;
        for (int64_t a = d->graph->offsets[v]; a < d->graph->offsets[v + 1]; a++)
            inside += d->y.class_of[v] == d->y.class_of[d->graph->columns[a]];
    }
    for (int c = 0; c < 4; c++)
        assert_int_equal(count[c], 1000);
    assert_true(fabs((double)inside / (double)d->graph->num_arcs - 0.8) < 0.01);
    assert_true(fabs((double)d->graph->num_arcs / 4000.0 - 10.0) < 0.1);
    with = number(report, "bayes_accuracy");
    without = number(report, "bayes_accuracy_features");
    assert_true(without > 0.4 && without < 0.6 && with > 0.97 && with <= 1.0);
    assert_non_null(strstr(d->provenance, "bayes_accuracy"));
    assert_int_equal(d->splits[0].num_nodes[0], 2400);
    gntx_json_free(&report);
    gnt_dataset_free(&d);
}

/* The classifier behind the bound, run on the graph: its accuracy must be near the stated one. Features only, so that it
 * is the nearest class mean, which the test estimates from the data. */
static void stated_accuracy_is_reached(void **state)
{
    gntx_generate_options o = defaults();
    gntx_json *report = NULL;
    gnt_dataset *d = NULL;
    double mean[4][16] = { { 0.0 } }, right = 0.0;

    (void)state;
    o.nodes = 8000;
    o.feature_signal = 2.0;
    gnt_assert_ok(gntx_generate(NULL, "csbm", &o, &d, &report));
    for (int64_t v = 0; v < d->num_nodes; v++)
        for (int j = 0; j < 16; j++)
            mean[d->y.class_of[v]][j] += (double)d->x.dense[v * 16 + j] / 2000.0;
    for (int64_t v = 0; v < d->num_nodes; v++) {
        double best = INFINITY;
        int choice = -1;

        for (int c = 0; c < 4; c++) {
            double far = 0.0;

            for (int j = 0; j < 16; j++)
                far += pow((double)d->x.dense[v * 16 + j] - mean[c][j], 2.0);
            if (far < best) {
                best = far;
                choice = c;
            }
        }
        right += choice == d->y.class_of[v];
    }
    assert_true(fabs(right / 8000.0 - number(report, "bayes_accuracy_features")) < 0.015);
    gntx_json_free(&report);
    gnt_dataset_free(&d);
}

static void extremes_of_the_block_model(void **state)
{
    gntx_generate_options o = defaults();
    gntx_json *report = NULL;
    gnt_dataset *d = NULL;

    (void)state;
    o.nodes = 400;
    o.homophily = 0.0;
    o.classes = 2;
    gnt_assert_ok(gntx_generate(NULL, "csbm", &o, &d, &report));
    for (int64_t v = 0; v < 400; v++)
        for (int64_t a = d->graph->offsets[v]; a < d->graph->offsets[v + 1]; a++)
            assert_int_not_equal(d->y.class_of[v], d->y.class_of[d->graph->columns[a]]);
    assert_true(number(report, "bayes_accuracy") > 0.99);
    gntx_json_free(&report);
    gnt_dataset_free(&d);
    o = defaults();
    o.nodes = 100;
    o.feature_signal = 0.0;
    o.homophily = 0.25; /* of 4 classes: edges say nothing */
    gnt_assert_ok(gntx_generate(NULL, "csbm", &o, &d, &report));
    assert_true(fabs(number(report, "bayes_accuracy") - 0.25) < 1e-9);
    gntx_json_free(&report);
    gnt_dataset_free(&d);
}

static void noise_is_added_where_asked_for(void **state)
{
    gntx_generate_options o = defaults();
    gnt_dataset *d;
    double sum = 0.0;

    (void)state;
    o.features = 8;
    o.classes = 3;
    d = make("grid", &o);
    assert_int_equal(d->x.width, 8);
    for (int64_t i = 0; i < d->num_nodes * 8; i++) {
        assert_true(d->x.dense[i] >= -1.0f && d->x.dense[i] < 1.0f);
        sum += (double)d->x.dense[i];
    }
    assert_true(fabs(sum) < 250.0);
    assert_int_equal(d->y.num_classes, 3);
    assert_int_equal(d->num_splits, 1);
    gnt_dataset_free(&d);
}

static void options_without_meaning_are_refused(void **state)
{
    gntx_generate_options o = defaults();
    gnt_dataset *d = NULL;

    (void)state;
    o.scale = 10;
    gnt_assert_status(gntx_generate(NULL, "karate", &o, &d, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("--scale", "karate");
    o = defaults();
    o.nodes = 100;
    gnt_assert_status(gntx_generate(NULL, "rmat", &o, &d, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("--nodes", "scale");
    gnt_assert_status(gntx_generate(NULL, "karat", &o, &d, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("'karat'", "'karate'");
    o = defaults();
    o.nodes = 3;
    gnt_assert_status(gntx_generate(NULL, "csbm", &o, &d, NULL), GNT_ERR_USAGE);
    gnt_assert_error_has("3 nodes", "4 classes");
    o = defaults();
    o.rows = o.columns = 100000;
    gnt_assert_status(gntx_generate(NULL, "grid", &o, &d, NULL), GNT_ERR_LIMIT);
    assert_null(d);
}

static void every_allocation_may_fail(void **state)
{
    static const char *const kinds[] = { "karate", "csbm", "rmat", "grid", "star", "path" };

    (void)state;
    for (int i = 0; i < 6; i++) {
        gntx_generate_options o = defaults();
        gnt_dataset *d = NULL;
        gntx_json *report = NULL;

        if (i == 1 || i > 3)
            o.nodes = 60;
        if (i == 2)
            o.scale = 3;
        if (i == 3)
            o.rows = o.columns = 3;
        GNT_BRUTAL_OUT(gntx_generate(NULL, kinds[i], &o, &d, &report), d);
        gntx_json_free(&report);
        gnt_dataset_free(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(karate_is_the_published_one),
        cmocka_unit_test(small_shapes_are_right),
        cmocka_unit_test(rmat_follows_graph500),
        cmocka_unit_test(block_model_keeps_its_promises),
        cmocka_unit_test(stated_accuracy_is_reached),
        cmocka_unit_test(extremes_of_the_block_model),
        cmocka_unit_test(noise_is_added_where_asked_for),
        cmocka_unit_test(options_without_meaning_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
