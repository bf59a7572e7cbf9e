/* SPDX-License-Identifier: Apache-2.0 */
/* Scores of probabilities, through the metrics of training, which take logits. A metric that asks for the largest value of a row
 * or for an order within a column sees the probabilities themselves; one that compares labels with 0 sees p - 1/2; a ranking of
 * several classes, which goes through a softmax, sees logarithms.
 */
#include "ensemble/panel.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

static bool is_labelled(const gnti_labels *y, int64_t node)
{
    if (y->kind == GNT_LABELS_CLASS)
        return y->class_of[node] >= 0;
    for (int64_t c = 0; c < y->num_classes; c++)
        if (!isnan(y->rows[node * y->num_classes + c]))
            return true;
    return false;
}

static gnt_status take_labels(const gnti_labels *y, gnti_panel *p)
{
    gnt_status st = GNT_OK;
    const int64_t width = y->num_classes;

    if (y->kind == GNT_LABELS_CLASS)
        GNT_TRY(gnti_alloc_array(&p->class_of, p->num_nodes));
    else
        GNT_TRY(gnti_alloc_array(&p->target, p->num_nodes * width));
    for (int64_t i = 0; i < p->num_nodes; i++) {
        if (p->class_of != NULL)
            p->class_of[i] = y->class_of[p->nodes[i]];
        else
            memcpy(p->target + i * width, y->rows + p->nodes[i] * width, (size_t)width * sizeof(float));
    }
done:
    return st;
}

gnt_status gnti_panel_create(const gnt_dataset *data, const gnti_split *split, int part, gnti_panel *out)
{
    gnt_status st = GNT_OK;
    const gnti_labels *y = &data->y;
    gnti_panel p = { .kind = y->kind, .num_classes = y->num_classes };
    const int64_t listed = split->num_nodes[part];

    GNT_TRY(gnti_alloc_array(&p.nodes, listed));
    for (int64_t i = 0; i < listed; i++)
        if (is_labelled(y, split->nodes[part][i]))
            p.nodes[p.num_nodes++] = split->nodes[part][i];
    GNT_TRY(take_labels(y, &p));
    GNT_TRY(gnti_alloc_array(&p.rows, p.num_nodes));
    for (p.num_rows = 0; p.num_rows < p.num_nodes; p.num_rows++)
        p.rows[p.num_rows] = p.num_rows;
    GNT_TRY(gnti_alloc_array(&p.room, p.num_nodes * p.num_classes));
    GNT_TRY(gnti_metric_scratch_create(p.num_nodes, p.num_classes, &p.scratch));
    *out = p;
    p = (gnti_panel){ 0 };
done:
    gnti_panel_free(&p);
    return st;
}

void gnti_panel_free(gnti_panel *p)
{
    gnti_free(p->nodes);
    gnti_free(p->class_of);
    gnti_free(p->target);
    gnti_free(p->rows);
    gnti_free(p->room);
    gnti_metric_scratch_free(&p->scratch);
    *p = (gnti_panel){ 0 };
}

void gnti_panel_gather(const gnti_panel *p, const float *all, float *out)
{
    const int64_t width = p->num_classes;

    for (int64_t i = 0; i < p->num_nodes; i++)
        memcpy(out + i * width, all + p->nodes[i] * width, (size_t)width * sizeof(float));
}

static gnti_scored scored(const gnti_panel *p, const float *logits)
{
    return (gnti_scored){ .logits = logits,
                          .num_classes = p->num_classes,
                          .kind = p->kind,
                          .class_of = p->class_of,
                          .target = p->target,
                          .rows = p->rows,
                          .num_rows = p->num_rows };
}

static double floored(double probability)
{
    return fmax(probability, GNTI_PROBABILITY_FLOOR);
}

static float logit_of(gnt_label_kind kind, float value)
{
    const double p = (double)value;

    if (kind == GNT_LABELS_REGRESSION)
        return value;
    return (float)(log(floored(p)) - (kind == GNT_LABELS_MULTI ? log(floored(1.0 - p)) : 0.0));
}

void gnti_panel_logits(const gnti_panel *p, const float *values, float *out)
{
    for (int64_t i = 0; i < p->num_nodes * p->num_classes; i++)
        out[i] = logit_of(p->kind, values[i]);
}

/* What the metric may see instead of logits, in room; or the values as they are. */
static const float *shown(const gnti_panel *p, gnti_metric metric, const float *values)
{
    const int64_t width = p->num_classes;

    if (p->kind == GNT_LABELS_REGRESSION)
        return values;
    if (p->kind == GNT_LABELS_CLASS && (!gnti_metric_is_ranking(metric) || width == 2))
        return values;
    for (int64_t k = 0; k < p->num_rows; k++)
        for (int64_t at = p->rows[k] * width; at < (p->rows[k] + 1) * width; at++)
            p->room[at] =
                p->kind == GNT_LABELS_MULTI ? values[at] - 0.5f : logit_of(GNT_LABELS_CLASS, values[at]);
    return p->room;
}

double gnti_panel_metric(const gnti_panel *p, gnti_metric metric, const float *values)
{
    const gnti_scored s = scored(p, shown(p, metric, values));

    return gnti_metric_compute(metric, &s, p->scratch);
}

static double row_loss(const gnti_panel *p, int64_t row, const float *values, int64_t *count)
{
    const float *v = values + row * p->num_classes;
    double sum = 0.0;

    if (p->kind == GNT_LABELS_CLASS) {
        ++*count;
        return -log(floored((double)v[p->class_of[row]]));
    }
    for (int64_t c = 0; c < p->num_classes; c++) {
        const float y = p->target[row * p->num_classes + c];
        const double d = (double)v[c] - (double)y;

        if (isnan(y))
            continue;
        ++*count;
        sum += p->kind == GNT_LABELS_REGRESSION ? d * d
                                                : -log(floored(y > 0.5f ? (double)v[c] : 1.0 - (double)v[c]));
    }
    return sum;
}

double gnti_panel_loss(const gnti_panel *p, const float *values)
{
    double sum = 0.0;
    int64_t count = 0;

    for (int64_t k = 0; k < p->num_rows; k++)
        sum += row_loss(p, p->rows[k], values, &count);
    return count > 0 ? sum / (double)count : (double)NAN;
}

void gnti_panel_calibration(const gnti_panel *p, const float *logits, gnti_calibration *out)
{
    const gnti_scored s = scored(p, logits);

    gnti_calibration_compute(&s, out);
}
