/* Who lowers the instructions that have no form. */
#include "sim/ptx/lower_inside.h"

#include <stdlib.h>
#include <string.h>

typedef struct lowering_row {
    const char *word; /* the first of the opcode, or the first two */
    ptx_lower *lower;
    bool guards; /* it handles the guard itself */
    ptx_writes writes;
} lowering_row;

/* Sorted by the words. */
static const lowering_row rows[] = {
    {"activemask", acu_ptx_lower_activemask, false, PTX_WRITES_FIRST},
    {"alloca", acu_ptx_lower_alloca, false, PTX_WRITES_FIRST},
    {"applypriority", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"atom", acu_ptx_lower_atom, false, PTX_WRITES_FIRST},
    {"bar", acu_ptx_lower_barrier, false, PTX_WRITES_ANY},
    {"barrier", acu_ptx_lower_barrier, false, PTX_WRITES_ANY},
    {"bra", acu_ptx_lower_branch, true, PTX_WRITES_NOTHING},
    {"brkpt", acu_ptx_lower_brkpt, false, PTX_WRITES_NOTHING},
    {"brx", acu_ptx_lower_brx, false, PTX_WRITES_NOTHING},
    {"call", acu_ptx_lower_call, false, PTX_WRITES_ANY},
    {"cp", acu_ptx_lower_cp, false, PTX_WRITES_NOTHING},
    {"createpolicy", acu_ptx_lower_createpolicy, false, PTX_WRITES_FIRST},
    {"cvt", acu_ptx_lower_cvt, false, PTX_WRITES_FIRST},
    {"cvta", acu_ptx_lower_cvta, false, PTX_WRITES_FIRST},
    {"discard", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"elect", acu_ptx_lower_elect, false, PTX_WRITES_FIRST},
    {"exit", acu_ptx_lower_exit, true, PTX_WRITES_NOTHING},
    {"fence", acu_ptx_lower_fence, false, PTX_WRITES_NOTHING},
    {"getctarank", acu_ptx_lower_getctarank, false, PTX_WRITES_FIRST},
    {"griddepcontrol", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"isspacep", acu_ptx_lower_isspacep, false, PTX_WRITES_FIRST},
    {"istypep", acu_ptx_lower_istypep, false, PTX_WRITES_FIRST},
    {"ld", acu_ptx_lower_load, false, PTX_WRITES_FIRST},
    {"ldmatrix", acu_ptx_lower_ldmatrix, false, PTX_WRITES_FIRST},
    {"ldu", acu_ptx_lower_load, false, PTX_WRITES_FIRST},
    {"lop3", acu_ptx_lower_lop3, false, PTX_WRITES_FIRST},
    {"mapa", acu_ptx_lower_mapa, false, PTX_WRITES_FIRST},
    {"match", acu_ptx_lower_match, false, PTX_WRITES_FIRST},
    {"mbarrier", acu_ptx_lower_mbarrier, false, PTX_WRITES_ANY},
    {"membar", acu_ptx_lower_fence, false, PTX_WRITES_NOTHING},
    {"mma", acu_ptx_lower_mma, false, PTX_WRITES_FIRST},
    {"mov", acu_ptx_lower_mov, false, PTX_WRITES_FIRST},
    {"movmatrix", acu_ptx_lower_movmatrix, false, PTX_WRITES_FIRST},
    {"multimem", acu_ptx_lower_multimem, false, PTX_WRITES_ANY},
    {"nanosleep", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"pmevent", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"prefetch", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"prefetchu", acu_ptx_lower_nothing, false, PTX_WRITES_NOTHING},
    {"red", acu_ptx_lower_atom, false, PTX_WRITES_NOTHING},
    {"redux", acu_ptx_lower_redux, false, PTX_WRITES_FIRST},
    {"ret", acu_ptx_lower_return, true, PTX_WRITES_NOTHING},
    {"set", acu_ptx_lower_set, false, PTX_WRITES_FIRST},
    {"setmaxnreg", acu_ptx_lower_setmaxnreg, false, PTX_WRITES_NOTHING},
    {"setp", acu_ptx_lower_setp, false, PTX_WRITES_FIRST},
    {"shfl", acu_ptx_lower_shfl, false, PTX_WRITES_FIRST},
    {"st", acu_ptx_lower_store, false, PTX_WRITES_NOTHING},
    {"stackrestore", acu_ptx_lower_stackrestore, false, PTX_WRITES_NOTHING},
    {"stacksave", acu_ptx_lower_stacksave, false, PTX_WRITES_FIRST},
    {"stmatrix", acu_ptx_lower_stmatrix, false, PTX_WRITES_NOTHING},
    {"suld", acu_ptx_lower_suld, false, PTX_WRITES_FIRST},
    {"suq", acu_ptx_lower_query, false, PTX_WRITES_FIRST},
    {"sured", acu_ptx_lower_sured, false, PTX_WRITES_ANY},
    {"sust", acu_ptx_lower_sust, false, PTX_WRITES_NOTHING},
    {"tensormap", acu_ptx_lower_tensormap, false, PTX_WRITES_NOTHING},
    {"tex", acu_ptx_lower_tex, false, PTX_WRITES_FIRST},
    {"tld4", acu_ptx_lower_tld4, false, PTX_WRITES_FIRST},
    {"trap", acu_ptx_lower_trap, false, PTX_WRITES_NOTHING},
    {"txq", acu_ptx_lower_query, false, PTX_WRITES_FIRST},
    {"vabsdiff", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vabsdiff2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vabsdiff4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vadd", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vadd2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vadd4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vavrg2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vavrg4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmad", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmax", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmax2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmax4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmin", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmin2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vmin4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vote", acu_ptx_lower_vote, false, PTX_WRITES_FIRST},
    {"vset", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vset2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vset4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vshl", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vshr", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vsub", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vsub2", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"vsub4", acu_ptx_lower_video, false, PTX_WRITES_ANY},
    {"wgmma", acu_ptx_lower_wgmma, false, PTX_WRITES_ANY},
    {"wmma.load", acu_ptx_lower_matrix_access, false, PTX_WRITES_FIRST},
    {"wmma.mma", acu_ptx_lower_wmma, false, PTX_WRITES_FIRST},
    {"wmma.store", acu_ptx_lower_matrix_access, false, PTX_WRITES_NOTHING},
};

/* The words and the numbers of operands of instructions whose lowering does not look at them. */
typedef struct simple_row {
    const char *word;
    const char *words; /* that the opcode may have, too */
    unsigned least, most;
    enum { ANY_OPERAND, A_NUMBER, AN_ADDRESS, A_WORD } first; /* what the first operand is */
} simple_row;

/* Sorted by the words. */
static const simple_row simple[] = {
    {"activemask", "b32", 1, 1, ANY_OPERAND},
    {"applypriority", "global L2::evict_normal", 2, 2, ANY_OPERAND},
    {"bra", "uni", 1, 1, ANY_OPERAND},
    {"brkpt", "", 0, 0, ANY_OPERAND},
    {"discard", "global L2", 2, 2, ANY_OPERAND},
    {"exit", "", 0, 0, ANY_OPERAND},
    {"fence",
     "sc acq_rel acquire release cta cluster gpu sys mbarrier_init proxy alias async global "
     "shared::cta shared::cluster tensormap::generic async::generic sync_restrict::shared::cta "
     "sync_restrict::shared::cluster",
     0, 2, ANY_OPERAND},
    {"griddepcontrol", "launch_dependents wait", 0, 0, ANY_OPERAND},
    {"membar", "cta gl sys proxy alias", 0, 0, ANY_OPERAND},
    {"nanosleep", "u32", 1, 1, A_WORD},
    {"pmevent", "mask", 1, 1, A_NUMBER},
    {"prefetch",
     "global local const param param::entry L1 L2 L2::evict_last L2::evict_normal tensormap", 1, 1,
     AN_ADDRESS},
    {"prefetchu", "L1", 1, 1, AN_ADDRESS},
    {"ret", "uni", 0, 0, ANY_OPERAND},
    {"setmaxnreg", "inc dec sync aligned u32", 1, 1, ANY_OPERAND},
    {"trap", "", 0, 0, ANY_OPERAND},
};

/* Compares an opcode with the word that a row begins with: equal where it begins with all of it. */
static int compare(const void *opcode, const void *row) {
    const char *word = *(const char *const *)row, *text = opcode;
    const size_t length = strlen(word);
    const int order = strncmp(text, word, length);
    return order ? order : text[length] && text[length] != '.';
}

/* Returns the row for the opcode; NULL if there is none. */
static const lowering_row *row_of(const char *opcode) {
    return bsearch(opcode, rows, sizeof rows / sizeof *rows, sizeof *rows, compare);
}

static bool is_among(const char *word, const char *words) {
    const size_t length = strlen(word);
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && memcmp(at, word, length) == 0)
            return true;
    return false;
}

/* Refuses `_` as the result of instructions that have no other one. */
static void check_result(ptx_lowering *l, const ptx_instruction *i) {
    static const char words[] =
        "activemask alloca createpolicy cvta getctarank isspacep istypep mapa match multimem prmt "
        "redux stacksave suq txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad "
        "vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4";
    if (i->operand_count && i->operands[0].kind == PTX_SINK && !i->paired &&
        is_among(acu_ptx_first_word(l), words))
        acu_ptx_refuse_sink(l, &i->operands[0]);
}

static bool is_suitable(ptx_lowering *l, const simple_row *row, const ptx_operand *o) {
    if (row->first == A_WORD) {
        acu_ptx_refuse_sink(l, o);
        (void)acu_ptx_source(l, o, PTX_U32);
    }
    return row->first == A_NUMBER     ? o->kind == PTX_INTEGER
           : row->first == AN_ADDRESS ? o->kind == PTX_ADDRESS
                                      : true;
}

static void check_simple(ptx_lowering *l, const ptx_instruction *i) {
    const simple_row *row =
        bsearch(i->opcode, simple, sizeof simple / sizeof *simple, sizeof *simple, compare);
    ptx_words words;
    if (!row)
        return;
    acu_ptx_words(l, i, &words);
    for (unsigned n = 1; n < words.count; n++)
        if (!is_among(words.word[n], row->words))
            acu_ptx_invalid(l, "Illegal modifier '.%s' for instruction '%s'", words.word[n],
                            acu_ptx_first_word(l));
    if (i->operand_count < row->least || i->operand_count > row->most ||
        (row->first && !is_suitable(l, row, &i->operands[0])))
        acu_ptx_mismatch(l);
}

void acu_ptx_lower_one(ptx_lowering *l, const ptx_instruction *i) {
    const lowering_row *row = row_of(i->opcode);
    check_simple(l, i);
    check_result(l, i);
    (row ? row->lower : acu_ptx_lower_by_form)(l, i);
}

ptx_lower *acu_ptx_lower_of(const char *opcode) {
    const lowering_row *row = row_of(opcode);
    return row ? row->lower : NULL;
}

bool acu_ptx_lower_guards(const ptx_instruction *i) {
    const lowering_row *row = row_of(i->opcode);
    return row && row->guards;
}

ptx_writes acu_ptx_lower_writes(const char *opcode) {
    const lowering_row *row = row_of(opcode);
    return row ? row->writes : PTX_WRITES_AS_FORM;
}
