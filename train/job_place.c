/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank owns which chunk. The process of rank 0 decides, since it alone knows the quotient graph, and tells the others.
 */
#include "train/placement.h"

#include "base/alloc.h"
#include "dist/link_cost.h"
#include "train/job.h"

#include <string.h>

/* Where speeds were measured, a map is worth balancing as well as its chunks allow. */
#define TOLERANCE          0.05
#define MEASURED_TOLERANCE 0.005

void gnti_placement_free(gnti_placement *place)
{
    gnti_free(place->specs);
    gnti_free(place->owner);
    memset(place, 0, sizeof *place);
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

/* New numbers of all old devices. */
static gnt_status renumber(const gnti_placement *from, const gnti_placement *to, int32_t **out)
{
    gnt_status st = GNT_OK;
    const bool alike = all_alike(from) && all_alike(to);
    int32_t *new_of_old = NULL;

    GNT_TRY(gnti_alloc_array(&new_of_old, from->size));
    for (int32_t d = 0; d < from->size; d++)
        new_of_old[d] = number_now(from, to, alike, d);
    *out = new_of_old;
done:
    return st;
}

gnti_link gnti_job_link(const gnti_job *job, bool *apart)
{
    const gnti_device_spec *spec = &job->place.specs[0];

    /* not what was measured: one machine places alike each time */
    *apart = spec->virtual_clock ? spec->latency > 0.0 || spec->bandwidth > 0.0 : job->processes->size > 1;
    if (spec->virtual_clock)
        return (gnti_link){ spec->latency, spec->bandwidth };
    return gnti_cost_link_default(job->processes);
}

static gnt_status place_at_root(gnti_job *job, const gnt_dataset *data, const gnti_rates *rates,
                                const double *speeds, const gnti_placement *from, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_rates none = { 0 };
    int32_t *new_of_old = NULL;
    gnti_placing p = { .forecast = job->forecast,
                       .data = data,
                       .partition = job->partition,
                       .specs = job->place.specs,
                       .num_devices = job->place.size,
                       .rates = rates,
                       .speeds = speeds };

    if (job->facts == NULL)
        GNT_TRY(gnti_chunk_facts_read(data, job->partition, &none, &job->facts));
    p.facts = job->facts;
    p.link = gnti_job_link(job, &p.apart);
    p.may_leave_out =
        job->place.specs[0].virtual_clock || gnti_device_specs_differ(job->place.specs, job->place.size);
    p.tolerance = speeds != NULL || gnti_device_specs_differ(job->place.specs, job->place.size)
                      ? MEASURED_TOLERANCE
                      : TOLERANCE;
    if (from != NULL && from->owner != NULL) {
        GNT_TRY(renumber(from, &job->place, &new_of_old));
        p.old_owner = from->owner;
        p.new_of_old = new_of_old;
        p.num_old = from->size;
    }
    GNT_TRY(gnti_place_chunks(&p, job->place.owner, moved));
    memcpy(job->cost, job->facts->cost, (size_t)job->facts->num_chunks * sizeof *job->cost);
done:
    gnti_free(new_of_old);
    return st;
}

gnt_status gnti_job_rates(const gnti_job *job, gnti_rates **out)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &job->place;
    const bool differ = gnti_device_specs_differ(place->specs, place->size);
    const int64_t count = (int64_t)place->size * (int64_t)(sizeof(gnti_rates) / sizeof(double));
    gnti_rates *rates = NULL;

    GNT_TRY(gnti_calloc_array(&rates, place->size));
    for (int32_t i = 0; !differ && i < place->size; i++)
        rates[i] = gnti_rates_default(1);
    for (int32_t i = place->first; differ && i < place->first + place->num_local; i++) {
        gnti_device_config config;
        gnti_profile profile;

        GNT_TRY(gnti_job_device_config(job, i, &config));
        GNT_TRY(gnti_device_profile(&place->specs[i], &config, (uint64_t)i,
                                    gnti_forecast_kinds(job->forecast), &profile));
        rates[i] = profile.rates;
    }
    if (differ)
        GNT_TRY(gnti_comm_all_reduce(job->processes, &(gnti_all_reduce_args){ (double *)(void *)rates, count,
                                                                              GNT_F64, GNTI_COMM_SUM }));
    *out = rates;
    rates = NULL;
done:
    gnti_free(rates);
    return st;
}

gnt_status gnti_job_place(gnti_job *job, const gnt_dataset *data, const double *speeds,
                          const gnti_placement *from, gnti_moves *moved)
{
    gnt_status st = GNT_OK;
    gnti_comm *c = job->processes;

    if (job->partition == NULL)
        return GNT_OK;
    if (job->rates == NULL)
        GNT_TRY(gnti_job_rates(job, &job->rates));
    GNT_TRY(gnti_alloc_array(&job->place.owner, job->partition->num_chunks));
    if (job->cost == NULL)
        GNT_TRY(gnti_alloc_array(&job->cost, job->partition->num_chunks));
    if (c->rank == 0)
        GNT_TRY(place_at_root(job, data, job->rates, speeds, from, moved));
    GNT_TRY(gnti_comm_broadcast(c, 0, job->place.owner,
                                (size_t)job->partition->num_chunks * sizeof *job->place.owner));
    GNT_TRY(gnti_comm_broadcast(c, 0, job->cost, (size_t)job->partition->num_chunks * sizeof *job->cost));
done:
    return st;
}
