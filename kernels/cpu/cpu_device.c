/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: threads it may use, vector level, buffers on 2 MiB pages, streams whose work is done
 * at once.
 *
 * There is one device, number 0. A buffer of any kind counts against the device's memory limit when there is
 * one, so that a small device can be played on a large machine. The limit is kept by one atomic counter: two
 * threads may allocate at the same time.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "kernels/cpu/cpu.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int32_t usable_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set) > 0 ? CPU_COUNT(&set) : 1;
    return 1;
}

static bool machine_has(gnti_isa isa)
{
#if defined(__x86_64__)
    if (isa == GNTI_ISA_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == GNTI_ISA_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return isa == GNTI_ISA_PORTABLE;
}

const char *cpu_isa_name(gnti_isa isa)
{
    static const char *const names[] = { "auto", "portable", "avx2", "avx512" };

    return names[isa];
}

gnt_status cpu_isa_choose(gnti_isa wanted, gnti_isa *out)
{
    gnt_status st = GNT_OK;
    gnti_isa best = GNTI_ISA_AVX512;

    while (!machine_has(best))
        best--;
    GNT_CHECK(wanted == GNTI_ISA_AUTO || machine_has(wanted), GNT_ERR_UNSUPPORTED,
              "this processor has no %s: use %s or a lower level", cpu_isa_name(wanted), cpu_isa_name(best));
    *out = wanted == GNTI_ISA_AUTO ? best : wanted;
done:
    return st;
}

/* "model name" of /proc/cpuinfo; "CPU" where there is none. */
static void processor_name(char *out, size_t bytes)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    snprintf(out, bytes, "CPU");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');

        if (colon == NULL || strncmp(line, "model name", 10) != 0)
            continue;
        snprintf(out, bytes, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        break;
    }
    if (f != NULL)
        fclose(f);
}

gnt_status cpu_list(gnt_device_info *out, int32_t capacity, int32_t *out_count)
{
    const long page = sysconf(_SC_PAGESIZE);
    gnti_isa isa = GNTI_ISA_PORTABLE;

    *out_count = 1;
    if (capacity < 1)
        return GNT_OK;
    memset(out, 0, sizeof *out);
    processor_name(out->name, sizeof out->name);
    snprintf(out->kind, sizeof out->kind, "cpu");
    out->total_bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)page;
    out->free_bytes = (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)page;
    out->num_threads = usable_cores();
    (void)cpu_isa_choose(GNTI_ISA_AUTO, &isa);
    snprintf(out->isa, sizeof out->isa, "%s", cpu_isa_name(isa));
    return GNT_OK;
}

static gnt_status open_as(const gnt_backend *backend, int32_t index, const gnti_device_config *config,
                          gnt_device **out)
{
    gnt_status st = GNT_OK;
    static const gnti_device_config defaults = { .determinism = GNTI_DET_RUN };
    const gnti_device_config *c = config != NULL ? config : &defaults;
    gnt_device *dev = NULL;

    GNT_CHECK(index == 0, GNT_ERR_ARG, "%s device %d does not exist: the processor is device 0",
              backend->name, index);
    GNT_CHECK(c->num_threads >= 0, GNT_ERR_ARG, "%d threads: give at least 1, or 0 for all cores",
              c->num_threads);
    GNT_TRY(gnti_calloc_bytes((void **)&dev, sizeof *dev));
    dev->backend = backend;
    dev->num_threads = c->num_threads > 0 ? c->num_threads : usable_cores();
    dev->determinism = c->determinism;
    dev->memory_limit = c->memory_limit;
    dev->quota = c->quota;
    atomic_init(&dev->used_bytes, 0);
    atomic_init(&dev->peak_bytes, 0);
    GNT_TRY(cpu_isa_choose(c->isa, &dev->isa));
    dev->product_isa = c->isa == GNTI_ISA_AUTO ? cpu_gemm_isa(dev->isa) : dev->isa;
    cpu_gemm_single_thread();
    *out = dev;
    dev = NULL; /* handed over */
done:
    gnti_free(dev);
    return st;
}

gnt_status cpu_open(int32_t index, const gnti_device_config *config, gnt_device **out)
{
    return open_as(&gnti_cpu_backend, index, config, out);
}

gnt_status ref_open(int32_t index, const gnti_device_config *config, gnt_device **out)
{
    return open_as(&gnti_ref_backend, index, config, out);
}

void cpu_close(gnt_device *dev)
{
    gnti_free(dev);
}

size_t cpu_peak_bytes(const gnt_device *dev)
{
    return atomic_load(&dev->peak_bytes);
}

static void note_peak(gnt_device *dev, size_t used)
{
    size_t peak = atomic_load(&dev->peak_bytes);

    while (used > peak && !atomic_compare_exchange_weak(&dev->peak_bytes, &peak, used))
        ;
}

gnt_status cpu_alloc(gnt_device *dev, size_t bytes, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;
    bool counted = false;
    const size_t before = atomic_fetch_add(&dev->used_bytes, bytes);

    GNT_CHECK(dev->memory_limit == 0 || (bytes <= dev->memory_limit && before <= dev->memory_limit - bytes),
              GNT_ERR_DEVICE_NOMEM, "%zu bytes do not fit: %zu of the device's limit of %zu bytes are in use",
              bytes, before, dev->memory_limit);
    counted = gnti_quota_take(dev->quota, bytes);
    GNT_CHECK(counted, GNT_ERR_DEVICE_NOMEM,
              "%zu bytes do not fit: %zu of the %zu bytes of a shared device are in use", bytes,
              atomic_load(&dev->quota->used), dev->quota->limit);
    GNT_TRY(gnti_calloc_bytes((void **)&buf, sizeof *buf));
    buf->head = (gnti_buffer_head){ .backend = dev->backend, .device = dev, .bytes = bytes };
    GNT_TRY(gnti_pages_alloc(bytes, &buf->head.host));
    buf->head.address = buf->head.host;
    note_peak(dev, before + bytes);
    *out = buf;
    buf = NULL; /* handed over */
done:
    if (st != GNT_OK)
        atomic_fetch_sub(&dev->used_bytes, bytes);
    if (st != GNT_OK && counted)
        gnti_quota_give(dev->quota, bytes);
    gnti_free(buf);
    return st;
}

gnt_status cpu_host_buffer(gnt_device *dev, size_t bytes, void **host, gnt_buffer **out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    if (*host == NULL) {
        GNT_TRY(cpu_alloc(dev, bytes, out));
        *host = (*out)->head.host;
        return GNT_OK;
    }
    GNT_TRY(gnti_calloc_bytes((void **)&buf, sizeof *buf));
    buf->head = (gnti_buffer_head){
        .backend = dev->backend, .device = dev, .bytes = bytes, .host = *host, .address = *host
    };
    buf->wrapped = true;
    *out = buf;
done:
    return st;
}

void cpu_free(gnt_buffer *buf)
{
    gnt_device *dev = (gnt_device *)buf->head.device; /* the device outlives its buffers and is ours */

    if (!buf->wrapped) {
        atomic_fetch_sub(&dev->used_bytes, buf->head.bytes);
        gnti_quota_give(dev->quota, buf->head.bytes);
        gnti_pages_free(buf->head.host, buf->head.bytes);
    }
    gnti_free(buf);
}

gnt_status cpu_upload(gnt_stream *s, gnt_buffer *dst, size_t offset, const void *src, size_t bytes)
{
    (void)s;
    if (bytes > 0)
        memcpy(cpu_address(dst, offset), src, bytes);
    return GNT_OK;
}

gnt_status cpu_download(gnt_stream *s, void *dst, const gnt_buffer *src, size_t offset, size_t bytes)
{
    (void)s;
    if (bytes > 0)
        memcpy(dst, cpu_address(src, offset), bytes);
    return GNT_OK;
}

gnt_status cpu_copy(gnt_stream *s, const gnt_copy_args *a)
{
    (void)s;
    memmove(cpu_address(a->dst, a->dst_offset), cpu_address(a->src, a->src_offset), a->bytes);
    return GNT_OK;
}

gnt_status cpu_stream_open(gnt_device *dev, int32_t num_events, gnt_stream **out)
{
    gnt_status st = GNT_OK;
    gnt_stream *s = NULL;

    GNT_TRY(gnti_calloc_bytes((void **)&s, sizeof *s));
    s->head.backend = dev->backend;
    s->head.device = dev;
    s->num_events = num_events;
    GNT_TRY(gnti_alloc_array(&s->events, num_events));
    for (int32_t i = 0; i < num_events; i++)
        s->events[i] = NAN;
    *out = s;
    s = NULL; /* handed over */
done:
    gnti_free(s);
    return st;
}

void cpu_stream_close(gnt_stream *s)
{
    cpu_chain_team_free(s);
    gnti_pages_free(s->scratch, s->scratch_bytes);
    gnti_free(s->events);
    gnti_free(s);
}

gnt_status cpu_stream_wait(gnt_stream *s, double seconds, bool *out_done)
{
    (void)s;
    (void)seconds;
    *out_done = true;
    return GNT_OK;
}

gnt_status cpu_event_record(gnt_stream *s, int32_t event)
{
    s->events[event] = gnti_clock_seconds();
    return GNT_OK;
}

gnt_status cpu_event_await(gnt_stream *s, const gnt_stream *of, int32_t event)
{
    (void)s; /* what `of` was given before the event is done already */
    (void)of;
    (void)event;
    return GNT_OK;
}

gnt_status cpu_event_seconds(gnt_stream *s, int32_t from, int32_t to, double *out)
{
    gnt_status st = GNT_OK;
    const double seconds = s->events[to] - s->events[from];

    GNT_CHECK(!isnan(seconds), GNT_ERR_STATE, "event %d or %d was not recorded", from, to);
    *out = seconds;
done:
    return st;
}

gnt_status cpu_scratch(gnt_stream *s, size_t bytes, void **out)
{
    gnt_status st = GNT_OK;
    void *fresh = NULL;

    if (bytes > s->scratch_bytes) {
        GNT_TRY(gnti_pages_alloc(bytes, &fresh));
        gnti_pages_free(s->scratch, s->scratch_bytes);
        s->scratch = fresh;
        s->scratch_bytes = bytes;
    }
    *out = s->scratch;
done:
    return st;
}
