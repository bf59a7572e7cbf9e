/* SPDX-License-Identifier: Apache-2.0 */
/* Planner pass capture: a whole step becomes one launch.
 *
 * A device that queues work pays some microseconds for each op, which is all that small graphs cost. So the second run after a
 * binding is captured: the first has made whatever ops make once (analysis, descriptors, scratch memory), and a program that is
 * bound anew for each batch never gets there. From then on a run sends what has changed of the step block and launches the
 * capture. Whatever moves an address, binding or a workspace that grew, drops it. What a device cannot capture is run as ever.
 */
#include "nn/program_state.h"

#include <string.h>

enum { RUNS_BEFORE = 1 };

void gnti_capture_drop(gnti_program *p)
{
    if (p->capture.step != NULL)
        (void)gnti_device_finish(p, "the last step"); /* an error shows again at the next wait */
    gnti_capture_free(p->stream, &p->capture.step);
    p->capture.num_runs = 0;
    p->capture.refused = false;
}

void gnti_capture_tell(gnti_program *p)
{
    if (p->fired[GNTI_CAPTURE] != 0 || p->notes[GNTI_CAPTURE].length > 0 || p->stream == NULL ||
        !gnti_pass_is_on(p, GNTI_CAPTURE))
        return;
    if (!gnti_stream_captures(p->stream))
        gnti_pass_note(p, GNTI_CAPTURE, "the device runs op by op");
    else if (p->config.batches)
        gnti_pass_note(p, GNTI_CAPTURE, "each step is bound to another batch");
    else if (p->parts.on && !gnti_device_parts_are_queued(p))
        gnti_pass_note(p, GNTI_CAPTURE, "rows or sums go through the host");
}

bool gnti_capture_is_due(const gnti_program *p)
{
    return gnti_pass_is_on(p, GNTI_CAPTURE) && gnti_stream_captures(p->stream) && p->node_seconds == NULL &&
           !p->capture.refused && p->capture.num_runs >= RUNS_BEFORE;
}

/* An op that cannot be captured needs memory or a wait: its text is kept for explain. */
static void refuse(gnti_program *p)
{
    p->capture.refused = true;
    if (p->notes[GNTI_CAPTURE].length == 0)
        gnti_pass_note(p, GNTI_CAPTURE, "off: %s", gnt_last_error());
    gnt_clear_error();
}

gnt_status gnti_capture_make(gnti_program *p)
{
    gnt_status st = GNT_OK, end;

    GNT_TRY(gnti_capture_begin(p->stream));
    st = gnti_program_queue_step(p);
    end = gnti_capture_end(p->stream, st == GNT_OK ? &p->capture.step : NULL);
    if (st == GNT_OK)
        st = end;
    if (st == GNT_ERR_STATE || st == GNT_ERR_UNSUPPORTED) {
        refuse(p);
        return GNT_OK;
    }
    GNT_TRY(st);
    if (p->fired[GNTI_CAPTURE] == 0)
        gnti_pass_note(p, GNTI_CAPTURE, "%lld ops are one launch",
                       (long long)(p->lowering.count - p->num_hoist_instrs));
    p->fired[GNTI_CAPTURE] = 1;
done:
    return st;
}

/* ---- the step block --------------------------------------------------------------------------------------------------- */

/* Sends bytes [from, end) of the block. */
static gnt_status send_bytes(gnti_program *p, size_t from, size_t end)
{
    memcpy((char *)p->step_sent + from, (const char *)p->step_host + from, end - from);
    return gnti_upload(p->stream, p->step, from, (const char *)p->step_host + from, end - from);
}

/* The first 8 bytes, the number of the step, always change; of the rest the bytes from the first to the last that differ. */
gnt_status gnti_step_send(gnti_program *p)
{
    gnt_status st = GNT_OK;
    const char *now = (const char *)p->step_host, *sent = (const char *)p->step_sent;
    size_t from = sizeof(int64_t), end = p->step_bytes;

    if (!p->step_is_sent) {
        GNT_TRY(send_bytes(p, 0, p->step_bytes));
        p->step_is_sent = true;
        return GNT_OK;
    }
    while (from < end && now[from] == sent[from])
        from++;
    while (end > from && now[end - 1] == sent[end - 1])
        end--;
    GNT_TRY(send_bytes(p, 0, sizeof(int64_t)));
    if (from < end)
        GNT_TRY(send_bytes(p, from, end));
done:
    if (st != GNT_OK)
        p->step_is_sent = false;
    return st;
}
