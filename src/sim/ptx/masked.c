/* Plain operations of which some lanes are not active. */
#include "sim/ptx/lower_inside.h"

#include <string.h>

typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));

/* Writes what the active lanes have computed; the others keep what they had. */
static void blend(const ptx_warp *w, ptx_slot to, ptx_slot from, unsigned size) {
    const uint32_t *lanes = w->lanes;
    void *d = ptx_at(w, to);
    const void *s = ptx_at(w, from);
    word16 *d16 = d;
    word32 *d32 = d;
    word64 *d64 = d;
    const word16 *s16 = s;
    const word32 *s32 = s;
    const word64 *s64 = s;
    switch (size) {
    case 0:
        *d32 = (*d32 & ~w->mask) | (*s32 & w->mask);
        break;
    case 2:
        for (unsigned i = 0; i < PTX_LANES; i++)
            d16[i] = lanes[i] ? s16[i] : d16[i];
        break;
    case 4:
        for (unsigned i = 0; i < PTX_LANES; i++)
            d32[i] = lanes[i] ? s32[i] : d32[i];
        break;
    case 8:
        for (unsigned i = 0; i < PTX_LANES; i++)
            d64[i] = lanes[i] ? s64[i] : d64[i];
        break;
    default:
        for (unsigned i = 0; i < PTX_LANES; i++)
            if (lanes[i])
                memcpy((char *)d + (size_t)i * 16, (const char *)s + (size_t)i * 16, 16);
    }
}

/* `more` is the same operation with its results elsewhere. */
static inline void run_masked(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *elsewhere = op->more;
    elsewhere->full(w, elsewhere);
    blend(w, op->d, elsewhere->d, size);
    if (op->count)
        blend(w, op->e, elsewhere->e, op->count - 1u);
}

static void masked_0(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 0);
}

static void masked_2(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 2);
}

static void masked_4(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 4);
}

static void masked_8(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 8);
}

static void masked_16(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 16);
}

ptx_handler *acu_ptx_masked(unsigned size) {
    return size == 0   ? masked_0
           : size == 2 ? masked_2
           : size == 4 ? masked_4
           : size == 8 ? masked_8
                       : masked_16;
}

bool acu_ptx_is_masked(ptx_handler *handler) {
    return handler == masked_0 || handler == masked_2 || handler == masked_4 ||
           handler == masked_8 || handler == masked_16;
}

/* `more` is the operation without its guard. */
void acu_ptx_guarded(ptx_warp *w, const ptx_op *op) {
    const ptx_op *inner = op->more;
    uint32_t mask = w->mask, lanes = mask & ptx_guard(w, op);
    if (!lanes)
        return;
    if (lanes == mask) {
        (mask == ptx_alive(w) ? inner->full : inner->masked)(w, inner);
        return;
    }
    acu_ptx_warp_set_mask(w, lanes);
    inner->masked(w, inner);
    acu_ptx_warp_set_mask(w, mask);
}
