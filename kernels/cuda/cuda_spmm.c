/* SPDX-License-Identifier: Apache-2.0 */
/* y = epilogue(alpha A x + beta y): the library's product or our kernels, as cuda_choose.c has it. Ours alone do self terms, scales of
 * sources, weights of arcs by member, largest terms, ranges and lists of rows.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

#include <string.h>

gnt_status cuda_spmm_plan(gnt_stream *s, const gnt_spmm_plan_args *a, gnt_spmm_plan **out)
{
    gnt_status st = GNT_OK;
    gnt_spmm_plan *p = NULL;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "a plan cannot be made while a step is captured");
    GNT_TRY(gnti_calloc_bytes((void **)&p, sizeof *p));
    p->head.backend = s->head.backend;
    p->head.args = *a;
    GNT_TRY(cuda_csr_create(s, a, p));
    GNT_TRY(cuda_sparse_create(s, p));
    GNT_TRY(cuda_decisions_create(&p->decisions));
    *out = p;
    p = NULL; /* handed over */
done:
    if (p != NULL)
        cuda_spmm_plan_free(p);
    return st;
}

void cuda_spmm_plan_free(gnt_spmm_plan *p)
{
    cuda_decisions_free(p->decisions);
    cuda_sparse_free(p->sparse);
    cuda_csr_free(p);
    gnti_free(p);
}

static gnt_status run_library(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way way)
{
    gnt_status st = GNT_OK;
    cuda_finish_args f;

    GNT_TRY(cuda_sparse_run(s, p, a, way));
    if (cuda_epilogue_is_none(&a->epilogue))
        return GNT_OK;
    memset(&f, 0, sizeof f);
    f.product = f.y = cuda_view_of(&a->y);
    f.num_work = a->y.rows;
    f.alpha = 1.0f;
    f.epilogue = cuda_epilogue_of(&a->epilogue);
    GNT_TRY_CUDA(cuda_launch_finish(s->stream, &f));
done:
    return st;
}

static gnt_status run_own(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    gnt_status st = GNT_OK;
    cuda_spmm_args k;
    size_t bytes;

    memset(&k, 0, sizeof k);
    k.csr = p->csr;
    k.reduce = a->reduce;
    k.self_kind = a->self_kind;
    k.x = cuda_view_of(&a->x);
    k.y = cuda_view_of(&a->y);
    k.self = cuda_view_of(a->self);
    k.src_scale = cuda_view_of(a->src_scale);
    k.arc_weight = cuda_view_of(a->arc_weight);
    k.arg = cuda_view_of(a->arg);
    k.arg_ids = cuda_address(a->arg_ids, 0);
    k.alpha = a->alpha;
    k.beta = a->beta;
    k.epilogue = cuda_epilogue_of(&a->epilogue);
    bytes = cuda_spmm_bytes(&k);
    if (bytes > 0)
        GNT_TRY(cuda_scratch(s, bytes, (void **)&k.partial));
    GNT_TRY_CUDA(cuda_launch_spmm(s->stream, &k));
done:
    return st;
}

gnt_status cuda_spmm_by(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a, cuda_way way)
{
    return way == CUDA_WAY_OWN ? run_own(s, p, a) : run_library(s, p, a, way);
}

gnt_status cuda_spmm(gnt_stream *s, const gnt_spmm_plan *p, const gnt_spmm_args *a)
{
    gnt_status st = GNT_OK;
    cuda_way way;

    GNT_TRY(cuda_choose_way(s, p, a, &way));
    GNT_TRY(cuda_spmm_by(s, p, a, way));
done:
    return st;
}
