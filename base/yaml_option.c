/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables filled from the maps of a YAML document: each value passes gnti_option_set as a flag's would. */
#include "base/yaml.h"

#include "base/alloc.h"
#include "base/name.h"
#include "base/text.h"

#include <string.h>

enum { MAX_NAMES = 256 };

/* Plain values of a list, joined by commas: a LIST option reads them like a repeated flag. */
static gnt_status join_items(const gnti_yaml_node *list, char **out)
{
    gnt_status st = GNT_OK;
    gnti_text t = { 0 };

    for (int64_t i = 0; i < gnti_yaml_length(list); i++) {
        const gnti_yaml_node *item = gnti_yaml_at(list, i);

        GNT_TRY(gnti_yaml_expect(item, GNTI_YAML_TEXT));
        gnti_text_printf(&t, "%s%s", i == 0 ? "" : ",", gnti_yaml_get_text(item));
    }
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    return st;
}

gnt_status gnti_yaml_option(const gnti_yaml_node *node, const gnt_option *option, void *object)
{
    gnt_status st = GNT_OK;
    char *joined = NULL;

    if (option->kind == GNT_OPTION_KIND_LIST && gnti_yaml_get_kind(node) == GNTI_YAML_LIST) {
        GNT_TRY(join_items(node, &joined));
        GNT_TRY(gnti_yaml_blame(node, gnti_option_set(option, object, joined)));
    } else {
        GNT_TRY(gnti_yaml_expect(node, GNTI_YAML_TEXT));
        GNT_TRY(gnti_yaml_blame(node, gnti_option_set(option, object, gnti_yaml_get_text(node))));
    }
done:
    gnti_free(joined);
    return st;
}

static bool is_one_of(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static gnt_status unknown_key(const gnti_yaml_node *entry, const char *key, const gnt_option *table,
                              int count, const char *const *others)
{
    const char *names[MAX_NAMES], *nearest;
    size_t num = 0;

    for (; others != NULL && *others != NULL && num < MAX_NAMES; others++)
        names[num++] = *others;
    for (int i = 0; i < count && num < MAX_NAMES; i++)
        if (table[i].kind != GNT_OPTION_KIND_END)
            names[num++] = table[i].name;
    nearest = gnti_name_nearest(names, num, key);
    return gnti_yaml_fail(entry, GNT_ERR_FORMAT, "unknown key '%s'%s%s%s", key,
                          nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                          nearest == NULL ? "" : "'?");
}

gnt_status gnti_yaml_options(const gnti_yaml_node *map, const gnt_option *table, const char *const *others,
                             void *object, bool *set)
{
    gnt_status st = GNT_OK;
    const int count = gnti_options_count(table);

    GNT_TRY(gnti_yaml_expect(map, GNTI_YAML_MAP));
    for (int64_t i = 0; i < gnti_yaml_length(map); i++) {
        const gnti_yaml_node *entry = gnti_yaml_at(map, i);
        const char *key = gnti_yaml_key_at(map, i);
        const gnt_option *row = gnti_options_find(table, key);

        if (is_one_of(others, key))
            continue;
        if (row == NULL)
            GNT_TRY(unknown_key(entry, key, table, count, others));
        if (set != NULL && set[row - table])
            GNT_TRY(gnti_yaml_fail(entry, GNT_ERR_FORMAT, "is set twice"));
        GNT_TRY(gnti_yaml_option(entry, row, object));
        if (set != NULL)
            set[row - table] = true;
    }
done:
    return st;
}
