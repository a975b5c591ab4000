/* What is done with the bytes of buffers: copies, strided copies, fills, and where managed memory
 * is. */
#include <anycuda/buffer.h>

#include "safe/base/event.h"
#include "safe/memory/storage.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

static_assert((int)ACU_ADVISE_SET_READ_MOSTLY == (int)cudaMemAdviseSetReadMostly, "");
static_assert((int)ACU_ADVISE_UNSET_ACCESSED_BY == (int)cudaMemAdviseUnsetAccessedBy, "");

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))
#define NEED_BUFFER(buffer)   ACU_NEED((buffer), acu_buffer_class)

/* ---- one copy ----------------------------------------------------------------------------------
 */

bool acu_buffer_is_host_memory(const acu_buffer *buffer) {
    acu_memory memory = buffer->storage->memory;
    return memory == ACU_MEMORY_PINNED || memory == ACU_MEMORY_REGISTERED;
}

bool acu_buffer_is_device_memory(const acu_buffer *buffer) {
    acu_memory memory = buffer->storage->memory;
    return memory == ACU_MEMORY_POOL || memory == ACU_MEMORY_DEVICE || memory == ACU_MEMORY_GRAPH;
}

/* What it must know besides its data: checks made, it runs between begin and end of the uses. */
typedef struct copy_job {
    acu_buffer *to, *from; /* either is NULL: the host */
    acu_stream *on;
    bool unordered; /* `from` need not be waited for */
    int (*run)(const struct copy_job *job, const void *data);
    const void *data;
} copy_job;

static int end_uses(const copy_job *job, uint64_t to, uint64_t from) {
    int first = job->to ? acu_storage_end_use(job->to->storage, job->on, true, to) : 0;
    bool both = job->from && (!job->to || job->from->storage != job->to->storage);
    int second = both ? acu_storage_end_use(job->from->storage, job->on, false, from) : 0;
    return first ? first : second;
}

/* What CUDA does not say: the stream's device cannot reach the memory. */
ACU_COLD static void advise(const copy_job *job) {
    const acu_buffer *both[] = {job->to, job->from};
    const acu_device there = job->on->object.device;
    for (size_t i = 0; i < 2; i++)
        if (both[i] && !acu_buffer_is_host_memory(both[i]) && both[i]->object.device != there)
            acu_fail_hint(
                "the memory is on device %d, the stream on device %d: use a stream of the "
                "memory's device, or let the other one access it (acu_pool_set_access())",
                both[i]->object.device, there);
}

/* A copy within one memory is one use, a write. */
static int run_job(const copy_job *job) {
    acu_guard guard;
    uint64_t to = 0, from = 0;
    int code = job->to ? acu_storage_begin_use(job->to->storage, job->on, true, &to) : 0;
    bool both = job->from && (!job->to || job->from->storage != job->to->storage);
    if (!code && both && !job->unordered) {
        code = acu_storage_begin_use(job->from->storage, job->on, false, &from);
        if (code && job->to)
            (void)acu_storage_end_use(job->to->storage, job->on, true, to);
    }
    if (code)
        return code;
    code = acu_guard_enter(&guard, job->on->object.device); /* others cannot reach its pools */
    if (!code)
        code = job->run(job, job->data);
    if (code == cudaErrorInvalidValue)
        advise(job);
    acu_guard_leave(&guard);
    int ended = end_uses(job, to, from);
    return code ? code : ended;
}

typedef struct plain_copy {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
    int to_device, from_device; /* named where they differ */
} plain_copy;

static int copy_plain(const copy_job *job, const void *data) {
    const plain_copy *copy = data;
    if (copy->to_device != copy->from_device) /* a pool's memory is its own device's only */
        return (int)cudaMemcpyPeerAsync(copy->to, copy->to_device, copy->from, copy->from_device,
                                        copy->bytes, job->on->raw);
    return (int)cudaMemcpyAsync(copy->to, copy->from, copy->bytes, copy->kind, job->on->raw);
}

/* Copies that end in or begin at memory of which we only know the address end before we return. */
static int copy_and_wait(const copy_job *job) {
    int code = acu_stream_check_wait(job->on);
    if (!code)
        code = run_job(job);
    if (code)
        return code;
    code = (int)cudaStreamSynchronize(job->on->raw);
    if (code) /* the copy may be under way still: the memory must not go before it is over */
        (void)cudaStreamSynchronize(job->on->raw);
    return code;
}

ACU_COLD static int refuse_type(const char *call, const acu_buffer *buffer, const char *what,
                                const char *other, acu_dtype dtype) {
    acu_fail_on(call, buffer, ACU_ERROR_DTYPE, "%s holds %s, %s %s", what,
                acu_dtype_name(buffer->dtype), other, acu_dtype_name(dtype));
    acu_fail_hint("acu_buffer_reinterpret() gives the same memory another type");
    return ACU_ERROR_DTYPE;
}

int acu_buffer_check_host_copy(const char *call, const acu_buffer *buffer, size_t at,
                               acu_dtype dtype, const void *host, size_t count) {
    if (!acu_is(buffer, &acu_buffer_class))
        return acu_object_refuse(call, buffer, &acu_buffer_class);
    if (!host && count > 0)
        return acu_fail(call, "", ACU_ERROR_ARGUMENT, "'host' is NULL");
    if (!acu_dtype_fits(buffer->dtype, dtype))
        return refuse_type(call, buffer, "the buffer", "the host", dtype);
    ACU_TRY(acu_buffer_check_range(call, buffer, at, count));
    return 0;
}

static int check_host_copy(const char *call, acu_buffer *buffer, size_t at, acu_dtype dtype,
                           const void *host, size_t count, acu_stream **on) {
    int code = acu_buffer_check_host_copy(call, buffer, at, dtype, host, count);
    return code ? code : acu_buffer_choose_stream(call, buffer, on);
}

acu_result acu_buffer_write_typed(acu_buffer *buffer, size_t at, acu_dtype dtype, const void *host,
                                  size_t count, acu_stream *on) {
    ACU_TRY(check_host_copy(__func__, buffer, at, dtype, host, count, &on));
    if (count == 0)
        return 0;
    size_t size = acu_dtype_size(buffer->dtype);
    plain_copy copy = {.to = buffer->pointer + at * size, .from = host, .bytes = count * size};
    copy.kind = acu_buffer_is_host_memory(buffer) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    copy_job job = {.to = buffer, .on = on, .run = copy_plain, .data = &copy};
    return OUTCOME(buffer, copy_and_wait(&job));
}

static int read_job(acu_buffer *buffer, size_t at, void *host, size_t count, acu_stream *on,
                    bool unordered) {
    size_t size = acu_dtype_size(buffer->dtype);
    plain_copy copy = {.to = host, .from = buffer->pointer + at * size, .bytes = count * size};
    copy.kind = acu_buffer_is_host_memory(buffer) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    copy_job job = {
        .from = buffer, .on = on, .unordered = unordered, .run = copy_plain, .data = &copy};
    return copy_and_wait(&job);
}

acu_result acu_buffer_read_typed(acu_buffer *buffer, size_t at, acu_dtype dtype, void *host,
                                 size_t count, acu_stream *on) {
    ACU_TRY(check_host_copy(__func__, buffer, at, dtype, host, count, &on));
    return count == 0 ? 0 : OUTCOME(buffer, read_job(buffer, at, host, count, on, false));
}

acu_result acu_buffer_read_after(acu_buffer *buffer, acu_event *event, size_t at, acu_dtype dtype,
                                 void *host, size_t count, acu_stream *on) {
    ACU_NEED(event, acu_event_class);
    ACU_TRY(check_host_copy(__func__, buffer, at, dtype, host, count, &on));
    int code = acu_stream_check_wait(on);
    if (!code)
        code = (int)cudaStreamWaitEvent(on->raw, event->raw, 0);
    if (!code && count > 0)
        code = read_job(buffer, at, host, count, on, true);
    return OUTCOME(buffer, code);
}

static int check_two(const char *call, const acu_buffer *to, const acu_buffer *from) {
    if (!acu_is(to, &acu_buffer_class))
        return acu_object_refuse(call, to, &acu_buffer_class);
    if (!acu_is(from, &acu_buffer_class))
        return acu_object_refuse(call, from, &acu_buffer_class);
    if (!acu_dtype_fits(to->dtype, from->dtype))
        return refuse_type(call, to, "the destination", "the source", from->dtype);
    return 0;
}

enum cudaMemcpyKind acu_buffer_copy_kind(const acu_buffer *to, const acu_buffer *from) {
    if (to->object.device != from->object.device) /* the addresses tell whose they are */
        return cudaMemcpyDefault;
    if (acu_buffer_is_host_memory(to))
        return acu_buffer_is_host_memory(from) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    return acu_buffer_is_host_memory(from) ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

bool acu_buffer_copy_is_peer(const acu_buffer *to, const acu_buffer *from) {
    return to->object.device != from->object.device && acu_buffer_is_device_memory(to) &&
           acu_buffer_is_device_memory(from);
}

int acu_buffer_check_copy(const char *call, const acu_buffer *to, size_t to_at,
                          const acu_buffer *from, size_t from_at, size_t count) {
    int code = check_two(call, to, from);
    if (code)
        return code;
    ACU_TRY(acu_buffer_check_range(call, to, to_at, count));
    ACU_TRY(acu_buffer_check_range(call, from, from_at, count));
    size_t size = acu_dtype_size(to->dtype), bytes = count * size;
    if (to->storage == from->storage && bytes > 0) {
        uintptr_t a = (uintptr_t)(to->pointer + to_at * size),
                  b = (uintptr_t)(from->pointer + from_at * size);
        if (a < b + bytes && b < a + bytes)
            return acu_fail_on(call, to, ACU_ERROR_RANGE, "the two parts overlap");
    }
    return 0;
}

static int copy_range(const char *call, acu_buffer *to, size_t to_at, acu_buffer *from,
                      size_t from_at, size_t count, acu_stream *on) {
    int code = acu_buffer_check_copy(call, to, to_at, from, from_at, count);
    if (!code)
        code = acu_buffer_choose_stream(call, to, &on);
    if (code)
        return code;
    size_t size = acu_dtype_size(to->dtype);
    plain_copy copy = {.to = to->pointer + to_at * size,
                       .from = from->pointer + from_at * size,
                       .bytes = count * size,
                       .kind = acu_buffer_copy_kind(to, from)};
    if (acu_buffer_copy_is_peer(to, from)) {
        copy.to_device = to->object.device;
        copy.from_device = from->object.device;
    }
    copy_job job = {.to = to, .from = from, .on = on, .run = copy_plain, .data = &copy};
    return count == 0 ? 0 : acu_outcome(call, to, run_job(&job));
}

acu_result acu_buffer_copy_range(acu_buffer *to, size_t to_at, acu_buffer *from, size_t from_at,
                                 size_t count, acu_stream *on) {
    return copy_range(__func__, to, to_at, from, from_at, count, on);
}

acu_result acu_buffer_copy(acu_buffer *to, acu_buffer *from, acu_stream *on) {
    NEED_BUFFER(to);
    NEED_BUFFER(from);
    ACU_REQUIRE_OF(to, to->count == from->count, ACU_ERROR_RANGE,
                   "the destination has %zu elements, the source %zu", to->count, from->count);
    return copy_range(__func__, to, 0, from, 0, to->count, on);
}

/* ---- strided copies ----------------------------------------------------------------------------
 */

/* The dimensions after simplification, in bytes; the innermost is last and `width` bytes wide. */
typedef struct strided_copy {
    int to_device, from_device; /* named where they differ */
    unsigned rank;
    size_t shape[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
    char *to_at;
    const char *from_at;
    size_t width;
    enum cudaMemcpyKind kind;
} strided_copy;

/* Steps of a dense layout where none are given. */
static bool steps_of(const acu_strides *s, const int64_t *given, int64_t steps[ACU_MAX_RANK]) {
    int64_t dense = 1;
    for (unsigned i = s->rank; i-- > 0;) {
        steps[i] = given ? given[i] : dense;
        if (s->shape[i] > PTRDIFF_MAX ||
            __builtin_mul_overflow(dense, (int64_t)s->shape[i], &dense))
            return false;
    }
    return true;
}

/* Whether all elements lie in the buffer: the lowest and the highest do. */
static bool is_within(const acu_buffer *buffer, size_t at, const acu_strides *s,
                      const int64_t *steps) {
    int64_t low, high;
    if (at >= buffer->count)
        return false;
    low = high = (int64_t)at;
    for (unsigned i = 0; i < s->rank; i++) {
        int64_t reach;
        int64_t *end = steps[i] < 0 ? &low : &high;
        if (__builtin_mul_overflow(steps[i], (int64_t)(s->shape[i] - 1), &reach) ||
            __builtin_add_overflow(*end, reach, end))
            return false;
    }
    return low >= 0 && (uint64_t)high < buffer->count;
}

/* Joins dimensions that are one run in both layouts. */
static void add_dimension(strided_copy *c, size_t count, int64_t to, int64_t from) {
    unsigned last = c->rank - 1; /* outer ones come first */
    if (c->rank > 0 && c->to[last] == to * (int64_t)count &&
        c->from[last] == from * (int64_t)count) {
        c->shape[last] *= count;
        c->to[last] = to;
        c->from[last] = from;
        return;
    }
    c->shape[c->rank] = count;
    c->to[c->rank] = to;
    c->from[c->rank++] = from;
}

/* An innermost dimension without gaps is one run of bytes. */
static void widen(strided_copy *c) {
    unsigned last = c->rank - 1;
    if (c->rank == 0 || c->to[last] != (int64_t)c->width || c->from[last] != (int64_t)c->width)
        return;
    c->width *= c->shape[last];
    c->rank--;
}

static bool is_pitch(int64_t step, size_t width) {
    return step >= (int64_t)width && step <= INT_MAX;
}

/* Rows of a copy. */
typedef struct rows {
    char *to;
    const char *from;
    size_t to_pitch, from_pitch, width, height;
} rows;

/* Between devices it is the call with three dimensions that names them. */
static int copy_rows(const strided_copy *c, const rows *r, cudaStream_t on) {
    if (ACU_LIKELY(c->to_device == c->from_device))
        return (int)cudaMemcpy2DAsync(r->to, r->to_pitch, r->from, r->from_pitch, r->width,
                                      r->height, c->kind, on);
    const struct cudaMemcpy3DPeerParms params = {
        .srcPtr = {(void *)r->from, r->from_pitch, r->from_pitch, r->height},
        .srcDevice = c->from_device,
        .dstPtr = {r->to, r->to_pitch, r->to_pitch, r->height},
        .dstDevice = c->to_device,
        .extent = {r->width, r->height, 1}};
    return (int)cudaMemcpy3DPeerAsync(&params, on);
}

/* One 2D copy takes the innermost dimension where its steps are pitches; others are walked through.
 */
static int copy_strided(const copy_job *job, const void *data) {
    const strided_copy *c = data;
    unsigned walked = c->rank, i;
    size_t index[ACU_MAX_RANK] = {0};
    rows at = {c->to_at, c->from_at, c->width, c->width, c->width, 1};
    if (c->rank > 0 && is_pitch(c->to[c->rank - 1], c->width) &&
        is_pitch(c->from[c->rank - 1], c->width)) {
        walked--;
        at.height = c->shape[walked];
        at.to_pitch = (size_t)c->to[walked];
        at.from_pitch = (size_t)c->from[walked];
    }
    for (;;) {
        int code = copy_rows(c, &at, job->on->raw);
        if (code)
            return code;
        for (i = walked; i > 0; i--) { /* the next index, like an odometer */
            at.to += c->to[i - 1];
            at.from += c->from[i - 1];
            if (++index[i - 1] < c->shape[i - 1])
                break;
            at.to -= c->to[i - 1] * (int64_t)c->shape[i - 1];
            at.from -= c->from[i - 1] * (int64_t)c->shape[i - 1];
            index[i - 1] = 0;
        }
        if (i == 0)
            return 0;
    }
}

static bool is_empty(const acu_strides *s) {
    for (unsigned i = 0; i < s->rank; i++)
        if (s->shape[i] == 0)
            return true;
    return false;
}

static int check_strides(const char *call, const acu_buffer *to, const acu_buffer *from,
                         const acu_strides *s, int64_t *to_steps, int64_t *from_steps) {
    if (!s || s->rank > ACU_MAX_RANK || (s->rank > 0 && !s->shape))
        return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                        "'strides' has no shape of up to %d dimensions", ACU_MAX_RANK);
    if (!steps_of(s, s->to, to_steps) || !steps_of(s, s->from, from_steps))
        return acu_fail(call, "", ACU_ERROR_OVERFLOW, "the shape has too many elements");
    if (is_empty(s))
        return 0;
    for (unsigned i = 0; i < s->rank; i++)
        if (to_steps[i] == 0 && s->shape[i] > 1)
            return acu_fail(call, "", ACU_ERROR_ARGUMENT,
                            "a step of 0 would write one element many times");
    if (!is_within(to, s->to_at, s, to_steps))
        return acu_fail_on(call, to, ACU_ERROR_RANGE, "elements lie outside of the destination");
    if (!is_within(from, s->from_at, s, from_steps))
        return acu_fail_on(call, from, ACU_ERROR_RANGE, "elements lie outside of the source");
    return 0;
}

acu_result acu_buffer_copy_strided(acu_buffer *to, acu_buffer *from, const acu_strides *strides,
                                   acu_stream *on) {
    int64_t to_steps[ACU_MAX_RANK] = {0}, from_steps[ACU_MAX_RANK] = {0};
    ACU_TRY(check_two(__func__, to, from));
    ACU_TRY(acu_buffer_choose_stream(__func__, to, &on));
    ACU_TRY(check_strides(__func__, to, from, strides, to_steps, from_steps));
    if (is_empty(strides))
        return 0;
    size_t size = acu_dtype_size(to->dtype);
    strided_copy copy = {.to_at = to->pointer + strides->to_at * size,
                         .from_at = from->pointer + strides->from_at * size,
                         .width = size,
                         .kind = acu_buffer_copy_kind(to, from)};
    if (acu_buffer_copy_is_peer(to, from)) {
        copy.to_device = to->object.device;
        copy.from_device = from->object.device;
    }
    for (unsigned i = 0; i < strides->rank; i++)
        if (strides->shape[i] > 1) /* of one element the steps are any, also huge ones */
            add_dimension(&copy, strides->shape[i], to_steps[i] * (int64_t)size,
                          from_steps[i] * (int64_t)size);
    widen(&copy);
    copy_job job = {.to = to, .from = from, .on = on, .run = copy_strided, .data = &copy};
    return OUTCOME(to, run_job(&job));
}

/* ---- filling -----------------------------------------------------------------------------------
 */

typedef struct fill {
    char *at;
    size_t count, size;
    const unsigned char *bytes; /* of the element */
} fill;

static bool all_equal(const unsigned char *bytes, size_t size) {
    return memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* CUresults: the driver, unlike the runtime, makes no context current. */
enum { NO_CONTEXT = 201, OTHER_CONTEXT = 400 };

/*
 * The driver sets 16 and 32 bits at once, where they are aligned; the runtime has no name for it,
 * but finds it. A thread that calls CUDA for the first time has no context, and before 12.0 that of
 * the device that was current before: there it is left to the runtime.
 */
static bool fill_words(const fill *f, cudaStream_t on, int *code) {
    const char *symbol = f->size == 2 ? "cuMemsetD16Async" : "cuMemsetD32Async";
    void *found = NULL;
    acu_saved_record before;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    if ((f->size != 2 && f->size != 4) || (uintptr_t)f->at % f->size != 0)
        return false;
    acu_record_save(&before);
    if (cudaGetDriverEntryPoint(symbol, &found, cudaEnableDefault, &status))
        (void)cudaGetLastError();
    acu_record_restore(&before);
    if (!found || status != cudaDriverEntryPointSuccess)
        return false;
    if (f->size == 2) {
        uint16_t value;
        int (*set)(uintptr_t, uint16_t, size_t, cudaStream_t);
        memcpy(&value, f->bytes, sizeof value);
        memcpy(&set, &found, sizeof set);
        *code = set((uintptr_t)f->at, value, f->count, on);
    } else {
        uint32_t value;
        int (*set)(uintptr_t, uint32_t, size_t, cudaStream_t);
        memcpy(&value, f->bytes, sizeof value);
        memcpy(&set, &found, sizeof set);
        *code = set((uintptr_t)f->at, value, f->count, on);
    }
    if (*code == NO_CONTEXT || *code == OTHER_CONTEXT)
        return false;
    if (*code)
        *code = acu_record(cudaErrorInvalidValue, "%s failed with %d", symbol, *code);
    return true;
}

/* Each byte of the element is a column. */
static int fill_columns(const fill *f, cudaStream_t on) {
    for (size_t i = 0; i < f->size; i++) {
        int code = (int)cudaMemset2DAsync(f->at + i, f->size, f->bytes[i], 1, f->count, on);
        if (code)
            return code;
    }
    return 0;
}

static int run_fill(const copy_job *job, const void *data) {
    const fill *f = data;
    int code = 0;
    if (all_equal(f->bytes, f->size))
        return (int)cudaMemsetAsync(f->at, f->bytes[0], f->count * f->size, job->on->raw);
    return fill_words(f, job->on->raw, &code) ? code : fill_columns(f, job->on->raw);
}

acu_result acu_buffer_fill_typed(acu_buffer *buffer, acu_dtype dtype, const void *element,
                                 acu_stream *on) {
    ACU_NEED_POINTER(element);
    ACU_TRY(check_host_copy(__func__, buffer, 0, dtype, element, 0, &on));
    ACU_REQUIRE_OF(buffer, buffer->object.device == on->object.device, ACU_ERROR_DEVICE,
                   "the buffer belongs to device %d, the stream to device %d",
                   buffer->object.device, on->object.device);
    fill what = {.at = buffer->pointer,
                 .count = buffer->count,
                 .size = acu_dtype_size(buffer->dtype),
                 .bytes = element};
    copy_job job = {.to = buffer, .on = on, .run = run_fill, .data = &what};
    return buffer->count == 0 ? 0 : OUTCOME(buffer, run_job(&job));
}

acu_result acu_buffer_zero(acu_buffer *buffer, acu_stream *on) {
    static const unsigned char zero;
    ACU_TRY(check_host_copy(__func__, buffer, 0, ACU_ANY, NULL, 0, &on));
    ACU_REQUIRE_OF(buffer, buffer->object.device == on->object.device, ACU_ERROR_DEVICE,
                   "the buffer belongs to device %d, the stream to device %d",
                   buffer->object.device, on->object.device);
    fill what = {
        .at = buffer->pointer, .count = acu_buffer_bytes(buffer), .size = 1, .bytes = &zero};
    copy_job job = {.to = buffer, .on = on, .run = run_fill, .data = &what};
    return what.count == 0 ? 0 : OUTCOME(buffer, run_job(&job));
}

/* ---- managed memory ----------------------------------------------------------------------------
 */

static int location_of(const char *call, acu_device device, struct cudaMemLocation *location) {
    *location = (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    if (device == ACU_DEVICE_HOST)
        return 0;
    int code = acu_device_resolve(call, &device);
    *location = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
    return code;
}

static int run_prefetch(const copy_job *job, const void *data) {
    return (int)cudaMemPrefetchAsync(job->to->pointer, acu_buffer_bytes(job->to),
                                     *(const struct cudaMemLocation *)data, 0, job->on->raw);
}

acu_result acu_buffer_prefetch(acu_buffer *buffer, acu_device where, acu_stream *on) {
    struct cudaMemLocation location;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    ACU_REQUIRE_OF(buffer, buffer->storage->memory == ACU_MEMORY_MANAGED, ACU_ERROR_MEMORY_KIND,
                   "only managed memory moves");
    ACU_TRY(location_of(__func__, where, &location));
    copy_job job = {.to = buffer, .on = on, .run = run_prefetch, .data = &location};
    return buffer->count == 0 ? 0 : OUTCOME(buffer, run_job(&job));
}

acu_result acu_buffer_advise(acu_buffer *buffer, acu_advise advice, acu_device device) {
    struct cudaMemLocation location;
    NEED_BUFFER(buffer);
    ACU_REQUIRE_OF(buffer, buffer->storage->memory == ACU_MEMORY_MANAGED, ACU_ERROR_MEMORY_KIND,
                   "only managed memory takes advice");
    ACU_REQUIRE(advice >= ACU_ADVISE_SET_READ_MOSTLY && advice <= ACU_ADVISE_UNSET_ACCESSED_BY,
                ACU_ERROR_ARGUMENT, "there is no advice %d", (int)advice);
    ACU_TRY(location_of(__func__, device, &location));
    if (buffer->count == 0)
        return 0;
    return OUTCOME(buffer, cudaMemAdvise(buffer->pointer, acu_buffer_bytes(buffer),
                                         (enum cudaMemoryAdvise)advice, location));
}

static int run_attach(const copy_job *job, const void *data) {
    return (int)cudaStreamAttachMemAsync(job->on->raw, job->to->storage->pointer, 0,
                                         *(const unsigned *)data);
}

acu_result acu_buffer_attach(acu_buffer *buffer, acu_attach to, acu_stream *on) {
    const unsigned flag = (unsigned)to;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    ACU_REQUIRE_OF(buffer, buffer->storage->memory == ACU_MEMORY_MANAGED, ACU_ERROR_MEMORY_KIND,
                   "only managed memory can be given to a stream or the host");
    ACU_REQUIRE(flag == ACU_ATTACH_GLOBAL || flag == ACU_ATTACH_HOST || flag == ACU_ATTACH_SINGLE,
                ACU_ERROR_ARGUMENT, "there is nobody of number %u to attach to", flag);
    ACU_REQUIRE_OF(on, flag != ACU_ATTACH_SINGLE || on->raw != cudaStreamLegacy, ACU_ERROR_ARGUMENT,
                   "memory cannot be one stream's that waits for all others");
    copy_job job = {.to = buffer, .on = on, .run = run_attach, .data = &flag};
    return buffer->storage->pointer ? OUTCOME(buffer, run_job(&job)) : 0;
}
