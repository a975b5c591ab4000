/* Graphs: nodes, edges, copies, and what they are asked. */
#include "graph_test.h"

TEST(creates_and_destroys) {
    cudaGraph_t graph = new_graph();
    assert_int_equal(node_count(graph), 0);
    OK(cudaGraphDestroy(graph));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(graph));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroy(NULL));
}

TEST(create_mistakes) {
    cudaGraph_t graph;
    FAILS(cudaErrorInvalidValue, cudaGraphCreate(NULL, 0));
    FAILS(cudaErrorInvalidValue, cudaGraphCreate(&graph, 1));
}

TEST(nodes_know_their_edges) {
    cudaGraph_t graph = new_graph(), of_node;
    cudaGraphNode_t a = add_empty(graph, NULL, 0), b = add_empty(graph, &a, 1), got[3];
    cudaGraphNode_t c = add_empty(graph, (cudaGraphNode_t[]){a, b}, 2);
    size_t count = 3;
    OK(cudaGraphNodeGetDependencies(c, got, NULL, &count));
    assert_int_equal(count, 2);
    assert_ptr_equal(got[0], a);
    assert_ptr_equal(got[1], b);
    assert_null(got[2]);
    count = 1;
    OK(cudaGraphNodeGetDependentNodes(a, got, NULL, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(got[0], b);
    OK(cudaGraphNodeGetContainingGraph(b, &of_node));
    assert_ptr_equal(of_node, graph);
    OK(cudaGraphDestroyNode(b));
    count = 3;
    OK(cudaGraphNodeGetDependencies(c, NULL, NULL, &count));
    assert_int_equal(count, 1);
    FAILS(cudaErrorInvalidValue, cudaGraphDestroyNode(b));
    OK(cudaGraphDestroy(graph));
    FAILS(cudaErrorInvalidValue, cudaGraphDestroyNode(a));
}

/* CUDA crashes. */
TEST(a_graph_in_itself) {
    cudaGraph_t graph = new_graph(), inner;
    cudaGraphNode_t node = add_empty(graph, NULL, 0);
    for (size_t i = 1; i < 4; i++) {
        OK(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, graph));
        OK(cudaGraphChildGraphNodeGetGraph(node, &inner));
        assert_int_equal(node_count(inner), i); /* as it was */
        assert_int_equal(node_count(graph), i + 1);
    }
    OK(cudaGraphAddChildGraphNode(&node, inner, NULL, 0, graph)); /* within its own part */
    run_once(graph);
    OK(cudaGraphDestroy(graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {T(creates_and_destroys), T(create_mistakes),
                                       T(nodes_know_their_edges), T(a_graph_in_itself)};
    return RUN(tests);
}
