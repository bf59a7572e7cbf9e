/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and tokens of a text. A line lies in the reader's buffer, without its end (LF or CRLF) and followed
 * by a zero byte, until the next call; nothing is allocated for a line. Tokens are separated by blanks, tabs
 * or one comma.
 */
#ifndef GNTI_DATASETS_READER_H
#define GNTI_DATASETS_READER_H

#include "datasets/byte_source.h"
#include "base/text.h"

typedef struct gnti_token {
    const char *text;
    size_t length;
} gnti_token;

typedef struct gnti_reader {
    gnti_byte_source *source;
    bool owns_source;
    char *buffer;
    size_t capacity, at, filled;
    bool ended;
    gnt_status status;
    int64_t line_number; /* of the line given last, from 1 */
    char *line;          /* the line given last */
    size_t length;
    const char *cursor; /* where the next token of this line starts */
    bool after_comma;
    char where[512], shown[64];
} gnti_reader;

gnt_status gnti_reader_open(const char *path, gnti_reader *out);

/* Reads on from an open source that stays the caller's. */
gnt_status gnti_reader_from_source(gnti_byte_source *source, gnti_reader *out);

/* Closes; a reader that is all zero is fine. */
void gnti_reader_close(gnti_reader *reader);

/* Moves to the next line; false at the end or on an error, which gnti_reader_status then answers. */
bool gnti_reader_next(gnti_reader *reader);
gnt_status gnti_reader_status(const gnti_reader *reader);

/* Moves to the next line that is neither empty nor a comment; `comments` lists the characters that start one.
 */
bool gnti_reader_next_data(gnti_reader *reader, const char *comments);

/* The next token of the line; false behind the last. Two commas with nothing between give an empty token, a
 * token in double quotes comes without them. */
bool gnti_reader_token(gnti_reader *reader, gnti_token *token);

/* Puts the cursor back to the start of the line. */
void gnti_reader_rewind_line(gnti_reader *reader);

/* What is in the buffer behind this line, perhaps nothing: for a look ahead. */
const char *gnti_reader_rest(const gnti_reader *reader, size_t *length);

/* ERR_FORMAT unless the token can be a name: not empty, UTF-8, no zero byte. `what` is it ("id"). */
gnt_status gnti_reader_check_name(gnti_reader *reader, const char *what, const gnti_token *token);

/* The next token as a number; ERR_FORMAT names file, line, text and `what` is wanted ("node number"). */
gnt_status gnti_reader_i64(gnti_reader *reader, const char *what, int64_t *out);
gnt_status gnti_reader_float(gnti_reader *reader, const char *what, float *out);

/* ERR_FORMAT unless the line has no further token. */
gnt_status gnti_reader_line_done(gnti_reader *reader);

/* "file 'x', line 7" and a token fit to print, for messages; lent until the next call. */
const char *gnti_reader_where(gnti_reader *reader);
const char *gnti_reader_show(gnti_reader *reader, const gnti_token *token);

/* The token as a finite float; false: it is none. */
bool gnti_token_to_float(const gnti_token *token, float *out);
bool gnti_token_equals(const gnti_token *token, const char *text);

#endif
