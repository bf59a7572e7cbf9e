/* SPDX-License-Identifier: Apache-2.0 */
/* Measured seconds and bytes: a short list, searched from its start. */
#include "ensemble/live_profile.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double KEEP = 0.5;

typedef struct entry {
    char *shape, *type;
    int32_t num;
    int64_t epochs, bytes;
    double seconds;
} entry;

struct gnti_live_profile {
    entry *entries;
    int64_t num, capacity;
};

void gnti_live_profile_free(gnti_live_profile **profile)
{
    gnti_live_profile *p = profile != NULL ? *profile : NULL;

    if (p == NULL)
        return;
    *profile = NULL;
    for (int64_t i = 0; i < p->num; i++) {
        gnti_free(p->entries[i].shape);
        gnti_free(p->entries[i].type);
    }
    gnti_free(p->entries);
    gnti_free(p);
}

static entry *find(const gnti_live_profile *p, const char *shape, int32_t num, const char *type)
{
    for (int64_t i = 0; i < p->num; i++)
        if (p->entries[i].num == num && strcmp(p->entries[i].shape, shape) == 0 &&
            strcmp(p->entries[i].type, type) == 0)
            return &p->entries[i];
    return NULL;
}

static gnt_status append(gnti_live_profile *p, const char *shape, int32_t num, const char *type, entry **out)
{
    gnt_status st = GNT_OK;
    entry e = { .num = num };

    GNT_TRY(gnti_grow_array(&p->entries, &p->capacity, p->num + 1));
    GNT_TRY(gnti_strdup(&e.shape, shape));
    GNT_TRY(gnti_strdup(&e.type, type));
    p->entries[p->num] = e;
    *out = &p->entries[p->num++];
    e = (entry){ 0 };
done:
    gnti_free(e.shape);
    gnti_free(e.type);
    return st;
}

gnt_status gnti_live_profile_add(gnti_live_profile *p, const char *shape, int32_t num, const char *type,
                                 double seconds, int64_t bytes)
{
    gnt_status st = GNT_OK;
    entry *e = find(p, shape, num, type);

    if (!(seconds > 0.0) || !isfinite(seconds))
        return GNT_OK;
    if (e == NULL)
        GNT_TRY(append(p, shape, num, type, &e));
    e->seconds = e->epochs == 0 ? seconds : KEEP * e->seconds + (1.0 - KEEP) * seconds;
    e->bytes = bytes > e->bytes ? bytes : e->bytes;
    e->epochs++;
done:
    return st;
}

bool gnti_live_profile_find(const gnti_live_profile *p, const char *shape, int32_t num, const char *type,
                            double *seconds, int64_t *bytes)
{
    const entry *best = NULL;

    for (int64_t i = 0; i < p->num; i++) {
        const entry *e = &p->entries[i];

        if (strcmp(e->shape, shape) != 0 || strcmp(e->type, type) != 0)
            continue;
        if (best == NULL || abs(e->num - num) < abs(best->num - num))
            best = e;
    }
    if (best == NULL)
        return false;
    *seconds = best->seconds * num / best->num;
    *bytes = best->num == num ? best->bytes : 0; /* programs of other widths are laid out anew */
    return true;
}

/* ---- the file ------------------------------------------------------------------------------------------------------------ */

static gnt_status read_entry(gnti_live_profile *p, const gnti_json *o)
{
    gnt_status st = GNT_OK;
    const char *shape = NULL, *type = NULL;
    int64_t members = 0, epochs = 0, bytes = 0;
    double seconds = 0.0;
    entry *e = NULL;

    GNT_TRY(gnti_json_get_text(o, "shape", &shape));
    GNT_TRY(gnti_json_get_text(o, "device", &type));
    GNT_TRY(gnti_json_get_int(o, "members", &members));
    GNT_TRY(gnti_json_get_int(o, "epochs", &epochs));
    GNT_TRY(gnti_json_get_int(o, "bytes", &bytes));
    GNT_TRY(gnti_json_get_number(o, "epoch_seconds", &seconds));
    GNT_CHECK(
        members > 0 && members < INT32_MAX && epochs > 0 && bytes >= 0 && seconds > 0.0 && isfinite(seconds),
        GNT_ERR_FORMAT, "%lld epochs of %lld members that took %g seconds and %lld bytes are no measurement",
        (long long)epochs, (long long)members, seconds, (long long)bytes);
    GNT_TRY(append(p, shape, (int32_t)members, type, &e));
    e->epochs = epochs;
    e->bytes = bytes;
    e->seconds = seconds;
done:
    return st;
}

static gnt_status read_file(const char *path, gnti_live_profile *p)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL;
    const gnti_json *list;

    GNT_TRY(gnti_json_read(path, &o));
    list = gnti_json_find(o, "groups");
    for (int64_t i = 0; i < gnti_json_length(list); i++)
        GNT_TRY(read_entry(p, gnti_json_at(list, i)));
done:
    gnti_json_free(&o);
    return st;
}

gnt_status gnti_live_profile_open(const char *path, gnti_live_profile **out)
{
    gnt_status st = GNT_OK;
    gnti_live_profile *p = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    if (gnti_file_exists(path) && read_file(path, p) != GNT_OK) { /* forecasts do as well */
        gnti_live_profile_free(&p);
        gnt_clear_error();
        GNT_TRY(gnti_calloc_array(&p, 1));
    }
    *out = p;
done:
    return st;
}

gnt_status gnti_live_profile_save(const gnti_live_profile *p, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_json *o = NULL, *list = NULL, *item = NULL;

    GNT_TRY(gnti_json_create_object(&o));
    GNT_TRY(gnti_json_set_array(o, "groups", &list));
    for (int64_t i = 0; i < p->num; i++) {
        const entry *e = &p->entries[i];

        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "shape", e->shape));
        GNT_TRY(gnti_json_set_int(item, "members", e->num));
        GNT_TRY(gnti_json_set_text(item, "device", e->type));
        GNT_TRY(gnti_json_set_number(item, "epoch_seconds", e->seconds));
        GNT_TRY(gnti_json_set_int(item, "bytes", e->bytes));
        GNT_TRY(gnti_json_set_int(item, "epochs", e->epochs));
    }
    GNT_TRY(gnti_json_write(path, o));
done:
    gnti_json_free(&o);
    return st;
}
