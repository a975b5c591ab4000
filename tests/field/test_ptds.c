/* Failures seen in the field: the wrong default stream. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "field.h"

/* llvm-project PR 93057: looking up the un-suffixed name silently gave the legacy function. */
static void test_llvm_93057_per_thread_default_stream(void) {
    install(alone_with);
    assert_int_equal(cudaStreamSynchronize(NULL), cudaSuccess);
    assert_string_equal(seen()->called, "cudaStreamSynchronize_ptsz");
}

int main(void) {
    const struct CMUnitTest tests[] = {ON_ALL(test_llvm_93057_per_thread_default_stream)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
