/*
 * Every CUDA call of every scenario fails once. Whatever fails, nothing is leaked, the error is the
 * one that was made, and the same works afterwards.
 *
 * Which calls those are, a trace of an undisturbed run tells. A new scenario is a function here,
 * and a line in the table at the end.
 */
#include "kernels.h"
#include "../scratch.h"

#include <anycuda/cudart.h>
#include <anycuda/sim.h>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the scenarios ------------------------------------------------------------------------- */

static acu_device elsewhere; /* another device than 0, if there is one */
static bool recaptures;      /* the driver is new enough to capture again */
static bool simulated;

static acu_result streams_and_events(void) {
    float ms;
    uint64_t id;
    bool capturing;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_stream) *own = NULL;
    ACU_AUTO(acu_event) *start = NULL;
    ACU_AUTO(acu_event) *end = NULL;
    ACU_TRY(acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &a));
    ACU_TRY(acu_stream_create(elsewhere, NULL, &b));
    ACU_TRY(acu_stream_legacy(elsewhere, &own));
    ACU_TRY(acu_event_create(0, NULL, &start));
    ACU_TRY(acu_event_create(0, NULL, &end));
    ACU_TRY(acu_event_record(start, a));
    ACU_TRY(acu_stream_wait(b, start));
    ACU_TRY(acu_stream_wait_stream(a, b));
    ACU_TRY(acu_stream_fork(a, &b, 1));
    ACU_TRY(acu_stream_join(own, &a, 1));
    ACU_TRY(acu_event_record(end, a));
    ACU_TRY(acu_event_synchronize(end));
    ACU_TRY(acu_event_elapsed(start, end, &ms));
    if (runtime_version() >= 12000)
        ACU_TRY(acu_stream_id(a, &id));
    ACU_TRY(acu_stream_is_capturing(a, &capturing));
    ACU_TRY(acu_stream_set_sync_policy(a, ACU_SYNC_SPIN));
    ACU_TRY(acu_stream_synchronize(own));
    return acu_stream_synchronize(b);
}

static void once(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void never(void *data) {
    (void)data;
}

static acu_result call_and_wait(acu_stream *stream, int *destroyed) {
    ACU_TRY(acu_stream_call(stream, (acu_closure){never, destroyed, once}));
    acu_result result = acu_stream_synchronize(stream);
    while (__atomic_load_n(destroyed, __ATOMIC_SEQ_CST) == 0)
        sched_yield(); /* a fault kept us from waiting */
    return result;
}

static acu_result closures(void) {
    int destroyed = 0;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    acu_result result = call_and_wait(a, &destroyed);
    assert_int_equal(destroyed, 1);
    return result;
}

/* Pages that no other run has registered, which stay so where a fault keeps them. */
static float *fresh_pages(void) {
    enum { RUNS = 4, BYTES = 65536 };
    static _Alignas(BYTES) char pages[RUNS][BYTES];
    static size_t runs;
    return (void *)pages[runs++ % RUNS];
}

static acu_result every_memory(void) {
    float *mine = fresh_pages();
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MAPPED, ACU_MEMORY_MANAGED};
    float numbers[16] = {1, 2, 3}, back[16] = {0};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    for (size_t i = 0; i < COUNT(kinds); i++) {
        ACU_AUTO(acu_buffer) *x = NULL;
        ACU_AUTO(acu_buffer) *slice = NULL;
        ACU_TRY(
            acu_buffer_create_with(a, ACU_F32, 16, &(acu_buffer_options){.memory = kinds[i]}, &x));
        ACU_TRY(acu_buffer_slice(x, 0, 8, &slice));
        ACU_TRY(acu_buffer_write(x, numbers, 16));
        ACU_TRY(acu_buffer_fill(slice, &numbers[1]));
        ACU_TRY(acu_buffer_read(x, back, 16));
        assert_true(back[7] == 2 && back[8] == 0);
        if (kinds[i] == ACU_MEMORY_MANAGED) {
            ACU_TRY(acu_buffer_prefetch(x, 0, NULL));
            ACU_TRY(acu_buffer_advise(x, ACU_ADVICE_READ_MOSTLY, 0));
        }
    }
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_buffer_register(a, ACU_F32, mine, 16, ACU_BUFFER_MAP, &x));
    return acu_buffer_zero(x, NULL);
}

static acu_result two_streams(void) {
    int back = 0;
    void *host;
    const size_t shape[] = {4, 4};
    const int64_t transposed[] = {1, 4};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *pinned = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_buffer_create(b, ACU_I32, 16, &y));
    ACU_TRY(acu_buffer_create_with(b, ACU_I32, 16,
                                   &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &pinned));
    ACU_TRY(acu_buffer_zero(x, NULL));
    ACU_TRY(acu_buffer_copy(y, x, NULL));
    ACU_TRY(acu_buffer_copy_strided(
        x, y, &(acu_strides){.rank = 2, .shape = shape, .from = transposed}, a));
    ACU_TRY(acu_buffer_copy(pinned, x, b));
    ACU_TRY(acu_buffer_host(pinned, &host));
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_event_record(event, a));
    ACU_TRY(acu_buffer_read_after(x, event, 0, ACU_I32, &back, 1, b));
    acu_stream *gone = b;
    b = NULL;
    (void)acu_stream_release(gone); /* the buffers keep it */
    return acu_buffer_synchronize(x);
}

static acu_result pools(void) {
    uint64_t used;
    acu_access access;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_pool) *pool = NULL;
    ACU_AUTO(acu_pool) *now = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_pool_create(0, &(acu_pool_options){.threshold = 1}, &pool));
    ACU_TRY(acu_pool_current(0, &now));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 10, &(acu_buffer_options){.pool = pool}, &x));
    ACU_TRY(acu_pool_get(pool, ACU_POOL_USED, &used));
    ACU_TRY(acu_pool_access(pool, elsewhere, &access));
    return acu_pool_trim(pool, 0);
}

static acu_result devices(void) {
    acu_device_info info;
    size_t left;
    unsigned flags;
    ACU_AUTO(acu_device_guard) guard = {0};
    ACU_TRY(acu_device_enter(&guard, elsewhere));
    ACU_TRY(acu_device_get_info(elsewhere, &info));
    ACU_TRY(acu_device_memory(0, &left, NULL));
    ACU_TRY(acu_device_flags(0, &flags));
    return acu_device_synchronize(0);
}

static acu_result put_on(acu_stream *stream, void *data) {
    acu_buffer **buffers = data;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_buffer_zero(buffers[0], stream));
    ACU_TRY(acu_stream_call(stream, (acu_closure){never, NULL, NULL}));
    ACU_TRY(acu_stream_fork(stream, &b, 1));
    ACU_TRY(acu_buffer_copy(buffers[1], buffers[0], b));
    return acu_stream_join(stream, &b, 1);
}

static acu_result captures(void) {
    acu_capture_info info;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *same = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &y));
    ACU_TRY(acu_stream_capture(a, NULL, put_on, (acu_buffer *[]){x, y}, &graph));
    bool into = runtime_version() >= 12030;
    ACU_TRY(acu_stream_begin_capture(a, &(acu_capture_options){.into = into ? graph : NULL}));
    acu_result result = acu_buffer_zero(y, a);
    acu_result told = acu_stream_capture_info(a, &info);
    acu_result ended = acu_stream_end_capture(a, &same);
    if (result || told || ended)
        return result ? result : told ? told : ended;
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

static acu_result build(acu_graph *graph, acu_buffer *x, acu_buffer *y, acu_node *fill) {
    const int32_t one = 1;
    acu_node after[2];
    acu_node_kind kind;
    size_t count = 0;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(acu_graph_add_event_record(inner, NULL, 0, event, NULL));
    ACU_TRY(acu_graph_add_write(graph, NULL, 0, y, 0, ACU_I32, &one, 1, &after[0]));
    ACU_TRY(acu_graph_add_child(graph, NULL, 0, inner, &after[1]));
    ACU_TRY(acu_graph_add_fill(graph, after, 2, &(acu_fill){x, ACU_I32, &one, .at = 0}, fill));
    ACU_TRY(acu_graph_add_copy(graph, fill, 1, &(acu_copy){.to = y, .from = x}, NULL));
    ACU_TRY(acu_node_type(*fill, &kind));
    return acu_graph_edges(graph, NULL, NULL, NULL, &count);
}

static acu_result graphs(void) {
    const int32_t two = 2;
    acu_node fill;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *clone = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &y));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(build(graph, x, y, &fill));
    ACU_TRY(acu_graph_clone(graph, &clone));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_upload(exec, a));
    ACU_TRY(acu_exec_launch(exec, a));
    ACU_TRY(acu_stream_synchronize(a)); /* so that each run makes the same calls */
    ACU_TRY(acu_exec_set_fill(exec, fill, &(acu_fill){y, ACU_I32, &two, .at = 0}));
    ACU_TRY(acu_exec_launch(exec, b)); /* waits for the memory's use on the other stream */
    ACU_TRY(acu_stream_synchronize(b));
    return acu_exec_set_fill(exec, fill, &(acu_fill){x, ACU_I32, &two, .at = 0});
}

static acu_result modules(void) {
    uint32_t seven = 0;
    size_t count;
    const char *const *names;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_module) *same = NULL;
    ACU_AUTO(acu_buffer) *counter = NULL;
    ACU_AUTO(acu_buffer) *managed = NULL;
    ACU_TRY(acu_stream_create(elsewhere, NULL, &a));
    ACU_TRY(acu_module_load(elsewhere, &(acu_module_source){.ptx = kernels_ptx}, &module));
    ACU_TRY(acu_module_global(module, "counter", a, ACU_U32, &counter));
    ACU_TRY(acu_module_global(module, "everywhere", a, ACU_U32, &managed));
    ACU_TRY(acu_buffer_read(counter, &seven, 1));
    if (acu_module_raw(module))
        ACU_TRY(acu_module_wrap(elsewhere, acu_module_raw(module), &same));
    else
        ACU_TRY(acu_module_wrap_driver(elsewhere, acu_module_raw_driver(module), &same));
    return acu_module_kernel_names(kernel_version() >= 12040 ? same : module, &names, &count);
}

static acu_result kernels(void) {
    acu_kernel_info info;
    size_t threads, bytes;
    int fit;
    const acu_grid clusters = {.blocks = {2, 0, 0}, .threads = {32, 0, 0}, .cluster = {2, 0, 0}};
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_kernel) *same = NULL;
    ACU_TRY(acu_module_load(elsewhere, &(acu_module_source){.ptx = kernels_ptx}, &module));
    ACU_TRY(acu_module_kernel(module, "add", &kernel));
    ACU_TRY(acu_kernel_get_info(kernel, &info));
    ACU_TRY(acu_kernel_set(kernel, ACU_KERNEL_MAX_SHARED, 50000));
    ACU_TRY(acu_kernel_blocks_per_multiprocessor(kernel, 64, 0, 0, &fit));
    ACU_TRY(acu_kernel_best_block(kernel, NULL, &threads, NULL));
    ACU_TRY(acu_kernel_available_shared(kernel, 1, 64, &bytes));
    ACU_TRY(acu_kernel_max_clusters(kernel, &clusters, &fit));
    ACU_TRY(acu_kernel_max_cluster_size(kernel, &clusters, &fit));
    return acu_kernel_raw(kernel)
               ? acu_kernel_wrap(elsewhere, acu_kernel_raw(kernel), &same)
               : acu_kernel_wrap_driver(elsewhere, acu_kernel_raw_driver(kernel), &same);
}

static acu_result launches(void) {
    enum { N = 64 };
    const acu_grid together = {.blocks = {2, 0, 0}, .threads = {32, 0, 0}, .cooperative = true};
    const acu_grid clusters = {.blocks = {2, 0, 0}, .threads = {32, 0, 0}, .cluster = {2, 0, 0}};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *add = NULL;
    ACU_TRY(acu_stream_create(elsewhere, NULL, &a));
    ACU_TRY(acu_stream_create(elsewhere, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_F32, N, &x));
    ACU_TRY(acu_buffer_create(b, ACU_F32, N, &y));
    ACU_TRY(acu_module_load(elsewhere, &(acu_module_source){.ptx = kernels_ptx}, &module));
    ACU_TRY(acu_module_kernel(module, "add", &add));
    ACU_TRY(acu_launch(a, add, acu_grid_1d(N, 32), acu_in(x), acu_in(x), acu_out(y), N));
    ACU_TRY(acu_launch(b, add, together, acu_in(y), acu_in(x), acu_out(y), N));
    return acu_launch(a, add, clusters, acu_in(y), acu_in(y), acu_out(x), N);
}

/* The kernel keeps its module. */
static acu_result load_scale(acu_kernel **kernel) {
    ACU_AUTO(acu_module) *module = NULL;
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = kernels_ptx}, &module));
    return acu_module_kernel(module, "scale", kernel);
}

static acu_result add_loop(acu_graph *graph, acu_kernel *kernel, acu_buffer *x) {
    const acu_grid grid = acu_grid_1d(1, 1);
    const acu_arg args[] = {acu_inout(x), acu_arg_of(2.0f), acu_arg_of(1)};
    acu_conditional never_again;
    acu_graph *body = NULL;
    ACU_TRY(acu_conditional_create(graph, 0, ACU_CONDITIONAL_ASSIGN_DEFAULT, &never_again));
    ACU_TRY(acu_graph_add_conditional(graph, NULL, 0, never_again, ACU_WHILE, &body, 1, NULL));
    return acu_graph_add_kernel(body, NULL, 0, kernel, &grid, args, 3, NULL);
}

static acu_result add_memory(acu_graph *graph) {
    acu_node alloc;
    ACU_AUTO(acu_buffer) *own = NULL;
    ACU_TRY(acu_graph_add_alloc(graph, NULL, 0, 0, ACU_I32, 16, &own, &alloc));
    return acu_graph_add_free(graph, &alloc, 1, own, NULL);
}

static acu_result kernels_in_graphs(void) {
    const acu_grid grid = acu_grid_1d(1, 1);
    acu_arg args[] = {acu_inout(NULL), acu_arg_of(2.0f), acu_arg_of(1)};
    acu_node node;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &x));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &y));
    ACU_TRY(load_scale(&kernel));
    ACU_TRY(acu_graph_create(&graph));
    args[0] = acu_inout(x);
    ACU_TRY(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &node));
    if (runtime_version() >= 12030)
        ACU_TRY(add_loop(graph, kernel, x));
    ACU_TRY(add_memory(graph));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, a));
    ACU_TRY(acu_stream_synchronize(a)); /* so that each run makes the same calls */
    args[0] = acu_inout(y);
    ACU_TRY(acu_exec_set_kernel(exec, node, kernel, &grid, args, 3));
    ACU_TRY(acu_exec_set_enabled(exec, node, false));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

static acu_result updates(void) {
    const int32_t one = 1;
    acu_update update;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *first = NULL;
    ACU_AUTO(acu_graph) *second = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_graph_create(&first));
    ACU_TRY(acu_graph_create(&second));
    ACU_TRY(acu_graph_add_fill(first, NULL, 0, &(acu_fill){x, ACU_I32, &one, .at = 0}, NULL));
    ACU_TRY(acu_graph_add_fill(second, NULL, 0, &(acu_fill){x, ACU_I32, &one, .at = 8}, NULL));
    ACU_TRY(acu_graph_instantiate(first, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, a));
    ACU_TRY(acu_stream_synchronize(a)); /* so that each run makes the same calls */
    ACU_TRY(acu_exec_update(exec, second, &update));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

static acu_result add_some(acu_graph *graph, acu_buffer *x, acu_buffer *y, acu_event *event,
                           acu_node nodes[4]) {
    const int32_t one = 1;
    ACU_TRY(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_I32, &one, .at = 0}, &nodes[0]));
    ACU_TRY(acu_graph_add_copy(graph, nodes, 1, &(acu_copy){.to = y, .from = x}, &nodes[1]));
    ACU_TRY(acu_graph_add_host(graph, nodes, 2, (acu_closure){never, NULL, NULL}, &nodes[2]));
    return acu_graph_add_event_record(graph, nodes, 3, event, &nodes[3]);
}

static acu_result changes(void) {
    const int32_t two = 2;
    acu_node nodes[4];
    struct cudaGraphNodeParams raw;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_event) *first = NULL;
    ACU_AUTO(acu_event) *second = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &y));
    ACU_TRY(acu_event_create(0, NULL, &first));
    ACU_TRY(acu_event_create(0, NULL, &second));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(add_some(graph, x, y, first, nodes));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_node_set_fill(nodes[0], &(acu_fill){y, ACU_I32, &two, .at = 0}));
    ACU_TRY(acu_node_set_copy(nodes[1], &(acu_copy){.to = x, .from = y}));
    ACU_TRY(acu_node_set_host(nodes[2], (acu_closure){never, NULL, NULL}));
    ACU_TRY(acu_node_set_event(nodes[3], second));
    ACU_TRY(acu_node_get_raw(nodes[0], &raw));
    ACU_TRY(acu_node_set_raw(nodes[0], &raw));
    ACU_TRY(acu_exec_set_event(exec, nodes[3], second));
    ACU_TRY(acu_exec_launch(exec, a));
    ACU_TRY(acu_stream_synchronize(a));
    return acu_node_destroy(nodes[3]);
}

static acu_result put_events_and_memory_on(acu_stream *stream, void *data) {
    acu_event *event = data;
    ACU_AUTO(acu_buffer) *own = NULL;
    ACU_TRY(acu_stream_capture_alloc(stream, ACU_I32, 16, &own));
    ACU_TRY(acu_buffer_zero(own, stream));
    ACU_TRY(acu_event_record_external(event, stream));
    ACU_TRY(acu_stream_wait_external(stream, event));
    return acu_buffer_free_graph_memory(own, stream);
}

static acu_result put_fill_on(acu_stream *stream, void *data) {
    return acu_buffer_zero(data, stream);
}

static acu_result captures_of_more(void) {
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *plain = NULL;
    ACU_AUTO(acu_graph) *same = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_stream_capture(a, NULL, put_events_and_memory_on, event, &graph));
    ACU_TRY(acu_stream_capture(a, NULL, put_fill_on, x, &plain));
    if (runtime_version() < 13030 || !recaptures)
        return 0;
    return acu_stream_capture(a, &(acu_capture_options){.into = plain, .again = true}, put_fill_on,
                              x, &same);
}

/* ---- one run, and what it called ----------------------------------------------------------- */

typedef struct scenario {
    const char *name;
    acu_result (*run)(void);
} scenario;

enum { CALLS = 1000, NAME = 64 };

typedef struct trace {
    size_t count;
    struct {
        char function[NAME];
        bool injected, refused;
    } calls[CALLS];
} trace;

static char trace_file[SCRATCH_SIZE];

/* As assertions, in a process without cmocka. */
#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "    " __VA_ARGS__);                                                   \
            fputc('\n', stderr);                                                                   \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* "[thread] function(arguments) = result  duration"; what has no result cannot fail, and to make
 * the question for the last error fail would be no fault of CUDA. */
static void read_line(trace *all, const char *line) {
    const char *name = strchr(line, ' ') + 1;
    size_t length = strcspn(name, "(");
    if (!strstr(line, ") = ") || strncmp(name, "cudaGetLastError(", length + 1) == 0 ||
        strncmp(name, "cudaPeekAtLastError(", length + 1) == 0)
        return;
    CHECK(all->count < CALLS && length < NAME, "the trace has more than this test has room for");
    memcpy(all->calls[all->count].function, name, length);
    all->calls[all->count].function[length] = '\0';
    all->calls[all->count].injected = strstr(line, " (injected)") != NULL;
    all->calls[all->count].refused = strstr(line, " (refused)") != NULL;
    all->count++;
}

static acu_result traced_run(const scenario *it) {
    CHECK(truncate(trace_file, 0) == 0 && acu_trace_to(trace_file) == 0, "no trace");
    acu_result result = it->run();
    acu_trace_to(NULL);
    return result;
}

static void read_trace(trace *all) {
    char line[8192];
    FILE *file = fopen(trace_file, "r");
    CHECK(file, "no trace");
    all->count = 0;
    while (fgets(line, sizeof line, file))
        read_line(all, line);
    fclose(file);
}

/* ---- each of its calls fails --------------------------------------------------------------- */

typedef struct fault {
    const scenario *in;
    const char *function;
    size_t nth; /* of the function's calls */
    size_t at;  /* of all calls */
    int code;
} fault;

/* What is not destroyed because CUDA refuses to cannot be anything but left. */
static bool is_release(const char *function) {
    return strstr(function, "Free") || strstr(function, "Destroy") ||
           strstr(function, "Unregister") || strstr(function, "Unload");
}

/* A call may succeed nevertheless, if this is seen behind the fault. */
static const struct {
    int code; /* 0: any */
    const char *by;
} remedies[] = {
    {2, "cudaMemPoolTrimTo"},    /* room is made, and memory asked for again */
    {0, "cudaEventSynchronize"}, /* the host waits where the stream could not be told to */
    {0, "cudaStreamSynchronize"},
};

static bool is_made_good(const fault *f, const trace *made) {
    for (size_t r = 0; r < COUNT(remedies); r++)
        for (size_t i = f->at; i < made->count; i++)
            if ((!remedies[r].code || remedies[r].code == f->code) &&
                strcmp(made->calls[i].function, remedies[r].by) == 0)
                return true;
    return false;
}

enum { NOT_MET = 3 }; /* how a process ends where the call was not called */

static void run_with(const fault *f) {
    static trace made;
    char rule[2 * NAME];
    acu_error released;
    begin_kernels(NULL);
    snprintf(rule, sizeof rule, "%s@%zu:%d", f->function, f->nth, f->code);
    CHECK(acu_fail_when(rule) == 0, "%s is no rule", rule);
    acu_result result = traced_run(f->in);
    const char *said = acu_last_error_message();
    read_trace(&made);
    acu_fail_when(NULL);
    if (f->at >= made.count || !made.calls[f->at].injected)
        exit(NOT_MET);
    CHECK(!result || (result == f->code && acu_last_error() == f->code && *said),
          "%s: the result is %d, the last error %d: %s", rule, result, acu_last_error(), said);
    size_t kept = acu_release_error(&released);
    CHECK(!kept || released.code == f->code, "%s: a release failed with %d: %s", rule,
          released.code, released.message);
    CHECK(result || kept || is_made_good(f, &made), "%s: nobody was told", rule);
    CHECK(acu_device_synchronize(0) == 0, "%s: the device fails", rule); /* launches may go on */
    int may_leave = kept && is_release(f->function) ? 1 : 0;
    int left = acu_sim_leaks(!may_leave);
    CHECK(left <= may_leave, "%s: %d leaked, %zu releases failed", rule, left, kept);
    if (left)
        begin_kernels(NULL);
    result = f->in->run();
    CHECK(!result, "%s: the run after it is %d: %s", rule, result, acu_last_error_message());
    CHECK(acu_device_synchronize(0) == 0, "%s: the device fails", rule);
    CHECK(acu_sim_leaks(1) == 0, "%s: the run after it leaks", rule);
}

static void run_cleanly(const fault *f) {
    begin_kernels(NULL);
    acu_result result = traced_run(f->in);
    CHECK(!result, "the result is %d: %s", result, acu_last_error_message());
    CHECK(acu_device_synchronize(0) == 0, "the device fails");
    CHECK(acu_sim_leaks(1) == 0 && acu_release_error(NULL) == 0, "it leaks");
}

/* In a process of its own, so that what is asked once per process fails, too. */
static int alone(void (*run)(const fault *), const fault *f) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        run(f);
        exit(0);
    }
    waitpid(child, &status, 0);
    return status;
}

static void find_another_device(const fault *f) {
    (void)f;
    exit(another_device());
}

static void ask_driver(const fault *f) {
    (void)f;
    exit(driver_version() >= 13030);
}

static void ask_simulated(const fault *f) {
    (void)f;
    exit(is_simulated());
}

static const int codes[] = {2, 719};
static trace clean, again; /* of the first run of a process, and of the second */

static void aim(fault *f, const trace *calls, size_t at, size_t code) {
    f->at = at;
    f->code = codes[code];
    f->function = calls->calls[at].function;
    f->nth = 1;
    for (size_t i = 0; i < at; i++)
        f->nth += strcmp(calls->calls[i].function, f->function) == 0;
}

static void run_twice(const fault *f) {
    run_cleanly(f);
    run_cleanly(f);
}

/*
 * A second run calls all but what is asked once per process: these fail one after the other in one
 * process. That is over where something is found wrong, or where an earlier fault had an effect,
 * such as another current device, so that a call is not met; the next one goes on from there.
 */
static struct {
    size_t at, code;
} *next; /* which both processes see */

/* On a GPU, which takes its time, each call fails with one of the codes. */
static bool is_asked(size_t at, size_t code) {
    return simulated || at % COUNT(codes) == code;
}

static void run_in_a_row(const fault *first) {
    fault f = *first;
    run_cleanly(&f);
    for (; next->at < again.count; next->at++, next->code = 0)
        for (; next->code < COUNT(codes) && !again.calls[next->at].refused; next->code++) {
            aim(&f, &again, next->at, next->code);
            if (!is_asked(next->at, next->code))
                continue;
            alarm(20);
            CHECK(cudaSetDevice(0) == 0, "there is no device 0"); /* a fault may leave another */
            run_with(&f);
        }
    alarm(0);
}

/* What is over by then, and so called or not, depends on a GPU, but not on the simulator. */
static int tell_failure(const fault *f, int status) {
    bool missed = WIFEXITED(status) && WEXITSTATUS(status) == NOT_MET;
    if (!status || (missed && !simulated))
        return 0;
    print_error("%s@%zu:%d%s\n", f->function, f->nth, f->code,
                missed                ? " was not met"
                : WIFSIGNALED(status) ? " ended the process, or did not end"
                                      : "");
    return 1;
}

static int fail_in_a_row(fault *f) {
    int failed = 0, status = 1;
    for (next->at = next->code = 0; status && next->at < again.count;) {
        size_t at = next->at, code = next->code;
        status = alone(run_in_a_row, f);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_MET &&
            (at != next->at || code != next->code))
            continue;
        if (next->at < again.count && next->code < COUNT(codes))
            aim(f, &again, next->at, next->code);
        if (++next->code >= COUNT(codes)) {
            next->at++;
            next->code = 0;
        }
        failed += tell_failure(f, status);
    }
    return failed;
}

/* To begin a process takes a GPU a second: there only what a second run does not call has its own.
 */
static void survives(void **state) {
    int failed = 0;
    size_t met = 0;
    fault f = {.in = *state};
    assert_int_equal(alone(run_cleanly, &f), 0);
    read_trace(&clean);
    assert_true(clean.count > 0);
    assert_int_equal(alone(run_twice, &f), 0);
    read_trace(&again);
    failed += fail_in_a_row(&f);
    for (size_t at = 0; at < clean.count; at++) {
        const char *function = clean.calls[at].function;
        if (!simulated && met < again.count && strcmp(function, again.calls[met].function) == 0) {
            met++;
            continue;
        }
        for (size_t c = 0; c < COUNT(codes) && !clean.calls[at].refused; c++) {
            aim(&f, &clean, at, c);
            failed += is_asked(at, c) ? tell_failure(&f, alone(run_with, &f)) : 0;
        }
    }
    assert_int_equal(failed, 0);
}

static const scenario scenarios[] = {
    {"streams_and_events", streams_and_events},
    {"closures", closures},
    {"every_memory", every_memory},
    {"two_streams", two_streams},
    {"pools", pools},
    {"devices", devices},
    {"captures", captures},
    {"graphs", graphs},
    {"kernels_in_graphs", kernels_in_graphs},
    {"updates", updates},
    {"changes", changes},
    {"captures_of_more", captures_of_more},
    {"modules", modules},
    {"kernels", kernels},
    {"launches", launches},
};

/* A word names the scenario to be run, so that others can run beside it; or --list. */
int main(int count, char **words) {
    struct CMUnitTest tests[COUNT(scenarios)];
    if (count > 1 && strcmp(words[1], "--list") == 0) {
        for (size_t i = 0; i < COUNT(scenarios); i++)
            puts(scenarios[i].name);
        return 0;
    }
    if (count > 1)
        cmocka_set_test_filter(words[1]);
    close(mkstemp(scratch_path(trace_file)));
    char shared[SCRATCH_SIZE];
    int place = mkstemp(scratch_path(shared));
    next = ftruncate(place, sizeof *next)
               ? MAP_FAILED
               : mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED, place, 0);
    unlink(shared);
    if (next == MAP_FAILED)
        return 1;
    simulated = WEXITSTATUS(alone(ask_simulated, NULL));
    recaptures = WEXITSTATUS(alone(ask_driver, NULL));
    elsewhere = WEXITSTATUS(alone(find_another_device, NULL)); /* CUDA does not survive a fork */
    for (size_t i = 0; i < COUNT(scenarios); i++)
        tests[i] = (struct CMUnitTest){.name = scenarios[i].name,
                                       .test_func = survives,
                                       .initial_state = (void *)&scenarios[i]};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(trace_file);
    return failed;
}
