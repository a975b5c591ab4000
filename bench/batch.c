/*
 * A hundred small copies in a batch, against a loop of raw copies, and against CUDA's own call for
 * batches: in pairs within one process, on whatever runtime is loaded. Exits with 77 where there is
 * no device.
 */
#include "pairs.h"

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <stdio.h>
#include <stdlib.h>

enum { COPIES = 100, BYTES = 256, APART = 512, QUEUED = 4 };

static acu_stream *stream;
static cudaStream_t raw_stream, other_stream;
static acu_buffer *from, *to, *pinned, *pieces[2][COPIES];
static acu_copy copies[COPIES];
static void *raw_to[COPIES];
static const void *raw_from[COPIES];
static size_t sizes[COPIES];

#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            fprintf(stderr, "%s: %s\n", #call, acu_last_error_message());                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void raw_loop(long calls) {
    for (long n = 0; n < calls; n++)
        for (size_t i = 0; i < COPIES; i++)
            OK(cudaMemcpyAsync(raw_to[i], raw_from[i], sizes[i], cudaMemcpyDefault, raw_stream));
}

static void raw_batch_on(cudaStream_t on, long calls) {
    size_t first = 0;
    struct cudaMemcpyAttributes in_order = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    for (long n = 0; n < calls; n++)
        OK(cudaMemcpyBatchAsync(raw_to, raw_from, sizes, COPIES, &in_order, &first, 1, on));
}

static void raw_batch(long calls) {
    raw_batch_on(raw_stream, calls);
}

static void raw_batch_elsewhere(long calls) {
    raw_batch_on(other_stream, calls);
}

static void safe_loop(long calls) {
    for (long n = 0; n < calls; n++)
        for (size_t i = 0; i < COPIES; i++)
            OK(acu_buffer_copy_range(copies[i].to, copies[i].to_at, copies[i].from,
                                     copies[i].from_at, copies[i].count, stream));
}

static void safe_batch(long calls) {
    for (long n = 0; n < calls; n++)
        OK(acu_batch_copy(stream, copies, COPIES, NULL, 0, NULL));
}

static void synchronize(void) {
    OK(cudaStreamSynchronize(raw_stream));
    OK(cudaStreamSynchronize(other_stream));
    OK(acu_stream_synchronize(stream));
}

static void fill_raw(void) {
    for (size_t i = 0; i < COPIES; i++) {
        raw_to[i] = (char *)acu_buffer_raw(copies[i].to) + copies[i].to_at;
        raw_from[i] = (const char *)acu_buffer_raw(copies[i].from) + copies[i].from_at;
        sizes[i] = copies[i].count;
    }
}

static void compare_all(const char *where) {
    char name[128];
    const bool has_batches = acu_supports(ACU_FEATURE_BATCH_COPIES, 0) == 0;
    fill_raw();
    snprintf(name, sizeof name, "acu_batch_copy %s, against a loop of cudaMemcpyAsync", where);
    compare(name, raw_loop, safe_batch, QUEUED, synchronize);
    snprintf(name, sizeof name, "a loop of acu_buffer_copy_range %s, against the same", where);
    compare(name, raw_loop, safe_loop, QUEUED, synchronize);
    snprintf(name, sizeof name, "acu_batch_copy %s, against cudaMemcpyBatchAsync", where);
    if (!has_batches)
        return;
    compare(name, raw_batch, safe_batch, QUEUED, synchronize);
    snprintf(name, sizeof name, "noise: cudaMemcpyBatchAsync %s, on another stream", where);
    compare(name, raw_batch, raw_batch_elsewhere, QUEUED, synchronize);
}

int main(void) {
    int devices = 0;
    if (acu_device_get_count(&devices) || devices == 0) {
        printf("%s\n", acu_last_error_message());
        return 77;
    }
    acu_quarantine(0); /* as in a release build */
    OK(acu_stream_create(0, NULL, &stream));
    OK(cudaStreamCreate(&raw_stream));
    OK(cudaStreamCreate(&other_stream));
    OK(acu_buffer_create(stream, ACU_U8, (size_t)COPIES * APART, &from));
    OK(acu_buffer_create(stream, ACU_U8, (size_t)COPIES * APART, &to));
    print_header("raw", "safe");
    for (size_t i = 0; i < COPIES; i++)
        copies[i] = (acu_copy){.to = to,
                               .from = from,
                               .to_at = i * APART,
                               .from_at = (COPIES - 1 - i) * APART,
                               .count = BYTES};
    compare_all("between two buffers");
    OK(acu_buffer_create_with(stream, ACU_U8, (size_t)COPIES * APART,
                              &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &pinned));
    for (size_t i = 0; i < COPIES; i++)
        copies[i].from = pinned;
    compare_all("from pinned memory");
    for (size_t i = 0; i < COPIES; i++) {
        OK(acu_buffer_create(stream, ACU_U8, BYTES, &pieces[0][i]));
        OK(acu_buffer_create(stream, ACU_U8, BYTES, &pieces[1][i]));
        copies[i] = (acu_copy){.to = pieces[0][i], .from = pieces[1][i], .count = BYTES};
    }
    compare_all("between 200 buffers");
    for (size_t i = 0; i < (size_t)2 * COPIES; i++)
        OK(acu_buffer_release(pieces[i / COPIES][i % COPIES]));
    OK(acu_buffer_release(from));
    OK(acu_buffer_release(pinned));
    OK(acu_buffer_release(to));
    OK(cudaStreamDestroy(raw_stream));
    OK(cudaStreamDestroy(other_stream));
    OK(acu_stream_release(stream));
    return 0;
}
