/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011).
 *
 * A number is a function of (member key, kind, ordinal, step, global id, column) and of nothing else. The layout of
 * the counters is a promise as strong as a file format (GNTI_PHILOX_LAYOUT): a change breaks resume.
 *   node draws  c0 = column >> 2, c1 = id low 32, c2 = kind << 28 | ordinal << 16 | id bits 32..47, c3 = step; word column & 3
 *   arc draws   c0, c1 = low 32 of source, destination, c2 = kind << 28 | (head >> 2) << 24 | ordinal << 12 | bits 32..37 of
 *               source << 6 | of destination, c3 = step; word head & 3. So at most 64 heads and 2^38 nodes
 *   initial     c0 = column >> 2, c1 = row, c2 = kind << 28 | bits 32..59 of h, c3 = low 32 of h, h = FNV-1a of the name
 */
#ifndef GNTI_BASE_PHILOX_H
#define GNTI_BASE_PHILOX_H

#include "base/inline.h"

#include <stdint.h>

enum { GNTI_PHILOX_LAYOUT = 1 };

typedef enum gnti_draw_kind {
    GNTI_DRAW_INIT = 0,
    GNTI_DRAW_DROPOUT,
    GNTI_DRAW_ARC_DROP,
    GNTI_DRAW_SAMPLE,
    GNTI_DRAW_PERMUTE,
    GNTI_DRAW_QUANTISE,
    GNTI_DRAW_SPLIT,
    GNTI_DRAW_GENERATE,
    GNTI_DRAW_OPTIMISER
} gnti_draw_kind;

typedef struct gnti_philox_key {
    uint32_t k0, k1;
} gnti_philox_key;

GNTI_INLINE void gnti_philox(const uint32_t counter[4], gnti_philox_key key, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];

    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;

        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ key.k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ key.k1;
        c3 = (uint32_t)p0;
        key.k0 += 0x9E3779B9u;
        key.k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The key of member m of a run: words 0, 1 of Philox(counter (m, 0, 0, "MEMB"), key = the run's seed). */
gnti_philox_key gnti_member_key(uint64_t seed, int32_t member);

/* The key of host-side draws (splits, generators) of a seed: the seed itself. */
GNTI_INLINE gnti_philox_key gnti_seed_key(uint64_t seed)
{
    const gnti_philox_key key = { (uint32_t)seed, (uint32_t)(seed >> 32) };

    return key;
}

/* Four words of a node draw: columns 4 * quad .. 4 * quad + 3 of global row id at a step. */
GNTI_INLINE void gnti_draw_quad(gnti_philox_key key, gnti_draw_kind kind, uint32_t ordinal, uint32_t step,
                                int64_t id, uint32_t quad, uint32_t out[4])
{
    const uint32_t counter[4] = { quad, (uint32_t)id,
                                  (uint32_t)kind << 28 | ordinal << 16 |
                                      ((uint32_t)((uint64_t)id >> 32) & 0xffffu),
                                  step };

    gnti_philox(counter, key, out);
}

/* One word of a node draw. */
uint32_t gnti_draw_word(gnti_philox_key key, gnti_draw_kind kind, uint32_t ordinal, uint32_t step, int64_t id,
                        uint32_t column);

/* One word of an initial value of the parameter whose full name ("2.w1") hashes to name_hash. */
uint32_t gnti_draw_init(gnti_philox_key key, uint64_t name_hash, uint32_t row, uint32_t column);

uint64_t gnti_fnv1a(const char *text);

/* Uniform in [0, 1) with 24 bits; integer below k; drop threshold floor(p 2^32): keep when word >= threshold. */
GNTI_INLINE float gnti_uniform(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

GNTI_INLINE uint32_t gnti_below(uint32_t word, uint32_t k)
{
    return (uint32_t)(((uint64_t)word * k) >> 32);
}

GNTI_INLINE uint64_t gnti_drop_threshold(float p)
{
    return (uint64_t)((double)p * 4294967296.0);
}

#endif
