/* Graphics: what other APIs have, and what of it CUDA has registered. */
#ifndef ACU_SIM_MEMORY_GRAPHICS_H
#define ACU_SIM_MEMORY_GRAPHICS_H

#include "sim/noun.h"
#include "sim/sim.h"

#include <anycuda/sim.h>

enum { SIM_PICTURES = 4 }; /* an object has at most, each with levels and layers of its own */

/* What CUDA sees as one mipmapped array. */
typedef struct acu_sim_picture {
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent; /* as CUDA has it: 0 where there is no such dimension */
    unsigned flags;           /* cudaArrayLayered, cudaArrayCubemap */
    unsigned levels, layers;
    size_t at, bytes; /* where its elements are in the object */
} acu_sim_picture;

/* A buffer or image of another API. */
typedef struct acu_sim_graphics {
    unsigned refs; /* one of the program's, and one of each registration */
    unsigned name;
    acu_sim_graphics_kind kind;
    unsigned target;
    acu_sim_picture pictures[SIM_PICTURES];
    unsigned picture_count; /* 0: a buffer */
    char *bytes;
    size_t size;
    unsigned mapped;        /* how many registrations of it are mapped */
    acu_sim_op *given_back; /* what ends with CUDA's use, with a reference; NULL: nothing */
    struct acu_sim_graphics *next;
} acu_sim_graphics;

/* Returns the object with the name; NULL if there is none of the kind. */
acu_sim_graphics *acu_sim_graphics_of(unsigned name, acu_sim_graphics_kind kind);
/* Gives up a reference; the last one frees the object. */
void acu_sim_graphics_release(acu_sim_graphics *object);

/* Returns the device of the context of OpenGL that is current in the calling thread; -1: none. */
int acu_sim_graphics_current(void);

extern const acu_sim_noun acu_sim_graphics_noun;

#endif
