/* What programs do with memory, apart from what scenarios.c has. */
#include "scenarios.h"

static acu_result capture_a_write(acu_buffer *x, acu_stream *a) {
    const float numbers[4] = {1, 2, 3, 4};
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_AUTO(acu_exec) *exec = NULL;
    ACU_TRY(acu_stream_begin_capture(a, NULL));
    acu_result written = acu_buffer_write_async(x, 0, ACU_ANY, numbers, sizeof numbers, a);
    acu_result ended = acu_stream_end_capture(a, &graph);
    ACU_TRY(written ? written : ended);
    ACU_TRY(acu_graph_instantiate(graph, NULL, &exec));
    ACU_TRY(acu_exec_launch(exec, a));
    return acu_stream_synchronize(a);
}

/* All is waited for in between, so that the same calls are made each time. */
acu_result transfers(void) {
    enum { LARGE = 2 << 20, VERY_LARGE = 4 << 20 };
    static unsigned char many[VERY_LARGE];
    float numbers[16] = {1, 2, 3}, back[16] = {0};
    const void *host;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_transfer) *first = NULL;
    ACU_AUTO(acu_transfer) *second = NULL;
    ACU_AUTO(acu_transfer) *third = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(elsewhere, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_U8, VERY_LARGE, &x));
    ACU_TRY(acu_buffer_write_async(x, 0, ACU_U8, many, VERY_LARGE, NULL)); /* by CUDA itself */
    ACU_TRY(acu_buffer_read_async(x, 0, VERY_LARGE, &third, NULL));        /* in parts */
    ACU_TRY(acu_transfer_read_typed(third, 0, ACU_U8, many, VERY_LARGE));
    ACU_TRY(acu_buffer_write_async(x, 0, ACU_U8, many, LARGE, NULL)); /* in two pieces */
    ACU_TRY(acu_stream_synchronize(a));
    ACU_TRY(acu_buffer_write_async(x, 64, ACU_ANY, numbers, sizeof numbers, b));
    ACU_TRY(acu_buffer_read_async(x, 64, sizeof numbers, &first, a));
    ACU_TRY(acu_transfer_read_typed(first, 0, ACU_ANY, back, sizeof back));
    assert_memory_equal(back, numbers, sizeof back);
    ACU_TRY(acu_buffer_read_async(x, 64, sizeof numbers, &second, b));
    ACU_TRY(acu_transfer_get_host(second, &host));
    assert_memory_equal(host, numbers, sizeof numbers);
    ACU_TRY(acu_transfer_query(second));
    ACU_TRY(acu_stream_synchronize(b));
    ACU_TRY(capture_a_write(x, a));
    return acu_stream_synchronize(a);
}

/* Uses a buffer: some bytes show as much as all, and each scenario runs a thousand times. */
static acu_result use(acu_buffer *x, acu_stream *on) {
    return acu_buffer_fill_bytes(x, 0, 512, "", 1, on);
}

/* Two streams use the memory of an allocator, a graph keeps some, and the rest is given back. */
static acu_result allocate_by(acu_allocator *allocator, acu_stream *a, acu_stream *b) {
    const acu_buffer_options options = {.allocator = allocator};
    acu_allocator_info info;
    void *raw = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *z = NULL;
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 3 << 20, &options, &x));
    ACU_TRY(use(x, b));
    ACU_TRY(acu_buffer_release(x));
    x = NULL;
    ACU_TRY(acu_stream_synchronize(a));
    ACU_TRY(acu_stream_synchronize(b));
    ACU_TRY(acu_buffer_create_with(b, ACU_U8, 3 << 20, &options, &y));
    ACU_TRY(acu_buffer_create_with(b, ACU_U8, 100, &options, &z));
    ACU_TRY(acu_allocator_allocate(allocator, a, 100, &raw));
    acu_result attached = acu_allocator_attach(allocator, raw, b);
    acu_result freed = acu_allocator_free(allocator, raw);
    if (freed)
        (void)acu_allocator_free(allocator, raw);
    ACU_TRY(attached ? attached : freed);
    ACU_TRY(acu_allocator_get_info(allocator, &info));
    return acu_allocator_trim(allocator, 0);
}

/* What lies between two buffers is given back, and taken again. */
static acu_result make_hole(acu_allocator *allocator, acu_stream *a) {
    const acu_buffer_options options = {.allocator = allocator};
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *z = NULL;
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 4 << 20, &options, &x));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 4 << 20, &options, &y));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 4 << 20, &options, &z));
    ACU_TRY(acu_buffer_release(y));
    y = NULL;
    ACU_TRY(acu_allocator_trim(allocator, 0));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 4 << 20, &options, &y));
    return use(y, NULL);
}

static acu_result capture_by(acu_allocator *allocator, acu_stream *a) {
    const acu_buffer_options options = {.allocator = allocator};
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_graph) *graph = NULL;
    ACU_TRY(acu_stream_begin_capture(a, NULL));
    acu_result made = acu_buffer_create_with(a, ACU_U8, 100, &options, &x);
    acu_result zeroed = made ? made : acu_buffer_zero(x, NULL);
    acu_result ended = acu_stream_end_capture(a, &graph);
    return zeroed ? zeroed : ended;
}

acu_result allocators(void) {
    static const acu_allocator_source sources[] = {ACU_ALLOCATOR_VIRTUAL, ACU_ALLOCATOR_POOL,
                                                   ACU_ALLOCATOR_DEVICE, ACU_ALLOCATOR_PINNED};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    for (size_t i = 0; i < COUNT(sources); i++) {
        ACU_AUTO(acu_allocator) *allocator = NULL;
        ACU_TRY(
            acu_allocator_create(0, &(acu_allocator_options){.source = sources[i]}, &allocator));
        ACU_TRY(allocate_by(allocator, a, b));
        if (sources[i] == ACU_ALLOCATOR_VIRTUAL)
            ACU_TRY(make_hole(allocator, a));
        ACU_TRY(capture_by(allocator, a));
    }
    return 0;
}

static acu_result export_memory(acu_stream *stream) {
    size_t step;
    const acu_physical_options options = {.handles = ACU_SHARE_FILE_DESCRIPTOR};
    ACU_AUTO(acu_physical) *memory = NULL;
    ACU_AUTO(acu_virtual) *range = NULL;
    ACU_AUTO(acu_buffer) *mapped = NULL;
    ACU_AUTO(acu_share) *whole = NULL;
    ACU_AUTO(acu_share) *part = NULL;
    ACU_TRY(acu_physical_get_granularity(0, &options, &step, NULL));
    ACU_TRY(acu_physical_create(0, step, &options, &memory));
    ACU_TRY(acu_virtual_reserve(0, step, NULL, &range));
    ACU_TRY(acu_virtual_map(range, 0, memory));
    ACU_TRY(acu_virtual_create_buffer(range, 0, stream, ACU_U8, 100, &mapped));
    ACU_TRY(acu_share_export_physical(memory, &whole));
    return acu_share_export_buffer(mapped, &part);
}

/* What one process does; test_share.c makes the calls of the other one fail. */
acu_result shares(void) {
    const acu_buffer_options device = {.memory = ACU_MEMORY_DEVICE};
    const acu_event_options shared = {.flags = ACU_EVENT_INTERPROCESS | ACU_EVENT_DISABLE_TIMING};
    acu_share_info info;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_pool) *pool = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_AUTO(acu_share) *first = NULL;
    ACU_AUTO(acu_share) *second = NULL;
    ACU_AUTO(acu_share) *third = NULL;
    ACU_AUTO(acu_share) *fourth = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_pool_create(0, &(acu_pool_options){.handles = ACU_SHARE_FILE_DESCRIPTOR}, &pool));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 100, &device, &x));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 100, &(acu_buffer_options){.pool = pool}, &y));
    ACU_TRY(acu_event_create(0, &shared, &event));
    ACU_TRY(acu_share_export_buffer(x, &first));
    ACU_TRY(acu_share_export_buffer(y, &second));
    ACU_TRY(acu_share_export_pool(pool, &third));
    ACU_TRY(acu_share_export_event(event, &fourth));
    ACU_TRY(acu_share_get_info(first, &info));
    return export_memory(a);
}

/* Tiles of a sparse array, and all of a deferred mipmap. */
acu_result mapped_arrays(void) {
    size_t step = 0;
    const acu_physical_options tiles = {.tiles = true};
    const acu_format f32 = {ACU_F32, 1, ACU_ENCODING_NUMBERS};
    acu_array_mapping one = {.extent = {128, 128, 1}}, whole = {.memory_at = ACU_TILE_BYTES};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_physical) *memory = NULL;
    ACU_AUTO(acu_array) *array = NULL;
    ACU_AUTO(acu_mipmap) *mipmap = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_physical_get_granularity(0, &tiles, &step, NULL));
    ACU_TRY(acu_physical_create(0, step, &tiles, &memory));
    ACU_TRY(acu_array_create(a, f32, (acu_extent){256, 256, 0}, ACU_ARRAY_SPARSE, &array));
    ACU_TRY(acu_mipmap_create(a, f32, (acu_extent){64, 64, 0}, 2, ACU_ARRAY_DEFERRED, &mipmap));
    one.memory = whole.memory = memory;
    ACU_TRY(acu_array_map(array, &one, 1, NULL));
    ACU_TRY(acu_mipmap_map(mipmap, &whole, 1, b));
    ACU_TRY(acu_array_unmap(array, &one, 1, b));
    ACU_TRY(
        acu_mipmap_unmap(mipmap, &whole, 1, b)); /* or what could not be freed keeps the memory */
    return acu_array_synchronize(array);
}
