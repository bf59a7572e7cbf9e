/* SPDX-License-Identifier: Apache-2.0 */
/* cuSPARSE's product of a graph with a dense matrix, each of its CSR algorithms, beside bench_spmm --device cuda (kind plain).
 *
 *   bench_cusparse FILE.h5           then lines "WIDTH REPEATS" on standard input
 *
 * y = A x with values of 1 stored, 32-bit offsets and columns, rows of x and y side by side without padding. Buffers and analysis are
 * made before the clock starts; ten products are queued before the host waits. A JSON line an algorithm; one that the library
 * refuses has "refused" instead of seconds. Ordinary allocations, so that nothing of our back end is measured.
 */
#include "base/alloc.h"
#include "bench/harness.h"
#include "datasets/dataset.h"
#include "kernels/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

enum { QUEUED = 10, NUM_ALGORITHMS = 4 };
static const struct {
    const char *name;
    cusparseSpMMAlg_t value;
} algorithms[NUM_ALGORITHMS] = { { "default", CUSPARSE_SPMM_ALG_DEFAULT },
                                 { "csr_alg1", CUSPARSE_SPMM_CSR_ALG1 },
                                 { "csr_alg2", CUSPARSE_SPMM_CSR_ALG2 },
                                 { "csr_alg3", CUSPARSE_SPMM_CSR_ALG3 } };
static const float one = 1.0f, zero = 0.0f;

typedef struct library {
    gnt_dataset *data;
    cudaStream_t stream;
    cusparseHandle_t handle;
    void *offsets, *columns, *values, *x, *y, *work;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t dense_x, dense_y;
    cusparseSpMMAlg_t algorithm;
} library;

static gnt_status send(library *l, const void *from, size_t bytes, void **out)
{
    gnt_status st = GNT_OK;

    GNT_TRY_CUDA(cudaMalloc(out, bytes + 1));
    GNT_TRY_CUDA(cudaMemcpyAsync(*out, from, bytes, cudaMemcpyHostToDevice, l->stream));
    GNT_TRY_CUDA(cudaStreamSynchronize(l->stream));
done:
    return st;
}

static gnt_status open_library(library *l, const char *path)
{
    gnt_status st = GNT_OK;
    int32_t *offsets = NULL;
    float *values = NULL;
    const gnti_graph *g;

    GNT_TRY_CUDA(cudaSetDevice(0));
    GNT_TRY_CUDA(cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking));
    GNT_TRY(gnt_dataset_open(NULL, path, &l->data));
    g = l->data->graph;
    GNT_CHECK(g->num_arcs <= INT32_MAX, GNT_ERR_UNSUPPORTED, "%lld arcs do not fit 32-bit offsets",
              (long long)g->num_arcs);
    GNT_TRY(gnti_alloc_array(&offsets, g->num_rows + 1));
    GNT_TRY(gnti_alloc_array(&values, g->num_arcs + 1));
    for (int64_t i = 0; i <= g->num_rows; i++)
        offsets[i] = (int32_t)g->offsets[i];
    for (int64_t e = 0; e < g->num_arcs; e++)
        values[e] = 1.0f;
    GNT_TRY(send(l, offsets, (size_t)(g->num_rows + 1) * sizeof *offsets, &l->offsets));
    GNT_TRY(send(l, g->columns, (size_t)g->num_arcs * sizeof(int32_t), &l->columns));
    GNT_TRY(send(l, values, (size_t)g->num_arcs * sizeof *values, &l->values));
    GNT_TRY_CUSPARSE(cusparseCreate(&l->handle));
    GNT_TRY_CUSPARSE(cusparseSetStream(l->handle, l->stream));
done:
    gnti_free(offsets);
    gnti_free(values);
    return st;
}

static void drop_operands(library *l)
{
    if (l->dense_x != NULL)
        (void)cusparseDestroyDnMat(l->dense_x);
    if (l->dense_y != NULL)
        (void)cusparseDestroyDnMat(l->dense_y);
    (void)cudaFree(l->x);
    (void)cudaFree(l->y);
    l->dense_x = l->dense_y = NULL;
    l->x = l->y = NULL;
}

static gnt_status set_width(library *l, int64_t width)
{
    gnt_status st = GNT_OK;
    const int64_t nodes = l->data->graph->num_rows, floats = nodes * width;
    float *x = NULL;

    drop_operands(l);
    GNT_TRY(gnti_alloc_array(&x, floats + 1));
    for (int64_t i = 0; i < floats; i++)
        x[i] = (float)(i % 17) * 0.125f - 1.0f;
    GNT_TRY(send(l, x, (size_t)floats * sizeof *x, &l->x));
    GNT_TRY(send(l, x, (size_t)floats * sizeof *x, &l->y));
    GNT_TRY_CUSPARSE(
        cusparseCreateDnMat(&l->dense_x, nodes, width, width, l->x, CUDA_R_32F, CUSPARSE_ORDER_ROW));
    GNT_TRY_CUSPARSE(
        cusparseCreateDnMat(&l->dense_y, nodes, width, width, l->y, CUDA_R_32F, CUSPARSE_ORDER_ROW));
done:
    gnti_free(x);
    return st;
}

static void drop_algorithm(library *l)
{
    if (l->a != NULL)
        (void)cusparseDestroySpMat(l->a);
    (void)cudaFree(l->work);
    l->a = NULL;
    l->work = NULL;
}

/* A descriptor, buffer and analysis of its own. */
static gnt_status prepare(library *l, cusparseSpMMAlg_t algorithm)
{
    gnt_status st = GNT_OK;
    const gnti_graph *g = l->data->graph;
    size_t bytes = 0;

    drop_algorithm(l);
    l->algorithm = algorithm;
    GNT_TRY_CUSPARSE(cusparseCreateCsr(&l->a, g->num_rows, g->num_rows, g->num_arcs, l->offsets, l->columns,
                                       l->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
    GNT_TRY_CUSPARSE(cusparseSpMM_bufferSize(l->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->a, l->dense_x, &zero,
                                             l->dense_y, CUDA_R_32F, algorithm, &bytes));
    GNT_TRY_CUDA(cudaMalloc(&l->work, bytes + 1));
    GNT_TRY_CUSPARSE(cusparseSpMM_preprocess(l->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->a, l->dense_x, &zero,
                                             l->dense_y, CUDA_R_32F, algorithm, l->work));
done:
    return st;
}

static bool multiply(void *state)
{
    library *l = state;
    gnt_status st = GNT_OK;

    for (int i = 0; i < QUEUED; i++)
        GNT_TRY_CUSPARSE(cusparseSpMM(l->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                      CUSPARSE_OPERATION_NON_TRANSPOSE, &one, l->a, l->dense_x, &zero,
                                      l->dense_y, CUDA_R_32F, l->algorithm, l->work));
    GNT_TRY_CUDA(cudaStreamSynchronize(l->stream));
done:
    return st == GNT_OK;
}

static void answer(library *l, long long width, int repeats, int algorithm)
{
    bench_times times;

    printf("{\"width\": %lld, \"algorithm\": \"%s\", ", width, algorithms[algorithm].name);
    if (prepare(l, algorithms[algorithm].value) == GNT_OK && bench_repeat(multiply, l, repeats, &times)) {
        times.median /= QUEUED;
        times.smallest /= QUEUED;
        times.p90 /= QUEUED;
        bench_print_times(&times);
        printf("}\n");
    } else {
        printf("\"refused\": \"%s\"}\n", gnt_last_error());
        gnt_clear_error();
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    gnt_status st = GNT_OK;
    library l = { 0 };
    char line[128];
    long long width;
    int repeats;

    if (argc != 2) {
        fprintf(stderr, "usage: bench_cusparse FILE.h5\n");
        return 2;
    }
    GNT_TRY(open_library(&l, argv[1]));
    while (fgets(line, sizeof line, stdin) != NULL) {
        GNT_CHECK(sscanf(line, "%lld %d", &width, &repeats) == 2 && width >= 1 && width <= 4096, GNT_ERR_ARG,
                  "a request is WIDTH REPEATS, not '%.*s'", (int)strcspn(line, "\n"), line);
        GNT_TRY(set_width(&l, width));
        for (int i = 0; i < NUM_ALGORITHMS; i++)
            answer(&l, width, repeats, i);
    }
done:
    if (st != GNT_OK)
        fprintf(stderr, "bench_cusparse: %s\n", gnt_last_error());
    drop_algorithm(&l);
    drop_operands(&l);
    (void)cudaFree(l.offsets);
    (void)cudaFree(l.columns);
    (void)cudaFree(l.values);
    if (l.handle != NULL)
        (void)cusparseDestroy(l.handle);
    if (l.stream != NULL)
        (void)cudaStreamDestroy(l.stream);
    gnt_dataset_free(&l.data);
    return st == GNT_OK ? 0 : 1;
}
