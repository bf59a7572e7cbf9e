/* SPDX-License-Identifier: Apache-2.0 */
/* The simplex method against every vertex of small programs, and the programs that it must not fail on: none
 * feasible, none bounded, degenerate ones, the one on which it circles without Bland's rule.
 */
#include "tests/support/gnt_test.h"

#include "base/philox.h"
#include "ensemble/simplex.h"

#include <math.h>
#include <string.h>

enum { MAX_VARS = 5, MAX_ROWS = 7, SIDES = MAX_VARS + MAX_ROWS };

typedef struct program {
    gnti_lp lp;
    double gain[MAX_VARS], row[MAX_ROWS * MAX_VARS], limit[MAX_ROWS];
} program;

static int32_t draw(uint64_t seed, int64_t *next, int32_t low, int32_t high)
{
    const uint32_t word = gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 12, 0, (*next)++, 0);

    return low + (int32_t)gnti_below(word, (uint32_t)(high - low + 1));
}

/* Small whole numbers: ties and degenerate vertices are common. */
static void make_random(program *p, uint64_t seed)
{
    int64_t next = 0;
    const int32_t vars = draw(seed, &next, 1, MAX_VARS), rows = draw(seed, &next, 1, MAX_ROWS);

    p->lp = (gnti_lp){ vars, rows, p->gain, p->row, p->limit };
    for (int32_t j = 0; j < vars; j++)
        p->gain[j] = draw(seed, &next, -3, 5);
    for (int32_t i = 0; i < rows; i++) {
        for (int32_t j = 0; j < vars; j++)
            p->row[i * vars + j] = draw(seed, &next, -2, 4);
        p->limit[i] = draw(seed, &next, -3, 9);
    }
}

/* Side k of the feasible set: a row for k < rows, else x_(k - rows) >= 0. */
static double side(const program *p, int32_t k, int32_t j)
{
    return k < p->lp.num_rows ? p->row[k * p->lp.num_vars + j] : k - p->lp.num_rows == j ? -1.0 : 0.0;
}

static double side_limit(const program *p, int32_t k)
{
    return k < p->lp.num_rows ? p->limit[k] : 0.0;
}

/* The point where `vars` sides meet; false: they do not in one point. Gauss with the largest pivot. */
static bool meet(const program *p, const int32_t *chosen, double *x)
{
    const int32_t n = p->lp.num_vars;
    double a[MAX_VARS][MAX_VARS + 1];

    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++)
            a[i][j] = side(p, chosen[i], j);
        a[i][n] = side_limit(p, chosen[i]);
    }
    for (int32_t c = 0; c < n; c++) {
        int32_t pick = c;

        for (int32_t i = c + 1; i < n; i++)
            pick = fabs(a[i][c]) > fabs(a[pick][c]) ? i : pick;
        if (fabs(a[pick][c]) < 1e-9)
            return false;
        for (int32_t j = 0; j <= n; j++) {
            const double held = a[c][j];

            a[c][j] = a[pick][j];
            a[pick][j] = held;
        }
        for (int32_t i = 0; i < n; i++) {
            const double factor = i == c ? 0.0 : a[i][c] / a[c][c];

            for (int32_t j = 0; j <= n; j++)
                a[i][j] -= factor * a[c][j];
        }
    }
    for (int32_t j = 0; j < n; j++)
        x[j] = a[j][n] / a[j][j];
    return true;
}

static bool is_feasible(const program *p, const double *x)
{
    for (int32_t k = 0; k < p->lp.num_rows + p->lp.num_vars; k++) {
        double sum = 0.0;

        for (int32_t j = 0; j < p->lp.num_vars; j++)
            sum += side(p, k, j) * x[j];
        if (sum > side_limit(p, k) + 1e-7)
            return false;
    }
    return true;
}

/* The best vertex; -INFINITY: none is feasible. */
static double best_vertex(const program *p)
{
    const int32_t n = p->lp.num_vars, sides = n + p->lp.num_rows;
    double best = -INFINITY;

    for (uint32_t set = 0; set < 1u << sides; set++) {
        int32_t chosen[SIDES], num = 0;
        double x[MAX_VARS], value = 0.0;

        for (int32_t k = 0; k < sides; k++)
            if (set >> k & 1)
                chosen[num++] = k;
        if (num != n || !meet(p, chosen, x) || !is_feasible(p, x))
            continue;
        for (int32_t j = 0; j < n; j++)
            value += p->gain[j] * x[j];
        best = fmax(best, value);
    }
    return best;
}

/* With a wall far away the optimum lies on it iff there is none without. */
static bool is_unbounded(const program *p, double best)
{
    program walled = *p;

    walled.lp = (gnti_lp){ p->lp.num_vars, p->lp.num_rows + 1, walled.gain, walled.row, walled.limit };
    assert_true(walled.lp.num_rows <= MAX_ROWS);
    for (int32_t j = 0; j < p->lp.num_vars; j++)
        walled.row[p->lp.num_rows * p->lp.num_vars + j] = 1.0;
    walled.limit[p->lp.num_rows] = 1e4;
    return best_vertex(&walled) > best + 1.0;
}

static void test_every_vertex(void **state)
{
    int32_t count[3] = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        program p;
        double x[MAX_VARS], value = 0.0, sum = 0.0, best;
        gnti_lp_end end;

        make_random(&p, seed);
        if (p.lp.num_rows == MAX_ROWS)
            p.lp.num_rows--; /* room for the wall */
        gnt_assert_ok(gnti_simplex(&p.lp, x, &value, &end));
        count[end]++;
        best = best_vertex(&p);
        if ((end == GNTI_LP_INFEASIBLE) != (best == -INFINITY))
            fail_msg("seed %llu: end %d, the best vertex has %g", (unsigned long long)seed, (int)end, best);
        if (end == GNTI_LP_INFEASIBLE)
            continue;
        if ((end == GNTI_LP_UNBOUNDED) != is_unbounded(&p, best))
            fail_msg("seed %llu: end %d, the best vertex has %g", (unsigned long long)seed, (int)end, best);
        if (end == GNTI_LP_UNBOUNDED)
            continue;
        for (int32_t j = 0; j < p.lp.num_vars; j++)
            sum += p.gain[j] * x[j];
        if (!is_feasible(&p, x) || fabs(sum - value) > 1e-7 || fabs(value - best) > 1e-7 * (1.0 + fabs(best)))
            fail_msg("seed %llu: value %g at a point of %g, the best vertex has %g", (unsigned long long)seed,
                     value, sum, best);
    }
    assert_true(count[0] > 200 && count[1] > 50 && count[2] > 200);
}

static gnti_lp_end solve(int32_t vars, int32_t rows, const double *gain, const double *row,
                         const double *limit, double *value)
{
    double x[8];
    gnti_lp_end end;

    gnt_assert_ok(gnti_simplex(&(gnti_lp){ vars, rows, gain, row, limit }, x, value, &end));
    return end;
}

static void test_programs_that_circle(void **state)
{
    /* Beale, 1955; Kuhn's example as in Balinski and Tucker, 1969 */
    const double beale_gain[4] = { 0.75, -150.0, 0.02, -6.0 };
    const double beale[12] = { 0.25, -60.0, -0.04, 9.0, 0.5, -90.0, -0.02, 3.0, 0.0, 0.0, 1.0, 0.0 };
    const double kuhn_gain[4] = { 2.0, 3.0, -1.0, -12.0 };
    const double kuhn[12] = { -2.0, -9.0, 1.0, 9.0, 1.0 / 3.0, 1.0, -1.0 / 3.0, -2.0, 2.0, 3.0, -1.0, -12.0 };
    double value = 0.0;

    (void)state;
    assert_int_equal(solve(4, 3, beale_gain, beale, (double[]){ 0.0, 0.0, 1.0 }, &value), GNTI_LP_OPTIMAL);
    assert_true(fabs(value - 0.05) < 1e-9);
    assert_int_equal(solve(4, 3, kuhn_gain, kuhn, (double[]){ 0.0, 0.0, 2.0 }, &value), GNTI_LP_OPTIMAL);
    assert_true(fabs(value - 2.0) < 1e-9);
}

static void test_equations_and_limits(void **state)
{
    /* x + y = 4, x >= 1, maximise x + 2 y: (1, 3) */
    const double row[6] = { 1.0, 1.0, -1.0, -1.0, -1.0, 0.0 };
    double value = 0.0, x[1];
    gnti_lp_end end;

    (void)state;
    assert_int_equal(solve(2, 3, (double[]){ 1.0, 2.0 }, row, (double[]){ 4.0, -4.0, -1.0 }, &value),
                     GNTI_LP_OPTIMAL);
    assert_true(fabs(value - 7.0) < 1e-9);
    assert_int_equal(solve(2, 3, (double[]){ 1.0, 2.0 }, row, (double[]){ 4.0, -4.0, -5.0 }, &value),
                     GNTI_LP_INFEASIBLE);
    assert_int_equal(solve(1, 0, (double[]){ 1.0 }, row, NULL, &value), GNTI_LP_UNBOUNDED);
    gnt_assert_status(gnti_simplex(&(gnti_lp){ 2001, 0, NULL, NULL, NULL }, x, &value, &end), GNT_ERR_LIMIT);
    gnt_assert_error_has("2001", "2000");
}

static void test_no_memory(void **state)
{
    double value = 0.0, x[1] = { 0.0 };
    gnti_lp_end end = GNTI_LP_UNBOUNDED;

    (void)state;
    GNT_BRUTAL(gnti_simplex(&(gnti_lp){ 1, 1, (double[]){ 1.0 }, (double[]){ 2.0 }, (double[]){ 3.0 } }, x,
                            &value, &end));
    assert_true(end == GNTI_LP_OPTIMAL && value == 1.5 && x[0] == 1.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_vertex),
        cmocka_unit_test(test_programs_that_circle),
        cmocka_unit_test(test_equations_and_limits),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
