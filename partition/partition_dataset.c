/* SPDX-License-Identifier: Apache-2.0 */
/* The partition of a dataset for a run that was given none: the order that it is stored in, or a cut. */
#include "partition/partition_internal.h"

#include "base/alloc.h"
#include "datasets/arc_stream.h"

/* A file with more arcs than this is cut as it streams by; up to here its arcs are read for METIS, for as long as that takes. */
enum { CUT_IN_MEMORY_ARCS = 20000000 };

static bool is_stored_so(const gnt_dataset *data, const gnti_partition_config *config)
{
    return data->chunks.num_chunks > 0 &&
           (config->num_chunks == 0 || config->num_chunks == data->chunks.num_chunks);
}

static gnt_status from_order(const gnt_dataset *data, const int64_t *origin, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    const gnti_chunk_order *order = &data->chunks;
    int32_t *chunk_of = NULL;

    GNT_TRY(gnti_alloc_array(&chunk_of, data->num_nodes + 1));
    for (int32_t k = 0; k < order->num_chunks; k++)
        for (int64_t r = order->first[k]; r < order->first[k + 1]; r++)
            chunk_of[origin != NULL ? origin[r] : r] = k;
    GNT_TRY(gnti_partition_from_vector(data->num_nodes, order->num_chunks, chunk_of, "file", out));
    chunk_of = NULL;
done:
    gnti_free(chunk_of);
    return st;
}

static gnt_status cut_arcs(gnti_arc_stream *stream, const int64_t *origin,
                           const gnti_partition_config *config, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *graph = NULL;
    gnti_partition *p = NULL;

    GNT_TRY(gnti_arc_stream_read_graph(stream, &graph));
    GNT_TRY(gnti_partition_make(graph, config, &p));
    GNT_TRY(gnti_partition_to_source(p, origin));
    *out = p;
    p = NULL;
done:
    gnti_graph_free(&graph);
    gnti_partition_free(&p);
    return st;
}

/* Of a dataset whose arrays are in the file. */
static gnt_status of_file(const gnt_dataset *data, const gnti_partition_config *config, gnti_partition **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *stream = NULL;
    int64_t *origin = NULL;
    gnti_partition_config streamed = *config;

    GNT_TRY(gnti_arc_stream_open(data->path, &stream));
    GNT_TRY(gnti_arc_stream_read_origin(stream, &origin));
    if (is_stored_so(data, config)) {
        GNT_TRY(from_order(data, origin, out));
    } else if (gnti_arc_stream_get_facts(stream)->num_arcs <= CUT_IN_MEMORY_ARCS) {
        GNT_TRY(cut_arcs(stream, origin, config, out));
    } else {
        streamed.method = GNTI_PART_LDG;
        GNT_TRY(gnti_partition_stream(data->path, &streamed, out));
    }
done:
    gnti_free(origin);
    gnti_arc_stream_close(&stream);
    return st;
}

gnt_status gnti_partition_of_dataset(const gnt_dataset *data, const gnti_partition_config *config,
                                     gnti_partition **out)
{
    gnt_status st = GNT_OK;
    const int64_t *origin = NULL;

    if (data->header != NULL)
        return of_file(data, config, out);
    if (!is_stored_so(data, config))
        return gnti_partition_make_dataset(data, config, out);
    GNT_TRY(gnti_dataset_get_origin(data, &origin));
    GNT_TRY(from_order(data, origin, out));
done:
    return st;
}
