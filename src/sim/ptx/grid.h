/* Grids: the blocks of a launch, run by several workers. */
#ifndef ACU_SIM_PTX_GRID_H
#define ACU_SIM_PTX_GRID_H

#include "sim/ptx/check.h"
#include "sim/ptx/count.h"
#include "sim/ptx/jit.h"
#include "sim/ptx/runtime_call.h"
#include "sim/ptx/texture_machine.h"
#include "sim/ptx/warp.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

typedef struct ptx_grid ptx_grid;

/* Bytes that the kernel may access, all of one allocation. */
typedef struct ptx_range {
    uint64_t base, last; /* the first and the last address */
    uint64_t end; /* the last one that was asked for: sizes are rounded, which only checks see */
    char *bytes;  /* where the byte at `base` is */
    bool writable;
    bool heap; /* what malloc() returns is in it */
} ptx_range;

enum { PTX_OVERLOOKED = -1 }; /* free() was given what is no piece of the heap, and did nothing */

/* What a kernel needs of the machine that it runs on. Every function is called by several threads
 * at once. */
typedef struct ptx_machine {
    /* Finds the allocation with the address; false if the device can access none there. */
    bool (*find)(void *data, uint64_t address, ptx_range *range);
    /* Returns the address of a variable of the module in global or constant memory. */
    uint64_t (*variable)(void *data, const ptx_variable *variable);
    /* Writes where the memory is that devices have bound to bytes of a multicast object, and
     * returns how many there are; 0: the bytes are not those of one. NULL: there are no such
     * objects. */
    size_t (*multicast)(void *data, uint64_t address, size_t bytes, void **places, size_t room);
    /* Return memory of the kernels' heap, 0 if there is none; and take it back, which returns the
     * error that the kernel ends with, 0, or PTX_OVERLOOKED for what is not the heap's. */
    uint64_t (*allocate)(void *data, uint64_t bytes);
    int (*release)(void *data, uint64_t address);
    /* Does what cudaGraphSetConditional() does; false where it would reach memory of nobody. */
    bool (*set_conditional)(void *data, uint64_t handle, unsigned value);
    /* Takes what a thread prints. */
    void (*print)(void *data, const char *text, size_t size);
    /* Takes what the checks find; NULL: nobody does. */
    void (*finding)(void *data, const ptx_finding *finding);
    /* Shows a warp that has come to a place where it stops (`more` is a ptx_stop), and returns when
     * it is to go on; NULL: none stops. */
    void (*stopped)(void *data, const ptx_warp *warp, const ptx_op *op);
    /* Writes what is known of an address at which the kernel may access nothing. */
    void (*describe)(void *data, uint64_t address, char *text, size_t size);
    /* Says what is wrong with an access of the heap's memory; false if all of it is what malloc()
     * returned and free() did not take. */
    bool (*stray)(void *data, uint64_t address, uint64_t size, char *text, size_t room);
    /* Returns the word that stands at an address of global memory until it is written. */
    uint32_t (*unwritten)(uint64_t address);
    /* Does a call of the device runtime; NULL: there is none. */
    void (*runtime)(void *data, ptx_runtime_call *call);
    const ptx_textures *textures; /* NULL: there are none */
    void *data;
    int capability;     /* of the device: 90 is 9.0 */
    unsigned clock_khz; /* of %clock; 0: 1 GHz */
} ptx_machine;

typedef struct ptx_dim {
    unsigned x, y, z;
} ptx_dim;

typedef struct ptx_launch {
    const ptx_code *code;
    const ptx_machine *machine;
    unsigned grid[3], block[3], cluster[3]; /* cluster: 1, 1, 1 without clusters */
    size_t dynamic_shared;
    const void *params; /* code->param_bytes */
    unsigned multiprocessors;
    const uint64_t *processors; /* which ones, a bit for each of the device; NULL: the first ones */
    unsigned smids;             /* how many the device has; 0: no more */
    size_t stack;               /* bytes of local memory for functions that call themselves */
    unsigned workers; /* threads; 0: one for each processor; code with checks or stops has one */
    uint64_t grid_id;
    uint64_t graph;    /* the executable graph that the launch is in, for kernels; 0: none */
    uint64_t barrier;  /* the address of memory for the barrier of a cooperative launch; else 0 */
    unsigned resident; /* blocks that the device runs at a time; 0: all */
    uint64_t *cycles;  /* what clocks show, which the launch counts on; NULL: they show the time */
    double timeout;    /* seconds after which the launch fails (702); 0: never */
    ptx_jit_use jit;
    uint64_t *executed; /* if not NULL: thread-instructions are added */
    ptx_counts *counts; /* of code that is profiled: of each of code->counted, added to */
} ptx_launch;

/* How a kernel failed, in CUDA's codes: 700, 702, 710, 715 to 719; 0: it did not. */
typedef struct ptx_fault {
    int code;
    unsigned block[3], thread[3];
    uint64_t address;
    const ptx_instruction *instruction; /* NULL: none */
    const ptx_function *function;
    char what[200];
} ptx_fault;

/* Runs the launch to its end, on the calling thread and others. Returns 0, or the code of the
 * fault, which is described in `fault`; 2 (cudaErrorMemoryAllocation) without memory. */
int acu_ptx_grid_run(const ptx_launch *launch, ptx_fault *fault);

/* ---- inside ---- */

enum {
    PTX_BARRIERS = 16,
    PTX_CLUSTER_BARRIER = PTX_BARRIERS, /* the number of the cluster's, behind those of the block */
    PTX_GROUP_BARRIER,                  /* where the four warps of wgmma meet */
    PTX_MOST_BLOCKS = 16,               /* of a cluster */
    PTX_CACHED = 4,                     /* ranges, and textures, that a worker remembers */
    PTX_PATTERNS = 64,                  /* ways in which lanes lie, that a worker remembers */
    PTX_LEADS = 8,                      /* registers with addresses that a run knows at a time */
};

/* Addresses of shared and local memory, and of the kernel's parameters, in the generic space. No
 * user address of Linux is that high. */
#define PTX_SHARED_WINDOW UINT64_C(0x0001000000000000)
#define PTX_LOCAL_WINDOW  UINT64_C(0x0001010000000000)
#define PTX_PARAM_WINDOW  UINT64_C(0x0001030000000000)
#define PTX_WINDOW_SIZE   UINT64_C(0x0000000100000000)

typedef struct ptx_barrier {
    unsigned expected; /* lanes; 0: nobody waits */
    unsigned arrived;
    unsigned
        absent; /* lanes that the warps do not have, or that have ended, of warps that have come */
    bool all;   /* all lanes of the block that have not ended are expected */
    unsigned reduction,
        count; /* what is computed of the lanes' predicates; for how many they were true */
} ptx_barrier;

/* The blocks of a cluster, which one worker runs; a launch without clusters has clusters of one. */
typedef struct ptx_cluster {
    ptx_block *blocks[PTX_MOST_BLOCKS];
    unsigned count, ended; /* blocks */
    unsigned arrived;      /* lanes that have arrived at the cluster's barrier */
} ptx_cluster;

/* A block while it runs. */
struct ptx_block {
    ptx_cluster *cluster;
    unsigned rank;   /* in the cluster */
    ptx_cluster own; /* the cluster, if this is its first block */
    unsigned index[3];
    uint64_t number; /* in the grid */
    ptx_warp *warps;
    unsigned warp_count;
    char *shared; /* bytes of shared memory */
    size_t shared_bytes;
    char *bank;      /* of the block */
    unsigned opened; /* how many barriers were opened */
    ptx_barrier barriers[PTX_BARRIERS];
    uint32_t used;           /* a bit for each barrier to which lanes have come */
    unsigned threads, ended; /* lanes of the block, and those that have exited */
    ptx_worker *worker;
    const ptx_launch *launch;
    struct ptx_block *next;    /* of the worker's blocks that are alive, or of its spare ones */
    struct ptx_block *created; /* the one that the worker made before */
    void *memory;              /* all of the block's memory */
    ptx_check_block *check;    /* NULL: the code has no checks */
};

/* How the lanes' elements lie. Tiles of 16 columns have each half of the lanes in a row of its own.
 */
typedef enum ptx_lie {
    PTX_LIE_OTHERWISE,
    PTX_LIE_EQUAL, /* at one place */
    PTX_LIE_CONSECUTIVE,
    PTX_LIE_HALVES_EQUAL, /* those of each half at one place */
    PTX_LIE_HALVES_CONSECUTIVE,
} ptx_lie;

/* How the elements of a mask's lanes lie, from that of the first active lane on. */
typedef struct ptx_pattern {
    _Alignas(64) int32_t offset[PTX_LANES]; /* 0 where the lane is not active */
    int32_t low, high;
    int32_t odd;    /* bits of all offsets */
    uint32_t mask;  /* 0: there is no pattern yet */
    uint32_t bytes; /* of an element */
    ptx_lie lie;
} ptx_pattern;

/* What an operation that accesses memory remembers of the last time. */
typedef struct ptx_site {
    ptx_range range;
    uint64_t rows; /* how many bytes of it may be the first of 32 lanes' consecutive elements */
    const ptx_pattern *pattern; /* of the worker; another operation may have changed it since */
    uintptr_t loaded;           /* where the first lane's element was, of a load */
} ptx_site;

/* What the accesses behind another one know, whose addresses are in the same register. */
typedef struct ptx_lead {
    uint64_t run;     /* of the worker, in which it was found */
    uint64_t address; /* of the first active lane, in the register */
    const ptx_pattern *pattern;
    /* Of an access of shared memory, 0 of others: the least address of a lane, in the register; at
     * how many elements, from the first one on, it may be so that all lanes are inside; and where
     * the first active lane's element is if the least address is 0. */
    uint64_t least, places;
    char *shared;
} ptx_lead;

/* A texture or a surface that was opened. */
typedef struct ptx_opened {
    uint64_t handle;
    bool is_surface;
    const void *object; /* NULL: this is empty */
} ptx_opened;

/* A thread that runs blocks, one after the other, or in turns where they wait for each other. */
struct ptx_worker {
    ptx_pattern patterns[PTX_PATTERNS];
    ptx_lead leads[PTX_LEADS];
    uint64_t run; /* counts runs of operations that it interpreted, and patterns that changed */
    ptx_range cached[PTX_CACHED];
    unsigned next_cached;
    ptx_site *site; /* for each operation that accesses memory */
    ptx_opened opened[PTX_CACHED];
    unsigned next_opened, last_opened;
    const ptx_launch *launch;
    ptx_grid *grid;
    char *bank;            /* of the launch */
    unsigned number;       /* in the division */
    uint64_t next, last;   /* clusters that it took, and that have not begun */
    ptx_block *blocks;     /* that are alive */
    ptx_block *last_block; /* of these, if there are any */
    ptx_block *spare;      /* that can be used again */
    ptx_block *created;    /* all of them: the last one that was made */
    bool has_room;         /* that of its last cluster, which has ended */
    unsigned released;     /* barriers of clusters that were opened */
    unsigned turns;        /* that its blocks had, in which they did not end or wait */
    uint64_t first_cycle;  /* where the launch counts cycles: what they were before it */
    bool had_turn;         /* a warp's turn has ended since a clock was read last */
    jmp_buf end;           /* where a fault jumps */
    ptx_fault fault;
    ptx_check *check;   /* NULL: the code has no checks */
    ptx_counts *counts; /* of each of code->counted; NULL: the code is not profiled */
    const ptx_jit *jit; /* NULL: there is no machine code, or not yet */
    bool may_translate;
};

/* Returns the bytes of shared memory of each block. */
size_t acu_ptx_launch_shared(const ptx_launch *launch);

/* Returns the machine code that the warp shall run; NULL: the interpreter runs it. */
const ptx_jit *acu_ptx_worker_jit(const ptx_warp *warp);
/* Ends the kernel if the launch takes longer than it may. */
void acu_ptx_worker_look_at_time(ptx_warp *warp);

/* Begins another block in the memory of the warp's, if all of that have ended and nothing else has
 * its turn before. Returns its first warp; NULL: no block has begun. */
ptx_warp *acu_ptx_worker_next_block(const ptx_warp *warp);

/* Returns whether the operation is a bar.sync of all threads of the block, whose number is `a`. */
bool acu_ptx_is_plain_barrier(const ptx_op *op);

/* Counts lanes that have exited: barriers that wait for all lanes may be complete now. */
void acu_ptx_block_lanes_ended(ptx_warp *warp, uint32_t lanes);

/* Ends the kernel with the fault. `lane` is the one at fault. */
_Noreturn void acu_ptx_fail(ptx_warp *warp, unsigned lane, const ptx_op *op, int code,
                            uint64_t address, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
