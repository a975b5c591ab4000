/* Copies between memory and the host, and within memory. */
#ifndef ACU_CPU_COPY_H
#define ACU_CPU_COPY_H

#include <anycuda/backend.h>

acu_result acu_cpu_write(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                         const void *from, size_t bytes);
acu_result acu_cpu_read(acu_backend_queue *queue, acu_backend_memory *from, uint64_t at, void *to,
                        size_t bytes);
acu_result acu_cpu_read_after(acu_backend_queue *queue, acu_backend_mark *mark,
                              acu_backend_memory *from, uint64_t at, void *to, size_t bytes);
acu_result acu_cpu_copy(acu_backend_queue *queue, acu_backend_memory *to, uint64_t to_at,
                        acu_backend_memory *from, uint64_t from_at, uint64_t bytes);
acu_result acu_cpu_fill(acu_backend_queue *queue, acu_backend_memory *to, uint64_t at,
                        uint64_t bytes, const void *element, size_t element_bytes);
acu_result acu_cpu_copy_strided(acu_backend_queue *queue, acu_backend_memory *to,
                                acu_backend_memory *from, const acu_backend_strided *strided);

#endif
