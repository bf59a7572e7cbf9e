/* SPDX-License-Identifier: Apache-2.0 */
/* Measured choices in memory, and as the texts that runs carry. The file is choices_file.c's.
 *
 * What was found or set is a line of the list, and stays as it is: a step that is captured has it inside.
 */
#include "kernels/choices.h"

#include "base/alloc.h"
#include "base/log.h"
#include "kernels/choices_file.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct line {
    char key[GNTI_CHOICE_KEY_BYTES];
    gnti_choice choice;
    bool used; /* asked for here, not only carried */
} line;

struct gnti_choices {
    pthread_mutex_t lock;
    gnti_choices_config config;
    char *path;        /* NULL: no file */
    gnti_json *stored; /* of the file; NULL until it is first asked for */
    line *lines;
    int64_t count, capacity;
    bool told; /* that the file takes nothing */
};

static const char *const origin_words[] = { "rule", "the run", "stored", "measured" };

gnt_status gnti_choices_create(const gnti_choices_config *config, gnti_choices **out)
{
    gnt_status st = GNT_OK;
    gnti_choices *c = NULL;

    GNT_TRY(gnti_calloc_array(&c, 1));
    pthread_mutex_init(&c->lock, NULL);
    c->config = *config;
    c->config.path = NULL;
    GNT_TRY(gnti_choices_file_path(config->path, &c->path));
    *out = c;
    c = NULL; /* handed over */
done:
    gnti_choices_free(&c);
    return st;
}

void gnti_choices_free(gnti_choices **c)
{
    if (c == NULL || *c == NULL)
        return;
    pthread_mutex_destroy(&(*c)->lock);
    gnti_json_free(&(*c)->stored);
    gnti_free((*c)->path);
    gnti_free((*c)->lines);
    gnti_free(*c);
    *c = NULL;
}

static line *find_line(gnti_choices *c, const char *key)
{
    for (int64_t i = 0; i < c->count; i++)
        if (strcmp(c->lines[i].key, key) == 0)
            return &c->lines[i];
    return NULL;
}

static gnt_status add_line(gnti_choices *c, const char *key, const gnti_choice *choice, bool used)
{
    gnt_status st = GNT_OK;
    line *l = find_line(c, key);

    GNT_CHECK(strlen(key) < sizeof l->key && strpbrk(key, "=;") == NULL, GNT_ERR_ARG,
              "'%.80s' is no key of a choice", key);
    if (l == NULL) {
        GNT_TRY(gnti_grow_array(&c->lines, &c->capacity, c->count + 1));
        l = &c->lines[c->count++];
        snprintf(l->key, sizeof l->key, "%s", key);
    }
    l->choice = *choice;
    l->used = used;
done:
    return st;
}

/* ---- what a run carries ----------------------------------------------------------------------------------------------- */

static bool is_word(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= '0' && text[i] <= '9') || text[i] == '_'))
            return false;
    return length > 0;
}

/* *out_taken false: it is no pair. */
static gnt_status take_piece(gnti_choices *c, const char *piece, size_t length, bool *out_taken)
{
    gnt_status st = GNT_OK;
    const char *equals = memchr(piece, '=', length);
    char key[GNTI_CHOICE_KEY_BYTES];
    gnti_choice choice = { .why = "as the run's checkpoint says", .origin = GNTI_CHOICE_OF_RUN };
    const size_t key_length = equals != NULL ? (size_t)(equals - piece) : 0;
    const size_t value_length = equals != NULL ? length - key_length - 1 : 0;

    *out_taken = key_length > 0 && key_length < sizeof key && value_length < sizeof choice.value &&
                 equals != NULL && is_word(equals + 1, value_length);
    if (!*out_taken)
        return GNT_OK;
    snprintf(key, sizeof key, "%.*s", (int)key_length, piece);
    snprintf(choice.value, sizeof choice.value, "%.*s", (int)value_length, equals + 1);
    GNT_TRY(add_line(c, key, &choice, false));
done:
    return st;
}

gnt_status gnti_choices_take(gnti_choices *c, const char *text)
{
    gnt_status st = GNT_OK;

    pthread_mutex_lock(&c->lock);
    for (const char *at = text; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ";");
        bool taken = false;

        GNT_TRY(take_piece(c, at, length, &taken));
        if (!taken && length > 0)
            gnti_log(GNT_LOG_WARN, "kernels", "the choice '%.*s' of the run is not understood and made anew",
                     length < 80 ? (int)length : 80, at);
        at += length + (at[length] == ';');
    }
done:
    pthread_mutex_unlock(&c->lock);
    return st;
}

void gnti_choices_put(gnti_choices *c, gnti_text *t)
{
    pthread_mutex_lock(&c->lock);
    for (int64_t i = 0; i < c->count; i++)
        if (c->lines[i].choice.origin != GNTI_CHOICE_BY_RULE)
            gnti_text_printf(t, ";%s=%s", c->lines[i].key, c->lines[i].choice.value);
    pthread_mutex_unlock(&c->lock);
}

/* ---- for people ------------------------------------------------------------------------------------------------------- */

void gnti_choices_tell(gnti_choices *c, gnti_text *t)
{
    pthread_mutex_lock(&c->lock);
    for (int64_t i = 0; i < c->count; i++) {
        const line *l = &c->lines[i];

        if (l->used)
            gnti_text_printf(t, "choice %s: %s (%s: %s)\n", l->key, l->choice.value,
                             origin_words[l->choice.origin], l->choice.why);
    }
    pthread_mutex_unlock(&c->lock);
}

gnt_status gnti_choices_tell_json(gnti_choices *c, gnti_json *list)
{
    gnt_status st = GNT_OK;

    pthread_mutex_lock(&c->lock);
    for (int64_t i = 0; i < c->count; i++) {
        const line *l = &c->lines[i];
        gnti_json *item = NULL;

        if (!l->used)
            continue;
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "key", l->key));
        GNT_TRY(gnti_json_set_text(item, "choice", l->choice.value));
        GNT_TRY(gnti_json_set_text(item, "by", origin_words[l->choice.origin]));
        GNT_TRY(gnti_json_set_text(item, "why", l->choice.why));
    }
done:
    pthread_mutex_unlock(&c->lock);
    return st;
}

/* ---- for back ends ---------------------------------------------------------------------------------------------------- */

bool gnti_choices_measures(const gnti_choices *c)
{
    return c->config.measures;
}

static gnt_status read_file(gnti_choices *c)
{
    gnt_status st = GNT_OK;

    if (c->stored != NULL || c->path == NULL)
        return GNT_OK;
    GNT_TRY(gnti_json_create_object(&c->stored));
    GNT_TRY(gnti_choices_file_read(c->path, c->stored));
done:
    return st;
}

gnt_status gnti_choices_find(gnti_choices *c, const char *key, gnti_choice *out)
{
    gnt_status st = GNT_OK;
    line *l;

    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&c->lock);
    l = find_line(c, key);
    if (l != NULL) {
        l->used = true;
        *out = l->choice;
        goto done;
    }
    GNT_TRY(read_file(c));
    if (c->stored != NULL && gnti_choices_file_find(c->stored, key, out))
        GNT_TRY(add_line(c, key, out, true));
done:
    pthread_mutex_unlock(&c->lock);
    return st;
}

/* Into the file; *choice becomes what another process has put there meanwhile. False: the file does not take it. */
static bool keep(gnti_choices *c, const char *key, bool anew, gnti_choice *choice)
{
    const char *why = "there is no folder for it: neither XDG_CACHE_HOME nor HOME is set";

    if (c->path != NULL && gnti_choices_file_add(c->path, key, anew, choice) == GNT_OK)
        return true;
    if (c->path != NULL)
        why = gnt_last_error();
    if (!c->told)
        gnti_log(GNT_LOG_WARN, "kernels", "measured choices are not kept from run to run: %s", why);
    c->told = true;
    gnt_clear_error();
    return false;
}

gnt_status gnti_choices_set(gnti_choices *c, const char *key, bool anew, gnti_choice *choice)
{
    gnt_status st = GNT_OK;
    line *l;

    pthread_mutex_lock(&c->lock);
    l = find_line(c, key);
    if (l != NULL && !anew && l->choice.origin != GNTI_CHOICE_BY_RULE) {
        l->used = true;
        *choice = l->choice;
        goto done;
    }
    if (choice->origin == GNTI_CHOICE_MEASURED && !keep(c, key, anew, choice) &&
        c->config.determinism != GNTI_DET_OFF) {
        choice->value[0] = '\0';
        goto done;
    }
    GNT_TRY(add_line(c, key, choice, true));
done:
    pthread_mutex_unlock(&c->lock);
    return st;
}
