/* Modules and kernels: PTX on a GPU, functions of the same names on the simulator. */
#include "fuzz.h"

#include <anycuda/sim.h>

#define ENTRY(name, parameters, limits)                                                            \
    ".visible .entry " name "(" parameters ")" limits "\n{\n    ret;\n}\n"

const char module_text[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .global .align 8 .b8 table[100];\n" ENTRY("plain", "", "") ENTRY(
        "two", ".param .u64 a, .param .u32 b", "") ENTRY("at_most_64", "", "\n.maxntid 64, 1, 1")
        ENTRY(
            "exactly_64", "",
            "\n.reqntid 64, 1, 1") ".visible .entry store(.param .u64 where, .param .u32 what)\n{\n"
                                   "    .reg .b64 %rd<3>;\n    .reg .b32 %r<2>;\n"
                                   "    ld.param.u64 %rd1, [where];\n    ld.param.u32 %r1, "
                                   "[what];\n"
                                   "    cvta.to.global.u64 %rd2, %rd1;\n    st.global.u32 [%rd2], "
                                   "%r1;\n    ret;\n}\n";

static const char *const names[] = {"plain", "two", "at_most_64", "exactly_64"};
enum { KERNELS = sizeof names / sizeof *names };

static CUmodule module;
static CUfunction functions[KERNELS], store;
static cudaKernel_t kernels[KERNELS];

static void run_nothing(const acu_sim_launch *launch, void *const *arguments) {
    (void)launch;
    (void)arguments;
}

static void run_store(const acu_sim_launch *launch, void *const *arguments) {
    unsigned *where = acu_sim_at(launch, *(void *const *)arguments[0], sizeof *where);
    *where = *(const unsigned *)arguments[1];
}

void kernels_load(void) {
    cudaLibrary_t library = NULL;
    for (int i = 0; i < KERNELS; i++)
        (void)acu_sim_register(names[i], run_nothing);
    (void)acu_sim_register("store", run_store);
    call("cuModuleLoadData(module)");
    answer(cuModuleLoadData(&module, module_text), "%s", "");
    const bool has_libraries =
        runtime() >= 12080 &&
        !cudaLibraryLoadData(&library, module_text, NULL, NULL, 0, NULL, NULL, 0);
    (void)cuModuleGetFunction(&store, module, "store");
    for (int i = 0; i < KERNELS; i++) {
        (void)cuModuleGetFunction(&functions[i], module, names[i]);
        if (has_libraries)
            (void)cudaLibraryGetKernel(&kernels[i], library, names[i]);
    }
}

CUfunction any_function(const char **chosen) {
    const unsigned index = below(KERNELS);
    *chosen = names[index];
    return functions[index];
}

CUfunction storing_function(void) {
    return store;
}

const void *any_kernel(const char **chosen) {
    const unsigned index = below(KERNELS);
    *chosen = names[index];
    return kernels[index];
}

/* ---- launches ---- */

static unsigned any_extent(void) {
    return (unsigned)ONE_OF(1, 1, 1, 2, 64, 0, 65536);
}

static void launch(void) {
    const chosen_stream s = any_stream();
    const char *chosen;
    const void *kernel = any_kernel(&chosen);
    const dim3 grid = {any_extent(), (unsigned)ONE_OF(1, 1, 1, 0, 70000), 1},
               block = {(unsigned)ONE_OF(1, 32, 64, 64, 0, 1024, 1025),
                        (unsigned)ONE_OF(1, 1, 1, 2), 1};
    const size_t shared = (size_t)ONE_OF(0, 0, 0, 1000, 49152, 49153, 300000);
    unsigned long long words[2] = {0};
    void *arguments[2] = {words, words + 1};
    if (!kernel)
        return;
    if (one_in(5)) {
        call("cudaLaunchCooperativeKernel(%s, {%u, %u}, {%u, %u}, %zu, %s)", chosen, grid.x, grid.y,
             block.x, block.y, shared, s.name);
        answer(cudaLaunchCooperativeKernel(kernel, grid, block, arguments, shared, s.handle), "%s",
               "");
    } else {
        call("cudaLaunchKernel(%s, {%u, %u}, {%u, %u}, %zu, %s)", chosen, grid.x, grid.y, block.x,
             block.y, shared, s.name);
        answer(cudaLaunchKernel(kernel, grid, block, arguments, shared, s.handle), "%s", "");
    }
    settle(s);
}

static void driver_launch(void) {
    const chosen_stream s = any_stream();
    const char *chosen;
    CUfunction function = any_function(&chosen);
    const unsigned grid = any_extent(), block = (unsigned)ONE_OF(1, 32, 64, 64, 0, 1024, 1025),
                   shared = (unsigned)ONE_OF(0, 0, 0, 1000, 49152, 49153, 300000);
    unsigned long long words[2] = {0};
    void *arguments[2] = {words, words + 1};
    if (one_in(20)) {
        function = NULL;
        chosen = "NULL";
    }
    call("cuLaunchKernel(%s, %u, %u, %u, %s)", chosen, grid, block, shared, s.name);
    answer(cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, s.handle, arguments, NULL),
           "%s", "");
    settle(s);
}

/* ---- what is known of a kernel ---- */

static void occupancy(void) {
    const char *chosen;
    CUfunction function = any_function(&chosen);
    int blocks = -7;
    const int size = ONE_OF(0, 1, 32, 64, 1024, 1025, -1);
    const size_t shared = (size_t)ONE_OF(0, 0, 1000, 49153, 300000);
    call("cuOccupancyMaxActiveBlocksPerMultiprocessor(%s, %d, %zu)", chosen, size, shared);
    const CUresult result =
        cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, size, shared);
    answer(result, "%d", blocks);
}

static void runtime_occupancy(void) {
    const char *chosen;
    const void *kernel = any_kernel(&chosen);
    int blocks = -7;
    const int size = ONE_OF(0, 1, 32, 64, 1024, 1025, -1);
    const size_t shared = (size_t)ONE_OF(0, 0, 1000, 49153, 300000);
    if (!kernel)
        return;
    const unsigned flags = (unsigned)ONE_OF(0, 0, 1, 2);
    call("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(%s, %d, %zu, %u)", chosen, size,
         shared, flags);
    const cudaError_t result = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        &blocks, kernel, size, shared, flags);
    answer(result, "%d", blocks);
}

/* What the compiler decided, such as registers, is the chip's own. */
static void attributes(void) {
    const char *chosen;
    const void *kernel = any_kernel(&chosen);
    struct cudaFuncAttributes got = {.maxThreadsPerBlock = -7};
    if (!kernel)
        return;
    if (one_in(2)) {
        const int attribute = ONE_OF(-1, 0, 8, 8, 9, 10, 20), /* 11 alone crashes CUDA */
            value = ONE_OF(-2, -1, 0, 100, 101, 65536, 300000);
        call("cudaFuncSetAttribute(%s, %d, %d)", chosen, attribute, value);
        answer(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute)attribute, value), "%s", "");
    } else {
        call("cudaFuncGetAttributes(%s)", chosen);
        const cudaError_t result = cudaFuncGetAttributes(&got, kernel);
        answer(result, "%d %d %d", got.maxThreadsPerBlock, got.maxDynamicSharedSizeBytes,
               got.preferredShmemCarveout);
    }
}

static void driver_attributes(void) {
    const char *chosen;
    CUfunction function = any_function(&chosen);
    const int attribute = ONE_OF(0, 1, 2, 3, 8, 8, 9, 10, 17, 30); /* -1 crashes CUDA */
    int value = -7;
    if (one_in(2)) {
        const int wanted = ONE_OF(-2, -1, 0, 100, 101, 65536, 300000);
        call("cuFuncSetAttribute(%s, %d, %d)", chosen, attribute, wanted);
        answer(cuFuncSetAttribute(function, (CUfunction_attribute)attribute, wanted), "%s", "");
    } else {
        call("cuFuncGetAttribute(%d, %s)", attribute, chosen);
        const CUresult result =
            cuFuncGetAttribute(&value, (CUfunction_attribute)attribute, function);
        answer(result, "%d", value);
    }
}

static void look_up(void) {
    static const char *const wanted[] = {"plain", "table", "", "nothing of it"};
    const char *symbol = wanted[below(4)];
    CUfunction function = UNWRITTEN;
    CUdeviceptr address = 7;
    size_t size = 7;
    if (one_in(2)) {
        call("cuModuleGetFunction(\"%s\")", symbol);
        const CUresult result = cuModuleGetFunction(&function, module, symbol);
        answer(result, "%s", handle_state(function));
    } else {
        call("cuModuleGetGlobal(\"%s\")", symbol);
        const CUresult result = cuModuleGetGlobal(&address, &size, module, symbol);
        answer(result, "%zu", size);
    }
}

static void load_wrong(void) {
    static const char *const texts[] = {"", "nonsense", ".version 7.0\n.target sm_52\nfoo"};
    const unsigned chosen = below(3);
    CUmodule made = UNWRITTEN;
    call("cuModuleLoadData(wrong %u)", chosen);
    const CUresult result = cuModuleLoadData(&made, texts[chosen]);
    answer(result, "%s", handle_state(made));
}

const operation kernel_operations[] = {
    OPERATION(launch, 6, false),     OPERATION(driver_launch, 8, false),
    OPERATION(occupancy, 3, false),  OPERATION(runtime_occupancy, 3, false),
    OPERATION(attributes, 4, false), OPERATION(driver_attributes, 3, false),
    OPERATION(look_up, 2, false),    OPERATION(load_wrong, 1, false),
    OPERATION(NULL, 0, false),
};
