/* What an old runtime lacks is told with the version that has it. Run on a simulator that
 * reports 11.8. */
#include "safe.h"

#include <anycuda/cudart.h>

static void stream_ids_came_with_12_0(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    uint64_t id = 1;
    OK(acu_stream_create(0, NULL, &stream));
    FAILS(acu_stream_get_id(stream, &id), 801, "cudaStreamGetId needs CUDA 12.0");
    const acu_error error = acu_last_error_details();
    assert_int_equal(error.kind, ACU_ERROR_KIND_VERSION);
    assert_int_equal(error.since, 12000);
    assert_int_equal(error.needed, 12000);
    assert_int_equal(error.found, acu_loaded(ACU_CUDART)->version);
    acu_feature_info info;
    OK(acu_feature_get_info((acu_feature)error.feature, &info));
    assert_string_equal(info.functions[0], "cudaStreamGetId");
    assert_int_equal(id, 0);
    OK(acu_stream_release(stream));
}

/* The function is there, and so is its feature. */
static void an_enumerator_that_is_newer_is_no_missing_feature(void **state) {
    (void)state;
    void *memory = NULL;
    const struct cudaMemLocation node = {.type = cudaMemLocationTypeHostNuma};
    OK(cudaMalloc(&memory, 4));
    assert_int_equal(cudaMemPrefetchAsync(memory, 4, node, 0, NULL), cudaErrorNotSupported);
    const acu_error error = acu_last_error_details();
    assert_int_equal(error.kind, ACU_ERROR_KIND_VERSION);
    assert_int_equal(error.feature, -1);
    assert_true(error.since > acu_loaded(ACU_CUDART)->version && error.needed == error.since);
    OK(cudaFree(memory));
    acu_clear_error();
}

/* The wrapper turns the place into the number that 11.8 takes, so it is not what was wrong. */
static void a_place_that_is_translated_is_no_reason(void **state) {
    (void)state;
    void *memory = NULL;
    const struct cudaMemLocation host = {.type = cudaMemLocationTypeHost};
    OK(cudaMalloc(&memory, 4));
    assert_int_equal(cudaMemAdvise(memory, 4, cudaMemAdviseSetPreferredLocation, host),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemPrefetchAsync(memory, 4, host, 0, NULL), cudaErrorInvalidValue);
    assert_int_not_equal(acu_last_error_details().kind, ACU_ERROR_KIND_VERSION);
    OK(cudaFree(memory));
    acu_clear_error();
}

static void codes_that_it_does_not_know_have_names(void **state) {
    (void)state;
    /* cudaErrorTensorMemoryLeak came with 12.8 */
    assert_string_equal(acu_result_name(721), "cudaErrorTensorMemoryLeak");
    assert_string_equal(acu_result_string(721), "a kernel ended with tensor memory allocated");
}

int main(void) {
    if (!is_simulated() && acu_loaded(ACU_CUDART)->version >= 12000) {
        print_message("skipped: the loaded runtime is not an old one\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        TEST(stream_ids_came_with_12_0),
        TEST(an_enumerator_that_is_newer_is_no_missing_feature),
        TEST(a_place_that_is_translated_is_no_reason),
        TEST(codes_that_it_does_not_know_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
