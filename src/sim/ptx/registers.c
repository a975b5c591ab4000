#include "sim/ptx/registers.h"

#include "sim/ptx/form.h"
#include "sim/ptx/lower.h"

#include <stdlib.h>
#include <string.h>

unsigned acu_ptx_size_of_register(const ptx_register *r) {
    size_t size = acu_ptx_type_size(r->type);
    return r->type == PTX_PRED ? 0 : size < 2 ? 2 : (unsigned)size;
}

/* ---- what an instruction reads and writes ---- */

static void touch_operand(const ptx_operand *o, unsigned how, ptx_touch *touch, void *data) {
    if (o->kind == PTX_REGISTER || (o->kind == PTX_ADDRESS && o->is_register))
        touch(data, o->number, how);
    for (unsigned n = 0; n < o->element_count; n++)
        touch_operand(&o->elements[n], how, touch, data);
}

int acu_ptx_results_of(const ptx_instruction *i) {
    if (acu_ptx_is(i, "call"))
        return i->operand_count && i->operands[0].kind == PTX_GROUP;
    switch (acu_ptx_lower_writes(i->opcode)) {
    case PTX_WRITES_NOTHING:
        return 0;
    case PTX_WRITES_FIRST:
        return i->paired ? 2 : 1;
    case PTX_WRITES_AS_FORM: {
        const ptx_form *form = acu_ptx_form_find(i->opcode);
        return form ? (int)form->results : -1;
    }
    default:
        return -1;
    }
}

void acu_ptx_touches(const ptx_instruction *i, ptx_touch *touch, void *data) {
    if (i->absorbed)
        return;
    int results = acu_ptx_results_of(i);
    unsigned first = results < 0 ? 0 : (unsigned)results;
    if (i->guard >= 0)
        touch(data, (unsigned)i->guard, PTX_READS);
    for (unsigned n = first; n < i->operand_count; n++)
        touch_operand(&i->operands[n], PTX_READS, touch, data);
    unsigned how = PTX_WRITES | (results > 0 && i->guard < 0 ? PTX_REPLACES : 0);
    for (unsigned n = 0; n < (results < 0 ? i->operand_count : first); n++)
        touch_operand(&i->operands[n], how, touch, data);
}

/* ---- from where to where a value is needed ---- */

/* Instruction n reads at 2n and writes at 2n + 1. */
typedef struct life {
    uint32_t begin, end; /* begin > end: the register is not used */
    uint32_t block;      /* that uses the register; UINT32_MAX: none yet */
    uint32_t bit;        /* of the sets, where several blocks need the value; UINT32_MAX: none */
} life;

typedef struct lives {
    const ptx_function *f;
    const ptx_flow_graph *flow;
    life *of;               /* for each register */
    uint32_t words, bits;   /* of a set */
    uint64_t *reads, *kept; /* for each block: needed at its begin; what is needed there if
                               it is needed behind the block */
    uint32_t block, at;     /* the instruction that is looked at */
    bool apart;             /* its results may not lie where its operands do */
} lives;

static void extend(life *one, uint32_t at) {
    one->begin = at < one->begin ? at : one->begin;
    one->end = at > one->end ? at : one->end;
}

static void for_each_touch(lives *l, ptx_touch *touch) {
    for (l->block = 0; l->block < l->flow->count; l->block++) {
        const ptx_basic_block *b = &l->flow->blocks[l->block];
        for (l->at = b->begin; l->at < b->end; l->at++) {
            const ptx_instruction *i = &l->f->instructions[l->at];
            const ptx_form *form = acu_ptx_lower_writes(i->opcode) == PTX_WRITES_AS_FORM
                                       ? acu_ptx_form_find(i->opcode)
                                       : NULL;
            l->apart = !form || form->results > 1;
            acu_ptx_touches(i, touch, l);
            if (acu_ptx_is(i, "ret"))
                for (const ptx_variable *v = l->f->results; v; v = v->next)
                    if (v->in_register)
                        touch(l, v->number, PTX_READS);
        }
    }
    l->block = l->flow->count - 1; /* where the function ends without a return */
    for (const ptx_variable *v = l->f->results; v; v = v->next)
        if (v->in_register)
            touch(l, v->number, PTX_READS);
}

/* Finds the registers whose value more than one block needs. */
static void find_shared(void *data, unsigned number, unsigned how) {
    lives *l = data;
    life *one = &l->of[number];
    bool begins = how & PTX_REPLACES, known = one->block != UINT32_MAX;
    if (!known)
        one->block = l->block;
    if (one->bit == UINT32_MAX && (known ? one->block != l->block : !begins))
        one->bit = l->bits++;
}

static void set_bit(uint64_t *set, uint32_t bit) {
    set[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool has_bit(const uint64_t *set, uint32_t bit) {
    return set[bit / 64] >> bit % 64 & 1;
}

static void look_at(void *data, unsigned number, unsigned how) {
    lives *l = data;
    life *one = &l->of[number];
    if (how & PTX_READS)
        extend(one, 2 * l->at + l->apart);
    if (how & PTX_WRITES)
        extend(one, 2 * l->at + 1);
    if (one->bit == UINT32_MAX)
        return;
    uint64_t *reads = l->reads + (size_t)l->block * l->words;
    uint64_t *kept = l->kept + (size_t)l->block * l->words;
    if (!(how & PTX_REPLACES)) {
        if (has_bit(kept, one->bit))
            set_bit(reads, one->bit);
    } else {
        kept[one->bit / 64] &= ~(UINT64_C(1) << one->bit % 64);
    }
}

/* Returns room for one more set. */
static uint64_t *spare_set(const lives *l) {
    return l->reads + 2 * (size_t)l->words * l->flow->count;
}

/* Adds to what the block needs what the blocks behind it need. */
static bool flow_back(lives *l, uint32_t block, uint64_t *behind) {
    const ptx_basic_block *b = &l->flow->blocks[block];
    uint64_t *reads = l->reads + (size_t)block * l->words, changed = 0;
    const uint64_t *kept = l->kept + (size_t)block * l->words;
    memset(behind, 0, l->words * sizeof *behind);
    for (uint32_t n = 0; n < b->next_count; n++)
        for (uint32_t w = 0; w < l->words; w++)
            behind[w] |= l->reads[(size_t)b->next[n] * l->words + w];
    for (uint32_t w = 0; w < l->words; w++) {
        uint64_t needed = reads[w] | (behind[w] & kept[w]);
        changed |= needed ^ reads[w];
        reads[w] = needed;
    }
    return changed;
}

/* Extends the life of each shared register over the blocks that its value passes. */
static void extend_over_blocks(lives *l) {
    uint64_t *behind = spare_set(l);
    for (uint32_t block = 0; block < l->flow->count; block++) {
        const ptx_basic_block *b = &l->flow->blocks[block];
        const uint64_t *before = l->reads + (size_t)block * l->words;
        flow_back(l, block, behind);
        for (unsigned n = 0; n < l->f->register_count; n++) {
            uint32_t bit = l->of[n].bit;
            if (bit == UINT32_MAX)
                continue;
            if (has_bit(before, bit))
                extend(&l->of[n], 2 * b->begin);
            if (has_bit(behind, bit))
                extend(&l->of[n], 2 * b->end);
        }
    }
}

/* Finds when the function needs each register. False without memory. The caller frees `reads`. */
static bool find_lives(lives *l) {
    for (unsigned n = 0; n < l->f->register_count; n++)
        l->of[n] = (life){.begin = UINT32_MAX, .block = UINT32_MAX, .bit = UINT32_MAX};
    for (const ptx_variable *v = l->f->params; v; v = v->next)
        if (v->in_register)
            extend(&l->of[v->number], 0); /* the caller writes it */
    for_each_touch(l, find_shared);
    l->words = l->bits / 64 + 1;
    size_t set = l->words, sets = set * l->flow->count;
    uint64_t *all = calloc(2 * sets + set, sizeof *all);
    if (!all)
        return false;
    l->reads = all;
    l->kept = all + sets;
    memset(l->kept, 0xff, sets * sizeof *l->kept);
    for_each_touch(l, look_at);
    /* Forwards every second time, for texts whose blocks are in another order than the program. */
    const uint32_t count = l->flow->count;
    bool changed = true;
    for (bool forwards = false; changed; forwards = !forwards) {
        changed = false;
        for (uint32_t n = 0; n < count; n++)
            changed |= flow_back(l, forwards ? n : count - 1 - n, spare_set(l));
    }
    return true;
}

/* ---- places ---- */

enum { CLASSES = 5 }; /* predicates, and elements of 2, 4, 8, 16 bytes */

static unsigned class_of(unsigned size) {
    return size < 8 ? size / 2 : size == 8 ? 3 : 4;
}

/* Registers in the order in which they begin, or end, to be needed: lists by position. */
typedef struct events {
    uint32_t *begin, *end;           /* for each position, the first register; UINT32_MAX: none */
    uint32_t *next_begin, *next_end; /* for each register, the next one */
    uint32_t *free, free_count[CLASSES], registers;
    bool shares; /* a place is given back where its register is not needed any more */
} events;

static void list_events(const lives *l, const bool *apart, events *e) {
    for (unsigned n = l->f->register_count; n-- > 0;) {
        const life *one = &l->of[n];
        if (apart[n] || one->begin > one->end)
            continue;
        e->next_begin[n] = e->begin[one->begin];
        e->begin[one->begin] = n;
        e->next_end[n] = e->end[one->end];
        e->end[one->end] = n;
    }
}

/* The place that was given back last is taken first, because it is in the processor's cache. */
static void give_places(const lives *l, events *e, uint32_t positions, ptx_places *places) {
    for (uint32_t at = 0; at < positions; at++) {
        for (uint32_t n = e->begin[at]; n != UINT32_MAX; n = e->next_begin[n]) {
            unsigned size = acu_ptx_size_of_register(&l->f->registers[n]), class = class_of(size);
            if (e->free_count[class]) {
                places->of[n] = e->free[class * e->registers + --e->free_count[class]];
            } else {
                places->of[n] = places->count;
                places->places[places->count++] = (ptx_code_slot){0, size};
            }
        }
        for (uint32_t n = e->end[at]; n != UINT32_MAX && e->shares; n = e->next_end[n]) {
            unsigned class = class_of(acu_ptx_size_of_register(&l->f->registers[n]));
            e->free[class * e->registers + e->free_count[class]++] = places->of[n];
        }
    }
}

static bool give_all(const lives *l, const bool *apart, bool shares, ptx_places *places) {
    uint32_t positions = 2 * l->f->instruction_count + 2, registers = l->f->register_count;
    size_t size = 2 * (size_t)positions + (2 + CLASSES) * (size_t)registers;
    uint32_t *all = malloc(size * sizeof *all);
    if (!all)
        return false;
    memset(all, 0xff, size * sizeof *all);
    events e = {.begin = all, .end = all + positions, .registers = registers};
    e.next_begin = all + 2 * (size_t)positions;
    e.next_end = e.next_begin + registers;
    e.free = e.next_end + registers;
    list_events(l, apart, &e);
    e.shares = shares;
    give_places(l, &e, positions, places);
    free(all);
    return true;
}

/* Finds the places whose values are needed where each block begins. False without memory. */
static bool find_needed(const lives *l, ptx_arena *arena, ptx_places *places) {
    places->words = places->count / 64 + 1;
    places->needed =
        acu_ptx_arena_alloc(arena, (size_t)l->flow->count * places->words * sizeof *places->needed);
    if (!places->needed)
        return false;
    for (uint32_t block = 0; block < l->flow->count; block++)
        for (unsigned n = 0; n < l->f->register_count; n++)
            if (l->of[n].bit != UINT32_MAX && places->of[n] != UINT32_MAX &&
                has_bit(l->reads + (size_t)block * l->words, l->of[n].bit))
                set_bit(places->needed + (size_t)block * places->words, places->of[n]);
    return true;
}

bool acu_ptx_places_of(const ptx_function *f, const ptx_flow_graph *flow, const bool *apart,
                       bool shares, ptx_arena *arena, ptx_places *places) {
    size_t count = f->register_count + 1;
    places->count = 0;
    places->of = acu_ptx_arena_alloc(arena, count * sizeof *places->of);
    places->places = acu_ptx_arena_alloc(arena, count * sizeof *places->places);
    lives l = {.f = f, .flow = flow, .of = calloc(count, sizeof *l.of)};
    bool ok = places->of && places->places && l.of;
    if (ok) {
        memset(places->of, 0xff, count * sizeof *places->of);
        ok = find_lives(&l);
    }
    if (ok) {
        extend_over_blocks(&l);
        ok = give_all(&l, apart, shares, places) && find_needed(&l, arena, places);
    }
    free(l.reads);
    free(l.of);
    return ok;
}

/* ---- how many values are needed at a time ---- */

/* What is needed behind the instruction that is looked at; it goes backwards. */
typedef struct counting {
    const unsigned char *words; /* of each register */
    uint32_t *needed_in;        /* for each register, the last block, from 1 on, that needed it */
    uint32_t block;
    unsigned now;
} counting;

static void set_needed(counting *c, unsigned number, bool needed) {
    if ((c->needed_in[number] == c->block) == needed)
        return;
    c->needed_in[number] = needed ? c->block : 0;
    c->now = needed ? c->now + c->words[number] : c->now - c->words[number];
}

/* A result takes a register, even if nobody reads it. */
static void count_result(void *data, unsigned number, unsigned how) {
    if (how & PTX_WRITES)
        set_needed(data, number, true);
}

static void end_result(void *data, unsigned number, unsigned how) {
    if (how & PTX_REPLACES)
        set_needed(data, number, false);
}

static void begin_operand(void *data, unsigned number, unsigned how) {
    if (how & PTX_READS)
        set_needed(data, number, true);
}

static void keep_most(const counting *c, unsigned *most) {
    *most = c->now > *most ? c->now : *most;
}

static void count_block(lives *l, counting *c, unsigned *needed) {
    const ptx_basic_block *b = &l->flow->blocks[c->block - 1];
    const uint64_t *behind = spare_set(l);
    c->now = 0;
    flow_back(l, c->block - 1, spare_set(l));
    for (unsigned n = 0; n < l->f->register_count; n++)
        if (l->of[n].bit != UINT32_MAX && has_bit(behind, l->of[n].bit))
            set_needed(c, n, true);
    for (uint32_t at = b->end; at-- > b->begin;) {
        const ptx_instruction *i = &l->f->instructions[at];
        acu_ptx_touches(i, count_result, c);
        keep_most(c, &needed[at]);
        acu_ptx_touches(i, end_result, c);
        acu_ptx_touches(i, begin_operand, c);
        keep_most(c, &needed[at]);
    }
}

bool acu_ptx_count_needed(const ptx_function *f, const ptx_flow_graph *flow,
                          const unsigned char *words, unsigned *needed) {
    size_t count = f->register_count + 1;
    lives l = {.f = f, .flow = flow, .of = calloc(count, sizeof *l.of)};
    counting c = {.words = words, .needed_in = calloc(count, sizeof *c.needed_in)};
    bool ok = l.of && c.needed_in && find_lives(&l);
    for (uint32_t block = 0; ok && block < flow->count; block++) {
        c.block = block + 1;
        count_block(&l, &c, needed);
    }
    free(c.needed_in);
    free(l.reads);
    free(l.of);
    return ok;
}
