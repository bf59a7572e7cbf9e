/* SPDX-License-Identifier: Apache-2.0 */
/* An ensemble as its user writes it, and the members that it stands for (docs/ensembles.md has the keys).
 *
 *   model: "gcn:16, gcn"        base model; any option of gnntrain train may stand beside it under `train:`
 *   train: { lr: 0.01 }         what all members have in common: options of gnntrain train, of the model too
 *   seed: 1                     all members' seeds are derived from it, distinct, and recorded
 *   count: 8                    members of each variation
 *   vary:                       options and their values: a grid (default) or `search: random` with `samples: N`
 *     - { key: dropout, values: [0.3, 0.5] }
 *     - { key: lr, low: 0.001, high: 0.1, scale: log }
 *   folds: 5 | bagging: 0.8     which training nodes count for a member; `count` is a multiple of `folds` then
 *   drop-features: 0.1, drop-edges: 0.1     a share of the columns or edges that a member never sees
 *   method: independent         or snapshot, swa, swap, edde, soup (ensemble/method.h)
 *   combine: mean               or logits, vote, weighted, greedy (ensemble/combine.h)
 *   policy: makespan            or first-come, shortest, max-min, energy (ensemble/place.h)
 * Errors name file, line and key. A new key is a field of gnti_spec, a row of the table in spec_table.c, and, where it has no effect
 * without another, a row of `belongs` there; docs/ensembles.md has them all (tests/cli/test_ensemble_plan.sh compares).
 */
#ifndef GNTI_ENSEMBLE_SPEC_H
#define GNTI_ENSEMBLE_SPEC_H

#include "train/member.h"

enum { GNTI_SPEC_MAX_MEMBERS = 4096 };

/* What a member does not see of the data, beside the loss weights. Members with equal ones share a dataset. */
typedef struct gnti_member_view {
    double drop_features, drop_edges; /* shares, 0: none */
    uint64_t seed;                    /* of what is dropped; 0 when nothing is */
} gnti_member_view;

typedef struct gnti_spec_member {
    char name[32]; /* "m00", "m01", ...: a folder's name */
    uint64_t seed; /* of its run: < 2^53, distinct */
    char *model;   /* owned text */
    gnt_model_config net;
    gnt_trainer_config train; /* owns its texts; seeds 1, no run, no devices */
    gnti_member_view view;
    int32_t variation;       /* members of one differ in seed, fold and bag alone */
    int32_t fold, num_folds; /* num_folds 0: none. The training nodes of its fold do not count */
    uint64_t fold_seed;      /* of the folds, the same for all members */
    double bagging;          /* share drawn with replacement, 0: all once */
    bool foreground;         /* shares a device only where it is slowed at most 1.2x */
    char *differs;           /* what of it varies, "dropout=0.3 lr=0.01", for tables; "" when nothing does */
} gnti_spec_member;

typedef struct gnti_spec {
    char *path; /* of the file */
    char *text; /* all of it, as the run keeps it */
    char sha256[65];
    /* Each is a key of the same name with '-': spec_table.c has what it means, and its default. */
    uint64_t seed;
    int32_t method, combine, policy, soup; /* gnti_method, gnti_combine, gnti_policy; 0 uniform, 1 greedy */
    bool temperature;
    int64_t select_rounds, select_start, snapshots, swa_from, swa_cycle, retries;
    double edde_share, edde_weight, edde_epochs, edde_rate, edde_boost, swap_target, swap_share;
    int64_t edde_folds;
    double resize_gain, energy_budget, round_seconds, device_wait;
    gnti_spec_member *members; /* (num_members) */
    int32_t num_members;
    int32_t edde_layers; /* of the model, where edde_folds puts trainings in front of the members; else 0 */
} gnti_spec;

/* Reads, checks against the dataset (model text, options that contradict each other) and expands. ERR_FORMAT with file, line, key. */
gnt_status gnti_spec_open(gnt_context *ctx, const char *path, const gnt_dataset *data, gnti_spec **out);
/* The same of a text that is already in memory; `source` is the name that errors use. */
gnt_status gnti_spec_parse(gnt_context *ctx, const char *text, size_t length, const char *source,
                           const gnt_dataset *data, gnti_spec **out);
void gnti_spec_free(gnti_spec **spec);
/* "independent", "mean", ...: the present word of a key of the table; "" for a key without words. */
const char *gnti_spec_word(const gnti_spec *spec, const char *key, char out[32]);

/* The loss weights that its fold and bag stand for: (N), NULL when all count once; to be freed. A function of seeds and node ids alone. */
gnt_status gnti_spec_member_weights(const gnti_spec_member *member, const gnt_dataset *data, float **out);
/* The dataset as it sees it; NULL: the dataset itself. Dropped columns are 0, dropped edges are gone (both directions). */
gnt_status gnti_spec_member_dataset(const gnti_spec_member *member, const gnt_dataset *data,
                                    gnt_dataset **out);

#endif
