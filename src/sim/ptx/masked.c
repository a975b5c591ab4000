/* Plain operations of which some lanes are not active, or which have a guard. */
#include "sim/ptx/masked.h"

#include "sim/ptx/level.h"
#include "sim/ptx/lower_inside.h"

extern const ptx_masked_handlers acu_ptx_masked_handlers_v1, acu_ptx_masked_handlers_v3,
    acu_ptx_masked_handlers_v4;

const ptx_masked_handlers *acu_ptx_masked_handlers(void) {
    return PTX_OF_LEVEL(acu_ptx_level(), &acu_ptx_masked_handlers_v1, &acu_ptx_masked_handlers_v3,
                        &acu_ptx_masked_handlers_v4);
}

static unsigned place_of_size(unsigned size) {
    return size < 8 ? size / 2 : size == 8 ? 3 : 4;
}

static bool is_one_of(ptx_handler *const *all, ptx_handler *handler) {
    for (unsigned n = 0; n <= place_of_size(16); n++)
        if (handler == all[n])
            return true;
    return false;
}

ptx_handler *acu_ptx_masked(unsigned size) {
    return acu_ptx_masked_handlers()->of_size[place_of_size(size)];
}

bool acu_ptx_is_masked(ptx_handler *handler) {
    return is_one_of(acu_ptx_masked_handlers()->of_size, handler);
}

/* `more` is the operation without its guard, which is more than computing. */
static void guarded(ptx_warp *w, const ptx_op *op) {
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

void acu_ptx_guard(ptx_op *op, const ptx_op *inner, ptx_slot guard, bool negated) {
    ptx_handler *handler = acu_ptx_is_masked(inner->masked)
                               ? acu_ptx_masked_handlers()->guarded[place_of_size(inner->size)]
                               : guarded;
    *op = (ptx_op){.full = handler,
                   .masked = handler,
                   .guard = guard,
                   .negated = negated,
                   .more = inner,
                   .instruction = inner->instruction};
}

bool acu_ptx_is_guarded(ptx_handler *handler) {
    return handler == guarded || is_one_of(acu_ptx_masked_handlers()->guarded, handler);
}
