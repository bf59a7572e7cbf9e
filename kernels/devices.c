/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all backends as facts, for the command, and how fast those of a run are. A backend without hardware lists none,
 * which is no error.
 */
#include <gnntrain/experimental.h>

#include "base/json.h"
#include "base/alloc.h"
#include "base/team.h"
#include "base/text.h"
#include "kernels/choices.h"
#include "kernels/device_plugin.h"
#include "kernels/profile.h"

#include <stdio.h>

enum { MAX_DEVICES = 64 };

static gnt_status add_devices(const gnt_backend *backend, gnti_json *list)
{
    gnt_status st = GNT_OK;
    gnt_device_info infos[MAX_DEVICES];
    gnti_json *item = NULL;
    int32_t count = 0;

    GNT_TRY(backend->list(infos, MAX_DEVICES, &count));
    for (int32_t i = 0; i < count && i < MAX_DEVICES; i++) {
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "backend", backend->name));
        GNT_TRY(gnti_json_set_text(item, "name", infos[i].name));
        GNT_TRY(gnti_json_set_text(item, "kind", infos[i].kind));
        GNT_TRY(gnti_json_set_int(item, "threads", infos[i].num_threads));
        GNT_TRY(gnti_json_set_text(item, "isa", infos[i].isa));
        GNT_TRY(gnti_json_set_int(item, "total_bytes", (int64_t)infos[i].total_bytes));
        GNT_TRY(gnti_json_set_int(item, "free_bytes", (int64_t)infos[i].free_bytes));
    }
done:
    return st;
}

/* What a plug-in of devices sees, or why it is not used. */
static gnt_status add_plugin(const gnti_plugin_line *line, gnti_json *list)
{
    gnt_status st = GNT_OK;
    const gnti_device_plugin *plugin = NULL;
    gnti_plugin_facts seen = { .driver = "" };
    char why[GNTI_DEVICE_PLUGIN_WHY_BYTES];
    gnti_json *item = NULL;

    if (gnti_device_plugin_find(line->backend, &plugin, why) != GNT_OK) { /* a file that does not open */
        snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, gnt_last_error());
        gnt_clear_error();
        plugin = NULL;
    }
    if (plugin != NULL)
        plugin->facts(&seen);
    GNT_TRY(gnti_json_append_object(list, &item));
    GNT_TRY(gnti_json_set_text(item, "backend", line->backend));
    GNT_TRY(gnti_json_set_bool(item, "usable", plugin != NULL && seen.problem[0] == '\0'));
    GNT_TRY(gnti_json_set_text(item, "problem", plugin != NULL ? seen.problem : why));
    if (plugin == NULL)
        goto done;
    GNT_TRY(gnti_json_set_text(item, "driver", seen.driver));
    GNT_TRY(gnti_json_set_text(item, "runtime", seen.runtime));
    GNT_TRY(gnti_json_set_text(item, "sparse", seen.sparse));
    GNT_TRY(gnti_json_set_text(item, "blas", seen.blas));
    GNT_TRY(gnti_json_set_text(item, "collectives", seen.collectives));
done:
    return st;
}

gnt_status gntx_devices(gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL, *list = NULL;

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(gnti_json_set_array(facts, "devices", &list));
    for (int32_t i = 0; gnti_backend_at(i) != NULL; i++)
        if (gnti_backend_at(i)->priority > 0) /* the oracle is no choice */
            GNT_TRY(add_devices(gnti_backend_at(i), list));
    GNT_TRY(gnti_json_set_array(facts, "plugins", &list));
    for (int32_t i = 0; i < GNTI_NUM_DEVICE_PLUGINS; i++)
        GNT_TRY(add_plugin(&gnti_plugin_lines[i], list));
    GNT_TRY(gnti_json_set_array(facts, "choices", &list));
    GNT_TRY(gnti_choices_list_stored(NULL, list));
    *out = (gntx_json *)facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    return st;
}

/* Operations and bytes a second of a kind; the first is left out where bytes are all that limits. */
static gnt_status add_rates(const gnti_rates *rates, const char *name, gnti_op_kind kind, gnti_json *item)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;

    GNT_TRY(gnti_json_set_object(item, name, &o));
    if (rates->flops[kind] < GNTI_RATE_UNLIMITED)
        GNT_TRY(gnti_json_set_number(o, "flops", rates->flops[kind]));
    GNT_TRY(gnti_json_set_number(o, "bytes", rates->bytes[kind]));
done:
    return st;
}

static gnt_status add_profile(const gnti_device_spec *spec, const gnti_profile *profile, double slowest,
                              int32_t number, gnti_json *list)
{
    gnt_status st = GNT_OK;
    gnti_json *item = NULL;

    GNT_TRY(gnti_json_append_object(list, &item));
    GNT_TRY(gnti_json_set_int(item, "device", number));
    GNT_TRY(gnti_json_set_text(item, "backend", spec->backend));
    GNT_TRY(gnti_json_set_number(item, "spmm_seconds", profile->spmm_seconds));
    GNT_TRY(gnti_json_set_number(item, "gemm_seconds", profile->gemm_seconds));
    GNT_TRY(gnti_json_set_number(item, "speed", profile->speed / slowest));
    GNT_TRY(add_rates(&profile->rates, "gemm_rates", GNTI_OP_GEMM, item));
    GNT_TRY(add_rates(&profile->rates, "spmm_rates", GNTI_OP_SPMM, item));
    GNT_TRY(add_rates(&profile->rates, "attend_rates", GNTI_OP_ATTEND, item));
    GNT_TRY(add_rates(&profile->rates, "other_rates", GNTI_OP_MAP, item));
    if (spec->memory > 0)
        GNT_TRY(gnti_json_set_int(item, "memory_bytes", (int64_t)spec->memory));
done:
    return st;
}

static gnt_status make_facts(const gnti_device_spec *specs, const gnti_profile *profiles, int32_t count,
                             gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL, *list = NULL;
    gnti_text t = { 0 };
    char *shares = NULL;
    double slowest = profiles[0].speed;

    for (int32_t i = 1; i < count; i++)
        slowest = profiles[i].speed < slowest ? profiles[i].speed : slowest;
    for (int32_t i = 0; i < count; i++)
        gnti_text_printf(&t, "%s%.3g", i > 0 ? ":" : "", profiles[i].speed / slowest);
    GNT_TRY(gnti_text_take(&t, &shares));
    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(gnti_json_set_array(facts, "devices", &list));
    for (int32_t i = 0; i < count; i++)
        GNT_TRY(add_profile(&specs[i], &profiles[i], slowest, i, list));
    GNT_TRY(gnti_json_set_text(facts, "shares", shares));
    *out = facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    gnti_text_free(&t);
    gnti_free(shares);
    return st;
}

gnt_status gntx_devices_profile(const char *devices, gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    gnti_profile *profiles = NULL;
    gnti_device_config config = { 0 };
    gnti_json *facts = NULL;
    int32_t count = 0;

    GNT_CHECK(out != NULL, GNT_ERR_ARG, "out must not be NULL");
    GNT_TRY(gnti_device_specs_parse(devices, &specs, &count));
    GNT_TRY(gnti_alloc_array(&profiles, count));
    GNT_TRY(gnti_team_threads(0, count, &config.num_threads)); /* as ranks of one process have them */
    for (int32_t i = 0; i < count; i++)
        GNT_TRY(gnti_device_profile(&specs[i], &config, (uint64_t)i, GNTI_PROFILE_ALL, &profiles[i]));
    GNT_TRY(make_facts(specs, profiles, count, &facts));
    *out = (gntx_json *)facts;
done:
    gnti_free(specs);
    gnti_free(profiles);
    return st;
}
