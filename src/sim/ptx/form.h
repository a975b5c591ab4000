/* The spellings of instructions that do the same for each lane, independently of other lanes. */
#ifndef ACU_SIM_PTX_FORM_H
#define ACU_SIM_PTX_FORM_H

#include "sim/ptx/code.h"

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

/* Returns the handlers of forms for a level. */
ptx_handler *const *acu_ptx_lane_handlers(ptx_level level);

#endif
