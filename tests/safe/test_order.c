/* Which uses of a buffer wait for which, on several streams. */
#include "safe.h"

#include <anycuda/cudart.h>

#include <pthread.h>
#include <sched.h>

static acu_stream *a, *b, *c;

static int start(void **state) {
    begin(state);
    return acu_stream_create(0, NULL, &a) || acu_stream_create(0, NULL, &b) ||
           acu_stream_create(0, NULL, &c);
}

static int stop(void **state) {
    int code = acu_stream_release(a);
    code += acu_stream_release(b) + acu_stream_release(c);
    return nothing_left(state) || code;
}

static acu_buffer *make(acu_stream *on) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(on, ACU_I32, 256, &buffer));
    return buffer;
}

static void one_stream_needs_no_event(void **state) {
    (void)state;
    int value = 3;
    acu_inject_errors("cudaEvent*@*:1;cudaStreamWaitEvent@*:1");
    acu_buffer *x = make(a), *y = make(a);
    for (int i = 0; i < 10; i++) {
        OK(acu_buffer_fill(x, &value));
        OK(acu_buffer_copy(y, x, NULL));
        OK(acu_buffer_read(y, &value, 1));
    }
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
}

static void a_second_stream_waits_for_the_first(void **state) {
    (void)state;
    blocker held;
    int value = 5, back = 0;
    acu_buffer *x = make(a);
    block_stream(&held, a);
    OK(acu_buffer_fill(x, &value));
    acu_buffer *y = make(b);
    OK(acu_buffer_copy(y, x, NULL)); /* on stream b */
    still_waits(b);
    unblock_stream(&held);
    OK(acu_buffer_read(y, &back, 1));
    assert_int_equal(back, 5);
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
}

static void readers_do_not_wait_for_each_other(void **state) {
    (void)state;
    blocker held;
    int value = 0;
    acu_buffer *x = make(a);
    OK(acu_buffer_zero(x, NULL));
    block_stream(&held, b);
    OK(acu_buffer_begin_use(x, false, b));
    OK(acu_buffer_end_use(x, false, b));
    OK(acu_buffer_read_typed(x, 0, ACU_I32, &value, 1, c)); /* would hang if it waited */
    OK(acu_buffer_read_typed(x, 0, ACU_I32, &value, 1, a));
    /* A writer waits for all of them. */
    OK(acu_buffer_zero(x, c));
    still_waits(c);
    unblock_stream(&held);
    OK(acu_stream_synchronize(c));
    OK(acu_buffer_release(x));
}

static void more_readers_than_are_remembered(void **state) {
    (void)state;
    enum { READERS = 9 };
    acu_stream *readers[READERS] = {NULL};
    blocker held[READERS];
    acu_buffer *x = make(a);
    for (int i = 0; i < READERS; i++) {
        OK(acu_stream_create(0, NULL, &readers[i]));
        block_stream(&held[i], readers[i]);
        OK(acu_buffer_begin_use(x, false, readers[i]));
        OK(acu_buffer_end_use(x, false, readers[i]));
    }
    OK(acu_buffer_zero(x, NULL));
    for (int i = READERS; i-- > 0;) { /* CUDA may call host functions one by one, in its order */
        still_waits(a);
        unblock(&held[i]);
    }
    OK(acu_stream_synchronize(a));
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(held[i].passed, 1);
        OK(acu_stream_release(readers[i]));
    }
    OK(acu_buffer_release(x));
}

/* The fifth use stands for the write whose place it took, and the others still wait for that. */
static void more_readers_than_are_remembered_wait_for_the_write(void **state) {
    (void)state;
    enum { READERS = 9 };
    acu_stream *readers[READERS] = {NULL};
    acu_buffer *x = make(a), *got[READERS] = {NULL};
    const int old = 1, new = 7;
    int value = 0;
    blocker held;
    OK(acu_buffer_fill(x, &old));
    OK(acu_stream_synchronize(a));
    block_stream(&held, a);
    OK(acu_buffer_fill(x, &new));
    for (int i = 0; i < READERS; i++) {
        OK(acu_stream_create(0, NULL, &readers[i]));
        OK(acu_buffer_create(readers[i], ACU_I32, acu_buffer_count(x), &got[i]));
        OK(acu_buffer_copy(got[i], x, NULL));
        still_waits(readers[i]);
    }
    unblock_stream(&held);
    for (int i = 0; i < READERS; i++) {
        OK(acu_buffer_read(got[i], &value, 1));
        assert_int_equal(value, new);
        OK(acu_buffer_release(got[i]));
        OK(acu_stream_release(readers[i]));
    }
    OK(acu_buffer_release(x));
}

static void slices_are_ordered_like_their_memory(void **state) {
    (void)state;
    blocker held;
    acu_buffer *x = make(a), *part = NULL;
    OK(acu_buffer_slice(x, 10, 20, &part));
    block_stream(&held, a);
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_zero(part, b));
    still_waits(b);
    unblock_stream(&held);
    OK(acu_buffer_release(part));
    OK(acu_buffer_release(x));
}

static void unordered_buffers_do_not_wait(void **state) {
    (void)state;
    blocker held;
    acu_buffer *x = NULL;
    OK(acu_buffer_create_with(a, ACU_U8, 100, &(acu_buffer_options){.flags = ACU_BUFFER_UNORDERED},
                              &x));
    OK(acu_stream_synchronize(a));
    block_stream(&held, a);
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_zero(x, b));
    OK(acu_stream_synchronize(b)); /* would hang if it waited */
    unblock_stream(&held);
    OK(acu_buffer_release(x));
}

static void freeing_waits_for_uses_elsewhere(void **state) {
    (void)state;
    blocker held;
    acu_buffer *x = make(a);
    block_stream(&held, b);
    OK(acu_buffer_zero(x, b));
    OK(acu_buffer_release(x)); /* the thread does not wait, but stream a does */
    still_waits(a);
    unblock_stream(&held);
    OK(acu_stream_synchronize(a));
    assert_int_equal(held.passed, 1);
}

static void a_destroyed_stream_is_waited_for_too(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("a stream goes while it works");
    blocker held;
    acu_stream *gone = NULL;
    acu_buffer *x = make(a);
    OK(acu_stream_create(0, NULL, &gone));
    block_stream(&held, gone);
    OK(acu_buffer_zero(x, gone));
    OK(acu_stream_release(gone));
    OK(acu_buffer_zero(x, NULL));
    still_waits(a);
    unblock_stream(&held);
    OK(acu_stream_synchronize(a));
    OK(acu_buffer_release(x));
}

static void a_borrowed_stream_may_go_before_the_buffer(void **state) {
    (void)state;
    NOT_UNDER_A_TOOL("a stream goes while it works");
    blocker held;
    acu_stream *owner = NULL, *borrowed = NULL;
    acu_buffer *x = make(a);
    OK(acu_stream_create(0, NULL, &owner));
    OK(acu_stream_wrap(0, acu_stream_raw(owner), &borrowed));
    block_stream(&held, owner);
    OK(acu_buffer_zero(x, borrowed));
    OK(acu_stream_release(borrowed));
    OK(acu_stream_release(owner)); /* the raw stream is gone */
    OK(acu_buffer_release(x));
    still_waits(a);
    unblock_stream(&held);
}

static void *open_later(void *held) {
    for (int i = 0; i < 1000; i++)
        sched_yield();
    unblock_stream(held);
    return NULL;
}

static void host_memory_is_not_freed_under_a_copy(void **state) {
    (void)state;
    static const acu_memory kinds[] = {ACU_MEMORY_PINNED, ACU_MEMORY_DEVICE, ACU_MEMORY_MANAGED};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        blocker held;
        pthread_t thread;
        acu_buffer *x = make(a), *y = NULL;
        OK(acu_buffer_create_with(a, ACU_I32, 256, &(acu_buffer_options){.memory = kinds[i]}, &y));
        block_stream(&held, b);
        OK(acu_buffer_copy(x, y, b));
        pthread_create(&thread, NULL, open_later, &held);
        OK(acu_buffer_release(y)); /* the thread waits */
        assert_int_equal(__atomic_load_n(&held.passed, __ATOMIC_ACQUIRE), 1);
        pthread_join(thread, NULL);
        OK(acu_buffer_release(x));
    }
}

static void registered_memory_is_the_callers_again_when_done(void **state) {
    (void)state;
    blocker held;
    pthread_t thread;
    static int mine[256];
    int five = 5;
    acu_buffer *x = make(a), *host = NULL;
    OK(acu_buffer_fill(x, &five));
    OK(acu_buffer_register(a, ACU_I32, mine, 256, 0, &host));
    block_stream(&held, b);
    OK(acu_buffer_copy(host, x, b));
    pthread_create(&thread, NULL, open_later, &held);
    OK(acu_buffer_release(host)); /* the thread waits */
    assert_int_equal(mine[255], 5);
    pthread_join(thread, NULL);
    OK(acu_buffer_release(x));
}

static void a_pipelined_read_waits_for_its_event_only(void **state) {
    (void)state;
    blocker held;
    int seven = 7, back[256] = {0};
    acu_event *done = NULL;
    acu_buffer *x = make(a);
    OK(acu_event_create(0, &(acu_event_options){.flags = ACU_EVENT_DISABLE_TIMING}, &done));
    OK(acu_buffer_fill(x, &seven));
    OK(acu_event_record(done, a));
    block_stream(&held, a); /* the next batch */
    OK(acu_buffer_begin_use(x, false, a));
    OK(acu_buffer_end_use(x, false, a));
    OK(acu_buffer_read_after(x, done, 0, ACU_I32, back, 256, c)); /* would hang if it waited */
    assert_int_equal(back[255], 7);
    unblock_stream(&held);
    back[255] = 0;
    OK(acu_buffer_read_after(x, done, 0, ACU_I32, back, 256, NULL)); /* the buffer's own stream */
    assert_int_equal(back[255], 7);
    OK(acu_buffer_begin_use(x, true, NULL));
    OK(acu_buffer_end_use(x, true, NULL));
    FAILS(acu_buffer_read_after(x, done, 0, ACU_F32, back, 256, c), ACU_ERROR_DTYPE,
          "the host f32");
    FAILS(acu_buffer_read_after(x, done, 1, ACU_I32, back, 256, c), ACU_ERROR_RANGE,
          "which has 256");
    acu_graph *graph = NULL;
    OK(acu_stream_begin_capture(noted(c), NULL));
    FAILS(acu_buffer_read_after(x, done, 0, ACU_I32, back, 256, c), ACU_ERROR_CAPTURE,
          "is being captured");
    OK(acu_stream_end_capture(c, &graph));
    OK(acu_graph_release(graph));
    OK(acu_event_release(done));
    OK(acu_buffer_release(x));
}

static void devices_wait_for_each_other(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    blocker held;
    acu_stream *far = NULL;
    acu_buffer *x = make(a), *y = NULL;
    OK(acu_stream_create(1, NULL, &far));
    OK(acu_buffer_create(far, ACU_I32, 256, &y));
    block_stream(&held, a);
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_copy(y, x, NULL));
    still_waits(far);
    unblock_stream(&held);
    OK(acu_buffer_synchronize(y));
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
    OK(acu_stream_release(far));
}

static void *release_it(void *buffer) {
    return acu_buffer_release(buffer) ? buffer : NULL;
}

static void memory_of_another_threads_stream_is_freed_in_order(void **state) {
    (void)state;
    blocker held;
    pthread_t thread;
    void *failed;
    acu_stream *own = NULL;
    acu_buffer *x = NULL;
    OK(acu_stream_get_per_thread(0, &own));
    OK(acu_buffer_create(own, ACU_U8, 1000, &x));
    block_stream(&held, own);
    OK(acu_buffer_zero(x, NULL));
    pthread_create(&thread, NULL, release_it, x);
    pthread_join(thread, &failed);
    assert_null(failed);
    unblock_stream(&held);
    OK(acu_stream_synchronize(own));
    OK(acu_stream_release(own));
    OK(acu_device_synchronize(0));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, start, stop)

/* Lets both streams use the buffer, and waits without telling the safe layer. */
static void use_on_both(acu_buffer *x) {
    OK(acu_buffer_zero(x, a));
    OK(acu_buffer_zero(x, b));
    OK(acu_buffer_begin_use(x, false, a));
    OK(acu_buffer_end_use(x, false, a));
    assert_int_equal(cudaDeviceSynchronize(), 0);
}

/* Uses that are over are waited for by an event, unless they were forgotten. */
static void uses_that_are_over_are_forgotten(void **state) {
    (void)state;
    acu_buffer *x = make(a);
    size_t left = 9;
    use_on_both(x);
    acu_inject_errors("cudaStreamWaitEvent@*:999");
    FAILS(acu_buffer_zero(x, c), 999, "cudaStreamWaitEvent");
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 0);
    OK(acu_buffer_zero(x, c)); /* waits for nothing */
    OK(acu_buffer_forget_uses(x, NULL));
    acu_inject_errors(NULL);
    (void)cudaGetLastError();
    OK(acu_buffer_release(x));
}

static void uses_that_are_not_over_stay(void **state) {
    (void)state;
    blocker held;
    acu_buffer *x = make(a);
    size_t left = 9;
    use_on_both(x);
    block_stream(&held, b);
    OK(acu_buffer_zero(x, b));
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 1);
    OK(acu_buffer_zero(x, c));
    still_waits(c);
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 1); /* c, which came after b */
    unblock_stream(&held);
    OK(acu_stream_synchronize(c));
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 0);
    OK(acu_buffer_release(x));
}

/* The buffer's own stream alone has used it; then another one alone; then a stream that is gone. */
static void one_user_is_forgotten(void **state) {
    (void)state;
    blocker held;
    acu_stream *gone = NULL;
    acu_buffer *x = make(a);
    size_t left = 9;
    block_stream(&held, a);
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 1);
    unblock_stream(&held);
    assert_int_equal(cudaDeviceSynchronize(), 0);
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 0);
    OK(acu_stream_create(0, NULL, &gone));
    OK(acu_buffer_zero(x, gone));
    OK(acu_stream_release(gone));
    assert_int_equal(cudaDeviceSynchronize(), 0);
    acu_inject_errors("cudaStreamWaitEvent@*:999");
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 0);
    OK(acu_buffer_zero(x, NULL));
    acu_inject_errors(NULL);
    OK(acu_buffer_release(x));
}

/* While the thread must not ask CUDA, nothing is forgotten, and the capture goes on. */
static void a_capture_keeps_the_uses(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *x = make(a), *y = make(c);
    size_t left = 9;
    use_on_both(x);
    OK(acu_stream_begin_capture(c, NULL));
    OK(acu_buffer_zero(y, c));
    OK(acu_buffer_forget_uses(x, &left));
    assert_true(left > 0);
    OK(acu_stream_end_capture(c, &graph));
    OK(acu_buffer_forget_uses(x, &left));
    assert_int_equal(left, 0);
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(y));
    OK(acu_buffer_release(x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_stream_needs_no_event),
        TEST(a_second_stream_waits_for_the_first),
        TEST(readers_do_not_wait_for_each_other),
        TEST(more_readers_than_are_remembered),
        TEST(more_readers_than_are_remembered_wait_for_the_write),
        TEST(slices_are_ordered_like_their_memory),
        TEST(unordered_buffers_do_not_wait),
        TEST(freeing_waits_for_uses_elsewhere),
        TEST(a_destroyed_stream_is_waited_for_too),
        TEST(a_borrowed_stream_may_go_before_the_buffer),
        TEST(host_memory_is_not_freed_under_a_copy),
        TEST(registered_memory_is_the_callers_again_when_done),
        TEST(a_pipelined_read_waits_for_its_event_only),
        TEST(devices_wait_for_each_other),
        TEST(memory_of_another_threads_stream_is_freed_in_order),
        TEST(uses_that_are_over_are_forgotten),
        TEST(uses_that_are_not_over_stay),
        TEST(one_user_is_forgotten),
        TEST(a_capture_keeps_the_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
