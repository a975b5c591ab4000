/* What textures and surfaces have in common. */
#ifndef ACU_SRC_IMAGE_H
#define ACU_SRC_IMAGE_H

#include "safe/memory/texture.h"

/* How CUDA makes the raw handle; `create` runs with the memory's device current. */
typedef struct acu_image_making {
    const char *call;
    const acu_class *kind;
    acu_buffer *memory;
    int (*create)(const void *data, unsigned long long *raw);
    const void *data;
} acu_image_making;

/* Returns 0, or a failure recorded for `call` where making one would break a capture. */
int acu_image_check_capture(const char *call);
/* Makes the raw handle and this one; returns 0, a negative code that is recorded for the call, or
 * CUDA's, which is not yet. */
int acu_image_create(const acu_image_making *making, acu_image **image);
/* Makes a handle for a raw one; returns 0 or a failure recorded for `call`. */
int acu_image_new(const char *call, const acu_class *kind, acu_buffer *memory,
                  unsigned long long raw, bool owned, acu_image **image);
/* Waits for all uses of the memory, and destroys the raw handle; as a class's destroy(). */
int acu_image_destroy(acu_image *image, int (*destroy)(unsigned long long raw));
void acu_image_describe(const acu_object *object, acu_description *d);

#endif
