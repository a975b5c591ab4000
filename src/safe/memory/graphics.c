/* Resources of graphics: how they are registered and released, and what they are. */
#include "safe/memory/graphics.h"
#include "safe/base/device.h"

#include <anycuda/cudart_interop.h>

#include <limits.h>

/* ---- life ---- */

static int destroy_registration(acu_object *object) {
    const acu_registration *r = (const acu_registration *)object;
    acu_guard guard;
    if (!r->owned || acu_is_unloading())
        return 0;
    const int asked = acu_graphics_need_context(r->type);
    if (asked == cudaErrorInvalidGraphicsContext)
        return asked;
    int code = 0;
    const int entered = acu_guard_enter(&guard, object->device);
    ACU_IGNORING_CAPTURES(code, cudaGraphicsUnregisterResource(r->raw));
    acu_guard_leave(&guard);
    code = acu_forgive_unloading(code);
    return code ? code : entered ? entered : asked;
}

static const acu_class registration_class = {"registration", destroy_registration, NULL, NULL};

/* A resource owns nothing but its share of the mapping and the registration, which are delayed by
 * themselves. */
static int destroy_graphics(acu_object *object) {
    const acu_graphics *g = (const acu_graphics *)object;
    const int unmapped = acu_object_release(NULL, g->mapping, &acu_buffer_class);
    const int ended = acu_timeline_release(g->before);
    const int code = acu_object_release(NULL, g->registration, &registration_class);
    return unmapped ? unmapped : ended ? ended : code;
}

static const char *type_name(acu_graphics_type type) {
    static const char *const names[] = {"",          "OpenGL buffer",       "OpenGL image",
                                        "EGL image", "VDPAU video surface", "VDPAU output surface"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "";
}

static void describe_graphics(const acu_object *object, acu_description *d) {
    const acu_graphics *g = (const acu_graphics *)object;
    if (g->source.image)
        acu_describe(d, "%s %p", type_name(g->source.type), g->source.image);
    else if (g->source.name)
        acu_describe(d, "%s %u", type_name(g->source.type), g->source.name);
    else
        acu_describe(d, "%s", type_name(g->source.type));
    acu_describe(d, "raw %p", (void *)g->registration->raw);
    if (!g->registration->owned)
        acu_describe(d, "wrapped");
}

const acu_class acu_graphics_class = {"graphics resource", destroy_graphics, describe_graphics,
                                      acu_breaks_no_capture};

/* Makes a handle, and what it registers, whose raw resource the caller sets. */
static acu_graphics *new_graphics(const char *call, int device, acu_graphics_type type) {
    acu_graphics *made = acu_object_new(call, &acu_graphics_class, sizeof *made, device);
    if (!made)
        return NULL;
    made->registration =
        acu_object_new(call, &registration_class, sizeof *made->registration, device);
    if (!made->registration) {
        acu_object_discard(&made->object);
        return NULL;
    }
    made->source.type = made->registration->type = type;
    return made;
}

static void discard(acu_graphics *made) {
    acu_object_discard(&made->registration->object);
    acu_object_discard(&made->object);
}

/* ---- registering ---- */

static void hint_at_vdpau(int code) {
    if (code == cudaErrorUnknown || code == cudaErrorInvalidValue ||
        code == cudaErrorInvalidResourceHandle)
        acu_fail_hint("the surface must be alive, and of VDPAU's device that "
                      "cudaVDPAUSetVDPAUDevice() made this device use before its first use");
}

static void hint_at_egl(int code) {
    if (code == cudaErrorInvalidValue || code == cudaErrorUnknown ||
        code == cudaErrorInvalidResourceHandle)
        acu_fail_hint("the EGLImage must be alive, and of an EGL display of NVIDIA's on this GPU");
}

static void hint_at_gl(acu_graphics_type type, int code) {
    if (code == cudaErrorOperatingSystem || code == cudaErrorUnknown)
        acu_fail_hint(
            "the context of OpenGL that is current must be one of NVIDIA's driver on this "
            "GPU: acu_graphics_get_gl_devices() says on which one it draws");
    else if (code == cudaErrorInvalidResourceHandle)
        acu_fail_hint("the context of OpenGL that is current has no such %s",
                      acu_graphics_is_buffer(type) ? "buffer" : "texture or renderbuffer");
    else if (acu_graphics_is_buffer(type))
        acu_fail_hint("a buffer of OpenGL must have its memory, from glBufferData()");
    else if (code == cudaErrorInvalidValue)
        acu_fail_hint("an image of OpenGL must have its memory, from glTexStorage2D() or alike, "
                      "the target that it was made with, and a format of 8, 16 or 32 bits in each "
                      "channel");
}

void acu_graphics_hint(acu_graphics_type type, int code) {
    if (type == ACU_GRAPHICS_EGL_IMAGE)
        hint_at_egl(code);
    else if (acu_graphics_is_gl(type))
        hint_at_gl(type, code);
    else
        hint_at_vdpau(code);
}

int acu_graphics_need_context(acu_graphics_type type) {
    unsigned count = 0;
    if (!acu_graphics_is_gl(type))
        return 0;
    const int code = (int)cudaGLGetDevices(&count, NULL, 0, cudaGLDeviceListAll);
    if (code == cudaErrorDeviceUninitialized || code == cudaErrorInvalidGraphicsContext) {
        (void)cudaGetLastError(); /* it is not the program's */
        acu_fail_hint("call eglMakeCurrent() or glXMakeCurrent() in this thread first, with a "
                      "context of NVIDIA's driver");
        return acu_record(cudaErrorInvalidGraphicsContext,
                          "no context of OpenGL that CUDA knows is current in this thread");
    }
    if (code)
        acu_graphics_hint(type, code);
    return code;
}

static int check_type(const char *call, acu_graphics_type type) {
    return *type_name(type) ? 0
                            : acu_fail(call, "", ACU_ERROR_ARGUMENT,
                                       "the type is %d, which is no acu_graphics_type", (int)type);
}

static int check_flags(const char *call, const acu_graphics_source *s) {
    const unsigned both = (unsigned)ACU_GRAPHICS_READ_ONLY | (unsigned)ACU_GRAPHICS_WRITE_DISCARD;
    const unsigned of_images = (unsigned)ACU_GRAPHICS_SURFACE | (unsigned)ACU_GRAPHICS_GATHER;
    if (s->flags & ~(both | of_images))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.flags is 0x%x, which has more than acu_graphics_flag bits",
                        s->flags);
    if ((s->flags & both) == both)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.flags has ACU_GRAPHICS_READ_ONLY and ACU_GRAPHICS_WRITE_DISCARD: "
                        "CUDA can only read, or only write");
    if (acu_graphics_is_buffer(s->type) && s->flags & of_images)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.flags is 0x%x, but ACU_GRAPHICS_SURFACE and ACU_GRAPHICS_GATHER "
                        "are for arrays, and this is a buffer",
                        s->flags);
    return 0;
}

static int check_source(const char *call, const acu_graphics_source *s) {
    ACU_TRY(check_type(call, s->type));
    if (s->type == ACU_GRAPHICS_EGL_IMAGE && !s->image)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "source.image is NULL");
    if (acu_graphics_is_gl(s->type) && !s->name)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.name is 0, which is no object of OpenGL");
    if (s->type == ACU_GRAPHICS_GL_IMAGE && !s->target)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "source.target is 0: say what the image is, such as GL_TEXTURE_2D");
    return check_flags(call, s);
}

/* Asks CUDA to register what the source names; returns CUDA's code. */
static int register_source(const acu_graphics_source *s, cudaGraphicsResource_t *raw) {
    switch (s->type) {
    case ACU_GRAPHICS_GL_BUFFER:
        return (int)cudaGraphicsGLRegisterBuffer(raw, s->name, s->flags);
    case ACU_GRAPHICS_GL_IMAGE:
        return (int)cudaGraphicsGLRegisterImage(raw, s->name, s->target, s->flags);
    case ACU_GRAPHICS_EGL_IMAGE:
        return (int)cudaGraphicsEGLRegisterImage(raw, s->image, s->flags);
    case ACU_GRAPHICS_VDPAU_VIDEO_SURFACE:
        return (int)cudaGraphicsVDPAURegisterVideoSurface(raw, s->name, s->flags);
    case ACU_GRAPHICS_VDPAU_OUTPUT_SURFACE:
        return (int)cudaGraphicsVDPAURegisterOutputSurface(raw, s->name, s->flags);
    }
    return cudaErrorInvalidValue;
}

static int register_on(int device, const acu_graphics_source *s, cudaGraphicsResource_t *raw) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, device);
    if (!code)
        ACU_IGNORING_CAPTURES(code, register_source(s, raw));
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_graphics_register(acu_device device, const acu_graphics_source *source,
                                 acu_graphics **graphics) {
    ACU_SCOPE();
    ACU_NEED_POINTER(graphics);
    *graphics = NULL;
    ACU_NEED_POINTER(source);
    acu_destroy_deferred();
    ACU_TRY(check_source(__func__, source));
    ACU_TRY(acu_device_resolve(__func__, &device));
    ACU_TRY(acu_device_outcome(__func__, device, acu_graphics_need_context(source->type)));
    acu_graphics *made = new_graphics(__func__, device, source->type);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    const int code = register_on(device, source, &made->registration->raw);
    if (code) {
        discard(made);
        acu_graphics_hint(source->type, code);
        return acu_device_outcome(__func__, device, code);
    }
    made->source = *source;
    made->registration->owned = true;
    *graphics = made;
    return 0;
}

acu_result acu_graphics_get_gl_devices(acu_graphics_gl_list list, acu_device *devices,
                                       size_t *count) {
    ACU_SCOPE();
    unsigned found = 0;
    ACU_NEED_POINTER(count);
    const unsigned room = !devices ? 0 : *count < INT_MAX ? (unsigned)*count : INT_MAX;
    *count = 0;
    ACU_REQUIRE(list >= ACU_GRAPHICS_GL_ALL && list <= ACU_GRAPHICS_GL_NEXT_FRAME,
                ACU_ERROR_ARGUMENT, "'list' is %d, which is no acu_graphics_gl_list", (int)list);
    int code = acu_graphics_need_context(ACU_GRAPHICS_GL_IMAGE);
    if (code)
        return acu_cuda_failed(__func__, "", code);
    code = (int)cudaGLGetDevices(&found, devices, room, (enum cudaGLDeviceList)list);
    if (code) {
        hint_at_gl(ACU_GRAPHICS_GL_IMAGE, code);
        return acu_cuda_failed(__func__, "", code);
    }
    *count = found;
    return 0;
}

/* ---- handles for what is there ---- */

static int on_raw(const char *call, acu_device device, cudaGraphicsResource_t raw,
                  acu_graphics_type type, bool owned, acu_graphics **graphics) {
    if (graphics)
        *graphics = NULL;
    if (!graphics || !raw)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'%s' is NULL",
                        graphics ? "raw" : "graphics");
    ACU_TRY(check_type(call, type));
    ACU_TRY(acu_device_resolve(call, &device));
    acu_graphics *made = new_graphics(call, device, type);
    if (!made)
        return ACU_ERROR_HOST_MEMORY;
    made->registration->raw = raw;
    made->registration->owned = owned;
    *graphics = made;
    return 0;
}

acu_result acu_graphics_wrap(acu_device device, struct cudaGraphicsResource *raw,
                             acu_graphics_type type, acu_graphics **graphics) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, type, false, graphics);
}

acu_result acu_graphics_adopt(acu_device device, struct cudaGraphicsResource *raw,
                              acu_graphics_type type, acu_graphics **graphics) {
    ACU_SCOPE();
    return on_raw(__func__, device, raw, type, true, graphics);
}

struct cudaGraphicsResource *acu_graphics_raw(const acu_graphics *graphics) {
    return acu_is(graphics, &acu_graphics_class) ? graphics->registration->raw : NULL;
}

acu_graphics *acu_graphics_retain(acu_graphics *graphics) {
    return acu_object_retain(__func__, graphics, &acu_graphics_class);
}

acu_result acu_graphics_release(acu_graphics *graphics) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, graphics, &acu_graphics_class);
}

void acu_graphics_cleanup(acu_graphics **graphics) {
    (void)acu_graphics_release(acu_take(graphics));
}

size_t acu_graphics_describe(const acu_graphics *graphics, char *text, size_t size) {
    return acu_object_describe_as(graphics, &acu_graphics_class, text, size);
}

/* ---- what a resource is ---- */

acu_device acu_graphics_device(const acu_graphics *graphics) {
    return acu_is(graphics, &acu_graphics_class) ? graphics->object.device : ACU_DEVICE_CURRENT;
}

acu_result acu_graphics_get_info(acu_graphics *graphics, acu_graphics_info *info) {
    ACU_SCOPE();
    ACU_NEED_POINTER(info);
    *info = (acu_graphics_info){.device = ACU_DEVICE_CURRENT};
    ACU_NEED(graphics, acu_graphics_class);
    acu_graphics_lock();
    *info = (acu_graphics_info){.device = graphics->object.device,
                                .source = graphics->source,
                                .is_mapped = graphics->mapping != NULL,
                                .bytes = graphics->mapping ? graphics->mapping->count : 0};
    return acu_graphics_unlock(0);
}

static int set_flags(const acu_graphics *g, unsigned flags) {
    acu_guard guard;
    int code = acu_guard_enter(&guard, g->object.device);
    if (!code)
        code = (int)cudaGraphicsResourceSetMapFlags(g->registration->raw, flags);
    acu_guard_leave(&guard);
    return code;
}

acu_result acu_graphics_set_map_flags(acu_graphics *graphics, unsigned flags) {
    ACU_SCOPE();
    ACU_NEED(graphics, acu_graphics_class);
    ACU_REQUIRE_OF(graphics, flags <= ACU_GRAPHICS_WRITE_DISCARD, ACU_ERROR_ARGUMENT,
                   "'flags' is 0x%x: there are ACU_GRAPHICS_READ_ONLY, "
                   "ACU_GRAPHICS_WRITE_DISCARD, or 0 for both reading and writing",
                   flags);
    ACU_REQUIRE_OF(graphics, acu_graphics_is_mappable(graphics->source.type), ACU_ERROR_STATE,
                   "CUDA does not map EGL images, which have no such flags");
    acu_graphics_lock();
    const int code = graphics->mapping
                         ? acu_fail_on(__func__, graphics, ACU_ERROR_STATE,
                                       "it is mapped: acu_graphics_unmap() comes first")
                         : acu_outcome(__func__, graphics, set_flags(graphics, flags));
    return acu_graphics_unlock(code);
}
