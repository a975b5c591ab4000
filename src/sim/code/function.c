/* Functions: their attributes, parameters and occupancy. */
#include "sim/code/function.h"

#include "sim/behaviour.h"
#include "sim/code/image.h"
#include "sim/code/module.h"
#include "sim/device/context.h"
#include "sim/device/device.h"
#include "sim/device/device_resource.h"
#include "sim/ptx/pressure.h"
#include "sim/stream/execution_context.h"
#include "sim/stream/stream.h"

#include <string.h>

/* ---- resources ---- */

/* Returns an estimate of the registers of a kernel that is PTX alone, which does not say them. */
static unsigned estimate(const acu_sim_function *function) {
    enum { OF_MOST_SMALL_KERNELS = 32 };
    acu_sim_entry *entry = function->entry;
    ptx_module *ptx = function->module->image->ptx;
    const ptx_function *kernel = ptx ? acu_ptx_module_function(ptx, entry->name) : NULL;
    if (!entry->estimate)
        entry->estimate = kernel ? acu_ptx_estimate_registers(ptx, kernel) : OF_MOST_SMALL_KERNELS;
    return entry->estimate;
}

unsigned acu_sim_function_registers(const acu_sim_function *function) {
    return function->entry->registers ? function->entry->registers : estimate(function);
}

static unsigned volume(const unsigned extents[3]) {
    return extents[0] * extents[1] * extents[2];
}

static size_t rounded(size_t value, size_t unit) {
    return (value + unit - 1) / unit * unit;
}

static size_t device_limit(const acu_sim_function *function, enum cudaDeviceAttr attribute) {
    return (size_t)acu_sim_device_attribute(function->module->device, attribute);
}

/* Returns how many warps fit into the registers, `registers` being the attribute with their number,
 * where a thread has `of_thread`. A multiprocessor has four parts, and each gives its registers to
 * whole warps. */
static size_t warps_by_registers(const acu_sim_function *function, unsigned of_thread,
                                 enum cudaDeviceAttr registers) {
    size_t of_warp = rounded(of_thread * (size_t)32, 256);
    return device_limit(function, registers) / 4 / of_warp * 4;
}

unsigned acu_sim_function_threads(const acu_sim_function *function) {
    const acu_sim_entry *entry = function->entry;
    unsigned most = (unsigned)device_limit(function, cudaDevAttrMaxThreadsPerBlock);
    unsigned declared = volume(entry->max_threads); /* .reqntid does not change the attribute */
    if (entry->registers) {                         /* an estimate refuses no launch */
        unsigned fit = (unsigned)warps_by_registers(function, entry->registers,
                                                    cudaDevAttrMaxRegistersPerBlock) *
                       32;
        most = fit < most ? fit : most;
    }
    return declared && declared < most ? declared : most;
}

/* Returns how much of the shared memory the function prefers: by its attribute, or else by the
 * preference between shared memory and the first-level cache. */
static size_t preferred_shared(const acu_sim_function *function, size_t all) {
    const enum cudaFuncCache cache =
        function->cache ? function->cache : function->module->context->cache;
    if (function->set.carveout >= 0)
        return all * (size_t)function->set.carveout / 100;
    return cache == cudaFuncCachePreferL1 ? 0 : cache == cudaFuncCachePreferEqual ? all / 2 : all;
}

/* Returns how much of a multiprocessor's shared memory the blocks may take: all, or what the
 * program prefers, of the sizes that a GPU offers; but as much as one block needs. */
static size_t shared_capacity(const acu_sim_function *function, size_t of_block) {
    enum { KIB = 1 << 10 };
    static const unsigned offered[] = {8, 16, 32, 64, 100, 132, 164, 196}; /* below the largest */
    const size_t all = device_limit(function, cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    size_t wanted = preferred_shared(function, all);
    if (wanted < of_block)
        wanted = of_block;
    for (size_t i = 0; i < sizeof offered / sizeof *offered; i++)
        if (offered[i] * (size_t)KIB >= wanted && offered[i] * (size_t)KIB < all)
            return offered[i] * (size_t)KIB;
    return all;
}

/* Returns how many blocks of so many warps have their registers at once. An estimate leaves one
 * block at least, as ptxas does where it knows the size. */
static size_t blocks_by_registers(const acu_sim_function *function, unsigned of_thread,
                                  size_t warps) {
    const size_t blocks =
        warps_by_registers(function, of_thread, cudaDevAttrMaxRegistersPerMultiprocessor) / warps;
    return blocks || function->entry->registers ? blocks : 1;
}

/* Returns the smallest of four limits, as in CUDA's occupancy calculator: blocks, warps, registers,
 * shared memory with what is reserved in each block. GPUs read the dynamic size as a signed 32-bit
 * number. */
static unsigned occupancy(const acu_sim_function *function, unsigned registers, unsigned threads,
                          size_t shared) {
    size_t warps = (threads + 31) / 32, cc = (size_t)acu_sim_configuration()->cc;
    const int64_t asked = (int32_t)(uint32_t)shared;
    const int64_t usual = (int64_t)device_limit(function, cudaDevAttrMaxSharedMemoryPerBlock) -
                          (int64_t)function->entry->shared;
    const int64_t most = function->set.dynamic > usual ? function->set.dynamic : usual;
    /* What the function declares with .maxntid is not looked at. */
    if (!warps || threads > device_limit(function, cudaDevAttrMaxThreadsPerBlock) || asked > most)
        return 0;
    size_t best = device_limit(function, cudaDevAttrMaxBlocksPerMultiprocessor);
    size_t by_warps = device_limit(function, cudaDevAttrMaxThreadsPerMultiProcessor) / 32 / warps;
    size_t by_registers = blocks_by_registers(function, registers, warps);
    size_t reserve = cc >= 80 ? device_limit(function, cudaDevAttrReservedSharedMemoryPerBlock) : 0;
    const int64_t bytes = (int64_t)(function->entry->shared + reserve) + asked;
    size_t of_block = rounded(bytes > 0 ? (size_t)bytes : 0, cc >= 80 ? 128 : 256);
    size_t by_shared = of_block ? shared_capacity(function, of_block) / of_block : best;
    best = by_warps < best ? by_warps : best;
    best = by_registers < best ? by_registers : best;
    return (unsigned)(by_shared < best ? by_shared : best);
}

unsigned acu_sim_function_occupancy(const acu_sim_function *function, unsigned threads,
                                    size_t shared) {
    return occupancy(function, acu_sim_function_registers(function), threads, shared);
}

unsigned acu_sim_function_resident(const acu_sim_function *function, unsigned threads,
                                   size_t shared) {
    enum { FEW = 32 };
    const unsigned registers = acu_sim_function_registers(function);
    const bool is_estimate = !function->entry->registers;
    return occupancy(function, is_estimate && registers > FEW ? FEW : registers, threads, shared);
}

/* ---- attributes ---- */

/* The values of CUfunction_attribute; cudaFuncAttribute has a part of them. */
enum {
    MAX_THREADS,
    SHARED_BYTES,
    CONST_BYTES,
    LOCAL_BYTES,
    REGISTERS,
    PTX_VERSION,
    BINARY_VERSION,
    CACHE_CA,
    DYNAMIC_BYTES,
    CARVEOUT,
    CLUSTER_MUST_BE_SET,
    CLUSTER_WIDTH,
    CLUSTER_HEIGHT,
    CLUSTER_DEPTH,
    BIG_CLUSTERS,
    CLUSTER_POLICY,
    NODE_UPDATE,
    SHARED_MODE,
};

/* Returns the binary version; an image of PTX is compiled for the device itself. */
static int binary_version(const acu_sim_code_image *image) {
    return image->binary ? image->binary : acu_sim_configuration()->cc;
}

static cudaError_t get_attribute(const acu_sim_function *f, const acu_sim_settings *set,
                                 int attribute, int *value) {
    const acu_sim_code_image *image = f->module->image;
    const struct {
        int attribute, value;
    } values[] = {
        {MAX_THREADS, (int)acu_sim_function_threads(f)},
        {SHARED_BYTES, (int)f->entry->shared},
        {CONST_BYTES, (int)image->constant_bytes},
        {LOCAL_BYTES, (int)f->entry->local},
        {REGISTERS, (int)acu_sim_function_registers(f)},
        {PTX_VERSION, image->target},
        {BINARY_VERSION, binary_version(image)},
        {CACHE_CA, 0},
        {DYNAMIC_BYTES, set->dynamic},
        {CARVEOUT, set->carveout},
        {CLUSTER_MUST_BE_SET, set->cluster_must_be_set},
        {CLUSTER_WIDTH, set->cluster[0]},
        {CLUSTER_HEIGHT, set->cluster[1]},
        {CLUSTER_DEPTH, set->cluster[2]},
        {BIG_CLUSTERS, set->big_clusters},
        {CLUSTER_POLICY, set->cluster_policy},
        {NODE_UPDATE, 0},
        {SHARED_MODE, 0},
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].attribute == attribute) {
            *value = values[i].value;
            return cudaSuccess;
        }
    return cudaErrorInvalidValue;
}

static cudaError_t set_dynamic_bytes(const acu_sim_function *f, acu_sim_settings *set, int value) {
    size_t most = device_limit(f, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    if (value < 0 || (size_t)value + f->entry->shared > most)
        return cudaErrorInvalidValue;
    set->dynamic = value;
    return cudaSuccess;
}

static cudaError_t set_attribute(const acu_sim_function *f, acu_sim_settings *set, int attribute,
                                 int value) {
    switch (attribute) {
    case DYNAMIC_BYTES:
        return set_dynamic_bytes(f, set, value);
    case CARVEOUT:
        if (value < -1 || value > 100)
            return cudaErrorInvalidValue;
        set->carveout = value;
        return cudaSuccess;
    case CLUSTER_WIDTH:
    case CLUSTER_HEIGHT:
    case CLUSTER_DEPTH:
        if (f->entry->cluster[0] && (unsigned)value != f->entry->cluster[attribute - CLUSTER_WIDTH])
            return cudaErrorNotPermitted; /* the size is fixed in the code */
        if (value < 0)
            return cudaErrorInvalidValue;
        set->cluster[attribute - CLUSTER_WIDTH] = value;
        return cudaSuccess;
    case BIG_CLUSTERS:
        set->big_clusters = value != 0;
        return cudaSuccess;
    case CLUSTER_POLICY:
        if (!acu_sim_knows(&acu_cudart_type_cudaClusterSchedulingPolicy, value))
            return cudaErrorInvalidValue;
        set->cluster_policy = value;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t acu_sim_function_get(const acu_sim_function *f, int attribute, int *value) {
    return get_attribute(f, &f->set, attribute, value);
}

cudaError_t acu_sim_function_set(acu_sim_function *f, int attribute, int value) {
    cudaError_t result = set_attribute(f, &f->set, attribute, value);
    if (!result)
        f->own |= UINT32_C(1) << attribute;
    return result;
}

cudaError_t acu_sim_kernel_get(const acu_sim_function *f, int attribute, int *value) {
    return get_attribute(f, &f->of_kernel, attribute, value);
}

cudaError_t acu_sim_kernel_set(acu_sim_function *f, int attribute, int value) {
    const acu_sim_module *here = f->module;
    const size_t index = (size_t)(f - here->functions);
    cudaError_t result = set_attribute(f, &f->of_kernel, attribute, value);
    for (acu_sim_module *m = here->library->modules; m && !result; m = m->next_of_library) {
        acu_sim_function *other = &m->functions[index];
        if (m->device != here->device)
            continue;
        other->of_kernel = f->of_kernel;
        if (!(other->own & UINT32_C(1) << attribute))
            result = set_attribute(other, &other->set, attribute, value);
    }
    return result;
}

/* ---- functions of the runtime ---- */

/* Finds the kernel's function in the current context. */
static cudaError_t find(const void *func, acu_sim_function **function) {
    acu_sim_kernel_handle *kernel = acu_sim_kernel_of_symbol(func);
    return kernel ? acu_sim_kernel_function(kernel, acu_sim_context_now(), function)
                  : cudaErrorInvalidDeviceFunction;
}

void acu_sim_function_describe(const acu_sim_function *f, struct cudaFuncAttributes *a) {
    const acu_sim_settings *set =
        acu_sim_behaviour_attributes_are_the_kernels() ? &f->of_kernel : &f->set;
    *a = (struct cudaFuncAttributes){
        .sharedSizeBytes = f->entry->shared,
        .constSizeBytes = f->module->image->constant_bytes,
        .localSizeBytes = f->entry->local,
        .maxThreadsPerBlock = (int)acu_sim_function_threads(f),
        .numRegs = (int)acu_sim_function_registers(f),
        .ptxVersion = f->module->image->target,
        .binaryVersion = binary_version(f->module->image),
        .maxDynamicSharedSizeBytes = set->dynamic,
        .preferredShmemCarveout = set->carveout,
        .clusterDimMustBeSet = set->cluster_must_be_set,
        .requiredClusterWidth = set->cluster[0],
        .requiredClusterHeight = set->cluster[1],
        .requiredClusterDepth = set->cluster[2],
        .clusterSchedulingPolicyPreference = set->cluster_policy,
        .nonPortableClusterSizeAllowed = set->big_clusters,
    };
}

cudaError_t acu_sim_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    if (!attr)
        return cudaErrorInvalidValue;
    acu_sim_function_describe(f, attr);
    return cudaSuccess;
}

static bool is_function_attribute(enum cudaFuncAttribute attribute) {
    return attribute != cudaFuncAttributeMax &&
           acu_sim_knows(&acu_cudart_type_cudaFuncAttribute, attribute);
}

cudaError_t acu_sim_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    if (!is_function_attribute(attr))
        return cudaErrorInvalidValue;
    SIM_TRY(acu_sim_behaviour_attributes_are_the_kernels()
                ? acu_sim_kernel_set(f, (int)attr, value)
                : acu_sim_function_set(f, (int)attr, value));
    acu_sim_self()->last = cudaSuccess; /* no other call that succeeds forgets the last error */
    return cudaSuccess;
}

cudaError_t acu_sim_cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                    enum cudaFuncAttribute attr, int value,
                                                    int device) {
    acu_sim_function *f;
    acu_sim_kernel_handle *k = acu_sim_kernel_of(kernel);
    acu_sim_device *d = acu_sim_device_at(device);
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    if (!is_function_attribute(attr))
        return cudaErrorInvalidValue;
    if (!d)
        return cudaErrorInvalidDevice;
    SIM_TRY(acu_sim_kernel_function_on(k, d, &f));
    return acu_sim_kernel_set(f, (int)attr, value);
}

/* Finds the function that a hint to the hardware is for. `known`: the driver knows the value. */
static cudaError_t validate_hint(const void *func, bool known, acu_sim_function **function) {
    SIM_TRY(find(func, function));
    if (acu_sim_kernel_of(func) && !acu_sim_behaviour_hints_take_kernels())
        return cudaErrorInvalidDeviceFunction;
    return known ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig) {
    acu_sim_function *f;
    SIM_TRY(validate_hint(func, acu_sim_knows(&acu_cudart_type_cudaFuncCache, cacheConfig), &f));
    f->cache = cacheConfig;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config) {
    acu_sim_function *f;
    return validate_hint(func, acu_sim_knows(&acu_cudart_type_cudaSharedMemConfig, config), &f);
}

cudaError_t acu_sim_cudaFuncGetName(const char **name, const void *func) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    if (!name)
        return cudaErrorInvalidValue;
    *name = f->entry->name;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaFuncGetParamCount(const void *func, size_t *paramCount) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    SIM_TRY(acu_sim_driver_has(&acu_function_cuFuncGetParamCount));
    if (!paramCount)
        return cudaErrorInvalidValue;
    *paramCount = f->entry->param_count;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                         size_t *paramSize) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    if (!paramOffset || paramIndex >= f->entry->param_count)
        return cudaErrorInvalidValue;
    *paramOffset = f->entry->params[paramIndex].offset;
    if (paramSize)
        *paramSize = f->entry->params[paramIndex].size;
    acu_sim_self()->last = cudaSuccess; /* CUDA forgets the last error here */
    return cudaSuccess;
}

/* Returns the kernel of a host function. A handle of a kernel is accepted, too, and returned. */
cudaError_t acu_sim_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr) {
    acu_sim_function *f;
    SIM_TRY(find(entryFuncAddr, &f));
    if (!kernelPtr)
        return cudaErrorInvalidValue;
    *kernelPtr = (cudaKernel_t)(void *)acu_sim_kernel_of_symbol(entryFuncAddr);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr) {
    acu_sim_function *f;
    SIM_TRY(find(symbolPtr, &f));
    if (!functionPtr)
        return cudaErrorInvalidValue;
    if (acu_sim_kernel_of(symbolPtr) && acu_sim_behaviour_kernel_is_no_symbol())
        return cudaErrorInvalidDeviceFunction;
    *functionPtr = (cudaFunction_t)(void *)f;
    return cudaSuccess;
}

/* ---- occupancy ---- */

cudaError_t acu_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    if (!numBlocks || blockSize <= 0 || flags & ~(unsigned)cudaOccupancyDisableCachingOverride)
        return cudaErrorInvalidValue;
    *numBlocks = (int)acu_sim_function_occupancy(f, (unsigned)blockSize, dynamicSMemSize);
    return cudaSuccess;
}

cudaError_t acu_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                                  int blockSize,
                                                                  size_t dynamicSMemSize) {
    return acu_sim_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

size_t acu_sim_function_shared_for(const acu_sim_function *f, size_t blocks) {
    size_t unit = acu_sim_configuration()->cc >= 80 ? 128 : 256;
    size_t each =
        device_limit(f, cudaDevAttrMaxSharedMemoryPerMultiprocessor) / blocks / unit * unit;
    size_t taken = f->entry->shared; /* without the reserved bytes: a GPU ignored them, too */
    size_t left = each > taken ? each - taken : 0, most = (size_t)f->set.dynamic;
    return left < most ? left : most;
}

cudaError_t acu_sim_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                              const void *func, int numBlocks,
                                                              int blockSize) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0 ||
        (unsigned)numBlocks > acu_sim_function_occupancy(f, (unsigned)blockSize, 0))
        return cudaErrorInvalidValue;
    *dynamicSmemSize = acu_sim_function_shared_for(f, (size_t)numBlocks);
    return cudaSuccess;
}

/* ---- attributes of launches, and clusters ---- */

/* Attributes of 11.7 have another enumeration's name, so the table of this one lacks them. */
static bool is_launch_attribute(cudaLaunchAttributeID id) {
    return id == cudaLaunchAttributeAccessPolicyWindow || id == cudaLaunchAttributeCooperative ||
           id == cudaLaunchAttributePriority ||
           acu_sim_knows(&acu_cudart_type_cudaLaunchAttributeID, id);
}

/* `in_graph`: a node has the attribute, which CUDA lets have any scheduling policy. */
static cudaError_t validate_attribute(const cudaLaunchAttribute *a, bool in_graph) {
    bool good = is_launch_attribute(a->id);
    switch ((int)a->id) {
    case cudaLaunchAttributeSynchronizationPolicy:
        good = false;
        break;
    case cudaLaunchAttributeClusterDimension:
        /* All of them 0 is no size. */
        return !a->val.clusterDim.x == !a->val.clusterDim.y &&
                       !a->val.clusterDim.x == !a->val.clusterDim.z
                   ? cudaSuccess
                   : cudaErrorInvalidClusterSize;
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
        good &= in_graph || (unsigned)a->val.clusterSchedulingPolicyPreference <=
                                cudaClusterSchedulingPolicyLoadBalancing;
        break;
    case cudaLaunchAttributeMemSyncDomain:
        good &= (unsigned)a->val.memSyncDomain <= cudaLaunchMemSyncDomainRemote;
        break;
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
        good &= a->val.sharedMemCarveout <= 100;
        break;
    default:
        break;
    }
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t acu_sim_function_read_attributes(const cudaLaunchConfig_t *config, bool in_graph,
                                             unsigned cluster[3], bool *cooperative) {
    if (config->numAttrs && !config->attrs)
        return cudaErrorInvalidValue;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        SIM_TRY(validate_attribute(a, in_graph));
        if (a->id == cudaLaunchAttributeCooperative)
            *cooperative = a->val.cooperative != 0;
        if (a->id == cudaLaunchAttributeClusterDimension) {
            cluster[0] = a->val.clusterDim.x;
            cluster[1] = a->val.clusterDim.y;
            cluster[2] = a->val.clusterDim.z;
        }
    }
    return cudaSuccess;
}

cudaError_t acu_sim_function_validate_cluster(const acu_sim_function *f, const unsigned grid[3],
                                              unsigned cluster[3]) {
    const bool given = cluster[0] || cluster[1] || cluster[2];
    for (int i = 0; i < 3; i++) {
        if (given && f->set.cluster[0] && cluster[i] != (unsigned)f->set.cluster[i])
            return SIM_REFUSE(cudaErrorInvalidClusterSize,
                              "the launch asks for another size of clusters than the kernel was "
                              "compiled with");
        if (!given)
            cluster[i] = f->set.cluster[i] ? (unsigned)f->set.cluster[i] : 1;
    }
    if (!given && f->set.cluster[0] && !(f->set.cluster[1] && f->set.cluster[2]))
        return SIM_REFUSE(cudaErrorInvalidClusterSize,
                          "the kernel's attributes give its clusters no extent in %s",
                          f->set.cluster[1] ? "z" : "y");
    if (!given && !f->set.cluster[0])
        return f->set.cluster_must_be_set
                   ? SIM_REFUSE(cudaErrorInvalidClusterSize,
                                "the kernel needs clusters, and the launch gives no size of them")
                   : cudaSuccess;
    if (!device_limit(f, cudaDevAttrClusterLaunch))
        return SIM_REFUSE(cudaErrorNotSupported, "the device has no clusters");
    if (volume(cluster) > (f->set.big_clusters ? 16u : 8u))
        return SIM_REFUSE(cudaErrorInvalidClusterSize,
                          "a cluster of %zu blocks is too large: a kernel has 8, or 16 with "
                          "cudaFuncAttributeNonPortableClusterSizeAllowed",
                          (size_t)volume(cluster));
    if (f->entry->max_cluster && volume(cluster) > f->entry->max_cluster)
        return SIM_REFUSE(cudaErrorInvalidClusterSize,
                          "a cluster of %zu blocks is too large: the kernel was compiled for %u",
                          (size_t)volume(cluster), f->entry->max_cluster);
    for (int i = 0; i < 3 && !f->entry->blocks_are_clusters; i++)
        if (grid[i] % cluster[i])
            return SIM_REFUSE(cudaErrorInvalidClusterSize,
                              "a grid of %u blocks in dimension %d has no whole number of "
                              "clusters of %u",
                              grid[i], i, cluster[i]);
    return cudaSuccess;
}

/* Returns the size of the clusters that the configuration, or else the function, has; 0: none. */
static unsigned cluster_size(const acu_sim_function *f, const cudaLaunchConfig_t *config) {
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            return config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y *
                   config->attrs[i].val.clusterDim.z;
    return (unsigned)(f->set.cluster[0] * f->set.cluster[1] * f->set.cluster[2]);
}

cudaError_t acu_sim_function_max_cluster_size(const acu_sim_function *f,
                                              const cudaLaunchConfig_t *config, int *size) {
    unsigned threads = config->blockDim.x * config->blockDim.y * config->blockDim.z;
    if (!device_limit(f, cudaDevAttrClusterLaunch))
        return cudaErrorNotSupported;
    if (!threads)
        return cudaErrorInvalidValue;
    const unsigned grid[3] = {config->gridDim.x, config->gridDim.y, config->gridDim.z};
    unsigned cluster[3] = {0};
    bool cooperative;
    SIM_TRY(acu_sim_function_read_attributes(config, false, cluster, &cooperative));
    SIM_TRY(acu_sim_function_validate_cluster(f, grid, cluster));
    const unsigned declared = f->entry->max_cluster;
    unsigned most = f->set.big_clusters ? 16 : 8;
    if (declared && declared < most)
        most = declared;
    *size = acu_sim_function_occupancy(f, threads, config->dynamicSmemBytes) ? (int)most : 0;
    return cudaSuccess;
}

/* Returns the multiprocessors of the stream; those of the device if the handle is NULL or invalid,
 * or the stream of another device. */
static acu_sim_processors processors_of_stream(const acu_sim_function *f, cudaStream_t handle) {
    acu_sim_device *device = f->module->device;
    acu_sim_stream *stream;
    return handle && !acu_sim_stream_of(handle, &stream) && stream->device == device
               ? acu_sim_execution_context_of_stream(stream)->processors
               : acu_sim_processors_all(device);
}

cudaError_t acu_sim_function_max_clusters(const acu_sim_function *f,
                                          const cudaLaunchConfig_t *config, int *count) {
    enum { BLOCKS = 8 }; /* a multiprocessor holds no more blocks of clusters */
    int most;
    SIM_TRY(acu_sim_function_max_cluster_size(f, config, &most));
    unsigned size = cluster_size(f, config);
    unsigned threads = config->blockDim.x * config->blockDim.y * config->blockDim.z;
    unsigned blocks = acu_sim_function_occupancy(f, threads, config->dynamicSmemBytes);
    const acu_sim_processors processors = processors_of_stream(f, config->stream);
    *count = size ? (int)acu_sim_processors_clusters(&processors, size,
                                                     blocks < BLOCKS ? blocks : BLOCKS)
                  : 0;
    return cudaSuccess;
}

cudaError_t acu_sim_cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                         const cudaLaunchConfig_t *launchConfig) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    return clusterSize && launchConfig
               ? acu_sim_function_max_cluster_size(f, launchConfig, clusterSize)
               : cudaErrorInvalidValue;
}

cudaError_t acu_sim_cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                   const cudaLaunchConfig_t *launchConfig) {
    acu_sim_function *f;
    SIM_TRY(find(func, &f));
    return numClusters && launchConfig ? acu_sim_function_max_clusters(f, launchConfig, numClusters)
                                       : cudaErrorInvalidValue;
}
