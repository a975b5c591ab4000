/* Execution contexts: dividing a device, streams in a part of it, events of a whole part. */
#include "kernels.h"

#include <anycuda/cuda.h>
#include <anycuda/cudart.h>

/* Skips the test with a driver that has none. */
#define NEEDS_CONTEXTS()                                                                           \
    do {                                                                                           \
        if (driver_version() < 12050) {                                                            \
            print_message("needs a driver of CUDA 12.5\n");                                        \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

/* Skips the test with a driver that only has groups of one size. */
#define NEEDS_GROUPS()                                                                             \
    do {                                                                                           \
        if (driver_version() < 13010) {                                                            \
            print_message("needs a driver of CUDA 13.1\n");                                        \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

static acu_multiprocessors of_device(void) {
    acu_multiprocessors all;
    OK(acu_device_get_multiprocessors(0, &all));
    return all;
}

static unsigned size_of(acu_execution_context *context) {
    acu_execution_context_info info;
    OK(acu_execution_context_get_info(context, &info));
    return info.multiprocessors;
}

static acu_execution_context *part_of(acu_device device, unsigned multiprocessors) {
    acu_execution_context *context = NULL;
    const acu_device_part part = {.multiprocessors = multiprocessors};
    OK(acu_device_split(device, &part, 1, &context));
    return context;
}

static acu_stream *stream_in(acu_execution_context *context) {
    acu_stream *stream = NULL;
    OK(acu_execution_context_create_stream(context, NULL, &stream));
    return stream;
}

/* ---- dividing ---- */

static void an_old_driver_has_none(void **state) {
    (void)state;
    acu_execution_context *context = NULL;
    const acu_device_part part = {.multiprocessors = 8};
    acu_multiprocessors all;
    if (driver_version() >= 12050)
        SKIP("the driver has execution contexts");
    if (driver_version() < 12040) {
        FAILS(acu_device_get_multiprocessors(0, &all), 801, "12.4");
        FAILS(acu_device_split(0, &part, 1, &context), 801, "12.4");
        return;
    }
    acu_stream *stream = NULL;
    OK(acu_device_split(0, &part, 1, &context));
    FAILS(acu_execution_context_create_stream(context, NULL, &stream), 801, "12.5");
    OK(acu_execution_context_release(context));
}

static void what_there_is(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    int count = 0;
    const acu_multiprocessors all = of_device();
    OK(acu_device_get_attribute(0, ACU_DEVICE_MULTIPROCESSORS, &count));
    assert_int_equal(all.count, count);
    assert_true(all.step > 0 && all.least >= all.step && all.least % all.step == 0);
    assert_int_equal(all.queues > 0, driver_version() >= 13010);
}

static void parts_are_rounded_up(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    const acu_multiprocessors all = of_device();
    const acu_device_part parts[] = {
        {.multiprocessors = all.least + 1}, {.multiprocessors = 1}, {0}};
    acu_execution_context *made[COUNT(parts)];
    OK(acu_device_split(0, parts, COUNT(parts), made));
    const unsigned first = size_of(made[0]), second = size_of(made[1]);
    assert_true(first > all.least && first % all.step == 0 && first <= 2 * all.least);
    assert_int_equal(second, all.least);
    assert_int_equal(size_of(made[2]), all.count - first - second); /* what is left */
    for (size_t i = 0; i < COUNT(parts); i++)
        OK(acu_execution_context_release(made[i]));
}

static void a_whole_device(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    acu_execution_context *whole = part_of(0, 0);
    assert_int_equal(size_of(whole), of_device().count);
    OK(acu_execution_context_release(whole));
}

static void more_than_there_is(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    acu_execution_context *made[3] = {NULL};
    const unsigned all = of_device().count;
    acu_device_part parts[] = {{.multiprocessors = all}, {.multiprocessors = 1}, {0}};
    FAILS(acu_device_split(0, parts, 2, made), ACU_ERROR_LIMIT, "multiprocessors in groups of");
    assert_true(!made[0] && !made[1]);
    parts[0].multiprocessors = UINT32_MAX;
    FAILS(acu_device_split(0, parts, 1, made), ACU_ERROR_LIMIT, "the parts need 42949672");
    FAILS(acu_device_split(0, parts, 2, made), ACU_ERROR_LIMIT, "the parts need");
    parts[0].multiprocessors = all;
    parts[1].multiprocessors = 0;
    acu_clear_error();
    assert_true(acu_device_split(0, parts, 2, made) != 0); /* nothing is left */
    assert_true(!made[0] && !made[1]);
}

static void a_part_is_divided_again(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    const unsigned least = of_device().least;
    acu_execution_context *context = part_of(0, 2 * least), *halves[2];
    const acu_device_part parts[] = {{.multiprocessors = least}, {.multiprocessors = least}};
    OK(acu_execution_context_split(context, parts, 2, halves));
    assert_int_equal(size_of(halves[0]), least);
    assert_int_equal(size_of(halves[1]), least);
    OK(acu_execution_context_release(halves[0]));
    OK(acu_execution_context_release(halves[1]));
    const acu_device_part three[] = {
        {.multiprocessors = least}, {.multiprocessors = least}, {.multiprocessors = least}};
    acu_execution_context *none[3];
    FAILS(acu_execution_context_split(context, three, 3, none), ACU_ERROR_LIMIT,
          "execution context 0x");
    OK(acu_execution_context_release(context));
}

static void parts_that_are_wrong(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    acu_execution_context *made[2] = {NULL}, *queues = part_of(0, 8);
    acu_device_part parts[2] = {{0}, {.multiprocessors = 8}};
    FAILS(acu_device_split(0, parts, 2, made), ACU_ERROR_ARGUMENT, "only the last part");
    FAILS(acu_device_split(0, parts, 0, made), ACU_ERROR_ARGUMENT, "'count' is 0");
    parts[0] = (acu_device_part){.multiprocessors = 8, .flags = 64};
    FAILS(acu_device_split(0, parts, 1, made), ACU_ERROR_ARGUMENT, "part 0 has flags 0x40");
    parts[0] = (acu_device_part){.multiprocessors = 8, .together = 3};
    FAILS(acu_device_split(0, parts, 1, made), ACU_ERROR_ARGUMENT, "not an even number");
    parts[0] = (acu_device_part){.multiprocessors = 8, .sharing = (acu_queue_sharing)2};
    FAILS(acu_device_split(0, parts, 1, made), ACU_ERROR_ARGUMENT, "no such sharing of queues: 2");
    parts[0] = (acu_device_part){.multiprocessors = 8, .queues = 1, .queues_of = queues};
    FAILS(acu_device_split(0, parts, 1, made), ACU_ERROR_ARGUMENT, "exclude each other");
    parts[0] = (acu_device_part){.multiprocessors = 8, .queues_of = queues};
    if (another_device() != 0)
        FAILS(acu_device_split(1, parts, 1, made), ACU_ERROR_DEVICE, "queues of device 0");
    assert_null(made[0]);
    OK(acu_execution_context_release(queues));
}

/* Each wish that older drivers do not know, alone. */
static void an_older_driver_makes_no_groups(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    if (driver_version() >= 13010)
        SKIP("the driver makes groups");
    acu_execution_context *made = NULL, *queues = part_of(0, 8);
    const acu_device_part wishes[] = {
        {.multiprocessors = 8, .together = 4},
        {.multiprocessors = 8, .preferred_together = 16},
        {.multiprocessors = 8, .flags = ACU_PART_BACKFILL},
        {.multiprocessors = 8, .flags = ACU_PART_IN_DOMAIN, .domain = 1},
        {.multiprocessors = 8, .queues = 4},
        {.multiprocessors = 8, .sharing = ACU_QUEUES_BALANCED},
        {.multiprocessors = 8, .queues_of = queues},
    };
    for (size_t i = 0; i < COUNT(wishes); i++) {
        acu_clear_error();
        assert_true(acu_device_split(0, &wishes[i], 1, &made) > 0);
        if (!strstr(acu_last_error_message(), "13.1"))
            fail_msg("wish %zu: %s", i, acu_last_error_message());
        assert_null(made);
    }
    OK(acu_execution_context_release(queues));
}

static void groups_of_any_size(void **state) {
    (void)state;
    NEEDS_GROUPS();
    acu_execution_context *made[3];
    acu_execution_context_info info;
    acu_device_part parts[] = {{.multiprocessors = 12, .together = 4},
                               {.multiprocessors = 6, .together = 2, .flags = ACU_PART_BACKFILL},
                               {.together = 2, .flags = ACU_PART_BACKFILL}};
    OK(acu_device_split(0, parts, 3, made));
    OK(acu_execution_context_get_info(made[0], &info));
    assert_true(info.multiprocessors == 12 && info.together == 4);
    OK(acu_execution_context_get_info(made[1], &info));
    assert_true(info.multiprocessors == 6 && info.flags == ACU_PART_BACKFILL);
    assert_int_equal(size_of(made[2]), of_device().count - 18);
    for (size_t i = 0; i < 3; i++)
        OK(acu_execution_context_release(made[i]));
    parts[0] = (acu_device_part){.multiprocessors = 8, .together = 64};
    FAILS(acu_device_split(0, parts, 1, made), 915, "cuDevSmResourceSplit");
    assert_non_null(strstr(acu_last_error_details().hint, "ACU_PART_BACKFILL"));
    parts[0] = (acu_device_part){.multiprocessors = 8, .flags = ACU_PART_IN_DOMAIN, .domain = 77};
    acu_clear_error();
    assert_true(acu_device_split(0, parts, 1, made) != 0);
    if (acu_last_error() == 915)
        assert_non_null(strstr(acu_last_error_details().hint, "if there is one of that number"));
    parts[0].flags = 0;
    FAILS(acu_device_split(0, parts, 1, made), ACU_ERROR_ARGUMENT,
          "has the domain 77, but not the flag ACU_PART_IN_DOMAIN");
}

static void queues(void **state) {
    (void)state;
    NEEDS_GROUPS();
    acu_execution_context *first = NULL, *second = NULL;
    acu_execution_context_info info;
    const acu_device_part own = {.multiprocessors = 8, .queues = 2, .sharing = ACU_QUEUES_BALANCED};
    OK(acu_device_split(0, &own, 1, &first));
    OK(acu_execution_context_get_info(first, &info));
    assert_true(info.queues == 2 && info.sharing == ACU_QUEUES_BALANCED);
    const acu_device_part same = {.multiprocessors = 8, .queues_of = first};
    OK(acu_device_split(0, &same, 1, &second));
    OK(acu_execution_context_release(first)); /* the second one keeps it */
    assert_int_equal(size_of(first), 8);
    OK(acu_execution_context_release(second));
    FAILS(acu_execution_context_get_info(first, &info), ACU_ERROR_HANDLE, "released");
}

/* ---- what it is ---- */

static void life(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    char text[200];
    uint64_t id = 0, other = 0;
    acu_execution_context *a = part_of(0, 8), *b = part_of(another_device(), 8);
    assert_int_equal(acu_execution_context_device(b), another_device());
    assert_non_null(acu_execution_context_raw(a));
    acu_execution_context_describe(a, text, sizeof text);
    assert_non_null(strstr(text, "8 multiprocessors"));
    assert_true(acu_execution_context_retain(a) == a);
    OK(acu_execution_context_release(a));
    if (driver_version() >= 13000) {
        OK(acu_execution_context_get_id(a, &id));
        OK(acu_execution_context_get_id(b, &other));
        assert_true(id != other);
    } else
        FAILS(acu_execution_context_get_id(a, &id), 801, "13.0");
    OK(acu_execution_context_release(b));
    OK(acu_execution_context_release(a));
}

static void wrap_borrows_adopt_takes(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    CUdevResource all, part;
    CUdevResourceDesc descriptor;
    CUgreenCtx raw;
    unsigned one = 1;
    acu_execution_context *context = NULL;
    (void)of_device(); /* initialises the driver */
    assert_int_equal(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM), 0);
    assert_int_equal(cuDevSmResourceSplitByCount(&part, &one, &all, NULL, 0, 8), 0);
    assert_int_equal(cuDevResourceGenerateDesc(&descriptor, &part, 1), 0);
    assert_int_equal(cuGreenCtxCreate(&raw, descriptor, 0, CU_GREEN_CTX_DEFAULT_STREAM), 0);
    OK(acu_execution_context_wrap(0, raw, &context));
    assert_true(acu_execution_context_raw(context) == raw && size_of(context) == 8);
    OK(acu_execution_context_release(context));
    OK(acu_execution_context_adopt(0, raw, &context)); /* the raw one is still there */
    acu_stream *stream = stream_in(context);
    OK(acu_execution_context_release(context));
    OK(acu_stream_synchronize(stream)); /* and still is */
    OK(acu_stream_release(stream));
}

/* ---- streams ---- */

static void a_stream_keeps_its_context(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    char text[200];
    unsigned flags = 0, count = 0;
    int priority = 0, least = 0, greatest = 0;
    acu_stream *stream = NULL, *plain = stream_on(0);
    acu_execution_context *context = part_of(0, 8);
    OK(acu_device_get_priority_range(0, &least, &greatest));
    FAILS(acu_execution_context_create_stream(context, &(acu_stream_options){.flags = 2}, &stream),
          ACU_ERROR_ARGUMENT, "no flags 0x2");
    OK(acu_execution_context_create_stream(context, &(acu_stream_options){.priority = greatest},
                                           &stream));
    OK(acu_execution_context_release(context));
    assert_true(acu_stream_execution_context(stream) == context);
    assert_null(acu_stream_execution_context(plain));
    OK(acu_stream_get_flags(stream, &flags));
    assert_int_equal(flags, ACU_STREAM_NON_BLOCKING);
    OK(acu_stream_get_priority(stream, &priority));
    assert_int_equal(priority, greatest);
    acu_stream_describe(stream, text, sizeof text);
    assert_non_null(strstr(text, "in execution context 0x"));
    if (driver_version() >= 13010) {
        OK(acu_stream_get_multiprocessors(stream, &count));
        assert_int_equal(count, 8);
        OK(acu_stream_get_multiprocessors(plain, &count));
        assert_int_equal(count, of_device().count);
    } else
        FAILS(acu_stream_get_multiprocessors(stream, &count), 801, "13.1");
    OK(acu_stream_release(plain));
    OK(acu_stream_release(stream));
    FAILS(acu_execution_context_synchronize(context), ACU_ERROR_HANDLE, "released");
}

/* All that the safe layer puts on a stream, on one in a part; other streams wait for it by
 * themselves, and what the stream used may be released before the work is done. */
static void work_in_a_part(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    enum { MANY = 1000 };
    float back[MANY];
    acu_execution_context *context = part_of(0, 8);
    acu_stream *stream = stream_in(context), *other = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "scale");
    acu_buffer *buffer = numbers_on(stream, MANY);
    OK(acu_launch(stream, kernel, acu_grid_1d(MANY, 128), acu_inout(buffer), 2.0f, MANY));
    acu_buffer *copy = NULL;
    OK(acu_buffer_create(other, ACU_F32, MANY, &copy));
    OK(acu_buffer_copy(copy, buffer, NULL));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    OK(acu_execution_context_release(context));
    OK(acu_buffer_read(copy, back, MANY));
    for (size_t i = 0; i < MANY; i++)
        assert_true(back[i] == 2 * (float)i);
    OK(acu_buffer_release(copy));
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(other));
}

static unsigned seen;

static void look(const acu_sim_launch *launch, void *const *args) {
    (void)args;
    seen = launch->multiprocessors;
}

/* A cooperative launch fits if the part's multiprocessors hold all of its blocks. */
static void a_launch_has_the_parts_multiprocessors(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    int each = 0;
    const unsigned all = of_device().count;
    acu_execution_context *context = part_of(0, 8);
    acu_stream *stream = stream_in(context), *plain = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_sim_register("nothing", look);
    OK(acu_kernel_get_blocks_per_multiprocessor(kernel, 1024, 0, 0, &each));
    acu_grid g = {.threads = {1024, 0, 0}, .cooperative = true};
    g.blocks.x = 8 * (unsigned)each;
    OK(acu_launch(stream, kernel, g));
    OK(acu_stream_synchronize(stream));
    assert_true(!is_simulated() || seen == 8);
    g.blocks.x++;
    FAILS(acu_launch(stream, kernel, g), 720, "bytes run at once, not");
    (void)cudaGetLastError();
    OK(acu_launch(plain, kernel, g));
    OK(acu_stream_synchronize(plain));
    assert_true(!is_simulated() || seen == all);
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(plain));
    OK(acu_stream_release(stream));
    OK(acu_execution_context_release(context));
}

/* The nodes of a graph run where they were captured, and the graph keeps the part. */
/* Each block writes on which multiprocessor it is. */
static const char where_ptx[] =
    ".version 7.0\n.target sm_52\n.address_size 64\n"
    ".visible .entry where(.param .u64 out) {\n"
    "    .reg .b64 %rd<4>;\n    .reg .b32 %r<4>;\n"
    "    ld.param.u64 %rd1, [out];\n    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %smid;\n"
    "    mul.wide.u32 %rd2, %r1, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "    st.global.u32 [%rd3], %r2;\n    ret;\n}\n";

/* Counts the part's blocks on each multiprocessor. */
static void count_blocks(acu_execution_context *part, acu_kernel *where, unsigned *blocks) {
    enum { BLOCKS = 4096 };
    static uint32_t on[BLOCKS];
    acu_buffer *out = NULL;
    acu_stream *stream = stream_in(part);
    OK(acu_buffer_create(stream, ACU_U32, BLOCKS, &out));
    OK(acu_launch(stream, where, acu_grid_1d(BLOCKS, 1), acu_out(out)));
    OK(acu_buffer_read(out, on, BLOCKS));
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_true(on[i] < 256);
        blocks[on[i]]++;
    }
    OK(acu_buffer_release(out));
    OK(acu_stream_release(stream));
}

static void parts_run_on_multiprocessors_of_their_own(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    acu_module *module = NULL;
    acu_kernel *where = NULL;
    acu_execution_context *made[2];
    unsigned blocks[2][256] = {{0}}, used[2] = {0, 0};
    OK(acu_module_load(0, &(acu_module_source){.ptx = where_ptx}, &module));
    OK(acu_module_get_kernel(module, "where", &where));
    OK(acu_device_split(0, (acu_device_part[]){{.multiprocessors = 16}, {0}}, 2, made));
    for (size_t i = 0; i < 2; i++)
        count_blocks(made[i], where, blocks[i]);
    for (size_t id = 0; id < 256; id++) {
        assert_false(blocks[0][id] && blocks[1][id]);
        used[0] += blocks[0][id] > 0;
        used[1] += blocks[1][id] > 0;
    }
    assert_true(used[0] > 0 && used[0] <= size_of(made[0]));
    assert_true(used[1] > 0 && used[1] <= size_of(made[1]));
    OK(acu_execution_context_release(made[0]));
    OK(acu_execution_context_release(made[1]));
    OK(acu_kernel_release(where));
    OK(acu_module_release(module));
}

static void a_graph_keeps_the_context(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    acu_execution_context *context = part_of(0, 8), *second = part_of(0, 16);
    acu_stream *stream = stream_in(context), *joined = stream_in(second), *plain = stream_on(0);
    acu_kernel *kernel = kernel_on(0, "nothing");
    acu_sim_register("nothing", look);
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_stream_fork(stream, &joined, 1));
    OK(acu_launch(joined, kernel, acu_grid_1d(1, 1)));
    OK(acu_stream_join(stream, &joined, 1));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_stream_release(joined));
    OK(acu_stream_release(stream));
    OK(acu_execution_context_release(second));
    OK(acu_execution_context_release(context));
    OK(acu_graph_instantiate(graph, 0, &exec));
    OK(acu_graph_release(graph));
    assert_int_equal(size_of(second), 16);
    assert_int_equal(size_of(context), 8);
    OK(acu_exec_launch(exec, plain));
    OK(acu_stream_synchronize(plain));
    assert_true(!is_simulated() || seen == 16);
    OK(acu_exec_release(exec));
    FAILS(acu_execution_context_synchronize(second), ACU_ERROR_HANDLE, "released");
    OK(acu_kernel_release(kernel));
    OK(acu_stream_release(plain));
}

/* ---- events of all streams ---- */

static void an_event_is_all_of_a_context(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    NOT_UNDER_A_TOOL("nothing runs beside a host function that waits");
    acu_event *of_part = NULL, *of_device = NULL;
    acu_execution_context *context = part_of(0, 8);
    acu_stream *a = stream_in(context), *b = stream_in(context), *other = NULL;
    blocker here;
    OK(acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &other));
    OK(acu_event_create(0, NULL, &of_part));
    OK(acu_event_create(0, NULL, &of_device));
    block_stream(&here, b);
    OK(acu_execution_context_record_event(context, of_part));
    OK(acu_device_record_event(0, of_device));
    assert_int_equal(acu_event_query(of_part), ACU_NOT_READY);
    assert_int_equal(acu_event_query(of_device), ACU_NOT_READY);
    OK(acu_stream_synchronize(a));
    OK(acu_stream_synchronize(other));
    unblock_stream(&here);
    OK(acu_execution_context_synchronize(context));
    OK(acu_event_synchronize(of_part));
    OK(acu_event_synchronize(of_device));
    OK(acu_event_release(of_part));
    OK(acu_event_release(of_device));
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
    OK(acu_stream_release(other));
    OK(acu_execution_context_release(context));
}

static void all_streams_wait_for_an_event(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    NOT_UNDER_A_TOOL("nothing runs beside a host function that waits");
    acu_event *held = NULL;
    acu_execution_context *context = part_of(0, 8);
    acu_stream *in = stream_in(context), *holder = NULL, *out = NULL;
    const acu_stream_options apart = {.flags = ACU_STREAM_NON_BLOCKING};
    blocker here, later;
    OK(acu_stream_create(0, &apart, &holder));
    OK(acu_stream_create(0, &apart, &out));
    OK(acu_event_create(0, NULL, &held));
    OK(acu_execution_context_wait_event(context, held)); /* never recorded: nothing waits */
    OK(acu_stream_synchronize(in));
    block_stream(&here, holder);
    OK(acu_event_record(held, holder));
    OK(acu_execution_context_wait_event(context, held));
    block_stream(&later, in);
    unblock(&later);
    still_waits(in);
    OK(acu_stream_synchronize(out)); /* is in no part */
    OK(acu_device_wait_event(0, held));
    unblock_stream(&here);
    OK(acu_stream_synchronize(in));
    OK(acu_stream_synchronize(out));
    OK(acu_event_release(held));
    OK(acu_stream_release(in));
    OK(acu_stream_release(out));
    OK(acu_stream_release(holder));
    OK(acu_execution_context_release(context));
}

static void events_of_other_devices(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    NEEDS_TWO_DEVICES();
    acu_event *far = NULL;
    acu_execution_context *context = part_of(0, 8);
    acu_stream *there = stream_on(1);
    OK(acu_event_create(1, NULL, &far));
    FAILS(acu_execution_context_record_event(context, far), ACU_ERROR_DEVICE, "to device 1");
    FAILS(acu_device_record_event(0, far), ACU_ERROR_DEVICE, "to device 1");
    OK(acu_event_record(far, there));
    OK(acu_execution_context_wait_event(context, far));
    OK(acu_device_wait_event(0, far));
    OK(acu_execution_context_synchronize(context));
    OK(acu_event_release(far));
    OK(acu_stream_release(there));
    OK(acu_execution_context_release(context));
}

/* What would break a capture is refused before CUDA breaks it. */
static void captures_are_not_broken(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    unsigned count;
    acu_graph *graph = NULL;
    acu_event *event = NULL, *inside = NULL;
    acu_execution_context *context = part_of(0, 8), *other = part_of(0, 8);
    acu_stream *stream = stream_in(context);
    OK(acu_event_create(0, NULL, &event));
    OK(acu_event_create(0, NULL, &inside));
    OK(acu_stream_begin_capture(stream, &(acu_capture_options){.mode = ACU_CAPTURE_RELAXED}));
    OK(acu_event_record(inside, stream));
    FAILS(acu_execution_context_record_event(context, event), ACU_ERROR_CAPTURE,
          "recording an event for all streams would break the capture that began on stream");
    FAILS(acu_execution_context_wait_event(context, event), ACU_ERROR_CAPTURE,
          "letting all streams wait would break");
    FAILS(acu_execution_context_wait_event(other, inside), ACU_ERROR_CAPTURE,
          "stands for work that is being captured");
    FAILS(acu_execution_context_synchronize(context), ACU_ERROR_CAPTURE, "would break");
    FAILS(acu_device_record_event(0, event), ACU_ERROR_CAPTURE, "would break");
    FAILS(acu_device_wait_event(0, event), ACU_ERROR_CAPTURE, "would break");
    FAILS(acu_stream_get_multiprocessors(stream, &count), ACU_ERROR_CAPTURE, "captured");
    OK(acu_execution_context_record_event(other, event)); /* has no stream in the capture */
    OK(acu_execution_context_synchronize(other));
    OK(acu_execution_context_release(other));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_execution_context_record_event(context, inside));
    OK(acu_event_synchronize(inside)); /* is of no capture any more */
    OK(acu_graph_release(graph));
    OK(acu_event_release(event));
    OK(acu_event_release(inside));
    OK(acu_stream_release(stream));
    OK(acu_execution_context_release(context));
}

static void a_device_with_a_part_is_not_reset(void **state) {
    (void)state;
    NEEDS_CONTEXTS();
    acu_execution_context *context = part_of(0, 8);
    FAILS(acu_device_reset(0), ACU_ERROR_STATE, "1 object of device 0 is still alive");
    OK(acu_execution_context_release(context));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(an_old_driver_has_none),
        KERNEL_TEST(what_there_is),
        KERNEL_TEST(parts_are_rounded_up),
        KERNEL_TEST(a_whole_device),
        KERNEL_TEST(more_than_there_is),
        KERNEL_TEST(a_part_is_divided_again),
        KERNEL_TEST(parts_that_are_wrong),
        KERNEL_TEST(an_older_driver_makes_no_groups),
        KERNEL_TEST(groups_of_any_size),
        KERNEL_TEST(queues),
        KERNEL_TEST(life),
        KERNEL_TEST(wrap_borrows_adopt_takes),
        KERNEL_TEST(a_stream_keeps_its_context),
        KERNEL_TEST(work_in_a_part),
        KERNEL_TEST(a_launch_has_the_parts_multiprocessors),
        KERNEL_TEST(parts_run_on_multiprocessors_of_their_own),
        KERNEL_TEST(a_graph_keeps_the_context),
        KERNEL_TEST(an_event_is_all_of_a_context),
        KERNEL_TEST(all_streams_wait_for_an_event),
        KERNEL_TEST(events_of_other_devices),
        KERNEL_TEST(captures_are_not_broken),
        KERNEL_TEST(a_device_with_a_part_is_not_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
