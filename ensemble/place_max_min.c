/* SPDX-License-Identifier: Apache-2.0 */
/* Max-min over unlike types of device, in rounds (Gavel: Narayanan et al., OSDI 2020).
 *
 *   X[m][t] = share of its time that task m spends on type t, T[m][t] = its speed there on the fewest devices s_m that hold it
 *   maximise  min_m sum_t T X / (w_m E_m) + small * (mean of the same),   E_m = sum_t T[m][t] N_t / N: its due of all devices alike
 *   so that   sum_t X[m][t] <= 1,   sum_m s_m X[m][t] <= N_t
 * Tasks with equal speeds beside E_m get equal rows, so they are one row with a count; where there are too
 * many kinds, speeds are rounded to steps until there are few. In a round each type goes to tasks by X over
 * the share of time that they had there so far (1e9 X when none), where one is chosen again it stays.
 * Between rounds nobody moves; devices that are free go to who had least.
 */
#include "ensemble/place_state.h"
#include "ensemble/simplex.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

#define MOST_KINDS  48
#define FIRST_STEP  (1.0 / 64.0) /* of log2 of a speed, doubled until there are few kinds */
#define MEAN_WEIGHT 1e-3
#define LEAST_SHARE 1e-6
#define NEVER_THERE 1e9

typedef struct share_run {
    gnti_placing *s;
    int32_t types;
    double *due;    /* (num_tasks, types) T / (w E) */
    int32_t *kind;  /* (num_tasks) */
    int32_t *first; /* (kinds) a task of each */
    int32_t *num;   /* (kinds) */
    int32_t num_kinds;
    double *x; /* (kinds, types), then the least */
} share_run;

/* Speed of a task on the fewest devices of a type that hold it, 0: none do. */
static double type_speed(const gnti_placing *s, int32_t task, int32_t type)
{
    double most = 0.0;

    for (int32_t c = 0; c < s->num_classes; c++) {
        const int32_t k = s->classes[c].type == type ? gnti_placing_fewest(s, task, c) : 0;
        const double speed = k > 0 ? gnti_placing_speed(s, task, c) : 0.0;

        if (k > 0)
            most = fmax(most, gnti_gang_speed(&s->in->tasks[task], speed * k, speed, k));
    }
    return most;
}

static int32_t type_count(const gnti_placing *s, int32_t type)
{
    int32_t num = 0;

    for (int32_t c = 0; c < s->num_classes; c++)
        num += s->classes[c].type == type ? s->classes[c].num : 0;
    return num;
}

static void find_dues(share_run *r)
{
    gnti_placing *s = r->s;

    for (int32_t j = 0; j < s->in->num_tasks; j++) {
        double *const due = r->due + (int64_t)j * r->types, equal = 0.0;
        const double weight = s->in->tasks[j].weight > 0.0 ? s->in->tasks[j].weight : 1.0;

        for (int32_t t = 0; t < r->types; t++) {
            due[t] = s->need[j] > 0 ? type_speed(s, j, t) : 0.0;
            equal += due[t] * type_count(s, t) / s->num_present;
        }
        for (int32_t t = 0; t < r->types; t++)
            due[t] = equal > 0.0 ? due[t] / equal / weight : 0.0;
    }
}

static bool is_alike(const share_run *r, int32_t a, int32_t b, double step)
{
    if (r->s->need[a] != r->s->need[b])
        return false;
    for (int32_t t = 0; t < r->types; t++) {
        const double p = r->due[(int64_t)a * r->types + t], q = r->due[(int64_t)b * r->types + t];

        if ((p > 0.0) != (q > 0.0) || (p > 0.0 && fabs(log2(p) - log2(q)) > step))
            return false;
    }
    return true;
}

/* Kinds of tasks, the first of a kind stands for all. False: there are too many at this step. */
static bool find_kinds(share_run *r, double step)
{
    const gnti_placing *s = r->s;

    r->num_kinds = 0;
    for (int32_t j = 0; j < s->in->num_tasks; j++) {
        int32_t k = 0;

        r->kind[j] = -1;
        if (s->need[j] == 0)
            continue;
        while (k < r->num_kinds && !is_alike(r, r->first[k], j, step))
            k++;
        if (k == MOST_KINDS)
            return false;
        if (k == r->num_kinds) {
            r->first[k] = j;
            r->num[k] = 0;
            r->num_kinds++;
        }
        r->kind[j] = k;
        r->num[k]++;
    }
    return true;
}

/* The rows of the head comment for kinds; the last variable is the least. */
static void fill_rows(const share_run *r, double *gain, double *row, double *limit)
{
    const gnti_placing *s = r->s;
    const int32_t kinds = r->num_kinds, types = r->types, vars = kinds * types + 1;

    gain[vars - 1] = 1.0;
    for (int32_t k = 0; k < kinds; k++) {
        const double *const due = r->due + (int64_t)r->first[k] * types;

        for (int32_t t = 0; t < types; t++) {
            gain[k * types + t] = MEAN_WEIGHT * due[t] * r->num[k] / s->in->num_tasks;
            row[(int64_t)k * vars + k * types + t] = 1.0;
            row[(int64_t)(kinds + k) * vars + k * types + t] = -due[t];
            row[(int64_t)(2 * kinds + t) * vars + k * types + t] = (double)r->num[k] * s->need[r->first[k]];
        }
        limit[k] = 1.0;
        row[(int64_t)(kinds + k) * vars + vars - 1] = 1.0;
    }
    for (int32_t t = 0; t < types; t++)
        limit[2 * kinds + t] = type_count(s, t);
}

static gnt_status solve(share_run *r)
{
    gnt_status st = GNT_OK;
    const int32_t vars = r->num_kinds * r->types + 1, rows = 2 * r->num_kinds + r->types;
    double *gain = NULL, *row = NULL, *limit = NULL, value;
    gnti_lp_end end;

    GNT_TRY(gnti_calloc_array(&gain, vars));
    GNT_TRY(gnti_calloc_array(&row, (int64_t)rows * vars));
    GNT_TRY(gnti_calloc_array(&limit, rows));
    fill_rows(r, gain, row, limit);
    GNT_TRY(gnti_simplex(&(gnti_lp){ vars, rows, gain, row, limit }, r->x, &value, &end));
    GNT_CHECK(end == GNTI_LP_OPTIMAL, GNT_ERR_INTERNAL, "the shares of %d kinds on %d types have no optimum",
              r->num_kinds, r->types);
done:
    gnti_free(gain);
    gnti_free(row);
    gnti_free(limit);
    return st;
}

/* The round's claim of a task on a type: what is due over what it had. */
static double claim(const share_run *r, int32_t task, int32_t type)
{
    const gnti_placing *s = r->s;
    const gnti_place_task *t = &s->in->tasks[task];
    double x = r->kind[task] < 0 ? 0.0 : r->x[r->kind[task] * r->types + type];
    const double had = t->received != NULL ? t->received[type] : 0.0, time = s->in->now - t->arrival;
    double due;

    if (t->foreground && r->due[(int64_t)task * r->types + type] > 0.0)
        x = fmax(x, LEAST_SHARE); /* anything rather than wait */
    if (x < LEAST_SHARE)
        return 0.0;
    due = had > 0.0 && time > 0.0 ? x / (had / time) : NEVER_THERE * x;
    for (int32_t i = 0; i < t->num_held; i++)
        if (s->class_of[t->held[i]] >= 0 && s->in->devices[t->held[i]].type == type)
            return (t->foreground ? NEVER_THERE : 1.0) * due * (1.0 + s->gain);
    return (t->foreground ? NEVER_THERE : 1.0) * due;
}

/* The class of the type with room for it, the one that it holds before others; width 0: none. */
static gnti_class_choice find_room(const gnti_placing *s, int32_t task, int32_t type, const int32_t *left)
{
    const gnti_place_task *t = &s->in->tasks[task];
    gnti_class_choice pick = { 0, 0 };

    for (int32_t c = 0; c < s->num_classes; c++) {
        const int32_t k = s->classes[c].type == type ? gnti_placing_fewest(s, task, c) : 0;

        if (k == 0 || k > left[c])
            continue;
        if (pick.width == 0)
            pick = (gnti_class_choice){ c, k };
        if (t->num_held > 0 && s->class_of[t->held[0]] == c)
            return (gnti_class_choice){ c, k };
    }
    return pick;
}

/* Claims in descending order get devices while there are some. */
static gnt_status deal(share_run *r)
{
    gnt_status st = GNT_OK;
    gnti_placing *s = r->s;
    gnti_class_choice *choice = NULL;
    int32_t *pair = NULL, *left = NULL, num = 0, chosen = 0;
    double *key = NULL;
    bool *has = NULL;

    GNT_TRY(gnti_alloc_array(&choice, s->in->num_tasks));
    GNT_TRY(gnti_calloc_array(&has, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&pair, (int64_t)s->in->num_tasks * r->types));
    GNT_TRY(gnti_alloc_array(&key, (int64_t)s->in->num_tasks * r->types));
    GNT_TRY(gnti_alloc_array(&left, s->num_classes));
    for (int32_t c = 0; c < s->num_classes; c++)
        left[c] = s->classes[c].num;
    for (int32_t i = 0; i < s->in->num_tasks * r->types; i++) {
        key[i] = -claim(r, i / r->types, i % r->types);
        if (key[i] < 0.0)
            pair[num++] = i;
    }
    gnti_place_heapify(pair, num, key);
    while (num > 0) {
        const int32_t i = gnti_place_pop(pair, num--, key), task = i / r->types;
        const gnti_class_choice c =
            has[task] ? (gnti_class_choice){ 0, 0 } : find_room(s, task, i % r->types, left);

        if (c.width == 0)
            continue;
        has[task] = true;
        left[c.cls] -= c.width;
        s->order[chosen] = task;
        choice[chosen++] = c;
    }
    GNT_TRY(gnti_placing_settle(s, 0, chosen, choice));
done:
    gnti_free(choice);
    gnti_free(has);
    gnti_free(pair);
    gnti_free(key);
    gnti_free(left);
    return st;
}

static gnt_status begin_round(gnti_placing *s)
{
    gnt_status st = GNT_OK;
    share_run r = { .s = s, .types = s->in->num_types };

    GNT_TRY(gnti_alloc_array(&r.due, (int64_t)s->in->num_tasks * r.types));
    GNT_TRY(gnti_alloc_array(&r.kind, s->in->num_tasks));
    GNT_TRY(gnti_alloc_array(&r.first, MOST_KINDS));
    GNT_TRY(gnti_alloc_array(&r.num, MOST_KINDS));
    find_dues(&r);
    for (double step = FIRST_STEP; !find_kinds(&r, step); step *= 2.0)
        ;
    GNT_TRY(gnti_calloc_array(&r.x, (int64_t)r.num_kinds * r.types + 1));
    GNT_TRY(solve(&r));
    GNT_TRY(deal(&r));
done:
    gnti_free(r.due);
    gnti_free(r.kind);
    gnti_free(r.first);
    gnti_free(r.num);
    gnti_free(r.x);
    return st;
}

double gnti_placing_service(const gnti_placing *s, int32_t task)
{
    const gnti_place_task *t = &s->in->tasks[task];
    double sum = 0.0;

    for (int32_t k = 0; t->received != NULL && k < s->in->num_types; k++)
        sum += t->received[k];
    return sum / (t->weight > 0.0 ? t->weight : 1.0);
}

gnt_status gnti_place_max_min(gnti_placing *s)
{
    gnt_status st = GNT_OK;

    if (s->in->in_round)
        gnti_placing_keep_all(s, NULL);
    else if (s->num_present > 0 && s->in->num_tasks > 0)
        GNT_TRY(begin_round(s));
    for (int32_t t = 0; t < s->in->num_tasks; t++)
        gnti_placing_rank(s, t, gnti_placing_service(s, t));
    GNT_TRY(gnti_placing_list(s, gnti_placing_line(s), s->in->num_tasks <= GNTI_PLACE_FEW));
    if (!s->in->in_round)
        GNT_TRY(gnti_placing_borrow(s));
    GNT_TRY(gnti_placing_grow(s, false));
done:
    return st;
}
