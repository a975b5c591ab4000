/* What the tests of captures share: two streams, each with a buffer of eight elements. */
#ifndef CAPTURE_TEST_H
#define CAPTURE_TEST_H

#include "kernels.h"

#include <anycuda/cudart.h> /* before names that it has, too */

static acu_stream *a, *b;
static acu_buffer *x, *y;

static inline int begin_capture(void **state) {
    return begin_kernels(state) || acu_stream_create(0, NULL, &a) ||
           acu_stream_create(0, NULL, &b) || acu_buffer_create(a, ACU_I32, 8, &x) ||
           acu_buffer_create(b, ACU_I32, 8, &y);
}

static inline int end_capture(void **state) {
    return acu_buffer_release(x) || acu_buffer_release(y) || acu_stream_release(a) ||
           acu_stream_release(b) || nothing_left(state);
}

/* Equal bytes are one node. */
static inline int32_t bytes_of(int32_t value) {
    return value * 0x01010101;
}

static inline void fill(acu_buffer *buffer, acu_stream *on, int32_t value) {
    value = bytes_of(value);
    OK(acu_buffer_fill_typed(buffer, ACU_I32, &value, on));
}

static inline size_t nodes_of(acu_graph *graph) {
    size_t count = 0;
    OK(acu_graph_get_nodes(graph, NULL, &count));
    return count;
}

static inline void expect(acu_buffer *buffer, int32_t value) {
    int32_t back[8];
    OK(acu_buffer_read(buffer, back, 8));
    for (int i = 0; i < 8; i++)
        assert_int_equal(back[i], bytes_of(value));
}

static inline void launch_and_release(acu_graph *graph) {
    acu_exec *exec = NULL;
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, a));
    OK(acu_stream_synchronize(a));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
}

#endif
