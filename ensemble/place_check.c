/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a plan, each looked at anew from the input: nothing here is shared with what makes plans but
 * the arithmetic of bytes.
 */
#include "ensemble/place_memory.h"

#include "base/alloc.h"

#include <math.h>

#define ROUNDING   1e-9
#define MAX_SLOWER 1.2

typedef struct check_run {
    const gnti_place_input *in;
    const gnti_place_plan *plan;
    int32_t *head; /* (num_devices) newest place on it, -1 */
    int32_t *next; /* (places) */
    int32_t *task; /* (places) */
} check_run;

static int32_t width_of(const check_run *r, int32_t task)
{
    return r->plan->first[task + 1] - r->plan->first[task];
}

static gnt_status check_place(check_run *r, int32_t task)
{
    gnt_status st = GNT_OK;
    const gnti_place_plan *p = r->plan;
    const int32_t num = width_of(r, task);
    const long long id = (long long)r->in->tasks[task].id;

    GNT_CHECK(num >= 0 && num <= r->in->tasks[task].max_devices, GNT_ERR_INTERNAL,
              "task %lld has %d devices, it may have %d", id, num, r->in->tasks[task].max_devices);
    for (int32_t i = p->first[task]; i < p->first[task + 1]; i++) {
        const int32_t d = p->device[i];

        GNT_CHECK(d >= 0 && d < r->in->num_devices && r->in->devices[d].present, GNT_ERR_INTERNAL,
                  "task %lld is on device %d, which is not there", id, d);
        GNT_CHECK(i == p->first[task] || d > p->device[i - 1], GNT_ERR_INTERNAL,
                  "task %lld has device %d after %d: devices ascend", id, d, p->device[i - 1]);
        GNT_CHECK(p->share[i] > 0.0 && p->share[i] <= 1.0 + ROUNDING, GNT_ERR_INTERNAL,
                  "task %lld has a share of %g of device %d", id, p->share[i], d);
        r->task[i] = task;
        r->next[i] = r->head[d];
        r->head[d] = i;
    }
    GNT_CHECK(num == 0 || gnti_place_rate(r->in, task, p->device + p->first[task], num) > 0.0,
              GNT_ERR_INTERNAL, "task %lld cannot run on device %d", id, p->device[p->first[task]]);
done:
    return st;
}

static gnt_status check_shares(const check_run *r, int32_t device)
{
    gnt_status st = GNT_OK;
    const gnti_place_plan *p = r->plan;
    double busy = 0.0;
    int32_t gangs = 0, num = 0;

    for (int32_t i = r->head[device]; i >= 0; i = r->next[i]) {
        const gnti_place_task *t = &r->in->tasks[r->task[i]];
        double in_lane = 0.0;

        busy += p->share[i] * (t->use > 0.0 ? t->use : 1.0);
        gangs += width_of(r, r->task[i]) > 1;
        num++;
        for (int32_t j = r->head[device]; j >= 0; j = r->next[j])
            in_lane += p->lane[j] == p->lane[i] ? p->share[j] : 0.0;
        GNT_CHECK(in_lane <= 1.0 + ROUNDING, GNT_ERR_INTERNAL, "shares in lane %d of device %d sum to %g",
                  p->lane[i], device, in_lane);
        GNT_CHECK(!t->foreground || p->share[i] * MAX_SLOWER >= 1.0 - ROUNDING, GNT_ERR_INTERNAL,
                  "task %lld of the foreground is slowed to a share of %g, at least %g is its due",
                  (long long)t->id, p->share[i], 1.0 / MAX_SLOWER);
    }
    GNT_CHECK(busy <= 1.0 + ROUNDING, GNT_ERR_INTERNAL, "device %d is over-booked: shares sum to %g", device,
              busy);
    GNT_CHECK(gangs <= 1, GNT_ERR_INTERNAL, "%d tasks of several devices share device %d, one may", gangs,
              device);
    GNT_CHECK(r->in->devices[device].lanes == 0 || num <= r->in->devices[device].lanes, GNT_ERR_INTERNAL,
              "%d tasks share device %d, %lld may", num, device, (long long)r->in->devices[device].lanes);
done:
    return st;
}

static gnt_status check_bytes(const check_run *r, int32_t device, gnti_tenant *tenants)
{
    gnt_status st = GNT_OK;
    const gnti_place_plan *p = r->plan;
    int32_t num = 0;

    for (int32_t i = r->head[device]; i >= 0; i = r->next[i]) {
        const int32_t task = r->task[i], first = p->first[task];

        tenants[num++] =
            (gnti_tenant){ gnti_place_bytes(r->in, task, p->device + first, width_of(r, task), i - first),
                           r->in->tasks[task].data, p->lane[i] };
    }
    GNT_CHECK(r->in->devices[device].bytes == 0 ||
                  gnti_tenants_bytes(tenants, num) <= r->in->devices[device].bytes,
              GNT_ERR_INTERNAL, "%d tasks hold %lld bytes on device %d, which has %lld", num,
              (long long)gnti_tenants_bytes(tenants, num), device, (long long)r->in->devices[device].bytes);
done:
    return st;
}

gnt_status gnti_place_check(const gnti_place_input *in, const gnti_place_plan *plan)
{
    gnt_status st = GNT_OK;
    const int32_t places = in->num_tasks > 0 ? plan->first[in->num_tasks] : 0;
    check_run r = { .in = in, .plan = plan };
    gnti_tenant *tenants = NULL;

    GNT_TRY(gnti_alloc_array(&r.head, in->num_devices));
    GNT_TRY(gnti_alloc_array(&r.next, places));
    GNT_TRY(gnti_alloc_array(&r.task, places));
    GNT_TRY(gnti_alloc_array(&tenants, places));
    for (int32_t d = 0; d < in->num_devices; d++)
        r.head[d] = -1;
    for (int32_t t = 0; t < in->num_tasks; t++)
        GNT_TRY(check_place(&r, t));
    for (int32_t d = 0; d < in->num_devices; d++) {
        GNT_TRY(check_shares(&r, d));
        GNT_TRY(check_bytes(&r, d, tenants));
    }
done:
    gnti_free(r.head);
    gnti_free(r.next);
    gnti_free(r.task);
    gnti_free(tenants);
    return st;
}
