/* Bytes of any size at any offset, although WebGPU moves words of four. */
#include "machine.h"

#include "runtime/webgpu/gpu_mark.h"
#include "runtime/webgpu/gpu_transfer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static acu_gpu *gpu;

static int open_gpu(void **state) {
    (void)state;
    gpu = machine_open();
    return 0;
}

static int close_gpu(void **state) {
    (void)state;
    machine_close(gpu);
    return 0;
}

/* A block, and the bytes that it must have. */
typedef struct pair {
    acu_gpu_block *block;
    unsigned char *bytes;
    uint32_t size;
} pair;

static pair make(uint32_t size) {
    pair p = {.bytes = calloc(1, size + 1), .size = size};
    assert_non_null(p.bytes);
    assert_int_equal(acu_gpu_block_create(gpu, size, &p.block), 0);
    return p;
}

static void drop(pair *p) {
    acu_gpu_block_release(p->block);
    free(p->bytes);
}

static void expect_equal(const pair *p) {
    unsigned char *found = malloc(p->size + 1);
    assert_non_null(found);
    found[p->size] = 0xa5;
    assert_int_equal(acu_gpu_block_read(p->block, 0, found, p->size), 0);
    assert_memory_equal(found, p->bytes, p->size);
    assert_int_equal(found[p->size], 0xa5);
    free(found);
}

static void write_randomly(const pair *p) {
    const uint32_t offset = machine_random(p->size + 1);
    const uint32_t size = machine_random(p->size - offset + 1);
    for (uint32_t i = 0; i < size; i++)
        p->bytes[offset + i] = (unsigned char)machine_random(256);
    assert_int_equal(acu_gpu_block_write(p->block, offset, p->bytes + offset, size), 0);
}

static void read_randomly(const pair *p) {
    const uint32_t offset = machine_random(p->size + 1);
    const uint32_t size = machine_random(p->size - offset + 1);
    unsigned char *found = malloc(size + 1);
    assert_non_null(found);
    assert_int_equal(acu_gpu_block_read(p->block, offset, found, size), 0);
    assert_memory_equal(found, p->bytes + offset, size);
    free(found);
}

static void fill_randomly(const pair *p) {
    const uint32_t offset = machine_random(p->size + 1);
    const uint32_t size = machine_random(p->size - offset + 1);
    unsigned char element[16];
    const uint32_t element_size = 1 + machine_random(16);
    const bool zero = machine_random(4) == 0; /* which WebGPU can do by itself */
    for (uint32_t i = 0; i < element_size; i++)
        element[i] = (unsigned char)machine_random(zero ? 1 : 256);
    for (uint32_t i = 0; i < size; i++)
        p->bytes[offset + i] = element[i % element_size];
    assert_int_equal(acu_gpu_block_fill(p->block, offset, size, element, element_size), 0);
}

static void copy_randomly(const pair *to, const pair *from) {
    const uint32_t a = machine_random(to->size + 1), b = machine_random(from->size + 1);
    const uint32_t room = to->size - a < from->size - b ? to->size - a : from->size - b;
    const uint32_t size = machine_random(room + 1);
    memmove(to->bytes + a, from->bytes + b, size);
    assert_int_equal(acu_gpu_block_copy(to->block, a, from->block, b, size), 0);
}

static void act_randomly(pair *pairs, uint32_t count, int times) {
    for (int i = 0; i < times; i++) {
        pair *p = &pairs[machine_random(count)];
        switch (machine_random(5)) {
        case 0:
            write_randomly(p);
            break;
        case 1:
            fill_randomly(p);
            break;
        case 2:
            read_randomly(p);
            break;
        default:
            copy_randomly(p, &pairs[machine_random(count)]);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        expect_equal(&pairs[i]);
}

static void any_bytes_of_small_blocks(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 17, 61, 255, 256, 1027};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    pair pairs[COUNT];
    for (int i = 0; i < COUNT; i++)
        pairs[i] = make(sizes[i]);
    act_randomly(pairs, COUNT, 1500);
    for (int i = 0; i < COUNT; i++)
        drop(&pairs[i]);
}

static void any_bytes_of_large_blocks(void **state) {
    (void)state;
    pair pairs[] = {make(5 * 1000 * 1000 + 1), make(3 * 1000 * 1000 + 3), make(1 << 20)};
    act_randomly(pairs, 3, 40);
    for (int i = 0; i < 3; i++)
        drop(&pairs[i]);
}

/* A device whose kernels may use little of a buffer, and few groups, does the same in parts. */
static void any_bytes_in_parts(void **state) {
    (void)state;
    pair pairs[] = {make(70001), make(65536), make(30007)};
    const WGPULimits limits = gpu->limits;
    gpu->limits.maxStorageBufferBindingSize = 4096 + 1024;
    gpu->limits.maxComputeWorkgroupsPerDimension = 3;
    gpu->scratch_step = 1000;
    act_randomly(pairs, 3, 120);
    gpu->limits = limits;
    for (int i = 0; i < 3; i++)
        drop(&pairs[i]);
}

static void a_new_block_is_zero(void **state) {
    (void)state;
    pair p = make(1001);
    expect_equal(&p);
    drop(&p);
}

static void ranges_are_checked(void **state) {
    (void)state;
    pair p = make(10);
    unsigned char bytes[16] = {0};
    EXPECT_ERROR(acu_gpu_block_write(p.block, 5, bytes, 6), ACU_ERROR_RANGE,
                 "acu_gpu_block_write: bytes 5 to 11 are not inside the block; block of 10 bytes");
    EXPECT_ERROR(acu_gpu_block_read(p.block, 11, bytes, 0), ACU_ERROR_RANGE, "bytes 11 to 11");
    EXPECT_ERROR(acu_gpu_block_fill(p.block, UINT64_MAX, 2, bytes, 1), ACU_ERROR_RANGE, "bytes");
    EXPECT_ERROR(acu_gpu_block_fill(p.block, 0, 2, bytes, 17), ACU_ERROR_ARGUMENT,
                 "an element has 1 to 16 bytes, not 17");
    EXPECT_ERROR(acu_gpu_block_copy(p.block, 0, p.block, 9, 2), ACU_ERROR_RANGE, "bytes 9 to 11");
    expect_equal(&p);
    drop(&p);
}

/* The library keeps a buffer for each write until the next submission: 200 MB for 100,000 words. */
static void small_writes_are_sent(void **state) {
    (void)state;
    enum { WRITES = 20000, WORDS = 256 };
    int submissions = 0;
    uint64_t before = 0;
    pair p = make(WORDS * 4);
    for (uint32_t i = 0; i < WRITES; i++) {
        const size_t at = (size_t)i % WORDS * 4;
        memcpy(p.bytes + at, &i, sizeof i);
        assert_int_equal(acu_gpu_block_write(p.block, at, &i, sizeof i), 0);
        submissions += gpu->unsent < before;
        before = gpu->unsent;
        assert_true(gpu->unsent < ACU_GPU_STEP);
    }
    assert_true(submissions >= 2 && submissions < 10);
    expect_equal(&p);
    drop(&p);
}

/* The limit is asked for, and what is above it never reaches WebGPU. */
static void the_largest_block(void **state) {
    (void)state;
    acu_gpu_block *block = NULL;
    const uint64_t most = acu_gpu_block_limit(gpu);
    assert_true(most >= 1 << 28 && most <= gpu->limits.maxBufferSize);
    EXPECT_ERROR(acu_gpu_block_create(gpu, most + 1, &block), ACU_ERROR_LIMIT,
                 "are more than this device's largest buffer");
    assert_null(block);
    EXPECT_ERROR(acu_gpu_block_create(gpu, UINT64_MAX, &block), ACU_ERROR_LIMIT, "bytes");
}

static void blocks_of_two_devices(void **state) {
    (void)state;
    acu_gpu *mine = gpu, *other = NULL;
    assert_int_equal(acu_gpu_open(&machine, 0, &other), 0);
    pair a = make(8);
    gpu = other;
    pair b = make(8);
    gpu = mine;
    EXPECT_ERROR(acu_gpu_block_copy(a.block, 0, b.block, 0, 8), ACU_ERROR_DEVICE,
                 "the blocks are of different devices");
    drop(&a);
    drop(&b);
    acu_gpu_close(other);
}

/* ---- transfers ---- */

static void transfers_keep_what_was_there(void **state) {
    (void)state;
    enum { COUNT = 12, SIZE = 1003 };
    acu_gpu_transfer *transfers[COUNT];
    unsigned char found[SIZE];
    pair p = make(SIZE);
    for (int i = 0; i < COUNT; i++) {
        const unsigned char byte = (unsigned char)(i + 1);
        assert_int_equal(acu_gpu_block_fill(p.block, 0, SIZE, &byte, 1), 0);
        assert_int_equal(acu_gpu_transfer_begin(p.block, 1, SIZE - 2, &transfers[i]), 0);
    }
    acu_gpu_block_release(p.block);
    p.block = NULL;
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    for (int i = COUNT - 1; i >= 0; i--) {
        memset(p.bytes, i + 1, SIZE);
        assert_int_equal(acu_gpu_transfer_end(transfers[i], found), 0);
        assert_memory_equal(found, p.bytes, SIZE - 2);
    }
    drop(&p);
}

static void a_transfer_is_done_without_waiting(void **state) {
    (void)state;
    acu_gpu_transfer *transfer = NULL;
    pair p = make(100);
    assert_int_equal(acu_gpu_transfer_begin(p.block, 0, 100, &transfer), 0);
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    while (!acu_gpu_transfer_is_done(transfer))
        continue;
    assert_int_equal(acu_gpu_transfer_end(transfer, NULL), 0);
    drop(&p);
}

/* ---- marks ---- */

static void marks_are_done_in_their_order(void **state) {
    (void)state;
    acu_gpu_mark *first = NULL, *second = NULL;
    pair p = make(1 << 20);
    assert_int_equal(acu_gpu_block_fill(p.block, 1, 1000, "ab", 2), 0);
    assert_int_equal(acu_gpu_mark_create(gpu, &first), 0);
    assert_int_equal(acu_gpu_block_fill(p.block, 0, 1 << 20, "c", 1), 0);
    assert_int_equal(acu_gpu_mark_create(gpu, &second), 0);
    assert_int_equal(acu_gpu_mark_wait(second), 0);
    assert_true(acu_gpu_mark_is_done(second) && acu_gpu_mark_is_done(first));
    assert_int_equal(acu_gpu_mark_wait(first), 0);
    acu_gpu_mark_release(first);
    acu_gpu_mark_release(second);
    acu_gpu_mark_release(NULL);
    drop(&p);
}

static void a_mark_may_be_released_before_the_work(void **state) {
    (void)state;
    acu_gpu_mark *mark = NULL;
    pair p = make(1 << 20);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(acu_gpu_block_fill(p.block, 0, 1 << 20, "c", 1), 0);
        assert_int_equal(acu_gpu_mark_create(gpu, &mark), 0);
        acu_gpu_mark_release(mark);
    }
    assert_int_equal(acu_gpu_synchronize(gpu), 0);
    drop(&p);
}

/* ---- threads ---- */

static void *work(void *unused) {
    unsigned char bytes[257], found[257];
    acu_gpu_block *block = NULL;
    (void)unused;
    if (acu_gpu_block_create(gpu, sizeof bytes, &block))
        return "a thread cannot make a block";
    for (int i = 0; i < 60; i++) {
        const size_t offset = (size_t)i, size = sizeof bytes - offset;
        memset(bytes, i, sizeof bytes);
        if (acu_gpu_block_write(block, offset, bytes, size) ||
            acu_gpu_block_copy(block, 0, block, offset, size) ||
            acu_gpu_block_read(block, 0, found, size))
            return "a thread cannot use its block";
        if (memcmp(found, bytes, size) != 0)
            return "a thread reads what another one wrote";
    }
    acu_gpu_block_release(block);
    return NULL;
}

/* Writes of whole words need no lock; each is before the copy that comes after it. */
static void *write_words(void *unused) {
    enum { WORDS = 64 };
    uint32_t words[WORDS] = {0}, found[WORDS];
    acu_gpu_block *block = NULL, *copy = NULL;
    (void)unused;
    if (acu_gpu_block_create(gpu, sizeof words, &block) ||
        acu_gpu_block_create(gpu, sizeof words, &copy))
        return "a thread cannot make a block";
    for (uint32_t i = 0; i < 2000; i++) {
        const uint32_t at = i * 7 % WORDS;
        words[at] = i;
        if (acu_gpu_block_write(block, at * sizeof *words, &words[at], sizeof *words))
            return "a thread cannot write a word";
        if (i % 50 != 0)
            continue;
        if (acu_gpu_block_copy(copy, 0, block, 0, sizeof words) ||
            acu_gpu_block_read(copy, 0, found, sizeof found))
            return "a thread cannot read its words";
        if (memcmp(found, words, sizeof words) != 0)
            return "a thread does not read what it wrote";
    }
    acu_gpu_block_release(block);
    acu_gpu_block_release(copy);
    return NULL;
}

static void threads_share_a_device(void **state) {
    (void)state;
    enum { COUNT = 6 };
    pthread_t threads[COUNT];
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i % 2 ? work : write_words, NULL), 0);
    for (int i = 0; i < COUNT; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
}

int main(void) {
    machine_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_bytes_of_small_blocks, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(any_bytes_of_large_blocks, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(any_bytes_in_parts, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(a_new_block_is_zero, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(ranges_are_checked, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(small_writes_are_sent, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(the_largest_block, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(blocks_of_two_devices, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(transfers_keep_what_was_there, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(a_transfer_is_done_without_waiting, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(marks_are_done_in_their_order, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(a_mark_may_be_released_before_the_work, open_gpu,
                                        close_gpu),
        cmocka_unit_test_setup_teardown(threads_share_a_device, open_gpu, close_gpu),
    };
    const int failed = cmocka_run_group_tests_name("webgpu_block", tests, NULL, NULL);
    acu_gpu_adapters_drop(&machine);
    return failed;
}
