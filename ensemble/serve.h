/* SPDX-License-Identifier: Apache-2.0 */
/* An ensemble put to work on a graph: its members in memory, which of them run where, and their logits for every node.
 *
 *   open    members with a weight, the dataset as each sees it, members of one shape found             serve_open.c
 *   plan    an allocation matrix (allocate.h) whose "row" is a unit of 1/128 of the nodes               serve_plan.c, serve_cost.c
 *   run     wave by wave: a thread a device (under MPI each process is one), members of a row that are of one shape and share a
 *           batch as one program                                                                serve_waves.c, serve_run.c
 *   sum     what becomes of a wave's logits, which are let go then                              serve_sum.c
 * The nodes of a batch are computed from all that they reach along arcs (graph/operator_within.c), 128 units from the whole graph.
 * Whatever the matrix, a member's logits have the same bits at --deterministic=bitwise.
 */
#ifndef GNTI_ENSEMBLE_SERVE_H
#define GNTI_ENSEMBLE_SERVE_H

#include "ensemble/ensemble_file.h"
#include "train/trained.h"

enum { GNTI_SERVE_UNITS = 128 };

/* The graph and its features as some members see them. */
typedef struct gnti_serve_sight {
    gnti_member_view view;
    const gnt_dataset *data;
    gnt_dataset *owned; /* NULL: it is the ensemble's dataset */
    gnti_operator *whole;
    gnti_model_features features[2]; /* as they are; rows divided by their sums */
    bool has_features[2];
    float *zeros; /* (N) */
} gnti_serve_sight;

typedef struct gnti_serve_member {
    int32_t number;       /* in the file */
    gnti_trained trained; /* checkpoint and model alone */
    bool normalizes;
    int32_t sight, shape;
    float *logits; /* (N, num_classes) while its wave is under way, else NULL */
} gnti_serve_member;

/* The batches of the matrix: 8, 16, ..., 128 units. */
enum { GNTI_SERVE_LEAST = 8, GNTI_SERVE_BATCHES = 5 };

/* Members whose programs are equal, so that they run as one. */
typedef struct gnti_serve_shape {
    int32_t first; /* member */
    int32_t num_hops;
    gnti_program *dry; /* evaluation of one member, planned dry */
    /* of each batch: what it computes with; bytes in the memory that `mem` limits, where graph and features are not counted; and
     * these, which devices with a memory of their own hold too */
    double rows[GNTI_SERVE_BATCHES], arcs[GNTI_SERVE_BATCHES], entries[GNTI_SERVE_BATCHES];
    int64_t bytes[GNTI_SERVE_BATCHES], data_bytes[GNTI_SERVE_BATCHES];
} gnti_serve_shape;

/* Units first .. end - 1 of a member on a device, at most `batch` at once. */
typedef struct gnti_serve_task {
    int32_t device, member, first, end, batch;
    int32_t
        wave; /* tasks of one are on their devices together; as many members as their logits may take room for */
} gnti_serve_task;

typedef struct gnti_serve {
    gnt_context *ctx;
    gnti_ensemble_file file;
    gnt_dataset *data;
    int32_t num_members, num_shapes, num_sights;
    gnti_serve_member *members;
    gnti_serve_shape *shapes;
    gnti_serve_sight *sights;
    int64_t num_classes;
    gnti_job job;   /* its devices */
    int32_t *batch; /* (devices, members) units, 0: absent */
    gnti_serve_task *tasks;
    int32_t num_tasks;
    int32_t
        *order; /* (members) a wave is so many of them in a row: the order of sums, whatever the devices */
    int32_t *wave_end, num_waves; /* (members) positions in order */
    gnti_rates *rates;            /* (devices) */
    int64_t *capacity;            /* (devices) bytes; 0: it is lost */
    char **lost;                  /* (devices) why it is, NULL: it is not */
    double *seconds;              /* (devices) that each took, by its own clock */
} gnti_serve;

/* name: that member alone; else seed < 0: all members that have a weight; else the one member whose run had that seed, and `file` says that it is alone. data NULL:
 * that of the training; ERR_FORMAT when it has changed, or when a given one does not fit. out is zeroed before use. */
gnt_status gnti_serve_open(gnt_context *ctx, const char *run, const char *data, int64_t seed,
                           const char *name, gnti_serve *out);
void gnti_serve_close(gnti_serve *s);

/* devices as of gnt_trainer_config; NULL: the context's. ERR_NOMEM when members do not fit. */
gnt_status gnti_serve_plan(gnti_serve *s, const char *devices);
/* What allocate.h asks: seconds of a unit and bytes. */
gnt_status gnti_serve_fit(gnti_serve *s);
/* The plan of members order[from] and those behind it anew, without the devices that are lost. */
gnt_status gnti_serve_plan_rest(gnti_serve *s, int32_t from);
/* Members that are under way together at most. */
int32_t gnti_serve_together(const gnti_serve *s);
void gnti_serve_forget_plan(gnti_serve *s);

/* What becomes of a member's logits, in `order`; by the root alone. */
typedef gnt_status (*gnti_serve_sink)(void *user, int32_t member, const float *logits);
/* Every process calls it. A device that is lost leaves its work to the others: ERR_DEVICE_LOST when none is left. ERR_NUMERIC names a
 * member whose values are no numbers. */
gnt_status gnti_serve_run(gnti_serve *s, gnti_serve_sink sink, void *user);
bool gnti_serve_is_root(const gnti_serve *s);

/* The tasks of a wave on the devices of this process; lost[d] is set for those that were lost, in which case others stopped early. */
gnt_status gnti_serve_run_wave(gnti_serve *s, int32_t wave);

#endif
