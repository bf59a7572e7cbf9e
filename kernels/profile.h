/* SPDX-License-Identifier: Apache-2.0 */
/* What a device does in a second, by kind of op, measured the way its ranks are: short ops through its clock (kernels/virtual.h), so
 * that a paced or virtual device shows the rates that a run would see.
 *
 *   seconds of an op = max(flops / rates.flops[kind], bytes / rates.bytes[kind])      flops, bytes: kernels/cost.h
 *
 * Two ops of each kind are timed: one with many operations a byte gives the first rate, one with few the second. When bytes
 * alone explain the first, its operations were not what limits, and never are in a prediction. Kinds are dense products, sparse
 * products, attention and all the rest.
 */
#ifndef GNTI_KERNELS_PROFILE_H
#define GNTI_KERNELS_PROFILE_H

#include "kernels/virtual.h"

#define GNTI_RATE_UNLIMITED 1e30 /* operations are never what limits */

typedef struct gnti_rates {
    double flops[GNTI_OP_NUM_KINDS], bytes[GNTI_OP_NUM_KINDS]; /* per second */
} gnti_rates;

/* Those of an ordinary machine (cost.h), where nothing was measured: the same on every machine. */
gnti_rates gnti_rates_default(int32_t num_threads);
double gnti_rates_seconds(const gnti_rates *rates, gnti_op_kind kind, double flops, double bytes);

typedef struct gnti_profile {
    gnti_rates rates;
    double spmm_seconds, gemm_seconds; /* of one layer of the probe: 16 arcs a row, 64 columns in and out */
    double speed;                      /* 1 / their sum */
} gnti_profile;

enum { GNTI_PROFILE_ALL = (1 << GNTI_OP_NUM_KINDS) - 1 };

/* Opens the device (one without room for the probe counts as an ordinary one), measures for some tens of milliseconds a kind (paced ones longer), closes it. kinds: bits 1 << kind of those
 * that matter; dense and sparse products always are measured, the others keep default rates. */
gnt_status gnti_device_profile(const gnti_device_spec *spec, const gnti_device_config *config, uint64_t seed,
                               uint32_t kinds, gnti_profile *out);

/* Whether devices may differ in speed: backends, factors, rates or threads of two of them do. */
bool gnti_device_specs_differ(const gnti_device_spec *specs, int32_t count);

#endif
