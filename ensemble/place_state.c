/* SPDX-License-Identifier: Apache-2.0 */
/* Devices in classes, what tasks need, and who owns what.
 *
 * A gang's devices get parts of the graph in proportion to their speeds r_d, so k of them do an epoch in
 *   (1 - f) / sum r + (f + c (k - 1)) / max r
 * seconds (f: serial share, c: overhead of each further one), and a device holds all weights and r_d / sum r
 * of graph and scratch, with a margin for the neighbours' rows. With q_d = r_d / (capacity - weights) a set
 * S holds a task iff sum_S r >= need * max_S q, so for each bound on q the fastest devices below it are the
 * fewest: that search is exact.
 */
#include "ensemble/place_state.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define MOST_BYTES    (INT64_C(1) << 56) /* sums of many stay in range */
#define LEAST_SECONDS 1e-100
#define DEFAULT_GAIN  0.05
#define HALO_MARGIN   1.25 /* rows of neighbours that a part holds beside its own: an allowance */

static gnt_status check_devices(const gnti_place_input *in)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(in->num_types >= 0 && in->num_devices >= 0 && in->num_tasks >= 0, GNT_ERR_ARG,
              "%d types, %d devices, %d tasks: none can be negative", in->num_types, in->num_devices,
              in->num_tasks);
    GNT_CHECK(in->policy >= 0 && in->policy < GNTI_NUM_POLICIES, GNT_ERR_ARG, "policy %d, there are %d",
              (int)in->policy, (int)GNTI_NUM_POLICIES);
    for (int32_t d = 0; d < in->num_devices; d++) {
        const gnti_place_device *dev = &in->devices[d];

        GNT_CHECK(dev->type >= 0 && dev->type < in->num_types, GNT_ERR_ARG,
                  "device %d has type %d, there are %d types", d, dev->type, in->num_types);
        GNT_CHECK(dev->bytes >= 0 && dev->lanes >= 0, GNT_ERR_ARG,
                  "device %d has %lld bytes and %lld lanes: neither can be negative", d,
                  (long long)dev->bytes, (long long)dev->lanes);
    }
done:
    return st;
}

static gnt_status check_task(const gnti_place_input *in, const gnti_place_task *task)
{
    gnt_status st = GNT_OK;
    const long long id = (long long)task->id;
    const int64_t bytes[3] = { task->shared_bytes, task->lasting_bytes, task->scratch_bytes };

    GNT_CHECK(task->epochs_left >= 0.0 && isfinite(task->epochs_left), GNT_ERR_ARG,
              "task %lld has %g epochs left", id, task->epochs_left);
    GNT_CHECK(task->max_devices >= 1, GNT_ERR_ARG, "task %lld may have %d devices: at least 1", id,
              task->max_devices);
    GNT_CHECK(task->serial >= 0.0 && task->serial <= 1.0 && task->overhead >= 0.0, GNT_ERR_ARG,
              "task %lld has a serial share of %g and an overhead of %g", id, task->serial, task->overhead);
    GNT_CHECK(task->use >= 0.0 && task->use <= 1.0, GNT_ERR_ARG, "task %lld uses %g of a device: at most 1",
              id, task->use);
    for (int i = 0; i < 3; i++)
        GNT_CHECK(bytes[i] >= 0 && bytes[i] <= MOST_BYTES, GNT_ERR_ARG,
                  "task %lld has %lld bytes: from 0 to %lld", id, (long long)bytes[i], (long long)MOST_BYTES);
    for (int32_t t = 0; t < in->num_types; t++)
        GNT_CHECK(task->seconds[t] >= LEAST_SECONDS, GNT_ERR_ARG,
                  "an epoch of task %lld takes %g seconds on type %d", id, task->seconds[t], t);
    for (int32_t i = 0; i < task->num_held; i++)
        GNT_CHECK(task->held[i] >= 0 && task->held[i] < in->num_devices &&
                      (i == 0 || task->held[i] > task->held[i - 1]),
                  GNT_ERR_ARG, "task %lld holds device %d of %d: ascending numbers are expected", id,
                  task->held[i], in->num_devices);
done:
    return st;
}

static int32_t find_class(const gnti_placing *s, const gnti_place_device *dev)
{
    for (int32_t c = 0; c < s->num_classes; c++)
        if (s->classes[c].type == dev->type && s->classes[c].bytes == dev->bytes &&
            s->classes[c].lanes == dev->lanes)
            return c;
    return -1;
}

static gnt_status make_classes(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    const gnti_place_input *in = s->in;
    int64_t room = 0;

    for (int32_t d = 0; d < in->num_devices; d++) {
        const gnti_place_device *dev = &in->devices[d];
        int32_t c = dev->present ? find_class(s, dev) : -1;

        if (dev->present && c < 0) {
            GNT_TRY(gnti_grow_array(&s->classes, &room, s->num_classes + 1));
            c = s->num_classes++;
            s->classes[c] = (gnti_place_class){ dev->type, dev->bytes, dev->lanes, 0, 0 };
        }
        s->class_of[d] = c;
        if (c >= 0)
            s->classes[c].num++;
    }
    for (int32_t c = 0; c < s->num_classes; c++) {
        s->classes[c].first = s->num_present;
        s->num_present += s->classes[c].num;
        s->classes[c].num = 0;
    }
    for (int32_t d = 0; d < in->num_devices; d++)
        if (s->class_of[d] >= 0) {
            gnti_place_class *c = &s->classes[s->class_of[d]];

            s->by_class[c->first + c->num++] = d;
        }
done:
    return st;
}

double gnti_gang_speed(const gnti_place_task *task, double sum, double fastest, int32_t k)
{
    if (k <= 1)
        return sum;
    return 1.0 / ((1.0 - task->serial) / sum + (task->serial + task->overhead * (k - 1)) / fastest);
}

int64_t gnti_gang_part(int64_t bytes, double part, int32_t k)
{
    const double share = k > 1 ? fmin(1.0, part * HALO_MARGIN) : 1.0;

    return share < 1.0 ? (int64_t)ceil((double)bytes * share) : bytes;
}

static bool holds(const gnti_placing *s, int32_t task, int32_t cls, double part, int32_t k)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const int64_t bytes = s->classes[cls].bytes;

    return bytes == 0 || t->lasting_bytes + gnti_gang_part(t->shared_bytes, part, k) +
                                 gnti_gang_part(t->scratch_bytes, part, k) <=
                             bytes;
}

bool gnti_placing_holds(const gnti_placing *s, int32_t task, int32_t cls, double part)
{
    return holds(s, task, cls, part, part < 1.0 ? 2 : 1);
}

int32_t gnti_placing_fewest(const gnti_placing *s, int32_t task, int32_t cls)
{
    const int32_t most = s->in->tasks[task].max_devices < s->classes[cls].num ? s->in->tasks[task].max_devices
                                                                              : s->classes[cls].num;

    if (gnti_placing_speed(s, task, cls) == 0.0)
        return 0;
    if (holds(s, task, cls, 1.0, 1))
        return 1;
    for (int32_t k = 2; k <= most; k++)
        if (holds(s, task, cls, 1.0 / k, k))
            return k;
    return 0;
}

/* The fastest devices among the classes whose q is at most that of `bound`, until they hold it. */
static int32_t fill_mixed(const gnti_placing *s, int32_t task, double bound, int32_t *count)
{
    const gnti_place_task *t = &s->in->tasks[task];
    const double bytes = HALO_MARGIN * ((double)t->shared_bytes + (double)t->scratch_bytes) + 2.0;
    double sum = 0.0;
    int32_t num = 0;

    memset(count, 0, (size_t)s->num_classes * sizeof *count);
    while (num < t->max_devices) {
        int32_t pick = -1;

        for (int32_t c = 0; c < s->num_classes; c++) {
            const double speed = gnti_placing_speed(s, task, c);
            const double room = (double)(s->classes[c].bytes - t->lasting_bytes);
            const bool may = s->classes[c].bytes == 0 || (room > 0.0 && speed / room <= bound);

            if (may && speed > 0.0 && count[c] < s->classes[c].num &&
                (pick < 0 || speed > gnti_placing_speed(s, task, pick)))
                pick = c;
        }
        if (pick < 0)
            return 0;
        count[pick]++;
        num++;
        sum += gnti_placing_speed(s, task, pick);
        if (num > 1 && sum >= bytes * bound)
            return num;
    }
    return 0;
}

int32_t gnti_placing_mixed(const gnti_placing *s, int32_t task, int32_t *count)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double best_bound = 0.0;
    int32_t best = 0;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const double room = (double)(s->classes[c].bytes - t->lasting_bytes);
        const double speed = gnti_placing_speed(s, task, c);
        const double bound = room > 0.0 ? speed / room : 0.0;
        const int32_t num = bound > 0.0 ? fill_mixed(s, task, bound, count) : 0;

        if (num > 0 && (best == 0 || num < best)) {
            best = num;
            best_bound = bound;
        }
    }
    return best > 0 ? fill_mixed(s, task, best_bound, count) : 0;
}

static gnt_status nomem(const gnti_placing *s, int32_t task)
{
    gnt_status st = GNT_OK;
    const gnti_place_task *t = &s->in->tasks[task];
    int64_t largest = 0;
    int32_t usable = 0;

    for (int32_t c = 0; c < s->num_classes; c++)
        if (gnti_placing_speed(s, task, c) > 0.0) {
            usable += s->classes[c].num;
            largest = s->classes[c].bytes > largest ? s->classes[c].bytes : largest;
        }
    GNT_CHECK(usable > 0, GNT_ERR_NOMEM,
              "task %lld can run on none of the %d devices that are present: add one of a type that it has "
              "times for",
              (long long)t->id, s->num_present);
    GNT_FAIL(GNT_ERR_NOMEM,
             "task %lld needs %lld bytes (%lld of graph and features, %lld that last, %lld of a step) and "
             "may have "
             "%d devices, but the largest of the %d that it can run on has %lld: give it more devices, fewer "
             "members or narrower layers",
             (long long)t->id, (long long)(t->shared_bytes + t->lasting_bytes + t->scratch_bytes),
             (long long)t->shared_bytes, (long long)t->lasting_bytes, (long long)t->scratch_bytes,
             t->max_devices, usable, (long long)largest);
done:
    return st;
}

/* Fewest devices and least seconds of a task; false: nothing that is present holds it. */
static bool find_need(gnti_placing *s, int32_t task, int32_t *count)
{
    const gnti_place_task *t = &s->in->tasks[task];
    s->need[task] = 0;
    s->best[task] = INFINITY;
    for (int32_t c = 0; c < s->num_classes; c++) {
        const double speed = gnti_placing_speed(s, task, c);
        const int32_t k = speed > 0.0 ? gnti_placing_fewest(s, task, c) : 0;

        if (k == 0)
            continue;
        s->need[task] = s->need[task] == 0 || k < s->need[task] ? k : s->need[task];
        s->best[task] = fmin(s->best[task], gnti_epochs_left(t) / gnti_gang_speed(t, speed * k, speed, k));
    }
    if (s->need[task] > 0)
        return true;
    const int32_t k = gnti_placing_mixed(s, task, count);
    double sum = 0.0, fastest = 0.0;

    for (int32_t c = 0; k > 0 && c < s->num_classes; c++)
        if (count[c] > 0) {
            sum += count[c] * gnti_placing_speed(s, task, c);
            fastest = fmax(fastest, gnti_placing_speed(s, task, c));
        }
    s->need[task] = k;
    if (k > 0)
        s->best[task] = gnti_epochs_left(t) / gnti_gang_speed(t, sum, fastest, k);
    return k > 0;
}

gnt_status gnti_placing_open(gnti_placing *s, const gnti_place_input *in)
{
    gnt_status st = GNT_OK;
    int32_t *count = NULL;
    const int64_t num = in->num_tasks, devices = in->num_devices;

    *s = (gnti_placing){ .in = in, .gain = in->resize_gain > 0.0 ? in->resize_gain : DEFAULT_GAIN };
    GNT_TRY(check_devices(in));
    for (int32_t t = 0; t < in->num_tasks; t++)
        GNT_TRY(check_task(in, &in->tasks[t]));
    GNT_TRY(gnti_alloc_array(&s->by_class, devices));
    GNT_TRY(gnti_alloc_array(&s->class_of, devices));
    GNT_TRY(gnti_alloc_array(&s->owner, devices));
    GNT_TRY(gnti_alloc_array(&s->free_at, devices));
    GNT_TRY(gnti_alloc_array(&s->hole, devices));
    GNT_TRY(gnti_alloc_array(&s->heap, devices));
    GNT_TRY(gnti_alloc_array(&s->need, num));
    GNT_TRY(gnti_alloc_array(&s->width, num));
    GNT_TRY(gnti_alloc_array(&s->queued, num));
    GNT_TRY(gnti_alloc_array(&s->most, num));
    GNT_TRY(gnti_alloc_array(&s->guest, num));
    GNT_TRY(gnti_alloc_array(&s->order, num));
    GNT_TRY(gnti_alloc_array(&s->sum, num));
    GNT_TRY(gnti_alloc_array(&s->fastest, num));
    GNT_TRY(gnti_alloc_array(&s->finish, num));
    GNT_TRY(gnti_alloc_array(&s->start, num));
    GNT_TRY(gnti_alloc_array(&s->leave, num));
    GNT_TRY(gnti_alloc_array(&s->best, num));
    GNT_TRY(gnti_alloc_array(&s->key, num));
    GNT_TRY(gnti_alloc_array(&s->share, num));
    GNT_TRY(gnti_alloc_array(&s->lane, num));
    GNT_TRY(make_classes(s));
    GNT_TRY(gnti_alloc_array(&s->speed, num * s->num_classes));
    for (int32_t t = 0; t < in->num_tasks; t++)
        for (int32_t c = 0; c < s->num_classes; c++) {
            const double seconds = in->tasks[t].seconds[s->classes[c].type];

            s->speed[(int64_t)t * s->num_classes + c] = isfinite(seconds) ? 1.0 / seconds : 0.0;
        }
    GNT_TRY(gnti_alloc_array(&count, s->num_classes));
    for (int32_t t = 0; t < in->num_tasks; t++)
        if (s->num_present > 0 && !find_need(s, t, count))
            GNT_TRY(nomem(s, t));
    for (int32_t t = 0; t < in->num_tasks; t++) {
        const double speed = gnti_place_rate(in, t, in->tasks[t].held, in->tasks[t].num_held);

        s->leave[t] = speed > 0.0 ? 0.5 / speed : 0.0;
    }
    gnti_placing_reset(s);
    for (int32_t t = 0; s->num_present == 0 && t < in->num_tasks; t++) {
        s->need[t] = 0;
        s->best[t] = INFINITY;
    }
done:
    gnti_free(count);
    return st;
}

void gnti_placing_close(gnti_placing *s)
{
    void *const blocks[] = { s->most,  s->speed, s->classes, s->by_class, s->class_of, s->need,
                             s->width, s->sum,   s->fastest, s->finish,   s->start,    s->queued,
                             s->guest, s->best,  s->leave,   s->owner,    s->free_at,  s->hole,
                             s->order, s->heap,  s->key,     s->share,    s->lane };

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        gnti_free(blocks[i]);
    *s = (gnti_placing){ 0 };
}

void gnti_placing_reset(gnti_placing *s)
{
    for (int32_t d = 0; d < s->in->num_devices; d++) {
        s->owner[d] = -1;
        s->free_at[d] = s->hole[d] = 0.0;
    }
    for (int32_t t = 0; t < s->in->num_tasks; t++) {
        s->width[t] = 0;
        s->most[t] = s->in->tasks[t].max_devices;
        s->queued[t] = s->guest[t] = -1;
        s->share[t] = 1.0;
        s->lane[t] = 0;
        s->sum[t] = s->fastest[t] = s->start[t] = 0.0;
        s->finish[t] = INFINITY;
    }
    s->num_guests = 0;
}
