/* Memory and events of another process: what the simulator says and counts. What CUDA answers is in
 * tests/share/. */
#include "driver_test.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 2 << 20 };

/* What the other process has made, which stays until this one is done. */
static struct {
    cudaIpcMemHandle_t memory, freed;
    cudaIpcEventHandle_t event, destroyed;
} made;

/* ---- the other process ---- */

static int make(void) {
    void *memory, *freed;
    cudaEvent_t event, destroyed;
    const unsigned flags = cudaEventInterprocess | cudaEventDisableTiming;
    const int wrong =
        cudaMalloc(&memory, 100) || cudaMemset(memory, 7, 100) || cudaDeviceSynchronize() ||
        cudaIpcGetMemHandle(&made.memory, memory) || cudaMalloc(&freed, CHUNK) ||
        cudaIpcGetMemHandle(&made.freed, freed) || cudaFree(freed) ||
        cudaEventCreateWithFlags(&event, flags) || cudaIpcGetEventHandle(&made.event, event) ||
        cudaEventCreateWithFlags(&destroyed, flags) ||
        cudaIpcGetEventHandle(&made.destroyed, destroyed) || cudaEventDestroy(destroyed);
    return wrong;
}

static pid_t start(int *until) {
    int here[2], there[2];
    if (pipe(here) || pipe(there))
        return -1;
    const pid_t child = fork();
    if (child == 0) {
        char byte;
        close(there[1]);
        const int wrong = make() || write(here[1], &made, sizeof made) != (ssize_t)sizeof made;
        _exit(wrong || read(there[0], &byte, 1) < 0);
    }
    close(here[1]);
    close(there[0]);
    *until = there[1];
    const bool good = read(here[0], &made, sizeof made) == (ssize_t)sizeof made;
    close(here[0]);
    return good ? child : -1;
}

/* ---- tests ---- */

TEST(opened_memory_is_counted) {
    void *memory, *again;
    unsigned char byte = 0;
    const int before = acu_sim_leaks(0);
    OK(cudaIpcOpenMemHandle(&memory, made.memory, cudaIpcMemLazyEnablePeerAccess));
    OK(cudaIpcOpenMemHandle(&again, made.memory, cudaIpcMemLazyEnablePeerAccess));
    assert_ptr_equal(memory, again);
    assert_int_equal(acu_sim_leaks(0), before + 1);
    OK(cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost));
    assert_int_equal(byte, 7);
    SAID(cudaErrorInvalidValue, cudaFree(memory), "use cudaIpcCloseMemHandle()");
    OK(cudaIpcCloseMemHandle(memory));
    OK(cudaIpcCloseMemHandle(memory));
    assert_int_equal(acu_sim_leaks(0), before);
    SAID(cudaErrorInvalidValue, cudaIpcCloseMemHandle(memory), "or was closed");
}

TEST(opened_memory_goes_with_its_device) {
    void *memory;
    OK(cudaIpcOpenMemHandle(&memory, made.memory, cudaIpcMemLazyEnablePeerAccess));
    acu_sim_reset(MACHINE);
    FAILS(cudaErrorInvalidValue, cudaIpcCloseMemHandle(memory));
}

TEST(handles_of_memory_that_are_refused) {
    void *memory, *pinned, *there;
    cudaIpcMemHandle_t handle = {{0}};
    OK(cudaMalloc(&memory, 100));
    OK(cudaMallocHost(&pinned, 100));
    SAID(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, pinned),
         "is not memory of cudaMalloc()");
    SAID(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&there, handle, 1),
         "no handle of cudaIpcGetMemHandle()");
    SAID(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&there, handle, 0),
         "flags is without cudaIpcMemLazyEnablePeerAccess");
    OK(cudaIpcGetMemHandle(&handle, memory));
    SAID(cudaErrorDeviceUninitialized, cudaIpcOpenMemHandle(&there, handle, 1),
         "use the memory's own address");
    SAID(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&there, made.freed, 1),
         "has freed the memory");
    OK(cudaFree(memory));
    OK(cudaFreeHost(pinned));
}

TEST(handles_of_events_that_are_refused) {
    cudaEvent_t plain, shared, there;
    cudaIpcEventHandle_t handle = {{0}};
    OK(cudaEventCreate(&plain));
    OK(cudaEventCreateWithFlags(&shared, cudaEventInterprocess | cudaEventDisableTiming));
    SAID(cudaErrorInvalidResourceHandle, cudaIpcGetEventHandle(&handle, plain),
         "was not created in this process with cudaEventInterprocess");
    SAID(cudaErrorMapBufferObjectFailed, cudaIpcOpenEventHandle(&there, handle),
         "no handle of cudaIpcGetEventHandle()");
    OK(cudaIpcGetEventHandle(&handle, shared));
    SAID(cudaErrorDeviceUninitialized, cudaIpcOpenEventHandle(&there, handle),
         "use the event itself");
    cudaIpcEventHandle_t gone = made.event;
    gone.reserved[24] ^= 1; /* of the tag, which no file has then */
    SAID(cudaErrorInvalidResourceHandle, cudaIpcOpenEventHandle(&there, gone), "has ended");
    OK(cudaIpcOpenEventHandle(&there, made.event));
    OK(cudaEventQuery(there));
    OK(cudaEventDestroy(there));
    OK(cudaEventDestroy(shared));
    OK(cudaEventDestroy(plain));
}

/* A handle of a destroyed event is good, and that costs no descriptor for each event. */
TEST(destroyed_events) {
    enum { MANY = 70000 };
    cudaEvent_t there, second, event;
    cudaIpcEventHandle_t handle;
    OK(cudaIpcOpenEventHandle(&there, made.destroyed));
    OK(cudaIpcOpenEventHandle(&second, made.destroyed));
    OK(cudaEventRecord(there, NULL));
    OK(cudaEventSynchronize(second));
    OK(cudaEventDestroy(there));
    OK(cudaEventDestroy(second));
    const int before = dup(0);
    for (int i = 0; i < MANY; i++) {
        OK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
        OK(cudaIpcGetEventHandle(&handle, event));
        OK(cudaEventRecord(event, NULL));
        OK(cudaEventDestroy(event));
    }
    const int after = dup(0);
    assert_in_range(after - before, 1, 10); /* of files with 65536 places each */
    close(before);
    close(after);
}

TEST(imported_memory_is_counted) {
    const CUmemAllocationProp shared = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                        .requestedHandleTypes =
                                            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1}};
    CUmemAllocationProp plain = shared;
    CUmemGenericAllocationHandle handle, import;
    size_t before, after, total;
    int fd;
    const int left = acu_sim_leaks(0);
    OK(cudaSetDevice(1));
    OK(cudaFree(NULL));
    OK(cuMemCreate(&handle, CHUNK, &shared, 0));
    OK(cudaMemGetInfo(&before, &total));
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    OK(cuMemImportFromShareableHandle(&import, (void *)(intptr_t)fd,
                                      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    OK(close(fd));
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(before, after);
    assert_int_equal(acu_sim_leaks(0), left + 2);
    OK(cuMemRelease(handle));
    OK(cuMemRelease(import));
    OK(cudaMemGetInfo(&after, &total));
    assert_int_equal(after, before + CHUNK);
    SAYS(CUDA_ERROR_UNKNOWN,
         cuMemImportFromShareableHandle(&import, (void *)(intptr_t)0,
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    expect_reason("descriptor 0 is not one of cuMemExportToShareableHandle()");
    plain.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    OK(cuMemCreate(&handle, CHUNK, &plain, 0));
    SAYS(CUDA_ERROR_INVALID_VALUE,
         cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    expect_reason("the memory was created without handles of type 1");
    OK(cuMemRelease(handle));
    OK(cudaSetDevice(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(opened_memory_is_counted),
        T(opened_memory_goes_with_its_device),
        T(handles_of_memory_that_are_refused),
        T(handles_of_events_that_are_refused),
        T(destroyed_events),
        C(imported_memory_is_counted),
    };
    int until, status;
    const pid_t child = start(&until); /* before this process uses CUDA */
    if (child < 0)
        return 1;
    const int failed = RUN(tests);
    close(until);
    return failed || waitpid(child, &status, 0) != child || status;
}
