/* SPDX-License-Identifier: Apache-2.0 */
/* Halo rows of devices once chunks lie on them: row u of another device counts for every device that one of its arcs ends in,
 * once. Rows pass by in blocks, from memory or from the file, and nothing is kept but one number a device.
 */
#include "partition/chunk_map.h"

#include "base/alloc.h"

typedef struct halo_counts {
    const gnti_partition *p;
    const int64_t *origin; /* or NULL */
    const int32_t *owner;
    int64_t *last; /* (devices) 1 + the newest row that a device reads */
    int64_t *halo; /* (devices) */
} halo_counts;

static int32_t owner_of(const halo_counts *c, int64_t row)
{
    return c->owner[c->p->chunk_of[c->origin != NULL ? c->origin[row] : row]];
}

static void add_block(halo_counts *c, const gnti_arc_block *b)
{
    for (int64_t i = 0; i < b->num_rows; i++) {
        const int64_t u = b->first_row + i;
        const int32_t owner = owner_of(c, u);

        for (int64_t a = b->offsets[i]; a < b->offsets[i + 1]; a++) {
            const int32_t reader = owner_of(c, b->columns[a]);

            if (reader == owner || c->last[reader] == u + 1)
                continue;
            c->last[reader] = u + 1;
            c->halo[reader]++;
        }
    }
}

static gnt_status count_file(const char *path, halo_counts *c)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;
    int64_t *origin = NULL;
    gnti_arc_block block;

    GNT_TRY(gnti_arc_stream_open(path, &stream));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    c->origin = origin;
    while (gnti_arc_stream_next(stream, &block))
        add_block(c, &block);
    GNT_TRY(gnti_arc_stream_status(stream));
done:
    gnti_free(origin);
    gnti_arc_stream_close(&stream);
    return st;
}

gnt_status gnti_chunk_owner_halo(const gnt_dataset *data, const gnti_partition *p, const int32_t *owner,
                                 int32_t num_devices, int64_t *halo)
{
    gnt_status st = GNT_OK;
    halo_counts c = { .p = p, .owner = owner, .halo = halo };

    GNT_CHECK(data->num_nodes == p->num_nodes, GNT_ERR_ARG,
              "the dataset has %lld nodes but the partition has %lld", (long long)data->num_nodes,
              (long long)p->num_nodes);
    GNT_TRY(gnti_calloc_array(&c.last, num_devices));
    for (int32_t d = 0; d < num_devices; d++)
        halo[d] = 0;
    if (data->header == NULL)
        GNT_TRY(gnti_dataset_get_origin(data, &c.origin));
    if (data->header != NULL)
        GNT_TRY(count_file(data->path, &c));
    else
        add_block(&c, &(gnti_arc_block){ .num_rows = data->num_nodes,
                                         .offsets = data->graph->offsets,
                                         .columns = data->graph->columns });
done:
    gnti_free(c.last);
    return st;
}

static gnt_status facts_of_file(const gnt_dataset *data, const gnti_partition *p,
                                const gnti_chunk_rates *rates, gnti_chunk_facts **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;
    int64_t *origin = NULL;

    GNT_TRY(gnti_arc_stream_open(data->path, &stream));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    GNT_TRY(gnti_chunk_facts_stream(stream, origin, p, rates, out));
done:
    gnti_free(origin);
    gnti_arc_stream_close(&stream);
    return st;
}

gnt_status gnti_chunk_facts_read(const gnt_dataset *data, const gnti_partition *p,
                                 const gnti_chunk_rates *rates, gnti_chunk_facts **out)
{
    return data->header != NULL ? facts_of_file(data, p, rates, out)
                                : gnti_chunk_facts_make_dataset(data, p, rates, out);
}
