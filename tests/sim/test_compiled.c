/*
 * A program as nvcc compiles it, on libanycuda-sim.so: what its generated code does before main(),
 * and how its stubs launch kernels.
 */
#include "kernels.h"

#include "../scratch.h"
#include "binaries.h"

#include <anycuda/anycuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

/* As the compiler's headers declare them. */
void **register_fat_binary(void *wrapper) __asm__("__cudaRegisterFatBinary");
void register_fat_binary_end(void **handle) __asm__("__cudaRegisterFatBinaryEnd");
void unregister_fat_binary(void **handle) __asm__("__cudaUnregisterFatBinary");
void register_function(void **handle, const char *host, char *device, const char *name, int limit,
                       void *tid, void *bid, dim3 *block, dim3 *grid,
                       int *warp) __asm__("__cudaRegisterFunction");
void register_variable(void **handle, char *host, char *device, const char *name, int is_extern,
                       size_t size, int constant, int global) __asm__("__cudaRegisterVar");
void register_managed(void **handle, void **host, char *device, const char *name, int is_extern,
                      size_t size, int constant, int global) __asm__("__cudaRegisterManagedVar");
void register_host_variable(void **handle, const char *name, char *host,
                            size_t size) __asm__("__cudaRegisterHostVar");
char init_module(void **handle) __asm__("__cudaInitModule");
unsigned push_configuration(dim3 grid, dim3 block, size_t shared,
                            cudaStream_t stream) __asm__("__cudaPushCallConfiguration");
cudaError_t pop_configuration(dim3 *grid, dim3 *block, size_t *shared,
                              void *stream) __asm__("__cudaPopCallConfiguration");
cudaError_t get_kernel(cudaKernel_t *kernel, const void *host) __asm__("__cudaGetKernel");
cudaError_t launch_kernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared,
                          cudaStream_t stream) __asm__("__cudaLaunchKernel");
cudaError_t launch_kernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
                               size_t shared,
                               cudaStream_t stream) __asm__("__cudaLaunchKernel_ptsz");

/* What stands for device code in the host's. */
static int counter, factors[3], table[25];
static unsigned *shared_by_all;
static void **handle;

static struct {
    uint32_t magic, version;
    const void *binary;
    void *unused;
} wrapper = {0x466243b1, 1, NULL, NULL};

/* The stub that is called for add<<<…>>>(…), twice: as before 12.1, and since. */
static void add(float *a, float *b, float *out, unsigned n) {
    void *args[] = {&a, &b, &out, &n};
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    if (pop_configuration(&grid, &block, &shared, &stream) == cudaSuccess)
        (void)cudaLaunchKernel((const void *)(uintptr_t)add, grid, block, args, shared, stream);
}

static cudaKernel_t kernel_of_add;

static void new_add(float *a, float *b, float *out, unsigned n) {
    void *args[] = {&a, &b, &out, &n};
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    if (!kernel_of_add)
        (void)get_kernel(&kernel_of_add, (const void *)(uintptr_t)add);
    if (pop_configuration(&grid, &block, &shared, &stream) == cudaSuccess)
        (void)launch_kernel(kernel_of_add, grid, block, args, shared, stream);
}

static void nothing(void) {}

static void missing(void) {}

#define STUB(f) ((const char *)(uintptr_t)(f))

static void register_kernel(void (*stub)(void), const char *name) {
    register_function(handle, STUB(stub), NULL, name, -1, NULL, NULL, NULL, NULL, NULL);
}

static void register_program(void) {
    static binary fat;
    const piece ptx = {KIND_PTX, 52, 0, PTX, sizeof PTX, 0};
    make_fat_binary(&fat, &ptx, 1);
    wrapper.binary = fat.at;
    handle = register_fat_binary(&wrapper);
    register_kernel((void (*)(void))add, "add");
    register_kernel(nothing, "nothing");
    register_kernel(missing, "not_in_it");
    register_variable(handle, (char *)&counter, NULL, "counter", 0, 4, 0, 0);
    register_variable(handle, (char *)factors, NULL, "factors", 0, 12, 1, 0);
    register_managed(handle, (void **)&shared_by_all, NULL, "shared_by_all", 0, 4, 0, 0);
    register_host_variable(handle, "of_host", (char *)table, sizeof table);
    register_fat_binary_end(handle);
}

static int begin_program(void **state) {
    (void)begin(state);
    kernel_of_add = NULL;
    register_program();
    register_kernels();
    return 0;
}

static int end_program(void **state) {
    unregister_fat_binary(handle);
    return end(state);
}

/* ---- launching ---- */

static void launch_and_check(void (*stub)(float *, float *, float *, unsigned)) {
    float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0}, *at;
    OK(cudaMalloc((void **)&at, 2 * sizeof in));
    OK(cudaMemcpy(at, in, sizeof in, cudaMemcpyHostToDevice));
    if (push_configuration(dim(1, 1, 1), dim(8, 1, 1), 0, NULL) == 0)
        stub(at, at, at + 8, 8);
    OK(cudaGetLastError());
    OK(cudaMemcpy(out, at + 8, sizeof out, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == 2 * in[i]);
    OK(cudaFree(at));
}

TEST(stubs_launch) {
    launch_and_check(add);
    launch_and_check(new_add);
}

TEST(handles_outlive_a_reset) {
    launch_and_check(new_add);
    OK(cudaDeviceReset());
    launch_and_check(new_add);
    acu_sim_reset("cc=8.0");
    launch_and_check(new_add);
    launch_and_check(add);
}

TEST(configurations_nest) {
    dim3 grid, block;
    size_t shared = 9;
    cudaStream_t stream;
    assert_int_equal(push_configuration(dim(1, 2, 3), dim(4, 5, 6), 7, cudaStreamLegacy), 0);
    assert_int_equal(push_configuration(dim(8, 1, 1), dim(1, 1, 1), 0, NULL), 0);
    OK(pop_configuration(&grid, &block, &shared, &stream));
    assert_true(grid.x == 8 && shared == 0 && !stream);
    OK(pop_configuration(&grid, &block, &shared, &stream));
    assert_true(grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 4 && block.z == 6);
    assert_true(shared == 7 && stream == cudaStreamLegacy);
    FAILS(cudaErrorMissingConfiguration, pop_configuration(&grid, &block, &shared, &stream));
}

static void *pop_here(void *result) {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    *(cudaError_t *)result = pop_configuration(&grid, &block, &shared, &stream);
    return NULL;
}

TEST(configurations_are_a_threads_own) {
    pthread_t thread;
    cudaError_t result = cudaSuccess, mine = cudaErrorUnknown;
    assert_int_equal(push_configuration(dim(1, 1, 1), dim(1, 1, 1), 0, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, pop_here, &result), 0);
    pthread_join(thread, NULL);
    assert_int_equal(result, cudaErrorMissingConfiguration);
    (void)pop_here(&mine);
    OK(mine);
}

TEST(too_many_configurations) {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    unsigned count = 0;
    while (count < 10000 && push_configuration(dim(1, 1, 1), dim(1, 1, 1), 0, NULL) == 0)
        count++;
    assert_true(count >= 16 && count < 10000);
    for (; count; count--)
        OK(pop_configuration(&grid, &block, &shared, &stream));
}

TEST(kernels_by_their_host_functions) {
    cudaKernel_t kernel = NULL, again = NULL;
    cudaFunction_t function = NULL;
    struct cudaFuncAttributes attributes;
    const char *name;
    int blocks = 0;
    size_t count = 0, offset = 0, size = 0;
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    assert_int_equal(attributes.ptxVersion, 52);
    assert_int_equal(attributes.binaryVersion, 90);
    OK(cudaFuncSetAttribute(STUB(add), cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    assert_int_equal(attributes.maxDynamicSharedSizeBytes, 100000);
    OK(cudaFuncSetCacheConfig(STUB(add), cudaFuncCachePreferL1));
    OK(cudaFuncGetName(&name, STUB(add)));
    assert_string_equal(name, "add");
    OK(cudaFuncGetParamCount(STUB(add), &count));
    assert_int_equal(count, 4);
    OK(cudaFuncGetParamInfo(STUB(add), 3, &offset, &size));
    assert_true(offset == 24 && size == 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, STUB(add), 256, 0));
    assert_true(blocks > 0);
    OK(cudaGetKernel(&kernel, STUB(add)));
    OK(get_kernel(&again, STUB(add)));
    assert_ptr_equal(kernel, again);
    OK(cudaGetFuncBySymbol(&function, STUB(add)));
    assert_non_null(function);
    assert_ptr_not_equal(function, kernel);
}

TEST(what_is_no_kernel) {
    cudaKernel_t kernel;
    struct cudaFuncAttributes attributes;
    FAILS(cudaErrorInvalidDeviceFunction, get_kernel(&kernel, STUB(begin_program)));
    FAILS(cudaErrorInvalidValue, get_kernel(NULL, STUB(add)));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, STUB(begin_program)));
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, STUB(missing)));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel(STUB(missing), dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
    FAILS(cudaErrorInvalidDeviceFunction,
          cudaLaunchKernel(NULL, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
}

TEST(a_kernel_that_nobody_gave_a_function) {
    OK(acu_sim_register("nothing", NULL));
    /* The program has PTX of it, which is executed. */
    OK(cudaLaunchKernel(STUB(nothing), dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
    OK(cudaDeviceSynchronize());
    OK(acu_sim_register("nothing", do_nothing));
    OK(cudaLaunchKernel(STUB(nothing), dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
}

TEST(the_threads_own_stream) {
    cudaKernel_t kernel;
    cudaStream_t stream;
    blocker g = {0};
    OK(cudaStreamCreate(&stream));
    block_stream(&g, stream);
    OK(get_kernel(&kernel, STUB(nothing)));
    OK(launch_kernel_ptsz(kernel, dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
    OK(cudaStreamSynchronize(cudaStreamPerThread)); /* the legacy one would wait for the blocker */
    unblock_stream(&g);
    OK(cudaStreamSynchronize(stream)); /* the blocker is this function's */
    OK(cudaStreamDestroy(stream));
}

TEST(nodes_name_the_host_function) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    struct cudaKernelNodeParams params = {
        .func = (void *)(uintptr_t)nothing, .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    params.func = NULL;
    OK(cudaGraphKernelNodeGetParams(node, &params));
    assert_ptr_equal(params.func, STUB(nothing));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaDeviceSynchronize());
    params.func = (void *)(uintptr_t)begin_program;
    FAILS(cudaErrorInvalidDeviceFunction, cudaGraphKernelNodeSetParams(node, &params));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* kernel<<<...>>>() launches the handle. */
TEST(captured_launches_name_the_host_function) {
    cudaKernel_t kernel;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphNode_t node;
    size_t count = 1;
    struct cudaKernelNodeParams params = {0};
    OK(cudaStreamCreate(&stream));
    OK(get_kernel(&kernel, STUB(nothing)));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(launch_kernel_ptsz(kernel, dim(3, 1, 1), dim(32, 1, 1), NULL, 0, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    OK(cudaGraphKernelNodeGetParams(node, &params));
    assert_ptr_equal(params.func, STUB(nothing));
    assert_int_equal(params.gridDim.x, 3);
    OK(cudaGraphKernelNodeSetParams(node, &params));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

/* ---- variables ---- */

/* The safe layer wraps such a kernel by its host function, checks its arguments, and runs it. */
TEST(the_safe_layer_runs_one) {
    acu_stream *stream = NULL;
    acu_kernel *kernel = NULL;
    acu_buffer *x = NULL, *out = NULL;
    const float in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float got[8] = {0};
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_F32, 8, &x));
    OK(acu_buffer_create(stream, ACU_F32, 8, &out));
    OK(acu_buffer_write(x, in, 8));
    OK(acu_kernel_wrap(0, STUB(add), &kernel));
    assert_int_equal(acu_kernel_parameter_check(kernel), ACU_CHECK_SIZES);
    assert_int_equal(acu_launch(stream, kernel, acu_grid_1d(8, 8), x, x, out), ACU_ERROR_ARGUMENT);
    OK(acu_launch(stream, kernel, acu_grid_1d(8, 8), acu_in(x), acu_in(x), acu_out(out), 8));
    OK(acu_buffer_read(out, got, 8));
    for (int i = 0; i < 8; i++)
        assert_true(got[i] == 2 * in[i]);
    struct CUfunc_st *function = NULL;
    OK(acu_kernel_get_function(kernel, &function));
    assert_non_null(function);
    OK(acu_kernel_release(kernel));
    OK(acu_buffer_release(out));
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
}

TEST(variables_by_their_host_addresses) {
    void *at = NULL, *again = NULL;
    size_t size = 0;
    int value = 0;
    OK(cudaGetSymbolAddress(&at, &counter));
    OK(cudaGetSymbolSize(&size, &counter));
    assert_int_equal(size, 4);
    OK(cudaMemcpy(&value, at, 4, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 7);
    value = 11;
    OK(cudaMemcpyToSymbol(&counter, &value, 4, 0, cudaMemcpyHostToDevice));
    value = 0;
    OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDeviceToHost));
    assert_int_equal(value, 11);
    OK(cudaSetDevice(1));
    OK(cudaGetSymbolAddress(&again, &counter));
    assert_ptr_not_equal(at, again);
    OK(cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyDefault));
    assert_int_equal(value, 7);
}

TEST(parts_of_variables) {
    float two[2] = {0}, *at = NULL;
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(cudaMemcpyFromSymbolAsync(two, factors, 8, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaStreamSynchronize(stream));
    assert_true(two[0] == 2 && two[1] == -4);
    two[0] = 9;
    OK(cudaMemcpyToSymbolAsync(factors, two, 4, 8, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMalloc((void **)&at, 12));
    OK(cudaMemcpyFromSymbol(at, factors, 12, 0, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(two, at + 1, 8, cudaMemcpyDeviceToHost));
    assert_true(two[0] == 2 && two[1] == 9);
    OK(cudaFree(at));
    OK(cudaStreamDestroy(stream));
}

TEST(what_is_wrong_with_a_variable) {
    void *at;
    size_t size;
    int value = 0;
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&at, &value));
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolSize(&size, NULL));
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&at, (char *)&counter + 1));
    FAILS(cudaErrorInvalidValue, cudaGetSymbolAddress(NULL, &counter));
    FAILS(cudaErrorInvalidValue, cudaGetSymbolSize(NULL, &counter));
    FAILS(cudaErrorInvalidValue, cudaMemcpyToSymbol(&counter, &value, 5, 0, cudaMemcpyDefault));
    FAILS(cudaErrorInvalidValue, cudaMemcpyToSymbol(&counter, &value, 4, 1, cudaMemcpyDefault));
    FAILS(cudaErrorInvalidValue,
          cudaMemcpyToSymbol(&counter, &value, SIZE_MAX, 2, cudaMemcpyDefault));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyToSymbol(&counter, &value, 4, 0, cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidMemcpyDirection,
          cudaMemcpyFromSymbol(&value, &counter, 4, 0, cudaMemcpyHostToDevice));
}

TEST(managed_variables) {
    unsigned value = 0;
    void *at;
    shared_by_all = NULL;
    assert_true(init_module(handle));
    assert_non_null(shared_by_all);
    assert_int_equal(*shared_by_all, 3);
    *shared_by_all = 5;
    OK(cudaMemcpyFromSymbol(&value, shared_by_all, 4, 0, cudaMemcpyDefault));
    assert_int_equal(value, 5);
    OK(cudaGetSymbolAddress(&at, &shared_by_all));
    assert_ptr_equal(at, shared_by_all);
    assert_false(init_module(NULL));
    SAYS(cudaErrorInvalidResourceHandle, cudaGetLastError());
}

TEST(a_launch_places_managed_variables) {
    shared_by_all = NULL;
    OK(cudaLaunchKernel(STUB(nothing), dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL));
    assert_non_null(shared_by_all);
    assert_int_equal(*shared_by_all, 3);
}

TEST(nodes_that_copy_variables) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t to, from;
    int value = 21, back = 0;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, NULL, 0, &counter, &value, 4, 0,
                                      cudaMemcpyHostToDevice));
    OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, &back, &counter, 4, 0,
                                        cudaMemcpyDeviceToHost));
    FAILS(cudaErrorInvalidValue,
          cudaGraphMemcpyNodeSetParamsToSymbol(to, &counter, &value, 4, 2, cudaMemcpyDefault));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, NULL));
    OK(cudaDeviceSynchronize());
    assert_int_equal(back, 21);
    OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, &back, factors, 4, 8,
                                                  cudaMemcpyDeviceToHost));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

/* ---- coming and going ---- */

TEST(what_is_unregistered_is_no_kernel) {
    struct cudaFuncAttributes attributes;
    void *at;
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    unregister_fat_binary(handle);
    FAILS(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, STUB(add)));
    FAILS(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&at, &counter));
    unregister_fat_binary(handle); /* nothing is */
    register_program();
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
}

/* Another plugin with the same host function. */
TEST(of_two_the_later_counts) {
    struct cudaFuncAttributes attributes;
    void **first = handle;
    register_program();
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    unregister_fat_binary(handle);
    handle = first;
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    launch_and_check(add);
}

TEST(nothing_for_this_device) {
    static binary cubin, fat;
    struct cudaFuncAttributes attributes;
    void *at;
    make_cubin(&cubin, 100);
    const piece pieces[] = {{KIND_CUBIN, 100, 0, cubin.at, cubin.size, 0},
                            {KIND_PTX, 120, 0, PTX, sizeof PTX, 0}};
    make_fat_binary(&fat, pieces, 2);
    unregister_fat_binary(handle);
    wrapper.binary = fat.at;
    handle = register_fat_binary(&wrapper);
    register_kernel((void (*)(void))add, "add");
    register_variable(handle, (char *)&counter, NULL, "counter", 0, 4, 0, 0);
    char path[SCRATCH_SIZE], said[512] = "";
    const int kept = dup(STDERR_FILENO), file = mkstemp(scratch_path(path));
    assert_true(kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    const cudaError_t result =
        cudaLaunchKernel(STUB(add), dim(1, 1, 1), dim(1, 1, 1), NULL, 0, NULL);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    assert_true(pread(file, said, sizeof said - 1, 0) > 0);
    assert_non_null(strstr(said, "has no code for this device, whose compute capability is 9.0"));
    assert_non_null(strstr(said, "nvcc -arch=compute_80 -code=compute_80, or"));
    close(kept);
    close(file);
    unlink(path);
    assert_int_equal(result, cudaErrorNoKernelImageForDevice);
    assert_int_equal(cudaGetLastError(), result);
    FAILS(cudaErrorNoKernelImageForDevice, cudaFuncGetAttributes(&attributes, STUB(add)));
    FAILS(cudaErrorNoKernelImageForDevice, cudaGetSymbolAddress(&at, &counter));
    acu_sim_reset("cc=10.0");
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    assert_int_equal(attributes.binaryVersion, 100);
    OK(cudaGetSymbolAddress(&at, &counter));
}

TEST(a_program_is_no_leak_and_no_librarys_to_unload) {
    cudaKernel_t kernel;
    struct cudaFuncAttributes attributes;
    OK(cudaFuncGetAttributes(&attributes, STUB(add)));
    OK(cudaGetKernel(&kernel, STUB(add)));
    assert_int_equal(acu_sim_leaks(1), 0);
    FAILS(cudaErrorInvalidResourceHandle, cudaLibraryUnload((cudaLibrary_t)(void *)handle));
}

#define P(name) cmocka_unit_test_setup_teardown(name, begin_program, end_program)

int main(void) {
    const struct CMUnitTest tests[] = {
        P(stubs_launch),
        P(handles_outlive_a_reset),
        P(configurations_nest),
        P(configurations_are_a_threads_own),
        P(too_many_configurations),
        P(kernels_by_their_host_functions),
        P(what_is_no_kernel),
        P(a_kernel_that_nobody_gave_a_function),
        P(the_threads_own_stream),
        P(nodes_name_the_host_function),
        P(captured_launches_name_the_host_function),
        P(the_safe_layer_runs_one),
        P(variables_by_their_host_addresses),
        P(parts_of_variables),
        P(what_is_wrong_with_a_variable),
        P(managed_variables),
        P(a_launch_places_managed_variables),
        P(nodes_that_copy_variables),
        P(what_is_unregistered_is_no_kernel),
        P(of_two_the_later_counts),
        P(nothing_for_this_device),
        P(a_program_is_no_leak_and_no_librarys_to_unload),
    };
    return RUN(tests);
}
