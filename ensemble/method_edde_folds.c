/* SPDX-License-Identifier: Apache-2.0 */
/* EDDE's procedure that finds how many layers a member takes from the one before (`edde-folds: K`; Zhang et al., ICDE 2020, who do it once,
 * with one fold of each kind): what a lower layer knows in general helps a member on all rows alike, what it knows by heart helps on the
 * rows that it has seen.
 *
 *   teach-r     trains all epochs without fold r of the training rows
 *   probe-r-n   takes layers 1 to n of teach-r, draws the others anew, and trains as long as later members do, without folds r and r + 1
 * So both folds are new to probe-r-n, and its teacher has seen fold r + 1 alone. Over all r each training row is in either place once. The
 * largest n is taken whose probes are right on the seen rows not more often than on the unseen ones, by more than a standard error of the
 * differences (edde.h); 0 when there is none. Validation and test rows play no part.
 *
 * In front of the members stand teachers 0 to K - 1, then the probes of n = 1, ..., L, K of each; members but the first wait for them.
 * K (1 + L edde-epochs) times the epochs of a member is what it costs; each kind is one group.
 */
#include "ensemble/method_state.h"

#include "base/alloc.h"
#include "ensemble/edde.h"
#include "ensemble/panel.h"

#include <stdio.h>
#include <string.h>

int32_t gnti_edde_first(const gnti_spec *spec)
{
    return (int32_t)spec->edde_folds * (spec->edde_layers > 0 ? 1 + spec->edde_layers : 0);
}

int32_t gnti_edde_teacher(const gnti_spec *spec, int32_t member)
{
    return member % (int32_t)spec->edde_folds;
}

int32_t gnti_edde_probe_layers(const gnti_spec *spec, int32_t member)
{
    return member / (int32_t)spec->edde_folds;
}

/* ---- their spec ---------------------------------------------------------------------------------------------------------- */

static gnt_status make_probe(const gnti_spec *spec, gnti_spec_member *front, int32_t i)
{
    gnt_status st = GNT_OK;
    const gnti_spec_member *from = &spec->members[0];
    const int32_t fold = gnti_edde_teacher(spec, i), layers = gnti_edde_probe_layers(spec, i);
    const uint64_t mask = ((uint64_t)1 << 53) - 1;
    uint64_t seed = (from->seed + 1 + (uint64_t)i) & mask, before;
    char name[sizeof from->name];

    do { /* one that neither members nor those in front have */
        before = seed;
        seed = gnti_method_free_seed(spec->members, spec->num_members, seed);
        seed = gnti_method_free_seed(front, i, seed);
    } while (seed != before);
    if (layers == 0)
        snprintf(name, sizeof name, "teach-%d", (int)fold);
    else
        snprintf(name, sizeof name, "probe-%d-%d", (int)fold, (int)layers);
    GNT_TRY(gnti_method_copy_member(from, name, seed, &front[i]));
    front[i].fold = fold;
    front[i].num_folds = (int32_t)spec->edde_folds;
    front[i].fold_seed = from->seed;
    if (layers > 0)
        gnti_edde_shorten(spec, &front[i]);
done:
    return st;
}

gnt_status gnti_edde_folds_shape(gnti_spec *spec, const gnt_dataset *data)
{
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    gnti_spec_member *front = NULL;
    gnt_model *model = NULL;
    int32_t num = 0;

    if (spec->edde_folds == 0)
        return GNT_OK;
    GNT_CHECK(spec->edde_folds >= 3, GNT_ERR_USAGE,
              "%s: edde-folds: %lld: a probe does without two, 3 are needed", spec->path,
              (long long)spec->edde_folds);
    GNT_CHECK(!(spec->edde_share > 0.0), GNT_ERR_USAGE,
              "%s: edde-share has no effect beside edde-folds, which finds it: leave one of them out",
              spec->path);
    for (int32_t m = 0; m < spec->num_members; m++)
        GNT_CHECK(spec->members[m].num_folds == 0 && !(spec->members[m].bagging > 0.0), GNT_ERR_USAGE,
                  "%s: edde-folds cuts the training nodes itself: no folds, no bagging", spec->path);
    GNT_TRY(gnti_dataset_find_split(data, spec->members[0].train.split, &split));
    GNT_CHECK(spec->edde_folds <= split->num_nodes[GNTI_TRAIN], GNT_ERR_USAGE,
              "%s: edde-folds: %lld folds of %lld training nodes", spec->path, (long long)spec->edde_folds,
              (long long)split->num_nodes[GNTI_TRAIN]);
    GNT_TRY(gnt_model_create_with(data, spec->members[0].model, &spec->members[0].net, &model));
    spec->edde_layers = gnt_model_num_layers(model);
    num = gnti_edde_first(spec);
    GNT_CHECK(num + spec->num_members <= GNTI_SPEC_MAX_MEMBERS, GNT_ERR_LIMIT,
              "%s: edde-folds adds %d trainings to %d members, the limit is %d in all", spec->path, (int)num,
              (int)spec->num_members, GNTI_SPEC_MAX_MEMBERS);
    GNT_TRY(gnti_calloc_array(&front, num));
    for (int32_t i = 0; i < num; i++)
        GNT_TRY(make_probe(spec, front, i));
    GNT_TRY(gnti_method_put_in_front(spec, front, num));
    num = 0;
done:
    for (int32_t i = 0; front != NULL && i < num; i++)
        gnti_method_free_copy(&front[i]);
    gnti_free(front);
    gnt_model_free(&model);
    return st;
}

/* ---- their work ---------------------------------------------------------------------------------------------------------- */

/* A probe does without the fold behind its teacher's, too. */
gnt_status gnti_edde_probe_options(gnti_method_run *mr, int32_t member, gnti_member_options *options)
{
    gnt_status st = GNT_OK;
    gnti_spec_member next = mr->spec->members[member];
    float *weight = NULL;

    if (gnti_edde_probe_layers(mr->spec, member) == 0)
        return GNT_OK;
    next.fold = (next.fold + 1) % next.num_folds;
    GNT_TRY(gnti_spec_member_weights(&next, mr->data, &weight));
    for (int64_t i = 0; i < mr->data->num_nodes; i++)
        weight[i] *= options->weight != NULL ? options->weight[i] : 1.0f;
    gnti_free(mr->weight[member]);
    options->weight = mr->weight[member] = weight;
done:
    return st;
}

typedef struct folds {
    gnti_panel train;
    int32_t *fold;          /* (training rows) */
    uint8_t *seen, *unseen; /* (training rows) right in that place */
    float *p, *row_p;
} folds;

static gnt_status open_folds(const gnti_method_run *mr, folds *f)
{
    gnt_status st = GNT_OK;
    gnti_spec_member m = mr->spec->members[0];
    const gnti_split *split = NULL;
    const int64_t classes = mr->data->y.num_classes;
    float *weight = NULL;

    GNT_TRY(gnti_dataset_find_split(mr->data, m.train.split, &split));
    GNT_TRY(gnti_panel_create(mr->data, split, GNTI_TRAIN, &f->train));
    GNT_TRY(gnti_calloc_array(&f->fold, f->train.num_nodes + 1));
    GNT_TRY(gnti_alloc_array(&f->seen, f->train.num_nodes + 1));
    GNT_TRY(gnti_alloc_array(&f->unseen, f->train.num_nodes + 1));
    GNT_TRY(gnti_alloc_array(&f->p, mr->data->num_nodes * classes + 1));
    GNT_TRY(gnti_alloc_array(&f->row_p, f->train.num_nodes * classes + 1));
    for (m.fold = 0; m.fold < m.num_folds; m.fold++) {
        GNT_TRY(gnti_spec_member_weights(&m, mr->data, &weight));
        for (int64_t i = 0; i < f->train.num_nodes; i++)
            if (!(weight[f->train.nodes[i]] > 0.0f))
                f->fold[i] = m.fold;
        gnti_free(weight);
        weight = NULL;
    }
done:
    return st;
}

static void close_folds(folds *f)
{
    gnti_panel_free(&f->train);
    gnti_free(f->fold);
    gnti_free(f->seen);
    gnti_free(f->unseen);
    gnti_free(f->p);
    gnti_free(f->row_p);
}

/* What the probes of so many layers get right, row by row. */
static gnt_status score_probes(const gnti_method_run *mr, int32_t layers, folds *f)
{
    gnt_status st = GNT_OK;
    const int64_t classes = mr->data->y.num_classes;
    const int32_t num = (int32_t)mr->spec->edde_folds;

    for (int32_t r = 0; r < num; r++) {
        GNT_TRY(gnti_edde_read(mr, layers * num + r, f->p));
        gnti_panel_gather(&f->train, f->p, f->row_p);
        for (int64_t i = 0; i < f->train.num_nodes; i++) {
            const bool right = gnti_argmax(f->row_p + i * classes, classes) == f->train.class_of[i];

            if (f->fold[i] == r)
                f->unseen[i] = right;
            else if (f->fold[i] == (r + 1) % num)
                f->seen[i] = right;
        }
    }
done:
    return st;
}

gnt_status gnti_edde_find_layers(const gnti_method_run *mr, int32_t *out)
{
    gnt_status st = GNT_OK;
    folds f = { 0 };
    double gap, error;

    GNT_TRY(open_folds(mr, &f));
    for (*out = mr->spec->edde_layers; *out > 0; --*out) {
        GNT_TRY(score_probes(mr, *out, &f));
        if (!gnti_edde_remembers(f.seen, f.unseen, f.train.num_nodes, &gap, &error))
            break;
    }
done:
    close_folds(&f);
    return st;
}
