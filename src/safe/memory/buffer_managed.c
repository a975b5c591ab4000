/* Buffers: where managed memory is, and which stream it belongs to. */
#include "safe/memory/buffer.h"

#define OUTCOME(buffer, code) acu_outcome(__func__, (buffer), (int)(code))
#define NEED_BUFFER(buffer)   ACU_NEED((buffer), acu_buffer_class)

int acu_buffer_find_location(const char *call, acu_device device,
                             struct cudaMemLocation *location) {
    *location = (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    if (device == ACU_DEVICE_HOST)
        return 0;
    int code = acu_device_resolve(call, &device);
    *location = (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
    return code;
}

static int run_prefetch(const acu_buffer_job *job, const void *data) {
    return (int)cudaMemPrefetchAsync(job->to->pointer, acu_buffer_bytes(job->to),
                                     *(const struct cudaMemLocation *)data, 0, job->on->raw);
}

int acu_buffer_prefetch_checked(acu_buffer *buffer, const struct cudaMemLocation *where,
                                acu_stream *on) {
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_prefetch, .data = where};
    return buffer->count == 0 ? 0 : acu_buffer_run(&job);
}

acu_result acu_buffer_prefetch(acu_buffer *buffer, acu_device where, acu_stream *on) {
    ACU_SCOPE();
    struct cudaMemLocation location;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    ACU_REQUIRE_OF(buffer, buffer->storage->memory == ACU_MEMORY_MANAGED, ACU_ERROR_MEMORY_KIND,
                   "only managed memory can be prefetched");
    ACU_TRY(OUTCOME(on, acu_stream_check_uncaptured(on)));
    ACU_TRY(acu_buffer_find_location(__func__, where, &location));
    return OUTCOME(buffer, acu_buffer_prefetch_checked(buffer, &location, on));
}

acu_result acu_buffer_advise(acu_buffer *buffer, acu_advise advice, acu_device device) {
    ACU_SCOPE();
    struct cudaMemLocation location;
    NEED_BUFFER(buffer);
    ACU_REQUIRE_OF(buffer, buffer->storage->memory == ACU_MEMORY_MANAGED, ACU_ERROR_MEMORY_KIND,
                   "only managed memory can be advised on");
    ACU_REQUIRE(advice >= ACU_ADVISE_SET_READ_MOSTLY && advice <= ACU_ADVISE_UNSET_ACCESSED_BY,
                ACU_ERROR_ARGUMENT, "there is no advice %d", (int)advice);
    ACU_TRY(acu_buffer_find_location(__func__, device, &location));
    if (buffer->count == 0)
        return 0;
    int code;
    ACU_IGNORING_CAPTURES(code, cudaMemAdvise(buffer->pointer, acu_buffer_bytes(buffer),
                                              (enum cudaMemoryAdvise)advice, location));
    return OUTCOME(buffer, code);
}

static int run_attach(const acu_buffer_job *job, const void *data) {
    int code;
    ACU_IGNORING_CAPTURES(code, cudaStreamAttachMemAsync(job->on->raw, job->to->storage->pointer, 0,
                                                         *(const unsigned *)data));
    return code;
}

acu_result acu_buffer_attach(acu_buffer *buffer, acu_attach to, acu_stream *on) {
    ACU_SCOPE();
    const unsigned flag = (unsigned)to;
    NEED_BUFFER(buffer);
    ACU_TRY(acu_buffer_choose_stream(__func__, buffer, &on));
    ACU_REQUIRE_OF(buffer, buffer->storage->memory == ACU_MEMORY_MANAGED, ACU_ERROR_MEMORY_KIND,
                   "only managed memory can be attached");
    ACU_REQUIRE(flag == ACU_ATTACH_GLOBAL || flag == ACU_ATTACH_HOST || flag == ACU_ATTACH_SINGLE,
                ACU_ERROR_ARGUMENT, "%u is not a kind of attachment", flag);
    ACU_REQUIRE_OF(on, flag != ACU_ATTACH_SINGLE || on->raw != cudaStreamLegacy, ACU_ERROR_ARGUMENT,
                   "memory cannot be attached to the legacy default stream alone, which "
                   "waits for all others");
    ACU_TRY(OUTCOME(on, acu_stream_check_uncaptured(on)));
    acu_buffer_job job = {.to = buffer, .on = on, .run = run_attach, .data = &flag};
    return buffer->storage->pointer ? OUTCOME(buffer, acu_buffer_run(&job)) : 0;
}
