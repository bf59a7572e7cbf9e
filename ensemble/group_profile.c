/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of measured groups: one JSON object, a member a class, named by the SHA-256 of what makes the class.
 *
 *   {"format": "gnntrain-groups", "version": "0.1.0", "classes": {"5f2c...": [seconds, bytes], ...}}
 * Another version's file counts as empty. A save reads the file again, so that two runs at a time lose nothing but in the instant
 * between reading and renaming; a file of more than MAX_CLASSES begins anew.
 */
#include "ensemble/group_profile.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

enum { MAX_CLASSES = 4096, MAX_FILE_BYTES = 4 << 20 };

struct gnti_group_profile {
    char *path;       /* NULL: nothing is kept */
    gnti_json *known; /* the object "classes" as it was read, and what was set */
    gnti_json *news;  /* what was set */
};

/* ---- keys ---------------------------------------------------------------------------------------------------------- */

static gnt_status put_device(const gnti_device_spec *spec, gnti_text *t)
{
    gnt_status st = GNT_OK;
    const gnt_backend *backend = NULL;
    gnt_device_info *info = NULL;
    int32_t count = 0;
    const int32_t index = spec->index < 0 ? 0 : spec->index;

    GNT_TRY(gnti_backend_find(spec->backend, &backend));
    GNT_TRY(gnti_calloc_array(&info, index + 1));
    GNT_TRY(backend->list(info, index + 1, &count));
    gnti_text_printf(t, "device=%s;%s;%s;threads=%d;", backend->name, index < count ? info[index].name : "",
                     index < count ? info[index].isa : "", spec->virtual_clock ? 0 : (int)spec->threads);
    gnti_text_printf(t, "factors=%.17g,%.17g,%.17g;rates=%.17g,%.17g;virtual=%d;noise=%.17g\n", spec->speed,
                     spec->spmm, spec->gemm, spec->flops, spec->bytes, spec->virtual_clock, spec->noise);
done:
    gnti_free(info);
    return st;
}

gnt_status gnti_group_key(const gnti_spec_member *member, int32_t num, const gnt_dataset *data,
                          const gnti_device_spec *spec, char out[GNTI_GROUP_KEY_BYTES])
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };
    char *shape = NULL, *text = NULL;

    GNT_TRY(gnti_fusion_shape(member, &shape));
    gnti_text_printf(&t, "%s\nmembers=%d;determinism=%d\n", shape, (int)num,
                     (int)gnti_context_determinism(data->ctx));
    gnti_text_printf(&t, "data=%s;nodes=%lld;drops=%.17g,%.17g\n", data->content_sha256,
                     (long long)data->num_nodes, member->view.drop_features, member->view.drop_edges);
    GNT_TRY(put_device(spec, &t));
    GNT_TRY(gnti_text_take(&t, &text));
    GNT_TRY(gnti_sha256_of(text, strlen(text), out));
done:
    gnti_text_free(&t);
    gnti_free(shape);
    gnti_free(text);
    return st;
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

/* Adds the classes of a file to an object, those that are there already stay. */
static gnt_status read_classes(const char *path, gnti_json *into)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL;
    const gnti_json *classes = NULL;
    const char *version = NULL;
    char *text = NULL;
    size_t length = 0;

    if (!gnti_file_exists(path))
        return GNT_OK;
    GNT_TRY(gnti_file_read_all(path, MAX_FILE_BYTES, &text, &length));
    GNT_TRY(gnti_json_parse(text, length, path, &root));
    GNT_TRY(gnti_json_get_text(root, "version", &version));
    classes = gnti_json_find(root, "classes");
    if (strcmp(version, GNT_VERSION) != 0 || gnti_json_length(classes) > MAX_CLASSES)
        goto done;
    for (int64_t i = 0; i < gnti_json_length(classes); i++) {
        const char *key = gnti_json_key_at(classes, i);

        if (gnti_json_find(into, key) == NULL)
            GNT_TRY(gnti_json_set_copy(into, key, gnti_json_find(classes, key)));
    }
done:
    gnti_json_free(&root);
    gnti_free(text);
    return st;
}

/* A cache that cannot be read is empty; memory that is missing is missing. */
static gnt_status read_if_sound(const char *path, gnti_json *into)
{
    const gnt_status st = read_classes(path, into);

    if (st == GNT_OK || st == GNT_ERR_NOMEM)
        return st;
    gnti_log(GNT_LOG_INFO, "ensemble", "measured groups are not read: %s", gnt_last_error());
    gnt_clear_error();
    return GNT_OK;
}

gnt_status gnti_group_profile_open(const char *path, gnti_group_profile **out)
{
    gnt_status st = GNT_OK;
    gnti_group_profile *p = NULL;

    GNT_TRY(gnti_calloc_array(&p, 1));
    GNT_TRY(gnti_json_create_object(&p->known));
    GNT_TRY(gnti_json_create_object(&p->news));
    if (path != NULL)
        GNT_TRY(gnti_strdup(&p->path, path));
    else
        GNT_TRY(gnti_cache_path("groups.json", &p->path));
    if (p->path != NULL)
        GNT_TRY(read_if_sound(p->path, p->known));
    *out = p;
    p = NULL;
done:
    gnti_group_profile_free(&p);
    return st;
}

void gnti_group_profile_free(gnti_group_profile **p)
{
    if (p == NULL || *p == NULL)
        return;
    gnti_json_free(&(*p)->known);
    gnti_json_free(&(*p)->news);
    gnti_free((*p)->path);
    gnti_free(*p);
    *p = NULL;
}

bool gnti_group_profile_find(const gnti_group_profile *p, const char *key, gnti_group_measure *out)
{
    const gnti_json *pair = p == NULL ? NULL : gnti_json_find(p->known, key);
    double seconds = 0.0, bytes = 0.0;

    if (pair == NULL || gnti_json_length(pair) != 2 ||
        !gnti_json_to_number(gnti_json_at(pair, 0), &seconds) ||
        !gnti_json_to_number(gnti_json_at(pair, 1), &bytes) || !(seconds > 0.0 && isfinite(seconds)) ||
        !(bytes >= 0.0 && bytes < 0x1p62))
        return false;
    *out = (gnti_group_measure){ .seconds = seconds, .bytes = (int64_t)bytes };
    return true;
}

static gnt_status set_pair(gnti_json *object, const char *key, const gnti_group_measure *m)
{
    const double pair[2] = { m->seconds, (double)m->bytes };

    return gnti_json_set_numbers(object, key, pair, 2);
}

gnt_status gnti_group_profile_set(gnti_group_profile *p, const char *key, const gnti_group_measure *measure)
{
    gnt_status st = GNT_OK;

    GNT_TRY(set_pair(p->known, key, measure));
    GNT_TRY(set_pair(p->news, key, measure));
done:
    return st;
}

static gnt_status save(const gnti_group_profile *p)
{
    gnt_status st = GNT_OK;
    gnti_json *root = NULL, *classes = NULL;
    char *folder = NULL;

    GNT_TRY(gnti_json_create_object(&root));
    GNT_TRY(gnti_json_set_text(root, "format", "gnntrain-groups"));
    GNT_TRY(gnti_json_set_text(root, "version", GNT_VERSION));
    GNT_TRY(gnti_json_set_object(root, "classes", &classes));
    for (int64_t i = 0; i < gnti_json_length(p->news); i++) {
        const char *key = gnti_json_key_at(p->news, i);

        GNT_TRY(gnti_json_set_copy(classes, key, gnti_json_find(p->news, key)));
    }
    GNT_TRY(read_if_sound(p->path, classes));
    GNT_TRY(gnti_strdup(&folder, p->path));
    *strrchr(folder, '/') = '\0';
    GNT_TRY(gnti_folder_create(folder));
    GNT_TRY(gnti_json_write(p->path, root));
done:
    gnti_json_free(&root);
    gnti_free(folder);
    return st;
}

void gnti_group_profile_save(gnti_group_profile *p)
{
    if (p == NULL || p->path == NULL || strchr(p->path, '/') == NULL || gnti_json_length(p->news) == 0)
        return;
    if (save(p) != GNT_OK) {
        gnti_log(GNT_LOG_INFO, "ensemble", "measured groups are not kept: %s", gnt_last_error());
        gnt_clear_error();
    }
}
