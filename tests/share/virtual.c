/* Created memory that is shared by file descriptors. */
#define _GNU_SOURCE /* memfd_create */

#include "share.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FD CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR

static CUmemAllocationProp shared_memory(void) {
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = FD,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
    };
}

static CUmemGenericAllocationHandle create(size_t size) {
    const CUmemAllocationProp p = shared_memory();
    CUmemGenericAllocationHandle handle = 0;
    OK(cuMemCreate(&handle, size, &p, 0));
    return handle;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, size_t size) {
    const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at = 0;
    OK(cuMemAddressReserve(&at, size, 0, 0, 0));
    OK(cuMemMap(at, size, 0, handle, 0));
    OK(cuMemSetAccess(at, size, &access, 1));
    return at;
}

static void *pointer(CUdeviceptr at) {
    return (void *)(uintptr_t)at;
}

static int export(CUmemGenericAllocationHandle handle) {
    int descriptor = -1;
    OK(cuMemExportToShareableHandle(&descriptor, handle, FD, 0));
    return descriptor;
}

static CUresult import(CUmemGenericAllocationHandle *handle, int descriptor) {
    return cuMemImportFromShareableHandle(handle, (void *)(intptr_t)descriptor, FD);
}

static void say_properties(const char *of, CUmemGenericAllocationHandle handle) {
    CUmemAllocationProp p;
    memset(&p, 0x55, sizeof p);
    const int code = (int)cuMemGetAllocationPropertiesFromHandle(&p, handle);
    say("properties of %s = %d: type %d, location %d %d, handles %x, compression %d, rdma %d, "
        "usage %d",
        of, code, (int)p.type, (int)p.location.type, p.location.id,
        (unsigned)p.requestedHandleTypes, p.allocFlags.compressionType,
        p.allocFlags.gpuDirectRDMACapable, p.allocFlags.usage);
}

static void say_attributes(const char *of, CUdeviceptr at) {
    uint64_t context = 7, allowed = 7, pool = 7;
    unsigned capable = 7, type = 7, flags = 7;
    int device = 7;
    int codes[7] = {
        (int)cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at),
        (int)cuPointerGetAttribute(&allowed, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at),
        (int)cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at),
        (int)cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at),
        (int)cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at),
        (int)cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at),
        (int)cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at)};
    say("attributes of %s: context %d %d, handles %d %llx, pool %d %d, ipc %d %u, type %d %u, "
        "access %d %u, device %d %d",
        of, codes[0], context != 0, codes[1], (unsigned long long)allowed, codes[2], pool != 0,
        codes[3], capable, codes[4], type, codes[5], flags, codes[6], device);
}

/* ---- what is refused ---- */

static void creates(void) {
    static const unsigned types[] = {1, 2, 4, 8, 3, 9, 5, 0x10, 0x11, 0x80000000};
    int value = -1;
    OK(cudaFree(NULL));
    for (int a = 0; a < 3; a++) {
        static const CUdevice_attribute attributes[] = {
            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED,
            CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED};
        OK(cuDeviceGetAttribute(&value, attributes[a], 0));
        say("attribute %d is %d", (int)attributes[a], value);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int host = 0; host < 2; host++) {
            CUmemAllocationProp p = shared_memory();
            CUmemGenericAllocationHandle handle = 0;
            p.requestedHandleTypes = (CUmemAllocationHandleType)types[i];
            if (host)
                p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
            const int code = (int)cuMemCreate(&handle, 2 * MIB, &p, 0);
            say("create with handles %x, host %d = %d", types[i], host, code);
            size_t granularity = 0;
            const int asked = (int)cuMemGetAllocationGranularity(&granularity, &p, 0);
            say("granularity %zu = %d", granularity, asked);
            if (!code) {
                say_properties("that", handle);
                OK(cuMemRelease(handle));
            }
        }
}
SCENE(virtual_creates, creates, NULL)

static void refuses_export(void) {
    CUmemAllocationProp none = shared_memory();
    CUmemGenericAllocationHandle plain = 0;
    int fd = -1;
    OK(cudaFree(NULL));
    none.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&plain, 2 * MIB, &none, 0));
    CUmemGenericAllocationHandle handle = create(2 * MIB);
    ASK(cuMemExportToShareableHandle(&fd, plain, FD, 0));
    ASK(cuMemExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_NONE, 0));
    ASK(cuMemExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_WIN32, 0));
    ASK(cuMemExportToShareableHandle(&fd, plain, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_NONE, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_WIN32, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_WIN32_KMT, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_FABRIC, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, (CUmemAllocationHandleType)3, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, (CUmemAllocationHandleType)0x10, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, FD, 1));
    ASK(cuMemExportToShareableHandle(NULL, handle, FD, 0));
    say("the descriptor is %s", fd < 0 ? "as it was" : "written");
    ASK(cuMemExportToShareableHandle(&fd, handle, FD, 0));
    say("closed on exec: %d", fcntl(fd, F_GETFD) & FD_CLOEXEC);
    int second = -1;
    ASK(cuMemExportToShareableHandle(&second, handle, FD, 0));
    say("another descriptor: %d", second != fd);
    CUdeviceptr at = map(handle, 2 * MIB);
    OK(cuMemRelease(handle));
    ASK(cuMemExportToShareableHandle(&second, handle, FD, 0)); /* released, but mapped */
    (void)at;
}
SCENE(virtual_refuses_export, refuses_export, NULL)

static void exports_released(void) {
    int fd = -1;
    OK(cudaFree(NULL));
    CUmemGenericAllocationHandle handle = create(2 * MIB);
    OK(cuMemRelease(handle));
    ASK(cuMemExportToShareableHandle(&fd, handle, FD, 0));
}
SCENE(virtual_exports_released, exports_released, NULL)

static void exports_nothing(void) {
    int fd = -1;
    OK(cudaFree(NULL));
    ASK(cuMemExportToShareableHandle(&fd, 0, FD, 0));
}
SCENE(virtual_exports_nothing, exports_nothing, NULL)

static void exports_mapped_host(void) {
    CUmemAllocationProp p = shared_memory();
    CUmemGenericAllocationHandle handle = 0, again = 0;
    int fd = -1;
    OK(cudaFree(NULL));
    p.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    ASK(cuMemCreate(&handle, 2 * MIB, &p, 0));
    ASK(cuMemExportToShareableHandle(&fd, handle, FD, 0));
    ASK(import(&again, fd));
    say_properties("the import", again);
}
SCENE(virtual_exports_host, exports_mapped_host, NULL)

static void refuses_import(void) {
    CUmemGenericAllocationHandle handle = 0x77;
    OK(cudaFree(NULL));
    const int fd = export(create(2 * MIB));
    ASK(cuMemImportFromShareableHandle(NULL, (void *)(intptr_t)fd, FD));
    ASK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_NONE));
    ASK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_WIN32));
    ASK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                       (CUmemAllocationHandleType)3));
    ASK(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)fd,
                                       (CUmemAllocationHandleType)0x10));
    ASK(import(&handle, -1));
    ASK(import(&handle, 999));
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    ASK(import(&handle, null));
    const int foreign = memfd_create("foreign", MFD_CLOEXEC);
    ASK(import(&handle, foreign));
    ASK(ftruncate(foreign, 2 * MIB));
    ASK(import(&handle, foreign));
    int ends[2];
    ASK(pipe(ends));
    ASK(import(&handle, ends[0]));
    say("the handle is %s", handle == 0x77 ? "as it was" : "written");
    say("open: %d %d", fcntl(null, F_GETFD) >= 0, fcntl(foreign, F_GETFD) >= 0);
    ASK(import(&handle, fd));
    say("still open: %d", fcntl(fd, F_GETFD) >= 0);
    OK(close(fd));
    ASK(import(&handle, fd));
}
SCENE(virtual_refuses_import, refuses_import, NULL)

/* ---- in one process ---- */

static void imports_its_own(void) {
    CUmemGenericAllocationHandle second = 0, third = 0;
    OK(cudaFree(NULL));
    CUmemGenericAllocationHandle first = create(2 * MIB);
    const int fd = export(first);
    ASK(import(&second, fd));
    ASK(import(&third, fd));
    say("the same handle: %d %d", second == first, third == second);
    const CUdeviceptr at = map(first, 2 * MIB), there = map(second, 2 * MIB);
    fill(pointer(at), 0x12, 2 * MIB);
    say_byte("through the other", pointer(there));
    say_properties("the import", second);
    int again = -1;
    ASK(cuMemExportToShareableHandle(&again, second, FD, 0));
    ASK(cuMemRelease(first));
    ASK(cuMemRelease(second));
    ASK(cuMemRelease(third));
    say_byte("released", pointer(there));
    ASK(cuMemUnmap(at, 2 * MIB));
    say_byte("unmapped there", pointer(there));
    ASK(cuMemUnmap(there, 2 * MIB));
    CUmemGenericAllocationHandle late = 0;
    ASK(import(&late, fd));
    say_byte("imported late", pointer(map(late, 2 * MIB)));
}
SCENE(virtual_imports_its_own, imports_its_own, NULL)

static void releases_its_own(void) {
    CUmemGenericAllocationHandle second = 0;
    OK(cudaFree(NULL));
    CUmemGenericAllocationHandle first = create(2 * MIB);
    const int fd = export(first);
    OK(import(&second, fd));
    if (second == first) { /* else the third release would crash CUDA */
        ASK(cuMemRelease(first));
        ASK(cuMemRelease(second));
    } else {
        ASK(cuMemRelease(first));
        say_properties("the import", second);
        ASK(cuMemRelease(second));
    }
}
SCENE(virtual_releases_its_own, releases_its_own, NULL)

/* ---- in two ---- */

static void makes(void) {
    OK(cudaFree(NULL));
    CUmemGenericAllocationHandle handle = create(4 * MIB);
    const CUdeviceptr at = map(handle, 4 * MIB);
    fill(pointer(at), 0xab, 4 * MIB);
    say_attributes("what is made", at);
    give(NULL, 0, export(handle));
    wait_for_other();
    say_byte("after the other wrote", pointer(at + 3 * MIB));
    fill(pointer(at), 0xcd, 4 * MIB);
    ASK(cuMemUnmap(at, 4 * MIB));
    ASK(cuMemRelease(handle));
    let_go_on();
    wait_for_other();
}

static void opens(void) {
    CUmemGenericAllocationHandle handle = 0, second = 0, retained = 0;
    CUdeviceptr at = 0;
    OK(cudaFree(NULL));
    const int fd = take(NULL, 0);
    ASK(import(&handle, fd));
    ASK(import(&second, fd));
    say("the same handle: %d", second == handle);
    say("closing: %d", close(fd));
    say_properties("the import", handle);
    OK(cuMemAddressReserve(&at, 8 * MIB, 0, 0, 0));
    ASK(cuMemMap(at, 2 * MIB, 0, handle, 0));
    ASK(cuMemMap(at, 8 * MIB, 0, handle, 0));
    ASK(cuMemMap(at, 2 * MIB, 2 * MIB, handle, 0));
    at = map(handle, 4 * MIB);
    say_byte("from the maker", pointer(at + 3 * MIB));
    say_attributes("what is imported", at);
    ASK(cudaFree(pointer(at)));
    ASK(cudaFreeAsync(pointer(at), NULL));
    cudaIpcMemHandle_t legacy;
    ASK(cudaIpcGetMemHandle(&legacy, pointer(at)));
    ASK(cuMemRetainAllocationHandle(&retained, pointer(at)));
    say("retained the same: %d", retained == handle);
    int again = -1;
    ASK(cuMemExportToShareableHandle(&again, handle, FD, 0));
    fill(pointer(at), 0x77, 4 * MIB);
    let_go_on();
    wait_for_other();
    say_byte("after the maker released", pointer(at + 3 * MIB));
    let_go_on();
    wait_for_end();
    say_byte("after the maker ended", pointer(at));
    fill(pointer(at), 0x78, 4 * MIB);
    say_byte("written then", pointer(at));
    CUmemGenericAllocationHandle late = 0;
    ASK(import(&late, again));
    ASK(cuMemRelease(retained));
    ASK(cuMemRelease(handle));
    ASK(cuMemRelease(second));
    ASK(cuMemUnmap(at, 4 * MIB));
}
SCENE(virtual_shared, makes, opens)

static void makes_for_one_that_dies(void) {
    OK(cudaFree(NULL));
    CUmemGenericAllocationHandle handle = create(2 * MIB);
    const CUdeviceptr at = map(handle, 2 * MIB);
    fill(pointer(at), 1, 2 * MIB);
    give(NULL, 0, export(handle));
    wait_for_end();
    say_byte("after the importer died", pointer(at));
    ASK(cuMemUnmap(at, 2 * MIB));
    ASK(cuMemRelease(handle));
}

static void opens_and_dies(void) {
    CUmemGenericAllocationHandle handle = 0;
    OK(cudaFree(NULL));
    OK(import(&handle, take(NULL, 0)));
    fill(pointer(map(handle, 2 * MIB)), 9, 2 * MIB);
}
SCENE(virtual_importer_dies, makes_for_one_that_dies, opens_and_dies)

static void makes_and_dies(void) {
    OK(cudaFree(NULL));
    CUmemGenericAllocationHandle handle = create(2 * MIB);
    fill(pointer(map(handle, 2 * MIB)), 0x31, 2 * MIB);
    give(NULL, 0, export(handle));
}

static void opens_of_the_dead(void) {
    CUmemGenericAllocationHandle handle = 0;
    OK(cudaFree(NULL));
    const int fd = take(NULL, 0);
    wait_for_end();
    if (ASK(import(&handle, fd)) == 0)
        say_byte("of the dead", pointer(map(handle, 2 * MIB)));
}
SCENE(virtual_exporter_dies, makes_and_dies, opens_of_the_dead)
