/* SPDX-License-Identifier: Apache-2.0 */
/* Which own rows are in which part of the split.
 *
 * Lists ascend, so in a file in chunk order the nodes of a chunk are one piece of each list, found by bisection in the file; in
 * any other file the lists pass through a window. A mask is read like any array of rows.
 */
#include "dist/load.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

enum { WINDOW_NODES = 1 << 16, BLOCK_NODES = 32, PATH_BYTES = 512 };

typedef struct list_reader {
    gnti_load *load;
    const char *path;
    int64_t num;
    int64_t *window; /* (WINDOW_NODES) */
    uint8_t *member, bit;
} list_reader;

static gnt_status mark(const list_reader *r, int64_t node)
{
    gnt_status st = GNT_OK;
    const gnti_load *l = r->load;
    int64_t own;

    GNT_CHECK(node >= 0 && node < l->head->num_nodes, GNT_ERR_FORMAT,
              "'%s' of file '%s' lists node %lld, they are 0 .. %lld", r->path, l->head->path,
              (long long)node, (long long)l->head->num_nodes - 1);
    own = gnti_load_own_row(l->layout, l->own_start, l->position != NULL ? l->position[node] : node);
    if (own < 0)
        return GNT_OK;
    GNT_CHECK((r->member[own] & r->bit) == 0, GNT_ERR_FORMAT, "'%s' of file '%s' lists node %lld twice",
              r->path, l->head->path, (long long)node);
    r->member[own] = (uint8_t)(r->member[own] | r->bit);
done:
    return st;
}

static gnt_status read_some(const list_reader *r, int64_t first, int64_t count)
{
    return gnti_h5_read_rows(r->load->file, r->path, GNTI_FILE_I64, first, count, r->window);
}

static gnt_status read_whole(const list_reader *r)
{
    gnt_status st = GNT_OK;

    for (int64_t first = 0; first < r->num; first += WINDOW_NODES) {
        const int64_t count = gnti_min_i64(WINDOW_NODES, r->num - first);

        GNT_TRY(read_some(r, first, count));
        for (int64_t i = 0; i < count; i++)
            GNT_TRY(mark(r, r->window[i]));
    }
done:
    return st;
}

/* The first place whose node is not below `row`: single values, then the last few at once. */
static gnt_status find_place(const list_reader *r, int64_t row, int64_t *out)
{
    gnt_status st = GNT_OK;
    int64_t low = 0, high = r->num, i = 0;

    while (high - low > BLOCK_NODES) {
        const int64_t middle = low + (high - low) / 2;

        GNT_TRY(read_some(r, middle, 1));
        if (r->window[0] < row)
            low = middle + 1;
        else
            high = middle;
    }
    if (high > low)
        GNT_TRY(read_some(r, low, high - low));
    while (i < high - low && r->window[i] < row)
        i++;
    *out = low + i;
done:
    return st;
}

static gnt_status read_pieces(const list_reader *r)
{
    gnt_status st = GNT_OK;
    gnti_load_runs runs = { r->load, 0 };
    int64_t row, count, own, place = 0, end = 0, known = -1;

    while (gnti_load_next_run(&runs, &row, &count, &own)) {
        if (known != row) /* chunks that touch share a border */
            GNT_TRY(find_place(r, row, &place));
        GNT_TRY(find_place(r, row + count, &end));
        while (place < end) {
            const int64_t num = gnti_min_i64(WINDOW_NODES, end - place);

            GNT_TRY(read_some(r, place, num));
            for (int64_t i = 0; i < num; i++) {
                GNT_CHECK(r->window[i] >= row && r->window[i] < row + count, GNT_ERR_FORMAT,
                          "'%s' of file '%s' is not ascending near place %lld", r->path, r->load->head->path,
                          (long long)(place + i));
                GNT_TRY(mark(r, r->window[i]));
            }
            place += num;
        }
        known = row + count;
    }
done:
    return st;
}

static gnt_status read_mask(gnti_load *l, const char *path, int64_t width, uint8_t *member, uint8_t bit)
{
    gnt_status st = GNT_OK;
    gnti_load_runs runs = { l, 0 };
    const gnti_h5_ranges ranges = { gnti_load_next_range, &runs, gnti_load_gap(l) };
    float *mask = NULL;

    GNT_TRY(gnti_array_bytes((void **)(void *)&mask, l->num_own, (size_t)width * sizeof *mask, false));
    GNT_TRY(gnti_h5_read_ranges(l->file, path, GNTI_FILE_F32, width, &ranges, mask));
    for (int64_t i = 0; i < l->num_own; i++) {
        GNT_CHECK(mask[i * width] == 0.0f || mask[i * width] == 1.0f, GNT_ERR_FORMAT,
                  "mask '%s' of file '%s' has %g for node %lld, expected 0 or 1", path, l->head->path,
                  (double)mask[i * width], (long long)l->ids[i]);
        member[i] = (uint8_t)(member[i] | (mask[i * width] == 1.0f ? bit : 0));
    }
done:
    gnti_free(mask);
    return st;
}

static gnt_status read_part(gnti_load *l, const char *path, uint8_t *member, uint8_t bit)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    list_reader r = { .load = l, .path = path, .member = member, .bit = bit };

    if (gnti_h5_kind_of(l->file, path) != GNTI_H5_DATASET)
        return GNT_OK;
    GNT_TRY(gnti_h5_expect(l->file, path, -1, -1, &info));
    if (gnti_dataset_is_mask(&info, l->head->num_nodes)) {
        GNT_TRY(read_mask(l, path, info.dims[1] * info.dims[2] * info.dims[3], member, bit));
        return GNT_OK;
    }
    GNT_CHECK(info.type == GNTI_H5_INT, GNT_ERR_FORMAT, "'%s' of file '%s' must hold integers", path,
              l->head->path);
    r.num = info.num_values;
    GNT_TRY(gnti_alloc_array(&r.window, WINDOW_NODES));
    if (l->position != NULL)
        GNT_TRY(read_whole(&r));
    else
        GNT_TRY(read_pieces(&r));
done:
    gnti_free(r.window);
    return st;
}

/* Stored with the split by whoever wrote the file; what others wrote is summed here, from whole lists. */
static gnt_status read_sum(const gnti_h5 *file, int64_t num_nodes, const gnti_split *split, char out[65])
{
    gnt_status st = GNT_OK;
    gnt_dataset *d = NULL;
    const gnti_split *whole = NULL;
    char group[PATH_BYTES], *text = NULL;
    bool found;

    snprintf(group, sizeof group, "/splits/%s", split->name);
    GNT_TRY(gnti_h5_get_text(file, group, "sha256", &found, &text));
    if (found && strlen(text) == 64) {
        memcpy(out, text, 65);
        goto done;
    }
    GNT_TRY(gnti_dataset_create(NULL, num_nodes, &d));
    GNT_TRY(gnti_dataset_read_splits(file, true, d));
    GNT_TRY(gnti_dataset_find_split(d, split->name, &whole));
    GNT_TRY(gnti_split_sum(whole, out));
done:
    gnti_free(text);
    gnt_dataset_free(&d);
    return st;
}

gnt_status gnti_load_split_sum(const gnt_dataset *head, const gnti_split *split, char out[65])
{
    gnt_status st = GNT_OK;
    gnti_h5 *file = NULL;

    GNT_TRY(gnti_h5_open(head->path, &file));
    GNT_TRY(read_sum(file, head->num_nodes, split, out));
done:
    gnti_h5_close(&file);
    return st;
}

gnt_status gnti_load_split(gnti_load *l, gnti_local_data *d)
{
    static const char *const parts[] = { "train", "valid", "test" };
    gnt_status st = GNT_OK;
    const gnti_split *split = NULL;
    char path[PATH_BYTES];
    int64_t found[3] = { 0, 0, 0 };

    GNT_TRY(gnti_dataset_find_split(l->head, l->config->split, &split));
    GNT_TRY(gnti_strdup(&d->split_name, split->name));
    GNT_TRY(gnti_calloc_array(&d->member, l->num_own));
    d->inductive = split->inductive;
    for (int part = 0; part < 3; part++) {
        snprintf(path, sizeof path, "/splits/%s/%s", split->name, parts[part]);
        d->num_split[part] = split->num_nodes[part];
        GNT_TRY(read_part(l, path, d->member, (uint8_t)(1u << part)));
        for (int64_t i = 0; i < l->num_own; i++)
            found[part] += d->member[i] >> part & 1;
    }
    GNT_TRY(gnti_load_sum(l->comm, found, 3));
    for (int part = 0; part < 3; part++)
        GNT_CHECK(found[part] == d->num_split[part], GNT_ERR_FORMAT,
                  "'/splits/%s/%s' of file '%s' lists %lld nodes but %lld were found by their owners: it is "
                  "not ascending",
                  split->name, parts[part], l->head->path, (long long)d->num_split[part],
                  (long long)found[part]);
    GNT_TRY(read_sum(l->file, l->head->num_nodes, split, d->split_sha256));
done:
    return st;
}
