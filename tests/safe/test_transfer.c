/* Copies from and to ordinary memory of the host that nobody waits for. */
#include "transfers.h"

#include <pthread.h>
#include <sched.h>

/* ---- writing ---- */

/* The stream does nothing while the data is written, and the caller's memory changes and is freed:
 * the data is in the ring. */
static void what_is_written_is_copied_at_once(void **state) {
    (void)state;
    enum { WRITES = 100, BYTES = 5000 };
    acu_buffer *buffer = bytes_on(stream, (size_t)WRITES * BYTES);
    unsigned char *back = malloc((size_t)WRITES * BYTES);
    blocker at;
    block_stream(&at, stream);
    for (unsigned i = 0; i < WRITES; i++) {
        unsigned char *mine = malloc(BYTES);
        fill(mine, BYTES, i);
        OK(acu_buffer_write_async(buffer, (size_t)i * BYTES, ACU_U8, mine, BYTES, NULL));
        memset(mine, 0xee, BYTES);
        free(mine);
    }
    still_waits(stream);
    unblock_stream(&at);
    OK(acu_buffer_read(buffer, back, (size_t)WRITES * BYTES));
    for (unsigned i = 0; i < WRITES; i++)
        check(back + (size_t)i * BYTES, BYTES, i);
    free(back);
    OK(acu_buffer_release(buffer));
}

/* Sizes around the steps of the ring, and far more than the ring holds. */
static void every_size(void **state) {
    static const size_t sizes[] = {1,
                                   3,
                                   63,
                                   64,
                                   65,
                                   4096,
                                   65535,
                                   65536,
                                   65537,
                                   MIB - 1,
                                   MIB + 1,
                                   5 * MIB + 7,
                                   RING + 3 * MIB + 3};
    (void)state;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        unsigned char *mine = malloc(sizes[i]), *back = malloc(sizes[i]);
        acu_buffer *buffer = bytes_on(stream, sizes[i]);
        fill(mine, sizes[i], (unsigned)i);
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, sizes[i], NULL));
        memset(mine, 0, sizes[i]);
        OK(acu_buffer_read(buffer, back, sizes[i]));
        check(back, sizes[i], (unsigned)i);
        OK(acu_buffer_release(buffer));
        free(back);
        free(mine);
    }
}

/* The ring turns many times, with a size that does not divide its blocks. */
static void the_ring_wraps(void **state) {
    (void)state;
    enum { TURNS = 200, BYTES = 100001 };
    acu_buffer *buffers[7];
    unsigned char *mine = malloc(BYTES), *back = malloc(BYTES);
    for (size_t i = 0; i < COUNT(buffers); i++)
        buffers[i] = bytes_on(stream, BYTES);
    for (unsigned i = 0; i < TURNS; i++) {
        fill(mine, BYTES, i);
        OK(acu_buffer_write_async(buffers[i % COUNT(buffers)], 0, ACU_U8, mine, BYTES, NULL));
    }
    for (unsigned i = TURNS - COUNT(buffers); i < TURNS; i++) {
        OK(acu_buffer_read(buffers[i % COUNT(buffers)], back, BYTES));
        check(back, BYTES, i);
    }
    for (size_t i = 0; i < COUNT(buffers); i++)
        OK(acu_buffer_release(buffers[i]));
    free(back);
    free(mine);
}

typedef struct writer {
    acu_buffer *buffer;
    size_t bytes;
    int done; /* atomic */
} writer;

static void *write_all(void *data) {
    writer *w = data;
    unsigned char *mine = malloc(w->bytes);
    fill(mine, w->bytes, 5);
    acu_result result = acu_buffer_write_async(w->buffer, 0, ACU_U8, mine, w->bytes, NULL);
    free(mine);
    __atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
    return result ? w : NULL;
}

/* While the stream is blocked, the ring takes as much as it holds; for more, the thread waits. */
static void only_a_full_ring_makes_the_thread_wait(void **state) {
    (void)state;
    enum { HALF = RING / 2, LARGE = RING + MIB };
    unsigned char *mine = malloc(HALF), *back = malloc(LARGE);
    acu_buffer *buffer = bytes_on(stream, HALF), *large = bytes_on(stream, LARGE);
    writer w = {large, LARGE, 0};
    pthread_t thread;
    void *failed = NULL;
    blocker at;
    fill(mine, HALF, 1);
    block_stream(&at, stream);
    for (size_t i = 0; i < HALF; i += 64 * KIB) /* returns, though the stream does nothing */
        OK(acu_buffer_write_async(buffer, i, ACU_U8, mine + i, 64 * KIB, NULL));
    assert_int_equal(pthread_create(&thread, NULL, write_all, &w), 0);
    still_waits(stream);
    assert_int_equal(__atomic_load_n(&w.done, __ATOMIC_ACQUIRE), 0);
    unblock_stream(&at);
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    OK(acu_buffer_read(buffer, back, HALF));
    check(back, HALF, 1);
    OK(acu_buffer_read(large, back, LARGE));
    check(back, LARGE, 5);
    OK(acu_buffer_release(large));
    OK(acu_buffer_release(buffer));
    free(back);
    free(mine);
}

static void every_kind_of_memory(void **state) {
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MAPPED, ACU_MEMORY_MANAGED};
    (void)state;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        acu_buffer *buffer = NULL;
        acu_transfer *transfer = NULL;
        float numbers[] = {1, 2, 3, 4}, back[3] = {0};
        const acu_buffer_options options = {.memory = kinds[i]};
        OK(acu_buffer_create_with(stream, ACU_F32, 10, &options, &buffer));
        OK(acu_buffer_write_async(buffer, 5, ACU_F32, numbers, 4, NULL));
        numbers[1] = 0;
        OK(acu_buffer_read_async(buffer, 6, 3, &transfer, NULL));
        OK(acu_buffer_zero(buffer, NULL));
        OK(acu_transfer_read(transfer, back, 3));
        assert_memory_equal(back, ((float[]){2, 3, 4}), sizeof back);
        OK(acu_transfer_release(transfer));
        OK(acu_buffer_release(buffer));
    }
}

/* ---- reading ---- */

/* A transfer has what the elements were at its place in the stream. */
static void a_transfer_has_its_place_in_the_stream(void **state) {
    (void)state;
    enum { COUNT_OF_ELEMENTS = 1000, READS = 50 };
    acu_buffer *buffer = NULL;
    acu_transfer *transfers[READS];
    int32_t back[COUNT_OF_ELEMENTS];
    blocker at;
    OK(acu_buffer_create(stream, ACU_I32, COUNT_OF_ELEMENTS, &buffer));
    block_stream(&at, stream);
    for (int32_t i = 0; i < READS; i++) {
        OK(acu_buffer_fill(buffer, &i));
        OK(acu_buffer_read_async(buffer, 0, COUNT_OF_ELEMENTS, &transfers[i], NULL));
        assert_int_equal(acu_transfer_query(transfers[i]), ACU_NOT_READY);
    }
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(buffer));
    unblock(&at);
    for (int32_t i = READS; i-- > 0;) {
        OK(acu_transfer_read(transfers[i], back, COUNT_OF_ELEMENTS));
        for (size_t j = 0; j < COUNT_OF_ELEMENTS; j++)
            assert_int_equal(back[j], i);
        OK(acu_transfer_query(transfers[i]));
        OK(acu_transfer_release(transfers[i]));
    }
}

/* What reads and is not wanted any more is released at once; its memory is used again by the next
 * read, whose data comes later. */
static void a_transfer_is_released_before_it_is_done(void **state) {
    (void)state;
    acu_buffer *buffer = bytes_on(stream, 100 * KIB);
    unsigned char *mine = malloc(100 * KIB), *back = malloc(100 * KIB);
    acu_transfer *transfer = NULL;
    blocker at;
    block_stream(&at, stream);
    for (unsigned i = 0; i < 20; i++) {
        fill(mine, 100 * KIB, i);
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 100 * KIB, NULL));
        OK(acu_transfer_release(transfer));
        OK(acu_buffer_read_async(buffer, 0, 100 * KIB, &transfer, NULL));
    }
    unblock(&at);
    OK(acu_transfer_read(transfer, back, 100 * KIB));
    check(back, 100 * KIB, 19);
    OK(acu_transfer_release(transfer));
    OK(acu_buffer_release(buffer));
    free(back);
    free(mine);
}

static void a_transfer_outlives_its_stream(void **state) {
    (void)state;
    acu_stream *own = stream_on(0);
    acu_buffer *buffer = numbers_on(own, 8);
    acu_transfer *transfer = NULL, *same = NULL;
    float back[4] = {0};
    blocker at;
    block_stream(&at, own);
    OK(acu_buffer_read_async(buffer, 2, 4, &transfer, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(own));
    same = acu_transfer_retain(transfer);
    assert_ptr_equal(same, transfer);
    OK(acu_transfer_release(transfer));
    unblock(&at);
    OK(acu_transfer_synchronize(same));
    OK(acu_transfer_read(same, back, 4));
    assert_memory_equal(back, ((float[]){2, 3, 4, 5}), sizeof back);
    OK(acu_transfer_release(same));
}

/* A stream that is released while it writes: its pinned memory is freed once the copies are over.
 */
static void a_stream_is_released_while_it_writes(void **state) {
    (void)state;
    acu_stream *own = stream_on(0);
    acu_buffer *buffer = bytes_on(stream, 3 * MIB);
    unsigned char *mine = malloc(3 * MIB), *back = malloc(3 * MIB);
    blocker at;
    fill(mine, 3 * MIB, 9);
    block_stream(&at, own);
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 3 * MIB, own));
    OK(acu_stream_release(own));
    memset(mine, 0, 3 * MIB);
    free(mine);
    unblock(&at);
    OK(acu_buffer_read(buffer, back, 3 * MIB)); /* comes after the other stream's write */
    check(back, 3 * MIB, 9);
    OK(acu_buffer_release(buffer));
    free(back);
}

static void what_a_transfer_is(void **state) {
    (void)state;
    acu_buffer *buffer = numbers_on(stream, 8);
    acu_transfer *transfer = NULL, *none = NULL;
    const void *host = &host, *again = NULL;
    char line[200], right[200];
    int32_t bits[8] = {0};
    OK(acu_buffer_read_async(buffer, 2, 5, &transfer, NULL));
    snprintf(right, sizeof right, "transfer %p (5 x f32, not waited for) on device 0",
             (void *)transfer);
    acu_transfer_describe(transfer, line, sizeof line);
    assert_string_equal(line, right);
    assert_int_equal(acu_transfer_dtype(transfer), ACU_F32);
    assert_int_equal(acu_transfer_count(transfer), 5);
    assert_int_equal(acu_transfer_bytes(transfer), 20);
    assert_int_equal(acu_transfer_device(transfer), 0);
    OK(acu_transfer_get_host(transfer, &host));
    OK(acu_transfer_get_host(transfer, &again));
    assert_ptr_equal(host, again);
    assert_memory_equal(host, ((float[]){2, 3, 4, 5, 6}), 20);
    snprintf(right, sizeof right, "transfer %p (5 x f32) on device 0", (void *)transfer);
    acu_transfer_describe(transfer, line, sizeof line);
    assert_string_equal(line, right);
    OK(acu_transfer_read_typed(transfer, 3, ACU_ANY, bits, 2));
    assert_memory_equal(bits, ((float[]){5, 6}), 8);
    OK(acu_buffer_read_async(buffer, 8, 0, &none, NULL));
    OK(acu_transfer_query(none));
    OK(acu_transfer_synchronize(none));
    OK(acu_transfer_get_host(none, &host));
    assert_null(host);
    OK(acu_transfer_read_typed(none, 0, ACU_F32, NULL, 0));
    OK(acu_buffer_write_async(buffer, 8, ACU_F32, NULL, 0, NULL));
    assert_int_equal(acu_transfer_bytes(none), 0);
    assert_int_equal(acu_transfer_count(NULL), 0);
    assert_int_equal(acu_transfer_bytes(NULL), 0);
    assert_int_equal(acu_transfer_dtype(NULL), ACU_ANY);
    assert_int_equal(acu_transfer_device(NULL), ACU_DEVICE_CURRENT);
    OK(acu_transfer_release(none));
    OK(acu_transfer_release(transfer));
    OK(acu_buffer_release(buffer));
}

/* ---- several streams, several threads ---- */

static void other_streams_wait(void **state) {
    (void)state;
    acu_stream *other = stream_on(another_device());
    acu_buffer *buffer = bytes_on(stream, 2 * MIB);
    unsigned char *mine = malloc(2 * MIB), *back = malloc(2 * MIB);
    acu_transfer *transfer = NULL;
    blocker at;
    fill(mine, 2 * MIB, 3);
    block_stream(&at, stream);
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 2 * MIB, NULL));
    OK(acu_buffer_read_async(buffer, 0, 2 * MIB, &transfer, other));
    assert_int_equal(acu_transfer_device(transfer), another_device());
    assert_int_equal(acu_transfer_query(transfer), ACU_NOT_READY);
    memset(mine, 1, 2 * MIB);
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 2 * MIB, NULL)); /* after the read */
    unblock(&at);
    OK(acu_transfer_read(transfer, back, 2 * MIB));
    check(back, 2 * MIB, 3);
    OK(acu_transfer_release(transfer));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(other));
    free(back);
    free(mine);
}

enum { THREADS = 4, ROUNDS = 60 };

/* Each thread has a buffer of its own on the stream that all share. */
static void *write_and_read(void *data) {
    const size_t bytes = 70001;
    const unsigned number = *(unsigned *)data;
    unsigned char *mine = malloc(bytes), *back = malloc(bytes);
    acu_buffer *buffer = NULL;
    bool wrong = acu_buffer_create(stream, ACU_U8, bytes, &buffer) != 0;
    for (unsigned i = 0; i < ROUNDS && !wrong; i++) {
        acu_transfer *transfer = NULL;
        fill(mine, bytes, number * ROUNDS + i);
        wrong = acu_buffer_write_async(buffer, 0, ACU_U8, mine, bytes, NULL) ||
                acu_buffer_read_async(buffer, 0, bytes, &transfer, NULL);
        memset(mine, 0, bytes);
        wrong = wrong || acu_transfer_read(transfer, back, bytes);
        for (size_t j = 0; j < bytes && !wrong; j++)
            wrong = back[j] != byte_of(number * ROUNDS + i, j);
        (void)acu_transfer_release(transfer);
    }
    (void)acu_buffer_release(buffer);
    free(back);
    free(mine);
    return wrong ? data : NULL;
}

static void threads_share_a_stream(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_and_read, &numbers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

static void the_default_streams(void **state) {
    (void)state;
    acu_stream *streams[2] = {NULL, NULL};
    OK(acu_stream_get_legacy(another_device(), &streams[0]));
    OK(acu_stream_get_per_thread(another_device(), &streams[1]));
    for (size_t i = 0; i < COUNT(streams); i++) {
        acu_buffer *buffer = bytes_on(streams[i], 3 * MIB);
        unsigned char *mine = malloc(3 * MIB), *back = malloc(3 * MIB);
        acu_transfer *transfer = NULL;
        fill(mine, 3 * MIB, 4);
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 3 * MIB, NULL));
        OK(acu_buffer_read_async(buffer, 0, 3 * MIB, &transfer, NULL));
        memset(mine, 0, 3 * MIB);
        OK(acu_transfer_read(transfer, back, 3 * MIB));
        check(back, 3 * MIB, 4);
        OK(acu_transfer_release(transfer));
        OK(acu_buffer_release(buffer));
        OK(acu_stream_release(streams[i]));
        free(back);
        free(mine);
    }
}

/* ---- captures ---- */

/* Returns the result of writing 3 MiB on another stream by another thread. */
static bool another_thread_writes(acu_buffer *buffer) {
    writer w = {buffer, 3 * MIB, 0};
    pthread_t thread;
    void *failed = NULL;
    assert_int_equal(pthread_create(&thread, NULL, write_all, &w), 0);
    assert_int_equal(pthread_join(thread, &failed), 0);
    return !failed;
}

/* A capture of one thread is no matter to another one, which allocates the ring meanwhile, unless
 * it forbids unsafe calls to all: then the write is refused, and the capture goes on. */
static void another_threads_capture(void **state) {
    (void)state;
    acu_stream *captured = stream_on(0);
    acu_buffer *buffer = bytes_on(stream, 3 * MIB), *theirs = numbers_on(captured, 8);
    for (int mode = 0; mode < 2; mode++) {
        acu_graph *graph = NULL;
        const acu_capture_options options = {.mode =
                                                 mode ? ACU_CAPTURE_THREAD : ACU_CAPTURE_GLOBAL};
        OK(acu_stream_begin_capture(captured, &options));
        assert_int_equal(another_thread_writes(buffer), mode == 1);
        OK(acu_buffer_zero(theirs, NULL));
        OK(acu_stream_end_capture(captured, &graph));
        OK(acu_graph_release(graph));
    }
    OK(acu_buffer_release(theirs));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(captured));
}

/* ---- failures ---- */

/* Without pinned memory the calls wait, and the data is right all the same. */
static void without_pinned_memory(void **state) {
    (void)state;
    acu_buffer *buffer = bytes_on(stream, 3 * MIB);
    unsigned char *mine = malloc(3 * MIB), *back = malloc(3 * MIB);
    acu_transfer *transfer = NULL;
    fill(mine, 3 * MIB, 2);
    acu_clear_error();
    acu_inject_errors("cudaHostAlloc@*:2");
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 3 * MIB, NULL));
    memset(mine, 0, 3 * MIB);
    OK(acu_buffer_read_async(buffer, 0, 3 * MIB, &transfer, NULL));
    assert_int_equal(acu_last_error(), 0); /* the failure was overcome */
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_transfer_query(transfer));
    OK(acu_transfer_read(transfer, back, 3 * MIB));
    check(back, 3 * MIB, 2);
    OK(acu_transfer_release(transfer));
    acu_inject_errors("cudaHostAlloc@2+:2"); /* the ring stays as small as it is */
    for (unsigned i = 0; i < 5; i++) {
        fill(mine, 3 * MIB, i);
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 3 * MIB, NULL));
        OK(acu_buffer_read(buffer, back, 3 * MIB));
        check(back, 3 * MIB, i);
    }
    acu_inject_errors(NULL);
    OK(acu_buffer_release(buffer));
    free(back);
    free(mine);
}

static void failures_of_cuda(void **state) {
    static const char *const rules[] = {"cudaHostAlloc@1:999", "cudaEventCreateWithFlags@1:999",
                                        "cudaMemcpyAsync@1:999"};
    (void)state;
    acu_buffer *buffer = numbers_on(stream, 8);
    float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8];
    acu_transfer *transfer = NULL;
    for (size_t i = 0; i < COUNT(rules); i++) {
        acu_stream *own = stream_on(0);
        OK(acu_device_synchronize(0)); /* frees what earlier streams had */
        acu_inject_errors(rules[i]);
        FAILS(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 8, own), 999, "error injected");
        acu_inject_errors(rules[i]);
        if (i < 2) { /* the write has made its ring */
            FAILS(acu_buffer_read_async(buffer, 0, 8, &transfer, own), 999, "error injected");
            assert_null(transfer);
        }
        acu_inject_errors(NULL);
        OK(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 8, own));
        OK(acu_buffer_read_async(buffer, 0, 8, &transfer, own));
        OK(acu_transfer_read(transfer, back, 8));
        assert_memory_equal(back, numbers, sizeof back);
        OK(acu_transfer_release(transfer));
        OK(acu_stream_release(own));
    }
    acu_inject_errors("cudaEventRecord@*:999");
    FAILS(acu_buffer_read_async(buffer, 0, 8, &transfer, NULL), 999, "error injected");
    assert_null(transfer);
    acu_inject_errors(NULL);
    OK(acu_buffer_read_async(buffer, 0, 8, &transfer, NULL));
    acu_inject_errors("cudaEventSynchronize@1:999;cudaEventQuery@1:999");
    FAILS(acu_transfer_query(transfer), 999, "error injected");
    FAILS(acu_transfer_read(transfer, back, 8), 999, "error injected");
    acu_inject_errors(NULL);
    OK(acu_transfer_read(transfer, back, 8));
    OK(acu_transfer_release(transfer));
    OK(acu_buffer_release(buffer));
}

/* The ring asks and waits for its blocks; where that fails, nothing is lost but the write. */
static void failures_of_a_ring(void **state) {
    static const char *const rules[] = {"cudaEventRecord@1:999", "cudaEventQuery@1:999",
                                        "cudaEventSynchronize@1:999;cudaHostAlloc@*:2"};
    (void)state;
    acu_buffer *buffer = bytes_on(stream, 2 * MIB);
    unsigned char *mine = malloc(2 * MIB), *back = malloc(2 * MIB);
    OK(acu_buffer_write_async(buffer, 0, ACU_U8, memset(mine, 0, 2 * MIB), 2 * MIB, NULL));
    for (unsigned i = 0; i < COUNT(rules); i++) {
        blocker at;
        fill(mine, 2 * MIB, i);
        if (i < 2) {
            acu_inject_errors(rules[i]);
            FAILS(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 2 * MIB, NULL), 999, "injected");
        } else { /* the block is still in use */
            block_stream(&at, stream);
            OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 2 * MIB, NULL));
            acu_inject_errors(rules[i]);
            FAILS(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 2 * MIB, NULL), 999, "injected");
            unblock_stream(&at);
        }
        acu_inject_errors(NULL);
        OK(acu_buffer_write_async(buffer, 0, ACU_U8, mine, 2 * MIB, NULL));
        OK(acu_buffer_read(buffer, back, 2 * MIB));
        check(back, 2 * MIB, i);
    }
    OK(acu_buffer_release(buffer));
    free(back);
    free(mine);
}

static void misuse(void **state) {
    (void)state;
    acu_buffer *buffer = numbers_on(stream, 8);
    acu_transfer *transfer = NULL;
    const void *host = NULL;
    float numbers[8] = {0};
    FAILS(acu_buffer_write_async(NULL, 0, ACU_F32, numbers, 8, NULL), ACU_ERROR_ARGUMENT,
          "the buffer is NULL");
    FAILS(acu_buffer_write_async(buffer, 0, ACU_F32, NULL, 8, NULL), ACU_ERROR_ARGUMENT, "'host'");
    FAILS(acu_buffer_write_async(buffer, 1, ACU_F32, numbers, 8, NULL), ACU_ERROR_RANGE,
          "8 elements from element 1 on are outside of the buffer");
    FAILS(acu_buffer_write_async(buffer, 0, ACU_F64, numbers, 1, NULL), ACU_ERROR_DTYPE,
          "the buffer holds f32, the host f64");
    FAILS(acu_buffer_write_async(buffer, 0, ACU_F32, numbers, 1, (acu_stream *)buffer),
          ACU_ERROR_HANDLE, "a buffer is given where a stream is needed");
    FAILS(acu_buffer_read_async(buffer, 0, 8, NULL, NULL), ACU_ERROR_ARGUMENT, "'transfer'");
    FAILS(acu_buffer_read_async(NULL, 0, 8, &transfer, NULL), ACU_ERROR_ARGUMENT,
          "the buffer is NULL");
    FAILS(acu_buffer_read_async(buffer, 9, 0, &transfer, NULL), ACU_ERROR_RANGE, "outside");
    FAILS(acu_buffer_read_async(buffer, 0, SIZE_MAX, &transfer, NULL), ACU_ERROR_RANGE, "outside");
    assert_null(transfer);
    FAILS(acu_transfer_query(NULL), ACU_ERROR_ARGUMENT, "the transfer is NULL");
    FAILS(acu_transfer_synchronize((acu_transfer *)buffer), ACU_ERROR_HANDLE,
          "a buffer is given where a transfer is needed");
    OK(acu_buffer_read_async(buffer, 0, 8, &transfer, NULL));
    FAILS(acu_transfer_get_host(transfer, NULL), ACU_ERROR_ARGUMENT, "'host'");
    FAILS(acu_transfer_get_host(NULL, &host), ACU_ERROR_ARGUMENT, "the transfer is NULL");
    FAILS(acu_transfer_read_typed(transfer, 0, ACU_F32, NULL, 1), ACU_ERROR_ARGUMENT, "'host'");
    FAILS(acu_transfer_read_typed(transfer, 7, ACU_F32, numbers, 2), ACU_ERROR_RANGE,
          "2 elements from element 7 on are outside of the transfer, which has 8");
    FAILS(acu_transfer_read_typed(transfer, 0, ACU_F64, numbers, 1), ACU_ERROR_DTYPE,
          "the transfer holds f32, the host f64");
    FAILS(acu_transfer_read_typed(transfer, 0, (acu_dtype)0x7777, numbers, 1), ACU_ERROR_DTYPE,
          "is no type of elements");
    acu_quarantine(10);
    OK(acu_transfer_release(transfer));
    FAILS(acu_transfer_release(transfer), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_transfer_read(transfer, numbers, 1), ACU_ERROR_HANDLE, "released already");
    assert_null(acu_transfer_retain(transfer));
    OK(acu_transfer_release(NULL));
    OK(acu_buffer_release(buffer));
}

/* The staging of a stream is no object of the program's. */
static void a_reset_counts_no_staging(void **state) {
    (void)state;
    ONLY_SIMULATED("a reset of the device");
    acu_buffer *buffer = numbers_on(stream, 8);
    float number = 1;
    char before[200];
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "2 objects of device 0 are still alive");
    snprintf(before, sizeof before, "%s", acu_last_error_message());
    OK(acu_buffer_write_async(buffer, 0, ACU_F32, &number, 1, NULL));
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, before);
    OK(acu_buffer_release(buffer));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TRANSFER_TEST(what_is_written_is_copied_at_once),
        TRANSFER_TEST(every_size),
        TRANSFER_TEST(the_ring_wraps),
        TRANSFER_TEST(only_a_full_ring_makes_the_thread_wait),
        TRANSFER_TEST(every_kind_of_memory),
        TRANSFER_TEST(a_transfer_has_its_place_in_the_stream),
        TRANSFER_TEST(a_transfer_is_released_before_it_is_done),
        TRANSFER_TEST(a_transfer_outlives_its_stream),
        TRANSFER_TEST(a_stream_is_released_while_it_writes),
        TRANSFER_TEST(what_a_transfer_is),
        TRANSFER_TEST(other_streams_wait),
        TRANSFER_TEST(threads_share_a_stream),
        TRANSFER_TEST(the_default_streams),
        TRANSFER_TEST(another_threads_capture),
        TRANSFER_TEST(without_pinned_memory),
        TRANSFER_TEST(failures_of_cuda),
        TRANSFER_TEST(failures_of_a_ring),
        TRANSFER_TEST(misuse),
        TRANSFER_TEST(a_reset_counts_no_staging),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
