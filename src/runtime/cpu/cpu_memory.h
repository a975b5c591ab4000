/* Memory: a handle is the address itself. */
#ifndef ACU_CPU_MEMORY_H
#define ACU_CPU_MEMORY_H

#include <anycuda/backend.h>

enum { ACU_CPU_ALIGNMENT = 64 }; /* bytes: a line of the cache */

/* Returns the bytes of memory that the host has; 0 where that is not known. */
uint64_t acu_cpu_memory_of_host(void);

acu_result acu_cpu_memory_allocate(acu_backend_queue *queue, uint64_t bytes,
                                   acu_backend_memory **out);
void acu_cpu_memory_free(acu_backend_queue *queue, acu_backend_memory *memory, uint64_t bytes);
acu_result acu_cpu_memory_get_raw(acu_backend_device *device, acu_backend_memory *memory,
                                  acu_raw *raw);
acu_result acu_cpu_memory_get_address(acu_backend_device *device, acu_backend_memory *memory,
                                      void **address);
acu_result acu_cpu_memory_wrap(acu_backend_device *device, void *memory, uint64_t bytes,
                               acu_backend_memory **out);
void acu_cpu_memory_unwrap(acu_backend_device *device, acu_backend_memory *memory);

#endif
