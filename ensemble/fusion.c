/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of members. Members of one key at one epoch are a bucket; buckets are laid on the devices one behind the other and cut where a
 * device has its share of all work (McNaughton's wrap-around rule for devices of unlike speeds, whole members in place of seconds):
 *
 *   work        |---- bucket A ----|-- bucket B --|-C-|       work of a member: epochs left * seconds of an epoch / members
 *   devices     |===== 4 =====|=== 2 ===|= 1 =|               shares in proportion to speed, the fastest first
 *   groups      |---- A1 -----|-A2-|-B1-|--B2-|-C-|
 * A cut falls between the two members whose boundary is nearest to the share's end, counted from the start, so that rounding does not
 * add up. Members with most work come first, so that each group's are alike in length and the long ones are cut for fast devices.
 * What does not fit the device that it was cut for is cut again, to the most members that fit (bisection: bytes grow with members).
 */
#include "ensemble/fusion_state.h"

#include "base/alloc.h"
#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct item {
    int32_t member, shape, bucket; /* bucket: number of the key and epoch, by first appearance */
    int64_t epoch;
    double work;
    char *key, *shape_key;
    uint64_t key_hash, shape_hash; /* of the texts, which begin alike for long */
} item;

typedef struct forming {
    const gnti_grouping *g;
    const gnt_dataset *data;
    gnti_fusion_cache cache;
    item *items; /* (num) in the order of the line above */
    int32_t num;
    int32_t *device; /* (num_devices) by speed, the fastest first */
    gnti_fused_group *groups;
    int64_t num_groups, capacity;
} forming;

void gnti_fused_groups_free(gnti_fused_group **groups, int32_t num)
{
    for (int32_t i = 0; *groups != NULL && i < num; i++)
        gnti_free((*groups)[i].members);
    gnti_free(*groups);
    *groups = NULL;
}

/* ---- buckets ------------------------------------------------------------------------------------------------------- */

static gnt_status list_items(forming *f)
{
    gnt_status st = GNT_OK;
    const gnti_spec *spec = f->g->spec;
    int32_t num_buckets = 0, num_shapes = 0;

    GNT_TRY(gnti_calloc_array(&f->items, spec->num_members));
    for (int32_t m = 0; m < spec->num_members; m++) {
        item *it = &f->items[f->num];

        if (f->g->pending != NULL && f->g->pending[m] == 0)
            continue;
        f->num++;
        it->member = m;
        it->epoch = f->g->epochs == NULL ? 0 : f->g->epochs[m];
        GNT_TRY(gnti_fusion_key(&spec->members[m], &it->key));
        GNT_TRY(gnti_fusion_shape(&spec->members[m], &it->shape_key));
        it->key_hash = gnti_fnv1a(it->key);
        it->shape_hash = gnti_fnv1a(it->shape_key);
        it->bucket = it->shape = -1;
        for (const item *other = f->items; other < it && (it->bucket < 0 || it->shape < 0); other++) {
            if (it->shape < 0 && other->shape_hash == it->shape_hash &&
                strcmp(other->shape_key, it->shape_key) == 0)
                it->shape = other->shape;
            if (it->bucket < 0 && other->epoch == it->epoch && other->key_hash == it->key_hash &&
                strcmp(other->key, it->key) == 0)
                it->bucket = other->bucket;
        }
        it->bucket = it->bucket < 0 ? num_buckets++ : it->bucket;
        it->shape = it->shape < 0 ? num_shapes++ : it->shape;
    }
done:
    return st;
}

static const gnti_spec_member *member_of(const forming *f, const item *it)
{
    return &f->g->spec->members[it->member];
}

/* Seconds of a member among those of its bucket, for the epochs that it has left. */
static gnt_status weigh(forming *f)
{
    gnt_status st = GNT_OK;

    for (int32_t i = 0; i < f->num; i++) {
        item *it = &f->items[i];
        const double left = (double)(member_of(f, it)->train.epochs - it->epoch);
        gnti_fusion_cost cost;
        int32_t size = 0;

        for (int32_t k = 0; k < f->num; k++)
            size += f->items[k].bucket == it->bucket;
        GNT_TRY(gnti_fusion_cost_of(&f->cache, it->shape, member_of(f, it), size, f->data, &cost));
        it->work = fmax(left, 1.0) * cost.seconds / (double)size;
    }
done:
    return st;
}

/* Buckets by their longest member, then by number; members by work, then by number. */
static gnt_status sort_items(forming *f)
{
    gnt_status st = GNT_OK;
    double *longest = NULL; /* member of each bucket */
    item swap;

    GNT_TRY(gnti_calloc_array(&longest, f->num + 1));
    for (int32_t i = 0; i < f->num; i++)
        longest[f->items[i].bucket] = fmax(longest[f->items[i].bucket], f->items[i].work);
    for (int32_t i = 1; i < f->num; i++) /* few thousand at most, and nearly in order */
        for (int32_t k = i; k > 0; k--) {
            const item *a = &f->items[k - 1], *b = &f->items[k];
            const double wa = longest[a->bucket], wb = longest[b->bucket];
            const bool in_order = wa != wb                 ? wa > wb
                                  : a->bucket != b->bucket ? a->bucket < b->bucket
                                  : a->work != b->work     ? a->work > b->work
                                                           : a->member < b->member;

            if (in_order)
                break;
            swap = f->items[k - 1];
            f->items[k - 1] = f->items[k];
            f->items[k] = swap;
        }
done:
    gnti_free(longest);
    return st;
}

/* ---- cuts ---------------------------------------------------------------------------------------------------------- */

static int64_t bytes_of(const gnti_fusion_cost *c)
{
    return c->shared + c->lasting + c->scratch;
}

static int compare_i32(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

static gnt_status add_group(forming *f, int32_t first, int32_t num)
{
    gnt_status st = GNT_OK;
    const item *it = &f->items[first];
    gnti_fused_group group = { .num_members = num, .epoch = it->epoch };
    gnti_fusion_cost cost;

    GNT_TRY(gnti_fusion_cost_of(&f->cache, it->shape, member_of(f, it), num, f->data, &cost));
    group.shared_bytes = cost.shared;
    group.lasting_bytes = cost.lasting;
    group.scratch_bytes = cost.scratch;
    group.epoch_seconds = cost.seconds;
    GNT_TRY(gnti_grow_array(&f->groups, &f->capacity, f->num_groups + 1));
    GNT_TRY(gnti_alloc_array(&group.members, num));
    for (int32_t i = 0; i < num; i++)
        group.members[i] = it[i].member;
    qsort(group.members, (size_t)num, sizeof *group.members, compare_i32);
    f->groups[f->num_groups++] = group;
done:
    return st;
}

/* A member that no device holds may still be cut over several: its weights are on each, the rest is shared out. */
static gnt_status check_alone(forming *f, const item *it)
{
    gnt_status st = GNT_OK;
    int64_t largest = 0, sum = 0;
    gnti_fusion_cost cost;

    GNT_TRY(gnti_fusion_cost_of(&f->cache, it->shape, member_of(f, it), 1, f->data, &cost));
    for (int32_t d = 0; d < f->g->num_devices; d++) {
        if (f->g->capacity == NULL || f->g->capacity[d] == 0)
            return GNT_OK;
        largest = gnti_max_i64(largest, f->g->capacity[d]);
        sum += f->g->capacity[d];
    }
    GNT_CHECK(cost.lasting <= largest && bytes_of(&cost) <= sum, GNT_ERR_NOMEM,
              "member %s needs %lld bytes (%lld of graph and features), the largest device has %lld, all "
              "together %lld: "
              "raise their mem, or take narrower layers",
              member_of(f, it)->name, (long long)bytes_of(&cost), (long long)cost.shared, (long long)largest,
              (long long)sum);
done:
    return st;
}

/* The most of `num` members from `first` on that fit so many bytes; 0: not one. */
static gnt_status most_that_fit(forming *f, int32_t first, int32_t num, int64_t capacity, int32_t *out)
{
    gnt_status st = GNT_OK;
    const item *it = &f->items[first];
    int32_t fits = 0, not = num + 1;

    if (capacity == 0) {
        *out = num;
        return GNT_OK;
    }
    for (int32_t try = num; fits + 1 < not ;
         try = fits + (not -fits) / 2) { /* all of them first: the usual answer */
        gnti_fusion_cost cost;

        GNT_TRY(gnti_fusion_cost_of(&f->cache, it->shape, member_of(f, it), try, f->data, &cost));
        if (bytes_of(&cost) <= capacity)
            fits = try;
        else
            not = try;
    }
    *out = fits;
done:
    return st;
}

/* The items first .. end - 1 are of one bucket and were cut for a device. */
static gnt_status add_piece(forming *f, int32_t first, int32_t end, int32_t device)
{
    gnt_status st = GNT_OK;
    const int32_t limit = f->g->max_members > 0 ? f->g->max_members : end - first;

    while (first < end) {
        int32_t num = end - first < limit ? end - first : limit;

        GNT_TRY(most_that_fit(f, first, num, f->g->capacity == NULL ? 0 : f->g->capacity[device], &num));
        if (num == 0)
            GNT_TRY(check_alone(f, &f->items[first]));
        num = num == 0 ? 1 : num;
        GNT_TRY(add_group(f, first, num));
        first += num;
    }
done:
    return st;
}

/* From one item to the next boundary of a bucket, or to `end`. */
static gnt_status add_range(forming *f, int32_t first, int32_t end, int32_t device)
{
    gnt_status st = GNT_OK;

    while (first < end) {
        int32_t to = first + 1;

        while (to < end && f->items[to].bucket == f->items[first].bucket)
            to++;
        GNT_TRY(add_piece(f, first, to, device));
        first = to;
    }
done:
    return st;
}

static gnt_status sort_devices(forming *f)
{
    gnt_status st = GNT_OK;
    const double *speed = f->g->speeds;

    GNT_TRY(gnti_alloc_array(&f->device, f->g->num_devices));
    for (int32_t d = 0; d < f->g->num_devices; d++) {
        int32_t at = d;

        for (; at > 0 && speed[f->device[at - 1]] < speed[d]; at--)
            f->device[at] = f->device[at - 1];
        f->device[at] = d;
    }
done:
    return st;
}

static gnt_status cut(forming *f)
{
    gnt_status st = GNT_OK;
    double work = 0.0, speed = 0.0, done_work = 0.0, due = 0.0;
    int32_t first = 0;

    for (int32_t i = 0; i < f->num; i++)
        work += f->items[i].work;
    for (int32_t d = 0; d < f->g->num_devices; d++)
        speed += f->g->speeds[d];
    for (int32_t d = 0; d < f->g->num_devices; d++) {
        int32_t end = first;

        due += work * f->g->speeds[f->device[d]] / speed;
        while (end < f->num && (d + 1 == f->g->num_devices || done_work + 0.5 * f->items[end].work < due))
            done_work += f->items[end++].work;
        GNT_TRY(add_range(f, first, end, f->device[d]));
        first = end;
    }
done:
    return st;
}

static int by_first_member(const void *a, const void *b)
{
    return compare_i32(((const gnti_fused_group *)a)->members, ((const gnti_fused_group *)b)->members);
}

static gnt_status check_grouping(const gnti_grouping *g)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(g->num_devices > 0 && g->speeds != NULL, GNT_ERR_ARG, "groups for %d devices",
              (int)g->num_devices);
    for (int32_t d = 0; d < g->num_devices; d++)
        GNT_CHECK(g->speeds[d] > 0.0 && isfinite(g->speeds[d]), GNT_ERR_ARG, "device %d has speed %g", (int)d,
                  g->speeds[d]);
done:
    return st;
}

gnt_status gnti_fused_groups_form(const gnti_grouping *g, const gnt_dataset *data, gnti_fused_group **out,
                                  int32_t *num)
{
    gnt_status st = GNT_OK;
    forming f = { .g = g, .data = data };

    GNT_TRY(check_grouping(g));
    GNT_TRY(list_items(&f));
    GNT_TRY(weigh(&f));
    GNT_TRY(sort_items(&f));
    GNT_TRY(sort_devices(&f));
    if (f.num < g->num_devices)
        for (int32_t i = 0; i < f.num; i++)
            GNT_TRY(add_piece(&f, i, i + 1, f.device[i]));
    else
        GNT_TRY(cut(&f));
    if (f.num_groups > 1)
        qsort(f.groups, (size_t)f.num_groups, sizeof *f.groups, by_first_member);
    *out = f.groups;
    *num = (int32_t)f.num_groups;
    f.groups = NULL;
done:
    gnti_fused_groups_free(&f.groups, (int32_t)f.num_groups);
    for (int32_t i = 0; f.items != NULL && i < f.num; i++) {
        gnti_free(f.items[i].key);
        gnti_free(f.items[i].shape_key);
    }
    gnti_free(f.items);
    gnti_free(f.device);
    gnti_fusion_cache_free(&f.cache);
    return st;
}
