/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a program: the planned form, its memory, what is bound, and the instructions.
 *
 * Memory: `workspace` (values of a step, offsets by the memory pass), `hoisted` (written when bound), `temp` (only while
 * hoisted values are computed). The workspace may belong to several programs that never run at the same time.
 */
#ifndef GNTI_NN_PROGRAM_STATE_H
#define GNTI_NN_PROGRAM_STATE_H

#include "base/pool.h"
#include "base/text.h"
#include "kernels/cost.h"
#include "kernels/scratch.h"
#include "nn/ir.h"
#include "nn/lower.h"
#include "nn/model.h"
#include "nn/params.h"
#include "nn/parts.h"
#include "nn/tape.h"

typedef struct gnti_bound_space {
    int64_t rows, capacity;
    const gnt_buffer *ids; /* int64 global row ids, NULL: row r is node r */
} gnti_bound_space;

/* An operator on the device. */
typedef struct gnti_bound_operator {
    const gnti_operator *host; /* NULL: not bound */
    int32_t same_as;           /* an earlier adj with the same operator, whose things these are; 0: own */
    gnt_spmm_plan *forward, *transposed;   /* transposed may equal forward */
    gnt_buffer *vectors[GNTI_NUM_VECTORS]; /* by gnti_vector */
    gnt_buffer *ids;
    gnt_buffer *ids_transposed; /* of the rows that a part's own transpose gathers; NULL: ids */
    gnti_graph *transpose;      /* made here when the symmetric pass is off */
} gnti_bound_operator;

typedef struct gnti_bound_features {
    const gnti_features *host; /* whose they are, for comparison alone; NULL: none bound */
    gnti_features view;        /* the struct itself, its arrays are the caller's */
    gnt_buffer *dense;
    gnt_buffer
        *expanded; /* memory of dense ones made of sparse ones, kept for the next batch; dense may be it */
    gnt_spmm_plan *forward, *transposed;
    gnti_graph *transpose;
    gnt_buffer *values, *values_transposed, *rows, *columns, *rows_transposed, *columns_transposed;
    float *ones; /* host arrays that buffers may wrap */
    int32_t *row_of, *column_of_transposed;
} gnti_bound_features;

typedef struct gnti_bound_loss {
    gnt_buffer *labels, *target, *weight, *class_weight, *apart;
    const float *host_weight; /* the weights as last bound, lent */
} gnti_bound_loss;

/* Arcs of one operator's transpose that come from rows in the loss. */
typedef struct gnti_loss_rows {
    int32_t adj; /* whose backward aggregation may leave arcs out, 0: none */
    const gnti_operator *owner;
    uint8_t *mask; /* (num_rows) rows with a loss weight, as last bound */
    int64_t num_rows;
    gnti_graph *arcs;
    gnt_spmm_plan *plan; /* NULL: too few arcs would be left out */
} gnti_loss_rows;

/* Instructions [first, end) as one chain, or one instruction alone; interior rows take the ops behind their product along. */
typedef struct gnti_chain_run {
    int64_t first, end;
    int64_t first_op; /* of the chain's ops */
    int32_t num_ops;  /* 0: no chain */
    gnt_chain_go go;
} gnti_chain_run;

/* A step as one launch (plan_capture.c). */
typedef struct gnti_captured {
    gnt_capture *step; /* NULL: none yet */
    int64_t num_runs;  /* since addresses changed */
    bool refused;      /* an op cannot be captured */
} gnti_captured;

/* Members that go through runs of ops together (plan_slices.c). */
typedef struct gnti_slice {
    int32_t number; /* from 1 */
    int32_t first, members;
    gnt_buffer *step; /* the columns of these members of the step block */
} gnti_slice;
typedef struct gnti_slices {
    int32_t num_runs;
    int32_t members;  /* of a slice, the last one may have fewer; 0: all at once */
    int32_t count;    /* 0: all at once */
    gnti_slice *list; /* (num_made) */
    int32_t num_made;
} gnti_slices;

struct gnti_lowering {
    gnti_program *p;
    const gnti_slice *slice;                     /* whose members views have; NULL: all */
    const gnti_instr *under_way[GNTI_UNDER_WAY]; /* starts of exchanges that a product will end */
    int32_t num_under_way;
    gnti_instr **list; /* slots are kept */
    int64_t count, capacity;
};

enum { GNTI_NUM_PASSES = 11, GNTI_MAX_SEGMENT_NAME = 96 };

/* Events of the program's stream. */
enum { GNTI_EVENT_PACKED, GNTI_NUM_EVENTS };

struct gnti_program {
    gnt_context *ctx;
    const gnt_model *model;
    gnti_virtual *clock; /* charges or paces steps without parts; NULL: wall time */
    gnt_device *dev;
    gnt_stream *stream;
    gnti_params *params;    /* NULL: a dry run */
    gnti_param_info *infos; /* own layout of a dry run */
    gnti_ir ir;
    gnti_plan_config config;
    gnti_program_parts parts;
    int64_t fired[GNTI_NUM_PASSES];   /* how often a pass has changed something */
    gnti_text notes[GNTI_NUM_PASSES]; /* what and why not */
    gnti_hyper_info *hypers;          /* names are in the arena */
    gnti_arena *arena;
    int64_t num_hypers;
    float *hyper_values; /* (H, M) */
    gnti_update_config update;
    bool has_update;
    gnt_param_segment *segments;
    int32_t *segment_param;
    int32_t num_segments;
    int32_t lr, corr1, corr2, clip; /* hypers, 0: none */

    gnti_captured capture;
    gnti_step_head *step_host; /* the block of the next run */
    gnti_step_head *step_sent; /* what the device has, once step_is_sent */
    bool step_is_sent;
    size_t step_bytes;
    gnt_buffer *step, *stats, *bad;

    gnti_bound_space *spaces;       /* by space */
    gnti_bound_operator *operators; /* by adj */
    gnti_bound_features x;
    gnti_bound_loss loss;
    gnti_loss_rows loss_rows;
    gnti_pool *pool; /* of what is bound, when that changes at each step; NULL else */
    bool bound;

    gnti_scratch *workspace;
    gnti_scratch_user user; /* of it */
    int64_t workspace_version;
    gnti_program *partner; /* shares its workspace and hoisted values */
    bool hoisted_shared;
    int64_t hoist_version, partner_hoist_version;
    gnt_buffer *hoisted, *temp;
    size_t workspace_bytes, live_peak, hoisted_bytes, temp_bytes;
    size_t hoisted_allocated;
    bool laid_out;

    gnti_lowering lowering;
    int64_t num_hoist_instrs; /* the first ones run when bound */
    gnti_slices slices;
    double *node_seconds; /* per node, while timing is on; NULL: off */
    int64_t timed_runs;
    gnt_chain_op *chain_ops; /* (num_chain_ops) */
    gnti_chain_run *chains;  /* (num_chains) what a run executes, in order */
    int64_t num_chains, num_chain_ops, chain_ops_capacity, chains_capacity;
};

/* ---- passes: program in, program out --------------------------------------------------------------------------- */
typedef enum gnti_pass {
    GNTI_REASSOCIATE,
    GNTI_SPARSE_INPUT,
    GNTI_HOIST,
    GNTI_FUSE,
    GNTI_LOSS_ROWS,
    GNTI_SYMMETRIC,
    GNTI_CHAIN,
    GNTI_MEMORY,
    GNTI_OVERLAP,
    GNTI_CAPTURE,
    GNTI_SLICES
} gnti_pass;
bool gnti_pass_is_on(const gnti_program *p, gnti_pass pass);
const char *gnti_pass_name(gnti_pass pass);
void gnti_pass_note(gnti_program *p, gnti_pass pass, const char *format, ...) GNT_PRINTF(3, 4);

gnt_status gnti_plan_reassociate(gnti_program *p);
gnt_status gnti_plan_sparse_input(gnti_program *p);
gnt_status gnti_plan_hoist(gnti_program *p);
gnt_status gnti_plan_fuse(gnti_program *p);
gnt_status gnti_plan_loss_rows(gnti_program *p);
void gnti_plan_chains(gnti_program *p);
/* First and last node of the chain of node `at`, or `at` twice. */
void gnti_chain_span(const gnti_ir *ir, int64_t at, int64_t *first, int64_t *last);
/* After lowering: what runs as chains; and running one. */
gnt_status gnti_chain_lower(gnti_program *p);
gnt_status gnti_chain_execute(gnti_program *p, const gnti_chain_run *run);
void gnti_plan_blocks(gnti_program *p); /* g of every value */
void gnti_plan_slices(gnti_program *p); /* runs of ops */
/* The members of a slice, and which values have memory for one, for the spaces' capacities. */
gnt_status gnti_slices_choose(gnti_program *p);
/* First and last node of the run of node `at`, or `at` twice. */
void gnti_slices_span(const gnti_program *p, int64_t at, int64_t *first, int64_t *last);
/* The slices' step blocks: made after memory is laid out, filled from the program's for each run. */
gnt_status gnti_slices_make(gnti_program *p);
void gnti_slices_send(gnti_program *p);
void gnti_slices_free(gnti_program *p);
/* The slice's members of a view of all, or, of one_slice, of memory for one slice; slice NULL: all. */
gnt_mat_view gnti_slice_view(const gnti_slice *slice, gnt_mat_view v, bool one_slice);
/* Offsets of all values for the spaces' capacities. */
gnt_status gnti_plan_memory(gnti_program *p);

/* ---- memory pass as a pure function (plan_memory.c) ------------------------------------------------------------- */
typedef struct gnti_memory_item {
    size_t bytes;
    int64_t first, last; /* nodes, both inclusive */
    size_t offset;       /* out */
} gnti_memory_item;
/* reuse false: one behind the other. Answers the total and the largest sum of live bytes. */
gnt_status gnti_memory_place(gnti_memory_item *items, int64_t count, bool reuse, size_t *total,
                             size_t *live_peak);

/* Whether values' bytes are needed and how many, for capacities as they are. */
size_t gnti_value_bytes(const gnti_program *p, int32_t value);
/* Rows that its memory has room for. */
int64_t gnti_value_rows_kept(const gnti_program *p, const gnti_value *v);
/* Whether a value depends on nothing that changes between steps. Caller frees. */
gnt_status gnti_ir_constant(const gnti_ir *ir, bool **out);

/* op_work.c: work of a node and its kind; c NULL: for the rows and arcs that are bound, or planned for. */
gnti_cost gnti_node_cost(const gnti_program *p, const gnti_node *n, const gnti_step_counts *c,
                         const gnti_cost_device *dev, gnti_op_kind *kind);

/* ---- binding and lowering --------------------------------------------------------------------------------------- */
gnt_status gnti_bind_operators(gnti_program *p, const gnti_operator *const *adj);
gnt_status gnti_bind_features(gnti_program *p, const gnti_features *x, const gnti_features *owner);
gnt_status gnti_bind_loss(gnti_program *p, const gnti_batch *batch);
/* After operators: the arcs from rows in the loss, unless they are as before. */
gnt_status gnti_bind_loss_rows(gnti_program *p, const float *weight);
void gnti_loss_rows_free(gnti_program *p);
gnt_status gnti_make_spmm_plan(gnti_program *p, const gnti_graph *g, gnt_spmm_plan **out);
void gnti_bound_free(gnti_program *p);
/* After hoisted values were computed: gives back features that no step reads. */
void gnti_release_features(gnti_program *p);
gnt_status gnti_device_array(gnti_program *p, const void *host, size_t bytes, gnt_buffer **out);

/* Whether the partner holds every hoisted value; then their offsets become the partner's. */
gnt_status gnti_program_match_hoisted(gnti_program *p, bool *out);

gnt_status gnti_lower_program(gnti_program *p);
void gnti_lowering_free(gnti_lowering *lo);
gnt_status gnti_instr_run(gnt_stream *s, const gnti_instr *in);

/* ---- capture (plan_capture.c) ----------------------------------------------------------------------------------------- */
void gnti_capture_drop(gnti_program *p); /* addresses change: to be called before they do */
bool gnti_capture_is_due(const gnti_program *p);
void gnti_capture_tell(gnti_program *p);             /* why steps are not captured: for explain */
gnt_status gnti_capture_make(gnti_program *p);       /* leaves capture.step NULL where it cannot be */
gnt_status gnti_step_send(gnti_program *p);          /* what has changed of the block */
gnt_status gnti_program_queue_step(gnti_program *p); /* program.c: all ops of a step without parts */

/* Puts what the program keeps on its device in front of the error's text. */
void gnti_program_tell_shortage(const gnti_program *p);

#endif
