/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank did when: ops, exchanges, waits, as Chrome's trace events (about://tracing, Perfetto read them). A rank is a
 * process of the picture; its thread 0 shows ops and waits, thread 1 rows under way, so that overlap is what lies above ops.
 * Events go into room that is taken at once; what does not fit is counted, not kept.
 */
#ifndef GNTI_NN_TRACE_H
#define GNTI_NN_TRACE_H

#include "base/check.h"

#include <stdint.h>

typedef struct gnti_trace gnti_trace;

typedef enum gnti_trace_kind { GNTI_TRACE_OP, GNTI_TRACE_WAIT, GNTI_TRACE_TRANSFER } gnti_trace_kind;

gnt_status gnti_trace_create(int64_t max_events, gnti_trace **out);
void gnti_trace_free(gnti_trace **t);
/* Seconds of one clock for the whole trace; the name is copied (31 bytes at most). */
void gnti_trace_add(gnti_trace *t, gnti_trace_kind kind, const char *name, int32_t layer, int64_t step,
                    double begin, double end);
int64_t gnti_trace_num_events(const gnti_trace *t);
int64_t gnti_trace_num_lost(const gnti_trace *t);
/* One JSON array of the traces of ranks first_rank .. first_rank + num_ranks - 1. Caller frees. */
gnt_status gnti_trace_print(const gnti_trace *const *traces, int32_t num_ranks, int32_t first_rank,
                            char **out);

#endif
