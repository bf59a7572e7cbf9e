/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and tokens. The buffer holds whole lines: when a line is cut at its end, what there is of it moves to
 * the front and the next block follows; a line longer than the buffer doubles it, up to MAX_LINE. One memchr
 * a line, then one look at each character.
 */
#include "datasets/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { START_BYTES = 1 << 19 };
static const size_t MAX_LINE = (size_t)1 << 28;

gnt_status gnti_reader_from_source(gnti_byte_source *source, gnti_reader *out)
{
    gnt_status st = GNT_OK;
    gnti_reader r = { .source = source, .capacity = START_BYTES, .line = NULL };

    GNT_TRY(gnti_alloc_array(&r.buffer, START_BYTES + 1));
    r.line = r.buffer;
    r.line[0] = '\0';
    r.cursor = r.line;
    *out = r;
done:
    return st;
}

gnt_status gnti_reader_open(const char *path, gnti_reader *out)
{
    gnt_status st = GNT_OK;
    gnti_byte_source *source = NULL;

    GNT_TRY(gnti_byte_source_open(path, &source));
    GNT_CHECK(!gnti_byte_source_is_zip(source), GNT_ERR_FORMAT,
              "'%s' is a zip archive where a text was expected", path);
    GNT_TRY(gnti_reader_from_source(source, out));
    out->owns_source = true;
    source = NULL; /* handed over */
done:
    gnti_byte_source_free(&source);
    return st;
}

void gnti_reader_close(gnti_reader *reader)
{
    if (reader->owns_source)
        gnti_byte_source_free(&reader->source);
    gnti_free(reader->buffer);
    memset(reader, 0, sizeof *reader);
}

/* Moves the rest to the front and appends a block; sets ended when there is none. */
static gnt_status refill(gnti_reader *r)
{
    gnt_status st = GNT_OK;
    const char *block = NULL;
    size_t bytes = 0;

    GNT_TRY(gnti_byte_source_next(r->source, &block, &bytes));
    if (bytes == 0) {
        r->ended = true;
        goto done;
    }
    if (r->at > 0) {
        memmove(r->buffer, r->buffer + r->at, r->filled - r->at);
        r->filled -= r->at;
        r->at = 0;
    }
    if (r->filled + bytes > r->capacity) {
        size_t capacity = r->capacity;

        while (capacity < r->filled + bytes)
            capacity *= 2;
        GNT_CHECK(capacity <= MAX_LINE, GNT_ERR_FORMAT, "file '%s', line %lld: longer than %zu bytes",
                  gnti_byte_source_name(r->source), (long long)r->line_number + 1, MAX_LINE);
        GNT_TRY(gnti_realloc_array(&r->buffer, (int64_t)capacity + 1));
        r->capacity = capacity;
    }
    memcpy(r->buffer + r->filled, block, bytes);
    r->filled += bytes;
done:
    return st;
}

/* The end of the line that starts at r->at; NULL: there is no line left. */
static char *find_line_end(gnti_reader *r)
{
    gnt_status st = GNT_OK;
    size_t searched = 0;

    for (;;) {
        char *const start = r->buffer + r->at;
        const size_t rest = r->filled - r->at;
        char *const end = rest > searched ? memchr(start + searched, '\n', rest - searched) : NULL;

        if (end != NULL)
            return end;
        if (r->ended)
            return rest > 0 ? start + rest : NULL;
        searched = rest;
        GNT_TRY(refill(r));
    }
done:
    r->status = st;
    return NULL;
}

static void skip_mark(gnti_reader *r)
{
    if (r->length >= 3 && memcmp(r->line, "\xef\xbb\xbf", 3) == 0) {
        r->line += 3;
        r->length -= 3;
    }
}

bool gnti_reader_next(gnti_reader *reader)
{
    char *end;

    if (reader->status != GNT_OK)
        return false;
    end = find_line_end(reader);
    if (end == NULL)
        return false;
    reader->line = reader->buffer + reader->at;
    reader->length = (size_t)(end - reader->line);
    reader->at = (size_t)(end - reader->buffer);
    reader->at += reader->at < reader->filled; /* the last line may have no end of its own */
    if (reader->length > 0 && reader->line[reader->length - 1] == '\r')
        reader->length--;
    reader->line[reader->length] = '\0';
    reader->line_number++;
    if (reader->line_number == 1)
        skip_mark(reader);
    gnti_reader_rewind_line(reader);
    return true;
}

gnt_status gnti_reader_status(const gnti_reader *reader)
{
    return reader->status;
}

void gnti_reader_rewind_line(gnti_reader *reader)
{
    reader->cursor = reader->line;
    reader->after_comma = false;
}

const char *gnti_reader_rest(const gnti_reader *reader, size_t *length)
{
    *length = reader->filled - reader->at;
    return reader->buffer + reader->at;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool gnti_reader_next_data(gnti_reader *reader, const char *comments)
{
    while (gnti_reader_next(reader)) {
        const char *p = reader->line;

        while (is_blank(*p))
            p++;
        if (p == reader->line + reader->length || (*p != '\0' && strchr(comments, *p) != NULL))
            continue;
        return true;
    }
    return false;
}

bool gnti_reader_token(gnti_reader *reader, gnti_token *token)
{
    const char *const end = reader->line + reader->length;
    const char *p = reader->cursor, *quote = NULL;

    while (is_blank(*p))
        p++;
    if (p == end) {
        const bool empty_last = reader->after_comma;

        reader->after_comma = false;
        reader->cursor = p;
        *token = (gnti_token){ p, 0 };
        return empty_last;
    }
    token->text = p;
    if (*p == '"' &&
        (quote = memchr(p + 1, '"', (size_t)(end - p - 1))) != NULL) { /* never closed: a character */
        token->text = p + 1;
        token->length = (size_t)(quote - token->text);
        p = quote + 1;
    } else {
        while (p < end && *p != ',' && !is_blank(*p))
            p++;
        token->length = (size_t)(p - token->text);
    }
    while (is_blank(*p))
        p++;
    reader->after_comma = p < end && *p == ',';
    reader->cursor = p + reader->after_comma;
    return true;
}

const char *gnti_reader_where(gnti_reader *reader)
{
    snprintf(reader->where, sizeof reader->where, "file '%s', line %lld",
             gnti_byte_source_name(reader->source), (long long)reader->line_number);
    return reader->where;
}

const char *gnti_reader_show(gnti_reader *reader, const gnti_token *token)
{
    const size_t room = sizeof reader->shown - 4;
    const size_t n = token->length < room ? token->length : room;

    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)token->text[i];

        reader->shown[i] = (char)(c < 0x20 || c == 0x7f ? '?' : c);
    }
    memcpy(reader->shown + n, "...", 4);
    if (token->length <= room)
        reader->shown[n] = '\0';
    return reader->shown;
}

gnt_status gnti_reader_check_name(gnti_reader *reader, const char *what, const gnti_token *token)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(token->length > 0, GNT_ERR_FORMAT, "%s: an empty %s", gnti_reader_where(reader), what);
    GNT_CHECK(gnti_is_utf8(token->text, token->length), GNT_ERR_FORMAT,
              "%s: a %s is not UTF-8 text, 'iconv -t UTF-8' converts the file", gnti_reader_where(reader),
              what);
done:
    return st;
}

gnt_status gnti_reader_i64(gnti_reader *reader, const char *what, int64_t *out)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };

    GNT_CHECK(gnti_reader_token(reader, &token), GNT_ERR_FORMAT, "%s: the line ends where a %s was expected",
              gnti_reader_where(reader), what);
    GNT_CHECK(gnti_parse_int64(token.text, token.length, out) == GNTI_PARSE_OK, GNT_ERR_FORMAT,
              "%s: '%s' is no integer within 64 bits, a %s was expected", gnti_reader_where(reader),
              gnti_reader_show(reader, &token), what);
done:
    return st;
}

bool gnti_token_to_float(const gnti_token *token, float *out)
{
    double value;

    if (gnti_parse_double(token->text, token->length, &value) != GNTI_PARSE_OK || !isfinite((float)value))
        return false;
    *out = (float)value;
    return true;
}

gnt_status gnti_reader_float(gnti_reader *reader, const char *what, float *out)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };

    GNT_CHECK(gnti_reader_token(reader, &token), GNT_ERR_FORMAT, "%s: the line ends where a %s was expected",
              gnti_reader_where(reader), what);
    GNT_CHECK(gnti_token_to_float(&token, out), GNT_ERR_FORMAT,
              "%s: '%s' is no finite number within float32, a %s was expected", gnti_reader_where(reader),
              gnti_reader_show(reader, &token), what);
done:
    return st;
}

gnt_status gnti_reader_line_done(gnti_reader *reader)
{
    gnt_status st = GNT_OK;
    gnti_token token = { "", 0 };

    GNT_CHECK(!gnti_reader_token(reader, &token), GNT_ERR_FORMAT,
              "%s: '%s' is one value too many on this line", gnti_reader_where(reader),
              gnti_reader_show(reader, &token));
done:
    return st;
}

bool gnti_token_equals(const gnti_token *token, const char *text)
{
    return strlen(text) == token->length && memcmp(text, token->text, token->length) == 0;
}
