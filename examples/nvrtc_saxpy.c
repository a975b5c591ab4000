/*
 * CUDA C++ source, compiled while the program runs: y = a x + y, a template.
 *
 * The example needs NVRTC, which comes with the toolkit, and prints that where there is none. The
 * simulator runs what NVRTC has compiled; where it stands in for NVRTC, too, it only reads what the
 * source declares, and a C function does the kernel's work.
 */
#include "example.h"

#include <anycuda/sim.h>

enum { COUNT = 100000, BLOCK = 256 };

static const char source[] = "#include \"index.h\"\n"
                             "template <typename T>\n"
                             "__global__ void saxpy(T a, const T *x, T *y, int n)\n"
                             "{\n"
                             "    int i = index();\n"
                             "    if (i < n)\n"
                             "        y[i] = a * x[i] + y[i];\n"
                             "}\n";
static const acu_module_header headers[] = {
    {"index.h", "__device__ inline int index()\n"
                "{\n"
                "    return blockIdx.x * blockDim.x + threadIdx.x;\n"
                "}\n"},
    {NULL, NULL},
};

/* What the kernel does where there is a simulator, and no NVRTC. */
static void simulated_saxpy(const acu_sim_launch *launch, void *const *args) {
    int n = *(const int *)args[3];
    float a = *(const float *)args[0];
    const float *x = acu_sim_at(launch, *(void *const *)args[1], (size_t)n * sizeof *x);
    float *y = acu_sim_at(launch, *(void *const *)args[2], (size_t)n * sizeof *y);
    for (int i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

static acu_result compile(acu_module **module) {
    static const char *const options[] = {"--std=c++14", NULL};
    static const char *const kernels[] = {"saxpy<float>", NULL};
    const acu_module_program program = {.name = "saxpy.cu",
                                        .text = source,
                                        .headers = headers,
                                        .options = options,
                                        .expressions = kernels};
    return acu_module_compile(0, &program, module);
}

static float x[COUNT], y[COUNT];

static acu_result saxpy(void) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_AUTO(acu_buffer) *device_x = NULL;
    ACU_AUTO(acu_buffer) *device_y = NULL;
    ACU_TRY(compile(&module));
    if (acu_loaded(ACU_NVRTC)->is_sim)
        acu_sim_register("_Z5saxpyIfEvT_PKS0_PS0_i", simulated_saxpy);
    ACU_TRY(acu_module_get_kernel(module, "saxpy<float>", &kernel));
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &device_x));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &device_y));
    ACU_TRY(acu_buffer_write(device_x, x, COUNT));
    ACU_TRY(acu_buffer_write(device_y, y, COUNT));
    ACU_TRY(acu_launch(stream, kernel, acu_grid_1d(COUNT, BLOCK), 2.0f, acu_in(device_x),
                       acu_inout(device_y), COUNT));
    return acu_buffer_read(device_y, y, COUNT);
}

static int check(void) {
    for (int i = 0; i < COUNT; i++)
        if (y[i] != 2 * x[i] + 1) {
            printf("2 * %g + 1 came out as %g\n", (double)x[i], (double)y[i]);
            return 1;
        }
    printf("2 * %g + 1 = %g, and all %d are right\n", (double)x[9], (double)y[9], COUNT);
    return 0;
}

int main(void) {
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    acu_result result = example_begin();
    if (!result)
        result = saxpy();
    if (!result)
        return check();
    (void)example_end(result);
    return acu_loaded(ACU_NVRTC) ? 1 : 77; /* to a test, 77 says that it cannot run here */
}
