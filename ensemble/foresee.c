/* SPDX-License-Identifier: Apache-2.0 */
/* gnntrain ensemble plan: members, groups, what they take on these devices, who trains where and when it would end.
 *
 * Groups are formed as a run forms them: of all members that may begin; then of those that waited for these; and so on.
 */
#include "ensemble/foresee.h"

#include <gnntrain/experimental_ensemble.h>

#include "base/alloc.h"
#include "ensemble/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct planning {
    gnti_foreseen plan;
    const gnt_dataset *data;
    double *speeds;    /* (devices) */
    int64_t *capacity; /* (devices) */
    int64_t num_fused, fused_capacity;
    uint8_t *pending;  /* (members) of this round */
    int32_t *round_of; /* (members) -1: in no group yet */
    gnt_context *ctx;
    gnti_group_profile *profile;
    bool measure;
    int64_t chunks; /* of the partition that is given, 0: none */
} planning;

/* ---- groups -------------------------------------------------------------------------------------------------------- */

static gnt_status list_devices(planning *p)
{
    gnt_status st = GNT_OK;
    const gnti_foreseen_devices *d = &p->plan.devices;

    GNT_TRY(gnti_alloc_array(&p->speeds, d->num));
    GNT_TRY(gnti_alloc_array(&p->capacity, d->num));
    for (int32_t i = 0; i < d->num; i++) {
        p->speeds[i] = d->list[i].speed;
        p->capacity[i] = d->list[i].bytes;
    }
done:
    return st;
}

/* Moves groups of one round behind the others. */
static gnt_status take_round(planning *p, gnti_fused_group **groups, int32_t num, int32_t round)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_grow_array(&p->plan.fused, &p->fused_capacity, p->num_fused + num));
    for (int32_t i = 0; i < num; i++) {
        for (int32_t k = 0; k < (*groups)[i].num_members; k++) {
            p->plan.group_of[(*groups)[i].members[k]] = (int32_t)p->num_fused;
            p->round_of[(*groups)[i].members[k]] = round;
        }
        p->plan.fused[p->num_fused++] = (*groups)[i];
        (*groups)[i].members = NULL;
    }
done:
    gnti_fused_groups_free(groups, num);
    return st;
}

static gnt_status form_groups(planning *p)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = p->plan.spec;
    gnti_fused_group *groups = NULL;
    int32_t num = 0, left = spec->num_members;
    const gnti_grouping g = { .spec = spec,
                              .pending = p->pending,
                              .speeds = p->speeds,
                              .capacity = p->capacity,
                              .num_devices = p->plan.devices.num };

    for (int32_t m = 0; m < spec->num_members; m++)
        p->round_of[m] = -1;
    for (int32_t round = 0; left > 0; round++) {
        int32_t ready = 0;

        for (int32_t m = 0; m < spec->num_members; m++) {
            const gnti_member_range before = gnti_method_waits_for(spec, m);

            p->pending[m] = p->round_of[m] < 0;
            for (int32_t b = before.first; b < before.first + before.num; b++)
                p->pending[m] = p->pending[m] && p->round_of[b] >= 0;
            ready += p->pending[m];
        }
        GNT_CHECK(ready > 0, GNT_ERR_INTERNAL, "%d members wait for each other", (int)left);
        GNT_TRY(gnti_fused_groups_form(&g, p->data, &groups, &num));
        GNT_TRY(take_round(p, &groups, num, round));
        left -= ready;
    }
done:
    return st;
}

/* ---- what a group takes -------------------------------------------------------------------------------------------- */

static int compare_double(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Epochs as long as one with all members: while `live` are left an epoch takes alone + (all - alone) (live - 1) / (M - 1) seconds. */
static gnt_status count_epochs(const gnti_spec *spec, const gnti_fused_group *g, double alone, double all,
                               double *out)
{
    gnt_status st = GNT_OK;
    double *left = NULL, seconds = 0.0, before = 0.0;

    GNT_TRY(gnti_alloc_array(&left, g->num_members));
    for (int32_t k = 0; k < g->num_members; k++)
        left[k] = fmax((double)(spec->members[g->members[k]].train.epochs - g->epoch), 0.0);
    qsort(left, (size_t)g->num_members, sizeof *left, compare_double);
    for (int32_t k = 0; k < g->num_members; k++) {
        const double others = (double)(g->num_members - k - 1),
                     span = g->num_members > 1 ? (double)(g->num_members - 1) : 1.0;

        seconds += (left[k] - before) * (g->num_members > 1 ? alone + (all - alone) * others / span : all);
        before = left[k];
    }
    *out = fmax(seconds / all, 1e-6); /* a group of members without epochs still has a beginning and an end */
done:
    gnti_free(left);
    return st;
}

/* As a run has it: a group is spread over devices only where its graph is cut, or its spec asks for chunks. */
static int32_t widest(const planning *p, const gnti_spec_member *m)
{
    const int64_t chunks = p->chunks > 0 ? p->chunks : m->train.chunks;

    if (m->train.source != GNTI_SOURCE_WORD_FULL || m->view.seed != 0 || chunks < 2)
        return 1;
    return (int32_t)gnti_min_i64(chunks, p->plan.devices.num);
}

/* What a group took on a device of a type, from the cache or by a short run, takes the place of what was predicted. */
static gnt_status take_measured(planning *p, gnti_foreseen_group *g, int32_t type)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = p->plan.spec;
    const gnti_device_spec *device = p->plan.devices.job.place.specs;
    char key[GNTI_GROUP_KEY_BYTES];
    gnti_group_measure m;

    for (int32_t d = 0; p->plan.devices.list[d].type != type; d++)
        device++;
    GNT_TRY(
        gnti_group_key(&spec->members[g->group->members[0]], g->group->num_members, p->data, device, key));
    if (!gnti_group_profile_find(p->profile, key, &m)) {
        if (!p->measure)
            return GNT_OK;
        GNT_TRY(gnti_group_measure_run(p->ctx, spec, g->group, p->data, device, &m));
        GNT_TRY(gnti_group_profile_set(p->profile, key, &m));
    }
    g->seconds[type] = m.seconds;
    g->measured_bytes = gnti_max_i64(g->measured_bytes, m.bytes);
    g->num_measured++;
done:
    return st;
}

static gnt_status fill_group(planning *p, int32_t index)
{
    gnt_status st = GNT_OK;
    const gnti_foreseen *plan = &p->plan;
    const gnti_fused_group *fused = &plan->fused[index];
    const gnti_spec_member *first = &plan->spec->members[fused->members[0]];
    gnti_foreseen_group *g = &p->plan.groups[index];
    const gnti_member_range before = gnti_method_waits_for(plan->spec, fused->members[0]);
    const bool evaluates = !plan->devices.job.place.specs[0].virtual_clock;
    gnti_fusion_forecast all = { 0 }, alone = { 0 };

    g->group = fused;
    g->after = -1; /* of several the last one, which is formed in the latest round */
    for (int32_t b = before.first; b < before.first + before.num; b++)
        g->after = plan->group_of[b] > g->after ? plan->group_of[b] : g->after;
    g->max_devices = widest(p, first);
    g->data = first->view.seed == 0 ? 0 : index + 1; /* a view is that of one member */
    GNT_TRY(gnti_calloc_array(&g->seconds, plan->devices.num_types));
    GNT_TRY(gnti_calloc_array(&g->predicted, plan->devices.num_types));
    GNT_TRY(gnti_fusion_forecast_make(first, fused->num_members, p->data, &all));
    GNT_TRY(gnti_fusion_forecast_make(first, 1, p->data, &alone));
    for (int32_t d = 0; d < plan->devices.num; d++)
        g->seconds[plan->devices.list[d].type] =
            gnti_fusion_epoch_seconds(&all, first, &plan->devices.list[d].rates, evaluates);
    memcpy(g->predicted, g->seconds, (size_t)plan->devices.num_types * sizeof *g->predicted);
    GNT_TRY(count_epochs(plan->spec, fused,
                         gnti_fusion_epoch_seconds(&alone, first, &plan->devices.list[0].rates, evaluates),
                         g->predicted[plan->devices.list[0].type], &g->epochs));
    for (int32_t type = 0; type < plan->devices.num_types; type++)
        GNT_TRY(take_measured(p, g, type));
done:
    gnti_fusion_forecast_free(&all);
    gnti_fusion_forecast_free(&alone);
    return st;
}

/* The partition must be one of this dataset; its chunks are as many devices as a group may have. */
static gnt_status count_chunks(planning *p, const char *path)
{
    gnt_status st = GNT_OK;
    const char *graph = gnti_dataset_source_graph(p->data);
    gnti_partition *partition = NULL;

    if (path == NULL || path[0] == '\0')
        return GNT_OK;
    GNT_TRY(gnti_partition_read(path, graph[0] == '\0' ? NULL : graph, &partition));
    p->chunks = partition->num_chunks;
done:
    gnti_partition_free(&partition);
    return st;
}

static gnt_status make_plan(planning *p)
{
    gnt_status st = GNT_OK;
    const int32_t num = p->plan.spec->num_members;

    GNT_TRY(list_devices(p));
    GNT_TRY(gnti_calloc_array(&p->pending, num));
    GNT_TRY(gnti_alloc_array(&p->round_of, num));
    GNT_TRY(gnti_calloc_array(&p->plan.group_of, num));
    GNT_TRY(form_groups(p));
    GNT_TRY(gnti_calloc_array(&p->plan.groups, p->num_fused));
    for (; p->plan.num_groups < (int32_t)p->num_fused;)
        GNT_TRY(fill_group(p, p->plan.num_groups++));
    GNT_TRY(gnti_foreseen_run(&p->plan));
done:
    return st;
}

static void free_planning(planning *p)
{
    for (int32_t g = 0; p->plan.groups != NULL && g < p->plan.num_groups; g++) {
        gnti_free(p->plan.groups[g].seconds);
        gnti_free(p->plan.groups[g].predicted);
    }
    gnti_free(p->plan.groups);
    gnti_fused_groups_free(&p->plan.fused, (int32_t)p->num_fused);
    gnti_free(p->plan.group_of);
    gnti_free(p->plan.spans);
    gnti_foreseen_devices_close(&p->plan.devices);
    gnti_group_profile_free(&p->profile);
    gnti_free(p->speeds);
    gnti_free(p->capacity);
    gnti_free(p->pending);
    gnti_free(p->round_of);
}

gnt_status gntx_ensemble_plan(gnt_context *ctx, const char *spec_path, const char *data_path,
                              const gntx_plan_options *options, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnt_dataset *data = NULL;
    gnti_spec *spec = NULL;
    gnti_json *facts = NULL;
    planning p = { 0 };

    GNT_CHECK(ctx != NULL && spec_path != NULL && data_path != NULL && options != NULL && out != NULL,
              GNT_ERR_ARG, "context, spec, dataset, options and out must not be NULL");
    if (options->measure)
        GNT_TRY(gnt_dataset_open(ctx, data_path, &data));
    else
        GNT_TRY(gnti_dataset_read_header(ctx, data_path, &data));
    GNT_TRY(gnti_spec_open(ctx, spec_path, data, &spec));
    p.plan.spec = spec;
    p.ctx = ctx;
    p.data = data;
    p.measure = options->measure;
    GNT_TRY(gnti_group_profile_open(NULL, &p.profile));
    GNT_TRY(count_chunks(&p, options->partition));
    GNT_TRY(gnti_foreseen_devices_open(ctx, options->devices, &p.plan.devices));
    GNT_TRY(make_plan(&p));
    gnti_group_profile_save(p.profile);
    GNT_TRY(gnti_foreseen_facts(&p.plan, &facts));
    *out = (gntx_json *)facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    free_planning(&p);
    gnti_spec_free(&spec);
    gnt_dataset_free(&data);
    return st;
}
