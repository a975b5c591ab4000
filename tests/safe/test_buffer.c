/* Buffers: what they hold, and what they refuse. */
#include "safe.h"

#include <anycuda/cudart.h>
#include <anycuda/layers.h>

#include <complex.h>
#include <pthread.h>

static acu_stream *stream;
static volatile int no_such = 44;

static int start(void **state) {
    begin(state);
    acu_quarantine(100);
    return acu_stream_create(0, NULL, &stream);
}

static int stop(void **state) {
    int code = acu_stream_release(stream);
    acu_quarantine(0);
    return nothing_left(state) || code;
}

/* ---- contents ---- */

static void the_round_trip(void **state) {
    (void)state;
    const float numbers[] = {1, 2, 3};
    float back[3] = {0};
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(stream, ACU_F32, 3, &buffer));
    OK(acu_buffer_write(buffer, numbers, 3));
    OK(acu_buffer_read(buffer, back, 3));
    assert_memory_equal(numbers, back, sizeof back);
    assert_int_equal(acu_buffer_dtype(buffer), ACU_F32);
    assert_int_equal(acu_buffer_count(buffer), 3);
    assert_int_equal(acu_buffer_bytes(buffer), 12);
    assert_int_equal(acu_buffer_device(buffer), 0);
    assert_ptr_equal(acu_buffer_stream(buffer), stream);
    assert_non_null(acu_buffer_raw(buffer));
    OK(acu_buffer_release(buffer));
}

static void all_types(void **state) {
    (void)state;
    static const struct {
        acu_dtype dtype;
        size_t size;
        const char *name;
    } all[] = {
        {ACU_F64, 8, "f64"},   {ACU_F32, 4, "f32"},         {ACU_F16, 2, "f16"},
        {ACU_BF16, 2, "bf16"}, {ACU_F8_E4M3, 1, "f8_e4m3"}, {ACU_F8_E5M2, 1, "f8_e5m2"},
        {ACU_I8, 1, "i8"},     {ACU_I16, 2, "i16"},         {ACU_I32, 4, "i32"},
        {ACU_I64, 8, "i64"},   {ACU_U8, 1, "u8"},           {ACU_U16, 2, "u16"},
        {ACU_U32, 4, "u32"},   {ACU_U64, 8, "u64"},         {ACU_BOOL, 1, "bool"},
        {ACU_C64, 8, "c64"},   {ACU_C128, 16, "c128"},      {ACU_BYTES(12), 12, "bytes(12)"}};
    for (size_t i = 0; i < COUNT(all); i++) {
        acu_buffer *buffer = NULL;
        assert_int_equal(acu_dtype_size(all[i].dtype), all[i].size);
        assert_string_equal(acu_dtype_name(all[i].dtype), all[i].name);
        OK(acu_buffer_create(stream, all[i].dtype, 5, &buffer));
        assert_int_equal(acu_buffer_bytes(buffer), 5 * all[i].size);
        OK(acu_buffer_release(buffer));
    }
    double d;
    double complex c = 0;
    const unsigned char bytes[1] = {0};
    assert_int_equal(ACU_DTYPE_OF(&d), ACU_F64);
    assert_int_equal(ACU_DTYPE_OF(&c), ACU_C128);
    assert_int_equal(ACU_DTYPE_OF(bytes), ACU_U8);
    assert_int_equal(ACU_DTYPE_OF((int64_t *)NULL), ACU_I64);
    assert_int_equal(ACU_DTYPE_OF((void *)NULL), ACU_ANY);
    assert_int_equal(acu_dtype_size(ACU_BYTES(SIZE_MAX)), 0);
    assert_int_equal(acu_dtype_size(0x77000001), 0);
    assert_true(acu_dtype_fits(ACU_F16, ACU_U16));
    assert_true(acu_dtype_fits(ACU_BYTES(4), ACU_F32));
    assert_false(acu_dtype_fits(ACU_F32, ACU_U32));
    assert_false(acu_dtype_fits(ACU_F16, ACU_BF16));
    assert_false(acu_dtype_fits(ACU_F16, ACU_I16));
}

static void slices_and_views(void **state) {
    (void)state;
    int32_t numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7}, back[4];
    uint32_t word;
    acu_buffer *buffer = NULL, *slice = NULL, *inner = NULL, *view = NULL, *bytes = NULL;
    OK(acu_buffer_create(stream, ACU_I32, 8, &buffer));
    OK(acu_buffer_write(buffer, numbers, 8));
    OK(acu_buffer_slice(buffer, 2, 4, &slice));
    OK(acu_buffer_release(buffer)); /* the slice keeps the memory */
    OK(acu_buffer_read(slice, back, 4));
    assert_memory_equal(back, numbers + 2, sizeof back);
    OK(acu_buffer_slice(slice, 1, 2, &inner));
    OK(acu_buffer_reinterpret(inner, ACU_U32, &view));
    OK(acu_buffer_read(view, &word, 1));
    assert_int_equal(word, 3);
    OK(acu_buffer_reinterpret(slice, ACU_U8, &bytes));
    assert_int_equal(acu_buffer_count(bytes), 16);
    OK(acu_buffer_release(view));
    FAILS(acu_buffer_slice(slice, 3, 2, &view), ACU_ERROR_RANGE,
          "2 elements from element 3 on are outside of the buffer, which has 4");
    FAILS(acu_buffer_slice(slice, 5, 0, &view), ACU_ERROR_RANGE, "which has 4");
    FAILS(acu_buffer_slice(slice, 1, SIZE_MAX, &view), ACU_ERROR_RANGE, "which has 4");
    assert_non_null(strstr(acu_last_error_details().hint, "negative number"));
    FAILS(acu_buffer_slice(slice, (size_t)-7, 1, &view), ACU_ERROR_RANGE, "which has 4");
    assert_non_null(strstr(acu_last_error_details().hint, "negative number"));
    FAILS(acu_buffer_slice(slice, 1, PTRDIFF_MAX, &view), ACU_ERROR_RANGE, "which has 4");
    assert_string_equal(acu_last_error_details().hint, "");
    FAILS(acu_buffer_slice(slice, 0, 1, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_buffer_reinterpret(slice, ACU_BYTES(5), &view), ACU_ERROR_DTYPE, "no whole number");
    FAILS(acu_buffer_reinterpret(slice, 1, &view), ACU_ERROR_DTYPE, "no type");
    FAILS(acu_buffer_reinterpret(slice, ACU_U8, NULL), ACU_ERROR_ARGUMENT, "NULL");
    OK(acu_buffer_slice(bytes, 1, 8, &view));
    acu_buffer *crooked = NULL;
    FAILS(acu_buffer_reinterpret(view, ACU_F32, &crooked), ACU_ERROR_DTYPE, "not aligned");
    OK(acu_buffer_release(view));
    OK(acu_buffer_release(bytes));
    OK(acu_buffer_release(inner));
    OK(acu_buffer_release(slice));
}

static void fills(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 2, 4, 8, 12, 16};
    static const unsigned char pattern[16] = {1, 2,  3,  4,  5,  6,  7,  8,
                                              9, 10, 11, 12, 13, 14, 15, 16};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        unsigned char back[16 * 33];
        acu_buffer *buffer = NULL;
        OK(acu_buffer_create(stream, ACU_BYTES(sizes[i]), 33, &buffer));
        OK(acu_buffer_fill_typed(buffer, ACU_BYTES(sizes[i]), pattern, NULL));
        OK(acu_buffer_read_typed(buffer, 0, ACU_ANY, back, 33, NULL));
        for (size_t k = 0; k < 33; k++)
            assert_memory_equal(back + k * sizes[i], pattern, sizes[i]);
        OK(acu_buffer_zero(buffer, NULL));
        OK(acu_buffer_read_typed(buffer, 0, ACU_ANY, back, 33, NULL));
        for (size_t k = 0; k < 33 * sizes[i]; k++)
            assert_int_equal(back[k], 0);
        OK(acu_buffer_release(buffer));
    }
    acu_buffer *floats = NULL;
    float one = 1, back[4];
    OK(acu_buffer_create(stream, ACU_F32, 4, &floats));
    OK(acu_buffer_fill(floats, &one));
    OK(acu_buffer_read(floats, back, 4));
    assert_true(back[3] == 1);
    FAILS(acu_buffer_fill(floats, &(int){1}), ACU_ERROR_DTYPE, "holds f32, the host i32");
    FAILS(acu_buffer_fill_typed(floats, ACU_F32, NULL, NULL), ACU_ERROR_ARGUMENT, "NULL");
    OK(acu_buffer_release(floats));
}

static void fills_of_bytes(void **state) {
    (void)state;
    enum { SIZE = 41 };
    static const unsigned char pattern[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, equal[3] = {7, 7, 7};
    unsigned char back[SIZE];
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(stream, ACU_U8, SIZE, &buffer));
    for (size_t size = 1; size <= sizeof pattern; size++)
        for (size_t at = 0; at < 5; at++)
            for (size_t bytes = 0; bytes < 2 * size + 3 && at + bytes < SIZE; bytes++) {
                OK(acu_buffer_zero(buffer, NULL));
                OK(acu_buffer_fill_bytes(buffer, at, bytes, pattern, size, NULL));
                OK(acu_buffer_read(buffer, back, SIZE));
                for (size_t i = 0; i < SIZE; i++)
                    assert_int_equal(back[i],
                                     i < at || i - at >= bytes ? 0 : pattern[(i - at) % size]);
            }
    OK(acu_buffer_fill_bytes(buffer, 0, SIZE, equal, sizeof equal, NULL));
    OK(acu_buffer_read(buffer, back, SIZE));
    for (size_t i = 0; i < SIZE; i++)
        assert_int_equal(back[i], 7);
    FAILS(acu_buffer_fill_bytes(buffer, 0, 4, NULL, 4, NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_buffer_fill_bytes(buffer, 0, 4, pattern, 0, NULL), ACU_ERROR_ARGUMENT, "no bytes");
    FAILS(acu_buffer_fill_bytes(buffer, 38, 4, pattern, 4, NULL), ACU_ERROR_RANGE,
          "4 bytes from byte 38 on are outside of the buffer, which has 41");
    FAILS(acu_buffer_fill_bytes(buffer, SIZE_MAX, 4, pattern, 4, NULL), ACU_ERROR_RANGE, "41");
    OK(acu_buffer_release(buffer));
}

/* The driver sets words, also where the runtime is newer than the driver and does not find the
 * driver's functions unless it is told a version. */
static void fills_of_words_are_one_node(void **state) {
    (void)state;
    size_t count = 0;
    acu_buffer *words = NULL;
    acu_graph *graph = NULL;
    static const int32_t word = 0x01020304;
    OK(acu_buffer_create(stream, ACU_I32, 33, &words));
    OK(acu_buffer_fill(words, &word)); /* a thread's first call makes a context current */
    OK(acu_stream_begin_capture(stream, NULL));
    OK(acu_buffer_fill(words, &word));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_get_nodes(graph, NULL, &count));
    assert_int_equal(count, 1);
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(words));
}

static void check_words(acu_buffer *words) {
    int32_t back[33];
    OK(acu_buffer_read(words, back, 33));
    for (size_t i = 0; i < 33; i++)
        assert_int_equal(back[i], 0x01020304);
}

static void *fill_words(void *words) {
    static const int32_t word = 0x01020304;
    return (void *)(intptr_t)acu_buffer_fill((acu_buffer *)words, &word);
}

/* The driver's function, which sets words, needs a context. A new thread has none; a thread in
 * which another device was current has that device's. */
static void fills_where_no_context_is_current(void **state) {
    (void)state;
    acu_buffer *words = NULL;
    pthread_t thread;
    void *code = words;
    OK(acu_buffer_create(stream, ACU_I32, 33, &words));
    assert_int_equal(pthread_create(&thread, NULL, fill_words, words), 0);
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_null(code);
    check_words(words);
    OK(acu_buffer_release(words));
}

static void fills_on_a_device_that_is_not_current(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *other = NULL;
    acu_buffer *words = NULL;
    OK(acu_stream_create(1, NULL, &other));
    OK(acu_buffer_create(other, ACU_I32, 33, &words));
    assert_null(fill_words(words));
    check_words(words);
    OK(acu_buffer_release(words));
    OK(acu_stream_release(other));
}

static void fills_what_is_not_aligned(void **state) {
    (void)state;
    static const unsigned char element[] = {1, 2, 3, 4};
    unsigned char back[16];
    acu_buffer *all = NULL, *part = NULL, *elements = NULL;
    OK(acu_buffer_create(stream, ACU_U8, 16, &all));
    OK(acu_buffer_zero(all, NULL));
    OK(acu_buffer_slice(all, 1, 12, &part));
    OK(acu_buffer_reinterpret(part, ACU_BYTES(4), &elements));
    OK(acu_buffer_fill_typed(elements, ACU_BYTES(4), element, NULL));
    OK(acu_buffer_read(all, back, 16));
    for (size_t i = 0; i < 16; i++)
        assert_int_equal(back[i], i < 1 || i > 12 ? 0 : element[(i - 1) % 4]);
    acu_graph *graph = NULL;
    const acu_fill fill = {elements, ACU_BYTES(4), element, .width = ACU_REST};
    OK(acu_graph_create(&graph));
    FAILS(acu_graph_add_fill(graph, NULL, 0, &fill, NULL), ACU_ERROR_DTYPE, "not aligned");
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(elements));
    OK(acu_buffer_release(part));
    OK(acu_buffer_release(all));
}

static void fills_from_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_buffer *floats = NULL;
    acu_stream *other = NULL;
    float one = 1;
    OK(acu_buffer_create(stream, ACU_F32, 4, &floats));
    OK(acu_stream_create(1, NULL, &other));
    FAILS(acu_buffer_zero(floats, other), ACU_ERROR_DEVICE, "stream to device 1");
    FAILS(acu_buffer_fill_typed(floats, ACU_F32, &one, other), ACU_ERROR_DEVICE, "device 1");
    OK(acu_stream_release(other));
    OK(acu_buffer_release(floats));
}

static acu_result fail_to_copy(void) {
    acu_buffer *made = NULL;
    const float numbers[3] = {1, 2, 3};
    assert_int_equal(acu_inject_errors("cudaMemcpyAsync@1:2"), 0);
    acu_result result = acu_buffer_create_from(stream, numbers, 3, &made);
    acu_inject_errors(NULL);
    assert_null(made);
    return result;
}

static void are_made_of_what_the_host_has(void **state) {
    (void)state;
    const float numbers[3] = {1, 2, 3};
    float back[3] = {0};
    acu_buffer *made = NULL;
    OK(acu_buffer_create_from(stream, numbers, 3, &made));
    assert_true(acu_buffer_dtype(made) == ACU_F32 && acu_buffer_count(made) == 3);
    OK(acu_buffer_read(made, back, 3));
    assert_memory_equal(back, numbers, sizeof back);
    OK(acu_buffer_release(made));
    OK(acu_buffer_create_from_typed(stream, ACU_U8, NULL, 0, &made));
    OK(acu_buffer_release(made));
    FAILS(acu_buffer_create_from_typed(stream, ACU_U8, NULL, 1, &made), ACU_ERROR_ARGUMENT,
          "'host' is NULL");
    FAILS(acu_buffer_create_from(stream, numbers, 3, NULL), ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    FAILS(acu_buffer_create_from(NULL, numbers, 3, &made), ACU_ERROR_ARGUMENT,
          "the stream is NULL");
    FAILS(fail_to_copy(), 2, "acu_buffer_create_from_typed: ");
}

static void copies(void **state) {
    (void)state;
    const int16_t numbers[6] = {1, 2, 3, 4, 5, 6};
    int16_t back[6] = {0}, *host = NULL;
    acu_buffer *a = NULL, *b = NULL, *pinned = NULL, *far = NULL, *bytes = NULL;
    acu_stream *other = NULL;
    OK(acu_stream_create(another_device(), NULL, &other));
    OK(acu_buffer_create(stream, ACU_I16, 6, &a));
    OK(acu_buffer_create(stream, ACU_I16, 6, &b));
    OK(acu_buffer_create(other, ACU_I16, 6, &far));
    OK(acu_buffer_create(stream, ACU_U8, 12, &bytes));
    OK(acu_buffer_create_with(stream, ACU_I16, 6,
                              &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &pinned));
    OK(acu_buffer_get_host(pinned, (void **)&host));
    memcpy(host, numbers, sizeof numbers);
    OK(acu_buffer_copy(a, pinned, NULL));
    OK(acu_buffer_copy(b, a, NULL));
    OK(acu_buffer_copy_range(b, 0, a, 3, 2, NULL)); /* 4 5 3 4 5 6 */
    OK(acu_buffer_copy(far, b, NULL));
    OK(acu_buffer_read(far, back, 6));
    assert_memory_equal(back, ((int16_t[]){4, 5, 3, 4, 5, 6}), sizeof back);
    OK(acu_buffer_copy(pinned, b, NULL));
    OK(acu_buffer_get_host(pinned, (void **)&host)); /* waits for the copy */
    assert_memory_equal(host, back, sizeof back);
    FAILS(acu_buffer_copy_range(a, 0, a, 1, 3, NULL), ACU_ERROR_RANGE, "overlap");
    OK(acu_buffer_copy_range(a, 0, a, 3, 3, NULL));
    FAILS(acu_buffer_copy_range(a, 4, b, 0, 3, NULL), ACU_ERROR_RANGE, "3 elements from element 4");
    FAILS(acu_buffer_copy_range(a, 0, b, 7, 0, NULL), ACU_ERROR_RANGE, "element 7");
    FAILS(acu_buffer_copy(a, bytes, NULL), ACU_ERROR_RANGE, "6 elements, the source 12");
    FAILS(acu_buffer_copy_range(a, 0, bytes, 0, 1, NULL), ACU_ERROR_DTYPE,
          "holds i16, the source u8");
    acu_buffer *words = NULL;
    OK(acu_buffer_create(stream, ACU_U16, 6, &words));
    FAILS(acu_buffer_copy(a, words, NULL), ACU_ERROR_DTYPE, "holds i16, the source u16");
    FAILS(acu_buffer_copy_strided(a, words, &(acu_strides){0}, NULL), ACU_ERROR_DTYPE, "u16");
    OK(acu_buffer_release(words));
    FAILS(acu_buffer_copy(a, NULL, NULL), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(acu_buffer_get_host(a, (void **)&host), ACU_ERROR_MEMORY_KIND, "cannot reach");
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
    OK(acu_buffer_release(far));
    OK(acu_buffer_release(bytes));
    OK(acu_buffer_release(pinned));
    OK(acu_stream_release(other));
}

/* Copies both ways there are on that stream, and reads what arrived. */
static void check_copies_on(acu_stream *on, acu_buffer *to, acu_buffer *from) {
    const acu_strides every = {.rank = 1, .shape = (const size_t[]){3}};
    const float numbers[] = {1, 2, 3};
    float back[3] = {0};
    OK(acu_buffer_write(from, numbers, 3));
    OK(acu_buffer_zero(to, NULL));
    OK(acu_buffer_copy(to, from, on));
    OK(acu_buffer_read(to, back, 3));
    assert_memory_equal(numbers, back, sizeof back);
    OK(acu_buffer_zero(to, NULL));
    OK(acu_buffer_copy_strided(to, from, &every, on));
    OK(acu_buffer_read(to, back, 3));
    assert_memory_equal(numbers, back, sizeof back);
}

/* The stream's device has no access to the pool of the first one. */
static void copies_on_a_stream_of_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    const acu_buffer_options plain = {.memory = ACU_MEMORY_DEVICE};
    acu_stream *far[2] = {NULL, NULL};
    acu_buffer *a = NULL, *b = NULL, *c = NULL;
    OK(acu_stream_create(1, NULL, &far[0]));
    OK(acu_stream_get_legacy(1, &far[1])); /* the raw stream is each device's */
    OK(acu_buffer_create(stream, ACU_F32, 3, &a));
    OK(acu_buffer_create(stream, ACU_F32, 3, &b));
    OK(acu_buffer_create_with(stream, ACU_F32, 3, &plain, &c));
    for (int i = 0; i < 2; i++) {
        check_copies_on(far[i], b, a);
        check_copies_on(far[i], c, a);
        check_copies_on(far[i], a, c);
        OK(acu_stream_release(far[i]));
    }
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
    OK(acu_buffer_release(c));
}

/* The stream's device has no access to the pool of the first one. */
static void the_hosts_on_a_stream_of_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    const acu_buffer_options on_host = {.memory = ACU_MEMORY_PINNED};
    const float numbers[] = {1, 2, 3};
    float back[3] = {0};
    acu_stream *far = NULL;
    acu_event *written = NULL;
    acu_buffer *a = NULL, *pinned = NULL;
    OK(acu_stream_create(1, NULL, &far));
    OK(acu_event_create(1, NULL, &written));
    OK(acu_buffer_create(stream, ACU_F32, 3, &a));
    OK(acu_buffer_create_with(far, ACU_F32, 3, &on_host, &pinned));
    OK(acu_buffer_write_typed(a, 0, ACU_F32, numbers, 3, far));
    OK(acu_buffer_read_typed(a, 0, ACU_F32, back, 3, far));
    assert_memory_equal(numbers, back, sizeof back);
    OK(acu_event_record(written, far));
    memset(back, 0, sizeof back);
    OK(acu_buffer_read_after(a, written, 0, ACU_F32, back, 3, far));
    assert_memory_equal(numbers, back, sizeof back);
    check_copies_on(far, pinned, a);
    check_copies_on(far, a, pinned);
    OK(acu_event_release(written));
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(pinned));
    OK(acu_stream_release(far));
}

/* CUDA takes the legacy stream for that of the current device, which then is not the memory's. */
static void the_hosts_on_the_default_stream_of_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    const float numbers[] = {1, 2, 3};
    acu_stream *far = NULL;
    acu_buffer *a = NULL;
    OK(acu_stream_get_legacy(1, &far));
    OK(acu_buffer_create(stream, ACU_F32, 3, &a));
    acu_result refused = acu_buffer_write_typed(a, 0, ACU_F32, numbers, 3, far);
    if (is_simulated())
        assert_int_equal(refused, 1);
    if (refused)
        assert_non_null(
            strstr(acu_last_error_details().hint, "the stream on device 1: use a stream"));
    OK(acu_buffer_release(a));
    OK(acu_stream_release(far));
}

static void memory_ends_where_addresses_do(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    void *last = (void *)(UINTPTR_MAX - 7);
    FAILS(acu_buffer_wrap(stream, ACU_F32, last, 100, ACU_MEMORY_HOST, &buffer), ACU_ERROR_OVERFLOW,
          "100 elements of 4 bytes at 0xfffffffffffffff8 are more than can be addressed");
    FAILS(acu_buffer_register(stream, ACU_U8, last, 9, 0, &buffer), ACU_ERROR_OVERFLOW,
          "more than can be addressed");
    FAILS(acu_buffer_adopt(stream, ACU_F32, (void *)8, SIZE_MAX / 4, ACU_MEMORY_DEVICE, &buffer),
          ACU_ERROR_OVERFLOW, "more than can be addressed");
    assert_null(buffer);
}

/* What is not CUDA's is cloned into what CUDA can allocate. */
static void clones_of_plain_host_memory(void **state) {
    (void)state;
    float numbers[] = {1, 2, 3}, back[3] = {0};
    acu_buffer *buffer = NULL, *clone = NULL;
    OK(acu_buffer_wrap(stream, ACU_F32, numbers, 3, ACU_MEMORY_HOST, &buffer));
    OK(acu_buffer_clone(buffer, NULL, &clone));
    OK(acu_buffer_release(buffer));
    numbers[0] = 9;
    assert_int_equal(acu_buffer_memory(clone), ACU_MEMORY_PINNED);
    OK(acu_buffer_read(clone, back, 3));
    assert_memory_equal(back, ((float[]){1, 2, 3}), sizeof back);
    OK(acu_buffer_release(clone));
}

static void clones(void **state) {
    (void)state;
    static const struct {
        acu_memory of, is;
    } kinds[] = {
        {ACU_MEMORY_POOL, ACU_MEMORY_POOL},       {ACU_MEMORY_DEVICE, ACU_MEMORY_DEVICE},
        {ACU_MEMORY_PINNED, ACU_MEMORY_PINNED},   {ACU_MEMORY_MAPPED, ACU_MEMORY_MAPPED},
        {ACU_MEMORY_MANAGED, ACU_MEMORY_MANAGED},
    };
    const float numbers[] = {1, 2, 3};
    acu_stream *other = NULL;
    OK(acu_stream_create(0, NULL, &other));
    for (size_t i = 0; i < COUNT(kinds); i++) {
        acu_buffer *buffer = NULL, *clone = NULL;
        float back[3] = {0};
        OK(acu_buffer_create_with(stream, ACU_F32, 3, &(acu_buffer_options){.memory = kinds[i].of},
                                  &buffer));
        OK(acu_buffer_write(buffer, numbers, 3));
        OK(acu_buffer_clone(buffer, other, &clone));
        OK(acu_buffer_zero(buffer, NULL)); /* waits for the copy */
        assert_int_equal(acu_buffer_memory(clone), kinds[i].is);
        assert_ptr_equal(acu_buffer_stream(clone), other);
        OK(acu_buffer_release(buffer));
        OK(acu_buffer_read(clone, back, 3));
        assert_memory_equal(back, numbers, sizeof back);
        OK(acu_buffer_release(clone));
    }
    OK(acu_stream_release(other));
}

static void clones_of_what_cannot_be_allocated(void **state) {
    (void)state;
    static _Alignas(4096) float mine[1024] = {5};
    acu_buffer *buffer = NULL, *clone = NULL;
    acu_pool *pool = NULL;
    float back = 0;
    OK(acu_buffer_register(stream, ACU_F32, mine, 1024, ACU_BUFFER_MAP, &buffer));
    OK(acu_buffer_clone(buffer, NULL, &clone));
    assert_int_equal(acu_buffer_memory(clone), ACU_MEMORY_PINNED);
    OK(acu_buffer_read(clone, &back, 1));
    assert_true(back == 5);
    OK(acu_buffer_release(clone));
    OK(acu_buffer_release(buffer));
    OK(acu_buffer_create_growable(stream, ACU_F32, 10, 100, &buffer));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_clone(buffer, NULL, &clone));
    assert_int_equal(acu_buffer_memory(clone), ACU_MEMORY_POOL);
    OK(acu_buffer_release(clone));
    OK(acu_buffer_release(buffer));
    OK(acu_pool_create(0, NULL, &pool));
    OK(acu_buffer_create_with(stream, ACU_F32, 10, &(acu_buffer_options){.pool = pool}, &buffer));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_clone(buffer, NULL, &clone));
    uint64_t used = 0;
    OK(acu_pool_get_attribute(pool, ACU_POOL_USED, &used));
    assert_true(used >= 80);
    OK(acu_buffer_release(clone));
    OK(acu_buffer_release(buffer));
    OK(acu_pool_release(pool));
}

static void clones_on_another_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    const float numbers[] = {1, 2, 3};
    float back[3] = {0};
    acu_stream *far = NULL;
    acu_buffer *buffer = NULL, *clone = NULL;
    OK(acu_stream_create(1, NULL, &far));
    OK(acu_buffer_create_from(stream, numbers, 3, &buffer));
    OK(acu_buffer_clone(buffer, far, &clone));
    assert_int_equal(acu_buffer_device(clone), 1);
    OK(acu_buffer_read(clone, back, 3));
    assert_memory_equal(back, numbers, sizeof back);
    OK(acu_buffer_release(clone));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(far));
}

/* The buffer alone keeps its stream, and is freed on it after all uses. */
static void moves_to_another_stream(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    acu_stream *first = NULL, *second = NULL, *other = NULL, *far = NULL;
    const float number = 4;
    float back = 0;
    OK(acu_stream_create(0, NULL, &other));
    for (int used = 0; used < 4; used++) {
        OK(acu_stream_create(0, NULL, &first));
        OK(acu_stream_create(0, NULL, &second));
        OK(acu_buffer_create(first, ACU_F32, 100, &buffer));
        if (used & 1)
            OK(acu_buffer_fill_typed(buffer, ACU_F32, &number, first));
        if (used & 2)
            OK(acu_buffer_fill_typed(buffer, ACU_F32, &number, second));
        OK(acu_buffer_set_stream(buffer, second));
        OK(acu_stream_release(first));
        OK(acu_stream_release(second));
        assert_ptr_equal(acu_buffer_stream(buffer), second);
        OK(acu_buffer_set_stream(buffer, second));
        OK(acu_buffer_fill(buffer, &number));
        OK(acu_buffer_fill_typed(buffer, ACU_F32, &number, other));
        OK(acu_buffer_read(buffer, &back, 1));
        assert_true(back == number);
        OK(acu_buffer_release(buffer));
    }
    OK(acu_stream_release(other));
    OK(acu_buffer_create(stream, ACU_F32, 1, &buffer));
    if (another_device()) {
        OK(acu_stream_create(1, NULL, &far));
        FAILS(acu_buffer_set_stream(buffer, far), ACU_ERROR_DEVICE, "the stream is on device 1");
        OK(acu_stream_release(far));
    }
    OK(acu_buffer_release(buffer));
}

static void kinds_of_memory(void **state) {
    (void)state;
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MAPPED, ACU_MEMORY_MANAGED};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        double numbers[100], back[100];
        acu_buffer *buffer = NULL;
        for (int k = 0; k < 100; k++)
            numbers[k] = k * 1.5;
        OK(acu_buffer_create_with(stream, ACU_F64, 100, &(acu_buffer_options){.memory = kinds[i]},
                                  &buffer));
        assert_int_equal(acu_buffer_memory(buffer), kinds[i]);
        OK(acu_buffer_write(buffer, numbers, 100));
        OK(acu_buffer_read(buffer, back, 100));
        assert_memory_equal(numbers, back, sizeof back);
        OK(acu_buffer_release(buffer));
    }
    static float mine[64];
    acu_buffer *buffer = NULL;
    OK(acu_buffer_register(stream, ACU_F32, mine, 64, 0, &buffer));
    float one = 1;
    OK(acu_buffer_write(buffer, &one, 1));
    assert_true(mine[0] == 1);
    OK(acu_buffer_release(buffer));
    FAILS(acu_buffer_register(stream, ACU_F32, NULL, 64, 0, &buffer), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_buffer_register(stream, ACU_F32, (char *)mine + 1, 4, 0, &buffer), ACU_ERROR_DTYPE,
          "is not aligned for f32");
    FAILS(acu_buffer_register(stream, ACU_F32, mine, 64, ACU_BUFFER_ATTACH_HOST, &buffer),
          ACU_ERROR_ARGUMENT, "ACU_MEMORY_REGISTERED has no flags 0x8");
    for (acu_memory memory = ACU_MEMORY_POOL; memory < ACU_MEMORY_REGISTERED; memory++) {
        const acu_buffer_options wrong = {.memory = memory, .flags = ACU_BUFFER_MAP | 4096u};
        FAILS(acu_buffer_create_with(stream, ACU_F32, 1, &wrong, &buffer), ACU_ERROR_ARGUMENT,
              "no flags 0x1010");
    }
    FAILS(acu_buffer_wrap(stream, ACU_F32, mine, 64, ACU_MEMORY_REGISTERED, &buffer),
          ACU_ERROR_ARGUMENT, "acu_buffer_register");
}

static cudaError_t from_pool(void **pointer, size_t bytes) {
    return cudaMallocAsync(pointer, bytes, acu_stream_raw(stream));
}

static cudaError_t on_device(void **pointer, size_t bytes) {
    return cudaMalloc(pointer, bytes);
}

static cudaError_t pinned_memory(void **pointer, size_t bytes) {
    return cudaMallocHost(pointer, bytes);
}

static cudaError_t managed_memory(void **pointer, size_t bytes) {
    return cudaMallocManaged(pointer, bytes, cudaMemAttachGlobal);
}

static void wrap_and_adopt(void **state) {
    (void)state;
    acu_buffer *owner = NULL, *borrowed = NULL;
    int number = 5, back = 0;
    OK(acu_buffer_create(stream, ACU_I32, 4, &owner));
    OK(acu_buffer_wrap(stream, ACU_I32, acu_buffer_raw(owner), 4, ACU_MEMORY_POOL, &borrowed));
    OK(acu_buffer_write(borrowed, &number, 1));
    OK(acu_buffer_release(borrowed));
    OK(acu_buffer_read(owner, &back, 1));
    assert_int_equal(back, 5);
    OK(acu_buffer_release(owner));
    static const struct {
        acu_memory memory;
        cudaError_t (*allocate)(void **pointer, size_t bytes);
    } kinds[] = {{ACU_MEMORY_POOL, from_pool},
                 {ACU_MEMORY_DEVICE, on_device},
                 {ACU_MEMORY_PINNED, pinned_memory},
                 {ACU_MEMORY_MANAGED, managed_memory}};
    for (size_t i = 0; i < COUNT(kinds); i++) { /* each is freed as its kind demands */
        void *raw = NULL;
        assert_int_equal(kinds[i].allocate(&raw, 16), 0);
        OK(acu_buffer_adopt(stream, ACU_I32, raw, 4, kinds[i].memory, &owner));
        assert_ptr_equal(acu_buffer_raw(owner), raw);
        OK(acu_buffer_write(owner, &number, 1));
        OK(acu_buffer_read(owner, &back, 1));
        assert_int_equal(back, 5);
        OK(acu_buffer_release(owner));
    }
    void *raw = NULL; /* the memory is freed though the buffer has no elements */
    assert_int_equal(cudaMalloc(&raw, 16), 0);
    OK(acu_buffer_adopt(stream, ACU_I32, raw, 0, ACU_MEMORY_DEVICE, &owner));
    OK(acu_buffer_release(owner));
    assert_int_equal(cudaFree(raw), cudaErrorInvalidValue);
    FAILS(acu_buffer_adopt(stream, ACU_I32, NULL, 4, ACU_MEMORY_POOL, &borrowed),
          ACU_ERROR_ARGUMENT, "NULL");
    OK(acu_buffer_create(stream, ACU_I32, 4, &owner)); /* a kernel would lose the context there */
    char *odd = (char *)acu_buffer_raw(owner) + 2;
    FAILS(acu_buffer_wrap(stream, ACU_I32, odd, 1, ACU_MEMORY_POOL, &borrowed), ACU_ERROR_DTYPE,
          "not aligned for i32");
    FAILS(acu_buffer_adopt(stream, ACU_F64, odd, 1, ACU_MEMORY_POOL, &borrowed), ACU_ERROR_DTYPE,
          "not aligned for f64");
    OK(acu_buffer_wrap(stream, ACU_I16, odd, 1, ACU_MEMORY_POOL, &borrowed));
    OK(acu_buffer_release(borrowed));
    OK(acu_buffer_release(owner));
}

static void managed_memory_moves(void **state) {
    (void)state;
    acu_buffer *managed = NULL, *plain = NULL;
    int32_t *host = NULL;
    OK(acu_buffer_create_with(stream, ACU_I32, 1024,
                              &(acu_buffer_options){.memory = ACU_MEMORY_MANAGED}, &managed));
    OK(acu_buffer_create(stream, ACU_I32, 1024, &plain));
    OK(acu_buffer_advise(managed, ACU_ADVISE_SET_READ_MOSTLY, 0));
    OK(acu_buffer_advise(managed, ACU_ADVISE_SET_PREFERRED_LOCATION, ACU_DEVICE_HOST));
    OK(acu_buffer_prefetch(managed, 0, NULL));
    OK(acu_buffer_prefetch(managed, ACU_DEVICE_HOST, NULL));
    OK(acu_buffer_get_host(managed, (void **)&host));
    host[1023] = 7;
    FAILS(acu_buffer_prefetch(plain, 0, NULL), ACU_ERROR_MEMORY_KIND, "only managed");
    FAILS(acu_buffer_advise(plain, ACU_ADVISE_SET_READ_MOSTLY, 0), ACU_ERROR_MEMORY_KIND,
          "only managed");
    FAILS(acu_buffer_advise(managed, (acu_advise)no_such, 0), ACU_ERROR_ARGUMENT, "no advice 44");
    FAILS(acu_buffer_prefetch(managed, 9, NULL), 101, "device 9");
    FAILS(acu_buffer_advise(managed, ACU_ADVISE_SET_ACCESSED_BY, 9), 101, "device 9");
    OK(acu_buffer_release(managed));
    OK(acu_buffer_release(plain));
}

static void managed_memory_is_attached(void **state) {
    (void)state;
    acu_stream *legacy = NULL;
    acu_buffer *managed = NULL, *part = NULL, *plain = NULL, *none = NULL;
    int32_t seven = 7, *host = NULL;
    const acu_buffer_options options = {.memory = ACU_MEMORY_MANAGED,
                                        .flags = ACU_BUFFER_ATTACH_HOST};
    OK(acu_buffer_create_with(stream, ACU_I32, 1024, &options, &managed));
    OK(acu_buffer_slice(managed, 512, 512, &part));
    OK(acu_buffer_attach(managed, ACU_ATTACH_SINGLE, NULL));
    OK(acu_buffer_fill(managed, &seven));
    OK(acu_buffer_attach(part, ACU_ATTACH_HOST, NULL)); /* all of it, after the fill */
    OK(acu_buffer_get_host(managed, (void **)&host));
    assert_int_equal(host[0], 7);
    assert_int_equal(host[1023], 7);
    OK(acu_stream_get_legacy(0, &legacy));
    OK(acu_buffer_attach(managed, ACU_ATTACH_GLOBAL, legacy));
    FAILS(acu_buffer_attach(managed, ACU_ATTACH_SINGLE, legacy), ACU_ERROR_ARGUMENT,
          "waits for all others");
    FAILS(acu_buffer_attach(managed, (acu_attach)3, NULL), ACU_ERROR_ARGUMENT,
          "3 is not a kind of attachment");
    OK(acu_buffer_create(stream, ACU_I32, 1, &plain));
    FAILS(acu_buffer_attach(plain, ACU_ATTACH_HOST, NULL), ACU_ERROR_MEMORY_KIND, "only managed");
    OK(acu_buffer_create_with(stream, ACU_I32, 0, &options, &none));
    OK(acu_buffer_attach(none, ACU_ATTACH_HOST, NULL));
    acu_buffer *all[] = {managed, part, plain, none};
    for (size_t i = 0; i < COUNT(all); i++)
        OK(acu_buffer_release(all[i]));
    OK(acu_stream_release(legacy));
}

/* ---- refusals ---- */

static void misuse(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    float numbers[4] = {0};
    int other[4] = {0};
    FAILS(acu_buffer_create(NULL, ACU_F32, 1, &buffer), ACU_ERROR_ARGUMENT, "the stream is NULL");
    FAILS(acu_buffer_create(stream, ACU_F32, 1, NULL), ACU_ERROR_ARGUMENT, "'buffer' is NULL");
    FAILS(acu_buffer_create(stream, ACU_ANY, 1, &buffer), ACU_ERROR_DTYPE, "no type");
    FAILS(acu_buffer_create(stream, ACU_F64, SIZE_MAX / 4, &buffer), ACU_ERROR_OVERFLOW, "8 bytes");
    FAILS(acu_buffer_create(stream, ACU_U8, SIZE_MAX, &buffer), ACU_ERROR_OVERFLOW, "elements");
    FAILS(acu_buffer_create_with(stream, ACU_U8, 1,
                                 &(acu_buffer_options){.memory = ACU_MEMORY_REGISTERED}, &buffer),
          ACU_ERROR_ARGUMENT,
          "options.memory is ACU_MEMORY_REGISTERED (5), which cannot be allocated");
    assert_null(buffer);
    OK(acu_buffer_create(stream, ACU_F32, 4, &buffer));
    FAILS(acu_buffer_write(buffer, numbers, 5), ACU_ERROR_RANGE,
          "5 elements from element 0 on are outside of the buffer, which has 4");
    FAILS(acu_buffer_write(buffer, other, 4), ACU_ERROR_DTYPE, "holds f32, the host i32");
    FAILS(acu_buffer_read(buffer, other, 4), ACU_ERROR_DTYPE, "holds f32, the host i32");
    FAILS(acu_buffer_read_typed(buffer, 0, (acu_dtype)3, other, 4, NULL), ACU_ERROR_DTYPE,
          "0x3 is no type of elements");
    assert_string_equal(acu_last_error_details().hint, "");
    FAILS(acu_buffer_read_typed(buffer, 4, ACU_F32, numbers, 1, NULL), ACU_ERROR_RANGE,
          "element 4");
    FAILS(acu_buffer_write_typed(buffer, 0, ACU_F32, NULL, 1, NULL), ACU_ERROR_ARGUMENT, "'host'");
    FAILS(acu_buffer_write(NULL, numbers, 1), ACU_ERROR_ARGUMENT, "the buffer is NULL");
    FAILS(acu_buffer_write_typed(buffer, 0, ACU_F32, numbers, 1, (acu_stream *)buffer),
          ACU_ERROR_HANDLE, "a buffer is given where a stream is needed");
    FAILS(acu_buffer_synchronize(NULL), ACU_ERROR_ARGUMENT, "NULL");
    FAILS(acu_buffer_read_after(buffer, NULL, 0, ACU_F32, numbers, 1, stream), ACU_ERROR_ARGUMENT,
          "the event is NULL");
    acu_error error;
    FAILS(acu_buffer_write(buffer, numbers, 5), ACU_ERROR_RANGE, "");
    error = acu_last_error_details();
    assert_string_equal(error.call, "acu_buffer_write_typed");
    assert_non_null(strstr(error.object, "(4 x f32, pool memory at 0x"));
    OK(acu_buffer_release(buffer));
    FAILS(acu_buffer_release(buffer), ACU_ERROR_HANDLE, "released already");
    FAILS(acu_buffer_read(buffer, numbers, 1), ACU_ERROR_HANDLE, "released already");
    assert_null(acu_buffer_raw(NULL));
    assert_int_equal(acu_buffer_count(NULL), 0);
    assert_int_equal(acu_buffer_bytes(buffer), 0);
    OK(acu_buffer_release(NULL));
}

static void zero_elements_are_fine(void **state) {
    (void)state;
    acu_buffer *buffer = NULL, *slice = NULL;
    float unused = 0;
    OK(acu_buffer_create(stream, ACU_F32, 0, &buffer));
    OK(acu_buffer_slice(buffer, 0, 0, &slice));
    OK(acu_buffer_write(buffer, &unused, 0));
    OK(acu_buffer_read(slice, &unused, 0));
    OK(acu_buffer_copy_range(slice, 0, buffer, 0, 0, NULL));
    OK(acu_buffer_zero(buffer, NULL));
    OK(acu_buffer_release(slice));
    OK(acu_buffer_release(buffer));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_round_trip),
        TEST(all_types),
        TEST(slices_and_views),
        TEST(fills),
        TEST(fills_of_bytes),
        TEST(fills_of_words_are_one_node),
        TEST(fills_where_no_context_is_current),
        TEST(fills_on_a_device_that_is_not_current),
        TEST(fills_what_is_not_aligned),
        TEST(fills_from_another_device),
        TEST(are_made_of_what_the_host_has),
        TEST(copies),
        TEST(copies_on_a_stream_of_another_device),
        TEST(the_hosts_on_a_stream_of_another_device),
        TEST(the_hosts_on_the_default_stream_of_another_device),
        TEST(clones),
        TEST(clones_of_plain_host_memory),
        TEST(memory_ends_where_addresses_do),
        TEST(clones_of_what_cannot_be_allocated),
        TEST(clones_on_another_device),
        TEST(moves_to_another_stream),
        TEST(kinds_of_memory),
        TEST(wrap_and_adopt),
        TEST(managed_memory_moves),
        TEST(managed_memory_is_attached),
        TEST(misuse),
        TEST(zero_elements_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
