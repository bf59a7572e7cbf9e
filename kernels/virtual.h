/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual devices: a CPU device that pretends to be a slower or unequal one, for planning and tests on one machine.
 *
 * text:  kind[:key=value{,key=value}]{;...}, or a number N for N equal ones. "cpu:speed=1;cpu:speed=0.25,mem=512M". A device that
 *   is there has a number: kind:N, kind:N-M, each with mem; kinds mix: "NAME:0-3;cpu:threads=8". Without numbers, ranks of one
 *   kind take its devices in turn (the processor is shared).
 *   speed    of everything, 1 = this machine's share of a rank (default); spmm, gemm: of these kinds alone
 *   mem      bytes with K, M, G (1024): the allocator answers ERR_DEVICE_NOMEM beyond it
 *   clock    wall (default): a slower device is paced, it sleeps after each run for what it would have taken longer;
 *            virtual: nothing sleeps, seconds come from bytes and operations counted at run time, hidden speeds, seeded noise
 *   threads  of this device; flops, bytes: operations and bytes a second at speed 1 on the virtual clock
 *   latency, bandwidth  of the links to the other ranks on the virtual clock: seconds a message, bytes a second (default:
 *            messages cost nothing)
 *   noise    of each op on the virtual clock, as a part of its seconds (default 0.05)
 *   slow     FACTOR@STEP: its speed changes at a step, for tests ("slow=4@20")
 *   room     bytes that it really has, where planners are told mem (or that there is no limit), for tests
 *   watts, idle-watts  what it draws busy and idle, where an ensemble counts or limits power (default: by its kind)
 *   lost     STEP: from this step on it is lost, every step answers ERR_DEVICE_LOST, for tests
 * Planners never see these numbers: they see elapsed seconds.
 */
#ifndef GNTI_KERNELS_VIRTUAL_H
#define GNTI_KERNELS_VIRTUAL_H

#include "kernels/backend.h"

typedef struct gnti_scratch gnti_scratch;

typedef struct gnti_device_spec {
    char backend[16];
    int32_t index;            /* of the back end's list, -1: the next one */
    double speed, spmm, gemm; /* factors; spmm and gemm multiply speed */
    size_t memory;            /* 0: no limit */
    size_t room;              /* what the allocator keeps to, 0: memory */
    bool virtual_clock;
    int32_t threads;               /* 0: cores / ranks */
    double flops, bytes;           /* per second at speed 1 */
    double latency, bandwidth;     /* of its links; bandwidth 0: messages cost nothing but the latency */
    double busy_watts, idle_watts; /* 0: by its kind */
    double noise;                  /* normal deviation of an op's seconds over their mean */
    double slow_factor;            /* 0: never */
    int64_t slow_step;
    int64_t lost_step; /* -1: never */
    gnti_quota *quota; /* of a device of a pool (nn/program.h), lent; NULL: it is not shared */
    gnti_scratch
        *scratch; /* the same: what all that run there have in common between steps (kernels/scratch.h) */
} gnti_device_spec;

/* In place of a back end's name: "pool:3" is a device of the context's pool. */
#define GNTI_POOL_BACKEND "pool"

/* ERR_USAGE points at the place in the text. NULL, "" and "auto": one device. specs (*out_count), to be freed. */
gnt_status gnti_device_specs_parse(const char *text, gnti_device_spec **specs, int32_t *out_count);

/* How many devices before this one are of its back end and have no number either. */
int32_t gnti_device_number(const gnti_device_spec *specs, int32_t device);
/* The number of a process' device: `number` among the processes of its host, or 0 when its launcher lets it see one device alone. */
gnt_status gnti_device_number_of_process(const gnti_device_spec *spec, int32_t number, int32_t *out);
/* Opens the device; one without a number of its own becomes number `number` of its back end. ERR_USAGE beyond what there is. */
gnt_status gnti_device_open_spec(const gnti_device_spec *spec, int32_t number,
                                 const gnti_device_config *config, gnt_device **out);

/* What a device has taken: between begin and end the counters of its streams are charged (virtual), or the wall time is
 * stretched by sleeping (paced), or simply measured. */
typedef struct gnti_virtual gnti_virtual;
gnt_status gnti_virtual_create(const gnti_device_spec *spec, uint64_t seed, gnti_virtual **out);
void gnti_virtual_free(gnti_virtual **v);
/* The clock that gnti_comm.virtual_seconds points to; NULL for a device on wall time. */
double *gnti_virtual_clock(gnti_virtual *v);
/* It neither charges nor paces: elapsed seconds are the device's own. */
bool gnti_virtual_is_plain(const gnti_virtual *v);
/* ERR_DEVICE_LOST from the step on at which it is lost. */
gnt_status gnti_virtual_check(const gnti_virtual *v, int64_t step);
/* Called by the program before and after a stretch of ops of a step without a wait inside; charges what the stream counted. */
void gnti_virtual_begin(gnti_virtual *v, gnt_stream *s, int64_t step);
void gnti_virtual_end(gnti_virtual *v, gnt_stream *s);
/* Seconds of compute charged or measured since the last call: what planners see. */
double gnti_virtual_take_seconds(gnti_virtual *v);

#endif
