/* Buffers: strided copies. */
#include "safe.h"

static acu_stream *stream;

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

enum { ROWS = 5, COLUMNS = 7, PLANES = 3, ALL = PLANES * ROWS * COLUMNS };

/* Copies on the device, and on the host by the definition of strides; the results must be equal. */
static void check_strided(acu_stream *to, const acu_strides *s) {
    int32_t from[ALL], expected[ALL], back[ALL];
    acu_buffer *a = NULL, *b = NULL;
    int64_t dense[ACU_MAX_RANK], step = 1;
    size_t total = 1;
    for (unsigned i = s->rank; i-- > 0; step *= (int64_t)s->shape[i])
        dense[i] = step;
    for (unsigned i = 0; i < s->rank; i++)
        total *= s->shape[i];
    for (int i = 0; i < ALL; i++) {
        from[i] = i + 1;
        expected[i] = -1;
    }
    for (size_t n = 0; n < total; n++) {
        size_t rest = n;
        int64_t to_at = (int64_t)s->to_at, from_at = (int64_t)s->from_at;
        for (unsigned i = s->rank; i-- > 0; rest /= s->shape[i]) {
            to_at += (s->to ? s->to : dense)[i] * (int64_t)(rest % s->shape[i]);
            from_at += (s->from ? s->from : dense)[i] * (int64_t)(rest % s->shape[i]);
        }
        expected[to_at] = from[from_at];
    }
    OK(acu_buffer_create(stream, ACU_I32, ALL, &a));
    OK(acu_buffer_create(to, ACU_I32, ALL, &b));
    OK(acu_buffer_write(a, from, ALL));
    OK(acu_buffer_fill(b, &(int32_t){-1}));
    OK(acu_buffer_copy_strided(b, a, s, NULL));
    OK(acu_buffer_read(b, back, ALL));
    assert_memory_equal(back, expected, sizeof back);
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

static void copy_all_ways(acu_stream *to) {
    const size_t cube[] = {PLANES, ROWS, COLUMNS}, swapped[] = {COLUMNS, ROWS, PLANES};
    const int64_t row_step = COLUMNS, plane = ROWS * row_step;
    const int64_t transposed[] = {1, row_step, plane};
    const int64_t backwards[] = {-plane, -row_step, -1}, repeat[] = {0, row_step, 1};
    const size_t part[] = {2, 3, 4}, none[] = {3, 0, 2}, row[] = {COLUMNS};
    const int64_t whole[] = {plane, row_step, 1}, mirrored[] = {-1};
    check_strided(to, &(acu_strides){.rank = 0, .to_at = 4, .from_at = 9});
    check_strided(to, &(acu_strides){.rank = 3, .shape = cube});
    check_strided(to, &(acu_strides){.rank = 3, .shape = swapped, .from = transposed});
    check_strided(to, &(acu_strides){.rank = 3, .shape = swapped, .to = transposed});
    check_strided(to,
                  &(acu_strides){.rank = 3, .shape = cube, .from = backwards, .from_at = ALL - 1});
    check_strided(to, &(acu_strides){.rank = 3, .shape = cube, .to = backwards, .to_at = ALL - 1});
    check_strided(to, &(acu_strides){.rank = 3, .shape = cube, .from = repeat});
    check_strided(to, &(acu_strides){.rank = 3, .shape = part, .from = whole, .from_at = 10});
    check_strided(
        to, &(acu_strides){
                .rank = 3, .shape = part, .from = whole, .to = whole, .from_at = 10, .to_at = 1});
    check_strided(to, &(acu_strides){.rank = 1, .shape = row, .from = mirrored, .from_at = 6});
    check_strided(to, &(acu_strides){.rank = 3, .shape = none});
}

static void strided_copies(void **state) {
    (void)state;
    copy_all_ways(stream);
}

static void strided_copies_between_devices(void **state) {
    (void)state;
    NEEDS_TWO_DEVICES();
    acu_stream *far = NULL;
    OK(acu_stream_create(1, NULL, &far));
    copy_all_ways(far);
    OK(acu_stream_release(far));
}

static void strided_copies_are_checked(void **state) {
    (void)state;
    const size_t shape[] = {3, 4}, huge[] = {SIZE_MAX / 2, SIZE_MAX / 2};
    const int64_t steps[] = {4, 1}, zero[] = {0, 1}, negative[] = {-4, 1};
    const size_t one_row[] = {1, 1}, none[] = {0};
    const int64_t far[] = {INT64_MAX, INT64_MAX};
    acu_buffer *a = NULL, *b = NULL;
    OK(acu_buffer_create(stream, ACU_I32, 12, &a));
    OK(acu_buffer_create(stream, ACU_I32, 12, &b));
    acu_strides s = {.rank = 2, .shape = shape, .to = steps, .from = steps};
    OK(acu_buffer_copy_strided(a, b, &s, NULL));
    s.to_at = 1;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_RANGE, "outside of the destination");
    s.to_at = 0;
    s.from = negative;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_RANGE, "outside of the source");
    s.from = far;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_RANGE, "outside of the source");
    s.from = steps;
    s.to = zero;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_ARGUMENT, "a step of 0");
    /* Where there is one element, or none, the steps do not matter. */
    OK(acu_buffer_copy_strided(
        a, b, &(acu_strides){.rank = 2, .shape = one_row, .to = far, .from = far}, NULL));
    OK(acu_buffer_copy_strided(
        a, b, &(acu_strides){.rank = 1, .shape = none, .to_at = SIZE_MAX, .from_at = 3}, NULL));
    s = (acu_strides){.rank = 2, .shape = huge};
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_OVERFLOW, "too many");
    s.rank = 17;
    FAILS(acu_buffer_copy_strided(a, b, &s, NULL), ACU_ERROR_ARGUMENT, "more than 16");
    FAILS(acu_buffer_copy_strided(a, b, NULL, NULL), ACU_ERROR_ARGUMENT, "no shape");
    OK(acu_buffer_release(a));
    OK(acu_buffer_release(b));
}

#undef TEST
#define TEST(function) SAFE_TEST(function, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(strided_copies),
        TEST(strided_copies_between_devices),
        TEST(strided_copies_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
