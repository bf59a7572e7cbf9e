/* SPDX-License-Identifier: Apache-2.0 */
/* Own rows of a CSR matrix in a file. Offsets pass through a window; what is own leaves its begin in the file and its length,
 * then columns and values are read as ranges straight to their place.
 */
#include "dist/load.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>

enum { WINDOW_ROWS = 1 << 16 };

typedef struct csr_reader {
    gnti_load *load;
    const char *group;
    int64_t num_values; /* of the whole matrix */
    gnti_graph *rows;   /* (num_own) offsets first hold lengths, one place late */
    int64_t *begin;     /* (num_own) in the file */
    int64_t *window;    /* (WINDOW_ROWS + 1) */
} csr_reader;

/* One range of offsets: rows first .. first + count. */
static bool next_once(void *user, gnti_h5_range *out)
{
    gnti_h5_range *r = user;

    *out = *r;
    r->count = 0;
    return out->count > 0;
}

static gnt_status read_offsets(csr_reader *c, int64_t first, int64_t count)
{
    gnt_status st = GNT_OK;
    gnti_h5_range range = { first, count + 1, 0 };
    const gnti_h5_ranges ranges = { next_once, &range, 0 };
    const char *file = gnti_h5_path(c->load->file);
    const int64_t *w = c->window;
    char path[128];

    snprintf(path, sizeof path, "%s/indptr", c->group);
    GNT_TRY(gnti_h5_read_ranges(c->load->file, path, GNTI_FILE_I64, 1, &ranges, c->window));
    GNT_CHECK(first > 0 || w[0] == 0, GNT_ERR_FORMAT, "'%s' of file '%s' starts with %lld, expected 0", path,
              file, (long long)w[0]);
    for (int64_t i = 0; i < count; i++)
        GNT_CHECK(w[i] >= 0 && w[i] <= w[i + 1] && w[i + 1] <= c->num_values, GNT_ERR_FORMAT,
                  "'%s' of file '%s': indptr not monotone at row %lld: %lld is followed by %lld, there are "
                  "%lld values",
                  c->group, file, (long long)(first + i), (long long)w[i], (long long)w[i + 1],
                  (long long)c->num_values);
    GNT_CHECK(first + count < c->load->head->num_nodes || w[count] == c->num_values, GNT_ERR_FORMAT,
              "'%s' of file '%s' ends with %lld but there are %lld values", path, file, (long long)w[count],
              (long long)c->num_values);
done:
    return st;
}

/* Begin and length of every own row. In chunk order only own rows are looked at, else all offsets pass. */
static gnt_status measure_rows(csr_reader *c)
{
    gnt_status st = GNT_OK;
    gnti_load_runs runs = { c->load, 0 };
    int64_t row, count, own, first = 0, end = 0;

    while (gnti_load_next_run(&runs, &row, &count, &own)) {
        for (int64_t i = 0; i < count; i++) {
            if (row + i >= end) {
                const int64_t most = c->load->position != NULL ? c->load->head->num_nodes : row + count;

                first = row + i;
                end = gnti_min_i64(first + WINDOW_ROWS, most);
                GNT_TRY(read_offsets(c, first, end - first));
            }
            c->begin[own + i] = c->window[row + i - first];
            c->rows->offsets[own + i + 1] = c->window[row + i - first + 1] - c->window[row + i - first];
        }
    }
    for (int64_t i = 0; i < c->rows->num_rows; i++)
        c->rows->offsets[i + 1] += c->rows->offsets[i];
done:
    return st;
}

typedef struct value_runs {
    gnti_load_runs runs;
    const csr_reader *reader;
    int64_t row, left, own; /* of the run under way */
} value_runs;

/* Own rows one after the other: those of a chunk touch each other in the file and in memory. */
static bool next_values(void *user, gnti_h5_range *out)
{
    value_runs *v = user;
    const int64_t *offsets = v->reader->rows->offsets;

    do {
        if (v->left == 0 && !gnti_load_next_run(&v->runs, &v->row, &v->left, &v->own))
            return false;
        *out = (gnti_h5_range){ v->reader->begin[v->own], offsets[v->own + 1] - offsets[v->own],
                                offsets[v->own] };
        v->own++;
        v->left--;
    } while (out->count == 0);
    return true;
}

static gnt_status read_values(const csr_reader *c, const char *name, gnti_dtype_file type, void *out)
{
    gnt_status st = GNT_OK;
    value_runs v = { { c->load, 0 }, c, 0, 0, 0 };
    const gnti_h5_ranges ranges = { next_values, &v, gnti_load_gap(c->load) };
    char path[128];

    snprintf(path, sizeof path, "%s/%s", c->group, name);
    GNT_TRY(gnti_h5_expect(c->load->file, path, c->num_values, 1, NULL));
    GNT_TRY(gnti_h5_read_ranges(c->load->file, path, type, 1, &ranges, out));
done:
    return st;
}

/* Weights that are written in the file and not all 1 in all of it. */
static gnt_status read_weights(const csr_reader *c)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    gnti_graph *g = c->rows;
    int64_t others = 0;
    char path[128];

    snprintf(path, sizeof path, "%s/data", c->group);
    if (gnti_h5_kind_of(c->load->file, path) == GNTI_H5_NOTHING)
        return GNT_OK;
    GNT_TRY(gnti_h5_inspect(c->load->file, path, NULL, &info));
    if (info.stored_bytes == 0 && info.fill_is_one)
        return GNT_OK;
    GNT_TRY(gnti_alloc_array(&g->weights, g->num_arcs));
    GNT_TRY(read_values(c, "data", GNTI_FILE_F32, g->weights));
    for (int64_t a = 0; a < g->num_arcs; a++)
        others += g->weights[a] != 1.0f;
    GNT_TRY(gnti_load_sum(c->load->comm, &others, 1));
    if (others == 0) {
        gnti_free(g->weights);
        g->weights = NULL;
    }
done:
    return st;
}

static gnt_status check_columns(const csr_reader *c)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = c->rows;

    for (int64_t a = 0; a < g->num_arcs; a++)
        GNT_CHECK(g->columns[a] >= 0 && g->columns[a] < g->num_cols, GNT_ERR_FORMAT,
                  "'%s/indices' of file '%s' names column %d, columns are 0 .. %lld", c->group,
                  gnti_h5_path(c->load->file), g->columns[a], (long long)g->num_cols - 1);
done:
    return st;
}

gnt_status gnti_load_csr(gnti_load *l, const char *group, int64_t num_values, int64_t num_cols,
                         gnti_graph **out)
{
    gnt_status st = GNT_OK;
    csr_reader c = { .load = l, .group = group, .num_values = num_values };

    GNT_TRY(gnti_graph_alloc(l->num_own, num_cols, 0, false, &c.rows));
    GNT_TRY(gnti_alloc_array(&c.begin, l->num_own));
    GNT_TRY(gnti_alloc_array(&c.window, WINDOW_ROWS + 1));
    GNT_TRY(measure_rows(&c));
    c.rows->num_arcs = c.rows->offsets[l->num_own];
    gnti_free(c.rows->columns);
    c.rows->columns = NULL;
    GNT_TRY(gnti_alloc_array(&c.rows->columns, c.rows->num_arcs));
    GNT_TRY(read_values(&c, "indices", GNTI_FILE_I32, c.rows->columns));
    GNT_TRY(check_columns(&c));
    GNT_TRY(read_weights(&c));
    *out = c.rows;
    c.rows = NULL;
done:
    gnti_graph_free(&c.rows);
    gnti_free(c.begin);
    gnti_free(c.window);
    return st;
}
