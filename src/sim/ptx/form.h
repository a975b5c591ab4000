/* The spellings of instructions that do the same for each lane, independently of other lanes. */
#ifndef ACU_SIM_PTX_FORM_H
#define ACU_SIM_PTX_FORM_H

#include "sim/ptx/code.h"

/* Whether the loops are there for several levels of the processor. One source file of all cannot
 * have that, and what is compiled for one processor (-march=native) needs none. */
#if defined(__x86_64__) && !defined(ACU_AMALGAMATED) && !defined(PTX_ONE_LEVEL)
#define PTX_HAS_LEVELS
#endif

/* One spelling: add.sat.s32. The results come first among the types. */
typedef struct ptx_form {
    const char *opcode;
    uint16_t handler; /* its number in acu_ptx_lane_handlers() */
    uint8_t results, sources;
    bool reads_carry, writes_carry;
    uint8_t types[6]; /* ptx_type */
} ptx_form;

/* In the order of their opcodes. */
extern const ptx_form acu_ptx_forms[];
extern const size_t acu_ptx_form_count;

/* Returns whether a form's first word is the first `length` characters of the opcode. */
bool acu_ptx_form_begins(const char *opcode, size_t length);
/* Returns the form with the opcode; NULL: there is none, which may be because the instruction is of
 * another kind. */
const ptx_form *acu_ptx_form_find(const char *opcode);

/* Returns which instructions the processor has: 4 or 3 for x86-64-v4 or x86-64-v3, else 1. */
int acu_ptx_processor_level(void);
/* Returns the handlers of forms for this processor. */
ptx_handler *const *acu_ptx_lane_handlers(void);

#endif
