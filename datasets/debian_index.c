/* SPDX-License-Identifier: Apache-2.0 */
/* Package indexes: stanzas of "Field: value" lines, continued by lines that start with a blank, ended by an empty line.
 * All fields that are needed go into one growing text, so a package is a row of offsets.
 */
#include "datasets/debian.h"

#include <stdlib.h>
#include <string.h>

static const char *const FIELD_NAMES[GNTI_DEBIAN_NUM_FIELDS] = {
    "Package",     "Version", "Architecture", "Status",     "Source",   "Section",
    "Description", "Depends", "Pre-Depends",  "Recommends", "Provides",
};

const char *gnti_debian_get(const gnti_debian_index *index, int64_t package, gnti_debian_field field)
{
    return index->texts.data + index->packages[package].field[field];
}

void gnti_debian_clear(gnti_debian_index *index)
{
    gnti_text_free(&index->texts);
    gnti_free(index->packages);
    memset(index, 0, sizeof *index);
}

/* The field that a line starts, -1: none that is needed. */
static int field_of(const char *line, const char **value)
{
    const char *colon = strchr(line, ':');

    for (int f = 0; colon != NULL && f < GNTI_DEBIAN_NUM_FIELDS; f++) {
        if (strlen(FIELD_NAMES[f]) != (size_t)(colon - line) ||
            strncmp(line, FIELD_NAMES[f], (size_t)(colon - line)) != 0)
            continue;
        *value = colon + 1;
        while (**value == ' ')
            ++*value;
        return f;
    }
    return -1;
}

static void end_field(gnti_text *texts, int field)
{
    if (field >= 0)
        gnti_text_append_bytes(texts, "", 1);
}

/* A package of dpkg's status counts when it is installed, one of an index always. */
static bool is_wanted(const gnti_debian_index *index, const gnti_debian_package *p)
{
    const char *status = index->texts.data + p->field[GNTI_DEBIAN_STATUS];

    return p->field[GNTI_DEBIAN_NAME] != 0 && (status[0] == '\0' || strstr(status, " installed") != NULL);
}

static gnt_status end_stanza(gnti_debian_index *index, int *field, gnti_debian_package *p)
{
    gnt_status st = GNT_OK;

    end_field(&index->texts, *field);
    GNT_TRY(index->texts.status);
    if (is_wanted(index, p)) {
        GNT_TRY(gnti_grow_array(&index->packages, &index->capacity, index->num_packages + 1));
        index->packages[index->num_packages++] = *p;
    }
    *field = -1;
    memset(p, 0, sizeof *p);
done:
    return st;
}

static gnt_status read_line(gnti_debian_index *index, gnti_reader *r, int *field, gnti_debian_package *p)
{
    gnt_status st = GNT_OK;
    gnti_text *texts = &index->texts;
    const char *value = "";

    GNT_CHECK(strlen(r->line) == r->length, GNT_ERR_FORMAT, "%s: a zero byte in a package index",
              gnti_reader_where(r));
    if (r->line[0] == ' ' || r->line[0] == '\t') {
        if (*field >= 0) {
            gnti_text_append(texts, "\n");
            gnti_text_append(texts, r->line);
        }
        goto done;
    }
    GNT_CHECK(strchr(r->line, ':') != NULL, GNT_ERR_FORMAT, "%s: 'Field: value' was expected",
              gnti_reader_where(r));
    end_field(texts, *field);
    *field = field_of(r->line, &value);
    if (*field >= 0) {
        GNT_CHECK(p->field[*field] == 0, GNT_ERR_FORMAT, "%s: a second field '%s'", gnti_reader_where(r),
                  FIELD_NAMES[*field]);
        p->field[*field] = texts->length;
        gnti_text_append(texts, value);
    }
done:
    return st;
}

gnt_status gnti_debian_read(const char *path, gnti_debian_index *index)
{
    gnt_status st = GNT_OK;
    gnti_reader reader = { .source = NULL };
    gnti_debian_package package = { .field = { 0 } };
    int field = -1;

    if (index->texts.length == 0)
        gnti_text_append_bytes(&index->texts, "", 1);
    GNT_TRY(index->texts.status);
    GNT_TRY(gnti_reader_open(path, &reader));
    while (gnti_reader_next(&reader)) {
        if (reader.length == 0)
            GNT_TRY(end_stanza(index, &field, &package));
        else
            GNT_TRY(read_line(index, &reader, &field, &package));
    }
    GNT_TRY(gnti_reader_status(&reader));
    GNT_TRY(end_stanza(index, &field, &package));
done:
    gnti_reader_close(&reader);
    return st;
}

/* ---- versions ---- */

static int order_of(char c)
{
    if (c == '~')
        return -1;
    if (c == '\0' || (c >= '0' && c <= '9'))
        return 0;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return (unsigned char)c;
    return (unsigned char)c + 256;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Letters before other signs, '~' before everything, numbers by value. */
static int compare_part(const char *a, const char *a_end, const char *b, const char *b_end)
{
    while (a < a_end || b < b_end) {
        int first_difference = 0;

        while ((a < a_end && !is_digit(*a)) || (b < b_end && !is_digit(*b))) {
            const int x = order_of(a < a_end ? *a : '\0'), y = order_of(b < b_end ? *b : '\0');

            if (x != y)
                return x - y;
            a += a < a_end;
            b += b < b_end;
        }
        while (a < a_end && *a == '0')
            a++;
        while (b < b_end && *b == '0')
            b++;
        while (a < a_end && is_digit(*a) && b < b_end && is_digit(*b)) {
            first_difference = first_difference != 0 ? first_difference : *a - *b;
            a++;
            b++;
        }
        if (a < a_end && is_digit(*a))
            return 1;
        if (b < b_end && is_digit(*b))
            return -1;
        if (first_difference != 0)
            return first_difference;
    }
    return 0;
}

int gnti_debian_compare_versions(const char *a, const char *b)
{
    const char *a_colon = strchr(a, ':'), *b_colon = strchr(b, ':');
    const int epoch = compare_part(a, a_colon != NULL ? a_colon : a, b, b_colon != NULL ? b_colon : b);
    const char *a_start = a_colon != NULL ? a_colon + 1 : a, *b_start = b_colon != NULL ? b_colon + 1 : b;
    const char *a_dash = strrchr(a_start, '-'), *b_dash = strrchr(b_start, '-');
    const char *a_end = a_start + strlen(a_start), *b_end = b_start + strlen(b_start);
    const int upstream =
        compare_part(a_start, a_dash != NULL ? a_dash : a_end, b_start, b_dash != NULL ? b_dash : b_end);

    if (epoch != 0)
        return epoch;
    if (upstream != 0)
        return upstream;
    return compare_part(a_dash != NULL ? a_dash + 1 : a_end, a_end, b_dash != NULL ? b_dash + 1 : b_end,
                        b_end);
}

/* ---- selection ---- */

/* One package while they are sorted: its number and the texts that decide. */
typedef struct candidate {
    const char *name, *version;
    int64_t number;
} candidate;

/* By name, then the newest version first, then as read. */
static int compare_candidates(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    const int by_name = strcmp(x->name, y->name);
    const int by_version = by_name != 0 ? 0 : gnti_debian_compare_versions(y->version, x->version);

    if (by_name != 0 || by_version != 0)
        return by_name != 0 ? by_name : by_version;
    return (x->number > y->number) - (x->number < y->number);
}

/* The architecture that most packages have, "all" apart; "" without any. */
static gnt_status commonest_architecture(const gnti_debian_index *index, const char **out)
{
    gnt_status st = GNT_OK;
    gnti_string_table names = { NULL, 0, 0, NULL, 0, 0, NULL, 0 };
    int64_t *counts = NULL, best = 0, number;

    GNT_TRY(gnti_calloc_array(&counts, index->num_packages));
    *out = "";
    for (int64_t p = 0; p < index->num_packages; p++) {
        const char *name = gnti_debian_get(index, p, GNTI_DEBIAN_ARCHITECTURE);

        if (strcmp(name, "all") == 0)
            continue;
        GNT_TRY(gnti_string_table_add(&names, name, strlen(name), &number));
        if (++counts[number] > best) {
            best = counts[number];
            *out = name;
        }
    }
done:
    gnti_free(counts);
    gnti_string_table_clear(&names);
    return st;
}

gnt_status gnti_debian_select(gnti_debian_index *index)
{
    gnt_status st = GNT_OK;
    candidate *order = NULL;
    gnti_debian_package *kept = NULL;
    const char *architecture = "";
    int64_t num = 0, num_kept = 0;

    GNT_TRY(commonest_architecture(index, &architecture));
    GNT_TRY(gnti_alloc_array(&order, index->num_packages));
    GNT_TRY(gnti_alloc_array(&kept, index->num_packages));
    for (int64_t p = 0; p < index->num_packages; p++) {
        const char *own = gnti_debian_get(index, p, GNTI_DEBIAN_ARCHITECTURE);

        if (strcmp(own, "all") == 0 || strcmp(own, architecture) == 0)
            order[num++] = (candidate){ gnti_debian_get(index, p, GNTI_DEBIAN_NAME),
                                        gnti_debian_get(index, p, GNTI_DEBIAN_VERSION), p };
    }
    if (num > 0)
        qsort(order, (size_t)num, sizeof *order, compare_candidates);
    for (int64_t i = 0; i < num; i++)
        if (i == 0 || strcmp(order[i].name, order[i - 1].name) != 0)
            kept[num_kept++] = index->packages[order[i].number];
    index->num_stanzas = index->num_packages;
    gnti_free(index->packages);
    index->packages = kept;
    index->num_packages = num_kept;
    kept = NULL; /* handed over */
done:
    gnti_free(kept);
    gnti_free(order);
    return st;
}
