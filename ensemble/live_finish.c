/* SPDX-License-Identifier: Apache-2.0 */
/* From members to one predictor: what they predict is combined, and ensemble.h5, the report and summary.json say how. Labels of test
 * nodes are read here for the first time, by scores alone.
 */
#include "ensemble/live_past.h"
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "ensemble/ensemble_file.h"
#include "ensemble/report_page.h"
#include "ensemble/votes_remake.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- votes ------------------------------------------------------------------------------------------------------------------ */

typedef struct votes {
    gnti_votes *vote;                  /* (num) */
    const gnti_method_output **output; /* (num) whose they are */
    double *prior;                     /* (num) weights that the method gives */
    int32_t num;
} votes;

static void close_votes(votes *v)
{
    for (int32_t i = 0; v->vote != NULL && i < v->num; i++)
        gnti_votes_close(&v->vote[i]);
    gnti_free(v->vote);
    gnti_free(v->output);
    gnti_free(v->prior);
}

/* The ensemble failed as its first member did. */
static gnt_status fail_of(const gnti_live *run)
{
    gnt_status st = GNT_OK;

    for (int32_t m = 0; m < run->spec->num_members; m++)
        if (run->members[m].outcome == GNTI_LIVE_FAILED)
            GNT_FAIL(run->members[m].status, "no member of '%s' is left to combine; %s: %s", run->config->run,
                     run->spec->members[m].name, run->members[m].failure);
    GNT_FAIL(GNT_ERR_INTERNAL, "no member of '%s' is left to combine, but none failed", run->config->run);
done:
    return st;
}

static gnt_status open_votes(const gnti_live *run, votes *v)
{
    gnt_status st = GNT_OK;
    const gnti_method_output *outputs = NULL;
    const int32_t num = gnti_method_outputs(run->method, &outputs);
    char *path = NULL, *folder = NULL, name[160];

    GNT_TRY(gnti_calloc_array(&v->vote, num + 1));
    GNT_TRY(gnti_calloc_array(&v->output, num + 1));
    GNT_TRY(gnti_calloc_array(&v->prior, num + 1));
    for (int32_t i = 0; i < num; i++) {
        if (!outputs[i].present)
            continue;
        snprintf(name, sizeof name, GNTI_ENSEMBLE_MEMBERS "/%s", outputs[i].name);
        GNT_TRY(gnti_path_join(run->config->run, name, &folder));
        GNT_TRY(gnti_path_join(folder, "logits.npy", &path));
        GNT_TRY(gnti_votes_restore(
            run->ctx, folder, outputs[i].member >= 0 ? &run->spec->members[outputs[i].member].view : NULL,
            run->data));
        GNT_TRY(gnti_votes_open(path, run->data, &v->vote[v->num]));
        v->prior[v->num] = outputs[i].weight;
        v->output[v->num++] = &outputs[i];
        gnti_free(path);
        gnti_free(folder);
        path = folder = NULL;
    }
    if (v->num == 0)
        GNT_TRY(fail_of(run));
done:
    gnti_free(path);
    gnti_free(folder);
    return st;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------- */

static gnt_status write_ensemble_file(const gnti_live *run, const votes *v, const gnti_combined *c,
                                      const char *split)
{
    gnt_status st = GNT_OK;
    gnti_ensemble_file e = { .how = c->how,
                             .kind = run->data->y.kind,
                             .temperature = c->temperature,
                             .fell_back = c->fell_back,
                             .best_member = c->best_member,
                             .num_members = v->num,
                             .weight = c->weight,
                             .spec_sha256 = (char *)run->spec->sha256,
                             .content_sha256 = (char *)run->data->content_sha256,
                             .split = (char *)split };
    char **names = NULL;
    gnti_member_view *views = NULL;
    char *data = NULL;
    bool sees_less = false;

    GNT_TRY(gnti_calloc_array(&names, v->num));
    GNT_TRY(gnti_calloc_array(&views, v->num));
    for (int32_t i = 0; i < v->num; i++) {
        names[i] = (char *)v->output[i]->name;
        if (v->output[i]->member >= 0)
            views[i] = run->spec->members[v->output[i]->member].view;
        sees_less = sees_less || views[i].seed != 0;
    }
    GNT_TRY(gnti_path_absolute(run->data->path, &data));
    e.data = data;
    e.name = names;
    e.view = sees_less ? views : NULL;
    GNT_TRY(gnti_ensemble_file_write(&e, run->config->run));
done:
    gnti_free(names);
    gnti_free(views);
    gnti_free(data);
    return st;
}

/* One line a note. */
static gnt_status split_notes(const gnti_live *run, char **text, const char ***notes, int32_t *num)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_strdup(text, run->notes.data != NULL ? run->notes.data : ""));
    GNT_TRY(gnti_alloc_array(notes, (int64_t)strlen(*text) + 1));
    for (char *at = *text; *at != '\0';) {
        char *end = strchr(at, '\n');

        (*notes)[(*num)++] = at;
        if (end == NULL)
            break;
        *end = '\0';
        at = end + 1;
    }
done:
    return st;
}

static gnt_status report_members(const gnti_live *run, gnti_report_member **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(out, run->spec->num_members));
    for (int32_t m = 0; m < run->spec->num_members; m++) {
        const gnti_live_member *member = &run->members[m];

        (*out)[m] = (gnti_report_member){ .name = run->spec->members[m].name,
                                          .differs = run->spec->members[m].differs,
                                          .outcome = member->outcome == GNTI_LIVE_FAILED ? member->failure
                                                                                         : member->how,
                                          .seed = run->spec->members[m].seed,
                                          .epochs = member->epochs_trained,
                                          .seconds = member->seconds };
    }
done:
    return st;
}

static gnt_status add_run(gnti_live *run, gnti_json *report, gnti_live_past *past,
                          const gnti_manager_facts *facts)
{
    gnt_status st = GNT_OK;
    gnti_report_member *members = NULL;
    const char **notes = NULL;
    char *text = NULL, *data = NULL, policy[32], method[32];
    gnti_report_run r = { .title = run->config->run, .manager = facts };

    GNT_TRY(gnti_path_absolute(run->data->path, &data));
    r.data = data;
    GNT_TRY(report_members(run, &members));
    GNT_TRY(split_notes(run, &text, &notes, &r.num_notes));
    GNT_TRY(gnti_live_past_lend(past, &r));
    r.clock = run->is_virtual ? "virtual clock" : "wall clock";
    r.policy = gnti_spec_word(run->spec, "policy", policy);
    r.method = gnti_spec_word(run->spec, "method", method);
    r.members = members;
    r.num_members = run->spec->num_members;
    r.notes = notes;
    GNT_TRY(gnti_report_add_run(report, &r));
done:
    gnti_free(members);
    gnti_free(notes);
    gnti_free(text);
    gnti_free(data);
    return st;
}

/* ---- summary.json ------------------------------------------------------------------------------------------------------------ */

/* Members that gave no predictions stand in the list too, with why. */
static gnt_status add_failed(const gnti_live *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *item = NULL;

    GNT_TRY(gnti_json_set_array(o, "failed", &list));
    for (int32_t m = 0; m < run->spec->num_members; m++)
        if (run->members[m].outcome == GNTI_LIVE_FAILED) {
            GNT_TRY(gnti_json_append_object(list, &item));
            GNT_TRY(gnti_json_set_text(item, "name", run->spec->members[m].name));
            GNT_TRY(gnti_json_set_int(item, "epochs", run->members[m].epochs_trained));
            GNT_TRY(gnti_json_set_text(item, "message", run->members[m].failure));
        }
done:
    return st;
}

static gnt_status add_schedule(const gnti_live *run, const gnti_manager_facts *facts, int64_t num_processes,
                               gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *s = NULL;
    const double present = facts->present_speed_seconds;

    GNT_TRY(gnti_json_set_object(o, "schedule", &s));
    GNT_TRY(gnti_json_set_text(s, "clock", run->is_virtual ? "virtual" : "wall"));
    GNT_TRY(gnti_json_set_number(s, "makespan_seconds", facts->makespan));
    GNT_TRY(gnti_json_set_number(s, "lower_bound_seconds", facts->lower_bound));
    GNT_TRY(gnti_json_set_number(s, "utilisation",
                                 present > 0.0 ? facts->busy_speed_seconds / present : (double)NAN));
    GNT_TRY(gnti_json_set_number(s, "mean_completion_seconds", facts->mean_completion));
    GNT_TRY(gnti_json_set_int(s, "moves", facts->num_moves));
    GNT_TRY(gnti_json_set_number(s, "move_seconds", facts->move_seconds));
    GNT_TRY(gnti_json_set_int(s, "retries", facts->num_retries));
    GNT_TRY(gnti_json_set_int(s, "lost", facts->num_lost));
    GNT_TRY(gnti_json_set_int(s, "groups", run->num_tasks));
    GNT_TRY(gnti_json_set_int(s, "processes", num_processes));
done:
    return st;
}

/* Meters count the machine, whoever uses it; where none can be read, and on a virtual clock, joules are the stated model's. */
static gnt_status add_energy(const gnti_live *run, const gnti_manager_facts *facts, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *e = NULL;
    const bool metered = !run->is_virtual && run->world == NULL && run->energy != NULL &&
                         strcmp(gnti_energy_sources(run->energy), "none") != 0;

    GNT_TRY(gnti_json_set_object(o, "energy", &e));
    GNT_TRY(gnti_json_set_number(e, "joules", metered ? gnti_energy_joules(run->energy) : facts->joules));
    GNT_TRY(gnti_json_set_text(e, "source", metered ? gnti_energy_sources(run->energy) : "model"));
    GNT_TRY(gnti_json_set_number(e, "model_joules", facts->joules));
done:
    return st;
}

static gnt_status make_summary(const gnti_live *run, const gnti_json *report, const gnti_manager_facts *facts,
                               gnti_json **out)
{
    gnt_status st = GNT_OK;
    static const char *const keys[] = { "metric",      "members",  "member_mean", "member_std",
                                        "best_member", "ensemble", "combine" };
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "kind", "ensemble"));
    GNT_TRY(gnti_json_set_text(o, "outcome", "complete"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (gnti_json_find(report, keys[i]) != NULL)
            GNT_TRY(gnti_json_set_copy(o, keys[i], gnti_json_find(report, keys[i])));
    GNT_TRY(add_failed(run, o));
    GNT_TRY(add_schedule(run, facts,
                         gnti_json_length(gnti_json_find(gnti_json_find(report, "run"), "processes")), o));
    GNT_TRY(add_energy(run, facts, o));
    GNT_TRY(gnti_json_set_number(o, "seconds", gnti_clock_seconds() - run->started));
    *out = o;
    o = NULL;
done:
    gnti_json_free(&o);
    return st;
}

/* ---- all of it ----------------------------------------------------------------------------------------------------------------- */

enum { MAX_METHOD_NOTES = 32 };

/* What the method says of its outputs goes to the report. */
static gnt_status finish_method(gnti_live *run)
{
    gnt_status st = GNT_OK;
    const gnti_method_output *outputs = NULL;
    uint8_t *skip = NULL;
    int32_t num;

    GNT_TRY(gnti_calloc_array(&skip, run->spec->num_members + 1));
    for (int32_t m = 0; m < run->spec->num_members; m++)
        skip[m] = run->members[m].outcome == GNTI_LIVE_FAILED;
    GNT_TRY(gnti_method_finish(run->method, skip));
    num = gnti_method_outputs(run->method, &outputs);
    for (int32_t i = 0; i < num && i < MAX_METHOD_NOTES; i++)
        if (outputs[i].note[0] != '\0')
            GNT_TRY(gnti_live_note(run, "%s: %s", outputs[i].name, outputs[i].note));
done:
    gnti_free(skip);
    return st;
}

/* Where nothing was trained this time the report that is there tells of the training. */
static gnt_status keep_run(const gnti_live *run, gnti_json *report, bool *kept)
{
    gnt_status st = GNT_OK;
    gnti_json *old = NULL;
    char *path = NULL;

    if (run->num_tasks > 0)
        return GNT_OK;
    GNT_TRY(gnti_path_join(run->config->run, "report.json", &path));
    if (!gnti_file_exists(path) || gnti_json_read(path, &old) != GNT_OK)
        goto done;
    *kept = gnti_json_find(old, "run") != NULL;
    if (*kept)
        GNT_TRY(gnti_json_set_copy(report, "run", gnti_json_find(old, "run")));
done:
    gnti_json_free(&old);
    gnti_free(path);
    return st;
}

static gnt_status write_all(gnti_live *run, const votes *v, const gnti_combine_config *config,
                            const gnti_combined *c, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_manager_facts facts = run->facts;
    gnti_live_past *past = NULL;
    gnti_json *report = NULL, *summary = NULL;
    char *path = NULL;
    bool kept = false;

    if (run->manager != NULL)
        GNT_TRY(gnti_manager_get_facts(run->manager, &facts));
    GNT_TRY(gnti_live_past_read(run, &past));
    gnti_live_past_count(run, past, &facts);
    GNT_TRY(gnti_json_create_object(&report));
    GNT_TRY(gnti_combine_facts(v->vote, v->num, run->data, config, c, report));
    GNT_TRY(keep_run(run, report, &kept));
    if (!kept)
        GNT_TRY(add_run(run, report, past, &facts));
    GNT_TRY(write_ensemble_file(run, v, c, config->split));
    GNT_TRY(gnti_report_write(run->config->run, report));
    GNT_TRY(make_summary(run, report, &facts, &summary));
    GNT_TRY(gnti_path_join(run->config->run, "summary.json", &path));
    GNT_TRY(gnti_json_write(path, summary));
    GNT_TRY(gnti_journal_add(run->journal, "combined", NULL, true));
    GNT_TRY(gnti_run_log(run->folder, "complete: %d members combined", (int)v->num));
    *out = summary;
    summary = NULL;
done:
    gnti_live_past_free(&past);
    gnti_json_free(&report);
    gnti_json_free(&summary);
    gnti_free(path);
    return st;
}

gnt_status gnti_live_finish(gnti_live *run, gnti_json **out_summary)
{
    gnt_status st = GNT_OK;
    const gnt_trainer_config *train = &run->spec->members[0].train;
    gnti_combine_config config = { .how = (gnti_combine)run->spec->combine,
                                   .rounds = run->spec->select_rounds,
                                   .start = run->spec->select_start,
                                   .temperature = run->spec->temperature,
                                   .metric = (gnti_metric)train->metric,
                                   .split = train->split,
                                   .seed = run->spec->seed };
    gnti_combined combined = { 0 };
    votes v = { 0 };

    GNT_TRY(finish_method(run));
    GNT_TRY(open_votes(run, &v));
    config.prior = run->spec->method == GNTI_METHOD_EDDE ? v.prior : NULL;
    GNT_TRY(gnti_combine_members(v.vote, v.num, run->data, &config, &combined));
    GNT_TRY(write_all(run, &v, &config, &combined, out_summary));
done:
    gnti_combined_free(&combined, v.num);
    close_votes(&v);
    return st;
}
