/* Pools that are shared by file descriptors, and their memory, which is shared by 64 bytes. */
#define _GNU_SOURCE /* memfd_create */

#include "share.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FD cudaMemHandleTypePosixFileDescriptor

typedef struct cudaMemPoolPtrExportData ticket; /* what stands for memory of a pool */

static struct cudaMemPoolProps shared_pool(void) {
    return (struct cudaMemPoolProps){
        .allocType = cudaMemAllocationTypePinned,
        .handleTypes = FD,
        .location = {.type = cudaMemLocationTypeDevice},
    };
}

static cudaMemPool_t create(void) {
    const struct cudaMemPoolProps properties = shared_pool();
    cudaMemPool_t pool = NULL;
    OK(cudaFree(NULL));
    OK(cudaMemPoolCreate(&pool, &properties));
    return pool;
}

static void *allocate(cudaMemPool_t pool, size_t size) {
    void *at = NULL;
    OK(cudaMallocFromPoolAsync(&at, size, pool, NULL));
    OK(cudaStreamSynchronize(NULL));
    return at;
}

static int export(cudaMemPool_t pool) {
    int descriptor = -1;
    OK(cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 0));
    return descriptor;
}

static cudaError_t import(cudaMemPool_t *pool, int descriptor) {
    return cudaMemPoolImportFromShareableHandle(pool, (void *)(intptr_t)descriptor, FD, 0);
}

/* A pool whose memory can be exported: a pool comes before its memory. */
static cudaMemPool_t create_exported(int *descriptor) {
    cudaMemPool_t pool = create();
    *descriptor = export(pool);
    return pool;
}

static ticket exported(void *at) {
    ticket data = {{0}};
    OK(cudaMemPoolExportPointer(&data, at));
    return data;
}

static void say_pool(const char *of, cudaMemPool_t pool) {
    for (int attribute = 1; attribute <= 8; attribute++) {
        uint64_t value = 0;
        const int code =
            (int)cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, &value);
        say("attribute %d of %s = %d: %llu", attribute, of, code, (unsigned long long)value);
    }
    enum cudaMemAccessFlags access = (enum cudaMemAccessFlags)9;
    struct cudaMemLocation here = {.type = cudaMemLocationTypeDevice};
    const int code = (int)cudaMemPoolGetAccess(&access, pool, &here);
    say("access to %s = %d: %d", of, code, (int)access);
}

static void say_attributes(const char *of, const void *at) {
    struct cudaPointerAttributes a = {.type = (enum cudaMemoryType)9};
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)at;
    CUdeviceptr base = 0;
    size_t size = 0;
    uint64_t context = 7, handles = 7, pool = 7;
    unsigned capable = 7;
    const int code = (int)cudaPointerGetAttributes(&a, at);
    const int range = (int)cuMemGetAddressRange(&base, &size, address);
    const int codes[] = {
        (int)cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, address),
        (int)cuPointerGetAttribute(&handles, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address),
        (int)cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address),
        (int)cuPointerGetAttribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                   address)};
    say("attributes of %s = %d: type %d, device %d; range %d: offset %lld, size %zu; context %d "
        "%d, handles %d %llx, pool %d %d, ipc %d %u",
        of, code, (int)a.type, a.device, range, range ? -1LL : (long long)(address - base), size,
        codes[0], context != 0, codes[1], (unsigned long long)handles, codes[2], pool != 0,
        codes[3], capable);
}

/* ---- what is refused ---- */

static void creates(void) {
    static const unsigned types[] = {0, 1, 2, 4, 8, 3, 9, 5, 0x10, 0x11, 0x80000000};
    int value = -1;
    OK(cudaFree(NULL));
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    say("attribute of pools is %x", (unsigned)value);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int host = 0; host < 2; host++) {
            struct cudaMemPoolProps p = shared_pool();
            cudaMemPool_t pool = NULL;
            p.handleTypes = (enum cudaMemAllocationHandleType)types[i];
            if (host)
                p.location = (struct cudaMemLocation){.type = (enum cudaMemLocationType)3};
            const int code = (int)cudaMemPoolCreate(&pool, &p);
            say("create with handles %x, host %d = %d", types[i], host, code);
            int descriptor = -1;
            if (!code && types[i] < 8) { /* an H200 crashed where types were more than a file */
                const int done = (int)cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 0);
                say("exported = %d", done);
                OK(cudaMemPoolDestroy(pool));
            }
        }
}
SCENE(pool_creates, creates, NULL)

static void refuses_export(void) {
    struct cudaMemPoolProps none = shared_pool();
    cudaMemPool_t plain = NULL, first = NULL, pool = create();
    int fd = -1, second = -1;
    none.handleTypes = cudaMemHandleTypeNone;
    OK(cudaMemPoolCreate(&plain, &none));
    OK(cudaDeviceGetDefaultMemPool(&first, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, plain, FD, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, plain, cudaMemHandleTypeNone, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, first, FD, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypeNone, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypeWin32, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypeWin32Kmt, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, (enum cudaMemAllocationHandleType)8, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, (enum cudaMemAllocationHandleType)3, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, (enum cudaMemAllocationHandleType)16, 0));
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, FD, 1));
    say("the descriptor is %s", fd < 0 ? "as it was" : "written");
    ASK(cudaMemPoolExportToShareableHandle(&fd, pool, FD, 0));
    ASK(cudaMemPoolExportToShareableHandle(&second, pool, FD, 0));
    say("closed on exec: %d, another descriptor: %d", fcntl(fd, F_GETFD) & FD_CLOEXEC,
        second != fd);
    say_pool("the pool", pool);
    OK(cudaMemPoolDestroy(pool));
}
SCENE(pool_refuses_export, refuses_export, NULL)

static void exports_nothing(void) {
    int fd = -1;
    OK(cudaFree(NULL));
    ASK(cudaMemPoolExportToShareableHandle(&fd, NULL, FD, 0));
}
SCENE(pool_exports_nothing, exports_nothing, NULL)

static void exports_nowhere(void) {
    cudaMemPool_t pool = create();
    ASK(cudaMemPoolExportToShareableHandle(NULL, pool, FD, 0));
}
SCENE(pool_exports_nowhere, exports_nowhere, NULL)

static void refuses_import(void) {
    cudaMemPool_t pool = create(), made = (cudaMemPool_t)0x77;
    const int fd = export(pool);
    ASK(cudaMemPoolImportFromShareableHandle(&made, (void *)(intptr_t)fd, cudaMemHandleTypeNone,
                                             0));
    ASK(cudaMemPoolImportFromShareableHandle(&made, (void *)(intptr_t)fd, cudaMemHandleTypeWin32,
                                             0));
    ASK(cudaMemPoolImportFromShareableHandle(&made, (void *)(intptr_t)fd,
                                             (enum cudaMemAllocationHandleType)3, 0));
    ASK(cudaMemPoolImportFromShareableHandle(&made, (void *)(intptr_t)fd,
                                             (enum cudaMemAllocationHandleType)16, 0));
    ASK(cudaMemPoolImportFromShareableHandle(&made, (void *)(intptr_t)fd, FD, 1));
    ASK(import(&made, -1));
    ASK(import(&made, 999));
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    ASK(import(&made, null));
    const int foreign = memfd_create("foreign", MFD_CLOEXEC);
    ASK(import(&made, foreign));
    ASK(ftruncate(foreign, 2 * MIB));
    ASK(import(&made, foreign));
    int ends[2];
    ASK(pipe(ends));
    ASK(import(&made, ends[0]));
    say("the pool is %s", made == (cudaMemPool_t)0x77 ? "as it was" : "written");
    say("open: %d %d", fcntl(null, F_GETFD) >= 0, fcntl(foreign, F_GETFD) >= 0);
    ASK(import(&made, fd));
    say("still open: %d", fcntl(fd, F_GETFD) >= 0);
    OK(close(fd));
    ASK(import(&made, fd));
}
SCENE(pool_refuses_import, refuses_import, NULL)

static void imports_nowhere(void) {
    const int fd = export(create());
    ASK(import(NULL, fd));
}
SCENE(pool_imports_nowhere, imports_nowhere, NULL)

/* A descriptor of memory is none of a pool, and the other way round. */
static void confuses(void) {
    const CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                   .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemGenericAllocationHandle memory = 0, other = 0;
    cudaMemPool_t made = NULL;
    int fd = -1;
    const int of_pool = export(create());
    OK(cuMemCreate(&memory, 2 * MIB, &p, 0));
    OK(cuMemExportToShareableHandle(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ASK(import(&made, fd));
    ASK(cuMemImportFromShareableHandle(&other, (void *)(intptr_t)of_pool,
                                       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
}
SCENE(pool_confused_with_memory, confuses, NULL)

static void refuses_pointers(void) {
    ticket data, second;
    void *plain = NULL, *device = NULL;
    static char pageable[16];
    int fd;
    cudaMemPool_t pool = create_exported(&fd);
    OK(cudaMallocAsync(&plain, MIB, NULL));
    OK(cudaMalloc(&device, MIB));
    OK(cudaStreamSynchronize(NULL));
    char *at = allocate(pool, MIB), *freed = allocate(pool, MIB);
    memset(&data, 0x5a, sizeof data);
    memset(&second, 0x5a, sizeof second);
    ASK(cudaMemPoolExportPointer(&data, plain));
    ASK(cudaMemPoolExportPointer(&data, device));
    ASK(cudaMemPoolExportPointer(&data, pageable));
    ASK(cudaMemPoolExportPointer(&data, NULL));
    say("written: %d", memcmp(&data, &second, sizeof data) != 0);
    ASK(cudaMemPoolExportPointer(&data, at));
    ASK(cudaMemPoolExportPointer(&second, at));
    say("equal: %d", memcmp(&data, &second, sizeof data) == 0);
    ASK(cudaMemPoolExportPointer(&second, at + 64));
    say("equal inside: %d", memcmp(&data, &second, sizeof data) == 0);
    ASK(cudaMemPoolExportPointer(&second, freed));
    say("equal of another: %d", memcmp(&data, &second, sizeof data) == 0);
    OK(cudaFreeAsync(freed, NULL));
    OK(cudaStreamSynchronize(NULL));
    ASK(cudaMemPoolExportPointer(&second, freed));
    say_attributes("shared pool memory", at);
    say_attributes("pool memory", plain);
    ASK(cudaMemPoolExportPointer(NULL, at));
}
SCENE(pool_refuses_pointers, refuses_pointers, NULL)

static void exports_early_and_late(void) {
    cudaMemPool_t pool = create();
    ticket data;
    void *early = allocate(pool, 4 * MIB), *freed = allocate(pool, 4 * MIB);
    ASK(cudaMemPoolExportPointer(&data, early));
    const int fd = export(pool);
    ASK(cudaMemPoolExportPointer(&data, early));
    void *late = allocate(pool, 4 * MIB);
    ASK(cudaMemPoolExportPointer(&data, late));
    OK(cudaFree(freed));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolTrimTo(pool, 0));
    void *later = allocate(pool, 64 * MIB);
    ASK(cudaMemPoolExportPointer(&data, later));
    OK(close(fd));
    void *latest = allocate(pool, 128 * MIB);
    ASK(cudaMemPoolExportPointer(&data, latest));
    (void)export(pool);
    ASK(cudaMemPoolExportPointer(&data, early));
}
SCENE(pool_exported_early, exports_early_and_late, NULL)

static void imports_garbage(int byte) {
    cudaMemPool_t made = NULL;
    void *at = (void *)8;
    const int fd = export(create());
    OK(import(&made, fd));
    ticket data;
    memset(&data, byte, sizeof data);
    ASK(cudaMemPoolImportPointer(&at, made, &data));
    say("written: %d, NULL: %d", at != (void *)8, !at);
}

static void imports_zeros(void) {
    imports_garbage(0);
}
SCENE(pool_imports_zeros, imports_zeros, NULL)

static void imports_ones(void) {
    imports_garbage(0xff);
}
SCENE(pool_imports_ones, imports_ones, NULL)

static void imports_noise(void) {
    imports_garbage(0x5a);
}
SCENE(pool_imports_noise, imports_noise, NULL)

static void imports_into_nothing(void) {
    int fd;
    cudaMemPool_t pool = create_exported(&fd), made = NULL;
    ticket data = exported(allocate(pool, MIB));
    void *at = (void *)8;
    OK(import(&made, fd));
    ASK(cudaMemPoolImportPointer(&at, pool, &data)); /* which is no import */
    ASK(cudaMemPoolImportPointer(&at, made, NULL));
    ASK(cudaMemPoolImportPointer(NULL, made, &data));
    say("written: %d", at != (void *)8);
    ASK(cudaMemPoolImportPointer(&at, NULL, &data));
}
SCENE(pool_imports_into_nothing, imports_into_nothing, NULL)

/* ---- in one process ---- */

static void imports_its_own(void) {
    int fd;
    cudaMemPool_t pool = create_exported(&fd), made = NULL, again = NULL;
    char *at = allocate(pool, 4 * MIB), *there = NULL;
    fill(at, 0x12, 4 * MIB);
    ASK(import(&made, fd));
    ASK(import(&again, fd));
    say("the same pool: %d %d", made == pool, made == again);
    ticket data = exported(at);
    if (ASK(cudaMemPoolImportPointer((void **)&there, made, &data)) == 0) {
        say("the same address: %d", there == at);
        say_byte("through the import", there + 3 * MIB);
        say_attributes("the import", there);
        ASK(cudaFreeAsync(there, NULL));
        ASK(cudaStreamSynchronize(NULL));
    }
    say_byte("after the free", at);
    ASK(cudaMemPoolDestroy(made));
}
SCENE(pool_imports_its_own, imports_its_own, NULL)

/* ---- in two ---- */

/* Makes memory of such bytes in a new pool, and gives both to the other process. */
static char *make_and_give(size_t size, int value, cudaMemPool_t *pool, ticket *data) {
    int fd;
    *pool = create_exported(&fd);
    char *at = allocate(*pool, size);
    fill(at, value, size);
    *data = exported(at);
    give(data, sizeof *data, fd);
    return at;
}

/* Takes what the other process gives: a pool, and the ticket of its memory. */
static cudaMemPool_t take_pool(ticket *data) {
    cudaMemPool_t pool = NULL;
    OK(cudaFree(NULL));
    OK(import(&pool, take(data, sizeof *data)));
    return pool;
}

/* Opens the memory, too. */
static char *take_and_open(cudaMemPool_t *pool, ticket *data) {
    void *at = NULL;
    *pool = take_pool(data);
    OK(cudaMemPoolImportPointer(&at, *pool, data));
    return at;
}

typedef struct parcel {
    ticket large, small, next;
} parcel;

static void makes(void) {
    int fd;
    cudaMemPool_t pool = create_exported(&fd);
    char *large = allocate(pool, 4 * MIB), *small = allocate(pool, 256),
         *next = allocate(pool, 300);
    fill(large, 0x33, 4 * MIB);
    fill(small, 0x11, 256);
    fill(next, 0x22, 300);
    fill(large + 64, 0x44, 1);
    const parcel sent = {exported(large), exported(small), exported(next)};
    give(&sent, sizeof sent, fd);
    OK(close(fd));
    wait_for_other();
    say_byte("after the other wrote", large + 2 * MIB);
    fill(large, 0x99, 4 * MIB);
    let_go_on();
    wait_for_other(); /* all is freed there */
    say_byte("after the other freed", large);
    say_pool("the pool", pool);
    ASK(cudaFreeAsync(large, NULL));
    ASK(cudaFree(small));
    ASK(cudaFree(next));
    ASK(cudaStreamSynchronize(NULL));
    say_pool("the empty pool", pool);
    ASK(cudaMemPoolDestroy(pool));
    let_go_on();
    wait_for_other();
}

static void opens(void) {
    parcel got;
    cudaMemPool_t pool = NULL, second = NULL;
    char *large = NULL, *small = NULL, *next = NULL, *again = NULL;
    void *at = NULL;
    OK(cudaFree(NULL));
    const int fd = take(&got, sizeof got);
    ASK(import(&pool, fd));
    ASK(import(&second, fd));
    say("the same pool: %d; closing: %d", pool == second, close(fd));
    say_pool("the import", pool);
    ASK(cudaMemPoolImportPointer((void **)&large, pool, &got.large));
    ASK(cudaMemPoolImportPointer((void **)&small, pool, &got.small));
    ASK(cudaMemPoolImportPointer((void **)&next, pool, &got.next));
    ASK(cudaMemPoolImportPointer((void **)&again, pool, &got.large));
    say("again at %lld", (long long)(again - large));
    say_byte("large", large);
    say_byte("small", small);
    say_byte("next", next);
    say_byte("inside", large + 64);
    say_attributes("large", large);
    say_attributes("small", small);
    say_attributes("next", next);
    say_attributes("large + 64", large + 64);
    say_pool("the import", pool);
    ASK(cudaMallocFromPoolAsync(&at, MIB, pool, NULL));
    ASK(cudaMemPoolTrimTo(pool, 0));
    uint64_t threshold = 5 * MIB, value = 0;
    ASK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    ASK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &value));
    say("the threshold is %llu", (unsigned long long)value);
    const struct cudaMemAccessDesc none = {.location = {.type = cudaMemLocationTypeDevice}},
                                   all = {.location = {.type = cudaMemLocationTypeDevice},
                                          .flags = cudaMemAccessFlagsProtReadWrite};
    ASK(cudaMemPoolSetAccess(pool, &all, 1));
    ASK(cudaMemPoolSetAccess(pool, &none, 1));
    ticket data;
    int descriptor = -1;
    cudaIpcMemHandle_t legacy;
    ASK(cudaMemPoolExportToShareableHandle(&descriptor, pool, FD, 0));
    ASK(cudaMemPoolExportPointer(&data, large));
    ASK(cudaIpcGetMemHandle(&legacy, large));
    ASK(cudaDeviceSetMemPool(0, pool));
    say_byte("before the writing", large);
    fill(large, 0x55, 4 * MIB);
    let_go_on();
    wait_for_other();
    say_byte("after the maker wrote", large + MIB);
    ASK(cudaFree(large + 64));
    ASK(cudaFreeAsync(large, NULL));
    ASK(cudaStreamSynchronize(NULL));
    ASK(cudaFree(small));
    ASK(cudaMemset(next, 0x23, 300));
    ASK(cudaMemset(next, 0x23, 3 * MIB));
    ASK(cudaFree(next));
    ASK(cudaFree(next));
    ASK(cudaDeviceSynchronize());
    say_pool("the import", pool);
    let_go_on();
    wait_for_other();
    ASK(cudaMemPoolDestroy(pool));
    ASK(cudaMemPoolDestroy(second));
    let_go_on();
    wait_for_end();
}
SCENE(pool_shared, makes, opens)

static void makes_two(void) {
    int fd;
    cudaMemPool_t pool = create_exported(&fd), other = create_exported(&fd);
    const ticket data = exported(allocate(pool, MIB));
    (void)allocate(other, MIB);
    give(&data, sizeof data, fd);
    wait_for_other();
}

static void opens_in_the_wrong(void) {
    ticket data;
    void *at = (void *)8;
    cudaMemPool_t pool = take_pool(&data);
    ASK(cudaMemPoolImportPointer(&at, pool, &data));
    say("written: %d", at != (void *)8);
    let_go_on();
}
SCENE(pool_is_another, makes_two, opens_in_the_wrong)

static void opens_twice_and_frees(void) {
    ticket data;
    cudaMemPool_t pool;
    char *at = take_and_open(&pool, &data), *again = NULL;
    ASK(cudaMemPoolImportPointer((void **)&again, pool, &data));
    say("the same address: %d", at == again);
    ASK(cudaFree(at));
    ASK(cudaMemPoolImportPointer((void **)&again, pool, &data));
    say("the same address: %d", at == again);
    say_byte("imported again", again);
    ASK(cudaFree(again));
    ASK(cudaFree(again));
    let_go_on();
}

static void makes_one(void) {
    ticket data;
    cudaMemPool_t pool;
    void *at = make_and_give(MIB, 0x61, &pool, &data);
    wait_for_other();
    say_byte("in the end", at);
}
SCENE(pool_pointer_twice, makes_one, opens_twice_and_frees)

static void opens_and_destroys(void) {
    ticket data;
    cudaMemPool_t pool;
    void *at = take_and_open(&pool, &data);
    ASK(cudaMemPoolDestroy(pool));
    say_byte("of the destroyed", at);
    ASK(cudaFree(at));
    let_go_on();
}
SCENE(pool_import_destroyed, makes_one, opens_and_destroys)

/* ---- who goes first ---- */

static void makes_and_frees_first(void) {
    ticket data;
    cudaMemPool_t pool;
    void *at = make_and_give(4 * MIB, 0x71, &pool, &data);
    wait_for_other();
    ASK(cudaFree(at));
    ASK(cudaDeviceSynchronize());
    say_pool("the pool", pool);
    let_go_on();
    wait_for_other();
    void *later = allocate(pool, 4 * MIB);
    say("the same address: %d", later == at);
    fill(later, 0x72, 4 * MIB);
    const ticket second = exported(later);
    say("equal: %d", memcmp(&data, &second, sizeof data) == 0);
    give(&second, sizeof second, -1);
    wait_for_other();
    ASK(cudaFree(later));
    ASK(cudaMemPoolDestroy(pool));
    let_go_on();
    wait_for_other();
}

static void opens_before_that(void) {
    ticket data, second;
    cudaMemPool_t pool;
    char *at = take_and_open(&pool, &data), *later = NULL, *third = NULL;
    let_go_on();
    wait_for_other(); /* freed there */
    say_byte("after the maker freed", at);
    ASK(cudaMemPoolImportPointer((void **)&third, pool, &data));
    let_go_on();
    (void)take(&second, sizeof second);
    ASK(cudaMemPoolImportPointer((void **)&later, pool, &second));
    say("the same address: %d", later == at);
    if (later)
        say_byte("the later", later);
    say_byte("the earlier", at);
    ASK(cudaFree(at));
    ASK(cudaFree(later));
    let_go_on();
    wait_for_other(); /* destroyed there */
    ASK(cudaMemPoolImportPointer((void **)&third, pool, &second));
    ASK(cudaMemPoolDestroy(pool));
    let_go_on();
}
SCENE(pool_freed_first, makes_and_frees_first, opens_before_that)

static void makes_and_frees(void) {
    int fd;
    cudaMemPool_t pool = create_exported(&fd);
    void *at = allocate(pool, 4 * MIB);
    const ticket data = exported(at);
    OK(cudaFree(at));
    OK(cudaDeviceSynchronize());
    give(&data, sizeof data, fd);
    wait_for_other();
    OK(cudaMemPoolDestroy(pool));
    let_go_on();
    wait_for_other();
}

static void opens_late(void) {
    ticket data;
    cudaMemPool_t pool = NULL, second = NULL;
    void *at = (void *)8;
    OK(cudaFree(NULL));
    const int fd = take(&data, sizeof data);
    ASK(import(&pool, fd));
    ASK(cudaMemPoolImportPointer(&at, pool, &data));
    say("written: %d", at != (void *)8);
    let_go_on();
    wait_for_other();
    ASK(import(&second, fd));
    let_go_on();
    wait_for_end();
    ASK(import(&second, fd));
}
SCENE(pool_was_freed, makes_and_frees, opens_late)

static void makes_and_ends(void) {
    ticket data;
    cudaMemPool_t pool;
    (void)make_and_give(4 * MIB, 0x31, &pool, &data);
}

static void opens_of_the_dead(void) {
    ticket data;
    cudaMemPool_t pool = NULL;
    void *at = NULL;
    OK(cudaFree(NULL));
    const int fd = take(&data, sizeof data);
    wait_for_end();
    if (ASK(import(&pool, fd)) == 0 && ASK(cudaMemPoolImportPointer(&at, pool, &data)) == 0)
        say_byte("of the dead", at);
}
SCENE(pool_exporter_died, makes_and_ends, opens_of_the_dead)

static void makes_and_ends_later(void) {
    makes_and_ends();
    wait_for_other();
}

static void outlives(void) {
    ticket data;
    cudaMemPool_t pool;
    char *at = take_and_open(&pool, &data);
    let_go_on();
    wait_for_end();
    say_byte("after the maker ended", at);
    ASK(cudaMemset(at, 0x32, 4 * MIB));
    say_byte("written then", at + MIB);
    ASK(cudaMemPoolImportPointer((void **)&at, pool, &data));
    ASK(cudaFree(at));
    ASK(cudaMemPoolDestroy(pool));
}
SCENE(pool_exporter_dies, makes_and_ends_later, outlives)

static void makes_for_one_that_dies(void) {
    ticket data;
    cudaMemPool_t pool;
    void *at = make_and_give(4 * MIB, 1, &pool, &data);
    wait_for_end();
    say_byte("after the importer died", at);
    ASK(cudaFree(at));
    ASK(cudaDeviceSynchronize());
    say_pool("the pool", pool);
    ASK(cudaMemPoolDestroy(pool));
}

static void opens_and_dies(void) {
    ticket data;
    cudaMemPool_t pool;
    void *at = take_and_open(&pool, &data);
    fill(at, 9, 4 * MIB);
}
SCENE(pool_importer_dies, makes_for_one_that_dies, opens_and_dies)

/* ---- captures, and work that is under way ---- */

static void makes_in_capture(void) {
    const struct cudaMemPoolProps properties = shared_pool();
    int exported_before;
    cudaMemPool_t pool = create_exported(&exported_before), second = NULL;
    void *at = allocate(pool, MIB);
    ticket data = exported(at);
    cudaStream_t stream;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&stream));
    for (int mode = 0; mode < 3; mode++) {
        int fd = -1;
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        ASK(cudaMemPoolCreate(&second, &properties));
        ASK(cudaMemPoolExportToShareableHandle(&fd, pool, FD, 0));
        ASK(cudaMemPoolExportPointer(&data, at));
        ASK(cudaStreamEndCapture(stream, &graph));
        ASK(cudaGetLastError());
    }
    give(&data, sizeof data, exported_before);
    wait_for_other();
}

static void opens_in_capture(void) {
    ticket data;
    cudaStream_t stream;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&stream));
    const int fd = take(&data, sizeof data);
    for (int mode = 0; mode < 3; mode++) {
        cudaMemPool_t pool = NULL;
        void *at = NULL;
        OK(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
        if (ASK(import(&pool, fd)) == 0) {
            ASK(cudaMemPoolImportPointer(&at, pool, &data));
            ASK(cudaFree(at));
        }
        ASK(cudaStreamEndCapture(stream, &graph));
        ASK(cudaGetLastError());
    }
    let_go_on();
}
SCENE(pool_in_capture, makes_in_capture, opens_in_capture)

static void makes_busily(void) {
    int fd;
    cudaMemPool_t pool = create_exported(&fd);
    ticket data = {{0}};
    cudaStream_t stream;
    void *at = NULL;
    volatile unsigned *flag = blocked(&stream);
    OK(cudaMallocFromPoolAsync(&at, 4 * MIB, pool, stream));
    OK(cudaMemsetAsync(at, 1, 4 * MIB, stream));
    ASK(cudaMemPoolExportPointer(&data, at));
    ASK(cudaStreamQuery(stream));
    give(&data, sizeof data, fd);
    wait_for_other();
    *flag = 1;
    ASK(cudaStreamSynchronize(stream));
    let_go_on();
    wait_for_other();
}

static void opens_busily(void) {
    ticket data;
    cudaMemPool_t pool = NULL;
    cudaStream_t stream;
    void *at = NULL;
    OK(cudaFree(NULL));
    volatile unsigned *flag = blocked(&stream);
    ASK(import(&pool, take(&data, sizeof data)));
    ASK(cudaMemPoolImportPointer(&at, pool, &data));
    ASK(cudaStreamQuery(stream));
    *flag = 1;
    let_go_on();
    wait_for_other();
    say_byte("in the end", at);
    let_go_on();
}
SCENE(pool_of_busy_streams, makes_busily, opens_busily)

/* ---- the driver's functions ---- */

static void makes_by_driver(void) {
    const CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool = NULL;
    CUdeviceptr at = 0;
    CUmemPoolPtrExportData data;
    int fd = -1;
    OK(cudaFree(NULL));
    ASK(cuMemPoolCreate(&pool, &properties));
    ASK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_WIN32, 0));
    ASK(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ASK(cuMemAllocFromPoolAsync(&at, MIB, pool, NULL));
    fill((void *)(uintptr_t)at, 0x41, MIB);
    ASK(cuMemPoolExportPointer(&data, 8));
    ASK(cuMemPoolExportPointer(&data, at));
    give(&data, sizeof data, fd);
    wait_for_other();
}

static void opens_by_driver(void) {
    CUmemPoolPtrExportData data, none;
    CUmemoryPool pool = NULL;
    CUdeviceptr at = 0;
    OK(cudaFree(NULL));
    const int fd = take(&data, sizeof data);
    memset(&none, 0, sizeof none);
    ASK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)-1,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ASK(cuMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    ASK(cuMemPoolImportPointer(&at, pool, &data));
    say_byte("by the driver", (void *)(uintptr_t)at);
    ASK(cuMemAllocFromPoolAsync(&at, MIB, pool, NULL));
    ASK(cuMemFree(at));
    let_go_on();
}
SCENE(pool_by_driver, makes_by_driver, opens_by_driver)
