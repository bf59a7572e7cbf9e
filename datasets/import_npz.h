/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of folders with numpy files share with the reader of npz files. */
#ifndef GNTI_DATASETS_IMPORT_NPZ_H
#define GNTI_DATASETS_IMPORT_NPZ_H

#include "datasets/import.h"
#include "datasets/npy.h"

/* Splits of an npz: idx_train, idx_val, idx_test (node numbers), or train_mask(s), val_mask(s), test_mask(s)
 * of N or of several times N flags. `name` NULL: "public", or 0, 1, ... for several. Nothing happens without
 * such arrays. */
gnt_status gnti_npz_add_splits(const gnti_npz *npz, const char *name, gnti_raw *raw);

/* A dense (N, F) array into feature rows. */
gnt_status gnti_npz_dense_features(const gnti_npz *npz, const gnti_npy *x, gnti_raw *raw);

#endif
