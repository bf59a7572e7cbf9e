/* SPDX-License-Identifier: Apache-2.0 */
/* Members of one trainer that differ: in seed, rates, dropout, decay, length, and in which training nodes count. All that shapes
 * the program (layers, widths, optimiser, loss, split, data) is common to them; what differs is a hyper or a column of the loss
 * weights, so a member among others computes the weights of a lone run (bit for bit at `bitwise`).
 *
 *   gnti_trainer_create_members(model, data, config, members, M, &tr)
 *   gnti_trainer_put_member(tr, m, state)         before the first epoch, to go on with members of other trainers
 *   gnt_trainer_next(tr, &stats)                  a member that diverges fails alone
 *   gnti_trainer_take_member(tr, m, state)        between epochs
 *   gnti_trainer_keep_members(tr, keep)           the others leave, the program is made anew for those that stay
 */
#ifndef GNTI_TRAIN_MEMBER_H
#define GNTI_TRAIN_MEMBER_H

#include "base/json.h"
#include "train/schedule.h"

/* What a member has of its own. gnti_member_options_init takes it from the trainer's config and the model's. */
typedef struct gnti_member_options {
    const char *name; /* for texts, copied; NULL: its number among the trainer's members */
    uint64_t seed;
    int64_t epochs, patience;
    double lr;
    /* In the place of the model's settings; a key of the model's text stays. Where the model has 0 its program has no such op, so
     * members have 0 there too. */
    double dropout, input_dropout;
    /* Rules of the same layers and kinds for all members of a trainer, other values. */
    const char *weight_decay;
    /* (N) by node of the dataset: multiplies the loss weight of a training node (folds 0 or 1, bagging counts); NULL: 1. */
    const float *weight;
    /* Probabilities (N, C) that this member's p should be unlike: its loss is w (CE - apart_gain |p - apart|_2), with softmax alone.
     * NULL: none. All members of a trainer have the same one or none; lent as long as the trainer lives. */
    const float *apart;
    double apart_gain;
} gnti_member_options;
void gnti_member_options_init(const gnt_model *model, const gnt_trainer_config *config, int32_t member,
                              gnti_member_options *out);

/* As gnt_trainer_create with num members instead of config->seeds. The options are copied, weights too. ERR_USAGE names the member
 * whose settings are refused, and a config with a run folder: members have files of their own. */
gnt_status gnti_trainer_create_members(gnt_model *model, const gnt_dataset *data,
                                       const gnt_trainer_config *config, const gnti_member_options *members,
                                       int32_t num, gnt_trainer **out);

/* A member between two epochs, in host memory: all that decides what comes next. Owned; zeroed before use. */
typedef struct gnti_member_state {
    int64_t epoch, step;
    uint64_t seed;
    gnti_member progress;
    int64_t num_floats;                        /* of one block of one member */
    float *weights, *best, *moment1, *moment2; /* (num_floats), moments NULL where the optimiser has none */
} gnti_member_state;
void gnti_member_state_free(gnti_member_state *state);

/* Out of a trainer, also out of one in which other members have failed. Every process calls it; the root gets the state. */
gnt_status gnti_trainer_take_member(gnt_trainer *tr, int32_t member, gnti_member_state *out);
/* Into a trainer that has done no epoch. All members of a trainer stand at one epoch and step: ERR_STATE with both. */
gnt_status gnti_trainer_put_member(gnt_trainer *tr, int32_t member, const gnti_member_state *state);

/* Members with keep[m] == 0 leave (their states should have been taken); the others are numbered anew, 0, 1, ... The program is
 * compiled anew, the loss curves of those that stay do not change. On failure the trainer is as before. */
gnt_status gnti_trainer_keep_members(gnt_trainer *tr, const uint8_t *keep);

/* How a member stands. With several members a failure ends that member's training alone; with one it is the run's too, as ever
 * (gnt_trainer_status is ERR_NUMERIC). */
typedef enum gnti_member_phase {
    GNTI_MEMBER_TRAINS,
    GNTI_MEMBER_STOPPED, /* early, by its patience */
    GNTI_MEMBER_ENDED,   /* all epochs done */
    GNTI_MEMBER_FAILED   /* a loss or gradient was not finite */
} gnti_member_phase;
gnti_member_phase gnti_trainer_member_phase(const gnt_trainer *tr, int32_t member);
const char *gnti_trainer_member_failure(const gnt_trainer *tr,
                                        int32_t member); /* text of the failure, or NULL */

const gnti_member *gnti_trainer_member_progress(const gnt_trainer *tr, int32_t member); /* lent */

/* norm_refresh.c: running statistics of all members' present weights become those of one forward over the training graph, without
 * dropout; weights, moments, best weights stay. Source full only. */
gnt_status gnti_trainer_refresh_norms(gnt_trainer *tr);

/* (N, num_classes) logits of a member by its best weights (or, best false, the present ones), by node of the dataset. Every rank of
 * the job takes part; only the root's array is filled. */
gnt_status gnti_trainer_member_logits(gnt_trainer *tr, int32_t member, bool best, float *logits);

/* ---- turn.c: a device that several trainers share ---- */
/* Asked for before a step (or evaluation), given back behind it, on the thread of the rank that computes; rank: index of the device in
 * the config's text. */
typedef struct gnti_turns {
    void (*take)(void *user, int32_t rank);
    void (*give)(void *user, int32_t rank);
    void *user;
} gnti_turns;
/* From the next step on; copied. NULL: nobody is asked. */
void gnti_trainer_set_turns(gnt_trainer *tr, const gnti_turns *turns);
int64_t gnti_trainer_steps_done(const gnt_trainer *tr);

/* The most bytes that one of its devices has had to give, memory in common with other trainers included. */
int64_t gnti_trainer_device_bytes(const gnt_trainer *tr);

/* ---- member_file.c: FOLDER/checkpoint.h5 (and checkpoint.prev.h5), FOLDER/best.h5 of one member ------------------ */
/* Written as a lone run's: gnntrain eval, predict, export read FOLDER. `best` adds best.h5. */
gnt_status gnti_trainer_save_member(gnt_trainer *tr, int32_t member, const char *folder, bool best);
/* The newest sound checkpoint of FOLDER; found false: there is none. ERR_FORMAT when it belongs to another model, dataset, split or
 * setting than the trainer's, with both sides. */
gnt_status gnti_trainer_load_member(const gnt_trainer *tr, int32_t member, const char *folder,
                                    gnti_member_state *out, bool *found);
/* Its epoch alone, without a trainer: -1 where there is none that can be read. */
int64_t gnti_member_file_epoch(const char *folder);

#endif
