/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a dataset file's adjacency one block after the other, for what must never hold all arcs.
 *
 * A block is whole rows, at most a few MiB of arcs (a longer row comes alone), checked as they pass: offsets monotone, columns
 * in range and ascending. Rows that are not sorted and merged are ERR_UNSUPPORTED, since what follows them (arc numbers, the sum)
 * would need all of them at once: `gnntrain split` and every other verb that writes stores them sorted.
 */
#ifndef GNTI_DATASETS_ARC_STREAM_H
#define GNTI_DATASETS_ARC_STREAM_H

#include "datasets/dataset.h"

typedef struct gnti_arc_stream gnti_arc_stream;

/* What the file says about itself; graph_sha256 is computed when it is not stated. */
typedef struct gnti_arc_stream_facts {
    int64_t num_nodes, num_arcs;
    bool directed;
    char graph_sha256[65];
    char source_sha256
        [65]; /* of the dataset that was imported, when the file is stored in chunk order; else the same */
} gnti_arc_stream_facts;

gnt_status gnti_arc_stream_open(const char *path, gnti_arc_stream **out);
void gnti_arc_stream_close(gnti_arc_stream **s);
const gnti_arc_stream_facts *gnti_arc_stream_get_facts(const gnti_arc_stream *s);

/* Rows first_row .. first_row + num_rows - 1; the arcs of row first_row + i are columns[offsets[i]] .. [offsets[i + 1] - 1].
 * Lent until the next call. */
typedef struct gnti_arc_block {
    int64_t first_row, num_rows;
    int64_t first_arc; /* number of columns[0] in the file */
    const int64_t *offsets;
    const int32_t *columns;
} gnti_arc_block;

/* The next block; false behind the last row or on a failure, which status then answers. rewind starts again. */
bool gnti_arc_stream_next(gnti_arc_stream *s, gnti_arc_block *out);
gnt_status gnti_arc_stream_status(const gnti_arc_stream *s);
void gnti_arc_stream_rewind(gnti_arc_stream *s);

/* Test hook: rows and arcs of a block from now on; 0: as usual. */
void gnti_arc_stream_set_block(gnti_arc_stream *s, int64_t rows, int64_t arcs);

/* All arcs in memory after all, without features, labels and weights. */
gnt_status gnti_arc_stream_read_graph(gnti_arc_stream *s, gnti_graph **out);

/* A split's training nodes as a mask (N) of bytes, to be freed: by name, or NULL: "public" or the only one. *mask is NULL when
 * there is no split (and none was named). ERR_USAGE lists the names there are. */
gnt_status gnti_arc_stream_read_train(gnti_arc_stream *s, const char *split, uint8_t **mask);

/* The row of the imported dataset that each row is (N), to be freed; NULL: the rows themselves (gnti_dataset_get_origin). */
gnt_status gnti_arc_stream_read_origin(gnti_arc_stream *s, int64_t **origin);

#endif
