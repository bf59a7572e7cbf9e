/* SPDX-License-Identifier: Apache-2.0 */
/* Growing strings and strict numbers.
 *
 * Doubles: up to 19 digits with a power of ten within +-22 are exact in one multiplication or division when
 * the digits fit 2^53 (Clinger 1990); everything else goes to strtod_l with the C locale, which is a static
 * object in libc.
 */
#include "base/text.h"

#include "base/alloc.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(gnti_text *t, size_t more)
{
    if (t->status == GNT_OK && more > (size_t)(INT64_MAX - t->length - 1))
        t->status =
            gnti_error_set(GNT_ERR_LIMIT, __FILE__, __LINE__, __func__, "text of %zu more bytes", more);
    if (t->status == GNT_OK)
        t->status = gnti_grow_array(&t->data, &t->capacity, t->length + (int64_t)more + 1);
    return t->status == GNT_OK;
}

void gnti_text_append_bytes(gnti_text *t, const char *bytes, size_t length)
{
    if (!reserve(t, length))
        return;
    memcpy(t->data + t->length, bytes, length);
    t->length += (int64_t)length;
    t->data[t->length] = '\0';
}

void gnti_text_append(gnti_text *t, const char *piece)
{
    gnti_text_append_bytes(t, piece, strlen(piece));
}

void gnti_text_vprintf(gnti_text *t, const char *format, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = vsnprintf(NULL, 0, format, args);
    if (n < 0 && t->status == GNT_OK)
        t->status = gnti_error_set(GNT_ERR_INTERNAL, __FILE__, __LINE__, __func__, "bad format '%s'", format);
    else if (n >= 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->data + t->length, (size_t)n + 1, format, again);
        t->length += n;
    }
    va_end(again);
}

void gnti_text_printf(gnti_text *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    gnti_text_vprintf(t, format, args);
    va_end(args);
}

gnt_status gnti_text_take(gnti_text *t, char **out)
{
    gnt_status st = GNT_OK;

    if (t->data == NULL)
        gnti_text_append(t, "");
    GNT_TRY(t->status);
    *out = t->data;
    *t = (gnti_text){ 0 };
done:
    gnti_text_free(t);
    return st;
}

void gnti_text_free(gnti_text *t)
{
    gnti_free(t->data);
    *t = (gnti_text){ 0 };
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

void gnti_trim(const char **begin, const char **end)
{
    while (*begin < *end && is_blank(**begin))
        ++*begin;
    while (*begin < *end && is_blank((*end)[-1]))
        --*end;
}

gnti_parse gnti_parse_int64(const char *token, size_t length, int64_t *out)
{
    const char *p = token, *end = token + length;
    const bool minus = length > 0 && *p == '-';
    int64_t value = 0; /* kept negative: that side holds one value more */
    bool fits = true;

    if (length > 0 && (*p == '-' || *p == '+'))
        p++;
    if (p == end)
        return GNTI_PARSE_BAD;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9')
            return GNTI_PARSE_BAD;
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_sub_overflow(value, *p - '0', &value);
    }
    if (!fits || (!minus && value == INT64_MIN))
        return GNTI_PARSE_RANGE;
    *out = minus ? value : -value;
    return GNTI_PARSE_OK;
}

/* What a decimal number is made of, after the sign: digits, how far the point moves them, whether all were
 * kept. */
typedef struct decimal {
    uint64_t digits;
    int num_digits, exponent;
    bool kept_all;
} decimal;

static const char *scan_digits(const char *p, const char *end, decimal *d, int moves)
{
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        d->kept_all = d->kept_all && d->digits < UINT64_MAX / 10 - 1;
        if (d->kept_all)
            d->digits = d->digits * 10 + (uint64_t)(*p - '0');
        d->num_digits++;
        d->exponent -= moves;
    }
    return p;
}

/* True when all bytes are one plain decimal number. */
static bool scan_decimal(const char *p, const char *end, decimal *d)
{
    int64_t exponent = 0;
    gnti_parse parsed;

    p = scan_digits(p, end, d, 0);
    if (p < end && *p == '.')
        p = scan_digits(p + 1, end, d, 1);
    if (d->num_digits == 0)
        return false;
    if (p == end)
        return true;
    if (*p != 'e' && *p != 'E')
        return false;
    parsed = gnti_parse_int64(p + 1, (size_t)(end - p - 1), &exponent);
    if (parsed == GNTI_PARSE_BAD)
        return false;
    if (parsed == GNTI_PARSE_RANGE || exponent < -100000 || exponent > 100000)
        d->kept_all = false; /* strtod answers 0 or infinity */
    else
        d->exponent += (int)exponent;
    return true;
}

static gnti_parse parse_slowly(const char *token, size_t length, double *out)
{
    char copy[512];
    char *end = NULL;
    locale_t c;
    double value;

    if (length >= sizeof copy)
        return GNTI_PARSE_BAD;
    memcpy(copy, token, length);
    copy[length] = '\0';
    c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return GNTI_PARSE_BAD;
    value = strtod_l(copy, &end, c);
    freelocale(c);
    if (end != copy + length)
        return GNTI_PARSE_BAD;
    if (isinf(value))
        return GNTI_PARSE_RANGE;
    *out = value;
    return GNTI_PARSE_OK;
}

static bool is_word(const char *p, size_t length, const char *word)
{
    size_t i = 0;

    for (; i < length && word[i] != '\0'; i++)
        if ((p[i] | 0x20) != word[i])
            return false;
    return i == length && word[i] == '\0';
}

gnti_parse gnti_parse_double(const char *token, size_t length, double *out)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    const bool signed_ = length > 0 && (*token == '-' || *token == '+');
    const char *p = token + signed_;
    const size_t rest = length - signed_;
    const double sign = signed_ && *token == '-' ? -1.0 : 1.0;
    decimal d = { .kept_all = true };

    if (is_word(p, rest, "nan")) {
        *out = (double)NAN;
        return GNTI_PARSE_OK;
    }
    if (is_word(p, rest, "inf") || is_word(p, rest, "infinity")) {
        *out = sign * (double)INFINITY;
        return GNTI_PARSE_OK;
    }
    if (!scan_decimal(p, token + length, &d))
        return GNTI_PARSE_BAD;
    if (!d.kept_all || d.digits > (1ull << 53) || d.exponent < -22 || d.exponent > 22)
        return parse_slowly(token, length, out);
    *out = sign *
           (d.exponent < 0 ? (double)d.digits / powers[-d.exponent] : (double)d.digits * powers[d.exponent]);
    return GNTI_PARSE_OK;
}

static void write_number(double value, int precision, char out[GNTI_NUMBER_BYTES])
{
    snprintf(out, GNTI_NUMBER_BYTES, "%.*g", precision, value);
    for (char *p = out; *p != '\0'; p++)
        if (*p == ',')
            *p = '.'; /* the program's locale may have a decimal comma */
}

void gnti_format_double(double value, char out[GNTI_NUMBER_BYTES])
{
    double back = 0.0;

    for (int precision = 6; precision <= 17; precision++) {
        write_number(value, precision, out);
        if (isnan(value) || (gnti_parse_double(out, strlen(out), &back) == GNTI_PARSE_OK && !(back < value) &&
                             !(back > value)))
            return;
    }
}

void gnti_format_float(float value, char out[GNTI_NUMBER_BYTES])
{
    double back = 0.0;

    for (int precision = 6; precision <= 9; precision++) {
        write_number((double)value, precision, out);
        if (isnan(value) || (gnti_parse_double(out, strlen(out), &back) == GNTI_PARSE_OK &&
                             !((float)back < value) && !((float)back > value)))
            return;
    }
}

/* Bytes of the character at p, 0 when it is none: too long a form, a surrogate, beyond U+10FFFF, cut, zero. */
static size_t character_bytes(const unsigned char *p, size_t room)
{
    static const uint32_t least[] = { 0, 1, 0x80, 0x800, 0x10000 };
    const size_t length = p[0] < 0x80   ? 1
                          : p[0] < 0xc0 ? 0
                          : p[0] < 0xe0 ? 2
                          : p[0] < 0xf0 ? 3
                          : p[0] < 0xf8 ? 4
                                        : 0;
    uint32_t code = length > 1 ? p[0] & (0x7fu >> length) : p[0];

    if (length > room)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

bool gnti_is_utf8(const char *text, size_t length)
{
    size_t bytes;

    for (size_t at = 0; at < length; at += bytes) {
        bytes = character_bytes((const unsigned char *)text + at, length - at);
        if (bytes == 0)
            return false;
    }
    return true;
}

void gnti_make_utf8(char *text)
{
    const size_t length = strlen(text);
    size_t bytes;

    for (size_t at = 0; at<length; at += bytes> 0 ? bytes : 1) {
        bytes = character_bytes((unsigned char *)text + at, length - at);
        if (bytes == 0)
            text[at] = '?';
    }
}
