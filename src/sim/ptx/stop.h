/*
 * Places at which a warp stops, so that a person can look at it. Code that is lowered with such a
 * place has an operation there; its registers share no slots, so that each one has its value.
 */
#ifndef ACU_SIM_PTX_STOP_H
#define ACU_SIM_PTX_STOP_H

#include "sim/ptx/code.h"
#include "sim/ptx/warp.h"

#include <stdio.h>

/* A register of the function that something may have written before the place. */
typedef struct ptx_stop_register {
    const ptx_register *reg;
    ptx_type type; /* its own; of one that is declared as bits, that by which it is used */
    ptx_slot slot;
    unsigned size; /* bytes of an element; 0: a predicate */
} ptx_stop_register;

/* A place; `more` of its operation. */
typedef struct ptx_stop {
    const ptx_instruction *instruction; /* which is next */
    const ptx_function *function;
    ptx_stop_register *registers; /* in the order in which they are declared */
    unsigned count;
} ptx_stop;

/* Where a warp has stopped, in one line. `kernel` is the kernel's name. */
void acu_ptx_stop_write_where(FILE *file, const ptx_warp *warp, const ptx_stop *stop,
                              const char *kernel);
/* Which lanes are active, which are elsewhere, which have ended. */
void acu_ptx_stop_write_mask(FILE *file, const ptx_warp *warp);
/* What each warp of the block does, in lines; `stop` is where this one is. */
void acu_ptx_stop_write_warps(FILE *file, const ptx_warp *warp, const ptx_stop *stop);
/* The register's name as in the PTX, "%r12"; and the values of the active lanes: one where they are
 * equal, else of each lane, in rows; or, shortly, the first one and by how much they grow. */
void acu_ptx_stop_write_name(FILE *file, const ptx_stop_register *reg);
void acu_ptx_stop_write_lanes(FILE *file, const ptx_warp *warp, const ptx_stop_register *reg);
void acu_ptx_stop_write_shortly(FILE *file, const ptx_warp *warp, const ptx_stop_register *reg);

struct ptx_lowering;
/* Adds the operation that stops before the nth instruction of the function, if that is wanted. */
void acu_ptx_stop_before(struct ptx_lowering *lowering, const ptx_function *function, uint32_t nth);

enum { PTX_PLACE_TEXT = 1024 };
/* Writes "ld.f32 in line 3 of the PTX (/code/sum.cu:7)", as far as it is known and there is room.
 * Of what was inlined the line of the function that is read comes first: "(sum.cu:7, by a.h:9)". */
void acu_ptx_stop_name_place(const ptx_module *module, const ptx_instruction *instruction,
                             char *text, size_t size);

#endif
