/* SPDX-License-Identifier: Apache-2.0 */
/* From one map to another with few bytes on the way: shed, place, then search while it pays.
 *
 *   limit_d = (1 + eps) w_d C     w: target shares, C: all costs
 *   1. chunks of leaving devices have no owner; a device over its limit (or its memory) sheds, best first by
 *      (min(excess, c_p) - rho * halo that breaks) / bytes, at most one chunk more than its excess
 *   2. where rows on the wire cost something, the emptiest device pulls the chunk that it shares most rows with, again and
 *      again, from the pool and from who has too much; what is left in the pool goes, in descending cost, to who would be done
 *      first
 *   3. single moves and swaps as long as (sum of squared excess, bytes moved + a little halo) falls, never over the budget.
 *      Then the fullest device's fill is everybody's limit, so that nothing stays moved for nothing, and annealing
 *      (chunk_resize_anneal.c) looks over the same sum, with the ranges of a first map as a candidate
 *   4. branch and bound over the bytes at that fill, exact unless its nodes run out
 *   5. halo far above what a direct cut would have is bought down with more moves (chunk_resize_halo.c)
 * A map whose devices are within their limits is left as it is. Moved load is at least
 *   bound = leaving load + sum over staying d of max(0, load_d - limit_d)
 * and by 1. to 4. at most that and one chunk a device more (the budget).
 */
#include "partition/chunk_resize.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_PASSES = 50, MAX_SWAP_CHUNKS = 2048 };

static const double HALO_WORTH = 1.0; /* chunks' worth of bytes that a chunk's worth of halo is worth */
static const double CHUNKS_DIFFER =
    0.02; /* seconds of an epoch given for freedom, where limits cannot be kept */

static void resize_clear(gnti_resize *r)
{
    gnti_map_state_clear(&r->s);
    gnti_free(r->home);
    gnti_free(r->limit);
}

/* How much too much a device would hold: squared and relative, weighed by its share; memory before all. */
static double excess(const gnti_resize *r, int32_t d, double load, double bytes, int32_t count)
{
    const gnti_map_config *c = r->s.c;
    const double over = load > r->limit[d] ? load / r->limit[d] - 1.0 : 0.0;
    const double full =
        c->devices[d].memory > 0.0 && bytes > c->devices[d].memory ? bytes / c->devices[d].memory : 0.0;

    return over * over * r->limit[d] / r->all_limits + (full > 0.0 ? 1e6 * full : 0.0) +
           (count == 0 && !c->allow_idle ? 1e3 : 0.0);
}

void gnti_resize_put(gnti_resize *r, int32_t p, int32_t d)
{
    const gnti_chunk_facts *f = r->s.f;
    const bool was_away = gnti_resize_is_away(r, p, r->s.owner[p]), is_away = gnti_resize_is_away(r, p, d);

    r->moved_bytes += ((double)is_away - (double)was_away) * f->bytes[p];
    r->moved_load += ((double)is_away - (double)was_away) * f->cost[p];
    gnti_map_state_put(&r->s, p, d);
}

int gnti_pooled_compare(const void *a, const void *b)
{
    const gnti_pooled *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* --- 1. shedding --- */

static int32_t best_to_shed(const gnti_resize *r, int32_t d)
{
    const gnti_map_state *s = &r->s;
    const double over = s->load[d] - r->limit[d];
    const bool full = s->c->devices[d].memory > 0.0 && s->bytes[d] > s->c->devices[d].memory;
    double most = -INFINITY;
    int32_t best = -1;

    for (int32_t p = 0; p < s->f->num_chunks; p++) {
        double relief, score;

        if (s->owner[p] != d || (s->f->cost[p] <= 0.0 && !full))
            continue;
        relief = full ? s->f->bytes[p] : fmin(over, s->f->cost[p]);
        score = (relief - s->c->halo_seconds * gnti_map_affinity(s, p, d)) / fmax(s->f->bytes[p], 1.0);
        if (score > most) {
            most = score;
            best = p;
        }
    }
    return best;
}

static void shed(gnti_resize *r)
{
    gnti_map_state *s = &r->s;

    for (int32_t d = 0; d < s->c->num_devices; d++) {
        while (s->count[d] > 1 &&
               (s->load[d] > r->limit[d] * (1.0 + 1e-12) ||
                (s->c->devices[d].memory > 0.0 && s->bytes[d] > s->c->devices[d].memory))) {
            const int32_t p = best_to_shed(r, d);

            if (p < 0)
                break;
            gnti_resize_put(r, p, -1);
        }
    }
}

/* --- 2. placing --- */

/* The device that would be done first with p, among those that have memory; -1: none. */
static int32_t best_place(const gnti_resize *r, int32_t p)
{
    const gnti_map_state *s = &r->s;
    const gnti_map_config *c = s->c;
    double least = INFINITY;
    int32_t best = -1;

    for (int32_t d = 0; d < c->num_devices; d++) {
        const double together = gnti_map_affinity(s, p, d);
        double t = (s->load[d] + s->f->cost[p]) / c->devices[d].speed - c->halo_seconds * together;

        if (c->devices[d].memory > 0.0 && s->bytes[d] + s->f->bytes[p] > c->devices[d].memory)
            continue;
        if (s->count[d] == 0 && !c->allow_idle)
            t = -1.0 / c->devices[d].speed;
        if (t < least || (t == least && together > gnti_map_affinity(s, p, best))) {
            least = t;
            best = d;
        }
    }
    return best;
}

static int compare_bytes(const void *a, const void *b)
{
    const gnti_pooled *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Puts the pool on devices in its order; answers the chunk that found no room, -1: all did. */
static int32_t place(gnti_resize *r, const gnti_pooled *pool, int32_t num)
{
    for (int32_t i = 0; i < num; i++) {
        const int32_t d = best_place(r, pool[i].chunk);

        if (d < 0)
            return pool[i].chunk;
        gnti_resize_put(r, pool[i].chunk, d);
    }
    return -1;
}

static gnt_status place_pool(gnti_resize *r)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_facts *f = r->s.f;
    gnti_pooled *pool = NULL;
    int32_t num = 0, stuck;
    double room = 0.0;

    GNT_TRY(gnti_alloc_array(&pool, f->num_chunks));
    for (int32_t p = 0; p < f->num_chunks; p++)
        if (r->s.owner[p] < 0)
            pool[num++] = (gnti_pooled){ f->cost[p], f->bytes[p], p };
    qsort(pool, (size_t)num, sizeof *pool, gnti_pooled_compare);
    stuck = place(r, pool, num);
    if (stuck >= 0) { /* memory decides: the largest first */
        for (int32_t i = 0; i < num; i++)
            gnti_resize_put(r, pool[i].chunk, -1);
        qsort(pool, (size_t)num, sizeof *pool, compare_bytes);
        stuck = place(r, pool, num);
    }
    for (int32_t d = 0; stuck >= 0 && d < r->s.c->num_devices; d++)
        room = fmax(room, r->s.c->devices[d].memory - r->s.bytes[d]);
    GNT_CHECK(
        stuck < 0, GNT_ERR_LIMIT,
        "chunk %d needs %.0f bytes but no device has more than %.0f left: use more devices, or partition "
        "with more --chunks",
        stuck, f->bytes[stuck], room);
done:
    gnti_free(pool);
    return st;
}

/* --- pulling --- */

/* Whether chunk p may be pulled to d: nobody's, or of a device that has too much and another chunk. */
static bool may_pull(const gnti_resize *r, int32_t p, int32_t d)
{
    const gnti_map_state *s = &r->s;
    const int32_t from = s->owner[p];
    const double memory = s->c->devices[d].memory;

    if (from == d || (memory > 0.0 && s->bytes[d] + s->f->bytes[p] > memory))
        return false;
    return from < 0 || (s->count[from] > 1 && s->load[from] > r->limit[from] * (1.0 + 1e-12) &&
                        (s->load[d] + s->f->cost[p]) / r->limit[d] < s->load[from] / r->limit[from]);
}

static bool pull_one(gnti_resize *r)
{
    const gnti_map_state *s = &r->s;
    const gnti_map_config *c = s->c;
    int32_t to = -1, best = -1;
    double least = INFINITY, most = -INFINITY;

    for (int32_t d = 0; d < c->num_devices; d++) {
        if (s->load[d] / r->limit[d] >= least)
            continue;
        least = s->load[d] / r->limit[d];
        to = d;
    }
    for (int32_t p = 0; p < s->f->num_chunks; p++) {
        double gain;

        if (!may_pull(r, p, to))
            continue;
        gain = gnti_map_affinity(s, p, to) - gnti_map_affinity(s, p, s->owner[p]);
        if (gain > most) {
            most = gain;
            best = p;
        }
    }
    if (best < 0)
        return false;
    gnti_resize_put(r, best, to);
    return true;
}

/* --- 3. searching --- */

bool gnti_resize_is_better(gnti_resize_change a, gnti_resize_change b)
{
    const double slack = 1e-10;

    if (a.excess < b.excess - slack)
        return true;
    return a.excess <= b.excess + slack && a.price < b.price - slack;
}

gnti_resize_change gnti_resize_total(const gnti_resize *r)
{
    gnti_resize_change t = { 0.0, r->byte_price * r->moved_bytes + r->halo_price * r->s.halo };

    for (int32_t d = 0; d < r->s.c->num_devices; d++)
        t.excess += excess(r, d, r->s.load[d], r->s.bytes[d], r->s.count[d]);
    return t;
}

static double away_load(const gnti_resize *r, int32_t p, int32_t d)
{
    return gnti_resize_is_away(r, p, d) ? r->s.f->cost[p] : 0.0;
}

static double away_bytes(const gnti_resize *r, int32_t p, int32_t d)
{
    return gnti_resize_is_away(r, p, d) ? r->s.f->bytes[p] : 0.0;
}

bool gnti_resize_weigh(const gnti_resize *r, int32_t p, int32_t d, int32_t q, gnti_resize_change *out)
{
    const gnti_map_state *s = &r->s;
    const int32_t from = s->owner[p];
    const double cost_q = q >= 0 ? s->f->cost[q] : 0.0, bytes_q = q >= 0 ? s->f->bytes[q] : 0.0;
    const double cost = s->f->cost[p] - cost_q, bytes = s->f->bytes[p] - bytes_q;
    const int32_t count = q >= 0 ? 0 : 1;
    double load = away_load(r, p, d) - away_load(r, p, from), gain = 0.0;

    if (q >= 0)
        load += away_load(r, q, from) - away_load(r, q, d);
    if (load > 0.0 && r->moved_load + load > r->budget)
        return false;
    out->excess = excess(r, from, s->load[from] - cost, s->bytes[from] - bytes, s->count[from] - count) +
                  excess(r, d, s->load[d] + cost, s->bytes[d] + bytes, s->count[d] + count) -
                  excess(r, from, s->load[from], s->bytes[from], s->count[from]) -
                  excess(r, d, s->load[d], s->bytes[d], s->count[d]);
    out->price = r->byte_price * (away_bytes(r, p, d) - away_bytes(r, p, from));
    if (q >= 0)
        out->price += r->byte_price * (away_bytes(r, q, from) - away_bytes(r, q, d));
    if (r->halo_price > 0.0) {
        gain = gnti_map_affinity(s, p, d) - gnti_map_affinity(s, p, from);
        if (q >= 0)
            gain += gnti_map_affinity(s, q, from) - gnti_map_affinity(s, q, d) -
                    2.0 * gnti_chunk_affinity(s, p, q);
        out->price -= r->halo_price * gain;
    }
    return true;
}

/* The best single move or swap of chunk p; answers whether it was made. */
static bool improve(gnti_resize *r, int32_t p)
{
    const gnti_map_state *s = &r->s;
    const int32_t from = s->owner[p];
    gnti_resize_change best = { 0.0, 0.0 }, now;
    int32_t to = -1, partner = -1;

    for (int32_t d = 0; d < s->c->num_devices; d++) {
        if (d == from || !gnti_resize_weigh(r, p, d, -1, &now) || !gnti_resize_is_better(now, best))
            continue;
        best = now;
        to = d;
    }
    for (int32_t q = 0; q < s->f->num_chunks && s->f->num_chunks <= MAX_SWAP_CHUNKS; q++) {
        if (s->owner[q] == from || !gnti_resize_weigh(r, p, s->owner[q], q, &now) ||
            !gnti_resize_is_better(now, best))
            continue;
        best = now;
        to = s->owner[q];
        partner = q;
    }
    if (to < 0)
        return false;
    gnti_resize_put(r, p, to);
    if (partner >= 0)
        gnti_resize_put(r, partner, from);
    return true;
}

void gnti_resize_search(gnti_resize *r)
{
    bool changed = true;

    for (int pass = 0; pass < MAX_PASSES && changed; pass++) {
        changed = false;
        for (int32_t p = 0; p < r->s.f->num_chunks; p++)
            changed = improve(r, p) || changed;
    }
}

/* Everybody may be as full as the fullest device is: what is within needs no move. Where chunks are too large for the limits
 * a little fuller still, or the one chunk too much could only be the lightest. */
static void relax_limits(gnti_resize *r)
{
    const gnti_map_config *c = r->s.c;
    const double slack = r->halo_price > 0.0 ? CHUNKS_DIFFER : 0.0;
    double most = 0.0;

    for (int32_t d = 0; d < c->num_devices; d++)
        if (r->s.load[d] > r->limit[d])
            most = fmax(most, r->s.load[d] / c->devices[d].speed * (1.0 + slack));
    for (int32_t d = 0; d < c->num_devices; d++)
        r->limit[d] = fmax(r->limit[d], most * c->devices[d].speed * (1.0 + 1e-12));
}

/* --- together --- */

/* Limits, the bound and the prices, from the map as it is before anything moves. Answers the bound. */
static double set_limits(gnti_resize *r, const double *shares)
{
    const gnti_chunk_facts *f = r->s.f;
    const int32_t num_devices = r->s.c->num_devices;
    double total = 0.0, bytes = 0.0, halo = 0.0, dearest = 0.0, bound = 0.0;

    for (int32_t p = 0; p < f->num_chunks; p++) {
        total += f->cost[p];
        bytes += f->bytes[p];
        dearest = fmax(dearest, f->cost[p]);
        bound += r->home[p] < 0 ? f->cost[p] : 0.0;
        for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
            halo += f->halo_rows[e];
    }
    for (int32_t d = 0; d < num_devices; d++) {
        r->limit[d] = fmax((1.0 + r->s.c->tolerance) * shares[d] * total, 1e-300);
        r->all_limits += r->limit[d];
        bound += fmax(0.0, r->s.load[d] - r->limit[d]);
    }
    r->budget = bound + dearest * num_devices;
    r->byte_price = bytes > 0.0 ? f->num_chunks / bytes : 0.0;
    r->halo_price = halo > 0.0 && r->s.c->halo_seconds > 0.0 ? HALO_WORTH * f->num_chunks / halo : 0.0;
    return bound;
}

/* Whether nothing has to move: everybody within limit and memory, nobody without a chunk that must have one. */
static bool is_settled(const gnti_resize *r)
{
    for (int32_t p = 0; p < r->s.f->num_chunks; p++)
        if (r->s.owner[p] < 0)
            return false;
    return gnti_resize_total(r).excess <= 0.0;
}

static gnt_status check_old(const gnti_chunk_facts *f, const gnti_map_config *c, const int32_t *old_owner,
                            const int32_t *new_of_old, int32_t num_old)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(old_owner != NULL && new_of_old != NULL, GNT_ERR_ARG, "the old map must not be NULL");
    for (int32_t d = 0; d < num_old; d++)
        GNT_CHECK(new_of_old[d] >= -1 && new_of_old[d] < c->num_devices, GNT_ERR_ARG,
                  "old device %d becomes device %d of %d", d, new_of_old[d], c->num_devices);
    for (int32_t p = 0; p < f->num_chunks; p++)
        GNT_CHECK(old_owner[p] >= 0 && old_owner[p] < num_old, GNT_ERR_ARG, "chunk %d lay on device %d of %d",
                  p, old_owner[p], num_old);
done:
    return st;
}

static void report(const gnti_resize *r, double bound, gnti_moves *moved)
{
    *moved = (gnti_moves){ .bytes = r->moved_bytes,
                           .load = r->moved_load,
                           .bound = bound,
                           .bought = fmax(0.0, r->moved_load - r->budget) };
    for (int32_t p = 0; p < r->s.f->num_chunks; p++)
        moved->num_chunks += r->home[p] < 0 || r->s.owner[p] != r->home[p];
}

gnt_status gnti_chunk_map_resize(const gnti_chunk_facts *f, const gnti_map_config *c,
                                 const int32_t *old_owner, const int32_t *new_of_old, int32_t num_old,
                                 int32_t *owner, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    gnti_resize r = { .home = NULL };
    double *shares = NULL, total = 0.0, bound;
    int32_t *map = NULL;

    GNT_TRY(gnti_chunk_map_check(f, c));
    GNT_TRY(check_old(f, c, old_owner, new_of_old, num_old));
    GNT_TRY(gnti_alloc_array(&map, f->num_chunks));
    GNT_TRY(gnti_alloc_array(&r.home, f->num_chunks));
    GNT_TRY(gnti_alloc_array(&r.limit, c->num_devices));
    GNT_TRY(gnti_alloc_array(&shares, c->num_devices));
    for (int32_t p = 0; p < f->num_chunks; p++) {
        map[p] = r.home[p] = new_of_old[old_owner[p]];
        total += f->bytes[p];
        r.moved_bytes += map[p] < 0 ? f->bytes[p] : 0.0;
        r.moved_load += map[p] < 0 ? f->cost[p] : 0.0;
    }
    GNT_TRY(gnti_target_shares(c->devices, c->num_devices, total, shares));
    GNT_TRY(gnti_map_state_make(f, c, map, &r.s));
    bound = set_limits(&r, shares);
    if (!is_settled(&r)) {
        while (r.halo_price > 0.0 && pull_one(&r)) {
        }
        shed(&r);
        GNT_TRY(place_pool(&r));
        gnti_resize_search(&r);
        relax_limits(&r);
        GNT_TRY(gnti_resize_anneal(&r));
        GNT_TRY(gnti_resize_ranges(&r));
        gnti_resize_search(&r);
        GNT_TRY(gnti_resize_exact(&r));
        GNT_TRY(gnti_resize_buy_halo(&r));
    }
    for (int32_t p = 0; p < f->num_chunks; p++)
        owner[p] = map[p];
    if (moved != NULL)
        report(&r, bound, moved);
done:
    resize_clear(&r);
    gnti_free(shares);
    gnti_free(map);
    return st;
}
