/*
 * Each allocation on the host fails once. The call that met it says so, nothing crashes or is lost,
 * and the same works afterwards. CUDA is a fake one, so that all allocations are ours.
 */
#include "../dlpack_abi.h"
#include "fake_cuda.h"
#include "safe.h"

#include <unistd.h>

static size_t until_failure; /* 0: none fails */
static bool failed;
static int closures_alive;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool fails(void) {
    if (until_failure == 0)
        return false;
    until_failure--;
    if (until_failure > 0)
        return false;
    failed = true;
    return true;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

static void nothing(void *data) {
    (void)data;
}

static void gone(void *data) {
    (void)data;
    closures_alive--;
}

static acu_closure closure(void) {
    closures_alive++;
    return (acu_closure){nothing, NULL, gone};
}

static acu_result build(acu_graph *graph, acu_buffer *x, acu_buffer *y, acu_node nodes[3]) {
    const int32_t one = 1;
    acu_node many[20], got[40];
    acu_edge edges[40];
    size_t count = 40;
    ACU_AUTO(acu_graph) *inner = NULL;
    ACU_TRY(acu_graph_add_fill(graph, NULL, 0, &(acu_fill){x, ACU_I32, &one, .width = ACU_REST},
                               &nodes[0]));
    ACU_TRY(acu_graph_add_copy(graph, nodes, 1, &(acu_copy){.to = y, .from = x, .count = ACU_REST},
                               &nodes[1]));
    ACU_TRY(acu_graph_add_host(graph, NULL, 0, closure(), &nodes[2]));
    ACU_TRY(acu_graph_add_write(graph, NULL, 0, y, 0, ACU_I32, &one, 1, NULL));
    ACU_TRY(acu_graph_keep_data(graph, closure()));
    for (int i = 0; i < 20; i++)
        ACU_TRY(acu_graph_add_empty(graph, many, (size_t)i, &many[i]));
    ACU_TRY(acu_graph_add_dependencies(graph, many, nodes, edges, 3));
    ACU_TRY(acu_graph_get_edges(graph, got, got, edges, &count));
    ACU_TRY(acu_graph_create(&inner));
    ACU_TRY(acu_graph_keep(inner, y, true));
    ACU_TRY(acu_graph_add_child(graph, NULL, 0, inner, NULL));
    return acu_node_get_child(nodes[0], &(acu_graph *){NULL});
}

/* Names, times and pictures; of nodes with and without a name. */
static acu_result picture(acu_graph *graph, acu_stream *stream, acu_node node) {
    ACU_TRY(acu_node_set_name(node, "first"));
    for (int together = 0; together < 2; together++)
        ACU_TRY(acu_graph_profile(graph, stream,
                                  &(acu_profile_options){.replays = 1, .together = together > 0}));
    return acu_graph_draw(graph, "/dev/null");
}

/* What graphs for kernels keep, what raw graphs own, and nodes with many copies. */
static acu_result keep_more(acu_graph *graph, acu_stream *stream, acu_buffer *x) {
    const acu_copy copies[] = {{x, x, 4, 0, 1}, {x, x, 5, 1, 1}};
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(
        acu_graph_instantiate(graph, &(acu_exec_options){.flags = ACU_EXEC_DEVICE_LAUNCH}, &exec));
    ACU_TRY(acu_exec_upload(exec, stream));
    ACU_TRY(acu_graph_keep_exec(graph, exec));
    ACU_TRY(acu_graph_attach_data(graph, (acu_closure){nothing, NULL, NULL}));
    return acu_graph_add_copy_batch(graph, NULL, 0, copies, 2, NULL, 0, NULL);
}

static acu_result change(acu_exec *exec, acu_graph *graph, acu_buffer *x, const acu_node nodes[3]) {
    const int32_t two = 2;
    ACU_TRY(acu_exec_set_fill(exec, nodes[0], &(acu_fill){x, ACU_I32, &two, .width = ACU_REST}));
    ACU_TRY(acu_exec_set_host(exec, nodes[2], closure()));
    return acu_exec_update(exec, graph, NULL);
}

static acu_result capture(acu_stream *stream, acu_buffer *x) {
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_TRY(acu_stream_begin_capture(stream, NULL));
    const acu_copy half = {.to = x, .from = x, .to_at = 4, .count = 4};
    acu_result filled = acu_buffer_zero(x, stream);
    if (!filled)
        filled = acu_batch_copy(stream, &half, 1, NULL, 0, NULL);
    if (!filled)
        filled = acu_buffer_write_async(x, 0, ACU_ANY, &half, 8, stream);
    acu_result called = acu_stream_call(stream, closure());
    acu_result ended = acu_stream_end_capture(stream, &graph);
    return filled ? filled : called ? called : ended;
}

static int tensors_alive;

static void tensor_gone(DLManagedTensor *tensor) {
    (void)tensor;
    tensors_alive--;
}

/* A tensor is deleted once, whatever fails. */
static acu_result exchange(acu_stream *stream, acu_buffer *x) {
    static int32_t number;
    DLManagedTensor tensor = {
        .dl_tensor = {.data = &number, .device = {kDLCPU, 0}, .dtype = {0, 32, 1}},
        .deleter = tensor_gone};
    DLManagedTensorVersioned *exported = NULL;
    ACU_AUTO(acu_buffer) *imported = NULL;
    tensors_alive++;
    ACU_TRY(acu_buffer_import_dlpack_unversioned(stream, &tensor, NULL, &imported));
    ACU_TRY(acu_buffer_join_dlpack(x, 1));
    ACU_TRY(acu_stream_wait_dlpack(stream, 1));
    ACU_TRY(acu_buffer_export_dlpack(x, NULL, NULL, &exported));
    exported->deleter(exported);
    return 0;
}

static acu_result map_memory(acu_stream *stream) {
    ACU_AUTO(acu_physical) *memory = NULL;
    ACU_AUTO(acu_physical) *found = NULL;
    ACU_AUTO(acu_virtual) *range = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *growing = NULL;
    ACU_TRY(acu_physical_create(0, FAKE_STEP, NULL, &memory));
    ACU_TRY(acu_virtual_reserve(0, 16 * FAKE_STEP, NULL, &range));
    for (size_t i = 0; i < 16; i++)
        ACU_TRY(acu_virtual_map(range, i * FAKE_STEP, memory));
    ACU_TRY(acu_physical_find(acu_virtual_raw(range), FAKE_STEP, &found));
    ACU_TRY(acu_virtual_create_buffer(range, 0, stream, ACU_U8, FAKE_STEP, &x));
    ACU_TRY(acu_buffer_create_growable(stream, ACU_U8, 1, 256 * FAKE_STEP, &growing));
    return acu_buffer_grow(growing, 256 * FAKE_STEP);
}

static acu_result bind_memory(void) {
    ACU_AUTO(acu_multicast) *object = NULL;
    ACU_AUTO(acu_physical) *memory = NULL;
    ACU_AUTO(acu_virtual) *range = NULL;
    ACU_TRY(acu_multicast_create(1, 16 * FAKE_STEP, NULL, &object));
    ACU_TRY(acu_multicast_add_device(object, 0));
    ACU_TRY(acu_physical_create(0, FAKE_STEP, NULL, &memory));
    for (size_t i = 0; i < 16; i++)
        ACU_TRY(acu_multicast_bind(object, i * FAKE_STEP, memory, 0, FAKE_STEP));
    ACU_TRY(acu_virtual_reserve(0, 16 * FAKE_STEP, NULL, &range));
    return acu_virtual_map_multicast(range, 0, object, 0, 16 * FAKE_STEP);
}

/* A context that was made is destroyed where its handle cannot be, and so is a stream. */
static acu_result split_device(void) {
    const acu_device_part parts[] = {{.multiprocessors = 8}, {0}};
    acu_execution_context *made[2] = {NULL, NULL};
    ACU_AUTO(acu_execution_context) *first = NULL;
    ACU_AUTO(acu_execution_context) *rest = NULL;
    ACU_AUTO(acu_stream) *stream = NULL;
    const size_t alive = calls_of("cuGreenCtxCreate") - calls_of("cuGreenCtxDestroy");
    acu_result split = acu_device_split(0, parts, 2, made);
    first = made[0];
    rest = made[1];
    assert_int_equal(calls_of("cuGreenCtxCreate") - calls_of("cuGreenCtxDestroy") - alive,
                     (size_t)(first != NULL) + (rest != NULL));
    ACU_TRY(split);
    ACU_TRY(acu_execution_context_create_stream(first, NULL, &stream));
    return acu_execution_context_synchronize(first);
}

/* CUDA is given a duplicate of each descriptor, and the caller's is closed. */
static acu_result use_other_apis(acu_stream *stream, acu_graph *graph) {
    enum { MANY = 6 };
    acu_node node;
    acu_semaphore_signal signals[MANY];
    acu_semaphore_wait waits[MANY];
    ACU_AUTO(acu_external_memory) *memory = NULL;
    ACU_AUTO(acu_external_semaphore) *semaphore = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    int fds[2] = {dup(0), dup(0)};
    acu_external_memory_source m = {ACU_EXTERNAL_MEMORY_OPAQUE_FD, fds[0], NULL, NULL, 64, false};
    acu_external_semaphore_source s = {ACU_EXTERNAL_SEMAPHORE_TIMELINE_FD, fds[1], NULL, NULL};
    int code = acu_external_memory_import(0, &m, &memory);
    if (!code)
        code = acu_external_semaphore_import(0, &s, &semaphore);
    if (!memory)
        (void)close(fds[0]);
    if (!semaphore)
        (void)close(fds[1]);
    ACU_TRY(code);
    for (size_t i = 0; i < MANY; i++) {
        signals[i] = (acu_semaphore_signal){.semaphore = semaphore, .value = i};
        waits[i] = (acu_semaphore_wait){.semaphore = semaphore, .value = i};
    }
    ACU_TRY(acu_external_memory_create_buffer(memory, 0, stream, ACU_U8, 64, &x));
    ACU_TRY(acu_external_signal(signals, MANY, stream));
    ACU_TRY(acu_external_wait(waits, MANY, stream));
    ACU_TRY(acu_graph_add_semaphore_wait(graph, NULL, 0, waits, MANY, NULL));
    ACU_TRY(acu_graph_add_semaphore_signal(graph, NULL, 0, signals, MANY, &node));
    return acu_node_set_semaphore_signal(node, signals, MANY);
}

/* What is mapped is unmapped, as often. */
static acu_result use_graphics(acu_stream *stream) {
    ACU_AUTO(acu_graphics) *g = NULL;
    ACU_AUTO(acu_graphics) *h = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    const acu_graphics_source buffer = {.type = ACU_GRAPHICS_GL_BUFFER, .name = 1};
    const acu_graphics_source image = {ACU_GRAPHICS_GL_IMAGE, 2, 0x0DE1, NULL, 0};
    ACU_TRY(acu_graphics_register(0, &buffer, &g));
    ACU_TRY(acu_graphics_register(0, &image, &h));
    acu_graphics *const both[] = {g, h};
    const size_t mapped = calls_of("cudaGraphicsMapResources");
    const size_t unmapped = calls_of("cudaGraphicsUnmapResources");
    acu_result result = acu_graphics_map_all(both, 2, stream);
    if (result && calls_of("cudaGraphicsMapResources") > mapped)
        assert_true(calls_of("cudaGraphicsUnmapResources") > unmapped);
    ACU_TRY(result);
    result = acu_graphics_unmap_all(both, 2, NULL);
    ACU_TRY(result);
    ACU_TRY(acu_graphics_map_all(both, 2, stream));
    ACU_TRY(acu_graphics_create_buffer(g, 0, ACU_U8, ACU_REST, &x));
    ACU_TRY(acu_graphics_create_array(h, 0, 0, &array));
    return acu_graphics_create_mipmap(h, 1, &mipmap);
}

static acu_result sample(acu_stream *stream) {
    const acu_format f32 = {ACU_F32, 1, ACU_ENCODING_NUMBERS};
    const acu_extent four = {4, 4, 0};
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_array) *level = NULL;
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    ACU_AUTO(acu_texture) *texture = NULL;
    ACU_AUTO(acu_surface) *surface = NULL;
    ACU_TRY(acu_array_create(stream, f32, four, ACU_ARRAY_SURFACE, &array));
    ACU_TRY(acu_mipmap_create(stream, f32, four, 2, 0, &mipmap));
    ACU_TRY(acu_mipmap_get_level(mipmap, 1, &level));
    ACU_TRY(acu_texture_create(&(acu_texture_source){.array = array}, NULL, &texture));
    return acu_surface_create(array, &surface);
}

/* Of the large buffer there is no pinned copy. */
static acu_result transfers(acu_stream *stream) {
    enum { LARGE = 2 << 20 };
    const int32_t numbers[8] = {0};
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_transfer) *first = NULL;
    ACU_AUTO(acu_transfer) *second = NULL;
    ACU_TRY(acu_buffer_create(stream, ACU_U8, LARGE, &x));
    ACU_TRY(acu_buffer_write_async(x, 0, ACU_U8, numbers, sizeof numbers, NULL));
    ACU_TRY(acu_buffer_read_async(x, 0, 100, &first, NULL));
    ACU_TRY(acu_buffer_read_async(x, 0, LARGE, &second, NULL));
    return acu_transfer_synchronize(first);
}

/* Releases `old`, and makes a buffer of so many halves of a MiB in its place. */
static acu_result replace(acu_allocator *allocator, acu_buffer *old, acu_stream *stream,
                          size_t halves, acu_buffer **made) {
    ACU_TRY(acu_buffer_release(old));
    return acu_buffer_create_with(stream, ACU_U8, halves << 19,
                                  &(acu_buffer_options){.allocator = allocator}, made);
}

/* Of three mappings side by side, what is free begins in the first one, has all of the second one,
 * and ends in the third one. */
static acu_result make_hole(acu_allocator *allocator, acu_stream *stream) {
    static const size_t halves[] = {4, 4, 8};
    acu_buffer *row[3] = {NULL};
    ACU_AUTO(acu_buffer) *head = NULL;
    ACU_AUTO(acu_buffer) *some = NULL;
    ACU_AUTO(acu_buffer) *tail = NULL;
    acu_result code = 0;
    for (size_t i = 0; i < COUNT(row) && !code; i++)
        code = replace(allocator, NULL, stream, halves[i], &row[i]);
    if (code) {
        for (size_t i = 0; i < COUNT(row); i++)
            (void)acu_buffer_release(row[i]);
        return code;
    }
    acu_result first = replace(allocator, row[0], stream, 3, &head);
    acu_result third = replace(allocator, row[2], stream, 3, &some);
    acu_result last = replace(allocator, row[1], stream, 5, &tail);
    ACU_TRY(first ? first : third ? third : last);
    acu_buffer *between = some;
    some = NULL;
    ACU_TRY(acu_buffer_release(between));
    ACU_TRY(acu_allocator_trim(allocator, 0));
    return replace(allocator, NULL, stream, 4, &some);
}

static acu_result allocate(acu_stream *stream) {
    static const acu_allocator_source sources[] = {ACU_ALLOCATOR_VIRTUAL, ACU_ALLOCATOR_PINNED};
    for (size_t i = 0; i < COUNT(sources); i++) {
        ACU_AUTO(acu_allocator) *allocator = NULL;
        ACU_AUTO(acu_buffer) *x = NULL;
        ACU_AUTO(acu_buffer) *y = NULL;
        void *raw = NULL;
        const acu_allocator_options how = {.source = sources[i]};
        ACU_TRY(acu_allocator_create(0, &how, &allocator));
        const acu_buffer_options options = {.allocator = allocator};
        ACU_TRY(acu_buffer_create_with(stream, ACU_U8, 1000, &options, &x));
        ACU_TRY(acu_buffer_create_with(stream, ACU_U8, 5000, &options, &y));
        ACU_TRY(acu_allocator_allocate(allocator, stream, 10, &raw));
        ACU_TRY(acu_allocator_free(allocator, raw));
        if (sources[i] == ACU_ALLOCATOR_VIRTUAL)
            ACU_TRY(make_hole(allocator, stream));
    }
    return 0;
}

static acu_result make_rows(acu_stream *stream) {
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *rows = NULL;
    const acu_extent extent = {8, 4, 1}, two = {8, 2, 1};
    ACU_TRY(acu_buffer_create_pitched(stream, ACU_I32, extent, NULL, &x));
    return acu_buffer_slice_pitched(x, (acu_position){0, 1, 0}, two, &rows);
}

static const int any_file = 0; /* a descriptor that every process has */

/* Where in a token what is: share.h of the library has the layout. */
enum { CHECKSUM = 16, PROCESS = 72, LEASE = 76, WAY = 80, OFFSET = 96 };

/* Makes a token of the share as another process would have made it: process 1, without a lease. */
static acu_result disguise(acu_share *share, int32_t way, acu_share_token *token) {
    const int32_t process = 1, no_lease = -1;
    const uint64_t offset = 16;
    uint64_t sum = 14695981039346656037u;
    ACU_TRY(acu_share_get_token(share, token));
    memcpy(token->bytes + PROCESS, &process, sizeof process);
    memcpy(token->bytes + LEASE, &no_lease, sizeof no_lease);
    memcpy(token->bytes + WAY, &way, sizeof way);
    memcpy(token->bytes + OFFSET, &offset, sizeof offset);
    memset(token->bytes + CHECKSUM, 0, sizeof sum);
    for (size_t i = 0; i < sizeof token->bytes; i++)
        sum = (sum ^ token->bytes[i]) * 1099511628211u;
    memcpy(token->bytes + CHECKSUM, &sum, sizeof sum);
    return 0;
}

static acu_result share_buffer(acu_stream *stream, acu_buffer *x, acu_share_way way) {
    acu_share_token token;
    ACU_AUTO(acu_share) *share = NULL;
    ACU_AUTO(acu_share) *other = NULL;
    ACU_AUTO(acu_buffer) *first = NULL;
    ACU_AUTO(acu_buffer) *second = NULL;
    ACU_TRY(acu_share_export_buffer(x, &share));
    ACU_TRY(disguise(share, (int32_t)way, &token));
    const size_t needed = way == ACU_SHARE_BY_POOL;
    ACU_TRY(acu_share_create(&token, sizeof token, &any_file, needed, &other));
    ACU_TRY(acu_share_import_buffer(other, stream, &first));
    return acu_share_import_buffer(other, stream, &second);
}

static acu_result share_event(void) {
    acu_share_token token;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_AUTO(acu_event) *there = NULL;
    ACU_AUTO(acu_share) *share = NULL;
    ACU_AUTO(acu_share) *other = NULL;
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_share_export_event(event, &share));
    ACU_TRY(disguise(share, ACU_SHARE_BY_IPC, &token));
    ACU_TRY(acu_share_create(&token, sizeof token, NULL, 0, &other));
    return acu_share_import_event(other, &there);
}

static acu_result share_pool(void) {
    acu_share_token token;
    ACU_AUTO(acu_pool) *pool = NULL;
    ACU_AUTO(acu_pool) *there = NULL;
    ACU_AUTO(acu_share) *share = NULL;
    ACU_AUTO(acu_share) *other = NULL;
    ACU_TRY(acu_pool_create(0, NULL, &pool));
    ACU_TRY(acu_share_export_pool(pool, &share));
    ACU_TRY(disguise(share, ACU_SHARE_BY_POOL, &token));
    ACU_TRY(acu_share_create(&token, sizeof token, &any_file, 1, &other));
    return acu_share_import_pool(other, &there);
}

static acu_result share_with_others(acu_stream *stream, acu_buffer *x) {
    ACU_TRY(share_buffer(stream, x, ACU_SHARE_BY_IPC));
    ACU_TRY(share_buffer(stream, x, ACU_SHARE_BY_POOL));
    ACU_TRY(share_event());
    return share_pool();
}

static void hear(acu_log_level level, const char *line, size_t length, void *data) {
    (void)level, (void)line, (void)length, (void)data;
}

static acu_result listen(void) {
    ACU_AUTO(acu_listener) *listener = NULL;
    return acu_log_listen(hear, NULL, &listener);
}

static acu_result everything(void) {
    acu_node nodes[3];
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_graph) *clone = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 8, &x));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 8, &y));
    ACU_TRY(listen());
    ACU_TRY(exchange(a, x));
    ACU_TRY(map_memory(a));
    ACU_TRY(allocate(a));
    ACU_TRY(bind_memory());
    ACU_TRY(split_device());
    ACU_TRY(make_rows(a));
    ACU_TRY(share_with_others(a, x));
    ACU_TRY(transfers(a));
    ACU_TRY(sample(a));
    ACU_TRY(use_graphics(a));
    ACU_AUTO(acu_domain) *domain = NULL;
    ACU_TRY(acu_domain_create("d", &domain));
    ACU_TRY(acu_graph_create(&graph));
    ACU_TRY(use_other_apis(a, graph));
    ACU_TRY(build(graph, x, y, nodes));
    ACU_TRY(picture(graph, a, nodes[0]));
    ACU_TRY(keep_more(graph, a, x));
    ACU_TRY(acu_graph_clone(graph, &clone));
    ACU_TRY(acu_graph_keep(clone, x, true));
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, a));
    ACU_TRY(change(exec, clone, y, nodes));
    ACU_TRY(acu_exec_launch(exec, a));
    return capture(a, x);
}

static void each_allocation_fails_once(void **state) {
    (void)state;
    size_t met = 0;
    OK(everything()); /* binds the calls */
    assert_int_equal(closures_alive, 0);
    for (size_t n = 1;; n++) {
        acu_clear_error();
        failed = false;
        until_failure = n;
        acu_result result = everything();
        until_failure = 0;
        assert_int_equal(closures_alive, 0);
        assert_int_equal(tensors_alive, 0);
        assert_int_equal(acu_release_error(NULL), 0);
        if (!failed)
            break;
        met++;
        if (result != ACU_ERROR_HOST_MEMORY || acu_last_error() != ACU_ERROR_HOST_MEMORY)
            fail_msg("allocation %zu: %d, %s", n, result, acu_last_error_message());
    }
    assert_true(met > 40);
    OK(everything());
}

static acu_result transpose(void) {
    const size_t shape[] = {256, 8};
    const int64_t transposed[] = {1, 256};
    const acu_strides strides = {.rank = 2, .shape = shape, .from = transposed};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 2048, &x));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 2048, &y));
    const size_t before = until_failure;
    acu_result copied = acu_buffer_copy_strided(x, y, &strides, NULL);
    return copied == ACU_ERROR_HOST_MEMORY && before ? ACU_ERROR_STATE : copied;
}

/* Without memory for a kernel, rows are copied one by one: the copy needs none. */
static void strided_copies_need_no_memory(void **state) {
    (void)state;
    OK(transpose());
    for (size_t n = 1;; n++) {
        acu_clear_error();
        failed = false;
        until_failure = n;
        acu_result result = transpose();
        until_failure = 0;
        assert_int_equal(acu_release_error(NULL), 0);
        if (!failed) {
            assert_true(n > 8);
            break;
        }
        if (result && result != ACU_ERROR_HOST_MEMORY)
            fail_msg("allocation %zu: %d, %s", n, result, acu_last_error_message());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails_once),
                                       cmocka_unit_test(strided_copies_need_no_memory)};
    load_fake_cuda();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
