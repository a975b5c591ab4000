/* The line that names an object, for programs and in errors. */
#include "kernels.h"

#include <anycuda/cudart.h>

enum { SIZE = 300 };

/* Writes the line, and checks that its length is right, and that whatever size is too small gives
 * its beginning. */
#define LINE(noun, handle, text)                                                                   \
    do {                                                                                           \
        const size_t length = acu_##noun##_describe((handle), (text), SIZE);                       \
        char part[SIZE];                                                                           \
        assert_true(length < SIZE);                                                                \
        assert_int_equal(length, strlen(text));                                                    \
        assert_int_equal(acu_##noun##_describe((handle), NULL, 0), length);                        \
        assert_int_equal(acu_##noun##_describe((handle), NULL, SIZE), length);                     \
        for (size_t size = 1; size <= length + 1; size++) {                                        \
            memset(part, 'x', sizeof part);                                                        \
            assert_int_equal(acu_##noun##_describe((handle), part, size), length);                 \
            assert_int_equal(strlen(part), size - 1);                                              \
            assert_memory_equal(part, text, size - 1);                                             \
            assert_int_equal(part[size], 'x');                                                     \
        }                                                                                          \
    } while (0)

/* Checks the line against a format of printf(). */
#define IS(noun, handle, ...)                                                                      \
    do {                                                                                           \
        char written[SIZE], right[SIZE];                                                           \
        LINE(noun, handle, written);                                                               \
        snprintf(right, sizeof right, __VA_ARGS__);                                                \
        assert_string_equal(written, right);                                                       \
    } while (0)

static void names(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_event *event = NULL;
    acu_graph *none = NULL;
    OK(acu_event_create(0, &(acu_event_options){.flags = ACU_EVENT_DISABLE_TIMING}, &event));
    void *raw = acu_stream_raw(stream);
    OK(acu_stream_set_name(stream, "uploads"));
    OK(acu_event_set_name(event, "uploaded"));
    IS(stream, stream, "stream %p (\"uploads\", raw %p) on device 0", (void *)stream, raw);
    IS(event, event, "event %p (\"uploaded\", raw %p, without timing, never recorded) on device 0",
       (void *)event, (void *)acu_event_raw(event));
    OK(acu_device_set_name(0, "left"));
    IS(stream, stream, "stream %p (\"uploads\", raw %p) on device 0 (\"left\")", (void *)stream,
       raw);
    FAILS(acu_stream_end_capture(stream, &none), ACU_ERROR_CAPTURE, "(\"uploads\", raw ");
    OK(acu_stream_set_name(stream, "a\n\tb"));
    IS(stream, stream, "stream %p (\"a??b\", raw %p) on device 0 (\"left\")", (void *)stream, raw);
    /* 47 bytes are kept, and no part of a character: the last one begins at the 47th. */
    OK(acu_stream_set_name(stream, "0123456789012345678901234567890123456789012345\u00e4"));
    IS(stream, stream,
       "stream %p (\"0123456789012345678901234567890123456789012345\", raw %p) on device 0 "
       "(\"left\")",
       (void *)stream, raw);
    OK(acu_stream_set_name(stream, "01234567890123456789012345678901234567890123456789"));
    IS(stream, stream,
       "stream %p (\"01234567890123456789012345678901234567890123456\", raw %p) on device 0 "
       "(\"left\")",
       (void *)stream, raw);
    OK(acu_stream_set_name(stream, ""));
    OK(acu_device_set_name(ACU_DEVICE_CURRENT, ""));
    IS(stream, stream, "stream %p (raw %p) on device 0", (void *)stream, raw);
    OK(acu_event_release(event));
    OK(acu_stream_release(stream));
}

static void streams(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0), *urgent = NULL, *legacy = NULL, *mine = NULL, *other = NULL;
    int least, most;
    OK(acu_device_get_priority_range(0, &least, &most));
    OK(acu_stream_create(
        0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING, .priority = most}, &urgent));
    OK(acu_stream_get_legacy(0, &legacy));
    OK(acu_stream_get_per_thread(0, &mine));
    IS(stream, stream, "stream %p (raw %p) on device 0", (void *)stream,
       (void *)acu_stream_raw(stream));
    IS(stream, urgent, "stream %p (raw %p, non-blocking, priority %d) on device 0", (void *)urgent,
       (void *)acu_stream_raw(urgent), most);
    IS(stream, legacy, "stream %p (the legacy default stream) on device 0", (void *)legacy);
    IS(stream, mine, "stream %p (the thread's default stream) on device 0", (void *)mine);
    OK(acu_stream_wrap(0, acu_stream_raw(stream), &other));
    IS(stream, other, "stream %p (wrapped %p) on device 0", (void *)other,
       (void *)acu_stream_raw(stream));
    OK(acu_stream_release(other));
    OK(acu_stream_release(mine));
    OK(acu_stream_release(legacy));
    OK(acu_stream_release(urgent));
    OK(acu_stream_release(stream));
}

static void events_and_pools(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_event *event = NULL, *plain = NULL, *wrapped = NULL;
    acu_pool *pool = NULL, *theirs = NULL;
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_create(
        0, &(acu_event_options){.flags = ACU_EVENT_BLOCKING_SYNC | ACU_EVENT_DISABLE_TIMING},
        &plain));
    OK(acu_event_wrap(0, acu_event_raw(event), &wrapped));
    IS(event, event, "event %p (raw %p, never recorded) on device 0", (void *)event,
       (void *)acu_event_raw(event));
    OK(acu_event_record(event, stream));
    IS(event, event, "event %p (raw %p) on device 0", (void *)event, (void *)acu_event_raw(event));
    IS(event, plain, "event %p (raw %p, blocking, without timing, never recorded) on device 0",
       (void *)plain, (void *)acu_event_raw(plain));
    IS(event, wrapped, "event %p (wrapped %p) on device 0", (void *)wrapped,
       (void *)acu_event_raw(event));
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_pool_get_default(0, &theirs));
    IS(pool, pool, "pool %p (raw %p) on device 0", (void *)pool, (void *)acu_pool_raw(pool));
    IS(pool, theirs, "pool %p (wrapped %p) on device 0", (void *)theirs,
       (void *)acu_pool_raw(theirs));
    OK(acu_pool_release(theirs));
    OK(acu_pool_release(pool));
    OK(acu_event_release(wrapped));
    OK(acu_event_release(plain));
    OK(acu_event_release(event));
    OK(acu_stream_release(stream));
}

static void each_kind_of_memory(void **state) {
    static const struct {
        acu_memory memory;
        const char *name;
    } kinds[] = {{ACU_MEMORY_POOL, "pool"},
                 {ACU_MEMORY_DEVICE, "device"},
                 {ACU_MEMORY_PINNED, "pinned"},
                 {ACU_MEMORY_MAPPED, "mapped"},
                 {ACU_MEMORY_MANAGED, "managed"}};
    (void)state;
    acu_stream *stream = stream_on(0);
    for (size_t i = 0; i < COUNT(kinds); i++) {
        acu_buffer *buffer = NULL, *slice = NULL;
        const acu_buffer_options options = {.memory = kinds[i].memory,
                                            .flags = i % 2 ? ACU_BUFFER_UNORDERED : 0};
        const char *unordered = i % 2 ? ", unordered" : "";
        OK(acu_buffer_create_with(stream, ACU_F32, 10, &options, &buffer));
        IS(buffer, buffer, "buffer %p (10 x f32, %s memory at %p%s) on device 0", (void *)buffer,
           kinds[i].name, acu_buffer_raw(buffer), unordered);
        OK(acu_buffer_slice(buffer, 4, 6, &slice));
        IS(buffer, slice, "buffer %p (6 x f32, %s memory at %p%s) on device 0", (void *)slice,
           kinds[i].name, (void *)((char *)acu_buffer_raw(buffer) + 16), unordered);
        OK(acu_buffer_release(slice));
        OK(acu_buffer_release(buffer));
    }
    OK(acu_stream_release(stream));
}

static void memory_of_the_program(void **state) {
    (void)state;
    static int numbers[4];
    acu_stream *stream = stream_on(0);
    acu_buffer *registered = NULL, *host = NULL;
    OK(acu_buffer_register(stream, ACU_I32, numbers, 4, 0, &registered));
    IS(buffer, registered, "buffer %p (4 x i32, registered memory at %p) on device 0",
       (void *)registered, (void *)numbers);
    OK(acu_buffer_release(registered));
    OK(acu_buffer_wrap(stream, ACU_I32, numbers, 4, ACU_MEMORY_HOST, &host));
    IS(buffer, host, "buffer %p (4 x i32, host memory at %p, wrapped) on device 0", (void *)host,
       (void *)numbers);
    OK(acu_buffer_release(host));
    OK(acu_stream_release(stream));
}

static void memory_that_is_mapped(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_buffer *buffer = NULL;
    acu_physical *physical = NULL;
    acu_virtual *addresses = NULL;
    OK(acu_buffer_create_growable(stream, ACU_U8, 7, 4096, &buffer));
    IS(buffer, buffer, "buffer %p (7 x u8, virtual memory at %p) on device 0", (void *)buffer,
       acu_buffer_raw(buffer));
    size_t step = 0;
    OK(acu_physical_get_granularity(0, NULL, &step, NULL));
    OK(acu_physical_create(0, step, NULL, &physical));
    IS(physical, physical, "physical memory %p (%zu bytes) on device 0", (void *)physical,
       acu_physical_bytes(physical));
    OK(acu_virtual_reserve(0, 1, NULL, &addresses));
    IS(virtual, addresses, "range of addresses %p (%zu bytes at %p) on device 0", (void *)addresses,
       acu_virtual_bytes(addresses), acu_virtual_raw(addresses));
    OK(acu_virtual_release(addresses));
    OK(acu_physical_release(physical));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

static void code(void **state) {
    (void)state;
    acu_module *module = module_on(0);
    acu_kernel *kernel = NULL;
    acu_args *args = NULL;
    OK(acu_module_get_kernel(module, "scale", &kernel));
    OK(acu_args_create(&args));
    char line[SIZE];
    LINE(module, module, line);
    assert_non_null(strstr(line, " (raw 0x"));
    IS(kernel, kernel, "kernel %p (scale, of module %p) on device 0", (void *)kernel,
       (void *)module);
    IS(args, args, "list of arguments %p (0 arguments)", (void *)args);
    OK(acu_args_add(args, acu_arg_of(1)));
    IS(args, args, "list of arguments %p (1 argument)", (void *)args);
    OK(acu_args_release(args));
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
}

static void graphs_and_captures(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_buffer *buffer = numbers_on(stream, 8);
    acu_capture_info info;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_buffer_zero(buffer, NULL));
    IS(stream, stream, "stream %p (raw %p, being captured) on device 0", (void *)stream,
       (void *)acu_stream_raw(stream));
    OK(acu_stream_get_capture_info(stream, &info));
    char line[SIZE];
    LINE(graph, info.graph, line);
    assert_non_null(strstr(line, "being captured into)"));
    OK(acu_stream_end_capture(stream, &graph));
    IS(graph, graph, "graph %p (raw %p)", (void *)graph, (void *)acu_graph_raw(graph));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    IS(exec, exec, "executable graph %p (raw %p)", (void *)exec, (void *)acu_exec_raw(exec));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

static void handles_that_are_wrong(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_event *event = NULL;
    IS(stream, NULL, "no stream");
    IS(args, NULL, "no list of arguments");
    IS(buffer, NULL, "no buffer");
    IS(event, NULL, "no event");
    IS(exec, NULL, "no executable graph");
    IS(graph, NULL, "no graph");
    IS(kernel, NULL, "no kernel");
    IS(module, NULL, "no module");
    IS(physical, NULL, "no physical memory");
    IS(external_memory, NULL, "no external memory");
    IS(external_semaphore, NULL, "no external semaphore");
    IS(graphics, NULL, "no graphics resource");
    IS(pool, NULL, "no pool");
    IS(virtual, NULL, "no range of addresses");
    IS(event, (acu_event *)stream, "stream %p (raw %p) on device 0, which is no event",
       (void *)stream, (void *)acu_stream_raw(stream));
    acu_quarantine(100);
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_release(event));
    IS(event, event, "event %p (released) on device 0", (void *)event);
    IS(stream, (acu_stream *)event, "event %p (released) on device 0, which is no stream",
       (void *)event);
    OK(acu_stream_release(stream));
}

/* The line is as long as a kernel's name makes it; an error's has a limit. */
static void a_long_name(void **state) {
    (void)state;
    ONLY_SIMULATED("a kernel with a name of 1,000 letters");
    enum { LETTERS = 1000 };
    char name[LETTERS + 1], ptx[LETTERS + 200], line[LETTERS + 200];
    acu_module *module = NULL;
    acu_kernel *kernel = NULL;
    memset(name, 'n', LETTERS);
    name[LETTERS] = '\0';
    snprintf(ptx, sizeof ptx,
             ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry %s() { ret; }\n",
             name);
    OK(acu_module_load(0, &(acu_module_source){.ptx = ptx}, &module));
    OK(acu_module_get_kernel(module, name, &kernel));
    const size_t length = acu_kernel_describe(kernel, line, sizeof line);
    assert_int_equal(length, strlen(line));
    assert_non_null(strstr(line, name));
    assert_non_null(strstr(line, " on device 0"));
    assert_int_equal(acu_kernel_describe(kernel, line, 20), length);
    assert_int_equal(strlen(line), 19);
    OK(acu_kernel_release(kernel));
    OK(acu_module_release(module));
}

/* An error names the object by the same line. Nothing but the text is touched: CUDA is not called,
 * and the thread's last error stays. */
static void errors_use_the_line(void **state) {
    (void)state;
    acu_stream *stream = stream_on(0);
    acu_buffer *buffer = numbers_on(stream, 4);
    char line[SIZE], message[SIZE];
    float numbers[8] = {0};
    FAILS(acu_buffer_write(buffer, numbers, 8), ACU_ERROR_RANGE, "outside of the buffer");
    snprintf(message, sizeof message, "%s", acu_last_error_message());
    acu_inject_errors("*@*:999");
    LINE(buffer, buffer, line);
    LINE(stream, stream, line);
    LINE(buffer, buffer, line);
    acu_inject_errors(NULL);
    assert_string_equal(acu_last_error_message(), message);
    assert_string_equal(acu_last_error_details().object, line);
    acu_clear_error();
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

static void code_and_tensor_maps(void **state) {
    (void)state;
    static const char raw[128];
    acu_stream *stream = stream_on(0);
    acu_buffer *x = numbers_on(stream, 8);
    acu_code *code = NULL;
    acu_code_cache *cache = NULL;
    acu_tensor_map *map = NULL;
    const acu_code_source source = {
        .bytes = kernels_ptx, .size = strlen(kernels_ptx), .name = "tests.ptx"};
    OK(acu_code_create(&source, &code));
    IS(code, code, "code %p (tests.ptx, %zu bytes of PTX)", (void *)code, strlen(kernels_ptx));
    OK(acu_code_release(code));
    OK(acu_code_cache_create(".", NULL, &cache));
    IS(code_cache, cache, "code cache %p (in .)", (void *)cache);
    OK(acu_code_cache_release(cache));
    OK(acu_tensor_map_wrap(x, raw, &map));
    IS(tensor_map, map, "tensor map %p (wrapped) on device 0", (void *)map);
    OK(acu_tensor_map_release(map));
    OK(acu_buffer_release(x));
    OK(acu_stream_release(stream));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(streams),
        KERNEL_TEST(names),
        KERNEL_TEST(code_and_tensor_maps),
        KERNEL_TEST(events_and_pools),
        KERNEL_TEST(each_kind_of_memory),
        KERNEL_TEST(memory_of_the_program),
        KERNEL_TEST(memory_that_is_mapped),
        KERNEL_TEST(code),
        KERNEL_TEST(graphs_and_captures),
        KERNEL_TEST(handles_that_are_wrong),
        KERNEL_TEST(a_long_name),
        KERNEL_TEST(errors_use_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
