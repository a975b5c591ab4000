/* What atomic operations make of memory. */
#ifndef ACU_SIM_PTX_ATOMIC_H
#define ACU_SIM_PTX_ATOMIC_H

#include "sim/ptx/warp.h"

typedef enum ptx_change {
    PTX_CHANGE_ADD,
    PTX_CHANGE_MIN,
    PTX_CHANGE_MAX,
    PTX_CHANGE_INC,
    PTX_CHANGE_DEC,
    PTX_CHANGE_AND,
    PTX_CHANGE_OR,
    PTX_CHANGE_XOR,
    PTX_CHANGE_EXCH,
    PTX_CHANGE_CAS
} ptx_change;

/* Changes an element of memory by `b`, and of a compare-and-swap to `c`, also if another thread of
 * the host changes it at the same time. Floats are added as global memory adds them. Returns what
 * was there before. */
uint64_t acu_ptx_change(ptx_change change, ptx_type type, char *at, uint64_t b, uint64_t c);
/* Does the same for an asynchronous copy, which takes no f32 for zero that is not normal. */
uint64_t acu_ptx_change_of_copy(ptx_change change, ptx_type type, char *at, uint64_t b);

/* Returns whether an asynchronous copy can change elements of the type so. */
bool acu_ptx_is_reduction(ptx_change change, ptx_type type);

/* What an atomic operation does, as it was lowered. */
typedef struct ptx_atomic ptx_atomic;
/* Returns whether the operation of the lane would change the bytes that it finds. */
bool acu_ptx_atomic_changes(const ptx_warp *warp, const ptx_atomic *atomic, unsigned lane,
                            const char *bytes);

#endif
