/* SPDX-License-Identifier: Apache-2.0 */
/* From the codes of the runtime and of the libraries to ours. A lost device is named, with the op that was queued last by this thread.
 *
 * A device whose context is broken (a fault in a kernel, uncorrectable memory, gone from the bus) answers the same error to every
 * later call: ERR_DEVICE_LOST. Memory that does not suffice is ERR_DEVICE_NOMEM. Everything else is a mistake of ours.
 */
#include "kernels/cuda/cuda.h"

#include <stdio.h>
#include <string.h>

/* What the calling thread did last: calls of the runtime name no device of their own. */
static _Thread_local struct {
    int32_t device; /* 1 + index; 0: none yet */
    const char *op; /* NULL: none since the device was entered */
} here;

void cuda_note_device(int32_t index)
{
    if (here.device != index + 1)
        here.op = NULL;
    here.device = index + 1;
}

void cuda_note_op(const char *op)
{
    here.op = op;
}

/* Puts device and op around the text of a device that is lost. */
static gnt_status name_device(gnt_status code)
{
    char text[GNTI_ERROR_TEXT_BYTES];
    gnti_error_record record;

    if (code != GNT_ERR_DEVICE_LOST)
        return code;
    record = *gnti_error_get();
    snprintf(text, sizeof text, "cuda device %d stopped working: %.800s; the last op queued was %s",
             (int)here.device - 1, record.text, here.op != NULL ? here.op : "none");
    memcpy(record.text, text, sizeof record.text);
    return gnti_error_adopt(&record);
}

static gnt_status code_of(cudaError_t e)
{
    switch (e) {
    case cudaErrorMemoryAllocation:
        return GNT_ERR_DEVICE_NOMEM;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorContained:
    case cudaErrorDevicesUnavailable:
    case cudaErrorUnknown:
        return GNT_ERR_DEVICE_LOST;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInitializationError:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
        return GNT_ERR_UNSUPPORTED;
    default:
        return GNT_ERR_INTERNAL;
    }
}

gnt_status cuda_error_of(cudaError_t e, const char *call, const char *file, int line, const char *function)
{
    (void)cudaGetLastError(); /* one failure is reported once, not again by the next launch */
    return name_device(gnti_error_set(code_of(e), file, line, function, "%s (%s, code %d) from %.80s",
                                      cudaGetErrorString(e), cudaGetErrorName(e), (int)e, call));
}

gnt_status cuda_sparse_error_of(cusparseStatus_t e, const char *call, const char *file, int line,
                                const char *function)
{
    const gnt_status code = e == CUSPARSE_STATUS_ALLOC_FAILED || e == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                                ? GNT_ERR_DEVICE_NOMEM
                            : e == CUSPARSE_STATUS_EXECUTION_FAILED ? GNT_ERR_DEVICE_LOST
                            : e == CUSPARSE_STATUS_NOT_SUPPORTED    ? GNT_ERR_UNSUPPORTED
                                                                    : GNT_ERR_INTERNAL;

    return name_device(gnti_error_set(code, file, line, function, "%s (%s, code %d) from %.80s",
                                      cusparseGetErrorString(e), cusparseGetErrorName(e), (int)e, call));
}

gnt_status cuda_blas_error_of(cublasStatus_t e, const char *call, const char *file, int line,
                              const char *function)
{
    const gnt_status code = e == CUBLAS_STATUS_ALLOC_FAILED       ? GNT_ERR_DEVICE_NOMEM
                            : e == CUBLAS_STATUS_EXECUTION_FAILED ? GNT_ERR_DEVICE_LOST
                                                                  : GNT_ERR_INTERNAL;

    return name_device(gnti_error_set(code, file, line, function, "%s (code %d) from %.80s",
                                      cublasLtGetStatusString(e), (int)e, call));
}
