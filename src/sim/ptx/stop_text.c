/* What a person reads of a warp that has stopped. */
#include "sim/ptx/grid.h"
#include "sim/ptx/lane_half.h"
#include "sim/ptx/stop.h"

#include <inttypes.h>
#include <string.h>

/* ---- places ---- */

/* Returns the name of a source of the module; NULL if it is not known. */
static const char *source_of(const ptx_module *module, unsigned number) {
    const ptx_file *file = module ? module->files : NULL;
    while (file && file->number != number)
        file = file->next;
    return file ? file->name : NULL;
}

void acu_ptx_stop_name_place(const ptx_module *module, const ptx_instruction *i, char *text,
                             size_t size) {
    const ptx_source *s = &i->source;
    int used = snprintf(text, size, "%s in line %u of the PTX", i->opcode, i->place.line);
    const char *file = s->line ? source_of(module, s->file) : NULL;
    const char *outer = s->outer_line ? source_of(module, s->outer_file) : NULL;
    if (!file || used <= 0 || (size_t)used >= size)
        return;
    text += used;
    size -= (size_t)used;
    if (outer) /* the end of a header's path says enough */
        snprintf(text, size, " (%s:%u, by %s:%u)", outer, s->outer_line,
                 strrchr(file, '/') ? strrchr(file, '/') + 1 : file, s->line);
    else
        snprintf(text, size, " (%s:%u)", file, s->line);
}

static void write_place(FILE *file, const ptx_module *module, const ptx_instruction *i) {
    char text[PTX_PLACE_TEXT];
    acu_ptx_stop_name_place(module, i, text, sizeof text);
    fputs(text, file);
}

static void write_thread(FILE *file, const ptx_warp *w, unsigned lane) {
    const unsigned *size = w->block->launch->block, thread = w->number * PTX_LANES + lane;
    fprintf(file, "(%u, %u, %u)", thread % size[0], thread / size[0] % size[1],
            thread / size[0] / size[1]);
}

void acu_ptx_stop_write_where(FILE *file, const ptx_warp *w, const ptx_stop *stop,
                              const char *kernel) {
    const unsigned *block = w->block->index;
    fprintf(file, "kernel \"%s\": stopped before ", kernel);
    write_place(file, w->code->module, stop->instruction);
    if (strcmp(stop->function->name, w->code->entry->name) != 0)
        fprintf(file, " of %s", stop->function->name);
    fprintf(file, "; block (%u, %u, %u), warp %u, threads ", block[0], block[1], block[2],
            w->number);
    write_thread(file, w, (unsigned)__builtin_ctz(w->mask));
    fprintf(file, " to ");
    write_thread(file, w, 31 - (unsigned)__builtin_clz(w->mask));
    fprintf(file, ", mask 0x%08" PRIx32, w->mask);
}

/* ---- lanes ---- */

/* Writes "0-7, 9". */
static void write_lanes(FILE *file, uint32_t lanes) {
    const char *before = "";
    for (unsigned i = 0, end; i < PTX_LANES; i = end) {
        end = i + 1;
        if (!(lanes >> i & 1))
            continue;
        while (end < PTX_LANES && lanes >> end & 1)
            end++;
        fprintf(file, end - i > 1 ? "%s%u-%u" : "%s%u", before, i, end - 1);
        before = ", ";
    }
}

/* Writes the same in few columns: a mask where there are gaps. */
static void write_compactly(FILE *file, uint32_t lanes) {
    if (__builtin_popcount(lanes & ~(lanes << 1)) > 4)
        fprintf(file, "0x%08" PRIx32, lanes);
    else
        write_lanes(file, lanes);
}

static void write_set(FILE *file, const char *what, uint32_t lanes) {
    fprintf(file, "%-10s 0x%08" PRIx32 "  ", what, lanes);
    write_lanes(file, lanes);
    fprintf(file, "%s\n", lanes ? "" : "none");
}

void acu_ptx_stop_write_mask(FILE *file, const ptx_warp *w) {
    write_set(file, "active", w->mask);
    write_set(file, "elsewhere", ptx_alive(w) & ~w->mask);
    write_set(file, "ended", w->ended);
}

/* ---- warps ---- */

static void write_lanes_of(FILE *file, const ptx_warp *w, uint32_t lanes, bool current) {
    fprintf(file, "%c warp %2u, lanes ", current ? '*' : ' ', w->number);
    write_compactly(file, lanes);
    fprintf(file, ": ");
}

/* Writes where lanes go on: at the first operation that an instruction has become. */
static void write_pc(FILE *file, const ptx_warp *w, uint32_t pc) {
    const ptx_code *code = w->code;
    while (pc < code->count && !code->ops[pc].instruction)
        pc++;
    if (pc < code->count)
        write_place(file, code->module, code->ops[pc].instruction);
    fprintf(file, "\n");
}

static void write_split(FILE *file, const ptx_warp *w, const ptx_split *s) {
    write_lanes_of(file, w, s->mask, false);
    if (s->wait == PTX_AT_BARRIER && s->barrier == PTX_CLUSTER_BARRIER)
        fprintf(file, "wait at the cluster's barrier: ");
    else if (s->wait == PTX_AT_BARRIER)
        fprintf(file, "wait at barrier %u: ", s->barrier);
    else
        fprintf(file, s->wait ? "wait for lanes of their mask: " : "ready: ");
    write_pc(file, w, s->pc);
}

static void write_warp(FILE *file, const ptx_warp *w, const ptx_warp *stopped,
                       const ptx_stop *stop) {
    if (!w->split_count)
        fprintf(file, "  warp %2u: ended\n", w->number);
    for (unsigned n = 0; n < w->split_count; n++) {
        if (w != stopped || n != w->current) {
            write_split(file, w, &w->splits[n]);
            continue;
        }
        write_lanes_of(file, w, w->splits[n].mask, true);
        fprintf(file, "stopped: ");
        write_place(file, w->code->module, stop->instruction);
        fprintf(file, "\n");
    }
    for (const ptx_join *join = w->joins; join; join = join->next)
        if (join->arrived) {
            write_lanes_of(file, w, join->arrived, false);
            fprintf(file, "wait for the others of a branch: ");
            write_pc(file, w, join->pc);
        }
}

void acu_ptx_stop_write_warps(FILE *file, const ptx_warp *w, const ptx_stop *stop) {
    for (unsigned n = 0; n < w->block->warp_count; n++)
        write_warp(file, &w->block->warps[n], w, stop);
}

/* ---- registers ---- */

void acu_ptx_stop_write_name(FILE *file, const ptx_stop_register *r) {
    fprintf(file, r->reg->number < 0 ? "%s" : "%s%d", r->reg->name, r->reg->number);
}

static void write_float(FILE *file, ptx_type type, uint64_t bits) {
    double wide;
    float narrow;
    uint32_t word = (uint32_t)bits;
    memcpy(&wide, &bits, sizeof wide);
    memcpy(&narrow, &word, sizeof narrow);
    if (type == PTX_F64)
        fprintf(file, "%.17g", wide);
    else
        fprintf(file, "%.9g",
                (double)(type == PTX_F16    ? f32_of_f16((uint16_t)bits)
                         : type == PTX_BF16 ? f32_of_bf16((uint16_t)bits)
                                            : narrow));
}

/* Bits are numbers as long as they are small; long numbers are addresses. */
static void write_value(FILE *file, ptx_type type, const char *at, unsigned size) {
    uint64_t bits = 0, high = 0;
    memcpy(&bits, at, size < 8 ? size : 8);
    if (size > 8)
        memcpy(&high, at + 8, 8);
    switch (type) {
    case PTX_F64:
    case PTX_F32:
    case PTX_F16:
    case PTX_BF16:
        write_float(file, type, bits);
        break;
    case PTX_S8:
    case PTX_S16:
        fprintf(file, "%d", (int)(int16_t)bits);
        break;
    case PTX_S32:
        fprintf(file, "%" PRId32, (int32_t)bits);
        break;
    case PTX_S64:
        if (bits + (UINT64_C(1) << 40) < UINT64_C(1) << 41) {
            fprintf(file, "%" PRId64, (int64_t)bits);
            break;
        }
        fprintf(file, "0x%" PRIx64, bits);
        break;
    case PTX_U8:
    case PTX_U16:
    case PTX_U32:
        fprintf(file, "%" PRIu64, bits);
        break;
    case PTX_U64:
        fprintf(file, bits >> 40 ? "0x%" PRIx64 : "%" PRIu64, bits);
        break;
    default:
        if (high)
            fprintf(file, "0x%" PRIx64 "%016" PRIx64, high, bits);
        else
            fprintf(file, bits < 65536 ? "%" PRIu64 : "0x%" PRIx64, bits);
    }
}

static void write_predicate(FILE *file, uint32_t mask, uint32_t bits) {
    if (bits && bits != mask) {
        fprintf(file, "true in lanes ");
        write_compactly(file, bits);
    } else {
        fprintf(file, bits ? "true" : "false");
    }
}

static const char *value_at(const ptx_warp *w, const ptx_stop_register *r, unsigned lane) {
    return (const char *)ptx_at(w, r->slot) + (size_t)lane * r->size;
}

static bool is_active(const ptx_warp *w, unsigned lane) {
    return w->mask >> lane & 1;
}

/* Writes the type; and the value, if it is a predicate, or the active lanes' values are equal.
 * Returns whether that is so. */
static bool write_as_one(FILE *file, const ptx_warp *w, const ptx_stop_register *r) {
    const char *first = value_at(w, r, (unsigned)__builtin_ctz(w->mask));
    fprintf(file, ".%s", acu_ptx_type_name(r->type));
    if (!r->size) {
        uint32_t bits;
        memcpy(&bits, ptx_at(w, r->slot), sizeof bits);
        fprintf(file, " ");
        write_predicate(file, w->mask, bits & w->mask);
        return true;
    }
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (is_active(w, i) && memcmp(value_at(w, r, i), first, r->size) != 0)
            return false;
    fprintf(file, " ");
    write_value(file, r->type, first, r->size);
    return true;
}

static void write_each(FILE *file, const ptx_warp *w, const ptx_stop_register *r) {
    const unsigned row = r->size < 8 ? 8 : 4;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        if (!(w->mask >> i / row * row & ((1u << row) - 1)))
            continue; /* a row without active lanes */
        if (i % row == 0)
            fprintf(file, "\n      lane %2u:", i);
        fprintf(file, " ");
        if (is_active(w, i))
            write_value(file, r->type, value_at(w, r, i), r->size);
        else
            fprintf(file, "-");
    }
}

void acu_ptx_stop_write_lanes(FILE *file, const ptx_warp *w, const ptx_stop_register *r) {
    if (!write_as_one(file, w, r))
        write_each(file, w, r);
}

static int64_t integer_at(const ptx_warp *w, const ptx_stop_register *r, unsigned lane) {
    uint32_t narrow;
    int64_t wide;
    if (r->size == 8) {
        memcpy(&wide, value_at(w, r, lane), sizeof wide);
        return wide;
    }
    memcpy(&narrow, value_at(w, r, lane), sizeof narrow);
    return r->type == PTX_S32 ? (int32_t)narrow : (int64_t)narrow;
}

/* Returns whether the active lanes, three or more, have integers that grow by `step` with each
 * lane. */
static bool is_even(const ptx_warp *w, const ptx_stop_register *r, int64_t *step) {
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    uint32_t rest = w->mask & (w->mask - 1);
    if ((r->size != 4 && r->size != 8) || r->type == PTX_F32 || r->type == PTX_F64 ||
        !(rest & (rest - 1)))
        return false;
    unsigned apart = (unsigned)__builtin_ctz(rest) - first;
    int64_t from = integer_at(w, r, first), far;
    if (__builtin_sub_overflow(integer_at(w, r, first + apart), from, &far) || far % apart)
        return false;
    *step = far / apart;
    for (unsigned i = first; i < PTX_LANES; i++) {
        int64_t there;
        if (is_active(w, i) &&
            (__builtin_mul_overflow(*step, (int64_t)(i - first), &there) ||
             __builtin_add_overflow(there, from, &there) || there != integer_at(w, r, i)))
            return false;
    }
    return true;
}

void acu_ptx_stop_write_shortly(FILE *file, const ptx_warp *w, const ptx_stop_register *r) {
    int64_t step;
    unsigned first = (unsigned)__builtin_ctz(w->mask);
    if (write_as_one(file, w, r))
        return;
    if (!is_even(w, r, &step)) {
        write_each(file, w, r);
        return;
    }
    fprintf(file, " lane %u: ", first);
    write_value(file, r->type, value_at(w, r, first), r->size);
    fprintf(file, ", %+" PRId64 " with each lane", step);
}
