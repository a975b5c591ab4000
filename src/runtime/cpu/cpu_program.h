/* Programs: C functions, whose items are worked on in parts. */
#ifndef ACU_CPU_PROGRAM_H
#define ACU_CPU_PROGRAM_H

#include <anycuda/backend.h>

acu_result acu_cpu_program_create(acu_backend_device *device, const acu_backend_source *source,
                                  acu_backend_program **out);
void acu_cpu_program_destroy(acu_backend_program *program);
acu_result acu_cpu_run(acu_backend_queue *queue, acu_backend_program *program,
                       const size_t items[3], const acu_backend_arg *args, size_t count);

#endif
