/* Memory of graphs: what is said where it cannot be freed. */
#include "graph_test.h"

#include <stdint.h>
#include <stdio.h>

static void *add_alloc(cudaGraph_t graph) {
    struct cudaMemAllocNodeParams params = {.bytesize = 1000};
    cudaGraphNode_t node;
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    OK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    return params.dptr;
}

/* Checks that the last failure's message has the text, in which %p is the address. */
static void expect_said(const char *format, void *address) {
    char at[32], expected[200];
    const char *place = strstr(format, "%p");
    (void)snprintf(at, sizeof at, "%p", address);
    (void)snprintf(expected, sizeof expected, "(1): %.*s%s%s; libcudart", (int)(place - format),
                   format, at, place + 2);
    if (!strstr(acu_last_error_message(), expected))
        print_error("expected: %s\nmessage:  %s\n", expected, acu_last_error_message());
    assert_non_null(strstr(acu_last_error_message(), expected));
    (void)cudaGetLastError();
}

#define NOT_ALLOCATED                                                                              \
    "the 1000 bytes at %p, which a graph allocates, are not allocated: launch the graph first, "   \
    "and free them once after each launch"
#define FREED                                                                                      \
    "the 1000 bytes at %p, which a graph allocates, are freed already by a node of this graph or " \
    "of another"
#define NOT_OF_A_GRAPH "no graph allocates memory at %p: a graph frees only what a graph allocates"

TEST(freeing_out_of_turn) {
    cudaGraph_t graph = new_graph();
    cudaStream_t stream = new_stream();
    void *memory = add_alloc(graph);
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
    expect_said(NOT_ALLOCATED, memory);
    SAYS(cudaErrorInvalidValue, cudaFree(memory));
    expect_said(NOT_ALLOCATED, memory);
    cudaGraphExec_t exec = instantiate(graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaFreeAsync(memory, stream));
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
    expect_said(NOT_ALLOCATED, memory);
    OK(cudaStreamSynchronize(stream));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
}

TEST(freeing_in_a_capture) {
    cudaGraph_t graph = new_graph(), captured;
    cudaStream_t stream = new_stream();
    char *memory = add_alloc(graph), *plain = new_memory(64);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(plain, stream));
    expect_said(NOT_OF_A_GRAPH, plain);
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(memory + 8, stream));
    expect_said(NOT_OF_A_GRAPH, memory + 8);
    OK(cudaFreeAsync(memory, stream));
    SAYS(cudaErrorInvalidValue, cudaFreeAsync(memory, stream));
    expect_said(FREED, memory);
    OK(cudaStreamEndCapture(stream, &captured));
    OK(cudaGraphDestroy(captured));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(plain));
    OK(cudaStreamDestroy(stream));
}

/* The host's memory is not used up for a size that no device has. */
TEST(more_than_all_memory) {
    const size_t sizes[] = {SIZE_MAX - 100, (size_t)1 << 54, (size_t)1 << 48};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cudaGraph_t graph = new_graph();
        struct cudaMemAllocNodeParams params = {.bytesize = sizes[i]};
        cudaGraphNode_t node;
        params.poolProps.allocType = cudaMemAllocationTypePinned;
        params.poolProps.location.type = cudaMemLocationTypeDevice;
        FAILS(cudaErrorMemoryAllocation, cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
        OK(cudaGraphDestroy(graph));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {T(freeing_out_of_turn), T(freeing_in_a_capture),
                                       T(more_than_all_memory)};
    return RUN(tests);
}
