/* SPDX-License-Identifier: Apache-2.0 */
/* Opening an ensemble: its file, the members that have a weight, the dataset, and which members can run as one program. Members fuse
 * when model text, settings that shape it, treatment of features and what they see are equal; dropout is no matter here.
 */
#include "ensemble/serve.h"

#include "base/alloc.h"
#include "base/file.h"

#include <string.h>

/* ---- members --------------------------------------------------------------------------------------------------------- */

static gnt_status open_member(gnti_serve *s, const char *run, int32_t number, gnti_serve_member *m)
{
    gnt_status st = GNT_OK;
    char *folder = NULL, *path = NULL;

    m->number = number;
    GNT_TRY(gnti_path_join(run, GNTI_ENSEMBLE_MEMBERS, &folder));
    GNT_TRY(gnti_path_join(folder, s->file.name[number], &path));
    GNT_TRY(gnti_trained_load(s->ctx, path, &m->trained));
    GNT_CHECK(m->trained.num_members == 1, GNT_ERR_FORMAT, "'%s' holds %d models, a member's file holds one",
              m->trained.cp->path, (int)m->trained.num_members);
    GNT_CHECK(m->trained.label_kind == s->file.kind, GNT_ERR_FORMAT,
              "member '%s' predicts %s, the ensemble %s", s->file.name[number],
              gnti_label_words[m->trained.label_kind], gnti_label_words[s->file.kind]);
    m->normalizes = gnti_trained_normalizes(&m->trained);
done:
    gnti_free(folder);
    gnti_free(path);
    return st;
}

static gnt_status check_members(const gnti_serve *s)
{
    gnt_status st = GNT_OK;
    const gnti_serve_member *a = &s->members[0];

    for (int32_t i = 1; i < s->num_members; i++) {
        const gnti_serve_member *b = &s->members[i];

        GNT_CHECK(b->trained.num_classes == a->trained.num_classes, GNT_ERR_FORMAT,
                  "member '%s' has %lld classes but member '%s' has %lld", s->file.name[b->number],
                  (long long)b->trained.num_classes, s->file.name[a->number],
                  (long long)a->trained.num_classes);
    }
done:
    return st;
}

static gnt_status open_members(gnti_serve *s, const char *run)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(&s->members, s->file.num_members));
    for (int32_t i = 0; i < s->file.num_members; i++)
        if (s->file.weight[i] > 0.0)
            GNT_TRY(open_member(s, run, i, &s->members[s->num_members++]));
    GNT_TRY(check_members(s));
    s->num_classes = s->members[0].trained.num_classes;
done:
    return st;
}

/* From now on the ensemble has but one member. */
static void leave_alone(gnti_serve *s, int32_t number)
{
    for (int32_t k = 0; k < s->file.num_members; k++)
        s->file.weight[k] = k == number ? 1.0 : 0.0;
    s->file.how = GNTI_COMBINE_MEAN;
    s->file.temperature = 1.0;
}

/* The one member of that name. */
static gnt_status open_named(gnti_serve *s, const char *run, const char *name)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < s->file.num_members; i++)
        if (strcmp(s->file.name[i], name) == 0) {
            leave_alone(s, i);
            return open_members(s, run);
        }
    GNT_FAIL(GNT_ERR_FORMAT, "'%s' has no member '%s'", run, name);
done:
    return st;
}

/* The one member with that seed: the others are closed, and the file says that it is alone. */
static gnt_status open_one(gnti_serve *s, const char *run, int64_t seed)
{
    gnt_status st = GNT_OK;
    int64_t lowest = INT64_MAX, highest = INT64_MIN;

    GNT_TRY(gnti_calloc_array(&s->members, 1));
    for (int32_t i = 0; i < s->file.num_members; i++) {
        int64_t own;

        s->num_members = 1; /* close sees it whatever comes */
        GNT_TRY(open_member(s, run, i, &s->members[0]));
        own = gnti_trained_seed(&s->members[0].trained, 0);
        if (own == seed) {
            leave_alone(s, i);
            s->num_classes = s->members[0].trained.num_classes;
            goto done;
        }
        lowest = gnti_min_i64(lowest, own);
        highest = gnti_max_i64(highest, own);
        gnti_trained_free(&s->members[0].trained);
    }
    GNT_FAIL(
        GNT_ERR_USAGE,
        "'%s' has no member with seed %lld: its %d members have seeds from %lld to %lld, and each can be "
        "asked by its folder, '%s/%s/%s'",
        run, (long long)seed, (int)s->file.num_members, (long long)lowest, (long long)highest, run,
        GNTI_ENSEMBLE_MEMBERS, s->file.name[0]);
done:
    return st;
}

/* ---- what they see --------------------------------------------------------------------------------------------------- */

static gnt_status open_data(gnti_serve *s, const char *data)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_trained_dataset(s->ctx, data, s->file.data, s->file.content_sha256, &s->data));
    for (int32_t i = 0; i < s->num_members; i++)
        GNT_TRY(gnti_check_fit(s->members[i].trained.model, s->data, false));
    GNT_TRY(gnti_trained_name_classes(&s->members[0].trained, s->data));
done:
    return st;
}

static bool sees_all(const gnti_member_view *v)
{
    return v->drop_features == 0.0 && v->drop_edges == 0.0;
}

static gnt_status make_sight(gnti_serve *s, const gnti_member_view *view, gnti_serve_sight *out)
{
    gnt_status st = GNT_OK;

    out->view = *view;
    out->data = s->data;
    if (!sees_all(view)) {
        GNT_TRY(gnti_spec_member_dataset(&(gnti_spec_member){ .view = *view }, s->data, &out->owned));
        out->data = out->owned != NULL ? out->owned : s->data;
    }
    GNT_TRY(gnti_operator_create(out->data->graph, &out->whole));
    GNT_TRY(gnti_calloc_array(&out->zeros, out->data->num_nodes));
done:
    return st;
}

static gnt_status find_sights(gnti_serve *s)
{
    gnt_status st = GNT_OK;
    const gnti_member_view all = { 0 };

    GNT_TRY(gnti_calloc_array(&s->sights, s->num_members));
    for (int32_t i = 0; i < s->num_members; i++) {
        gnti_serve_member *m = &s->members[i];
        const gnti_member_view *view = s->file.view != NULL ? &s->file.view[m->number] : &all;

        for (m->sight = 0; m->sight < s->num_sights; m->sight++) {
            const gnti_member_view *v = &s->sights[m->sight].view;

            if ((sees_all(v) && sees_all(view)) ||
                (v->drop_features == view->drop_features && v->drop_edges == view->drop_edges &&
                 v->seed == view->seed))
                break;
        }
        if (m->sight == s->num_sights) {
            s->num_sights++;
            GNT_TRY(make_sight(s, view, &s->sights[m->sight]));
        }
        gnti_serve_sight *sight = &s->sights[m->sight];

        if (!sight->has_features[m->normalizes]) {
            GNT_TRY(
                gnti_model_features_make(&sight->data->x, m->normalizes, &sight->features[m->normalizes]));
            sight->has_features[m->normalizes] = true;
        }
    }
done:
    return st;
}

/* ---- shapes ---------------------------------------------------------------------------------------------------------- */

static bool fuse(const gnti_serve_member *a, const gnti_serve_member *b)
{
    gnt_model_config x, y;

    gnti_model_get_config(a->trained.model, &x);
    gnti_model_get_config(b->trained.model, &y);
    return a->sight == b->sight && a->normalizes == b->normalizes && x.act == y.act && x.norm == y.norm &&
           x.residual == y.residual &&
           strcmp(gnti_model_text(a->trained.model), gnti_model_text(b->trained.model)) == 0;
}

static gnt_status find_shapes(gnti_serve *s)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_calloc_array(&s->shapes, s->num_members));
    for (int32_t i = 0; i < s->num_members; i++) {
        gnti_serve_member *m = &s->members[i];

        for (m->shape = 0; m->shape < s->num_shapes; m->shape++)
            if (fuse(m, &s->members[s->shapes[m->shape].first]))
                break;
        if (m->shape == s->num_shapes)
            s->shapes[s->num_shapes++].first = i;
    }
done:
    return st;
}

gnt_status gnti_serve_open(gnt_context *ctx, const char *run, const char *data, int64_t seed,
                           const char *name, gnti_serve *out)
{
    gnt_status st = GNT_OK;

    out->ctx = ctx;
    GNT_TRY(gnti_ensemble_file_open(run, &out->file));
    GNT_TRY(name != NULL ? open_named(out, run, name)
            : seed >= 0  ? open_one(out, run, seed)
                         : open_members(out, run));
    GNT_TRY(open_data(out, data));
    GNT_TRY(find_sights(out));
    GNT_TRY(find_shapes(out));
done:
    if (st != GNT_OK)
        gnti_serve_close(out);
    return st;
}

void gnti_serve_close(gnti_serve *s)
{
    for (int32_t i = 0; s->members != NULL && i < s->num_members; i++) {
        gnti_trained_free(&s->members[i].trained);
        gnti_free(s->members[i].logits);
    }
    for (int32_t i = 0; s->shapes != NULL && i < s->num_shapes; i++)
        gnti_program_free(&s->shapes[i].dry);
    gnti_serve_forget_plan(s);
    for (int32_t i = 0; s->sights != NULL && i < s->num_sights; i++) {
        gnti_operator_free(&s->sights[i].whole);
        for (int k = 0; k < 2; k++)
            gnti_model_features_free(&s->sights[i].features[k]);
        gnti_free(s->sights[i].zeros);
        gnt_dataset_free(&s->sights[i].owned);
    }
    gnti_free(s->members);
    gnti_free(s->shapes);
    gnti_free(s->sights);
    gnt_dataset_free(&s->data);
    gnti_ensemble_file_free(&s->file);
    memset(s, 0, sizeof *s);
}
