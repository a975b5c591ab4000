/* Calls of functions, and returns from them. */
#include "sim/ptx/check.h"
#include "sim/ptx/grid.h"
#include "sim/ptx/warp_splits.h"

#include <stdlib.h>
#include <string.h>

/* Copies lanes of an element. */
static void copy_lanes(char *to, const char *from, size_t size, uint32_t mask) {
    for (; mask; mask &= mask - 1) {
        unsigned lane = (unsigned)__builtin_ctz(mask);
        memcpy(to + lane * size, from + lane * size, size);
    }
}

static void copy_predicate(uint32_t *to, uint32_t from, uint32_t mask) {
    *to = (*to & ~mask) | (from & mask);
}

static char *place(const ptx_warp *w, const ptx_frame *frame, ptx_copy_place p, unsigned lane,
                   size_t size) {
    if (p.in_slot)
        return (char *)ptx_at(w, p.at) + lane * size;
    return w->local + lane * w->local_stride + frame->local + p.at;
}

/* Returns where the caller of the frame has a value: where its registers are kept aside, there. */
static char *place_of_caller(const ptx_warp *w, const ptx_frame *frame, ptx_copy_place p,
                             unsigned lane, size_t size) {
    const ptx_code_function *f = frame->caller->function;
    if (frame->saved && p.in_slot && PTX_SLOT_BANK(p.at) == PTX_BANK_WARP &&
        PTX_SLOT_OFFSET(p.at) - f->registers < f->registers_end - f->registers)
        return frame->saved + (PTX_SLOT_OFFSET(p.at) - f->registers) + lane * size;
    return place(w, frame->caller, p, lane, size);
}

/* Copies a parameter to the frame, or a result from it. */
static void copy(const ptx_warp *w, const ptx_copy *c, const ptx_frame *frame, bool is_result,
                 uint32_t mask) {
    ptx_copy_place own = is_result ? c->from : c->to, other = is_result ? c->to : c->from;
    size_t size = c->predicate ? 0 : c->size;
    uint32_t left = c->predicate ? 1 : mask;
    for (; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        char *callee = place(w, frame, own, lane, size),
             *caller = place_of_caller(w, frame, other, lane, size),
             *to = is_result ? caller : callee, *from = is_result ? callee : caller;
        if (c->predicate)
            copy_predicate((uint32_t *)(void *)to, *(uint32_t *)(void *)from, mask);
        else
            memcpy(to, from, size);
    }
}

/* Keeps the registers of the function that calls, because the called one may use them again. */
static void save(ptx_warp *w, ptx_frame *frame, const ptx_code_function *caller) {
    size_t size = caller->registers_end - caller->registers;
    frame->saved = malloc(size ? size : 1);
    if (!frame->saved)
        acu_ptx_fail(w, 0, frame->call, 2, 0, "there is no memory for a recursive call");
    memcpy(frame->saved, w->base[PTX_BANK_WARP] + caller->registers, size);
}

static void restore(ptx_warp *w, const ptx_frame *frame, const ptx_code_function *caller,
                    uint32_t mask) {
    for (unsigned i = 0; i < caller->slot_count; i++) {
        const ptx_code_slot *slot = &caller->slots[i];
        char *to = w->base[PTX_BANK_WARP] + slot->offset;
        const char *from = frame->saved + (slot->offset - caller->registers);
        if (slot->size)
            copy_lanes(to, from, slot->size, mask);
        else
            copy_predicate((uint32_t *)(void *)to, *(const uint32_t *)(const void *)from, mask);
    }
}

/* Returns the most that a lane of the current split has allocated, which no frame may reach. */
static size_t most_allocated(const ptx_warp *w, uint32_t mask) {
    uint32_t most = 0;
    for (; w->code->allocates && mask; mask &= mask - 1) {
        const uint32_t allocated = w->allocated[__builtin_ctz(mask)];
        most = allocated > most ? allocated : most;
    }
    return most;
}

/* Begins a call for the lanes of the current split. */
static ptx_step call(ptx_warp *w, const ptx_op *op, const ptx_code_function *callee) {
    ptx_split *s = ptx_current(w);
    const ptx_call *c = op->more;
    ptx_frame *caller = s->frame, *frame = acu_ptx_warp_add_frame(w);
    frame->caller = caller;
    frame->function = callee;
    frame->call = op;
    frame->back = s->pc + 1;
    frame->lanes = s->mask;
    frame->local = caller->local + caller->function->frame;
    frame->join = acu_ptx_warp_add_join(w, s, frame->back);
    if (w->code->allocates)
        memcpy(frame->allocated, w->allocated, sizeof frame->allocated);
    if (frame->local + callee->frame > w->local_bytes - most_allocated(w, s->mask))
        acu_ptx_fail(w, (unsigned)__builtin_ctz(s->mask), op, 700, 0,
                     "the stack of %zu bytes has no room for a call of %s", w->local_bytes,
                     callee->function->name);
    if (callee->recursive) /* before its parameters, which may lie where the caller's are */
        save(w, frame, caller->function);
    if (w->block->check)
        acu_ptx_check_called(w, frame->local, callee->frame, s->mask);
    for (unsigned i = 0; i < c->param_count; i++) {
        ptx_copy one = c->params[i];
        one.to.at += one.to.in_slot ? 0 : callee->param_at[i];
        if (one.to.in_slot)
            one.to.at = callee->param_at[i];
        copy(w, &one, frame, false, s->mask);
    }
    s->frame = w->frame = frame;
    s->join = frame->join;
    s->pc = callee->begin;
    return PTX_GO;
}

/* Sends lanes that call another function than the first lane does to a split of their own, at the
 * same call. */
static uint64_t keep_one_target(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    const uint64_t *address = ptx_at(w, op->a);
    uint64_t target = address[__builtin_ctz(s->mask)];
    uint32_t same = 0;
    for (unsigned i = 0; i < PTX_LANES; i++)
        same |= (uint32_t)(address[i] == target) << i;
    if ((same & s->mask) != s->mask) {
        s->join = acu_ptx_warp_add_join(w, s, s->pc + 1);
        ptx_split other = *s;
        other.mask &= ~same;
        s->mask &= same;
        w->splits[w->split_count++] = other;
        acu_ptx_warp_set_mask(w, s->mask);
    }
    return target;
}

ptx_step acu_ptx_flow_call(ptx_warp *w, const ptx_op *op) {
    if (!(op->flags & PTX_INDIRECT))
        return call(w, op, &w->code->functions[op->value]);
    uint64_t target = keep_one_target(w, op);
    for (unsigned i = 1; i < w->code->function_count; i++)
        if (w->code->functions[i].address == target)
            return call(w, op, &w->code->functions[i]);
    /* An H200 finds no memory there, but first that no instruction can have such an address; it
     * hangs where the address is NULL. */
    enum { ALIGNMENT = 16 };
    const int error = target && target % ALIGNMENT == 0 ? 700 : 718;
    acu_ptx_fail(w, (unsigned)__builtin_ctz(w->mask), op, error, target,
                 "no function is at the address that is called%s", target ? "" : ", which is NULL");
}

ptx_step acu_ptx_flow_return(ptx_warp *w, const ptx_op *op) {
    ptx_split *s = ptx_current(w);
    uint32_t lanes = op->flags & PTX_GUARDED ? s->mask & ptx_guard(w, op) : s->mask;
    ptx_frame *frame = s->frame;
    if (!lanes) {
        s->pc++;
        return PTX_GO;
    }
    if (!frame->caller)
        return acu_ptx_warp_end_lanes(w, lanes);
    ptx_split rest = *s;
    rest.mask &= ~lanes;
    rest.pc++;
    const ptx_call *c = frame->call->more;
    for (unsigned i = 0; i < c->result_count; i++) {
        ptx_copy one = c->results[i];
        one.from.at = one.from.in_slot ? frame->function->result_at[i]
                                       : one.from.at + frame->function->result_at[i];
        copy(w, &one, frame, true, lanes);
    }
    if (w->code->allocates)
        copy_lanes((char *)w->allocated, (const char *)frame->allocated, sizeof *w->allocated,
                   lanes);
    if (frame->saved) /* behind the results, which may lie where the caller's registers are */
        restore(w, frame, frame->caller->function, lanes);
    *s = (ptx_split){.pc = frame->back,
                     .mask = lanes,
                     .join = frame->join,
                     .frame = frame->caller,
                     .turn = s->turn};
    if (rest.mask)
        w->splits[w->split_count++] = rest;
    w->frame = s->frame;
    acu_ptx_warp_set_mask(w, lanes);
    acu_ptx_warp_forget(w, lanes, frame);
    acu_ptx_warp_leave_frame(w, frame, lanes);
    return PTX_GO;
}
