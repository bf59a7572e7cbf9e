/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: defaults, strict parsing, printing, names.
 *
 * Every value passes gnti_option_set as text, whether it came from a flag, the environment, a YAML file or a
 * model's text, so all sources share one check and one error text. A table ends with an END row of offset 0;
 * an END row of offset 1 is a heading.
 */
#include "base/option.h"

#include "base/alloc.h"
#include "base/name.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_end(const gnt_option *o)
{
    return o->kind == GNT_OPTION_KIND_END && o->offset == 0;
}

static bool is_text(const gnt_option *o)
{
    return o->kind == GNT_OPTION_KIND_TEXT || o->kind == GNT_OPTION_KIND_LIST;
}

static void *member(const gnt_option *o, void *object)
{
    return (char *)object + o->offset;
}

static const void *const_member(const gnt_option *o, const void *object)
{
    return (const char *)object + o->offset;
}

int gnti_options_count(const gnt_option *table)
{
    int n = 0;

    while (!is_end(&table[n]))
        n++;
    return n;
}

static int64_t to_int64(double number)
{
    if (number >= 9223372036854775808.0)
        return INT64_MAX;
    return number < -9223372036854775808.0 ? INT64_MIN : (int64_t)number;
}

static gnt_status replace_text(const gnt_option *o, void *object, const char *text)
{
    gnt_status st = GNT_OK;
    char **slot = member(o, object);
    char *copy = NULL;

    if (text != NULL)
        GNT_TRY(gnti_strdup(&copy, text));
    gnti_free(*slot);
    *slot = copy;
done:
    return st;
}

gnt_status gnti_options_defaults(const gnt_option *table, void *object)
{
    gnt_status st = GNT_OK;

    for (const gnt_option *o = table; !is_end(o); o++)
        if (is_text(o))
            *(char **)member(o, object) = NULL; /* a failure below leaves nothing wild */
    for (const gnt_option *o = table; !is_end(o); o++) {
        switch (o->kind) {
        case GNT_OPTION_KIND_BOOL:
            *(bool *)member(o, object) = o->default_number > 0.0;
            break;
        case GNT_OPTION_KIND_INT:
            *(int64_t *)member(o, object) = to_int64(o->default_number);
            break;
        case GNT_OPTION_KIND_FLOAT:
            *(float *)member(o, object) = (float)o->default_number;
            break;
        case GNT_OPTION_KIND_DOUBLE:
            *(double *)member(o, object) = o->default_number;
            break;
        case GNT_OPTION_KIND_WORD:
            *(int32_t *)member(o, object) = (int32_t)o->default_number;
            break;
        case GNT_OPTION_KIND_TEXT:
        case GNT_OPTION_KIND_LIST:
            GNT_TRY(replace_text(o, object, o->default_text));
            break;
        case GNT_OPTION_KIND_END:
            break;
        }
    }
done:
    if (st != GNT_OK)
        gnti_options_free_texts(table, object);
    return st;
}

void gnti_options_free_texts(const gnt_option *table, void *object)
{
    for (const gnt_option *o = table; !is_end(o); o++) {
        if (!is_text(o))
            continue;
        gnti_free(*(char **)member(o, object));
        *(char **)member(o, object) = NULL;
    }
}

static char fold(char c)
{
    return c == '_' ? '-' : c;
}

static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && fold(*a) == fold(*b)) {
        a++;
        b++;
    }
    return fold(*a) == fold(*b);
}

const gnt_option *gnti_options_find(const gnt_option *table, const char *name)
{
    for (const gnt_option *o = table; !is_end(o); o++)
        if (o->kind != GNT_OPTION_KIND_END && same_name(o->name, name))
            return o;
    return NULL;
}

const char *gnti_options_nearest(const gnt_option *table, const char *name)
{
    const char *best = NULL;
    int best_distance = 0;

    for (const gnt_option *o = table; !is_end(o); o++) {
        if (o->kind == GNT_OPTION_KIND_END)
            continue;
        const int distance = gnti_name_distance(o->name, name);

        if (gnti_name_is_near(o->name, name) && (best == NULL || distance < best_distance)) {
            best = o->name;
            best_distance = distance;
        }
    }
    return best;
}

static gnt_status bad_number(const gnt_option *o, const char *text, const char *what)
{
    char min[GNTI_NUMBER_BYTES], max[GNTI_NUMBER_BYTES];

    if (o->kind == GNT_OPTION_KIND_INT) {
        snprintf(min, sizeof min, "%lld", (long long)to_int64(o->min));
        snprintf(max, sizeof max, "%lld", (long long)to_int64(o->max));
    } else {
        gnti_format_double(o->min, min);
        gnti_format_double(o->max, max);
    }
    return gnti_error_set(GNT_ERR_USAGE, __FILE__, __LINE__, __func__,
                          "option '%s': '%s' is not %s from %s to %s", o->name, text, what, min, max);
}

static gnt_status set_int(const gnt_option *o, int64_t *out, const char *text)
{
    int64_t value = 0;

    if (gnti_parse_int64(text, strlen(text), &value) != GNTI_PARSE_OK || value < to_int64(o->min) ||
        value > to_int64(o->max))
        return bad_number(o, text, "a whole number");
    *out = value;
    return GNT_OK;
}

static gnt_status parse_real(const gnt_option *o, const char *text, double *out)
{
    double value = 0.0;

    if (gnti_parse_double(text, strlen(text), &value) != GNTI_PARSE_OK ||
        !(value >= o->min && value <= o->max))
        return bad_number(o, text, "a number");
    *out = value;
    return GNT_OK;
}

static gnt_status set_bool(const gnt_option *o, bool *out, const char *text)
{
    static const char *const yes[] = { "true", "yes", "on", "1" }, *const no[] = { "false", "no", "off",
                                                                                   "0" };

    for (size_t i = 0; i < 4; i++) {
        if (strcmp(text, yes[i]) == 0 || strcmp(text, no[i]) == 0) {
            *out = strcmp(text, yes[i]) == 0;
            return GNT_OK;
        }
    }
    return gnti_error_set(GNT_ERR_USAGE, __FILE__, __LINE__, __func__,
                          "option '%s': '%s' is neither true nor false", o->name, text);
}

/* The index of text in "a|b|c", -1 if it is none of them. */
static int32_t find_word(const char *words, const char *text)
{
    const size_t length = strlen(text);
    int32_t index = 0;

    for (const char *w = words; w != NULL; index++) {
        const char *bar = strchr(w, '|');
        const size_t n = bar == NULL ? strlen(w) : (size_t)(bar - w);

        if (n == length && memcmp(w, text, n) == 0)
            return index;
        w = bar == NULL ? NULL : bar + 1;
    }
    return -1;
}

/* "did you mean 'adam'?" behind the list, where a word is near. */
static gnt_status unknown_word(const gnt_option *o, const char *text)
{
    enum { MAX_WORDS = 32, ALL_BYTES = 512 };
    char all[ALL_BYTES];
    const char *words[MAX_WORDS], *nearest = NULL;
    size_t num = 0;

    if (snprintf(all, sizeof all, "%s", o->words) < (int)sizeof all) {
        for (char *w = all; w != NULL && num < MAX_WORDS; num++) {
            char *bar = strchr(w, '|');

            words[num] = w;
            if (bar != NULL)
                *bar = '\0';
            w = bar == NULL ? NULL : bar + 1;
        }
        nearest = gnti_name_nearest(words, num, text);
    }
    return gnti_error_set(GNT_ERR_USAGE, __FILE__, __LINE__, __func__,
                          "option '%s': '%s' is not one of %s%s%s%s", o->name, text, o->words,
                          nearest == NULL ? "" : ": did you mean '", nearest == NULL ? "" : nearest,
                          nearest == NULL ? "" : "'?");
}

static gnt_status set_word(const gnt_option *o, int32_t *out, const char *text)
{
    const int32_t index = find_word(o->words, text);

    if (index < 0)
        return unknown_word(o, text);
    *out = index;
    return GNT_OK;
}

gnt_status gnti_option_set(const gnt_option *option, void *object, const char *text)
{
    gnt_status st = GNT_OK;
    double number = 0.0;

    switch (option->kind) {
    case GNT_OPTION_KIND_BOOL:
        GNT_TRY(set_bool(option, member(option, object), text));
        break;
    case GNT_OPTION_KIND_INT:
        GNT_TRY(set_int(option, member(option, object), text));
        break;
    case GNT_OPTION_KIND_FLOAT:
        GNT_TRY(parse_real(option, text, &number));
        *(float *)member(option, object) = (float)number;
        break;
    case GNT_OPTION_KIND_DOUBLE:
        GNT_TRY(parse_real(option, text, &number));
        *(double *)member(option, object) = number;
        break;
    case GNT_OPTION_KIND_WORD:
        GNT_TRY(set_word(option, member(option, object), text));
        break;
    case GNT_OPTION_KIND_TEXT:
    case GNT_OPTION_KIND_LIST:
        GNT_TRY(replace_text(option, object, text));
        break;
    case GNT_OPTION_KIND_END:
        GNT_FAIL(GNT_ERR_ARG, "'%s' is a heading, not an option", option->name);
    }
done:
    return st;
}

static void word_at(const char *words, int32_t index, char *out, size_t out_bytes)
{
    const char *w = words;

    for (int32_t i = 0; i < index && w != NULL; i++) {
        w = strchr(w, '|');
        w = w == NULL ? NULL : w + 1;
    }
    snprintf(out, out_bytes, "%.*s", w == NULL ? 0 : (int)strcspn(w, "|"), w == NULL ? "" : w);
}

gnt_status gnti_option_get(const gnt_option *option, const void *object, char *out, size_t out_bytes)
{
    gnt_status st = GNT_OK;
    const void *m = const_member(option, object);
    char number[GNTI_NUMBER_BYTES] = "", word[64] = "";
    const char *value = number;

    switch (option->kind) {
    case GNT_OPTION_KIND_BOOL:
        value = *(const bool *)m ? "true" : "false";
        break;
    case GNT_OPTION_KIND_INT:
        snprintf(number, sizeof number, "%lld", (long long)*(const int64_t *)m);
        break;
    case GNT_OPTION_KIND_FLOAT:
        gnti_format_float(*(const float *)m, number);
        break;
    case GNT_OPTION_KIND_DOUBLE:
        gnti_format_double(*(const double *)m, number);
        break;
    case GNT_OPTION_KIND_WORD:
        word_at(option->words, *(const int32_t *)m, word, sizeof word);
        value = word;
        break;
    case GNT_OPTION_KIND_TEXT:
    case GNT_OPTION_KIND_LIST:
        value = *(char *const *)m == NULL ? "" : *(char *const *)m;
        break;
    case GNT_OPTION_KIND_END:
        GNT_FAIL(GNT_ERR_ARG, "'%s' is a heading, not an option", option->name);
    }
    GNT_CHECK(strlen(value) < out_bytes, GNT_ERR_LIMIT, "option '%s': a value of %zu bytes, room for %zu",
              option->name, strlen(value), out_bytes - 1);
    memcpy(out, value, strlen(value) + 1);
done:
    return st;
}

gnt_status gnti_options_from_environment(const gnt_option *table, void *object, const char *prefix,
                                         gnti_origin *origin)
{
    gnt_status st = GNT_OK;
    char name[128];

    for (const gnt_option *o = table; !is_end(o); o++) {
        const char *value;

        if (o->kind == GNT_OPTION_KIND_END)
            continue;
        snprintf(name, sizeof name, "%s_%s", prefix, o->name);
        for (char *p = name + strlen(prefix); *p != '\0'; p++)
            *p = *p == '-' ? '_' : (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
        value = getenv(name);
        if (value == NULL)
            continue;
        st = gnti_option_set(o, object, value);
        if (st != GNT_OK)
            gnti_error_prefix("environment variable %s: ", name);
        GNT_TRY(st);
        if (origin != NULL)
            origin[o - table] = GNTI_ORIGIN_ENVIRONMENT;
    }
done:
    return st;
}
