/* What instructions on textures and on surfaces have in common. */
#ifndef ACU_SIM_PTX_TEXTURE_LOWER_H
#define ACU_SIM_PTX_TEXTURE_LOWER_H

#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"

/* Where an object's handle and a place in it are. */
typedef struct ptx_place_slots {
    ptx_geometry geometry;
    bool is_whole; /* coordinates are integers */
    unsigned dimensions;
    ptx_slot handle, layer, at[3];
} ptx_place_slots;

/* Takes the geometry of the opcode; refuses the instruction without one. */
ptx_geometry acu_ptx_take_geometry(ptx_lowering *lowering, ptx_words *words);
/* Returns how many numbers say where something is, without the layer. */
unsigned acu_ptx_dimensions(ptx_geometry geometry);
/* Returns the slot of the handle of the object that an operand names: [a] or [a, {x, y}]. */
ptx_slot acu_ptx_object_handle(ptx_lowering *lowering, const ptx_operand *operand);
/* Fills in the slots of [a, {layer, x, y, …}]; `geometry` and `is_whole` are set. */
void acu_ptx_place_slots(ptx_lowering *lowering, const ptx_operand *operand,
                         ptx_place_slots *slots);
/* Fills in the slots of {x, y, …}, or of x. */
void acu_ptx_vector_slots(ptx_lowering *lowering, const ptx_operand *operand, ptx_type type,
                          unsigned count, ptx_slot *slots);

/* Returns the object of a lane's handle; the kernel ends where there is none. */
const void *acu_ptx_object(ptx_warp *warp, const ptx_op *op, unsigned lane, uint64_t handle,
                           bool is_surface);

static inline uint32_t ptx_word_of(const ptx_warp *warp, ptx_slot slot, unsigned lane) {
    return ((const uint32_t *)ptx_at(warp, slot))[lane];
}

static inline uint64_t ptx_handle_of(const ptx_warp *warp, ptx_slot slot, unsigned lane) {
    return ((const uint64_t *)ptx_at(warp, slot))[lane];
}

#endif
