/* SPDX-License-Identifier: Apache-2.0 */
/* A step of a program over parts: the instructions in order, as stretches of ops without a wait, which virtual devices charge
 * or pace, and what talks to other ranks between them. The trace, where there is one, shows both.
 */
#include "base/clock.h"
#include "nn/program_state.h"
#include "nn/trace.h"

#include <stdio.h>

typedef struct pass {
    gnti_program *p;
    int64_t step;
    bool in_stretch;
    double started[GNTI_UNDER_WAY + 2]; /* transfers under way: exchanges, broadcasts of even and odd ranks */
} pass;

static double now(const gnti_program *p)
{
    const double *clock = p->parts.dist.comm->virtual_seconds;

    return clock != NULL ? *clock : gnti_clock_seconds();
}

static void begin_stretch(pass *s)
{
    if (s->p->parts.dist.clock != NULL && !s->in_stretch)
        gnti_virtual_begin(s->p->parts.dist.clock, s->p->stream, s->step);
    s->in_stretch = true;
}

/* What is queued is waited for, or the seconds would be those of queueing; an error of it shows again at the next wait. */
static void end_stretch(pass *s)
{
    if (s->p->parts.dist.clock != NULL && s->in_stretch && !gnti_device_in_host_memory(s->p->dev))
        (void)gnti_device_finish(s->p, "a stretch of ops");
    if (s->p->parts.dist.clock != NULL && s->in_stretch)
        gnti_virtual_end(s->p->parts.dist.clock, s->p->stream);
    s->in_stretch = false;
}

/* "aggregate" or "aggregate +3", a chain of four. */
static void note_op(const pass *s, const gnti_chain_run *run, double begin)
{
    const gnti_node *n = s->p->lowering.list[run->first]->node;
    const char *name = n->custom != NULL ? n->custom->name : gnti_op_get_info(n->op)->name;
    char text[40];

    if (run->num_ops == 0)
        snprintf(text, sizeof text, "%.20s", name);
    else
        snprintf(text, sizeof text, "%.20s +%d", name, (int)run->num_ops - 1);
    gnti_trace_add(s->p->parts.dist.trace, GNTI_TRACE_OP, text, n->layer, s->step, begin, now(s->p));
}

static void note_talk(pass *s, const gnti_instr *in, double begin)
{
    gnti_trace *trace = s->p->parts.dist.trace;
    const double end = now(s->p);
    const bool broadcast = in->kind == GNTI_INSTR_BROADCAST_START || in->kind == GNTI_INSTR_BROADCAST_FINISH;
    const int slot = in->kind == GNTI_INSTR_SUM_RANKS ? 0
                     : broadcast                      ? GNTI_UNDER_WAY + in->a.broadcast.root % 2
                                                      : in->a.exchange.slot;
    const char *name = in->kind == GNTI_INSTR_SUM_RANKS ? "sum-ranks" : broadcast ? "broadcast" : "exchange";

    if (in->kind == GNTI_INSTR_EXCHANGE_START || in->kind == GNTI_INSTR_BROADCAST_START) {
        s->started[slot] = begin;
        return;
    }
    if (in->kind == GNTI_INSTR_EXCHANGE_POLL)
        return;
    gnti_trace_add(trace, GNTI_TRACE_WAIT, name, in->node->layer, s->step, begin, end);
    gnti_trace_add(trace, GNTI_TRACE_TRANSFER, name, in->node->layer, s->step,
                   in->kind == GNTI_INSTR_EXCHANGE_FINISH || in->kind == GNTI_INSTR_BROADCAST_FINISH
                       ? s->started[slot]
                       : begin,
                   end);
}

gnt_status gnti_parts_run_step(gnti_program *p, int64_t step)
{
    gnt_status st = GNT_OK;
    pass s = { .p = p, .step = step };

    for (int64_t i = 0; i < p->num_chains; i++) {
        const gnti_chain_run *run = &p->chains[i];
        const gnti_instr *in = p->lowering.list[run->first];
        const bool talks = gnti_instr_talks(in),
                   traced = p->parts.dist.trace != NULL && in->kind != GNTI_INSTR_NOTHING;
        double begin;

        if (talks)
            end_stretch(&s);
        else
            begin_stretch(&s);
        begin = traced ? now(p) : 0.0;
        GNT_TRY(gnti_chain_execute(p, run));
        if (traced && !talks && p->parts.dist.comm->virtual_seconds != NULL)
            end_stretch(&s); /* so that the clock shows each op */
        if (traced && talks)
            note_talk(&s, in, begin);
        else if (traced)
            note_op(&s, run, begin);
    }
done:
    end_stretch(&s);
    return st;
}
