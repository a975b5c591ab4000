/*
 * Constants of constants. What ptxas 13.0 computes was read in its machine code, for 400 constants
 * of each operation: sums, products and approximations, which it does not approximate, but rounds
 * to nearest. A quotient is the dividend times the rounded reciprocal. It leaves fma, tanh, and
 * quotients, reciprocals and roots with a rounding to the GPU.
 */
#include "sim/ptx/fold.h"

#include "sim/ptx/flow.h"
#include "sim/ptx/registers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct number {
    uint32_t written; /* how many instructions write the register */
    bool is_known;
    float value;
} number;

float acu_ptx_float_of(const ptx_operand *constant) {
    const uint32_t word = (uint32_t)constant->bits;
    float narrow;
    double wide;
    memcpy(&narrow, &word, sizeof narrow);
    memcpy(&wide, &constant->bits, sizeof wide);
    return constant->type == PTX_F32 ? narrow : (float)wide;
}

ptx_operand acu_ptx_float_operand(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return (ptx_operand){.kind = PTX_FLOAT, .type = PTX_F32, .bits = word};
}

/* ---- operations: doubles have all bits of what is rounded to a float ---- */

static double flush(double a) {
    return fabs(a) < 0x1p-126 ? copysign(0, a) : a;
}

static double same(double a, double b) {
    (void)b;
    return a;
}

static double add(double a, double b) {
    return a + b;
}

static double subtract(double a, double b) {
    return a - b;
}

static double multiply(double a, double b) {
    return a * b;
}

static double negate(double a, double b) {
    (void)b;
    return -a;
}

static double size_of(double a, double b) {
    (void)b;
    return fabs(a);
}

static double reciprocal(double a, double b) {
    (void)b;
    return 1 / a;
}

static double root(double a, double b) {
    (void)b;
    return sqrt(a);
}

static double reciprocal_root(double a, double b) {
    (void)b;
    return 1 / sqrt(a);
}

static double power(double a, double b) {
    (void)b;
    return exp2(a);
}

static double logarithm(double a, double b) {
    (void)b;
    return log2(a);
}

static double sine(double a, double b) {
    (void)b;
    return sin(flush(a));
}

static double cosine(double a, double b) {
    (void)b;
    return cos(flush(a));
}

static double divide_scaled(double a, double b, double scale) {
    const float inverse = (float)flush((float)(1 / (b * scale)));
    return (float)(a * scale) * (double)inverse;
}

static double divide(double a, double b) {
    return divide_scaled(a, b, fabs(b) < 0x1p-126 ? 0x1p24 : 1);
}

static double divide_fully(double a, double b) {
    return fabs(b) > 0x1p126 ? divide_scaled(a, b, 0.25) : divide(a, b);
}

static const struct {
    const char *word, *how;
    unsigned operands;
    double (*compute)(double a, double b);
} operations[] = {
    {"mov", "", 1, same},
    {"add", "", 2, add},
    {"add", ".rn", 2, add},
    {"sub", "", 2, subtract},
    {"sub", ".rn", 2, subtract},
    {"mul", "", 2, multiply},
    {"mul", ".rn", 2, multiply},
    {"neg", "", 1, negate},
    {"abs", "", 1, size_of},
    {"div", ".approx", 2, divide},
    {"div", ".full", 2, divide_fully},
    {"rcp", ".approx", 1, reciprocal},
    {"sqrt", ".approx", 1, root},
    {"rsqrt", ".approx", 1, reciprocal_root},
    {"ex2", ".approx", 1, power},
    {"lg2", ".approx", 1, logarithm},
    {"sin", ".approx", 1, sine},
    {"cos", ".approx", 1, cosine},
};

/* Returns whether the opcode is the operation's, of f32, and says whether it flushes. */
static bool is_operation(const ptx_instruction *i, size_t n, bool *flushes) {
    if (!acu_ptx_is(i, operations[n].word) || i->operand_count != operations[n].operands + 1)
        return false;
    const char *rest = i->opcode + strlen(operations[n].word);
    const size_t length = strlen(operations[n].how);
    if (strncmp(rest, operations[n].how, length) != 0)
        return false;
    *flushes = strcmp(rest + length, ".ftz.f32") == 0;
    return *flushes || strcmp(rest + length, ".f32") == 0;
}

/* ---- instructions ---- */

static void count_write(void *data, unsigned at, unsigned how) {
    ((number *)data)[at].written += how & PTX_WRITES ? 1 : 0;
}

static bool value_of(const number *numbers, const ptx_operand *o, double *value) {
    if (o->kind == PTX_FLOAT)
        *value = (double)acu_ptx_float_of(o);
    else if (o->kind == PTX_REGISTER && !o->has_component && !o->negated)
        *value = (double)numbers[o->number].value;
    else
        return false;
    return o->kind == PTX_FLOAT || numbers[o->number].is_known;
}

/* Computes the instruction, if its operands are known and its result is a number. */
static bool compute(const number *numbers, const ptx_instruction *i, float *result) {
    double operands[2] = {0, 0}, value;
    bool flushes = false;
    size_t n = 0;
    while (n < sizeof operations / sizeof *operations && !is_operation(i, n, &flushes))
        n++;
    if (n == sizeof operations / sizeof *operations)
        return false;
    for (unsigned k = 0; k < operations[n].operands; k++) {
        if (!value_of(numbers, &i->operands[k + 1], &operands[k]))
            return false;
        operands[k] = flushes ? flush(operands[k]) : operands[k];
    }
    value = operations[n].compute(operands[0], operands[1]);
    *result = (float)(flushes ? flush(value) : value);
    return !isnan(*result);
}

bool acu_ptx_fold_constants(ptx_function *f, ptx_arena *arena) {
    number *numbers = calloc(f->register_count + 1, sizeof *numbers);
    bool is_good = numbers != NULL;
    for (uint32_t at = 0; is_good && at < f->instruction_count; at++)
        acu_ptx_touches(&f->instructions[at], count_write, numbers);
    for (uint32_t at = 0; is_good && at < f->instruction_count; at++) {
        ptx_instruction *i = &f->instructions[at];
        const ptx_operand *d = i->operands;
        if (i->guard >= 0 || !i->operand_count || d->kind != PTX_REGISTER || d->has_component ||
            numbers[d->number].written != 1)
            continue;
        number *made = &numbers[d->number];
        made->is_known = compute(numbers, i, &made->value);
        if (!made->is_known || (acu_ptx_is(i, "mov") && i->operands[1].kind == PTX_FLOAT))
            continue;
        ptx_operand *operands = acu_ptx_arena_copy(arena, i->operands, 2 * sizeof *operands);
        is_good = operands != NULL;
        if (!is_good)
            break;
        operands[1] = acu_ptx_float_operand(made->value);
        i->operands = operands;
        i->operand_count = 2;
        i->opcode = "mov.f32";
    }
    free(numbers);
    return is_good;
}
