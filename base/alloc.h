/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory: the one way to get and give back heap memory in the library.
 *
 * Blocks are 64-byte aligned and counted. A test can make the k-th allocation fail (brutal tests) and ask how many
 * blocks are alive. Pages of large tensors come from gnti_pages_alloc: 2 MiB aligned, madvise(MADV_HUGEPAGE),
 * zeroed, with a silent fallback to ordinary pages.
 */
#ifndef GNTI_BASE_ALLOC_H
#define GNTI_BASE_ALLOC_H

#include "base/check.h"
#include "base/size.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `bytes` uninitialised (calloc: zeroed) bytes; 0 bytes give a valid pointer. ERR_NOMEM names the size. */
gnt_status gnti_alloc_bytes(void **out, size_t bytes);
gnt_status gnti_calloc_bytes(void **out, size_t bytes);
gnt_status gnti_realloc_bytes(void **block, size_t bytes); /* keeps *block when it fails */
gnt_status gnti_strdup(char **out, const char *text);
void gnti_free(void *block); /* NULL is fine */

/* Typed arrays: gnti_alloc_array(&p, n) sizes by *p, checks the product, writes p on success only. */
#define gnti_alloc_array(ptr, count)   gnti_array_bytes((void **)(void *)(ptr), (count), sizeof **(ptr), false)
#define gnti_calloc_array(ptr, count)  gnti_array_bytes((void **)(void *)(ptr), (count), sizeof **(ptr), true)
#define gnti_realloc_array(ptr, count) gnti_array_resize((void **)(void *)(ptr), (count), sizeof **(ptr))
gnt_status gnti_array_bytes(void **out, int64_t count, size_t item_bytes, bool zero);
gnt_status gnti_array_resize(void **block, int64_t count, size_t item_bytes);

/* Makes room for `need` items in a growing array: doubles *capacity, at least 16. */
#define gnti_grow_array(ptr, capacity, need)                                                                 \
    gnti_array_grow((void **)(void *)(ptr), (capacity), (need), sizeof **(ptr))
gnt_status gnti_array_grow(void **block, int64_t *capacity, int64_t need, size_t item_bytes);

/* A buffer of at least so many bytes, whose contents are not kept when it is made anew; *held is what it has. */
gnt_status gnti_reserve_bytes(char **buffer, size_t *held, size_t bytes);

/* Big zeroed buffers for tensors, on 2 MiB pages where the system grants them. */
gnt_status gnti_pages_alloc(size_t bytes, void **out);
void gnti_pages_free(void *pages, size_t bytes);

/* Counters of this process: blocks and bytes alive, calls so far, peak of bytes (blocks + pages). */
typedef struct gnti_alloc_stats {
    int64_t live_blocks, num_calls;
    size_t live_bytes, peak_bytes;
} gnti_alloc_stats;
void gnti_alloc_get_stats(gnti_alloc_stats *out);
void gnti_alloc_reset_peak(void);

/* For a process that tries what a foreign library does with doubtful input: from now on new blocks of the C library are filled
 * with a pattern, and its cache of small blocks, which it would hand out as they are, is emptied (and leaks). */
void gnti_alloc_poison(void);

/* Test hook: the k-th call from now (0: the next) fails once with ERR_NOMEM; -1 switches it off. Answers whether
 * the hook set before has fired. Counts calls of all threads. */
bool gnti_alloc_fail_at(int64_t k);

#endif
