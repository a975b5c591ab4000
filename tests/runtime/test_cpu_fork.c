/* The CPU's back end in children of forks, and at the end of a program. */
#define _POSIX_C_SOURCE 200809L
#include "cpu_test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void add_one(const acu_part *part, void *const *args) {
    unsigned char *bytes = cpu_pointer(args);
    for (size_t i = part->begin[0]; i < part->end[0]; i++)
        bytes[i]++;
}

#if defined(__SANITIZE_THREAD__)
static const bool can_fork = false;
#else
static const bool can_fork = true;
#endif

/* Runs a function in a child; it must exit with 0. */
static void in_child(void (*function)(acu_backend_queue *), acu_backend_queue *queue) {
    if (!can_fork) {
        print_message("ThreadSanitizer allows a child of a fork no threads\n");
        return;
    }
    (void)fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)alarm(20);
        function(queue);
        exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "in a child, line %d: %s is wrong\n", __LINE__, #condition);     \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void use_in_child(acu_backend_queue *queue) {
    static unsigned char bytes[1 << 16];
    for (int i = 0; i < 2; i++)
        cpu_run(queue, add_one, sizeof bytes, 1, 1, bytes);
    EXPECT(cpu->queue_synchronize(queue) == ACU_SUCCESS);
    EXPECT(bytes[0] == 2 && bytes[sizeof bytes - 1] == 2);
    cpu->queue_destroy(queue);
}

static void lose_in_child(acu_backend_queue *queue) {
    EXPECT(cpu->queue_synchronize(queue) == ACU_ERROR_STATE);
    EXPECT(cpu->fill(queue, (acu_backend_memory *)(void *)queue, 0, 1, "", 1) == ACU_ERROR_STATE);
    cpu->queue_destroy(queue);
    use_in_child(cpu_queue(NULL));
}

static void leave_while_busy(acu_backend_queue *queue) {
    static gate g; /* which nobody opens */
    (void)queue;
    gate_close(&g, cpu_queue(NULL));
    while (!atomic_load(&g.reached))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void test_forks(void **state) {
    (void)state;
    acu_backend_queue *queue = cpu_queue(NULL);
    unsigned char byte = 0;
    cpu_run(queue, add_one, 1, 1, 1, &byte);
    OK(cpu->queue_synchronize(queue));
    in_child(use_in_child, queue);
    gate g;
    gate_close(&g, queue);
    cpu_run(queue, add_one, 1, 1, 1, &byte);
    in_child(lose_in_child, queue);
    gate_open(&g);
    OK(cpu->queue_synchronize(queue));
    assert_int_equal(byte, 2); /* the parent's work goes on */
    in_child(use_in_child, queue);
    cpu_queue_end(queue);
}

static atomic_int child;

static void leave(void) {
    _exit(0);
}

static void fork_inside(const acu_part *part, void *const *args) {
    (void)part;
    (void)args;
    const pid_t forked = fork();
    if (forked == 0) {
        sigset_t none;
        (void)sigemptyset(&none);
        (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
        (void)alarm(20);
        (void)atexit(leave); /* what the other thread had is no leak */
    }
    atomic_store(&child, (int)forked);
}

/* Where the thread that waits has called the function, it is told in the child that the work is
 * lost; where a thread of the pool has, the child ends. */
static void test_a_function_forks(void **state) {
    (void)state;
    if (!can_fork) {
        in_child(NULL, NULL);
        return;
    }
    acu_backend_queue *queue = cpu_queue(NULL);
    for (int i = 0; i < 10; i++) {
        int status = -1;
        (void)fflush(NULL);
        cpu_run(queue, fork_inside, 1, 1, 1, NULL);
        while (i % 2 && atomic_load(&child) == 0) /* the pool's thread works */
            (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        const acu_result result = cpu->queue_synchronize(queue);
        if (atomic_load(&child) == 0)
            _exit(result == ACU_ERROR_STATE ? 0 : 1);
        assert_int_equal(result, ACU_SUCCESS);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        atomic_store(&child, 0);
    }
    cpu_queue_end(queue);
}

static void test_the_end_does_not_wait(void **state) {
    (void)state;
    in_child(leave_while_busy, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forks),
        cmocka_unit_test(test_a_function_forks),
        cmocka_unit_test(test_the_end_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
