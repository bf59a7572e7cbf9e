/* SPDX-License-Identifier: Apache-2.0 */
/* A partition as a picture: how even the chunks are, and who sends how much to whom. */
#ifndef GNTI_PARTITION_PARTITION_PICTURE_H
#define GNTI_PARTITION_PARTITION_PICTURE_H

#include "partition/partition.h"

/* From p->quality: columns for nodes, arcs, halo and training nodes of each chunk, and the quotient graph as shades (up to 256
 * chunks). An SVG under `path`. */
gnt_status gnti_partition_draw(const gnti_partition *p, const char *path);

#endif
