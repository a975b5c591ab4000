/* Source that the simulator compiles: launches are checked as those of PTX. */
#include "kernels.h"

#include <stdlib.h>

static acu_kernel *compiled(const char *name) {
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    setenv("ANYCUDA_NVRTC", "sim", 1);
    OK(acu_module_compile(
        0,
        &(acu_module_program){.text = "extern \"C\" __global__ void scale(float *x, float by, "
                                      "unsigned n) { x[threadIdx.x] *= by; }\n"
                                      "extern \"C\" __global__ void plain(double d, long i, "
                                      "const int *p, short s) { }"},
        &module));
    OK(acu_module_get_kernel(module, name, &kernel));
    OK(acu_module_release(module));
    return kernel;
}

static void parameters_have_types(void **state) {
    (void)state;
    ONLY_SIMULATED("the simulator compiles");
    static const acu_parameter_type types[] = {ACU_PARAMETER_FLOAT, ACU_PARAMETER_INTEGER,
                                               ACU_PARAMETER_INTEGER, ACU_PARAMETER_INTEGER};
    static const size_t sizes[] = {8, 8, 8, 2};
    acu_kernel *kernel = compiled("plain");
    acu_parameter p;
    assert_int_equal(acu_kernel_parameter_check(kernel), ACU_CHECK_TYPES);
    for (size_t i = 0; i < COUNT(types); i++) {
        OK(acu_kernel_get_parameter(kernel, i, &p));
        assert_int_equal(p.type, types[i]);
        assert_int_equal(p.size, sizes[i]);
    }
    OK(acu_kernel_release(kernel));
}

static void a_number_of_another_kind_is_refused(void **state) {
    (void)state;
    ONLY_SIMULATED("the simulator compiles");
    acu_stream *stream = stream_on(0);
    acu_kernel *kernel = compiled("scale");
    acu_buffer *x = numbers_on(stream, 4);
    float got[4] = {0};
    OK(acu_launch(stream, kernel, acu_grid_1d(4, 4), x, 2.0f, 4u));
    FAILS(acu_launch(stream, kernel, acu_grid_1d(4, 4), x, 2, 4u), ACU_ERROR_DTYPE,
          "floating-point");
    FAILS(acu_launch(stream, kernel, acu_grid_1d(4, 4), x, 2.0f, 4.0f), ACU_ERROR_DTYPE, "integer");
    OK(acu_buffer_read(x, got, 4));
    assert_true(got[3] == 6);
    OK(acu_buffer_release(x));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(parameters_have_types),
        KERNEL_TEST(a_number_of_another_kind_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
