/* What the tests of graphs and nodes share: a graph, two streams, and two buffers of eight elements
 * on the first of them. */
#ifndef GRAPH_TEST_H
#define GRAPH_TEST_H

#include "kernels.h"

#include <anycuda/cudart.h> /* before names that it has, too */

static acu_stream *stream, *other;
static acu_graph *graph;
static acu_buffer *x, *y;
static int called, destroyed; /* atomic: closures that were, of those with the next two */

static inline void call(void *data) {
    (void)data;
    __atomic_add_fetch(&called, 1, __ATOMIC_SEQ_CST);
}

static inline void destroy(void *data) {
    (void)data;
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static inline int begin_graph(void **state, acu_dtype dtype) {
    called = destroyed = 0;
    return begin_kernels(state) || acu_stream_create(0, NULL, &stream) ||
           acu_stream_create(0, NULL, &other) || acu_graph_create(&graph) ||
           acu_buffer_create(stream, dtype, 8, &x) || acu_buffer_create(stream, dtype, 8, &y);
}

static inline int end_graph(void **state) {
    return acu_buffer_release(x) || acu_buffer_release(y) || acu_graph_release(graph) ||
           acu_stream_release(stream) || acu_stream_release(other) || nothing_left(state);
}

/* Launches the graph once, as it is now, and waits. */
static inline void launch(void) {
    acu_exec *exec = NULL;
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_release(exec));
}

#endif
