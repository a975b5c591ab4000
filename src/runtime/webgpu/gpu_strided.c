/*
 * Strided copies: which kernel, and what it is given. A copy is brought into an order in which the
 * steps in the destination are positive and grow; then it is halved until each part can be bound
 * and launched.
 */
#include "runtime/webgpu/gpu_strided.h"

#include "core/fail.h"
#include "runtime/webgpu/gpu_kernels.h"
#include "runtime/webgpu/gpu_launch.h"

#include <string.h>

enum { WORD = 4, LARGEST_WORD = 16, SHORT = 8 /* a tile's sides are not shorter */ };

typedef struct dim {
    uint64_t count;
    int64_t to, from; /* bytes */
} dim;

/* A copy of words of `word` bytes, which lie together in the first dimension. */
typedef struct copy {
    WGPUBuffer to, from;
    uint64_t to_room, from_room; /* bytes of the buffers */
    uint64_t to_at, from_at;
    unsigned word; /* 1, 2, 4, 8 or 16 */
    unsigned rank; /* at least 1 */
    dim dims[ACU_GPU_STRIDED_DIMS];
} copy;

/* ---- bringing a copy into order ---- */

/* Adds a dimension where its step in the destination belongs, turned around if that is negative. */
static void add(copy *c, dim d) {
    if (d.count == 1)
        return;
    if (d.to < 0) {
        c->to_at += (d.count - 1) * (uint64_t)d.to;
        c->from_at += (d.count - 1) * (uint64_t)d.from;
        d.to = -d.to;
        d.from = -d.from;
    }
    unsigned i = c->rank++;
    for (; i > 1 && c->dims[i - 1].to > d.to; i--)
        c->dims[i] = c->dims[i - 1];
    c->dims[i] = d;
}

/* Makes one dimension of two where the outer one goes on where the inner one ends. */
static void merge(copy *c) {
    unsigned last = 0;
    for (unsigned i = 1; i < c->rank; i++) {
        dim *inner = &c->dims[last];
        const dim *outer = &c->dims[i];
        if ((uint64_t)outer->to == inner->count * (uint64_t)inner->to &&
            (uint64_t)outer->from == inner->count * (uint64_t)inner->from)
            inner->count *= outer->count;
        else
            c->dims[++last] = *outer;
    }
    c->rank = last + 1;
}

/* Takes the largest word of which all positions and steps are multiples. */
static void choose_word(copy *c) {
    uint64_t bits = (uint64_t)LARGEST_WORD | c->dims[0].count | c->to_at | c->from_at;
    for (unsigned i = 1; i < c->rank; i++)
        bits |= (uint64_t)c->dims[i].to | (uint64_t)c->dims[i].from;
    c->word = (unsigned)(bits & (~bits + 1));
    c->dims[0].count /= c->word;
    c->dims[0].to = c->dims[0].from = c->word;
}

static void order(copy *c, const acu_backend_strided *s) {
    c->to_at = s->to_at;
    c->from_at = s->from_at;
    c->rank = 1;
    c->dims[0] = (dim){s->element_bytes, 1, 1};
    for (unsigned i = s->rank; i-- > 0;)
        add(c, (dim){s->shape[i], s->to[i], s->from[i]});
    merge(c);
    choose_word(c);
}

/* ---- parts ---- */

static uint64_t size_of_step(int64_t step) {
    return step < 0 ? -(uint64_t)step : (uint64_t)step;
}

/* A part of a buffer that can be bound, and where the first word is in it. */
typedef struct window {
    uint64_t begin, bytes, at;
} window;

static window window_of(const acu_gpu *gpu, const copy *c, bool to) {
    const uint64_t step = gpu->limits.minStorageBufferOffsetAlignment;
    const uint64_t at = to ? c->to_at : c->from_at, room = to ? c->to_room : c->from_room;
    uint64_t low = at, high = at + c->word;
    for (unsigned i = 0; i < c->rank; i++) {
        const int64_t by = to ? c->dims[i].to : c->dims[i].from;
        const uint64_t length = (c->dims[i].count - 1) * size_of_step(by);
        low -= by < 0 ? length : 0;
        high += by < 0 ? 0 : length;
    }
    const uint64_t begin = low / step * step;
    high = (high + WORD - 1) & ~(uint64_t)(WORD - 1);
    return (window){begin, (high < room ? high : room) - begin, at - begin};
}

static bool can_bind(const acu_gpu *gpu, const window *w) {
    return w->bytes <= gpu->limits.maxStorageBufferBindingSize && w->bytes <= UINT32_MAX - WORD;
}

/* Returns the dimension that makes a part too large: in the destination, in the source, or, where
 * both can be bound, by its count. */
static unsigned longest(const copy *c, bool to, bool from) {
    unsigned found = 0;
    uint64_t most = 0;
    for (unsigned i = 0; i < c->rank; i++) {
        const uint64_t steps = c->dims[i].count - 1;
        const uint64_t length = to     ? steps * size_of_step(c->dims[i].to)
                                : from ? steps * size_of_step(c->dims[i].from)
                                       : steps;
        if (length > most) {
            most = length;
            found = i;
        }
    }
    return found;
}

typedef void part_function(acu_gpu *gpu, const copy *c);

/* Does both halves of a copy along a dimension. */
static void halve(acu_gpu *gpu, const copy *c, unsigned along, part_function *function) {
    copy half = *c;
    dim *d = &half.dims[along];
    d->count = c->dims[along].count / 2;
    function(gpu, &half);
    half.to_at += d->count * (uint64_t)d->to;
    half.from_at += d->count * (uint64_t)d->from;
    d->count = c->dims[along].count - d->count;
    function(gpu, &half);
}

/* ---- what a kernel is given ---- */

/* A launch that is being made. */
typedef struct launch {
    int kernel;
    uint64_t threads; /* or tiles, each of which is a group */
    acu_gpu_strided p;
} launch;

static void list(acu_gpu_strided *p, dim d, unsigned unit) {
    uint32_t *to = p->dims[p->rank++];
    to[0] = (uint32_t)d.count;
    to[1] = (uint32_t)(d.to / (int64_t)unit);
    to[2] = (uint32_t)(d.from / (int64_t)unit);
}

/* There is one dimension at least. */
static void list_from(acu_gpu_strided *p, const copy *c, unsigned first, unsigned skipped,
                      unsigned unit) {
    for (unsigned i = first; i < c->rank; i++)
        if (i != skipped && c->dims[i].count > 1)
            list(p, c->dims[i], unit);
    if (!p->rank)
        list(p, (dim){1, 0, 0}, unit);
}

static uint64_t words_of(const copy *c) {
    uint64_t words = 1;
    for (unsigned i = 0; i < c->rank; i++)
        if (__builtin_mul_overflow(words, c->dims[i].count, &words))
            return UINT64_MAX;
    return words;
}

static void as_words(launch *l, const copy *c) {
    l->kernel = ACU_GPU_STRIDED_WORDS + __builtin_ctz(c->word / WORD);
    l->threads = words_of(c);
    list_from(&l->p, c, 0, c->rank, c->word);
}

/* A row is the first dimension, or the first two where those lie together in the destination. */
static void as_bytes(launch *l, const copy *c) {
    const uint64_t run = c->dims[0].count * c->word;
    const bool two = c->rank > 1 && (uint64_t)c->dims[1].to == run;
    const uint64_t pieces = two ? c->dims[1].count : 1, touched = (run * pieces + 6) / WORD;
    const uint64_t rows = words_of(c) / c->dims[0].count / pieces;
    l->kernel = ACU_GPU_STRIDED_BYTES;
    l->p.across = (uint32_t)run;
    l->p.across_to = (uint32_t)touched;
    l->p.down = (uint32_t)pieces;
    l->p.down_from = two ? (uint32_t)c->dims[1].from : 0;
    if (__builtin_mul_overflow(rows, touched, &l->threads))
        l->threads = UINT64_MAX;
    list_from(&l->p, c, two ? 2 : 1, c->rank, 1);
}

/* Returns the dimension with the shortest step in the source that is not 0, which is the first one
 * where no other one is shorter. */
static unsigned fastest_in_source(const copy *c, unsigned first) {
    unsigned fastest = first;
    for (unsigned i = first + 1; i < c->rank; i++)
        if (c->dims[i].from != 0 &&
            size_of_step(c->dims[i].from) < size_of_step(c->dims[fastest].from))
            fastest = i;
    return fastest;
}

/* Returns whether elements of 1 or 2 bytes are moved a word at a time: those that lie together are
 * whole words, and all else is a multiple of one. */
static bool can_pack(const copy *c, unsigned across, unsigned down) {
    const dim *fast = &c->dims[across], *slow = &c->dims[down];
    uint64_t bits = c->to_at | c->from_at | (uint64_t)fast->from | (uint64_t)slow->to |
                    fast->count * c->word | slow->count * c->word;
    for (unsigned i = across + 1; i < c->rank; i++)
        if (i != down)
            bits |= (uint64_t)c->dims[i].to | (uint64_t)c->dims[i].from;
    return fast->to == (int64_t)c->word && slow->from == (int64_t)c->word && bits % WORD == 0;
}

/* Makes a launch of tiles where the source's fastest dimension is another one than the
 * destination's, and both are long enough. Returns whether that is so. */
static bool as_tiles(launch *l, const copy *c) {
    const unsigned across = c->dims[0].count == 1 && c->rank > 1;
    const unsigned down = fastest_in_source(c, across), unit = c->word < WORD ? 1 : c->word;
    const dim fast = c->dims[across], slow = c->dims[down];
    if (down == across || fast.from == 0 || fast.count < SHORT || slow.count < SHORT ||
        (c->word < WORD && !can_pack(c, across, down)))
        return false;
    l->kernel = c->word < WORD ? ACU_GPU_STRIDED_PACKED + (c->word == 2)
                               : ACU_GPU_STRIDED_TILES + __builtin_ctz(c->word / WORD);
    const int64_t side = acu_gpu_strided_side(l->kernel), size = unit;
    const uint64_t wide = (fast.count + (uint64_t)side - 1) / (uint64_t)side;
    const uint64_t high = (slow.count + (uint64_t)side - 1) / (uint64_t)side;
    l->p.across = (uint32_t)fast.count;
    l->p.across_to = (uint32_t)(fast.to / size);
    l->p.across_from = (uint32_t)(fast.from / size);
    l->p.down = (uint32_t)slow.count;
    l->p.down_to = (uint32_t)(slow.to / size);
    l->p.down_from = (uint32_t)(slow.from / size);
    list(&l->p, (dim){wide, fast.to * side, fast.from * side}, unit);
    list(&l->p, (dim){high, slow.to * side, slow.from * side}, unit);
    list_from(&l->p, c, across + 1, down, unit);
    l->threads = words_of(c) / fast.count / slow.count * wide * high * ACU_GPU_STRIDED_GROUP;
    return true;
}

/* ---- launching ---- */

/* Returns the groups; x is 0 where the device does not take so many, or 32 bits do not count the
 * threads. */
static acu_gpu_groups groups_for(const acu_gpu *gpu, uint64_t threads) {
    const uint64_t most = gpu->limits.maxComputeWorkgroupsPerDimension;
    const uint64_t groups = threads / ACU_GPU_STRIDED_GROUP + (threads % ACU_GPU_STRIDED_GROUP > 0);
    if (threads > INT32_MAX || groups > most * most)
        return (acu_gpu_groups){0, 0, 0};
    const uint64_t x = groups < most ? groups : most;
    return (acu_gpu_groups){(uint32_t)x, (uint32_t)((groups + x - 1) / x), 1};
}

static void launch_part(acu_gpu *gpu, const copy *c) {
    const window to = window_of(gpu, c, true), from = window_of(gpu, c, false);
    if (!acu_gpu_is_good(gpu))
        return;
    if (!can_bind(gpu, &to) || !can_bind(gpu, &from)) {
        halve(gpu, c, longest(c, !can_bind(gpu, &to), !can_bind(gpu, &from)), launch_part);
        return;
    }
    launch l = {.kernel = 0};
    if (!as_tiles(&l, c)) {
        if (c->word < WORD)
            as_bytes(&l, c);
        else
            as_words(&l, c);
    }
    const acu_gpu_groups groups = groups_for(gpu, l.threads);
    if (groups.x == 0) {
        halve(gpu, c, longest(c, false, false), launch_part);
        return;
    }
    const unsigned unit = c->word < WORD ? 1 : c->word;
    const bool tiles = l.kernel >= ACU_GPU_STRIDED_TILES && l.kernel != ACU_GPU_STRIDED_BYTES;
    l.p.total = (uint32_t)(tiles ? l.threads / ACU_GPU_STRIDED_GROUP : l.threads);
    l.p.to_at = (uint32_t)(to.at / unit);
    l.p.from_at = (uint32_t)(from.at / unit);
    const acu_gpu_binding bound[2] = {{c->to, to.begin, to.bytes},
                                      {c->from, from.begin, from.bytes}};
    const acu_gpu_pipeline *pipeline = acu_gpu_kernels_get(gpu, l.kernel);
    if (pipeline)
        acu_gpu_launch_part(gpu, pipeline, bound, 2, &l.p, sizeof l.p, groups);
}

/* A kernel cannot read a buffer that it writes: the words lie densely in a third one between. */
static void launch_within(acu_gpu *gpu, const copy *c) {
    const uint64_t bytes = words_of(c) * c->word;
    if (bytes > gpu->scratch_step && words_of(c) > 1) {
        halve(gpu, c, longest(c, false, false), launch_within);
        return;
    }
    const uint64_t room = (bytes + WORD - 1) & ~(uint64_t)(WORD - 1);
    if (!acu_gpu_reserve(gpu, room))
        return;
    copy in = *c, out = *c;
    in.to = out.from = gpu->scratch;
    in.to_room = out.from_room = room;
    in.to_at = out.from_at = 0;
    int64_t step = c->word;
    for (unsigned i = 0; i < c->rank; i++) {
        in.dims[i].to = out.dims[i].from = step;
        step *= (int64_t)c->dims[i].count;
    }
    launch_part(gpu, &in);
    launch_part(gpu, &out);
}

acu_result acu_gpu_block_copy_strided(acu_gpu_block *to, acu_gpu_block *from,
                                      const acu_backend_strided *strided) {
    static const char call[] = "acu_gpu_block_copy_strided";
    acu_gpu *gpu = to->gpu;
    copy c = {.to = to->buffer,
              .from = from->buffer,
              .to_room = acu_gpu_block_room(to),
              .from_room = acu_gpu_block_room(from)};
    order(&c, strided);
    if (words_of(&c) > to->size / c.word)
        return acu_fail(call, to->name, ACU_ERROR_ARGUMENT,
                        "the shape has more elements than the block has room for");
    if (c.rank == 1)
        return acu_gpu_block_copy(to, c.to_at, from, c.from_at, c.dims[0].count * c.word);
    ACU_TRY(acu_gpu_begin(gpu, call));
    if (to == from)
        launch_within(gpu, &c);
    else
        launch_part(gpu, &c);
    return acu_gpu_end(gpu, call, to->name);
}
