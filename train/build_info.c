/* SPDX-License-Identifier: Apache-2.0 */
/* What was built and what it runs with: for --version and doctor. */
#include <gnntrain/experimental.h>

#include "base/json.h"
#include "datasets/byte_source.h"
#include "datasets/h5_file.h"
#include "kernels/backend.h"

#include <string.h>

static gnt_status add_libraries(gnti_json *facts)
{
    gnt_status st = GNT_OK;
    gnti_json *libraries = NULL;

    GNT_TRY(gnti_json_set_object(facts, "libraries", &libraries));
    GNT_TRY(gnti_json_set_text(libraries, "HDF5", strrchr(gnti_h5_version, ' ') + 1));
    GNT_TRY(gnti_json_set_text(libraries, "archives", gnti_byte_source_library()));
done:
    return st;
}

gnt_status gntx_build_info(gntx_json **out)
{
    gnt_status st = GNT_OK;
    gnti_json *facts = NULL, *backends = NULL;

    GNT_TRY(gnti_json_create_object(&facts));
    GNT_TRY(gnti_json_set_text(facts, "compiler", __VERSION__));
    GNT_TRY(gnti_json_set_array(facts, "backends", &backends));
    for (int32_t i = 0; gnti_backend_linked_at(i) != NULL;
         i++) /* to open plug-ins would cost every --version */
        GNT_TRY(gnti_json_append_text(backends, gnti_backend_linked_at(i)->name));
    GNT_TRY(add_libraries(facts));
    *out = (gntx_json *)facts;
    facts = NULL;
done:
    gnti_json_free(&facts);
    return st;
}
