/* SPDX-License-Identifier: Apache-2.0 */
/* The dataset of tests of train/: node i has class i mod 3; pairs of a class are joined with probability 0.2, others with
 * 0.02; feature c of a node is noise in [-1, 1) plus 0.7 where c is its class.
 */
#include "tests/support/train_case.h"

#include "base/philox.h"

#include <math.h>
#include <string.h>

static bool joined(gnti_philox_key key, int64_t a, int64_t b)
{
    const int64_t low = a < b ? a : b, high = a < b ? b : a;
    const float p = a % 3 == b % 3 ? 0.2f : 0.02f;

    return a != b && gnti_uniform(gnti_draw_word(key, GNTI_DRAW_GENERATE, 7, 0, low, (uint32_t)high)) < p;
}

static void fill_graph(train_case *c, gnti_philox_key key)
{
    int64_t num = 0;

    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        for (int64_t j = 0; j < TRAIN_CASE_NODES; j++)
            if (joined(key, i, j))
                c->indices[num++] = (int32_t)j;
        c->indptr[i + 1] = num;
    }
}

static void fill_nodes(train_case *c, gnt_label_kind kind, uint64_t seed)
{
    gnt_test_fill(c->x, TRAIN_CASE_NODES * TRAIN_CASE_FEATURES, seed);
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        c->x[i * TRAIN_CASE_FEATURES + i % 3] += 0.7f;
        c->y_class[i] = i == 0 ? -1 : i % 3;
        for (int64_t k = 0; k < TRAIN_CASE_CLASSES; k++) {
            c->y_row[i * TRAIN_CASE_CLASSES + k] = i % 3 == k || (i + k) % 5 == 0 ? 1.0f : 0.0f;
            if (kind == GNT_LABELS_REGRESSION)
                c->y_row[i * TRAIN_CASE_CLASSES + k] = i == 0 ? NAN : 0.5f * (float)(i % 3) - (float)k;
        }
    }
}

void train_case_arrays(train_case *c, gnt_label_kind kind, uint64_t seed)
{
    const int64_t n = TRAIN_CASE_NODES;

    memset(c, 0, sizeof *c);
    gnt_assert_ok(gnti_calloc_array(&c->indptr, n + 1));
    gnt_assert_ok(gnti_alloc_array(&c->indices, n * n));
    gnt_assert_ok(gnti_alloc_array(&c->x, n * TRAIN_CASE_FEATURES));
    gnt_assert_ok(gnti_alloc_array(&c->y_class, n));
    gnt_assert_ok(gnti_alloc_array(&c->y_row, n * TRAIN_CASE_CLASSES));
    gnt_assert_ok(gnti_alloc_array(&c->train, n));
    gnt_assert_ok(gnti_alloc_array(&c->valid, n));
    gnt_assert_ok(gnti_alloc_array(&c->test, n));
    fill_graph(c, gnti_seed_key(seed));
    fill_nodes(c, kind, seed);
    gnt_dataset_arrays_init(&c->arrays);
    c->arrays.num_nodes = n;
    c->arrays.num_features = TRAIN_CASE_FEATURES;
    c->arrays.num_classes = TRAIN_CASE_CLASSES;
    c->arrays.indptr = c->indptr;
    c->arrays.indices = c->indices;
    c->arrays.x = c->x;
    c->arrays.label_kind = kind;
    c->arrays.y_class = kind == GNT_LABELS_CLASS ? c->y_class : NULL;
    c->arrays.y_row = kind == GNT_LABELS_CLASS ? NULL : c->y_row;
    c->arrays.train = c->train;
    c->arrays.valid = c->valid;
    c->arrays.test = c->test;
    for (int64_t i = 0; i < n; i++) {
        if (i < 24)
            c->train[c->arrays.num_train++] = i;
        else if (i < 45)
            c->valid[c->arrays.num_valid++] = i;
        else
            c->test[c->arrays.num_test++] = i;
    }
    gnt_trainer_config_init(&c->config);
    gnt_model_config_init(&c->model_config);
    c->config.epochs = 40;
    c->config.lr = 0.05;
    c->config.checkpoint_every = 10;
    c->model_config.dropout = 0.4;
    c->text = "gcn:8, gcn";
}

void train_case_dataset(train_case *c, const char *settings)
{
    gnt_assert_ok(gnt_context_create(settings, &c->ctx));
    gnt_assert_ok(gnt_dataset_from_arrays(c->ctx, &c->arrays, &c->data));
    gnt_assert_ok(gnt_model_create_with(c->data, c->text, &c->model_config, &c->model));
}

void train_case_make(train_case *c, uint64_t seed)
{
    train_case_arrays(c, GNT_LABELS_CLASS, seed);
    train_case_dataset(c, NULL);
}

void train_case_free(train_case *c)
{
    gnt_model_free(&c->model);
    gnt_dataset_free(&c->data);
    gnt_context_free(&c->ctx);
    gnti_free(c->indptr);
    gnti_free(c->indices);
    gnti_free(c->x);
    gnti_free(c->y_class);
    gnti_free(c->y_row);
    gnti_free(c->train);
    gnti_free(c->valid);
    gnti_free(c->test);
    memset(c, 0, sizeof *c);
}

char *train_case_save(train_case *c, const char *name, char out[GNT_TEST_PATH_BYTES])
{
    gnt_test_path(out, name);
    gnt_assert_ok(gnt_dataset_save(c->data, out));
    gnt_model_free(&c->model);
    gnt_dataset_free(&c->data);
    gnt_assert_ok(gnt_dataset_open(c->ctx, out, &c->data));
    gnt_assert_ok(gnt_model_create_with(c->data, c->text, &c->model_config, &c->model));
    return out;
}

gnt_trainer *train_case_trainer(train_case *c)
{
    gnt_trainer *tr = NULL;

    gnt_assert_ok(gnt_trainer_create(c->model, c->data, &c->config, &tr));
    return tr;
}

int64_t train_case_run(gnt_trainer *tr, int64_t epochs, int32_t member, double *losses)
{
    gnt_epoch_stats s = { .struct_size = sizeof s };
    int64_t done = 0;

    while (done < epochs && gnt_trainer_next(tr, &s)) {
        if (losses != NULL)
            losses[done] = s.member_train_loss[member];
        done++;
    }
    return done;
}
