/*
 * What CUDA calls when it should not: listeners that have ended, and several at once. CUDA is a
 * fake one, whose registrations only remember what they were given.
 */
#include "safe.h"

typedef void log_function(void *, int, char *, size_t);
typedef void coredump_function(void *, int, int);

static log_function *log_of;
static coredump_function *start_of, *end_of;
static void *number_of_log, *number_of_start, *number_of_end;
static int ended; /* registrations */

static int register_log(log_function *function, void *number, void **raw) {
    log_of = function;
    number_of_log = *raw = number;
    return 0;
}

static int register_start(coredump_function *function, void *number, void **raw) {
    start_of = function;
    number_of_start = *raw = number;
    return 0;
}

static int register_end(coredump_function *function, void *number, void **raw) {
    end_of = function;
    number_of_end = *raw = number;
    return 0;
}

static int unregister(void *raw) {
    (void)raw;
    ended++;
    return 0;
}

static int get_version(int *version) {
    *version = 13050;
    return 0;
}

static int nothing(void) {
    return 0;
}

#define FAKE(name, function) {#name, (void (*)(void))(function)}

static void *find(const char *symbol, void *data) {
    static const struct {
        const char *name;
        void (*function)(void);
    } fakes[] = {
        FAKE(cudaRuntimeGetVersion, get_version),
        FAKE(cuDriverGetVersion, get_version),
        FAKE(cuLogsRegisterCallback, register_log),
        FAKE(cuLogsUnregisterCallback, unregister),
        FAKE(cuCoredumpRegisterStartCallback, register_start),
        FAKE(cuCoredumpRegisterCompleteCallback, register_end),
        FAKE(cuCoredumpDeregisterStartCallback, unregister),
        FAKE(cuCoredumpDeregisterCompleteCallback, unregister),
    };
    void (*function)(void) = (void (*)(void))nothing;
    void *address = NULL;
    (void)data;
    for (size_t i = 0; i < COUNT(fakes); i++)
        if (strcmp(symbol, fakes[i].name) == 0)
            function = fakes[i].function;
    memcpy(&address, &function, sizeof address);
    return address;
}

static char heard[200];

static void hear_log(acu_log_level level, const char *line, size_t length, void *data) {
    snprintf(heard, sizeof heard, "%s: %d %.*s", (const char *)data, (int)level, (int)length, line);
}

static void hear_coredump(int process, acu_device device, void *data) {
    snprintf(heard, sizeof heard, "%s: %d %d", (const char *)data, process, device);
}

static void lines(void **state) {
    (void)state;
    char text[] = "four letters";
    acu_listener *listener = NULL;
    ended = 0;
    OK(acu_log_listen(hear_log, "log", &listener));
    log_of(number_of_log, ACU_LOG_WARNING, text, 4); /* need not end with a zero */
    assert_string_equal(heard, "log: 1 four");
    assert_ptr_equal(acu_listener_raw(listener), number_of_log);
    OK(acu_listener_release(listener));
    assert_int_equal(ended, 1);
    *heard = '\0';
    log_of(number_of_log, ACU_LOG_ERROR, text, 4);
    assert_string_equal(heard, "");
}

static void coredumps(void **state) {
    (void)state;
    acu_listener *begins = NULL, *written = NULL;
    ended = 0;
    OK(acu_coredump_listen(false, hear_coredump, "begins", &begins));
    OK(acu_coredump_listen(true, hear_coredump, "written", &written));
    start_of(number_of_start, 17, 1);
    assert_string_equal(heard, "begins: 17 1");
    end_of(number_of_end, 18, 0);
    assert_string_equal(heard, "written: 18 0");
    OK(acu_listener_release(begins));
    *heard = '\0';
    start_of(number_of_start, 17, 1);
    assert_string_equal(heard, "");
    end_of(number_of_end, 19, 0);
    assert_string_equal(heard, "written: 19 0");
    OK(acu_listener_release(written));
    assert_int_equal(ended, 2);
}

static void adopted_registrations(void **state) {
    (void)state;
    int raw[4];
    acu_listener *adopted[4] = {NULL}, *wrapped = NULL;
    ended = 0;
    OK(acu_listener_adopt(ACU_LISTENER_LOG, 0, &raw[0], &adopted[0]));
    OK(acu_listener_adopt(ACU_LISTENER_COREDUMP_START, 0, &raw[1], &adopted[1]));
    OK(acu_listener_adopt(ACU_LISTENER_COREDUMP_END, 0, &raw[2], &adopted[2]));
    OK(acu_listener_wrap(ACU_LISTENER_COREDUMP_END, 0, &raw[3], &wrapped));
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(acu_listener_raw(adopted[i]), &raw[i]);
        OK(acu_listener_release(adopted[i]));
    }
    assert_int_equal(ended, 3);
    OK(acu_listener_release(wrapped));
    assert_int_equal(ended, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(coredumps),
        cmocka_unit_test(adopted_registrations),
    };
    OK(acu_load(&(acu_load_options){.resolve = find, .version = 13050}));
    OK(acu_load(&(acu_load_options){.library = ACU_CUDA, .resolve = find, .version = 13050}));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
