/* SPDX-License-Identifier: Apache-2.0 */
/* Strings numbered by first appearance: names of nodes, classes, words. */
#ifndef GNTI_DATASETS_STRING_TABLE_H
#define GNTI_DATASETS_STRING_TABLE_H

#include "base/alloc.h"

typedef struct gnti_string_table {
    char *bytes; /* the strings one after the other, each with a zero behind it */
    int64_t num_bytes, bytes_capacity;
    int64_t *start; /* (num_strings) offset into bytes */
    int64_t num_strings, start_capacity;
    int64_t *slots; /* open addressing: string number + 1, 0: free */
    int64_t num_slots;
} gnti_string_table;

/* The string's number, a new one for a new string. A table that is all zero is empty. */
gnt_status gnti_string_table_add(gnti_string_table *table, const char *text, size_t length, int64_t *number);

/* The string's number, -1: not there. */
int64_t gnti_string_table_find(const gnti_string_table *table, const char *text, size_t length);

/* The string of that number; lent until the next add. */
const char *gnti_string_table_get(const gnti_string_table *table, int64_t number);

void gnti_string_table_clear(gnti_string_table *table);

#endif
