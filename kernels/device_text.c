/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of a run as text (kernels/virtual.h says how), and opening one of them: by its number, or as the next one of its
 * kind that nobody before it in the list took.
 */
#include "kernels/virtual.h"

#include "base/alloc.h"
#include "base/name.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SPECS = 4096, WORD_BYTES = 64 };
#define NOISE      0.05
#define MAX_NOISE  0.3 /* three deviations must stay below the mean */
#define MIN_FACTOR 1e-6
#define MAX_FACTOR 1e6

/* Rates of an ordinary core: what a rank of speed 1 does on the virtual clock. */
#define DEFAULT_FLOPS 2e10
#define DEFAULT_BYTES 8e9

static gnt_status read_factor(const char *key, const char *text, double *out)
{
    gnt_status st = GNT_OK;
    char *end = NULL;
    const double value = strtod(text, &end);

    GNT_CHECK(end != text && *end == 0 && value >= MIN_FACTOR && value <= MAX_FACTOR, GNT_ERR_USAGE,
              "devices: %s '%s' is no number above 0 (from %g to %g)", key, text, MIN_FACTOR, MAX_FACTOR);
    *out = value;
done:
    return st;
}

static gnt_status read_bytes(const char *text, size_t *out)
{
    gnt_status st = GNT_OK;
    static const char units[] = "KMGT";
    char *end = NULL;
    double value = strtod(text, &end);
    const char *unit = *end != 0 ? strchr(units, *end) : NULL;

    if (unit != NULL) {
        value *= ldexp(1.0, 10 * (int)(unit - units + 1));
        end++;
    }
    GNT_CHECK(end != text && *end == 0 && value >= 1.0 && value < 0x1p62, GNT_ERR_USAGE,
              "devices: mem '%s' is no number of bytes (512M, 2G)", text);
    *out = (size_t)value;
done:
    return st;
}

static gnt_status read_slow(const char *text, gnti_device_spec *spec)
{
    gnt_status st = GNT_OK;
    char *end = NULL;
    const double factor = strtod(text, &end);
    long long step = 0;

    GNT_CHECK(end != text && *end == '@' && factor >= MIN_FACTOR && factor <= MAX_FACTOR, GNT_ERR_USAGE,
              "devices: slow '%s' is not FACTOR@STEP", text);
    text = end + 1;
    step = strtoll(text, &end, 10);
    GNT_CHECK(end != text && *end == 0 && step >= 0, GNT_ERR_USAGE,
              "devices: slow '...@%s' names no step from 0 on", text);
    spec->slow_factor = factor;
    spec->slow_step = step;
done:
    return st;
}

static gnt_status read_lost(const char *text, gnti_device_spec *spec)
{
    gnt_status st = GNT_OK;
    char *end = NULL;
    const long long step = strtoll(text, &end, 10);

    GNT_CHECK(end != text && *end == 0 && step >= 0, GNT_ERR_USAGE,
              "devices: lost '%s' names no step from 0 on", text);
    spec->lost_step = step;
done:
    return st;
}

static double *find_rate(const char *key, gnti_device_spec *spec)
{
    return strcmp(key, "flops") == 0       ? &spec->flops
           : strcmp(key, "bytes") == 0     ? &spec->bytes
           : strcmp(key, "bandwidth") == 0 ? &spec->bandwidth
                                           : NULL;
}

static gnt_status read_key(const char *key, const char *value, gnti_device_spec *spec)
{
    gnt_status st = GNT_OK;
    static const char *const keys[] = { "speed", "spmm",  "gemm",  "mem",       "clock",     "threads",
                                        "flops", "bytes", "slow",  "latency",   "bandwidth", "noise",
                                        "lost",  "room",  "watts", "idle-watts" };
    enum { NUM_KEYS = sizeof keys / sizeof keys[0] };
    double number = 0.0;

    if (strcmp(key, "mem") == 0)
        return read_bytes(value, &spec->memory);
    if (strcmp(key, "room") == 0)
        return read_bytes(value, &spec->room);
    if (strcmp(key, "slow") == 0)
        return read_slow(value, spec);
    if (strcmp(key, "lost") == 0)
        return read_lost(value, spec);
    if (strcmp(key, "clock") == 0) {
        spec->virtual_clock = strcmp(value, "virtual") == 0;
        GNT_CHECK(spec->virtual_clock || strcmp(value, "wall") == 0, GNT_ERR_USAGE,
                  "devices: clock '%s' is neither wall nor virtual", value);
    } else if (strcmp(key, "threads") == 0) {
        GNT_TRY(read_factor(key, value, &number));
        GNT_CHECK(number == floor(number) && number <= 1024.0, GNT_ERR_USAGE,
                  "devices: threads '%s' is no whole number from 1 to 1024", value);
        spec->threads = (int32_t)number;
    } else if (find_rate(key, spec) != NULL) {
        char *end = NULL;

        number = strtod(value, &end);
        GNT_CHECK(end != value && *end == 0 && number >= 1.0 && number < 1e30, GNT_ERR_USAGE,
                  "devices: %s '%s' is no rate a second", key, value);
        *find_rate(key, spec) = number;
    } else if (strcmp(key, "latency") == 0) {
        GNT_TRY(read_factor(key, value, &spec->latency));
    } else if (strcmp(key, "watts") == 0) {
        GNT_TRY(read_factor(key, value, &spec->busy_watts));
    } else if (strcmp(key, "idle-watts") == 0) {
        GNT_TRY(read_factor(key, value, &spec->idle_watts));
    } else if (strcmp(key, "noise") == 0) {
        char *end = NULL;

        number = strtod(value, &end);
        GNT_CHECK(end != value && *end == 0 && number >= 0.0 && number <= MAX_NOISE, GNT_ERR_USAGE,
                  "devices: noise '%s' is no part of the seconds from 0 to %g", value, MAX_NOISE);
        spec->noise = number;
    } else {
        double *factor = strcmp(key, "speed") == 0  ? &spec->speed
                         : strcmp(key, "spmm") == 0 ? &spec->spmm
                         : strcmp(key, "gemm") == 0 ? &spec->gemm
                                                    : NULL;
        const char *near = gnti_name_nearest(keys, NUM_KEYS, key);

        GNT_CHECK(factor != NULL, GNT_ERR_USAGE,
                  "devices: unknown key '%s'%s%s (there are speed, spmm, gemm, mem, clock, threads, flops, "
                  "bytes, latency, bandwidth, noise, slow, lost, room, watts, idle-watts)",
                  key, near != NULL ? ", did you mean " : "", near != NULL ? near : "");
        GNT_TRY(read_factor(key, value, factor));
    }
done:
    return st;
}

/* The next word up to one of `stops`; answers what stands behind it. */
static gnt_status take_word(const char *text, const char *stops, char word[WORD_BYTES], const char **rest)
{
    gnt_status st = GNT_OK;
    const size_t length = strcspn(text, stops);

    GNT_CHECK(length > 0 && length < WORD_BYTES, GNT_ERR_USAGE,
              "devices: a word of 1 to %d letters was expected at '%.40s'", WORD_BYTES - 1, text);
    memcpy(word, text, length);
    word[length] = 0;
    *rest = text + length;
done:
    return st;
}

/* "0" or "0-3" behind the colon; false: keys are there. */
static gnt_status read_numbers(const char **text, gnti_device_spec *spec, int32_t *last)
{
    gnt_status st = GNT_OK;
    char *end = NULL;
    long from, to;

    if (!isdigit((unsigned char)(*text)[1]))
        return GNT_OK;
    from = to = strtol(*text + 1, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        to = strtol(end + 1, &end, 10);
    GNT_CHECK((*end == 0 || *end == ',' || *end == ';') && from <= to && to < MAX_SPECS, GNT_ERR_USAGE,
              "devices: '%.20s' is neither a device's number nor a range (0, 0-3) below %d", *text + 1,
              MAX_SPECS);
    spec->index = (int32_t)from;
    *last = (int32_t)to;
    *text = end;
done:
    return st;
}

/* Keys that let the processor play another device have no meaning for one that is there. */
static bool is_played(const gnti_device_spec *s)
{
    return s->speed != 1.0 || s->spmm != 1.0 || s->gemm != 1.0 || s->virtual_clock || s->slow_factor != 0.0 ||
           s->lost_step >= 0 || s->room > 0 || s->latency != 0.0 || s->bandwidth != 0.0;
}

/* "cpu:speed=0.5,mem=1G", "NAME:0-3", "NAME:1,mem=1G"; last: the end of a range of numbers. */
static gnt_status read_spec(const char *text, gnti_device_spec *spec, int32_t *last, const char **rest)
{
    gnt_status st = GNT_OK;
    char word[WORD_BYTES], value[WORD_BYTES];

    *spec = (gnti_device_spec){ .index = -1,
                                .speed = 1.0,
                                .spmm = 1.0,
                                .gemm = 1.0,
                                .flops = DEFAULT_FLOPS,
                                .bytes = DEFAULT_BYTES,
                                .noise = NOISE,
                                .lost_step = -1 };
    *last = -1;
    GNT_TRY(take_word(text, ":;", word, &text));
    GNT_CHECK(strlen(word) < sizeof spec->backend, GNT_ERR_USAGE, "devices: no backend '%s'", word);
    memcpy(spec->backend, word, strlen(word) + 1);
    if (*text == ':')
        GNT_TRY(read_numbers(&text, spec, last));
    while (*text == ':' || *text == ',') {
        GNT_TRY(take_word(text + 1, "=,;", word, &text));
        GNT_CHECK(*text == '=', GNT_ERR_USAGE, "devices: '%s' is not key=value", word);
        GNT_TRY(take_word(text + 1, ",;", value, &text));
        GNT_TRY(read_key(word, value, spec));
    }
    GNT_CHECK(spec->index < 0 || !is_played(spec), GNT_ERR_USAGE,
              "devices: '%s:%d' is a device that is there: mem alone goes with its number", spec->backend,
              spec->index);
    *rest = text;
done:
    return st;
}

/* Only slower can be shown on the wall clock: the fastest device is at full speed, the others relative to it. */
static gnt_status settle(gnti_device_spec *specs, int32_t count)
{
    gnt_status st = GNT_OK;
    double fastest = 0.0;

    for (int32_t i = 0; i < count; i++) {
        GNT_CHECK(specs[i].virtual_clock == specs[0].virtual_clock, GNT_ERR_USAGE,
                  "devices: device 0 and device %d have different clocks, all must have the same", (int)i);
        GNT_CHECK(specs[i].virtual_clock || (specs[i].latency == 0.0 && specs[i].bandwidth == 0.0),
                  GNT_ERR_USAGE, "devices: device %d has a latency or bandwidth, which need clock=virtual",
                  (int)i);
        fastest = fmax(fastest, specs[i].speed * fmax(specs[i].spmm, specs[i].gemm));
    }
    for (int32_t i = 0; i < count && !specs[0].virtual_clock; i++)
        specs[i].speed /= fastest;
done:
    return st;
}

gnt_status gnti_device_specs_parse(const char *text, gnti_device_spec **out, int32_t *out_count)
{
    gnt_status st = GNT_OK;
    gnti_device_spec *specs = NULL;
    int64_t capacity = 0, count = 0;
    char *end = NULL;
    const char *end_of_spec = NULL;
    int32_t last = -1;
    const bool given = text != NULL && text[0] != 0 && strcmp(text, "auto") != 0;
    const long number = given ? strtol(text, &end, 10) : 1;

    if (!given || (end != text && *end == 0)) {
        GNT_CHECK(number >= 1 && number <= MAX_SPECS, GNT_ERR_USAGE, "devices '%s': allowed are 1 to %d",
                  text, MAX_SPECS);
        text = NULL;
        count = number;
        GNT_TRY(gnti_grow_array(&specs, &capacity, count));
        for (int64_t i = 0; i < count; i++) {
            GNT_TRY(read_spec("auto", &specs[i], &last, &end_of_spec));
        }
    }
    while (text != NULL && *text != 0) {
        gnti_device_spec spec;

        GNT_TRY(read_spec(text, &spec, &last, &text));
        text += *text == ';';
        do {
            GNT_CHECK(count < MAX_SPECS, GNT_ERR_USAGE, "more than %d devices", MAX_SPECS);
            GNT_TRY(gnti_grow_array(&specs, &capacity, count + 1));
            specs[count++] = spec;
        } while (spec.index++ < last);
    }
    GNT_TRY(settle(specs, (int32_t)count));
    *out = specs;
    *out_count = (int32_t)count;
    specs = NULL;
done:
    gnti_free(specs);
    return st;
}

/* ---- opening --------------------------------------------------------------------------------------------------------- */

int32_t gnti_device_number(const gnti_device_spec *specs, int32_t device)
{
    int32_t number = 0;

    for (int32_t i = 0; i < device; i++)
        number += specs[i].index < 0 && strcmp(specs[i].backend, specs[device].backend) == 0;
    return number;
}

gnt_status gnti_device_number_of_process(const gnti_device_spec *spec, int32_t number, int32_t *out)
{
    gnt_status st = GNT_OK;
    const gnt_backend *backend = NULL;
    gnt_device_info info;
    int32_t count = 0;

    GNT_TRY(gnti_backend_find(spec->backend, &backend));
    GNT_TRY(backend->list(&info, 1, &count));
    *out = count == 1 ? 0 : number; /* if it is one for all, the group of their devices refuses it */
done:
    return st;
}

gnt_status gnti_device_open_spec(const gnti_device_spec *spec, int32_t number,
                                 const gnti_device_config *config, gnt_device **out)
{
    gnt_status st = GNT_OK;
    const gnt_backend *backend = NULL;
    gnt_device_info info;
    int32_t index = spec->index, count = 0;

    GNT_TRY(gnti_backend_find(spec->backend, &backend));
    GNT_CHECK(
        spec->threads == 0 || backend->in_host_memory, GNT_ERR_USAGE,
        "devices: threads=%d of a device of backend %s: threads are of the processor alone, leave them out",
        (int)spec->threads, backend->name);
    if (index < 0) {
        index = number;
        GNT_TRY(backend->list(&info, 1, &count));
        if (count > 0 && strcmp(info.kind, "cpu") == 0)
            index = 0; /* any number of ranks share the processor */
        GNT_CHECK(
            index < count || count == 0, GNT_ERR_USAGE,
            "devices: a rank needs a device of its own, there %s %d of backend %s: give at most so many",
            count == 1 ? "is" : "are", count, backend->name);
    }
    GNT_TRY(backend->open(index, config, out));
done:
    return st;
}
