/* anycuda on libanycuda-sim.so, chosen by path; nothing of the simulator is linked here. */
#include <anycuda/cudart.h>
#include <anycuda/load.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))

TEST(is_the_simulator) {
    assert_int_equal(acu_load(NULL), 0);
    const acu_load_info *loaded = acu_loaded(ACU_CUDART);
    assert_non_null(loaded);
    assert_true(loaded->is_sim);
    assert_string_equal(loaded->path, SIM_SHARED);
    assert_string_equal(loaded->soname, "libanycuda-sim.so");
    assert_int_equal(loaded->version, 12040);
}

TEST(has_the_newest_abi_whatever_it_reports) {
    int version;
    struct cudaDeviceProp p;
    memset(&p, 0xa5, sizeof p);
    assert_int_equal(cudaRuntimeGetVersion(&version), cudaSuccess);
    assert_int_equal(version, 12040);
    assert_int_equal(cudaGetDeviceProperties(&p, 0), cudaSuccess);
    assert_int_equal(p.totalGlobalMem, (size_t)1 << 30);
    assert_int_equal(p.major, 9);
}

TEST(refuses_what_the_reported_version_lacks) {
    unsigned long long id;
    assert_int_equal(cudaGraphGetId(NULL, (unsigned *)&id), cudaErrorNotSupported);
    assert_non_null(strstr(acu_last_error_message(), "12.4"));
}

TEST(copies_there_and_back) {
    int in[64], out[64] = {0};
    void *at;
    for (int i = 0; i < 64; i++)
        in[i] = i * i;
    assert_int_equal(cudaMalloc(&at, sizeof in), cudaSuccess);
    assert_int_equal(cudaMemcpy(at, in, sizeof in, cudaMemcpyHostToDevice), cudaSuccess);
    assert_int_equal(cudaMemcpy(out, at, sizeof in, cudaMemcpyDeviceToHost), cudaSuccess);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(cudaFree(at), cudaSuccess);
}

TEST(the_same_choice_again_is_success) {
    assert_int_equal(acu_load(&(acu_load_options){.path = SIM_SHARED}), 0);
    assert_int_not_equal(acu_load(&(acu_load_options){.path = "sim"}), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_simulator),
        cmocka_unit_test(has_the_newest_abi_whatever_it_reports),
        cmocka_unit_test(refuses_what_the_reported_version_lacks),
        cmocka_unit_test(copies_there_and_back),
        cmocka_unit_test(the_same_choice_again_is_success),
    };
    setenv("ANYCUDA_CUDART", SIM_SHARED, 1);
    setenv("ANYCUDA_SIM", "memory=1GiB,runtime=12.4", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
