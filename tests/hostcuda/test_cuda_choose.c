/* SPDX-License-Identifier: Apache-2.0 */
/* label: medium */
/* Which way a sparse product goes on a device: chosen by measurement where several are open, kept in the run's line and in the
 * user's file, right whichever it is, and in blocks of rows where 32 bits do not count all arcs. Times are those that
 * HOSTCUDA_SECONDS gives, so that each way wins in turn.
 */
#include "tests/hostcuda/cuda_case.h"
#include "tests/support/gnt_test.h"

#include "base/alloc.h"
#include "base/file.h"
#include "kernels/choices.h"
#include "kernels/cuda/cuda.h"

#include <math.h>
#include <string.h>

enum { ROWS = 90, COLUMNS = 70, WIDTH = 24, MOST_ARCS = 4000, LONG_ROW = 7 };

typedef struct product {
    int64_t offsets[ROWS + 1];
    int32_t columns[MOST_ARCS];
    float weights[MOST_ARCS], x[COLUMNS * WIDTH], y[ROWS * WIDTH], plain[ROWS * WIDTH];
    double right[ROWS * WIDTH];
    gnt_device *dev;
    gnt_stream *s;
    gnt_buffer *on_x, *on_y;
    gnt_spmm_plan *plan;
} product;

/* Rows of 0 to 12 arcs, one of 60. */
static void make_graph(product *p)
{
    uint32_t r = 12345;
    int64_t arcs = 0;

    for (int i = 0; i < ROWS; i++) {
        const int n = i == LONG_ROW ? 60 : i * 5 % 13;

        p->offsets[i] = arcs;
        for (int k = 0; k < n; k++, arcs++) {
            r = r * 1664525u + 1013904223u;
            p->columns[arcs] = (int32_t)(r >> 8) % COLUMNS;
            p->weights[arcs] = (float)(r >> 20) / 4096.0f - 0.5f;
        }
    }
    p->offsets[ROWS] = arcs;
    for (int i = 0; i < COLUMNS * WIDTH; i++)
        p->x[i] = (float)(i * 7 % 31) / 16.0f - 1.0f;
    memset(p->right, 0, sizeof p->right);
    for (int i = 0; i < ROWS; i++)
        for (int64_t e = p->offsets[i]; e < p->offsets[i + 1]; e++)
            for (int c = 0; c < WIDTH; c++)
                p->right[i * WIDTH + c] += (double)p->weights[e] * (double)p->x[p->columns[e] * WIDTH + c];
}

static gnt_mat_view view_of(gnt_buffer *buf, int64_t rows)
{
    return (gnt_mat_view){ .buf = buf,
                           .rows = rows,
                           .members = 1,
                           .block_members = 1,
                           .width = WIDTH,
                           .row_stride = WIDTH,
                           .member_stride = WIDTH,
                           .block_stride = rows * WIDTH,
                           .dtype = GNT_F32 };
}

static void open_product(product *p, const char *seconds, gnti_determinism level, int64_t most_arcs)
{
    const gnti_device_config config = { .determinism = level };

    setenv("HOSTCUDA_SECONDS", seconds, 1);
    cuda_case_reset("64M", 5, NULL);
    make_graph(p);
    gnt_assert_ok(gnti_device_open("cuda", 0, &config, &p->dev));
    p->dev->most_narrow_arcs = most_arcs;
    gnt_assert_ok(gnti_stream_open(p->dev, 2, &p->s));
    gnt_assert_ok(gnti_buffer_alloc(p->dev, sizeof p->x, &p->on_x));
    gnt_assert_ok(gnti_buffer_alloc(p->dev, sizeof p->y, &p->on_y));
    gnt_assert_ok(gnti_upload(p->s, p->on_x, 0, p->x, sizeof p->x));
}

static void make_plan(product *p, gnti_choices *choices)
{
    gnt_assert_ok(gnti_spmm_plan_create(p->s,
                                        &(gnt_spmm_plan_args){ .num_rows = ROWS,
                                                               .num_cols = COLUMNS,
                                                               .num_arcs = p->offsets[ROWS],
                                                               .offsets = p->offsets,
                                                               .columns = p->columns,
                                                               .weights = p->weights,
                                                               .end_row = ROWS,
                                                               .max_width = WIDTH,
                                                               .choices = choices },
                                        &p->plan));
}

static gnt_status run_product(product *p, gnt_activation act)
{
    gnt_spmm_args a = { .x = view_of(p->on_x, COLUMNS),
                        .y = view_of(p->on_y, ROWS),
                        .alpha = 1.0f,
                        .epilogue = GNT_EPILOGUE_NONE };

    a.epilogue.act = act;
    return gnti_spmm(p->s, p->plan, &a);
}

static void check_product(product *p, bool relu)
{
    gnt_assert_ok(gnti_download(p->s, p->y, p->on_y, 0, sizeof p->y));
    gnt_assert_ok(gnti_stream_finish(p->s));
    for (int i = 0; i < ROWS * WIDTH; i++) {
        const double right = relu && p->right[i] < 0.0 ? 0.0 : p->right[i];

        if (!(fabs((double)p->y[i] - right) <= 1e-5))
            fail_msg("element %d is %.9g, not %.9g", i, (double)p->y[i], right);
    }
}

static void close_product(product *p)
{
    hostcuda_counts c;

    gnti_spmm_plan_free(&p->plan);
    gnti_buffer_free(&p->on_x);
    gnti_buffer_free(&p->on_y);
    gnti_stream_close(&p->s);
    gnti_device_close(&p->dev);
    hostcuda_get_counts(&c);
    assert_int_equal(c.live_allocations, 0);
    assert_int_equal(c.handles, 0);
}

static gnti_choices *open_choices(const char *path, gnti_determinism level, bool measures)
{
    gnti_choices *c = NULL;

    gnt_assert_ok(gnti_choices_create(
        &(gnti_choices_config){ .path = path, .determinism = level, .measures = measures }, &c));
    return c;
}

/* What was chosen, and how, stands in the text of the choices. */
static void assert_told(gnti_choices *c, const char *words, const char *more)
{
    gnti_text t = { 0 };
    char *text = NULL;

    gnti_choices_tell(c, &t);
    gnt_assert_ok(gnti_text_take(&t, &text));
    if (strstr(text, words) == NULL || strstr(text, more) == NULL)
        fail_msg("'%s' has not '%s' and '%s'", text, words, more);
    gnti_free(text);
}

/* The product by what `choices` decides, plain and with an epilogue; whether anything was measured. */
static bool run_with(gnti_choices *choices, const char *seconds, gnti_determinism level, int64_t most_arcs,
                     product *p)
{
    hostcuda_counts before, after;

    open_product(p, seconds, level, most_arcs);
    make_plan(p, choices);
    hostcuda_get_counts(&before);
    gnt_assert_ok(run_product(p, GNT_ACT_NONE));
    hostcuda_get_counts(&after);
    check_product(p, false);
    memcpy(p->plain, p->y, sizeof p->y);
    gnt_assert_ok(run_product(p, GNT_ACT_RELU));
    check_product(p, true);
    return after.launches - before.launches >
           (most_arcs < 1000 ? 40 : 8); /* an analysis and a product a block */
}

/* A way, and times with which it is the quickest of all; where it is not allowed ours is. */
static const char *const winners[][2] = {
    { "own", "rows_kernel=1e-7,cusparseSpMM_csr=1e-2" },
    { "csr_alg1", "rows_kernel=1e-3,cusparseSpMM_csr_alg1=1e-7,cusparseSpMM_csr=1e-2" },
    { "csr_alg2", "rows_kernel=1e-3,cusparseSpMM_csr_alg2=1e-7,cusparseSpMM_csr=1e-2" },
    { "csr_alg3", "rows_kernel=1e-3,cusparseSpMM_csr_alg3=1e-7,cusparseSpMM_csr=1e-2" }
};

static void test_each_wins(void **state)
{
    static product p;
    const char *folder = gnt_test_folder();
    char path[600], word[64];

    (void)state;
    for (int w = 0; w < 4; w++)
        for (int level = GNTI_DET_OFF; level <= GNTI_DET_BITWISE; level++)
            for (int blocks = 0; blocks < 2; blocks++) {
                gnti_choices *c;
                const bool repeats = level != GNTI_DET_OFF;

                snprintf(path, sizeof path, "%s/%d-%d-%d/choices.json", folder, w, level, blocks);
                c = open_choices(path, (gnti_determinism)level, true);
                assert_true(
                    run_with(c, winners[w][1], (gnti_determinism)level, blocks ? 100 : INT32_MAX, &p));
                /* where bits must repeat, what may not does not take part: the rest ties, and ours come first */
                snprintf(word, sizeof word,
                         ": %s (measured: ", repeats && (w == 1 || w == 2) ? "own" : winners[w][0]);
                assert_told(c, word, blocks ? ":blocks:f32:" : "own ");
                close_product(&p);
                gnti_choices_free(&c);
                c = open_choices(path, (gnti_determinism)level, true); /* from the file, measured no more */
                assert_false(run_with(c, winners[(w + 1) % 4][1], (gnti_determinism)level,
                                      blocks ? 100 : INT32_MAX, &p));
                snprintf(word, sizeof word,
                         ": %s (stored: ", repeats && (w == 1 || w == 2) ? "own" : winners[w][0]);
                assert_told(c, word, "epilogue");
                close_product(&p);
                gnti_choices_free(&c);
            }
}

/* What a run carries comes before the file and before a measurement, and gives the same bits. */
static void test_run_goes_on(void **state)
{
    static product p, q;
    const char *folder = gnt_test_folder();
    char path[600], other[600], *line = NULL;
    gnti_choices *c;
    gnti_text t = { 0 };

    (void)state;
    snprintf(path, sizeof path, "%s/a.json", folder);
    snprintf(other, sizeof other, "%s/b.json", folder);
    c = open_choices(path, GNTI_DET_BITWISE, true);
    (void)run_with(c, winners[3][1], GNTI_DET_BITWISE, INT32_MAX, &p);
    close_product(&p);
    gnti_choices_put(c, &t);
    gnt_assert_ok(gnti_text_take(&t, &line));
    assert_non_null(strstr(line, "=csr_alg3"));
    gnti_choices_free(&c);

    c = open_choices(other, GNTI_DET_BITWISE, true);
    gnt_assert_ok(gnti_choices_take(c, line + 1));
    assert_false(run_with(c, winners[0][1], GNTI_DET_BITWISE, INT32_MAX, &q));
    assert_told(c, ": csr_alg3 (the run: ", "epilogue");
    assert_memory_equal(p.plain, q.plain, sizeof p.plain);
    assert_false(gnti_file_exists(other));
    close_product(&q);
    gnti_choices_free(&c);

    /* another version's line: told, and made anew */
    c = open_choices(other, GNTI_DET_BITWISE, true);
    gnt_assert_ok(gnti_choices_take(c, "what;=x;spmm;k=Y;good=own"));
    assert_true(run_with(c, winners[0][1], GNTI_DET_BITWISE, INT32_MAX, &q));
    close_product(&q);
    gnti_choices_free(&c);
    gnti_free(line);
}

/* A file that is damaged, of another version, or names what cannot be is measured anew and written anew. */
static void test_bad_files(void **state)
{
    static const char *const texts[] = {
        "",
        "{",
        "[1, 2]",
        "{\"format\": \"gnntrain-choices\"}",
        "{\"format\": \"gnntrain-choices\", \"version\": \"" GNT_VERSION "\", \"choices\": [3]}",
        "{\"format\": \"gnntrain-choices\", \"version\": \"0.0.0\", \"choices\": {}}"
    };
    static product p;
    const char *folder = gnt_test_folder();
    char path[600], *text = NULL;
    size_t length = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/c.json", folder);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gnti_choices *c = open_choices(path, GNTI_DET_RUN, true);

        gnt_assert_ok(gnti_file_write_all(path, texts[i], strlen(texts[i])));
        assert_true(run_with(c, winners[3][1], GNTI_DET_RUN, INT32_MAX, &p));
        assert_told(c, ": csr_alg3 (measured: own 1000 us", "csr_alg3 0.1 us");
        close_product(&p);
        gnti_choices_free(&c);
        gnt_assert_ok(gnti_file_read_all(path, 1 << 20, &text, &length));
        assert_non_null(strstr(text, "csr_alg3"));
        gnti_free(text);
    }
    /* a word that is no way, and one that may not repeat its bits */
    for (int i = 0; i < 2; i++) {
        gnti_choices *c = open_choices(path, GNTI_DET_RUN, true);
        char *at;

        gnt_assert_ok(gnti_file_read_all(path, 1 << 20, &text, &length));
        for (at = strstr(text, "\"csr_alg3\""); at != NULL; at = strstr(at, "\"csr_alg3\""))
            memcpy(at, i == 0 ? "\"nonsense\"" : "\"csr_alg1\"", 10);
        gnt_assert_ok(gnti_file_write_all(path, text, length));
        gnti_free(text);
        assert_true(run_with(c, winners[3][1], GNTI_DET_RUN, INT32_MAX, &p));
        assert_told(c, ": csr_alg3 (measured: ", "csr_alg3");
        close_product(&p);
        gnti_choices_free(&c);
        gnt_assert_ok(gnti_file_read_all(path, 1 << 20, &text, &length));
        assert_non_null(strstr(text, "\"csr_alg3\""));
        gnti_free(text);
    }
}

/* Where nothing keeps a choice from run to run it may not decide bits that must repeat; where they need not, it does. */
static void test_not_kept(void **state)
{
    static product p;
    const char *folder = gnt_test_folder();
    char path[600];
    gnti_choices *c;

    (void)state;
    snprintf(path, sizeof path, "%s/file", folder);
    gnt_assert_ok(gnti_file_write_all(path, "x", 1));
    snprintf(path, sizeof path, "%s/file/choices.json", folder);
    c = open_choices(path, GNTI_DET_RUN, true);
    (void)run_with(c, winners[0][1], GNTI_DET_RUN, INT32_MAX, &p);
    assert_told(c, ": csr_alg3 (rule: ", "could not be kept");
    close_product(&p);
    gnti_choices_free(&c);
    c = open_choices(path, GNTI_DET_OFF, true);
    (void)run_with(c, winners[0][1], GNTI_DET_OFF, INT32_MAX, &p);
    assert_told(c, ": own (measured: ", "csr_alg2");
    close_product(&p);
    gnti_choices_free(&c);
    c = open_choices(path, GNTI_DET_BITWISE, false);
    (void)run_with(c, winners[0][1], GNTI_DET_BITWISE, INT32_MAX, &p);
    assert_told(c, ": csr_alg3 (rule: ", "measures nothing");
    close_product(&p);
    gnti_choices_free(&c);
}

/* Blocks of every size give the product; a row alone above the limit is our kernels', and so is a graph by rule. */
static void test_row_blocks(void **state)
{
    static product p;
    static const int64_t limits[] = { 61, 60, 64, 100, 333, 59, 12, 0, -1 };
    const char *folder = gnt_test_folder();
    char path[600];

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int w = 2; w < 4; w++) {
            const gnti_determinism level = w == 2 ? GNTI_DET_OFF : GNTI_DET_BITWISE;
            const bool fits = limits[i] >= 60;
            gnti_choices *c;

            snprintf(path, sizeof path, "%s/%d-%d.json", folder, (int)i, w);
            c = open_choices(path, level, true);
            (void)run_with(c, winners[w][1], level, limits[i], &p);
            assert_told(
                c, fits ? winners[w][0] : ": own (rule: ", fits ? "blocks" : "more arcs than 32 bits count");
            close_product(&p);
            gnti_choices_free(&c);
        }
    (void)run_with(NULL, winners[3][1], GNTI_DET_RUN, 61, &p);
    close_product(&p);
}

/* The k-th allocation fails: the product is there or the error is, and nothing stays behind. */
static void test_failing_allocations(void **state)
{
    static product p;
    const char *folder = gnt_test_folder();
    char path[600], failure[32];
    const gnti_device_config config = { .determinism = GNTI_DET_OFF };

    (void)state;
    for (int k = 1; k < 40; k++) { /* some 30 are asked for */
        gnti_choices *c;
        gnt_status st;

        snprintf(path, sizeof path, "%s/%d.json", folder, k);
        snprintf(failure, sizeof failure, "alloc:%d", k);
        c = open_choices(path, GNTI_DET_OFF, true);
        setenv("HOSTCUDA_SECONDS", winners[2][1], 1);
        cuda_case_reset("64M", 5, failure);
        make_graph(&p);
        memset(&p.dev, 0, sizeof p - offsetof(product, dev));
        st = gnti_device_open("cuda", 0, &config, &p.dev);
        if (st == GNT_OK)
            p.dev->most_narrow_arcs = 100;
        st = st != GNT_OK ? st : gnti_stream_open(p.dev, 2, &p.s);
        st = st != GNT_OK ? st : gnti_buffer_alloc(p.dev, sizeof p.x, &p.on_x);
        st = st != GNT_OK ? st : gnti_buffer_alloc(p.dev, sizeof p.y, &p.on_y);
        st = st != GNT_OK ? st : gnti_upload(p.s, p.on_x, 0, p.x, sizeof p.x);
        st = st != GNT_OK ? st
                          : gnti_spmm_plan_create(p.s,
                                                  &(gnt_spmm_plan_args){ .num_rows = ROWS,
                                                                         .num_cols = COLUMNS,
                                                                         .num_arcs = p.offsets[ROWS],
                                                                         .offsets = p.offsets,
                                                                         .columns = p.columns,
                                                                         .weights = p.weights,
                                                                         .end_row = ROWS,
                                                                         .max_width = WIDTH,
                                                                         .choices = c },
                                                  &p.plan);
        st = st != GNT_OK ? st : run_product(&p, GNT_ACT_NONE);
        assert_true(st == GNT_OK || st == GNT_ERR_DEVICE_NOMEM);
        if (st == GNT_OK)
            check_product(&p, false);
        gnt_clear_error();
        close_product(&p);
        gnti_choices_free(&c);
    }
}

/* What is measured is measured in memory of its own: what y had before is added to once. */
static void test_y_is_left_alone(void **state)
{
    static product p;
    char path[600];
    gnti_choices *c;

    (void)state;
    for (int w = 0; w < 4; w++) {
        snprintf(path, sizeof path, "%s/alone%d.json", gnt_test_folder(), w);
        c = open_choices(path, GNTI_DET_OFF, true);
        open_product(&p, winners[w][1], GNTI_DET_OFF, w % 2 == 0 ? 100 : INT32_MAX);
        make_plan(&p, c);
        for (int i = 0; i < ROWS * WIDTH; i++)
            p.y[i] = 1.0f;
        gnt_assert_ok(gnti_upload(p.s, p.on_y, 0, p.y, sizeof p.y));
        gnt_assert_ok(gnti_spmm(p.s, p.plan,
                                &(gnt_spmm_args){ .x = view_of(p.on_x, COLUMNS),
                                                  .y = view_of(p.on_y, ROWS),
                                                  .alpha = 1.0f,
                                                  .beta = 1.0f,
                                                  .epilogue = GNT_EPILOGUE_NONE }));
        for (int i = 0; i < ROWS * WIDTH; i++)
            p.right[i] += 1.0;
        check_product(&p, false);
        assert_told(c, winners[w][0], " (measured: ");
        close_product(&p);
        gnti_choices_free(&c);
    }
}

/* A step is captured with what was decided before it; what was not decided is no capture. */
static void test_captures(void **state)
{
    static product p;
    const char *folder = gnt_test_folder();
    char path[600];
    gnt_capture *capture = NULL;
    gnti_choices *c;

    (void)state;
    snprintf(path, sizeof path, "%s/choices.json", folder);
    c = open_choices(path, GNTI_DET_RUN, true);
    open_product(&p, winners[3][1], GNTI_DET_RUN, 100);
    make_plan(&p, c);
    gnt_assert_ok(gnti_stream_finish(p.s));
    gnt_assert_ok(gnti_capture_begin(p.s));
    gnt_assert_status(run_product(&p, GNT_ACT_NONE), GNT_ERR_STATE);
    (void)gnti_capture_end(p.s, NULL);
    gnt_clear_error();
    gnt_assert_ok(run_product(&p, GNT_ACT_NONE));
    gnt_assert_ok(gnti_stream_finish(p.s));
    gnt_assert_ok(gnti_capture_begin(p.s));
    gnt_assert_ok(run_product(&p, GNT_ACT_NONE));
    gnt_assert_ok(gnti_capture_end(p.s, &capture));
    gnt_assert_ok(gnti_capture_launch(p.s, capture));
    check_product(&p, false);
    gnti_capture_free(p.s, &capture);
    close_product(&p);
    gnti_choices_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_wins),  cmocka_unit_test(test_run_goes_on),
        cmocka_unit_test(test_bad_files),  cmocka_unit_test(test_not_kept),
        cmocka_unit_test(test_row_blocks), cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_captures),   cmocka_unit_test(test_y_is_left_alone),
    };

    return cuda_case_run(tests);
}
