/* Launches with attributes and with parameters, libraries, and what is known of functions. */
#include "fuzz.h"

/* ---- launches ---- */

/* What a launch may be given; of several fields only those that are right with zeros. */
static unsigned any_attributes(CUlaunchAttribute attributes[2]) {
    const unsigned count = (unsigned)ONE_OF(0, 1, 1, 1, 2);
    memset(attributes, 0, 2 * sizeof *attributes);
    for (unsigned i = 0; i < count; i++) {
        attributes[i].id = (CUlaunchAttributeID)ONE_OF(0, 2, 2, 4, 4, 5, 6, 6, 8, 8, 10, 14, 30);
        if (attributes[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            attributes[i].value.clusterDim.x = (unsigned)ONE_OF(1, 2, 2, 4, 0, 16);
            attributes[i].value.clusterDim.y = attributes[i].value.clusterDim.z = 1;
        } else {
            attributes[i].value.priority = ONE_OF(0, 0, 1, 1, -1, 7);
        }
    }
    return count;
}

/* The first field of an attribute's value. */
static int first_of(const CUlaunchAttribute *attribute) {
    return attribute->value.priority;
}

static void driver_launch_with(void) {
    const chosen_stream s = any_stream();
    const char *chosen;
    CUfunction function = any_function(&chosen);
    unsigned long long words[2] = {0};
    void *arguments[2] = {words, words + 1};
    CUlaunchAttribute attributes[2];
    CUlaunchConfig config;
    memset(&config, 0, sizeof config);
    config.gridDimX = (unsigned)ONE_OF(1, 2, 4, 4, 3, 0);
    config.blockDimX = (unsigned)ONE_OF(1, 32, 64, 64, 0, 1025);
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = (unsigned)ONE_OF(0, 0, 0, 1000, 300000);
    config.hStream = s.handle;
    config.attrs = attributes;
    config.numAttrs = any_attributes(attributes);
    call("cuLaunchKernelEx(%s, %u, %u, %u, {%d %d, %d %d}, %u, %s)", chosen, config.gridDimX,
         config.blockDimX, config.sharedMemBytes, (int)attributes[0].id, first_of(attributes),
         (int)attributes[1].id, first_of(attributes + 1), config.numAttrs, s.name);
    answer(cuLaunchKernelEx(&config, function, arguments, NULL), "%s", "");
    settle(s);
}

/* The runtime's attributes are the driver's. */
static unsigned any_runtime_attributes(cudaLaunchAttribute attributes[2]) {
    CUlaunchAttribute chosen[2];
    const unsigned count = any_attributes(chosen);
    memset(attributes, 0, 2 * sizeof *attributes);
    for (int i = 0; i < 2; i++) {
        attributes[i].id = (cudaLaunchAttributeID)chosen[i].id;
        if (attributes[i].id == cudaLaunchAttributeClusterDimension) {
            attributes[i].val.clusterDim.x = chosen[i].value.clusterDim.x;
            attributes[i].val.clusterDim.y = attributes[i].val.clusterDim.z = 1;
        } else {
            attributes[i].val.priority = chosen[i].value.priority;
        }
    }
    return count;
}

static cudaLaunchConfig_t any_config(cudaLaunchAttribute attributes[2], cudaStream_t stream) {
    cudaLaunchConfig_t config;
    memset(&config, 0, sizeof config);
    config.gridDim = (dim3){(unsigned)ONE_OF(1, 2, 4, 4, 3, 0), 1, 1};
    config.blockDim = (dim3){(unsigned)ONE_OF(1, 32, 64, 64, 0, 1025), 1, 1};
    config.dynamicSmemBytes = (size_t)ONE_OF(0, 0, 0, 1000, 300000);
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = any_runtime_attributes(attributes);
    return config;
}

static void launch_with(void) {
    const chosen_stream s = any_stream();
    const char *chosen;
    const void *kernel = any_kernel(&chosen);
    unsigned long long words[2] = {0};
    void *arguments[2] = {words, words + 1};
    cudaLaunchAttribute attributes[2];
    const cudaLaunchConfig_t config = any_config(attributes, s.handle);
    if (!kernel)
        return;
    call("cudaLaunchKernelExC(%s, %u, %u, %zu, {%d %d, %d %d}, %u, %s)", chosen, config.gridDim.x,
         config.blockDim.x, config.dynamicSmemBytes, (int)attributes[0].id,
         attributes[0].val.priority, (int)attributes[1].id, attributes[1].val.priority,
         config.numAttrs, s.name);
    answer(cudaLaunchKernelExC(&config, kernel, arguments), "%s", "");
    settle(s);
}

static void driver_cooperative(void) {
    const chosen_stream s = any_stream();
    const char *chosen;
    CUfunction function = any_function(&chosen);
    const unsigned grid = (unsigned)ONE_OF(1, 1, 2, 0, 65536),
                   block = (unsigned)ONE_OF(1, 32, 64, 0, 1025);
    unsigned long long words[2] = {0};
    void *arguments[2] = {words, words + 1};
    call("cuLaunchCooperativeKernel(%s, %u, %u, %s)", chosen, grid, block, s.name);
    answer(cuLaunchCooperativeKernel(function, grid, 1, 1, block, 1, 1, 0, s.handle, arguments),
           "%s", "");
    settle(s);
}

/* A kernel that writes a number to memory. */
static void launch_store(void) {
    const chosen_stream s = any_stream();
    place to = any_target();
    unsigned long long address = (uintptr_t)to.address;
    unsigned value = below(1000);
    void *arguments[2] = {&address, &value};
    const bool captured = is_capturing(s);
    if (!to.object || (to.object->memory != DEVICE && to.object->memory != PINNED) || to.room < 4 ||
        address % 4)
        return;
    call("cuLaunchKernel(store, %s, %u, %s)", to.name, value, s.name);
    answer(cuLaunchKernel(storing_function(), 1, 1, 1, 1, 1, 1, 0, s.handle, arguments, NULL), "%s",
           "");
    uses(&to, true, captured);
    settle(s);
}

/* ---- what is known of a kernel ---- */

/* How much a chip has is its own. */
static void cluster_occupancy(void) {
    const char *chosen;
    const void *kernel = any_kernel(&chosen);
    cudaLaunchAttribute attributes[2];
    const cudaLaunchConfig_t config = any_config(attributes, NULL);
    int count = -7;
    size_t bytes = 7;
    cudaError_t result;
    if (!kernel || !config.gridDim.x || !config.blockDim.x)
        return;
    switch (below(3)) {
    case 0:
        call("cudaOccupancyMaxActiveClusters(%s, %u, %u, {%d %d}, %u)", chosen, config.gridDim.x,
             config.blockDim.x, (int)attributes[0].id, attributes[0].val.priority, config.numAttrs);
        result = cudaOccupancyMaxActiveClusters(&count, kernel, &config);
        answer(result, "%s", count == -7 ? "same" : "written");
        break;
    case 1:
        call("cudaOccupancyMaxPotentialClusterSize(%s, %u, %u, {%d %d}, %u)", chosen,
             config.gridDim.x, config.blockDim.x, (int)attributes[0].id, attributes[0].val.priority,
             config.numAttrs);
        result = cudaOccupancyMaxPotentialClusterSize(&count, kernel, &config);
        answer(result, "%s", count == -7 ? "same" : "written");
        break;
    default: {
        const int blocks = ONE_OF(1, 2, 32, 64, 1000), size = ONE_OF(1, 32, 64, 1024, 1025);
        call("cudaOccupancyAvailableDynamicSMemPerBlock(%s, %d, %d)", chosen, blocks, size);
        result = cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, blocks, size);
        answer(result, "%s", bytes == 7 ? "same" : "written");
    }
    }
}

static void parameters(void) {
    const char *chosen;
    CUfunction function = any_function(&chosen);
    const size_t index = (size_t)ONE_OF(0, 0, 1, 2, 100);
    size_t offset = 7, size = 7;
    const char *text = NULL;
    if (one_in(2)) {
        call("cuFuncGetParamInfo(%s, %zu)", chosen, index);
        const CUresult result = cuFuncGetParamInfo(function, index, &offset, &size);
        answer(result, "%zu %zu", offset, size);
    } else {
        call("cuFuncGetName(%s)", chosen);
        const CUresult result = cuFuncGetName(&text, function);
        answer(result, "%s", text ? text : "NULL");
    }
}

static void runtime_parameters(void) {
    const char *chosen, *text = NULL;
    const void *kernel = any_kernel(&chosen);
    const size_t index = (size_t)ONE_OF(0, 0, 1, 2, 100);
    size_t offset = 7, size = 7;
    cudaError_t result;
    if (!kernel)
        return;
    switch (below(3)) {
    case 0:
        call("cudaFuncGetParamInfo(%s, %zu)", chosen, index);
        result = cudaFuncGetParamInfo(kernel, index, &offset, &size);
        answer(result, "%zu %zu", offset, size);
        break;
    case 1:
        call("cudaFuncGetParamCount(%s)", chosen);
        result = cudaFuncGetParamCount(kernel, &size);
        answer(result, "%zu", size);
        break;
    default:
        call("cudaFuncGetName(%s)", chosen);
        result = cudaFuncGetName(&text, kernel);
        answer(result, "%s", text ? text : "NULL");
    }
}

static void kernel_config(void) {
    const char *chosen;
    const void *kernel = any_kernel(&chosen);
    const int wanted = ONE_OF(-1, 0, 1, 2, 3, 4);
    if (!kernel)
        return;
    switch (below(3)) {
    case 0:
        call("cudaFuncSetCacheConfig(%s, %d)", chosen, wanted);
        answer(cudaFuncSetCacheConfig(kernel, (enum cudaFuncCache)wanted), "%s", "");
        break;
    case 1:
        call("cudaFuncSetSharedMemConfig(%s, %d)", chosen, wanted);
        answer(cudaFuncSetSharedMemConfig(kernel, (enum cudaSharedMemConfig)wanted), "%s", "");
        break;
    default: {
        const int attribute = ONE_OF(0, 8, 8, 9, 10, 20), value = ONE_OF(-1, 0, 100, 65536),
                  device = any_device();
        call("cudaKernelSetAttributeForDevice(%s, %d, %d, %d)", chosen, attribute, value, device);
        answer(cudaKernelSetAttributeForDevice((cudaKernel_t)(uintptr_t)kernel,
                                               (enum cudaFuncAttribute)attribute, value, device),
               "%s", "");
    }
    }
}

/* ---- modules and libraries that live for these calls only ---- */

static void own_module(void) {
    CUmodule made = UNWRITTEN;
    unsigned count = 77;
    call("cuModuleLoadData(own)");
    const CUresult result = cuModuleLoadData(&made, module_text);
    answer(result, "%s", handle_state(made));
    if (result || made == UNWRITTEN)
        return;
    call("cuModuleGetFunctionCount(own)");
    const CUresult second = cuModuleGetFunctionCount(&count, made);
    answer(second, "%u", count);
    call("cuModuleUnload(own)");
    answer(cuModuleUnload(made), "%s", "");
}

static void ask_library(cudaLibrary_t library) {
    static const char *const symbols[] = {"plain", "table", "nothing of it", ""};
    const char *symbol = symbols[below(4)];
    void *address = UNWRITTEN;
    cudaKernel_t kernel = UNWRITTEN;
    size_t size = 7;
    unsigned count = 77;
    cudaError_t result;
    switch (below(4)) {
    case 0:
        call("cudaLibraryGetKernel(own, \"%s\")", symbol);
        result = cudaLibraryGetKernel(&kernel, library, symbol);
        answer(result, "%s", handle_state(kernel));
        break;
    case 1:
        call("cudaLibraryGetGlobal(own, \"%s\")", symbol);
        result = cudaLibraryGetGlobal(&address, &size, library, symbol);
        answer(result, "%s %zu", handle_state(address), size);
        break;
    case 2:
        call("cudaLibraryGetManaged(own, \"%s\")", symbol);
        result = cudaLibraryGetManaged(&address, &size, library, symbol);
        answer(result, "%s %zu", handle_state(address), size);
        break;
    default:
        call("cudaLibraryGetKernelCount(own)");
        result = cudaLibraryGetKernelCount(&count, library);
        answer(result, "%u", count);
    }
}

static void own_library(void) {
    static const char *const wrong[] = {"", "nonsense"};
    cudaLibrary_t made = UNWRITTEN;
    const char *text = one_in(6) ? wrong[below(2)] : module_text;
    call("cudaLibraryLoadData(%s)", text == module_text ? "own" : "wrong");
    const cudaError_t result = cudaLibraryLoadData(&made, text, NULL, NULL, 0, NULL, NULL, 0);
    answer(result, "%s", handle_state(made));
    if (result || !made || made == UNWRITTEN)
        return;
    ask_library(made);
    ask_library(made);
    call("cudaLibraryUnload(own)");
    answer(cudaLibraryUnload(made), "%s", "");
}

const operation library_operations[] = {
    OPERATION(driver_launch_with, 5, false),
    OPERATION(launch_with, 4, false),
    OPERATION(driver_cooperative, 2, false),
    OPERATION(launch_store, 5, false),
    OPERATION(cluster_occupancy, 2, false),
    OPERATION(parameters, 2, false),
    OPERATION(runtime_parameters, 2, false),
    OPERATION(kernel_config, 2, false),
    OPERATION(own_module, 1, false),
    OPERATION(own_library, 2, false),
    OPERATION(NULL, 0, false),
};
