/* Who lowers the instructions that have no form. */
#include "sim/ptx/lower_inside.h"

#include <string.h>

static const struct {
    const char *word;
    ptx_lower *lower;
    bool guards; /* it handles the guard itself */
} lowered[] = {
    {"activemask", acu_ptx_lower_activemask, false},
    {"applypriority", acu_ptx_lower_nothing, false},
    {"atom", acu_ptx_lower_atom, false},
    {"bar", acu_ptx_lower_barrier, false},
    {"barrier", acu_ptx_lower_barrier, false},
    {"bra", acu_ptx_lower_branch, true},
    {"brkpt", acu_ptx_lower_nothing, false},
    {"brx", acu_ptx_lower_brx, false},
    {"call", acu_ptx_lower_call, false},
    {"cvt", acu_ptx_lower_cvt, false},
    {"cvta", acu_ptx_lower_cvta, false},
    {"discard", acu_ptx_lower_nothing, false},
    {"elect", acu_ptx_lower_elect, false},
    {"exit", acu_ptx_lower_exit, true},
    {"fence", acu_ptx_lower_fence, false},
    {"isspacep", acu_ptx_lower_isspacep, false},
    {"ld", acu_ptx_lower_load, false},
    {"ldu", acu_ptx_lower_load, false},
    {"lop3", acu_ptx_lower_lop3, false},
    {"match", acu_ptx_lower_match, false},
    {"membar", acu_ptx_lower_fence, false},
    {"mov", acu_ptx_lower_mov, false},
    {"nanosleep", acu_ptx_lower_nothing, false},
    {"pmevent", acu_ptx_lower_nothing, false},
    {"prefetch", acu_ptx_lower_nothing, false},
    {"prefetchu", acu_ptx_lower_nothing, false},
    {"red", acu_ptx_lower_atom, false},
    {"redux", acu_ptx_lower_redux, false},
    {"ret", acu_ptx_lower_return, true},
    {"set", acu_ptx_lower_set, false},
    {"setp", acu_ptx_lower_setp, false},
    {"shfl", acu_ptx_lower_shfl, false},
    {"st", acu_ptx_lower_store, false},
    {"trap", acu_ptx_lower_trap, false},
    {"vabsdiff", acu_ptx_lower_video, false},
    {"vabsdiff2", acu_ptx_lower_video, false},
    {"vabsdiff4", acu_ptx_lower_video, false},
    {"vadd", acu_ptx_lower_video, false},
    {"vadd2", acu_ptx_lower_video, false},
    {"vadd4", acu_ptx_lower_video, false},
    {"vavrg2", acu_ptx_lower_video, false},
    {"vavrg4", acu_ptx_lower_video, false},
    {"vmad", acu_ptx_lower_video, false},
    {"vmax", acu_ptx_lower_video, false},
    {"vmax2", acu_ptx_lower_video, false},
    {"vmax4", acu_ptx_lower_video, false},
    {"vmin", acu_ptx_lower_video, false},
    {"vmin2", acu_ptx_lower_video, false},
    {"vmin4", acu_ptx_lower_video, false},
    {"vset", acu_ptx_lower_video, false},
    {"vset2", acu_ptx_lower_video, false},
    {"vset4", acu_ptx_lower_video, false},
    {"vshl", acu_ptx_lower_video, false},
    {"vshr", acu_ptx_lower_video, false},
    {"vsub", acu_ptx_lower_video, false},
    {"vsub2", acu_ptx_lower_video, false},
    {"vsub4", acu_ptx_lower_video, false},
    {"vote", acu_ptx_lower_vote, false},
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
