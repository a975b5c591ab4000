/* Queues, which are streams, and marks, which are events. */
#include "runtime/cuda/cuda.h"

#include <stdlib.h>

/* ---- queues ---- */

/* A stream that does not wait for the legacy default stream, of which the runtime interface knows
 * nothing. */
static acu_result make_stream(const acu_backend_device *device, int priority, acu_stream **stream) {
    const acu_stream_options options = {.flags = ACU_STREAM_NON_BLOCKING, .priority = priority};
    return acu_stream_create(device->index, &options, stream);
}

acu_result acu_cuda_queue_create(acu_backend_device *device,
                                 const acu_backend_queue_options *options,
                                 acu_backend_queue **out) {
    *out = NULL;
    acu_backend_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory for a queue");
    queue->device = device;
    queue->priority = options->priority;
    pthread_mutex_init(&queue->capture_lock, NULL);
    const acu_result code = make_stream(device, queue->priority, &queue->stream);
    if (code) {
        pthread_mutex_destroy(&queue->capture_lock);
        free(queue);
        return acu_cuda_explain(code);
    }
    pthread_mutex_lock(&device->lock);
    device->queues++;
    pthread_mutex_unlock(&device->lock);
    *out = queue;
    return 0;
}

/* A failed release is kept for acu_release_error(). */
static void free_mark(acu_backend_mark *mark) {
    (void)acu_event_release(mark->event);
    free(mark);
}

/* Takes the marks that wait, if no queue is left that could use them; under the device's lock. */
static acu_backend_mark *take_idle_marks(acu_backend_device *device) {
    acu_backend_mark *marks = device->queues == 0 ? device->marks : NULL;
    if (marks)
        device->marks = NULL;
    return marks;
}

static void free_marks(acu_backend_mark *marks) {
    for (acu_backend_mark *next; marks; marks = next) {
        next = marks->next;
        free_mark(marks);
    }
}

void acu_cuda_queue_destroy(acu_backend_queue *queue) {
    acu_backend_device *device = queue->device;
    pthread_mutex_lock(&device->lock);
    device->queues--;
    acu_backend_mark *idle = take_idle_marks(device);
    pthread_mutex_unlock(&device->lock);
    free_marks(idle);
    (void)acu_stream_release(queue->reader);
    (void)acu_stream_release(queue->stream);
    pthread_mutex_destroy(&queue->capture_lock);
    free(queue);
}

/* Waits for a mark and not for the stream, which another thread may begin to capture meanwhile.
 * Nothing is left on the reader: who reads there waits. */
acu_result acu_cuda_queue_synchronize(acu_backend_queue *queue) {
    acu_backend_mark *mark = NULL;
    pthread_mutex_lock(&queue->capture_lock);
    acu_result code = acu_cuda_mark_create(queue, &mark);
    pthread_mutex_unlock(&queue->capture_lock);
    if (code)
        return code;
    code = acu_cuda_mark_synchronize(mark);
    acu_cuda_mark_destroy(mark);
    return code;
}

acu_result acu_cuda_queue_get_raw(acu_backend_queue *queue, acu_raw *raw) {
    *raw = (acu_raw){ACU_RAW_CUDA, acu_stream_raw(queue->stream), queue->stream};
    return 0;
}

/* Several threads may read beside a queue, of which the first one makes the stream. */
acu_result acu_cuda_queue_get_reader(acu_backend_queue *queue, acu_stream **reader) {
    acu_result code = 0;
    pthread_mutex_lock(&queue->device->lock);
    if (!queue->reader)
        code = make_stream(queue->device, queue->priority, &queue->reader);
    *reader = queue->reader;
    pthread_mutex_unlock(&queue->device->lock);
    return code;
}

/* ---- marks ---- */

static acu_result make_mark(acu_backend_device *device, acu_backend_mark **out) {
    const acu_event_options options = {ACU_EVENT_DISABLE_TIMING};
    acu_backend_mark *mark = calloc(1, sizeof *mark);
    if (!mark)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory for a mark");
    mark->device = device;
    const acu_result code = acu_event_create(device->index, &options, &mark->event);
    if (code) {
        free(mark);
        return acu_cuda_explain(code);
    }
    *out = mark;
    return 0;
}

/* Whoever waits for an event is not concerned by its later records, so that a mark is used again as
 * soon as it is destroyed. */
acu_result acu_cuda_mark_create(acu_backend_queue *queue, acu_backend_mark **out) {
    acu_backend_device *device = queue->device;
    *out = NULL;
    pthread_mutex_lock(&device->lock);
    acu_backend_mark *mark = device->marks;
    if (mark)
        device->marks = mark->next;
    pthread_mutex_unlock(&device->lock);
    if (!mark)
        ACU_TRY(make_mark(device, &mark));
    const acu_result code = acu_event_record(mark->event, queue->stream);
    if (code) {
        free_mark(mark); /* nothing is known of an event that could not be recorded */
        return acu_cuda_explain(code);
    }
    *out = mark;
    return 0;
}

void acu_cuda_mark_destroy(acu_backend_mark *mark) {
    acu_backend_device *device = mark->device;
    pthread_mutex_lock(&device->lock);
    mark->next = device->marks;
    device->marks = mark;
    acu_backend_mark *idle = take_idle_marks(device);
    pthread_mutex_unlock(&device->lock);
    free_marks(idle);
}

acu_result acu_cuda_mark_query(acu_backend_mark *mark) {
    return acu_cuda_outcome(acu_event_query(mark->event));
}

acu_result acu_cuda_mark_synchronize(acu_backend_mark *mark) {
    return acu_cuda_outcome(acu_event_synchronize(mark->event));
}

acu_result acu_cuda_queue_wait(acu_backend_queue *queue, acu_backend_mark *mark) {
    return acu_cuda_outcome(acu_stream_wait_event(queue->stream, mark->event));
}
