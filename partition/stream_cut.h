/* SPDX-License-Identifier: Apache-2.0 */
/* The greedy placer behind LDG and Fennel: rows are shown to it one after the other, from memory or from a file.
 *
 *   LDG     v -> argmax_i  c_i (1 - f_i / tolerance)             c_i: neighbours of v in P_i
 *   Fennel  v -> argmax_i  c_i - 1.5 alpha sqrt(n f_i / k)       alpha = sqrt(k) m / n^1.5
 * f_i is how full P_i is, 1 when it has its share: of work (arc_work degree + row_work), or of rows over 1.5 when that is more,
 * so that leaves of hubs do not pile up. A part is closed for what would take it over the tolerance. Ties: the emptier part, then
 * the lower index. In a further pass all parts start empty, and neighbours that this pass has not seen count where the pass
 * before left them (Nishimura, Ugander, KDD 2013). Memory is O(n + k).
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
