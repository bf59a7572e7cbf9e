/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a trainer, shared by trainer.c (life), step.c (program), loop.c (epochs), evaluation.c,
 * checkpoint.c and run_*.c. Nobody else includes this.
 */
#ifndef GNTI_TRAIN_TRAINER_STATE_H
#define GNTI_TRAIN_TRAINER_STATE_H

#include <stdatomic.h>

#include "train/drift.h"
#include "train/job.h"
#include "train/member.h"
#include "train/prepare.h"
#include "train/ranks.h"
#include "train/schedule.h"

typedef struct gnti_run gnti_run; /* the run folder */

/* Confusion matrices up to so many classes. */
enum { GNTI_TRAIN_CONFUSION_CLASSES = 100 };

/* Newest epochs whose seconds make the median of summary.json. */
enum { GNTI_TRAIN_SECONDS_KEPT = 4096 };

/* Sums of an epoch so far, of one member; saved when a stop cuts the epoch. */
typedef struct gnti_epoch_sums {
    double loss, weight;
} gnti_epoch_sums;

/* What a member has of its own; its seed is in gnt_trainer.seeds too, where programs read it. */
typedef struct gnti_own {
    gnt_trainer_config config; /* the trainer's, as a lone run of the member would have it */
    char *name;                /* NULL: it is called by its number */
    double dropout, input_dropout, apart_gain;
    float *weight;          /* (N) owned; NULL: 1 */
    char weight_sha256[65]; /* of weight; "" without */
    gnti_decay_rule *rules; /* (num_rules of the trainer) */
    char *failure;          /* what ended its training; NULL: nothing has */
    bool is_placed;         /* its state was put */
    bool is_due;            /* it is evaluated after this epoch */
} gnti_own;

/* Of which weights the evaluators still hold the logits. */
typedef enum gnti_logits_of {
    GNTI_LOGITS_OF_NOTHING,
    GNTI_LOGITS_OF_PRESENT,
    GNTI_LOGITS_OF_BEST
} gnti_logits_of;

struct gnt_trainer {
    gnt_context *ctx;
    gnti_objects *objects;   /* counts of its context */
    gnt_model *model;        /* held */
    const gnt_dataset *data; /* held */
    gnt_trainer_config config;
    gnti_prepared prepared;
    gnti_metric metric;
    gnt_loss_kind loss_kind;
    int32_t num_members;
    gnti_own *own;      /* (M) */
    const float *apart; /* (N, C) that all members' losses stay apart from, lent; NULL: none */
    int32_t num_rules;  /* of weight decay, of each member */
    bool isolates;      /* a member that diverges ends alone, when there are others */
    float *
        member_weight; /* (M, N) loss weights; NULL: all members have those of prepared, or ranks have their own rows' */
    uint32_t disabled_passes;

    gnti_job job;
    gnti_ranks *ranks;
    gnti_drift *drift;    /* NULL: chunks stay where they are */
    double *rank_seconds; /* (size) of compute in the newest epoch; with a partition */
    int64_t
        *rank_counts; /* (size, 4) rows, arcs, halo rows, bytes of the device's allocator; with a partition */
    double *rank_work;      /* (size) predicted; with drift */
    double setup_seconds;   /* that making the ranks took */
    gnti_rank *lead;        /* the first of this process: weights are the same on all of them */
    char *choices;          /* of the checkpoint or of this run's planning */
    gnti_choices *measured; /* those that back ends have made since */

    uint64_t *seeds;       /* (M) */
    uint8_t *live;         /* (M) who trains in this epoch */
    gnti_member *members;  /* (M) */
    gnti_epoch_sums *sums; /* (M) */
    double *out_values;    /* (4, M): what gnt_epoch_stats lends */

    gnti_logits_of logits_of;
    int64_t epoch;       /* complete ones */
    int64_t step;        /* optimiser steps done */
    int64_t position;    /* batches of the next epoch that are done already */
    bool from_elsewhere; /* resumed from a checkpoint outside the run folder */
    int64_t saved_epoch, saved_step;
    bool
        newest_is_damaged; /* checkpoint.h5: the next save must not put it in the place of the sound previous one */
    bool finished, was_complete, trace_written;
    double *test_metric, *test_loss; /* (M) after finish */
    int64_t *confusion; /* (M, C, C) of the test nodes after finish; NULL: no or too many classes */
    double *seconds;    /* ring of GNTI_TRAIN_SECONDS_KEPT */
    int64_t num_seconds;
    double started;
    double epoch_seconds; /* of an epoch that a stop has cut, so far */

    gnti_run *run; /* NULL: no folder, or another process has it */
    gnt_status status;
    gnti_turns turns; /* take NULL: nobody is asked */
    atomic_int stop;  /* set from signal handlers too */
};

/* trainer.c: what both ways to make a trainer share; members NULL: config->seeds of them, which end together when one
 * diverges. */
gnt_status gnti_trainer_create_from(gnt_model *model, const gnt_dataset *data,
                                    const gnt_trainer_config *config, const gnti_member_options *members,
                                    int32_t num, gnt_trainer **out);

/* step.c: of one rank, on its thread */
gnt_status gnti_rank_compile(const gnt_trainer *tr, gnti_rank *rank);
/* Hypers of a member that no step changes. */
gnt_status gnti_rank_set_fixed_hypers(const gnt_trainer *tr, gnti_rank *rank, int32_t m);
gnt_status gnti_rank_step(gnt_trainer *tr, gnti_rank *rank, const gnti_source_batch *batch, int64_t step);

/* turn.c: around all that uses the workspace of the rank's programs. False: what an earlier turn left there is gone. */
bool gnti_rank_take_turn(const gnt_trainer *tr, gnti_rank *rank);
void gnti_rank_give_turn(const gnt_trainer *tr, gnti_rank *rank);

/* rank_setup.c: devices, communicators, parts, sources, parameters and programs of all ranks */
/* from: ranks whose devices are the same ones, so that their clocks go on, or NULL. */
gnt_status gnti_trainer_make_ranks(gnt_trainer *tr, gnti_ranks *from);
/* What a rank binds as x. */
const gnti_features *gnti_rank_features(const gnt_trainer *tr, const gnti_rank *rank);

/* member.c: own settings of all members, in the place of those that were there. */
gnt_status gnti_trainer_set_members(gnt_trainer *tr, const gnti_member_options *members, int32_t num);
void gnti_trainer_free_members(gnt_trainer *tr);
void gnti_own_free(gnti_own *own); /* what it points to */
bool gnti_trainer_has_member_weights(const gnt_trainer *tr);
/* Whether the member's next epoch is still to come. */
bool gnti_trainer_trains(const gnt_trainer *tr, int32_t member);
/* The loss weights of some rows, of all members (M, num_rows), from those that they share; rows NULL: row i is node i of the
 * dataset. ERR_USAGE names a member for which no training node of the job counts. *out stays NULL when all have the shared ones. */
gnt_status gnti_trainer_make_member_weights(const gnt_trainer *tr, gnti_comm *comm, const float *shared,
                                            const int64_t *rows, int64_t num_rows, float **out);

/* member_state.c: ERR_STATE while some members stand where others do not. */
gnt_status gnti_trainer_check_placed(const gnt_trainer *tr);

/* evaluation.c: validation values of the epoch just done; best weights, early stop. Then, once, test values.
 */
gnt_status gnti_trainer_evaluate(gnt_trainer *tr, gnt_epoch_stats *stats);
gnt_status gnti_trainer_test(gnt_trainer *tr);

/* share.c: every process calls them. The process of rank 0 is the root. */
bool gnti_trainer_is_root(const gnt_trainer *tr);
/* ERR_PEER_LOST names the first setting in which a process differs from the root. */
gnt_status gnti_trainer_check_processes(const gnt_trainer *tr);
gnt_status gnti_trainer_share_choices(gnt_trainer *tr);
/* Makes tr->measured with what the checkpoint says; and the line that the next one gets, to be freed. */
gnt_status gnti_trainer_open_choices(gnt_trainer *tr);
gnt_status gnti_trainer_list_choices(const gnt_trainer *tr, char **out);
gnt_status gnti_trainer_share_flag(const gnt_trainer *tr, bool *flag); /* whether some process has it set */
gnt_status
gnti_trainer_share_state(gnt_trainer *tr); /* progress and weights of the root's first rank, to all ranks */

/* Weights, best weights and moments of all members in host memory; written to every rank of the process. */
enum { GNTI_STATE_BLOCKS = 4 };
typedef struct gnti_trainer_state {
    int num_blocks;
    int32_t num_members;
    int64_t num_floats;              /* of a member */
    float *block[GNTI_STATE_BLOCKS]; /* (num_members, num_floats) */
} gnti_trainer_state;
int gnti_trainer_num_blocks(const gnt_trainer *tr);
extern const int gnti_state_blocks[GNTI_STATE_BLOCKS]; /* GNTI_BLOCK_* of each */
gnt_status gnti_trainer_read_state(gnt_trainer *tr, gnti_trainer_state *state);
gnt_status gnti_trainer_write_state(gnt_trainer *tr, const gnti_trainer_state *state);
void gnti_trainer_free_state(gnti_trainer_state *state);

/* resize.c: the ranks made anew, with the state of their members; on failure the old ones are back. state: of the members that
 * the trainer has now, NULL: it is read. */
gnt_status gnti_trainer_remake_ranks(gnt_trainer *tr, bool same_devices, const gnti_trainer_state *state);

/* resize.c: the run goes on on these devices (taken over, whatever comes). speeds: measured ones of the same
 * devices, NULL: other devices, of equal speeds until they are measured. On failure the trainer is as before. */
gnt_status gnti_trainer_move(gnt_trainer *tr, gnti_device_spec *specs, int32_t num_specs,
                             const double *speeds, gnti_moves *moved);

/* rebalance.c: what watching needs for the devices that there are; after an epoch, chunks move when seconds have drifted.
 * Every process calls them. */
gnt_status gnti_trainer_watch(gnt_trainer *tr);
gnt_status gnti_trainer_rebalance(gnt_trainer *tr);

/* rank_table.c: counts what the ranks own when they are made; their seconds after an epoch; both, as summary.json has them.
 * The first two are for every process. */
gnt_status gnti_trainer_count_ranks(gnt_trainer *tr);
gnt_status gnti_trainer_time_ranks(gnt_trainer *tr);
gnt_status gnti_trainer_put_ranks(const gnt_trainer *tr, gnti_json *o);

/* trace_file.c: once, after the first epochs. Every process calls it. */
gnt_status gnti_trainer_write_trace(gnt_trainer *tr);
/* ERR_USAGE when a file of that name is something else than a trace. NULL is fine. */
gnt_status gnti_trace_check(const char *path);

/* loop.c */
bool gnti_trainer_stopping(gnt_trainer *tr);
bool gnti_trainer_is_complete(const gnt_trainer *tr);

/* checkpoint.c */
gnt_status gnti_checkpoint_save(gnt_trainer *tr);

#endif
