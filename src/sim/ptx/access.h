/* How operations reach memory: every access is checked, and a lane that may not access what it
 * wants ends the kernel. */
#ifndef ACU_SIM_PTX_ACCESS_H
#define ACU_SIM_PTX_ACCESS_H

#include "sim/ptx/grid.h"

/* What a load or a store does; `more` of its operation. The operation's `a` is the address, `value`
 * its offset. */
typedef struct ptx_access {
    ptx_space space;       /* PTX_GLOBAL also stands for constants */
    uint8_t size, count;   /* bytes of an element in memory, and how many elements a lane has */
    uint8_t register_size; /* bytes of an element in a register */
    bool is_signed;        /* loads extend the sign */
    bool narrow;           /* the address has 32 bits */
    ptx_slot slots[16];    /* of the elements; UINT32_MAX: `_` */
} ptx_access;

/* The `flags` of such an operation say the same again, so that most often nothing else is read. */
enum {
    PTX_ACCESS_PLAIN = 1, /* one element, as large in its register, `b`, as in memory */
    PTX_ACCESS_NARROW = 2,
    PTX_ACCESS_SHARED = 4, /* in shared memory; with PTX_ACCESS_GLOBAL: in any of the two */
    PTX_ACCESS_GLOBAL = 8,
    PTX_ACCESS_LEADS = 16, /* accesses behind it have the same addresses, but for `value` */
};

/* Returns where a lane's bytes are. The kernel ends where the lane may not access them, or they are
 * not aligned to `align` (a power of two). */
char *acu_ptx_memory_at(ptx_warp *warp, const ptx_op *op, unsigned lane, ptx_space space,
                        uint64_t address, size_t bytes, size_t align, bool writes);

/* Finds the allocation that has the bytes of one lane in global memory, and remembers it for the
 * operation. */
const ptx_range *acu_ptx_memory_range(ptx_warp *warp, const ptx_op *op, unsigned lane,
                                      uint64_t address, size_t bytes, bool writes);

/* The handlers of loads and stores for this processor, by the binary logarithm of the element's
 * size. */
typedef struct ptx_memory_handlers {
    ptx_handler *load[4], *store[4];
    ptx_handler *load_behind[4], *store_behind[4]; /* plain ones, behind one that leads */
} ptx_memory_handlers;
const ptx_memory_handlers *acu_ptx_memory_handlers(void);

/* Lets the interpreter use for an access what one before it in its run found, where both have
 * elements of one size and their addresses in one register, which nothing has changed between. */
void acu_ptx_lead_accesses(ptx_code *code);

/* The address of an instruction's operand. */
typedef struct ptx_address {
    ptx_slot slot;
    int64_t offset;
    bool narrow; /* the slot has 32 bits */
} ptx_address;

/* Returns the address of a lane. One of 32 bits wraps around. */
static inline uint64_t ptx_lane_address(const ptx_warp *warp, ptx_address address, unsigned lane) {
    const void *at = ptx_at(warp, address.slot);
    if (address.narrow)
        return (uint32_t)(((const uint32_t *)at)[lane] + (uint64_t)address.offset);
    return ((const uint64_t *)at)[lane] + (uint64_t)address.offset;
}

struct ptx_lowering;
ptx_address acu_ptx_address(struct ptx_lowering *lowering, const ptx_operand *operand,
                            ptx_space space);

#endif
