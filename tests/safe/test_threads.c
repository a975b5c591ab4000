/*
 * What several threads may do at once: count references, use streams, use one buffer or its
 * slices, launch one kernel, build one graph and launch one exec. The test is meant for TSan, which
 * reports races.
 */
#include "kernels.h"

#include <pthread.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 100 };

static void in_threads(void *(*body)(void *), void *data) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, data), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if (call) {                                                                                \
            print_error("%s: %s\n", #call, acu_last_error_message());                              \
            return data;                                                                           \
        }                                                                                          \
    } while (0)

/*
 * Each thread has its part of the memory, and each round a stream of its own: uses come and go, the
 * table of uses fills, is merged and emptied.
 */
static void *use_buffer(void *data) {
    static size_t threads;
    size_t at = __atomic_fetch_add(&threads, 8, __ATOMIC_RELAXED);
    acu_buffer *buffer = data;
    for (int i = 0; i < ROUNDS; i++) {
        int value = i;
        acu_stream *stream = NULL;
        acu_buffer *part = NULL, *mine = acu_buffer_retain(buffer);
        MUST(acu_stream_create(0, NULL, &stream));
        MUST(acu_buffer_slice(mine, at, 8, &part));
        MUST(acu_buffer_fill_typed(part, ACU_I32, &value, i % 3 ? stream : NULL));
        MUST(acu_buffer_read_typed(part, 7, ACU_I32, &value, 1, i % 2 ? stream : NULL));
        MUST(value != i);
        MUST(acu_stream_release(stream));
        MUST(acu_buffer_release(part));
        MUST(acu_buffer_release(mine));
    }
    return NULL;
}

static void one_buffer_in_all_threads(void **state) {
    (void)state;
    acu_stream *home = NULL;
    acu_buffer *buffer = NULL;
    OK(acu_stream_create(0, NULL, &home));
    OK(acu_buffer_create(home, ACU_I32, 32, &buffer));
    in_threads(use_buffer, buffer);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(home));
}

static void *use_stream(void *data) {
    acu_stream *stream = data;
    for (int i = 0; i < ROUNDS; i++) {
        float back = 0;
        acu_buffer *buffer = NULL;
        acu_event *event = NULL;
        MUST(acu_buffer_create(stream, ACU_F32, 8, &buffer));
        MUST(acu_buffer_zero(buffer, NULL));
        MUST(acu_event_create(0, NULL, &event));
        MUST(acu_event_record(event, stream));
        MUST(acu_stream_wait_event(stream, event));
        MUST(acu_buffer_read(buffer, &back, 1));
        MUST(acu_event_release(event));
        MUST(acu_buffer_release(buffer));
    }
    return NULL;
}

static void one_stream_in_all_threads(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    in_threads(use_stream, stream);
    OK(acu_stream_release(stream));
}

/*
 * While a graph is launched again where it alone used the memory, another thread begins to use it
 * on another stream: a later use must find both.
 */
typedef struct {
    pthread_barrier_t both;
    acu_buffer *memory, *copied;
    acu_stream *stream;
} race;

enum { RACES = 200 };

static void take_a_while(void *data) {
    (void)data;
    const struct timespec while_ = {.tv_nsec = 200000};
    nanosleep(&while_, NULL);
}

static void *copy_elsewhere(void *data) {
    race *r = data;
    acu_result failed = 0;
    for (int i = 0; i < RACES; i++) {
        pthread_barrier_wait(&r->both);
        acu_result code = acu_buffer_copy(r->copied, r->memory, r->stream);
        failed = failed ? failed : code;
        pthread_barrier_wait(&r->both);
    }
    return failed ? data : NULL;
}

static void memory_leaves_while_it_is_launched(void **state) {
    (void)state;
    race r;
    pthread_t thread;
    void *failed;
    acu_stream *home = NULL, *later = NULL;
    acu_buffer *seen = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_create(0, NULL, &home));
    OK(acu_stream_create(0, NULL, &later));
    OK(acu_stream_create(0, NULL, &r.stream));
    OK(acu_buffer_create(home, ACU_I32, 32, &r.memory));
    OK(acu_buffer_create(home, ACU_I32, 32, &r.copied));
    OK(acu_buffer_create(home, ACU_I32, 32, &seen));
    OK(acu_graph_create(&graph));
    OK(acu_graph_keep(graph, r.memory,
                      true)); /* the graph does not touch the memory: the copy may come before */
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){take_a_while, NULL, NULL}, NULL));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    assert_int_equal(pthread_barrier_init(&r.both, NULL, 2), 0);
    assert_int_equal(pthread_create(&thread, NULL, copy_elsewhere, &r), 0);
    for (int i = 0; i < RACES; i++) {
        OK(acu_exec_launch(exec, home));
        OK(acu_exec_launch(exec, home));
        OK(acu_stream_synchronize(home));
        pthread_barrier_wait(&r.both);
        OK(acu_exec_launch(exec, home));
        pthread_barrier_wait(&r.both);
        OK(acu_buffer_copy(seen, r.memory, later));
        OK(acu_stream_synchronize(later));
        OK(acu_stream_query(home)); /* the copy came after the home stream's work */
    }
    pthread_join(thread, &failed);
    assert_null(failed);
    pthread_barrier_destroy(&r.both);
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(seen));
    OK(acu_buffer_release(r.copied));
    OK(acu_buffer_release(r.memory));
    OK(acu_stream_release(r.stream));
    OK(acu_stream_release(later));
    OK(acu_stream_release(home));
}

static void *wait_for_memory(void *memory) {
    return acu_buffer_synchronize((acu_buffer *)memory) ? memory : NULL;
}

/* A thread that waits for memory does not keep others from using it: the wait may depend on them.
 */
static void memory_is_used_while_it_is_waited_for(void **state) {
    (void)state;
    blocker held;
    pthread_t thread;
    void *failed;
    acu_stream *home = NULL, *other = NULL;
    acu_buffer *memory = NULL, *copied = NULL;
    OK(acu_stream_create(0, NULL, &home));
    OK(acu_stream_create(0, NULL, &other));
    OK(acu_buffer_create(home, ACU_I32, 32, &memory));
    OK(acu_buffer_create(other, ACU_I32, 32, &copied));
    block_stream(&held, home);
    OK(acu_buffer_zero(memory, NULL));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_memory, memory), 0);
    still_waits(home);                          /* meanwhile the thread has begun to wait */
    OK(acu_buffer_copy(copied, memory, other)); /* would hang if it waited */
    unblock_stream(&held);
    pthread_join(thread, &failed);
    assert_null(failed);
    acu_buffer *buffers[] = {memory, copied};
    for (size_t i = 0; i < COUNT(buffers); i++)
        OK(acu_buffer_release(buffers[i]));
    OK(acu_stream_release(other));
    OK(acu_stream_release(home));
}

static acu_graph *shared, *changed;
static acu_exec *changed_exec;
static acu_node changed_fill;
static acu_buffer *written;

/* The graph that is launched does nothing, and the graph that is changed is not launched: writes of
 * several threads at the same moment would have no order. */
static void *use_graph(void *data) {
    acu_exec *exec = data;
    acu_stream *stream = NULL;
    MUST(acu_stream_create(0, NULL, &stream));
    for (int i = 0; i < ROUNDS; i++) {
        size_t count = 1;
        acu_node node, got;
        acu_exec *own = NULL;
        acu_graph *clone = NULL;
        MUST(acu_graph_add_empty(shared, NULL, 0, &node));
        MUST(acu_graph_get_nodes(shared, &got, &count));
        MUST(acu_exec_launch(exec, stream));
        MUST(acu_graph_clone(shared, &clone));
        MUST(acu_graph_instantiate(clone, NULL, &own));
        MUST(acu_graph_release(clone));
        MUST(acu_exec_launch(own, stream));
        MUST(acu_exec_release(own));
        const acu_fill other = {written, ACU_I32, &(int32_t){i}, .at = (size_t)i % 32,
                                .width = ACU_REST};
        MUST(acu_node_set_fill(changed_fill, &other));
        MUST(acu_exec_set_fill(changed_exec, changed_fill, &other));
        MUST(acu_node_destroy(node));
    }
    MUST(acu_stream_synchronize(stream));
    MUST(acu_stream_release(stream));
    return NULL;
}

static void one_graph_in_all_threads(void **state) {
    (void)state;
    acu_stream *home = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_create(0, NULL, &home));
    OK(acu_buffer_create(home, ACU_I32, 32, &written));
    OK(acu_graph_create(&shared));
    OK(acu_graph_add_empty(shared, NULL, 0, NULL));
    OK(acu_graph_keep(shared, written, true));
    OK(acu_graph_instantiate(shared, NULL, &exec));
    const acu_fill fill = {written, ACU_I32, &(int32_t){1}, .width = ACU_REST};
    OK(acu_graph_create(&changed));
    OK(acu_graph_add_fill(changed, NULL, 0, &fill, &changed_fill));
    OK(acu_graph_instantiate(changed, NULL, &changed_exec));
    in_threads(use_graph, exec);
    OK(acu_exec_release(exec));
    OK(acu_exec_release(changed_exec));
    OK(acu_graph_release(shared));
    OK(acu_graph_release(changed));
    OK(acu_buffer_release(written));
    OK(acu_stream_release(home));
    OK(acu_device_synchronize(0));
}

static acu_result capture_fill(acu_stream *stream, void *data) {
    (void)data;
    ACU_TRY(acu_buffer_zero(written, stream));
    return acu_buffer_zero(written, stream);
}

static void *capture(void *data) {
    acu_stream *stream = NULL;
    MUST(acu_stream_create(0, NULL, &stream));
    for (int i = 0; i < ROUNDS; i++) {
        acu_graph *graph = NULL;
        acu_event *event = NULL;
        MUST(acu_stream_capture(stream, NULL, capture_fill, NULL, &graph));
        MUST(acu_graph_release(graph));
        MUST(acu_event_create(0, NULL, &event));
        MUST(acu_event_release(event));
    }
    MUST(acu_stream_release(stream));
    return NULL;
}

static void captures_in_all_threads(void **state) {
    (void)state;
    static char failed[] = "failed";
    acu_stream *home = NULL;
    OK(acu_stream_create(0, NULL, &home));
    OK(acu_buffer_create(home, ACU_I32, 32, &written));
    in_threads(capture, failed);
    OK(acu_buffer_release(written));
    OK(acu_stream_release(home));
}

/* A released buffer leaves its storage to the next one, until an owner releases the stream. */
static void *come_and_go(void *data) {
    acu_stream *stream = data;
    for (int i = 0; i < ROUNDS; i++) {
        int value = i;
        acu_buffer *buffer = NULL, *part = NULL;
        MUST(acu_buffer_create(stream, ACU_I32, 8, &buffer));
        MUST(acu_buffer_slice(buffer, 1, 2, &part));
        MUST(acu_buffer_release(buffer));
        if (i % 4 == 0)
            MUST(acu_buffer_fill_typed(part, ACU_I32, &value, NULL));
        if (i == ROUNDS / 2)
            MUST(acu_stream_release(acu_stream_retain(stream)));
        MUST(acu_buffer_release(part));
    }
    return NULL;
}

static void buffers_come_and_go_in_all_threads(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_quarantine(0);
    OK(acu_stream_create(0, NULL, &stream));
    in_threads(come_and_go, stream);
    OK(acu_stream_release(stream));
    OK(acu_stream_create(0, NULL, &stream)); /* and once more without them */
    for (int i = 0; i < THREADS; i++)
        assert_null(come_and_go(stream));
    OK(acu_stream_release(stream));
}

static void *fail_and_ask(void *data) {
    acu_error error;
    for (int i = 0; i < ROUNDS; i++) {
        if (acu_stream_query(NULL) != ACU_ERROR_ARGUMENT)
            return data;
        (void)acu_release_error(&error);
        (void)acu_last_error_details();
        acu_quarantine((size_t)i % 7);
        acu_event *event = NULL;
        MUST(acu_event_create(0, NULL, &event));
        MUST(acu_event_release(event));
    }
    return NULL;
}

static void errors_are_a_threads_own(void **state) {
    (void)state;
    static char failed[] = "failed";
    in_threads(fail_and_ask, failed);
    acu_quarantine(0);
}

/* Each thread has its own stream and numbers, kernels come and go, and settings change. */
static void *use_kernels(void *data) {
    enum { N = 32 };
    acu_kernel *ours = data;
    for (int i = 0; i < ROUNDS; i++) {
        float back[N];
        size_t count = 1;
        const char *name;
        acu_stream *stream = NULL;
        acu_kernel *mine = NULL;
        MUST(acu_stream_create(0, NULL, &stream));
        acu_buffer *x = numbers_on(stream, N);
        MUST(acu_module_get_kernel(acu_kernel_module(ours), "scale", &mine));
        MUST(acu_module_get_kernel_names(acu_kernel_module(ours), &name, &count));
        MUST(acu_launch(stream, ours, acu_grid_1d(N, 32), x, 2.0f, N));
        MUST(acu_kernel_set_attribute(ours, ACU_KERNEL_MAX_SHARED, 50000 + i));
        MUST(acu_launch(stream, mine, acu_grid_1d(N, 32), x, 2.0f, N));
        MUST(acu_kernel_release(mine));
        MUST(acu_buffer_read(x, back, N));
        MUST(back[5] != 20);
        MUST(acu_buffer_release(x));
        MUST(acu_stream_release(stream));
    }
    return NULL;
}

static void one_module_in_all_threads(void **state) {
    (void)state;
    acu_kernel *kernel = kernel_on(0, "scale");
    in_threads(use_kernels, kernel);
    OK(acu_kernel_release(kernel));
}

/* A module remembers the streams that it runs on, and gives each of them up once. */
static pthread_barrier_t together;

static void *launch_first(void *data) {
    acu_stream *stream = NULL;
    MUST(acu_stream_create(0, NULL, &stream));
    pthread_barrier_wait(&together);
    MUST(acu_launch(stream, (acu_kernel *)data, acu_grid_1d(1, 1)));
    MUST(acu_stream_release(stream));
    return NULL;
}

static void the_first_launches_of_a_module(void **state) {
    (void)state;
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < ROUNDS; i++) {
        acu_kernel *kernel = kernel_on(0, "nothing");
        in_threads(launch_first, kernel);
        OK(acu_kernel_release(kernel));
    }
    pthread_barrier_destroy(&together);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_buffer_in_all_threads),          TEST(one_stream_in_all_threads),
        TEST(memory_leaves_while_it_is_launched), TEST(memory_is_used_while_it_is_waited_for),
        TEST(one_graph_in_all_threads),           TEST(captures_in_all_threads),
        TEST(buffers_come_and_go_in_all_threads), TEST(errors_are_a_threads_own),
        KERNEL_TEST(one_module_in_all_threads),   KERNEL_TEST(the_first_launches_of_a_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
