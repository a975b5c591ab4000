/* A plugin with the simulator in it is closed by the thread that used it. */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void *use_and_close(void *result) {
    int (*work)(void);
    void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    void *symbol = plugin ? dlsym(plugin, "plugin_work") : NULL;
    memcpy(&work, &symbol, sizeof work);
    *(int *)result = symbol && !work() && !dlclose(plugin);
    return NULL;
}

static int work_in_a_thread(void) {
    pthread_t thread;
    int result = 0;
    assert_int_equal(pthread_create(&thread, NULL, use_and_close, &result), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return result;
}

static void threads_outlive_a_plugin(void **state) {
    const struct timespec moment = {.tv_nsec = 50000000};
    (void)state;
    for (int i = 0; i < 3; i++)
        assert_true(work_in_a_thread());
    nanosleep(&moment, NULL); /* the simulator's own threads are there, too */
    assert_true(work_in_a_thread());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_outlive_a_plugin)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
