/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of ensemble specs (YAML): up to members with seeds and settings, what makes them fusible, and their loss weights. */
#include "tests/fuzz/fuzz_target.h"

#include <gnntrain/gnntrain.h>

#include "base/alloc.h"
#include "ensemble/fusion.h"

#include <stdlib.h>
#include <string.h>

static gnt_context *g_ctx;
static gnt_dataset *g_data;

/* Six nodes in a ring with two features and two classes, half of them for training. */
static gnt_status make_data(void)
{
    static const int64_t indptr[] = { 0, 2, 4, 6, 8, 10, 12 }, labels[] = { 0, 1, 0, 1, 0, 1 },
                         train[] = { 0, 1, 2 }, valid[] = { 3 }, test[] = { 4, 5 };
    static const int32_t indices[] = { 1, 5, 0, 2, 1, 3, 2, 4, 3, 5, 0, 4 };
    static const float x[] = { 1.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f };
    gnt_status st = GNT_OK;
    gnt_dataset_arrays arrays;

    gnt_dataset_arrays_init(&arrays);
    arrays.num_nodes = 6;
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
    arrays.num_train = 3;
    arrays.num_valid = 1;
    arrays.num_test = 2;
    GNT_TRY(gnt_context_create("device=cpu;threads=1", &g_ctx));
    GNT_TRY(gnt_dataset_from_arrays(g_ctx, &arrays, &g_data));
done:
    return st;
}

/* What must hold of any spec that was taken. */
static void check_members(const gnti_spec *spec)
{
    if (spec->num_members < 1 || spec->num_members > GNTI_SPEC_MAX_MEMBERS)
        abort();
    for (int32_t m = 0; m < spec->num_members && m < 32; m++) {
        const gnti_spec_member *member = &spec->members[m];
        float *weight = NULL;
        char *key = NULL;
        gnt_status st = gnti_fusion_key(member, &key);

        fuzz_check_contract(st, key);
        gnti_free(key);
        if (member->seed == 0 || member->seed >= (uint64_t)1 << 53 || member->train.seeds != 1)
            abort();
        st = gnti_spec_member_weights(member, g_data, &weight);
        for (int i = 0; st == GNT_OK && weight != NULL && i < 6; i++)
            if (!(weight[i] >= 0.0f))
                abort();
        gnti_free(weight);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnti_spec *spec = NULL;

    if (g_data == NULL && make_data() != GNT_OK)
        abort();
    const gnt_status st = gnti_spec_parse(g_ctx, (const char *)data, size, "fuzz.yaml", g_data, &spec);

    fuzz_check_contract(st, spec);
    if (st == GNT_OK)
        check_members(spec);
    gnti_spec_free(&spec);
    return 0;
}
