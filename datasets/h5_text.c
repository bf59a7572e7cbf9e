/* SPDX-License-Identifier: Apache-2.0 */
/* Name lists, fixed-length strings and remedies for what the HDF5 library says.
 *
 * The causes are matched by fragments of the library's own messages (1.10 and later); an unknown one is
 * passed on as it is, so a changed wording costs the advice and nothing else.
 */
#include "datasets/h5_text.h"

#include "base/text.h"

#include <string.h>

bool gnti_h5_names_add(gnti_h5_names *list, const char *name)
{
    list->status = gnti_grow_array(&list->names, &list->capacity, list->num + 1);
    if (list->status == GNT_OK)
        list->status = gnti_strdup(&list->names[list->num], name);
    list->num += list->status == GNT_OK;
    return list->status == GNT_OK;
}

void gnti_h5_free_texts(char ***texts, int64_t num_texts)
{
    for (int64_t i = 0; *texts != NULL && i < num_texts; i++)
        gnti_free((*texts)[i]);
    gnti_free(*texts);
    *texts = NULL;
}

gnt_status gnti_h5_copy_fixed(const char *all, size_t bytes, bool padded, int64_t num, char **texts)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < num; i++) {
        const char *text = all + (size_t)i * bytes;
        size_t length = strnlen(text, bytes);

        while (padded && length > 0 && text[length - 1] == ' ')
            length--;
        GNT_TRY(gnti_calloc_array(&texts[i], (int64_t)length + 1));
        memcpy(texts[i], text, length);
    }
done:
    return st;
}

gnt_status gnti_h5_check_utf8(const gnti_h5 *file, const char *path, char *const *texts, int64_t num)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < num; i++)
        GNT_CHECK(gnti_is_utf8(texts[i], strlen(texts[i])), GNT_ERR_FORMAT,
                  "text %lld at '%s' of file '%s' is not UTF-8", (long long)i, path, gnti_h5_path(file));
done:
    return st;
}

gnt_status gnti_h5_write_texts(gnti_h5 *file, const char *path, char *const *texts, int64_t num)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_h5_make_dataset(file, path, GNTI_FILE_TEXT, num < 0 ? 0 : 1, &num, false));
    GNT_TRY(gnti_h5_write_rows(file, path, GNTI_FILE_TEXT, 0, num < 0 ? 1 : num, texts));
done:
    return st;
}

const char *gnti_h5_remedy(const char *cause)
{
    static const struct {
        const char *part, *advice;
    } known[] = {
        { "file signature not found", ": it is no HDF5 file" },
        { "truncated file", ": the file is cut off, get or write it again" },
        { "version number", ": written by a newer HDF5 than this one reads, rewrite it with h5py's libver="
                            "('earliest', 'v110') or h5repack --high=2" },
        { "already open for write", ": a writer has it open or died, close it or run h5clear -s on a copy" },
        { "unable to lock", ": set HDF5_USE_FILE_LOCKING=FALSE where the file system has no locks" },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strstr(cause, known[i].part) != NULL)
            return known[i].advice;
    return "";
}
