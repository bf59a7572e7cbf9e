/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a tape: what op_*.c need to record. The first failure sticks, with layer and op in its text. */
#ifndef GNTI_NN_TAPE_H
#define GNTI_NN_TAPE_H

#include "base/arena.h"
#include "nn/ir.h"

typedef struct gnti_hyper_info {
    const char *name;
    double value; /* for every member, until the trainer sets it */
} gnti_hyper_info;

struct gnt_tape {
    gnt_context *ctx;
    const gnt_model *model;
    gnti_arena *arena; /* names, lists */
    gnti_ir ir;
    gnti_error_record failure; /* code GNT_OK: none */
    int32_t *param_values;     /* per parameter of the model: its value, 0: not used yet */
    gnti_hyper_info *hypers;   /* row 0 is no hyper; the model's come first */
    int64_t num_hypers, hypers_capacity;
    uint32_t num_random; /* ordinal of the next random op */
    const char *layer_name;
    int32_t hidden; /* value: input of the last layer */
    gnti_update_config update;
    bool has_update;
};

enum { GNTI_SHAPE_BYTES = 96 };

/* "(space 1, width 16)" or "(3 rows, width 16)". */
const char *gnti_tape_shape(const gnt_tape *t, gnt_var v, char out[GNTI_SHAPE_BYTES]);
/* Keeps the first failure as "layer 2 'gcn', matmul: ..."; answers var 0. */
gnt_var gnti_tape_fail(gnt_tape *t, gnt_status code, const char *op, const char *format, ...)
    GNT_PRINTF(4, 5);
/* Whether all inputs are good; a failed input passes on silently, a number that no op gave fails. */
bool gnti_tape_takes(gnt_tape *t, const char *op, const gnt_var *in, int count);
const gnti_value *gnti_tape_value(const gnt_tape *t, gnt_var v);
bool gnti_tape_takes_adj(gnt_tape *t, const char *op, gnt_adj adj);

/* The tape's failure as the newest error, or OK. */
gnt_status gnti_tape_status(const gnt_tape *t);

#endif
