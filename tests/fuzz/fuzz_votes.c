/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of predictions, .npy and CSV, up to a combination: five nodes with ids 10 to 14, two classes. */
#include "tests/fuzz/fuzz_target.h"

#include "ensemble/combine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 5 };

static gnt_dataset *make_dataset(void)
{
    static const int64_t indptr[NODES + 1], labels[] = { 0, 1, 0, 1, 1 }, nodes[] = { 0, 1, 2, 3, 4 };
    static const int32_t indices[1];
    static const float x[NODES];
    gnt_dataset *data = NULL;
    gnt_dataset_arrays a;

    gnt_dataset_arrays_init(&a);
    a.num_nodes = NODES;
    a.num_features = 1;
    a.num_classes = 2;
    a.indptr = indptr;
    a.indices = indices;
    a.x = x;
    a.label_kind = GNT_LABELS_CLASS;
    a.y_class = labels;
    a.train = nodes;
    a.num_train = 1;
    a.valid = nodes + 1;
    a.num_valid = 2;
    a.test = nodes + 3;
    a.num_test = 2;
    if (gnt_dataset_from_arrays(NULL, &a, &data) != GNT_OK || gnti_alloc_array(&data->id, NODES) != GNT_OK)
        abort();
    for (int64_t i = 0; i < NODES; i++)
        data->id[i] = 10 + i;
    return data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gnt_dataset *dataset;
    const bool is_array = size > 0 && (data[0] == 0x93 || data[0] == 0x1f);
    const char *path = fuzz_path(data, size);
    const gnti_combine_config config = { .how = GNTI_COMBINE_GREEDY, .rounds = 3, .temperature = true };
    gnti_votes votes = { 0 };
    gnti_combined made = { 0 };
    char name[96];

    dataset = dataset != NULL ? dataset : make_dataset();
    snprintf(name, sizeof name, "%s%s", path, is_array ? ".npy" : ".csv");
    if (rename(path, name) != 0)
        abort();
    const gnt_status st = gnti_votes_open(name, dataset, &votes);

    fuzz_check_contract(st, votes.name);
    if (st == GNT_OK && gnti_combine_members(&votes, 1, dataset, &config, &made) == GNT_OK)
        gnti_combined_free(&made, 1);
    gnti_votes_close(&votes);
    (void)unlink(name);
    return 0;
}
