/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: weights of all members, best weights, optimiser, progress, and what they belong to
 * (docs/file-format.md).
 *
 * A file holds no number of ranks or threads, so any place goes on from it. Each array carries its CRC-32; a
 * file is read and verified whole before anything uses it. It is written to a temporary name, reaches the
 * disk and then replaces the old one, which stays as checkpoint.prev.h5.
 */
#ifndef GNTI_TRAIN_CHECKPOINT_H
#define GNTI_TRAIN_CHECKPOINT_H

#include "base/json.h"
#include "train/trainer_state.h"

/* The groups of a file. BEST of best.h5 and predictions is "weights" there. */
enum { GNTI_CP_WEIGHTS, GNTI_CP_BEST, GNTI_CP_MOMENT1, GNTI_CP_MOMENT2, GNTI_CP_BLOCKS };

typedef struct gnti_checkpoint_param {
    char *name;
    int64_t in, out, offset; /* floats in a block; member m at offset + m * in * out */
} gnti_checkpoint_param;

/* A file in host memory. */
typedef struct gnti_checkpoint {
    char *path;
    gnti_json *meta;
    int32_t num_members;
    gnti_checkpoint_param *params;
    int64_t num_params, num_floats;
    float *block[GNTI_CP_BLOCKS]; /* (num_floats) or NULL when the file has no such group */
    double *members;              /* (M, GNTI_MEMBER_FIELDS) or NULL */
    double *sums;                 /* (M, 2) or NULL */
} gnti_checkpoint;

/* ---- checkpoint_file.c: memory and disk
 * -------------------------------------------------------------------- */

/* Reads and verifies. ERR_IO when it cannot be read; ERR_FORMAT when it is damaged or no checkpoint. */
gnt_status gnti_checkpoint_open(const char *path, gnti_checkpoint **out);
void gnti_checkpoint_free(gnti_checkpoint **cp);
/* The model card alone. */
gnt_status gnti_checkpoint_read_card(const char *path, gnti_json **out);
/* Writes; an older file of that name becomes `previous` unless NULL. */
gnt_status gnti_checkpoint_write(const gnti_checkpoint *cp, const gnti_json *card, const char *path,
                                 const char *previous);

/* ---- checkpoint_seal.c: a checksum behind the file, looked at before HDF5 is ------------------------------------ */
gnt_status gnti_checkpoint_seal(const char *path);
gnt_status gnti_checkpoint_check_seal(const char *path); /* ERR_FORMAT: damaged, cut short or no checkpoint */

/* ---- checkpoint_params.c: parameters of a model in and out
 * -------------------------------------------------- */

/* An empty one in the shape of params; member < 0: all members, else that one alone. */
gnt_status gnti_checkpoint_shape(const gnti_params *params, int32_t num_members, int32_t member,
                                 gnti_checkpoint **out);
/* Copies a block of params (GNTI_BLOCK_*) into cp->block[which], for the member(s) cp was shaped for. */
gnt_status gnti_checkpoint_take_block(gnti_checkpoint *cp, const gnti_params *params, int32_t member,
                                      int block, int which);
/* The other way; member < 0: all, else member `member` of cp into params of one member. ERR_FORMAT names a
 * parameter that one side lacks or whose shape differs. */
gnt_status gnti_checkpoint_check_params(const gnti_checkpoint *cp, const gnti_params *params);
gnt_status gnti_checkpoint_put_block(const gnti_checkpoint *cp, int which, int32_t member,
                                     gnti_params *params, int32_t num_members, int block);

/* ---- checkpoint_meta.c: what it belongs to
 * ------------------------------------------------------------------ */

/* Words of a model's settings as meta and config.yaml spell them, in the order of gnt_model_config and gnt_label_kind. */
enum { GNTI_NUM_ACT_WORDS = 6, GNTI_NUM_NORM_WORDS = 3, GNTI_NUM_LABEL_WORDS = 4 };
extern const char *const gnti_act_words[GNTI_NUM_ACT_WORDS];
extern const char *const gnti_norm_words[GNTI_NUM_NORM_WORDS];
extern const char *const gnti_label_words[GNTI_NUM_LABEL_WORDS];

/* The meta of a trainer as it stands; member < 0: of all, else of one, with the settings of a lone run of it. */
gnt_status gnti_checkpoint_make_meta(const gnt_trainer *tr, int32_t member, gnti_json **out);
/* The model card: task, data, split, config, seeds, metrics, software, hardware, limits. */
gnt_status gnti_checkpoint_make_card(const gnt_trainer *tr, int32_t member, const gnti_json *meta,
                                     gnti_json **out);
gnt_status gnti_model_sha256(const gnt_model *model, char out[65]);
/* checkpoint_compare.c: ERR_FORMAT with both hashes when data, split or model are others; ERR_USAGE when a setting is.
 * member < 0: against the trainer's settings, else the member's own. */
gnt_status gnti_checkpoint_compare(const gnti_checkpoint *cp, const gnt_trainer *tr, int32_t member);

/* ---- checkpoint.c: a trainer's
 * -------------------------------------------------------------------------------- */

/* The newest sound one of two files, NULL when there is neither. *damaged: `path` is there and is not sound. */
gnt_status gnti_checkpoint_newest(const char *path, const char *previous, gnti_checkpoint **found,
                                  bool *damaged);

/* The newest sound checkpoint of the run folder, *found NULL when there is none: a damaged one is reported
 * and the previous one taken. */
gnt_status gnti_checkpoint_find(gnt_trainer *tr, gnti_checkpoint **found);

/* The checkpoint that --resume PATH names, a file or a run folder: ERR_IO when there is none. */
gnt_status gnti_checkpoint_find_at(gnt_trainer *tr, const char *path, gnti_checkpoint **found);
gnt_status gnti_checkpoint_take_choices(const gnti_checkpoint *cp, gnt_trainer *tr);
gnt_status gnti_checkpoint_restore(const gnti_checkpoint *cp, gnt_trainer *tr);
/* The best weights of a member, or the present ones when it was never evaluated, as best.h5. */
gnt_status gnti_checkpoint_save_best(gnt_trainer *tr, int32_t member, const char *path);

#endif
