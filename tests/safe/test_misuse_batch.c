/* Misuse of batches: handles that are none, NULL, devices that are not there. */
#include "misuse.h"

static acu_buffer *managed, *pair[2];

static int begin_batches(void **state) {
    int code = begin_misuse(state);
    OK(acu_buffer_create_with(good.stream, ACU_F32, 8,
                              &(acu_buffer_options){.memory = ACU_MEMORY_MANAGED}, &managed));
    return code;
}

static int end_batches(void **state) {
    OK(acu_buffer_release(managed));
    return end_misuse(state);
}

#define BATCH_TEST(function) SAFE_TEST(function, begin_batches, end_batches)

static acu_buffer *const *with(acu_buffer *second) {
    pair[0] = managed;
    pair[1] = second;
    return pair;
}

#define COPY(to, from)          (&(acu_copy){(to), (from), 0, 0, ACU_REST})
#define PREFETCH(buffer, place) (&(acu_prefetch){(buffer), (place)})

#define PAIR(one, other)                                                                           \
    (&(acu_region_pair){                                                                           \
        {.buffer = (one)}, {.buffer = (other)}, {.width = 1, .height = 1, .depth = 1}})

static void batches(void **state) {
    (void)state;
    const acu_copy *copy = COPY(good.buffer, managed);
    HANDLE(acu_batch_copy(bad, copy, 1, NULL, 0, NULL));
    HANDLE(acu_batch_copy(good.stream, COPY(bad, managed), 1, NULL, 0, NULL));
    HANDLE(acu_batch_copy(good.stream, COPY(managed, bad), 1, NULL, 0, NULL));
    NOT_NULL(acu_batch_copy(good.stream, NULL, 1, NULL, 0, NULL));
    NOT_NULL(acu_batch_copy(good.stream, copy, 1, NULL, 1, NULL));
    NO_DEVICE(acu_batch_copy(good.stream, copy, 1, &(acu_copy_attributes){.to = &absent}, 1, NULL));
    NO_DEVICE(
        acu_batch_copy(good.stream, copy, 1, &(acu_copy_attributes){.from = &absent}, 1, NULL));
    HANDLE(acu_batch_copy_regions(bad, PAIR(managed, good.buffer), 1, NULL, 0, NULL));
    HANDLE(acu_batch_copy_regions(good.stream, PAIR(bad, managed), 1, NULL, 0, NULL));
    HANDLE(acu_batch_copy_regions(good.stream, PAIR(managed, bad), 1, NULL, 0, NULL));
    NOT_NULL(acu_batch_copy_regions(good.stream, NULL, 1, NULL, 0, NULL));
    NOT_NULL(acu_batch_copy_regions(good.stream, PAIR(managed, good.buffer), 1, NULL, 1, NULL));
    HANDLE(acu_batch_prefetch(bad, PREFETCH(managed, 0), 1, NULL));
    HANDLE(acu_batch_prefetch(good.stream, PREFETCH(bad, 0), 1, NULL));
    NO_DEVICE(acu_batch_prefetch(good.stream, PREFETCH(managed, absent), 1, NULL));
    NOT_NULL(acu_batch_prefetch(good.stream, NULL, 1, NULL));
    HANDLE(acu_batch_discard(bad, with(managed), 2, NULL));
    HANDLE(acu_batch_discard(good.stream, with(bad), 2, NULL));
    NOT_NULL(acu_batch_discard(good.stream, NULL, 1, NULL));
    HANDLE(acu_batch_discard_and_prefetch(bad, PREFETCH(managed, 0), 1, NULL));
    HANDLE(acu_batch_discard_and_prefetch(good.stream, PREFETCH(bad, 0), 1, NULL));
    NO_DEVICE(acu_batch_discard_and_prefetch(good.stream, PREFETCH(managed, absent), 1, NULL));
    NOT_NULL(acu_batch_discard_and_prefetch(good.stream, NULL, 1, NULL));
    OK(acu_batch_copy(good.stream, copy, 1, NULL, 0, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {BATCH_TEST(batches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
