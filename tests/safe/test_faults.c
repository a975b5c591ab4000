/*
 * Every CUDA call of every scenario fails once. Whatever fails, nothing is leaked, the error is the
 * one that was made, and the same works afterwards.
 */
#include "safe.h"

#include <sched.h>

typedef acu_result scenario(void);

static acu_result streams_and_events(void) {
    float ms;
    uint64_t id;
    bool capturing;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_stream) *own = NULL;
    ACU_AUTO(acu_event) *start = NULL;
    ACU_AUTO(acu_event) *end = NULL;
    ACU_TRY(acu_stream_create(0, &(acu_stream_options){.flags = ACU_STREAM_NON_BLOCKING}, &a));
    ACU_TRY(acu_stream_create(1, NULL, &b));
    ACU_TRY(acu_stream_legacy(1, &own));
    ACU_TRY(acu_event_create(0, NULL, &start));
    ACU_TRY(acu_event_create(0, NULL, &end));
    ACU_TRY(acu_event_record(start, a));
    ACU_TRY(acu_stream_wait(b, start));
    ACU_TRY(acu_stream_wait_stream(a, b));
    ACU_TRY(acu_stream_fork(a, &b, 1));
    ACU_TRY(acu_stream_join(own, &a, 1));
    ACU_TRY(acu_event_record(end, a));
    ACU_TRY(acu_event_synchronize(end));
    ACU_TRY(acu_event_elapsed(start, end, &ms));
    ACU_TRY(acu_stream_id(a, &id));
    ACU_TRY(acu_stream_is_capturing(a, &capturing));
    ACU_TRY(acu_stream_set_sync_policy(a, ACU_SYNC_SPIN));
    ACU_TRY(acu_stream_synchronize(own));
    return acu_stream_synchronize(b);
}

static void once(void *data) {
    __atomic_add_fetch((int *)data, 1, __ATOMIC_SEQ_CST);
}

static void never(void *data) {
    (void)data;
}

static acu_result call_and_wait(acu_stream *stream, int *destroyed) {
    ACU_TRY(acu_stream_call(stream, (acu_closure){never, destroyed, once}));
    acu_result result = acu_stream_synchronize(stream);
    while (__atomic_load_n(destroyed, __ATOMIC_SEQ_CST) == 0)
        sched_yield(); /* a fault kept us from waiting */
    return result;
}

static acu_result closures(void) {
    int destroyed = 0;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    acu_result result = call_and_wait(a, &destroyed);
    assert_int_equal(destroyed, 1);
    return result;
}

static acu_result every_memory(void) {
    static float mine[16];
    static const acu_memory kinds[] = {ACU_MEMORY_POOL, ACU_MEMORY_DEVICE, ACU_MEMORY_PINNED,
                                       ACU_MEMORY_MAPPED, ACU_MEMORY_MANAGED};
    float numbers[16] = {1, 2, 3}, back[16] = {0};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    for (size_t i = 0; i < COUNT(kinds); i++) {
        ACU_AUTO(acu_buffer) *x = NULL;
        ACU_AUTO(acu_buffer) *slice = NULL;
        ACU_TRY(
            acu_buffer_create_with(a, ACU_F32, 16, &(acu_buffer_options){.memory = kinds[i]}, &x));
        ACU_TRY(acu_buffer_slice(x, 0, 8, &slice));
        ACU_TRY(acu_buffer_write(x, numbers, 16));
        ACU_TRY(acu_buffer_fill(slice, &numbers[1]));
        ACU_TRY(acu_buffer_read(x, back, 16));
        assert_true(back[7] == 2 && back[8] == 0);
        if (kinds[i] == ACU_MEMORY_MANAGED) {
            ACU_TRY(acu_buffer_prefetch(x, 0, NULL));
            ACU_TRY(acu_buffer_advise(x, ACU_ADVICE_READ_MOSTLY, 0));
        }
    }
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_buffer_register(a, ACU_F32, mine, 16, ACU_BUFFER_MAP, &x));
    return acu_buffer_zero(x, NULL);
}

static acu_result two_streams(void) {
    int back = 0;
    void *host;
    const size_t shape[] = {4, 4};
    const int64_t transposed[] = {1, 4};
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_stream) *b = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *pinned = NULL;
    ACU_AUTO(acu_event) *event = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_stream_create(0, NULL, &b));
    ACU_TRY(acu_buffer_create(a, ACU_I32, 16, &x));
    ACU_TRY(acu_buffer_create(b, ACU_I32, 16, &y));
    ACU_TRY(acu_buffer_create_with(b, ACU_I32, 16,
                                   &(acu_buffer_options){.memory = ACU_MEMORY_PINNED}, &pinned));
    ACU_TRY(acu_buffer_zero(x, NULL));
    ACU_TRY(acu_buffer_copy(y, x, NULL));
    ACU_TRY(acu_buffer_copy_strided(
        x, y, &(acu_strides){.rank = 2, .shape = shape, .from = transposed}, a));
    ACU_TRY(acu_buffer_copy(pinned, x, b));
    ACU_TRY(acu_buffer_host(pinned, &host));
    ACU_TRY(acu_event_create(0, NULL, &event));
    ACU_TRY(acu_event_record(event, a));
    ACU_TRY(acu_buffer_read_after(x, event, 0, ACU_I32, &back, 1, b));
    acu_stream *gone = b;
    b = NULL;
    (void)acu_stream_release(gone); /* the buffers keep it */
    return acu_buffer_synchronize(x);
}

static acu_result pools(void) {
    uint64_t used;
    acu_access access;
    ACU_AUTO(acu_stream) *a = NULL;
    ACU_AUTO(acu_pool) *pool = NULL;
    ACU_AUTO(acu_pool) *now = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &a));
    ACU_TRY(acu_pool_create(0, &(acu_pool_options){.threshold = 1}, &pool));
    ACU_TRY(acu_pool_current(0, &now));
    ACU_TRY(acu_buffer_create_with(a, ACU_U8, 10, &(acu_buffer_options){.pool = pool}, &x));
    ACU_TRY(acu_pool_get(pool, ACU_POOL_USED, &used));
    ACU_TRY(acu_pool_access(pool, 1, &access));
    return acu_pool_trim(pool, 0);
}

static acu_result devices(void) {
    acu_device_info info;
    size_t left;
    unsigned flags;
    ACU_AUTO(acu_device_guard) guard = {0};
    ACU_TRY(acu_device_enter(&guard, 1));
    ACU_TRY(acu_device_get_info(1, &info));
    ACU_TRY(acu_device_memory(0, &left, NULL));
    ACU_TRY(acu_device_flags(0, &flags));
    return acu_device_synchronize(0);
}

static const char *const functions[] = {
    "cudaGetDevice",
    "cudaSetDevice",
    "cudaGetDeviceCount",
    "cudaGetDeviceProperties",
    "cudaDeviceGetAttribute",
    "cudaDeviceGetPCIBusId",
    "cudaMemGetInfo",
    "cudaGetDeviceFlags",
    "cudaDeviceSynchronize",
    "cudaStreamCreateWithPriority",
    "cudaStreamIsCapturing",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "cudaStreamAddCallback",
    "cudaStreamGetId",
    "cudaStreamSetAttribute",
    "cudaEventCreateWithFlags",
    "cudaEventRecord",
    "cudaEventSynchronize",
    "cudaEventElapsedTime",
    "cudaMalloc",
    "cudaMallocAsync",
    "cudaMallocFromPoolAsync",
    "cudaHostAlloc",
    "cudaHostGetDevicePointer",
    "cudaMallocManaged",
    "cudaHostRegister",
    "cudaMemcpyAsync",
    "cudaMemcpy2DAsync",
    "cudaMemsetAsync",
    "cudaMemset2DAsync",
    "cudaGetDriverEntryPoint",
    "cudaMemPrefetchAsync",
    "cudaMemAdvise",
    "cudaMemPoolCreate",
    "cudaMemPoolSetAttribute",
    "cudaMemPoolGetAttribute",
    "cudaMemPoolGetAccess",
    "cudaMemPoolTrimTo",
    "cudaDeviceGetMemPool",
    "cudaFreeAsync",
};

/* What is not destroyed because CUDA refuses to cannot be anything but left. */
static const char *const releases[] = {"cudaFree",           "cudaFreeHost",
                                       "cudaHostUnregister", "cudaStreamDestroy",
                                       "cudaEventDestroy",   "cudaMemPoolDestroy"};

static void fails_at(scenario *run, const char *function, int call, int code, bool leaks) {
    char rule[80];
    acu_error released;
    snprintf(rule, sizeof rule, "%s@%d:%d", function, call, code);
    assert_int_equal(acu_fail_when(rule), 0);
    acu_clear_error();
    acu_result result = run();
    if (result && (result != code || acu_last_error() != code || !*acu_last_error_message()))
        fail_msg("%s: the result is %d, the last error %d: %s", rule, result, acu_last_error(),
                 acu_last_error_message());
    acu_fail_when(NULL);
    size_t kept = acu_release_error(&released);
    if (kept && released.code != code)
        fail_msg("%s: a release failed with %d: %s", rule, released.code, released.message);
    int left = acu_sim_leaks(!leaks);
    if (left > (leaks ? 1 : 0) || (leaks && left && !kept))
        fail_msg("%s: %d leaked, %zu releases failed", rule, left, kept);
    if (left)
        acu_sim_reset("devices=2,memory=1GiB");
}

static void fails_everywhere(scenario *run) {
    static const int codes[] = {2, 719};
    for (size_t c = 0; c < COUNT(codes); c++) {
        for (size_t f = 0; f < COUNT(functions); f++)
            for (int call = 1; call <= 12; call++)
                fails_at(run, functions[f], call, codes[c], false);
        for (size_t f = 0; f < COUNT(releases); f++)
            for (int call = 1; call <= 6; call++)
                fails_at(run, releases[f], call, codes[c], true);
    }
    OK(run());
}

#define SCENARIO(name)                                                                             \
    static void name##_survives(void **state) {                                                    \
        (void)state;                                                                               \
        OK(name());                                                                                \
        fails_everywhere(name);                                                                    \
    }
SCENARIO(streams_and_events)
SCENARIO(closures)
SCENARIO(every_memory)
SCENARIO(two_streams)
SCENARIO(pools)
SCENARIO(devices)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(streams_and_events_survives), TEST(closures_survives), TEST(every_memory_survives),
        TEST(two_streams_survives),        TEST(pools_survives),    TEST(devices_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
