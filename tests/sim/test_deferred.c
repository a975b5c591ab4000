/* Work that the thread runs which waits for it. That is so only where the program waited at once
 * before, so each test does that first; it holds whoever runs the work. */
#define _POSIX_C_SOURCE 200809L

#include "kernels.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

enum { TIMES = 30 };

/* `set` writes a word; `wait` counts in one word and waits for another; `multiply` needs 50 KiB of
 * the stack of the thread that runs it. */
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry set(.param .u64 p) {\n.reg .b64 %d<2>;\nld.param.u64 %d1, [p];\n"
    "st.relaxed.sys.u32 [%d1], 1;\nret;\n}\n"
    ".visible .entry wait(.param .u64 p, .param .u64 q) {\n.reg .b64 %d<3>; .reg .b32 %r<3>;\n"
    ".reg .pred %p<2>;\nld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n"
    "atom.sys.add.u32 %r1, [%d1], 1;\nagain:\nld.relaxed.sys.u32 %r2, [%d2];\n"
    "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra again;\nret;\n}\n"
    ".visible .entry multiply(.param .u64 p) {\n.reg .b64 %d<2>; .reg .b32 %r<3>;\n"
    ".reg .f32 %f<9>;\nld.param.u64 %d1, [p];\nmov.b32 %r1, 0;\nmov.b32 %r2, 0;\n"
    "mov.f32 %f1, 0f00000000;\nmma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
    "{%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, {%r1,%r2}, {%r1,%r2}, "
    "{%f1,%f1,%f1,%f1,%f1,%f1,%f1,%f1};\nred.sys.add.u32 [%d1], 1;\nret;\n}\n";

static cudaLibrary_t library;
static cudaKernel_t setter, waiting, multiply;
static cudaStream_t stream, other;

/* Pinned memory. */
static struct shared {
    atomic_uint signs[16], released, entered;
} *shared;

static int begin_with_streams(void **state) {
    begin(state);
    OK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
    setter = kernel_of(library, "set");
    waiting = kernel_of(library, "wait");
    multiply = kernel_of(library, "multiply");
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&shared, sizeof *shared));
    memset(shared, 0, sizeof *shared);
    return 0;
}

static int end_with_streams(void **state) {
    OK(cudaFreeHost(shared));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(other));
    OK(cudaLibraryUnload(library));
    return end(state);
}

#define D(name) cmocka_unit_test_setup_teardown(name, begin_with_streams, end_with_streams)

static void set(int i, cudaStream_t on) {
    void *to = &shared->signs[i], *args[] = {&to};
    OK(cudaLaunchKernel(setter, dim(1, 1, 1), dim(1, 1, 1), args, 0, on));
}

static bool is_set(int i) {
    return atomic_load(&shared->signs[i]);
}

static void unset(int i) {
    atomic_store(&shared->signs[i], 0);
}

/* Launches a kernel that waits for the word. */
static void launch(cudaStream_t on, void *word) {
    void *entered = &shared->entered, *args[] = {&entered, &word};
    OK(cudaLaunchKernel(waiting, dim(1, 1, 1), dim(1, 1, 1), args, 0, on));
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
        unset(0);
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
    OK(cudaEventCreate(&event));
    for (int i = 0; i < TIMES; i++) {
        atomic_store(&shared->released, 0);
        wait_at_once(stream);
        unset(0);
        set(0, stream);
        OK(cudaEventRecord(event, stream));
        launch(stream, &shared->released);
        OK(cudaEventSynchronize(event));
        assert_true(is_set(0));
        SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
        atomic_store(&shared->released, 1);
        OK(cudaStreamSynchronize(stream));
    }
    OK(cudaEventDestroy(event));
}

/* Work that waits for what this thread does once it has asked. */
TEST(work_that_is_asked_for) {
    for (int i = 0; i < TIMES; i++) {
        atomic_store(&shared->released, 0);
        wait_at_once(stream);
        launch(stream, &shared->released);
        SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
        atomic_store(&shared->released, 1);
        OK(cudaStreamSynchronize(stream));
    }
    assert_int_equal(atomic_load(&shared->entered), TIMES);
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

/* The work of one stream waits for that of another one, whichever is queued or waited for first. */
TEST(work_of_streams_that_wait_for_each_other) {
    for (int i = 0; i < 4 * TIMES; i++) {
        unset(0);
        wait_at_once(stream);
        wait_at_once(other);
        if (i & 1)
            set(0, other);
        launch(stream, &shared->signs[0]);
        if (!(i & 1))
            set(0, other);
        OK(cudaStreamSynchronize(i & 2 ? stream : other));
        OK(cudaDeviceSynchronize());
    }
}

/* Another thread waits for each launch. */
TEST(work_that_other_threads_wait_for) {
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        unset(0);
        wait_at_once(other);
        wait_at_once(stream);
        launch(stream, &shared->signs[0]);
        begin_to_wait(&thread, stream);
        set(0, other);
        OK(cudaStreamSynchronize(other));
        OK(end_of_wait(thread));
    }
}

/* Work that is queued behind that which a thread runs while it waits. */
TEST(work_queued_meanwhile) {
    blocker b = {0};
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        const unsigned before = atomic_load(&shared->entered);
        atomic_store(&shared->released, 0);
        b = (blocker){0};
        unset(0);
        wait_at_once(stream);
        launch(stream, &shared->released);
        begin_to_wait(&thread, stream);
        while (atomic_load(&shared->entered) == before)
            sched_yield();
        set(0, stream);
        block_stream(&b, stream);
        set(1, stream);
        atomic_store(&shared->released, 1);
        while (!atomic_load(&b.reached))
            sched_yield();
        assert_true(is_set(0));
        unblock_stream(&b);
        OK(end_of_wait(thread));
        OK(cudaStreamSynchronize(stream));
        assert_true(is_set(1));
        unset(1);
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
        set(2, stream);
        OK(cudaLaunchHostFunc(stream, note_thread, &caller));
        set(2, stream);
        OK(cudaStreamSynchronize(stream));
        assert_false(pthread_equal(caller, pthread_self()));
    }
}

static void note_caller(const acu_sim_launch *launched, void *const *args) {
    (void)launched;
    **(pthread_t *const *)args[0] = pthread_self();
}

static void run_kernels_in_c(void) {
    OK(acu_sim_register("set", note_caller));
    for (int i = 0; i < TIMES; i++) {
        pthread_t caller = pthread_self();
        void *to = &caller, *args[] = {&to};
        OK(cudaLaunchKernel(setter, dim(1, 1, 1), dim(1, 1, 1), args, 0, stream));
        OK(cudaStreamSynchronize(stream));
        assert_false(pthread_equal(caller, pthread_self()));
    }
    OK(acu_sim_register("set", NULL));
}

/* Kernels in C, too, run on threads of the simulator. */
TEST(kernels_in_c_have_another_thread) {
    run_kernels_in_c();
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
        unset(0);
        set(0, made);
        OK(cudaStreamDestroy(made));
        OK(cudaDeviceSynchronize());
        assert_true(is_set(0));
    }
}

/* A stream that one thread destroys while another one runs its work. */
TEST(a_stream_that_is_destroyed_meanwhile) {
    for (int i = 0; i < TIMES; i++) {
        pthread_t thread;
        const unsigned before = atomic_load(&shared->entered);
        atomic_store(&shared->released, 0);
        cudaStream_t made;
        OK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
        wait_at_once(made);
        launch(made, &shared->released);
        begin_to_wait(&thread, made);
        while (atomic_load(&shared->entered) == before)
            sched_yield();
        pause_briefly(); /* most often the thread waits by now, or else finds no stream */
        const cudaError_t result = cudaStreamDestroy(made);
        atomic_store(&shared->released, 1);
        OK(result);
        const cudaError_t waited = end_of_wait(thread);
        assert_true(waited == cudaSuccess || waited == cudaErrorInvalidResourceHandle);
    }
}

static void *multiply_often(void *result) {
    void *entered = &shared->entered, *args[] = {&entered};
    cudaError_t *failed = result;
    for (int i = 0; i < TIMES && !*failed; i++) {
        *failed = cudaLaunchKernel(multiply, dim(1, 1, 1), dim(32, 1, 1), args, 0, stream);
        if (!*failed)
            *failed = cudaStreamSynchronize(stream);
    }
    return NULL;
}

/* Runs a kernel that needs more of a stack than the thread has which waits for it. */
static void wait_with_a_small_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    cudaError_t result = cudaSuccess;
    wait_at_once(stream);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 48 * 1024), 0);
    assert_int_equal(pthread_create(&thread, &attributes, multiply_often, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_attr_destroy(&attributes), 0);
    assert_int_equal(result, cudaSuccess);
    assert_int_equal(atomic_load(&shared->entered), 32 * TIMES);
}

TEST(a_thread_with_a_small_stack) {
    wait_with_a_small_stack();
}

/* A launch that waits for its kernel runs it in no other thread than a wait would. */
TEST(launches_that_block) {
    OK(end_with_streams(state));
    setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
    OK(begin_with_streams(state));
    unsetenv("CUDA_LAUNCH_BLOCKING");
    run_kernels_in_c();
    wait_with_a_small_stack();
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
        D(kernels_in_c_have_another_thread),
        D(a_failure_is_reported_by_the_wait),
        D(a_stream_that_is_destroyed),
        D(a_stream_that_is_destroyed_meanwhile),
        D(a_thread_with_a_small_stack),
        D(launches_that_block),
    };
    return RUN(tests);
}
