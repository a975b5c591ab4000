/*
 * One interface over the CPU, CUDA, WebGPU, and what a program registers.
 *
 * Places are devices, clients are their queues, blocks are their memory. Programs compute, marks
 * order, and replays repeat. docs/users/runtime.md shows all of it together, and
 * <anycuda/backend.h> is for those who write a back end.
 */
#ifndef ACU_RUNTIME_H
#define ACU_RUNTIME_H

#include <anycuda/block.h>
#include <anycuda/block_dlpack.h>
#include <anycuda/client.h>
#include <anycuda/mark.h>
#include <anycuda/place.h>
#include <anycuda/program.h>
#include <anycuda/replay.h>
#include <anycuda/version.h>

ACU_BEGIN_C

/** Returns the number of runtimes: the three that are known, and those registered. */
int acu_runtime_count(void);

/** Returns the name of a runtime, "cpu"; "" where there is no such runtime. */
const char *acu_runtime_name(int runtime);

/** Finds a runtime by its name. Errors: ACU_ERROR_ARGUMENT where none has it. */
ACU_CHECKED acu_result acu_runtime_find(const char *name, int *runtime);

/** Makes CUDA and WebGPU parts of this program, as naming their places does. */
void acu_runtime_add_all(void);

/**
 * Counts the devices of a runtime. Where it cannot be used there are 0, and the result is the
 * reason.
 */
ACU_CHECKED acu_result acu_runtime_get_device_count(int runtime, int *count);

/**
 * Returns the first place that can be used of CUDA, WebGPU and what is registered, as far as they
 * are in this program; else the CPU.
 */
acu_place acu_runtime_best(void);

struct acu_backend;

/**
 * Registers a runtime, which stays registered; `backend` and all that it points to must stay, too.
 *
 * Errors: ACU_ERROR_ARGUMENT where the name is taken, or a function is missing that is needed;
 * ACU_NOT_SUPPORTED where the table is of another version of the interface; ACU_ERROR_LIMIT beyond
 * 64 runtimes.
 */
ACU_CHECKED acu_result acu_runtime_register(const struct acu_backend *backend, int *runtime);

/**
 * Registers a runtime of a shared object, which stays in the process.
 *
 * The shared object exports acu_backend_entry() (<anycuda/backend.h>). Errors: ACU_ERROR_ARGUMENT
 * where the file cannot be opened or has no such function; ACU_NOT_SUPPORTED where the function
 * returns NULL; those of acu_runtime_register().
 */
ACU_CHECKED acu_result acu_runtime_open(const char *path, int *runtime);

ACU_END_C

#endif
