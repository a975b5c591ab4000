/*
 * Memory and semaphores that Vulkan made: what Vulkan writes, CUDA reads, and the other way, in the
 * order of semaphores.
 *
 * On a GPU that is NVIDIA's Vulkan, without a window; on the simulator Mesa's, which computes on
 * the CPU and exports memory only. The program needs nothing but libc, because a GPU's machine may
 * have no more; what it prints of each test looks as cmocka's, for tests/gpu/suites.py.
 */
#include "vulkan.h"

#include <anycuda/anycuda.h>
#include <anycuda/load.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 16, BYTES = 4 * COUNT, SKIPPED = 77 };

static int failures, skips;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                                 \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, acu_last_error_message());        \
            failures++;                                                                            \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static acu_stream *stream;
static vulkan_memory staging, result; /* of the host, for Vulkan to copy from and to */
static uint32_t numbers[COUNT];

static const vulkan_order no_order;

/* Fills memory of the host with numbers that no other round has. */
static void number(uint32_t *memory, uint32_t round) {
    for (uint32_t i = 0; i < COUNT; i++)
        memory[i] = round * 0x01000193u + i;
}

static bool is_numbered(const uint32_t *memory, size_t count, uint32_t round) {
    for (uint32_t i = 0; i < count; i++)
        if (memory[i] != round * 0x01000193u + i)
            return false;
    return true;
}

static acu_external_memory *import(const vulkan_memory *memory) {
    acu_external_memory *made = NULL;
    const acu_external_memory_source source = {.type = ACU_EXTERNAL_MEMORY_OPAQUE_FD,
                                               .descriptor = vulkan_export(memory),
                                               .bytes = memory->bytes,
                                               .dedicated = memory->dedicated};
    if (acu_external_memory_import(0, &source, &made)) {
        printf("%s\n", acu_last_error_message());
        failures++;
    }
    return made;
}

static acu_external_semaphore *import_semaphore(VkSemaphore semaphore, bool timeline) {
    acu_external_semaphore *made = NULL;
    const acu_external_semaphore_source source = {
        .type = timeline ? ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD : ACU_EXTERNAL_SEMAPHORE_OPAQUE_FD,
        .descriptor = vulkan_export_semaphore(semaphore)};
    if (acu_external_semaphore_import(0, &source, &made)) {
        printf("%s\n", acu_last_error_message());
        failures++;
    }
    return made;
}

/* ---- memory ---- */

static void goes_both_ways(bool dedicated) {
    ACU_AUTO(acu_buffer) *buffer = NULL;
    vulkan_memory shared = vulkan_new_buffer(BYTES, true, dedicated);
    ACU_AUTO(acu_external_memory) *memory = import(&shared);
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U32, COUNT, &buffer));
    number(staging.host, 1);
    vulkan_copy(&shared, &staging, no_order);
    vulkan_wait();
    OK(acu_buffer_read(buffer, numbers, COUNT));
    CHECK(is_numbered(numbers, COUNT, 1));
    number(numbers, 2);
    OK(acu_buffer_write(buffer, numbers, COUNT));
    vulkan_copy(&result, &shared, no_order);
    vulkan_wait();
    CHECK(is_numbered(result.host, COUNT, 2));
    vulkan_free(&shared); /* CUDA has the memory still */
    memset(numbers, 0, sizeof numbers);
    OK(acu_buffer_read(buffer, numbers, COUNT));
    CHECK(is_numbered(numbers, COUNT, 2));
}

static void a_buffer(void) {
    goes_both_ways(false);
}

static void a_dedicated_buffer(void) {
    goes_both_ways(true);
}

static void a_part(void) {
    ACU_AUTO(acu_buffer) *buffer = NULL, *odd = NULL;
    vulkan_memory shared = vulkan_new_buffer(BYTES, true, false);
    ACU_AUTO(acu_external_memory) *memory = import(&shared);
    number(staging.host, 3);
    vulkan_copy(&shared, &staging, no_order);
    vulkan_wait();
    OK(acu_external_memory_create_buffer(memory, 4096, stream, ACU_U32, 16, &buffer));
    OK(acu_buffer_read(buffer, numbers, 16));
    CHECK(numbers[0] == 3 * 0x01000193u + 1024 && numbers[15] == numbers[0] + 15);
    OK(acu_external_memory_create_buffer(memory, 12, stream, ACU_U32, 1, &odd));
    OK(acu_buffer_read(odd, numbers, 1));
    CHECK(numbers[0] == 3 * 0x01000193u + 3);
    vulkan_free(&shared);
}

/* The other way round: Vulkan imports memory that CUDA made. */
static void memory_of_cudas(void) {
    ACU_AUTO(acu_physical) *physical = NULL;
    ACU_AUTO(acu_virtual) *range = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    size_t step = 0;
    int descriptor = -1;
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    OK(acu_physical_get_granularity(0, &options, &step, NULL));
    OK(acu_physical_create(0, step, &options, &physical));
    OK(acu_virtual_reserve(0, step, NULL, &range));
    OK(acu_virtual_map(range, 0, physical));
    OK(acu_virtual_set_access(range, 0, ACU_ACCESS_READ_WRITE));
    OK(acu_virtual_create_buffer(range, 0, stream, ACU_U32, COUNT, &buffer));
    OK(acu_physical_export(physical, &descriptor));
    vulkan_memory shared = vulkan_import_buffer(step, descriptor);
    number(numbers, 4);
    OK(acu_buffer_write(buffer, numbers, COUNT));
    vulkan_copy(&result, &shared, no_order);
    vulkan_wait();
    CHECK(is_numbered(result.host, COUNT, 4));
    vulkan_free(&shared);
}

/* ---- images ---- */

enum { COLUMNS = 150, ROWS = 70, LEVELS = 4 }; /* 150 * 70 + 75 * 35 + 37 * 17 + 18 * 8 */

/* Compares a level with what Vulkan was given, and writes numbers of its own there. */
static void exchange_level(acu_mipmap *mipmap, unsigned level, const uint32_t *given) {
    ACU_AUTO(acu_array) *array = NULL;
    OK(acu_mipmap_get_level(mipmap, level, &array));
    const size_t count = acu_array_count(array);
    CHECK(count == (size_t)(COLUMNS >> level) * (ROWS >> level));
    OK(acu_array_read(array, numbers, count));
    CHECK(memcmp(numbers, given, count * sizeof *numbers) == 0);
    number(numbers, 10 + level);
    OK(acu_array_write(array, numbers, count));
}

static void an_image(void) {
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    vulkan_memory image = vulkan_new_image(COLUMNS, ROWS, LEVELS);
    acu_external_memory *memory = import(&image);
    number(staging.host, 5);
    vulkan_write_image(&image, &staging, no_order);
    vulkan_wait();
    OK(acu_external_memory_create_mipmap(memory, 0, stream, (acu_format){.dtype = ACU_U32},
                                         (acu_extent){COLUMNS, ROWS, 0}, LEVELS, 0, &mipmap));
    OK(acu_external_memory_release(memory)); /* the mipmap keeps it */
    size_t at = 0;
    for (unsigned i = 0; i < LEVELS; i++) {
        exchange_level(mipmap, i, (uint32_t *)staging.host + at);
        at += (size_t)(COLUMNS >> i) * (ROWS >> i);
    }
    vulkan_read_image(&result, &image, no_order);
    vulkan_wait();
    at = 0;
    for (unsigned i = 0; i < LEVELS; i++) {
        const size_t count = (size_t)(COLUMNS >> i) * (ROWS >> i);
        CHECK(is_numbered((uint32_t *)result.host + at, count, 10 + i));
        at += count;
    }
    vulkan_free(&image);
}

/* ---- semaphores ---- */

/* All work is submitted before any of it can run, so that only the semaphores order it: Vulkan
 * writes, CUDA adds nothing and copies, Vulkan copies what CUDA wrote. */
static void a_timeline(void) {
    ACU_AUTO(acu_buffer) *buffer = NULL, *copy = NULL;
    vulkan_memory shared = vulkan_new_buffer(BYTES, true, false);
    ACU_AUTO(acu_external_memory) *memory = import(&shared);
    VkSemaphore theirs = vulkan_new_semaphore(true);
    ACU_AUTO(acu_external_semaphore) *ours = import_semaphore(theirs, true);
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U32, COUNT, &buffer));
    OK(acu_buffer_create(stream, ACU_U32, COUNT, &copy));
    for (uint64_t round = 0; round < 3; round++) {
        const uint64_t begin = 10 * round;
        number(staging.host, 20 + (uint32_t)round);
        OK(acu_external_semaphore_wait(ours, begin + 2, stream));
        OK(acu_buffer_copy(copy, buffer, NULL));
        OK(acu_buffer_fill(buffer, &(uint32_t){100 + (uint32_t)round}));
        OK(acu_external_semaphore_signal(ours, begin + 3, stream));
        vulkan_copy(&shared, &staging, (vulkan_order){theirs, theirs, begin + 1, begin + 2});
        vulkan_copy(&result, &shared, (vulkan_order){theirs, theirs, begin + 3, begin + 4});
        CHECK(acu_stream_query(stream) == ACU_NOT_READY);
        CHECK(vulkan_value(theirs) == (round ? begin - 6 : 0));
        vulkan_signal(theirs, begin + 1);
        OK(acu_stream_synchronize(stream));
        vulkan_wait();
        CHECK(vulkan_value(theirs) == begin + 4);
        OK(acu_buffer_read(copy, numbers, COUNT));
        CHECK(is_numbered(numbers, COUNT, 20 + (uint32_t)round));
        const uint32_t *got = result.host;
        CHECK(got[0] == 100 + round && got[COUNT - 1] == 100 + round);
    }
    vulkan_free_semaphore(theirs);
    vulkan_free(&shared);
}

static void binary_semaphores(void) {
    ACU_AUTO(acu_buffer) *buffer = NULL;
    vulkan_memory shared = vulkan_new_buffer(BYTES, true, false);
    ACU_AUTO(acu_external_memory) *memory = import(&shared);
    VkSemaphore written = vulkan_new_semaphore(false), read = vulkan_new_semaphore(false);
    ACU_AUTO(acu_external_semaphore) *wait = import_semaphore(written, false);
    ACU_AUTO(acu_external_semaphore) *signal = import_semaphore(read, false);
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U32, COUNT, &buffer));
    for (uint32_t round = 30; round < 33; round++) {
        number(staging.host, round);
        vulkan_copy(&shared, &staging, (vulkan_order){.signal = written});
        OK(acu_external_semaphore_wait(wait, 0, stream));
        OK(acu_buffer_read(buffer, numbers, COUNT));
        CHECK(is_numbered(numbers, COUNT, round));
        OK(acu_buffer_fill(buffer, &round));
        OK(acu_external_semaphore_signal(signal, 0, stream));
        vulkan_copy(&result, &shared, (vulkan_order){.wait = read});
        vulkan_wait();
        const uint32_t *got = result.host;
        CHECK(got[0] == round && got[COUNT - 1] == round);
    }
    vulkan_free_semaphore(written);
    vulkan_free_semaphore(read);
    vulkan_free(&shared);
}

/* A launch of the graph waits for Vulkan and is waited for; the graph keeps all that it uses. */
static void a_captured_graph(void) {
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_buffer) *copy = NULL;
    acu_buffer *buffer = NULL;
    vulkan_memory shared = vulkan_new_buffer(BYTES, true, false);
    acu_external_memory *memory = import(&shared);
    VkSemaphore theirs = vulkan_new_semaphore(true);
    acu_external_semaphore *ours = import_semaphore(theirs, true);
    OK(acu_external_memory_create_buffer(memory, 0, stream, ACU_U32, COUNT, &buffer));
    OK(acu_buffer_create(stream, ACU_U32, COUNT, &copy));
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_external_semaphore_wait(ours, 1, stream));
    OK(acu_buffer_copy(copy, buffer, NULL));
    OK(acu_buffer_fill(buffer, &(uint32_t){77}));
    OK(acu_external_semaphore_signal(ours, 2, stream));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_external_semaphore_release(ours));
    OK(acu_buffer_release(buffer));
    OK(acu_external_memory_release(memory));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    number(staging.host, 40);
    vulkan_copy(&shared, &staging, (vulkan_order){.signal = theirs, .signal_value = 1});
    vulkan_copy(&result, &shared, (vulkan_order){.wait = theirs, .wait_value = 2});
    vulkan_wait();
    OK(acu_buffer_read(copy, numbers, COUNT));
    CHECK(is_numbered(numbers, COUNT, 40));
    const uint32_t *got = result.host;
    CHECK(got[0] == 77 && got[COUNT - 1] == 77);
    vulkan_free_semaphore(theirs);
    vulkan_free(&shared);
}

/* The semaphore is released while a wait is pending; nothing is lost, and nobody waits. */
static void a_released_semaphore(void) {
    VkSemaphore theirs = vulkan_new_semaphore(true);
    acu_external_semaphore *ours = import_semaphore(theirs, true);
    OK(acu_external_semaphore_wait(ours, 1, stream));
    OK(acu_external_semaphore_signal(ours, 2, stream));
    OK(acu_external_semaphore_release(ours));
    CHECK(acu_stream_query(stream) == ACU_NOT_READY);
    vulkan_signal(theirs, 1);
    OK(acu_stream_synchronize(stream));
    CHECK(vulkan_value(theirs) == 2);
    OK(acu_external_semaphore_release(NULL));
    vulkan_free_semaphore(theirs);
}

/* ---- all ---- */

typedef struct test {
    const char *name;
    void (*run)(void);
    bool semaphores; /* the test needs exported ones */
    bool gpu;        /* the test needs a GPU, where both APIs know the layout of images */
} test;
#define TEST(function, ...) {#function, function, __VA_ARGS__}

static const test tests[] = {
    TEST(a_buffer, false, false),
    TEST(a_dedicated_buffer, false, false),
    TEST(a_part, false, false),
    TEST(memory_of_cudas, false, true),
    TEST(an_image, false, true),
    TEST(a_timeline, true, true),
    TEST(binary_semaphores, true, true),
    TEST(a_captured_graph, true, true),
    TEST(a_released_semaphore, true, true),
};

static void run(const test *one, bool on_gpu) {
    const int before = failures;
    const char *why = one->semaphores && !vulkan_has_semaphores()
                          ? "this Vulkan exports no semaphores"
                      : one->gpu && !on_gpu ? "Mesa's own layouts are not known to the simulator"
                                            : NULL;
    if (why) {
        printf("%s: %s\n[  SKIPPED ] %s\n", one->name, why, one->name);
        skips++;
        return;
    }
    one->run();
    printf("[%s ] %s\n", failures > before ? "  FAILED " : "       OK", one->name);
    (void)fflush(stdout);
}

int main(void) {
    acu_device_info info;
    if (acu_device_get_info(0, &info)) {
        printf("skipped: %s\n", acu_last_error_message());
        return SKIPPED;
    }
    const bool on_gpu = !acu_loaded(ACU_CUDART)->is_sim;
    const char *why = getenv("ANYCUDA_TESTS_SERIAL") ? "a tool for CUDA knows nothing of Vulkan"
                                                     : vulkan_open(on_gpu ? info.uuid : NULL);
    if (why) {
        printf("skipped: %s\n", why);
        return SKIPPED;
    }
    printf("CUDA %d on %s, Vulkan on %s\n", acu_loaded(ACU_CUDART)->version, info.name,
           vulkan_name());
    if (acu_stream_create(0, NULL, &stream)) {
        printf("%s\n", acu_last_error_message());
        return 1;
    }
    staging = vulkan_new_buffer(BYTES, false, false);
    result = vulkan_new_buffer(BYTES, false, false);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        run(&tests[i], on_gpu);
    vulkan_free(&staging);
    vulkan_free(&result);
    if (acu_stream_release(stream) || acu_release_error(NULL)) {
        printf("a release failed: %s\n", acu_last_error_message());
        failures++;
    }
    vulkan_close();
    printf("%d failures, %d skipped\n", failures, skips);
    return failures ? 1 : 0;
}
