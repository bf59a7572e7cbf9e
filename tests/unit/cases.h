/* SPDX-License-Identifier: Apache-2.0 */
/* Op x backend: each op of the table on a tested backend beside the slow oracle "ref", same data, same
 * layout.
 *
 * A tensor of a case lies on both sides (side 0: tested, side 1: oracle). What is not an element of it
 * (padding of rows, blocks, the end of the buffer) holds a NaN of its own, so reading it shows in the result,
 * and writing it is found by case_compare. One file cases_<op>.c an op; test_backend_ops.c runs them for
 * every backend and level.
 */
#ifndef GNT_CASES_H
#define GNT_CASES_H

#include "tests/support/gnt_test.h"
#include "kernels/backend.h"

enum { CASE_MAX_BUFFERS = 64 };

typedef struct case_env {
    gnt_device *device[2];
    gnt_stream *stream[2];
    gnt_buffer *owned[CASE_MAX_BUFFERS];
    int num_owned;
    uint64_t seed; /* of the next tensor */
    bool exact;    /* case_compare wants the same bits */
} case_env;

void case_open(case_env *env, const char *backend, const gnti_device_config *config);
/* Another back end in the oracle's place, whose order of operations is the same: same bits are wanted. */
void case_open_beside(case_env *env, const char *backend, const char *other,
                      const gnti_device_config *config);
void case_reset(case_env *env); /* frees what the case made */
void case_close(case_env *env);

/* All of a buffer in host memory: the buffer itself, or a copy where the device has memory of its own. unlock brings back what
 * was written. Waits for the stream. */
void *case_lock(const gnt_buffer *buf);
void case_unlock(gnt_buffer *buf, void *host, bool written);

/* The status of an op: its call's, or what shows when its queued work is waited for. */
gnt_status case_outcome(const case_env *env, int side, gnt_status st);

typedef struct case_tensor {
    gnt_mat_view view[2];
} case_tensor;

/* rows x members x width in blocks of g, `pad` elements between rows; values in [-1, 1). */
case_tensor case_make(case_env *env, int64_t rows, int64_t members, int64_t g, int64_t width, int64_t pad);
case_tensor case_make_as(case_env *env, gnt_dtype dtype, int64_t rows, int64_t members, int64_t g,
                         int64_t width, int64_t pad);

/* Applies a function to every element of both sides. */
typedef float (*case_function)(float value, int64_t row, int64_t column);
void case_apply(case_tensor *t, case_function f);

/* A plain buffer with the same bytes on both sides. */
typedef struct case_bytes {
    gnt_buffer *buf[2];
} case_bytes;
case_bytes case_upload(case_env *env, const void *data, size_t bytes);

/* A step block: step 7, keys of seed 99, hyper h of member m = base[h] + 0.03125 m, all live. */
case_bytes case_step(case_env *env, int64_t members, const float *base, int64_t num_hypers);

/* Elements: NMSE against the oracle within the bound; padding untouched. */
void case_compare(const case_tensor *t, double bound, const char *what);
void case_compare_padding(const case_tensor *t, const char *what); /* of the tested side: untouched */
/* Values of a tensor's side in (member, row, column) order; freed with gnti_free. */
float *case_values(const case_tensor *t, int side, int64_t *out_count);
int64_t case_count(const case_tensor *t);

/* A random CSR pattern with rows of at most max_degree entries; kinds of rows are mixed (empty, short, long).
 */
typedef struct case_graph {
    int64_t num_rows, num_cols, num_arcs;
    int64_t *offsets;
    int32_t *columns;
    float *weights;
} case_graph;
void case_graph_make(case_graph *g, int64_t num_rows, int64_t num_cols, int64_t max_degree, uint64_t seed);
/* Row r has degrees[r] entries. */
void case_graph_degrees(case_graph *g, const int64_t *degrees, int64_t num_rows, int64_t num_cols,
                        uint64_t seed);
void case_graph_free(case_graph *g);
gnt_spmm_plan *case_plan(gnt_stream *s, const case_graph *g, bool weighted, int64_t max_width);

/* Members and block sizes that every op is tried with. */
typedef struct case_members {
    int64_t members, g;
} case_members;
enum { CASE_NUM_MEMBERS = 7 };
extern const case_members case_member_list[CASE_NUM_MEMBERS];

/* Runs cases on every vector level and determinism that this processor has. */
void case_run_variants(void (*cases)(case_env *));

/* A tree over the chunks of a partition: num_blocks of unlike sizes, every seventh empty. start: (num_blocks + 1), filled. */
gnt_row_tree case_chunks(int64_t rows, int64_t num_blocks, int64_t *start);

/* The ops. */
void cases_gemm(case_env *env);
void cases_gemm_tree(case_env *env);
void cases_spmm(case_env *env);
void cases_spmm_epilogue(case_env *env);
void cases_spmm_hubs(case_env *env);
void cases_attend(case_env *env);
void cases_attend_hubs(case_env *env);
void cases_norm(case_env *env);
void cases_map(case_env *env);
void cases_reduce(case_env *env);
void cases_gather(case_env *env);
void cases_loss(case_env *env);
void cases_optimizer(case_env *env);
void cases_bf16(case_env *env);
void cases_chain(case_env *env);
void cases_max(case_env *env);
void cases_parts(case_env *env);

#endif
