/* Plain operations of which some lanes are not active. lanes_v1.c, lanes_v3.c and lanes_v4.c
 * include this file. */

#if defined(__AVX2__) && !defined(__AVX512F__)
/* Returns ~0 for each of the 8 lanes from the `first` on whose bit is 1. */
LANE_INLINE __m256i lanes_of_bits(uint32_t bits, unsigned first) {
    const __m256i each =
        _mm256_slli_epi32(_mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), (int)first);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), each), each);
}

/* Writes words of `yes` for the lanes that are ~0, and of `no` for the others. */
LANE_INLINE void blend_vector(lane_u32 *d, const lane_u32 *no, __m256i yes, __m256i lanes) {
    const __m256i others = _mm256_loadu_si256((const void *)no);
    _mm256_storeu_si256((void *)d, _mm256_blendv_epi8(others, yes, lanes));
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
        blend_vector(d + i, b + i, _mm256_loadu_si256((const void *)(a + i)),
                     lanes_of_bits(mask, i));
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

/* Writes what the warp's active lanes have computed. AVX2 has no masks, but the warp has vectors.
 */
LANE_INLINE void blend_active(const ptx_warp *w, ptx_slot to, ptx_slot from, unsigned size) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    if (size == 4) {
        lane_u32 *d = ptx_at(w, to);
        const lane_u32 *s = ptx_at(w, from);
#pragma GCC unroll 4
        for (unsigned i = 0; i < PTX_LANES; i += 8)
            blend_vector(d + i, d + i, _mm256_loadu_si256((const void *)(s + i)),
                         _mm256_loadu_si256((const void *)(w->lanes + i)));
        return;
    }
#endif
    blend(w, to, from, size, w->mask);
}

/* `more` is the same operation with its results elsewhere. */
LANE_INLINE void run_masked(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *elsewhere = op->more;
    elsewhere->full(w, elsewhere);
    blend_active(w, op->d, elsewhere->d, size);
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

/* Both sides are computed for all lanes, so that neither waits for the guard, and the processor
 * need not guess how the guard is. Where one takes long, it is left out if no lane needs it. */
LANE_INLINE void run_choice(ptx_warp *w, const ptx_op *op, bool keeps) {
    const ptx_op *other = op + op->value, *inner = op->more;
    if (op->flags & PTX_CHOICE_LONG) {
        const uint32_t taken = w->mask & ptx_guard(w, op);
        if (!taken || taken == w->mask) {
            op->full(w, op);
            other->full(w, other);
            return;
        }
    }
    const ptx_op *a = inner->more, *b = ((const ptx_op *)other->more)->more;
    a->full(w, a);
    b->full(w, b);
    const uint32_t guard = ptx_guard(w, op);
    const lane_u32 *at_a = ptx_at(w, PTX_SCRATCH), *at_b = ptx_at(w, PTX_OTHER_SCRATCH);
    lane_u32 *d = ptx_at(w, inner->d);
    if (keeps) {
        blend_4(d, at_a, w->mask & guard);
        blend_4(d, at_b, w->mask & ~guard);
    } else {
        merge_4(d, at_a, at_b, guard);
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

/* Returns the words of 8 lanes of which each takes that of the lane that `at` names: with bits 3
 * and 4 as signs, which blending looks at, one of four vectors. */
#if defined(__AVX2__) && !defined(__AVX512F__)
LANE_INLINE __m256i permuted(const __m256i *words, __m256i at) {
    const __m256 bit_3 = _mm256_castsi256_ps(_mm256_slli_epi32(at, 28)),
                 bit_4 = _mm256_castsi256_ps(_mm256_slli_epi32(at, 27));
    __m256 part[PTX_LANES / 8];
#pragma GCC unroll 4
    for (unsigned n = 0; n < PTX_LANES / 8; n++)
        part[n] = _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(words[n], at));
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_blendv_ps(part[0], part[1], bit_3),
                                                _mm256_blendv_ps(part[2], part[3], bit_3), bit_4));
}
#endif

static void permute(uint32_t *d, const uint32_t *words, const uint32_t *from, uint32_t mask) {
#if defined(__AVX512F__)
    const __m512i low = _mm512_loadu_si512(words), high = _mm512_loadu_si512(words + 16);
#pragma GCC unroll 2
    for (unsigned i = 0; i < PTX_LANES; i += 16) {
        const __m512i taken = _mm512_permutex2var_epi32(low, _mm512_loadu_si512(from + i), high);
        _mm512_storeu_si512(d + i, mask == ~UINT32_C(0)
                                       ? taken
                                       : _mm512_mask_blend_epi32((__mmask16)(mask >> i),
                                                                 _mm512_loadu_si512(d + i), taken));
    }
#elif defined(__AVX2__)
    __m256i all[PTX_LANES / 8];
#pragma GCC unroll 4
    for (unsigned n = 0; n < PTX_LANES / 8; n++)
        all[n] = _mm256_loadu_si256((const void *)(words + (size_t)n * 8));
#pragma GCC unroll 4
    for (unsigned i = 0; i < PTX_LANES; i += 8) {
        const __m256i taken = permuted(all, _mm256_loadu_si256((const void *)(from + i)));
        if (mask == ~UINT32_C(0))
            _mm256_storeu_si256((void *)(d + i), taken);
        else
            blend_vector(d + i, d + i, taken, lanes_of_bits(mask, i));
    }
#else
    lane_u32 all[PTX_LANES];
    for (unsigned i = 0; i < PTX_LANES; i++)
        all[i] = words[from[i]];
    blend_4(d, all, mask);
#endif
}

const ptx_masked_handlers MASKED_HANDLERS = {
    .of_size = {masked_0, masked_2, masked_4, masked_8, masked_16},
    .guarded = {guarded_0, guarded_2, guarded_4, guarded_8, guarded_16},
    .choose = {choose_all, choose_some},
    .permute = permute,
};
