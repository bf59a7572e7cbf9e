/* SPDX-License-Identifier: Apache-2.0 */
/* Waves of members, one after the other: logits of a wave's members alone are in memory, so memory does not grow with the members.
 *
 *   run the wave's tasks     under MPI each process those of its device; rows that it has not computed are 0
 *   share                    who has failed, which devices are lost; then logits are summed over processes, row by row one is not 0
 *   hand over                in the order of `order`, which no device changes, to the sink; let go
 * When devices are lost the wave and those behind it are planned anew for the others, and the wave is run again.
 */
#include "ensemble/serve.h"

#include "base/alloc.h"

#include <math.h>
#include <string.h>

bool gnti_serve_is_root(const gnti_serve *s)
{
    return s->job.processes == NULL || s->job.processes->rank == 0;
}

/* ---- sharing ----------------------------------------------------------------------------------------------------------- */

static gnt_status share_most(const gnti_serve *s, int32_t *values, int64_t count)
{
    return gnti_comm_all_reduce(s->job.processes,
                                &(gnti_all_reduce_args){ values, count, GNT_I32, GNTI_COMM_MAX });
}

/* A failure of one process is everybody's. */
static gnt_status share_status(const gnti_serve *s, gnt_status st)
{
    int32_t failed = st != GNT_OK;
    const gnti_error_record first = *gnti_error_get();
    gnt_status told;

    if (s->job.processes->size == 1)
        return st;
    told = share_most(s, &failed, 1);
    if (st != GNT_OK) {
        (void)gnti_error_adopt(&first);
        return st;
    }
    if (told == GNT_OK && failed != 0)
        return gnti_error_set(GNT_ERR_PEER_LOST, __FILE__, __LINE__, __func__,
                              "another process failed to predict: its own message says why");
    return told;
}

/* Those that some process has lost are lost for all. anew: some are since the last time. */
static gnt_status share_lost(gnti_serve *s, bool *anew)
{
    gnt_status st = GNT_OK;
    const int32_t num = s->job.place.size;
    int32_t *lost = NULL;

    *anew = false;
    GNT_TRY(gnti_calloc_array(&lost, num));
    for (int32_t d = 0; d < num; d++)
        lost[d] = s->lost[d] != NULL;
    GNT_TRY(share_most(s, lost, num));
    for (int32_t d = 0; d < num; d++) {
        if (lost[d] == 0)
            continue;
        if (s->lost[d] == NULL)
            GNT_TRY(gnti_strdup(&s->lost[d], "its process has lost it"));
        *anew = *anew || s->capacity[d] > 0;
        s->capacity[d] = 0;
    }
done:
    gnti_free(lost);
    return st;
}

/* ---- a wave ------------------------------------------------------------------------------------------------------------ */

static void let_go(gnti_serve *s, int32_t first, int32_t end)
{
    for (int32_t i = first; i < end; i++) {
        gnti_serve_member *m = &s->members[s->order[i]];

        gnti_free(m->logits);
        m->logits = NULL;
    }
}

static gnt_status make_room(gnti_serve *s, int32_t first, int32_t end)
{
    gnt_status st = GNT_OK;
    size_t cells = 0;

    GNT_TRY(gnti_mul_size((size_t)s->data->num_nodes, (size_t)s->num_classes, &cells));
    for (int32_t i = first; i < end; i++)
        GNT_TRY(gnti_calloc_array(&s->members[s->order[i]].logits, (int64_t)cells));
done:
    return st;
}

static gnt_status gather(const gnti_serve *s, int32_t first, int32_t end)
{
    gnt_status st = GNT_OK;
    const int64_t cells = s->data->num_nodes * s->num_classes;

    for (int32_t i = first; i < end && s->job.processes->size > 1 && cells > 0; i++)
        GNT_TRY(
            gnti_comm_all_reduce(s->job.processes, &(gnti_all_reduce_args){ s->members[s->order[i]].logits,
                                                                            cells, GNT_F32, GNTI_COMM_SUM }));
done:
    return st;
}

/* A member whose values are no numbers is named, never averaged. */
static gnt_status check(const gnti_serve *s, int32_t m)
{
    gnt_status st = GNT_OK;
    const int64_t cells = s->data->num_nodes * s->num_classes;

    for (int64_t i = 0; i < cells; i++)
        GNT_CHECK(
            isfinite(s->members[m].logits[i]), GNT_ERR_NUMERIC,
            "member '%s' predicts %g for node %lld: its weights are damaged or the data are unlike those "
            "of its training",
            s->file.name[s->members[m].number], (double)s->members[m].logits[i],
            (long long)(i / s->num_classes));
done:
    return st;
}

static gnt_status hand_over(gnti_serve *s, int32_t first, int32_t end, gnti_serve_sink sink, void *user)
{
    gnt_status st = GNT_OK;

    for (int32_t i = first; i < end && gnti_serve_is_root(s); i++) {
        const int32_t m = s->order[i];

        GNT_TRY(check(s, m));
        GNT_TRY(sink(user, m, s->members[m].logits));
    }
done:
    return st;
}

/* Members order[first] .. order[end - 1]; again: devices were lost, nothing was handed over. */
static gnt_status run_wave(gnti_serve *s, int32_t wave, int32_t first, int32_t end, gnti_serve_sink sink,
                           void *user, bool *again)
{
    gnt_status st = make_room(s, first, end);

    if (st == GNT_OK)
        st = gnti_serve_run_wave(s, wave);
    GNT_TRY(share_status(s, st));
    GNT_TRY(share_lost(s, again));
    if (*again)
        goto done;
    GNT_TRY(gather(s, first, end));
    st = hand_over(s, first, end, sink, user);
    GNT_TRY(share_status(s, st));
done:
    let_go(s, first, end);
    return st;
}

/* ---- all --------------------------------------------------------------------------------------------------------------- */

static gnt_status go_on_without(gnti_serve *s, int32_t from)
{
    gnt_status st = GNT_OK;
    int32_t left = 0, last = 0;

    for (int32_t d = 0; d < s->job.place.size; d++) {
        left += s->lost[d] == NULL;
        last = s->lost[d] != NULL ? d : last;
    }
    GNT_CHECK(left > 0, GNT_ERR_DEVICE_LOST, "no device is left to predict on; device %d of %d: %s",
              (int)last, (int)s->job.place.size, s->lost[last]);
    GNT_TRY(gnti_serve_plan_rest(s, from));
done:
    return st;
}

gnt_status gnti_serve_run(gnti_serve *s, gnti_serve_sink sink, void *user)
{
    gnt_status st = GNT_OK;
    int32_t first = 0;

    for (int32_t wave = 0; wave < s->num_waves;) {
        const int32_t end = s->wave_end[wave];
        bool again = false;

        GNT_TRY(run_wave(s, wave, first, end, sink, user, &again));
        if (again) {
            GNT_TRY(go_on_without(s, first));
            continue;
        }
        first = end;
        wave++;
    }
    GNT_TRY(gnti_comm_all_reduce(
        s->job.processes, &(gnti_all_reduce_args){ s->seconds, s->job.place.size, GNT_F64, GNTI_COMM_MAX }));
done:
    return st;
}
