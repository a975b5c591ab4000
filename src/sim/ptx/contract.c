/*
 * Products and sums that become one rounded operation. The manual leaves to the compiler which;
 * here it is those that ptxas 13.0 contracts for sm_90, found out with random kernels, and in its
 * machine code:
 *
 * - First, additions take in products that have no other use, then those whose uses are all
 * additions that could take them in. Of two products, an addition takes in its first operand.
 * - A product whose use is in another basic block, or behind a call, stays a product, unless one of
 * its factors is a constant or a parameter of the kernel, which needs no register. What ptxas makes
 * branches or calls of, such as `div.rn`, ends a basic block.
 * - A product by 1 or -1 is none. What is computed of constants is one (fold.c).
 * - `div.approx` and `div.full` by a constant are products with its reciprocal, rounded to nearest;
 * other quotients, and `rcp.approx` without .ftz, are products with the approximation of the
 * reciprocal, but `div.approx.ftz` of 1.
 * - What nobody needs the result of is no use: ptxas leaves it out.
 * - A copy of a product, and its negative without .ftz, are the product.
 * - Where a sum is compared with 0, its two numbers are compared, and the sum is none for products
 * with several uses.
 */
#include "sim/ptx/contract.h"

#include "sim/ptx/fold.h"
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
    uint32_t uses;        /* the first of them, or NONE; of copies, too */
    uint32_t root;        /* the register that it is, or whose negative it is; often itself */
    bool is_negative;
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
    bool *needed;    /* whether a result needs each register */
    bool *live;      /* whether a result needs each instruction; ptxas leaves out the others */
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

static void note_use(void *data, unsigned number, unsigned how) {
    contraction *c = data;
    if (how & PTX_READS)
        add_use(c, c->values[number].root);
}

static void note_written(void *data, unsigned number, unsigned how) {
    contraction *c = data;
    if (how & PTX_WRITES) {
        c->values[number].written++;
        c->values[number].at = c->at;
    }
}

static void find_writes(contraction *c) {
    for (unsigned n = 0; n < c->f->register_count; n++)
        c->values[n] = (value){.uses = NONE, .root = n};
    for (c->at = 0; c->at < c->f->instruction_count; c->at++)
        acu_ptx_touches(&c->f->instructions[c->at], note_written, c);
}

/* Returns whether the instruction may be left out where nobody needs its result. */
static bool only_computes(const ptx_instruction *i) {
    static const char *const words[] = {"mul", "add", "sub", "fma", "mov", "neg",
                                        "abs", "min", "max", "div", "rcp", "selp"};
    for (size_t n = 0; n < sizeof words / sizeof *words; n++)
        if (acu_ptx_is(i, words[n]))
            return i->operand_count && i->operands[0].kind == PTX_REGISTER;
    return false;
}

static void note_needed(void *data, unsigned number, unsigned how) {
    contraction *c = data;
    if (how & PTX_READS)
        c->needed[number] = true;
}

static void find_live(contraction *c) {
    for (const ptx_variable *v = c->f->results; v; v = v->next)
        if (v->in_register)
            c->needed[v->number] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = c->f->instruction_count; at-- > 0;) {
            const ptx_instruction *i = &c->f->instructions[at];
            if (c->live[at] || (only_computes(i) && !c->needed[i->operands[0].number]))
                continue;
            c->live[at] = changed = true;
            acu_ptx_touches(i, note_needed, c);
        }
    }
}

static bool is_plain_register(const contraction *c, const ptx_operand *o) {
    return o->kind == PTX_REGISTER && !o->negated && !o->has_component &&
           !c->f->registers[o->number].is_vector;
}

/* Returns whether the instruction at c->at copies a register, or negates it without .ftz, right
 * after it was written. */
static bool is_copy(const contraction *c, const ptx_instruction *i) {
    if (i->guard >= 0 || i->operand_count != 2 || !is_plain_register(c, &i->operands[0]) ||
        !is_plain_register(c, &i->operands[1]))
        return false;
    const unsigned to = i->operands[0].number, from = i->operands[1].number;
    const ptx_register *registers = c->f->registers;
    const value *v = &c->values[c->values[from].root];
    return (acu_ptx_is(i, "mov") || strcmp(i->opcode, "neg.f32") == 0 ||
            strcmp(i->opcode, "neg.f64") == 0) &&
           acu_ptx_type_size(registers[to].type) == acu_ptx_type_size(registers[from].type) &&
           c->values[to].written == 1 && c->values[from].written == 1 && v->at < c->at &&
           c->part[v->at] == c->part[c->at];
}

static void find_uses(contraction *c) {
    for (c->at = 0; c->at < c->f->instruction_count; c->at++) {
        const ptx_instruction *i = &c->f->instructions[c->at];
        if (!c->live[c->at])
            continue;
        if (!is_copy(c, i)) {
            acu_ptx_touches(i, note_use, c);
            continue;
        }
        const value *from = &c->values[i->operands[1].number];
        value *to = &c->values[i->operands[0].number];
        to->root = from->root;
        to->is_negative = from->is_negative ^ acu_ptx_is(i, "neg");
    }
    for (const ptx_variable *v = c->f->results; v; v = v->next)
        if (v->in_register) /* of the end of the function, which is no addition */
            add_use(c, c->values[v->number].root);
}

/* ---- what can be contracted ---- */

/* Returns what follows the first word, if that is the word: ".ftz.f32" of "mul.ftz.f32". */
static const char *rest_of(const ptx_instruction *i, const char *word) {
    const char *opcode = i->opcode;
    return opcode && acu_ptx_is(i, word) ? opcode + strlen(word) : NULL;
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

/* Returns whether the operand is 1 or -1. */
static bool is_one(const contraction *c, const ptx_operand *o) {
    const ptx_operand *constant = constant_of(c, o);
    const uint64_t without_sign =
        constant ? constant->bits << (constant->type == PTX_F32 ? 33 : 1) : 0;
    return constant && without_sign == (constant->type == PTX_F32 ? UINT64_C(0x3f800000) << 33
                                                                  : UINT64_C(0x3ff0) << 49);
}

/* Returns how the instruction divides, if sums take its quotient in: ".approx" or ".full"; or NULL.
 */
static const char *quotient_of(const contraction *c, const ptx_instruction *i) {
    const char *opcode = i->opcode;
    if (strcmp(opcode, "div.approx.ftz.f32") == 0)
        return i->operand_count == 3 && !is_one(c, &i->operands[1]) ? ".approx" : NULL;
    if (i->operand_count == 3 && strcmp(opcode, "div.approx.f32") == 0)
        return ".approx";
    const bool is_full = i->operand_count == 3 && (strcmp(opcode, "div.full.f32") == 0 ||
                                                   strcmp(opcode, "div.full.ftz.f32") == 0);
    return is_full || (i->operand_count == 2 && strcmp(opcode, "rcp.approx.f32") == 0) ? ".full"
                                                                                       : NULL;
}

/* Returns what follows the words of a product, or of a quotient that is one; or NULL. */
static const char *rest_of_product(const contraction *c, const ptx_instruction *i) {
    if (quotient_of(c, i))
        return strstr(i->opcode, ".ftz") ? ".ftz.f32" : ".f32";
    return i->operand_count == 3 ? rest_of(i, "mul") : NULL;
}

/* Returns whether the operand is the register, a copy of it, or its negative. */
static bool is_register(const contraction *c, const ptx_operand *o, unsigned number) {
    return o->kind == PTX_REGISTER && c->values[o->number].root == number;
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

/* Returns whether the operand is a constant, in constant memory, or a parameter of the kernel. */
static bool is_constant(const contraction *c, const ptx_operand *o) {
    if (o->kind != PTX_REGISTER)
        return o->kind == PTX_FLOAT;
    const value *v = &c->values[o->number];
    const ptx_instruction *i = v->written == 1 ? &c->f->instructions[v->at] : NULL;
    if (!i || i->guard >= 0)
        return false;
    if (acu_ptx_is(i, "mov"))
        return i->operand_count == 2 && i->operands[1].kind == PTX_FLOAT;
    return (c->f->is_entry && strncmp(i->opcode, "ld.param", 8) == 0) ||
           (strncmp(i->opcode, "ld.const", 8) == 0 && !i->operands[1].is_register);
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
    const bool divides = quotient_of(c, product) != NULL;
    bool is_by_constant = is_constant(c, &product->operands[1]);
    if (divides) /* others multiply the dividend, too */
        is_by_constant &= strcmp(product->opcode, "div.approx.ftz.f32") == 0;
    else
        is_by_constant |= is_constant(c, &product->operands[2]);
    if (!are_together(c, from, at) && !(is_by_constant && comes_before(c, from, at)))
        return false;
    for (unsigned n = 1; n < product->operand_count; n++)
        if (!keeps(c, &product->operands[n], from, at))
            return false;
    return true;
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
    bool first = is_register(c, &i->operands[1], number),
         second = is_register(c, &i->operands[2], number);
    const ptx_operand *other = &i->operands[first ? 2 : 1];
    return first != second && (other->kind == PTX_REGISTER || other->kind == PTX_FLOAT) &&
           is_in_reach(c, product, from, at);
}

static bool is_zero(const contraction *c, const ptx_operand *o) {
    const ptx_operand *constant = constant_of(c, o);
    return constant && acu_ptx_float_of(constant) == 0;
}

/* Returns whether the instruction compares the register with 0: which is larger. */
static bool compares_with_zero(const contraction *c, const ptx_instruction *i, unsigned number) {
    const char *rest = rest_of(i, "setp") ? rest_of(i, "setp") : rest_of(i, "set");
    if (!rest || *rest != '.' || i->operand_count != 3 || (rest[1] != 'l' && rest[1] != 'g') ||
        strcmp(strrchr(rest, '.'), ".f32") != 0)
        return false;
    return (is_register(c, &i->operands[1], number) && is_zero(c, &i->operands[2])) ||
           (is_register(c, &i->operands[2], number) && is_zero(c, &i->operands[1]));
}

/* Returns whether the two numbers of a sum are compared in its place. */
static bool is_compared(const contraction *c, const ptx_instruction *sum) {
    const value *v = &c->values[sum->operands[0].number];
    if (v->written != 1 ||
        (strcmp(sum->opcode, "add.f32") != 0 && strcmp(sum->opcode, "sub.f32") != 0))
        return false;
    for (uint32_t n = v->uses; n != NONE; n = c->uses[n].next)
        if (c->uses[n].at < c->f->instruction_count &&
            compares_with_zero(c, &c->f->instructions[c->uses[n].at], sum->operands[0].number))
            return true;
    return false;
}

/* Returns whether the operand is a product, with one use or with any, that sums can take in. */
static bool is_product(contraction *c, const ptx_operand *o, bool only) {
    if (o->kind != PTX_REGISTER || o->has_component || o->negated)
        return false;
    const unsigned number = c->values[o->number].root;
    const value *v = &c->values[number];
    const ptx_instruction *i = v->written == 1 ? &c->f->instructions[v->at] : NULL;
    if (!i || i->guard >= 0 || !is_plain(rest_of_product(c, i)))
        return false;
    if (acu_ptx_is(i, "mul") && (is_one(c, &i->operands[1]) || is_one(c, &i->operands[2])))
        return false;
    if (only && c->uses[v->uses].next != NONE)
        return false;
    unsigned uses = 0;
    for (uint32_t n = v->uses; n != NONE; n = c->uses[n].next)
        if (++uses > MOST_USES || (c->taken[c->uses[n].at] != number &&
                                   (!can_take(c, c->uses[n].at, number) ||
                                    (!only && is_compared(c, &c->f->instructions[c->uses[n].at])))))
            return false;
    return true;
}

/* ---- contracting ---- */

/* Makes a quotient by a constant a product, where one product does it. */
static void divide_by_constant(contraction *c, ptx_instruction *i, ptx_arena *arena) {
    const bool flushes = strstr(i->opcode, ".ftz") != NULL;
    const ptx_operand *constant = constant_of(c, &i->operands[2]);
    const float divisor = constant ? acu_ptx_float_of(constant) : NAN;
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
    operands[2] = acu_ptx_float_operand(reciprocal);
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

/* Makes the sum take in the product that is its operand `n`, 1 or 2. */
static void take(contraction *c, uint32_t at, unsigned n, ptx_arena *arena) {
    ptx_instruction *sum = &c->f->instructions[at];
    const value *v = &c->values[sum->operands[n].number];
    const ptx_instruction *product = &c->f->instructions[c->values[v->root].at];
    const char *how = quotient_of(c, product);
    size_t room = strlen(sum->opcode) + sizeof "quotient+add.approx";
    ptx_operand *operands = acu_ptx_arena_alloc(arena, 4 * sizeof *operands);
    char *opcode = acu_ptx_arena_alloc(arena, room);
    if (!operands || !opcode) {
        c->no_memory = true;
        return;
    }
    operands[0] = sum->operands[0];
    operands[1] = product->operand_count == 3 ? product->operands[1] : acu_ptx_float_operand(1);
    operands[2] = product->operands[product->operand_count - 1];
    operands[3] = sum->operands[3 - n];
    if (acu_ptx_is(sum, "sub"))
        negate(&operands[n == 1 ? 3 : 1]);
    if (v->is_negative)
        negate(&operands[1]);
    snprintf(opcode, room, "%s%s%s", how ? "quotient+add" : "fma.rn", how ? how : "",
             rest_of_sum(sum));
    sum->opcode = opcode;
    sum->operands = operands;
    sum->operand_count = 4;
    c->taken[at] = v->root;
}

static void contract_sums(contraction *c, bool only, ptx_arena *arena) {
    for (uint32_t at = 0; at < c->f->instruction_count && !c->no_memory; at++) {
        const ptx_instruction *i = &c->f->instructions[at];
        if (!c->live[at] || !rest_of_sum(i) || i->operand_count != 3)
            continue;
        for (unsigned n = 1; n <= 2; n++)
            if (is_product(c, &i->operands[n], only) &&
                can_take(c, at, c->values[i->operands[n].number].root)) {
                take(c, at, n, arena);
                break;
            }
    }
}

/* Products that all of their uses took in are no instructions any more, nor are their copies. */
static void remove_products(contraction *c) {
    for (uint32_t at = 0; at < c->f->instruction_count; at++) {
        if (c->taken[at] == NONE)
            continue;
        unsigned number = c->taken[at];
        bool needed = false;
        for (uint32_t n = c->values[number].uses; n != NONE; n = c->uses[n].next)
            needed |= c->taken[c->uses[n].at] != number;
        c->f->instructions[c->values[number].at].absorbed |= !needed;
    }
    for (unsigned n = 0; n < c->f->register_count; n++) {
        const value *v = &c->values[n];
        if (v->root != n)
            c->f->instructions[v->at].absorbed |=
                c->f->instructions[c->values[v->root].at].absorbed;
    }
}

/* ---- basic blocks ---- */

/* Returns whether ptxas makes branches or a call of the instruction. */
static bool ends_part(const contraction *c, const ptx_instruction *i) {
    const bool is_approximate = strstr(i->opcode, ".approx") || strstr(i->opcode, ".full");
    const size_t length = strlen(i->opcode);
    const char *type = length > 4 ? i->opcode + length - 4 : "";
    if (acu_ptx_is(i, "div") || acu_ptx_is(i, "rem"))
        return !is_approximate && strcmp(type, ".u32") != 0;
    if (acu_ptx_is(i, "rcp") || acu_ptx_is(i, "sqrt"))
        return !is_approximate && !(i->operand_count == 2 && strstr(i->opcode, ".rn") &&
                                    constant_of(c, &i->operands[1]));
    return acu_ptx_is(i, "call") || acu_ptx_is(i, "membar") || acu_ptx_is(i, "fence") ||
           strcmp(i->opcode, "rsqrt.approx.f64") == 0;
}

static void find_parts(contraction *c) {
    uint32_t ends = 0;
    for (uint32_t n = 0; n < c->f->instruction_count; n++) {
        ends += ends_part(c, &c->f->instructions[n]);
        c->part[n] = c->flow->block_of[n] + ends;
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
    c->live = calloc(count + 1, sizeof *c->live);
    c->needed = calloc(function->register_count + 1, sizeof *c->needed);
    c->values = calloc(function->register_count + 1, sizeof *c->values);
    if (!c->f || !c->part || !c->taken || !c->stack || !c->seen || !c->values || !c->live ||
        !c->needed)
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
    free(c->live);
    free(c->needed);
    free(c->values);
    free(c->uses);
}

ptx_function *acu_ptx_contracted(const ptx_function *function, const ptx_flow_graph *flow,
                                 ptx_arena *arena) {
    contraction c = {.flow = flow};
    c.no_memory = !begin(&c, function, arena);
    if (!c.no_memory && !acu_ptx_fold_constants(c.f, arena))
        c.no_memory = true;
    if (!c.no_memory) {
        find_writes(&c);
        find_parts(&c);
        find_live(&c);
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
