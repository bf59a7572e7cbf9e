/* SPDX-License-Identifier: Apache-2.0 */
/* Datasets whose rows were put in another order: /nodes/origin names the row of each node in the dataset that was imported.
 *
 * Everything that a run keeps goes by those rows: keys of random numbers, partitions, outputs, sums of splits. Where
 * /nodes/origin is no permutation the file is a piece of a larger dataset, and stands for itself.
 */
#include "datasets/dataset.h"

#include <stdlib.h>
#include <string.h>

gnt_status gnti_dataset_get_origin(const gnt_dataset *data, const int64_t **origin)
{
    gnt_status st = GNT_OK;
    const gnti_array *a = gnti_dataset_find_array(data, "/nodes/origin");
    const int64_t *row = a != NULL ? a->data : NULL;
    uint8_t *seen = NULL;

    *origin = NULL;
    if (a == NULL || a->dtype != GNTI_FILE_I64 || a->width != 1 || a->rows != data->num_nodes)
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&seen, data->num_nodes));
    for (int64_t i = 0; i < data->num_nodes; i++) {
        if (row[i] < 0 || row[i] >= data->num_nodes || seen[row[i]])
            goto done;
        seen[row[i]] = 1;
    }
    *origin = row;
done:
    gnti_free(seen);
    return st;
}

static int compare_i64(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

gnt_status gnti_split_sum_imported(const gnti_split *split, const int64_t *origin, char hex[65])
{
    gnt_status st = GNT_OK;
    gnti_split moved = *split;

    if (origin == NULL)
        return gnti_split_sum(split, hex);
    memset(moved.nodes, 0, sizeof moved.nodes);
    for (int part = 0; part < 3; part++) {
        GNT_TRY(gnti_alloc_array(&moved.nodes[part], split->num_nodes[part]));
        for (int64_t i = 0; i < split->num_nodes[part]; i++)
            moved.nodes[part][i] = origin[split->nodes[part][i]];
        qsort(moved.nodes[part], (size_t)split->num_nodes[part], sizeof(int64_t), compare_i64);
    }
    GNT_TRY(gnti_split_sum(&moved, hex));
done:
    for (int part = 0; part < 3; part++)
        gnti_free(moved.nodes[part]);
    return st;
}
