/* What the driver says of pointers into each kind of memory. */
#include "conformance.h"

#include <stdlib.h>

static unsigned long long value_of(CUpointer_attribute attribute, CUdeviceptr at) {
    unsigned long long value = 0;
    return cuPointerGetAttribute(&value, attribute, at) ? 99 : value;
}

/* `shared`: other processes and devices may get at the memory. */
static void expect(CUdeviceptr at, bool shared) {
    EQUAL(value_of(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at), 0);
    EQUAL(value_of(CU_POINTER_ATTRIBUTE_MAPPED, at), 1);
    EQUAL(value_of(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at), 0);
    EQUAL(value_of(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at),
          CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    /* The simulator has no memory for other devices. */
    EQUAL(value_of(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at), shared);
    IS(is_simulated() || value_of(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, at) == shared);
}

static CUdeviceptr address_of(const void *memory) {
    return (CUdeviceptr)(uintptr_t)memory;
}

/* Identities differ, whatever they are; so do those of memory that takes another's place. */
static unsigned long long id_of(CUdeviceptr at) {
    unsigned long long id = 0;
    return cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, at) ? 0 : id;
}

static CUmemoryPool pool_of(CUdeviceptr at) {
    CUmemoryPool pool = (CUmemoryPool)(uintptr_t)9;
    (void)cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at);
    return pool;
}

/* Whether the piece of memory that is mapped at once has the bytes. */
static bool is_in_mapping(CUdeviceptr at, size_t size) {
    CUdeviceptr base = 0;
    size_t whole = 0;
    return !cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at) &&
           !cuPointerGetAttribute(&whole, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at) && base <= at &&
           at + size <= base + whole;
}

CASE(memory_of_a_device) {
    CUdeviceptr at, start = 0;
    void *host = &at;
    CUmemorytype type;
    int ordinal = 9;
    unsigned managed = 9;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&at, 5000));
    expect(at + 100, true);
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    EQUAL(type, CU_MEMORYTYPE_DEVICE);
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
    IS(host == NULL); /* written all the same */
    OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    EQUAL(ordinal, 0);
    OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
    EQUAL(managed, 0);
    OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at + 100));
    IS(start == at);
    IS(pool_of(at) == NULL && is_in_mapping(at, 5000));
    OK(cuMemFree(at));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
}

CASE(memory_of_the_host) {
    void *pinned, *registered = aligned_alloc(4096, 8192);
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    OK(cudaFree(NULL));
    OK(cuMemHostAlloc(&pinned, 5000, 0));
    OK(cuMemHostRegister(registered, 8192, 0));
    expect(address_of(pinned), false);
    expect(address_of(registered), false);
    IS(is_in_mapping(address_of(pinned), 5000) && is_in_mapping(address_of(registered), 8192));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, address_of(pinned)));
    OK(cuMemHostUnregister(registered));
    OK(cuMemFreeHost(pinned));
    free(registered);
}

CASE(memory_of_a_pool) {
    CUstream stream;
    CUmemoryPool pool;
    CUdeviceptr at;
    CUcontext context = (CUcontext)(uintptr_t)9;
    OK(cudaFree(NULL));
    OK(cuStreamCreate(&stream, 0));
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocAsync(&at, 5000, stream));
    expect(at, false);
    IS(pool_of(at) == pool && is_in_mapping(at, 5000));
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    IS(context == NULL);
    OK(cuMemFreeAsync(at, stream));
    OK(cuStreamDestroy(stream));
}

CASE(each_has_an_identity) {
    CUdeviceptr one, two;
    unsigned long long first;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&one, 64));
    OK(cuMemAlloc(&two, 64));
    first = id_of(one);
    IS(first && id_of(two) && first != id_of(two) && id_of(one + 9) == first);
    OK(cuMemFree(one));
    OK(cuMemAlloc(&one, 64));
    IS(id_of(one) != first && id_of(one) != id_of(two));
    OK(cuMemFree(one));
    OK(cuMemFree(two));
}

/* Copies of such memory do not return before they are done. */
CASE(copies_may_be_made_synchronous) {
    CUdeviceptr at;
    unsigned on = 1, off = 0, is = 9;
    CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
    OK(cudaFree(NULL));
    OK(cuMemAlloc(&at, 64));
    OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    EQUAL(is, 1);
    OK(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    OK(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    EQUAL(is, 0);
    OK(cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, at));
    EQUAL(value_of(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at), 1); /* by asking for tokens */
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    SAYS(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0));
    OK(cuMemFree(at));
}

/* Asked for several attributes, what CUDA does not know has zeros, or nothing is written. */
CASE(many_attributes_of_what_is_unknown) {
    int here = 0, ordinal = 9;
    unsigned mapped = 9;
    void *host = NULL;
    size_t size = 9;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_MAPPED};
    void *into[] = {&host, &ordinal, &size, &mapped};
    OK(cudaFree(NULL));
    OK(cuPointerGetAttributes(4, which, into, address_of(&here)));
    IS(host == &here && ordinal == CU_DEVICE_INVALID && size == 9 && mapped == 0);
    which[3] = CU_POINTER_ATTRIBUTE_P2P_TOKENS;
    SAYS(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(4, which, into, address_of(&here)));
}
