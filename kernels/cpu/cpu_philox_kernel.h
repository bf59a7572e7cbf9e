/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 on 16 counters at once, for the kernels of a level: its file defines KERNEL and, where it has them, the
 * rounds by hand (PHILOX_ROUNDS), then includes this. */
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/cpu_math.h"

#define LANES 16
#define SIMD  _Pragma("omp simd")

/* Ten rounds of Philox 4x32 on 16 counters at once. */
KERNEL CPU_INLINE void philox_lanes(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3,
                                    gnti_philox_key key)
{
#if defined(PHILOX_ROUNDS)
    PHILOX_ROUNDS(c0, c1, c2, c3, key);
#else
    for (int round = 0; round < 10; round++) {
        SIMD for (int i = 0; i < LANES; i++)
        {
            const uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            const uint32_t low1 = (uint32_t)p1, low0 = (uint32_t)p0;

            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ key.k0;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ key.k1;
            c1[i] = low1;
            c3[i] = low0;
        }
        key.k0 += 0x9E3779B9u;
        key.k1 += 0xBB67AE85u;
    }
#endif
}
