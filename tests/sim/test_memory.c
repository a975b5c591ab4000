/* Allocating, freeing, and what a pointer is. */
#include "sim_test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static size_t free_bytes(void) {
    size_t free_ = 0, total = 0;
    OK(cudaMemGetInfo(&free_, &total));
    return free_;
}

TEST(allocates) {
    void *a, *b;
    OK(cudaMalloc(&a, 1));
    OK(cudaMalloc(&b, 1000));
    assert_non_null(a);
    assert_int_equal((uintptr_t)a % 256, 0);
    assert_int_equal((uintptr_t)b % 256, 0);
    assert_true(a != b);
    OK(cudaFree(a));
    OK(cudaFree(b));
}

/* Programs rely on it that large memory begins at a page of the GPU, of 2 MiB; that of a pool and
 * small memory does not (an H200). */
TEST(large_memory_begins_at_a_page) {
    const size_t sizes[] = {MIB - 511, MIB, MIB + 1, 3 * MIB, 40 * MIB};
    void *small, *large, *before, *pooled;
    OK(cudaMallocAsync(&before, 100, 0));
    OK(cudaMalloc(&small, 100));
    OK(cudaMalloc(&large, MIB - 512));
    assert_ptr_equal(large, (char *)small + 512);
    OK(cudaFree(large));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        OK(cudaMalloc(&large, sizes[i]));
        assert_int_equal((uintptr_t)large % (2 * MIB), 0);
        OK(cudaFree(large));
        OK(cudaMallocAsync(&pooled, sizes[i], 0));
        assert_int_equal((uintptr_t)pooled % 512, 0);
        OK(cudaFree(pooled));
    }
    OK(cudaFree(before));
    OK(cudaFree(small));
}

/* Where small pieces leave no aligned place, an address that is not aligned is better than none. */
TEST(memory_in_pieces_holds_large_memory) {
    void *pieces[2048], *large;
    size_t count = 0;
    acu_sim_reset("memory=8MiB");
    while (count < 2048 && cudaMalloc(&pieces[count], 4096) == cudaSuccess)
        count++;
    assert_int_equal(count, 2048);
    for (size_t i = 256; i < 900; i++) /* leaves 2576 KiB: no aligned 2 MiB need be in them */
        OK(cudaFree(pieces[i]));
    OK(cudaMalloc(&large, 644 * 4096));
    OK(cudaFree(large));
    acu_sim_reset(MACHINE);
}

TEST(nothing_is_nowhere) {
    void *a = &a;
    OK(cudaMalloc(&a, 0));
    assert_null(a);
    OK(cudaFree(NULL));
    OK(cudaMallocHost(&a, 0));
    assert_null(a);
    OK(cudaFreeHost(NULL));
}

TEST(malloc_mistakes) {
    void *a;
    FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 100));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&a, (size_t)2 << 30));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&a, SIZE_MAX));
}

TEST(capacity_is_enforced) {
    void *a, *b;
    OK(cudaMalloc(&a, 700 * MIB));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&b, 700 * MIB));
    OK(cudaFree(a));
    OK(cudaMalloc(&b, 700 * MIB));
    OK(cudaFree(b));
}

TEST(each_device_has_its_own) {
    void *a, *b;
    OK(cudaMalloc(&a, 700 * MIB));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&b, 700 * MIB));
    OK(cudaFree(b));
    OK(cudaFree(a)); /* whatever the current device */
}

TEST(free_memory_is_counted) {
    void *a;
    size_t before = free_bytes();
    OK(cudaMalloc(&a, 64 * MIB));
    assert_int_equal(before - free_bytes(), 64 * MIB);
    OK(cudaFree(a));
    assert_int_equal(free_bytes(), before);
}

TEST(free_mistakes) {
    char *a;
    int local = 0;
    OK(cudaMalloc((void **)&a, 1000));
    FAILS(cudaErrorInvalidValue, cudaFree(a + 1));
    FAILS(cudaErrorInvalidValue, cudaFree(&local));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(a));
    OK(cudaFree(a));
    FAILS(cudaErrorInvalidValue, cudaFree(a));
}

TEST(many_allocations) {
    enum { COUNT = 2000 };
    static void *all[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++)
            OK(cudaMalloc(&all[i], (size_t)(i % 97) * 100 + 1));
        for (int i = 0; i < COUNT; i++)
            OK(cudaFree(all[(i * 7 + round) % COUNT]));
    }
}

TEST(addresses_are_used_again_in_the_end) {
    void *a;
    for (int i = 0; i < 50; i++) {
        OK(cudaMalloc(&a, 900 * MIB));
        OK(cudaFree(a));
    }
}

static void touch(void *memory) {
    *(volatile char *)memory = 1;
}

TEST(the_host_cannot_touch_device_memory) {
    void *a;
    int status = 0;
    OK(cudaMalloc(&a, 4096));
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        touch(a);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(cudaFree(a));
}

TEST(pinned_memory_is_the_hosts) {
    char *a;
    void *device = NULL;
    OK(cudaMallocHost((void **)&a, 1000));
    memset(a, 7, 1000);
    OK(cudaHostGetDevicePointer(&device, a, 0));
    assert_ptr_equal(device, a);
    OK(cudaFreeHost(a));
}

TEST(host_alloc_flags) {
    void *a;
    unsigned flags = 0;
    OK(cudaHostAlloc(&a, 1000, cudaHostAllocPortable | cudaHostAllocWriteCombined));
    OK(cudaHostGetFlags(&flags, a));
    assert_true(flags & cudaHostAllocPortable);
    assert_true(flags & cudaHostAllocWriteCombined);
    OK(cudaFreeHost(a));
    FAILS(cudaErrorInvalidValue, cudaHostAlloc(&a, 1000, 0x100));
    FAILS(cudaErrorInvalidValue, cudaHostAlloc(NULL, 1000, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocHost(NULL, 1000));
}

TEST(free_host_mistakes) {
    char *a;
    int local = 0;
    OK(cudaMallocHost((void **)&a, 1000));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(a + 8));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(&local));
    FAILS(cudaErrorInvalidValue, cudaFree(a));
    OK(cudaFreeHost(a));
    FAILS(cudaErrorInvalidValue, cudaFreeHost(a));
}

TEST(host_pointer_mistakes) {
    char *a;
    void *device;
    unsigned flags;
    int local = 0;
    OK(cudaMallocHost((void **)&a, 1000));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, a, 1));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(NULL, a, 0));
    FAILS(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, &local, 0));
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(&flags, &local));
    FAILS(cudaErrorInvalidValue, cudaHostGetFlags(NULL, a));
    OK(cudaFreeHost(a));
}

TEST(registers_host_memory) {
    static char memory[8192];
    void *device = NULL;
    OK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterDefault));
    OK(cudaHostGetDevicePointer(&device, memory + 10, 0));
    assert_ptr_equal(device, memory + 10);
    OK(cudaHostUnregister(memory));
}

TEST(register_mistakes) {
    static char memory[8192];
    OK(cudaHostRegister(memory, sizeof memory, cudaHostRegisterPortable));
    FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(memory, sizeof memory, 0));
    FAILS(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(memory + 100, 10, 0));
    OK(cudaHostUnregister(memory));
    FAILS(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(memory));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(NULL, 10, 0));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaHostRegister(memory, 10, 0x100));
    FAILS(cudaErrorInvalidValue, cudaHostUnregister(NULL));
}

TEST(managed_memory_is_everyones) {
    int *a, back[4] = {0};
    OK(cudaMallocManaged((void **)&a, sizeof back, cudaMemAttachGlobal));
    a[0] = 1, a[1] = 2, a[2] = 3, a[3] = 4;
    OK(cudaMemcpy(back, a, sizeof back, cudaMemcpyDeviceToHost));
    assert_int_equal(back[3], 4);
    OK(cudaMemset(a, 0, sizeof back));
    OK(cudaDeviceSynchronize());
    assert_int_equal(a[2], 0);
    OK(cudaFree(a));
}

TEST(managed_mistakes) {
    void *a;
    OK(cudaMallocManaged(&a, 0, cudaMemAttachGlobal));
    assert_null(a);
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(&a, 10, 0));
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(&a, 10, cudaMemAttachSingle));
    FAILS(cudaErrorInvalidValue, cudaMallocManaged(NULL, 10, cudaMemAttachGlobal));
}

static const struct cudaMemLocation gpu = {.type = cudaMemLocationTypeDevice};
static const struct cudaMemLocation host = {.type = cudaMemLocationTypeHost};
static const struct cudaMemLocation wrong = {.type = cudaMemLocationTypeDevice,
                                             .id = cudaCpuDeviceId};

static int range_attribute(enum cudaMemRangeAttribute attribute, const void *at, size_t size) {
    int value = -99;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, at, size));
    return value;
}

TEST(advice_is_kept) {
    void *a;
    int accessors[3];
    OK(cudaMallocManaged(&a, 4096, cudaMemAttachGlobal));
    assert_int_equal(range_attribute(cudaMemRangeAttributePreferredLocation, a, 4096),
                     cudaInvalidDeviceId);
    OK(cudaMemAdvise(a, 4096, cudaMemAdviseSetReadMostly, gpu));
    OK(cudaMemAdvise(a, 4096, cudaMemAdviseSetPreferredLocation, host));
    OK(cudaMemAdvise(a, 4096, cudaMemAdviseSetAccessedBy, gpu));
    assert_int_equal(range_attribute(cudaMemRangeAttributeReadMostly, a, 4096), 1);
    assert_int_equal(range_attribute(cudaMemRangeAttributePreferredLocation, a, 4096),
                     cudaCpuDeviceId);
    OK(cudaMemRangeGetAttribute(accessors, sizeof accessors, cudaMemRangeAttributeAccessedBy, a,
                                4096));
    assert_int_equal(accessors[0], 0);
    assert_int_equal(accessors[1], cudaInvalidDeviceId);
    OK(cudaMemAdvise(a, 4096, cudaMemAdviseUnsetReadMostly, gpu));
    assert_int_equal(range_attribute(cudaMemRangeAttributeReadMostly, a, 4096), 0);
    OK(cudaFree(a));
}

TEST(prefetch_is_remembered) {
    void *a;
    OK(cudaMallocManaged(&a, 4096, cudaMemAttachGlobal));
    OK(cudaMemPrefetchAsync(a, 4096, gpu, 0, 0));
    assert_int_equal(range_attribute(cudaMemRangeAttributeLastPrefetchLocation, a, 4096), 0);
    OK(cudaMemPrefetchAsync(a, 4096, host, 0, 0));
    assert_int_equal(range_attribute(cudaMemRangeAttributeLastPrefetchLocation, a, 4096),
                     cudaCpuDeviceId);
    OK(cudaFree(a));
}

/* Before compute capability 6.0 no page moves alone. */
TEST(old_devices_are_no_places) {
    const struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice};
    int shares = 1;
    char *memory;
    acu_sim_reset("cc=5.2");
    OK(cudaDeviceGetAttribute(&shares, cudaDevAttrConcurrentManagedAccess, 0));
    assert_int_equal(shares, 0);
    OK(cudaMallocManaged((void **)&memory, 4096, cudaMemAttachGlobal));
    FAILS(cudaErrorInvalidDevice, cudaMemPrefetchAsync(memory, 4096, device, 0, NULL));
    OK(cudaMemPrefetchAsync(memory, 4096, host, 0, NULL));
    OK(cudaFree(memory));
}

TEST(advice_mistakes) {
    void *a, *device;
    OK(cudaMallocManaged(&a, 4096, cudaMemAttachGlobal));
    OK(cudaMalloc(&device, 4096));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(a, 4096, cudaMemAdviseSetPreferredLocation, wrong));
    FAILS(cudaErrorInvalidDevice, cudaMemPrefetchAsync(a, 4096, wrong, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(a, 99999, cudaMemAdviseSetReadMostly, gpu));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(device, 4096, cudaMemAdviseSetReadMostly, gpu));
    FAILS(cudaErrorInvalidValue, cudaMemAdvise(a, 0, cudaMemAdviseSetReadMostly, gpu));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(a, 4096, gpu, 1, 0));
    FAILS(cudaErrorInvalidValue, cudaMemPrefetchAsync(device, 4096, gpu, 0, 0));
    OK(cudaFree(a));
    OK(cudaFree(device));
}

TEST(pitch) {
    char *a;
    size_t pitch = 0;
    OK(cudaMallocPitch((void **)&a, &pitch, 100, 10));
    assert_true(pitch >= 100);
    assert_int_equal(pitch % 256, 0);
    OK(cudaMemset(a, 1, pitch * 10));
    OK(cudaFree(a));
    FAILS(cudaErrorInvalidValue, cudaMallocPitch(NULL, &pitch, 100, 10));
    FAILS(cudaErrorInvalidValue, cudaMallocPitch((void **)&a, NULL, 100, 10));
    FAILS(cudaErrorInvalidValue, cudaMallocPitch((void **)&a, &pitch, SIZE_MAX / 2, 10));
    FAILS(cudaErrorMemoryAllocation, cudaMallocPitch((void **)&a, &pitch, (size_t)1 << 40, 10));
}

static struct cudaPointerAttributes describe(const void *pointer) {
    struct cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, pointer));
    return a;
}

TEST(device_pointers) {
    char *a;
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&a, 1000));
    OK(cudaSetDevice(0));
    struct cudaPointerAttributes at = describe(a + 999);
    assert_int_equal(at.type, cudaMemoryTypeDevice);
    assert_int_equal(at.device, 1);
    assert_null(at.devicePointer); /* device 0 has no access */
    assert_null(at.hostPointer);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    assert_ptr_equal(describe(a + 999).devicePointer, a + 999);
    OK(cudaDeviceDisablePeerAccess(1));
    OK(cudaFree(a));
    assert_int_equal(describe(a).type, cudaMemoryTypeUnregistered);
}

TEST(host_pointers) {
    char *a;
    static char registered[4096];
    OK(cudaMallocHost((void **)&a, 1000));
    OK(cudaHostRegister(registered, sizeof registered, 0));
    struct cudaPointerAttributes at = describe(a + 5);
    assert_int_equal(at.type, cudaMemoryTypeHost);
    assert_ptr_equal(at.devicePointer, a + 5);
    assert_ptr_equal(at.hostPointer, a + 5);
    assert_int_equal(describe(registered + 1).type, cudaMemoryTypeHost);
    OK(cudaFreeHost(a));
    OK(cudaHostUnregister(registered));
}

TEST(managed_pointers) {
    char *a;
    OK(cudaMallocManaged((void **)&a, 1000, cudaMemAttachGlobal));
    struct cudaPointerAttributes at = describe(a + 5);
    assert_int_equal(at.type, cudaMemoryTypeManaged);
    assert_ptr_equal(at.devicePointer, a + 5);
    assert_ptr_equal(at.hostPointer, a + 5);
    OK(cudaFree(a));
}

TEST(unknown_pointers) {
    int local = 0;
    assert_int_equal(describe(&local).type, cudaMemoryTypeUnregistered);
    FAILS(cudaErrorInvalidValue, cudaPointerGetAttributes(NULL, &local));
}

TEST(free_waits_for_work) {
    blocker g = {0};
    void *a;
    cudaStream_t stream;
    OK(cudaMalloc(&a, 1000));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    block_stream(&g, stream);
    OK(cudaMemsetAsync(a, 1, 1000, stream));
    unblock_stream(&g);
    OK(cudaFree(a));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
}

TEST(host_memory_may_be_in_use_on_any_device) {
    blocker g = {0};
    void *device, *pinned;
    cudaStream_t stream;
    OK(cudaMallocHost(&pinned, MIB));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&device, MIB));
    block_stream(&g, stream);
    OK(cudaMemcpyAsync(pinned, device, MIB, cudaMemcpyDeviceToHost, stream));
    OK(cudaSetDevice(0));
    unblock_stream(&g);
    OK(cudaFreeHost(pinned));
    OK(cudaStreamQuery(stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(device));
}

/* Which then finds no memory, but does not use what is no longer the simulator's. */
TEST(a_reset_takes_host_memory_that_another_device_copies_to) {
    enum { SIZE = 64 * MIB, COPIES = 8 };
    void *device, *pinned;
    cudaStream_t stream;
    cudaEvent_t begun;
    OK(cudaMallocHost(&pinned, SIZE));
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&begun));
    OK(cudaMalloc(&device, SIZE));
    OK(cudaEventRecord(begun, stream));
    for (int i = 0; i < COPIES; i++)
        OK(cudaMemcpyAsync(pinned, device, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaEventSynchronize(begun));
    for (int i = 0; i < 10; i++) /* so that the first is being done */
        pause_briefly();
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    OK(cudaSetDevice(1)); /* after a fault, the other one would get no context (46) */
    const cudaError_t result = cudaStreamSynchronize(stream);
    assert_true(result == cudaSuccess || result == cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
}

TEST(memory_info_in_part) {
    size_t value;
    OK(cudaMemGetInfo(NULL, &value));
    OK(cudaMemGetInfo(&value, NULL));
}

/* Returns the pages of memory that the process uses; 0 if the system does not say. */
static long resident_pages(void) {
    char line[128] = "0 0", *next;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && !fgets(line, sizeof line, file))
        *line = '\0';
    if (file)
        (void)fclose(file);
    (void)strtol(line, &next, 10); /* its addresses */
    return strtol(next, NULL, 10);
}

static void make_pairs(unsigned count, size_t size) {
    for (unsigned i = 0; i < count; i++) {
        void *a, *b;
        OK(cudaMalloc(&a, size));
        OK(cudaMalloc(&b, size));
        OK(cudaMemset(a, 1, size));
        OK(cudaMemset(b, 1, size));
        OK(cudaDeviceSynchronize());
        OK(cudaFree(a));
        OK(cudaFree(b));
    }
}

/* 5,000 bytes are part of a page, in which the neighbour begins. */
TEST(freed_memory_goes_back_to_the_system) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    print_message("a sanitizer keeps what is freed\n");
    skip();
#endif
    const char *preloaded = getenv("LD_PRELOAD");
    if (preloaded && strstr(preloaded, "vgpreload")) {
        print_message("Valgrind keeps what is freed\n");
        skip();
    }
    make_pairs(100, 5000);
    const long before = resident_pages();
    if (!before)
        skip();
    make_pairs(4000, 5000); /* 40 MiB, if each had pages of its own */
    assert_true(resident_pages() - before < 2000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(allocates),
        T(large_memory_begins_at_a_page),
        T(memory_in_pieces_holds_large_memory),
        T(nothing_is_nowhere),
        T(malloc_mistakes),
        T(capacity_is_enforced),
        T(each_device_has_its_own),
        T(free_memory_is_counted),
        T(freed_memory_goes_back_to_the_system),
        T(free_mistakes),
        T(many_allocations),
        T(addresses_are_used_again_in_the_end),
        T(the_host_cannot_touch_device_memory),
        T(pinned_memory_is_the_hosts),
        T(host_alloc_flags),
        T(free_host_mistakes),
        T(host_pointer_mistakes),
        T(registers_host_memory),
        T(register_mistakes),
        T(managed_memory_is_everyones),
        T(managed_mistakes),
        T(advice_is_kept),
        T(prefetch_is_remembered),
        T(old_devices_are_no_places),
        T(advice_mistakes),
        T(pitch),
        T(device_pointers),
        T(host_pointers),
        T(managed_pointers),
        T(unknown_pointers),
        T(free_waits_for_work),
        T(host_memory_may_be_in_use_on_any_device),
        T(a_reset_takes_host_memory_that_another_device_copies_to),
        T(memory_info_in_part),
    };
    return RUN(tests);
}
