/* From functions to code: what is found out when all functions are there. */
#include "sim/ptx/access.h"
#include "sim/ptx/jit.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/masked.h"

#include <stdlib.h>
#include <string.h>

/* ---- calls ---- */

/* Returns whether the operation may call the function: directly, or by an address that something
 * takes. */
static bool may_call(const ptx_code *code, const ptx_op *op, uint32_t callee) {
    if (op->flow != acu_ptx_flow_call)
        return false;
    return op->flags & PTX_INDIRECT ? code->functions[callee].address != 0 : op->value == callee;
}

/* Fills in who calls whom, directly and by way of others. */
static void find_calls(const ptx_code *code, bool *calls) {
    uint32_t count = code->function_count;
    for (uint32_t f = 0; f < count; f++)
        for (uint32_t n = code->functions[f].begin; n < code->functions[f].end; n++)
            for (uint32_t callee = 1; callee < count && code->ops[n].flow == acu_ptx_flow_call;
                 callee++)
                calls[f * count + callee] |= may_call(code, &code->ops[n], callee);
    for (uint32_t by = 0; by < count; by++)
        for (uint32_t f = 0; f < count; f++)
            for (uint32_t callee = 0; callee < count && calls[f * count + by]; callee++)
                calls[f * count + callee] |= calls[by * count + callee];
}

static void list_slots(ptx_lowering *l, uint32_t number) {
    ptx_code_function *f = &l->code->functions[number];
    const ptx_lowered *lowered = &l->functions[number];
    f->slots = lowered->places;
    f->slot_count = lowered->place_count;
}

/* Finds which functions may be called while they run. The local memory has room for each of the
 * others once. A call of one that may takes a part of the stack, so that recursion ends. */
static void find_recursion(ptx_lowering *l) {
    ptx_code *code = l->code;
    uint32_t count = code->function_count;
    bool *calls = acu_ptx_lower_alloc(l, (size_t)count * count);
    find_calls(code, calls);
    for (uint32_t f = 0; f < count; f++) {
        code->functions[f].recursive = calls[f * count + f];
        if (code->functions[f].recursive && !code->functions[f].frame)
            code->functions[f].frame = 16;
        code->local_bytes += code->functions[f].frame;
        code->recurses |= calls[f * count + f];
    }
    for (uint32_t f = 0; f < count; f++)
        if (code->recurses)
            list_slots(l, f);
}

/* ---- operations ---- */

/* A pure operation with a mask computes its results elsewhere first. */
static void add_masked(ptx_lowering *l, ptx_op *op) {
    if (acu_ptx_is_guarded(op->full)) {
        add_masked(l, (ptx_op *)(uintptr_t)op->more);
        return;
    }
    if (!acu_ptx_is_masked(op->masked))
        return;
    ptx_op *elsewhere = acu_ptx_lower_alloc(l, sizeof *elsewhere);
    *elsewhere = *op;
    elsewhere->d = PTX_SCRATCH;
    if (op->count)
        elsewhere->e = PTX_OTHER_SCRATCH;
    op->more = elsewhere;
}

/* Returns whether two guarded operations give words to the same register, each for the lanes that
 * the other one leaves out. */
static bool are_sides(const ptx_op *op, const ptx_op *other) {
    if (!acu_ptx_is_guarded(op->full) || other->full != op->full || other->guard != op->guard ||
        other->negated == op->negated)
        return false;
    const ptx_op *a = op->more, *b = other->more;
    return acu_ptx_is_masked(a->masked) && acu_ptx_is_masked(b->masked) && a->size == 4 &&
           b->size == 4 && !a->count && !b->count && a->d == b->d;
}

/* Returns whether an operation is no vector instruction of the processor, but dozens for each lane.
 */
static bool takes_long(const ptx_op *op) {
    static const char *const words[] = {"div", "rem", "sqrt", "rcp",  "rsqrt", "ex2",
                                        "lg2", "sin", "cos",  "tanh", "fns"};
    for (unsigned n = 0; n < sizeof words / sizeof *words; n++)
        if (acu_ptx_is(op->instruction, words[n]))
            return true;
    return false;
}

/* Lets the interpreter do both sides of a branch at once where each is one operation; their results
 * are in two places until then. The operation behind has its `next` already, and is none of these
 * if it is done at once with the one behind itself. */
static void add_choice(ptx_op *op) {
    const ptx_op *other = op->next;
    if (other >= op + op->run || !are_sides(op, other) || other->interpreted[0] != other->full)
        return;
    const ptx_op *inner = other->more;
    ((ptx_op *)(uintptr_t)inner->more)->d = PTX_OTHER_SCRATCH;
    op->value = other - op;
    op->next = other->next;
    op->flags = takes_long(op) || takes_long(other) ? PTX_CHOICE_LONG : 0;
    op->changes = ptx_slot_bit(inner->d);
    for (unsigned n = 0; n < 2; n++)
        op->interpreted[n] = acu_ptx_masked_handlers()->choose[n];
}

static void finish(ptx_lowering *l) {
    ptx_code *code = l->code;
    for (uint32_t n = code->count; n-- > 0;) {
        ptx_op *op = &code->ops[n];
        if (op->flow == acu_ptx_flow_branch || op->flow == acu_ptx_flow_jump) {
            code->spins |= op->flags & PTX_MAY_SPIN;
            op->flags |= op->value <= n ? PTX_BACK : 0;
        }
        if (op->flow)
            continue;
        add_masked(l, op);
        const ptx_op *next = op + 1;
        op->run = n + 1 < code->count ? next->run + 1 : 1;
        op->changes =
            acu_ptx_is_masked(op->masked) && !op->count ? ptx_slot_bit(op->d) : PTX_ALL_SLOTS;
        op->next = n + 1 < code->count && next->full == acu_ptx_nothing ? next->next : next;
        op->interpreted[0] = op->full;
        op->interpreted[1] = op->masked;
        add_choice(op);
    }
    acu_ptx_lead_accesses(code);
    if (code->function_count > 1 || ptx_is_watched(code))
        code->needed = NULL;
    code->warp_bytes = (code->warp_bytes + 63) / 64 * 64;
    code->launch_bytes = (code->launch_bytes + 63) / 64 * 64;
    code->block_bytes = (code->block_bytes + 63) / 64 * 64;
}

static void place_params(ptx_code *code) {
    for (ptx_variable *v = code->entry->params; v; v = v->next) {
        size_t align = v->align ? v->align : 1;
        code->param_bytes = (uint32_t)((code->param_bytes + align - 1) / align * align);
        v->at = code->param_bytes;
        code->param_bytes += (uint32_t)v->size;
    }
}

static void make(ptx_lowering *l, const ptx_function *entry) {
    ptx_code *code = l->code;
    code->module = l->module;
    code->entry = entry;
    code->warp_bytes = PTX_TEMP_BYTES + PTX_SCRATCH_BYTES;
    place_params(code);
    acu_ptx_function_number(l, entry);
    for (l->current = 0; l->current < code->function_count; l->current++)
        acu_ptx_lower_function(l);
    find_recursion(l);
    acu_ptx_name_syncs(l);
    acu_ptx_check_syncs(l);
    finish(l);
}

static void keep_watch(ptx_lowering *l, const ptx_watch *watch) {
    if (!watch)
        return;
    l->code->watch = *watch;
    if (watch->stop_file) {
        size_t size = strlen(watch->stop_file) + 1;
        l->code->watch.stop_file = memcpy(acu_ptx_lower_alloc(l, size), watch->stop_file, size);
    }
}

ptx_result acu_ptx_code_make(const ptx_module *module, const ptx_function *entry,
                             const ptx_watch *watch, ptx_code **made, ptx_error *error) {
    ptx_lowering l = {.module = module, .error = error};
    l.code = calloc(1, sizeof *l.code);
    l.arena = acu_ptx_arena_new();
    *made = NULL;
    if (!l.code || !l.arena) {
        free(l.code);
        acu_ptx_arena_free(l.arena);
        return PTX_NO_MEMORY;
    }
    l.code->arena = l.arena;
    l.code->level = acu_ptx_level();
    if (!setjmp(l.end)) {
        keep_watch(&l, watch);
        make(&l, entry);
    }
    free(l.constant_hash);
    if (l.result)
        acu_ptx_code_free(l.code);
    else
        *made = l.code;
    return l.result;
}

void acu_ptx_code_free(ptx_code *code) {
    if (!code)
        return;
    acu_ptx_jit_free(code->jit);
    free(code->ops);
    free(code->constants);
    free(code->specials);
    free(code->counted);
    acu_ptx_arena_free(code->arena);
    free(code);
}
