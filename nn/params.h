/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of parameters as programs see them. */
#ifndef GNTI_NN_PARAMS_H
#define GNTI_NN_PARAMS_H

#include "nn/program.h"

struct gnti_params {
    gnt_device *dev;
    gnt_stream *stream;
    const gnt_model *model;
    int32_t num_members, num_params, num_moments;
    gnti_param_info *infos;
    int64_t num_floats;    /* of one block, padding between parameters included */
    gnt_buffer *blocks[5]; /* by GNTI_BLOCK_*, NULL: none */
    bool best_in_use;      /* weights and best have changed places */
    gnt_stream *busy;      /* on which work with these blocks was queued last, NULL: none */
};

/* Whoever queues work with the blocks on another stream than the last one waits for that first. */
gnt_status gnti_params_take_turn(gnti_params *params, gnt_stream *stream);

/* Layout alone: infos with offsets for M members; answers the floats of one block. */
gnt_status gnti_params_layout(const gnt_model *model, int32_t num_members, gnti_param_info **out,
                              int64_t *num_floats);

#endif
