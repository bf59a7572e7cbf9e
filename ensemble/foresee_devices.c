/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a plan: those of the text, as ranks of a job would open them; equal ones are one type and measured once. */
#include "ensemble/foresee.h"

#include "base/alloc.h"
#include "ensemble/pool_device.h"

#include <math.h>

/* The rates of a device of a type that was not seen yet. */
static gnt_status measure(const gnti_job *job, int32_t d, gnti_foreseen_device *out)
{
    gnt_status st = GNT_OK;
    gnti_device_config config;
    gnti_profile profile;

    GNT_TRY(gnti_job_device_config(job, d, &config));
    GNT_TRY(gnti_device_profile(&job->place.specs[d], &config, (uint64_t)d, GNTI_PROFILE_ALL, &profile));
    out->rates = profile.rates;
    out->speed = profile.speed;
done:
    return st;
}

static gnt_status fill_device(gnti_foreseen_devices *o, int32_t d)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *spec = &o->job.place.specs[d];
    const int32_t number = gnti_device_number(o->job.place.specs, d);
    const gnt_backend *backend = NULL;
    gnti_device_config config;
    gnti_foreseen_device *device = &o->list[d];
    int64_t bytes = 0;

    GNT_TRY(gnti_pool_bytes(spec, number, &bytes));
    GNT_TRY(gnti_job_device_config(&o->job, d, &config));
    GNT_TRY(gnti_backend_find(spec->backend, &backend));
    if (!spec->virtual_clock &&
        backend->in_host_memory) /* its share of the cores, as in a run with all of them */
        spec->threads = config.num_threads;
    device->type = -1;
    for (int32_t e = 0; e < d && device->type < 0; e++)
        if (gnti_pool_is_alike(&o->job.place.specs[e], spec))
            *device = o->list[e];
    if (device->type < 0) {
        GNT_TRY(measure(&o->job, d, device));
        device->type = o->num_types++;
    }
    device->bytes = bytes;
    GNT_TRY(gnti_pool_name(spec, d, device->name));
done:
    return st;
}

gnt_status gnti_foreseen_devices_open(gnt_context *ctx, const char *devices, gnti_foreseen_devices *out)
{
    gnt_status st = GNT_OK;
    gnt_trainer_config config;
    double slowest = INFINITY;

    gnt_trainer_config_init(&config);
    config.devices = devices;
    GNT_TRY(gnti_job_open(ctx, &config, &out->job));
    out->num = out->job.place.size;
    GNT_TRY(gnti_calloc_array(&out->list, out->num));
    for (int32_t d = 0; d < out->num; d++)
        GNT_TRY(fill_device(out, d));
    for (int32_t d = 0; d < out->num; d++)
        slowest = fmin(slowest, out->list[d].speed);
    for (int32_t d = 0; d < out->num; d++)
        out->list[d].speed /= slowest;
done:
    return st;
}

void gnti_foreseen_devices_close(gnti_foreseen_devices *d)
{
    gnti_free(d->list);
    gnti_job_close(&d->job);
}
