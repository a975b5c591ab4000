/* Buffers: copies between them, and from and to the host. */
#include "safe/base/clear_stack.h"
#include "safe/base/event.h"
#include "safe/memory/region.h"

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))
#define NEED_BUFFER(buffer)   ACU_NEED((buffer), acu_buffer_class)

/* ---- jobs ---- */

static int end_uses(const acu_buffer_job *job, uint64_t to, uint64_t from) {
    int first = job->to ? acu_storage_end_use(job->to->storage, job->on, true, to) : 0;
    bool both = job->from && (!job->to || job->from->storage != job->to->storage);
    int second = both ? acu_storage_end_use(job->from->storage, job->on, false, from) : 0;
    return first ? first : second;
}

/* Gives the failure a hint that CUDA does not give: the stream's device may not reach the memory.
 */
ACU_COLD static void hint_device(const acu_buffer_job *job) {
    const acu_buffer *both[] = {job->to, job->from};
    const acu_device there = job->on->object.device;
    for (size_t i = 0; i < 2; i++)
        if (both[i] && !acu_buffer_is_host_memory(both[i]) && both[i]->object.device != there)
            acu_fail_hint(
                "the memory is on device %d, the stream on device %d: use a stream of the "
                "memory's device, or let the other one access it (acu_pool_set_access())",
                both[i]->object.device, there);
}

/* Returns whether the buffer is of the device, or NULL: the host. */
static bool is_host_or_on(const acu_buffer *buffer, acu_device device) {
    return !buffer || ACU_LIKELY(buffer->object.device == device);
}

/* Returns the device that has to be current for the job: the stream's, from which the memory of its
 * pools can be reached, unless a copy is done on a stream of another device. A default stream means
 * another one where another device is current. */
static acu_device device_for(const acu_buffer_job *job) {
    const acu_device there = job->on->object.device;
    if ((is_host_or_on(job->to, there) && is_host_or_on(job->from, there)) || !job->copies ||
        job->on->is_default)
        return there;
    return acu_buffer_copy_device(job->to, job->from, there);
}

/* A copy within one memory is one use of it, a write. */
int acu_buffer_run(const acu_buffer_job *job) {
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
    code = acu_guard_enter(&guard, device_for(job));
    if (acu_capture_of(job->on))
        acu_clear_stack();
    if (!code)
        code = job->run(job, job->data);
    acu_guard_leave(&guard);
    int ended = end_uses(job, to, from);
    if (code == cudaErrorInvalidValue)
        hint_device(job);
    return code ? code : ended;
}

/* ---- checks ---- */

ACU_COLD static int refuse_type(const char *call, const acu_buffer *buffer, const char *what,
                                const char *other, acu_dtype dtype) {
    if (acu_dtype_size(dtype) == 0)
        return acu_refuse_dtype(call, dtype);
    acu_fail_hint("acu_buffer_reinterpret() gives the same memory another type");
    return acu_fail_on(call, buffer, ACU_ERROR_DTYPE, "%s holds %s, %s %s", what,
                       acu_dtype_name(buffer->dtype), other, acu_dtype_name(dtype));
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

int acu_buffer_check_types(const char *call, const acu_buffer *to, const acu_buffer *from) {
    if (!acu_is(to, &acu_buffer_class))
        return acu_object_refuse(call, to, &acu_buffer_class);
    if (!acu_is(from, &acu_buffer_class))
        return acu_object_refuse(call, from, &acu_buffer_class);
    if (!acu_dtype_fits(to->dtype, from->dtype))
        return refuse_type(call, to, "the destination", "the source", from->dtype);
    return 0;
}

int acu_buffer_check_copy(const char *call, const acu_buffer *to, size_t to_at,
                          const acu_buffer *from, size_t from_at, size_t count) {
    int code = acu_buffer_check_types(call, to, from);
    if (code)
        return code;
    ACU_TRY(acu_buffer_check_range(call, to, to_at, count));
    ACU_TRY(acu_buffer_check_range(call, from, from_at, count));
    size_t size = acu_dtype_size(to->dtype), bytes = count * size;
    if (to->storage == from->storage && bytes > 0) {
        uintptr_t a = (uintptr_t)(to->pointer + to_at * size),
                  b = (uintptr_t)(from->pointer + from_at * size);
        if (a < b + bytes && b < a + bytes)
            return acu_fail_on(call, to, ACU_ERROR_RANGE, "the two ranges overlap");
    }
    return 0;
}

/* ---- one run of bytes ---- */

typedef struct plain_copy {
    void *to;
    const void *from;
    size_t bytes;
    enum cudaMemcpyKind kind;
    bool is_peer;               /* CUDA has to know the devices */
    int to_device, from_device; /* ordinals; set if `is_peer` */
} plain_copy;

bool acu_buffer_copy_may_name_devices(cudaStream_t on) {
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return cudaStreamIsCapturing(on, &status) || status == cudaStreamCaptureStatusNone;
}

static int copy_plain(const acu_buffer_job *job, const void *data) {
    const plain_copy *copy = data;
    if (copy->is_peer && acu_buffer_copy_may_name_devices(job->on->raw))
        return (int)cudaMemcpyPeerAsync(copy->to, copy->to_device, copy->from, copy->from_device,
                                        copy->bytes, job->on->raw);
    return (int)cudaMemcpyAsync(copy->to, copy->from, copy->bytes, copy->kind, job->on->raw);
}

/* Nothing keeps the host's memory alive beyond the call. */
int acu_buffer_run_and_wait(const acu_buffer_job *job) {
    int code = acu_stream_check_wait(job->on);
    if (!code)
        code = acu_buffer_run(job);
    if (code)
        return code;
    int mode = acu_thread_ignore_captures();
    code = (int)cudaStreamSynchronize(job->on->raw);
    if (code) /* the copy may still be under way, and the host may free its memory */
        (void)cudaStreamSynchronize(job->on->raw);
    acu_thread_restore(mode);
    return code;
}

/* ---- with the host ---- */

acu_result acu_buffer_write_typed(acu_buffer *buffer, size_t at, acu_dtype dtype, const void *host,
                                  size_t count, acu_stream *on) {
    ACU_SCOPE();
    ACU_TRY(check_host_copy(__func__, buffer, at, dtype, host, count, &on));
    if (count == 0)
        return 0;
    size_t size = acu_dtype_size(buffer->dtype);
    plain_copy copy = {.to = buffer->pointer + at * size, .from = host, .bytes = count * size};
    copy.kind = acu_buffer_is_host_memory(buffer) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    acu_buffer_job job = {.to = buffer, .on = on, .copies = true, .run = copy_plain, .data = &copy};
    return OUTCOME(buffer, acu_buffer_run_and_wait(&job));
}

static int read_elements(acu_buffer *buffer, size_t at, void *host, size_t count, acu_stream *on,
                         bool unordered) {
    size_t size = acu_dtype_size(buffer->dtype);
    plain_copy copy = {.to = host, .from = buffer->pointer + at * size, .bytes = count * size};
    copy.kind = acu_buffer_is_host_memory(buffer) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    acu_buffer_job job = {.from = buffer,
                          .on = on,
                          .unordered = unordered,
                          .copies = true,
                          .run = copy_plain,
                          .data = &copy};
    return acu_buffer_run_and_wait(&job);
}

acu_result acu_buffer_read_typed(acu_buffer *buffer, size_t at, acu_dtype dtype, void *host,
                                 size_t count, acu_stream *on) {
    ACU_SCOPE();
    ACU_TRY(check_host_copy(__func__, buffer, at, dtype, host, count, &on));
    return count == 0 ? 0 : OUTCOME(buffer, read_elements(buffer, at, host, count, on, false));
}

acu_result acu_buffer_read_after(acu_buffer *buffer, acu_event *event, size_t at, acu_dtype dtype,
                                 void *host, size_t count, acu_stream *on) {
    ACU_SCOPE();
    ACU_NEED(event, acu_event_class);
    ACU_TRY(check_host_copy(__func__, buffer, at, dtype, host, count, &on));
    int code = acu_stream_check_wait(on);
    if (!code)
        code = (int)cudaStreamWaitEvent(on->raw, event->raw, 0);
    if (!code && count > 0)
        code = read_elements(buffer, at, host, count, on, true);
    return OUTCOME(buffer, code);
}

/* ---- between buffers ---- */

enum cudaMemcpyKind acu_buffer_copy_kind(const acu_buffer *to, const acu_buffer *from) {
    if (to->object.device != from->object.device) /* CUDA finds out from the addresses */
        return cudaMemcpyDefault;
    if (acu_buffer_is_host_memory(to))
        return acu_buffer_is_host_memory(from) ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    return acu_buffer_is_host_memory(from) ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

acu_device acu_buffer_copy_device(const acu_buffer *to, const acu_buffer *from,
                                  acu_device otherwise) {
    to = to && acu_buffer_is_device_memory(to) ? to : NULL;
    from = from && acu_buffer_is_device_memory(from) ? from : NULL;
    if (to && from && to->object.device != from->object.device)
        return otherwise;
    return to ? to->object.device : from ? from->object.device : otherwise;
}

bool acu_buffer_copy_is_peer(const acu_buffer *to, const acu_buffer *from, acu_device on) {
    return (to->object.device != on || from->object.device != on) &&
           acu_buffer_is_device_memory(to) && acu_buffer_is_device_memory(from);
}

acu_copy acu_buffer_copy_counted(const acu_copy *copy) {
    acu_copy c = *copy;
    if (c.count == ACU_REST && acu_is(c.from, &acu_buffer_class))
        c.count = c.from_at < c.from->count ? c.from->count - c.from_at : 0;
    return c;
}

int acu_buffer_copy_checked(const acu_copy *c, acu_stream *on) {
    size_t size = acu_dtype_size(c->to->dtype);
    plain_copy copy = {.to = c->to->pointer + c->to_at * size,
                       .from = c->from->pointer + c->from_at * size,
                       .bytes = c->count * size,
                       .kind = acu_buffer_copy_kind(c->to, c->from)};
    if (acu_buffer_copy_is_peer(c->to, c->from, on->object.device)) {
        copy.is_peer = true;
        copy.to_device = c->to->object.device;
        copy.from_device = c->from->object.device;
    }
    acu_buffer_job job = {
        .to = c->to, .from = c->from, .on = on, .copies = true, .run = copy_plain, .data = &copy};
    return c->count == 0 ? 0 : acu_buffer_run(&job);
}

static int copy_range(const char *call, acu_buffer *to, size_t to_at, acu_buffer *from,
                      size_t from_at, size_t count, acu_stream *on) {
    int code = acu_buffer_check_copy(call, to, to_at, from, from_at, count);
    if (!code)
        code = acu_buffer_choose_stream(call, to, &on);
    if (code)
        return code;
    const acu_copy copy = {
        .to = to, .from = from, .to_at = to_at, .from_at = from_at, .count = count};
    return acu_outcome(call, to, acu_buffer_copy_checked(&copy, on));
}

acu_result acu_buffer_copy_range(acu_buffer *to, size_t to_at, acu_buffer *from, size_t from_at,
                                 size_t count, acu_stream *on) {
    ACU_SCOPE();
    return copy_range(__func__, to, to_at, from, from_at, count, on);
}

/* Returns how to make memory like the buffer's, on the stream. */
static acu_buffer_options options_like(const acu_buffer *buffer, const acu_stream *stream) {
    const acu_storage *s = buffer->storage;
    acu_buffer_options o = {.memory = s->memory, .flags = s->flags};
    if (s->memory == ACU_MEMORY_REGISTERED || s->memory == ACU_MEMORY_HOST)
        o = (acu_buffer_options){.memory = ACU_MEMORY_PINNED,
                                 .flags = s->flags & (unsigned)ACU_BUFFER_UNORDERED};
    if (s->memory == ACU_MEMORY_GRAPH || s->memory == ACU_MEMORY_VIRTUAL)
        o.memory = ACU_MEMORY_POOL;
    if (o.memory == ACU_MEMORY_POOL && s->device == stream->object.device)
        o.pool = s->pool;
    if (o.memory == s->memory &&
        (s->memory == ACU_MEMORY_PINNED || s->device == stream->object.device))
        o.allocator = s->allocator;
    return o;
}

acu_result acu_buffer_clone(acu_buffer *buffer, acu_stream *stream, acu_buffer **clone) {
    ACU_SCOPE();
    ACU_NEED_POINTER(clone);
    *clone = NULL;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &stream));
    const acu_buffer_options options = options_like(buffer, stream);
    acu_saved_record failure;
    if (buffer->pitched)
        return ((const acu_pitched_buffer *)buffer)
            ->clone(__func__, buffer, stream, &options, clone);
    ACU_TRY(acu_buffer_new(__func__, stream, buffer->dtype, buffer->count, &options, clone));
    const int code = copy_range(__func__, *clone, 0, buffer, 0, buffer->count, stream);
    if (!code)
        return 0;
    acu_record_save(&failure);
    if (acu_buffer_release(*clone))
        acu_record_release_error();
    acu_record_restore(&failure);
    *clone = NULL;
    return code;
}

acu_result acu_buffer_copy(acu_buffer *to, acu_buffer *from, acu_stream *on) {
    ACU_SCOPE();
    NEED_BUFFER(to);
    NEED_BUFFER(from);
    ACU_REQUIRE_OF(to, to->count == from->count, ACU_ERROR_RANGE,
                   "the destination has %zu elements, the source %zu", to->count, from->count);
    return copy_range(__func__, to, 0, from, 0, to->count, on);
}
