/* The driver API's copies: other names for the runtime's functions, but for boxes, whose two ends
 * the driver describes in one struct. */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/array.h"
#include "sim/memory/copy.h"
#include "sim/memory/range.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

/* ---- copies of bytes ---- */

cudaError_t acu_sim_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
    return acu_sim_copy(acu_sim_driver_pointer(dst), acu_sim_driver_pointer(src), ByteCount,
                        cudaMemcpyDefault, 0, false);
}

cudaError_t acu_sim_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                                  CUstream hStream) {
    return acu_sim_copy(acu_sim_driver_pointer(dst), acu_sim_driver_pointer(src), ByteCount,
                        cudaMemcpyDefault, hStream, true);
}

cudaError_t acu_sim_cuMemcpyHtoD(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount) {
    return acu_sim_copy(acu_sim_driver_pointer(dstDevice), srcHost, ByteCount,
                        cudaMemcpyHostToDevice, 0, false);
}

cudaError_t acu_sim_cuMemcpyHtoDAsync(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                      CUstream hStream) {
    return acu_sim_copy(acu_sim_driver_pointer(dstDevice), srcHost, ByteCount,
                        cudaMemcpyHostToDevice, hStream, true);
}

cudaError_t acu_sim_cuMemcpyDtoH(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
    return acu_sim_copy(dstHost, acu_sim_driver_pointer(srcDevice), ByteCount,
                        cudaMemcpyDeviceToHost, 0, false);
}

cudaError_t acu_sim_cuMemcpyDtoHAsync(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                      CUstream hStream) {
    return acu_sim_copy(dstHost, acu_sim_driver_pointer(srcDevice), ByteCount,
                        cudaMemcpyDeviceToHost, hStream, true);
}

cudaError_t acu_sim_cuMemcpyDtoD(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
    return acu_sim_copy(acu_sim_driver_pointer(dstDevice), acu_sim_driver_pointer(srcDevice),
                        ByteCount, cudaMemcpyDeviceToDevice, 0, false);
}

cudaError_t acu_sim_cuMemcpyDtoDAsync(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                      size_t ByteCount, CUstream hStream) {
    return acu_sim_copy(acu_sim_driver_pointer(dstDevice), acu_sim_driver_pointer(srcDevice),
                        ByteCount, cudaMemcpyDeviceToDevice, hStream, true);
}

_Static_assert(sizeof(CUmemcpyAttributes) == sizeof(struct cudaMemcpyAttributes), "laid out alike");

cudaError_t acu_sim_cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes,
                                       size_t count, CUmemcpyAttributes *attributes,
                                       size_t *indices, size_t attribute_count, CUstream stream) {
    return acu_sim_cudaMemcpyBatchAsync(
        (void *const *)(void *)to, (const void *const *)(const void *)from, sizes, count,
        (struct cudaMemcpyAttributes *)(void *)attributes, indices, attribute_count, stream);
}

/* ---- boxes ---- */

#include <string.h>

static cudaArray_t as_array(CUarray array) {
    return (cudaArray_t)(void *)array;
}

/* One end of a copy as the driver describes it: all lengths are in bytes. */
typedef struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height;
} side;

typedef struct box {
    size_t width, height, depth;
} box;

/* One end of a copy as the runtime describes it, but with lengths in bytes also in arrays. */
typedef struct place {
    cudaArray_t array;
    struct cudaPos pos;
    struct cudaPitchedPtr ptr;
} place;

static bool is_type(CUmemorytype type) {
    return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED;
}

/* Lays out memory; returns false if the rows do not fit into the pitch, or the slices into the
 * height. A pitch of 0 is that of rows as long as needed, a height of 0 that of slices. */
static bool lay_out(const side *s, const box *b, struct cudaPitchedPtr *ptr) {
    ptr->ptr = s->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)s->host
                                             : acu_sim_driver_pointer(s->device);
    ptr->pitch = ptr->xsize = s->pitch ? s->pitch : s->x + b->width;
    ptr->ysize = s->height ? s->height : s->y + b->height;
    if (acu_sim_range_is_loose(ptr->ptr))
        return b->width <= ptr->pitch && b->height <= ptr->ysize;
    return s->x <= ptr->pitch && b->width <= ptr->pitch - s->x && s->y <= ptr->ysize &&
           b->height <= ptr->ysize - s->y;
}

static cudaError_t place_of(const side *s, const box *b, place *p) {
    *p = (place){.pos = {s->x, s->y, s->z}};
    if (!is_type(s->type))
        return cudaErrorInvalidValue;
    if (s->type == CU_MEMORYTYPE_ARRAY) {
        p->array = as_array(s->array);
        return acu_sim_array_of(p->array) ? cudaSuccess : cudaErrorInvalidResourceHandle;
    }
    return lay_out(s, b, &p->ptr) ? cudaSuccess : cudaErrorInvalidValue;
}

static enum cudaMemcpyKind kind_of(const side *to, const side *from) {
    if (to->type == CU_MEMORYTYPE_UNIFIED || from->type == CU_MEMORYTYPE_UNIFIED)
        return cudaMemcpyDefault;
    return from->type == CU_MEMORYTYPE_HOST
               ? to->type == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
           : to->type == CU_MEMORYTYPE_HOST ? cudaMemcpyDeviceToHost
                                            : cudaMemcpyDeviceToDevice;
}

static cudaError_t params_of(const side *to, const side *from, const box *b,
                             struct cudaMemcpy3DParms *params) {
    place target, source;
    SIM_TRY(place_of(to, b, &target));
    SIM_TRY(place_of(from, b, &source));
    *params = (struct cudaMemcpy3DParms){.srcArray = source.array,
                                         .srcPos = source.pos,
                                         .srcPtr = source.ptr,
                                         .dstArray = target.array,
                                         .dstPos = target.pos,
                                         .dstPtr = target.ptr,
                                         .extent = {b->width, b->height, b->depth},
                                         .kind = kind_of(to, from)};
    return cudaSuccess;
}

#define SIDE(c, which, slice, rows)                                                                \
    ((side){.type = (c)->which##MemoryType,                                                        \
            .host = (c)->which##Host,                                                              \
            .device = (c)->which##Device,                                                          \
            .array = (c)->which##Array,                                                            \
            .x = (c)->which##XInBytes,                                                             \
            .y = (c)->which##Y,                                                                    \
            .z = (slice),                                                                          \
            .pitch = (c)->which##Pitch,                                                            \
            .height = (rows)})

/* Returns false for what is said to be a device's memory, and is memory that CUDA does not know. */
static bool is_known(const side *s) {
    return s->type != CU_MEMORYTYPE_DEVICE || acu_sim_range_of(acu_sim_driver_pointer(s->device)) ||
           acu_sim_range_is_device_address(acu_sim_driver_pointer(s->device));
}

static bool is_empty(const box *b) {
    return !b->width || !b->height || !b->depth;
}

static cudaError_t copy_box(const side *to, const side *from, const box *b, CUstream stream,
                            bool async) {
    struct cudaMemcpy3DParms params;
    acu_sim_stream *s;
    SIM_TRY(acu_sim_stream_of(stream, &s));
    SIM_TRY(acu_sim_capture_allows(s, async ? SIM_ENQUEUES : SIM_REFUSES));
    if (is_empty(b))
        return cudaSuccess;
    SIM_TRY(params_of(to, from, b, &params));
    if (!is_known(to) || !is_known(from))
        return cudaErrorInvalidValue;
    return acu_sim_copy_box(&params, true, stream, async);
}

static cudaError_t copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool async) {
    if (!c)
        return cudaErrorInvalidValue;
    const side to = SIDE(c, dst, 0, 0), from = SIDE(c, src, 0, 0);
    return copy_box(&to, &from, &(box){c->WidthInBytes, c->Height, 1}, stream, async);
}

static cudaError_t copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool async) {
    if (!c || c->srcLOD || c->dstLOD || c->reserved0 || c->reserved1)
        return cudaErrorInvalidValue;
    const side to = SIDE(c, dst, c->dstZ, c->dstHeight), from = SIDE(c, src, c->srcZ, c->srcHeight);
    return copy_box(&to, &from, &(box){c->WidthInBytes, c->Height, c->Depth}, stream, async);
}

cudaError_t acu_sim_cuMemcpy2D(const CUDA_MEMCPY2D *pCopy) {
    return copy_2d(pCopy, 0, false);
}

cudaError_t acu_sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *pCopy) {
    return copy_2d(pCopy, 0, false);
}

cudaError_t acu_sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *pCopy, CUstream hStream) {
    return copy_2d(pCopy, hStream, true);
}

cudaError_t acu_sim_cuMemcpy3D(const CUDA_MEMCPY3D *pCopy) {
    return copy_3d(pCopy, 0, false);
}

cudaError_t acu_sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *pCopy, CUstream hStream) {
    return copy_3d(pCopy, hStream, true);
}

/* Returns the pitch and the rows that the program gave, which CUDA reports of a node. */
static void keep_rows(const side *s, struct cudaPitchedPtr *ptr) {
    if (s->type != CU_MEMORYTYPE_ARRAY)
        *ptr = (struct cudaPitchedPtr){.ptr = ptr->ptr, .pitch = s->pitch, .ysize = s->height};
}

cudaError_t acu_sim_driver_copy_of_node(const CUDA_MEMCPY3D *c, struct cudaMemcpy3DParms *params) {
    const side to = SIDE(c, dst, c->dstZ, c->dstHeight), from = SIDE(c, src, c->srcZ, c->srcHeight);
    const box b = {c->WidthInBytes, c->Height, c->Depth};
    if (is_empty(&b) || params_of(&to, &from, &b, params) || !is_known(&to) || !is_known(&from))
        return cudaErrorInvalidValue;
    keep_rows(&to, &params->dstPtr);
    keep_rows(&from, &params->srcPtr);
    return cudaSuccess;
}

/* ---- copies between devices ---- */

/* Finds the devices of two contexts. */
static cudaError_t find_devices(CUcontext to, CUcontext from, int *to_device, int *from_device) {
    const acu_sim_device *first = acu_sim_context_device(to);
    const acu_sim_device *second = acu_sim_context_device(from);
    if (!first || !second)
        return cudaErrorDeviceUninitialized;
    *to_device = first->index;
    *from_device = second->index;
    return cudaSuccess;
}

static cudaError_t copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                             CUcontext from_context, size_t size, CUstream stream, bool async) {
    int to_device, from_device;
    SIM_TRY(find_devices(to_context, from_context, &to_device, &from_device));
    void *target = acu_sim_driver_pointer(to), *source = acu_sim_driver_pointer(from);
    return async ? acu_sim_cudaMemcpyPeerAsync(target, to_device, source, from_device, size, stream)
                 : acu_sim_cudaMemcpyPeer(target, to_device, source, from_device, size);
}

cudaError_t acu_sim_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                                 CUcontext srcContext, size_t ByteCount) {
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, 0, false);
}

cudaError_t acu_sim_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                      CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                      CUstream hStream) {
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}

static cudaError_t copy_3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream stream, bool async) {
    struct cudaMemcpy3DParms params;
    int to_device, from_device;
    if (!c || c->srcLOD || c->dstLOD)
        return cudaErrorInvalidValue;
    SIM_TRY(find_devices(c->dstContext, c->srcContext, &to_device, &from_device));
    const side to = SIDE(c, dst, c->dstZ, c->dstHeight), from = SIDE(c, src, c->srcZ, c->srcHeight);
    const box b = {c->WidthInBytes, c->Height, c->Depth};
    if (is_empty(&b))
        return cudaSuccess;
    SIM_TRY(params_of(&to, &from, &b, &params));
    const struct cudaMemcpy3DPeerParms peer = {.srcArray = params.srcArray,
                                               .srcPos = params.srcPos,
                                               .srcPtr = params.srcPtr,
                                               .srcDevice = from_device,
                                               .dstArray = params.dstArray,
                                               .dstPos = params.dstPos,
                                               .dstPtr = params.dstPtr,
                                               .dstDevice = to_device,
                                               .extent = params.extent};
    return acu_sim_copy_3d_peer(&peer, true, stream, async);
}

cudaError_t acu_sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) {
    return copy_3d_peer(pCopy, 0, false);
}

cudaError_t acu_sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream) {
    return copy_3d_peer(pCopy, hStream, true);
}

/* ---- arrays of one dimension ---- */

cudaError_t acu_sim_cuMemcpyAtoH(void *dstHost, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount) {
    return acu_sim_copy_from_array(dstHost, as_array(srcArray), srcOffset, 0, ByteCount,
                                   cudaMemcpyDeviceToHost, 0, false);
}

cudaError_t acu_sim_cuMemcpyAtoHAsync(void *dstHost, CUarray srcArray, size_t srcOffset,
                                      size_t ByteCount, CUstream hStream) {
    return acu_sim_copy_from_array(dstHost, as_array(srcArray), srcOffset, 0, ByteCount,
                                   cudaMemcpyDeviceToHost, hStream, true);
}

cudaError_t acu_sim_cuMemcpyAtoD(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                 size_t ByteCount) {
    return acu_sim_copy_from_array(acu_sim_driver_pointer(dstDevice), as_array(srcArray), srcOffset,
                                   0, ByteCount, cudaMemcpyDeviceToDevice, 0, false);
}

cudaError_t acu_sim_cuMemcpyHtoA(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                 size_t ByteCount) {
    return acu_sim_copy_to_array(as_array(dstArray), dstOffset, 0, srcHost, ByteCount,
                                 cudaMemcpyHostToDevice, 0, false);
}

cudaError_t acu_sim_cuMemcpyHtoAAsync(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                      size_t ByteCount, CUstream hStream) {
    return acu_sim_copy_to_array(as_array(dstArray), dstOffset, 0, srcHost, ByteCount,
                                 cudaMemcpyHostToDevice, hStream, true);
}

cudaError_t acu_sim_cuMemcpyDtoA(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                 size_t ByteCount) {
    return acu_sim_copy_to_array(as_array(dstArray), dstOffset, 0,
                                 acu_sim_driver_pointer(srcDevice), ByteCount,
                                 cudaMemcpyDeviceToDevice, 0, false);
}

cudaError_t acu_sim_cuMemcpyAtoA(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                 size_t srcOffset, size_t ByteCount) {
    return acu_sim_cudaMemcpyArrayToArray(as_array(dstArray), dstOffset, 0, as_array(srcArray),
                                          srcOffset, 0, ByteCount, cudaMemcpyDeviceToDevice);
}
