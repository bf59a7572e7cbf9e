/* SPDX-License-Identifier: Apache-2.0 */
/* An ensemble's folder is asked: its answer is that of its members combined, whatever device computes which rows, in batches of
 * whatever size; bit for bit at bitwise. What does not fit or is damaged is named.
 * timeout: 300
 */
#include "tests/support/gnt_test.h"

#include <gnntrain/experimental_predict.h>

#include "base/alloc.h"
#include "base/file.h"
#include "datasets/h5_value.h"
#include "ensemble/serve_sum.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 24, COLUMNS = 30, NODES = ROWS * COLUMNS, CLASSES = 3, MEMBERS = 5 };

static const char *const models[MEMBERS] = { "gcn:16, gcn", "gcn:16, gcn", "gat:4:heads=2, gat",
                                             "gcn:16, gcn", "sage:8, sage" };
static const double weights[MEMBERS] = { 0.3, 0.25, 0.25, 0.0, 0.2 };

typedef struct world {
    gnt_context *ctx;
    char data[GNT_TEST_PATH_BYTES], run[GNT_TEST_PATH_BYTES];
    gnti_ensemble_file file;
    char *names[MEMBERS];
    double weight[MEMBERS];
} world;

static world w; /* made once: training is what takes the time */

static char *member_path(int m, char out[GNT_TEST_PATH_BYTES])
{
    char name[64];

    snprintf(name, sizeof name, "ensemble/members/m%02d", m);
    return gnt_test_path(out, name);
}

static void train_member(const gnt_dataset *data, int m)
{
    char path[GNT_TEST_PATH_BYTES];
    gnt_trainer_config config;
    gnt_model *model = NULL;
    gnt_trainer *tr = NULL;
    gnt_epoch_stats stats = { .struct_size = sizeof stats };

    gnt_trainer_config_init(&config);
    config.run = member_path(m, path);
    config.epochs = 4;
    config.seed = 100 + m;
    gnt_assert_ok(gnt_model_create(data, models[m], &model));
    gnt_assert_ok(gnt_trainer_create(model, data, &config, &tr));
    while (gnt_trainer_next(tr, &stats))
        ;
    gnt_assert_ok(gnt_trainer_finish(tr));
    gnt_trainer_free(&tr);
    gnt_model_free(&model);
}

static void write_file(void)
{
    gnt_assert_ok(gnti_ensemble_file_write(&w.file, w.run));
}

static void fill_file(void)
{
    w.file = (gnti_ensemble_file){ .how = GNTI_COMBINE_MEAN,
                                   .kind = GNT_LABELS_CLASS,
                                   .temperature = 1.0,
                                   .num_members = MEMBERS,
                                   .name = w.names,
                                   .weight = w.weight,
                                   .data = w.data };
    memcpy(w.weight, weights, sizeof weights);
    for (int m = 0; m < MEMBERS; m++)
        w.names[m] = (char *)(uintptr_t)(m == 0   ? "m00"
                                         : m == 1 ? "m01"
                                         : m == 2 ? "m02"
                                         : m == 3 ? "m03"
                                                  : "m04");
}

static int make_world(void **state)
{
    gntx_generate_options o;
    gnt_dataset *data = NULL;

    (void)state;
    gnt_assert_ok(gnt_context_create("threads=2;deterministic=bitwise", &w.ctx));
    gnt_assert_ok(gntx_options_defaults(gntx_generate_option_table(), &o));
    o.rows = ROWS;
    o.columns = COLUMNS;
    o.features = 8;
    o.classes = CLASSES;
    gnt_assert_ok(gntx_generate(w.ctx, "grid", &o, &data, NULL));
    gnt_assert_ok(gnt_dataset_save(data, gnt_test_path(w.data, "grid.h5")));
    gnt_dataset_free(&data);
    gnt_assert_ok(gnt_dataset_open(w.ctx, w.data, &data));
    gnt_test_path(w.run, "ensemble");
    for (int m = 0; m < MEMBERS; m++)
        train_member(data, m);
    gnt_dataset_free(&data);
    fill_file();
    write_file();
    return 0;
}

static int free_world(void **state)
{
    (void)state;
    gnt_context_free(&w.ctx);
    return 0;
}

/* ---- reading what was written ------------------------------------------------------------------------------------------ */

/* Probabilities (NODES, CLASSES) of a run or an ensemble, through its file. */
static void ask(const char *run, const char *devices, float *out, gntx_json **told)
{
    char path[GNT_TEST_PATH_BYTES];
    gntx_json *report = NULL;
    const gntx_predict_options options = { .what = 1, .seed = -1, .devices = (char *)(uintptr_t)devices };
    gnti_h5 *file = NULL;

    gnt_assert_ok(gntx_predict(w.ctx, run, &options, gnt_test_path(path, "asked.h5"), &report));
    gnt_assert_ok(gnti_h5_open(path, &file));
    gnt_assert_ok(gnti_h5_read_floats(file, "/probability", NODES, CLASSES, out));
    gnti_h5_close(&file);
    if (told != NULL)
        *told = report;
    else
        gntx_json_free(&report);
}

static void read_extra(const char *name, float *out)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *file = NULL;

    gnt_assert_ok(gnti_h5_open(gnt_test_path(path, "asked.h5"), &file));
    gnt_assert_ok(gnti_h5_read_floats(file, name, NODES, 1, out));
    gnti_h5_close(&file);
}

static int likeliest(const float *p)
{
    int best = 0;

    for (int c = 1; c < CLASSES; c++)
        best = p[c] > p[best] ? c : best;
    return best;
}

/* ---- tests --------------------------------------------------------------------------------------------------------------- */

static void test_the_answer_is_that_of_the_members_combined(void **state)
{
    static float own[MEMBERS][NODES * CLASSES], all[NODES * CLASSES], mean[NODES * CLASSES];
    static float entropy[NODES], unlike[NODES], asked[2 * CLASSES];
    const int64_t rows[] = { NODES - 1, 3 };
    const gntx_predict_options options = { .what = 1, .seed = -1 };
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    ask(w.run, NULL, all, NULL);
    read_extra("/entropy", entropy);
    read_extra("/disagreement", unlike);
    gnt_assert_ok(gntx_predict_rows(w.ctx, w.run, &options, &(gntx_rows){ rows, 2, CLASSES, asked }, NULL));
    assert_memory_equal(asked, all + rows[0] * CLASSES, CLASSES * sizeof *all);
    assert_memory_equal(asked + CLASSES, all + rows[1] * CLASSES, CLASSES * sizeof *all);
    for (int m = 0; m < MEMBERS; m++)
        ask(member_path(m, path), NULL, own[m], NULL);
    for (int i = 0; i < NODES * CLASSES; i++)
        for (int m = 0; m < MEMBERS; m++)
            mean[i] += (float)weights[m] * own[m][i];
    gnt_assert_close(all, mean, NODES * CLASSES, 0.0, 1e-6);
    for (int i = 0; i < NODES; i++) {
        double h = 0.0, d = 0.0;

        for (int c = 0; c < CLASSES; c++)
            h -= (double)all[i * CLASSES + c] * log((double)all[i * CLASSES + c]);
        for (int m = 0; m < MEMBERS; m++)
            d += likeliest(own[m] + i * CLASSES) != likeliest(all + i * CLASSES) ? weights[m] : 0.0;
        assert_true(fabs(h - (double)entropy[i]) < 1e-5);
        assert_true(fabs(d - (double)unlike[i]) < 1e-6);
    }
}

static void test_any_devices_give_the_same_bits(void **state)
{
    static const char *const devices[] = { "2",
                                           "4",
                                           "cpu:speed=1;cpu:speed=0.5",
                                           "cpu:mem=4M;cpu:mem=30K",
                                           "cpu:mem=30K",
                                           "cpu:clock=virtual,speed=4;cpu:clock=virtual;cpu:clock=virtual" };
    static float whole[NODES * CLASSES], got[NODES * CLASSES];

    (void)state;
    ask(w.run, "1", whole, NULL);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        gntx_json *told = NULL;
        int64_t rows = 0;

        ask(w.run, devices[i], got, &told);
        gnt_assert_same_bits(got, whole, NODES * CLASSES);
        for (int64_t d = 0; d < gntx_json_length(gntx_json_find(told, "devices")); d++) {
            int64_t own = 0;

            assert_true(gntx_json_to_int(
                gntx_json_find(gntx_json_at(gntx_json_find(told, "devices"), d), "rows"), &own));
            rows += own;
        }
        assert_int_equal(rows, 4 * NODES); /* each row of each member with a weight, once */
        gntx_json_free(&told);
    }
}

static void open_serve(const char *devices, gnti_serve *s)
{
    memset(s, 0, sizeof *s);
    gnt_assert_ok(gnti_serve_open(w.ctx, w.run, NULL, -1, NULL, s));
    gnt_assert_ok(gnti_serve_plan(s, devices));
}

/* Logits of all members, and how many were in memory at the same time. */
typedef struct kept {
    gnti_serve *s;
    float logits[MEMBERS][NODES * CLASSES];
    int32_t most, order[MEMBERS], num;
} kept;

static gnt_status keep(void *user, int32_t member, const float *logits)
{
    kept *k = user;
    int32_t now = 0;

    for (int32_t m = 0; m < k->s->num_members; m++)
        now += k->s->members[m].logits != NULL;
    k->most = now > k->most ? now : k->most;
    k->order[k->num++] = member;
    memcpy(k->logits[member], logits, sizeof k->logits[member]);
    return GNT_OK;
}

/* Every way to cut the rows: batches of all sizes, replicas that share the rows unevenly. */
static void test_batches_and_replicas_give_the_same_bits(void **state)
{
    static const int32_t cuts[][3] = {
        { 0, 128, 8 }, { 64, 128, 16 }, { 40, 128, 32 }, { 1, 128, 64 }, { 100, 128, 128 }
    };
    static kept all, some;
    gnti_serve whole, s;

    (void)state;
    open_serve("1", &whole);
    all = (kept){ .s = &whole };
    assert_int_equal(whole.num_members, 4); /* one has no weight */
    assert_int_equal(whole.num_shapes, 3);
    gnt_assert_ok(gnti_serve_run(&whole, keep, &all));
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        open_serve("2", &s);
        gnti_free(s.tasks);
        gnt_assert_ok(gnti_alloc_array(&s.tasks, 8));
        s.num_tasks = 0;
        for (int32_t m = 0; m < s.num_members; m++)
            for (int32_t d = 0; d < 2; d++) {
                const int32_t first = d == 0 ? 0 : cuts[i][0], end = d == 0 ? cuts[i][0] : cuts[i][1];

                if (end > first)
                    s.tasks[s.num_tasks++] = (gnti_serve_task){
                        .device = d, .member = m, .first = first, .end = end, .batch = cuts[i][2]
                    };
            }
        some = (kept){ .s = &s };
        gnt_assert_ok(gnti_serve_run(&s, keep, &some));
        for (int32_t m = 0; m < s.num_members; m++)
            gnt_assert_same_bits(some.logits[m], all.logits[m], NODES * CLASSES);
        assert_memory_equal(some.order, all.order, sizeof all.order);
        gnti_serve_close(&s);
    }
    gnti_serve_close(&whole);
}

/* Logits of one wave alone are in memory, and waves follow each other in an order that devices do not change. */
static void test_waves_let_go_of_logits(void **state)
{
    static kept one, two;
    gnti_serve s;

    (void)state;
    open_serve("1", &s);
    one = (kept){ .s = &s };
    gnt_assert_ok(gnti_serve_run(&s, keep, &one));
    assert_int_equal(one.most, 4);
    gnti_serve_close(&s);
    open_serve("cpu:mem=30K", &s);
    two = (kept){ .s = &s };
    assert_true(s.num_waves > 1);
    gnt_assert_ok(gnti_serve_run(&s, keep, &two));
    assert_true(two.most < 4);
    assert_memory_equal(one.order, two.order, sizeof one.order);
    for (int32_t m = 0; m < s.num_members; m++)
        assert_null(s.members[m].logits);
    gnti_serve_close(&s);
}

static gnt_status try_to_ask(const gntx_predict_options *options, const char *name)
{
    char path[GNT_TEST_PATH_BYTES];
    gntx_json *report = NULL;
    const gnt_status st = gntx_predict(w.ctx, w.run, options, gnt_test_path(path, name), &report);

    if (st != GNT_OK)
        assert_false(gnti_file_exists(path));
    gntx_json_free(&report);
    return st;
}

/* A device that is lost leaves its work to the others, with the same bits; without any left it is told. */
static void test_lost_devices(void **state)
{
    static const char *const devices[] = { "cpu:threads=1;cpu:threads=1,lost=0",
                                           "cpu:threads=1,lost=1;cpu:threads=1,lost=0;cpu:threads=1",
                                           "cpu:mem=30K,lost=2;cpu:mem=4M",
                                           "cpu:clock=virtual;cpu:clock=virtual,lost=0" };
    static float whole[NODES * CLASSES], got[NODES * CLASSES];
    const gntx_predict_options options = { .what = 1,
                                           .seed = -1,
                                           .devices = (char *)"cpu:lost=1;cpu:lost=0" };

    (void)state;
    ask(w.run, "1", whole, NULL);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        gntx_json *told = NULL;

        ask(w.run, devices[i], got, &told);
        gnt_assert_same_bits(got, whole, NODES * CLASSES);
        assert_true(gntx_json_length(gntx_json_find(told, "lost")) >= 1);
        gntx_json_free(&told);
    }
    gnt_assert_status(try_to_ask(&options, "lost.h5"), GNT_ERR_DEVICE_LOST);
    gnt_assert_error_has("no device is left to predict on", "of 2");
}

/* Members of one shape are one program: the graph is read once for them. */
static void test_members_of_one_shape_fuse(void **state)
{
    gnti_serve s;

    (void)state;
    open_serve("1", &s);
    assert_int_equal(s.members[0].shape, s.members[1].shape);
    assert_int_not_equal(s.members[0].shape, s.members[2].shape);
    assert_int_equal(s.shapes[s.members[0].shape].num_hops, 2);
    for (int32_t i = 0; i < s.num_tasks; i++)
        assert_int_equal(s.tasks[i].wave, 0);
    gnti_serve_close(&s);
    open_serve("cpu:mem=30K", &s);
    assert_true(s.tasks[s.num_tasks - 1].wave > 0); /* not all at once */
    for (int32_t i = 0; i < s.num_tasks; i++)
        assert_true(s.tasks[i].batch <= 128);
    gnti_serve_close(&s);
}

static void test_eval_scores_the_combination(void **state)
{
    static float p[NODES * CLASSES];
    gnt_dataset *data = NULL;
    const gnti_split *split = NULL;
    gntx_json *report = NULL;
    double told = 0.0, nll_told = 0.0, right = 0.0, nll = 0.0;

    (void)state;
    ask(w.run, NULL, p, NULL);
    gnt_assert_ok(gnt_dataset_open(w.ctx, w.data, &data));
    gnt_assert_ok(gnti_dataset_find_split(data, NULL, &split));
    for (int64_t i = 0; i < split->num_nodes[2]; i++) {
        const int64_t v = split->nodes[2][i];

        right += likeliest(p + v * CLASSES) == data->y.class_of[v];
        nll -= log((double)p[v * CLASSES + data->y.class_of[v]]);
    }
    gnt_assert_ok(gntx_eval(w.ctx, w.run, NULL, "2", &report));
    assert_true(gntx_json_to_number(
        gntx_json_find(gntx_json_find(gntx_json_find(report, "splits"), "test"), "accuracy"), &told));
    assert_true(gntx_json_to_number(
        gntx_json_find(gntx_json_find(gntx_json_find(report, "splits"), "test"), "nll"), &nll_told));
    assert_true(fabs(told - right / (double)split->num_nodes[2]) < 1e-12);
    assert_true(fabs(nll_told - nll / (double)split->num_nodes[2]) < 1e-5);
    gntx_json_free(&report);
    gnt_dataset_free(&data);
}

static void test_one_member_and_refusals(void **state)
{
    static float one[NODES * CLASSES], own[NODES * CLASSES];
    gntx_predict_options options = { .what = 1, .seed = 103 };
    char path[GNT_TEST_PATH_BYTES];
    gnti_h5 *file = NULL;

    (void)state;
    gnt_assert_ok(try_to_ask(&options, "one.h5")); /* also one without a weight */
    gnt_assert_ok(gnti_h5_open(gnt_test_path(path, "one.h5"), &file));
    gnt_assert_ok(gnti_h5_read_floats(file, "/probability", NODES, CLASSES, one));
    gnti_h5_close(&file);
    ask(member_path(3, path), NULL, own, NULL);
    gnt_assert_close(one, own, NODES * CLASSES, 0.0, 1e-6);
    options.seed = 7;
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_USAGE);
    gnt_assert_error_has("seed 7", "100 to 104", "members");
    options = (gntx_predict_options){ .what = 2, .seed = -1 };
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_USAGE);
    gnt_assert_error_has("embeddings", "members/NAME");
    options = (gntx_predict_options){ .what = 1, .seed = -1, .devices = (char *)(uintptr_t) "cpu:mem=2K" };
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_DEVICE_NOMEM);
    gnt_assert_error_has("member 'm0", "2048");
    options = (gntx_predict_options){ .what = 0, .seed = -1, .data = (char *)(uintptr_t) "/no/such.h5" };
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_IO);
    options = (gntx_predict_options){ .what = 0, .seed = -1 };
    gnt_assert_status(try_to_ask(&options, "none.txt"), GNT_ERR_USAGE);
}

static void test_damage_is_named(void **state)
{
    gntx_predict_options options = { .what = 1, .seed = -1 };

    (void)state;
    fill_file();
    w.names[1] = (char *)(uintptr_t) "m77";
    write_file();
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_IO);
    gnt_assert_error_has("m77");
    fill_file();
    w.file.kind = GNT_LABELS_MULTI;
    write_file();
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_FORMAT);
    gnt_assert_error_has("m00");
    fill_file();
    w.file.content_sha256 = (char *)(uintptr_t) "0123";
    write_file();
    gnt_assert_status(try_to_ask(&options, "none.csv"), GNT_ERR_FORMAT);
    gnt_assert_error_has("has changed", "0123");
    options.data = w.data; /* taken nevertheless */
    gnt_assert_ok(try_to_ask(&options, "taken.csv"));
    fill_file();
    write_file();
}

/* Another graph, without labels and of another size: the members are asked about it as they are. */
static void test_another_graph(void **state)
{
    gntx_generate_options o;
    gnt_dataset *data = NULL;
    gntx_json *report = NULL;
    char path[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES];
    gntx_predict_options options = { .what = 0, .seed = -1 };
    int64_t rows = 0;

    (void)state;
    gnt_assert_ok(gntx_options_defaults(gntx_generate_option_table(), &o));
    o.nodes = 50;
    o.features = 8;
    o.classes = CLASSES;
    gnt_assert_ok(gntx_generate(w.ctx, "csbm", &o, &data, NULL));
    gnt_assert_ok(gnt_dataset_save(data, gnt_test_path(path, "other.h5")));
    gnt_dataset_free(&data);
    options.data = path;
    options.devices = (char *)(uintptr_t) "3";
    gnt_assert_ok(gntx_predict(w.ctx, w.run, &options, gnt_test_path(out, "other.csv"), &report));
    assert_true(gntx_json_to_int(gntx_json_find(report, "rows"), &rows));
    assert_int_equal(rows, 50);
    gntx_json_free(&report);
}

/* A member that does not see all of the data is asked with what it sees. */
static void test_members_that_do_not_see_all(void **state)
{
    static float got[NODES * CLASSES], want[NODES * CLASSES], all[NODES * CLASSES];
    gnti_member_view views[MEMBERS] = { [1] = { 0.4, 0.2, 5 } };
    gntx_predict_options options = { .what = 1, .seed = 101 };
    gnt_dataset *data = NULL, *seen = NULL;
    gntx_json *report = NULL;
    char path[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES], member[GNT_TEST_PATH_BYTES];
    gnti_h5 *file = NULL;

    (void)state;
    w.file.view = views;
    write_file();
    gnt_assert_ok(try_to_ask(&options, "seen.h5"));
    gnt_assert_ok(gnti_h5_open(gnt_test_path(out, "seen.h5"), &file));
    gnt_assert_ok(gnti_h5_read_floats(file, "/probability", NODES, CLASSES, got));
    gnti_h5_close(&file);
    gnt_assert_ok(gnt_dataset_open(w.ctx, w.data, &data));
    gnt_assert_ok(gnti_spec_member_dataset(&(gnti_spec_member){ .view = views[1] }, data, &seen));
    gnt_assert_ok(gnt_dataset_save(seen, gnt_test_path(path, "view.h5")));
    options = (gntx_predict_options){ .what = 1, .seed = -1, .data = path };
    gnt_assert_ok(gntx_predict(w.ctx, member_path(1, member), &options, out, &report));
    gntx_json_free(&report);
    gnt_assert_ok(gnti_h5_open(out, &file));
    gnt_assert_ok(gnti_h5_read_floats(file, "/probability", NODES, CLASSES, want));
    gnti_h5_close(&file);
    gnt_assert_close(got, want, NODES * CLASSES, 0.0, 1e-6);
    ask(member, NULL, all, NULL); /* its own folder is asked through the ensemble */
    assert_memory_equal(got, all, sizeof got);
    w.file.view = NULL;
    write_file();
    ask(member, NULL, all, NULL);
    assert_memory_not_equal(got, all, sizeof got);
    gnt_dataset_free(&seen);
    gnt_dataset_free(&data);
    fill_file();
    write_file();
}

static void forget_plan(gnti_serve *s)
{
    gnti_serve_forget_plan(s);
    for (int32_t i = 0; i < s->num_shapes; i++)
        gnti_program_free(&s->shapes[i].dry);
}

static gnt_status plan_and_run(gnti_serve *s)
{
    gnt_status st = GNT_OK;
    gnti_serve_sum sum = { 0 };

    GNT_TRY(gnti_serve_plan(s, NULL));
    GNT_TRY(gnti_serve_sum_begin(s, &sum));
    GNT_TRY(gnti_serve_run(s, gnti_serve_sum_take, &sum));
    GNT_TRY(gnti_serve_sum_finish(&sum));
done:
    gnti_serve_sum_free(&sum);
    forget_plan(s);
    return st;
}

static void test_failing_allocations(void **state)
{
    gnti_serve s = { 0 };
    char data[GNT_TEST_PATH_BYTES];

    (void)state; /* on the graph of the test before, which is small */
    gnt_assert_ok(gnti_serve_open(w.ctx, w.run, gnt_test_path(data, "other.h5"), -1, NULL, &s));
    gnt_assert_ok(plan_and_run(&s));
    gnti_serve_close(&s);
    gnt_assert_ok(gnti_serve_open(w.ctx, w.run, data, -1, NULL, &s));
    GNT_BRUTAL(plan_and_run(&s));
    gnti_serve_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_answer_is_that_of_the_members_combined),
        cmocka_unit_test(test_any_devices_give_the_same_bits),
        cmocka_unit_test(test_batches_and_replicas_give_the_same_bits),
        cmocka_unit_test(test_waves_let_go_of_logits),
        cmocka_unit_test(test_lost_devices),
        cmocka_unit_test(test_members_of_one_shape_fuse),
        cmocka_unit_test(test_eval_scores_the_combination),
        cmocka_unit_test(test_one_member_and_refusals),
        cmocka_unit_test(test_damage_is_named),
        cmocka_unit_test(test_another_graph),
        cmocka_unit_test(test_members_that_do_not_see_all),
        cmocka_unit_test(test_failing_allocations),
    };

    return cmocka_run_group_tests(tests, make_world, free_world);
}
