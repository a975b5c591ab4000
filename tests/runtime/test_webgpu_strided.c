/* WebGPU's strided copies against copies of one element after the other. */
#include "webgpu_device.h"

#include "runtime/webgpu/webgpu.h"

#include <stdlib.h>
#include <string.h>

/* A copy, and the bytes on both sides. */
typedef struct trial {
    acu_backend_strided s;
    uint64_t shape[ACU_MAX_RANK];
    int64_t to[ACU_MAX_RANK], from[ACU_MAX_RANK];
    unsigned char *to_bytes, *from_bytes;
} trial;

static void fill_randomly(unsigned char *bytes, uint64_t size) {
    for (uint64_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)machine_random(256);
}

static void make_bytes(trial *t) {
    t->s.shape = t->shape;
    t->s.to = t->to;
    t->s.from = t->from;
    t->to_bytes = malloc(t->s.to_size);
    t->from_bytes = malloc(t->s.from_size);
    assert_true(t->to_bytes && t->from_bytes);
    fill_randomly(t->to_bytes, t->s.to_size);
    fill_randomly(t->from_bytes, t->s.from_size);
}

/* Copies one element after the other. */
static void copy_naively(const trial *t, unsigned char *to, const unsigned char *from) {
    uint64_t at[ACU_MAX_RANK] = {0};
    for (;;) {
        int64_t a = (int64_t)t->s.to_at, b = (int64_t)t->s.from_at;
        for (unsigned i = 0; i < t->s.rank; i++) {
            a += (int64_t)at[i] * t->to[i];
            b += (int64_t)at[i] * t->from[i];
        }
        memcpy(to + a, from + b, t->s.element_bytes);
        unsigned i = t->s.rank;
        while (i > 0 && ++at[i - 1] == t->shape[i - 1])
            at[--i] = 0;
        if (i == 0)
            return;
    }
}

/* Makes both copies, and compares all bytes of the destination. */
static void expect_equal(trial *t) {
    acu_backend_memory *to = memory_of(t->to_bytes, t->s.to_size);
    acu_backend_memory *from = memory_of(t->from_bytes, t->s.from_size);
    assert_int_equal(TABLE.copy_strided(queue, to, from, &t->s), 0);
    copy_naively(t, t->to_bytes, t->from_bytes);
    memory_equals(to, t->to_bytes, t->s.to_size);
    memory_equals(from, t->from_bytes, t->s.from_size);
    memory_drop(to);
    memory_drop(from);
    free(t->to_bytes);
    free(t->from_bytes);
}

/* ---- random shapes ---- */

static unsigned below(unsigned end) {
    return machine_random(end);
}

/* Orders the dimensions at random, each one around all before it, with room between. */
static void lay_out_destination(trial *t, unsigned unit) {
    unsigned order[ACU_MAX_RANK];
    int64_t step = (int64_t)t->s.element_bytes;
    t->s.to_at = (uint64_t)below(7) * unit;
    for (unsigned i = 0; i < t->s.rank; i++) {
        const unsigned j = below(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (unsigned i = 0; i < t->s.rank; i++) {
        const unsigned d = order[i];
        const bool back = below(3) == 0;
        step += below(3) ? 0 : (int64_t)below(4) * unit;
        t->to[d] = back ? -step : step;
        t->s.to_at += back ? (t->shape[d] - 1) * (uint64_t)step : 0;
        step *= (int64_t)t->shape[d];
    }
    t->s.to_size = t->s.to_at + (uint64_t)step + below(9);
}

/* Takes any steps, also none. */
static void lay_out_source(trial *t, unsigned unit) {
    int64_t low = 0, high = 0;
    const bool ordered = below(2);
    int64_t step = (int64_t)t->s.element_bytes;
    for (unsigned i = t->s.rank; i-- > 0;) {
        t->from[i] = ordered ? step : ((int64_t)below(60) - 30) * unit;
        step *= (int64_t)t->shape[i];
        const int64_t length = ((int64_t)t->shape[i] - 1) * t->from[i];
        low += length < 0 ? length : 0;
        high += length > 0 ? length : 0;
    }
    t->s.from_at = (uint64_t)-low + (uint64_t)below(7) * unit;
    t->s.from_size = t->s.from_at + (uint64_t)high + t->s.element_bytes + below(9);
}

/* All numbers are multiples of `unit`. */
static void try_randomly(size_t element, unsigned rank, unsigned side, unsigned unit) {
    trial t = {.s = {.element_bytes = element, .rank = rank}};
    for (unsigned i = 0; i < rank; i++)
        t.shape[i] = 1 + below(side);
    lay_out_destination(&t, unit);
    lay_out_source(&t, unit);
    make_bytes(&t);
    expect_equal(&t);
}

static void any_element_at_any_byte(void **state) {
    (void)state;
    for (size_t element = 1; element <= 17; element++)
        for (unsigned rank = 1; rank <= 5; rank++)
            for (int i = 0; i < 4; i++)
                try_randomly(element, rank, 7, 1);
}

static void words_of_all_sizes(void **state) {
    (void)state;
    for (unsigned word = 2; word <= 16; word *= 2)
        for (unsigned rank = 1; rank <= 5; rank++)
            for (unsigned i = 1; i <= 4; i++)
                try_randomly((size_t)word * i, rank, 7, word);
}

static void sixteen_dimensions(void **state) {
    (void)state;
    for (size_t element = 1; element <= 16; element++)
        try_randomly(element, 16, 2, element % 4 ? 1 : 4);
}

static void long_rows_and_elements(void **state) {
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        try_randomly(1 + below(1000), 3, 9, 1);
        try_randomly(1 + below(4), 2, 300, 1);
        try_randomly((size_t)4 * (1 + below(4)), 2, 300, 4);
    }
}

/* ---- transpositions ---- */

static void transpose(size_t element, uint64_t planes, uint64_t rows, uint64_t columns) {
    const int64_t e = (int64_t)element, r = (int64_t)rows, c = (int64_t)columns;
    trial t = {.s = {.element_bytes = element, .rank = 3},
               .shape = {planes, columns, rows},
               .to = {r * c * e, r * e, e},
               .from = {r * c * e, e, c * e}};
    t.s.to_size = t.s.from_size = planes * rows * columns * element;
    make_bytes(&t);
    expect_equal(&t);
}

static void transpositions(void **state) {
    (void)state;
    static const size_t elements[] = {1, 2, 3, 4, 8, 12, 16};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        transpose(elements[i], 1, 128, 64);
        transpose(elements[i], 2, 100, 68);
        transpose(elements[i], 3, 33, 65);
        transpose(elements[i], 1, 8, 301);
        transpose(elements[i], 1, 1000, 9);
        transpose(elements[i], 1, 3, 1000);
    }
    for (int i = ACU_GPU_STRIDED_WORDS; i < ACU_GPU_KERNELS; i++)
        if (i != ACU_GPU_STRIDED_WORDS + 1 && i != ACU_GPU_STRIDED_WORDS + 2)
            assert_non_null(device->gpu->kernels[i]); /* each was tried */
}

/* A device whose kernels may use little of a buffer, and few groups, does the same in parts. */
static void parts(void **state) {
    acu_gpu *gpu = device->gpu;
    const WGPULimits limits = gpu->limits;
    (void)state;
    gpu->limits.maxStorageBufferBindingSize = 2048;
    gpu->limits.maxComputeWorkgroupsPerDimension = 2;
    gpu->scratch_step = 1000;
    for (size_t element = 1; element <= 17; element++)
        for (unsigned i = 0; i < 3; i++)
            try_randomly(element, 1 + below(4), 8, element % 4 ? 1 : 4);
    transpose(1, 1, 64, 128);
    transpose(4, 2, 50, 30);
    transpose(16, 1, 40, 40);
    try_randomly(5000, 2, 3, 1);
    gpu->limits = limits;
}

/* ---- within one memory ---- */

/* The source is copied behind the destination, at any byte. */
static void try_within(size_t element, unsigned rank, unsigned unit, bool behind) {
    trial t = {.s = {.element_bytes = element, .rank = rank}};
    for (unsigned i = 0; i < rank; i++)
        t.shape[i] = 1 + below(9);
    lay_out_destination(&t, unit);
    lay_out_source(&t, unit);
    const uint64_t to_size = (t.s.to_size + unit - 1) / unit * unit;
    const uint64_t from_size = (t.s.from_size + unit - 1) / unit * unit;
    t.s.from_at += behind ? to_size : 0;
    t.s.to_at += behind ? 0 : from_size;
    t.s.to_size = t.s.from_size = to_size + from_size;
    make_bytes(&t);
    acu_backend_memory *both = memory_of(t.to_bytes, t.s.to_size);
    assert_int_equal(TABLE.copy_strided(queue, both, both, &t.s), 0);
    copy_naively(&t, t.to_bytes, t.to_bytes);
    memory_equals(both, t.to_bytes, t.s.to_size);
    memory_drop(both);
    free(t.to_bytes);
    free(t.from_bytes);
}

static void within_one_memory(void **state) {
    (void)state;
    for (size_t element = 1; element <= 17; element++)
        for (unsigned rank = 1; rank <= 4; rank++)
            try_within(element, rank, element % 4 ? 1 : 4, rank % 2);
    device->gpu->scratch_step = 500;
    for (size_t element = 1; element <= 17; element++)
        try_within(element, 3, 1, element % 2);
}

/* Every second byte is copied, and the others, which share its words, stay. */
static void neighbours_stay(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    trial t = {
        .s = {.element_bytes = 1, .rank = 1, .to_at = 1, .to_size = 2 * COUNT, .from_size = COUNT},
        .shape = {COUNT},
        .to = {2},
        .from = {1}};
    make_bytes(&t);
    expect_equal(&t);
}

static void too_many_elements_are_refused(void **state) {
    (void)state;
    static const uint64_t shape[8] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 9, 9, 9, 9, 9};
    static const int64_t steps[8] = {1, 1, 1, 1, 1, 1, 1, 1}, none[8] = {0};
    acu_backend_memory *to = memory_of("abcdefgh", 8), *from = memory_of("ijklmnop", 8);
    const acu_backend_strided s = {.element_bytes = 1,
                                   .rank = 8,
                                   .shape = shape,
                                   .to = steps,
                                   .from = none,
                                   .to_size = 8,
                                   .from_size = 8};
    EXPECT_WORDS(TABLE.copy_strided(queue, to, from, &s), ACU_ERROR_ARGUMENT, "more elements");
    memory_equals(to, "abcdefgh", 8);
    memory_drop(to);
    memory_drop(from);
}

int main(void) {
    device_require();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_element_at_any_byte, device_open, device_close),
        cmocka_unit_test_setup_teardown(words_of_all_sizes, device_open, device_close),
        cmocka_unit_test_setup_teardown(sixteen_dimensions, device_open, device_close),
        cmocka_unit_test_setup_teardown(long_rows_and_elements, device_open, device_close),
        cmocka_unit_test_setup_teardown(transpositions, device_open, device_close),
        cmocka_unit_test_setup_teardown(parts, device_open, device_close),
        cmocka_unit_test_setup_teardown(within_one_memory, device_open, device_close),
        cmocka_unit_test_setup_teardown(neighbours_stay, device_open, device_close),
        cmocka_unit_test_setup_teardown(too_many_elements_are_refused, device_open, device_close),
    };
    return cmocka_run_group_tests_name("webgpu_strided", tests, NULL, NULL);
}
