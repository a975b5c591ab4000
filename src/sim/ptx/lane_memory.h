/*
 * Loads and stores. Most of the time the lanes of a warp access one allocation, so their smallest
 * and largest addresses are checked instead of each; and most of the time they access consecutive
 * elements, or one and the same.
 */
#include "sim/ptx/access.h"

/* Computes the addresses. A lane that is not active gets the address of the first active one, which
 * is checked anyway. */
static inline void find_addresses(const ptx_warp *w, const ptx_op *op, const ptx_access *access,
                                  uint64_t *address) {
    const void *at = ptx_at(w, op->a);
    const uint32_t *narrow = at;
    const uint64_t *wide = at;
    uint64_t offset = (uint64_t)op->value;
    if (access->narrow)
        EACH_LANE address[i] = (uint32_t)(narrow[i] + offset); /* it wraps around */
    else
        EACH_LANE address[i] = wide[i] + offset;
    if (w->mask == ~UINT32_C(0))
        return;
    uint64_t first = address[__builtin_ctz(w->mask)];
    EACH_LANE address[i] = w->lanes[i] ? address[i] : first;
}

/* How the lanes' addresses lie. */
typedef struct lane_places {
    char *base;                        /* where the smallest address is */
    uint64_t low;                      /* the smallest address */
    bool consecutive, equal, separate; /* `separate`: each lane has a place of its own in `at` */
    char *at[PTX_LANES];
} lane_places;

static void place_each(ptx_warp *w, const ptx_op *op, const ptx_access *access,
                       const uint64_t *address, lane_places *places, unsigned bytes, bool writes) {
    places->separate = true;
    places->consecutive = places->equal = false;
    char *first = NULL;
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (w->mask >> i & 1) {
            places->at[i] =
                acu_ptx_memory_at(w, op, i, access->space, address[i], bytes, bytes, writes);
            first = first ? first : places->at[i];
        }
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (!(w->mask >> i & 1))
            places->at[i] = first;
}

static inline void find_places(ptx_warp *w, const ptx_op *op, const ptx_access *access,
                               const uint64_t *address, lane_places *places, unsigned bytes,
                               bool writes) {
    uint64_t low = address[0], high = address[0], odd = 0, gap = 0, differs = 0;
    EACH_LANE {
        low = address[i] < low ? address[i] : low;
        high = address[i] > high ? address[i] : high;
        odd |= address[i];
        differs |= address[i] ^ address[0];
        gap |= address[i] ^ (address[0] + (uint64_t)i * bytes);
    }
    places->low = low;
    places->equal = !differs;
    places->consecutive = !gap;
    places->separate = false;
    if (odd & (bytes - 1)) {
        place_each(w, op, access, address, places, bytes, writes);
        return;
    }
    switch (access->space) {
    case PTX_SHARED:
        if (high > UINT32_MAX || high + bytes > w->block->shared_bytes)
            break;
        places->base = w->block->shared + low;
        return;
    case PTX_GENERIC:
    case PTX_GLOBAL:
        if (high < PTX_SHARED_WINDOW) {
            const ptx_range *range = &w->worker->site[op->site];
            if (low < range->base || high > range->last || range->last - high < bytes - 1)
                range = acu_ptx_memory_range(w, op, (unsigned)__builtin_ctz(w->mask),
                                             address[__builtin_ctz(w->mask)], bytes, writes);
            if (low < range->base || high > range->last || range->last - high < bytes - 1)
                break;
            places->base = range->bytes + (low - range->base);
            return;
        }
        break;
    default:
        break;
    }
    place_each(w, op, access, address, places, bytes, writes);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): the macros' arguments are types. */
/* Loads elements of a type, and puts them into registers of another one. */
#define LOAD_LANES(memory, lane)                                                                   \
    do {                                                                                           \
        memory loaded[PTX_LANES];                                                                  \
        if (places.equal) {                                                                        \
            memory one;                                                                            \
            memcpy(&one, places.base + n * sizeof one, sizeof one);                                \
            EACH_LANE loaded[i] = one;                                                             \
        } else if (places.consecutive && access->count == 1) {                                     \
            memcpy(loaded, places.base, sizeof loaded);                                            \
        } else if (places.separate) {                                                              \
            for (unsigned i = 0; i < PTX_LANES; i++)                                               \
                memcpy(&loaded[i], places.at[i] + n * sizeof *loaded, sizeof *loaded);             \
        } else {                                                                                   \
            const char *base = places.base + n * sizeof *loaded;                                   \
            for (unsigned i = 0; i < PTX_LANES; i++)                                               \
                memcpy(&loaded[i], base + (address[i] - places.low), sizeof *loaded);              \
        }                                                                                          \
        lane *d = ptx_at(w, access->slots[n]);                                                     \
        if (w->mask == ptx_alive(w))                                                               \
            EACH_LANE d[i] = (lane)loaded[i];                                                      \
        else                                                                                       \
            EACH_LANE d[i] = w->lanes[i] ? (lane)loaded[i] : d[i];                                 \
    } while (0)

#define LOAD_AS(unsigned_memory, signed_memory)                                                    \
    if (access->register_size == 2) {                                                              \
        if (access->is_signed)                                                                     \
            LOAD_LANES(signed_memory, lane_s16);                                                   \
        else                                                                                       \
            LOAD_LANES(unsigned_memory, lane_u16);                                                 \
    } else if (access->register_size == 4) {                                                       \
        if (access->is_signed)                                                                     \
            LOAD_LANES(signed_memory, lane_s32);                                                   \
        else                                                                                       \
            LOAD_LANES(unsigned_memory, lane_u32);                                                 \
    } else {                                                                                       \
        if (access->is_signed)                                                                     \
            LOAD_LANES(signed_memory, lane_s64);                                                   \
        else                                                                                       \
            LOAD_LANES(unsigned_memory, lane_u64);                                                 \
    }

#define LOAD_BEGIN(size)                                                                           \
    const ptx_access *access = op->more;                                                           \
    uint64_t address[PTX_LANES];                                                                   \
    lane_places places;                                                                            \
    find_addresses(w, op, access, address);                                                        \
    find_places(w, op, access, address, &places, (size) * access->count, false)

#define EACH_ELEMENT                                                                               \
    for (unsigned n = 0; n < access->count; n++)                                                   \
        if (access->slots[n] != UINT32_MAX)

static void load_1(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(1);
    EACH_ELEMENT {
        LOAD_AS(uint8_t, int8_t)
    }
}

static void load_2(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(2);
    EACH_ELEMENT {
        LOAD_AS(uint16_t, int16_t)
    }
}

static void load_4(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(4);
    EACH_ELEMENT {
        if (access->register_size == 4)
            LOAD_LANES(uint32_t, lane_u32);
        else if (access->is_signed)
            LOAD_LANES(int32_t, lane_s64);
        else
            LOAD_LANES(uint32_t, lane_u64);
    }
}

static void load_8(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(8);
    EACH_ELEMENT LOAD_LANES(uint64_t, lane_u64);
}

/* Stores the low bytes of each register. Lanes that write to one place do so in their order. */
#define STORE_LANES(memory, lane)                                                                  \
    do {                                                                                           \
        const lane *s = ptx_at(w, access->slots[n]);                                               \
        if (places.consecutive && access->count == 1 && w->mask == ~UINT32_C(0)) {                 \
            memory stored[PTX_LANES];                                                              \
            EACH_LANE stored[i] = (memory)s[i];                                                    \
            memcpy(places.base, stored, sizeof stored);                                            \
        } else if (places.separate) {                                                              \
            for (uint32_t left = w->mask; left; left &= left - 1) {                                \
                memory one = (memory)s[__builtin_ctz(left)];                                       \
                memcpy(places.at[__builtin_ctz(left)] + n * sizeof one, &one, sizeof one);         \
            }                                                                                      \
        } else {                                                                                   \
            char *base = places.base + n * sizeof(memory);                                         \
            for (uint32_t left = w->mask; left; left &= left - 1) {                                \
                memory one = (memory)s[__builtin_ctz(left)];                                       \
                memcpy(base + (address[__builtin_ctz(left)] - places.low), &one, sizeof one);      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#define STORE_AS(memory)                                                                           \
    if (access->register_size == 2)                                                                \
        STORE_LANES(memory, lane_u16);                                                             \
    else if (access->register_size == 4)                                                           \
        STORE_LANES(memory, lane_u32);                                                             \
    else                                                                                           \
        STORE_LANES(memory, lane_u64)

#define STORE_BEGIN(size)                                                                          \
    const ptx_access *access = op->more;                                                           \
    uint64_t address[PTX_LANES];                                                                   \
    lane_places places;                                                                            \
    find_addresses(w, op, access, address);                                                        \
    find_places(w, op, access, address, &places, (size) * access->count, true)

static void store_1(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(1);
    EACH_ELEMENT {
        STORE_AS(uint8_t);
    }
}

static void store_2(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(2);
    EACH_ELEMENT {
        STORE_AS(uint16_t);
    }
}

static void store_4(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(4);
    EACH_ELEMENT {
        if (access->register_size == 4)
            STORE_LANES(uint32_t, lane_u32);
        else
            STORE_LANES(uint32_t, lane_u64);
    }
}

static void store_8(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(8);
    EACH_ELEMENT STORE_LANES(uint64_t, lane_u64);
}

/* NOLINTEND(bugprone-macro-parentheses) */

const ptx_memory_handlers MEMORY_HANDLERS = {
    .load = {load_1, load_2, load_4, load_8},
    .store = {store_1, store_2, store_4, store_8},
};
