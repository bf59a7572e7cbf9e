/* SPDX-License-Identifier: Apache-2.0 */
/* What `gnntrain ensemble plan --json` prints (docs/ensembles.md).
 *
 *   matrix[d][m]   predicted seconds that device d trains member m (its group), 0: never
 */
#include "ensemble/foresee.h"

#include "base/alloc.h"

#include <math.h>

static gnt_status put_members(const gnti_foreseen *p, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *item = NULL;

    GNT_TRY(gnti_json_set_array(o, "members", &list));
    for (int32_t m = 0; m < p->spec->num_members; m++) {
        const gnti_spec_member *member = &p->spec->members[m];

        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "name", member->name));
        GNT_TRY(gnti_json_set_int(item, "seed", (int64_t)member->seed));
        GNT_TRY(gnti_json_set_text(item, "model", member->model));
        GNT_TRY(gnti_json_set_int(item, "epochs", member->train.epochs));
        GNT_TRY(gnti_json_set_text(item, "differs", member->differs));
        GNT_TRY(gnti_json_set_int(item, "group", p->group_of[m]));
    }
done:
    return st;
}

/* The first moment and the devices of a group, in the order in which it has them. */
static gnt_status put_placement(const gnti_foreseen *p, int32_t group, gnti_json *item)
{
    gnt_status st = GNT_OK;
    gnti_json *devices = NULL;
    double begin = INFINITY, end = 0.0;
    uint8_t *seen = NULL;

    GNT_TRY(gnti_calloc_array(&seen, p->devices.num));
    GNT_TRY(gnti_json_set_array(item, "devices", &devices));
    for (int64_t i = 0; i < p->num_spans; i++) {
        const gnti_span *s = &p->spans[i];

        if (s->task != group)
            continue;
        begin = fmin(begin, s->begin);
        end = fmax(end, s->end);
        if (seen[s->device] == 0)
            GNT_TRY(gnti_json_append_int(devices, s->device));
        seen[s->device] = 1;
    }
    GNT_TRY(gnti_json_set_number(item, "begin_seconds", begin));
    GNT_TRY(gnti_json_set_number(item, "end_seconds", end));
done:
    gnti_free(seen);
    return st;
}

static gnt_status put_groups(const gnti_foreseen *p, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *item = NULL, *members = NULL;

    GNT_TRY(gnti_json_set_array(o, "groups", &list));
    for (int32_t g = 0; g < p->num_groups; g++) {
        const gnti_fused_group *group = p->groups[g].group;

        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_array(item, "members", &members));
        for (int32_t k = 0; k < group->num_members; k++)
            GNT_TRY(gnti_json_append_text(members, p->spec->members[group->members[k]].name));
        GNT_TRY(gnti_json_set_int(item, "bytes",
                                  group->shared_bytes + group->lasting_bytes + group->scratch_bytes));
        GNT_TRY(gnti_json_set_int(item, "shared_bytes", group->shared_bytes));
        GNT_TRY(gnti_json_set_int(item, "lasting_bytes", group->lasting_bytes));
        GNT_TRY(gnti_json_set_int(item, "scratch_bytes", group->scratch_bytes));
        GNT_TRY(gnti_json_set_numbers(item, "epoch_seconds", p->groups[g].seconds, p->devices.num_types));
        GNT_TRY(gnti_json_set_numbers(item, "predicted_epoch_seconds", p->groups[g].predicted,
                                      p->devices.num_types));
        GNT_TRY(gnti_json_set_bool(item, "measured", p->groups[g].num_measured == p->devices.num_types));
        if (p->groups[g].num_measured > 0)
            GNT_TRY(gnti_json_set_int(item, "measured_bytes", p->groups[g].measured_bytes));
        GNT_TRY(gnti_json_set_number(item, "epochs", p->groups[g].epochs));
        GNT_TRY(put_placement(p, g, item));
    }
done:
    return st;
}

/* Bytes on a device at a moment: graph and features of each view once, the rest of each group that is there. */
static gnt_status bytes_at(const gnti_foreseen *p, const gnti_place_device *devices, int32_t device,
                           double when, int64_t *out)
{
    gnt_status st = GNT_OK;
    int64_t *shared = NULL, sum = 0; /* (groups + 1) by number of the view */
    int32_t *on = NULL;
    gnti_place_task task;
    const gnti_place_input in = { .num_types = p->devices.num_types,
                                  .num_devices = p->devices.num,
                                  .num_tasks = 1,
                                  .devices = devices,
                                  .tasks = &task };

    GNT_TRY(gnti_calloc_array(&shared, p->num_groups + 1));
    GNT_TRY(gnti_alloc_array(&on, p->devices.num));
    for (int32_t g = 0; g < p->num_groups; g++) {
        int32_t num = 0, at = -1;

        for (int64_t i = 0; i < p->num_spans; i++)
            if (p->spans[i].task == g && p->spans[i].begin <= when && when < p->spans[i].end) {
                at = p->spans[i].device == device ? num : at;
                on[num++] = p->spans[i].device;
            }
        if (at < 0)
            continue;
        gnti_foreseen_place_task(p, g, &task);
        const gnti_place_need need = gnti_place_bytes(&in, 0, on, num, at);

        shared[p->groups[g].data] = gnti_max_i64(shared[p->groups[g].data], need.shared);
        sum += need.lasting + need.scratch;
    }
    for (int32_t v = 0; v <= p->num_groups; v++)
        sum += shared[v];
    *out = sum;
done:
    gnti_free(shared);
    gnti_free(on);
    return st;
}

static gnt_status put_devices(const gnti_foreseen *p, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *list = NULL, *item = NULL;
    gnti_place_device *devices = NULL;

    GNT_TRY(gnti_alloc_array(&devices, p->devices.num));
    gnti_foreseen_place_devices(p, devices);
    GNT_TRY(gnti_json_set_array(o, "devices", &list));
    for (int32_t d = 0; d < p->devices.num; d++) {
        const gnti_foreseen_device *device = &p->devices.list[d];
        int64_t most = 0;
        double busy = 0.0;

        for (int64_t i = 0; i < p->num_spans; i++) {
            int64_t bytes = 0;

            if (p->spans[i].device != d)
                continue;
            GNT_TRY(bytes_at(p, devices, d, p->spans[i].begin, &bytes));
            most = gnti_max_i64(most, bytes);
            busy += (p->spans[i].end - p->spans[i].begin) * p->spans[i].share;
        }
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "device", device->name));
        GNT_TRY(gnti_json_set_int(item, "type", device->type));
        GNT_TRY(gnti_json_set_number(item, "speed", device->speed));
        GNT_TRY(gnti_json_set_int(item, "peak_bytes", most));
        if (device->bytes > 0)
            GNT_TRY(gnti_json_set_int(item, "limit_bytes", device->bytes));
        GNT_TRY(gnti_json_set_number(item, "busy_seconds", busy));
    }
done:
    gnti_free(devices);
    return st;
}

static gnt_status put_matrix(const gnti_foreseen *p, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *rows = NULL, *row = NULL;
    double *seconds = NULL; /* (groups) on one device */

    GNT_TRY(gnti_alloc_array(&seconds, p->num_groups));
    GNT_TRY(gnti_json_set_array(o, "matrix", &rows));
    for (int32_t d = 0; d < p->devices.num; d++) {
        for (int32_t g = 0; g < p->num_groups; g++)
            seconds[g] = 0.0;
        for (int64_t i = 0; i < p->num_spans; i++)
            if (p->spans[i].device == d)
                seconds[p->spans[i].task] += p->spans[i].end - p->spans[i].begin;
        GNT_TRY(gnti_json_append_array(rows, &row));
        for (int32_t m = 0; m < p->spec->num_members; m++)
            GNT_TRY(gnti_json_append_number(row, seconds[p->group_of[m]]));
    }
done:
    gnti_free(seconds);
    return st;
}

gnt_status gnti_foreseen_facts(const gnti_foreseen *p, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    char word[32];

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_text(o, "spec", p->spec->path));
    GNT_TRY(gnti_json_set_text(o, "spec_sha256", p->spec->sha256));
    GNT_TRY(gnti_json_set_text(o, "method", gnti_spec_word(p->spec, "method", word)));
    GNT_TRY(gnti_json_set_text(o, "combine", gnti_spec_word(p->spec, "combine", word)));
    GNT_TRY(gnti_json_set_text(o, "policy", gnti_spec_word(p->spec, "policy", word)));
    GNT_TRY(put_members(p, o));
    GNT_TRY(put_groups(p, o));
    GNT_TRY(put_devices(p, o));
    GNT_TRY(put_matrix(p, o));
    GNT_TRY(gnti_json_set_number(o, "makespan_seconds", p->makespan));
    GNT_TRY(gnti_json_set_number(o, "lower_bound_seconds", p->lower_bound));
    GNT_TRY(gnti_json_set_number(o, "utilisation", p->utilisation));
    *out = o;
    o = NULL;
done:
    gnti_json_free(&o);
    return st;
}
