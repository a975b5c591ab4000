/* WebGPU's back end by its table: memory, marks, what is beneath, and what goes wrong. */
#include "webgpu_device.h"

#include <anycuda/layers.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ---- */

static void devices_say_what_they_are(void **state) {
    acu_place_info info;
    acu_backend_device *none = NULL;
    (void)state;
    assert_int_equal(TABLE.device_get_info(device, &info), 0);
    assert_string_equal(info.name, machine.list[0].name);
    assert_int_equal(info.can, ACU_CAN_RUN_AHEAD | ACU_CAN_WRAP);
    assert_true(info.largest_block >= 1 << 27 && info.max_group[0] >= 128);
    assert_true(info.max_blocks >= 4 && info.max_blocks <= 32);
    assert_int_equal(info.max_rank, ACU_MAX_RANK);
    assert_true(TABLE.computes(device, ACU_F32) && TABLE.computes(device, ACU_U32));
    assert_true(!TABLE.computes(device, ACU_F64) && !TABLE.computes(device, ACU_U8));
    EXPECT_WORDS(TABLE.device_open((int)machine.count, &none), 101, "there is no adapter");
    EXPECT_WORDS(TABLE.device_open(-1, &none), 101, "there is no adapter -1");
    assert_null(none);
}

/* ---- memory ---- */

static unsigned char *make_bytes(size_t size) {
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 1000);
    return bytes;
}

/* Large memory is read in pieces, of which the last is short. */
static void memory_is_written_and_read(void **state) {
    enum { SIZE = 33 * 1024 * 1024 + 3, PART = 300001, END = SIZE - PART };
    unsigned char *x = make_bytes(SIZE), *y = make_bytes(SIZE);
    acu_backend_memory *a = memory_of(x, SIZE), *b = memory_of(y, SIZE);
    (void)state;
    memory_equals(a, x, SIZE);
    assert_int_equal(TABLE.fill(queue, b, 5, PART, "abc", 3), 0);
    for (size_t i = 0; i < PART; i++)
        y[i + 5] = (unsigned char)"abc"[i % 3];
    assert_int_equal(TABLE.copy(queue, a, END, b, 2, PART), 0);
    memcpy(x + END, y + 2, PART);
    assert_int_equal(TABLE.copy(queue, a, END - 9, a, END, PART), 0);
    memmove(x + END - 9, x + END, PART);
    memory_equals(a, x, SIZE);
    memory_equals(b, y, SIZE);
    memory_drop(a);
    memory_drop(b);
    free(x);
    free(y);
}

/* Returns what the process has in memory, in MiB. */
static long resident(void) {
    char line[128] = "", *second = line;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    (void)fclose(file);
    (void)strtol(line, &second, 10);
    return strtol(second, NULL, 10) / 256; /* pages of 4 KiB */
}

/* The library keeps what is written until something is submitted. */
static void writes_are_not_heaped_up(void **state) {
    enum { SIZE = 8 * 1024 * 1024, TIMES = 100 };
    (void)state;
    unsigned char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);
    acu_backend_memory *memory = memory_of(bytes, SIZE);
    const long before = resident();
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(TABLE.write(queue, memory, 0, bytes, SIZE), 0);
    assert_true(resident() - before < 400); /* of 800 */
    memory_drop(memory);
    free(bytes);
}

static void what_is_too_large(void **state) {
    acu_place_info info;
    acu_backend_memory *memory = NULL;
    (void)state;
    assert_int_equal(TABLE.device_get_info(device, &info), 0);
    EXPECT_WORDS(TABLE.memory_allocate(queue, info.largest_block + 1, &memory), ACU_ERROR_LIMIT,
                 "bytes are more than this device's largest buffer");
    assert_null(memory);
    assert_int_equal(TABLE.memory_allocate(queue, 1 << 20, &memory), 0);
    memory_drop(memory);
    TABLE.device_trim(device);
    memory = memory_of("abcd", 4);
    memory_equals(memory, "abcd", 4);
    memory_drop(memory);
}

/* ---- marks ---- */

static void marks(void **state) {
    acu_backend_mark *mark = NULL;
    acu_result result;
    (void)state;
    acu_backend_memory *memory = memory_of("abcd", 4);
    assert_int_equal(TABLE.fill(queue, memory, 0, 4, "x", 1), 0);
    assert_int_equal(TABLE.mark_create(queue, &mark), 0);
    assert_int_equal(TABLE.queue_wait(queue, mark), 0);
    while ((result = TABLE.mark_query(mark)) == ACU_NOT_READY)
        continue;
    assert_int_equal(result, 0);
    assert_int_equal(TABLE.mark_synchronize(mark), 0);
    acu_backend_queue *mine = queue;
    acu_backend_device *my_device = device;
    device_open(NULL);
    EXPECT_WORDS(TABLE.queue_wait(queue, mark), ACU_NOT_SUPPORTED, "cannot wait for each other");
    TABLE.queue_destroy(queue);
    TABLE.device_close(device);
    queue = mine;
    device = my_device;
    TABLE.mark_destroy(mark);
    memory_drop(memory);
}

/* ---- what is beneath ---- */

static WGPUBuffer make_buffer(const acu_raw *raw, WGPUBufferUsage usage, uint64_t size) {
    WGPUBuffer buffer =
        wgpuDeviceCreateBuffer(raw->handle, &(WGPUBufferDescriptor){.usage = usage, .size = size});
    assert_non_null(buffer);
    return buffer;
}

static void buffers_become_memory(void **state) {
    const WGPUBufferUsage usage =
        WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
    acu_raw raw, beneath;
    acu_backend_memory *memory = NULL;
    (void)state;
    assert_int_equal(TABLE.queue_get_raw(queue, &raw), 0);
    assert_true(raw.kind == ACU_RAW_WEBGPU && raw.handle && raw.other);
    WGPUBuffer buffer = make_buffer(&raw, usage, 32);
    assert_int_equal(TABLE.memory_wrap(device, buffer, 13, &memory), 0);
    assert_int_equal(TABLE.memory_get_raw(device, memory, &beneath), 0);
    assert_true(beneath.handle == buffer && !beneath.other);
    wgpuBufferRelease(buffer); /* the memory is an owner */
    assert_int_equal(TABLE.fill(queue, memory, 0, 32, "-", 1), 0);
    assert_int_equal(TABLE.write(queue, memory, 0, "ABCDEFGHIJKLM", 13), 0);
    memory_equals(memory, "ABCDEFGHIJKLM-------------------", 32);
    TABLE.memory_unwrap(device, memory);
}

static void expect_not_wrapped(WGPUBuffer buffer, uint64_t bytes, acu_result code,
                               const char *words) {
    acu_backend_memory *memory = NULL;
    EXPECT_WORDS(TABLE.memory_wrap(device, buffer, bytes, &memory), code, words);
    assert_null(memory);
    if (buffer)
        wgpuBufferRelease(buffer);
}

static void buffers_that_do_not_fit(void **state) {
    const WGPUBufferUsage copies = WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst;
    const WGPUBufferUsage usage = copies | WGPUBufferUsage_Storage;
    acu_raw raw, other;
    (void)state;
    assert_int_equal(TABLE.queue_get_raw(queue, &raw), 0);
    expect_not_wrapped(NULL, 4, ACU_ERROR_ARGUMENT, "the buffer is NULL");
    expect_not_wrapped(make_buffer(&raw, copies, 8), 8, ACU_ERROR_ARGUMENT, "are needed");
    expect_not_wrapped(make_buffer(&raw, usage, 8), 9, ACU_ERROR_RANGE, "has 8 bytes, not 9");
    expect_not_wrapped(make_buffer(&raw, usage, 7), 7, ACU_ERROR_ARGUMENT, "no whole words");
    acu_backend_device *mine = device, *second = NULL;
    acu_backend_queue *my_queue = queue;
    device_open(NULL);
    assert_int_equal(TABLE.queue_get_raw(queue, &other), 0);
    second = device;
    device = mine;
    expect_not_wrapped(make_buffer(&other, usage, 8), 8, ACU_ERROR_ARGUMENT, "Validation Error");
    TABLE.queue_destroy(queue);
    TABLE.device_close(second);
    queue = my_queue;
    assert_int_equal(TABLE.queue_synchronize(queue), 0);
}

/* ---- what goes wrong ---- */

static void expect_lost(acu_result result) {
    EXPECT_WORDS(result, ACU_GPU_LOST, "the device is lost: it was destroyed");
}

static void a_lost_device_fails_everything(void **state) {
    static const uint64_t shape[] = {2, 2};
    static const int64_t to[] = {2, 1}, from[] = {1, 2};
    const acu_backend_strided s = {
        .element_bytes = 1, .rank = 2, .shape = shape, .to = to, .from = from};
    acu_backend_mark *mark = NULL, *none = NULL;
    acu_backend_memory *memory = memory_of("abcdefgh", 8), *other = memory_of("abcd", 4);
    unsigned char bytes[8];
    (void)state;
    assert_int_equal(TABLE.mark_create(queue, &mark), 0);
    acu_gpu_lose(device->gpu);
    expect_lost(TABLE.queue_synchronize(queue));
    expect_lost(TABLE.mark_query(mark));
    expect_lost(TABLE.mark_synchronize(mark));
    expect_lost(TABLE.mark_create(queue, &none));
    expect_lost(TABLE.write(queue, memory, 1, bytes, 3));
    expect_lost(TABLE.read(queue, memory, 1, bytes, 3));
    expect_lost(TABLE.fill(queue, memory, 1, 3, "x", 1));
    expect_lost(TABLE.copy(queue, memory, 1, other, 0, 3));
    expect_lost(TABLE.copy_strided(queue, memory, other, &s));
    memory_drop(memory);
    memory_drop(other);
    TABLE.mark_destroy(mark);
}

/* Does a little of everything on a device of its own. */
static acu_result do_everything(void) {
    static const uint64_t shape[] = {3, 4};
    static const int64_t to[] = {4, 1}, from[] = {1, 3};
    const acu_backend_strided s = {.element_bytes = 1,
                                   .rank = 2,
                                   .shape = shape,
                                   .to = to,
                                   .from = from,
                                   .to_size = 24,
                                   .from_size = 24,
                                   .from_at = 12};
    acu_backend_memory *memory = NULL;
    unsigned char bytes[24] = {0};
    acu_result result = TABLE.device_open(0, &device);
    if (result)
        return result;
    assert_int_equal(TABLE.queue_create(device, NULL, &queue), 0);
    result = TABLE.memory_allocate(queue, sizeof bytes, &memory);
    if (!result)
        result = TABLE.write(queue, memory, 0, bytes, sizeof bytes);
    if (!result)
        result = TABLE.copy_strided(queue, memory, memory, &s);
    if (!result)
        result = TABLE.queue_synchronize(queue);
    if (!result)
        result = TABLE.read(queue, memory, 0, bytes, sizeof bytes);
    if (memory)
        memory_drop(memory);
    TABLE.queue_destroy(queue);
    TABLE.device_close(device);
    return result;
}

/* Each call that returns an object returns none, once; the error has words, and nothing is left. */
static void calls_that_return_nothing(void **state) {
    static const char *const functions[] = {
        "wgpuAdapterRequestDevice",     "wgpuDeviceCreateBuffer",
        "wgpuDeviceCreateShaderModule", "wgpuDeviceCreateComputePipeline",
        "wgpuDeviceCreateBindGroup",    "wgpuDeviceCreateCommandEncoder",
        "wgpuCommandEncoderFinish",     "wgpuBufferGetConstMappedRange",
    };
    (void)state;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (int call = 1; call <= 5; call++) {
            char rule[96];
            snprintf(rule, sizeof rule, "%s@%d:2", functions[f], call);
            assert_int_equal(acu_inject_errors(rule), 0);
            const acu_result result = do_everything();
            assert_int_equal(acu_inject_errors(NULL), 0);
            if (result)
                machine_contains(device_words(result), functions[f]);
            else if (call == 1)
                fail_msg("%s: nothing failed", rule);
            assert_int_equal(machine_objects(), 0);
        }
}

/* ---- threads ---- */

/* Threads have a queue each, and write to every fourth byte of one memory, so that they meet in
 * each word. */
enum { THREADS = 4, ROUNDS = 30, COUNT = 500 };

typedef struct worker {
    acu_backend_memory *shared;
    unsigned number;
    const char *wrong;
} worker;

static const char *work(const worker *w, acu_backend_queue *own) {
    static const uint64_t shape[] = {COUNT};
    static const int64_t four[] = {4}, one[] = {1};
    unsigned char bytes[COUNT], found[COUNT];
    acu_backend_memory *memory = NULL;
    acu_backend_mark *mark = NULL;
    const acu_backend_strided s = {.element_bytes = 1,
                                   .rank = 1,
                                   .shape = shape,
                                   .to = four,
                                   .from = one,
                                   .to_at = w->number,
                                   .to_size = 4 * COUNT,
                                   .from_size = COUNT};
    if (TABLE.memory_allocate(own, COUNT, &memory))
        return "a thread cannot have memory";
    for (unsigned i = 0; i < ROUNDS; i++) {
        memset(bytes, (int)(16 * w->number + i), sizeof bytes);
        if (TABLE.write(own, memory, 0, bytes, COUNT) ||
            TABLE.copy_strided(own, w->shared, memory, &s) || TABLE.mark_create(own, &mark) ||
            TABLE.mark_synchronize(mark) || TABLE.read(own, memory, 0, found, COUNT))
            return "a thread cannot use its memory";
        TABLE.mark_destroy(mark);
        if (memcmp(bytes, found, COUNT) != 0)
            return "a thread reads what another one wrote";
    }
    TABLE.memory_free(own, memory, COUNT);
    return NULL;
}

static void *start(void *data) {
    worker *w = data;
    acu_backend_queue *own = NULL;
    if (TABLE.queue_create(device, NULL, &own)) {
        w->wrong = "a thread cannot have a queue";
        return NULL;
    }
    w->wrong = work(w, own);
    TABLE.queue_destroy(own);
    return NULL;
}

static void threads_share_a_device(void **state) {
    static unsigned char bytes[4 * COUNT];
    pthread_t threads[THREADS];
    worker workers[THREADS];
    (void)state;
    acu_backend_memory *shared = memory_of(bytes, sizeof bytes);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){shared, i, NULL};
        assert_int_equal(pthread_create(&threads[i], NULL, start, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        if (workers[i].wrong)
            fail_msg("%s", workers[i].wrong);
    }
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(16 * (i % 4) + ROUNDS - 1);
    memory_equals(shared, bytes, sizeof bytes);
    memory_drop(shared);
}

int main(void) {
    device_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(devices_say_what_they_are, device_open, device_close),
        cmocka_unit_test_setup_teardown(memory_is_written_and_read, device_open, device_close),
        cmocka_unit_test_setup_teardown(writes_are_not_heaped_up, device_open, device_close),
        cmocka_unit_test_setup_teardown(what_is_too_large, device_open, device_close),
        cmocka_unit_test_setup_teardown(marks, device_open, device_close),
        cmocka_unit_test_setup_teardown(buffers_become_memory, device_open, device_close),
        cmocka_unit_test_setup_teardown(buffers_that_do_not_fit, device_open, device_close),
        cmocka_unit_test_setup_teardown(a_lost_device_fails_everything, device_open, device_close),
        cmocka_unit_test(calls_that_return_nothing),
        cmocka_unit_test_setup_teardown(threads_share_a_device, device_open, device_close),
    };
    return cmocka_run_group_tests_name("webgpu", tests, NULL, NULL);
}
