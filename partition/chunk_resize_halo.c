/* SPDX-License-Identifier: Apache-2.0 */
/* Halo bought with moves. A map that moves as little as balance allows may have far more halo than one made anew: what leaving
 * devices had may lie with devices that are not its neighbours. Halo is paid at every product, moves once.
 *
 *   guess    halo of a direct cut: ranges for 2^i devices are as good as one (the tree of the cuts), so that for
 *            D = 1 / sum w^2 devices lies on the power law through the two counts beside it
 *   least    halo of the best map that can be found when moves cost nothing
 *   cap      1.45 guess, but within 1.05 and 1.25 least
 *
 * A map over the cap is annealed anew, from itself and from the best one with its devices renamed, within the budget of moved
 * load, then 1.1, 1.25, 1.5 .. times as much, until one is below the cap. Of its moves those are taken back that neither limits nor
 * cap need.
 */
#include "partition/chunk_resize.h"

#include <math.h>
#include <string.h>

static const double GOOD_ENOUGH = 1.2, CAP_OF_GUESS = 1.45, CAP_LEAST = 1.05, CAP_MOST = 1.25;
static const double BYTES_WORTH = 0.1; /* of what they are worth elsewhere */

static void take(gnti_resize *r, const int32_t *map)
{
    for (int32_t p = 0; p < r->s.f->num_chunks; p++)
        gnti_resize_put(r, p, map[p]);
}

/* Halo of num equal ranges of ids. */
static double halo_of_ranges(const gnti_chunk_facts *f, int64_t num)
{
    double rows = 0.0;

    for (int32_t p = 0; p < f->num_chunks; p++)
        for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
            if (p * num / f->num_chunks != f->neighbour[e] * num / f->num_chunks)
                rows += f->halo_rows[e];
    return rows;
}

/* What a direct cut for these limits would have; INFINITY: there are too few chunks to tell. */
static double guess(const gnti_resize *r)
{
    const gnti_chunk_facts *f = r->s.f;
    double squares = 0.0, devices, below, above;
    int64_t num = 1;

    for (int32_t d = 0; d < r->s.c->num_devices; d++)
        squares += r->limit[d] * r->limit[d] / (r->all_limits * r->all_limits);
    devices = fmax(1.0 / squares, 1.0);
    while (2.0 * (double)num <= devices)
        num *= 2;
    if (2 * num > f->num_chunks)
        return INFINITY;
    below = halo_of_ranges(f, num);
    above = halo_of_ranges(f, 2 * num);
    if (below <= 0.0)
        return above * (devices / (double)num - 1.0);
    return below * pow(devices / (double)num, log2(above / below));
}

static gnt_status anneal(gnti_resize *r)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_resize_anneal(r));
    gnti_resize_search(r);
done:
    return st;
}

/* The map with the least halo, whatever moves; devices renamed so that most stays at home. */
static gnt_status find_least(gnti_resize *r, int32_t *map, double *halo)
{
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)r->s.f->num_chunks * sizeof *map;
    const double budget = r->budget, byte_price = r->byte_price;

    r->budget = INFINITY;
    r->byte_price = 0.0;
    if (gnti_chunk_map_ranges(r->s.f, r->s.c, map) == GNT_OK)
        take(r, map);
    gnti_resize_search(r);
    st = anneal(r);
    r->budget = budget;
    r->byte_price = byte_price;
    GNT_TRY(st);
    *halo = r->s.halo;
    memcpy(map, r->s.owner, bytes);
    GNT_TRY(gnti_resize_trade(r, map));
done:
    return st;
}

/* Takes moves back, in order of ids, as long as limits and cap allow. */
static void send_home(gnti_resize *r, double cap)
{
    gnti_resize_change change;
    bool changed = true;

    while (changed) {
        changed = false;
        for (int32_t p = 0; p < r->s.f->num_chunks; p++) {
            const int32_t now = r->s.owner[p], home = r->home[p];

            if (home < 0 || home == now || !gnti_resize_weigh(r, p, home, -1, &change) ||
                change.excess > 1e-10)
                continue;
            gnti_resize_put(r, p, home);
            if (r->s.halo <= cap)
                changed = true;
            else
                gnti_resize_put(r, p, now);
        }
    }
}

/* Looks for a map below the cap within the budget that r has, no more out of balance. */
static gnt_status buy(gnti_resize *r, const int32_t *before, const int32_t *least, double cap, bool *found)
{
    gnt_status st = GNT_OK;
    double excess;

    take(r, before);
    excess = gnti_resize_total(r).excess;
    take(r, least);
    if (r->moved_load > r->budget)
        take(r, before);
    GNT_TRY(anneal(r));
    *found = r->s.halo <= cap && r->moved_load <= r->budget && gnti_resize_total(r).excess <= excess + 1e-10;
    if (*found)
        send_home(r, cap);
    else
        take(r, before);
done:
    return st;
}

gnt_status gnti_resize_buy_halo(gnti_resize *r)
{
    static const double more[] = { 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, INFINITY };
    gnt_status st = GNT_OK;
    const int32_t num_chunks = r->s.f->num_chunks;
    const double budget = r->budget, byte_price = r->byte_price;
    int32_t *before = NULL, *least = NULL;
    double halo, cap;
    bool found = false;

    if (r->halo_price <= 0.0 || r->s.c->num_devices < 2 || r->s.halo <= GOOD_ENOUGH * guess(r))
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&before, num_chunks));
    GNT_TRY(gnti_alloc_array(&least, num_chunks));
    memcpy(before, r->s.owner, (size_t)num_chunks * sizeof *before);
    GNT_TRY(find_least(r, least, &halo));
    take(r, before);
    cap = fmin(fmax(CAP_OF_GUESS * guess(r), CAP_LEAST * halo), CAP_MOST * halo);
    r->byte_price = BYTES_WORTH * byte_price;
    for (size_t i = 0; i < sizeof more / sizeof *more && r->s.halo > cap && !found; i++) {
        r->budget = budget * more[i];
        GNT_TRY(buy(r, before, least, cap, &found));
    }
done:
    r->byte_price = byte_price;
    r->budget = budget;
    gnti_free(before);
    gnti_free(least);
    return st;
}
