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

#endif
