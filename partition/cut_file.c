/* SPDX-License-Identifier: Apache-2.0 */
/* A partition that somebody else made, as gpmetis writes it: line v is the chunk of node v, counted from 0. Blank lines behind
 * the last node are fine, so are compression and CRLF; anything else is refused with its line.
 */
#include "partition/partition_internal.h"

#include "datasets/reader.h"

/* Line by line; *most is the largest chunk. */
static gnt_status read_lines(gnti_reader *reader, const char *path, int64_t num_nodes, int32_t *chunk_of,
                             int64_t *most)
{
    gnt_status st = GNT_OK;
    int64_t v = 0;

    while (gnti_reader_next_data(reader, "")) {
        int64_t chunk;

        GNT_CHECK(v < num_nodes, GNT_ERR_FORMAT,
                  "%s: a line behind the last of %lld nodes: is '%s' of this graph?",
                  gnti_reader_where(reader), (long long)num_nodes, path);
        GNT_TRY(gnti_reader_i64(reader, "chunk number", &chunk));
        GNT_TRY(gnti_reader_line_done(reader));
        GNT_CHECK(chunk >= 0 && chunk < num_nodes, GNT_ERR_FORMAT,
                  "%s: chunk %lld of node %lld, %lld nodes have the chunks 0 .. %lld at most",
                  gnti_reader_where(reader), (long long)chunk, (long long)v, (long long)num_nodes,
                  (long long)num_nodes - 1);
        chunk_of[v++] = (int32_t)chunk;
        *most = gnti_max_i64(*most, chunk);
    }
    GNT_TRY(gnti_reader_status(reader));
    GNT_CHECK(v == num_nodes, GNT_ERR_FORMAT,
              "file '%s' ends after %lld lines but the graph has %lld nodes: one chunk a line is expected",
              path, (long long)v, (long long)num_nodes);
done:
    return st;
}

gnt_status gnti_cut_file(const char *path, int64_t num_nodes, int32_t *num_chunks, int32_t *chunk_of)
{
    gnt_status st = GNT_OK;
    gnti_reader reader = { .source = NULL };
    int64_t most = -1;

    GNT_CHECK(path != NULL && path[0] != '\0', GNT_ERR_USAGE,
              "a partition from a file needs the file's name");
    GNT_TRY(gnti_reader_open(path, &reader));
    GNT_TRY(read_lines(&reader, path, num_nodes, chunk_of, &most));
    *num_chunks = (int32_t)gnti_max_i64(gnti_max_i64(most + 1, *num_chunks), 1);
done:
    gnti_reader_close(&reader);
    return st;
}
