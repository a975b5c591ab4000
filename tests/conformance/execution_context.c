/* Execution contexts, and what a device's processors are split into. */
#include "kernels.h"

#include <anycuda/cuda.h>

/* The runtime's calls came with 13.1; drivers have had what they need since 12.4. */
static bool has_contexts(void) {
    cudaDevResource r = {0};
    if (runtime() >= 13010)
        return true;
    EQUAL(cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeSm), cudaErrorNotSupported);
    EQUAL(r.sm.smCount, 0);
    (void)cudaGetLastError();
    skip("the calls came with 13.1");
    return false;
}

static bool is_driver_too_old(void) {
    if (driver() >= 13010)
        return false;
    skip("the driver is older than the call");
    return true;
}

/* What drivers as new as the calls say is from the documentation. */
#define BY_DRIVER(then, before) (driver() >= 13010 ? (then) : (before))

/* A green context of the device's with at least so many processors. */
static cudaExecutionContext_t green(unsigned count, cudaDevResource *part) {
    cudaDevResource all;
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context = NULL;
    unsigned parts = 1;
    if (cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm) ||
        cudaDevSmResourceSplitByCount(part, &parts, &all, NULL, 0, count) ||
        cudaDevResourceGenerateDesc(&desc, part, 1) || cudaGreenCtxCreate(&context, desc, 0, 0))
        return NULL;
    return context;
}

CASE(processors_of_a_device) {
    cudaDevResource r;
    int count, major;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeSm));
    OK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    EQUAL(r.type, cudaDevResourceTypeSm);
    EQUAL(r.sm.smCount, count);
    EQUAL(r.sm.smCoscheduledAlignment, major >= 9 ? 8 : 2);
    EQUAL(r.sm.minSmPartitionSize, 8);
    EQUAL(r.sm.flags, 0);
    if (driver() >= 13010) {
        OK(cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeWorkqueueConfig));
        EQUAL(r.wqConfig.device, 0);
        EQUAL(r.wqConfig.sharingScope, cudaDevWorkqueueConfigScopeDeviceCtx);
        ASK(r.wqConfig.wqConcurrencyLimit);
    } else {
        FAILS(cudaErrorInvalidResourceType,
              cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeWorkqueueConfig));
    }
    SAYS(cudaErrorInvalidResourceType,
         cudaDeviceGetDevResource(0, &r, cudaDevResourceTypeWorkqueue));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetDevResource(0, NULL, cudaDevResourceTypeSm));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetDevResource(-1, &r, cudaDevResourceTypeSm));
    FAILS(cudaErrorInvalidResourceType,
          cudaDeviceGetDevResource(0, &r, (enum cudaDevResourceType)7));
}

CASE(parts_of_one_size) {
    cudaDevResource all, parts[4], rest;
    unsigned count = 2, possible = 0;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
    unsigned together = all.sm.smCoscheduledAlignment;
    OK(cudaDevSmResourceSplitByCount(NULL, &possible, &all, NULL, 0, together));
    IS(possible * together <= all.sm.smCount);
    ASK(possible);
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, &rest, 0, 11));
    EQUAL(count, 2);
    EQUAL(parts[0].sm.smCount, together == 8 ? 16 : 12);
    EQUAL(parts[1].sm.smCount, parts[0].sm.smCount);
    EQUAL(rest.sm.smCount, all.sm.smCount - 2 * parts[0].sm.smCount);
    EQUAL(parts[0].sm.smCoscheduledAlignment, BY_DRIVER(together, 0));
    EQUAL(rest.sm.smCoscheduledAlignment, BY_DRIVER(together, 0));
    EQUAL(rest.sm.flags, BY_DRIVER(cudaDevSmResourceGroupBackfill, 0));
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, &rest,
                                     cudaDevSmResourceSplitIgnoreSmCoscheduling, 11));
    EQUAL(parts[0].sm.smCount, 12);
    EQUAL(parts[0].sm.minSmPartitionSize, BY_DRIVER(2, 0));
    SAYS(cudaSuccess,
         cudaDevSmResourceSplitByCount(parts, &count, &all, &rest,
                                       cudaDevSmResourceSplitMaxPotentialClusterSize, 16));
    count = 4;
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, &rest, 0, all.sm.smCount / 2 + 1));
    EQUAL(count, 1); /* as many as there are */
    (void)cudaGetLastError();
}

CASE(splits_that_are_wrong) {
    cudaDevResource all, part, queues;
    unsigned one = 1, none = 0;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
    if (driver() >= 13010) {
        OK(cudaDeviceGetDevResource(0, &queues, cudaDevResourceTypeWorkqueueConfig));
        FAILS(cudaErrorInvalidResourceType,
              cudaDevSmResourceSplitByCount(&part, &one, &queues, NULL, 0, 8));
    }
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, NULL, &all, NULL, 0, 8));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, &one, NULL, NULL, 0, 8));
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 64, 8)); /* there is no such flag */
    EQUAL(one, 1);
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, &none, &all, NULL, 0, 8));
    FAILS(cudaErrorInvalidResourceConfiguration,
          cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, all.sm.smCount + 1));
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 16));
    FAILS(cudaErrorInvalidResourceConfiguration, /* of a part */
          cudaDevSmResourceSplitByCount(&queues, &one, &part, NULL, 0, 8));
}

CASE(a_part_that_is_all) {
    cudaDevResource all, part, rest = {.type = cudaDevResourceTypeSm};
    unsigned one = 1;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
    const unsigned together = all.sm.smCoscheduledAlignment;
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, &rest, 0, all.sm.smCount));
    EQUAL(one, 1);
    EQUAL(part.sm.smCount, all.sm.smCount);
    EQUAL(rest.type, 0);
    one = 1;
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, all.sm.smCount - 1));
    EQUAL(part.sm.smCount, all.sm.smCount);
    one = 1;
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, all.sm.smCount - 11));
    EQUAL(part.sm.smCount, (all.sm.smCount - 11 + together - 1) / together * together);
}

CASE(groups_of_processors) {
    cudaDevResource all, parts[2], rest;
    if (!has_contexts())
        return;
    if (is_driver_too_old())
        return;
    OK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
    cudaDevSmResourceGroupParams asked[2] = {
        {.smCount = 10, .coscheduledSmCount = 2},
        {.coscheduledSmCount = 2, .flags = cudaDevSmResourceGroupBackfill}};
    OK(cudaDevSmResourceSplit(parts, 2, &all, &rest, 0, asked));
    EQUAL(parts[0].sm.smCount, 10);
    EQUAL(parts[1].sm.smCount, all.sm.smCount - 10);
    EQUAL(asked[1].smCount, all.sm.smCount - 10);
    EQUAL(rest.type, cudaDevResourceTypeInvalid);
    ASK(parts[0].sm.smCoscheduledAlignment);
    ASK(parts[1].sm.flags);
    cudaDevSmResourceGroupParams discovered = {0};
    OK(cudaDevSmResourceSplit(NULL, 1, &all, &rest, 0, &discovered));
    EQUAL(discovered.smCount % all.sm.smCoscheduledAlignment, 0);
    ASK(discovered.smCount);
    ASK(discovered.coscheduledSmCount);
    ASK(rest.sm.smCount);
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(parts, 1, &all, NULL, 1, &discovered));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(parts, 1, NULL, NULL, 0, &discovered));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(parts, 1, &all, NULL, 0, NULL));
    ASK(cudaDevSmResourceSplit(parts, 0, &all, NULL, 0, &discovered));
    asked[0] = (cudaDevSmResourceGroupParams){.smCount = 7};
    ASK(cudaDevSmResourceSplit(parts, 1, &all, NULL, 0, asked));
    asked[0] = (cudaDevSmResourceGroupParams){.smCount = 32, .coscheduledSmCount = 32};
    ASK(cudaDevSmResourceSplit(parts, 1, &all, NULL, 0, asked));
    asked[0] = (cudaDevSmResourceGroupParams){.smCount = 8, .reserved = {1}};
    ASK(cudaDevSmResourceSplit(parts, 1, &all, NULL, 0, asked));
    (void)cudaGetLastError();
}

CASE(descriptors_of_resources) {
    cudaDevResource all, parts[2], others[2];
    cudaDevResourceDesc_t desc;
    unsigned two = 2;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetDevResource(0, &all, cudaDevResourceTypeSm));
    OK(cudaDevSmResourceSplitByCount(parts, &two, &all, NULL, 0, 8));
    OK(cudaDevSmResourceSplitByCount(others, &two, &all, NULL, 0, 8));
    OK(cudaDevResourceGenerateDesc(&desc, parts, 2));
    others[0] = parts[0];
    SAYS(BY_DRIVER(cudaErrorInvalidResourceConfiguration, cudaSuccess), /* of two splits */
         cudaDevResourceGenerateDesc(&desc, others, 2));
    (void)cudaGetLastError();
    /* And of no resource: crashes CUDA with a driver 13.0. */
    FAILS(cudaErrorInvalidValue, cudaDevResourceGenerateDesc(NULL, parts, 1));
    FAILS(cudaErrorInvalidValue, cudaDevResourceGenerateDesc(&desc, NULL, 1));
    parts[0].type = cudaDevResourceTypeInvalid;
    FAILS(cudaErrorInvalidResourceType, cudaDevResourceGenerateDesc(&desc, parts, 1));
    others[1] = all;
    SAYS(BY_DRIVER(cudaErrorInvalidResourceConfiguration, cudaSuccess), /* one of none */
         cudaDevResourceGenerateDesc(&desc, others, 2));
    (void)cudaGetLastError();
}

CASE(what_a_context_is) {
    cudaDevResource part = {0}, has = {0};
    cudaExecutionContext_t context = NULL, primary = NULL;
    unsigned long long id = 0, other = 0;
    int device = -1;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    IS((context = green(8, &part)) != NULL);
    OK(cudaExecutionCtxGetDevice(&device, context));
    EQUAL(device, 0);
    OK(cudaExecutionCtxGetId(context, &id));
    OK(cudaExecutionCtxGetId(primary, &other));
    IS(id != other);
    OK(cudaExecutionCtxGetDevResource(context, &has, cudaDevResourceTypeSm));
    EQUAL(has.sm.smCount, part.sm.smCount);
    SAYS(BY_DRIVER(cudaSuccess, cudaErrorInvalidResourceType),
         cudaExecutionCtxGetDevResource(context, &has, cudaDevResourceTypeWorkqueueConfig));
    SAYS(BY_DRIVER(cudaSuccess, cudaErrorInvalidResourceType),
         cudaExecutionCtxGetDevResource(context, &has, cudaDevResourceTypeWorkqueue));
    (void)cudaGetLastError();
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetDevice(&device, NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetId(NULL, &id));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxSynchronize(NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxDestroy(NULL));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetExecutionCtx(&primary, -1));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetExecutionCtx(NULL, 0));
    OK(cudaExecutionCtxDestroy(context));
}

CASE(streams_of_a_context) {
    cudaDevResource part = {0}, has = {0};
    cudaExecutionContext_t context = NULL, primary = NULL;
    cudaStream_t s, plain, wrong = cudaStreamLegacy;
    unsigned flags = 0;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    IS((context = green(8, &part)) != NULL);
    OK(cudaExecutionCtxStreamCreate(&s, context, cudaStreamDefault, 0));
    OK(cudaExecutionCtxStreamCreate(&plain, primary, cudaStreamDefault, 0));
    OK(cudaStreamGetFlags(s, &flags));
    EQUAL(flags, cudaStreamNonBlocking);
    OK(cudaStreamGetFlags(plain, &flags));
    EQUAL(flags, cudaStreamDefault);
    if (driver() >= 13010) {
        OK(cudaStreamGetDevResource(s, &has, cudaDevResourceTypeSm));
        EQUAL(has.sm.smCount, part.sm.smCount);
        OK(cudaStreamGetDevResource(plain, &has, cudaDevResourceTypeSm));
        IS(has.sm.smCount > part.sm.smCount);
        FAILS(cudaErrorInvalidResourceType,
              cudaStreamGetDevResource(s, &has, cudaDevResourceTypeWorkqueueConfig));
    }
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(&wrong, NULL, 0, 0));
    IS(wrong != NULL);
    IS(wrong == cudaStreamLegacy);
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(NULL, context, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(&wrong, context, 2, 0));
    IS(wrong != NULL); /* nor is it a stream's: destroying it says 400 */
    IS(wrong != cudaStreamLegacy);
    OK(cudaStreamDestroy(plain));
    if (driver() < 13010) /* they leave a stream without its context */
        OK(cudaStreamDestroy(s));
    OK(cudaExecutionCtxDestroy(context));
    if (driver() < 13010)
        return;
    FAILS(cudaErrorStreamDetached, cudaStreamSynchronize(s));
    FAILS(cudaErrorStreamDetached, cudaStreamQuery(s));
    OK(cudaStreamDestroy(s));
}

CASE(events_of_contexts) {
    cudaDevResource part = {0};
    cudaExecutionContext_t context = NULL, primary = NULL;
    cudaStream_t s, outside;
    cudaEvent_t e, of_all, later;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    IS((context = green(8, &part)) != NULL);
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaStreamCreateWithFlags(&outside, cudaStreamNonBlocking));
    OK(cudaEventCreate(&e));
    OK(cudaEventCreate(&of_all));
    OK(cudaEventCreate(&later));
    hold(s);
    OK(cudaExecutionCtxRecordEvent(context, e));
    OK(cudaExecutionCtxRecordEvent(primary, of_all));
    SAYS(cudaErrorNotReady, cudaEventQuery(e));
    SAYS(cudaErrorNotReady, cudaEventQuery(of_all));
    OK(cudaStreamQuery(outside));
    OK(cudaExecutionCtxWaitEvent(primary, e));
    OK(cudaStreamQuery(outside)); /* only what comes later waits */
    OK(cudaStreamSynchronize(outside));
    OK(cudaExecutionCtxRecordEvent(primary, later));
    SAYS(cudaErrorNotReady, cudaEventQuery(later));
    OK(cudaEventRecord(later, outside));
    SAYS(cudaErrorNotReady, cudaEventQuery(later));
    SAYS(cudaErrorNotReady, cudaStreamQuery(outside));
    let_go();
    OK(cudaExecutionCtxSynchronize(primary));
    OK(cudaStreamQuery(outside));
    OK(cudaEventQuery(of_all));
    OK(cudaEventQuery(later));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxRecordEvent(NULL, e));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxWaitEvent(NULL, e));
    OK(cudaEventDestroy(e));
    OK(cudaEventDestroy(of_all));
    OK(cudaEventDestroy(later));
    OK(cudaStreamDestroy(outside));
    OK(cudaStreamDestroy(s));
    OK(cudaExecutionCtxDestroy(context));
}

CASE(contexts_and_captures) {
    cudaDevResource part = {0};
    cudaExecutionContext_t context = NULL, primary = NULL;
    cudaStream_t s;
    cudaEvent_t e;
    cudaGraph_t graph;
    if (!has_contexts())
        return;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    IS((context = green(8, &part)) != NULL);
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaEventCreate(&e));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaExecutionCtxRecordEvent(context, e));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &graph));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaExecutionCtxWaitEvent(context, e));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &graph));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    SAYS(cudaErrorStreamCaptureUnsupported, cudaExecutionCtxSynchronize(context));
    SAYS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &graph));
    (void)cudaGetLastError();
    OK(cudaEventDestroy(e));
    OK(cudaStreamDestroy(s));
    OK(cudaExecutionCtxDestroy(context));
}

/* ---- by the driver, which has had what they need before the runtime ---- */

static bool has_streams_of_green_contexts(void) {
    if (driver() >= 12050)
        return true;
    skip("the driver's came with 12.5");
    return false;
}

/* A green context of so many groups of the smallest size, and of the rest of their split. */
static CUgreenCtx green_of(unsigned groups, bool with_rest, unsigned *size) {
    CUdevResource all, parts[5];
    CUdevResourceDesc desc;
    CUgreenCtx context = NULL;
    unsigned count = groups;
    if (cudaFree(NULL) || cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM) ||
        cuDevSmResourceSplitByCount(parts, &count, &all, &parts[4], 0, 0) || count != groups)
        return NULL;
    *size = parts[0].sm.smCount * groups + (with_rest ? parts[4].sm.smCount : 0);
    if (with_rest)
        parts[groups] = parts[4];
    return cuDevResourceGenerateDesc(&desc, parts, groups + with_rest) ||
                   cuGreenCtxCreate(&context, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM)
               ? NULL
               : context;
}

/* That a context can have several groups is from the documentation. */
CASE(a_context_of_several_groups) {
    CUdevResource has = {0};
    unsigned size = 0;
    if (!has_streams_of_green_contexts())
        return;
    for (int rest = 0; rest < 2; rest++) {
        CUgreenCtx context = green_of(2, rest, &size);
        IS(context != NULL);
        OK(cuGreenCtxGetDevResource(context, &has, CU_DEV_RESOURCE_TYPE_SM));
        EQUAL(has.sm.smCount, size);
        OK(cuGreenCtxDestroy(context));
    }
}

/* Stream and context are destroyed while the stream has work. */
CASE(work_is_done_without_its_context) {
    enum { MANY = 200 };
    unsigned size = 0, got = 0;
    CUstream s = NULL;
    CUevent e;
    CUdeviceptr at;
    if (!has_streams_of_green_contexts())
        return;
    CUgreenCtx context = green_of(1, false, &size);
    IS(context != NULL);
    OK(cuMemAlloc(&at, 1 << 20));
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    OK(cuGreenCtxStreamCreate(&s, context, CU_STREAM_NON_BLOCKING, 0));
    for (unsigned i = 0; i <= MANY; i++)
        if (cuMemsetD32Async(at, i, 1 << 18, s))
            IS(false);
    OK(cuEventRecord(e, s));
    OK(cuStreamDestroy(s));
    OK(cuGreenCtxDestroy(context));
    OK(cuEventSynchronize(e));
    OK(cuMemcpyDtoH(&got, at + (1 << 20) - 4, 4));
    EQUAL(got, MANY);
    OK(cuEventDestroy(e));
    OK(cuMemFree(at));
}

/* A function of the device's own context runs in a part; how many blocks fit at once is a guess. */
CASE(launches_in_a_part) {
    unsigned size = 0, got = 0;
    int blocks = 0;
    CUstream s = NULL;
    CUmodule module;
    CUfunction nothing, store;
    CUdeviceptr at;
    if (!has_streams_of_green_contexts())
        return;
    CUgreenCtx context = green_of(1, false, &size);
    IS(context != NULL);
    register_kernels();
    OK(cuModuleLoadData(&module, module_text));
    OK(cuModuleGetFunction(&nothing, module, "nothing"));
    OK(cuModuleGetFunction(&store, module, "store"));
    OK(cuMemAlloc(&at, 4));
    OK(cuGreenCtxStreamCreate(&s, context, CU_STREAM_NON_BLOCKING, 0));
    void *args[] = {&at, &(unsigned){7}, &(unsigned){1}};
    OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, s, args, NULL));
    OK(cuStreamSynchronize(s));
    OK(cuMemcpyDtoH(&got, at, 4));
    EQUAL(got, 7);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1024, 0));
    const unsigned most = (unsigned)blocks * size;
    OK(cuLaunchCooperativeKernel(nothing, most, 1, 1, 1024, 1, 1, 0, s, NULL));
    SAYS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
         cuLaunchCooperativeKernel(nothing, most + 1, 1, 1, 1024, 1, 1, 0, s, NULL));
    OK(cuStreamSynchronize(s));
    OK(cuStreamDestroy(s));
    OK(cuModuleUnload(module));
    OK(cuMemFree(at));
    OK(cuGreenCtxDestroy(context));
}
