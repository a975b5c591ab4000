/* Textures: tex, tld4 and txq; and what surfaces have in common with them. */
#include "sim/ptx/texture_lower.h"

#include "sim/ptx/lane_half.h"

#include <string.h>

/* ---- objects ---- */

static const void *open_object(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t handle,
                               bool is_surface) {
    ptx_worker *worker = w->worker;
    const ptx_machine *machine = worker->launch->machine;
    for (unsigned n = 0; n < PTX_CACHED; n++)
        if (worker->opened[n].object && worker->opened[n].handle == handle &&
            worker->opened[n].is_surface == is_surface) {
            worker->last_opened = n;
            return worker->opened[n].object;
        }
    const void *object =
        machine->textures ? machine->textures->open(machine->data, handle, is_surface) : NULL;
    const char *why = !object && machine->textures ? machine->textures->why(machine->data) : NULL;
    if (why)
        acu_ptx_fail(w, lane, op, 801, 0, "%s", why);
    if (!object)
        acu_ptx_fail(w, lane, op, 700, 0, "there is no %s object 0x%llx",
                     is_surface ? "surface" : "texture", (unsigned long long)handle);
    worker->last_opened = worker->next_opened++ % PTX_CACHED;
    worker->opened[worker->last_opened] = (ptx_opened){handle, is_surface, object};
    return object;
}

const void *acu_ptx_object(ptx_warp *w, const ptx_op *op, unsigned lane, uint64_t handle,
                           bool is_surface) {
    const ptx_opened *last = &w->worker->opened[w->worker->last_opened];
    return last->object && last->handle == handle && last->is_surface == is_surface
               ? last->object
               : open_object(w, op, lane, handle, is_surface);
}

/* ---- operands ---- */

ptx_geometry acu_ptx_take_geometry(ptx_lowering *l, ptx_words *words) {
    int geometry = acu_ptx_take_one(words, "1d 2d 3d a1d a2d cube acube");
    if (geometry < 0)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", l->instruction->opcode);
    return (ptx_geometry)geometry;
}

static bool has_layers(ptx_geometry geometry) {
    return geometry == PTX_TEXTURE_A1D || geometry == PTX_TEXTURE_A2D ||
           geometry == PTX_TEXTURE_ACUBE;
}

unsigned acu_ptx_dimensions(ptx_geometry geometry) {
    static const unsigned char of[] = {1, 2, 3, 1, 2, 3, 3};
    return of[geometry];
}

static _Noreturn void refuse_operands(ptx_lowering *l) {
    acu_ptx_mismatch(l);
}

ptx_slot acu_ptx_object_handle(ptx_lowering *l, const ptx_operand *o) {
    if (o->kind != PTX_ADDRESS)
        refuse_operands(l);
    if (o->variable)
        return acu_ptx_address_of(l, o->variable);
    if (!o->is_register)
        refuse_operands(l);
    ptx_operand handle = {
        .kind = PTX_REGISTER, .type = o->type, .number = o->number, .place = o->place};
    return acu_ptx_source(l, &handle, PTX_U64);
}

void acu_ptx_vector_slots(ptx_lowering *l, const ptx_operand *o, ptx_type type, unsigned count,
                          ptx_slot *slots) {
    if (o->kind == PTX_LIST ? o->element_count < count : count > 1)
        refuse_operands(l);
    for (unsigned n = 0; n < count; n++)
        slots[n] = acu_ptx_source(l, acu_ptx_element(o, n), type);
}

void acu_ptx_place_slots(ptx_lowering *l, const ptx_operand *o, ptx_place_slots *s) {
    ptx_slot all[4];
    unsigned first = has_layers(s->geometry) ? 1 : 0;
    s->handle = acu_ptx_object_handle(l, o);
    s->dimensions = acu_ptx_dimensions(s->geometry);
    if (o->element_count > 1)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s' with a sampler of its own",
                              l->instruction->opcode);
    if (!o->element_count)
        refuse_operands(l);
    acu_ptx_vector_slots(l, &o->elements[0], PTX_B32, first + s->dimensions, all);
    s->layer = first ? all[0] : acu_ptx_constant(l, 0, 4);
    memcpy(s->at, all + first, s->dimensions * sizeof *s->at);
}

/* ---- reading ---- */

/* What tex and tld4 read; `more` of their operation. */
typedef struct reading {
    ptx_reading kind;
    ptx_place_slots place;
    ptx_slot level, dx[3], dy[3], offset[3];
    bool has_offset;
    unsigned offset_bits; /* an offset's, which has a sign */
    unsigned component;
    ptx_type type;
    ptx_slot d[4], resident;
    bool has_resident;
} reading;

/* Returns the offset as hardware takes it: its lowest bits. */
static int32_t wrap_offset(uint32_t offset, unsigned bits) {
    return (int32_t)(offset << (32 - bits)) >> (32 - bits);
}

/* Fills in the vector's numbers of one lane. */
static void read_vector(const ptx_warp *w, const ptx_slot *slots, unsigned count, unsigned lane,
                        void *to) {
    for (unsigned n = 0; n < count; n++) {
        uint32_t word = ptx_word_of(w, slots[n], lane);
        memcpy((uint32_t *)to + n, &word, sizeof word);
    }
}

static void read_sample(const ptx_warp *w, const reading *r, unsigned lane, ptx_sample *s) {
    unsigned count = r->place.dimensions;
    s->layer = ptx_word_of(w, r->place.layer, lane);
    read_vector(w, r->place.at, count, lane, r->place.is_whole ? (void *)s->texel : s->at);
    if (r->kind == PTX_READ_FETCH)
        s->fetched_level = (int32_t)ptx_word_of(w, r->level, lane);
    else if (r->kind == PTX_READ_LEVEL)
        read_vector(w, &r->level, 1, lane, &s->level);
    if (r->kind == PTX_READ_GRAD) {
        read_vector(w, r->dx, count, lane, s->dx);
        read_vector(w, r->dy, count, lane, s->dy);
    }
    for (unsigned n = 0; r->has_offset && n < count; n++)
        s->offset[n] = wrap_offset(ptx_word_of(w, r->offset[n], lane), r->offset_bits);
}

static void put_texel(const ptx_warp *w, const reading *r, unsigned lane, const uint32_t texel[4]) {
    uint16_t half[4];
    if (r->type != PTX_F16 && r->type != PTX_F16X2) {
        for (unsigned n = 0; n < 4; n++)
            ((uint32_t *)ptx_at(w, r->d[n]))[lane] = texel[n];
        return;
    }
    for (unsigned n = 0; n < 4; n++)
        half[n] = f16_rn((double)float_of(texel[n]));
    for (unsigned n = 0; n < 4 && r->type == PTX_F16; n++)
        ((uint16_t *)ptx_at(w, r->d[n]))[lane] = half[n];
    for (size_t n = 0; n < 2 && r->type == PTX_F16X2; n++)
        ((uint32_t *)ptx_at(w, r->d[n]))[lane] = half[2 * n] | (uint32_t)half[2 * n + 1] << 16;
}

static void do_read(ptx_warp *w, const ptx_op *op) {
    const reading *r = op->more;
    const ptx_textures *textures = w->worker->launch->machine->textures;
    ptx_sample sample = {.reading = r->kind,
                         .geometry = r->place.geometry,
                         .component = r->component,
                         .has_offset = r->has_offset};
    uint32_t resident = 0;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const void *texture =
            acu_ptx_object(w, op, lane, ptx_handle_of(w, r->place.handle, lane), false);
        ptx_texel texel;
        read_sample(w, r, lane, &sample);
        uint64_t missing = textures->sample(texture, &sample, &texel);
        if (missing)
            acu_ptx_fail(w, lane, op, 700, missing, "a texel whose memory is not there");
        put_texel(w, r, lane, texel.bits);
        resident |= (uint32_t)texel.resident << lane;
    }
    if (r->has_resident) {
        uint32_t *to = ptx_at(w, r->resident);
        *to = (*to & ~w->mask) | resident;
    }
}

/* ---- tex and tld4 ---- */

/* Takes what comes behind the address: the level or the derivatives, and an offset. A number to
 * compare depths with makes no difference, as on an H100: no texture of CUDA has depths. */
static void read_rest(ptx_lowering *l, const ptx_instruction *i, unsigned next, reading *r) {
    unsigned count = r->place.dimensions;
    bool is_line = r->place.geometry == PTX_TEXTURE_1D || r->place.geometry == PTX_TEXTURE_A1D;
    if (i->operand_count < next + (r->kind == PTX_READ_GRAD) * 2u)
        refuse_operands(l);
    if (r->kind == PTX_READ_GRAD) {
        acu_ptx_vector_slots(l, &i->operands[next++], PTX_F32, count, r->dx);
        acu_ptx_vector_slots(l, &i->operands[next++], PTX_F32, count, r->dy);
    }
    if (next < i->operand_count && (is_line || i->operands[next].kind == PTX_LIST)) {
        r->has_offset = true;
        acu_ptx_vector_slots(l, &i->operands[next], PTX_B32, count, r->offset);
    }
}

/* Reads what is common: the result, and where the texture is read. Returns the number of the next
 * operand. */
static unsigned read_operands(ptx_lowering *l, const ptx_instruction *i, reading *r) {
    unsigned next = i->paired ? 2 : 1, count = r->type == PTX_F16X2 ? 2 : 4;
    if (i->operand_count <= next || i->operands[0].kind != PTX_LIST ||
        i->operands[0].element_count != count)
        refuse_operands(l);
    acu_ptx_place_slots(l, &i->operands[next], &r->place);
    r->has_resident = i->paired;
    r->resident = i->paired ? acu_ptx_target(l, &i->operands[1], PTX_PRED) : 0;
    for (unsigned n = 0; n < count; n++)
        r->d[n] = acu_ptx_target(l, &i->operands[0].elements[n],
                                 r->type == PTX_F16 || r->type == PTX_F16X2 ? r->type : PTX_B32);
    return next + 1;
}

static void emit_reading(ptx_lowering *l, const ptx_instruction *i, unsigned next, reading *r) {
    read_rest(l, i, next, r);
    acu_ptx_emit(l, do_read)->more = r;
}

/* Returns whether the results can have the type. */
static bool is_result(ptx_type type, bool gathers) {
    return type == PTX_U32 || type == PTX_S32 || type == PTX_F32 ||
           (!gathers && (type == PTX_F16 || type == PTX_F16X2));
}

void acu_ptx_lower_tex(ptx_lowering *l, const ptx_instruction *i) {
    enum { BASE, LEVEL, GRAD };
    reading *r = acu_ptx_lower_alloc(l, sizeof *r);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    int way = acu_ptx_take_one(&words, "base level grad");
    r->place.geometry = acu_ptx_take_geometry(l, &words);
    int vector = acu_ptx_take_one(&words, "v4 v2");
    ptx_type at = acu_ptx_take_type(&words);
    r->type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (vector != (r->type == PTX_F16X2))
        acu_ptx_invalid(l, "Instruction '%s' requires .v%d type", acu_ptx_first_word(l),
                        r->type == PTX_F16X2 ? 2 : 4);
    if (!is_result(r->type, false) || (at != PTX_F32 && at != PTX_S32))
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    r->place.is_whole = at == PTX_S32;
    r->offset_bits = 4;
    r->kind = at == PTX_S32 ? PTX_READ_FETCH : way == GRAD ? PTX_READ_GRAD : PTX_READ_LEVEL;
    if (at == PTX_S32 && way == GRAD)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    unsigned next = read_operands(l, i, r);
    if (way == LEVEL && i->operand_count <= next)
        refuse_operands(l);
    const unsigned below_all = 0xff800000; /* -infinity: no bias counts where no level is named */
    r->level = way == LEVEL ? acu_ptx_source(l, &i->operands[next++], at)
                            : acu_ptx_constant(l, at == PTX_S32 ? 0 : below_all, 4);
    emit_reading(l, i, next, r);
}

void acu_ptx_lower_tld4(ptx_lowering *l, const ptx_instruction *i) {
    reading *r = acu_ptx_lower_alloc(l, sizeof *r);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    int component = acu_ptx_take_one(&words, "r g b a");
    r->place.geometry = acu_ptx_take_geometry(l, &words);
    acu_ptx_need(l, &words, "v4");
    ptx_type at = acu_ptx_take_type(&words);
    r->type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    if (component < 0 || !is_result(r->type, true) || at != PTX_F32)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    r->component = (unsigned)component;
    r->kind = PTX_READ_GATHER;
    r->offset_bits = 6;
    emit_reading(l, i, read_operands(l, i, r), r);
}

/* ---- istypep ---- */

enum { IS_TEXTURE, IS_SAMPLER, IS_SURFACE };

/* `value`: which sort of variable a handle is asked for. No module has samplers. */
static void do_istypep(ptx_warp *w, const ptx_op *op) {
    const ptx_machine *machine = w->worker->launch->machine;
    const uint64_t *handles = ptx_at(w, op->a);
    uint32_t *d = ptx_at(w, op->d), found = 0;
    for (uint32_t left = w->mask; left && op->value != IS_SAMPLER; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        found |= (uint32_t)machine->textures->is_reference(machine->data, handles[lane],
                                                           op->value == IS_SURFACE)
                 << lane;
    }
    *d = (*d & ~w->mask) | found;
}

void acu_ptx_lower_istypep(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    int sort = acu_ptx_take_one(&words, "texref samplerref surfref");
    if (sort < 0)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    acu_ptx_words_end(l, &words);
    if (i->operand_count != 2)
        acu_ptx_mismatch(l);
    ptx_slot a = acu_ptx_source(l, &i->operands[1], PTX_U64),
             d = acu_ptx_target(l, &i->operands[0], PTX_PRED);
    ptx_op *op = acu_ptx_emit(l, do_istypep);
    op->a = a;
    op->d = d;
    op->value = sort;
}

/* ---- txq and suq ---- */

/* What is asked of an object; `more` of its operation. */
typedef struct query {
    bool is_surface;
    int which; /* width, height, depth */
    ptx_slot d, handle, level;
} query;

static void do_query(ptx_warp *w, const ptx_op *op) {
    const query *q = op->more;
    const ptx_textures *textures = w->worker->launch->machine->textures;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        const void *object =
            acu_ptx_object(w, op, lane, ptx_handle_of(w, q->handle, lane), q->is_surface);
        ptx_extent e = textures->extent(object, ptx_word_of(w, q->level, lane));
        ((uint32_t *)ptx_at(w, q->d))[lane] = q->which == 0   ? e.width
                                              : q->which == 1 ? e.height
                                                              : e.depth;
    }
}

/* CUDA's driver refuses modules that ask for anything else than the extent. */
void acu_ptx_lower_query(ptx_lowering *l, const ptx_instruction *i) {
    query *q = acu_ptx_lower_alloc(l, sizeof *q);
    ptx_words words;
    acu_ptx_words(l, i, &words);
    q->is_surface = acu_ptx_is(i, "suq");
    bool has_level = acu_ptx_take(&words, "level");
    q->which = acu_ptx_take_one(&words, "width height depth");
    ptx_type type = acu_ptx_take_type(&words);
    if (type != PTX_B32)
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'",
                        acu_ptx_first_word(l));
    if (q->which < 0)
        acu_ptx_not_simulated(l, "the simulator does not execute '%s', nor does CUDA", i->opcode);
    acu_ptx_words_end(l, &words);
    if (i->operand_count != (has_level ? 3u : 2u))
        refuse_operands(l);
    q->handle = acu_ptx_object_handle(l, &i->operands[1]);
    q->level = has_level ? acu_ptx_source(l, &i->operands[2], PTX_B32) : acu_ptx_constant(l, 0, 4);
    q->d = acu_ptx_target(l, &i->operands[0], PTX_B32);
    acu_ptx_emit(l, do_query)->more = q;
}
