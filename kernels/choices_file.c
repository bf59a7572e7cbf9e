/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing the file of measured choices. It is a cache: whatever is wrong with it costs a measurement. */
#include "kernels/choices_file.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CHOICES = 4096, MAX_FILE_BYTES = 4 << 20, LOCK_TRIES = 200 }; /* 2 s in all */

gnt_status gnti_choices_file_path(const char *path, char **out)
{
    *out = NULL;
    return path != NULL ? gnti_strdup(out, path) : gnti_cache_path("choices.json", out);
}

static gnt_status read_sound(const char *path, gnti_json *into)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL;
    const gnti_json *choices = NULL;
    const char *format = NULL, *version = NULL;
    char *text = NULL;
    size_t length = 0;

    if (!gnti_file_exists(path))
        return GNT_OK;
    GNT_TRY(gnti_file_read_all(path, MAX_FILE_BYTES, &text, &length));
    GNT_TRY(gnti_json_parse(text, length, path, &root));
    GNT_TRY(gnti_json_get_text(root, "format", &format));
    GNT_TRY(gnti_json_get_text(root, "version", &version));
    choices = gnti_json_find(root, "choices");
    GNT_CHECK(strcmp(format, "gnntrain-choices") == 0 && gnti_json_is_object(choices), GNT_ERR_FORMAT,
              "'%s' has the format '%.40s' and %s choices: it is no file of choices", path, format,
              choices != NULL ? "no list of" : "no");
    if (strcmp(version, GNT_VERSION) != 0 || gnti_json_length(choices) > MAX_CHOICES)
        goto done; /* another version's kernels have other times */
    for (int64_t i = 0; i < gnti_json_length(choices); i++) {
        const char *key = gnti_json_key_at(choices, i);

        if (gnti_json_find(into, key) == NULL)
            GNT_TRY(gnti_json_set_copy(into, key, gnti_json_find(choices, key)));
    }
done:
    gnti_json_free(&root);
    gnti_free(text);
    return st;
}

static gnt_status read_or_nothing(const char *path, bool tells, gnti_json *into)
{
    const gnt_status st = read_sound(path, into);

    if (st == GNT_OK || st == GNT_ERR_NOMEM)
        return st;
    if (tells)
        gnti_log(GNT_LOG_WARN, "kernels", "stored choices in '%s' are not read and are measured anew: %s",
                 path, gnt_last_error());
    gnt_clear_error();
    return GNT_OK;
}

gnt_status gnti_choices_file_read(const char *path, gnti_json *into)
{
    return read_or_nothing(path, true, into);
}

bool gnti_choices_file_find(const gnti_json *choices, const char *key, gnti_choice *out)
{
    const gnti_json *item = gnti_json_find(choices, key);
    const char *value = gnti_json_to_text(gnti_json_find(item, "choice")),
               *why = gnti_json_to_text(gnti_json_find(item, "why"));

    if (value == NULL || value[0] == '\0' || strlen(value) >= sizeof out->value)
        return false;
    snprintf(out->value, sizeof out->value, "%s", value);
    snprintf(out->why, sizeof out->why, "%.*s", (int)sizeof out->why - 1, why != NULL ? why : "");
    out->origin = GNTI_CHOICE_STORED;
    return true;
}

static gnt_status add_item(gnti_json *choices, const char *key, const gnti_choice *choice)
{
    gnt_status st = GNT_OK;
    gnti_json *item = NULL;

    GNT_TRY(gnti_json_set_object(choices, key, &item));
    GNT_TRY(gnti_json_set_text(item, "choice", choice->value));
    GNT_TRY(gnti_json_set_text(item, "why", choice->why));
done:
    return st;
}

/* Under the lock. */
static gnt_status rewrite(const char *path, const char *key, bool anew, gnti_choice *choice)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL, *choices = NULL, *known = NULL;

    GNT_TRY(gnti_json_create_object(&known));
    GNT_TRY(read_or_nothing(path, false, known)); /* it was told when it was read first */
    if (!anew && gnti_choices_file_find(known, key, choice))
        goto done;
    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_text(root, "format", "gnntrain-choices"));
    GNT_TRY(gnti_json_set_text(root, "version", GNT_VERSION));
    GNT_TRY(gnti_json_set_object(root, "choices", &choices));
    GNT_TRY(add_item(choices, key, choice));
    for (int64_t i = 0; i < gnti_json_length(known) && i < MAX_CHOICES - 1; i++) {
        const char *other = gnti_json_key_at(known, i);

        if (strcmp(other, key) != 0)
            GNT_TRY(gnti_json_set_copy(choices, other, gnti_json_find(known, other)));
    }
    GNT_TRY(gnti_json_write(path, root));
done:
    gnti_json_free(&root);
    gnti_json_free(&known);
    return st;
}

/* "FOLDER/NAME.lock", opened and locked; the folder is made. */
static gnt_status lock_file(const char *path, int *out)
{
    gnt_status st = GNT_OK;
    const struct timespec pause = { .tv_nsec = 10000000 };
    char *name = NULL, *slash;
    bool locked = false;
    int fd = -1;

    GNT_TRY(gnti_strdup(&name, path));
    slash = strrchr(name, '/');
    if (slash != NULL && slash != name) {
        *slash = '\0';
        GNT_TRY(gnti_folder_create(name));
    }
    gnti_free(name);
    name = NULL;
    GNT_TRY(gnti_alloc_array(&name, (int64_t)strlen(path) + 6));
    snprintf(name, strlen(path) + 6, "%s.lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    for (int i = 0; i < LOCK_TRIES && fd >= 0 && !locked; i++) {
        locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (!locked)
            nanosleep(&pause, NULL);
    }
    GNT_CHECK(locked, GNT_ERR_OUTPUT, "'%s' cannot be locked: %s", name, strerror(errno));
    *out = fd;
    fd = -1;
done:
    if (fd >= 0)
        (void)close(fd);
    gnti_free(name);
    return st;
}

gnt_status gnti_choices_file_add(const char *path, const char *key, bool anew, gnti_choice *choice)
{
    gnt_status st = GNT_OK;
    int lock = -1;

    GNT_TRY(lock_file(path, &lock));
    GNT_TRY(rewrite(path, key, anew, choice));
done:
    if (lock >= 0)
        (void)close(lock);
    return st;
}

gnt_status gnti_choices_list_stored(const char *path, gnti_json *list)
{
    gnt_status st = GNT_OK;
    gnti_json *known = NULL, *item = NULL;
    gnti_choice choice;
    char *at = NULL;

    GNT_TRY(gnti_choices_file_path(path, &at));
    GNT_TRY(gnti_json_create_object(&known));
    if (at != NULL)
        GNT_TRY(gnti_choices_file_read(at, known));
    for (int64_t i = 0; i < gnti_json_length(known); i++) {
        const char *key = gnti_json_key_at(known, i);

        if (!gnti_choices_file_find(known, key, &choice))
            continue;
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "key", key));
        GNT_TRY(gnti_json_set_text(item, "choice", choice.value));
        GNT_TRY(gnti_json_set_text(item, "why", choice.why));
    }
done:
    gnti_json_free(&known);
    gnti_free(at);
    return st;
}
