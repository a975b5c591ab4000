/*
 * How many registers a compiler would give a thread. PTX does not say it. ptxas keeps values in
 * registers of 32 bits, as many as are needed at a time; parameters and constants it makes again
 * where they are used.
 */
#include "sim/ptx/pressure.h"

#include "sim/ptx/registers.h"

#include <stdlib.h>
#include <string.h>

/* ---- what takes a register ---- */

typedef struct values {
    unsigned char *words;   /* of each register */
    unsigned char *written; /* by how many instructions, up to 2 */
    bool reads_words;       /* the instruction that is looked at reads what takes a register */
} values;

static void count_written(void *data, unsigned number, unsigned how) {
    values *v = data;
    if (how & PTX_WRITES && v->written[number] < 2)
        v->written[number]++;
}

static void look_at_operand(void *data, unsigned number, unsigned how) {
    values *v = data;
    v->reads_words |= how & PTX_READS && v->words[number];
}

static void take_nothing(void *data, unsigned number, unsigned how) {
    values *v = data;
    if (how & PTX_WRITES && v->written[number] == 1)
        v->words[number] = 0;
}

/* Returns whether the instruction makes something that can be made again anywhere. */
static bool makes_constant(const ptx_instruction *i) {
    if (i->guard >= 0)
        return false;
    if (strncmp(i->opcode, "ld.param", 8) == 0 || acu_ptx_is(i, "cvta"))
        return true;
    return acu_ptx_is(i, "mov") && i->operand_count == 2 &&
           i->operands[1].kind != PTX_SPECIAL_REGISTER;
}

static bool find_values(const ptx_function *f, values *v) {
    v->words = calloc(f->register_count + 1, 1);
    v->written = calloc(f->register_count + 1, 1);
    if (!v->words || !v->written)
        return false;
    for (unsigned n = 0; n < f->register_count; n++)
        v->words[n] = (unsigned char)((acu_ptx_size_of_register(&f->registers[n]) + 3) / 4);
    for (uint32_t n = 0; n < f->instruction_count; n++)
        acu_ptx_touches(&f->instructions[n], count_written, v);
    for (uint32_t n = 0; n < f->instruction_count && f->is_entry; n++) {
        v->reads_words = false;
        acu_ptx_touches(&f->instructions[n], look_at_operand, v);
        if (!v->reads_words && makes_constant(&f->instructions[n]))
            acu_ptx_touches(&f->instructions[n], take_nothing, v);
    }
    return true;
}

/* ---- the estimate ---- */

/* What ptxas needs beside the values (an address of the stack, what is loaded early), and the
 * registers that a function has for the ABI where it calls one. Of 977 kernels of other people the
 * sums differed from ptxas 13.0 by 4 in the median, and by 13 or less in 90 of 100. */
enum { BESIDE = 6, LEAST = 8, LEAST_OF_CALLER = 24 };

/* Of a multiprocessor; of a thread; what ptxas takes, whatever is declared. */
enum { ALL_REGISTERS = 65536, MOST_REGISTERS = 255, LEAST_ALLOWED = 24 };

/* Returns the most words of values that the function needs at a time; 0 without memory, too. */
static unsigned most_needed(const ptx_function *f) {
    ptx_arena *arena = acu_ptx_arena_new();
    const ptx_flow_graph *flow = arena ? acu_ptx_flow_of(f, arena) : NULL;
    unsigned most = 0, *needed = calloc(f->instruction_count + 1, sizeof *needed);
    values v = {.words = NULL};
    if (flow && needed && find_values(f, &v) && acu_ptx_count_needed(f, flow, v.words, needed))
        for (uint32_t n = 0; n < f->instruction_count; n++)
            most = needed[n] > most ? needed[n] : most;
    free(v.words);
    free(v.written);
    free(needed);
    acu_ptx_arena_free(arena);
    return most;
}

static bool has(const ptx_function *f, const char *word) {
    for (uint32_t n = 0; n < f->instruction_count; n++)
        if (acu_ptx_is(&f->instructions[n], word))
            return true;
    return false;
}

static void look_at_called(void *data, const ptx_reference *r) {
    unsigned *most = data;
    unsigned own = r->function && r->function->has_body ? most_needed(r->function) : 0;
    *most = own > *most ? own : *most;
}

/* Returns how many registers the kernel leaves room for: its blocks are to fit, each warp's
 * registers in portions of 256, and a thread has 255 at most. */
static unsigned most_allowed(const ptx_function *f) {
    const unsigned *t = f->threads[0] ? f->threads : f->max_threads;
    const uint64_t threads = (uint64_t)t[0] * t[1] * t[2];
    const uint64_t warps = (threads + 31) / 32 * (f->min_blocks ? f->min_blocks : 1);
    const uint64_t by_blocks = warps ? ALL_REGISTERS / 32 / warps / 8 * 8 : MOST_REGISTERS;
    unsigned most = by_blocks < MOST_REGISTERS ? (unsigned)by_blocks : MOST_REGISTERS;
    most = f->max_registers && f->max_registers < most ? f->max_registers : most;
    return most < LEAST_ALLOWED ? LEAST_ALLOWED : most;
}

unsigned acu_ptx_estimate_registers(ptx_module *module, const ptx_function *kernel) {
    const unsigned allowed = most_allowed(kernel);
    const unsigned least = has(kernel, "call") ? LEAST_OF_CALLER : LEAST;
    if (has(kernel, "setmaxnreg"))
        return allowed; /* what warps give to others is counted from all that there is */
    unsigned most = most_needed(kernel);
    acu_ptx_module_reach(module, kernel, look_at_called, &most);
    most = most + BESIDE > least ? most + BESIDE : least;
    return most < allowed ? most : allowed;
}
