/* SPDX-License-Identifier: Apache-2.0 */
/* One read a row, or one selection of many points, costs far more than reading what lies between: rows that are close share a
 * read of at most 1 MiB, so at worst the whole array is read once. Pieces of 1 MiB stay in the cache; pieces of 32 MiB took
 * five times as long, most of it page faults. Long ranges are read where they belong.
 */
#include "datasets/h5_ranges.h"

#include "datasets/h5_convert.h"

enum { WINDOW_BYTES = 1 << 20, STRAIGHT_BYTES = 256 << 20, MOST_RANGES = 16384 };

/* The ranges that share a read, and the buffer that their window is read into. */
typedef struct window {
    gnti_h5_numbers numbers;
    int64_t row_bytes, out_row_bytes; /* as read, as wanted */
    int64_t first, end;               /* rows of the file */
    gnti_h5_range *ranges;            /* (MOST_RANGES) */
    int64_t num_ranges;
    char *buffer, *out;
} window;

static gnt_status convert(const window *w, const char *from, int64_t row, int64_t count, int64_t to)
{
    const int64_t width = w->numbers.width;

    return gnti_h5_convert(&w->numbers, from, row * width, count * width, w->out + to * w->out_row_bytes);
}

static gnt_status read_window(window *w)
{
    gnt_status st = GNT_OK;

    if (w->num_ranges == 0)
        return GNT_OK;
    GNT_TRY(gnti_h5_read_rows(w->numbers.file, w->numbers.path, w->numbers.stored, w->first,
                              w->end - w->first, w->buffer));
    for (int64_t i = 0; i < w->num_ranges; i++) {
        const gnti_h5_range *r = &w->ranges[i];

        GNT_TRY(convert(w, w->buffer + (r->first - w->first) * w->row_bytes, r->first, r->count, r->to));
    }
    w->num_ranges = 0;
done:
    return st;
}

/* A range longer than a window. */
static gnt_status read_long(window *w, const gnti_h5_range *r)
{
    gnt_status st = GNT_OK;
    const bool straight = w->numbers.stored == w->numbers.wanted;
    const int64_t step = gnti_max_i64(1, (straight ? STRAIGHT_BYTES : WINDOW_BYTES) / w->row_bytes);

    for (int64_t i = 0; i < r->count; i += step) {
        const int64_t count = gnti_min_i64(step, r->count - i);
        char *place = straight ? w->out + (r->to + i) * w->out_row_bytes : w->buffer;

        GNT_TRY(gnti_h5_read_rows(w->numbers.file, w->numbers.path, w->numbers.stored, r->first + i, count,
                                  place));
        if (!straight)
            GNT_TRY(convert(w, w->buffer, r->first + i, count, r->to + i));
    }
done:
    return st;
}

static gnt_status add_range(window *w, const gnti_h5_range *r, int64_t gap_bytes)
{
    gnt_status st = GNT_OK;
    const int64_t end = r->first + r->count;

    GNT_CHECK(r->first >= 0 && r->count >= 0 && end <= w->numbers.rows &&
                  (w->num_ranges == 0 || r->first >= w->end),
              GNT_ERR_ARG, "rows %lld .. %lld of '%s', ranges must ascend in 0 .. %lld", (long long)r->first,
              (long long)end - 1, w->numbers.path, (long long)w->numbers.rows - 1);
    if (w->num_ranges > 0 &&
        (w->num_ranges == MOST_RANGES || (r->first - w->end) * w->row_bytes > gap_bytes ||
         (end - w->first) * w->row_bytes > WINDOW_BYTES))
        GNT_TRY(read_window(w));
    if (r->count * w->row_bytes > WINDOW_BYTES) {
        GNT_TRY(read_long(w, r));
        return GNT_OK;
    }
    if (w->num_ranges == 0)
        w->first = r->first;
    w->ranges[w->num_ranges++] = *r;
    w->end = end;
done:
    return st;
}

static gnt_status read_all(window *w, const gnti_h5_ranges *ranges)
{
    gnt_status st = GNT_OK;
    gnti_h5_range r = { 0, 0, 0 }, n;

    while (ranges->next(ranges->user, &n)) {
        if (n.first == r.first + r.count && n.to == r.to + r.count) { /* they touch: one range */
            r.count += n.count;
            continue;
        }
        if (r.count > 0)
            GNT_TRY(add_range(w, &r, ranges->gap_bytes));
        r = n;
    }
    if (r.count > 0)
        GNT_TRY(add_range(w, &r, ranges->gap_bytes));
    GNT_TRY(read_window(w));
done:
    return st;
}

gnt_status gnti_h5_read_ranges(const gnti_h5 *file, const char *path, gnti_dtype_file wanted, int64_t width,
                               const gnti_h5_ranges *ranges, void *out)
{
    gnt_status st = GNT_OK;
    gnti_h5_info info;
    window w = { .out = out };

    GNT_TRY(gnti_h5_expect(file, path, -1, width, &info));
    GNT_TRY(gnti_h5_numbers_open(file, path, wanted, &info, &w.numbers));
    w.row_bytes = gnti_max_i64(1, w.numbers.width * (int64_t)gnti_file_dtype_bytes(w.numbers.stored));
    w.out_row_bytes = w.numbers.width * (int64_t)gnti_file_dtype_bytes(wanted);
    GNT_TRY(gnti_alloc_array(&w.buffer, gnti_max_i64(WINDOW_BYTES, w.row_bytes)));
    GNT_TRY(gnti_alloc_array(&w.ranges, MOST_RANGES));
    GNT_TRY(read_all(&w, ranges));
done:
    gnti_free(w.buffer);
    gnti_free(w.ranges);
    return st;
}
