/* SPDX-License-Identifier: Apache-2.0 */
/* Byte streams through libarchive, the only file that knows it.
 *
 * The filters are listed by name: all of them run inside the process (the catch-all of libarchive would also
 * start helper programs). A text is libarchive's "raw" format with one member; a zip keeps its members; a
 * file of no bytes is its "empty" format. Blocks are lent as libarchive hands them out, so a plain file is
 * not copied here.
 */
#include "datasets/byte_source.h"

#include "datasets/gzip_stream.h"

#include <archive.h>
#include <archive_entry.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 18 };

struct gnti_byte_source {
    struct archive *archive;
    char *name;
    int fd;                 /* ours to close, -1: none */
    gnti_gzip_stream *gzip; /* what libarchive reads from, but for files that it may seek in */
    bool is_zip, in_member, has_peeked;
    struct archive_entry *first; /* the member that opening has already found */
    const char *peeked;
    size_t peeked_bytes;
};

/* Text of libarchive's newest failure, with damage told from an unreadable disk. */
static gnt_status archive_error(const gnti_byte_source *s)
{
    const char *text = archive_error_string(s->archive);
    const int code = archive_errno(s->archive);
    const gnt_status st = code == EIO || code == EISDIR || code == EACCES ? GNT_ERR_IO
                          : code == ENOMEM                                ? GNT_ERR_NOMEM
                                                                          : GNT_ERR_FORMAT;

    return gnti_error_set(st, __FILE__, __LINE__, __func__, "cannot read '%s': %s", s->name,
                          text != NULL ? text : "damaged or cut compressed data");
}

static gnt_status allow_formats(gnti_byte_source *s)
{
    gnt_status st = GNT_OK;
    struct archive *a = s->archive = archive_read_new();

    GNT_CHECK(a != NULL, GNT_ERR_NOMEM, "cannot allocate a reader for '%s'", s->name);
    archive_read_support_filter_bzip2(a);
    archive_read_support_filter_xz(a);
    archive_read_support_filter_zstd(a);
    archive_read_support_filter_lz4(a);
    archive_read_support_format_zip(a);
    archive_read_support_format_raw(a);
    archive_read_support_format_empty(a);
done:
    return st;
}

/* Reads the first header, which tells zip from everything else. */
static gnt_status find_first(gnti_byte_source *s)
{
    gnt_status st = GNT_OK;
    const int code = archive_read_next_header(s->archive, &s->first);

    if (code == ARCHIVE_EOF) {
        s->first = NULL;
    } else if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
        st = archive_error(s);
        goto done;
    }
    s->is_zip = (archive_format(s->archive) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_ZIP;
    s->in_member = !s->is_zip && s->first != NULL;
done:
    return st;
}

/* libarchive's reader of blocks. */
static la_ssize_t read_gzip(struct archive *a, void *source, const void **block)
{
    gnti_byte_source *s = source;
    const char *text = "";
    const int64_t n = gnti_gzip_stream_read(s->gzip, block, &text);

    if (n < 0)
        archive_set_error(a, errno != 0 ? errno : EILSEQ, "%s", text);
    return n < 0 ? ARCHIVE_FATAL : (la_ssize_t)n;
}

static bool starts_gzip(int fd)
{
    unsigned char magic[2];

    return pread(fd, magic, sizeof magic, 0) == sizeof magic && magic[0] == 0x1f && magic[1] == 0x8b;
}

static gnt_status open_path(gnti_byte_source *s, const char *path)
{
    gnt_status st = GNT_OK;
    struct stat info;
    int fd = STDIN_FILENO;

    if (strcmp(path, "-") != 0) {
        fd = s->fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) {
            st = gnti_error_errno(errno, 0, "open", path);
            goto done;
        }
        if (fstat(fd, &info) != 0) {
            st = gnti_error_errno(errno, 0, "read", path);
            goto done;
        }
        if (S_ISDIR(info.st_mode)) {
            st = gnti_error_errno(EISDIR, 0, "read", path);
            goto done;
        }
    }
    if (s->fd >= 0 && S_ISREG(info.st_mode) && !starts_gzip(fd)) {
        if (archive_read_open_fd(s->archive, fd, READ_BYTES) != ARCHIVE_OK)
            st = archive_error(s);
        goto done;
    }
    GNT_TRY(gnti_gzip_stream_create(fd, NULL, 0, &s->gzip));
    if (archive_read_open(s->archive, s, NULL, read_gzip, NULL) != ARCHIVE_OK)
        st = archive_error(s);
done:
    return st;
}

static gnt_status open_bytes(gnti_byte_source *s, const void *bytes, size_t num_bytes)
{
    gnt_status st = GNT_OK;
    const unsigned char *b = bytes;

    if (num_bytes < 2 || b[0] != 0x1f || b[1] != 0x8b) {
        if (archive_read_open_memory(s->archive, bytes, num_bytes) != ARCHIVE_OK)
            st = archive_error(s);
        goto done;
    }
    GNT_TRY(gnti_gzip_stream_create(-1, bytes, num_bytes, &s->gzip));
    if (archive_read_open(s->archive, s, NULL, read_gzip, NULL) != ARCHIVE_OK)
        st = archive_error(s);
done:
    return st;
}

static gnt_status source_open(const char *name, const char *path, const void *bytes, size_t num_bytes,
                              gnti_byte_source **out)
{
    gnt_status st = GNT_OK;
    gnti_byte_source *s = NULL;

    GNT_TRY(gnti_calloc_array(&s, 1));
    s->fd = -1;
    GNT_TRY(gnti_strdup(&s->name, name));
    GNT_TRY(allow_formats(s));
    if (path != NULL)
        GNT_TRY(open_path(s, path));
    else
        GNT_TRY(open_bytes(s, bytes, num_bytes));
    GNT_TRY(find_first(s));
    *out = s;
    s = NULL; /* handed over */
done:
    gnti_byte_source_free(&s);
    return st;
}

gnt_status gnti_byte_source_open(const char *path, gnti_byte_source **out)
{
    return source_open(strcmp(path, "-") == 0 ? "standard input" : path, path, NULL, 0, out);
}

gnt_status gnti_byte_source_open_memory(const char *name, const void *bytes, size_t num_bytes,
                                        gnti_byte_source **out)
{
    return source_open(name, NULL, bytes, num_bytes, out);
}

bool gnti_byte_source_is_zip(const gnti_byte_source *source)
{
    return source->is_zip;
}

const char *gnti_byte_source_name(const gnti_byte_source *source)
{
    return source->name;
}

gnt_status gnti_byte_source_next_member(gnti_byte_source *source, const char **member)
{
    gnt_status st = GNT_OK;
    struct archive_entry *entry = source->first;
    const char *name = NULL;

    source->has_peeked = false;
    source->first = NULL;
    if (entry == NULL) {
        const int code = archive_read_next_header(source->archive, &entry);

        source->in_member = false;
        if (code == ARCHIVE_EOF) {
            *member = NULL;
            goto done;
        }
        if (code != ARCHIVE_OK && code != ARCHIVE_WARN) {
            st = archive_error(source);
            goto done;
        }
    }
    name = archive_entry_pathname(entry);
    source->in_member = true;
    *member = name != NULL ? name : "";
done:
    return st;
}

static gnt_status read_block(gnti_byte_source *s, const char **block, size_t *num_bytes)
{
    gnt_status st = GNT_OK;
    const void *data = NULL;
    size_t bytes = 0;
    la_int64_t offset = 0;
    int code = ARCHIVE_OK;

    *block = "";
    *num_bytes = 0;
    while (s->in_member && bytes == 0) {
        code = archive_read_data_block(s->archive, &data, &bytes, &offset);
        if (code == ARCHIVE_EOF) {
            s->in_member = false;
            goto done;
        }
        if (code != ARCHIVE_OK) { /* a warning too: a wrong checksum is no data */
            st = archive_error(s);
            s->in_member = false;
            goto done;
        }
    }
    if (bytes > 0) {
        *block = data;
        *num_bytes = bytes;
    }
done:
    return st;
}

gnt_status gnti_byte_source_peek(gnti_byte_source *source, const char **block, size_t *num_bytes)
{
    gnt_status st = GNT_OK;

    if (!source->has_peeked) {
        GNT_TRY(read_block(source, &source->peeked, &source->peeked_bytes));
        source->has_peeked = true;
    }
    *block = source->peeked;
    *num_bytes = source->peeked_bytes;
done:
    return st;
}

gnt_status gnti_byte_source_next(gnti_byte_source *source, const char **block, size_t *num_bytes)
{
    if (source->has_peeked) {
        source->has_peeked = false;
        *block = source->peeked;
        *num_bytes = source->peeked_bytes;
        return GNT_OK;
    }
    return read_block(source, block, num_bytes);
}

void gnti_byte_source_free(gnti_byte_source **source)
{
    if (source == NULL || *source == NULL)
        return;
    if ((*source)->archive != NULL)
        archive_read_free((*source)->archive);
    gnti_gzip_stream_free(&(*source)->gzip);
    if ((*source)->fd >= 0)
        close((*source)->fd);
    gnti_free((*source)->name);
    gnti_free(*source);
    *source = NULL;
}

const char *gnti_byte_source_library(void)
{
    return archive_version_string();
}
