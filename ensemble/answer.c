/* SPDX-License-Identifier: Apache-2.0 */
/* gntx_predict and gntx_eval: of a run by train/, of an ensemble's folder by all its members, combined by the rule that the run chose.
 *
 * Under MPI every process calls them, and the first one has the answer.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "ensemble/pool_device.h"
#include "ensemble/serve_sum.h"
#include "train/eval_run.h"
#include "train/predict_table.h"

#include <math.h>
#include <string.h>

/* Smallest probability that a logarithm is taken of, as where temperatures are fitted. */
#define FLOOR 1e-12

/* ---- who is asked ---------------------------------------------------------------------------------------------------- */

typedef struct asked {
    char *run;  /* folder of an ensemble, NULL: that of a lone run */
    char *name; /* the one member that is meant, NULL: all */
} asked;

static void free_asked(asked *a)
{
    gnti_free(a->run);
    gnti_free(a->name);
}

/* Whether the ensemble has a member of that name that does not see all of its data: its own folder does not say what it sees. */
static gnt_status sees_less(const char *run, const char *name, bool *out)
{
    gnt_status st = GNT_OK;
    gnti_ensemble_file e = { 0 };

    *out = false;
    if (!gnti_ensemble_file_exists(run))
        return GNT_OK;
    GNT_TRY(gnti_ensemble_file_open(run, &e));
    for (int32_t i = 0; e.view != NULL && i < e.num_members; i++)
        *out = *out || (strcmp(e.name[i], name) == 0 && e.view[i].seed != 0);
done:
    gnti_ensemble_file_free(&e);
    return st;
}

/* "RUN/members/NAME" of a member with a view is asked through its ensemble. */
static gnt_status find_subject(const char *path, asked *out)
{
    gnt_status st = GNT_OK;
    static const char middle[] = "/" GNTI_ENSEMBLE_MEMBERS "/";
    const size_t length = sizeof middle - 1;
    asked a = { 0 };
    char *at = NULL;
    bool less = false;

    if (path == NULL)
        return GNT_OK;
    GNT_TRY(gnti_strdup(&a.run, path));
    if (gnti_ensemble_file_exists(path)) {
        *out = a;
        return GNT_OK;
    }
    for (at = a.run + strlen(a.run); at > a.run + 1 && at[-1] == '/'; at--)
        at[-1] = '\0';
    while (at > a.run && at[-1] != '/')
        at--;
    if (at - a.run > (ptrdiff_t)length && strncmp(at - length, middle, length) == 0) {
        GNT_TRY(gnti_strdup(&a.name, at));
        *(at - length) = '\0';
        GNT_TRY(sees_less(a.run, a.name, &less));
    }
    if (less) {
        *out = a;
        a = (asked){ 0 };
    }
done:
    free_asked(&a);
    return st;
}

/* Members are what processes can share. */
static gnt_status check_single(gnt_context *ctx, const char *run, const asked *a)
{
    gnt_status st = GNT_OK;
    const int32_t size = gnti_context_processes(ctx) != NULL ? gnti_context_processes(ctx)->size : 1;

    GNT_CHECK(a->run != NULL || size == 1, GNT_ERR_USAGE,
              "'%s' is a single run, which one process answers, but there are %d: start it without mpirun or "
              "srun",
              run != NULL ? run : "", (int)size);
done:
    return st;
}

/* ---- what is told ---------------------------------------------------------------------------------------------------- */

static gnt_status put_device(const gnti_serve *s, int32_t d, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *line = NULL, *row = NULL;
    char name[GNTI_POOL_NAME_BYTES];
    int64_t rows = 0;

    for (int32_t i = 0; i < s->num_tasks; i++)
        if (s->tasks[i].device == d)
            rows += s->data->num_nodes * s->tasks[i].end / GNTI_SERVE_UNITS -
                    s->data->num_nodes * s->tasks[i].first / GNTI_SERVE_UNITS;
    GNT_TRY(gnti_json_append_object(o, &line));
    GNT_TRY(gnti_json_set_int(line, "device", d));
    GNT_TRY(gnti_pool_name(&s->job.place.specs[d], gnti_device_number(s->job.place.specs, d), name));
    GNT_TRY(gnti_json_set_text(line, "name", name));
    GNT_TRY(gnti_json_set_int(line, "rows", rows));
    GNT_TRY(gnti_json_set_number(line, "seconds", s->seconds[d]));
    GNT_TRY(gnti_json_set_array(line, "batch", &row));
    for (int32_t m = 0; m < s->num_members; m++)
        GNT_TRY(gnti_json_append_int(row, s->batch[(int64_t)d * s->num_members + m]));
done:
    return st;
}

/* Devices whose work others have done, with why. */
static gnt_status put_lost(const gnti_serve *s, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *item = NULL;
    char name[GNTI_POOL_NAME_BYTES];

    for (int32_t d = 0; d < s->job.place.size; d++) {
        if (s->lost[d] == NULL)
            continue;
        if (list == NULL)
            GNT_TRY(gnti_json_set_array(o, "lost", &list));
        GNT_TRY(gnti_pool_name(&s->job.place.specs[d], gnti_device_number(s->job.place.specs, d), name));
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_int(item, "device", d));
        GNT_TRY(gnti_json_set_text(item, "name", name));
        GNT_TRY(gnti_json_set_text(item, "message", s->lost[d]));
        gnti_log(GNT_LOG_WARN, "ensemble", "device %d (%s) was lost, the others have done its work: %s",
                 (int)d, name, s->lost[d]);
    }
done:
    return st;
}

static gnt_status put_facts(const gnti_serve *s, const char *run, gnti_json *o)
{
    gnt_status st = GNT_OK;
    static const char *const words[] = { "mean", "logits", "vote", "weighted", "greedy" };
    gnti_json *list = NULL, *item = NULL;

    GNT_TRY(gnti_json_set_text(o, "ensemble", run));
    GNT_TRY(gnti_json_set_text(o, "combine", words[s->file.how]));
    GNT_TRY(gnti_json_set_number(o, "temperature", s->file.temperature));
    GNT_TRY(gnti_json_set_array(o, "used", &list));
    for (int32_t m = 0; m < s->num_members; m++) {
        const gnti_serve_member *member = &s->members[m];

        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "name", s->file.name[member->number]));
        GNT_TRY(gnti_json_set_number(item, "weight", s->file.weight[member->number]));
        GNT_TRY(gnti_json_set_int(item, "shape", member->shape));
    }
    GNT_TRY(gnti_json_set_array(o, "devices", &list));
    for (int32_t d = 0; d < s->job.place.size; d++)
        GNT_TRY(put_device(s, d, list));
    GNT_TRY(put_lost(s, o));
done:
    return st;
}

static gnt_status compute(gnti_serve *s, gnti_serve_sum *c)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_serve_sum_begin(s, c));
    GNT_TRY(gnti_serve_run(s, gnti_serve_sum_take, c));
    GNT_TRY(gnti_serve_sum_finish(c));
done:
    return st;
}

/* ---- predictions ----------------------------------------------------------------------------------------------------- */

static gnt_status save(const gnti_serve *s, const gnti_serve_sum *c, const gntx_predict_options *options,
                       const gnti_predict_output *to, gnti_json *report)
{
    gnt_status st = GNT_OK;
    const int64_t cells = s->data->num_nodes * s->num_classes;
    double *scores = NULL;

    GNT_TRY(gnti_alloc_array(&scores, cells));
    for (int64_t i = 0; i < cells; i++)
        scores[i] = (double)c->probabilities[i];
    GNT_TRY(gnti_predict_save_scores(&(gnti_predict_scores){ .data = s->data,
                                                             .kind = s->file.kind,
                                                             .num_classes = s->num_classes,
                                                             .class_names = s->members[0].trained.class_names,
                                                             .num_members = s->num_members,
                                                             .scores = scores,
                                                             .entropy = c->entropy,
                                                             .disagreement = c->disagreement },
                                     options->what == GNTI_PREDICT_PROBABILITIES, to, report));
done:
    gnti_free(scores);
    return st;
}

static gnt_status predict_ensemble(gnt_context *ctx, const char *run, const char *name,
                                   const gntx_predict_options *options, const gnti_predict_output *to,
                                   gnti_json **report)
{
    gnt_status st = GNT_OK;
    gnti_serve s = { 0 };
    gnti_serve_sum c = { 0 };
    gnti_json *o = NULL;
    char *path = NULL;

    GNT_CHECK(options->what != GNTI_PREDICT_EMBEDDINGS, GNT_ERR_USAGE,
              "embeddings of members have no mean: ask one of them, as in '%s/%s/NAME'", run,
              GNTI_ENSEMBLE_MEMBERS);
    GNT_TRY(gnti_serve_open(ctx, run, options->data, options->seed, name, &s));
    GNT_CHECK(options->what != GNTI_PREDICT_PROBABILITIES || s.file.kind != GNT_LABELS_REGRESSION,
              GNT_ERR_USAGE, "the members predict numbers, not classes: they have no probabilities");
    GNT_TRY(gnti_path_join(run, GNTI_ENSEMBLE_FILE, &path));
    if (to->path != NULL)
        GNT_TRY(gntx_check_output(to->path, (const char *const[]){ path, s.data->path }, 2));
    GNT_TRY(gnti_serve_plan(&s, options->devices));
    GNT_TRY(compute(&s, &c));
    if (!gnti_serve_is_root(&s))
        goto done;
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(put_facts(&s, run, o));
    GNT_TRY(save(&s, &c, options, to, o));
    *report = o;
    o = NULL;
done:
    gnti_free(path);
    gnti_json_free(&o);
    gnti_serve_sum_free(&c);
    gnti_serve_close(&s);
    return st;
}

static gnt_status predict(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                          const gnti_predict_output *to, gntx_json **report)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    asked of = { 0 };
    const gntx_predict_options standard = { .what = GNTI_PREDICT_CLASSES, .seed = -1 };

    options = options != NULL ? options : &standard;
    GNT_TRY(gnti_predict_check(options, to));
    GNT_TRY(find_subject(run, &of));
    GNT_TRY(check_single(ctx, run, &of));
    GNT_TRY(of.run != NULL ? predict_ensemble(ctx, of.run, of.name, options, to, &o)
                           : gnti_predict_run(ctx, run, options, to, &o));
    if (report != NULL) {
        *report = (gntx_json *)o;
        o = NULL; /* handed over */
    }
done:
    gnti_json_free(&o);
    free_asked(&of);
    return st;
}

gnt_status gntx_predict(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                        const char *out_path, gntx_json **report)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(ctx != NULL && out_path != NULL, GNT_ERR_ARG, "context and out_path must not be NULL");
    GNT_TRY(predict(ctx, run, options, &(gnti_predict_output){ .path = out_path }, report));
done:
    return st;
}

gnt_status gntx_predict_rows(gnt_context *ctx, const char *run, const gntx_predict_options *options,
                             const gntx_rows *out, gntx_json **report)
{
    gnt_status st = GNT_OK;
    const bool first = ctx == NULL || gntx_context_rank(ctx) == 0;

    GNT_CHECK(ctx != NULL && (out != NULL || !first), GNT_ERR_ARG, "context and out must not be NULL");
    GNT_TRY(predict(ctx, run, options, &(gnti_predict_output){ .rows = out }, report));
done:
    return st;
}

/* ---- scores ---------------------------------------------------------------------------------------------------------- */

typedef struct subject {
    const gnti_serve *s;
    const gnti_serve_sum *c;
} subject;

/* Logits whose softmax (or sigmoid) is the combination. */
static gnt_status logits_of(const void *user, int32_t member, float **out)
{
    gnt_status st = GNT_OK;
    const subject *of = user;
    const int64_t cells = of->s->data->num_nodes * of->s->num_classes;

    (void)member;
    GNT_TRY(gnti_alloc_array(out, cells));
    for (int64_t i = 0; i < cells; i++) {
        const double p = (double)of->c->probabilities[i], q = fmax(p, FLOOR);

        (*out)[i] = (float)(of->s->file.kind == GNT_LABELS_REGRESSION ? p
                            : of->s->file.kind == GNT_LABELS_MULTI    ? log(q) - log(fmax(1.0 - p, FLOOR))
                                                                      : log(q));
    }
done:
    return st;
}

static gnt_status eval_ensemble(gnt_context *ctx, const char *run, const char *name, const char *data,
                                const char *devices, gnti_json **report)
{
    gnt_status st = GNT_OK;
    gnti_serve s = { 0 };
    gnti_serve_sum c = { 0 };
    const subject of = { &s, &c };
    gnti_json *o = NULL;

    GNT_TRY(gnti_serve_open(ctx, run, data, -1, name, &s));
    GNT_TRY(gnti_serve_plan(&s, devices));
    GNT_TRY(compute(&s, &c));
    if (!gnti_serve_is_root(&s))
        goto done;
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(put_facts(&s, run, o));
    GNT_TRY(gnti_eval_scores(&(gnti_eval_subject){ .data = s.data,
                                                   .num_classes = s.num_classes,
                                                   .class_names = s.members[0].trained.class_names,
                                                   .num_members = 1,
                                                   .logits = logits_of,
                                                   .user = &of },
                             s.file.split != NULL ? s.file.split : gnti_trained_split(&s.members[0].trained),
                             o));
    *report = o;
    o = NULL;
done:
    gnti_json_free(&o);
    gnti_serve_sum_free(&c);
    gnti_serve_close(&s);
    return st;
}

gnt_status gntx_eval(gnt_context *ctx, const char *run, const char *data_path, const char *devices,
                     gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    asked of = { 0 };

    GNT_CHECK(ctx != NULL && out != NULL, GNT_ERR_ARG, "context and out must not be NULL");
    GNT_TRY(find_subject(run, &of));
    GNT_TRY(check_single(ctx, run, &of));
    GNT_TRY(of.run != NULL ? eval_ensemble(ctx, of.run, of.name, data_path, devices, &o)
                           : gnti_eval_run(ctx, run, data_path, devices, &o));
    *out = (gntx_json *)o;
done:
    free_asked(&of);
    return st;
}
