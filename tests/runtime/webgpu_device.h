/* A device of WebGPU's back end, used by its table. */
#ifndef WEBGPU_DEVICE_H
#define WEBGPU_DEVICE_H

#include "../webgpu/machine.h"

#include "runtime/webgpu/webgpu.h"

#define TABLE acu_webgpu_backend

extern acu_backend_device *device;
extern acu_backend_queue *queue;

/* Finds the library and an adapter; ends the program as skipped where there is none. */
void device_require(void);
/* Open device 0 with a queue, and close both: nothing of WebGPU's may be left then. For cmocka. */
int device_open(void **state);
int device_close(void **state);

/* The words of the last acu_backend_fail() of this thread, if that was with this code. */
const char *device_words(acu_result code);
#define EXPECT_WORDS(result, code, part)                                                           \
    do {                                                                                           \
        assert_int_equal(result, code);                                                            \
        machine_contains(device_words(code), part);                                                \
    } while (0)

/* Memory with these bytes. */
acu_backend_memory *memory_of(const void *bytes, size_t size);
/* Fails unless the memory has these bytes from its beginning on. */
void memory_equals(acu_backend_memory *memory, const void *bytes, size_t size);
void memory_drop(acu_backend_memory *memory);

#endif
