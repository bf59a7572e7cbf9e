/* SPDX-License-Identifier: Apache-2.0 */
/* What train/ sees of nn/: parameters, recording of a step, planning, running.
 *
 *   tape   = gnti_tape_create(ctx, M, training)       recorded once
 *   inputs = gnti_record_inputs(...)                  x, an adj per layer, labels and loss weights
 *   logits = gnt_model_record(...)
 *   gnti_record_loss, gnti_record_update              loss, backward, optimiser (update only when training)
 *   gnti_plan_program(tape, config, params, &program) tells of the first failed op
 *   bind (operators, features, labels), run (step), stats / read
 */
#ifndef GNTI_NN_PROGRAM_H
#define GNTI_NN_PROGRAM_H

#include <gnntrain/model.h>

#include "datasets/dataset.h"
#include "dist/group.h"
#include "dist/halo.h"
#include "graph/operator.h"
#include "kernels/virtual.h"

/* ---- models: what a checkpoint must know to make one again --------------------------------------------------- */
gnt_context *gnti_model_context(const gnt_model *model);
const char *gnti_model_text(const gnt_model *model); /* as given */
/* For what uses a model that its maker may free first: it stays until all have freed it. */
gnt_model *gnti_model_hold(gnt_model *model);
void gnti_model_get_config(const gnt_model *model, gnt_model_config *out);
int64_t gnti_model_in_width(const gnt_model *model);
int64_t gnti_model_out_width(const gnt_model *model);
gnt_label_kind gnti_model_label_kind(const gnt_model *model);
/* The hyper of the dropout that the model's settings put behind a layer (from 1) or, layer 0, before the first. id 0: there is none,
 * or a key of the text says it. */
gnt_hyper gnti_model_dropout(const gnt_model *model, int32_t layer);

/* How much of a running statistic a training step renews (PyTorch's default). */
#define GNTI_NORM_MOMENTUM 0.1f

/* ---- parameters: one device block for weights, one each for gradients and moments -------------------------- */
typedef enum gnti_param_kind {
    GNTI_PARAM_WEIGHT,
    GNTI_PARAM_BIAS,
    GNTI_PARAM_NORM,
    GNTI_PARAM_STATE
} gnti_param_kind;

typedef struct gnti_param_info {
    const char *name; /* full: "2.w1", layer from 1 */
    int32_t layer;    /* from 1 */
    gnti_param_kind kind;
    int64_t in, out;
    int64_t offset; /* floats; member m at offset + m * in * out */
} gnti_param_info;

typedef struct gnti_params gnti_params;

/* Space for M members on a device; training adds gradients and moments (number by the optimiser), num_moments -1: neither. */
gnt_status gnti_params_create(const gnt_model *model, gnt_device *dev, int32_t num_members,
                              int32_t num_moments, gnti_params **out);
void gnti_params_free(gnti_params **params);
/* Initial values of member m by its run seed (Philox, full name, row, column): equal alone and fused. */
gnt_status gnti_params_init_member(gnti_params *params, int32_t member, uint64_t seed);
int32_t gnti_params_count(const gnti_params *params);
const gnti_param_info *gnti_params_info(const gnti_params *params, int32_t index);
int64_t gnti_params_num_floats(const gnti_params *params); /* of one block, all members */
enum { GNTI_BLOCK_WEIGHTS, GNTI_BLOCK_GRADS, GNTI_BLOCK_MOMENT1, GNTI_BLOCK_MOMENT2, GNTI_BLOCK_BEST };
/* Without a device: name, layer, kind and shape of each, as one member has them (infos to be freed). */
gnt_status gnti_params_list(const gnt_model *model, gnti_param_info **out, int32_t *num, int64_t *num_floats);
/* Whole blocks, for checkpoints; BEST is a copy kept per member. Only for live = 1 members keep_best copies. */
gnt_status gnti_params_read(const gnti_params *params, int block, float *out);
gnt_status gnti_params_write(gnti_params *params, int block, const float *in);
/* One member of a block, parameter after parameter with no gaps: the same of any number of members. */
int64_t gnti_params_member_floats(const gnti_params *params);
gnt_status gnti_params_read_member(const gnti_params *params, int block, int32_t member, float *out);
gnt_status gnti_params_write_member(gnti_params *params, int block, int32_t member, const float *in);
gnt_status gnti_params_keep_best(gnti_params *params, int32_t member); /* weights and states -> BEST */
gnt_status gnti_params_use_best(gnti_params *params, bool best);       /* swaps WEIGHTS and BEST */

/* ---- recording ---------------------------------------------------------------------------------------------- */
gnt_status gnti_tape_create(gnt_context *ctx, int32_t num_members, bool training, gnt_tape **out);
void gnti_tape_free(gnt_tape **t);

typedef struct gnti_inputs {
    gnt_var x;
    gnt_adj *adj; /* (num_layers), owned by the tape */
} gnti_inputs;

/* square: one row space for all layers (full batch and clusters), else a chain of bipartite blocks. */
void gnti_record_inputs(gnt_tape *t, const gnt_model *model, bool square, bool sparse_x, gnti_inputs *out);

/* A hyper that the trainer fills: "lr", "corr1", "corr2", "clip", "loss-norm", "norm-momentum", "decay.0" ... The same name answers the
 * same id, whoever asks first; ids stay valid for the program. */
gnt_hyper gnti_tape_hyper(gnt_tape *t, const char *name, double value);

/* Marks a var whose value must still be there after a run, for gnti_program_read_var. */
void gnti_tape_keep(gnt_tape *t, gnt_var v);
/* The input of the last layer as the newest gnt_model_record left it (embeddings); var 0 before. */
gnt_var gnti_tape_hidden(const gnt_tape *t);
/* How many products along arcs lie behind each other between x and a value: rows of it need rows of x so many hops away. */
gnt_status gnti_tape_num_hops(const gnt_tape *t, gnt_var v, int32_t *out);

typedef struct gnti_loss_config {
    gnt_loss_kind kind;
    bool weight_per_member;    /* loss weights (rows, M) instead of (rows, shared) */
    int64_t num_class_weights; /* 0: none */
    bool apart; /* SOFTMAX: bound probabilities that p stays apart from, by the hyper "apart" */
} gnti_loss_config;
gnt_var gnti_record_loss(gnt_tape *t, gnt_var logits, const gnti_loss_config *config);

/* The last rule that matches a parameter counts; without one there is no decay. */
typedef struct gnti_decay_rule {
    int32_t layer; /* 0: all */
    int32_t kind;  /* gnti_param_kind, -1: weights only */
    double value;
} gnti_decay_rule;
typedef struct gnti_update_config {
    gnt_optimizer_kind kind;
    bool nesterov, clip;
    double beta1, beta2, eps;
    const gnti_decay_rule *rules;
    int32_t num_rules;
} gnti_update_config;
void gnti_record_update(gnt_tape *t, gnt_var loss, const gnti_update_config *config);

/* ---- planning and running ----------------------------------------------------------------------------------- */
enum {
    GNTI_PASS_HOIST = 1,
    GNTI_PASS_REASSOCIATE = 2,
    GNTI_PASS_SYMMETRIC = 4,
    GNTI_PASS_SPARSE_INPUT = 8,
    GNTI_PASS_FUSE = 16,
    GNTI_PASS_MEMORY = 32,
    GNTI_PASS_CHAIN = 64,
    GNTI_PASS_LOSS_ROWS = 128,
    GNTI_PASS_OVERLAP = 256,
    GNTI_PASS_CAPTURE = 512,
    GNTI_PASS_SLICES = 1024
};
/* "hoist,fuse" as bits; ERR_USAGE lists the passes there are. */
gnt_status gnti_passes_parse(const char *list, uint32_t *out);
/* A program of one rank of several, or of one rank over a partition: planner pass `parts` (plan_parts.c) adds halo exchanges
 * and sums over ranks; `overlap` computes interior rows while halo rows travel. All lent; every rank plans the same program. */
typedef enum gnti_strategy { GNTI_STRATEGY_AUTO, GNTI_STRATEGY_HALO, GNTI_STRATEGY_BROADCAST } gnti_strategy;
typedef struct gnti_dist_config {
    gnti_comm *comm;
    gnti_strategy strategy;
    gnti_wire wire;
    gnti_virtual *clock;       /* NULL: wall time */
    struct gnti_trace *trace;  /* nn/trace.h, NULL: none */
    gnti_group *group;         /* of the devices that exchange among themselves; NULL: none */
    const int32_t *group_rank; /* (comm size), -1: not in the group */
    bool always_overlap;       /* pass overlap also where it does not pay (tests) */
} gnti_dist_config;

typedef struct gnti_plan_config {
    const gnti_dist_config *dist; /* NULL: the whole graph on one device */
    uint32_t disabled_passes;
    int64_t row_capacity;     /* rows of the widest space; 0: set at bind */
    int64_t expected_arcs;    /* for cost decisions and estimates */
    int64_t expected_entries; /* non-zero features: room for sparse ones */
    bool lasting;             /* bound once, for many steps: plans may take their time and memory */
    bool batches;          /* bound to another batch at each step: what binding needs is kept for the next */
    int64_t max_arcs;      /* of a batch's operator, 0: not known */
    int32_t block_members; /* g, 0: chosen by width and stored with the run */
    int32_t
        slice_members; /* members that go through a step together, 0: chosen by bytes and stored with the run */
    const char *choices; /* of gnti_program_get_choices: reused, nothing is measured; NULL: choose */
    gnti_scratch *
        scratch; /* its workspace, in common with others that take turns on its device; lent; NULL: its own */
    gnti_choices
        *measured; /* what back ends choose by measurement (kernels/choices.h); NULL: they go by rule */
} gnti_plan_config;

typedef struct gnti_program gnti_program;

/* params NULL only for a dry run (estimate, explain). Errors: the first failed op with layer, op and both shapes. */
gnt_status gnti_plan_program(gnt_tape *t, const gnt_model *model, const gnti_plan_config *config,
                             gnt_device *dev, gnti_params *params, gnti_program **out);
void gnti_program_free(gnti_program **p);

/* All pointers are host memory that must live until the next bind. A NULL member keeps what was bound before. */
typedef struct gnti_batch {
    const gnti_part *part; /* programs with dist: adj[l] is its op, rows are its own rows; collective */
    const gnti_operator *const *adj; /* (num recorded adjs) */
    const gnti_features *x;          /* rows of the first space */
    const int32_t *labels;           /* SOFTMAX: (rows of the last space) */
    const float *target;             /* BCE, MSE: (rows, C) */
    const float *weight;             /* (rows) or (M, rows) when weight_per_member */
    const float *class_weight;       /* (num_class_weights) */
    const float *apart;              /* (rows, C) when the loss stays apart from them */
} gnti_batch;
gnt_status gnti_program_bind(gnti_program *p, const gnti_batch *batch);

typedef struct gnti_step {
    int64_t step;
    const uint64_t *seeds; /* (M) run seeds: the member key is that of a lone run with this seed */
    const uint8_t *live;   /* (M) */
} gnti_step;
/* Values of hypers for all members, kept until set again. */
gnt_status gnti_program_set_hyper(gnti_program *p, gnt_hyper h, int32_t member, float value);
/* The hyper that divides the loss: set it to 1 / sum of weights (times C for BCE, MSE) per member. */
gnt_hyper gnti_program_loss_norm(const gnti_program *p);
gnt_status gnti_program_run(gnti_program *p, const gnti_step *step);
/* What charges or paces its steps, or NULL; over parts it is that of gnti_dist_config. Lent. */
void gnti_program_set_clock(gnti_program *p, gnti_virtual *clock);

/* Waits. stats (M, 4): see gnt_loss_args; bad (M): 1 + parameter of the first gradient that is not finite. */
gnt_status gnti_program_stats(gnti_program *p, double *stats, int32_t *bad);
const char *gnti_program_bad_name(const gnti_program *p, int32_t bad);
/* Logits of a member, (rows of the last space, C). Waits. Their memory is reused in training (the gradient of the loss
 * takes it) unless gnti_tape_keep marked them: ERR_STATE then. */
gnt_status gnti_program_read_logits(gnti_program *p, int32_t member, float *out);
/* The value of a var that was marked to be kept (tests). */
gnt_status gnti_program_read_var(gnti_program *p, gnt_var v, int32_t member, float *out);

/* What was chosen by measurement or cost ("g=4;..."), one line to be stored with the run. Caller frees. */
gnt_status gnti_program_get_choices(const gnti_program *p, char **out);

typedef struct gnti_program_bytes {
    size_t workspace, live_peak, hoisted, hoist_temp, graph, features,
        params,    /* hoist_temp: while binding alone */
        sums,      /* over parts: partial sums over rows of one root, and results */
        stage,     /* over parts: both buffers of broadcast */
        stage_row; /* what they would be by row of the rank with most rows */
} gnti_program_bytes;
void gnti_program_get_bytes(const gnti_program *p, gnti_program_bytes *out);
/* What a program over parts sends. Planned: of one step, or of binding, as the formula has it; the rest was counted since the
 * part was bound. */
typedef struct gnti_dist_counters {
    int64_t step_exchanges, bind_exchanges, step_sums; /* planned; broadcasts of one layer are one exchange */
    int64_t step_bytes_sent, step_bytes_received;      /* planned, of exchanges and broadcasts */
    int64_t overlapped;                                /* exchanges of a step under interior rows */
    gnti_strategy strategy;
    gnti_halo_counters counted; /* of halo exchanges */
} gnti_dist_counters;
void gnti_program_get_dist(const gnti_program *p, gnti_dist_counters *out);
/* ---- the planner run dry: what a step would take (op_work.c) ---- */
typedef struct gnti_step_counts {
    double rows, halo_rows; /* own; received */
    double arcs[2];         /* of the forward matrix, of its transpose */
    double loss_arcs;       /* of the transpose, those that come from rows in the loss */
    double entries;         /* non-zero features */
    double tiles; /* pieces that sums along arcs go in: ranks when their rows are broadcast; 0: one */
    bool weighted;
} gnti_step_counts;
/* The work of one op in a step, as a stream's counters would have it; or the bytes that it sends. */
typedef struct gnti_op_work {
    gnti_op_kind kind;
    double flops, bytes;
    double wire_bytes_a_row; /* of an exchange of halo rows, else 0 */
    double sum_bytes;        /* of a sum over ranks, else 0 */
    bool meets;              /* it waits for other ranks */
} gnti_op_work;
int64_t gnti_program_num_ops(const gnti_program *p);
gnti_op_work gnti_program_op_work(const gnti_program *p, int64_t index, const gnti_step_counts *c);
/* Whether all that goes along arcs are sums, which broadcast serves. */
bool gnti_program_only_sums(const gnti_program *p);
/* Lays a dry run out for so many rows; gnti_program_get_bytes tells. */
gnt_status gnti_program_lay_out(gnti_program *p, int64_t rows, int64_t halo_rows);

/* Its turn where its workspace is in common with other trainers' programs (gnti_plan_config.scratch): around running it and reading what
 * it left. False: what it left earlier is gone. Release waits for what is queued. Nothing where the workspace is its own. */
bool gnti_program_hold(gnti_program *p);
void gnti_program_release(gnti_program *p);
/* Bytes of a workspace in common that it needs; 0: its own. */
size_t gnti_program_scratch_bytes(const gnti_program *p);

/* Shares the workspace of another program that never runs at the same time, and its hoisted values while both are bound
 * to the same operators and features. */
gnt_status gnti_program_share(gnti_program *p, gnti_program *with);
/* The stream that its steps are queued on: what a device's clock charges (kernels/virtual.h). */
gnt_stream *gnti_program_stream(const gnti_program *p);
/* Measures each op of the following runs (waits after each: for explain, not for speed). */
gnt_status gnti_program_set_timing(gnti_program *p, bool on);
/* Text (or JSON): ops, shapes, passes that fired and why not, bytes, predicted and measured seconds. Caller frees. */
gnt_status gnti_program_explain(const gnti_program *p, bool json, char **out);

/* The device of a context, what it was opened with, and its determinism level. */
gnt_device *gnti_context_device(gnt_context *ctx);
const gnti_device_config *gnti_context_device_config(const gnt_context *ctx);
/* The processes of an MPI launch, NULL when this one is alone; and how they were started. */
gnti_comm *gnti_context_processes(const gnt_context *ctx);
/* The context's processes are those of `processes` (lent; NULL: this one alone) until it is told otherwise. Answers what they were. */
gnti_comm *gnti_context_swap_processes(gnt_context *ctx, gnti_comm *processes);
const gnti_launch *gnti_context_launch(const gnt_context *ctx);
/* Devices that several trainers share: "pool:I" in a text of devices is specs[I]. Lent; set while no trainer lives. */
void gnti_context_set_pool(gnt_context *ctx, const gnti_device_spec *specs, int32_t num);
/* Puts the pool's devices in the place of those that name it. ERR_USAGE beyond what it has. */
gnt_status gnti_context_take_pool(const gnt_context *ctx, gnti_device_spec *specs, int32_t num);
/* Programs may run on these devices. From the first one with memory of its own on, programs planned dry take as much as they do
 * there; answers whether there was one. */
void gnti_context_expect(gnt_context *ctx, const gnti_device_spec *specs, int32_t num);
bool gnti_context_expects_own_memory(const gnt_context *ctx);
gnti_determinism gnti_context_determinism(const gnt_context *ctx);

#endif
