/* libanycuda-allocator.so as a framework uses it: opened, and called through its symbols. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <anycuda/anycuda.h>
#include <anycuda/cudart.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>

enum { MIB = 1 << 20 };

/* The plugin's functions, by their names without the prefix. */
static struct plugin {
    void *(*allocate)(ssize_t, int, cudaStream_t);
    void (*free)(void *, ssize_t, int, cudaStream_t);
    void (*init)(int);
    void (*reset)(void);
    void (*memory_fraction)(double, int);
    void (*record_stream)(void *, cudaStream_t);
    void (*begin_pool)(int, uint64_t, uint64_t, void *);
    void (*end_pool)(int, uint64_t, uint64_t);
    void (*release_pool)(int, uint64_t, uint64_t);
    void *(*rmm_allocate)(size_t, cudaStream_t, void *);
    void (*rmm_deallocate)(void *, size_t, cudaStream_t, void *);
    void *(*cupy_malloc)(void *, size_t, int);
    void (*cupy_free)(void *, void *, int);
    int (*get_info)(int, acu_allocator_info *);
} plugin;

static void *library;

static void find(const char *name, void *function) {
    char symbol[64];
    snprintf(symbol, sizeof symbol, "acu_plugin_%s", name);
    void *address = dlsym(library, symbol);
    if (!address)
        fail_msg("%s is not exported", symbol);
    memcpy(function, &address, sizeof address);
}
#define FIND(name) find(#name, &plugin.name)

static int open_plugin(void **state) {
    (void)state;
    library = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    FIND(allocate);
    FIND(free);
    FIND(init);
    FIND(reset);
    FIND(memory_fraction);
    FIND(record_stream);
    FIND(begin_pool);
    FIND(end_pool);
    FIND(release_pool);
    FIND(rmm_allocate);
    FIND(rmm_deallocate);
    FIND(cupy_malloc);
    FIND(cupy_free);
    FIND(get_info);
    plugin.init(1);
    return 0;
}

static acu_allocator_info info_of(void) {
    acu_allocator_info info;
    assert_int_equal(plugin.get_info(0, &info), 0);
    return info;
}

static cudaStream_t new_stream(void) {
    cudaStream_t stream = NULL;
    assert_int_equal(cudaStreamCreate(&stream), 0);
    return stream;
}

static void nothing_else_is_exported(void **state) {
    (void)state;
    assert_null(dlsym(library, "acu_buffer_create"));
    assert_null(dlsym(library, "acu_allocator_create"));
    assert_null(dlsym(library, "cudaMalloc"));
}

static void pytorch_and_cupy_and_rmm_share_the_memory(void **state) {
    (void)state;
    cudaStream_t stream = new_stream();
    void *first = plugin.allocate(3 * MIB, 0, stream);
    assert_non_null(first);
    assert_int_equal(cudaMemsetAsync(first, 1, 3 * MIB, stream), 0);
    plugin.free(first, 3 * MIB, 0, stream);
    void *second = plugin.cupy_malloc(stream, 3 * MIB, 0);
    assert_ptr_equal(second, first);
    plugin.cupy_free(stream, second, 0);
    void *third = plugin.rmm_allocate(3 * MIB, stream, NULL);
    assert_ptr_equal(third, first);
    plugin.rmm_deallocate(third, 3 * MIB, stream, NULL);
    assert_null(plugin.allocate(0, 0, stream));
    plugin.free(NULL, 0, 0, stream);
    assert_int_equal(info_of().used, 0);
    assert_int_equal(info_of().allocations, 3);
    assert_int_equal(info_of().hits, 2);
    plugin.reset();
    assert_int_equal(info_of().reserved, 0);
    assert_int_equal(cudaStreamSynchronize(stream), 0);
}

static void a_fraction_limits_it(void **state) {
    (void)state;
    plugin.memory_fraction(0.01, 0); /* of 1 GiB */
    assert_null(plugin.allocate(100 * MIB, 0, NULL));
    plugin.memory_fraction(0, 0);
    void *memory = plugin.allocate(100 * MIB, 0, NULL);
    assert_non_null(memory);
    plugin.free(memory, 0, 0, NULL);
}

static void wait_for(void *data) {
    while (!__atomic_load_n((int *)data, __ATOMIC_ACQUIRE))
        (void)sched_yield();
}

/* Memory that another stream uses is not used again before that is done. */
static void a_recorded_stream_is_waited_for(void **state) {
    (void)state;
    static int open;
    cudaStream_t stream = new_stream(), side = new_stream();
    void *memory = plugin.allocate(5 * MIB, 0, stream);
    assert_int_equal(cudaLaunchHostFunc(side, wait_for, &open), 0);
    plugin.record_stream(memory, side);
    plugin.free(memory, 5 * MIB, 0, stream);
    void *again = plugin.allocate(5 * MIB, 0, stream);
    assert_ptr_equal(again, memory);
    assert_int_equal(cudaStreamQuery(stream), cudaErrorNotReady);
    __atomic_store_n(&open, 1, __ATOMIC_RELEASE);
    assert_int_equal(cudaStreamSynchronize(stream), 0);
    plugin.free(again, 5 * MIB, 0, stream);
}

/* ---- pools, with a filter as libstdc++ lays a std::function out ---- */

typedef struct filter {
    void *functor[2];
    bool (*manager)(void *to, const void *from, int what);
    bool (*invoker)(const void *functor, cudaStream_t *stream);
} filter;

static int copies;

static bool manage(void *to, const void *from, int what) {
    if (what == 2)
        memcpy(to, from, 2 * sizeof(void *));
    copies += what == 2 ? 1 : what == 3 ? -1 : 0;
    return false;
}

static bool is_it(const void *functor, cudaStream_t *stream) {
    return *(void *const *)functor == (void *)*stream;
}

static void a_pool_keeps_its_memory(void **state) {
    (void)state;
    cudaStream_t stream = new_stream(), captured = new_stream();
    cudaGraph_t graph = NULL;
    filter of_captured = {{captured, NULL}, manage, is_it};
    plugin.free(plugin.allocate(7 * MIB, 0, captured), 0, 0, captured); /* free, but not for it */
    plugin.begin_pool(0, 1, 7, &of_captured);
    assert_int_equal(copies, 1);
    assert_int_equal(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal), 0);
    void *inside = plugin.allocate(7 * MIB, 0, captured);
    assert_int_equal(cudaMemsetAsync(inside, 1, 7 * MIB, captured), 0);
    plugin.free(inside, 0, 0, captured);
    void *again = plugin.allocate(7 * MIB, 0, captured); /* later work of the same graph */
    assert_ptr_equal(again, inside);
    plugin.free(again, 0, 0, captured);
    assert_int_equal(cudaStreamEndCapture(captured, &graph), 0);
    plugin.end_pool(0, 1, 7);
    assert_int_equal(copies, 0);
    for (int i = 0; i < 10; i++) {
        void *outside = plugin.allocate(7 * MIB, 0, i % 2 ? captured : stream);
        assert_true(outside && outside != inside);
    }
    const size_t reserved = info_of().reserved;
    plugin.release_pool(0, 1, 7);
    assert_int_equal(info_of().reserved, reserved);
    assert_int_equal(cudaGraphDestroy(graph), 0);
}

static void *use(void *data) {
    cudaStream_t stream = data;
    for (ssize_t i = 1; i < 300; i++) {
        void *memory = plugin.allocate(i * 997, 0, stream);
        assert_non_null(memory);
        plugin.free(memory, i * 997, 0, stream);
    }
    return NULL;
}

static void threads_use_it(void **state) {
    (void)state;
    pthread_t threads[4];
    const uint64_t before = info_of().allocations;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, new_stream()), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(info_of().allocations - before, 4 * 299);
}

static void unknown_memory_is_reported(void **state) {
    (void)state;
    char text[400] = "";
    FILE *before = stderr, *file = tmpfile();
    assert_non_null(file);
    stderr = file;
    plugin.free(&text, 1, 0, NULL);
    stderr = before;
    assert_int_equal(fseek(file, 0, SEEK_SET), 0);
    assert_non_null(fgets(text, sizeof text, file));
    assert_non_null(strstr(text, "anycuda: acu_plugin_free: acu_allocator_free: "));
    assert_non_null(strstr(text, "gave out, or was freed"));
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_else_is_exported),
        cmocka_unit_test(pytorch_and_cupy_and_rmm_share_the_memory),
        cmocka_unit_test(a_fraction_limits_it),
        cmocka_unit_test(a_recorded_stream_is_waited_for),
        cmocka_unit_test(a_pool_keeps_its_memory),
        cmocka_unit_test(threads_use_it),
        cmocka_unit_test(unknown_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, open_plugin, NULL);
}
