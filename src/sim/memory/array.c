/*
 * Arrays and mipmapped arrays. Their elements lie row by row, which no program can observe, because
 * a program reaches them by copies only.
 */
#include "sim/memory/array.h"

#include "sim/caller.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/memory/array_shape.h"
#include "sim/memory/compressed.h"
#include "sim/memory/memory.h"
#include "sim/set.h"
#include "sim/stream/capture.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

typedef struct mipmapped {
    acu_sim_device *device;
    acu_sim_array **levels; /* the largest one first */
    unsigned level_count;
    size_t taken;      /* bytes of the device's memory */
    bool is_view;      /* of another's memory: the program cannot free it */
    const void *where; /* where the program made the mipmapped array */
    struct mipmapped *next, *before;
} mipmapped;

static acu_sim_array *arrays; /* all but levels */
static mipmapped *mipmaps;
static acu_sim_set array_handles, mipmap_handles;

acu_sim_array *acu_sim_array_of(cudaArray_const_t handle) {
    const void *pointer = handle;
    return acu_sim_set_has(&array_handles, pointer) ? (acu_sim_array *)(uintptr_t)pointer : NULL;
}

static mipmapped *mipmap_of(cudaMipmappedArray_const_t handle) {
    const void *pointer = handle;
    return acu_sim_set_has(&mipmap_handles, pointer) ? (mipmapped *)(uintptr_t)pointer : NULL;
}

const acu_sim_array *acu_sim_array_mipmap_level(cudaMipmappedArray_const_t handle) {
    const mipmapped *m = mipmap_of(handle);
    return m ? m->levels[0] : NULL;
}

acu_sim_array *const *acu_sim_array_mipmap_levels(cudaMipmappedArray_const_t handle,
                                                  unsigned *count) {
    const mipmapped *m = mipmap_of(handle);
    if (!m)
        return NULL;
    *count = m->level_count;
    return m->levels;
}

static cudaArray_t handle_of(acu_sim_array *array) {
    return (cudaArray_t)(void *)array;
}

/* ---- formats ---- */

/* Returns the bytes of what an array is made of: elements, or blocks. */
static size_t element_size(const struct cudaChannelFormatDesc *desc) {
    const size_t block = acu_sim_compressed_size(desc->f);
    return block ? block : acu_sim_array_format_size(desc);
}

/* Returns how many elements, or blocks, an array has in each direction. */
static struct cudaExtent elements_of(const struct cudaChannelFormatDesc *desc,
                                     const struct cudaExtent *extent) {
    return (struct cudaExtent){acu_sim_compressed_count(desc->f, extent->width),
                               extent->height ? acu_sim_compressed_count(desc->f, extent->height)
                                              : 1,
                               extent->depth ? extent->depth : 1};
}

/* ---- life ---- */

static void free_array(acu_sim_array *array) {
    if (array->before)
        array->before->next = array->next;
    else if (arrays == array)
        arrays = array->next;
    if (array->next)
        array->next->before = array->before;
    acu_sim_set_remove(&array_handles, array);
    acu_sim_memory_wait_for_moves();
    if (!array->is_level)
        acu_sim_array_memory_release(array->memory);
    free(array->bytes);
    free(array);
}

/* Returns whether arrays with the flags have memory of their own. The program maps memory to the
 * other ones. */
static bool has_memory(unsigned flags) {
    return !(flags & (cudaArraySparse | cudaArrayDeferredMapping));
}

/* Makes an array that has a handle, but is in no list and not charged to the device; NULL without
 * memory. */
static acu_sim_array *new_array(acu_sim_device *device, const struct cudaChannelFormatDesc *desc,
                                const struct cudaExtent *extent, unsigned flags, bool has_bytes) {
    acu_sim_array *array = calloc(1, sizeof *array);
    if (!array)
        return NULL;
    array->device = device;
    array->context = acu_sim_context_now();
    array->desc = *desc;
    array->extent = *extent;
    array->flags = flags;
    const struct cudaExtent elements = elements_of(desc, extent);
    array->width = elements.width;
    array->height = elements.height;
    array->depth = elements.depth;
    array->element = element_size(desc);
    array->pitch = array->width * array->element;
    if (has_bytes)
        array->bytes = calloc(array->height * array->depth, array->pitch);
    if ((array->bytes || !has_bytes) && acu_sim_set_add(&array_handles, array))
        return array;
    free(array->bytes);
    free(array);
    return NULL;
}

/* Prepares an array, or all of its levels, for memory that the program maps, unless there are
 * bytes; returns false without memory. */
static bool add_memory(acu_sim_array *const *levels, unsigned count) {
    if (levels[0]->bytes)
        return true;
    acu_sim_array_memory *memory = acu_sim_array_memory_new(levels, count);
    for (unsigned i = 0; memory && i < count; i++)
        levels[i]->memory = memory;
    return memory != NULL;
}

/* Returns the bytes that an array takes of the device's memory. The limits of an extent keep the
 * product small enough. */
static size_t allocation_size(const struct cudaChannelFormatDesc *desc,
                              const struct cudaExtent *extent, unsigned flags) {
    if (!has_memory(flags))
        return 0;
    const struct cudaExtent e = elements_of(desc, extent);
    return acu_sim_memory_rounded(element_size(desc) * e.width * e.height * e.depth);
}

static cudaError_t make_array(acu_sim_device *device, const struct cudaChannelFormatDesc *desc,
                              const struct cudaExtent *extent, unsigned flags,
                              cudaArray_t *handle) {
    const size_t size = allocation_size(desc, extent, flags);
    if (!acu_sim_memory_charge(device, size))
        return cudaErrorMemoryAllocation;
    acu_sim_array *array = new_array(device, desc, extent, flags, has_memory(flags));
    if (!array || !add_memory(&array, 1)) {
        if (array)
            free_array(array);
        device->used -= size;
        return cudaErrorMemoryAllocation;
    }
    array->where = SIM_CALLER;
    array->next = arrays;
    if (arrays)
        arrays->before = array;
    arrays = array;
    *handle = handle_of(array);
    return cudaSuccess;
}

static cudaError_t malloc_array(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                struct cudaExtent extent, unsigned flags) {
    acu_sim_device *device = acu_sim_device_now();
    if (!array || !desc)
        return cudaErrorInvalidValue;
    *array = NULL;
    SIM_TRY(acu_sim_array_validate(device, desc, &extent, flags));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(acu_sim_array_validate_kind(desc, &extent, flags));
    return make_array(device, desc, &extent, flags, array);
}

cudaError_t acu_sim_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                    size_t width, size_t height, unsigned int flags) {
    return malloc_array(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t acu_sim_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                      struct cudaExtent extent, unsigned int flags) {
    return malloc_array(array, desc, extent, flags);
}

/* Takes an array out of the list and gives its memory back to the device. */
static void release(acu_sim_array *array) {
    array->device->used -= allocation_size(&array->desc, &array->extent, array->flags);
    free_array(array);
}

cudaError_t acu_sim_cudaFreeArray(cudaArray_t array) {
    acu_sim_array *a = acu_sim_array_of(array);
    if (!array)
        return cudaSuccess;
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (a->is_level) /* it stays what it is, as for cuArrayDestroy() */
        return cudaSuccess;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    acu_sim_stream_wait_device(a->device);
    /* The wait gave up the lock: another thread may have freed the array. */
    if ((a = acu_sim_array_of(array)))
        release(a);
    return cudaSuccess;
}

/* ---- mipmapped arrays ---- */

static void free_mipmap(mipmapped *m) {
    if (m->before)
        m->before->next = m->next;
    else if (mipmaps == m)
        mipmaps = m->next;
    if (m->next)
        m->next->before = m->before;
    acu_sim_set_remove(&mipmap_handles, m);
    if (m->level_count)
        acu_sim_array_memory_release(m->levels[0]->memory);
    for (unsigned i = 0; i < m->level_count; i++)
        free_array(m->levels[i]);
    m->device->used -= m->taken;
    free(m->levels);
    free(m);
}

struct cudaExtent acu_sim_array_level_extent(const struct cudaExtent *extent, unsigned flags,
                                             unsigned level) {
    struct cudaExtent e = *extent;
    const bool layers = flags & (cudaArrayLayered | cudaArrayCubemap);
    for (unsigned i = 0; i < level; i++) {
        e.width = e.width > 1 ? e.width / 2 : e.width;
        e.height = e.height > 1 ? e.height / 2 : e.height;
        e.depth = e.depth > 1 && !layers ? e.depth / 2 : e.depth;
    }
    return e;
}

static unsigned most_levels(const struct cudaExtent *extent, unsigned flags) {
    size_t largest = extent->width > extent->height ? extent->width : extent->height;
    if (extent->depth > largest && !(flags & (cudaArrayLayered | cudaArrayCubemap)))
        largest = extent->depth;
    unsigned most = 1;
    while (largest >>= 1)
        most++;
    return most;
}

/* Returns the number of levels that an extent can have, if the program asks for so many. */
static unsigned clamp_levels(const struct cudaExtent *extent, unsigned flags, unsigned levels) {
    const unsigned most = most_levels(extent, flags);
    return levels < 1 ? 1 : levels > most ? most : levels;
}

/* Makes the levels, with bytes or for memory that is mapped; returns false without memory, and the
 * caller frees what was made. */
static bool make_levels(mipmapped *m, const struct cudaChannelFormatDesc *desc,
                        const struct cudaExtent *extent, unsigned flags, unsigned levels,
                        bool has_bytes) {
    m->levels = calloc(levels, sizeof(acu_sim_array *));
    for (unsigned i = 0; m->levels && i < levels; i++) {
        const struct cudaExtent e = acu_sim_array_level_extent(extent, flags, i);
        const size_t size = has_bytes ? allocation_size(desc, &e, flags) : 0;
        if (!acu_sim_memory_charge(m->device, size))
            return false;
        m->taken += size;
        if (!(m->levels[i] = new_array(m->device, desc, &e, flags, has_bytes)))
            return false;
        m->levels[i]->is_level = true;
        m->level_count++;
    }
    return m->levels && add_memory(m->levels, levels) && acu_sim_set_add(&mipmap_handles, m);
}

static mipmapped *new_mipmap(acu_sim_device *device, const struct cudaChannelFormatDesc *desc,
                             const struct cudaExtent *extent, unsigned flags, unsigned levels,
                             bool is_own) {
    mipmapped *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->device = device;
    m->where = SIM_CALLER;
    if (make_levels(m, desc, extent, flags, levels, is_own && has_memory(flags)))
        return m;
    free_mipmap(m);
    return NULL;
}

/* Adds a mipmapped array to the list; returns its handle. */
static cudaMipmappedArray_t publish(mipmapped *m) {
    m->next = mipmaps;
    if (mipmaps)
        mipmaps->before = m;
    mipmaps = m;
    return (cudaMipmappedArray_t)(void *)m;
}

cudaError_t acu_sim_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                             const struct cudaChannelFormatDesc *desc,
                                             struct cudaExtent extent, unsigned int numLevels,
                                             unsigned int flags) {
    acu_sim_device *device = acu_sim_device_now();
    if (!mipmappedArray || !desc)
        return cudaErrorInvalidValue;
    *mipmappedArray = NULL;
    SIM_TRY(acu_sim_array_validate(device, desc, &extent, flags));
    SIM_TRY(acu_sim_capture_allows_unsafe());
    SIM_TRY(acu_sim_array_validate_kind(desc, &extent, flags));
    mipmapped *m =
        new_mipmap(device, desc, &extent, flags, clamp_levels(&extent, flags, numLevels), true);
    if (!m)
        return cudaErrorMemoryAllocation;
    *mipmappedArray = publish(m);
    return cudaSuccess;
}

cudaError_t acu_sim_array_map_image(acu_sim_external *external, char *bytes, size_t size,
                                    acu_sim_device *device,
                                    const struct cudaExternalMemoryMipmappedArrayDesc *image,
                                    cudaMipmappedArray_t *mipmap) {
    const unsigned never = cudaArraySparse | cudaArrayDeferredMapping;
    if (image->flags & never)
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_array_validate(device, &image->formatDesc, &image->extent,
                                   image->flags & ACU_SIM_ARRAY_FLAGS));
    if (acu_sim_compressed_size(image->formatDesc.f))
        return SIM_REFUSE(cudaErrorNotSupported,
                          "the simulator has no compressed images of another API's memory");
    SIM_TRY(acu_sim_array_validate_kind(&image->formatDesc, &image->extent, image->flags));
    if (!image->numLevels)
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "numLevels is 0, with which CUDA damages its heap: an image without "
                          "further levels has 1");
    if (image->numLevels > most_levels(&image->extent, image->flags))
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "numLevels is %u, and of that extent there can be %u", image->numLevels,
                          most_levels(&image->extent, image->flags));
    mipmapped *m = new_mipmap(device, &image->formatDesc, &image->extent, image->flags,
                              image->numLevels, false);
    if (!m)
        return cudaErrorMemoryAllocation;
    acu_sim_array_memory *memory = m->levels[0]->memory;
    acu_sim_array_lay_out_image(m->levels, m->level_count, &memory->shape);
    const size_t needed = memory->shape.used;
    if (needed > size) {
        free_mipmap(m);
        return SIM_REFUSE(cudaErrorInvalidValue,
                          "the image has %zu bytes, and of the memory %zu are there", needed, size);
    }
    memory->external = external; /* whose reference the caller has taken */
    memory->whole = bytes;
    *mipmap = publish(m);
    return cudaSuccess;
}

/* ---- views of another's memory ---- */

/* Makes an array whose bytes are another's. */
static acu_sim_array *new_view(acu_sim_device *device, const struct cudaChannelFormatDesc *desc,
                               const struct cudaExtent *extent, unsigned flags, char *bytes) {
    acu_sim_array *array = new_array(device, desc, extent, flags, false);
    if (array) {
        array->bytes = bytes;
        array->is_level = array->is_view = true;
    }
    return array;
}

void acu_sim_array_free_view(cudaMipmappedArray_t view) {
    mipmapped *m = mipmap_of(view);
    for (unsigned i = 0; m && i < m->level_count; i++)
        m->levels[i]->bytes = NULL;
    if (m)
        free_mipmap(m);
}

cudaMipmappedArray_t acu_sim_array_new_view(acu_sim_device *device,
                                            const struct cudaChannelFormatDesc *desc,
                                            const struct cudaExtent *extent, unsigned flags,
                                            unsigned levels, char *bytes) {
    mipmapped *m = calloc(1, sizeof *m);
    if (!m || !acu_sim_set_add(&mipmap_handles, m)) {
        free(m);
        return NULL;
    }
    const cudaMipmappedArray_t handle = (cudaMipmappedArray_t)(void *)m;
    m->device = device;
    m->is_view = true;
    m->levels = calloc(levels, sizeof(acu_sim_array *));
    for (unsigned i = 0; m->levels && i < levels; i++, m->level_count++) {
        const struct cudaExtent e = acu_sim_array_level_extent(extent, flags, i);
        acu_sim_array *level = m->levels[i] = new_view(device, desc, &e, flags, bytes);
        if (!level)
            break;
        bytes += level->pitch * level->height * level->depth;
    }
    if (m->level_count == levels)
        return handle;
    acu_sim_array_free_view(handle);
    return NULL;
}

acu_sim_array *acu_sim_array_new_layer(const acu_sim_array *level, unsigned layer) {
    const unsigned layers = cudaArrayLayered | cudaArrayCubemap;
    const struct cudaExtent e = {level->extent.width, level->extent.height, 0};
    return new_view(level->device, &level->desc, &e, level->flags & ~layers,
                    level->bytes + level->pitch * level->height * layer);
}

void acu_sim_array_free_layer(acu_sim_array *array) {
    array->bytes = NULL;
    free_array(array);
}

cudaError_t acu_sim_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray) {
    mipmapped *m = mipmap_of(mipmappedArray);
    if (!mipmappedArray)
        return cudaSuccess;
    if (!m || m->is_view)
        return cudaErrorInvalidResourceHandle;
    SIM_TRY(acu_sim_capture_allows_unsafe());
    acu_sim_stream_wait_device(m->device);
    /* The wait gave up the lock: another thread may have freed the mipmapped array. */
    if ((m = mipmap_of(mipmappedArray)))
        free_mipmap(m);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                               cudaMipmappedArray_const_t mipmappedArray,
                                               unsigned int level) {
    const mipmapped *m = mipmap_of(mipmappedArray);
    if (!levelArray)
        return cudaErrorInvalidValue;
    if (!m)
        return cudaErrorInvalidResourceHandle;
    if (level >= m->level_count)
        return SIM_REFUSE(cudaErrorInvalidValue, "there is no level %u: the mipmap has %u", level,
                          m->level_count);
    *levelArray = handle_of(m->levels[level]);
    return cudaSuccess;
}

/* ---- properties ---- */

cudaError_t acu_sim_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                     unsigned int *flags, cudaArray_t array) {
    const acu_sim_array *a = acu_sim_array_of(array);
    if (desc)
        *desc = a ? a->desc : (struct cudaChannelFormatDesc){0};
    if (extent)
        *extent = a ? a->extent : (struct cudaExtent){0};
    if (extent && a && a->is_view && a->flags & cudaArrayCubemap)
        extent->depth = 0; /* as CUDA has it of a cube of OpenGL's */
    if (flags)
        *flags = a ? a->flags : 0;
    return a ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t acu_sim_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc,
                                       cudaArray_const_t array) {
    const acu_sim_array *a = acu_sim_array_of(array);
    if (!desc)
        return cudaErrorInvalidValue;
    if (!a)
        return cudaErrorInvalidResourceHandle;
    *desc = a->desc;
    return cudaSuccess;
}

/* No array here has planes. */
cudaError_t acu_sim_cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray,
                                      unsigned int planeIdx) {
    (void)planeIdx;
    return pPlaneArray && !acu_sim_array_of(hArray) ? cudaErrorInvalidResourceHandle
                                                    : cudaErrorInvalidValue;
}

/* CUDA does not look at the device, and clears the answer about arrays with memory of their own. */
static cudaError_t get_requirements(const acu_sim_array *array,
                                    struct cudaArrayMemoryRequirements *needs) {
    *needs = (struct cudaArrayMemoryRequirements){0};
    if (!(array->flags & cudaArrayDeferredMapping))
        return cudaErrorInvalidValue;
    needs->size = array->memory->shape.size;
    needs->alignment = SIM_PIECE;
    return cudaSuccess;
}

static cudaError_t get_sparse_properties(const acu_sim_array *array,
                                         struct cudaArraySparseProperties *sparse) {
    *sparse = (struct cudaArraySparseProperties){0};
    if (!(array->flags & cudaArraySparse))
        return cudaErrorInvalidValue;
    *sparse = array->memory->shape.sparse;
    return cudaSuccess;
}

cudaError_t
acu_sim_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
                                       cudaArray_t array, int device) {
    const acu_sim_array *a = acu_sim_array_of(array);
    (void)device;
    if (!memoryRequirements)
        return cudaErrorInvalidValue;
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (a->is_level) { /* the mipmapped array is to be asked */
        *memoryRequirements = (struct cudaArrayMemoryRequirements){0};
        return cudaErrorInvalidValue;
    }
    return get_requirements(a, memoryRequirements);
}

cudaError_t acu_sim_cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                                 cudaArray_t array) {
    const acu_sim_array *a = acu_sim_array_of(array);
    if (!sparseProperties)
        return cudaErrorInvalidValue;
    if (!a)
        return cudaErrorInvalidResourceHandle;
    if (a->is_level) { /* the mipmapped array is to be asked */
        *sparseProperties = (struct cudaArraySparseProperties){0};
        return cudaErrorInvalidValue;
    }
    return get_sparse_properties(a, sparseProperties);
}

cudaError_t acu_sim_cudaMipmappedArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memoryRequirements, cudaMipmappedArray_t mipmap,
    int device) {
    const mipmapped *m = mipmap_of(mipmap);
    (void)device;
    if (!memoryRequirements)
        return cudaErrorInvalidValue;
    return m ? get_requirements(m->levels[0], memoryRequirements) : cudaErrorInvalidResourceHandle;
}

cudaError_t
acu_sim_cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                              cudaMipmappedArray_t mipmap) {
    const mipmapped *m = mipmap_of(mipmap);
    if (!sparseProperties)
        return cudaErrorInvalidValue;
    return m ? get_sparse_properties(m->levels[0], sparseProperties)
             : cudaErrorInvalidResourceHandle;
}

/* ---- drop, reset, leaks ---- */

static void reset_device(acu_sim_device *device) {
    acu_sim_array *next;
    mipmapped *next_mipmap;
    for (acu_sim_array *a = arrays; a; a = next) {
        next = a->next;
        if (a->device == device)
            free_array(a);
    }
    for (mipmapped *m = mipmaps; m; m = next_mipmap) {
        next_mipmap = m->next;
        if (m->device == device)
            free_mipmap(m);
    }
}

static void drop_context(acu_sim_context *context) {
    acu_sim_array *next;
    mipmapped *next_mipmap;
    for (acu_sim_array *a = arrays; a; a = next) {
        next = a->next;
        if (a->context == context)
            release(a);
    }
    for (mipmapped *m = mipmaps; m; m = next_mipmap) {
        next_mipmap = m->next;
        if (m->levels[0]->context == context)
            free_mipmap(m);
    }
}

static int leaks(int print) {
    int count = 0;
    for (const acu_sim_array *a = arrays; a; a = a->next, count++)
        if (print)
            acu_sim_caller_report("array", a, a->pitch * a->height * a->depth, a->where);
    for (const mipmapped *m = mipmaps; m; m = m->next, count++)
        if (print)
            acu_sim_caller_report("mipmapped array", m, m->taken, m->where);
    return count;
}

const acu_sim_noun acu_sim_array_noun = {
    .reset_device = reset_device, .drop_context = drop_context, .leaks = leaks};
