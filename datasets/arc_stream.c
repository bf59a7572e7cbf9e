/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming an adjacency: a window of offsets, a block of columns, both read as slabs. Memory is the two buffers, and as much
 * more as the longest row needs. The sum of a file that states none is taken in the order of docs/file-format.md: all
 * offsets, all columns, all weights, each in slabs again.
 */
#include "datasets/arc_stream.h"
#include "datasets/chunk_order.h"
#include "datasets/dataset_read.h"

#include "base/sha256.h"

#include <string.h>

enum { WINDOW_ROWS = 1 << 16, BLOCK_ARCS = 1 << 20 };

#define INDPTR  "/graph/adj/indptr"
#define INDICES "/graph/adj/indices"
#define DATA    "/graph/adj/data"

struct gnti_arc_stream {
    gnti_h5 *file;
    gnti_arc_stream_facts facts;
    int64_t max_rows, max_arcs; /* of a block */
    int64_t next_row;
    int64_t window_first, window_rows; /* rows whose offsets are in window */
    int64_t *window, *offsets;         /* (WINDOW_ROWS + 1): as stored; from 0 for the block */
    int32_t *columns;
    int64_t capacity;
    gnt_status status;
};

/* --- opening --- */

/* Feeds `count` values of a vector as int64 (or, weights, as float). */
static gnt_status sum_vector(const gnti_h5 *file, const char *path, gnti_dtype_file type, int64_t count,
                             gnti_sha256 *hash)
{
    gnt_status st = GNT_OK;
    void *slab = NULL;
    const int64_t step = gnti_max_i64(gnti_min_i64(count, BLOCK_ARCS), 1);

    GNT_TRY(gnti_array_bytes(&slab, step, 8, false));
    for (int64_t first = 0; first < count; first += step) {
        const int64_t n = gnti_min_i64(step, count - first);

        GNT_TRY(gnti_h5_read_rows(file, path, type, first, n, slab));
        GNT_TRY(gnti_sha256_update(hash, slab, (size_t)n * gnti_file_dtype_bytes(type)));
    }
done:
    gnti_free(slab);
    return st;
}

/* Whether any weight is not 1; unwritten ones are not read. */
static gnt_status is_weighted(const gnti_h5 *file, int64_t num_arcs, bool *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    float *slab = NULL;

    *out = false;
    if (gnti_h5_kind_of(file, DATA) == GNTI_H5_NOTHING)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(file, DATA, num_arcs, 1, &info));
    if (info.stored_bytes == 0 && info.fill_is_one)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&slab, BLOCK_ARCS));
    for (int64_t first = 0; first < num_arcs && !*out; first += BLOCK_ARCS) {
        const int64_t n = gnti_min_i64(BLOCK_ARCS, num_arcs - first);

        GNT_TRY(gnti_h5_read_rows(file, DATA, GNTI_FILE_F32, first, n, slab));
        for (int64_t i = 0; i < n && !*out; i++)
            *out = slab[i] != 1.0f;
    }
done:
    gnti_free(slab);
    return st;
}

static gnt_status compute_sum(const gnti_h5 *file, gnti_arc_stream_facts *f)
{
    gnt_status st = GNT_OK;
    gnti_sha256 *hash = NULL;
    const int64_t head[2] = { f->num_nodes, f->directed };
    bool weighted;

    GNT_TRY(gnti_sha256_create(&hash));
    GNT_TRY(gnti_sha256_update(hash, head, sizeof head));
    GNT_TRY(sum_vector(file, INDPTR, GNTI_FILE_I64, f->num_nodes + 1, hash));
    GNT_TRY(sum_vector(file, INDICES, GNTI_FILE_I64, f->num_arcs, hash));
    GNT_TRY(is_weighted(file, f->num_arcs, &weighted));
    if (weighted)
        GNT_TRY(sum_vector(file, DATA, GNTI_FILE_F32, f->num_arcs, hash));
    GNT_TRY(gnti_sha256_finish(hash, f->graph_sha256));
done:
    gnti_sha256_free(&hash);
    return st;
}

static gnt_status read_facts(const gnti_h5 *file, gnti_arc_stream_facts *f)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    int64_t shape[2], directed = 1;
    gnti_chunk_order order = { .num_chunks = 0 };
    char *sum = NULL;
    bool found;

    GNT_TRY(gnti_dataset_read_heading(file));
    GNT_TRY(gnti_dataset_read_shape(file, "/graph/adj", shape));
    GNT_CHECK(shape[0] == shape[1], GNT_ERR_FORMAT,
              "'/graph/adj' of file '%s' is %lld x %lld, expected a square", gnti_h5_path(file),
              (long long)shape[0], (long long)shape[1]);
    f->num_nodes = shape[0];
    GNT_TRY(gnti_h5_expect(file, INDPTR, shape[0] + 1, 1, NULL));
    GNT_TRY(gnti_h5_expect(file, INDICES, -1, 1, &info));
    f->num_arcs = info.num_values;
    GNT_TRY(gnti_h5_get_int(file, "/", "directed", &found, &directed));
    f->directed = directed != 0;
    GNT_TRY(gnti_h5_get_text(file, "/", "graph_sha256", &found, &sum));
    if (found && strlen(sum) == 64)
        memcpy(f->graph_sha256, sum, 65);
    else
        GNT_TRY(compute_sum(file, f));
    GNT_TRY(gnti_chunk_order_read(file, f->num_nodes, &order));
    memcpy(f->source_sha256, order.num_chunks > 0 ? order.graph_sha256 : f->graph_sha256, 65);
done:
    gnti_chunk_order_clear(&order);
    gnti_free(sum);
    return st;
}

gnt_status gnti_arc_stream_open(const char *path, gnti_arc_stream **out)
{
    gnt_status st = GNT_OK;
    gnti_arc_stream *s = NULL;

    GNT_TRY(gnti_calloc_array(&s, 1));
    GNT_TRY(gnti_h5_open(path, &s->file));
    GNT_TRY(read_facts(s->file, &s->facts));
    GNT_TRY(gnti_alloc_array(&s->window, WINDOW_ROWS + 1));
    GNT_TRY(gnti_alloc_array(&s->offsets, WINDOW_ROWS + 1));
    gnti_arc_stream_set_block(s, 0, 0);
    *out = s;
    s = NULL;
done:
    gnti_arc_stream_close(&s);
    return st;
}

void gnti_arc_stream_close(gnti_arc_stream **stream)
{
    gnti_arc_stream *s = stream != NULL ? *stream : NULL;

    if (s == NULL)
        return;
    gnti_h5_close(&s->file);
    gnti_free(s->window);
    gnti_free(s->offsets);
    gnti_free(s->columns);
    gnti_free(s);
    *stream = NULL;
}

const gnti_arc_stream_facts *gnti_arc_stream_get_facts(const gnti_arc_stream *s)
{
    return &s->facts;
}

void gnti_arc_stream_set_block(gnti_arc_stream *s, int64_t rows, int64_t arcs)
{
    s->max_rows = rows > 0 ? gnti_min_i64(rows, WINDOW_ROWS) : WINDOW_ROWS;
    s->max_arcs = arcs > 0 ? arcs : BLOCK_ARCS;
    gnti_arc_stream_rewind(s);
}

/* --- blocks --- */

void gnti_arc_stream_rewind(gnti_arc_stream *s)
{
    s->next_row = s->window_first = s->window_rows = 0;
    s->status = GNT_OK;
}

gnt_status gnti_arc_stream_status(const gnti_arc_stream *s)
{
    return s->status;
}

/* Offsets of the next rows, checked against each other and against the number of arcs. */
static gnt_status read_window(gnti_arc_stream *s)
{
    gnt_status st = GNT_OK;
    const char *path = gnti_h5_path(s->file);
    const int64_t n = s->facts.num_nodes, rows = gnti_min_i64(s->max_rows, n - s->next_row);

    GNT_TRY(gnti_h5_read_rows(s->file, INDPTR, GNTI_FILE_I64, s->next_row, rows + 1, s->window));
    GNT_CHECK(s->next_row > 0 || s->window[0] == 0, GNT_ERR_FORMAT,
              "'%s' of file '%s' starts with %lld, expected 0", INDPTR, path, (long long)s->window[0]);
    for (int64_t r = 0; r < rows; r++)
        GNT_CHECK(
            s->window[r] >= 0 && s->window[r] <= s->window[r + 1] && s->window[r + 1] <= s->facts.num_arcs,
            GNT_ERR_FORMAT,
            "'/graph/adj' of file '%s': row %lld has the arcs %lld to %lld of %lld: indptr is not monotone",
            path, (long long)(s->next_row + r), (long long)s->window[r], (long long)s->window[r + 1],
            (long long)s->facts.num_arcs);
    GNT_CHECK(s->next_row + rows < n || s->window[rows] == s->facts.num_arcs, GNT_ERR_FORMAT,
              "'%s' of file '%s' ends with %lld but there are %lld arcs", INDPTR, path,
              (long long)s->window[rows], (long long)s->facts.num_arcs);
    s->window_first = s->next_row;
    s->window_rows = rows;
done:
    return st;
}

static gnt_status check_rows(const gnti_arc_stream *s, int64_t rows)
{
    gnt_status st = GNT_OK;
    const uint32_t n = (uint32_t)s->facts.num_nodes;

    for (int64_t r = 0; r < rows; r++) {
        int32_t before = -1;

        for (int64_t a = s->offsets[r]; a < s->offsets[r + 1]; a++) {
            const int32_t column = s->columns[a];

            GNT_CHECK((uint32_t)column < n, GNT_ERR_FORMAT,
                      "'%s' of file '%s': row %lld names column %d, columns are 0 .. %lld", INDICES,
                      gnti_h5_path(s->file), (long long)(s->next_row + r), column, (long long)n - 1);
            GNT_CHECK(
                column > before, GNT_ERR_UNSUPPORTED,
                "'/graph/adj' of file '%s': row %lld is not sorted (column %d behind %d), so it cannot be "
                "streamed: let 'gnntrain split' write the file once",
                gnti_h5_path(s->file), (long long)(s->next_row + r), column, before);
            before = column;
        }
    }
done:
    return st;
}

static gnt_status read_block(gnti_arc_stream *s, gnti_arc_block *out)
{
    gnt_status st = GNT_OK;
    const int64_t *window;
    int64_t rows = 1, left, num_arcs;

    if (s->next_row >= s->window_first + s->window_rows)
        GNT_TRY(read_window(s));
    window = s->window + (s->next_row - s->window_first);
    left = s->window_first + s->window_rows - s->next_row;
    while (rows < left && window[rows + 1] - window[0] <= s->max_arcs)
        rows++;
    num_arcs = window[rows] - window[0];
    for (int64_t r = 0; r <= rows; r++)
        s->offsets[r] = window[r] - window[0];
    if (num_arcs > s->capacity || s->columns == NULL) {
        gnti_free(s->columns);
        s->columns = NULL;
        s->capacity = gnti_max_i64(num_arcs, gnti_min_i64(s->max_arcs, s->facts.num_arcs));
        GNT_TRY(gnti_alloc_array(&s->columns, s->capacity));
    }
    if (num_arcs > 0)
        GNT_TRY(gnti_h5_read_rows(s->file, INDICES, GNTI_FILE_I32, window[0], num_arcs, s->columns));
    GNT_TRY(check_rows(s, rows));
    *out = (gnti_arc_block){ s->next_row, rows, window[0], s->offsets, s->columns };
    s->next_row += rows;
done:
    return st;
}

bool gnti_arc_stream_next(gnti_arc_stream *s, gnti_arc_block *out)
{
    if (s->status != GNT_OK || s->next_row >= s->facts.num_nodes)
        return false;
    s->status = read_block(s, out);
    return s->status == GNT_OK;
}

/* --- what lies beside the arcs --- */

gnt_status gnti_arc_stream_read_graph(gnti_arc_stream *s, gnti_graph **out)
{
    gnt_status st = GNT_OK;
    gnti_graph *g = NULL;
    gnti_arc_block b;

    GNT_TRY(gnti_graph_alloc(s->facts.num_nodes, s->facts.num_nodes, s->facts.num_arcs, false, &g));
    gnti_arc_stream_rewind(s);
    g->offsets[0] = 0;
    while (gnti_arc_stream_next(s, &b)) {
        const int64_t num_arcs = b.offsets[b.num_rows];

        for (int64_t r = 0; r < b.num_rows; r++)
            g->offsets[b.first_row + r + 1] = b.first_arc + b.offsets[r + 1];
        if (num_arcs > 0)
            memcpy(g->columns + b.first_arc, b.columns, (size_t)num_arcs * sizeof *b.columns);
    }
    GNT_TRY(s->status);
    *out = g;
    g = NULL;
done:
    gnti_graph_free(&g);
    return st;
}

gnt_status gnti_arc_stream_read_train(gnti_arc_stream *s, const char *split, uint8_t **mask)
{
    gnt_status st = GNT_OK;
    const gnti_split *chosen = NULL;
    gnt_dataset *d = NULL;
    uint8_t *m = NULL;

    *mask = NULL;
    if (gnti_h5_kind_of(s->file, "/graphs/y") != GNTI_H5_NOTHING) { /* splits list graphs */
        GNT_CHECK(split == NULL, GNT_ERR_UNSUPPORTED,
                  "split '%s' of file '%s' lists graphs, not nodes: leave out --split", split,
                  gnti_h5_path(s->file));
        return GNT_OK;
    }
    GNT_TRY(gnti_dataset_create(NULL, s->facts.num_nodes, &d));
    GNT_TRY(gnti_strdup(&d->path, gnti_h5_path(s->file)));
    GNT_TRY(gnti_dataset_read_splits(s->file, true, d));
    if (split == NULL && gnti_dataset_find_split(d, NULL, &chosen) != GNT_OK)
        goto done; /* several, none of them public: no training nodes are told apart */
    if (split != NULL)
        GNT_TRY(gnti_dataset_find_split(d, split, &chosen));
    GNT_TRY(gnti_calloc_array(&m, s->facts.num_nodes));
    for (int64_t i = 0; i < chosen->num_nodes[GNTI_TRAIN]; i++) {
        const int64_t v = chosen->nodes[GNTI_TRAIN][i];

        GNT_CHECK(v >= 0 && v < s->facts.num_nodes, GNT_ERR_FORMAT,
                  "split '%s' of file '%s' names node %lld, nodes are 0 .. %lld", chosen->name,
                  gnti_h5_path(s->file), (long long)v, (long long)s->facts.num_nodes - 1);
        m[v] = 1;
    }
    *mask = m;
    m = NULL;
done:
    gnti_free(m);
    gnt_dataset_free(&d);
    return st;
}

gnt_status gnti_arc_stream_read_origin(gnti_arc_stream *s, int64_t **origin)
{
    gnt_status st = GNT_OK;
    const int64_t n = s->facts.num_nodes, *found = NULL;
    gnti_array a = { .axis = GNTI_AXIS_NODE, .dtype = GNTI_FILE_I64, .rows = n, .width = 1 };
    gnt_dataset *d = NULL;
    int64_t *rows = NULL;

    *origin = NULL;
    if (gnti_h5_kind_of(s->file, "/nodes/origin") != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(s->file, "/nodes/origin", n, 1, NULL));
    GNT_TRY(gnti_alloc_array(&rows, n));
    GNT_TRY(gnti_h5_read_i64(s->file, "/nodes/origin", n, rows));
    GNT_TRY(gnti_dataset_create(NULL, n, &d));
    GNT_TRY(gnti_strdup(&a.path, "/nodes/origin"));
    a.data = rows;
    rows = NULL;
    GNT_TRY(gnti_dataset_take_array(d, &a));
    GNT_TRY(gnti_dataset_get_origin(d, &found));
    if (found != NULL) { /* the array moves on to the caller */
        *origin = d->arrays[0].data;
        d->arrays[0].data = NULL;
    }
done:
    gnti_array_free(&a);
    gnti_free(rows);
    gnt_dataset_free(&d);
    return st;
}
