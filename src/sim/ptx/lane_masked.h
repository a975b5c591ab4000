/* Plain operations of which some lanes are not active. lanes_v1.c, lanes_v3.c and lanes_v4.c
 * include this file. */

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Returns ~0 for each of 8 lanes whose bit is 1. */
LANE_INLINE __m256i lanes_of_bits(uint32_t bits) {
    const __m256i each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each);
}
#endif

/* Writes words of `a` for the lanes of the mask, and of `b` for all others. */
LANE_INLINE void merge_4(lane_u32 *d, const lane_u32 *a, const lane_u32 *b, uint32_t mask) {
#if defined(__AVX512F__)
    for (unsigned i = 0; i < PTX_LANES; i += 16)
        _mm512_storeu_si512(d + i, _mm512_mask_blend_epi32((__mmask16)(mask >> i),
                                                           _mm512_loadu_si512(b + i),
                                                           _mm512_loadu_si512(a + i)));
#elif defined(__AVX2__)
#pragma GCC unroll 4
    for (unsigned i = 0; i < PTX_LANES; i += 8)
        _mm256_storeu_si256((void *)(d + i),
                            _mm256_blendv_epi8(_mm256_loadu_si256((const void *)(b + i)),
                                               _mm256_loadu_si256((const void *)(a + i)),
                                               lanes_of_bits(mask >> i)));
#else
    EACH_LANE d[i] = b[i] ^ ((a[i] ^ b[i]) & -(mask >> i & 1));
#endif
}

/* Writes elements of the lanes of the mask; the others keep what they had, and are written, too: a
 * vector of which a part was stored cannot be loaded at once. */
LANE_INLINE void blend_4(lane_u32 *d, const lane_u32 *s, uint32_t mask) {
    merge_4(d, s, d, mask);
}

LANE_INLINE void blend_8(lane_u64 *d, const lane_u64 *s, uint32_t mask) {
#if defined(__AVX512F__)
    for (unsigned i = 0; i < PTX_LANES; i += 8)
        _mm512_storeu_si512(d + i, _mm512_mask_blend_epi64((__mmask8)(mask >> i),
                                                           _mm512_loadu_si512(d + i),
                                                           _mm512_loadu_si512(s + i)));
#else
    EACH_LANE d[i] ^= (d[i] ^ s[i]) & -(uint64_t)(mask >> i & 1);
#endif
}

/* Writes what the lanes of the mask have computed. */
LANE_INLINE void blend(const ptx_warp *w, ptx_slot to, ptx_slot from, unsigned size,
                       uint32_t mask) {
    void *d = ptx_at(w, to);
    const void *s = ptx_at(w, from);
    lane_u16 *d16 = d;
    const lane_u16 *s16 = s;
    switch (size) {
    case 0:
        *(lane_u32 *)d = (*(lane_u32 *)d & ~mask) | (*(const lane_u32 *)s & mask);
        break;
    case 2:
        EACH_LANE d16[i] = mask >> i & 1 ? s16[i] : d16[i];
        break;
    case 4:
        blend_4(d, s, mask);
        break;
    case 8:
        blend_8(d, s, mask);
        break;
    default:
        for (unsigned i = 0; i < PTX_LANES; i++)
            if (mask >> i & 1)
                memcpy((char *)d + (size_t)i * 16, (const char *)s + (size_t)i * 16, 16);
    }
}

/* `more` is the same operation with its results elsewhere. */
LANE_INLINE void run_masked(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *elsewhere = op->more;
    elsewhere->full(w, elsewhere);
    blend(w, op->d, elsewhere->d, size, w->mask);
    if (op->count)
        blend(w, op->e, elsewhere->e, op->count - 1u, w->mask);
}

/* `more` is the operation without its guard, which writes only its results. */
LANE_INLINE void run_guarded(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *inner = op->more, *elsewhere = inner->more;
    const uint32_t mask = w->mask & ptx_guard(w, op);
    if (!mask)
        return;
    if (mask == ptx_alive(w)) {
        inner->full(w, inner);
        return;
    }
    elsewhere->full(w, elsewhere);
    blend(w, inner->d, elsewhere->d, size, mask);
    if (inner->count)
        blend(w, inner->e, elsewhere->e, inner->count - 1u, mask);
}

/* Both sides are computed for all lanes, so that neither waits for the guard. */
LANE_INLINE void run_choice(ptx_warp *w, const ptx_op *op, bool keeps) {
    const ptx_op *other = op + op->value, *inner = op->more, *inner_other = other->more,
                 *a = inner->more, *b = inner_other->more;
    const uint32_t guard = ptx_guard(w, op), yes = w->mask & guard, no = w->mask & ~guard;
    lane_u32 *d = ptx_at(w, inner->d), *at_b = ptx_at(w, b->d);
    if (!yes || !no) {
        op->full(w, op);
        other->full(w, other);
        return;
    }
    a->full(w, a);
    b->full(w, b);
    if (keeps) {
        blend_4(d, ptx_at(w, a->d), yes);
        blend_4(d, at_b, no);
    } else {
        merge_4(d, ptx_at(w, a->d), at_b, guard);
    }
}

static void choose_all(ptx_warp *w, const ptx_op *op) {
    run_choice(w, op, false);
}

static void choose_some(ptx_warp *w, const ptx_op *op) {
    run_choice(w, op, true);
}

#define MASKED(size)                                                                               \
    static void masked_##size(ptx_warp *w, const ptx_op *op) {                                     \
        run_masked(w, op, size);                                                                   \
    }                                                                                              \
    static void guarded_##size(ptx_warp *w, const ptx_op *op) {                                    \
        run_guarded(w, op, size);                                                                  \
    }

MASKED(0)
MASKED(2)
MASKED(4)
MASKED(8)
MASKED(16)

static void permute(uint32_t *d, const uint32_t *words, const uint32_t *from, uint32_t mask) {
    lane_u32 all[PTX_LANES];
#if defined(__AVX512F__)
    const __m512i low = _mm512_loadu_si512(words), high = _mm512_loadu_si512(words + 16);
    for (unsigned i = 0; i < PTX_LANES; i += 16)
        _mm512_storeu_si512(all + i,
                            _mm512_permutex2var_epi32(low, _mm512_loadu_si512(from + i), high));
#elif defined(__AVX2__)
#pragma GCC unroll 4
    for (unsigned i = 0; i < PTX_LANES; i += 8) {
        const __m256i at = _mm256_loadu_si256((const void *)(from + i)),
                      quarter = _mm256_srli_epi32(at, 3);
        __m256i value = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (int n = 0; n < PTX_LANES / 8; n++) {
            const __m256i part = _mm256_loadu_si256((const void *)(words + (size_t)n * 8));
            value = _mm256_blendv_epi8(value, _mm256_permutevar8x32_epi32(part, at),
                                       _mm256_cmpeq_epi32(quarter, _mm256_set1_epi32(n)));
        }
        _mm256_storeu_si256((void *)(all + i), value);
    }
#else
    for (unsigned i = 0; i < PTX_LANES; i++)
        all[i] = words[from[i]];
#endif
    blend_4(d, all, mask);
}

const ptx_masked_handlers MASKED_HANDLERS = {
    .of_size = {masked_0, masked_2, masked_4, masked_8, masked_16},
    .guarded = {guarded_0, guarded_2, guarded_4, guarded_8, guarded_16},
    .choose = {choose_all, choose_some},
    .permute = permute,
};
