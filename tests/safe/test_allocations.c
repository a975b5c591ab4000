/*
 * Nothing is allocated on the heap where a program does it often: record, wait, query, fill, and
 * uses on two streams. CUDA itself is played by functions that do nothing, so that all that is
 * counted is ours.
 */
#include "safe.h"

#include <anycuda/cudart.h>

static size_t allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size) {
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    allocations++;
    return __real_calloc(count, size);
}

/* Any call succeeds; the few that answer have answers. */
static int nothing(void) {
    return 0;
}

static int some_handle(void **handle) {
    static long handles[64];
    static int used;
    *handle = &handles[used++ % 64];
    return 0;
}

static int one(int *answer) {
    *answer = 1;
    return 0;
}

static int first(int *answer) {
    *answer = 0;
    return 0;
}

static int version(int *answer) {
    *answer = 13050;
    return 0;
}

static int not_captured(void *stream, int *status) {
    (void)stream;
    *status = 0;
    return 0;
}

static void *play(const char *symbol, void *data) {
    static const struct {
        const char *begins;
        int (*play)(void **);
    } handles[] = {{"cudaStreamCreateWithPriority", some_handle},
                   {"cudaEventCreateWithFlags", some_handle},
                   {"cudaMallocAsync", some_handle}};
    (void)data;
    int (*other)(int *) = strcmp(symbol, "cudaGetDeviceCount") == 0      ? one
                          : strcmp(symbol, "cudaGetDevice") == 0         ? first
                          : strcmp(symbol, "cudaRuntimeGetVersion") == 0 ? version
                          : strcmp(symbol, "cuDriverGetVersion") == 0    ? version
                                                                         : NULL;
    void *address = NULL;
    if (other) {
        memcpy(&address, &other, sizeof address);
        return address;
    }
    if (strcmp(symbol, "cudaStreamIsCapturing") == 0) {
        int (*answer)(void *, int *) = not_captured;
        memcpy(&address, &answer, sizeof address);
        return address;
    }
    for (size_t i = 0; i < COUNT(handles); i++)
        if (strcmp(symbol, handles[i].begins) == 0) {
            memcpy(&address, &handles[i].play, sizeof address);
            return address;
        }
    int (*rest)(void) = nothing;
    memcpy(&address, &rest, sizeof address);
    return address;
}

static void often(acu_stream *a, acu_stream *b, acu_event *event, acu_buffer *x, acu_buffer *y) {
    float one_float = 1, back;
    OK(acu_event_record(event, a));
    OK(acu_event_query(event));
    OK(acu_event_synchronize(event));
    OK(acu_stream_wait(b, event));
    OK(acu_stream_query(a));
    OK(acu_stream_synchronize(a));
    OK(acu_stream_wait_stream(a, b));
    OK(acu_buffer_write(x, &one_float, 1));
    OK(acu_buffer_read(x, &back, 1));
    OK(acu_buffer_zero(x, NULL));
    OK(acu_buffer_copy(y, x, b));
    OK(acu_buffer_copy(x, y, a));
    OK(acu_buffer_begin_use(x, b, true));
    OK(acu_buffer_end_use(x, b, true));
}

static void nothing_is_allocated_in_what_is_done_often(void **state) {
    (void)state;
    acu_stream *a = NULL, *b = NULL;
    acu_event *event = NULL;
    acu_buffer *x = NULL, *y = NULL;
    OK(acu_load(&(acu_load_options){.resolve = play, .version = 13050}));
    OK(acu_stream_create(0, NULL, &a));
    OK(acu_stream_create(0, NULL, &b));
    OK(acu_event_create(0, NULL, &event));
    OK(acu_buffer_create(a, ACU_F32, 8, &x));
    OK(acu_buffer_create(b, ACU_F32, 8, &y));
    often(a, b, event, x, y); /* binds the calls */
    size_t before = allocations;
    for (int i = 0; i < 100; i++)
        often(a, b, event, x, y);
    assert_int_equal(allocations - before, 0);
    acu_buffer *another = NULL;
    OK(acu_buffer_create(a, ACU_F32, 8, &another));
    assert_int_equal(allocations - before, 1); /* and one for a buffer */
    OK(acu_buffer_release(another));
    OK(acu_event_release(event));
    OK(acu_buffer_release(x));
    OK(acu_buffer_release(y));
    OK(acu_stream_release(a));
    OK(acu_stream_release(b));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated_in_what_is_done_often)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
