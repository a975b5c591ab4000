/*
 * What the kernel does on the simulator, which does not execute machine code. This file is a shared
 * object that is preloaded there, so that the program itself has nothing of the simulator.
 */
#include <anycuda/sim.h>

static void vector_add(const acu_sim_launch *launch, void *const *args) {
    const int n = *(const int *)args[3];
    const size_t bytes = (size_t)n * sizeof(float);
    const float *a = acu_sim_at(launch, *(void *const *)args[0], bytes);
    const float *b = acu_sim_at(launch, *(void *const *)args[1], bytes);
    float *sum = acu_sim_at(launch, *(void *const *)args[2], bytes);
    for (int i = 0; i < n; i++)
        sum[i] = a[i] + b[i];
}

/* The name is the one that nvcc gives the kernel. */
__attribute__((constructor)) static void register_function(void) {
    (void)acu_sim_register("_Z10vector_addPKfS0_Pfi", vector_add);
}
