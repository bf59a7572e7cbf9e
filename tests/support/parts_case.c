/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads: each cuts its rows out of the whole data, plans, binds, trains, and leaves what it found. */
#include "parts_case.h"

#include "base/philox.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

typedef struct job {
    const parts_problem *p;
    gnti_comm *comm;
    gnti_part *part; /* NULL: the whole graph */
    gnti_trace *trace;
    parts_result *out;
    double weight_sum;
    float *weights; /* of this rank at the end */
    int64_t num_weights;
} job;

static const uint64_t seeds[PARTS_MAX_MEMBERS] = { 3, 14, 15, 92, 65, 35, 89, 79 };

/* Rows `ids` of the whole data. */
static void cut_rows(const nn_data *whole, const int64_t *ids, int64_t rows, gnti_operator *op, nn_data *d)
{
    memset(d, 0, sizeof *d);
    d->num_nodes = rows;
    d->width = whole->width;
    d->classes = whole->classes;
    d->op = op;
    d->x = (gnti_features){ .rows = rows, .width = whole->width, .borrowed = true };
    if (rows == 0 && whole->sparse == NULL) /* a rank that owns nothing brings no arrays */
        return;
    gnt_assert_ok(gnti_calloc_array(&d->dense, rows * whole->width + 1));
    gnt_assert_ok(gnti_calloc_array(&d->labels, rows + 1));
    gnt_assert_ok(gnti_calloc_array(&d->weight, rows + 1));
    for (int64_t r = 0; r < rows; r++) {
        const int64_t id = ids != NULL ? ids[r] : r;

        memcpy(d->dense + r * whole->width, whole->dense + id * whole->width,
               (size_t)whole->width * sizeof(float));
        d->labels[r] = whole->labels[id];
        d->weight[r] = whole->weight[id];
    }
    d->x.dense = d->dense;
    if (whole->sparse != NULL)
        nn_data_set_sparse(d);
}

static void read_logits(const job *j, nn_case *c, const nn_data *d)
{
    const int64_t rows = j->p->data->num_nodes;
    float *own = NULL;

    gnt_assert_ok(gnti_calloc_array(&own, d->num_nodes * d->classes + 1));
    for (int32_t m = 0; m < c->members; m++) {
        gnt_assert_ok(gnti_program_read_logits(c->program, m, own));
        for (int64_t r = 0; r < d->num_nodes; r++) {
            const int64_t id = j->part != NULL ? j->part->ids[r] : j->p->nodes != NULL ? j->p->nodes[r] : r;

            memcpy(j->out->logits + (m * rows + id) * d->classes, own + r * d->classes,
                   (size_t)d->classes * sizeof(float));
        }
    }
    gnti_free(own);
}

static void take_results(job *j, nn_case *c)
{
    const int32_t rank = j->comm != NULL ? j->comm->rank : 0;

    j->num_weights = nn_case_weights(c, 0, NULL);
    gnt_assert_ok(gnti_calloc_array(&j->weights, c->members * j->num_weights + 1));
    for (int32_t m = 0; m < c->members; m++)
        nn_case_weights(c, m, j->weights + m * j->num_weights);
    gnti_program_get_dist(c->program, &j->out->counters[rank]);
    gnti_program_get_bytes(c->program, &j->out->bytes[rank]);
    if (rank == 0)
        gnt_assert_ok(gnti_program_explain(c->program, false, &j->out->explain));
    if (j->part == NULL)
        return;
    j->out->rows[rank] = j->part->num_own;
    j->out->halo[rank] = j->part->forward->num_halo;
    j->out->sent_rows[rank][0] = j->part->forward->send_ptr[j->part->forward->num_peers];
    j->out->sent_rows[rank][1] = j->part->backward->send_ptr[j->part->backward->num_peers];
}

/* Requests for memory so far, seen by rank 0 while no rank does anything. */
static int64_t count_requests(const job *j)
{
    gnti_alloc_stats stats;

    if (j->comm == NULL)
        return 0;
    gnt_assert_ok(gnti_comm_barrier(j->comm));
    gnti_alloc_get_stats(&stats);
    gnt_assert_ok(gnti_comm_barrier(j->comm));
    return stats.num_calls;
}

/* The rank's own device instead of the context's, in a group with the other ranks'. */
static void take_device(const parts_problem *p, const job *j, gnt_context *ctx, gnti_dist_config *dist)
{
    static const int32_t same[PARTS_MAX_RANKS] = { 0, 1, 2, 3, 4, 5, 6, 7 };

    if (p->devices == NULL)
        return;
    gnti_device_close(&ctx->device);
    gnt_assert_ok(gnti_device_open(p->devices, j->comm != NULL ? j->comm->rank : 0, NULL, &ctx->device));
    if (j->comm == NULL || j->comm->size == 1)
        return;
    gnt_assert_ok(gnti_group_create(j->comm, ctx->device, &dist->group));
    dist->group_rank = same;
}

static void *run_rank(void *user)
{
    job *j = user;
    const parts_problem *p = j->p;
    const gnti_device_spec spec = { .backend = "cpu",
                                    .speed = 1.0,
                                    .spmm = 1.0,
                                    .gemm = 1.0,
                                    .virtual_clock = true,
                                    .flops = 1e9,
                                    .bytes = 1e9 };
    gnti_virtual *clock = NULL;
    gnti_dist_config dist = { .comm = j->comm,
                              .strategy = p->strategy,
                              .wire = p->wire,
                              .trace = j->trace,
                              .always_overlap = p->always_overlap };
    gnt_context *ctx = p->context(p->bitwise);
    gnti_operator *induced = NULL;
    nn_data d;
    nn_setup s;
    nn_case c;
    int64_t before = 0, after;

    take_device(p, j, ctx, &dist);
    if (j->comm != NULL && p->link.bytes_per_second > 0.0) {
        gnt_assert_ok(gnti_virtual_create(&spec, (uint64_t)j->comm->rank, &clock));
        j->comm->virtual_seconds = gnti_virtual_clock(clock);
        j->comm->link = p->link;
        dist.clock = clock;
    }
    if (j->part == NULL && p->nodes != NULL)
        gnt_assert_ok(gnti_operator_induced(p->data->sources, p->nodes, p->num_nodes, &induced));
    if (j->part != NULL)
        cut_rows(p->data, j->part->ids, j->part->num_own, j->part->op, &d);
    else
        cut_rows(p->data, p->nodes, p->nodes != NULL ? p->num_nodes : p->data->num_nodes,
                 induced != NULL ? induced : p->data->op, &d);
    s = (nn_setup){ .ctx = ctx,
                    .data = &d,
                    .text = p->text,
                    .config = p->config,
                    .members = p->members,
                    .block_members = p->block_members,
                    .slice_members = p->slice_members,
                    .disabled = p->disabled,
                    .sparse = p->sparse,
                    .evaluation = p->evaluation,
                    /* Adam makes large steps of gradients that are zero but for rounding */
                    .optimizer = p->bitwise ? GNT_OPTIMIZER_ADAM : GNT_OPTIMIZER_SGD,
                    .dist = j->part != NULL ? &dist : NULL,
                    .part = j->part,
                    .weight_sum = j->weight_sum };
    nn_case_make(&s, &c);
    nn_case_fill(&c, false, 1.0f);
    for (int64_t step = 0; step < p->steps; step++) {
        if (step == 2)
            before = count_requests(j);
        nn_case_run(&c, step, p->lr, seeds,
                    j->comm == NULL || j->comm->rank == 0 ? j->out->loss[step] : NULL);
    }
    after = p->steps > 2 ? count_requests(j) : 0;
    if (j->comm == NULL || j->comm->rank == 0)
        j->out->requests = after - before;
    if (p->evaluation)
        read_logits(j, &c, &d);
    take_results(j, &c);
    nn_case_free(&c);
    d.op = NULL; /* the part's */
    nn_data_free(&d);
    gnti_operator_free(&induced);
    gnti_group_free(&dist.group);
    gnt_context_free(&ctx);
    gnti_virtual_free(&clock);
    if (j->comm != NULL)
        j->comm->virtual_seconds = NULL;
    return NULL;
}

static double weight_sum(const parts_problem *p)
{
    const int64_t rows = p->nodes != NULL ? p->num_nodes : p->data->num_nodes;
    double sum = 0.0;

    for (int64_t r = 0; r < rows; r++)
        sum += (double)p->data->weight[p->nodes != NULL ? p->nodes[r] : r];
    return sum;
}

static void prepare(const parts_problem *p, parts_result *out)
{
    memset(out, 0, sizeof *out);
    if (!p->evaluation)
        return;
    out->num_logits = p->data->num_nodes * p->data->classes;
    gnt_assert_ok(gnti_calloc_array(&out->logits, gnti_max_i64(p->members, 1) * out->num_logits + 1));
}

static void same_weights(job *jobs, int32_t num_ranks, int32_t members)
{
    for (int32_t r = 1; r < num_ranks; r++) {
        if (memcmp(jobs[0].weights, jobs[r].weights,
                   (size_t)(members * jobs[0].num_weights) * sizeof(float)) != 0)
            fail_msg("ranks 0 and %d of %d end with different weights", r, num_ranks);
        gnti_free(jobs[r].weights);
    }
}

void parts_run(const parts_problem *p, const gnti_partition *partition, const int32_t *owner,
               int32_t num_ranks, parts_result *out)
{
    const gnti_part_source source = { .graph = p->data->sources,
                                      .partition = partition,
                                      .owner = owner,
                                      .num_ranks = num_ranks,
                                      .nodes = p->nodes,
                                      .num_nodes = p->num_nodes };
    gnti_comm *comms[PARTS_MAX_RANKS] = { NULL };
    gnti_part *parts[PARTS_MAX_RANKS] = { NULL };
    const gnti_trace *traces[PARTS_MAX_RANKS] = { NULL };
    pthread_t threads[PARTS_MAX_RANKS];
    job jobs[PARTS_MAX_RANKS];

    prepare(p, out);
    gnt_assert_ok(gnti_parts_make(&source, parts));
    if (num_ranks == 1)
        gnt_assert_ok(gnti_comm_self_create(&comms[0]));
    else
        gnt_assert_ok(gnti_comm_threads_create(num_ranks, comms));
    for (int32_t r = 0; r < num_ranks; r++) {
        jobs[r] =
            (job){ .p = p, .comm = comms[r], .part = parts[r], .out = out, .weight_sum = weight_sum(p) };
        comms[r]->time_limit = 30.0;
        gnt_assert_ok(gnti_trace_create(4096, &jobs[r].trace));
        traces[r] = jobs[r].trace;
        assert_int_equal(pthread_create(&threads[r], NULL, run_rank, &jobs[r]), 0);
    }
    for (int32_t r = 0; r < num_ranks; r++)
        assert_int_equal(pthread_join(threads[r], NULL), 0);
    same_weights(jobs, num_ranks, p->members > 0 ? p->members : 1);
    out->weights = jobs[0].weights;
    out->num_weights = jobs[0].num_weights;
    gnt_assert_ok(gnti_trace_print(traces, num_ranks, 0, &out->trace));
    for (int32_t r = 0; r < num_ranks; r++) {
        gnti_trace_free(&jobs[r].trace);
        gnti_part_free(&parts[r]);
        gnti_comm_free(&comms[r]);
    }
}

void parts_run_whole(const parts_problem *p, parts_result *out)
{
    job j = { .p = p, .out = out, .weight_sum = weight_sum(p) };

    prepare(p, out);
    run_rank(&j);
    out->weights = j.weights;
    out->num_weights = j.num_weights;
}

void parts_result_free(parts_result *r)
{
    gnti_free(r->weights);
    gnti_free(r->logits);
    gnti_free(r->explain);
    gnti_free(r->trace);
    memset(r, 0, sizeof *r);
}

static uint32_t draw(uint64_t seed, uint32_t i, uint32_t what)
{
    return gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, 50 + what, 0, i, 0);
}

gnti_partition *parts_random(uint64_t seed, int64_t num_nodes, int32_t num_chunks)
{
    gnti_partition *out = NULL;
    int32_t *chunk = NULL;

    gnt_assert_ok(gnti_alloc_array(&chunk, num_nodes + 1));
    for (int64_t i = 0; i < num_nodes;
         i++) /* neighbours in number mostly together, so that rows can be interior */
        chunk[i] = draw(seed, (uint32_t)i, 0) % 8 == 0
                       ? (int32_t)gnti_below(draw(seed, (uint32_t)i, 1), (uint32_t)num_chunks)
                       : (int32_t)(i * num_chunks / num_nodes);
    gnt_assert_ok(gnti_partition_from_vector(num_nodes, num_chunks, chunk, "random", &out));
    return out;
}

void parts_owner(uint64_t seed, int32_t num_chunks, int32_t num_ranks, bool scattered, int32_t *owner)
{
    for (int32_t c = 0; c < num_chunks; c++)
        owner[c] = scattered ? (int32_t)gnti_below(draw(seed, (uint32_t)c, 2), (uint32_t)num_ranks)
                             : c * num_ranks / num_chunks;
}

static bool close_to(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-5 * (fabs(b) + scale);
}

const char *parts_differ(const parts_problem *p, const parts_result *a, const parts_result *b, bool bits)
{
    const int32_t members = p->members > 0 ? p->members : 1;
    double largest = 0.0;

    for (int64_t s = 0; s < p->steps; s++)
        for (int32_t m = 0; m < members; m++)
            if (bits ? a->loss[s][m] != b->loss[s][m] : !close_to(a->loss[s][m], b->loss[s][m], 1e-3))
                return "losses differ";
    for (int64_t i = 0; i < members * a->num_weights; i++)
        largest = fmax(largest, fabs((double)b->weights[i]));
    for (int64_t i = 0; i < members * a->num_weights; i++)
        if (bits ? a->weights[i] != b->weights[i]
                 : !close_to((double)a->weights[i], (double)b->weights[i], largest))
            return "weights differ";
    largest = 0.0;
    for (int64_t i = 0; i < members * a->num_logits; i++)
        largest = fmax(largest, fabs((double)b->logits[i]));
    for (int64_t i = 0; i < members * a->num_logits; i++)
        if (bits ? a->logits[i] != b->logits[i]
                 : !close_to((double)a->logits[i], (double)b->logits[i], largest))
            return "logits differ";
    return NULL;
}
