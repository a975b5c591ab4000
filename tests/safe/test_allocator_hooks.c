/* Functions that an allocator calls: what they see, what they may do, and when they are not called.
 */
#include "safe.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static acu_stream *stream;
static acu_allocator *allocator;

static int start(void **state) {
    begin(state);
    return acu_stream_create(0, NULL, &stream) ||
           acu_allocator_create(0, &(acu_allocator_options){.source = ACU_ALLOCATOR_DEVICE},
                                &allocator);
}

static int stop(void **state) {
    int code = acu_allocator_release(allocator) || acu_stream_release(stream);
    return nothing_left(state) || code;
}

#define WITH_ALLOCATOR(function) SAFE_TEST(function, start, stop)

static acu_result try_buffer(size_t bytes, acu_buffer **buffer) {
    return acu_buffer_create_with(stream, ACU_U8, bytes,
                                  &(acu_buffer_options){.allocator = allocator}, buffer);
}

static acu_buffer *buffer_of(size_t bytes) {
    acu_buffer *made = NULL;
    OK(try_buffer(bytes, &made));
    return made;
}

static size_t used(void) {
    acu_allocator_info info;
    OK(acu_allocator_get_info(allocator, &info));
    return info.used;
}

/* ---- no room ---- */

static acu_buffer *to_release;
static int asked;

static bool make_room(void *data, size_t bytes) {
    (void)bytes;
    asked++;
    assert_ptr_equal(data, &asked);
    if (!to_release)
        return false;
    OK(acu_buffer_release(to_release));
    to_release = NULL;
    return true;
}

static void the_program_makes_room(void **state) {
    (void)state;
    acu_buffer *none = NULL;
    asked = 0;
    OK(acu_allocator_set_limit(allocator, 20 * MIB));
    OK(acu_allocator_set_hooks(allocator,
                               &(acu_allocator_hooks){.data = &asked, .out_of_memory = make_room}));
    to_release = buffer_of(16 * MIB);
    acu_buffer *next = buffer_of(18 * MIB);
    assert_int_equal(asked, 1);
    FAILS(try_buffer(18 * MIB, &none), ACU_OUT_OF_MEMORY, "its limit is");
    assert_int_equal(asked, 2);
    OK(acu_buffer_release(next));
}

/* ---- what they see ---- */

static size_t bytes_given, bytes_taken;

static void given(void *data, const void *pointer, size_t bytes, acu_stream *on) {
    assert_true(data == &bytes_given && pointer && on == stream);
    bytes_given += bytes;
}

static void taken(void *data, const void *pointer, size_t bytes) {
    assert_true(data == &bytes_given && pointer);
    bytes_taken += bytes;
}

static void hooks_see_everything(void **state) {
    (void)state;
    acu_buffer *buffer = NULL;
    void *raw = NULL;
    const acu_allocator_hooks hooks = {.data = &bytes_given, .allocated = given, .freed = taken};
    acu_quarantine(0);
    bytes_given = bytes_taken = 0;
    OK(acu_allocator_set_current(allocator));
    for (int i = 0; i < 3; i++) { /* something is ready when the hooks come */
        OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
        OK(acu_buffer_release(buffer));
    }
    OK(acu_allocator_set_hooks(allocator, &hooks));
    for (int i = 0; i < 3; i++) {
        OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
        OK(acu_buffer_release(buffer));
    }
    OK(acu_allocator_allocate(allocator, stream, 5, &raw));
    OK(acu_allocator_free(allocator, raw));
    assert_int_equal(bytes_given, 305);
    assert_int_equal(bytes_taken, 305);
    OK(acu_allocator_set_hooks(allocator, NULL));
    OK(acu_buffer_create(stream, ACU_U8, 100, &buffer));
    OK(acu_buffer_release(buffer));
    assert_int_equal(bytes_given, 305);
    OK(acu_allocator_clear_current(0));
    acu_quarantine(64);
}

/* ---- hooks that use the allocator ---- */

static int calls;

static bool allocate_in_need(void *data, size_t bytes) {
    acu_buffer *none = NULL;
    (void)data;
    calls++;
    assert_int_equal(try_buffer(bytes, &none), ACU_OUT_OF_MEMORY);
    acu_buffer *small = buffer_of(100);
    OK(acu_buffer_release(small));
    OK(acu_allocator_trim(allocator, 0));
    return false;
}

/* Without an end to this the stack is. */
static void no_room_in_a_hook_is_an_error_there(void **state) {
    (void)state;
    acu_buffer *none = NULL;
    calls = 0;
    OK(acu_allocator_set_limit(allocator, 4 * MIB));
    OK(acu_allocator_set_hooks(allocator,
                               &(acu_allocator_hooks){.out_of_memory = allocate_in_need}));
    FAILS(try_buffer(10 * MIB, &none), ACU_OUT_OF_MEMORY, "10485760 x u8");
    assert_int_equal(calls, 1);
    assert_int_equal(used(), 0);
}

static bool take_the_limit_away(void *data, size_t bytes) {
    (void)data, (void)bytes;
    calls++;
    OK(acu_allocator_set_hooks(allocator, NULL));
    OK(acu_allocator_set_limit(allocator, 0));
    return true;
}

static void a_hook_may_change_the_rules(void **state) {
    (void)state;
    calls = 0;
    OK(acu_allocator_set_limit(allocator, 4 * MIB));
    OK(acu_allocator_set_hooks(allocator,
                               &(acu_allocator_hooks){.out_of_memory = take_the_limit_away}));
    acu_buffer *large = buffer_of(10 * MIB);
    assert_int_equal(calls, 1);
    OK(acu_buffer_release(large));
}

static void use_buffer(void) {
    acu_buffer *small = NULL;
    calls++;
    OK(try_buffer(100, &small));
    OK(acu_buffer_zero(small, NULL));
    OK(acu_buffer_release(small));
}

static void use_when_given(void *data, const void *pointer, size_t bytes, acu_stream *on) {
    (void)data, (void)pointer, (void)bytes, (void)on;
    use_buffer();
}

static void use_when_taken(void *data, const void *pointer, size_t bytes) {
    (void)data, (void)pointer, (void)bytes;
    use_buffer();
}

static void a_hook_does_not_see_itself(void **state) {
    (void)state;
    acu_quarantine(0);
    calls = 0;
    OK(acu_allocator_set_hooks(
        allocator, &(acu_allocator_hooks){.allocated = use_when_given, .freed = use_when_taken}));
    OK(acu_buffer_release(buffer_of(MIB)));
    OK(acu_buffer_release(buffer_of(MIB)));
    assert_int_equal(calls, 4);
    OK(acu_allocator_set_hooks(allocator, NULL));
    assert_int_equal(used(), 0);
    acu_quarantine(64);
}

/* During a capture nothing is given back to the source, so that what is released makes no room. */
static void a_capture_gets_no_room_by_a_release(void **state) {
    (void)state;
    acu_graph *graph = NULL;
    acu_buffer *captured = NULL;
    asked = 0;
    OK(acu_allocator_set_limit(allocator, 20 * MIB));
    OK(acu_allocator_set_hooks(allocator,
                               &(acu_allocator_hooks){.data = &asked, .out_of_memory = make_room}));
    to_release = buffer_of(16 * MIB);
    OK(acu_stream_begin_capture(noted(stream), NULL));
    assert_int_equal(try_buffer(18 * MIB, &captured),
                     ACU_OUT_OF_MEMORY); /* freed, not given back */
    assert_int_equal(asked, 1);
    assert_null(to_release);
    OK(try_buffer(2 * MIB, &captured));
    OK(acu_buffer_zero(captured, NULL));
    OK(acu_buffer_release(captured));
    OK(acu_stream_end_capture(stream, &graph));
    OK(acu_graph_release(graph));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_ALLOCATOR(the_program_makes_room),
        WITH_ALLOCATOR(hooks_see_everything),
        WITH_ALLOCATOR(no_room_in_a_hook_is_an_error_there),
        WITH_ALLOCATOR(a_hook_may_change_the_rules),
        WITH_ALLOCATOR(a_hook_does_not_see_itself),
        WITH_ALLOCATOR(a_capture_gets_no_room_by_a_release),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
