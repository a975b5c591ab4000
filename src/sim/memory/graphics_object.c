/*
 * Buffers and images of OpenGL, EGL and VDPAU. There is no such API here, so the program makes what
 * stands for its objects, by acu_sim_graphics_create(). Their bytes lie without gaps: pictures one
 * after the other, of each its levels, of these all layers.
 */
#include "sim/memory/graphics.h"

#include "sim/memory/array.h"
#include "sim/memory/memory.h"
#include "sim/stream/op.h"
#include "sim/stream/stream.h"

#include <stdlib.h>
#include <string.h>

static acu_sim_graphics *objects;
static __thread int current = -1; /* the device of the thread's context of OpenGL; -1: none */

/* ---- formats and shapes ---- */

/* OpenGL's numbers of the formats that CUDA takes: first of one channel, then of two and four. */
static const struct {
    unsigned gl[3];
    int bits;
    enum cudaChannelFormatKind kind;
} formats[] = {
    {{0x8229, 0x822B, 0x8058}, 8, cudaChannelFormatKindUnsigned},   /* GL_R8, GL_RG8, GL_RGBA8 */
    {{0x822A, 0x822C, 0x805B}, 16, cudaChannelFormatKindUnsigned},  /* GL_R16, … */
    {{0x822D, 0x822F, 0x881A}, 16, cudaChannelFormatKindFloat},     /* GL_R16F */
    {{0x822E, 0x8230, 0x8814}, 32, cudaChannelFormatKindFloat},     /* GL_R32F */
    {{0x8231, 0x8237, 0x8D8E}, 8, cudaChannelFormatKindSigned},     /* GL_R8I */
    {{0x8232, 0x8238, 0x8D7C}, 8, cudaChannelFormatKindUnsigned},   /* GL_R8UI */
    {{0x8233, 0x8239, 0x8D88}, 16, cudaChannelFormatKindSigned},    /* GL_R16I */
    {{0x8234, 0x823A, 0x8D76}, 16, cudaChannelFormatKindUnsigned},  /* GL_R16UI */
    {{0x8235, 0x823B, 0x8D82}, 32, cudaChannelFormatKindSigned},    /* GL_R32I */
    {{0x8236, 0x823C, 0x8D70}, 32, cudaChannelFormatKindUnsigned}}; /* GL_R32UI */

enum {
    GL_2D = 0x0DE1,
    GL_3D = 0x806F,
    GL_RECTANGLE = 0x84F5,
    GL_CUBE = 0x8513,
    GL_2D_ARRAY = 0x8C1A,
    GL_RENDERBUFFER = 0x8D41,
    GL_RGBA8 = 0x8058
};

static bool find_format(unsigned format, struct cudaChannelFormatDesc *desc) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (int k = 0; k < 3; k++) {
            const int bits = formats[i].bits;
            if (formats[i].gl[k] != format)
                continue;
            *desc = (struct cudaChannelFormatDesc){bits, k > 0 ? bits : 0, k > 1 ? bits : 0,
                                                   k > 1 ? bits : 0, formats[i].kind};
            return true;
        }
    return false;
}

/* Sets the extent, flags and layers for a target; returns false where it has no such extent. */
static bool shape_for(unsigned target, const acu_sim_graphics_object *o, acu_sim_picture *p) {
    p->extent = (struct cudaExtent){o->width, o->height, 0};
    p->layers = 1;
    switch (target) {
    case GL_2D:
    case GL_RECTANGLE:
    case GL_RENDERBUFFER:
        return true;
    case GL_3D:
        p->extent.depth = o->depth;
        return o->depth > 0;
    case GL_2D_ARRAY:
        p->flags = cudaArrayLayered;
        p->layers = (unsigned)(p->extent.depth = o->depth);
        return o->depth > 0;
    case GL_CUBE:
        p->flags = cudaArrayCubemap;
        p->layers = (unsigned)(p->extent.depth = 6);
        return o->width == o->height;
    default:
        return false;
    }
}

/* Returns the bytes of a level, of all layers. */
static size_t level_bytes(const acu_sim_picture *p, unsigned level) {
    const struct cudaExtent e = acu_sim_array_level_extent(&p->extent, p->flags, level);
    return acu_sim_array_format_size(&p->desc) * e.width * e.height * (e.depth ? e.depth : 1);
}

/* Adds a picture behind those that are there. */
static void add_picture(acu_sim_graphics *made, acu_sim_picture p) {
    p.at = made->size;
    for (unsigned i = 0; i < p.levels; i++)
        p.bytes += level_bytes(&p, i);
    made->size += p.bytes;
    made->pictures[made->picture_count++] = p;
}

/* A frame of video has 8 bits of luma, and for 2 x 2 of them two of chroma; its fields are apart.
 */
static void add_fields(acu_sim_graphics *made, const acu_sim_graphics_object *o) {
    for (int i = 0; i < 4; i++) {
        const bool luma = i < 2;
        add_picture(
            made, (acu_sim_picture){.desc = {8, luma ? 0 : 8, 0, 0, cudaChannelFormatKindUnsigned},
                                    .extent = {luma ? o->width : o->width / 2,
                                               luma ? o->height / 2 : o->height / 4, 0},
                                    .levels = 1,
                                    .layers = 1});
    }
}

/* Reads what the object is; returns false where there is no such thing. */
static bool read_object(const acu_sim_graphics_object *o, acu_sim_graphics *made) {
    acu_sim_picture p = {.levels = o->levels ? o->levels : 1};
    made->kind = o->kind;
    made->target = o->target ? o->target : GL_2D;
    if (o->kind == ACU_SIM_GL_BUFFER) {
        made->size = o->bytes;
        return true;
    }
    if (o->kind < ACU_SIM_GL_IMAGE || o->kind > ACU_SIM_VDPAU_OUTPUT_SURFACE || !o->width ||
        !o->height || !shape_for(made->target, o, &p) ||
        !find_format(o->format ? o->format : GL_RGBA8, &p.desc))
        return false;
    if (o->kind == ACU_SIM_VDPAU_VIDEO_SURFACE)
        add_fields(made, o);
    else
        add_picture(made, p);
    return true;
}

/* ---- life ---- */

void acu_sim_graphics_release(acu_sim_graphics *object) {
    if (--object->refs)
        return;
    acu_sim_memory_wait_for_moves();
    acu_sim_op_release(object->given_back);
    free(object->bytes);
    free(object);
}

unsigned acu_sim_graphics_create(const acu_sim_graphics_object *object) {
    static unsigned last_name;
    acu_sim_graphics *made = calloc(1, sizeof *made);
    if (!made || !read_object(object, made) ||
        !(made->bytes = calloc(1, made->size ? made->size : 1))) {
        free(made);
        return 0;
    }
    pthread_mutex_lock(&acu_sim_lock);
    made->refs = 1;
    made->name = ++last_name;
    made->next = objects;
    objects = made;
    pthread_mutex_unlock(&acu_sim_lock);
    return made->name;
}

static acu_sim_graphics **link_of(unsigned name) {
    acu_sim_graphics **link = &objects;
    while (*link && (*link)->name != name)
        link = &(*link)->next;
    return link;
}

acu_sim_graphics *acu_sim_graphics_of(unsigned name, acu_sim_graphics_kind kind) {
    acu_sim_graphics *found = *link_of(name);
    return found && found->kind == kind ? found : NULL;
}

void acu_sim_graphics_destroy(unsigned name) {
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_graphics **link = link_of(name), *gone = *link;
    if (gone) {
        *link = gone->next;
        acu_sim_graphics_release(gone);
    }
    pthread_mutex_unlock(&acu_sim_lock);
}

void acu_sim_graphics_make_current(int device) {
    current = device;
}

int acu_sim_graphics_current(void) {
    return current;
}

/* ---- the other API's accesses ---- */

/* Finds a part that has so many bytes; NULL where there is none. */
static char *find_part(const acu_sim_graphics *o, unsigned index, unsigned level, size_t size) {
    if (!o->picture_count)
        return index == 0 && level == 0 && size == o->size ? o->bytes : NULL;
    const bool one = o->picture_count == 1; /* the index is a layer then */
    if (!one && index >= o->picture_count)
        return NULL;
    const acu_sim_picture *p = &o->pictures[one ? 0 : index];
    if (level >= p->levels || (one && index >= p->layers) ||
        size != level_bytes(p, level) / p->layers)
        return NULL;
    size_t at = p->at;
    for (unsigned i = 0; i < level; i++)
        at += level_bytes(p, i);
    return o->bytes + at + (one ? index * size : 0);
}

/* Waits for what CUDA did before it gave the object back. The lock is given up meanwhile. */
static void wait_for_cuda(acu_sim_graphics *o) {
    acu_sim_op *op = o->given_back;
    if (!op)
        return;
    o->given_back = NULL;
    acu_sim_op_wait(op);
    acu_sim_op_release(op);
}

/* Copies a part from `from`, or where that is NULL to `to`. */
static int access_part(unsigned name, unsigned index, unsigned level, void *to, const void *from,
                       size_t size) {
    char *part = NULL;
    pthread_mutex_lock(&acu_sim_lock);
    acu_sim_graphics *o = *link_of(name);
    if (o && !o->mapped)
        part = find_part(o, index, level, size);
    if (part) {
        o->refs++; /* the wait gives up the lock */
        wait_for_cuda(o);
        memcpy(from ? part : to, from ? from : part, size);
        acu_sim_graphics_release(o);
    }
    pthread_mutex_unlock(&acu_sim_lock);
    return part ? 0 : -1;
}

int acu_sim_graphics_write(unsigned name, unsigned index, unsigned level, const void *bytes,
                           size_t size) {
    return access_part(name, index, level, NULL, bytes, size);
}

int acu_sim_graphics_read(unsigned name, unsigned index, unsigned level, void *bytes, size_t size) {
    return access_part(name, index, level, bytes, NULL, size);
}
