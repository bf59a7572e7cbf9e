/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs: bind, run, statistics, reading values. Binding grows capacities, lays memory out again when it had to,
 * lowers, and computes hoisted values when operators or features are new. Running sends the step block and walks the
 * instructions; it allocates nothing.
 */
#include "base/clock.h"
#include "nn/program_state.h"

#include <math.h>
#include <string.h>

void gnti_program_free(gnti_program **p)
{
    gnti_program *q;
    gnti_error_record kept;

    if (p == NULL || *p == NULL)
        return;
    gnti_error_keep(&kept); /* what is queued is waited for */
    q = *p;
    if (q->params != NULL && q->params->busy == q->stream)
        q->params->busy = NULL;
    if (q->stream != NULL)
        gnti_capture_drop(q);
    gnti_bound_free(q);
    gnti_parts_free(q);
    gnti_scratch_part(&q->workspace, &q->user);
    gnti_lowering_free(&q->lowering);
    gnti_slices_free(q);
    gnti_free(q->chain_ops);
    gnti_free(q->chains);
    gnti_buffer_free(&q->hoisted);
    gnti_buffer_free(&q->temp);
    gnti_buffer_free(&q->step);
    gnti_buffer_free(&q->stats);
    gnti_buffer_free(&q->bad);
    gnti_stream_close(&q->stream);
    gnti_ir_free(&q->ir);
    for (int i = 0; i < GNTI_NUM_PASSES; i++)
        gnti_text_free(&q->notes[i]);
    gnti_arena_free(&q->arena);
    gnti_free(q->infos);
    gnti_free(q->hyper_values);
    gnti_free(q->segments);
    gnti_free(q->segment_param);
    gnti_free(q->step_host);
    gnti_free(q->step_sent);
    gnti_free(q->spaces);
    gnti_free(q->operators);
    gnti_free(q->node_seconds);
    gnti_pool_free(&q->pool);
    gnti_free(q);
    *p = NULL;
    gnti_error_give_back(&kept);
}

/* A rank that fails ends what the others wait for. */
static void tell_others(gnti_program *p, gnt_status st)
{
    if (st != GNT_OK && p->parts.on)
        gnti_comm_abort(p->parts.dist.comm, gnt_last_error());
}

/* ---- bind ---------------------------------------------------------------------------------------------------------- */

/* Capacities follow the rows upwards; memory is laid out again when one grew. */
static gnt_status grow(gnti_program *p)
{
    gnt_status st = GNT_OK;
    bool grown = !p->laid_out;

    for (int32_t s = 1; s <= p->ir.num_spaces; s++) {
        if (p->spaces[s].rows > p->spaces[s].capacity) {
            p->spaces[s].capacity = p->spaces[s].rows;
            grown = true;
        }
    }
    if (grown)
        GNT_TRY(gnti_plan_memory(p));
    p->laid_out = true;
    GNT_TRY(gnti_slices_make(p));
    GNT_TRY(gnti_scratch_fit(p->workspace, &p->user, p->workspace_bytes));
done:
    return st;
}

static gnt_status run_hoisted(gnti_program *p)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < p->num_hoist_instrs; i++)
        GNT_TRY(gnti_instr_run(p->stream, p->lowering.list[i]));
    GNT_TRY(gnti_device_finish(p, "a step"));
    p->hoist_version++;
done:
    return st;
}

/* Buffers of hoisted values, unless a partner's serve. */
static gnt_status alloc_hoisted(gnti_program *p)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_program_match_hoisted(p, &p->hoisted_shared));
    if (p->hoisted_shared) {
        gnti_buffer_free(&p->hoisted);
        p->hoisted_allocated = 0;
        p->partner_hoist_version = p->partner->hoist_version;
        return GNT_OK;
    }
    if (p->hoisted_bytes > p->hoisted_allocated) {
        gnti_buffer_free(&p->hoisted);
        p->hoisted_allocated = 0;
        GNT_TRY(gnti_buffer_alloc(p->dev, p->hoisted_bytes, &p->hoisted));
        p->hoisted_allocated = p->hoisted_bytes;
    }
    if (p->temp != NULL && ((const gnti_buffer_head *)p->temp)->bytes < p->temp_bytes)
        gnti_buffer_free(&p->temp);
    if (p->temp == NULL && p->temp_bytes > 0)
        GNT_TRY(gnti_buffer_alloc(p->dev, p->temp_bytes, &p->temp));
done:
    return st;
}

/* Operators or features are new: rows, memory, hoisted values. */
static gnt_status bind_data(gnti_program *p, const gnti_batch *batch)
{
    gnt_status st = GNT_OK;
    const gnti_features *owner = batch->x != NULL ? batch->x : p->x.host;
    const gnti_features x = batch->x != NULL ? *batch->x : p->x.view;

    GNT_CHECK(batch->adj != NULL || p->bound, GNT_ERR_ARG, "the first binding lacks operators");
    GNT_CHECK(owner != NULL, GNT_ERR_ARG, "the first binding lacks features");
    p->bound = false;
    if (batch->adj != NULL && p->parts.on)
        GNT_TRY(gnti_bind_part(p, batch->part, batch->adj));
    if (batch->adj != NULL)
        GNT_TRY(gnti_bind_operators(p, batch->adj));
    if (batch->adj != NULL && p->parts.on)
        GNT_TRY(gnti_bind_travel(p));
    GNT_TRY(gnti_bind_features(p, &x, owner));
    GNT_TRY(grow(p));
    GNT_TRY(alloc_hoisted(p));
    GNT_TRY(gnti_lower_program(p));
    if (!p->hoisted_shared)
        GNT_TRY(run_hoisted(p));
    if (!p->config.batches)
        gnti_buffer_free(&p->temp);
    gnti_release_features(p);
done:
    return st;
}

/* How many times as much memory the largest batch needs. */
static void set_growth(gnti_program *p, const gnti_batch *batch)
{
    double growth = 0.0;

    if (p->pool == NULL || batch->adj == NULL || batch->adj[0] == NULL || batch->x == NULL)
        return;
    growth = (double)p->config.row_capacity / (double)gnti_max_i64(batch->adj[0]->num_dst, 1);
    growth =
        fmax(growth, (double)p->config.max_arcs / (double)gnti_max_i64(batch->adj[0]->forward->num_arcs, 1));
    if (batch->x->sparse != NULL)
        growth = fmax(growth, (double)p->config.expected_entries /
                                  (double)gnti_max_i64(batch->x->sparse->num_arcs, 1));
    gnti_pool_set_growth(p->pool, growth);
}

gnt_status gnti_program_bind(gnti_program *p, const gnti_batch *batch)
{
    gnt_status st = GNT_OK;
    gnti_pool *before = gnti_pool_enter(p != NULL ? p->pool : NULL);

    GNT_CHECK(p != NULL && batch != NULL, GNT_ERR_ARG, "program and batch must not be NULL");
    GNT_CHECK(p->params != NULL, GNT_ERR_STATE, "a dry run cannot be bound");
    set_growth(p, batch);
    GNT_TRY(gnti_params_take_turn(p->params, p->stream));
    gnti_capture_drop(p);
    if (batch->adj != NULL || batch->x != NULL || !p->bound)
        GNT_TRY(bind_data(p, batch));
    GNT_TRY(gnti_bind_loss(p, batch));
    GNT_TRY(gnti_lower_program(p));
    GNT_TRY(gnti_device_finish(p, "a step"));
    p->bound = true;
done:
    gnti_pool_enter(before);
    if (p != NULL && st == GNT_ERR_DEVICE_NOMEM)
        gnti_program_tell_shortage(p);
    if (p != NULL)
        tell_others(p, st);
    return st;
}

/* ---- run ----------------------------------------------------------------------------------------------------------- */

gnt_status gnti_program_set_hyper(gnti_program *p, gnt_hyper h, int32_t member, float value)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(h.id > 0 && h.id < p->num_hypers && member >= 0 && member < p->ir.num_members, GNT_ERR_ARG,
              "no hyper %d of member %d (there are %lld hypers, %d members)", h.id, member,
              (long long)p->num_hypers - 1, p->ir.num_members);
    p->hyper_values[(int64_t)h.id * p->ir.num_members + member] = value;
done:
    return st;
}

gnt_hyper gnti_program_loss_norm(const gnti_program *p)
{
    return (gnt_hyper){ p->ir.loss_norm };
}

static gnt_status send_step(gnti_program *p, const gnti_step *step)
{
    const int32_t members = p->ir.num_members;
    gnti_step_head *head = p->step_host;
    gnti_philox_key *keys = (gnti_philox_key *)(head + 1);
    float *hypers = (float *)(keys + members);

    head->step = step->step;
    head->num_hypers = p->num_hypers;
    head->num_members = members;
    for (int32_t m = 0; m < members; m++)
        keys[m] = gnti_member_key(step->seeds != NULL ? step->seeds[m] : (uint64_t)m, 0);
    memcpy(hypers, p->hyper_values, (size_t)(p->num_hypers * members) * sizeof *hypers);
    if (step->live != NULL)
        memcpy(hypers + p->num_hypers * members, step->live, (size_t)members);
    else
        memset(hypers + p->num_hypers * members, 1, (size_t)members);
    gnti_slices_send(p);
    return gnti_step_send(p);
}

static gnt_status run_timed(gnti_program *p)
{
    gnt_status st = GNT_OK;

    for (int64_t i = p->num_hoist_instrs; i < p->lowering.count; i++) {
        const gnti_instr *in = p->lowering.list[i];
        const double start = gnti_clock_seconds();

        GNT_TRY(gnti_instr_run(p->stream, in));
        GNT_TRY(gnti_device_finish(p, "a step"));
        p->node_seconds[in->node - p->ir.nodes] += gnti_clock_seconds() - start;
    }
    p->timed_runs++;
done:
    return st;
}

gnt_status gnti_program_set_timing(gnti_program *p, bool on)
{
    gnti_free(p->node_seconds);
    p->node_seconds = NULL;
    p->timed_runs = 0;
    gnti_capture_tell(p);
    return on ? gnti_calloc_array(&p->node_seconds, p->ir.num_nodes + 1) : GNT_OK;
}

gnt_status gnti_program_queue_step(gnti_program *p)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < p->num_chains; i++)
        GNT_TRY(gnti_chain_execute(p, &p->chains[i]));
done:
    return st;
}

/* A step in which nothing waits for other ranks: as one launch when it can be, which the run before has prepared. */
static gnt_status run_step(gnti_program *p)
{
    gnt_status st = GNT_OK;

    if (p->capture.step == NULL && gnti_capture_is_due(p))
        GNT_TRY(gnti_capture_make(p));
    if (p->capture.step != NULL)
        GNT_TRY(gnti_capture_launch(p->stream, p->capture.step));
    else
        GNT_TRY(gnti_program_queue_step(p));
    p->capture.num_runs++;
done:
    return st;
}

void gnti_program_set_clock(gnti_program *p, gnti_virtual *clock)
{
    p->clock = clock;
}

/* The same on a device that is not what it seems: one stretch of ops, charged or paced. */
static gnt_status run_on_clock(gnti_program *p, int64_t step)
{
    gnt_status st = GNT_OK;

    if (p->clock == NULL || gnti_virtual_is_plain(p->clock))
        return run_step(p);
    gnti_virtual_begin(p->clock, p->stream, step);
    st = run_step(p);
    if (st == GNT_OK && !gnti_device_in_host_memory(p->dev))
        st = gnti_device_finish(p, "a step");
    gnti_virtual_end(p->clock, p->stream);
    return st;
}

gnt_status gnti_program_run(gnti_program *p, const gnti_step *step)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(p->bound, GNT_ERR_STATE, "the program is not bound");
    GNT_CHECK(!p->hoisted_shared || p->partner->hoist_version == p->partner_hoist_version, GNT_ERR_STATE,
              "the program whose hoisted values are shared was bound again: bind this one too");
    GNT_TRY(gnti_params_take_turn(p->params, p->stream));
    if (p->workspace_version != gnti_scratch_version(p->workspace)) {
        gnti_capture_drop(p);
        GNT_TRY(gnti_scratch_fit(p->workspace, &p->user, p->workspace_bytes));
        GNT_TRY(gnti_lower_program(p));
    }
    if (p->clock != NULL)
        GNT_TRY(gnti_virtual_check(p->clock, step->step));
    GNT_TRY(send_step(p, step));
    if (p->node_seconds != NULL) {
        GNT_TRY(run_timed(p)); /* op by op: chains have no times of their ops */
        return GNT_OK;
    }
    if (p->parts.on && !gnti_device_parts_are_queued(p))
        GNT_TRY(gnti_parts_run_step(p, step->step));
    else
        GNT_TRY(run_on_clock(p, step->step));
done:
    tell_others(p, st);
    return st;
}

gnt_stream *gnti_program_stream(const gnti_program *p)
{
    return p->stream;
}

/* ---- read ---------------------------------------------------------------------------------------------------------- */

gnt_status gnti_program_stats(gnti_program *p, double *stats, int32_t *bad)
{
    gnt_status st = GNT_OK;
    const size_t members = (size_t)p->ir.num_members;

    if (stats != NULL)
        GNT_TRY(gnti_download(p->stream, stats, p->stats, 0, members * 4 * sizeof *stats));
    if (bad != NULL)
        GNT_TRY(gnti_download(p->stream, bad, p->bad, 0, members * sizeof *bad));
    GNT_TRY(gnti_device_finish(p, "a step"));
done:
    return st;
}

const char *gnti_program_bad_name(const gnti_program *p, int32_t bad)
{
    return bad >= 1 && bad <= p->num_segments ? p->model->params[p->segment_param[bad - 1]].name : "";
}

/* Rows of one member, closed up. */
static gnt_status read_view(gnti_program *p, const gnt_mat_view *v, int32_t member, float *out)
{
    gnt_status st = GNT_OK;
    const int64_t m = v->members == 1 ? 0 : member, g = v->block_members;
    const int64_t first = m / g * v->block_stride + m % g * v->member_stride;
    const int64_t span = v->rows > 0 ? (v->rows - 1) * v->row_stride + v->width : 0;
    const float *from = NULL;
    float *copy = NULL;

    GNT_TRY(gnti_device_finish(p, "a step"));
    if (v->rows == 0)
        return GNT_OK;
    from = gnt_buffer_host(v->buf);
    if (from != NULL) {
        from += (int64_t)(v->offset / sizeof(float)) + first;
    } else {
        GNT_TRY(gnti_alloc_array(&copy, span));
        GNT_TRY(gnti_download(p->stream, copy, v->buf, v->offset + (size_t)first * sizeof(float),
                              (size_t)span * sizeof(float)));
        GNT_TRY(gnti_device_finish(p, "a step"));
        from = copy;
    }
    for (int64_t r = 0; r < v->rows; r++)
        memcpy(out + r * v->width, from + r * v->row_stride, (size_t)v->width * sizeof(float));
done:
    gnti_free(copy);
    return st;
}

gnt_status gnti_program_read_var(gnti_program *p, gnt_var v, int32_t member, float *out)
{
    gnt_status st = GNT_OK;
    const gnti_value *value;
    gnt_mat_view view;

    GNT_CHECK(p->bound, GNT_ERR_STATE, "the program is not bound");
    GNT_CHECK(v.id > 0 && v.id < p->ir.num_values, GNT_ERR_ARG, "there is no value %d", v.id);
    GNT_CHECK(member >= 0 && member < p->ir.num_members, GNT_ERR_ARG, "member %d is outside of 0 to %d",
              member, p->ir.num_members - 1);
    value = &p->ir.values[v.id];
    GNT_CHECK((value->keep && value->storage != GNTI_IN_NOTHING) || value->storage == GNTI_IN_WEIGHTS,
              GNT_ERR_STATE, "value %d does not outlive a run: mark it with gnti_tape_keep while recording",
              v.id);
    GNT_CHECK(p->workspace_version == gnti_scratch_version(p->workspace), GNT_ERR_STATE,
              "the program has not run since it was bound");
    view = gnti_lower_view(&p->lowering, v.id);
    GNT_CHECK(view.buf != NULL, GNT_ERR_STATE, "value %d is not in memory", v.id);
    GNT_TRY(read_view(p, &view, member, out));
done:
    return st;
}

gnt_status gnti_program_read_logits(gnti_program *p, int32_t member, float *out)
{
    return gnti_program_read_var(p, (gnt_var){ p->ir.logits }, member, out);
}

gnt_status gnti_program_get_choices(const gnti_program *p, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text text = { 0 };

    gnti_text_printf(&text, "g=%d", p->config.block_members);
    if (p->laid_out)
        gnti_text_printf(&text, ";slice=%d", p->slices.members > 0 ? p->slices.members : p->ir.num_members);
    GNT_TRY(gnti_text_take(&text, out));
done:
    return st;
}

/* ---- sharing ------------------------------------------------------------------------------------------------------- */

gnt_status gnti_program_share(gnti_program *p, gnti_program *with)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(p != NULL && with != NULL && p != with, GNT_ERR_ARG, "two programs are needed");
    GNT_CHECK(p->params != NULL && with->params != NULL && p->dev == with->dev, GNT_ERR_ARG,
              "programs share only on one device");
    gnti_scratch_part(&p->workspace, &p->user);
    p->workspace = with->workspace;
    gnti_scratch_join(p->workspace, &p->user);
    p->workspace_version = -1;
    p->partner = with;
    p->bound = false;
done:
    return st;
}

bool gnti_program_hold(gnti_program *p)
{
    return !gnti_scratch_is_shared(p->workspace) || gnti_scratch_hold(p->workspace, p->params);
}

void gnti_program_release(gnti_program *p)
{
    gnti_error_record kept;

    if (!gnti_scratch_is_shared(p->workspace))
        return;
    gnti_error_keep(&kept); /* what failed has been told already */
    (void)gnti_stream_finish(p->stream);
    gnti_error_give_back(&kept);
    gnti_scratch_release(p->workspace);
}

size_t gnti_program_scratch_bytes(const gnti_program *p)
{
    return gnti_scratch_is_shared(p->workspace) ? p->user.bytes : 0;
}
