/*
 * Copies of tiles between global and shared memory. As all asynchronous copies, each is made at
 * once (async.c).
 */
#include "sim/ptx/tensor_copy.h"

#include "sim/ptx/access.h"
#include "sim/ptx/atomic.h"
#include "sim/ptx/check_inside.h"
#include "sim/ptx/cluster.h"
#include "sim/ptx/lower_inside.h"
#include "sim/ptx/mbarrier.h"

#include <string.h>

enum { CHUNK = 16, MOST_ROW = 256 * 32 }; /* bytes */

/* What an operation does; `more` of it. */
typedef struct tensor_copy {
    bool loads, reduces, im2col, multicast;
    bool has_offsets; /* im2col reads pixels at offsets */
    ptx_change change;
    unsigned rank;
    ptx_address map, shared, barrier;
    ptx_slot at[PTX_TENSOR_RANKS], offsets[3], mask;
} tensor_copy;

/* A copy of one lane while it is made. */
typedef struct tile_copy {
    ptx_warp *w;
    const ptx_op *op;
    unsigned lane;
    ptx_tensor_map map;
    ptx_tensor_walk walk;
    unsigned size;     /* bytes of an element */
    unsigned unit;     /* bytes at a place of the first dimension */
    size_t row, bytes; /* of a row, and of the tile's elements */
    size_t line,
        room;    /* what a row and the tile take of shared memory: with a swizzle, whole lines */
    size_t span; /* of shared memory that the tile's chunks are in, where they are swizzled */
    uint64_t address; /* of the tile in shared memory */
    char *tile;
} tile_copy;

/* ---- the map ---- */

char *acu_ptx_tensor_at(ptx_warp *w, const ptx_op *op, unsigned lane, ptx_space space,
                        uint64_t address, bool writes, ptx_tensor_map *map) {
    char *bytes = acu_ptx_memory_at(w, op, lane, space, address, PTX_TENSOR_BYTES, 64, writes);
    if (!(writes && acu_ptx_tensor_begin(bytes, map)) && !acu_ptx_tensor_read(bytes, map))
        acu_ptx_fail(w, lane, op, 715, address, "there is no tensor map");
    return bytes;
}

static _Noreturn void refuse(const tile_copy *t, const char *what) {
    acu_ptx_fail(t->w, t->lane, t->op, 801, 0, "the simulator does not copy by tensor maps %s",
                 what);
}

/* What a kernel changed in the map may be wrong. */
static bool is_whole(const ptx_tensor_map *m) {
    bool whole = m->rank >= 1 && m->rank <= PTX_TENSOR_RANKS && acu_ptx_tensor_bits(m->type) &&
                 m->box[0] && m->box[0] <= 256 && m->address % CHUNK == 0 && m->interleave <= 2 &&
                 (!m->interleave || m->rank >= 3);
    for (unsigned i = 0; whole && i < m->rank; i++)
        whole = m->steps[i] >= 1 && m->steps[i] <= 8 && (i == 0 || m->strides[i - 1] % CHUNK == 0);
    for (unsigned i = 1; whole && m->magic == PTX_TENSOR_TILED && i < m->rank; i++)
        whole = m->box[i] && m->box[i] <= 256;
    return whole;
}

/* The first dimension of interleaved channels is W, and the last but one the channels, which are
 * counted in units of 16 or 32 bytes. An H200 copies one unit, whatever the box says. The map is
 * made one whose elements at a place are that unit, of the channels that the copy names. Where
 * there are none, all is outside of the tensor. */
static void begin_interleaved(tile_copy *t) {
    enum { OUTSIDE = INT32_MAX };
    ptx_tensor_map *m = &t->map;
    const ptx_tensor_map from = *m;
    const ptx_tensor_walk walk = t->walk;
    const unsigned channels = m->rank - 2u, last = m->rank - 1u;
    const int64_t unit = walk.at[channels];
    if (m->interleave == 2 && m->swizzle != PTX_SWIZZLE_32)
        refuse(t, "with channels interleaved by 32 bytes and another swizzle than 32");
    for (unsigned i = 0; i < channels; i++) {
        m->shape[i + 1] = from.shape[i];
        m->steps[i + 1] = from.steps[i];
        m->strides[i] = i ? from.strides[i - 1] : t->unit;
        if (m->magic == PTX_TENSOR_TILED)
            m->box[i + 1] = from.box[i];
        t->walk.first[i + 1] = t->walk.at[i + 1] = walk.at[i];
    }
    m->strides[last - 1] = from.strides[last - 1];
    m->box[0] = (uint16_t)(t->unit / t->size);
    m->shape[0] = m->box[0] - 1u;
    m->interleave = 0;
    t->unit = t->size;
    t->walk.first[0] = t->walk.at[0] = 0;
    if (unit < 0 && !((const tensor_copy *)t->op->more)->loads)
        acu_ptx_fail(t->w, t->lane, t->op, 715, 0,
                     "coordinate %u is %lld: a GPU stores no channels before the first ones",
                     channels, (long long)unit);
    if (unit < 0 || unit > (int64_t)from.shape[channels])
        t->walk.offset[last] = OUTSIDE;
    else
        m->address += (uint64_t)unit * from.strides[channels - 1];
}

static void read_map(tile_copy *t) {
    const tensor_copy *c = t->op->more;
    const ptx_tensor_map *m = &t->map;
    acu_ptx_tensor_at(t->w, t->op, t->lane, PTX_GENERIC, ptx_lane_address(t->w, c->map, t->lane),
                      false, &t->map);
    if (!is_whole(m))
        acu_ptx_fail(t->w, t->lane, t->op, 715, 0, "the tensor map has a field that cannot be");
    if (m->rank != c->rank || (m->magic == PTX_TENSOR_TILED) == c->im2col)
        acu_ptx_fail(t->w, t->lane, t->op, 715, 0, "the tensor map is one of %u dimensions%s",
                     m->rank, m->magic == PTX_TENSOR_TILED ? "" : " for im2col");
    if (m->magic == PTX_TENSOR_IM2COL_WIDE || acu_ptx_tensor_bits(m->type) < 8)
        refuse(t, "of devices since compute capability 10.0");
    if (m->swizzle > PTX_SWIZZLE_128)
        refuse(t, "that swizzle more than 16 bytes at once");
    t->size = acu_ptx_tensor_bits(m->type) / 8;
    t->unit = ptx_tensor_unit(m) / 8;
    const bool interleaved = m->interleave != 0;
    if (interleaved)
        begin_interleaved(t);
    t->row = m->box[0] * (size_t)t->unit;
    t->bytes = t->row * acu_ptx_tensor_rows(m);
    if (t->row % CHUNK)
        acu_ptx_fail(t->w, t->lane, t->op, 715, 0,
                     "the tensor map has tiles with rows of %zu bytes, no multiple of 16", t->row);
    t->line = m->swizzle && !interleaved ? (size_t)CHUNK << m->swizzle : t->row;
    if (t->row > t->line)
        refuse(t, "whose rows are longer than what is swizzled");
    t->room = t->line * (t->bytes / t->row);
    const size_t swizzled = (size_t)CHUNK << m->swizzle;
    t->span = (t->room + swizzled - 1) / swizzled * swizzled;
}

/* ---- rows ---- */

static bool is_tf32(unsigned type) {
    return type == PTX_TENSOR_TF32 || type == PTX_TENSOR_TF32_FTZ;
}

/* Returns a number of tf32: the nearest one of 10 bits, the even one of two; all that is no number
 * becomes the same. Subnormal numbers are rounded, too. */
static uint32_t to_tf32(uint32_t word) {
    if ((word & 0x7fffffff) > 0x7f800000)
        return 0x7fffe000;
    return (word + 0xfff + (word >> 13 & 1)) & ~UINT32_C(0x1fff);
}

/* Makes of a row's elements what their type says. Types with FTZ flush nothing that is loaded. */
static void convert(const tile_copy *t, char *elements, size_t bytes) {
    for (size_t at = 0; is_tf32(t->map.type) && at < bytes; at += 4) {
        uint32_t word;
        memcpy(&word, elements + at, sizeof word);
        word = to_tf32(word);
        memcpy(elements + at, &word, sizeof word);
    }
}

/* What is no number is 0x7ff7 in each 16 bits, whatever the type is. */
static void fill_row(const tile_copy *t, char *row) {
    memset(row, t->map.fill ? 0xf7 : 0, t->row);
    for (size_t at = 1; t->map.fill && at < t->row; at += 2)
        row[at] = 0x7f;
}

/* Returns where the elements of a row are in the tensor. */
static char *elements_at(tile_copy *t, uint64_t address, size_t bytes, bool writes) {
    return acu_ptx_memory_at(t->w, t->op, t->lane, PTX_GLOBAL, address, bytes, 1, writes);
}

static void load_row(tile_copy *t, char *row) {
    unsigned begin;
    uint64_t address;
    size_t inside = acu_ptx_tensor_row(&t->walk, &begin, &address) * (size_t)t->unit;
    if (inside < t->row)
        fill_row(t, row);
    if (inside)
        memcpy(row + (size_t)begin * t->unit, elements_at(t, address, inside, false), inside);
    convert(t, row + (size_t)begin * t->unit, inside);
}

/* Returns the type of the reduction; PTX_NONE if there is none for the elements. */
static ptx_type reduced_type(unsigned type, ptx_change change) {
    static const uint8_t types[PTX_TENSOR_TYPES] = {
        [PTX_TENSOR_U32] = PTX_U32, [PTX_TENSOR_S32] = PTX_S32,   [PTX_TENSOR_U64] = PTX_U64,
        [PTX_TENSOR_S64] = PTX_S64, [PTX_TENSOR_F16] = PTX_F16,   [PTX_TENSOR_F32] = PTX_F32,
        [PTX_TENSOR_F64] = PTX_F64, [PTX_TENSOR_BF16] = PTX_BF16,
    };
    return acu_ptx_is_reduction(change, (ptx_type)types[type]) ? (ptx_type)types[type] : PTX_NONE;
}

/* An H200 stores no tile that begins before the tensor, nor pixels there. */
static void check_begin(const tile_copy *t) {
    for (unsigned i = 0; i < t->map.rank; i++)
        if (t->walk.at[i] < 0)
            acu_ptx_fail(
                t->w, t->lane, t->op, 715, 0,
                "coordinate %u is %lld: a GPU stores no tile that begins before its tensor", i,
                (long long)t->walk.at[i]);
}

/* Returns how much of a row is stored: whole chunks, also what of the last one is behind the
 * tensor's own row, as an H200 does; but no more than the tile and the allocation have. */
static size_t stored_bytes(const tile_copy *t, unsigned begin, uint64_t address, size_t inside) {
    const ptx_machine *machine = t->w->worker->launch->machine;
    const size_t chunks = (inside + CHUNK - 1) / CHUNK * CHUNK;
    ptx_range range;
    return chunks <= t->row - (size_t)begin * t->unit &&
                   machine->find(machine->data, address, &range) &&
                   range.last - address >= chunks - 1
               ? chunks
               : inside;
}

/* An H200 knows only the smaller and the larger one of signed integers of 64 bits. */
static void check_reduction(const tile_copy *t, ptx_type type) {
    const ptx_change change = ((const tensor_copy *)t->op->more)->change;
    if (!type)
        refuse(t, "and reduce elements of this type");
    if (type == PTX_S64 && change != PTX_CHANGE_MIN && change != PTX_CHANGE_MAX)
        acu_ptx_fail(t->w, t->lane, t->op, 715, 0,
                     "a GPU reduces signed integers of 64 bits by .min and .max alone: make the "
                     "tensor map with CU_TENSOR_MAP_DATA_TYPE_UINT64");
}

static void store_row(tile_copy *t, char *row) {
    const tensor_copy *c = t->op->more;
    unsigned begin;
    uint64_t address;
    size_t inside = acu_ptx_tensor_row(&t->walk, &begin, &address) * (size_t)t->unit;
    ptx_type type = reduced_type(t->map.type, c->change);
    if (!inside)
        return;
    inside = stored_bytes(t, begin, address, inside);
    if (c->reduces)
        check_reduction(t, type);
    char *elements = elements_at(t, address, inside, true), *from = row + (size_t)begin * t->unit;
    if (!c->reduces)
        memcpy(elements, from, inside);
    for (size_t at = 0; c->reduces && at < inside; at += t->size) {
        uint64_t value = 0;
        memcpy(&value, from + at, t->size);
        acu_ptx_change(c->change, type, elements + at, value, 0);
    }
}

/* Returns where in the tile a chunk is, which is `at` without swizzling. */
static uint64_t place_of_chunk(const tile_copy *t, size_t at) {
    return ptx_swizzled(t->address + at, t->map.swizzle) - t->address;
}

/* Copies a row, whose line begins `at` bytes behind the tile's first one, chunk by chunk. */
static void copy_chunks(const tile_copy *t, size_t at, char *row, bool loads) {
    for (size_t n = 0; n < t->row; n += CHUNK) {
        char *chunk = t->tile + place_of_chunk(t, at + n);
        memcpy(loads ? chunk : row + n, loads ? row + n : chunk, CHUNK);
    }
}

static void copy_rows(tile_copy *t, bool loads) {
    char row[MOST_ROW];
    for (size_t at = 0; at < t->room; at += t->line) {
        if (loads)
            load_row(t, row);
        copy_chunks(t, at, row, loads);
        if (!loads) {
            check_begin(t);
            store_row(t, row);
        }
        acu_ptx_tensor_next(&t->walk);
    }
}

/* ---- operations ---- */

/* Tells the checks which chunks of a block's shared memory, where the tile is at `to`, are copied.
 */
static void check_chunks(const tile_copy *t, ptx_block *block, uint64_t to) {
    const tensor_copy *c = t->op->more;
    bool right = true; /* one report is enough */
    for (size_t at = 0; right && at < t->room; at += CHUNK) {
        if (at % t->line >= t->row)
            continue;
        uint64_t chunk = to + place_of_chunk(t, at);
        if (c->loads)
            acu_ptx_check_async_write(block, chunk, CHUNK);
        else
            right = acu_ptx_check_async_read(t->w, t->op, t->lane, chunk, CHUNK);
    }
}

/* Copies the chunks of the tile to another block's memory. */
static void repeat_chunks(const tile_copy *t, char *to) {
    for (size_t at = 0; at < t->room; at += CHUNK)
        if (at % t->line < t->row)
            memcpy(to + place_of_chunk(t, at), t->tile + place_of_chunk(t, at), CHUNK);
}

/* Returns the tile's bytes in the shared memory of a block of the cluster; negative: of this one.
 * A barrier hears of them. */
static char *tile_of(const tile_copy *t, int rank) {
    const tensor_copy *c = t->op->more;
    uint64_t to = rank < 0 ? t->address : acu_ptx_cluster_address(t->address, (unsigned)rank);
    char *tile =
        acu_ptx_memory_at(t->w, t->op, t->lane, PTX_SHARED_CLUSTER, to, t->span, 128, c->loads);
    ptx_block *block = acu_ptx_cluster_block(t->w->block, &to);
    check_chunks(t, block, to);
    return tile;
}

static void complete(const tile_copy *t, int rank) {
    const tensor_copy *c = t->op->more;
    uint64_t barrier = ptx_lane_address(t->w, c->barrier, t->lane);
    if (rank >= 0)
        barrier = acu_ptx_cluster_address(barrier, (unsigned)rank);
    acu_ptx_mbarrier_complete_bytes(
        acu_ptx_mbarrier_at(t->w, t->op, t->lane, PTX_SHARED_CLUSTER, barrier), t->bytes);
}

/* Makes one copy of the tile, and more of it for the other blocks. */
static void load(tile_copy *t, unsigned blocks) {
    int first = blocks ? __builtin_ctz(blocks) : -1;
    t->tile = tile_of(t, first);
    copy_rows(t, true);
    complete(t, first);
    for (blocks &= blocks - 1; first >= 0 && blocks; blocks &= blocks - 1) {
        int rank = __builtin_ctz(blocks);
        repeat_chunks(t, tile_of(t, rank));
        complete(t, rank);
    }
}

/* An H200 begins at no pixel outside of the bounding box, and stores none unless all of the box is
 * in the tensor. */
static void check_box(const tile_copy *t) {
    const ptx_tensor_map *m = &t->map;
    for (unsigned i = 1; i + 1 < m->rank; i++) {
        const int64_t lower = m->lower[i - 1], upper = (int64_t)m->shape[i] + m->upper[i - 1];
        if (t->walk.at[i] < lower || t->walk.at[i] > upper)
            acu_ptx_fail(t->w, t->lane, t->op, 715, 0,
                         "a coordinate is %lld, and the bounding box goes from %lld to %lld: a GPU "
                         "copies no pixels from a first one outside",
                         (long long)t->walk.at[i], (long long)lower, (long long)upper);
        if (!((const tensor_copy *)t->op->more)->loads && (lower < 0 || m->upper[i - 1] > 0))
            acu_ptx_fail(t->w, t->lane, t->op, 715, 0,
                         "the bounding box goes from %lld to %lld, beyond the tensor: a GPU stores "
                         "no pixels of such a box",
                         (long long)lower, (long long)upper);
    }
}

static void copy_lane(ptx_warp *w, const ptx_op *op, unsigned lane) {
    const tensor_copy *c = op->more;
    tile_copy t = {.w = w, .op = op, .lane = lane};
    unsigned blocks = c->multicast ? ((const uint16_t *)ptx_at(w, c->mask))[lane] : 0;
    for (unsigned i = 0; i < c->rank; i++)
        t.walk.first[i] = t.walk.at[i] = ((const int32_t *)ptx_at(w, c->at[i]))[lane];
    read_map(&t);
    t.walk.map = &t.map;
    if (!ptx_tensor_begins(&t.map, t.walk.at[0]))
        acu_ptx_fail(w, lane, op, 715, 0,
                     "the tile's first coordinate is %lld, or %lld bytes: a GPU copies from "
                     "multiples of 16 bytes alone",
                     (long long)t.walk.at[0], (long long)t.walk.at[0] * t.unit);
    if (c->im2col)
        check_box(&t);
    for (unsigned i = 0; c->has_offsets && i + 2 < t.map.rank; i++)
        t.walk.offset[i + 1] = ((const uint16_t *)ptx_at(w, c->offsets[i]))[lane];
    t.address = ptx_lane_address(w, c->shared, lane);
    if (c->multicast && !blocks)
        return;
    if (c->loads) {
        load(&t, blocks);
        return;
    }
    t.tile = tile_of(&t, -1);
    copy_rows(&t, false);
}

static void do_tensor(ptx_warp *w, const ptx_op *op) {
    for (uint32_t left = w->mask; left; left &= left - 1)
        copy_lane(w, op, (unsigned)__builtin_ctz(left));
}

/* ---- lowering ---- */

/* Takes the words; returns whether the cache is hinted at. */
static bool take_words(ptx_lowering *l, ptx_words *words, tensor_copy *c, bool prefetches) {
    c->rank = (unsigned)acu_ptx_take_one(words, "1d 2d 3d 4d 5d") + 1;
    bool cluster = acu_ptx_take_one(words, "shared::cluster") == 0,
         block = acu_ptx_take_one(words, "shared::cta") == 0,
         global = acu_ptx_take(words, "global");
    prefetches = prefetches && acu_ptx_take(words, "L2");
    c->loads = acu_ptx_take(words, "mbarrier::complete_tx::bytes");
    bool stores = acu_ptx_take(words, "bulk_group");
    c->multicast = acu_ptx_take(words, "multicast::cluster");
    int mode = acu_ptx_take_one(words, "tile im2col im2col_no_offs");
    bool hinted = acu_ptx_take(words, "L2::cache_hint");
    if (c->reduces) {
        int change = acu_ptx_take_one(words, "add min max inc dec and or xor");
        c->change = (ptx_change)change;
        stores &= change >= 0;
    }
    acu_ptx_words_end(l, words);
    c->im2col = mode > 0;
    c->has_offsets = mode == 1;
    bool good = prefetches ? global
                : c->loads ? !stores && global && cluster + block == 1 && mode != 2
                : stores   ? global && block && !cluster && mode != 1 && !c->multicast
                           : false;
    if (!good || c->rank < (c->im2col ? 3u : 1u))
        acu_ptx_invalid(l, "Unknown modifier of '%s'", acu_ptx_first_word(l));
    return hinted;
}

static void take_vector(ptx_lowering *l, const ptx_operand *o, ptx_type type, unsigned count,
                        ptx_slot *slots) {
    if (o->kind == PTX_LIST ? o->element_count != count : count != 1)
        acu_ptx_mismatch(l);
    for (unsigned n = 0; n < count; n++)
        slots[n] = acu_ptx_source(l, acu_ptx_element(o, n), type);
}

void acu_ptx_lower_tensor(ptx_lowering *l, const ptx_instruction *i, ptx_words *words) {
    tensor_copy *c = acu_ptx_lower_alloc(l, sizeof *c);
    bool prefetches = acu_ptx_take(words, "prefetch");
    c->reduces = acu_ptx_take(words, "reduce");
    bool hinted = take_words(l, words, c, prefetches);
    unsigned count = (prefetches ? 1u
                      : c->loads ? 3u
                                 : 2u) +
                     c->has_offsets + c->multicast + hinted;
    unsigned map = c->loads ? 1 : 0, more = prefetches ? 1 : 3;
    if (i->operand_count != count || i->operands[map].kind != PTX_ADDRESS ||
        i->operands[map].element_count != 1)
        acu_ptx_mismatch(l);
    c->map = acu_ptx_address(l, &i->operands[map], PTX_GENERIC);
    take_vector(l, &i->operands[map].elements[0], PTX_B32, c->rank, c->at);
    if (c->has_offsets)
        take_vector(l, &i->operands[more], PTX_B16, c->rank - 2, c->offsets);
    if (prefetches)
        return;
    c->shared = acu_ptx_address(l, &i->operands[!c->loads], PTX_SHARED_CLUSTER);
    if (c->loads)
        c->barrier = acu_ptx_address(l, &i->operands[2], PTX_SHARED_CLUSTER);
    if (c->multicast)
        c->mask = acu_ptx_source(l, &i->operands[more + c->has_offsets], PTX_U16);
    ptx_op *op = acu_ptx_emit(l, do_tensor);
    op->more = c;
    op->site = acu_ptx_site(l);
}
