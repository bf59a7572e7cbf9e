/* SPDX-License-Identifier: Apache-2.0 */
/* Golden trainings through the trainer: the shared data folder's losses before each step (float64, an independent
 * program) for GCN with Adam and coupled decay on the first layer, and with momentum SGD; karate here, Cora when Python
 * can convert it. Tolerance 4e-7: what
 * two other tools stay within in float32 over 100 steps.
 * label: medium
 */
#include "tests/support/nn_case.h"
#include "tests/support/train_case.h"

#include "base/file.h"
#include "base/json.h"
#include "train/trainer_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KARATE = 34, MAX_STEPS = 200 };
#define TOLERANCE 4e-7

/* Golden parameters: biases too, in the order of declaration. */
static void set_parameters(gnt_trainer *tr)
{
    float *w = NULL;

    gnt_assert_ok(gnti_calloc_array(&w, gnti_params_num_floats(tr->lead->params)));
    for (int32_t p = 0; p < gnti_params_count(tr->lead->params); p++) {
        const gnti_param_info *info = gnti_params_info(tr->lead->params, p);

        for (int64_t k = 0; k < info->in * info->out; k++)
            w[info->offset + k] = nn_golden_value((uint32_t)p, (uint32_t)k);
    }
    gnt_assert_ok(gnti_params_write(tr->lead->params, GNTI_BLOCK_WEIGHTS, w));
    gnti_free(w);
}

static void follow(gnt_model *model, const gnt_dataset *data, gnt_trainer_config *config,
                   const gnti_json *golden)
{
    const gnti_json *losses = gnti_json_find(golden, "loss_before_each_step");
    const int64_t steps = gnti_json_length(losses);
    gnt_trainer *tr = NULL;
    double got[MAX_STEPS], worst = 0.0;

    assert_in_range(steps, 20, MAX_STEPS);
    config->epochs = steps;
    gnt_assert_ok(gnt_trainer_create(model, data, config, &tr));
    set_parameters(tr);
    assert_int_equal(train_case_run(tr, MAX_STEPS, 0, got), steps);
    for (int64_t i = 0; i < steps; i++) {
        double want = NAN;

        assert_true(gnti_json_to_number(gnti_json_at(losses, i), &want));
        worst = fmax(worst, fabs(got[i] - want) / want);
    }
    print_message("worst relative difference of %lld losses: %.2g\n", (long long)steps, worst);
    assert_true(worst <= TOLERANCE);
    gnt_trainer_free(&tr);
}

static gnti_json *load_golden(const char *name)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_json *root = NULL;

    gnt_assert_ok(gnti_json_read(gnt_test_data(path, name), &root));
    return root;
}

/* metis/karate.graph: line i + 2 lists the neighbours of node i from 1; identity features. */
static void test_karate(void **state)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_json *root = load_golden("golden/karate_golden.json");
    const gnti_json *labels = gnti_json_find(root, "labels");
    char *text = gnt_test_read(gnt_test_data(path, "metis/karate.graph"), NULL), *p = strchr(text, '\n') + 1;
    gnt_dataset_arrays a;
    int64_t indptr[KARATE + 1] = { 0 }, y[KARATE], train[] = { 0, 33 }, valid[] = { 1, 32 }, num = 0;
    int32_t indices[156];
    float x[KARATE * KARATE] = { 0 };
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL;
    gnt_model *model = NULL;
    gnt_trainer_config config;

    (void)state;
    for (int64_t i = 0; i < KARATE; i++) {
        char *end = strchr(p, '\n');

        for (char *next = NULL; p < end; p = next) {
            const long v = strtol(p, &next, 10);

            if (next == p || next > end)
                break;
            indices[num++] = (int32_t)v - 1;
        }
        p = end + 1;
        indptr[i + 1] = num;
        assert_true(gnti_json_to_int(gnti_json_at(labels, i), &y[i]));
        x[i * KARATE + i] = 1.0f;
    }
    assert_int_equal(num, 156);
    gnt_dataset_arrays_init(&a);
    a.num_nodes = a.num_features = KARATE;
    a.num_classes = 2;
    a.indptr = indptr;
    a.indices = indices;
    a.x = x;
    a.label_kind = GNT_LABELS_CLASS;
    a.y_class = y;
    a.train = train;
    a.valid = valid;
    a.num_train = a.num_valid = 2;
    gnt_assert_ok(gnt_context_create(NULL, &ctx));
    gnt_assert_ok(gnt_dataset_from_arrays(ctx, &a, &data));
    gnt_assert_ok(gnt_model_create(data, "gcn:4, gcn", &model));
    gnt_trainer_config_init(&config);
    config.weight_decay = "1:5e-4";
    follow(model, data, &config, gnti_json_find(gnti_json_find(root, "training"), "gcn_adam"));
    gnt_model_free(&model);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    gnti_json_free(&root);
    gnti_free(text);
}

static void test_cora(void **state)
{
    char folder[GNT_TEST_PATH_BYTES], file[GNT_TEST_PATH_BYTES], command[3 * GNT_TEST_PATH_BYTES];
    gnti_json *root = load_golden("golden/cora_golden.json");
    gnt_context *ctx = NULL;
    gnt_dataset *data = NULL;
    gnt_model *model = NULL;
    gnt_trainer_config config;

    (void)state;
    gnt_test_data(folder, "planetoid/cora");
    gnt_test_path(file, "cora.h5");
    snprintf(command, sizeof command,
             "PYTHONPATH='%s/tools/python' \"${GNT_PYTHON:-python3}\" -m gnntrain_io planetoid '%s' cora -o "
             "'%s' >/dev/null 2>&1",
             GNT_SOURCE_DIR, folder, file);
    if (system(command) != 0) {
        print_message("skipped: python3 with numpy and h5py could not convert Cora\n");
        gnti_json_free(&root);
        skip();
    }
    gnt_assert_ok(gnt_context_create(NULL, &ctx));
    gnt_assert_ok(gnt_dataset_open(ctx, file, &data));
    gnt_assert_ok(gnt_model_create(data, "gcn:16, gcn", &model));
    gnt_trainer_config_init(&config);
    config.normalize_features = 1;
    config.weight_decay = "1:5e-4";
    config.eval_every = 50;
    follow(model, data, &config, gnti_json_find(gnti_json_find(root, "training"), "gcn_adam"));
    config.weight_decay = NULL;
    config.optimizer = GNTI_TRAIN_SGD;
    config.lr = 0.5;
    follow(model, data, &config, gnti_json_find(gnti_json_find(root, "training"), "gcn_sgd"));
    gnt_model_free(&model);
    gnt_dataset_free(&data);
    gnt_context_free(&ctx);
    gnti_json_free(&root);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_karate), cmocka_unit_test(test_cora) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
