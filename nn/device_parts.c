/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's rows and sums in a device's memory. Halo rows cross through dist/device_halo.h. Sums lie in memory that device and
 * host share: the device has written its own before the ranks add them up, and copies of the results are queued behind.
 */
#include "nn/program_state.h"

gnt_status gnti_bind_device_halo(gnti_program *p, int64_t widest)
{
    gnt_status st = GNT_OK;
    gnti_program_parts *q = &p->parts;
    const gnti_halo_plan *plans[2] = { q->part->forward, q->part->backward };

    if (gnti_device_in_host_memory(p->dev))
        return GNT_OK;
    for (int dir = 0; dir < 2; dir++) {
        if (dir == GNTI_BACKWARD && plans[GNTI_BACKWARD] == plans[GNTI_FORWARD])
            q->device_halo[dir] = q->device_halo[GNTI_FORWARD];
        else
            GNT_TRY(gnti_device_halo_create(q->dist.comm, plans[dir], q->dist.wire, widest, p->stream,
                                            &q->device_halo[dir]));
    }
done:
    return st;
}

void gnti_device_halo_unbind(gnti_program *p)
{
    gnti_device_halo **h = p->parts.device_halo;

    if (h[GNTI_BACKWARD] == h[GNTI_FORWARD])
        h[GNTI_BACKWARD] = NULL;
    gnti_device_halo_free(&h[GNTI_BACKWARD]);
    gnti_device_halo_free(&h[GNTI_FORWARD]);
}

gnt_status gnti_device_sum_begin(const gnti_ranks_args *a)
{
    return gnti_stream_finish(a->lo->p->stream);
}

/* Sums of gradients go to their places in the block, the loss statistics to theirs. */
gnt_status gnti_device_sum_end(const gnti_ranks_args *a)
{
    gnt_status st = GNT_OK;
    gnt_copy_args copy = { .src = a->out_buffer };

    if (a->to_device != NULL) {
        copy.dst = a->to_device;
        copy.src_offset = a->out_offset;
        copy.bytes = (size_t)a->count * (a->dtype == GNT_F64 ? sizeof(double) : sizeof(float));
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
