/*
 * OpenGL as the tests use it: a real one, without a window, or what the simulator has in its place.
 *
 * No header of OpenGL or EGL is needed: the real one is opened at run time, and the few types and
 * numbers of it are written in gl.c.
 */
#ifndef GL_H
#define GL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    GL_NO_TARGET = 0,
    GL_IMAGE_2D = 0x0DE1,
    GL_IMAGE_3D = 0x806F,
    GL_IMAGE_CUBE = 0x8513,
    GL_IMAGE_2D_ARRAY = 0x8C1A,
    GL_FORMAT_RGBA8 = 0x8058,
    GL_FORMAT_R32F = 0x822E,
    GL_FORMAT_R32UI = 0x8236
};

/* An image, whose depth is that of three dimensions or the number of layers; of a cube 6. */
typedef struct gl_shape {
    unsigned target, format;
    size_t width, height, depth; /* depth: at least 1 */
    unsigned levels;
} gl_shape;

typedef struct gl_api {
    /* Makes a context on a device of CUDA's current; returns why that cannot be, or NULL. */
    const char *(*open)(int device);
    void (*close)(void);
    const char *(*name)(void);
    void (*make_current)(bool current);
    void (*finish)(void); /* waits for all that OpenGL was given */

    /* Buffers; 0 bytes: one without memory. */
    unsigned (*new_buffer)(size_t bytes);
    void (*write_buffer)(unsigned buffer, const void *bytes, size_t size);
    void (*read_buffer)(unsigned buffer, void *bytes, size_t size);
    /* Copies all of a buffer without waiting, where OpenGL can. */
    void (*copy_buffer)(unsigned to, unsigned from, size_t size);
    void (*delete_buffer)(unsigned buffer);

    /* Images, level by level: all layers, without gaps. Elements have 4 bytes. */
    unsigned (*new_image)(const gl_shape *shape);
    void (*write_level)(unsigned image, const gl_shape *shape, unsigned level, const void *bytes);
    void (*read_level)(unsigned image, const gl_shape *shape, unsigned level, void *bytes);
    void (*delete_image)(unsigned image);
    /* Makes an image of EGL of a new image of two dimensions, which has one level; NULL where EGL
     * makes none. */
    void *(*new_egl_image)(const gl_shape *shape, unsigned *image);
    /* Reads all of its image. */
    void (*read_egl_image)(unsigned image, const gl_shape *shape, void *bytes);
    void (*delete_egl_image)(void *egl_image, unsigned image);
} gl_api;

extern const gl_api gl_real, gl_simulated;

/* The elements of a level, of one layer, and how many layers it has. */
static inline size_t gl_side(size_t side, unsigned level) {
    return side >> level ? side >> level : 1;
}
static inline size_t gl_layers(const gl_shape *shape, unsigned level) {
    return shape->target == GL_IMAGE_3D ? gl_side(shape->depth, level) : shape->depth;
}
static inline size_t gl_layer_count(const gl_shape *shape, unsigned level) {
    return gl_side(shape->width, level) * gl_side(shape->height, level);
}
static inline size_t gl_level_count(const gl_shape *shape, unsigned level) {
    return gl_layer_count(shape, level) * gl_layers(shape, level);
}

#endif
