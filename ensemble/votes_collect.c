/* SPDX-License-Identifier: Apache-2.0 */
/* A folder with members/ is an ensemble: each members/NAME/logits.npy is a member, in the order of names; one without that file has
 * failed or has not ended, and is told of. Once the run has ended, the members are those that its ensemble.h5 names. Any other folder is a run of gnntrain train: its best weights predict, each seed a
 * member. Equal names of several runs get the run's name in front.
 */
#include "ensemble/votes_collect.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "ensemble/ensemble_file.h"
#include "ensemble/votes_read.h"
#include "ensemble/votes_remake.h"
#include "train/trained.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void gnti_votes_list_free(gnti_votes_list *list)
{
    for (int64_t i = 0; i < list->num; i++)
        gnti_votes_close(&list->votes[i]);
    for (int64_t i = 0; i < list->num_skipped; i++)
        gnti_free(list->skipped[i]);
    gnti_free(list->votes);
    gnti_free(list->skipped);
    *list = (gnti_votes_list){ 0 };
}

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* "cora" of "runs/cora/". */
static gnt_status last_part(const char *path, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    size_t end = strlen(path), begin;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
        ;
    gnti_text_append_bytes(&t, path + begin, end - begin);
    GNT_TRY(gnti_text_take(&t, out));
done:
    return st;
}

/* Takes the votes in; on failure they stay the caller's. */
static gnt_status add(gnti_votes_list *list, gnti_votes *v)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&list->votes, &list->capacity, list->num + 1));
    list->votes[list->num++] = *v;
    *v = (gnti_votes){ 0 };
done:
    return st;
}

static gnt_status add_file(const char *path, const gnt_dataset *data, gnti_votes_list *list)
{
    gnt_status st = GNT_OK;
    gnti_votes v = { 0 };

    GNT_TRY(gnti_votes_open(path, data, &v));
    GNT_TRY(add(list, &v));
done:
    gnti_votes_close(&v);
    return st;
}

/* ---- ensembles ---- */

/* "m99" stands before "m100". */
static int compare_names(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static void free_names(char ***names, int64_t num)
{
    for (int64_t i = 0; i < num; i++)
        gnti_free((*names)[i]);
    gnti_free(*names);
    *names = NULL;
}

/* Folders in it, by name. */
static gnt_status list_folders(const char *path, char ***out, int64_t *num_out)
{
    gnt_status st = GNT_OK;
    DIR *folder = opendir(path);
    char **names = NULL, *one = NULL;
    int64_t num = 0, capacity = 0;
    const struct dirent *entry = NULL;

    GNT_CHECK(folder != NULL, GNT_ERR_IO, "cannot list the folder '%s'", path);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        GNT_TRY(gnti_path_join(path, entry->d_name, &one));
        if (is_folder(one)) {
            GNT_TRY(gnti_grow_array(&names, &capacity, num + 1));
            GNT_TRY(gnti_strdup(&names[num], entry->d_name));
            num++;
        }
        gnti_free(one);
        one = NULL;
    }
    if (num > 0)
        qsort(names, (size_t)num, sizeof *names, compare_names);
    *out = names;
    *num_out = num;
    names = NULL;
    num = 0;
done:
    if (folder != NULL)
        closedir(folder);
    gnti_free(one);
    free_names(&names, num);
    return st;
}

gnt_status gnti_votes_check_graph(const char *run, const gnti_json *report, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const char *was = gnti_json_to_text(gnti_json_find(gnti_json_find(report, "combine"), "graph_sha256"));

    GNT_CHECK(was == NULL || strcmp(was, gnti_dataset_source_graph(data)) == 0, GNT_ERR_FORMAT,
              "run '%s' was trained on another graph: its sha256 is %s, that of '%s' is %s: name the dataset "
              "of the "
              "training",
              run, was, data->path != NULL ? data->path : "", gnti_dataset_source_graph(data));
done:
    return st;
}

/* A run that has ended says which graph it was trained on. */
static gnt_status check_graph(const char *run, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    char *path = NULL;
    gnti_json *report = NULL;

    GNT_TRY(gnti_path_join(run, "report.json", &path));
    if (!gnti_file_exists(path))
        goto done;
    GNT_TRY(gnti_json_read(path, &report));
    GNT_TRY(gnti_votes_check_graph(run, report, data));
done:
    gnti_json_free(&report);
    gnti_free(path);
    return st;
}

static gnt_status add_skipped(gnti_votes_list *list, const char *name)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&list->skipped, &list->skipped_capacity, list->num_skipped + 1));
    GNT_TRY(gnti_strdup(&list->skipped[list->num_skipped], name));
    list->num_skipped++;
done:
    return st;
}

static gnt_status has_file(const char *folder, const char *name, bool *out)
{
    gnt_status st = GNT_OK;
    char *path = NULL;

    GNT_TRY(gnti_path_join(folder, name, &path));
    *out = gnti_file_exists(path);
done:
    gnti_free(path);
    return st;
}

/* A member whose file of predictions is gone, from its weights. */
static gnt_status add_remade(gnt_context *ctx, const char *folder, const gnti_member_view *view,
                             const gnt_dataset *data, gnti_votes_list *list)
{
    gnt_status st = GNT_OK;
    gnti_votes v = { .are_logits = true };
    float *values = NULL, *logits = NULL;

    GNT_TRY(gnti_votes_remake(ctx, folder, view, data, &logits));
    GNT_TRY(last_part(folder, &v.name));
    GNT_TRY(gnti_votes_make_room(data, &v, &values));
    memcpy(values, logits, (size_t)(data->num_nodes * data->y.num_classes) * sizeof *values);
    GNT_TRY(add(list, &v));
done:
    gnti_votes_close(&v);
    gnti_free(logits);
    return st;
}

/* One folder of a run. told: it is known to be a member; else it is one when it has predictions, and one that gave none when it was
 * trained (a folder of kept weights alone is none). */
static gnt_status add_folder(gnt_context *ctx, const char *members, const char *name, bool told,
                             const gnti_member_view *view, const gnt_dataset *data, gnti_votes_list *list)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *file = NULL;
    bool predicts = false, trained = false, kept = false;

    GNT_TRY(gnti_path_join(members, name, &folder));
    GNT_TRY(gnti_path_join(folder, "logits.npy", &file));
    GNT_TRY(has_file(folder, "logits.npy", &predicts));
    GNT_TRY(has_file(folder, "checkpoint.h5", &trained));
    GNT_TRY(has_file(folder, "kept.h5", &kept));
    if (predicts)
        GNT_TRY(add_file(file, data, list));
    else if (told)
        GNT_TRY(add_remade(ctx, folder, view, data, list));
    else if (trained || !kept)
        GNT_TRY(add_skipped(list, name));
done:
    gnti_free(folder);
    gnti_free(file);
    return st;
}

static bool names_it(const gnti_ensemble_file *e, const char *name)
{
    for (int32_t i = 0; i < e->num_members; i++)
        if (strcmp(e->name[i], name) == 0)
            return true;
    return false;
}

/* A run that has ended says what it combines, which need not be all that it trained (a mean of weights has parts). */
static gnt_status add_ensemble(gnt_context *ctx, const char *run, const char *members,
                               const gnt_dataset *data, gnti_votes_list *list)
{
    gnt_status st = GNT_OK;
    gnti_ensemble_file e = { 0 };
    char **names = NULL;
    int64_t num = 0;
    const bool ended = gnti_ensemble_file_exists(run);

    GNT_TRY(check_graph(run, data));
    if (ended)
        GNT_TRY(gnti_ensemble_file_open(run, &e));
    for (int32_t i = 0; i < e.num_members; i++)
        GNT_TRY(add_folder(ctx, members, e.name[i], true, e.view != NULL ? &e.view[i] : NULL, data, list));
    GNT_TRY(list_folders(members, &names, &num));
    for (int64_t i = 0; i < num; i++) {
        char *path = NULL;
        bool predicts = false;

        GNT_TRY(gnti_path_join(members, names[i], &path));
        st = has_file(path, "logits.npy", &predicts);
        gnti_free(path);
        GNT_TRY(st);
        if (!ended || (!predicts && !names_it(&e, names[i])))
            GNT_TRY(add_folder(ctx, members, names[i], false, NULL, data, list));
    }
done:
    gnti_ensemble_file_free(&e);
    free_names(&names, num);
    return st;
}

/* ---- single runs ---- */

static gnt_status add_seed(const gnti_trained *t, int32_t member, const char *run, const gnt_dataset *data,
                           gnti_votes_list *list)
{
    gnt_status st = GNT_OK;
    gnti_votes v = { .are_logits = true };
    gnti_text name = { 0 };
    float *values = NULL, *logits = NULL;

    GNT_TRY(last_part(run, &v.name));
    if (t->num_members > 1) {
        gnti_text_printf(&name, "%s/seed-%lld", v.name, (long long)gnti_trained_seed(t, member));
        gnti_free(v.name);
        v.name = NULL;
        GNT_TRY(gnti_text_take(&name, &v.name));
    }
    GNT_CHECK(t->num_classes == data->y.num_classes && t->label_kind == data->y.kind, GNT_ERR_FORMAT,
              "run '%s' predicts %lld classes, the dataset has %lld", run, (long long)t->num_classes,
              (long long)data->y.num_classes);
    GNT_TRY(gnti_trained_logits(t, member, &logits));
    GNT_TRY(gnti_votes_make_room(data, &v, &values));
    memcpy(values, logits, (size_t)(data->num_nodes * data->y.num_classes) * sizeof *values);
    GNT_TRY(add(list, &v));
done:
    gnti_votes_close(&v);
    gnti_free(logits);
    return st;
}

static gnt_status add_run(gnt_context *ctx, const char *run, const char *data_path, const gnt_dataset *data,
                          gnti_votes_list *list)
{
    gnt_status st = GNT_OK;
    gnti_trained t = { 0 };

    GNT_TRY(gnti_trained_open(ctx, run, data_path, NULL, false, &t));
    for (int32_t m = 0; m < t.num_members; m++)
        GNT_TRY(add_seed(&t, m, run, data, list));
done:
    gnti_trained_free(&t);
    return st;
}

/* ---- all ---- */

static bool has_twin(const gnti_votes_list *list, int64_t i)
{
    for (int64_t k = 0; k < list->num; k++)
        if (k != i && strcmp(list->votes[k].name, list->votes[i].name) == 0)
            return true;
    return false;
}

static gnt_status rename_to(gnti_votes *v, const char *front, const char *name, int64_t number)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *text = NULL;

    if (front != NULL)
        gnti_text_printf(&t, "%s/%s", front, name);
    else
        gnti_text_printf(&t, "%s (%lld)", name, (long long)number);
    GNT_TRY(gnti_text_take(&t, &text));
    gnti_free(v->name);
    v->name = text;
done:
    return st;
}

/* Members that share a name get that of their run in front, and a number where this does not help. from (num_paths): the first member
 * of each path. */
static gnt_status part_names(gnti_votes_list *list, const char *const *paths, int num_paths,
                             const int64_t *from)
{
    gnt_status st = GNT_OK;
    char *front = NULL;
    bool *twins = NULL;

    GNT_TRY(gnti_alloc_array(&twins, list->num));
    for (int64_t i = 0; i < list->num; i++)
        twins[i] = has_twin(list, i);
    for (int p = 0; p < num_paths; p++) {
        GNT_TRY(last_part(paths[p], &front));
        for (int64_t i = from[p]; i < (p + 1 < num_paths ? from[p + 1] : list->num); i++)
            if (twins[i] && strcmp(front, list->votes[i].name) != 0)
                GNT_TRY(rename_to(&list->votes[i], front, list->votes[i].name, 0));
        gnti_free(front);
        front = NULL;
    }
    for (int64_t i = list->num - 1; i > 0; i--)
        if (has_twin(list, i))
            GNT_TRY(rename_to(&list->votes[i], NULL, list->votes[i].name, i + 1));
done:
    gnti_free(front);
    gnti_free(twins);
    return st;
}

/* A member that counts twice is hardly what anybody wants; links lead to the same file too. */
static gnt_status check_twice(const char *const *paths, int num_paths)
{
    gnt_status st = GNT_OK;

    for (int p = 0; p < num_paths; p++)
        for (int q = 0; q < p; q++)
            GNT_CHECK(!gnti_file_same(paths[p], paths[q]), GNT_ERR_USAGE,
                      "'%s' and '%s' are the same: each member counts once, name one of them", paths[q],
                      paths[p]);
done:
    return st;
}

gnt_status gnti_votes_collect(gnt_context *ctx, const char *data_path, const gnt_dataset *data,
                              const char *const *paths, int num_paths, gnti_votes_list *out)
{
    gnt_status st = GNT_OK;
    gnti_votes_list list = { 0 };
    char *members = NULL;
    int64_t *from = NULL;

    GNT_TRY(check_twice(paths, num_paths));
    GNT_TRY(gnti_alloc_array(&from, num_paths));
    for (int p = 0; p < num_paths; p++) {
        from[p] = list.num;
        GNT_TRY(gnti_path_join(paths[p], "members", &members));
        if (is_folder(members))
            GNT_TRY(add_ensemble(ctx, paths[p], members, data, &list));
        else if (is_folder(paths[p]))
            GNT_TRY(add_run(ctx, paths[p], data_path, data, &list));
        else
            GNT_TRY(add_file(paths[p], data, &list));
        gnti_free(members);
        members = NULL;
    }
    GNT_CHECK(list.num > 0, GNT_ERR_USAGE, "no member of '%s' has left predictions: the run has not ended",
              num_paths > 0 ? paths[0] : "");
    GNT_CHECK(list.num <= INT32_MAX, GNT_ERR_LIMIT, "%lld members", (long long)list.num);
    GNT_TRY(part_names(&list, paths, num_paths, from));
    *out = list;
    list = (gnti_votes_list){ 0 };
done:
    gnti_free(members);
    gnti_free(from);
    gnti_votes_list_free(&list);
    return st;
}
