#include "runtime/cpu/cpu_program.h"
#include "runtime/cpu/cpu_queue.h"

#include <stdlib.h>
#include <string.h>

struct acu_backend_program {
    acu_part_function *function;
};

/* A run, whose pointers and values are behind the struct. */
typedef struct run_task {
    acu_cpu_task task;
    acu_part_function *function;
    size_t items[3];
    unsigned split; /* the dimension that is split into parts */
    size_t step;    /* items of a part, in that dimension */
    void *args[];
} run_task;

enum { PARTS_OF_THREAD = 8, ALIGNMENT = 16 };

acu_result acu_cpu_program_create(acu_backend_device *device, const acu_backend_source *source,
                                  acu_backend_program **out) {
    (void)device;
    if (source->source->cpu == NULL)
        return acu_backend_fail(ACU_NOT_SUPPORTED, "the program has no C function for the CPU");
    acu_backend_program *program = malloc(sizeof *program);
    if (program == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for a program");
    program->function = source->source->cpu;
    *out = program;
    return ACU_SUCCESS;
}

void acu_cpu_program_destroy(acu_backend_program *program) {
    free(program);
}

static void run_part(const acu_cpu_task *task, size_t number, unsigned thread) {
    const run_task *run = (const run_task *)task;
    const unsigned n = run->split;
    acu_part part = {.thread = thread};
    memcpy(part.items, run->items, sizeof part.items);
    memcpy(part.end, run->items, sizeof part.end);
    part.begin[n] = number * run->step;
    if (part.end[n] - part.begin[n] > run->step)
        part.end[n] = part.begin[n] + run->step;
    run->function(&part, run->args);
}

/* Splits the outermost dimension that has work for all threads, or else the longest one. */
static void split(run_task *run, unsigned threads) {
    const size_t *items = run->items;
    unsigned n = 0;
    for (unsigned i = 1; i < 3; i++)
        if (items[i] >= items[n] || items[i] >= (size_t)2 * threads)
            n = i;
    const size_t parts = threads == 1 ? 1 : (size_t)threads * PARTS_OF_THREAD;
    run->split = n;
    run->step = items[n] / parts + (items[n] % parts > 0);
    if (n == 0 && run->step > 64)
        run->step = (run->step + 63) / 64 * 64; /* no line of the cache in two parts, mostly */
    run->task.parts = items[n] / run->step + (items[n] % run->step > 0);
}

static size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Lets the run's arguments point to memory, and to copies of the values. */
static void set_args(run_task *run, const acu_backend_arg *args, size_t count) {
    char *values = (char *)run + aligned(sizeof *run + count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        run->args[i] = args[i].memory ? (void *)args[i].memory : values;
        if (args[i].memory)
            continue;
        memcpy(values, args[i].value, args[i].size);
        values += aligned(args[i].size);
    }
}

acu_result acu_cpu_run(acu_backend_queue *queue, acu_backend_program *program,
                       const size_t items[3], const acu_backend_arg *args, size_t count) {
    size_t bytes = aligned(sizeof(run_task) + count * sizeof(void *));
    for (size_t i = 0; i < count; i++)
        bytes += args[i].memory ? 0 : aligned(args[i].size);
    run_task *run = malloc(bytes);
    if (run == NULL)
        return acu_backend_fail(ACU_ERROR_HOST_MEMORY, "no memory for %zu bytes of arguments",
                                bytes);
    *run = (run_task){.task = {.part = run_part},
                      .function = program->function,
                      .items = {items[0], items[1], items[2]}};
    split(run, queue->limit);
    set_args(run, args, count);
    return acu_cpu_queue_add(queue, &run->task);
}
