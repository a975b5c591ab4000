/*
 * From a function to code. Each instruction becomes operations: the generic ones by their form
 * (form.h), the others by a function for their first word (lower_*.c). Whatever goes wrong jumps
 * out of the lowering, so nothing here returns errors.
 */
#ifndef ACU_SIM_PTX_LOWER_H
#define ACU_SIM_PTX_LOWER_H

#include "sim/ptx/arena.h"
#include "sim/ptx/code.h"
#include "sim/ptx/flow.h"
#include "sim/ptx/parse.h"
#include "sim/ptx/warp.h"

typedef struct ptx_lowering ptx_lowering;

/*
 * Makes the code of a kernel and of all functions that it may call. `watch` NULL: nothing is
 * watched. Returns PTX_OK; PTX_NO_MEMORY; PTX_INVALID for what ptxas refuses; PTX_NOT_SIMULATED for
 * an instruction that the simulator does not have; then `error` has a line. The caller frees the
 * code, but not before the module's.
 */
ptx_result acu_ptx_code_make(const ptx_module *module, const ptx_function *entry,
                             const ptx_watch *watch, ptx_code **made, ptx_error *error);

/* Returns the address that a pointer to the function of the module has. */
uint64_t acu_ptx_function_pointer(const ptx_module *module, const ptx_function *function);
/* Returns the function that the pointer points to; NULL: there is none. */
const ptx_function *acu_ptx_function_at(const ptx_module *module, uint64_t pointer);

/* ---- for who lowers an instruction ---- */

typedef void ptx_lower(ptx_lowering *lowering, const ptx_instruction *instruction);

/* Returns whether the instruction's function handles the guard itself. */
bool acu_ptx_lower_guards(const ptx_instruction *instruction);

/* Which operands an instruction writes. */
typedef enum ptx_writes {
    PTX_WRITES_ANY,     /* not known: all may be read and written */
    PTX_WRITES_NOTHING, /* it reads all of them */
    PTX_WRITES_FIRST,   /* the first one, or both of d|p */
    PTX_WRITES_AS_FORM, /* the results of its form */
} ptx_writes;
ptx_writes acu_ptx_lower_writes(const char *opcode);

/* Returns who lowers instructions that begin with the word; NULL: nobody does. */
ptx_lower *acu_ptx_lower_of(const char *opcode);

/* Adds an operation, which is valid until the next one is added: a plain one, or one that decides
 * where lanes go on. */
ptx_op *acu_ptx_emit(ptx_lowering *lowering, ptx_handler *handler);
ptx_op *acu_ptx_emit_flow(ptx_lowering *lowering, ptx_flow *flow);
/* Adds a plain operation that writes only its results, `size` bytes an element at `d` (0: a
 * predicate), and does not care which lanes are active: the lanes that are not keep what they had.
 */
ptx_op *acu_ptx_emit_pure(ptx_lowering *lowering, ptx_handler *handler, ptx_slot d, unsigned size);

/* Returns the slot with the operand's value, as elements of so many bytes; 0: a predicate.
 * Constants are converted to the type; a register must have that size. */
ptx_slot acu_ptx_source(ptx_lowering *lowering, const ptx_operand *operand, ptx_type type);
/* Returns the slot of the register that the operand is, or one that nobody reads for `_`. */
ptx_slot acu_ptx_target(ptx_lowering *lowering, const ptx_operand *operand, ptx_type type);
/* Refuses `_` as the result of the instruction. */
void acu_ptx_refuse_sink(ptx_lowering *lowering, const ptx_operand *operand);
/* Returns a slot that is free until the next instruction. */
ptx_slot acu_ptx_temp(ptx_lowering *lowering, unsigned size);
/* Returns the slot of a constant. */
ptx_slot acu_ptx_constant(ptx_lowering *lowering, uint64_t bits, unsigned size);
/* Returns a slot of zeroed state that the warp keeps, for `key`: the carry, for example. */
ptx_slot acu_ptx_state(ptx_lowering *lowering, unsigned key, unsigned size);
enum { PTX_STATE_CARRY, PTX_STATE_FENCED, PTX_STATE_COUNT };
/* Returns an element of a list; the operand itself if it is none. */
const ptx_operand *acu_ptx_element(const ptx_operand *operand, unsigned number);
/* Returns the bytes of the elements of the register that the operand is; 0: a predicate. */
unsigned acu_ptx_register_size(const ptx_lowering *lowering, const ptx_operand *operand);

struct ptx_form;
/* Adds the operation of a form: its results and its sources are in the slots. */
void acu_ptx_lower_form(ptx_lowering *lowering, const struct ptx_form *form, const ptx_slot *slots);

/* Returns the number of a new operation that accesses memory. */
uint32_t acu_ptx_site(ptx_lowering *lowering);
/* Returns zeroed memory that lives as long as the code. */
void *acu_ptx_lower_alloc(ptx_lowering *lowering, size_t size);
/* Returns the offset of a variable in the frame of the function that declares it: local ones, and
 * parameters of calls. */
uint32_t acu_ptx_frame_at(ptx_lowering *lowering, const ptx_variable *variable);
/* Returns whether the variable is a parameter of the kernel, whose bytes are constants of the
 * launch. */
bool acu_ptx_is_kernel_param(const ptx_lowering *lowering, const ptx_variable *variable);

/* What the instruction's opcode consists of. Who lowers it takes the words that it knows; a word
 * that is left is refused. */
typedef struct ptx_words {
    char text[128];
    const char *word[16];
    bool taken[16];
    unsigned count;
} ptx_words;

/* Splits the opcode at its dots; the first word is taken already. */
void acu_ptx_words(ptx_lowering *lowering, const ptx_instruction *instruction, ptx_words *words);
/* Takes the word; false if it is not there. "shared::cta" is a word. */
bool acu_ptx_take(ptx_words *words, const char *word);
/* Takes the word; refuses the instruction without it. */
void acu_ptx_need(ptx_lowering *lowering, ptx_words *words, const char *word);
/* Takes the first of the words, which blanks separate; returns its number, or -1. */
int acu_ptx_take_one(ptx_words *words, const char *choices);
/* Takes the last word that is a type; PTX_NONE if there is none. */
ptx_type acu_ptx_take_type(ptx_words *words);
/* Takes the state space; PTX_GENERIC if none is named. */
ptx_space acu_ptx_take_space(ptx_words *words);
/* Refuses the instruction if a word was not taken. */
void acu_ptx_words_end(ptx_lowering *lowering, const ptx_words *words);

/* Ends the lowering: the instruction is wrong, or is not simulated. */
_Noreturn void acu_ptx_invalid(ptx_lowering *lowering, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The operands are not those of the instruction. */
_Noreturn void acu_ptx_mismatch(ptx_lowering *lowering);
_Noreturn void acu_ptx_not_simulated(ptx_lowering *lowering, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns the first word of the opcode, as ptxas names instructions, until the next call. */
const char *acu_ptx_first_word(ptx_lowering *lowering);

/* Lowers a call of a function of CUDA's device runtime; false if it has none of the name. */
bool acu_ptx_lower_device_call(ptx_lowering *lowering, const ptx_instruction *instruction,
                               const ptx_function *function, const ptx_operand *results,
                               const ptx_operand *params);

/* Lowers an instruction by its form; refuses it if there is none. */
ptx_lower acu_ptx_lower_by_form;

/* The parts of the instruction set. */
ptx_lower acu_ptx_lower_activemask, acu_ptx_lower_async, acu_ptx_lower_createpolicy,
    acu_ptx_lower_atom, acu_ptx_lower_barrier, acu_ptx_lower_branch, acu_ptx_lower_brx,
    acu_ptx_lower_call, acu_ptx_lower_cp, acu_ptx_lower_cvt, acu_ptx_lower_cvta,
    acu_ptx_lower_elect, acu_ptx_lower_exit, acu_ptx_lower_fence, acu_ptx_lower_getctarank,
    acu_ptx_lower_isspacep, acu_ptx_lower_ldmatrix, acu_ptx_lower_matrix_access, acu_ptx_lower_mma,
    acu_ptx_lower_movmatrix, acu_ptx_lower_stmatrix, acu_ptx_lower_wmma, acu_ptx_lower_mapa,
    acu_ptx_lower_mbarrier, acu_ptx_lower_load, acu_ptx_lower_lop3, acu_ptx_lower_match,
    acu_ptx_lower_brkpt, acu_ptx_lower_mov, acu_ptx_lower_multimem, acu_ptx_lower_nothing,
    acu_ptx_lower_redux, acu_ptx_lower_query, acu_ptx_lower_suld, acu_ptx_lower_sured,
    acu_ptx_lower_sust, acu_ptx_lower_tensormap, acu_ptx_lower_tex, acu_ptx_lower_tld4,
    acu_ptx_lower_return, acu_ptx_lower_set, acu_ptx_lower_setp, acu_ptx_lower_shfl,
    acu_ptx_lower_store, acu_ptx_lower_trap, acu_ptx_lower_video, acu_ptx_lower_vote,
    acu_ptx_lower_wgmma, acu_ptx_lower_setmaxnreg, acu_ptx_lower_alloca, acu_ptx_lower_stacksave,
    acu_ptx_lower_stackrestore, acu_ptx_lower_istypep;

/* Returns whether the instruction is st.async or red.async, which acu_ptx_lower_async() lowers. */
bool acu_ptx_is_async(const ptx_instruction *instruction);

/* Lowers barrier.cluster, whose first words are taken. */
void acu_ptx_lower_cluster_barrier(ptx_lowering *lowering, const ptx_instruction *instruction,
                                   ptx_words *words);

#endif
