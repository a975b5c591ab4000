/*
 * Compares the same work on one stream and on two: upload, work on the device, and download, in
 * chunks.
 *
 * On one stream each step waits for the step before. With two streams, one copies while the other
 * works. Events measure the times.
 */
#include "example.h"

enum { CHUNKS = 16, COUNT = 4194304, ROUNDS = 1, LANES = 2 };

/* A stream and its buffers. Two lanes share no buffer, so neither stream waits for the other. */
typedef struct lane {
    acu_stream *stream;
    acu_buffer *input, *output; /* pinned, because only such copies are asynchronous */
    acu_buffer *first, *second; /* on the device */
} lane;

static acu_result open_lane(lane *l) {
    const acu_buffer_options pinned = {.memory = ACU_MEMORY_PINNED};
    const float one = 1;
    ACU_TRY(
        acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &l->stream));
    ACU_TRY(acu_buffer_create_with(l->stream, ACU_F32, COUNT, &pinned, &l->input));
    ACU_TRY(acu_buffer_create_with(l->stream, ACU_F32, COUNT, &pinned, &l->output));
    ACU_TRY(acu_buffer_create(l->stream, ACU_F32, COUNT, &l->first));
    ACU_TRY(acu_buffer_create(l->stream, ACU_F32, COUNT, &l->second));
    return acu_buffer_fill(l->input, &one);
}

static void close_lane(lane *l) {
    acu_buffer_release(l->input);
    acu_buffer_release(l->output);
    acu_buffer_release(l->first);
    acu_buffer_release(l->second);
    acu_stream_release(l->stream);
}

/* Puts a chunk's work on the stream. No call waits. */
static acu_result queue_chunk(lane *l) {
    ACU_TRY(acu_buffer_copy(l->first, l->input, NULL));
    for (int i = 0; i < ROUNDS; i++) {
        ACU_TRY(acu_buffer_copy(l->second, l->first, NULL));
        ACU_TRY(acu_buffer_copy(l->first, l->second, NULL));
    }
    return acu_buffer_copy(l->output, l->second, l->stream);
}

/* Puts all chunks on `count` lanes, in turn. */
static acu_result measure(lane *lanes, int count, float *milliseconds) {
    ACU_AUTO(acu_event) *start = NULL;
    ACU_AUTO(acu_event) *end = NULL;
    ACU_TRY(acu_event_create(0, NULL, &start));
    ACU_TRY(acu_event_create(0, NULL, &end));
    ACU_TRY(acu_device_synchronize(0));
    ACU_TRY(acu_event_record(start, lanes[0].stream));
    for (int i = 1; i < count; i++)
        ACU_TRY(acu_stream_wait_event(lanes[i].stream, start));
    for (int i = 0; i < CHUNKS; i++)
        ACU_TRY(queue_chunk(&lanes[i % count]));
    for (int i = 1; i < count; i++)
        ACU_TRY(acu_stream_wait_stream(lanes[0].stream, lanes[i].stream));
    ACU_TRY(acu_event_record(end, lanes[0].stream));
    ACU_TRY(acu_event_synchronize(end));
    return acu_event_get_elapsed_time(start, end, milliseconds);
}

static acu_result check(lane *l, bool *right) {
    void *host;
    ACU_TRY(acu_buffer_get_host(l->output, &host));
    for (int i = 0; i < COUNT; i++)
        *right = *right && ((const float *)host)[i] == 1;
    return ACU_SUCCESS;
}

static acu_result overlap(lane *lanes, bool *right) {
    float warm_up, alone, together;
    for (int i = 0; i < LANES; i++)
        ACU_TRY(open_lane(&lanes[i]));
    ACU_TRY(measure(lanes, LANES, &warm_up));
    ACU_TRY(measure(lanes, 1, &alone));
    ACU_TRY(measure(lanes, LANES, &together));
    printf("%d chunks of %d MiB\n", CHUNKS, COUNT / 1048576 * (int)sizeof(float));
    printf("  one stream   %8.2f ms\n", (double)alone);
    printf("  two streams  %8.2f ms, %.2f times as fast\n", (double)together,
           (double)(alone / together));
    if (acu_loaded(ACU_CUDART)->is_sim)
        printf("  (simulated streams share the host's cores: only a GPU shows the gain)\n");
    for (int i = 0; i < LANES; i++)
        ACU_TRY(check(&lanes[i], right));
    printf(*right ? "every number came back as it went\n" : "numbers are wrong\n");
    return ACU_SUCCESS;
}

int main(void) {
    lane lanes[LANES] = {{NULL, NULL, NULL, NULL, NULL}};
    bool right = true;
    acu_result result = example_begin();
    if (!result)
        result = overlap(lanes, &right);
    int status = example_end(result);
    for (int i = 0; i < LANES; i++)
        close_lane(&lanes[i]);
    return right ? status : 1;
}
