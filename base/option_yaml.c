/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables as YAML files, read and written. A file is a map of option names and plain values; each text goes through
 * gnti_option_set like a flag's. What is wrong in it is the user's to mend, as a wrong flag is: ERR_USAGE, with file, line and key.
 */
#include "base/option.h"

#include "base/alloc.h"
#include "base/text.h"
#include "base/yaml.h"

gnt_status gnti_options_from_yaml(const gnt_option *table, void *object, const char *path,
                                  gnti_origin *origin, gnti_origin from)
{
    gnt_status st = GNT_OK;
    const int count = gnti_options_count(table);
    gnti_yaml *doc = NULL;
    bool *set = NULL;

    GNT_TRY(gnti_calloc_array(&set, count + 1));
    GNT_TRY(gnti_yaml_read(path, &doc));
    GNT_TRY(gnti_yaml_options(gnti_yaml_root(doc), table, NULL, object, set));
    for (int i = 0; i < count && origin != NULL; i++)
        if (set[i])
            origin[i] = from;
done:
    if (st == GNT_ERR_FORMAT)
        st = gnti_error_set(GNT_ERR_USAGE, __FILE__, __LINE__, __func__, "%s", gnt_last_error());
    gnti_yaml_free(&doc);
    gnti_free(set);
    return st;
}

static void append_quoted(gnti_text *t, const char *text)
{
    gnti_text_append(t, "\"");
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\')
            gnti_text_printf(t, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7f)
            gnti_text_printf(t, "\\x%02x", *p);
        else
            gnti_text_append_bytes(t, (const char *)p, 1);
    }
    gnti_text_append(t, "\"");
}

const char *gnti_origin_name(gnti_origin origin)
{
    static const char *const names[] = { "default", "user file", "--config", "environment", "flag" };

    return (unsigned)origin < 5u ? names[origin] : "unknown";
}

gnt_status gnti_options_to_yaml(const gnt_option *table, const void *object, const gnti_origin *origin,
                                char **out)
{
    gnt_status st = GNT_OK;
    const int count = gnti_options_count(table);
    gnti_text t = { 0 };
    char number[128];

    for (int i = 0; i < count; i++) {
        const gnt_option *o = &table[i];
        const char *text = NULL;

        if (o->kind == GNT_OPTION_KIND_END)
            continue;
        if (o->kind == GNT_OPTION_KIND_TEXT || o->kind == GNT_OPTION_KIND_LIST) {
            text = *(char *const *)((const char *)object + o->offset);
            gnti_text_printf(&t, "%s%s: %s", text == NULL ? "# " : "", o->name,
                             text == NULL ? "(not set)" : "");
            if (text != NULL)
                append_quoted(&t, text);
        } else {
            GNT_TRY(gnti_option_get(o, object, number, sizeof number));
            gnti_text_printf(&t, "%s: %s", o->name, number);
        }
        gnti_text_printf(&t, "%s%s\n", origin == NULL ? "" : "  # ",
                         origin == NULL ? "" : gnti_origin_name(origin[i]));
    }
    GNT_TRY(gnti_text_take(&t, out));
done:
    gnti_text_free(&t);
    return st;
}
