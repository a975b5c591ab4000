/*
 * Random calls with whatever handles there are: live and dead ones, NULL, and of another kind, in
 * streams that are captured or not. Nothing crashes, each failure is explained, and in the end no
 * object and no closure is lost.
 */
#include "kernels.h"

enum { SLOTS = 6, STEPS = 3000, SEEDS = 40 };

static acu_stream *streams[SLOTS];
static acu_event *events[SLOTS];
static acu_pool *pools[SLOTS];
static acu_buffer *buffers[SLOTS];
static acu_args *lists[SLOTS];
static acu_graph *graphs[SLOTS];
static acu_exec *execs[SLOTS];
static acu_node nodes[SLOTS];
static acu_kernel *kernels[2];
static void *released[SLOTS]; /* of all kinds; some of them something keeps alive */
static float host[128];

static size_t any_size(void) {
    const size_t sizes[] = {0, 8, 30, 50, 64, 70, SIZE_MAX / sizeof(float) + 2, SIZE_MAX};
    return sizes[any(COUNT(sizes))];
}

static void *pick(void *live) {
    unsigned chance = any(20);
    return chance == 0 ? NULL : chance == 1 ? released[any(SLOTS)] : live;
}
#define ANY(handles) pick((handles)[any(SLOTS)])
#define ON           (any(2) ? NULL : (acu_stream *)ANY(streams))

static acu_node any_node(void) {
    return any(15) ? nodes[any(SLOTS)] : (acu_node){ANY(graphs), any(9)};
}

/* ---- closures: each is destroyed once ---- */

static int made, destroyed;

static void call(void *data) {
    (void)data;
}

static void destroy(void *data) {
    (void)data;
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_RELAXED);
}

static acu_closure closure(void) {
    made++;
    return (acu_closure){call, NULL, destroy};
}

/* ---- calls ---- */

static acu_result make(void) {
    unsigned i = any(SLOTS);
    acu_device device = (acu_device)any(4) - 1;
    /* not unordered: whoever orders uses himself may also free memory too early */
    const acu_buffer_options options = {.memory = (acu_memory)any(8),
                                        .pool = any(3) ? NULL : ANY(pools),
                                        .flags = any(64) & ~(unsigned)ACU_BUFFER_UNORDERED};
    switch (any(11)) {
    case 0:
        return streams[i] ? 0 : acu_stream_create(device, NULL, &streams[i]);
    case 1:
        return events[i] ? 0 : acu_event_create(device, NULL, &events[i]);
    case 2:
        return pools[i] ? 0 : acu_pool_create(device, NULL, &pools[i]);
    case 3:
        return lists[i] ? 0 : acu_args_create(&lists[i]);
    case 4:
        return graphs[i] ? 0 : acu_graph_create(&graphs[i]);
    case 5:
        return graphs[i] ? 0 : acu_graph_clone(ANY(graphs), &graphs[i]);
    case 6:
        return execs[i] ? 0 : acu_graph_instantiate(ANY(graphs), NULL, &execs[i]);
    case 7:
        return buffers[i] ? 0 : acu_buffer_create(ANY(streams), ACU_F32, any_size(), &buffers[i]);
    case 8:
        return buffers[i]
                   ? 0
                   : acu_buffer_create_with(ANY(streams), ACU_I32, any(64), &options, &buffers[i]);
    case 9:
        return buffers[i] ? 0 : acu_buffer_slice(ANY(buffers), any(9), any(50), &buffers[i]);
    default:
        return buffers[i]
                   ? 0
                   : acu_buffer_reinterpret(ANY(buffers), any(2) ? ACU_U8 : ACU_F64, &buffers[i]);
    }
}

#define GIVE_UP(noun, handles, i)                                                                  \
    (released[any(SLOTS)] = (void *)(handles)[i], gone = (void *)(handles)[i],                     \
     (handles)[i] = NULL, acu_##noun##_release(gone))

/* Who gives up a stream that is captured, while others keep it, cannot end the capture any more. */
static void end_capture_on(acu_stream *stream) {
    acu_graph *graph = NULL;
    if (acu_stream_end_capture(stream, &graph) == 0)
        (void)acu_graph_release(graph);
    acu_clear_error();
}

static acu_result give_up(void) {
    unsigned i = any(SLOTS);
    void *gone;
    switch (any(7)) {
    case 0:
        if (streams[i])
            end_capture_on(streams[i]);
        return GIVE_UP(stream, streams, i);
    case 1:
        return GIVE_UP(event, events, i);
    case 2:
        return GIVE_UP(pool, pools, i);
    case 3:
        return GIVE_UP(args, lists, i);
    case 4:
        return GIVE_UP(graph, graphs, i);
    case 5:
        return GIVE_UP(exec, execs, i);
    default:
        return GIVE_UP(buffer, buffers, i);
    }
}

static acu_result use_memory(void) {
    const size_t shape[] = {any(5), any(5)};
    const int64_t to[] = {(int64_t)any(9) - 4, (int64_t)any(9) - 4},
                  from[] = {(int64_t)any(9) - 4, (int64_t)any(9) - 4};
    const acu_strides strides = {2, shape, any(2) ? to : NULL, from, any(20), any(20)};
    switch (any(6)) {
    case 0:
        return acu_buffer_write_typed(ANY(buffers), any(20), ACU_ANY, host, any(30), ON);
    case 1:
        return acu_buffer_read_typed(ANY(buffers), any(20), ACU_ANY, host, any(15), ON);
    case 2:
        return acu_buffer_copy_range(ANY(buffers), any(20), ANY(buffers), any(20), any(20), ON);
    case 3:
        return acu_buffer_copy_strided(ANY(buffers), ANY(buffers), &strides, ON);
    case 4:
        return acu_buffer_fill_typed(ANY(buffers), ACU_ANY, host, ON);
    default:
        return acu_buffer_zero(ANY(buffers), ON);
    }
}

static acu_result use_streams(void) {
    float milliseconds;
    switch (any(8)) {
    case 0:
        return acu_event_record(ANY(events), ANY(streams));
    case 1:
        return acu_stream_wait_event(ANY(streams), ANY(events));
    case 2:
        return acu_stream_wait_stream(ANY(streams), ANY(streams));
    case 3:
        return acu_stream_synchronize(ANY(streams));
    case 4:
        return acu_stream_query(ANY(streams));
    case 5:
        return acu_event_synchronize(ANY(events));
    case 6:
        return acu_event_get_elapsed_time(ANY(events), ANY(events), &milliseconds);
    default:
        return acu_stream_call(ANY(streams), closure());
    }
}

static acu_result capture(void) {
    unsigned i = any(SLOTS);
    acu_graph *graph = NULL;
    const acu_capture_options options = {.mode = (acu_capture_mode)any(4),
                                         .into = any(2) ? NULL : ANY(graphs)};
    if (any(3) == 0)
        return acu_stream_begin_capture(noted(streams[i]), any(3) ? NULL : &options);
    acu_result result = acu_stream_end_capture(ANY(streams), &graph);
    if (result == 0 && !graphs[i])
        graphs[i] = graph;
    else if (result == 0)
        result = acu_graph_release(graph);
    return result;
}

static acu_result launch(void) {
    const acu_grid grid = acu_grid_1d(any(3), any(40));
    const acu_arg arg = acu_inout(ANY(buffers));
    switch (any(4)) {
    case 0:
        return acu_launch_args(ANY(streams), pick(kernels[any(2)]), &grid, &arg, any(2));
    case 1:
        return acu_args_add(ANY(lists), arg);
    case 2:
        return acu_launch_list(ANY(streams), pick(kernels[any(2)]), &grid, ANY(lists));
    default:
        return acu_exec_launch(ANY(execs), ANY(streams));
    }
}

static acu_result add_node(void) {
    acu_node *node = &nodes[any(SLOTS)];
    const acu_node after[] = {any_node()};
    const acu_grid grid = acu_grid_1d(any(3), any(40));
    const acu_arg arg = acu_inout(ANY(buffers));
    const acu_copy copy = {ANY(buffers), ANY(buffers), any(9), any(9), any(9)};
    const acu_fill fill = {ANY(buffers), ACU_ANY, host, any(10), any(10), any(4), any(20)};
    acu_graph *graph = ANY(graphs);
    size_t count = any(2);
    switch (any(9)) {
    case 0:
        return acu_graph_add_empty(graph, after, count, node);
    case 1:
        return acu_graph_add_kernel(graph, after, count, pick(kernels[any(2)]), &grid, &arg, any(2),
                                    node);
    case 2:
        return acu_graph_add_copy(graph, after, count, &copy, node);
    case 3:
        return acu_graph_add_write(graph, after, count, ANY(buffers), any(9), ACU_ANY, host, any(9),
                                   node);
    case 4:
        return acu_graph_add_fill(graph, after, count, &fill, node);
    case 5:
        return acu_graph_add_host(graph, after, count, closure(), node);
    case 6:
        return acu_graph_add_child(graph, after, count, ANY(graphs), node);
    case 7:
        return acu_graph_add_event_record(graph, after, count, ANY(events), node);
    default:
        return acu_graph_add_event_wait(graph, after, count, ANY(events), node);
    }
}

static acu_result change(void) {
    const acu_node from[] = {any_node()}, to[] = {any_node()};
    const acu_fill fill = {
        .buffer = ANY(buffers), .dtype = ACU_ANY, .element = host, .width = ACU_REST};
    acu_graph *child;
    switch (any(8)) {
    case 0:
        return acu_graph_add_dependencies(ANY(graphs), from, to, NULL, 1);
    case 1:
        return acu_graph_remove_dependencies(ANY(graphs), from, to, NULL, 1);
    case 2:
        return acu_node_destroy(any_node());
    case 3:
        return acu_node_get_child(any_node(), &child);
    case 4:
        return acu_exec_update(ANY(execs), ANY(graphs), NULL);
    case 5:
        return acu_exec_set_fill(ANY(execs), any_node(), &fill);
    case 6:
        return acu_exec_set_host(ANY(execs), any_node(), closure());
    default:
        return acu_graph_keep_data(ANY(graphs), closure());
    }
}

/* ---- the test ---- */

static void release_all(void) {
    for (unsigned i = 0; i < SLOTS; i++)
        end_capture_on(streams[i]);
#define ALL(noun, handles)                                                                         \
    for (unsigned i = 0; i < SLOTS; i++) {                                                         \
        OK(acu_##noun##_release((handles)[i]));                                                    \
        (handles)[i] = NULL;                                                                       \
    }
    ALL(exec, execs)
    ALL(graph, graphs)
    ALL(args, lists)
    ALL(buffer, buffers)
    ALL(event, events)
    ALL(pool, pools)
    ALL(stream, streams)
    OK(acu_kernel_release(kernels[0]));
    OK(acu_kernel_release(kernels[1]));
    OK(acu_device_synchronize(0));
    OK(acu_device_synchronize(another_device()));
    OK(acu_stream_release(stream_on(0))); /* and what waited for the last launches goes */
}

static void try_with(unsigned seed) {
    static acu_result (*const calls[])(void) = {make,   make,    give_up,  use_memory, use_streams,
                                                launch, capture, add_node, change};
    chance_begins(seed);
    made = destroyed = 0;
    memset(nodes, 0, sizeof nodes);
    memset(released, 0, sizeof released);
    kernels[0] = kernel_on(0, "nothing");
    kernels[1] = kernel_on(0, "_Z7mangledPf"); /* does nothing with its argument */
    for (int i = 0; i < STEPS; i++) {
        acu_clear_error();
        acu_result result = calls[any(COUNT(calls))]();
        if (result && result != ACU_NOT_READY &&
            (acu_last_error() != result || !*acu_last_error_message()))
            fail_msg("step %d of seed %u: %d, but the last error is %d: %s", i, seed, result,
                     acu_last_error(), acu_last_error_message());
    }
    release_all();
    if (made != destroyed)
        fail_msg("seed %u: of %d closures %d were destroyed", seed, made, destroyed);
    if (acu_sim_leaks(1))
        fail_msg("seed %u leaks", seed);
}

static void nothing_is_lost(void **state) {
    (void)state;
    ONLY_SIMULATED("what a GPU does with random calls is of no interest");
    acu_quarantine(100000); /* the dead must be recognised */
    try_seeds(SEEDS, try_with);
    acu_quarantine(64);
}

int main(void) {
    const struct CMUnitTest tests[] = {KERNEL_TEST(nothing_is_lost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
