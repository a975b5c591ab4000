#define _POSIX_C_SOURCE 200809L
#include "cpu_test.h"

#include <time.h>

static acu_backend_device *device(void) {
    acu_backend_device *opened = NULL;
    OK(cpu->device_open(0, &opened));
    return opened;
}

acu_backend_queue *cpu_queue(const acu_backend_queue_options *options) {
    acu_backend_queue *queue = NULL;
    OK(cpu->queue_create(device(), options, &queue));
    return queue;
}

void cpu_queue_end(acu_backend_queue *queue) {
    OK(cpu->queue_synchronize(queue));
    cpu->queue_destroy(queue);
}

acu_backend_memory *cpu_memory(acu_backend_queue *queue, uint64_t bytes) {
    acu_backend_memory *memory = NULL;
    OK(cpu->memory_allocate(queue, bytes, &memory));
    return memory;
}

unsigned char *cpu_bytes(acu_backend_memory *memory) {
    void *host = NULL;
    OK(cpu->memory_get_host(device(), memory, &host));
    return host;
}

unsigned cpu_threads(void) {
    acu_place_info info;
    OK(cpu->device_get_info(device(), &info));
    return info.threads;
}

void cpu_run(acu_backend_queue *queue, acu_part_function *function, size_t x, size_t y, size_t z,
             const void *pointer) {
    const acu_program_source source = {.name = "test", .cpu = function};
    const acu_backend_source form = {sizeof form, &source, NULL};
    const acu_backend_arg arg = {.value = &pointer, .size = sizeof pointer};
    acu_backend_program *program = NULL;
    OK(cpu->program_create(device(), &form, &program));
    OK(cpu->run(queue, program, (size_t[]){x, y, z}, &arg, 1));
    cpu->program_destroy(program); /* the task keeps the function */
}

void *cpu_pointer(void *const *args) {
    return *(void **)args[0];
}

static void wait_at_gate(const acu_part *part, void *const *args) {
    gate *g = cpu_pointer(args);
    (void)part;
    atomic_store(&g->reached, true);
    while (!atomic_load(&g->open))
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

void gate_close(gate *g, acu_backend_queue *queue) {
    atomic_store(&g->open, false);
    atomic_store(&g->reached, false);
    cpu_run(queue, wait_at_gate, 1, 1, 1, g);
}

void gate_open(gate *g) {
    atomic_store(&g->open, true);
}

acu_backend_mark *cpu_mark(acu_backend_queue *queue) {
    acu_backend_mark *mark = NULL;
    OK(cpu->mark_create(queue, &mark));
    return mark;
}

uint64_t random_below(uint64_t limit) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13u;
    state ^= state >> 7u;
    state ^= state << 17u;
    return limit ? state % limit : 0;
}
