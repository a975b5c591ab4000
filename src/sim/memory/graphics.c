/* What of other APIs CUDA has registered, and its mappings. The bytes are the other API's own: a
 * mapping moves none, and an unmapping is the end of what its stream was given before. */
#include "sim/memory/graphics.h"

#include "sim/caller.h"
#include "sim/cudart_bodies.h"
#include "sim/device/device.h"
#include "sim/memory/array.h"
#include "sim/memory/memory.h"
#include "sim/memory/range.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>

/* What the program gets for an object that it registers. */
typedef struct registered {
    acu_sim_graphics *object;
    acu_sim_device *device;
    acu_sim_range *range;                     /* of a buffer */
    cudaMipmappedArray_t views[SIM_PICTURES]; /* of the pictures of an image */
    acu_sim_array **layers;                   /* of a layered picture: of each level all layers */
    bool mapped;
    bool stuck; /* it was unmapped without a context of OpenGL: CUDA neither maps nor frees it */
    const void *where; /* where the program registered the object */
    struct registered *next;
} registered;

static registered *registrations;
static acu_sim_set handles;

static registered *registered_of(cudaGraphicsResource_t handle) {
    registered *r = (registered *)(void *)handle;
    return acu_sim_set_has(&handles, r) ? r : NULL;
}

static bool is_gl(const acu_sim_graphics *object) {
    return object->kind == ACU_SIM_GL_BUFFER || object->kind == ACU_SIM_GL_IMAGE;
}

/* EGL images are CUDA's as long as they are registered, and are never mapped. */
static bool is_egl(const registered *r) {
    return r->object->kind == ACU_SIM_EGL_IMAGE;
}

static bool is_mapped(const registered *r) {
    return r->mapped || is_egl(r);
}

/* ---- registering ---- */

/* Makes the address of a buffer, which takes none of the device's memory. */
static bool add_range(registered *r) {
    acu_sim_range *range = acu_sim_memory_new_range(r->device, r->object->size);
    if (!range)
        return false;
    range->where = r->where;
    range->bytes = r->object->bytes;
    range->access = range->writes = (uint64_t)1 << r->device->index;
    range->of_graphics = true;
    r->range = range;
    return true;
}

/* Makes an array of each layer of each level. */
static bool add_layers(registered *r, const acu_sim_picture *p) {
    unsigned count;
    acu_sim_array *const *levels = acu_sim_array_mipmap_levels(r->views[0], &count);
    r->layers = calloc((size_t)p->levels * p->layers, sizeof(acu_sim_array *));
    for (unsigned i = 0; r->layers && i < p->levels * p->layers; i++)
        if (!(r->layers[i] = acu_sim_array_new_layer(levels[i / p->layers], i % p->layers)))
            return false;
    return r->layers != NULL;
}

static bool add_views(registered *r, unsigned flags) {
    const acu_sim_graphics *o = r->object;
    const bool surface = is_egl(r) || flags & cudaGraphicsRegisterFlagsSurfaceLoadStore;
    const bool gather = is_egl(r) || flags & cudaGraphicsRegisterFlagsTextureGather;
    for (unsigned i = 0; i < o->picture_count; i++) {
        const acu_sim_picture *p = &o->pictures[i];
        const unsigned kind = p->flags | (surface ? (unsigned)cudaArraySurfaceLoadStore : 0u) |
                              (gather ? (unsigned)cudaArrayTextureGather : 0u);
        r->views[i] = acu_sim_array_new_view(r->device, &p->desc, &p->extent, kind, p->levels,
                                             o->bytes + p->at);
        if (!r->views[i])
            return false;
    }
    return o->pictures[0].layers == 1 || add_layers(r, &o->pictures[0]);
}

static void free_registered(registered *r) {
    acu_sim_graphics *o = r->object;
    for (unsigned i = 0; r->layers && i < o->pictures[0].levels * o->pictures[0].layers; i++)
        if (r->layers[i])
            acu_sim_array_free_layer(r->layers[i]);
    for (unsigned i = 0; i < o->picture_count; i++)
        if (r->views[i])
            acu_sim_array_free_view(r->views[i]);
    if (r->range)
        acu_sim_memory_free_range(r->range);
    acu_sim_set_remove(&handles, r);
    o->mapped -= r->mapped;
    acu_sim_graphics_release(o);
    free(r->layers);
    free(r);
}

static cudaError_t register_object(acu_sim_graphics *object, unsigned flags,
                                   cudaGraphicsResource_t *handle) {
    SIM_TRY(acu_sim_capture_allows_unsafe());
    registered *r = calloc(1, sizeof *r);
    if (!r)
        return cudaErrorMemoryAllocation;
    *r = (registered){.object = object, .device = acu_sim_device_now(), .where = SIM_CALLER};
    object->refs++;
    if (!(object->picture_count ? add_views(r, flags) : add_range(r)) ||
        !acu_sim_set_add(&handles, r)) {
        free_registered(r);
        return cudaErrorMemoryAllocation;
    }
    r->next = registrations;
    registrations = r;
    *handle = (cudaGraphicsResource_t)(void *)r;
    return cudaSuccess;
}

/* Checks the context of OpenGL; `none` is the code where the thread has none. */
static cudaError_t validate_context(cudaError_t none) {
    const int current = acu_sim_graphics_current();
    if (current < 0)
        return SIM_REFUSE(none, "no context of OpenGL is current in this thread; on the simulator "
                                "acu_sim_graphics_make_current() makes one current");
    if (current != acu_sim_device_now()->index)
        return SIM_REFUSE(cudaErrorUnknown,
                          "the context of OpenGL that is current is of device %d, and device %d is "
                          "CUDA's current one",
                          current, acu_sim_device_now()->index);
    return cudaSuccess;
}

/* An image may be registered for reading and for writing only, at once; a buffer may not. */
static cudaError_t validate_flags(unsigned flags, bool is_buffer) {
    const unsigned both = cudaGraphicsRegisterFlagsReadOnly | cudaGraphicsRegisterFlagsWriteDiscard;
    const unsigned images =
        cudaGraphicsRegisterFlagsSurfaceLoadStore | cudaGraphicsRegisterFlagsTextureGather;
    return flags & ~(both | images) || (is_buffer && (flags & images || (flags & both) == both))
               ? SIM_REFUSE(cudaErrorInvalidValue, "there are no flags 0x%x of such a resource",
                            flags)
               : cudaSuccess;
}

static cudaError_t register_name(unsigned name, acu_sim_graphics_kind kind, unsigned flags,
                                 cudaGraphicsResource_t *handle) {
    if (!handle || (!name && kind != ACU_SIM_EGL_IMAGE))
        return cudaErrorInvalidValue;
    SIM_TRY(validate_flags(flags, kind == ACU_SIM_GL_BUFFER));
    acu_sim_graphics *object = acu_sim_graphics_of(name, kind);
    if (!object)
        return SIM_REFUSE(kind == ACU_SIM_EGL_IMAGE ? cudaErrorUnknown
                                                    : cudaErrorInvalidResourceHandle,
                          "no such object has the name %u; on the simulator "
                          "acu_sim_graphics_create() makes one",
                          name);
    return object->size ? register_object(object, flags, handle)
                        : SIM_REFUSE(cudaErrorMemoryAllocation, "buffer %u has no memory", name);
}

cudaError_t acu_sim_cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource,
                                                 GLuint buffer, unsigned int flags) {
    SIM_TRY(validate_context(cudaErrorInvalidValue));
    return register_name(buffer, ACU_SIM_GL_BUFFER, flags, resource);
}

cudaError_t acu_sim_cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **resource,
                                                GLuint image, GLenum target, unsigned int flags) {
    SIM_TRY(validate_context(cudaErrorInvalidValue));
    const acu_sim_graphics *object = acu_sim_graphics_of(image, ACU_SIM_GL_IMAGE);
    if (object && object->target != target)
        return SIM_REFUSE(cudaErrorInvalidValue, "image %u was made with the target 0x%x, not 0x%x",
                          image, object->target, target);
    return register_name(image, ACU_SIM_GL_IMAGE, flags, resource);
}

cudaError_t acu_sim_cudaGraphicsEGLRegisterImage(struct cudaGraphicsResource **pCudaResource,
                                                 EGLImageKHR image, unsigned int flags) {
    return register_name((unsigned)(uintptr_t)image, ACU_SIM_EGL_IMAGE, flags, pCudaResource);
}

cudaError_t acu_sim_cudaGraphicsVDPAURegisterVideoSurface(struct cudaGraphicsResource **resource,
                                                          VdpVideoSurface vdpSurface,
                                                          unsigned int flags) {
    return register_name(vdpSurface, ACU_SIM_VDPAU_VIDEO_SURFACE, flags, resource);
}

cudaError_t acu_sim_cudaGraphicsVDPAURegisterOutputSurface(struct cudaGraphicsResource **resource,
                                                           VdpOutputSurface vdpSurface,
                                                           unsigned int flags) {
    return register_name(vdpSurface, ACU_SIM_VDPAU_OUTPUT_SURFACE, flags, resource);
}

/* All of a context of OpenGL is on one device here. */
cudaError_t acu_sim_cudaGLGetDevices(unsigned int *pCudaDeviceCount, int *pCudaDevices,
                                     unsigned int cudaDeviceCount,
                                     enum cudaGLDeviceList deviceList) {
    const int current = acu_sim_graphics_current();
    if (!acu_sim_knows(&acu_cudart_type_cudaGLDeviceList, deviceList))
        return cudaErrorInvalidValue;
    if (current < 0)
        return validate_context(cudaErrorDeviceUninitialized);
    if (pCudaDeviceCount)
        *pCudaDeviceCount = 1;
    if (pCudaDevices && cudaDeviceCount)
        *pCudaDevices = current;
    return cudaSuccess;
}

/* ---- giving up ---- */

static void unregister(registered *r) {
    registered **link = &registrations;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    free_registered(r);
}

cudaError_t acu_sim_cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) {
    registered *r = registered_of(resource);
    if (!r)
        return cudaErrorInvalidResourceHandle;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    if (r->mapped || r->stuck)
        return SIM_REFUSE(cudaErrorAlreadyMapped, "the resource is mapped");
    if (is_gl(r->object))
        SIM_TRY(validate_context(cudaErrorInvalidGraphicsContext));
    acu_sim_stream_wait_device(r->device);
    /* The wait gave up the lock: another thread may have unregistered it. */
    if ((r = registered_of(resource)))
        unregister(r);
    return cudaSuccess;
}

static void reset_device(acu_sim_device *device) {
    registered *next;
    for (registered *r = registrations; r; r = next) {
        next = r->next;
        if (r->device == device)
            unregister(r);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const registered *r = registrations; r; r = r->next, count++)
        if (print)
            acu_sim_caller_report("graphics resource", r, r->object->size, r->where);
    return count;
}

const acu_sim_noun acu_sim_graphics_noun = {.reset_device = reset_device, .leaks = leaks};

/* ---- mapping ---- */

cudaError_t acu_sim_cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource,
                                                    unsigned int flags) {
    const registered *r = registered_of(resource);
    (void)flags; /* CUDA takes any */
    if (!r)
        return cudaErrorInvalidResourceHandle;
    return r->mapped ? SIM_REFUSE(cudaErrorAlreadyMapped, "the resource is mapped") : cudaSuccess;
}

/* Checks a resource that is to be mapped, or unmapped. */
static cudaError_t validate_resource(const registered *r, bool maps) {
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (is_egl(r))
        return SIM_REFUSE(cudaErrorUnknown, "an EGL image is not mapped");
    if (maps && (r->mapped || r->stuck))
        return SIM_REFUSE(cudaErrorAlreadyMapped, "the resource is mapped already");
    if (!maps && !r->mapped)
        return SIM_REFUSE(cudaErrorNotMapped, "the resource is not mapped");
    return is_gl(r->object) ? validate_context(cudaErrorInvalidGraphicsContext) : cudaSuccess;
}

/* Checks the rest of what is given for mapping or unmapping. */
static cudaError_t validate_call(int count, const cudaGraphicsResource_t *resources,
                                 cudaStream_t handle, acu_sim_stream **stream) {
    if (count == 0 || !resources)
        return cudaErrorInvalidValue;
    if (count < 0)
        return cudaErrorInvalidResourceHandle;
    SIM_TRY(acu_sim_stream_of(handle, stream));
    SIM_TRY(acu_sim_capture_allows(*stream, SIM_REFUSES));
    return acu_sim_capture_allows_unsafe();
}

static void map(registered *r, bool maps) {
    r->mapped = maps;
    r->object->mapped += maps ? 1u : -1u;
}

/* Where one of the resources is refused, none is mapped. */
cudaError_t acu_sim_cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources,
                                             cudaStream_t stream) {
    acu_sim_stream *on;
    SIM_TRY(validate_call(count, resources, stream, &on));
    for (int i = 0; i < count; i++) {
        registered *r = registered_of(resources[i]);
        const cudaError_t error = validate_resource(r, true);
        if (!error) {
            map(r, true);
            continue;
        }
        while (i-- > 0)
            map(registered_of(resources[i]), false);
        return error;
    }
    return cudaSuccess;
}

/* The other API's next access waits for the operation, which comes after all of the stream. Without
 * a context of OpenGL CUDA refuses to unmap, and does half of it. */
static cudaError_t give_back(registered *r, acu_sim_op *op) {
    const cudaError_t error = validate_resource(r, false);
    if (error && error != cudaErrorInvalidGraphicsContext)
        return error;
    map(r, false);
    r->stuck = error != cudaSuccess;
    acu_sim_op_release(r->object->given_back);
    r->object->given_back = op;
    op->refs++;
    return error;
}

/* Where one of the resources is refused, those before it are unmapped. */
cudaError_t acu_sim_cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources,
                                               cudaStream_t stream) {
    acu_sim_stream *on;
    SIM_TRY(validate_call(count, resources, stream, &on));
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (!op)
        return cudaErrorMemoryAllocation;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < count && !error; i++)
        error = give_back(registered_of(resources[i]), op);
    const cudaError_t submitted = acu_sim_stream_submit(on, op, false);
    return error ? error : submitted;
}

/* ---- what is mapped ---- */

cudaError_t acu_sim_cudaGraphicsResourceGetMappedPointer(void **devPtr, size_t *size,
                                                         cudaGraphicsResource_t resource) {
    const registered *r = registered_of(resource);
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (!is_mapped(r))
        return SIM_REFUSE(cudaErrorNotMapped, "the resource is not mapped");
    if (!r->range)
        return SIM_REFUSE(cudaErrorNotMappedAsPointer, "the resource is mapped as arrays");
    if (devPtr)
        *devPtr = (void *)r->range->base;
    if (size)
        *size = r->range->size;
    return cudaSuccess;
}

/* Finds what is mapped as arrays. */
static cudaError_t find_image(cudaGraphicsResource_t resource, const registered **image) {
    const registered *r = registered_of(resource);
    if (!r)
        return cudaErrorInvalidResourceHandle;
    if (!is_mapped(r))
        return SIM_REFUSE(cudaErrorNotMapped, "the resource is not mapped");
    if (r->range)
        return SIM_REFUSE(cudaErrorNotMappedAsArray, "the resource is mapped as a buffer");
    *image = r;
    return cudaSuccess;
}

/* Returns the array of a layer or picture; NULL where there is none. Of an EGL image CUDA looks at
 * neither number. */
static acu_sim_array *find_array(const registered *r, unsigned index, unsigned level) {
    const acu_sim_graphics *o = r->object;
    const acu_sim_picture *first = &o->pictures[0];
    unsigned count;
    if (is_egl(r))
        return *acu_sim_array_mipmap_levels(r->views[0], &count);
    if (r->layers)
        return index < first->layers && level < first->levels
                   ? r->layers[level * first->layers + index]
                   : NULL;
    if (index >= o->picture_count)
        return NULL;
    acu_sim_array *const *levels = acu_sim_array_mipmap_levels(r->views[index], &count);
    return level < count ? levels[level] : NULL;
}

cudaError_t acu_sim_cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array,
                                                          cudaGraphicsResource_t resource,
                                                          unsigned int arrayIndex,
                                                          unsigned int mipLevel) {
    const registered *r;
    SIM_TRY(find_image(resource, &r));
    acu_sim_array *found = find_array(r, arrayIndex, mipLevel);
    if (!array || !found)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no array %u of level %u", arrayIndex,
                          mipLevel);
    *array = (cudaArray_t)(void *)found;
    return cudaSuccess;
}

cudaError_t
acu_sim_cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                                    cudaGraphicsResource_t resource) {
    const registered *r;
    SIM_TRY(find_image(resource, &r));
    if (is_egl(r))
        return SIM_REFUSE(cudaErrorUnknown, "an EGL image has no levels");
    if (!mipmappedArray)
        return cudaErrorInvalidValue;
    *mipmappedArray = r->views[0];
    return cudaSuccess;
}

/* Describes an array as a plane of a frame. */
static void describe_plane(acu_sim_array *array, unsigned plane, cudaEglFrame *frame) {
    const unsigned channels = array->desc.w ? 4 : array->desc.y ? 2 : 1;
    frame->frame.pArray[plane] = (cudaArray_t)(void *)array;
    frame->planeDesc[plane] = (cudaEglPlaneDesc){.width = (unsigned)array->extent.width,
                                                 .height = (unsigned)array->extent.height,
                                                 .pitch = 0,
                                                 .numChannels = channels,
                                                 .channelDesc = array->desc};
    frame->eglColorFormat = channels == 4   ? cudaEglColorFormatABGR
                            : channels == 2 ? cudaEglColorFormatRG
                                            : cudaEglColorFormatR;
}

cudaError_t acu_sim_cudaGraphicsResourceGetMappedEglFrame(cudaEglFrame *eglFrame,
                                                          cudaGraphicsResource_t resource,
                                                          unsigned int index,
                                                          unsigned int mipLevel) {
    const registered *r;
    SIM_TRY(find_image(resource, &r));
    acu_sim_array *found = find_array(r, index, mipLevel);
    if (!eglFrame || !found || !is_egl(r))
        return cudaErrorInvalidValue;
    *eglFrame = (cudaEglFrame){.planeCount = 1, .frameType = cudaEglFrameTypeArray};
    describe_plane(found, 0, eglFrame);
    return cudaSuccess;
}
