/* What the simulator has in OpenGL's place. */
#include "gl.h"

#include <anycuda/sim.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int current_device;

static void need(bool well, const char *what) {
    if (well)
        return;
    printf("the simulated OpenGL cannot %s\n", what);
    exit(1);
}

static void make_current(bool current) {
    acu_sim_graphics_make_current(current ? current_device : -1);
}

static const char *open_simulated(int device) {
    current_device = device;
    make_current(true);
    return NULL;
}

static void finish(void) {}

static void close_simulated(void) {
    make_current(false);
}

static const char *name(void) {
    return "the simulator";
}

static unsigned new_buffer(size_t bytes) {
    return acu_sim_graphics_create(
        &(acu_sim_graphics_object){.kind = ACU_SIM_GL_BUFFER, .bytes = bytes});
}

static void write_buffer(unsigned buffer, const void *bytes, size_t size) {
    need(acu_sim_graphics_write(buffer, 0, 0, bytes, size) == 0, "write the buffer");
}

static void read_buffer(unsigned buffer, void *bytes, size_t size) {
    need(acu_sim_graphics_read(buffer, 0, 0, bytes, size) == 0, "read the buffer");
}

static void copy_buffer(unsigned to, unsigned from, size_t size) {
    void *bytes = malloc(size);
    need(bytes != NULL, "allocate");
    read_buffer(from, bytes, size);
    write_buffer(to, bytes, size);
    free(bytes);
}

static unsigned new_object(acu_sim_graphics_kind kind, const gl_shape *s) {
    return acu_sim_graphics_create(&(acu_sim_graphics_object){.kind = kind,
                                                              .target = s->target,
                                                              .format = s->format,
                                                              .width = s->width,
                                                              .height = s->height,
                                                              .depth = s->depth,
                                                              .levels = s->levels});
}

static unsigned new_image(const gl_shape *shape) {
    return new_object(ACU_SIM_GL_IMAGE, shape);
}

/* The slices of three dimensions are one part, layers are one each. */
static void access_level(unsigned image, const gl_shape *s, unsigned level, char *to,
                         const char *from) {
    const bool whole = s->target == GL_IMAGE_3D;
    const unsigned parts = whole ? 1 : (unsigned)s->depth;
    const size_t size = 4 * (whole ? gl_level_count(s, level) : gl_layer_count(s, level));
    for (unsigned i = 0; i < parts; i++)
        need((to ? acu_sim_graphics_read(image, i, level, to + i * size, size)
                 : acu_sim_graphics_write(image, i, level, from + i * size, size)) == 0,
             "access the image");
}

static void write_level(unsigned image, const gl_shape *shape, unsigned level, const void *bytes) {
    access_level(image, shape, level, NULL, bytes);
}

static void read_level(unsigned image, const gl_shape *shape, unsigned level, void *bytes) {
    access_level(image, shape, level, bytes, NULL);
}

static void *new_egl_image(const gl_shape *shape, unsigned *image) {
    *image = new_object(ACU_SIM_EGL_IMAGE, shape);
    return (void *)(uintptr_t)*image;
}

static void read_egl_image(unsigned image, const gl_shape *shape, void *bytes) {
    access_level(image, shape, 0, bytes, NULL);
}

static void delete_egl_image(void *egl_image, unsigned image) {
    (void)egl_image;
    acu_sim_graphics_destroy(image);
}

const gl_api gl_simulated = {open_simulated,
                             close_simulated,
                             name,
                             make_current,
                             finish,
                             new_buffer,
                             write_buffer,
                             read_buffer,
                             copy_buffer,
                             acu_sim_graphics_destroy,
                             new_image,
                             write_level,
                             read_level,
                             acu_sim_graphics_destroy,
                             new_egl_image,
                             read_egl_image,
                             delete_egl_image};
