/* SPDX-License-Identifier: Apache-2.0 */
/* Marks bytes of live blocks that nobody may touch; only AddressSanitizer reports a touch. */
#ifndef GNTI_BASE_POISON_H
#define GNTI_BASE_POISON_H

#if defined(__SANITIZE_ADDRESS__)
#define GNTI_HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GNTI_HAS_ASAN 1
#endif
#endif
#if defined(GNTI_HAS_ASAN)
#include <sanitizer/asan_interface.h>
#define GNTI_POISON(from, bytes)   __asan_poison_memory_region((from), (bytes))
#define GNTI_UNPOISON(from, bytes) __asan_unpoison_memory_region((from), (bytes))
#else
#define GNTI_POISON(from, bytes)   ((void)(from), (void)(bytes))
#define GNTI_UNPOISON(from, bytes) ((void)(from), (void)(bytes))
#endif

#endif
