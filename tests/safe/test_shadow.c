/*
 * Operations at random on buffers of all kinds, their slices, views and clones, on several streams,
 * some of which are held up: next to each memory there is a shadow, plain memory where the same is
 * done at once. What is read must be what the shadow has.
 */
#include "safe.h"

enum { STREAMS = 4, BUFFERS = 14, TRANSFERS = 6, STEPS = 400, SEEDS = 30, MOST_BYTES = 4000 };

/* Memory; it lives until its last buffer goes. */
typedef struct shadow {
    int buffers;
    bool grows, waits;   /* a release of the memory waits */
    unsigned char *host; /* the caller's memory under it, or NULL */
    unsigned char bytes[MOST_BYTES + 64];
} shadow;

typedef struct view {
    acu_buffer *buffer; /* NULL: none */
    shadow *memory;
    size_t at, count, size; /* bytes, elements, bytes of an element */
    bool first;             /* no slice, view */
} view;

typedef struct pending {
    acu_transfer *transfer;
    size_t bytes;
    unsigned char expected[MOST_BYTES];
} pending;

static acu_stream *streams[STREAMS];
static view views[BUFFERS];
static pending transfers[TRANSFERS];
static blocker holder;
static bool held; /* streams[0] is held up */

static acu_stream *any_stream(void) {
    return streams[any(STREAMS)];
}

static view *any_view(void) {
    for (int tries = 0; tries < 50; tries++) {
        view *v = &views[any(BUFFERS)];
        if (v->buffer)
            return v;
    }
    return NULL;
}

static view *free_view(void) {
    for (int i = 0; i < BUFFERS; i++)
        if (!views[i].buffer)
            return &views[i];
    return NULL;
}

static void let_go(void) {
    if (held)
        unblock_stream(&holder);
    held = false;
}

/* CUDA waits for copies between two memories of the host. */
static void let_go_for(const view *v) {
    const acu_memory memory = acu_buffer_memory(v->buffer);
    if (memory == ACU_MEMORY_PINNED || memory == ACU_MEMORY_REGISTERED ||
        memory == ACU_MEMORY_HOST || memory == ACU_MEMORY_MAPPED || memory == ACU_MEMORY_MANAGED)
        let_go();
}

static unsigned char *bytes_of(const view *v) {
    return v->memory->bytes + v->at;
}

static void fill_at_random(unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)any(256);
}

/* ---- making ---- */

static acu_dtype any_type(size_t *size) {
    static const size_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16};
    *size = sizes[any(COUNT(sizes))];
    switch (*size) {
    case 1:
        return ACU_U8;
    case 2:
        return ACU_I16;
    case 4:
        return any(2) ? ACU_F32 : ACU_I32;
    case 8:
        return ACU_F64;
    default:
        return ACU_BYTES(*size);
    }
}

static acu_result make_memory(acu_stream *on, acu_dtype dtype, size_t count, shadow *memory,
                              acu_buffer **buffer) {
    const size_t bytes = count * acu_dtype_size(dtype);
    const acu_buffer_options options = {.memory = (acu_memory)any(5)};
    const unsigned how = any(9);
    memory->waits = true;
    if (how == 0 && bytes > 0) {
        memory->grows = true;
        return acu_buffer_create_growable(on, dtype, count, MOST_BYTES / acu_dtype_size(dtype),
                                          buffer);
    }
    if (how <= 2 && bytes > 0) {
        memory->host = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        return how == 1 ? acu_buffer_register(on, dtype, memory->host, count, 0, buffer)
                        : acu_buffer_wrap(on, dtype, memory->host, count, ACU_MEMORY_HOST, buffer);
    }
    if (how <= 4) {
        memory->waits = false;
        return acu_buffer_create(on, dtype, count, buffer);
    }
    memory->waits = options.memory != ACU_MEMORY_POOL;
    return acu_buffer_create_with(on, dtype, count, &options, buffer);
}

static void make(void) {
    view *v = free_view();
    if (!v)
        return;
    const acu_dtype dtype = any_type(&v->size);
    v->memory = calloc(1, sizeof *v->memory);
    v->memory->buffers = 1;
    v->at = 0;
    v->first = true;
    v->count = any(MOST_BYTES / 16);
    OK(make_memory(any_stream(), dtype, v->count, v->memory, &v->buffer));
    fill_at_random(v->memory->bytes, v->count * v->size);
    let_go_for(v);
    if (held) /* nothing that waits */
        OK(acu_buffer_write_async(v->buffer, 0, ACU_ANY, bytes_of(v), v->count, any_stream()));
    else
        OK(acu_buffer_write_typed(v->buffer, 0, ACU_ANY, bytes_of(v), v->count, any_stream()));
}

static void release(view *v) {
    if (v->memory->waits)
        let_go();
    OK(acu_buffer_release(v->buffer));
    v->buffer = NULL;
    if (--v->memory->buffers == 0) {
        free(v->memory->host);
        free(v->memory);
    }
}

static void slice(void) {
    view *from = any_view(), *v = free_view();
    if (!from || !v)
        return;
    const size_t at = any((unsigned)from->count + 1), count = any((unsigned)(from->count - at) + 1);
    *v = *from;
    v->first = false;
    OK(acu_buffer_slice(from->buffer, at, count, &v->buffer));
    v->at += at * v->size;
    v->count = count;
    v->memory->buffers++;
}

static void reinterpret(void) {
    view *from = any_view(), *v = free_view();
    size_t size;
    const acu_dtype dtype = any_type(&size);
    if (!from || !v)
        return;
    *v = *from;
    v->first = false;
    v->buffer = NULL;
    if (acu_buffer_reinterpret(from->buffer, dtype, &v->buffer)) { /* it does not fit */
        const size_t bytes = from->count * from->size;
        assert_true(bytes % size || (uintptr_t)acu_buffer_raw(from->buffer) % 8);
        assert_int_equal(acu_last_error(), ACU_ERROR_DTYPE);
        assert_null(v->buffer);
        return;
    }
    v->count = from->count * from->size / size;
    v->size = size;
    assert_int_equal(acu_buffer_count(v->buffer), v->count);
    v->memory->buffers++;
}

static void make_clone(void) {
    view *from = any_view(), *v = free_view();
    if (!from || !v)
        return;
    *v = *from;
    v->first = false;
    v->memory = calloc(1, sizeof *v->memory);
    v->memory->buffers = 1;
    v->memory->waits = true;
    v->at = 0;
    memcpy(v->memory->bytes, bytes_of(from), v->count * v->size);
    let_go_for(from);
    OK(acu_buffer_clone(from->buffer, any(3) ? any_stream() : NULL, &v->buffer));
}

static void resize(void) {
    view *v = any_view();
    if (!v || !v->memory->grows)
        return;
    const size_t capacity = acu_buffer_capacity(v->buffer);
    if (v->memory->buffers > 1 || !v->first) {
        let_go(); /* shrinking waits for uses, after which others may have let go of the memory */
        if (acu_buffer_shrink(v->buffer, 0) == 0 && v->count > 0)
            fail_msg("shrank a buffer whose memory others keep");
        return;
    }
    const size_t before = v->count, count = any((unsigned)capacity + 1);
    if (count >= before) {
        OK(acu_buffer_grow(v->buffer, count));
        fill_at_random(bytes_of(v) + before * v->size, (count - before) * v->size);
        OK(acu_buffer_write_async(v->buffer, before, ACU_ANY, bytes_of(v) + before * v->size,
                                  count - before, any_stream()));
    } else {
        let_go();
        OK(acu_buffer_shrink(v->buffer, count));
    }
    v->count = count;
}

/* ---- using ---- */

static void part_of(const view *v, size_t *at, size_t *count) {
    *at = any((unsigned)v->count + 1);
    *count = any((unsigned)(v->count - *at) + 1);
}

static void write_part(void) {
    view *v = any_view();
    unsigned char *mine = malloc(MOST_BYTES);
    size_t at, count;
    if (v) {
        let_go_for(v);
        part_of(v, &at, &count);
        fill_at_random(mine, count * v->size);
        memcpy(bytes_of(v) + at * v->size, mine, count * v->size);
        if (held || any(2))
            OK(acu_buffer_write_async(v->buffer, at, ACU_ANY, mine, count, any_stream()));
        else
            OK(acu_buffer_write_typed(v->buffer, at, ACU_ANY, mine, count, any_stream()));
    }
    memset(mine, 0xdd, MOST_BYTES);
    free(mine);
}

static void take(pending *p) {
    unsigned char back[MOST_BYTES];
    let_go();
    OK(acu_transfer_read_typed(p->transfer, 0, ACU_ANY, back, acu_transfer_count(p->transfer)));
    assert_int_equal(acu_transfer_bytes(p->transfer), p->bytes);
    assert_memory_equal(back, p->expected, p->bytes);
    OK(acu_transfer_release(p->transfer));
    p->transfer = NULL;
}

static void read_later(void) {
    const view *v = any_view();
    pending *p = &transfers[any(TRANSFERS)];
    size_t at, count;
    if (!v)
        return;
    if (p->transfer && any(3)) {
        take(p);
        return;
    }
    OK(acu_transfer_release(p->transfer));
    let_go_for(v);
    part_of(v, &at, &count);
    p->bytes = count * v->size;
    memcpy(p->expected, bytes_of(v) + at * v->size, p->bytes);
    OK(acu_buffer_read_async(v->buffer, at, count, &p->transfer, any_stream()));
}

static void read_now(const view *v) {
    unsigned char back[MOST_BYTES];
    size_t at, count;
    part_of(v, &at, &count);
    let_go();
    OK(acu_buffer_read_typed(v->buffer, at, ACU_ANY, back, count, any_stream()));
    assert_memory_equal(back, bytes_of(v) + at * v->size, count * v->size);
}

static view *fitting(const view *v) {
    for (int tries = 0; tries < 20; tries++) {
        view *other = any_view();
        if (other && acu_dtype_fits(acu_buffer_dtype(v->buffer), acu_buffer_dtype(other->buffer)))
            return other;
    }
    return NULL;
}

static void copy_part(void) {
    const view *to = any_view(), *from = to ? fitting(to) : NULL;
    size_t to_at, from_at, count, other;
    if (!from)
        return;
    part_of(to, &to_at, &count);
    part_of(from, &from_at, &other);
    count = other < count ? other : count;
    unsigned char *into = bytes_of(to) + to_at * to->size;
    const unsigned char *out = bytes_of(from) + from_at * from->size;
    const size_t bytes = count * to->size;
    let_go_for(from);
    let_go_for(to);
    const bool overlap = bytes > 0 && into < out + bytes && out < into + bytes;
    acu_result result =
        acu_buffer_copy_range(to->buffer, to_at, from->buffer, from_at, count, any_stream());
    if (result != (overlap ? ACU_ERROR_RANGE : 0))
        fail_msg("a copy is %d: %s", result, acu_last_error_message());
    if (!overlap)
        memmove(into, out, bytes);
}

/* Three dimensions at most; the destination is packed. */
static void copy_strided(void) {
    const view *to = any_view(), *from = to ? fitting(to) : NULL;
    if (!from || to->memory == from->memory)
        return;
    const size_t shape[3] = {any(5), any(5), any(6)}, total = shape[0] * shape[1] * shape[2];
    const int64_t steps[3] = {(int)any(41) - 20, (int)any(21) - 10, (int)any(5) - 2};
    const size_t from_at = any((unsigned)from->count + 1), to_at = any((unsigned)to->count + 1);
    int64_t low = (int64_t)from_at, high = low;
    for (int i = 0; i < 3 && total > 0; i++) {
        low += steps[i] < 0 ? steps[i] * ((int64_t)shape[i] - 1) : 0;
        high += steps[i] > 0 ? steps[i] * ((int64_t)shape[i] - 1) : 0;
    }
    let_go(); /* the first copy on a stream loads kernels, and CUDA may wait when it does */
    const bool fits =
        total == 0 || (low >= 0 && high < (int64_t)from->count && to_at + total <= to->count);
    const acu_strides strides = {
        .rank = 3, .shape = shape, .from = steps, .to_at = to_at, .from_at = from_at};
    acu_result result = acu_buffer_copy_strided(to->buffer, from->buffer, &strides, any_stream());
    if (fits != (result == 0))
        fail_msg("a copy, which %s, is %d: %s", fits ? "fits" : "does not fit", result,
                 acu_last_error_message());
    unsigned char *into = bytes_of(to) + to_at * to->size;
    for (size_t i = 0; i < shape[0] && fits; i++)
        for (size_t j = 0; j < shape[1]; j++)
            for (size_t k = 0; k < shape[2]; k++, into += to->size)
                memcpy(into,
                       bytes_of(from) + ((int64_t)from_at + (int64_t)i * steps[0] +
                                         (int64_t)j * steps[1] + (int64_t)k * steps[2]) *
                                            (int64_t)from->size,
                       to->size);
}

static void fill_all(void) {
    const view *v = any_view();
    unsigned char element[16];
    if (!v || acu_buffer_memory(v->buffer) == ACU_MEMORY_HOST)
        return;
    fill_at_random(element, sizeof element);
    if (any(3) == 0)
        memset(element, 0, sizeof element);
    for (size_t i = 0; i < v->count; i++)
        memcpy(bytes_of(v) + i * v->size, element, v->size);
    if (element[0] == 0 && any(2) && memcmp(element, (char[16]){0}, 16) == 0)
        OK(acu_buffer_zero(v->buffer, any_stream()));
    else
        OK(acu_buffer_fill_typed(v->buffer, ACU_ANY, element, any_stream()));
}

static void move(void) {
    const view *v = any_view();
    size_t left;
    if (v && any(2))
        OK(acu_buffer_set_stream(v->buffer, any_stream()));
    else if (v)
        OK(acu_buffer_forget_uses(v->buffer, &left));
}

static void change_streams(void) {
    if (held || any(3))
        return;
    acu_stream **stream = &streams[1 + any(STREAMS - 1)];
    OK(acu_stream_release(*stream));
    OK(acu_stream_create(0, NULL, stream));
}

static void hold(void) {
    if (held || any(2)) {
        let_go();
        return;
    }
    block_stream(&holder, streams[0]);
    held = true;
}

static void (*const steps[])(void) = {
    make,       make,       slice,      reinterpret,  make_clone, resize,        write_part,
    write_part, read_later, read_later, copy_part,    copy_part,  copy_strided,  fill_all,
    move,       hold,       fill_all,   copy_strided, resize,     change_streams};

static void try_with(unsigned seed) {
    chance_begins(seed);
    held = false;
    for (int i = 0; i < STREAMS; i++)
        OK(acu_stream_create(0, NULL, &streams[i]));
    for (int i = 0; i < STEPS; i++) {
        acu_clear_error();
        steps[any(COUNT(steps))]();
        view *v = any_view();
        if (v && any(8) == 0)
            read_now(v);
        if (v && any(12) == 0)
            release(v);
    }
    let_go();
    for (int i = 0; i < TRANSFERS; i++)
        if (transfers[i].transfer)
            take(&transfers[i]);
    for (int i = 0; i < BUFFERS; i++)
        if (views[i].buffer) {
            read_now(&views[i]);
            release(&views[i]);
        }
    for (int i = 0; i < STREAMS; i++)
        OK(acu_stream_release(streams[i]));
    OK(acu_device_synchronize(0));
    assert_int_equal(acu_sim_leaks(1), 0);
}

static void buffers_hold_what_plain_memory_would(void **state) {
    (void)state;
    try_seeds(SEEDS, try_with);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(buffers_hold_what_plain_memory_would)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
