/* Textures and surfaces as the rest of the safe layer sees them. */
#ifndef ACU_SRC_TEXTURE_H
#define ACU_SRC_TEXTURE_H

#include <anycuda/texture.h>

#include "safe/memory/array.h"

/* What a texture and a surface are: a raw handle, and the memory behind it. */
typedef struct acu_image {
    acu_object object;
    unsigned long long raw;
    acu_buffer *memory; /* with a reference */
    bool owned;         /* the raw handle is destroyed with this one */
} acu_image;

struct acu_texture {
    acu_image image;
};

struct acu_surface {
    acu_image image;
};

/* A program that makes no textures does not link their functions: then these are NULL. */
extern ACU_OURS const acu_class acu_texture_class __attribute__((weak));
extern ACU_OURS const acu_class acu_surface_class __attribute__((weak));

#endif
