/* SPDX-License-Identifier: Apache-2.0 */
/* The allocation matrix beside one member a device, under a stated cost model: a JSON line a case.
 *
 * A member is a two-layer GCN of hidden width h over 128 features, 40 classes and 15 arcs a row. A batch of b rows takes
 *   fixed + b (2 128 h + 2 h 40 + 2 15 (h + 40)) / (speed 1e11)  seconds, fixed = 50 us (queueing, gathering, handing over)
 * and h (128 + 40) 4 + 64 MiB + b (128 + h + 40) 4 bytes. One member a device: each device has one member at a time, in the order given; the
 * next members come when the slowest of these has done its rows. Rates are rows a second that all members have predicted.
 */
#include "base/error.h"
#include "bench/harness.h"
#include "ensemble/allocate.h"

#include <math.h>
#include <stdio.h>

enum { FEATURES = 128, CLASSES = 40, ARCS = 15, MAX = 16, CELLS = MAX * MAX };
#define FIXED_SECONDS 50e-6
#define FLOPS         1e11

typedef struct setting {
    const char *name;
    int32_t num_devices, num_members;
    double speed[MAX];
    int32_t hidden[MAX];
    int64_t capacity;
} setting;

typedef struct model {
    gnti_allocation_input in;
    int64_t capacity[MAX], fixed_bytes[MAX], row_bytes[MAX];
    double fixed_seconds[CELLS], row_seconds[CELLS];
} model;

static void fill(const setting *s, uint64_t seed, model *out)
{
    out->in = (gnti_allocation_input){ .num_devices = s->num_devices,
                                       .num_members = s->num_members,
                                       .capacity = out->capacity,
                                       .fixed_seconds = out->fixed_seconds,
                                       .row_seconds = out->row_seconds,
                                       .fixed_bytes = out->fixed_bytes,
                                       .row_bytes = out->row_bytes,
                                       .seed = seed };
    for (int32_t m = 0; m < s->num_members; m++) {
        const double h = s->hidden[m];

        out->fixed_bytes[m] = (int64_t)(h * (FEATURES + CLASSES) * 4.0) + (64 << 20);
        out->row_bytes[m] = (int64_t)((FEATURES + CLASSES + h) * 4.0);
        for (int32_t d = 0; d < s->num_devices; d++) {
            out->fixed_seconds[d * s->num_members + m] = FIXED_SECONDS;
            out->row_seconds[d * s->num_members + m] =
                (2.0 * FEATURES * h + 2.0 * h * CLASSES + 2.0 * ARCS * (h + CLASSES)) / (s->speed[d] * FLOPS);
        }
    }
    for (int32_t d = 0; d < s->num_devices; d++)
        out->capacity[d] = s->capacity;
}

/* Rows a second in waves of one member a device, batches of b rows. */
static double in_waves(const model *c, int32_t b)
{
    const gnti_allocation_input *in = &c->in;
    double seconds = 0.0;

    for (int32_t first = 0; first < in->num_members; first += in->num_devices) {
        double slowest = 0.0;

        for (int32_t i = 0; i < in->num_devices && first + i < in->num_members; i++) {
            const int32_t at = i * in->num_members + first + i;

            slowest = fmax(slowest, c->fixed_seconds[at] / b + c->row_seconds[at]);
        }
        seconds += slowest;
    }
    return 1.0 / seconds;
}

static gnt_status measure(const setting *s, uint64_t seed)
{
    gnt_status st = GNT_OK;
    model c;
    int32_t batch[CELLS], entries = 0;
    double rate;

    fill(s, seed, &c);
    GNT_TRY(gnti_allocate(&c.in, batch));
    rate = gnti_allocation_rate(&c.in, batch);
    for (int32_t i = 0; i < s->num_devices * s->num_members; i++)
        entries += batch[i] > 0;
    printf(
        "{\"case\": \"%s\", \"one_default\": %.9g, \"one_best\": %.9g, \"matrix\": %.9g, \"entries\": %d}\n",
        s->name, in_waves(&c, 8), in_waves(&c, 128), rate, (int)entries);
done:
    return st;
}

int main(int argc, char **argv)
{
    static const setting settings[] = {
        { "12 members on 4 equal devices",
          4,
          12,
          { 1, 1, 1, 1 },
          { 16, 32, 64, 128, 256, 512, 16, 32, 64, 128, 256, 512 },
          4LL << 30 },
        { "12 members on 4 unequal devices, 4:2:1:1",
          4,
          12,
          { 4, 2, 1, 1 },
          { 16, 32, 64, 128, 256, 512, 16, 32, 64, 128, 256, 512 },
          4LL << 30 },
        { "1 member on 16 devices",
          16,
          1,
          { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
          { 256 },
          4LL << 30 },
    };
    const uint64_t seed = (uint64_t)bench_option(argc, argv, "seed", 1, 0, INT64_MAX);
    gnt_status st = GNT_OK;

    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        GNT_TRY(measure(&settings[i], seed));
done:
    if (st != GNT_OK)
        fprintf(stderr, "bench_allocate: %s\n", gnt_last_error());
    return st == GNT_OK ? 0 : 1;
}
