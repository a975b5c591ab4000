/* The driver's log. */
#include "safe.h"

#include "../scratch.h"

#include <anycuda/cudart.h>

#include <unistd.h>

typedef struct ear {
    int heard;
    acu_log_level level;
    char line[64];
    acu_listener *release; /* in the call; or NULL */
} ear;

static void hear(acu_log_level level, const char *line, size_t length, void *data) {
    ear *e = data;
    e->heard++;
    e->level = level;
    snprintf(e->line, sizeof e->line, "%.*s", (int)length, line);
    (void)acu_listener_release(e->release);
    e->release = NULL;
}

/* Skips where the driver has no log. */
#define NEEDS_LOG()                                                                                \
    do {                                                                                           \
        if (!is_driver_since(12090))                                                               \
            SKIP("needs a driver of CUDA 12.9: its log");                                          \
    } while (0)

static void drivers_without_a_log(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *listener = NULL;
    acu_log_position at = 0;
    char text[16] = "before";
    size_t length = 9;
    if (is_driver_since(12090))
        SKIP("the driver has a log");
    FAILS(acu_log_listen(hear, &e, &listener), 801, "needs CUDA 12.9");
    FAILS(acu_log_get_end(&at), 801, "needs CUDA 12.9");
    FAILS(acu_log_read(NULL, text, sizeof text, &length), 801, "needs CUDA 12.9");
    FAILS(acu_log_print(NULL, "/nonexistent"), 801, "needs CUDA 12.9");
    assert_string_equal(text, "");
    assert_int_equal(length, 0);
    assert_null(listener);
}

static void a_listener_hears_lines(void **state) {
    (void)state;
    ear e = {.heard = 0};
    acu_listener *listener = NULL;
    char text[200];
    NEEDS_LOG();
    OK(acu_log_listen(hear, &e, &listener));
    assert_non_null(acu_listener_raw(listener));
    (void)acu_listener_describe(listener, text, sizeof text);
    assert_non_null(strstr(text, "of the log"));
    if (is_simulated()) {
        acu_sim_log(1, "something is odd");
        assert_int_equal(e.heard, 1);
        assert_int_equal(e.level, ACU_LOG_WARNING);
        assert_string_equal(e.line, "something is odd");
        acu_sim_log(0, "something is wrong");
        assert_int_equal(e.level, ACU_LOG_ERROR);
    }
    OK(acu_listener_release(listener));
    if (is_simulated()) {
        acu_sim_log(0, "nobody hears");
        assert_int_equal(e.heard, 2);
    }
}

static void a_listener_that_ends_itself(void **state) {
    (void)state;
    ear e = {.heard = 0};
    ONLY_SIMULATED("lines at will");
    NEEDS_LOG();
    OK(acu_log_listen(hear, &e, &e.release));
    acu_sim_log(0, "once");
    acu_sim_log(0, "perhaps once more"); /* the end is put off until a call looks for it */
    OK(acu_device_synchronize(0));
    const int heard = e.heard;
    acu_sim_log(0, "never");
    assert_int_equal(e.heard, heard);
}

static void lines_from_a_place_on(void **state) {
    (void)state;
    acu_log_position at = 0, same;
    char text[128];
    size_t length = 0;
    NEEDS_LOG();
    OK(acu_log_get_end(&at));
    OK(acu_log_read(&at, text, sizeof text, &length));
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    ONLY_SIMULATED("lines at will");
    acu_sim_log(0, "the first line, which is the one to be left out");
    acu_sim_log(0, "second");
    same = at;
    OK(acu_log_read(&at, text, sizeof text, &length));
    assert_string_equal(text, "the first line, which is the one to be left out\nsecond\n");
    assert_int_equal(length, strlen(text));
    OK(acu_log_read(&at, text, sizeof text, &length));
    assert_int_equal(length, 0);
    OK(acu_log_read(&same, text, 40, &length)); /* the newest one has room */
    assert_non_null(strstr(text, "left out"));
    assert_null(strstr(text, "first"));
    assert_non_null(strstr(text, "second\n"));
    acu_sim_log(0, "a line that is too long for the text");
    FAILS(acu_log_read(NULL, text, 8, &length), 1, "cuLogsDumpToMemory");
    assert_int_equal(length, 0);
    assert_string_equal(text, "");
    FAILS(acu_log_read(NULL, text, 0, &length), ACU_ERROR_RANGE, "'size' is 0");
}

static void a_log_in_a_file(void **state) {
    (void)state;
    char path[SCRATCH_SIZE], text[64] = "";
    NEEDS_LOG();
    int file = mkstemp(scratch_path(path));
    assert_true(file >= 0);
    acu_log_position at = 0;
    OK(acu_log_get_end(&at));
    if (is_simulated())
        acu_sim_log(0, "in a file");
    OK(acu_log_print(&at, path));
    if (is_simulated()) {
        assert_int_equal(read(file, text, sizeof text - 1), 10);
        assert_string_equal(text, "in a file\n");
    }
    assert_int_equal(close(file), 0);
    assert_int_equal(remove(path), 0);
    FAILS(acu_log_print(NULL, "/no/such/folder/log"), 1, "/no/such/folder/log");
}

static void old_lines_are_forgotten(void **state) {
    (void)state;
    static char text[30000];
    size_t length = 0;
    ONLY_SIMULATED("lines at will");
    NEEDS_LOG();
    for (int i = 0; i < 700; i++)
        acu_sim_log(0, "a line of forty bytes, with its newline");
    OK(acu_log_read(NULL, text, sizeof text, &length));
    assert_int_equal(length, 100 * 40); /* an H200 keeps 100 lines */
}

static size_t lines_in(const char *text) {
    size_t lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* What a driver says of calls that fail, which is printed; all of it is heard, too. */
static void what_the_driver_says_of_failures(void **state) {
    (void)state;
    static char text[8192];
    ear e = {.heard = 0};
    acu_log_position at = 0;
    acu_listener *listener = NULL;
    acu_module *module = NULL;
    size_t length = 0;
    void *memory = &at;
    NEEDS_LOG();
    OK(acu_device_synchronize(0));
    OK(acu_log_listen(hear, &e, &listener));
    OK(acu_log_get_end(&at));
    assert_int_not_equal(acu_module_load(0, &(acu_module_source){.ptx = "no PTX"}, &module), 0);
    assert_int_not_equal(cudaFree(memory), 0); /* is no memory of a device */
    (void)cudaGetLastError();
    const int heard = e.heard;
    OK(acu_listener_release(listener));
    OK(acu_log_read(&at, text, sizeof text, &length));
    print_message("the driver's log, of which %d lines were heard at once: \"%s\"\n", heard, text);
    assert_int_equal(e.heard, lines_in(text));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(drivers_without_a_log),
        TEST(a_listener_hears_lines),
        TEST(a_listener_that_ends_itself),
        TEST(lines_from_a_place_on),
        TEST(a_log_in_a_file),
        TEST(old_lines_are_forgotten),
        TEST(what_the_driver_says_of_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
