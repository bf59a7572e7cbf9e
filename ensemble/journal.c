/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's lines: written whole or taken back, checked one by one when read. */
#include "ensemble/journal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "datasets/h5_value.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SEAL_KEY ",\"crc32\":\""

enum { SEAL_LETTERS = 8, SEAL_BYTES = sizeof SEAL_KEY - 1 + SEAL_LETTERS + 2 };
static const size_t most_bytes = (size_t)1 << 30;

struct gnti_journal {
    char *path;
    int fd; /* -1: read only */
    pthread_mutex_t lock;
    int64_t next;   /* number of the next line */
    int64_t length; /* bytes of whole lines */
    gnti_json **lines;
    int64_t num_lines, lines_capacity;
};

/* ---- reading --------------------------------------------------------------------------------------------------------- */

/* The seal at the end of a line fits what stands before it. */
static bool is_sealed(const char *line, size_t length)
{
    char want[SEAL_BYTES + 1];
    const size_t body = length - SEAL_BYTES;

    if (length <= SEAL_BYTES)
        return false;
    snprintf(want, sizeof want, SEAL_KEY "%08lx\"}", (unsigned long)gnti_crc32(0, line, body));
    return memcmp(line + body, want, SEAL_BYTES) == 0;
}

static gnt_status take_line(gnti_journal *j, const char *line, size_t length)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    int64_t number = 0;

    GNT_TRY(gnti_json_parse(line, length, j->path, &o));
    GNT_TRY(gnti_json_get_int(o, "line", &number));
    GNT_CHECK(number == j->next, GNT_ERR_FORMAT,
              "line %lld of '%s' says that it is line %lld: the journal lacks lines", (long long)j->next,
              j->path, (long long)number);
    GNT_TRY(gnti_grow_array(&j->lines, &j->lines_capacity, j->num_lines + 1));
    j->lines[j->num_lines++] = o;
    o = NULL;
    j->next++;
done:
    gnti_json_free(&o);
    return st;
}

/* Line by line; stops before a last one that is torn. */
static gnt_status read_lines(gnti_journal *j, const char *text, size_t length)
{
    gnt_status st = GNT_OK;
    size_t at = 0;

    while (at < length) {
        const char *end = memchr(text + at, '\n', length - at);
        const size_t count = end != NULL ? (size_t)(end - (text + at)) : length - at;
        const bool last = at + count + 1 >= length;

        if (end == NULL || !is_sealed(text + at, count)) {
            GNT_CHECK(last, GNT_ERR_FORMAT,
                      "line %lld of '%s' is damaged, and lines follow it: no crash leaves that; restore the "
                      "file or start a new run folder",
                      (long long)j->next, j->path);
            break;
        }
        GNT_TRY(take_line(j, text + at, count));
        at += count + 1;
        j->length = (int64_t)at;
    }
done:
    return st;
}

gnt_status gnti_journal_read(const char *path, gnti_journal **out)
{
    gnt_status st = GNT_OK;
    gnti_journal *j = NULL;
    char *text = NULL;
    size_t length = 0;

    GNT_TRY(gnti_calloc_array(&j, 1));
    pthread_mutex_init(&j->lock, NULL);
    j->fd = -1;
    j->next = 1;
    GNT_TRY(gnti_strdup(&j->path, path));
    if (gnti_file_exists(path))
        GNT_TRY(gnti_file_read_all(path, most_bytes, &text, &length));
    GNT_TRY(read_lines(j, text, length));
    *out = j;
    j = NULL;
done:
    gnti_free(text);
    gnti_journal_close(&j);
    return st;
}

gnt_status gnti_journal_open(const char *path, gnti_journal **out)
{
    gnt_status st = GNT_OK;
    gnti_journal *j = NULL;

    GNT_TRY(gnti_journal_read(path, &j));
    j->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0)
        st = gnti_error_errno(errno, 1, "open", path);
    if (st == GNT_OK && ftruncate(j->fd, (off_t)j->length) != 0)
        st = gnti_error_errno(errno, 1, "cut", path);
    GNT_TRY(st);
    GNT_TRY(gnti_fd_sync(j->fd, path));
    *out = j;
    j = NULL;
done:
    gnti_journal_close(&j);
    return st;
}

void gnti_journal_close(gnti_journal **journal)
{
    gnti_journal *j = journal != NULL ? *journal : NULL;

    if (j == NULL)
        return;
    *journal = NULL;
    if (j->fd >= 0)
        close(j->fd);
    for (int64_t i = 0; i < j->num_lines; i++)
        gnti_json_free(&j->lines[i]);
    pthread_mutex_destroy(&j->lock);
    gnti_free(j->lines);
    gnti_free(j->path);
    gnti_free(j);
}

int64_t gnti_journal_num_lines(const gnti_journal *j)
{
    return j->num_lines;
}

const gnti_json *gnti_journal_line(const gnti_journal *j, int64_t index)
{
    return j->lines[index];
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* {"line":N,"time":"...","event":"...",<facts>} */
static gnt_status print_line(int64_t number, const char *event, const gnti_json *facts, char **out)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    char now[GNTI_CLOCK_UTC_BYTES];

    gnti_clock_utc(now);
    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_int(o, "line", number));
    GNT_TRY(gnti_json_set_text(o, "time", now));
    GNT_TRY(gnti_json_set_text(o, "event", event));
    for (int64_t i = 0; facts != NULL && gnti_json_key_at(facts, i) != NULL; i++) {
        const char *key = gnti_json_key_at(facts, i);

        GNT_TRY(gnti_json_set_copy(o, key, gnti_json_find(facts, key)));
    }
    GNT_TRY(gnti_json_print(o, false, out));
done:
    gnti_json_free(&o);
    return st;
}

/* With the seal in the place of the last brace. */
static gnt_status seal_line(const char *line, char **out, size_t *out_length)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    const size_t body = strlen(line) - 1;

    gnti_text_append_bytes(&t, line, body);
    gnti_text_printf(&t, SEAL_KEY "%08lx\"}\n", (unsigned long)gnti_crc32(0, line, body));
    *out_length = (size_t)t.length;
    GNT_TRY(gnti_text_take(&t, out));
done:
    return st;
}

static gnt_status append(gnti_journal *j, const char *line, size_t length, bool sync)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_fd_write(j->fd, j->path, line, length));
    if (sync)
        GNT_TRY(gnti_fd_sync(j->fd, j->path));
    j->length += (int64_t)length;
    j->next++;
done:
    if (st != GNT_OK) { /* or the next line would stand behind half of this one */
        const gnti_error_record first = *gnti_error_get();

        if (ftruncate(j->fd, (off_t)j->length) != 0)
            close(j->fd), j->fd = -1;
        (void)gnti_error_adopt(&first);
    }
    return st;
}

gnt_status gnti_journal_add(gnti_journal *j, const char *event, const gnti_json *facts, bool sync)
{
    gnt_status st = GNT_OK;
    char *line = NULL, *sealed = NULL;
    size_t length = 0;

    if (j == NULL)
        return GNT_OK;
    pthread_mutex_lock(&j->lock);
    GNT_CHECK(j->fd >= 0, GNT_ERR_STATE, "journal '%s' is open for reading only, or an earlier line failed",
              j->path);
    GNT_TRY(print_line(j->next, event, facts, &line));
    GNT_TRY(seal_line(line, &sealed, &length));
    GNT_TRY(append(j, sealed, length, sync));
done:
    pthread_mutex_unlock(&j->lock);
    gnti_free(line);
    gnti_free(sealed);
    return st;
}
