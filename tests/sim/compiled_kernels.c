/* What the kernels of compiled.cu do: preloaded, beside a simulator that stands for libcudart. */
#include <anycuda/sim.h>

#include <stddef.h>

/* The program's variables are the program's: what these are is known by their addresses only. */
static void add(const acu_sim_launch *launch, void *const *args) {
    int n = *(const int *)args[2];
    const float *a = acu_sim_at(launch, *(void *const *)args[0], (size_t)n * sizeof *a);
    float *b = acu_sim_at(launch, *(void *const *)args[1], (size_t)n * sizeof *b);
    for (int i = 0; i < n; i++)
        b[i] += a[i] * 2;
}

static void scale(const acu_sim_launch *launch, void *const *args) {
    float by = *(const float *)args[1];
    float *a = acu_sim_at(launch, *(void *const *)args[0], launch->block[0] * sizeof *a);
    for (unsigned i = 0; i < launch->block[0]; i++)
        a[i] *= by;
}

__attribute__((constructor)) static void tell(void) {
    (void)acu_sim_register("_Z3addPKfPfi", add);
    (void)acu_sim_register("_Z5scaleIfEvPT_S0_c", scale);
}
