/* SPDX-License-Identifier: Apache-2.0 */
/* What check says about features: NaN and infinity, constant columns, ranges, columns that are the label.
 *
 * One walk over the non-zero values keeps a few numbers a column. A column gives the label away when it is non-zero on
 * all labelled nodes of one class and nowhere else, always with one value, or when it correlates with the class number
 * (or target) to 1 - 1e-6 in absolute value. Classes of fewer than 10 nodes are left out: words that occur once are
 * common.
 */
#include "datasets/check_page.h"

#include <math.h>

enum { MIN_CLASS = 10, MAX_NAMED = 8 };
static const double RANGE = 1e4, CORRELATION = 1.0 - 1e-6;

/* Of the labelled nodes: non-zeros, the one class they are of (-1 none yet, -2 several), their one value; sums. */
typedef struct column {
    int64_t num_nonzero, num_labelled;
    int32_t only_class;
    bool one_value, constant;
    float value, first;
    double sum, sum_squares, sum_label, least, most;
} column;

typedef struct scan {
    const gnt_dataset *d;
    column *columns;
    int64_t *class_size;
    int64_t num_nonfinite, bad_row, bad_column, num_zero_rows, num_nonzero;
    double label_count, label_sum, label_squares;
} scan;

/* The label as a number, NaN where there is none. */
static double label_of(const gnti_labels *y, int64_t v)
{
    if (y->kind == GNT_LABELS_CLASS)
        return y->class_of[v] >= 0 ? (double)y->class_of[v] : NAN;
    if (y->kind == GNT_LABELS_REGRESSION && y->num_classes == 1)
        return (double)y->rows[v];
    return NAN;
}

static void take_value(scan *s, int64_t row, int64_t col, float x)
{
    column *c = &s->columns[col];
    const double label = label_of(&s->d->y, row);

    if (!isfinite(x)) {
        if (s->num_nonfinite++ == 0) {
            s->bad_row = row;
            s->bad_column = col;
        }
        return;
    }
    if (c->num_nonzero++ == 0)
        c->first = x;
    c->constant = c->constant && x == c->first;
    c->least = fmin(c->least, (double)x);
    c->most = fmax(c->most, (double)x);
    if (isnan(label))
        return;
    if (c->num_labelled++ == 0)
        c->value = x;
    c->one_value = c->one_value && x == c->value;
    c->sum += (double)x;
    c->sum_squares += (double)x * (double)x;
    c->sum_label += (double)x * label;
    if (s->d->y.kind == GNT_LABELS_CLASS) {
        const int32_t k = s->d->y.class_of[row];

        c->only_class = c->only_class == -1 || c->only_class == k ? k : -2;
    }
}

static void walk(scan *s)
{
    const gnti_features *x = &s->d->x;

    for (int64_t r = 0; r < x->rows; r++) {
        const int64_t before = s->num_nonzero;
        const double label = label_of(&s->d->y, r);

        for (int64_t c = 0; x->dense != NULL && c < x->width; c++) {
            if (x->dense[r * x->width + c] == 0.0f)
                continue;
            s->num_nonzero++;
            take_value(s, r, c, x->dense[r * x->width + c]);
        }
        for (int64_t a = x->sparse != NULL ? x->sparse->offsets[r] : 0;
             x->sparse != NULL && a < x->sparse->offsets[r + 1]; a++) {
            const float v = x->sparse->weights != NULL ? x->sparse->weights[a] : 1.0f;

            if (v == 0.0f)
                continue;
            s->num_nonzero++;
            take_value(s, r, x->sparse->columns[a], v);
        }
        s->num_zero_rows += s->num_nonzero == before;
        if (isnan(label))
            continue;
        s->label_count += 1.0;
        s->label_sum += label;
        s->label_squares += label * label;
        if (s->d->y.kind == GNT_LABELS_CLASS)
            s->class_size[s->d->y.class_of[r]]++;
    }
}

/* The correlation of a column with the label number over labelled nodes. */
static double correlation(const scan *s, const column *c)
{
    const double n = s->label_count;
    const double cov = n * c->sum_label - c->sum * s->label_sum;
    const double xx = n * c->sum_squares - c->sum * c->sum,
                 yy = n * s->label_squares - s->label_sum * s->label_sum;

    return n >= MIN_CLASS && xx > 0.0 && yy > 0.0 ? cov / sqrt(xx * yy) : 0.0;
}

/* The class that column c marks, -1 for none. */
static int32_t marked_class(const scan *s, const column *c)
{
    if (s->d->y.kind != GNT_LABELS_CLASS || c->only_class < 0 || !c->one_value)
        return -1;
    if (c->num_labelled != s->class_size[c->only_class] || c->num_labelled < MIN_CLASS ||
        (double)c->num_labelled == s->label_count)
        return -1;
    return c->only_class;
}

static gnt_status report_leaks(gnti_check *check, const scan *s)
{
    gnt_status st = GNT_OK;
    const char *fix = "drop the column before importing";
    int64_t num = 0;

    for (int64_t c = 0; c < s->d->x.width; c++) {
        const int32_t class_of = marked_class(s, &s->columns[c]);
        const double r = correlation(s, &s->columns[c]);

        if (class_of < 0 && fabs(r) < CORRELATION)
            continue;
        if (num++ >= MAX_NAMED)
            continue;
        if (class_of >= 0)
            GNT_TRY(gnti_check_add(
                check, GNTI_FINDING_WARNING, fix,
                "feature %lld gives the label away: it is set on all %lld nodes of class %d and on no "
                "other labelled node",
                (long long)c, (long long)s->class_size[class_of], class_of));
        else
            GNT_TRY(
                gnti_check_add(check, GNTI_FINDING_WARNING, fix,
                               "feature %lld gives the label away: its correlation with the label is %.6f",
                               (long long)c, r));
    }
    if (num > MAX_NAMED)
        GNT_TRY(gnti_check_add(check, GNTI_FINDING_WARNING, fix, "%lld more features give the label away",
                               (long long)(num - MAX_NAMED)));
    GNT_TRY(gnti_json_set_int(check->facts, "num_label_features", num));
done:
    return st;
}

static gnt_status report_range(gnti_check *check, const scan *s)
{
    gnt_status st = GNT_OK;
    double least = INFINITY, most = -INFINITY;
    int64_t num_constant = 0, widest = -1;

    for (int64_t c = 0; c < s->d->x.width; c++) {
        const column *k = &s->columns[c];
        const bool full = k->num_nonzero == s->d->x.rows;

        num_constant += k->num_nonzero == 0 || (full && k->constant);
        least = fmin(least, full ? k->least : fmin(0.0, k->least));
        most = fmax(most, full ? k->most : fmax(0.0, k->most));
        if (widest < 0 && (k->most > RANGE || k->least < -RANGE))
            widest = c;
    }
    GNT_TRY(gnti_json_set_number(check->facts, "feature_min", least));
    GNT_TRY(gnti_json_set_number(check->facts, "feature_max", most));
    GNT_TRY(gnti_json_set_int(check->facts, "num_constant_features", num_constant));
    if (num_constant > 0)
        GNT_TRY(gnti_check_add(check, GNTI_FINDING_NOTE, NULL, "%lld of %lld features are constant",
                               (long long)num_constant, (long long)s->d->x.width));
    if (widest >= 0)
        GNT_TRY(gnti_check_add(check, GNTI_FINDING_WARNING, "scale the features before importing",
                               "feature %lld goes from %g to %g: large values make training unstable",
                               (long long)widest, s->columns[widest].least, s->columns[widest].most));
done:
    return st;
}

static gnt_status report(gnti_check *check, const scan *s)
{
    gnt_status st = GNT_OK;
    const gnti_features *x = &s->d->x;

    GNT_TRY(gnti_json_set_int(check->facts, "num_features", x->width));
    GNT_TRY(gnti_json_set_int(check->facts, "num_nonzero_features", s->num_nonzero));
    GNT_TRY(gnti_json_set_int(check->facts, "num_zero_rows", s->num_zero_rows));
    if (x->width == 0) {
        GNT_TRY(gnti_check_add(check, GNTI_FINDING_WARNING,
                               "import with --features FILE, or with --features identity",
                               "there are no features: a model has nothing to start from"));
        return GNT_OK;
    }
    if (s->num_nonfinite > 0)
        GNT_TRY(
            gnti_check_add(check, GNTI_FINDING_ERROR, "replace the values and import again",
                           "%lld feature values are NaN or infinite, the first at node %lld, feature %lld",
                           (long long)s->num_nonfinite, (long long)s->bad_row, (long long)s->bad_column));
    if (s->num_zero_rows > 0)
        GNT_TRY(gnti_check_add(check, GNTI_FINDING_NOTE, NULL, "%lld nodes have no feature but zeros",
                               (long long)s->num_zero_rows));
    GNT_TRY(report_range(check, s));
    GNT_TRY(report_leaks(check, s));
done:
    return st;
}

gnt_status gnti_check_features(gnti_check *check)
{
    gnt_status st = GNT_OK;
    const gnt_dataset *d = check->data;
    scan s = { .d = d };

    GNT_TRY(gnti_calloc_array(&s.columns, d->x.width));
    GNT_TRY(gnti_calloc_array(&s.class_size, d->y.num_classes));
    for (int64_t c = 0; c < d->x.width; c++)
        s.columns[c] = (column){
            .only_class = -1, .one_value = true, .constant = true, .least = INFINITY, .most = -INFINITY
        };
    walk(&s);
    GNT_TRY(report(check, &s));
done:
    gnti_free(s.columns);
    gnti_free(s.class_size);
    return st;
}
