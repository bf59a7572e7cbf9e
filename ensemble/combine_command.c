/* SPDX-License-Identifier: Apache-2.0 */
/* gntx_ensemble_combine and gntx_ensemble_report: what the commands call. A report that is made anew takes members, rule, split and
 * seed from the report that is there, reads the predictions again, and keeps what it says of the training.
 */
#include <gnntrain/experimental_ensemble.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "ensemble/ensemble_file.h"
#include "ensemble/id_join.h"
#include "ensemble/report_page.h"
#include "ensemble/votes_collect.h"
#include "ensemble/votes_remake.h"
#include "train/predict_table.h"
#include "train/trained.h"

#include <string.h>

static const gnt_option combine_table[] = {
    GNT_OPTION_GROUP("Combination"),
    GNT_OPTION_WORD("how", gntx_combine_options, how, GNTI_COMBINE_MEAN, GNTI_COMBINE_WORDS,
                    "mean of probabilities or logits, votes, weights by validation, or greedy selection"),
    GNT_OPTION_INT("rounds", gntx_combine_options, rounds, 50, 1, 10000, "of greedy selection"),
    GNT_OPTION_INT("start", gntx_combine_options, start, 4, 1, 10000,
                   "best members that greedy selection starts from"),
    GNT_OPTION_BOOL("temperature", gntx_combine_options, temperature, true,
                    "calibrate the combination on validation rows"),
    GNT_OPTION_WORD("metric", gntx_combine_options, metric, GNTI_METRIC_AUTO, GNTI_METRIC_WORDS,
                    "what selects members; auto: by the labels"),
    GNT_OPTION_INT("seed", gntx_combine_options, seed, 1, 0, 9007199254740992.0,
                   "of the folds that validation rows are cut into"),
    GNT_OPTION_TEXT("split", gntx_combine_options, split, NULL,
                    "name; 'public' or the only one when not given"),
    GNT_OPTION_TEXT("report", gntx_combine_options, report, NULL, "page with charts and tables, HTML"),
    GNT_OPTION_END,
};

const gnt_option *gntx_combine_option_table(void)
{
    return combine_table;
}

static bool is_given(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static gnt_status write_predictions(const gnt_dataset *data, const gnti_combined *c, const char *path)
{
    gnt_status st = GNT_OK;
    int64_t *order = NULL;

    GNT_TRY(gnti_output_order(data, &order));
    const gnti_predict_table table = { .data = data,
                                       .order = order,
                                       .num_rows = data->num_nodes,
                                       .width = data->y.num_classes,
                                       .values = c->probabilities,
                                       .class_names = data->y.names,
                                       .column = data->y.kind == GNT_LABELS_REGRESSION ? "prediction"
                                                                                       : "probability" };

    GNT_TRY(gnti_predict_write(&table, path));
done:
    gnti_free(order);
    return st;
}

static gnt_status write_page(const gnti_json *report, const char *path)
{
    gnt_status st = GNT_OK;
    char *html = NULL;

    GNT_TRY(gnti_report_page(report, NULL, &html));
    GNT_TRY(gnti_file_write_all(path, html, strlen(html)));
done:
    gnti_free(html);
    return st;
}

static gnt_status put_skipped(const gnti_votes_list *list, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *names = NULL;

    GNT_TRY(gnti_json_set_array(o, "skipped", &names));
    for (int64_t i = 0; i < list->num_skipped; i++)
        GNT_TRY(gnti_json_append_text(names, list->skipped[i]));
done:
    return st;
}

/* No output may be one of the files that are read. */
static gnt_status check_names(const char *data, const char *const *paths, int num_paths,
                              const gntx_combine_options *o)
{
    gnt_status st = GNT_OK;

    if (is_given(o->output)) {
        GNT_TRY(gnti_predict_check_name(o->output));
        GNT_TRY(gntx_check_output(o->output, paths, num_paths));
        GNT_TRY(gntx_check_output(o->output, &data, 1));
    }
    if (is_given(o->report)) {
        GNT_TRY(gntx_check_output(o->report, paths, num_paths));
        GNT_TRY(gntx_check_output(o->report, &data, 1));
    }
done:
    return st;
}

/* Members from paths, combined and scored. */
typedef struct path_combination {
    gnti_votes_list list;
    gnti_combined c;
    gnti_json *facts;
} path_combination;

static void free_combination(path_combination *p)
{
    gnti_combined_free(&p->c, (int32_t)p->list.num);
    gnti_votes_list_free(&p->list);
    gnti_json_free(&p->facts);
}

static gnt_status combine_paths(gnt_context *ctx, const gnt_dataset *data, const char *data_path,
                                const char *const *paths, int num_paths, const gnti_combine_config *config,
                                path_combination *out)
{
    gnt_status st = GNT_OK;
    path_combination p = { 0 };

    GNT_TRY(gnti_votes_collect(ctx, data_path, data, paths, num_paths, &p.list));
    const int32_t num = (int32_t)p.list.num;

    GNT_TRY(gnti_combine_members(p.list.votes, num, data, config, &p.c));
    GNT_TRY(gnti_json_create_object(&p.facts));
    GNT_TRY(gnti_combine_facts(p.list.votes, num, data, config, &p.c, p.facts));
    GNT_TRY(put_skipped(&p.list, p.facts));
    *out = p;
    p = (path_combination){ 0 };
done:
    free_combination(&p);
    return st;
}

gnt_status gntx_ensemble_combine(gnt_context *ctx, const char *data_path, const char *const *paths,
                                 int num_paths, const gntx_combine_options *options, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *data = NULL;
    path_combination p = { 0 };

    GNT_CHECK(ctx != NULL && data_path != NULL && paths != NULL && options != NULL && out != NULL,
              GNT_ERR_ARG, "context, dataset, paths, options and out must not be NULL");
    const gnti_combine_config config = { .how = (gnti_combine)options->how,
                                         .rounds = options->rounds,
                                         .start = options->start,
                                         .temperature = options->temperature,
                                         .metric = (gnti_metric)options->metric,
                                         .split = is_given(options->split) ? options->split : NULL,
                                         .seed = (uint64_t)options->seed };

    GNT_TRY(check_names(data_path, paths, num_paths, options));
    GNT_TRY(gnt_dataset_open(ctx, data_path, &data));
    GNT_TRY(combine_paths(ctx, data, data_path, paths, num_paths, &config, &p));
    GNT_TRY(gnti_json_set_text(p.facts, "data", data_path));
    if (is_given(options->output)) {
        GNT_TRY(write_predictions(data, &p.c, options->output));
        GNT_TRY(gnti_json_set_text(p.facts, "output", options->output));
    }
    if (is_given(options->report)) {
        GNT_TRY(write_page(p.facts, options->report));
        GNT_TRY(gnti_json_set_text(p.facts, "report", options->report));
    }
    *out = (gntx_json *)p.facts;
    p.facts = NULL;
done:
    free_combination(&p);
    gnt_dataset_free(&data);
    return st;
}

/* ---- a report made anew ---- */

/* Which of `count` words the object says under the key. */
static gnt_status find_word(const gnti_json *o, const char *key, const char *const *words, int count,
                            int *out)
{
    gnt_status st = GNT_OK;
    const char *text = NULL;

    GNT_TRY(gnti_json_get_text(o, key, &text));
    for (*out = 0; *out < count && strcmp(words[*out], text) != 0; ++*out)
        ;
    GNT_CHECK(*out < count, GNT_ERR_FORMAT, "'%s' is no %s", text, key);
done:
    return st;
}

/* How the run combined; the text of split is lent by the report. */
static gnt_status read_config(const gnti_json *report, gnti_combine_config *config)
{
    gnt_status st = GNT_OK;
    const gnti_json *o = gnti_json_find(report, "combine");
    const char *hows[GNTI_COMBINE_GREEDY + 1], *metrics[GNTI_METRIC_MSE + 1];
    int how = 0, metric = 0;
    int64_t seed = 0;

    for (int i = 0; i <= GNTI_COMBINE_GREEDY; i++)
        hows[i] = gnti_combine_name((gnti_combine)i);
    for (int i = 0; i <= GNTI_METRIC_MSE; i++)
        metrics[i] = gnti_metric_name((gnti_metric)i);
    GNT_TRY(find_word(o, "how", hows, GNTI_COMBINE_GREEDY + 1, &how));
    GNT_TRY(find_word(report, "metric", metrics, GNTI_METRIC_MSE + 1, &metric));
    GNT_TRY(gnti_json_get_int(o, "rounds", &config->rounds));
    config->start = 1;
    if (gnti_json_find(o, "start") != NULL)
        GNT_TRY(gnti_json_get_int(o, "start", &config->start));
    GNT_TRY(gnti_json_get_bool(o, "temperature", &config->temperature));
    GNT_TRY(gnti_json_get_text(o, "split", &config->split));
    GNT_TRY(gnti_json_get_int(o, "seed", &seed));
    config->how = (gnti_combine)how;
    config->metric = (gnti_metric)metric;
    config->seed = (uint64_t)seed;
done:
    return st;
}

/* Relative weights that the method gave; NULL: none. To be freed. */
static gnt_status read_prior(const gnti_json *report, int64_t num, double **out)
{
    gnt_status st = GNT_OK;
    const gnti_json *list = gnti_json_find(gnti_json_find(report, "combine"), "prior");
    double *prior = NULL;

    if (list == NULL)
        goto done;
    GNT_CHECK(gnti_json_length(list) == num, GNT_ERR_FORMAT,
              "the report has %lld members and %lld weights in 'prior'", (long long)num,
              (long long)gnti_json_length(list));
    GNT_TRY(gnti_alloc_array(&prior, num));
    for (int64_t i = 0; i < num; i++)
        GNT_CHECK(gnti_json_to_number(gnti_json_at(list, i), &prior[i]), GNT_ERR_FORMAT,
                  "weight %lld of 'prior' is no number", (long long)i);
    *out = prior;
    prior = NULL;
done:
    gnti_free(prior);
    return st;
}

static gnt_status read_report(const char *run, gnti_json **out)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(gnti_path_join(run, "report.json", &path));
    GNT_CHECK(
        gnti_file_exists(path), GNT_ERR_IO,
        "'%s' has no report.json: it is no ensemble, or it has not ended (gnntrain ensemble train goes on "
        "with it)",
        run);
    GNT_TRY(gnti_json_read(path, out));
done:
    gnti_free(path);
    return st;
}

/* What a member of the run sees of its dataset, NULL: all. */
static const gnti_member_view *view_of(const gnti_ensemble_file *file, const char *name)
{
    for (int32_t i = 0; file->view != NULL && i < file->num_members; i++)
        if (strcmp(file->name[i], name) == 0)
            return &file->view[i];
    return NULL;
}

/* Files of the members that the report names, in its order: sums and ties come out as they did. Those that are gone are made anew.
 * paths (num), each to be freed. */
static gnt_status list_members(gnt_context *ctx, const gnt_dataset *data, const gnti_ensemble_file *file,
                               const char *run, const gnti_json *report, char **paths)
{
    gnt_status st = GNT_OK;
    const gnti_json *members = gnti_json_find(report, "members");
    char *folder = NULL;

    for (int64_t i = 0; i < gnti_json_length(members); i++) {
        const char *name = NULL;
        gnti_text t = { 0 };

        GNT_TRY(gnti_json_get_text(gnti_json_at(members, i), "name", &name));
        GNT_CHECK(name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL, GNT_ERR_FORMAT,
                  "'%s/report.json': '%.64s' is no name of a member", run, name);
        gnti_text_printf(&t, "%s/members/%s", run, name);
        GNT_TRY(gnti_text_take(&t, &folder));
        GNT_TRY(gnti_votes_restore(ctx, folder, view_of(file, name), data));
        GNT_TRY(gnti_path_join(folder, "logits.npy", &paths[i]));
        gnti_free(folder);
        folder = NULL;
    }
done:
    gnti_free(folder);
    return st;
}

static gnt_status combine_again(gnt_context *ctx, const gnt_dataset *data, const char *data_path,
                                const gnti_ensemble_file *file, const char *run, const gnti_json *report,
                                path_combination *out)
{
    gnt_status st = GNT_OK;
    gnti_combine_config config = { 0 };
    const int64_t num = gnti_json_length(gnti_json_find(report, "members"));
    char **paths = NULL;
    double *prior = NULL;

    GNT_CHECK(num >= 1 && num <= INT32_MAX, GNT_ERR_FORMAT, "'%s/report.json' names no member", run);
    GNT_TRY(read_config(report, &config));
    GNT_TRY(read_prior(report, num, &prior));
    config.prior = prior;
    GNT_TRY(gnti_calloc_array(&paths, num));
    GNT_TRY(list_members(ctx, data, file, run, report, paths));
    GNT_TRY(combine_paths(ctx, data, data_path, (const char *const *)paths, (int)num, &config, out));
done:
    for (int64_t i = 0; paths != NULL && i < num; i++)
        gnti_free(paths[i]);
    gnti_free(paths);
    gnti_free(prior);
    return st;
}

/* A folder that may only be read is asked all the same; the facts say then why no file is new. */
static gnt_status write_report(const char *run, gnti_json *facts)
{
    gnt_status st = gnti_report_write(run, facts);

    if (st == GNT_ERR_OUTPUT) {
        st = gnti_json_set_text(facts, "unwritten", gnt_last_error());
        gnt_clear_error();
    }
    return st;
}

gnt_status gntx_ensemble_report(gnt_context *ctx, const char *run, const char *data_path, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *old = NULL;
    gnt_dataset *data = NULL;
    path_combination p = { 0 };
    const gnti_json *trained = NULL;
    gnti_ensemble_file file = { 0 };
    const char *stored = NULL;

    GNT_CHECK(ctx != NULL && run != NULL && out != NULL, GNT_ERR_ARG,
              "context, run and out must not be NULL");
    GNT_TRY(read_report(run, &old));
    trained = gnti_json_find(old, "run");
    stored = gnti_json_to_text(gnti_json_find(trained, "data"));
    if (gnti_ensemble_file_exists(run))
        GNT_TRY(gnti_ensemble_file_open(run, &file));
    GNT_TRY(gnti_trained_dataset(ctx, data_path, stored, file.content_sha256, &data));
    data_path = is_given(data_path) ? data_path : stored;
    GNT_TRY(gnti_votes_check_graph(run, old, data));
    GNT_TRY(combine_again(ctx, data, data_path, &file, run, old, &p));
    if (trained != NULL)
        GNT_TRY(gnti_json_set_copy(p.facts, "run", trained));
    GNT_TRY(write_report(run, p.facts));
    *out = (gntx_json *)p.facts;
    p.facts = NULL;
done:
    gnti_json_free(&old);
    gnti_ensemble_file_free(&file);
    free_combination(&p);
    gnt_dataset_free(&data);
    return st;
}
