/* SPDX-License-Identifier: Apache-2.0 */
/* From members and devices to tasks. The allocation matrix is found for a stream of batches; here each unit is asked for once, so a
 * replica that makes the whole no sooner is taken out again. What is left of a column shares the units in proportion to the rates.
 */
#include "ensemble/serve.h"

#include "base/alloc.h"
#include "ensemble/allocate.h"
#include "kernels/profile.h"
#include "train/estimate.h"

#include <math.h>
#include <string.h>

#define CALL_SECONDS 5e-6 /* to start an op */
#define TINY_SECONDS 1e-12
#define GAIN         0.02 /* a replica that saves less of the time is none */

enum { TOGETHER = 16 }; /* members under way at the same time, or two a device: their logits take room */

/* Of some members, which are on their devices at the same time. */
typedef struct planning {
    gnti_serve *s;
    bool own_memory;          /* some device holds graph and features too */
    const int32_t *set;       /* (in.num_members) */
    gnti_allocation_input in; /* its member m is set[m] */
    int64_t *fixed_bytes, *row_bytes;
    double *fixed_seconds, *row_seconds;
    int32_t *batch;      /* (devices, in.num_members) */
    double *turn, *busy; /* (devices) */
    int32_t *units;      /* (devices) */
} planning;

static void free_planning(planning *p)
{
    gnti_free(p->fixed_bytes);
    gnti_free(p->row_bytes);
    gnti_free(p->fixed_seconds);
    gnti_free(p->row_seconds);
    gnti_free(p->batch);
    gnti_free(p->turn);
    gnti_free(p->busy);
    gnti_free(p->units);
}

/* ---- what devices have ----------------------------------------------------------------------------------------------- */

/* Every process measures its own, and all know all. */
static gnt_status find_rates(gnti_serve *s)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &s->job.place;
    const bool differ = gnti_device_specs_differ(place->specs, place->size);
    const int64_t count = (int64_t)place->size * (int64_t)(sizeof(gnti_rates) / sizeof(double));

    GNT_TRY(gnti_calloc_array(&s->rates, place->size));
    for (int32_t d = 0; !differ && d < place->size; d++)
        s->rates[d] = gnti_rates_default(1);
    for (int32_t d = place->first; differ && d < place->first + place->num_local; d++) {
        gnti_device_config config;
        gnti_profile profile;

        GNT_TRY(gnti_job_device_config(&s->job, d, &config));
        GNT_TRY(gnti_device_profile(&place->specs[d], &config, (uint64_t)d, GNTI_PROFILE_ALL, &profile));
        s->rates[d] = profile.rates;
    }
    if (differ)
        GNT_TRY(
            gnti_comm_all_reduce(s->job.processes, &(gnti_all_reduce_args){ (double *)(void *)s->rates, count,
                                                                            GNT_F64, GNTI_COMM_SUM }));
done:
    return st;
}

static gnt_status find_capacity(gnti_serve *s)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &s->job.place;
    const int64_t host = gnti_estimate_available();
    const int32_t beside =
        place->num_local *
        (s->job.processes->size > 1 ? gnti_context_launch(s->ctx)->local_size : 1); /* on this machine */

    GNT_TRY(gnti_calloc_array(&s->capacity, place->size));
    for (int32_t d = place->first; d < place->first + place->num_local; d++) {
        const gnti_device_spec *spec = &place->specs[d];

        s->capacity[d] = (int64_t)spec->memory;
        if (s->capacity[d] <= 0)
            (void)gnti_estimate_own_memory(spec, gnti_device_number(place->specs, d), &s->capacity[d]);
        if (s->capacity[d] <= 0) /* the processors share what there is */
            s->capacity[d] = host > 0 ? gnti_max_i64(host / beside, 1) : INT64_MAX / 4;
    }
    GNT_TRY(gnti_comm_all_reduce(
        s->job.processes, &(gnti_all_reduce_args){ s->capacity, place->size, GNT_I64, GNTI_COMM_MAX }));
done:
    return st;
}

/* ---- what members ask ------------------------------------------------------------------------------------------------ */

static double seconds_of(const gnti_serve_shape *shape, int at, const gnti_rates *rates)
{
    const gnti_step_counts c = { .rows = shape->rows[at],
                                 .arcs = { shape->arcs[at], shape->arcs[at] },
                                 .loss_arcs = shape->arcs[at],
                                 .entries = shape->entries[at],
                                 .tiles = 1.0 };
    double seconds = 0.0;

    for (int64_t i = 0; i < gnti_program_num_ops(shape->dry); i++) {
        const gnti_op_work w = gnti_program_op_work(shape->dry, i, &c);

        seconds += CALL_SECONDS + gnti_rates_seconds(rates, w.kind, w.flops, w.bytes);
    }
    return seconds;
}

/* A line through the values at the least batch and at all units. */
static void fit_line(double least, double all, double *fixed, double *slope)
{
    *slope = fmax((all - least) / (GNTI_SERVE_UNITS - GNTI_SERVE_LEAST), 0.0);
    *fixed = fmax(least - GNTI_SERVE_LEAST * *slope, 0.0);
}

/* The same, raised until no batch takes more than the line says: what is reached grows fast at first. */
static void bound_bytes(const gnti_serve_shape *shape, bool with_data, double *fixed, double *slope)
{
    double bytes[GNTI_SERVE_BATCHES], above = 0.0;

    for (int i = 0; i < GNTI_SERVE_BATCHES; i++)
        bytes[i] = (double)(shape->bytes[i] + (with_data ? shape->data_bytes[i] : 0));
    fit_line(bytes[0], bytes[GNTI_SERVE_BATCHES - 1], fixed, slope);
    for (int i = 0; i < GNTI_SERVE_BATCHES; i++)
        above = fmax(above, bytes[i] - *fixed - (GNTI_SERVE_LEAST << i) * *slope);
    *fixed += above;
}

static gnt_status ask(planning *p)
{
    gnt_status st = GNT_OK;
    const gnti_serve *s = p->s;
    const int32_t devices = s->job.place.size, members = p->in.num_members;

    GNT_TRY(gnti_alloc_array(&p->fixed_bytes, members));
    GNT_TRY(gnti_alloc_array(&p->row_bytes, members));
    GNT_TRY(gnti_alloc_array(&p->fixed_seconds, (int64_t)devices * members));
    GNT_TRY(gnti_alloc_array(&p->row_seconds, (int64_t)devices * members));
    for (int32_t m = 0; m < members; m++) {
        const gnti_serve_shape *shape = &s->shapes[s->members[p->set[m]].shape];
        double fixed, slope;

        bound_bytes(shape, p->own_memory, &fixed, &slope);
        p->fixed_bytes[m] = (int64_t)ceil(fixed);
        p->row_bytes[m] = (int64_t)ceil(slope);
        for (int32_t d = 0; d < devices; d++) {
            fit_line(seconds_of(shape, 0, &p->s->rates[d]),
                     seconds_of(shape, GNTI_SERVE_BATCHES - 1, &p->s->rates[d]), &fixed, &slope);
            p->fixed_seconds[(int64_t)d * members + m] = fixed;
            p->row_seconds[(int64_t)d * members + m] = fmax(slope, TINY_SECONDS);
        }
    }
    p->in.num_devices = devices;
    p->in.capacity = s->capacity;
    p->in.fixed_seconds = p->fixed_seconds;
    p->in.row_seconds = p->row_seconds;
    p->in.fixed_bytes = p->fixed_bytes;
    p->in.row_bytes = p->row_bytes;
    GNT_TRY(gnti_calloc_array(&p->batch, (int64_t)devices * members));
    GNT_TRY(gnti_alloc_array(&p->turn, devices));
    GNT_TRY(gnti_alloc_array(&p->busy, devices));
    GNT_TRY(gnti_alloc_array(&p->units, devices));
done:
    return st;
}

/* ---- shares ---------------------------------------------------------------------------------------------------------- */

/* Units of member m on each device: in proportion to what the device's turn leaves it, the rest one by one. */
static void share_units(planning *p, int32_t m)
{
    const int32_t devices = p->in.num_devices, members = p->in.num_members;
    double sum = 0.0;
    int32_t left = GNTI_SERVE_UNITS;

    for (int32_t d = 0; d < devices; d++)
        sum += p->batch[(int64_t)d * members + m] > 0 ? p->batch[(int64_t)d * members + m] / p->turn[d] : 0.0;
    for (int32_t d = 0; d < devices; d++) {
        const int32_t b = p->batch[(int64_t)d * members + m];

        p->units[d] = b > 0 ? (int32_t)(GNTI_SERVE_UNITS * (b / p->turn[d]) / sum) : 0;
        left -= p->units[d];
    }
    for (int32_t d = 0; left > 0; d = (d + 1) % devices)
        if (p->batch[(int64_t)d * members + m] > 0) {
            p->units[d]++;
            left--;
        }
}

static void sum_turns(planning *p)
{
    const int32_t members = p->in.num_members;

    for (int32_t d = 0; d < p->in.num_devices; d++) {
        p->turn[d] = 0.0;
        for (int32_t m = 0; m < members; m++) {
            const int64_t at = (int64_t)d * members + m;

            p->turn[d] += p->batch[at] > 0 ? p->fixed_seconds[at] + p->batch[at] * p->row_seconds[at] : 0.0;
        }
    }
}

/* Seconds until the last device is done when each unit is asked for once. */
static double finish(planning *p)
{
    const int32_t devices = p->in.num_devices, members = p->in.num_members;
    double last = 0.0;

    sum_turns(p);
    memset(p->busy, 0, (size_t)devices * sizeof *p->busy);
    for (int32_t m = 0; m < members; m++) {
        share_units(p, m);
        for (int32_t d = 0; d < devices; d++) {
            const int64_t at = (int64_t)d * members + m;

            if (p->units[d] > 0)
                p->busy[d] += ceil((double)p->units[d] / p->batch[at]) * p->fixed_seconds[at] +
                              p->units[d] * p->row_seconds[at];
        }
    }
    for (int32_t d = 0; d < devices; d++)
        last = fmax(last, p->busy[d]);
    return last;
}

/* Takes out replicas without which the last device is done no later, one by one. */
static void drop_idle_replicas(planning *p)
{
    const int32_t devices = p->in.num_devices, members = p->in.num_members;
    double now = finish(p);

    for (int32_t m = 0; m < members; m++)
        for (int32_t d = devices - 1; d >= 0; d--) {
            int32_t *entry = &p->batch[(int64_t)d * members + m], was = *entry, others = 0;
            double without;

            for (int32_t k = 0; k < devices; k++)
                others += k != d && p->batch[(int64_t)k * members + m] > 0;
            if (was == 0 || others == 0)
                continue;
            *entry = 0;
            without = finish(p);
            if (without <= now * (1.0 + GAIN))
                now = fmin(without, now);
            else
                *entry = was;
        }
    sum_turns(p);
}

static void add_tasks(planning *p, int32_t wave)
{
    gnti_serve *s = p->s;
    const int32_t devices = p->in.num_devices, members = p->in.num_members;

    for (int32_t m = 0; m < members; m++) {
        int32_t first = 0;

        share_units(p, m);
        for (int32_t d = 0; d < devices; d++) {
            const int32_t b = p->batch[(int64_t)d * members + m];

            s->batch[(int64_t)d * s->num_members + p->set[m]] = p->units[d] > 0 ? b : 0;
            if (p->units[d] > 0)
                s->tasks[s->num_tasks++] = (gnti_serve_task){ .device = d,
                                                              .member = p->set[m],
                                                              .first = first,
                                                              .end = first + p->units[d],
                                                              .batch = b,
                                                              .wave = wave };
            first += p->units[d];
        }
    }
}

static gnt_status tell_shortage(const planning *p)
{
    gnt_status st = GNT_OK;
    int64_t largest = 0;

    for (int32_t d = 0; d < p->in.num_devices; d++)
        largest = gnti_max_i64(largest, p->s->capacity[d]);
    GNT_FAIL(
        GNT_ERR_DEVICE_NOMEM,
        "member '%s' needs %lld bytes for 1/%d of the nodes at a time, the largest of %d devices has %lld: "
        "give one more memory",
        p->s->file.name[p->s->members[p->set[0]].number],
        (long long)(p->fixed_bytes[0] + GNTI_SERVE_LEAST * p->row_bytes[0]),
        GNTI_SERVE_UNITS / GNTI_SERVE_LEAST, (int)p->in.num_devices, (long long)largest);
done:
    return st;
}

/* Members that fit together, and are not too many, are placed at once; else one half of them after the other. */
static gnt_status plan_set(const planning *common, const int32_t *set, int32_t num, int32_t *wave)
{
    gnt_status st = GNT_OK;
    planning p = { .s = common->s, .own_memory = common->own_memory, .set = set, .in.num_members = num };

    GNT_TRY(ask(&p));
    st = num > gnti_serve_together(p.s) ? GNT_ERR_DEVICE_NOMEM : gnti_allocate(&p.in, p.batch);
    if (st == GNT_ERR_DEVICE_NOMEM && num > 1) {
        gnt_clear_error();
        GNT_TRY(plan_set(common, set, num / 2, wave));
        GNT_TRY(plan_set(common, set + num / 2, num - num / 2, wave));
        goto done;
    }
    if (st == GNT_ERR_DEVICE_NOMEM)
        GNT_TRY(tell_shortage(&p));
    GNT_TRY(st);
    drop_idle_replicas(&p);
    p.s->wave_end[*wave] = (int32_t)(set - p.s->order) + num;
    add_tasks(&p, (*wave)++);
done:
    free_planning(&p);
    return st;
}

/* By bytes, descending: halves are then of members that are alike. */
static void sort_set(const gnti_serve *s, int32_t *set)
{
    for (int32_t m = 0; m < s->num_members; m++) {
        int32_t at = m;

        for (; at > 0 && s->shapes[s->members[set[at - 1]].shape].bytes[GNTI_SERVE_BATCHES - 1] <
                             s->shapes[s->members[m].shape].bytes[GNTI_SERVE_BATCHES - 1];
             at--)
            set[at] = set[at - 1];
        set[at] = m;
    }
}

int32_t gnti_serve_together(const gnti_serve *s)
{
    return 2 * s->job.place.size > TOGETHER ? 2 * s->job.place.size : TOGETHER;
}

/* What waves before have done stays in the list. */
static void forget_rest(gnti_serve *s, int32_t from)
{
    int32_t kept = 0;

    while (s->num_waves > 0 && s->wave_end[s->num_waves - 1] > from)
        s->num_waves--;
    for (int32_t i = 0; i < s->num_tasks; i++)
        if (s->tasks[i].wave < s->num_waves)
            s->tasks[kept++] = s->tasks[i];
    s->num_tasks = kept;
}

gnt_status gnti_serve_plan_rest(gnti_serve *s, int32_t from)
{
    gnt_status st = GNT_OK;
    planning p = { .s = s };

    for (int32_t d = 0; d < s->job.place.size; d++)
        p.own_memory = p.own_memory || gnti_estimate_own_memory(&s->job.place.specs[d], 0, NULL);
    forget_rest(s, from);
    GNT_TRY(plan_set(&p, s->order + from, s->num_members - from, &s->num_waves));
done:
    return st;
}

gnt_status gnti_serve_plan(gnti_serve *s, const char *devices)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config config;
    int32_t num;

    gnt_trainer_config_init(&config);
    config.devices = devices;
    GNT_TRY(gnti_job_open(s->ctx, &config, &s->job));
    GNT_TRY(gnti_job_check(&s->job, s->members[0].trained.model, s->data, &config, NULL));
    num = s->job.place.size;
    GNT_TRY(gnti_serve_fit(s));
    GNT_TRY(find_rates(s));
    GNT_TRY(find_capacity(s));
    GNT_TRY(gnti_calloc_array(&s->batch, (int64_t)num * s->num_members));
    GNT_TRY(gnti_calloc_array(&s->seconds, num));
    GNT_TRY(gnti_calloc_array(&s->lost, num));
    GNT_TRY(gnti_alloc_array(&s->tasks, (int64_t)num * s->num_members));
    GNT_TRY(gnti_alloc_array(&s->order, s->num_members));
    GNT_TRY(gnti_calloc_array(&s->wave_end, s->num_members));
    sort_set(s, s->order);
    GNT_TRY(gnti_serve_plan_rest(s, 0));
done:
    return st;
}

void gnti_serve_forget_plan(gnti_serve *s)
{
    for (int32_t d = 0; s->lost != NULL && d < s->job.place.size; d++)
        gnti_free(s->lost[d]);
    gnti_free(s->lost);
    gnti_free(s->batch);
    gnti_free(s->tasks);
    gnti_free(s->order);
    gnti_free(s->wave_end);
    gnti_free(s->rates);
    gnti_free(s->capacity);
    gnti_free(s->seconds);
    s->lost = NULL;
    s->batch = s->order = s->wave_end = NULL;
    s->tasks = NULL;
    s->rates = NULL;
    s->capacity = NULL;
    s->seconds = NULL;
    s->num_tasks = s->num_waves = 0;
    gnti_job_close(&s->job);
}
