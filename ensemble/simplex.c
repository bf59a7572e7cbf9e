/* SPDX-License-Identifier: Apache-2.0 */
/* The two-phase simplex method on a dense tableau.
 *
 *   row i:     x_B(i) + sum over columns j outside the basis of a_ij x_j = b_i        i = 0 .. rows - 1
 *   last row:  reduced gains: a variable with a positive one makes the objective grow
 * Columns outside the basis are all that is stored (rows x vars): a pivot changes the names of a row and a
 * column. Where b has a negative entry, phase one adds one column x_0 with -1 in each row, enters it against
 * the most negative row, and drives it back to 0. Entering is the largest reduced gain while the objective
 * moves, and after a run of pivots that do not move it Bland's rule (lowest number, 1977), which ends.
 */
#include "ensemble/simplex.h"

#include "base/alloc.h"

#include <math.h>
#include <stdbool.h>

#define TINY       1e-9
#define MOST_VARS  2000
#define MOST_ROWS  4000
#define PATIENCE   8   /* pivots without progress before Bland's rule */
#define MOST_TURNS 100 /* pivots for each row and column: rounding alone could go so far */

typedef struct tableau {
    int32_t rows, columns; /* without the last row, and without b */
    int32_t width;         /* of a stored row: columns, b */
    double *cell;          /* (rows + 1, width) */
    int32_t *basis;        /* (rows) variable of a row */
    int32_t *outside;      /* (columns) variable of a column */
} tableau;

static double *row_of(const tableau *t, int32_t row)
{
    return t->cell + (int64_t)row * t->width;
}

static void pivot(tableau *t, int32_t row, int32_t column)
{
    double *const p = row_of(t, row);
    const double scale = 1.0 / p[column];
    const int32_t variable = t->basis[row];

    p[column] = 1.0;
    for (int32_t j = 0; j < t->width; j++)
        p[j] *= scale;
    for (int32_t i = 0; i <= t->rows; i++) {
        double *const r = row_of(t, i);
        const double factor = r[column];

        if (i == row || factor == 0.0)
            continue;
        r[column] = 0.0;
        for (int32_t j = 0; j < t->width; j++)
            r[j] -= factor * p[j];
    }
    t->basis[row] = t->outside[column];
    t->outside[column] = variable;
}

/* The column that enters: the largest gain, or by Bland's rule the lowest variable with one. -1: optimal. */
static int32_t entering(const tableau *t, bool bland, int32_t barred)
{
    const double *const gain = row_of(t, t->rows);
    int32_t pick = -1;

    for (int32_t j = 0; j < t->columns; j++) {
        if (gain[j] <= TINY || t->outside[j] == barred)
            continue;
        if (pick < 0 || (bland ? t->outside[j] < t->outside[pick] : gain[j] > gain[pick]))
            pick = j;
    }
    return pick;
}

/* The row that leaves: the least ratio, of equal ones the lowest variable. -1: nothing bounds the column. */
static int32_t leaving(const tableau *t, int32_t column)
{
    double least = INFINITY;
    int32_t pick = -1;

    for (int32_t i = 0; i < t->rows; i++) {
        const double *const r = row_of(t, i);
        double ratio, near;

        if (r[column] <= TINY)
            continue;
        ratio = fmax(0.0, r[t->columns]) / r[column];
        near = TINY * (1.0 + ratio);
        if (pick < 0 || ratio < least - near || (ratio <= least + near && t->basis[i] < t->basis[pick])) {
            least = pick < 0 ? ratio : fmin(least, ratio);
            pick = i;
        }
    }
    return pick;
}

static gnt_status climb(tableau *t, int32_t barred, gnti_lp_end *end)
{
    gnt_status st = GNT_OK;
    int64_t left = (int64_t)MOST_TURNS * (t->rows + t->columns);
    int32_t still = 0;

    for (;;) {
        const double before = row_of(t, t->rows)[t->columns];
        const int32_t column = entering(t, still >= PATIENCE, barred);
        const int32_t row = column < 0 ? -1 : leaving(t, column);

        *end = column < 0 ? GNTI_LP_OPTIMAL : GNTI_LP_UNBOUNDED;
        if (column < 0 || row < 0)
            break;
        GNT_CHECK(left-- > 0, GNT_ERR_NUMERIC, "a linear program of %d rows and %d columns does not end",
                  t->rows, t->columns);
        pivot(t, row, column);
        still = fabs(row_of(t, t->rows)[t->columns] - before) > TINY * (1.0 + fabs(before)) ? 0 : still + 1;
    }
done:
    return st;
}

/* Variables are numbered 0 .. vars - 1, slacks from vars on, x_0 is vars + rows, in the last column. */
static gnt_status fill(const gnti_lp *lp, tableau *t)
{
    gnt_status st = GNT_OK;
    const int32_t vars = lp->num_vars, rows = lp->num_rows;

    *t = (tableau){ .rows = rows, .columns = vars + 1, .width = vars + 2 };
    GNT_TRY(gnti_calloc_array(&t->cell, (int64_t)(rows + 1) * t->width));
    GNT_TRY(gnti_alloc_array(&t->basis, rows));
    GNT_TRY(gnti_alloc_array(&t->outside, t->columns));
    for (int32_t j = 0; j <= vars; j++)
        t->outside[j] = j < vars ? j : vars + rows;
    for (int32_t i = 0; i < rows; i++) {
        double *const r = row_of(t, i);

        for (int32_t j = 0; j < vars; j++)
            r[j] = lp->row[(int64_t)i * vars + j];
        r[vars] = -1.0;
        r[vars + 1] = lp->limit[i];
        t->basis[i] = vars + i;
    }
done:
    return st;
}

/* The last row for gains c of the variables, as the basis sees them; its last cell is minus the objective. */
static void set_gains(tableau *t, const double *gain, int32_t vars)
{
    double *const last = row_of(t, t->rows);

    for (int32_t j = 0; j < t->width; j++)
        last[j] = j < t->columns && t->outside[j] < vars ? gain[t->outside[j]] : 0.0;
    for (int32_t i = 0; i < t->rows; i++) {
        const double factor = t->basis[i] < vars ? gain[t->basis[i]] : 0.0;

        for (int32_t j = 0; factor != 0.0 && j < t->width; j++)
            last[j] -= factor * row_of(t, i)[j];
    }
}

/* x_0 is still in the basis, at 0: it is exchanged for anything. */
static void drive_out(tableau *t, int32_t row)
{
    const double *const r = row_of(t, row);
    int32_t column = 0;

    for (int32_t j = 1; j < t->columns; j++)
        column = fabs(r[j]) > fabs(r[column]) ? j : column;
    if (r[column] != 0.0)
        pivot(t, row, column);
}

/* Brings all of b above 0; the end is INFEASIBLE when no x does. */
static gnt_status phase_one(tableau *t, int32_t extra, gnti_lp_end *end)
{
    gnt_status st = GNT_OK;
    double *const last = row_of(t, t->rows);
    int32_t worst = -1, row = -1;

    *end = GNTI_LP_OPTIMAL;
    for (int32_t i = 0; i < t->rows; i++)
        if (row_of(t, i)[t->columns] < -TINY &&
            (worst < 0 || row_of(t, i)[t->columns] < row_of(t, worst)[t->columns]))
            worst = i;
    if (worst < 0)
        return GNT_OK;
    for (int32_t j = 0; j < t->width; j++)
        last[j] = 0.0;
    last[t->columns - 1] = -1.0; /* maximise -x_0 */
    pivot(t, worst, t->columns - 1);
    GNT_TRY(climb(t, -1, end));
    for (int32_t i = 0; i < t->rows; i++)
        row = t->basis[i] == extra ? i : row;
    *end = row >= 0 && row_of(t, row)[t->columns] > 1e-7 ? GNTI_LP_INFEASIBLE : GNTI_LP_OPTIMAL;
    if (row >= 0 && *end == GNTI_LP_OPTIMAL)
        drive_out(t, row);
done:
    return st;
}

gnt_status gnti_simplex(const gnti_lp *lp, double *x, double *value, gnti_lp_end *end)
{
    gnt_status st = GNT_OK;
    tableau t = { 0 };
    const int32_t extra = lp->num_vars + lp->num_rows;
    gnti_lp_end reached;

    GNT_CHECK(lp->num_vars <= MOST_VARS && lp->num_rows <= MOST_ROWS, GNT_ERR_LIMIT,
              "a linear program has %d variables and %d rows, the limits are %d and %d", lp->num_vars,
              lp->num_rows, MOST_VARS, MOST_ROWS);
    GNT_TRY(fill(lp, &t));
    GNT_TRY(phase_one(&t, extra, &reached));
    if (reached == GNTI_LP_OPTIMAL) {
        set_gains(&t, lp->gain, lp->num_vars);
        GNT_TRY(climb(&t, extra, &reached));
    }
    *end = reached;
    if (reached == GNTI_LP_OPTIMAL) {
        for (int32_t j = 0; j < lp->num_vars; j++)
            x[j] = 0.0;
        for (int32_t i = 0; i < t.rows; i++)
            if (t.basis[i] < lp->num_vars)
                x[t.basis[i]] = fmax(0.0, row_of(&t, i)[t.columns]);
        *value = -row_of(&t, t.rows)[t.columns];
    }
done:
    gnti_free(t.cell);
    gnti_free(t.basis);
    gnti_free(t.outside);
    return st;
}
