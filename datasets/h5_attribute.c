/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes: single numbers and texts, and whole sets of them as JSON, so that what others attached to an
 * array survives a rewrite although nothing here understands it.
 */
#include "datasets/h5_value.h"

#include "base/json.h"

#include <math.h>
#include <string.h>

/* More values than this in one attribute are data, which belongs into a dataset. */
enum { MAX_VALUES = 1 << 16 };

static gnt_status expect_one(const gnti_h5 *file, const char *path, const char *attribute, bool *found,
                             gnti_h5_info *info)
{
    gnt_status st = GNT_OK;

    info->num_values = 0;
    if (!gnti_h5_has_attribute(file, path, attribute)) {
        GNT_CHECK(found != NULL, GNT_ERR_FORMAT, "'%s' of file '%s' lacks the attribute '%s'", path,
                  gnti_h5_path(file), attribute);
        *found = false;
        return GNT_OK;
    }
    GNT_TRY(gnti_h5_inspect(file, path, attribute, info));
    GNT_CHECK(info->num_values == 1, GNT_ERR_FORMAT,
              "attribute '%s' of '%s' of file '%s' has %lld values, expected 1", attribute, path,
              gnti_h5_path(file), (long long)info->num_values);
    if (found != NULL)
        *found = true;
done:
    return st;
}

gnt_status gnti_h5_get_int(const gnti_h5 *file, const char *path, const char *attribute, bool *found,
                           int64_t *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    double value;

    GNT_TRY(expect_one(file, path, attribute, found, &info));
    if (info.num_values == 0)
        return GNT_OK;
    GNT_CHECK(info.type == GNTI_H5_INT || info.type == GNTI_H5_FLOAT, GNT_ERR_FORMAT,
              "attribute '%s' of '%s' of file '%s' is no number", attribute, path, gnti_h5_path(file));
    if (info.type == GNTI_H5_INT) {
        GNT_TRY(gnti_h5_read_attribute(file, path, attribute, GNTI_FILE_I64, out));
        return GNT_OK;
    }
    GNT_TRY(gnti_h5_read_attribute(file, path, attribute, GNTI_FILE_F64, &value));
    GNT_CHECK(value == floor(value) && fabs(value) < 9e15, GNT_ERR_FORMAT,
              "attribute '%s' of '%s' of file '%s' is %g, a whole number was expected", attribute, path,
              gnti_h5_path(file), value);
    *out = (int64_t)value;
done:
    return st;
}

gnt_status gnti_h5_get_text(const gnti_h5 *file, const char *path, const char *attribute, bool *found,
                            char **out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    char **texts = NULL;
    int64_t num = 0;

    GNT_TRY(expect_one(file, path, attribute, found, &info));
    if (info.num_values == 0)
        return GNT_OK;
    GNT_TRY(gnti_h5_read_attribute_texts(file, path, attribute, &texts, &num));
    *out = texts[0];
    texts[0] = NULL;
done:
    gnti_h5_free_texts(&texts, num);
    return st;
}

gnt_status gnti_h5_set_int(gnti_h5 *file, const char *path, const char *attribute, int64_t value)
{
    return gnti_h5_write_attribute(file, path, attribute, GNTI_FILE_I64, &value, -1);
}

gnt_status gnti_h5_set_text(gnti_h5 *file, const char *path, const char *attribute, const char *value)
{
    return gnti_h5_write_attribute(file, path, attribute, GNTI_FILE_TEXT, &value, -1);
}

gnt_status gnti_h5_set_encoding(gnti_h5 *file, const char *path, const char *type, const char *version)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_h5_set_text(file, path, "encoding-type", type));
    GNT_TRY(gnti_h5_set_text(file, path, "encoding-version", version));
done:
    return st;
}

/* --- sets of attributes --- */

/* A list for one dimension, a single value for none. */
static gnt_status numbers_to_json(const gnti_h5 *file, const char *path, const char *name,
                                  const gnti_h5_info *info, gnti_json *to)
{
    gnt_status st = GNT_OK;
    int64_t *ints = NULL;
    double *numbers = NULL;

    if (info->type == GNTI_H5_INT) {
        GNT_TRY(gnti_calloc_array(&ints, info->num_values + 1));
        GNT_TRY(gnti_h5_read_attribute(file, path, name, GNTI_FILE_I64, ints));
        GNT_TRY(info->rank == 0 ? gnti_json_set_int(to, name, ints[0])
                                : gnti_json_set_ints(to, name, ints, info->num_values));
    } else {
        GNT_TRY(gnti_calloc_array(&numbers, info->num_values + 1));
        GNT_TRY(gnti_h5_read_attribute(file, path, name, GNTI_FILE_F64, numbers));
        GNT_TRY(info->rank == 0 ? gnti_json_set_number(to, name, numbers[0])
                                : gnti_json_set_numbers(to, name, numbers, info->num_values));
    }
done:
    gnti_free(ints);
    gnti_free(numbers);
    return st;
}

static gnt_status texts_to_json(const gnti_h5 *file, const char *path, const char *name,
                                const gnti_h5_info *info, gnti_json *to)
{
    gnt_status st = GNT_OK;
    char **texts = NULL;
    int64_t num = 0;
    gnti_json *list;

    GNT_TRY(gnti_h5_read_attribute_texts(file, path, name, &texts, &num));
    if (info->rank == 0) {
        GNT_TRY(gnti_json_set_text(to, name, num > 0 ? texts[0] : ""));
    } else {
        GNT_TRY(gnti_json_set_array(to, name, &list));
        for (int64_t i = 0; i < num; i++)
            GNT_TRY(gnti_json_append_text(list, texts[i]));
    }
done:
    gnti_h5_free_texts(&texts, num);
    return st;
}

gnt_status gnti_h5_get_attributes(const gnti_h5 *file, const char *path, char **json)
{
    gnt_status st = GNT_OK;
    gnti_json *all = NULL;
    char **names = NULL;
    int64_t num = 0;

    GNT_TRY(gnti_json_create_object(&all));
    GNT_TRY(gnti_h5_list_attributes(file, path, &names, &num));
    for (int64_t i = 0; i < num; i++) {
        gnti_h5_info info;

        if (strncmp(names[i], "encoding-", 9) == 0)
            continue;
        GNT_TRY(gnti_h5_inspect(file, path, names[i], &info));
        if (info.rank > 1 || info.num_values > MAX_VALUES || (info.rank == 0 && info.num_values == 0))
            continue;
        if (info.type == GNTI_H5_INT || info.type == GNTI_H5_FLOAT)
            GNT_TRY(numbers_to_json(file, path, names[i], &info, all));
        else if (info.type == GNTI_H5_TEXT)
            GNT_TRY(texts_to_json(file, path, names[i], &info, all));
    }
    if (gnti_json_length(all) > 0)
        GNT_TRY(gnti_json_print(all, false, json));
    else
        *json = NULL;
done:
    gnti_h5_free_texts(&names, num);
    gnti_json_free(&all);
    return st;
}

static gnt_status list_from_json(gnti_h5 *file, const char *path, const char *name, const gnti_json *list)
{
    gnt_status st = GNT_OK;
    const int64_t num = gnti_json_length(list);
    int64_t *ints = NULL;
    double *numbers = NULL;
    const char **texts = NULL;
    bool whole = true, text = num > 0;

    GNT_TRY(gnti_calloc_array(&ints, num + 1));
    GNT_TRY(gnti_calloc_array(&numbers, num + 1));
    GNT_TRY(gnti_calloc_array(&texts, num + 1));
    for (int64_t i = 0; i < num; i++) {
        const gnti_json *item = gnti_json_at(list, i);

        texts[i] = gnti_json_to_text(item);
        text = text && texts[i] != NULL;
        whole = gnti_json_to_int(item, &ints[i]) && whole;
        if (!gnti_json_to_number(item, &numbers[i]) && texts[i] == NULL)
            goto done; /* nothing that get_attributes makes */
    }
    if (text)
        GNT_TRY(gnti_h5_write_attribute(file, path, name, GNTI_FILE_TEXT, texts, num));
    else if (whole)
        GNT_TRY(gnti_h5_write_attribute(file, path, name, GNTI_FILE_I64, ints, num));
    else
        GNT_TRY(gnti_h5_write_attribute(file, path, name, GNTI_FILE_F64, numbers, num));
done:
    gnti_free(ints);
    gnti_free(numbers);
    gnti_free(texts);
    return st;
}

gnt_status gnti_h5_set_attributes(gnti_h5 *file, const char *path, const char *json)
{
    gnt_status st = GNT_OK;
    gnti_json *all = NULL;

    if (json == NULL)
        return GNT_OK;
    GNT_TRY(gnti_json_parse(json, strlen(json), path, &all));
    for (int64_t i = 0; i < gnti_json_length(all); i++) {
        const char *name = gnti_json_key_at(all, i);
        const gnti_json *value = gnti_json_find(all, name);
        int64_t whole;
        double number;

        if (gnti_h5_has_attribute(file, path, name))
            continue;
        if (gnti_json_is_array(value))
            GNT_TRY(list_from_json(file, path, name, value));
        else if (gnti_json_to_text(value) != NULL)
            GNT_TRY(gnti_h5_set_text(file, path, name, gnti_json_to_text(value)));
        else if (gnti_json_to_int(value, &whole))
            GNT_TRY(gnti_h5_set_int(file, path, name, whole));
        else if (gnti_json_to_number(value, &number))
            GNT_TRY(gnti_h5_write_attribute(file, path, name, GNTI_FILE_F64, &number, -1));
    }
done:
    gnti_json_free(&all);
    return st;
}
