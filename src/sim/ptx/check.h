/*
 * Checks of what kernels do with memory and barriers. Code that is lowered with checks has an
 * operation before each access, which looks at it; code without has none, so that it costs nothing.
 */
#ifndef ACU_SIM_PTX_CHECK_H
#define ACU_SIM_PTX_CHECK_H

#include "sim/ptx/ptx_module.h"

/* The checks, as bits. */
enum {
    PTX_CHECK_MEMORY = 1, /* accesses beyond what was allocated, and of what was freed */
    PTX_CHECK_RACE = 2,   /* accesses of several threads that nothing orders */
    PTX_CHECK_INIT = 4,   /* reads of what was never written */
    PTX_CHECK_SYNC = 8,   /* barriers and .sync operations to which not all threads come */
    PTX_CHECK_COUNT = 4,
    PTX_CHECK_GAP = 64, /* bytes behind each shared variable, to which nobody should come */
};

/* A thread at an instruction. */
typedef struct ptx_whereabouts {
    unsigned block[3], thread[3];
    const ptx_instruction *instruction; /* NULL: it is not known */
} ptx_whereabouts;

/* What a check found. */
typedef struct ptx_finding {
    unsigned check; /* one of the bits */
    const ptx_module *module;
    ptx_whereabouts at;
    char what[400];        /* "a write of 4 bytes …" */
    bool has_other;        /* of a race */
    ptx_whereabouts other; /* who accessed the same bytes before */
} ptx_finding;

typedef struct ptx_check ptx_check;             /* what the checks of a launch know */
typedef struct ptx_check_block ptx_check_block; /* what they know of a block */

struct ptx_warp;
struct ptx_op;
struct ptx_block;

/* Returns what the checks of a launch need; NULL without memory. The caller frees it. */
ptx_check *acu_ptx_check_new(void);
void acu_ptx_check_free(ptx_check *check);

/* Returns what the checks need of a block that has memory already; NULL without memory. The caller
 * frees it. */
ptx_check_block *acu_ptx_check_block_new(const struct ptx_block *block);
void acu_ptx_check_block_free(ptx_check_block *block);

/* A block begins: what its memory had is not its own. */
void acu_ptx_check_block_begin(struct ptx_block *block);
/* Lanes call a function, whose frame is these bytes of their local memory: what it had is not the
 * function's own. */
void acu_ptx_check_called(struct ptx_warp *warp, uint64_t at, uint64_t bytes, uint32_t lanes);
/* A warp comes to the block's barrier of that number, and does not wait (bar.arrive). */
void acu_ptx_check_came(struct ptx_warp *warp, unsigned number);
/* A barrier opens: what the threads did that came to it is before what they will do. `number` is
 * that of the block's barrier, or PTX_CLUSTER_BARRIER; `all` threads have come. */
void acu_ptx_check_opened(struct ptx_block *block, unsigned number, bool all);

/* The last threads of a block have ended. */
void acu_ptx_check_ended(struct ptx_block *block);

/* The memory is a thread's own from now on: what others did with it does not matter. */
void acu_ptx_check_forget(struct ptx_warp *warp, uint64_t address, uint64_t size);
/* No thread of the block can go on, and some wait at a barrier. */
void acu_ptx_check_stuck(struct ptx_block *block);
/* All lanes of the warp wait: some perhaps at a barrier or a .sync operation, and others behind it,
 * where lanes meet again. */
void acu_ptx_check_skipped(struct ptx_warp *warp);
/* Lanes do a .sync operation although lanes that their masks name are not among those that are
 * `present`: they will not come. */
void acu_ptx_check_missing(struct ptx_warp *warp, const struct ptx_op *op, uint32_t lanes,
                           uint32_t present);

/* Says what a lane of the warp does wrong. */
void acu_ptx_check_report(struct ptx_warp *warp, const struct ptx_op *op, unsigned lane,
                          unsigned check, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
