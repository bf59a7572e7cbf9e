/* SPDX-License-Identifier: Apache-2.0 */
/* A list of chunks, newest first, each filled from its start:
 *
 *     | head | object, pad to 16, red zone 16 | object ... | unused (poisoned) |
 *
 * A chunk holds 16 KiB or one larger object. Release frees whole chunks and moves the fill mark back. Red
 * zones exist in every build, so that sizes do not depend on it; only AddressSanitizer reports a touch.
 */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/poison.h"

#include <string.h>

enum { CHUNK_BYTES = 16 * 1024, ALIGN_BYTES = 16, RED_ZONE_BYTES = 16 };

typedef struct chunk {
    struct chunk *older;
    size_t capacity, used; /* of the bytes behind this head */
} chunk;

struct gnti_arena {
    chunk *newest;
    gnti_error_record failure; /* code GNT_OK: none yet */
};

/* The head rounded to the alignment of objects. */
static char *payload(chunk *c)
{
    return (char *)c + gnti_round_up(sizeof *c, ALIGN_BYTES);
}

gnt_status gnti_arena_create(gnti_arena **out)
{
    gnt_status st = GNT_OK;
    gnti_arena *a = NULL;

    GNT_TRY(gnti_calloc_array(&a, 1));
    *out = a;
done:
    return st;
}

static void drop_newest(gnti_arena *arena)
{
    chunk *c = arena->newest;

    arena->newest = c->older;
    GNTI_UNPOISON(payload(c), c->capacity);
    gnti_free(c);
}

void gnti_arena_free(gnti_arena **arena)
{
    if (*arena == NULL)
        return;
    while ((*arena)->newest != NULL)
        drop_newest(*arena);
    gnti_free(*arena);
    *arena = NULL;
}

static gnt_status add_chunk(gnti_arena *arena, size_t need)
{
    gnt_status st = GNT_OK;
    const size_t capacity = need > CHUNK_BYTES ? need : CHUNK_BYTES;
    void *block = NULL;
    chunk *c;
    size_t total;

    GNT_TRY(gnti_add_size(capacity, gnti_round_up(sizeof *c, ALIGN_BYTES), &total));
    GNT_TRY(gnti_alloc_bytes(&block, total));
    c = block;
    *c = (chunk){ .older = arena->newest, .capacity = capacity };
    GNTI_POISON(payload(c), capacity);
    arena->newest = c;
done:
    return st;
}

static gnt_status take(gnti_arena *arena, size_t bytes, void **out)
{
    gnt_status st = GNT_OK;
    size_t need;
    chunk *c;

    GNT_TRY(gnti_add_size(bytes, ALIGN_BYTES + RED_ZONE_BYTES, &need));
    need &= ~(size_t)(ALIGN_BYTES - 1);
    if (arena->newest == NULL || arena->newest->capacity - arena->newest->used < need)
        GNT_TRY(add_chunk(arena, need));
    c = arena->newest;
    *out = payload(c) + c->used;
    c->used += need;
    GNTI_UNPOISON(*out, bytes);
    memset(*out, 0, bytes);
done:
    return st;
}

void *gnti_arena_alloc(gnti_arena *arena, size_t bytes)
{
    void *block = NULL;

    if (arena->failure.code != GNT_OK)
        return NULL;
    if (take(arena, bytes, &block) != GNT_OK)
        arena->failure = *gnti_error_get();
    return block;
}

void *gnti_arena_array(gnti_arena *arena, int64_t count, size_t item_bytes)
{
    size_t bytes = 0;

    if (arena->failure.code != GNT_OK)
        return NULL;
    if (count < 0 || gnti_mul_size((size_t)count, item_bytes, &bytes) != GNT_OK) {
        gnti_error_set(GNT_ERR_LIMIT, __FILE__, __LINE__, __func__, "array of %lld items of %zu bytes",
                       (long long)count, item_bytes);
        arena->failure = *gnti_error_get();
        return NULL;
    }
    return gnti_arena_alloc(arena, bytes);
}

char *gnti_arena_strdup(gnti_arena *arena, const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = gnti_arena_alloc(arena, bytes);

    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

gnt_status gnti_arena_status(const gnti_arena *arena)
{
    return arena->failure.code == GNT_OK ? GNT_OK : gnti_error_adopt(&arena->failure);
}

gnti_arena_mark gnti_arena_get_mark(const gnti_arena *arena)
{
    return (gnti_arena_mark){ .chunk = arena->newest,
                              .used = arena->newest == NULL ? 0 : arena->newest->used };
}

void gnti_arena_release(gnti_arena *arena, gnti_arena_mark mark)
{
    while (arena->newest != NULL && (const void *)arena->newest != mark.chunk)
        drop_newest(arena);
    if (arena->newest != NULL) {
        GNTI_POISON(payload(arena->newest) + mark.used, arena->newest->capacity - mark.used);
        arena->newest->used = mark.used;
    }
}
