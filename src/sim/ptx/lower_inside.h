/* The state of a lowering, which only lower*.c know. */
#ifndef ACU_SIM_PTX_LOWER_INSIDE_H
#define ACU_SIM_PTX_LOWER_INSIDE_H

#include "sim/ptx/lower.h"

#include <setjmp.h>

/* Code of one function. */
typedef struct ptx_lowered {
    const ptx_function *function;
    ptx_slot *slots;       /* of each register; UINT32_MAX: none yet */
    bool *done;            /* instructions that need no operation: their results are constants */
    ptx_code_slot *places; /* the slots that registers share, and their sizes */
    uint32_t place_count;
    uint64_t *needed; /* for each block, the bits of the slots that are needed where it begins */
    uint32_t *op_of;  /* the first operation of each instruction, and of the end */
    ptx_flow_graph *flow;
    uint32_t frame; /* bytes used */
    uint32_t slots_used;
    bool calls_itself;
    bool looked_at, may_spin; /* whether a loop that calls it may wait for other threads */
} ptx_lowered;

struct ptx_lowering {
    const ptx_module *module;
    ptx_code *code;
    ptx_arena *arena;
    ptx_lowered *functions; /* as many as code->functions */
    uint32_t function_room;
    uint32_t current; /* the function that is lowered */
    const ptx_instruction *instruction;
    uint32_t op_room, constant_room, special_room, counted_room;
    uint32_t *constant_hash; /* numbers of constants, and 1; 0: empty */
    uint32_t hash_size;
    uint32_t temp_used; /* bytes of temporary values */
    bool trial;         /* whether the instruction needs operations is found out */
    bool validates; /* whether the instruction is right is found out; what it needs has no place */
    char first_word[32]; /* of the opcode, for errors */
    ptx_slot state[PTX_STATE_COUNT];
    bool has_state[PTX_STATE_COUNT];
    ptx_error *error;
    ptx_result result;
    jmp_buf end;
};

/* Functions' addresses: the window, and 16 for each function of the module. */
#define PTX_FUNCTION_WINDOW UINT64_C(0x0001020000000000)

/* Returns the slot of a register of the current function. */
ptx_slot acu_ptx_register_slot(ptx_lowering *lowering, unsigned number);
/* Returns the number of the function in the code, and adds the function if it is not there yet. */
uint32_t acu_ptx_function_number(ptx_lowering *lowering, const ptx_function *function);
/* Returns a slot in the warp's bank. */
ptx_slot acu_ptx_add_slot(ptx_lowering *lowering, unsigned size);
/* Returns the slot of the address of a variable in its space, 64 bits. */
ptx_slot acu_ptx_address_of(ptx_lowering *lowering, ptx_variable *variable);
/* Returns where the generic addresses of a space begin; 0: of global memory, and of no space. */
uint64_t acu_ptx_window_of(ptx_space space);
/* Returns the slot of a special register that stays the same while a block runs. */
ptx_slot acu_ptx_special(ptx_lowering *lowering, const ptx_operand *operand, unsigned size);

/* Whether a special register may be read as so many bytes (0: a predicate); is the same in a whole
 * launch; in a block; or is a clock, that changes
 * while it is read. */
bool acu_ptx_special_has_size(ptx_special special, size_t size);
bool acu_ptx_special_is_constant(ptx_special special);
bool acu_ptx_special_is_of_block(ptx_special special);
bool acu_ptx_special_is_clock(ptx_special special);
/* Returns a temporary slot with the clock's value. */
ptx_slot acu_ptx_clock(ptx_lowering *lowering, const ptx_operand *operand, unsigned size);
/* Returns a slot with the address, in the local space, of a variable in the frame of the function.
 */
ptx_slot acu_ptx_frame_address(ptx_lowering *lowering, const ptx_variable *variable,
                               uint64_t offset, unsigned size);
/* Returns a slot with bytes of the kernel's parameters, extended to the register's size. */
ptx_slot acu_ptx_param_as(ptx_lowering *lowering, uint64_t offset, unsigned size,
                          unsigned register_size, bool is_signed);
/* Refuses a register whose type ptxas does not take for the type that an instruction wants. */
void acu_ptx_check_type(ptx_lowering *lowering, const ptx_operand *operand, ptx_type type);
/* Copies `size` bytes of each lane, or a predicate, from `a` to `d`. */
extern ptx_handler acu_ptx_copy_all;
/* The handlers of conversions between sizes of integers, and of parts of values. */
extern ptx_handler acu_ptx_resize, acu_ptx_take_part, acu_ptx_put_two;
/* Gives the register of `size` bytes the value that is in the slot. A register that never has
 * another value, which does not change while the warp runs, lies in that slot from then on. */
void acu_ptx_emit_copy(ptx_lowering *lowering, unsigned number, unsigned size, ptx_slot from);

/* Returns the array, which is outside of the arena, with room for one more element. */
void *acu_ptx_grow(ptx_lowering *lowering, void *array, uint32_t count, uint32_t *room,
                   size_t size);

/* Turns branches over a few operations into guards, of all operations from `begin` on. */
void acu_ptx_guard_short(ptx_lowering *lowering, uint32_t begin);
/* Stands for an operation that is not needed. */
extern ptx_handler acu_ptx_nothing;

/* Ends the lowering: there is no memory. */
_Noreturn void acu_ptx_end_without_memory(ptx_lowering *lowering);
/* Lowers an instruction, without its guard. */
void acu_ptx_lower_one(ptx_lowering *lowering, const ptx_instruction *instruction);
/* Lowers the function `current`. */
void acu_ptx_lower_function(ptx_lowering *lowering);

/* Lets .sync operations whose masks lie in registers end the kernel where a mask does not name a
 * lane that executes it. */
void acu_ptx_name_syncs(ptx_lowering *lowering);
/* Puts what checks do before each .sync operation, if the code has checks. */
void acu_ptx_check_syncs(ptx_lowering *lowering);

/* Returns what runs a pure operation of results of that size with a mask. */
ptx_handler *acu_ptx_masked(unsigned size);
bool acu_ptx_is_masked(ptx_handler *handler);
/* Makes `op` do the plain operation `inner`, which lives as long as the code, for the lanes for
 * which the guard is true. */
void acu_ptx_guard(ptx_op *op, const ptx_op *inner, ptx_slot guard, bool negated);
bool acu_ptx_is_guarded(ptx_handler *handler);

#endif
