/* SPDX-License-Identifier: Apache-2.0 */
/* Our sparse product with a dense matrix, to be asked in turn with the peers' (bench/peers/peer_spmm.py).
 *
 *   bench_spmm FILE.h5 [--threads T] [--isa LEVEL] [--device NAME]     then lines "WIDTH REPEATS KIND" on standard input
 *
 * sum: y_i = x_i + sum_j x_j, what DGL's copy_u_sum does over A + I.
 * sym: y = D^-1/2 (A + I) D^-1/2 x, what MKL does with the normalised matrix; ours scales rows instead of storing values.
 * plain: y_i = sum_j x_j. copy: x to y, the yardstick of a device's memory; gbs counts both then.
 * On a device with memory of its own ten products are queued before the host waits.
 * Rows lie as the planner lays activations out. The answer is a JSON line with seconds and the rate at which neighbour rows
 * were read, 4 width (arcs + nodes) / seconds.
 */
#include "base/alloc.h"
#include "base/error.h"
#include "bench/harness.h"
#include "datasets/dataset.h"
#include "graph/operator.h"
#include "kernels/backend.h"
#include "nn/ir.h"

#include <stdio.h>
#include <string.h>

enum { CHOICE_CALLS = 8, QUEUED = 10 }; /* a plan tries its column tiles on its first calls */

typedef struct product {
    gnt_dataset *data;
    gnt_device *dev;
    gnti_operator *op;
    gnt_stream *stream;
    gnt_spmm_plan *plan;
    gnt_buffer *x, *y, *scale;
    gnt_spmm_args args;
    gnt_mat_view scale_view, self_view;
    int64_t width;
    bool copies; /* kind copy */
    int queued;  /* products a wait */
} product;

static gnt_mat_view whole(gnt_buffer *buf, int64_t rows, int64_t width)
{
    return (gnt_mat_view){ .buf = buf,
                           .rows = rows,
                           .members = 1,
                           .block_members = 1,
                           .width = width,
                           .row_stride = gnti_padded_row(width),
                           .dtype = GNT_F32 };
}

static gnt_status open_product(product *p, const char *path, const char *device,
                               const gnti_device_config *config)
{
    gnt_status st = GNT_OK;

    GNT_TRY(gnti_device_open(device, 0, config, &p->dev));
    p->queued = gnti_device_in_host_memory(p->dev) ? 1 : QUEUED;
    GNT_TRY(gnt_dataset_open(NULL, path, &p->data));
    GNT_TRY(gnti_operator_create(p->data->graph, &p->op));
    GNT_CHECK(p->op->loop == NULL, GNT_ERR_ARG, "'%s' has loops: the peers' programs take graphs without",
              path);
    GNT_TRY(gnti_stream_open(p->dev, 0, &p->stream));
    GNT_TRY(gnti_buffer_alloc(p->dev, (size_t)p->op->num_src * sizeof(float), &p->scale));
    GNT_TRY(gnti_upload(p->stream, p->scale, 0, p->op->sym_scale, (size_t)p->op->num_src * sizeof(float)));
    p->scale_view = whole(p->scale, p->op->num_src, 1);
done:
    return st;
}

static gnt_status fill(product *p, int64_t floats)
{
    gnt_status st = GNT_OK;
    float *x = NULL;

    GNT_TRY(gnti_alloc_array(&x, floats));
    for (int64_t i = 0; i < floats; i++)
        x[i] = (float)(i % 17) * 0.125f - 1.0f;
    GNT_TRY(gnti_upload(p->stream, p->x, 0, x, (size_t)floats * sizeof *x));
    GNT_TRY(gnti_stream_finish(p->stream));
done:
    gnti_free(x);
    return st;
}

/* Operands and a plan for this width, unless they are there already. */
static gnt_status set_width(product *p, int64_t width)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = p->op->forward;
    const int64_t floats = p->op->num_src * gnti_padded_row(width);
    const size_t bytes = (size_t)floats * sizeof(float);

    if (width == p->width)
        return st;
    gnti_spmm_plan_free(&p->plan);
    gnti_buffer_free(&p->x);
    gnti_buffer_free(&p->y);
    GNT_TRY(gnti_buffer_alloc(p->dev, bytes, &p->x));
    GNT_TRY(gnti_buffer_alloc(p->dev, bytes, &p->y));
    GNT_TRY(fill(p, floats));
    const gnt_spmm_plan_args plan = { .num_rows = p->op->num_dst,
                                      .num_cols = p->op->num_src,
                                      .num_arcs = g->num_arcs,
                                      .offsets = g->offsets,
                                      .columns = g->columns,
                                      .end_row = p->op->num_dst,
                                      .max_width = width,
                                      .lasting = true };
    GNT_TRY(gnti_spmm_plan_create(p->stream, &plan, &p->plan));
    p->width = width;
done:
    return st;
}

static void set_kind(product *p, const char *kind)
{
    const bool sym = strcmp(kind, "sym") == 0;

    p->copies = strcmp(kind, "copy") == 0;
    p->args = (gnt_spmm_args){ .x = whole(p->x, p->op->num_src, p->width),
                               .y = whole(p->y, p->op->num_dst, p->width),
                               .reduce = GNT_SPMM_SUM,
                               .self_kind = strcmp(kind, "plain") == 0 ? GNT_SELF_NONE : GNT_SELF_ONE,
                               .src_scale = sym ? &p->scale_view : NULL,
                               .alpha = 1.0f,
                               .epilogue = GNT_EPILOGUE_NONE };
    p->args.epilogue.row_scale = sym ? &p->scale_view : NULL;
}

static bool multiply_once(void *state)
{
    product *p = state;
    gnt_status st = GNT_OK;
    const size_t bytes = (size_t)(p->op->num_src * gnti_padded_row(p->width)) * sizeof(float);

    for (int i = 0; i < p->queued; i++)
        GNT_TRY(p->copies ? gnti_copy(p->stream, &(gnt_copy_args){ p->y, 0, p->x, 0, bytes })
                          : gnti_spmm(p->stream, p->plan, &p->args));
    GNT_TRY(gnti_stream_finish(p->stream));
done:
    return st == GNT_OK;
}

static bool is_kind(const char *kind)
{
    static const char *const kinds[] = { "sum", "sym", "plain", "copy" };

    for (int i = 0; i < 4; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

/* gbs: rates of rows read, or of a copy; model_gbs: all bytes of a product by the model, arcs and both dense operands too, if
 * each arc misses the cache. */
static gnt_status answer(product *p, long long width, int repeats, const char *kind)
{
    gnt_status st = GNT_OK;
    bench_times times;

    GNT_CHECK(width >= 1 && width <= 4096 && is_kind(kind), GNT_ERR_ARG,
              "a request is WIDTH REPEATS sum|sym|plain|copy, not '%lld %d %s'", width, repeats, kind);
    GNT_TRY(set_width(p, width));
    set_kind(p, kind);
    for (int i = 0; i < CHOICE_CALLS; i++)
        (void)multiply_once(p);
    GNT_CHECK(bench_repeat(multiply_once, p, repeats, &times), GNT_ERR_ARG,
              "%d repeats: 1 to %d, or the product failed: %s", repeats, BENCH_MAX_REPEATS, gnt_last_error());
    times.median /= p->queued;
    times.smallest /= p->queued;
    times.p90 /= p->queued;
    const double rows = (double)p->op->num_dst, arcs = (double)p->op->forward->num_arcs, w = (double)width;
    const double read = p->copies                    ? 8.0 * rows * (double)gnti_padded_row(width)
                        : strcmp(kind, "plain") == 0 ? 4.0 * w * arcs
                                                     : 4.0 * w * (arcs + rows);

    printf("{\"width\": %lld, \"kind\": \"%s\", ", width, kind);
    bench_print_times(&times);
    printf(", \"gbs\": %.3f", 1e-9 * read / times.median);
    if (!p->copies)
        printf(", \"model_gbs\": %.3f", 1e-9 * (arcs * (4.0 + 4.0 * w) + 8.0 * rows * w) / times.median);
    printf("}\n");
    fflush(stdout);
done:
    return st;
}

static gnt_status serve(product *p)
{
    gnt_status st = GNT_OK;
    char line[128], kind[8];
    long long width;
    int repeats;

    printf("{\"nodes\": %lld, \"arcs\": %lld}\n", (long long)p->op->num_dst,
           (long long)p->op->forward->num_arcs);
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        GNT_CHECK(sscanf(line, "%lld %d %7s", &width, &repeats, kind) == 3, GNT_ERR_ARG,
                  "a request is WIDTH REPEATS sum|sym|plain|copy, not '%.*s'", (int)strcspn(line, "\n"),
                  line);
        GNT_TRY(answer(p, width, repeats, kind));
    }
done:
    return st;
}

/* --isa LEVEL; false when there is no such level. */
static bool read_isa(int argc, char **argv, gnti_isa *out)
{
    static const char *const levels[] = { "auto", "portable", "avx2", "avx512" };
    const char *wanted = bench_text(argc, argv, "isa", levels[0]);

    for (int level = 0; level < 4; level++) {
        *out = (gnti_isa)level;
        if (strcmp(wanted, levels[level]) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    product p = { 0 };
    gnti_device_config config = { .determinism = GNTI_DET_RUN };

    if (argc < 2 || !read_isa(argc, argv, &config.isa)) {
        fprintf(
            stderr,
            "usage: bench_spmm FILE.h5 [--threads T] [--isa auto|portable|avx2|avx512] [--device NAME]\n");
        return 2;
    }
    config.num_threads = (int32_t)bench_option(argc, argv, "threads", 2, 1, 1024);
    GNT_TRY(open_product(&p, argv[1], bench_text(argc, argv, "device", "cpu"), &config));
    GNT_TRY(serve(&p));
done:
    if (st != GNT_OK)
        fprintf(stderr, "bench_spmm: %s\n", gnt_last_error());
    gnti_spmm_plan_free(&p.plan);
    gnti_buffer_free(&p.x);
    gnti_buffer_free(&p.y);
    gnti_buffer_free(&p.scale);
    gnti_stream_close(&p.stream);
    gnti_device_close(&p.dev);
    gnti_operator_free(&p.op);
    gnt_dataset_free(&p.data);
    return st == GNT_OK ? 0 : 1;
}
