/* Copies and fills. The safe layer counts elements, which are bytes here. */
#include "runtime/cuda/cuda.h"

#include <anycuda/capture.h>
#include <anycuda/memory.h>
#include <anycuda/region.h>
#include <anycuda/transfer.h>

#include <string.h>

/* ---- with the host ---- */

/* Returns whether the device copies so many bytes from the host's address by itself, which takes a
 * seventh of the time that a thread needs to bring them into pinned memory. To wait for fewer bytes
 * takes longer than to copy them. */
static bool is_copied_directly(const acu_backend_queue *queue, const void *from, size_t bytes) {
    static const size_t least = (size_t)256 << 10u;
    bool can = false;
    return bytes >= least && !queue->captures &&
           !acu_memory_can_access(from, queue->device->index, &can) && can;
}

/* In a capture the graph keeps the bytes. */
acu_result acu_cuda_write(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                          const void *from, size_t bytes) {
    acu_buffer *buffer = acu_cuda_buffer(to);
    return acu_cuda_outcome(
        is_copied_directly(queue, from, bytes)
            ? acu_buffer_write_typed(buffer, at, ACU_ANY, from, bytes, queue->stream)
            : acu_buffer_write_async(buffer, at, ACU_ANY, from, bytes, queue->stream));
}

acu_result acu_cuda_read(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at, void *to,
                         size_t bytes) {
    return acu_cuda_outcome(
        acu_buffer_read_typed(acu_cuda_buffer(from), at, ACU_ANY, to, bytes, queue->stream));
}

acu_result acu_cuda_read_after(acu_backend_queue *queue, acu_backend_mark *mark,
                               acu_backend_memory *from, uint64_t at, void *to, size_t bytes) {
    acu_stream *reader = NULL;
    ACU_TRY(acu_cuda_outcome(acu_cuda_queue_get_reader(queue, &reader)));
    return acu_cuda_outcome(
        acu_buffer_read_after(acu_cuda_buffer(from), mark->event, at, ACU_ANY, to, bytes, reader));
}

/* ---- between memories ---- */

/* Makes memory for a moment of the stream's order; in a capture it is the graph's. */
static acu_result borrow(const acu_backend_queue *queue, size_t bytes, acu_buffer **buffer) {
    const acu_buffer_options options = {.memory = queue->device->memory};
    return queue->captures
               ? acu_stream_capture_alloc(queue->stream, ACU_BYTES(1), bytes, buffer)
               : acu_buffer_create_with(queue->stream, ACU_BYTES(1), bytes, &options, buffer);
}

static acu_result give_back(const acu_backend_queue *queue, acu_buffer *buffer) {
    return queue->captures ? acu_graph_memory_free(buffer, queue->stream) : 0;
}

/* Copies ranges that overlap, for which CUDA has no copy, by way of other memory. */
static acu_result copy_overlapping(acu_backend_queue *queue, acu_buffer *buffer, uint64_t to_at,
                                   uint64_t from_at, uint64_t bytes) {
    ACU_AUTO(acu_buffer) *between = NULL;
    ACU_TRY(borrow(queue, bytes, &between));
    ACU_TRY(acu_buffer_copy_range(between, 0, buffer, from_at, bytes, queue->stream));
    ACU_TRY(acu_buffer_copy_range(buffer, to_at, between, 0, bytes, queue->stream));
    return give_back(queue, between);
}

acu_result acu_cuda_copy(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                         acu_backend_memory *from, uint64_t from_at, uint64_t bytes) {
    acu_buffer *target = acu_cuda_buffer(to), *source = acu_cuda_buffer(from);
    const uint64_t apart = to_at > from_at ? to_at - from_at : from_at - to_at;
    if (to == from && apart == 0)
        return 0;
    if (to == from && apart < bytes)
        return acu_cuda_outcome(copy_overlapping(queue, target, to_at, from_at, bytes));
    return acu_cuda_outcome(
        acu_buffer_copy_range(target, to_at, source, from_at, bytes, queue->stream));
}

acu_result acu_cuda_copy_peer(acu_backend_queue *queue, acu_backend_queue *to_queue,
                              acu_backend_memory *to, uint64_t to_at, acu_backend_memory *from,
                              uint64_t from_at, uint64_t bytes) {
    (void)to_queue;
    return acu_cuda_outcome(acu_buffer_copy_range(acu_cuda_buffer(to), to_at, acu_cuda_buffer(from),
                                                  from_at, bytes, queue->stream));
}

/* ---- strided copies ---- */

typedef struct layout {
    unsigned rank;
    size_t shape[ACU_MAX_RANK + 1];
    int64_t to[ACU_MAX_RANK + 1], from[ACU_MAX_RANK + 1];
} layout;

/* Adds the bytes of an element as the innermost dimension; those before it that follow each other
 * without a gap become a part of it, and those of one element disappear. */
static layout in_bytes(const acu_backend_strided *s) {
    layout all = {0};
    size_t width = s->element_bytes;
    unsigned rank = s->rank;
    for (; rank > 0; rank--) {
        const unsigned i = rank - 1;
        const bool dense = s->to[i] == (int64_t)width && s->from[i] == (int64_t)width;
        if (s->shape[i] != 1 && !dense)
            break;
        width *= s->shape[i];
    }
    for (unsigned i = 0; i < rank; i++)
        if (s->shape[i] != 1) {
            all.shape[all.rank] = s->shape[i];
            all.to[all.rank] = s->to[i];
            all.from[all.rank++] = s->from[i];
        }
    all.shape[all.rank] = width;
    all.to[all.rank] = all.from[all.rank] = 1;
    all.rank++;
    return all;
}

acu_result acu_cuda_copy_strided(acu_backend_queue *queue, acu_backend_memory *to,
                                 acu_backend_memory *from, const acu_backend_strided *strided) {
    const layout all = in_bytes(strided);
    if (all.rank > ACU_MAX_RANK)
        return acu_backend_fail(ACU_NOT_SUPPORTED, "the bytes of an element and %u dimensions",
                                all.rank - 1);
    const acu_strides strides = {.rank = all.rank,
                                 .shape = all.shape,
                                 .to = all.to,
                                 .from = all.from,
                                 .to_at = strided->to_at,
                                 .from_at = strided->from_at};
    return acu_cuda_outcome(acu_buffer_copy_strided(acu_cuda_buffer(to), acu_cuda_buffer(from),
                                                    &strides, queue->stream));
}

/* ---- fills ---- */

acu_result acu_cuda_fill(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                         uint64_t bytes, const void *element, size_t element_bytes) {
    return acu_cuda_outcome(acu_buffer_fill_bytes(acu_cuda_buffer(to), at, bytes, element,
                                                  element_bytes, queue->stream));
}
