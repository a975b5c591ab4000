/* The driver's memory, streams and events: the runtime's by other names. */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/copy.h"
#include "sim/memory/fill.h"
#include "sim/memory/range.h"
#include "sim/stream/stream.h"

#include <string.h>

static void *pointer(CUdeviceptr at) {
    return (void *)(uintptr_t)at;
}

#define IN_CONTEXT(call) BY_RUNTIME(SIM_NEEDS_CONTEXT, call)

/* ---- allocating ---------------------------------------------------------------------------------
 */

/* The driver refuses what is empty; the runtime gives NULL for it. */
#define ALLOCATE(dptr, size, call)                                                                 \
    do {                                                                                           \
        void *at = NULL;                                                                           \
        CUresult why_not = acu_sim_begin(SIM_NEEDS_CONTEXT);                                       \
        if (why_not)                                                                               \
            return why_not;                                                                        \
        why_not = acu_sim_end((dptr) && (size) ? (call) : cudaErrorInvalidValue);                  \
        if (!why_not && (dptr))                                                                    \
            *(dptr) = (CUdeviceptr)(uintptr_t)at;                                                  \
        return why_not;                                                                            \
    } while (0)

CUresult acu_sim_cuMemAlloc(CUdeviceptr *dptr, size_t bytesize) {
    ALLOCATE(dptr, bytesize, acu_sim_cudaMalloc(&at, bytesize));
}

CUresult acu_sim_cuMemAllocPitch(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                 size_t Height, unsigned int ElementSizeBytes) {
    bool element = ElementSizeBytes == 4 || ElementSizeBytes == 8 || ElementSizeBytes == 16;
    ALLOCATE(dptr, element && WidthInBytes && Height,
             acu_sim_cudaMallocPitch(&at, pPitch, WidthInBytes, Height));
}

CUresult acu_sim_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags) {
    ALLOCATE(dptr, bytesize, acu_sim_cudaMallocManaged(&at, bytesize, flags));
}

CUresult acu_sim_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream) {
    ALLOCATE(dptr, bytesize, acu_sim_cudaMallocAsync(&at, bytesize, hStream));
}

CUresult acu_sim_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool,
                                         CUstream hStream) {
    ALLOCATE(dptr, bytesize, acu_sim_cudaMallocFromPoolAsync(&at, bytesize, pool, hStream));
}

CUresult acu_sim_cuMemFree(CUdeviceptr dptr) {
    IN_CONTEXT(acu_sim_cudaFree(pointer(dptr)));
}

CUresult acu_sim_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaFreeAsync(pointer(dptr), hStream));
}

CUresult acu_sim_cuMemAllocHost(void **pp, size_t bytesize) {
    IN_CONTEXT(bytesize ? acu_sim_cudaMallocHost(pp, bytesize) : cudaErrorInvalidValue);
}

CUresult acu_sim_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags) {
    IN_CONTEXT(bytesize ? acu_sim_cudaHostAlloc(pp, bytesize, Flags) : cudaErrorInvalidValue);
}

CUresult acu_sim_cuMemFreeHost(void *p) {
    IN_CONTEXT(p ? acu_sim_cudaFreeHost(p) : cudaErrorInvalidValue);
}

CUresult acu_sim_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags) {
    IN_CONTEXT(acu_sim_cudaHostRegister(p, bytesize, Flags));
}

CUresult acu_sim_cuMemHostUnregister(void *p) {
    IN_CONTEXT(acu_sim_cudaHostUnregister(p));
}

CUresult acu_sim_cuMemHostGetDevicePointer(CUdeviceptr *pdptr, void *p, unsigned int Flags) {
    ALLOCATE(pdptr, 1, acu_sim_cudaHostGetDevicePointer(&at, p, Flags));
}

CUresult acu_sim_cuMemHostGetFlags(unsigned int *pFlags, void *p) {
    IN_CONTEXT(acu_sim_cudaHostGetFlags(pFlags, p));
}

CUresult acu_sim_cuMemGetInfo(size_t *free, size_t *total) {
    IN_CONTEXT(acu_sim_cudaMemGetInfo(free, total));
}

/* ---- what a pointer is --------------------------------------------------------------------------
 */

static CUresult leave(cudaError_t result) {
    acu_sim_leave_driver();
    return acu_sim_driver_result(result);
}

CUresult acu_sim_cuMemGetAddressRange(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    const acu_sim_range *range = acu_sim_range_of(pointer(dptr));
    if (!result && !range)
        result = cudaErrorSymbolNotFound;
    if (!result && pbase)
        *pbase = range->base;
    if (!result && psize)
        *psize = range->size;
    return leave(result);
}

/* One that the pointer has: how many bytes, and where they are; 0 if there is no answer. */
static size_t look_up(const acu_sim_range *range, CUpointer_attribute attribute, CUdeviceptr ptr,
                      uint64_t *value) {
    bool device_only = range && range->kind == SIM_DEVICE;
    *value = 0;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *value = range ? (uintptr_t)acu_sim_context_handle(range->context) : 0;
        return sizeof(CUcontext);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        if (range)
            *value = device_only || range->kind == SIM_MANAGED ? CU_MEMORYTYPE_DEVICE
                                                               : CU_MEMORYTYPE_HOST;
        return sizeof(CUmemorytype);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *value = range ? ptr : 0;
        return sizeof(CUdeviceptr);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        *value = range && !device_only ? ptr : 0;
        return range && device_only ? 0 : sizeof(void *);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *value = range && range->kind == SIM_MANAGED;
        return sizeof(unsigned);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *value = range ? (uint64_t)range->device->index : (uint32_t)CU_DEVICE_INVALID;
        return sizeof(int);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *value = range ? range->base : 0;
        return sizeof(CUdeviceptr);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *value = range ? range->size : 0;
        return sizeof(size_t);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *value = range != NULL;
        return sizeof(bool);
    default:
        return 0;
    }
}

static bool is_attribute(CUpointer_attribute attribute) {
    return acu_sim_driver_knows(&acu_cuda_type_CUpointer_attribute_enum, attribute);
}

/* One is refused where the pointer is unknown; of several each is answered as nothing. */
CUresult acu_sim_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr) {
    uint64_t value;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    const acu_sim_range *range = acu_sim_range_of(pointer(ptr));
    size_t size = 0;
    if (!result && (!data || !range || !is_attribute(attribute)))
        result = cudaErrorInvalidValue;
    if (!result && !(size = look_up(range, attribute, ptr, &value)))
        result = cudaErrorInvalidValue;
    if (!result)
        memcpy(data, &value, size);
    return leave(result);
}

CUresult acu_sim_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes,
                                        void **data, CUdeviceptr ptr) {
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    const acu_sim_range *range = acu_sim_range_of(pointer(ptr));
    if (!result && (!numAttributes || !attributes || !data))
        result = cudaErrorInvalidValue;
    for (unsigned i = 0; !result && i < numAttributes; i++)
        if (!is_attribute(attributes[i]))
            result = cudaErrorInvalidValue;
    for (unsigned i = 0; !result && i < numAttributes; i++) {
        uint64_t value;
        size_t size = look_up(range, attributes[i], ptr, &value);
        if (size)
            memcpy(data[i], &value, size);
    }
    return leave(result);
}

/* ---- copying and filling ------------------------------------------------------------------------
 */

CUresult acu_sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    IN_CONTEXT(acu_sim_copy(pointer(dst), pointer(src), ByteCount, cudaMemcpyDefault, 0, false));
}

CUresult acu_sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                               CUstream hStream) {
    IN_CONTEXT(
        acu_sim_copy(pointer(dst), pointer(src), ByteCount, cudaMemcpyDefault, hStream, true));
}

CUresult acu_sim_cuMemcpyHtoD(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount) {
    IN_CONTEXT(
        acu_sim_copy(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, 0, false));
}

CUresult acu_sim_cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                   CUstream hStream) {
    IN_CONTEXT(acu_sim_copy(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, hStream,
                            true));
}

CUresult acu_sim_cuMemcpyDtoH(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    IN_CONTEXT(
        acu_sim_copy(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, 0, false));
}

CUresult acu_sim_cuMemcpyDtoHAsync(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream) {
    IN_CONTEXT(acu_sim_copy(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost, hStream,
                            true));
}

CUresult acu_sim_cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    IN_CONTEXT(acu_sim_copy(pointer(dstDevice), pointer(srcDevice), ByteCount,
                            cudaMemcpyDeviceToDevice, 0, false));
}

CUresult acu_sim_cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                                   CUstream hStream) {
    IN_CONTEXT(acu_sim_copy(pointer(dstDevice), pointer(srcDevice), ByteCount,
                            cudaMemcpyDeviceToDevice, hStream, true));
}

/* Elements of one, two or four bytes, `width` in a row. */
static CUresult fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned element, size_t width,
                     size_t height, CUstream stream, bool async) {
    const struct cudaMemsetParams params = {pointer(to), pitch, value, element, width, height};
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    return why ? why : acu_sim_end(acu_sim_fill(&params, stream, async));
}

CUresult acu_sim_cuMemsetD8(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
    return fill(dstDevice, 0, uc, 1, N, 1, 0, false);
}

CUresult acu_sim_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                 CUstream hStream) {
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, true);
}

CUresult acu_sim_cuMemsetD2D8(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                              size_t Width, size_t Height) {
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, 0, false);
}

CUresult acu_sim_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                   size_t Width, size_t Height, CUstream hStream) {
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, true);
}

CUresult acu_sim_cuMemsetD16(CUdeviceptr dstDevice, unsigned short us, size_t N) {
    return fill(dstDevice, 0, us, 2, N, 1, 0, false);
}

CUresult acu_sim_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                  CUstream hStream) {
    return fill(dstDevice, 0, us, 2, N, 1, hStream, true);
}

CUresult acu_sim_cuMemsetD2D16(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                               size_t Width, size_t Height) {
    return fill(dstDevice, dstPitch, us, 2, Width, Height, 0, false);
}

CUresult acu_sim_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                    size_t Width, size_t Height, CUstream hStream) {
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, true);
}

CUresult acu_sim_cuMemsetD32(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
    return fill(dstDevice, 0, ui, 4, N, 1, 0, false);
}

CUresult acu_sim_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                  CUstream hStream) {
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, true);
}

CUresult acu_sim_cuMemsetD2D32(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                               size_t Width, size_t Height) {
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, 0, false);
}

CUresult acu_sim_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                    size_t Width, size_t Height, CUstream hStream) {
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, true);
}

/* ---- streams ------------------------------------------------------------------------------------
 */

CUresult acu_sim_cuStreamCreate(CUstream *phStream, unsigned int Flags) {
    IN_CONTEXT(acu_sim_cudaStreamCreateWithFlags(phStream, Flags));
}

CUresult acu_sim_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority) {
    IN_CONTEXT(acu_sim_cudaStreamCreateWithPriority(phStream, flags, priority));
}

CUresult acu_sim_cuStreamDestroy(CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaStreamDestroy(hStream));
}

CUresult acu_sim_cuStreamQuery(CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaStreamQuery(hStream));
}

CUresult acu_sim_cuStreamSynchronize(CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaStreamSynchronize(hStream));
}

CUresult acu_sim_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
    IN_CONTEXT(acu_sim_cudaStreamWaitEvent(hStream, hEvent, Flags));
}

CUresult acu_sim_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData,
                                     unsigned int flags) {
    cudaStreamCallback_t same; /* but for the type of the status, which has the same size */
    memcpy(&same, &callback, sizeof same);
    IN_CONTEXT(acu_sim_cudaStreamAddCallback(hStream, same, userData, flags));
}

CUresult acu_sim_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData) {
    IN_CONTEXT(acu_sim_cudaLaunchHostFunc(hStream, fn, userData));
}

CUresult acu_sim_cuStreamGetFlags(CUstream hStream, unsigned int *flags) {
    IN_CONTEXT(acu_sim_cudaStreamGetFlags(hStream, flags));
}

CUresult acu_sim_cuStreamGetPriority(CUstream hStream, int *priority) {
    IN_CONTEXT(acu_sim_cudaStreamGetPriority(hStream, priority));
}

CUresult acu_sim_cuStreamGetId(CUstream hStream, unsigned long long *streamId) {
    IN_CONTEXT(acu_sim_cudaStreamGetId(hStream, streamId));
}

CUresult acu_sim_cuStreamGetDevice(CUstream hStream, CUdevice *device) {
    IN_CONTEXT(acu_sim_cudaStreamGetDevice(hStream, device));
}

CUresult acu_sim_cuStreamGetCtx(CUstream hStream, CUcontext *pctx) {
    acu_sim_stream *stream;
    cudaError_t result = acu_sim_enter_driver(SIM_NEEDS_CONTEXT, NULL);
    if (!result && !pctx)
        result = cudaErrorInvalidValue;
    if (!result)
        result = acu_sim_stream_of(hStream, &stream);
    if (!result)
        *pctx = acu_sim_context_handle(stream->context);
    return leave(result);
}

CUresult acu_sim_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus) {
    IN_CONTEXT(acu_sim_cudaStreamIsCapturing(
        hStream, (enum cudaStreamCaptureStatus *)(void *)captureStatus));
}

CUresult acu_sim_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      CUstreamAttrValue *value_out) {
    IN_CONTEXT(acu_sim_cudaStreamGetAttribute(hStream, (cudaLaunchAttributeID)attr,
                                              (cudaLaunchAttributeValue *)(void *)value_out));
}

CUresult acu_sim_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr,
                                      const CUstreamAttrValue *value) {
    IN_CONTEXT(
        acu_sim_cudaStreamSetAttribute(hStream, (cudaLaunchAttributeID)attr,
                                       (const cudaLaunchAttributeValue *)(const void *)value));
}

CUresult acu_sim_cuStreamCopyAttributes(CUstream dst, CUstream src) {
    IN_CONTEXT(acu_sim_cudaStreamCopyAttributes(dst, src));
}

/* ---- events -------------------------------------------------------------------------------------
 */

CUresult acu_sim_cuEventCreate(CUevent *phEvent, unsigned int Flags) {
    IN_CONTEXT(acu_sim_cudaEventCreateWithFlags(phEvent, Flags));
}

CUresult acu_sim_cuEventDestroy(CUevent hEvent) {
    IN_CONTEXT(acu_sim_cudaEventDestroy(hEvent));
}

CUresult acu_sim_cuEventRecord(CUevent hEvent, CUstream hStream) {
    IN_CONTEXT(acu_sim_cudaEventRecord(hEvent, hStream));
}

CUresult acu_sim_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
    IN_CONTEXT(acu_sim_cudaEventRecordWithFlags(hEvent, hStream, flags));
}

CUresult acu_sim_cuEventQuery(CUevent hEvent) {
    IN_CONTEXT(acu_sim_cudaEventQuery(hEvent));
}

CUresult acu_sim_cuEventSynchronize(CUevent hEvent) {
    IN_CONTEXT(acu_sim_cudaEventSynchronize(hEvent));
}

CUresult acu_sim_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd) {
    IN_CONTEXT(acu_sim_cudaEventElapsedTime(pMilliseconds, hStart, hEnd));
}
