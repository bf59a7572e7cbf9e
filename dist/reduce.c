/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, minima and maxima of two arrays. NaN wins a minimum and a maximum, so that a rank that diverged shows everywhere;
 * integers are added as unsigned ones, where a wrap is defined.
 */
#include "dist/reduce.h"

#include <math.h>

#define REDUCE_LOOP(type, expression)                                                                        \
    do {                                                                                                     \
        type *to_ = to;                                                                                      \
        const type *from_ = from;                                                                            \
        for (int64_t i = 0; i < count; i++) {                                                                \
            const type a = to_[i], b = from_[i];                                                             \
            to_[i] = (type)(expression);                                                                     \
        }                                                                                                    \
    } while (0)

#define REDUCE_FLOAT(type)                                                                                   \
    do {                                                                                                     \
        if (op == GNTI_COMM_SUM)                                                                             \
            REDUCE_LOOP(type, a + b);                                                                        \
        else if (op == GNTI_COMM_MIN)                                                                        \
            REDUCE_LOOP(type, isnan(a) || a <= b ? a : b);                                                   \
        else                                                                                                 \
            REDUCE_LOOP(type, isnan(a) || a >= b ? a : b);                                                   \
    } while (0)

#define REDUCE_INT(type, unsigned_type)                                                                      \
    do {                                                                                                     \
        if (op == GNTI_COMM_SUM)                                                                             \
            REDUCE_LOOP(type, (unsigned_type)a + (unsigned_type)b);                                          \
        else if (op == GNTI_COMM_MIN)                                                                        \
            REDUCE_LOOP(type, a <= b ? a : b);                                                               \
        else                                                                                                 \
            REDUCE_LOOP(type, a >= b ? a : b);                                                               \
    } while (0)

size_t gnti_reduce_value_bytes(gnt_dtype dtype)
{
    switch (dtype) {
    case GNT_F64:
    case GNT_I64:
        return 8;
    case GNT_F32:
    case GNT_I32:
        return 4;
    case GNT_U8:
        return 1;
    default:
        return 0;
    }
}

static void reduce_floats(float *to, const float *from, int64_t count, gnti_comm_op op)
{
    REDUCE_FLOAT(float);
}

static void reduce_doubles(double *to, const double *from, int64_t count, gnti_comm_op op)
{
    REDUCE_FLOAT(double);
}

static void reduce_ints(int32_t *to, const int32_t *from, int64_t count, gnti_comm_op op)
{
    REDUCE_INT(int32_t, uint32_t);
}

static void reduce_longs(int64_t *to, const int64_t *from, int64_t count, gnti_comm_op op)
{
    REDUCE_INT(int64_t, uint64_t);
}

static void reduce_bytes(uint8_t *to, const uint8_t *from, int64_t count, gnti_comm_op op)
{
    REDUCE_INT(uint8_t, uint8_t);
}

void gnti_reduce_into(void *to, const void *from, int64_t count, gnt_dtype dtype, gnti_comm_op op)
{
    switch (dtype) {
    case GNT_F32:
        reduce_floats(to, from, count, op);
        break;
    case GNT_F64:
        reduce_doubles(to, from, count, op);
        break;
    case GNT_I32:
        reduce_ints(to, from, count, op);
        break;
    case GNT_I64:
        reduce_longs(to, from, count, op);
        break;
    default:
        reduce_bytes(to, from, count, op);
    }
}
