/* Work that the thread runs which waits for it. That is so only where the program waited at once
 * before, so each test does that first; it holds whoever runs the work. */
#define _POSIX_C_SOURCE 200809L

#include "kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

enum { TIMES = 30 };

static cudaLibrary_t library;
static cudaKernel_t kernel, setter;
static cudaStream_t stream, other;
static atomic_int signs[16]; /* which work sets */

static atomic_int released, entered;

/* What the kernel does. */
static void wait_for_release(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
    atomic_fetch_add(&entered, 1);
    while (!atomic_load(&released))
        sched_yield();
}

/* What the setter does. */
static void set_sign(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    atomic_store(&signs[*(const uint64_t *)args[0]], 1);
}

static int begin_with_streams(void **state) {
    begin(state);
    library = load(PTX);
    kernel = kernel_of(library, "nothing");
    setter = kernel_of(library, "sharing");
    OK(acu_sim_register("sharing", set_sign));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    atomic_store(&released, 0);
    atomic_store(&entered, 0);
    return 0;
}

static int end_with_streams(void **state) {
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
    OK(cudaLibraryUnload(library));
    return end(state);
}

#define D(name) cmocka_unit_test_setup_teardown(name, begin_with_streams, end_with_streams)

static void launch(cudaStream_t on) {
    OK(cudaLaunchKernel(kernel, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, on));
}

static void set(uint64_t i, cudaStream_t on) {
    void *args[] = {&i};
    OK(cudaLaunchKernel(setter, dim(1, 1, 1), dim(1, 1, 1), args, 0, on));
}

static bool is_set(int i) {
    return atomic_load(&signs[i]);
}

/* Makes the next work of the stream that which the waiting thread runs. */
static void wait_at_once(cudaStream_t on) {
    for (int i = 0; i < 3; i++) {
        set(15, on);
        OK(cudaStreamSynchronize(on));
    }
}

/* ---- work goes on ---- */

TEST(work_goes_on_without_a_call) {
    for (int i = 0; i < TIMES; i++) {
        wait_at_once(stream);
        atomic_store(&signs[0], 0);
        set(0, stream);
        while (!is_set(0))
            sched_yield();
    }
}

TEST(a_little_work_in_order) {
    uint32_t words[2] = {0}, *at;
    OK(cudaMalloc((void **)&at, 8));
    for (int i = 0; i < TIMES; i++) {
        wait_at_once(stream);
        OK(cudaMemsetAsync(at, i, 8, stream));
        OK(cudaMemsetAsync(at + 1, i + 1, 4, stream));
        OK(cudaMemcpyAsync(words, at, 8, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        assert_int_equal(words[0], 0x01010101u * (unsigned)i);
        assert_int_equal(words[1], 0x01010101u * (unsigned)(i + 1));
    }
    OK(cudaFree(at));
}

TEST(more_work_in_order) {
    uint32_t words[100], *at;
    OK(cudaMalloc((void **)&at, sizeof words));
    for (int i = 0; i < TIMES; i++) {
        wait_at_once(stream);
        for (int n = 0; n < 100; n++)
            OK(cudaMemsetAsync(at + n, i + n, (size_t)(100 - n) * 4, stream));
        OK(cudaMemcpyAsync(words, at, sizeof words, cudaMemcpyDeviceToHost, stream));
        OK(cudaStreamSynchronize(stream));
        for (int n = 0; n < 100; n++)
            assert_int_equal(words[n], 0x01010101u * (unsigned)(i + n));
    }
    OK(cudaFree(at));
}

/* The legacy stream comes after what was put on blocking streams before. */
TEST(the_legacy_stream_comes_after) {
    cudaStream_t blocking;
    uint32_t word = 0, *at;
    OK(cudaMalloc((void **)&at, 4));
    OK(cudaStreamCreate(&blocking));
    for (int i = 0; i < TIMES; i++) {
        wait_at_once(blocking);
        OK(cudaMemsetAsync(at, i, 4, blocking));
        OK(cudaMemcpy(&word, at, 4, cudaMemcpyDeviceToHost));
        assert_int_equal(word, 0x01010101u * (unsigned)i);
        OK(cudaMemsetAsync(at, i + 1, 4, 0));
        OK(cudaMemcpyAsync(&word, at, 4, cudaMemcpyDeviceToHost, blocking));
        OK(cudaStreamSynchronize(blocking));
        assert_int_equal(word, 0x01010101u * (unsigned)(i + 1));
    }
    OK(cudaStreamDestroy(blocking));
    OK(cudaFree(at));
}

/* ---- what a wait does not wait for ---- */

/* Work behind an event that waits for what this thread does after the event. */
TEST(work_behind_the_event) {
    cudaEvent_t event;
    OK(acu_sim_register("nothing", wait_for_release));
    OK(cudaEventCreate(&event));
    for (int i = 0; i < TIMES; i++) {
        atomic_store(&released, 0);
        wait_at_once(stream);
        atomic_store(&signs[0], 0);
        set(0, stream);
        OK(cudaEventRecord(event, stream));
        launch(stream);
        OK(cudaEventSynchronize(event));
        assert_true(is_set(0));
        SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
        atomic_store(&released, 1);
        OK(cudaStreamSynchronize(stream));
    }
    OK(cudaEventDestroy(event));
}

/* Work that waits for what this thread does once it has asked. */
TEST(work_that_is_asked_for) {
    OK(acu_sim_register("nothing", wait_for_release));
    for (int i = 0; i < TIMES; i++) {
        atomic_store(&released, 0);
        wait_at_once(stream);
        launch(stream);
        SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
        atomic_store(&released, 1);
        OK(cudaStreamSynchronize(stream));
    }
    assert_int_equal(atomic_load(&entered), TIMES);
}

static void *wait_for(void *of) {
    return (void *)(intptr_t)cudaStreamSynchronize(of); /* NOLINT(performance-no-int-to-ptr) */
}

static void begin_to_wait(pthread_t *thread, cudaStream_t of) {
    assert_int_equal(pthread_create(thread, NULL, wait_for, of), 0);
}

/* Returns what the thread's wait did. */
static cudaError_t end_of_wait(pthread_t thread) {
    void *result;
    assert_int_equal(pthread_join(thread, &result), 0);
    return (cudaError_t)(intptr_t)result;
}

static void release_by_memory(const acu_sim_launch *launched, void *const *args) {
    (void)launched;
    (void)args;
    atomic_fetch_add(&entered, 1);
    while (!is_set(0))
        sched_yield();
}

/* The work of one stream waits for that of another one, whichever is queued or waited for first. */
TEST(work_of_streams_that_wait_for_each_other) {
    OK(acu_sim_register("nothing", release_by_memory));
    for (int i = 0; i < 4 * TIMES; i++) {
        atomic_store(&signs[0], 0);
        wait_at_once(stream);
        wait_at_once(other);
        if (i & 1)
            set(0, other);
        launch(stream);
        if (!(i & 1))
            set(0, other);
        OK(cudaStreamSynchronize(i & 2 ? stream : other));
        OK(cudaDeviceSynchronize());
    }
}

/* The same where another thread waits for each. */
TEST(work_that_other_threads_wait_for) {
    OK(acu_sim_register("nothing", release_by_memory));
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        atomic_store(&signs[0], 0);
        wait_at_once(other);
        wait_at_once(stream);
        launch(stream);
        begin_to_wait(&thread, stream);
        set(0, other);
        OK(cudaStreamSynchronize(other));
        OK(end_of_wait(thread));
    }
}

/* Work that is queued behind that which a thread runs while it waits. */
TEST(work_queued_meanwhile) {
    blocker b = {0};
    OK(acu_sim_register("nothing", wait_for_release));
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        const int before = atomic_load(&entered);
        atomic_store(&released, 0);
        b = (blocker){0};
        atomic_store(&signs[0], 0);
        wait_at_once(stream);
        launch(stream);
        begin_to_wait(&thread, stream);
        while (atomic_load(&entered) == before)
            sched_yield();
        set(0, stream);
        block_stream(&b, stream);
        set(1, stream);
        atomic_store(&released, 1);
        while (!atomic_load(&b.reached))
            sched_yield();
        assert_true(is_set(0));
        unblock_stream(&b);
        OK(end_of_wait(thread));
        OK(cudaStreamSynchronize(stream));
        assert_true(is_set(1));
        atomic_store(&signs[1], 0);
    }
}

/* ---- what threads see ---- */

static void note_thread(void *data) {
    *(pthread_t *)data = pthread_self();
}

/* The program may have a lock that a host function takes, so it is called on another thread. */
TEST(host_functions_have_another_thread) {
    for (int i = 0; i < TIMES; i++) {
        pthread_t caller = pthread_self();
        wait_at_once(stream);
        launch(stream);
        OK(cudaLaunchHostFunc(stream, note_thread, &caller));
        launch(stream);
        OK(cudaStreamSynchronize(stream));
        assert_false(pthread_equal(caller, pthread_self()));
    }
}

/* A launch returns before its kernel has failed, and the wait says so. */
TEST(a_failure_is_reported_by_the_wait) {
    wait_at_once(stream);
    OK(acu_sim_fault(stream, cudaErrorIllegalAddress));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    assert_null(strstr(acu_last_error_message(), "is no"));
    SAYS(cudaErrorIllegalAddress, cudaStreamQuery(stream));
    begin_with_streams(state);
}

TEST(a_stream_that_is_destroyed) {
    for (int i = 0; i < TIMES; i++) {
        cudaStream_t made;
        OK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
        wait_at_once(made);
        atomic_store(&signs[0], 0);
        set(0, made);
        OK(cudaStreamDestroy(made));
        OK(cudaDeviceSynchronize());
        assert_true(is_set(0));
    }
}

/* A stream that one thread destroys while another one runs its work. */
TEST(a_stream_that_is_destroyed_meanwhile) {
    OK(acu_sim_register("nothing", wait_for_release));
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        const int before = atomic_load(&entered);
        atomic_store(&released, 0);
        cudaStream_t made;
        OK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
        wait_at_once(made);
        launch(made);
        begin_to_wait(&thread, made);
        while (atomic_load(&entered) == before)
            sched_yield();
        pause_briefly(); /* most often the thread waits by now, or else finds no stream */
        const cudaError_t result = cudaStreamDestroy(made);
        atomic_store(&released, 1);
        OK(result);
        const cudaError_t waited = end_of_wait(thread);
        assert_true(waited == cudaSuccess || waited == cudaErrorInvalidResourceHandle);
    }
}

static void use_stack(const acu_sim_launch *launched, void *const *args) {
    volatile char much[200000];
    (void)launched;
    (void)args;
    for (size_t i = 0; i < sizeof much; i += 1000)
        much[i] = (char)i;
    atomic_fetch_add(&entered, 1);
}

static void *launch_often(void *unused) {
    (void)unused;
    for (int i = 0; i < TIMES; i++) {
        wait_at_once(stream);
        launch(stream);
        OK(cudaStreamSynchronize(stream));
    }
    return NULL;
}

/* A kernel needs more of a stack than the thread has that waits for it. */
TEST(a_thread_with_a_small_stack) {
    pthread_attr_t attributes;
    pthread_t thread;
    OK(acu_sim_register("nothing", use_stack));
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, launch_often, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    assert_int_equal(atomic_load(&entered), TIMES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        D(work_goes_on_without_a_call),
        D(a_little_work_in_order),
        D(more_work_in_order),
        D(the_legacy_stream_comes_after),
        D(work_behind_the_event),
        D(work_that_is_asked_for),
        D(work_of_streams_that_wait_for_each_other),
        D(work_that_other_threads_wait_for),
        D(work_queued_meanwhile),
        D(host_functions_have_another_thread),
        D(a_failure_is_reported_by_the_wait),
        D(a_stream_that_is_destroyed),
        D(a_stream_that_is_destroyed_meanwhile),
        D(a_thread_with_a_small_stack),
    };
    return RUN(tests);
}
