/*
 * Buffers and images of OpenGL, EGL and VDPAU, which CUDA maps as buffers and arrays.
 *
 * A resource is registered once, and mapped for each use: from the mapping on it is CUDA's, and
 * from the end of the mapping on the other API's again. What is made of a mapping are buffers and
 * arrays like all others, and a mapping cannot end before they are released.
 *
 * The thread that registers, maps, unmaps or releases a resource of OpenGL must have the context of
 * OpenGL current: else the call fails with 219 (cudaErrorInvalidGraphicsContext) and has done
 * nothing. No header of OpenGL, EGL or VDPAU is needed. Several threads may use a resource at once,
 * and retain and release it, as far as their contexts of OpenGL allow that.
 */
#ifndef ACU_GRAPHICS_H
#define ACU_GRAPHICS_H

#include <stdbool.h>
#include <stddef.h>

#include <anycuda/array.h>
#include <anycuda/buffer.h>

struct cudaGraphicsResource; /* what CUDA calls cudaGraphicsResource_t and CUgraphicsResource */

ACU_BEGIN_C

/** A registered buffer or image of another API. */
typedef struct acu_graphics acu_graphics;

/** What a resource is in the other API. */
typedef enum acu_graphics_type {
    ACU_GRAPHICS_GL_BUFFER = 1,           /* mapped as a buffer */
    ACU_GRAPHICS_GL_IMAGE = 2,            /* a texture or a renderbuffer; mapped as arrays */
    ACU_GRAPHICS_EGL_IMAGE = 3,           /* an EGLImage; mapped as an array for each plane */
    ACU_GRAPHICS_VDPAU_VIDEO_SURFACE = 4, /* mapped as four arrays: fields and planes */
    ACU_GRAPHICS_VDPAU_OUTPUT_SURFACE = 5 /* mapped as an array */
} acu_graphics_type;

/** What CUDA does with a resource, as bits, with CUDA's numbers (cudaGraphicsRegisterFlags). */
enum acu_graphics_flag {
    ACU_GRAPHICS_READ_ONLY = 0x1,     /* CUDA writes nothing */
    ACU_GRAPHICS_WRITE_DISCARD = 0x2, /* CUDA reads nothing, and writes everything */
    ACU_GRAPHICS_SURFACE = 0x4,       /* surfaces are made of its arrays */
    ACU_GRAPHICS_GATHER = 0x8         /* textures of its arrays gather */
};

/** A buffer or image that another API has. */
typedef struct acu_graphics_source {
    acu_graphics_type type;
    unsigned name;   /* OpenGL's name of the buffer, texture or renderbuffer; VDPAU's surface */
    unsigned target; /* of an image of OpenGL: GL_TEXTURE_2D, …; CUDA does not check it */
    void *image;     /* the EGLImage */
    unsigned flags;  /* acu_graphics_flag bits; 0: CUDA reads and writes */
} acu_graphics_source;

/** What is known of a resource. */
typedef struct acu_graphics_info {
    acu_device device;
    acu_graphics_source source; /* all zero but the type where it was wrapped or adopted */
    bool is_mapped;
    size_t bytes; /* of a buffer that is mapped; else 0 */
} acu_graphics_info;

/* ---- registering ---- */

/** Which devices acu_graphics_get_gl_devices() names, with CUDA's numbers (cudaGLDeviceList). */
typedef enum acu_graphics_gl_list {
    ACU_GRAPHICS_GL_ALL = 1,           /* those that the current context of OpenGL uses */
    ACU_GRAPHICS_GL_CURRENT_FRAME = 2, /* those that draw the current frame */
    ACU_GRAPHICS_GL_NEXT_FRAME = 3     /* those that will draw the next one */
} acu_graphics_gl_list;

/**
 * Asks which devices of CUDA's draw for the context of OpenGL that is current in this thread.
 *
 * `*count` is how many `devices` has room for, and becomes how many there are; `devices` may be
 * NULL. Errors: 219 where no context of OpenGL is current; ACU_NO_DEVICE where none of its devices
 * is CUDA's.
 */
ACU_CHECKED acu_result acu_graphics_get_gl_devices(acu_graphics_gl_list list, acu_device *devices,
                                                   size_t *count);

/**
 * Registers a buffer or image of another API on a device; the caller owns the new handle.
 *
 * Registering takes long: do it once, and map the resource for each use. The other API's object
 * must have its memory already (glBufferData(), glTexStorage2D()) and keep it; it must outlive the
 * registration. Errors: 219 where no context of OpenGL is current, 304 and 999 where the one that
 * is current is not this GPU's, and 999 where an EGLImage is none; ACU_ERROR_ARGUMENT where the
 * source is incomplete; 400 where there is no such object, 2 where a buffer has no memory, 1 where
 * CUDA takes no such format or target.
 */
ACU_CHECKED acu_result acu_graphics_register(acu_device device, const acu_graphics_source *source,
                                             acu_graphics **graphics);

/**
 * Makes a handle for a raw cudaGraphicsResource_t, which is not mapped and stays someone else's;
 * the caller owns the handle.
 *
 * The last release leaves the raw resource registered. It must live until then, and until all that
 * was made of its mapping is released.
 */
ACU_CHECKED acu_result acu_graphics_wrap(acu_device device, struct cudaGraphicsResource *raw,
                                         acu_graphics_type type, acu_graphics **graphics);

/**
 * Makes a handle that owns a raw cudaGraphicsResource_t, which is not mapped: the last release
 * unregisters it. If this call fails, the raw resource stays the caller's.
 */
ACU_CHECKED acu_result acu_graphics_adopt(acu_device device, struct cudaGraphicsResource *raw,
                                          acu_graphics_type type, acu_graphics **graphics);

/**
 * Returns the cudaGraphicsResource_t, which stays the handle's; NULL where the handle is not a
 * graphics resource.
 */
struct cudaGraphicsResource *acu_graphics_raw(const acu_graphics *graphics);

/** Adds an owner and returns the resource; NULL where the handle is not a graphics resource. */
acu_graphics *acu_graphics_retain(acu_graphics *graphics);

/**
 * Takes an owner away. The last release unmaps the resource, in the order of the stream that it was
 * mapped on, and unregisters it: both when the last buffer or array of the mapping is released.
 *
 * Where no context of OpenGL is current then, neither is done: 219 is returned, and the raw
 * resource stays CUDA's for good. Everything else is as for acu_stream_release().
 */
acu_result acu_graphics_release(acu_graphics *graphics);

void acu_graphics_cleanup(acu_graphics **graphics);

/** Writes one line that names the resource, as errors do; acu_stream_describe() has the rules. */
size_t acu_graphics_describe(const acu_graphics *graphics, char *text, size_t size);

/**
 * Returns the device that the resource was registered on; ACU_DEVICE_CURRENT where the handle is
 * not a graphics resource.
 */
acu_device acu_graphics_device(const acu_graphics *graphics);

/** Asks what is known of the resource. */
ACU_CHECKED acu_result acu_graphics_get_info(acu_graphics *graphics, acu_graphics_info *info);

/**
 * Changes what CUDA does with the resource from the next mapping on: ACU_GRAPHICS_READ_ONLY,
 * ACU_GRAPHICS_WRITE_DISCARD, or 0 for both reading and writing.
 *
 * Errors: ACU_ERROR_ARGUMENT where the flags are others; ACU_ERROR_STATE while the resource is
 * mapped, or where it is an EGL image, which has no such flags.
 */
ACU_CHECKED acu_result acu_graphics_set_map_flags(acu_graphics *graphics, unsigned flags);

/* ---- mapping ----
 *
 * Mapping and unmapping are work of a stream, and do not wait. What the other API was given before
 * a mapping is done before what the stream does after it; what it is given after an unmapping
 * begins when what the stream did before it is done. Mappings of one resource come one after the
 * other, on whatever streams. An EGL image is the exception: CUDA orders nothing there, and the
 * program waits for both APIs itself.
 */

/**
 * Maps a resource: from here on streams may use it, and the other API may not.
 *
 * Errors: ACU_ERROR_STATE where the resource is mapped; ACU_ERROR_DEVICE where the stream is on
 * another device; ACU_ERROR_CAPTURE where the stream is captured, because CUDA captures no mapping,
 * or while a capture is under way that the call would break; 219 where no context of OpenGL is
 * current.
 */
ACU_CHECKED acu_result acu_graphics_map(acu_graphics *graphics, acu_stream *stream);

/**
 * Maps several resources at once, which costs CUDA about as much as one. Where it fails none is
 * mapped. Errors: ACU_ERROR_ARGUMENT where there are none, or one of them twice; those of
 * acu_graphics_map().
 */
ACU_CHECKED acu_result acu_graphics_map_all(acu_graphics *const *graphics, size_t count,
                                            acu_stream *stream);

/**
 * Gives a resource back to the other API, after all uses of the mapping so far, on whatever stream.
 *
 * `on` is the stream to use, and NULL the one that the resource was mapped on. Errors:
 * ACU_ERROR_STATE where the resource is not mapped, or while buffers, arrays or mipmaps of the
 * mapping are there, or graphs, textures or surfaces that keep one; else those of
 * acu_graphics_map(). The resource stays mapped where this fails.
 */
ACU_CHECKED acu_result acu_graphics_unmap(acu_graphics *graphics, acu_stream *on);

/**
 * Gives several resources back at once; NULL as a stream is the one that the first of them was
 * mapped on. Where it fails all stay mapped. Errors: those of acu_graphics_map_all() and
 * acu_graphics_unmap().
 */
ACU_CHECKED acu_result acu_graphics_unmap_all(acu_graphics *const *graphics, size_t count,
                                              acu_stream *on);

/* ---- what is mapped ---- */

/**
 * Makes a buffer of `count` elements of a mapped buffer of OpenGL, from byte `at` on, or with
 * ACU_REST of all elements from there on; the caller owns the buffer, which belongs to the stream
 * of the mapping.
 *
 * The buffer's memory is ACU_MEMORY_DEVICE. Buffers of one mapping are ordered against each other,
 * as slices of one buffer are. Errors: ACU_ERROR_STATE where the resource is not mapped, or is
 * mapped as arrays; ACU_ERROR_RANGE where the elements are not inside of the resource;
 * ACU_ERROR_DTYPE where `dtype` is not a type, or where the address is not aligned for it.
 */
ACU_CHECKED acu_result acu_graphics_create_buffer(acu_graphics *graphics, size_t at,
                                                  acu_dtype dtype, size_t count,
                                                  acu_buffer **buffer);

/**
 * Makes an array of a part of a mapped image; the caller owns the array, which belongs to the
 * stream of the mapping.
 *
 * `index` is the layer of a layered texture, the face of a cube (0 is GL_TEXTURE_CUBE_MAP_POSITIVE_
 * X), the plane of an EGL image, or of a surface of VDPAU which of its arrays; else it is 0. Format
 * and extent are CUDA's answer, which has more levels than a texture that has several but not all.
 * Errors: ACU_ERROR_STATE where the resource is not mapped, or is mapped as a buffer;
 * ACU_ERROR_RANGE where an EGL image has no such plane or level; 1 where CUDA has no such part;
 * ACU_NOT_SUPPORTED where the planes of an EGL image are no arrays.
 */
ACU_CHECKED acu_result acu_graphics_create_array(acu_graphics *graphics, unsigned index,
                                                 unsigned level, acu_array **array);

/**
 * Makes a mipmap of a mapped texture of OpenGL, with all of its layers; the caller owns the mipmap,
 * which belongs to the stream of the mapping.
 *
 * `levels` is how many the texture has, which CUDA does not know: where that is more than one, it
 * takes as many as the extent allows, also such as are not there. CUDA copies no levels of a cube,
 * whose faces are arrays (acu_graphics_create_array()). Errors: ACU_ERROR_STATE where the resource
 * is not mapped, or is not an image of OpenGL; ACU_ERROR_RANGE where `levels` is 0; 1 where CUDA
 * has fewer levels.
 */
ACU_CHECKED acu_result acu_graphics_create_mipmap(acu_graphics *graphics, unsigned levels,
                                                  acu_mipmap **mipmap);

ACU_END_C

#endif
