/* SPDX-License-Identifier: Apache-2.0 */
/* A spec from file to members: read (spec_file.c), expand (spec_expand.c), check against the dataset (spec_check.c). */
#include "ensemble/spec_state.h"

#include "ensemble/method.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/sha256.h"

#include <string.h>

enum { MAX_SPEC_BYTES = 1 << 20 };

void gnti_spec_free(gnti_spec **spec)
{
    if (spec == NULL || *spec == NULL)
        return;
    for (int32_t m = 0; m < (*spec)->num_members; m++) {
        gnti_free((*spec)->members[m].model);
        gnti_free((*spec)->members[m].differs);
        gnti_config_free(&(*spec)->members[m].train);
    }
    gnti_free((*spec)->members);
    gnti_free((*spec)->path);
    gnti_free((*spec)->text);
    gnti_free(*spec);
    *spec = NULL;
}

gnt_status gnti_spec_parse(gnt_context *ctx, const char *text, size_t length, const char *source,
                           const gnt_dataset *data, gnti_spec **out)
{
    gnt_status st = GNT_OK;
    gnti_spec *spec = NULL;
    gnti_spec_draft draft = { 0 };

    GNT_CHECK(data->ctx == ctx, GNT_ERR_ARG, "the dataset is of another context");
    GNT_CHECK(length <= MAX_SPEC_BYTES, GNT_ERR_FORMAT, "'%s' has %zu bytes, the limit is %d", source, length,
              MAX_SPEC_BYTES);
    GNT_CHECK(memchr(text, 0, length) == NULL, GNT_ERR_FORMAT, "'%s' has a zero byte: not a text file",
              source);
    GNT_TRY(gnti_calloc_array(&spec, 1));
    GNT_TRY(gnti_strdup(&spec->path, source));
    GNT_TRY(gnti_alloc_array(&spec->text, (int64_t)length + 1));
    memcpy(spec->text, text, length);
    spec->text[length] = '\0';
    GNT_TRY(gnti_sha256_of(text, length, spec->sha256));
    draft.spec = spec;
    GNT_TRY(gnti_spec_draft_read(&draft));
    GNT_TRY(gnti_spec_expand(&draft));
    GNT_TRY(gnti_spec_check(&draft, data));
    GNT_TRY(gnti_method_shape(spec, data));
    *out = spec;
    spec = NULL;
done:
    gnti_spec_draft_free(&draft);
    gnti_spec_free(&spec);
    return st;
}

gnt_status gnti_spec_open(gnt_context *ctx, const char *path, const gnt_dataset *data, gnti_spec **out)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    size_t length = 0;

    GNT_TRY(gnti_file_read_all(path, MAX_SPEC_BYTES, &text, &length));
    GNT_TRY(gnti_spec_parse(ctx, text, length, path, data, out));
done:
    gnti_free(text);
    return st;
}
