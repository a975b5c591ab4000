/* tensormap: kernels change tensor maps, and bring them from shared to global memory. */
#include "sim/ptx/access.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/matrix.h"
#include "sim/ptx/tensor_copy.h"

#include <string.h>

/* The fields, in the order of their names below. */
typedef enum tensor_field {
    ADDRESS,
    RANK,
    BOX,
    SHAPE,
    STRIDE,
    STEP,
    TYPE,
    INTERLEAVE,
    SWIZZLE,
    ATOMICITY,
    FILL,
} tensor_field;
static const char fields[] = "global_address rank box_dim global_dim global_stride element_stride "
                             "elemtype interleave_layout swizzle_mode swizzle_atomicity fill_mode";

typedef struct tensor_replace {
    tensor_field field;
    unsigned number; /* of the dimension */
    ptx_space space;
    ptx_address address, from;
    unsigned size; /* bytes of the value */
    ptx_slot value;
} tensor_replace;

/* Types, as PTX numbers them. */
static uint8_t type_of(uint64_t number) {
    static const uint8_t types[] = {
        PTX_TENSOR_U8,       PTX_TENSOR_U16,  PTX_TENSOR_U32,         PTX_TENSOR_S32,
        PTX_TENSOR_U64,      PTX_TENSOR_S64,  PTX_TENSOR_F16,         PTX_TENSOR_F32,
        PTX_TENSOR_F32_FTZ,  PTX_TENSOR_F64,  PTX_TENSOR_BF16,        PTX_TENSOR_TF32,
        PTX_TENSOR_TF32_FTZ, PTX_TENSOR_16U4, PTX_TENSOR_16U4_SPREAD, PTX_TENSOR_16U6_SPREAD,
    };
    return number < sizeof types ? types[number] : PTX_TENSOR_TYPES;
}

/* Returns whether the value can be one of the field. */
static bool set_field(ptx_tensor_map *map, const tensor_replace *r, uint64_t value) {
    uint8_t small = value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
    switch (r->field) {
    case ADDRESS:
        map->address = value;
        return value % 16 == 0;
    case RANK: /* counted from 0 */
        map->rank = (uint8_t)(small + 1);
        return small < PTX_TENSOR_RANKS;
    case BOX:
        map->box[r->number] = (uint16_t)value;
        return value >= 1 && value <= 256;
    case SHAPE:
        map->shape[r->number] = (uint32_t)(value - 1);
        return value != 0;
    case STRIDE:
        map->strides[r->number] = value;
        return value % 16 == 0;
    case STEP:
        map->steps[r->number] = small;
        return value >= 1 && value <= 8;
    case TYPE:
        map->type = type_of(value);
        return map->type < PTX_TENSOR_TYPES;
    case INTERLEAVE:
        map->interleave = small;
        return value <= 2;
    case SWIZZLE:
        map->swizzle = small;
        return value <= PTX_SWIZZLE_128;
    case ATOMICITY:
        return value == 0;
    default:
        map->fill = small;
        return value <= 1;
    }
}

static void do_replace(ptx_warp *w, const ptx_op *op) {
    const tensor_replace *r = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned lane = (unsigned)__builtin_ctz(left);
        uint64_t value = 0;
        ptx_tensor_map map;
        memcpy(&value, (const char *)ptx_at(w, r->value) + (size_t)lane * r->size, r->size);
        char *bytes = acu_ptx_tensor_at(w, op, lane, r->space,
                                        ptx_lane_address(w, r->address, lane), true, &map);
        if (!set_field(&map, r, value))
            acu_ptx_fail(w, lane, op, 715, value, "%s sets a field of a tensor map to %llu",
                         op->instruction->opcode, (unsigned long long)value);
        memcpy(bytes, &map, sizeof map);
    }
}

/* All lanes name the same bytes. */
static void do_copy(ptx_warp *w, const ptx_op *op) {
    const tensor_replace *r = op->more;
    unsigned lane = (unsigned)__builtin_ctz(w->mask);
    const char *from = acu_ptx_memory_at(
        w, op, lane, PTX_SHARED, ptx_lane_address(w, r->from, lane), PTX_TENSOR_BYTES, 64, false);
    memcpy(acu_ptx_memory_at(w, op, lane, PTX_GLOBAL, ptx_lane_address(w, r->address, lane),
                             PTX_TENSOR_BYTES, 64, true),
           from, PTX_TENSOR_BYTES);
}

static void lower_replace(ptx_lowering *l, const ptx_instruction *i, ptx_words *words,
                          tensor_replace *r) {
    acu_ptx_take(words, "tile");
    int field = acu_ptx_take_one(words, fields);
    r->field = (tensor_field)field;
    r->space = acu_ptx_take_space(words);
    bool good = acu_ptx_take(words, "b1024");
    ptx_type type = acu_ptx_take_type(words);
    acu_ptx_words_end(l, words);
    bool numbered = r->field >= BOX && r->field <= STEP;
    good &= field >= 0 && i->operand_count == 2u + numbered &&
            (type == PTX_B64) == (r->field == ADDRESS || r->field == STRIDE);
    if (good && numbered) {
        const ptx_operand *number = &i->operands[1];
        good = number->kind == PTX_INTEGER && number->bits < 5u - (r->field == STRIDE);
        r->number = (unsigned)number->bits;
    }
    if (!good)
        acu_ptx_mismatch(l);
    r->size = (unsigned)acu_ptx_type_size(type);
    r->address = acu_ptx_address(l, &i->operands[0], r->space);
    r->value = acu_ptx_source(l, &i->operands[1 + numbered], type);
    ptx_op *op = acu_ptx_emit(l, do_replace);
    op->more = r;
    op->site = acu_ptx_site(l);
}

static void lower_copy(ptx_lowering *l, const ptx_instruction *i, ptx_words *words,
                       tensor_replace *r) {
    bool good = acu_ptx_take(words, "global") && acu_ptx_take(words, "shared::cta") &&
                acu_ptx_take(words, "tensormap::generic");
    acu_ptx_take(words, "release");
    acu_ptx_take_one(words, "cta cluster gpu sys");
    acu_ptx_need(l, words, "sync");
    acu_ptx_take(words, "aligned");
    acu_ptx_words_end(l, words);
    if (!good || i->operand_count != 3 || i->operands[2].kind != PTX_INTEGER ||
        i->operands[2].bits != PTX_TENSOR_BYTES)
        acu_ptx_mismatch(l);
    r->address = acu_ptx_address(l, &i->operands[0], PTX_GLOBAL);
    r->from = acu_ptx_address(l, &i->operands[1], PTX_SHARED);
    uint32_t site = acu_ptx_site(l);
    ptx_op *op = acu_ptx_emit_together(l, do_copy);
    op->more = r;
    op->site = site;
}

void acu_ptx_lower_tensormap(ptx_lowering *l, const ptx_instruction *i) {
    ptx_words words;
    tensor_replace *r = acu_ptx_lower_alloc(l, sizeof *r);
    acu_ptx_words(l, i, &words);
    if (acu_ptx_take(&words, "replace"))
        lower_replace(l, i, &words, r);
    else if (acu_ptx_take(&words, "cp_fenceproxy"))
        lower_copy(l, i, &words, r);
    else
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
}
