/* What the tests of the CPU's back end have in common: its table, one queue, and a gate. */
#ifndef CPU_TEST_H
#define CPU_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/cpu/cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) assert_int_equal((call), ACU_SUCCESS)

static const acu_backend *const cpu = &acu_cpu_backend;

/* A queue with options; NULL of them is the default. */
acu_backend_queue *cpu_queue(const acu_backend_queue_options *options);
/* Waits for the queue and destroys it. */
void cpu_queue_end(acu_backend_queue *queue);
acu_backend_memory *cpu_memory(acu_backend_queue *queue, uint64_t bytes);
/* The host's address of memory. */
unsigned char *cpu_bytes(acu_backend_memory *memory);
unsigned cpu_threads(void);

/* Runs a C function over items with one pointer as its only argument. */
void cpu_run(acu_backend_queue *queue, acu_part_function *function, size_t x, size_t y, size_t z,
             const void *pointer);
/* What a function that cpu_run() calls was given. */
void *cpu_pointer(void *const *args);

/* Lets a queue stand still until the gate is open. */
typedef struct gate {
    atomic_bool open, reached;
} gate;
void gate_close(gate *g, acu_backend_queue *queue);
void gate_open(gate *g);

acu_backend_mark *cpu_mark(acu_backend_queue *queue);

uint64_t random_below(uint64_t limit);

#endif
