/* SPDX-License-Identifier: Apache-2.0 */
/* Strings numbered by first appearance: one growing block of bytes, and open addressing with linear probing
 * at a load of at most one half. Numbers do not depend on the hash, so results do not either.
 */
#include "datasets/string_table.h"

#include <string.h>

static uint64_t hash_bytes(const char *text, size_t length)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

/* The slot of the string, or the free slot where it belongs. */
static int64_t find_slot(const gnti_string_table *t, const char *text, size_t length)
{
    const uint64_t mask = (uint64_t)t->num_slots - 1;
    uint64_t slot = hash_bytes(text, length) & mask;

    for (; t->slots[slot] != 0; slot = (slot + 1) & mask) {
        const char *known = t->bytes + t->start[t->slots[slot] - 1];

        if (strncmp(known, text, length) == 0 && known[length] == '\0')
            break;
    }
    return (int64_t)slot;
}

static gnt_status grow_slots(gnti_string_table *t)
{
    gnt_status st = GNT_OK;
    gnti_string_table bigger = *t;

    bigger.slots = NULL;
    bigger.num_slots = gnti_max_i64(t->num_slots * 2, 1024);
    GNT_TRY(gnti_calloc_array(&bigger.slots, bigger.num_slots));
    for (int64_t i = 0; i < t->num_strings; i++) {
        const char *text = t->bytes + t->start[i];

        bigger.slots[find_slot(&bigger, text, strlen(text))] = i + 1;
    }
    gnti_free(t->slots);
    *t = bigger;
done:
    return st;
}

gnt_status gnti_string_table_add(gnti_string_table *table, const char *text, size_t length, int64_t *number)
{
    gnt_status st = GNT_OK;
    int64_t slot, need;

    GNT_CHECK(memchr(text, '\0', length) == NULL, GNT_ERR_FORMAT, "a name has a zero byte in it");
    need = table->num_bytes + (int64_t)length + 1;
    GNT_TRY(gnti_grow_array(&table->bytes, &table->bytes_capacity, need));
    if (2 * (table->num_strings + 1) > table->num_slots)
        GNT_TRY(grow_slots(table));
    slot = find_slot(table, text, length);
    if (table->slots[slot] == 0) {
        GNT_TRY(gnti_grow_array(&table->start, &table->start_capacity, table->num_strings + 1));
        memcpy(table->bytes + table->num_bytes, text, length);
        table->bytes[table->num_bytes + (int64_t)length] = '\0';
        table->start[table->num_strings] = table->num_bytes;
        table->num_bytes += (int64_t)length + 1;
        table->slots[slot] = ++table->num_strings;
    }
    *number = table->slots[slot] - 1;
done:
    return st;
}

int64_t gnti_string_table_find(const gnti_string_table *table, const char *text, size_t length)
{
    if (table->num_strings == 0 || memchr(text, '\0', length) != NULL)
        return -1;
    return table->slots[find_slot(table, text, length)] - 1;
}

const char *gnti_string_table_get(const gnti_string_table *table, int64_t number)
{
    return table->bytes + table->start[number];
}

void gnti_string_table_clear(gnti_string_table *table)
{
    gnti_free(table->bytes);
    gnti_free(table->start);
    gnti_free(table->slots);
    memset(table, 0, sizeof *table);
}
