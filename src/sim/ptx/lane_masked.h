/* Plain operations of which some lanes are not active. lanes_v1.c, lanes_v3.c and lanes_v4.c
 * include this file. */

/* Writes what the lanes have computed whose word is ~0, and whose bit is set; the others keep what
 * they had. All are written: a vector of which a part was stored cannot be loaded at once. */
LANE_INLINE void blend(const ptx_warp *w, ptx_slot to, ptx_slot from, unsigned size, uint32_t bits,
                       const uint32_t *lanes) {
    void *d = ptx_at(w, to);
    const void *s = ptx_at(w, from);
    lane_u16 *d16 = d;
    lane_u32 *d32 = d;
    lane_u64 *d64 = d;
    const lane_u16 *s16 = s;
    const lane_u32 *s32 = s;
    const lane_u64 *s64 = s;
    switch (size) {
    case 0:
        *d32 = (*d32 & ~bits) | (*s32 & bits);
        break;
    case 2:
        EACH_LANE d16[i] ^= (d16[i] ^ s16[i]) & lanes[i];
        break;
    case 4:
        EACH_LANE d32[i] ^= (d32[i] ^ s32[i]) & lanes[i];
        break;
    case 8:
        EACH_LANE d64[i] ^= (d64[i] ^ s64[i]) & (uint64_t)(int32_t)lanes[i];
        break;
    default:
        for (unsigned i = 0; i < PTX_LANES; i++)
            if (lanes[i])
                memcpy((char *)d + (size_t)i * 16, (const char *)s + (size_t)i * 16, 16);
    }
}

/* `more` is the same operation with its results elsewhere. */
LANE_INLINE void run_masked(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *elsewhere = op->more;
    elsewhere->full(w, elsewhere);
    blend(w, op->d, elsewhere->d, size, w->mask, w->lanes);
    if (op->count)
        blend(w, op->e, elsewhere->e, op->count - 1u, w->mask, w->lanes);
}

/* `more` is the operation without its guard, which writes only its results. */
LANE_INLINE void run_guarded(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *inner = op->more, *elsewhere = inner->more;
    uint32_t bits = w->mask & ptx_guard(w, op), lanes[PTX_LANES];
    if (!bits)
        return;
    if (bits == ptx_alive(w)) {
        inner->full(w, inner);
        return;
    }
    elsewhere->full(w, elsewhere);
    EACH_LANE lanes[i] = -(bits >> i & 1);
    blend(w, inner->d, elsewhere->d, size, bits, lanes);
    if (inner->count)
        blend(w, inner->e, elsewhere->e, inner->count - 1u, bits, lanes);
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

const ptx_masked_handlers MASKED_HANDLERS = {
    .of_size = {masked_0, masked_2, masked_4, masked_8, masked_16},
    .guarded = {guarded_0, guarded_2, guarded_4, guarded_8, guarded_16},
};
