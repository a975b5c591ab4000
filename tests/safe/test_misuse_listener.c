/* Misuse of listeners, the driver's log, coredumps and processes. */
#include "misuse.h"

static int anything;
static acu_listener *listener;

static int begin_listener(void **state) {
    int code = begin_misuse(state);
    OK(acu_listener_wrap(ACU_LISTENER_LOG, 0, &anything, &listener));
    return code;
}

static int end_listener(void **state) {
    OK(acu_listener_release(listener));
    return end_misuse(state);
}

#define LISTENER_TEST(function) SAFE_TEST(function, begin_listener, end_listener)

static void notified(const acu_notification *notification, void *data) {
    (void)notification, (void)data;
}

static void logged(acu_log_level level, const char *line, size_t length, void *data) {
    (void)level, (void)line, (void)length, (void)data;
}

static void dumped(int process, acu_device device, void *data) {
    (void)process, (void)device, (void)data;
}

static void listeners(void **state) {
    (void)state;
    acu_listener *made = NULL;
    NOT_NULL(acu_listener_wrap(ACU_LISTENER_LOG, 0, &anything, NULL));
    NOT_NULL(acu_listener_wrap(ACU_LISTENER_LOG, 0, NULL, &made));
    NO_DEVICE(acu_listener_wrap(ACU_LISTENER_DEVICE, absent, &anything, &made));
    NOT_NULL(acu_listener_adopt(ACU_LISTENER_LOG, 0, &anything, NULL));
    NOT_NULL(acu_listener_adopt(ACU_LISTENER_LOG, 0, NULL, &made));
    NO_DEVICE(acu_listener_adopt(ACU_LISTENER_DEVICE, absent, &anything, &made));
    REFUSED(acu_listener_wrap((acu_listener_subject)5, 0, &anything, &made), ACU_ERROR_ARGUMENT,
            "'subject' is 5");
    NOT_NULL(acu_device_listen(0, notified, NULL, NULL));
    NOT_NULL(acu_device_listen(0, NULL, NULL, &made));
    NO_DEVICE(acu_device_listen(absent, notified, NULL, &made));
    NOT_NULL(acu_log_listen(logged, NULL, NULL));
    NOT_NULL(acu_log_listen(NULL, NULL, &made));
    NOT_NULL(acu_coredump_listen(true, dumped, NULL, NULL));
    NOT_NULL(acu_coredump_listen(true, NULL, NULL, &made));
    assert_null(made);
    SAYS(NULL, acu_listener_raw(bad));
    OWNERS(listener);
}

static void logs(void **state) {
    (void)state;
    char text[8];
    size_t length;
    NOT_NULL(acu_log_get_end(NULL));
    NOT_NULL(acu_log_read(NULL, NULL, 8, &length));
    NOT_NULL(acu_log_read(NULL, text, 8, NULL));
    REFUSED(acu_log_read(NULL, text, 0, &length), ACU_ERROR_RANGE, "'size' is 0");
    NOT_NULL(acu_log_print(NULL, NULL));
}

static void coredumps(void **state) {
    (void)state;
    bool on;
    unsigned flags;
    char path[ACU_COREDUMP_PATH_SIZE];
    NO_DEVICE(acu_coredump_get_switch(absent, ACU_COREDUMP_ON_EXCEPTION, &on));
    NO_DEVICE(acu_coredump_set_switch(absent, ACU_COREDUMP_ON_EXCEPTION, true));
    NO_DEVICE(acu_coredump_get_path(absent, ACU_COREDUMP_FILE, path));
    NO_DEVICE(acu_coredump_set_path(absent, ACU_COREDUMP_FILE, "file"));
    NO_DEVICE(acu_coredump_get_flags(absent, &flags));
    NO_DEVICE(acu_coredump_set_flags(absent, 0));
    NOT_NULL(acu_coredump_get_switch(0, ACU_COREDUMP_ON_EXCEPTION, NULL));
    NOT_NULL(acu_coredump_get_path(0, ACU_COREDUMP_FILE, NULL));
    NOT_NULL(acu_coredump_set_path(0, ACU_COREDUMP_FILE, NULL));
    NOT_NULL(acu_coredump_get_flags(0, NULL));
    REFUSED(acu_coredump_set_switch(0, (acu_coredump_switch)99, true), 1, "'which' is 99");
    REFUSED(acu_coredump_set_path(0, (acu_coredump_file)99, "x"), 1, "'which' is 99");
}

static void processes(void **state) {
    (void)state;
    NOT_NULL(acu_process_get_state(1, NULL));
    NOT_NULL(acu_process_get_restore_thread(1, NULL));
    REFUSED(acu_process_restore(1, NULL, 1), ACU_ERROR_ARGUMENT, "'moves' is NULL");
    assert_int_not_equal(acu_process_lock(-1, 1), 0);
    assert_int_not_equal(acu_process_checkpoint(-1), 0);
    assert_int_not_equal(acu_process_unlock(-1), 0);
    acu_clear_error();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LISTENER_TEST(listeners),
        LISTENER_TEST(logs),
        LISTENER_TEST(coredumps),
        LISTENER_TEST(processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
