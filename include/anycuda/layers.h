/*
 * Two layers between a program and CUDA: a trace of all calls, and injected errors.
 *
 * Both work with every libcudart and with the simulator, and cost nothing while they are off. The
 * environment switches them on for any program; these functions switch them on and off at any time,
 * but a call that another thread has already begun may not be affected. Each copy of this library
 * in a process has its own layers.
 */
#ifndef ACU_LAYERS_H
#define ACU_LAYERS_H

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * Writes a line per call, with arguments, result and duration, as ANYCUDA_TRACE does.
 *
 * `target` is "stderr", which the program may close or redirect later, or a file that is appended
 * to; NULL ends the trace. A file whose name ends with ".json" is one for Chrome's and Perfetto's
 * viewer instead (docs/users/profiling.md). A line begins with the thread's number, and its name if
 * acu_thread_set_name() gave one: `[17 "uploads"] `. Each line is one write, so lines of several
 * threads or processes do not mix. A pointer's target is shown as it is after the call; a pointer
 * that leads nowhere is shown as a number. The trace ends where the program closes the file's
 * descriptor, and goes on without lines where nobody reads a pipe any more. Returns 0, or the errno
 * of opening the file (ENXIO: nobody reads that FIFO; EEXIST: the file for viewers is something
 * else); the trace is off then.
 */
int acu_trace_to(const char *target);

/**
 * Makes calls fail without reaching CUDA, as ANYCUDA_FAIL does.
 *
 * `rule` is a list, separated by ';' or ',', of `seed=NUMBER` and of rules that are each FUNCTION,
 * '@', WHEN, ':' and RESULT; NULL ends it.
 * - FUNCTION: a name, or the beginning of names and '*': `cudaMalloc`, `cudaMemcpy*`, `*`
 * - WHEN: `3` the third call, `3+` from the third call on, `*` each call, `5%` or `0.5%` by chance
 * - RESULT: `2`, or `cudaErrorMemoryAllocation`
 *
 * For example, `cudaMalloc@3:2` makes the third cudaMalloc fail with "out of memory". Calls are
 * counted for each function from the time when the rule is set, over all threads and both meanings
 * of the default stream. Chance is repeatable, because it depends only on the seed, the function
 * and the number of the call. A rule with '*' does not apply to queries of the last error. An
 * injected error is the thread's last error, as if CUDA had returned it. When the process exits, a
 * message on stderr names each rule whose function was never called. Returns 0, EINVAL if a rule is
 * malformed (a message on stderr has the reason, and no call will fail), or ENOMEM.
 */
int acu_inject_errors(const char *rule);

/**
 * Makes each call of the safe layer that may fail a range, or no longer, as ANYCUDA_NAME_CALLS=1
 * does.
 *
 * A tool that is attached by NVTX (profile.h) and the trace are told of the ranges, in a domain
 * named "anycuda". Off at first.
 */
void acu_name_calls(int named);

#if defined(__cplusplus)
}
#endif

#endif
