/*
 * Copies. Both ends are validated when the call or the node is made; the bytes are copied in stream
 * order, from and to where they are then.
 *
 * The host waits where CUDA does: in a call that is not asynchronous unless both ends are device
 * memory, and in an asynchronous one where an end is pageable memory. A small pageable source is
 * staged instead: its bytes are copied aside before the call returns.
 */
#include "sim/memory/copy.h"

#include "sim/device/device.h"
#include "sim/device/need.h"
#include "sim/memory/array.h"
#include "sim/memory/compressed.h"
#include "sim/memory/layout.h"
#include "sim/memory/memory.h"
#include "sim/memory/multicast.h"
#include "sim/memory/range.h"
#include "sim/memory/unwritten.h"
#include "sim/stream/capture.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the largest pageable source that is staged. */
enum { STAGED_AT_MOST = 2 << 20 };

typedef struct copy_options {
    bool async;
    bool early;         /* the source is read before the call returns, if the host can read it */
    bool named_devices; /* the call names the devices whose memory is copied */
    bool in_bytes;      /* x and width are bytes also in arrays */
    bool asks_captures; /* also a copy of nothing asks whether captures allow it */
} copy_options;

/* ---- parameters ---- */

bool acu_sim_copy_is_direction(enum cudaMemcpyKind kind) {
    return (unsigned)kind <= cudaMemcpyDefault;
}

/* Returns the bytes of what x and width count: elements of the arrays, if there are arrays and
 * nothing says bytes; 0 if the elements of two arrays differ in size. */
static size_t unit_of(const struct cudaMemcpy3DParms *copy, bool in_bytes) {
    const acu_sim_array *to = acu_sim_array_of(copy->dstArray);
    const acu_sim_array *from = acu_sim_array_of(copy->srcArray);
    if (in_bytes)
        return 1;
    if (to && from && to->element != from->element)
        return 0;
    return to ? to->element : from ? from->element : 1;
}

static bool is_compressed(cudaArray_const_t handle) {
    const acu_sim_array *array = acu_sim_array_of(handle);
    return array && acu_sim_compressed_size(array->desc.f) > 0;
}

static bool is_in_blocks(const struct cudaMemcpy3DParms *copy) {
    return is_compressed(copy->dstArray) || is_compressed(copy->srcArray);
}

/* A pitch of 0 is that of rows that are as long as needed, and so are 0 rows those of a slice. */
static void complete_rows(struct cudaPitchedPtr *ptr, const struct cudaPos *pos,
                          const struct cudaExtent *extent) {
    if (!ptr->pitch)
        ptr->pitch = pos->x + extent->width;
    if (!ptr->ysize)
        ptr->ysize = pos->y + extent->height;
}

/* Returns the copy, of compressed arrays with an extent and positions that count blocks instead of
 * texels. In memory, pitch and rows are those of blocks. */
static struct cudaMemcpy3DParms in_elements(const struct cudaMemcpy3DParms *copy, bool in_blocks,
                                            bool in_bytes) {
    struct cudaMemcpy3DParms c = *copy;
    if (in_bytes && !c.srcArray)
        complete_rows(&c.srcPtr, &c.srcPos, &c.extent);
    if (in_bytes && !c.dstArray)
        complete_rows(&c.dstPtr, &c.dstPos, &c.extent);
    if (!in_blocks)
        return c;
    c.extent.width = (c.extent.width + SIM_BLOCK - 1) / SIM_BLOCK;
    c.extent.height = (c.extent.height + SIM_BLOCK - 1) / SIM_BLOCK;
    c.dstPos.x /= SIM_BLOCK;
    c.dstPos.y /= SIM_BLOCK;
    c.srcPos.x /= SIM_BLOCK;
    c.srcPos.y /= SIM_BLOCK;
    return c;
}

static bool is_start(const struct cudaPos *pos) {
    return !pos->x && !pos->y && !pos->z;
}

/* Returns whether texels are whole blocks; the last one may end behind the array. */
static bool are_blocks(size_t at, size_t length, size_t all) {
    return at % SIM_BLOCK == 0 && (length % SIM_BLOCK == 0 || at + length == all);
}

/* Returns whether whole blocks of an array are copied, or memory from its start on. */
static bool is_of_blocks(cudaArray_const_t handle, const struct cudaPos *at,
                         const struct cudaExtent *extent) {
    const acu_sim_array *array = acu_sim_array_of(handle);
    if (!array)
        return is_start(at);
    return are_blocks(at->x, extent->width, array->extent.width) &&
           are_blocks(at->y, extent->height, array->extent.height);
}

/* GPUs were asked to copy whole blocks of compressed arrays. */
static cudaError_t validate_blocks(const struct cudaMemcpy3DParms *copy, bool in_bytes) {
    const bool to = is_compressed(copy->dstArray), from = is_compressed(copy->srcArray);
    if (!to && !from)
        return cudaSuccess;
    if (in_bytes || (copy->dstArray && !to) || (copy->srcArray && !from))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator copies compressed arrays in texels, not in bytes, and not "
                          "from or to arrays that are not compressed");
    if (!is_of_blocks(copy->dstArray, &copy->dstPos, &copy->extent) ||
        !is_of_blocks(copy->srcArray, &copy->srcPos, &copy->extent))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator copies whole blocks of compressed arrays, whose extents "
                          "and positions are multiples of 4, but at the arrays' edges, and to or "
                          "from the start of memory");
    return cudaSuccess;
}

static bool lay_out_to(const struct cudaMemcpy3DParms *copy, size_t unit, acu_sim_layout *layout) {
    return copy->dstArray
               ? acu_sim_layout_of_array(copy->dstArray, &copy->dstPos, &copy->extent, unit, layout)
               : acu_sim_layout_of_memory(&copy->dstPtr, &copy->dstPos, &copy->extent, unit,
                                          layout);
}

static bool lay_out_from(const struct cudaMemcpy3DParms *copy, size_t unit,
                         acu_sim_layout *layout) {
    return copy->srcArray
               ? acu_sim_layout_of_array(copy->srcArray, &copy->srcPos, &copy->extent, unit, layout)
               : acu_sim_layout_of_memory(&copy->srcPtr, &copy->srcPos, &copy->extent, unit,
                                          layout);
}

struct cudaMemcpy3DParms acu_sim_copy_params(void *dst, const void *src, size_t count,
                                             enum cudaMemcpyKind kind) {
    return (struct cudaMemcpy3DParms){.srcPtr = {(void *)(uintptr_t)src, count, count, 1},
                                      .dstPtr = {dst, count, count, 1},
                                      .extent = {count, 1, 1},
                                      .kind = kind};
}

struct cudaMemcpy3DParms acu_sim_copy_describe(const acu_sim_op *op) {
    struct cudaMemcpy3DParms params = op->with.copy.params;
    const acu_sim_array *array =
        acu_sim_array_of(params.dstArray ? params.dstArray : params.srcArray);
    if (!op->with.copy.in_bytes || !array)
        return params;
    params.extent.width /= array->element;
    params.dstPos.x /= array->element;
    params.srcPos.x /= array->element;
    return params;
}

/* Returns the copy of an operation, with an extent in elements or blocks. */
static struct cudaMemcpy3DParms elements_of(const acu_sim_op *op) {
    return in_elements(&op->with.copy.params, op->with.copy.in_blocks, op->with.copy.in_bytes);
}

/* ---- validating ---- */

/* A copy must name the devices where the current one was granted no access to the memory. */
static cudaError_t validate_access(const acu_sim_endpoint *end, bool named_devices, bool writes) {
    const bool asks_device = !named_devices && acu_sim_range_has_grants(end->range);
    return asks_device || (writes && acu_sim_range_is_read_only(end->range))
               ? acu_sim_range_validate_access(end->range,
                                               acu_sim_device_at(acu_sim_self()->device), writes)
               : cudaSuccess;
}

/* A copy that names devices takes no memory that CUDA does not know. */
static cudaError_t validate_known(const acu_sim_endpoint *end, const char *what,
                                  bool named_devices) {
    return end->pageable && named_devices
               ? SIM_REFUSE(cudaErrorInvalidValue,
                            "the %s is host memory that CUDA did not allocate or register, "
                            "which a copy between devices does not take: use cudaMemcpy()",
                            what)
               : cudaSuccess;
}

/* Returns whether a direction takes the memory for that of the host: pageable memory, and that of a
 * pool, but not other pinned memory, because addresses are unified. */
static bool is_of_host(const acu_sim_endpoint *e) {
    return e->pageable || (e->range && e->range->pool && e->range->kind == SIM_PINNED);
}

static cudaError_t validate_direction(const acu_sim_endpoint *to, const acu_sim_endpoint *from,
                                      enum cudaMemcpyKind kind) {
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const bool is_wrong_to = to_device && is_of_host(to);
    if (!is_wrong_to && !(from_device && is_of_host(from)))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "the direction says that the %s is memory of a device, and CUDA knows no "
                      "such memory there: it is the host's, or lies beside an allocation",
                      is_wrong_to ? "destination" : "source");
}

/* Each end is either memory, or an array that exists. */
static cudaError_t validate_ends(const struct cudaMemcpy3DParms *copy) {
    const bool has_source = !copy->srcArray || acu_sim_array_of(copy->srcArray);
    if ((copy->srcArray && copy->srcPtr.ptr) || (copy->dstArray && copy->dstPtr.ptr))
        return SIM_REFUSE(cudaErrorInvalidValue, "the %s is given twice, as an array and as memory",
                          copy->srcArray && copy->srcPtr.ptr ? "source" : "destination");
    if (has_source && (!copy->dstArray || acu_sim_array_of(copy->dstArray)))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidResourceHandle,
                      "%p is no array: it was freed, or never allocated",
                      (void *)(has_source ? copy->dstArray : copy->srcArray));
}

static bool is_pitch(size_t pitch) {
    return pitch <= (size_t)acu_sim_device_attribute(acu_sim_device_at(0), cudaDevAttrMaxPitch);
}

/* Returns an error for no memory at all, and for memory without the rows: one row needs no pitch,
 * and one slice no number of rows. */
static cudaError_t validate_rows(const struct cudaPitchedPtr *ptr,
                                 const struct cudaExtent *extent) {
    const bool has_slices = extent->depth > 1;
    if (!ptr->ptr && !ptr->pitch && !ptr->xsize && !ptr->ysize)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the source or destination is missing: there is neither an array nor "
                          "a pointer with a pitch");
    return is_pitch(ptr->pitch) &&
                   ((extent->height == 1 && !has_slices) || ptr->pitch >= extent->width) &&
                   (ptr->ysize || !has_slices)
               ? cudaSuccess
               : SIM_REFUSE(cudaErrorInvalidPitchValue,
                            "at %p a pitch of %zu bytes and %zu rows are given for a box of %zu "
                            "bytes, %zu rows and %zu slices",
                            ptr->ptr, ptr->pitch, ptr->ysize, extent->width, extent->height,
                            extent->depth);
}

cudaError_t acu_sim_copy_validate_shape(const struct cudaMemcpy3DParms *copy) {
    if (acu_sim_layout_is_empty(&copy->extent))
        return cudaSuccess;
    if (!acu_sim_copy_is_direction(copy->kind))
        return cudaErrorInvalidMemcpyDirection;
    /* A source that is an array is looked at now; one that is the destination, after the rows. */
    if (copy->srcArray &&
        (copy->kind == cudaMemcpyHostToHost || copy->kind == cudaMemcpyHostToDevice))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the direction says that the source is the host's, and it is an array, "
                          "which is memory of a device");
    if (!copy->srcArray)
        SIM_TRY(validate_rows(&copy->srcPtr, &copy->extent));
    return copy->dstArray ? cudaSuccess : validate_rows(&copy->dstPtr, &copy->extent);
}

/* Returns whether each row, with what is skipped, is inside of the pitch, and each slice inside of
 * its rows. `unit` is the size of what the extent counts in x. */
static bool is_within_pitch(const struct cudaPitchedPtr *ptr, const struct cudaPos *pos,
                            const struct cudaExtent *extent, size_t unit) {
    const size_t bytes = extent->width * unit;
    if (acu_sim_range_is_loose(ptr->ptr))
        return !ptr->pitch || ptr->pitch >= bytes;
    return (is_pitch(ptr->pitch) || (extent->height == 1 && extent->depth == 1)) &&
           (!ptr->pitch || (ptr->pitch >= bytes && pos->x <= ptr->pitch - bytes)) &&
           (!ptr->ysize || (extent->height <= ptr->ysize && pos->y <= ptr->ysize - extent->height));
}

static cudaError_t validate_pitches(const struct cudaMemcpy3DParms *copy, size_t unit) {
    const bool has_source =
        copy->srcArray || is_within_pitch(&copy->srcPtr, &copy->srcPos, &copy->extent, unit);
    const struct cudaPitchedPtr *ptr = has_source ? &copy->dstPtr : &copy->srcPtr;
    if (has_source && (copy->dstArray || is_within_pitch(ptr, &copy->dstPos, &copy->extent, unit)))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "a box of %zu bytes and %zu rows, with what is skipped before it, does not "
                      "fit into the %s's pitch of %zu bytes or its %zu rows",
                      copy->extent.width * unit, copy->extent.height,
                      has_source ? "destination" : "source", ptr->pitch, ptr->ysize);
}

static cudaError_t refuse_empty(void) {
    return SIM_REFUSE(cudaErrorInvalidValue, "the copy is empty: a part of its extent is 0");
}

/* Validates the box and lays both ends out. */
static cudaError_t validate_box(const struct cudaMemcpy3DParms *params, bool in_bytes,
                                acu_sim_layout *to, acu_sim_layout *from) {
    const struct cudaMemcpy3DParms elements = in_elements(params, is_in_blocks(params), in_bytes),
                                   *copy = &elements;
    const size_t unit = unit_of(copy, in_bytes);
    if (acu_sim_layout_is_empty(&params->extent))
        return refuse_empty();
    SIM_TRY(validate_blocks(params, in_bytes));
    if (!unit)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the elements of the two arrays do not have the same size");
    SIM_TRY(validate_pitches(copy, unit));
    const bool has_to = lay_out_to(copy, unit, to);
    if (has_to && lay_out_from(copy, unit, from))
        return cudaSuccess;
    return SIM_REFUSE(cudaErrorInvalidValue,
                      "a part of the box is outside of the array, or its size is too large for "
                      "a number, at the %s",
                      has_to ? "source" : "destination");
}

static cudaError_t validate(const struct cudaMemcpy3DParms *copy, const copy_options *options,
                            acu_sim_endpoint *to, acu_sim_endpoint *from) {
    acu_sim_layout to_layout, from_layout;
    if (!acu_sim_copy_is_direction(copy->kind))
        return cudaErrorInvalidMemcpyDirection;
    SIM_TRY(validate_ends(copy));
    SIM_TRY(validate_box(copy, options->in_bytes, &to_layout, &from_layout));
    SIM_TRY(acu_sim_layout_find(&to_layout, "destination", to));
    SIM_TRY(acu_sim_layout_find(&from_layout, "source", from));
    SIM_TRY(validate_direction(to, from, copy->kind));
    SIM_TRY(validate_access(to, options->named_devices, true));
    SIM_TRY(validate_access(from, options->named_devices, false));
    if (from->range && from->range->multicast)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the source is a multicast object, which is read by the multimem "
                          "instructions of kernels only");
    SIM_TRY(validate_known(to, "destination", options->named_devices));
    return validate_known(from, "source", options->named_devices);
}

/* ---- operations ---- */

static bool is_there(const acu_sim_layout *end) {
    return end->array ? acu_sim_array_memory_is_there(end->array) : end->at != NULL;
}

/* Lays both ends out where their bytes are now. The bytes stay there until
 * acu_sim_memory_move_end(), which the caller must call also after a failure. */
static bool find_bytes(const acu_sim_op *op, acu_sim_layout *to, acu_sim_layout *from) {
    const struct cudaMemcpy3DParms elements = elements_of(op), *copy = &elements;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_memory_move_begin();
    const size_t unit = unit_of(copy, op->with.copy.in_bytes);
    bool found = lay_out_to(copy, unit, to) && lay_out_from(copy, unit, from);
    if (found && !to->in_array)
        to->at = acu_sim_layout_bytes(to, op->with.copy.knew_to, true);
    if (found && !from->in_array && !op->staged)
        from->at = acu_sim_layout_bytes(from, op->with.copy.knew_from, false);
    pthread_mutex_unlock(&acu_sim_lock);
    if (found && op->staged) {
        from->at = op->staged;
        from->pitch = from->width;
        from->slice = from->pitch * copy->extent.height;
    }
    return found && is_there(to) && is_there(from);
}

/* Returns where a byte of a row is, and shortens `count` to the bytes that follow there; NULL where
 * no memory is mapped to an array. */
static char *find_run(const acu_sim_layout *end, size_t x, size_t y, size_t z, size_t *count) {
    size_t run;
    if (!end->array)
        return end->at + z * end->slice + y * end->pitch + x;
    char *at = acu_sim_array_memory_at(end->array, end->x + x, end->y + y, end->z + z, &run);
    *count = run < *count ? run : *count;
    return at;
}

/* Copies a row from or to an array to which the program maps memory. */
static void copy_row(const acu_sim_layout *to, const acu_sim_layout *from, size_t y, size_t z) {
    for (size_t x = 0, count; x < to->width; x += count) {
        count = to->width - x;
        const char *source = find_run(from, x, y, z, &count);
        char *target = find_run(to, x, y, z, &count);
        if (target && source)
            memmove(target, source, count);
        else if (target)
            memset(target, 0, count);
    }
}

/* Returns false if a device has bound no memory to the multicast object that is written. */
static bool copy_plain_row(const acu_sim_layout *to, const acu_sim_layout *from, size_t y,
                           size_t z) {
    char *at = to->at + z * to->slice + y * to->pitch;
    const char *source = from->at + z * from->slice + y * from->pitch;
    memmove(at, source, to->width);
    acu_sim_unwritten_copied(at, source, to->width);
    return acu_sim_multicast_spread(at, to->width);
}

static cudaError_t run(acu_sim_op *op) {
    const struct cudaExtent e = elements_of(op).extent, *extent = &e;
    acu_sim_layout to = {0}, from = {0};
    const bool found = find_bytes(op, &to, &from);
    bool bound = true;
    for (size_t z = 0; found && z < extent->depth; z++)
        for (size_t y = 0; y < extent->height; y++)
            if (to.array || from.array)
                copy_row(&to, &from, y, z);
            else
                bound = copy_plain_row(&to, &from, y, z) && bound;
    const bool lacks_memory = (to.array && !is_there(&to)) || (from.array && !is_there(&from));
    acu_sim_memory_move_end();
    if (found && bound)
        return cudaSuccess;
    /* An array to which no memory is mapped ends the context in another way than an address. */
    return lacks_memory ? cudaErrorLaunchFailure : cudaErrorIllegalAddress;
}

/* Copies the source aside, so that the program may change it once the call returns. Returns false
 * without memory. */
static bool stage(acu_sim_op *op) {
    const struct cudaMemcpy3DParms elements = elements_of(op), *copy = &elements;
    const size_t height = copy->extent.height;
    acu_sim_layout from;
    if (!lay_out_from(copy, unit_of(copy, op->with.copy.in_bytes), &from))
        return false;
    char *bytes = malloc(from.width * height * copy->extent.depth);
    if (!bytes)
        return false;
    for (size_t z = 0; z < copy->extent.depth; z++)
        for (size_t y = 0; y < height; y++)
            memcpy(bytes + (z * height + y) * from.width, from.at + z * from.slice + y * from.pitch,
                   from.width);
    op->staged = bytes;
    return true;
}

/* Makes the operation of a copy; returns NULL without memory. */
static acu_sim_op *new_op(const struct cudaMemcpy3DParms *copy, const copy_options *options,
                          const acu_sim_endpoint *to, const acu_sim_endpoint *from) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeMemcpy, run);
    if (op) {
        op->with.copy.params = *copy;
        op->with.copy.in_bytes = options->in_bytes;
        op->with.copy.in_blocks = is_in_blocks(copy);
        op->with.copy.knew_to = !to->pageable;
        op->with.copy.knew_from = !from->pageable;
    }
    return op;
}

cudaError_t acu_sim_copy_op(const struct cudaMemcpy3DParms *params, bool in_bytes,
                            acu_sim_op **op) {
    const copy_options options = {.async = true, .in_bytes = in_bytes};
    acu_sim_endpoint to, from;
    if (acu_sim_layout_is_empty(&params->extent))
        return refuse_empty();
    SIM_TRY(validate(params, &options, &to, &from));
    *op = new_op(params, &options, &to, &from);
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* ---- submitting ---- */

/* Returns whether the host must wait for the copy. Where a small pageable source alone would make
 * it wait, the source is staged instead. */
static bool must_wait(const acu_sim_stream *stream, acu_sim_op *op, const acu_sim_endpoint *to,
                      const acu_sim_endpoint *from, bool async) {
    const struct cudaMemcpy3DParms elements = elements_of(op), *copy = &elements;
    const struct cudaExtent *extent = &copy->extent;
    if (!async ? !to->host && !from->host
               : !to->pageable && !from->pageable && !(to->pinned && from->pinned))
        return false;
    size_t size =
        unit_of(copy, op->with.copy.in_bytes) * extent->width * extent->height * extent->depth;
    return !async || !from->pageable || to->host || size > STAGED_AT_MOST || stream->capture ||
           acu_sim_stream_is_free(stream) || !stage(op);
}

/* A call that is not asynchronous is not captured. */
static cudaError_t validate_capture(acu_sim_stream *stream, bool async) {
    return acu_sim_capture_allows(stream, async ? SIM_ENQUEUES : SIM_REFUSES);
}

/* Returns whether the host does not hear of the fault yet: it waits only until its pageable memory
 * was read, and not until the bytes are in an array, to which no memory is mapped. */
static bool is_found_later(const struct cudaMemcpy3DParms *copy, const acu_sim_endpoint *from) {
    const acu_sim_array *to = acu_sim_array_of(copy->dstArray);
    return from->pageable && to && !acu_sim_array_memory_is_there(to);
}

/* Validates the copy and gives it to the stream. */
static cudaError_t submit(const struct cudaMemcpy3DParms *params, cudaStream_t handle,
                          copy_options options) {
    acu_sim_endpoint to, from;
    acu_sim_stream *stream;
    SIM_TRY(acu_sim_stream_of(handle, &stream));
    const bool is_empty = acu_sim_layout_is_empty(&params->extent);
    if (!is_empty || options.asks_captures || acu_sim_self()->call.by_driver)
        SIM_TRY(validate_capture(stream, options.async));
    if (is_empty)
        return cudaSuccess;
    SIM_TRY(validate(params, &options, &to, &from));
    acu_sim_op *op = new_op(params, &options, &to, &from);
    if (!op || (options.early && from.host && !stage(op))) {
        acu_sim_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    const bool wait = op->staged ? to.pageable : must_wait(stream, op, &to, &from, options.async);
    const cudaError_t why = acu_sim_stream_submit(stream, op, wait);
    return why == cudaErrorLaunchFailure && is_found_later(params, &from) ? cudaSuccess : why;
}

cudaError_t acu_sim_copy_box(const struct cudaMemcpy3DParms *params, bool in_bytes,
                             cudaStream_t stream, bool async) {
    return submit(params, stream, (copy_options){.async = async, .in_bytes = in_bytes});
}

cudaError_t acu_sim_copy_all(const struct cudaMemcpy3DParms *copies, const bool *early,
                             size_t count, cudaStream_t stream) {
    const copy_options options = {.async = true};
    acu_sim_endpoint to, from;
    for (size_t i = 0; i < count; i++)
        SIM_TRY(validate(&copies[i], &options, &to, &from));
    for (size_t i = 0; i < count; i++)
        SIM_TRY(submit(&copies[i], stream, (copy_options){.async = true, .early = early[i]}));
    return cudaSuccess;
}

/* ---- calls ---- */

cudaError_t acu_sim_copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                         cudaStream_t stream, bool async) {
    const struct cudaMemcpy3DParms params = acu_sim_copy_params(dst, src, count, kind);
    if (count && !acu_sim_copy_is_direction(kind))
        return cudaErrorInvalidMemcpyDirection;
    SIM_TRY(acu_sim_require(SIM_NEEDS_CONTEXT));
    return submit(&params, stream, (copy_options){.async = async});
}

cudaError_t acu_sim_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind) {
    return acu_sim_copy(dst, src, count, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                    enum cudaMemcpyKind kind, cudaStream_t stream) {
    return acu_sim_copy(dst, src, count, kind, stream, true);
}

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                           size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
                           bool async) {
    const struct cudaMemcpy3DParms params = {
        .srcPtr = {(void *)(uintptr_t)src, spitch, width, height},
        .dstPtr = {dst, dpitch, width, height},
        .extent = {width, height, 1},
        .kind = kind};
    if (width && height > 1 && (dpitch < width || spitch < width))
        return SIM_REFUSE(cudaErrorInvalidPitchValue,
                          "a row of %zu bytes is longer than the %s's pitch of %zu bytes", width,
                          dpitch < width ? "destination" : "source",
                          dpitch < width ? dpitch : spitch);
    if (width && height && !acu_sim_copy_is_direction(kind))
        return cudaErrorInvalidMemcpyDirection;
    return submit(&params, stream, (copy_options){.async = async});
}

cudaError_t acu_sim_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                 size_t width, size_t height, enum cudaMemcpyKind kind) {
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                      size_t width, size_t height, enum cudaMemcpyKind kind,
                                      cudaStream_t stream) {
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, stream, true);
}

cudaError_t acu_sim_copy_3d(const struct cudaMemcpy3DParms *params, cudaStream_t stream,
                            bool async) {
    if (!params)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_copy_validate_shape(params));
    return submit(params, stream, (copy_options){.async = async, .asks_captures = true});
}

cudaError_t acu_sim_cudaMemcpy3D(const struct cudaMemcpy3DParms *p) {
    return acu_sim_copy_3d(p, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream) {
    return acu_sim_copy_3d(p, stream, true);
}

/* ---- calls that name devices ---- */

/* Puts an empty operation into the stream, behind all work of the other stream, if that is given.
 */
static cudaError_t submit_empty(acu_sim_stream *stream, const acu_sim_stream *before) {
    acu_sim_op *op = acu_sim_op_new(cudaGraphNodeTypeEmpty, NULL);
    if (!op || (before && !acu_sim_op_after(op, before->last))) {
        acu_sim_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    return acu_sim_stream_submit(stream, op, false);
}

/* Returns the default stream of the device that the stream must be ordered with; NULL if the device
 * has no work, or is the stream's own. */
static acu_sim_stream *other_default(const acu_sim_stream *stream, int index) {
    acu_sim_device *device = acu_sim_device_at(index);
    if (!device->active || device == stream->device)
        return NULL;
    return acu_sim_stream_legacy(&device->own);
}

/* Orders the next operation of the stream behind all work of a device. */
static cudaError_t wait_for_device(acu_sim_stream *stream, int device) {
    acu_sim_stream *other = other_default(stream, device);
    if (!other)
        return cudaSuccess;
    SIM_TRY(submit_empty(other, NULL));
    return submit_empty(stream, other);
}

/* Orders all later work of a device behind the last operation of the stream. */
static cudaError_t make_device_wait(acu_sim_stream *stream, int device) {
    acu_sim_stream *other = other_default(stream, device);
    return other ? submit_empty(other, stream) : cudaSuccess;
}

/* Memory of a pool may be named as that of any device that was granted access to the pool. */
static cudaError_t validate_name(const void *address, int device, bool writes) {
    const acu_sim_range *range = acu_sim_range_of(address);
    return range && range->pool
               ? acu_sim_range_validate_access(range, acu_sim_device_at(device), writes)
               : cudaSuccess;
}

/* Copies between devices, which are validated but not needed: the addresses say where the memory
 * is. A copy that is not asynchronous is ordered with the work of both devices. */
static cudaError_t copy_between(const struct cudaMemcpy3DParms *params, bool in_bytes, int to,
                                int from, cudaStream_t handle, bool async) {
    const copy_options options = {.async = async, .named_devices = true, .in_bytes = in_bytes};
    acu_sim_stream *stream;
    if (!acu_sim_device_at(to) || !acu_sim_device_at(from))
        return cudaErrorInvalidDevice;
    SIM_TRY(acu_sim_stream_of(handle, &stream));
    SIM_TRY(acu_sim_capture_allows(stream, SIM_REFUSES));
    if (!acu_sim_layout_is_empty(&params->extent)) {
        SIM_TRY(validate_name(params->dstPtr.ptr, to, true));
        SIM_TRY(validate_name(params->srcPtr.ptr, from, false));
    }
    if (async)
        return submit(params, handle, options);
    SIM_TRY(wait_for_device(stream, to));
    SIM_TRY(wait_for_device(stream, from));
    SIM_TRY(submit(params, handle, options));
    SIM_TRY(make_device_wait(stream, to));
    return make_device_wait(stream, from);
}

static cudaError_t copy_peer(void *dst, int to, const void *src, int from, size_t count,
                             cudaStream_t stream, bool async) {
    const struct cudaMemcpy3DParms params = acu_sim_copy_params(dst, src, count, cudaMemcpyDefault);
    return count ? copy_between(&params, false, to, from, stream, async) : cudaSuccess;
}

cudaError_t acu_sim_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                   size_t count) {
    return copy_peer(dst, dstDevice, src, srcDevice, count, NULL, false);
}

cudaError_t acu_sim_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                        size_t count, cudaStream_t stream) {
    return copy_peer(dst, dstDevice, src, srcDevice, count, stream, true);
}

cudaError_t acu_sim_copy_3d_peer(const struct cudaMemcpy3DPeerParms *peer, bool in_bytes,
                                 cudaStream_t stream, bool async) {
    if (!peer)
        return cudaErrorInvalidValue;
    const struct cudaMemcpy3DParms params = {.srcArray = peer->srcArray,
                                             .srcPos = peer->srcPos,
                                             .srcPtr = peer->srcPtr,
                                             .dstArray = peer->dstArray,
                                             .dstPos = peer->dstPos,
                                             .dstPtr = peer->dstPtr,
                                             .extent = peer->extent,
                                             .kind = cudaMemcpyDefault};
    if (!acu_sim_device_at(peer->dstDevice) || !acu_sim_device_at(peer->srcDevice))
        return cudaErrorInvalidDevice;
    SIM_TRY(acu_sim_copy_validate_shape(&params));
    return copy_between(&params, in_bytes, peer->dstDevice, peer->srcDevice, stream, async);
}

cudaError_t acu_sim_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p) {
    return acu_sim_copy_3d_peer(p, false, NULL, false);
}

cudaError_t acu_sim_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
                                          cudaStream_t stream) {
    return acu_sim_copy_3d_peer(p, false, stream, true);
}
