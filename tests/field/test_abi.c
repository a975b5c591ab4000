/* Failures seen in the field: a call with another version's signature or layout. */
#include "field.h"

/* sglang PR 23136: looked up by name and called with 12's nine arguments: segfault on 13. */
static void test_sglang_23136_memcpy_batch_async(void) {
    const char *version = alone_with;
    void *dsts[2] = {dsts, dsts};
    const void *srcs[2] = {srcs, srcs};
    size_t sizes[2] = {8, 8}, first[1] = {0};
    struct cudaMemcpyAttributes how = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    cudaStream_t stream = (cudaStream_t)(uintptr_t)0x5744;
    open_before(version);
    install_driver(13000); /* whatever the driver is: a fix that chose by it crashed on 12 */
    assert_int_equal(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, first, 1, stream),
                     cudaSuccess);
    assert_int_equal(seen()->args[0], (uintptr_t)dsts);
    assert_int_equal(seen()->args[3], 2);
    assert_int_equal(seen()->args[6], 1);
    bool nine = version_of(version) < 13000;
    assert_int_equal(seen()->args[nine ? 8 : 7], (uintptr_t)stream);
    if (nine) {
        assert_int_not_equal(seen()->args[7], 0); /* 12 writes through it */
        sizes[1] = 0;
        assert_int_equal(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, first, 1, stream),
                         cudaErrorInvalidValue);
        CHECK_CONTAINS(acu_last_error_message(), "copy 1");
    }
}

/* Mooncake PR 3261: built with 12 headers, 13 wrote 88 bytes into 24: "stack smashing detected". */
static void test_mooncake_3261_pointer_attributes(void) {
    struct {
        unsigned char before[32];
        struct cudaPointerAttributes it;
        unsigned char behind[64];
    } a;
    install(alone_with);
    memset(&a, 0xa5, sizeof a);
    assert_int_equal(cudaPointerGetAttributes(&a.it, &a), cudaSuccess);
    assert_int_equal(a.it.type, cudaMemoryTypeDevice);
    assert_ptr_equal(a.it.devicePointer, &a);
    for (size_t i = 0; i < sizeof a.before; i++)
        assert_int_equal(a.before[i], 0xa5);
    for (size_t i = 0; i < sizeof a.behind; i++)
        assert_int_equal(a.behind[i], 0xa5);
    for (size_t i = 0; i < 7; i++) /* not what happened to be there where 24 bytes are written */
        assert_int_equal(a.it.reserved[i], 0);
}

static struct cudaDeviceProp properties(void) {
    struct {
        struct cudaDeviceProp it;
        unsigned char behind[512];
    } p;
    memset(&p, 0xa5, sizeof p);
    assert_int_equal(cudaGetDeviceProperties(&p.it, 0), cudaSuccess);
    for (size_t i = 0; i < sizeof p.behind; i++) /* 12 writes more than is presented */
        assert_int_equal(p.behind[i], 0xa5);
    return p.it;
}

/* llama.cpp PR 26855: sharedMemPerBlockOptin was read at the wrong offset, shared memory capped to
 * 1 byte. */
static void test_llama_cpp_26855_shared_memory_per_block_optin(void) {
    install(alone_with);
    assert_int_equal(properties().sharedMemPerBlockOptin, FAKE_OPTIN);
}

/* tilelang PR 1379: the layout was wrong, the number of SMs 0. */
static void test_tilelang_1379_number_of_sms(void) {
    install(alone_with);
    assert_int_equal(properties().multiProcessorCount, FAKE_SMS);
}

/* backend.ai PR 1419, PR 7186: a struct per version by hand, and the version test was wrong. */
static void test_backend_ai_1419_layout_of_the_loaded_version(void) {
    const char *version = alone_with;
    install(version);
    assert_int_equal(properties().maxBlocksPerMultiProcessor, 0);
    bool is_12 = version[1] == '2';
    assert_string_equal(seen()->called,
                        is_12 ? "cudaGetDeviceProperties_v2" : "cudaGetDeviceProperties");
    expect_loaded(version_of(version), "system loader");
}

/* cuvs PR 1280: called cudaGetDeviceProperties_v2, which is gone in 13. */
static void test_cuvs_1280_get_device_properties_v2(void) {
    struct cudaDeviceProp prop;
    install(alone_with);
    assert_int_equal(cudaGetDeviceProperties_v2(&prop, 0), cudaSuccess);
    assert_int_equal(prop.multiProcessorCount, FAKE_SMS);
}

/* cupy issue 7834: 11's signature on 12, "does not cause problems by chance". */
static void test_cupy_7834_graph_instantiate(void) {
    cudaGraphExec_t exec;
    cudaGraph_t graph = (cudaGraph_t)(uintptr_t)0x6a;
    install(alone_with);
    assert_int_equal(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch),
                     cudaSuccess);
    assert_string_equal(seen()->called, version_of(alone_with) < 12000
                                            ? "cudaGraphInstantiateWithFlags"
                                            : "cudaGraphInstantiate");
    assert_int_equal(seen()->args[0], (uintptr_t)&exec);
    assert_int_equal(seen()->args[1], (uintptr_t)graph);
    assert_int_equal(seen()->args[2], cudaGraphInstantiateFlagAutoFreeOnLaunch);
}

/* pytorch PR 195899: 13 rejects {Device, cudaCpuDeviceId}; the CPU is {Host, 0} now. So does every
 * version here. */
static void test_pytorch_195899_advice_for_the_cpu(void) {
    const struct cudaMemLocation cpu = {.type = cudaMemLocationTypeHost, .id = 0};
    const struct cudaMemLocation wrong = {.type = cudaMemLocationTypeDevice, .id = cudaCpuDeviceId};
    const enum cudaMemoryAdvise advice = cudaMemAdviseSetPreferredLocation;
    install(alone_with);
    assert_int_equal(cudaMemAdvise(&advice, 4096, advice, cpu), cudaSuccess);
    if (version_of(alone_with) < 12020)
        assert_int_equal((int)seen()->args[3], cudaCpuDeviceId);
    else
        assert_int_equal(seen()->args[3], cudaMemLocationTypeHost);
    assert_int_equal(cudaMemAdvise(&advice, 4096, advice, wrong), cudaErrorInvalidValue);
    if (version_of(alone_with) < 12020) {
        assert_int_equal(seen()->calls, 1); /* there it would have been accepted */
        CHECK_CONTAINS(acu_last_error_message(), "{cudaMemLocationTypeHost, 0}, which is the CPU");
    }
}

/* tilelang PR 1821: some 39 functions stubbed by hand so that one package serves 11, 12 and 13. */
static void test_tilelang_1821_one_program_serves_all(void) {
    void *memory;
    install(alone_with);
    assert_int_equal(cudaMalloc(&memory, 64), cudaSuccess);
    assert_int_equal(seen()->args[1], 64);
    assert_int_equal(properties().multiProcessorCount, FAKE_SMS);
    expect_loaded(version_of(alone_with), "system loader");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ON(test_sglang_23136_memcpy_batch_async, "12.9"),
        ON(test_sglang_23136_memcpy_batch_async, "13.0"),
        ON_ALL(test_mooncake_3261_pointer_attributes),
        ON_ALL(test_llama_cpp_26855_shared_memory_per_block_optin),
        ON_ALL(test_tilelang_1379_number_of_sms),
        ON_ALL(test_backend_ai_1419_layout_of_the_loaded_version),
        ON_ALL(test_cuvs_1280_get_device_properties_v2),
        ON_ALL(test_cupy_7834_graph_instantiate),
        ON_ALL(test_pytorch_195899_advice_for_the_cpu),
        ON_ALL(test_tilelang_1821_one_program_serves_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
