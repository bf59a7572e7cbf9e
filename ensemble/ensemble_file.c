/* SPDX-License-Identifier: Apache-2.0 */
/* Writing and reading ensemble.h5. What is read is checked as if somebody had made it up: a name is that of a folder in
 * RUN/members and nothing above it, weights are shares, the rule is one of ours.
 */
#include "ensemble/ensemble_file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "datasets/h5_value.h"
#include "train/checkpoint.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORMAT     "gnntrain-ensemble"
#define VERSION    "1.0"
#define SUM_LEEWAY 1e-6

static const char *const combine_words[] = { "mean", "logits", "vote", "weighted", "greedy" };
enum {
    NUM_COMBINE_WORDS = sizeof combine_words / sizeof combine_words[0],
    MAX_NAME = 255,
    PATH_BYTES = 4096
};

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static gnt_status write_heading(const gnti_ensemble_file *e, gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    const char *const texts[][2] = { { "format", FORMAT },
                                     { "format_version", VERSION },
                                     { "combine", combine_words[e->how] },
                                     { "labels", gnti_label_words[e->kind] },
                                     { "spec_sha256", e->spec_sha256 },
                                     { "data", e->data },
                                     { "content_sha256", e->content_sha256 },
                                     { "split", e->split } };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (texts[i][1] != NULL)
            GNT_TRY(gnti_h5_set_text(file, "/", texts[i][0], texts[i][1]));
    GNT_TRY(gnti_h5_set_int(file, "/", "fell_back", e->fell_back));
    GNT_TRY(gnti_h5_set_int(file, "/", "best_member", e->best_member));
done:
    return st;
}

static gnt_status write_views(const gnti_ensemble_file *e, gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    const int64_t num = e->num_members;
    double *shares = NULL;
    int64_t *seeds = NULL;

    if (e->view == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&shares, 2 * num));
    GNT_TRY(gnti_alloc_array(&seeds, num));
    for (int64_t m = 0; m < num; m++) {
        shares[m] = e->view[m].drop_features;
        shares[num + m] = e->view[m].drop_edges;
        memcpy(&seeds[m], &e->view[m].seed, sizeof *seeds); /* the same bits: a seed has 64 */
    }
    GNT_TRY(gnti_h5_write_summed(file, "/members/drop_features", GNTI_FILE_F64, 1, &num, shares));
    GNT_TRY(gnti_h5_write_summed(file, "/members/drop_edges", GNTI_FILE_F64, 1, &num, shares + num));
    GNT_TRY(gnti_h5_write_summed(file, "/members/view_seed", GNTI_FILE_I64, 1, &num, seeds));
done:
    gnti_free(shares);
    gnti_free(seeds);
    return st;
}

gnt_status gnti_ensemble_file_write(const gnti_ensemble_file *e, const char *run)
{
    gnt_status st = GNT_OK;
    const int64_t num = e->num_members, one = 1;
    gnti_h5 *file = NULL;
    char *path = NULL;

    GNT_CHECK(num >= 1 && (int)e->how >= 0 && (int)e->how < NUM_COMBINE_WORDS && (int)e->kind >= 0 &&
                  (int)e->kind < GNTI_NUM_LABEL_WORDS,
              GNT_ERR_ARG, "an ensemble of %lld members, rule %d, labels %d", (long long)num, (int)e->how,
              (int)e->kind);
    GNT_TRY(gnti_path_join(run, GNTI_ENSEMBLE_FILE, &path));
    GNT_TRY(gnti_h5_create(path, &file));
    GNT_TRY(write_heading(e, file));
    GNT_TRY(gnti_h5_write_summed(file, "/temperature", GNTI_FILE_F64, 1, &one, &e->temperature));
    GNT_TRY(gnti_h5_write_values(file, "/members/name", GNTI_FILE_TEXT, 1, &num, e->name));
    GNT_TRY(gnti_h5_write_summed(file, "/members/weight", GNTI_FILE_F64, 1, &num, e->weight));
    GNT_TRY(write_views(e, file));
    GNT_TRY(gnti_h5_commit(&file, NULL));
done:
    gnti_h5_close(&file);
    gnti_free(path);
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool gnti_ensemble_file_exists(const char *run)
{
    char path[PATH_BYTES];

    return snprintf(path, sizeof path, "%s/%s", run, GNTI_ENSEMBLE_FILE) < (int)sizeof path &&
           gnti_file_exists(path);
}

/* The index of a text attribute among words. */
static gnt_status read_word(const gnti_h5 *file, const char *attribute, const char *const *words, int32_t num,
                            int32_t *out)
{
    gnt_status st = GNT_OK;
    char *word = NULL;

    GNT_TRY(gnti_h5_get_text(file, "/", attribute, NULL, &word));
    for (int32_t i = 0; i < num; i++)
        if (strcmp(word, words[i]) == 0) {
            *out = i;
            goto done;
        }
    GNT_FAIL(GNT_ERR_FORMAT, "'%s' has %s '%s', which this version does not know", gnti_h5_path(file),
             attribute, word);
done:
    gnti_free(word);
    return st;
}

static gnt_status read_heading(const gnti_h5 *file, gnti_ensemble_file *e)
{
    gnt_status st = GNT_OK;
    const char *const format[] = { FORMAT }, *const version[] = { VERSION };
    int64_t fell_back = 0, best = 0;
    int32_t how = 0, kind = 0, any = 0;
    bool found = false;

    GNT_TRY(read_word(file, "format", format, 1, &any));
    GNT_TRY(read_word(file, "format_version", version, 1, &any));
    GNT_TRY(read_word(file, "combine", combine_words, NUM_COMBINE_WORDS, &how));
    GNT_TRY(read_word(file, "labels", gnti_label_words, GNTI_NUM_LABEL_WORDS, &kind));
    e->how = (gnti_combine)how;
    e->kind = (gnt_label_kind)kind;
    GNT_TRY(gnti_h5_get_int(file, "/", "fell_back", NULL, &fell_back));
    GNT_TRY(gnti_h5_get_int(file, "/", "best_member", NULL, &best));
    GNT_CHECK(best >= 0 && best < e->num_members, GNT_ERR_FORMAT,
              "'%s' says that member %lld is the best of %d", gnti_h5_path(file), (long long)best,
              (int)e->num_members);
    e->fell_back = fell_back != 0;
    e->best_member = (int32_t)best;
    GNT_TRY(gnti_h5_get_text(file, "/", "spec_sha256", &found, &e->spec_sha256));
    GNT_TRY(gnti_h5_get_text(file, "/", "data", &found, &e->data));
    GNT_TRY(gnti_h5_get_text(file, "/", "content_sha256", &found, &e->content_sha256));
    GNT_TRY(gnti_h5_get_text(file, "/", "split", &found, &e->split));
done:
    return st;
}

static gnt_status read_views(const gnti_h5 *file, gnti_ensemble_file *e)
{
    gnt_status st = GNT_OK;
    const int64_t num = e->num_members;
    double *shares = NULL;
    int64_t *seeds = NULL;

    if (gnti_h5_kind_of(file, "/members/view_seed") == GNTI_H5_NOTHING)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&shares, 2 * num));
    GNT_TRY(gnti_alloc_array(&seeds, num));
    GNT_TRY(gnti_calloc_array(&e->view, num));
    GNT_TRY(gnti_h5_read_summed(file, "/members/drop_features", GNTI_FILE_F64, 1, &num, shares));
    GNT_TRY(gnti_h5_read_summed(file, "/members/drop_edges", GNTI_FILE_F64, 1, &num, shares + num));
    GNT_TRY(gnti_h5_read_summed(file, "/members/view_seed", GNTI_FILE_I64, 1, &num, seeds));
    for (int64_t m = 0; m < 2 * num; m++)
        GNT_CHECK(shares[m] >= 0.0 && shares[m] < 1.0, GNT_ERR_FORMAT,
                  "'%s' says that member '%s' does not see a share of %g, which must be in [0, 1)",
                  gnti_h5_path(file), e->name[m % num], shares[m]);
    for (int64_t m = 0; m < num; m++) {
        e->view[m].drop_features = shares[m];
        e->view[m].drop_edges = shares[num + m];
        memcpy(&e->view[m].seed, &seeds[m], sizeof *seeds);
    }
done:
    gnti_free(shares);
    gnti_free(seeds);
    return st;
}

static gnt_status read_members(const gnti_h5 *file, gnti_ensemble_file *e)
{
    gnt_status st = GNT_OK;
    const int64_t one = 1;
    gnti_h5_info info;
    int64_t num = 0;

    GNT_TRY(gnti_h5_expect(file, "/members/name", -1, 1, &info));
    GNT_CHECK(info.type == GNTI_H5_TEXT && info.num_values >= 1 && info.num_values <= INT32_MAX,
              GNT_ERR_FORMAT, "'%s' has %lld names of members", gnti_h5_path(file),
              (long long)info.num_values);
    GNT_TRY(gnti_h5_read_texts(file, "/members/name", &e->name, &num));
    e->num_members = (int32_t)num;
    GNT_TRY(gnti_alloc_array(&e->weight, num));
    GNT_TRY(gnti_h5_read_summed(file, "/members/weight", GNTI_FILE_F64, 1, &num, e->weight));
    GNT_TRY(gnti_h5_read_summed(file, "/temperature", GNTI_FILE_F64, 1, &one, &e->temperature));
    GNT_TRY(read_views(file, e));
done:
    return st;
}

static gnt_status check(const gnti_h5 *file, const gnti_ensemble_file *e)
{
    gnt_status st = GNT_OK;
    double sum = 0.0;

    for (int32_t m = 0; m < e->num_members; m++) {
        const char *name = e->name[m];

        GNT_CHECK(name[0] != 0 && name[0] != '.' && strchr(name, '/') == NULL && strlen(name) <= MAX_NAME,
                  GNT_ERR_FORMAT, "'%s' names member %d '%.64s', which is no folder in %s/",
                  gnti_h5_path(file), (int)m, name, GNTI_ENSEMBLE_MEMBERS);
        GNT_CHECK(e->weight[m] >= 0.0 && e->weight[m] <= 1.0 + SUM_LEEWAY, GNT_ERR_FORMAT,
                  "'%s' gives member '%s' the weight %g, a share is from 0 to 1", gnti_h5_path(file), name,
                  e->weight[m]);
        sum += e->weight[m];
    }
    GNT_CHECK(fabs(sum - 1.0) <= SUM_LEEWAY, GNT_ERR_FORMAT, "'%s' has weights that sum to %g, not 1",
              gnti_h5_path(file), sum);
    GNT_CHECK(e->temperature > 0.0 && isfinite(e->temperature), GNT_ERR_FORMAT,
              "'%s' has the temperature %g, which must be above 0", gnti_h5_path(file), e->temperature);
done:
    return st;
}

gnt_status gnti_ensemble_file_open(const char *run, gnti_ensemble_file *out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    char *path = NULL;

    GNT_TRY(gnti_path_join(run, GNTI_ENSEMBLE_FILE, &path));
    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(read_members(file, out));
    GNT_TRY(read_heading(file, out));
    GNT_TRY(check(file, out));
done:
    if (st != GNT_OK)
        gnti_ensemble_file_free(out);
    gnti_h5_close(&file);
    gnti_free(path);
    return st;
}

void gnti_ensemble_file_free(gnti_ensemble_file *e)
{
    for (int32_t m = 0; e->name != NULL && m < e->num_members; m++)
        gnti_free(e->name[m]);
    gnti_free(e->name);
    gnti_free(e->weight);
    gnti_free(e->view);
    gnti_free(e->spec_sha256);
    gnti_free(e->data);
    gnti_free(e->content_sha256);
    gnti_free(e->split);
    memset(e, 0, sizeof *e);
}
