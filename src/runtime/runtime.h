/*
 * The runtimes that this program has, each with the table of its back end. The three that are known
 * have their numbers always, but CUDA and WebGPU have a table only in a program that names them.
 */
#ifndef ACU_RUNTIME_INTERNAL_H
#define ACU_RUNTIME_INTERNAL_H

#include <anycuda/backend.h>

/* Makes a known runtime a part of this program; acu_place_cuda() calls it. Every call after the
 * first does nothing, and threads may call it at once. */
void acu_runtime_add(int runtime, const acu_backend *backend);

/* Returns the table of a runtime, in which entries that the back end's table is too short for are
 * NULL; NULL where this program does not have the runtime. The table stays. */
const acu_backend *acu_runtime_table(int runtime);

/* The table of the CPU, which every program has; src/runtime/cpu/ defines it. */
extern const acu_backend acu_cpu_backend;

/* A queue for which this thread is in a program's function: the queue cannot end that work before
 * the function returns. A function that waits works for other queues, too: they are a list. */
typedef struct acu_inside {
    const acu_backend_queue *queue;
    const struct acu_inside *outer;
} acu_inside;

/* The CPU's back end says so before and after it calls a function. */
void acu_inside_begin(acu_inside *inside, const acu_backend_queue *queue);
void acu_inside_end(const acu_inside *inside);
/* Returns whether this thread is in a function for the queue. */
bool acu_inside_is(const acu_backend_queue *queue);

#endif
