/*
 * Resources of graphics as the rest of the safe layer sees them.
 *
 * While a resource is mapped, the mapping is one storage: that of the memory of a buffer, or of all
 * arrays of an image, so that streams, captures and graphs treat it as they treat any other memory.
 * The resource has a buffer there, which no program sees, and what the program makes of the mapping
 * shares the storage. So the mapping is over, and can be unmapped, when that buffer is the only one
 * left; and if the resource goes first, the last one that goes unmaps.
 */
#ifndef ACU_SRC_GRAPHICS_H
#define ACU_SRC_GRAPHICS_H

#include <anycuda/graphics.h>

#include "safe/memory/buffer.h"

/* What CUDA knows of. The resource and its mapping are owners. */
typedef struct acu_registration {
    acu_object object;
    cudaGraphicsResource_t raw;
    acu_graphics_type type;
    bool owned; /* it is unregistered with the object */
} acu_registration;

struct acu_graphics {
    acu_object object;
    acu_registration *registration; /* with a reference */
    acu_graphics_source source;
    /* Under the lock of all mappings. */
    acu_buffer *mapping;  /* NULL: the resource is not mapped */
    acu_timeline *before; /* where the last mapping ended, with a reference; or NULL */
    uint64_t number;      /* of the end */
};

extern ACU_OURS const acu_class acu_graphics_class;

/* Return whether CUDA maps such a resource before it is used, whether as a buffer, and whether it
 * is OpenGL's. */
static inline bool acu_graphics_is_mappable(acu_graphics_type type) {
    return type != ACU_GRAPHICS_EGL_IMAGE;
}
static inline bool acu_graphics_is_buffer(acu_graphics_type type) {
    return type == ACU_GRAPHICS_GL_BUFFER;
}

static inline bool acu_graphics_is_gl(acu_graphics_type type) {
    return type == ACU_GRAPHICS_GL_BUFFER || type == ACU_GRAPHICS_GL_IMAGE;
}

/* Gives a failure that is recorded next the reason that it has in graphics as its hint. */
void acu_graphics_hint(acu_graphics_type type, int code);

/* Checks that a context of OpenGL is current in this thread, where the type needs one; returns 0 or
 * a recorded code. Without a context CUDA answers to registering what it answers to a wrong name,
 * and what it then refuses to unmap or to unregister is lost. */
int acu_graphics_need_context(acu_graphics_type type);

/* Lock the mappings of all resources: several are mapped at once. What fails meanwhile is shown to
 * the program's function for failures only after the unlocking, which returns `code`. */
void acu_graphics_lock(void);
int acu_graphics_unlock(int code);

#endif
