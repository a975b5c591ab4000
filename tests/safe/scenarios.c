/* What programs do. A new scenario is a function here, and a line in the table at the end. */
#include "scenarios.h"

#include <anycuda/cudart.h>

#include <sched.h>

acu_device elsewhere;
int known_driver;

bool is_known_since(int version) {
    return runtime_version() >= version && known_driver >= version;
}

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
    ACU_TRY(acu_stream_get_legacy(elsewhere, &own));
    ACU_TRY(acu_event_create(0, NULL, &start));
    ACU_TRY(acu_event_create(0, NULL, &end));
    ACU_TRY(acu_event_record(start, a));
    ACU_TRY(acu_stream_wait_event(b, start));
    ACU_TRY(acu_stream_wait_stream(a, b));
    ACU_TRY(acu_stream_fork(a, &b, 1));
    ACU_TRY(acu_stream_join(own, &a, 1));
    ACU_TRY(acu_event_record(end, a));
    ACU_TRY(acu_event_synchronize(end));
    ACU_TRY(acu_event_get_elapsed_time(start, end, &ms));
    if (runtime_version() >= 12000)
        ACU_TRY(acu_stream_get_id(a, &id));
    ACU_TRY(acu_stream_is_capturing(a, &capturing));
    acu_stream_info info;
    ACU_TRY(acu_stream_set_sync_policy(a, ACU_SYNC_SPIN));
    ACU_TRY(acu_stream_set_access_window(a, NULL));
    ACU_TRY(acu_stream_get_info(a, &info));
    if (is_known_since(12000)) {
        ACU_TRY(acu_stream_set_priority(a, 0));
        ACU_TRY(acu_stream_set_memory_domain(a, 1));
        ACU_TRY(acu_stream_set_memory_domains(a, info.memory_domains));
    }
    ACU_TRY(acu_stream_copy_attributes(a, a));
    ACU_TRY(acu_stream_synchronize(own));
    return acu_stream_synchronize(b);
}

static acu_result profiling(void) {
    ACU_AUTO(acu_domain) *domain = NULL;
    ACU_TRY(acu_domain_create("scenario", &domain));
    ACU_RANGE(domain, "profiled");
    ACU_TRY(acu_profiler_start());
    return acu_profiler_stop();
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
        sched_yield(); /* an injected error kept us from waiting */
    return result;
}

static acu_result closures(void) {
    int destroyed = 0;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    acu_result result = call_and_wait(a, &destroyed);
    assert_int_equal(destroyed, 1);
    if (result || !is_known_since(13020))
        return result;
    destroyed = 0;
    result = acu_stream_call_with(a, (acu_closure){never, &destroyed, once}, ACU_HOST_SPIN);
    if (!result)
        result = acu_stream_synchronize(a);
    while (__atomic_load_n(&destroyed, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    assert_int_equal(destroyed, 1);
    return result;
}

/* Pages that no other run has registered, which stay so where an injected error keeps them. */
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
            ACU_TRY(acu_buffer_advise(x, ACU_ADVISE_SET_READ_MOSTLY, 0));
            ACU_TRY(acu_buffer_attach(x, ACU_ATTACH_SINGLE, NULL));
        }
    }
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_buffer_register(a, ACU_F32, mine, 16, ACU_BUFFER_MAP, &x));
    return acu_buffer_zero(x, NULL);
}

/* Each way to copy and to fill: with 1, 2 and 3 dimensions, words and elements of 8 bytes. */
static acu_result use_regions(acu_buffer *x, acu_buffer *y, acu_stream *on) {
    int32_t numbers[4] = {1, 2, 3, 4};
    const acu_region to = {.buffer = x, .row_pitch = 12, .slice_height = 2};
    const acu_region from = {.buffer = y, .at = {1, 0, 0}, .row_pitch = 12, .slice_height = 2};
    const acu_extent row = {2, 1, 1}, rectangle = {2, 2, 1}, box = {2, 1, 2};
    ACU_AUTO(acu_buffer) *wide = NULL;
    ACU_AUTO(acu_buffer) *pitched = NULL;
    ACU_AUTO(acu_buffer) *clone = NULL;
    ACU_TRY(acu_region_copy(&to, &from, row, on));
    ACU_TRY(acu_region_copy(&to, &from, rectangle, on));
    ACU_TRY(acu_region_copy(&to, &from, box, on));
    ACU_TRY(acu_region_write(&to, rectangle, numbers));
    ACU_TRY(acu_region_read(&from, rectangle, numbers));
    ACU_TRY(acu_region_fill(&to, rectangle, &numbers[0]));
    ACU_TRY(acu_region_fill(&to, box, &(int32_t){0}));
    ACU_TRY(acu_buffer_create_pitched(on, ACU_F32, rectangle, NULL, &pitched));
    ACU_TRY(acu_buffer_clone(pitched, NULL, &clone));
    ACU_TRY(acu_buffer_reinterpret(x, ACU_F64, &wide));
    const acu_region doubles = {.buffer = wide, .row_pitch = 24};
    return acu_region_fill(&doubles, rectangle, &(double){1.5});
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
    ACU_AUTO(acu_buffer) *z = NULL;
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
    ACU_TRY(acu_buffer_clone(x, b, &z));
    ACU_TRY(acu_buffer_set_stream(z, a));
    ACU_TRY(acu_buffer_copy_strided(
        x, y, &(acu_strides){.rank = 2, .shape = shape, .from = transposed}, a));
    ACU_TRY(use_regions(x, y, a));
    ACU_TRY(acu_buffer_copy(pinned, x, b));
    ACU_TRY(acu_buffer_get_host(pinned, &host));
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
    ACU_TRY(acu_pool_get_current(0, &now));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 10, &(acu_buffer_options){.pool = pool}, &x));
    ACU_TRY(acu_pool_get_attribute(pool, ACU_POOL_USED, &used));
    ACU_TRY(acu_pool_get_access(pool, elsewhere, &access));
    return acu_pool_trim(pool, 0);
}

static acu_result mapped_memory(acu_stream *stream) {
    size_t step, count = 0;
    acu_physical_info info;
    const int32_t number = 5;
    ACU_AUTO(acu_physical) *memory = NULL;
    ACU_AUTO(acu_physical) *same = NULL;
    ACU_AUTO(acu_virtual) *range = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_physical_get_granularity(0, NULL, &step, NULL));
    ACU_TRY(acu_physical_create(0, step, NULL, &memory));
    ACU_TRY(acu_physical_get_info(memory, &info));
    ACU_TRY(acu_virtual_reserve(0, 2 * step, NULL, &range));
    ACU_TRY(acu_virtual_map(range, 0, memory));
    ACU_TRY(acu_virtual_map(range, step, memory));
    ACU_TRY(acu_physical_find(acu_virtual_raw(range), step, &same));
    ACU_TRY(acu_virtual_set_access(range, 0, ACU_ACCESS_READ));
    ACU_TRY(acu_virtual_set_access(range, 0, ACU_ACCESS_READ_WRITE));
    ACU_TRY(acu_virtual_create_buffer(range, 0, stream, ACU_I32, 8, &x));
    ACU_TRY(acu_virtual_get_mappings(range, NULL, &count));
    ACU_TRY(acu_buffer_fill(x, &number));
    ACU_TRY(acu_buffer_fill_bytes(x, 1, 7, &number, 3, NULL));
    return acu_virtual_unmap(range, step, step);
}

static acu_result virtual_memory(void) {
    enum { MOST = 400 << 20 };
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(mapped_memory(a));
    ACU_TRY(acu_buffer_create_growable(a, ACU_U8, 16, MOST, &x));
    ACU_TRY(acu_buffer_zero(x, NULL));
    ACU_TRY(acu_buffer_grow(x, 300 << 20)); /* in two pieces more */
    return acu_buffer_shrink(x, 1);
}

static acu_result devices(void) {
    acu_device_info info;
    size_t left;
    unsigned flags;
    ACU_AUTO(acu_device_guard) guard = {0};
    ACU_TRY(acu_device_enter(&guard, elsewhere));
    ACU_TRY(acu_device_get_info(elsewhere, &info));
    ACU_TRY(acu_device_get_memory(0, &left, NULL));
    ACU_TRY(acu_device_get_flags(0, &flags));
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
    acu_result told = acu_stream_get_capture_info(a, &info);
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
    acu_node_type type;
    size_t count = 0;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(acu_graph_add_event_record(inner, NULL, 0, event, NULL));
    ACU_TRY(acu_graph_add_write(graph, NULL, 0, y, 0, ACU_I32, &one, 1, &after[0]));
    ACU_TRY(acu_graph_add_child(graph, NULL, 0, inner, &after[1]));
    ACU_TRY(acu_graph_add_fill(graph, after, 2, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST},
                               fill));
    ACU_TRY(acu_graph_add_copy(graph, fill, 1, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                               NULL));
    ACU_TRY(acu_node_get_type(*fill, &type));
    return acu_graph_get_edges(graph, NULL, NULL, NULL, &count);
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
    ACU_TRY(acu_exec_set_fill(exec, fill, &(acu_fill){y, ACU_I32, &two, .width = ACU_REST}));
    ACU_TRY(acu_exec_launch(exec, b)); /* waits for the memory's use on the other stream */
    ACU_TRY(acu_stream_synchronize(b));
    return acu_exec_set_fill(exec, fill, &(acu_fill){x, ACU_I32, &two, .width = ACU_REST});
}

static acu_result modules(void) {
    uint32_t seven = 0;
    size_t count;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_module) *same = NULL;
    ACU_AUTO(acu_buffer) *counter = NULL;
    ACU_AUTO(acu_buffer) *managed = NULL;
    ACU_TRY(acu_stream_create(elsewhere, NULL, &a));
    ACU_TRY(acu_module_load(elsewhere, &(acu_module_source){.ptx = kernels_ptx}, &module));
    ACU_TRY(acu_module_get_global(module, "counter", a, ACU_U32, &counter));
    ACU_TRY(acu_module_get_global(module, "everywhere", a, ACU_U32, &managed));
    ACU_TRY(acu_buffer_read(counter, &seven, 1));
    if (acu_module_raw(module))
        ACU_TRY(acu_module_wrap(elsewhere, acu_module_raw(module), &same));
    else
        ACU_TRY(acu_module_wrap_driver(elsewhere, acu_module_raw_driver(module), &same));
    return acu_module_get_kernel_names(kernel_version() >= 12040 ? same : module, NULL, &count);
}

static acu_result kernels(void) {
    acu_kernel_info info;
    size_t threads, bytes;
    int fit;
    bool loaded;
    const acu_grid clusters = {.blocks = {2, 0, 0}, .threads = {32, 0, 0}, .cluster = {2, 0, 0}};
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_kernel) *same = NULL;
    ACU_TRY(acu_module_load(elsewhere, &(acu_module_source){.ptx = kernels_ptx}, &module));
    ACU_TRY(acu_module_get_kernel(module, "add", &kernel));
    ACU_TRY(acu_kernel_get_info(kernel, &info));
    if (known_driver >= 12040) {
        ACU_TRY(acu_kernel_load(kernel));
        ACU_TRY(acu_kernel_is_loaded(kernel, &loaded));
    }
    ACU_TRY(acu_kernel_set_attribute(kernel, ACU_KERNEL_MAX_SHARED, 50000));
    ACU_TRY(acu_kernel_get_blocks_per_multiprocessor(kernel, 64, 0, 0, &fit));
    ACU_TRY(acu_kernel_get_best_block(kernel, NULL, &threads, NULL));
    ACU_TRY(acu_kernel_get_available_shared(kernel, 1, 64, &bytes));
    ACU_TRY(acu_kernel_get_max_clusters(kernel, &clusters, &fit));
    ACU_TRY(acu_kernel_get_max_cluster_size(kernel, &clusters, &fit));
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
    ACU_TRY(acu_module_get_kernel(module, "add", &add));
    ACU_TRY(acu_launch(a, add, acu_grid_1d(N, 32), acu_in(x), acu_in(x), acu_out(y), N));
    ACU_TRY(acu_launch(b, add, together, acu_in(y), acu_in(x), acu_out(y), N));
    return acu_launch(a, add, clusters, acu_in(y), acu_in(y), acu_out(x), N);
}

/* The kernel keeps its module. */
static acu_result load_scale(acu_kernel **kernel) {
    ACU_AUTO(acu_module) *module = NULL;
    ACU_TRY(acu_module_load(0, &(acu_module_source){.ptx = kernels_ptx}, &module));
    return acu_module_get_kernel(module, "scale", kernel);
}

static acu_result add_loop(acu_graph *graph, acu_kernel *kernel, acu_buffer *x) {
    const acu_grid grid = acu_grid_1d(1, 1);
    const acu_arg args[] = {acu_inout(x), acu_arg_of(2.0f), acu_arg_of(1)};
    acu_conditional never_again;
    acu_graph *body = NULL;
    ACU_TRY(acu_conditional_create(graph, 0, ACU_CONDITIONAL_ASSIGN_DEFAULT, &never_again));
    ACU_TRY(acu_graph_add_conditional(graph, NULL, 0, never_again, ACU_CONDITIONAL_WHILE, &body, 1,
                                      NULL));
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
    acu_exec_update_info update;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *first = NULL;
    ACU_AUTO(acu_graph) *second = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_graph_create(&first));
    ACU_TRY(acu_graph_create(&second));
    ACU_TRY(
        acu_graph_add_fill(first, NULL, 0, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST}, NULL));
    ACU_TRY(acu_graph_add_fill(second, NULL, 0,
                               &(acu_fill){x, ACU_I32, &one, .at = 8, .width = ACU_REST}, NULL));
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
    ACU_TRY(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST},
                               &nodes[0]));
    ACU_TRY(acu_graph_add_copy(graph, nodes, 1, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                               &nodes[1]));
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
    ACU_TRY(acu_node_set_fill(nodes[0], &(acu_fill){y, ACU_I32, &two, .width = ACU_REST}));
    ACU_TRY(acu_node_set_copy(nodes[1], &(acu_copy){.to = x, .from = y, .count = ACU_REST}));
    ACU_TRY(acu_node_set_host(nodes[2], (acu_closure){never, NULL, NULL}));
    ACU_TRY(acu_node_set_event(nodes[3], second));
    ACU_TRY(acu_node_get_params(nodes[0], &raw));
    ACU_TRY(acu_node_set_params(nodes[0], &raw));
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
    ACU_TRY(acu_stream_wait_event_external(stream, event));
    return acu_graph_memory_free(own, stream);
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
    if (!is_known_since(13030))
        return 0;
    return acu_stream_capture(a, &(acu_capture_options){.into = plain, .again = true}, put_fill_on,
                              x, &same);
}

static acu_result ask_nodes(acu_graph *graph, acu_node node, acu_node before) {
    acu_node found[8];
    acu_node from[8];
    acu_edge edges[8];
    acu_node_type type;
    size_t count = COUNT(found);
    ACU_TRY(acu_graph_get_nodes(graph, found, &count));
    ACU_TRY(acu_node_wrap(graph, acu_node_raw(node), &found[0]));
    count = COUNT(found);
    ACU_TRY(acu_graph_get_root_nodes(graph, found, &count));
    count = COUNT(found);
    ACU_TRY(acu_graph_get_edges(graph, from, found, NULL, &count));
    count = COUNT(found);
    ACU_TRY(acu_node_get_dependencies(node, found, edges, &count));
    count = COUNT(found);
    ACU_TRY(acu_node_get_dependent_nodes(before, found, NULL, &count));
    return acu_node_get_type(node, &type);
}

static acu_result questions_of_graphs(void) {
    uint64_t used;
    acu_node first, second, child, copy;
    acu_graph *part = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_AUTO(acu_graph) *clone = NULL;
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(acu_graph_add_empty(inner, NULL, 0, NULL));
    ACU_TRY(acu_graph_add_empty(graph, NULL, 0, &first));
    ACU_TRY(acu_graph_add_empty(graph, NULL, 0, &second));
    ACU_TRY(acu_graph_add_child(graph, &first, 1, inner, &child));
    ACU_TRY(acu_graph_add_dependencies(graph, &first, &second, NULL, 1));
    ACU_TRY(ask_nodes(graph, second, first));
    ACU_TRY(acu_graph_remove_dependencies(graph, &first, &second, NULL, 1));
    ACU_TRY(acu_node_get_child(child, &part));
    ACU_TRY(acu_graph_add_empty(part, NULL, 0, NULL));
    ACU_TRY(acu_graph_clone(graph, &clone));
    ACU_TRY(acu_node_find_in_clone(child, clone, &copy));
    ACU_TRY(acu_graph_print_dot(graph, "/dev/null", 0));
    ACU_TRY(acu_graph_memory_get_attribute(0, ACU_GRAPH_MEMORY_USED, &used));
    ACU_TRY(acu_graph_memory_reset(0, ACU_GRAPH_MEMORY_USED_HIGH));
    return acu_graph_memory_trim(0);
}

static acu_result pictures(void) {
    acu_node nodes[3];
    acu_profile_options how = {.replays = 1};
    const acu_grid grid = acu_grid_1d(1, 1);
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *wrapped = NULL;
    ACU_AUTO(acu_graph) *clone = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &x));
    ACU_TRY(load_scale(&kernel));
    ACU_TRY(acu_graph_create(&graph));
    const acu_arg args[] = {acu_inout(x), acu_arg_of(2.0f), acu_arg_of(1)};
    ACU_TRY(acu_graph_add_empty(graph, NULL, 0, &nodes[0]));
    ACU_TRY(acu_graph_add_copy(graph, nodes, 1, &(acu_copy){x, x, 8, 0, 8}, &nodes[1]));
    ACU_TRY(acu_graph_add_kernel(graph, nodes, 2, kernel, &grid, args, 3, &nodes[2]));
    ACU_TRY(acu_node_set_name(nodes[2], "scale it"));
    ACU_TRY(acu_graph_clone(graph, &clone));
    ACU_TRY(acu_graph_profile(graph, a, &how));
    how.together = true;
    ACU_TRY(acu_graph_profile(graph, a, &how));
    ACU_TRY(acu_graph_draw(graph, "/dev/null"));
    ACU_TRY(acu_graph_wrap(acu_graph_raw(graph), &wrapped)); /* CUDA names its kernel */
    return acu_graph_draw(wrapped, "/dev/null");
}

static acu_result graphs_for_kernels(void) {
    const float one = 1;
    struct CUgraphDeviceUpdatableNode_st *handle;
    const acu_grid grid = acu_grid_1d(1, 1);
    acu_node node, batch;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_AUTO(acu_exec) *launched = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &x));
    ACU_TRY(load_scale(&kernel));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(
        acu_graph_add_fill(inner, NULL, 0, &(acu_fill){x, ACU_F32, &one, .width = ACU_REST}, NULL));
    ACU_TRY(acu_graph_instantiate(inner, &(acu_exec_options){.flags = ACU_EXEC_DEVICE_LAUNCH},
                                  &launched));
    ACU_TRY(acu_exec_upload(launched, a));
    ACU_TRY(acu_graph_keep_exec(graph, launched));
    const acu_arg args[] = {acu_inout(x), acu_arg_of(2.0f), acu_arg_of(1)};
    ACU_TRY(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &node));
    if (is_since(12040))
        ACU_TRY(acu_node_set_updatable(node, &handle));
    if (is_since(13050)) {
        const acu_copy copy = {x, x, 8, 0, 8};
        ACU_TRY(acu_graph_add_copy_batch(graph, &node, 1, &copy, 1, NULL, 0, &batch));
        ACU_TRY(acu_node_set_copy_batch(batch, &copy, 1, NULL, 0));
    }
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

static acu_result change_kernel(acu_graph *graph, acu_kernel *kernel, acu_buffer *x) {
    const acu_grid grid = acu_grid_1d(1, 1);
    const acu_arg args[] = {acu_inout(x), acu_arg_of(2.0f), acu_arg_of(1)};
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeCooperative};
    acu_node a, b;
    ACU_TRY(acu_graph_add_kernel(graph, NULL, 0, kernel, &grid, args, 3, &a));
    ACU_TRY(acu_graph_add_kernel(graph, &a, 1, kernel, &grid, args, 3, &b));
    ACU_TRY(acu_node_set_kernel(b, kernel, &grid, args, 3));
    ACU_TRY(acu_node_set_attribute(a, &attribute));
    ACU_TRY(acu_node_copy_attributes(b, a));
    return acu_node_get_attribute(b, &attribute);
}

/* Of execs, and what the graph keeps. */
static acu_result changes_of_execs(void) {
    bool enabled;
    acu_node copy, host, child;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &x));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &y));
    ACU_TRY(load_scale(&kernel));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(acu_graph_add_empty(inner, NULL, 0, NULL));
    ACU_TRY(change_kernel(graph, kernel, x));
    ACU_TRY(acu_graph_add_copy(graph, NULL, 0, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                               &copy));
    ACU_TRY(acu_graph_add_host(graph, NULL, 0, (acu_closure){never, NULL, NULL}, &host));
    ACU_TRY(acu_graph_add_child(graph, &copy, 1, inner, &child));
    ACU_TRY(acu_graph_keep(graph, y, true));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_set_copy(exec, copy, &(acu_copy){.to = x, .from = y, .count = ACU_REST}));
    ACU_TRY(acu_exec_set_host(exec, host, (acu_closure){never, NULL, never}));
    ACU_TRY(acu_exec_set_child(exec, child, inner));
    ACU_TRY(acu_exec_is_enabled(exec, copy, &enabled));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

static acu_result capture_by_hand(acu_stream *stream, void *data) {
    acu_capture_status status;
    acu_capture_info info;
    acu_node nodes[4], added;
    size_t count = COUNT(nodes);
    ACU_TRY(acu_buffer_zero(data, stream));
    ACU_TRY(acu_stream_get_capture_status(stream, &status));
    ACU_TRY(acu_stream_get_capture_info(stream, &info));
    ACU_TRY(acu_stream_get_capture_dependencies(stream, nodes, NULL, &count));
    ACU_TRY(acu_graph_add_empty(info.graph, nodes, count, &added));
    return acu_stream_set_capture_dependencies(stream, &added, NULL, 1, false);
}

static acu_result captures_by_hand(void) {
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    return acu_stream_capture(a, NULL, capture_by_hand, x, &graph);
}

static acu_result ask_device(acu_device device) {
    int value, least;
    size_t bytes;
    bool can;
    char pci[ACU_PCI_BUS_ID_SIZE], uuid[ACU_UUID_SIZE];
    ACU_TRY(acu_device_get_count(&value));
    ACU_TRY(acu_device_get_current(&value));
    ACU_TRY(acu_device_get_attribute(device, ACU_DEVICE_WARP_SIZE, &value));
    ACU_TRY(acu_device_get_pci_bus_id(device, pci));
    ACU_TRY(acu_device_get_by_pci_bus_id(pci, &value));
    ACU_TRY(acu_device_get_uuid(device, uuid));
    ACU_TRY(acu_device_get_priority_range(device, &least, &value));
    ACU_TRY(acu_device_get_limit(device, ACU_LIMIT_STACK_SIZE, &bytes));
    ACU_TRY(acu_device_set_limit(device, ACU_LIMIT_STACK_SIZE, bytes));
    ACU_TRY(acu_device_can_access_peer(0, device, &can));
    if (!can)
        return 0;
    ACU_TRY(acu_device_enable_peer_access(0, device));
    return acu_device_disable_peer_access(0, device);
}

static acu_result devices_and_pools(void) {
    ACU_AUTO(acu_pool) *pool = NULL;
    ACU_AUTO(acu_pool) *first = NULL;
    ACU_TRY(ask_device(elsewhere));
    ACU_TRY(acu_pool_get_default(elsewhere, &first));
    ACU_TRY(acu_pool_create(elsewhere, NULL, &pool));
    ACU_TRY(acu_pool_set_attribute(pool, ACU_POOL_THRESHOLD, 1));
    return acu_pool_set_access(pool, elsewhere, ACU_ACCESS_READ_WRITE);
}

static acu_result ask_stream(acu_stream *stream, acu_stream *other) {
    unsigned flags;
    int priority;
    acu_sync_policy policy;
    ACU_TRY(acu_stream_get_flags(stream, &flags));
    ACU_TRY(acu_stream_get_priority(stream, &priority));
    ACU_TRY(acu_stream_get_sync_policy(stream, &policy));
    ACU_TRY(acu_stream_set_access_window(stream, NULL));
    ACU_TRY(acu_stream_copy_attributes(stream, other));
    ACU_TRY(acu_stream_synchronize(stream));
    return acu_stream_query(stream);
}

static acu_result lists_and_streams(void) {
    const acu_grid grid = acu_grid_1d(1, 1);
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_stream) *own = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_kernel) *scale = NULL;
    ACU_AUTO(acu_args) *args = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_wrap(0, acu_stream_raw(a), &b));
    ACU_TRY(acu_stream_get_per_thread(0, &own));
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &x));
    ACU_TRY(load_scale(&scale));
    ACU_TRY(acu_args_create(&args));
    ACU_TRY(acu_args_add(args, acu_inout(x)));
    ACU_TRY(acu_args_add(args, acu_arg_of(2.0f)));
    ACU_TRY(acu_args_add(args, acu_arg_of(1)));
    ACU_TRY(acu_launch_list(a, scale, &grid, args));
    ACU_TRY(acu_launch_list(own, scale, &grid, args));
    ACU_TRY(acu_stream_call_function(a, never, NULL));
    ACU_TRY(acu_event_record(event, a));
    ACU_TRY(acu_buffer_begin_use(x, true, b));
    ACU_TRY(acu_buffer_end_use(x, true, b));
    ACU_TRY(ask_stream(a, b));
    return acu_event_query(event);
}

static acu_result tensors(void) {
    bool can;
    acu_dlpack_info info;
    struct DLManagedTensorVersioned *tensor = NULL;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *again = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 16, &x));
    ACU_TRY(acu_buffer_create_with(a, ACU_F32, 16,
                                   &(acu_buffer_options){.memory = ACU_MEMORY_MAPPED}, &y));
    ACU_TRY(acu_buffer_zero(x, NULL));
    ACU_TRY(acu_buffer_copy(y, x, b));
    ACU_TRY(acu_buffer_join_dlpack(x, acu_stream_dlpack(b)));
    ACU_TRY(acu_stream_wait_dlpack(a, acu_stream_dlpack(b)));
    ACU_TRY(acu_buffer_export_dlpack(y, NULL, NULL, &tensor));
    ACU_TRY(acu_buffer_import_dlpack(a, tensor, &info, &again));
    ACU_TRY(acu_buffer_copy(again, x, b));
    ACU_TRY(acu_memory_can_access(acu_buffer_raw(x), elsewhere, &can));
    return acu_buffer_synchronize(again);
}

static acu_result batches(void) {
    acu_batch_report report = {0};
    acu_buffer *managed[2];
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *far = NULL;
    ACU_AUTO(acu_buffer) *first = NULL;
    ACU_AUTO(acu_buffer) *second = NULL;
    const acu_buffer_options moves = {.memory = ACU_MEMORY_MANAGED};
    const acu_copy_attributes at_once = {.order = ACU_SOURCE_ORDER_DURING_API_CALL};
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(elsewhere, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &y));
    ACU_TRY(acu_buffer_create(b, ACU_I32, 16, &far));
    ACU_TRY(acu_buffer_create_with(a, ACU_I32, 1024, &moves, &first));
    ACU_TRY(acu_buffer_create_with(a, ACU_I32, 1024, &moves, &second));
    ACU_TRY(acu_buffer_zero(y, NULL));
    ACU_TRY(acu_buffer_zero(far, NULL));
    const acu_copy copies[] = {
        {x, y, 0, 0, 8}, {x, y, 8, 8, 8}, {y, x, 0, 0, 1}, {x, far, 0, 0, 4}};
    const acu_region_pair pairs[] = {{{.buffer = x}, {.buffer = y}, {2, 4, 2}},
                                     {{.buffer = y}, {.buffer = x}, {4, 1, 1}}};
    const acu_prefetch places[] = {{first, 0}, {second, ACU_DEVICE_HOST}};
    managed[0] = first;
    managed[1] = second;
    ACU_TRY(acu_batch_copy(a, copies, COUNT(copies), NULL, 0, &report));
    ACU_TRY(acu_batch_copy(b, copies, 2, &at_once, 1, &report));
    ACU_TRY(acu_batch_copy_regions(a, pairs, 2, NULL, 0, &report));
    ACU_TRY(acu_batch_prefetch(a, places, 2, &report));
    ACU_TRY(acu_batch_discard(a, managed, 2, &report));
    ACU_TRY(acu_batch_discard_and_prefetch(a, places, 2, &report));
    return acu_buffer_synchronize(x);
}

/* On a GPU only what tests/safe/test_multicast.c may run there, too. */
static acu_result multicasts(void) {
    bool supported = false;
    size_t step;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_multicast) *object = NULL;
    ACU_AUTO(acu_physical) *memory = NULL;
    ACU_AUTO(acu_virtual) *range = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_multicast_is_supported(0, &supported));
    if (!supported || (!is_simulated() && !getenv("ANYCUDA_TESTS_MULTICAST")))
        return 0;
    ACU_TRY(acu_multicast_get_granularity(1, 0, NULL, &step, NULL));
    ACU_TRY(acu_multicast_create(1, 2 * step, NULL, &object));
    ACU_TRY(acu_multicast_add_device(object, 0));
    ACU_TRY(acu_physical_create(0, step, NULL, &memory));
    ACU_TRY(acu_multicast_bind(object, 0, memory, 0, step));
    ACU_TRY(acu_buffer_create_growable(a, ACU_U8, step, step, &x));
    ACU_TRY(acu_multicast_bind_buffer(object, step, x));
    ACU_TRY(acu_virtual_reserve(0, 2 * step, NULL, &range));
    ACU_TRY(acu_virtual_map_multicast(range, 0, object, 0, 2 * step));
    return acu_multicast_unbind(object, 0, 0, step);
}

/* On a stream, in a capture and in a graph; what a stream waits for was written before. */
static acu_result values(void) {
    acu_node node;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *captured = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    const acu_buffer_options options = {.memory = ACU_MEMORY_DEVICE, .flags = ACU_BUFFER_UNORDERED};
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create_with(a, ACU_U32, 4, &options, &x));
    const acu_value_operation o[] = {{.action = ACU_VALUE_WRITE, .buffer = x, .value = 2},
                                     {.action = ACU_VALUE_BARRIER}};
    ACU_TRY(acu_stream_write_value(a, x, 0, 1));
    ACU_TRY(acu_stream_run_values(a, o, 2));
    ACU_TRY(acu_stream_begin_capture(a, NULL));
    acu_result written = acu_stream_write_value(a, x, 1, 1);
    acu_result ended = acu_stream_end_capture(a, &captured);
    ACU_TRY(written);
    ACU_TRY(ended);
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(acu_graph_add_values(graph, NULL, 0, 0, o, 2, &node));
    ACU_TRY(acu_graph_instantiate(graph, 0, &exec));
    ACU_TRY(acu_exec_set_values(exec, node, o, 2));
    ACU_TRY(acu_node_set_values(node, o, 2));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

/* Two parts of the device, and what is done with one as a whole. */
static acu_result execution_contexts(void) {
    unsigned count;
    uint64_t id;
    acu_multiprocessors all;
    acu_execution_context_info info;
    ACU_AUTO(acu_stream) *plain = NULL;
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_AUTO(acu_execution_context) *first = NULL;
    ACU_AUTO(acu_execution_context) *rest = NULL;
    ACU_AUTO(acu_execution_context) *half = NULL;
    const acu_device_part parts[] = {{.multiprocessors = 16}, {0}}, one = {.multiprocessors = 8};
    acu_execution_context *made[2] = {NULL, NULL};
    ACU_TRY(acu_stream_create(0, NULL, &plain));
    ACU_TRY(acu_event_create(0, NULL, &event));
    if (known_driver < 12050)
        return 0;
    ACU_TRY(acu_device_get_multiprocessors(0, &all));
    acu_result split = acu_device_split(0, parts, 2, made);
    first = made[0];
    rest = made[1];
    ACU_TRY(split);
    ACU_TRY(acu_execution_context_split(first, &one, 1, &half));
    ACU_TRY(acu_execution_context_get_info(rest, &info));
    if (known_driver >= 13000)
        ACU_TRY(acu_execution_context_get_id(rest, &id));
    ACU_TRY(acu_execution_context_create_stream(first, NULL, &stream));
    if (known_driver >= 13010)
        ACU_TRY(acu_stream_get_multiprocessors(stream, &count));
    ACU_TRY(acu_execution_context_record_event(first, event));
    ACU_TRY(acu_execution_context_wait_event(half, event));
    ACU_TRY(acu_device_record_event(0, event));
    ACU_TRY(acu_device_wait_event(0, event));
    return acu_execution_context_synchronize(first);
}

static void copies_nothing(const acu_sim_launch *launch, void *const *args) {
    (void)launch;
    (void)args;
}

/* Enough rows that a kernel is worth loading; without it, there is a copy for each row. */
static acu_result transpositions(void) {
    const size_t shape[] = {256, 8};
    const int64_t transposed[] = {1, 256};
    const acu_strides strides = {.rank = 2, .shape = shape, .from = transposed};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    acu_sim_register("acu_strided_tile_4", copies_nothing);
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 2048, &x));
    ACU_TRY(acu_buffer_create(a, ACU_F32, 2048, &y));
    ACU_TRY(acu_buffer_copy_strided(y, x, &strides, NULL));
    ACU_TRY(acu_stream_begin_capture(a, NULL));
    acu_result copied = acu_buffer_copy_strided(x, y, &strides, NULL);
    acu_result ended = acu_stream_end_capture(a, &graph);
    ACU_TRY(copied);
    ACU_TRY(ended);
    return acu_stream_synchronize(a);
}

static acu_result copy_rows_of(acu_array *array, acu_array *level, acu_stream *on) {
    const acu_extent row = {2, 1, 1};
    const acu_region first = {.array = array}, second = {.array = array, .at = {0, 1, 0}};
    const acu_region_pair pairs[] = {{{.array = level}, second, row},
                                     {{.array = level, .at = {0, 1, 0}}, first, row}};
    ACU_TRY(acu_region_copy(&second, &first, row, on));
    return acu_batch_copy_regions(on, pairs, 2, NULL, 0, NULL);
}

/* Copies from one layer to another one, which goes by way of memory. */
static acu_result copy_a_layer(acu_stream *on, acu_format format) {
    ACU_AUTO(acu_array) *layers = NULL;
    ACU_TRY(acu_array_create(on, format, (acu_extent){2, 2, 2}, ACU_ARRAY_LAYERED, &layers));
    const acu_region first = {.array = layers}, second = {.array = layers, .at = {0, 0, 1}};
    return acu_region_copy(&second, &first, (acu_extent){2, 2, 1}, on);
}

/* Memory for textures, and what kernels reach it through. */
static acu_result arrays_and_textures(void) {
    const float numbers[4] = {1, 2, 3, 4};
    const acu_format f32 = {ACU_F32, 1, ACU_ENCODING_NUMBERS};
    const acu_extent two = {2, 2, 0};
    float back[4];
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_array) *level = NULL;
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    ACU_AUTO(acu_texture) *texture = NULL;
    ACU_AUTO(acu_surface) *surface = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_array_create(a, f32, two, ACU_ARRAY_SURFACE, &array));
    ACU_TRY(acu_mipmap_create(a, f32, two, 0, 0, &mipmap));
    ACU_TRY(acu_mipmap_get_level(mipmap, 0, &level));
    ACU_TRY(acu_array_write(array, numbers, 4));
    ACU_TRY(acu_array_copy(level, array, b));
    ACU_TRY(copy_rows_of(array, level, b));
    ACU_TRY(copy_a_layer(b, f32));
    ACU_TRY(acu_texture_create(&(acu_texture_source){.mipmap = mipmap}, NULL, &texture));
    ACU_TRY(acu_surface_create(array, &surface));
    return acu_array_read(level, back, 4);
}

const scenario scenarios[] = {
    {"streams_and_events", streams_and_events},
    {"profiling", profiling},
    {"closures", closures},
    {"every_memory", every_memory},
    {"virtual_memory", virtual_memory},
    {"allocators", allocators},
    {"two_streams", two_streams},
    {"pools", pools},
    {"devices", devices},
    {"links_and_caches", links_and_caches},
    {"listeners", listeners},
    {"captures", captures},
    {"graphs", graphs},
    {"kernels_in_graphs", kernels_in_graphs},
    {"updates", updates},
    {"changes", changes},
    {"captures_of_more", captures_of_more},
    {"modules", modules},
    {"kernels", kernels},
    {"launches", launches},
    {"questions_of_graphs", questions_of_graphs},
    {"pictures", pictures},
    {"graphs_for_kernels", graphs_for_kernels},
    {"changes_of_execs", changes_of_execs},
    {"captures_by_hand", captures_by_hand},
    {"devices_and_pools", devices_and_pools},
    {"lists_and_streams", lists_and_streams},
    {"tensors", tensors},
    {"batches", batches},
    {"multicasts", multicasts},
    {"execution_contexts", execution_contexts},
    {"values", values},
    {"shares", shares},
    {"transfers", transfers},
    {"transpositions", transpositions},
    {"other_apis", other_apis},
    {"graphics", graphics},
    {"arrays_and_textures", arrays_and_textures},
    {"mapped_arrays", mapped_arrays},
};

const size_t scenario_count = COUNT(scenarios);
