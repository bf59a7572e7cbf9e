/* SPDX-License-Identifier: Apache-2.0 */
/* Partitions of datasets that are stored in an order of their own, and the dataset in the order of a partition.
 *
 * A partition counts nodes as the imported dataset does. Row i of a reordered dataset is row origin[i] there, so its vector
 * goes through origin on the way in and out. Global row order is (chunk, row of the imported dataset).
 */
#include "partition/partition_internal.h"

#include "datasets/chunk_order.h"
#include "partition/chunk_map.h"

#include <string.h>

gnt_status gnti_vector_to_source(int64_t num_nodes, const int64_t *origin, int32_t **chunk_of)
{
    gnt_status st = GNT_OK;
    int32_t *moved = NULL;

    if (origin == NULL)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&moved, num_nodes));
    for (int64_t i = 0; i < num_nodes; i++)
        moved[origin[i]] = (*chunk_of)[i];
    gnti_free(*chunk_of);
    *chunk_of = moved;
done:
    return st;
}

gnt_status gnti_partition_to_source(gnti_partition *p, const int64_t *origin)
{
    gnt_status st = GNT_OK;
    gnti_partition *moved = NULL;
    int32_t *swap;

    if (origin == NULL)
        return GNT_OK;
    GNT_TRY(gnti_vector_to_source(p->num_nodes, origin, &p->chunk_of));
    swap = p->chunk_of;
    GNT_TRY(gnti_partition_from_vector(p->num_nodes, p->num_chunks, swap, p->method, &moved));
    memcpy(p->sha256, moved->sha256, sizeof p->sha256);
    moved->chunk_of = NULL; /* it stays p's */
done:
    gnti_partition_free(&moved);
    return st;
}

gnt_status gnti_partition_make_dataset(const gnt_dataset *data, const gnti_partition_config *config,
                                       gnti_partition **out)
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;
    gnti_partition *p = NULL;

    GNT_CHECK(data != NULL && config != NULL && out != NULL, GNT_ERR_ARG,
              "data, config and out must not be NULL");
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_TRY(gnti_partition_make(data->graph, config, &p));
    GNT_TRY(gnti_partition_to_source(p, origin));
    memcpy(p->graph_sha256, gnti_dataset_source_graph(data), sizeof p->graph_sha256);
    *out = p;
    p = NULL;
done:
    gnti_partition_free(&p);
    return st;
}

gnt_status gnti_chunk_facts_make_dataset(const gnt_dataset *data, const gnti_partition *p,
                                         const gnti_chunk_rates *rates, gnti_chunk_facts **out)
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;
    gnti_partition rows = *p; /* the same, by the rows of data */
    int32_t *chunk_of = NULL;

    GNT_CHECK(data->num_nodes == p->num_nodes, GNT_ERR_ARG,
              "the dataset has %lld nodes but the partition has %lld", (long long)data->num_nodes,
              (long long)p->num_nodes);
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    if (origin != NULL) {
        GNT_TRY(gnti_alloc_array(&chunk_of, p->num_nodes));
        for (int64_t i = 0; i < p->num_nodes; i++)
            chunk_of[i] = p->chunk_of[origin[i]];
        rows.chunk_of = chunk_of;
    }
    GNT_TRY(gnti_chunk_facts_make(data->graph, &rows, rates, out));
done:
    gnti_free(chunk_of);
    return st;
}

/* --- the dataset in chunk order --- */

/* Where row i goes: the place of its imported row among those of its chunk, behind the chunks before. */
static gnt_status make_rank(const gnti_partition *p, const int64_t *origin, int64_t *first, int64_t **out)
{
    gnt_status st = GNT_OK;
    int64_t *place = NULL, *rank = NULL, *next = NULL;

    GNT_TRY(gnti_alloc_array(&place, p->num_nodes));
    GNT_TRY(gnti_alloc_array(&next, p->num_chunks));
    first[0] = 0;
    for (int32_t c = 0; c < p->num_chunks; c++) {
        next[c] = first[c];
        first[c + 1] = first[c] + p->chunk_nodes[c];
    }
    for (int64_t v = 0; v < p->num_nodes; v++)
        place[v] = next[p->chunk_of[v]]++;
    if (origin == NULL) {
        *out = place;
        place = NULL;
        goto done;
    }
    GNT_TRY(gnti_alloc_array(&rank, p->num_nodes));
    for (int64_t i = 0; i < p->num_nodes; i++)
        rank[i] = place[origin[i]];
    *out = rank;
done:
    gnti_free(place);
    gnti_free(next);
    return st;
}

/* {"...": as before, "rewritten": {"partition_sha256", "graph_sha256", "num_chunks", "method"}}. */
static gnt_status add_provenance(const gnti_partition *p, gnt_dataset *d)
{
    gnt_status st = GNT_OK;
    gnti_json *all = NULL, *note;
    char *text = NULL;

    if (d->provenance == NULL ||
        gnti_json_parse(d->provenance, strlen(d->provenance), "/provenance", &all) != GNT_OK ||
        !gnti_json_is_object(all)) {
        gnti_json_free(&all);
        GNT_TRY(gnti_json_create_object(&all));
        if (d->provenance != NULL)
            GNT_TRY(gnti_json_set_text(all, "before", d->provenance));
    }
    GNT_TRY(gnti_json_set_object(all, "rewritten", &note));
    GNT_TRY(gnti_json_set_text(note, "partition_sha256", p->sha256));
    GNT_TRY(gnti_json_set_text(note, "graph_sha256", p->graph_sha256));
    GNT_TRY(gnti_json_set_int(note, "num_chunks", p->num_chunks));
    GNT_TRY(gnti_json_set_text(note, "method", p->method));
    GNT_TRY(gnti_json_print(all, false, &text));
    gnti_free(d->provenance);
    d->provenance = text;
done:
    gnti_json_free(&all);
    return st;
}

gnt_status gnti_partition_rewrite(const gnt_dataset *data, const gnti_partition *p, gnt_dataset **out)
{
    gnt_status st = GNT_OK;
    gnti_chunk_order order = { .num_chunks = 0 };
    const int64_t *origin = NULL;
    gnt_dataset *d = NULL;
    int64_t *rank = NULL;

    GNT_CHECK(data != NULL && p != NULL && out != NULL, GNT_ERR_ARG, "data, p and out must not be NULL");
    GNT_CHECK(
        data->num_nodes == p->num_nodes && strcmp(gnti_dataset_source_graph(data), p->graph_sha256) == 0,
        GNT_ERR_FORMAT,
        "the partition was cut from another graph (%lld nodes, sum %s) than the dataset (%lld nodes, sum %s)",
        (long long)p->num_nodes, p->graph_sha256, (long long)data->num_nodes,
        gnti_dataset_source_graph(data));
    GNT_CHECK(
        gnti_dataset_find_array(data, "/graphs/ptr") == NULL, GNT_ERR_UNSUPPORTED,
        "the dataset holds %lld graphs, whose nodes stay together: leave out --rewrite, ranks read it as "
        "it is",
        (long long)gnti_dataset_num_graphs(data));
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_TRY(gnti_alloc_array(&order.first, (int64_t)p->num_chunks + 1));
    order.num_chunks = p->num_chunks;
    memcpy(order.partition_sha256, p->sha256, sizeof order.partition_sha256);
    memcpy(order.graph_sha256, p->graph_sha256, sizeof order.graph_sha256);
    GNT_TRY(make_rank(p, origin, order.first, &rank));
    GNT_TRY(gnti_dataset_permute(data, rank, &d));
    d->chunks = order;
    order.first = NULL; /* handed over */
    GNT_TRY(add_provenance(p, d));
    *out = d;
    d = NULL;
done:
    gnti_chunk_order_clear(&order);
    gnti_free(rank);
    gnt_dataset_free(&d);
    return st;
}
