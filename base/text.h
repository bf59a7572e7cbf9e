/* SPDX-License-Identifier: Apache-2.0 */
/* Text: a growing string, trims, strict numbers.
 *
 * A gnti_text starts as {0}; appends cannot fail visibly, the first failure sticks and gnti_text_take tells
 * of it, so a writer of many pieces checks once. Numbers are read and written in the C locale whatever the
 * program's is.
 */
#ifndef GNTI_BASE_TEXT_H
#define GNTI_BASE_TEXT_H

#include "base/check.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gnti_text {
    char *data; /* zero-terminated, NULL while empty */
    int64_t length, capacity;
    gnt_status status; /* of the first append that failed */
} gnti_text;

void gnti_text_append(gnti_text *t, const char *piece);
void gnti_text_append_bytes(gnti_text *t, const char *bytes, size_t length);
void gnti_text_printf(gnti_text *t, const char *format, ...) GNT_PRINTF(2, 3);
void gnti_text_vprintf(gnti_text *t, const char *format, va_list args);

/* Hands the string over (never NULL on success, give it to gnti_free); on failure nothing is left to free. */
gnt_status gnti_text_take(gnti_text *t, char **out);
void gnti_text_free(gnti_text *t);

/* Whether all of it is UTF-8 without zero bytes. */
bool gnti_is_utf8(const char *text, size_t length);

/* Puts a '?' over each byte of a string that is no UTF-8. */
void gnti_make_utf8(char *text);

/* Moves begin and end inwards over spaces, tabs, CR and LF. */
void gnti_trim(const char **begin, const char **end);

/* Reading one number from `length` bytes, all of which must belong to it ("+1" and "-1" are fine, " 1" is
 * not). RANGE: a number that int64_t or double cannot hold. No error record: the caller knows file and line.
 */
typedef enum gnti_parse { GNTI_PARSE_OK, GNTI_PARSE_BAD, GNTI_PARSE_RANGE } gnti_parse;
gnti_parse gnti_parse_int64(const char *token, size_t length, int64_t *out);
gnti_parse gnti_parse_double(const char *token, size_t length,
                             double *out); /* also nan, inf; never hexadecimal */

/* The shortest text that reads back to the same value: "0.1", never "0.10000000000000001". */
enum { GNTI_NUMBER_BYTES = 32 };
void gnti_format_double(double value, char out[GNTI_NUMBER_BYTES]);
void gnti_format_float(float value, char out[GNTI_NUMBER_BYTES]);

#endif
