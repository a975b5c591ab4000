/* Processes that are locked, saved, restored and unlocked: on the simulator this one. */
#include "safe.h"

#include <sys/wait.h>
#include <unistd.h>

static void old_drivers(void **state) {
    (void)state;
    acu_process_state found = ACU_PROCESS_FAILED;
    const int self = (int)getpid();
    int thread = 9;
    if (is_driver_since(12080))
        SKIP("the driver has checkpoints");
    FAILS(acu_process_get_state(self, &found), 801, "needs CUDA 12.8");
    FAILS(acu_process_get_restore_thread(self, &thread), 801, "needs CUDA 12.8");
    FAILS(acu_process_lock(self, 1000), 801, "needs CUDA 12.8");
    FAILS(acu_process_checkpoint(self), 801, "needs CUDA 12.8");
    FAILS(acu_process_restore(self, NULL, 0), 801, "needs CUDA 12.8");
    FAILS(acu_process_unlock(self), 801, "needs CUDA 12.8");
    assert_int_equal(found, ACU_PROCESS_RUNNING);
    assert_int_equal(thread, 0);
}

static void expect_state(acu_process_state expected) {
    acu_process_state found = ACU_PROCESS_FAILED;
    OK(acu_process_get_state((int)getpid(), &found));
    assert_int_equal(found, expected);
}

static void one_after_the_other(void **state) {
    (void)state;
    const int self = (int)getpid();
    acu_process_move move = {.from = {1}, .to = {2}};
    int thread = 0;
    ONLY_SIMULATED("a process whose calls of CUDA go on while it is locked");
    if (!is_driver_since(12080))
        SKIP("needs a driver of CUDA 12.8: checkpoints");
    expect_state(ACU_PROCESS_RUNNING);
    OK(acu_process_get_restore_thread(self, &thread));
    assert_true(thread > 0);
    OK(acu_process_lock(self, 1000));
    expect_state(ACU_PROCESS_LOCKED);
    FAILS(acu_process_lock(self, 0), 401, "is locked, and must be running");
    FAILS(acu_process_restore(self, NULL, 0), 401, "must be checkpointed");
    OK(acu_process_checkpoint(self));
    expect_state(ACU_PROCESS_CHECKPOINTED);
    FAILS(acu_process_unlock(self), 401, "must be locked");
    if (is_driver_since(13000))
        OK(acu_process_restore(self, &move, 1));
    else
        OK(acu_process_restore(self, NULL, 0));
    OK(acu_process_unlock(self));
    expect_state(ACU_PROCESS_RUNNING);
    FAILS(acu_process_checkpoint(self), 401, "process ");
}

/* ---- another process, which is this program once more ---- */

enum { NUMBERS = 1024 };

/* Fills memory of a device, says so, and waits; returns whether the numbers are still there. */
static acu_result be_saved(void) {
    static int32_t numbers[NUMBERS], back[NUMBERS];
    char byte = 'r';
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *buffer = NULL;
    for (int i = 0; i < NUMBERS; i++)
        numbers[i] = 3 * i;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create_with(stream, ACU_I32, NUMBERS,
                                   &(acu_buffer_options){.memory = ACU_MEMORY_DEVICE}, &buffer));
    ACU_TRY(acu_buffer_write(buffer, numbers, NUMBERS));
    ACU_TRY(acu_stream_synchronize(stream));
    if (write(STDOUT_FILENO, &byte, 1) != 1 || read(STDIN_FILENO, &byte, 1) != 1)
        return ACU_ERROR_STATE;
    ACU_TRY(acu_buffer_read(buffer, back, NUMBERS));
    return memcmp(numbers, back, sizeof back) ? ACU_ERROR_STATE : 0;
}

static void another_process_is_saved(void **state) {
    (void)state;
    int to[2], from[2], status = -1;
    char byte = 'g';
    if (is_simulated() || !getenv("ANYCUDA_TESTS_CHECKPOINT") || !is_driver_since(12080)) {
        print_message("needs a GPU, and ANYCUDA_TESTS_CHECKPOINT: a process must be allowed to "
                      "trace another one\n");
        skip();
    }
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_process", "be-saved", (char *)NULL);
        _exit(9);
    }
    assert_int_equal(read(from[0], &byte, 1), 1);
    OK(acu_process_lock((int)child, 10000));
    OK(acu_process_checkpoint((int)child));
    acu_process_state found;
    OK(acu_process_get_state((int)child, &found));
    assert_int_equal(found, ACU_PROCESS_CHECKPOINTED);
    OK(acu_process_restore((int)child, NULL, 0));
    OK(acu_process_unlock((int)child));
    assert_int_equal(write(to[1], &byte, 1), 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(close(to[i]) + close(from[i]), 0);
}

static void what_is_no_process(void **state) {
    (void)state;
    acu_process_state found;
    if (!is_driver_since(12080))
        SKIP("needs a driver of CUDA 12.8: checkpoints");
    assert_int_not_equal(acu_process_get_state(-1, &found), 0);
    assert_non_null(strstr(acu_last_error_message(), "process -1"));
    FAILS(acu_process_restore(1, NULL, 2), ACU_ERROR_ARGUMENT, "'moves' is NULL, and 'count' is 2");
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {
        TEST(old_drivers),
        TEST(one_after_the_other),
        TEST(another_process_is_saved),
        TEST(what_is_no_process),
    };
    if (count > 1 && strcmp(words[1], "be-saved") == 0)
        return be_saved() ? 1 : 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
