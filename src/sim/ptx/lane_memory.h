/*
 * Loads and stores. Most of the time the lanes of a warp access one allocation, so their smallest
 * and largest addresses are checked instead of each; and most of the time they access consecutive
 * elements, or one and the same.
 */
#include "sim/ptx/access.h"

/* Where the lanes' elements lie. A lane that is not active has the place of the first active one.
 */
typedef struct lane_places {
    char *base;                /* where the first active lane's element is */
    int32_t offset[PTX_LANES]; /* of each lane's element from there */
    ptx_halves halves;
    bool consecutive, equal, separate; /* `separate`: each lane has a place of its own in `at` */
    char *at[PTX_LANES];
} lane_places;

/* Returns the address of a lane. */
static inline uint64_t address_of(const ptx_warp *w, const ptx_op *op, const ptx_access *access,
                                  unsigned lane) {
    const void *at = ptx_at(w, op->a);
    if (access->narrow)
        return (uint32_t)(((const lane_u32 *)at)[lane] + (uint64_t)op->value); /* wraps around */
    return ((const lane_u64 *)at)[lane] + (uint64_t)op->value;
}

/* Finds how far the addresses are from that of the first active lane. False if one is too far. */
static inline bool find_offsets(const ptx_warp *w, const ptx_op *op, const ptx_access *access,
                                unsigned first, int32_t *offset) {
    const void *at = ptx_at(w, op->a);
    const lane_u64 *wide = at;
    const lane_u32 *narrow = at;
    const uint32_t *lanes = w->lanes;
    uint64_t far = 0;
    if (access->narrow) {
        uint32_t origin = narrow[first] + (uint32_t)op->value;
        EACH_LANE {
            uint32_t address = (narrow[i] + (uint32_t)op->value) & lanes[i];
            far |= address >> 31;
            offset[i] = (int32_t)((address - origin) & lanes[i]);
        }
    } else if (w->mask == ~UINT32_C(0)) {
        uint64_t origin = wide[first];
        EACH_LANE {
            uint64_t by = wide[i] - origin;
            far |= (by + (UINT64_C(1) << 31)) >> 32;
            offset[i] = (int32_t)by;
        }
    } else {
        uint64_t origin = wide[first];
        EACH_LANE {
            uint64_t by = lanes[i] ? wide[i] - origin : 0;
            far |= (by + (UINT64_C(1) << 31)) >> 32;
            offset[i] = (int32_t)by;
        }
    }
    return !far;
}

static void place_each(ptx_warp *w, const ptx_op *op, const ptx_access *access, lane_places *places,
                       unsigned bytes, bool writes) {
    places->separate = true;
    places->consecutive = places->equal = false;
    places->halves = PTX_HALVES_OTHERWISE;
    char *first = NULL;
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (w->mask >> i & 1) {
            places->at[i] = acu_ptx_memory_at(w, op, i, access->space, address_of(w, op, access, i),
                                              bytes, bytes, writes);
            first = first ? first : places->at[i];
        }
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (!(w->mask >> i & 1))
            places->at[i] = first;
}

/* Addresses of all lanes: those from `low` to `high` are in use, and the first lane has `address`.
 */
typedef struct lane_span {
    unsigned first;
    uint64_t address, low, high;
} lane_span;

static inline bool place_in_shared(const ptx_warp *w, const lane_span *s, lane_places *places,
                                   unsigned bytes, uint64_t window) {
    uint64_t size = w->block->shared_bytes, low = s->low - window, high = s->high - window;
    if (low > high || high > size || size - high < bytes)
        return false;
    places->base = w->block->shared + (s->address - window);
    return true;
}

/* Each lane has local memory of its own, one behind the other. */
static inline bool place_in_local(const ptx_warp *w, const lane_span *s, lane_places *places,
                                  unsigned bytes, uint64_t window) {
    uint64_t size = w->local_stride, low = s->low - window, high = s->high - window;
    if (low > high || high > size || size - high < bytes || size > (1 << 25))
        return false;
    places->base = w->local + s->first * size + (s->address - window);
    int32_t stride = (int32_t)size, first = (int32_t)s->first;
    EACH_LANE places->offset[i] += ((int32_t)i - first) * stride;
    places->equal = places->consecutive = false;
    places->halves = PTX_HALVES_OTHERWISE;
    return true;
}

static inline bool place_in_global(ptx_warp *w, const ptx_op *op, const lane_span *s,
                                   lane_places *places, unsigned bytes, bool writes) {
    const ptx_range *range = &w->worker->site[op->site].range;
    if (s->low < range->base || s->high > range->last || range->last - s->high < bytes - 1)
        range = acu_ptx_memory_range(w, op, s->first, s->address, bytes, writes);
    if (s->low < range->base || s->high > range->last || range->last - s->high < bytes - 1)
        return false;
    places->base = range->bytes + (s->address - range->base);
    return true;
}

static inline bool place_together(ptx_warp *w, const ptx_op *op, ptx_space space,
                                  const lane_span *s, lane_places *places, unsigned bytes,
                                  bool writes) {
    if (s->low > s->high)
        return false;
    if (space == PTX_SHARED)
        return place_in_shared(w, s, places, bytes, 0);
    if (space == PTX_LOCAL)
        return place_in_local(w, s, places, bytes, 0);
    if (space != PTX_GENERIC && space != PTX_GLOBAL)
        return false;
    if (s->high < PTX_SHARED_WINDOW)
        return place_in_global(w, op, s, places, bytes, writes);
    if (space == PTX_GLOBAL)
        return false;
    return s->low < PTX_LOCAL_WINDOW ? place_in_shared(w, s, places, bytes, PTX_SHARED_WINDOW)
                                     : place_in_local(w, s, places, bytes, PTX_LOCAL_WINDOW);
}

static void keep_pattern(ptx_pattern *pattern, const int32_t *offset, unsigned bytes) {
    int32_t low = 0, high = 0, odd = 0, gap = 0, equal = 0, half_gap = 0;
    for (unsigned i = 0; i < PTX_LANES; i++) {
        const unsigned half = i & PTX_LANES / 2;
        equal |= offset[i] ^ offset[half];
        half_gap |= (offset[i] - offset[half]) ^ (int32_t)((i - half) * bytes);
    }
    pattern->halves = !equal      ? PTX_HALVES_EQUAL
                      : !half_gap ? PTX_HALVES_CONSECUTIVE
                                  : PTX_HALVES_OTHERWISE;
    EACH_LANE {
        low = offset[i] < low ? offset[i] : low;
        high = offset[i] > high ? offset[i] : high;
        odd |= offset[i];
        gap |= offset[i] ^ (int32_t)(i * bytes);
        pattern->offset[i] = offset[i];
    }
    pattern->low = low;
    pattern->high = high;
    pattern->odd = odd;
    pattern->consecutive = !gap;
}

/* Returns how the lanes' elements lie, which is most often as it was the last time. */
static inline const ptx_pattern *pattern_of(const ptx_warp *w, const ptx_op *op,
                                            const int32_t *offset, unsigned bytes) {
    ptx_pattern *pattern = &w->worker->site[op->site].pattern;
    int32_t differs = 0;
    EACH_LANE differs |= offset[i] ^ pattern->offset[i];
    if (differs)
        keep_pattern(pattern, offset, bytes);
    return pattern;
}

static inline void find_places(ptx_warp *w, const ptx_op *op, const ptx_access *access,
                               lane_places *places, unsigned bytes, bool writes) {
    lane_span s = {.first = (unsigned)__builtin_ctz(w->mask)};
    bool near = find_offsets(w, op, access, s.first, places->offset);
    const ptx_pattern *pattern = pattern_of(w, op, places->offset, bytes);
    s.address = address_of(w, op, access, s.first);
    s.low = s.address + (uint64_t)(int64_t)pattern->low;
    s.high = s.address + (uint64_t)(int64_t)pattern->high;
    places->equal = !pattern->odd;
    places->consecutive = pattern->consecutive;
    places->halves = pattern->halves;
    places->separate = false;
    bool aligned = !(((uint64_t)(uint32_t)pattern->odd | s.address) & (bytes - 1));
    if (!near || !aligned || !place_together(w, op, access->space, &s, places, bytes, writes))
        place_each(w, op, access, places, bytes, writes);
}

/* ---- vectors ---- */

typedef uint64_t lane_pair __attribute__((vector_size(16), aligned(1), may_alias));

/* Copies a vector at once: a thread that reads what another one writes never sees a part of it.
 * CUB's scans count on that. */
static inline void copy_vector(char *to, const char *from, unsigned bytes) {
    switch (bytes) {
    case 2:
        *(lane_u16 *)(void *)to = *(const lane_u16 *)(const void *)from;
        break;
    case 4:
        *(lane_u32 *)(void *)to = *(const lane_u32 *)(const void *)from;
        break;
    case 8:
        *(lane_u64 *)(void *)to = *(const lane_u64 *)(const void *)from;
        break;
    default:
        for (unsigned at = 0; at < bytes; at += 16)
            *(lane_pair *)(void *)(to + at) = *(const lane_pair *)(const void *)(from + at);
    }
}

/* The vectors of all lanes, one behind the other, and where they are in memory. */
typedef struct lane_vectors {
    lane_places in_memory;
    char bytes[PTX_LANES * 64];
} lane_vectors;

static inline char *place_of(const lane_places *places, unsigned lane) {
    return places->separate ? places->at[lane] : places->base + places->offset[lane];
}

/* Says that the lanes' elements are in the vectors from now on. */
static inline void use_vectors(lane_vectors *v, lane_places *places, unsigned bytes) {
    v->in_memory = *places;
    places->base = v->bytes;
    places->separate = places->equal = places->consecutive = false;
    places->halves = PTX_HALVES_OTHERWISE;
    EACH_LANE places->offset[i] = (int32_t)(i * bytes);
}

static inline void load_vectors(lane_vectors *v, lane_places *places, unsigned bytes) {
    use_vectors(v, places, bytes);
    for (unsigned i = 0; i < PTX_LANES; i++)
        copy_vector(v->bytes + (size_t)i * bytes, place_of(&v->in_memory, i), bytes);
}

/* Lanes that write to one place do so in their order. */
static inline void store_vectors(const ptx_warp *w, const lane_vectors *v, unsigned bytes) {
    for (uint32_t left = w->mask; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        copy_vector(place_of(&v->in_memory, i), v->bytes + (size_t)i * bytes, bytes);
    }
}

/* ---- elements ---- */

/* Loads elements of so many bytes from where the lanes' offsets lead. */
static inline void gather(void *to, const char *base, const int32_t *offset, unsigned size) {
#if defined(__AVX512F__)
    if (size == 4) {
        for (unsigned i = 0; i < PTX_LANES; i += 16)
            _mm512_storeu_si512((lane_u32 *)to + i,
                                _mm512_i32gather_epi32(_mm512_loadu_si512(offset + i), base, 1));
        return;
    }
#elif defined(__AVX2__)
    if (size == 4) {
        for (unsigned i = 0; i < PTX_LANES; i += 8) {
            __m256i at = _mm256_loadu_si256((const void *)(offset + i));
            _mm256_storeu_si256((void *)((lane_u32 *)to + i),
                                _mm256_i32gather_epi32((const void *)base, at, 1));
        }
        return;
    }
#endif
    for (unsigned i = 0; i < PTX_LANES; i++)
        memcpy((char *)to + (size_t)i * size, base + offset[i], size);
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
        } else if (places.consecutive) {                                                           \
            memcpy(loaded, places.base, sizeof loaded);                                            \
        } else if (places.halves == PTX_HALVES_EQUAL) {                                            \
            memory low, high;                                                                      \
            memcpy(&low, places.base + places.offset[0] + n * sizeof low, sizeof low);             \
            memcpy(&high, places.base + places.offset[PTX_LANES / 2] + n * sizeof high,            \
                   sizeof high);                                                                   \
            EACH_LANE loaded[i] = i < PTX_LANES / 2 ? low : high;                                  \
        } else if (places.halves == PTX_HALVES_CONSECUTIVE) {                                      \
            memcpy(loaded, places.base + places.offset[0], sizeof loaded / 2);                     \
            memcpy(loaded + PTX_LANES / 2, places.base + places.offset[PTX_LANES / 2],             \
                   sizeof loaded / 2);                                                             \
        } else if (places.separate) {                                                              \
            for (unsigned i = 0; i < PTX_LANES; i++)                                               \
                memcpy(&loaded[i], places.at[i] + n * sizeof *loaded, sizeof *loaded);             \
        } else {                                                                                   \
            gather(loaded, places.base + n * sizeof *loaded, places.offset, sizeof *loaded);       \
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
    lane_places places;                                                                            \
    find_places(w, op, access, &places, (size) * access->count, false);                            \
    lane_vectors vectors;                                                                          \
    if (access->count > 1)                                                                         \
    load_vectors(&vectors, &places, (size) * access->count)

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
        if (places.consecutive && w->mask == ~UINT32_C(0)) {                                       \
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
                memcpy(base + places.offset[__builtin_ctz(left)], &one, sizeof one);               \
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
    lane_places places;                                                                            \
    find_places(w, op, access, &places, (size) * access->count, true);                             \
    lane_vectors vectors;                                                                          \
    if (access->count > 1)                                                                         \
    use_vectors(&vectors, &places, (size) * access->count)

#define STORE_END(size)                                                                            \
    if (access->count > 1)                                                                         \
    store_vectors(w, &vectors, (size) * access->count)

static void store_1(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(1);
    EACH_ELEMENT {
        STORE_AS(uint8_t);
    }
    STORE_END(1);
}

static void store_2(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(2);
    EACH_ELEMENT {
        STORE_AS(uint16_t);
    }
    STORE_END(2);
}

static void store_4(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(4);
    EACH_ELEMENT {
        if (access->register_size == 4)
            STORE_LANES(uint32_t, lane_u32);
        else
            STORE_LANES(uint32_t, lane_u64);
    }
    STORE_END(4);
}

static void store_8(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(8);
    EACH_ELEMENT STORE_LANES(uint64_t, lane_u64);
    STORE_END(8);
}

/* NOLINTEND(bugprone-macro-parentheses) */

const ptx_memory_handlers MEMORY_HANDLERS = {
    .load = {load_1, load_2, load_4, load_8},
    .store = {store_1, store_2, store_4, store_8},
};
