/* SPDX-License-Identifier: Apache-2.0 */
/* Contextual stochastic block model (Deshpande, Sen, Montanari, Mossel, NeurIPS 2018), K classes of equal size.
 *
 *   edges     n degree / 2 of them: one end uniform, the other in the same class with probability h, else uniform in
 *             another class
 *   features  x_v = s mu_c + N(0, I), mu_c = random signs / sqrt(d), s = feature_signal
 *
 * The accuracy that no classifier beats on average is that of the posterior which is told the classes of all other nodes:
 *   log p(c | ...) = k_c log h + (k - k_c) log((1 - h) / (K - 1)) - |x - s mu_c|^2 / 2 + const
 * with k_c neighbours of class c. Its expected accuracy is the mean over nodes of the largest posterior; with features
 * alone (k = 0) it is what a model that sees no edges can reach. Both are stored in the provenance. (Edges that were
 * drawn twice are merged, which the formula leaves out: of order degree / n.)
 *
 * Edges and labels come from integer draws alone; normals are Box-Muller in double, so a feature may differ in its last
 * bit between C libraries.
 */
#include "datasets/generate.h"

#include <math.h>

typedef struct model {
    gnti_generation *g;
    int64_t n, k, d;
    int64_t *member; /* (n) nodes by class, ascending in a class */
    int64_t *begin;  /* (k + 1) */
    double *mean;    /* (k, d) s mu_c */
} model;

/* Classes in the order of the nodes' draws: the first n / k nodes are class 0, and so on. */
static gnt_status draw_classes(model *m, int32_t *class_of)
{
    gnt_status st = GNT_OK;
    int64_t *order = NULL, *next = NULL;

    GNT_TRY(gnti_generation_order(m->g, GNTI_GENERATE_CLASSES, m->n, &order));
    GNT_TRY(gnti_calloc_array(&next, m->k));
    for (int64_t i = 0; i < m->n; i++)
        class_of[order[i]] = (int32_t)(i * m->k / m->n);
    for (int64_t v = 0; v < m->n; v++)
        m->begin[class_of[v] + 1]++;
    for (int64_t c = 0; c < m->k; c++) {
        m->begin[c + 1] += m->begin[c];
        next[c] = m->begin[c];
    }
    for (int64_t v = 0; v < m->n; v++)
        m->member[next[class_of[v]]++] = v;
done:
    gnti_free(order);
    gnti_free(next);
    return st;
}

static gnt_status draw_edges(model *m, const int32_t *class_of)
{
    gnt_status st = GNT_OK;
    gnti_generation *g = m->g;
    const int64_t num = (int64_t)((double)m->n * g->o.degree / 2.0 + 0.5);
    const uint64_t inside = (uint64_t)(g->o.homophily * 4294967296.0);

    GNT_TRY(gnti_generation_edges(g, num));
    for (int64_t e = 0; e < num; e++) {
        uint32_t w[4];
        int64_t u, c;

        gnti_draw_quad(gnti_seed_key((uint64_t)g->o.seed), GNTI_DRAW_GENERATE, GNTI_GENERATE_ARCS, 0, e, 0,
                       w);
        u = gnti_below(w[0], (uint32_t)m->n);
        c = class_of[u];
        if (w[1] >= inside && m->k > 1) /* another class: skip over our own */
            c = (c + 1 + gnti_below(w[2], (uint32_t)(m->k - 1))) % m->k;
        g->edges.source[e] = u;
        g->edges.target[e] =
            m->member[m->begin[c] + gnti_below(w[3], (uint32_t)(m->begin[c + 1] - m->begin[c]))];
    }
    GNT_TRY(gnti_generation_build(g, m->n));
done:
    return st;
}

static void draw_means(model *m)
{
    const double size = m->g->o.feature_signal / sqrt((double)m->d);

    for (int64_t c = 0; c < m->k; c++)
        for (int64_t j = 0; j < m->d; j++)
            m->mean[c * m->d + j] =
                gnti_generation_word(m->g, GNTI_GENERATE_MEANS, c, (uint32_t)j) & 1 ? size : -size;
}

/* Two normals from two words. */
static void normals(uint32_t a, uint32_t b, double out[2])
{
    const double radius = sqrt(-2.0 * log(((double)a + 1.0) * 0x1p-32));
    const double angle = 6.283185307179586 * (double)b * 0x1p-32;

    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

static void draw_features(const model *m, const int32_t *class_of, float *x)
{
    for (int64_t v = 0; v < m->n; v++) {
        for (int64_t j = 0; j < m->d; j += 4) {
            uint32_t w[4];
            double z[4];

            gnti_draw_quad(gnti_seed_key((uint64_t)m->g->o.seed), GNTI_DRAW_GENERATE, GNTI_GENERATE_NOISE, 0,
                           v, (uint32_t)(j / 4), w);
            normals(w[0], w[1], z);
            normals(w[2], w[3], z + 2);
            for (int64_t i = j; i < gnti_min_i64(j + 4, m->d); i++)
                x[v * m->d + i] = (float)(m->mean[class_of[v] * m->d + i] + z[i - j]);
        }
    }
}

/* The largest posterior of node v; scores has k places. */
static double best_posterior(const model *m, int64_t v, bool with_edges, double *scores)
{
    const gnt_dataset *d = m->g->data;
    const double h = fmin(fmax(m->g->o.homophily, 1e-12), 1.0 - 1e-12);
    const double gain = m->k > 1 ? log(h * (double)(m->k - 1) / (1.0 - h)) : 0.0;
    double best = -INFINITY, sum = 0.0;

    for (int64_t c = 0; c < m->k; c++) {
        scores[c] = 0.0;
        for (int64_t j = 0; j < m->d; j++) {
            const double away = (double)d->x.dense[v * m->d + j] - m->mean[c * m->d + j];

            scores[c] -= 0.5 * away * away;
        }
    }
    for (int64_t a = d->graph->offsets[v]; with_edges && a < d->graph->offsets[v + 1]; a++)
        scores[d->y.class_of[d->graph->columns[a]]] += gain;
    for (int64_t c = 0; c < m->k; c++)
        best = fmax(best, scores[c]);
    for (int64_t c = 0; c < m->k; c++)
        sum += exp(scores[c] - best);
    return 1.0 / sum;
}

static gnt_status measure(const model *m)
{
    gnt_status st = GNT_OK;
    double *scores = NULL, with = 0.0, without = 0.0;

    GNT_TRY(gnti_alloc_array(&scores, m->k));
    for (int64_t v = 0; v < m->n; v++) {
        with += best_posterior(m, v, true, scores);
        without += best_posterior(m, v, false, scores);
    }
    GNT_TRY(gnti_json_set_number(m->g->facts, "bayes_accuracy", with / (double)m->n));
    GNT_TRY(gnti_json_set_number(m->g->facts, "bayes_accuracy_features", without / (double)m->n));
done:
    gnti_free(scores);
    return st;
}

static gnt_status run(model *m)
{
    gnt_status st = GNT_OK;
    int32_t *class_of = NULL;
    gnt_dataset *d;

    GNT_TRY(gnti_alloc_array(&class_of, m->n));
    GNT_TRY(gnti_alloc_array(&m->member, m->n));
    GNT_TRY(gnti_calloc_array(&m->begin, m->k + 1));
    GNT_TRY(gnti_alloc_array(&m->mean, m->k * m->d));
    GNT_TRY(draw_classes(m, class_of));
    GNT_TRY(draw_edges(m, class_of));
    d = m->g->data;
    d->y.kind = GNT_LABELS_CLASS;
    d->y.num_classes = m->k;
    d->y.class_of = class_of;
    class_of = NULL;
    GNT_TRY(gnti_array_bytes((void **)(void *)&d->x.dense, m->n * m->d, sizeof(float), false));
    d->x.rows = m->n;
    d->x.width = m->d;
    draw_means(m);
    draw_features(m, d->y.class_of, d->x.dense);
    GNT_TRY(measure(m));
done:
    gnti_free(class_of);
    gnti_free(m->member);
    gnti_free(m->begin);
    gnti_free(m->mean);
    return st;
}

gnt_status gnti_generate_csbm(gnti_generation *g)
{
    gnt_status st = GNT_OK;
    model m = { .g = g, .n = g->o.nodes, .k = g->o.classes, .d = g->o.features };

    GNT_CHECK(m.n >= m.k, GNT_ERR_USAGE, "%lld nodes cannot fill %lld classes", (long long)m.n,
              (long long)m.k);
    GNT_TRY(run(&m));
done:
    return st;
}
