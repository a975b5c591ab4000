/*
 * A real OpenGL without a window: EGL on the device that CUDA uses (EGL_EXT_platform_device), and a
 * context without a surface. All functions come from libEGL.so.1, which need not be there.
 */
#include "gl.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- EGL's and OpenGL's types, numbers and functions ---- */

typedef void *egl_handle; /* EGLDisplay, EGLContext, EGLConfig, EGLDeviceEXT, EGLImage */
typedef int32_t egl_int;
typedef unsigned egl_bool;

enum {
    EGL_END = 0x3038,      /* EGL_NONE, which ends a list */
    EGL_SURFACES = 0x3033, /* EGL_SURFACE_TYPE */
    EGL_PBUFFER = 1,
    EGL_RENDERABLE = 0x3040,
    EGL_OPENGL = 8,
    EGL_OPENGL_API_NUMBER = 0x30A2,
    EGL_MAJOR = 0x3098,
    EGL_MINOR = 0x30FB,
    EGL_PLATFORM_DEVICE = 0x313F,
    EGL_CUDA_DEVICE = 0x323A, /* of EGL_NV_device_cuda: CUDA's ordinal of an EGL device */
    EGL_IMAGE_OF_2D = 0x30B1  /* EGL_GL_TEXTURE_2D_KHR */
};

enum {
    GL_ARRAY = 0x8892,   /* GL_ARRAY_BUFFER */
    GL_READ = 0x8F36,    /* GL_COPY_READ_BUFFER */
    GL_WRITE = 0x8F37,   /* GL_COPY_WRITE_BUFFER */
    GL_DYNAMIC = 0x88E8, /* GL_DYNAMIC_DRAW */
    GL_RENDERER = 0x1F01,
    GL_FRAMEBUFFER_TARGET = 0x8D40,
    GL_FIRST_COLOR = 0x8CE0, /* GL_COLOR_ATTACHMENT0 */
    GL_RGBA = 0x1908,
    GL_RED = 0x1903,
    GL_RED_INTEGER = 0x8D94,
    GL_UNSIGNED_BYTE = 0x1401,
    GL_UNSIGNED_INT = 0x1405,
    GL_FLOAT = 0x1406,
    GL_FIRST_FACE = 0x8515 /* GL_TEXTURE_CUBE_MAP_POSITIVE_X */
};

/* Each function: its name, what it returns, and its parameters. */
#define EGL_FUNCTIONS(X)                                                                           \
    X(eglQueryDevicesEXT, egl_bool, (egl_int room, egl_handle * devices, egl_int * count))         \
    X(eglQueryDeviceAttribEXT, egl_bool, (egl_handle device, egl_int what, intptr_t *value))       \
    X(eglGetPlatformDisplayEXT, egl_handle, (unsigned kind, egl_handle device, const egl_int *))   \
    X(eglInitialize, egl_bool, (egl_handle display, egl_int * major, egl_int * minor))             \
    X(eglTerminate, egl_bool, (egl_handle display))                                                \
    X(eglBindAPI, egl_bool, (unsigned api))                                                        \
    X(eglChooseConfig, egl_bool,                                                                   \
      (egl_handle display, const egl_int *wanted, egl_handle *configs, egl_int room,               \
       egl_int *count))                                                                            \
    X(eglCreateContext, egl_handle,                                                                \
      (egl_handle display, egl_handle config, egl_handle share, const egl_int *wanted))            \
    X(eglDestroyContext, egl_bool, (egl_handle display, egl_handle context))                       \
    X(eglMakeCurrent, egl_bool,                                                                    \
      (egl_handle display, egl_handle draw, egl_handle read, egl_handle context))                  \
    X(eglGetError, egl_int, (void))                                                                \
    X(eglCreateImageKHR, egl_handle,                                                               \
      (egl_handle display, egl_handle context, unsigned target, egl_handle buffer,                 \
       const egl_int *wanted))                                                                     \
    X(eglDestroyImageKHR, egl_bool, (egl_handle display, egl_handle image))

#define GL_FUNCTIONS(X)                                                                            \
    X(glGetString, const char *, (unsigned what))                                                  \
    X(glGetError, unsigned, (void))                                                                \
    X(glFinish, void, (void))                                                                      \
    X(glGenBuffers, void, (int count, unsigned *names))                                            \
    X(glDeleteBuffers, void, (int count, const unsigned *names))                                   \
    X(glBindBuffer, void, (unsigned target, unsigned name))                                        \
    X(glBufferData, void, (unsigned target, ptrdiff_t size, const void *bytes, unsigned usage))    \
    X(glBufferSubData, void, (unsigned target, ptrdiff_t at, ptrdiff_t size, const void *bytes))   \
    X(glGetBufferSubData, void, (unsigned target, ptrdiff_t at, ptrdiff_t size, void *bytes))      \
    X(glCopyBufferSubData, void,                                                                   \
      (unsigned from, unsigned to, ptrdiff_t from_at, ptrdiff_t to_at, ptrdiff_t size))            \
    X(glGenTextures, void, (int count, unsigned *names))                                           \
    X(glDeleteTextures, void, (int count, const unsigned *names))                                  \
    X(glBindTexture, void, (unsigned target, unsigned name))                                       \
    X(glTexStorage2D, void, (unsigned target, int levels, unsigned format, int width, int height)) \
    X(glTexStorage3D, void,                                                                        \
      (unsigned target, int levels, unsigned format, int width, int height, int depth))            \
    X(glTexSubImage2D, void,                                                                       \
      (unsigned target, int level, int x, int y, int width, int height, unsigned format,           \
       unsigned type, const void *bytes))                                                          \
    X(glTexSubImage3D, void,                                                                       \
      (unsigned target, int level, int x, int y, int z, int width, int height, int depth,          \
       unsigned format, unsigned type, const void *bytes))                                         \
    X(glGenFramebuffers, void, (int count, unsigned *names))                                       \
    X(glDeleteFramebuffers, void, (int count, const unsigned *names))                              \
    X(glBindFramebuffer, void, (unsigned target, unsigned name))                                   \
    X(glFramebufferTexture2D, void,                                                                \
      (unsigned target, unsigned at, unsigned kind, unsigned texture, int level))                  \
    X(glReadPixels, void,                                                                          \
      (int x, int y, int width, int height, unsigned format, unsigned type, void *bytes))          \
    X(glGetTexImage, void,                                                                         \
      (unsigned target, int level, unsigned format, unsigned type, void *bytes))

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration */
#define DECLARE(name, result, parameters) static result(*name) parameters;
EGL_FUNCTIONS(DECLARE)
GL_FUNCTIONS(DECLARE)
/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- opening ---- */

static egl_handle display, context;
static char why_not[256];

static void *library;
static void *(*get_address)(const char *name);

static const char *cannot(const char *what) {
    snprintf(why_not, sizeof why_not, "%s (EGL's error is 0x%x)", what,
             eglGetError ? (unsigned)eglGetError() : 0u);
    return why_not;
}

/* Sets a pointer to the function; returns whether there is one. EGL's own are in the library. */
static bool find(const char *name, void *pointer) {
    void *found = dlsym(library, name);
    if (!found)
        found = get_address(name);
    memcpy(pointer, &found, sizeof found);
    return found != NULL;
}

static const char *find_functions(void) {
#define FIND(name, result, parameters)                                                             \
    if (!find(#name, &(name)))                                                                     \
        return #name "() is missing in this EGL";
    EGL_FUNCTIONS(FIND)
    GL_FUNCTIONS(FIND)
    return NULL;
}

/* Finds the EGL device that is this one of CUDA's. */
static const char *find_device(int ordinal, egl_handle *device) {
    egl_handle devices[32];
    egl_int count = 0;
    if (!eglQueryDevicesEXT(32, devices, &count) || count == 0)
        return cannot(
            "EGL has no devices: is its driver installed, and named in glvnd/egl_vendor.d "
            "or __EGL_VENDOR_LIBRARY_FILENAMES?");
    for (egl_int i = 0; i < count; i++) {
        intptr_t number = -1;
        if (eglQueryDeviceAttribEXT(devices[i], EGL_CUDA_DEVICE, &number) && number == ordinal) {
            *device = devices[i];
            return NULL;
        }
    }
    return cannot("no device of EGL is CUDA's: its driver is another one's, such as Mesa's");
}

static const char *make_context(egl_handle device) {
    static const egl_int wanted[] = {EGL_SURFACES, EGL_PBUFFER, EGL_RENDERABLE, EGL_OPENGL,
                                     EGL_END};
    static const egl_int version[] = {EGL_MAJOR, 4, EGL_MINOR, 3, EGL_END};
    egl_handle config = NULL;
    egl_int major, minor, count = 0;
    display = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE, device, NULL);
    if (!display || !eglInitialize(display, &major, &minor))
        return cannot("EGL opens no display on the device");
    if (!eglBindAPI(EGL_OPENGL_API_NUMBER) ||
        !eglChooseConfig(display, wanted, &config, 1, &count) || count == 0)
        return cannot("EGL has no configuration with OpenGL");
    context = eglCreateContext(display, config, NULL, version);
    if (!context || !eglMakeCurrent(display, NULL, NULL, context))
        return cannot("EGL makes no context of OpenGL 4.3 current without a surface");
    return NULL;
}

static const char *open_real(int device) {
    egl_handle of_egl = NULL;
    library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return "there is no libEGL.so.1 (libglvnd)";
    void *found = dlsym(library, "eglGetProcAddress");
    memcpy(&get_address, &found, sizeof found);
    const char *why = found ? find_functions() : "libEGL.so.1 has no eglGetProcAddress()";
    if (!why)
        why = find_device(device, &of_egl);
    return why ? why : make_context(of_egl);
}

static void make_current(bool current) {
    if (!eglMakeCurrent(display, NULL, NULL, current ? context : NULL))
        printf("eglMakeCurrent() failed\n");
}

static void finish(void) {
    glFinish();
}

static void close_real(void) {
    make_current(false);
    eglDestroyContext(display, context);
    eglTerminate(display);
}

static const char *name(void) {
    return glGetString(GL_RENDERER);
}

static void check(const char *what) {
    const unsigned error = glGetError();
    if (!error)
        return;
    printf("OpenGL's error is 0x%x: %s\n", error, what);
    exit(1);
}

/* ---- buffers ---- */

static unsigned new_buffer(size_t bytes) {
    unsigned made = 0;
    glGenBuffers(1, &made);
    glBindBuffer(GL_ARRAY, made);
    if (bytes)
        glBufferData(GL_ARRAY, (ptrdiff_t)bytes, NULL, GL_DYNAMIC);
    check("a new buffer");
    return made;
}

static void write_buffer(unsigned buffer, const void *bytes, size_t size) {
    glBindBuffer(GL_ARRAY, buffer);
    glBufferSubData(GL_ARRAY, 0, (ptrdiff_t)size, bytes);
    check("writing a buffer");
}

static void read_buffer(unsigned buffer, void *bytes, size_t size) {
    glBindBuffer(GL_ARRAY, buffer);
    glGetBufferSubData(GL_ARRAY, 0, (ptrdiff_t)size, bytes);
    check("reading a buffer");
}

static void copy_buffer(unsigned to, unsigned from, size_t size) {
    glBindBuffer(GL_READ, from);
    glBindBuffer(GL_WRITE, to);
    glCopyBufferSubData(GL_READ, GL_WRITE, 0, 0, (ptrdiff_t)size);
    check("copying a buffer");
}

static void delete_buffer(unsigned buffer) {
    glDeleteBuffers(1, &buffer);
}

/* ---- images ---- */

static bool has_slices(const gl_shape *s) {
    return s->target == GL_IMAGE_3D || s->target == GL_IMAGE_2D_ARRAY;
}

static unsigned new_image(const gl_shape *s) {
    unsigned made = 0;
    glGenTextures(1, &made);
    glBindTexture(s->target, made);
    if (has_slices(s))
        glTexStorage3D(s->target, (int)s->levels, s->format, (int)s->width, (int)s->height,
                       (int)s->depth);
    else if (s->levels)
        glTexStorage2D(s->target, (int)s->levels, s->format, (int)s->width, (int)s->height);
    check("a new image");
    return made;
}

/* How the program's memory has the elements: 4 bytes each. */
static unsigned format_of(const gl_shape *s) {
    return s->format == GL_FORMAT_R32UI  ? GL_RED_INTEGER
           : s->format == GL_FORMAT_R32F ? GL_RED
                                         : GL_RGBA;
}

static unsigned type_of(const gl_shape *s) {
    return s->format == GL_FORMAT_R32UI  ? GL_UNSIGNED_INT
           : s->format == GL_FORMAT_R32F ? GL_FLOAT
                                         : GL_UNSIGNED_BYTE;
}

static void write_level(unsigned image, const gl_shape *s, unsigned level, const void *bytes) {
    const int width = (int)gl_side(s->width, level), height = (int)gl_side(s->height, level);
    const size_t face = 4 * gl_layer_count(s, level);
    glBindTexture(s->target, image);
    if (has_slices(s))
        glTexSubImage3D(s->target, (int)level, 0, 0, 0, width, height, (int)gl_layers(s, level),
                        format_of(s), type_of(s), bytes);
    else if (s->target != GL_IMAGE_CUBE)
        glTexSubImage2D(s->target, (int)level, 0, 0, width, height, format_of(s), type_of(s),
                        bytes);
    else
        for (unsigned i = 0; i < 6; i++)
            glTexSubImage2D(GL_FIRST_FACE + i, (int)level, 0, 0, width, height, format_of(s),
                            type_of(s), (const char *)bytes + i * face);
    check("writing an image");
}

static void read_level(unsigned image, const gl_shape *s, unsigned level, void *bytes) {
    const size_t face = 4 * gl_layer_count(s, level);
    glBindTexture(s->target, image);
    if (s->target != GL_IMAGE_CUBE)
        glGetTexImage(s->target, (int)level, format_of(s), type_of(s), bytes);
    else
        for (unsigned i = 0; i < 6; i++)
            glGetTexImage(GL_FIRST_FACE + i, (int)level, format_of(s), type_of(s),
                          (char *)bytes + i * face);
    check("reading an image");
}

static void delete_image(unsigned image) {
    glDeleteTextures(1, &image);
}

static void *new_egl_image(const gl_shape *shape, unsigned *image) {
    static const egl_int nothing[] = {EGL_END};
    *image = new_image(shape);
    glFinish();
    return eglCreateImageKHR(display, context, EGL_IMAGE_OF_2D, (egl_handle)(uintptr_t)*image,
                             nothing);
}

/* Reads by way of a framebuffer: what CUDA writes into an EGL image, glGetTexImage() of its texture
 * does not see (driver 580). */
static void read_egl_image(unsigned image, const gl_shape *s, void *bytes) {
    unsigned made = 0;
    glGenFramebuffers(1, &made);
    glBindFramebuffer(GL_FRAMEBUFFER_TARGET, made);
    glFramebufferTexture2D(GL_FRAMEBUFFER_TARGET, GL_FIRST_COLOR, s->target, image, 0);
    glReadPixels(0, 0, (int)s->width, (int)s->height, format_of(s), type_of(s), bytes);
    glBindFramebuffer(GL_FRAMEBUFFER_TARGET, 0);
    glDeleteFramebuffers(1, &made);
    check("reading an image of EGL");
}

static void delete_egl_image(void *egl_image, unsigned image) {
    if (egl_image)
        eglDestroyImageKHR(display, egl_image);
    delete_image(image);
}

const gl_api gl_real = {open_real,      close_real,      name,        make_current, finish,
                        new_buffer,     write_buffer,    read_buffer, copy_buffer,  delete_buffer,
                        new_image,      write_level,     read_level,  delete_image, new_egl_image,
                        read_egl_image, delete_egl_image};
