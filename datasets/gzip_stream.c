/* SPDX-License-Identifier: Apache-2.0 */
/* gzip by zlib, which checks CRC-32 and length of each member. Members that follow each other are one text (RFC 1952);
 * zeros behind the last one are padding, anything else there is damage.
 */
#include "datasets/gzip_stream.h"

#include <zlib.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 18, GZIP_WINDOW = 15 + 16 };

struct gnti_gzip_stream {
    int fd;
    const unsigned char *memory;
    size_t memory_left;
    unsigned char *in, *out; /* (BLOCK_BYTES) each */
    z_stream z;
    bool decided, is_gzip, in_member;
};

gnt_status gnti_gzip_stream_create(int fd, const void *memory, size_t memory_bytes, gnti_gzip_stream **out)
{
    gnt_status st = GNT_OK;
    gnti_gzip_stream *s = NULL;

    GNT_TRY(gnti_calloc_array(&s, 1));
    s->fd = fd;
    s->memory = memory;
    s->memory_left = memory_bytes;
    GNT_TRY(gnti_alloc_array(&s->in, BLOCK_BYTES));
    GNT_TRY(gnti_alloc_array(&s->out, BLOCK_BYTES));
    GNT_CHECK(inflateInit2(&s->z, GZIP_WINDOW) == Z_OK, GNT_ERR_NOMEM, "cannot allocate a gzip decoder");
    *out = s;
    s = NULL; /* handed over */
done:
    gnti_gzip_stream_free(&s);
    return st;
}

void gnti_gzip_stream_free(gnti_gzip_stream **stream)
{
    if (*stream == NULL)
        return;
    inflateEnd(&(*stream)->z); /* a zeroed z_stream is fine */
    gnti_free((*stream)->in);
    gnti_free((*stream)->out);
    gnti_free(*stream);
    *stream = NULL;
}

/* Bytes read behind the first `have` ones of s->in; -1: errno says why. */
static int64_t read_more(gnti_gzip_stream *s, size_t have)
{
    const size_t room = BLOCK_BYTES - have;
    ssize_t n;

    if (s->fd < 0) {
        const size_t some = s->memory_left < room ? s->memory_left : room;

        if (some > 0)
            memcpy(s->in + have, s->memory, some);
        s->memory += some;
        s->memory_left -= some;
        return (int64_t)some;
    }
    do
        n = read(s->fd, s->in + have, room);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Fills the empty input; 0 at the end, -1 on failure. */
static int64_t refill(gnti_gzip_stream *s)
{
    int64_t n = read_more(s, 0), more = 1;

    while (!s->decided && n == 1 && more > 0) { /* a pipe may give the magic in two pieces */
        more = read_more(s, 1);
        n += more > 0 ? more : 0;
    }
    if (n < 0)
        return -1;
    if (!s->decided) {
        s->decided = true;
        s->is_gzip = n >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b;
    }
    s->z.next_in = s->in;
    s->z.avail_in = (uInt)n;
    return n;
}

/* Between members: padding is passed over, a further member is begun. */
static bool begin_member(gnti_gzip_stream *s)
{
    while (s->z.avail_in > 0 && *s->z.next_in == 0) {
        s->z.next_in++;
        s->z.avail_in--;
    }
    s->in_member = s->z.avail_in > 0;
    return !s->in_member || inflateReset(&s->z) == Z_OK;
}

int64_t gnti_gzip_stream_read(gnti_gzip_stream *stream, const void **block, const char **text)
{
    gnti_gzip_stream *s = stream;

    errno = 0;
    s->z.next_out = s->out;
    s->z.avail_out = BLOCK_BYTES;
    while (s->z.avail_out == BLOCK_BYTES) {
        int code;

        if (s->z.avail_in == 0) {
            const int64_t n = refill(s);

            *text = n < 0 ? strerror(errno) : "gzip data are cut";
            if (n <= 0)
                return n < 0 || s->in_member ? -1 : 0;
        }
        if (!s->is_gzip) {
            *block = s->in;
            code = (int)s->z.avail_in;
            s->z.avail_in = 0;
            return code;
        }
        if (!s->in_member && !begin_member(s))
            return -1;
        if (!s->in_member)
            continue;
        code = inflate(&s->z, Z_NO_FLUSH);
        *text = s->z.msg != NULL ? s->z.msg : "gzip data are damaged";
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return -1;
        s->in_member = code != Z_STREAM_END;
    }
    *block = s->out;
    return BLOCK_BYTES - (int64_t)s->z.avail_out;
}
