/* Where a warp stops, and which registers have values there. */
#include "sim/ptx/stop.h"

#include "sim/ptx/grid.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/registers.h"

#include <string.h>

static void stop(ptx_warp *w, const ptx_op *op) {
    const ptx_machine *machine = w->worker->launch->machine;
    if (machine->stopped)
        machine->stopped(machine->data, w, op);
}

/* ---- where ---- */

/* Returns whether the path ends with what was asked for: "sum.cu" of "/code/sum.cu". */
static bool ends_with(const char *path, const char *wanted) {
    size_t length = strlen(path), end = strlen(wanted);
    if (end > length || strcmp(path + length - end, wanted) != 0)
        return false;
    return end == length || path[length - end - 1] == '/';
}

static bool is_wanted(const ptx_lowering *l, unsigned number, unsigned line) {
    const ptx_file *file = l->module->files;
    if (line != l->code->watch.stop_line)
        return false;
    while (file && file->number != number)
        file = file->next;
    return file && ends_with(file->name, l->code->watch.stop_file);
}

/* What was inlined is of its own line, and of the one that calls it. */
static bool is_of_source(const ptx_lowering *l, const ptx_instruction *i) {
    const ptx_source *s = &i->source;
    return is_wanted(l, s->file, s->line) || is_wanted(l, s->outer_file, s->outer_line);
}

/* Returns whether the block is entered from another one than that before it. */
static bool is_jumped_to(const ptx_flow_graph *flow, uint32_t block) {
    for (uint32_t b = 0; b < flow->count; b++)
        for (uint32_t n = 0; n < flow->blocks[b].next_count; n++)
            if (flow->blocks[b].next[n] == block && b + 1 != block)
                return true;
    return false;
}

/* A line of the source is one or several rows of instructions, which a jump may enter, too. */
static bool begins_source_line(const ptx_lowering *l, const ptx_function *f, uint32_t nth) {
    const ptx_flow_graph *flow = l->functions[l->current].flow;
    uint32_t block = flow->block_of[nth];
    if (!is_of_source(l, &f->instructions[nth]))
        return false;
    return !nth || !is_of_source(l, &f->instructions[nth - 1]) ||
           (flow->blocks[block].begin == nth && is_jumped_to(flow, block));
}

/* A line of the PTX without an instruction stands for the next one of the function. */
static bool is_first_behind(const ptx_lowering *l, const ptx_function *f, uint32_t nth) {
    unsigned line = l->code->watch.stop_line;
    return f->place.line <= line && line <= f->instructions[nth].place.line &&
           (!nth || f->instructions[nth - 1].place.line < line);
}

/* ---- registers ---- */

static void note_write(void *data, unsigned number, unsigned how) {
    bool *written = data;
    if (how & PTX_WRITES)
        written[number] = true;
}

static void note_writes(const ptx_function *f, uint32_t begin, uint32_t end, bool *written) {
    for (uint32_t n = begin; n < end; n++)
        acu_ptx_touches(&f->instructions[n], note_write, written);
}

/* What the registers of a function are used as. */
typedef struct stop_uses {
    const ptx_function *f;
    ptx_type *of;                 /* for each register; PTX_NONE: not known */
    ptx_type written_as, read_as; /* by the instruction that is looked at */
} stop_uses;

static bool is_type_of_bits(ptx_type type) {
    return type == PTX_B8 || type == PTX_B16 || type == PTX_B32 || type == PTX_B64 ||
           type == PTX_B128;
}

static void note_use(void *data, unsigned number, unsigned how) {
    stop_uses *uses = data;
    ptx_type declared = uses->f->registers[number].type,
             type = how & PTX_WRITES ? uses->written_as : uses->read_as;
    if (is_type_of_bits(declared) && !uses->of[number] && type && !is_type_of_bits(type) &&
        type != PTX_PRED && acu_ptx_type_size(type) == acu_ptx_type_size(declared))
        uses->of[number] = type;
}

/* Finds the first and the last type that the opcode names. */
static void find_types(const char *opcode, stop_uses *uses) {
    uses->written_as = uses->read_as = PTX_NONE;
    for (const char *dot = strchr(opcode, '.'); dot; dot = strchr(dot + 1, '.')) {
        ptx_type type = acu_ptx_type_of(dot + 1, strcspn(dot + 1, "."));
        if (!type)
            continue;
        uses->written_as = uses->written_as ? uses->written_as : type;
        uses->read_as = type;
    }
}

/* Returns what each register is used as by the instructions that write it, else by those that read
 * it. */
static const ptx_type *find_uses(ptx_lowering *l, const ptx_function *f) {
    stop_uses uses = {.f = f};
    uses.of = acu_ptx_lower_alloc(l, (f->register_count + 1) * sizeof *uses.of);
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t n = 0; n < f->instruction_count; n++) {
            find_types(f->instructions[n].opcode, &uses);
            if (pass == 0)
                uses.read_as = PTX_NONE;
            acu_ptx_touches(&f->instructions[n], note_use, &uses);
        }
    return uses.of;
}

/* Finds the blocks from which lanes may come to the block. */
static bool *blocks_before(ptx_lowering *l, const ptx_flow_graph *flow, uint32_t block) {
    bool *before = acu_ptx_lower_alloc(l, flow->count);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = flow->count; b-- > 0;)
            for (uint32_t n = 0; n < flow->blocks[b].next_count && !before[b]; n++)
                changed |= before[b] =
                    flow->blocks[b].next[n] == block || before[flow->blocks[b].next[n]];
    }
    return before;
}

static void list_registers(ptx_lowering *l, ptx_stop *made, uint32_t nth) {
    const ptx_function *f = made->function;
    const ptx_lowered *lowered = &l->functions[l->current];
    const ptx_flow_graph *flow = lowered->flow;
    const uint32_t own = flow->block_of[nth];
    bool *written = acu_ptx_lower_alloc(l, f->register_count + 1),
         *before = blocks_before(l, flow, own);
    const ptx_type *uses = find_uses(l, f);
    for (const ptx_variable *v = f->params; v; v = v->next)
        if (v->in_register)
            written[v->number] = true;
    for (uint32_t b = 0; b < flow->count; b++)
        if (before[b])
            note_writes(f, flow->blocks[b].begin, flow->blocks[b].end, written);
    note_writes(f, flow->blocks[own].begin, nth, written);
    made->registers = acu_ptx_lower_alloc(l, (f->register_count + 1) * sizeof *made->registers);
    for (unsigned n = 0; n < f->register_count; n++)
        if (written[n] && lowered->slots[n] != UINT32_MAX)
            made->registers[made->count++] =
                (ptx_stop_register){.reg = &f->registers[n],
                                    .type = uses[n] ? uses[n] : f->registers[n].type,
                                    .slot = lowered->slots[n],
                                    .size = acu_ptx_size_of_register(&f->registers[n])};
}

void acu_ptx_stop_before(ptx_lowering *l, const ptx_function *f, uint32_t nth) {
    const ptx_watch *watch = &l->code->watch;
    if (!watch->stop_line || !(watch->stop_file ? begins_source_line : is_first_behind)(l, f, nth))
        return;
    ptx_stop *made = acu_ptx_lower_alloc(l, sizeof *made);
    made->instruction = &f->instructions[nth];
    made->function = f;
    list_registers(l, made, nth);
    ptx_op *op = acu_ptx_emit(l, stop);
    op->more = made;
    op->instruction = made->instruction;
    l->code->stops++;
}
