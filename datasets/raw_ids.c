/* SPDX-License-Identifier: Apache-2.0 */
/* Numbering of nodes. Dense ids are kept as they are and gaps become isolated nodes; ids with few of a wide
 * range in use (or below zero) are renumbered in ascending order.
 *
 * AUTO, with n different ids from low to high:
 *   the number of nodes is stated                                   DENSE, or ONE_BASED when low >= 1 and
 * high is it a comment states n different nodes, but the numbers have gaps   SPARSE low = 1 and no gap up to
 * high                                   ONE_BASED low >= 0 and high < DENSE_RATIO * n + DENSE_SLACK DENSE
 *   anything else                                                   SPARSE
 * Distinct ids are counted with one bit each where the range allows; else they are sparse and go to a hash.
 */
#include "datasets/raw.h"

#include <stdlib.h>
#include <string.h>

enum { DENSE_RATIO = 4, DENSE_SLACK = 32, BITS_PER_ID = 64, MIN_SLOTS = 1024 };

/* Calls take(state, id) on every id of the hand-over. */
typedef gnt_status (*take_id)(void *state, int64_t id);

static gnt_status each_of(const int64_t *ids, int64_t count, take_id take, void *state)
{
    gnt_status st = GNT_OK;

    for (int64_t i = 0; i < count; i++)
        GNT_TRY(take(state, ids[i]));
done:
    return st;
}

static gnt_status each_id(const gnti_raw *raw, take_id take, void *state)
{
    gnt_status st = GNT_OK;

    if (raw->node_id != NULL)
        GNT_TRY(each_of(raw->node_id, raw->num_listed, take, state));
    GNT_TRY(each_of(raw->arcs.source, raw->arcs.num_arcs, take, state));
    GNT_TRY(each_of(raw->arcs.target, raw->arcs.num_arcs, take, state));
done:
    return st;
}

static gnt_status take_range(void *state, int64_t id)
{
    gnti_id_map *map = state;

    map->low = gnti_min_i64(map->low, id);
    map->high = gnti_max_i64(map->high, id);
    return GNT_OK;
}

typedef struct id_bits {
    uint64_t *words;
    int64_t low, count;
} id_bits;

static gnt_status take_bit(void *state, int64_t id)
{
    id_bits *bits = state;
    const uint64_t at = (uint64_t)id - (uint64_t)bits->low;
    const uint64_t mask = (uint64_t)1 << (at & 63);

    bits->count += (bits->words[at >> 6] & mask) == 0;
    bits->words[at >> 6] |= mask;
    return GNT_OK;
}

/* Different ids, or -1 when their range is too wide for a bit each. */
static gnt_status count_distinct(const gnti_raw *raw, gnti_id_map *map)
{
    gnt_status st = GNT_OK;
    const int64_t named = 2 * raw->arcs.num_arcs + raw->num_listed;
    id_bits bits = { .low = map->low };

    map->num_distinct = -1;
    if (map->high >= 0 && map->low < 0 && map->high > INT64_MAX + map->low)
        goto done;
    if ((map->high - map->low) / BITS_PER_ID > named)
        goto done;
    GNT_TRY(gnti_calloc_array(&bits.words, (map->high - map->low) / 64 + 1));
    GNT_TRY(each_id(raw, take_bit, &bits));
    map->num_distinct = bits.count;
done:
    gnti_free(bits.words);
    return st;
}

static gnti_id_rule choose_rule(const gnti_raw *raw, const gnti_id_map *map, int64_t num_nodes)
{
    const int64_t n = map->num_distinct;

    if (num_nodes >= 0)
        return map->low >= 1 && map->high == num_nodes ? GNTI_IDS_ONE_BASED : GNTI_IDS_DENSE;
    if (n < 0 || map->low < 0)
        return GNTI_IDS_SPARSE;
    if (map->low == 1 && map->high == n)
        return GNTI_IDS_ONE_BASED;
    if (raw->num_distinct == n && map->high + 1 > n)
        return GNTI_IDS_SPARSE;
    if (map->high / DENSE_RATIO < n + DENSE_SLACK / DENSE_RATIO)
        return GNTI_IDS_DENSE;
    return GNTI_IDS_SPARSE;
}

/* ---- SPARSE: a hash from id to node ---- */

static int64_t find_slot(const gnti_id_map *map, int64_t id)
{
    const uint64_t mask = (uint64_t)map->num_slots - 1;
    uint64_t h = (uint64_t)id * 0x9e3779b97f4a7c15u;

    h = (h ^ h >> 32) & mask;
    while (map->nodes[h] != 0 && map->keys[h] != (uint64_t)id)
        h = (h + 1) & mask;
    return (int64_t)h;
}

static gnt_status alloc_slots(gnti_id_map *map, int64_t num_slots)
{
    gnt_status st = GNT_OK;

    map->num_slots = num_slots;
    GNT_TRY(gnti_alloc_array(&map->keys, num_slots));
    GNT_TRY(gnti_calloc_array(&map->nodes, num_slots));
done:
    return st;
}

static void put_id(gnti_id_map *map, int64_t id, int64_t node_plus_1)
{
    const int64_t slot = find_slot(map, id);

    map->keys[slot] = (uint64_t)id;
    map->nodes[slot] = node_plus_1;
}

typedef struct id_set {
    gnti_id_map map;
    int64_t capacity;
} id_set;

static gnt_status take_into_set(void *state, int64_t id)
{
    gnt_status st = GNT_OK;
    id_set *set = state;
    gnti_id_map *map = &set->map, bigger = *map;

    if (map->nodes[find_slot(map, id)] != 0)
        goto done;
    GNT_TRY(gnti_grow_array(&map->ids, &set->capacity, map->num_nodes + 1));
    map->ids[map->num_nodes++] = id;
    put_id(map, id, 1);
    if (2 * map->num_nodes < map->num_slots)
        goto done;
    bigger = *map;
    bigger.keys = NULL;
    bigger.nodes = NULL;
    st = alloc_slots(&bigger, 2 * map->num_slots);
    if (st != GNT_OK) {
        gnti_free(bigger.keys);
        gnti_free(bigger.nodes);
        goto done;
    }
    for (int64_t i = 0; i < bigger.num_nodes; i++)
        put_id(&bigger, bigger.ids[i], 1);
    gnti_free(map->keys);
    gnti_free(map->nodes);
    *map = bigger;
done:
    return st;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static gnt_status build_sparse(const gnti_raw *raw, gnti_id_map *out)
{
    gnt_status st = GNT_OK;
    id_set set = { .map = *out };

    set.map.num_nodes = 0;
    GNT_TRY(alloc_slots(&set.map, MIN_SLOTS));
    GNT_TRY(each_id(raw, take_into_set, &set));
    if (set.map.num_nodes > 0)
        qsort(set.map.ids, (size_t)set.map.num_nodes, sizeof *set.map.ids, compare_ids);
    for (int64_t i = 0; i < set.map.num_nodes; i++)
        put_id(&set.map, set.map.ids[i], i + 1);
    set.map.num_distinct = set.map.num_nodes;
    *out = set.map;
    memset(&set, 0, sizeof set); /* handed over */
done:
    gnti_id_map_clear(&set.map);
    return st;
}

/* ---- all rules ---- */

static gnt_status check_numbers(const gnti_id_map *map, int64_t num_nodes)
{
    gnt_status st = GNT_OK;
    const int64_t first = map->rule == GNTI_IDS_ONE_BASED;

    GNT_CHECK(map->low >= first, GNT_ERR_FORMAT,
              "node number %lld is below %lld: --ids sparse renumbers any integers", (long long)map->low,
              (long long)first);
    GNT_CHECK(num_nodes < 0 || map->high - first < num_nodes, GNT_ERR_FORMAT,
              "node number %lld is outside %lld..%lld, the graph has %lld nodes", (long long)map->high,
              (long long)first, (long long)(num_nodes - 1 + first), (long long)num_nodes);
    GNT_CHECK(map->high < INT32_MAX, GNT_ERR_LIMIT,
              "node number %lld is above the limit of %d nodes: --ids sparse renumbers those that are used",
              (long long)map->high, INT32_MAX);
done:
    return st;
}

gnt_status gnti_id_map_build(const gnti_raw *raw, gntx_import_ids wanted, int64_t num_nodes, gnti_id_map *out)
{
    gnt_status st = GNT_OK;
    gnti_id_map map = { .rule = raw->id_rule, .low = INT64_MAX, .high = INT64_MIN };
    const bool any = raw->arcs.num_arcs + raw->num_listed > 0;

    if (map.rule == GNTI_IDS_TEXT) {
        map.num_nodes = map.num_distinct = raw->names.num_strings;
        goto found;
    }
    GNT_TRY(each_id(raw, take_range, &map));
    if (any)
        GNT_TRY(count_distinct(raw, &map));
    if (map.rule == GNTI_IDS_AUTO)
        map.rule = !any                      ? GNTI_IDS_DENSE
                   : wanted == GNTX_IDS_AUTO ? choose_rule(raw, &map, num_nodes)
                                             : (gnti_id_rule)(wanted - GNTX_IDS_DENSE + GNTI_IDS_DENSE);
    if (map.rule == GNTI_IDS_SPARSE) {
        GNT_TRY(build_sparse(raw, &map));
    } else if (any) {
        GNT_TRY(check_numbers(&map, num_nodes));
        map.num_nodes = num_nodes >= 0 ? num_nodes : map.high + (map.rule == GNTI_IDS_DENSE);
    } else {
        map.num_nodes = gnti_max_i64(num_nodes, raw->x.num_rows);
        map.num_distinct = 0;
    }
found:
    map.num_gaps = map.num_distinct >= 0 ? map.num_nodes - map.num_distinct : 0;
    *out = map;
    memset(&map, 0, sizeof map); /* handed over */
done:
    gnti_id_map_clear(&map);
    return st;
}

int64_t gnti_id_map_node(const gnti_id_map *map, int64_t id)
{
    const int64_t first = map->rule == GNTI_IDS_ONE_BASED;

    if (map->rule == GNTI_IDS_SPARSE)
        return map->nodes[find_slot(map, id)] - 1;
    return id >= first && id - first < map->num_nodes ? id - first : -1;
}

void gnti_id_map_clear(gnti_id_map *map)
{
    gnti_free(map->ids);
    gnti_free(map->keys);
    gnti_free(map->nodes);
    memset(map, 0, sizeof *map);
}
