/* SPDX-License-Identifier: Apache-2.0 */
/* Features of packages: the words of their descriptions.
 *
 * A word is a run of at least MIN_LETTERS letters a-z, case folded. Words of the package's own name and of its source's
 * name do not count, since names give the section away (libfoo-dev). Words of fewer than MIN_PACKAGES descriptions are
 * dropped. A row has the same value in each of its words and length 1; columns are in alphabetical order. Weights by
 * rarity, log(N / packages with the word), were tried and cost test accuracy: 58.8 against 62.7 % for a GCN, 33.7 against
 * 41.4 % for an MLP (hidden 64, 100 epochs, Debian 12's lists).
 */
#include "datasets/debian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_LETTERS = 2, MIN_PACKAGES = 5, MAX_WORD = 64, MAX_OWN_WORDS = 64 };

typedef struct word_table {
    gnti_string_table words;
    int64_t *uses, uses_capacity;         /* (words) descriptions with the word */
    int64_t *seen, seen_capacity;         /* (words) the last package that was counted, + 1 */
    int64_t *use, num_uses, use_capacity; /* word numbers of all packages, one after the other */
    int64_t *row_end;                     /* (packages) end of each package's words */
    int64_t *column;                      /* (words) column, -1: dropped */
    int64_t num_columns;
} word_table;

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The next word, folded to lower case; 0 at the end. Longer ones are cut. */
static size_t next_word(const char **at, char word[MAX_WORD])
{
    const char *p = *at;
    size_t n = 0;

    while (*p != '\0' && !is_letter(*p))
        p++;
    for (; is_letter(*p); p++)
        if (n < MAX_WORD)
            word[n++] = (char)(*p | 0x20);
    *at = p;
    return n;
}

/* Whether a word stands in a name. */
static bool name_has(const char *name, const char *word, size_t length)
{
    char own[MAX_WORD];

    for (size_t n = next_word(&name, own); n > 0; n = next_word(&name, own))
        if (n == length && memcmp(own, word, length) == 0)
            return true;
    return false;
}

/* Counts a word of a package once. */
static gnt_status count_word(word_table *t, const char *word, size_t length, int64_t package)
{
    gnt_status st = GNT_OK;
    const int64_t known = t->words.num_strings;
    int64_t number;

    GNT_TRY(gnti_string_table_add(&t->words, word, length, &number));
    GNT_TRY(gnti_grow_array(&t->seen, &t->seen_capacity, number + 1));
    GNT_TRY(gnti_grow_array(&t->uses, &t->uses_capacity, number + 1));
    if (number == known)
        t->seen[number] = t->uses[number] = 0;
    if (t->seen[number] == package + 1)
        goto done;
    GNT_TRY(gnti_grow_array(&t->use, &t->use_capacity, t->num_uses + 1));
    t->seen[number] = package + 1;
    t->uses[number]++;
    t->use[t->num_uses++] = number;
done:
    return st;
}

static gnt_status count_package(const gnti_debian_index *index, int64_t p, word_table *t)
{
    gnt_status st = GNT_OK;
    const char *text = gnti_debian_get(index, p, GNTI_DEBIAN_DESCRIPTION);
    const char *name = gnti_debian_get(index, p, GNTI_DEBIAN_NAME);
    const char *source = gnti_debian_get(index, p, GNTI_DEBIAN_SOURCE);
    char word[MAX_WORD];

    for (size_t n = next_word(&text, word); n > 0; n = next_word(&text, word))
        if (n >= MIN_LETTERS && !name_has(name, word, n) && !name_has(source, word, n))
            GNT_TRY(count_word(t, word, n, p));
    t->row_end[p] = t->num_uses;
done:
    return st;
}

/* A word while columns are given out. */
typedef struct word_order {
    const char *text;
    int64_t number;
} word_order;

static int compare_words(const void *a, const void *b)
{
    return strcmp(((const word_order *)a)->text, ((const word_order *)b)->text);
}

static gnt_status give_columns(word_table *t)
{
    gnt_status st = GNT_OK;
    word_order *order = NULL;

    GNT_TRY(gnti_alloc_array(&t->column, t->words.num_strings));
    GNT_TRY(gnti_alloc_array(&order, t->words.num_strings));
    for (int64_t w = 0; w < t->words.num_strings; w++) {
        t->column[w] = -1;
        if (t->uses[w] >= MIN_PACKAGES)
            order[t->num_columns++] = (word_order){ gnti_string_table_get(&t->words, w), w };
    }
    if (t->num_columns > 0)
        qsort(order, (size_t)t->num_columns, sizeof *order, compare_words);
    for (int64_t c = 0; c < t->num_columns; c++)
        t->column[order[c].number] = c;
done:
    gnti_free(order);
    return st;
}

/* The kept words of one package, each as 1 over the root of their number. */
static gnt_status add_row(const word_table *t, int64_t p, gnti_feature_rows *x)
{
    gnt_status st = GNT_OK;
    const int64_t begin = p > 0 ? t->row_end[p - 1] : 0;
    int64_t num_kept = 0;

    for (int64_t i = begin; i < t->row_end[p]; i++)
        num_kept += t->column[t->use[i]] >= 0;
    for (int64_t i = begin; i < t->row_end[p]; i++)
        if (t->column[t->use[i]] >= 0)
            GNT_TRY(gnti_feature_rows_add(x, t->column[t->use[i]], (float)(1.0 / sqrt((double)num_kept))));
    GNT_TRY(gnti_feature_rows_end(x));
done:
    return st;
}

gnt_status gnti_debian_words(const gnti_debian_index *index, gnti_raw *raw)
{
    gnt_status st = GNT_OK;
    word_table t = { .num_uses = 0 };

    GNT_TRY(gnti_alloc_array(&t.row_end, index->num_packages));
    for (int64_t p = 0; p < index->num_packages; p++)
        GNT_TRY(count_package(index, p, &t));
    GNT_TRY(give_columns(&t));
    raw->x.width = t.num_columns;
    for (int64_t p = 0; p < index->num_packages; p++)
        GNT_TRY(add_row(&t, p, &raw->x));
done:
    gnti_string_table_clear(&t.words);
    gnti_free(t.uses);
    gnti_free(t.seen);
    gnti_free(t.use);
    gnti_free(t.row_end);
    gnti_free(t.column);
    return st;
}
