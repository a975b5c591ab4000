/* Processes that are locked, saved, restored and unlocked: on the simulator this one. */
#include "safe.h"

#include <unistd.h>

static void old_drivers(void **state) {
    (void)state;
    acu_process_state found = ACU_PROCESS_FAILED;
    const int self = (int)getpid();
    int thread = 9;
    if (is_driver_since(12080))
        skip();
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
        skip();
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

static void what_is_no_process(void **state) {
    (void)state;
    acu_process_state found;
    if (!is_driver_since(12080))
        skip();
    assert_int_not_equal(acu_process_get_state(-1, &found), 0);
    assert_non_null(strstr(acu_last_error_message(), "process -1"));
    FAILS(acu_process_restore(1, NULL, 2), ACU_ERROR_ARGUMENT, "'moves' is NULL, and 'count' is 2");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(old_drivers),
        TEST(one_after_the_other),
        TEST(what_is_no_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
