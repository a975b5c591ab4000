/* Where the runtime's own behaviour decides what anycuda may do: bytes read, reserved space, entry
 * points. */
#define _GNU_SOURCE
#include "smoke.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- a page that notices being read ---- */

enum { ROOM = 2048 };
static const size_t PAGE = 4096;

static unsigned char *pages; /* one to be read, then the guard */
static volatile sig_atomic_t touched;
static struct sigaction before;

/* Opens the guard, so that the reader goes on as if nothing had been. */
static void on_fault(int number, siginfo_t *info, void *context) {
    const unsigned char *at = info->si_addr;
    (void)context;
    if (at < pages + PAGE || at >= pages + 2 * PAGE)
        sigaction(number, &before, NULL);
    else
        mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
    touched = 1;
}

static bool set_up_guard(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages != MAP_FAILED && sysconf(_SC_PAGESIZE) == (long)PAGE &&
           sigaction(SIGSEGV, &action, &before) == 0;
}

static void take_down_guard(void) {
    sigaction(SIGSEGV, &before, NULL);
    munmap(pages, 2 * PAGE);
}

typedef cudaError_t choose(int *device, const struct cudaDeviceProp *prop);

/* True if `fn` reads at or behind `limit`. */
static bool reads_behind(choose *fn, const void *bytes, size_t limit, cudaError_t *result) {
    int device = -1;
    unsigned char *at = pages + PAGE - limit;
    mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
    memcpy(at, bytes, ROOM);
    mprotect(pages + PAGE, PAGE, PROT_NONE);
    touched = 0;
    *result = fn(&device, (const struct cudaDeviceProp *)(void *)at);
    return touched != 0;
}

static size_t bytes_read(choose *fn, const void *bytes, cudaError_t *result) {
    size_t low = 0, high = ROOM;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reads_behind(fn, bytes, middle, result))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static choose *raw_choose(void) {
    void *address = raw("cudaChooseDevice");
    choose *fn;
    memcpy(&fn, &address, sizeof fn);
    return fn;
}

static bool raw_properties(const char *symbol, unsigned char bytes[ROOM]) {
    void *address = raw(symbol);
    cudaError_t (*fn)(void *, int);
    memcpy(&fn, &address, sizeof fn);
    memset(bytes, 0, ROOM);
    return address && fn(bytes, 0) == cudaSuccess;
}

static void choose_device(void) {
    static const char *const layouts[] = {"cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"};
    unsigned char bytes[ROOM];
    struct cudaDeviceProp prop;
    cudaError_t result;
    int device = -1;
    EXPECT(set_up_guard(), "no guard page");
    for (int i = 0; i < 2; i++)
        if (raw_properties(layouts[i], bytes)) {
            size_t read = bytes_read(raw_choose(), bytes, &result);
            tell("of what %s wrote it reads %zu bytes, result %d", layouts[i], read, result);
        }
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaChooseDevice(&device, &prop));
    EXPECT(device >= 0, "no device was chosen");
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &prop, sizeof prop);
    bool behind = reads_behind(cudaChooseDevice, bytes, sizeof prop, &result);
    take_down_guard();
    EXPECT(!behind, "reads behind the presented struct");
    EXPECT(!result, "result %d at the page's end", result);
}

/* ---- reserved space ---- */

static void reserved_space(void) {
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice}};
    void *address = raw("cudaMemPoolCreate");
    cudaError_t (*fn)(cudaMemPool_t *, const struct cudaMemPoolProps *);
    cudaMemPool_t pool;
    memcpy(&fn, &address, sizeof fn);
    props.reserved[sizeof props.reserved - 1] = 1;
    cudaError_t theirs = fn(&pool, &props);
    if (!theirs)
        OK(cudaMemPoolDestroy(pool));
    cudaError_t ours = cudaMemPoolCreate(&pool, &props);
    if (!ours)
        OK(cudaMemPoolDestroy(pool));
    (void)cudaGetLastError();
    tell("cudaMemPoolCreate with a non-zero reserved byte: NVIDIA %d, anycuda %d", theirs, ours);
}

/* ---- entry points of the driver ---- */

static void entry_point(void) {
    enum cudaDriverEntryPointQueryResult status;
    void *known = NULL, *unknown = &status;
    memset(&status, 0xa5, sizeof status);
    cudaError_t result =
        cudaGetDriverEntryPoint("cuMemGetInfo", &known, cudaEnableDefault, &status);
    tell("known: %d, status %d, %s", result, status, known ? "a pointer" : "NULL");
    EXPECT(runtime() > driver() || (!result && known && status == cudaDriverEntryPointSuccess),
           "a known symbol is not found");
    if (runtime() <= driver())
        value("entry point, known", "%d, %d", result, status);
    memset(&status, 0xa5, sizeof status);
    result = cudaGetDriverEntryPoint("cuNoSuchFunction", &unknown, cudaEnableDefault, &status);
    tell("unknown: %d, status %d, %s", result, status, unknown ? "a pointer" : "NULL");
    EXPECT(!unknown || unknown == &status, "an unknown symbol has a pointer");
    if (runtime() <= driver())
        value("entry point, unknown", "%d, %d, %s", result, status, unknown ? "untouched" : "NULL");
    (void)cudaGetLastError();
}

const check boundary_checks[] = {
    {"cudaChooseDevice: bytes read", choose_device},
    {"reserved space", reserved_space},
    {"cudaGetDriverEntryPoint", entry_point},
    {NULL, NULL},
};
