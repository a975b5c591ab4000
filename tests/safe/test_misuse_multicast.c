/* Misuse of multicast objects: handles that are none, NULL, devices that are not there. */
#include "misuse.h"

static acu_multicast *object;
static acu_physical *memory;
static acu_virtual *range;
static size_t step;

/* Where there are no multicast objects, only what is checked before CUDA is asked is tried. */
static int begin_multicast(void **state) {
    bool supported = false;
    int code = begin_misuse(state);
    OK(acu_physical_get_granularity(0, NULL, &step, NULL));
    OK(acu_physical_create(0, step, NULL, &memory));
    OK(acu_virtual_reserve(0, step, NULL, &range));
    OK(acu_multicast_is_supported(0, &supported));
    object = NULL;
    if (supported && (is_simulated() || getenv("ANYCUDA_TESTS_MULTICAST")))
        OK(acu_multicast_create(1, step, NULL, &object));
    else
        print_message("no object is made: an old driver, or a GPU without "
                      "ANYCUDA_TESTS_MULTICAST\n");
    return code;
}

static int end_multicast(void **state) {
    OK(acu_multicast_release(object));
    OK(acu_virtual_release(range));
    OK(acu_physical_release(memory));
    return end_misuse(state);
}

#define MULTICAST_TEST(function) SAFE_TEST(function, begin_multicast, end_multicast)

static void handles(void **state) {
    (void)state;
    acu_multicast *made = NULL;
    bool supported;
    int descriptor;
    size_t count = 0;
    NO_DEVICE(acu_multicast_is_supported(absent, &supported));
    NOT_NULL(acu_multicast_is_supported(0, NULL));
    REFUSED(acu_multicast_get_granularity(0, step, NULL, NULL, NULL), ACU_ERROR_ARGUMENT, "is 0");
    NOT_NULL(acu_multicast_create(1, step, NULL, NULL));
    REFUSED(acu_multicast_wrap(0, 1, step, &made), ACU_ERROR_ARGUMENT, "'raw' is 0");
    REFUSED(acu_multicast_adopt(0, 1, step, &made), ACU_ERROR_ARGUMENT, "'raw' is 0");
    NOT_NULL(acu_multicast_wrap(1, 1, step, NULL));
    NOT_NULL(acu_multicast_adopt(1, 1, step, NULL));
    HANDLE(acu_multicast_export(bad, &descriptor));
    NOT_NULL(acu_multicast_export(object, NULL));
    REFUSED(acu_multicast_import(-1, 1, step, &made), ACU_ERROR_ARGUMENT, "no descriptor");
    NOT_NULL(acu_multicast_import(0, 1, step, NULL));
    HANDLE(acu_multicast_add_device(bad, 0));
    HANDLE(acu_multicast_bind(bad, 0, memory, 0, step));
    HANDLE(acu_multicast_bind_buffer(bad, 0, good.buffer));
    HANDLE(acu_multicast_unbind(bad, 0, 0, step));
    HANDLE(acu_multicast_get_bindings(bad, NULL, &count));
    HANDLE(acu_multicast_get_devices(bad, NULL, &count));
    NOT_NULL(acu_multicast_get_bindings(object, NULL, NULL));
    NOT_NULL(acu_multicast_get_devices(object, NULL, NULL));
    HANDLE(acu_virtual_map_multicast(range, 0, bad, 0, step));
    assert_null(made);
    SAYS(0, acu_multicast_raw(bad));
    SAYS(0, acu_multicast_bytes(bad));
    SAYS(0, acu_multicast_devices(bad));
    OWNERS(multicast);
}

static void with_an_object(void **state) {
    (void)state;
    if (!object)
        skip();
    NO_DEVICE(acu_multicast_add_device(object, absent));
    NO_DEVICE(acu_multicast_unbind(object, absent, 0, step));
    HANDLE(acu_multicast_bind(object, 0, bad, 0, step));
    HANDLE(acu_multicast_bind_buffer(object, 0, bad));
    HANDLE(acu_virtual_map_multicast(bad, 0, object, 0, step));
    OK(acu_multicast_add_device(object, 0));
    OK(acu_multicast_bind(object, 0, memory, 0, step));
}

int main(void) {
    const struct CMUnitTest tests[] = {MULTICAST_TEST(handles), MULTICAST_TEST(with_an_object)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
