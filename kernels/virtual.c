/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of a virtual device.
 *
 * On the virtual clock an op of kind k takes max(flops / F_k, bytes / B_k) with F_k = spec.flops speed speed_k (bytes alike),
 * 5 % normal noise of each op (Box-Muller on Philox, keyed by seed and a count of charges; ops of
 * a kind between two waits share a draw of their mean) and the factor of `slow`. A paced device
 * sleeps for what it would have taken longer than the wall clock showed.
 */
#include "kernels/virtual.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/philox.h"

#include <math.h>
#include <string.h>
#include <time.h>

struct gnti_virtual {
    gnti_device_spec spec;
    uint64_t seed, charges;
    double clock; /* virtual seconds since it was made */
    double taken; /* compute since the last gnti_virtual_take_seconds */
    double begin; /* wall */
    int64_t step;
    gnti_op_counter before[GNTI_OP_NUM_KINDS];
    double charged[GNTI_OP_NUM_KINDS]; /* of this stretch, without noise and slow */
};

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

/* What the noise of `ops` equal ops comes to: the mean of so many normal draws with mean 1, cut at three deviations. */
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

static void charge(void *observer, gnti_op_kind kind, double flops, double bytes)
{
    gnti_virtual *v = observer;
    const double speed = speed_of(&v->spec, kind);

    v->charged[kind] += fmax(flops / (v->spec.flops * speed), bytes / (v->spec.bytes * speed));
}

bool gnti_virtual_is_plain(const gnti_virtual *v)
{
    const gnti_device_spec *s = &v->spec;

    return !s->virtual_clock && s->speed == 1.0 && s->spmm == 1.0 && s->gemm == 1.0 && s->slow_factor == 0.0;
}

gnt_status gnti_virtual_check(const gnti_virtual *v, int64_t step)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(v->spec.lost_step < 0 || step < v->spec.lost_step, GNT_ERR_DEVICE_LOST,
              "step %lld: the device was lost at step %lld, as its text asks (lost)", (long long)step,
              (long long)v->spec.lost_step);
done:
    return st;
}

void gnti_virtual_begin(gnti_virtual *v, gnt_stream *s, int64_t step)
{
    gnti_stream_head *head = (gnti_stream_head *)s;

    v->step = step;
    v->begin = gnti_clock_seconds();
    gnti_stream_counters(s, v->before);
    if (!v->spec.virtual_clock)
        return;
    memset(v->charged, 0, sizeof v->charged);
    head->observe = charge;
    head->observer = v;
}

static void end_virtual(gnti_virtual *v, const gnti_op_counter *now, double slow)
{
    double sum = 0.0;

    for (int k = 0; k < GNTI_OP_NUM_KINDS; k++)
        if (v->charged[k] > 0.0)
            sum += slow * v->charged[k] * noise(v, now[k].calls - v->before[k].calls);
    v->clock += sum;
    v->taken += sum;
}

/* A paced device sleeps for what its ops would have taken longer. */
static void end_paced(gnti_virtual *v, const gnti_op_counter *now, double slow)
{
    const double wall = gnti_clock_seconds() - v->begin;
    double stretched = wall;

    for (int k = 0; k < GNTI_OP_NUM_KINDS; k++)
        stretched += (now[k].seconds - v->before[k].seconds) * (slow / speed_of(&v->spec, k) - 1.0);
    if (stretched > wall) {
        const double rest = stretched - wall;
        const struct timespec pause = { (time_t)rest, (long)((rest - floor(rest)) * 1e9) };

        nanosleep(&pause, NULL);
    }
    v->taken += fmax(stretched, wall);
}

void gnti_virtual_end(gnti_virtual *v, gnt_stream *s)
{
    const gnti_device_spec *spec = &v->spec;
    const double slow = spec->slow_factor > 0.0 && v->step >= spec->slow_step ? spec->slow_factor : 1.0;
    gnti_op_counter now[GNTI_OP_NUM_KINDS];

    gnti_stream_counters(s, now);
    ((gnti_stream_head *)s)->observe = NULL;
    if (spec->virtual_clock)
        end_virtual(v, now, slow);
    else
        end_paced(v, now, slow);
}

double gnti_virtual_take_seconds(gnti_virtual *v)
{
    const double seconds = v->taken;

    v->taken = 0.0;
    return seconds;
}
