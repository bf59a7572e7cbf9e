/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables as YAML: the one file that knows libcyaml.
 *
 * The schema is built from the table: a mapping with one optional text field per option, so a loaded file is
 * an array of char pointers, one a table row, NULL where the file says nothing. Each text then goes through
 * gnti_option_set like a flag's. libcyaml's messages arrive through its log function, of which the key and
 * the line are kept.
 */
#include "base/option.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FILE_BYTES = 1 << 20, MESSAGE_BYTES = 256 };

/* What one loading said last. */
typedef struct yaml_log {
    char key[MESSAGE_BYTES];     /* of "Unexpected key: KEY" */
    char message[MESSAGE_BYTES]; /* the first other error */
    int line;                    /* the innermost line named, 0: none */
} yaml_log;

static void keep_message(cyaml_log_t level, void *context, const char *format, va_list args)
{
    static const char unexpected[] = "Unexpected key: ";
    yaml_log *log = context;
    char text[MESSAGE_BYTES];
    const char *found;
    int line = 0;

    if (level != CYAML_LOG_ERROR || vsnprintf(text, sizeof text, format, args) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    found = strstr(text, "line: ");
    if (found != NULL && log->line == 0 && sscanf(found, "line: %d", &line) == 1)
        log->line = line;
    found = strstr(text, unexpected);
    if (found != NULL)
        snprintf(log->key, sizeof log->key, "%s", found + sizeof unexpected - 1);
    else if (log->message[0] == '\0' && strstr(text, "Backtrace") == NULL)
        snprintf(log->message, sizeof log->message, "%s", strncmp(text, "Load: ", 6) == 0 ? text + 6 : text);
}

/* libcyaml's allocator: size 0 frees. */
static void *yaml_memory(void *context, void *block, size_t bytes)
{
    void *resized = block;

    (void)context;
    if (bytes == 0) {
        gnti_free(block);
        return NULL;
    }
    return gnti_realloc_bytes(&resized, bytes) == GNT_OK ? resized : NULL;
}

/* One optional text field for each row that is an option, and the row that ends the list. */
static gnt_status build_fields(const gnt_option *table, int count, cyaml_schema_field_t **out)
{
    gnt_status st = GNT_OK;
    cyaml_schema_field_t *fields = NULL;
    int n = 0;

    GNT_TRY(gnti_calloc_array(&fields, count + 1));
    for (int i = 0; i < count; i++) {
        if (table[i].kind == GNT_OPTION_KIND_END)
            continue;
        fields[n].key = table[i].name;
        fields[n].data_offset = (uint32_t)((size_t)i * sizeof(char *));
        fields[n].value = (cyaml_schema_value_t){
            .type = CYAML_STRING,
            .flags = (enum cyaml_flag)((unsigned)CYAML_FLAG_OPTIONAL | (unsigned)CYAML_FLAG_POINTER),
            .data_size = sizeof(char),
            .string = { .min = 0, .max = CYAML_UNLIMITED },
        };
        n++;
    }
    *out = fields;
done:
    return st;
}

/* The first line (from 1) at or after `from` that begins with "key:", 0 when there is none. */
static int find_key_line(const char *text, const char *key, int from)
{
    const size_t length = strlen(key);
    int line = 1;

    for (const char *p = text; p != NULL && *p != '\0'; line++) {
        const char *quote = *p == '"' || *p == '\'' ? p++ : NULL;

        if (line >= from && strncmp(p, key, length) == 0 && p[length + (quote != NULL)] == ':')
            return line;
        p = strchr(p, '\n');
        p = p == NULL ? NULL : p + 1;
    }
    return 0;
}

/* A line "---" with anything but comments above it: libcyaml would read the first document and pass over the
 * rest. */
static bool has_second_document(const char *text)
{
    bool content = false;

    while (*text != '\0') {
        const char *begin = text, *end = text + strcspn(text, "\n");

        if (content && strncmp(text, "---", 3) == 0)
            return true;
        text = *end == '\0' ? end : end + 1;
        gnti_trim(&begin, &end);
        content = content || (begin != end && *begin != '#');
    }
    return false;
}

static gnt_status check_repeats(const gnt_option *table, int count, const char *path, const char *text)
{
    gnt_status st = GNT_OK;

    for (int i = 0; i < count; i++) {
        const int line = find_key_line(text, table[i].name, 1);
        const int again = line == 0 ? 0 : find_key_line(text, table[i].name, line + 1);

        GNT_CHECK(again == 0, GNT_ERR_USAGE, "'%s' line %d: '%s' is set already in line %d", path, again,
                  table[i].name, line);
    }
done:
    return st;
}

/* Nothing but blank lines, comments and "---". */
static bool is_empty_document(const char *text)
{
    while (*text != '\0') {
        const char *begin = text, *end = text + strcspn(text, "\n");

        text = *end == '\0' ? end : end + 1;
        gnti_trim(&begin, &end);
        if (begin != end && *begin != '#' && !(end - begin == 3 && memcmp(begin, "---", 3) == 0))
            return false;
    }
    return true;
}

static gnt_status load_failed(const gnt_option *table, const char *path, const char *text, cyaml_err_t error,
                              yaml_log *log)
{
    gnt_status st = GNT_OK;
    char line[32] = "";
    const char *nearest;

    GNT_CHECK(error != CYAML_ERR_OOM, GNT_ERR_NOMEM, "no memory to read '%s'", path);
    if (error == CYAML_ERR_INVALID_KEY) /* libcyaml tells where the mapping begins */
        log->line = find_key_line(text, log->key, 1);
    if (log->line > 0)
        snprintf(line, sizeof line, " line %d", log->line);
    if (error == CYAML_ERR_INVALID_KEY) {
        nearest = gnti_options_nearest(table, log->key);
        GNT_FAIL(GNT_ERR_USAGE, "'%s'%s: unknown option '%s'%s%s%s", path, line, log->key,
                 nearest == NULL ? "" : ", did you mean '", nearest == NULL ? "" : nearest,
                 nearest == NULL ? "" : "'?");
    }
    GNT_CHECK(strncmp(log->message, "Expecting", 9) != 0, GNT_ERR_USAGE,
              "'%s'%s: each line must be 'name: value' with one plain value", path, line);
    GNT_FAIL(GNT_ERR_USAGE, "'%s'%s: %s", path, line,
             log->message[0] == '\0' ? cyaml_strerror(error) : log->message);
done:
    return st;
}

/* Puts one text of the file, found under the option's name, into the struct. */
static gnt_status set_value(const gnt_option *option, void *object, const char *path, const char *text,
                            const char *value)
{
    const int line = find_key_line(text, option->name, 1);
    const gnt_status st = gnti_option_set(option, object, value);

    if (st != GNT_OK && line > 0)
        gnti_error_prefix("'%s' line %d: ", path, line);
    else if (st != GNT_OK)
        gnti_error_prefix("'%s': ", path); /* the {a: b} form: keys begin no line */
    return st;
}

gnt_status gnti_options_from_yaml(const gnt_option *table, void *object, const char *path,
                                  gnti_origin *origin, gnti_origin from)
{
    gnt_status st = GNT_OK;
    const int count = gnti_options_count(table);
    yaml_log log = { .line = 0 };
    const cyaml_config_t config = { .log_fn = keep_message,
                                    .log_ctx = &log,
                                    .mem_fn = yaml_memory,
                                    .log_level = CYAML_LOG_ERROR,
                                    .flags = CYAML_CFG_NO_ALIAS };
    cyaml_schema_value_t schema = { .type = CYAML_MAPPING, .flags = CYAML_FLAG_POINTER };
    cyaml_schema_field_t *fields = NULL;
    cyaml_data_t *values = NULL;
    cyaml_err_t error;
    char *text = NULL;
    size_t length = 0;

    GNT_TRY(gnti_file_read_all(path, MAX_FILE_BYTES, &text, &length));
    GNT_CHECK(strlen(text) == length, GNT_ERR_USAGE, "'%s' has a zero byte: not a text file", path);
    GNT_CHECK(!has_second_document(text), GNT_ERR_USAGE, "'%s' holds a second document behind a line '---'",
              path);
    if (is_empty_document(text))
        goto done;
    GNT_TRY(check_repeats(table, count, path, text));
    GNT_TRY(build_fields(table, count, &fields));
    schema.data_size = (uint32_t)((size_t)count * sizeof(char *));
    schema.mapping.fields = fields;
    error = cyaml_load_data((const uint8_t *)text, length, &config, &schema, &values, NULL);
    if (error != CYAML_OK)
        GNT_TRY(load_failed(table, path, text, error, &log));
    for (int i = 0; i < count; i++) {
        const char *value = ((char *const *)values)[i];

        if (value != NULL)
            GNT_TRY(set_value(&table[i], object, path, text, value));
        if (value != NULL && origin != NULL)
            origin[i] = from;
    }
done:
    (void)cyaml_free(&config, &schema, values, 0);
    gnti_free(fields);
    gnti_free(text);
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
