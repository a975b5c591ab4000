/* Misuse of allocators: handles that are none, NULL, devices that are not there. */
#include "misuse.h"

static acu_allocator *allocator;

static int begin_allocator(void **state) {
    int code = begin_misuse(state);
    OK(acu_allocator_create(0, NULL, &allocator));
    return code;
}

static int end_allocator(void **state) {
    OK(acu_allocator_release(allocator));
    return end_misuse(state);
}

#define ALLOCATOR_TEST(function) SAFE_TEST(function, begin_allocator, end_allocator)

static acu_result allocate(void *data, size_t bytes, acu_device device, struct CUstream_st *stream,
                           void **pointer) {
    (void)data;
    (void)bytes;
    (void)device;
    (void)stream;
    *pointer = NULL; /* a success without memory */
    return 0;
}

static acu_result take_back(void *data, void *pointer, size_t bytes, acu_device device,
                            struct CUstream_st *stream) {
    (void)data;
    (void)pointer;
    (void)bytes;
    (void)device;
    (void)stream;
    return 0;
}

static const acu_allocator_functions functions = {
    .size = sizeof functions, .allocate = allocate, .free = take_back};

static void allocators_are_made(void **state) {
    (void)state;
    acu_allocator *made = NULL;
    acu_allocator_functions wrong = functions;
    NO_DEVICE(acu_allocator_create(absent, NULL, &made));
    NO_DEVICE(acu_allocator_wrap(absent, ACU_MEMORY_POOL, &functions, NULL, &made));
    NO_DEVICE(acu_allocator_get_current(absent, &made));
    NO_DEVICE(acu_allocator_clear_current(absent));
    NOT_NULL(acu_allocator_create(0, NULL, NULL));
    NOT_NULL(acu_allocator_wrap(0, ACU_MEMORY_POOL, NULL, NULL, &made));
    NOT_NULL(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, NULL, NULL));
    NOT_NULL(acu_allocator_get_current(0, NULL));
    wrong.size = 0;
    REFUSED(acu_allocator_wrap(0, ACU_MEMORY_POOL, &wrong, NULL, &made), ACU_ERROR_ARGUMENT,
            "functions->size is 0");
    REFUSED(acu_allocator_wrap(0, ACU_MEMORY_MAPPED, &functions, NULL, &made), ACU_ERROR_ARGUMENT,
            "ACU_MEMORY_POOL or ACU_MEMORY_PINNED");
    REFUSED(acu_allocator_create(0, &(acu_allocator_options){.source = (acu_allocator_source)-1},
                                 &made),
            ACU_ERROR_ARGUMENT, "no source");
    REFUSED(acu_allocator_create(0, &(acu_allocator_options){.fraction = -0.5}, &made),
            ACU_ERROR_RANGE, "between 0 and 1");
    for (int how = RELEASED; how <= OF_ANOTHER_KIND; how++)
        FAILS(acu_allocator_create(
                  0, &(acu_allocator_options){.source = ACU_ALLOCATOR_POOL, .pool = none[how]},
                  &made),
              ACU_ERROR_HANDLE, "");
    assert_null(made);
}

static void allocators_are_used(void **state) {
    (void)state;
    acu_allocator_info info;
    size_t count = 0;
    void *pointer = NULL;
    HANDLE(acu_allocator_set_limit(bad, 1));
    HANDLE(acu_allocator_set_fraction(bad, 0.5));
    HANDLE(acu_allocator_trim(bad, 0));
    HANDLE(acu_allocator_set_current(bad));
    HANDLE(acu_allocator_allocate(bad, good.stream, 1, &pointer));
    HANDLE(acu_allocator_allocate(allocator, bad, 1, &pointer));
    NOT_NULL(acu_allocator_allocate(allocator, good.stream, 1, NULL));
    HANDLE(acu_allocator_free(bad, &count));
    REFUSED(acu_allocator_free(allocator, &count), ACU_ERROR_ARGUMENT, "gave out, or was freed");
    HANDLE(acu_allocator_attach(bad, &count, good.stream));
    HANDLE(acu_allocator_attach(allocator, &count, bad));
    REFUSED(acu_allocator_attach(allocator, NULL, good.stream), ACU_ERROR_ARGUMENT,
            "gave out, or was freed");
    HANDLE(acu_allocator_get_info(bad, &info));
    NOT_NULL(acu_allocator_get_info(allocator, NULL));
    HANDLE(acu_allocator_get_classes(bad, NULL, &count));
    NOT_NULL(acu_allocator_get_classes(allocator, NULL, NULL));
    HANDLE(acu_allocator_reset_high(bad));
    HANDLE(acu_allocator_set_hooks(bad, NULL));
    SAYS(ACU_DEVICE_CURRENT, acu_allocator_device(bad));
    SAYS(ACU_MEMORY_POOL, acu_allocator_memory(bad));
    OWNERS(allocator);
}

static void buffers_of_allocators(void **state) {
    (void)state;
    acu_buffer *made = NULL;
    acu_allocator *own = NULL, *pinned = NULL;
    for (int how = RELEASED; how <= OF_ANOTHER_KIND; how++)
        FAILS(acu_buffer_create_with(good.stream, ACU_U8, 1,
                                     &(acu_buffer_options){.allocator = none[how]}, &made),
              ACU_ERROR_HANDLE, "");
    REFUSED(acu_buffer_create_with(
                good.stream, ACU_U8, 1,
                &(acu_buffer_options){.allocator = allocator, .memory = ACU_MEMORY_MANAGED}, &made),
            ACU_ERROR_ARGUMENT, "another kind");
    REFUSED(acu_buffer_create_with(good.stream, ACU_U8, 1,
                                   &(acu_buffer_options){.allocator = allocator, .pool = good.pool},
                                   &made),
            ACU_ERROR_ARGUMENT, "both set");
    OK(acu_allocator_create(0, &(acu_allocator_options){.source = ACU_ALLOCATOR_PINNED}, &pinned));
    REFUSED(acu_buffer_create_with(good.stream, ACU_U8, 1,
                                   &(acu_buffer_options){.allocator = pinned,
                                                         .memory = ACU_MEMORY_PINNED,
                                                         .flags = ACU_BUFFER_WRITE_COMBINED},
                                   &made),
            ACU_ERROR_ARGUMENT, "no flags 0x2");
    REFUSED(acu_allocator_set_current(pinned), ACU_ERROR_MEMORY_KIND, "the host's");
    OK(acu_allocator_release(pinned));
    OK(acu_allocator_wrap(0, ACU_MEMORY_POOL, &functions, NULL, &own));
    REFUSED(acu_buffer_create_with(good.stream, ACU_U8, 1, &(acu_buffer_options){.allocator = own},
                                   &made),
            ACU_OUT_OF_MEMORY, "returned no memory for 1 bytes");
    REFUSED(acu_allocator_set_limit(own, 1), ACU_ERROR_STATE, "the program's own");
    OK(acu_allocator_release(own));
    assert_null(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ALLOCATOR_TEST(allocators_are_made),
        ALLOCATOR_TEST(allocators_are_used),
        ALLOCATOR_TEST(buffers_of_allocators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
