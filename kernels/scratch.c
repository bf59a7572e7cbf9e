/* SPDX-License-Identifier: Apache-2.0 */
/* One block of memory for several that take turns. The lock is recursive: who computes holds it, and what it calls may ask for more. */
#include "kernels/scratch.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

struct gnti_scratch {
    pthread_mutex_t lock;
    gnt_device *dev; /* NULL: a shared one that nobody needed yet */
    bool shared;
    gnti_device_spec spec; /* of a shared one */
    int32_t number;
    gnti_device_config config;
    gnt_buffer *buf;
    size_t bytes;
    int64_t version; /* grows whenever buf changes */
    gnti_scratch_user *users;
    const void *holder; /* the newest; NULL: what it left is gone */
};

gnt_status gnti_scratch_create(gnt_device *dev, gnti_scratch **out)
{
    gnt_status st = GNT_OK;
    gnti_scratch *s = NULL;
    pthread_mutexattr_t attr;

    GNT_TRY(gnti_calloc_array(&s, 1));
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&s->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    s->dev = dev;
    *out = s;
done:
    return st;
}

gnt_status gnti_scratch_create_shared(const gnti_device_spec *spec, int32_t number,
                                      const gnti_device_config *config, gnti_scratch **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_scratch_create(NULL, out));
    (*out)->shared = true;
    (*out)->spec = *spec;
    (*out)->number = number;
    (*out)->config = *config;
    (*out)->config.num_threads = 1; /* it computes nothing */
    (*out)->config.memory_limit = spec->room > 0 ? spec->room : spec->memory;
    (*out)->config.quota = spec->quota;
done:
    return st;
}

static void destroy(gnti_scratch *s)
{
    gnti_buffer_free(&s->buf);
    if (s->shared)
        gnti_device_close(&s->dev);
    pthread_mutex_destroy(&s->lock);
    gnti_free(s);
}

void gnti_scratch_free(gnti_scratch **s)
{
    if (s == NULL || *s == NULL)
        return;
    GNT_ASSERT((*s)->users == NULL);
    destroy(*s);
    *s = NULL;
}

bool gnti_scratch_is_shared(const gnti_scratch *s)
{
    return s->shared;
}

/* ---- users ------------------------------------------------------------------------------------------------------------- */

void gnti_scratch_join(gnti_scratch *s, gnti_scratch_user *user)
{
    pthread_mutex_lock(&s->lock);
    *user = (gnti_scratch_user){ .next = s->users };
    s->users = user;
    pthread_mutex_unlock(&s->lock);
}

static size_t largest(const gnti_scratch *s)
{
    size_t most = 0;

    for (const gnti_scratch_user *u = s->users; u != NULL; u = u->next)
        most = u->bytes > most ? u->bytes : most;
    return most;
}

static void give_back(gnti_scratch *s)
{
    gnti_buffer_free(&s->buf);
    s->bytes = 0;
    s->version++;
    s->holder = NULL;
}

void gnti_scratch_part(gnti_scratch **scratch, gnti_scratch_user *user)
{
    gnti_scratch *s = *scratch;
    gnti_scratch_user **at;
    bool last;

    if (s == NULL)
        return;
    *scratch = NULL;
    pthread_mutex_lock(&s->lock);
    for (at = &s->users; *at != user; at = &(*at)->next)
        continue;
    *at = user->next;
    if (s->bytes > largest(s))
        give_back(s); /* the others take what they need at their next step */
    last = s->users == NULL && !s->shared;
    pthread_mutex_unlock(&s->lock);
    if (last)
        destroy(s);
}

gnt_status gnti_scratch_fit(gnti_scratch *s, gnti_scratch_user *user, size_t bytes)
{
    gnt_status st = GNT_OK;
    const size_t taken = bytes > 0 ? bytes : 1;

    pthread_mutex_lock(&s->lock);
    user->bytes = taken;
    if (s->buf != NULL && s->bytes >= taken)
        goto done;
    give_back(s);
    if (s->dev == NULL)
        GNT_TRY(gnti_device_open_spec(&s->spec, s->number, &s->config, &s->dev));
    GNT_TRY(gnti_buffer_alloc(s->dev, largest(s), &s->buf));
    s->bytes = largest(s);
done:
    if (st != GNT_OK)
        user->bytes = 0;
    pthread_mutex_unlock(&s->lock);
    return st;
}

/* ---- turns ------------------------------------------------------------------------------------------------------------- */

bool gnti_scratch_hold(gnti_scratch *s, const void *who)
{
    bool same;

    pthread_mutex_lock(&s->lock);
    same = s->holder == who;
    s->holder = who;
    return same;
}

void gnti_scratch_release(gnti_scratch *s)
{
    pthread_mutex_unlock(&s->lock);
}

gnt_buffer *gnti_scratch_buffer(const gnti_scratch *s)
{
    return s->buf;
}

int64_t gnti_scratch_version(const gnti_scratch *s)
{
    return s->version;
}
