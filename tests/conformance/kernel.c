/* The runtime's libraries, kernels and launches. */
#include "kernels.h"

static cudaKernel_t get(cudaLibrary_t library, const char *name) {
    cudaKernel_t kernel = NULL;
    return cudaLibraryGetKernel(&kernel, library, name) ? NULL : kernel;
}

static cudaError_t run(cudaKernel_t kernel, dim3 grid, dim3 block, size_t shared) {
    return cudaLaunchKernel(kernel, grid, block, NULL, shared, NULL);
}

/* ---- loading ---- */

CASE(by_name) {
    cudaKernel_t kernel = NULL, same = NULL;
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "store"));
    OK(cudaLibraryGetKernel(&same, library, "store"));
    IS(kernel && kernel == same);
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "nowhere"));
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "counter"));
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, ""));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetKernel(NULL, library, "store"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetKernel(&kernel, library, NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryGetKernel(&kernel, NULL, "store"));
    OK(cudaLibraryUnload(library));
}

CASE(no_library) {
    cudaLibrary_t library = NULL;
    FAILS(cudaErrorInvalidValue,
          cudaLibraryLoadData(NULL, module_text, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryUnload(NULL));
    FAILS(cudaErrorFileNotFound,
          cudaLibraryLoadFromFile(&library, "/nowhere/to/be/found", NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue,
          cudaLibraryLoadFromFile(&library, NULL, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorInvalidValue,
          cudaLibraryLoadData(&library, module_text, NULL, NULL, 1, NULL, NULL, 0));
}

/* Libraries are loaded lazily: nothing is found yet. */
CASE(malformed_ptx) {
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, "this is no PTX", NULL, NULL, 0, NULL, NULL, 0));
    OK(library ? cudaLibraryUnload(library) : cudaSuccess);
    library = NULL;
    OK(cudaLibraryLoadData(&library, PTX_HEAD ".entry f(", NULL, NULL, 0, NULL, NULL, 0));
    OK(library ? cudaLibraryUnload(library) : cudaSuccess);
}

CASE(who_needs_malformed_ptx_is_told) {
    unsigned count = 0;
    cudaKernel_t kernel = NULL;
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, PTX_HEAD ".entry f(", NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, library)); /* of what is listed, not yet compiled */
    EQUAL(count, 0);
    SAYS(cudaSuccess, cudaLibraryEnumerateKernels(&kernel, 1, library));
    (void)cudaGetLastError();
    FAILS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
}

CASE(who_needs_ptx_for_a_newer_device_is_told) {
    static const char text[] =
        ".version 8.6\n.target sm_100\n.address_size 64\n" PTX_NOTHING("f", "");
    unsigned count = 9;
    int major = 0;
    cudaKernel_t kernel = NULL;
    cudaLibrary_t library = NULL;
    CUlibrary same = NULL;
    CUkernel none = NULL;
    CUmodule module = NULL;
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major >= 10 || driver() < 12080) {
        skip("the device takes it, or the driver does not know it");
        return;
    }
    OK(cudaLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    EQUAL(count, 0);
    FAILS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, text));
    OK(cuLibraryLoadData(&same, text, NULL, NULL, 0, NULL, NULL, 0));
    count = 9;
    OK(cuLibraryGetKernelCount(&count, same));
    EQUAL(count, 0);
    SAYS(CUDA_ERROR_INVALID_PTX, cuLibraryGetKernel(&none, same, "f"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuLibraryGetModule(&module, same));
    OK(cuLibraryUnload(same));
}

CASE(the_log_of_a_malformed_library) {
    static char log[1000];
    enum cudaJitOption options[] = {cudaJitErrorLogBuffer, cudaJitErrorLogBufferSizeBytes};
    void *values[] = {log, (void *)sizeof log};
    cudaKernel_t kernel = NULL;
    cudaLibrary_t library = NULL;
    log[0] = '\0';
    OK(cudaLibraryLoadData(&library, PTX_HEAD ".entry f(", options, values, 2, NULL, NULL, 0));
    IS(log[0] != '\0'); /* though it succeeds */
    FAILS(cudaErrorInvalidPtx, cudaLibraryGetKernel(&kernel, library, "f"));
    IS(log[0] != '\0');
    OK(cudaLibraryUnload(library));
}

CASE(machine_code_that_is_none) {
    static const char head[64] = "\177ELF\2\1\1";
    cudaKernel_t kernel = NULL;
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, head, NULL, NULL, 0, NULL, NULL, 0));
    SAYS(cudaErrorInvalidKernelImage, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
    OK(cudaLibraryLoadData(&library, "", NULL, NULL, 0, NULL, NULL, 0));
    SAYS(cudaErrorInvalidKernelImage, cudaLibraryGetKernel(&kernel, library, "f"));
    OK(cudaLibraryUnload(library));
}

CASE(counts_and_lists) {
    unsigned count = 0;
    cudaKernel_t all[7] = {NULL};
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernelCount(&count, library));
    EQUAL(count, 6);
    OK(cudaLibraryEnumerateKernels(all, 2, library));
    IS(all[0] && all[1] && !all[2]);
    OK(cudaLibraryEnumerateKernels(all, 7, library));
    IS(all[5] && !all[6]);
    FAILS(cudaErrorInvalidValue, cudaLibraryGetKernelCount(NULL, library));
    FAILS(cudaErrorInvalidValue, cudaLibraryEnumerateKernels(NULL, 2, library));
    OK(cudaLibraryEnumerateKernels(all, 0, library));
    OK(cudaLibraryUnload(library));
}

CASE(variables) {
    void *at = NULL;
    size_t bytes = 0;
    unsigned counter = 0;
    struct cudaPointerAttributes a;
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetGlobal(&at, &bytes, library, "counter"));
    EQUAL(bytes, 4);
    OK(cudaMemcpy(&counter, at, 4, cudaMemcpyDeviceToHost));
    EQUAL(counter, 7);
    OK(cudaPointerGetAttributes(&a, at));
    EQUAL(a.type, cudaMemoryTypeDevice);
    FAILS(cudaErrorInvalidValue, cudaFree(at));
    OK(cudaLibraryGetGlobal(NULL, &bytes, library, "table"));
    EQUAL(bytes, 100);
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetGlobal(&at, &bytes, library, "nowhere"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(&at, &bytes, library, "store"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(&at, &bytes, library, ""));
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetManaged(&at, &bytes, library, "store"));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(&at, &bytes, library, NULL));
    FAILS(cudaErrorInvalidValue, cudaLibraryGetGlobal(NULL, NULL, library, "table"));
    OK(cudaLibraryGetGlobal(&at, &bytes, library, "everywhere"));
    OK(cudaLibraryGetManaged(&at, &bytes, library, "everywhere"));
    EQUAL(*(unsigned *)at, 3);
    FAILS(cudaErrorSymbolNotFound, cudaLibraryGetManaged(&at, &bytes, library, "counter"));
    OK(cudaLibraryUnload(library));
}

CASE(a_kernel_is_no_unified_function) {
    int has = 0;
    void *function = NULL;
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuDeviceGetAttribute(&has, CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0));
    EQUAL(has, 1);
    FAILS(cudaErrorInvalidValue, cudaLibraryGetUnifiedFunction(&function, library, "store"));
    OK(cudaLibraryUnload(library));
}

LONE_CASE(a_library_outlives_a_reset) {
    void *at = NULL;
    unsigned counter = 9;
    cudaLibrary_t library = NULL;
    cudaKernel_t kernel = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLibraryGetKernel(&kernel, library, "nothing"));
    OK(cudaLibraryGetGlobal(&at, NULL, library, "counter"));
    OK(cudaMemcpy(at, &counter, 4, cudaMemcpyHostToDevice));
    OK(cudaDeviceReset());
    OK(run(kernel, dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(cudaLibraryGetGlobal(&at, NULL, library, "counter"));
    OK(cudaMemcpy(&counter, at, 4, cudaMemcpyDeviceToHost));
    EQUAL(counter, 7);
    OK(cudaLibraryUnload(library));
}

/* ---- launching ---- */

CASE(stores) {
    unsigned back[64] = {0}, value = 9, count = 40;
    void *to;
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaMalloc(&to, sizeof back));
    OK(cudaMemset(to, 1, sizeof back));
    void *args[] = {&to, &value, &count};
    OK(cudaLaunchKernel(get(library, "store"), dim(2, 1, 1), dim(32, 1, 1), args, 0, NULL));
    OK(cudaMemcpy(back, to, sizeof back, cudaMemcpyDeviceToHost));
    EQUAL(back[39], 9);
    EQUAL(back[40], 0x01010101);
    FAILS(cudaErrorInvalidValue,
          cudaLaunchKernel(get(library, "store"), dim(2, 1, 1), dim(32, 1, 1), NULL, 0, NULL));
    OK(cudaFree(to));
    OK(cudaLibraryUnload(library));
}

CASE(what_is_no_kernel) {
    static int something;
    cudaLaunchConfig_t config = {.gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}};
    FAILS(cudaErrorInvalidDeviceFunction, run(NULL, dim(1, 1, 1), dim(1, 1, 1), 0));
    FAILS(FROM(12080, cudaErrorInvalidResourceHandle, cudaErrorInvalidDeviceFunction),
          cudaLaunchKernel(&something, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
    FAILS(FROM(12080, cudaErrorInvalidResourceHandle, cudaErrorInvalidDeviceFunction),
          cudaLaunchKernelExC(&config, &something, NULL));
    FAILS(FROM(12080, cudaErrorInvalidResourceHandle, cudaErrorInvalidDeviceFunction),
          cudaLaunchCooperativeKernel(&something, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
}

static cudaError_t bad_configuration(void) {
    return FROM(13000, cudaErrorInvalidValue, cudaErrorInvalidConfiguration);
}

CASE(configurations) {
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    FAILS(bad_configuration(), run(k, dim(0, 1, 1), dim(1, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(1, 0, 1), dim(1, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(1, 1, 1), dim(0, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(1, 1, 1), dim(1, 1, 0), 0));
    OK(run(k, dim(1, 1, 1), dim(1024, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(1, 1, 1), dim(1025, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(1, 1, 1), dim(32, 32, 2), 0));
    OK(run(k, dim(1, 1, 1), dim(1, 1, 64), 0));
    FAILS(bad_configuration(), run(k, dim(1, 1, 1), dim(1, 1, 65), 0));
    OK(run(k, dim(1, 65535, 1), dim(1, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(1, 65536, 1), dim(1, 1, 1), 0));
    FAILS(bad_configuration(), run(k, dim(2147483648u, 1, 1), dim(1, 1, 1), 0));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

CASE(limits_of_a_kernel) {
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(run(get(library, "at_most_64"), dim(1, 1, 1), dim(64, 1, 1), 0));
    FAILS(cudaErrorInvalidValue, run(get(library, "at_most_64"), dim(1, 1, 1), dim(65, 1, 1), 0));
    FAILS(cudaErrorInvalidValue, run(get(library, "exactly_64"), dim(1, 1, 1), dim(32, 1, 1), 0));
    OK(run(get(library, "exactly_64"), dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(run(get(library, "nothing"), dim(1, 1, 1), dim(1, 1, 1), 49152));
    FAILS(cudaErrorInvalidValue, run(get(library, "nothing"), dim(1, 1, 1), dim(1, 1, 1), 49153));
    if (runtime() < 13050) /* passed on as 32 bits */
        OK(run(get(library, "nothing"), dim(1, 1, 1), dim(1, 1, 1), (size_t)1 << 33));
    else
        FAILS(cudaErrorInvalidValue,
              run(get(library, "nothing"), dim(1, 1, 1), dim(1, 1, 1), (size_t)1 << 33));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

static cudaError_t clustered(cudaKernel_t kernel, unsigned grid, unsigned size) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension};
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config = {
        .gridDim = dim(grid, 1, 1), .blockDim = dim(32, 1, 1), .attrs = &attribute, .numAttrs = 1};
    return cudaLaunchKernelExC(&config, kernel, NULL);
}

CASE(clusters) {
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    OK(clustered(k, 16, 8));
    FAILS(cudaErrorInvalidClusterSize, clustered(k, 16, 16));
    FAILS(cudaErrorInvalidClusterSize, clustered(k, 15, 2));
    OK(cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(clustered(k, 16, 16));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

CASE(cooperative_launches) {
    int blocks = 0, processors = 0;
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 1024, 0));
    EQUAL(blocks, 2);
    const unsigned most = (unsigned)(blocks * processors);
    OK(cudaLaunchCooperativeKernel(k, dim(most, 1, 1), dim(1024, 1, 1), NULL, 0, NULL));
    FAILS(cudaErrorCooperativeLaunchTooLarge,
          cudaLaunchCooperativeKernel(k, dim(most + 1, 1, 1), dim(1024, 1, 1), NULL, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

CASE(the_stream_of_another_device) {
    NEEDS_DEVICES(2);
    cudaStream_t stream;
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchKernel(k, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, stream));
    OK(cudaSetDevice(0));
    SAYS(FROM(13000, cudaSuccess, cudaErrorInvalidResourceHandle),
         cudaLaunchKernel(k, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, stream));
    (void)cudaGetLastError();
    OK(cudaStreamDestroy(stream));
    OK(cudaLibraryUnload(library));
}

LONE_CASE(an_illegal_address) {
    unsigned value = 1, count = 1;
    void *nowhere = NULL, *args[] = {&nowhere, &value, &count};
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cudaLaunchKernel(get(library, "store"), dim(1, 1, 1), dim(1, 1, 1), args, 0, NULL));
    SAYS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    SAYS(cudaErrorIllegalAddress, run(get(library, "nothing"), dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(cudaLibraryUnload(library));
}

/* ---- what kernels say ---- */

CASE(attributes) {
    struct cudaFuncAttributes a = {0};
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "sharing");
    OK(cudaFuncGetAttributes(&a, k));
    EQUAL(a.sharedSizeBytes, 1000);
    EQUAL(a.constSizeBytes, 12);
    EQUAL(a.localSizeBytes, 0);
    EQUAL(a.maxThreadsPerBlock, 1024);
    EQUAL(a.ptxVersion, 52);
    EQUAL(a.binaryVersion, 90);
    EQUAL(a.cacheModeCA, 0);
    EQUAL(a.maxDynamicSharedSizeBytes, 48152);
    EQUAL(a.preferredShmemCarveout, -1);
    EQUAL(a.clusterDimMustBeSet, 0);
    EQUAL(a.requiredClusterWidth, 0);
    EQUAL(a.nonPortableClusterSizeAllowed, 0);
    FAILS(cudaErrorInvalidValue, cudaFuncGetAttributes(NULL, k));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&a, NULL));
    OK(cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000));
    OK(cudaFuncGetAttributes(&a, k));
    EQUAL(a.maxDynamicSharedSizeBytes, 50000);
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 231449));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    OK(cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 30));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(k, (enum cudaFuncAttribute)0, 1));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaFuncSetAttribute(NULL, cudaFuncAttributePreferredSharedMemoryCarveout, 30));
    SAYS(FROM(13000, cudaSuccess, cudaErrorInvalidDeviceFunction),
         cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1));
    SAYS(FROM(13000, cudaErrorInvalidValue, cudaErrorInvalidDeviceFunction),
         cudaFuncSetCacheConfig(k, (enum cudaFuncCache)9));
    SAYS(cudaErrorInvalidDeviceFunction, cudaFuncSetCacheConfig(NULL, cudaFuncCachePreferL1));
    (void)cudaGetLastError();
    OK(cudaLibraryUnload(library));
}

CASE(banks_of_shared_memory) {
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t kernel = get(library, "nothing");
    SAYS(FROM(13000, cudaSuccess, cudaErrorInvalidDeviceFunction),
         cudaFuncSetSharedMemConfig(kernel, cudaSharedMemBankSizeEightByte));
    SAYS(FROM(13000, cudaErrorInvalidValue, cudaErrorInvalidDeviceFunction),
         cudaFuncSetSharedMemConfig(kernel, (enum cudaSharedMemConfig)7));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaFuncSetSharedMemConfig(NULL, cudaSharedMemBankSizeFourByte));
    OK(cudaLibraryUnload(library));
}

CASE(attributes_of_one_device) {
    struct cudaFuncAttributes a = {0};
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    OK(cudaKernelSetAttributeForDevice(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000, 0));
    OK(cudaFuncGetAttributes(&a, k));
    EQUAL(a.maxDynamicSharedSizeBytes, 60000);
    FAILS(cudaErrorInvalidDevice, cudaKernelSetAttributeForDevice(
                                      k, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000, 99));
    FAILS(cudaErrorInvalidValue,
          cudaKernelSetAttributeForDevice(k, (enum cudaFuncAttribute)0, 1, 0));
    OK(cudaLibraryUnload(library));
}

CASE(names_and_parameters) {
    static const size_t offsets[] = {0, 8, 28, 32}, sizes[] = {1, 20, 2, 8};
    const char *name = NULL;
    size_t offset = 0, size = 0;
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "mixed");
    OK(cudaFuncGetName(&name, k));
    SAME_TEXT(name, "mixed");
    FAILS(cudaErrorInvalidValue, cudaFuncGetName(NULL, k));
    SAYS(cudaErrorInvalidDeviceFunction, cudaFuncGetName(&name, NULL));
    (void)cudaGetLastError();
    for (size_t i = 0; i < 4; i++) {
        OK(cudaFuncGetParamInfo(k, i, &offset, &size));
        EQUAL(offset, offsets[i]);
        EQUAL(size, sizes[i]);
    }
    FAILS(cudaErrorInvalidValue, cudaFuncGetParamInfo(k, 4, &offset, &size));
    FAILS(cudaErrorInvalidValue, cudaFuncGetParamInfo(k, 0, NULL, &size));
    OK(cudaLibraryUnload(library));
}

CASE(other_handles) {
    cudaFunction_t function = NULL;
    CUfunction same = NULL;
    const char *name = NULL;
    cudaLibrary_t library = NULL;
    register_kernels();
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    FAILS(cudaErrorInvalidDeviceFunction, cudaGetFuncBySymbol(&function, k));
    FAILS(cudaErrorInvalidDeviceFunction, cudaGetFuncBySymbol(&function, &library));
    OK(cuKernelGetFunction(&same, (CUkernel)k));
    OK(cuFuncGetName(&name, same));
    SAME_TEXT(name, "nothing");
    OK(cuLaunchKernel(same, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaLibraryUnload(library));
}

CASE(occupancy) {
    int blocks = -1;
    size_t bytes = 0;
    cudaLibrary_t library = NULL;
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 0));
    EQUAL(blocks, 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, k, 256, 0, 1));
    FAILS(cudaErrorInvalidValue,
          cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, k, 256, 0, 2));
    FAILS(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, k, 256, 0));
    FAILS(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 0, 0));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 256, 0));
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, k, 8, 64));
    EQUAL(bytes, 29184);
    /* More shared memory than there is, and than 32 bits can say. */
    SAYS(cudaSuccess, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, 1u << 30));
    EQUAL(blocks, 0);
    SAYS(cudaSuccess,
         cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, (size_t)UINT32_MAX + 2));
    EQUAL(blocks, 8);
    SAYS(cudaSuccess, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 256, SIZE_MAX));
    EQUAL(blocks, 8);
    (void)cudaGetLastError();
    OK(cudaLibraryUnload(library));
}

/* What a kernel prefers limits the shared memory that its blocks have together. */
CASE(occupancy_by_preference) {
    static const struct {
        enum cudaFuncCache preference;
        int small, large; /* blocks of 64 threads without shared memory, and with 48 KiB */
    } expected[] = {{cudaFuncCachePreferNone, 32, 4},
                    {cudaFuncCachePreferShared, 32, 4},
                    {cudaFuncCachePreferL1, 8, 1},
                    {cudaFuncCachePreferEqual, 32, 2}};
    int blocks = -1;
    cudaLibrary_t library = NULL;
    if (runtime() < 13000) {
        skip("older runtimes refuse preferences of a library's kernel");
        return;
    }
    OK(cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0));
    cudaKernel_t k = get(library, "nothing");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        OK(cudaFuncSetCacheConfig(k, expected[i].preference));
        OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 64, 0));
        EQUAL(blocks, expected[i].small);
        OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 64, 49152));
        EQUAL(blocks, expected[i].large);
    }
    OK(cudaFuncSetAttribute(k, cudaFuncAttributePreferredSharedMemoryCarveout, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, k, 64, 0));
    EQUAL(blocks, 8); /* the attribute wins */
    OK(cudaLibraryUnload(library));
}
