/* SPDX-License-Identifier: Apache-2.0 */
/* Counted host memory.
 *
 * A block carries its size and its pool in a 64-byte head, so that free and realloc can keep the byte count and the payload
 * stays 64-byte aligned:  | gnti_block | pad to 64 | payload ... |
 */
#include "base/alloc.h"

#include "base/pool.h"

#include <stdatomic.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAD_BYTES = 64, ALIGN_BYTES = 64 };
static const size_t HUGE_BYTES = (size_t)2 << 20;

static atomic_llong g_live_blocks, g_num_calls, g_fail_in = -1;
static atomic_size_t g_live_bytes, g_peak_bytes;
static atomic_bool g_fired;

static void count_bytes(size_t bytes)
{
    const size_t live = atomic_fetch_add(&g_live_bytes, bytes) + bytes;
    size_t peak = atomic_load(&g_peak_bytes);

    while (live > peak && !atomic_compare_exchange_weak(&g_peak_bytes, &peak, live))
        ;
}

/* True when the test hook asks this call to fail. */
static bool must_fail(void)
{
    atomic_fetch_add(&g_num_calls, 1);
    if (atomic_load(&g_fail_in) < 0)
        return false;
    if (atomic_fetch_sub(&g_fail_in, 1) != 0)
        return false;
    atomic_store(&g_fired, true);
    return true;
}

bool gnti_alloc_fail_at(int64_t k)
{
    const bool fired = atomic_exchange(&g_fired, false);

    atomic_store(&g_fail_in, k);
    return fired;
}

gnt_status gnti_alloc_bytes(void **out, size_t bytes)
{
    gnt_status st = GNT_OK;
    size_t total;
    gnti_block *block = NULL;

    GNT_TRY(gnti_add_size(bytes, HEAD_BYTES + ALIGN_BYTES - 1, &total));
    total &= ~(size_t)(ALIGN_BYTES - 1);
    if (!must_fail())
        block = gnti_block_take(total);
    GNT_CHECK(block != NULL, GNT_ERR_NOMEM, "cannot allocate %zu bytes of host memory", bytes);
    block->bytes = bytes;
    atomic_fetch_add(&g_live_blocks, 1);
    count_bytes(bytes);
    *out = (char *)block + HEAD_BYTES;
done:
    return st;
}

gnt_status gnti_calloc_bytes(void **out, size_t bytes)
{
    gnt_status st = GNT_OK;
    void *block = NULL;

    GNT_TRY(gnti_alloc_bytes(&block, bytes));
    memset(block, 0, bytes);
    *out = block;
done:
    return st;
}

static gnti_block *head_of(void *payload)
{
    return (gnti_block *)(void *)((char *)payload - HEAD_BYTES);
}

gnt_status gnti_realloc_bytes(void **block, size_t bytes)
{
    gnt_status st = GNT_OK;
    void *fresh = NULL;

    GNT_TRY(gnti_alloc_bytes(&fresh, bytes));
    if (*block != NULL) {
        const size_t old = head_of(*block)->bytes;

        memcpy(fresh, *block, old < bytes ? old : bytes);
        gnti_free(*block);
    }
    *block = fresh;
done:
    return st;
}

gnt_status gnti_strdup(char **out, const char *text)
{
    gnt_status st = GNT_OK;
    void *copy = NULL;

    GNT_TRY(gnti_alloc_bytes(&copy, strlen(text) + 1));
    memcpy(copy, text, strlen(text) + 1);
    *out = copy;
done:
    return st;
}

void gnti_free(void *block)
{
    if (block == NULL)
        return;
    atomic_fetch_sub(&g_live_blocks, 1);
    atomic_fetch_sub(&g_live_bytes, head_of(block)->bytes);
    gnti_block_give(head_of(block));
}

gnt_status gnti_array_bytes(void **out, int64_t count, size_t item_bytes, bool zero)
{
    gnt_status st = GNT_OK;
    size_t bytes;

    GNT_CHECK(count >= 0, GNT_ERR_ARG, "array of %lld items", (long long)count);
    GNT_TRY(gnti_mul_size((size_t)count, item_bytes, &bytes));
    GNT_TRY(zero ? gnti_calloc_bytes(out, bytes) : gnti_alloc_bytes(out, bytes));
done:
    return st;
}

gnt_status gnti_array_resize(void **block, int64_t count, size_t item_bytes)
{
    gnt_status st = GNT_OK;
    size_t bytes;

    GNT_CHECK(count >= 0, GNT_ERR_ARG, "array of %lld items", (long long)count);
    GNT_TRY(gnti_mul_size((size_t)count, item_bytes, &bytes));
    GNT_TRY(gnti_realloc_bytes(block, bytes));
done:
    return st;
}

gnt_status gnti_reserve_bytes(char **buffer, size_t *held, size_t bytes)
{
    gnt_status st = GNT_OK;
    char *fresh = NULL;

    if (bytes <= *held)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&fresh, (int64_t)bytes));
    gnti_free(*buffer);
    *buffer = fresh;
    *held = bytes;
done:
    return st;
}

gnt_status gnti_array_grow(void **block, int64_t *capacity, int64_t need, size_t item_bytes)
{
    gnt_status st = GNT_OK;
    int64_t next = gnti_max_i64(*capacity, 8);

    if (need <= *capacity)
        return GNT_OK;
    while (next < need) {
        GNT_CHECK(next <= INT64_MAX / 2, GNT_ERR_LIMIT, "array of %lld items is too long", (long long)need);
        next *= 2;
    }
    GNT_TRY(gnti_array_resize(block, next, item_bytes));
    *capacity = next;
done:
    return st;
}

gnt_status gnti_pages_alloc(size_t bytes, void **out)
{
    gnt_status st = GNT_OK;
    size_t total;
    void *pages = NULL;

    GNT_TRY(gnti_add_size(bytes, HUGE_BYTES - 1, &total));
    total = bytes < HUGE_BYTES ? gnti_round_up(bytes + 1, 4096) : gnti_round_up(bytes, HUGE_BYTES);
    if (!must_fail())
        pages = aligned_alloc(bytes < HUGE_BYTES ? 4096 : HUGE_BYTES, total);
    GNT_CHECK(pages != NULL, GNT_ERR_NOMEM, "cannot allocate %zu bytes of host memory", bytes);
    if (bytes >= HUGE_BYTES)
        (void)madvise(pages, total, MADV_HUGEPAGE); /* a hint: ordinary pages do as well */
    memset(pages, 0, total);
    atomic_fetch_add(&g_live_blocks, 1);
    count_bytes(bytes);
    *out = pages;
done:
    return st;
}

void gnti_pages_free(void *pages, size_t bytes)
{
    if (pages == NULL)
        return;
    atomic_fetch_sub(&g_live_blocks, 1);
    atomic_fetch_sub(&g_live_bytes, bytes);
    free(pages);
}

void gnti_alloc_get_stats(gnti_alloc_stats *out)
{
    out->live_blocks = atomic_load(&g_live_blocks);
    out->num_calls = atomic_load(&g_num_calls);
    out->live_bytes = atomic_load(&g_live_bytes);
    out->peak_bytes = atomic_load(&g_peak_bytes);
}

void gnti_alloc_reset_peak(void)
{
    atomic_store(&g_peak_bytes, atomic_load(&g_live_bytes));
}

void gnti_alloc_poison(void)
{
    enum { CACHED = 7, LARGEST = 1032, STEP = 16, HEADER = 8, PATTERN = 0x5a };

    mallopt(M_PERTURB, PATTERN);
    for (size_t bytes = STEP; bytes <= LARGEST; bytes += STEP)
        for (int i = 0; i < CACHED; i++) {
            void *leaked = malloc(bytes - HEADER);

            __asm__ volatile("" : : "r"(leaked) : "memory"); /* not to be optimised away */
        }
}
