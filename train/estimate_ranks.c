/* SPDX-License-Identifier: Apache-2.0 */
/* The estimate of several devices: chunks are placed as a run would place them, and each device's load goes through the forecast
 * (train/forecast.h). Devices are measured for the seconds; nothing is trained and nothing is written.
 *
 * The halo of a device is known once the graph is cut. A partition that is given is read, and one pass over the arcs counts; a
 * graph of up to a million arcs is cut as the run would cut it. A larger one gets shares by speed, and as many halo rows as
 * own rows are assumed, or all other rows where these are fewer.
 */
#include "train/estimate.h"

#include "base/alloc.h"
#include "train/job.h"
#include "train/placement.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CUT_ARCS = 1 << 20 };

typedef struct ranks {
    const gnt_dataset *data;
    gnti_job job;
    gnti_load *loads;
    gnti_forecast_bytes *bytes;
    double *seconds;
    int32_t *chunks;  /* of each device */
    int64_t *limit;   /* bytes of each device, 0: none known */
    bool *own_memory; /* its bytes are not the process' */
    double step;
    bool cut; /* loads are those of chunks, not assumed */
} ranks;

static gnt_status find_limits(ranks *r)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &r->job.place;

    GNT_TRY(gnti_calloc_array(&r->limit, place->size));
    GNT_TRY(gnti_calloc_array(&r->own_memory, place->size));
    for (int32_t d = 0; d < place->size; d++) {
        r->own_memory[d] =
            gnti_estimate_own_memory(&place->specs[d], gnti_device_number(place->specs, d), &r->limit[d]);
        if (place->specs[d].memory > 0)
            r->limit[d] = (int64_t)place->specs[d].memory;
    }
done:
    return st;
}

/* ---- loads --------------------------------------------------------------------------------------------------------- */

/* Alike devices are measured once: here seconds are wanted, not a placement that is always the same. */
static gnt_status measure(ranks *r)
{
    gnt_status st = GNT_OK;
    const gnti_placement *place = &r->job.place;
    gnti_device_config config;
    gnti_profile profile;

    if (gnti_device_specs_differ(place->specs, place->size))
        return gnti_job_rates(&r->job, &r->job.rates);
    GNT_TRY(gnti_alloc_array(&r->job.rates, place->size));
    GNT_TRY(gnti_job_device_config(&r->job, 0, &config));
    GNT_TRY(
        gnti_device_profile(&place->specs[0], &config, 0, gnti_forecast_kinds(r->job.forecast), &profile));
    for (int32_t d = 0; d < place->size; d++)
        r->job.rates[d] = profile.rates;
done:
    return st;
}

/* Shares by speed; the halo is an assumption. */
static void assume_loads(ranks *r)
{
    const int32_t num = r->job.place.size;
    double sum = 0.0, most = 0.0, most_rows = 0.0;

    for (int32_t d = 0; d < num; d++) {
        r->loads[d] = gnti_forecast_whole(r->job.forecast, num);
        r->seconds[d] = 1.0 / gnti_forecast_compute(r->job.forecast, &r->loads[d], &r->job.rates[d]);
        sum += r->seconds[d];
    }
    for (int32_t d = 0; d < num; d++) {
        gnti_load *l = &r->loads[d];
        const double share = r->seconds[d] / sum, nodes = l->rows;

        l->rows *= share;
        l->arcs_in *= share;
        l->arcs_out *= share;
        l->halo_rows = fmin(l->rows, nodes - l->rows);
        l->num_peers = num - 1;
        most = fmax(most, l->halo_rows);
        most_rows = fmax(most_rows, l->rows);
    }
    for (int32_t d = 0; d < num; d++) {
        r->loads[d].most_halo = most;
        r->loads[d].most_rows = most_rows;
    }
}

/* As a run would; where a limit is too small, as if there were none: the table then says by how much. */
static gnt_status place(ranks *r)
{
    gnt_status st = GNT_OK;
    gnti_placement *place = &r->job.place;
    size_t *limits = NULL;
    gnti_placing p = { .data = r->data, .partition = r->job.partition, .num_devices = place->size };

    GNT_TRY(gnti_alloc_array(&limits, place->size));
    st = gnti_job_place(&r->job, r->data, NULL, NULL, NULL);
    if (st == GNT_ERR_DEVICE_NOMEM) {
        gnt_clear_error();
        for (int32_t d = 0; d < place->size; d++) {
            limits[d] = place->specs[d].memory;
            place->specs[d].memory = 0;
        }
        gnti_free(place->owner);
        place->owner = NULL;
        st = gnti_job_place(&r->job, r->data, NULL, NULL, NULL);
        for (int32_t d = 0; d < place->size; d++)
            place->specs[d].memory = limits[d];
    }
    GNT_TRY(st);
    p.facts = r->job.facts;
    GNT_TRY(gnti_placing_loads(&p, place->owner, true, r->loads));
    for (int32_t k = 0; k < r->job.partition->num_chunks; k++)
        r->chunks[place->owner[k]]++;
    r->cut = true;
done:
    gnti_free(limits);
    return st;
}

static gnt_status find_loads(ranks *r, const gnt_model *model, const gnt_trainer_config *config)
{
    gnt_status st = GNT_OK;
    gnti_dataset_header facts;
    gnti_link link;
    bool apart;

    gnti_dataset_get_header(r->data, &facts);
    if (config->partition != NULL || config->chunks > 0 ||
        (r->job.place.size > 1 && facts.num_arcs <= CUT_ARCS)) /* one device has all rows and no halo */
        GNT_TRY(gnti_job_find_partition(&r->job, r->data, config));
    GNT_TRY(gnti_forecast_create(model, r->data, config, &r->job.forecast));
    GNT_TRY(measure(r));
    if (r->job.partition != NULL)
        GNT_TRY(place(r));
    else
        assume_loads(r);
    link = gnti_job_link(&r->job, &apart);
    for (int32_t d = 0; d < r->job.place.size; d++) {
        GNT_TRY(gnti_forecast_memory(r->job.forecast, &r->loads[d], &r->bytes[d]));
        r->seconds[d] = gnti_forecast_compute(r->job.forecast, &r->loads[d], &r->job.rates[d]);
    }
    r->step = gnti_forecast_step(r->job.forecast, r->loads, r->job.rates, r->job.place.size, &link, apart);
done:
    return st;
}

/* ---- facts --------------------------------------------------------------------------------------------------------- */

static int64_t host_bytes(const gnti_forecast_bytes *b)
{
    return b->graph + b->features + b->rest;
}

static gnt_status put_device(const ranks *r, int32_t d, gnti_json *list)
{
    gnt_status st = GNT_OK;
    const gnti_load *l = &r->loads[d];
    const gnti_forecast_bytes *b = &r->bytes[d];
    gnti_json *item = NULL;

    GNT_TRY(gnti_json_append_object(list, &item));
    GNT_TRY(gnti_json_set_int(item, "device", d));
    if (r->cut)
        GNT_TRY(gnti_json_set_int(item, "chunks", r->chunks[d]));
    GNT_TRY(gnti_json_set_int(item, "rows", llround(l->rows)));
    GNT_TRY(gnti_json_set_int(item, "arcs", llround(l->arcs_in)));
    GNT_TRY(gnti_json_set_int(item, "halo_rows", llround(l->halo_rows)));
    GNT_TRY(gnti_json_set_int(item, "device_bytes", b->device));
    GNT_TRY(gnti_json_set_int(item, "host_bytes", host_bytes(b)));
    GNT_TRY(gnti_json_set_int(item, "total_bytes", b->device + host_bytes(b)));
    if (r->limit[d] > 0) {
        GNT_TRY(gnti_json_set_int(item, "limit_bytes", r->limit[d]));
        GNT_TRY(gnti_json_set_bool(item, "fits", b->device <= r->limit[d]));
    }
    GNT_TRY(gnti_json_set_number(item, "seconds", r->seconds[d]));
done:
    return st;
}

static gnt_status put_knobs(const ranks *r, bool fits, gnti_json *o)
{
    gnt_status st = GNT_OK;
    gnti_json *knobs = NULL;
    char text[200];

    GNT_TRY(gnti_json_set_array(o, "knobs", &knobs));
    for (int32_t d = 0; d < r->job.place.size; d++) {
        const int64_t limit = r->limit[d];

        if (limit == 0 || r->bytes[d].device <= limit)
            continue;
        snprintf(text, sizeof text,
                 r->job.place.specs[d].memory > 0
                     ? "device %d needs %.2f MiB but has a limit of %.2f: raise its mem, or add a device"
                     : "device %d needs %.2f MiB but has %.2f free: add a device",
                 (int)d, (double)r->bytes[d].device / 1048576.0, (double)limit / 1048576.0);
        GNT_TRY(gnti_json_append_text(knobs, text));
    }
    if (!fits)
        GNT_TRY(gnti_json_append_text(
            knobs, "narrower layers, fewer of them, or fewer --seeds: what a device holds follows them"));
done:
    return st;
}

static gnt_status put_facts(const ranks *r, gnti_json *o)
{
    gnt_status st = GNT_OK;
    const int64_t process = gnti_estimate_process(r->data), available = gnti_estimate_available();
    int64_t total = process;
    bool fits = true;
    gnti_json *list = NULL;

    for (int32_t d = 0; d < r->job.place.size; d++) {
        total += host_bytes(&r->bytes[d]) + (r->own_memory[d] ? 0 : r->bytes[d].device);
        fits = fits && (r->limit[d] == 0 || r->bytes[d].device <= r->limit[d]);
    }
    fits = fits && total - process <= available;
    GNT_TRY(gnti_json_set_int(o, "total_bytes", total));
    GNT_TRY(gnti_json_set_int(o, "available_bytes", process + available));
    GNT_TRY(gnti_json_set_bool(o, "fits", fits));
    GNT_TRY(gnti_json_set_int(o, "process_bytes", process));
    GNT_TRY(gnti_json_set_number(o, "step_seconds", r->step));
    if (!r->cut && r->job.place.size > 1)
        GNT_TRY(gnti_json_set_text(o, "assumed",
                                   "shares by speed, as many halo rows as own rows: a --partition tells"));
    GNT_TRY(gnti_json_set_array(o, "devices", &list));
    for (int32_t d = 0; d < r->job.place.size; d++)
        GNT_TRY(put_device(r, d, list));
    GNT_TRY(put_knobs(r, fits, o));
done:
    return st;
}

gnt_status gnti_estimate_ranks(const gnt_model *model, const gnt_dataset *data,
                               const gnt_trainer_config *config, gnti_json **out)
{
    gnt_status st = GNT_OK;
    ranks r = { .data = data };
    gnt_trainer_config quiet = *config; /* nothing is kept in a run folder */
    gnti_json *facts = NULL;

    quiet.run = quiet.trace = NULL;
    GNT_TRY(gnti_job_open(gnti_model_context(model), &quiet, &r.job));
    GNT_TRY(gnti_alloc_array(&r.loads, r.job.place.size));
    GNT_TRY(gnti_alloc_array(&r.bytes, r.job.place.size));
    GNT_TRY(gnti_alloc_array(&r.seconds, r.job.place.size));
    GNT_TRY(gnti_calloc_array(&r.chunks, r.job.place.size));
    GNT_TRY(find_limits(&r));
    GNT_TRY(find_loads(&r, model, &quiet));
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(put_facts(&r, facts));
    *out = facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    gnti_free(r.loads);
    gnti_free(r.bytes);
    gnti_free(r.seconds);
    gnti_free(r.chunks);
    gnti_free(r.limit);
    gnti_free(r.own_memory);
    gnti_job_close(&r.job);
    return st;
}
