/* SPDX-License-Identifier: Apache-2.0 */
/* Philox keys and single words: the parts of philox.h that no inner loop needs inline.
 *
 * Layouts are those of the header's head comment. A member's key comes from Philox itself, so a member drawn
 * alone and the same member among others see equal numbers.
 */
#include "base/philox.h"

gnti_philox_key gnti_member_key(uint64_t seed, int32_t member)
{
    const uint32_t memb = 0x4D454D42u; /* "MEMB" */
    const uint32_t counter[4] = { (uint32_t)member, 0, 0, memb };
    uint32_t out[4];

    gnti_philox(counter, gnti_seed_key(seed), out);
    return (gnti_philox_key){ out[0], out[1] };
}

uint32_t gnti_draw_word(gnti_philox_key key, gnti_draw_kind kind, uint32_t ordinal, uint32_t step, int64_t id,
                        uint32_t column)
{
    uint32_t out[4];

    gnti_draw_quad(key, kind, ordinal, step, id, column >> 2, out);
    return out[column & 3];
}

uint32_t gnti_draw_init(gnti_philox_key key, uint64_t name_hash, uint32_t row, uint32_t column)
{
    const uint32_t high = (uint32_t)(name_hash >> 32) & 0x0fffffffu;
    const uint32_t counter[4] = { column >> 2, row, (uint32_t)GNTI_DRAW_INIT << 28 | high,
                                  (uint32_t)name_hash };
    uint32_t out[4];

    gnti_philox(counter, key, out);
    return out[column & 3];
}

uint64_t gnti_fnv1a(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text != '\0'; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}
