/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoint files, "gnntrain-checkpoint" 1.x:
 *
 *   /meta  uint8 [L]  JSON        /card  uint8 [L]  JSON (model card)
 *   /weights/NAME  /best/NAME  /moment1/NAME  /moment2/NAME   float32 [M, in, out] for each parameter of meta
 *   /members  float64 [M, fields]    /sums  float64 [M, 2]
 * Every dataset has the attribute crc32, the file a seal behind its end (checkpoint_seal.c). What meta promises must be there in exactly that shape and size
 * before memory is asked for, so a lying file costs an error, not gigabytes.
 */
#include "train/checkpoint.h"

#include "base/alloc.h"
#include "base/file.h"
#include "datasets/h5_value.h"
#include "train/schedule.h"

#include <stdio.h>
#include <string.h>

enum { MAX_META_BYTES = 1 << 24, MAX_MEMBERS = 1 << 16, MAX_PARAMS = 1 << 20, PATH_BYTES = 320 };

#define FORMAT  "gnntrain-checkpoint"
#define VERSION "1.0"

static const char *const groups[GNTI_CP_BLOCKS] = { "weights", "best", "moment1", "moment2" };

void gnti_checkpoint_free(gnti_checkpoint **checkpoint)
{
    gnti_checkpoint *cp = checkpoint != NULL ? *checkpoint : NULL;

    if (cp == NULL)
        return;
    *checkpoint = NULL;
    for (int64_t p = 0; cp->params != NULL && p < cp->num_params; p++)
        gnti_free(cp->params[p].name);
    for (int b = 0; b < GNTI_CP_BLOCKS; b++)
        gnti_free(cp->block[b]);
    gnti_json_free(&cp->meta);
    gnti_free(cp->params);
    gnti_free(cp->members);
    gnti_free(cp->sums);
    gnti_free(cp->path);
    gnti_free(cp);
}

static gnt_status check_format(const gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    char *format = NULL, *version = NULL;
    bool found = false;

    GNT_TRY(gnti_h5_get_text(file, "/", "format", &found, &format));
    GNT_CHECK(found && strcmp(format, FORMAT) == 0, GNT_ERR_FORMAT,
              "'%s' is no checkpoint (format '%s', not '%s')", gnti_h5_path(file), found ? format : "none",
              FORMAT);
    GNT_TRY(gnti_h5_get_text(file, "/", "format_version", NULL, &version));
    GNT_CHECK(strncmp(version, "1.", 2) == 0, GNT_ERR_FORMAT,
              "checkpoint '%s' has format version %s, this program reads 1.x", gnti_h5_path(file), version);
done:
    gnti_free(format);
    gnti_free(version);
    return st;
}

/* Exactly this many bytes must be stored, not merely promised. */
static gnt_status check_stored(const gnti_h5 *file, const char *path, int64_t bytes)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;

    GNT_TRY(gnti_h5_inspect(file, path, NULL, &info));
    GNT_CHECK(info.stored_bytes == bytes, GNT_ERR_FORMAT,
              "checkpoint '%s', dataset '%s': %lld bytes are stored, %lld expected", gnti_h5_path(file), path,
              (long long)info.stored_bytes, (long long)bytes);
done:
    return st;
}

/* A JSON object that is stored as bytes. */
static gnt_status read_json(const gnti_h5 *file, const char *path, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    char *text = NULL;
    gnti_json *value = NULL;
    const char *name = gnti_h5_path(file);

    GNT_TRY(gnti_h5_inspect(file, path, NULL, &info));
    GNT_CHECK(info.rank == 1 && info.dims[0] > 0 && info.dims[0] <= MAX_META_BYTES, GNT_ERR_FORMAT,
              "checkpoint '%s': '%s' has %lld bytes, allowed are 1 to %d", name, path,
              (long long)info.num_values, MAX_META_BYTES);
    GNT_TRY(check_stored(file, path, info.dims[0]));
    GNT_TRY(gnti_alloc_array(&text, info.dims[0]));
    GNT_TRY(gnti_h5_read_summed(file, path, GNTI_FILE_U8, 1, info.dims, text));
    GNT_TRY(gnti_json_parse(text, (size_t)info.dims[0], name, &value));
    GNT_CHECK(gnti_json_is_object(value), GNT_ERR_FORMAT, "checkpoint '%s': '%s' is no JSON object", name,
              path);
    *out = value;
    value = NULL;
done:
    gnti_json_free(&value);
    gnti_free(text);
    return st;
}

gnt_status gnti_checkpoint_read_card(const char *path, gnti_json **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;

    GNT_TRY(gnti_checkpoint_check_seal(path));
    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(check_format(file));
    GNT_TRY(read_json(file, "/card", out));
done:
    gnti_h5_close(&file);
    return st;
}

static gnt_status read_params(gnti_checkpoint *cp)
{
    gnt_status st = GNT_OK;
    const gnti_json *list = gnti_json_find(cp->meta, "params");
    int64_t members = 0, num = 0;

    GNT_TRY(gnti_json_get_int(cp->meta, "num_members", &members));
    GNT_CHECK(members >= 1 && members <= MAX_MEMBERS, GNT_ERR_FORMAT, "checkpoint '%s' has %lld members",
              cp->path, (long long)members);
    GNT_CHECK(list != NULL && gnti_json_is_array(list) && gnti_json_length(list) <= MAX_PARAMS,
              GNT_ERR_FORMAT, "checkpoint '%s' has no list 'params'", cp->path);
    num = gnti_json_length(list);
    GNT_TRY(gnti_calloc_array(&cp->params, num + 1));
    cp->num_params = num;
    cp->num_members = (int32_t)members;
    for (int64_t i = 0; i < num; i++) {
        gnti_checkpoint_param *p = &cp->params[i];
        const gnti_json *item = gnti_json_at(list, i);
        const char *name = NULL;

        GNT_TRY(gnti_json_get_text(item, "name", &name));
        GNT_TRY(gnti_json_get_int(item, "in", &p->in));
        GNT_TRY(gnti_json_get_int(item, "out", &p->out));
        GNT_CHECK(p->in >= 1 && p->out >= 1 && p->in <= INT32_MAX && p->out <= INT32_MAX &&
                      strchr(name, '/') == NULL && strlen(name) > 0 && strlen(name) < 200,
                  GNT_ERR_FORMAT, "checkpoint '%s': parameter '%s' is %lld x %lld", cp->path, name,
                  (long long)p->in, (long long)p->out);
        GNT_CHECK(p->in <= (INT64_MAX >> 16) / p->out / members - cp->num_floats, GNT_ERR_FORMAT,
                  "checkpoint '%s': parameter '%s' is too large", cp->path, name);
        GNT_TRY(gnti_strdup(&p->name, name));
        p->offset = cp->num_floats;
        cp->num_floats += members * p->in * p->out;
    }
done:
    return st;
}

static gnt_status read_block(const gnti_h5 *file, gnti_checkpoint *cp, int which)
{
    gnt_status st = GNT_OK;
    char path[PATH_BYTES];

    for (int64_t i = 0; i < cp->num_params; i++) { /* all sizes before the first byte of memory */
        const gnti_checkpoint_param *p = &cp->params[i];

        snprintf(path, sizeof path, "/%s/%s", groups[which], p->name);
        GNT_TRY(check_stored(file, path, 4 * cp->num_members * p->in * p->out));
    }
    GNT_TRY(gnti_alloc_array(&cp->block[which], cp->num_floats));
    for (int64_t i = 0; i < cp->num_params; i++) {
        const gnti_checkpoint_param *p = &cp->params[i];
        const int64_t dims[] = { cp->num_members, p->in, p->out };

        snprintf(path, sizeof path, "/%s/%s", groups[which], p->name);
        GNT_TRY(gnti_h5_read_summed(file, path, GNTI_FILE_F32, 3, dims, cp->block[which] + p->offset));
    }
done:
    return st;
}

static gnt_status read_table(const gnti_h5 *file, const char *path, int64_t rows, int64_t width, double **out)
{
    gnt_status st = GNT_OK;
    const int64_t dims[] = { rows, width };
    double *values = NULL;

    if (gnti_h5_kind_of(file, path) == GNTI_H5_NOTHING)
        goto done;
    GNT_TRY(check_stored(file, path, 8 * rows * width));
    GNT_TRY(gnti_alloc_array(&values, rows * width));
    GNT_TRY(gnti_h5_read_summed(file, path, GNTI_FILE_F64, 2, dims, values));
    *out = values;
    values = NULL;
done:
    gnti_free(values);
    return st;
}

gnt_status gnti_checkpoint_open(const char *path, gnti_checkpoint **out)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;
    gnti_checkpoint *cp = NULL;

    GNT_TRY(gnti_checkpoint_check_seal(path));
    GNT_TRY(gnti_h5_open(path, &file));
    GNT_TRY(gnti_calloc_array(&cp, 1));
    GNT_TRY(gnti_strdup(&cp->path, path));
    GNT_TRY(check_format(file));
    GNT_TRY(read_json(file, "/meta", &cp->meta));
    GNT_TRY(read_params(cp));
    for (int b = 0; b < GNTI_CP_BLOCKS; b++) {
        char group[PATH_BYTES];

        snprintf(group, sizeof group, "/%s", groups[b]);
        if (b == GNTI_CP_WEIGHTS || gnti_h5_kind_of(file, group) == GNTI_H5_GROUP)
            GNT_TRY(read_block(file, cp, b));
    }
    GNT_TRY(read_table(file, "/members", cp->num_members, GNTI_MEMBER_FIELDS, &cp->members));
    GNT_TRY(read_table(file, "/sums", cp->num_members, 2, &cp->sums));
    *out = cp;
    cp = NULL;
done:
    gnti_checkpoint_free(&cp);
    gnti_h5_close(&file);
    return st;
}

static gnt_status write_json(gnti_h5 *file, const char *path, const gnti_json *value)
{
    gnt_status st = GNT_OK;
    char *text = NULL;
    int64_t bytes = 0;

    GNT_TRY(gnti_json_print(value, true, &text));
    bytes = (int64_t)strlen(text);
    GNT_TRY(gnti_h5_write_summed(file, path, GNTI_FILE_U8, 1, &bytes, text));
done:
    gnti_free(text);
    return st;
}

static gnt_status write_arrays(const gnti_checkpoint *cp, gnti_h5 *file)
{
    gnt_status st = GNT_OK;
    const int64_t member_dims[] = { cp->num_members, GNTI_MEMBER_FIELDS },
                  sum_dims[] = { cp->num_members, 2 };

    for (int b = 0; b < GNTI_CP_BLOCKS; b++)
        for (int64_t i = 0; cp->block[b] != NULL && i < cp->num_params; i++) {
            const gnti_checkpoint_param *p = &cp->params[i];
            const int64_t dims[] = { cp->num_members, p->in, p->out };
            char path[PATH_BYTES];

            snprintf(path, sizeof path, "/%s/%s", groups[b], p->name);
            GNT_TRY(gnti_h5_write_summed(file, path, GNTI_FILE_F32, 3, dims, cp->block[b] + p->offset));
        }
    if (cp->members != NULL)
        GNT_TRY(gnti_h5_write_summed(file, "/members", GNTI_FILE_F64, 2, member_dims, cp->members));
    if (cp->sums != NULL)
        GNT_TRY(gnti_h5_write_summed(file, "/sums", GNTI_FILE_F64, 2, sum_dims, cp->sums));
done:
    return st;
}

/* The file under its final name, closed. */
static gnt_status write_file(const gnti_checkpoint *cp, const gnti_json *card, const char *path)
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;

    GNT_TRY(gnti_h5_create(path, &file));
    GNT_TRY(gnti_h5_set_text(file, "/", "format", FORMAT));
    GNT_TRY(gnti_h5_set_text(file, "/", "format_version", VERSION));
    GNT_TRY(gnti_h5_set_text(file, "/", "generator", "gnntrain " GNT_VERSION));
    GNT_TRY(write_json(file, "/meta", cp->meta));
    if (card != NULL)
        GNT_TRY(write_json(file, "/card", card));
    GNT_TRY(write_arrays(cp, file));
    GNT_TRY(gnti_h5_commit(&file, NULL));
done:
    gnti_h5_close(&file);
    return st;
}

gnt_status gnti_checkpoint_write(const gnti_checkpoint *cp, const gnti_json *card, const char *path,
                                 const char *previous)
{
    gnt_status st = GNT_OK;
    char *temporary = NULL;

    GNT_TRY(gnti_atomic_begin(path, &temporary));
    GNT_TRY(write_file(cp, card, temporary));
    GNT_TRY(gnti_checkpoint_seal(temporary));
    if (previous != NULL)
        GNT_TRY(gnti_atomic_commit_keep(&temporary, path, previous));
    else
        GNT_TRY(gnti_atomic_commit(&temporary, path));
done:
    gnti_atomic_abandon(&temporary);
    return st;
}
