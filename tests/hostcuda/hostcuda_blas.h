/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the stand-in for cuBLASLt share: what lies in the library's opaque descriptors, and one product by value.
 *
 * Descriptors may be created or live on the caller's stack (..Init), so everything is kept inside their opaque words, and a magic
 * number tells whether they were made.
 */
#ifndef GNT_HOSTCUDA_BLAS_H
#define GNT_HOSTCUDA_BLAS_H

#include "tests/hostcuda/hostcuda_library.h"

#include <cublasLt.h>

namespace hostcuda
{
namespace blas
{

enum : uint32_t {
    LAYOUT_MAGIC = 0x6c61796f,
    OPERATION_MAGIC = 0x6f706572,
    PREFERENCE_MAGIC = 0x70726566,
    ALGORITHM_MAGIC = 0x616c676f
};

struct layout {
    uint32_t magic;
    cudaDataType_t type;
    cublasLtOrder_t order;
    int32_t batch;
    int64_t rows, cols, ld, stride;
};

struct operation {
    uint32_t magic;
    cublasComputeType_t compute;
    cudaDataType_t scale_type, bias_type;
    bool has_bias_type;
    cublasLtPointerMode_t mode;
    cublasOperation_t trans_a, trans_b;
    cublasLtEpilogue_t epilogue;
    const void *bias;
    int64_t bias_stride;
};

struct preference {
    uint32_t magic, alignment[4]; // of A, B, C, D
    uint32_t reduction;           // schemes that are allowed; 0: no sums in parts
    uint64_t workspace_bytes;
};

// What a heuristic writes into the opaque algorithm: for which problem it was asked, and what that needs.
struct algorithm {
    uint32_t magic, alignment[4], split; // split: the sum over k is made of two halves
    uint64_t problem, workspace_bytes;
};

struct product {
    int device;
    operation op;
    layout a, b, c, d;
    const void *data_a, *data_b, *data_c;
    void *data_d;
    const void *alpha_at, *beta_at;
    float alpha, beta;
    algorithm algo;
    void *workspace;
};

static_assert(sizeof(layout) <= sizeof(cublasLtMatrixLayoutOpaque_t), "fits");
static_assert(sizeof(operation) <= sizeof(cublasLtMatmulDescOpaque_t), "fits");
static_assert(sizeof(preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "fits");
static_assert(sizeof(algorithm) <= sizeof(cublasLtMatmulAlgo_t), "fits");

// What lies in an opaque descriptor, and back.
template <class T, class Opaque> T get(const Opaque *from, uint32_t magic, const char *call, const char *kind)
{
    T value;

    if (from == nullptr)
        broken("%s: the %s is NULL", call, kind);
    std::memcpy(&value, from, sizeof value);
    if (value.magic != magic)
        broken("%s: the %s %p was never made, or is destroyed", call, kind, static_cast<const void *>(from));
    return value;
}

template <class T, class Opaque> void put(Opaque *to, const T &value)
{
    std::memset(static_cast<void *>(to), 0, sizeof *to);
    std::memcpy(static_cast<void *>(to), &value, sizeof value);
}

int64_t extent(const layout &l); // elements, all of the batch
uint64_t hash_problem(const operation &op, const layout &a, const layout &b, const layout &c,
                      const layout &d);
algorithm best_algorithm(const operation &op, const layout &a, const layout &b, const layout &c,
                         const layout &d);
std::vector<range> ranges_of(const product &p);
result run(product p);

} // namespace blas
} // namespace hostcuda
#endif
