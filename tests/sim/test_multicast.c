/* Multicast objects by raw calls: what each refuses, and what becomes of the memory. */
#include "driver_test.h"

#include <pthread.h>

enum { CHUNK = 2 << 20 };

static CUmemGenericAllocationHandle object_for(unsigned devices, size_t chunks) {
    CUmemGenericAllocationHandle object = 0;
    const CUmulticastObjectProp p = {.numDevices = devices, .size = chunks * CHUNK};
    OK(cuMulticastCreate(&object, &p));
    return object;
}

static CUmemGenericAllocationHandle memory_on(int device, size_t chunks) {
    CUmemGenericAllocationHandle memory = 0;
    const CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}}};
    OK(cuMemCreate(&memory, chunks * CHUNK, &p, 0));
    return memory;
}

static CUdeviceptr reserved(size_t chunks) {
    CUdeviceptr at = 0;
    OK(cuMemAddressReserve(&at, chunks * CHUNK, 0, 0, 0));
    return at;
}

static void give_access(CUdeviceptr at, size_t chunks, int device) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {device}},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuMemSetAccess(at, chunks * CHUNK, &access, 1));
}

static CUdeviceptr mapped(CUmemGenericAllocationHandle what, size_t chunks, int device) {
    const CUdeviceptr at = reserved(chunks);
    OK(cuMemMap(at, chunks * CHUNK, 0, what, 0));
    give_access(at, chunks, device);
    return at;
}

static void unmap(CUdeviceptr at, size_t chunks) {
    OK(cuMemUnmap(at, chunks * CHUNK));
    OK(cuMemAddressFree(at, chunks * CHUNK));
}

TEST(objects_that_are_refused) {
    size_t step = 0;
    CUmemGenericAllocationHandle object = 0;
    CUmulticastObjectProp p = {.numDevices = 2, .size = CHUNK};
    OK(cuMulticastGetGranularity(&step, &p, CU_MULTICAST_GRANULARITY_MINIMUM));
    assert_int_equal(step, CHUNK);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastGetGranularity(&step, &p, 2));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastGetGranularity(NULL, &p, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(NULL, &p));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object, NULL));
    p.size++;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object, &p));
    expect_reason("multiple of the granularity");
    p = (CUmulticastObjectProp){.numDevices = 0, .size = CHUNK};
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object, &p));
    p = (CUmulticastObjectProp){.numDevices = 1, .size = CHUNK, .flags = 1};
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object, &p));
    assert_int_equal(object, 0);
}

TEST(devices_that_are_refused) {
    const CUmemGenericAllocationHandle object = object_for(1, 1), memory = memory_on(0, 1);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(memory, 0));
    expect_reason("not one of cuMulticastCreate()");
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuMulticastAddDevice(object, 2));
    OK(cuMulticastAddDevice(object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 1));
    expect_reason("for 1 devices");
    OK(cuMemRelease(object));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object, 1));
    OK(cuMemRelease(memory));
}

TEST(bindings_that_are_refused) {
    const CUmemGenericAllocationHandle object = object_for(1, 2), memory = memory_on(0, 2);
    const CUmemGenericAllocationHandle far = memory_on(1, 1);
    CUmemAllocationProp p;
    OK(cuMulticastAddDevice(object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 0, CHUNK, 1));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 1, memory, 0, CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 1, CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 0, 0, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, CHUNK, memory, 0, 2 * CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, CHUNK, 2 * CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, object, 0, CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(memory, 0, memory, 0, CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuMulticastBindMem(object, 0, far, 0, CHUNK, 0));
    expect_reason("which was not added");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem_v2(object, 1, 0, memory, 0, CHUNK, 0));
    OK(cuMulticastBindMem_v2(object, 0, 0, memory, CHUNK, CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
    expect_reason("bound memory there already");
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object, 0, CHUNK, CHUNK));
    SAYS(CUDA_ERROR_INVALID_DEVICE, cuMulticastUnbind(object, 2, 0, CHUNK));
    OK(cuMulticastUnbind(object, 0, 0, CHUNK));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object, 0, 0, CHUNK));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle(&p, object));
    OK(cuMemRelease(object));
    OK(cuMemRelease(memory));
    OK(cuMemRelease(far));
}

TEST(mappings_that_are_refused) {
    const CUmemGenericAllocationHandle object = object_for(1, 2);
    const CUmemAccessDesc other = {{CU_MEM_LOCATION_TYPE_DEVICE, {1}},
                                   CU_MEM_ACCESS_FLAGS_PROT_READ};
    const CUdeviceptr at = reserved(4);
    OK(cuMulticastAddDevice(object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, 3 * CHUNK, 0, object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, 2 * CHUNK, CHUNK, object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, CHUNK, 1, object, 0));
    OK(cuMemMap(at, CHUNK, CHUNK, object, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, CHUNK, 0, object, 0));
    SAYS(CUDA_ERROR_ILLEGAL_STATE, cuMemSetAccess(at, CHUNK, &other, 1));
    expect_reason("device 1 was not added");
    OK(cuMemUnmap(at, CHUNK));
    OK(cuMemAddressFree(at, 4 * CHUNK));
    OK(cuMemRelease(object));
}

/* Memory that is bound, and an object that is mapped, live on when they are released. */
TEST(copies_and_fills_reach_all) {
    char back[4] = "";
    const CUmemGenericAllocationHandle object = object_for(2, 1);
    CUdeviceptr seen[2];
    OK(cuMulticastAddDevice(object, 0));
    OK(cuMulticastAddDevice(object, 1));
    for (int device = 0; device < 2; device++) {
        const CUmemGenericAllocationHandle memory = memory_on(device, 1);
        OK(cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
        seen[device] = mapped(memory, 1, 0);
        OK(cuMemRelease(memory));
    }
    const CUdeviceptr at = mapped(object, 1, 0);
    OK(cuMemRelease(object));
    OK(cuMemcpyHtoD(at + 100, "abc", 4));
    OK(cuMemsetD8(at + 101, 'x', 1));
    for (int device = 0; device < 2; device++) {
        OK(cuMemcpyDtoH(back, seen[device] + 100, 4));
        assert_string_equal(back, "axc");
    }
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(back, at + 100, 4));
    expect_reason("a multicast object, which is read by the multimem instructions");
    unmap(at, 1);
    unmap(seen[0], 1);
    unmap(seen[1], 1);
}

/* ---- kernels ---- */

#define MULTIMEM(instructions)                                                                     \
    ".version 8.2\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u64 " \
    "q) {\n.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .f32 %f<5>; .reg .b16 %h<9>;\n"                  \
    "ld.param.u64 %d1, [p];\nld.param.u64 %d2, [q];\n" instructions "ret;\n}\n"

/* Runs a kernel of one thread with an address of a multicast object, and returns the 8 words that
 * it wrote to plain memory. */
static void run_multimem(const char *text, CUdeviceptr object, uint32_t *words) {
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr result;
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&kernel, module, "k"));
    OK(cuMemAlloc(&result, 32));
    void *args[] = {&object, &result};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    OK(cuMemcpyDtoH(words, result, 32));
    OK(cuMemFree(result));
    OK(cuModuleUnload(module));
}

/* The devices have 10 and 20, as words of 32 bits; 1.5 and 2.25; pairs of halves 1, 2 and 3, 4. */
TEST(kernels_reduce_and_store) {
    static const uint32_t first[] = {10, 0x3fc00000, 0x40003c00, 0xf0},
                          second[] = {20, 0x40100000, 0x44004200, 0x3c};
    uint32_t words[8] = {0};
    const CUmemGenericAllocationHandle object = object_for(2, 1);
    CUdeviceptr seen[2];
    OK(cuMulticastAddDevice(object, 0));
    OK(cuMulticastAddDevice(object, 1));
    for (int device = 0; device < 2; device++) {
        const CUmemGenericAllocationHandle memory = memory_on(device, 1);
        OK(cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
        seen[device] = mapped(memory, 1, 0);
        OK(cuMemRelease(memory));
        OK(cuMemcpyHtoD(seen[device], device ? second : first, sizeof first));
    }
    const CUdeviceptr at = mapped(object, 1, 0);
    OK(cuMemRelease(object));
    run_multimem(MULTIMEM("multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%d1];\n"
                          "multimem.ld_reduce.weak.global.add.f32 %f1, [%d1+4];\n"
                          "multimem.ld_reduce.weak.global.add.acc::f32.f16x2 %r2, [%d1+8];\n"
                          "multimem.ld_reduce.weak.global.max.f16x2 %r3, [%d1+8];\n"
                          "multimem.ld_reduce.weak.global.min.s32 %r4, [%d1];\n"
                          "multimem.ld_reduce.weak.global.xor.b32 %r5, [%d1+12];\n"
                          "multimem.ld_reduce.weak.global.add.v2.f32 {%f2, %f3}, [%d1];\n"
                          "mov.b32 %r6, %f1;\nmov.b32 %r7, %f3;\n"
                          "st.global.v4.u32 [%d2], {%r1, %r6, %r2, %r3};\n"
                          "st.global.v4.u32 [%d2+16], {%r4, %r5, %r7, %r7};\n"),
                 at, words);
    static const uint32_t reduced[] = {30, 0x40700000, 0x46004400, 0x44004200,
                                       10, 0xcc,       0x40700000, 0x40700000};
    assert_memory_equal(words, reduced, sizeof reduced);
    run_multimem(
        MULTIMEM("multimem.red.relaxed.sys.global.add.u32 [%d1], 5;\nmov.f32 %f1, 0f3F800000;\n"
                 "multimem.st.weak.global.v2.f32 [%d1+8], {%f1, %f1};\n"
                 "multimem.red.relaxed.gpu.global.add.f32 [%d1+4], %f1;\n"),
        at, words);
    for (int device = 0; device < 2; device++) {
        OK(cuMemcpyDtoH(words, seen[device], 16));
        assert_int_equal(words[0], device ? 25 : 15);
        assert_int_equal(words[1], device ? 0x40500000 : 0x40200000);
        assert_true(words[2] == 0x3f800000 && words[3] == 0x3f800000);
    }
    unmap(at, 1);
    unmap(seen[0], 1);
    unmap(seen[1], 1);
}

static void multimem_fails(uint64_t offset, CUresult code) {
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr plain;
    OK(cuModuleLoadData(&module, MULTIMEM("multimem.st.weak.global.u32 [%d1], 1;\n")));
    OK(cuModuleGetFunction(&kernel, module, "k"));
    OK(cuMemAlloc(&plain, 32));
    plain += offset;
    void *args[] = {&plain, &plain};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    SAYS(code, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

TEST(kernels_that_access_plain_memory_so) {
    multimem_fails(0, CUDA_ERROR_ILLEGAL_ADDRESS);
    multimem_fails(2, CUDA_ERROR_MISALIGNED_ADDRESS);
}

/* Memory of a pool, and what is mapped, by their addresses. */
TEST(addresses_are_bound) {
    char byte = 0;
    void *pooled = NULL;
    const CUmemGenericAllocationHandle object = object_for(1, 2), memory = memory_on(0, 1);
    const CUdeviceptr seen = mapped(memory, 1, 0);
    OK(cuMulticastAddDevice(object, 0));
    OK(cudaMallocAsync(&pooled, CHUNK, NULL));
    const CUdeviceptr at = mapped(object, 2, 0);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object, 0, at, CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object, 0, seen, 2 * CHUNK, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr_v2(object, 1, 0, seen, CHUNK, 0));
    OK(cuMulticastBindAddr(object, 0, seen, CHUNK, 0));
    OK(cuMulticastBindAddr_v2(object, 0, CHUNK, (CUdeviceptr)(uintptr_t)pooled, CHUNK, 0));
    OK(cuMemsetD8(at, 5, 2 * CHUNK));
    OK(cuMemcpyDtoH(&byte, seen + CHUNK - 1, 1));
    assert_int_equal(byte, 5);
    OK(cudaMemcpy(&byte, (char *)pooled + CHUNK - 1, 1, cudaMemcpyDeviceToHost));
    assert_int_equal(byte, 5);
    unmap(at, 2);
    OK(cuMemRelease(object));
    OK(cudaFreeAsync(pooled, NULL));
    OK(cudaDeviceSynchronize());
    unmap(seen, 1);
    OK(cuMemRelease(memory));
}

/* A guess, as a GPU's answer is not known: the write faults. */
TEST(a_write_where_a_device_has_bound_nothing) {
    OK(cudaFree(NULL));
    const CUmemGenericAllocationHandle object = object_for(2, 1), memory = memory_on(0, 1);
    OK(cuMulticastAddDevice(object, 0));
    OK(cuMulticastAddDevice(object, 1));
    OK(cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
    const CUdeviceptr at = mapped(object, 1, 0);
    (void)cuMemsetD8Async(at, 1, 1, 0);
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
}

/* Only what stands for multimem instructions reaches an object: acu_sim_multicast_at(). */
TEST(a_kernel_with_plain_accesses) {
    CUmodule module;
    CUfunction add;
    int count = 1;
    OK(cudaFree(NULL));
    register_kernels();
    const CUmemGenericAllocationHandle object = object_for(1, 1), memory = memory_on(0, 1);
    OK(cuMulticastAddDevice(object, 0));
    OK(cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
    CUdeviceptr at = mapped(object, 1, 0);
    void *args[] = {&at, &at, &at, &count};
    OK(cuModuleLoadData(&module, PTX_HEAD PTX_ADD));
    OK(cuModuleGetFunction(&add, module, "add"));
    OK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL));
    SAYS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
    acu_sim_reset(MACHINE);
}

static void *add_second(void *object) {
    OK(cuMulticastAddDevice(*(CUmemGenericAllocationHandle *)object, 1));
    return NULL;
}

TEST(binding_and_mapping_wait_for_the_last_device) {
    pthread_t thread;
    CUmemGenericAllocationHandle object = object_for(2, 1);
    const CUmemGenericAllocationHandle memory = memory_on(0, 1);
    OK(cuMulticastAddDevice(object, 0));
    assert_int_equal(pthread_create(&thread, NULL, add_second, &object), 0);
    OK(cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cuMemRelease(object));
    object = object_for(2, 1);
    OK(cuMulticastAddDevice(object, 0));
    assert_int_equal(pthread_create(&thread, NULL, add_second, &object), 0);
    unmap(mapped(object, 1, 0), 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    OK(cuMemRelease(object));
    OK(cuMemRelease(memory));
}

/* What is bound goes with its device, also if the other one goes first. */
TEST(devices_are_reset) {
    const CUmemGenericAllocationHandle object = object_for(2, 1);
    for (int device = 0; device < 2; device++) {
        const CUmemGenericAllocationHandle memory = memory_on(device, 1);
        OK(cuMulticastAddDevice(object, device));
        if (device == 1)
            OK(cuMulticastBindMem(object, 0, memory, 0, CHUNK, 0));
    }
    OK(cudaSetDevice(1));
    OK(cudaDeviceReset());
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    SAYS(CUDA_ERROR_INVALID_VALUE, cuMemRelease(object));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(objects_that_are_refused),
        C(devices_that_are_refused),
        C(bindings_that_are_refused),
        C(mappings_that_are_refused),
        C(copies_and_fills_reach_all),
        C(kernels_reduce_and_store),
        C(kernels_that_access_plain_memory_so),
        C(addresses_are_bound),
        T(a_write_where_a_device_has_bound_nothing),
        T(a_kernel_with_plain_accesses),
        C(binding_and_mapping_wait_for_the_last_device),
        C(devices_are_reset),
    };
    return RUN(tests);
}
