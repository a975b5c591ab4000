/* Launching kernels, and what functions say of themselves. */
#include "kernels.h"

#include <anycuda/cuda.h>

static cudaLibrary_t library;
static cudaKernel_t add, nothing;

static int begin_with_kernels(void **state) {
    begin(state);
    library = load(PTX);
    add = kernel_of(library, "add");
    nothing = kernel_of(library, "nothing");
    return 0;
}

static int end_with_kernels(void **state) {
    if (cudaLibraryUnload(library))
        return 1;
    return end(state);
}

#define K(name) cmocka_unit_test_setup_teardown(name, begin_with_kernels, end_with_kernels)

static cudaError_t launch(cudaKernel_t kernel, dim3 grid, dim3 block, size_t shared) {
    return cudaLaunchKernel(kernel, grid, block, NULL, shared, 0);
}

/* ---- running ---- */

TEST(adds) {
    float a[100], b[100], out[100];
    void *da, *db, *dout;
    unsigned count = 100;
    for (int i = 0; i < 100; i++)
        a[i] = (float)i, b[i] = 1;
    OK(cudaMalloc(&da, sizeof a));
    OK(cudaMalloc(&db, sizeof b));
    OK(cudaMalloc(&dout, sizeof out));
    OK(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
    void *args[] = {&da, &db, &dout, &count};
    OK(cudaLaunchKernel(add, dim(1, 1, 1), dim(128, 1, 1), args, 0, 0));
    OK(cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++)
        assert_true(out[i] == (float)i + 1);
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dout));
}

static acu_sim_launch seen;

static void look(const acu_sim_launch *launch_, void *const *args) {
    (void)args;
    seen = *launch_;
}

TEST(a_kernel_sees_its_launch) {
    cudaLaunchAttribute cluster = {.id = cudaLaunchAttributeClusterDimension};
    cluster.val.clusterDim.x = 2;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {.gridDim = dim(4, 2, 1),
                                 .blockDim = dim(8, 4, 2),
                                 .dynamicSmemBytes = 99,
                                 .attrs = &cluster,
                                 .numAttrs = 1};
    OK(acu_sim_register("nothing", look));
    OK(cudaLaunchKernelExC(&config, nothing, NULL));
    OK(cudaDeviceSynchronize());
    assert_string_equal(seen.kernel, "nothing");
    assert_true(seen.grid[0] == 4 && seen.grid[1] == 2 && seen.grid[2] == 1);
    assert_true(seen.block[0] == 8 && seen.block[1] == 4 && seen.block[2] == 2);
    assert_true(seen.cluster[0] == 2 && seen.cluster[1] == 1 && seen.cluster[2] == 1);
    assert_true(seen.shared == 99 && seen.device == 0);
}

static struct {
    unsigned char a;
    struct {
        char bytes[20];
    } b;
    unsigned short c;
    void *d;
} got;

static void take(const acu_sim_launch *launch_, void *const *args) {
    (void)launch_;
    got.a = *(unsigned char *)args[0];
    memcpy(&got.b, args[1], sizeof got.b);
    got.c = *(unsigned short *)args[2];
    got.d = *(void **)args[3];
}

TEST(arguments_are_copied_at_the_call) {
    blocker g = {0};
    unsigned char a = 3;
    char b[20] = "nineteen characters";
    unsigned short c = 4000;
    void *d = &g, *args[] = {&a, b, &c, &d};
    OK(acu_sim_register("mixed", take));
    block_stream(&g, 0);
    OK(cudaLaunchKernel(kernel_of(library, "mixed"), dim(1, 1, 1), dim(1, 1, 1), args, 0, 0));
    a = 0;
    memset(b, 0, sizeof b);
    c = 0;
    d = NULL;
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
    assert_true(got.a == 3 && got.c == 4000 && got.d == &g);
    assert_string_equal(got.b.bytes, "nineteen characters");
}

TEST(launches_are_asynchronous_and_in_order) {
    blocker g = {0};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    block_stream(&g, stream);
    OK(cudaLaunchKernel(nothing, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, stream));
    SAYS(cudaErrorNotReady, cudaStreamQuery(stream));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream));
    OK(cudaStreamDestroy(stream));
}

TEST(a_kernel_without_a_function) {
    /* Its PTX is executed. */
    OK(acu_sim_register("nothing", NULL));
    OK(launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(cudaDeviceSynchronize());
    static const char text[] =
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry tensor() {\n"
        ".reg .b32 %r<5>; .reg .b64 %d;\ntex.2dms.v4.u32.s32 {%r1, %r2, %r3, %r4}, "
        "[%d, {%r1, %r2, %r3, %r3}];\nret;\n}\n";
    cudaLibrary_t newer;
    cudaKernel_t tensor;
    OK(cudaLibraryLoadData(&newer, text, NULL, NULL, 0, NULL, NULL, 0));
    FAILS(cudaErrorNotSupported, cudaLibraryGetKernel(&tensor, newer, "tensor"));
    OK(cudaLibraryUnload(newer));
    OK(acu_sim_register("tensor", do_nothing));
    newer = load(text);
    tensor = kernel_of(newer, "tensor");
    OK(acu_sim_register("tensor", NULL));
    FAILS(cudaErrorNotSupported, launch(tensor, dim(1, 1, 1), dim(1, 1, 1), 0));
    assert_non_null(
        strstr(acu_last_error_message(), "the simulator cannot execute the kernel \"tensor\""));
    /* A call that nobody explains leaves no reason for the next failure. */
    CUresult (*raw)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                    unsigned, CUstream, void **, void **) = NULL;
    void *found = NULL;
    CUfunction function = NULL;
    OK((cudaError_t)cuKernelGetFunction(&function, (CUkernel)tensor));
    OK(cudaGetDriverEntryPoint("cuLaunchKernel", &found, cudaEnableDefault, NULL));
    memcpy(&raw, &found, sizeof raw);
    assert_int_equal(raw(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                     CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cudaErrorInvalidValue, cudaMalloc(NULL, 1));
    assert_null(strstr(acu_last_error_message(), "cannot execute"));
    OK(acu_sim_register("tensor", do_nothing));
    OK(launch(tensor, dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(acu_sim_register("tensor", NULL));
    OK(acu_sim_register("nothing", do_nothing));
    OK(cudaLibraryUnload(newer));
    SAYS(cudaErrorInvalidValue, acu_sim_register("", do_nothing));
    SAYS(cudaErrorInvalidValue, acu_sim_register(NULL, do_nothing));
}

/* ---- illegal addresses ---- */

static void *illegal;
static size_t illegal_bytes;

static void touch(const acu_sim_launch *launch_, void *const *args) {
    (void)args;
    void *at = acu_sim_at(launch_, illegal, illegal_bytes);
    if (illegal_bytes)
        memset(at, 0, illegal_bytes);
}

static void touches(void *at, size_t bytes, cudaError_t code) {
    illegal = at;
    illegal_bytes = bytes;
    OK(acu_sim_register("nothing", touch));
    OK(launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 0));
    SAYS(code, cudaDeviceSynchronize());
}

TEST(beyond_the_end_the_context_is_lost) {
    void *memory;
    OK(cudaMalloc(&memory, 100));
    touches(memory, 100, cudaSuccess);
    touches((char *)memory + 99, 1, cudaSuccess);
    touches((char *)memory + 1, 100, cudaErrorIllegalAddress);
    SAYS(cudaErrorIllegalAddress, cudaFree(memory));
    SAYS(cudaErrorIllegalAddress, launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 0));
    acu_sim_reset(MACHINE);
    library = load(PTX);
}

TEST(host_memory_is_illegal_unless_pinned) {
    char pageable[16];
    void *pinned, *managed;
    OK(cudaMallocHost(&pinned, 16));
    OK(cudaMallocManaged(&managed, 16, cudaMemAttachGlobal));
    touches(pinned, 16, cudaSuccess);
    touches(managed, 16, cudaSuccess);
    touches(pageable, 16, cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
    library = load(PTX);
}

TEST(freed_memory_is_illegal) {
    void *memory;
    OK(cudaMalloc(&memory, 100));
    OK(cudaFree(memory));
    touches(memory, 1, cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
    library = load(PTX);
}

TEST(null_is_illegal) {
    touches(NULL, 0, cudaSuccess);
    touches(NULL, 1, cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
    library = load(PTX);
}

TEST(what_is_freed_in_order_may_be_used_before) {
    blocker g = {0};
    void *memory;
    OK(cudaMallocAsync(&memory, 100, 0));
    block_stream(&g, 0);
    illegal = memory;
    illegal_bytes = 100;
    OK(acu_sim_register("nothing", touch));
    OK(launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(cudaFreeAsync(memory, 0));
    unblock_stream(&g);
    OK(cudaDeviceSynchronize());
}

TEST(the_memory_of_a_peer_needs_access) {
    void *memory;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&memory, 16));
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    touches(memory, 16, cudaSuccess);
    OK(cudaDeviceDisablePeerAccess(1));
    touches(memory, 16, cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
    library = load(PTX);
}

TEST(the_memory_of_a_peers_pool_must_be_shown) {
    void *memory;
    cudaMemPool_t pool;
    struct cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, {0}},
                                       cudaMemAccessFlagsProtReadWrite};
    OK(cudaSetDevice(1));
    OK(cudaMallocAsync(&memory, 16, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaDeviceGetDefaultMemPool(&pool, 1));
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaSetDevice(0));
    touches(memory, 16, cudaSuccess);
    access.flags = cudaMemAccessFlagsProtNone;
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    OK(cudaDeviceEnablePeerAccess(1, 0)); /* that is for other memory */
    touches(memory, 16, cudaErrorIllegalAddress);
    acu_sim_reset(MACHINE);
    library = load(PTX);
}

static cudaError_t called;

static void calls_cuda(const acu_sim_launch *launch_, void *const *args) {
    void *memory;
    (void)launch_;
    (void)args;
    called = cudaMalloc(&memory, 1);
}

TEST(a_kernel_must_not_call_cuda) {
    OK(acu_sim_register("nothing", calls_cuda));
    OK(launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 0));
    OK(cudaDeviceSynchronize());
    SAYS(cudaErrorNotPermitted, called);
}

TEST(unloading_waits) {
    blocker g = {0};
    cudaLibrary_t other = load(PTX);
    block_stream(&g, 0);
    OK(launch(kernel_of(other, "nothing"), dim(1, 1, 1), dim(1, 1, 1), 0));
    unblock_stream(&g);
    OK(cudaLibraryUnload(other));
    OK(cudaDeviceSynchronize());
}

/* ---- launches that are refused ---- */

TEST(what_is_no_kernel) {
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel(NULL, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, 0));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaLaunchKernel(library, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, 0));
    expect_reason("is no kernel of the runtime's");
    FAILS(cudaErrorInvalidValue, cudaLaunchKernelExC(NULL, nothing, NULL));
}

/* From 13.0 on another code. */
static void refuses_configurations(cudaError_t code) {
    static const struct {
        dim3 grid, block;
        cudaError_t code;
    } cases[] = {
        {{0, 1, 1}, {1, 1, 1}, cudaErrorInvalidValue},
        {{1, 0, 1}, {1, 1, 1}, cudaErrorInvalidValue},
        {{1, 1, 0}, {1, 1, 1}, cudaErrorInvalidValue},
        {{1, 1, 1}, {0, 1, 1}, cudaErrorInvalidValue},
        {{1, 1, 1}, {1, 0, 1}, cudaErrorInvalidValue},
        {{1, 1, 1}, {1, 1, 0}, cudaErrorInvalidValue},
        {{1, 1, 1}, {1024, 1, 1}, cudaSuccess},
        {{1, 1, 1}, {1025, 1, 1}, cudaErrorInvalidValue},
        {{1, 1, 1}, {1, 1024, 1}, cudaSuccess},
        {{1, 1, 1}, {1, 1, 64}, cudaSuccess},
        {{1, 1, 1}, {1, 1, 65}, cudaErrorInvalidValue},
        {{1, 1, 1}, {32, 32, 2}, cudaErrorInvalidValue},
        {{1, 1, 1}, {65536, 65536, 1}, cudaErrorInvalidValue},
        {{2147483647, 1, 1}, {1, 1, 1}, cudaSuccess},
        {{2147483648u, 1, 1}, {1, 1, 1}, cudaErrorInvalidValue},
        {{1, 65535, 1}, {1, 1, 1}, cudaSuccess},
        {{1, 65536, 1}, {1, 1, 1}, cudaErrorInvalidValue},
        {{1, 1, 65535}, {1, 1, 1}, cudaSuccess},
        {{1, 1, 65536}, {1, 1, 1}, cudaErrorInvalidValue},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        SAYS(cases[i].code ? code : cudaSuccess, launch(nothing, cases[i].grid, cases[i].block, 0));
    expect_reason("or it is larger than the limits of device 0");
    (void)cudaGetLastError();
    OK(cudaDeviceSynchronize());
}

TEST(configurations) {
    refuses_configurations(cudaErrorInvalidValue);
}

TEST(configurations_below_13) {
    OK(cudaLibraryUnload(library));
    acu_sim_reset("runtime=12.9");
    library = load(PTX);
    nothing = kernel_of(library, "nothing");
    refuses_configurations(cudaErrorInvalidConfiguration);
}

TEST(limits_of_a_kernel) {
    OK(launch(kernel_of(library, "at_most_64"), dim(1, 1, 1), dim(64, 1, 1), 0));
    FAILS(cudaErrorInvalidValue,
          launch(kernel_of(library, "at_most_64"), dim(1, 1, 1), dim(65, 1, 1), 0));
    expect_reason("the block has 65 threads, which the kernel \"at_most_64\" was not compiled for");
    OK(launch(kernel_of(library, "exactly_64"), dim(1, 1, 1), dim(64, 1, 1), 0));
    FAILS(cudaErrorInvalidValue,
          launch(kernel_of(library, "exactly_64"), dim(1, 1, 1), dim(32, 1, 1), 0));
    OK(cudaDeviceSynchronize());
}

TEST(shared_memory) {
    OK(launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 49152));
    FAILS(cudaErrorInvalidValue, launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 49153));
    expect_reason("asks for 49153 bytes of dynamic shared memory, and the kernel may use 49152");
    OK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 232448));
    OK(launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 232448));
    FAILS(cudaErrorInvalidValue, launch(nothing, dim(1, 1, 1), dim(1, 1, 1), 232449));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, -1));
    OK(cudaDeviceSynchronize());
}

TEST(missing_arguments) {
    void *args[4] = {NULL};
    FAILS(cudaErrorInvalidValue, cudaLaunchKernel(add, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, 0));
    expect_reason("the kernel \"add\" has 4 parameters, and argument 0 is NULL");
    FAILS(cudaErrorInvalidValue, cudaLaunchKernel(add, dim(1, 1, 1), dim(1, 1, 1), args, 0, 0));
}

TEST(the_stream_of_another_device) {
    cudaStream_t stream;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&stream));
    OK(cudaLaunchKernel(nothing, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, stream));
    OK(cudaSetDevice(0));
    OK(cudaLaunchKernel(nothing, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, stream));
    OK(cudaStreamDestroy(stream));
    FAILS(cudaErrorInvalidResourceHandle,
          cudaLaunchKernel(nothing, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, stream));
}

TEST(cooperative_launches_must_fit) {
    int blocks = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1024, 0));
    OK(cudaLaunchCooperativeKernel(nothing, dim((unsigned)blocks * 132, 1, 1), dim(1024, 1, 1),
                                   NULL, 0, 0));
    FAILS(cudaErrorCooperativeLaunchTooLarge,
          cudaLaunchCooperativeKernel(nothing, dim((unsigned)blocks * 132 + 1, 1, 1),
                                      dim(1024, 1, 1), NULL, 0, 0));
    expect_reason("of them fit on 132 multiprocessors of device 0 at once");
    OK(cudaDeviceSynchronize());
}

static cudaError_t clustered(unsigned grid, unsigned size) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension};
    attribute.val.clusterDim.x = size;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {
        .gridDim = dim(grid, 1, 1), .blockDim = dim(32, 1, 1), .attrs = &attribute, .numAttrs = 1};
    return cudaLaunchKernelExC(&config, nothing, NULL);
}

TEST(clusters) {
    OK(clustered(16, 8));
    FAILS(cudaErrorInvalidClusterSize, clustered(16, 16));
    expect_reason("a cluster of 16 blocks is too large");
    FAILS(cudaErrorInvalidClusterSize, clustered(15, 2));
    expect_reason("a grid of 15 blocks in dimension 0 has no whole number of clusters of 2");
    OK(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    OK(clustered(16, 16));
    FAILS(cudaErrorInvalidClusterSize, clustered(32, 32));
    OK(cudaDeviceSynchronize());
}

TEST(launch_attributes) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeIgnore};
    cudaLaunchConfig_t config = {
        .gridDim = dim(1, 1, 1), .blockDim = dim(1, 1, 1), .attrs = &attribute, .numAttrs = 1};
    OK(cudaLaunchKernelExC(&config, nothing, NULL));
    attribute.id = (cudaLaunchAttributeID)777;
    assert_int_not_equal(cudaLaunchKernelExC(&config, nothing, NULL), cudaSuccess);
    (void)cudaGetLastError();
    config.attrs = NULL;
    FAILS(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, nothing, NULL));
}

TEST(events_of_launches) {
    blocker g = {0};
    cudaEvent_t event, timed;
    cudaStream_t stream;
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeLaunchCompletionEvent};
    cudaLaunchConfig_t config = {
        .gridDim = dim(1, 1, 1), .blockDim = dim(1, 1, 1), .attrs = &attribute, .numAttrs = 1};
    OK(cudaStreamCreate(&stream));
    OK(cudaEventCreate(&timed));
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    block_stream(&g, stream);
    config.stream = stream;
    attribute.val.launchCompletionEvent.event = event;
    OK(cudaLaunchKernelExC(&config, nothing, NULL));
    SAYS(cudaErrorNotReady, cudaEventQuery(event));
    unblock_stream(&g);
    OK(cudaEventSynchronize(event));
    attribute.id = cudaLaunchAttributeProgrammaticEvent;
    attribute.val.programmaticEvent.event = timed;
    FAILS(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, nothing, NULL));
    expect_reason("must be created with cudaEventDisableTiming");
    attribute.val.programmaticEvent.event = NULL;
    FAILS(cudaErrorInvalidResourceHandle, cudaLaunchKernelExC(&config, nothing, NULL));
    OK(cudaEventDestroy(timed));
    OK(cudaEventDestroy(event));
    OK(cudaStreamDestroy(stream));
}

/* ---- what functions say ---- */

TEST(attributes) {
    struct cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, nothing));
    assert_int_equal(a.maxThreadsPerBlock, 1024);
    assert_int_equal(a.binaryVersion, 90);
    assert_int_equal(a.ptxVersion, 52);
    assert_int_equal(a.maxDynamicSharedSizeBytes, 49152);
    assert_int_equal(a.preferredShmemCarveout, -1);
    assert_int_equal(a.constSizeBytes, 12);
    OK(cudaFuncGetAttributes(&a, kernel_of(library, "sharing")));
    assert_int_equal(a.sharedSizeBytes, 1408);
    assert_int_equal(a.maxDynamicSharedSizeBytes, 49152 - 1408);
    OK(cudaFuncGetAttributes(&a, kernel_of(library, "at_most_64")));
    assert_int_equal(a.maxThreadsPerBlock, 64);
    OK(cudaFuncGetAttributes(&a, kernel_of(library, "few_registers")));
    assert_int_equal(a.numRegs, 8); /* an estimate, and as few as ptxas needs */
    FAILS(cudaErrorInvalidValue, cudaFuncGetAttributes(NULL, nothing));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&a, NULL));
}

TEST(setting_attributes) {
    struct cudaFuncAttributes a;
    OK(cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    OK(cudaFuncGetAttributes(&a, nothing));
    assert_int_equal(a.preferredShmemCarveout, 50);
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(nothing, cudaFuncAttributePreferredSharedMemoryCarveout, 101));
    FAILS(cudaErrorInvalidValue, cudaFuncSetAttribute(nothing, cudaFuncAttributeMax, 1));
    FAILS(cudaErrorInvalidValue,
          cudaFuncSetAttribute(nothing, cudaFuncAttributeClusterDimMustBeSet, 1));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaFuncSetAttribute(NULL, cudaFuncAttributePreferredSharedMemoryCarveout, 1));
    OK(cudaFuncSetCacheConfig(nothing, cudaFuncCachePreferL1));
    FAILS(cudaErrorInvalidValue, cudaFuncSetCacheConfig(nothing, (enum cudaFuncCache)9));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncSetCacheConfig(NULL, cudaFuncCachePreferL1));
}

TEST(attributes_of_one_device) {
    struct cudaFuncAttributes a;
    OK(cudaKernelSetAttributeForDevice(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1000,
                                       1));
    OK(cudaFuncGetAttributes(&a, nothing));
    assert_int_equal(a.maxDynamicSharedSizeBytes, 49152);
    OK(cudaSetDevice(1));
    OK(cudaFuncGetAttributes(&a, nothing));
    assert_int_equal(a.maxDynamicSharedSizeBytes, 1000);
    FAILS(cudaErrorInvalidDevice, cudaKernelSetAttributeForDevice(
                                      nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 1, 7));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaKernelSetAttributeForDevice(NULL, cudaFuncAttributeMaxDynamicSharedMemorySize, 1, 0));
    FAILS(cudaErrorInvalidValue,
          cudaKernelSetAttributeForDevice(nothing, cudaFuncAttributeMax, 1, 0));
}

TEST(parameters) {
    static const size_t offsets[] = {0, 8, 28, 32}, sizes[] = {1, 20, 2, 8};
    cudaKernel_t mixed = kernel_of(library, "mixed");
    size_t offset, size, count;
    for (size_t i = 0; i < 4; i++) {
        OK(cudaFuncGetParamInfo(mixed, i, &offset, &size));
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
    }
    OK(cudaFuncGetParamInfo(mixed, 0, &offset, NULL));
    FAILS(cudaErrorInvalidValue, cudaFuncGetParamInfo(mixed, 4, &offset, &size));
    FAILS(cudaErrorInvalidValue, cudaFuncGetParamInfo(mixed, 0, NULL, &size));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetParamInfo(NULL, 0, &offset, &size));
    OK(cudaFuncGetParamCount(mixed, &count));
    assert_int_equal(count, 4);
    FAILS(cudaErrorInvalidValue, cudaFuncGetParamCount(mixed, NULL));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetParamCount(NULL, &count));
}

TEST(names_and_handles) {
    const char *name;
    cudaKernel_t kernel;
    cudaFunction_t function = NULL;
    OK(cudaFuncGetName(&name, nothing));
    assert_string_equal(name, "nothing");
    FAILS(cudaErrorInvalidValue, cudaFuncGetName(NULL, nothing));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetName(&name, NULL));
    FAILS(cudaErrorInvalidDeviceFunction, cudaGetFuncBySymbol(&function, nothing));
    FAILS(cudaErrorInvalidValue, cudaGetFuncBySymbol(NULL, nothing));
    FAILS(cudaErrorInvalidDeviceFunction, cudaGetFuncBySymbol(&function, &name));
    OK(cudaGetKernel(&kernel, nothing));
    assert_ptr_equal(kernel, nothing);
    FAILS(cudaErrorInvalidValue, cudaGetKernel(NULL, nothing));
    FAILS(cudaErrorInvalidDeviceFunction, cudaGetKernel(&kernel, &name));
}

TEST(occupancy) {
    int blocks = -1;
    size_t bytes = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1024, 0));
    assert_int_equal(blocks, 2); /* threads */
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, 0));
    assert_int_equal(blocks, 32); /* blocks */
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 32, 48000));
    assert_int_equal(blocks, 4); /* shared memory */
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 2000, 0));
    assert_int_equal(blocks, 0);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, nothing, 256, 0,
                                                              cudaOccupancyDisableCachingOverride));
    assert_int_equal(blocks, 8);
    FAILS(cudaErrorInvalidValue,
          cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, nothing, 256, 0, 2));
    FAILS(cudaErrorInvalidValue,
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, nothing, 256, 0));
    FAILS(cudaErrorInvalidValue,
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 0, 0));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0));
    OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 8, 64));
    assert_int_equal(bytes, 233472 / 8);
    FAILS(cudaErrorInvalidValue, cudaOccupancyAvailableDynamicSMemPerBlock(NULL, nothing, 8, 64));
    FAILS(cudaErrorInvalidValue,
          cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, nothing, 33, 64));
}

/* As an H200 answered: blocks of 64, 512 and 1024 threads. */
TEST(clusters_that_fit_at_once) {
    static const struct {
        unsigned size;
        int counts[3];
    } all[] = {{1, {1056, 528, 264}},
               {2, {528, 264, 132}},
               {4, {248, 124, 62}},
               {8, {124, 62, 30}},
               {16, {58, 28, 14}}};
    static const unsigned threads[] = {64, 512, 1024};
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension};
    cudaLaunchConfig_t config = {.gridDim = dim(64, 1, 1), .attrs = &attribute, .numAttrs = 1};
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    OK(cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t j = 0; j < 3; j++) {
            int count = -1;
            attribute.val.clusterDim.x = all[i].size;
            config.blockDim = dim(threads[j], 1, 1);
            OK(cudaOccupancyMaxActiveClusters(&count, nothing, &config));
            assert_int_equal(count, all[i].counts[j]);
        }
}

TEST(occupancy_of_clusters) {
    int size = 0, count = 0;
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension};
    cudaLaunchConfig_t config = {.gridDim = dim(8, 1, 1), .blockDim = dim(64, 1, 1)};
    OK(cudaOccupancyMaxPotentialClusterSize(&size, nothing, &config));
    assert_int_equal(size, 8);
    OK(cudaOccupancyMaxActiveClusters(&count, nothing, &config)); /* without clusters */
    assert_int_equal(count, 0);
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaOccupancyMaxActiveClusters(&count, nothing, &config));
    assert_int_equal(count, 248);
    cudaDevResource all, part;
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t green;
    unsigned one = 1;
    OK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 16));
    OK(cudaDevResourceGenerateDesc(&desc, &part, 1));
    OK(cudaGreenCtxCreate(&green, desc, 0, 0));
    OK(cudaExecutionCtxStreamCreate(&config.stream, green, 0, 0));
    OK(cudaOccupancyMaxActiveClusters(&count, nothing, &config)); /* on its processors only */
    assert_int_equal(count, 16 / 4 * 8);
    OK(cudaStreamDestroy(config.stream));
    OK(cudaExecutionCtxDestroy(green));
    config.stream = NULL;
    FAILS(cudaErrorInvalidValue, cudaOccupancyMaxActiveClusters(NULL, nothing, &config));
    FAILS(cudaErrorInvalidValue, cudaOccupancyMaxPotentialClusterSize(&size, nothing, NULL));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaOccupancyMaxPotentialClusterSize(&size, NULL, &config));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        K(adds),
        K(a_kernel_sees_its_launch),
        K(arguments_are_copied_at_the_call),
        K(launches_are_asynchronous_and_in_order),
        K(a_kernel_without_a_function),
        K(beyond_the_end_the_context_is_lost),
        K(host_memory_is_illegal_unless_pinned),
        K(freed_memory_is_illegal),
        K(null_is_illegal),
        K(what_is_freed_in_order_may_be_used_before),
        K(the_memory_of_a_peer_needs_access),
        K(the_memory_of_a_peers_pool_must_be_shown),
        K(a_kernel_must_not_call_cuda),
        K(unloading_waits),
        K(what_is_no_kernel),
        K(configurations),
        K(configurations_below_13),
        K(limits_of_a_kernel),
        K(shared_memory),
        K(missing_arguments),
        K(the_stream_of_another_device),
        K(cooperative_launches_must_fit),
        K(clusters),
        K(launch_attributes),
        K(events_of_launches),
        K(attributes),
        K(setting_attributes),
        K(attributes_of_one_device),
        K(parameters),
        K(names_and_handles),
        K(occupancy),
        K(clusters_that_fit_at_once),
        K(occupancy_of_clusters),
    };
    return RUN(tests);
}
