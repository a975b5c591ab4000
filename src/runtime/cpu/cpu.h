/* The processor that the program runs on, as a back end of the runtime. */
#ifndef ACU_CPU_H
#define ACU_CPU_H

#include <anycuda/backend.h>

extern const acu_backend acu_cpu_backend;

#endif
