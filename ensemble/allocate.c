/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation matrix: worst-fit decreasing, then a bounded greedy search. Pure: the same input gives the same matrix.
 *
 *   turn of device d   T_d = sum over its entries of fixed + b row     (each member in a row gets one batch a turn)
 *   rate of member m   r_m = sum over devices of A[d][m] / T_d         (replicas share the rows)
 *   rate of all        min r_m                                         (a row is done when every member has it)
 * One matrix is better than another when its rate is higher; at equal rates, when sum 1 / r_m is lower, so that steps which only
 * help members that are not the slowest are seen too. The search starts from worst fit with one batch for all, once for each batch
 * that fits; from where turns are shortest, which sees unequal speeds; and from best fit, which packs where the others find no
 * room. The best end counts.
 */
#include "ensemble/allocate.h"

#include "base/alloc.h"
#include "base/philox.h"

#include <math.h>
#include <string.h>

static const int32_t batches[] = { 0, 8, 16, 32, 64, 128 };
enum { NUM_BATCHES = sizeof batches / sizeof batches[0], DEFAULT_ROUNDS = 10, DEFAULT_TRIES = 100 };
#define LEEWAY 1e-12 /* rates closer than this are equal */

typedef struct score {
    double rate, slowness;
} score;

typedef struct search {
    const gnti_allocation_input *in;
    int32_t *batch; /* (devices, members) */
    double *turn;   /* (devices) */
    int64_t *used;  /* (devices) bytes */
    int32_t *order; /* (members) by bytes, descending */
    uint64_t drawn; /* random numbers so far */
} search;

static int64_t bytes_of(const gnti_allocation_input *in, int32_t m, int32_t b)
{
    return b == 0 ? 0 : in->fixed_bytes[m] + b * in->row_bytes[m];
}

static double seconds_of(const gnti_allocation_input *in, int32_t d, int32_t m, int32_t b)
{
    const int64_t at = (int64_t)d * in->num_members + m;

    return b == 0 ? 0.0 : in->fixed_seconds[at] + b * in->row_seconds[at];
}

/* ---- what a matrix is worth ---------------------------------------------------------------------------------------- */

static void sum_turns(const gnti_allocation_input *in, const int32_t *batch, double *turn)
{
    for (int32_t d = 0; d < in->num_devices; d++) {
        turn[d] = 0.0;
        for (int32_t m = 0; m < in->num_members; m++)
            turn[d] += seconds_of(in, d, m, batch[(int64_t)d * in->num_members + m]);
    }
}

static score judge(const gnti_allocation_input *in, const int32_t *batch, const double *turn)
{
    score s = { .rate = INFINITY };

    for (int32_t m = 0; m < in->num_members; m++) {
        double rate = 0.0;

        for (int32_t d = 0; d < in->num_devices; d++)
            if (turn[d] > 0.0)
                rate += batch[(int64_t)d * in->num_members + m] / turn[d];
        s.rate = fmin(s.rate, rate);
        s.slowness += 1.0 / rate;
    }
    return s;
}

static bool better(const score *a, const score *b)
{
    if (fabs(a->rate - b->rate) > LEEWAY * fmax(a->rate, b->rate))
        return a->rate > b->rate;
    return a->slowness < b->slowness * (1.0 - LEEWAY);
}

double gnti_allocation_rate(const gnti_allocation_input *in, const int32_t *batch)
{
    double rate = INFINITY;

    for (int32_t m = 0; m < in->num_members; m++) {
        double sum = 0.0;

        for (int32_t d = 0; d < in->num_devices; d++) {
            double turn = 0.0;

            for (int32_t k = 0; k < in->num_members; k++)
                turn += seconds_of(in, d, k, batch[(int64_t)d * in->num_members + k]);
            if (turn > 0.0)
                sum += batch[(int64_t)d * in->num_members + m] / turn;
        }
        rate = fmin(rate, sum);
    }
    return rate;
}

/* ---- start: worst fit, decreasing ---------------------------------------------------------------------------------- */

/* Members by bytes of the smallest batch, the first of equal ones first. */
static void sort_members(search *s)
{
    for (int32_t m = 0; m < s->in->num_members; m++) {
        int32_t at = m;

        for (; at > 0 && bytes_of(s->in, s->order[at - 1], batches[1]) < bytes_of(s->in, m, batches[1]); at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = m;
    }
}

typedef enum fit {
    FIT_TIGHT, /* the least free bytes that suffice: packs */
    FIT_SOON,  /* where the turn with the member is shortest, of those with room */
    FIT_WORST, /* the most free bytes; of equal ones where the turn is shortest */
    NUM_FITS
} fit;

/* Whether device a is the better place of member m than b. */
static bool prefers(const search *s, fit how, int32_t m, int32_t batch, int32_t a, int32_t b)
{
    const int64_t need = bytes_of(s->in, m, batch);
    const int64_t room_a = s->in->capacity[a] - s->used[a], room_b = s->in->capacity[b] - s->used[b];
    const double turn_a = s->turn[a] + seconds_of(s->in, a, m, batch);
    const double turn_b = s->turn[b] + seconds_of(s->in, b, m, batch);

    if (how == FIT_WORST)
        return room_a > room_b || (room_a == room_b && turn_a < turn_b);
    if ((room_a >= need) != (room_b >= need))
        return room_a >= need;
    return how == FIT_TIGHT ? room_a < room_b : turn_a < turn_b;
}

/* Fills batch, used and turn; answers the member that does not fit, -1: all do. */
static int32_t place_all(search *s, int32_t b, fit how, int32_t *device)
{
    const gnti_allocation_input *in = s->in;

    memset(s->batch, 0, (size_t)in->num_devices * (size_t)in->num_members * sizeof *s->batch);
    memset(s->used, 0, (size_t)in->num_devices * sizeof *s->used);
    memset(s->turn, 0, (size_t)in->num_devices * sizeof *s->turn);
    for (int32_t i = 0; i < in->num_members; i++) {
        const int32_t m = s->order[i];
        int32_t d = 0;

        for (int32_t k = 1; k < in->num_devices; k++)
            d = prefers(s, how, m, b, k, d) ? k : d;
        *device = d;
        if (s->used[d] + bytes_of(in, m, b) > in->capacity[d])
            return m;
        s->used[d] += bytes_of(in, m, b);
        s->turn[d] += seconds_of(in, d, m, b);
        s->batch[(int64_t)d * in->num_members + m] = b;
    }
    return -1;
}

/* ---- greedy: one entry at a time ------------------------------------------------------------------------------------ */

static uint64_t draw(search *s, uint64_t below)
{
    const uint32_t counter[4] = { (uint32_t)s->drawn, (uint32_t)(s->drawn >> 32), 0, 0 };
    uint32_t word[4];

    gnti_philox(counter, gnti_seed_key(s->in->seed), word);
    s->drawn++;
    return (((uint64_t)word[1] << 32) | word[0]) % below;
}

/* Whether entry (d, m) may become b: bytes, and the column keeps an entry. */
static bool allowed(const search *s, int32_t d, int32_t m, int32_t b)
{
    const gnti_allocation_input *in = s->in;
    const int32_t was = s->batch[(int64_t)d * in->num_members + m];
    bool elsewhere = b > 0;

    if (b == was || s->used[d] - bytes_of(in, m, was) + bytes_of(in, m, b) > in->capacity[d])
        return false;
    for (int32_t k = 0; k < in->num_devices && !elsewhere; k++)
        elsewhere = k != d && s->batch[(int64_t)k * in->num_members + m] > 0;
    return elsewhere;
}

static score judge_changed(search *s, int32_t d, int32_t m, int32_t b)
{
    int32_t *entry = &s->batch[(int64_t)d * s->in->num_members + m];
    const int32_t was = *entry;
    const double turn = s->turn[d];
    score result;

    *entry = b;
    s->turn[d] = 0.0; /* anew: no rounding is carried from round to round */
    for (int32_t k = 0; k < s->in->num_members; k++)
        s->turn[d] += seconds_of(s->in, d, k, s->batch[(int64_t)d * s->in->num_members + k]);
    result = judge(s->in, s->batch, s->turn);
    *entry = was;
    s->turn[d] = turn;
    return result;
}

/* The best of the sampled neighbours is taken when it is better; answers whether one was. */
static bool improve(search *s, int64_t tries, score *now)
{
    const gnti_allocation_input *in = s->in;
    const int64_t all = (int64_t)in->num_devices * in->num_members * NUM_BATCHES;
    int64_t taken = -1;
    score best = *now;

    for (int64_t i = 0; i < (all <= tries ? all : tries); i++) {
        const int64_t at = all <= tries ? i : (int64_t)draw(s, (uint64_t)all);
        const int32_t b = batches[at % NUM_BATCHES];
        const int32_t m = (int32_t)(at / NUM_BATCHES % in->num_members);
        const int32_t d = (int32_t)(at / NUM_BATCHES / in->num_members);
        score other;

        if (!allowed(s, d, m, b))
            continue;
        other = judge_changed(s, d, m, b);
        if (better(&other, &best)) {
            best = other;
            taken = at;
        }
    }
    if (taken < 0)
        return false;
    *now = best;
    {
        const int32_t m = (int32_t)(taken / NUM_BATCHES % in->num_members);
        const int32_t d = (int32_t)(taken / NUM_BATCHES / in->num_members);
        int32_t *entry = &s->batch[(int64_t)d * in->num_members + m];

        s->used[d] += bytes_of(in, m, batches[taken % NUM_BATCHES]) - bytes_of(in, m, *entry);
        *entry = batches[taken % NUM_BATCHES];
        sum_turns(in, s->batch, s->turn);
    }
    return true;
}

static gnt_status check_input(const gnti_allocation_input *in)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(in->num_devices >= 1 && in->num_members >= 1 && in->rounds >= 0 && in->tries >= 0, GNT_ERR_ARG,
              "%d devices, %d members, %d rounds of %d tries", (int)in->num_devices, (int)in->num_members,
              (int)in->rounds, (int)in->tries);
    for (int64_t i = 0; i < (int64_t)in->num_devices * in->num_members; i++)
        GNT_CHECK(in->fixed_seconds[i] >= 0.0 && in->row_seconds[i] > 0.0 && isfinite(in->fixed_seconds[i]) &&
                      isfinite(in->row_seconds[i]),
                  GNT_ERR_ARG, "member %lld takes %g seconds and %g a row on device %lld",
                  (long long)(i % in->num_members), in->fixed_seconds[i], in->row_seconds[i],
                  (long long)(i / in->num_members));
    for (int32_t m = 0; m < in->num_members; m++)
        GNT_CHECK(in->fixed_bytes[m] >= 0 && in->row_bytes[m] >= 0 &&
                      in->row_bytes[m] <= (INT64_MAX - in->fixed_bytes[m]) / 256 / in->num_members,
                  GNT_ERR_ARG, "member %d has %lld bytes and %lld a row", (int)m,
                  (long long)in->fixed_bytes[m], (long long)in->row_bytes[m]);
done:
    return st;
}

/* From each fit with each batch for all: what is best in the end is written. */
static gnt_status search_all(search *s, int64_t rounds, int64_t tries, int32_t *batch)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)s->in->num_devices * (size_t)s->in->num_members * sizeof *batch;
    score best = { .rate = -1.0 };
    int32_t device = 0, missing = 0;

    sort_members(s);
    for (int32_t k = NUM_FITS * (NUM_BATCHES - 1) - 1; k >= 0; k--) { /* worst fit first: it wins ties */
        score now;

        missing = place_all(s, batches[1 + k % (NUM_BATCHES - 1)], (fit)(k / (NUM_BATCHES - 1)), &device);
        if (missing >= 0)
            continue;
        now = judge(s->in, s->batch, s->turn);
        for (int64_t r = 0; r < rounds && improve(s, tries, &now); r++)
            ;
        if (best.rate >= 0.0 && !better(&now, &best))
            continue;
        best = now;
        memcpy(batch, s->batch, bytes);
    }
    GNT_CHECK(
        best.rate >= 0.0, GNT_ERR_DEVICE_NOMEM,
        "member %d needs %lld bytes for batches of %d rows, but device %d, which has the most room left, "
        "has %lld: give more memory or devices, or leave members out",
        (int)missing, (long long)bytes_of(s->in, missing, batches[1]), (int)batches[1], (int)device,
        (long long)(s->in->capacity[device] - s->used[device]));
done:
    return st;
}

gnt_status gnti_allocate(const gnti_allocation_input *in, int32_t *batch)
{
    gnt_status st = GNT_OK;
    search s = { .in = in };

    GNT_TRY(check_input(in));
    GNT_TRY(gnti_alloc_array(&s.batch, (int64_t)in->num_devices * in->num_members));
    GNT_TRY(gnti_alloc_array(&s.turn, in->num_devices));
    GNT_TRY(gnti_alloc_array(&s.used, in->num_devices));
    GNT_TRY(gnti_alloc_array(&s.order, in->num_members));
    GNT_TRY(search_all(&s, in->rounds > 0 ? in->rounds : DEFAULT_ROUNDS,
                       in->tries > 0 ? in->tries : DEFAULT_TRIES, batch));
done:
    gnti_free(s.batch);
    gnti_free(s.turn);
    gnti_free(s.used);
    gnti_free(s.order);
    return st;
}
