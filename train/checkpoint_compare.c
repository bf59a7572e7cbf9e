/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a run may go on from a checkpoint: data, split and model by their hashes, settings one by one.
 *
 * Settings that a later run may change say how long it goes on, on which devices, and where it writes. All others decide what the numbers
 * are. What differs is named with both values.
 */
#include "train/checkpoint.h"
#include "train/checkpoint_facts.h"

#include "base/alloc.h"
#include "base/option.h"

#include <stdio.h>
#include <string.h>

static const char *const free_settings[] = { "epochs",     "run",     "checkpoint-every", "resume",
                                             "time-limit", "devices", "partition",        "chunks",
                                             "strategy",   "balance", "wait-limit",       "trace" };

enum { VALUE_BYTES = 96, DIFFERENCE_BYTES = 320 };

static void value_text(const gnti_json *value, char out[VALUE_BYTES])
{
    char *text = NULL;

    if (value == NULL || gnti_json_print(value, false, &text) != GNT_OK)
        snprintf(out, VALUE_BYTES, "nothing");
    else
        snprintf(out, VALUE_BYTES, "%s", text);
    gnti_free(text);
}

/* The first member other than a hash or a path in which two objects differ: ", dropout was 0.5 and is 0". */
static void first_difference(const gnti_json *was, const gnti_json *is, char out[DIFFERENCE_BYTES])
{
    out[0] = 0;
    for (int64_t i = 0; i < gnti_json_length(is); i++) {
        const char *key = gnti_json_key_at(is, i);
        char before[VALUE_BYTES], now[VALUE_BYTES];

        if (strstr(key, "sha256") != NULL || strcmp(key, "path") == 0)
            continue;
        value_text(gnti_json_find(was, key), before);
        value_text(gnti_json_find(is, key), now);
        if (strcmp(before, now) != 0) {
            snprintf(out, DIFFERENCE_BYTES, ", %s was %s and is %s", key, before, now);
            return;
        }
    }
}

/* meta.section.key of the checkpoint against now; both are shown. */
static gnt_status compare_hash(const gnti_checkpoint *cp, const gnti_json *now, const char *section,
                               const char *key, const char *name)
{
    gnt_status st = GNT_OK;
    const char *was = NULL, *is = NULL, *was_name = NULL, *is_name = NULL;
    char difference[DIFFERENCE_BYTES];

    GNT_CHECK(gnti_json_find(cp->meta, section) != NULL, GNT_ERR_FORMAT,
              "checkpoint '%s' says nothing about its %s", cp->path, section);
    GNT_TRY(gnti_json_get_text(gnti_json_find(cp->meta, section), key, &was));
    GNT_TRY(gnti_json_get_text(gnti_json_find(now, section), key, &is));
    was_name = gnti_json_to_text(gnti_json_find(gnti_json_find(cp->meta, section), name));
    is_name = gnti_json_to_text(gnti_json_find(gnti_json_find(now, section), name));
    if (strcmp(was, is) == 0)
        goto done;
    first_difference(gnti_json_find(cp->meta, section), gnti_json_find(now, section), difference);
    GNT_FAIL(GNT_ERR_FORMAT,
             "the run was started with %s '%s' (sha256 %s) but now it is '%s' (sha256 %s)%s; checkpoint "
             "'%s': take "
             "another run folder, or --resume never",
             section, was_name != NULL ? was_name : "", was, is_name != NULL ? is_name : "", is, difference,
             cp->path);
done:
    return st;
}

/* Any number of devices goes on with a run, over the same partition. A run on the whole graph may be cut later, which changes
 * no more than rounding; where no bit may change it is refused. */
static gnt_status compare_partition(const gnti_checkpoint *cp, const gnt_trainer *tr)
{
    gnt_status st = GNT_OK;
    const char *was = gnti_json_to_text(gnti_json_find(gnti_json_find(cp->meta, "partition"), "sha256"));
    const char *is = tr->job.partition != NULL ? tr->job.partition->sha256 : NULL;
    const bool bitwise = gnti_context_determinism(tr->ctx) == GNTI_DET_BITWISE;

    if (was == NULL && is != NULL && !bitwise)
        return GNT_OK;
    GNT_CHECK(
        (was == NULL) == (is == NULL) && (was == NULL || strcmp(was, is) == 0),
        was != NULL && is != NULL ? GNT_ERR_FORMAT : GNT_ERR_USAGE,
        "the run was started over %s%s but now it is %s%s; checkpoint '%s': give --partition the file of "
        "the start, take another run folder, or --resume never",
        was != NULL ? "the partition with sha256 " : "the whole graph", was != NULL ? was : "",
        is != NULL ? "the partition with sha256 " : "the whole graph", is != NULL ? is : "", cp->path);
done:
    return st;
}

/* Whether a setting may be another one than before. The length may, unless the schedule is stretched over it. */
static bool is_free(const char *name, const gnt_trainer_config *config)
{
    const bool stretched =
        (config->schedule == GNTI_SCHEDULE_COSINE || config->schedule == GNTI_SCHEDULE_WARMUP_COSINE) &&
        config->schedule_epochs == 0;

    if (strcmp(name, "epochs") == 0 && stretched)
        return false;
    for (size_t i = 0; i < sizeof free_settings / sizeof free_settings[0]; i++)
        if (strcmp(name, free_settings[i]) == 0)
            return true;
    return false;
}

/* Loss weights of a member's own: none, or these. */
static gnt_status compare_weights(const gnti_checkpoint *cp, const gnti_own *own)
{
    gnt_status st = GNT_OK;
    const char *was = gnti_json_to_text(gnti_json_find(cp->meta, "weights_sha256"));
    const char *is = own->weight != NULL ? own->weight_sha256 : NULL;

    GNT_CHECK((was == NULL) == (is == NULL) && (was == NULL || strcmp(was, is) == 0), GNT_ERR_FORMAT,
              "the member was trained with %s%s but now it is %s%s; checkpoint '%s': give the spec and "
              "dataset of the start, or "
              "another --run",
              was != NULL ? "loss weights of sha256 " : "every training node alike", was != NULL ? was : "",
              is != NULL ? "loss weights of sha256 " : "every training node alike", is != NULL ? is : "",
              cp->path);
done:
    return st;
}

gnt_status gnti_checkpoint_compare(const gnti_checkpoint *cp, const gnt_trainer *tr, int32_t member)
{
    gnt_status st = GNT_OK;
    gnti_json *now = NULL;
    const gnti_json *was = gnti_json_find(cp->meta, "config");
    const gnt_trainer_config *config = gnti_member_config(tr, member);
    gnt_model_config model;
    char buffer[64];

    GNT_TRY(gnti_json_create_object(&now));
    gnti_member_model_config(tr, member, &model);
    GNT_TRY(gnti_put_model(tr->model, &model, now));
    GNT_TRY(gnti_put_data(tr->data, now));
    GNT_TRY(gnti_put_split(&tr->prepared, now));
    GNT_TRY(compare_hash(cp, now, "data", "content_sha256", "path"));
    GNT_TRY(compare_hash(cp, now, "split", "sha256", "name"));
    GNT_TRY(compare_hash(cp, now, "model", "sha256", "text"));
    GNT_TRY(compare_partition(cp, tr));
    if (member >= 0)
        GNT_TRY(compare_weights(cp, &tr->own[member]));
    for (int i = 0; i < gnti_options_count(gnti_trainer_table); i++) {
        const gnt_option *row = &gnti_trainer_table[i];
        const char *is = NULL, *then = NULL;

        if (row->kind == GNT_OPTION_KIND_END || is_free(row->name, config))
            continue;
        then = was != NULL ? gnti_json_to_text(gnti_json_find(was, row->name)) : NULL;
        GNT_TRY(gnti_setting_text(row, config, buffer, sizeof buffer, &is));
        GNT_CHECK(then == NULL || strcmp(then, is) == 0, GNT_ERR_USAGE,
                  "the run was started with --%s '%s' but now it is '%s', checkpoint '%s': take another run "
                  "folder, or "
                  "--resume never",
                  row->name, then, is, cp->path);
    }
done:
    gnti_json_free(&now);
    return st;
}
