/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank owns which chunk. The process of rank 0 decides, since it alone knows the quotient graph, and tells the others.
 */
#include "train/job.h"

#include "base/alloc.h"
#include "kernels/profile.h"

#include <string.h>

/* Floats of a row and of an arc of an ordinary layer: what chunks are weighed with until rates were measured. */
static const gnti_chunk_rates plain_rates = {
    .arc_seconds = 4e-9, .row_seconds = 4e-8, .bytes_per_row = 1024.0, .bytes_per_arc = 8.0
};

/* Where speeds were measured, a map is worth balancing as well as its chunks allow. */
#define MEASURED_TOLERANCE 0.005

void gnti_placement_free(gnti_placement *place)
{
    gnti_free(place->specs);
    gnti_free(place->owner);
    memset(place, 0, sizeof *place);
}

static gnt_status facts_of_file(const gnt_dataset *data, const gnti_partition *p, gnti_chunk_facts **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;
    int64_t *origin = NULL;

    GNT_TRY(gnti_arc_stream_open(data->path, &stream));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    GNT_TRY(gnti_chunk_facts_stream(stream, origin, p, &plain_rates, out));
done:
    gnti_free(origin);
    gnti_arc_stream_close(&stream);
    return st;
}

/* Devices that nothing tells apart. */
static bool all_alike(const gnti_placement *place)
{
    const gnti_device_spec *a = &place->specs[0];

    for (int32_t d = 1; d < place->size; d++) {
        const gnti_device_spec *b = &place->specs[d];

        if (strcmp(a->backend, b->backend) != 0 || a->speed != b->speed || a->spmm != b->spmm ||
            a->gemm != b->gemm || a->memory != b->memory || a->threads != b->threads ||
            a->virtual_clock != b->virtual_clock)
            return false;
    }
    return true;
}

/* The new number of an old device, -1: it leaves. Of equal devices those leave that stand evenly among the others, so that
 * each one's chunks have neighbours on both sides to go to; else the last ones. */
static int32_t number_now(const gnti_placement *from, const gnti_placement *to, bool alike, int32_t device)
{
    const int64_t before = (int64_t)device * to->size / from->size,
                  after = ((int64_t)device + 1) * to->size / from->size;

    if (to->size < from->size && alike)
        return after > before ? (int32_t)before : -1;
    return device < to->size ? device : -1;
}

/* From where the chunks lie. */
static gnt_status place_again(gnti_job *job, const gnti_map_config *config, const gnti_placement *from,
                              gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    const bool alike = all_alike(from) && all_alike(&job->place);
    int32_t *new_of_old = NULL;

    GNT_TRY(gnti_alloc_array(&new_of_old, from->size));
    for (int32_t d = 0; d < from->size; d++)
        new_of_old[d] = number_now(from, &job->place, alike, d);
    GNT_TRY(gnti_chunk_map_resize(job->facts, config, from->owner, new_of_old, from->size, job->place.owner,
                                  moved));
done:
    gnti_free(new_of_old);
    return st;
}

static gnt_status place_at_root(gnti_job *job, const gnt_dataset *data, const double *speeds,
                                const gnti_placement *from, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    gnti_map_device *devices = NULL;
    /* seconds a halo row are not known yet: so few that balance decides, and halo between equals */
    gnti_map_config config = { .num_devices = job->place.size,
                               .halo_seconds = 1e-15,
                               .tolerance = speeds != NULL ? MEASURED_TOLERANCE : 0.05 };

    if (job->facts == NULL)
        GNT_TRY(data->header != NULL
                    ? facts_of_file(data, job->partition, &job->facts)
                    : gnti_chunk_facts_make_dataset(data, job->partition, &plain_rates, &job->facts));
    GNT_TRY(gnti_alloc_array(&devices, job->place.size));
    for (int32_t i = 0; i < job->place.size; i++)
        devices[i] =
            (gnti_map_device){ speeds != NULL ? speeds[i] : 1.0, (double)job->place.specs[i].memory };
    config.devices = devices;
    if (from != NULL && from->owner != NULL)
        GNT_TRY(place_again(job, &config, from, moved));
    else
        GNT_TRY(gnti_chunk_map_first(job->facts, &config, job->place.owner));
    memcpy(job->cost, job->facts->cost, (size_t)job->facts->num_chunks * sizeof *job->cost);
done:
    gnti_free(devices);
    return st;
}

/* Speeds of devices that differ, measured before the first map, so that the first epoch is in balance; NULL: alike. */
static gnt_status probe_speeds(const gnti_job *job, double **out)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &job->place;
    double *speeds = NULL;

    *out = NULL;
    if (!gnti_device_specs_differ(place->specs, place->size))
        return GNT_OK;
    GNT_TRY(gnti_calloc_array(&speeds, place->size));
    for (int32_t i = place->first; i < place->first + place->num_local; i++) {
        gnti_device_config config;
        gnti_profile profile;

        GNT_TRY(gnti_job_device_config(job, i, &config));
        GNT_TRY(gnti_device_profile(&place->specs[i], &config, (uint64_t)i, &profile));
        speeds[i] = profile.speed;
    }
    GNT_TRY(gnti_comm_all_reduce(job->processes,
                                 &(gnti_all_reduce_args){ speeds, place->size, GNT_F64, GNTI_COMM_SUM }));
    *out = speeds;
    speeds = NULL;
done:
    gnti_free(speeds);
    return st;
}

gnt_status gnti_job_place(gnti_job *job, const gnt_dataset *data, const double *speeds,
                          const gnti_placement *from, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = job->processes;
    double *probed = NULL;

    if (job->partition == NULL)
        return GNT_OK;
    if (speeds == NULL)
        GNT_TRY(probe_speeds(job, &probed));
    GNT_TRY(gnti_alloc_array(&job->place.owner, job->partition->num_chunks));
    if (job->cost == NULL)
        GNT_TRY(gnti_alloc_array(&job->cost, job->partition->num_chunks));
    if (c->rank == 0)
        GNT_TRY(place_at_root(job, data, speeds != NULL ? speeds : probed, from, moved));
    GNT_TRY(gnti_comm_broadcast(c, 0, job->place.owner,
                                (size_t)job->partition->num_chunks * sizeof *job->place.owner));
    GNT_TRY(gnti_comm_broadcast(c, 0, job->cost, (size_t)job->partition->num_chunks * sizeof *job->cost));
done:
    gnti_free(probed);
    return st;
}
