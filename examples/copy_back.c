/*
 * The smallest complete program: memory on the device, written, copied there, read back and
 * checked.
 *
 * It runs on a GPU, or where there is none on the simulator, and says on which.
 */
#include <anycuda/anycuda.h>

#include <stdio.h>

enum { COUNT = 1000000 };

static float numbers[COUNT], back[COUNT];

static acu_result say_where(void) {
    acu_device_info info;
    ACU_TRY(acu_device_get_info(0, &info));
    const acu_load_info *cuda = acu_loaded(ACU_CUDART);
    printf("running on %s: %s, CUDA %d.%d (%s)\n", cuda->is_sim ? "the simulator" : "a GPU",
           info.name, cuda->version / 1000, cuda->version % 1000 / 10, cuda->path);
    return ACU_SUCCESS;
}

static acu_result copy_back(void) {
    ACU_AUTO(acu_stream) *stream = NULL;
    ACU_AUTO(acu_buffer) *first = NULL;
    ACU_AUTO(acu_buffer) *second = NULL;
    ACU_TRY(acu_stream_create(0, NULL, &stream));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &first));
    ACU_TRY(acu_buffer_create(stream, ACU_F32, COUNT, &second));
    ACU_TRY(acu_buffer_write(first, numbers, COUNT));
    ACU_TRY(acu_buffer_copy(second, first, NULL));
    return acu_buffer_read(second, back, COUNT);
}

int main(void) {
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    if (acu_load(&(acu_load_options){.flags = ACU_LOAD_ALLOW_SIM}) || say_where() || copy_back()) {
        acu_error error = acu_last_error_details();
        printf("%s\n%s\n", error.message, error.hint);
        return 1;
    }
    for (int i = 0; i < COUNT; i++)
        if (back[i] != numbers[i]) {
            printf("number %d came back as %g\n", i, (double)back[i]);
            return 1;
        }
    printf("%d numbers came back as they went\n", COUNT);
    return 0;
}
