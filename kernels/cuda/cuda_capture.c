/* SPDX-License-Identifier: Apache-2.0 */
/* Captured steps: what is queued between begin and end becomes one graph that is launched as one.
 *
 * Capture is thread-local, so that other ranks of the process may allocate meanwhile. Arguments of kernels are kept as they were;
 * all that changes from step to step lies in the step block (kernels/step.h). Work of other streams is part of it when events
 * tie them: the stream's event before theirs, and theirs before the end.
 */
#include "base/alloc.h"
#include "kernels/cuda/cuda.h"

struct gnt_capture {
    const gnt_device *device;
    cudaGraphExec_t graph;
};

gnt_status cuda_capture_begin(gnt_stream *s)
{
    gnt_status st = GNT_OK;

    GNT_CHECK(!s->capturing, GNT_ERR_STATE, "the stream captures already");
    GNT_TRY(cuda_enter(s->head.device));
    GNT_TRY_CUDA(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
    s->capturing = true;
done:
    return st;
}

gnt_status cuda_capture_end(gnt_stream *s, gnt_capture **out)
{
    gnt_status st = GNT_OK;
    gnt_capture *c = NULL;
    cudaGraph_t graph = NULL;

    GNT_CHECK(s->capturing, GNT_ERR_STATE, "the stream does not capture");
    s->capturing = false; /* whatever comes of it */
    GNT_TRY(cuda_enter(s->head.device));
    GNT_TRY_CUDA(cudaStreamEndCapture(s->stream, &graph));
    if (out == NULL) /* dropped */
        goto done;
    GNT_TRY(gnti_calloc_bytes((void **)&c, sizeof *c));
    c->device = s->head.device;
    GNT_TRY_CUDA(cudaGraphInstantiate(&c->graph, graph, 0));
    *out = c;
    c = NULL; /* handed over */
done:
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    gnti_free(c);
    return st;
}

gnt_status cuda_capture_launch(gnt_stream *s, const gnt_capture *c)
{
    gnt_status st = GNT_OK;

    GNT_TRY(cuda_enter(s->head.device));
    s->last_op = "a captured step";
    cuda_note_op(s->last_op);
    s->may_fault = true;
    GNT_TRY_CUDA(cudaGraphLaunch(c->graph, s->stream));
done:
    return st;
}

void cuda_capture_free(gnt_capture *c)
{
    if (c == NULL)
        return;
    (void)cudaSetDevice(c->device->index);
    (void)cudaGraphExecDestroy(c->graph);
    gnti_free(c);
}
