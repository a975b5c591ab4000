/* Tensor maps, by the driver's API: the runtime has none. */
#include "safe/memory/tensor_map.h"
#include "core/translate.h"
#include "safe/base/device.h"
#include "safe/memory/buffer.h"

#include <anycuda/cuda.h>

#include <stdio.h>
#include <string.h>

/* ---- life ---- */

static int destroy_map(acu_object *object) {
    return acu_buffer_give_up_memory(NULL, ((acu_tensor_map *)object)->image.memory);
}

static void describe_map(const acu_object *object, acu_description *d) {
    const acu_tensor_map *map = (const acu_tensor_map *)object;
    char text[120];
    size_t used = 0;
    for (unsigned i = 0; i < map->tensor.rank && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu", i ? " x " : "",
                                 (unsigned long long)map->tensor.shape[i]);
    if (map->tensor.rank)
        acu_describe(d, "of %s elements", text);
    else
        acu_describe(d, "wrapped");
}

const acu_class acu_tensor_map_class = {"tensor map", destroy_map, describe_map,
                                        acu_breaks_no_capture};

static acu_tensor_map *new_map(const char *call, acu_buffer *buffer) {
    acu_tensor_map *map =
        acu_object_new(call, &acu_tensor_map_class, sizeof *map, buffer->object.device);
    if (!map)
        return NULL;
    const uintptr_t room = (uintptr_t)map->room, more = ACU_TENSOR_MAP_ALIGNMENT - 1;
    map->raw =
        map->room + ((room + more) / ACU_TENSOR_MAP_ALIGNMENT * ACU_TENSOR_MAP_ALIGNMENT - room);
    map->image.memory = buffer;
    acu_buffer_keep_memory(buffer);
    return map;
}

/* ---- CUDA's map ---- */

static int encode_tiled(const acu_tensor_map *map, const acu_tensor *t, void *address) {
    return acu_translate_driver(cuTensorMapEncodeTiled(
        map->raw, (CUtensorMapDataType)acu_tensor_map_type(map->image.memory, t->elements), t->rank,
        address, t->shape, t->strides, t->box, t->steps, (CUtensorMapInterleave)t->interleave,
        (CUtensorMapSwizzle)t->swizzle, (CUtensorMapL2promotion)t->promotion,
        (CUtensorMapFloatOOBfill)t->fill_nan));
}

static int encode_im2col(const acu_tensor_map *map, const acu_tensor *t, void *address) {
    return acu_translate_driver(cuTensorMapEncodeIm2col(
        map->raw, (CUtensorMapDataType)acu_tensor_map_type(map->image.memory, t->elements), t->rank,
        address, t->shape, t->strides, t->lower, t->upper, t->channels, t->pixels, t->steps,
        (CUtensorMapInterleave)t->interleave, (CUtensorMapSwizzle)t->swizzle,
        (CUtensorMapL2promotion)t->promotion, (CUtensorMapFloatOOBfill)t->fill_nan));
}

static int encode_wide(const acu_tensor_map *map, const acu_tensor *t, void *address) {
    return acu_translate_driver(cuTensorMapEncodeIm2colWide(
        map->raw, (CUtensorMapDataType)acu_tensor_map_type(map->image.memory, t->elements), t->rank,
        address, t->shape, t->strides, t->lower[0], t->upper[0], t->channels, t->pixels, t->steps,
        (CUtensorMapInterleave)t->interleave,
        t->w128 ? CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128 : CU_TENSOR_MAP_IM2COL_WIDE_MODE_W,
        (CUtensorMapSwizzle)t->swizzle, (CUtensorMapL2promotion)t->promotion,
        (CUtensorMapFloatOOBfill)t->fill_nan));
}

/* Makes CUDA's map, with the device current. */
static int encode(const acu_tensor_map *map) {
    static int (*const encoders[])(const acu_tensor_map *, const acu_tensor *, void *) = {
        [ACU_TENSOR_TILED] = encode_tiled,
        [ACU_TENSOR_IM2COL] = encode_im2col,
        [ACU_TENSOR_IM2COL_WIDE] = encode_wide,
    };
    const acu_tensor *t = &map->tensor;
    acu_guard guard;
    int code = acu_translate_driver(cuInit(0));
    if (code)
        return code;
    code = acu_guard_enter(&guard, map->image.object.device);
    if (!code)
        code = encoders[t->mode](map, t, acu_tensor_map_address(map->image.memory, t));
    acu_guard_leave(&guard);
    return code;
}

/* Returns whether an H100 refuses the tensor: PTX has such elements and swizzlings from compute
 * capability 10.0 on. */
static bool needs_ten(const acu_tensor *t) {
    return t->elements >= ACU_TENSOR_U4 || t->swizzle >= ACU_TENSOR_SWIZZLE_128B_ATOM_32B;
}

/* Returns 0 where the device has tensor maps of the kind; else a failure recorded for `call`. */
static int check_device(const char *call, const acu_buffer *buffer, const acu_tensor *tensor) {
    int major = 0;
    const int code = (int)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                                 buffer->object.device);
    if (code)
        return acu_cuda_failed_on(call, buffer, code);
    if (major < 9)
        return acu_fail_on(call, buffer, ACU_NOT_SUPPORTED,
                           "device %d has no tensor maps, which come with compute capability 9.0",
                           buffer->object.device);
    return major >= 10 || !needs_ten(tensor)
               ? 0
               : acu_fail_on(call, buffer, ACU_NOT_SUPPORTED,
                             "device %d has neither packed elements nor the last three swizzlings, "
                             "which come with compute capability 10.0",
                             buffer->object.device);
}

acu_result acu_tensor_map_create(acu_buffer *buffer, const acu_tensor *tensor,
                                 acu_tensor_map **map) {
    ACU_SCOPE();
    acu_tensor complete;
    unsigned bits = 0;
    ACU_NEED_POINTER(map);
    *map = NULL;
    ACU_NEED(buffer, acu_buffer_class);
    ACU_NEED_POINTER(tensor);
    acu_destroy_deferred();
    complete = *tensor;
    ACU_TRY(acu_tensor_map_check(__func__, buffer, &complete, &bits));
    ACU_TRY(check_device(__func__, buffer, &complete));
    acu_tensor_map *made = new_map(__func__, buffer);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->tensor = complete;
    made->bits = bits;
    int code = encode(made);
    if (code) {
        (void)acu_object_release(__func__, made, &acu_tensor_map_class);
        return acu_cuda_failed_on(__func__, buffer, code);
    }
    *map = made;
    return 0;
}

acu_result acu_tensor_map_wrap(acu_buffer *buffer, const void *raw, acu_tensor_map **map) {
    ACU_SCOPE();
    ACU_NEED_POINTER(map);
    *map = NULL;
    ACU_NEED(buffer, acu_buffer_class);
    ACU_NEED_POINTER(raw);
    acu_destroy_deferred();
    acu_tensor_map *made = new_map(__func__, buffer);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    memcpy(made->raw, raw, ACU_TENSOR_MAP_BYTES);
    *map = made;
    return 0;
}

acu_result acu_tensor_map_set_buffer(acu_tensor_map *map, acu_buffer *buffer) {
    ACU_SCOPE();
    ACU_NEED(map, acu_tensor_map_class);
    ACU_NEED(buffer, acu_buffer_class);
    const acu_buffer *before = map->image.memory;
    ACU_REQUIRE_OF(map, map->tensor.rank, ACU_ERROR_STATE,
                   "the map was wrapped, so that its shape is not known");
    ACU_REQUIRE_OF(map, buffer->object.device == map->image.object.device, ACU_ERROR_DEVICE,
                   "the map is on device %d, the buffer on device %d", map->image.object.device,
                   buffer->object.device);
    ACU_REQUIRE_OF(map, buffer->dtype == before->dtype, ACU_ERROR_DTYPE,
                   "the map is of %s, the buffer of %s", acu_dtype_name(before->dtype),
                   acu_dtype_name(buffer->dtype));
    ACU_TRY(acu_tensor_map_check_place(__func__, buffer, &map->tensor, map->bits));
    int code = acu_translate_driver(
        cuTensorMapReplaceAddress(map->raw, acu_tensor_map_address(buffer, &map->tensor)));
    if (code)
        return acu_cuda_failed_on(__func__, map, code);
    acu_buffer *old = map->image.memory;
    acu_buffer_keep_memory(buffer);
    map->image.memory = buffer;
    return acu_buffer_give_up_memory(__func__, old);
}

/* ---- properties ---- */

const void *acu_tensor_map_raw(const acu_tensor_map *map) {
    return acu_is(map, &acu_tensor_map_class) ? map->raw : NULL;
}

acu_device acu_tensor_map_device(const acu_tensor_map *map) {
    return acu_is(map, &acu_tensor_map_class) ? map->image.object.device : ACU_DEVICE_CURRENT;
}

acu_tensor_map *acu_tensor_map_retain(acu_tensor_map *map) {
    return acu_object_retain(__func__, map, &acu_tensor_map_class);
}

acu_result acu_tensor_map_release(acu_tensor_map *map) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, map, &acu_tensor_map_class);
}

void acu_tensor_map_cleanup(acu_tensor_map **map) {
    (void)acu_tensor_map_release(acu_take(map));
}

size_t acu_tensor_map_describe(const acu_tensor_map *map, char *text, size_t size) {
    return acu_object_describe_as(map, &acu_tensor_map_class, text, size);
}
