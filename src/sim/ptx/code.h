/* Executable code: what a kernel and the functions that it may call become before they run. */
#ifndef ACU_SIM_PTX_CODE_H
#define ACU_SIM_PTX_CODE_H

#include "sim/ptx/level.h"
#include "sim/ptx/ptx_module.h"

/*
 * A slot is where a value of a warp lies: a bank, and an offset in it. A value of 32 lanes is an
 * array of 32 elements of 2, 4, 8 or 16 bytes; a predicate is one word of 32 bits, a bit for each
 * lane.
 */
typedef uint32_t ptx_slot;
enum {
    PTX_BANK_WARP = 0,   /* registers of a warp */
    PTX_BANK_LAUNCH = 1, /* constants: the same in the whole launch */
    PTX_BANK_BLOCK = 2,  /* the same in a block: %ctaid */
    PTX_BANKS = 3,
    PTX_LANES = 32,
};
#define PTX_SLOT(bank, offset) ((ptx_slot)(bank) << 30 | (ptx_slot)(offset))
#define PTX_SLOT_BANK(slot)    ((slot) >> 30)
#define PTX_SLOT_OFFSET(slot)  ((slot) & 0x3fffffff)

/* The warp's bank begins with room for temporary values, and for two results of pure operations
 * that lanes which are not active must not get. */
enum { PTX_TEMP_BYTES = 4096, PTX_SCRATCH_BYTES = 1024 };
#define PTX_SCRATCH       PTX_SLOT(PTX_BANK_WARP, PTX_TEMP_BYTES)
#define PTX_OTHER_SCRATCH PTX_SLOT(PTX_BANK_WARP, PTX_TEMP_BYTES + PTX_SCRATCH_BYTES / 2)

/* Sets of a warp's slots. The one of all has a bit besides, for what is no slot. */
#define PTX_ALL_SLOTS UINT64_MAX
#define PTX_NO_SLOT   (UINT64_C(1) << 63)
/* Returns the bit of a slot in such a set; others may have the same one. */
static inline uint64_t ptx_slot_bit(ptx_slot slot) {
    return UINT64_C(1) << PTX_SLOT_OFFSET(slot) / 128 % 63;
}

typedef struct ptx_warp ptx_warp;
typedef struct ptx_op ptx_op;
typedef struct ptx_code ptx_code;

/* Does a plain operation for the lanes of the warp's mask. */
typedef void ptx_handler(ptx_warp *warp, const ptx_op *op);

/* What became of the lanes that executed an operation which decides where they go on. */
typedef enum ptx_step {
    PTX_GO,   /* the warp's split goes on at its `pc` */
    PTX_ON,   /* the same, with the same lanes; nothing became of the others, either */
    PTX_STOP, /* the split waits, was split up, merged or ended: another one is to be chosen */
} ptx_step;
typedef ptx_step ptx_flow(ptx_warp *warp, const ptx_op *op);

struct ptx_op {
    ptx_handler *interpreted[2]; /* `full` and `masked`, which do what there is up to `next` */
    ptx_slot d, a, b, c;         /* the result and the operands */
    ptx_slot e, f;               /* more operands, or results */
    ptx_slot guard;              /* the predicate of a guarded operation */
    uint32_t run;                /* how many plain operations begin here, one behind the other */
    const ptx_op *next;          /* the next one of the run that does something, or the run's end */
    uint64_t changes;            /* the slots that `full` changes in all lanes, active or not */
    int64_t value;               /* what the handler wants: an offset, a branch's target, a kind */
    ptx_handler *full;   /* when all lanes of the warp are active; NULL: the operation is a flow */
    ptx_handler *masked; /* when some are not */
    ptx_flow *flow;      /* NULL: the operation is plain */
    const void *more;    /* what the handler wants: in the code's arena */
    const ptx_instruction *instruction; /* for reports; NULL: none */
    uint8_t size, count;                /* bytes of an element, and how many elements */
    uint8_t flags;                      /* the handler's own */
    bool negated;                       /* the guard is */
    uint32_t site; /* the number of an operation that accesses memory, for its cache */
    uint32_t lead; /* where the accesses of its run that have the same addresses keep them */
};

/* How much shared memory of a block is CUDA's own. */
enum { PTX_RESERVED_SHARED = 1024 };

/* A constant of the launch that is known only when the kernel is launched. */
typedef enum ptx_constant_kind {
    PTX_CONSTANT_BITS,     /* `bits` itself */
    PTX_CONSTANT_VARIABLE, /* the address of a global or constant variable, + bits */
    PTX_CONSTANT_PARAM,    /* bytes of the kernel's parameters, from `bits` on */
    PTX_CONSTANT_SHARED,   /* the offset of the launch's dynamic shared memory, + bits */
    PTX_CONSTANT_SPECIAL,  /* a special register that all of the launch shares */
} ptx_constant_kind;

typedef struct ptx_constant {
    ptx_constant_kind kind;
    uint8_t size;       /* bytes of an element */
    uint8_t param_size; /* of a parameter, which may be smaller */
    bool is_signed;     /* a smaller parameter is extended with its sign */
    ptx_slot slot;
    uint64_t bits;
    const ptx_variable *variable;
    ptx_special special;
    unsigned component;
} ptx_constant;

/* A special register that the block or the warp's place in it decides. */
typedef struct ptx_special_slot {
    ptx_special special;
    unsigned component;
    uint8_t size;
    ptx_slot slot;
} ptx_special_slot;

/* A register of a function in the warp's bank. */
typedef struct ptx_code_slot {
    uint32_t offset, size; /* bytes of an element; 0: a predicate */
} ptx_code_slot;

/* Where a parameter or a result of a call is: a slot, or an offset in the frame. */
typedef struct ptx_copy_place {
    bool in_slot;
    uint32_t at; /* of the called function: an offset within its parameter; the rest is in param_at
                    or result_at */
} ptx_copy_place;

typedef struct ptx_copy {
    ptx_copy_place from, to;
    uint32_t size; /* bytes of one lane */
    bool predicate;
} ptx_copy;

/* What a call copies; `more` of its operation. */
typedef struct ptx_call {
    ptx_copy *params, *results;
    uint32_t param_count, result_count;
} ptx_call;

/* A function as the code has it. */
typedef struct ptx_code_function {
    const ptx_function *function;
    uint32_t begin, end;               /* its operations */
    uint32_t registers, registers_end; /* its slots in the warp's bank, in bytes */
    ptx_code_slot *slots;
    uint32_t slot_count;
    uint32_t frame; /* bytes of local memory of one call */
    uint32_t *param_at,
        *result_at;   /* where in the frame, or in which slot, its parameters and results are */
    uint64_t address; /* what a pointer to it has; 0: nothing takes its address */
    bool recursive;   /* it may be called while it runs: who calls it keeps its registers */
} ptx_code_function;

/* A shared variable, and its offset in the block's shared memory. */
typedef struct ptx_code_shared {
    const ptx_variable *variable;
    uint32_t at;
    struct ptx_code_shared *next;
} ptx_code_shared;

/* What the operations of code do besides their work. */
typedef struct ptx_watch {
    unsigned checks;       /* what they look for: PTX_CHECK_MEMORY, … */
    bool profile;          /* they count what they do */
    unsigned stop_line;    /* where a warp stops; 0: nowhere */
    const char *stop_file; /* whose line that is: the end of its path; NULL: it is one of the PTX */
} ptx_watch;

struct ptx_code {
    const ptx_module *module;
    const ptx_function *entry;
    ptx_op *ops;
    uint32_t count;
    uint64_t *needed; /* for each operation, the slots whose values a lane needs that goes on there:
                         their bits; NULL: all of them, everywhere */
    uint32_t warp_bytes, launch_bytes, block_bytes; /* of the banks */
    ptx_constant *constants;
    uint32_t constant_count;
    ptx_special_slot *specials;
    uint32_t special_count;
    ptx_code_function *functions; /* the first one is the kernel */
    uint32_t function_count;
    uint32_t local_bytes; /* of a thread, without what recursion adds */
    ptx_code_shared *shared;
    uint32_t static_shared;               /* bytes of a block's shared variables */
    uint32_t shared_bytes;                /* the same, with gaps and with what is reserved */
    uint32_t reserved_at, reserved_bytes; /* where in it a kernel finds what CUDA reserves */
    uint32_t shared_align;                /* of what is dynamic */
    uint32_t param_bytes;
    ptx_level level; /* of the processor, that the operations are for */
    ptx_watch watch;
    const ptx_instruction **counted; /* the instructions that a profile has counts of */
    uint32_t counted_count;
    uint32_t stops;            /* places at which a warp stops */
    bool spins;                /* a loop may wait for what others write */
    bool recurses;             /* a function may be called while it runs */
    bool allocates;            /* alloca takes local memory */
    bool uses_runtime;         /* the kernel may call CUDA's device runtime, as to launch kernels */
    bool launches_graphs;      /* it may launch graphs */
    bool prints, uses_heap;    /* it may call printf(); malloc() or free() */
    uint32_t sites;            /* operations that access memory */
    struct ptx_jit *jit;       /* its machine code; NULL: not made yet */
    _Atomic uint64_t executed; /* thread-instructions of launches that have ended */
    struct ptx_arena *arena;   /* has all of the above, but `jit` */
};

/* Returns whether the operations do anything besides their work. */
static inline bool ptx_is_watched(const ptx_code *code) {
    return code->watch.checks || code->watch.profile || code->watch.stop_line;
}

void acu_ptx_code_free(ptx_code *code);

#endif
