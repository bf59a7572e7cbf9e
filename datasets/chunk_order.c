/* SPDX-License-Identifier: Apache-2.0 */
/* `/chunks/first` int64 [K + 1] with the sums of the partition and of the graph that it was cut from as attributes. Whoever
 * stores rows in another order leaves it out, so a file that has it is in that order.
 */
#include "datasets/chunk_order.h"

#include <string.h>

#define FIRST "/chunks/first"

static gnt_status read_sum(const gnti_h5 *file, const char *attribute, char out[65])
{
    gnt_status st = GNT_OK;
    char *text = NULL;

    GNT_TRY(gnti_h5_get_text(file, FIRST, attribute, NULL, &text));
    GNT_CHECK(strlen(text) == 64, GNT_ERR_FORMAT,
              "attribute '%s' of '%s' of file '%s' has %zu letters, a SHA-256 has 64", attribute, FIRST,
              gnti_h5_path(file), strlen(text));
    memcpy(out, text, 65);
done:
    gnti_free(text);
    return st;
}

gnt_status gnti_chunk_order_read(const gnti_h5 *file, int64_t num_nodes, gnti_chunk_order *out)
{
    gnt_status st = GNT_OK;
    gnti_chunk_order o = { .num_chunks = 0 };
    gnti_h5_info info;

    if (gnti_h5_kind_of(file, FIRST) != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, FIRST, -1, 1, &info));
    GNT_CHECK(info.num_values >= 2 && info.num_values <= gnti_max_i64(num_nodes, 1) + 1, GNT_ERR_FORMAT,
              "'%s' of file '%s' has %lld values for %lld nodes", FIRST, gnti_h5_path(file),
              (long long)info.num_values, (long long)num_nodes);
    o.num_chunks = (int32_t)(info.num_values - 1);
    GNT_TRY(gnti_alloc_array(&o.first, info.num_values));
    GNT_TRY(gnti_h5_read_i64(file, FIRST, info.num_values, o.first));
    GNT_CHECK(o.first[0] == 0 && o.first[o.num_chunks] == num_nodes, GNT_ERR_FORMAT,
              "'%s' of file '%s' goes from %lld to %lld, expected 0 to %lld", FIRST, gnti_h5_path(file),
              (long long)o.first[0], (long long)o.first[o.num_chunks], (long long)num_nodes);
    for (int32_t c = 0; c < o.num_chunks; c++)
        GNT_CHECK(o.first[c] <= o.first[c + 1], GNT_ERR_FORMAT,
                  "'%s' of file '%s': chunk %d starts at row %lld, the next one at %lld", FIRST,
                  gnti_h5_path(file), c, (long long)o.first[c], (long long)o.first[c + 1]);
    GNT_TRY(read_sum(file, "partition_sha256", o.partition_sha256));
    GNT_TRY(read_sum(file, "graph_sha256", o.graph_sha256));
    *out = o;
    o.first = NULL;
done:
    gnti_chunk_order_clear(&o);
    return st;
}

gnt_status gnti_chunk_order_write(gnti_h5 *file, const gnti_chunk_order *order)
{
    gnt_status st = GNT_OK;
    const int64_t rows = (int64_t)order->num_chunks + 1;

    if (order->num_chunks == 0)
        return GNT_OK;
    GNT_TRY(gnti_h5_write_values(file, FIRST, GNTI_FILE_I64, 1, &rows, order->first));
    GNT_TRY(gnti_h5_set_encoding(file, FIRST, "array", "0.2.0"));
    GNT_TRY(gnti_h5_set_text(file, FIRST, "partition_sha256", order->partition_sha256));
    GNT_TRY(gnti_h5_set_text(file, FIRST, "graph_sha256", order->graph_sha256));
done:
    return st;
}

gnt_status gnti_chunk_order_copy(const gnti_chunk_order *from, gnti_chunk_order *to)
{
    gnt_status st = GNT_OK;
    gnti_chunk_order o = *from;

    if (from->num_chunks == 0)
        return GNT_OK;
    o.first = NULL;
    GNT_TRY(gnti_alloc_array(&o.first, (int64_t)o.num_chunks + 1));
    memcpy(o.first, from->first, ((size_t)o.num_chunks + 1) * sizeof *o.first);
    *to = o;
done:
    return st;
}

void gnti_chunk_order_clear(gnti_chunk_order *order)
{
    gnti_free(order->first);
    memset(order, 0, sizeof *order);
}

const char *gnti_dataset_source_graph(const gnt_dataset *data)
{
    return data->chunks.num_chunks > 0 ? data->chunks.graph_sha256 : data->graph_sha256;
}
