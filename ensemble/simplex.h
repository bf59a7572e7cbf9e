/* SPDX-License-Identifier: Apache-2.0 */
/* Linear programs of modest size: maximise c x subject to A x <= b, x >= 0, with b of any sign.
 *
 * An equation is two rows, "at least" a row with its signs turned. Dense, two phases, exact but for
 * rounding; meant for at most a few thousand variables (memory: rows x (variables + rows) doubles).
 */
#ifndef GNTI_ENSEMBLE_SIMPLEX_H
#define GNTI_ENSEMBLE_SIMPLEX_H

#include "base/check.h"

#include <stdint.h>

typedef struct gnti_lp {
    int32_t num_vars, num_rows;
    const double *gain;  /* (num_vars) c */
    const double *row;   /* (num_rows, num_vars) A */
    const double *limit; /* (num_rows) b */
} gnti_lp;

typedef enum gnti_lp_end { GNTI_LP_OPTIMAL, GNTI_LP_INFEASIBLE, GNTI_LP_UNBOUNDED } gnti_lp_end;

/* x (num_vars) and *value = c x when the end is OPTIMAL, else as they were. ERR_LIMIT beyond 2000
 * variables or 4000 rows. */
gnt_status gnti_simplex(const gnti_lp *lp, double *x, double *value, gnti_lp_end *end);

#endif
