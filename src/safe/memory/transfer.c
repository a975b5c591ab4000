/* Transfers: copies from and to ordinary memory of the host that nobody waits for. */
#include "safe/base/active_capture.h"
#include "safe/base/closure.h"
#include "safe/memory/host_copy.h"
#include "safe/memory/staging.h"

#include <anycuda/transfer.h>

#include <stdlib.h>

#define OUTCOME(object, code) acu_outcome(__func__, (object), (int)(code))

struct acu_transfer {
    acu_object object;
    acu_staging *staging;     /* with a reference; NULL where there is no block */
    acu_staging_block *block; /* NULL: the elements are in ordinary memory, or there are none */
    char *memory;             /* where the elements are; NULL: there are none */
    size_t count;
    size_t part; /* bytes of each part but the last one; 0: there is one part */
    acu_dtype dtype;
    bool over; /* atomic: the elements are there */
};

/* Writes are cut into pieces of this size, so that the device copies one while the thread fills the
 * next. */
static const size_t piece = (size_t)1 << 20u;

/* Data of so many bytes is large. */
static const size_t large = (size_t)4 << 20u;

/* ---- copies ---- */

/* One run of bytes between memory of the host and a buffer. */
typedef struct bytes_copy {
    void *to;
    const void *from;
    size_t bytes;
} bytes_copy;

static int copy(const acu_buffer_job *job, const void *data) {
    const bytes_copy *c = data;
    const acu_buffer *buffer = job->to ? job->to : job->from;
    enum cudaMemcpyKind kind = job->to ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    if (acu_buffer_is_host_memory(buffer))
        kind = cudaMemcpyHostToHost;
    return (int)cudaMemcpyAsync(c->to, c->from, c->bytes, kind, job->on->raw);
}

static acu_buffer_job job_to(acu_buffer *buffer, acu_stream *on, const bytes_copy *data) {
    return (acu_buffer_job){.to = buffer, .on = on, .copies = true, .run = copy, .data = data};
}

static acu_buffer_job job_from(acu_buffer *buffer, acu_stream *on, const bytes_copy *data) {
    return (acu_buffer_job){.from = buffer, .on = on, .copies = true, .run = copy, .data = data};
}

/* Refuses a stream that is being captured, and a thread that must not wait. */
static int check_stream(const char *call, const acu_buffer *buffer, const acu_stream *on) {
    int code = acu_stream_check_wait(on);
    if (code == ACU_ERROR_CAPTURE)
        acu_fail_hint(
            "make the transfer before or after the capture; what a graph computes is read "
            "after a launch, and acu_buffer_copy() to pinned memory can be captured");
    return acu_outcome(call, buffer, code);
}

/* ---- writing ---- */

/* Returns whether the stream has nothing to do. */
static bool is_idle(const acu_stream *on) {
    acu_saved_record before;
    acu_guard guard;
    acu_record_save(&before);
    int code = acu_stream_enter(on, &guard);
    int mode = acu_thread_ignore_captures();
    if (!code)
        code = (int)cudaStreamQuery(on->raw);
    acu_thread_restore(mode);
    acu_guard_leave(&guard);
    if (code)
        acu_forget_not_ready();
    acu_record_restore(&before);
    return code == 0;
}

/* Returns whether CUDA copies the data best by itself, from the caller's memory, for which the
 * thread waits. What the ring has no room for is waited for in any case. Where the stream does
 * nothing else, the copy is all that there is to wait for, and takes less time than this thread
 * needs to fill the ring. */
static bool is_copied_at_once(const bytes_copy *all, const acu_stream *on) {
    return all->bytes > acu_staging_ring || (all->bytes >= large && is_idle(on));
}

/* Puts the next bytes on the stream, under the staging's lock, and stores how many; none where
 * there is no pinned memory. */
static int write_piece(acu_staging *staging, acu_buffer *buffer, const bytes_copy *all,
                       acu_stream *on, size_t *written) {
    char *at = NULL;
    int code =
        acu_staging_reserve(staging, on, all->bytes < piece ? all->bytes : piece, &at, written);
    if (code || *written == 0)
        return code;
    acu_host_copy(at, all->from, *written);
    const bytes_copy part = {all->to, at, *written};
    const acu_buffer_job job = job_to(buffer, on, &part);
    code = acu_buffer_run(&job);
    acu_staging_copied(staging, on);
    return code;
}

static int write_now(acu_buffer *buffer, const bytes_copy *all, acu_stream *on) {
    const acu_buffer_job job = job_to(buffer, on, all);
    return acu_buffer_run_and_wait(&job);
}

static int write_bytes(acu_staging *staging, acu_buffer *buffer, bytes_copy all, acu_stream *on) {
    int code = 0;
    size_t written = 1;
    pthread_mutex_lock(&staging->lock);
    while (!code && all.bytes > 0 && written > 0) {
        code = write_piece(staging, buffer, &all, on, &written);
        all.to = (char *)all.to + written;
        all.from = (const char *)all.from + written;
        all.bytes -= written;
    }
    pthread_mutex_unlock(&staging->lock);
    return code || all.bytes == 0 ? code : write_now(buffer, &all, on);
}

/* Lets the graph keep the bytes as they are now, which each launch writes. */
static int capture_write(const char *call, acu_capture *capture, acu_buffer *buffer,
                         const bytes_copy *all, acu_stream *on) {
    acu_kept_closure *kept = acu_closure_of_bytes(call, all->from, all->bytes);
    if (!kept)
        return ACU_ERROR_HOST_MEMORY;
    const bytes_copy of_graph = {all->to, kept->closure.data, all->bytes};
    const acu_buffer_job job = job_to(buffer, on, &of_graph);
    int code = capture->use(capture, &kept->object, false);
    if (!code)
        code = acu_buffer_run(&job);
    (void)acu_object_release(NULL, kept, kept->object.was);
    return acu_outcome(call, buffer, code);
}

acu_result acu_buffer_write_async(acu_buffer *buffer, size_t at, acu_dtype dtype, const void *host,
                                  size_t count, acu_stream *on) {
    ACU_SCOPE();
    ACU_TRY(acu_buffer_check_host_copy(__func__, buffer, at, dtype, host, count));
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    acu_capture *capture = acu_capture_of(on);
    if (!capture)
        ACU_TRY(check_stream(__func__, buffer, on));
    if (count == 0)
        return 0;
    acu_destroy_deferred();
    const size_t size = acu_dtype_size(buffer->dtype);
    const bytes_copy all = {buffer->pointer + at * size, host, count * size};
    if (capture)
        return capture_write(__func__, capture, buffer, &all, on);
    if (is_copied_at_once(&all, on))
        return OUTCOME(buffer, write_now(buffer, &all, on));
    acu_staging *staging = acu_staging_of(__func__, on);
    if (!staging)
        return ACU_ERROR_HOST_MEMORY;
    return OUTCOME(buffer, write_bytes(staging, buffer, all, on));
}

/* ---- life of a transfer ---- */

static int destroy_transfer(acu_object *object) {
    acu_transfer *t = (acu_transfer *)object;
    if (t->block)
        acu_staging_give(t->staging, t->block);
    else
        free(t->memory);
    return t->staging ? acu_staging_release(t->staging) : 0;
}

static void describe_transfer(const acu_object *object, acu_description *d) {
    const acu_transfer *t = (const acu_transfer *)object;
    acu_describe(d, "%zu x %s", t->count, acu_dtype_name(t->dtype));
    if (!__atomic_load_n(&t->over, __ATOMIC_RELAXED))
        acu_describe(d, "not waited for");
}

static const acu_class transfer_class = {"transfer", destroy_transfer, describe_transfer, NULL};

acu_transfer *acu_transfer_retain(acu_transfer *transfer) {
    return acu_object_retain(__func__, transfer, &transfer_class);
}

acu_result acu_transfer_release(acu_transfer *transfer) {
    ACU_SCOPE();
    acu_destroy_deferred();
    return acu_object_release(__func__, transfer, &transfer_class);
}

void acu_transfer_cleanup(acu_transfer **transfer) {
    (void)acu_transfer_release(acu_take(transfer));
}

size_t acu_transfer_describe(const acu_transfer *transfer, char *text, size_t size) {
    return acu_object_describe_as(transfer, &transfer_class, text, size);
}

/* ---- reading ---- */

/* Reads into ordinary memory, and waits. */
static int read_now(acu_transfer *t, acu_buffer *buffer, const void *from, size_t bytes,
                    acu_stream *on) {
    char *memory = malloc(bytes);
    if (!memory)
        return acu_record(ACU_ERROR_HOST_MEMORY, "the host has no memory for %zu bytes", bytes);
    const bytes_copy all = {memory, from, bytes};
    const acu_buffer_job job = job_from(buffer, on, &all);
    int code = acu_buffer_run_and_wait(&job);
    if (code) {
        free(memory);
        return code;
    }
    t->memory = memory;
    t->over = true;
    return 0;
}

/* A large read is copied in parts, so that the thread takes one while the device copies the next.
 */
typedef struct parts_copy {
    bytes_copy all;
    const acu_staging_block *block;
    size_t part;
} parts_copy;

static int copy_parts(const acu_buffer_job *job, const void *data) {
    const parts_copy *p = data;
    int code = 0;
    for (size_t at = 0, i = 0; at < p->all.bytes && !code; at += p->part, i++) {
        const size_t rest = p->all.bytes - at;
        const bytes_copy one = {(char *)p->all.to + at, (const char *)p->all.from + at,
                                rest < p->part ? rest : p->part};
        code = copy(job, &one);
        if (!code && rest > p->part)
            code = (int)cudaEventRecord(p->block->parts[i], job->on->raw);
    }
    return code;
}

/* Returns how large the parts are; multiples of a page, so that no part lacks an event. */
static size_t part_of(size_t bytes) {
    const size_t page = 4096, part = (bytes + ACU_STAGING_PARTS - 1) / ACU_STAGING_PARTS;
    return (part + page - 1) / page * page;
}

static int copy_to_block(acu_transfer *t, acu_buffer *buffer, const bytes_copy *all,
                         acu_stream *on) {
    acu_buffer_job job = job_from(buffer, on, all);
    if (all->bytes < large)
        return acu_buffer_run(&job);
    const parts_copy parts = {*all, t->block, part_of(all->bytes)};
    int code = acu_staging_make_parts(t->block);
    if (code)
        return code;
    job.run = copy_parts;
    job.data = &parts;
    t->part = parts.part;
    return acu_buffer_run(&job);
}

/* Reads into a block; the transfer has it from then on, also where this fails: the copy may be
 * under way. */
static int read_later(acu_transfer *t, acu_buffer *buffer, const void *from, size_t bytes,
                      acu_stream *on) {
    const bytes_copy all = {t->block->memory, from, bytes};
    t->memory = t->block->memory;
    int code = copy_to_block(t, buffer, &all, on);
    acu_staging_copied(t->staging, on);
    int recorded = acu_staging_record(t->block, on);
    if (recorded) /* nothing else would tell when the copy is over */
        (void)cudaStreamSynchronize(on->raw);
    return code ? code : recorded;
}

static int read_bytes(acu_transfer *t, acu_buffer *buffer, size_t at, acu_stream *on) {
    const size_t size = acu_dtype_size(buffer->dtype), bytes = t->count * size;
    const void *from = buffer->pointer + at * size;
    int code = acu_staging_take(t->staging, bytes, &t->block);
    if (code)
        return code;
    return t->block ? read_later(t, buffer, from, bytes, on) : read_now(t, buffer, from, bytes, on);
}

/* Makes a transfer of no elements, or with staging for them. */
static acu_transfer *new_transfer(const char *call, const acu_buffer *buffer, size_t count,
                                  acu_stream *on) {
    acu_staging *staging = count > 0 ? acu_staging_of(call, on) : NULL;
    if (count > 0 && !staging)
        return NULL;
    acu_transfer *t = acu_object_new(call, &transfer_class, sizeof *t, on->object.device);
    if (!t)
        return NULL;
    t->staging = acu_staging_retain(staging);
    t->count = count;
    t->dtype = buffer->dtype;
    t->over = count == 0;
    return t;
}

acu_result acu_buffer_read_async(acu_buffer *buffer, size_t at, size_t count,
                                 acu_transfer **transfer, acu_stream *on) {
    ACU_SCOPE();
    ACU_NEED_POINTER(transfer);
    *transfer = NULL;
    ACU_NEED(buffer, acu_buffer_class);
    ACU_TRY(acu_buffer_check_range(__func__, buffer, at, count));
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    ACU_TRY(check_stream(__func__, buffer, on));
    acu_destroy_deferred();
    acu_transfer *t = new_transfer(__func__, buffer, count, on);
    if (!t)
        return ACU_ERROR_HOST_MEMORY;
    int code = count > 0 ? OUTCOME(buffer, read_bytes(t, buffer, at, on)) : 0;
    if (code)
        (void)acu_object_release(__func__, t, &transfer_class);
    else
        *transfer = t;
    return code;
}

/* ---- taking ---- */

/* Lets the thread wait until the elements are there; returns 0 or a recorded code. */
static int wait_for(acu_transfer *t) {
    if (__atomic_load_n(&t->over, __ATOMIC_ACQUIRE))
        return 0;
    int code = acu_capture_check();
    if (code)
        return code;
    int mode = acu_thread_ignore_captures();
    code = (int)cudaEventSynchronize(t->block->copied);
    acu_thread_restore(mode);
    if (!code)
        __atomic_store_n(&t->over, true, __ATOMIC_RELEASE);
    acu_destroy_deferred(); /* some of these objects were waiting for this work */
    return code;
}

static int wait_for_part(const acu_transfer *t, size_t i) {
    int mode = acu_thread_ignore_captures();
    const int code = (int)cudaEventSynchronize(t->block->parts[i]);
    acu_thread_restore(mode);
    return code;
}

/* Copies bytes to the host, each part as soon as it is there. */
static int take_parts(acu_transfer *t, char *host, size_t at, size_t bytes) {
    const size_t end = at + bytes, last = (acu_transfer_bytes(t) - 1) / t->part;
    int code = acu_capture_check();
    while (at < end && !code) {
        const size_t i = at / t->part, next = (i + 1) * t->part, to = next < end ? next : end;
        code = i == last ? wait_for(t) : wait_for_part(t, i);
        if (!code)
            acu_host_copy(host, t->memory + at, to - at);
        host += to - at;
        at = to;
    }
    return code;
}

static int take_bytes(acu_transfer *t, char *host, size_t at, size_t bytes) {
    if (t->part && bytes > 0 && !__atomic_load_n(&t->over, __ATOMIC_ACQUIRE))
        return take_parts(t, host, at, bytes);
    const int code = wait_for(t);
    if (!code && bytes > 0)
        acu_host_copy(host, t->memory + at, bytes);
    return code;
}

acu_result acu_transfer_query(acu_transfer *transfer) {
    ACU_SCOPE();
    ACU_NEED(transfer, transfer_class);
    if (__atomic_load_n(&transfer->over, __ATOMIC_ACQUIRE))
        return 0;
    ACU_TRY(OUTCOME(transfer, acu_capture_check()));
    int mode = acu_thread_ignore_captures();
    int code = (int)cudaEventQuery(transfer->block->copied);
    acu_thread_restore(mode);
    if (!code)
        __atomic_store_n(&transfer->over, true, __ATOMIC_RELEASE);
    return acu_query_outcome(__func__, transfer, code);
}

acu_result acu_transfer_synchronize(acu_transfer *transfer) {
    ACU_SCOPE();
    ACU_NEED(transfer, transfer_class);
    return OUTCOME(transfer, wait_for(transfer));
}

acu_result acu_transfer_get_host(acu_transfer *transfer, const void **host) {
    ACU_SCOPE();
    ACU_NEED_POINTER(host);
    *host = NULL;
    ACU_NEED(transfer, transfer_class);
    ACU_TRY(OUTCOME(transfer, wait_for(transfer)));
    *host = transfer->memory;
    return 0;
}

acu_result acu_transfer_read_typed(acu_transfer *transfer, size_t at, acu_dtype dtype, void *host,
                                   size_t count) {
    ACU_SCOPE();
    ACU_NEED(transfer, transfer_class);
    ACU_REQUIRE(host || count == 0, ACU_ERROR_ARGUMENT, "'host' is NULL");
    if (dtype != ACU_ANY && acu_dtype_size(dtype) == 0)
        return acu_refuse_dtype(__func__, dtype);
    ACU_REQUIRE_OF(transfer, acu_dtype_fits(transfer->dtype, dtype), ACU_ERROR_DTYPE,
                   "the transfer holds %s, the host %s", acu_dtype_name(transfer->dtype),
                   acu_dtype_name(dtype));
    ACU_REQUIRE_OF(transfer, at <= transfer->count && count <= transfer->count - at,
                   ACU_ERROR_RANGE,
                   "%zu elements from element %zu on are outside of the transfer, which has %zu",
                   count, at, transfer->count);
    const size_t size = acu_dtype_size(transfer->dtype);
    return OUTCOME(transfer, take_bytes(transfer, host, at * size, count * size));
}

/* ---- what a transfer is ---- */

acu_dtype acu_transfer_dtype(const acu_transfer *transfer) {
    return acu_is(transfer, &transfer_class) ? transfer->dtype : ACU_ANY;
}

size_t acu_transfer_count(const acu_transfer *transfer) {
    return acu_is(transfer, &transfer_class) ? transfer->count : 0;
}

size_t acu_transfer_bytes(const acu_transfer *transfer) {
    return acu_transfer_count(transfer) * acu_dtype_size(acu_transfer_dtype(transfer));
}

acu_device acu_transfer_device(const acu_transfer *transfer) {
    return acu_is(transfer, &transfer_class) ? transfer->object.device : ACU_DEVICE_CURRENT;
}
