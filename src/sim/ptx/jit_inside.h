/* The state of a translation, which only jit*.c know. */
#ifndef ACU_SIM_PTX_JIT_INSIDE_H
#define ACU_SIM_PTX_JIT_INSIDE_H

#include "sim/ptx/access.h"
#include "sim/ptx/jit.h"
#include "sim/ptx/x86.h"

/* Copies of values that sums are made of, whose slots have others now: a bank of the frame. */
enum { JIT_BANK_FRAME = PTX_BANKS, JIT_COPIES = 4, JIT_COPY_BYTES = 256 };

/* Vectors that approximations keep in the frame. */
enum { JIT_APPROXIMATED = 10 };

/* The floats of a value of 16 bits, alone or in pairs, which only vectors ever have: its slot's
 * number with this in the frame's bank. */
enum { JIT_FLOATS = 1 << 29, JIT_FLOATS_BANK = 27 };

/* What registers have while machine code of a kernel runs. */
#define JIT_WARP   X86_RBX
#define JIT_BANK   X86_R12 /* PTX_BANK_WARP, */
#define JIT_LAUNCH X86_R13 /* PTX_BANK_LAUNCH, */
#define JIT_BLOCK  X86_RBP /* PTX_BANK_BLOCK */
#define JIT_SITES  X86_R14 /* of the worker */
#define JIT_POOL   X86_R15 /* constants */

/* Vectors that an operation may use, besides those of values. */
enum { JIT_T0, JIT_T1, JIT_T2, JIT_T3, JIT_T4, JIT_T5 };

/* Masks of AVX-512, of lanes 0 to 15, and of 16 to 31: the last comparison, and the lanes that are
 * active and whose guard is true. */
enum { JIT_K_COMPARED = 4, JIT_K_GUARD = 6 };

/* Where the pool has constants: bytes. */
enum {
    JIT_STEPS_4 = 0, /* 0, 4, 8, … for each lane: words, and numbers of 64 bits; 0, 8, 16, … */
    JIT_STEPS_8 = 128,
    JIT_STEPS_4_WIDE = 256,
    JIT_STEPS_8_WIDE = 512,
    JIT_LANES = 768, /* words: the number of each lane */
    JIT_BITS = 896,  /* a bit for each lane */
    JIT_NAN = 1024,  /* words: 0x7fffffff */
    JIT_SIGN = 1088,
    JIT_ONES = 1152, /* words: all bits */
    JIT_ONE = 1216,  /* floats */
    JIT_ZERO = 1280,
    JIT_ALL = 1344,       /* words: all bits, for each lane */
    JIT_EVEN = 1472,      /* words: 0, 2, 4, … */
    JIT_LOW_2 = 1536,     /* words: 3 */
    JIT_SHORT = 1600,     /* 0xffff */
    JIT_ODD = 1664,       /* words: bits that a multiple of 1, 2, 4, … does not have */
    JIT_ODD_WORDS = 1728, /* words: 1, 3, 5, … */
    JIT_31 = 1792,        /* words: 31, */
    JIT_32 = 1856,        /* and 32 */
    JIT_2_31 = 1920,      /* floats */
    JIT_CONTROL = 1984,   /* words: what the processor's control of floats is, by x86_rounding, */
    JIT_CONTROL_FLUSHES = 16, /* and, so much further, where it flushes */
    JIT_UPPER = 2048,         /* words: 0xffff0000, */
    JIT_NAN_UPPER = 2112,     /* 0x7fff0000, */
    JIT_BELOW_HALF = 2176,    /* 0x7fff, */
    JIT_ONE_WORD = 2240,      /* and 1 */
    JIT_SIGN_WIDE = 2304,     /* the sign of f64, */
    JIT_SIZE_WIDE = 2368,     /* its other bits, */
    JIT_ONE_WIDE = 2432,      /* and 1 */
    JIT_MINUS_ONE_WIDE = 2496,
    JIT_NAN_WIDE = 2560,       /* JIT_NAN, of 64 bits */
    JIT_UPPER_WIDE = 2624,     /* of 64 bits: the upper half, */
    JIT_CUT = 2688,            /* and all bits but those that a float has no place for */
    JIT_EXPONENT = 2752,       /* words: 0x7f800000 */
    JIT_MINUS_INFINITE = 2816, /* 0xff800000 */
    JIT_MANTISSA = 2880,       /* 0x7fffff */
    JIT_ROWS_128 = 2944,       /* what is made of a float's bits: 16 times one of 128 rows, */
    JIT_ROWS_64 = 3008,        /* or 64, */
    JIT_BEHIND = 3072,         /* and x, of 17 bits */
    JIT_SQUARE_HIGH = 3136,    /* shorts: the upper 7 bits of x, */
    JIT_SQUARE_LOW = 3200,     /* the others, */
    JIT_SQUARE_BIT = 3264,     /* and each of the 7 */
    JIT_SQUARE_BITS = 7,
    JIT_ROOT_WHOLE = 3712,   /* words: what an exponent is taken from, */
    JIT_ROOT_4 = 3776,       /* and the row of powers of 4 */
    JIT_FIRST_KEY = 3840,    /* of tangents: the keys, */
    JIT_LAST_KEY = 3904,     /* of which those are the least and the largest */
    JIT_LOG_EXPONENT = 3968, /* of 64 bits: 2^13 */
    JIT_NORMAL = 4032,       /* floats: the smallest that is normal, */
    JIT_2_M36 = 4096,        /* 2^-36, and so on, */
    JIT_2_M12 = 4160,
    JIT_2_M8 = 4224,
    JIT_QUARTER = 4288,
    JIT_HALF = 4352,
    JIT_8 = 4416,
    JIT_24 = 4480,
    JIT_2_12 = 4544,
    JIT_2_23 = 4608,
    JIT_2_24 = 4672,
    JIT_2_25 = 4736,
    JIT_2_126 = 4800,
    JIT_POWER_LOW = 4864, /* -127, */
    JIT_MINUS_126 = 4928,
    JIT_POWER_HIGH = 4992, /* 128, */
    JIT_TURN = 5056,       /* and 1 / 2 pi */
    JIT_FIXES = 5120,      /* words, for each approximation: acu_jit_fixes */
    JIT_POOL_BYTES = 5760,
};

/* Approximations: those that use the rows of reciprocals are first, and those whose sum is
 * multiplied by a power of 2 are before others. */
typedef enum jit_approximation {
    JIT_RECIPROCAL,
    JIT_QUOTIENT,
    JIT_FULL_QUOTIENT,
    JIT_RECIPROCAL_ROOT,
    JIT_ROOT,
    JIT_POWER,
    JIT_LOGARITHM,
    JIT_SINE,
    JIT_COSINE,
    JIT_TANGENT,
    JIT_APPROXIMATIONS,
} jit_approximation;
extern const uint32_t acu_jit_fixes[JIT_APPROXIMATIONS];

/* What the processor's control of floats says, or may say, of subnormal numbers: they stay, become
 * 0, or there are none that it makes a difference to. */
typedef enum jit_control { JIT_KEEPS, JIT_FLUSHES, JIT_ANY } jit_control;

/* How the addresses of a warp lie: each vector's lanes have the same one, or consecutive ones, or
 * they lie otherwise, or all active lanes have the same one, or those of all lanes are consecutive,
 * of which only `low` is kept. The frame of the machine code has them.
 */
enum { JIT_FAR, JIT_EQUAL, JIT_CONSECUTIVE, JIT_SCATTERED, JIT_SAME, JIT_ROW };
enum { JIT_PARTS = 8 };
typedef struct jit_pattern {
    uint64_t low, high;
    uint64_t kind;
    uint64_t at[JIT_PARTS]; /* of the first lane of each vector; of the first one that is active, */
    _Alignas(64) int32_t
        offset[PTX_LANES]; /* with JIT_SCATTERED and JIT_SAME, and how far each lane is from it */
} jit_pattern;
enum { JIT_PATTERNS = 12, JIT_NO_PATTERN = JIT_PATTERNS }; /* all lanes have one local address */

/* The frame of the machine code. Vectors in it are within a line of the caches each: what has been
 * stored to two lines is not soon loaded. */
typedef struct jit_frame {
    uint64_t count;                          /* operations executed */
    uint64_t stack;                          /* where the caller's begins */
    uint64_t guard;                          /* lanes that execute a guarded operation: bits, */
    uint64_t split;                          /* the current one */
    uint64_t low_bits;                       /* of an address */
    _Alignas(64) uint32_t guards[PTX_LANES]; /* and words */
    jit_pattern patterns[JIT_PATTERNS];
    char copies[JIT_COPIES][JIT_COPY_BYTES];
    uint32_t approximated[JIT_APPROXIMATED][16]; /* vectors of operands of approximations */
    uint32_t words[16];                          /* of a vector that is widened */
    uint32_t compared[PTX_LANES];                /* AVX2: the last comparison, as words */
    int32_t local[PTX_LANES];  /* how far each lane's local memory is from the first one's */
    int32_t offset[PTX_LANES]; /* and that of what it stores there */
    uint32_t masks[4];         /* AVX-512: k4 to k7 */
} jit_frame;

/* Vectors that have a value, or half of one of 64 bits; in code for some lanes, of the active ones:
 * what the others have is in memory, which is written for the active ones only. */
typedef struct jit_group {
    ptx_slot slot;
    uint8_t size;  /* bytes of an element; 0: the group is free */
    uint8_t part;  /* 1: the upper lanes of a value of 64 bits */
    bool dirty;    /* memory does not have it */
    bool is_rough; /* all are results of float arithmetic, of which NaN may have any bits */
    uint32_t used;
    uint32_t version; /* of floats: of the value that they are made of */
} jit_group;
enum { JIT_GROUPS = 13 };

/* A value that is another one, the root, and what is the same in all lanes. */
typedef struct jit_sum {
    ptx_slot slot;    /* what has it, */
    uint32_t version; /* since this write */
    ptx_slot root;
    uint32_t root_version;
    ptx_slot added[2];
    unsigned count;
    uint8_t scale;  /* 4, 8: the root has 32 bits, and is multiplied by this; else 0 */
    bool is_signed; /* the root is, then */
    bool is_late;   /* it is not computed */
} jit_sum;
enum { JIT_SUMS = 32 };

/* Addresses whose pattern is known: a root, with a scale or without one. */
typedef struct jit_known_pattern {
    ptx_slot root;
    uint32_t version;
    bool narrow, is_signed;
    uint8_t size, scale;
    bool anyhow; /* only how far all lanes are from the first is known; size is of all elements */
    bool is_guarded, guard_negated; /* of the lanes for which a guard is true */
    ptx_slot guard;
    uint32_t guard_version;
} jit_known_pattern;

/* Code behind that of a block, to which it seldom jumps: a call of a handler; or one of the code
 * that finds the pattern of a value. */
typedef struct jit_aside {
    const ptx_op *op;     /* NULL: there is no handler to call */
    uint32_t joined_with; /* operations behind it, which are done with it */
    bool is_skipped;      /* no lane executes it: nothing is called */
    bool keeps_masks;     /* k4 to k7 stay what they are */
    jit_control control;  /* where it begins, and where it ends */
    size_t jumps[10];
    unsigned jump_count;
    size_t back;
    jit_group before[JIT_GROUPS], after[JIT_GROUPS];
    uint32_t entered; /* without a handler: the operation at which it enters, + 1; or 0, and */
    uint32_t count;   /* operations before it, which who enters has not executed */
    unsigned pattern; /* the pattern that it finds */
    jit_known_pattern known;
    jit_sum address;     /* of the handler's access, where it is late */
    const ptx_op *fused; /* it gives NaN in four vectors the bits that this operation has, */
    bool in_place;       /* which are where they belong */
    bool is_nan;         /* it gives floats of two vectors that are NaN the bits of a constant */
    uint8_t vectors[2];
    unsigned constant;
} jit_aside;

typedef struct jit_jump {
    size_t jump;
    uint32_t target; /* an operation */
    bool is_entry;   /* it jumps to where machine code begins */
} jit_jump;

/* How lanes come to an operation at which machine code may begin. */
typedef enum jit_leads {
    JIT_NO_LEADER,
    JIT_ON,     /* from the one before, or from the interpreter */
    JIT_TARGET, /* also from elsewhere: vectors have no values, but where a loop begins */
} jit_leads;

/* A loop, from its first operation to the last that goes back there, and what vectors have where it
 * begins. */
typedef struct jit_loop {
    uint32_t begin, end;
    jit_group groups[JIT_GROUPS];
} jit_loop;

typedef struct ptx_making {
    x86 x;
    const ptx_code *code;
    bool wide;        /* AVX-512 */
    bool in_rows;     /* consecutive elements are likely */
    bool has_local;   /* there are accesses of local memory */
    unsigned width;   /* bytes of a vector */
    unsigned vectors; /* of a value of 32 bits */
    unsigned group_count;
    jit_group groups[JIT_GROUPS];
    uint32_t at;        /* the operation that is translated */
    uint32_t now;       /* operations translated */
    uint32_t count;     /* executed since the frame's count was right */
    ptx_slot wanted[4]; /* what this one reads */
    unsigned wanted_count;

    const ptx_constant *
        *constants;           /* for 4 bytes of the launch's bank, the one that begins there */
    uint8_t *leads;           /* the operations at which machine code may begin: jit_leads */
    uint32_t *begins, *inner; /* where it does, and where it goes on from a jump; 0: nowhere */
    size_t exit;
    jit_loop *loops;
    uint32_t *loop_of; /* for each operation at which a loop begins, its number from 1 on */
    uint32_t loop_count;
    uint64_t *live;    /* for each of these, a set of the values that are needed there, */
    uint32_t *live_of; /* whose number is here */
    uint32_t live_words;

    jit_control control, usual; /* where code is added next; where blocks begin and end */

    bool partial;        /* the code is for warps of which some lanes are active */
    bool masked;         /* not all lanes execute the operation, */
    x86_place mask_bits; /* but these */
    x86_place mask_words;
    bool words_negated; /* 0 says that a lane executes it */

    size_t rax_at; /* where code is added next, RAX has this predicate */
    ptx_slot rax_slot;

    bool compared_known; /* JIT_K_COMPARED, or the frame, has a predicate: */
    ptx_slot compared;
    uint32_t compared_version;

    bool masked_by_guard; /* the active lanes are those of the guard */
    bool guard_known;     /* JIT_K_GUARD, or the frame, has the lanes of a guard, */
    bool words_known;     /* and has them as words: */
    bool guard_negated;
    ptx_slot guard;
    uint32_t guard_version;

    uint32_t *versions; /* for 32 bytes of the warp's bank: the write that was last */
    uint32_t writes;
    jit_sum sums[JIT_SUMS];
    unsigned sum_count;
    unsigned moved_count; /* copies in the frame */
    jit_known_pattern patterns[JIT_PATTERNS];
    unsigned pattern_count;
    size_t classify[2][2];  /* code that finds patterns: [narrow][elements of 8 bytes] */
    size_t store_same[9];   /* code that stores one value for all lanes, by its size; 0: none */
    uint32_t joined_end;    /* operations before this one have been translated with another one */
    size_t store_all[5][5]; /* code of stores for all lanes, by half the sizes; 0: none */
    size_t place_lanes[2];  /* those of lanes that lie anyhow: [narrow] */

    ptx_op *copies; /* of accesses, whose address is elsewhere; the code owns them */
    uint32_t copy_count;
    jit_aside *asides;
    size_t aside_count, aside_room;
    jit_jump *jumps;
    size_t jump_count, jump_room;
    const ptx_instruction *instruction;
} ptx_making;

static inline x86_place acu_jit_in_warp(size_t offset) {
    return x86_at(JIT_WARP, (int32_t)offset);
}

static inline x86_place acu_jit_in_frame(size_t offset) {
    return x86_at(X86_RSP, (int32_t)offset);
}

/* ---- values ---- */

/* Returns where vector number i of a value of elements of so many bytes is; acu_jit_load() puts it
 * into the vector `temporary` if it is in memory, and returns the vector. */
x86_place acu_jit_source(ptx_making *m, ptx_slot slot, unsigned size, unsigned i);
unsigned acu_jit_load(ptx_making *m, ptx_slot slot, unsigned size, unsigned i, unsigned temporary);
/* Returns whether no vectors have the value, but memory. */
bool acu_jit_is_in_memory(const ptx_making *m, ptx_slot slot);
/* Returns whether vectors have all of the value. */
bool acu_jit_has_all(const ptx_making *m, ptx_slot slot, unsigned size);
/* Returns memory of a slot. */
x86_place acu_jit_memory(const ptx_making *m, ptx_slot slot, size_t offset);
/* Says that the operation reads the value, and keeps it in vectors if there are some. */
void acu_jit_want(ptx_making *m, ptx_slot slot, unsigned size);
/* Finds vectors for the floats of a value of 16 bits, of elements of so many bytes: whether they
 * have them already, have to be filled, or there are none. AVX-512 only. */
typedef enum jit_floats { JIT_NO_FLOATS, JIT_EMPTY_FLOATS, JIT_HAS_FLOATS } jit_floats;
jit_floats acu_jit_want_floats(ptx_making *m, ptx_slot slot, unsigned size);
/* Returns vector i of them. */
unsigned acu_jit_floats(const ptx_making *m, ptx_slot slot, unsigned i);
/* Begins to write a value. acu_jit_target() returns the vector to write, acu_jit_done() ends that.
 */
void acu_jit_begin(ptx_making *m, ptx_slot slot, unsigned size);
unsigned acu_jit_target(ptx_making *m, ptx_slot slot, unsigned size, unsigned i);
void acu_jit_done(ptx_making *m, ptx_slot slot, unsigned size, unsigned i);
/* Writes RAX to a predicate, and loads one into it. */
void acu_jit_store_predicate(ptx_making *m, ptx_slot slot);
void acu_jit_load_predicate(ptx_making *m, ptx_slot slot);
/* Return the mask of the lanes of vector i that are active, and of those for which a predicate is
 * true; AVX-512 only. They may load it into k1, and k2. */
unsigned acu_jit_active(ptx_making *m, unsigned size, unsigned i);
unsigned acu_jit_true(ptx_making *m, ptx_slot predicate, unsigned size, unsigned i);
/* Returns whether JIT_K_COMPARED, or the frame, has the predicate. */
bool acu_jit_is_compared(const ptx_making *m, ptx_slot predicate);
/* Says that masks of AVX-512 are lost. */
void acu_jit_forget_masks(ptx_making *m);
/* Lets a value that has been begun, and is a result of float arithmetic of 32 bits, have any NaN,
 * until something needs its bits; false: it is not in vectors, or not all of it is such a result.
 */
bool acu_jit_leave_rough(ptx_making *m, ptx_slot slot);
/* Gives the NaN of a value the bits that a GPU's have; uses k3, or JIT_T2. */
void acu_jit_smooth(ptx_making *m, ptx_slot slot);
void acu_jit_smooth_group(ptx_making *m, unsigned group);
/* Writes to memory what is only in vectors: all, or one value. */
void acu_jit_flush(ptx_making *m);
void acu_jit_flush_one(ptx_making *m, ptx_slot slot);
/* Writes a value to memory for a handler that does not mind which NaN it has; it stays dirty. */
void acu_jit_lend(ptx_making *m, ptx_slot slot);
/* Write the vectors of a group to memory, and load them. */
void acu_jit_store_group(ptx_making *m, unsigned group);
void acu_jit_load_group(ptx_making *m, unsigned group);
/* No vectors have values any more. */
void acu_jit_forget(ptx_making *m);
void acu_jit_forget_one(ptx_making *m, ptx_slot slot);
/* Makes what vectors have of a value the value of another slot; false: they have not all of it. */
bool acu_jit_move(ptx_making *m, ptx_slot slot, unsigned size, ptx_slot to);
/* Notes that the slot has another value. */
void acu_jit_wrote(ptx_making *m, ptx_slot slot);
uint32_t acu_jit_version(const ptx_making *m, ptx_slot slot);
/* Returns whether only one instruction has the value. */
bool acu_jit_is_temporary(ptx_slot slot);
/* Fills in `constants`; false without memory. */
bool acu_jit_find_constants(ptx_making *m);
/* Returns whether the value is a number, which it writes. */
bool acu_jit_is_constant(const ptx_making *m, ptx_slot slot, uint64_t *number);
/* Returns whether all lanes share the value. */
bool acu_jit_is_uniform(const ptx_making *m, ptx_slot slot);

/* ---- where lanes go on ---- */

/* Fill in `leads`, and the loops; false without memory. */
bool acu_jit_find_leaders(ptx_making *m);
bool acu_jit_find_loops(ptx_making *m);
/* Writes all operations, for all lanes or for some. */
void acu_jit_write_all(ptx_making *m, uint32_t *begins);
/* Ends the machine code, which returns what is in R8, and the warp. */
void acu_jit_write_exit(ptx_making *m);
void acu_jit_note_jump(ptx_making *m, size_t jump, uint32_t target, bool is_entry);
/* Translates an operation that decides nothing. */
void acu_jit_plain(ptx_making *m, const ptx_op *op);
/* Writes the code aside to which operations jump, where nothing falls through. */
void acu_jit_write_asides(ptx_making *m);

/* ---- which values are needed ---- */

/* What an operation writes, and reads. */
typedef struct jit_touched {
    ptx_slot slots[4];
    unsigned written, count; /* the first ones are written */
    uint8_t size;            /* bytes of an element of what is written */
} jit_touched;
/* Returns false where it is not known. */
bool acu_jit_touch(const ptx_op *op, jit_touched *t);
/* Returns whether the value that a slot has may be read behind the operation that is translated. */
bool acu_jit_is_needed(const ptx_making *m, ptx_slot slot);

/* Finds it out; false without memory. */
bool acu_jit_find_live(ptx_making *m);
/* Returns whether the value is needed at an operation that leads. */
bool acu_jit_is_live(const ptx_making *m, ptx_slot slot, uint32_t op);
/* Returns whether a plain operation that only computes has a translation, perhaps. */
bool acu_jit_is_known(const ptx_op *op);
/* Returns whether the operation is a load, 1, or a store, 2, of the interpreter's handlers. */
int acu_jit_access_kind(const ptx_op *op);

/* ---- sums ---- */

/* Note that the operation is a sum of a value and one that all lanes share, or a product; false: it
 * is none that could be late. */
bool acu_jit_note_sum(ptx_making *m, const ptx_op *op);
bool acu_jit_note_product(ptx_making *m, const ptx_op *op, bool is_signed);
/* Returns the sum that the slot has now; NULL: none is known. */
const jit_sum *acu_jit_find_sum(const ptx_making *m, ptx_slot slot);
/* Computes vector i of a sum, into a vector; uses JIT_T1. */
void acu_jit_sum_vector(ptx_making *m, const jit_sum *sum, unsigned i, unsigned d);
/* Compute what is late: a value; all; what is needed at one of two operations that lead. */
void acu_jit_settle(ptx_making *m, ptx_slot slot);
void acu_jit_settle_all(ptx_making *m);
void acu_jit_settle_live(ptx_making *m, uint32_t op, uint32_t or_op);
/* Prepares for an operation that writes a slot; `keeps`: some of what the slot has is needed. */
void acu_jit_write(ptx_making *m, ptx_slot slot, bool keeps);

/* ---- operations ---- */

/* How an operation becomes code. */
typedef struct jit_row jit_row;
/* Writes the code; false: this operation needs what the processor has not. */
typedef bool jit_translate(ptx_making *m, const ptx_op *op, const jit_row *k);
struct jit_row {
    ptx_handler *handler; /* how the operation is recognised */
    jit_translate *translate;
    x86_vector vector;
    uint8_t size;      /* bytes of an element, */
    uint8_t from;      /* and of an operand's; or what a function says */
    uint8_t predicate; /* of a comparison; what goes into a sum or a logical operation */
    char joined;       /* '&', '|', '^': a comparison's result with another predicate; else 0 */
    bool is_signed, is_float;
    bool flushes;      /* .ftz, */
    bool flushes_bits; /* of an instruction that does not flush its result */
    bool saturates;    /* .sat of a float */
};
/* Comparisons of integers, as AVX-512 has them. */
enum {
    JIT_EQUAL_TO,
    JIT_LESS,
    JIT_LESS_EQUAL,
    JIT_NOT_EQUAL = 4,
    JIT_NOT_LESS,
    JIT_NOT_LESS_EQUAL
};

/* Returns the row of an operation; without a handler: it has none. */
const jit_row *acu_jit_find_row(const ptx_op *op);
/* Says that the operation reads the first ones of its operands. */
void acu_jit_want_all(ptx_making *m, const ptx_op *op, const jit_row *k, unsigned count);

jit_translate acu_jit_binary, acu_jit_with_pool, acu_jit_unary, acu_jit_make_whole, acu_jit_copy,
    acu_jit_extreme, acu_jit_take_sign, acu_jit_fused, acu_jit_multiply_add, acu_jit_convert_wide,
    acu_jit_multiply_wide, acu_jit_shift_wide, acu_jit_shift_two, acu_jit_multiply_high,
    acu_jit_multiply_shorts, acu_jit_multiply_long, acu_jit_narrow, acu_jit_choose, acu_jit_compare,
    acu_jit_logic, acu_jit_convert_size, acu_jit_resize, acu_jit_take_part, acu_jit_put_two,
    acu_jit_shift_short, acu_jit_compare_shorts, acu_jit_rounded, acu_jit_double,
    acu_jit_fused_double, acu_jit_signed_double, acu_jit_unary_double, acu_jit_word_of_double,
    acu_jit_float_of_double, acu_jit_halves, acu_jit_float_of_half, acu_jit_half_of_float,
    acu_jit_pair_of_floats, acu_jit_saturate, acu_jit_widen_float, acu_jit_float_of_short,
    acu_jit_integer_of_float, acu_jit_approximate;

/* Gives the floats of two vectors that are NaN the bits of a constant of the pool, from code aside:
 * few ever are, and nobody waits for the comparison. AVX-512 only. */
void acu_jit_fix_two(ptx_making *m, unsigned one, unsigned other, unsigned constant);
/* Gives NaN in four vectors, which are a product of 64 bits and a sum, the bits of the operand that
 * a GPU takes: those from JIT_T0 on, or, in place, those of the result; then JIT_T0 and so on have
 * what was there. Uses JIT_T4 and JIT_T5. */
void acu_jit_fix_fused(ptx_making *m, const ptx_op *op, bool in_place);
/* Gives the vector d the elements of s where a and b compare so; uses k2, or JIT_T3. */
void acu_jit_take_where(ptx_making *m, unsigned size, unsigned predicate, unsigned a, unsigned b,
                        unsigned d, x86_place s);
/* Makes the one NaN that a GPU has of any in JIT_T0; uses k2, or JIT_T3. */
void acu_jit_make_number(ptx_making *m);
/* Keep half a vector in the frame, and join JIT_T0, which is half of one, and that. AVX2 only. */
void acu_jit_keep_half(ptx_making *m, unsigned vector);
void acu_jit_join_halves(ptx_making *m);
/* Writes JIT_T0 to vector i of a value that has been begun. */
void acu_jit_put(ptx_making *m, ptx_slot slot, unsigned size, unsigned i);
/* Makes shorts of the words in JIT_T0, and writes them to a register; uses JIT_T1 and JIT_T2. */
void acu_jit_store_shorts(ptx_making *m, ptx_slot slot, unsigned i);
/* Finishes a comparison, whose bits are in RAX. */
void acu_jit_store_comparison(ptx_making *m, const ptx_op *op, const jit_row *k);
/* Returns 32 bits for each lane of vector i of 64 bits. */
x86_place acu_jit_half(ptx_making *m, ptx_slot slot, unsigned i, unsigned temporary);

/* Returns whether the processor can flush subnormal numbers, which .ftz needs. */
bool acu_jit_can_flush(void);
/* Finds the `usual` control; and makes the processor's control another one, if it is. */
void acu_jit_choose_control(ptx_making *m);
void acu_jit_set_control(ptx_making *m, jit_control control);
/* Returns where the pool has the current control with another rounding. */
x86_place acu_jit_control_of(const ptx_making *m, x86_rounding rounding);
/* Returns the control that a known operation needs. */
jit_control acu_jit_needed_control(const ptx_op *op);
/* Makes a float, in a vector, one of 0 to 1; NaN becomes 0. */
void acu_jit_saturate_vector(ptx_making *m, unsigned vector);

/* Translates an operation that does the same in each lane; false: it has no translation. */
bool acu_jit_lanes(ptx_making *m, const ptx_op *op);
/* Returns whether it does not matter which NaN the operands are. */
bool acu_jit_takes_rough(const ptx_op *op);
/* Returns whether, beyond that, the result is a float that may be any NaN at first. */
bool acu_jit_makes_rough(const ptx_op *op);
/* Notes an operation that is a sum, and late; false: it is to be translated. */
bool acu_jit_is_late(ptx_making *m, const ptx_op *op);
/* Makes 64 bits of each 32 of vector i, into a vector. */
void acu_jit_widen(ptx_making *m, ptx_slot slot, unsigned i, bool is_signed, unsigned d);
/* Translates a shuffle of all lanes. */
bool acu_jit_shuffle(ptx_making *m, const ptx_op *op);
/* Translates a load or a store; `inner` is the operation without its guard. */
bool acu_jit_access(ptx_making *m, const ptx_op *op, const ptx_op *inner);
/* Writes code that loads and stores elements of lanes that lie anyhow; `is_same`: all active ones
 * have one address. R9 has the bytes of the first active lane. */
void acu_jit_load_anyhow(ptx_making *m, const ptx_access *access, unsigned pattern, bool is_same);
void acu_jit_store_anyhow(ptx_making *m, const ptx_access *access, unsigned pattern);
/* Writes the code that stores an access's elements for all lanes one by one, if there is none:
 * RSI has the lanes' offsets from R9, and RDI the elements. */
void acu_jit_write_store_all(ptx_making *m, const ptx_access *access);
/* Translates stores of constants side by side in local memory, from this one on, as one; false:
 * there are no others. */
bool acu_jit_join_stores(ptx_making *m, const ptx_op *op);
/* Writes the code that stores R10 in all lanes' local memory, from R9 on, which changes. */
void acu_jit_write_store_same(ptx_making *m);
/* Writes the check of a local access of all lanes; then R8 has the bytes of the first one. */
void acu_jit_check_local(ptx_making *m, const ptx_op *op, jit_aside *aside, unsigned size);
/* Computes `local` of the frame. */
void acu_jit_write_local(ptx_making *m);
/* Writes a call that finds the pattern of such lanes; RDI and RSI have the addresses and the
 * pattern, of accesses of so many bytes. */
void acu_jit_place_lanes(ptx_making *m, bool is_narrow, unsigned bytes);
void acu_jit_write_place_lanes(ptx_making *m);
/* Goes on there, of all lanes. */
void acu_jit_go_to_place_lanes(ptx_making *m, bool is_narrow, unsigned bytes);
/* Puts the active lanes into a register, as bits. */
void acu_jit_load_lanes(ptx_making *m, x86_register d);
/* Computes a sum in the scratch memory, and returns where that is. */
x86_place acu_jit_sum_aside(ptx_making *m, const jit_sum *sum);
/* Returns how many bytes an access has in a lane, and whether only code for lanes that lie anyhow
 * does it. */
unsigned acu_jit_bytes_of_lane(const ptx_access *access);
bool acu_jit_is_anyhow(const ptx_making *m, const ptx_access *access);
/* Returns the pattern of an address, and what is to be added to it; then where the frame has a
 * field of a pattern. */
unsigned acu_jit_pattern_of(ptx_making *m, const ptx_op *op, const ptx_access *access,
                            jit_sum *sum);
x86_place acu_jit_pattern_at(unsigned pattern, size_t offset);
/* Writes a call of the code that finds a pattern. */
void acu_jit_find_pattern(ptx_making *m, unsigned pattern);
/* Writes the code that finds patterns. */
void acu_jit_write_classify(ptx_making *m);
/* Calls the handler of the operation. */
void acu_jit_call(ptx_making *m, const ptx_op *op);
/* Goes aside if the last comparison says so. */
static inline void acu_jit_leave_if(ptx_making *m, jit_aside *aside, x86_condition condition) {
    aside->jumps[aside->jump_count++] = acu_x86_jump(&m->x, condition);
}

/* Returns a list of elements of `size` bytes that has room for one more than `count`; NULL without
 * memory, which ends the translation. */
void *acu_jit_grow(ptx_making *m, void *list, size_t count, size_t *room, size_t size);
/* Writes the constants, with which the code begins. */
void acu_jit_write_pool(ptx_making *m);
/* Returns new code aside; NULL without memory. */
jit_aside *acu_jit_aside(ptx_making *m, const ptx_op *op);

#endif
