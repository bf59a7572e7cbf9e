/* SPDX-License-Identifier: Apache-2.0 */
/* Checked sizes: the only places where 64-bit counts become bytes or 32-bit indices. */
#ifndef GNTI_BASE_SIZE_H
#define GNTI_BASE_SIZE_H

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

/* a * b and a + b, ERR_LIMIT when the result does not fit. */
gnt_status gnti_mul_size(size_t a, size_t b, size_t *out);
gnt_status gnti_add_size(size_t a, size_t b, size_t *out);

/* Narrows a count to 32 bits; `what` names it in the error text ("columns"). */
gnt_status gnti_to_i32(int64_t value, const char *what, int32_t *out);

static inline int64_t gnti_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t gnti_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Rounds up to a multiple of a power of two. */
static inline size_t gnti_round_up(size_t value, size_t multiple)
{
    return (value + multiple - 1) & ~(multiple - 1);
}

static inline int64_t gnti_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

#endif
