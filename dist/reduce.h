/* SPDX-License-Identifier: Apache-2.0 */
/* What an all-reduce does with two shares of one type; every communicator adds in rank order with these, so that they agree
 * bit for bit. */
#ifndef GNTI_DIST_REDUCE_H
#define GNTI_DIST_REDUCE_H

#include "dist/comm.h"

/* Bytes of one value of a type that can be reduced, else 0. */
size_t gnti_reduce_value_bytes(gnt_dtype dtype);

/* to[i] = to[i] op from[i]. MIN and MAX answer NaN when one side is NaN; integers wrap. */
void gnti_reduce_into(void *to, const void *from, int64_t count, gnt_dtype dtype, gnti_comm_op op);

#endif
