/* Surfaces: suld, sust and sured. */
#include "sim/ptx/atomic.h"
#include "sim/ptx/lane_half.h"
#include "sim/ptx/texture_lower.h"

#include <string.h>

enum { MOST_ELEMENTS = 4, MOST_BYTES = 16 };

/* What an access does; `more` of its operation. */
typedef struct surface_access {
    ptx_place_slots place;
    ptx_boundary boundary;
    unsigned size, count;   /* bytes of an element in the surface, and elements */
    unsigned register_size; /* bytes of an element in a register */
    bool formatted;         /* x counts elements, which have the surface's format */
    ptx_slot slots[MOST_ELEMENTS];
    ptx_change change; /* of sured */
    ptx_type type;
} surface_access;

/* ---- where the bytes are ---- */

static const void *surface_of(ptx_warp *w, const ptx_op *op, unsigned lane) {
    const surface_access *a = op->more;
    return acu_ptx_object(w, op, lane, ptx_handle_of(w, a->place.handle, lane), true);
}

/* Returns where a lane's bytes are; NULL where nothing is accessed. `unit`: bytes that x counts. */
static char *find(ptx_warp *w, const ptx_op *op, unsigned lane, const void *surface, unsigned unit,
                  unsigned size) {
    const surface_access *a = op->more;
    const ptx_textures *textures = w->worker->launch->machine->textures;
    ptx_surface_place place = {.geometry = a->place.geometry, .size = size};
    char *at = NULL;
    place.layer = ptx_word_of(w, a->place.layer, lane);
    for (unsigned n = 0; n < a->place.dimensions; n++)
        place.at[n] = (int32_t)ptx_word_of(w, a->place.at[n], lane);
    place.at[0] = (int32_t)((uint32_t)place.at[0] * unit);
    ptx_found found = textures->find(surface, &place, a->boundary, &at);
    if (found == PTX_MISALIGNED)
        acu_ptx_fail(w, lane, op, 716, 0,
                     "an access of %u bytes of a surface at the byte %d, which is not a multiple",
                     size, (int)place.at[0]);
    if (found == PTX_OUTSIDE)
        acu_ptx_fail(w, lane, op, 700, 0,
                     "an access of a surface beyond its edges, at the byte %d, row %d, slice %d",
                     (int)place.at[0], (int)place.at[1],
                     a->place.geometry == PTX_TEXTURE_3D ? (int)place.at[2] : (int)place.layer);
    return at;
}

static void *element(const ptx_warp *w, const surface_access *a, unsigned n, unsigned lane) {
    return (char *)ptx_at(w, a->slots[n]) + (size_t)lane * a->register_size;
}

/* ---- bytes ---- */

static void do_load(ptx_warp *w, const ptx_op *op) {
    const surface_access *a = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const char *at = find(w, op, lane, surface_of(w, op, lane), 1, a->size * a->count);
        for (unsigned n = 0; n < a->count; n++) {
            uint64_t value = 0;
            if (at)
                memcpy(&value, at + (size_t)n * a->size, a->size);
            memcpy(element(w, a, n, lane), &value, a->register_size);
        }
    }
}

static void do_store(ptx_warp *w, const ptx_op *op) {
    const surface_access *a = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        char *at = find(w, op, lane, surface_of(w, op, lane), 1, a->size * a->count);
        for (unsigned n = 0; at && n < a->count; n++)
            memcpy(at + (size_t)n * a->size, element(w, a, n, lane), a->size);
    }
}

/* ---- formats ---- */

/* Returns the nearest integer that the element can have. */
static uint32_t saturate_to(uint32_t value, ptx_element_format f) {
    unsigned bits = f.size * 8;
    if (bits == 32)
        return value;
    if (f.kind == PTX_ELEMENT_UNSIGNED)
        return value >> bits ? (1u << bits) - 1 : value;
    int32_t most = (int32_t)(1u << (bits - 1)) - 1, whole = (int32_t)value;
    return (uint32_t)(whole > most ? most : whole < -most - 1 ? -most - 1 : whole);
}

/* Returns a component as the surface has it: 16 bits of a float are cut off, also those of what is
 * no number. */
static uint32_t encode(uint32_t value, ptx_element_format f) {
    if (f.kind != PTX_ELEMENT_FLOAT)
        return saturate_to(value, f);
    const uint32_t sign = value >> 16 & 0x8000, size = value & 0x7fffffff, infinite = 0x7f800000;
    if (f.size == 4)
        return value;
    return sign |
           (size > infinite ? 0x7c00 | (value >> 13 & 0x3ff) : f16_rz((double)float_of(value)));
}

static ptx_element_format format_of(ptx_warp *w, const ptx_op *op, unsigned lane,
                                    const void *surface) {
    ptx_element_format f = w->worker->launch->machine->textures->format(surface);
    if (f.kind == PTX_ELEMENT_OTHER)
        acu_ptx_fail(w, lane, op, 801, 0,
                     "the simulator does not convert to the format of this surface");
    return f;
}

static void do_store_formatted(ptx_warp *w, const ptx_op *op) {
    const surface_access *a = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const void *surface = surface_of(w, op, lane);
        ptx_element_format f = format_of(w, op, lane, surface);
        char *at = find(w, op, lane, surface, f.channels * f.size, f.channels * f.size);
        for (unsigned n = 0; at && n < f.channels; n++) {
            uint32_t value = n < a->count ? ptx_word_of(w, a->slots[n], lane) : 0;
            value = encode(value, f);
            memcpy(at + (size_t)n * f.size, &value, f.size);
        }
    }
}

/* ---- changes ---- */

/* x of sured.p counts words, and signed elements are compared as such. */
static void do_change(ptx_warp *w, const ptx_op *op) {
    const surface_access *a = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const void *surface = surface_of(w, op, lane);
        ptx_type type = a->type;
        if (a->formatted)
            type = format_of(w, op, lane, surface).kind == PTX_ELEMENT_SIGNED ? PTX_S32 : PTX_U32;
        uint64_t value = 0;
        memcpy(&value, element(w, a, 0, lane), a->size);
        char *at = find(w, op, lane, surface, a->formatted ? 4 : 1, a->size);
        if (at)
            acu_ptx_change(a->change, type, at, value, 0);
    }
}

/* ---- lowering ---- */

static _Noreturn void refuse_types(ptx_lowering *l) {
    const char *opcode = l->instruction->opcode, *words = strchr(opcode, '.');
    const size_t more = words ? 1 + strcspn(words + 1, ".") : 0; /* suld.b */
    acu_ptx_invalid(l, "Unexpected instruction types specified for '%.*s%.*s'",
                    (int)strcspn(opcode, "."), opcode, (int)more, words ? words : "");
}

/* Refuses types that are not plain bits. */
static void need_bits(ptx_lowering *l, ptx_type type) {
    if (type != PTX_B8 && type != PTX_B16 && type != PTX_B32 && type != PTX_B64)
        refuse_types(l);
}

static _Noreturn void refuse_name(ptx_lowering *l) {
    acu_ptx_invalid(l, "Not a name of any known instruction: '%s'", acu_ptx_first_word(l));
}

/* Takes the words that all three have; the vector and the type are the elements'. */
static void read_words(ptx_lowering *l, ptx_words *words, surface_access *a) {
    acu_ptx_take_one(words, "ca cg cs cv wb wt");
    a->place.geometry = acu_ptx_take_geometry(l, words);
    a->place.is_whole = true;
    int vector = acu_ptx_take_one(words, "v2 v4");
    int boundary = acu_ptx_take_one(words, "trap clamp zero");
    if (boundary < 0)
        acu_ptx_invalid(l, "Clamp modifier required for instruction '%s'", acu_ptx_first_word(l));
    a->type = acu_ptx_take_type(words);
    acu_ptx_words_end(l, words);
    a->count = vector < 0 ? 1 : 2u << vector;
    a->size = (unsigned)acu_ptx_type_size(a->type);
    a->boundary = (ptx_boundary)boundary;
    if (!a->size || a->size * a->count > MOST_BYTES || a->place.geometry >= PTX_TEXTURE_CUBE)
        refuse_types(l);
}

/* Fills in the slots of the elements, whose registers may be wider. */
static void read_elements(ptx_lowering *l, const ptx_operand *list, surface_access *a, bool loads) {
    if (list->kind == PTX_LIST ? list->element_count != a->count : a->count != 1)
        acu_ptx_mismatch(l);
    a->register_size = a->size < 2 ? 2 : a->size;
    for (unsigned n = 0; n < a->count; n++)
        if (acu_ptx_element(list, n)->kind == PTX_REGISTER)
            a->register_size = acu_ptx_register_size(l, acu_ptx_element(list, n));
    if (a->register_size < a->size)
        acu_ptx_mismatch(l);
    ptx_type type = a->register_size == 2 ? PTX_B16 : a->register_size == 4 ? PTX_B32 : PTX_B64;
    for (unsigned n = 0; n < a->count; n++)
        a->slots[n] = loads ? acu_ptx_target(l, acu_ptx_element(list, n), type)
                            : acu_ptx_source(l, acu_ptx_element(list, n), type);
}

static void emit(ptx_lowering *l, const ptx_instruction *i, surface_access *a,
                 ptx_handler *handler) {
    bool loads = handler == do_load;
    if (i->operand_count != 2)
        acu_ptx_mismatch(l);
    acu_ptx_place_slots(l, &i->operands[loads ? 1 : 0], &a->place);
    read_elements(l, &i->operands[loads ? 0 : 1], a, loads);
    acu_ptx_emit(l, handler)->more = a;
}

void acu_ptx_lower_suld(ptx_lowering *l, const ptx_instruction *i) {
    surface_access *a = acu_ptx_lower_alloc(l, sizeof *a);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    if (!acu_ptx_take(&words, "b"))
        refuse_name(l);
    read_words(l, &words, a);
    need_bits(l, a->type);
    emit(l, i, a, do_load);
}

void acu_ptx_lower_sust(ptx_lowering *l, const ptx_instruction *i) {
    surface_access *a = acu_ptx_lower_alloc(l, sizeof *a);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    const int kind = acu_ptx_take_one(&words, "b p");
    if (kind < 0)
        refuse_name(l);
    a->formatted = kind == 1;
    read_words(l, &words, a);
    need_bits(l, a->type);
    if (a->formatted && a->type != PTX_B32)
        refuse_types(l);
    emit(l, i, a, a->formatted ? do_store_formatted : do_store);
}

void acu_ptx_lower_sured(ptx_lowering *l, const ptx_instruction *i) {
    static const ptx_change changes[] = {PTX_CHANGE_ADD, PTX_CHANGE_MIN, PTX_CHANGE_MAX,
                                         PTX_CHANGE_AND, PTX_CHANGE_OR};
    surface_access *a = acu_ptx_lower_alloc(l, sizeof *a);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    a->formatted = acu_ptx_take_one(&words, "b p") == 1;
    int change = acu_ptx_take_one(&words, "add min max and or");
    read_words(l, &words, a);
    if (change < 0 || a->size < 4 || a->count > 1 || a->type == PTX_F32 || a->type == PTX_F64 ||
        (a->formatted && a->type != PTX_B32))
        refuse_types(l);
    a->change = changes[change];
    emit(l, i, a, do_change);
}
