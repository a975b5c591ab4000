/* Regions: copies and fills of rectangles and boxes, compared with the same on the host. */
#include "kernels.h"

static acu_stream *stream;

static int start(void **state) {
    int code = begin_kernels(state);
    acu_quarantine(100);
    return acu_stream_create(0, NULL, &stream) || code;
}

static int stop(void **state) {
    int code = acu_stream_release(stream);
    acu_quarantine(0);
    return nothing_left(state) || code;
}

/* ---- the same on the host ---- */

enum { BYTES = 8192 };

typedef unsigned char bytes[BYTES];

/* Where a region's rows lie, in bytes from the beginning of the memory. */
typedef struct rows {
    size_t first, pitch, slice;
} rows;

static rows rows_of(const acu_region *r, acu_extent e, size_t size) {
    rows of = {.pitch = r->row_pitch ? r->row_pitch : e.width * size};
    of.slice = of.pitch * (r->slice_height ? r->slice_height : e.height);
    of.first = r->at.z * of.slice + r->at.y * of.pitch + r->at.x * size;
    return of;
}

static size_t last_byte(rows r, acu_extent e, size_t size) {
    return r.first + (e.depth - 1) * r.slice + (e.height - 1) * r.pitch + e.width * size;
}

static void copy_on_host(unsigned char *to, rows t, const unsigned char *from, rows f, acu_extent e,
                         size_t size) {
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++)
            memcpy(to + t.first + z * t.slice + y * t.pitch,
                   from + f.first + z * f.slice + y * f.pitch, e.width * size);
}

static void fill_on_host(unsigned char *to, rows t, const void *element, acu_extent e,
                         size_t size) {
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++)
            for (size_t x = 0; x < e.width; x++)
                memcpy(to + t.first + z * t.slice + y * t.pitch + x * size, element, size);
}

static void scramble(bytes memory) {
    for (size_t i = 0; i < BYTES; i++)
        memory[i] = (unsigned char)any(256);
}

static const size_t sizes[] = {1, 2, 3, 4, 8, 12, 16};

/* A region that fits, for elements of `size` bytes. */
static acu_region any_region(acu_buffer *buffer, acu_extent e, size_t size) {
    for (;;) {
        acu_region r = {.buffer = buffer};
        if (any(3) > 0) {
            r.at = (acu_position){any(4), any(3), any(2)};
            r.row_pitch = (r.at.x + e.width) * size + any(3) * any(20);
            r.slice_height = r.at.y + e.height + any(3) * any(2);
        }
        if (last_byte(rows_of(&r, e, size), e, size) <= BYTES / size * size)
            return r;
    }
}

static acu_extent any_extent(size_t size) {
    return (acu_extent){1 + any((unsigned)(120 / size)), 1 + any(7), 1 + any(5)};
}

static acu_buffer *bytes_on(acu_stream *on, size_t size, const bytes memory,
                            const acu_buffer_options *options) {
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create_with(on, ACU_BYTES(size), BYTES / size, options, &buffer));
    OK(acu_buffer_write_typed(buffer, 0, ACU_ANY, memory, BYTES / size, NULL));
    return buffer;
}

static void expect_bytes(acu_buffer *buffer, size_t size, const bytes expected) {
    bytes back;
    OK(acu_buffer_read_typed(buffer, 0, ACU_ANY, back, BYTES / size, NULL));
    assert_memory_equal(back, expected, BYTES / size * size);
}

/* ---- copies ---- */

static void copy_some(acu_stream *to_stream, acu_stream *from_stream,
                      const acu_buffer_options *options) {
    static bytes a, b;
    for (int i = 0; i < 150; i++) {
        const size_t size = sizes[any(COUNT(sizes))];
        const acu_extent e = any_extent(size);
        scramble(a);
        scramble(b);
        acu_buffer *to = bytes_on(to_stream, size, a, options);
        acu_buffer *from = bytes_on(from_stream, size, b, NULL);
        const acu_region t = any_region(to, e, size), f = any_region(from, e, size);
        OK(acu_region_copy(&t, &f, e, NULL));
        copy_on_host(a, rows_of(&t, e, size), b, rows_of(&f, e, size), e, size);
        expect_bytes(to, size, a);
        expect_bytes(from, size, b);
        OK(acu_buffer_release(to));
        OK(acu_buffer_release(from));
    }
}

static void regions_are_copied(void **state) {
    (void)state;
    copy_some(stream, stream, NULL);
}

static void regions_are_copied_to_pinned_memory(void **state) {
    (void)state;
    copy_some(stream, stream, &(acu_buffer_options){.memory = ACU_MEMORY_PINNED});
}

static void regions_are_copied_between_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *far = stream_on(1);
    copy_some(far, stream, NULL);
    copy_some(stream, far, NULL);
    OK(acu_stream_release(far));
}

/* What lies between the rows stays, in the buffer and on the host. */
static void regions_are_written_and_read(void **state) {
    static bytes a, host;
    (void)state;
    for (int i = 0; i < 150; i++) {
        const size_t size = sizes[any(COUNT(sizes))];
        const acu_extent e = any_extent(size);
        scramble(a);
        scramble(host);
        acu_buffer *buffer = bytes_on(stream, size, a, NULL);
        const acu_region there = any_region(buffer, e, size), here = any_region(NULL, e, size);
        rows r = rows_of(&here, e, size);
        unsigned char *first = host + r.first;
        r.first = 0;
        if (i % 2) {
            OK(acu_region_write_typed(&there, e, ACU_BYTES(size), first, here.row_pitch,
                                      here.slice_height, NULL));
            copy_on_host(a, rows_of(&there, e, size), first, r, e, size);
            expect_bytes(buffer, size, a);
        } else {
            static bytes expected;
            memcpy(expected, host, sizeof host);
            copy_on_host(expected + (first - host), r, a, rows_of(&there, e, size), e, size);
            OK(acu_region_read_typed(&there, e, ACU_BYTES(size), first, here.row_pitch,
                                     here.slice_height, NULL));
            assert_memory_equal(host, expected, sizeof host);
        }
        OK(acu_buffer_release(buffer));
    }
}

static void short_forms_know_the_pointers_type(void **state) {
    (void)state;
    const float corner[4] = {1, 2, 3, 4};
    float back[4] = {0}, all[12];
    acu_buffer *image = NULL;
    OK(acu_buffer_create(stream, ACU_F32, 12, &image));
    OK(acu_buffer_zero(image, NULL));
    const acu_region part = {.buffer = image, .at = {1, 1, 0}, .row_pitch = 4 * sizeof(float)};
    OK(acu_region_write(&part, ((acu_extent){2, 2, 1}), corner));
    OK(acu_region_read(&part, ((acu_extent){2, 2, 1}), back));
    assert_memory_equal(back, corner, sizeof corner);
    OK(acu_region_fill(&part, ((acu_extent){2, 1, 1}), &(float){7}));
    OK(acu_buffer_read(image, all, 12));
    const float expected[12] = {0, 0, 0, 0, 0, 7, 7, 0, 0, 3, 4, 0};
    assert_memory_equal(all, expected, sizeof expected);
    FAILS(acu_region_write(&part, ((acu_extent){2, 2, 1}), &(int32_t){0}), ACU_ERROR_DTYPE, "f32");
    FAILS(acu_region_fill(&part, ((acu_extent){2, 2, 1}), &(double){0}), ACU_ERROR_DTYPE, "f32");
    OK(acu_buffer_release(image));
}

/* ---- overlap ---- */

/* Each byte is looked at. */
static bool overlap_on_host(rows a, rows b, acu_extent e, size_t size) {
    static bytes touched;
    bool found = false;
    memset(touched, 0, sizeof touched);
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++)
            memset(touched + a.first + z * a.slice + y * a.pitch, 1, e.width * size);
    for (size_t z = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++)
            for (size_t x = 0; x < e.width * size; x++)
                found |= touched[b.first + z * b.slice + y * b.pitch + x];
    return found;
}

static void overlapping_regions_are_refused_and_no_others(void **state) {
    static bytes a;
    (void)state;
    int refused = 0, copied = 0;
    for (int i = 0; i < 1500; i++) {
        const acu_extent e = {1 + any(8), 1 + any(4), 1 + any(3)};
        scramble(a);
        acu_buffer *buffer = bytes_on(stream, 1, a, NULL);
        acu_region t = any_region(buffer, e, 1), f = any_region(buffer, e, 1);
        if (any(2)) { /* parts of one image */
            t = (acu_region){buffer, {any(16), any(8), any(4)}, 24, 12, NULL};
            f = (acu_region){buffer, {any(16), any(8), any(4)}, 24, 12, NULL};
        }
        const rows to = rows_of(&t, e, 1), from = rows_of(&f, e, 1);
        if (overlap_on_host(to, from, e, 1)) {
            FAILS(acu_region_copy(&t, &f, e, NULL), ACU_ERROR_RANGE, "overlap");
            refused++;
        } else {
            bytes before;
            OK(acu_region_copy(&t, &f, e, NULL));
            memcpy(before, a, sizeof before);
            copy_on_host(a, to, before, from, e, 1);
            copied++;
        }
        expect_bytes(buffer, 1, a);
        OK(acu_buffer_release(buffer));
    }
    assert_true(refused > 100 && copied > 100);
}

/* ---- fills ---- */

static void regions_are_filled(void **state) {
    static bytes a;
    (void)state;
    for (int i = 0; i < 200; i++) {
        unsigned char element[16];
        const size_t size = sizes[any(COUNT(sizes))];
        const acu_extent e = any_extent(size);
        const unsigned char same = (unsigned char)any(256);
        for (size_t n = 0; n < size; n++)
            element[n] = i % 4 ? (unsigned char)any(256) : same;
        scramble(a);
        acu_buffer *buffer = bytes_on(stream, size, a, NULL);
        const acu_region r = any_region(buffer, e, size);
        OK(acu_region_fill_typed(&r, e, ACU_BYTES(size), element, NULL));
        fill_on_host(a, rows_of(&r, e, size), element, e, size);
        expect_bytes(buffer, size, a);
        OK(acu_buffer_release(buffer));
    }
}

/* Enough elements that most are copies of others. */
static void long_fills_are_right(void **state) {
    (void)state;
    enum { MANY = 5000 };
    static double back[MANY];
    acu_buffer *buffer = NULL;
    OK(acu_buffer_create(stream, ACU_F64, MANY, &buffer));
    OK(acu_buffer_fill(buffer, &(double){1.5}));
    OK(acu_buffer_read(buffer, back, MANY));
    for (int i = 0; i < MANY; i++)
        assert_true(back[i] == 1.5);
    const acu_region middle = {.buffer = buffer, .at = {1, 0, 0}};
    OK(acu_region_fill(&middle, ((acu_extent){MANY - 2, 1, 1}), &(double){2.5}));
    OK(acu_buffer_read(buffer, back, MANY));
    for (int i = 0; i < MANY; i++)
        assert_true(back[i] == (i == 0 || i == MANY - 1 ? 1.5 : 2.5));
    OK(acu_buffer_release(buffer));
}

/* ---- order and captures ---- */

/* The graph keeps the memory of what it copies and fills. */
static void captured_copies_and_fills_keep_the_memory(void **state) {
    (void)state;
    enum { SIDE = 64 };
    static float back[SIDE * SIDE];
    const acu_extent half = {SIDE / 2, SIDE, 1};
    acu_buffer *a = numbers_on(stream, SIDE * SIDE), *b = numbers_on(stream, SIDE * SIDE);
    const size_t pitch = SIDE * sizeof(float);
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    OK(acu_stream_begin_capture(stream, NULL));
    const acu_region left = {.buffer = a, .row_pitch = pitch};
    const acu_region right = {.buffer = b, .at = {SIDE / 2, 0, 0}, .row_pitch = pitch};
    OK(acu_region_fill(&left, half, &(float){-1}));
    OK(acu_region_copy(&right, &left, half, NULL));
    FAILS(acu_region_read(&right, half, back), ACU_ERROR_CAPTURE, "");
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_buffer_release(a));
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_graph_release(graph));
    for (int i = 0; i < 2; i++) {
        OK(acu_buffer_zero(b, NULL));
        OK(acu_exec_launch(exec, stream));
        OK(acu_buffer_read(b, back, SIDE * SIDE));
        for (int n = 0; n < SIDE * SIDE; n++)
            assert_true(back[n] == (float)(n % SIDE < SIDE / 2 ? 0 : -1));
    }
    OK(acu_buffer_release(b));
    OK(acu_exec_release(exec));
}

static void hold(void *event) {
    while (!__atomic_load_n((int *)event, __ATOMIC_ACQUIRE)) {
    }
}

/* The first stream is held until the second one has its work, which must come after. */
static void copies_and_fills_wait_for_other_streams(void **state) {
    (void)state;
    enum { SIDE = 16 };
    static int go;
    float back[SIDE];
    acu_stream *other = stream_on(0);
    acu_buffer *a = numbers_on(stream, SIDE), *b = numbers_on(other, SIDE);
    const acu_region from = {.buffer = a}, to = {.buffer = b};
    const acu_extent row = {SIDE, 1, 1};
    go = 0;
    OK(acu_stream_synchronize(stream));
    OK(acu_stream_synchronize(other));
    OK(acu_stream_call(stream, (acu_closure){hold, &go, NULL}));
    OK(acu_region_fill_typed(&from, row, ACU_F32, &(float){5}, stream));
    OK(acu_region_copy(&to, &from, row, other));
    assert_int_equal(acu_stream_query(other), ACU_NOT_READY);
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    OK(acu_region_read(&to, row, back));
    for (int i = 0; i < SIDE; i++)
        assert_true(back[i] == 5);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
    OK(acu_stream_release(other));
}

/* ---- refusals ---- */

static void regions_are_checked(void **state) {
    (void)state;
    float host[64] = {0};
    acu_buffer *a = numbers_on(stream, 64), *b = numbers_on(stream, 64);
    const acu_region to = {.buffer = a, .row_pitch = 32}, from = {.buffer = b, .row_pitch = 32};
    const acu_extent e = {8, 8, 1};
    OK(acu_region_copy(&to, &from, e, NULL));
    const acu_extent zeros[] = {{0, 8, 1}, {8, 0, 1}, {8, 8, 0}};
    for (size_t i = 0; i < COUNT(zeros); i++) {
        FAILS(acu_region_copy(&to, &from, zeros[i], NULL), ACU_ERROR_ARGUMENT, "has a 0");
        FAILS(acu_region_write(&to, zeros[i], host), ACU_ERROR_ARGUMENT, "has a 0");
        FAILS(acu_region_read(&to, zeros[i], host), ACU_ERROR_ARGUMENT, "has a 0");
        FAILS(acu_region_fill(&to, zeros[i], host), ACU_ERROR_ARGUMENT, "has a 0");
    }
    FAILS(acu_region_copy(&to, &from, (acu_extent){9, 2, 1}, NULL), ACU_ERROR_RANGE,
          "a row of the destination ends at element 9");
    FAILS(acu_region_copy(&to, &from, (acu_extent){8, 9, 1}, NULL), ACU_ERROR_RANGE,
          "the destination ends at byte 288, but the buffer has 256 bytes");
    const acu_region lower = {.buffer = b, .at = {0, 1, 0}, .row_pitch = 32};
    FAILS(acu_region_copy(&to, &lower, e, NULL), ACU_ERROR_RANGE, "the source ends at byte 288");
    const acu_region low = {.buffer = a, .at = {0, 1, 0}, .row_pitch = 32, .slice_height = 4};
    FAILS(acu_region_fill(&low, ((acu_extent){1, 4, 1}), host), ACU_ERROR_RANGE,
          "ends at row 5, but the slice height is 4");
    const acu_region beside = {.buffer = a, .at = {1, 0, 0}};
    FAILS(acu_region_fill(&beside, ((acu_extent){2, 2, 1}), host), ACU_ERROR_RANGE,
          "begins at element 1, but without a row_pitch the rows are as long as the extent");
    const acu_region below = {.buffer = a, .at = {0, 1, 0}, .row_pitch = 32};
    FAILS(acu_region_fill(&below, ((acu_extent){2, 2, 2}), host), ACU_ERROR_RANGE,
          "begins at row 1, but without a slice_height the slices are as high as the extent");
    OK(acu_region_fill(&beside, ((acu_extent){63, 1, 1}), host));
    FAILS(acu_region_fill(&beside, ((acu_extent){64, 1, 1}), host), ACU_ERROR_RANGE, "byte 260");
    const acu_region huge[] = {{.buffer = a, .at = {SIZE_MAX, 0, 0}},
                               {.buffer = a, .at = {0, SIZE_MAX, 0}},
                               {.buffer = a, .at = {SIZE_MAX, SIZE_MAX, SIZE_MAX}},
                               {.buffer = a, .at = {0, SIZE_MAX, 0}, .slice_height = 8},
                               {.buffer = a, .at = {0, 0, SIZE_MAX}},
                               {.buffer = a, .at = {0, 0, 2}, .slice_height = SIZE_MAX},
                               {.buffer = a, .at = {0, 2, 0}, .row_pitch = SIZE_MAX}};
    for (size_t i = 0; i < COUNT(huge); i++)
        FAILS(acu_region_fill(&huge[i], e, host), ACU_ERROR_OVERFLOW, "addressed");
    FAILS(acu_region_fill(&to, ((acu_extent){SIZE_MAX, 1, 1}), host), ACU_ERROR_OVERFLOW, "addr");
    FAILS(acu_region_fill(&to, ((acu_extent){1, SIZE_MAX, 1}), host), ACU_ERROR_OVERFLOW, "addr");
    FAILS(acu_region_fill(&to, ((acu_extent){1, 1, SIZE_MAX}), host), ACU_ERROR_OVERFLOW, "addr");
    FAILS(acu_region_write_typed(&to, e, ACU_F32, host, 31, 0, NULL), ACU_ERROR_RANGE,
          "a row of the host's memory");
    FAILS(acu_region_read_typed(&to, e, ACU_F32, host, 32, 7, NULL), ACU_ERROR_RANGE,
          "a slice of the host's memory");
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

static void fills_need_a_stream_of_the_device(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *far = stream_on(1);
    acu_buffer *a = numbers_on(stream, 8);
    const acu_region to = {.buffer = a};
    FAILS(acu_region_fill_typed(&to, (acu_extent){8, 1, 1}, ACU_F32, &(float){0}, far),
          ACU_ERROR_DEVICE, "device 1");
    OK(acu_buffer_release(a));
    OK(acu_stream_release(far));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(regions_are_copied),
        TEST(regions_are_copied_to_pinned_memory),
        TEST(regions_are_copied_between_devices),
        TEST(regions_are_written_and_read),
        TEST(short_forms_know_the_pointers_type),
        TEST(overlapping_regions_are_refused_and_no_others),
        TEST(regions_are_filled),
        TEST(long_fills_are_right),
        TEST(captured_copies_and_fills_keep_the_memory),
        TEST(copies_and_fills_wait_for_other_streams),
        TEST(regions_are_checked),
        TEST(fills_need_a_stream_of_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
