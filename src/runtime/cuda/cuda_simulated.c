/*
 * Programs on the simulator, which does not execute PTX: the form for the CPU runs instead.
 *
 * A kernel of this file's own stands in for the program's. Its first parameter says what to call,
 * its others are the addresses of the blocks, so that the safe layer orders, captures and keeps
 * what it would for the program's own kernel. The C function of that kernel, which is registered
 * with the simulator, finds the blocks in the simulated memory and calls the form for all items.
 */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <anycuda/load.h>
#include <anycuda/sim.h>

/* References that are weak, because most programs are not linked with a simulator. */
__attribute__((weak)) int acu_sim_register(const char *name, acu_sim_kernel function);
__attribute__((weak)) void *acu_sim_at(const acu_sim_launch *launch, const void *address,
                                       size_t bytes);

/* ---- the simulator ---- */

typedef struct simulator {
    int (*register_kernel)(const char *name, acu_sim_kernel function);
    void *(*at)(const acu_sim_launch *launch, const void *address, size_t bytes);
} simulator;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static simulator sim; /* all NULL where the loaded runtime is not the simulator */

/* Finds a function of a simulator that was loaded as a file. */
static void find(void *file, const char *symbol, void *function) {
    void *found = dlsym(file, symbol);
    memcpy(function, &found, sizeof found);
}

static void find_simulator(void) {
    const acu_load_info *loaded = acu_loaded(ACU_CUDART);
    if (!loaded || !loaded->is_sim)
        return;
    sim = (simulator){acu_sim_register, acu_sim_at};
    void *file = dlopen(loaded->path, RTLD_NOW | RTLD_NOLOAD);
    if (!file)
        return; /* the simulator is linked into the program */
    find(file, "acu_sim_register", &sim.register_kernel);
    find(file, "acu_sim_at", &sim.at);
    dlclose(file);
}

/* ---- the kernel that stands in ---- */

static const char stand_in[] = "acu_form_for_the_cpu";

enum { VALUE_BYTES = 2048, ALIGNED = 16 };

/* What to call. Kernels have parameters of 4 KiB in all. */
typedef struct cpu_call {
    acu_part_function *cpu;
    size_t items[3];
    size_t count;
    struct {
        uint64_t bytes; /* of a block */
        uint32_t at;    /* where a value is in `values` */
        bool is_block;
    } args[ACU_CUDA_MOST_ARGS];
    size_t used; /* bytes of `values` */
    _Alignas(ALIGNED) unsigned char values[VALUE_BYTES];
} cpu_call;

_Static_assert(sizeof(cpu_call) + ACU_CUDA_MOST_ARGS * sizeof(void *) <= 4096,
               "a kernel has parameters of 4096 bytes at most");

/* Is the kernel, on a thread of the simulator. A block that is not there ends it, as on a GPU. */
static void call_form(const acu_sim_launch *launch, void *const *args) {
    cpu_call call;
    void *given[ACU_CUDA_MOST_ARGS];
    memcpy(&call, args[0], sizeof call);
    for (size_t i = 0, block = 1; i < call.count; i++)
        given[i] = call.args[i].is_block
                       ? sim.at(launch, *(void *const *)args[block++], call.args[i].bytes)
                       : call.values + call.args[i].at;
    acu_part all = {.thread = 0};
    memcpy(all.end, call.items, sizeof all.end);
    memcpy(all.items, call.items, sizeof all.items);
    call.cpu(&all, given);
}

/* Writes PTX that declares the kernel. */
static char *write_ptx(void) {
    static const char parameter[] = ", .param .u64 b00";
    const size_t size = 256 + ACU_CUDA_MOST_ARGS * sizeof parameter;
    char *text = malloc(size);
    if (!text)
        return NULL;
    int length = snprintf(text, size,
                          ".version 7.0\n.target sm_52\n.address_size 64\n"
                          ".visible .entry %s(.param .align %d .b8 call[%zu]",
                          stand_in, ALIGNED, sizeof(cpu_call));
    for (int i = 0; i < ACU_CUDA_MOST_ARGS; i++)
        length += snprintf(text + length, size - (size_t)length, ", .param .u64 b%d", i);
    snprintf(text + length, size - (size_t)length, ") { ret; }\n");
    return text;
}

static acu_result load_stand_in(acu_device device, acu_kernel **kernel) {
    ACU_AUTO(acu_module) *module = NULL;
    char *ptx = write_ptx();
    if (!ptx || sim.register_kernel(stand_in, call_form)) {
        free(ptx);
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "the host has no memory for a kernel");
    }
    const acu_result code = acu_module_load(device, &(acu_module_source){.ptx = ptx}, &module);
    free(ptx);
    ACU_TRY(acu_cuda_outcome(code));
    return acu_cuda_outcome(acu_module_get_kernel(module, stand_in, kernel));
}

acu_result acu_cuda_simulate(acu_backend_device *device, acu_backend_program *program,
                             const acu_program_source *source) {
    if (!source->cpu)
        return 0;
    (void)pthread_once(&once, find_simulator);
    if (!sim.register_kernel || !sim.at)
        return 0;
    program->cpu = source->cpu;
    return load_stand_in(device->index, &program->stand_in);
}

/* ---- running ---- */

/* Refuses what the launch of the program's own kernel would refuse. */
static acu_result check(acu_kernel *kernel, const acu_backend_arg *args, size_t count) {
    size_t wanted = 0;
    if (acu_kernel_parameter_check(kernel) == ACU_CHECK_NOTHING)
        return 0;
    ACU_TRY(acu_cuda_outcome(acu_kernel_get_parameter_count(kernel, &wanted)));
    if (wanted != count)
        return acu_backend_fail(ACU_ERROR_ARGUMENT,
                                "kernel \"%s\" has %zu parameters, but there are %zu arguments",
                                acu_kernel_name(kernel), wanted, count);
    for (size_t i = 0; i < count; i++) {
        acu_parameter parameter;
        const size_t size = args[i].memory ? sizeof(void *) : args[i].size;
        ACU_TRY(acu_cuda_outcome(acu_kernel_get_parameter(kernel, i, &parameter)));
        if (parameter.size != size)
            return acu_backend_fail(ACU_ERROR_ARGUMENT,
                                    "argument %zu has %zu bytes, but parameter %zu of kernel "
                                    "\"%s\" has %zu",
                                    i, size, i, acu_kernel_name(kernel), parameter.size);
    }
    return 0;
}

/* Adds an argument to what the form is given. Returns whether there was room. */
static bool add(cpu_call *call, const acu_backend_arg *arg) {
    const size_t i = call->count++, size = arg->memory ? 0 : arg->size;
    const size_t more = (size + ALIGNED - 1) / ALIGNED * ALIGNED;
    call->args[i].bytes = arg->memory_bytes;
    call->args[i].is_block = arg->memory != NULL;
    call->args[i].at = (uint32_t)call->used;
    if (more > sizeof call->values - call->used)
        return false;
    if (size > 0)
        memcpy(call->values + call->used, arg->value, size);
    call->used += more;
    return true;
}

acu_result acu_cuda_run_simulated(acu_backend_queue *queue, acu_backend_program *program,
                                  const size_t items[3], const acu_backend_arg *args,
                                  size_t count) {
    cpu_call call = {.cpu = program->cpu, .items = {items[0], items[1], items[2]}};
    acu_arg all[ACU_MAX_ARGUMENTS];
    size_t given = 0;
    ACU_TRY(check(program->kernel, args, count));
    all[given++] = acu_bytes(&call, sizeof call);
    for (size_t i = 0; i < count; i++) {
        acu_buffer *buffer = acu_cuda_buffer(args[i].memory);
        if (!add(&call, &args[i]))
            return acu_backend_fail(ACU_ERROR_LIMIT,
                                    "the values are more than %d bytes, for which the simulator "
                                    "has no room",
                                    VALUE_BYTES);
        if (buffer)
            all[given++] = args[i].writes ? acu_inout(buffer) : acu_in(buffer);
    }
    while (given < ACU_MAX_ARGUMENTS)
        all[given++] = acu_arg_address(NULL);
    const acu_grid grid = acu_grid_3d((acu_size3){items[0], items[1], items[2]}, program->group);
    return acu_cuda_outcome(acu_launch_args(queue->stream, program->stand_in, &grid, all, given));
}
