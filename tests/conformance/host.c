/* Pinned and registered memory of the host. */
#include "conformance.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* ---- pinned
 * ---------------------------------------------------------------------------------------- */

CASE(pinned_memory) {
    char *memory;
    OK(cudaMallocHost((void **)&memory, 1000));
    IS(memory != NULL);
    memory[999] = 7;
    EQUAL(memory[999], 7);
    OK(cudaFreeHost(memory));
}

CASE(pinned_memory_is_aligned) {
    char *memory;
    OK(cudaMallocHost((void **)&memory, 1));
    EQUAL((uintptr_t)memory % 512, 0);
    OK(cudaFreeHost(memory));
}

CASE(nothing_is_nowhere) {
    void *memory = &memory;
    OK(cudaMallocHost(&memory, 0));
    IS(memory == NULL);
    memory = &memory;
    OK(cudaHostAlloc(&memory, 0, cudaHostAllocDefault));
    IS(memory == NULL);
    OK(cudaFreeHost(NULL));
}

CASE(pinned_memory_wants_a_place) {
    FAILS(cudaErrorInvalidValue, cudaMallocHost(NULL, 16));
    FAILS(cudaErrorInvalidValue, cudaHostAlloc(NULL, 16, cudaHostAllocDefault));
}

CASE(flags_of_pinned_memory) {
    const struct {
        unsigned asked, got;
    } all[] = {{cudaHostAllocDefault, 2},
               {cudaHostAllocPortable, 3},
               {cudaHostAllocMapped, 2},
               {cudaHostAllocWriteCombined, 6},
               {7, 7}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *memory;
        unsigned flags = 99;
        OK(cudaHostAlloc((void **)&memory, 1000, all[i].asked));
        OK(cudaHostGetFlags(&flags, memory));
        /* The memory may be in a block that was there before, which need not be portable. */
        if (all[i].asked == cudaHostAllocPortable)
            flags |= cudaHostAllocPortable;
        EQUAL(flags, all[i].got);
        OK(cudaFreeHost(memory));
    }
}

CASE(flags_of_pinned_memory_that_do_not_exist) {
    void *memory;
    FAILS(cudaErrorInvalidValue, cudaHostAlloc(&memory, 16, 8));
    FAILS(cudaErrorInvalidValue, cudaHostAlloc(&memory, 16, 0x80000000U));
}

CASE(flags_inside_pinned_memory) {
    char *memory;
    unsigned flags = 99;
    OK(cudaMallocHost((void **)&memory, 1000));
    SAYS(cudaSuccess, cudaHostGetFlags(&flags, memory + 10));
    EQUAL(flags, 2);
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(NULL, memory));
    OK(cudaFreeHost(memory));
}

CASE(flags_of_what_is_not_pinned) {
    int local = 0;
    unsigned flags = 99;
    char *memory, *managed;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMallocManaged((void **)&managed, 16, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(&flags, &local));
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(&flags, NULL));
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(&flags, memory));
    SAYS(cudaSuccess, cudaHostGetFlags(&flags, managed));
    EQUAL(flags, 2);
    OK(cudaFree(memory));
    OK(cudaFree(managed));
}

CASE(the_devices_pointer_is_the_same) {
    char *memory, *there = NULL;
    OK(cudaMallocHost((void **)&memory, 1000));
    OK(cudaHostGetDevicePointer((void **)&there, memory, 0));
    IS(there == memory);
    OK(cudaHostGetDevicePointer((void **)&there, memory + 10, 0));
    IS(there == memory + 10);
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer((void **)&there, memory, 1));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(NULL, memory, 0));
    OK(cudaFreeHost(memory));
}

CASE(what_has_no_devices_pointer) {
    int local = 0;
    void *there;
    char *memory, *managed;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMallocManaged((void **)&managed, 16, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&there, &local, 0));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&there, NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&there, memory, 0));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&there, managed, 0));
    OK(cudaFree(memory));
    OK(cudaFree(managed));
}

CASE(freeing_what_is_not_pinned) {
    char *memory, *pinned, *managed, *registered = aligned_alloc(PAGE, PAGE);
    int local = 0;
    OK(cudaMalloc((void **)&memory, 16));
    OK(cudaMallocHost((void **)&pinned, 1000));
    OK(cudaMallocManaged((void **)&managed, 16, cudaMemAttachGlobal));
    OK(cudaHostRegister(registered, PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(&local));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(memory));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(pinned + 1));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(managed));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(registered));
    OK(cudaHostUnregister(registered));
    OK(cudaFreeHost(pinned));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(pinned));
    OK(cudaFree(managed));
    OK(cudaFree(memory));
    free(registered);
}

/* ---- registered
 * ------------------------------------------------------------------------------------- */

CASE(registered_memory) {
    char *memory = aligned_alloc(PAGE, 4 * PAGE);
    unsigned flags = 99;
    OK(cudaHostRegister(memory, 4 * PAGE, cudaHostRegisterDefault));
    OK(cudaHostGetFlags(&flags, memory));
    EQUAL(flags, 2);
    OK(cudaHostUnregister(memory));
    free(memory);
}

CASE(registered_memory_need_not_be_aligned) {
    char *memory = malloc(10000);
    OK(cudaHostRegister(memory + 1, 7777, cudaHostRegisterDefault));
    OK(cudaHostUnregister(memory + 1));
    free(memory);
}

CASE(flags_of_registered_memory) {
    char *memory = aligned_alloc(PAGE, PAGE);
    unsigned flags = 99;
    OK(cudaHostRegister(memory, PAGE, cudaHostRegisterPortable));
    OK(cudaHostGetFlags(&flags, memory));
    EQUAL(flags, 3);
    OK(cudaHostUnregister(memory));
    OK(cudaHostRegister(memory, PAGE, cudaHostRegisterMapped));
    OK(cudaHostGetFlags(&flags, memory));
    EQUAL(flags, 2);
    OK(cudaHostUnregister(memory));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, PAGE, 16));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, PAGE, 0x80000000U));
    free(memory);
}

CASE(memory_that_is_read_only_to_devices) {
    char *memory = aligned_alloc(PAGE, PAGE);
    int supported = 0;
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrHostRegisterReadOnlySupported, 0));
    EQUAL(supported, 1);
    SAYS(cudaSuccess, cudaHostRegister(memory, PAGE, cudaHostRegisterReadOnly));
    SAYS(cudaSuccess, cudaHostUnregister(memory));
    free(memory);
}

/* Memory that the process itself may only read. */
CASE(memory_that_is_read_only_to_the_process) {
    char *memory = mmap(NULL, 2 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *there = NULL;
    unsigned flags = 99;
    int supported = 0;
    char byte = 9;
    IS(memory != MAP_FAILED);
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, PAGE, cudaHostRegisterDefault));
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrHostRegisterReadOnlySupported, 0));
    EQUAL(supported, 1);
    OK(cudaHostRegister(memory, PAGE, cudaHostRegisterReadOnly));
    OK(cudaHostGetFlags(&flags, memory));
    EQUAL(flags, cudaHostRegisterMapped);
    OK(cudaHostGetDevicePointer(&there, memory, 0));
    IS(there == memory);
    OK(cudaMemcpy(&byte, memory, 1, cudaMemcpyDefault));
    EQUAL(byte, 0);
    OK(cudaHostUnregister(memory));
    IS(!munmap(memory, 2 * PAGE));
}

/* Also where the process itself may write it. */
static void fill_what_is_only_read(int protection) {
    char *memory = mmap(NULL, PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *device = NULL;
    if (memory == MAP_FAILED) {
        skip("the process gets no memory");
        return;
    }
    OK(cudaMalloc(&device, 64));
    OK(cudaMemset(device, 7, 64));
    OK(cudaHostRegister(memory, PAGE, cudaHostRegisterReadOnly));
    FAILS(cudaErrorInvalidValue, cudaMemset(memory, 7, 64));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[0], 0);
    FAILS(cudaErrorInvalidValue, cudaMemcpy(memory, device, 64, cudaMemcpyDefault));
    OK(cudaDeviceSynchronize());
    EQUAL(memory[0], 0);
}

LONE_CASE(memory_that_is_read_only_to_devices_is_written) {
    fill_what_is_only_read(PROT_READ | PROT_WRITE);
}

LONE_CASE(memory_that_is_read_only_to_both_is_written) {
    fill_what_is_only_read(PROT_READ);
}

CASE(memory_that_is_registered_wrongly) {
    char *memory = aligned_alloc(PAGE, PAGE);
    FAILS(cudaErrorInvalidValue, cudaHostRegister(NULL, PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, 0, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, SIZE_MAX, cudaHostRegisterDefault));
    free(memory);
}

CASE(memory_that_is_not_there_is_registered) {
    char *memory = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    IS(memory != MAP_FAILED && !munmap(memory + PAGE, 3 * PAGE));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory + PAGE, PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, 2 * PAGE, cudaHostRegisterDefault));
    IS(!munmap(memory, PAGE));
}

CASE(memory_that_is_registered_already) {
    char *memory = aligned_alloc(PAGE, 4 * PAGE);
    OK(cudaHostRegister(memory + PAGE, 2 * PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered,
          cudaHostRegister(memory + PAGE, 2 * PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered,
          cudaHostRegister(memory + PAGE, PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered,
          cudaHostRegister(memory + 2 * PAGE, 2 * PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered,
          cudaHostRegister(memory, 2 * PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorHostMemoryAlreadyRegistered,
          cudaHostRegister(memory, 4 * PAGE, cudaHostRegisterDefault));
    OK(cudaHostRegister(memory, PAGE, cudaHostRegisterDefault));
    OK(cudaHostUnregister(memory));
    OK(cudaHostUnregister(memory + PAGE));
    free(memory);
}

CASE(two_registrations_in_one_page) {
    char *memory = aligned_alloc(PAGE, PAGE);
    OK(cudaHostRegister(memory, 100, cudaHostRegisterDefault));
    SAYS(cudaSuccess, cudaHostRegister(memory + 1000, 100, cudaHostRegisterDefault));
    SAYS(cudaSuccess, cudaHostUnregister(memory + 1000));
    OK(cudaHostUnregister(memory));
    free(memory);
}

CASE(registering_what_is_cudas_own) {
    char *memory, *pinned, *managed;
    OK(cudaMalloc((void **)&memory, 4 * MIB));
    OK(cudaMallocHost((void **)&pinned, PAGE));
    OK(cudaMallocManaged((void **)&managed, PAGE, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(pinned, PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(managed, PAGE, cudaHostRegisterDefault));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
    OK(cudaFree(memory));
}

CASE(unregistering_what_is_not_registered) {
    char *memory = aligned_alloc(PAGE, 2 * PAGE), *pinned;
    OK(cudaMallocHost((void **)&pinned, PAGE));
    FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(memory));
    FAILS(cudaErrorInvalidValue, cudaHostUnregister(NULL));
    FAILS(cudaErrorInvalidValue, cudaHostUnregister(pinned));
    OK(cudaHostRegister(memory, 2 * PAGE, cudaHostRegisterDefault));
    FAILS(cudaErrorInvalidValue, cudaHostUnregister(memory + PAGE));
    FAILS(cudaErrorInvalidValue, cudaHostUnregister(memory + 1));
    OK(cudaHostUnregister(memory));
    FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(memory));
    OK(cudaFreeHost(pinned));
    free(memory);
}
