/*
 * Vector addition as many programs have it: the kernel is in a .cu file, which nvcc has compiled
 * into a static library, and the host is C. The kernel is run twice: by the library's own launcher,
 * and, wrapped, by acu_launch(), which checks the arguments and orders the buffers.
 *
 * The program links NVIDIA's libcudart, since nvcc's code calls it. anycuda finds that one in the
 * process, so both use one runtime. examples/nvcc/run.cmake builds and runs all of it.
 */
#include "../example.h"
#include "kernels.h"

#include <string.h>

enum { COUNT = 10000 };

static float a[COUNT], b[COUNT], sum[COUNT];

static int check(const char *way) {
    for (int i = 0; i < COUNT; i++)
        if (sum[i] != a[i] + b[i]) {
            printf("%s: sum %d is %g\n", way, i, (double)sum[i]);
            return 1;
        }
    printf("%s: all %d sums are right\n", way, COUNT);
    memset(sum, 0, sizeof sum);
    return 0;
}

/* The launcher gets raw pointers and the raw stream, and the program orders what is on it. */
static acu_result by_the_launcher(acu_stream *stream, acu_buffer *x, acu_buffer *y,
                                  acu_buffer *to) {
    int code = launch_vector_add(acu_buffer_raw(x), acu_buffer_raw(y), acu_buffer_raw(to), COUNT,
                                 acu_stream_raw(stream));
    return code ? code : acu_buffer_read(to, sum, COUNT);
}

static acu_result by_a_kernel(acu_stream *stream, acu_buffer *x, acu_buffer *y, acu_buffer *to) {
    ACU_AUTO(acu_kernel) *kernel = NULL;
    ACU_TRY(acu_kernel_wrap(0, vector_add_function(), &kernel));
    ACU_TRY(acu_launch(stream, kernel, acu_grid_1d(COUNT, 256), acu_in(x), acu_in(y), acu_out(to),
                       COUNT));
    return acu_buffer_read(to, sum, COUNT);
}

static acu_result add_twice(int *wrong) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *x = NULL;
    ACU_AUTO(acu_buffer) *y = NULL;
    ACU_AUTO(acu_buffer) *to = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &x));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &y));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &to));
    ACU_TRY(acu_buffer_write(x, a, COUNT));
    ACU_TRY(acu_buffer_write(y, b, COUNT));
    ACU_TRY(by_the_launcher(stream, x, y, to));
    *wrong = check("by the launcher");
    ACU_TRY(acu_buffer_zero(to, NULL));
    ACU_TRY(by_a_kernel(stream, x, y, to));
    *wrong += check("by a kernel");
    return ACU_SUCCESS;
}

int main(void) {
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        a[i] = (float)i;
        b[i] = 0.5f * (float)i;
    }
    acu_result result = example_begin();
    if (!result)
        result = add_twice(&wrong);
    return result ? example_end(result) : wrong;
}
