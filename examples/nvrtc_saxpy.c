/*
 * CUDA C++ source, compiled while the program runs: y = a x + y, for floats and for doubles.
 *
 * It needs NVRTC, which comes with the toolkit, and says so where there is none. On the simulator
 * the source is compiled, too, but what the kernels do is told in C.
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

/* The simulator executes no PTX: it calls these instead. A GPU never does. */
#define SIMULATED(T)                                                                               \
    static void simulated_##T(const acu_sim_launch *launch, void *const *args) {                   \
        int n = *(const int *)args[3];                                                             \
        T a = *(const T *)args[0];                                                                 \
        const T *x = acu_sim_at(launch, *(void *const *)args[1], (size_t)n * sizeof(T));           \
        T *y = acu_sim_at(launch, *(void *const *)args[2], (size_t)n * sizeof(T));                 \
        for (int i = 0; i < n; i++)                                                                \
            y[i] = a * x[i] + y[i];                                                                \
    }
SIMULATED(float)
SIMULATED(double)

static acu_result compile(acu_module **module) {
    return acu_module_compile(
        0,
        &(acu_module_program){
            .name = "saxpy.cu",
            .text = source,
            .headers = headers,
            .options = (const char *const[]){"--std=c++14", NULL},
            .expressions = (const char *const[]){"saxpy<float>", "saxpy<double>", NULL},
        },
        module);
}

/* What every kernel needs here: two vectors, of which the second gets the result. */
static acu_result make_vectors(acu_stream *stream, acu_dtype dtype, const void *x, const void *y,
                               acu_buffer **device_x, acu_buffer **device_y) {
    ACU_TRY(acu_buffer_create(stream, dtype, COUNT, device_x));
    ACU_TRY(acu_buffer_create(stream, dtype, COUNT, device_y));
    ACU_TRY(acu_buffer_write_typed(*device_x, 0, dtype, x, COUNT, NULL));
    return acu_buffer_write_typed(*device_y, 0, dtype, y, COUNT, NULL);
}

/* One function for each type: arguments have types, and are checked against the kernel's. */
#define SAXPY(T, dtype)                                                                            \
    static acu_result saxpy_##T(acu_stream *stream, acu_module *module) {                          \
        static T x[COUNT], y[COUNT];                                                               \
        size_t wrong = 0;                                                                          \
        ACU_AUTO(acu_kernel) *kernel = NULL;                                                       \
        ACU_AUTO(acu_buffer) *device_x = NULL;                                                     \
        ACU_AUTO(acu_buffer) *device_y = NULL;                                                     \
        for (int i = 0; i < COUNT; i++) {                                                          \
            x[i] = (T)i;                                                                           \
            y[i] = 1;                                                                              \
        }                                                                                          \
        ACU_TRY(acu_module_kernel(module, "saxpy<" #T ">", &kernel));                              \
        ACU_TRY(make_vectors(stream, dtype, x, y, &device_x, &device_y));                          \
        ACU_TRY(acu_launch(stream, kernel, acu_grid_1d(COUNT, BLOCK), (T)2, acu_in(device_x),      \
                           acu_inout(device_y), COUNT));                                           \
        ACU_TRY(acu_buffer_read(device_y, y, COUNT));                                              \
        for (int i = 0; i < COUNT; i++)                                                            \
            wrong += y[i] != 2 * (T)i + 1;                                                         \
        printf("saxpy<%s>: 2 * %g + 1 = %g, %zu of %d are wrong\n", #T, (double)x[9],              \
               (double)y[9], wrong, COUNT);                                                        \
        return ACU_SUCCESS;                                                                        \
    }
SAXPY(float, ACU_F32)
SAXPY(double, ACU_F64)

static acu_result saxpy(void) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_module) *module = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(compile(&module));
    ACU_TRY(saxpy_float(stream, module));
    return saxpy_double(stream, module);
}

int main(void) {
    acu_sim_register("_Z5saxpyIfEvT_PKS0_PS0_i", simulated_float);
    acu_sim_register("_Z5saxpyIdEvT_PKS0_PS0_i", simulated_double);
    acu_result result = example_begin();
    if (!result)
        result = saxpy();
    if (result && !acu_loaded(ACU_NVRTC)) {
        example_end(result);
        return 77; /* to a test: it cannot run here */
    }
    return example_end(result);
}
