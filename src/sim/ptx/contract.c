/*
 * Products and sums that become one rounded operation. The manual leaves to the compiler which;
 * here it is those that ptxas 13.0 contracts for sm_90, found out with random kernels:
 *
 * - First, additions take in products that have no other use, then those whose uses are all
 * additions that could take them in. Of two products, an addition takes in its first operand.
 * - A product whose use is in another basic block, or behind a call, stays a product, unless one of
 * its factors is a constant or a parameter of the kernel, which needs no register.
 * - `div.approx` and `div.full` by a constant are products with its reciprocal, rounded to nearest.
 * - `div.approx.ftz` is a product with the approximation of the reciprocal, unless it divides 1. So
 * are `div.full` and what does not flush, but here only by what was an integer.
 */
#include "sim/ptx/contract.h"

#include "sim/ptx/lower.h"
#include "sim/ptx/registers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
enum { MOST_USES = 32 }; /* of a product that is contracted: all are looked at for each one */

/* An instruction that reads a register. */
typedef struct use {
    uint32_t at, next; /* the instruction; the next use of the register, or NONE */
} use;

/* What becomes of a register. */
typedef struct value {
    uint32_t written, at; /* how many instructions write it, and the last one that does */
    uint32_t uses;        /* the first of them, or NONE */
} value;

typedef struct contraction {
    ptx_function *f;
    const ptx_flow_graph *flow;
    uint32_t *part; /* of each instruction: one part runs in its order, without calls */
    value *values;  /* of each register */
    use *uses;
    uint32_t use_count, use_room;
    uint32_t *taken; /* for each instruction, the register whose product it took in, or NONE */
    uint32_t *stack; /* blocks to visit */
    bool *seen;      /* whether each block was visited */
    uint32_t at;     /* the instruction that is looked at */
    bool no_memory;
} contraction;

/* ---- who reads and writes what ---- */

static void add_use(contraction *c, unsigned number) {
    if (c->use_count == c->use_room) {
        uint32_t room = c->use_room ? c->use_room * 2 : 256;
        use *more = realloc(c->uses, room * sizeof *more);
        if (!more) {
            c->no_memory = true;
            return;
        }
        c->uses = more;
        c->use_room = room;
    }
    c->uses[c->use_count] = (use){c->at, c->values[number].uses};
    c->values[number].uses = c->use_count++;
}

static void note_touch(void *data, unsigned number, unsigned how) {
    contraction *c = data;
    if (how & PTX_READS)
        add_use(c, number);
    if (how & PTX_WRITES) {
        c->values[number].written++;
        c->values[number].at = c->at;
    }
}

static void find_uses(contraction *c) {
    for (unsigned n = 0; n < c->f->register_count; n++)
        c->values[n].uses = NONE;
    for (c->at = 0; c->at < c->f->instruction_count; c->at++)
        acu_ptx_touches(&c->f->instructions[c->at], note_touch, c);
    for (const ptx_variable *v = c->f->results; v; v = v->next)
        if (v->in_register)
            add_use(c, v->number); /* of the end of the function, which is no addition */
}

/* ---- what can be contracted ---- */

/* Returns what follows the first word, if that is the word: ".ftz.f32" of "mul.ftz.f32". */
static const char *rest_of(const ptx_instruction *i, const char *word) {
    return acu_ptx_is(i, word) ? i->opcode + strlen(word) : NULL;
}

static const char *rest_of_sum(const ptx_instruction *i) {
    const char *rest = rest_of(i, "add");
    return rest ? rest : rest_of(i, "sub");
}

/* Returns whether the words are a type of floating point, without a rounding and .sat. */
static bool is_plain(const char *rest) {
    static const char *const plain[] = {".f32",   ".ftz.f32",   ".f64",  ".f16",   ".ftz.f16",
                                        ".f16x2", ".ftz.f16x2", ".bf16", ".bf16x2"};
    for (size_t n = 0; rest && n < sizeof plain / sizeof *plain; n++)
        if (strcmp(rest, plain[n]) == 0)
            return true;
    return false;
}

/* Returns whether a sum's words are those of a product, but for .sat. */
static bool fits(const char *sum, const char *product) {
    const char *sat = strstr(sum, ".sat");
    size_t before = sat ? (size_t)(sat - sum) : strlen(sum);
    return strncmp(sum, product, before) == 0 && strcmp(sat ? sat + 4 : "", product + before) == 0;
}

/* Returns the constant that the operand is, or its register has, or NULL. */
static const ptx_operand *constant_of(const contraction *c, const ptx_operand *o) {
    if (o->kind == PTX_FLOAT)
        return o;
    if (o->kind != PTX_REGISTER || o->negated || o->has_component)
        return NULL;
    const value *v = &c->values[o->number];
    const ptx_instruction *i = v->written == 1 ? &c->f->instructions[v->at] : NULL;
    bool is_mov = i && i->guard < 0 && i->operand_count == 2 && acu_ptx_is(i, "mov");
    return is_mov && i->operands[1].kind == PTX_FLOAT ? &i->operands[1] : NULL;
}

static float float_of(const ptx_operand *constant) {
    uint32_t word = (uint32_t)constant->bits;
    float number;
    double wide;
    memcpy(&number, &word, sizeof number);
    memcpy(&wide, &constant->bits, sizeof wide);
    return constant->type == PTX_F32 ? number : (float)wide;
}

/* Returns whether the operand is 0 or from 1 to 2^64 because an integer was made a float. */
static bool is_from_integer(const contraction *c, const ptx_operand *o) {
    if (o->kind != PTX_REGISTER || o->negated || o->has_component)
        return false;
    const value *v = &c->values[o->number];
    const ptx_instruction *i = v->written == 1 ? &c->f->instructions[v->at] : NULL;
    static const char *const made[] = {"cvt.rn.f32.s32", "cvt.rn.f32.u32", "cvt.rn.f32.s64",
                                       "cvt.rn.f32.u64"};
    for (size_t n = 0; i && i->guard < 0 && n < sizeof made / sizeof *made; n++)
        if (strcmp(i->opcode, made[n]) == 0)
            return true;
    return false;
}

/*
 * Returns whether the instruction is a quotient that sums take in: the product with a reciprocal.
 * Of a divisor that can be subnormal or above 2^126 those that multiply both numbers are left out.
 */
static bool is_quotient(const contraction *c, const ptx_instruction *i) {
    if (i->operand_count != 3 || !acu_ptx_is(i, "div"))
        return false;
    const bool flushes = strcmp(i->opcode, "div.approx.ftz.f32") == 0;
    const bool others = strcmp(i->opcode, "div.approx.f32") == 0 ||
                        strcmp(i->opcode, "div.full.f32") == 0 ||
                        strcmp(i->opcode, "div.full.ftz.f32") == 0;
    if (!flushes && !(others && is_from_integer(c, &i->operands[2])))
        return false;
    const ptx_operand *constant = constant_of(c, &i->operands[1]);
    return !flushes || !constant || fabsf(float_of(constant)) != 1;
}

/* Returns what follows the words of a product, or of a quotient that is one; or NULL. */
static const char *rest_of_product(const contraction *c, const ptx_instruction *i) {
    if (is_quotient(c, i))
        return strstr(i->opcode, ".ftz") ? ".ftz.f32" : ".f32";
    return rest_of(i, "mul");
}

static bool is_register(const ptx_operand *o, unsigned number) {
    return o->kind == PTX_REGISTER && o->number == number;
}

static void note_write(void *data, unsigned number, unsigned how) {
    contraction *c = data;
    if (how & PTX_WRITES)
        c->values[number].at = c->at;
}

/* Returns whether the instruction is executed before the other one, whatever the path is. */
static bool comes_before(contraction *c, uint32_t first, uint32_t second) {
    uint32_t without = c->flow->block_of[first], wanted = c->flow->block_of[second], depth = 0;
    if (without == wanted)
        return first < second;
    memset(c->seen, 0, c->flow->count * sizeof *c->seen);
    c->seen[without] = true;
    if (without)
        c->stack[depth++] = 0;
    c->seen[0] = true;
    while (depth && !c->seen[wanted]) {
        const ptx_basic_block *block = &c->flow->blocks[c->stack[--depth]];
        for (uint32_t n = 0; n < block->next_count; n++)
            if (!c->seen[block->next[n]]) {
                c->seen[block->next[n]] = true;
                c->stack[depth++] = block->next[n];
            }
    }
    return !c->seen[wanted];
}

/* Returns whether the operand is a constant, or a parameter of the kernel. */
static bool is_constant(const contraction *c, const ptx_operand *o) {
    if (o->kind != PTX_REGISTER)
        return o->kind == PTX_FLOAT;
    const value *v = &c->values[o->number];
    const ptx_instruction *i = v->written == 1 ? &c->f->instructions[v->at] : NULL;
    if (!i || i->guard >= 0)
        return false;
    if (acu_ptx_is(i, "mov"))
        return i->operand_count == 2 && i->operands[1].kind == PTX_FLOAT;
    return c->f->is_entry && strncmp(i->opcode, "ld.param", 8) == 0;
}

/* Returns whether the instructions are in one part, in this order. */
static bool are_together(const contraction *c, uint32_t from, uint32_t to) {
    return from < to && c->part[from] == c->part[to];
}

/* Returns whether the operand, which instruction `from` reads, has the same value at `to`. */
static bool keeps(contraction *c, const ptx_operand *o, uint32_t from, uint32_t to) {
    if (o->kind != PTX_REGISTER)
        return o->kind == PTX_FLOAT;
    value *v = &c->values[o->number];
    if (!are_together(c, from, to))
        return v->written == 1 && comes_before(c, v->at, from);
    if (v->written < 2)
        return true;
    v->at = from;
    for (c->at = from + 1; c->at < to; c->at++)
        acu_ptx_touches(&c->f->instructions[c->at], note_write, c);
    return v->at == from;
}

/* Returns whether the value of the product is there at the sum, which may take it in from there. */
static bool is_in_reach(contraction *c, const ptx_instruction *product, uint32_t from,
                        uint32_t at) {
    if (is_quotient(c, product))
        return are_together(c, from, at) && keeps(c, &product->operands[1], from, at);
    if (!are_together(c, from, at) &&
        !((is_constant(c, &product->operands[1]) || is_constant(c, &product->operands[2])) &&
          comes_before(c, from, at)))
        return false;
    return keeps(c, &product->operands[1], from, at) && keeps(c, &product->operands[2], from, at);
}

/* Returns whether the instruction is a sum that can take in the product, its operand `number`. */
static bool can_take(contraction *c, uint32_t at, unsigned number) {
    if (at >= c->f->instruction_count)
        return false;
    uint32_t from = c->values[number].at;
    const ptx_instruction *i = &c->f->instructions[at], *product = &c->f->instructions[from];
    const char *rest = c->taken[at] == NONE ? rest_of_sum(i) : NULL;
    if (!rest || i->operand_count != 3 || !fits(rest, rest_of_product(c, product)))
        return false;
    bool first = is_register(&i->operands[1], number),
         second = is_register(&i->operands[2], number);
    const ptx_operand *other = &i->operands[first ? 2 : 1];
    return first != second && (other->kind == PTX_REGISTER || other->kind == PTX_FLOAT) &&
           is_in_reach(c, product, from, at);
}

/* Returns whether the operand is a product, with one use or with any, that sums can take in. */
static bool is_product(contraction *c, const ptx_operand *o, bool only) {
    if (o->kind != PTX_REGISTER || o->has_component || o->negated)
        return false;
    const value *v = &c->values[o->number];
    const ptx_instruction *i = v->written == 1 ? &c->f->instructions[v->at] : NULL;
    if (!i || i->guard >= 0 || i->operand_count != 3 || !is_plain(rest_of_product(c, i)))
        return false;
    if ((only || is_quotient(c, i)) && c->uses[v->uses].next != NONE)
        return false;
    unsigned uses = 0;
    for (uint32_t n = v->uses; n != NONE; n = c->uses[n].next)
        if (++uses > MOST_USES ||
            (c->taken[c->uses[n].at] != o->number && !can_take(c, c->uses[n].at, o->number)))
            return false;
    return true;
}

/* ---- contracting ---- */

/* Makes a quotient by a constant a product, where one product does it. */
static void divide_by_constant(contraction *c, ptx_instruction *i, ptx_arena *arena) {
    const bool flushes = strstr(i->opcode, ".ftz") != NULL;
    const ptx_operand *constant = constant_of(c, &i->operands[2]);
    const float divisor = constant ? float_of(constant) : NAN;
    const bool is_tiny = fabsf(divisor) < 0x1p-126f, is_large = fabsf(divisor) > 0x1p126f;
    if (isnan(divisor) || (is_tiny && !flushes) || (is_large && acu_ptx_is(i, "div.full")))
        return;
    ptx_operand *operands = acu_ptx_arena_copy(arena, i->operands, 3 * sizeof *operands);
    if (!operands) {
        c->no_memory = true;
        return;
    }
    const float reciprocal = is_tiny    ? copysignf(INFINITY, divisor)
                             : is_large ? copysignf(0, divisor)
                                        : 1 / divisor;
    uint32_t word;
    memcpy(&word, &reciprocal, sizeof word);
    operands[2] = (ptx_operand){.kind = PTX_FLOAT, .type = PTX_F32, .bits = word};
    i->operands = operands;
    i->opcode = flushes ? "mul.ftz.f32" : "mul.f32";
}

static void divide_by_constants(contraction *c, ptx_arena *arena) {
    for (uint32_t at = 0; at < c->f->instruction_count && !c->no_memory; at++) {
        ptx_instruction *i = &c->f->instructions[at];
        if (i->operand_count == 3 && (acu_ptx_is(i, "div.approx") || acu_ptx_is(i, "div.full")))
            divide_by_constant(c, i, arena);
    }
}

/* Makes the operand its negative. */
static void negate(ptx_operand *o) {
    if (o->kind == PTX_FLOAT)
        o->bits ^= o->type == PTX_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    else
        o->negated = !o->negated;
}

/* Makes a quotient, whose only use took it in, the reciprocal of its divisor. */
static void leave_reciprocal(contraction *c, ptx_instruction *quotient, ptx_arena *arena) {
    ptx_operand *operands = acu_ptx_arena_copy(arena, quotient->operands, 2 * sizeof *operands);
    if (!operands) {
        c->no_memory = true;
        return;
    }
    operands[1] = quotient->operands[2];
    quotient->operands = operands;
    quotient->operand_count = 2;
    quotient->opcode = "rcp.approx.ftz.f32";
}

/* Makes the sum take in the product that is its operand `n`, 1 or 2. */
static void take(contraction *c, uint32_t at, unsigned n, ptx_arena *arena) {
    ptx_instruction *sum = &c->f->instructions[at];
    unsigned number = sum->operands[n].number;
    ptx_instruction *product = &c->f->instructions[c->values[number].at];
    size_t room = strlen(sum->opcode) + sizeof "fma.rn";
    ptx_operand *operands = acu_ptx_arena_alloc(arena, 4 * sizeof *operands);
    char *opcode = acu_ptx_arena_alloc(arena, room);
    if (!operands || !opcode) {
        c->no_memory = true;
        return;
    }
    operands[0] = sum->operands[0];
    operands[1] = product->operands[1];
    operands[2] = product->operands[is_quotient(c, product) ? 0 : 2];
    operands[3] = sum->operands[3 - n];
    if (acu_ptx_is(sum, "sub"))
        negate(&operands[n == 1 ? 3 : 1]);
    snprintf(opcode, room, "fma.rn%s", rest_of_sum(sum));
    sum->opcode = opcode;
    sum->operands = operands;
    sum->operand_count = 4;
    c->taken[at] = number;
    if (is_quotient(c, product))
        leave_reciprocal(c, product, arena);
}

static void contract_sums(contraction *c, bool only, ptx_arena *arena) {
    for (uint32_t at = 0; at < c->f->instruction_count && !c->no_memory; at++) {
        const ptx_instruction *i = &c->f->instructions[at];
        if (!rest_of_sum(i) || i->operand_count != 3)
            continue;
        for (unsigned n = 1; n <= 2; n++)
            if (is_product(c, &i->operands[n], only) && can_take(c, at, i->operands[n].number)) {
                take(c, at, n, arena);
                break;
            }
    }
}

/* Products that all of their uses took in are no instructions any more. */
static void remove_products(contraction *c) {
    for (uint32_t at = 0; at < c->f->instruction_count; at++) {
        if (c->taken[at] == NONE)
            continue;
        unsigned number = c->taken[at];
        bool needed = acu_ptx_is(&c->f->instructions[c->values[number].at], "rcp");
        for (uint32_t n = c->values[number].uses; n != NONE; n = c->uses[n].next)
            needed |= c->taken[c->uses[n].at] != number;
        c->f->instructions[c->values[number].at].absorbed |= !needed;
    }
}

static void find_parts(contraction *c) {
    uint32_t calls = 0;
    for (uint32_t n = 0; n < c->f->instruction_count; n++) {
        calls += acu_ptx_is(&c->f->instructions[n], "call");
        c->part[n] = c->flow->block_of[n] + calls;
    }
}

/* Makes a copy of the function, whose instructions may be changed, and room for what is found out.
 */
static bool begin(contraction *c, const ptx_function *function, ptx_arena *arena) {
    size_t count = function->instruction_count, blocks = c->flow->count;
    c->f = acu_ptx_arena_copy(arena, function, sizeof *function);
    c->part = malloc((count + 1) * sizeof *c->part);
    c->taken = malloc((count + 1) * sizeof *c->taken);
    c->stack = malloc((blocks + 1) * sizeof *c->stack);
    c->seen = malloc((blocks + 1) * sizeof *c->seen);
    c->values = calloc(function->register_count + 1, sizeof *c->values);
    if (!c->f || !c->part || !c->taken || !c->stack || !c->seen || !c->values)
        return false;
    memset(c->taken, 0xff, (count + 1) * sizeof *c->taken);
    c->f->instructions = acu_ptx_arena_copy(arena, function->instructions,
                                            (count + 1) * sizeof *function->instructions);
    return c->f->instructions != NULL;
}

static void end(const contraction *c) {
    free(c->part);
    free(c->taken);
    free(c->stack);
    free(c->seen);
    free(c->values);
    free(c->uses);
}

ptx_function *acu_ptx_contracted(const ptx_function *function, const ptx_flow_graph *flow,
                                 ptx_arena *arena) {
    contraction c = {.flow = flow};
    c.no_memory = !begin(&c, function, arena);
    if (!c.no_memory) {
        find_parts(&c);
        find_uses(&c);
        divide_by_constants(&c, arena);
    }
    for (int pass = 0; pass < 2 && !c.no_memory; pass++)
        contract_sums(&c, pass == 0, arena);
    if (!c.no_memory)
        remove_products(&c);
    end(&c);
    return c.no_memory ? NULL : c.f;
}
