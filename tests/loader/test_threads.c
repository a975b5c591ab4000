/* The first use of a library from many threads at once; meant for TSan, and true without it. */
#define _GNU_SOURCE
#include "core/call.h"
#include "core/decisions.h"
#include "core/explain.h"
#include "made_up.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 32, CALLS = 200 };

static int enter_malloc(int size);
static int (*slot_malloc)(int) = enter_malloc;
static int (*real_malloc)(int);
static pthread_barrier_t barrier;

static int adapt_malloc(int size) {
    return real_malloc(size);
}

static const acu_function malloc_function = {
    .library = &acu_cudart,
    .name = "acutestMalloc",
    .eras = (const acu_era[]){{11070, "acutestMalloc", (acu_fn)adapt_malloc}},
    .era_count = 1,
    .slot = (acu_fn *)(void *)&slot_malloc,
    .real = (acu_fn *)(void *)&real_malloc,
};

static int enter_malloc(int size) {
    acu_call call;
    acu_call_begin(&call, &malloc_function, &size);
    if (call.fn)
        call.result = ((int (*)(int))call.fn)(size);
    return acu_call_end(&call);
}

static int call(int size) {
    int result = __atomic_load_n(&slot_malloc, __ATOMIC_ACQUIRE)(size);
    return result ? acu_explain(&malloc_function, result, &size) : 0;
}

/* cmocka's assertions are the main thread's: others count. */
static void *call_often(void *data) {
    size_t wrong = 0;
    int own = 1 + (int)(size_t)data % 30;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < CALLS; i++)
        if (call(-own) != own || acu_last_error() != own)
            wrong++;
    return (void *)wrong;
}

static void *call_until_loaded(void *data) {
    pthread_barrier_wait(&barrier);
    if (data == NULL)
        acu_load(&(acu_load_options){.path = getenv("TEST_PATH")});
    while (call(-5) != 5)
        if (acu_last_error() != MISSING || !strstr(acu_last_error_message(), "libacutest"))
            return (void *)1;
    return NULL;
}

/* Threads that never take the loader's lock: only the slot hands them what the first one wrote. */
static void *call_what_another_bound(void *data) {
    size_t wrong = 0;
    pthread_barrier_wait(&barrier);
    if (data == NULL)
        wrong += call(-5) != 5;
    while (__atomic_load_n(&slot_malloc, __ATOMIC_RELAXED) == enter_malloc)
        sched_yield();
    wrong += call(-5) != 5;
    return (void *)wrong;
}

static void run(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_ptr_equal(wrong, NULL);
    }
    pthread_barrier_destroy(&barrier);
}

static void first_use(void) {
    setenv("ANYCUDA_CUDART", put("12.4/libacutest.so.12", "libacutest.so.12"), 1);
    run(call_often);
    assert_ptr_equal(slot_malloc, adapt_malloc);
    assert_int_equal(acu_cudart.published_count, 1);
}

static void first_use_through_the_search(void) {
    setenv("CUDA_PATH", scratch(), 1);
    put("12.4/libacutest.so.12", "lib64/libacutest.so.12");
    run(call_often);
}

static void published(void) {
    setenv("ANYCUDA_CUDART", put("12.4/libacutest.so.12", "libacutest.so.12"), 1);
    run(call_what_another_bound);
}

static void one_loads_while_others_are_refused(void) {
    setenv("ANYCUDA_CUDART", in_scratch("none"), 1);
    setenv("TEST_PATH", put("12.4/libacutest.so.12", "libacutest.so.12"), 1);
    run(call_until_loaded);
    assert_ptr_equal(slot_malloc, adapt_malloc);
}

/* ---- the system loader's own locks ---- */

/* What hangs is killed. Repeats what depends on which thread is faster. */
static void run_in_time(int times, void (*body)(void)) {
    for (int i = 0; i < times; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            alarm(100);
            body();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static int done;

static void *open_and_close(void *opened) {
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        void *handle = dlopen(FAKES "/other/libother.so.12", RTLD_NOW);
        if (handle)
            dlclose(handle);
        __atomic_store_n((int *)opened, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void first_use_beside_dlopen(void) {
    pthread_t thread;
    int opened = 0;
    assert_int_equal(pthread_create(&thread, NULL, open_and_close, &opened), 0);
    while (!__atomic_load_n(&opened, __ATOMIC_RELAXED))
        sched_yield();
    assert_int_equal(call(-5), 5);
    assert_string_equal(acu_loaded(ACU_CUDART)->found, "already in the process");
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The driver is opened to judge a mapped runtime, which is found in the system loader's own list.
 */
static void first_use_while_another_thread_opens(void) {
#if defined(__SANITIZE_THREAD__)
    /* ThreadSanitizer sees dlclose() free a name that the loader reads, but not the system
     * loader's lock, which keeps the two apart. */
    print_message("skipped: ThreadSanitizer does not know the system loader's lock\n");
    return;
#endif
    assert_non_null(dlopen(FAKES "/12.4/libacutest.so.12", RTLD_NOW));
    run_in_time(30, first_use_beside_dlopen);
}

static int enter_launch(void);
static int (*slot_launch)(void) = enter_launch;

static const acu_function launch_function = {
    .library = &acu_cudart,
    .name = "acutestLaunch",
    .slot = (acu_fn *)(void *)&slot_launch,
};

static int enter_launch(void) {
    acu_call call;
    acu_call_begin(&call, &launch_function, NULL);
    if (call.fn)
        call.result = ((int (*)(void))call.fn)();
    return acu_call_end(&call);
}

static void *(*beside_constructor)(void *);
static pthread_t beside;
static int in_constructor;

/* By the libraries in the folder "constructor", while the system loader is locked for others. */
void called_by_constructor(void) {
    if (beside_constructor) {
        pthread_create(&beside, NULL, beside_constructor, NULL);
        usleep(100000); /* until it waits for the system loader */
    }
    in_constructor = slot_launch();
}

static void *bind_beside(void *unused) {
    (void)unused;
    return (void *)(size_t)(slot_malloc(-5) != 5);
}

static void *load_beside(void *unused) {
    (void)unused;
    return (void *)(size_t)acu_load(
        &(acu_load_options){.library = ACU_NVRTC, .path = FAKES "/12.4/libacujit.so.12"});
}

static void constructor_binds(void) {
    void *wrong = NULL;
    assert_int_equal(load_path(FAKES "/12.4/libacutest.so.12", 0), 0);
    in_constructor = -1;
    assert_non_null(dlopen(FAKES "/constructor/libother.so.12", RTLD_NOW));
    assert_int_equal(in_constructor, 0);
    assert_ptr_not_equal(slot_launch, enter_launch);
    assert_int_equal(pthread_join(beside, &wrong), 0);
    assert_ptr_equal(wrong, NULL);
}

static void constructor_binds_while_another_thread_binds(void) {
    beside_constructor = bind_beside;
    run_in_time(1, constructor_binds);
}

static void constructor_binds_while_another_thread_loads(void) {
    beside_constructor = load_beside;
    run_in_time(1, constructor_binds);
}

static void loaded_constructor_calls_another(void) {
    assert_int_equal(load_path(FAKES "/12.4/libacutest.so.12", 0), 0);
    in_constructor = -1;
    assert_int_equal(acu_load(&(acu_load_options){.library = ACU_NVRTC,
                                                  .path = FAKES "/constructor/libacujit.so.12"}),
                     0);
    assert_int_equal(in_constructor, 0);
}

static void loaded_constructor_calls_its_own(void) {
    assert_int_equal(load_path(FAKES "/constructor/libacutest.so.12", 0), 0);
    assert_int_equal(in_constructor, MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "called while a CUDA library is being loaded");
    assert_int_equal(slot_launch(), 0);
}

static void constructor_of_what_is_loaded(void) {
    run_in_time(1, loaded_constructor_calls_another);
    run_in_time(1, loaded_constructor_calls_its_own);
}

/* ---- a resolver ---- */

static int inside, at_once, asked_for_driver;

static int get_attribute(int *value, int attribute, int device) {
    *value = attribute;
    return device;
}

static void *resolve_alone(const char *symbol, void *data) {
    void *address = resolve_made_up(symbol, data);
    int (*fn)(int *, int, int) = get_attribute;
    if (__atomic_fetch_add(&inside, 1, __ATOMIC_RELAXED) > 0)
        __atomic_store_n(&at_once, 1, __ATOMIC_RELAXED);
    usleep(50);
    if (strcmp(symbol, "cuDeviceGetAttribute") == 0)
        asked_for_driver = 1;
    if (strstr(symbol, "DeviceGetAttribute"))
        memcpy(&address, &fn, sizeof address);
    __atomic_fetch_sub(&inside, 1, __ATOMIC_RELAXED);
    return address;
}

/* Each way to the resolver. */
static void *ask_in_all_ways(void *data) {
    static const acu_attribute rows[] = {
        {.size = 4, .attribute = 5, .attribute_since = 11070, .since = 13000},
        {.offset = 4, .size = 4, .attribute = 6, .attribute_since = 13000, .since = 13000},
        {.size = 0},
    };
    static const acu_attribute_table table = {rows};
    size_t wrong = 0;
    (void)data;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < 10; i++) {
        int values[2] = {0, 0};
        acu_fill_from_attributes(&table, values, 0);
        wrong += values[0] != 5 || values[1] != 6;
        wrong += acu_driver_entry_status(cudaErrorSymbolNotFound, NULL, NULL) != cudaSuccess;
        wrong += acu_explain(&malloc_function, NO_DRIVER, NULL) != NO_DRIVER;
        wrong += acu_call_bind(&malloc_function) == NULL;
    }
    return (void *)wrong;
}

static void resolver_is_called_by_one_at_a_time(void) {
    made_up library = {.version = 12040, .driver = 13000};
    assert_int_equal(acu_load(&(acu_load_options){.resolve = resolve_alone, .data = &library}), 0);
    run(ask_in_all_ways);
    assert_false(at_once);
    assert_true(asked_for_driver); /* not the real one */
    assert_string_equal(acu_load_trace(ACU_CUDA), "");
}

/* ---- fork ---- */

static int resolver_waits; /* atomic */

static void *resolve_never(const char *symbol, void *data) {
    (void)symbol;
    (void)data;
    __atomic_store_n(&resolver_waits, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
    return NULL;
}

static void *load_for_ever(void *data) {
    (void)acu_load(&(acu_load_options){.resolve = resolve_never});
    return data;
}

static void *load_for_ever_elsewhere(void *data) {
    (void)acu_load(&(acu_load_options){.library = ACU_NVRTC, .resolve = resolve_never});
    return data;
}

static void child_is_refused(void) {
    assert_int_equal(slot_malloc(-1), MISSING);
    CHECK_CONTAINS(acu_last_error_message(), "forked while another thread of its parent loaded");
    assert_non_null(acu_load_trace(ACU_CUDART));
}

static void child_calls(void) {
    assert_int_equal(call(-5), 5);
}

/* The child's calls fail with a reason instead of waiting for a thread that it does not have. */
static void forked_while_another_thread_loads(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, load_for_ever, NULL), 0);
    while (!__atomic_load_n(&resolver_waits, __ATOMIC_SEQ_CST))
        sched_yield();
    run_in_time(1, child_is_refused);
}

/* Another library can be loaded there. */
static void forked_while_another_library_is_loaded(void) {
    pthread_t thread;
    setenv("ANYCUDA_CUDART", put("12.4/libacutest.so.12", "libacutest.so.12"), 1);
    assert_int_equal(pthread_create(&thread, NULL, load_for_ever_elsewhere, NULL), 0);
    while (!__atomic_load_n(&resolver_waits, __ATOMIC_SEQ_CST))
        sched_yield();
    run_in_time(1, child_calls);
}

static bool loads_at_fork;

/* Another thread begins its first call while the fork is under way. */
static void load_before_fork(void) {
    pthread_t thread;
    if (!loads_at_fork)
        return;
    loads_at_fork = false;
    assert_int_equal(pthread_create(&thread, NULL, load_for_ever, NULL), 0);
    while (!__atomic_load_n(&resolver_waits, __ATOMIC_SEQ_CST))
        sched_yield();
}

static void forked_before_another_thread_loads(void) {
    assert_int_equal(pthread_atfork(load_before_fork, NULL, NULL), 0);
    loads_at_fork = true;
    run_in_time(1, child_is_refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        ALONE(first_use),
        ALONE(first_use_through_the_search),
        ALONE(published),
        ALONE(one_loads_while_others_are_refused),
        ALONE(first_use_while_another_thread_opens),
        ALONE(constructor_binds_while_another_thread_binds),
        ALONE(constructor_binds_while_another_thread_loads),
        ALONE(constructor_of_what_is_loaded),
        ALONE(resolver_is_called_by_one_at_a_time),
        ALONE(forked_while_another_thread_loads),
        ALONE(forked_while_another_library_is_loaded),
        ALONE(forked_before_another_thread_loads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
