/* Parameters of nodes are changed, in graphs and executable graphs, and asked for. */
#include "graph_test.h"

#include <anycuda/cudart.h>

static int setup(void **state) {
    return begin_graph(state, ACU_F32);
}

static void fill(acu_buffer *buffer, float value) {
    OK(acu_buffer_fill(buffer, &value));
}

static float first_of(acu_buffer *buffer) {
    float back[8];
    OK(acu_buffer_read(buffer, back, 8));
    return back[0];
}

/* Whether an event that is known by its raw handle alone is there; CUDA may crash if it is not. */
static bool is_alive(struct CUevent_st *raw) {
    bool alive = cudaEventQuery(raw) != cudaErrorInvalidResourceHandle;
    (void)cudaGetLastError();
    return alive;
}

/* ---- each kind ---- */

static void kernels(void **state) {
    (void)state;
    acu_node node;
    acu_kernel *scale = kernel_on(0, "scale"), *add = kernel_on(0, "add");
    const acu_grid grid = acu_grid_1d(8, 32);
    const acu_arg args[] = {acu_inout(x), acu_arg_of(3.0f), acu_arg_of(8)};
    const acu_arg sum[] = {acu_in(x), acu_in(x), acu_out(y), acu_arg_of(8)};
    fill(x, 2);
    OK(acu_graph_add_kernel(graph, NULL, 0, scale, &grid, args, 3, &node));
    OK(acu_node_set_kernel(node, add, &grid, sum, 4));
    OK(acu_kernel_release(scale));
    OK(acu_kernel_release(add)); /* the graph keeps it */
    launch();
    assert_true(first_of(x) == 2 && first_of(y) == 4);
    FAILS(acu_node_set_kernel(node, NULL, &grid, sum, 4), ACU_ERROR_ARGUMENT, "NULL");
    launch(); /* as it was */
}

static void copies(void **state) {
    (void)state;
    acu_node node;
    acu_buffer *z = NULL;
    fill(x, 1);
    fill(y, 2);
    OK(acu_buffer_create(stream, ACU_F32, 8, &z));
    OK(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = z, .from = x, .count = ACU_REST},
                          &node));
    OK(acu_node_set_copy(node, &(acu_copy){.to = z, .from = y, .count = ACU_REST}));
    launch();
    assert_true(first_of(z) == 2);
    FAILS(acu_node_set_copy(node, &(acu_copy){.to = z, .from = y, .from_at = 8, .count = ACU_REST}),
          ACU_ERROR_RANGE, "no elements from element 8 on");
    FAILS(acu_node_set_copy(node, NULL), ACU_ERROR_ARGUMENT, "'copy' is NULL");
    const struct cudaMemcpy3DParms raw = {
        .srcPtr = {acu_buffer_raw(x), 32, 32, 1},
        .dstPtr = {acu_buffer_raw(z), 32, 32, 1},
        .extent = {32, 1, 1},
        .kind = cudaMemcpyDeviceToDevice,
    };
    OK(acu_node_set_memcpy(node, &raw));
    launch();
    assert_true(first_of(z) == 1);
    FAILS(acu_node_set_memcpy(node, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
    OK(acu_buffer_release(z));
}

static void fills(void **state) {
    (void)state;
    acu_node node;
    const float one = 1, two = 2;
    OK(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_F32, &one, .width = ACU_REST}, &node));
    OK(acu_node_set_fill(node, &(acu_fill){y, ACU_F32, &two, .width = ACU_REST}));
    fill(x, 7);
    launch();
    assert_true(first_of(x) == 7 && first_of(y) == 2);
    FAILS(acu_node_set_fill(node, &(acu_fill){y, ACU_F32, &two, .at = 9, .width = ACU_REST}),
          ACU_ERROR_RANGE, "");
    FAILS(acu_node_set_fill(node, NULL), ACU_ERROR_ARGUMENT, "'fill' is NULL");
}

static void host_functions(void **state) {
    (void)state;
    acu_node node, empty;
    OK(acu_graph_add_empty(graph, NULL, 0, &empty));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){call, NULL, destroy}, &node));
    OK(acu_node_set_host(node, (acu_closure){call, NULL, destroy}));
    assert_int_equal(destroyed, 1); /* the first one */
    FAILS(acu_node_set_host(node, (acu_closure){NULL, NULL, destroy}), ACU_ERROR_ARGUMENT,
          "'closure.call' is NULL");
    assert_int_equal(destroyed, 2); /* what was refused */
    FAILS(acu_node_set_host(empty, (acu_closure){call, NULL, destroy}), 1,
          "cudaGraphHostNodeSetParams failed with cudaErrorInvalidValue");
    assert_non_null(strstr(acu_last_error_message(), ", empty node 0"));
    assert_int_equal(destroyed, 3);
    launch();
    assert_int_equal(called, 1);
    OK(acu_node_destroy(node));
    assert_int_equal(destroyed, 4);
}

static void events(void **state) {
    (void)state;
    acu_node record, wait;
    acu_event *a = NULL, *b = NULL;
    OK(acu_event_create(0, NULL, &a));
    OK(acu_event_create(0, NULL, &b));
    OK(acu_graph_add_event_record(graph, NULL, 0, a, &record));
    OK(acu_graph_add_event_wait(graph, NULL, 0, a, &wait));
    OK(acu_node_set_event(record, b));
    OK(acu_node_set_event(wait, b));
    struct cudaGraphNodeParams params;
    OK(acu_node_get_params(record, &params));
    assert_int_equal(params.type, cudaGraphNodeTypeEventRecord);
    assert_ptr_equal(params.eventRecord.event, acu_event_raw(b));
    OK(acu_node_get_params(wait, &params));
    assert_ptr_equal(params.eventWait.event, acu_event_raw(b));
    FAILS(acu_node_set_event(wait, NULL), ACU_ERROR_ARGUMENT, "the event is NULL");
    OK(acu_event_release(a));
    OK(acu_event_release(b));
    launch();
}

/* ---- raw ---- */

static void raw_parameters_go_round(void **state) {
    (void)state;
    acu_node node;
    acu_exec *exec = NULL;
    const float one = 1, two = 2;
    struct cudaGraphNodeParams params;
    OK(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_F32, &one, .width = ACU_REST}, &node));
    OK(acu_node_get_params(node, &params));
    assert_int_equal(params.type, cudaGraphNodeTypeMemset);
    assert_ptr_equal(params.memset.dst, acu_buffer_raw(x));
    assert_int_equal(params.memset.elementSize, 4);
    assert_int_equal(params.memset.width, 8);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    memcpy(&params.memset.value, &two, sizeof two);
    OK(acu_node_set_params(node, &params));
    OK(acu_exec_launch(exec, stream)); /* was there before */
    assert_true(first_of(x) == 1);
    launch();
    assert_true(first_of(x) == 2);
    OK(acu_exec_launch(exec, stream));
    OK(acu_exec_set_params(exec, node, &params));
    OK(acu_exec_launch(exec, stream));
    assert_true(first_of(x) == 2);
    FAILS(acu_node_set_params(node, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
    FAILS(acu_node_get_params(node, NULL), ACU_ERROR_ARGUMENT, "'params' is NULL");
    OK(acu_exec_release(exec));
}

static void raw_parameters_of_all_kinds(void **state) {
    (void)state;
    acu_node copy, host, child, kernel, empty, inner;
    acu_graph *sub = NULL, *part = NULL;
    acu_kernel *scale = kernel_on(0, "scale");
    const acu_grid grid = acu_grid_1d(8, 4);
    const acu_arg args[] = {acu_inout(x), acu_arg_of(3.0f), acu_arg_of(8)};
    struct cudaGraphNodeParams params;
    OK(acu_graph_create(&sub));
    OK(acu_graph_add_empty(sub, NULL, 0, &inner));
    OK(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                          &copy));
    OK(acu_graph_add_host(graph, NULL, 0, (acu_closure){call, NULL, NULL}, &host));
    OK(acu_graph_add_child(graph, NULL, 0, sub, &child));
    OK(acu_graph_add_kernel(graph, NULL, 0, scale, &grid, args, 3, &kernel));
    OK(acu_graph_add_empty(graph, NULL, 0, &empty));
    OK(acu_node_get_params(copy, &params));
    assert_int_equal(params.type, cudaGraphNodeTypeMemcpy);
    assert_int_equal(params.memcpy.copyParams.extent.width, 32);
    OK(acu_node_set_params(copy, &params));
    OK(acu_node_get_params(host, &params));
    assert_non_null(params.host.fn);
    OK(acu_node_get_child(child, &part));
    OK(acu_node_get_params(child, &params));
    assert_ptr_equal(params.graph.graph, acu_graph_raw(part));
    OK(acu_node_get_params(empty, &params));
    assert_int_equal(params.type, cudaGraphNodeTypeEmpty);
    OK(acu_node_get_params(kernel, &params));
    assert_int_equal(params.type, cudaGraphNodeTypeKernel);
    assert_int_equal(params.kernel.gridDim.x, 2);
    assert_int_equal(params.kernel.blockDim.x, 4);
    assert_true(**(float **)&params.kernel.kernelParams[1] == 3.0f);
    if (acu_kernel_raw_driver(scale)) { /* the runtime may not know it */
        static const char *const refused[] = {
            "cudaGraphNodeSetParams@1:98;cudaGraphKernelNodeSetParams@1:98",
            "cudaGraphNodeSetParams@1:801;cudaGraphKernelNodeSetParams@1:801"};
        for (unsigned i = 0; i < COUNT(refused); i++) {
            assert_int_equal(acu_inject_errors("cudaGraphKernelNodeGetParams@1:98"), 0);
            OK(acu_node_get_params(kernel,
                                   &params)); /* its arguments are the node's until it changes */
            acu_inject_errors(NULL);
            assert_ptr_equal(params.kernel.func, acu_kernel_raw_driver(scale));
            assert_int_equal(params.kernel.gridDim.x, i + 2);
            assert_int_equal(acu_inject_errors(refused[i]), 0);
            params.kernel.gridDim.x = i + 3;
            OK(acu_node_set_params(kernel, &params));
            acu_inject_errors(NULL);
            OK(acu_node_get_params(kernel, &params));
            assert_int_equal(params.kernel.gridDim.x, i + 3);
        }
    } else {
        params.kernel.gridDim.x = 1;
        OK(acu_node_set_params(kernel, &params));
    }
    OK(acu_graph_release(sub));
    OK(acu_kernel_release(scale));
}

static void memory_nodes_tell_their_address(void **state) {
    (void)state;
    acu_node alloc, release;
    acu_buffer *own = NULL;
    struct cudaGraphNodeParams params;
    OK(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_F32, 8, &own, &alloc));
    OK(acu_graph_add_free(graph, &alloc, 1, own, &release));
    OK(acu_node_get_params(alloc, &params));
    assert_int_equal(params.type, cudaGraphNodeTypeMemAlloc);
    assert_ptr_equal(params.alloc.dptr, acu_buffer_raw(own));
    OK(acu_node_get_params(release, &params));
    assert_ptr_equal(params.free.dptr, acu_buffer_raw(own));
    assert_int_not_equal(acu_node_set_params(release, &params), 0); /* CUDA has no way */
    OK(acu_buffer_release(own));
}

static void attributes(void **state) {
    (void)state;
    acu_node a, b, empty;
    acu_kernel *scale = kernel_on(0, "scale");
    const acu_grid grid = acu_grid_1d(8, 4);
    const acu_arg args[] = {acu_inout(x), acu_arg_of(3.0f), acu_arg_of(8)};
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative,
                                     .val = {.cooperative = 1}};
    OK(acu_graph_add_kernel(graph, NULL, 0, scale, &grid, args, 3, &a));
    OK(acu_graph_add_kernel(graph, &a, 1, scale, &grid, args, 3, &b));
    OK(acu_graph_add_empty(graph, NULL, 0, &empty));
    OK(acu_node_set_attribute(a, &attribute));
    OK(acu_node_copy_attributes(b, a));
    attribute.val.cooperative = 0;
    OK(acu_node_get_attribute(b, &attribute));
    assert_int_equal(attribute.val.cooperative, 1);
    attribute.id = cudaLaunchAttributeSynchronizationPolicy; /* a stream's */
    FAILS(acu_node_get_attribute(a, &attribute), 1, "cudaGraphKernelNodeGetAttribute");
    FAILS(acu_node_set_attribute(empty, &attribute), 1, "cudaGraphKernelNodeSetAttribute");
    FAILS(acu_node_copy_attributes(a, empty), 1, "cudaGraphKernelNodeCopyAttributes");
    FAILS(acu_node_get_attribute(a, NULL), ACU_ERROR_ARGUMENT, "'attribute' is NULL");
    FAILS(acu_node_set_attribute(a, NULL), ACU_ERROR_ARGUMENT, "'attribute' is NULL");
    FAILS(acu_node_copy_attributes((acu_node){NULL, 0}, a), ACU_ERROR_ARGUMENT,
          "the node is invalid");
    OK(acu_kernel_release(scale));
}

/* ---- what is kept ---- */

static void old_things_go(void **state) {
    (void)state;
    ONLY_SIMULATED("whether an event is gone");
    acu_node node, same;
    acu_event *a = NULL, *b = NULL;
    OK(acu_event_create(0, NULL, &a));
    OK(acu_event_create(0, NULL, &b));
    struct CUevent_st *raw_a = acu_event_raw(a), *raw_b = acu_event_raw(b);
    OK(acu_graph_add_event_record(graph, NULL, 0, a, &node));
    OK(acu_graph_add_event_record(graph, NULL, 0, b, &same));
    OK(acu_node_set_event(node, b));
    OK(acu_event_release(a));
    OK(acu_event_release(b));
    assert_false(is_alive(raw_a)); /* nothing uses it */
    assert_true(is_alive(raw_b));
    OK(acu_node_destroy(node));
    assert_true(is_alive(raw_b)); /* the other node does */
    OK(acu_node_destroy(same));
    assert_false(is_alive(raw_b));
}

static void execs_keep_what_they_were_made_of(void **state) {
    (void)state;
    ONLY_SIMULATED("whether an event is gone");
    acu_node node;
    acu_exec *exec = NULL;
    acu_graph *clone = NULL;
    acu_event *a = NULL, *b = NULL;
    OK(acu_event_create(0, NULL, &a));
    OK(acu_event_create(0, NULL, &b));
    struct CUevent_st *raw_a = acu_event_raw(a), *raw_b = acu_event_raw(b);
    OK(acu_graph_add_event_record(graph, NULL, 0, a, &node));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_clone(graph, &clone));
    OK(acu_node_set_event(node, b));
    OK(acu_event_release(a));
    assert_true(is_alive(raw_a));
    OK(acu_graph_release(clone));
    assert_true(is_alive(raw_a));
    OK(acu_exec_launch(exec, stream));
    OK(acu_stream_synchronize(stream));
    OK(acu_exec_set_event(exec, node, b)); /* the exec gives up what its graph brought */
    assert_false(is_alive(raw_a));
    OK(acu_event_release(b));
    OK(acu_node_destroy(node));
    assert_true(is_alive(raw_b));
    OK(acu_exec_release(exec));
    assert_false(is_alive(raw_b));
}

static void what_was_refused_changes_nothing(void **state) {
    (void)state;
    ONLY_SIMULATED("whether an event is gone");
    acu_node node;
    acu_event *a = NULL, *b = NULL;
    OK(acu_event_create(0, NULL, &a));
    OK(acu_event_create(0, NULL, &b));
    struct CUevent_st *raw_a = acu_event_raw(a), *raw_b = acu_event_raw(b);
    OK(acu_graph_add_event_record(graph, NULL, 0, a, &node));
    assert_int_equal(acu_inject_errors("cudaGraphEventRecordNodeSetEvent@1:999"), 0);
    FAILS(acu_node_set_event(node, b), 999, "cudaGraphEventRecordNodeSetEvent");
    acu_inject_errors(NULL);
    OK(acu_event_release(a));
    OK(acu_event_release(b));
    assert_true(is_alive(raw_a));
    assert_false(is_alive(raw_b));
    launch();
}

static void nodes_that_are_gone(void **state) {
    (void)state;
    acu_node node;
    struct cudaGraphNodeParams params;
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributePriority};
    OK(acu_graph_add_empty(graph, NULL, 0, &node));
    OK(acu_node_destroy(node));
    FAILS(acu_node_destroy(node), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_node_get_params(node, &params), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_node_set_params(node, &params), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_node_get_attribute(node, &attribute), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_node_set_attribute(node, &attribute), ACU_ERROR_HANDLE, "no such node any more");
    FAILS(acu_node_set_copy(node, &(acu_copy){.to = y, .from = x, .count = ACU_REST}),
          ACU_ERROR_HANDLE, "any more");
}

/* Skips a test of nodes with many copies where there are none. */
static void need_copy_batches(void) {
    int driver = 0;
    if (!is_since(13050) || cudaDriverGetVersion(&driver) || driver < 13050) {
        print_message("needs CUDA 13.5, and a driver with it: nodes with many copies\n");
        skip();
    }
}

static void many_copies_are_a_raw_node(void **state) {
    (void)state;
    need_copy_batches();
    char *to = acu_buffer_raw(y), *from = acu_buffer_raw(x);
    void *dsts[] = {to, to + 4}, *srcs[] = {from + 4, from};
    size_t sizes[] = {4, 4}, first = 0;
    struct cudaMemcpyAttributes how = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    struct cudaGraphNodeParams back,
        params = {.type = cudaGraphNodeTypeMemcpyBatch,
                  .memcpyBatch = {2, dsts, srcs, sizes, &how, &first, 1, NULL}};
    float numbers[8] = {1, 2};
    acu_node node;
    acu_node_type type;
    OK(acu_buffer_write(x, numbers, 8));
    OK(acu_graph_add_node(graph, NULL, 0, NULL, &params, &node));
    OK(acu_graph_keep(graph, x, false));
    OK(acu_graph_keep(graph, y, true));
    OK(acu_node_get_type(node, &type));
    assert_int_equal(type, ACU_NODE_COPY_BATCH);
    OK(acu_node_get_params(node, &back));
    assert_true(back.memcpyBatch.count == 2 && back.memcpyBatch.dsts[1] == to + 4);
    launch();
    OK(acu_buffer_read(y, numbers, 8));
    assert_true(numbers[0] == 2 && numbers[1] == 1);
}

#define PART(to_at_, from_at_, count_)                                                             \
    {.to = y, .to_at = (to_at_), .from = x, .from_at = (from_at_), .count = (count_)}

static void many_copies_are_a_node(void **state) {
    (void)state;
    need_copy_batches();
    const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float back[8] = {0};
    const acu_device here = 0;
    const acu_copy swapped[] = {PART(0, 4, 4), PART(4, 0, 4)},
                   same[] = {PART(0, 0, 2), PART(2, 2, ACU_REST)};
    const acu_copy_attributes how[] = {{.first = 1, .overlap = true, .to = &here},
                                       {.first = 7, .order = ACU_SOURCE_ORDER_ANY}};
    struct cudaGraphNodeParams params;
    acu_node node;
    acu_exec *exec = NULL;
    acu_buffer *kept = NULL;
    OK(acu_buffer_write(x, numbers, 8));
    OK(acu_graph_add_copy_batch(graph, NULL, 0, swapped, 2, how, 2, &node));
    OK(acu_node_get_params(node, &params));
    assert_true(params.memcpyBatch.count == 2 && params.memcpyBatch.numAttrs == 2);
    assert_true(params.memcpyBatch.attrsIdxs[0] == 0 && params.memcpyBatch.attrsIdxs[1] == 1);
    assert_int_equal(params.memcpyBatch.attrs[1].flags, cudaMemcpyFlagPreferOverlapWithCompute);
    launch();
    OK(acu_buffer_read(y, back, 8));
    assert_true(back[0] == 5 && back[3] == 8 && back[4] == 1 && back[7] == 4);
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_set_copy_batch(exec, node, same, 2, how, 1));
    OK(acu_exec_launch(exec, stream));
    OK(acu_buffer_read(y, back, 8));
    assert_memory_equal(back, numbers, sizeof back);
    OK(acu_exec_release(exec));
    OK(acu_node_set_copy_batch(node, same, 2, NULL, 0));
    launch();
    OK(acu_node_set_name(node, "both halves"));
    FAILS(acu_node_set_copy(node, same), 1, "memcpy batch node 0 'both halves'");
    kept = acu_buffer_retain(x); /* the graph keeps it, too, and gives it up with the node */
    OK(acu_node_destroy(node));
    OK(acu_buffer_release(kept));
}

static void copies_of_a_node_have_no_order(void **state) {
    (void)state;
    acu_node node = {NULL, 1};
    const acu_copy over[] = {PART(0, 0, 4), PART(3, 5, 2)};
    const acu_copy after[] = {PART(0, 0, 2),
                              {.to = x, .to_at = 6, .from = y, .from_at = 1, .count = 1}};
    const acu_copy before[] = {{.to = x, .to_at = 6, .from = y, .from_at = 0, .count = 1},
                               PART(0, 2, 2)};
    const acu_copy read_twice[] = {PART(0, 0, 2), PART(4, 1, 2)};
    const acu_copy none[] = {PART(0, 0, 1), PART(1, 1, 0)};
    const acu_copy beyond[] = {PART(0, 0, 1), PART(7, 1, 2)};
    const acu_copy_attributes early = {.order = ACU_SOURCE_ORDER_DURING_API_CALL};
    const acu_copy_attributes twice[] = {{.first = 1}, {.first = 1}};
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, over, 2, NULL, 0, &node), ACU_ERROR_RANGE,
          "copies 0 and 1 use the same elements");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, after, 2, NULL, 0, &node), ACU_ERROR_RANGE,
          "copies 0 and 1 use the same elements");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, before, 2, NULL, 0, &node), ACU_ERROR_RANGE,
          "copies 0 and 1 use the same elements");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, none, 2, NULL, 0, &node), ACU_ERROR_RANGE,
          "'copy->count' is 0");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, beyond, 2, NULL, 0, &node), ACU_ERROR_RANGE,
          "(copy 1)");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, read_twice, 0, NULL, 0, &node),
          ACU_ERROR_ARGUMENT, "'count' is 0");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, NULL, 2, NULL, 0, &node), ACU_ERROR_ARGUMENT,
          "'copies' is NULL");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, read_twice, 2, NULL, 1, &node),
          ACU_ERROR_ARGUMENT, "'attributes' is NULL");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, read_twice, 2, &early, 1, &node),
          ACU_ERROR_ARGUMENT, "a node reads when it runs");
    FAILS(acu_graph_add_copy_batch(graph, NULL, 0, read_twice, 2, twice, 2, &node),
          ACU_ERROR_ARGUMENT, "have the order of the copies");
    if (driver_version() >= 13050 && runtime_version() >= 12020) /* which adds any node */
        OK(acu_graph_add_copy_batch(graph, NULL, 0, read_twice, 2, NULL, 0, NULL));
    else if (runtime_version() < 13050)
        OK_SINCE(13050, acu_graph_add_copy_batch(graph, NULL, 0, read_twice, 2, NULL, 0, NULL));
}

static void many_nodes_change(void **state) {
    (void)state;
    enum { N = 300 };
    static acu_node nodes[N];
    acu_exec *exec = NULL;
    const float one = 1, two = 2;
    for (size_t i = 0; i < N; i++)
        OK(acu_graph_add_fill(graph, i ? &nodes[i - 1] : NULL, i != 0,
                              &(acu_fill){x, ACU_F32, &one, .width = ACU_REST}, &nodes[i]));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    for (size_t i = 0; i < N; i++) {
        OK(acu_exec_set_fill(exec, nodes[i], &(acu_fill){y, ACU_F32, &two, .width = ACU_REST}));
        OK(acu_node_set_fill(nodes[i], &(acu_fill){y, ACU_F32, &one, .width = ACU_REST}));
    }
    fill(x, 5);
    OK(acu_exec_launch(exec, stream));
    assert_true(first_of(x) == 5 && first_of(y) == 2);
    launch();
    assert_true(first_of(x) == 5 && first_of(y) == 1);
    for (size_t i = 0; i < N; i++)
        OK(acu_node_destroy(nodes[i]));
    OK(acu_exec_launch(exec, stream));
    assert_true(first_of(y) == 2);
    OK(acu_exec_release(exec));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, setup, end_graph)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(kernels),
        TEST(copies),
        TEST(fills),
        TEST(host_functions),
        TEST(events),
        TEST(raw_parameters_go_round),
        TEST(raw_parameters_of_all_kinds),
        TEST(memory_nodes_tell_their_address),
        TEST(attributes),
        TEST(old_things_go),
        TEST(execs_keep_what_they_were_made_of),
        TEST(what_was_refused_changes_nothing),
        TEST(nodes_that_are_gone),
        TEST(many_copies_are_a_raw_node),
        TEST(many_copies_are_a_node),
        TEST(copies_of_a_node_have_no_order),
        TEST(many_nodes_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
