#include "sim/ptx/wgmma.h"

#include "sim/ptx/check_inside.h"
#include "sim/ptx/tensor_map.h"

#include <string.h>

enum { CHUNK = 16 }; /* bytes */

/* What a descriptor says. */
typedef struct described {
    uint64_t start;           /* in shared memory */
    uint64_t leading, stride; /* bytes */
    unsigned swizzle;         /* PTX_SWIZZLE_… */
    unsigned base;            /* the line of 128 bytes, of eight, from which lines are counted */
} described;

/* Bits that no field has. */
#define RESERVED UINT64_C(0x3ff1c000c000c000)

static described read_descriptor(ptx_warp *w, const ptx_op *op, uint64_t bits) {
    static const uint8_t swizzles[] = {PTX_SWIZZLE_NONE, PTX_SWIZZLE_128, PTX_SWIZZLE_64,
                                       PTX_SWIZZLE_32};
    described d = {.start = (bits & 0x3fff) << 4,
                   .leading = (bits >> 16 & 0x3fff) << 4,
                   .stride = (bits >> 32 & 0x3fff) << 4,
                   .swizzle = swizzles[bits >> 62],
                   .base = bits >> 49 & 7};
    if (bits & RESERVED)
        acu_ptx_fail(w, 0, op, 801, bits,
                     "the simulator knows no descriptor of a matrix with the bits 0x%llx",
                     (unsigned long long)bits);
    return d;
}

/* Returns where a chunk of elements is, without swizzling: the c-th one along k of row `n`; or, of
 * a transposed matrix, chunk `n` of the elements with the c-th k. */
static uint64_t place_of(const described *d, bool transposed, unsigned n, unsigned c) {
    const unsigned chunks = 1u << d->swizzle; /* that are swizzled together */
    if (!transposed)
        return (uint64_t)n / 8 * d->stride + (uint64_t)n % 8 * chunks * CHUNK +
               (uint64_t)(c / chunks) * d->leading + (uint64_t)(c % chunks) * CHUNK;
    uint64_t far = d->swizzle ? d->leading : d->stride, deep = d->swizzle ? d->stride : d->leading;
    return n / chunks * far + (uint64_t)n % chunks * CHUNK + c / 8 * deep +
           (uint64_t)c % 8 * chunks * CHUNK;
}

/* Returns whether it was right to read the chunk, if that is looked at. */
static bool read_chunk(ptx_warp *w, const ptx_op *op, const described *d, uint64_t place,
                       bool looks, char *chunk) {
    uint64_t plain = d->start + place, lines = (plain >> 7) - d->base;
    uint64_t at = plain ^ (lines & ((1u << d->swizzle) - 1)) << 4;
    memcpy(chunk, acu_ptx_memory_at(w, op, 0, PTX_SHARED, at, CHUNK, CHUNK, false), CHUNK);
    return !looks || acu_ptx_check_async_read(w, op, 0, at, CHUNK);
}

static uint32_t element_of(const char *chunk, unsigned size, unsigned n) {
    uint32_t element = 0;
    memcpy(&element, chunk + (size_t)n * size, size);
    return element;
}

void acu_ptx_shared_matrix_read(ptx_warp *w, const ptx_op *op, const ptx_shared_matrix *m,
                                uint64_t descriptor, unsigned first, unsigned count, uint32_t *to) {
    const described d = read_descriptor(w, op, descriptor);
    unsigned bits = ptx_element_bits(m->element), size = bits < 8 ? 4 : bits / 8,
             each = CHUNK / size, k_count = m->chunks * each;
    unsigned row = m->is_b ? 1 : k_count, column = m->is_b ? 8 : 1; /* of the tile */
    char chunk[CHUNK];
    bool right = true; /* one report is enough */
    for (unsigned n = 0; n < (m->transposed ? count / each : count); n++)
        for (unsigned c = 0; c < (m->transposed ? k_count : m->chunks); c++) {
            unsigned at = m->transposed ? first / each + n : first + n;
            right =
                read_chunk(w, op, &d, place_of(&d, m->transposed, at, c), right, chunk) && right;
            for (unsigned e = 0; e < each; e++) {
                unsigned i = m->transposed ? n * each + e : n, k = m->transposed ? c : c * each + e;
                to[(i / 8 * 8 * k_count) + i % 8 * row + k * column] = element_of(chunk, size, e);
            }
        }
}
