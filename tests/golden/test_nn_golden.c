/* SPDX-License-Identifier: Apache-2.0 */
/* Golden numbers (float64, PyTorch and PyG as second witnesses): loss, logits and gradients of every model that the ops
 * express, and losses of whole trainings. Tolerances: 1e-5 of the largest value, gradients 5e-5.
 * label: medium
 */
#include "tests/support/nn_case.h"
#include "tests/support/nn_nets.h"

#include "base/json.h"
#include "datasets/byte_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gnti_json *load(const char *name)
{
    char path[GNT_TEST_PATH_BYTES], relative[128];
    gnti_json *root = NULL;
    char *text;
    int64_t bytes;

    snprintf(relative, sizeof relative, "golden/%s_golden.json", name);
    text = gnt_test_read(gnt_test_data(path, relative), &bytes);
    gnt_assert_ok(gnti_json_parse(text, (size_t)bytes, path, &root));
    gnti_free(text);
    return root;
}

static const gnti_json *at(const gnti_json *v, const char *a, const char *b, const char *c)
{
    v = gnti_json_find(v, a);
    v = v != NULL && b != NULL ? gnti_json_find(v, b) : v;
    v = v != NULL && c != NULL ? gnti_json_find(v, c) : v;
    assert_non_null(v);
    return v;
}

static double number(const gnti_json *v)
{
    double x = 0.0;

    assert_non_null(v);
    assert_true(gnti_json_to_number(v, &x));
    return x;
}

static void close_to(double got, double want, double tolerance, const char *what)
{
    if (!(fabs(got - want) <= tolerance)) {
        print_error("%s: got %.9g, want %.9g, tolerance %.3g\n", what, got, want, tolerance);
        fail();
    }
}

/* ---- the three graphs ---- */

static void make_arcs(nn_data *d, const int64_t *ends, int64_t count, int64_t nodes, int64_t width,
                      int64_t classes, bool weighted)
{
    gnti_arc_list arcs = { .num_arcs = count };

    gnt_assert_ok(gnti_alloc_array(&arcs.source, count + 1));
    gnt_assert_ok(gnti_alloc_array(&arcs.target, count + 1));
    if (weighted)
        gnt_assert_ok(gnti_alloc_array(&arcs.weight, count + 1));
    for (int64_t i = 0; i < count; i++) {
        arcs.source[i] = ends[2 * i];
        arcs.target[i] = ends[2 * i + 1];
        if (weighted)
            arcs.weight[i] = 1.0f + 0.5f * (float)((ends[2 * i] + ends[2 * i + 1]) % 3);
    }
    nn_data_from_arcs(d, nodes, &arcs, true, width, classes);
    gnti_free(arcs.source);
    gnti_free(arcs.target);
    gnti_free(arcs.weight);
}

static void load_tiny(nn_data *d, const gnti_json *root, bool weighted)
{
    const int64_t ends[] = { 0, 1, 1, 2, 2, 0, 2, 3 };
    const gnti_json *x = at(root, "X", NULL, NULL), *y = at(root, "labels", NULL, NULL);

    make_arcs(d, ends, 4, 5, 3, 2, weighted);
    for (int64_t i = 0; i < 5; i++) {
        for (int64_t c = 0; c < 3; c++)
            d->dense[3 * i + c] = (float)number(gnti_json_at(gnti_json_at(x, i), c));
        d->labels[i] = (int32_t)number(gnti_json_at(y, i));
    }
    d->weight[0] = d->weight[1] = d->weight[4] = 1.0f;
}

/* The METIS file: a line per node with its neighbours, from 1. */
static void load_karate(nn_data *d, const gnti_json *root, bool weighted)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t ends[2 * 200], count = 0, node = -1;
    char *text = gnt_test_read(gnt_test_data(path, "metis/karate.graph"), NULL), *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *rest = line, *end;

        if (line[0] == '%')
            continue;
        for (node++; node > 0; rest = end) {
            const long v = strtol(rest, &end, 10);

            if (end == rest)
                break;
            ends[2 * count] = node - 1;
            ends[2 * count++ + 1] = v - 1;
        }
    }
    gnti_free(text);
    assert_int_equal(count, 156);
    make_arcs(d, ends, count, 34, 34, 2, weighted);
    for (int64_t i = 0; i < 34; i++) {
        d->dense[35 * i] = 1.0f;
        d->labels[i] = (int32_t)number(gnti_json_at(at(root, "labels", NULL, NULL), i));
    }
    d->weight[0] = d->weight[33] = 1.0f;
}

/* All whole numbers of a compressed csv file, in order. */
static int64_t *read_numbers(const char *relative, int64_t *count)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_byte_source *source = NULL;
    int64_t *out = NULL, capacity = 0, value = 0;
    const char *block;
    size_t bytes;
    bool inside = false;

    *count = 0;
    gnt_assert_ok(gnti_byte_source_open(gnt_test_data(path, relative), &source));
    do {
        gnt_assert_ok(gnti_byte_source_next(source, &block, &bytes));
        gnt_assert_ok(gnti_grow_array(&out, &capacity, *count + (int64_t)bytes + 1));
        for (size_t i = 0; i < bytes; i++) {
            const bool digit = block[i] >= '0' && block[i] <= '9';

            if (inside && !digit)
                out[(*count)++] = value;
            value = digit ? (inside ? 10 * value : 0) + (block[i] - '0') : 0;
            inside = digit;
        }
    } while (bytes > 0);
    gnti_byte_source_free(&source);
    return out;
}

static void load_cora(nn_data *d, bool weighted, bool normalised)
{
    int64_t count, *ends = read_numbers("rosetta/cora-ogb/raw/edge.csv.gz", &count), *values;

    make_arcs(d, ends, count / 2, 2708, 1433, 7, weighted);
    gnti_free(ends);
    values = read_numbers("rosetta/cora-ogb/raw/node-feat.csv.gz", &count);
    assert_int_equal(count, 2708 * 1433);
    for (int64_t r = 0; r < 2708; r++) {
        int64_t sum = 0;

        for (int64_t c = 0; c < 1433; c++)
            sum += values[r * 1433 + c];
        for (int64_t c = 0; c < 1433; c++)
            d->dense[r * 1433 + c] = (float)values[r * 1433 + c] / (normalised ? (float)sum : 1.0f);
    }
    gnti_free(values);
    values = read_numbers("rosetta/cora-ogb/raw/node-label.csv.gz", &count);
    for (int64_t r = 0; r < 2708; r++)
        d->labels[r] = (int32_t)values[r];
    gnti_free(values);
    for (int64_t r = 0; r < 140; r++)
        d->weight[r] = 1.0f;
}

/* ---- models ---- */

/* Largest logit by the file, as scale of the tolerance. */
static void check_logits(const gnti_json *golden, const float *z, int64_t rows, int64_t classes)
{
    const gnti_json *all = gnti_json_find(at(golden, "logits", NULL, NULL), "all_nodes");
    const gnti_json *first = all != NULL ? all : at(golden, "logits", "first_20_nodes", NULL);
    const double largest = fmax(fabs(number(at(golden, "logits", "min", NULL))),
                                fabs(number(at(golden, "logits", "max", NULL))));
    double sum = 0.0;

    for (int64_t r = 0; r < gnti_json_length(first); r++)
        for (int64_t c = 0; c < classes; c++)
            close_to((double)z[r * classes + c], number(gnti_json_at(gnti_json_at(first, r), c)),
                     1e-5 * largest, "logit");
    for (int64_t i = 0; i < rows * classes; i++)
        sum += (double)z[i];
    close_to(sum, number(at(golden, "logits", "sum", NULL)), 1e-5 * largest * sqrt((double)(rows * classes)),
             "sum of logits");
}

static void check_gradients(const gnti_json *golden, const float *g)
{
    const gnti_json *shapes = at(golden, "parameter_shapes", NULL, NULL);
    int64_t offset = 0;

    for (int64_t i = 0; i < gnti_json_length(shapes); i++) {
        const char *key = gnti_json_key_at(shapes, i);
        const gnti_json *shape = at(shapes, key, NULL, NULL), *want = at(golden, "gradients", key, NULL);
        const gnti_json *first = at(want, "first_5", NULL, NULL);
        const double largest = number(at(want, "max_abs", NULL, NULL)), tolerance = 5e-5 * largest + 1e-9;
        int64_t count = 1;
        double norm = 0.0, sum = 0.0;

        for (int64_t k = 0; k < gnti_json_length(shape); k++)
            count *= (int64_t)number(gnti_json_at(shape, k));
        for (int64_t k = 0; k < count; k++) {
            norm += (double)g[offset + k] * (double)g[offset + k];
            sum += (double)g[offset + k];
        }
        close_to(sqrt(norm), number(at(want, "frobenius_norm", NULL, NULL)),
                 5e-5 * number(at(want, "frobenius_norm", NULL, NULL)) + 1e-8, key);
        close_to(sum, number(at(want, "sum", NULL, NULL)), tolerance * sqrt((double)count), key);
        for (int64_t k = 0; k < gnti_json_length(first); k++)
            close_to((double)g[offset + k], number(gnti_json_at(first, k)), tolerance, key);
        if (largest > 1e-9)
            close_to(fabs((double)g[offset + (int64_t)number(at(want, "argmax_abs_flat_index", NULL, NULL))]),
                     largest, tolerance, key);
        offset += count;
    }
}

static void check_model(gnt_context *ctx, const nn_data *d, const gnti_json *root, const char *golden_name,
                        const char *text, bool sparse, uint32_t disabled)
{
    const gnti_json *golden = at(root, "models", golden_name, NULL);
    nn_setup s = {
        .ctx = ctx, .data = d, .text = text, .sparse = sparse, .disabled = disabled, .keep_logits = true
    };
    nn_case c;
    float *values = NULL;
    double loss;

    nn_case_make(&s, &c);
    nn_case_fill(&c, true, 1.0f);
    nn_case_run(&c, 0, 0.0f, NULL, &loss);
    close_to(loss, number(at(golden, "loss_train", NULL, NULL)),
             1e-5 * fabs(number(at(golden, "loss_train", NULL, NULL))), golden_name);
    gnt_assert_ok(gnti_calloc_array(
        &values, gnti_max_i64(gnti_params_num_floats(c.params), d->num_nodes * d->classes) + 1));
    gnt_assert_ok(gnti_program_read_logits(c.program, 0, values));
    check_logits(golden, values, d->num_nodes, d->classes);
    nn_case_grads(&c, 0, values);
    check_gradients(golden, values);
    gnti_free(values);
    nn_case_free(&c);
}

/* On the processor, or on the back end that GNT_TEST_DEVICE names. */
static gnt_context *make_context(void)
{
    const char *device = getenv("GNT_TEST_DEVICE");
    char settings[64];
    gnt_context *ctx = NULL;

    snprintf(settings, sizeof settings, "device=%s", device != NULL ? device : "cpu");
    gnt_assert_ok(gnt_context_create(settings, &ctx));
    gnt_assert_ok(gnt_layer_register(ctx, &nn_net_layer));
    return ctx;
}

static const uint32_t all_passes = 255;

static void check_all(const char *name, int hidden, void (*load_data)(nn_data *, const gnti_json *, bool))
{
    static const struct {
        const char *name, *net;
        bool fixed; /* the text has its widths */
    } models[] = { { "mlp", "kind=mlp", false },
                   { "gcn", "kind=gcn", false },
                   { "sage_mean", "kind=sage", false },
                   { "gin", "kind=gin", false },
                   { "sgc", "kind=sgc", false },
                   { "appnp", "kind=appnp", false },
                   { "gcnii", "kind=gcnii", false },
                   { "gat1", "kind=gat:hidden=8", true },
                   { "gat2", "kind=gat:heads=2:hidden=8", true } };
    char layers[4][64], text[96];
    gnti_json *root = load(name);
    gnt_context *ctx = make_context();
    nn_data plain, weighted;

    static const char *const layer_names[4] = { "gcn", "sage_mean", "gat1", "gat2" };

    snprintf(layers[0], sizeof layers[0], "gcn:%d, gcn", hidden);
    snprintf(layers[1], sizeof layers[1], "sage:%d, sage", hidden);
    snprintf(layers[2], sizeof layers[2], "gat:8:act=elu, gat");
    snprintf(layers[3], sizeof layers[3], "gat:4x2:act=elu, gat");
    load_data(&plain, root, false);
    load_data(&weighted, root, true);
    nn_data_set_sparse(&plain);
    nn_data_set_sparse(&weighted);
    for (int off = 0; off < 2; off++) {
        for (size_t i = 0; i < sizeof models / sizeof *models; i++)
            for (int sparse = 0; sparse < 2; sparse++) {
                snprintf(text, sizeof text, models[i].fixed ? "net:%s" : "net:%s:hidden=%d", models[i].net,
                         hidden);
                check_model(ctx, &plain, root, models[i].name, text, sparse != 0, off ? all_passes : 0);
            }
        snprintf(text, sizeof text, "net:kind=gcn:hidden=%d", hidden);
        check_model(ctx, &weighted, root, "gcn_weighted", text, false, off ? all_passes : 0);
        for (int i = 0; i < 4; i++) /* the layers themselves */
            check_model(ctx, &plain, root, layer_names[i], layers[i], i % 2 == 0, off ? all_passes : 0);
    }
    nn_data_free(&plain);
    nn_data_free(&weighted);
    gnt_context_free(&ctx);
    gnti_json_free(&root);
}

static void load_cora_raw(nn_data *d, const gnti_json *root, bool weighted)
{
    (void)root;
    load_cora(d, weighted, false);
}

static void test_tiny(void **state)
{
    (void)state;
    check_all("tiny", 4, load_tiny);
}

static void test_karate(void **state)
{
    (void)state;
    check_all("karate", 4, load_karate);
}

static void test_cora(void **state)
{
    (void)state;
    check_all("cora", 16, load_cora_raw);
}

/* ---- trainings ---- */

/* Tolerances are those that two other tools keep in float32. */

static void check_training(gnt_context *ctx, const nn_data *d, const gnti_json *root, const char *run,
                           const char *kind, int hidden, bool sparse, double tolerance)
{
    char text[64];
    const gnti_json *golden = at(root, "training", run, NULL),
                    *losses = at(golden, "loss_before_each_step", NULL, NULL);
    const bool sgd = strstr(run, "sgd") != NULL;
    nn_setup s = { .ctx = ctx,
                   .data = d,
                   .text = text,
                   .sparse = sparse,
                   .optimizer = sgd ? GNT_OPTIMIZER_SGD : GNT_OPTIMIZER_ADAM };
    nn_case c;

    snprintf(text, sizeof text, "net:kind=%s:hidden=%d:decayed=%d", kind, hidden,
             (int)gnti_json_length(at(golden, "weight_decay_on", NULL, NULL)));
    s.decay_first = (float)number(at(golden, "weight_decay", NULL, NULL));
    nn_case_make(&s, &c);
    nn_case_fill(&c, true, 1.0f);
    for (int64_t i = 0; i < gnti_json_length(losses); i++) {
        double loss;

        nn_case_run(&c, i, (float)number(at(golden, "lr", NULL, NULL)), NULL, &loss);
        close_to(loss, number(gnti_json_at(losses, i)), tolerance, run);
    }
    nn_case_free(&c);
}

static void test_training(void **state)
{
    gnti_json *karate = load("karate"), *cora = load("cora");
    gnt_context *ctx = make_context();
    nn_data d;

    (void)state;
    load_karate(&d, karate, false);
    nn_data_set_sparse(&d);
    check_training(ctx, &d, karate, "gcn_adam", "gcn", 4, false, 4e-7);
    nn_data_free(&d);
    load_cora(&d, false, true);
    nn_data_set_sparse(&d);
    check_training(ctx, &d, cora, "gcn_adam", "gcn", 16, true, 4e-7);
    check_training(ctx, &d, cora, "gcn_sgd", "gcn", 16, true, 4e-7);
    check_training(ctx, &d, cora, "sage_adam", "sage", 16, true, 4e-7);
    check_training(ctx, &d, cora, "gat1_adam", "gat", 8, true, 1.4e-4);
    nn_data_free(&d);
    gnt_context_free(&ctx);
    gnti_json_free(&karate);
    gnti_json_free(&cora);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny),
        cmocka_unit_test(test_karate),
        cmocka_unit_test(test_cora),
        cmocka_unit_test(test_training),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
