/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of a dataset are which chunk's, when it is stored in the order of a partition: `/chunks/first` in the file. */
#ifndef GNTI_DATASETS_CHUNK_ORDER_H
#define GNTI_DATASETS_CHUNK_ORDER_H

#include "datasets/h5_value.h"

/* num_chunks 0 where the file has none. ERR_FORMAT: not from 0 to num_nodes, or falling. */
gnt_status gnti_chunk_order_read(const gnti_h5 *file, int64_t num_nodes, gnti_chunk_order *out);
gnt_status gnti_chunk_order_write(gnti_h5 *file,
                                  const gnti_chunk_order *order); /* nothing for num_chunks 0 */
gnt_status gnti_chunk_order_copy(const gnti_chunk_order *from, gnti_chunk_order *to);
void gnti_chunk_order_clear(gnti_chunk_order *order);

#endif
