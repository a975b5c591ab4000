/* Listeners: notifications of devices, and what all kinds have in common. */
#include "safe.h"

#include <pthread.h>
#include <sched.h>

typedef struct ear {
    int heard; /* atomic, as all of it */
    unsigned long long bytes;
    acu_device device;
    acu_listener *release; /* in the call; or NULL */
    int hold;              /* the call waits while this is 1 */
} ear;

static void hear(const acu_notification *notification, void *data) {
    ear *e = data;
    assert_int_equal(notification->type, ACU_NOTIFICATION_OVER_BUDGET);
    __atomic_store_n(&e->bytes, notification->bytes, __ATOMIC_SEQ_CST);
    __atomic_store_n(&e->device, notification->device, __ATOMIC_SEQ_CST);
    (void)acu_listener_release(__atomic_exchange_n(&e->release, NULL, __ATOMIC_SEQ_CST));
    __atomic_add_fetch(&e->heard, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&e->hold, __ATOMIC_SEQ_CST))
        sched_yield();
}

static void wait_until_heard(const ear *e, int times) {
    while (__atomic_load_n(&e->heard, __ATOMIC_SEQ_CST) < times)
        sched_yield();
}

/* Exceeds the budget of 4 MiB by one MiB, and comes back to it. */
static void exceed(void) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create_with(stream, ACU_U8, 5u << 20u,
                              &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, &buffer));
}

/* Begins anew with a budget; skips where the driver has no notifications. */
#define NEEDS_BUDGET()                                                                             \
    do {                                                                                           \
        ONLY_SIMULATED("a budget of memory");                                                      \
        if (!is_driver_since(12040))                                                               \
            SKIP("needs a driver of CUDA 12.4: budgets");                                          \
        begin_on("memory=1GiB,budget=4MiB");                                                       \
    } while (0)

static void a_device_tells_of_its_budget(void **state) {
    (void)state;
    ear e = {.device = 99};
    acu_listener *listener = NULL;
    NEEDS_BUDGET();
    OK(acu_device_listen(0, hear, &e, &listener));
    assert_non_null(acu_listener_raw(listener));
    exceed();
    wait_until_heard(&e, 1);
    assert_int_equal(e.bytes, 1u << 20u);
    assert_int_equal(e.device, 0);
    OK(acu_listener_release(listener));
    exceed();
    assert_int_equal(e.heard, 1);
}

static void a_release_in_the_call_is_put_off(void **state) {
    (void)state;
    acu_listener *listener = NULL;
    ear e = {.heard = 0};
    NEEDS_BUDGET();
    OK(acu_device_listen(0, hear, &e, &listener));
    __atomic_store_n(&e.release, listener, __ATOMIC_SEQ_CST);
    exceed();
    wait_until_heard(&e, 1);
    OK(acu_device_synchronize(0)); /* destroys what was put off */
    OK(acu_listener_release(NULL));
}

static void *let_go(void *data) {
    ear *e = data;
    __atomic_store_n(&e->hold, 0, __ATOMIC_SEQ_CST);
    return NULL;
}

static void a_release_waits_for_the_call(void **state) {
    (void)state;
    acu_listener *listener = NULL;
    pthread_t thread;
    ear e = {.hold = 1};
    NEEDS_BUDGET();
    OK(acu_device_listen(0, hear, &e, &listener));
    exceed();
    wait_until_heard(&e, 1);
    assert_int_equal(pthread_create(&thread, NULL, let_go, &e), 0);
    OK(acu_listener_release(listener));
    assert_int_equal(e.hold, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void registers_and_ends(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *one = NULL, *two = NULL;
    char text[200];
    if (!is_driver_since(12040)) {
        FAILS(acu_device_listen(0, hear, &e, &one), 801, "needs CUDA 12.4");
        assert_null(one);
        return;
    }
    OK(acu_device_listen(0, hear, &e, &one));
    OK(acu_device_listen(another_device(), hear, &e, &two));
    assert_ptr_not_equal(acu_listener_raw(one), acu_listener_raw(two));
    assert_true(acu_listener_describe(one, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, "of the device"));
    assert_ptr_equal(acu_listener_retain(one), one);
    OK(acu_listener_release(one));
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "still alive");
    OK(acu_listener_release(one));
    OK(acu_listener_release(two));
}

static void during_a_capture(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *listener = NULL;
    acu_graph *graph = NULL;
    ACU_AUTO(acu_stream) *stream = NULL;
    if (!is_driver_since(12040))
        SKIP("needs a driver of CUDA 12.4: budgets");
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_stream_begin_capture(noted(stream), NULL));
    OK(acu_device_listen(0, hear, &e, &listener));
    OK(acu_listener_release(listener));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
}

static void raw_registrations(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *one = NULL, *wrapped = NULL, *adopted = NULL;
    int anything = 0;
    FAILS(acu_listener_wrap((acu_listener_subject)9, 0, &anything, &wrapped), ACU_ERROR_ARGUMENT,
          "'subject' is 9");
    FAILS(acu_listener_adopt((acu_listener_subject)0, 0, &anything, &adopted), ACU_ERROR_ARGUMENT,
          "'subject' is 0");
    if (!is_driver_since(12040))
        SKIP("needs a driver of CUDA 12.4: budgets");
    OK(acu_device_listen(0, hear, &e, &one));
    void *raw = acu_listener_raw(one);
    OK(acu_listener_wrap(ACU_LISTENER_DEVICE, 0, raw, &wrapped));
    assert_ptr_equal(acu_listener_raw(wrapped), raw);
    OK(acu_listener_release(wrapped)); /* the registration stays */
    OK(acu_listener_release(one));
    if (!is_simulated())
        return; /* CUDA crashes where a registration is ended twice */
    OK(acu_listener_adopt(ACU_LISTENER_DEVICE, 0, raw, &adopted));
    acu_error error;
    assert_int_equal(acu_listener_release(adopted), 1);
    assert_int_equal(acu_release_error(&error), 1);
    assert_non_null(strstr(error.message, "cuDeviceUnregisterAsyncNotification"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_device_tells_of_its_budget),
        TEST(a_release_in_the_call_is_put_off),
        TEST(a_release_waits_for_the_call),
        TEST(registers_and_ends),
        TEST(during_a_capture),
        TEST(raw_registrations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
