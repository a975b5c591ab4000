/* Pitched buffers: how they are made, viewed, sliced and cloned, and regions of them. */
#include "kernels.h"

#include <anycuda/cudart.h>

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

static acu_pitched_layout layout_of(acu_buffer *buffer) {
    acu_pitched_layout layout;
    OK(acu_buffer_get_layout(buffer, &layout));
    return layout;
}

/* The pitch that CUDA chooses for rows of so many bytes. */
static size_t pitch_of_cuda(size_t bytes) {
    void *memory = NULL;
    size_t pitch = 0;
    assert_int_equal(cudaMallocPitch(&memory, &pitch, bytes, 4), 0);
    assert_int_equal(cudaFree(memory), 0);
    return pitch;
}

static void every_row_begins_where_cuda_would_have_it(void **state) {
    (void)state;
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MANAGED};
    static const size_t widths[] = {1, 100, 128, 129, 1000};
    for (size_t i = 0; i < COUNT(kinds); i++)
        for (size_t n = 0; n < COUNT(widths); n++) {
            acu_buffer *buffer = NULL;
            const acu_extent e = {widths[n], 5, 3};
            const acu_buffer_options options = {.memory = kinds[i]};
            OK(acu_buffer_create_pitched(stream, ACU_F32, e, &options, &buffer));
            const acu_pitched_layout l = layout_of(buffer);
            assert_memory_equal(&l.extent, &e, sizeof e);
            assert_int_equal(l.row_pitch, pitch_of_cuda(widths[n] * sizeof(float)));
            assert_int_equal(l.slice_height, 5);
            assert_int_equal(acu_buffer_memory(buffer), kinds[i]);
            assert_true(acu_buffer_bytes(buffer) == 15 * l.row_pitch);
            assert_int_equal((uintptr_t)acu_buffer_raw(buffer) % 256, 0);
            OK(acu_buffer_release(buffer));
        }
}

static void elements_of_any_size_have_pitched_rows(void **state) {
    (void)state;
    for (size_t size = 1; size < 40; size += 3) {
        unsigned char host[40 * 7 * 3], back[sizeof host];
        acu_buffer *buffer = NULL;
        const acu_extent e = {7, 3, 1};
        OK(acu_buffer_create_pitched(stream, ACU_BYTES(size), e, NULL, &buffer));
        const acu_region all = {.buffer = buffer};
        for (size_t i = 0; i < sizeof host; i++)
            host[i] = (unsigned char)(i * 7 + size);
        memset(back, 0, sizeof back);
        OK(acu_region_write(&all, e, (void *)host));
        OK(acu_region_read(&all, e, (void *)back));
        assert_memory_equal(back, host, size * 21);
        OK(acu_buffer_release(buffer));
    }
}

/* A buffer of 6 x 4 x 3 floats, each of which is 100 z + 10 y + x. */
static const acu_extent box = {6, 4, 3};

static float value(size_t x, size_t y, size_t z) {
    return (float)(100 * z + 10 * y + x);
}

static acu_buffer *numbered_box(void) {
    acu_buffer *buffer = NULL;
    float host[3][4][6];
    for (size_t z = 0; z < 3; z++)
        for (size_t y = 0; y < 4; y++)
            for (size_t x = 0; x < 6; x++)
                host[z][y][x] = value(x, y, z);
    OK(acu_buffer_create_pitched(stream, ACU_F32, box, NULL, &buffer));
    const acu_region all = {.buffer = buffer};
    OK(acu_region_write(&all, box, &host[0][0][0]));
    return buffer;
}

static void expect_box(acu_buffer *buffer, acu_extent e, acu_position first) {
    float back[72];
    const acu_region all = {.buffer = buffer};
    OK(acu_region_read(&all, e, back));
    for (size_t z = 0, i = 0; z < e.depth; z++)
        for (size_t y = 0; y < e.height; y++)
            for (size_t x = 0; x < e.width; x++, i++)
                assert_true(back[i] == value(first.x + x, first.y + y, first.z + z));
}

static void regions_of_pitched_buffers_know_the_pitch(void **state) {
    (void)state;
    acu_buffer *a = numbered_box(), *b = NULL;
    float back[4], flat[6];
    const acu_region part = {.buffer = a, .at = {1, 2, 1}};
    OK(acu_region_read(&part, ((acu_extent){2, 1, 2}), back));
    assert_true(back[0] == 121 && back[1] == 122 && back[2] == 221 && back[3] == 222);
    OK(acu_buffer_create_pitched(stream, ACU_F32, (acu_extent){2, 2, 2}, NULL, &b));
    const acu_region corner = {.buffer = b}, inner = {.buffer = a, .at = {3, 1, 1}};
    OK(acu_region_copy(&corner, &inner, (acu_extent){2, 2, 2}, NULL));
    expect_box(b, (acu_extent){2, 2, 2}, (acu_position){3, 1, 1});
    OK(acu_region_fill(&part, ((acu_extent){1, 1, 1}), &(float){-1}));
    OK(acu_region_read(&part, ((acu_extent){2, 1, 1}), back));
    assert_true(back[0] == -1 && back[1] == 122);
    /* With a pitch of its own, the region is one of the memory. */
    const acu_region run = {.buffer = a, .row_pitch = layout_of(a).row_pitch * 2};
    OK(acu_region_read(&run, ((acu_extent){1, 6, 1}), flat));
    assert_true(flat[0] == 0 && flat[1] == 20 && flat[2] == 100 && flat[5] == 220);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

static void pitched_buffers_describe_their_rows(void **state) {
    (void)state;
    acu_buffer *a = numbered_box();
    char text[160], rows[64];
    snprintf(rows, sizeof rows, "6 x 4 x 3, row pitch %zu", layout_of(a).row_pitch);
    assert_true(acu_buffer_describe(a, text, sizeof text) < sizeof text);
    assert_non_null(strstr(text, rows));
    OK(acu_buffer_release(a));
}

static void regions_end_at_the_extent(void **state) {
    (void)state;
    acu_buffer *a = numbered_box();
    float back[100];
    static const acu_position at[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {SIZE_MAX, 0, 0}};
    for (size_t i = 0; i < COUNT(at); i++) {
        const acu_region r = {.buffer = a, .at = at[i]};
        FAILS(acu_region_read(&r, box, back), ACU_ERROR_RANGE, "the buffer's extent is {6, 4, 3}");
    }
    const acu_region all = {.buffer = a};
    FAILS(acu_region_read(&all, ((acu_extent){7, 1, 1}), back), ACU_ERROR_RANGE, "extent");
    OK(acu_buffer_release(a));
}

static void slices_are_rows_or_slices(void **state) {
    (void)state;
    acu_buffer *a = numbered_box(), *rows = NULL, *slices = NULL, *row = NULL;
    OK(acu_buffer_slice_pitched(a, (acu_position){0, 1, 2}, (acu_extent){6, 2, 1}, &rows));
    OK(acu_buffer_slice_pitched(a, (acu_position){0, 0, 1}, (acu_extent){6, 4, 2}, &slices));
    OK(acu_buffer_slice_pitched(slices, (acu_position){0, 3, 1}, (acu_extent){6, 1, 1}, &row));
    const size_t pitch = layout_of(a).row_pitch;
    assert_true((char *)acu_buffer_raw(rows) == (char *)acu_buffer_raw(a) + 9 * pitch);
    assert_int_equal(acu_buffer_bytes(rows), 2 * pitch);
    assert_int_equal(acu_buffer_bytes(slices), 8 * pitch);
    OK(acu_buffer_release(a)); /* the slices keep the memory */
    expect_box(rows, (acu_extent){6, 2, 1}, (acu_position){0, 1, 2});
    expect_box(slices, (acu_extent){6, 4, 2}, (acu_position){0, 0, 1});
    expect_box(row, (acu_extent){6, 1, 1}, (acu_position){0, 3, 2});
    /* What a slice sets, it sets in its own rows. */
    OK(acu_buffer_zero(row, NULL));
    expect_box(rows, (acu_extent){6, 2, 1}, (acu_position){0, 1, 2});
    FAILS(acu_buffer_fill_bytes(row, 0, 4, "", 1, NULL), ACU_ERROR_ARGUMENT, "have a pitch");
    OK(acu_buffer_release(rows));
    OK(acu_buffer_release(slices));
    OK(acu_buffer_release(row));
}

static void slices_are_checked(void **state) {
    (void)state;
    acu_buffer *a = numbered_box(), *plain = numbers_on(stream, 8), *slice = NULL;
    static const struct {
        acu_position at;
        acu_extent extent;
    } wrong[] = {
        {{1, 0, 0}, {5, 1, 1}}, {{0, 0, 0}, {5, 1, 1}}, {{0, 1, 0}, {6, 3, 2}},
        {{0, 2, 0}, {6, 3, 1}}, {{0, 0, 2}, {6, 4, 2}}, {{0, SIZE_MAX, 0}, {6, 2, 1}},
    };
    for (size_t i = 0; i < COUNT(wrong); i++)
        FAILS(acu_buffer_slice_pitched(a, wrong[i].at, wrong[i].extent, &slice), ACU_ERROR_RANGE,
              "no whole rows");
    FAILS(acu_buffer_slice_pitched(a, (acu_position){0, 0, 0}, (acu_extent){6, 0, 1}, &slice),
          ACU_ERROR_ARGUMENT, "has a 0");
    FAILS(acu_buffer_slice_pitched(plain, (acu_position){0, 0, 0}, (acu_extent){8, 1, 1}, &slice),
          ACU_ERROR_ARGUMENT, "not pitched");
    assert_null(slice);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(plain));
}

static void clones_have_the_same_rows(void **state) {
    (void)state;
    acu_buffer *a = numbered_box(), *rows = NULL, *clone = NULL;
    OK(acu_buffer_slice_pitched(a, (acu_position){0, 1, 2}, (acu_extent){6, 3, 1}, &rows));
    OK(acu_buffer_clone(rows, NULL, &clone));
    OK(acu_buffer_zero(a, NULL));
    expect_box(clone, (acu_extent){6, 3, 1}, (acu_position){0, 1, 2});
    assert_int_equal(layout_of(clone).row_pitch, layout_of(a).row_pitch);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(rows));
    OK(acu_buffer_release(clone));
}

/* The slice height of a single slice is no memory. */
static void a_view_may_be_higher_than_its_memory(void **state) {
    (void)state;
    acu_buffer *a = numbers_on(stream, 24), *view = NULL, *clone = NULL;
    const acu_pitched_layout high = {{6, 4, 1}, 24, SIZE_MAX};
    float back[24];
    OK(acu_buffer_reinterpret_pitched(a, &high, &view));
    OK(acu_buffer_clone(view, NULL, &clone));
    const acu_region all = {.buffer = clone};
    OK(acu_region_read(&all, high.extent, back));
    for (int i = 0; i < 24; i++)
        assert_true(back[i] == (float)i);
    assert_int_equal(acu_buffer_count(clone), 24);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(view));
    OK(acu_buffer_release(clone));
}

/* What has other elements has the same rows, so that a region of it needs no pitch either. */
static void views_of_another_type_have_the_same_rows(void **state) {
    (void)state;
    acu_buffer *a = numbered_box(), *integers = NULL, *doubles = NULL, *none = NULL;
    const acu_pitched_layout l = layout_of(a);
    OK(acu_buffer_reinterpret(a, ACU_U32, &integers));
    OK(acu_buffer_reinterpret(a, ACU_F64, &doubles));
    const acu_pitched_layout same = layout_of(integers);
    assert_memory_equal(&same, &l, sizeof l);
    assert_int_equal(layout_of(doubles).extent.width, box.width / 2);
    assert_int_equal(layout_of(doubles).row_pitch, l.row_pitch);
    assert_int_equal(acu_buffer_bytes(doubles), acu_buffer_bytes(a));
    const acu_region all = {.buffer = integers}, corner = {.buffer = a, .at = {0, 3, 2}};
    float number = 0;
    const uint32_t half = 0x3f000000;
    OK(acu_region_fill(&all, box, &half));
    OK(acu_region_read(&corner, ((acu_extent){1, 1, 1}), &number));
    assert_true(number == 0.5f);
    FAILS(acu_buffer_reinterpret(a, ACU_C128, &none), ACU_ERROR_DTYPE,
          "rows of 24 bytes are no whole number of c128");
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(integers));
    OK(acu_buffer_release(doubles));

    acu_buffer *numbers = numbers_on(stream, 24), *odd = NULL;
    OK(acu_buffer_reinterpret_pitched(numbers, &(acu_pitched_layout){{4, 2, 1}, 20, 0}, &odd));
    FAILS(acu_buffer_reinterpret(odd, ACU_F64, &none), ACU_ERROR_DTYPE,
          "rows 20 bytes apart are not aligned for f64");
    assert_null(none);
    OK(acu_buffer_release(numbers));
    OK(acu_buffer_release(odd));
}

/* Memory that CUDA made with a pitch becomes a pitched buffer, which frees it. */
static void raw_pitched_memory_is_adopted(void **state) {
    (void)state;
    struct cudaPitchedPtr raw;
    acu_buffer *memory = NULL, *view = NULL;
    const struct cudaExtent bytes = {6 * sizeof(float), 4, 3};
    assert_int_equal(cudaMalloc3D(&raw, bytes), 0);
    OK(acu_buffer_adopt(stream, ACU_F32, raw.ptr, raw.pitch / sizeof(float) * 12, ACU_MEMORY_DEVICE,
                        &memory));
    const acu_pitched_layout layout = {box, raw.pitch, raw.ysize};
    OK(acu_buffer_reinterpret_pitched(memory, &layout, &view));
    OK(acu_buffer_release(memory));
    assert_true(acu_buffer_raw(view) == raw.ptr);
    acu_buffer *from = numbered_box();
    const acu_region here = {.buffer = view}, there = {.buffer = from};
    OK(acu_region_copy(&here, &there, box, NULL));
    expect_box(view, box, (acu_position){0, 0, 0});
    OK(acu_buffer_release(from));
    OK(acu_buffer_release(view));
}

static void views_are_checked(void **state) {
    (void)state;
    acu_buffer *a = numbers_on(stream, 24), *view = NULL;
    acu_pitched_layout l = {{3, 4, 2}, 0, 0};
    OK(acu_buffer_reinterpret_pitched(a, &l, &view)); /* without gaps */
    l = layout_of(view);
    assert_true(l.row_pitch == 12 && l.slice_height == 4);
    OK(acu_buffer_release(view));
    l = (acu_pitched_layout){{3, 4, 2}, 12, 5};
    FAILS(acu_buffer_reinterpret_pitched(a, &l, &view), ACU_ERROR_RANGE, "byte 108");
    l = (acu_pitched_layout){{3, 4, 2}, 8, 0};
    FAILS(acu_buffer_reinterpret_pitched(a, &l, &view), ACU_ERROR_RANGE, "a row of the view");
    l = (acu_pitched_layout){{3, 4, 2}, 12, 3};
    FAILS(acu_buffer_reinterpret_pitched(a, &l, &view), ACU_ERROR_RANGE, "a slice of the view");
    l = (acu_pitched_layout){{3, 4, 1}, 13, 0};
    FAILS(acu_buffer_reinterpret_pitched(a, &l, &view), ACU_ERROR_DTYPE, "not aligned");
    l = (acu_pitched_layout){{3, 0, 1}, 12, 0};
    FAILS(acu_buffer_reinterpret_pitched(a, &l, &view), ACU_ERROR_ARGUMENT, "has a 0");
    assert_null(view);
    l = layout_of(a);
    assert_true(l.extent.width == 24 && l.extent.height == 1 && l.row_pitch == 96);
    const acu_extent huge = {SIZE_MAX / 4, 2, 2}, wide = {SIZE_MAX, 1, 1}, none = {0, 1, 1};
    FAILS(acu_buffer_create_pitched(stream, ACU_F32, huge, NULL, &view), ACU_ERROR_OVERFLOW,
          "more than can be addressed");
    FAILS(acu_buffer_create_pitched(stream, ACU_F32, wide, NULL, &view), ACU_ERROR_OVERFLOW,
          "more");
    FAILS(acu_buffer_create_pitched(stream, ACU_F32, none, NULL, &view), ACU_ERROR_ARGUMENT, "a 0");
    FAILS(acu_buffer_create_pitched(stream, 0x99, box, NULL, &view), ACU_ERROR_DTYPE, "0x99");
    assert_null(view);
    OK(acu_buffer_release(a));
}

/* ---- the defaults of a region, each of its own ---- */

enum { MOST = 1 << 16 };

/* A pitched buffer of some elements, with all of its memory in `model`. */
typedef struct pitched {
    acu_buffer *buffer;
    acu_pitched_layout layout;
    size_t size, bytes;
    unsigned char model[MOST];
} pitched;

static void make_any(pitched *p) {
    static const size_t sizes[] = {1, 3, 4, 8, 12};
    const acu_extent e = {1 + any(30), 1 + any(6), 1 + any(4)};
    p->size = sizes[any(COUNT(sizes))];
    OK(acu_buffer_create_pitched(stream, ACU_BYTES(p->size), e, NULL, &p->buffer));
    if (any(2)) { /* with some rows between the slices */
        acu_buffer *of = p->buffer;
        acu_pitched_layout l = layout_of(of);
        l.extent.height = 1 + any((unsigned)l.extent.height);
        OK(acu_buffer_reinterpret_pitched(of, &l, &p->buffer));
        OK(acu_buffer_release(of));
    }
    p->layout = layout_of(p->buffer);
    p->bytes = acu_buffer_count(p->buffer) * p->size;
    assert_true(p->bytes <= MOST);
    for (size_t i = 0; i < p->bytes; i++)
        p->model[i] = (unsigned char)any(256);
    OK(acu_buffer_write_typed(p->buffer, 0, ACU_ANY, p->model, p->bytes / p->size, NULL));
}

static void end_any(pitched *p) {
    static unsigned char back[MOST];
    OK(acu_buffer_read_typed(p->buffer, 0, ACU_ANY, back, p->bytes / p->size, NULL));
    assert_memory_equal(back, p->model, p->bytes);
    OK(acu_buffer_release(p->buffer));
}

static bool within(size_t at, size_t length, size_t most) {
    return at + length <= most;
}

/* Where a region's elements are, and whether it is one, as region.h says. */
typedef struct place {
    size_t first, pitch, slice;
    bool is_right;
} place;

static place place_of(const pitched *p, const acu_region *r, acu_extent e) {
    const acu_extent most = p->layout.extent;
    const size_t pitch = r->row_pitch ? r->row_pitch : p->layout.row_pitch;
    const bool its_rows = pitch == p->layout.row_pitch;
    const size_t height = r->slice_height ? r->slice_height
                          : its_rows      ? p->layout.slice_height
                                          : e.height;
    place at = {r->at.z * height * pitch + r->at.y * pitch + r->at.x * p->size, pitch,
                height * pitch, true};
    at.is_right = r->row_pitch ? within(r->at.x * p->size, e.width * p->size, pitch)
                               : within(r->at.x, e.width, most.width);
    if (r->slice_height)
        at.is_right &= within(r->at.y, e.height, height);
    else if (its_rows)
        at.is_right &=
            within(r->at.y, e.height, most.height) && within(r->at.z, e.depth, most.depth);
    else if (e.depth > 1 || r->at.z > 0)
        at.is_right &= r->at.y == 0;
    at.is_right &=
        at.first + (e.depth - 1) * at.slice + (e.height - 1) * pitch + e.width * p->size <=
        p->bytes;
    return at;
}

static acu_region region_of(const pitched *p, acu_extent e) {
    acu_region r = {.buffer = p->buffer, .at = {any(4), any(3), any(2)}};
    const size_t own[] = {0, p->layout.row_pitch, p->layout.row_pitch + 4,
                          (r.at.x + e.width) * p->size};
    r.row_pitch = own[any(4)];
    const size_t heights[] = {0, p->layout.slice_height, r.at.y + e.height, e.height};
    r.slice_height = heights[any(4)];
    return r;
}

static unsigned char *element_at(pitched *p, const place *at, size_t x, size_t y, size_t z) {
    return p->model + at->first + z * at->slice + y * at->pitch + x * p->size;
}

/* What one region with the host, and a copy from another one without gaps, do: all by the same
 * rule. */
static void use_region(pitched *p, const acu_region *r, const place *at, acu_extent e) {
    static unsigned char host[MOST], back[MOST];
    const size_t n = e.width * e.height * e.depth, how = any(4);
    acu_buffer *flat = NULL;
    for (size_t i = 0; i < n * p->size; i++)
        host[i] = how ? (unsigned char)any(256) : host[i % p->size];
    OK(acu_buffer_create(stream, ACU_BYTES(p->size), n, &flat));
    OK(acu_buffer_write_typed(flat, 0, ACU_ANY, host, n, NULL));
    const acu_region_pair pair = {*r, {.buffer = flat}, e};
    const acu_result done = how == 0 ? acu_region_fill_typed(r, e, ACU_ANY, host, NULL)
                            : how == 1
                                ? acu_region_write_typed(r, e, ACU_BYTES(p->size), host, 0, 0, NULL)
                            : how == 2 ? acu_region_copy(r, &pair.from, e, NULL)
                                       : acu_batch_copy_regions(stream, &pair, 1, NULL, 0, NULL);
    assert_int_equal(done, at->is_right ? 0 : ACU_ERROR_RANGE);
    if (at->is_right) {
        for (size_t z = 0, i = 0; z < e.depth; z++)
            for (size_t y = 0; y < e.height; y++)
                for (size_t x = 0; x < e.width; x++, i++)
                    memcpy(element_at(p, at, x, y, z), host + i * p->size, p->size);
        OK(acu_region_read_typed(r, e, ACU_BYTES(p->size), back, 0, 0, NULL));
        assert_memory_equal(back, host, n * p->size);
    }
    OK(acu_buffer_release(flat));
}

static void what_a_region_leaves_out_is_the_buffers(void **state) {
    static pitched p;
    size_t right = 0, wrong = 0;
    (void)state;
    for (int i = 0; i < 60; i++) {
        make_any(&p);
        for (int n = 0; n < 12; n++) {
            const acu_extent most = p.layout.extent;
            const acu_extent e = {1 + any((unsigned)most.width), 1 + any((unsigned)most.height),
                                  1 + any((unsigned)most.depth)};
            const acu_region r = region_of(&p, e);
            const place at = place_of(&p, &r, e);
            use_region(&p, &r, &at, e);
            right += at.is_right;
            wrong += !at.is_right;
        }
        end_any(&p);
    }
    assert_true(right > 100 && wrong > 100);
}

/* The slice height is the buffer's own, and the pitch is left to the buffer. */
static void a_slice_height_does_not_drop_the_pitch(void **state) {
    (void)state;
    acu_buffer *a = numbered_box();
    float back[72];
    const acu_region all = {.buffer = a, .slice_height = 4}, two = {.buffer = a, .slice_height = 8};
    OK(acu_region_read(&all, box, back));
    for (int i = 0; i < 72; i++)
        assert_true(back[i] == value((size_t)i % 6, (size_t)i / 6 % 4, (size_t)i / 24));
    OK(acu_region_read(&two, ((acu_extent){1, 4, 2}), back)); /* the first slice, and the third */
    assert_true(back[3] == 30 && back[4] == 200 && back[7] == 230);
    FAILS(acu_region_read(&all, ((acu_extent){7, 1, 1}), back), ACU_ERROR_RANGE,
          "the buffer's extent is {6, 4, 3}");
    const acu_region pitch = {.buffer = a, .row_pitch = layout_of(a).row_pitch};
    OK(acu_region_read(&pitch, ((acu_extent){1, 2, 2}), back));
    assert_true(back[1] == 10 && back[2] == 100 && back[3] == 110);
    FAILS(acu_region_read(&pitch, ((acu_extent){1, 5, 1}), back), ACU_ERROR_RANGE, "extent");
    OK(acu_buffer_release(a));
}

/* ---- fills ---- */

/* All elements of the rows are set, and nothing between them, also where no row but the first one
 * begins with an element of the run. */
static void a_fill_sets_the_elements_of_the_rows(void **state) {
    static pitched p;
    (void)state;
    for (int i = 0; i < 60; i++) {
        unsigned char element[12];
        make_any(&p);
        const acu_extent e = p.layout.extent;
        const place at = {0, p.layout.row_pitch, p.layout.row_pitch * p.layout.slice_height, true};
        for (size_t n = 0; n < sizeof element; n++)
            element[n] = i % 4 ? (unsigned char)any(256) : (unsigned char)i;
        OK(acu_buffer_fill_typed(p.buffer, ACU_ANY, element, NULL));
        for (size_t z = 0; z < e.depth; z++)
            for (size_t y = 0; y < e.height; y++)
                for (size_t x = 0; x < e.width; x++)
                    memcpy(element_at(&p, &at, x, y, z), element, p.size);
        end_any(&p);
    }
}

static void fill_nodes_know_the_pitch(void **state) {
    (void)state;
    acu_buffer *a = numbered_box(), *odd = NULL;
    acu_graph *graph = NULL;
    acu_exec *exec = NULL;
    float back[72];
    const float seven = 7;
    acu_fill fill = {.buffer = a, .dtype = ACU_F32, .element = &seven, .width = 6, .height = 4};
    OK(acu_graph_create(&graph));
    OK(acu_graph_add_fill(graph, NULL, 0, &fill, NULL));
    OK(acu_buffer_create_pitched(stream, ACU_BYTES(12), box, NULL, &odd));
    fill.buffer = odd;
    fill.dtype = ACU_ANY;
    fill.element = (unsigned char[12]){0};
    FAILS(acu_graph_add_fill(graph, NULL, 0, &fill, NULL), ACU_ERROR_DTYPE,
          "bytes apart are no whole number of");
    OK(acu_graph_instantiate(graph, NULL, &exec));
    OK(acu_exec_launch(exec, stream));
    OK(acu_region_read(&(acu_region){.buffer = a}, box, back));
    for (int i = 0; i < 72; i++)
        assert_true(back[i] ==
                    (i < 24 ? 7 : value((size_t)i % 6, (size_t)i / 6 % 4, (size_t)i / 24)));
    OK(acu_exec_release(exec));
    OK(acu_graph_release(graph));
    OK(acu_buffer_release(odd));
    OK(acu_buffer_release(a));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_row_begins_where_cuda_would_have_it),
        TEST(elements_of_any_size_have_pitched_rows),
        TEST(regions_of_pitched_buffers_know_the_pitch),
        TEST(pitched_buffers_describe_their_rows),
        TEST(regions_end_at_the_extent),
        TEST(slices_are_rows_or_slices),
        TEST(slices_are_checked),
        TEST(clones_have_the_same_rows),
        TEST(a_view_may_be_higher_than_its_memory),
        TEST(views_of_another_type_have_the_same_rows),
        TEST(raw_pitched_memory_is_adopted),
        TEST(views_are_checked),
        TEST(what_a_region_leaves_out_is_the_buffers),
        TEST(a_slice_height_does_not_drop_the_pitch),
        TEST(a_fill_sets_the_elements_of_the_rows),
        TEST(fill_nodes_know_the_pitch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
