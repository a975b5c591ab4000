/* Semaphores and memory of other APIs. */
#define _GNU_SOURCE /* memfd_create */

#include "graph_test.h"

#include <sys/mman.h>
#include <unistd.h>

static cudaStream_t stream;

static int begin_with_stream(void **state) {
    begin(state);
    stream = new_stream();
    return 0;
}

static int end_with_stream(void **state) {
    OK(cudaStreamDestroy(stream));
    return end(state);
}

#define S(name) cmocka_unit_test_setup_teardown(name, begin_with_stream, end_with_stream)

/* ---- semaphores ---- */

static const enum cudaExternalSemaphoreHandleType types[] = {
    cudaExternalSemaphoreHandleTypeOpaqueFd, cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd};

static cudaExternalSemaphore_t import(const acu_sim_semaphore *semaphore, int timeline) {
    cudaExternalSemaphore_t handle;
    const struct cudaExternalSemaphoreHandleDesc desc = {
        .type = types[timeline], .handle.fd = acu_sim_semaphore_export(semaphore)};
    OK(cudaImportExternalSemaphore(&handle, &desc));
    assert_int_equal(close(desc.handle.fd), -1); /* it is CUDA's now */
    return handle;
}

static cudaError_t signal_to(cudaExternalSemaphore_t handle, unsigned long long value) {
    const struct cudaExternalSemaphoreSignalParams params = {.params.fence.value = value};
    return cudaSignalExternalSemaphoresAsync(&handle, &params, 1, stream);
}

static cudaError_t wait_for(cudaExternalSemaphore_t handle, unsigned long long value) {
    const struct cudaExternalSemaphoreWaitParams params = {.params.fence.value = value};
    return cudaWaitExternalSemaphoresAsync(&handle, &params, 1, stream);
}

TEST(a_timeline) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(1);
    cudaExternalSemaphore_t handle = import(semaphore, 1);
    OK(signal_to(handle, 5));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(semaphore), 5);
    OK(wait_for(handle, 5)); /* it is there already */
    OK(cudaStreamSynchronize(stream));
    OK(wait_for(handle, 7));
    OK(signal_to(handle, 8));
    acu_sim_semaphore_signal(semaphore, 6);
    pause_briefly();
    FAILS(cudaErrorNotReady, cudaStreamQuery(stream));
    acu_sim_semaphore_signal(semaphore, 7);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(semaphore), 8);
    OK(cudaDestroyExternalSemaphore(handle));
    acu_sim_semaphore_destroy(semaphore);
}

TEST(a_signal_is_for_one_wait) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(0);
    cudaExternalSemaphore_t handle = import(semaphore, 0);
    OK(signal_to(handle, 0));
    OK(wait_for(handle, 0));
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(semaphore), 0); /* again */
    OK(wait_for(handle, 0));
    pause_briefly();
    FAILS(cudaErrorNotReady, cudaStreamQuery(stream));
    acu_sim_semaphore_signal(semaphore, 0);
    OK(cudaStreamSynchronize(stream));
    OK(cudaDestroyExternalSemaphore(handle));
    acu_sim_semaphore_destroy(semaphore);
}

TEST(streams_meet_at_a_semaphore) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(1);
    cudaExternalSemaphore_t handle = import(semaphore, 1), twice = import(semaphore, 1);
    cudaStream_t other = new_stream();
    const struct cudaExternalSemaphoreSignalParams one = {.params.fence.value = 1};
    blocker g = {0};
    OK(cudaLaunchHostFunc(other, wait_until_unblocked, &g));
    OK(cudaSignalExternalSemaphoresAsync(&twice, &one, 1, other));
    OK(wait_for(handle, 1));
    FAILS(cudaErrorNotReady, cudaStreamQuery(stream));
    atomic_store(&g.is_open, 1);
    OK(cudaStreamSynchronize(stream));
    OK(cudaDestroyExternalSemaphore(handle));
    OK(cudaDestroyExternalSemaphore(twice));
    OK(cudaStreamDestroy(other));
    acu_sim_semaphore_destroy(semaphore);
}

TEST(what_is_no_semaphore) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(0);
    cudaExternalSemaphore_t handle;
    struct cudaExternalSemaphoreHandleDesc desc = {.type = types[0]};
    desc.handle.fd = memfd_create("mine", MFD_CLOEXEC);
    FAILS(cudaErrorUnknown, cudaImportExternalSemaphore(&handle, &desc));
    assert_int_equal(close(desc.handle.fd), 0); /* it is still the program's */
    FAILS(cudaErrorUnknown, cudaImportExternalSemaphore(&handle, &desc));
    desc.handle.fd = -1;
    FAILS(cudaErrorInvalidValue, cudaImportExternalSemaphore(&handle, &desc));
    desc.handle.fd = acu_sim_semaphore_export(semaphore);
    desc.type = types[1];
    OK(cudaImportExternalSemaphore(&handle, &desc)); /* no timeline, which CUDA does not see */
    OK(cudaDestroyExternalSemaphore(handle));
    desc.handle.fd = acu_sim_semaphore_export(semaphore);
    desc.type = cudaExternalSemaphoreHandleTypeOpaqueWin32;
    FAILS(cudaErrorNotSupported, cudaImportExternalSemaphore(&handle, &desc));
    desc.type = (enum cudaExternalSemaphoreHandleType)99;
    FAILS(cudaErrorInvalidValue, cudaImportExternalSemaphore(&handle, &desc));
    desc.type = types[0];
    desc.flags = 1;
    FAILS(cudaErrorInvalidValue, cudaImportExternalSemaphore(&handle, &desc));
    FAILS(cudaErrorInvalidValue, cudaImportExternalSemaphore(&handle, NULL));
    desc.flags = 0;
    FAILS(cudaErrorInvalidValue, cudaImportExternalSemaphore(NULL, &desc));
    acu_sim_semaphore_destroy(semaphore);
    FAILS(cudaErrorUnknown, cudaImportExternalSemaphore(&handle, &desc)); /* it is gone */
    expect_reason("is of no semaphore that another API exports");
    close(desc.handle.fd);
    acu_sim_semaphore_destroy(NULL);
}

TEST(signals_that_are_wrong) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(1);
    cudaExternalSemaphore_t handle = import(semaphore, 1), none = NULL;
    struct cudaExternalSemaphoreSignalParams params = {.flags = 0};
    FAILS(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(NULL, &params, 1, stream));
    FAILS(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(&handle, NULL, 1, stream));
    FAILS(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(&handle, &params, 0, stream));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaSignalExternalSemaphoresAsync(&none, &params, 1, stream));
    params.flags = 4;
    FAILS(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(&handle, &params, 1, stream));
    assert_int_equal(acu_sim_leaks(0), 2); /* the stream, the import */
    OK(cudaDestroyExternalSemaphore(handle));
    FAILS(cudaErrorInvalidResourceHandle, cudaDestroyExternalSemaphore(handle));
    FAILS(cudaErrorInvalidResourceHandle, wait_for(handle, 1));
    acu_sim_semaphore_destroy(semaphore);
}

/* ---- in graphs ---- */

TEST(semaphores_in_a_graph) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(1);
    cudaExternalSemaphore_t handle = import(semaphore, 1);
    struct cudaExternalSemaphoreWaitParams three = {.params.fence.value = 3};
    struct cudaExternalSemaphoreSignalParams four = {.params.fence.value = 4};
    struct cudaExternalSemaphoreWaitNodeParams waits = {&handle, &three, 1}, asked;
    struct cudaExternalSemaphoreSignalNodeParams signals = {&handle, &four, 1}, told;
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t first, second;
    OK(cudaGraphAddExternalSemaphoresWaitNode(&first, graph, NULL, 0, &waits));
    OK(cudaGraphAddExternalSemaphoresSignalNode(&second, graph, &first, 1, &signals));
    assert_int_equal(type_of(first), cudaGraphNodeTypeExtSemaphoreWait);
    three.params.fence.value = 9; /* the node has its own */
    OK(cudaGraphExternalSemaphoresWaitNodeGetParams(first, &asked));
    assert_int_equal(asked.numExtSems, 1);
    assert_ptr_equal(asked.extSemArray[0], handle);
    assert_int_equal(asked.paramsArray[0].params.fence.value, 3);
    OK(cudaGraphExternalSemaphoresSignalNodeGetParams(second, &told));
    assert_int_equal(told.paramsArray[0].params.fence.value, 4);
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    pause_briefly();
    FAILS(cudaErrorNotReady, cudaStreamQuery(stream));
    acu_sim_semaphore_signal(semaphore, 3);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(semaphore), 4);

    four.params.fence.value = 10;
    OK(cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, second, &signals));
    OK(cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec, first, &waits));
    OK(cudaGraphLaunch(exec, stream));
    acu_sim_semaphore_signal(semaphore, 9);
    OK(cudaStreamSynchronize(stream));
    assert_int_equal(acu_sim_semaphore_value(semaphore), 10);
    OK(cudaGraphExternalSemaphoresSignalNodeSetParams(second, &signals));
    OK(cudaGraphExternalSemaphoresWaitNodeSetParams(first, &waits));

    const cudaExternalSemaphore_t both[2] = {handle, handle};
    const struct cudaExternalSemaphoreSignalParams many[2] = {four, four};
    signals =
        (struct cudaExternalSemaphoreSignalNodeParams){(cudaExternalSemaphore_t *)both, many, 2};
    FAILS(cudaErrorInvalidValue, /* the number of them stays */
          cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, second, &signals));
    OK(cudaGraphExternalSemaphoresSignalNodeSetParams(second, &signals));
    FAILS(cudaErrorInvalidValue,
          cudaGraphAddExternalSemaphoresSignalNode(&second, graph, NULL, 0, NULL));
    FAILS(cudaErrorInvalidValue,
          cudaGraphAddExternalSemaphoresWaitNode(&second, graph, NULL, 0, NULL));
    FAILS(cudaErrorInvalidValue, cudaGraphExternalSemaphoresWaitNodeGetParams(second, &asked));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaDestroyExternalSemaphore(handle));
    acu_sim_semaphore_destroy(semaphore);
}

TEST(nodes_may_have_no_semaphores) {
    struct cudaExternalSemaphoreSignalNodeParams none = {NULL, NULL, 0}, told = {.numExtSems = 1};
    struct cudaExternalSemaphoreWaitNodeParams nothing = {NULL, NULL, 0}, asked = {.numExtSems = 1};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t signal, wait, third;
    OK(cudaGraphAddExternalSemaphoresSignalNode(&signal, graph, NULL, 0, &none));
    OK(cudaGraphAddExternalSemaphoresWaitNode(&wait, graph, &signal, 1, &nothing));
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeExtSemaphoreWait};
    OK(cudaGraphAddNode(&third, graph, &wait, NULL, 1, &params));
    OK(cudaGraphExternalSemaphoresSignalNodeGetParams(signal, &told));
    OK(cudaGraphExternalSemaphoresWaitNodeGetParams(wait, &asked));
    assert_int_equal(told.numExtSems, 0);
    assert_int_equal(asked.numExtSems, 0);
    OK(cudaGraphExternalSemaphoresSignalNodeSetParams(signal, &told));
    OK(cudaGraphExternalSemaphoresWaitNodeSetParams(wait, &asked));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphExecExternalSemaphoresSignalNodeSetParams(exec, signal, &none));
    OK(cudaGraphExecExternalSemaphoresWaitNodeSetParams(exec, wait, &nothing));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream)); /* nothing to wait for */
    none.numExtSems = 1;
    FAILS(cudaErrorInvalidValue, cudaGraphExternalSemaphoresSignalNodeSetParams(signal, &none));
    FAILS(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(NULL, NULL, 0, stream));
    FAILS(cudaErrorInvalidValue, cudaWaitExternalSemaphoresAsync(NULL, NULL, 0, stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

TEST(branches_of_a_graph_meet) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(0);
    cudaExternalSemaphore_t handle = import(semaphore, 0);
    const struct cudaExternalSemaphoreWaitParams wait = {.flags = 0};
    const struct cudaExternalSemaphoreSignalParams one = {.flags = 0};
    const struct cudaExternalSemaphoreWaitNodeParams waits = {&handle, &wait, 1};
    const struct cudaExternalSemaphoreSignalNodeParams signals = {&handle, &one, 1};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    OK(cudaGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &waits));
    OK(cudaGraphAddExternalSemaphoresSignalNode(&node, graph, NULL, 0, &signals));
    run_once(graph);
    run_once(graph);
    assert_int_equal(acu_sim_semaphore_value(semaphore), 0);
    OK(cudaGraphDestroy(graph));
    OK(cudaDestroyExternalSemaphore(handle));
    acu_sim_semaphore_destroy(semaphore);
}

TEST(with_a_seed_they_meet_too) {
    acu_sim_reset("seed=3");
    stream = new_stream();
    streams_meet_at_a_semaphore(NULL);
    branches_of_a_graph_meet(NULL);
}

TEST(a_graph_that_fails_waits_no_longer) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(1);
    cudaExternalSemaphore_t handle = import(semaphore, 1);
    const struct cudaExternalSemaphoreWaitParams never = {.params.fence.value = 99};
    const struct cudaExternalSemaphoreWaitNodeParams waits = {&handle, &never, 1};
    cudaGraph_t graph = new_graph();
    cudaGraphNode_t node;
    char *memory = new_memory(8);
    const struct cudaMemsetParams fill = {memory, 0, 0, 1, 8, 1};
    OK(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    OK(cudaGraphAddExternalSemaphoresWaitNode(&node, graph, NULL, 0, &waits));
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaFree(memory));
    OK(cudaGraphLaunch(exec, stream));
    SAYS(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    acu_sim_semaphore_signal(semaphore, 99);
    acu_sim_semaphore_destroy(semaphore);
    acu_sim_reset(MACHINE);
    stream = new_stream();
}

TEST(semaphores_by_parameters_of_all_types) {
    acu_sim_semaphore *semaphore = acu_sim_semaphore_create(1);
    cudaExternalSemaphore_t handle = import(semaphore, 1), none = NULL;
    const struct cudaExternalSemaphoreSignalParams two = {.params.fence.value = 2};
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeExtSemaphoreSignal,
                                         .extSemSignal = {&handle, &two, 1, NULL}},
                               asked;
    cudaGraph_t graph = new_graph(), captured;
    cudaGraphNode_t node;
    OK(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    OK(cudaGraphNodeGetParams(node, &asked));
    assert_int_equal(asked.extSemSignal.paramsArray[0].params.fence.value, 2);
    run_once(graph);
    assert_int_equal(acu_sim_semaphore_value(semaphore), 2);
    params.extSemSignal.extSemArray = &none;
    FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(signal_to(handle, 3));
    OK(wait_for(handle, 3));
    OK(cudaStreamEndCapture(stream, &captured));
    assert_int_equal(node_count(captured), 2);
    run_once(captured);
    assert_int_equal(acu_sim_semaphore_value(semaphore), 3);
    OK(cudaGraphDestroy(captured));
    OK(cudaGraphDestroy(graph));
    OK(cudaDestroyExternalSemaphore(handle));
    acu_sim_semaphore_destroy(semaphore);
}

/* ---- memory ---- */

enum { SIZE = 1 << 16 };

static cudaExternalMemory_t import_memory(char **seen) {
    cudaExternalMemory_t memory;
    const struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                      .handle.fd = acu_sim_memory_export(SIZE),
                                                      .size = SIZE};
    *seen = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, desc.handle.fd, 0);
    assert_ptr_not_equal(*seen, MAP_FAILED);
    OK(cudaImportExternalMemory(&memory, &desc));
    return memory;
}

TEST(memory_is_shared) {
    char *seen, *at, back[8];
    size_t before, total, now;
    struct cudaPointerAttributes attributes;
    OK(cudaMemGetInfo(&before, &total));
    cudaExternalMemory_t memory = import_memory(&seen);
    const struct cudaExternalMemoryBufferDesc upper = {.offset = SIZE / 2, .size = SIZE / 2};
    OK(cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &upper));
    OK(cudaMemset(at, 7, 8));
    OK(cudaDeviceSynchronize()); /* the host sees it otherwise than by CUDA */
    assert_int_equal(seen[SIZE / 2 + 7], 7);
    seen[SIZE - 1] = 9;
    OK(cudaMemcpy(back, at + SIZE / 2 - 8, 8, cudaMemcpyDeviceToHost));
    assert_int_equal(back[7], 9);
    FAILS(cudaErrorInvalidValue, cudaMemset(at, 0, SIZE / 2 + 1));
    OK(cudaPointerGetAttributes(&attributes, at));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    OK(cudaMemGetInfo(&now, &total));
    assert_int_equal(before, now); /* it takes none of the device's */
    OK(cudaDestroyExternalMemory(memory));
    OK(cudaMemset(at, 1, 8)); /* the buffer stays */
    FAILS(cudaErrorInvalidValue, cudaFreeAsync(at, stream));
    assert_int_equal(acu_sim_leaks(0), 2); /* the stream, the buffer */
    OK(cudaFree(at));
    OK(cudaMemGetInfo(&now, &total));
    assert_int_equal(before, now);
    FAILS(cudaErrorInvalidResourceHandle, cudaDestroyExternalMemory(memory));
    munmap(seen, SIZE);
}

TEST(a_reset_takes_it_back) {
    char *seen, *at;
    cudaExternalMemory_t memory = import_memory(&seen);
    const struct cudaExternalMemoryBufferDesc all = {.size = SIZE};
    OK(cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &all));
    OK(cudaDeviceReset());
    assert_int_equal(acu_sim_leaks(0), 0);
    seen[0] = 1; /* the other API's stays */
    munmap(seen, SIZE);
    acu_sim_reset(MACHINE);
    stream = new_stream();
}

TEST(what_is_no_memory) {
    char *seen, *at;
    cudaExternalMemory_t memory, none = NULL;
    struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                .handle.fd = memfd_create("mine", MFD_CLOEXEC),
                                                .size = SIZE};
    FAILS(cudaErrorUnknown, cudaImportExternalMemory(&memory, &desc));
    expect_reason("is of no memory that another API exports");
    assert_int_equal(close(desc.handle.fd), -1); /* taken all the same, as GPUs do */
    desc.handle.fd = acu_sim_memory_export(SIZE);
    desc.size = 0;
    FAILS(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    expect_reason("the memory has 0 bytes");
    desc.size = SIZE;
    desc.flags = 2;
    FAILS(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    expect_reason("there are no flags 0x2");
    desc.flags = 0;
    desc.type = cudaExternalMemoryHandleTypeNvSciBuf;
    FAILS(cudaErrorNotSupported, cudaImportExternalMemory(&memory, &desc));
    desc.type = (enum cudaExternalMemoryHandleType)99;
    FAILS(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    FAILS(cudaErrorInvalidValue, cudaImportExternalMemory(NULL, &desc));
    FAILS(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, NULL));
    close(desc.handle.fd);
    assert_int_equal(acu_sim_memory_export(0), -1);

    memory = import_memory(&seen);
    struct cudaExternalMemoryBufferDesc buffer = {.offset = 1, .size = SIZE};
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    expect_reason("bytes from byte 1 on are not in the memory");
    buffer = (struct cudaExternalMemoryBufferDesc){.size = 0};
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    buffer = (struct cudaExternalMemoryBufferDesc){.size = 8, .flags = 1};
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer((void **)&at, memory, NULL));
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer(NULL, memory, &buffer));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaExternalMemoryGetMappedBuffer((void **)&at, none, &buffer));
    OK(cudaDestroyExternalMemory(memory));
    munmap(seen, SIZE);
}

/* As GPUs answered: the size is looked at when something is mapped. */
TEST(memory_of_any_size) {
    cudaExternalMemory_t memory;
    char *at;
    const struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                      .handle.fd = acu_sim_memory_export(SIZE),
                                                      .size = 1ull << 40u};
    struct cudaExternalMemoryBufferDesc buffer = {.size = SIZE + 1};
    OK(cudaImportExternalMemory(&memory, &desc));
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    buffer = (struct cudaExternalMemoryBufferDesc){.offset = 65, .size = SIZE - 65};
    OK(cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    assert_int_equal((uintptr_t)at % 512, 65);
    OK(cudaMemset(at, 1, SIZE - 65));
    FAILS(cudaErrorInvalidValue, cudaMemset(at, 1, SIZE - 64));
    OK(cudaFree(at));
    OK(cudaDestroyExternalMemory(memory));
}

TEST(dedicated_memory_is_mapped_from_its_beginning) {
    cudaExternalMemory_t memory;
    char *at;
    const struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                      .handle.fd = acu_sim_memory_export(SIZE),
                                                      .size = SIZE,
                                                      .flags = cudaExternalMemoryDedicated};
    struct cudaExternalMemoryBufferDesc buffer = {.offset = 512, .size = 8};
    OK(cudaImportExternalMemory(&memory, &desc));
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    expect_reason("the memory is dedicated");
    buffer.offset = 0;
    OK(cudaExternalMemoryGetMappedBuffer((void **)&at, memory, &buffer));
    OK(cudaFree(at));
    OK(cudaDestroyExternalMemory(memory));
}

TEST(an_import_breaks_a_capture) {
    cudaExternalMemory_t memory;
    cudaGraph_t graph;
    const struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                      .handle.fd = acu_sim_memory_export(SIZE),
                                                      .size = SIZE};
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaImportExternalMemory(&memory, &desc));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaImportExternalMemory(&memory, &desc));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaDestroyExternalMemory(memory));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaDestroyExternalMemory(memory));
}

/* ---- images ---- */

typedef struct place {
    unsigned level, x, y, offset;
} place;

/* Writes the number of each element, counted over all levels, by CUDA; then the memory has it where
 * an H200 with driver 13.0 had that of Vulkan's image. */
static void lies_as_on_a_gpu(unsigned columns, unsigned rows, unsigned levels, const place *places,
                             size_t count) {
    static unsigned numbers[40000];
    enum { IMAGE = 1 << 18 };
    unsigned first[4] = {0}, next = 0;
    cudaExternalMemory_t memory;
    cudaMipmappedArray_t image;
    const struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                      .handle.fd = acu_sim_memory_export(IMAGE),
                                                      .size = IMAGE};
    const struct cudaExternalMemoryMipmappedArrayDesc shape = {
        .formatDesc = {32, 0, 0, 0, cudaChannelFormatKindUnsigned},
        .extent = {columns, rows, 0},
        .numLevels = levels};
    const char *seen = mmap(NULL, IMAGE, PROT_READ, MAP_SHARED, desc.handle.fd, 0);
    assert_ptr_not_equal(seen, MAP_FAILED);
    OK(cudaImportExternalMemory(&memory, &desc));
    OK(cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    for (unsigned i = 0; i < levels; i++) {
        const unsigned width = columns >> i, height = rows >> i;
        cudaArray_t level;
        first[i] = next;
        for (unsigned k = 0; k < width * height; k++)
            numbers[k] = next++;
        OK(cudaGetMipmappedArrayLevel(&level, image, i));
        OK(cudaMemcpy2DToArray(level, 0, 0, numbers, (size_t)width * 4, (size_t)width * 4, height,
                               cudaMemcpyHostToDevice));
    }
    OK(cudaDeviceSynchronize());
    for (size_t i = 0; i < count; i++) {
        const place *p = &places[i];
        unsigned there;
        memcpy(&there, seen + p->offset, sizeof there);
        assert_int_equal(there, first[p->level] + p->y * (columns >> p->level) + p->x);
    }
    OK(cudaDestroyExternalMemory(memory)); /* the image keeps it */
    OK(cudaFreeMipmappedArray(image));
    munmap((void *)(uintptr_t)seen, IMAGE);
}

TEST(images_lie_as_on_a_gpu) {
    static const place small[] = {
        {0, 149, 69, 78036}, {0, 60, 38, 14816},  {0, 26, 50, 7464},   {0, 122, 19, 30008},
        {0, 23, 8, 4684},    {1, 74, 34, 100648}, {1, 2, 25, 83480},   {1, 70, 18, 99432},
        {1, 7, 14, 82668},   {1, 66, 34, 100392}, {2, 36, 16, 107584}, {2, 23, 8, 105036},
        {2, 11, 3, 102716},  {2, 16, 6, 104608},  {2, 1, 8, 102916},   {3, 17, 7, 109236},
        {3, 8, 3, 108848},   {3, 5, 4, 108740},   {3, 9, 5, 108948},   {3, 2, 5, 108696}};
    static const place high[] = {{0, 32, 499, 97328}, {0, 24, 259, 57648}, {0, 15, 91, 6012},
                                 {0, 15, 242, 32108}, {0, 17, 45, 10900},  {1, 15, 249, 114524},
                                 {1, 9, 1, 98580},    {1, 9, 146, 107812}, {1, 9, 217, 112404},
                                 {1, 6, 105, 105048}, {2, 7, 124, 122572}, {2, 6, 76, 119496},
                                 {2, 4, 55, 118000},  {2, 7, 20, 115916},  {2, 3, 39, 116924}};
    lies_as_on_a_gpu(150, 70, 4, small, sizeof small / sizeof *small);
    lies_as_on_a_gpu(33, 500, 3, high, sizeof high / sizeof *high);
}

TEST(what_is_no_image) {
    cudaExternalMemory_t memory, none = NULL;
    cudaArray_t level;
    cudaMipmappedArray_t image;
    const struct cudaExternalMemoryHandleDesc desc = {.type = cudaExternalMemoryHandleTypeOpaqueFd,
                                                      .handle.fd = acu_sim_memory_export(SIZE),
                                                      .size = SIZE};
    struct cudaExternalMemoryMipmappedArrayDesc shape = {
        .formatDesc = {32, 0, 0, 0, cudaChannelFormatKindUnsigned},
        .extent = {128, 128, 0},
        .numLevels = 1};
    OK(cudaImportExternalMemory(&memory, &desc));
    OK(cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape)); /* it just fits */
    OK(cudaFreeMipmappedArray(image));
    OK(cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    OK(cudaGetMipmappedArrayLevel(&level, image, 0));
    OK(cudaFreeArray(level)); /* which does nothing, as on a GPU */
    OK(cudaFreeArray(level));
    OK(cudaFreeMipmappedArray(image));
    shape.numLevels = 0; /* CUDA damages its heap */
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    shape.numLevels = 1;
    shape.offset = 4096;
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    expect_reason("the image has");
    shape.offset = 0;
    shape.numLevels = 9;
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    expect_reason("numLevels is 9");
    shape.numLevels = 1;
    shape.flags = cudaArraySparse;
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    shape.flags = 0x100; /* which CUDA takes */
    OK(cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    OK(cudaFreeMipmappedArray(image));
    shape.flags = 0;
    shape.formatDesc.x = 64;
    FAILS(cudaErrorInvalidChannelDescriptor,
          cudaExternalMemoryGetMappedMipmappedArray(&image, memory, &shape));
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(&image, memory, NULL));
    FAILS(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(NULL, memory, &shape));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaExternalMemoryGetMappedMipmappedArray(&image, none, &shape));
    OK(cudaDestroyExternalMemory(memory));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        S(a_timeline),
        S(a_signal_is_for_one_wait),
        S(streams_meet_at_a_semaphore),
        S(with_a_seed_they_meet_too),
        S(what_is_no_semaphore),
        S(signals_that_are_wrong),
        S(semaphores_in_a_graph),
        S(nodes_may_have_no_semaphores),
        S(branches_of_a_graph_meet),
        S(a_graph_that_fails_waits_no_longer),
        S(semaphores_by_parameters_of_all_types),
        S(memory_is_shared),
        S(a_reset_takes_it_back),
        S(what_is_no_memory),
        S(memory_of_any_size),
        S(images_lie_as_on_a_gpu),
        S(what_is_no_image),
        S(dedicated_memory_is_mapped_from_its_beginning),
        S(an_import_breaks_a_capture),
    };
    return RUN(tests);
}
