/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that every Debian machine has: its package index.
 *
 * Nodes are packages (one architecture, the newest version of each name, in the order of names), edges their Depends,
 * Pre-Depends and Recommends, the label is the section without its area, features are the words of the description
 * (debian_words.c). Of alternatives "a | b" the first that exists counts; a virtual package stands for the first
 * MAX_PROVIDERS packages that provide it. apt's lists are read when there are any, else what dpkg says is installed;
 * `--format debian FILE...` reads other files of these kinds.
 * Split: of each section TRAIN_SHARE percent for training, VALID_SHARE for validation, the rest for test; with few
 * packages more.
 */
#include "datasets/debian.h"

#include "base/file.h"
#include "base/philox.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char LISTS[] = "/var/lib/apt/lists", STATUS[] = "/var/lib/dpkg/status";
enum {
    MAX_PROVIDERS = 3,
    TRAIN_SHARE = 2,
    VALID_SHARE = 3,
    FEW_PACKAGES = 5000,
    FEW_SHARE = 20,
    SPLIT_SEED = 1
};

/* ---- files ---- */

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Paths of apt's package lists, sorted; none where there are no lists. */
static gnt_status find_lists(char ***out, int64_t *num)
{
    gnt_status st = GNT_OK;
    DIR *dir = opendir(LISTS);
    int64_t capacity = 0;

    for (const struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (strstr(e->d_name, "_binary-") == NULL || !gnti_import_has_suffix(e->d_name, "_Packages"))
            continue;
        GNT_TRY(gnti_grow_array(out, &capacity, *num + 1));
        GNT_TRY(gnti_path_join(LISTS, e->d_name, &(*out)[*num]));
        ++*num;
    }
    if (*num > 1)
        qsort(*out, (size_t)*num, sizeof **out, compare_paths);
done:
    if (dir != NULL)
        closedir(dir);
    return st;
}

static gnt_status read_machine(gnti_debian_index *index, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    char **lists = NULL;
    int64_t num_lists = 0;

    GNT_TRY(find_lists(&lists, &num_lists));
    for (int64_t i = 0; i < num_lists; i++) {
        GNT_TRY(gnti_debian_read(lists[i], index));
        gnti_import_note_input(raw, lists[i]);
    }
    if (index->num_packages == 0) {
        GNT_TRY(gnti_debian_read(STATUS, index));
        gnti_import_note_input(raw, STATUS);
        gnti_text_append(&raw->notes,
                         "apt has no package lists, only installed packages are read: 'apt-get update' loads "
                         "the lists\n");
    }
done:
    for (int64_t i = 0; i < num_lists; i++)
        gnti_free(lists[i]);
    gnti_free(lists);
    return st;
}

/* ---- edges ---- */

/* Which packages provide a virtual one: chains through `next`. */
typedef struct providers {
    gnti_string_table names;
    int64_t *first, *last, first_capacity, last_capacity; /* by virtual name, -1: none */
    int64_t *package, *next, num, package_capacity, next_capacity;
} providers;

static void providers_clear(providers *v)
{
    gnti_string_table_clear(&v->names);
    gnti_free(v->first);
    gnti_free(v->last);
    gnti_free(v->package);
    gnti_free(v->next);
}

/* The next name of a dependency list: *at moves behind it, *ends_group tells whether alternatives end there. */
static bool next_name(const char **at, const char **name, size_t *length, bool *ends_group)
{
    const char *p = *at;

    while (*p == ' ' || *p == '\n' || *p == '\t')
        p++;
    if (*p == '\0')
        return false;
    *name = p;
    *length = strcspn(p, " ,|:(\n\t");
    p += *length;
    p += strcspn(p, ",|");
    *ends_group = *p != '|';
    *at = *p != '\0' ? p + 1 : p;
    return true;
}

static gnt_status add_provider(providers *v, const char *name, size_t length, int64_t package)
{
    gnt_status st = GNT_OK;
    const int64_t known = v->names.num_strings;
    int64_t n;

    GNT_TRY(gnti_string_table_add(&v->names, name, length, &n));
    GNT_TRY(gnti_grow_array(&v->first, &v->first_capacity, n + 1));
    GNT_TRY(gnti_grow_array(&v->last, &v->last_capacity, n + 1));
    GNT_TRY(gnti_grow_array(&v->package, &v->package_capacity, v->num + 1));
    GNT_TRY(gnti_grow_array(&v->next, &v->next_capacity, v->num + 1));
    v->package[v->num] = package;
    v->next[v->num] = -1;
    if (n == known)
        v->first[n] = v->num;
    else
        v->next[v->last[n]] = v->num;
    v->last[n] = v->num++;
done:
    return st;
}

static gnt_status find_providers(const gnti_debian_index *index, providers *v)
{
    gnt_status st = GNT_OK;
    const char *name;
    size_t length;
    bool ends;

    for (int64_t p = 0; p < index->num_packages; p++) {
        const char *list = gnti_debian_get(index, p, GNTI_DEBIAN_PROVIDES);

        while (next_name(&list, &name, &length, &ends))
            if (length > 0)
                GNT_TRY(add_provider(v, name, length, p));
    }
done:
    return st;
}

/* Arcs to what a name stands for; *found tells whether there is any. */
static gnt_status add_target(const providers *v, int64_t package, const char *name, size_t length,
                             gnti_raw *raw, bool *found)
{
    gnt_status st = GNT_OK;
    const int64_t real = gnti_string_table_find(&raw->names, name, length);
    const int64_t virtual_name = real >= 0 ? -1 : gnti_string_table_find(&v->names, name, length);

    if (real >= 0) {
        GNT_TRY(gnti_raw_add_arc(raw, package, real));
        *found = true;
    }
    if (virtual_name >= 0) {
        int64_t link = v->first[virtual_name];

        for (int i = 0; i < MAX_PROVIDERS && link >= 0; i++, link = v->next[link])
            GNT_TRY(gnti_raw_add_arc(raw, package, v->package[link]));
        *found = true;
    }
done:
    return st;
}

static gnt_status add_dependencies(const providers *v, int64_t package, const char *list, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const char *name;
    size_t length;
    bool ends = true, found = false;

    while (next_name(&list, &name, &length, &ends)) {
        if (!found)
            GNT_TRY(add_target(v, package, name, length, raw, &found));
        raw->num_dropped += ends && !found;
        found = found && !ends;
    }
done:
    return st;
}

static gnt_status add_edges(const gnti_debian_index *index, gnti_raw *raw)
{
    static const gnti_debian_field fields[] = { GNTI_DEBIAN_DEPENDS, GNTI_DEBIAN_PRE_DEPENDS,
                                                GNTI_DEBIAN_RECOMMENDS };
    gnt_status st = GNT_OK;
    providers v = { .num = 0 };

    GNT_TRY(find_providers(index, &v));
    for (int64_t p = 0; p < index->num_packages; p++)
        for (int f = 0; f < 3; f++)
            GNT_TRY(add_dependencies(&v, p, gnti_debian_get(index, p, fields[f]), raw));
    if (raw->num_dropped > 0)
        gnti_text_printf(&raw->notes, "%lld dependencies name no package of the index and were left out\n",
                         (long long)raw->num_dropped);
done:
    providers_clear(&v);
    return st;
}

/* ---- nodes and split ---- */

static gnt_status add_nodes(const gnti_debian_index *index, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    int64_t number;

    raw->id_rule = GNTI_IDS_TEXT;
    for (int64_t p = 0; p < index->num_packages; p++) {
        const char *name = gnti_debian_get(index, p, GNTI_DEBIAN_NAME);
        const char *section = gnti_debian_get(index, p, GNTI_DEBIAN_SECTION), *slash = strrchr(section, '/');

        GNT_TRY(gnti_string_table_add(&raw->names, name, strlen(name), &number));
        section = slash != NULL ? slash + 1 : section;
        GNT_TRY(gnti_raw_add_label(raw, section, strlen(section)));
    }
done:
    return st;
}

/* A package in the lottery of its section. */
typedef struct ticket {
    int64_t section, node;
    uint32_t draw;
} ticket;

static int compare_tickets(const void *a, const void *b)
{
    const ticket *x = a, *y = b;

    if (x->section != y->section)
        return x->section < y->section ? -1 : 1;
    if (x->draw != y->draw)
        return x->draw < y->draw ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* How many of a section: a share in percent, rounded, at least one. */
static int64_t share_of(int64_t count, int64_t percent)
{
    return gnti_max_i64((count * percent + 50) / 100, 1);
}

static gnt_status deal(const ticket *tickets, int64_t count, int64_t num_nodes, gnti_split *split)
{
    gnt_status st = GNT_OK;
    const bool few = num_nodes < FEW_PACKAGES;
    const int64_t train = share_of(count, few ? FEW_SHARE : TRAIN_SHARE);
    const int64_t valid = share_of(count, few ? FEW_SHARE : VALID_SHARE);

    for (int64_t i = 0; i < count; i++)
        GNT_TRY(gnti_split_add(split,
                               i < train           ? GNTI_TRAIN
                               : i < train + valid ? GNTI_VALID
                                                   : GNTI_TEST,
                               tickets[i].node));
done:
    return st;
}

static gnt_status add_split(gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    const gnti_philox_key key = gnti_seed_key(SPLIT_SEED);
    ticket *tickets = NULL;
    gnti_split *split = NULL;
    int64_t num = 0, end;

    GNT_TRY(gnti_alloc_array(&tickets, raw->y.count));
    for (int64_t n = 0; n < raw->y.count; n++)
        if (raw->y.value[n] >= 0)
            tickets[num++] = (ticket){ raw->y.value[n], n, gnti_draw_word(key, GNTI_DRAW_SPLIT, 0, 0, n, 0) };
    if (num > 0)
        qsort(tickets, (size_t)num, sizeof *tickets, compare_tickets);
    GNT_TRY(gnti_raw_add_split(raw, "public", "gnntrain import debian", &split));
    split->seed = SPLIT_SEED;
    for (int64_t begin = 0; begin < num; begin = end) {
        for (end = begin + 1; end < num && tickets[end].section == tickets[begin].section;)
            end++;
        GNT_TRY(deal(tickets + begin, end - begin, raw->y.count, split));
    }
done:
    gnti_free(tickets);
    return st;
}

/* "debian" alone, unless there is such a file. */
static bool is_machine(const gnti_import_input *in)
{
    return in->num_paths == 1 && strcmp(in->paths[0], "debian") == 0 && !gnti_file_exists("debian");
}

static gnt_status debian_matches(const gnti_import_input *in, bool *out)
{
    *out = is_machine(in);
    return GNT_OK;
}

static gnt_status debian_read(const gnti_import_input *in, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    gnti_debian_index index = { .num_packages = 0 };

    if (is_machine(in))
        GNT_TRY(read_machine(&index, raw));
    for (int i = 0; i < in->num_paths && !is_machine(in); i++) {
        GNT_CHECK(strcmp(in->paths[i], "-") != 0, GNT_ERR_USAGE,
                  "format debian reads files, not standard input");
        GNT_TRY(gnti_debian_read(in->paths[i], &index));
        if (in->source == NULL)
            gnti_import_note_input(raw, in->paths[i]);
    }
    GNT_TRY(gnti_debian_select(&index));
    GNT_CHECK(index.num_packages > 0, GNT_ERR_FORMAT, "there are no packages in the index of '%s'",
              in->paths[0]);
    gnti_text_printf(&raw->notes, "%lld entries of the index are %lld packages\n",
                     (long long)index.num_stanzas, (long long)index.num_packages);
    GNT_TRY(add_nodes(&index, raw));
    GNT_TRY(add_edges(&index, raw));
    GNT_TRY(gnti_debian_words(&index, raw));
    GNT_TRY(add_split(raw));
done:
    gnti_debian_clear(&index);
    return st;
}

const gnti_importer gnti_import_debian = {
    .name = "debian",
    .matches = debian_matches,
    .read = debian_read,
};
