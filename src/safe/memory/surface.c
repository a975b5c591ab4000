/* Surfaces: how kernels read and write arrays. */
#include "safe/memory/image.h"

static int destroy_raw(unsigned long long raw) {
    return (int)cudaDestroySurfaceObject(raw);
}

static int destroy_surface(acu_object *object) {
    return acu_image_destroy((acu_image *)object, destroy_raw);
}

const acu_class acu_surface_class = {"surface", destroy_surface, acu_image_describe, NULL};

static int create_raw(const void *data, unsigned long long *raw) {
    const acu_array *array = data;
    const struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray,
                                              .res = {.array = {array->raw}}};
    return (int)cudaCreateSurfaceObject(raw, &resource);
}

acu_result acu_surface_create(acu_array *array, acu_surface **surface) {
    ACU_SCOPE();
    acu_image *image = NULL;
    ACU_NEED_POINTER(surface);
    *surface = NULL;
    ACU_NEED(array, acu_array_class);
    ACU_REQUIRE_OF(array, acu_has(array->shape.flags, (unsigned)ACU_ARRAY_SURFACE), ACU_ERROR_STATE,
                   "the array was not made with ACU_ARRAY_SURFACE");
    ACU_TRY(acu_image_check_capture(__func__));
    const acu_image_making making = {__func__, &acu_surface_class, array->shape.memory, create_raw,
                                     array};
    const int code = acu_image_create(&making, &image);
    *surface = (acu_surface *)image;
    return code > 0 ? acu_cuda_failed_on(__func__, array, code) : code;
}

static int on_raw(const char *call, unsigned long long raw, acu_array *array, bool owned,
                  acu_surface **surface) {
    acu_image *image = NULL;
    if (!surface)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'surface' is NULL");
    *surface = NULL;
    if (!raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'raw' is 0, which is no surface");
    if (!acu_is(array, &acu_array_class))
        return acu_object_refuse(call, array, &acu_array_class);
    ACU_TRY(acu_image_new(call, &acu_surface_class, array->shape.memory, raw, owned, &image));
    *surface = (acu_surface *)image;
    return 0;
}

acu_result acu_surface_wrap(unsigned long long raw, acu_array *array, acu_surface **surface) {
    ACU_SCOPE();
    return on_raw(__func__, raw, array, false, surface);
}

acu_result acu_surface_adopt(unsigned long long raw, acu_array *array, acu_surface **surface) {
    ACU_SCOPE();
    return on_raw(__func__, raw, array, true, surface);
}

acu_surface *acu_surface_retain(acu_surface *surface) {
    return acu_object_retain(__func__, surface, &acu_surface_class);
}

acu_result acu_surface_release(acu_surface *surface) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, surface, &acu_surface_class);
}

void acu_surface_cleanup(acu_surface **surface) {
    (void)acu_surface_release(acu_take(surface));
}

size_t acu_surface_describe(const acu_surface *surface, char *text, size_t size) {
    return acu_object_describe_as(surface, &acu_surface_class, text, size);
}

unsigned long long acu_surface_raw(const acu_surface *surface) {
    return acu_is(surface, &acu_surface_class) ? surface->image.raw : 0;
}

acu_device acu_surface_device(const acu_surface *surface) {
    return acu_is(surface, &acu_surface_class) ? surface->image.object.device : ACU_DEVICE_CURRENT;
}
