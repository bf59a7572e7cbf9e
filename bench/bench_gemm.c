/* SPDX-License-Identifier: Apache-2.0 */
/* Our dense products in the shapes of a training step: many rows N, narrow matrices.
 *
 *   bench_gemm [--rows N] [--in K] [--out M] [--threads T] [--repeats R] [--deterministic off|run|bitwise]
 *
 * xw: (N, K) (K, M); xtg: (N, K)^T (N, M), a sum over rows; gwt: (N, M) (K, M)^T. GFLOP/s counts 2 N K M.
 */
#include "base/error.h"
#include "bench/harness.h"
#include "kernels/backend.h"

#include <stdio.h>
#include <string.h>

typedef struct product {
    gnt_stream *stream;
    gnt_gemm_args args;
} product;

typedef struct shapes {
    int64_t rows, in, out;
} shapes;

static bool multiply_once(void *state)
{
    product *p = state;

    return gnti_gemm(p->stream, &p->args) == GNT_OK && gnti_stream_finish(p->stream) == GNT_OK;
}

/* A matrix of its own buffer, filled with small numbers. */
static gnt_status make_matrix(gnt_device *dev, int64_t rows, int64_t width, gnt_mat_view *out)
{
    gnt_status st = GNT_OK;
    gnt_buffer *buf = NULL;

    GNT_TRY(gnti_buffer_alloc(dev, (size_t)(rows * width) * sizeof(float), &buf));
    for (int64_t i = 0; i < rows * width; i++)
        ((float *)gnt_buffer_host(buf))[i] = (float)(i % 13) * 0.25f - 1.5f;
    *out = (gnt_mat_view){ .buf = buf,
                           .rows = rows,
                           .members = 1,
                           .block_members = 1,
                           .width = width,
                           .row_stride = width,
                           .member_stride = width,
                           .block_stride = rows * width,
                           .dtype = GNT_F32 };
done:
    return st;
}

static gnt_status measure(product *p, const char *name, const shapes *s, int32_t repeats)
{
    gnt_status st = GNT_OK;
    bench_times times;

    p->args.alpha = 1.0f;
    p->args.epilogue = GNT_EPILOGUE_NONE;
    GNT_CHECK(bench_repeat(multiply_once, p, repeats, &times), GNT_ERR_STATE, "%s", gnt_last_error());
    printf("{\"product\": \"%s\", \"rows\": %lld, \"in\": %lld, \"out\": %lld, ", name, (long long)s->rows,
           (long long)s->in, (long long)s->out);
    bench_print_times(&times);
    printf(", \"gflops\": %.2f}\n", 2e-9 * (double)s->rows * (double)s->in * (double)s->out / times.median);
done:
    return st;
}

static gnt_status measure_all(gnt_device *dev, gnt_stream *stream, const shapes *s, int32_t repeats)
{
    gnt_status st = GNT_OK;
    gnt_mat_view x = { 0 }, w = { 0 }, g = { 0 };
    const gnt_row_tree tree = { .num_rows = s->rows,
                                .num_blocks = (s->rows + GNTI_TREE_ROWS - 1) / GNTI_TREE_ROWS };
    product p = { .stream = stream };

    GNT_TRY(make_matrix(dev, s->rows, s->in, &x));
    GNT_TRY(make_matrix(dev, s->in, s->out, &w));
    GNT_TRY(make_matrix(dev, s->rows, s->out, &g));
    p.args = (gnt_gemm_args){ .a = x, .b = w, .c = g };
    GNT_TRY(measure(&p, "xw", s, repeats));
    p.args = (gnt_gemm_args){ .a = x, .b = g, .c = w, .trans_a = true, .row_tree = &tree };
    GNT_TRY(measure(&p, "xtg", s, repeats));
    p.args = (gnt_gemm_args){ .a = g, .b = w, .c = x, .trans_b = true };
    GNT_TRY(measure(&p, "gwt", s, repeats));
done:
    gnti_buffer_free(&x.buf);
    gnti_buffer_free(&w.buf);
    gnti_buffer_free(&g.buf);
    return st;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    gnt_device *dev = NULL;
    gnt_stream *stream = NULL;
    const char *level = bench_text(argc, argv, "deterministic", "run");
    const gnti_device_config config = {
        .num_threads = (int32_t)bench_option(argc, argv, "threads", 2, 1, 1024),
        .determinism = strcmp(level, "bitwise") == 0 ? GNTI_DET_BITWISE
                       : strcmp(level, "off") == 0   ? GNTI_DET_OFF
                                                     : GNTI_DET_RUN,
    };
    const shapes s = { .rows = bench_option(argc, argv, "rows", 169343, 1, INT32_MAX),
                       .in = bench_option(argc, argv, "in", 128, 1, 8192),
                       .out = bench_option(argc, argv, "out", 128, 1, 8192) };

    GNT_TRY(gnti_device_open("cpu", 0, &config, &dev));
    GNT_TRY(gnti_stream_open(dev, 0, &stream));
    GNT_TRY(
        measure_all(dev, stream, &s, (int32_t)bench_option(argc, argv, "repeats", 5, 1, BENCH_MAX_REPEATS)));
done:
    if (st != GNT_OK)
        fprintf(stderr, "bench_gemm: %s\n", gnt_last_error());
    gnti_stream_close(&stream);
    gnti_device_close(&dev);
    return st == GNT_OK ? 0 : 1;
}
