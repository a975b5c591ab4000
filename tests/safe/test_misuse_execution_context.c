/* Misuse of execution contexts: handles that are none, NULL, devices that are not there. */
#include "misuse.h"

#define SPLIT_TEST(function) SAFE_TEST(function, begin_misuse, end_misuse)

static const acu_device_part part = {.multiprocessors = 8};

static void handles(void **state) {
    (void)state;
    acu_execution_context *made = NULL;
    acu_execution_context_info info;
    acu_stream *stream = NULL;
    uint64_t id;
    HANDLE(acu_execution_context_split(bad, &part, 1, &made));
    HANDLE(acu_execution_context_get_info(bad, &info));
    HANDLE(acu_execution_context_get_id(bad, &id));
    HANDLE(acu_execution_context_create_stream(bad, NULL, &stream));
    HANDLE(acu_execution_context_record_event(bad, good.event));
    HANDLE(acu_execution_context_wait_event(bad, good.event));
    HANDLE(acu_execution_context_synchronize(bad));
    HANDLE(acu_device_record_event(0, bad));
    HANDLE(acu_device_wait_event(0, bad));
    assert_true(!made && !stream);
    SAYS(NULL, acu_execution_context_raw(bad));
    SAYS(NULL, acu_stream_execution_context(bad));
    SAYS(ACU_DEVICE_CURRENT, acu_execution_context_device(bad));
    OWNERS(execution_context);
}

static void pointers_and_devices(void **state) {
    (void)state;
    acu_execution_context *made = NULL;
    acu_multiprocessors all;
    struct CUgreenCtx_st *raw = (void *)&made;
    unsigned count = 0;
    NO_DEVICE(acu_device_get_multiprocessors(absent, &all));
    NO_DEVICE(acu_device_split(absent, &part, 1, &made));
    NO_DEVICE(acu_device_record_event(absent, good.event));
    NO_DEVICE(acu_device_wait_event(absent, good.event));
    NO_DEVICE(acu_execution_context_wrap(absent, raw, &made));
    NO_DEVICE(acu_execution_context_adopt(absent, raw, &made));
    NOT_NULL(acu_device_get_multiprocessors(0, NULL));
    NOT_NULL(acu_device_split(0, NULL, 1, &made));
    NOT_NULL(acu_device_split(0, &part, 1, NULL));
    NOT_NULL(acu_execution_context_wrap(0, NULL, &made));
    NOT_NULL(acu_execution_context_adopt(0, NULL, &made));
    NOT_NULL(acu_execution_context_wrap(0, raw, NULL));
    NOT_NULL(acu_execution_context_adopt(0, raw, NULL));
    NOT_NULL(acu_stream_get_multiprocessors(good.stream, NULL));
    HANDLE(acu_stream_get_multiprocessors(bad, &count));
    assert_null(made);
}

static void with_a_context(void **state) {
    (void)state;
    acu_execution_context *context = NULL;
    acu_execution_context *made = NULL;
    if (driver_version() < 12040)
        SKIP("needs a driver of CUDA 12.4");
    OK(acu_device_split(0, &part, 1, &context));
    HANDLE(acu_execution_context_record_event(context, bad));
    HANDLE(acu_execution_context_wait_event(context, bad));
    TRIED(RELEASED, acu_device_split(0, &(acu_device_part){.multiprocessors = 8, .queues_of = bad},
                                     1, &made));
    NOT_NULL(acu_execution_context_split(context, NULL, 1, &made));
    NOT_NULL(acu_execution_context_split(context, &part, 1, NULL));
    NOT_NULL(acu_execution_context_get_info(context, NULL));
    NOT_NULL(acu_execution_context_get_id(context, NULL));
    NOT_NULL(acu_execution_context_create_stream(context, NULL, NULL));
    REFUSED(acu_execution_context_split(context, &part, 0, &made), ACU_ERROR_ARGUMENT,
            "'count' is 0");
    assert_null(made);
    OK(acu_execution_context_release(context));
}

int main(void) {
    const struct CMUnitTest tests[] = {SPLIT_TEST(handles), SPLIT_TEST(pointers_and_devices),
                                       SPLIT_TEST(with_a_context)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
