/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that wait as guests of a device that its owner does not fill.
 *
 * An owner that keeps a share u of its device busy leaves 1 - u to guests at no loss to itself; one of the
 * foreground may be slowed to 1.2x, so it leaves 1 - u / 1.2 (MuxFlow). Guests come in the order of the
 * policy, each to the room where it is fastest, if lanes, memory and at least a twentieth of the device
 * allow. Rooms of a class are a heap, of which a guest sees the top three levels: O(T classes + D log D).
 */
#include "ensemble/place_memory.h"
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>

#define LEAST_ROOM  0.05
#define MAX_SLOWER  1.2
#define TOP_OF_HEAP 7
#define MAX_TENANTS 16

typedef struct guest_run {
    gnti_placing *s;
    double *lack;   /* (num_devices) minus the room that is left */
    int32_t *item;  /* (num_present) devices with room, class by class: heaps by lack */
    int32_t *num;   /* (num_classes) */
    int32_t *guest; /* (num_devices) newest guest, -1 */
    int32_t *next;  /* (num_tasks) guest before it */
} guest_run;

static double use_of(const gnti_placing *s, int32_t task)
{
    const double use = s->in->tasks[task].use;

    return use > 0.0 ? use : 1.0;
}

static gnti_tenant tenant_of(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];

    return (gnti_tenant){ { t->shared_bytes, t->lasting_bytes, t->scratch_bytes }, t->data, 0 };
}

/* The owner, then its guests, at most MAX_TENANTS, with room for one more; answers how many. */
static int32_t tenants_of(const guest_run *r, int32_t device, int32_t *task)
{
    int32_t num = 0;

    task[num++] = r->s->owner[device];
    for (int32_t g = r->guest[device]; g >= 0 && num < MAX_TENANTS; g = r->next[g])
        task[num++] = g;
    return num;
}

/* Lanes of tasks on one device, whatever their order; false: they do not fit. */
static bool find_lanes(const gnti_placing *s, const int32_t *task, int32_t num, int64_t bytes, int32_t *lane)
{
    gnti_tenant tenants[MAX_TENANTS + 1];
    int32_t at[MAX_TENANTS + 1];

    for (int32_t i = 0; i < num; i++) { /* by number: equal ones have the same lanes in each plan */
        int32_t j = i;

        for (; j > 0 && task[at[j - 1]] > task[i]; j--)
            at[j] = at[j - 1];
        at[j] = i;
    }
    for (int32_t i = 0; i < num; i++)
        tenants[i] = tenant_of(s, task[at[i]]);
    if (gnti_tenants_lanes(tenants, num, bytes) == 0)
        return false;
    for (int32_t i = 0; i < num; i++)
        lane[at[i]] = tenants[i].lane;
    return true;
}

/* The share that a task would have as a guest there, 0: it cannot be one; its lanes go to lane (MAX_TENANTS + 1). */
static double guest_share(const guest_run *r, int32_t task, int32_t device, int32_t *lane)
{
    const gnti_placing *s = r->s;
    const gnti_place_class *cls = &s->classes[s->class_of[device]];
    int32_t id[MAX_TENANTS + 1];
    double in_lane[MAX_TENANTS + 1] = { 0.0 };
    double share = fmin(1.0, -r->lack[device] / use_of(s, task));
    const int32_t num = tenants_of(r, device, id);

    if (num >= MAX_TENANTS || (cls->lanes > 0 && num >= cls->lanes) ||
        gnti_placing_speed(s, task, s->class_of[device]) == 0.0)
        return 0.0;
    id[num] = task;
    if (!find_lanes(s, id, num + 1, cls->bytes, lane))
        return 0.0;
    for (int32_t i = 0; i < num; i++) {
        const bool yields = i == 0 && s->in->tasks[id[0]].foreground;

        in_lane[lane[i]] += yields ? 1.0 / MAX_SLOWER : s->share[id[i]];
    }
    for (int32_t i = 0; i <= num; i++)
        if (in_lane[i] > 1.0 + 1e-12)
            return 0.0;
    share = fmin(share, 1.0 - in_lane[lane[num]]);
    if (share * use_of(s, task) < LEAST_ROOM || (s->in->tasks[task].foreground && share < 1.0))
        return 0.0;
    return share;
}

static void admit(guest_run *r, int32_t task, int32_t device, double share)
{
    gnti_placing *s = r->s;
    const int32_t cls = s->class_of[device], owner = s->owner[device];
    int32_t id[MAX_TENANTS + 1], lane[MAX_TENANTS + 1], *heap = r->item + s->classes[cls].first, at = 0;
    const int32_t num = tenants_of(r, device, id);
    double busy = use_of(s, task) * share, in_lane = 0.0;

    guest_share(r, task, device, lane);
    id[num] = task;
    for (int32_t i = 0; i <= num; i++)
        s->lane[id[i]] = lane[i];
    r->next[task] = r->guest[device];
    r->guest[device] = task;
    s->guest[task] = device;
    s->share[task] = share;
    s->num_guests++;
    for (int32_t i = 1; i < num; i++)
        busy += use_of(s, id[i]) * s->share[id[i]];
    for (int32_t i = 1; i <= num; i++)
        in_lane += lane[i] == lane[0] ? s->share[id[i]] : 0.0;
    s->share[owner] = fmin(1.0, fmin((1.0 - busy) / use_of(s, owner), 1.0 - in_lane));
    if (s->in->tasks[owner].foreground) /* rounding, no more */
        s->share[owner] = fmax(s->share[owner], 1.0 / MAX_SLOWER);
    r->lack[device] += use_of(s, task) * share;
    while (heap[at] != device)
        at++;
    gnti_place_sift_down(heap, r->num[cls], r->lack, at);
}

/* It stays a guest where it is one. */
static void seat_again(guest_run *r, int32_t task)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    int32_t lane[MAX_TENANTS + 1];
    double share;

    if (t->num_held != 1 || s->class_of[t->held[0]] < 0 || s->owner[t->held[0]] < 0 ||
        -r->lack[t->held[0]] < LEAST_ROOM)
        return;
    share = guest_share(r, task, t->held[0], lane);
    if (share > 0.0)
        admit(r, task, t->held[0], share);
}

/* The room where it is fastest. */
static void seat(guest_run *r, int32_t task)
{
    gnti_placing *s = r->s;
    int32_t lane[MAX_TENANTS + 1], pick = -1;
    double most = 0.0, share = 0.0;

    for (int32_t c = 0; c < s->num_classes; c++)
        for (int32_t i = 0; i < r->num[c] && i < TOP_OF_HEAP; i++) {
            const int32_t d = r->item[s->classes[c].first + i];
            const double had = -r->lack[d] >= LEAST_ROOM ? guest_share(r, task, d, lane) : 0.0;

            if (had * gnti_placing_speed(s, task, c) > most) {
                most = had * gnti_placing_speed(s, task, c);
                share = had;
                pick = d;
            }
        }
    if (pick >= 0)
        admit(r, task, pick, share);
}

/* Devices with a lone owner that leaves room; answers how many. */
static int32_t collect_rooms(guest_run *r)
{
    gnti_placing *s = r->s;
    int32_t num = 0;

    for (int32_t c = 0; c < s->num_classes; c++) {
        int32_t *const heap = r->item + s->classes[c].first;

        r->num[c] = 0;
        for (int32_t i = 0; i < s->classes[c].num; i++) {
            const int32_t d = s->by_class[s->classes[c].first + i], owner = s->owner[d];

            r->lack[d] = 0.0;
            r->guest[d] = -1;
            if (owner < 0 || s->width[owner] != 1)
                continue;
            r->lack[d] = use_of(s, owner) / (s->in->tasks[owner].foreground ? MAX_SLOWER : 1.0) - 1.0;
            if (-r->lack[d] >= LEAST_ROOM && s->classes[c].lanes != 1)
                heap[r->num[c]++] = d;
        }
        gnti_place_heapify(heap, r->num[c], r->lack);
        num += r->num[c];
    }
    return num;
}

gnt_status gnti_placing_guests(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    guest_run r = { .s = s };
    int32_t num;

    GNT_TRY(gnti_alloc_array(&r.lack, s->in->num_devices));
    GNT_TRY(gnti_alloc_array(&r.guest, s->in->num_devices));
    GNT_TRY(gnti_alloc_array(&r.item, s->num_present));
    GNT_TRY(gnti_alloc_array(&r.num, s->num_classes));
    GNT_TRY(gnti_alloc_array(&r.next, s->in->num_tasks));
    if (s->in->policy == GNTI_POLICY_ENERGY &&
        s->in->watts > 0.0) /* guests would draw more than was counted */
        goto done;
    if (collect_rooms(&r) > 0)
        for (int round = 0; round < 2; round++) {
            num = gnti_placing_line(s);
            gnti_place_heapify(s->order, num, s->key);
            while (num > 0) {
                const int32_t task = gnti_place_pop(s->order, num--, s->key);

                if (s->need[task] == 1 && s->guest[task] < 0)
                    (round == 0 ? seat_again : seat)(&r, task);
            }
        }
done:
    gnti_free(r.lack);
    gnti_free(r.guest);
    gnti_free(r.item);
    gnti_free(r.num);
    gnti_free(r.next);
    return st;
}
