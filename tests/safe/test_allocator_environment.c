/* ANYCUDA_ALLOCATOR, which is read when a device's first buffer is made: "virtual,limit=64MiB". */
#include "safe.h"

enum { MIB = 1 << 20 };

static void the_variable_makes_an_allocator(void **state) {
    (void)state;
    acu_stream *stream = NULL;
    acu_allocator *allocator = NULL;
    acu_allocator_info info;
    acu_buffer *buffer = NULL, *none = NULL;
    assert_int_equal(setenv("ANYCUDA_ALLOCATOR", "virtual,limit=64MiB", 1), 0);
    OK(acu_stream_create(0, NULL, &stream));
    OK(acu_buffer_create(stream, ACU_U8, 40 * MIB, &buffer));
    OK(acu_allocator_get_current(0, &allocator));
    assert_non_null(allocator);
    OK(acu_allocator_get_info(allocator, &info));
    assert_true(info.used == 40 * MIB && info.limit == 64 * MIB);
    FAILS(acu_buffer_create(stream, ACU_U8, 40 * MIB, &none), ACU_OUT_OF_MEMORY,
          "its limit is 67108864");
    OK(acu_buffer_release(buffer));
    OK(acu_allocator_release(allocator));
    OK(acu_allocator_clear_current(0)); /* for good */
    OK(acu_buffer_create(stream, ACU_U8, 40 * MIB, &buffer));
    OK(acu_allocator_get_current(0, &allocator));
    assert_null(allocator);
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
}

/* A wrong text fails each buffer, until it is right. */
static void a_wrong_text_is_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"nonsense",
                                        "virtual,limit=",
                                        "limit=5XiB",
                                        "pinned",
                                        "fraction=1.5",
                                        "limit=-4MiB",
                                        "caching,",
                                        ",",
                                        "limit=9G",
                                        "device,fraction=",
                                        "limit=18446744073709551615"};
    acu_stream *stream = NULL;
    acu_buffer *buffer = NULL;
    NEEDS_TWO_DEVICES();
    OK(acu_stream_create(1, NULL, &stream));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(setenv("ANYCUDA_ALLOCATOR", wrong[i], 1), 0);
        FAILS(acu_buffer_create(stream, ACU_U8, 1, &buffer), ACU_ERROR_ARGUMENT,
              "ANYCUDA_ALLOCATOR is \"");
        assert_non_null(strstr(acu_last_error_details().hint, "caching,limit=4GiB"));
        assert_null(buffer);
    }
    assert_int_equal(setenv("ANYCUDA_ALLOCATOR", "device,fraction=0.25", 1), 0);
    OK(acu_buffer_create(stream, ACU_U8, 1, &buffer));
    OK(acu_buffer_release(buffer));
    OK(acu_stream_release(stream));
    OK(acu_allocator_clear_current(1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_variable_makes_an_allocator),
        TEST(a_wrong_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
