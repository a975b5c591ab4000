/* Multicast memory: an address stands for a place in the memory of each of several devices. What is
 * stored goes to all of them, and a load reduces what they have, in the devices' order. */
#include "sim/ptx/access.h"
#include "sim/ptx/atomic.h"
#include "sim/ptx/lane_half.h"
#include "sim/ptx/lower_inside.h"

#include <string.h>

enum { MOST_PLACES = 64, MOST_ELEMENTS = 8 };

typedef enum multimem_kind { MULTIMEM_LOADS, MULTIMEM_STORES, MULTIMEM_REDUCES } multimem_kind;

typedef struct multimem {
    multimem_kind kind;
    ptx_change change;
    ptx_type type;
    unsigned size, count; /* bytes of an element, and elements */
    bool in_float;        /* sums of 16 bits are those of 32 bits, rounded once */
    ptx_address at;
    ptx_slot value[MOST_ELEMENTS];
} multimem;

/* Writes where the lane's bytes are, and returns how many places that are. */
static size_t places_of(ptx_warp *w, const ptx_op *op, unsigned lane, void **places) {
    const multimem *m = op->more;
    const ptx_machine *machine = w->worker->launch->machine;
    const void *slot = ptx_at(w, m->at.slot);
    const size_t bytes = (size_t)m->size * m->count;
    uint64_t address =
        m->at.narrow ? ((const uint32_t *)slot)[lane] : ((const uint64_t *)slot)[lane];
    address += (uint64_t)m->at.offset;
    if (address & (bytes - 1))
        acu_ptx_fail(w, lane, op, 716, address,
                     "an access of %zu bytes, whose address is not a multiple of %zu", bytes,
                     bytes);
    const size_t count =
        machine->multicast ? machine->multicast(machine->data, address, bytes, places, MOST_PLACES)
                           : 0;
    if (!count)
        acu_ptx_fail(w, lane, op, 700, address,
                     "%zu bytes, which are not of one multicast object, to which each device has "
                     "bound memory",
                     bytes);
    return count < MOST_PLACES ? count : MOST_PLACES;
}

/* ---- loads ---- */

static double half_of(ptx_type type, uint32_t bits) {
    return type == PTX_F16 || type == PTX_F16X2 ? (double)f32_of_f16((uint16_t)bits)
                                                : (double)f32_of_bf16((uint16_t)bits);
}

/* Returns the sum of the halves at an offset from the places, of 32 bits until the end. */
static uint32_t sum_of_halves(ptx_type type, void *const *places, size_t count, size_t offset) {
    float sum = 0;
    for (size_t n = 0; n < count; n++) {
        uint16_t bits;
        memcpy(&bits, (const char *)places[n] + offset, sizeof bits);
        sum = n ? sum + (float)half_of(type, bits) : (float)half_of(type, bits);
    }
    return type == PTX_F16 || type == PTX_F16X2 ? f16_rn((double)sum) : bf16_rn((double)sum);
}

/* Returns what the devices have at an offset from the places, reduced. */
static uint64_t reduce_places(const multimem *m, void *const *places, size_t count, size_t offset) {
    uint64_t result = 0, next = 0;
    if (m->in_float)
        return sum_of_halves(m->type, places, count, offset) |
               (m->size == 4 ? sum_of_halves(m->type, places, count, offset + 2) << 16 : 0);
    memcpy(&result, (const char *)places[0] + offset, m->size);
    for (size_t n = 1; n < count; n++) {
        memcpy(&next, (const char *)places[n] + offset, m->size);
        acu_ptx_change(m->change, m->type, (char *)&result, next, 0);
    }
    return result;
}

static void do_multimem(ptx_warp *w, const ptx_op *op) {
    const multimem *m = op->more;
    for (uint32_t left = w->mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        void *places[MOST_PLACES];
        const size_t count = places_of(w, op, lane, places);
        for (unsigned e = 0; e < m->count; e++) {
            char *value = (char *)ptx_at(w, m->value[e]) + (size_t)lane * m->size;
            const size_t offset = (size_t)e * m->size;
            uint64_t bits = 0;
            memcpy(&bits, value, m->size);
            if (m->kind == MULTIMEM_LOADS) {
                bits = reduce_places(m, places, count, offset);
                memcpy(value, &bits, m->size);
            }
            for (size_t n = 0; n < count && m->kind != MULTIMEM_LOADS; n++)
                if (m->kind == MULTIMEM_STORES)
                    memcpy((char *)places[n] + offset, &bits, m->size);
                else
                    acu_ptx_change(m->change, m->type, (char *)places[n] + offset, bits, 0);
        }
    }
}

/* ---- from the text ---- */

/* Returns whether the instruction has that operation on that type. */
static bool multimem_has(ptx_change change, ptx_type type) {
    const bool is_half =
                   type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2,
               is_bits = type == PTX_B32 || type == PTX_B64;
    if (type == PTX_F32 || type == PTX_F64)
        return change == PTX_CHANGE_ADD;
    return is_bits ? change >= PTX_CHANGE_AND
                   : change <= PTX_CHANGE_MAX && (is_half || acu_ptx_type_size(type) >= 4);
}

static void read_multimem(ptx_lowering *l, const ptx_instruction *i, multimem *m) {
    ptx_words words;
    acu_ptx_words(l, i, &words);
    const int kind = acu_ptx_take_one(&words, "ld_reduce st red");
    if (kind < 0) /* multimem.cp.async.bulk */
        acu_ptx_not_simulated(l, "the simulator does not execute '%s'", i->opcode);
    m->kind = (multimem_kind)kind;
    const bool ordered = acu_ptx_take_one(&words, "weak relaxed acquire release") > 0,
               scoped = acu_ptx_take_one(&words, "cta cluster gpu sys") >= 0;
    if (ordered != scoped)
        acu_ptx_invalid(l, "An order requires a scope, and a scope an order, with '%s' instruction",
                        acu_ptx_first_word(l));
    acu_ptx_take(&words, "global");
    static const ptx_change changes[] = {PTX_CHANGE_ADD, PTX_CHANGE_MIN, PTX_CHANGE_MAX,
                                         PTX_CHANGE_AND, PTX_CHANGE_OR,  PTX_CHANGE_XOR};
    const int change =
        kind == MULTIMEM_STORES ? 0 : acu_ptx_take_one(&words, "add min max and or xor");
    m->in_float = acu_ptx_take(&words, "acc::f32");
    acu_ptx_take(&words, "acc::f16");
    const int vector = acu_ptx_take_one(&words, "v2 v4 v8");
    m->type = acu_ptx_take_type(&words);
    acu_ptx_words_end(l, &words);
    m->count = vector < 0 ? 1 : 2u << vector;
    m->size = (unsigned)acu_ptx_type_size(m->type);
    if (change < 0 || m->size < 2 || m->size * m->count > 16 ||
        (kind != MULTIMEM_STORES && !multimem_has(changes[change], m->type)))
        acu_ptx_invalid(l, "Unexpected instruction types specified for '%s'", i->opcode);
    m->change = changes[change];
}

void acu_ptx_lower_multimem(ptx_lowering *l, const ptx_instruction *i) {
    multimem *m = acu_ptx_lower_alloc(l, sizeof *m);
    read_multimem(l, i, m);
    const bool loads = m->kind == MULTIMEM_LOADS;
    const ptx_operand *value = &i->operands[!loads];
    if (i->operand_count != 2 || (m->count > 1 && value->kind != PTX_LIST) ||
        (value->kind == PTX_LIST && value->element_count != m->count))
        acu_ptx_invalid(l, "Arguments mismatch for instruction '%s'", i->opcode);
    for (unsigned n = 0; n < m->count && !loads; n++)
        m->value[n] = acu_ptx_source(l, acu_ptx_element(value, n), m->type);
    m->at = acu_ptx_address(l, &i->operands[loads], PTX_GLOBAL);
    for (unsigned n = 0; n < m->count && loads; n++)
        m->value[n] = acu_ptx_target(l, acu_ptx_element(value, n), m->type);
    ptx_op *op = acu_ptx_emit(l, do_multimem);
    op->more = m;
}
