/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads, each with a device of the stand-in, two streams and a group: what the tests of groups start from. */
#ifndef GNT_GROUP_CASE_H
#define GNT_GROUP_CASE_H

#include "tests/hostcuda/hostcuda.h"
#include "tests/support/thread_ranks.h"

#include "dist/group.h"
#include "kernels/cuda/cuda_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENT_PACKED, EVENT_LANDED, NUM_EVENTS };

typedef struct group_rank {
    gnt_device *dev;
    gnt_stream *compute, *talk;
    gnti_group *group;
    gnt_buffer *data; /* floats */
} group_rank;

/* How many orders are tried: 20, or HOSTCUDA_SEEDS. */
static inline int group_case_seeds(void)
{
    const char *text = getenv("HOSTCUDA_SEEDS");

    return text != NULL ? atoi(text) : 20;
}

/* Starts anew; fail NULL: nothing is injected. */
static inline void group_case_reset(const char *devices, int seed, const char *fail)
{
    char text[16];

    snprintf(text, sizeof text, "%d", seed);
    setenv("HOSTCUDA_DEVICES", devices, 1);
    setenv("HOSTCUDA_SEED", text, 1);
    if (fail != NULL)
        setenv("HOSTCUDA_FAIL", fail, 1);
    else
        unsetenv("HOSTCUDA_FAIL");
    hostcuda_reset();
    gnti_device_plugin_set(&gnti_cuda_plugin);
}

/* Everything that a test may leave behind on the devices; then the stand-in forgets them. */
static inline void group_case_check_clean(void)
{
    hostcuda_counts c;

    hostcuda_get_counts(&c);
    assert_int_equal(c.live_allocations, 0);
    assert_int_equal(c.live_bytes, 0);
    assert_int_equal(c.pinned_bytes, 0);
    assert_int_equal(c.handles, 0);
    hostcuda_reset();
}

static inline gnt_status group_rank_open(group_rank *r, int32_t device, size_t bytes)
{
    gnt_status st = GNT_OK;
    const gnti_device_config config = { 0 };

    GNT_TRY(gnti_device_open("cuda", device, &config, &r->dev));
    GNT_TRY(gnti_stream_open(r->dev, NUM_EVENTS, &r->compute));
    GNT_TRY(gnti_stream_open(r->dev, NUM_EVENTS, &r->talk));
    GNT_TRY(gnti_buffer_alloc(r->dev, bytes, &r->data));
done:
    return st;
}

static inline void group_rank_close(group_rank *r)
{
    gnti_group_free(&r->group);
    gnti_buffer_free(&r->data);
    gnti_stream_close(&r->talk);
    gnti_stream_close(&r->compute);
    gnti_device_close(&r->dev);
}

/* talk goes on when compute is here; and the way back. */
static inline gnt_status group_rank_to_talk(const group_rank *r)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_event_record(r->compute, EVENT_PACKED));
    GNT_TRY(gnti_event_await(r->talk, r->compute, EVENT_PACKED));
done:
    return st;
}

static inline gnt_status group_rank_from_talk(const group_rank *r)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_event_record(r->talk, EVENT_LANDED));
    GNT_TRY(gnti_event_await(r->compute, r->talk, EVENT_LANDED));
done:
    return st;
}

#endif
