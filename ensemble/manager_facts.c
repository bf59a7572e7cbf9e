/* SPDX-License-Identifier: Apache-2.0 */
/* What the report needs: makespan, lower bound, utilisation, energy, spans.
 *
 * Types are weighted by speed: v_k = exp(- mean over tasks of log(s_jk / min s_j)), 1 for a type on which every task is fastest. Area: the
 * epochs of task j cost at least W_j = epochs * use * min_k s_jk v_k of speed-seconds wherever they run, so no schedule ends before what was
 * present since the first arrival adds up to sum W (nor, for those that came at a or later, before what was present since a does).
 * Epochs of a group that was larger once count with the seconds of then.
 * Length: no task ends before it has arrived and run alone at its best. The bound is the larger; it is as true as the seconds learned.
 */
#include "ensemble/manager_state.h"

#include <stdlib.h>

void gnti_manager_note_presence(gnti_manager *m, int32_t type, int32_t change)
{
    m->presence[m->num_presence++] = (gnti_presence){ m->now, type, change };
}

int64_t gnti_manager_spans(gnti_manager *m, const gnti_span **out)
{
    int64_t n = m->num_spans;

    for (int64_t i = 0; i < m->num_active; i++) {
        const gnti_managed_task *t = m->active[i] < 0 ? NULL : m->tasks[m->active[i]];

        for (int32_t k = 0; t != NULL && k < t->held.num; k++)
            m->spans[n++] =
                (gnti_span){ t->terms.id, t->held.device[k], t->seated_since, m->now, t->held.share[k] };
    }
    *out = m->spans;
    return n;
}

int64_t gnti_manager_closed_spans(const gnti_manager *m, const gnti_span **out)
{
    *out = m->spans;
    return m->num_spans;
}

static double end_of(const gnti_manager *m)
{
    return m->num_live == 0 && m->facts.num_tasks > 0 ? m->last_end : m->now;
}

/* Seconds per epoch that facts stand on: as learned, or true ones; v (types) is the speed of each type. */
typedef struct truth {
    const double *seconds; /* (ids, types), NULL: as learned */
    double *v;
} truth;

static const double *seconds_of(const gnti_manager *m, const truth *w, int64_t id)
{
    return w->seconds == NULL ? m->tasks[id]->seconds : w->seconds + id * m->config.num_types;
}

static double smallest(const double *values, int32_t num)
{
    double least = INFINITY;

    for (int32_t i = 0; i < num; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* 1 for a type that nobody can use. */
static void weigh_types(const gnti_manager *m, truth *w)
{
    for (int32_t k = 0; k < m->config.num_types; k++) {
        double sum = 0.0, count = 0.0;

        for (int64_t j = 0; j < m->num_ids; j++) {
            const double *seconds = m->tasks[j] == NULL ? NULL : seconds_of(m, w, j);

            if (seconds == NULL || !isfinite(seconds[k]))
                continue;
            sum += log(seconds[k] / smallest(seconds, m->config.num_types));
            count += 1.0;
        }
        w->v[k] = count > 0.0 ? exp(-sum / count) : 1.0;
    }
}

/* Speed-seconds of all that was present between two times. */
static double present_between(const gnti_manager *m, const double *v, double begin, double end)
{
    double sum = 0.0;

    for (int64_t i = 0; i < m->num_presence; i++) {
        const gnti_presence *p = &m->presence[i];
        const double from = p->time > begin ? p->time : begin;

        sum += from < end ? p->change * v[p->type] * (end - from) : 0.0;
    }
    return sum;
}

/* When what is present from begin on adds up to work. Notes are in order of time. */
static double finish_of(const gnti_manager *m, const double *v, double begin, double work)
{
    double speed = 0.0, at = begin;

    for (int64_t i = 0; i < m->num_presence; i++) {
        const gnti_presence *p = &m->presence[i];

        if (p->time > at) {
            const double piece = speed * (p->time - at);

            if (piece >= work)
                break;
            work -= piece;
            at = p->time;
        }
        speed += p->change * v[p->type];
    }
    return speed > 1e-12 ? at + work / speed : work > 0.0 ? INFINITY : at;
}

/* ---- the lower bound ---- */

typedef struct piece {
    double arrival, work;
} piece;

static int compare_pieces(const void *a, const void *b)
{
    const piece *x = a, *y = b;

    return (x->arrival > y->arrival) - (x->arrival < y->arrival);
}

/* Epochs that it trained, or will. */
static double epochs_of(const gnti_managed_task *t)
{
    return t->slot >= 0 ? t->epochs_total : t->epochs_done;
}

void gnti_managed_note_past(const gnti_manager *m, gnti_managed_task *t, double scale)
{
    const double epochs = fmax(t->epochs_done - t->past_epochs, 0.0);

    for (int32_t k = 0; k < m->config.num_types; k++)
        t->past[k] += epochs > 0.0 ? epochs * t->seconds[k] : 0.0;
    t->past_weight = (t->past_weight + epochs) / scale;
    t->past_epochs += epochs;
}

/* Seconds of an epoch on a type, the mean over all that it trained or will: more than now where it has shrunk. True seconds are in
 * proportion to its size. */
static double mean_seconds(const gnti_manager *m, const truth *w, int64_t id, int32_t type)
{
    const gnti_managed_task *t = m->tasks[id];
    const double now = seconds_of(m, w, id)[type], epochs = epochs_of(t);

    if (!(t->past_epochs > 0.0) || !(epochs > 0.0))
        return now;
    return ((w->seconds != NULL ? t->past_weight * now : t->past[type]) +
            fmax(epochs - t->past_epochs, 0.0) * now) /
           epochs;
}

static double work_of(const gnti_manager *m, const truth *w, int64_t id)
{
    double least = INFINITY;

    for (int32_t k = 0; k < m->config.num_types; k++)
        least = fmin(mean_seconds(m, w, id, k) * w->v[k], least);
    return epochs_of(m->tasks[id]) * least * gnti_managed_use(m->tasks[id]);
}

static gnt_status area_bound(const gnti_manager *m, const truth *w, double *out)
{
    gnt_status st = GNT_OK;
    piece *pieces = NULL;
    int64_t n = 0;
    double work = 0.0;

    GNT_TRY(gnti_alloc_array(&pieces, m->num_ids));
    for (int64_t j = 0; j < m->num_ids; j++)
        if (m->tasks[j] != NULL)
            pieces[n++] = (piece){ m->tasks[j]->arrived_at, work_of(m, w, j) };
    qsort(pieces, (size_t)n, sizeof *pieces, compare_pieces);
    for (int64_t i = n - 1; i >= 0; i--) {
        work += pieces[i].work;
        if (i == 0 || pieces[i - 1].arrival < pieces[i].arrival) {
            const double end = finish_of(m, w->v, pieces[i].arrival, work);

            *out = end > *out ? end : *out;
        }
    }
done:
    gnti_free(pieces);
    return st;
}

/* Only tasks that even on perfect gangs would end after the bound so far are worth asking for. */
static gnt_status length_bound(const gnti_manager *m, const truth *w, double *bound)
{
    gnt_status st = GNT_OK;
    gnti_place_device *devices = NULL;
    double *seconds = NULL;

    GNT_TRY(gnti_alloc_array(&devices, m->num_devices));
    GNT_TRY(gnti_alloc_array(&seconds, m->config.num_types));
    for (int64_t d = 0; d < m->num_devices; d++) {
        devices[d] = m->devices[d];
        devices[d].type = m->managed[d].type;
        devices[d].present = true; /* it was at some time */
    }
    for (int64_t j = 0; j < m->num_ids; j++) {
        const gnti_managed_task *t = m->tasks[j];
        gnti_place_task terms;
        gnti_place_input in;
        double end;

        for (int32_t k = 0; t != NULL && k < m->config.num_types; k++)
            seconds[k] = mean_seconds(m, w, j, k);
        if (t == NULL || t->arrived_at + epochs_of(t) * smallest(seconds, m->config.num_types) <= *bound)
            continue;
        in = gnti_managed_alone(m, t);
        terms = t->terms;
        terms.epochs_left = epochs_of(t);
        terms.seconds = seconds;
        in.tasks = &terms;
        in.devices = devices;
        in.num_types = m->config.num_types;
        end = t->arrived_at + gnti_place_lower_bound(&in);
        *bound = isfinite(end) && end > *bound ? end : *bound;
    }
done:
    gnti_free(devices);
    gnti_free(seconds);
    return st;
}

/* ---- all of it ---- */

double gnti_managed_here(const gnti_manager *m, int32_t device)
{
    const gnti_managed_device *d = &m->managed[device];
    const double begin = d->here_since > m->started_at ? d->here_since : m->started_at;
    const double end = end_of(m);

    return d->here && end > begin && m->facts.num_tasks > 0 ? end - begin : 0.0;
}

static void add_devices(const gnti_manager *m, const double *v, gnti_manager_facts *f)
{
    f->present_speed_seconds = present_between(m, v, m->started_at, end_of(m));
    for (int32_t k = 0; k < m->config.num_types; k++)
        f->busy_speed_seconds += v[k] * m->type_busy[k];
    for (int32_t d = 0; d < m->num_devices; d++)
        f->joules += m->devices[d].idle_watts * gnti_managed_here(m, d);
    for (int64_t i = 0; i < m->num_active; i++) { /* spans that are open */
        const gnti_managed_task *t = m->active[i] < 0 ? NULL : m->tasks[m->active[i]];

        for (int32_t k = 0; t != NULL && k < t->held.num; k++) {
            const gnti_place_device *p = &m->devices[t->held.device[k]];
            const double busy = (m->now - t->seated_since) * gnti_managed_busy(t, k);

            f->busy_speed_seconds += v[m->managed[t->held.device[k]].type] * busy;
            f->joules += (p->busy_watts - p->idle_watts) * busy;
        }
        if (t != NULL && !t->running)
            f->wait_seconds += m->now - t->seated_since;
    }
}

gnt_status gnti_manager_get_true_facts(const gnti_manager *m, const double *seconds, gnti_manager_facts *out)
{
    gnt_status st = GNT_OK;
    gnti_manager_facts f = m->facts;
    truth w = { seconds, NULL };

    if (f.num_tasks > 0) {
        GNT_TRY(gnti_alloc_array(&w.v, m->config.num_types));
        weigh_types(m, &w);
        add_devices(m, w.v, &f);
        GNT_TRY(area_bound(m, &w, &f.lower_bound));
        GNT_TRY(length_bound(m, &w, &f.lower_bound));
        f.lower_bound -= m->started_at;
        f.makespan = end_of(m) - m->started_at;
        f.mean_completion = f.num_ended > 0 ? m->sum_completion / (double)f.num_ended : NAN;
    }
    *out = f;
done:
    gnti_free(w.v);
    return st;
}

gnt_status gnti_manager_get_facts(const gnti_manager *m, gnti_manager_facts *out)
{
    return gnti_manager_get_true_facts(m, NULL, out);
}
