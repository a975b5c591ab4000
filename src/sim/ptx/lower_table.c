/* Who lowers the instructions that have no form. */
#include "sim/ptx/lower_inside.h"

#include <string.h>

static const struct {
    const char *word;
    ptx_lower *lower;
    bool guards; /* it handles the guard itself */
} lowered[] = {
    {"bar", acu_ptx_lower_barrier, false},
    {"barrier", acu_ptx_lower_barrier, false},
    {"bra", acu_ptx_lower_branch, true},
    {"brx", acu_ptx_lower_brx, false},
    {"call", acu_ptx_lower_call, false},
    {"cvta", acu_ptx_lower_cvta, false},
    {"exit", acu_ptx_lower_exit, true},
    {"isspacep", acu_ptx_lower_isspacep, false},
    {"ld", acu_ptx_lower_load, false},
    {"ldu", acu_ptx_lower_load, false},
    {"mov", acu_ptx_lower_mov, false},
    {"pmevent", acu_ptx_lower_nothing, false},
    {"prefetch", acu_ptx_lower_nothing, false},
    {"prefetchu", acu_ptx_lower_nothing, false},
    {"ret", acu_ptx_lower_return, true},
    {"st", acu_ptx_lower_store, false},
    {"trap", acu_ptx_lower_trap, false},
};

/* Returns the number of the row for the opcode; -1 if there is none. */
static int row_of(const char *opcode) {
    size_t length = strcspn(opcode, ".");
    for (size_t n = 0; n < sizeof lowered / sizeof *lowered; n++)
        if (strlen(lowered[n].word) == length && memcmp(lowered[n].word, opcode, length) == 0)
            return (int)n;
    return -1;
}

ptx_lower *acu_ptx_lower_of(const char *opcode) {
    int n = row_of(opcode);
    return n < 0 ? NULL : lowered[n].lower;
}

bool acu_ptx_lower_guards(const ptx_instruction *i) {
    int n = row_of(i->opcode);
    return n >= 0 && lowered[n].guards;
}
