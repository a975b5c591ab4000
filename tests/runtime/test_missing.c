/* What a program is told where CUDA or WebGPU is not there, each time with what to do about it. */
#include <anycuda/anycuda.h>
#include <anycuda/runtime.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(acu_result result, acu_result code, const char *call, const char *end,
                   const char *hint) {
    const acu_error error = acu_last_error_details();
    const size_t length = strlen(error.message);
    assert_int_equal(result, code);
    assert_int_equal(error.code, code);
    assert_string_equal(error.call, call);
    assert_true(length > strlen(end));
    assert_string_equal(error.message + length - strlen(end), end);
    assert_non_null(strstr(error.hint, hint));
}

static void without_cuda(void **state) {
    acu_client *client = (acu_client *)state; /* anything but NULL */
    int count = 1;
    expect(acu_client_get_default(acu_place_cuda(0), &client), 303, "acu_client_get_default",
           "; runtime cuda", "ANYCUDA_CUDART=path chooses a library");
    assert_null(client);
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_LIBRARY);
    expect(acu_runtime_get_device_count(ACU_RUNTIME_CUDA, &count), 303,
           "acu_runtime_get_device_count", "; runtime cuda", "ANYCUDA_CUDART=path");
    assert_int_equal(count, 0);
}

static void without_webgpu(void **state) {
    acu_client *client = (acu_client *)state; /* anything but NULL */
    expect(acu_client_get_default(acu_place_webgpu(0), &client), 303, "acu_client_get_default",
           "; runtime webgpu", "install wgpu-native");
    assert_null(client);
    assert_int_equal(acu_last_error_details().kind, ACU_ERROR_KIND_LIBRARY);
    assert_non_null(strstr(acu_last_error_message(), "ANYCUDA_WEBGPU=/no/such/file"));
}

static void without_such_a_runtime(void **state) {
    (void)state;
    int count = 1;
    expect(acu_runtime_get_device_count(99, &count), ACU_ERROR_ARGUMENT,
           "acu_runtime_get_device_count", "there is no runtime 99", "");
    assert_int_equal(count, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_cuda),
        cmocka_unit_test(without_webgpu),
        cmocka_unit_test(without_such_a_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
