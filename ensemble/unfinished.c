/* SPDX-License-Identifier: Apache-2.0 */
/* What a run that has no summary yet tells others, from its journal and the lock on its log: whether somebody trains it, and how
 * far each member is. Nothing is opened for writing, so it may be asked while the run goes on.
 */
#include <gnntrain/experimental_ensemble.h>

#include "ensemble/journal.h"
#include "train/run_folder.h"

#include "base/alloc.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

/* One line more: the newest word on a member counts. */
static gnt_status take_line(const gnti_json *line, const char *event, gnti_json *members)
{
    gnt_status st = GNT_OK;
    const char *name = gnti_json_to_text(gnti_json_find(line, "member"));
    const gnti_json *list = gnti_json_find(line, "members");
    int64_t epoch = 0;
    char text[48];

    if (name != NULL &&
        (strcmp(event, "ended") == 0 || strcmp(event, "given-up") == 0 || strcmp(event, "set-aside") == 0))
        GNT_TRY(gnti_json_set_text(members, name, event));
    if (strcmp(event, "saved") != 0 || !gnti_json_is_array(list))
        return GNT_OK;
    GNT_TRY(gnti_json_get_int(line, "epoch", &epoch));
    snprintf(text, sizeof text, "saved after epoch %lld", (long long)epoch);
    for (int64_t i = 0; i < gnti_json_length(list); i++) {
        name = gnti_json_to_text(gnti_json_at(list, i));
        if (name != NULL)
            GNT_TRY(gnti_json_set_text(members, name, text));
    }
done:
    return st;
}

static gnt_status put_counts(const gnti_json *members, int64_t num, gnti_json *o, bool *none_left)
{
    gnt_status st = GNT_OK;
    int64_t ended = 0, failed = 0;

    for (int64_t i = 0; i < gnti_json_length(members); i++) {
        const char *state = gnti_json_to_text(gnti_json_find(members, gnti_json_key_at(members, i)));

        ended += strcmp(state, "ended") == 0;
        failed += strcmp(state, "given-up") == 0 || strcmp(state, "set-aside") == 0;
    }
    GNT_TRY(gnti_json_set_int(o, "num_members", num));
    GNT_TRY(gnti_json_set_int(o, "num_ended", ended));
    GNT_TRY(gnti_json_set_int(o, "num_failed", failed));
    *none_left = failed == num;
done:
    return st;
}

static gnt_status put_outcome(const char *run, const char *event, bool none_left, gnti_json *o)
{
    static const char *const outcomes[] = { "running", "failed", "stopped", "interrupted" };
    static const char *const messages[] = {
        "", "no member is left to combine", "stopped with checkpoints: the same command goes on",
        "its process is gone and left no word: the same command goes on from the last checkpoints"
    };
    const int which = !gnti_run_is_abandoned(run) ? 0 : none_left ? 1 : strcmp(event, "stopped") == 0 ? 2 : 3;
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_json_set_text(o, "outcome", outcomes[which]));
    if (which > 0)
        GNT_TRY(gnti_json_set_text(o, "message", messages[which]));
done:
    return st;
}

static gnt_status fill(const char *run, const gnti_journal *journal, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *members = NULL;
    const char *event = "", *time = "", *data = NULL;
    bool none_left = false;
    int64_t num = 0;

    GNT_TRY(gnti_json_create_object(&members));
    for (int64_t i = 0; i < gnti_journal_num_lines(journal); i++) {
        const gnti_json *line = gnti_journal_line(journal, i);

        GNT_TRY(gnti_json_get_text(line, "event", &event));
        GNT_TRY(gnti_json_get_text(line, "time", &time));
        if (strcmp(event, "began") == 0) {
            GNT_TRY(gnti_json_get_text(line, "data", &data));
            GNT_TRY(gnti_json_get_int(line, "members", &num));
        }
        GNT_TRY(take_line(line, event, members));
    }
    GNT_TRY(gnti_json_set_text(o, "kind", "ensemble"));
    GNT_TRY(put_counts(members, num, o, &none_left));
    GNT_TRY(put_outcome(run, event, none_left, o));
    if (data != NULL)
        GNT_TRY(gnti_json_set_text(o, "data", data));
    GNT_TRY(gnti_json_set_text(o, "last_event", event));
    GNT_TRY(gnti_json_set_text(o, "last_time", time));
    GNT_TRY(gnti_json_set_copy(o, "members", members));
done:
    gnti_json_free(&members);
    return st;
}

gnt_status gntx_ensemble_facts(const char *run, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_journal *journal = NULL;
    gnti_json *o = NULL;
    char *path = NULL;

    GNT_CHECK(run != NULL && out != NULL, GNT_ERR_ARG, "run and out must not be NULL");
    GNT_TRY(gnti_path_join(run, "journal.jsonl", &path));
    GNT_TRY(gnti_journal_read(path, &journal));
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(fill(run, journal, o));
    *out = (gntx_json *)o;
    o = NULL; /* handed over */
done:
    gnti_json_free(&o);
    gnti_journal_close(&journal);
    gnti_free(path);
    return st;
}
