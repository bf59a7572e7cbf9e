/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing by tables. The sections of a verb become one table: row offsets count from the start of the call's block, where
 * the structs lie one behind the other.
 *
 * Values are put in by rank, lowest first: defaults, the user's file ($XDG_CONFIG_HOME/gnntrain/VERB.yaml), --config,
 * GNNTRAIN_VERB_NAME, flags. A flag given twice with two values is an error unless it is a list.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum { MAX_FLAGS = 512, NAME_BYTES = 128, PATH_BYTES = 4096 };

typedef struct flag {
    const gnt_option *row;
    const char *value;
} flag;

static const gnt_option common_options[] = {
    GNT_OPTION_GROUP("General"),
    GNT_OPTION_TEXT("config", cli_common, config, NULL,
                    "YAML file of options; environment and flags overrule it"),
    GNT_OPTION_BOOL("print-config", cli_common, print_config, false,
                    "print each option's value and origin, do nothing"),
    GNT_OPTION_BOOL("json", cli_common, json, false, "print facts as JSON"),
    GNT_OPTION_BOOL("quiet", cli_common, quiet, false, "-q: no messages but errors"),
    GNT_OPTION_TEXT("log", cli_common, log, NULL, "levels of the log, such as info,dist=debug"),
    GNT_OPTION_BOOL("help", cli_common, help, false, "-h: this text"),
    GNT_OPTION_END,
};

const gnt_option *cli_common_table(void)
{
    return common_options;
}

bool cli_is_end(const gnt_option *row)
{
    return row->kind == GNT_OPTION_KIND_END && row->offset == 0;
}

gnt_status cli_call_begin(cli_call *call, const cli_verb *verb)
{
    gnt_status st = GNT_OK;
    size_t start = 0;
    int rows = 0;

    memset(call, 0, sizeof *call);
    call->verb = verb;
    for (int s = 0; s < CLI_MAX_SECTIONS && verb->sections[s].table != NULL; s++) {
        call->starts[s] = start;
        for (const gnt_option *o = verb->sections[s].table(); !cli_is_end(o); o++) {
            if (rows == CLI_MAX_ROWS)
                return gntx_fail(GNT_ERR_INTERNAL, "verb '%s' has more than %d options", verb->name,
                                 CLI_MAX_ROWS);
            call->table[rows] = *o;
            if (o->kind != GNT_OPTION_KIND_END)
                call->table[rows].offset += start;
            rows++;
        }
        start += (verb->sections[s].size + 15) / 16 * 16;
    }
    if (start > CLI_BLOCK_BYTES)
        return gntx_fail(GNT_ERR_INTERNAL, "options of verb '%s' take %zu bytes", verb->name, start);
    call->table[rows] = (gnt_option)GNT_OPTION_END;
    GNT_TRY(gntx_options_defaults(common_options, &call->common));
    GNT_TRY(gntx_options_defaults(call->table, call->block));
done:
    return st;
}

void cli_call_free(cli_call *call)
{
    if (call->verb == NULL)
        return;
    gntx_options_free_texts(call->table, call->block);
    gntx_options_free_texts(common_options, &call->common);
    call->verb = NULL;
}

void *cli_options_of(cli_call *call, int section)
{
    return call->block + call->starts[section];
}

/* The row named by `length` letters of name ('_' counts as '-'), or NULL. */
static const gnt_option *find_row(const gnt_option *table, const char *name, size_t length)
{
    for (const gnt_option *o = table; !cli_is_end(o); o++) {
        size_t i = 0;

        if (o->kind == GNT_OPTION_KIND_END || strlen(o->name) != length)
            continue;
        while (i < length && (name[i] == '_' ? '-' : name[i]) == o->name[i])
            i++;
        if (i == length)
            return o;
    }
    return NULL;
}

bool cli_is_set(const cli_call *call, const char *name)
{
    const gnt_option *row = find_row(call->table, name, strlen(name));

    return row != NULL && call->origin[row - call->table] != GNTX_ORIGIN_DEFAULT;
}

static gnt_status unknown_option(const cli_call *call, const char *what, const char *name)
{
    const char *names[2 * CLI_MAX_ROWS], *nearest;
    size_t count = 0;

    for (const gnt_option *o = call->table; !cli_is_end(o); o++)
        if (o->kind != GNT_OPTION_KIND_END)
            names[count++] = o->name;
    for (const gnt_option *o = common_options; !cli_is_end(o); o++)
        if (o->kind != GNT_OPTION_KIND_END)
            names[count++] = o->name;
    nearest = gntx_name_nearest(names, count, name);
    return gntx_fail(
        GNT_ERR_USAGE, "unknown %s%s%s%s%s", what, nearest == NULL ? "" : ", did you mean --",
        nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?",
        strstr(call->verb->arguments, "-- train") == NULL ? "" : "; options of train stand behind --");
}

static const char *long_name_of(char letter)
{
    return letter == 'o' ? "output" : letter == 'q' ? "quiet" : letter == 'h' ? "help" : NULL;
}

/* "--name=value", "--name value", "--name" of a switch, "-o value". *i moves over what was taken. */
static gnt_status read_flag(const cli_call *call, int argc, char **argv, int *i, flag *out)
{
    const char *word = argv[*i], *name = word + 2, *equals = strchr(word, '=');
    const char *shown = word;
    char text[NAME_BYTES];
    size_t length;

    if (word[1] != '-') {
        name = word[2] == '\0' ? long_name_of(word[1]) : NULL;
        equals = NULL;
        if (name == NULL)
            return gntx_fail(GNT_ERR_USAGE, "unknown option '%s': use two dashes for long names", word);
    }
    length = equals == NULL ? strlen(name) : (size_t)(equals - name);
    snprintf(text, sizeof text, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1), name);
    out->row = find_row(call->table, name, length);
    if (out->row == NULL)
        out->row = find_row(common_options, name, length);
    if (out->row == NULL) {
        char what[NAME_BYTES + 16];

        snprintf(what, sizeof what, "option '%.*s'", (int)(equals == NULL ? NAME_BYTES : equals - word),
                 shown);
        return unknown_option(call, what, text);
    }
    if (equals != NULL)
        out->value = equals + 1;
    else if (out->row->kind == GNT_OPTION_KIND_BOOL)
        out->value = "true";
    else if (*i + 1 < argc)
        out->value = argv[++*i];
    else
        return gntx_fail(GNT_ERR_USAGE, "option '--%s' needs a value (%s)", out->row->name, out->row->help);
    return GNT_OK;
}

/* Sorts argv into flags and arguments; the arguments are moved to the front of argv. */
static gnt_status read_words(cli_call *call, int argc, char **argv, flag *flags, int *num_flags)
{
    gnt_status st = GNT_OK;
    bool only_arguments = false;

    call->arguments = argv;
    call->no_arguments_at_all = argc == 0;
    for (int i = 0; i < argc; i++) {
        if (!only_arguments && strcmp(argv[i], "--") == 0) {
            only_arguments = true;
        } else if (only_arguments || argv[i][0] != '-' || argv[i][1] == '\0') {
            argv[call->num_arguments++] = argv[i];
        } else {
            if (*num_flags == MAX_FLAGS)
                return gntx_fail(GNT_ERR_USAGE, "more than %d options", MAX_FLAGS);
            GNT_TRY(read_flag(call, argc, argv, &i, &flags[*num_flags]));
            ++*num_flags;
        }
    }
done:
    return st;
}

static bool is_common(const gnt_option *row)
{
    return row >= common_options && row < common_options + sizeof common_options / sizeof common_options[0];
}

/* A list grows, one value given twice is fine, two values are not. */
static gnt_status set_flag(cli_call *call, const flag *f)
{
    const ptrdiff_t index = f->row - call->table;
    char before[PATH_BYTES], joined[2 * PATH_BYTES];
    gnt_status st = GNT_OK;

    if (is_common(f->row)) {
        st = gntx_option_set(f->row, &call->common, f->value);
        return st;
    }
    if (call->origin[index] != GNTX_ORIGIN_FLAG) {
        GNT_TRY(gntx_option_set(f->row, call->block, f->value));
    } else if (f->row->kind == GNT_OPTION_KIND_LIST) {
        GNT_TRY(gntx_option_get(f->row, call->block, before, sizeof before));
        snprintf(joined, sizeof joined, "%s,%s", before, f->value);
        GNT_TRY(gntx_option_set(f->row, call->block, joined));
    } else {
        char after[PATH_BYTES];

        GNT_TRY(gntx_option_get(f->row, call->block, before, sizeof before));
        GNT_TRY(gntx_option_set(f->row, call->block, f->value));
        GNT_TRY(gntx_option_get(f->row, call->block, after, sizeof after));
        if (strcmp(before, after) != 0)
            return gntx_fail(GNT_ERR_USAGE, "option '--%s' is given twice: '%s' and '%s'", f->row->name,
                             before, after);
    }
    call->origin[index] = GNTX_ORIGIN_FLAG;
done:
    return st;
}

static void lower_name(const char *upper, size_t length, char out[NAME_BYTES])
{
    size_t i = 0;

    for (; i < length && i < NAME_BYTES - 1; i++)
        out[i] = upper[i] == '_'
                     ? '-'
                     : (char)(upper[i] >= 'A' && upper[i] <= 'Z' ? upper[i] - 'A' + 'a' : upper[i]);
    out[i] = '\0';
}

bool cli_is_library_variable(const char *entry)
{
    static const char *const names[] = { "GNNTRAIN_LOG=", "GNNTRAIN_THREADS=", "GNNTRAIN_LIBEXEC=",
                                         "GNNTRAIN_PLUGIN_DIR=" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(entry, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* GNNTRAIN_TRAIN_EPOCHS=5; a name behind our verb that is no option is an error, as a flag would be. */
static gnt_status read_environment(cli_call *call)
{
    char prefix[NAME_BYTES], name[NAME_BYTES], what[2 * NAME_BYTES], key[NAME_BYTES / 2];
    size_t length;

    cli_verb_key(call->verb, '_', key, sizeof key);
    snprintf(prefix, sizeof prefix, "GNNTRAIN_%s_", key);
    for (char *p = prefix; *p != '\0'; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    length = strlen(prefix);
    for (char **e = environ; *e != NULL; e++) {
        const char *equals = strchr(*e, '=');
        const gnt_option *row;
        gnt_status st;

        if (strncmp(*e, prefix, length) != 0 || equals == NULL || cli_is_library_variable(*e))
            continue;
        lower_name(*e + length, (size_t)(equals - *e) - length, name);
        snprintf(what, sizeof what, "environment variable %.*s", (int)(equals - *e), *e);
        row = find_row(call->table, name, strlen(name));
        if (row == NULL)
            return unknown_option(call, what, name);
        st = gntx_option_set(row, call->block, equals + 1);
        if (st != GNT_OK) {
            gntx_error_prefix("%s: ", what);
            return st;
        }
        call->origin[row - call->table] = GNTX_ORIGIN_ENVIRONMENT;
    }
    return GNT_OK;
}

/* The user's own defaults, when there are any. */
static gnt_status read_user_file(cli_call *call)
{
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    char path[PATH_BYTES], key[NAME_BYTES];
    int n;

    cli_verb_key(call->verb, '-', key, sizeof key);
    if (base != NULL && base[0] != '\0')
        n = snprintf(path, sizeof path, "%s/gnntrain/%s.yaml", base, key);
    else if (home != NULL && home[0] != '\0')
        n = snprintf(path, sizeof path, "%s/.config/gnntrain/%s.yaml", home, key);
    else
        return GNT_OK;
    if (n < 0 || (size_t)n >= sizeof path || access(path, F_OK) != 0)
        return GNT_OK;
    return gntx_options_from_yaml(call->table, call->block, path, call->origin, GNTX_ORIGIN_USER_FILE);
}

gnt_status cli_call_parse(cli_call *call, int argc, char **argv)
{
    gnt_status st = GNT_OK;
    static flag flags[MAX_FLAGS];
    int num_flags = 0;

    GNT_TRY(read_words(call, argc, argv, flags, &num_flags));
    for (int i = 0; i < num_flags; i++)
        if (is_common(flags[i].row))
            GNT_TRY(set_flag(call, &flags[i]));
    if (call->common.help)
        return GNT_OK;
    GNT_TRY(read_user_file(call));
    if (call->common.config != NULL)
        GNT_TRY(gntx_options_from_yaml(call->table, call->block, call->common.config, call->origin,
                                       GNTX_ORIGIN_CONFIG_FILE));
    GNT_TRY(read_environment(call));
    for (int i = 0; i < num_flags; i++)
        if (!is_common(flags[i].row))
            GNT_TRY(set_flag(call, &flags[i]));
done:
    return st;
}

gnt_status cli_config_text(const cli_call *call, char **out)
{
    return gntx_options_to_yaml(call->table, call->block, call->origin, out);
}
