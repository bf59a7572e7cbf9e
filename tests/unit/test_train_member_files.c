/* SPDX-License-Identifier: Apache-2.0 */
/* Files of members: written as a lone run's, read by what reads runs, taken up again in any company; damaged ones fall back to
 * the one before; those of another model, dataset, split or setting are refused with both sides. */
#include "tests/support/member_case.h"

#include <gnntrain/experimental.h>
#include <gnntrain/log.h>

#include "base/file.h"
#include "train/trainer_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EPOCHS = 10, CELLS = TRAIN_CASE_NODES * TRAIN_CASE_CLASSES };

static void make(member_case *mc, const char *text, const char *devices)
{
    train_case_arrays(&mc->c, GNT_LABELS_CLASS, 9);
    mc->c.text = text;
    mc->c.config.epochs = EPOCHS;
    mc->c.config.devices = devices;
    mc->c.config.chunks = devices != NULL ? 8 : 0;
    train_case_dataset(&mc->c, "threads=1;deterministic=bitwise");
    member_case_options(mc, true);
}

static char *folder_of(const char *name, int32_t m, char out[GNT_TEST_PATH_BYTES])
{
    char text[64];

    snprintf(text, sizeof text, "members-%s/m%d", name, (int)m);
    return gnt_test_path(out, text);
}

static char *file_of(const char *folder, const char *name, char out[GNT_TEST_PATH_BYTES])
{
    assert_true(snprintf(out, GNT_TEST_PATH_BYTES, "%s/%s", folder, name) < GNT_TEST_PATH_BYTES);
    return out;
}

static void damage(const char *path)
{
    int64_t bytes = 0;
    char *content = gnt_test_read(path, &bytes);

    for (int64_t at = bytes / 3; at < 2 * bytes / 3; at += 50)
        content[at] ^= 0x10;
    gnt_assert_ok(gnti_file_write_all(path, content, (size_t)bytes));
    gnti_free(content);
}

static void load_and_put(gnt_trainer *tr, int32_t m, const char *folder, int64_t epoch)
{
    gnti_member_state s = { 0 };
    bool found = false;

    gnt_assert_ok(gnti_trainer_load_member(tr, m, folder, &s, &found));
    assert_true(found);
    assert_int_equal(s.epoch, epoch);
    gnt_assert_ok(gnti_trainer_put_member(tr, m, &s));
    gnti_member_state_free(&s);
}

/* Saved by a group of 4; members 3 and 1 go on as a group of two, 2 alone: all as if nothing had happened. */
static void test_groups_form_anew_at_resume(void **state)
{
    static const char *const devices[] = { NULL, "3" };

    (void)state;
    for (int k = 0; k < 2; k++) {
        member_case mc;
        gnt_trainer *group = NULL, *pair = NULL, *one = NULL;
        gnti_member_options pair_options[2];
        char folder[4][GNT_TEST_PATH_BYTES];
        bool found = true;
        gnti_member_state none = { 0 };

        make(&mc, "gcn:8:norm=batch, gcn", devices[k]);
        group = member_case_trainer(&mc, 0, 4);
        for (int32_t m = 0; m < 4; m++)
            folder_of(k == 0 ? "form" : "form-ranks", m, folder[m]);
        assert_int_equal(gnti_member_file_epoch(folder[0]), -1);
        gnt_assert_ok(gnti_trainer_load_member(group, 0, folder[0], &none, &found));
        assert_false(found);
        for (int64_t e = 1; e <= 5; e++) {
            assert_int_equal(train_case_run(group, 1, 0, NULL), 1);
            for (int32_t m = 0; m < 4 && e >= 3; m += e == 4 ? 2 : 1)
                gnt_assert_ok(gnti_trainer_save_member(group, m, folder[m], e == 5));
        }
        pair_options[0] = mc.members[3];
        pair_options[1] = mc.members[1];
        gnt_assert_ok(
            gnti_trainer_create_members(mc.c.model, mc.c.data, &mc.c.config, pair_options, 2, &pair));
        one = member_case_trainer(&mc, 2, 1);
        assert_int_equal(gnti_member_file_epoch(folder[3]), 5);
        load_and_put(pair, 0, folder[3], 5);
        load_and_put(pair, 1, folder[1], 5);
        load_and_put(one, 0, folder[2], 5);
        assert_int_equal(train_case_run(pair, 100, 0, NULL), 5);
        assert_int_equal(train_case_run(one, 100, 0, NULL), 5);
        assert_int_equal(train_case_run(group, 100, 0, NULL), 5);
        member_case_assert_same(pair, 0, group, 3, 0.0f);
        member_case_assert_same(pair, 1, group, 1, 0.0f);
        member_case_assert_same(one, 0, group, 2, 0.0f);
        gnt_trainer_free(&group);
        gnt_trainer_free(&pair);
        gnt_trainer_free(&one);
        train_case_free(&mc.c);
    }
}

static void test_a_damaged_file_falls_back(void **state)
{
    member_case mc;
    gnt_trainer *tr = NULL, *again = NULL;
    char folder[GNT_TEST_PATH_BYTES], newest[GNT_TEST_PATH_BYTES], previous[GNT_TEST_PATH_BYTES];
    gnti_member_state s = { 0 };
    bool found = true;

    (void)state;
    make(&mc, "gcn:8, gcn", NULL);
    folder_of("damage", 0, folder);
    file_of(folder, "checkpoint.h5", newest);
    file_of(folder, "checkpoint.prev.h5", previous);
    tr = member_case_trainer(&mc, 0, 2);
    assert_int_equal(train_case_run(tr, 2, 0, NULL), 2);
    gnt_assert_ok(gnti_trainer_save_member(tr, 0, folder, false));
    assert_false(gnti_file_exists(previous));
    assert_int_equal(train_case_run(tr, 2, 0, NULL), 2);
    gnt_assert_ok(gnti_trainer_save_member(tr, 0, folder, false));
    gnt_log_set_levels("error");
    damage(newest);
    again = member_case_trainer(&mc, 0, 1);
    assert_int_equal(gnti_member_file_epoch(folder), 2);
    load_and_put(again, 0, folder, 2);
    assert_int_equal(train_case_run(again, 1, 0, NULL), 1);
    gnt_assert_ok(gnti_trainer_save_member(again, 0, folder, false)); /* not over the sound one */
    assert_int_equal(gnti_member_file_epoch(folder), 3);
    damage(newest);
    assert_int_equal(gnti_member_file_epoch(folder), 2);
    damage(previous);
    assert_int_equal(gnti_member_file_epoch(folder), -1);
    gnt_assert_status(gnti_trainer_load_member(again, 0, folder, &s, &found), GNT_ERR_FORMAT);
    assert_false(found);
    assert_int_equal(unlink(newest), 0); /* the process died between the two renames */
    assert_int_equal(unlink(previous), 0);
    gnt_assert_ok(gnti_trainer_save_member(again, 0, folder, false));
    assert_int_equal(rename(newest, previous), 0);
    assert_int_equal(gnti_member_file_epoch(folder), 3);
    gnt_log_set_levels("warn");
    gnt_trainer_free(&tr);
    gnt_trainer_free(&again);
    train_case_free(&mc.c);
}

static void assert_refused(member_case *mc, const char *folder, const char *text, const char *more)
{
    gnt_trainer *tr = member_case_trainer(mc, 0, 2);
    gnti_member_state s = { 0 };
    bool found = true;

    assert_true(gnti_trainer_load_member(tr, 1, folder, &s, &found) != GNT_OK);
    gnt_assert_error_has(text, more);
    assert_false(found);
    gnt_trainer_free(&tr);
    member_case_options(mc, true);
}

static void test_files_of_other_members_are_refused(void **state)
{
    member_case mc;
    gnt_trainer *tr = NULL;
    char folder[GNT_TEST_PATH_BYTES];

    (void)state;
    make(&mc, "gcn:8, gcn", NULL);
    folder_of("other", 1, folder);
    tr = member_case_trainer(&mc, 0, 2);
    assert_int_equal(train_case_run(tr, 2, 0, NULL), 2);
    gnt_assert_ok(gnti_trainer_save_member(tr, 1, folder, false));
    gnt_trainer_free(&tr);
    mc.members[1].lr = 0.5;
    assert_refused(&mc, folder, "--lr '0.017", "'0.5'");
    mc.members[1].dropout = 0.1;
    assert_refused(&mc, folder, "dropout was 0.35", "is 0.1");
    mc.members[1].seed = 108;
    assert_refused(&mc, folder, "--seed '107'", "'108'");
    mc.members[1].weight_decay = "1:0.25";
    assert_refused(&mc, folder, "'1:0.001'", "'1:0.25'");
    mc.members[1].weight = NULL;
    assert_refused(&mc, folder, "loss weights of sha256", "every training node alike");
    mc.weight[1][5] = 3.0f;
    assert_refused(&mc, folder, "loss weights of sha256", "now it is loss weights");
    mc.members[1].epochs = EPOCHS + 5; /* it may go on for longer */
    tr = member_case_trainer(&mc, 0, 2);
    load_and_put(tr, 1, folder, 2);
    gnt_trainer_free(&tr);
    member_case_options(&mc, true);
    gnt_model_free(&mc.c.model);
    gnt_assert_ok(gnt_model_create_with(mc.c.data, "gcn:9, gcn", &mc.c.model_config, &mc.c.model));
    assert_refused(&mc, folder, "gcn:8, gcn", "gcn:9, gcn");
    train_case_free(&mc.c);
}

/* gnntrain eval, predict and export read a member's folder, and say what the trainer says. */
static void test_folders_are_those_of_runs(void **state)
{
    member_case mc;
    gnt_trainer *tr = NULL;
    char folder[GNT_TEST_PATH_BYTES], data[GNT_TEST_PATH_BYTES], out[GNT_TEST_PATH_BYTES];
    float logits[CELLS];
    const gntx_predict_options options = { .what = 0, .seed = -1 };
    gntx_export_options export = { .seed = -1 };
    gntx_json *o = NULL;
    double accuracy = NAN, best;
    char *text, *line;

    (void)state;
    make(&mc, "gcn:8, gcn", NULL);
    train_case_save(&mc.c, "members.h5", data);
    member_case_options(&mc, true);
    tr = member_case_trainer(&mc, 0, 3);
    assert_int_equal(train_case_run(tr, 100, 0, NULL), EPOCHS);
    gnt_assert_ok(gnti_trainer_save_member(tr, 2, folder_of("run", 2, folder), true));
    gnt_assert_ok(gnti_trainer_member_logits(tr, 2, true, logits));
    best = tr->members[2].best_valid_metric;
    gnt_assert_ok(gntx_eval(mc.c.ctx, folder, NULL, NULL, &o));
    assert_true(gntx_json_to_number(
        gntx_json_find(gntx_json_find(gntx_json_find(o, "splits"), "valid"), "accuracy"), &accuracy));
    assert_true(fabs(accuracy - best) < 1e-12);
    gntx_json_free(&o);
    gnt_assert_ok(gntx_predict(mc.c.ctx, folder, &options, gnt_test_path(out, "member.csv"), &o));
    gntx_json_free(&o);
    text = gnt_test_read(out, NULL);
    line = strchr(text, '\n');
    for (int64_t i = 0; i < TRAIN_CASE_NODES; i++) {
        int node = -1, predicted = -1, likeliest = 0;

        assert_int_equal(sscanf(line + 1, "%d,%d", &node, &predicted), 2);
        for (int c = 1; c < TRAIN_CASE_CLASSES; c++)
            if (logits[i * TRAIN_CASE_CLASSES + c] > logits[i * TRAIN_CASE_CLASSES + likeliest])
                likeliest = c;
        assert_int_equal(node, i);
        assert_int_equal(predicted, likeliest);
        line = strchr(line + 1, '\n');
    }
    gnti_free(text);
    gnt_assert_ok(gntx_export(folder, &export, gnt_test_path(out, "member.safetensors"), &o));
    gntx_json_free(&o);
    gnt_trainer_free(&tr);
    train_case_free(&mc.c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_form_anew_at_resume),
        cmocka_unit_test(test_a_damaged_file_falls_back),
        cmocka_unit_test(test_files_of_other_members_are_refused),
        cmocka_unit_test(test_folders_are_those_of_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
