/* SPDX-License-Identifier: Apache-2.0 */
/* What lives in a context, counted by kind, so that freeing the context can tell what was not freed. A context ends with the
 * last of its objects: one that is freed too late finds all that it needs.
 */
#ifndef GNTI_BASE_OBJECTS_H
#define GNTI_BASE_OBJECTS_H

#include <gnntrain/status.h>

typedef enum gnti_object_kind {
    GNTI_OBJECT_DATASET,
    GNTI_OBJECT_MODEL,
    GNTI_OBJECT_TRAINER,
    GNTI_NUM_OBJECT_KINDS
} gnti_object_kind;

typedef struct gnti_objects gnti_objects;

/* The first member of every gnt_context, which folders below nn/ know by this alone. */
typedef struct gnti_context_head {
    gnti_objects *objects;
} gnti_context_head;

/* `end` is called with the context at the last drop or at the close, whichever comes later, by the thread that makes it. */
gnt_status gnti_objects_create(void (*end)(void *context), void *context, gnti_objects **out);

/* Counts one more, and answers the counts for its drop. The context (its head) may be NULL: then nothing is counted. */
gnti_objects *gnti_objects_add(const void *context, gnti_object_kind kind);
/* The object's last step: nothing of the context may be used behind it. */
void gnti_objects_drop(gnti_objects **objects, gnti_object_kind kind);

/* For the context, once: warns of what is left, "2 datasets, 1 model". */
void gnti_objects_close(gnti_objects *objects);

#endif
