/* The driver's copies of boxes and arrays, and between devices: the runtime's by other names. */
#include "sim/device/device.h"
#include "sim/driver/driver.h"
#include "sim/memory/array.h"
#include "sim/memory/copy.h"

#include <string.h>

#define IN_CONTEXT(call) BY_RUNTIME(SIM_NEEDS_CONTEXT, call)

static void *pointer(CUdeviceptr at) {
    return (void *)(uintptr_t)at;
}

static cudaArray_t as_array(CUarray array) {
    return (cudaArray_t)(void *)array;
}

/* ---- boxes --------------------------------------------------------------------------------------
 */

/* One end of a copy as the driver names it: all in bytes. */
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

/* The same as the runtime names it: what an array is in is counted in its elements. */
typedef struct place {
    cudaArray_t array;
    struct cudaPos pos;
    struct cudaPitchedPtr ptr;
} place;

static size_t element_of(const side *s) {
    const acu_sim_array *array =
        s->type == CU_MEMORYTYPE_ARRAY ? acu_sim_array_of(as_array(s->array)) : NULL;
    size_t element = array ? array->element : 0;
    return element;
}

static bool is_type(CUmemorytype type) {
    return type >= CU_MEMORYTYPE_HOST && type <= CU_MEMORYTYPE_UNIFIED;
}

/* Rows must fit into the pitch, and slices into the height, where there is more than one. */
static bool lay_out(const side *s, const box *b, struct cudaPitchedPtr *ptr) {
    bool one_row = b->height == 1 && b->depth == 1 && !s->y && !s->z;
    bool one_slice = b->depth == 1 && !s->z;
    ptr->ptr = s->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)s->host : pointer(s->device);
    ptr->pitch = ptr->xsize = one_row ? s->x + b->width : s->pitch;
    ptr->ysize = one_slice ? s->y + b->height : s->height;
    return s->x <= ptr->pitch && b->width <= ptr->pitch - s->x && s->y <= ptr->ysize &&
           b->height <= ptr->ysize - s->y;
}

static cudaError_t place_of(const side *s, const box *b, place *p) {
    size_t element = element_of(s);
    *p = (place){.pos = {s->x, s->y, s->z}};
    if (!is_type(s->type))
        return cudaErrorInvalidValue;
    if (s->type == CU_MEMORYTYPE_ARRAY) {
        if (element && (s->x % element || b->width % element))
            return cudaErrorInvalidValue;
        p->array = as_array(s->array);
        p->pos.x = element ? s->x / element : 0;
        return element ? cudaSuccess : cudaErrorInvalidResourceHandle;
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
    cudaError_t result = place_of(to, b, &target);
    if (!result)
        result = place_of(from, b, &source);
    if (result)
        return result;
    size_t element = element_of(target.array ? to : from);
    *params = (struct cudaMemcpy3DParms){.srcArray = source.array,
                                         .srcPos = source.pos,
                                         .srcPtr = source.ptr,
                                         .dstArray = target.array,
                                         .dstPos = target.pos,
                                         .dstPtr = target.ptr,
                                         .extent = {b->width, b->height, b->depth},
                                         .kind = kind_of(to, from)};
    if (element)
        params->extent.width = b->width / element;
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

static CUresult copy_box(const side *to, const side *from, const box *b, bool good, CUstream stream,
                         bool async) {
    struct cudaMemcpy3DParms params;
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    if (why)
        return why;
    cudaError_t result = good ? cudaSuccess : cudaErrorInvalidValue;
    if (!result && b->width && b->height && b->depth) {
        result = params_of(to, from, b, &params);
        if (!result)
            result = acu_sim_copy_3d(&params, stream, async);
    }
    return acu_sim_end(result);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool async) {
    static const CUDA_MEMCPY2D none;
    bool good = c != NULL;
    c = c ? c : &none;
    const side to = SIDE(c, dst, 0, c->Height), from = SIDE(c, src, 0, c->Height);
    return copy_box(&to, &from, &(box){c->WidthInBytes, c->Height, 1}, good, stream, async);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool async) {
    static const CUDA_MEMCPY3D none;
    bool good = c && !c->srcLOD && !c->dstLOD && !c->reserved0 && !c->reserved1;
    c = c ? c : &none;
    const side to = SIDE(c, dst, c->dstZ, c->dstHeight), from = SIDE(c, src, c->srcZ, c->srcHeight);
    return copy_box(&to, &from, &(box){c->WidthInBytes, c->Height, c->Depth}, good, stream, async);
}

CUresult acu_sim_cuMemcpy2D(const CUDA_MEMCPY2D *pCopy) {
    return copy_2d(pCopy, 0, false);
}

CUresult acu_sim_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *pCopy) {
    return copy_2d(pCopy, 0, false);
}

CUresult acu_sim_cuMemcpy2DAsync(const CUDA_MEMCPY2D *pCopy, CUstream hStream) {
    return copy_2d(pCopy, hStream, true);
}

CUresult acu_sim_cuMemcpy3D(const CUDA_MEMCPY3D *pCopy) {
    return copy_3d(pCopy, 0, false);
}

CUresult acu_sim_cuMemcpy3DAsync(const CUDA_MEMCPY3D *pCopy, CUstream hStream) {
    return copy_3d(pCopy, hStream, true);
}

/* ---- between devices ----------------------------------------------------------------------------
 */

/* Both contexts' devices; false if one of them is none. */
static bool devices_of(CUcontext to, CUcontext from, int *to_device, int *from_device) {
    const acu_sim_device *first = acu_sim_context_device(to),
                         *second = acu_sim_context_device(from);
    *to_device = first ? first->index : -1;
    *from_device = second ? second->index : -1;
    return first && second;
}

static CUresult copy_peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                          CUcontext from_context, size_t size, CUstream stream, bool async) {
    int to_device, from_device;
    CUresult why = acu_sim_begin(SIM_NEEDS_CONTEXT);
    if (why)
        return why;
    if (!devices_of(to_context, from_context, &to_device, &from_device))
        return acu_sim_end(cudaErrorDeviceUninitialized);
    return acu_sim_end(
        async ? acu_sim_cudaMemcpyPeerAsync(pointer(to), to_device, pointer(from), from_device,
                                            size, stream)
              : acu_sim_cudaMemcpyPeer(pointer(to), to_device, pointer(from), from_device, size));
}

CUresult acu_sim_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                              CUcontext srcContext, size_t ByteCount) {
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, 0, false);
}

CUresult acu_sim_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                   CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                   CUstream hStream) {
    return copy_peer(dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream, true);
}

static cudaError_t copy_3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream stream, bool async) {
    struct cudaMemcpy3DParms params;
    int to_device, from_device;
    if (!c || c->srcLOD || c->dstLOD)
        return cudaErrorInvalidValue;
    if (!devices_of(c->dstContext, c->srcContext, &to_device, &from_device))
        return cudaErrorDeviceUninitialized;
    const side to = SIDE(c, dst, c->dstZ, c->dstHeight), from = SIDE(c, src, c->srcZ, c->srcHeight);
    const box b = {c->WidthInBytes, c->Height, c->Depth};
    if (!b.width || !b.height || !b.depth)
        return cudaSuccess;
    cudaError_t result = params_of(&to, &from, &b, &params);
    const struct cudaMemcpy3DPeerParms peer = {.srcArray = params.srcArray,
                                               .srcPos = params.srcPos,
                                               .srcPtr = params.srcPtr,
                                               .srcDevice = from_device,
                                               .dstArray = params.dstArray,
                                               .dstPos = params.dstPos,
                                               .dstPtr = params.dstPtr,
                                               .dstDevice = to_device,
                                               .extent = params.extent};
    return result ? result : acu_sim_copy_3d_peer(&peer, stream, async);
}

CUresult acu_sim_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy) {
    IN_CONTEXT(copy_3d_peer(pCopy, 0, false));
}

CUresult acu_sim_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream) {
    IN_CONTEXT(copy_3d_peer(pCopy, hStream, true));
}

/* ---- arrays of one dimension --------------------------------------------------------------------
 */

CUresult acu_sim_cuMemcpyAtoH(void *dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
    IN_CONTEXT(acu_sim_copy_from_array(dstHost, as_array(srcArray), srcOffset, 0, ByteCount,
                                       cudaMemcpyDeviceToHost, 0, false));
}

CUresult acu_sim_cuMemcpyAtoHAsync(void *dstHost, CUarray srcArray, size_t srcOffset,
                                   size_t ByteCount, CUstream hStream) {
    IN_CONTEXT(acu_sim_copy_from_array(dstHost, as_array(srcArray), srcOffset, 0, ByteCount,
                                       cudaMemcpyDeviceToHost, hStream, true));
}

CUresult acu_sim_cuMemcpyAtoD(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                              size_t ByteCount) {
    IN_CONTEXT(acu_sim_copy_from_array(pointer(dstDevice), as_array(srcArray), srcOffset, 0,
                                       ByteCount, cudaMemcpyDeviceToDevice, 0, false));
}

CUresult acu_sim_cuMemcpyHtoA(CUarray dstArray, size_t dstOffset, const void *srcHost,
                              size_t ByteCount) {
    IN_CONTEXT(acu_sim_copy_to_array(as_array(dstArray), dstOffset, 0, srcHost, ByteCount,
                                     cudaMemcpyHostToDevice, 0, false));
}

CUresult acu_sim_cuMemcpyHtoAAsync(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                   size_t ByteCount, CUstream hStream) {
    IN_CONTEXT(acu_sim_copy_to_array(as_array(dstArray), dstOffset, 0, srcHost, ByteCount,
                                     cudaMemcpyHostToDevice, hStream, true));
}

CUresult acu_sim_cuMemcpyDtoA(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                              size_t ByteCount) {
    IN_CONTEXT(acu_sim_copy_to_array(as_array(dstArray), dstOffset, 0, pointer(srcDevice),
                                     ByteCount, cudaMemcpyDeviceToDevice, 0, false));
}

CUresult acu_sim_cuMemcpyAtoA(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                              size_t srcOffset, size_t ByteCount) {
    IN_CONTEXT(acu_sim_cudaMemcpyArrayToArray(as_array(dstArray), dstOffset, 0, as_array(srcArray),
                                              srcOffset, 0, ByteCount, cudaMemcpyDeviceToDevice));
}
