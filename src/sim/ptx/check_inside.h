/* What the files of the checks share. */
#ifndef ACU_SIM_PTX_CHECK_INSIDE_H
#define ACU_SIM_PTX_CHECK_INSIDE_H

#include "sim/ptx/access.h"
#include "sim/ptx/atomic.h"
#include "sim/ptx/check.h"

/* An access of the code, which is looked at before it is made. */
typedef struct ptx_check_site {
    const ptx_instruction *instruction;
    ptx_space space;
    ptx_address address;
    uint32_t bytes;      /* of each lane, or of each row */
    ptx_slot size;       /* with `has_size`: how many bytes each lane has */
    ptx_slot stride;     /* with `has_stride`: how far rows are apart, in elements of `bits` */
    uint32_t lanes;      /* that have an address; 0: all */
    unsigned rows, bits; /* of a matrix that all lanes access together; 0: of none */
    bool has_size, has_stride, reads, writes;
    bool strong;    /* atomic, volatile, or ordered: no race with others of its kind */
    bool releases;  /* what was done before is before what is done by who reads this */
    bool narrow;    /* of scope .cta: it orders threads of one block only */
    bool together;  /* the lanes' own accesses are not known: the warp makes it */
    bool sets;      /* it exchanges: what it finds is rarely used */
    bool swaps;     /* it compares before it writes, so that who read before may be late */
    bool parameter; /* of a call: some of its bytes may be padding */
    bool apart; /* a GPU has other ways for it than for loads and stores: no profile counts it */
    bool by_mbarrier; /* what it does to another block's memory is ordered by an mbarrier */
    bool async;       /* the write of a cp.async, which may be made until the thread waits for it */
    const ptx_access *values; /* of a plain store: what is written; else NULL */
    const ptx_atomic *atomic; /* of an atomic operation; else NULL */
} ptx_check_site;

struct ptx_lowering;
/* Adds the operations that look at the access, if the code has checks, or is profiled. */
void acu_ptx_check_access(struct ptx_lowering *lowering, ptx_check_site site);
/* Adds the operations that look at an arrival at an mbarrier, of a thread or of bytes: whoever
 * waits for it knows of what was done before, and of what was copied. */
void acu_ptx_check_completion(struct ptx_lowering *lowering, ptx_space space, ptx_address barrier);
/* Adds the operation that notes a fence, if the code has checks. */
void acu_ptx_check_fence(struct ptx_lowering *lowering);
/* Adds the operation that notes the end of a group of copies, if the code looks for races. */
void acu_ptx_check_commit(struct ptx_lowering *lowering);
/* Adds the one that notes that all groups but the last `left` are over. */
void acu_ptx_check_wait(struct ptx_lowering *lowering, uint32_t left);

/* Adds the operation that notes a fence.proxy.async, if the code has checks. */
void acu_ptx_check_proxy_fence(struct ptx_lowering *lowering);
/* A lane lets bytes of its block's shared memory be read asynchronously. Returns false, and reports
 * it, if a thread wrote some of them, and no fence is behind that. */
bool acu_ptx_check_async_read(ptx_warp *warp, const ptx_op *op, unsigned lane, uint64_t address,
                              uint64_t bytes);
/* Bytes of a block's shared memory are written asynchronously. */
void acu_ptx_check_async_write(ptx_block *block, uint64_t address, uint64_t bytes);

/* ---- inside ---- */

/* One lane's access. */
typedef struct ptx_checked_touch {
    const ptx_check_site *site;
    unsigned lane;
    ptx_space space;  /* PTX_GLOBAL, PTX_SHARED or PTX_LOCAL */
    uint64_t address; /* in the space */
    const char *bytes;
    const ptx_block *owner; /* of shared memory: the block whose it is, of the same cluster */
    uint32_t size;
    bool writes; /* an atomic operation may change nothing */
} ptx_checked_touch;

enum { PTX_WARPS = 32 }; /* of a block, at most */

/* When something happened: the number of the last event that ordered something before. */
typedef uint32_t ptx_time;

/*
 * What a warp knows: what was done before these times is before what it does next. This is never
 * less than what orders the threads; it may be more, so that an access is not called a race that is
 * none.
 */
typedef struct ptx_clock {
    ptx_time outside;           /* of what other blocks did */
    ptx_time inside[PTX_WARPS]; /* of what each other warp of the block did */
    ptx_time reads;             /* of what anyone read, behind which there need be no fence */
    ptx_time lanes[PTX_LANES];  /* of what other lanes of the warp did, for each lane */
} ptx_clock;

/* An access that was made; `site` NULL: none. */
typedef struct ptx_record {
    const ptx_check_site *site;
    ptx_time time;
    uint32_t lanes, block; /* low bits of the block's number */
    uint8_t warp, parts;   /* which bytes of the cell */
    bool writes;
    uint32_t group; /* of a cp.async: the number of its group; else 0 */
} ptx_record;

/* What each lane of a warp knows of each other one, by .sync operations of some of the lanes: more
 * than what `lanes` of the clock says. */
typedef ptx_time ptx_pairs[PTX_LANES][PTX_LANES];

/* A thread's groups of copies. */
typedef struct ptx_groups {
    uint32_t open, over; /* the one that copies go to, and the last one that was waited for */
} ptx_groups;

/* What was done to a few bytes: the last write, and the last reads of two warps. */
typedef struct ptx_cell {
    ptx_record write, reads[2];
} ptx_cell;

/* The accesses to 4 KiB of global memory, by words. */
enum { PTX_PAGE_SHIFT = 12, PTX_PAGE_CELLS = 1 << (PTX_PAGE_SHIFT - 2) };
typedef struct ptx_page {
    uint64_t number;
    ptx_cell cells[PTX_PAGE_CELLS];
} ptx_page;

/* Where something was released, and when. */
typedef struct ptx_release {
    const char *bytes; /* NULL: nothing */
    ptx_time time;     /* of what was done before */
    ptx_time inside;   /* the same for threads of `block`, also by what has scope .cta */
    ptx_time reads;    /* of what was read before */
    uint32_t block;    /* that released last; low bits of its number */
} ptx_release;

struct ptx_check {
    ptx_time now;
    bool races; /* there is memory, and there are times, to look for races */
    ptx_page **pages;
    size_t page_count, page_room; /* a power of two, or 0 */
    ptx_page *last;
    ptx_release *releases;
    size_t release_count, release_room;
};

struct ptx_check_block {
    ptx_cell *shared; /* of each byte of shared memory */
    ptx_clock *clocks;
    ptx_pairs *pairs;                       /* of each warp */
    ptx_groups *groups;                     /* of each thread */
    ptx_time came[PTX_BARRIERS][PTX_WARPS]; /* when a warp came that does not wait; 0: none has */
    ptx_time fenced;                        /* when a thread made the last fence */
    ptx_time fenced_outside;                /* the last one of a scope wider than .cta */
    ptx_time proxied;                       /* when a thread made the last fence.proxy.async */
    uint32_t told[PTX_WARPS]; /* lanes whose .sync operation has a report for who does not come */
    ptx_record visit;         /* the last access of another block to this one's shared memory */
    uint64_t visit_address;   /* where that was */
    /* Threads that came to one barrier by different instructions: a mistake if some come to no more
     * barriers, and others do. `check` 0: none did. */
    ptx_finding apart;
};

/* Finds where the lane's access is, without its bytes; false if it has none, or is in a space that
 * nobody looks at. */
bool acu_ptx_check_find(const ptx_warp *warp, const ptx_check_site *site, unsigned lane,
                        ptx_checked_touch *touch);
/* Looks whether a lane may access what it does. `range` is what it accesses in global memory; NULL:
 * nothing is there. */
void acu_ptx_check_bounds(ptx_warp *warp, const ptx_op *op, const ptx_checked_touch *touch,
                          const ptx_range *range);
/* A lane accesses shared memory, perhaps that of another block, which must not end before. */
void acu_ptx_check_visit(ptx_warp *warp, const ptx_checked_touch *touch);
/* Looks whether the bytes that a lane reads were ever written. */
void acu_ptx_check_written(ptx_warp *warp, const ptx_op *op, const ptx_checked_touch *touch);
/* Fills the memory of a block, to find out which of it is written. */
void acu_ptx_check_unwrite(ptx_block *block);
/* Begins a new time. */
ptx_time acu_ptx_check_tick(ptx_check *check);
/* Lets the lanes of the warp know what was done before a time, and read before another one, by
 * anyone. */
void acu_ptx_check_learn(ptx_warp *warp, uint32_t lanes, ptx_time time, ptx_time reads);
/* Lets the lanes of the warp that meet know of each other. `members` has the mask of each. */
void acu_ptx_check_meet(ptx_warp *warp, const uint32_t *members);
/* Looks for races of the lanes' accesses, which one operation makes, and remembers them. */
void acu_ptx_check_races(ptx_warp *warp, const ptx_op *op, const ptx_checked_touch *touches,
                         unsigned count);
/* The threads that wait at the barrier go on: looks how they have come. */
void acu_ptx_check_barrier(ptx_block *block, unsigned number, bool all);
/* Lanes do a .sync operation: looks at their masks. */
void acu_ptx_check_masks(ptx_warp *warp, const ptx_op *op);
/* Fills in where a thread of the launch is. */
void acu_ptx_check_locate(const ptx_block *block, uint64_t number, unsigned thread,
                          ptx_whereabouts *at);
/* Returns "shared", "local", "constant" or "global". */
const char *acu_ptx_check_space(const ptx_checked_touch *touch);
/* Returns "a read of", "a write of" or "an atomic operation on". */
const char *acu_ptx_check_access_name(const ptx_check_site *site);
/* Writes "shared memory at 0x10 (s + 16)". */
void acu_ptx_check_name(const ptx_warp *warp, const ptx_checked_touch *touch, char *text,
                        size_t size);
/* Gives the finding to the machine. */
void acu_ptx_check_give(const ptx_warp *warp, const ptx_finding *finding);

#endif
