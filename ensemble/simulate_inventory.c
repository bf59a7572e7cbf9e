/* SPDX-License-Identifier: Apache-2.0 */
/* The inventory of a simulation: settings of the manager, costs, faults, and types of devices (docs/ensembles.md has the keys). */
#include "ensemble/simulate_world.h"

#include "base/alloc.h"
#include "base/philox.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 1 << 20 };
#define LONG_TIME 1e12 /* seconds: no time of a file is longer */

#define ROW(kind, name, member, ...) GNT_OPTION_##kind(name, gnti_world_settings, member, __VA_ARGS__)
static const gnt_option settings_table[] = {
    ROW(WORD, "policy", policy, 0, GNTI_POLICY_WORDS, "how tasks are placed"),
    ROW(INT, "retries", retries, 2, 0, 1000, "of a task that fails"),
    ROW(INT, "round", round_seconds, 360, 1, 1e9, "seconds of a round of max-min and least-service"),
    ROW(DOUBLE, "resize-gain", resize_gain, 0.05, 0.0, 1.0, "share of what is left that a move has to save"),
    ROW(DOUBLE, "watts", watts, 0.0, 0.0, 1e9, "budget of policy energy, 0: none"),
    ROW(DOUBLE, "patience", patience, 604800.0, 0.0, LONG_TIME,
        "seconds until a task that fits nothing is given up"),
    ROW(DOUBLE, "noise", noise, 0.0, 0.0, 0.5, "relative deviation of an epoch's seconds"),
    ROW(WORD, "moves", moves, 0, "resize|restart", "how tasks change devices"),
    ROW(DOUBLE, "start", start, 0.0, 0.0, 1e6, "seconds until a task is ready on devices that are new to it"),
    ROW(DOUBLE, "pause", pause, 0.0, 0.0, 1e6, "seconds of a resize beside moving its bytes"),
    ROW(DOUBLE, "bandwidth", bandwidth, 0.0, 0.0, 1e6, "GiB a second between devices, 0: at once"),
    ROW(DOUBLE, "disk", disk, 0.0, 0.0, 1e6, "GiB a second of checkpoints, 0: at once"),
    ROW(INT, "checkpoint-every", checkpoint_every, 1, 1, 1e9, "epochs; a lost device loses what came after"),
    ROW(DOUBLE, "stragglers", straggling, 0.0, 0.0, 1.0, "share of devices that are slow"),
    ROW(DOUBLE, "straggler-speed", straggle_factor, 0.5, 1e-3, 1.0, "their speed, relative"),
    ROW(WORD, "failures", failure_law, 0, "none|exponential|weibull", "law of the time until a device fails"),
    ROW(DOUBLE, "failure-mean", failure_mean, 86400.0, 1.0, LONG_TIME, "seconds until a device fails"),
    ROW(DOUBLE, "failure-shape", failure_shape, 0.7, 0.1, 10.0, "of the Weibull law"),
    ROW(DOUBLE, "repair", repair, 600.0, 0.0, LONG_TIME, "seconds until it is back"),
    ROW(DOUBLE, "departure-mean", departure_mean, 0.0, 0.0, LONG_TIME,
        "seconds until a device leaves with notice, 0: never"),
    ROW(DOUBLE, "notice", notice, 120.0, 0.0, LONG_TIME, "seconds between notice and loss"),
    ROW(DOUBLE, "away", away, 600.0, 0.0, LONG_TIME, "seconds that it stays away"),
    ROW(DOUBLE, "task-failure-mean", task_failure_mean, 0.0, 0.0, LONG_TIME,
        "seconds of training between failures of a task, 0: never"),
    GNT_OPTION_END,
};
#undef ROW

#define ROW(kind, name, member, ...) GNT_OPTION_##kind(name, gnti_world_type, member, __VA_ARGS__)
static const gnt_option type_table[] = {
    ROW(TEXT, "name", name, NULL, "of the type; its devices are NAME-0, NAME-1, ..."),
    ROW(INT, "count", count, 1, 0, MAX_DEVICES, "devices of the type"),
    ROW(INT, "lanes", lanes, 1, 0, 1000, "tasks that may share one, 0: as memory allows"),
    ROW(DOUBLE, "speed", speed, 1.0, 1e-6, 1e6, "true speed, hidden from the manager"),
    ROW(DOUBLE, "memory", memory, 0.0, 0.0, 1e6, "GiB, 0: no limit"),
    ROW(DOUBLE, "idle-watts", idle_watts, 0.0, 0.0, 1e6, "power when nothing runs"),
    ROW(DOUBLE, "busy-watts", busy_watts, 0.0, 0.0, 1e6, "power when it is busy"),
    GNT_OPTION_END,
};
#undef ROW

/* ---- random numbers ---- */

double gnti_draw_uniform(uint64_t seed, gnti_world_draw what, int64_t of, uint32_t count)
{
    const uint32_t word =
        gnti_draw_word(gnti_seed_key(seed), GNTI_DRAW_GENERATE, (uint32_t)what + 1, count, of, 0);

    return ((double)word + 0.5) * 0x1p-32;
}

double gnti_draw_exponential(uint64_t seed, gnti_world_draw what, int64_t of, uint32_t count)
{
    return -log(gnti_draw_uniform(seed, what, of, count));
}

double gnti_draw_normal(uint64_t seed, gnti_world_draw what, int64_t of, uint32_t count)
{
    uint32_t word[4];
    double u, v;

    gnti_draw_quad(gnti_seed_key(seed), GNTI_DRAW_GENERATE, (uint32_t)what + 1, count, of, 1, word);
    u = ((double)word[0] + 0.5) * 0x1p-32;
    v = ((double)word[1] + 0.5) * 0x1p-32;
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* ---- reading ---- */

/* Names are part of texts like "fast-0" in lists: letters, digits, '_', '.', and '-' inside. */
gnt_status gnti_world_name_check(const gnti_yaml_node *map, const char *name)
{
    const gnti_yaml_node *at = gnti_yaml_find(map, "name");

    if (name == NULL || name[0] == '\0')
        return gnti_yaml_fail(at == NULL ? map : at, GNT_ERR_FORMAT, "has no name: add `name:`");
    if (strlen(name) > 48 ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != strlen(name))
        return gnti_yaml_fail(at, GNT_ERR_FORMAT,
                              "'%s' is no name: at most 48 letters, digits, '_', '.' and '-'", name);
    return GNT_OK;
}

static gnt_status read_type(const gnti_yaml_node *map, gnti_world *w)
{
    gnt_status st = GNT_OK;
    gnti_world_type *type = &w->types[w->num_types];

    GNT_TRY(gnti_yaml_expect(map, GNTI_YAML_MAP));
    GNT_TRY(gnti_options_defaults(type_table, type));
    w->num_types++;
    GNT_TRY(gnti_yaml_options(map, type_table, NULL, type, NULL));
    GNT_TRY(gnti_world_name_check(map, type->name));
    for (int32_t i = 0; i + 1 < w->num_types; i++)
        if (strcmp(w->types[i].name, type->name) == 0)
            GNT_TRY(
                gnti_yaml_fail(map, GNT_ERR_FORMAT, "a type of the name '%s' is there already", type->name));
    if (type->busy_watts < type->idle_watts)
        GNT_TRY(gnti_yaml_fail(map, GNT_ERR_FORMAT, "busy-watts %g are below idle-watts %g", type->busy_watts,
                               type->idle_watts));
done:
    return st;
}

static gnt_status add_devices(const gnti_yaml_node *types, gnti_world *w)
{
    gnt_status st = GNT_OK;
    int64_t count = 0;

    for (int32_t k = 0; k < w->num_types; k++)
        count += w->types[k].count;
    if (count < 1 || count > MAX_DEVICES)
        GNT_TRY(gnti_yaml_fail(types, GNT_ERR_FORMAT, "has %lld devices, 1 to %d are possible",
                               (long long)count, MAX_DEVICES));
    GNT_TRY(gnti_calloc_array(&w->devices, count));
    for (int32_t k = 0; k < w->num_types; k++)
        for (int32_t i = 0; i < w->types[k].count; i++) {
            const int32_t d = w->num_devices++;
            const bool slow = gnti_draw_uniform(w->seed, GNTI_WORLD_STRAGGLER, d, 0) < w->settings.straggling;

            w->devices[d] = (gnti_world_device){ k, i, slow ? w->settings.straggle_factor : 1.0 };
        }
done:
    return st;
}

gnt_status gnti_world_inventory_read(const gnti_yaml_node *root, gnti_world *w)
{
    gnt_status st = GNT_OK;
    static const char *const others[] = { "types", NULL };
    const gnti_yaml_node *types;

    GNT_TRY(gnti_options_defaults(settings_table, &w->settings));
    GNT_TRY(gnti_yaml_options(root, settings_table, others, &w->settings, NULL));
    types = gnti_yaml_find(root, "types");
    if (types == NULL)
        GNT_TRY(gnti_yaml_fail(root, GNT_ERR_FORMAT, "has no devices: add `types:`, a list of types"));
    GNT_TRY(gnti_yaml_expect(types, GNTI_YAML_LIST));
    GNT_TRY(gnti_calloc_array(&w->types, gnti_yaml_length(types) + 1));
    for (int64_t i = 0; i < gnti_yaml_length(types); i++)
        GNT_TRY(read_type(gnti_yaml_at(types, i), w));
    GNT_TRY(add_devices(types, w));
done:
    return st;
}

void gnti_world_inventory_free(gnti_world *w)
{
    for (int32_t k = 0; k < w->num_types; k++)
        gnti_options_free_texts(type_table, &w->types[k]);
    gnti_options_free_texts(settings_table, &w->settings);
    gnti_free(w->types);
    gnti_free(w->devices);
}

const char *gnti_world_device_name(const gnti_world *w, int32_t device, char out[GNTI_WORLD_NAME_BYTES])
{
    const gnti_world_device *d = &w->devices[device];

    snprintf(out, GNTI_WORLD_NAME_BYTES, "%s-%d", w->types[d->type].name, d->number);
    return out;
}
