/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of a context's objects. Objects may be freed by other threads than the context's, so counts are atomic; the
 * context and each object hold one reference.
 */
#include "base/objects.h"

#include "base/alloc.h"
#include "base/log.h"

#include <stdatomic.h>
#include <stdio.h>

struct gnti_objects {
    void (*end)(void *context);
    void *context;
    atomic_llong references;
    atomic_llong counts[GNTI_NUM_OBJECT_KINDS];
};

static const char *const kind_names[GNTI_NUM_OBJECT_KINDS] = { "dataset", "model", "trainer" };

gnt_status gnti_objects_create(void (*end)(void *context), void *context, gnti_objects **out)
{
    gnt_status st = GNT_OK;
    gnti_objects *o = NULL;

    GNT_TRY(gnti_calloc_array(&o, 1));
    o->end = end;
    o->context = context;
    atomic_store(&o->references, 1);
    *out = o;
done:
    return st;
}

static void release(gnti_objects *o)
{
    if (atomic_fetch_sub(&o->references, 1) != 1)
        return;
    o->end(o->context);
    gnti_free(o);
}

gnti_objects *gnti_objects_add(const void *context, gnti_object_kind kind)
{
    gnti_objects *o = context != NULL ? ((const gnti_context_head *)context)->objects : NULL;

    if (o != NULL) {
        atomic_fetch_add(&o->references, 1);
        atomic_fetch_add(&o->counts[kind], 1);
    }
    return o;
}

void gnti_objects_drop(gnti_objects **objects, gnti_object_kind kind)
{
    gnti_objects *o = *objects;

    *objects = NULL;
    if (o == NULL)
        return;
    atomic_fetch_sub(&o->counts[kind], 1);
    release(o);
}

void gnti_objects_close(gnti_objects *o)
{
    char text[128] = "";
    int used = 0;

    for (int k = 0; k < GNTI_NUM_OBJECT_KINDS; k++) {
        const long long count = atomic_load(&o->counts[k]);

        if (count > 0)
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%lld %s%s", used > 0 ? ", " : "",
                             count, kind_names[k], count > 1 ? "s" : "");
    }
    if (used > 0)
        gnti_log(GNT_LOG_WARN, "base",
                 "a context was freed before what was made with it, and stays until that is: %s", text);
    release(o);
}
