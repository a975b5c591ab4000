/* The driver's modules, functions and launches, which all runtimes stand on. */
#include "kernels.h"

/* The runtime's context is the driver's. */
static CUmodule load(void) {
    CUmodule module = NULL;
    register_kernels();
    if (cudaFree(NULL) || cuModuleLoadData(&module, module_text))
        return NULL;
    return module;
}

static CUfunction get(CUmodule module, const char *name) {
    CUfunction function = NULL;
    return cuModuleGetFunction(&function, module, name) ? NULL : function;
}

static CUresult run(CUfunction function, unsigned grid, unsigned block, unsigned shared) {
    return cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, NULL, NULL, NULL);
}

/* ---- loading ---- */

CASE(by_name) {
    CUfunction function = NULL;
    CUmodule module = load();
    IS(module != NULL);
    OK(cuModuleGetFunction(&function, module, "store"));
    IS(function != NULL);
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "nowhere"));
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "counter"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&function, module, ""));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(NULL, module, "store"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&function, module, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&function, NULL, "store"));
    OK(cuModuleUnload(module));
}

/* A function of a module is loaded once it was found (an H200 with 13.0). */
CASE(functions_that_are_loaded) {
    CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_MAX;
    int registers;
    NEEDS(ACU_FEATURE_LAZY_LOADING);
    CUmodule module = load();
    CUfunction function = get(module, "store"), other = get(module, "nothing");
    IS(function && other);
    OK(cuFuncIsLoaded(&state, function));
    EQUAL(state, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    OK(cuFuncIsLoaded(&state, function));
    EQUAL(state, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuFuncLoad(function));
    OK(cuFuncIsLoaded(&state, function));
    EQUAL(state, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuFuncIsLoaded(&state, other));
    EQUAL(state, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(run(other, 1, 1, 0));
    OK(cuFuncIsLoaded(&state, other));
    EQUAL(state, CU_FUNCTION_LOADING_STATE_LOADED);
    OK(cuCtxSynchronize());
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncIsLoaded(NULL, function));
    OK(cuModuleUnload(module));
}

CASE(no_module) {
    CUmodule module;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(NULL, module_text));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&module, NULL));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(NULL));
    SAYS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/nowhere/to/be/found.ptx"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoad(&module, NULL));
}

CASE(malformed_ptx) {
    CUmodule module;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, "this is no PTX"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, PTX_HEAD ".entry f("));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, PTX_HEAD ".entry f() { ret;"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, PTX_HEAD ".entry f() {} .entry f() {}"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, PTX_HEAD ".global .u32 x[1] = {1, 2};"));
    SAYS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 7.0\n"));
    SAYS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, ""));
}

CASE(only_a_head) {
    CUmodule module;
    OK(cudaFree(NULL));
    OK(cuModuleLoadData(&module, PTX_HEAD));
    OK(cuModuleUnload(module));
}

CASE(for_other_devices) {
    CUmodule module;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadData(&module, ".version 8.0\n.target sm_121\n.address_size 64\n"));
    SAYS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
         cuModuleLoadData(&module, ".version 99.9\n.target sm_52\n.address_size 64\n"));
    SAYS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&module, "\177ELF\2\1\1"));
}

CASE(the_log_says_why) {
    char log[1000] = "";
    CUmodule module;
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_PTX,
         cuModuleLoadDataEx(&module, PTX_HEAD "\n.entry f(\n", 2, options, values));
    IS(strstr(log, "line ") != NULL);
    IS(strstr(log, "error") != NULL);
    IS((uintptr_t)values[1] == strlen(log));
    values[1] = (void *)sizeof log;
    OK(cuModuleLoadDataEx(&module, module_text, 2, options, values));
    EQUAL((uintptr_t)values[1], 0);
    OK(cuModuleUnload(module));
}

CASE(unknown_options) {
    CUmodule module;
    CUjit_option option = (CUjit_option)777;
    void *value = NULL;
    OK(cudaFree(NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&module, module_text, 1, &option, &value));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx(&module, module_text, 1, NULL, NULL));
}

CASE(variables) {
    CUdeviceptr at = 0;
    size_t bytes = 0;
    unsigned counter = 0;
    float factors[3] = {0};
    CUmodule module = load();
    OK(cuModuleGetGlobal(&at, &bytes, module, "counter"));
    EQUAL(bytes, 4);
    OK(cudaMemcpy(&counter, (void *)at, 4, cudaMemcpyDeviceToHost));
    EQUAL(counter, 7);
    OK(cuModuleGetGlobal(&at, &bytes, module, "factors"));
    EQUAL(bytes, 12);
    OK(cudaMemcpy(factors, (void *)at, 12, cudaMemcpyDeviceToHost));
    EQUAL(factors[0] + 10 * factors[1] + 100 * factors[2], 321);
    OK(cuModuleGetGlobal(NULL, &bytes, module, "table"));
    EQUAL(bytes, 100);
    OK(cuModuleGetGlobal(&at, NULL, module, "table"));
    SAYS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&at, &bytes, module, "nowhere"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal(&at, &bytes, module, "store"));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal(&at, &bytes, module, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal(NULL, NULL, module, "table"));
    OK(cuModuleGetGlobal(&at, &bytes, module, "everywhere"));
    EQUAL(bytes, 4);
    OK(cuModuleUnload(module));
}

CASE(counts_and_lists) {
    unsigned count = 0;
    CUfunction all[7] = {NULL};
    CUmodule module = load();
    OK(cuModuleGetFunctionCount(&count, module));
    EQUAL(count, 6);
    OK(cuModuleEnumerateFunctions(all, 2, module));
    IS(all[0] && all[1] && !all[2]);
    OK(cuModuleEnumerateFunctions(all, 7, module));
    IS(all[5] && !all[6]);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunctionCount(NULL, module));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuModuleEnumerateFunctions(NULL, 2, module));
    OK(cuModuleUnload(module));
}

/* ---- what functions say ---- */

CASE(attributes) {
    int value = 0;
    CUmodule module = load();
    CUfunction nothing = get(module, "nothing"), sharing = get(module, "sharing");
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, nothing));
    EQUAL(value, 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          get(module, "at_most_64")));
    EQUAL(value, 64);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                          get(module, "exactly_64")));
    EQUAL(value, 1024);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, nothing));
    EQUAL(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, sharing));
    EQUAL(value, 1000);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, nothing));
    EQUAL(value, 12);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, nothing));
    EQUAL(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, nothing));
    EQUAL(value, 52);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, nothing));
    EQUAL(value, 90);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, nothing));
    EQUAL(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, nothing));
    EQUAL(value, 49152);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, sharing));
    EQUAL(value, 48152);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, nothing));
    EQUAL(value, -1);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nothing));
    IS(value > 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&value, (CUfunction_attribute)777, nothing));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, nothing));
    SAYS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL));
    OK(cuModuleUnload(module));
}

CASE(cluster_attributes) {
    int value = 9;
    CUmodule module = load();
    CUfunction nothing = get(module, "nothing");
    NEEDS(ACU_FEATURE_LAUNCH_ATTRIBUTES);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, nothing));
    EQUAL(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, nothing));
    EQUAL(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, nothing));
    EQUAL(value, 0);
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, nothing));
    EQUAL(value, 0);
    OK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1));
    OK(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 77));
    OK(cuModuleUnload(module));
}

CASE(setting_attributes) {
    int value = 0, most = 0;
    CUmodule module = load();
    CUfunction f = get(module, "sharing");
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - 1000));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - 999));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
    EQUAL(value, 0);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f));
    EQUAL(value, 50);
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
    OK(cuFuncSetCacheConfig(f, CU_FUNC_CACHE_PREFER_L1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncSetCacheConfig(f, (CUfunc_cache)9));
    OK(cuModuleUnload(module));
}

CASE(names_and_parameters) {
    static const size_t offsets[] = {0, 8, 28, 32}, sizes[] = {1, 20, 2, 8};
    const char *name = NULL;
    size_t offset = 0, size = 0;
    CUmodule module = load(), same = NULL;
    CUfunction mixed = get(module, "mixed");
    OK(cuFuncGetModule(&same, mixed));
    IS(same == module);
    OK(cuFuncGetName(&name, mixed));
    SAME_TEXT(name, "mixed");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetName(NULL, mixed));
    for (size_t i = 0; i < 4; i++) {
        OK(cuFuncGetParamInfo(mixed, i, &offset, &size));
        EQUAL(offset, offsets[i]);
        EQUAL(size, sizes[i]);
    }
    OK(cuFuncGetParamInfo(mixed, 0, &offset, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(mixed, 4, &offset, &size));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(mixed, 0, NULL, &size));
    OK(cuModuleUnload(module));
}

/* ---- launching ---- */

CASE(stores) {
    unsigned back[64] = {0}, value = 9, count = 40;
    CUdeviceptr to;
    CUmodule module = load();
    OK(cuMemAlloc(&to, sizeof back));
    OK(cuMemsetD32(to, 1, 64));
    void *args[] = {&to, &value, &count};
    OK(cuLaunchKernel(get(module, "store"), 2, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(back, to, sizeof back));
    EQUAL(back[39], 9);
    EQUAL(back[40], 1);
    OK(cuMemFree(to));
    OK(cuModuleUnload(module));
}

CASE(packed_arguments) {
    struct {
        CUdeviceptr to;
        unsigned value, count;
    } packed = {0, 5, 8};
    unsigned back[8] = {0};
    size_t size = sizeof packed;
    void *args[] = {&packed.to, &packed.value, &packed.count};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CUmodule module = load();
    CUfunction store = get(module, "store");
    OK(cuMemAlloc(&packed.to, sizeof back));
    OK(cuLaunchKernel(store, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH(back, packed.to, sizeof back));
    EQUAL(back[7], 5);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(store, 1, 1, 1, 8, 1, 1, 0, NULL, args, extra));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(store, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, NULL));
    size = 12; /* less is not missed */
    OK(cuLaunchKernel(store, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
    size = 32;
    SAYS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
         cuLaunchKernel(store, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra));
    OK(cudaDeviceSynchronize());
    OK(cuMemFree(packed.to));
    OK(cuModuleUnload(module));
}

CASE(configurations) {
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 0, 1, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 1, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 0, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 0, 0, NULL, NULL, NULL));
    OK(run(f, 1, 1024, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 1, 1025, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 32, 32, 2, 0, NULL, NULL, NULL));
    OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 64, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL));
    OK(cuLaunchKernel(f, 1, 65535, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(f, 1, 1, 65536, 1, 1, 1, 0, NULL, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 2147483648u, 1, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE, run(NULL, 1, 1, 0));
    OK(cudaDeviceSynchronize());
    OK(cuModuleUnload(module));
}

CASE(limits_of_a_function) {
    CUmodule module = load();
    CUfunction most = get(module, "at_most_64"), exactly = get(module, "exactly_64");
    OK(run(most, 1, 64, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(most, 1, 65, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(most, 1, 128, 0));
    OK(cuLaunchKernel(most, 1, 1, 1, 1, 64, 1, 0, NULL, NULL, NULL));
    OK(run(exactly, 1, 64, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(exactly, 1, 32, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(exactly, 1, 128, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(exactly, 1, 1, 1, 1, 64, 1, 0, NULL, NULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cuModuleUnload(module));
}

CASE(dynamic_shared_memory) {
    int most = 0;
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    OK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    OK(run(f, 1, 1, 49152));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 1, 1, 49153));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
    OK(run(f, 1, 1, (unsigned)most));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 1, 1, (unsigned)most + 1));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 1, 1, 101));
    SAYS(CUDA_ERROR_INVALID_VALUE, run(f, 1, 1, 49152));
    OK(cudaDeviceSynchronize());
    OK(cuModuleUnload(module));
}

CASE(cooperative_launches) {
    int blocks = 0, processors = 0;
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
    const unsigned most = (unsigned)(blocks * processors);
    OK(cuLaunchCooperativeKernel(f, most, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    SAYS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
         cuLaunchCooperativeKernel(f, most + 1, 1, 1, 1024, 1, 1, 0, NULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cuModuleUnload(module));
}

static CUresult clustered(CUfunction f, unsigned grid, unsigned size) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = size;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    const CUlaunchConfig config = {.gridDimX = grid,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = 32,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    return cuLaunchKernelEx(&config, f, NULL, NULL);
}

CASE(clusters) {
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    OK(clustered(f, 16, 8));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, clustered(f, 16, 16));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, clustered(f, 15, 2));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, clustered(f, 16, 0));
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    OK(clustered(f, 16, 16));
    SAYS(CUDA_ERROR_INVALID_CLUSTER_SIZE, clustered(f, 32, 32));
    OK(cudaDeviceSynchronize());
    OK(cuModuleUnload(module));
}

CASE(launch_attributes) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_IGNORE};
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = -1;
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    attribute.value.priority = -100;
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.programmaticStreamSerializationAllowed = 1;
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    attribute.id = CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    attribute.value.syncPolicy = CU_SYNC_POLICY_SPIN;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, f, NULL, NULL));
    attribute.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
    attribute.value.memSyncDomain = (CUlaunchMemSyncDomain)5;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, f, NULL, NULL));
    memset(&attribute.value, 0, sizeof attribute.value);
    attribute.id = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
    attribute.value.accessPolicyWindow.hitProp = (CUaccessProperty)9;
    OK(cuLaunchKernelEx(&config, f, NULL, NULL)); /* of a window of no bytes */
    config.attrs = NULL;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, f, NULL, NULL));
    config.numAttrs = 0;
    OK(cuLaunchKernelEx(&config, f, NULL, NULL));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(NULL, f, NULL, NULL));
    OK(cudaDeviceSynchronize());
    OK(cuModuleUnload(module));
}

CASE(launches_are_asynchronous) {
    cudaStream_t stream;
    CUmodule module = load();
    OK(cudaStreamCreate(&stream));
    OK(run(get(module, "nothing"), 1, 1, 0)); /* loaded lazily, the first may wait */
    WAITS(
        0, stream,
        cuLaunchKernel(get(module, "nothing"), 1, 1, 1, 1, 1, 1, 0, (CUstream)stream, NULL, NULL));
    OK(cudaStreamDestroy(stream));
    OK(cuModuleUnload(module));
}

/* ---- a lost context ---- */

LONE_CASE(an_illegal_address) {
    unsigned value = 1, count = 1;
    CUdeviceptr nowhere = 0;
    void *args[] = {&nowhere, &value, &count};
    CUmodule module = load();
    OK(cuLaunchKernel(get(module, "store"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, run(get(module, "nothing"), 1, 1, 0));
    SAYS(cudaErrorIllegalAddress, cudaFree(NULL));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuModuleUnload(module));
}

/* ---- occupancy ---- */

CASE(occupancy) {
    int blocks = -1, grid = 0, size = 0;
    size_t bytes = 0;
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1024, 0));
    EQUAL(blocks, 2);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 0));
    EQUAL(blocks, 32);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 100, 0));
    EQUAL(blocks, 16);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 48000));
    EQUAL(blocks, 4);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 10000));
    EQUAL(blocks, 20);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, get(module, "sharing"), 32, 9000));
    EQUAL(blocks, 20);
    SAYS(CUDA_SUCCESS, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 1025, 0));
    EQUAL(blocks, 0);
    SAYS(CUDA_SUCCESS, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 50000));
    EQUAL(blocks, 0);
    SAYS(CUDA_SUCCESS, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 32, 300000));
    EQUAL(blocks, 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, f, 32, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 0, 0));
    SAYS(CUDA_ERROR_INVALID_HANDLE,
         cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0));
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 256, 0, 1));
    EQUAL(blocks, 8);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, f, 256, 0, 2));
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, f, NULL, 0, 0));
    EQUAL(size, 1024);
    EQUAL(grid, 264);
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &size, f, NULL, 0, 300));
    EQUAL(size, 256);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 64));
    EQUAL(bytes, 49152);
    OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 8, 64));
    EQUAL(bytes, 29184);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 33, 64));
    OK(cuModuleUnload(module));
}

CASE(occupancy_of_clusters) {
    int value = 0;
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {.gridDimX = 8,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 64,
                             .blockDimY = 1,
                             .blockDimZ = 1};
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    OK(cuOccupancyMaxPotentialClusterSize(&value, f, &config));
    EQUAL(value, 8);
    OK(cuOccupancyMaxActiveClusters(&value, f, &config)); /* without clusters */
    EQUAL(value, 0);
    attribute.value.clusterDim.x = 4;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cuOccupancyMaxActiveClusters(&value, f, &config));
    ASK(value);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveClusters(NULL, f, &config));
    OK(cuModuleUnload(module));
}

CASE(clusters_that_fit_at_once) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    CUlaunchConfig config = {.gridDimX = 64,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &attribute,
                             .numAttrs = 1};
    CUmodule module = load();
    CUfunction f = get(module, "nothing");
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    OK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    for (unsigned size = 1; size <= 16; size *= 2)
        for (unsigned threads = 32; threads <= 1024; threads *= 2) {
            int value = -1;
            attribute.value.clusterDim.x = size;
            config.blockDimX = threads;
            SAYS(CUDA_SUCCESS, cuOccupancyMaxActiveClusters(&value, f, &config));
            ASK(value);
        }
    OK(cuModuleUnload(module));
}
