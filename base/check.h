/* SPDX-License-Identifier: Apache-2.0 */
/* The four flow macros. Each needs a local `gnt_status st` and the one label `done`; no other macro of the house
 * contains goto or return. GNT_TRY passes a failure on with a trace line, GNT_FAIL starts one, GNT_CHECK starts
 * one unless a condition holds (the caller's mistakes and bad data, always on), GNT_ASSERT is for our own bugs.
 */
#ifndef GNTI_BASE_CHECK_H
#define GNTI_BASE_CHECK_H

#include "base/error.h"

#undef GNT_TRY /* the plain one of gnntrain.h */
#define GNT_TRY(call)                                                                                        \
    do {                                                                                                     \
        st = (call);                                                                                         \
        if (st != GNT_OK) {                                                                                  \
            gnti_error_trace(__FILE__, __LINE__, __func__);                                                  \
            goto done;                                                                                       \
        }                                                                                                    \
    } while (0)

#define GNT_FAIL(code, ...)                                                                                  \
    do {                                                                                                     \
        st = gnti_error_set((code), __FILE__, __LINE__, __func__, __VA_ARGS__);                              \
        goto done;                                                                                           \
    } while (0)

#define GNT_CHECK(cond, code, ...)                                                                           \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            GNT_FAIL((code), __VA_ARGS__);                                                                   \
    } while (0)

#if defined(GNT_DEBUG)
#define GNT_ASSERT(cond)                                                                                     \
    do {                                                                                                     \
        if (!(cond))                                                                                         \
            gnti_assert_failed(#cond, __FILE__, __LINE__, __func__);                                         \
    } while (0)
#else
#define GNT_ASSERT(cond) ((void)sizeof(!(cond)))
#endif

#endif
