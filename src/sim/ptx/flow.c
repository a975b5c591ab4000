#include "sim/ptx/flow.h"

#include <stdlib.h>
#include <string.h>

bool acu_ptx_is(const ptx_instruction *i, const char *word) {
    size_t length = strlen(word);
    return strncmp(i->opcode, word, length) == 0 &&
           (i->opcode[length] == '.' || !i->opcode[length]);
}

/* ---- blocks ---- */

static bool ends_block(const ptx_instruction *i) {
    return acu_ptx_is(i, "bra") || acu_ptx_is(i, "brx") || acu_ptx_is(i, "ret") ||
           acu_ptx_is(i, "exit") || acu_ptx_is(i, "trap");
}

/* Returns the labels that brx goes to; NULL: it names none, and will be refused. */
static const ptx_table *table_of(const ptx_instruction *i) {
    bool has = i->operand_count == 2 && i->operands[1].kind == PTX_TABLE;
    return has && i->operands[1].table && i->operands[1].table->labels ? i->operands[1].table
                                                                       : NULL;
}

/* Returns how many places the instruction names that it may go to, and the i-th of them. */
static uint32_t target_count(const ptx_instruction *i) {
    if (acu_ptx_is(i, "bra"))
        return i->operand_count == 1 && i->operands[0].kind == PTX_LABEL;
    const ptx_table *table = acu_ptx_is(i, "brx") ? table_of(i) : NULL;
    return table ? (uint32_t)table->count : 0;
}

static uint32_t target(const ptx_instruction *i, uint32_t n) {
    return acu_ptx_is(i, "bra") ? i->operands[0].number : i->operands[1].table->labels[n];
}

static void mark_leaders(const ptx_function *f, bool *leads) {
    leads[0] = true;
    for (uint32_t n = 0; n < f->instruction_count; n++) {
        const ptx_instruction *i = &f->instructions[n];
        if (ends_block(i))
            leads[n + 1] = true;
        for (uint32_t t = 0; t < target_count(i); t++)
            leads[target(i, t)] = true;
    }
}

static bool find_next(const ptx_function *f, ptx_flow_graph *g, ptx_basic_block *b,
                      ptx_arena *arena) {
    const ptx_instruction *last = b->end > b->begin ? &f->instructions[b->end - 1] : NULL;
    uint32_t targets = last ? target_count(last) : 0, count = 0;
    b->next = acu_ptx_arena_alloc(arena, (targets + 1) * sizeof *b->next);
    if (!b->next)
        return false;
    for (uint32_t t = 0; t < targets; t++)
        b->next[count++] = g->block_of[target(last, t)];
    bool leaves = last && ends_block(last) && last->guard < 0;
    if (!leaves && b + 1 < g->blocks + g->count)
        b->next[count++] = (uint32_t)(b + 1 - g->blocks);
    b->next_count = count;
    return true;
}

static bool make_blocks(const ptx_function *f, ptx_flow_graph *g, const bool *leads,
                        ptx_arena *arena) {
    for (uint32_t n = 0; n <= f->instruction_count; n++)
        g->count += leads[n] || n == f->instruction_count;
    g->blocks = acu_ptx_arena_alloc(arena, (g->count + 1) * sizeof *g->blocks);
    if (!g->blocks)
        return false;
    uint32_t block = 0;
    for (uint32_t n = 0; n <= f->instruction_count; n++) {
        if (n && (leads[n] || n == f->instruction_count))
            g->blocks[block++].end = n;
        if (leads[n] || n == f->instruction_count)
            g->blocks[block].begin = n;
        g->block_of[n] = block;
    }
    /* The last block is empty: it is where the function ends without a return. */
    g->blocks[block].end = f->instruction_count;
    g->count = block + 1;
    for (uint32_t b = 0; b < g->count; b++)
        if (!find_next(f, g, &g->blocks[b], arena))
            return false;
    return true;
}

/* ---- where lanes meet: the immediate post-dominators ---- */

/* The blocks in an order in which each one comes behind its post-dominators. Number 0 is the end of
 * the function; a block in an endless loop, which does not come to the end, has no number
 * (UINT32_MAX). */
typedef struct order {
    const ptx_flow_graph *g;
    uint32_t *before, *before_begin; /* for each block, the blocks that it may come next to */
    uint32_t *number, *blocks;
    uint32_t *meet; /* for each number, that of the immediate post-dominator */
    uint32_t count;
    uint32_t *stack, *place;
} order;

/* Finds what comes before each block. What comes before the end are the blocks that nothing comes
 * next to. */
static void find_before(order *o) {
    uint32_t count = o->g->count, *fill = o->place;
    for (uint32_t b = 0; b < count; b++) {
        const ptx_basic_block *block = &o->g->blocks[b];
        for (uint32_t i = 0; i < block->next_count; i++)
            o->before_begin[block->next[i] + 1]++;
        o->before_begin[count + 1] += !block->next_count;
    }
    for (uint32_t b = 0; b <= count; b++)
        o->before_begin[b + 1] += o->before_begin[b];
    memcpy(fill, o->before_begin, (count + 1) * sizeof *fill);
    for (uint32_t b = 0; b < count; b++) {
        const ptx_basic_block *block = &o->g->blocks[b];
        for (uint32_t i = 0; i < block->next_count; i++)
            o->before[fill[block->next[i]]++] = b;
        if (!block->next_count)
            o->before[fill[count]++] = b;
    }
}

/* Numbers the blocks, backwards from the end: depth first, without recursion. */
static void number_blocks(order *o) {
    uint32_t end = o->g->count, depth = 0, left = end + 1, *done = o->blocks;
    memset(o->number, 0xff, (end + 1) * sizeof *o->number);
    memcpy(o->place, o->before_begin, (end + 1) * sizeof *o->place);
    o->stack[depth++] = end;
    o->number[end] = 0;
    while (depth) {
        uint32_t b = o->stack[depth - 1];
        if (o->place[b] < o->before_begin[b + 1]) {
            uint32_t before = o->before[o->place[b]++];
            if (o->number[before] == UINT32_MAX) {
                o->number[before] = 0;
                o->stack[depth++] = before;
            }
        } else {
            done[--left] = b;
            depth--;
        }
    }
    o->count = end + 1 - left;
    memmove(o->blocks, done + left, o->count * sizeof *done);
    for (uint32_t n = 0; n < o->count; n++)
        o->number[o->blocks[n]] = n;
}

/* Returns the nearest post-dominator of two; smaller numbers are nearer to the end. */
static uint32_t common(const uint32_t *meet, uint32_t a, uint32_t b) {
    while (a != b) {
        while (a > b)
            a = meet[a];
        while (b > a)
            b = meet[b];
    }
    return a;
}

static bool improve(order *o, uint32_t n) {
    const ptx_basic_block *block = &o->g->blocks[o->blocks[n]];
    uint32_t best = block->next_count ? UINT32_MAX : 0;
    for (uint32_t i = 0; i < block->next_count; i++) {
        uint32_t next = o->number[block->next[i]];
        if (next == UINT32_MAX || o->meet[next] == UINT32_MAX)
            continue;
        best = best == UINT32_MAX ? next : common(o->meet, best, next);
    }
    if (best == UINT32_MAX || best == o->meet[n])
        return false;
    o->meet[n] = best;
    return true;
}

static void find_meets(ptx_flow_graph *g, order *o) {
    find_before(o);
    number_blocks(o);
    memset(o->meet, 0xff, (g->count + 1) * sizeof *o->meet);
    o->meet[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 1; n < o->count; n++)
            changed |= improve(o, n);
    }
    for (uint32_t b = 0; b < g->count; b++) {
        uint32_t meet = o->number[b] == UINT32_MAX ? 0 : o->meet[o->number[b]];
        g->blocks[b].meet = meet && meet != UINT32_MAX ? o->blocks[meet] : UINT32_MAX;
        if (g->blocks[b].meet != UINT32_MAX && g->blocks[b].next_count > 1)
            g->blocks[g->blocks[b].meet].is_meet = true;
    }
}

static uint32_t edge_count(const ptx_flow_graph *g) {
    uint32_t count = g->count;
    for (uint32_t b = 0; b < g->count; b++)
        count += g->blocks[b].next_count;
    return count;
}

static bool add_meets(ptx_flow_graph *g) {
    size_t blocks = g->count + 2, size = blocks * 6 + edge_count(g);
    uint32_t *all = calloc(size, sizeof *all);
    if (!all)
        return false;
    order o = {.g = g, .before_begin = all, .number = all + blocks, .blocks = all + 2 * blocks};
    o.meet = all + 3 * blocks;
    o.stack = all + 4 * blocks;
    o.place = all + 5 * blocks;
    o.before = all + 6 * blocks;
    find_meets(g, &o);
    free(all);
    return true;
}

ptx_flow_graph *acu_ptx_flow_of(const ptx_function *f, ptx_arena *arena) {
    ptx_flow_graph *g = acu_ptx_arena_alloc(arena, sizeof *g);
    bool *leads = calloc(f->instruction_count + 2, sizeof *leads), ok = false;
    if (g)
        g->block_of = acu_ptx_arena_alloc(arena, (f->instruction_count + 1) * sizeof *g->block_of);
    if (g && g->block_of && leads) {
        mark_leaders(f, leads);
        ok = make_blocks(f, g, leads, arena);
    }
    free(leads);
    return ok && add_meets(g) ? g : NULL;
}
