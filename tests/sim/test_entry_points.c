/*
 * What cuGetProcAddress() finds, of each name in each version of CUDA, against an H200's answers in
 * a file. Functions that are not simulated are not found.
 */
#include "driver_test.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER = 13000, OLDEST = 3020, MOST_SYMBOLS = 8 };

/* A line of the file. */
typedef struct function {
    char name[64];
    bool own;
    int count, since[MOST_SYMBOLS];
    char symbols[MOST_SYMBOLS][64];
} function;

static FILE *answers;

static bool read_function(function *f) {
    char line[512], *rest = line, *word;
    *f = (function){.count = 0};
    do
        if (!fgets(line, sizeof line, answers))
            return false;
    while (*line == '#');
    snprintf(f->name, sizeof f->name, "%s", strtok_r(line, " \n", &rest));
    while ((word = strtok_r(NULL, " \n", &rest))) {
        f->own |= strcmp(word, "own") == 0;
        char *symbol = strchr(word, ':');
        if (!symbol || f->count == MOST_SYMBOLS)
            continue;
        f->since[f->count] = (int)strtol(word, NULL, 10);
        snprintf(f->symbols[f->count++], sizeof f->symbols[0], "%s", symbol + 1);
    }
    return f->count > 0;
}

static void *find(const char *name, int version, cuuint64_t flags, int *status) {
    void *found = NULL;
    CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
    OK(cuGetProcAddress(name, &found, version, flags, &query));
    *status = query;
    return found;
}

/* Returns the index of the symbol that the version has; -1: none. */
static int symbol_of(const function *f, int version) {
    int index = -1;
    for (int n = 0; n < f->count; n++)
        index = f->since[n] <= version ? n : index;
    return index;
}

static void compare(const function *f, int version, cuuint64_t flags) {
    int status, newest;
    void *found = find(f->name, version, flags, &status);
    const void *last = find(f->name, DRIVER, flags, &newest);
    const int index = symbol_of(f, version);
    const bool none = index < 0 || (f->own && flags == 2 && version < 7000);
    if (status != (none ? 2 : 0) || (found == NULL) != none)
        fail_msg("%s of %d, flags %d: status %d", f->name, version, (int)flags, status);
    if (!none && index == f->count - 1 && found != last)
        fail_msg("%s of %d, flags %d, is not that of %d", f->name, version, (int)flags, DRIVER);
}

TEST(each_name_in_each_version) {
    static const int versions[] = {3020,  4000,  4010,  5000,  5050,  6000,  6050,  7000,  7050,
                                   8000,  9000,  9010,  9020,  10000, 10010, 10020, 11000, 11010,
                                   11020, 11030, 11040, 11050, 11060, 11070, 11080, 12000, 12010,
                                   12020, 12030, 12040, 12050, 12060, 12080, 12090, 13000};
    function f;
    int simulated = 0;
    while (read_function(&f)) {
        int status;
        find(f.name, DRIVER, 0, &status);
        simulated += status == 0;
        for (size_t n = 0; n < sizeof versions / sizeof *versions && status == 0; n++)
            for (cuuint64_t flags = 0; flags < 4; flags++)
                compare(&f, versions[n], flags);
        assert_int_not_equal(status, 2); /* the driver has all of the file */
    }
    assert_true(simulated > 300);
}

/* Variants with other parameters are other functions. */
TEST(older_meanings_are_others) {
    int status;
    const void *of_8 = find("cuMemAdvise", 8000, 0, &status);
    assert_true(of_8 && of_8 != find("cuMemAdvise", 12020, 0, &status));
    const void *one = find("cuStreamGetCaptureInfo", 10010, 0, &status);
    const void *two = find("cuStreamGetCaptureInfo", 11030, 0, &status);
    const void *own = find("cuStreamGetCaptureInfo", 11030, 2, &status);
    assert_true(one && two && own && one != two && own != two);
    assert_ptr_equal(find("cuStreamDestroy", 3020, 0, &status),
                     find("cuStreamDestroy", 4000, 0, &status));
}

TEST(versions_and_names_that_are_none) {
    int status;
    void *found = &status;
    assert_null(find("cuMemAlloc", 0, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    assert_ptr_equal(find("cuMemAlloc", -1, 0, &status), find("cuMemAlloc", DRIVER, 0, &status));
    assert_null(find("cuMemAlloc_v2", DRIVER, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(find("cuCtxGetDevice_v2", DRIVER, 0, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    SAYS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &found, DRIVER + 10, 0, NULL));
    assert_ptr_equal(found, &status);
    OK(cuGetProcAddress("cuNoSuch", &found, DRIVER, 0, NULL)); /* by the status alone */
    assert_null(found);
}

/* A function of 11.3 has no status. */
TEST(the_older_function_fails) {
    CUresult (*get)(const char *, void **, int, cuuint64_t);
    int status;
    void *found = find("cuGetProcAddress", 11030, 0, &status), *kept = &status;
    assert_non_null(found);
    memcpy(&get, &found, sizeof get);
    assert_int_equal(get("cuNoSuch", &kept, 12000, 0), CUDA_ERROR_NOT_FOUND);
    assert_ptr_equal(kept, &status);
    assert_int_equal(get("cuInit", NULL, 12000, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(get("cuInit", &kept, 12000, 0), CUDA_SUCCESS);
    assert_ptr_not_equal(kept, &status);
}

#define GET(function, type, name, version)                                                         \
    __typeof__(type)(function);                                                                    \
    do {                                                                                           \
        int query_;                                                                                \
        void *found_ = find(name, version, 0, &query_);                                            \
        assert_non_null(found_);                                                                   \
        memcpy(&(function), &found_, sizeof(function));                                            \
    } while (0)

typedef CUresult of_edges(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
typedef CUresult of_all_edges(CUgraph, CUgraphNode *, CUgraphNode *, size_t *);
typedef CUresult of_nodes(CUgraphNode, CUgraphNode *, size_t *);

typedef CUresult of_instances(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
typedef CUresult of_updates(CUgraphExec, CUgraph, CUgraphNode *, CUgraphExecUpdateResult *);

TEST(graphs_of_cuda_11) {
    GET(add, of_edges *, "cuGraphAddDependencies", 11000);
    GET(drop, of_edges *, "cuGraphRemoveDependencies", 11000);
    GET(before, of_nodes *, "cuGraphNodeGetDependencies", 11000);
    GET(behind, of_nodes *, "cuGraphNodeGetDependentNodes", 11000);
    GET(edges, of_all_edges *, "cuGraphGetEdges", 11000);
    GET(instantiate, of_instances *, "cuGraphInstantiate", 11000);
    GET(update, of_updates *, "cuGraphExecUpdate", 11000);
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode nodes[2], from, to, failed = NULL;
    CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_ERROR;
    size_t count = 1;
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEmptyNode(&nodes[0], graph, NULL, 0));
    OK(cuGraphAddEmptyNode(&nodes[1], graph, NULL, 0));
    OK(add(graph, &nodes[0], &nodes[1], 1));
    OK(edges(graph, &from, &to, &count));
    assert_true(count == 1 && from == nodes[0] && to == nodes[1]);
    OK(before(nodes[1], &from, &count));
    assert_true(count == 1 && from == nodes[0]);
    OK(behind(nodes[0], &to, &count));
    assert_true(count == 1 && to == nodes[1]);
    OK(instantiate(&exec, graph, &failed, NULL, 0));
    OK(update(exec, graph, &failed, &result));
    assert_int_equal(result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    OK(drop(graph, &nodes[0], &nodes[1], 1));
    assert_int_not_equal(update(exec, graph, &failed, &result), CUDA_SUCCESS);
    assert_int_equal(result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
}

typedef CUresult of_begin(CUstream);
typedef CUresult of_info(CUstream, CUstreamCaptureStatus *, cuuint64_t *);
typedef CUresult of_more(CUstream, CUstreamCaptureStatus *, cuuint64_t *, CUgraph *,
                         const CUgraphNode **, size_t *);
typedef CUresult of_change(CUstream, CUgraphNode *, size_t, unsigned);

TEST(captures_of_cuda_10_and_11) {
    GET(begin_old, of_begin *, "cuStreamBeginCapture", 10000);
    GET(info, of_info *, "cuStreamGetCaptureInfo", 10010);
    GET(more, of_more *, "cuStreamGetCaptureInfo", 11030);
    GET(change, of_change *, "cuStreamUpdateCaptureDependencies", 11030);
    CUstream stream;
    CUgraph graph, same;
    CUgraphNode node;
    const CUgraphNode *last;
    CUstreamCaptureStatus status;
    cuuint64_t id = 0;
    size_t count = 9;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(begin_old(stream));
    OK(info(stream, &status, &id));
    assert_true(status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id);
    OK(more(stream, &status, &id, &graph, &last, &count));
    assert_int_equal(count, 0);
    OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(change(stream, &node, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
    OK(more(stream, &status, &id, &graph, &last, &count));
    assert_true(count == 1 && *last == node);
    OK(cuStreamEndCapture(stream, &same));
    OK(cuGraphDestroy(same));
    OK(cuStreamDestroy(stream));
}

typedef CUresult of_advice(CUdeviceptr, size_t, CUmem_advise, CUdevice);
typedef CUresult of_prefetch(CUdeviceptr, size_t, CUdevice, CUstream);

TEST(managed_memory_of_cuda_8) {
    GET(advise, of_advice *, "cuMemAdvise", 8000);
    GET(prefetch, of_prefetch *, "cuMemPrefetchAsync", 8000);
    CUdeviceptr memory;
    int where = 7;
    OK(cuMemAllocManaged(&memory, 1 << 16, CU_MEM_ATTACH_GLOBAL));
    OK(advise(memory, 1 << 16, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    OK(cuMemRangeGetAttribute(&where, sizeof where, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                              memory, 1 << 16));
    assert_int_equal(where, CU_DEVICE_CPU);
    OK(prefetch(memory, 1 << 16, 1, NULL));
    OK(cuCtxSynchronize());
    OK(cuMemRangeGetAttribute(&where, sizeof where, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION,
                              memory, 1 << 16));
    assert_int_equal(where, 1);
    SAYS(CUDA_ERROR_INVALID_DEVICE, prefetch(memory, 1 << 16, 9, NULL));
    OK(cuMemFree(memory));
}

/* The machine's driver is as old as the H200's. */
static int begin_as_h200(void **state) {
    (void)state;
    answers = fopen(ENTRY_POINTS, "r");
    acu_sim_reset("devices=2,driver=13.0");
    return !answers || cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) ||
           cuCtxSetCurrent(context);
}

static int end_as_h200(void **state) {
    fclose(answers);
    return end_in_context(state);
}

#define D(name) cmocka_unit_test_setup_teardown(name, begin_as_h200, end_as_h200)

int main(void) {
    const struct CMUnitTest tests[] = {
        D(each_name_in_each_version),
        D(older_meanings_are_others),
        D(versions_and_names_that_are_none),
        D(the_older_function_fails),
        D(graphs_of_cuda_11),
        D(captures_of_cuda_10_and_11),
        D(managed_memory_of_cuda_8),
    };
    return RUN(tests);
}
