/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of all backends as facts, for the command. A backend without hardware lists none, which is no error. */
#include <gnntrain/experimental.h>

#include "base/json.h"
#include "kernels/backend.h"

enum { MAX_DEVICES = 64 };

static gnt_status add_devices(const gnt_backend *backend, gnti_json *list)
{
    gnt_status st = GNT_OK;
    gnt_device_info infos[MAX_DEVICES];
    gnti_json *item = NULL;
    int32_t count = 0;

    GNT_TRY(backend->list(infos, MAX_DEVICES, &count));
    for (int32_t i = 0; i < count && i < MAX_DEVICES; i++) {
        GNT_TRY(gnti_json_append_object(list, &item));
        GNT_TRY(gnti_json_set_text(item, "backend", backend->name));
        GNT_TRY(gnti_json_set_text(item, "name", infos[i].name));
        GNT_TRY(gnti_json_set_text(item, "kind", infos[i].kind));
        GNT_TRY(gnti_json_set_int(item, "threads", infos[i].num_threads));
        GNT_TRY(gnti_json_set_text(item, "isa", infos[i].isa));
        GNT_TRY(gnti_json_set_int(item, "total_bytes", (int64_t)infos[i].total_bytes));
        GNT_TRY(gnti_json_set_int(item, "free_bytes", (int64_t)infos[i].free_bytes));
    }
done:
    return st;
}

gnt_status gntx_devices(gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL, *list = NULL;

    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(gnti_json_set_array(facts, "devices", &list));
    for (int32_t i = 0; gnti_backend_at(i) != NULL; i++)
        if (gnti_backend_at(i)->priority > 0) /* the oracle is no choice */
            GNT_TRY(add_devices(gnti_backend_at(i), list));
    *out = (gntx_json *)facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    return st;
}
