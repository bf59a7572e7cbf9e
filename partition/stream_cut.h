/* SPDX-License-Identifier: Apache-2.0 */
/* The greedy placer behind LDG and Fennel: rows are shown to it one after the other, from memory or from a file.
 *
 *   LDG     v -> argmax_i  c_i (1 - |P_i| / C_i)                 c_i: neighbours of v in P_i
 *   Fennel  v -> argmax_i  c_i - 1.5 alpha sqrt(x_i)             alpha = sqrt(k) m / n^1.5
 * Sizes |P_i| are work (arc_work degree + row_work), C_i = tolerance * share_i * all work, x_i = n |P_i| / (k share_i * all work).
 * A part is closed for what does not fit its C_i. Ties: the part with less work for its share, then the lower index. In a
 * further pass sizes start from nothing, and neighbours that this pass has not seen count where the pass before left them
 * (Nishimura, Ugander, KDD 2013). Memory is O(n + k).
 */
#ifndef GNTI_PARTITION_STREAM_CUT_H
#define GNTI_PARTITION_STREAM_CUT_H

#include "partition/partition_internal.h"

typedef struct gnti_stream_cut gnti_stream_cut;

/* chunk_of (N) is lent and filled. config: LDG or FENNEL. */
gnt_status gnti_stream_cut_create(int64_t num_nodes, int64_t num_arcs, const gnti_partition_config *config,
                                  const gnti_cut_targets *t, int32_t *chunk_of, gnti_stream_cut **out);
void gnti_stream_cut_free(gnti_stream_cut **s);

/* Before the rows of each pass; then rows in ascending order, all of them. */
void gnti_stream_cut_begin_pass(gnti_stream_cut *s);
void gnti_stream_cut_add_rows(gnti_stream_cut *s, int64_t first_row, int64_t num_rows, const int64_t *offsets,
                              const int32_t *columns);

/* After a pass: whether another one pays (at most 5; the halo, as seen while placing, fell by 1 % or more). */
bool gnti_stream_cut_wants_more(const gnti_stream_cut *s);
int32_t gnti_stream_cut_num_passes(const gnti_stream_cut *s);

#endif
