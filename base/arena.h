/* SPDX-License-Identifier: Apache-2.0 */
/* Arena: many small objects that die together. Mark and release; the first failure sticks, so that whoever
 * records into an arena checks once. Under AddressSanitizer the bytes between and behind objects are
 * poisoned.
 */
#ifndef GNTI_BASE_ARENA_H
#define GNTI_BASE_ARENA_H

#include "base/check.h"

#include <stddef.h>
#include <stdint.h>

typedef struct gnti_arena gnti_arena;

/* Where an arena stood; release frees all that came later. */
typedef struct gnti_arena_mark {
    const void *chunk;
    size_t used;
} gnti_arena_mark;

gnt_status gnti_arena_create(gnti_arena **out);
void gnti_arena_free(gnti_arena **arena);

/* Zeroed, 16-byte aligned; NULL once anything has failed. */
void *gnti_arena_alloc(gnti_arena *arena, size_t bytes);
void *gnti_arena_array(gnti_arena *arena, int64_t count, size_t item_bytes);
char *gnti_arena_strdup(gnti_arena *arena, const char *text);

/* The first failure, with its text as the newest error. */
gnt_status gnti_arena_status(const gnti_arena *arena);

gnti_arena_mark gnti_arena_get_mark(const gnti_arena *arena);
void gnti_arena_release(gnti_arena *arena, gnti_arena_mark mark);

#endif
