/* SPDX-License-Identifier: Apache-2.0 */
/* Device specs as text, and the clock of a virtual device.
 *
 * On the virtual clock an op of kind k takes max(flops / F_k, bytes / B_k) with F_k = spec.flops speed speed_k (bytes alike),
 * 5 % normal noise of each op (Box-Muller on Philox, keyed by seed and a count of charges) and the factor of `slow`. A paced device
 * sleeps for what it would have taken longer than the wall clock showed.
 */
#include "kernels/virtual.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/name.h"
#include "base/philox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SPECS = 4096, WORD_BYTES = 64 };
#define NOISE      0.05
#define MAX_NOISE  0.3 /* three deviations must stay below the mean */
#define MIN_FACTOR 1e-6
#define MAX_FACTOR 1e6

/* Rates of an ordinary core: what a rank of speed 1 does on the virtual clock. */
#define DEFAULT_FLOPS 2e10
#define DEFAULT_BYTES 8e9

struct gnti_virtual {
    gnti_device_spec spec;
    uint64_t seed, charges;
    double clock; /* virtual seconds since it was made */
    double taken; /* compute since the last gnti_virtual_take_seconds */
    double begin; /* wall */
    int64_t step;
    gnti_op_counter before[GNTI_OP_NUM_KINDS];
};

/* ---- texts --------------------------------------------------------------------------------------------------------- */

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
    static const char *const keys[] = { "speed", "spmm",  "gemm", "mem",     "clock",     "threads",
                                        "flops", "bytes", "slow", "latency", "bandwidth", "noise" };
    enum { NUM_KEYS = sizeof keys / sizeof keys[0] };
    double number = 0.0;

    if (strcmp(key, "mem") == 0)
        return read_bytes(value, &spec->memory);
    if (strcmp(key, "slow") == 0)
        return read_slow(value, spec);
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
                  "bytes, latency, bandwidth, noise, slow)",
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

/* "cpu:speed=0.5,mem=1G" */
static gnt_status read_spec(const char *text, gnti_device_spec *spec, const char **rest)
{
    gnt_status st = GNT_OK;
    char word[WORD_BYTES], value[WORD_BYTES];

    *spec = (gnti_device_spec){
        .speed = 1.0, .spmm = 1.0, .gemm = 1.0, .flops = DEFAULT_FLOPS, .bytes = DEFAULT_BYTES, .noise = NOISE
    };
    GNT_TRY(take_word(text, ":;", word, &text));
    GNT_CHECK(strlen(word) < sizeof spec->backend, GNT_ERR_USAGE, "devices: no backend '%s'", word);
    memcpy(spec->backend, word, strlen(word) + 1);
    if (*text == ':')
        do {
            GNT_TRY(take_word(text + 1, "=,;", word, &text));
            GNT_CHECK(*text == '=', GNT_ERR_USAGE, "devices: '%s' is not key=value", word);
            GNT_TRY(take_word(text + 1, ",;", value, &text));
            GNT_TRY(read_key(word, value, spec));
        } while (*text == ',');
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
    const bool given = text != NULL && text[0] != 0 && strcmp(text, "auto") != 0;
    const long number = given ? strtol(text, &end, 10) : 1;

    if (!given || (end != text && *end == 0)) {
        GNT_CHECK(number >= 1 && number <= MAX_SPECS, GNT_ERR_USAGE, "devices '%s': allowed are 1 to %d",
                  text, MAX_SPECS);
        text = NULL;
        count = number;
        GNT_TRY(gnti_grow_array(&specs, &capacity, count));
        for (int64_t i = 0; i < count; i++) {
            const char *rest = NULL;

            GNT_TRY(read_spec("auto", &specs[i], &rest));
        }
    }
    while (text != NULL && *text != 0) {
        GNT_CHECK(count < MAX_SPECS, GNT_ERR_USAGE, "more than %d devices", MAX_SPECS);
        GNT_TRY(gnti_grow_array(&specs, &capacity, count + 1));
        GNT_TRY(read_spec(text, &specs[count++], &text));
        text += *text == ';';
    }
    GNT_TRY(settle(specs, (int32_t)count));
    *out = specs;
    *out_count = (int32_t)count;
    specs = NULL;
done:
    gnti_free(specs);
    return st;
}

/* ---- clocks -------------------------------------------------------------------------------------------------------- */

gnt_status gnti_virtual_create(const gnti_device_spec *spec, uint64_t seed, gnti_virtual **out)
{
    gnt_status st = GNT_OK;
    gnti_virtual *v = NULL;

    GNT_TRY(gnti_calloc_array(&v, 1));
    v->spec = *spec;
    v->seed = seed;
    *out = v;
done:
    return st;
}

void gnti_virtual_free(gnti_virtual **v)
{
    if (v == NULL || *v == NULL)
        return;
    gnti_free(*v);
    *v = NULL;
}

double *gnti_virtual_clock(gnti_virtual *v)
{
    return v->spec.virtual_clock ? &v->clock : NULL;
}

void gnti_virtual_begin(gnti_virtual *v, const gnt_stream *s, int64_t step)
{
    v->step = step;
    v->begin = gnti_clock_seconds();
    gnti_stream_counters(s, v->before);
}

/* The mean of `ops` normal draws with mean 1, cut at three deviations. */
static double noise(gnti_virtual *v, int64_t ops)
{
    const uint32_t counter[4] = { (uint32_t)v->charges, (uint32_t)(v->charges >> 32), 0, 0 };
    uint32_t word[4];
    double u1, u2, z;

    gnti_philox(counter, gnti_seed_key(v->seed), word);
    v->charges++;
    u1 = ((double)word[0] + 1.0) * 0x1p-32;
    u2 = (double)word[1] * 0x1p-32;
    z = sqrt(-2.0 * log(u1)) * cos(6.283185307179586 * u2);
    return 1.0 + v->spec.noise / sqrt((double)(ops > 1 ? ops : 1)) * fmax(-3.0, fmin(3.0, z));
}

static double speed_of(const gnti_device_spec *spec, int kind)
{
    return spec->speed * (kind == GNTI_OP_SPMM || kind == GNTI_OP_ATTEND ? spec->spmm
                          : kind == GNTI_OP_GEMM                         ? spec->gemm
                                                                         : 1.0);
}

void gnti_virtual_end(gnti_virtual *v, const gnt_stream *s)
{
    const gnti_device_spec *spec = &v->spec;
    const double wall = gnti_clock_seconds() - v->begin;
    const double slow = spec->slow_factor > 0.0 && v->step >= spec->slow_step ? spec->slow_factor : 1.0;
    gnti_op_counter now[GNTI_OP_NUM_KINDS];
    double charged = 0.0, stretched = wall;

    gnti_stream_counters(s, now);
    for (int k = 0; k < GNTI_OP_NUM_KINDS; k++) {
        const double speed = speed_of(spec, k) / slow;
        const double seconds = fmax((now[k].flops - v->before[k].flops) / (spec->flops * speed),
                                    (now[k].bytes - v->before[k].bytes) / (spec->bytes * speed));

        if (seconds > 0.0 && spec->virtual_clock)
            charged += seconds * noise(v, now[k].calls - v->before[k].calls);
        stretched += (now[k].seconds - v->before[k].seconds) * (1.0 / speed - 1.0);
    }
    if (spec->virtual_clock) {
        v->clock += charged;
        v->taken += charged;
        return;
    }
    if (stretched > wall) {
        const double rest = stretched - wall;
        const struct timespec pause = { (time_t)rest, (long)((rest - floor(rest)) * 1e9) };

        nanosleep(&pause, NULL);
    }
    v->taken += fmax(stretched, wall);
}

double gnti_virtual_take_seconds(gnti_virtual *v)
{
    const double seconds = v->taken;

    v->taken = 0.0;
    return seconds;
}
