/* Arrays to which the program maps memory: several devices, seeds, what is left. What a GPU was
 * asked is in tests/conformance/mapped_array.c. */
#include "driver_test.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

enum { PIECE = 65536, POOL = 4 << 20, WIDTH = 512, HEIGHT = 128 };

static CUarray new_array(unsigned flags) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {WIDTH, HEIGHT, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, flags};
    CUarray a = NULL;
    OK(cuArray3DCreate(&a, &d));
    return a;
}

static CUmemGenericAllocationHandle new_memory(int device) {
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    CUmemGenericAllocationHandle m = 0;
    p.allocFlags.usage = CU_MEM_CREATE_USAGE_TILE_POOL;
    OK(cuMemCreate(&m, POOL, &p, 0));
    return m;
}

/* Describes all of an array. */
static CUarrayMapInfo all_of(CUarray array, CUmemGenericAllocationHandle memory) {
    CUarrayMapInfo info;
    memset(&info, 0, sizeof info);
    info.resourceType = CU_RESOURCE_TYPE_ARRAY;
    info.resource.array = array;
    info.subresource.sparseLevel.extentWidth = WIDTH;
    info.subresource.sparseLevel.extentHeight = HEIGHT;
    info.subresource.sparseLevel.extentDepth = 1;
    info.memOperationType = memory ? CU_MEM_OPERATION_TYPE_MAP : CU_MEM_OPERATION_TYPE_UNMAP;
    info.memHandle.memHandle = memory;
    info.deviceBitMask = 1;
    return info;
}

static CUresult map(CUarrayMapInfo info, CUstream stream) {
    return cuMemMapArrayAsync(&info, 1, stream);
}

/* Copies all elements of an array from memory, or to it. */
static void copy(CUarray array, void *memory, bool to_array, CUstream stream) {
    CUDA_MEMCPY3D c = {.srcMemoryType = to_array ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_ARRAY,
                       .dstMemoryType = to_array ? CU_MEMORYTYPE_ARRAY : CU_MEMORYTYPE_HOST,
                       .WidthInBytes = (size_t)4 * WIDTH,
                       .Height = HEIGHT,
                       .Depth = 1};
    c.srcArray = c.dstArray = array;
    c.srcHost = c.dstHost = memory;
    c.srcPitch = c.dstPitch = c.WidthInBytes;
    OK(cuMemcpy3DAsync(&c, stream));
    OK(cuStreamSynchronize(stream));
}

static unsigned char bytes[4 * WIDTH * HEIGHT];

static bool are_all(int byte) {
    for (size_t i = 0; i < sizeof bytes; i++)
        if (bytes[i] != byte)
            return false;
    return true;
}

/* The stream, the array and the memory are of one device, and the mask names that. */
TEST(all_are_of_one_device) {
    CUcontext second;
    CUarray array = new_array(CUDA_ARRAY3D_SPARSE);
    CUmemGenericAllocationHandle memory = new_memory(0), other_memory = new_memory(1);
    SAYS(CUDA_ERROR_INVALID_VALUE, map(all_of(array, other_memory), NULL));
    OK(map(all_of(array, memory), NULL));
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    CUarray other = new_array(CUDA_ARRAY3D_SPARSE);
    CUarrayMapInfo info = all_of(other, other_memory);
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info, NULL));
    info.deviceBitMask = 3;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info, NULL));
    info.deviceBitMask = 2;
    OK(map(info, NULL));
    info.resource.array = array;
    SAYS(CUDA_ERROR_INVALID_VALUE, map(info, NULL));
    memset(bytes, 7, sizeof bytes);
    copy(other, bytes, true, NULL);
    memset(bytes, 0, sizeof bytes);
    copy(other, bytes, false, NULL);
    assert_true(are_all(7));
    OK(cuArrayDestroy(other));
    OK(cuMemRelease(other_memory));
    OK(cuCtxSetCurrent(context));
    OK(cuDevicePrimaryCtxRelease(1));
    OK(cuArrayDestroy(array));
    OK(cuMemRelease(memory));
}

/* With a seed, mapping is done when the program waits, and in the order of its stream. */
TEST(seeds_keep_the_order) {
    for (int seed = 0; seed < 8; seed++) {
        char configuration[32];
        (void)snprintf(configuration, sizeof configuration, "seed=%d", seed);
        acu_sim_reset(configuration);
        OK(cuInit(0));
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        CUarray array = new_array(CUDA_ARRAY3D_SPARSE);
        CUmemGenericAllocationHandle memory = new_memory(0);
        CUstream stream;
        OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
        OK(map(all_of(array, memory), stream));
        memset(bytes, 9, sizeof bytes);
        copy(array, bytes, true, stream);
        OK(map(all_of(array, 0), stream));
        copy(array, bytes, false, stream);
        assert_true(are_all(0));
        OK(map(all_of(array, memory), stream));
        OK(cuMemRelease(memory));
        copy(array, bytes, false, stream);
        assert_true(are_all(9));
        OK(cuStreamDestroy(stream));
        OK(cuArrayDestroy(array));
    }
}

/* A node copies into what is mapped when the graph is launched. */
TEST(graphs_copy_to_what_is_mapped) {
    CUarray array = new_array(CUDA_ARRAY3D_SPARSE);
    CUmemGenericAllocationHandle memory = new_memory(0);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    static unsigned char from[sizeof bytes];
    memset(from, 3, sizeof from);
    const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                             .srcHost = from,
                             .srcPitch = (size_t)4 * WIDTH,
                             .srcHeight = HEIGHT,
                             .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                             .dstArray = array,
                             .WidthInBytes = (size_t)4 * WIDTH,
                             .Height = HEIGHT,
                             .Depth = 1};
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpy3DAsync(&c, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiate(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    copy(array, bytes, false, stream);
    assert_true(are_all(0));
    OK(map(all_of(array, memory), stream));
    OK(cuGraphLaunch(exec, stream));
    copy(array, bytes, false, stream);
    assert_true(are_all(3));
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy(stream));
    OK(cuArrayDestroy(array));
    OK(cuMemRelease(memory));
}

/* What is mapped may change while another stream copies: the copy sees some of it. */
static void *remap(void *data) {
    const CUarrayMapInfo *info = data;
    CUarrayMapInfo unmap = *info;
    CUstream stream;
    unmap.memOperationType = CU_MEM_OPERATION_TYPE_UNMAP;
    if (cuCtxSetCurrent(context) || cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING))
        return NULL;
    for (int i = 0; i < 200; i++)
        if (map(*info, stream) || map(unmap, stream))
            return NULL;
    return cuStreamSynchronize(stream) || cuStreamDestroy(stream) ? NULL : data;
}

TEST(what_is_mapped_changes_while_others_copy) {
    CUarray array = new_array(CUDA_ARRAY3D_SPARSE);
    CUmemGenericAllocationHandle memory = new_memory(0);
    CUarrayMapInfo info = all_of(array, memory);
    CUstream stream;
    pthread_t thread;
    void *result = NULL;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_int_equal(pthread_create(&thread, NULL, remap, &info), 0);
    for (int i = 0; i < 50; i++) {
        copy(array, bytes, true, stream);
        copy(array, bytes, false, stream);
    }
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &info);
    OK(cuStreamDestroy(stream));
    OK(cuArrayDestroy(array));
    OK(cuMemRelease(memory));
}

static size_t free_memory(void) {
    size_t left = 0, all = 0;
    OK(cuMemGetInfo(&left, &all));
    return left;
}

/* Arrays hold memory that was released, until they are destroyed or unmapped. */
TEST(memory_is_free_when_nothing_is_mapped) {
    const size_t before = free_memory();
    CUarray array = new_array(CUDA_ARRAY3D_SPARSE);
    CUmemGenericAllocationHandle memory = new_memory(0);
    OK(map(all_of(array, memory), NULL));
    OK(cuMemRelease(memory));
    assert_int_equal(before - free_memory(), POOL);
    SAYS(CUDA_ERROR_INVALID_VALUE, map(all_of(array, memory), NULL)); /* which crashes CUDA */
    OK(map(all_of(array, 0), NULL));
    OK(cuCtxSynchronize());
    assert_int_equal(free_memory(), before);
    memory = new_memory(0);
    OK(map(all_of(array, memory), NULL));
    OK(cuMemRelease(memory));
    OK(cuArrayDestroy(array));
    assert_int_equal(free_memory(), before);
}

/* A context or device takes its arrays along, and these what is mapped to them. */
TEST(what_is_left_is_a_leak_and_taken_back) {
    size_t left = 0, all = 0;
    CUarray sparse = new_array(CUDA_ARRAY3D_SPARSE), deferred;
    deferred = new_array(CUDA_ARRAY3D_DEFERRED_MAPPING);
    CUmemGenericAllocationHandle memory = new_memory(0);
    OK(map(all_of(sparse, memory), NULL));
    OK(map(all_of(deferred, memory), NULL));
    OK(cuMemRelease(memory));
    assert_int_equal(acu_sim_leaks(0), 3);
    OK(cudaDeviceReset());
    assert_int_equal(acu_sim_leaks(0), 0);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuMemGetInfo(&left, &all));
    assert_int_equal(left, all);
    (void)map(all_of(new_array(CUDA_ARRAY3D_SPARSE), new_memory(0)), NULL);
    acu_sim_reset(MACHINE);
    assert_int_equal(acu_sim_leaks(0), 0);
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        C(all_are_of_one_device),
        C(seeds_keep_the_order),
        C(graphs_copy_to_what_is_mapped),
        C(what_is_mapped_changes_while_others_copy),
        C(memory_is_free_when_nothing_is_mapped),
        C(what_is_left_is_a_leak_and_taken_back),
    };
    return RUN(tests);
}
