/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated annealing over chunk maps. A step proposes that a chunk goes where one of its neighbours lies, and takes it with
 * probability exp(-change / temperature):
 *   energy = price + OVER * sum of excess load in chunks
 * so a chain of moves may pass through maps that are out of balance. The budget of moved load holds at every step. The best map
 * within the limits of the one that it began with is kept. Draws are counters: equal input, equal map.
 */
#include "partition/chunk_resize.h"

#include "base/philox.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 4, STEPS_A_CHUNK = 1000, MOST_STEPS = 200000 };

static const double OVER = 3.0, HOT = 4.0, COLD = 0.02;

typedef struct annealing {
    gnti_resize *r;
    double chunk; /* mean cost of one */
    int32_t *best;
    double best_energy;
    double energy;
} annealing;

static double over(const annealing *a, double load, double limit)
{
    return load > limit ? OVER * (load - limit) / a->chunk : 0.0;
}

/* What p -> d adds to the energy; INFINITY: not allowed. */
static double cost_of(const annealing *a, int32_t p, int32_t d)
{
    const gnti_resize *r = a->r;
    const gnti_map_state *s = &r->s;
    const int32_t from = s->owner[p];
    const double cost = s->f->cost[p], memory = s->c->devices[d].memory;
    gnti_resize_change change;

    if (!gnti_resize_weigh(r, p, d, -1, &change) || (s->count[from] < 2 && !s->c->allow_idle) ||
        (memory > 0.0 && s->bytes[d] + s->f->bytes[p] > memory))
        return INFINITY;
    return change.price + over(a, s->load[from] - cost, r->limit[from]) +
           over(a, s->load[d] + cost, r->limit[d]) - over(a, s->load[from], r->limit[from]) -
           over(a, s->load[d], r->limit[d]);
}

/* The device of a random neighbour of p, or now and then any. */
static int32_t propose(const gnti_map_state *s, int32_t p, const uint32_t w[4])
{
    const int64_t reads = s->f->offsets[p + 1] - s->f->offsets[p];

    if (reads == 0 || w[1] % 8 == 0)
        return (int32_t)gnti_below(w[2], (uint32_t)s->c->num_devices);
    return s->owner[s->f->neighbour[s->f->offsets[p] + gnti_below(w[2], (uint32_t)reads)]];
}

static void step(annealing *a, int64_t number, double temperature)
{
    const gnti_map_state *s = &a->r->s;
    uint32_t w[4];
    int32_t p, d;
    double change;

    gnti_draw_quad(gnti_seed_key(0), GNTI_DRAW_PERMUTE, 1, 0, number, 0, w);
    p = (int32_t)gnti_below(w[0], (uint32_t)s->f->num_chunks);
    d = propose(s, p, w);
    if (d == s->owner[p])
        return;
    change = cost_of(a, p, d);
    if (change > 0.0 && (double)gnti_uniform(w[3]) >= exp(-change / temperature))
        return;
    gnti_resize_put(a->r, p, d);
    a->energy += change;
    if (a->energy < a->best_energy - 1e-9) {
        a->best_energy = a->energy;
        memcpy(a->best, s->owner, (size_t)s->f->num_chunks * sizeof *a->best);
    }
}

gnt_status gnti_resize_anneal(gnti_resize *r)
{
    gnt_status st = GNT_OK;
    const int32_t num_chunks = r->s.f->num_chunks;
    const int64_t steps = gnti_min_i64((int64_t)STEPS_A_CHUNK * num_chunks, MOST_STEPS);
    annealing a = { .r = r };

    if (r->halo_price <= 0.0 || r->s.c->num_devices < 2)
        return GNT_OK;
    for (int32_t p = 0; p < num_chunks; p++)
        a.chunk += r->s.f->cost[p] / num_chunks;
    if (a.chunk <= 0.0)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&a.best, num_chunks));
    memcpy(a.best, r->s.owner, (size_t)num_chunks * sizeof *a.best);
    for (int round = 0; round < ROUNDS; round++) {
        for (int64_t i = 0; i < steps; i++)
            step(&a, round * steps + i, HOT * pow(COLD / HOT, (double)i / (double)steps));
        for (int32_t p = 0; p < num_chunks; p++)
            gnti_resize_put(r, p, a.best[p]);
        a.energy = a.best_energy;
    }
done:
    gnti_free(a.best);
    return st;
}
