/* What kernels read of textures, and read and write of surfaces. */
#include "sim/code/kernel_launch.h"
#include "sim/memory/sample.h"
#include "sim/memory/surface.h"

#include <math.h>
#include <string.h>

/* Returns the object, with the simulator's lock held, or ends the kernel. */
static const acu_sim_texture *begin_object(const acu_sim_launch *launch, unsigned long long handle,
                                           bool is_surface) {
    pthread_mutex_lock(&acu_sim_lock);
    const acu_sim_texture *object = acu_sim_texture_of(handle, is_surface);
    if (object)
        return object;
    pthread_mutex_unlock(&acu_sim_lock);
    acu_sim_kernel_end(launch, is_surface ? "no surface" : "no texture", handle);
}

static acu_sim_image begin(const acu_sim_launch *launch, unsigned long long handle) {
    acu_sim_image image;
    acu_sim_image_of(begin_object(launch, handle, false), &image);
    return image;
}

/* A texel whose memory is gone ends the kernel, as any illegal address does. */
static acu_sim_texel end(const acu_sim_launch *launch, acu_sim_texel texel) {
    const void *missing = acu_sim_image_take_missing();
    pthread_mutex_unlock(&acu_sim_lock);
    if (missing)
        acu_sim_kernel_end(launch, "the illegal address of a texel, where no memory is",
                           (unsigned long long)(uintptr_t)missing);
    return texel;
}

static acu_sim_place place_of(acu_sim_geometry geometry, unsigned layer, const float *at) {
    static const unsigned char counts[] = {[ACU_SIM_1D] = 1,          [ACU_SIM_2D] = 2,
                                           [ACU_SIM_3D] = 3,          [ACU_SIM_1D_LAYERED] = 1,
                                           [ACU_SIM_2D_LAYERED] = 2,  [ACU_SIM_CUBE] = 3,
                                           [ACU_SIM_CUBE_LAYERED] = 3};
    acu_sim_place place = {.geometry = geometry, .layer = layer};
    memcpy(place.at, at, counts[geometry] * sizeof *at);
    return place;
}

acu_sim_texel acu_sim_texture_sample(const acu_sim_launch *launch, unsigned long long texture,
                                     acu_sim_geometry geometry, unsigned layer, const float *at) {
    /* Below all levels: no bias counts where no level is named. */
    return acu_sim_texture_sample_level(launch, texture, geometry, layer, at, -INFINITY);
}

acu_sim_texel acu_sim_texture_sample_level(const acu_sim_launch *launch, unsigned long long texture,
                                           acu_sim_geometry geometry, unsigned layer,
                                           const float *at, float level) {
    const acu_sim_place place = place_of(geometry, layer, at);
    const acu_sim_image image = begin(launch, texture);
    return end(launch, acu_sim_sample_level(&image, &place, level));
}

acu_sim_texel acu_sim_texture_sample_grad(const acu_sim_launch *launch, unsigned long long texture,
                                          acu_sim_geometry geometry, unsigned layer,
                                          const float *at, const float *dx, const float *dy) {
    const acu_sim_place place = place_of(geometry, layer, at);
    const acu_sim_image image = begin(launch, texture);
    return end(launch, acu_sim_sample_grad(&image, &place, dx, dy));
}

acu_sim_texel acu_sim_texture_fetch(const acu_sim_launch *launch, unsigned long long texture,
                                    acu_sim_geometry geometry, unsigned layer, const int *at,
                                    int level) {
    static const unsigned char counts[] = {1, 2, 3, 1, 2};
    acu_sim_place place = {.geometry = geometry, .layer = layer};
    memcpy(place.texel, at, counts[geometry] * sizeof *at);
    const acu_sim_image image = begin(launch, texture);
    return end(launch, acu_sim_sample_fetch(&image, &place, level));
}

acu_sim_texel acu_sim_texture_gather(const acu_sim_launch *launch, unsigned long long texture,
                                     const float *at, unsigned component) {
    const acu_sim_place place = place_of(ACU_SIM_2D, 0, at);
    const acu_sim_image image = begin(launch, texture);
    return end(launch, acu_sim_sample_gather(&image, &place, component & 3));
}

/* ---- surfaces ---- */

/* Finds the bytes, with the lock held, or ends the kernel. */
static char *begin_access(const acu_sim_launch *launch, unsigned long long handle,
                          const acu_sim_access *access) {
    char *found = NULL;
    const acu_sim_texture *surface = begin_object(launch, handle, true);
    const acu_sim_array *array = acu_sim_array_of(surface->resource.res.array.array);
    const acu_sim_surface_found how =
        array ? acu_sim_surface_find(array, access, &found) : ACU_SIM_SURFACE_OUTSIDE;
    if (how == ACU_SIM_SURFACE_FOUND)
        return found;
    pthread_mutex_unlock(&acu_sim_lock);
    acu_sim_kernel_end(launch,
                       how == ACU_SIM_SURFACE_OUTSIDE
                           ? "a surface that is accessed beyond its edges"
                           : "a surface that is accessed between its "
                             "elements",
                       handle);
}

static acu_sim_access access_of(acu_sim_geometry geometry, unsigned layer, const int *at,
                                acu_sim_boundary boundary, size_t size) {
    static const unsigned char counts[] = {1, 2, 3, 1, 2, 2, 2};
    acu_sim_access access = {
        .geometry = geometry, .layer = layer, .boundary = boundary, .size = size};
    memcpy(access.at, at, counts[geometry] * sizeof *at);
    return access;
}

void acu_sim_surface_read(const acu_sim_launch *launch, unsigned long long surface,
                          acu_sim_geometry geometry, unsigned layer, const int *at,
                          acu_sim_boundary boundary, void *bytes, size_t size) {
    const acu_sim_access access = access_of(geometry, layer, at, boundary, size);
    const char *found = begin_access(launch, surface, &access);
    if (found)
        memcpy(bytes, found, size);
    else
        memset(bytes, 0, size);
    pthread_mutex_unlock(&acu_sim_lock);
}

void acu_sim_surface_write(const acu_sim_launch *launch, unsigned long long surface,
                           acu_sim_geometry geometry, unsigned layer, const int *at,
                           acu_sim_boundary boundary, const void *bytes, size_t size) {
    const acu_sim_access access = access_of(geometry, layer, at, boundary, size);
    char *found = begin_access(launch, surface, &access);
    if (found)
        memcpy(found, bytes, size);
    pthread_mutex_unlock(&acu_sim_lock);
}
