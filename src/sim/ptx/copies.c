/*
 * Copies of registers. nvcc puts a mov before and behind each shuffle, and at both ends of what was
 * inlined. A lane's copy and its register have one value, whatever other lanes do, because a lane
 * comes to an instruction of a basic block only through those before it.
 */
#include "sim/ptx/copies.h"

#include "sim/ptx/registers.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COPIES = 16 }; /* that are known at a time: the last ones */

typedef struct known_copy {
    unsigned to, from;
} known_copy;

typedef struct forwarding {
    ptx_function *f;
    ptx_arena *arena;
    known_copy known[MOST_COPIES];
    unsigned count;
    /* For each register. The value that it has where some block begins is needed; what it has at
     * this place of a block is needed, or replaced, in the rest or the beginning of that block,
     * whose number and 1 is here. */
    bool *exposed;
    uint32_t *needed, *replaced;
    uint32_t block; /* its number and 1 */
} forwarding;

/* ---- reading the register itself ---- */

/* Returns whether the instruction copies a register, and nothing else. */
static bool is_copy(const ptx_function *f, const ptx_instruction *i) {
    if (i->guard >= 0 || i->absorbed || i->operand_count != 2 || !acu_ptx_is(i, "mov"))
        return false;
    for (unsigned n = 0; n < 2; n++)
        if (i->operands[n].kind != PTX_REGISTER || i->operands[n].has_component ||
            i->operands[n].negated || f->registers[i->operands[n].number].is_vector)
            return false;
    const unsigned size = acu_ptx_size_of_register(&f->registers[i->operands[0].number]);
    return size && size == acu_ptx_size_of_register(&f->registers[i->operands[1].number]) &&
           i->operands[0].number != i->operands[1].number;
}

static void forget_written(void *data, unsigned number, unsigned how) {
    forwarding *c = data;
    unsigned kept = 0;
    for (unsigned n = 0; n < c->count && how & PTX_WRITES; n++)
        if (c->known[n].to != number && c->known[n].from != number)
            c->known[kept++] = c->known[n];
    c->count = how & PTX_WRITES ? kept : c->count;
}

static void learn(forwarding *c, const ptx_instruction *i) {
    if (c->count == MOST_COPIES)
        memmove(c->known, c->known + 1, --c->count * sizeof *c->known);
    c->known[c->count++] = (known_copy){i->operands[0].number, i->operands[1].number};
}

/* Returns the register to read in place of the operand's. */
static unsigned original_of(const forwarding *c, const ptx_operand *o) {
    const bool is_plain = o->kind == PTX_REGISTER && !o->has_component;
    for (unsigned n = 0; n < c->count && (is_plain || (o->kind == PTX_ADDRESS && o->is_register));
         n++)
        if (c->known[n].to == o->number)
            return c->known[n].from;
    return o->number;
}

/* Lets the instruction read registers themselves; false without memory. */
static bool read_originals(forwarding *c, ptx_instruction *i) {
    const int results = acu_ptx_results_of(i);
    bool is_own = false; /* the operands are the text's */
    for (unsigned n = (unsigned)results; results >= 0 && n < i->operand_count; n++) {
        const unsigned from = original_of(c, &i->operands[n]);
        if (from == i->operands[n].number)
            continue;
        if (!is_own)
            i->operands =
                acu_ptx_arena_copy(c->arena, i->operands, i->operand_count * sizeof *i->operands);
        if (!i->operands)
            return false;
        is_own = true;
        i->operands[n].number = from;
    }
    return true;
}

static bool forward_in(forwarding *c, const ptx_basic_block *block) {
    c->count = 0;
    for (uint32_t n = block->begin; n < block->end; n++) {
        ptx_instruction *i = &c->f->instructions[n];
        if (i->absorbed)
            continue;
        if (acu_ptx_is(i, "call"))
            c->count = 0;
        else if (!read_originals(c, i))
            return false;
        acu_ptx_touches(i, forget_written, c);
        if (is_copy(c->f, i))
            learn(c, i);
    }
    return true;
}

/* ---- copies that nobody reads ---- */

static void note_exposed(void *data, unsigned number, unsigned how) {
    forwarding *c = data;
    if (how & PTX_REPLACES)
        c->replaced[number] = c->block;
    else if (c->replaced[number] != c->block)
        c->exposed[number] = true;
}

static void note_replaced(void *data, unsigned number, unsigned how) {
    forwarding *c = data;
    if (how & PTX_REPLACES)
        c->needed[number] = 0;
}

static void note_needed(void *data, unsigned number, unsigned how) {
    forwarding *c = data;
    if (!(how & PTX_REPLACES))
        c->needed[number] = c->block;
}

static void absorb_in(forwarding *c, const ptx_basic_block *block) {
    for (uint32_t n = block->end; n-- > block->begin;) {
        ptx_instruction *i = &c->f->instructions[n];
        const unsigned to = is_copy(c->f, i) ? i->operands[0].number : 0;
        i->absorbed |= is_copy(c->f, i) && !c->exposed[to] && c->needed[to] != c->block;
        acu_ptx_touches(i, note_replaced, c);
        acu_ptx_touches(i, note_needed, c);
    }
}

static void absorb(forwarding *c, const ptx_flow_graph *flow) {
    for (const ptx_variable *v = c->f->results; v; v = v->next)
        if (v->in_register)
            c->exposed[v->number] = true;
    for (uint32_t block = 0; block < flow->count; block++) {
        c->block = block + 1;
        for (uint32_t n = flow->blocks[block].begin; n < flow->blocks[block].end; n++)
            acu_ptx_touches(&c->f->instructions[n], note_exposed, c);
    }
    for (uint32_t block = 0; block < flow->count; block++) {
        c->block = block + 1;
        absorb_in(c, &flow->blocks[block]);
    }
}

bool acu_ptx_forward_copies(ptx_function *f, const ptx_flow_graph *flow, ptx_arena *arena) {
    const size_t registers = f->register_count + 1;
    forwarding c = {.f = f,
                    .arena = arena,
                    .exposed = calloc(registers, sizeof *c.exposed),
                    .needed = calloc(registers, sizeof *c.needed),
                    .replaced = calloc(registers, sizeof *c.replaced)};
    bool ok = c.exposed && c.needed && c.replaced;
    for (uint32_t block = 0; ok && block < flow->count; block++)
        ok = forward_in(&c, &flow->blocks[block]);
    if (ok)
        absorb(&c, flow);
    free(c.exposed);
    free(c.needed);
    free(c.replaced);
    return ok;
}
