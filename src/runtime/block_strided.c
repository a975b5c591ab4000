/* Blocks: copies of elements that lie apart. */
#include "runtime/backend.h"
#include "runtime/work.h"

#include <stdlib.h>

typedef struct strided_work {
    acu_work work;
    acu_block_use uses[2];       /* the destination, the source */
    acu_backend_strided strided; /* without its pointers, which perform() sets */
    uint64_t shape[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
} strided_work;

/* ---- the layout ---- */

/* Computes steps in bytes: those of a dense layout where none are given. Returns false where a
 * number is too large. */
static bool steps_of(const acu_strides *s, size_t element_bytes, const int64_t *given,
                     int64_t steps[ACU_MAX_RANK]) {
    int64_t dense = (int64_t)element_bytes;
    for (unsigned i = s->rank; i-- > 0;) {
        steps[i] = dense;
        if (given && __builtin_mul_overflow(given[i], (int64_t)element_bytes, &steps[i]))
            return false;
        if (s->shape[i] > INT64_MAX || __builtin_mul_overflow(dense, (int64_t)s->shape[i], &dense))
            return false;
    }
    return true;
}

/* The bytes from the first to behind the last that the elements have in a block. */
typedef struct span {
    int64_t low, high;
} span;

/* Computes the span of elements of which the first is at `at`; false where a number is too large.
 */
static bool span_of(const acu_backend_strided *s, const uint64_t *shape, const int64_t *steps,
                    uint64_t at, span *out) {
    if (at > INT64_MAX)
        return false;
    *out = (span){(int64_t)at, (int64_t)at};
    for (unsigned i = 0; i < s->rank; i++) {
        int64_t reach;
        int64_t *end = steps[i] < 0 ? &out->low : &out->high;
        if (__builtin_mul_overflow(steps[i], (int64_t)(shape[i] - 1), &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return !__builtin_add_overflow(out->high, (int64_t)s->element_bytes, &out->high);
}

/* Returns whether a dimension and the one within it are one run of elements. */
static bool is_run(int64_t outer, int64_t inner, uint64_t count) {
    int64_t run;
    return count <= INT64_MAX && !__builtin_mul_overflow(inner, (int64_t)count, &run) &&
           run == outer;
}

/* Drops dimensions of one element, and joins those that are one run in both layouts. */
static void simplify(strided_work *w) {
    unsigned rank = 0;
    for (unsigned i = 0; i < w->strided.rank; i++) {
        if (w->shape[i] == 1)
            continue;
        const bool joins = rank > 0 && is_run(w->to[rank - 1], w->to[i], w->shape[i]) &&
                           is_run(w->from[rank - 1], w->from[i], w->shape[i]);
        rank -= joins;
        w->shape[rank] = joins ? w->shape[rank] * w->shape[i] : w->shape[i];
        w->to[rank] = w->to[i];
        w->from[rank] = w->from[i];
        rank++;
    }
    if (rank == 0) {
        w->shape[0] = 1;
        w->to[0] = w->from[0] = (int64_t)w->strided.element_bytes;
        rank = 1;
    }
    w->strided.rank = rank;
}

/* ---- doing it ---- */

/* Returns whether the elements are one run of bytes in both blocks. */
static bool is_plain(const strided_work *w) {
    const int64_t element = (int64_t)w->strided.element_bytes;
    return w->strided.rank == 1 && w->to[0] == element && w->from[0] == element;
}

/* A copy through the host, while it is made. */
typedef struct detour {
    acu_client *client;
    const strided_work *work;
    acu_backend_strided s; /* of the dimensions that are copied at once */
} detour;

/* Copies elements between two buffers on the host. */
static void sort(const acu_backend_strided *s, unsigned dimension, char *to, const char *from) {
    if (dimension == s->rank) {
        memcpy(to, from, s->element_bytes);
        return;
    }
    for (uint64_t i = 0; i < s->shape[dimension]; i++) {
        sort(s, dimension + 1, to, from);
        to += s->to[dimension];
        from += s->from[dimension];
    }
}

/* Reads both spans, sorts the elements, and writes the destination's span back. */
static acu_result copy_at_once(const detour *d, const span *to_span, const span *from_span) {
    const acu_backend *table = d->client->table;
    acu_backend_queue *queue = d->client->queue;
    acu_backend_memory *to = d->work->uses[0].block->memory, *from = d->work->uses[1].block->memory;
    const size_t to_bytes = (size_t)(to_span->high - to_span->low);
    const size_t from_bytes = (size_t)(from_span->high - from_span->low);
    char *host_to = malloc(to_bytes), *host_from = malloc(from_bytes);
    acu_result code =
        host_to && host_from
            ? ACU_SUCCESS
            : acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory to copy through");
    if (!code)
        code = table->read(queue, from, (uint64_t)from_span->low, host_from, from_bytes);
    if (!code)
        code = table->read(queue, to, (uint64_t)to_span->low, host_to, to_bytes);
    if (!code) {
        sort(&d->s, 0, host_to + ((int64_t)d->s.to_at - to_span->low),
             host_from + ((int64_t)d->s.from_at - from_span->low));
        code = table->write(queue, to, (uint64_t)to_span->low, host_to, to_bytes);
    }
    free(host_to);
    free(host_from);
    return code;
}

/* Copies through the host: all at once if the spans are not too large, else along the outermost
 * dimension. */
static acu_result copy_by_host(const detour *d) {
    enum { MOST = 64 * 1024 * 1024 };
    span to, from;
    const acu_backend_strided *s = &d->s;
    if (!span_of(s, s->shape, s->to, s->to_at, &to) ||
        !span_of(s, s->shape, s->from, s->from_at, &from))
        return acu_backend_fail(ACU_ERROR_OVERFLOW, "the shape cannot be addressed");
    if (s->rank == 0 || (to.high - to.low <= MOST && from.high - from.low <= MOST))
        return copy_at_once(d, &to, &from);
    acu_result code = ACU_SUCCESS;
    detour inner = *d;
    inner.s.rank--;
    inner.s.shape++;
    inner.s.to++;
    inner.s.from++;
    for (uint64_t i = 0; !code && i < s->shape[0]; i++) {
        inner.s.to_at =
            s->to_at + i * (uint64_t)s->to[0]; /* modulo 2^64, so that signs are right */
        inner.s.from_at = s->from_at + i * (uint64_t)s->from[0];
        code = copy_by_host(&inner);
    }
    return code;
}

static acu_result perform_strided(acu_client *client, const acu_work *work) {
    const strided_work *w = (const strided_work *)work;
    const acu_backend *table = client->table;
    acu_backend_strided s = w->strided;
    s.shape = w->shape;
    s.to = w->to;
    s.from = w->from;
    acu_backend_memory *to = w->uses[0].block->memory, *from = w->uses[1].block->memory;
    if (is_plain(w))
        return table->copy(client->queue, to, s.to_at, from, s.from_at,
                           s.element_bytes * w->shape[0]);
    acu_result code = ACU_NOT_SUPPORTED;
    if (table->copy_strided && s.rank <= client->device->info.max_rank)
        code = table->copy_strided(client->queue, to, from, &s);
    if (code != ACU_NOT_SUPPORTED)
        return code;
    if (client->capturing)
        return acu_backend_fail(code, "a strided copy of this shape goes through the host");
    const detour d = {client, w, s};
    return copy_by_host(&d);
}

/* A failure that the host's detour has overcome leaves no error behind. */
static acu_result perform(acu_client *client, const acu_work *work) {
    acu_saved_record before;
    acu_record_save(&before);
    acu_result code = perform_strided(client, work);
    if (!code)
        acu_record_restore(&before);
    return code;
}

static acu_work *keep(const acu_work *work) {
    return acu_work_copy(work, sizeof(strided_work));
}

static const acu_work_kind strided_kind = {
    .call = "acu_block_copy_strided", .perform = perform, .keep = keep, .apart = true};

/* ---- checking ---- */

#define FAIL(code, ...)                                                                            \
    acu_client_fail("acu_block_copy_strided", client, w->uses[0].block, (code), __VA_ARGS__)

static acu_result overflow(acu_client *client, const strided_work *w) {
    return FAIL(ACU_ERROR_OVERFLOW,
                "the shape, its steps and its first positions go beyond what can be addressed");
}

/* Checks that all elements lie in their block. */
static acu_result check_range(acu_client *client, strided_work *w, unsigned which,
                              const int64_t *steps, uint64_t at) {
    const acu_block *block = w->uses[which].block;
    span all;
    if (!span_of(&w->strided, w->shape, steps, at, &all))
        return overflow(client, w);
    if (all.low >= 0 && (uint64_t)all.high <= block->bytes)
        return ACU_SUCCESS;
    return acu_client_fail("acu_block_copy_strided", client, block, ACU_ERROR_RANGE,
                           "elements at %lld to %lld are not inside of the block",
                           (long long)all.low, (long long)all.high);
}

/* Returns whether the shape has no element; else all extents are at least 1. */
static bool is_empty(const acu_strides *s) {
    for (unsigned i = 0; i < s->rank; i++)
        if (s->shape[i] == 0)
            return true;
    return false;
}

static acu_result check_strides(acu_client *client, const strided_work *w, size_t element_bytes,
                                const acu_strides *s) {
    if (!s)
        return FAIL(ACU_ERROR_ARGUMENT, "'strides' is NULL");
    if (element_bytes == 0)
        return FAIL(ACU_ERROR_ARGUMENT, "an element has at least 1 byte");
    if (s->rank > ACU_MAX_RANK)
        return FAIL(ACU_ERROR_ARGUMENT, "the rank is %u, and at most %d", s->rank, ACU_MAX_RANK);
    if (s->rank && !s->shape)
        return FAIL(ACU_ERROR_ARGUMENT, "the shape is NULL");
    for (unsigned i = 0; i < s->rank; i++)
        if (s->to && s->to[i] == 0 && s->shape[i] > 1 && !is_empty(s))
            return FAIL(ACU_ERROR_ARGUMENT,
                        "the destination's step in dimension %u is 0, so that %zu elements would "
                        "go to one place",
                        i, s->shape[i]);
    return ACU_SUCCESS;
}

/* Makes work of checked strides that are not empty. */
static acu_result prepare(acu_client *client, strided_work *w, const acu_strides *s) {
    const size_t element_bytes = w->strided.element_bytes;
    for (unsigned i = 0; i < s->rank; i++)
        w->shape[i] = s->shape[i];
    w->strided.rank = s->rank;
    if (element_bytes > INT64_MAX || !steps_of(s, element_bytes, s->to, w->to) ||
        !steps_of(s, element_bytes, s->from, w->from) ||
        __builtin_mul_overflow((uint64_t)s->to_at, element_bytes, &w->strided.to_at) ||
        __builtin_mul_overflow((uint64_t)s->from_at, element_bytes, &w->strided.from_at))
        return overflow(client, w);
    ACU_TRY(check_range(client, w, 0, w->to, w->strided.to_at));
    ACU_TRY(check_range(client, w, 1, w->from, w->strided.from_at));
    w->strided.to_size = w->uses[0].block->bytes;
    w->strided.from_size = w->uses[1].block->bytes;
    simplify(w);
    return ACU_SUCCESS;
}

acu_result acu_block_copy_strided(acu_client *client, acu_block *to, acu_block *from,
                                  size_t element_bytes, const acu_strides *strides) {
    ACU_NEED_HANDLE(client, acu_client_class);
    ACU_NEED_HANDLE(to, acu_block_class);
    ACU_NEED_HANDLE(from, acu_block_class);
    strided_work w = {.work = {&strided_kind, w.uses, 2, NULL},
                      .uses = {{to, NULL, true}, {from, NULL, false}},
                      .strided.element_bytes = element_bytes};
    ACU_TRY(acu_block_check(__func__, client, to, 0, 0));
    ACU_TRY(acu_block_check(__func__, client, from, 0, 0));
    ACU_TRY(check_strides(client, &w, element_bytes, strides));
    if (is_empty(strides))
        return ACU_SUCCESS;
    ACU_TRY(prepare(client, &w, strides));
    return acu_work_give(client, &w.work);
}
