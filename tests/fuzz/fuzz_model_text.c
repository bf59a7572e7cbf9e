/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of model texts ("gcn:16:norm=batch, gcn") up to layers with their widths and parameters. */
#include "tests/fuzz/fuzz_target.h"

#include <gnntrain/gnntrain.h>

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static gnt_context *g_ctx;
static gnt_dataset *g_data;

/* Three nodes in a row with two features and two classes: a text only needs widths. */
static gnt_status make_data(void)
{
    static const int64_t indptr[] = { 0, 1, 3, 4 }, labels[] = { 0, 1, 0 }, train[] = { 0 }, valid[] = { 1 },
                         test[] = { 2 };
    static const int32_t indices[] = { 1, 0, 2, 1 };
    static const float x[] = { 1.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f };
    gnt_status st = GNT_OK;
    gnt_dataset_arrays arrays;

    gnt_dataset_arrays_init(&arrays);
    arrays.num_nodes = 3;
    arrays.num_features = 2;
    arrays.num_classes = 2;
    arrays.indptr = indptr;
    arrays.indices = indices;
    arrays.x = x;
    arrays.label_kind = GNT_LABELS_CLASS;
    arrays.y_class = labels;
    arrays.train = train;
    arrays.valid = valid;
    arrays.test = test;
    arrays.num_train = arrays.num_valid = arrays.num_test = 1;
    GNT_TRY(gnt_context_create("device=cpu;threads=1", &g_ctx));
    GNT_TRY(gnt_dataset_from_arrays(g_ctx, &arrays, &g_data));
done:
    return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnt_model *model = NULL;
    char *text = NULL;

    if (g_data == NULL && make_data() != GNT_OK)
        abort();
    if (gnti_alloc_array(&text, (int64_t)size + 1) != GNT_OK)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    const gnt_status st = gnt_model_create(g_data, text, &model);

    fuzz_check_contract(st, model);
    gnt_model_free(&model);
    gnti_free(text);
    return 0;
}
