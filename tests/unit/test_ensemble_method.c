/* SPDX-License-Identifier: Apache-2.0 */
/* Methods step by step, driven as a run drives them: the schedule of snapshots and their weights; the running mean of SWA by hand;
 * statistics of norms by hand; who starts from which weights; soups of members that share a start and of members that do not; SWAP's
 * phases; EDDE's hand-over. */
#include "tests/support/train_case.h"

#include <gnntrain/experimental.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ensemble/method_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.17g, want %.17g within %g", got, want, tolerance);
}

static train_case g_case;

/* ---- a run without a manager ---- */

typedef struct drive {
    gnti_spec *spec;
    gnti_method_run *mr;
    char run[GNT_TEST_PATH_BYTES], members[GNT_TEST_PATH_BYTES];
} drive;

static void begin(drive *d, const char *text, const char *name)
{
    static int count;
    char folder[64];

    snprintf(folder, sizeof folder, "method-%s-%d", name, count++);
    gnt_test_path(d->run, folder);
    assert_true(snprintf(d->members, sizeof d->members, "%s/members", d->run) < (int)sizeof d->members);
    gnt_assert_ok(gnti_folder_create(d->run));
    gnt_assert_ok(gnti_folder_create(d->members));
    gnt_assert_ok(gnti_spec_parse(g_case.ctx, text, strlen(text), name, g_case.data, &d->spec));
    gnt_assert_ok(gnti_method_open(g_case.ctx, d->spec, g_case.data, d->run, &d->mr));
}

static void end(drive *d)
{
    gnti_method_close(&d->mr);
    gnti_spec_free(&d->spec);
}

typedef void (*look)(drive *d, gnt_trainer *tr, int32_t member, int64_t epoch);

/* Trains one member to its end; looks at it before the first epoch (0) and after each. Answers its epochs. */
static int64_t train(drive *d, int32_t m, look at)
{
    const gnti_spec_member *member = &d->spec->members[m];
    gnt_model *model = NULL;
    gnt_trainer *tr = NULL;
    gnti_member_options options;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    char folder[GNT_TEST_PATH_BYTES + 64], file[GNT_TEST_PATH_BYTES + 96];
    float *logits = NULL;
    bool ended = false;
    int64_t epochs = 0;

    gnt_assert_ok(gnt_model_create_with(g_case.data, member->model, &member->net, &model));
    gnti_member_options_init(model, &member->train, 0, &options);
    options.seed = member->seed;
    gnt_assert_ok(gnti_method_options(d->mr, m, &options));
    gnt_assert_ok(gnti_trainer_create_members(model, g_case.data, &member->train, &options, 1, &tr));
    gnt_assert_ok(gnti_method_start(d->mr, tr, 0, m));
    if (at != NULL)
        at(d, tr, m, 0);
    while (!ended && gnt_trainer_next(tr, &s)) {
        epochs = s.epoch;
        ended = gnti_trainer_member_phase(tr, 0) != GNTI_MEMBER_TRAINS;
        if (!ended)
            gnt_assert_ok(gnti_method_after_epoch(d->mr, tr, 0, m, &ended));
        if (at != NULL)
            at(d, tr, m, epochs);
    }
    gnt_assert_ok(gnt_trainer_status(tr));
    snprintf(folder, sizeof folder, "%s/%s", d->members, member->name);
    snprintf(file, sizeof file, "%s/logits.npy", folder);
    gnt_assert_ok(gnti_folder_create(folder));
    gnt_assert_ok(gnti_alloc_array(&logits, TRAIN_CASE_NODES * TRAIN_CASE_CLASSES));
    gnt_assert_ok(gnti_trainer_member_logits(tr, 0, true, logits));
    gnt_assert_ok(gnti_votes_write(file, g_case.data, logits, TRAIN_CASE_CLASSES));
    gnt_assert_ok(gnti_method_after_member(d->mr, tr, 0, m));
    gnti_free(logits);
    gnt_trainer_free(&tr);
    gnt_model_free(&model);
    return epochs;
}

static const gnti_method_output *find_output(const drive *d, const char *name)
{
    const gnti_method_output *list = NULL;
    const int32_t num = gnti_method_outputs(d->mr, &list);

    for (int32_t i = 0; i < num; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    fail_msg("no output '%s'", name);
    return NULL;
}

/* ---- snapshots ---- */

static float *g_seen[64]; /* weights by epoch */
static int64_t g_num;

static void remember(drive *d, gnt_trainer *tr, int32_t member, int64_t epoch)
{
    gnti_member_state s = { 0 };

    (void)d;
    (void)member;
    gnt_assert_ok(gnti_trainer_take_member(tr, 0, &s));
    gnti_free(g_seen[epoch]);
    g_seen[epoch] = s.weights;
    g_num = s.num_floats;
    s.weights = NULL;
    gnti_member_state_free(&s);
}

static void forget(void)
{
    for (int i = 0; i < 64; i++) {
        gnti_free(g_seen[i]);
        g_seen[i] = NULL;
    }
}

static void test_snapshots(void **state)
{
    drive d = { 0 };
    float *kept = NULL;
    int64_t num = 0;
    char name[32];
    gnti_member none;

    (void)state;
    /* 10 epochs for 4 snapshots: cycles of 3, 12 epochs in all */
    begin(
        &d,
        "method: snapshot\nsnapshots: 4\nmodel: \"gcn:4, gcn\"\ncount: 1\ntrain: { epochs: 10, lr: 0.08 }\n",
        "snapshot");
    gnti_member_init(&none);
    for (int64_t e = 0; e < 12; e++)
        assert_near(gnti_schedule_lr(&d.spec->members[0].train, &none, e),
                    0.04 * (1.0 + cos(acos(-1.0) * (double)(e % 3) / 3.0)), 1e-15);
    assert_near(gnti_schedule_lr(&d.spec->members[0].train, &none, 3), 0.08, 0.0);
    assert_near(gnti_schedule_lr(&d.spec->members[0].train, &none, 5), 0.02, 1e-15);
    assert_int_equal(train(&d, 0, remember), 12);
    for (int k = 1; k <= 4; k++) {
        snprintf(name, sizeof name, "m00-s%d", k);
        gnt_assert_ok(gnti_method_fetch(d.mr, name, &kept, &num));
        assert_int_equal(num, g_num);
        assert_memory_equal(kept, g_seen[3 * k], (size_t)num * sizeof *kept);
        gnti_free(kept);
        kept = NULL;
    }
    gnt_assert_ok(gnti_method_finish(d.mr, NULL));
    assert_true(find_output(&d, "m00-s4")->present);
    assert_string_equal(find_output(&d, "m00-s2")->note, "end of cycle 2 of 4");
    forget();
    end(&d);
}

/* ---- swa ---- */

/* (rows, classes) logits that a run combines. */
static void read_logits(const drive *d, const char *name, gnti_votes *v)
{
    char path[GNT_TEST_PATH_BYTES + 96];

    snprintf(path, sizeof path, "%s/%s/logits.npy", d->members, name);
    gnt_assert_ok(gnti_votes_open(path, g_case.data, v));
}

static void test_swa_mean(void **state)
{
    drive d = { 0 };
    gnti_publisher p = { 0 };
    gnti_votes v = { 0 };
    float mean[512];

    (void)state;
    begin(&d,
          "method: swa\nswa-from: 6\nswa-cycle: 2\nmodel: \"gcn:4, gcn\"\ncount: 1\n"
          "train: { epochs: 12, lr: 0.05 }\n",
          "swa");
    assert_int_equal(train(&d, 0, remember), 12);
    assert_true(g_num < 512);
    for (int64_t i = 0; i < g_num; i++)
        mean[i] = (float)(((double)g_seen[8][i] + (double)g_seen[10][i] + (double)g_seen[12][i]) / 3.0);
    gnt_assert_ok(gnti_method_finish(d.mr, NULL));
    gnt_assert_ok(gnti_publisher_open(d.mr, 0, &p));
    gnt_assert_ok(gnti_publisher_set(&p, mean, true));
    read_logits(&d, "m00-swa", &v);
    gnt_assert_close(v.values, p.logits, TRAIN_CASE_NODES * TRAIN_CASE_CLASSES, 1e-6, 0.0);
    assert_string_equal(find_output(&d, "m00-swa")->note, "mean of 3 weights of one training");
    gnti_publisher_close(&p);
    gnti_votes_close(&v);
    forget();
    end(&d);
}

static void test_states_mean(void **state)
{
    float a[3] = { 1.0f, 2.0f, -3.0f }, b[3] = { 3.0f, 0.0f, 1.0f };
    gnti_member_state s[2] = { { .num_floats = 3, .weights = a, .best = a, .moment1 = b },
                               { .num_floats = 3, .weights = b, .best = b } };
    const gnti_member_state *both[2] = { &s[0], &s[1] };
    const double shares[2] = { 1.0, 3.0 }, nothing[2] = { 0.0, 0.0 };
    gnti_member_state mean = { 0 };

    (void)state;
    gnt_assert_ok(gnti_states_mean(both, shares, 2, &mean));
    assert_near(mean.weights[0], 2.5, 0.0);
    assert_near(mean.weights[1], 0.5, 0.0);
    assert_near(mean.best[2], 0.0, 0.0);
    assert_near(mean.moment1[0], 0.0, 0.0);
    assert_null(mean.moment2);
    gnti_member_state_free(&mean);
    gnt_assert_status(gnti_states_mean(both, nothing, 2, &mean), GNT_ERR_ARG);
    s[1].num_floats = 2;
    gnt_assert_status(gnti_states_mean(both, shares, 2, &mean), GNT_ERR_ARG);
    gnt_assert_error_has("differ in shape");
}

/* ---- statistics of norms ---- */

/* The first layer of "linear:4, linear" with batch norm sees x W + b: its statistics are the columns' mean and unbiased variance. */
static void test_norm_statistics(void **state)
{
    drive d = { 0 };
    gnti_publisher p = { 0 };
    gnti_param_info *infos = NULL;
    gnti_member_state s = { 0 };
    float *drawn = NULL;
    const float *w = NULL, *b = NULL, *mean = NULL, *var = NULL;
    int64_t floats = 0, at = 0;
    int32_t num = 0;

    (void)state;
    begin(&d,
          "model: \"linear:4, linear\"\ncount: 1\n"
          "train: { epochs: 4, norm: batch, dropout: 0.5, input-dropout: 0.5 }\n",
          "norm");
    gnt_assert_ok(gnti_publisher_open(d.mr, 0, &p));
    gnt_assert_ok(gnti_method_draw(d.mr, p.model, 77, &drawn, &floats));
    gnt_assert_ok(gnti_publisher_set(&p, drawn, true));
    gnt_assert_ok(gnti_trainer_take_member(p.tr, 0, &s));
    gnt_assert_ok(gnti_params_list(p.model, &infos, &num, &floats));
    for (int32_t i = 0; i < num; i++) {
        const float *values = s.weights + at;
        const bool first = infos[i].layer == 1;

        at += infos[i].in * infos[i].out;
        w = first && infos[i].kind == GNTI_PARAM_WEIGHT ? values : w;
        b = first && infos[i].kind == GNTI_PARAM_BIAS ? values : b;
        if (first && infos[i].kind == GNTI_PARAM_STATE)
            *(mean == NULL ? &mean : &var) = values;
    }
    assert_true(w != NULL && mean != NULL && var != NULL);
    for (int c = 0; c < 4; c++) {
        double sum = 0.0, squares = 0.0;
        const double n = TRAIN_CASE_NODES;

        for (int64_t r = 0; r < TRAIN_CASE_NODES; r++) {
            double z = b != NULL ? (double)b[c] : 0.0;

            for (int k = 0; k < TRAIN_CASE_FEATURES; k++)
                z += (double)g_case.x[r * TRAIN_CASE_FEATURES + k] * (double)w[k * 4 + c];
            sum += z;
            squares += z * z;
        }
        assert_near(mean[c], sum / n, 1e-5);
        assert_near(var[c], (squares - sum * sum / n) / (n - 1.0), 1e-4);
    }
    assert_memory_equal(w, drawn, 4 * TRAIN_CASE_FEATURES * sizeof *w); /* nothing else has moved */
    gnti_free(drawn);
    gnti_free(infos);
    gnti_member_state_free(&s);
    gnti_publisher_close(&p);
    end(&d);
}

/* ---- soups ---- */

static const char soup_text[] = "method: soup\nsoup: %s\nmodel: \"gcn:8, gcn\"\ncount: 3\n"
                                "train: { epochs: 30, lr: 0.05, dropout: 0.5 }\n";

static float *g_start[16];

static void remember_start(drive *d, gnt_trainer *tr, int32_t member, int64_t epoch)
{
    gnti_member_state s = { 0 };

    (void)d;
    if (epoch != 0)
        return;
    gnt_assert_ok(gnti_trainer_take_member(tr, 0, &s));
    g_start[member] = s.weights;
    g_num = s.num_floats;
    s.weights = NULL;
    gnti_member_state_free(&s);
}

static void test_soup_shares_a_start(void **state)
{
    drive d = { 0 };
    char text[256];

    (void)state;
    for (int greedy = 0; greedy < 2; greedy++) {
        snprintf(text, sizeof text, soup_text, greedy ? "greedy" : "uniform");
        begin(&d, text, "soup");
        for (int32_t m = 0; m < 3; m++)
            train(&d, m, remember_start);
        assert_memory_equal(g_start[0], g_start[1], (size_t)g_num * sizeof(float));
        assert_memory_equal(g_start[0], g_start[2], (size_t)g_num * sizeof(float));
        gnt_assert_ok(gnti_method_finish(d.mr, NULL));
        assert_true(find_output(&d, "soup")->present);
        assert_non_null(strstr(find_output(&d, "soup")->note, " of 3 members"));
        assert_null(strstr(find_output(&d, "soup")->note, "worse"));
        for (int m = 0; m < 3; m++) {
            gnti_free(g_start[m]);
            g_start[m] = NULL;
        }
        end(&d);
    }
}

/* Two trainings from starts of their own: the units of the first layer of one are those of the other in reverse, with the signs of tanh
 * turned. Both predict well; their mean is 0 in the first layer and predicts one class. */
static void test_soup_of_other_starts_is_told(void **state)
{
    drive d = { 0 };
    uint8_t skip[3] = { 0, 0, 1 };
    float *weights = NULL;
    int64_t num = 0;
    gnt_trainer *tr = NULL;
    gnt_model *model = NULL;
    gnti_member_options options;

    (void)state;
    begin(&d,
          "method: soup\nmodel: \"gcn:8:act=tanh, gcn\"\ncount: 3\n"
          "train: { epochs: 30, lr: 0.05, dropout: 0.5 }\n",
          "soup-apart");
    for (int32_t m = 0; m < 2; m++)
        train(&d, m, NULL);
    gnt_assert_ok(gnti_method_fetch(d.mr, "m00", &weights, &num));
    for (int64_t i = 0; i < num; i++) /* tanh(-z) = -tanh(z): all but the last bias */
        weights[i] = i < num - TRAIN_CASE_CLASSES ? -weights[i] : weights[i];
    gnt_assert_ok(
        gnt_model_create_with(g_case.data, d.spec->members[1].model, &d.spec->members[1].net, &model));
    gnti_member_options_init(model, &d.spec->members[1].train, 0, &options);
    gnt_assert_ok(
        gnti_trainer_create_members(model, g_case.data, &d.spec->members[1].train, &options, 1, &tr));
    gnt_assert_ok(gnti_method_set_weights(tr, 0, weights, num));
    gnt_assert_ok(gnti_method_keep(d.mr, "m01", tr, 0, false));
    gnt_assert_ok(gnti_method_finish(d.mr, skip));
    assert_non_null(strstr(find_output(&d, "soup")->note, "mean of 2 of 2 members; "));
    assert_non_null(strstr(find_output(&d, "soup")->note, "no shared basin"));
    assert_false(find_output(&d, "soup")->present);
    assert_true(find_output(&d, "m00")->present);
    assert_false(find_output(&d, "m02")->present);
    gnti_free(weights);
    gnt_trainer_free(&tr);
    gnt_model_free(&model);
    end(&d);
}

/* ---- swap ---- */

static void test_swap(void **state)
{
    drive d = { 0 };
    gnti_votes v = { 0 };
    float *first = NULL;
    int64_t num = 0;

    (void)state;
    begin(&d,
          "method: swap\nswap-target: 0.8\nswap-share: 0.2\nmodel: \"gcn:8, gcn\"\ncount: 2\n"
          "train: { epochs: 60, lr: 0.05, dropout: 0.2, norm: batch }\n",
          "swap");
    assert_int_equal(d.spec->num_members, 3);
    assert_string_equal(d.spec->members[0].name, "first");
    assert_int_equal(gnti_method_waits_for(d.spec, 0).num, 0);
    assert_int_equal(gnti_method_waits_for(d.spec, 2).num, 1);
    assert_int_equal(gnti_method_waits_for(d.spec, 2).first, 0);
    assert_int_equal(d.spec->members[1].train.source, GNTI_SOURCE_WORD_FULL); /* masks of its own */
    assert_true(train(&d, 0, NULL) < 60); /* the target is met before the end */
    gnt_assert_ok(gnti_method_fetch(d.mr, "first", &first, &num));
    for (int32_t m = 1; m < 3; m++) {
        assert_int_equal(train(&d, m, remember_start), 12);
        assert_memory_equal(g_start[m], first, (size_t)num * sizeof *first);
        gnti_free(g_start[m]);
        g_start[m] = NULL;
    }
    gnt_assert_ok(gnti_method_finish(d.mr, NULL));
    read_logits(&d, "swap", &v);
    assert_string_equal(find_output(&d, "swap")->note, "mean of the weights of 2 of 2 workers");
    gnti_votes_close(&v);
    gnti_free(first);
    end(&d);
}

/* Without dropout, and where the spec says so, workers sample clusters: nothing else would make them differ, or it is wanted. */
static void test_swap_batches(void **state)
{
    static const struct {
        const char *train;
        int64_t clusters;
    } cases[] = { { "epochs: 60", 8 }, { "epochs: 60, dropout: 0.2, source: clusters, clusters: 4", 4 } };

    (void)state;
    for (int i = 0; i < 2; i++) {
        drive d = { 0 };
        char text[256];

        snprintf(text, sizeof text, "method: swap\nmodel: \"gcn:8, gcn\"\ncount: 2\ntrain: { %s }\n",
                 cases[i].train);
        begin(&d, text, "batches");
        assert_int_equal(d.spec->members[0].train.source, GNTI_SOURCE_WORD_FULL);
        assert_int_equal(d.spec->members[1].train.source, GNTI_SOURCE_WORD_CLUSTERS);
        assert_int_equal(d.spec->members[1].train.clusters, cases[i].clusters);
        assert_true(d.spec->members[1].train.order_seed != d.spec->members[2].train.order_seed);
        end(&d);
    }
}

/* ---- edde ---- */

static void test_edde_hands_on(void **state)
{
    drive d = { 0 };
    float *before = NULL;
    int64_t num = 0, first_layer;
    gnti_member_options options = { 0 };
    double sum = 0.0;

    (void)state;
    begin(&d,
          "method: edde\nedde-share: 0.5\nedde-epochs: 0.4\nmodel: \"gcn:8, gcn\"\ncount: 3\ntrain: { "
          "epochs: 20, lr: 0.05, dropout: 0.2 }\n",
          "edde");
    assert_int_equal(train(&d, 0, NULL), 20);
    gnt_assert_ok(gnti_method_fetch(d.mr, "m00", &before, &num));
    assert_int_equal(train(&d, 1, remember_start), 8); /* 0.4 of them */
    first_layer = TRAIN_CASE_FEATURES * 8 + 8;
    assert_memory_equal(g_start[1], before, (size_t)first_layer * sizeof *before);
    assert_memory_not_equal(g_start[1] + first_layer, before + first_layer,
                            (size_t)(num - first_layer) * sizeof *before);
    gnt_assert_ok(gnti_method_options(d.mr, 2, &options));
    assert_near(options.apart_gain, 0.1, 1e-12);
    for (int64_t i = 0; i < 24; i++)
        sum += (double)options.weight[g_case.train[i]];
    assert_near(sum, 24.0, 1e-3);
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        double all = 0.0;

        for (int c = 0; c < TRAIN_CASE_CLASSES; c++)
            all += (double)options.apart[i * TRAIN_CASE_CLASSES + c];
        assert_near(all, 1.0, 1e-5);
    }
    train(&d, 2, NULL);
    gnt_assert_ok(gnti_method_finish(d.mr, NULL));
    for (int m = 0; m < 3; m++)
        assert_true(find_output(&d, m == 0 ? "m00" : m == 1 ? "m01" : "m02")->weight >= 0.05);
    gnti_free(before);
    gnti_free(g_start[1]);
    end(&d);
}

/* What probes get right: all rows; those that they or their teacher saw; those that they saw themselves. */
typedef enum knowledge { KNOWS, REMEMBERS, FORGETS } knowledge;

static void write_probes(drive *d, float *const *fold, int32_t layers, knowledge what)
{
    float logits[TRAIN_CASE_NODES * TRAIN_CASE_CLASSES];
    char file[GNT_TEST_PATH_BYTES + 96];

    for (int32_t r = 0; r < 3; r++) {
        memset(logits, 0, sizeof logits);
        for (int64_t v = 0; v < TRAIN_CASE_NODES; v++) {
            const int32_t y = g_case.data->y.class_of[v];
            const bool new_to_both = fold[r][v] <= 0.0f, new = new_to_both || fold[(r + 1) % 3][v] <= 0.0f;
            const bool right = what == KNOWS || (what == REMEMBERS ? !new_to_both : !new);

            if (y >= 0) /* else it has no class */
                logits[v * TRAIN_CASE_CLASSES + (right ? y : (y + 1) % TRAIN_CASE_CLASSES)] = 3.0f;
        }
        snprintf(file, sizeof file, "%s/probe-%d-%d/logits.npy", d->members, (int)r, (int)layers);
        gnt_assert_ok(gnti_votes_write(file, g_case.data, logits, TRAIN_CASE_CLASSES));
    }
}

/* The largest number of layers whose probes remember nothing. */
static void check_found_layers(drive *d, float *const *fold)
{
    static const struct {
        knowledge of_one, of_two;
        int32_t want;
    } cases[] = {
        { KNOWS, KNOWS, 2 },     { KNOWS, REMEMBERS, 1 },   { REMEMBERS, REMEMBERS, 0 },
        { REMEMBERS, KNOWS, 2 }, { FORGETS, REMEMBERS, 1 }, { KNOWS, FORGETS, 2 },
    };
    int32_t layers;

    for (int i = 0; i < 6; i++) {
        write_probes(d, fold, 1, cases[i].of_one);
        write_probes(d, fold, 2, cases[i].of_two);
        gnt_assert_ok(gnti_edde_find_layers(d->mr, &layers));
        assert_int_equal(layers, cases[i].want);
    }
}

/* Three folds and two layers: three teachers and six probes stand in front, each without the right rows; what they leave decides. */
static void test_edde_counts_layers(void **state)
{
    drive d = { 0 };
    gnti_member_options options[2] = { 0 };
    float *taught = NULL, *fold[3] = { NULL };
    int64_t num = 0, first_layer = TRAIN_CASE_FEATURES * 8 + 8;
    int32_t layers = -1;

    (void)state;
    begin(&d,
          "method: edde\nedde-folds: 3\nedde-epochs: 0.4\nmodel: \"gcn:8, gcn\"\ncount: 2\n"
          "train: { epochs: 20, lr: 0.05, dropout: 0.2 }\n",
          "folds");
    assert_int_equal(d.spec->num_members, 11);
    assert_int_equal(d.spec->edde_layers, 2);
    assert_string_equal(d.spec->members[2].name, "teach-2");
    assert_string_equal(d.spec->members[4].name, "probe-1-1");
    assert_string_equal(d.spec->members[9].name, "m00");
    assert_int_equal(gnti_method_waits_for(d.spec, 2).num, 0);
    assert_int_equal(gnti_method_waits_for(d.spec, 7).first, 1);
    assert_int_equal(gnti_method_waits_for(d.spec, 9).num, 0);
    assert_int_equal(gnti_method_waits_for(d.spec, 10).num, 10);
    for (int32_t i = 0; i < 11; i++)
        for (int32_t k = 0; k < i; k++)
            assert_true(d.spec->members[i].seed != d.spec->members[k].seed);
    for (int32_t m = 0; m < 3; m++)
        gnt_assert_ok(gnti_spec_member_weights(&d.spec->members[m], g_case.data, &fold[m]));
    options[0].weight = fold[1]; /* as the run has it from the spec */
    gnt_assert_ok(gnti_method_options(d.mr, 4, &options[0]));
    gnt_assert_ok(gnti_method_options(d.mr, 1, &options[1]));
    assert_null(options[1].weight); /* a teacher's fold is the spec's business */
    for (int64_t i = 0; i < 24; i++) {
        const int64_t v = g_case.train[i];

        assert_true(options[0].weight[v] > 0.0f ? fold[1][v] > 0.0f && fold[2][v] > 0.0f
                                                : fold[1][v] <= 0.0f || fold[2][v] <= 0.0f);
    }
    for (int32_t m = 0; m < 9; m++)
        assert_int_equal(train(&d, m, m == 4 ? remember_start : NULL), m < 3 ? 20 : 8);
    gnt_assert_ok(gnti_method_fetch(d.mr, "teach-1", &taught, &num));
    assert_memory_equal(g_start[4], taught, (size_t)first_layer * sizeof *taught);
    assert_memory_not_equal(g_start[4] + first_layer, taught + first_layer,
                            (size_t)(num - first_layer) * sizeof *taught);
    check_found_layers(&d, fold);
    train(&d, 9, NULL);
    train(&d, 10, remember_start);
    gnt_assert_ok(gnti_edde_find_layers(d.mr, &layers));
    gnt_assert_ok(gnti_method_finish(d.mr, NULL));
    assert_non_null(strstr(find_output(&d, "m01")->note, layers == 0   ? "took 0 of 2"
                                                         : layers == 1 ? "took 1 of 2"
                                                                       : "took 2 of 2"));
    for (int m = 0; m < 3; m++)
        gnti_free(fold[m]);
    gnti_free(g_start[4]);
    gnti_free(g_start[10]);
    gnti_free(taught);
    end(&d);
}

static void test_edde_refusals(void **state)
{
    static const char *const cases[][2] = {
        { "edde-folds: 2", "3 are needed" },
        { "edde-folds: 3\nedde-share: 0.5", "beside edde-folds" },
        { "edde-folds: 3\nfolds: 2", "no folds" },
        { "edde-folds: 20\nbagging: 0.5", "no bagging" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        gnti_spec *spec = NULL;

        snprintf(text, sizeof text, "method: edde\nmodel: \"gcn:8, gcn\"\ncount: 2\n%s\n", cases[i][0]);
        gnt_assert_status(gnti_spec_parse(g_case.ctx, text, strlen(text), "refused", g_case.data, &spec),
                          GNT_ERR_USAGE);
        gnt_assert_error_has(cases[i][1]);
    }
}

static int set_up(void **state)
{
    (void)state;
    train_case_make(&g_case, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    train_case_free(&g_case);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_swa_mean),
        cmocka_unit_test(test_states_mean),
        cmocka_unit_test(test_norm_statistics),
        cmocka_unit_test(test_soup_shares_a_start),
        cmocka_unit_test(test_soup_of_other_starts_is_told),
        cmocka_unit_test(test_swap),
        cmocka_unit_test(test_swap_batches),
        cmocka_unit_test(test_edde_hands_on),
        cmocka_unit_test(test_edde_counts_layers),
        cmocka_unit_test(test_edde_refusals),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
