/* Warps while they run: 32 lanes with their registers, and the splits that branches make of them.
 */
#ifndef ACU_SIM_PTX_WARP_H
#define ACU_SIM_PTX_WARP_H

#include "sim/ptx/code.h"

typedef struct ptx_worker ptx_worker;
typedef struct ptx_block ptx_block;

/* A call of a function that has not returned. All lanes of a frame go back to the same place. */
typedef struct ptx_frame {
    struct ptx_frame *caller; /* NULL: the kernel itself */
    const ptx_code_function *function;
    struct ptx_join *join; /* where the lanes that called were to meet */
    uint32_t back;         /* the operation behind the call */
    uint32_t local;        /* where the frame is in the local memory of each lane */
    uint32_t lanes;        /* that have not returned */
    const ptx_op *call;
    char *saved; /* the caller's registers, where the call is recursive; else NULL */
    uint32_t allocated[PTX_LANES]; /* what the caller had, where the code allocates */
    struct ptx_frame *next_free;
    struct ptx_frame *made_before; /* by the warp */
} ptx_frame;

/*
 * A place where lanes that a branch sent apart meet again. `expected` are the lanes that are to
 * come, `arrived` those that are there. A join is freed when all have come, or ended.
 */
typedef struct ptx_join {
    uint32_t pc;
    uint32_t expected, arrived;
    struct ptx_join *parent; /* where they are to meet after that; NULL: nowhere */
    ptx_frame *frame;
    unsigned children;     /* joins whose parent this is */
    struct ptx_join *next; /* of the warp's joins; or of the free ones */
} ptx_join;

/* Why a split does not go on. */
typedef enum ptx_wait {
    PTX_READY,
    PTX_AT_BARRIER, /* bar.sync: until enough lanes of the block have come */
    PTX_AT_SYNC,    /* a .sync operation: until all lanes of its member mask have come */
} ptx_wait;

/* Lanes of a warp that go on together. */
typedef struct ptx_split {
    uint32_t pc, mask;
    ptx_join *join; /* where it meets others; NULL: nowhere */
    ptx_frame *frame;
    ptx_wait wait;
    unsigned barrier; /* with PTX_AT_BARRIER: which one */
    uint32_t members; /* with PTX_AT_SYNC */
    uint64_t turn;    /* the warp's `turns` when it was chosen, or made */
} ptx_split;

struct ptx_warp {
    uintptr_t origin[PTX_BANKS];            /* to which a whole slot is added, bank and offset */
    char *base[PTX_BANKS];                  /* of each bank */
    uint32_t mask;                          /* the lanes that execute the operation */
    unsigned active;                        /* how many they are */
    uint32_t exists;                        /* the lanes that the warp has */
    _Alignas(64) uint32_t lanes[PTX_LANES]; /* the mask, as 0 or ~0 for each lane */
    ptx_frame *frame;                       /* of the running split */
    char *local; /* local memory of lane 0; that of lane n is n * local_stride further */
    size_t local_bytes, local_stride; /* bytes that a lane has, and some that keep lanes apart */
    uint32_t allocated[PTX_LANES];    /* bytes that alloca took of it, from its end on */
    const ptx_code *code;
    ptx_block *block;
    ptx_worker *worker;
    unsigned number; /* in the block */
    ptx_warp *next;  /* of the block; NULL: this is the last one */
    ptx_join *joins, *free_joins;
    uint32_t is_plain; /* 1: only machine code has run it, which changed at most the next five */
    uint32_t is_new;   /* 1: the warp has 32 lanes, and has not run yet */
    uint32_t ended;    /* lanes that have exited */
    unsigned split_count;
    unsigned backward;   /* backward branches since another split was chosen */
    uint32_t in_cluster; /* lanes that have arrived at the cluster's barrier, which is not open */
    unsigned current;
    ptx_split splits[PTX_LANES];
    uint64_t turns; /* how often a split was chosen */
    ptx_frame *free_frames;
    ptx_frame *frames; /* all but the kernel's: the one that was made last */
    ptx_frame kernel;  /* the frame of the kernel */
    uint64_t executed; /* thread-instructions */
    uint64_t clocked;  /* those before it read a clock last, where the launch counts cycles */
};

/* Returns where a value is. */
static inline void *ptx_at(const ptx_warp *warp, ptx_slot slot) {
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return (void *)(warp->origin[PTX_SLOT_BANK(slot)] + slot);
}

/* Returns the lanes for which the guard of the operation is true. */
static inline uint32_t ptx_guard(const ptx_warp *warp, const ptx_op *op) {
    uint32_t lanes = *(const uint32_t *)ptx_at(warp, op->guard);
    return op->negated ? ~lanes : lanes;
}

/* Returns the lanes of the warp that have not ended. */
static inline uint32_t ptx_alive(const ptx_warp *warp) {
    return warp->exists & ~warp->ended;
}

/* Returns how many lanes there are: most often all. __builtin_popcount() is a call of libgcc where
 * code is for all processors of x86-64. */
static inline unsigned ptx_count_lanes(uint32_t lanes) {
    if (lanes == ~UINT32_C(0))
        return PTX_LANES;
    lanes -= lanes >> 1 & 0x55555555;
    lanes = (lanes & 0x33333333) + (lanes >> 2 & 0x33333333);
    return ((lanes + (lanes >> 4)) & 0x0f0f0f0f) * UINT32_C(0x01010101) >> 24;
}

static inline ptx_split *ptx_current(ptx_warp *warp) {
    return &warp->splits[warp->current];
}

/* What a warp can do. */
typedef enum ptx_state {
    PTX_RUNS,  /* it stopped because others should have their turn */
    PTX_WAITS, /* for a barrier */
    PTX_ENDED,
} ptx_state;

/* Makes the warp begin the kernel with these lanes. */
void acu_ptx_warp_begin(ptx_warp *warp, uint32_t exists);
/* Frees the joins and frames that the warp has. */
void acu_ptx_warp_clear(ptx_warp *warp);

/* Runs the warp until it waits, ends, or has had its turn. Machine code may go on with other warps
 * of the block, and with the next block in its place, which has another number then. */
ptx_state acu_ptx_warp_run(ptx_warp *warp);

/* Lets the splits that wait at the barrier go on, behind it, with its result. */
void acu_ptx_warp_release(ptx_warp *warp, unsigned barrier, uint32_t result);
/* Returns the lanes of the warp that wait at the barrier. */
uint32_t acu_ptx_warp_waiting(const ptx_warp *warp, unsigned barrier);

/* Sets the lanes that execute plain operations. */
void acu_ptx_warp_set_mask(ptx_warp *warp, uint32_t mask);

enum {
    PTX_SPINS = 64,     /* backward branches of a loop that may spin, before others have a turn, */
    PTX_ROUNDS = 256,   /* and of all splits of the warp, of which each may end before that */
    PTX_TURN = 1 << 16, /* those of any loop */
};

/* ---- what operations do that decide where lanes go on ---- */

/* Goes to `value` where the guard is true; the lanes meet again at `e`, or nowhere if that is
 * PTX_NOWHERE. `flags` has PTX_MAY_SPIN. */
ptx_flow acu_ptx_flow_branch;
/* Goes to `value`, all lanes. */
ptx_flow acu_ptx_flow_jump;
/* Goes to one of `count` targets (`more`, uint32_t), by the index in `a`; the lanes meet again at
 * `e`. */
ptx_flow acu_ptx_flow_switch;
/* A place where lanes may meet. */
ptx_flow acu_ptx_flow_join;
/* Ends the lanes for which the guard is true. */
ptx_flow acu_ptx_flow_exit;
/* Calls a function of the code, number `value`; or the one whose address is in `a`, with `flags`
 * PTX_INDIRECT. The operation behind it is a join. */
ptx_flow acu_ptx_flow_call;
/* Returns from the function, where the guard is true; or, in the kernel, ends the lanes. */
ptx_flow acu_ptx_flow_return;
/* Does the plain operation `masked` when all lanes that `a` names, for each lane, have come. */
ptx_flow acu_ptx_flow_sync;

#define PTX_NOWHERE UINT32_MAX
enum {
    PTX_MAY_SPIN = 1,
    PTX_INDIRECT = 2,
    PTX_GUARDED = 4,
    PTX_TO_OPERATION = 8, /* targets are operations */
    PTX_BACK = 16,        /* the target is not behind the branch */
};

#endif
