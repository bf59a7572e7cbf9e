/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of a run: devices as their user wrote them, and what planners see of them: a type, bytes, and a speed by a probe of some
 * tens of milliseconds. Equal devices are of one type. Types beyond those of the start have room, for devices that come later; what
 * groups take there is learned from their epochs.
 */
#include "ensemble/live_task.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/team.h"
#include "ensemble/pool_device.h"
#include "kernels/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PROFILE "profile.json"

enum { MORE_TYPES = 8 };

/* The type of an equal device, else the next one; beyond the room that there is, the last. */
static int32_t type_of(const gnti_live *run, const gnti_device_spec *spec)
{
    int32_t most = -1;

    for (int32_t d = 0; d < run->num_devices; d++) {
        if (gnti_pool_is_alike(&run->specs[d], spec))
            return run->devices[d].type;
        most = run->devices[d].type > most ? run->devices[d].type : most;
    }
    return most + 1 < run->num_types ? most + 1 : run->num_types - 1;
}

/* Devices that are there have numbers of their own from now on; ranks of the processor share its cores. */
static gnt_status settle(gnti_device_spec *specs, int32_t num)
{
    gnt_status st = GNT_OK;
    int32_t threads = 0;

    GNT_TRY(gnti_team_threads(0, num, &threads));
    for (int32_t d = 0; d < num; d++) {
        const gnt_backend *backend = NULL;
        gnt_device_info info;
        int32_t count = 0;

        GNT_TRY(gnti_backend_find(specs[d].backend, &backend));
        GNT_TRY(backend->list(&info, 1, &count));
        if (count > 0 && strcmp(info.kind, "cpu") != 0 && specs[d].index < 0)
            specs[d].index = gnti_device_number(specs, d);
        if (count > 0 && strcmp(info.kind, "cpu") == 0 && specs[d].threads == 0 && !specs[d].virtual_clock)
            specs[d].threads = threads;
        GNT_CHECK(specs[d].virtual_clock == specs[0].virtual_clock, GNT_ERR_USAGE,
                  "devices: device 0 and device %d have different clocks, all must have the same", (int)d);
    }
done:
    return st;
}

/* How fast it is beside the first one, by a probe; equal devices are not asked twice. */
static gnt_status probe(const gnti_live *run, int32_t d, double *out)
{
    gnt_status st = GNT_OK;
    gnti_device_config config = *gnti_context_device_config(run->ctx);
    gnti_profile profile;

    for (int32_t e = 0; e < d; e++)
        if (run->devices[e].type == run->devices[d].type &&
            gnti_pool_is_alike(&run->specs[e], &run->specs[d])) {
            *out = run->devices[e].speed;
            return GNT_OK;
        }
    if (run->specs[d].threads > 0)
        config.num_threads = run->specs[d].threads;
    config.quota = NULL;
    GNT_TRY(gnti_device_profile(&run->specs[d], &config, (uint64_t)d, 0, &profile));
    *out = profile.speed;
done:
    return st;
}

static gnt_status add_device(gnti_live *run, const gnti_device_spec *spec, bool probed)
{
    gnt_status st = GNT_OK;
    const int32_t d = run->num_devices;
    gnti_live_device *device = &run->devices[d];
    gnti_place_device placed = { .present = true };

    GNT_CHECK(d < GNTI_LIVE_MAX_DEVICES, GNT_ERR_LIMIT, "more than %d devices in the life of a run",
              GNTI_LIVE_MAX_DEVICES);
    *device = (gnti_live_device){ .type = type_of(run, spec), .present = true, .speed = 1.0 };
    GNT_TRY(gnti_pool_bytes(spec, d, &device->bytes));
    run->specs[d] = *spec;
    gnti_context_expect(run->ctx, spec, 1);
    run->specs[d].quota = &device->quota;
    device->quota.limit = spec->room > 0 ? spec->room : spec->memory;
    GNT_TRY(gnti_scratch_create_shared(&run->specs[d], d, gnti_context_device_config(run->ctx),
                                       &run->specs[d].scratch));
    GNT_TRY(gnti_pool_name(spec, d, device->name));
    GNT_TRY(gnti_lanes_create(&device->lanes));
    run->num_devices++;
    if (probed)
        GNT_TRY(probe(run, d, &device->speed));
    placed.type = device->type;
    placed.bytes = device->told_bytes = device->bytes;
    gnti_pool_power(&run->specs[d], &placed.idle_watts, &placed.busy_watts);
    GNT_TRY(gnti_manager_event(run->manager, &(gnti_event){ .kind = GNTI_EVENT_DEVICE_ADDED,
                                                            .time = gnti_live_now(run),
                                                            .device = d,
                                                            .new_device = &placed }));
done:
    return st;
}

static int32_t count_types(const gnti_device_spec *specs, int32_t num)
{
    int32_t types = 0;

    for (int32_t d = 0; d < num; d++) {
        bool known = false;

        for (int32_t e = 0; e < d && !known; e++)
            known = gnti_pool_is_alike(&specs[e], &specs[d]);
        types += !known;
    }
    return types;
}

gnt_status gnti_live_devices_open(gnti_live *run)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    char *path = NULL;
    int32_t num = 0;
    gnti_manager_config config = { .policy = (gnti_policy)run->spec->policy,
                                   .retries = (int32_t)run->spec->retries,
                                   .watts = run->spec->energy_budget,
                                   .resize_gain = run->spec->resize_gain,
                                   .round_seconds = run->spec->round_seconds,
                                   .patience = run->spec->device_wait };

    GNT_TRY(gnti_device_specs_parse(run->config->devices, &specs, &num));
    GNT_TRY(settle(specs, num));
    GNT_TRY(gnti_calloc_array(&run->specs, GNTI_LIVE_MAX_DEVICES));
    GNT_TRY(gnti_calloc_array(&run->devices, GNTI_LIVE_MAX_DEVICES));
    run->is_virtual = specs[0].virtual_clock;
    run->num_types = config.num_types = count_types(specs, num) + MORE_TYPES;
    GNT_TRY(gnti_manager_create(&config, &run->manager));
    GNT_TRY(gnti_path_join(run->config->run, PROFILE, &path));
    GNT_TRY(gnti_group_profile_open(path, &run->profile));
    GNT_TRY(gnti_group_profile_open(NULL, &run->cache));
    for (int32_t d = 0; d < num; d++)
        GNT_TRY(add_device(run, &specs[d], run->num_types - MORE_TYPES > 1));
    gnti_context_set_pool(run->ctx, run->specs, GNTI_LIVE_MAX_DEVICES);
done:
    gnti_free(path);
    gnti_free(specs);
    return st;
}

void gnti_live_devices_close(gnti_live *run)
{
    gnti_context_set_pool(run->ctx, NULL, 0);
    gnti_group_profile_free(&run->profile);
    gnti_group_profile_free(&run->cache);
    for (int32_t d = 0; d < run->num_devices; d++) {
        gnti_lanes_free(&run->devices[d].lanes);
        gnti_scratch_free(&run->specs[d].scratch);
    }
    gnti_free(run->devices);
    gnti_free(run->specs);
}

/* ---- other devices ------------------------------------------------------------------------------------------------------ */

/* The devices of the new text that are here already stay; others leave at their tasks' next epochs; what is new is added. */
gnt_status gnti_live_devices_set(gnti_live *run, const char *devices, int32_t *added, int32_t *removed)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    int32_t num = 0, come = 0, before = run->num_devices;
    uint8_t *stays = NULL, *known = NULL;

    *added = *removed = 0;
    GNT_TRY(gnti_device_specs_parse(devices, &specs, &num));
    GNT_TRY(settle(specs, num));
    GNT_CHECK(specs[0].virtual_clock == run->is_virtual, GNT_ERR_USAGE,
              "devices '%s': the run is on %s clock", devices, run->is_virtual ? "a virtual" : "the wall");
    GNT_TRY(gnti_calloc_array(&stays, before + 1));
    GNT_TRY(gnti_calloc_array(&known, num));
    for (int32_t i = 0; i < num; i++)
        for (int32_t d = 0; d < before && !known[i]; d++)
            if (!stays[d] && run->devices[d].present && run->specs[d].memory == specs[i].memory &&
                run->specs[d].index == specs[i].index && gnti_pool_is_alike(&run->specs[d], &specs[i]))
                stays[d] = known[i] = 1;
    for (int32_t i = 0; i < num; i++)
        come += !known[i];
    GNT_CHECK(before + come <= GNTI_LIVE_MAX_DEVICES, GNT_ERR_LIMIT, /* before anything has changed */
              "%d devices are new and the run has had %d, more than %d in its life are not counted: stop it "
              "and go on "
              "with the same command",
              (int)come, (int)before, GNTI_LIVE_MAX_DEVICES);
    for (int32_t i = 0; i < num; i++)
        if (!known[i]) {
            GNT_TRY(add_device(run, &specs[i], false)); /* its first epochs tell how fast it is */
            ++*added;
        }
    for (int32_t d = 0; d < before; d++)
        if (run->devices[d].present && !stays[d]) {
            run->devices[d].present = false;
            GNT_TRY(gnti_live_event(run, (gnti_event){ .kind = GNTI_EVENT_DEVICE_LEAVES, .device = d }));
            ++*removed;
        }
done:
    gnti_free(specs);
    gnti_free(stays);
    gnti_free(known);
    return st;
}

/* ---- what groups take ---------------------------------------------------------------------------------------------------- */

static gnt_status find_measured(const gnti_live *run, const gnti_fused_group *g, int32_t device,
                                gnti_group_measure *out, bool *found)
{
    gnt_status st = GNT_OK;
    char key[GNTI_GROUP_KEY_BYTES];

    GNT_TRY(gnti_group_key(&run->spec->members[g->members[0]], g->num_members, run->data, &run->specs[device],
                           key));
    *found = gnti_group_profile_find(run->profile, key, out) || gnti_group_profile_find(run->cache, key, out);
done:
    return st;
}

/* The forecast is that of an ordinary machine; beside each other, types are as their probes were. */
gnt_status gnti_live_forecast(const gnti_live *run, const gnti_fused_group *g, double *seconds,
                              int64_t *bytes)
{
    gnt_status st = GNT_OK;
    const double forecast = g->epoch_seconds > 0.0 ? g->epoch_seconds : 1.0;
    double fastest = 0.0;

    *bytes = 0;
    for (int32_t d = 0; d < run->num_devices; d++)
        fastest = fmax(fastest, run->devices[d].speed);
    for (int32_t k = 0; k < run->num_types; k++)
        seconds[k] = forecast;
    for (int32_t d = 0; d < run->num_devices; d++) {
        gnti_group_measure m = { 0 };
        bool found = false;

        GNT_TRY(find_measured(run, g, d, &m, &found));
        seconds[run->devices[d].type] = found ? m.seconds : forecast * fastest / run->devices[d].speed;
        *bytes = found ? gnti_max_i64(*bytes, m.bytes) : *bytes;
    }
done:
    return st;
}

gnt_status gnti_live_note_measure(gnti_live_task *t)
{
    gnt_status st = GNT_OK;
    gnti_live *run = t->run;
    char key[GNTI_GROUP_KEY_BYTES];

    if (t->measured_num == 0 || t->num_devices != 1)
        goto done;
    GNT_TRY(gnti_group_key(&run->spec->members[t->members_at_start[0]], t->measured_num, run->data,
                           &run->specs[t->devices[0]], key));
    GNT_TRY(gnti_group_profile_set(run->profile, key, &t->measured));
done:
    t->measured_num = 0;
    return st;
}

gnt_status gnti_live_write_profile(gnti_live *run)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < run->num_tasks; i++)
        GNT_TRY(gnti_live_note_measure(run->tasks[i]));
    gnti_group_profile_save(run->profile);
done:
    return st;
}
