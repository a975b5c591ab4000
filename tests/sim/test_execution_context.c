/* Execution contexts, and the processors that a device's are split into. */
#include "sim_test.h"

#include <anycuda/cuda.h>

static cudaDevResource processors_of(int device) {
    cudaDevResource all;
    OK(cudaDeviceGetDevResource(device, &all, cudaDevResourceTypeSm));
    return all;
}

/* A green context with about so many of the device's processors. */
static cudaExecutionContext_t green_with(int device, unsigned count) {
    cudaDevResource all = processors_of(device), part;
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context;
    unsigned parts = 1;
    OK(cudaDevSmResourceSplitByCount(&part, &parts, &all, NULL, 0, count));
    OK(cudaDevResourceGenerateDesc(&desc, &part, 1));
    OK(cudaGreenCtxCreate(&context, desc, device, 0));
    return context;
}

/* ---- resources ---- */

TEST(a_device_has_its_processors_and_queues) {
    int count;
    cudaDevResource r = processors_of(0);
    OK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    assert_int_equal(r.type, cudaDevResourceTypeSm);
    assert_int_equal(r.sm.smCount, count);
    assert_int_equal(r.sm.smCoscheduledAlignment, 8);
    assert_int_equal(r.sm.minSmPartitionSize, 8);
    OK(cudaDeviceGetDevResource(1, &r, cudaDevResourceTypeWorkqueueConfig));
    assert_int_equal(r.type, cudaDevResourceTypeWorkqueueConfig);
    assert_int_equal(r.wqConfig.device, 1);
    assert_int_equal(r.wqConfig.sharingScope, cudaDevWorkqueueConfigScopeDeviceCtx);
    assert_true(r.wqConfig.wqConcurrencyLimit > 0);
    FAILS(cudaErrorInvalidValue, cudaDeviceGetDevResource(0, NULL, cudaDevResourceTypeSm));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetDevResource(2, &r, cudaDevResourceTypeSm));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetDevResource(-1, &r, cudaDevResourceTypeSm));
    FAILS(cudaErrorInvalidResourceType,
          cudaDeviceGetDevResource(0, &r, (enum cudaDevResourceType)7));
}

TEST(parts_are_rounded_up_and_the_rest_is_left) {
    cudaDevResource all = processors_of(0), parts[32], rest;
    unsigned count = 32, possible;
    OK(cudaDevSmResourceSplitByCount(NULL, &possible, &all, NULL, 0, 8));
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, &rest, 0, 8));
    assert_int_equal(count, possible);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(parts[i].sm.smCount, 8);
    assert_int_equal(rest.sm.smCount, all.sm.smCount - 8 * count);
    count = 2;
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, &rest, 0, 11));
    assert_int_equal(count, 2);
    assert_int_equal(parts[1].sm.smCount, 16);
    assert_int_equal(rest.sm.smCount, all.sm.smCount - 32);
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, NULL,
                                     cudaDevSmResourceSplitIgnoreSmCoscheduling, 11));
    assert_int_equal(parts[0].sm.smCount, 12);
    count = 6;
    OK(cudaDevSmResourceSplitByCount(parts, &count, &all, &rest, 0, 72));
    assert_int_equal(count, 1); /* as many as there are */
    assert_int_equal(rest.sm.smCount, all.sm.smCount - 72);
}

TEST(older_devices_split_finer) {
    static const struct {
        const char *machine;
        unsigned least, together;
    } machines[] = {{"cc=6.1", 1, 1}, {"cc=7.5", 2, 2}, {"cc=8.0", 4, 2}, {"cc=10.0", 8, 8}};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        acu_sim_reset(machines[i].machine);
        cudaDevResource all = processors_of(0), part;
        unsigned count = 1;
        assert_int_equal(all.sm.minSmPartitionSize, machines[i].least);
        assert_int_equal(all.sm.smCoscheduledAlignment, machines[i].together);
        OK(cudaDevSmResourceSplitByCount(&part, &count, &all, NULL, 0, 0));
        assert_int_equal(part.sm.smCount, machines[i].least);
    }
    acu_sim_reset("cc=8.0");
    cudaDevResource all = processors_of(0);
    unsigned count;
    FAILS(cudaErrorNotSupported,
          cudaDevSmResourceSplitByCount(NULL, &count, &all, NULL,
                                        cudaDevSmResourceSplitMaxPotentialClusterSize, 8));
}

TEST(a_part_that_is_all) {
    cudaDevResource all = processors_of(0), part, rest;
    unsigned count = 2;
    OK(cudaDevSmResourceSplitByCount(&part, &count, &all, &rest, 0, 132));
    assert_int_equal(count, 1);
    assert_int_equal(part.sm.smCount, 132);
    assert_int_equal(rest.type, cudaDevResourceTypeInvalid);
    OK(cudaDevSmResourceSplitByCount(NULL, &count, &all, NULL, 0, 132));
    assert_int_equal(count, 1);
}

TEST(splits_that_are_wrong) {
    cudaDevResource all = processors_of(0), part, made_up = {.type = cudaDevResourceTypeSm};
    unsigned one = 1, none = 0;
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, NULL, &all, NULL, 0, 8));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, &one, NULL, NULL, 0, 8));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, &none, &all, NULL, 0, 8));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplitByCount(&part, &one, &made_up, NULL, 0, 8));
    FAILS(cudaErrorInvalidResourceConfiguration,
          cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 133));
    FAILS(cudaErrorInvalidResourceConfiguration,
          cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, UINT32_MAX));
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 131));
    assert_int_equal(part.sm.smCount, 132);
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 121));
    assert_int_equal(part.sm.smCount, 128); /* though only 120 are in eights */
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 64, 8)); /* there is no such flag */
    cudaDevResource queues = {.type = cudaDevResourceTypeWorkqueueConfig};
    FAILS(cudaErrorInvalidResourceType,
          cudaDevSmResourceSplitByCount(&part, &one, &queues, NULL, 0, 8));
    OK(cudaDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 16));
    FAILS(cudaErrorInvalidResourceConfiguration, /* only a context's can be split again */
          cudaDevSmResourceSplitByCount(&all, &one, &part, NULL, 0, 8));
}

TEST(groups_are_what_was_asked_for) {
    cudaDevResource all = processors_of(0), parts[2], rest;
    cudaDevSmResourceGroupParams asked[2] = {
        {.smCount = 12, .coscheduledSmCount = 4},
        {.coscheduledSmCount = 2, .flags = cudaDevSmResourceGroupBackfill}};
    OK(cudaDevSmResourceSplit(parts, 2, &all, &rest, 0, asked));
    assert_int_equal(parts[0].sm.smCount, 12);
    assert_int_equal(parts[0].sm.smCoscheduledAlignment, 4);
    assert_int_equal(parts[1].sm.smCount, all.sm.smCount - 12); /* what is left, discovered */
    assert_int_equal(asked[1].smCount, all.sm.smCount - 12);
    assert_int_equal(rest.type, cudaDevResourceTypeInvalid);

    cudaDevSmResourceGroupParams discovered = {0};
    OK(cudaDevSmResourceSplit(NULL, 1, &all, &rest, 0, &discovered));
    assert_int_equal(discovered.smCount % 8, 0);
    assert_int_equal(rest.sm.smCount, all.sm.smCount - discovered.smCount);
    cudaDevSmResourceGroupParams again = {.smCount = 2, .coscheduledSmCount = 2};
    OK(cudaDevSmResourceSplit(parts, 1, &rest, NULL, 0, &again)); /* a remainder may be split */
    assert_int_equal(parts[0].sm.smCount, 2);
}

TEST(groups_that_are_wrong) {
    const cudaDevSmResourceGroupParams wrong[] = {
        {.smCount = 7},
        {.smCount = 12}, /* not a multiple of what is together */
        {.smCount = 134, .coscheduledSmCount = 2},
        {.smCount = 34, .coscheduledSmCount = 34},
        {.smCount = 32, .coscheduledSmCount = 32}, /* no group of the chip is so large */
        {.smCount = 16, .coscheduledSmCount = 8, .preferredCoscheduledSmCount = 12},
        {.smCount = 16, .flags = cudaDevSmResourceGroupLocalityDomainId},
    };
    cudaDevResource all = processors_of(0), part;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cudaDevSmResourceGroupParams asked = wrong[i];
        FAILS(cudaErrorInvalidResourceConfiguration,
              cudaDevSmResourceSplit(&part, 1, &all, NULL, 0, &asked));
    }
    cudaDevSmResourceGroupParams asked = {.smCount = 8, .flags = 64};
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(&part, 1, &all, NULL, 0, &asked));
    asked = (cudaDevSmResourceGroupParams){.smCount = 8, .reserved = {1}};
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(&part, 1, &all, NULL, 0, &asked));
    asked = (cudaDevSmResourceGroupParams){.smCount = 8};
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(&part, 1, &all, NULL, 1, &asked));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(&part, 0, &all, NULL, 0, &asked));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(&part, 1, NULL, NULL, 0, &asked));
    FAILS(cudaErrorInvalidValue, cudaDevSmResourceSplit(&part, 1, &all, NULL, 0, NULL));
}

TEST(a_descriptor_is_of_one_split) {
    cudaDevResource all = processors_of(0), parts[2], others[2], rest;
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context;
    unsigned two = 2;
    OK(cudaDevSmResourceSplitByCount(parts, &two, &all, &rest, 0, 8));
    OK(cudaDevSmResourceSplitByCount(others, &two, &all, NULL, 0, 8));
    cudaDevResource both[2] = {parts[1], rest}, mixed[2] = {parts[0], others[1]};
    OK(cudaDevResourceGenerateDesc(&desc, both, 2));
    FAILS(cudaErrorInvalidResourceConfiguration, cudaDevResourceGenerateDesc(&desc, mixed, 2));
    mixed[1] = processors_of(1);
    FAILS(cudaErrorInvalidResourceConfiguration, cudaDevResourceGenerateDesc(&desc, mixed, 2));
    OK(cudaDeviceGetDevResource(0, &mixed[1], cudaDevResourceTypeWorkqueueConfig));
    mixed[1].wqConfig.wqConcurrencyLimit = 4;
    OK(cudaDevResourceGenerateDesc(&desc, mixed, 2));
    OK(cudaGreenCtxCreate(&context, desc, 0, 0));
    OK(cudaExecutionCtxGetDevResource(context, &rest, cudaDevResourceTypeWorkqueueConfig));
    assert_int_equal(rest.wqConfig.wqConcurrencyLimit, 4);
    OK(cudaExecutionCtxDestroy(context));
    mixed[0].type = cudaDevResourceTypeInvalid;
    FAILS(cudaErrorInvalidResourceType, cudaDevResourceGenerateDesc(&desc, mixed, 1));
    FAILS(cudaErrorInvalidValue, cudaDevResourceGenerateDesc(NULL, both, 1));
    FAILS(cudaErrorInvalidValue, cudaDevResourceGenerateDesc(&desc, NULL, 1));
    FAILS(cudaErrorInvalidValue, cudaDevResourceGenerateDesc(&desc, both, 0));
}

TEST(a_driver_13_0_takes_parts_of_two_splits) {
    acu_sim_reset("devices=2,driver=13.0");
    cudaDevResource all = processors_of(0), parts[2], others[2];
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context;
    unsigned two = 2;
    OK(cudaDevSmResourceSplitByCount(parts, &two, &all, NULL, 0, 8));
    OK(cudaDevSmResourceSplitByCount(others, &two, &all, NULL, 0, 8));
    cudaDevResource mixed[2] = {parts[0], others[1]};
    OK(cudaDevResourceGenerateDesc(&desc, mixed, 2));
    OK(cudaGreenCtxCreate(&context, desc, 0, 0));
    OK(cudaExecutionCtxGetDevResource(context, &all, cudaDevResourceTypeSm));
    assert_int_equal(all.sm.smCount, 16);
    OK(cudaExecutionCtxDestroy(context));
    mixed[1] = processors_of(1);
    FAILS(cudaErrorInvalidResourceConfiguration, cudaDevResourceGenerateDesc(&desc, mixed, 2));
}

/* ---- contexts ---- */

TEST(a_context_says_what_it_is) {
    cudaExecutionContext_t context = green_with(1, 16), primary;
    unsigned long long id, other;
    int device;
    cudaDevResource has;
    OK(cudaExecutionCtxGetDevice(&device, context));
    assert_int_equal(device, 1);
    OK(cudaDeviceGetExecutionCtx(&primary, 1));
    assert_true(primary != context);
    OK(cudaExecutionCtxGetId(context, &id));
    OK(cudaExecutionCtxGetId(primary, &other));
    assert_true(id != other);
    OK(cudaExecutionCtxGetDevResource(context, &has, cudaDevResourceTypeSm));
    assert_int_equal(has.sm.smCount, 16);
    unsigned two = 2;
    cudaDevResource parts[2];
    OK(cudaDevSmResourceSplitByCount(parts, &two, &has, NULL, 0, 8)); /* can be split again */
    assert_int_equal(two, 2);
    OK(cudaExecutionCtxGetDevResource(primary, &has, cudaDevResourceTypeSm));
    assert_int_equal(has.sm.smCount, 132);
    OK(cudaExecutionCtxGetDevResource(context, &has, cudaDevResourceTypeWorkqueue));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetDevice(NULL, context));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetDevice(&device, NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxGetId(context, NULL));
    FAILS(cudaErrorInvalidValue,
          cudaExecutionCtxGetDevResource(context, NULL, cudaDevResourceTypeSm));
    FAILS(cudaErrorInvalidValue, cudaDeviceGetExecutionCtx(NULL, 0));
    FAILS(cudaErrorInvalidDevice, cudaDeviceGetExecutionCtx(&primary, 9));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxDestroy(NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxDestroy(primary));
    OK(cudaExecutionCtxDestroy(context));
    FAILS(cudaErrorInvalidResourceHandle, cudaExecutionCtxDestroy(context));
}

TEST(contexts_that_cannot_be_made) {
    cudaDevResource all = processors_of(0);
    cudaDevResourceDesc_t desc;
    cudaExecutionContext_t context;
    OK(cudaDevResourceGenerateDesc(&desc, &all, 1));
    FAILS(cudaErrorInvalidValue, cudaGreenCtxCreate(NULL, desc, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGreenCtxCreate(&context, NULL, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaGreenCtxCreate(&context, desc, 0, 1));
    FAILS(cudaErrorInvalidValue, cudaGreenCtxCreate(&context, desc, 1, 0)); /* another device's */
    FAILS(cudaErrorInvalidDevice, cudaGreenCtxCreate(&context, desc, 2, 0));
}

TEST(a_context_that_is_left_is_reported) {
    (void)green_with(0, 8);
    assert_int_equal(acu_sim_leaks(0), 1);
    acu_sim_reset(MACHINE);
}

/* ---- streams ---- */

TEST(a_stream_has_its_contexts_processors) {
    cudaExecutionContext_t context = green_with(1, 24), primary;
    cudaStream_t s, plain, none = cudaStreamLegacy;
    cudaDevResource has;
    unsigned flags;
    int device, priority;
    OK(cudaExecutionCtxStreamCreate(&s, context, cudaStreamDefault, -2));
    OK(cudaStreamGetFlags(s, &flags));
    assert_int_equal(flags, cudaStreamNonBlocking);
    OK(cudaStreamGetDevice(s, &device));
    assert_int_equal(device, 1);
    OK(cudaStreamGetPriority(s, &priority));
    assert_int_equal(priority, -2);
    OK(cudaStreamGetDevResource(s, &has, cudaDevResourceTypeSm));
    assert_int_equal(has.sm.smCount, 24);
    OK(cudaStreamGetDevResource(NULL, &has, cudaDevResourceTypeSm));
    assert_int_equal(has.sm.smCount, 132);
    FAILS(cudaErrorInvalidResourceType,
          cudaStreamGetDevResource(s, &has, cudaDevResourceTypeWorkqueueConfig));
    FAILS(cudaErrorInvalidValue, cudaStreamGetDevResource(s, NULL, cudaDevResourceTypeSm));
    OK(cudaDeviceGetExecutionCtx(&primary, 1));
    OK(cudaExecutionCtxStreamCreate(&plain, primary, cudaStreamDefault, 0));
    OK(cudaStreamGetFlags(plain, &flags));
    assert_int_equal(flags, cudaStreamDefault);
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(NULL, context, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(&none, NULL, 0, 0));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxStreamCreate(&none, context, 2, 0));
    assert_non_null(none); /* though it is no stream */
    FAILS(cudaErrorInvalidResourceHandle, cudaStreamDestroy(none));
    OK(cudaStreamDestroy(plain));
    OK(cudaStreamDestroy(s));
    OK(cudaExecutionCtxDestroy(context));
}

TEST(a_stream_without_its_context_can_only_be_destroyed) {
    cudaExecutionContext_t context = green_with(0, 8);
    cudaStream_t s;
    cudaEvent_t e;
    void *at;
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaEventCreate(&e));
    OK(cudaMalloc(&at, 8));
    OK(cudaExecutionCtxDestroy(context));
    FAILS(cudaErrorStreamDetached, cudaStreamSynchronize(s));
    expect_reason("the execution context of stream");
    FAILS(cudaErrorStreamDetached, cudaMemsetAsync(at, 0, 8, s));
    FAILS(cudaErrorStreamDetached, cudaEventRecord(e, s));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(at));
    OK(cudaEventDestroy(e));
}

TEST(a_capture_ends_with_its_context) {
    cudaExecutionContext_t context = green_with(0, 8);
    cudaStream_t s, other;
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph;
    OK(cudaStreamCreate(&other));
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaStreamBeginCapture(other, cudaStreamCaptureModeRelaxed));
    cudaEvent_t e;
    OK(cudaEventCreate(&e));
    OK(cudaEventRecord(e, other));
    OK(cudaStreamWaitEvent(s, e, 0));
    OK(cudaExecutionCtxDestroy(context));
    OK(cudaStreamIsCapturing(other, &status));
    assert_int_equal(status, cudaStreamCaptureStatusInvalidated);
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(other, &graph));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(other));
    OK(cudaEventDestroy(e));
}

TEST(an_event_is_all_of_a_context) {
    cudaExecutionContext_t context = green_with(0, 8), idle = green_with(0, 8), primary;
    cudaStream_t s, outside;
    cudaEvent_t of_it, of_all, far;
    blocker g = {0}, h = {0};
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaStreamCreateWithFlags(&outside, cudaStreamNonBlocking));
    OK(cudaEventCreate(&of_it));
    OK(cudaEventCreate(&of_all));
    OK(cudaExecutionCtxRecordEvent(context, of_it));
    OK(cudaEventSynchronize(of_it)); /* nothing was there */
    block_stream(&h, s);
    OK(cudaExecutionCtxRecordEvent(primary, of_all));
    OK(cudaExecutionCtxRecordEvent(idle, of_it)); /* whatever others wait for */
    OK(cudaExecutionCtxSynchronize(idle));
    OK(cudaEventQuery(of_it));
    unblock_stream(&h);
    OK(cudaEventSynchronize(of_all));
    OK(cudaLaunchHostFunc(s, wait_until_unblocked, &g));
    OK(cudaExecutionCtxRecordEvent(context, of_it));
    OK(cudaExecutionCtxRecordEvent(primary, of_all)); /* also the green ones' */
    FAILS(cudaErrorNotReady, cudaEventQuery(of_it));
    FAILS(cudaErrorNotReady, cudaEventQuery(of_all));
    OK(cudaStreamSynchronize(outside));
    unblock_stream(&g);
    OK(cudaExecutionCtxSynchronize(context));
    OK(cudaEventQuery(of_it));
    OK(cudaExecutionCtxSynchronize(primary));
    OK(cudaEventQuery(of_all));
    OK(cudaSetDevice(1));
    OK(cudaEventCreate(&far));
    FAILS(cudaErrorInvalidResourceHandle, cudaExecutionCtxRecordEvent(context, far));
    OK(cudaExecutionCtxWaitEvent(context, far)); /* of any device; never recorded */
    FAILS(cudaErrorInvalidResourceHandle, cudaExecutionCtxWaitEvent(context, NULL));
    FAILS(cudaErrorInvalidResourceHandle, cudaExecutionCtxRecordEvent(context, NULL));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxRecordEvent(NULL, of_it));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxWaitEvent(NULL, of_it));
    FAILS(cudaErrorInvalidValue, cudaExecutionCtxSynchronize(NULL));
    OK(cudaSetDevice(0));
    OK(cudaEventDestroy(of_it));
    OK(cudaEventDestroy(of_all));
    OK(cudaEventDestroy(far));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(outside));
    OK(cudaExecutionCtxDestroy(idle));
    OK(cudaExecutionCtxDestroy(context));
}

/* The device's own context, which has the streams of all. */
TEST(only_what_comes_later_waits_for_a_contexts_event) {
    cudaExecutionContext_t context = green_with(0, 8), primary;
    cudaStream_t s, before, after, other;
    cudaEvent_t held, later;
    blocker g = {0};
    void *memory, *filled;
    OK(cudaDeviceGetExecutionCtx(&primary, 0));
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaStreamCreateWithFlags(&before, cudaStreamNonBlocking));
    OK(cudaEventCreate(&held));
    OK(cudaEventCreate(&later));
    OK(cudaMalloc(&filled, 1));
    OK(cudaMallocAsync(&memory, 1, before));
    OK(cudaStreamSynchronize(before));
    block_stream(&g, s);
    OK(cudaEventRecord(held, s));
    OK(cudaExecutionCtxWaitEvent(primary, held));
    OK(cudaEventDestroy(held)); /* what it was is waited for all the same */
    OK(cudaExecutionCtxStreamCreate(&other, context, 0, 0));
    OK(cudaStreamCreateWithFlags(&after, cudaStreamNonBlocking));
    OK(cudaStreamQuery(before));
    OK(cudaStreamQuery(after));
    OK(cudaStreamQuery(other));
    OK(cudaStreamSynchronize(before)); /* nothing is there */
    OK(cudaEventRecord(later, after));
    FAILS(cudaErrorNotReady, cudaEventQuery(later));
    OK(cudaExecutionCtxRecordEvent(context, later));
    FAILS(cudaErrorNotReady, cudaEventQuery(later));
    OK(cudaMemsetAsync(filled, 0, 1, other));
    OK(cudaFreeAsync(memory, before)); /* does not wait at once */
    FAILS(cudaErrorNotReady, cudaStreamQuery(before));
    FAILS(cudaErrorNotReady, cudaStreamQuery(other));
    unblock_stream(&g);
    OK(cudaExecutionCtxSynchronize(primary));
    OK(cudaEventQuery(later));
    OK(cudaEventRecord(later, after)); /* the event has passed */
    OK(cudaEventQuery(later));
    OK(cudaFree(filled));
    OK(cudaEventDestroy(later));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(before));
    OK(cudaStreamDestroy(after));
    OK(cudaStreamDestroy(other));
    OK(cudaExecutionCtxDestroy(context));
}

TEST(a_green_context_alone_waits_for_its_events) {
    cudaExecutionContext_t context = green_with(0, 8);
    cudaStream_t s, outside, far;
    cudaEvent_t of_far, later;
    blocker g = {0}, h = {0};
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&far));
    OK(cudaEventCreate(&of_far));
    block_stream(&g, far);
    OK(cudaEventRecord(of_far, far));
    OK(cudaSetDevice(0));
    OK(cudaExecutionCtxWaitEvent(context, of_far));
    OK(cudaSetDevice(1));
    block_stream(&h, far);
    OK(cudaEventRecord(of_far, far));
    OK(cudaSetDevice(0));
    OK(cudaExecutionCtxWaitEvent(context, of_far)); /* and for what it was before */
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaStreamCreate(&outside));
    OK(cudaEventCreate(&later));
    OK(cudaEventRecord(later, outside));
    OK(cudaEventQuery(later));
    OK(cudaEventRecord(later, s));
    FAILS(cudaErrorNotReady, cudaEventQuery(later));
    unblock_stream(&g);
    FAILS(cudaErrorNotReady, cudaStreamQuery(s));
    unblock_stream(&h);
    OK(cudaEventSynchronize(later));
    OK(cudaStreamQuery(s));
    block_stream(&(blocker){.is_open = 1}, s);
    OK(cudaStreamSynchronize(s));
    OK(cudaEventDestroy(of_far));
    OK(cudaEventDestroy(later));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(outside));
    OK(cudaStreamDestroy(far));
    OK(cudaExecutionCtxDestroy(context));
}

TEST(a_capture_is_not_ordered_by_what_its_context_waits_for) {
    cudaExecutionContext_t context = green_with(0, 8);
    cudaStream_t s, holder;
    cudaEvent_t held;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    blocker g = {0};
    void *memory;
    size_t nodes = 0;
    OK(cudaStreamCreate(&holder));
    OK(cudaEventCreate(&held));
    OK(cudaMalloc(&memory, 8));
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    block_stream(&g, holder);
    OK(cudaEventRecord(held, holder));
    OK(cudaExecutionCtxWaitEvent(context, held));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMemsetAsync(memory, 0, 8, s));
    OK(cudaStreamEndCapture(s, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &nodes));
    assert_int_equal(nodes, 1);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaStreamQuery(s));
    OK(cudaGraphLaunch(exec, s)); /* but the launch is */
    FAILS(cudaErrorNotReady, cudaStreamQuery(s));
    unblock_stream(&g);
    OK(cudaStreamSynchronize(s));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(memory));
    OK(cudaEventDestroy(held));
    OK(cudaStreamDestroy(s));
    OK(cudaStreamDestroy(holder));
    OK(cudaExecutionCtxDestroy(context));
}

TEST(what_a_context_waits_for_spoils_captures) {
    cudaExecutionContext_t context = green_with(0, 8);
    cudaStream_t s;
    cudaEvent_t e;
    cudaGraph_t graph;
    OK(cudaEventCreate(&e));
    OK(cudaExecutionCtxStreamCreate(&s, context, 0, 0));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaExecutionCtxRecordEvent(context, e));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &graph));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    FAILS(cudaErrorStreamCaptureUnsupported, cudaExecutionCtxWaitEvent(context, e));
    FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(s, &graph));
    OK(cudaStreamDestroy(s));
    OK(cudaEventDestroy(e));
    OK(cudaExecutionCtxDestroy(context));
}

TEST(a_reset_takes_contexts_with_it) {
    cudaExecutionContext_t context = green_with(0, 8);
    OK(cudaSetDevice(0));
    OK(cudaDeviceReset());
    FAILS(cudaErrorInvalidResourceHandle, cudaExecutionCtxSynchronize(context));
}

/* ---- the driver's ---- */

TEST(the_driver_has_them_too) {
    CUdevResource all, part, has;
    CUdevResourceDesc desc;
    CUgreenCtx green, of_stream;
    CUcontext primary;
    CUstream s;
    CUevent e;
    unsigned one = 1;
    unsigned long long id;
    SAYS(cuInit(0), CUDA_SUCCESS);
    SAYS(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    SAYS(cuDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 8), CUDA_SUCCESS);
    SAYS(cuDevResourceGenerateDesc(&desc, &part, 1), CUDA_SUCCESS);
    SAYS(cuGreenCtxCreate(&green, desc, 0, 2), CUDA_ERROR_INVALID_VALUE);
    SAYS(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
    SAYS(cuGreenCtxGetId(green, &id), CUDA_SUCCESS);
    SAYS(cuGreenCtxGetDevResource(green, &has, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    assert_int_equal(has.sm.smCount, 8);
    SAYS(cuGreenCtxStreamCreate(&s, green, 0, 0), CUDA_ERROR_INVALID_VALUE);
    SAYS(cuGreenCtxStreamCreate(&s, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    SAYS(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    SAYS(cuCtxSetCurrent(primary), CUDA_SUCCESS);
    SAYS(cuStreamGetGreenCtx(s, &of_stream), CUDA_SUCCESS);
    assert_ptr_equal(of_stream, green);
    SAYS(cuStreamGetGreenCtx(NULL, &of_stream), CUDA_SUCCESS);
    assert_null(of_stream);
    SAYS(cuStreamGetDevResource(s, &has, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    assert_int_equal(has.sm.smCount, 8);
    SAYS(cuCtxGetDevResource(primary, &has, CU_DEV_RESOURCE_TYPE_SM), CUDA_SUCCESS);
    assert_int_equal(has.sm.smCount, 132);
    SAYS(cuEventCreate(&e, 0), CUDA_SUCCESS);
    SAYS(cuGreenCtxRecordEvent(green, e), CUDA_SUCCESS);
    SAYS(cuGreenCtxWaitEvent(green, e), CUDA_SUCCESS);
    SAYS(cuCtxRecordEvent(primary, e), CUDA_SUCCESS);
    SAYS(cuCtxWaitEvent(primary, e), CUDA_SUCCESS);
    SAYS(cuEventDestroy(e), CUDA_SUCCESS);
    SAYS(cuStreamDestroy(s), CUDA_SUCCESS);
    SAYS(cuGreenCtxDestroy(green), CUDA_SUCCESS);
    CU_DEV_SM_RESOURCE_GROUP_PARAMS asked = {.smCount = 16};
    SAYS(cuDevSmResourceSplit(&part, 1, &all, NULL, 0, &asked), CUDA_SUCCESS);
    assert_int_equal(part.sm.smCount, 16);
    SAYS(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        T(a_device_has_its_processors_and_queues),
        T(parts_are_rounded_up_and_the_rest_is_left),
        T(older_devices_split_finer),
        T(a_part_that_is_all),
        T(splits_that_are_wrong),
        T(groups_are_what_was_asked_for),
        T(groups_that_are_wrong),
        T(a_descriptor_is_of_one_split),
        T(a_driver_13_0_takes_parts_of_two_splits),
        T(a_context_says_what_it_is),
        T(contexts_that_cannot_be_made),
        T(a_context_that_is_left_is_reported),
        T(a_stream_has_its_contexts_processors),
        T(a_stream_without_its_context_can_only_be_destroyed),
        T(a_capture_ends_with_its_context),
        T(an_event_is_all_of_a_context),
        T(only_what_comes_later_waits_for_a_contexts_event),
        T(a_green_context_alone_waits_for_its_events),
        T(a_capture_is_not_ordered_by_what_its_context_waits_for),
        T(what_a_context_waits_for_spoils_captures),
        T(a_reset_takes_contexts_with_it),
        T(the_driver_has_them_too),
    };
    return RUN(tests);
}
