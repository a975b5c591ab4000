/* Coredumps: what is set for them. None is written here. */
#include "safe.h"

static void hear(int process, acu_device device, void *data) {
    (void)process, (void)device, (void)data;
}

/* Skips where the driver has no settings. */
#define NEEDS(version)                                                                             \
    do {                                                                                           \
        if (!is_driver_since(version))                                                             \
            SKIP("the driver is too old for these settings");                                      \
    } while (0)

static void old_drivers(void **state) {
    (void)state;
    bool on = true;
    char path[ACU_COREDUMP_PATH_SIZE];
    unsigned flags = 9;
    acu_listener *listener = NULL;
    if (!is_driver_since(12010)) {
        FAILS(acu_coredump_get_switch(0, ACU_COREDUMP_ON_EXCEPTION, &on), 801, "needs CUDA 12.1");
        FAILS(acu_coredump_set_switch(0, ACU_COREDUMP_ON_EXCEPTION, true), 801, "needs CUDA 12.1");
        FAILS(acu_coredump_get_path(ACU_COREDUMP_PROCESS, ACU_COREDUMP_FILE, path), 801,
              "needs CUDA 12.1");
        assert_false(on);
    }
    if (!is_driver_since(12050))
        FAILS(acu_coredump_get_flags(0, &flags), 801, "needs CUDA 12.");
    if (!is_driver_since(13020))
        FAILS(acu_coredump_listen(false, hear, NULL, &listener), 801, "needs CUDA 13.2");
}

static void switches(void **state) {
    (void)state;
    bool on = true;
    const acu_device device = another_device();
    NEEDS(12010);
    OK(acu_coredump_get_switch(ACU_COREDUMP_PROCESS, ACU_COREDUMP_ON_EXCEPTION, &on));
    if (is_simulated())
        assert_false(on);
    OK(acu_coredump_set_switch(device, ACU_COREDUMP_ON_EXCEPTION, true));
    OK(acu_coredump_get_switch(device, ACU_COREDUMP_ON_EXCEPTION, &on));
    assert_true(on);
    OK(acu_coredump_set_switch(device, ACU_COREDUMP_ON_EXCEPTION, false));
    OK(acu_coredump_get_switch(device, ACU_COREDUMP_ON_EXCEPTION, &on));
    assert_false(on);
    FAILS(acu_coredump_get_switch(0, (acu_coredump_switch)7, &on), 1, "'which' is 7");
    FAILS(acu_coredump_set_switch(0, (acu_coredump_switch)0, true), 1, "'which' is 0");
    if (is_simulated())
        FAILS(acu_coredump_set_switch(0, ACU_COREDUMP_ON_REQUEST, true), 1, "pipe");
}

static void paths(void **state) {
    (void)state;
    char path[ACU_COREDUMP_PATH_SIZE] = "", longest[ACU_COREDUMP_PATH_SIZE + 1];
    const acu_device device = another_device();
    NEEDS(12010);
    OK(acu_coredump_get_path(device, ACU_COREDUMP_FILE, path)); /* an H100 has an empty one */
    OK(acu_coredump_set_path(device, ACU_COREDUMP_FILE, "/tmp/coredump-of-a-test"));
    OK(acu_coredump_get_path(device, ACU_COREDUMP_FILE, path));
    assert_string_equal(path, "/tmp/coredump-of-a-test");
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    FAILS(acu_coredump_set_path(device, ACU_COREDUMP_FILE, longest), ACU_ERROR_RANGE,
          "'path' has 1024 bytes");
    longest[sizeof longest - 2] = '\0';
    OK(acu_coredump_set_path(device, ACU_COREDUMP_FILE, longest));
    FAILS(acu_coredump_get_path(device, (acu_coredump_file)4, path), 1, "'which' is 4");
    FAILS(acu_coredump_set_path(device, (acu_coredump_file)4, "x"), 1, "'which' is 4");
    ONLY_SIMULATED("the process's settings, which stay");
    OK(acu_coredump_get_path(ACU_COREDUMP_PROCESS, ACU_COREDUMP_PIPE, path));
    assert_memory_equal(path, "corepipe.cuda.", 14);
    OK(acu_coredump_set_path(ACU_COREDUMP_PROCESS, ACU_COREDUMP_PIPE, "a-pipe"));
    OK(acu_coredump_get_path(ACU_COREDUMP_PROCESS, ACU_COREDUMP_PIPE, path));
    assert_string_equal(path, "a-pipe");
}

static void flags_of_what_is_written(void **state) {
    (void)state;
    unsigned flags = 0;
    NEEDS(12050);
    OK(acu_coredump_set_flags(0, (unsigned)ACU_COREDUMP_SKIP_ABORT |
                                     (unsigned)ACU_COREDUMP_SKIP_GLOBAL_MEMORY));
    OK(acu_coredump_get_flags(0, &flags));
    assert_true(flags & ACU_COREDUMP_SKIP_ABORT);
    assert_true(flags & ACU_COREDUMP_SKIP_GLOBAL_MEMORY);
    OK(acu_coredump_set_flags(0, 0));
}

static void listeners(void **state) {
    (void)state;
    acu_listener *begins = NULL, *ends = NULL;
    char text[200];
    NEEDS(13020);
    OK(acu_coredump_listen(false, hear, NULL, &begins));
    OK(acu_coredump_listen(true, hear, NULL, &ends));
    (void)acu_listener_describe(begins, text, sizeof text);
    assert_non_null(strstr(text, "of coredumps that begin"));
    (void)acu_listener_describe(ends, text, sizeof text);
    assert_non_null(strstr(text, "of written coredumps"));
    assert_non_null(acu_listener_raw(begins));
    OK(acu_listener_release(begins));
    OK(acu_listener_release(ends));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(old_drivers), TEST(switches), TEST(paths), TEST(flags_of_what_is_written),
        TEST(listeners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
