/* What spec/decisions.yaml promises beyond what the generated calls check, one test per decision.
 */
#include <anycuda/cudart.h>
#include <stdio.h>

#include "driver.h"

enum { V11_8 = 11080, V12_0 = 12000, V12_2 = 12020, V12_3 = 12030, V12_8 = 12080, V13_0 = 13000 };

static int version, checks, failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            fail(__func__, "line %d: %s (%s; %s was called)", __LINE__, #condition,                \
                 acu_last_error_message(), seen->function ? seen->function : "nothing");           \
        }                                                                                          \
    } while (0)

static void fresh(int returns, int keeps) {
    (void)cudaGetLastError();
    acu_clear_error();
    memset(seen, 0, offsetof(spy_log, values));
    *seen_returns = returns;
    *seen_keeps = keeps;
}

static int called(const char *name) {
    return seen->function != NULL && strcmp(seen->function, name) == 0;
}

static int arrived(const char *path, const void *value, size_t size) {
    const spy_value *got = find(seen, path);

    return got != NULL && got->size == size && memcmp(got->bytes, value, size) == 0;
}

static int said(const char *what) {
    return strstr(acu_last_error_message(), what) != NULL;
}

/* ---- edge data ---- */

static cudaGraph_t graph = (cudaGraph_t)0x1000;
static cudaGraphNode_t nodes[3] = {(cudaGraphNode_t)0x2000, (cudaGraphNode_t)0x2008,
                                   (cudaGraphNode_t)0x2010};

static cudaError_t with_edges(int which, const cudaGraphEdgeData *edges) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeEmpty};
    cudaGraphNode_t node;

    switch (which) {
    case 0:
        return cudaGraphAddDependencies(graph, nodes, nodes, edges, 2);
    case 1:
        return cudaGraphRemoveDependencies(graph, nodes, nodes, edges, 2);
    case 2:
        return cudaStreamUpdateCaptureDependencies(NULL, nodes, edges, 2, 0);
    default:
        return cudaGraphAddNode(&node, graph, nodes, edges, 2, &params);
    }
}

static void edges_going_in(void) {
    const cudaGraphEdgeData plain[2] = {{0}}, ported[2] = {{0}, {.from_port = 1}};

    for (int which = 0; which < (version >= V12_2 ? 4 : 3); which++) {
        fresh(0, 0);
        CHECK(with_edges(which, NULL) == cudaSuccess && seen->calls == 1);
        fresh(0, 0);
        CHECK(with_edges(which, plain) == cudaSuccess && seen->calls == 1);
        fresh(0, 0);
        if (version < V12_3) {
            CHECK(with_edges(which, ported) == cudaErrorNotSupported && seen->calls == 0);
            CHECK(said(which < 2 ? "edgeData" : "dependencyData") && said("12.3"));
        } else {
            CHECK(with_edges(which, ported) == cudaSuccess && seen->calls == 1);
        }
    }
}

static cudaError_t get_edges(int which, cudaGraphEdgeData *edges, size_t *count) {
    cudaGraphNode_t from[3], to[3];

    switch (which) {
    case 0:
        return cudaGraphGetEdges(graph, from, to, edges, count);
    case 1:
        return cudaGraphNodeGetDependencies(nodes[0], from, edges, count);
    default:
        return cudaGraphNodeGetDependentNodes(nodes[0], from, edges, count);
    }
}

static void edges_coming_out(void) {
    static const cudaGraphEdgeData plain[3];
    cudaGraphEdgeData edges[3], untouched;
    size_t count;

    memset(&untouched, 0xEE, sizeof untouched);
    for (int which = 0; which < 3; which++) {
        memset(edges, 0xEE, sizeof edges);
        count = 3;
        fresh(0, 0);
        CHECK(get_edges(which, edges, &count) == cudaSuccess && count == 2);
        if (version < V12_3) {
            CHECK(memcmp(edges, plain, 2 * sizeof edges[0]) == 0);
            CHECK(memcmp(&edges[2], &untouched, sizeof untouched) == 0);
        } else {
            CHECK(memcmp(edges, plain, 2 * sizeof edges[0]) != 0); /* the spy's own */
        }
        fresh(0, 0);
        count = 3;
        CHECK(get_edges(which, NULL, &count) == cudaSuccess && count == 2);
        memset(edges, 0xEE, sizeof edges);
        count = 3;
        fresh(1, 0);
        CHECK(get_edges(which, edges, &count) == cudaErrorInvalidValue);
        CHECK(version >= V12_3 || memcmp(&edges[0], &untouched, sizeof untouched) == 0);
    }
}

static void edges_of_a_capture(void) {
    const cudaGraphEdgeData *edges = NULL;
    const cudaGraphNode_t *dependencies;
    enum cudaStreamCaptureStatus status;
    static const cudaGraphEdgeData plain[5];
    unsigned long long id;
    size_t count = 5;
    cudaGraph_t captured;

    fresh(0, 1);
    status = cudaStreamCaptureStatusNone; /* nothing else is valid then: the count is garbage */
    count = SIZE_MAX;
    CHECK(cudaStreamGetCaptureInfo(NULL, &status, &id, &captured, &dependencies, &edges, &count) ==
          cudaSuccess);
    CHECK(version >= V12_3 || edges == NULL);
    status = cudaStreamCaptureStatusActive;
    count = 5;
    CHECK(cudaStreamGetCaptureInfo(NULL, &status, &id, &captured, &dependencies, &edges, &count) ==
          cudaSuccess);
    CHECK(called(version < V12_0   ? "cudaStreamGetCaptureInfo_v2"
                 : version < V12_3 ? "cudaStreamGetCaptureInfo"
                 : version < V13_0 ? "cudaStreamGetCaptureInfo_v3"
                                   : "cudaStreamGetCaptureInfo"));
    if (version < V12_3) {
        CHECK(edges != NULL && memcmp(edges, plain, sizeof plain) == 0);
        CHECK(cudaStreamGetCaptureInfo(NULL, &status, &id, &captured, &dependencies, &edges,
                                       NULL) == cudaSuccess);
        count = 1u << 20;
        CHECK(cudaStreamGetCaptureInfo(NULL, &status, &id, &captured, &dependencies, &edges,
                                       &count) == cudaErrorNotSupported);
        CHECK(said("4096") && cudaGetLastError() == cudaErrorNotSupported);
    }
    fresh(0, 1);
    CHECK(cudaStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL) == cudaSuccess);
}

/* ---- locations ---- */

static void locations(void) {
    struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 3},
                           cpu = {.type = cudaMemLocationTypeHost};
    struct cudaMemLocation numa = {.type = cudaMemLocationTypeHostNuma, .id = 1};
    struct cudaMemLocation nowhere = {.type = cudaMemLocationTypeInvalid};
    struct cudaMemLocation old_cpu = {.type = cudaMemLocationTypeDevice, .id = cudaCpuDeviceId};
    int three = 3, host = cudaCpuDeviceId, *where = &three;
    enum cudaMemoryAdvise advice = cudaMemAdviseSetAccessedBy;
    cudaStream_t stream = (cudaStream_t)0x5000;
    size_t size = 4;

    *seen_scenario = 1; /* the union in a location is at `id` */
    fresh(0, 0);
    CHECK(cudaMemAdvise(&three, size, advice, device) == cudaSuccess);
    CHECK(version >= V12_2 ? arrived("location.id", &three, 4) : arrived("device", &three, 4));
    CHECK(arrived("advice", &advice, sizeof advice) && arrived("count", &size, sizeof size));
    CHECK(arrived("devPtr", &where, sizeof where));
    fresh(0, 0);
    CHECK(cudaMemPrefetchAsync(&three, size, device, 0, stream) == cudaSuccess);
    CHECK(version >= V12_2 ? arrived("location.id", &three, 4) : arrived("dstDevice", &three, 4));
    CHECK(arrived("stream", &stream, sizeof stream) && arrived("count", &size, sizeof size));
    CHECK(arrived("devPtr", &where, sizeof where));
    fresh(0, 0);
    CHECK(cudaMemAdvise(&three, 4, cudaMemAdviseSetReadMostly, cpu) == cudaSuccess);
    CHECK(version >= V12_2 || arrived("device", &host, 4));
    fresh(0, 0);
    CHECK(cudaMemPrefetchAsync(&three, 4, cpu, 0, NULL) == cudaSuccess);
    CHECK(version >= V12_2 || arrived("dstDevice", &host, 4));
    if (version < V12_2) {
        fresh(0, 0);
        CHECK(cudaMemAdvise(&three, 4, advice, numa) == cudaErrorNotSupported && said("12.2"));
        CHECK(cudaMemPrefetchAsync(&three, 4, numa, 0, NULL) == cudaErrorNotSupported &&
              said("location.type"));
        CHECK(cudaMemAdvise(&three, 4, advice, old_cpu) == cudaErrorInvalidValue);
        CHECK(said("cudaMemLocationTypeHost"));
        CHECK(cudaMemPrefetchAsync(&three, 4, old_cpu, 0, NULL) == cudaErrorInvalidDevice &&
              said("cudaMemLocationTypeHost"));
        CHECK(cudaMemPrefetchAsync(&three, 4, device, 1, NULL) == cudaErrorInvalidValue &&
              said("flags"));
        CHECK(seen->calls == 0);
    }
    fresh(0, 0); /* advice without a place: whatever the location says */
    CHECK(cudaMemAdvise(&three, 4, cudaMemAdviseUnsetPreferredLocation, nowhere) ==
          (version < V12_2 ? cudaErrorInvalidValue
                           : cudaSuccess)); /* from 12.2 on CUDA itself refuses */
    CHECK(cudaMemAdvise(&three, 4, cudaMemAdviseUnsetPreferredLocation, old_cpu) == cudaSuccess);
    CHECK(cudaMemAdvise(&three, 4, cudaMemAdviseSetReadMostly, numa) == cudaSuccess);
    *seen_scenario = 0;
}

/* ---- results in another form ---- */

static void graph_update(void) {
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t poisoned;

    memset(&info, 0xEE, sizeof info);
    memset(&poisoned, 0xEE, sizeof poisoned);
    fresh(cudaErrorGraphExecUpdateFailure, 0);
    CHECK(cudaGraphExecUpdate((cudaGraphExec_t)0x3000, graph, &info) ==
          cudaErrorGraphExecUpdateFailure);
    if (version < V12_0) {
        int outcome, want;
        cudaGraphNode_t node;
        memcpy(&outcome, &info.result, sizeof outcome);
        spy_pattern("updateResult_out", SPY_OUT, &want, sizeof want);
        CHECK(outcome == want);
        spy_pattern("hErrorNode_out", SPY_OUT, &node, sizeof node);
        CHECK(info.errorNode == node && info.errorFromNode == NULL);
    } else {
        CHECK(info.errorNode != poisoned && info.errorFromNode != poisoned);
    }
}

static void graph_instantiate(void) {
    cudaGraphExec_t exec;
    unsigned long long flags = 5;

    fresh(0, 0);
    CHECK(cudaGraphInstantiate(&exec, graph, flags) == cudaSuccess &&
          arrived("flags", &flags, sizeof flags));
    CHECK(called(version < V12_0 ? "cudaGraphInstantiateWithFlags" : "cudaGraphInstantiate"));
}

static void driver_entry_point(void) {
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointVersionNotSufficent;
    void *entry = NULL;

    fresh(0, 0);
    CHECK(cudaGetDriverEntryPoint("cuInit", &entry, 0, &status) == cudaSuccess && entry != NULL);
    CHECK(version >= V12_0 || status == cudaDriverEntryPointSuccess);
    fresh(0, 0);
    CHECK(cudaGetDriverEntryPoint("cuInit", &entry, 0, NULL) == cudaSuccess);
    if (version < V12_0) {
        fresh(0, 1);
        entry = NULL;
        CHECK(cudaGetDriverEntryPoint("cuNone", &entry, 0, &status) == cudaSuccess);
        CHECK(status == cudaDriverEntryPointSymbolNotFound && entry == NULL);
        fresh(cudaErrorSymbolNotFound, 1);
        entry = &status;
        CHECK(cudaGetDriverEntryPoint("cuNone", &entry, 0, &status) == cudaSuccess);
        CHECK(status == cudaDriverEntryPointSymbolNotFound && entry == NULL &&
              called("cudaGetLastError"));
    }
}

static void batches(void) {
    void *dsts[2] = {&checks, &failures};
    const void *srcs[2] = {&version, &version};
    size_t sizes[2] = {4, 4}, indexes[1] = {0};
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    cudaStream_t stream = (cudaStream_t)0x5000;
    struct cudaMemcpy3DBatchOp op = {.extent = {1, 1, 1}};

    if (version < V12_8) {
        return; /* absent: the generated calls check that */
    }
    fresh(0, 0);
    CHECK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, indexes, 1, stream) ==
          cudaSuccess);
    CHECK(arrived("stream", &stream, sizeof stream) &&
          arrived("srcs[0]", &srcs[0], sizeof srcs[0]));
    CHECK(arrived("sizes[1]", &sizes[1], sizeof sizes[1]) &&
          arrived("dsts[1]", &dsts[1], sizeof dsts[1]));
    fresh(cudaErrorInvalidValue, 0);
    CHECK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, indexes, 1, NULL) ==
          cudaErrorInvalidValue);
    CHECK(version >= V13_0 || said("copy "));
    fresh(cudaErrorInvalidValue, 0);
    CHECK(cudaMemcpy3DBatchAsync(1, &op, 0, NULL) == cudaErrorInvalidValue);
    CHECK(version >= V13_0 || said("copy "));
    fresh(cudaErrorInvalidValue, 0); /* what was noted of one call is not said of the next */
    attributes.srcAccessOrder = (enum cudaMemcpySrcAccessOrder)77;
    CHECK(cudaMemcpyBatchAsync(dsts, srcs, sizes, 2, &attributes, indexes, 1, NULL) != cudaSuccess);
    CHECK(cudaEventSynchronize(NULL) == cudaErrorInvalidValue && !said("copy "));
    fresh(cudaErrorInvalidValue, 1); /* the library does not say which */
    CHECK(cudaMemcpy3DBatchAsync(1, &op, 0, NULL) == cudaErrorInvalidValue && !said("copy "));
}

/* ---- structs ---- */

static void textures(void) {
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    struct cudaTextureDesc texture = {.seamlessCubemap = 1};
    cudaTextureObject_t object;

    fresh(0, 0);
    CHECK(cudaCreateTextureObject(&object, &resource, &texture, NULL) == cudaSuccess);
    CHECK(arrived("pTexDesc.seamlessCubemap", &texture.seamlessCubemap,
                  4)); /* 11.8 knows it under _v2 only */
    CHECK(called(version == V11_8 ? "cudaCreateTextureObject_v2" : "cudaCreateTextureObject"));
}

static void choose_device(void) {
    struct cudaDeviceProp properties;
    int device;

    memset(&properties, 1,
           sizeof properties); /* as cudaGetDeviceProperties would fill it: nothing is zero */
    fresh(0, 0);
    CHECK(cudaChooseDevice(&device, &properties) == cudaSuccess);
    CHECK(arrived("prop.warpSize", &properties.warpSize, sizeof properties.warpSize));
}

static void attribute_values(void) {
    static const unsigned char zero[32];
    cudaLaunchAttributeValue value;

    memset(&value, 0xEE, sizeof value);
    fresh(0, 0);
    CHECK(cudaStreamGetAttribute(NULL, cudaLaunchAttributeAccessPolicyWindow, &value) ==
          cudaSuccess);
    CHECK(version >= V11_8 || memcmp((unsigned char *)&value + 32, zero, sizeof zero) == 0);
}

static void reserved_space(void) {
    struct cudaExternalMemoryHandleDesc handle = {.type = cudaExternalMemoryHandleTypeOpaqueFd};
    cudaExternalMemory_t memory;

    handle.reserved[15] = 1;
    fresh(0, 0);
    if (version < V13_0) { /* the space is not there: what it might say is lost */
        CHECK(cudaImportExternalMemory(&memory, &handle) == cudaErrorInvalidValue &&
              seen->calls == 0);
        CHECK(said("reserved"));
    } else {
        CHECK(cudaImportExternalMemory(&memory, &handle) == cudaSuccess && seen->calls == 1);
    }
}

/* Space that a field was carved out of is still reserved where that field is unknown. */
static void reserved_around_a_field(void) {
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned};
    cudaMemPool_t pool;

    properties.reserved[40] = 1;
    fresh(0, 0);
    if (version < 13040) {
        CHECK(cudaMemPoolCreate(&pool, &properties) == cudaErrorInvalidValue && seen->calls == 0);
        CHECK(said("reserved"));
    } else {
        CHECK(cudaMemPoolCreate(&pool, &properties) == cudaSuccess);
    }
}

static void harmless_values(void) {
    struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeKernel};
    cudaGraphNode_t node;

    params.kernel.functionType =
        cudaKernelFunctionTypeDeviceEntry; /* what older runtimes take it for anyway */
    fresh(0, 0);
    CHECK(version < V12_2 || cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params) == cudaSuccess);
}

static void answers_are_not_failures(void) {
    fresh(cudaErrorNotReady, 0);
    CHECK(cudaStreamQuery(NULL) == cudaErrorNotReady && acu_last_error() == 0);
    CHECK(cudaEventQuery((cudaEvent_t)0x4000) == cudaErrorNotReady && acu_last_error() == 0);
}

static void newer_enumerators(void) {
    int value = 0;

    fresh(cudaErrorInvalidValue, 0);
    if (version < 12030) { /* cudaDevAttrMpsEnabled is of that age: the reason is the enumerator */
        CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMpsEnabled, 0) == cudaErrorNotSupported);
        CHECK(said("cudaDevAttrMpsEnabled"));
    } else {
        CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMpsEnabled, 0) == cudaErrorInvalidValue);
    }
    fresh(cudaErrorInvalidValue, 0);
    CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) == cudaErrorInvalidValue);
}

int check_decisions(int loaded, int *done) {
    version = loaded;
    edges_going_in();
    edges_coming_out();
    edges_of_a_capture();
    locations();
    graph_update();
    graph_instantiate();
    driver_entry_point();
    batches();
    textures();
    choose_device();
    attribute_values();
    reserved_space();
    reserved_around_a_field();
    harmless_values();
    answers_are_not_failures();
    newer_enumerators();
    fresh(0, 0);
    *done += checks;
    return failures;
}
