/* Plain operations of which some lanes are not active. lanes_v1.c, lanes_v3.c and lanes_v4.c
 * include this file. */

/* Writes what the lanes have computed whose word is not 0; the others keep what they had. `bits`
 * says the same. */
static void blend(const ptx_warp *w, ptx_slot to, ptx_slot from, unsigned size, uint32_t bits,
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
        EACH_LANE d16[i] = lanes[i] ? s16[i] : d16[i];
        break;
    case 4:
        EACH_LANE d32[i] = lanes[i] ? s32[i] : d32[i];
        break;
    case 8:
        EACH_LANE d64[i] = lanes[i] ? s64[i] : d64[i];
        break;
    default:
        for (unsigned i = 0; i < PTX_LANES; i++)
            if (lanes[i])
                memcpy((char *)d + (size_t)i * 16, (const char *)s + (size_t)i * 16, 16);
    }
}

/* `more` is the same operation with its results elsewhere. */
static inline void run_masked(ptx_warp *w, const ptx_op *op, unsigned size) {
    const ptx_op *elsewhere = op->more;
    elsewhere->full(w, elsewhere);
    blend(w, op->d, elsewhere->d, size, w->mask, w->lanes);
    if (op->count)
        blend(w, op->e, elsewhere->e, op->count - 1u, w->mask, w->lanes);
}

static void masked_0(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 0);
}

static void masked_2(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 2);
}

static void masked_4(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 4);
}

static void masked_8(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 8);
}

static void masked_16(ptx_warp *w, const ptx_op *op) {
    run_masked(w, op, 16);
}

/* `more` is the operation without its guard, which writes only its results. */
static void guarded(ptx_warp *w, const ptx_op *op) {
    const ptx_op *inner = op->more, *elsewhere = inner->more;
    uint32_t bits = w->mask & ptx_guard(w, op), lanes[PTX_LANES];
    if (!bits)
        return;
    if (bits == ptx_alive(w)) {
        inner->full(w, inner);
        return;
    }
    EACH_LANE lanes[i] = -(bits >> i & 1);
    elsewhere->full(w, elsewhere);
    blend(w, inner->d, elsewhere->d, inner->size, bits, lanes);
    if (inner->count)
        blend(w, inner->e, elsewhere->e, inner->count - 1u, bits, lanes);
}

const ptx_masked_handlers MASKED_HANDLERS = {
    .of_size = {masked_0, masked_2, masked_4, masked_8, masked_16},
    .guarded = guarded,
};
