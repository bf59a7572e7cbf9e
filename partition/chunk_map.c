/* SPDX-License-Identifier: Apache-2.0 */
/* Target shares, predicted times, and the first map: the best contiguous ranges.
 *
 * Device d takes the chunks [a_d, a_d+1), devices in the order given. Its time is t(a, b) = sum c_p / s_d + rho * (rows that
 * the range reads outside itself), so a range is extended chunk by chunk at the cost of one chunk's neighbours. Two dynamic
 * programs over the borders: the smallest possible max t, then, among the maps that reach it, fewest idle devices and the
 * smallest sum of t^2. Exact while all borders are tried (K <= 512); above, on a coarse grid that is refined around the
 * borders found. Ranges that memory caps allow need not exist; then chunks are packed one by one (chunk_resize.c).
 */
#include "partition/map_state.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_POSITIONS = 512, REFINE = 8 };

gnt_status gnti_target_shares(const gnti_map_device *devices, int32_t num_devices, double total_bytes,
                              double *shares)
{
    gnt_status st = GNT_OK;
    bool *fixed = NULL, again = true;

    GNT_CHECK(devices != NULL && num_devices >= 1 && shares != NULL, GNT_ERR_ARG, "shares of %d devices",
              num_devices);
    GNT_TRY(gnti_calloc_array(&fixed, num_devices));
    while (again) {
        double rest = 1.0, speeds = 0.0, caps = 0.0;

        again = false;
        for (int32_t d = 0; d < num_devices; d++) {
            caps += devices[d].memory;
            rest -= fixed[d] ? shares[d] : 0.0;
            speeds += fixed[d] ? 0.0 : devices[d].speed;
        }
        GNT_CHECK(speeds > 0.0 || rest <= 1e-9, GNT_ERR_LIMIT,
                  "the graph needs %.0f bytes but all devices together have %.0f: use more devices or "
                  "narrower layers",
                  total_bytes, caps);
        for (int32_t d = 0; d < num_devices; d++) {
            if (fixed[d])
                continue;
            shares[d] = rest * devices[d].speed / speeds;
            if (devices[d].memory <= 0.0 || shares[d] * total_bytes <= devices[d].memory)
                continue;
            shares[d] = devices[d].memory / total_bytes;
            fixed[d] = again = true;
        }
    }
done:
    gnti_free(fixed);
    return st;
}

double gnti_chunk_map_time(const gnti_chunk_facts *f, const gnti_map_config *c, const int32_t *owner,
                           double *seconds)
{
    double most = 0.0;

    for (int32_t d = 0; d < c->num_devices; d++) {
        double load = 0.0, rows = 0.0;

        for (int32_t p = 0; p < f->num_chunks; p++) {
            if (owner[p] != d)
                continue;
            load += f->cost[p];
            for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
                rows += owner[f->neighbour[e]] != d ? f->halo_rows[e] : 0.0;
        }
        load = load / c->devices[d].speed + c->halo_seconds * rows;
        if (seconds != NULL)
            seconds[d] = load;
        most = load > most ? load : most;
    }
    return most;
}

/* --- the first map --- */

/* Borders are chosen among the ascending positions; cell (d, i): the first d devices hold the chunks before position[i]. */
typedef struct line {
    const gnti_chunk_facts *f;
    const gnti_map_config *c;
    gnti_chunk_readers readers;
    int32_t *position; /* (num_positions), 0 first and K last */
    int32_t num_positions;
    double *best;  /* (D + 1, num_positions) */
    int32_t *from; /* index of the border before */
    bool idle;     /* devices may hold nothing */
    double limit;  /* INFINITY: minimise max t; else t <= limit, minimise the sum of t^2 */
} line;

static void line_clear(line *l)
{
    gnti_chunk_readers_clear(&l->readers);
    gnti_free(l->position);
    gnti_free(l->best);
    gnti_free(l->from);
}

/* Cell (d + 1, to) may be reached from (d, at) when device d takes t seconds in between. */
static void reach(line *l, int32_t d, int32_t at, int32_t to, double t)
{
    const int64_t cell = (int64_t)(d + 1) * l->num_positions + to;
    const double before = l->best[(int64_t)d * l->num_positions + at];
    double after = before > t ? before : t;

    if (isfinite(l->limit)) {
        /* one idle device weighs more than any sum of squares */
        after = before + (at == to ? (1.0 + l->limit * l->limit) * 2.0 * (double)l->c->num_devices : t * t);
        if (t > l->limit)
            return;
    }
    if (after < l->best[cell]) {
        l->best[cell] = after;
        l->from[cell] = at;
    }
}

/* All ranges that start at position index `at`, device by device. */
static void extend_from(line *l, int32_t at)
{
    const gnti_chunk_facts *f = l->f;
    const gnti_map_config *c = l->c;
    const int32_t first = l->position[at];
    double cost = 0.0, bytes = 0.0, rows = 0.0;
    int32_t p = first;

    for (int32_t d = 0; l->idle && d < c->num_devices; d++)
        reach(l, d, at, at, 0.0);
    for (int32_t to = at + 1; to < l->num_positions; to++) {
        for (; p < l->position[to]; p++) {
            cost += f->cost[p];
            bytes += f->bytes[p];
            for (int64_t e = f->offsets[p]; e < f->offsets[p + 1]; e++)
                rows += f->neighbour[e] < first || f->neighbour[e] > p ? f->halo_rows[e] : 0.0;
            for (int64_t e = l->readers.offsets[p]; e < l->readers.offsets[p + 1]; e++)
                rows -= l->readers.neighbour[e] >= first && l->readers.neighbour[e] < p
                            ? l->readers.halo_rows[e]
                            : 0.0;
        }
        for (int32_t d = 0; d < c->num_devices; d++)
            if (isfinite(l->best[(int64_t)d * l->num_positions + at]) &&
                (c->devices[d].memory <= 0.0 || bytes <= c->devices[d].memory))
                reach(l, d, at, to, cost / c->devices[d].speed + c->halo_seconds * rows);
    }
}

/* The value of the best map, INFINITY when there is none. */
static double solve(line *l)
{
    const int64_t cells = (int64_t)(l->c->num_devices + 1) * l->num_positions;

    for (int64_t i = 0; i < cells; i++)
        l->best[i] = INFINITY;
    l->best[0] = 0.0;
    for (int32_t at = 0; at < l->num_positions; at++)
        extend_from(l, at);
    return l->best[cells - 1];
}

/* Both programs over the positions that l has; false: no map keeps the caps. border (D + 1). */
static bool solve_twice(line *l, int32_t *border)
{
    double most, most_idle;

    l->limit = INFINITY;
    l->idle = false;
    most = solve(l);
    if (l->c->allow_idle) {
        l->idle = true;
        most_idle = solve(l);
        l->idle = most_idle < most * (1.0 - 1e-9);
        most = l->idle ? most_idle : most;
    }
    if (!isfinite(most))
        return false;
    l->limit = most * (1.0 + 1e-12);
    solve(l);
    border[l->c->num_devices] = l->num_positions - 1;
    for (int32_t d = l->c->num_devices; d > 0; d--)
        border[d - 1] = l->from[(int64_t)d * l->num_positions + border[d]];
    for (int32_t d = 0; d <= l->c->num_devices; d++)
        border[d] = l->position[border[d]];
    return true;
}

static int compare_i32(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Every step-th position; or, around known borders, REFINE of them on both sides and the borders themselves. */
static void choose_positions(line *l, int32_t step, const int32_t *border)
{
    const int32_t num_chunks = l->f->num_chunks;
    int32_t num = 0, kept = 1;

    for (int64_t p = 0; border == NULL && p < num_chunks; p += step)
        l->position[num++] = (int32_t)p;
    for (int32_t d = 0; border != NULL && d < l->c->num_devices; d++)
        for (int64_t i = -REFINE; i <= REFINE; i++)
            if (border[d] + i * step >= 0 && border[d] + i * step < num_chunks)
                l->position[num++] = (int32_t)(border[d] + i * step);
    l->position[num++] = num_chunks;
    qsort(l->position, (size_t)num, sizeof *l->position, compare_i32);
    for (int32_t i = 1; i < num; i++)
        if (l->position[i] != l->position[kept - 1])
            l->position[kept++] = l->position[i];
    l->num_positions = kept;
}

/* Answers whether ranges were found that keep the memory caps. */
static gnt_status best_ranges(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner,
                              bool *found)
{
    gnt_status st = GNT_OK;
    const int64_t most = gnti_max_i64(MAX_POSITIONS, (int64_t)c->num_devices * (2 * REFINE + 2)) + 2;
    line l = { .f = f, .c = c };
    int32_t *border = NULL, step;

    GNT_TRY(gnti_chunk_readers_make(f, &l.readers));
    GNT_TRY(gnti_alloc_array(&border, (int64_t)c->num_devices + 1));
    GNT_TRY(gnti_alloc_array(&l.position, most));
    GNT_TRY(gnti_alloc_array(&l.best, (c->num_devices + 1) * most));
    GNT_TRY(gnti_alloc_array(&l.from, (c->num_devices + 1) * most));
    step = (f->num_chunks + MAX_POSITIONS - 1) / MAX_POSITIONS;
    while (step > 1 && f->num_chunks / step < 2 * c->num_devices) /* room for every device */
        step /= 2;
    choose_positions(&l, step, NULL);
    *found = solve_twice(&l, border);
    while (*found && step > 1) {
        step = (step + REFINE - 1) / REFINE;
        choose_positions(&l, step, border);
        *found = solve_twice(&l, border);
    }
    for (int32_t d = 0; *found && d < c->num_devices; d++)
        for (int32_t p = border[d]; p < border[d + 1]; p++)
            owner[p] = d;
done:
    line_clear(&l);
    gnti_free(border);
    return st;
}

gnt_status gnti_chunk_map_ranges(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner)
{
    gnt_status st = GNT_OK;
    bool found;

    GNT_TRY(best_ranges(f, c, owner, &found));
    GNT_CHECK(found, GNT_ERR_LIMIT, "no ranges of %d chunks keep the memory limits of %d devices",
              f->num_chunks, c->num_devices);
done:
    return st;
}

gnt_status gnti_chunk_map_first(const gnti_chunk_facts *f, const gnti_map_config *c, int32_t *owner)
{
    gnt_status st = GNT_OK;
    const int32_t leaving = -1;
    int32_t *nobody = NULL;
    double *shares = NULL, total = 0.0;
    bool found;

    GNT_TRY(gnti_chunk_map_check(f, c));
    GNT_CHECK(owner != NULL, GNT_ERR_ARG, "owner must not be NULL");
    for (int32_t p = 0; p < f->num_chunks; p++)
        total += f->bytes[p];
    GNT_TRY(gnti_alloc_array(&shares, c->num_devices));
    GNT_TRY(gnti_target_shares(c->devices, c->num_devices, total, shares));
    GNT_TRY(best_ranges(f, c, owner, &found));
    if (!found) {
        GNT_TRY(gnti_calloc_array(&nobody, f->num_chunks));
        GNT_TRY(gnti_chunk_map_resize(f, c, nobody, &leaving, 1, owner, NULL));
    }
done:
    gnti_free(shares);
    gnti_free(nobody);
    return st;
}
