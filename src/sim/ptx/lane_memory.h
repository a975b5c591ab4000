/*
 * Loads and stores. Most of the time the lanes of a warp access one allocation, so their smallest
 * and largest addresses are checked instead of each; and most of the time they access consecutive
 * elements, or one and the same.
 */
#include "sim/ptx/access.h"

/* Where the lanes' elements lie. A lane that is not active has the place of the first active one.
 */
typedef struct lane_places {
    char *base;            /* where the first active lane's element is */
    const int32_t *offset; /* of each lane's element from there */
    ptx_lie lie;
    bool separate; /* each lane has a place of its own in `at` */
    int32_t own[PTX_LANES];
    char *at[PTX_LANES];
} lane_places;

/* Returns the address of a lane. */
LANE_INLINE uint64_t address_of(const ptx_warp *w, const ptx_op *op, unsigned lane) {
    const void *at = ptx_at(w, op->a);
    if (op->flags & PTX_ACCESS_NARROW)
        return (uint32_t)(((const lane_u32 *)at)[lane] + (uint64_t)op->value); /* wraps around */
    return ((const lane_u64 *)at)[lane] + (uint64_t)op->value;
}

/* Addresses of all lanes: those from `low` to `high` are in use, and the first lane has `address`.
 */
typedef struct lane_span {
    unsigned first;
    uint64_t address, low, high;
} lane_span;

LANE_INLINE lane_span span_of(uint64_t address, unsigned first, const ptx_pattern *pattern) {
    return (lane_span){.first = first,
                       .address = address,
                       .low = address + (uint64_t)(int64_t)pattern->low,
                       .high = address + (uint64_t)(int64_t)pattern->high};
}

LANE_INLINE bool is_aligned(const lane_span *s, const ptx_pattern *pattern, unsigned bytes) {
    return !(((uint64_t)(uint32_t)pattern->odd | s->address) & (bytes - 1));
}

LANE_INLINE bool place_in_shared(const ptx_warp *w, const lane_span *s, lane_places *places,
                                 unsigned bytes, uint64_t window) {
    uint64_t size = w->block->shared_bytes, low = s->low - window, high = s->high - window;
    if (low > high || high > size || size - high < bytes)
        return false;
    places->base = w->block->shared + (s->address - window);
    return true;
}

LANE_INLINE bool place_in_range(const ptx_range *range, const lane_span *s, lane_places *places,
                                unsigned bytes) {
    if (s->low < range->base || s->high > range->last || range->last - s->high < bytes - 1)
        return false;
    places->base = range->bytes + (s->address - range->base);
    return true;
}

/* ---- accesses whose lanes lie as the last time ---- */

/* As many bytes as a vector of the processor has, from anywhere. */
#if defined(__AVX512F__)
#define LANE_VECTOR 64
#elif defined(__AVX2__)
#define LANE_VECTOR 32
#else
#define LANE_VECTOR 16
#endif
typedef uint64_t lane_longs __attribute__((vector_size(LANE_VECTOR), aligned(1), may_alias));
typedef uint32_t lane_words __attribute__((vector_size(LANE_VECTOR), aligned(1), may_alias));

/* Makes 64 bits of each signed word of half a vector. */
LANE_INLINE void widen(lane_longs *to, const void *words) {
#if defined(__AVX512F__)
    *to = (lane_longs)_mm512_cvtepi32_epi64(_mm256_loadu_si256(words));
#elif defined(__AVX2__)
    *to = (lane_longs)_mm256_cvtepi32_epi64(_mm_loadu_si128(words));
#else
    int32_t both[2];
    memcpy(both, words, sizeof both);
    *to = (lane_longs){(uint64_t)both[0], (uint64_t)both[1]};
#endif
}

/* Returns whether all bits of a vector are 0. */
LANE_INLINE bool is_zero(const void *vector) {
#if defined(__AVX512F__)
    const __m512i all = _mm512_loadu_si512(vector);
    return !_mm512_test_epi32_mask(all, all);
#elif defined(__AVX2__)
    const __m256i all = _mm256_loadu_si256(vector);
    return _mm256_testz_si256(all, all);
#else
    uint64_t words[2];
    memcpy(words, vector, sizeof words);
    return !(words[0] | words[1]);
#endif
}

LANE_INLINE bool is_alike_narrow(const ptx_warp *w, const ptx_op *op, unsigned first,
                                 const int32_t *offset) {
    const lane_u32 *at = ptx_at(w, op->a);
    const lane_words origin = at[first] - (lane_words){0};
    lane_words differs = {0};
    for (unsigned i = 0; i < PTX_LANES; i += LANE_VECTOR / 4)
        differs |= ((*(const lane_words *)(const void *)(at + i) - origin) ^
                    *(const lane_words *)(const void *)(offset + i)) &
                   *(const lane_words *)(const void *)(w->lanes + i);
    return is_zero(&differs);
}

LANE_INLINE bool is_alike_wide(const ptx_warp *w, const ptx_op *op, unsigned first,
                               const int32_t *offset) {
    const lane_u64 *at = ptx_at(w, op->a);
    const lane_longs origin = at[first] - (lane_longs){0};
    lane_longs differs = {0};
    for (unsigned i = 0; i < PTX_LANES; i += LANE_VECTOR / 8) {
        lane_longs by, lanes;
        widen(&by, offset + i);
        widen(&lanes, w->lanes + i);
        differs |= ((*(const lane_longs *)(const void *)(at + i) - origin) ^ by) & lanes;
    }
    return is_zero(&differs);
}

LANE_INLINE bool is_in_shared(const ptx_op *op) {
    return (op->flags & (PTX_ACCESS_SHARED | PTX_ACCESS_GLOBAL)) == PTX_ACCESS_SHARED;
}

/* Keeps what the accesses behind this one are to know. If the lanes are not multiples of the
 * element's size apart, this one fails, and none is behind it. */
LANE_INLINE void lead_others(const ptx_warp *w, const ptx_op *op, const lane_span *s,
                             const ptx_pattern *pattern, unsigned bytes) {
    if (!(op->flags & PTX_ACCESS_LEADS))
        return;
    ptx_lead *lead = &w->worker->leads[op->lead];
    *lead = (ptx_lead){
        .run = w->worker->run, .address = s->address - (uint64_t)op->value, .pattern = pattern};
    const uint64_t size = w->block->shared_bytes,
                   extent = (uint64_t)((int64_t)pattern->high - pattern->low) + bytes;
    if (!is_in_shared(op) || extent > size) /* of some lanes they may be addresses of the cluster */
        return;
    lead->least = lead->address + (uint64_t)(int64_t)pattern->low;
    lead->places = (size - extent) / bytes + 1;
    lead->shared = w->block->shared - pattern->low;
}

/* Returns whether lanes that lie like this are in the block's shared memory, or in the allocation
 * that this operation accessed last. */
LANE_INLINE bool place_span(const ptx_warp *w, const ptx_op *op, const lane_span *s,
                            const ptx_pattern *pattern, lane_places *places, unsigned bytes) {
    if (s->low > s->high || !is_aligned(s, pattern, bytes))
        return false;
    places->offset = pattern->offset;
    places->lie = pattern->lie;
    places->separate = false;
    if (is_in_shared(op))
        return place_in_shared(w, s, places, bytes, 0);
    if (s->high < PTX_SHARED_WINDOW)
        return op->flags & (PTX_ACCESS_SHARED | PTX_ACCESS_GLOBAL) &&
               place_in_range(&w->worker->site[op->site].range, s, places, bytes);
    return op->flags & PTX_ACCESS_SHARED && s->low < PTX_LOCAL_WINDOW &&
           place_in_shared(w, s, places, bytes, PTX_SHARED_WINDOW);
}

/* Returns whether the lanes lie as the last time, in the block's shared memory, or in the
 * allocation that this operation accessed last. Most often they do, and only the first address is
 * new. */
LANE_INLINE bool place_alike(const ptx_warp *w, const ptx_op *op, lane_places *places,
                             unsigned bytes) {
    const ptx_pattern *pattern = w->worker->site[op->site].pattern;
    const unsigned first = (unsigned)__builtin_ctz(w->mask);
    if (pattern->mask != w->mask || pattern->bytes != bytes)
        return false;
    if (!(op->flags & PTX_ACCESS_NARROW ? is_alike_narrow(w, op, first, pattern->offset)
                                        : is_alike_wide(w, op, first, pattern->offset)))
        return false;
    const lane_span s = span_of(address_of(w, op, first), first, pattern);
    lead_others(w, op, &s, pattern, bytes);
    return place_span(w, op, &s, pattern, places, bytes);
}

/* Does the same in shared memory, behind an access that leads. An address that is not aligned is no
 * small number after the rotation. */
LANE_INLINE bool place_behind_in_shared(const ptx_lead *lead, const ptx_op *op, lane_places *places,
                                        unsigned bytes) {
    uint64_t least = lead->least + (uint64_t)op->value;
    if (op->flags & PTX_ACCESS_NARROW)
        least = (uint32_t)least;
    if ((least / bytes | least << (63 - __builtin_ctz(bytes)) << 1) >= lead->places)
        return false;
    places->base = lead->shared + least;
    places->offset = lead->pattern->offset;
    places->lie = lead->pattern->lie;
    places->separate = false;
    return true;
}

/* Does the same behind an access of this run that leads; only the first address is looked at. */
LANE_INLINE bool place_behind(const ptx_warp *w, const ptx_op *op, lane_places *places,
                              unsigned bytes) {
    const ptx_lead *lead = &w->worker->leads[op->lead];
    if (lead->run != w->worker->run)
        return false;
    if (is_in_shared(op))
        return place_behind_in_shared(lead, op, places, bytes);
    const uint64_t address = lead->address + (uint64_t)op->value;
    const lane_span s =
        span_of(op->flags & PTX_ACCESS_NARROW ? (uint32_t)address : address, 0, lead->pattern);
    return place_span(w, op, &s, lead->pattern, places, bytes);
}

/* ---- all others ---- */

/* Finds how far the addresses are from that of the first active lane. False if one is too far. */
static bool find_offsets(const ptx_warp *w, const ptx_op *op, unsigned first, int32_t *offset) {
    const void *at = ptx_at(w, op->a);
    const lane_u64 *wide = at;
    const lane_u32 *narrow = at;
    const uint32_t *lanes = w->lanes;
    uint64_t far = 0;
    if (op->flags & PTX_ACCESS_NARROW) {
        uint32_t origin = narrow[first] + (uint32_t)op->value;
        EACH_LANE {
            uint32_t address = (narrow[i] + (uint32_t)op->value) & lanes[i];
            far |= address >> 31;
            offset[i] = (int32_t)((address - origin) & lanes[i]);
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
    places->lie = PTX_LIE_OTHERWISE;
    char *first = NULL;
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (w->mask >> i & 1) {
            places->at[i] = acu_ptx_memory_at(w, op, i, access->space, address_of(w, op, i), bytes,
                                              bytes, writes);
            first = first ? first : places->at[i];
        }
    for (unsigned i = 0; i < PTX_LANES; i++)
        if (!(w->mask >> i & 1))
            places->at[i] = first;
}

/* Each lane has local memory of its own, one behind the other. */
static bool place_in_local(const ptx_warp *w, const lane_span *s, lane_places *places,
                           unsigned bytes, uint64_t window) {
    uint64_t size = w->local_bytes, low = s->low - window, high = s->high - window;
    if (low > high || high > size || size - high < bytes || w->local_stride > (1 << 25))
        return false;
    places->base = w->local + s->first * w->local_stride + (s->address - window);
    int32_t stride = (int32_t)w->local_stride, first = (int32_t)s->first;
    EACH_LANE places->own[i] += ((int32_t)i - first) * stride;
    places->lie = PTX_LIE_OTHERWISE;
    return true;
}

static bool place_in_global(ptx_warp *w, const ptx_op *op, const lane_span *s, lane_places *places,
                            unsigned bytes, bool writes) {
    const ptx_range *range = &w->worker->site[op->site].range;
    if (s->low < range->base || s->high > range->last || range->last - s->high < bytes - 1)
        range = acu_ptx_memory_range(w, op, s->first, s->address, bytes, writes);
    return place_in_range(range, s, places, bytes);
}

static bool place_together(ptx_warp *w, const ptx_op *op, ptx_space space, const lane_span *s,
                           lane_places *places, unsigned bytes, bool writes) {
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

static ptx_lie lie_of(const int32_t *offset, unsigned bytes) {
    enum { HALF = PTX_LANES / 2 };
    int32_t one = 0, gap = 0;
    for (unsigned i = 0; i < HALF; i++) {
        const int32_t low = offset[i] - offset[0], high = offset[i + HALF] - offset[HALF],
                      step = (int32_t)(i * bytes);
        one |= low | high;
        gap |= (low ^ step) | (high ^ step);
    }
    if (!one)
        return offset[HALF] == offset[0] ? PTX_LIE_EQUAL : PTX_LIE_HALVES_EQUAL;
    if (gap)
        return PTX_LIE_OTHERWISE;
    return !offset[0] && offset[HALF] == (int32_t)(HALF * bytes) ? PTX_LIE_CONSECUTIVE
                                                                 : PTX_LIE_HALVES_CONSECUTIVE;
}

/* Keeps how the lanes lie where the worker keeps all such patterns. */
static const ptx_pattern *keep_pattern(ptx_worker *worker, const int32_t *offset, uint32_t mask,
                                       unsigned bytes) {
    const uint32_t hash = ((uint32_t)offset[1] + (uint32_t)offset[PTX_LANES / 2] * 5 +
                           (uint32_t)offset[PTX_LANES - 1] * 9 + mask + bytes) *
                          UINT32_C(0x9e3779b1);
    ptx_pattern *pattern = &worker->patterns[hash >> 16 & (PTX_PATTERNS - 1)];
    int32_t low = 0, high = 0, odd = 0;
    worker->run++; /* what was found of another pattern that was here does not count any more */
    EACH_LANE {
        low = offset[i] < low ? offset[i] : low;
        high = offset[i] > high ? offset[i] : high;
        odd |= offset[i];
        pattern->offset[i] = offset[i];
    }
    pattern->low = low;
    pattern->high = high;
    pattern->odd = odd;
    pattern->mask = mask;
    pattern->bytes = bytes;
    pattern->lie = lie_of(offset, bytes);
    return pattern;
}

static LANE_RARE void place_anew(ptx_warp *w, const ptx_op *op, const ptx_access *access,
                                 lane_places *places, unsigned bytes, bool writes) {
    const unsigned first = (unsigned)__builtin_ctz(w->mask);
    bool near = find_offsets(w, op, first, places->own);
    const ptx_pattern *pattern = keep_pattern(w->worker, places->own, w->mask, bytes);
    const lane_span s = span_of(address_of(w, op, first), first, pattern);
    w->worker->site[op->site].pattern = pattern;
    if (near)
        lead_others(w, op, &s, pattern, bytes);
    places->offset = places->own;
    places->lie = pattern->lie;
    places->separate = false;
    if (!near || !is_aligned(&s, pattern, bytes) ||
        !place_together(w, op, access->space, &s, places, bytes, writes))
        place_each(w, op, access, places, bytes, writes);
}

LANE_INLINE void find_places(ptx_warp *w, const ptx_op *op, const ptx_access *access,
                             lane_places *places, unsigned bytes, bool writes) {
    if (!place_alike(w, op, places, bytes))
        place_anew(w, op, access, places, bytes, writes);
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
    int32_t offset[PTX_LANES];
    char bytes[PTX_LANES * 64];
} lane_vectors;

static inline char *place_of(const lane_places *places, unsigned lane) {
    return places->separate ? places->at[lane] : places->base + places->offset[lane];
}

/* Says that the lanes' elements are in the vectors from now on. */
static inline void use_vectors(lane_vectors *v, lane_places *places, unsigned bytes) {
    v->in_memory = *places;
    places->base = v->bytes;
    places->offset = v->offset;
    places->separate = false;
    places->lie = PTX_LIE_OTHERWISE;
    EACH_LANE v->offset[i] = (int32_t)(i * bytes);
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
LANE_INLINE void gather(void *to, const char *base, const int32_t *offset, unsigned size) {
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

/* Copies elements that lie one behind the other. */
LANE_INLINE void copy_row(void *to, const void *from, unsigned bytes) {
    if (bytes < LANE_VECTOR) {
        memcpy(to, from, bytes);
        return;
    }
#pragma GCC unroll 4
    for (unsigned at = 0; at < bytes; at += LANE_VECTOR)
        *(lane_longs *)(void *)((char *)to + at) =
            *(const lane_longs *)(const void *)((const char *)from + at);
}

/* NOLINTBEGIN(bugprone-macro-parentheses): the macros' arguments are types. */
#define REPEAT(type)                                                                               \
    do {                                                                                           \
        type one, *all = to;                                                                       \
        memcpy(&one, from, sizeof one);                                                            \
        for (unsigned i = 0; i < count; i++)                                                       \
            all[i] = one;                                                                          \
    } while (0)

/* Gives so many lanes one element. */
LANE_INLINE void repeat(void *to, const char *from, unsigned count, unsigned size) {
    if (size == 1)
        REPEAT(uint8_t);
    else if (size == 2)
        REPEAT(lane_u16);
    else if (size == 4)
        REPEAT(lane_u32);
    else
        REPEAT(lane_u64);
}

/* Loads an element of so many bytes for each lane. */
LANE_INLINE void load_elements(void *to, const lane_places *p, const char *base, unsigned size) {
    enum { HALF = PTX_LANES / 2 };
    char *behind = (char *)to + (size_t)HALF * size;
    switch (p->lie) {
    case PTX_LIE_EQUAL:
        repeat(to, base, PTX_LANES, size);
        break;
    case PTX_LIE_CONSECUTIVE:
        copy_row(to, base, PTX_LANES * size);
        break;
    case PTX_LIE_HALVES_EQUAL:
        repeat(to, base + p->offset[0], HALF, size);
        repeat(behind, base + p->offset[HALF], HALF, size);
        break;
    case PTX_LIE_HALVES_CONSECUTIVE:
        copy_row(to, base + p->offset[0], HALF * size);
        copy_row(behind, base + p->offset[HALF], HALF * size);
        break;
    default:
        gather(to, base, p->offset, size);
    }
}

/* Loads elements of a type, and puts them into registers of another one. */
#define LOAD_LANES(memory, lane)                                                                   \
    do {                                                                                           \
        memory loaded[PTX_LANES];                                                                  \
        lane *d = ptx_at(w, access->slots[n]);                                                     \
        if (!places.separate)                                                                      \
            load_elements(loaded, &places, places.base + n * sizeof *loaded, sizeof *loaded);      \
        else                                                                                       \
            for (unsigned i = 0; i < PTX_LANES; i++)                                               \
                memcpy(&loaded[i], places.at[i] + n * sizeof *loaded, sizeof *loaded);             \
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

/* Lets the processor fetch what the operation loads some times later, if it goes on in steps as
 * long as the last one: in loops over strides, which the processor does not see. A fetch from where
 * nothing is does nothing. */
LANE_INLINE void fetch_ahead(ptx_site *site, const char *base, unsigned bytes) {
    enum { STEPS = 4 };
    const uintptr_t now = (uintptr_t)base, later = now + STEPS * (now - site->loaded);
    site->loaded = now;
    for (unsigned at = 0; at < bytes; at += 64)
        __builtin_prefetch((const void *)(later + at)); /* NOLINT(performance-no-int-to-ptr) */
}

/* Loads elements into registers of the same size, if the lanes lie as the last time, or as those of
 * the access that leads, and all that have not ended are active. */
LANE_INLINE bool load_alike(ptx_warp *w, const ptx_op *op, unsigned size, bool behind) {
    lane_places places;
    if (!(op->flags & PTX_ACCESS_PLAIN) || w->mask != ptx_alive(w) ||
        !(behind ? place_behind : place_alike)(w, op, &places, size))
        return false;
    if (op->flags & PTX_ACCESS_GLOBAL)
        fetch_ahead(&w->worker->site[op->site], places.base, PTX_LANES * size);
    load_elements(ptx_at(w, op->b), &places, places.base, size);
    return true;
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

static LANE_RARE void load_any_1(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(1);
    EACH_ELEMENT {
        LOAD_AS(uint8_t, int8_t)
    }
}

static LANE_RARE void load_any_2(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(2);
    EACH_ELEMENT {
        LOAD_AS(uint16_t, int16_t)
    }
}

static LANE_RARE void load_any_4(ptx_warp *w, const ptx_op *op) {
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

static LANE_RARE void load_any_8(ptx_warp *w, const ptx_op *op) {
    LOAD_BEGIN(8);
    EACH_ELEMENT LOAD_LANES(uint64_t, lane_u64);
}

/* Stores the low bytes of each register. Lanes that write to one place do so in their order. */
#define STORE_LANES(memory, lane)                                                                  \
    do {                                                                                           \
        const lane *s = ptx_at(w, access->slots[n]);                                               \
        if (places.lie == PTX_LIE_CONSECUTIVE && w->mask == ~UINT32_C(0)) {                        \
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

/* Stores registers of the elements' size, if the lanes are all active and consecutive, as the last
 * time, or as those of the access that leads. */
LANE_INLINE bool store_alike(ptx_warp *w, const ptx_op *op, unsigned size, bool behind) {
    lane_places places;
    if (!(op->flags & PTX_ACCESS_PLAIN) || w->mask != ~UINT32_C(0) ||
        !(behind ? place_behind : place_alike)(w, op, &places, size) ||
        places.lie != PTX_LIE_CONSECUTIVE)
        return false;
    copy_row(places.base, ptx_at(w, op->b), PTX_LANES * size);
    return true;
}

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

static LANE_RARE void store_any_1(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(1);
    EACH_ELEMENT {
        STORE_AS(uint8_t);
    }
    STORE_END(1);
}

static LANE_RARE void store_any_2(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(2);
    EACH_ELEMENT {
        STORE_AS(uint16_t);
    }
    STORE_END(2);
}

static LANE_RARE void store_any_4(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(4);
    EACH_ELEMENT {
        if (access->register_size == 4)
            STORE_LANES(uint32_t, lane_u32);
        else
            STORE_LANES(uint32_t, lane_u64);
    }
    STORE_END(4);
}

static LANE_RARE void store_any_8(ptx_warp *w, const ptx_op *op) {
    STORE_BEGIN(8);
    EACH_ELEMENT STORE_LANES(uint64_t, lane_u64);
    STORE_END(8);
}

/* NOLINTEND(bugprone-macro-parentheses) */

#define HANDLERS(name, size, behind)                                                               \
    static void load_##name(ptx_warp *w, const ptx_op *op) {                                       \
        if (!load_alike(w, op, size, behind))                                                      \
            load_any_##size(w, op);                                                                \
    }                                                                                              \
    static void store_##name(ptx_warp *w, const ptx_op *op) {                                      \
        if (!store_alike(w, op, size, behind))                                                     \
            store_any_##size(w, op);                                                               \
    }

HANDLERS(1, 1, false)
HANDLERS(2, 2, false)
HANDLERS(4, 4, false)
HANDLERS(8, 8, false)
HANDLERS(behind_1, 1, true)
HANDLERS(behind_2, 2, true)
HANDLERS(behind_4, 4, true)
HANDLERS(behind_8, 8, true)

const ptx_memory_handlers MEMORY_HANDLERS = {
    .load = {load_1, load_2, load_4, load_8},
    .store = {store_1, store_2, store_4, store_8},
    .load_behind = {load_behind_1, load_behind_2, load_behind_4, load_behind_8},
    .store_behind = {store_behind_1, store_behind_2, store_behind_4, store_behind_8},
};
