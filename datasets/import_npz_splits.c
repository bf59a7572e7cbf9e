/* SPDX-License-Identifier: Apache-2.0 */
/* Splits that lie in numpy arrays, as node numbers or as masks. Masks of shape (N), (N, S) or (S, N) are
 * accepted in any type, a value other than 0 and 1 is refused.
 */
#include "datasets/import_npz.h"

#include <stdio.h>

enum { NAME_BYTES = 24, MAX_SPLITS = 1000 };

static const char *const INDEX_NAMES[3] = { "idx_train", "idx_val", "idx_test" };
static const char *const MASK_NAMES[2][3] = { { "train_mask", "val_mask", "test_mask" },
                                              { "train_masks", "val_masks", "test_masks" } };

static gnt_status find_three(const gnti_npz *npz, const char *const names[3], const gnti_npy *out[3])
{
    gnt_status st = GNT_OK;

    for (int part = 0; part < 3; part++)
        GNT_TRY(gnti_npz_find_readable(npz, names[part], &out[part]));
done:
    return st;
}

static gnt_status add_index_split(const gnti_npz *npz, const gnti_npy *const arrays[3], const char *name,
                                  gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    gnti_split *split = NULL;
    int64_t node = 0;

    GNT_TRY(gnti_raw_add_split(raw, name, npz->source, &split));
    for (int part = 0; part < 3; part++) {
        for (int64_t i = 0; arrays[part] != NULL && i < arrays[part]->count; i++) {
            GNT_TRY(gnti_npy_i64(npz, arrays[part], i, &node));
            GNT_TRY(gnti_split_add(split, part, node));
        }
    }
done:
    return st;
}

/* Flag of node n in mask s. */
static gnt_status read_flag(const gnti_npz *npz, const gnti_npy *mask, int64_t num_nodes, int64_t num_masks,
                            int64_t n, int64_t s, int64_t *out)
{
    gnt_status st = GNT_OK;
    const bool masks_first = mask->num_dimensions == 2 && mask->shape[0] != num_nodes;

    GNT_TRY(gnti_npy_i64(npz, mask, masks_first ? s * num_nodes + n : n * num_masks + s, out));
    GNT_CHECK(*out == 0 || *out == 1, GNT_ERR_FORMAT,
              "'%s', array '%s': %lld at node %lld, a mask has 0 and 1", npz->source, mask->name,
              (long long)*out, (long long)n);
done:
    return st;
}

static gnt_status add_mask_split(const gnti_npz *npz, const gnti_npy *const masks[3], int64_t num_masks,
                                 int64_t s, const char *name, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    gnti_split *split = NULL;
    int64_t flag = 0;

    GNT_TRY(gnti_raw_add_split(raw, name, npz->source, &split));
    for (int part = 0; part < 3; part++) {
        const int64_t num_nodes = masks[part] != NULL ? masks[part]->count / num_masks : 0;

        for (int64_t n = 0; n < num_nodes; n++) {
            GNT_TRY(read_flag(npz, masks[part], num_nodes, num_masks, n, s, &flag));
            if (flag == 1)
                GNT_TRY(gnti_split_add(split, part, n));
        }
    }
done:
    return st;
}

static gnt_status add_masks(const gnti_npz *npz, const gnti_npy *const masks[3], const char *name,
                            gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const int64_t n = raw->num_nodes;
    int64_t num_masks = 1;
    char number[NAME_BYTES];

    GNT_CHECK(n > 0 && masks[GNTI_TRAIN] != NULL, GNT_ERR_FORMAT,
              "'%s' has masks but no train mask or no nodes", npz->source);
    num_masks = masks[GNTI_TRAIN]->count / n;
    for (int part = 0; part < 3; part++)
        GNT_CHECK(masks[part] == NULL ||
                      (num_masks >= 1 && num_masks <= MAX_SPLITS && masks[part]->count == n * num_masks),
                  GNT_ERR_FORMAT, "'%s', array '%s' has %lld flags, the graph has %lld nodes", npz->source,
                  masks[part]->name, (long long)masks[part]->count, (long long)n);
    for (int64_t s = 0; s < num_masks; s++) {
        snprintf(number, sizeof number, "%lld", (long long)s);
        GNT_TRY(add_mask_split(npz, masks, num_masks, s,
                               name != NULL    ? name
                               : num_masks > 1 ? number
                                               : "public",
                               raw));
    }
done:
    return st;
}

gnt_status gnti_npz_add_splits(const gnti_npz *npz, const char *name, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const gnti_npy *found[3] = { NULL, NULL, NULL };

    GNT_TRY(find_three(npz, INDEX_NAMES, found));
    if (found[GNTI_TRAIN] != NULL) {
        GNT_TRY(add_index_split(npz, found, name != NULL ? name : "public", raw));
        goto done;
    }
    for (int spelling = 0; spelling < 2; spelling++) {
        GNT_TRY(find_three(npz, MASK_NAMES[spelling], found));
        if (found[GNTI_TRAIN] != NULL || found[GNTI_VALID] != NULL || found[GNTI_TEST] != NULL) {
            GNT_TRY(add_masks(npz, found, name, raw));
            break;
        }
    }
done:
    return st;
}
