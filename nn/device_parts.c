/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's rows and sums in a device's memory. Halo rows travel by dist/device_halo.h. Sums are added up by the group of devices
 * where all ranks are in it; else they lie in memory that device and host share, the device has written its own before the ranks
 * add them up over the tree, and copies of the results are queued behind.
 */
#include "nn/program_state.h"

/* Events of the stream that talks: an exchange has landed, by slot and direction; a sum is there. */
enum { LANDED, SUMMED = 2 * GNTI_UNDER_WAY, NUM_TALK_EVENTS };

gnt_status gnti_bind_device_halo(gnti_program *p, int64_t widest, int32_t slot)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_halo_plan *plans[2] = { q->part->forward, q->part->backward };

    if (gnti_device_in_host_memory(p->dev))
        return GNT_OK;
    if (q->dist.group != NULL && q->talk == NULL)
        GNT_TRY(gnti_stream_open(p->dev, NUM_TALK_EVENTS, &q->talk));
    for (int dir = 0; dir < 2; dir++) {
        if (dir == GNTI_BACKWARD && plans[GNTI_BACKWARD] == plans[GNTI_FORWARD])
            q->device_halo[dir][slot] = q->device_halo[GNTI_FORWARD][slot];
        else
            GNT_TRY(gnti_device_halo_create(&(gnti_device_halo_config){ .comm = q->dist.comm,
                                                                        .plan = plans[dir],
                                                                        .wire = q->dist.wire,
                                                                        .max_floats = widest,
                                                                        .stream = p->stream,
                                                                        .event = GNTI_EVENT_PACKED,
                                                                        .group = q->dist.group,
                                                                        .group_rank = q->dist.group_rank,
                                                                        .talk = q->talk,
                                                                        .landed = LANDED + 2 * slot + dir },
                                            &q->device_halo[dir][slot]));
    }
done:
    return st;
}

void gnti_device_halo_unbind(gnti_program *p)
{
    gnti_device_halo *(*h)[GNTI_UNDER_WAY] = p->parts.device_halo;

    for (int i = 0; i < GNTI_UNDER_WAY; i++) {
        if (h[GNTI_BACKWARD][i] == h[GNTI_FORWARD][i])
            h[GNTI_BACKWARD][i] = NULL;
        gnti_device_halo_free(&h[GNTI_BACKWARD][i]);
        gnti_device_halo_free(&h[GNTI_FORWARD][i]);
    }
    gnti_stream_close(&p->parts.talk);
}

bool gnti_device_sums_by_group(const gnti_program *p)
{
    const gnti_dist_config *d = &p->parts.dist;

    if (d->group == NULL || gnti_context_determinism(p->ctx) == GNTI_DET_BITWISE)
        return false;
    for (int32_t r = 0; r < d->comm->size; r++)
        if (d->group_rank[r] < 0)
            return false;
    return true;
}

bool gnti_device_parts_are_queued(const gnti_program *p)
{
    const gnti_program_parts *q = &p->parts;

    if ((q->dist.clock != NULL && !gnti_virtual_is_plain(q->dist.clock)) || q->dist.trace != NULL ||
        !gnti_device_sums_by_group(p))
        return false;
    for (int i = 0; i < GNTI_UNDER_WAY; i++)
        for (int dir = 0; dir < 2; dir++)
            if (q->device_halo[dir][i] != NULL && !gnti_device_halo_is_queued(q->device_halo[dir][i]))
                return false;
    return true;
}

static size_t bytes_of(const gnti_ranks_args *a)
{
    return (size_t)a->count * (a->dtype == GNT_F64 ? sizeof(double) : sizeof(float));
}

static gnt_status add_by_group(const gnti_ranks_args *a)
{
    gnt_status st = GNT_OK;
    gnt_stream *s = a->lo->p->stream, *talk = a->lo->p->parts.talk;

    GNT_TRY(gnti_copy(s, &(gnt_copy_args){ a->out_buffer, a->out_offset, a->roots_buffer, 0, bytes_of(a) }));
    GNT_TRY(gnti_event_record(s, GNTI_EVENT_PACKED));
    GNT_TRY(gnti_event_await(talk, s, GNTI_EVENT_PACKED));
    GNT_TRY(gnti_group_all_reduce(a->group, talk,
                                  &(gnti_group_sum){ .buffer = a->out_buffer,
                                                     .offset = a->out_offset,
                                                     .count = a->count,
                                                     .dtype = a->dtype,
                                                     .op = GNTI_COMM_SUM }));
    GNT_TRY(gnti_event_record(talk, SUMMED));
    GNT_TRY(gnti_event_await(s, talk, SUMMED));
done:
    return st;
}

/* Sums of gradients go to their places in the block, the loss statistics to theirs. */
static gnt_status hand_out(const gnti_ranks_args *a)
{
    gnt_status st = GNT_OK;
    gnt_copy_args copy = { .src = a->out_buffer };

    if (a->to_device != NULL) {
        copy.dst = a->to_device;
        copy.src_offset = a->out_offset;
        copy.bytes = bytes_of(a);
        GNT_TRY(gnti_copy(a->lo->p->stream, &copy));
    }
    for (int64_t i = 0; i < a->num_parts; i++) {
        const gnt_mat_view to = gnti_lower_view(a->lo, a->parts[i].value);

        if (gnti_lower_value(a->lo, a->parts[i].value)->storage != GNTI_IN_GRADS)
            continue;
        copy.dst = to.buf;
        copy.dst_offset = to.offset;
        copy.src_offset = a->out_offset + (size_t)a->parts[i].first * sizeof(float);
        copy.bytes = (size_t)a->parts[i].count * sizeof(float);
        GNT_TRY(gnti_copy(a->lo->p->stream, &copy));
    }
done:
    return st;
}

gnt_status gnti_device_sum_run(const gnti_ranks_args *a)
{
    gnt_status st = GNT_OK;

    if (a->group != NULL) {
        GNT_TRY(add_by_group(a));
    } else {
        GNT_TRY(gnti_device_finish(a->lo->p, "a sum over ranks"));
        GNT_TRY(gnti_tree_sum_run(a->tree, a->roots, a->count, a->dtype, a->out));
    }
    GNT_TRY(hand_out(a));
done:
    return st;
}

gnt_status gnti_device_finish(const gnti_program *p, const char *what)
{
    return p->parts.dist.group != NULL ? gnti_group_wait(p->parts.dist.group, p->stream, what)
                                       : gnti_stream_finish(p->stream);
}
