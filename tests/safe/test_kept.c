/*
 * What is released while another stream uses it, where CUDA can neither order the streams nor,
 * perhaps, let the thread wait: it must stay until the use is over.
 */
#include "kernels.h"

#include <anycuda/cudart.h>

#include <pthread.h>
#include <time.h>

/* CUDA makes no mark, and lets nobody wait. */
static const char nothing_works[] = "cudaEventRecord@*:2;cudaEventCreateWithFlags@*:2;"
                                    "cudaStreamSynchronize@*:2;cudaDeviceSynchronize@*:2;"
                                    "cudaEventSynchronize@*:2;cudaStreamQuery@*:2;"
                                    "cudaEventQuery@*:2";

enum { N = 4096 };

static acu_stream *home, *other;
static acu_kernel *scale;
static blocker held;

static int begin_kept(void **state) {
    const int code = begin_kernels(state);
    home = stream_on(0);
    other = stream_on(0);
    scale = kernel_on(0, "scale");
    return code;
}

/* What could not be freed is freed once its use is over. */
static int end_kept(void **state) {
    OK(acu_inject_errors(NULL));
    OK(acu_kernel_release(scale));
    OK(acu_stream_release(home));
    OK(acu_stream_release(other));
    OK(acu_device_synchronize(0));
    return nothing_left(state);
}

#define KEPT_TEST(function) SAFE_TEST(function, begin_kept, end_kept)

/* The other stream uses the buffer, but not before it is let go on. */
static void use(acu_buffer *buffer) {
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_stream_synchronize(home));
    block_stream(&held, other);
    OK(acu_launch(other, scale, acu_grid_1d(N, 128), acu_inout(buffer), 2.0f, N));
}

static void let_go_on(void) {
    OK(acu_inject_errors(NULL));
    unblock_stream(&held);
    OK(acu_stream_synchronize(other)); /* 700 where the memory is gone */
}

/* ---- what cannot be waited for is kept ---- */

/* Nobody else gets the memory meanwhile; with options, the next such buffer is made then. */
static void stays(acu_buffer *buffer, const acu_buffer_options *options) {
    const void *address = acu_buffer_raw(buffer);
    acu_buffer *next = NULL;
    use(buffer);
    OK(acu_inject_errors(nothing_works));
    OK(acu_buffer_release(buffer));
    if (options) {
        OK(acu_buffer_create_with(home, ACU_F32, N, options, &next));
        assert_ptr_not_equal(acu_buffer_raw(next), address);
    }
    let_go_on();
    OK(acu_buffer_release(next));
}

static void stays_with(const acu_buffer_options *options) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create_with(home, ACU_F32, N, options, &buffer));
    stays(buffer, options);
}

static void memory_of_every_kind(void **state) {
    (void)state;
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MAPPED};
    for (size_t i = 0; i < COUNT(kinds); i++)
        stays_with(&(acu_buffer_options){.memory = kinds[i]});
}

static void memory_of_a_pool(void **state) {
    (void)state;
    acu_pool *pool = NULL;
    OK(acu_pool_create(0, NULL, &pool));
    stays_with(&(acu_buffer_options){.pool = pool});
    OK(acu_pool_release(pool));
}

static void memory_of_an_allocator(void **state) {
    (void)state;
    for (int source = ACU_ALLOCATOR_ANY; source <= ACU_ALLOCATOR_PINNED; source++) {
        acu_allocator *allocator = NULL;
        OK(acu_allocator_create(0, &(acu_allocator_options){.source = (acu_allocator_source)source},
                                &allocator));
        stays_with(&(acu_buffer_options){.allocator = allocator});
        OK(acu_allocator_release(allocator));
    }
}

/* The allocator goes first, with memory that is free and still used. */
static void an_allocator(void **state) {
    (void)state;
    acu_allocator *allocator = NULL;
    acu_buffer *buffer = NULL;
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = ACU_ALLOCATOR_DEVICE},
                            &allocator));
    OK(acu_buffer_create_with(other, ACU_F32, N, &(acu_buffer_options){.allocator = allocator},
                              &buffer));
    use(buffer);
    OK(acu_buffer_release(buffer)); /* on the stream that uses it */
    OK(acu_inject_errors(nothing_works));
    OK(acu_allocator_release(allocator));
    let_go_on();
}

static void memory_that_grows(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create_growable(home, ACU_F32, N, (size_t)64 * N, &buffer));
    stays(buffer, NULL);
}

static void a_texture(void **state) {
    (void)state;
    struct cudaResourceDesc made;
    acu_buffer *buffer = NULL;
    acu_texture *texture = NULL;
    OK(acu_buffer_create(home, ACU_F32, N, &buffer));
    OK(acu_texture_create(&(acu_texture_source){.buffer = buffer}, NULL, &texture));
    const unsigned long long raw = acu_texture_raw(texture);
    use(buffer);
    OK(acu_inject_errors(nothing_works));
    OK(acu_texture_release(texture));
    OK(acu_inject_errors(NULL));
    assert_int_equal(cudaGetTextureObjectResourceDesc(&made, raw), 0);
    let_go_on();
    OK(acu_buffer_release(buffer));
}

static void a_module(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(home, ACU_F32, N, &buffer));
    use(buffer);
    OK(acu_inject_errors(nothing_works));
    OK(acu_kernel_release(scale));
    scale = NULL;
    let_go_on();
    OK(acu_buffer_release(buffer));
}

static acu_result scale_it(acu_stream *on, void *buffer) {
    return acu_launch(on, scale, acu_grid_1d(N, 128), acu_inout((acu_buffer *)buffer), 2.0f, N);
}

static void what_a_graph_uses(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_buffer_create(home, ACU_F32, N, &buffer));
    OK(acu_stream_capture(other, NULL, scale_it, buffer, &graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    use(buffer);
    OK(acu_exec_launch(exec, other));
    OK(acu_inject_errors(nothing_works));
    OK(acu_exec_release(exec));
    OK(acu_buffer_release(buffer));
    let_go_on();
}

/* ---- what can be waited for is ---- */

static struct {
    acu_buffer *buffer;
    bool released; /* atomic */
} releasing;

static void *release_it(void *unused) {
    const acu_result result = acu_buffer_release(releasing.buffer);
    __atomic_store_n(&releasing.released, true, __ATOMIC_RELEASE);
    return result ? &releasing : unused;
}

/* The release returns no sooner than the use is over. */
static void releases_after_the_use(acu_buffer *buffer) {
    const struct timespec moment = {.tv_nsec = 20000000};
    pthread_t thread;
    void *failed = NULL;
    releasing.buffer = buffer;
    releasing.released = false;
    assert_int_equal(pthread_create(&thread, NULL, release_it, NULL), 0);
    (void)nanosleep(&moment, NULL);
    assert_false(__atomic_load_n(&releasing.released, __ATOMIC_ACQUIRE));
    unblock(&held);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(acu_release_error(NULL), 0);
    OK(acu_inject_errors(NULL));
}

static void a_release_waits_where_no_mark_can_be_made(void **state) {
    (void)state;
    static const char *const rules[] = {"cudaEventRecord@*:2", "cudaEventRecord@*:719",
                                        "cudaStreamIsCapturing@*:2",
                                        "cudaStreamWaitEvent@*:2;cudaEventSynchronize@*:719"};
    for (size_t i = 0; i < COUNT(rules); i++) {
        acu_buffer *buffer = NULL;
        OK(acu_buffer_create(home, ACU_F32, N, &buffer));
        use(buffer);
        OK(acu_inject_errors(rules[i]));
        releases_after_the_use(buffer);
        let_go_on();
    }
}

/* The stream is gone, and left no mark: its device is waited for. */
static void a_release_waits_for_a_stream_that_is_gone(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_stream *gone = other;
    OK(acu_buffer_create(home, ACU_F32, N, &buffer));
    use(buffer);
    OK(acu_inject_errors(nothing_works));
    other = NULL;
    (void)acu_stream_release(gone); /* it fails, and the stream is gone all the same */
    assert_int_equal(acu_release_error(NULL), 1);
    OK(acu_inject_errors(NULL));
    releases_after_the_use(buffer);
    assert_int_equal(held.passed, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KEPT_TEST(memory_of_every_kind),
        KEPT_TEST(memory_of_a_pool),
        KEPT_TEST(memory_of_an_allocator),
        KEPT_TEST(an_allocator),
        KEPT_TEST(memory_that_grows),
        KEPT_TEST(a_texture),
        KEPT_TEST(a_module),
        KEPT_TEST(what_a_graph_uses),
        KEPT_TEST(a_release_waits_where_no_mark_can_be_made),
        KEPT_TEST(a_release_waits_for_a_stream_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
