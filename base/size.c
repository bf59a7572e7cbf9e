/* SPDX-License-Identifier: Apache-2.0 */
/* Checked size arithmetic, by the compiler's overflow builtins. */
#include "base/size.h"

gnt_status gnti_mul_size(size_t a, size_t b, size_t *out)
{
    gnt_status st = GNT_OK;
    size_t r;

    GNT_CHECK(!__builtin_mul_overflow(a, b, &r), GNT_ERR_LIMIT, "%zu times %zu bytes do not fit in memory", a,
              b);
    *out = r;
done:
    return st;
}

gnt_status gnti_add_size(size_t a, size_t b, size_t *out)
{
    gnt_status st = GNT_OK;
    size_t r;

    GNT_CHECK(!__builtin_add_overflow(a, b, &r), GNT_ERR_LIMIT, "%zu plus %zu bytes do not fit in memory", a,
              b);
    *out = r;
done:
    return st;
}

gnt_status gnti_to_i32(int64_t value, const char *what, int32_t *out)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(value >= INT32_MIN && value <= INT32_MAX, GNT_ERR_LIMIT, "%s: %lld exceeds the limit of %d",
              what, (long long)value, INT32_MAX);
    *out = (int32_t)value;
done:
    return st;
}
