/* SPDX-License-Identifier: Apache-2.0 */
/* How small functions of headers are declared. Some headers are also compiled for another processor than the host (random
 * numbers, the step block, elementary functions): a file that does so defines these words first.
 */
#ifndef GNTI_BASE_INLINE_H
#define GNTI_BASE_INLINE_H

#ifndef GNTI_INLINE
#define GNTI_INLINE static inline
#endif
#ifndef GNTI_INLINE_ALWAYS
#define GNTI_INLINE_ALWAYS static inline __attribute__((always_inline))
#endif

#endif
