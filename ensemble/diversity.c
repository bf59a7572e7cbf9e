/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the panel in pieces of a few rows, so that memory does not grow with the nodes: all members' probabilities of a
 * piece, then every sum that needs them. Counts are whole numbers; sums of a piece are added in the order of the rows.
 */
#include "ensemble/diversity.h"

#include "base/alloc.h"
#include "ensemble/combine_rule.h"

#include <math.h>

enum { PIECE_ROWS = 256, PIECE_CELLS = 1 << 20 };
#define MAX_DISTANCE_WORK 2e9 /* terms of the distance; more rows are taken in steps */

typedef struct measuring {
    const gnti_votes *votes;
    int32_t num;
    const gnti_panel *panel;
    double *p;                /* (num, piece, num_classes) */
    double *mean;             /* (num_classes) room */
    int32_t *choice;          /* (num) of a unit */
    uint8_t *right;           /* (num) of a unit */
    int64_t *differ, *counts; /* (num, num), (num, num, 4): both wrong, one, other, both right */
    double *square;           /* (num, num) of a regression's differences */
    double distance;
    int64_t distance_rows, stride, known, solved;
    int64_t piece;     /* rows at a time */
    bool paired;       /* each pair is looked at */
    int64_t *choosers; /* (num_classes, at least 2) of a unit, where pairs are not looked at */
    int64_t agreeing;  /* pairs that agree, over all units */
} measuring;

void gnti_diversity_free(gnti_diversity *d)
{
    gnti_free(d->disagreement);
    gnti_free(d->q);
    gnti_free(d->kl);
    *d = (gnti_diversity){ 0 };
}

static double *row_of(const measuring *m, int32_t member, int64_t i)
{
    return m->p + ((int64_t)member * m->piece + i) * m->panel->num_classes;
}

static void load_piece(const measuring *m, int64_t first, int64_t count)
{
    const gnti_panel *panel = m->panel;

    for (int32_t k = 0; k < m->num; k++)
        for (int64_t i = 0; i < count; i++)
            gnti_rule_take(GNTI_COMBINE_MEAN, panel->kind,
                           m->votes[k].values + panel->nodes[first + i] * panel->num_classes,
                           m->votes[k].are_logits, panel->num_classes, row_of(m, k, i));
}

/* Ordered pairs of members that choose the same: n (n - 1) for n that choose one thing. */
static void count_choosers(measuring *m)
{
    for (int32_t k = 0; k < m->num; k++)
        m->agreeing += 2 * m->choosers[m->choice[k]]++;
    for (int32_t k = 0; k < m->num; k++)
        m->choosers[m->choice[k]] = 0;
}

/* Choices and rights of all members at one unit are in m. */
static void count_unit(measuring *m)
{
    bool any = false;

    m->known++;
    for (int32_t j = 0; j < m->num; j++) {
        any = any || m->right[j];
        for (int32_t k = 0; k < j && m->paired; k++) {
            m->differ[j * m->num + k] += m->choice[j] != m->choice[k];
            m->counts[4 * (j * m->num + k) + 2 * m->right[j] + m->right[k]]++;
        }
    }
    if (!m->paired)
        count_choosers(m);
    m->solved += any;
}

static int32_t argmax(const double *row, int64_t num_classes)
{
    int32_t best = 0;

    for (int64_t c = 1; c < num_classes; c++)
        best = row[c] > row[best] ? (int32_t)c : best;
    return best;
}

static void count_row(measuring *m, int64_t position, int64_t i)
{
    const gnti_panel *panel = m->panel;

    if (panel->kind == GNT_LABELS_CLASS) {
        for (int32_t k = 0; k < m->num; k++) {
            m->choice[k] = argmax(row_of(m, k, i), panel->num_classes);
            m->right[k] = m->choice[k] == panel->class_of[position];
        }
        count_unit(m);
        return;
    }
    for (int64_t c = 0; c < panel->num_classes; c++) {
        const float y = panel->target[position * panel->num_classes + c];

        if (isnan(y))
            continue;
        for (int32_t k = 0; k < m->num; k++) {
            m->choice[k] = row_of(m, k, i)[c] > 0.5;
            m->right[k] = m->choice[k] == (y > 0.5f);
        }
        count_unit(m);
    }
}

static double term(double p, double q)
{
    return p > 0.0 && q > 0.0 ? p * log(p / q) : 0.0;
}

static void add_divergence(const measuring *m, int64_t i, double *kl)
{
    const gnti_panel *panel = m->panel;
    const bool multi = panel->kind == GNT_LABELS_MULTI;

    for (int64_t c = 0; c < panel->num_classes; c++) {
        m->mean[c] = 0.0;
        for (int32_t k = 0; k < m->num; k++)
            m->mean[c] += row_of(m, k, i)[c] / (double)m->num;
    }
    for (int32_t k = 0; k < m->num; k++) {
        const double *p = row_of(m, k, i);

        for (int64_t c = 0; c < panel->num_classes; c++)
            kl[k] += multi ? (term(p[c], m->mean[c]) + term(1.0 - p[c], 1.0 - m->mean[c])) /
                                 (double)panel->num_classes
                           : term(p[c], m->mean[c]);
    }
}

static void add_distances(measuring *m, int64_t i)
{
    for (int32_t j = 0; j < m->num; j++) {
        for (int32_t k = 0; k < j; k++) {
            const double *a = row_of(m, j, i), *b = row_of(m, k, i);
            double square = 0.0;

            for (int64_t c = 0; c < m->panel->num_classes; c++)
                square += (a[c] - b[c]) * (a[c] - b[c]);
            m->square[j * m->num + k] += square / (double)m->panel->num_classes;
            m->distance += sqrt(0.5 * square);
        }
    }
    m->distance_rows++;
}

/* Means over the pairs where the value is defined. */
static double mean_of_pairs(const double *matrix, int32_t num)
{
    double sum = 0.0;
    int64_t count = 0;

    for (int32_t j = 0; j < num; j++)
        for (int32_t k = 0; k < j; k++)
            if (!isnan(matrix[j * num + k])) {
                sum += matrix[j * num + k];
                count++;
            }
    return count > 0 ? sum / (double)count : (double)NAN;
}

static double yule(const int64_t counts[4])
{
    const double same = (double)counts[3] * (double)counts[0], other = (double)counts[2] * (double)counts[1];

    return same + other > 0.0 ? (same - other) / (same + other) : (double)NAN;
}

static void finish_pairs(const measuring *m, gnti_diversity *d)
{
    const bool regression = m->panel->kind == GNT_LABELS_REGRESSION;
    const int32_t num = m->num;

    for (int32_t j = 0; j < num; j++) {
        for (int32_t k = 0; k < j; k++) {
            const int32_t at = j * num + k, mirror = k * num + j;

            d->disagreement[at] = regression ? sqrt(m->square[at] / (double)m->distance_rows)
                                             : (double)m->differ[at] / (double)m->known;
            d->q[at] = regression ? (double)NAN : yule(m->counts + 4 * at);
            d->disagreement[mirror] = d->disagreement[at];
            d->q[mirror] = d->q[at];
        }
        d->disagreement[j * num + j] = 0.0;
        d->q[j * num + j] = (double)NAN;
    }
    d->mean_disagreement = mean_of_pairs(d->disagreement, num);
    d->mean_q = mean_of_pairs(d->q, num);
    if (num > 1 && !regression)
        d->distance = m->distance / (0.5 * num * (num - 1)) / (double)m->distance_rows;
}

static void finish(const measuring *m, gnti_diversity *d)
{
    const bool regression = m->panel->kind == GNT_LABELS_REGRESSION;
    const int32_t num = m->num;
    double sum = 0.0;

    d->mean_disagreement = d->mean_q = d->distance = (double)NAN;
    if (m->paired)
        finish_pairs(m, d);
    else if (!regression)
        d->mean_disagreement = 1.0 - (double)m->agreeing / ((double)num * (num - 1)) / (double)m->known;
    for (int32_t j = 0; j < num; j++) {
        d->kl[j] = regression ? (double)NAN : d->kl[j] / (double)m->panel->num_rows;
        sum += d->kl[j];
    }
    d->num_units = regression ? m->panel->num_rows : m->known;
    d->mean_kl = sum / num;
    d->oracle = regression ? (double)NAN : (double)m->solved / (double)m->known;
}

static gnt_status make_room(measuring *m, gnti_diversity *d)
{
    gnt_status st = GNT_OK;
    const int64_t pairs = m->paired ? (int64_t)m->num * m->num : 0, width = m->panel->num_classes;

    GNT_TRY(gnti_alloc_array(&m->p, (int64_t)m->num * m->piece * width));
    GNT_TRY(gnti_calloc_array(&m->choosers, gnti_max_i64(width, 2)));
    GNT_TRY(gnti_alloc_array(&m->mean, width));
    GNT_TRY(gnti_calloc_array(&m->choice, m->num));
    GNT_TRY(gnti_calloc_array(&m->right, m->num));
    GNT_TRY(gnti_calloc_array(&m->differ, pairs));
    GNT_TRY(gnti_calloc_array(&m->counts, 4 * pairs));
    GNT_TRY(gnti_calloc_array(&m->square, pairs));
    GNT_TRY(gnti_calloc_array(&d->kl, m->num));
    if (!m->paired)
        goto done;
    GNT_TRY(gnti_calloc_array(&d->disagreement, pairs));
    GNT_TRY(gnti_calloc_array(&d->q, pairs));
done:
    return st;
}

gnt_status gnti_diversity_measure(const gnti_votes *votes, int32_t num, const gnti_panel *panel,
                                  gnti_diversity *out)
{
    gnt_status st = GNT_OK;
    const bool regression = panel->kind == GNT_LABELS_REGRESSION;
    const double work = 0.5 * num * num * (double)panel->num_rows * (double)panel->num_classes;
    measuring m = { .votes = votes, .num = num, .panel = panel };
    gnti_diversity d = { 0 };

    m.paired = num <= GNTI_DIVERSITY_MAX_PAIRED;
    m.piece = gnti_max_i64(1, gnti_min_i64(PIECE_ROWS, PIECE_CELLS / ((int64_t)num * panel->num_classes)));
    m.stride = regression ? 1 : 1 + (int64_t)(work / MAX_DISTANCE_WORK);
    GNT_TRY(make_room(&m, &d));
    for (int64_t first = 0; first < panel->num_nodes; first += m.piece) {
        const int64_t count = gnti_min_i64(m.piece, panel->num_nodes - first);

        load_piece(&m, first, count);
        for (int64_t i = 0; i < count; i++) {
            if (m.paired && (first + i) % m.stride == 0)
                add_distances(&m, i);
            if (regression)
                continue;
            count_row(&m, first + i, i);
            add_divergence(&m, i, d.kl);
        }
    }
    finish(&m, &d);
    *out = d;
    d = (gnti_diversity){ 0 };
done:
    gnti_free(m.p);
    gnti_free(m.mean);
    gnti_free(m.choice);
    gnti_free(m.right);
    gnti_free(m.differ);
    gnti_free(m.counts);
    gnti_free(m.square);
    gnti_free(m.choosers);
    gnti_diversity_free(&d);
    return st;
}
