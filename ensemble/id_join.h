/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a file of predictions to nodes of a dataset, by id: each node once, no other id.
 *
 *   gnti_id_join_begin(data, "p.csv", &join)
 *   gnti_id_join_next(&join, text, length, &node)     for each row of the file
 *   gnti_id_join_finish(&join)                        every node was there
 *   gnti_id_join_free(&join)
 * The id of a node is the user's, else its row in the dataset that was imported. Rows in the order in which gnntrain predict
 * writes them are recognised without a table.
 */
#ifndef GNTI_ENSEMBLE_ID_JOIN_H
#define GNTI_ENSEMBLE_ID_JOIN_H

#include "datasets/dataset.h"
#include "datasets/string_table.h"

enum { GNTI_ID_BYTES = 24 };

typedef struct gnti_id_join {
    const gnt_dataset *data;
    const char *source; /* of the rows, for messages */
    int64_t *order;     /* (N) node of each row that gnntrain predict writes, NULL: row r is node r */
    gnti_string_table ids;
    bool has_table;
    uint8_t *seen; /* (N) */
    int64_t num_rows;
} gnti_id_join;

gnt_status gnti_id_join_begin(const gnt_dataset *data, const char *source, gnti_id_join *join);
/* ERR_FORMAT names an id that the dataset lacks, or that stands twice. */
gnt_status gnti_id_join_next(gnti_id_join *join, const char *text, size_t length, int64_t *node);
/* ERR_FORMAT names the first id that the file lacks. */
gnt_status gnti_id_join_finish(const gnti_id_join *join);
void gnti_id_join_free(gnti_id_join *join);

/* The node of each row that gnntrain predict writes, to be freed; NULL: row r is node r. */
gnt_status gnti_output_order(const gnt_dataset *data, int64_t **order);
/* The id of a node as text, lent: from the dataset, or in buffer. */
const char *gnti_node_id(const gnt_dataset *data, const int64_t *origin, int64_t node,
                         char buffer[GNTI_ID_BYTES]);

#endif
