/* SPDX-License-Identifier: Apache-2.0 */
/* Run folders that tests compare. Times are not compared: "seconds" of the metrics is left out. */
#include "tests/support/run_case.h"

#include <gnntrain/experimental.h>

#include "base/json.h"
#include "train/checkpoint.h"

#include <stdio.h>
#include <string.h>

run_case_folder run_case_new_folder(const char *name)
{
    run_case_folder f;

    gnt_test_path(f.path, name);
    return f;
}

char *run_case_in_folder(const run_case_folder *f, const char *name, char out[GNT_TEST_PATH_BYTES])
{
    snprintf(out, GNT_TEST_PATH_BYTES, "%.3800s/%s", f->path, name);
    return out;
}

/* The lines of a metrics file without their seconds, one text to be freed. */
static char *metrics_text(const run_case_folder *f, const char *name)
{
    char path[GNT_TEST_PATH_BYTES];
    int64_t bytes = 0;
    char *text = gnt_test_read(run_case_in_folder(f, name, path), &bytes), *out = text, *line = text;

    for (char *end = strchr(line, '\n'); end != NULL; line = end + 1, end = strchr(line, '\n')) {
        int commas = 0;

        for (char *p = line; p < end; p++) {
            commas += *p == ',';
            if (commas == 6) /* "seconds" is the seventh */
                break;
            *out++ = *p;
        }
        *out++ = '\n';
    }
    *out = 0;
    return text;
}

void run_case_same_metrics(const run_case_folder *a, const run_case_folder *b, const char *name)
{
    char *x = metrics_text(a, name), *y = metrics_text(b, name);

    assert_string_equal(x, y);
    gnti_free(x);
    gnti_free(y);
}

/* Everything that decides the future, bit for bit. */
void run_case_same_state(const run_case_folder *a, const run_case_folder *b)
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_checkpoint *x = NULL, *y = NULL;
    int64_t ex = 0, ey = 0;

    gnt_assert_ok(gnti_checkpoint_open(run_case_in_folder(a, "checkpoint.h5", path), &x));
    gnt_assert_ok(gnti_checkpoint_open(run_case_in_folder(b, "checkpoint.h5", path), &y));
    assert_int_equal(x->num_floats, y->num_floats);
    for (int block = 0; block < GNTI_CP_BLOCKS; block++) {
        assert_int_equal(x->block[block] == NULL, y->block[block] == NULL);
        if (x->block[block] != NULL) /* SGD has one moment */
            gnt_assert_same_bits(x->block[block], y->block[block], x->num_floats);
    }
    assert_memory_equal(x->members, y->members, (size_t)x->num_members * GNTI_MEMBER_FIELDS * sizeof(double));
    gnt_assert_ok(gnti_json_get_int(x->meta, "epoch", &ex));
    gnt_assert_ok(gnti_json_get_int(y->meta, "epoch", &ey));
    assert_int_equal(ex, ey);
    gnti_checkpoint_free(&x);
    gnti_checkpoint_free(&y);
}

char *run_case_outcome_of(const run_case_folder *f, char out[32])
{
    char path[GNT_TEST_PATH_BYTES];
    gnti_json *o = NULL;
    const char *text = NULL;

    gnt_assert_ok(gnti_json_read(run_case_in_folder(f, "summary.json", path), &o));
    gnt_assert_ok(gnti_json_get_text(o, "outcome", &text));
    snprintf(out, 32, "%s", text);
    gnti_json_free(&o);
    return out;
}

/* One call of the command: to the end, or a stop requested after `epochs`. */
gnt_status run_case_once(train_case *c, const run_case_folder *f, int64_t epochs)
{
    gnt_trainer *tr = NULL;
    gnt_epoch_stats s = { .struct_size = sizeof s };
    gnt_status st = GNT_OK;

    c->config.run = f->path;
    tr = train_case_trainer(c);
    train_case_run(tr, epochs, 0, NULL);
    if (gnt_trainer_status(tr) == GNT_OK && gntx_trainer_epochs_done(tr) < c->config.epochs) {
        gnt_trainer_request_stop(tr);
        (void)gnt_trainer_next(tr, &s);
    }
    st = gnt_trainer_status(tr);
    if (st == GNT_OK)
        gnt_assert_ok(gnt_trainer_finish(tr));
    gnt_trainer_free(&tr);
    return st;
}
