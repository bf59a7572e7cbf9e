/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a context: what was made with it and not freed is named in the log, by kind; nothing is said otherwise, and
 * freeing it later still works. Whatever order a program frees in, what is still used stays.
 */
#include "tests/support/train_case.h"

#include <gnntrain/log.h>

#include <stdio.h>
#include <string.h>

typedef struct heard {
    int count;
    char text[256];
} heard;

static void listen(void *user, gnt_log_level level, const char *module, const char *text)
{
    heard *h = user;

    assert_int_equal(level, GNT_LOG_WARN);
    assert_string_equal(module, "base");
    h->count++;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void what_is_left_is_named_by_kind(void **state)
{
    heard h = { 0 };
    train_case c;
    gnt_dataset *second = NULL;
    char path[GNT_TEST_PATH_BYTES];

    (void)state;
    gnt_log_set(listen, &h);
    train_case_make(&c, 1);
    gnt_assert_ok(gnt_dataset_save(c.data, gnt_test_path(path, "second.h5")));
    gnt_assert_ok(gnt_dataset_open(c.ctx, path, &second));
    gnt_context_free(&c.ctx);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text, "2 datasets, 1 model"));
    assert_null(strstr(h.text, "trainer"));
    gnt_dataset_free(&second); /* too late, and still no harm */
    train_case_free(&c);
    assert_int_equal(h.count, 1);
    gnt_log_set(NULL, NULL);
}

static void a_clean_end_says_nothing(void **state)
{
    heard h = { 0 };
    train_case c;
    gnt_trainer *tr = NULL;

    (void)state;
    gnt_log_set(listen, &h);
    train_case_make(&c, 2);
    c.config.epochs = 1;
    tr = train_case_trainer(&c);
    gnt_trainer_free(&tr);
    c.config.eval_every = 0; /* refused: nothing is left of it either */
    gnt_assert_status(gnt_trainer_create(c.model, c.data, &c.config, &tr), GNT_ERR_USAGE);
    train_case_free(&c);
    assert_int_equal(h.count, 0);
    gnt_log_set(NULL, NULL);
}

/* The trainer alone is left, trains on, and computes what it would have computed. */
static void a_trainer_keeps_what_it_uses(void **state)
{
    double expected = 0.0;
    heard h = { 0 };
    gnt_epoch_stats s = { .struct_size = sizeof s };

    (void)state;
    gnt_log_set(listen, &h);
    for (int early = 0; early < 2; early++) {
        train_case c;
        gnt_trainer *tr = NULL;

        train_case_make(&c, 1);
        c.config.epochs = 3;
        tr = train_case_trainer(&c);
        assert_true(gnt_trainer_next(tr, &s));
        if (early) {
            gnt_dataset_free(&c.data);
            gnt_context_free(&c.ctx);
            gnt_model_free(&c.model);
            assert_true(c.data == NULL && c.ctx == NULL && c.model == NULL);
        }
        while (gnt_trainer_next(tr, &s))
            ;
        gnt_assert_ok(gnt_trainer_finish(tr));
        if (!early)
            expected = s.train_loss;
        else
            assert_true(s.train_loss == expected);
        gnt_trainer_free(&tr);
        train_case_free(&c);
    }
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text, "1 dataset, 1 model, 1 trainer"));
    gnt_log_set(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_named_by_kind),
        cmocka_unit_test(a_clean_end_says_nothing),
        cmocka_unit_test(a_trainer_keeps_what_it_uses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
